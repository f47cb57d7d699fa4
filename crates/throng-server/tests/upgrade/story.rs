//! Two mixes and an analyzer on disk, with two questions and a board: their files, the story that
//! was stopped in the middle of an epoch, and the parties that go on with it.
//!
//! ```text
//! question.toml, merged.toml, board.toml
//! north, south, counter     identity.key, party.toml and the data directory of each party
//! releases, ledger          rows of the question at the analyzer, one in each line
//! ```

use crate::common::{DRAIN, EVERY, Member, Network, Setup, generator, identity, limits, schedule};
use crate::rounds::Rounds;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throng_collection::{Board, Collection, example};
use throng_mix::simulated::MemoryStore;
use throng_mix::store::Store;
use throng_wire::example::chain_through;
use throng_wire::{Below, Route, Schedule};

/// The begin of epoch 0 in every fixture.
pub const START: u64 = 1_000;

/// The time at which the parties of a fixture were stopped: in the middle of epoch 3.
pub const STOPPED: u64 = START + 3 * EVERY + EVERY / 2;

/// The directories of the parties, by hop from 1.
pub const PARTIES: [&str; 3] = ["north", "south", "counter"];

/// All parties of the two questions and the board, each with one data directory for all three.
pub struct Chain {
    /// A question whose short epochs are dropped.
    pub question: Network,
    /// A question whose short epochs wait for the next.
    pub merged: Network,
    pub board: Rounds,
}

/// Writes the files of everybody into a directory.
pub fn write_files(directory: &Path) {
    let epochs = 6;
    let question = Setup { epochs, ..Setup::default() };
    let merged = Setup { below: Below::Merge { window: 4 }, ..question.clone() };
    let board = Board {
        messages: 1,
        payload: 1,
        crowd: 3,
        rounds: epochs,
        schedule: Schedule { start: START, ..schedule() },
        chain: chain_through(&PARTIES[..2]),
        ..example::board()
    };
    let write = |name: &str, text: String| fs::write(directory.join(name), text).unwrap();
    for (name, setup) in [("question.toml", question), ("merged.toml", merged)] {
        let mut collection = setup.collection();
        collection.schedule.start = START;
        write(name, collection.to_toml());
    }
    write("board.toml", board.to_toml());
    for (hop, name) in (1..).zip(PARTIES) {
        fs::create_dir(directory.join(name)).unwrap();
        identity(hop).write(&directory.join(name).join("identity.key")).unwrap();
        let text = format!(
            "listen = \"127.0.0.1:0\"\nidentity = \"identity.key\"\ndata = \"data\"\n\
             collections = [\"../question.toml\", \"../merged.toml\", \"../board.toml\"]\n\n\
             [limits]\ndrain = \"{DRAIN}s\"\n"
        );
        write(&format!("{name}/party.toml"), text);
    }
}

/// Plays the story up to where it is stopped, from empty data directories.
pub fn play(directory: &Path) {
    let mut chain = Chain::open(directory, START);
    // Epoch 0 is released: two reports of the merged question are held.
    chain.enter(0);
    chain.question.upload(0, 0..4);
    chain.merged.upload(0, 0..2);
    chain.board.upload(0, 0..3);
    // Epoch 1 is short, except for the merged question, which now has a crowd.
    chain.enter(1);
    chain.question.upload(1, 5..7);
    chain.merged.upload(1, 2..4);
    chain.board.upload(1, 5..7);
    chain.enter(2);
    chain.question.upload(2, 10..13);
    chain.merged.upload(2, 10..11);
    chain.board.upload(2, 10..14);
    // The batches of epoch 2 are on their way: one waits at the first mix, one was just taken.
    chain.set(START + 3 * EVERY + 10);
    chain.exchange();
    chain.question.settle(1);
    chain.merged.settle(1);
    chain.board.settle(1);
    assert!(chain.board.deliver(1));
    // Epoch 3 is open, and its reports are acknowledged.
    chain.set(STOPPED);
    chain.question.upload(3, 20..25);
    chain.merged.upload(3, 11..12);
    chain.board.upload(3, 20..22);
    let lines = |name: &str, rows: Vec<String>| {
        fs::write(directory.join(name), rows.join("\n")).unwrap();
    };
    lines("releases", chain.releases());
    lines("ledger", chain.ledger());
}

impl Chain {
    /// Opens the data directories, and makes those that are not there.
    pub fn open(directory: &Path, now: u64) -> Self {
        let stores = PARTIES.map(|name| {
            let data = directory.join(name).join("data");
            Store::on_disk(&data).unwrap_or_else(|error| panic!("{name}: {error}"))
        });
        let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
        let question = |name, seed| {
            let collection = Arc::new(Collection::parse(&read(name)).unwrap());
            network(&collection, &stores, now, seed)
        };
        let board = Board::parse(&read("board.toml")).unwrap();
        let mut chain = Self {
            question: question("question.toml", now),
            merged: question("merged.toml", now + 1),
            board: Rounds::open(&board, stores.clone(), now, generator(now + 2)),
        };
        chain.exchange();
        chain
    }

    /// Sets the time to the end of the grace of the epoch before, and lets everybody work.
    pub fn enter(&mut self, epoch: u64) {
        self.set(START + epoch * EVERY + 10);
        self.exchange();
        self.run();
    }

    pub fn set(&mut self, now: u64) {
        self.question.now = now;
        self.merged.now = now;
        self.board.now = now;
    }

    /// Makes and tells all keys that are due.
    pub fn exchange(&mut self) {
        self.question.exchange();
        self.merged.exchange();
        self.board.exchange();
    }

    /// Lets everybody do all that they can.
    pub fn run(&mut self) {
        self.question.run();
        self.merged.run();
        self.board.run();
    }

    /// The releases of the question, each as it was published.
    pub fn releases(&self) -> Vec<String> {
        self.question.analyzer().releases().unwrap()
    }

    /// The rows of the question's ledger.
    pub fn ledger(&self) -> Vec<String> {
        let entries = self.question.analyzer().ledger();
        entries.iter().map(|entry| String::from_utf8(entry.to_row()).unwrap()).collect()
    }
}

/// The names of the secrets in the data directory of a party.
pub fn secrets(directory: &Path, party: &str) -> Vec<String> {
    let folder: PathBuf = directory.join(party).join("data/secrets");
    let names = fs::read_dir(folder).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn network(collection: &Arc<Collection>, stores: &[Store; 3], now: u64, seed: u64) -> Network {
    let route = Arc::new(Route::from(&**collection));
    let member = |(hop, store): (u8, &Store)| {
        let mut member = Member {
            hop,
            store: MemoryStore::new(),
            disk: Some(store.clone()),
            route: route.clone(),
            question: Some(collection.clone()),
            limits: limits(),
            role: None,
        };
        member.restart().unwrap_or_else(|error| panic!("hop {hop}: {error}"));
        member
    };
    Network {
        collection: collection.clone(),
        nodes: (1..).zip(stores).map(member).collect(),
        route: route.clone(),
        now,
        rng: generator(seed),
    }
}
