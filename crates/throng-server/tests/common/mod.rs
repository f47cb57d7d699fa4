//! A whole chain in one process: every party on a simulated disk, no network.

#![allow(dead_code, reason = "every test binary uses a part of it")]

use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
use std::io::Read;
use std::sync::Arc;
use throng_account::{Crowd, Delta, Epsilon};
use throng_collection::{Board, Collection, Promise, Terms, example};
use throng_mechanism::{KaryResponse, Mechanism};
use throng_mix::simulated::MemoryStore;
use throng_mix::store::Store;
use throng_mix::{Course, Intake, Keyring, Limits, Mix, Outgoing, Slot, Step};
use throng_server::{Analyzer, Error, Noticeboard};
use throng_wire::example::chain_through;
use throng_wire::{
    Below, Directory, Identity, LayerPublic, Receipt, Route, Schedule, Seal, SignedManifest,
};

/// The settings that differ from one test to the next.
#[derive(Debug, Clone)]
pub struct Setup {
    pub mixes: u8,
    pub crowd: u64,
    pub corrupt: f64,
    pub epochs: u64,
    pub below: Below,
    pub lifetime: f64,
    pub mechanism: Mechanism,
    /// The seconds for which keys of a window wait for what has not come.
    pub drain: u64,
    /// True if the last party is a noticeboard, which posts each message of one byte as it is.
    pub board: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            mixes: 2,
            crowd: 3,
            corrupt: 0.0,
            epochs: 4,
            below: Below::Expire,
            lifetime: 1_000.0,
            mechanism: categories(),
            drain: DRAIN,
            board: false,
        }
    }
}

/// Epochs that begin at `START`.
pub fn schedule() -> Schedule {
    Schedule { start: START, every: EVERY, grace: GRACE, below: Below::Expire }
}

/// A mechanism with one byte per message, and some bytes that no client sends. Tests seal
/// categories as they are, so that every report can be told from every other.
pub fn categories() -> Mechanism {
    let local = Epsilon::new(5.0).unwrap();
    Mechanism::KaryResponse(KaryResponse::local(CATEGORIES, local).unwrap())
}

impl Setup {
    /// The collection, in which epoch e begins at `START + e·EVERY`.
    pub fn collection(&self) -> Collection {
        let mut collection = example::collection();
        collection.terms.mechanism = self.mechanism.clone();
        collection.terms.promise = Promise {
            epsilon: Epsilon::new(5.0).unwrap(),
            delta: Delta::new(1e-4).unwrap(),
            crowd: Crowd::new(self.crowd).unwrap(),
            corrupt: self.corrupt,
            epochs: self.epochs,
            lifetime: (Epsilon::new(self.lifetime).unwrap(), Delta::new(1e-3).unwrap()),
        };
        collection.schedule = Schedule { below: self.below, ..schedule() };
        collection.chain = chain_through(&MIXES[..usize::from(self.mixes)]);
        collection
    }

    /// The board, with the rounds of the collection's epochs.
    pub fn noticeboard(&self) -> Board {
        let Collection { schedule, chain, .. } = self.collection();
        let (crowd, rounds) = (self.crowd, self.epochs);
        Board { messages: 1, payload: 1, crowd, rounds, schedule, chain, ..example::board() }
    }

    /// All parties with empty disks and each other's keys, at the start of epoch 0.
    pub fn network(&self, seed: u64) -> Network {
        let mut network = self.machines(seed);
        network.nodes.iter_mut().for_each(|node| node.restart().unwrap());
        network.exchange();
        network
    }

    /// All parties with empty disks, none of them started.
    pub fn machines(&self, seed: u64) -> Network {
        let collection = Arc::new(self.collection());
        let route = Arc::new(if self.board {
            Route::from(&self.noticeboard())
        } else {
            Route::from(&*collection)
        });
        let node = |hop| Member {
            hop,
            store: MemoryStore::new(),
            disk: None,
            route: route.clone(),
            question: Some(collection.clone()).filter(|_| !self.board),
            limits: Limits { drain: self.drain, ..limits() },
            role: None,
        };
        Network {
            nodes: (1..=self.mixes + 1).map(node).collect(),
            collection,
            route: route.clone(),
            now: START,
            rng: generator(seed),
        }
    }
}

/// All parties, and one time for all of them.
pub struct Network {
    pub collection: Arc<Collection>,
    /// The description that all parties share, of the collection or of the board.
    pub route: Arc<Route>,
    /// The parties, hop 1 first and the analyzer last.
    pub nodes: Vec<Member>,
    pub now: u64,
    pub rng: ChaCha12Rng,
}

impl Network {
    /// Makes and tells all keys that are due.
    pub fn exchange(&mut self) {
        for node in &self.nodes {
            node.role().keyring().publish(self.now, &mut self.rng).unwrap();
        }
        for window in self.nodes[0].role().keyring().windows() {
            for told in [false, true] {
                for (from, to) in self.pairs() {
                    // A party whose clock is behind has no key yet, or has destroyed it.
                    let _ = tell(&self.nodes[from], &self.nodes[to], window, told);
                }
            }
        }
    }

