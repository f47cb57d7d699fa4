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
//! (k) no epoch is closed, and no batch taken, more than 60 s before it is over by true time,
//!     unless more than half of the others were wrong in the same way as the party that did it
//! (l) once clocks are right, the network is whole and disks are well, everything goes on by itself
//!     until all is decided and nothing is left
//! (m) keys of settled windows are gone within as many steps as there are things to destroy, as the
//!     disks have it (`simulation/secrecy.rs`)
//! ```
//!
//! Where the first mix is the adversary, (a), (e) and the reasons in (j) are its to break. The rest
//! holds for everybody else, who also refuse what they may not take, and keep the evidence. On a
//! board a bag is a release, and a mix signs one notice of a round.
//!
//! `THRONG_SCHEDULES` sets the number of lists, `THRONG_SEED` where they begin.

mod common;
#[path = "simulation/operations.rs"]
mod operations;
#[path = "simulation/tally.rs"]
mod tally;
#[path = "simulation/world.rs"]
mod world;

use common::Setup;
use operations::{Cast, Content, Forgery, How, Kind, Operation, Twist, Wait, cast, operations};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::env;
use tally::{Event, Tally};
use throng_mix::Fate;
use throng_mix::simulated::Fault;
use throng_mix::store::Table;
use throng_wire::Below;
use world::{Plant, World};

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
    let tally = RefCell::new(Tally::default());
    let outcome = TestRunner::new_with_rng(config, rng).run(
        &(cast(), any::<u64>(), operations()),
        |(cast, seed, operations)| {
            let mut world = World::new(&cast, seed);
            play(&mut world, &operations);
            tally.borrow_mut().add(&world.met);
            Ok(())
        },
    );
    if let Err(failure) = outcome {
        panic!("THRONG_SEED={seed}: {failure}");
    }
    println!("{schedules} schedules: {:?}", tally.borrow());
    if schedules >= SCHEDULES {
        tally.borrow().assert_met();
    }
}

/// A fault of every kind at every operation on the disk of every party, one at a time: two epochs
/// that are merged, with an answer that gets lost.
#[test]
fn one_fault_anywhere_changes_nothing_that_was_promised() {
    let cast = honest(Setup { epochs: 2, below: Below::Merge { window: 2 }, ..Setup::default() });
    let mut operations = epoch(2);
    operations.extend([Operation::Again { which: 0 }, Operation::Work]);
    operations.extend(epoch(2));
    operations.push(Operation::Step { party: 0 });
    operations.push(Operation::Deliver { mix: 0, which: 0, how: How::AnswerLost });
    operations.extend([Operation::Work, Operation::Work, Operation::Work]);
    everywhere(&cast, &operations, 1);
}

/// A fault of every kind at every operation, as above: the word that epochs were too short passes
/// two mixes, from the first of them and from the second, which finds that two of three reports
/// cannot be opened.
#[test]
fn one_fault_anywhere_keeps_no_fate_unknown() {
    let cast = honest(Setup { epochs: 3, ..Setup::default() });
    let mut operations = epoch(1);
    operations.extend(vec![Operation::Work; 6]);
    let hollow = Operation::Upload { count: 2, later: 0, kind: Kind::Hollow };
    operations.extend([KEYS, hollow]);
    operations.extend(epoch(1));
    operations.extend([Operation::Step { party: 0 }, Operation::Step { party: 0 }]);
    operations.push(Operation::Deliver { mix: 0, which: 0, how: How::AnswerLost });
    operations.extend(vec![Operation::Work; 6]);
    operations.push(KEYS);
    operations.extend(epoch(3));
    operations.extend(vec![Operation::Work; 6]);
    everywhere(&cast, &operations, 1);
    let mut world = World::new(&cast, 1);
    play(&mut world, &operations);
    let fates: Vec<String> = world.fates().into_iter().map(Fate::words).collect();
    assert_eq!(fates, ["too few reports", "too few reports", "released"]);
    assert_eq!(world.met.of(Event::Word), 3);
}

/// A fault of every kind at every operation, as above, with two releases in one window, and a
/// window that is too short.
#[test]
fn one_fault_anywhere_keeps_batches_of_a_window_apart() {
    let below = Below::Merge { window: 2 };
    let cast = honest(Setup { mixes: 1, epochs: 3, below, ..Setup::default() });
    let mut operations = Vec::new();
    for count in [3, 3, 1] {
        operations.push(KEYS);
        operations.extend(epoch(count));
        operations.extend([Operation::Work, Operation::Work, Operation::Work]);
    }
    everywhere(&cast, &operations, 2);
}

/// A word comes when all keys are gone, so that nothing is swept any more, and the disk fails at
/// some operation.
#[test]
fn a_word_that_comes_last_of_all_leaves_nothing_behind() {
    for after in 0..6 {
        let mut world = adversary();
        world.start();
        world.perform(&KEYS);
        for _ in 0..4 {
            world.perform(&Operation::Wait(Wait::Far));
            (0..4).for_each(|_| world.perform(&Operation::Work));
        }
        let fault = Fault::FailAfter;
        world.perform(&Operation::Disk { party: 1, after, fault });
        world.perform(&forged(Content::Word, -5));
        world.drain();
    }
}

#[test]
#[should_panic(expected = "is not in its release")]
fn a_report_that_is_lost_would_be_noticed() {
    let mut world = World::new(&Cast::default(), 1);
    world.start();
    world.perform(&epoch(3)[0]);
    world.imagine();
    world.drain();
}

