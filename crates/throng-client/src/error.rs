//! The reasons why a device does not report.

use thiserror::Error;

/// Everything that can go wrong here. No variant holds a value, a key or what a peer sent.
///
/// ```
/// use throng_client::Error;
///
/// // Those that more waiting will not help say what would.
/// let spent = Error::Spent { reports: 52 };
/// assert_eq!(spent.to_string(), "the odometer is at 52 reports, and the promise covers no more");
///
/// let late = Error::Past { epoch: 3, last: 7 };
/// let text = "epoch 3 is past: this device has reported in epoch 7; check its clock";
/// assert_eq!(late.to_string(), text);
/// ```
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The off switch is on.
    #[error("reporting is switched off on this device")]
    Disabled,
    /// The reports that the promise covers are all spent.
    #[error("the odometer is at {reports} reports, and the promise covers no more")]
    Spent {
        /// Reports so far.
        reports: u64,
    },
    /// An epoch after the last.
    #[error("there is no epoch {epoch}: the last one is {last}")]
    NoSuchEpoch {
        /// The epoch asked for.
        epoch: u64,
        /// The collection's last epoch.
        last: u64,
    },
    /// An epoch before one that is reported already.
    #[error("epoch {epoch} is past: this device has reported in epoch {last}; check its clock")]
    Past {
        /// The epoch asked for.
        epoch: u64,
        /// The latest epoch of this device.
        last: u64,
    },
    /// This epoch has had its one report, and the report is gone from the device.
    #[error("this device has reported in epoch {epoch}, and there is one report for each")]
    Reported {
        /// The epoch.
        epoch: u64,
    },
    /// The memory that earlier reports rest on is erased. Starting over would cost as much again as
    /// is promised for all epochs together.
    #[error(
        "what earlier reports rest on is erased, so this device cannot go on in this collection"
    )]
    Forgotten,
    /// The keys of a window have not been learned.
    #[error("the keys of window {window} are not known: fetch its directory first")]
    NoKeys {
        /// The window, by its first epoch.
        window: u64,
    },
    /// Every party has signed two lists of keys for one window, which an honest one does not.
    #[error(
        "there are two directories of window {window}: no party of this collection can be trusted"
    )]
    TwoDirectories {
        /// The window, by its first epoch.
        window: u64,
    },
    /// A state file that is not this client's. It is left as it is.
    #[error("{path}: {fault}")]
    State {
        /// The file.
        path: String,
        /// The fault, and what would do.
        fault: &'static str,
    },
    /// A file that cannot be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The system's message.
        reason: String,
    },
    /// The first mix has no address that a report could be sent to.
    #[error("the first mix has no usable http or https address")]
    Address,
    /// The mix does not take it, now or later.
    #[error("the mix answered {status}: {remedy}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// A remedy.
        remedy: &'static str,
    },
    /// The mix took nothing in all attempts. The same bytes may be sent again later.
    #[error("no success after {attempts} attempts, the last of them: {trouble}; try again later")]
    Unreachable {
        /// The number of attempts.
        attempts: u32,
        /// The trouble of the last attempt.
        trouble: Trouble,
    },
    /// A value that does not fit the question, or a memory that no client left behind.
    #[error(transparent)]
    Mechanism(#[from] throng_mechanism::Error),
    /// A schedule under which a device cannot keep its word.
    #[error("schedule: {reason}")]
    Schedule {
        /// The fault.
        reason: &'static str,
    },
    /// A directory that is not signed by all, or a key that cannot be sealed to.
    #[error(transparent)]
    Wire(#[from] throng_wire::Error),
}

/// A trouble that may be over at the next attempt.
///
/// ```
/// use throng_client::{Error, Trouble};
///
/// let error = Error::Unreachable { attempts: 6, trouble: Trouble::Status(503) };
/// let text = "no success after 6 attempts, the last of them: the mix answered 503";
/// assert_eq!(error.to_string(), format!("{text}; try again later"));
/// ```
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// Nobody listens, or TLS fails.
    #[error("no connection")]
    Connection,
    /// The connection ended before the answer.
    #[error("the connection broke")]
    Broken,
    /// No answer in time.
    #[error("no answer in time")]
    Time,
    /// The mix asks for patience.
    #[error("the mix answered {0}")]
    Status(u16),
}
