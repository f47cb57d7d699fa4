//! A collection and its parties, for targets that need one.

use throng_account::profile::Bursts;
use throng_account::{Delta, Epsilon};
use throng_collection::{Collection, Terms, example};
use throng_mechanism::{BurstCount, BurstHistogram, Key, Mechanism};
use throng_wire::example::chain_through;
use throng_wire::{Identity, Schedule};

/// The party at a hop.
pub fn identity(hop: u8) -> Identity {
    Identity::from_seed(&[hop; 32])
}

/// A collection with two mixes and an analyzer, eight epochs, and windows of one epoch.
pub fn collection(key: Key) -> Collection {
    Collection {
        terms: terms(key),
        schedule: Schedule { every: 60, grace: 5, ..example::collection().schedule },
        chain: chain_through(&["north", "south"]),
    }
}

/// A small question that a mechanism answers, for a promise among 1,000. Mechanisms are calibrated,
/// except for bursts: those take a second, and no target asks for their promise.
pub fn terms(key: Key) -> Terms {
    let bursts =
        || Bursts::new(vec![1 << 60, 1 << 59], vec![1 << 58; 3], vec![1 << 58; 3]).unwrap();
    let mut terms = example::terms();
    if key == Key::BurstCount {
        terms.mechanism = Mechanism::BurstCount(BurstCount::new(bursts()).unwrap());
    } else if key == Key::BurstHistogram {
        terms.mechanism = Mechanism::BurstHistogram(BurstHistogram::new(5, bursts()).unwrap());
    } else {
        terms = example::asked(example::question(key.kind()), key);
    }
    terms.promise.epochs = 8;
    terms.promise.lifetime = (Epsilon::new(10.0).unwrap(), Delta::new(1e-5).unwrap());
    terms
}
