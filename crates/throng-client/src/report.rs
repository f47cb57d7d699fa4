//! The report that leaves a device.

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
/// assert_ne!(yes.as_bytes(), no.as_bytes());
/// assert_eq!((yes.epoch(), yes.collection()), (0, collection.id()));
/// assert_eq!(format!("{yes:?}"), "Report { epoch: 0, .. }");
/// # Ok::<(), throng_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Report {
    pub(crate) collection: CollectionId,
    pub(crate) epoch: u64,
    pub(crate) sealed: Arc<[u8]>,
    pub(crate) revoked: Revoked,
}

/// True once the device is switched off, which then reaches the reports it has handed out. It never
/// becomes false again.
pub(crate) type Revoked = Arc<AtomicBool>;

impl Report {
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

    /// True if the device that made it was switched off since. Such a report must not be sent.
    pub fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}
