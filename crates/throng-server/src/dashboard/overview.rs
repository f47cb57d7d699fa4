//! All collections of an analyzer, one to a row.

use super::board::Brief;
use super::collection::latest;
use super::health::State;
use super::query::Query;
use super::site::{Outcome, Place, Site, Survey};
use super::time::{Moment, elapsed};
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use throng_account::show::{Count, Upper};
use throng_chart::sparkline;
use throng_collection::Answer;
use throng_mechanism::Kind;

/// Renders the page.
pub(crate) fn overview(site: &Site, query: &str, frame: Frame) -> Result<String, Error> {
    let query = Query::parse(query);
    let wanted = query.get("q").unwrap_or_default().to_lowercase();
    let (mut rows, mut boards, mut all) = (Vec::new(), Vec::new(), 0);
    for place in &site.places {
        match &place.outcome {
            Outcome::HandedOver => {}
            Outcome::Posted(rounds) => boards.push(Brief::new(site.now, rounds)),
            Outcome::Released(asked) => {
                all += 1;
                if place.route.title.to_lowercase().contains(&wanted) {
                    rows.push(row(site, place, asked));
                }
            }
        }
    }
    // Running collections come first, and then the order is by question.
    rows.sort_by(|a, b| (b.running, &a.question).cmp(&(a.running, &b.question)));
    boards.sort_by(|a, b| (b.running, &a.title).cmp(&(a.running, &b.title)));
    let wanted = query.get("q").unwrap_or_default();
    if query.part() {
        return shown(&Rows { rows: &rows });
    }
    shown(&Overview { frame, rows: &rows, boards: &boards, all, wanted })
}

fn row(site: &Site, place: &Place, asked: &Survey) -> Row {
    let (Survey { collection, releases, ledger }, now) = (asked, site.now);
    let terms = &collection.terms;
    let epoch = collection.epoch_at(now);
    let (limit, delta) = (terms.promise.lifetime.0.get(), terms.promise.lifetime.1.get());
    let spent = ledger.last().map_or(0.0, |entry| entry.total.get());
    // For states that are followed over time, the last release has the whole series.
    let answers: Vec<&Answer> = if terms.mechanism.epochs().is_some() {
        releases.last().map_or(Vec::new(), |last| last.estimates.iter().collect())
    } else {
        releases.iter().filter_map(|release| release.estimates.first()).collect()
    };
    let trend: Vec<(f64, f64, f64)> =
        answers.iter().map(|answer| (answer.value, answer.low, answer.high)).collect();
    let single = matches!(terms.mechanism.kind(), Kind::Bit | Kind::Real | Kind::State);
    let when = match epoch {
        Some(epoch) => format!("epoch {epoch}, {} in all", terms.promise.epochs),
        None if now < collection.schedule.start => {
            format!("begins {}", Moment(collection.schedule.start))
        }
        None => "over".to_owned(),
    };
    Row {
        id: place.route.id.to_string(),
        question: terms.question.text.clone(),
        latest: latest(terms, releases.last().map(|release| &**release)),
        trend: if single && !trend.is_empty() {
            sparkline(&thinned(&trend))
        } else {
            String::new()
        },
        releases: releases.len(),
        running: epoch.is_some(),
        when,
        elapsed: epoch.map(|epoch| elapsed(&collection.schedule, epoch, now)),
        quorum: Count(collection.quorum()),
        crowd: crowd(site, place),
        spent: Upper(spent).to_string(),
        limit: Upper(limit).to_string(),
        delta: Upper(delta).to_string(),
        share: (spent / limit).clamp(0.0, 1.0),
        chain: chain(site, place),
    }
}

/// The state of the running epoch, as the first mix tells it.
fn crowd(site: &Site, place: &Place) -> Option<String> {
    let epoch = place.route.epoch_at(site.now);
    let told = place.progress.filter(|told| Some(told.epoch) == epoch)?;
    Some(match told.at_least {
        Some(reports) => {
            format!("at least {} uploads, {} needed", Count(reports), Count(told.crowd))
        }
        None => format!("no crowd of {} seen yet", Count(told.crowd)),
    })
}

/// The state of the chain: whether reports can be taken and would arrive.
fn chain(site: &Site, place: &Place) -> State {
    let Some(keys) = &place.needed else { return State::plain("at rest") };
    let away = |url: &str| site.heard.get(url).is_some_and(|health| health.trouble.is_some());
    let away = place.others().filter(|(_, party)| away(&party.url)).count();
    if away > 0 {
        return State::bad(format!("{away} not reachable"));
    }
    if !keys.signed {
        return State::warn("waits for keys");
    }
    State::ok("complete")
}

/// Evenly spaced points, at most [`POINTS`] of them, the last one included.
fn thinned(points: &[(f64, f64, f64)]) -> Vec<(f64, f64, f64)> {
    let step = points.len().div_ceil(POINTS).max(1);
    let mut kept: Vec<_> = points.iter().rev().step_by(step).copied().collect();
    kept.reverse();
    kept
}

struct Row {
    id: String,
    question: String,
    latest: String,
    /// The trend as SVG.
    trend: String,
    releases: usize,
    running: bool,
    when: String,
    elapsed: Option<f64>,
    quorum: Count,
    crowd: Option<String>,
    spent: String,
    limit: String,
    delta: String,
    share: f64,
    chain: State,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview<'a> {
    frame: Frame,
    rows: &'a [Row],
    boards: &'a [Brief],
    /// The number of questions.
    all: usize,
    wanted: &'a str,
}

#[derive(Template)]
#[template(path = "overview_rows.html")]
struct Rows<'a> {
    rows: &'a [Row],
}

/// The most points of a small line.
const POINTS: usize = 60;
