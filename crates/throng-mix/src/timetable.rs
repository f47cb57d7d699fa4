//! One collection at one mix, as a state machine: no disk, no network, no clock.
//!
//! ```text
//! the first mix:  (open) --deadline--> Closing
//!                 Closing --counted--> Sealed --receipt--> Delivered
//!                    |  \--short, more epochs in the window--> Held --deadline--> Closing
//!                    \--short--> Dropped
//! later mixes:    Received --counted--> Sealed --receipt--> Delivered
//!                     \--short--> Dropped
//! every mix:      Sealed --nobody signed before the keys went--> Dropped
//!                 short --> a word is signed --receipt--> taken
//! ```
//!
//! What a slot does not need any more is shredded at once: what came, when it is sealed or dropped,
//! and the sealed batch when it is delivered. When all slots of a window are sealed, dropped or
//! released, its keys are destroyed, in whatever order that happens to windows. Only a window of
//! which something has not come yet waits, and no longer than the drain.
//!
//! The machine says what is to be done next; its driver ([`crate::Course`]) does it, writes the
//! slot's new row, and only then tells the machine. A crash before the row repeats the step, and no
//! step before `Sealed` lets a byte out.

use crate::{Destroyed, Error, Slot, Slots, Stage, TOLERANCE, Why, Word};
use std::collections::BTreeSet;
use std::iter::successors;
use std::sync::Arc;
use throng_wire::{Manifest, Route};

/// The next thing that a party does by itself.
///
/// ```
/// use throng_mix::{Destroyed, Slot, Slots, Stage, Step, Timetable, Why, Word};
/// use throng_wire::example;
///
/// let route = example::route();
/// let deadline = route.schedule.deadline(0);
/// let mut timetable = Timetable::new(route.into(), 1, 50, Slots::new(), Destroyed::default());
///
/// // What was dropped is shredded, and at once the keys go that would open it.
/// let stage = Stage::Dropped { why: Why::Short, reports: 4 };
/// let slot = Slot::new(0, 0, None, stage);
/// timetable.put(slot.clone());
/// assert_eq!(timetable.next(deadline), Some(Step::Shred { first: 0 }));
/// timetable.put(Slot { shredded: true, ..slot.clone() });
///
/// assert_eq!(timetable.next(deadline), Some(Step::Destroy { window: 0 }));
/// assert!(timetable.destroy(0, deadline));
/// timetable.destroyed(0);
///
/// // Then the next party is told.
/// assert_eq!(timetable.next(deadline), Some(Step::Tell { first: 0 }));
/// timetable.put(Slot { shredded: true, word: Some(Word::Late), ..slot });
/// assert_eq!(timetable.next(deadline), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Stop taking reports for these epochs, count them, and mix them if they are a crowd.
    Close {
        /// The first epoch.
        first: u64,
        /// The last epoch.
        last: u64,
    },
    /// Count the batch received for the slot that begins with this epoch; mix, count or post a
    /// crowd.
    Process {
        /// The first epoch.
        first: u64,
    },
    /// Sign the word that the slot that begins with this epoch is dropped, for the next party.
    Tell {
        /// The first epoch.
        first: u64,
    },
    /// Drop the batch or the word of the slot that begins with this epoch: nobody has signed for
    /// it, and the next party has stopped waiting, its keys being gone.
    GiveUp {
        /// The first epoch.
        first: u64,
    },
    /// Remove what the slot that begins with this epoch does not need any more.
    Shred {
        /// The first epoch.
        first: u64,
    },
    /// Destroy the keys of the window that begins with this epoch.
    Destroy {
        /// The first epoch of the window.
        window: u64,
    },
}

