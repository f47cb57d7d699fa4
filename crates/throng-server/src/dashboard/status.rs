//! The status of a mix, for whoever runs it and for whoever relies on it.
//!
//! The only number of reports on it is the one that the next party is told as well: that of a batch
//! which has left.

use super::health::{Peer, State, Window, alarms, disk, peers, windows};
use super::site::{Machine, Place, Site};
use super::strip::{Counts, Strip, legend};
use super::time::{Epochs, Moment, elapsed};
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use throng_mix::{Slot, Stage};

/// Renders the page.
pub(crate) fn status(site: &Site, machine: &Machine, frame: Frame) -> Result<String, Error> {
    let mut rows: Vec<Row> = site.places.iter().map(|place| row(site.now, place)).collect();
    rows.sort_by(|a, b| {
        (b.running.is_some(), &a.question).cmp(&(a.running.is_some(), &b.question))
    });
    let name = rows.first().map_or_else(String::new, |row| row.name.clone());
    let same = rows.iter().all(|row| row.name == name);
    shown(&Page {
        frame,
        title: if same { name } else { "Status".to_owned() },
        delivered: rows.iter().map(|row| row.counts.done).sum(),
        waiting: rows.iter().map(|row| row.counts.waiting).sum(),
        alarms: alarms(machine),
        disk: disk(machine),
        peers: peers(site),
        legend: legend(false),
        rows,
    })
}

fn row(now: u64, place: &Place) -> Row {
    let (slots, route) = (&place.slots, &place.route);
    let schedule = &route.schedule;
    let running = route.epoch_at(now).map(|epoch| Running {
        epoch,
        begun: Moment(schedule.start_of(epoch)),
        deadline: Moment(schedule.deadline(epoch)),
        elapsed: elapsed(schedule, epoch, now),
        crowd: crowd(place),
    });
    let rest = if now < schedule.start {
        format!("begins {}", Moment(schedule.start))
    } else {
        "over".to_owned()
    };
    let party = route.chain.party(place.hop);
    Row {
        id: route.id.to_string(),
        name: party.map_or_else(String::new, |party| party.name.clone()),
        question: route.title.clone(),
        hop: place.hop,
        hops: route.chain.hops(),
        epochs: route.epochs,
        quorum: route.quorum,
        running,
        rest,
        newest: slots.iter().rev().find_map(|slot| left(place, slot)),
        strip: Strip::new(place, now),
        counts: Counts::of(slots),
        windows: windows(place),
        destroyed: place.live,
    }
}

/// The state of the crowd at the first mix, as far as it is told.
fn crowd(place: &Place) -> Option<State> {
    Some(match place.progress?.at_least {
        None => State::plain("not yet a crowd"),
        Some(count) => State::ok(format!("a crowd came: at least {count}")),
    })
}

/// The epochs and reports of a batch that left or is ready to.
fn left(place: &Place, slot: &Slot) -> Option<(Epochs, u64)> {
    let sealed = matches!(slot.stage, Stage::Sealed(_) | Stage::Delivered { .. });
    let reports = place.reports(slot).filter(|_| sealed)?;
    Some((Epochs(slot.first, slot.last), reports))
}

struct Row {
    id: String,
    name: String,
    question: String,
    hop: u8,
    hops: u8,
    epochs: u64,
    quorum: u64,
    running: Option<Running>,
    /// The text when no epoch is running.
    rest: String,
    newest: Option<(Epochs, u64)>,
    strip: Strip,
    counts: Counts,
    windows: Vec<Window>,
    destroyed: u64,
}

struct Running {
    epoch: u64,
    begun: Moment,
    deadline: Moment,
    elapsed: f64,
    crowd: Option<State>,
}

#[derive(Template)]
#[template(path = "status.html")]
struct Page {
    frame: Frame,
    title: String,
    delivered: u64,
    waiting: u64,
    alarms: State,
    disk: State,
    peers: Vec<Peer>,
    legend: Vec<(&'static str, String, &'static str)>,
    rows: Vec<Row>,
}
