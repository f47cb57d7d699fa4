//! The fate of batches, the other parties and the losses, for the operators of an analyzer.
//!
//! Nothing here is about one report, or about fewer than a crowd: losses are told as published
//! releases tell them, and slots are counted as whole batches.

use super::site::{Machine, Outcome, Place, Site};
use super::strip::Fate;
use super::time::{Epochs, Span};
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use std::array::from_fn;
use std::cmp::Reverse;
use std::sync::Arc;
use throng_collection::Release;
use throng_mix::{Slot, Stage};

/// Renders the page.
pub(crate) fn operations(site: &Site, machine: &Machine, frame: Frame) -> Result<String, Error> {
    let mut places: Vec<&Place> = site.places.iter().collect();
    // What waits or is late comes first.
    places.sort_by_cached_key(|&place| (Reverse(place.behind()), &place.route.title));
    let refused = listed(&machine.refused, |reason| reason);
    let failures = listed(&machine.failures, task);
    shown(&Page { frame, site, machine, refused, failures, places })
}

/// The sum of counts, and each of them by name on one line.
fn listed(counts: &[(&'static str, u64)], word: fn(&'static str) -> &'static str) -> (u64, String) {
    let each = counts.iter().map(|(name, count)| format!("{count} {}", word(name)));
    (counts.iter().map(|(_, count)| count).sum(), each.collect::<Vec<_>>().join(", "))
}

/// The purpose of a task in words.
fn task(name: &'static str) -> &'static str {
    match name {
        "keys" => "asking for keys",
        "hand over" => "handing over",
        "work" => "counting and tidying",
        "notices" => "asking for signatures",
        other => other,
    }
}

impl Place {
    /// The epochs of the newest release or notice, and the time since they closed.
    fn newest(&self) -> Option<(Epochs, Span)> {
        let (first, last) = match &self.outcome {
            Outcome::Released(asked) => {
                let newest = asked.releases.iter().max_by_key(|release| release.last)?;
                (newest.first, newest.last)
            }
            Outcome::Posted(rounds) => (rounds.newest?, rounds.newest?),
            Outcome::HandedOver => return None,
        };
        let closed = self.route.schedule.deadline(last);
        Some((Epochs(first, last), Span(self.now.saturating_sub(closed))))
    }

    /// The number of epochs after the last that was decided whose deadline is over.
    fn behind(&self) -> u64 {
        let decided = |slot: &&Slot| !matches!(slot.stage, Stage::Received(_));
        let next = self.slots.iter().rev().find(decided).map_or(0, |slot| slot.last + 1);
        let over = |epoch: &u64| self.now >= self.route.schedule.deadline(*epoch);
        (next..self.route.epochs).take_while(over).count() as u64
    }

    /// The messages that each party left out, in all releases and in the newest. A board tells what
    /// it shows and not what was left out.
    fn left(&self) -> Option<Vec<Losses<'_>>> {
        let releases = match &self.outcome {
            Outcome::Released(asked) => &asked.releases[..],
            Outcome::HandedOver => &[],
            Outcome::Posted(_) => return None,
        };
        let parties = self.route.chain.parties().enumerate().filter(|_| !releases.is_empty());
        let losses = parties.map(|(place, (hop, party))| {
            let analyzer = hop == self.route.chain.hops();
            let left = |release: &Arc<Release>| {
                let loss = release.losses.get(place)?;
                let nonsense = if analyzer { release.nonsense } else { 0 };
                Some([loss.replayed, loss.malformed, nonsense])
            };
            let add = |a: [u64; 3], b: [u64; 3]| from_fn(|sort| a[sort].saturating_add(b[sort]));
            let all = releases.iter().filter_map(left).fold([0; 3], add);
            let newest = releases.last().and_then(left).unwrap_or_default();
            Losses { party: &party.name, analyzer, sums: [all, newest] }
        });
        Some(losses.collect())
    }
}

struct Losses<'a> {
    party: &'a str,
    /// True for the analyzer, which alone can tell what makes no sense.
    analyzer: bool,
    /// The messages that were repeated, malformed and nonsense, in all releases and in the newest.
    sums: [[u64; 3]; 2],
}

#[derive(Template)]
#[template(path = "operations.html")]
struct Page<'a> {
    frame: Frame,
    site: &'a Site,
    machine: &'a Machine,
    /// The number of batches that were refused, and their reasons.
    refused: (u64, String),
    /// The number of attempts that failed, and their tasks.
    failures: (u64, String),
    places: Vec<&'a Place>,
}
