//! One small route with its parties, for examples, tests and fuzzing.
//!
//! Everything follows from fixed seeds, so nothing here protects anybody.
//!
//! ```
//! use throng_wire::example;
//!
//! let route = example::route();
//! let [mix, analyzer] = example::identities();
//! assert_eq!(route.chain.hop_of(&mix.public()), Some(1));
//! assert_eq!(route.chain.hop_of(&analyzer.public()), Some(2));
//!
//! // The keys of epoch 0, signed by both, and the secrets that open what is sealed to them.
//! let (secrets, directory) = example::keys(&route, 0);
//! let signed = directory.verify(&route.id, 0, &route.chain.identities())?;
//! assert_eq!(signed.keys[0], secrets[0].public());
//! # Ok::<(), throng_wire::Error>(())
//! ```

use crate::{
    Below, Chain, CollectionId, Directory, Identity, LayerSecret, Loss, Manifest, Party,
    RecordDigest, Route, Schedule, Shape, SignedDirectory,
};

/// The identities of the mix and of the analyzer.
pub fn identities() -> [Identity; 2] {
    [1, 2].map(|seed| Identity::from_seed(&[seed; 32]))
}

/// A party of this name with the identity of this seed, at an address where nobody is.
pub fn party(name: &str, seed: u8) -> Party {
    Party {
        name: name.into(),
        url: format!("https://{name}.example"),
        identity: Identity::from_seed(&[seed; 32]).public(),
    }
}

/// The way through the mix `north` to the analyzer `counter`.
pub fn chain() -> Chain {
    chain_through(&["north"])
}

/// The way through mixes of these names to the analyzer `counter`. The seed of an identity is its
/// hop.
pub fn chain_through(mixes: &[&str]) -> Chain {
    let mixes: Vec<Party> = (1..).zip(mixes).map(|(hop, name)| party(name, hop)).collect();
    Chain { analyzer: party("counter", mixes.len() as u8 + 1), mixes }
}

/// Days from the second 1000 on, each with an hour of grace; too few reports are discarded.
pub fn schedule() -> Schedule {
    Schedule { start: 1_000, every: 86_400, grace: 3_600, below: Below::Expire }
}

/// One day, on which a thousand people send one message of one byte.
pub fn route() -> Route {
    Route {
        id: CollectionId::new([7; 32]),
        title: "Do you cycle to work?".into(),
        shape: Shape { mixes: 1, messages: 1, payload: 1 },
        quorum: 1_000,
        epochs: 1,
        schedule: schedule(),
        chain: chain(),
    }
}

/// The first mix's manifest of epoch 0 of [`route`]: two records, whose bytes are all 0.
pub fn manifest() -> Manifest {
    let mut digest = RecordDigest::default();
    digest.update(&[0; 2 * 49]);
    Manifest {
        collection: route().id,
        first: 0,
        last: 0,
        record_bytes: 49,
        records: 2,
        losses: vec![Loss::default()],
        source: [0; 32],
        digest: digest.finish(),
    }
}

/// The secrets of a window, hop by hop, and the directory of their keys as [`identities`] sign it.
pub fn keys(route: &Route, window: u64) -> (Vec<LayerSecret>, SignedDirectory) {
    let hops = 1..=route.chain.hops();
    let secrets: Vec<_> = hops.map(|hop| LayerSecret::from_bytes(&[10 + hop; 32])).collect();
    let keys = secrets.iter().map(LayerSecret::public).collect();
    let directory = Directory { collection: route.id, window, keys };
    let signatures = identities().iter().map(|party| directory.cosign(party)).collect();
    (secrets, SignedDirectory::new(directory, signatures))
}
