//! A collection and its parties, for targets that need one.

use throng_account::profile::Bursts;
use throng_account::{Crowd, Delta, Epsilon};
use throng_collection::{Collection, Promise, Prompt, Terms};
use throng_mechanism::{Ask, BurstCount, BurstHistogram, Key, Kind, Mechanism, Question};
use throng_wire::{Below, Chain, Identity, Party, Schedule};

/// The party at a hop.
pub fn identity(hop: u8) -> Identity {
    Identity::from_seed(&[hop; 32])
}

/// A collection with two mixes and an analyzer, eight epochs, and windows of one epoch.
pub fn collection(key: Key) -> Collection {
    let party = |name: &str, hop| Party {
        name: name.into(),
        url: format!("https://{name}.example"),
        identity: identity(hop).public(),
    };
    Collection {
        terms: terms(key),
        schedule: Schedule { start: 1_000, every: 60, grace: 5, below: Below::Expire },
        chain: Chain {
            mixes: vec![party("north", 1), party("south", 2)],
            analyzer: party("counter", 3),
        },
    }
}

/// A small question that a mechanism answers, for a promise among 1,000.
pub fn terms(key: Key) -> Terms {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    let crowd = Crowd::new(1_000).unwrap();
    let lifetime = (Epsilon::new(10.0).unwrap(), Delta::new(1e-5).unwrap());
    Terms {
        question: Prompt::new("How is it?"),
        promise: Promise { epsilon, delta, crowd, corrupt: 0.0, epochs: 8, lifetime },
        mechanism: mechanism(key),
    }
}

/// The mechanism, calibrated, except for bursts: those take a second, and no target asks for their
/// promise.
fn mechanism(key: Key) -> Mechanism {
    let bursts =
        || Bursts::new(vec![1 << 60, 1 << 59], vec![1 << 58; 3], vec![1 << 58; 3]).unwrap();
    if key == Key::BurstCount {
        return Mechanism::BurstCount(BurstCount::new(bursts()).unwrap());
    }
    if key == Key::BurstHistogram {
        return Mechanism::BurstHistogram(BurstHistogram::new(5, bursts()).unwrap());
    }
    let question = match key.kind() {
        Kind::Bit => Question::Bit,
        Kind::Real => Question::Real,
        Kind::Category => Question::Category { size: 5 },
        Kind::Text => Question::Text { bits: 70, hashes: 2, cohorts: 4 },
        Kind::Attributes => Question::Attributes { count: 3 },
        Kind::State => Question::State { periods: 8, changes: 1 },
    };
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    let ask = Ask::new(question, Crowd::new(1_000).unwrap(), epsilon, delta);
    ask.with_max_messages(12).with_fragile(true).calibrate(key).unwrap()
}
