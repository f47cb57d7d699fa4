//! Property (m): keys of settled windows are gone, by what is on disk and nobody's word.
//!
//! ```text
//! settled   by the rows of slots on disk, nothing of the window is to be read any more: every
//!           epoch is sealed, delivered, released or dropped (or, after a first mix, missing when
//!           the drain is over), and its last deadline has passed by the time that the party
//!           believes
//! owed      the slots that are settled and not marked as shredded, and the settled windows that
//!           have a secret or a report on disk, or are not marked as destroyed
//! rule      a step while anything is owed leaves less of it, unless the disk failed during it, or
//!           during the step before, something of which may be left then
//! ```
//!
//! So a window's keys outlive it by no more successful steps than there are other things to
//! destroy, and a party that has nothing to do keeps none.

use super::{Event, Plant, World};
use std::collections::BTreeSet;
use throng_mix::store::{LogKey, LogName, RowKey, Table};
use throng_mix::{Destroyed, Slot, Step};
use throng_server::Error;

/// The things that a party has to destroy.
pub struct Owed {
    slots: usize,
    /// Settled windows that are not marked as destroyed.
    marks: BTreeSet<u64>,
    /// Settled windows with keys or reports on disk.
    keys: BTreeSet<u64>,
}

impl Owed {
    fn total(&self) -> usize {
        self.slots + self.marks.union(&self.keys).count()
    }
}

impl World {
    /// Looks at the disk of a party that is about to do what is due.
    pub(super) fn owed(&self, party: usize, due: u64) -> Option<Owed> {
        let (slots, route) = (self.slots(party)?, &self.network.route);
        let hop = party as u8 + 1;
        let names = self.look(party, |store| store.secrets.names().unwrap())?;
        let key = RowKey::of(route.id);
        let row = self.look(party, |store| store.rows.get(Table::Destroyed, &key).unwrap())?;
        let text = row.map(|row| String::from_utf8(row).unwrap());
        let destroyed = text.map(|text| Destroyed::parse(&text).unwrap()).unwrap_or_default();
        let settled = |slot: &Slot| !slot.stage.needs_input();
        let open = slots.iter().filter(|slot| settled(slot) && !slot.shredded).count();
        let mut owed = Owed { slots: open, marks: BTreeSet::new(), keys: BTreeSet::new() };
        let mut window = 0;
        while window < route.epochs {
            let epochs = route.window_epochs(window);
            let deadline = route.schedule.deadline(epochs.end - 1);
            let inside = || slots.iter().filter(|slot| epochs.contains(&slot.first));
            let covered: u64 = inside().map(|slot| slot.last - slot.first + 1).sum();
            let missing = covered < epochs.end - epochs.start;
            let over = due >= deadline && inside().all(settled);
            if over && (!missing || hop > 1 && due >= deadline + self.drain) {
                let secret = names.contains(&format!("{}-{window}", route.id));
                if secret || epochs.clone().any(|epoch| self.has_reports(party, epoch)) {
                    owed.keys.insert(window);
                }
                if !destroyed.contains(window) {
                    owed.marks.insert(window);
                }
            }
            window = epochs.end;
        }
        Some(owed)
    }

    /// Checks the rule after a step.
    pub(super) fn check_owed(
        &mut self,
        party: usize,
        due: u64,
        before: Option<Owed>,
        failed: bool,
    ) {
        let failed_before = std::mem::replace(&mut self.failed[party], failed);
        let (Some(before), Some(after)) = (before, self.owed(party, due)) else { return };
        let gone = before.keys.difference(&after.keys).count();
        self.met.count(Event::Settled, gone as u64);
        if !failed && !failed_before && before.total() > 0 {
            let (hop, keys) = (party + 1, &after.keys);
            assert!(after.total() < before.total(), "hop {hop} keeps keys of settled {keys:?}");
        }
    }

    /// True if the log of an epoch has a report.
    pub(super) fn has_reports(&self, party: usize, epoch: u64) -> bool {
        let route = &self.network.route;
        let window = route.schedule.window_of(epoch);
        let Some(secret) = self.secrets.get(&(party as u8 + 1, window)) else { return false };
        let log = LogName { collection: route.id, epoch };
        let key = LogKey::derive(secret, epoch, route.shape.report_bytes());
        let mut any = false;
        let _ = self.look(party, |store| {
            let visit = &mut |_: &[u8]| {
                any = true;
                std::ops::ControlFlow::Continue(())
            };
            store.logs.read(&log, &key, visit).unwrap();
        });
        any
    }

    /// Puts keys back that were destroyed while earlier ones were there, if that is planted.
    pub(super) fn hoard(&self, party: usize, step: &Result<Option<Step>, Error>) {
        let (Some(Plant::InOrder), Ok(Some(Step::Destroy { window }))) = (&self.plant, step) else {
            return;
        };
        let id = self.network.route.id;
        let secret = &self.secrets[&(party as u8 + 1, *window)];
        self.look(party, |store| {
            let earlier = |w: u64| store.secrets.get(&format!("{id}-{w}")).unwrap().is_some();
            if (0..*window).any(earlier) {
                store.secrets.put(&format!("{id}-{window}"), secret.as_bytes()).unwrap();
            }
        });
    }
}
