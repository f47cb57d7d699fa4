//! The reasons why a party does not do what it is asked.

use crate::store::StoreError;
use thiserror::Error;

/// The ways in which a party refuses or fails, by what the other side can do about it. Nothing in
/// here depends on what is inside a report.
///
/// ```
/// use throng_mix::Error;
/// use throng_mix::store::StoreError;
///
/// // What a store refuses is told as what the other side can do about it.
/// assert!(matches!(Error::from(StoreError::Full), Error::Busy));
/// assert!(matches!(Error::from(StoreError::Closed), Error::EpochClosed));
/// assert_eq!(Error::Busy.to_string(), "the server is busy");
/// ```
#[derive(Debug, Error)]
pub enum Error {
    /// The batch or notice is of another collection.
    #[error("this server does not serve that collection")]
    UnknownCollection,
    /// The party does not do that: only the first mix takes reports, for instance.
    #[error("this party has another place in the chain")]
    WrongPlace,
    /// The epoch takes no reports now.
    #[error("the epoch is not open; epochs open at their start and close at their deadline")]
    EpochClosed,
    /// The body is not a whole number of reports, or none, or too many.
    #[error("the body is not a whole number of reports of this collection's length")]
    Length,
    /// The body has more bytes than this server takes at once.
    #[error("the body is larger than this server takes; send fewer reports together")]
    TooLarge,
    /// There is no key or directory for that window, or not yet.
    #[error("there are no keys for that window")]
    NoKeys,
    /// The keys of that window have been destroyed.
    #[error("the keys of that window have been destroyed")]
    KeysDestroyed,
    /// The batch comes before its last epoch is over, by the clock here.
    #[error("the last epoch of the batch is not over yet; compare the clocks, and send it again")]
    Early,
    /// The clock of this party cannot be believed now.
    #[error("this party doubts its clock, and takes nothing until it is right again")]
    Clock,
    /// Another batch is there already for some of the same epochs.
    #[error("another batch covers these epochs; the two are evidence against their sender")]
    Conflict,
    /// The manifest of the batch is not the previous mix's, or not for here.
    #[error("the batch is not one this party takes")]
    Batch(#[source] throng_wire::Error),
    /// The notice is not the analyzer's, or not of what this mix handed over.
    #[error("the notice is not one this mix signs")]
    Notice(#[source] throng_wire::Error),
    /// There is too much to do now; a later try may succeed.
    #[error("the server is busy")]
    Busy,
    /// Bytes or keys are not what they should be.
    #[error(transparent)]
    Wire(#[from] throng_wire::Error),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Busy,
            StoreError::Closed => Self::EpochClosed,
            other => Self::Store(other),
        }
    }
}
