//! One collection: its estimates over time, or by answer, with their intervals.

use super::post::{plausible, raw, words};
use super::query::Query;
use super::site::Survey;
use super::time::{Epochs, Moment};
use super::{Frame, shown};
use crate::{Entry, Error};
use askama::Template;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;
use throng_account::show::{Count, Near, Upper};
use throng_chart::{Axis, Bar, Bars, Chart, Scale, Series, Stroke};
use throng_collection::{Answer, Collection, Release, Subject, Terms};
use throng_mechanism::Question;

/// Renders the page, or only the part that depends on the form if the query has `part`.
pub(crate) fn collection(
    now: u64,
    asked: &Survey,
    query: &str,
    frame: Frame,
) -> Result<String, Error> {
    let query = Query::parse(query);
    let Survey { collection, releases, ledger } = asked;
    let view = View::new(collection, releases, &query);
    if query.part() {
        let answers = view.answers();
        return shown(&Part { answers: answers.as_ref(), query: &query });
    }
    let terms = &collection.terms;
    shown(&Page {
        frame,
        id: collection.id().to_string(),
        question: &terms.question.text,
        mechanism: terms.mechanism.key().name(),
        latest: latest(terms, releases.last().map(|release| &**release)),
        percent: view.release.map(|release| Near(100.0 * release.confidence.get()).to_string()),
        summary: view.release.map(|release| summary(collection, release, ledger.last())),
        post: view.post,
        words: if view.post { words(terms) } else { raw(terms) },
        query: &query,
        story: view.story(),
        answers: view.answers(),
        releases: view.releases(),
        running: collection.epoch_at(now),
        file: collection.to_toml(),
    })
}

/// The last release in one line.
pub fn latest(terms: &Terms, release: Option<&Release>) -> String {
    let Some(release) = release else { return "no release yet".to_owned() };
    let unit = &terms.question.unit;
    let space = if unit.is_empty() { "" } else { " " };
    let answers = &release.estimates;
    match terms.mechanism.question() {
        Question::Bit => answers.first().map_or_else(String::new, |answer| {
            format!("{} of {} said yes", interval(answer), Count(release.reports))
        }),
        Question::Real => answers
            .first()
            .map_or_else(String::new, |answer| format!("{}{space}{unit}", interval(answer))),
        Question::State { .. } => {
            answers.last().map_or("no period complete".to_owned(), |answer| {
                format!("{} say yes in {}", interval(answer), answer.what)
            })
        }
        Question::Category { .. } | Question::Attributes { .. } | Question::Text { .. } => answers
            .iter()
            .max_by(|a, b| a.value.total_cmp(&b.value))
            .map_or("nothing stands out".to_owned(), |answer| {
                format!("{}: {}", answer.what, interval(answer))
            }),
    }
}

fn interval(answer: &Answer) -> String {
    let reach = (answer.high - answer.low) / 2.0;
    if reach.is_finite() {
        format!("{} ± {}", Near(answer.value), Upper(reach))
    } else {
        "no estimate: a message was lost".to_owned()
    }
}

/// The data of the page.
struct View<'a> {
    collection: &'a Collection,
    releases: &'a [Arc<Release>],
    /// The release whose answers are shown.
    release: Option<&'a Release>,
    post: bool,
    query: &'a Query,
}

impl<'a> View<'a> {
    fn new(collection: &'a Collection, releases: &'a [Arc<Release>], query: &'a Query) -> Self {
        let first = query.get("release").and_then(|first| first.parse::<u64>().ok());
        let chosen = first.and_then(|first| releases.iter().find(|r| r.first == first));
        let release = chosen.or(releases.last()).map(|release| &**release);
        Self { collection, releases, release, post: query.get("view") == Some("post"), query }
    }

