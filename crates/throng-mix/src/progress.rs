//! The progress of the running epoch, as far as it may be told before the epoch is over.
//!
//! The first mix counts, in memory, the reports that it acknowledged since it started, as they
//! come: replays are found and layers opened later. If there are fewer than a crowd, it tells only
//! that; if there are more, it tells the crowd and whole tenths of it.
//!
//! Somebody may ask again and again and know of all reports but one, because the others are their
//! own. They learn that the one came, once it completes the crowd or a tenth. Neighbours are those
//! who replace a report by another, so that taking part is not hidden: a release states the exact
//! number of reports, and accepted requests show in steps of a thousand already (in the metrics of
//! the server). Neither says *when* in an epoch somebody came, so that the count is told as it
//! stood when the present twentieth of the epoch began, whenever somebody asks. The answers are no
//! part of it: every report looks alike to this mix.

use crate::lock;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use throng_wire::Schedule;

/// A mix's word on an epoch that takes reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The epoch.
    pub epoch: u64,
    /// The number of distinct valid reports that have to come.
    pub crowd: u64,
    /// A lower bound on the reports that have come, replays among them; `None` if they are fewer
    /// than a crowd.
    pub at_least: Option<u64>,
}

impl Progress {
    /// The JSON object in the status of a mix.
    pub fn to_json(self) -> Value {
        let Self { epoch, crowd, at_least } = self;
        json!({
            "epoch": epoch,
            "crowd": crowd,
            "reached": at_least.is_some(),
            "at_least": at_least,
        })
    }

    /// Reads the progress that another party told, if it makes sense.
    pub fn parse(said: &Value) -> Option<Self> {
        let (epoch, crowd) = (said["epoch"].as_u64()?, said["crowd"].as_u64()?);
        let at_least = if said["reached"].as_bool()? {
            Some(said["at_least"].as_u64().filter(|count| *count >= crowd)?)
        } else {
            None
        };
        Some(Self { epoch, crowd, at_least })
    }
}

/// Reports of open epochs that were acknowledged since the start.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged(Mutex<BTreeMap<u64, Ticking>>);

impl Acknowledged {
    /// Counts more reports for an epoch.
    pub fn add(&self, epoch: u64, reports: u64, schedule: &Schedule, now: u64) {
        lock(&self.0).entry(epoch).or_default().add(reports, part(epoch, schedule, now));
    }

    /// Forgets the epochs up to this one, which take no more reports.
    pub fn forget(&self, last: u64) {
        lock(&self.0).retain(|epoch, _| *epoch > last);
    }

    /// The progress that may be told now of an epoch that is open.
    pub fn tell(&self, epoch: u64, crowd: u64, schedule: &Schedule, now: u64) -> Progress {
        let count = lock(&self.0).get(&epoch).copied().unwrap_or_default();
        let reports = count.at(part(epoch, schedule, now));
        let tenth = crowd.div_ceil(10).max(1);
        let more = reports.checked_sub(crowd).map(|more| more - more % tenth);
        Progress { epoch, crowd, at_least: more.map(|more| crowd + more) }
    }
}

/// A count that is told as it stood when the present tick began.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ticking {
    count: u64,
    tick: u64,
    /// The count when the tick began.
    before: u64,
}

impl Ticking {
    /// Adds to the count. A clock that was set back does not begin another tick.
    pub fn add(&mut self, more: u64, tick: u64) {
        if tick > self.tick {
            (self.tick, self.before) = (tick, self.count);
        }
        self.count = self.count.saturating_add(more);
    }

    /// The count that may be told during a tick.
    pub fn at(self, tick: u64) -> u64 {
        if tick > self.tick { self.count } else { self.before }
    }
}

/// The number, from 1, of the part of its epoch that a time is in.
fn part(epoch: u64, schedule: &Schedule, now: u64) -> u64 {
    now.saturating_sub(schedule.start_of(epoch)) / (schedule.every / PARTS).max(1) + 1
}

/// The number of parts of an epoch.
const PARTS: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::Below;

    const SCHEDULE: Schedule =
        Schedule { start: 1_000, every: 200, grace: 10, below: Below::Expire };

    fn told(counts: &Acknowledged, now: u64) -> Option<u64> {
        counts.tell(0, 25, &SCHEDULE, now).at_least
    }

    #[test]
    fn nothing_is_told_below_a_crowd_and_whole_tenths_above() {
        for (reports, expected) in [
            (0, None),
            (24, None),
            (25, Some(25)),
            (27, Some(25)),
            (28, Some(28)),
            (u64::MAX, Some(25 + (u64::MAX - 25) / 3 * 3)),
        ] {
            let counts = Acknowledged::default();
            counts.add(0, reports, &SCHEDULE, 1_000);
            assert_eq!(told(&counts, 1_010), expected);
            assert_eq!(counts.tell(1, 25, &SCHEDULE, 1_200).at_least, None, "another epoch");
        }
    }

    #[test]
    fn what_came_in_this_twentieth_is_not_told_whoever_asks_when() {
        let counts = Acknowledged::default();
        let add = |more, now| counts.add(0, more, &SCHEDULE, now);
        add(24, 1_000);
        add(1, 1_003);
        assert_eq!(told(&counts, 1_009), None, "the same twentieth of the epoch");
        assert_eq!(told(&counts, 1_010), Some(25));
        add(30, 1_012);
        assert_eq!(told(&counts, 1_000), Some(25), "the clock was set back");
        assert_eq!(told(&counts, 1_019), Some(25));
        assert_eq!(told(&counts, 1_020), Some(55));
        counts.forget(0);
        assert_eq!(told(&counts, 1_030), None);
    }

    #[test]
    fn what_is_told_reads_back_and_nonsense_does_not() {
        for at_least in [None, Some(25), Some(40)] {
            let progress = Progress { epoch: 3, crowd: 25, at_least };
            assert_eq!(Progress::parse(&progress.to_json()), Some(progress));
        }
        for said in [
            json!(null),
            json!({ "epoch": 3, "crowd": 25 }),
            json!({ "epoch": 3, "crowd": 25, "reached": true, "at_least": 24 }),
            json!({ "epoch": 3, "crowd": 25, "reached": true, "at_least": null }),
            json!({ "epoch": -1, "crowd": 25, "reached": false }),
        ] {
            assert_eq!(Progress::parse(&said), None);
        }
    }
}
