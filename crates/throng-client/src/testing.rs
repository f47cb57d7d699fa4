//! A collection with its parties, for tests: keys that follow from the window, and a way to the end
//! of the chain.

use crate::{Client, Report};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold};
use throng_collection::{Collection, Promise, Prompt, Terms};
use throng_mechanism::{
    Ask, BinaryResponse, Bloom, Key, Kind, Longitudinal, Mechanism, Question, Rappor,
};
use throng_wire::{
    Below, Binding, Chain, Directory, Identity, LAYER, LayerSecret, Opener, Party, Schedule,
    SignedDirectory,
};

pub struct World {
    pub collection: Collection,
    pub identities: Vec<Identity>,
}

impl World {
    /// A world of two mixes and ten epochs, with windows of one epoch.
    pub fn new(mechanism: Mechanism) -> Self {
        let identities: Vec<_> = (1..=3).map(|i| Identity::from_seed(&[i; 32])).collect();
        let party = |hop: usize| Party {
            name: format!("party {hop}"),
            url: "http://127.0.0.1:9".into(),
            identity: identities[hop].public(),
        };
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let promise = Promise {
            epsilon,
            delta,
            crowd: Crowd::new(1000).unwrap(),
            corrupt: 0.0,
            epochs: 10,
            lifetime: (epsilon, delta),
        };
        let collection = Collection {
            terms: Terms { question: Prompt::new("Yes?"), promise, mechanism },
            schedule: Schedule { start: 1000, every: 100, grace: 10, below: Below::Expire },
            chain: Chain { mixes: vec![party(0), party(1)], analyzer: party(2) },
        };
        Self { collection, identities }
    }

    /// A world in which everyone says yes or no.
    pub fn of_bits() -> Self {
        Self::new(Mechanism::BitSum(BinaryResponse::new(coin(0.25)).unwrap()))
    }

    /// A world in which all that is shown of a string is its permanent response, but for 1 bit in
    /// 2³⁰.
    pub fn of_strings() -> Self {
        let bloom = Bloom::new(64, 2, 4, 7).unwrap();
        let rare = 1.0 / f64::from(1 << 30);
        let [f, p, q] = [0.5, rare, 1.0 - rare].map(coin);
        Self::new(Mechanism::Rappor(Rappor::new(bloom, f, p, q).unwrap()))
    }

    /// A world in which bits change over sixteen epochs.
    pub fn of_changes() -> Self {
        let protocol = Longitudinal::local(16, 2, Epsilon::new(1.0).unwrap()).unwrap();
        let mut world = Self::new(Mechanism::Longitudinal(protocol));
        world.collection.terms.promise.epochs = 16;
        world
    }

    pub fn keys(&self, window: u64) -> Directory {
        let keys = (1..=3).map(|hop| secret(window, hop).public()).collect();
        Directory { collection: self.collection.id(), window, keys }
    }

    pub fn directory(&self, window: u64) -> SignedDirectory {
        self.signed(self.keys(window))
    }

    pub fn signed(&self, directory: Directory) -> SignedDirectory {
        let signatures = self.identities.iter().map(|party| directory.cosign(party)).collect();
        SignedDirectory::new(directory, signatures)
    }

    /// A device that knows the keys of epoch 0.
    pub fn client(&self) -> Client {
        let mut client = Client::new(self.collection.clone()).unwrap();
        client.learn(&self.directory(0), 0).unwrap();
        client
    }

    /// The messages of a report, as its analyzer sees them.
    pub fn open(&self, report: &Report) -> Vec<u64> {
        let Collection { terms, schedule, .. } = &self.collection;
        let (collection, epoch) = (self.collection.id(), report.epoch());
        let window = schedule.window_of(epoch);
        let shape = self.collection.shape();
        let mut records = report.as_bytes().to_vec();
        for (hop, bound) in [(1, epoch), (2, window), (3, window)] {
            let binding = Binding { collection, epoch: bound, hop, analyzer: hop == 3 };
            let opener = Opener::new(&secret(window, hop), &binding).unwrap();
            let each = shape.record_bytes(hop);
            let mut opened = Vec::new();
            for record in records.chunks(each) {
                let mut inside = vec![0; each - LAYER];
                opener.open(record, &mut inside).unwrap();
                opened.extend_from_slice(&inside);
            }
            records = opened;
        }
        let mut messages = Vec::new();
        terms.decode_payload(&records, epoch, &mut messages).unwrap();
        messages
    }
}

/// The mechanisms, each for a small question.
pub fn every_mechanism() -> impl Iterator<Item = Mechanism> {
    Key::ALL.into_iter().map(|key| {
        let question = match key.kind() {
            Kind::Bit => Question::Bit,
            Kind::Real => Question::Real,
            Kind::Category => Question::Category { size: 3 },
            Kind::Text => Question::Text { bits: 70, hashes: 2, cohorts: 4 },
            Kind::Attributes => Question::Attributes { count: 3 },
            Kind::State => Question::State { periods: 16, changes: 2 },
        };
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let ask = Ask::new(question, Crowd::new(1000).unwrap(), epsilon, delta);
        ask.with_max_messages(12).with_fragile(true).calibrate(key).unwrap()
    })
}

fn secret(window: u64, hop: u8) -> LayerSecret {
    LayerSecret::generate(&mut rng(1000 * window + u64::from(hop)))
}

pub fn coin(probability: f64) -> Threshold {
    Threshold::at_least(Probability::new("coin", probability).unwrap())
}

pub fn rng(seed: u64) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(seed)
}
