//! A collection with its parties, for tests: keys that follow from the window, and a way to the end
//! of the chain.

use crate::{Client, Report};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Epsilon, Probability, Threshold};
use throng_collection::{Collection, example};
use throng_mechanism::{BinaryResponse, Bloom, Key, Longitudinal, Mechanism, Rappor};
use throng_wire::example::chain_through;
use throng_wire::{
    Binding, Directory, Identity, LAYER, LayerSecret, Opener, Schedule, SignedDirectory,
};

pub struct World {
    pub collection: Collection,
    pub identities: Vec<Identity>,
}

impl World {
    /// A world of two mixes and ten epochs, with windows of one epoch.
    pub fn new(mechanism: Mechanism) -> Self {
        let mut collection = example::collection();
        collection.terms.mechanism = mechanism;
        collection.terms.promise.epochs = 10;
        collection.schedule = Schedule { every: 100, grace: 10, ..collection.schedule };
        collection.chain = chain_through(&["north", "south"]);
        let identities = (1..=3).map(|hop| Identity::from_seed(&[hop; 32])).collect();
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
    let small = |key: Key| example::asked(example::question(key.kind()), key).mechanism;
    Key::ALL.into_iter().map(small)
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
