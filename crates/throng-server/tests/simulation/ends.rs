//! What must hold once all is over: properties (a), (e), (j) and (l).

use super::clients::Report;
use super::{Event, Kind, World};
use crate::common::Member;
use std::collections::BTreeMap;
use throng_mix::{Fate, Fates, Slot, Stage, Why, Word};

impl World {
    /// What the last party knows of each epoch.
    pub fn fates(&self) -> Vec<Fate> {
        self.fates_at(self.network.nodes.last().unwrap()).into_values().collect()
    }

    /// Checks (a), (e), (j), and (l): that everything is decided, and nothing is left over.
    pub(super) fn check_end(&mut self) {
        for party in (0..self.network.nodes.len()).filter(|party| self.honest(*party)) {
            let (hop, role) = (party + 1, self.network.nodes[party].role());
            let slots = role.slots();
            assert!(slots.iter().all(|slot| slot.shredded), "hop {hop} is not done: {slots:?}");
            let secrets = self.look(party, |store| store.secrets.names().unwrap());
            assert_eq!(secrets, Some(Vec::new()), "hop {hop} keeps keys");
            let blobs = self.look(party, |store| store.blobs.names().unwrap()).unwrap();
            let kept = |name: &&String| !name.contains(".head") && !name.contains(".bag-");
            assert_eq!(blobs.iter().filter(kept).count(), 0, "hop {hop} keeps {blobs:?}");
            for epoch in 0..self.network.route.epochs {
                assert!(!self.has_reports(party, epoch), "hop {hop} keeps reports of {epoch}");
            }
        }
        self.check_fates();
        if !self.byzantine {
            for report in self.reports.iter().filter(|report| report.acknowledged) {
                if matches!(report.kind, Kind::Valid) {
                    self.check_fate(report);
                }
            }
        }
        self.check_bulletins();
        self.count_events();
    }

    /// Checks (j). What an adversary told, or did not tell, the rest can only repeat.
    fn check_fates(&self) {
        let honest = |node: &&Member| self.honest(usize::from(node.hop) - 1);
        let honest: Vec<&Member> = self.network.nodes.iter().filter(honest).collect();
        let parties: Vec<_> = honest.iter().map(|node| self.fates_at(node)).collect();
        for epoch in 0..self.network.route.epochs {
            let all: Vec<Fate> = parties.iter().map(|fates| fates[&epoch]).collect();
            assert!(all.iter().all(|fate| fate.is_final()), "epoch {epoch} is undecided: {all:?}");
            match *all.last().unwrap() {
                Fate::Lost | Fate::Dropped(Why::Short) if self.byzantine => {}
                Fate::Lost => {
                    let late = honest.iter().flat_map(|node| node.role().slots());
                    let mut late = late.filter(|slot| (slot.first..=slot.last).contains(&epoch));
                    let gave_up = |slot: &Slot| {
                        let keys = matches!(slot.stage, Stage::Dropped { why: Why::Keys, .. });
                        keys || slot.word == Some(Word::Late) || slot.to_tell()
                    };
                    assert!(late.any(|slot| gave_up(&slot)), "epoch {epoch} is lost: {all:?}");
                }
                // Whoever found it short, there was no crowd of reports that everybody can open.
                Fate::Dropped(Why::Short) => {
                    let slots = self.network.nodes.last().unwrap().role().slots();
                    let mut slots = slots.iter().map(|slot| slot.first..=slot.last);
                    let slot = slots.find(|slot| slot.contains(&epoch)).unwrap();
                    let inside = |r: &&Report| {
                        r.acknowledged && matches!(r.kind, Kind::Valid) && slot.contains(&r.epoch)
                    };
                    let valid = self.reports.iter().filter(inside).count() as u64;
                    assert!(valid < self.network.route.quorum, "{valid} are not short");
                }
                Fate::Released | Fate::Merged { .. } | Fate::Dropped(Why::Budget) => {}
                other => panic!("epoch {epoch} at the analyzer: {other:?}"),
            }
        }
    }

    fn fates_at(&self, node: &Member) -> BTreeMap<u64, Fate> {
        let (role, route) = (node.role(), &self.network.route);
        let destroyed = role.keyring().destroyed();
        let fates = Fates::of(route, &role.slots(), &destroyed, self.network.now);
        let each = fates.iter().flat_map(|fates| {
            let fate = fates.fate;
            (fates.first..=fates.last).map(move |epoch| (epoch, fate))
        });
        each.collect()
    }

    /// Follows a report down the chain to where it ended.
    fn check_fate(&self, report: &Report) {
        let Report { epoch, id, .. } = *report;
        let counted = self.counted.get(&id).copied().unwrap_or(0);
        for node in &self.network.nodes {
            let hop = node.hop;
            let slots = node.role().slots();
            let slot = slots.iter().find(|slot| (slot.first..=slot.last).contains(&epoch));
            let slot = slot.unwrap_or_else(|| panic!("report {id} vanished before hop {hop}"));
            match &slot.stage {
                Stage::Delivered { .. } => {}
                Stage::Released => {
                    assert_eq!(counted, 1, "report {id} is not in its release");
                    assert_eq!(self.releases[&slot.first].last, slot.last);
                    return;
                }
                Stage::Dropped { why, reports, .. } => {
                    self.check_dropped(hop, slot, *why, *reports);
                    // The next party may have it although nobody heard.
                    assert!(counted == 0 || *why == Why::Keys, "report {id} was dropped");
                    return;
                }
                stage => panic!("report {id} is stuck at hop {hop}: {stage:?}"),
            }
        }
        panic!("report {id} has no end");
    }

    /// Checks that a slot was dropped for a good reason.
    fn check_dropped(&self, hop: u8, slot: &Slot, why: Why, reports: u64) {
        let (hops, quorum) = (self.network.route.chain.hops(), self.network.route.quorum);
        let counts = |kind: Kind| match kind {
            Kind::Valid => true,
            Kind::Nonsense => hop < hops,
            Kind::Hollow => hop == 1,
            Kind::Noise | Kind::Altered => false,
        };
        let inside = |r: &&Report| (slot.first..=slot.last).contains(&r.epoch) && counts(r.kind);
        let acknowledged = self.reports.iter().filter(inside).filter(|r| r.acknowledged).count();
        match why {
            Why::Short => {
                assert!((acknowledged as u64) < quorum, "{acknowledged} are not short");
                assert!((acknowledged as u64) <= reports, "{reports} of {acknowledged}");
            }
            Why::Budget => {
                assert!(self.network.collection.terms.promise.lifetime.0.get() < 100.0);
                assert_eq!(hop, hops);
            }
            // Given up, as nobody took it in time. What was received is never without keys.
            Why::Keys => assert!(hop < hops && reports >= quorum, "hop {hop} lost its keys"),
        }
    }

    fn count_events(&mut self) {
        let fates = self.fates();
        self.met.count(Event::Epoch, fates.len() as u64);
        let short = fates.iter().filter(|fate| **fate == Fate::Dropped(Why::Short)).count();
        self.met.count(Event::ShortEpoch, short as u64);
        for (first, release) in &self.releases {
            self.met.count(Event::Release, 1);
            self.met.count(Event::Merged, (*first != release.last).into());
        }
        for slot in self.network.nodes.iter().flat_map(|node| node.role().slots()) {
            if let Stage::Dropped { why, .. } = slot.stage {
                self.met.count(Event::OverBudget, (why == Why::Budget).into());
                self.met.count(Event::GivenUp, (why == Why::Keys).into());
            }
        }
    }
}