/// The state machine of one party in one collection, which tells from its slots and the time what
/// is due.
///
/// ```
/// use throng_mix::{Destroyed, Slot, Slots, Stage, Step, Timetable, Why};
/// use throng_wire::{Below, Route, Schedule, example};
///
/// // Epochs of 100 seconds from 1000 on, 10 seconds of grace, and a crowd of 5.
/// let schedule = Schedule { start: 1_000, every: 100, grace: 10, below: Below::Expire };
/// let route = Route { schedule, quorum: 5, epochs: 4, ..example::route() };
/// let timetable = Timetable::new(route.into(), 1, 50, Slots::new(), Destroyed::default());
/// assert!(timetable.admit(0, 1_109).is_ok() && timetable.admit(0, 1_110).is_err());
/// assert_eq!(timetable.next(1_109), None);
/// assert_eq!(timetable.next(1_110), Some(Step::Close { first: 0, last: 0 }));
///
/// let slot = Slot::new(0, 0, None, Stage::Closing);
/// assert_eq!(timetable.judge(&slot, 5), None);
/// assert!(matches!(timetable.judge(&slot, 4), Some(Stage::Dropped { why: Why::Short, .. })));
/// ```
#[derive(Debug, Clone)]
pub struct Timetable {
    route: Arc<Route>,
    /// This party's place, from 1; the analyzer's is one past the last mix.
    hop: u8,
    /// Seconds after a window's last deadline in which late batches still find its keys.
    drain: u64,
    /// All slots so far.
    pub(crate) slots: Slots,
    /// The windows whose keys are destroyed, or being destroyed.
    destroyed: Destroyed,
    /// The windows whose keys are being destroyed.
    destroying: BTreeSet<u64>,
}

impl Timetable {
    /// The timetable of the party at `hop`, from what is on disk: its slots, and the windows whose
    /// keys are destroyed. Late batches find the keys of a window for `drain` seconds after its
    /// last deadline.
    pub fn new(route: Arc<Route>, hop: u8, drain: u64, slots: Slots, destroyed: Destroyed) -> Self {
        Self { route, hop, drain, slots, destroyed, destroying: BTreeSet::new() }
    }

    /// Takes a slot whose new row is on disk, in the place of the one with the same first epoch.
    pub fn put(&mut self, slot: Slot) {
        self.slots.insert(slot.first, slot);
    }

    /// Begins to destroy the keys of a window: nothing that they would open is taken any more.
    /// Returns false if something has come that they must open first.
    pub fn destroy(&mut self, window: u64, now: u64) -> bool {
        let begun = self.destroying.contains(&window);
        let over = !self.destroyed.contains(window) && self.window_over(window, now);
        if over {
            self.destroyed.insert(window, &self.route);
            self.destroying.insert(window);
        }
        begun || over
    }

    /// Notes that the keys of a window that was being destroyed are gone.
    pub fn destroyed(&mut self, window: u64) {
        self.destroying.remove(&window);
    }

    /// Refuses an epoch for which no reports are taken now.
    pub fn admit(&self, epoch: u64, now: u64) -> Result<(), Error> {
        if self.hop != 1 {
            return Err(Error::WrongPlace);
        }
        let Route { schedule, epochs, .. } = &*self.route;
        // A slot that exists was closed, whatever a clock that was set back says.
        let closed = self.newest().is_some_and(|slot| epoch <= slot.last);
        let open =
            epoch < *epochs && (schedule.start_of(epoch)..schedule.deadline(epoch)).contains(&now);
        if open && !closed { Ok(()) } else { Err(Error::EpochClosed) }
    }

    /// The next step, if one is due.
    pub fn next(&self, now: u64) -> Option<Step> {
        self.due(now).next()
    }

    /// All steps that are due, the next one first. Each can be done without those before it.
    pub fn due(&self, now: u64) -> impl Iterator<Item = Step> {
        let last = self.hop == self.route.chain.hops();
        let received = |slot: &&Slot| matches!(slot.stage, Stage::Received(_));
        let untold = move |slot: &&Slot| !last && slot.to_tell() && !self.stale(slot.last, now);
        let stale = move |slot: &&Slot| {
            let leaves = matches!(slot.stage, Stage::Sealed(_))
                || matches!(slot.word, Some(Word::Waiting(_)));
            leaves && self.stale(slot.last, now)
        };
        let slots = || self.slots.values();
        (slots().filter(|slot| slot.to_shred()).map(|slot| Step::Shred { first: slot.first }))
            .chain(self.over(now).map(|window| Step::Destroy { window }))
            .chain(slots().filter(received).map(|slot| Step::Process { first: slot.first }))
            .chain(self.next_close(now))
            .chain(slots().filter(untold).map(|slot| Step::Tell { first: slot.first }))
            .chain(slots().filter(stale).map(|slot| Step::GiveUp { first: slot.first }))
    }

    /// The stage of a slot whose reports were counted; `None` if they are a crowd and may leave.
    pub fn judge(&self, slot: &Slot, reports: u64) -> Option<Stage> {
        if reports >= self.route.quorum {
            return None;
        }
        let next = slot.last + 1;
        let schedule = &self.route.schedule;
        let waits = self.hop == 1
            && next < self.route.epochs
            && schedule.window_of(next) == schedule.window_of(slot.last);
        let dropped = Stage::Dropped { why: Why::Short, reports };
        Some(if waits { Stage::Held { reports } } else { dropped })
    }

