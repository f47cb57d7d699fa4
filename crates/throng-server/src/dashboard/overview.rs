//! All collections of an analyzer, one to a row.

use super::collection::of_all;
use super::health::State;
use super::number::Delta;
use super::query::Query;
use super::site::{Outcome, Place, Rounds, Site, Survey};
use super::time::{elapsed, rest};
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use throng_account::show::{Count, Upper};
use throng_chart::sparkline;
use throng_collection::Answer;
use throng_mechanism::Kind;
use throng_mix::Fates;

/// Renders the page, or only the questions if the query has `part`.
pub(crate) fn overview(site: &Site, query: &str, frame: Frame) -> Result<String, Error> {
    let query = Query::parse(query);
    let wanted = query.get("q").unwrap_or_default();
    let (mut rows, mut boards, mut all) = (Vec::new(), Vec::new(), 0);
    for place in &site.places {
        match &place.outcome {
            Outcome::HandedOver => {}
            Outcome::Posted(rounds) => boards.push(rounds),
            Outcome::Released(asked) => {
                all += 1;
                if place.route.title.to_lowercase().contains(&wanted.to_lowercase()) {
                    rows.push((place, asked));
                }
            }
        }
    }
    // Running collections come first, and then the order is by question.
    rows.sort_by_key(|&(place, _)| (place.running().is_none(), &place.route.title));
    boards.sort_by_key(|&board| (board.running().is_none(), &board.route.title));
    let rows = Rows { site, rows };
    if query.part() { shown(&rows) } else { shown(&Overview { frame, rows, boards, all, wanted }) }
}

impl Survey {
    /// The estimates so far as a small line, where a release has one.
    fn trend(&self) -> String {
        let mechanism = &self.collection.terms.mechanism;
        let answers: Vec<&Answer> = match mechanism.kind() {
            // The last release has the whole series.
            Kind::State => {
                self.releases.last().map_or(Vec::new(), |last| last.estimates.iter().collect())
            }
            Kind::Bit | Kind::Real => {
                self.releases.iter().filter_map(|release| release.estimates.first()).collect()
            }
            Kind::Category | Kind::Attributes | Kind::Text => return String::new(),
        };
        // Evenly spaced points, the last one included.
        let step = answers.len().div_ceil(POINTS).max(1);
        let kept = answers.iter().rev().step_by(step);
        let mut points: Vec<_> = kept.map(|it| (it.value, it.low, it.high)).collect();
        points.reverse();
        if points.is_empty() { String::new() } else { sparkline(&points) }
    }

    /// The part of the lifetime's ε that is spent, from 0 to 1.
    fn share(&self) -> f64 {
        (self.spent() / self.collection.terms.promise.lifetime.0.get()).clamp(0.0, 1.0)
    }
}

impl Place {
    /// The state of the running epoch, as the first mix tells it.
    fn told(&self) -> Option<String> {
        let told = self.progress.filter(|told| Some(told.epoch) == self.running())?;
        Some(match told.at_least {
            Some(reports) => {
                format!("at least {} uploads, {} needed", Count(reports), Count(told.crowd))
            }
            None => format!("epoch {} has fewer than {} so far", told.epoch, Count(told.crowd)),
        })
    }
}

impl Place {
    /// The last epochs that take no more reports, and what became of them.
    fn last(&self) -> Option<String> {
        let Fates { last, fate, .. } = self.decided()?;
        Some(format!("epoch {last}: {}", fate.words()))
    }
}

impl Site {
    /// The state of a chain: whether reports can be taken and would arrive.
    fn chain(&self, place: &Place) -> State {
        let Some(keys) = &place.needed else { return State::plain("at rest") };
        let away = |url: &str| self.heard.get(url).is_some_and(|health| health.trouble.is_some());
        match place.others().filter(|(_, party)| away(&party.url)).count() {
            0 if keys.signed => State::ok("complete"),
            0 => State::warn("waits for keys"),
            away => State::bad(format!("{away} not reachable")),
        }
    }
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview<'a> {
    frame: Frame,
    rows: Rows<'a>,
    boards: Vec<&'a Rounds>,
    /// The number of questions.
    all: usize,
    wanted: &'a str,
}

#[derive(Template)]
#[template(path = "overview_rows.html")]
struct Rows<'a> {
    site: &'a Site,
    rows: Vec<(&'a Place, &'a Survey)>,
}

/// The most points of a small line.
const POINTS: usize = 60;
