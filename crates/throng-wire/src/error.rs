//! The ways in which bytes, keys and their files can be wrong.

use thiserror::Error;

/// Everything that can go wrong here. No variant holds a value, a key or what a peer sent.
///
/// ```
/// use throng_wire::{CollectionId, Error};
///
/// let error = "crashes".parse::<CollectionId>().unwrap_err();
/// assert!(matches!(error, Error::Malformed { .. }));
/// let text = "malformed bytes: a collection id of 64 hexadecimal digits expected";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that are not what they should be; the field says where reading stopped.
    #[error("malformed bytes: {expected} expected")]
    Malformed {
        /// The thing that should have been there.
        expected: &'static str,
    },
    /// A call that no correct caller makes; the field says what would do.
    #[error("a wrong argument: {expected} expected")]
    Argument {
        /// The arguments that would do.
        expected: &'static str,
    },
    /// A layer that does not open: altered, or sealed for another key, collection, epoch or hop.
    #[error("a layer does not open with this key for this collection, epoch and hop")]
    Sealed,
    /// A signature that is not by the party that should have signed.
    #[error("the {what} is not signed by {party}")]
    Signature {
        /// The thing that carries the signature.
        what: &'static str,
        /// The party that should have signed it.
        party: String,
    },
    /// Something made for another collection, epoch or hop.
    #[error("the {what} belongs to another {scope}")]
    Foreign {
        /// The thing that was given.
        what: &'static str,
        /// The scope in which it differs.
        scope: &'static str,
    },
    /// A file that cannot be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The system's message, or a remedy.
        reason: String,
    },
}

impl Error {
    /// The error for something without the signature of the party at a hop.
    pub fn unsigned(what: &'static str, hop: u8) -> Self {
        Self::Signature { what, party: format!("the party at hop {hop}") }
    }

    /// Refuses something unless it belongs to the scope at hand.
    pub fn unless_in(what: &'static str, scope: &'static str, belongs: bool) -> Result<(), Self> {
        if belongs { Ok(()) } else { Err(Self::Foreign { what, scope }) }
    }
}