    /// The pairs of every party with every other.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let n = self.nodes.len();
        (0..n).flat_map(move |from| (0..n).filter(move |to| *to != from).map(move |to| (from, to)))
    }

    /// Seals messages for an epoch to the keys of its window.
    pub fn seal(&mut self, epoch: u64, messages: &[u8]) -> Vec<u8> {
        let keys = self.keys(epoch);
        self.seal_to(epoch, messages, &keys)
    }

    /// Seals messages for an epoch to these keys.
    pub fn seal_to(&mut self, epoch: u64, messages: &[u8], keys: &[LayerPublic]) -> Vec<u8> {
        let Route { shape, id, schedule, .. } = &*self.route;
        let seal = Seal::new(shape, *id, epoch, schedule.window_of(epoch), keys).unwrap();
        seal.report(messages, &mut self.rng).unwrap()
    }

    /// The keys that everybody signed for the window of an epoch.
    pub fn keys(&self, epoch: u64) -> Vec<LayerPublic> {
        self.directory(epoch).expect("a directory").keys
    }

    /// The directory of the window of an epoch, checked as a client does.
    pub fn directory(&self, epoch: u64) -> Option<Directory> {
        let collection = &self.collection;
        let window = collection.schedule.window_of(epoch);
        let parties: Vec<_> = collection.chain.parties().map(|(_, p)| p.identity).collect();
        let signed = self.nodes.iter().find_map(|node| {
            node.role.as_ref().and_then(|role| role.keyring().directory(window).ok())
        })?;
        Some(signed.verify(&collection.id(), window, &parties).unwrap().clone())
    }

    /// Seals and uploads one report per message, each of one byte.
    pub fn upload(&mut self, epoch: u64, messages: impl IntoIterator<Item = u8>) -> Vec<Vec<u8>> {
        let reports = messages.into_iter().map(|message| self.seal(epoch, &[message]));
        let reports: Vec<Vec<u8>> = reports.collect();
        self.mix(1).accept(epoch, &reports.concat(), self.now).unwrap();
        reports
    }

    /// Sets the time to when an epoch is over.
    pub fn close(&mut self, epoch: u64) {
        self.now = self.now.max(self.collection.schedule.deadline(epoch));
    }

    /// Lets one party do all that it can.
    pub fn settle(&mut self, hop: u8) {
        while self.step(hop).unwrap().is_some() {}
    }

    /// Lets one party do one step.
    pub fn step(&mut self, hop: u8) -> Result<Option<Step>, Error> {
        self.nodes[usize::from(hop) - 1].role().step(self.now, &mut self.rng)
    }

    /// Lets everybody do all that they can, and carries what they make.
    pub fn run(&mut self) {
        loop {
            for hop in 1..=self.collection.chain.hops() {
                self.settle(hop);
            }
            let mut moved = false;
            for hop in 1..self.collection.chain.hops() {
                moved |= self.deliver(hop);
            }
            if !moved {
                return;
            }
        }
    }

    /// Hands over what a mix has ready.
    pub fn deliver(&mut self, hop: u8) -> bool {
        let Some(&first) = self.mix(hop).waiting().first() else { return false };
        let outgoing = self.mix(hop).outgoing(first).unwrap().unwrap();
        let receipt = self.hand_over(hop + 1, &wire(outgoing)).unwrap();
        self.mix(hop).delivered(first, receipt).unwrap();
        true
    }

    /// Gives a batch to a party, now or when its epochs are over.
    pub fn hand_over(&self, to: u8, batch: &[u8]) -> Result<Receipt, throng_mix::Error> {
        let length = SignedManifest::length(batch).filter(|length| *length <= batch.len());
        let manifest = length.and_then(|length| SignedManifest::decode(&batch[..length]).ok());
        let last = manifest.map_or(0, |manifest| manifest.unverified().last);
        let now = self.now.max(self.collection.schedule.end_of(last));
        hand_over(self.nodes[usize::from(to) - 1].role().course(), batch, now)
    }

    pub fn mix(&self, hop: u8) -> &Mix {
        match self.nodes[usize::from(hop) - 1].role() {
            Role::Mix(mix) => mix,
            Role::Analyzer(_) | Role::Board(_) => panic!("hop {hop} is the analyzer"),
        }
    }

    pub fn analyzer(&self) -> &Analyzer {
        match self.nodes.last().unwrap().role() {
            Role::Analyzer(analyzer) => analyzer,
            Role::Mix(_) | Role::Board(_) => panic!("the last party does not count"),
        }
    }

    /// The number of times that each category was counted, release by release.
    pub fn counted(&self) -> Vec<Vec<(u8, u64)>> {
        let terms = &self.collection.terms;
        self.releases().iter().map(|release| counts(terms, release)).collect()
    }

    /// Everything that was published.
    pub fn releases(&self) -> Vec<serde_json::Value> {
        let rows = self.analyzer().releases().unwrap();
        rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
    }
}

/// One party on its machine.
pub struct Member {
    pub hop: u8,
    pub store: MemoryStore,
    /// A store that stands in the place of the simulated one.
    pub disk: Option<Store>,
    pub route: Arc<Route>,
    /// The question, unless it is a board.
    pub question: Option<Arc<Collection>>,
    pub limits: Limits,
    /// The role, or `None` while the machine is down.
    pub role: Option<Role>,
}

