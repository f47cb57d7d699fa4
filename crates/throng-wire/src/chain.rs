//! The parties that a report passes.

use crate::PublicIdentity;

/// One who runs a mix or the analyzer.
///
/// ```
/// use throng_wire::{Identity, Party};
///
/// let identity = Identity::from_seed(&[1; 32]);
/// let party = Party {
///     name: "north".into(),
///     url: "https://north.example".into(),
///     identity: identity.public(),
/// };
/// assert!(party.identity.verify("label", b"body", &identity.sign("label", b"body")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// What people call it.
    pub name: String,
    /// Where it listens, without a slash at the end.
    pub url: String,
    /// What it signs with.
    pub identity: PublicIdentity,
}

/// The way of a report: one mix after the other, then the analyzer.
///
/// ```
/// # use throng_wire::{Chain, Identity, Party};
/// # let party = |name: &str, seed| Party {
/// #     name: name.into(),
/// #     url: format!("https://{name}.example"),
/// #     identity: Identity::from_seed(&[seed; 32]).public(),
/// # };
/// # let (mixes, analyzer) = (vec![party("north", 1), party("south", 2)], party("counter", 3));
/// # let chain = Chain { mixes, analyzer };
/// // Through north and south to the counter.
/// assert_eq!(chain.hops(), 3);
/// let names: Vec<_> = chain.parties().map(|(hop, party)| (hop, &party.name[..])).collect();
/// assert_eq!(names, [(1, "north"), (2, "south"), (3, "counter")]);
/// assert_eq!(chain.hop_of(&chain.mixes[1].identity), Some(2));
/// assert_eq!(chain.party(4), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// In the order of the way, hops 1 to k.
    pub mixes: Vec<Party>,
    /// Hop k + 1.
    pub analyzer: Party,
}

impl Chain {
    /// Parties on the way: k + 1.
    pub fn hops(&self) -> u8 {
        self.mixes.len() as u8 + 1
    }

    /// The party at a hop from 1 to k + 1.
    pub fn party(&self, hop: u8) -> Option<&Party> {
        let index = usize::from(hop.checked_sub(1)?);
        if index == self.mixes.len() { Some(&self.analyzer) } else { self.mixes.get(index) }
    }

    /// All of them with their hops.
    pub fn parties(&self) -> impl Iterator<Item = (u8, &Party)> {
        (1..).zip(self.mixes.iter().chain([&self.analyzer]))
    }

    /// The hop of who signs with this identity.
    pub fn hop_of(&self, identity: &PublicIdentity) -> Option<u8> {
        self.parties().find(|(_, party)| party.identity == *identity).map(|(hop, _)| hop)
    }
}
