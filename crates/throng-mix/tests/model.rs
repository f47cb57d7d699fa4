//! Every schedule of a small chain, two mixes and an analyzer, explored to the end: up to three
//! epochs, any number of crashes, any number of jumps of clocks of which one at a time is wrong.
//!
//! The real [`Timetable`](throng_mix::Timetable), [`Timekeeper`](throng_mix::Timekeeper) and
//! [`Destroyed`](throng_mix::Destroyed) decide, on real signed manifests. Their drivers, which have
//! the disk, are told again in `model/driver.rs` write by write, so that a crash can come between
//! any two. Records are numbers, and time has few moments.
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
//! `THRONG_MODEL=full` explores more of it, which takes long and much memory.

#[path = "model/driver.rs"]
mod driver;
#[path = "model/machines.rs"]
mod machines;
#[path = "model/world.rs"]
mod world;

use driver::{Chain, Crash, Driver, Meets, offset, receipt};
use machines::Machines;
use stateright::{Checker, HasDiscoveries, Model, Property};
use std::env;
use std::time::Instant;
use throng_mix::Step;
use throng_wire::Below;
use world::{At, Belief, EPOCHS, Jump, Log, Offset, PARTIES, Party, Told, World, Wrong, has};

/// A bounded world.
struct Bounds {
    chain: Chain,
    /// True if parties crash.
    crashes: bool,
    /// The jumps of clocks, of which one at a time is wrong.
    jumps: &'static [Offset],
    /// True if steps that commute with everything else are taken at once.
    reduced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Action {
    /// Reports are taken, and time goes on to the next moment.
    Wait { reports: Log },
    /// A party does its next step.
    Step { hop: usize, few: bool, meets: Option<Meets>, crash: Option<(u8, Crash)> },
    /// A batch or a word comes.
    Take { hop: usize, first: usize, crash: Option<Crash> },
    /// A receipt comes.
    Receipt { hop: usize, first: usize },
    /// A party ends and starts again.
    Crash { hop: usize, crash: Crash },
    /// The clock of a party jumps.
    Jump { hop: usize, offset: Offset },
    /// It is set right again.
    Right,
    /// A party hears the time of all others, and believes its own again.
    Hear { hop: usize },
    /// A party hears the wrong time alone, and doubts its own.
    Mishear { hop: usize },
}

impl Bounds {
    fn new(epochs: usize, below: Below, driver: Driver) -> Self {
        let chain = Chain { machines: Machines::new(epochs, below), driver };
        Self { chain, crashes: false, jumps: &[], reduced: true }
    }

    /// What is not a fault, and what every party does some time if it can.
    fn fair(&self, world: &World, actions: &mut Vec<Action>) {
        for hop in 0..PARTIES {
            self.steps(world, hop, None, actions);
            for first in self.epochs() {
                if self.chain.take(world, hop, first, None).is_some() {
                    actions.push(Action::Take { hop, first, crash: None });
                }
            }
            self.receipts(world, hop, actions);
            if self.hear(world, hop).is_some() {
                actions.push(Action::Hear { hop });
            }
        }
        if world.jump.is_some() {
            actions.push(Action::Right);
        }
    }

    /// The receipts that may come.
    fn receipts(&self, world: &World, hop: usize, actions: &mut Vec<Action>) {
        for first in self.epochs() {
            let comes = !self.reduced || self.chain.is_late(world, hop, first);
            if comes && receipt(world, hop, first).is_some() {
                actions.push(Action::Receipt { hop, first });
            }
        }
    }

    /// The next step of a party, alone or with a request in its midst.
    fn steps(&self, world: &World, hop: usize, meets: Option<Meets>, actions: &mut Vec<Action>) {
        let crash = None;
        match self.chain.decide(world, hop) {
            Some(Step::Process { .. }) => {
                actions.extend([false, true].map(|few| Action::Step { hop, few, meets, crash }));
            }
            Some(_) => actions.push(Action::Step { hop, few: false, meets, crash }),
            None => {}
        }
    }

    /// The next step of a party in the midst of which a request comes.
    fn meetings(&self, world: &World, hop: usize, actions: &mut Vec<Action>) {
        for first in self.epochs() {
            if self.chain.take(world, hop, first, None).is_some() {
                self.steps(world, hop, Some(Meets::Batch { first }), actions);
                self.steps(world, hop, Some(Meets::Begun { first }), actions);
            }
            if receipt(world, hop, first).is_some() {
                self.steps(world, hop, Some(Meets::Receipt { first }), actions);
            }
        }
    }

