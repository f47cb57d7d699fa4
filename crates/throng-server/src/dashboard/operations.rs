//! What became of batches, who answers, and what was left out: for the operators of an analyzer.
//!
//! Nothing here is about one report, and nothing about fewer than a crowd: what was left out is told as
//! published releases tell it, and slots are counted as whole batches.

use super::health::{Peer, State, Window, alarms, disk, listed, peers, windows};
use super::strip::{Counts, Strip, legend};
use super::time::{Epochs, Span};
use super::{Frame, shown};
use crate::Error;
use crate::party::Party;
use crate::server::Node;
use askama::Template;
use std::sync::Arc;
use throng_collection::Release;
use throng_mix::{Slot, Stage};

/// The page.
pub(crate) fn operations(node: &Node, frame: Frame) -> Result<String, Error> {
    let mut rows = Vec::new();
    for party in node.parties.values() {
        rows.push(row(node, party)?);
    }
    // What waits or is late comes first.
    rows.sort_by(|a, b| (b.behind, &a.question).cmp(&(a.behind, &b.question)));
    let (failures, failed) = listed(&node.metrics.failures(), task);
    let (refused, refusals) = listed(&node.metrics.refused_batches(), |reason| reason);
    shown(&Page {
        frame,
        waiting: rows.iter().map(|row| row.counts.waiting).sum(),
        released: rows.iter().map(|row| row.counts.done).sum(),
        alarms: alarms(node),
        disk: disk(node),
        failures,
        failed,
        refused,
        refusals,
        peers: peers(node),
        legend: legend(true),
        rows,
    })
}

fn row(node: &Node, party: &Party) -> Result<Row, Error> {
    let (now, slots) = (node.now(), party.course.slots());
    let (releases, newest) = if let Ok(analyzer) = party.analyzer() {
        let releases = analyzer.published()?;
        let newest = releases.iter().max_by_key(|release| release.last);
        let newest = newest.map(|release| (release.first, release.last));
        (releases, newest)
    } else {
        let newest = party.noticeboard()?.notices()?.into_iter().next_back();
        (Vec::new(), newest.map(|(notice, _)| (notice.round, notice.round)))
    };
    let behind = behind(party, &slots, now);
    Ok(Row {
        id: party.id().to_string(),
        question: party.route().title.clone(),
        strip: Strip::new(party, &slots, now),
        counts: Counts::of(&slots),
        newest: newest.map(|(first, last)| {
            let closed = party.route().schedule.deadline(last);
            (Epochs(first, last), Span(now.saturating_sub(closed)))
        }),
        behind,
        idle: Span(now.saturating_sub(party.stepped())),
        board: party.question().is_none(),
        left: left(party, &releases),
        windows: windows(party),
        destroyed: party.course.keyring.live(),
    })
}

/// What a task does, in words.
fn task(name: &'static str) -> &'static str {
    match name {
        "keys" => "asking for keys",
        "hand over" => "handing over",
        "work" => "counting and tidying",
        "notices" => "asking for signatures",
        other => other,
    }
}

/// Epochs after the last that was decided whose deadline is over.
fn behind(party: &Party, slots: &[Slot], now: u64) -> u64 {
    let route = party.route();
    let decided = |slot: &&Slot| !matches!(slot.stage, Stage::Received(_));
    let next = slots.iter().rev().find(decided).map_or(0, |slot| slot.last + 1);
    let epochs = next..route.epochs;
    epochs.take_while(|epoch| now >= route.schedule.deadline(*epoch)).count() as u64
}

/// What each party left out, in all releases and in the newest.
fn left(party: &Party, releases: &[Arc<Release>]) -> Vec<Losses> {
    let route = party.route();
    let of = |(place, (hop, party)): (usize, (u8, &throng_wire::Party))| {
        let analyzer = hop == route.chain.hops();
        let left = |release: &Arc<Release>| Left::of(release, place, analyzer);
        let all = releases.iter().filter_map(left).fold(Left::default(), Left::and);
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
    /// A board tells what it shows and not what was left out.
    board: bool,
    left: Vec<Losses>,
    windows: Vec<Window>,
    destroyed: u64,
}

struct Losses {
    party: String,
    /// Only the analyzer can tell what makes no sense.
    analyzer: bool,
    all: Left,
    newest: Left,
}

impl Losses {
    /// Of all releases, and of the newest.
    fn sums(&self) -> [&Left; 2] {
        [&self.all, &self.newest]
    }
}

/// Messages that a party left out.
#[derive(Clone, Copy, Default)]
struct Left {
    replayed: u64,
    malformed: u64,
    nonsense: u64,
}

impl Left {
    /// By the party at a place of the way.
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