    /// Refuses a batch that may not be taken from the previous party; `Ok(true)` if it is there
    /// already. The word that there is none can be taken when the keys are gone, too.
    pub fn take(&self, manifest: &Manifest, now: u64) -> Result<bool, Error> {
        let (Route { schedule, epochs, shape, .. }, hop) = (&*self.route, self.hop);
        let foreign = |scope| {
            let what = "batch";
            Err(Error::Batch(throng_wire::Error::Foreign { what, scope }))
        };
        if hop == 1 {
            return Err(Error::WrongPlace);
        }
        if manifest.hop().checked_add(1) != Some(hop)
            || manifest.record_bytes as usize != shape.record_bytes(hop)
        {
            return foreign("hop");
        }
        let window = schedule.window_of(manifest.last);
        if manifest.last >= *epochs || schedule.window_of(manifest.first) != window {
            return foreign("window");
        }
        let overlaps = |slot: &&Slot| slot.first <= manifest.last && manifest.first <= slot.last;
        match self.slots.values().find(overlaps) {
            Some(slot) if slot.input == Some(manifest.id()) => Ok(true),
            Some(_) => Err(Error::Conflict),
            None if now.saturating_add(TOLERANCE) < schedule.end_of(manifest.last) => {
                Err(Error::Early)
            }
            None if self.destroyed.contains(window) && !manifest.is_empty() => {
                Err(Error::KeysDestroyed)
            }
            None => Ok(false),
        }
    }

    /// The close that is under way, or the next one that is due, at the first mix.
    fn next_close(&self, now: u64) -> Option<Step> {
        if self.hop != 1 {
            return None;
        }
        let (first, last) = match self.newest() {
            None => (0, 0),
            Some(Slot { first, last, stage: Stage::Closing, .. }) => {
                return Some(Step::Close { first: *first, last: *last });
            }
            Some(Slot { first, last, stage: Stage::Held { .. }, .. }) => (*first, last + 1),
            Some(slot) => (slot.last + 1, slot.last + 1),
        };
        let due = last < self.route.epochs && now >= self.route.schedule.deadline(last);
        due.then_some(Step::Close { first, last })
    }

    /// The windows whose keys are being destroyed, and those whose keys can be. One that waits holds
    /// up no other.
    fn over(&self, now: u64) -> impl Iterator<Item = u64> {
        let next = |window: &u64| Some(self.route.window_epochs(*window).end);
        let ended = successors(Some(self.destroyed.first_left()), next)
            .take_while(move |w| *w < self.route.epochs && self.has_ended(*w, now))
            .filter(move |w| !self.destroyed.contains(*w) && self.window_over(*w, now));
        self.destroying.iter().copied().chain(ended)
    }

    /// The slot of the last epochs.
    fn newest(&self) -> Option<&Slot> {
        self.slots.values().next_back()
    }

    /// True if later parties have destroyed the keys of an epoch's window, or are about to.
    fn stale(&self, epoch: u64, now: u64) -> bool {
        let deadline = self.route.schedule.deadline(self.route.window_epochs(epoch).end - 1);
        now >= deadline.saturating_add(self.drain)
    }

    /// True if the last deadline of a window has come.
    fn has_ended(&self, window: u64, now: u64) -> bool {
        now >= self.route.schedule.deadline(self.route.window_epochs(window).end - 1)
    }

