//! What became of every epoch that has begun, as far as one party knows.
//!
//! A slot says what was decided; epochs without one take reports, or are on their way, or will
//! never come. Nothing in here is a number of reports.

use crate::{Destroyed, Slot, Stage, Why};
use throng_wire::Route;

/// The fate of an epoch at one party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It takes reports.
    Open,
    /// It takes no more reports, and nothing is decided here yet.
    Waiting,
    /// Its crowd left this mix for the next party.
    HandedOver,
    /// The analyzer has published it.
    Released,
    /// Its reports went on together with those of later epochs.
    Merged {
        /// The last of the epochs that went together.
        into: u64,
    },
    /// It is dropped.
    Dropped(Why),
    /// Nothing came before the keys that would have opened it were destroyed.
    Lost,
}

/// Epochs that follow each other and share a fate.
///
/// ```
/// use throng_mix::{Destroyed, Fate, Fates, Slot, Stage, Why};
/// use throng_wire::{Below, Route, Schedule, example};
///
/// // Epochs of 100 seconds from 1000 on, 10 seconds of grace.
/// let schedule = Schedule { start: 1_000, every: 100, grace: 10, below: Below::Expire };
/// let route = Route { schedule, epochs: 4, ..example::route() };
/// let short = Stage::Dropped { why: Why::Short, reports: 0 };
/// let slots = [Slot::new(0, 0, None, Stage::Released), Slot::new(1, 1, None, short)];
/// let all: Vec<_> = Fates::of(&route, &slots, &Destroyed::default(), 1_350)
///     .into_iter()
///     .map(|fates| (fates.first, fates.last, fates.fate.name()))
///     .collect();
/// assert_eq!(
///     all,
///     [(0, 0, "released"), (1, 1, "short"), (2, 2, "waiting"), (3, 3, "open")]
/// );
/// assert_eq!(Fate::Dropped(Why::Short).words(), "too few reports");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fates {
    /// The first epoch.
    pub first: u64,
    /// The last epoch.
    pub last: u64,
    /// Their fate.
    pub fate: Fate,
}

impl Fate {
    /// A stable word for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::HandedOver => "delivered",
            Self::Released => "released",
            Self::Merged { .. } => "merged",
            Self::Dropped(why) => why.name(),
            Self::Lost => "lost",
        }
    }

    /// The fate for people.
    pub fn words(self) -> String {
        match self {
            Self::Open => "still open".into(),
            Self::Waiting => "waiting for the mixes".into(),
            Self::HandedOver => "handed over".into(),
            Self::Released => "released".into(),
            Self::Merged { into } => format!("merged into {into}"),
            Self::Dropped(Why::Short) => "too few reports".into(),
            Self::Dropped(Why::Budget) => "not released: the budget is spent".into(),
            Self::Dropped(Why::Keys) => "not taken by the next party in time".into(),
            Self::Lost => "nothing arrived in time".into(),
        }
    }

    /// True if nothing more is waited for. Of a lost epoch a late word may still tell why.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Open | Self::Waiting)
    }
}

impl Fates {
    /// The fates of all epochs that have begun by `now`, oldest first, from the slots of a party in
    /// their order, and the windows whose keys are destroyed.
    pub fn of(route: &Route, slots: &[Slot], destroyed: &Destroyed, now: u64) -> Vec<Self> {
        let schedule = &route.schedule;
        let end = schedule.epoch_at(now).map_or(0, |epoch| epoch.saturating_add(1));
        let end = end.min(route.epochs);
        let (mut all, mut next) = (Vec::new(), 0);
        let unknown = |epoch: u64| {
            if now < schedule.deadline(epoch) {
                Fate::Open
            } else if destroyed.contains(schedule.window_of(epoch)) {
                Fate::Lost
            } else {
                Fate::Waiting
            }
        };
        for slot in slots {
            let Slot { first, last, .. } = *slot;
            (next..first).for_each(|epoch| push(&mut all, epoch, epoch, unknown(epoch)));
            let fate = match &slot.stage {
                Stage::Closing | Stage::Held { .. } | Stage::Received(_) | Stage::Sealed(_) => {
                    Fate::Waiting
                }
                Stage::Delivered { .. } => Fate::HandedOver,
                Stage::Released => Fate::Released,
                Stage::Dropped { why, .. } => Fate::Dropped(*why),
            };
            let together = matches!(fate, Fate::HandedOver | Fate::Released) && first < last;
            if together {
                push(&mut all, first, last - 1, Fate::Merged { into: last });
            }
            push(&mut all, if together { last } else { first }, last, fate);
            next = last + 1;
        }
        (next..end).for_each(|epoch| push(&mut all, epoch, epoch, unknown(epoch)));
        all
    }
}

/// Adds epochs, together with those before them if their fate is the same.
fn push(all: &mut Vec<Fates>, first: u64, last: u64, fate: Fate) {
    match all.last_mut() {
        Some(before) if before.fate == fate && before.last + 1 == first => before.last = last,
        _ => all.push(Fates { first, last, fate }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::{Below, Schedule, example};

    fn told(slots: &[Slot], live: u64, now: u64) -> Vec<(u64, u64, &'static str)> {
        let below = Below::Merge { window: 3 };
        let schedule = Schedule { start: 1_000, every: 100, grace: 10, below };
        let route = Route { schedule, epochs: 9, ..example::route() };
        let destroyed = Destroyed::parse(&live.to_string()).unwrap();
        let fates = Fates::of(&route, slots, &destroyed, now);
        // Every epoch that has begun is in it, once.
        let all: Vec<u64> = fates.iter().flat_map(|fates| fates.first..=fates.last).collect();
        let end = if now < 1_000 { 0 } else { ((now - 1_000) / 100 + 1).min(9) };
        assert_eq!(all, (0..end).collect::<Vec<_>>());
        fates.iter().map(|fates| (fates.first, fates.last, fates.fate.name())).collect()
    }

    #[test]
    fn every_epoch_that_has_begun_has_one_fate() {
        assert_eq!(told(&[], 0, 999), []);
        assert_eq!(told(&[], 0, 1_000), [(0, 0, "open")]);
        // In its grace an epoch is open beside the next one.
        assert_eq!(told(&[], 0, 1_109), [(0, 1, "open")]);
        assert_eq!(told(&[], 0, 1_110), [(0, 0, "waiting"), (1, 1, "open")]);
        let dropped = |why| Stage::Dropped { why, reports: 0 };
        let slots = [
            Slot::new(1, 1, None, dropped(Why::Short)),
            Slot::new(2, 2, None, dropped(Why::Short)),
            Slot::new(3, 5, None, Stage::Released),
            Slot::new(7, 7, None, dropped(Why::Budget)),
        ];
        let expected = [
            (0, 0, "lost"),
            (1, 2, "short"),
            (3, 4, "merged"),
            (5, 5, "released"),
            (6, 6, "waiting"),
            (7, 7, "budget"),
            (8, 8, "open"),
        ];
        assert_eq!(told(&slots, 3, 1_850), expected);
        assert_eq!(told(&slots, 9, 9_999)[4], (6, 6, "lost"));
    }

    #[test]
    fn fates_are_said_in_words() {
        let fates = [Fate::Merged { into: 5 }, Fate::Dropped(Why::Short), Fate::Open];
        let words = fates.map(Fate::words);
        assert_eq!(words, ["merged into 5", "too few reports", "still open"]);
    }
}
