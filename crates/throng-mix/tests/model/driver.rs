//! What parties do: the writes of every step in their order, with a crash after any of them, as
//! `Course`, `Mix` and the analyzer do them. The real machines decide what is done.

use crate::machines::{CROWD, EARLIEST, EVERY, FEW, Machines, look, row_stage};
use crate::world::{
    At, Belief, EPOCHS, Log, Offset, PARTIES, Party, Row, Told, World, Wrong, has, set,
};
use std::sync::Arc;
use throng_mix::{Step, Timetable};

/// The way in which steps are done: as they should be, or with a fault of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// As they should be.
    Sound,
    /// Keys are destroyed only in the order of windows.
    InOrder,
    /// The wall clock is believed whatever it says, and a batch is never too early.
    Unclocked,
    /// Keys are destroyed though a batch came between the decision and the deed.
    Blind,
    /// A batch is acknowledged before its row is on disk.
    Forgetful,
    /// The first mix is an epoch ahead as soon as it has reports, and nobody doubts it.
    Hasty,
    /// As before, and the next parties take what it sends.
    Trusting,
    /// A row is written as it was when the step was begun, whatever became of it meanwhile.
    Stale,
}

/// A request that comes while a step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meets {
    /// A batch comes between the decision and the deed.
    Batch { first: usize },
    /// A batch began to come before the step, and its last byte comes after it.
    Begun { first: usize },
    /// A receipt comes between the decision and the deed.
    Receipt { first: usize },
}

/// The end of a process, or of the whole machine, which forgets how its clock was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Crash {
    Process,
    Machine,
}

/// Parties that act.
#[derive(Clone)]
pub struct Chain {
    pub machines: Arc<Machines>,
    pub driver: Driver,
}

/// Counts the writes of a step, up to a crash.
struct Pen(u8);