    /// True if nothing that the keys of a window would open can come any more.
    fn window_over(&self, window: u64, now: u64) -> bool {
        let epochs = self.route.window_epochs(window);
        // No slot reaches over the end of a window.
        let inside = || self.slots.range(epochs.clone()).map(|(_, slot)| slot);
        let covered: u64 = inside().map(|slot| slot.last - slot.first + 1).sum();
        let all = covered == epochs.end - epochs.start;
        self.has_ended(window, now)
            && inside().all(|slot| slot.shredded)
            && (all || self.hop > 1 && self.stale(window, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::{
        Below, CollectionId, Identity, Loss, Schedule, Shape, SignedManifest, example,
    };

    fn timetable(below: Below) -> Timetable {
        let schedule = Schedule { start: 1_000, every: 100, grace: 10, below };
        let shape = Shape { mixes: 2, messages: 1, payload: 1 };
        let route = Route { schedule, epochs: 10, quorum: 5, shape, ..example::route() };
        Timetable::new(Arc::new(route), 1, 50, Slots::new(), Destroyed::default())
    }

    fn slot(first: u64, last: u64, stage: Stage) -> Slot {
        Slot::new(first, last, None, stage)
    }

    /// The manifest of a batch that leaves the first mix.
    fn manifest(first: u64, last: u64, digest: u8) -> Manifest {
        let shape = timetable(Below::Expire).route.shape;
        Manifest {
            collection: CollectionId::new([1; 32]),
            first,
            last,
            record_bytes: shape.record_bytes(2) as u32,
            records: 5,
            losses: vec![Loss::default()],
            source: [0; 32],
            digest: [digest; 32],
        }
    }

    fn signed(manifest: Manifest) -> SignedManifest {
        SignedManifest::sign(manifest, &Identity::from_seed(&[1; 32]))
    }

    #[test]
    fn an_epoch_admits_from_its_start_to_its_deadline_and_never_after_it_closed() {
        let mut timetable = timetable(Below::Expire);
        for (epoch, now, open) in [
            (0, 999, false),
            (0, 1_000, true),
            (0, 1_109, true),
            (0, 1_110, false),
            (1, 1_105, true),
            (1, 1_099, false),
            (10, 2_050, false),
        ] {
            assert_eq!(timetable.admit(epoch, now).is_ok(), open, "epoch {epoch} at {now}");
        }
        timetable.put(slot(0, 0, Stage::Closing));
        assert!(timetable.admit(0, 1_050).is_err(), "the clock was set back");
    }

    #[test]
    fn a_short_epoch_waits_within_its_window_and_expires_at_its_end() {
        let mut timetable = timetable(Below::Merge { window: 2 });
        assert_eq!(timetable.next(1_109), None);
        assert_eq!(timetable.next(1_110), Some(Step::Close { first: 0, last: 0 }));
        let closing = slot(0, 0, Stage::Closing);
        let held = timetable.judge(&closing, 4).unwrap();
        assert_eq!(held, Stage::Held { reports: 4 });
        timetable.put(closing.at(held));
        assert_eq!(timetable.next(1_209), None);
        assert_eq!(timetable.next(1_210), Some(Step::Close { first: 0, last: 1 }));
        let both = slot(0, 1, Stage::Closing);
        assert_eq!(timetable.judge(&both, 5), None);
        let dropped = timetable.judge(&both, 4).unwrap();
        assert_eq!(dropped, Stage::Dropped { why: Why::Short, reports: 4 });
        timetable.put(both.at(dropped));
        assert_eq!(timetable.next(1_210), Some(Step::Shred { first: 0 }));
        timetable.put(Slot { shredded: true, ..timetable.slots[&0].clone() });
        assert_eq!(timetable.next(1_210), Some(Step::Destroy { window: 0 }));
        assert!(!timetable.destroy(0, 1_209) && timetable.destroy(0, 1_210));
        assert_eq!(timetable.next(1_210), Some(Step::Destroy { window: 0 }), "until it is done");
        timetable.destroyed(0);
        assert_eq!(timetable.next(1_210), Some(Step::Tell { first: 0 }));
        assert_eq!(timetable.next(1_260), None, "nobody waits for it");
        let word = Some(Word::Waiting(signed(Manifest { last: 1, ..manifest(0, 0, 0) })));
        timetable.put(Slot { word, ..timetable.slots[&0].clone() });
        assert_eq!(timetable.next(1_210), None);
        assert_eq!(timetable.next(1_260), Some(Step::GiveUp { first: 0 }));
        timetable.put(Slot { word: Some(Word::Late), ..timetable.slots[&0].clone() });
        assert_eq!(timetable.next(1_310), Some(Step::Close { first: 2, last: 2 }));
    }

    #[test]
    fn a_batch_that_nobody_takes_is_given_up_when_its_keys_are_gone() {
        let mut timetable = timetable(Below::Expire);
        let sealed = slot(0, 0, Stage::Sealed(signed(manifest(0, 0, 0))));
        timetable.put(sealed.clone());
        // What it was made of goes at once, and the keys that open that.
        assert_eq!(timetable.next(1_110), Some(Step::Shred { first: 0 }));
        timetable.put(Slot { shredded: true, ..sealed.clone() });
        assert_eq!(timetable.next(1_110), Some(Step::Destroy { window: 0 }));
        assert!(timetable.destroy(0, 1_110));
        timetable.destroyed(0);
        assert_eq!(timetable.next(1_159), None);
        assert_eq!(timetable.next(1_160), Some(Step::GiveUp { first: 0 }));
        let dropped = sealed.at(Stage::Dropped { why: Why::Keys, reports: 5 });
        timetable.put(dropped.clone());
        assert_eq!(timetable.next(1_160), Some(Step::Shred { first: 0 }));
        timetable.put(Slot { shredded: true, ..dropped });
        assert_eq!(timetable.next(1_160), None);
    }

    #[test]
    fn a_second_batch_for_the_same_epochs_is_a_conflict() {
        let mut second = timetable(Below::Merge { window: 10 });
        second.hop = 2;
        let taken = manifest(3, 5, 0);
        assert!(matches!(second.take(&taken, 9_999), Ok(false)));
        let received = slot(3, 5, Stage::Received(signed(taken.clone())));
        second.put(Slot { input: Some(taken.id()), ..received });
        assert!(matches!(second.take(&taken, 9_999), Ok(true)));
        for (first, last, digest) in [(3, 5, 1), (5, 6, 0), (0, 3, 0), (4, 4, 0), (0, 9, 0)] {
            let other = second.take(&manifest(first, last, digest), 9_999);
            assert!(matches!(other, Err(Error::Conflict)), "epochs {first} to {last}");
        }
        assert!(matches!(second.take(&manifest(6, 6, 0), 9_999), Ok(false)));
    }

    #[test]
    fn a_window_that_waits_keeps_no_other_alive() {
        let mut second = timetable(Below::Expire);
        (second.hop, second.drain) = (2, 200);
        // Nothing is heard of epoch 0; epochs 1 and 3 are settled.
        for epoch in [1, 3] {
            let stage = Stage::Dropped { why: Why::Short, reports: 0 };
            let word = Some(Word::Late);
            second.put(Slot { shredded: true, word, ..slot(epoch, epoch, stage) });
        }
        assert_eq!(second.next(1_109), None);
        for (now, window) in [(1_210, 1), (1_310, 0), (1_410, 3)] {
            assert_eq!(second.next(now), Some(Step::Destroy { window }), "at {now}");
            assert!(second.destroy(window, now));
            assert_eq!(second.next(now), Some(Step::Destroy { window }), "until it is done");
            second.destroyed(window);
        }
        assert_eq!(second.next(1_509), None, "epoch 2 may still come");
        assert_eq!(second.next(1_510), Some(Step::Destroy { window: 2 }));
        assert!(!second.destroy(1, 1_510) && !second.destroy(4, 1_510));
    }

    #[test]
    fn a_batch_is_not_taken_before_its_last_epoch_is_over() {
        let mut second = timetable(Below::Merge { window: 2 });
        second.hop = 2;
        let both = Manifest { last: 1, ..manifest(0, 0, 0) };
        assert!(matches!(second.take(&both, 1_179), Err(Error::Early)));
        assert!(matches!(second.take(&both, 1_180), Ok(false)));
        // What is here already gets the same receipt, whatever a clock that was set back says.
        let received = slot(0, 1, Stage::Received(signed(both.clone())));
        second.put(Slot { input: Some(both.id()), ..received });
        assert!(matches!(second.take(&both, 0), Ok(true)));
    }

    #[test]
    fn a_word_needs_no_keys() {
        let mut second = timetable(Below::Expire);
        second.hop = 2;
        second.destroyed.insert(0, &second.route.clone());
        let batch = manifest(0, 0, 0);
        assert!(matches!(second.take(&batch, 9_999), Err(Error::KeysDestroyed)));
        let bytes = batch.record_bytes;
        let word = Manifest::empty(batch.collection, 0..=0, 1, bytes, [0; 32]);
        assert!(matches!(second.take(&word, 9_999), Ok(false)));
    }

    #[test]
    fn with_expire_nothing_waits() {
        let timetable = timetable(Below::Expire);
        let dropped = timetable.judge(&slot(0, 0, Stage::Closing), 4);
        assert!(matches!(dropped, Some(Stage::Dropped { .. })));
    }

    #[test]
    fn only_the_first_mix_takes_reports() {
        let mut second = timetable(Below::Expire);
        second.hop = 2;
        assert!(matches!(second.admit(0, 1_000), Err(Error::WrongPlace)));
    }
}
