//! Why a server does not do what it is asked.

use crate::slots::Why;
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
    /// A notice that is not the analyzer's, or not of what this mix handed over.
    #[error("the notice is not one this mix signs")]
    Notice(#[source] throng_wire::Error),
    /// Asked for estimates of a board.
    #[error(
        "this is a board and has no estimates; what was posted is in the bulletins of its rounds"
    )]
    IsBoard,
    /// Asked for bulletins of a question.
    #[error("this is a question and has no bulletins; what is known of it is in its releases")]
    IsQuestion,
    /// A board has fewer rounds.
    #[error("the board has no such round")]
    NoRound,
    /// The bulletin of a round that is not over, or not signed by everybody.
    #[error(
        "the bulletin is not out yet; it comes when the round is over and every party has signed"
    )]
    NotYet,
    /// The round ended without a bulletin.
    #[error("{}", unseen(*.0))]
    Dropped(Why),
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
    /// A setting that is missing or cannot be.
    #[error("{field}: {reason}")]
    Setting {
        /// Where in the configuration.
        field: String,
        /// What is wrong and what would do.
        reason: String,
    },
    /// A file that cannot be read, or not as what it should be.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What the system says, or what to do.
        reason: String,
    },
    /// Bytes or keys.
    #[error(transparent)]
    Wire(#[from] throng_wire::Error),
    /// A collection, or what it costs.
    #[error(transparent)]
    Collection(#[from] throng_collection::Error),
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

/// Why a round has no bulletin, and what to do.
fn unseen(why: Why) -> &'static str {
    match why {
        Why::Short => {
            "fewer reports than its crowd came in that round, and were thrown away unseen; post again in \
             a later round"
        }
        Why::Keys => {
            "no crowd's messages arrived before the keys of that round were destroyed; post again in a \
             later round"
        }
        Why::Budget => "that round was dropped; post again in a later round",
    }
}
