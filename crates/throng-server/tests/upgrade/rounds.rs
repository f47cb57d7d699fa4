//! The parties of a board on disk.

use crate::common::{generator, hand_over, identity, limits, wire};
use chacha20::ChaCha12Rng;
use rand_core::Rng;
use std::io::Read;
use std::sync::Arc;
use throng_collection::Board;
use throng_mix::store::Store;
use throng_mix::{Course, Mix};
use throng_server::{Error, Noticeboard};
use throng_wire::{Bulletin, Route, Seal};

/// Two mixes and the analyzer of a board, all of whom run.
pub struct Rounds {
    route: Arc<Route>,
    mixes: [Mix; 2],
    noticeboard: Noticeboard,
    pub now: u64,
    rng: ChaCha12Rng,
}

impl Rounds {
    /// Opens every party, from what is on its disk.
    pub fn open(board: &Board, stores: [Store; 3], now: u64, rng: ChaCha12Rng) -> Self {
        let route = Arc::new(Route::from(board));
        let [first, second, last] = stores;
        let mix = |store, hop| Mix::open(store, route.clone(), identity(hop), limits()).unwrap();
        let mixes = [mix(first, 1), mix(second, 2)];
        let noticeboard = Noticeboard::open(last, route.clone(), identity(3), limits()).unwrap();
        Self { route, mixes, noticeboard, now, rng }
    }

    /// Makes and tells all keys that are due.
    pub fn exchange(&mut self) {
        for hop in 1..=3 {
            let mut rng = generator(self.rng.next_u64());
            self.course(hop).keyring.publish(self.now, &mut rng).unwrap();
        }
        for told in [false, true] {
            for (from, to) in (1..=3).flat_map(|from| (1..=3).map(move |to| (from, to))) {
                let (speaker, listener) = (&self.course(from).keyring, &self.course(to).keyring);
                for window in speaker.windows() {
                    // A party that has destroyed its key has nothing to say, and hears nothing.
                    if told && let Ok(signature) = speaker.cosignature(window) {
                        let _ = listener.collect(from, window, &signature);
                    } else if let Ok(statement) = speaker.statement(window) {
                        let _ = listener.learn(from, &statement);
                    }
                }
            }
        }
    }

    /// Seals and uploads one report per message, each of one byte.
    pub fn upload(&mut self, round: u64, messages: impl IntoIterator<Item = u8>) {
        let directory = self.course(1).keyring.directory(round).unwrap();
        let parties = self.route.chain.identities();
        let keys = &directory.verify(&self.route.id, round, &parties).unwrap().keys;
        let seal = Seal::new(&self.route.shape, self.route.id, round, round, keys).unwrap();
        for message in messages {
            let report = seal.report(&[message], &mut self.rng).unwrap();
            self.mixes[0].accept(round, &report, self.now).unwrap();
        }
    }

    /// Lets one party do all that it can.
    pub fn settle(&mut self, hop: u8) {
        while match self.mixes.get(usize::from(hop) - 1) {
            Some(mix) => mix.step(self.now, &mut self.rng).unwrap().is_some(),
            None => self.noticeboard.step(self.now).unwrap().is_some(),
        } {}
    }

    /// Hands over what a mix has ready.
    pub fn deliver(&mut self, hop: u8) -> bool {
        let mix = &self.mixes[usize::from(hop) - 1];
        let Some(&first) = mix.waiting().first() else { return false };
        let batch = wire(mix.outgoing(first).unwrap().unwrap());
        let receipt = hand_over(self.course(hop + 1), &batch, self.now).unwrap();
        mix.delivered(first, receipt).unwrap();
        true
    }

    /// Lets everybody do all that they can, and carries batches, notices and signatures.
    pub fn run(&mut self) {
        loop {
            (1..=3).for_each(|hop| self.settle(hop));
            let moved = [1, 2].map(|hop| self.deliver(hop));
            if moved == [false, false] {
                break;
            }
        }
        for (hop, mix) in (1..).zip(&self.mixes) {
            for (notice, own) in self.noticeboard.unsigned(hop).unwrap() {
                let signature = mix.countersign(&notice, &own).unwrap();
                self.noticeboard.collect(hop, notice.round, &signature).unwrap();
            }
        }
    }

    /// The messages of a round, from a bulletin that everybody signed.
    pub fn bulletin(&self, round: u64) -> Result<Vec<u8>, Error> {
        let (signed, mut bag) = self.noticeboard.bulletin(round)?;
        let mut bytes = signed.encode();
        bag.content.read_to_end(&mut bytes).unwrap();
        let parties = self.route.chain.identities();
        let bulletin = Bulletin::decode(&bytes, &self.route.id, round, &parties).unwrap();
        Ok(bulletin.bag().messages().flatten().copied().collect())
    }

    fn course(&self, hop: u8) -> &Course {
        match self.mixes.get(usize::from(hop) - 1) {
            Some(mix) => &mix.course,
            None => &self.noticeboard.course,
        }
    }
}