    /// A party crashes: between its steps, within the next one, or while it takes a batch.
    fn crash(&self, world: &World, hop: usize, actions: &mut Vec<Action>) {
        let step = self.chain.decide(world, hop);
        let few = if let Some(Step::Process { .. }) = step { &[false, true][..] } else { &[false] };
        for crash in [Crash::Process, Crash::Machine] {
            actions.push(Action::Crash { hop, crash });
            let takes = self.epochs().map(|first| Action::Take { hop, first, crash: Some(crash) });
            actions.extend(takes);
            for writes in (1..=WRITES).filter(|_| step.is_some()) {
                let crash = Some((writes, crash));
                let within = |few: &bool| Action::Step { hop, few: *few, meets: None, crash };
                actions.extend(few.iter().map(within));
            }
        }
    }

    fn epochs(&self) -> std::ops::Range<usize> {
        0..self.chain.machines.route.epochs as usize
    }

    /// The reports that may be taken before time goes on.
    fn reports(&self, world: &World) -> &'static [Log] {
        let (now, mix) = (self.chain.true_time(world), &world.parties[0]);
        let machines = &self.chain.machines;
        let Some(epoch) = machines.route.epoch_at(now) else { return &[Log::None] };
        let wall = now.strict_add_signed(offset(world, 0).seconds());
        let window = machines.window(epoch as usize).start;
        let open = machines.timetable(0, mix).admit(epoch, wall).is_ok();
        let taken = open && mix.belief != Belief::Doubted && has(mix.keys, window);
        if taken { &[Log::Few, Log::Crowd] } else { &[Log::None] }
    }

    /// Time goes on, whoever is behind, or a clock jumps.
    fn faults_of_time(&self, world: &World, actions: &mut Vec<Action>) {
        if self.is_last(world) {
            return;
        }
        let waits = self.reports(world).iter().map(|reports| Action::Wait { reports: *reports });
        actions.extend(waits);
        for hop in 0..PARTIES {
            match world.jump {
                None => actions
                    .extend(self.jumps.iter().map(|offset| Action::Jump { hop, offset: *offset })),
                Some(_) => actions.push(Action::Mishear { hop }),
            }
        }
    }

    fn wait(&self, world: &World, reports: Log) -> World {
        let mut next = *world;
        if let Some(epoch) = self.chain.machines.route.epoch_at(self.chain.true_time(world)) {
            next.parties[0].logs[epoch as usize] = reports;
        }
        next.moment += 1;
        for hop in 0..PARTIES {
            // What was heard an hour ago does not count.
            next.parties[hop].heard = [None; PARTIES];
            self.chain.look(&mut next, hop);
        }
        next
    }

    /// A party hears all others, if it believes its clock then, and did not before.
    fn hear(&self, world: &World, hop: usize) -> Option<World> {
        let mut next = *world;
        for other in (0..PARTIES).filter(|other| *other != hop) {
            next.parties[hop].heard[other] = Some(offset(world, other));
        }
        self.chain.look(&mut next, hop);
        let believed = |world: &World| world.parties[hop].belief == Belief::Believed;
        (believed(&next) && !believed(world)).then_some(next)
    }

    /// A party hears only the one whose clock is wrong.
    fn mishear(&self, world: &World, hop: usize) -> Option<World> {
        let (mut next, jump) = (*world, world.jump?);
        let party = &mut next.parties[hop];
        if usize::from(jump.hop) == hop || party.belief != Belief::Believed {
            return None;
        }
        party.heard[usize::from(jump.hop)] = Some(jump.offset);
        self.chain.look(&mut next, hop);
        (next != *world).then_some(next)
    }

    fn is_last(&self, world: &World) -> bool {
        usize::from(world.moment) + 1 == self.chain.machines.moments.len()
    }

    /// True if all is decided everywhere, and nothing is left of it.
    fn is_settled(&self, world: &World) -> bool {
        let (machines, now) = (&self.chain.machines, self.chain.true_time(world));
        let settled = |(hop, party): (usize, &Party)| {
            let known = machines.fates(hop, party, now).iter().all(|fates| fates.fate.is_final());
            let rows = || party.rows.iter().flatten();
            let told = rows().all(|row| row.word != Told::Waiting && row.shredded);
            let bare = party.keys | party.inputs | party.outputs == 0;
            known && told && bare && party.logs == [Log::None; EPOCHS]
        };
        self.is_last(world) && world.parties.iter().enumerate().all(settled)
    }

    /// True if time stands at its end and nobody has anything left to do.
    fn is_rest(&self, world: &World) -> bool {
        let mut actions = Vec::new();
        self.is_last(world) && {
            self.fair(world, &mut actions);
            actions.is_empty()
        }
    }
}