pub enum Role {
    Mix(Box<Mix>),
    Analyzer(Box<Analyzer>),
    Board(Box<Noticeboard>),
}

impl Member {
    /// Stops and starts again from what is on disk.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.role = None;
        self.store.restart();
        let store = self.disk.clone().unwrap_or_else(|| self.store.store());
        let route = self.route.clone();
        let (last, identity) = (self.hop == route.chain.hops(), identity(self.hop));
        let limits = self.limits.clone();
        self.role = Some(match &self.question {
            _ if !last => Role::Mix(Box::new(Mix::open(store, route, identity, limits)?)),
            Some(question) => {
                let opened = Analyzer::open(store, question.clone(), identity, limits)?;
                Role::Analyzer(Box::new(opened))
            }
            None => Role::Board(Box::new(Noticeboard::open(store, route, identity, limits)?)),
        });
        Ok(())
    }

    pub fn role(&self) -> &Role {
        self.role.as_ref().expect("a party that runs")
    }
}

impl Role {
    pub fn course(&self) -> &Course {
        match self {
            Self::Mix(mix) => &mix.course,
            Self::Analyzer(analyzer) => &analyzer.course,
            Self::Board(board) => &board.course,
        }
    }

    pub fn keyring(&self) -> &Keyring {
        &self.course().keyring
    }

    pub fn slots(&self) -> Vec<Slot> {
        self.course().slots()
    }

    pub fn step(&self, now: u64, rng: &mut ChaCha12Rng) -> Result<Option<Step>, Error> {
        match self {
            Self::Mix(mix) => Ok(mix.step(now, rng)?),
            Self::Analyzer(analyzer) => analyzer.step(now),
            Self::Board(board) => board.step(now),
        }
    }
}

/// One party's word to another: its key, or its signature once keys are `told`.
pub fn tell(from: &Member, to: &Member, window: u64, told: bool) -> Result<(), Error> {
    let (Some(speaker), Some(listener)) = (&from.role, &to.role) else { return Ok(()) };
    if told {
        let signature = speaker.keyring().cosignature(window)?;
        Ok(listener.keyring().collect(from.hop, window, &signature)?)
    } else {
        let statement = speaker.keyring().statement(window)?;
        Ok(listener.keyring().learn(from.hop, &statement)?)
    }
}

/// A batch as it travels.
pub fn wire(mut outgoing: Outgoing) -> Vec<u8> {
    let mut bytes = outgoing.manifest.encode();
    outgoing.records.content.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Gives the bytes of a batch to a party, in pieces, as a server does.
pub fn hand_over(to: &Course, batch: &[u8], now: u64) -> Result<Receipt, throng_mix::Error> {
    let length = SignedManifest::length(batch).filter(|length| *length <= batch.len());
    let length = length.ok_or(throng_mix::Error::Length)?;
    let (manifest, records) = batch.split_at(length);
    let manifest = SignedManifest::decode(manifest).map_err(throng_mix::Error::Batch)?;
    match to.receive(manifest, now)? {
        Intake::Known(receipt) => Ok(receipt),
        Intake::New(mut incoming) => {
            for part in records.chunks(100) {
                incoming.write(part)?;
            }
            to.keep(incoming)
        }
    }
}

/// The number of times that each category was counted in a release: estimates are increasing in
/// counts, so that each estimate belongs to one count.
pub fn counts(terms: &Terms, release: &serde_json::Value) -> Vec<(u8, u64)> {
    let reports = release["reports"].as_u64().unwrap();
    let estimates = release["estimates"].as_array().unwrap();
    let value = |place: u32| estimates[place as usize]["value"].as_f64().unwrap();
    // (c − nγ/k)/(1 − γ)
    let Mechanism::KaryResponse(kary) = &terms.mechanism else { panic!("only categories") };
    let gamma = kary.replace().probability();
    let floor = reports as f64 * gamma / f64::from(CATEGORIES);
    let count = |place| (value(place) * (1.0 - gamma) + floor).round() as u64;
    let all: Vec<(u8, u64)> = (0..CATEGORIES)
        .map(|place| (place as u8, count(place)))
        .filter(|(_, count)| *count > 0)
        .collect();
    assert_eq!(all.iter().map(|(_, count)| count).sum::<u64>(), reports, "every report is counted");
    all
}

pub fn identity(hop: u8) -> Identity {
    Identity::from_seed(&[hop; 32])
}

pub fn generator(seed: u64) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(seed)
}

pub fn limits() -> Limits {
    Limits { threads: 1, drain: DRAIN, ..Limits::default() }
}

/// The number of categories, whose messages have one byte.
pub const CATEGORIES: u32 = 250;
pub const START: u64 = 1_000_000_000;
pub const EVERY: u64 = 100;
pub const GRACE: u64 = 10;
pub const DRAIN: u64 = 60;

/// The names of mixes, first hop first.
const MIXES: [&str; 3] = ["north", "south", "west"];