impl Pen {
    /// The next write; `None` if the crash comes before it.
    fn write(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

impl Chain {
    /// What a party would do next.
    pub fn decide(&self, world: &World, hop: usize) -> Option<Step> {
        let party = &world.parties[hop];
        let step = self.machines.timetable(hop, party).next(party.due);
        match step {
            Some(Step::Destroy { window })
                if self.driver == Driver::InOrder
                    && window != self.machines.destroyed(party).first_left() =>
            {
                let mut blind = *party;
                blind.destroyed |= set(window as usize, window as usize);
                let world = World { parties: [blind; PARTIES], ..*world };
                self.decide(&world, hop)
            }
            step => step,
        }
    }

    /// The first party whose next step commutes with whatever others do, and with time: it counts
    /// what it has, removes what it does not need, or destroys keys for which nothing can come.
    pub fn urgent(&self, world: &World) -> Option<usize> {
        (0..PARTIES).find(|hop| match self.decide(world, *hop) {
            Some(
                Step::Close { .. } | Step::Process { .. } | Step::Shred { .. } | Step::Tell { .. },
            ) => true,
            // Whether the receipt comes first is then the only question.
            Some(Step::GiveUp { first }) => receipt(world, *hop, first as usize).is_some(),
            Some(Step::Destroy { window }) => {
                let mut epochs = self.machines.window(window as usize);
                epochs.all(|epoch| world.parties[*hop].row_of(epoch).is_some())
            }
            None => false,
        })
    }

    /// Does the next step of a party, with a request in its midst, or up to a crash after some
    /// writes. A later party finds `few` or a crowd.
    pub fn step(
        &self,
        world: &World,
        hop: usize,
        few: bool,
        meets: Option<Meets>,
        crash: Option<(u8, Crash)>,
    ) -> Option<World> {
        if let Some(Meets::Begun { first }) = meets {
            self.take(world, hop, first, None)?;
        }
        let (step, before) = (self.decide(world, hop)?, world.parties[hop]);
        let mut next = match meets {
            Some(Meets::Batch { first }) => self.take(world, hop, first, None)?,
            Some(Meets::Receipt { first }) => receipt(world, hop, first)?,
            Some(Meets::Begun { .. }) | None => *world,
        };
        if !matches!(step, Step::Shred { .. } | Step::Destroy { .. }) && self.outlived(world, hop) {
            next.wrong = Some(Wrong::KeyOutlived);
        }
        let mut pen = Pen(crash.map_or(u8::MAX, |(writes, _)| writes));
        let done = self.perform(&mut next, hop, step, &before, few, &mut pen);
        match (done, crash) {
            (Some(()), None) => {}
            (None, Some((_, crash))) => next = self.crash(&next, hop, crash).unwrap_or(next),
            _ => return None,
        }
        if let Some(Meets::Begun { first }) = meets {
            // Whether there is a key was asked when it began.
            return self.keep(&next, hop, first, None);
        }
        Some(next)
    }

    fn perform(
        &self,
        world: &mut World,
        hop: usize,
        step: Step,
        before: &Party,
        few: bool,
        pen: &mut Pen,
    ) -> Option<()> {
        match step {
            Step::Close { first, last } => self.close(world, first as usize, last as usize, pen),
            Step::Process { first } => self.process(world, hop, first as usize, few, pen),
            Step::Tell { first } => {
                let row = world.parties[hop].rows[first as usize]?;
                commit(world, hop, first as usize, Row { word: Told::Waiting, ..row }, pen)
            }
            Step::GiveUp { first } => self.give_up(world, hop, first as usize, before, pen),
            Step::Shred { first } => self.shred(world, hop, first as usize, before, pen),
            Step::Destroy { window } => self.destroy(world, hop, window as usize, before, pen),
        }
    }

    fn close(&self, world: &mut World, first: usize, last: usize, pen: &mut Pen) -> Option<()> {
        let row = Row::new(last as u8, At::Closing);
        if self.is_early(world, last) && !self.is_hasty(0) {
            world.wrong = Some(Wrong::Early);
        }
        commit(world, 0, first, row, pen)?;
        let party = &world.parties[0];
        let counted = (first..=last).map(|epoch| match party.logs[epoch] {
            _ if !has(party.keys, self.machines.window(epoch).start) => 0,
            Log::None => 0,
            Log::Few => FEW,
            Log::Crowd => CROWD,
        });
        let reports = counted.sum();
        self.leave(world, 0, first, row, reports, pen)
    }

    fn process(
        &self,
        world: &mut World,
        hop: usize,
        first: usize,
        few: bool,
        pen: &mut Pen,
    ) -> Option<()> {
        let party = &world.parties[hop];
        let row = party.rows[first]?;
        if !has(party.keys, self.machines.window(first).start) {
            return commit(world, hop, first, row.at(At::GivenUp), pen);
        }
        self.leave(world, hop, first, row, if few { CROWD - 1 } else { CROWD }, pen)
    }

    /// A crowd leaves or is released; what becomes of fewer, the timetable says.
    fn leave(
        &self,
        world: &mut World,
        hop: usize,
        first: usize,
        row: Row,
        reports: u64,
        pen: &mut Pen,
    ) -> Option<()> {
        let slot = self.machines.slot(hop, first, row);
        let verdict = self.machines.timetable(hop, &world.parties[hop]).judge(&slot, reports);
        let at = match verdict {
            Some(stage) => row_stage(&stage),
            None if hop == PARTIES - 1 => At::Released,
            None => {
                pen.write()?;
                world.parties[hop].outputs |= set(first, first);
                At::Sealed
            }
        };
        commit(world, hop, first, row.at(at), pen)
    }

    fn give_up(
        &self,
        world: &mut World,
        hop: usize,
        first: usize,
        before: &Party,
        pen: &mut Pen,
    ) -> Option<()> {
        let Some(row) = self.unchanged(world, hop, first, before) else { return Some(()) };
        let late = self.true_time(world) + EARLIEST >= self.machines.late(first);
        let given_up = match row.word {
            Told::Waiting => Row { word: Told::Late, ..row },
            _ => row.at(At::GivenUp),
        };
        if !late && !self.is_hasty(hop) {
            world.wrong = Some(Wrong::Lost);
        }
        commit(world, hop, first, given_up, pen)
    }

    fn shred(
        &self,
        world: &mut World,
        hop: usize,
        first: usize,
        before: &Party,
        pen: &mut Pen,
    ) -> Option<()> {
        let row = before.rows[first]?;
        if hop == 0 {
            for epoch in first..=row.last.into() {
                pen.write()?;
                world.parties[hop].logs[epoch] = Log::None;
            }
        } else {
            pen.write()?;
            world.parties[hop].inputs &= !set(first, first);
        }
        if row.decided() {
            pen.write()?;
            world.parties[hop].outputs &= !set(first, first);
        }
        let Some(row) = self.unchanged(world, hop, first, before) else { return Some(()) };
        commit(world, hop, first, Row { shredded: true, ..row }, pen)
    }

    fn destroy(
        &self,
        world: &mut World,
        hop: usize,
        window: usize,
        before: &Party,
        pen: &mut Pen,
    ) -> Option<()> {
        let due = before.due;
        let mut timetable = Timetable::clone(&self.machines.timetable(hop, &world.parties[hop]));
        let agreed = timetable.destroy(window as u64, due);
        if !agreed && self.driver != Driver::Blind {
            return Some(());
        }
        if self.too_soon(world, hop, window) {
            world.wrong = Some(Wrong::KeyTooSoon);
        }
        pen.write()?;
        world.parties[hop].destroyed |= set(window, window);
        pen.write()?;
        world.parties[hop].keys &= !set(window, window);
        pen.write()?;
        sweep(&mut world.parties[hop]);
        timetable.destroyed(window as u64);
        Some(())
    }

    /// A batch or a word of the previous party comes, and is acknowledged.
    pub fn take(
        &self,
        world: &World,
        hop: usize,
        first: usize,
        crash: Option<Crash>,
    ) -> Option<World> {
        let party = &world.parties[hop];
        let word = matches!(world.parties[hop.checked_sub(1)?].rows[first]?.at, At::Short(_));
        let opens = word || has(party.keys, self.machines.window(first).start);
        if opens && party.belief == Belief::Believed {
            self.keep(world, hop, first, crash)
        } else {
            None
        }
    }

    /// The last byte of a batch or a word comes, which is kept and acknowledged.
    fn keep(&self, world: &World, hop: usize, first: usize, crash: Option<Crash>) -> Option<World> {
        let sent = world.parties[hop.checked_sub(1)?].rows[first]?;
        let word = match (sent.at, sent.word) {
            (At::Sealed | At::Delivered | At::GivenUp, _) => false,
            (At::Short(_), Told::Waiting | Told::Taken | Told::Late) => true,
            _ => return None,
        };
        let (mut next, party) = (*world, &world.parties[hop]);
        let blind = matches!(self.driver, Driver::Unclocked | Driver::Trusting);
        let now = if blind { u64::MAX } else { party.due };
        let last = usize::from(sent.last);
        let manifest = self.machines.manifest(hop - 1, first, last, word).unverified();
        let taken = if party.row_of(first).is_some() {
            // It is known, or contradicts what is known: neither changes anything.
            None
        } else {
            self.machines.timetable(hop, party).take(manifest, now).ok()
        };
        if taken != Some(false) {
            return None;
        }
        if self.is_early(world, last) {
            next.wrong = Some(Wrong::Early);
        }
        let mut pen = Pen(if crash.is_some() { 1 } else { u8::MAX });
        let row = Row::new(sent.last, if word { At::Short(0) } else { At::Received });
        let mut keep = || {
            if self.driver == Driver::Forgetful {
                next.parties[hop].signed |= set(first, last);
            }
            pen.write()?;
            next.parties[hop].inputs |= if word { 0 } else { set(first, first) };
            commit(&mut next, hop, first, row, &mut pen)
        };
        match (keep(), crash) {
            (Some(()), None) => {
                next.parties[hop].signed |= set(first, last);
                Some(next)
            }
            (None, Some(crash)) => Some(self.crash(&next, hop, crash).unwrap_or(next)),
            _ => None,
        }
    }

    /// True if a receipt and giving up exclude each other from now on. Before that, a receipt may
    /// as well come later.
    pub fn is_late(&self, world: &World, hop: usize, first: usize) -> bool {
        world.parties[hop].due >= self.machines.late(first)
    }

    /// A party ends and starts again from its disk.
    pub fn crash(&self, world: &World, hop: usize, crash: Crash) -> Option<World> {
        let mut next = *world;
        let party = &mut next.parties[hop];
        (party.heard, party.due) = ([None; PARTIES], 0);
        if crash == Crash::Machine {
            party.lead = None;
        }
        party.keys &= !party.destroyed;
        sweep(party);
        self.look(&mut next, hop);
        (next != *world).then_some(next)
    }

    /// A party looks at its clocks, and makes the keys of the windows that begin soon.
    pub fn look(&self, world: &mut World, hop: usize) {
        let (now, own) = (self.true_time(world), offset(world, hop));
        let party = &mut world.parties[hop];
        look(party, now, own);
        if self.driver == Driver::Unclocked {
            party.belief = Belief::Believed;
            party.due = now.strict_add_signed(own.seconds());
        }
        if self.is_hasty(hop) && party.logs != [Log::None; EPOCHS] {
            party.belief = Belief::Believed;
            party.due = now + EVERY;
        }
        if party.belief == Belief::Believed {
            // It may soon forget what agreed with it.
            party.heard = [None; PARTIES];
        }
        let schedule = &self.machines.route.schedule;
        let destroyed = self.machines.destroyed(party);
        for window in self.machines.windows() {
            let begins = schedule.start_of(window as u64);
            let soon = begins <= party.due + schedule.every * schedule.window();
            let over = party.due >= self.machines.over(window);
            if soon && !over && !destroyed.contains(window as u64) {
                party.keys |= set(window, window);
            }
        }
    }

    /// The row that a step is about, unless it was written since the step was begun.
    fn unchanged(&self, world: &World, hop: usize, first: usize, before: &Party) -> Option<Row> {
        let row = before.rows[first];
        row.filter(|_| self.driver == Driver::Stale || world.parties[hop].rows[first] == row)
    }

    /// True time.
    pub fn true_time(&self, world: &World) -> u64 {
        self.machines.moments[usize::from(world.moment)]
    }

    /// True if a party does things early on purpose.
    fn is_hasty(&self, hop: usize) -> bool {
        hop == 0 && matches!(self.driver, Driver::Hasty | Driver::Trusting)
    }

    /// True if an epoch ends later than anything may be done early.
    fn is_early(&self, world: &World, epoch: usize) -> bool {
        self.true_time(world) + EARLIEST < self.machines.route.schedule.end_of(epoch as u64)
    }

    /// True if something that is here, or may still come, needs the keys of a window.
    fn too_soon(&self, world: &World, hop: usize, window: usize) -> bool {
        let party = &world.parties[hop];
        let mut rows = self.machines.window(window).map(|epoch| party.row_of(epoch));
        rows.any(|row| match row {
            Some((_, row)) => !row.settled(),
            None => hop == 0 || self.true_time(world) + EARLIEST < self.machines.late(window),
        })
    }

    /// True if keys or logs exist of a window all of whose slots are settled, and whose last
    /// deadline this party knows to be over.
    pub fn outlived(&self, world: &World, hop: usize) -> bool {
        let party = &world.parties[hop];
        self.machines.windows().any(|window| {
            let mut epochs = self.machines.window(window);
            let kept = has(party.keys, window)
                || epochs.clone().any(|epoch| party.logs[epoch] != Log::None);
            let settled = |epoch| party.row_of(epoch).is_some_and(|(_, row)| row.settled());
            kept && party.due >= self.machines.over(window) && epochs.all(settled)
        })
    }
}

/// The seconds by which the wall clock of a party is wrong.
pub fn offset(world: &World, hop: usize) -> Offset {
    match world.jump {
        Some(jump) if usize::from(jump.hop) == hop => jump.offset,
        _ => Offset::Right,
    }
}

/// A receipt of the next party comes.
pub fn receipt(world: &World, hop: usize, first: usize) -> Option<World> {
    let row = world.parties[hop].rows[first]?;
    let signed = world.parties.get(hop + 1)?.signed;
    if !row.leaves() || !has(signed, first) {
        return None;
    }
    let mut next = *world;
    let taken =
        if row.at == At::Sealed { row.at(At::Delivered) } else { Row { word: Told::Taken, ..row } };
    commit(&mut next, hop, first, taken, &mut Pen(u8::MAX))?;
    Some(next)
}

/// Writes the row of a slot.
fn commit(world: &mut World, hop: usize, first: usize, row: Row, pen: &mut Pen) -> Option<()> {
    pen.write()?;
    let party = &mut world.parties[hop];
    let epochs = set(first, row.last.into());
    if let Some(old) = party.rows[first] {
        if old.decided() && old.at != row.at || old.word == Told::Taken && row.word != old.word {
            world.wrong = Some(Wrong::Reverted);
        }
        let sealed = row.at == At::Sealed && old.at != At::Sealed;
        let told = row.word == Told::Waiting && old.word == Told::Nobody;
        if sealed || told {
            if party.left & epochs != 0 {
                world.wrong = Some(Wrong::Twice);
            }
            party.left |= epochs;
        }
    }
    party.rows[first] = Some(row);
    Some(())
}

/// Removes what no row speaks of.
fn sweep(party: &mut Party) {
    for (first, row) in party.rows.iter().enumerate() {
        let at = row.map(|row| row.at);
        if at != Some(At::Received) {
            party.inputs &= !set(first, first);
        }
        if at != Some(At::Sealed) {
            party.outputs &= !set(first, first);
        }
    }
}
