//! The fates of the last epochs of a collection, one mark for each.
//!
//! States differ by shape and not by colour alone, and the words beside them count them.

use super::site::{Place, Site};
use throng_mix::{Slot, Stage, Why};

/// The marks, drawn with one path for each state.
pub struct Strip {
    pub width: u64,
    /// The class and the path of each state that is there.
    pub paths: Vec<(&'static str, String)>,
    /// The fates in words.
    pub words: String,
}

/// The fate of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It was released, or handed over.
    Done,
    /// It was released, or handed over, together with others.
    Merged,
    /// Something is still to be done.
    Waiting,
    /// It was discarded.
    Dropped,
    /// Its deadline is over and nothing came.
    Missing,
    /// It takes reports.
    Running,
}

impl Fate {
    /// All fates.
    pub const ALL: [Self; 6] =
        [Self::Done, Self::Merged, Self::Waiting, Self::Dropped, Self::Missing, Self::Running];

    /// The fate of a slot.
    pub fn of(slot: &Slot) -> Self {
        match slot.stage {
            Stage::Dropped { .. } => Self::Dropped,
            Stage::Released | Stage::Delivered { .. } if slot.last > slot.first => Self::Merged,
            Stage::Released | Stage::Delivered { .. } => Self::Done,
            _ => Self::Waiting,
        }
    }

    /// The class of its mark, and its name for people, at the analyzer or at a mix.
    fn words(self, analyzer: bool) -> (&'static str, &'static str) {
        match self {
            Self::Done if analyzer => ("done", "released"),
            Self::Done => ("done", "handed over"),
            Self::Merged if analyzer => ("merged", "released together with others"),
            Self::Merged => ("merged", "handed over together with others"),
            Self::Waiting => ("waiting", "waiting"),
            Self::Dropped => ("dropped", "dropped"),
            Self::Missing => ("missing", "nothing arrived"),
            Self::Running => ("running", "takes reports"),
        }
    }

    /// One mark of each fate, with its class and its name.
    pub fn legend(analyzer: bool) -> [(&'static str, String, &'static str); 6] {
        Self::ALL.map(|fate| {
            let path = match fate {
                Self::Merged => fate.mark(0, true) + &fate.mark(1, false),
                single => single.mark(0, false),
            };
            let (class, name) = fate.words(analyzer);
            (class, path, name)
        })
    }

    /// The path of its mark at a place, without a gap after it where it is joined with the next.
    fn mark(self, place: u64, joined: bool) -> String {
        let x = place * STEP;
        match self {
            Self::Merged if joined => format!("M{x} 0h10v20h-10z"),
            Self::Done | Self::Merged => format!("M{x} 0h8v20h-8z"),
            Self::Waiting => format!("M{x} 10h8v10h-8z"),
            Self::Dropped => format!("M{}.5 1.5h5v17h-5z", x + 1),
            Self::Missing => format!("M{x} 17h8v3h-8z"),
            Self::Running => format!("M{} 0h2v20h-2zM{} 0h2v20h-2z", x + 1, x + 5),
        }
    }
}

impl Strip {
    fn of(fates: &[(Fate, bool)], end: u64, analyzer: bool) -> Self {
        let (mut paths, mut words) = (Vec::new(), Vec::new());
        for fate in Fate::ALL {
            let places = (0..).zip(fates).filter(|(_, (other, _))| *other == fate);
            let marks = places.map(|(place, (_, joined))| fate.mark(place, *joined));
            let marks: Vec<String> = marks.collect();
            if !marks.is_empty() {
                let (class, name) = fate.words(analyzer);
                paths.push((class, marks.concat()));
                words.push(format!("{} {name}", marks.len()));
            }
        }
        let words = if words.is_empty() {
            "No epoch has begun".to_owned()
        } else {
            let first = end - fates.len() as u64;
            format!("Epochs {first} to {}: {}", end - 1, words.join(", "))
        };
        Self { width: STEP * SHOWN, paths, words }
    }
}

