//! The ways in which a collection can be wrong.

use thiserror::Error;

/// Everything that can go wrong here. No variant holds a value, a key or what a peer sent.
///
/// ```
/// use throng_collection::{Board, Error};
///
/// let error = Board::parse("").unwrap_err();
/// assert!(matches!(error, Error::Field { .. }));
/// assert_eq!(error.to_string(), "board: the section is missing");
/// ```
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A field of a collection file that is missing or not valid.
    #[error("{field}: {reason}")]
    Field {
        /// The place in the file, as `section.name`.
        field: String,
        /// The fault, and what would do.
        reason: String,
    },
    /// A promise that the mechanism does not keep.
    #[error("the promise is not kept: {reason}; {remedy}")]
    Promise {
        /// The part that falls short.
        reason: String,
        /// A change that would do.
        remedy: String,
    },
    /// A text that no analyzer of the collection wrote.
    #[error("this is not a release of the collection")]
    Release,
    /// Bytes that do not fit the collection.
    #[error(transparent)]
    Wire(#[from] throng_wire::Error),
    /// A parameter of a mechanism.
    #[error(transparent)]
    Mechanism(#[from] throng_mechanism::Error),
    /// A number of the accountant.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
}