    /// The estimates of a release as they are shown.
    fn estimates<'r>(&self, release: &'r Release) -> Cow<'r, [Answer]> {
        if self.post {
            plausible(&self.collection.terms, release).into()
        } else {
            (&release.estimates[..]).into()
        }
    }

    fn is_state(&self) -> bool {
        matches!(self.collection.terms.mechanism.question(), Question::State { .. })
    }

    /// True if a release has one number.
    fn is_single(&self) -> bool {
        matches!(self.collection.terms.mechanism.question(), Question::Bit | Question::Real)
    }

    /// A line over epochs, if there is one to draw.
    fn story(&self) -> Option<Story> {
        let release = self.release?;
        if self.is_state() {
            let dot = |answer: &Answer| {
                let Subject::Period(period) = answer.what else { return None };
                let when = answer.what.to_string();
                Some(Dot { first: period, last: period, when, answer: answer.clone() })
            };
            let dots: Vec<Dot> = self.estimates(release).iter().filter_map(dot).collect();
            return Some(self.line("Say yes", "period", &dots));
        }
        let label = if self.is_single() { None } else { Some(self.query.get("label")?) };
        let dot = |release: &Arc<Release>| {
            let estimates = self.estimates(release);
            let mut about = estimates.iter().filter(|answer| match (label, &answer.what) {
                (None, _) => true,
                (Some(label), Subject::Label(known)) => **known == *label,
                (Some(_), _) => false,
            });
            let Release { first, last, .. } = **release;
            let when = format!("epoch {}", Epochs(first, last));
            Some(Dot { first, last, when, answer: about.next()?.clone() })
        };
        let dots: Vec<Dot> = self.releases.iter().filter_map(dot).collect();
        let name = label.unwrap_or(match release.estimates.first().map(|answer| &answer.what) {
            Some(Subject::Mean) => "Mean",
            _ => "Said yes",
        });
        (!dots.is_empty()).then(|| self.line(name, "epoch", &dots))
    }

    fn line(&self, name: &str, over: &str, dots: &[Dot]) -> Story {
        let unit = &self.collection.terms.question.unit;
        let label = if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") };
        let confidence = self.release.map_or(f64::NAN, |release| release.confidence.get());
        let percent = Near(100.0 * confidence).to_string();
        let mut series =
            Series::new(format!("estimate and its {percent} % interval"), Stroke::Solid, vec![]);
        for (place, dot) in dots.iter().enumerate() {
            // Where nothing was released in between, the line ends and begins again.
            if place > 0 && dots[place - 1].last.checked_add(1) != Some(dot.first) {
                series.points.push((dot.first as f64, f64::NAN));
                series.band.push((f64::NAN, f64::NAN));
                series.notes.push(String::new());
            }
            series.points.push((dot.last as f64, dot.answer.value));
            series.band.push((dot.answer.low, dot.answer.high));
            series.notes.push(dot.note(dots.len() - 1 - place, dots.len()));
        }
        let axis = |label: &str, scale| Axis { label: label.to_owned(), scale, range: None };
        let chart = Chart {
            title: format!("{name} by {over}"),
            x: axis(over, Scale::Whole),
            y: axis(&label, Scale::Linear),
            series: vec![series],
        };
        let rows = dots.iter().rev().map(|Dot { when, answer, .. }| Line {
            when: when.clone(),
            value: Near(answer.value).to_string(),
            error: Near(answer.standard_error).to_string(),
            low: Near(answer.low).to_string(),
            high: Near(answer.high).to_string(),
        });
        Story { name: name.to_owned(), percent, chart: chart.page("story"), rows: rows.collect() }
    }

    /// The answers of the chosen release, where it has several.
    fn answers(&self) -> Option<Answers> {
        if self.is_single() || self.is_state() {
            return None;
        }
        let release = self.release?;
        let wanted = self.query.get("q").unwrap_or_default().to_lowercase();
        let sort = Sort::named(self.query.get("sort"));
        let down = self.query.get("order").map_or(sort == Sort::Value, |order| order == "down");
        let estimates = self.estimates(release);
        let reports = release.reports.max(1) as f64;
        let mut rows: Vec<(usize, &Answer)> = estimates.iter().enumerate().collect();
        rows.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
        let mut ranked: Vec<Ranked> = rows
            .into_iter()
            .zip(1..)
            .map(|((place, answer), rank)| Ranked {
                place,
                rank,
                label: answer.what.to_string(),
                answer: answer.clone(),
                value: Near(answer.value).to_string(),
                error: Near(answer.standard_error).to_string(),
                low: Near(answer.low).to_string(),
                high: Near(answer.high).to_string(),
                share: format!("{:.2} %", 100.0 * answer.value / reports),
            })
            .collect();
        let all = ranked.len();
        ranked.retain(|row| row.label.to_lowercase().contains(&wanted));
        ranked.sort_by(|a, b| {
            let order = sort.compare(a, b);
            if down { order.reverse() } else { order }
        });
        let bars = Bars {
            title: format!("Estimates of epoch {}", Epochs(release.first, release.last)),
            label: "people".to_owned(),
            most: BARS,
            rows: ranked
                .iter()
                .map(|row| Bar {
                    label: row.label.clone(),
                    value: row.answer.value,
                    low: row.answer.low,
                    high: row.answer.high,
                })
                .collect(),
        };
        let place = self.releases.iter().position(|r| r.first == release.first).unwrap_or(0);
        let beside = |place: Option<usize>| {
            let release = self.releases.get(place?)?;
            Some(self.query.with("release", &release.first.to_string()))
        };
        Some(Answers {
            epochs: Epochs(release.first, release.last).to_string(),
            percent: Near(100.0 * release.confidence.get()).to_string(),
            chart: bars.page("answers-chart"),
            drawn: bars.rows.len().min(BARS),
            found: ranked.len(),
            all,
            rows: ranked,
            sort,
            down,
            earlier: beside(place.checked_sub(1)),
            later: beside(Some(place + 1)),
        })
    }

    /// All releases, newest first.
    fn releases(&self) -> Vec<Past> {
        let schedule = &self.collection.schedule;
        let one = |release: &Arc<Release>| Past {
            first: release.first,
            epochs: Epochs(release.first, release.last).to_string(),
            closed: Moment(schedule.deadline(release.last)).to_string(),
            reports: Count(release.reports),
            estimate: latest(&self.collection.terms, Some(release)),
            epsilon: Upper(release.guarantee.epsilon.get()).to_string(),
            spent: Upper(release.spent.epsilon.get()).to_string(),
        };
        self.releases.iter().rev().map(one).collect()
    }
}

