//! Every schedule of a small chain, two mixes and an analyzer, explored to the end: of one and two
//! epochs with any number of crashes, and with any number of jumps of clocks of which one at a time
//! is wrong; with `THRONG_MODEL=full`, of three epochs with two crashes and a jump.
//!
//! The real [`Timetable`](throng_mix::Timetable), [`Timekeeper`](throng_mix::Timekeeper) and
//! [`Destroyed`](throng_mix::Destroyed) decide, on real signed manifests. Their drivers, which have
//! the disk, are told again in `model/driver.rs` write by write, so that a crash can come between
//! any two; a disk that fails without one is the simulation's. Records are numbers, and time has few
//! moments.
//!
//! ```text
//! done by a party     the next step, whole or up to a crash after some writes, alone or while a
//!                     batch or a receipt comes; taking a batch; taking a receipt
//! done to a party     a crash of the process or of the machine; a jump of its clock and back;
//!                     hearing the wrong clock alone
//! done by time        the next moment, whoever is behind, with few reports or a crowd
//! ```
//!
//! Everything that is done and is no fault grows `World::progress`, so that a schedule ends once
//! faults do, and what must come in the end is asked where nothing is left to do.
//!
//! Where it says `reduced`, one order stands for all that lead to the same: a party counts, shreds,
//! destroys keys for which nothing can come, and signs a word before others go on, and a receipt
//! comes when it could be too late. A party that is up and signs no word until that is late is left
//! out then.
//!
//! Where it says `folded`, one world stands for all in which nothing but what is over differs: how a
//! slot ended of which nothing is left, and of which the next party knows. That they behave alike is
//! itself asked, of every world of smaller bounds.
//!
//! Three epochs with faults take forty minutes of a core and three gibibytes for each kind of jump.

#[path = "model/bounds.rs"]
mod bounds;
#[path = "model/claims.rs"]
mod claims;
#[path = "model/driver.rs"]
mod driver;
#[path = "model/machines.rs"]
mod machines;
#[path = "model/world.rs"]
mod world;

use bounds::{Action, Bounds, JUMPS};
use driver::Driver;
use machines::Machines;
use stateright::{Checker, HasDiscoveries, Model};
use std::env;
use std::thread::available_parallelism;
use std::time::Instant;
use throng_wire::Below;
use world::{Faults, Offset};

/// As many as there are cores where one exploration runs by itself.
fn threads() -> usize {
    if is_full() { available_parallelism().map_or(1, usize::from) } else { 1 }
}

fn is_full() -> bool {
    env::var("THRONG_MODEL").is_ok_and(|bounds| bounds == "full")
}

/// Explores everything, and tells how much that was.
fn explore(name: &str, model: Bounds) {
    let begun = Instant::now();
    let (folded, checker) = (model.folded, model.checker().threads(threads()));
    let checker = if folded { checker.symmetry() } else { checker };
    let checker = checker.spawn_dfs().join();
    println!(
        "{name}: {} states, {} transitions, depth {}, {:.1} s",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        begun.elapsed().as_secs_f64()
    );
    assert!(checker.is_done());
    checker.assert_properties();
}

/// Two mixes and an analyzer whose epochs each stand alone.
fn alone(epochs: usize) -> Bounds {
    Bounds::new(epochs, Below::Expire, Driver::Sound)
}

/// Nothing is left out here, neither the order of steps that commute nor when a receipt comes.
#[test]
fn every_schedule_of_one_epoch_is_safe_and_ends() {
    let every = |faults, folded| Bounds { faults, reduced: false, folded, ..alone(1) };
    explore("one epoch, crashes, every order", every(Faults::CRASHES, false));
    // Each world for itself, and compared with the one that stands for it, takes minutes.
    let jumps = Bounds { jumps: &JUMPS, ..every(Faults::JUMPS, !is_full()) };
    explore("one epoch, jumps, every order", jumps);
    let reduced = Bounds { faults: Faults::ALL, jumps: &JUMPS, ..alone(1) };
    explore("one epoch, crashes and jumps", reduced);
}

#[test]
fn every_schedule_of_two_epochs_with_crashes_is_safe_and_ends() {
    explore("two epochs, crashes", Bounds { faults: Faults::CRASHES, ..alone(2) });
}

#[test]
fn every_schedule_of_two_epochs_with_jumps_is_safe_and_ends() {
    explore("two epochs, jumps", Bounds { faults: Faults::JUMPS, ..alone(2) });
}

#[test]
fn every_schedule_of_two_epochs_that_share_keys_is_safe_and_ends() {
    let merged = || Bounds::new(2, Below::Merge { window: 2 }, Driver::Sound);
    explore("two merged epochs, crashes", Bounds { faults: Faults::CRASHES, ..merged() });
    explore("two merged epochs, jumps", Bounds { faults: Faults::JUMPS, ..merged() });
}

#[test]
fn every_schedule_of_three_epochs_is_safe_and_ends() {
    explore("three epochs", alone(3));
}

