//! The fate of batches, the other parties and the losses, for the operators of an analyzer.
//!
//! Nothing here is about one report, or about fewer than a crowd: losses are told as published
//! releases tell them, and slots are counted as whole batches.

use super::health::{Peer, State, Window, alarms, disk, listed, peers, windows};
use super::site::{Machine, Outcome, Place, Site};
use super::strip::{Counts, Strip, legend};
use super::time::{Epochs, Span};
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use std::sync::Arc;
use throng_collection::Release;
use throng_mix::{Slot, Stage};

/// Renders the page.
pub(crate) fn operations(site: &Site, machine: &Machine, frame: Frame) -> Result<String, Error> {
    let mut rows: Vec<Row> = site.places.iter().map(|place| row(site.now, place)).collect();
    // What waits or is late comes first.
    rows.sort_by(|a, b| (b.behind, &a.question).cmp(&(a.behind, &b.question)));
    let (failures, failed) = listed(&machine.failures, task);
    let (refused, refusals) = listed(&machine.refused, |reason| reason);
    shown(&Page {
        frame,
        waiting: rows.iter().map(|row| row.counts.waiting).sum(),
        released: rows.iter().map(|row| row.counts.done).sum(),
        alarms: alarms(machine),
        disk: disk(machine),
        failures,
        failed,
        refused,
        refusals,
        peers: peers(site),
        legend: legend(true),
        rows,
    })
}

fn row(now: u64, place: &Place) -> Row {
    let (route, slots) = (&place.route, &place.slots);
    let (releases, newest) = match &place.outcome {
        Outcome::Released(asked) => {
            let newest = asked.releases.iter().max_by_key(|release| release.last);
            (&asked.releases[..], newest.map(|release| (release.first, release.last)))
        }
        Outcome::Posted(rounds) => (&[][..], rounds.newest.map(|round| (round, round))),
        Outcome::HandedOver => (&[][..], None),
    };
    Row {
        id: route.id.to_string(),
        question: route.title.clone(),
        strip: Strip::new(place, now),
        counts: Counts::of(slots),
        newest: newest.map(|(first, last)| {
            let closed = route.schedule.deadline(last);
            (Epochs(first, last), Span(now.saturating_sub(closed)))
        }),
        behind: behind(place, now),
        idle: Span(now.saturating_sub(place.stepped)),
        board: matches!(place.outcome, Outcome::Posted(_)),
        left: left(place, releases),
        windows: windows(place),
        destroyed: place.live,
    }
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

/// The number of epochs after the last that was decided whose deadline is over.
fn behind(place: &Place, now: u64) -> u64 {
    let (route, slots) = (&place.route, &place.slots);
    let decided = |slot: &&Slot| !matches!(slot.stage, Stage::Received(_));
    let next = slots.iter().rev().find(decided).map_or(0, |slot| slot.last + 1);
    let epochs = next..route.epochs;
    epochs.take_while(|epoch| now >= route.schedule.deadline(*epoch)).count() as u64
}

/// The messages that each party left out, in all releases and in the newest.
fn left(place: &Place, releases: &[Arc<Release>]) -> Vec<Losses> {
    let route = &place.route;
    let of = |(place, (hop, party)): (usize, (u8, &throng_wire::Party))| {
        let analyzer = hop == route.chain.hops();
        let left = |release: &Arc<Release>| LossCounts::of(release, place, analyzer);
        let all = releases.iter().filter_map(left).fold(LossCounts::default(), LossCounts::and);
        let newest = releases.last().and_then(left).unwrap_or_default();
        Losses { party: party.name.clone(), analyzer, all, newest }
    };
    let parties = route.chain.parties().enumerate();
    if releases.is_empty() { Vec::new() } else { parties.map(of).collect() }
}

struct Row {
    id: String,
    question: String,
    strip: Strip,
    counts: Counts,
    newest: Option<(Epochs, Span)>,
    behind: u64,
    idle: Span,
    /// True for a board, which tells what it shows and not what was left out.
    board: bool,
    left: Vec<Losses>,
    windows: Vec<Window>,
    destroyed: u64,
}

struct Losses {
    party: String,
    /// True for the analyzer, which alone can tell what makes no sense.
    analyzer: bool,
    all: LossCounts,
    newest: LossCounts,
}

impl Losses {
    /// The losses of all releases, and of the newest.
    fn sums(&self) -> [&LossCounts; 2] {
        [&self.all, &self.newest]
    }
}

/// Messages that a party left out.
#[derive(Clone, Copy, Default)]
struct LossCounts {
    replayed: u64,
    malformed: u64,
    nonsense: u64,
}

impl LossCounts {
    /// The losses at the party in this place of the chain.
    fn of(release: &Arc<Release>, place: usize, analyzer: bool) -> Option<Self> {
        let loss = release.losses.get(place)?;
        let nonsense = if analyzer { release.nonsense } else { 0 };
        Some(Self { replayed: loss.replayed, malformed: loss.malformed, nonsense })
    }

    fn and(self, other: Self) -> Self {
        Self {
            replayed: self.replayed.saturating_add(other.replayed),
            malformed: self.malformed.saturating_add(other.malformed),
            nonsense: self.nonsense.saturating_add(other.nonsense),
        }
    }
}

#[derive(Template)]
#[template(path = "operations.html")]
struct Page {
    frame: Frame,
    rows: Vec<Row>,
    waiting: u64,
    released: u64,
    alarms: State,
    disk: State,
    failures: u64,
    failed: String,
    refused: u64,
    refusals: String,
    peers: Vec<Peer>,
    legend: Vec<(&'static str, String, &'static str)>,
}