fn summary(collection: &Collection, release: &Release, last: Option<&Entry>) -> Summary {
    let Release { guarantee, spent, .. } = release;
    Summary {
        reports: Count(release.reports),
        honest: Count(guarantee.honest.get()),
        epsilon: Upper(guarantee.epsilon.get()).to_string(),
        delta: Upper(guarantee.delta.get()).to_string(),
        spent: Upper(last.map_or(0.0, |entry| entry.total.get())).to_string(),
        limit: Upper(spent.lifetime.get()).to_string(),
        dropped: Count(release.left_out()),
        liar: release.influence.of_one.map_or("any distance".to_owned(), |one| {
            let unit = &collection.terms.question.unit;
            let space = if unit.is_empty() { "" } else { " " };
            format!("{}{space}{unit}", Upper(one))
        }),
    }
}

/// One estimate on a line.
struct Dot {
    first: u64,
    last: u64,
    when: String,
    answer: Answer,
}

impl Dot {
    /// The text that is shown when the dot is pointed at. Each dot with a text is a stop for a
    /// keyboard, so that only some of many have one; the table has all.
    fn note(&self, from_last: usize, of: usize) -> String {
        if !from_last.is_multiple_of(of.div_ceil(NOTES).max(1)) {
            return String::new();
        }
        let [value, low, high] = [self.answer.value, self.answer.low, self.answer.high].map(Near);
        format!("{}: {value}, from {low} to {high}", self.when)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// The order of the collection's file.
    File,
    Label,
    Value,
}

impl Sort {
    fn named(name: Option<&str>) -> Self {
        match name {
            Some("file") => Self::File,
            Some("label") => Self::Label,
            _ => Self::Value,
        }
    }

    fn compare(self, a: &Ranked, b: &Ranked) -> Ordering {
        match self {
            Self::File => a.place.cmp(&b.place),
            Self::Label => a.label.to_lowercase().cmp(&b.label.to_lowercase()),
            Self::Value => a.answer.value.total_cmp(&b.answer.value),
        }
    }
}

struct Story {
    name: String,
    percent: String,
    /// The chart as SVG.
    chart: String,
    rows: Vec<Line>,
}

struct Line {
    when: String,
    value: String,
    error: String,
    low: String,
    high: String,
}

struct Answers {
    epochs: String,
    percent: String,
    /// The chart as SVG.
    chart: String,
    drawn: usize,
    found: usize,
    all: usize,
    rows: Vec<Ranked>,
    sort: Sort,
    down: bool,
    earlier: Option<String>,
    later: Option<String>,
}

impl Answers {
    /// The query that sorts by a column, or turns it around.
    fn sorted(&self, query: &Query, column: &str) -> String {
        let (sort, first) = (Sort::named(Some(column)), column == "value");
        let down = if sort == self.sort { !self.down } else { first };
        let turned = Query::parse(query.with("sort", column).trim_start_matches('?'));
        turned.with("order", if down { "down" } else { "up" })
    }

    /// The `aria-sort` of a column.
    fn direction(&self, column: &str) -> &'static str {
        match (Sort::named(Some(column)) == self.sort, self.down) {
            (true, true) => "descending",
            (true, false) => "ascending",
            _ => "none",
        }
    }
}

/// One of many answers, and its place among them.
struct Ranked {
    place: usize,
    rank: usize,
    label: String,
    answer: Answer,
    value: String,
    error: String,
    low: String,
    high: String,
    share: String,
}

/// One row in the list of all releases.
struct Past {
    first: u64,
    epochs: String,
    closed: String,
    reports: Count,
    estimate: String,
    epsilon: String,
    spent: String,
}

struct Summary {
    reports: Count,
    honest: Count,
    epsilon: String,
    delta: String,
    spent: String,
    limit: String,
    dropped: Count,
    liar: String,
}

#[derive(Template)]
#[template(path = "collection.html")]
struct Page<'a> {
    frame: Frame,
    id: String,
    question: &'a str,
    mechanism: &'a str,
    latest: String,
    percent: Option<String>,
    summary: Option<Summary>,
    post: bool,
    words: &'a str,
    query: &'a Query,
    story: Option<Story>,
    answers: Option<Answers>,
    releases: Vec<Past>,
    running: Option<u64>,
    file: String,
}

#[derive(Template)]
#[template(path = "answers.html")]
struct Part<'a> {
    answers: Option<&'a Answers>,
    query: &'a Query,
}

/// The most points of a line that can be pointed at.
const NOTES: usize = 32;

/// The most bars that are drawn; the table below has all.
const BARS: usize = 30;