/// Three epochs, two crashes and a jump, which is what `full` is for. Otherwise two epochs and one
/// crash.
fn with_crashes_and(jump: usize) {
    let (jumps, faults) = (&JUMPS[jump..=jump], Faults { crashes: 2, jumps: 1 });
    if is_full() {
        explore("three epochs, two crashes, a jump", Bounds { faults, jumps, ..alone(3) });
    } else {
        let few = Bounds { faults: Faults { crashes: 1, jumps: 1 }, jumps, ..alone(2) };
        explore("two epochs, a crash, a jump", few);
    }
}

#[test]
fn every_schedule_with_crashes_and_a_jump_of_a_day_is_safe_and_ends() {
    with_crashes_and(0);
}

#[test]
fn every_schedule_with_crashes_and_a_jump_ahead_is_safe_and_ends() {
    with_crashes_and(1);
}

#[test]
fn every_schedule_with_crashes_and_a_jump_back_is_safe_and_ends() {
    with_crashes_and(2);
}

/// Every world that is reached is compared with the one that stands for it: both have the same claims
/// hold, can do the same, and what comes of it is alike again.
#[test]
fn a_world_that_stands_for_another_behaves_alike() {
    let (crash, jump) = (Faults { crashes: 1, jumps: 0 }, Faults { crashes: 0, jumps: 1 });
    let unfolded = |epochs, faults| Bounds { folded: false, faults, ..alone(epochs) };
    explore("two epochs, a crash, unfolded", unfolded(2, crash));
    explore("two epochs, a jump, unfolded", unfolded(2, jump));
    if is_full() {
        let faults = Faults { crashes: 2, jumps: 1 };
        explore("two epochs, two crashes, a jump, unfolded", unfolded(2, faults));
        explore("three epochs, a crash, unfolded", unfolded(3, crash));
        explore("three epochs, a jump, unfolded", unfolded(3, jump));
    }
}

/// Finds a schedule in which a fault breaks a property, and plays it again.
fn refute(model: Bounds, property: &'static str) -> Vec<Action> {
    let again = Bounds { chain: model.chain.clone(), ..model };
    let checker = model.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let path = checker.assert_any_discovery(property);
    let actions = path.into_actions();
    let mut world = again.init_states()[0];
    let claims = again.properties();
    let holds = claims.iter().find(|claim| claim.name == property).unwrap().condition;
    for action in &actions {
        assert!(holds(&again, &world));
        world = again.next_state(&world, *action).unwrap();
    }
    assert!(!holds(&again, &world));
    println!("{property:?} fails after {} actions: {actions:?}", actions.len());
    actions
}

/// Every order, one fault.
fn planted(epochs: usize, driver: Driver) -> Bounds {
    Bounds { reduced: false, ..Bounds::new(epochs, Below::Expire, driver) }
}

#[test]
fn keys_that_are_destroyed_in_order_only_are_noticed() {
    refute(planted(2, Driver::InOrder), "no key and no log outlives its window");
}

#[test]
fn a_clock_that_nobody_checks_is_noticed() {
    let model = Bounds { faults: Faults::JUMPS, jumps: &JUMPS, ..planted(1, Driver::Unclocked) };
    let actions = refute(model, "nothing is closed or taken early");
    assert!(matches!(actions[0], Action::Jump { hop: 0, .. }));
}

#[test]
fn keys_that_are_destroyed_before_what_came_is_read_are_noticed() {
    let actions = refute(planted(1, Driver::Blind), "no key is destroyed too soon");
    let meets = |action: &Action| matches!(action, Action::Step { meets: Some(_), .. });
    assert!(actions.last().is_some_and(meets));
}

#[test]
fn a_receipt_before_the_row_is_noticed() {
    let model = Bounds { faults: Faults::CRASHES, ..planted(1, Driver::Forgetful) };
    let actions = refute(model, "what is acknowledged is kept");
    let crash = |action: &Action| matches!(action, Action::Take { crash: Some(_), .. });
    assert!(actions.last().is_some_and(crash));
}

#[test]
fn a_row_that_is_written_over_a_newer_one_is_noticed() {
    refute(planted(1, Driver::Stale), "what is decided stays");
}

/// The first mix closes when it likes. A clock is ahead by as much as nobody notices, jumps as far
/// again, and by a day.
fn at_the_end(driver: Driver) -> Bounds {
    let jumps = &[Offset::Near, Offset::Far, Offset::Day];
    Bounds { faults: Faults::JUMPS, jumps, ..Bounds::of(Machines::at_the_end(), driver) }
}

#[test]
fn what_a_hasty_first_mix_sends_is_not_taken_early() {
    explore("the end of an epoch, by the second", at_the_end(Driver::Hasty));
    explore("the end of an epoch, by the second, sound", at_the_end(Driver::Sound));
}

#[test]
fn a_party_that_takes_batches_at_any_time_is_noticed() {
    let model = Bounds { faults: Faults::NONE, ..at_the_end(Driver::Trusting) };
    refute(model, "nothing is closed or taken early");
}
