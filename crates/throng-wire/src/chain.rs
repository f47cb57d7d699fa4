//! The parties that a report passes.

use crate::PublicIdentity;

/// A mix or the analyzer, by name, address and identity.
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
    /// The name that people call it by.
    pub name: String,
    /// The address at which it listens, without a slash at the end.
    pub url: String,
    /// The identity that it signs with.
    pub identity: PublicIdentity,
}

/// The way of a report: one mix after the other, then the analyzer.
///
/// ```
/// use throng_wire::{Chain, example::party};
///
/// let mixes = vec![party("north", 1), party("south", 2)];
/// let chain = Chain { mixes, analyzer: party("counter", 3) };
/// assert_eq!(chain.hops(), 3);
/// let names: Vec<_> = chain.parties().map(|(hop, party)| (hop, &party.name[..])).collect();
/// assert_eq!(names, [(1, "north"), (2, "south"), (3, "counter")]);
/// assert_eq!(chain.hop_of(&chain.mixes[1].identity), Some(2));
/// assert_eq!(chain.party(4), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The mixes in the order of the way, hops 1 to k.
    pub mixes: Vec<Party>,
    /// The analyzer, hop k + 1.
    pub analyzer: Party,
}

impl Chain {
    /// Parties on the way: k + 1.
    pub fn hops(&self) -> u8 {
        self.mixes.len() as u8 + 1
    }

    /// The party at a hop from 1 to k + 1.
    pub fn party(&self, hop: u8) -> Option<&Party> {
        self.parties().find(|(place, _)| *place == hop).map(|(_, party)| party)
    }

    /// All of them with their hops.
    pub fn parties(&self) -> impl Iterator<Item = (u8, &Party)> {
        (1..).zip(self.mixes.iter().chain([&self.analyzer]))
    }

    /// The identities that have to sign, in the order of the way.
    pub fn identities(&self) -> Vec<PublicIdentity> {
        self.parties().map(|(_, party)| party.identity).collect()
    }

    /// The hop of the party that signs with this identity.
    pub fn hop_of(&self, identity: &PublicIdentity) -> Option<u8> {
        self.parties().find(|(_, party)| party.identity == *identity).map(|(hop, _)| hop)
    }
}