#[test]
#[should_panic(expected = "leaves hop 1 twice")]
fn a_report_that_is_doubled_would_be_noticed() {
    let mut world = World::new(&Cast::default(), 1);
    world.start();
    world.perform(&epoch(3)[0]);
    world.repeat();
    world.drain();
}

/// The first epoch's word is held back from the second party, whose keys for it wait; those of the
/// second epoch do not.
#[test]
#[should_panic(expected = "hop 2 keeps keys of settled {1}")]
fn keys_that_wait_for_earlier_ones_would_be_noticed() {
    let setup = Setup { mixes: 1, drain: 1_000, ..Setup::default() };
    let mut world = World::new(&honest(setup), 1);
    world.plant = Some(Plant::InOrder);
    world.start();
    let mut operations = epoch(0);
    operations.push(KEYS);
    operations.extend(epoch(3));
    operations.extend(vec![Operation::Step { party: 0 }; 8]);
    operations.push(Operation::Deliver { mix: 0, which: 1, how: How::Well });
    operations.extend(vec![Operation::Step { party: 1 }; 4]);
    for operation in &operations {
        world.perform(operation);
        world.check();
    }
}

#[test]
#[should_panic(expected = "hop 1 closes 0 110 s early")]
fn a_clock_that_is_believed_unseen_would_be_noticed() {
    let mut world = World::new(&Cast::default(), 1);
    world.plant = Some(Plant::Wall);
    world.start();
    world.perform(&Operation::Jump { party: 0, seconds: 86_400 });
    world.perform(&Operation::Step { party: 0 });
}

#[test]
#[should_panic(expected = "hop 2 takes 0 100 s early")]
fn a_batch_that_is_taken_early_would_be_noticed() {
    let mut world = adversary();
    world.plant = Some(Plant::Wall);
    world.start();
    world.perform(&Operation::Jump { party: 1, seconds: 86_400 });
    world.perform(&forged(Content::Word, 0));
}

#[test]
#[should_panic(expected = "hop 1 keeps keys")]
fn a_party_that_does_not_go_on_would_be_noticed() {
    let mut world = World::new(&Cast::default(), 1);
    world.plant = Some(Plant::Stubborn(false));
    world.start();
    world.perform(&Operation::Jump { party: 0, seconds: 86_400 });
    world.perform(&Operation::Step { party: 0 });
    world.drain();
}

#[test]
#[should_panic(expected = "hop 2 signs for two batches of the same epochs")]
fn a_second_batch_that_is_taken_would_be_noticed() {
    let mut world = adversary();
    world.start();
    world.perform(&Operation::Wait(Wait::Deadline));
    world.perform(&forged(Content::Own, -1));
    world.forget(1, Table::Slots);
    world.perform(&KEYS);
    world.perform(&forged(Content::Own, -1));
}

#[test]
#[should_panic(expected = "is not in its release")]
fn a_message_that_is_lost_would_be_noticed() {
    let mut world = posted();
    world.imagine();
    world.drain();
}

#[test]
#[should_panic(expected = "what was published stays")]
fn a_notice_that_changes_would_be_noticed() {
    let mut world = posted();
    world.drain();
    world.repost();
    world.check();
}

#[test]
#[should_panic(expected = "hop 1 signs two notices of round 0")]
fn a_second_notice_that_is_signed_would_be_noticed() {
    let mut world = posted();
    world.perform(&Operation::Wait(Wait::Deadline));
    for _ in 0..6 {
        world.perform(&Operation::Work);
        world.check();
    }
    world.forget(0, Table::Notices);
    world.drain();
}

/// A chain whose first mix is the adversary.
fn adversary() -> World {
    World::new(&Cast { byzantine: true, ..Cast::default() }, 1)
}

/// A board with the reports of a round.
fn posted() -> World {
    let mut world = World::new(&honest(Setup { board: true, ..Setup::default() }), 1);
    world.start();
    world.perform(&epoch(3)[0]);
    world
}

/// A batch of one epoch, well signed.
fn forged(content: Content, later: i8) -> Operation {
    let (epochs, count, twist, copy) = (1, 5, Twist::None, false);
    Operation::Forge(Forgery { later, epochs, count, content, twist, copy })
}

/// Reports, tried twice, and the end of their epoch.
fn epoch(count: u8) -> Vec<Operation> {
    let upload = Operation::Upload { count, later: 0, kind: Kind::Valid };
    vec![upload, Operation::Retry, Operation::Wait(Wait::Deadline)]
}

/// A chain of which every party does what it should.
fn honest(setup: Setup) -> Cast {
    Cast { setup, byzantine: false }
}

fn everywhere(cast: &Cast, operations: &[Operation], releases: usize) {
    let mut undisturbed = World::new(cast, 1);
    play(&mut undisturbed, operations);
    assert_eq!(undisturbed.releases.len(), releases);
    let mut faults = 0;
    for party in 0..=usize::from(cast.setup.mixes) {
        for at in 0..undisturbed.operations(party) {
            for fault in FAULTS {
                let mut world = World::new(cast, 1);
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

/// Everybody tells everybody everything.
const KEYS: Operation = Operation::Keys { lost: 0, late: false };

const FAULTS: [Fault; 4] =
    [Fault::FailBefore, Fault::FailAfter, Fault::CrashBefore, Fault::CrashAfter];
