//! What leaves a device.

use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use throng_wire::CollectionId;

/// The sealed report of one device for one epoch. All reports of a collection have the same length.
///
/// Only [`Client::report`](crate::Client::report) makes one, and it is on disk before. Sending it twice
/// does no harm: the first mix keeps one of equal reports. `Debug` does not show it.
///
/// ```
/// # use throng_client::Client;
/// # use throng_mechanism::Value;
/// # use throng_wire::{Collection, Directory, Identity, LayerSecret, SignedDirectory};
/// # use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// # let mut rng = ChaCha12Rng::seed_from_u64(1);
/// # let collection = Collection::parse(r#"
/// # question = { text = "Do you cycle to work?", value = "bit" }
/// # promise = { epsilon = 1.0, delta = 1e-6, crowd = 1000, epochs = 1, lifetime_epsilon = 1.0,
/// #             lifetime_delta = 1e-6 }
/// # mechanism = { key = "bit-sum", flip = "567064570277940032" }
/// # schedule = { start = 0, every = "24h", grace = "1h", below = "expire" }
/// # mix = [{ name = "mix", url = "https://mix.example",
/// #          identity = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c" }]
/// # analyzer = { name = "analyzer", url = "https://analyzer.example",
/// #              identity = "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394" }
/// # "#)?;
/// # let keys = [3, 4].map(|seed| LayerSecret::from_bytes(&[seed; 32]).public()).to_vec();
/// # let keys = Directory { collection: collection.id(), window: 0, keys };
/// # let [mix, analyzer] = [1, 2].map(|seed| keys.cosign(&Identity::from_seed(&[seed; 32])));
/// # let directory = SignedDirectory::new(keys, vec![mix, analyzer]);
/// // One device says yes, another no.
/// let [yes, no] = [true, false].map(|answer| {
///     let mut device = Client::new(collection.clone())?;
///     device.learn(&directory, 0)?;
///     device.report(Value::Bit(answer), 0, &mut rng)
/// });
/// let (yes, no) = (yes?, no?);
/// assert_eq!(yes.as_bytes().len(), no.as_bytes().len());
/// assert_ne!(yes.hash(), no.hash());
/// assert_eq!((yes.epoch(), yes.collection()), (0, collection.id()));
/// assert_eq!(format!("{yes:?}"), "Report { epoch: 0, .. }");
/// # Ok::<(), throng_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Report {
    collection: CollectionId,
    epoch: u64,
    sealed: Arc<[u8]>,
    switch: Switch,
}

impl Report {
    pub(crate) fn new(
        collection: CollectionId,
        epoch: u64,
        sealed: &[u8],
        switch: &Switch,
    ) -> Self {
        Self { collection, epoch, sealed: sealed.into(), switch: switch.clone() }
    }

    /// The collection it belongs to.
    pub fn collection(&self) -> CollectionId {
        self.collection
    }

    /// The epoch it belongs to.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The sealed bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.sealed
    }

    /// SHA-256 of the sealed bytes: the same for every copy, another for every other report.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(&self.sealed).into()
    }

    /// Whether the device that made it was switched off since. Such a report must not be sent.
    pub fn is_revoked(&self) -> bool {
        self.switch.is_off()
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// Shared by a client and its reports, so that switching off reaches reports already handed out. Once
/// off it stays off.
#[derive(Clone, Default)]
pub(crate) struct Switch(Arc<AtomicBool>);

impl Switch {
    pub fn turn_off(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_off(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
