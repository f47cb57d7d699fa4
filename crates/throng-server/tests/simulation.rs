//! Whole chains under lists of operations with faults. The properties that must never fail are
//! checked after each operation, and every list ends well once faults stop.
//!
//! ```text
//! (a) an acknowledged valid report of a released slot is in that release, once
//! (b) no report is counted twice, anywhere, ever, acknowledged or not
//! (c) no batch that leaves a mix, and no release, has fewer distinct valid reports than the quorum
//! (d) bytes that left a mix for a slot are the only ones that ever do
//! (e) an acknowledged valid report that is in no release is in a slot that says why it was dropped
//! (f) what was put in a release, and its entry in the ledger, stays as it is
//! (g) a receipt is for a batch that is on disk
//! (h) the ledger has one entry per release, and its total never falls
//! (i) keys of destroyed windows are gone and stay gone, and there is one directory per window
//! (j) once all is over the analyzer knows what became of every epoch, and nothing more: that it
//!     was short is told without a number, and it is lost only where somebody gave it up
//! ```
//!
//! `THRONG_SCHEDULES` sets the number of lists, `THRONG_SEED` where they begin.

mod common;
#[path = "simulation/operations.rs"]
mod operations;
#[path = "simulation/world.rs"]
mod world;

use common::Setup;
use operations::{How, Kind, Operation, Wait, operations, setup};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::env;
use throng_mix::simulated::Fault;
use throng_wire::Below;
use world::World;

/// Runs a list of operations, then lets everything end.
fn play(world: &mut World, operations: &[Operation]) {
    world.start();
    for operation in operations {
        world.perform(operation);
        world.check();
    }
    world.drain();
}

#[test]
fn nothing_is_lost_doubled_or_leaked_under_faults() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let schedules = number("THRONG_SCHEDULES").unwrap_or(SCHEDULES);
    let seed = number("THRONG_SEED").unwrap_or(1);
    let config = ProptestConfig {
        cases: schedules.try_into().unwrap(),
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..ProptestConfig::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut tally = Tally::default();
    let tally = std::cell::RefCell::new(&mut tally);
    let outcome = TestRunner::new_with_rng(config, rng).run(
        &(setup(), any::<u64>(), operations()),
        |(setup, seed, operations)| {
            let mut world = World::new(&setup, seed);
            play(&mut world, &operations);
            tally.borrow_mut().add(&world);
            Ok(())
        },
    );
    if let Err(failure) = outcome {
        panic!("THRONG_SEED={seed}: {failure}");
    }
    tally.borrow().assert_met(schedules);
}

/// The events of all lists together: a simulation in which nothing happens proves nothing.
#[derive(Debug, Default)]
struct Tally {
    releases: u64,
    merged: u64,
    short: u64,
    over_budget: u64,
    given_up: u64,
    crashes: u64,
    replays: u64,
    words: u64,
}

impl Tally {
    fn add(&mut self, world: &World) {
        self.releases += world.releases.len() as u64;
        self.merged += world.releases.values().filter(|r| r["first"] != r["last"]).count() as u64;
        let dropped = world.dropped();
        let count = |name: &str| dropped.iter().filter(|why| why.name() == name).count() as u64;
        self.short += count("short");
        self.over_budget += count("budget");
        self.given_up += count("keys");
        self.crashes += world.crashes;
        self.replays += world.replays;
        self.words += world.words;
    }

    fn assert_met(&self, schedules: u64) {
        println!("{schedules} schedules: {self:?}");
        if schedules >= SCHEDULES {
            let Self { releases, merged, short, over_budget, given_up, .. } = *self;
            let Self { crashes, replays, words, .. } = *self;
            let met = [releases, merged, short, over_budget, given_up, crashes, replays, words];
            assert!(met.iter().all(|count| *count > 0), "{self:?}");
        }
    }
}