/// True if a claim holds for every party.
fn all(world: &World, claim: impl Fn(usize, &Party) -> bool) -> bool {
    world.parties.iter().enumerate().all(|(hop, party)| claim(hop, party))
}

impl Model for Bounds {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let parties = [Party::new(); PARTIES];
        let mut world = World { moment: 0, parties, jump: None, wrong: None };
        (0..PARTIES).for_each(|hop| self.chain.look(&mut world, hop));
        vec![world]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.wrong.is_some() {
            return;
        }
        let urgent = self.chain.urgent(world).filter(|_| self.reduced);
        if let Some(hop) = urgent {
            self.steps(world, hop, None, actions);
            self.receipts(world, hop, actions);
        } else {
            self.fair(world, actions);
            self.faults_of_time(world, actions);
        }
        for hop in (0..PARTIES).filter(|hop| urgent.is_none_or(|urgent| urgent == *hop)) {
            self.meetings(world, hop, actions);
            if self.crashes {
                self.crash(world, hop, actions);
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let chain = &self.chain;
        let mut next = match action {
            Action::Wait { reports } => Some(self.wait(world, reports)),
            Action::Step { hop, few, meets, crash } => chain.step(world, hop, few, meets, crash),
            Action::Take { hop, first, crash } => chain.take(world, hop, first, crash),
            Action::Receipt { hop, first } => receipt(world, hop, first),
            Action::Crash { hop, crash } => chain.crash(world, hop, crash),
            Action::Jump { hop, offset } => {
                let jump = Some(Jump { hop: hop as u8, offset });
                let mut next = World { jump, ..*world };
                chain.look(&mut next, hop);
                Some(next)
            }
            Action::Right => {
                let hop = world.jump?.hop.into();
                let mut next = World { jump: None, ..*world };
                chain.look(&mut next, hop);
                Some(next)
            }
            Action::Hear { hop } => self.hear(world, hop),
            Action::Mishear { hop } => self.mishear(world, hop),
        }?;
        let fault = matches!(
            action,
            Action::Crash { .. }
                | Action::Jump { .. }
                | Action::Mishear { .. }
                | Action::Take { crash: Some(_), .. }
                | Action::Step { crash: Some(_), .. }
        );
        if !fault && next.progress() <= world.progress() {
            next.wrong = next.wrong.or(Some(Wrong::Idle));
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let never = |name, condition| Property::<Self>::always(name, condition);
        vec![
            never("no key and no log outlives its window", |model, world| {
                let at_rest = |hop| model.chain.decide(world, hop).is_none();
                world.wrong != Some(Wrong::KeyOutlived)
                    && all(world, |hop, _| !at_rest(hop) || !model.chain.outlived(world, hop))
            }),
            never("no key is destroyed too soon", |_, world| {
                world.wrong != Some(Wrong::KeyTooSoon)
            }),
            never("a destroyed window has no keys", |_, world| {
                all(world, |_, party| party.keys & party.destroyed == 0)
            }),
            never("nothing is closed or taken early", |_, world| world.wrong != Some(Wrong::Early)),
            never("one batch leaves", |_, world| world.wrong != Some(Wrong::Twice)),
            never("what is acknowledged is kept", |model, world| {
                world.wrong != Some(Wrong::Lost) && all(world, |hop, party| model.keeps(hop, party))
            }),
            never("what is decided stays", |_, world| world.wrong != Some(Wrong::Reverted)),
            never("all that is done leads on", |_, world| world.wrong != Some(Wrong::Idle)),
            never("no slots overlap", |_, world| {
                let apart = |party: &Party| {
                    let rows = party.rows.iter().enumerate();
                    let rows = rows
                        .filter_map(|(first, row)| Some(world::set(first, (*row)?.last.into())));
                    rows.clone().map(u32::from).sum::<u32>()
                        == rows.map(u32::from).fold(0, |a, b| a | b)
                };
                world.parties.iter().all(apart)
            }),
            never("what is closed stays closed", |model, world| {
                let (timetable, machines) =
                    (model.chain.machines.timetable(0, &world.parties[0]), &model.chain.machines);
                (0..machines.route.epochs).all(|epoch| {
                    let closed = world.parties[0].row_of(epoch as usize).is_some();
                    let within = machines.route.schedule.start_of(epoch);
                    !closed || timetable.admit(epoch, within).is_err()
                })
            }),
            never("in the end all is settled", |model, world| {
                world.wrong.is_some() || !model.is_rest(world) || model.is_settled(world)
            }),
            // An exploration in which nothing happens proves nothing.
            Property::sometimes("all is released", |model, world: &World| {
                model.is_settled(world)
                    && world.parties[2].rows.iter().flatten().any(|row| row.at == At::Released)
            }),
            Property::sometimes("a batch is given up", |_, world: &World| {
                world.parties[0].rows.iter().flatten().any(|row| row.at == At::GivenUp)
            }),
            Property::sometimes("a word passes two mixes", |_, world: &World| {
                world.parties[2].rows.iter().flatten().any(|row| row.at == At::Short(0))
            }),
        ]
    }
}

impl Bounds {
    /// True if everything that a party acknowledged is there, or was dropped for a reason.
    fn keeps(&self, hop: usize, party: &Party) -> bool {
        (0..self.chain.machines.route.epochs as usize).all(|epoch| {
            let opens = has(party.keys, self.chain.machines.window(epoch).start);
            match party.row_of(epoch) {
                None if hop == 0 => party.logs[epoch] == Log::None || opens,
                None => !has(party.signed, epoch),
                Some((_, row)) if !row.settled() && hop == 0 => {
                    party.logs[epoch] == Log::None || opens
                }
                Some((first, row)) => match row.at {
                    At::Received => opens && has(party.inputs, first),
                    At::Sealed => has(party.outputs, first),
                    At::GivenUp => has(party.left, first),
                    _ => true,
                },
            }
        })
    }
}

/// Explores everything, and tells how much that was.
fn explore(name: &str, model: Bounds) {
    let begun = Instant::now();
    let checker = model.checker().spawn_dfs().join();
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
    let every = || Bounds { reduced: false, ..alone(1) };
    explore("one epoch, crashes, every order", Bounds { crashes: true, ..every() });
    explore("one epoch, jumps, every order", Bounds { jumps: &JUMPS, ..every() });
    let reduced = Bounds { crashes: true, jumps: &JUMPS, ..alone(1) };
    explore("one epoch, crashes and jumps", reduced);
}

#[test]
fn every_schedule_of_two_epochs_with_crashes_is_safe_and_ends() {
    explore("two epochs, crashes", Bounds { crashes: true, ..alone(2) });
}

#[test]
fn every_schedule_of_two_epochs_with_jumps_is_safe_and_ends() {
    explore("two epochs, jumps", Bounds { jumps: &JUMPS[..1], ..alone(2) });
}

#[test]
fn every_schedule_of_two_epochs_that_share_keys_is_safe_and_ends() {
    let merged = || Bounds::new(2, Below::Merge { window: 2 }, Driver::Sound);
    explore("two merged epochs, crashes", Bounds { crashes: true, ..merged() });
    explore("two merged epochs, jumps", Bounds { jumps: &JUMPS[..1], ..merged() });
}

#[test]
fn every_schedule_of_three_epochs_is_safe_and_ends() {
    explore("three epochs", alone(3));
    if env::var("THRONG_MODEL").is_ok_and(|bounds| bounds == "full") {
        let both = |epochs| Bounds { crashes: true, jumps: &JUMPS[..1], ..alone(epochs) };
        explore("two epochs, crashes and jumps", both(2));
        explore("three epochs, jumps", Bounds { jumps: &JUMPS[..1], ..alone(3) });
        explore("three epochs, crashes", Bounds { crashes: true, ..alone(3) });
        let every = Bounds { crashes: true, jumps: &JUMPS, reduced: false, ..alone(1) };
        explore("one epoch, crashes and jumps, every order", every);
        explore("three epochs, crashes and jumps", both(3));
    }
}

/// Finds a schedule in which a fault breaks a property, and plays it again.
fn refute(model: Bounds, property: &'static str) -> Vec<Action> {
    let again = Bounds { chain: model.chain.again(), ..model };
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
    let model = Bounds { jumps: &JUMPS, ..planted(1, Driver::Unclocked) };
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
    let model = Bounds { crashes: true, ..planted(1, Driver::Forgetful) };
    let actions = refute(model, "what is acknowledged is kept");
    let crash = |action: &Action| matches!(action, Action::Take { crash: Some(_), .. });
    assert!(actions.last().is_some_and(crash));
}

#[test]
fn a_row_that_is_written_over_a_newer_one_is_noticed() {
    refute(planted(1, Driver::Stale), "what is decided stays");
}

/// The most writes of a step.
const WRITES: u8 = 5;

/// A day, which is past everything; an epoch ahead; an epoch back.
const JUMPS: [Offset; 3] = [Offset::Day, Offset::Ahead, Offset::Behind];
