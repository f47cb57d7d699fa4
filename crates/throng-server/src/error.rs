//! The reasons why a server does not do what it is asked.

use thiserror::Error;
use throng_mix::Why;
use throng_mix::store::StoreError;

/// The ways in which a server refuses or fails, by what the other side can do about it. Nothing in
/// here depends on what is inside a report.
///
/// ```
/// use throng_mix::store::StoreError;
/// use throng_server::Error;
///
/// let busy = Error::from(StoreError::Full);
/// assert!(matches!(busy, Error::Mix(throng_mix::Error::Busy)));
/// assert_eq!(busy.to_string(), "the server is busy");
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A mix's reason, which an analyzer shares: places, epochs, keys, batches, the disk.
    #[error(transparent)]
    Mix(#[from] throng_mix::Error),
    /// Estimates were asked for of a board.
    #[error(
        "this is a board and has no estimates; what was posted is in the bulletins of its rounds"
    )]
    IsBoard,
    /// Bulletins were asked for of a question.
    #[error("this is a question and has no bulletins; what is known of it is in its releases")]
    IsQuestion,
    /// A board has fewer rounds.
    #[error("the board has no such round")]
    NoRound,
    /// The round of the bulletin is not over, or not signed by everybody.
    #[error(
        "the bulletin is not out yet; it comes when the round is over and every party has signed"
    )]
    NotYet,
    /// As many reports came from one network as this server takes for an epoch.
    #[error(
        "as many reports came from your network as this server takes in an epoch; its operator may \
         allow more"
    )]
    Source,
    /// The body takes too long.
    #[error("the body took too long to arrive")]
    Slow,
    /// The body ended early.
    #[error("the body ended before its time")]
    Cut,
    /// The round ended without a bulletin.
    #[error("{}", unseen(*.0))]
    Dropped(Why),
    /// A piece of work ended before its time; it is done again.
    #[error("a piece of work ended before its time")]
    Interrupted,
    /// The ledger on disk is older than what this server has seen.
    #[error("the ledger was rolled back: {reason}; restore the newest data directory")]
    Rollback {
        /// The disagreement.
        reason: &'static str,
    },
    /// A setting is missing or cannot be.
    #[error("{field}: {reason}")]
    Setting {
        /// The place in the configuration.
        field: String,
        /// The fault, and what would do.
        reason: String,
    },
    /// A file cannot be read, or not as what it should be.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The system's message, or what to do.
        reason: String,
    },
    /// An address cannot be listened on.
    #[error("listen: {address}: {reason}")]
    Listen {
        /// The address.
        address: String,
        /// The system's message.
        reason: String,
    },
    /// A collection is wrong, or its cost cannot be computed.
    #[error(transparent)]
    Collection(#[from] throng_collection::Error),
    /// The accountant refused.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Mix(error.into())
    }
}

impl From<throng_wire::Error> for Error {
    fn from(error: throng_wire::Error) -> Self {
        Self::Mix(error.into())
    }
}

/// Says why a round has no bulletin, and what to do.
fn unseen(why: Why) -> &'static str {
    match why {
        Why::Short => {
            "fewer reports than its crowd came in that round, and were thrown away unseen; post \
             again in a later round"
        }
        Why::Keys => {
            "no crowd's messages arrived before the keys of that round were destroyed; post again \
             in a later round"
        }
        Why::Budget => "that round was dropped; post again in a later round",
    }
}
