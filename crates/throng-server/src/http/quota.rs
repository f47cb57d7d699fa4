//! The most reports that one network may have accepted for an epoch.
//!
//! It bounds the cheap attack, one machine that is a hundred thousand clients. Whoever has machines
//! in many networks has as many quotas.
//!
//! A count is kept under the mark of its network, without a time, and is forgotten with the epoch.

use super::source::Source;
use crate::Error;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use throng_mix::lock;
use throng_wire::{CollectionId, Route};

/// The counts of all open epochs.
pub struct Quota {
    /// The number that the operator set, for everybody.
    set: Option<u64>,
    epochs: Mutex<BTreeMap<(CollectionId, u64), Counts>>,
}

/// The counts of one epoch, by network.
struct Counts {
    /// The deadline of the epoch.
    until: u64,
    reports: HashMap<Source, u64>,
}

impl Quota {
    /// Nobody has sent anything.
    pub fn new(set: Option<u64>) -> Self {
        Self { set, epochs: Mutex::default() }
    }

    /// Counts reports that are about to be taken, or refuses them.
    pub fn charge(
        &self,
        source: Source,
        (route, epoch): (&Route, u64),
        reports: u64,
        now: u64,
    ) -> Result<(), Error> {
        let Some(most) = self.most(source, route) else { return Ok(()) };
        let mut epochs = lock(&self.epochs);
        epochs.retain(|_, counts| counts.until > now);
        let until = route.schedule.deadline(epoch);
        let empty = || Counts { until, reports: HashMap::new() };
        let counts = &mut epochs.entry((route.id, epoch)).or_insert_with(empty).reports;
        let sent = counts.get(&source).copied();
        let total = sent.unwrap_or(0).saturating_add(reports);
        if total > most {
            return Err(Error::Source);
        }
        if sent.is_none() && counts.len() >= NETWORKS {
            // Those far from their share are forgotten first.
            counts.retain(|_, sent| *sent > most / FAR);
        }
        if sent.is_some() || counts.len() < NETWORKS {
            counts.insert(source, total);
        }
        Ok(())
    }

    /// Takes back a charge for reports that were not taken after all.
    pub fn refund(&self, source: Source, (route, epoch): (&Route, u64), reports: u64) {
        let mut epochs = lock(&self.epochs);
        let Some(counts) = epochs.get_mut(&(route.id, epoch)) else { return };
        if let Some(sent) = counts.reports.get_mut(&source) {
            *sent = sent.saturating_sub(reports);
            if *sent == 0 {
                counts.reports.remove(&source);
            }
        }
    }

    /// Forgets the epochs that are over.
    pub fn forget(&self, now: u64) {
        lock(&self.epochs).retain(|_, counts| counts.until > now);
    }

    /// The most reports of a source. By default no network is more than a tenth of the least crowd,
    /// but a large household or an office is never turned away.
    fn most(&self, source: Source, route: &Route) -> Option<u64> {
        self.set.or_else(|| (!source.near).then(|| (route.quorum / CROWD).max(LEAST)))
    }
}

/// The part of a crowd that may be of one network.
const CROWD: u64 = 10;

/// The number of reports that any network may send, however small the crowd is.
const LEAST: u64 = 1_000;

/// The part of its share below which a network is forgotten when there are too many.
const FAR: u64 = 10;

/// The most networks that are counted in one epoch.
const NETWORKS: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::*;
    use throng_wire::example;

    fn charged(quota: &Quota, from: Source, epoch: u64, reports: u64) -> bool {
        let route = Route { quorum: 50_000, ..example::route() };
        let now = route.schedule.start_of(epoch);
        quota.charge(from, (&route, epoch), reports, now).is_ok()
    }

    #[test]
    fn a_network_has_a_tenth_of_the_crowd_in_every_epoch() {
        let quota = Quota::new(None);
        assert!(charged(&quota, source(1), 0, 4_999));
        assert!(!charged(&quota, source(1), 0, 2));
        assert!(charged(&quota, source(1), 0, 1) && !charged(&quota, source(1), 0, 1));
        assert!(charged(&quota, source(2), 0, 5_000) && charged(&quota, source(1), 1, 5_000));
    }

    #[test]
    fn small_crowds_leave_room_for_an_office() {
        let route = Route { quorum: 250, ..example::route() };
        assert_eq!(Quota::new(None).most(source(1), &route), Some(1_000));
    }

    #[test]
    fn neighbours_are_counted_only_if_a_number_is_set() {
        let mut near = source(1);
        near.near = true;
        assert!(charged(&Quota::new(None), near, 0, 1 << 40));
        assert!(!charged(&Quota::new(Some(3)), near, 0, 4));
        assert!(charged(&Quota::new(Some(3)), near, 0, 3));
    }

    #[test]
    fn what_was_not_taken_is_not_counted() {
        let (quota, route) = (Quota::new(Some(3)), example::route());
        let now = route.schedule.start_of(0);
        assert!(quota.charge(source(1), (&route, 0), 3, now).is_ok());
        quota.refund(source(1), (&route, 0), 2);
        assert!(quota.charge(source(1), (&route, 0), 3, now).is_err());
        assert!(quota.charge(source(1), (&route, 0), 2, now).is_ok());
    }

    #[test]
    fn a_great_many_networks_do_not_end_the_count_of_others() {
        let quota = Quota::new(Some(100));
        assert!(charged(&quota, source(0), 0, 90));
        for network in 1..=NETWORKS as u64 {
            assert!(charged(&quota, source(network), 0, 1));
        }
        assert!(!charged(&quota, source(0), 0, 11), "who has sent much is remembered");
        let newcomer = source(NETWORKS as u64 + 1);
        assert!(charged(&quota, newcomer, 0, 90) && !charged(&quota, newcomer, 0, 11));
        // What was refused leaves no trace.
        let route = Route { quorum: 50_000, ..example::route() };
        quota.refund(newcomer, (&route, 0), 90);
        assert!(!lock(&quota.epochs)[&(route.id, 0)].reports.contains_key(&newcomer));
    }

    #[test]
    fn counts_are_forgotten_with_their_epoch() {
        let (quota, route) = (Quota::new(Some(3)), example::route());
        let deadline = route.schedule.deadline(0);
        assert!(quota.charge(source(1), (&route, 0), 3, deadline - 1).is_ok());
        quota.forget(deadline - 1);
        assert_eq!(lock(&quota.epochs).len(), 1);
        quota.forget(deadline);
        assert!(lock(&quota.epochs).is_empty());
    }
}