/// A fault of every kind at every operation on the disk of every party, one at a time: two epochs
/// that are merged, with an answer that gets lost.
#[test]
fn one_fault_anywhere_changes_nothing_that_was_promised() {
    let setup = Setup { epochs: 2, below: Below::Merge { window: 2 }, ..Setup::default() };
    let mut operations = epoch(2);
    operations.extend([Operation::Again { which: 0 }, Operation::Work]);
    operations.extend(epoch(2));
    operations.push(Operation::Step { party: 0 });
    operations.push(Operation::Deliver { mix: 0, which: 0, how: How::AnswerLost });
    operations.extend([Operation::Work, Operation::Work, Operation::Work]);
    everywhere(&setup, &operations, 1);
}

/// A fault of every kind at every operation, as above: the word that epochs were too short passes
/// two mixes, from the first of them and from the second, which finds that two of three reports
/// cannot be opened.
#[test]
fn one_fault_anywhere_keeps_no_fate_unknown() {
    let setup = Setup { epochs: 3, ..Setup::default() };
    let mut operations = epoch(1);
    operations.extend(vec![Operation::Work; 6]);
    let hollow = Operation::Upload { count: 2, later: 0, kind: Kind::Hollow };
    operations.extend([Operation::Keys { lost: 0 }, hollow]);
    operations.extend(epoch(1));
    operations.extend([Operation::Step { party: 0 }, Operation::Step { party: 0 }]);
    operations.push(Operation::Deliver { mix: 0, which: 0, how: How::AnswerLost });
    operations.extend(vec![Operation::Work; 6]);
    operations.push(Operation::Keys { lost: 0 });
    operations.extend(epoch(3));
    operations.extend(vec![Operation::Work; 6]);
    everywhere(&setup, &operations, 1);
    let mut world = World::new(&setup, 1);
    play(&mut world, &operations);
    assert_eq!(world.fates(), ["too few reports", "too few reports", "released"]);
    assert_eq!(world.words, 3);
}

/// A fault of every kind at every operation, as above, with two releases in one window, and a
/// window that is too short.
#[test]
fn one_fault_anywhere_keeps_batches_of_a_window_apart() {
    let setup =
        Setup { mixes: 1, epochs: 3, below: Below::Merge { window: 2 }, ..Setup::default() };
    let mut operations = Vec::new();
    for count in [3, 3, 1] {
        operations.push(Operation::Keys { lost: 0 });
        operations.extend(epoch(count));
        operations.extend([Operation::Work, Operation::Work, Operation::Work]);
    }
    everywhere(&setup, &operations, 2);
}

#[test]
#[should_panic(expected = "is not in its release")]
fn a_report_that_is_lost_would_be_noticed() {
    let mut world = World::new(&Setup::default(), 1);
    world.start();
    world.perform(&epoch(3)[0]);
    world.imagine();
    world.drain();
}

#[test]
#[should_panic(expected = "leaves hop 1 twice")]
fn a_report_that_is_doubled_would_be_noticed() {
    let mut world = World::new(&Setup::default(), 1);
    world.start();
    world.perform(&epoch(3)[0]);
    world.repeat();
    world.drain();
}

/// Reports, tried twice, and the end of their epoch.
fn epoch(count: u8) -> Vec<Operation> {
    let upload = Operation::Upload { count, later: 0, kind: Kind::Valid };
    vec![upload, Operation::Retry, Operation::Wait(Wait::Deadline)]
}

fn everywhere(setup: &Setup, operations: &[Operation], releases: usize) {
    let mut undisturbed = World::new(setup, 1);
    play(&mut undisturbed, operations);
    assert_eq!(undisturbed.releases.len(), releases);
    let mut faults = 0;
    for party in 0..=usize::from(setup.mixes) {
        for at in 0..undisturbed.operations(party) {
            for fault in FAULTS {
                let mut world = World::new(setup, 1);
                world.set_fault(party, at, fault);
                world.start();
                for operation in operations {
                    world.perform(operation);
                    world.check();
                    world.revive();
                }
                world.drain();
                let place = format!("{fault:?} at operation {at} of party {party}");
                assert_eq!(world.releases.len(), releases, "{place}");
                faults += 1;
            }
        }
    }
    println!("{faults} faults");
    assert!(faults > 300);
}

/// The number of lists in a run without `THRONG_SCHEDULES`.
const SCHEDULES: u64 = 300;

const FAULTS: [Fault; 4] =
    [Fault::FailBefore, Fault::FailAfter, Fault::CrashBefore, Fault::CrashAfter];
