//! The clocks of the parties, each judged as a server does, and property (k).

use super::{Event, Plant, World};
use std::collections::BTreeMap;
use throng_mix::store::{RowKey, Store, Table};
use throng_mix::{Error, Judgement, Reading, TOLERANCE, Timekeeper};
use throng_wire::CollectionId;

/// The clocks of one party's machine. Its steady clock counts true seconds.
pub struct Clock {
    /// The seconds by which the wall clock is ahead of the time.
    pub ahead: i64,
    others: usize,
    /// The number of the machine's starts, and the time of the last.
    boots: u64,
    booted: u64,
    keeper: Timekeeper,
    /// The lead that is on disk.
    kept: Option<i64>,
    /// What is true of the times that were heard: how far they were ahead, and when.
    heard: BTreeMap<usize, (i64, u64)>,
    /// True if it was last believed although everybody who agreed was wrong.
    misled: bool,
    /// The same, of the lead that is on disk.
    kept_misled: bool,
    /// The time when its machine crashed, and whether it was misled then.
    crashed: Option<(u64, bool)>,
}

impl Clock {
    pub fn new(others: usize, now: u64) -> Self {
        Self {
            ahead: 0,
            others,
            boots: 0,
            booted: now,
            keeper: Timekeeper::new(others, None),
            kept: None,
            heard: BTreeMap::new(),
            misled: false,
            kept_misled: false,
            crashed: None,
        }
    }

    /// The time on the wall.
    pub fn wall(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.ahead)
    }

    /// Starts the process again, or the whole machine. What was believed is read from its row, and
    /// counts if the machine is still the same.
    fn restart(&mut self, now: u64, reboot: bool, row: Option<Vec<u8>>) {
        if reboot {
            (self.boots, self.booted) = (self.boots + 1, now);
        }
        let row = row.and_then(|row| String::from_utf8(row).ok());
        let lead = row.as_deref().and_then(|row| row.split_once(' ')).and_then(|(when, lead)| {
            Some(lead.parse().ok()?).filter(|_| self.boots.to_string() == when)
        });
        (self.keeper, self.kept) = (Timekeeper::new(self.others, lead), lead);
        (self.heard, self.misled) = (BTreeMap::new(), lead.is_some() && self.kept_misled);
    }

    fn hear(&mut self, from: usize, ahead: i64, now: u64) {
        self.heard.insert(from, (ahead, now));
        self.keeper.hear(from as u8 + 1, now.saturating_add_signed(ahead), now - self.booted);
    }

    fn judge(&mut self, now: u64) -> Judgement {
        let near = |(ahead, heard): &&(i64, u64)| {
            now - heard <= FRESH && ahead.abs_diff(self.ahead) <= TOLERANCE
        };
        let agree: Vec<_> = self.heard.values().filter(near).collect();
        if 2 * agree.len() > self.others {
            self.misled = agree.iter().all(|(ahead, _)| *ahead != 0);
        }
        self.keeper.judge(Reading { wall: self.wall(now), steady: now - self.booted })
    }

    /// Keeps what was believed.
    fn keep(&mut self, store: &Store, id: CollectionId) -> Result<(), Error> {
        let Some(lead) = self.keeper.lead() else { return Ok(()) };
        if self.kept.is_none_or(|kept| kept.abs_diff(lead) > SLACK) {
            let row = format!("{} {lead}", self.boots);
            // A write that fails may have happened.
            self.kept_misled |= self.misled;
            store.rows.put(Table::Clock, &RowKey::of(id), row.as_bytes())?;
            (self.kept, self.kept_misled) = (Some(lead), self.misled);
        }
        Ok(())
    }
}

impl World {
    /// The latest time that a party believed, and whether it believes its clock now.
    pub(super) fn judge(&mut self, party: usize) -> (u64, Judgement) {
        let (now, clock) = (self.network.now, &mut self.clocks[party]);
        let was = clock.misled;
        let judgement = clock.judge(now);
        let misled = clock.misled && !was;
        self.met.count(Event::Misled, misled.into());
        self.met.count(Event::Doubt, judgement.is_doubt().into());
        let clock = &self.clocks[party];
        match &mut self.plant {
            Some(Plant::Wall) => (clock.wall(now), Judgement::Believed),
            Some(Plant::Stubborn(stopped)) => {
                *stopped |= judgement.is_doubt();
                (if *stopped { 0 } else { clock.keeper.due() }, judgement)
            }
            _ => (clock.keeper.due(), judgement),
        }
    }

    /// The present time at a party, if it believes it.
    pub(super) fn believed(&mut self, party: usize) -> Option<u64> {
        let (due, judgement) = self.judge(party);
        Some(due).filter(|_| judgement == Judgement::Believed)
    }

    pub(super) fn hear(&mut self, from: usize, to: usize) {
        let told = if self.flatters && !self.honest(from) { to } else { from };
        let (ahead, now) = (self.clocks[told].ahead, self.network.now);
        self.clocks[to].hear(from, ahead, now);
    }

    pub(super) fn keep(&mut self, party: usize) -> Result<(), Error> {
        let store = self.network.nodes[party].store.store();
        self.clocks[party].keep(&store, self.network.route.id)
    }

    /// Starts a party from what is on its disk, where that works.
    pub(super) fn restart(&mut self, party: usize, reboot: bool) {
        let _ = self.network.nodes[party].restart();
        self.check_times(party);
        let key = RowKey::of(self.network.route.id);
        let row = self.look(party, |store| store.rows.get(Table::Clock, &key).unwrap());
        self.clocks[party].restart(self.network.now, reboot, row.flatten());
        self.failed[party] = false;
    }

    /// Notes that a machine crashed: what it wrote last is from now, whenever it is seen.
    pub(super) fn crash(&mut self, party: usize) {
        let (now, clock) = (self.network.now, &mut self.clocks[party]);
        clock.crashed = Some((now, clock.misled));
    }

    /// Checks (k) for the slots that a party began since the last look.
    pub(super) fn check_times(&mut self, party: usize) {
        let Some(slots) = self.slots(party) else { return };
        let clock = &mut self.clocks[party];
        let (at, misled) = clock.crashed.take().unwrap_or((self.network.now, clock.misled));
        let (hop, schedule) = (party as u8 + 1, &self.network.route.schedule);
        for slot in slots {
            if !self.begun.insert((hop, slot.first, slot.last)) {
                continue;
            }
            let (does, from) = if hop == 1 {
                ("closes", schedule.deadline(slot.last))
            } else {
                ("takes", schedule.end_of(slot.last))
            };
            let early = from.saturating_sub(at);
            assert!(misled || early <= EARLY, "hop {hop} {does} {} {early} s early", slot.last);
            let wrong = self.clocks.iter().any(|clock| clock.ahead != 0);
            self.met.count(Event::InTime, (wrong && !misled).into());
        }
    }
}

/// The seconds for which a told time counts, and those by which a lead on disk may be off: as at a
/// server.
const FRESH: u64 = 600;
const SLACK: u64 = 2;

/// The seconds before the end of an epoch at which nothing may be closed or taken.
const EARLY: u64 = 60;
