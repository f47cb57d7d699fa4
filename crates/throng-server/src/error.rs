//! Why a server does not do what it is asked.

use crate::store::StoreError;
use thiserror::Error;

/// What can go wrong at a server, by what the other side can do about it. Nothing in here depends on
/// what is inside a report.
///
/// ```
/// use throng_server::{Error, StoreError};
///
/// // What a store refuses is told as what the other side can do about it.
/// assert!(matches!(Error::from(StoreError::Full), Error::Busy));
/// assert!(matches!(Error::from(StoreError::Closed), Error::EpochClosed));
/// assert_eq!(Error::Busy.to_string(), "the server is busy");
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// No collection of this id is served here.
    #[error("this server does not serve that collection")]
    UnknownCollection,
    /// This party does not do that: only the first mix takes reports, for instance.
    #[error("this party has another place in the chain")]
    WrongPlace,
    /// The epoch takes no reports now.
    #[error("the epoch is not open; epochs open at their start and close at their deadline")]
    EpochClosed,
    /// A body that is not a whole number of reports, or none, or too many.
    #[error("the body is not a whole number of reports of this collection's length")]
    Length,
    /// More bytes than this server takes at once.
    #[error("the body is larger than this server takes; send fewer reports together")]
    TooLarge,
    /// There is no key or directory for that window, or not yet.
    #[error("there are no keys for that window")]
    NoKeys,
    /// The keys of that window have been destroyed.
    #[error("the keys of that window have been destroyed")]
    KeysDestroyed,
    /// Another batch is there already for some of the same epochs.
    #[error("another batch covers these epochs; the two are evidence against their sender")]
    Conflict,
    /// A batch whose manifest is not the previous mix's, or not for here.
    #[error("the batch is not one this party takes")]
    Batch(#[source] throng_wire::Error),
    /// Too much to do; later it will be better.
    #[error("the server is busy")]
    Busy,
    /// A piece of work ended before its time; it is done again.
    #[error("a piece of work ended before its time")]
    Interrupted,
    /// The ledger on disk is older than what this server has seen.
    #[error("the ledger was rolled back: {reason}; restore the newest data directory")]
    Rollback {
        /// What disagrees.
        reason: &'static str,
    },
    /// Bytes, keys or promises.
    #[error(transparent)]
    Wire(throng_wire::Error),
    /// The accountant refused.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
    /// The disk.
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

impl From<throng_wire::Error> for Error {
    fn from(error: throng_wire::Error) -> Self {
        Self::Wire(error)
    }
}
