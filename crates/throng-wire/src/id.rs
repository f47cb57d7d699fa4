//! The name of a collection: a hash of all it says.

use crate::Error;
use crate::bytes::{hex, unhex_array};
use std::fmt;
use std::str::FromStr;

/// SHA-256 of a collection's canonical bytes. Bound into every layer, so that nobody changes a
/// promise after the fact.
///
/// ```
/// use throng_wire::CollectionId;
///
/// let id = CollectionId::new([7; 32]);
/// assert_eq!(id.to_string(), "07".repeat(32));
/// assert_eq!(id.to_string().parse::<CollectionId>()?, id);
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionId([u8; 32]);

impl CollectionId {
    /// The id with this hash.
    pub fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for CollectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for CollectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CollectionId({self})")
    }
}

impl FromStr for CollectionId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let expected = "a collection id of 64 hexadecimal digits";
        unhex_array(text).map(Self).ok_or(Error::Malformed { expected })
    }
}