/// The numbers of slots of each sort.
pub struct Counts {
    /// All slots.
    pub all: usize,
    /// The slots that were released or handed over.
    pub done: usize,
    /// The slots of more than one epoch.
    pub merged: usize,
    pub waiting: usize,
    pub dropped: usize,
    /// The reasons why slots were dropped, in words, each with its number of slots.
    pub reasons: Vec<String>,
}

impl Counts {
    fn of<'a>(slots: &(impl Iterator<Item = &'a Slot> + Clone)) -> Self {
        let count = |fate| slots.clone().filter(|slot| Fate::of(slot) == fate).count();
        let reason = |(of, words): (Why, &str)| {
            let is = |slot: &&Slot| matches!(slot.stage, Stage::Dropped { why, .. } if why == of);
            let count = slots.clone().filter(is).count();
            (count > 0).then(|| format!("{count}: {words}"))
        };
        let reasons = [
            (Why::Short, "too few reports"),
            (Why::Budget, "the budget is spent"),
            (Why::Keys, "the keys were gone"),
        ];
        Self {
            all: slots.clone().count(),
            done: count(Fate::Done) + count(Fate::Merged),
            merged: count(Fate::Merged),
            waiting: count(Fate::Waiting),
            dropped: count(Fate::Dropped),
            reasons: reasons.into_iter().filter_map(reason).collect(),
        }
    }
}

impl Place {
    /// The strip of the last epochs up to now.
    pub fn strip(&self) -> Strip {
        let Self { route, slots, now, .. } = self;
        let end = route.schedule.epoch_at(*now).map_or(0, |epoch| (epoch + 1).min(route.epochs));
        let fate = |epoch: u64| {
            let slot = slots.iter().find(|slot| (slot.first..=slot.last).contains(&epoch));
            match slot {
                Some(slot) => (Fate::of(slot), epoch < slot.last),
                None if *now < route.schedule.deadline(epoch) => (Fate::Running, false),
                None => (Fate::Missing, false),
            }
        };
        let fates: Vec<_> = (end.saturating_sub(SHOWN)..end).map(fate).collect();
        Strip::of(&fates, end, self.is_last())
    }

    /// The counts of its slots.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.slots.iter())
    }
}

impl Site {
    /// The counts of all slots.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.places.iter().flat_map(|place| &place.slots))
    }
}

/// The distance from one mark to the next.
const STEP: u64 = 10;

/// The most epochs that are shown.
const SHOWN: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(first: u64, last: u64, stage: Stage) -> Slot {
        Slot::new(first, last, None, stage)
    }

    #[test]
    fn every_slot_is_counted_once_and_drops_with_their_reason() {
        let dropped = |why| Stage::Dropped { why, reports: 3 };
        let slots = [
            slot(0, 0, Stage::Released),
            slot(1, 2, Stage::Released),
            slot(3, 3, dropped(Why::Short)),
            slot(4, 4, dropped(Why::Short)),
            slot(5, 5, dropped(Why::Budget)),
            slot(6, 6, Stage::Closing),
        ];
        let counts = Counts::of(&slots.iter());
        assert_eq!((counts.all, counts.done, counts.merged), (6, 2, 1));
        assert_eq!((counts.waiting, counts.dropped), (1, 3));
        assert_eq!(counts.reasons, ["2: too few reports", "1: the budget is spent"]);
    }

    #[test]
    fn a_strip_says_in_words_what_it_draws() {
        let fates =
            [Fate::Done, Fate::Done, Fate::Dropped, Fate::Running].map(|fate| (fate, false));
        let strip = Strip::of(&fates, 7, true);
        assert_eq!(strip.words, "Epochs 3 to 6: 2 released, 1 dropped, 1 takes reports");
        assert_eq!(strip.paths[0], ("done", "M0 0h8v20h-8zM10 0h8v20h-8z".to_owned()));
        assert_eq!(Strip::of(&[], 0, true).words, "No epoch has begun");
    }
}
