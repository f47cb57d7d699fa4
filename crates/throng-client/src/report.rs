//! The report that leaves a device.

use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use throng_wire::CollectionId;

/// The sealed report of one device for one epoch. All reports of a collection have the same length.
///
/// Only [`Client::report`](crate::Client::report) makes one, which is on disk before it is handed
/// out. Sending it twice does no harm: the first mix keeps one of equal reports. `Debug` does not
/// show it.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_client::Client;
/// use throng_collection::example;
/// use throng_mechanism::Value;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let collection = example::collection();
/// let directory = example::directory(&collection);
///
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

    /// True if the device that made it was switched off since. Such a report must not be sent.
    pub fn is_revoked(&self) -> bool {
        self.switch.is_off()
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// Shared by a client and its reports, so that switching off reaches reports already handed out.
/// Once off it stays off.
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
