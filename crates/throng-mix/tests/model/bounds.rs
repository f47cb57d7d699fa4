//! The schedules of a bounded world: what can be done in it, and what comes of it.

use crate::driver::{Chain, Crash, Driver, Meets, offset, receipt};
use crate::machines::Machines;
use crate::world::{ANY, Belief, Faults, Jump, Log, Offset, PARTIES, Party, World, Wrong, has};
use stateright::{Model, Property};
use std::sync::Arc;
use throng_mix::Step;
use throng_wire::Below;

/// A bounded world.
pub struct Bounds {
    pub chain: Chain,
    /// The faults that may come.
    pub faults: Faults,
    /// The jumps of clocks, of which one at a time is wrong.
    pub jumps: &'static [Offset],
    /// True if steps that commute with everything else are taken at once.
    pub reduced: bool,
    /// True if one world stands for all that behave alike.
    pub folded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
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
    /// A party hears the time of all others, and believes its own again, or as it is by now.
    Hear { hop: usize },
    /// A party hears the wrong time alone, and doubts its own.
    Mishear { hop: usize },
}

impl Bounds {
    pub fn new(epochs: usize, below: Below, driver: Driver) -> Self {
        Self::of(Machines::new(epochs, below), driver)
    }

    pub fn of(machines: Machines, driver: Driver) -> Self {
        let chain = Chain { machines: Arc::new(machines), driver };
        Self { chain, faults: Faults::NONE, jumps: &JUMPS[..1], reduced: true, folded: true }
    }

    /// What is not a fault, and what every party does some time if it can.
    pub fn fair(&self, world: &World, actions: &mut Vec<Action>) {
        for hop in 0..PARTIES {
            self.steps(world, hop, None, actions);
            for first in self.epochs() {
                if self.chain.take(world, hop, first, None).is_some() {
                    actions.push(Action::Take { hop, first, crash: None });
                }
            }
            self.receipts(world, hop, actions);
            let doubts = world.parties[hop].belief != Belief::Believed;
            if doubts && self.hear(world, hop).is_some() {
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
            let (clock, party) = (offset(world, hop), &world.parties[hop]);
            let others_right = world.jump.is_none_or(|jump| usize::from(jump.hop) == hop);
            if others_right && world.left.jumps > 0 {
                let others = self.jumps.iter().filter(|jump| **jump != clock);
                actions.extend(others.map(|offset| Action::Jump { hop, offset: *offset }));
            }
            if world.jump.is_some() {
                actions.push(Action::Mishear { hop });
            }
            if party.belief == Belief::Believed && party.lead != Some(clock) {
                actions.push(Action::Hear { hop });
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

    /// A party hears all others, if it believes its clock then.
    fn hear(&self, world: &World, hop: usize) -> Option<World> {
        let mut next = *world;
        for other in (0..PARTIES).filter(|other| *other != hop) {
            next.parties[hop].heard[other] = Some(offset(world, other));
        }
        self.chain.look(&mut next, hop);
        let believed = next.parties[hop].belief == Belief::Believed;
        (believed && next != *world).then_some(next)
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

    pub fn is_last(&self, world: &World) -> bool {
        usize::from(world.moment) + 1 == self.chain.machines.moments.len()
    }
}

impl Model for Bounds {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let parties = [Party::new(); PARTIES];
        let mut world = World { moment: 0, parties, jump: None, left: self.faults, wrong: None };
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
            if world.left.crashes > 0 {
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
                let left = Faults { jumps: less(world.left.jumps), ..world.left };
                let mut next = World { jump, left, ..*world };
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
        let crash = match action {
            Action::Step { crash, .. } => crash.is_some(),
            Action::Take { crash, .. } => crash.is_some(),
            Action::Crash { .. } => true,
            _ => false,
        };
        if crash {
            next.left.crashes = less(world.left.crashes);
        }
        let fault = match action {
            Action::Jump { .. } | Action::Mishear { .. } => true,
            // It goes on believing, and a clock that is a little wrong goes on being so.
            Action::Hear { hop } => world.parties[hop].belief == Belief::Believed,
            _ => crash,
        };
        if !fault && next.progress() <= world.progress() {
            next.wrong = next.wrong.or(Some(Wrong::Idle));
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        self.all_properties()
    }
}

/// One fault less; of any number, any number is left.
fn less(faults: u8) -> u8 {
    if faults == ANY { ANY } else { faults - 1 }
}

/// The most writes of a step.
const WRITES: u8 = 5;

/// A day, which is past everything; an epoch ahead; an epoch back.
pub const JUMPS: [Offset; 3] = [Offset::Day, Offset::Ahead, Offset::Behind];
