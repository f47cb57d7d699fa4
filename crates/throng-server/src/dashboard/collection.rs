//! One collection: its estimates over time, or by answer, with their intervals.

use super::number::{Delta, Signed};
use super::post::{plausible, raw, words};
use super::query::Query;
use super::site::Survey;
use super::time::{Epochs, Moment};
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Display;
use throng_account::show::{Count, Near, Upper};
use throng_chart::{Axis, Bar, Bars, Chart, Scale, Series, Stroke};
use throng_collection::{Answer, Release, Subject, Terms};
use throng_mechanism::{Kind, Spending};
use throng_mix::Fates;

/// Renders the page, or only the part that depends on the form if the query has `part`.
pub(crate) fn collection(
    now: u64,
    asked: &Survey,
    query: &str,
    frame: Frame,
) -> Result<String, Error> {
    let query = &Query::parse(query);
    let (terms, place) = (&asked.collection.terms, asked.place(query));
    let post = query.get("view") == Some("post");
    let view = View { asked, terms, place, post, query };
    if query.part() { shown(&Part { view }) } else { shown(&Page { frame, now, view }) }
}

impl Survey {
    /// The place of the release that a query names, or else of the last one.
    pub fn place(&self, query: &Query) -> Option<usize> {
        let first = query.get("release").and_then(|first| first.parse::<u64>().ok());
        let place = self.releases.iter().position(|release| Some(release.first) == first);
        place.or(self.releases.len().checked_sub(1))
    }

    /// The first epoch of the release so many places from another.
    pub fn beside(&self, place: Option<usize>, step: isize) -> Option<u64> {
        Some(self.releases.get(place?.checked_add_signed(step)?)?.first)
    }

    /// The last release in one line.
    pub fn latest(&self) -> String {
        let last = self.releases.last();
        last.map_or("no release yet".to_owned(), |last| brief(&self.collection.terms, last))
    }

    /// The true value behind an answer of a release, where a demonstration knows it.
    fn truth_of(&self, release: &Release, what: &Subject) -> Option<f64> {
        let known = self.truth.get(&release.last)?;
        known.iter().find(|(subject, _)| subject == what).map(|(_, value)| *value)
    }

    /// The ε that all releases so far have cost.
    pub fn spent(&self) -> f64 {
        self.ledger.last().map_or(0.0, |entry| entry.total.get())
    }
}

/// The adversary of a release, after its ε.
pub const OF_ONE: &str = "against everyone but the first mix";

/// The adversary of all releases so far, after the ε that they cost.
pub fn of_all(terms: &Terms) -> &'static str {
    match terms.spending() {
        Spending::Memoized => "against everyone, without a crowd or an honest mix",
        Spending::Lifetime | Spending::PerEpoch => {
            "against everyone but the first mix, if crowds do not react to releases"
        }
    }
}

/// A number with the unit of the question.
pub fn with_unit(number: impl Display, terms: &Terms) -> String {
    format!("{number} {}", terms.question.unit).trim_end().to_owned()
}

/// The answer that stands for a whole release.
fn headline<'r>(terms: &Terms, release: &'r Release) -> Option<&'r Answer> {
    let answers = &release.estimates;
    match terms.mechanism.kind() {
        Kind::Bit | Kind::Real => answers.first(),
        Kind::State => answers.last(),
        Kind::Category | Kind::Attributes | Kind::Text => {
            answers.iter().max_by(|a, b| a.value.total_cmp(&b.value))
        }
    }
}

/// A release in one line.
fn brief(terms: &Terms, release: &Release) -> String {
    let Some(answer) = headline(terms, release) else {
        return match terms.mechanism.kind() {
            Kind::Bit | Kind::Real => "",
            Kind::State => "no period complete",
            Kind::Category | Kind::Attributes | Kind::Text => "nothing stands out",
        }
        .to_owned();
    };
    let interval = interval(answer);
    match terms.mechanism.kind() {
        Kind::Bit => format!("{interval} of {} said yes", Count(release.reports)),
        Kind::Real => with_unit(interval, terms),
        Kind::State => format!("{interval} say yes in {}", answer.what),
        Kind::Category | Kind::Attributes | Kind::Text => format!("{}: {interval}", answer.what),
    }
}

fn interval(answer: &Answer) -> String {
    // Intervals need not be symmetric: the longer side is true of both.
    let reach = (answer.high - answer.value).max(answer.value - answer.low);
    if reach.is_finite() {
        format!("{} ± {}", Signed(answer.value), Upper(reach))
    } else {
        "no estimate: a message was lost".to_owned()
    }
}

#[derive(Template)]
#[template(path = "collection.html")]
struct Page<'a> {
    frame: Frame,
    now: u64,
    view: View<'a>,
}

#[derive(Template)]
#[template(path = "answers.html")]
struct Part<'a> {
    view: View<'a>,
}

/// The data of the page.
struct View<'a> {
    asked: &'a Survey,
    terms: &'a Terms,
    /// The place of the release whose answers are shown.
    place: Option<usize>,
    /// True if estimates are made plausible.
    post: bool,
    query: &'a Query,
}

impl View<'_> {
    /// The release whose answers are shown.
    fn release(&self) -> Option<&Release> {
        Some(&self.asked.releases[self.place?])
    }

    /// The estimates of a release as they are shown.
    fn estimates<'r>(&self, release: &'r Release) -> Cow<'r, [Answer]> {
        if self.post {
            plausible(self.terms, release).into()
        } else {
            (&release.estimates[..]).into()
        }
    }

    /// A line over epochs, or over periods, if there is one to draw.
    fn story(&self) -> Option<Story> {
        let (place, all) = (self.place?, &self.asked.releases[..]);
        let (name, over, releases) = match self.terms.mechanism.kind() {
            // One release has the whole line.
            Kind::State => ("Say yes", "period", &all[place..=place]),
            Kind::Bit => ("Said yes", "epoch", all),
            Kind::Real => ("Mean", "epoch", all),
            Kind::Category | Kind::Attributes | Kind::Text => {
                (self.query.get("label")?, "epoch", all)
            }
        };
        let mut dots = Vec::new();
        for release in releases {
            for answer in &*self.estimates(release) {
                let (first, last) = match &answer.what {
                    Subject::Period(period) => (*period, *period),
                    Subject::Label(label) if **label != *name => continue,
                    _ => (release.first, release.last),
                };
                // Period p is about epoch p − 1.
                let epoch = if over == "period" { last.saturating_sub(1) } else { last };
                let begin = self.asked.collection.schedule.start_of(epoch);
                let when = format!("{over} {}, {}", Epochs(first, last), Moment(begin));
                let truth = self.asked.truth_of(release, &answer.what);
                dots.push(Dot { first, last, begin, when, answer: answer.clone(), truth });
            }
        }
        let unknown = dots.is_empty() && self.has_answers();
        (!unknown).then(|| self.line(&all[place], over, name, dots))
    }

    fn line(&self, release: &Release, over: &str, name: &str, dots: Vec<Dot>) -> Story {
        let label = match (self.terms.mechanism.kind(), self.terms.question.unit.as_str()) {
            (Kind::Real, "") => "mean",
            (Kind::Real, unit) => unit,
            _ => "people",
        };
        let percent = percent(release);
        let mut series =
            Series::new(format!("estimate and its {percent} % interval"), Stroke::Solid, vec![]);
        for (place, dot) in dots.iter().enumerate() {
            // Where nothing was released in between, the line ends and begins again.
            if place > 0 && dots[place - 1].last.checked_add(1) != Some(dot.first) {
                series.points.push((dot.begin as f64, f64::NAN));
                series.band.push((f64::NAN, f64::NAN));
                series.notes.push(String::new());
            }
            series.points.push((dot.begin as f64, dot.answer.value));
            series.band.push((dot.answer.low, dot.answer.high));
            series.notes.push(dot.note(dots.len() - 1 - place, dots.len()));
        }
        let axis = |label: &str, scale| Axis { label: label.to_owned(), scale, range: None };
        let known = dots.iter().filter_map(|dot| Some((dot.begin as f64, dot.truth?)));
        let known: Vec<(f64, f64)> = known.collect();
        let mut all = vec![series];
        if !known.is_empty() {
            all.push(Series::new("truth, as the clients are simulated", Stroke::Markers, known));
        }
        let chart = Chart {
            title: format!("{name} by {over}"),
            x: axis(&format!("begin of the {over} (UTC)"), Scale::Time),
            y: axis(label, Scale::Linear),
            series: all,
        };
        let name = format!("{name}, {over} by {over}");
        Story { name, percent, chart: chart.page("story"), dots }
    }

    /// The largest answers of the release that is shown over all releases, if there are several of
    /// both and none is looked at alone.
    fn together(&self) -> Option<String> {
        let all = &self.asked.releases[..];
        if !self.has_answers() || all.len() < 2 || self.query.get("label").is_some() {
            return None;
        }
        let shown = self.estimates(&all[self.place?]);
        let mut largest: Vec<&Answer> = shown.iter().collect();
        largest.sort_by(|a, b| b.value.total_cmp(&a.value));
        largest.truncate(LINES);
        let mut series: Vec<Series> = largest
            .iter()
            .map(|answer| Series::new(answer.what.to_string(), Stroke::Solid, vec![]))
            .collect();
        let mut before = None;
        for release in all {
            let estimates = self.estimates(release);
            let begin = self.asked.collection.schedule.start_of(release.last) as f64;
            let gap =
                before.is_some_and(|before: u64| before.checked_add(1) != Some(release.first));
            before = Some(release.last);
            for (line, answer) in series.iter_mut().zip(&largest) {
                // What does not stand out in a release, or was not released, interrupts its line.
                let found = estimates.iter().find(|other| other.what == answer.what);
                let value = found.map_or(f64::NAN, |found| found.value);
                if gap {
                    line.points.push((begin, f64::NAN));
                }
                line.points.push((begin, value));
            }
        }
        let axis = |label: &str, scale| Axis { label: label.to_owned(), scale, range: None };
        let x = axis("begin of the epoch (UTC)", Scale::Time);
        let y = axis("people", Scale::Linear);
        let title = "The largest answers, epoch by epoch".to_owned();
        (series.len() > 1).then(|| Chart { title, x, y, series }.page("together"))
    }

    /// True if a release has an answer for each of many things.
    fn has_answers(&self) -> bool {
        !matches!(self.terms.mechanism.kind(), Kind::Bit | Kind::Real | Kind::State)
    }

    /// The answers of a release.
    fn answers(&self, release: &Release) -> Answers {
        let wanted = self.query.get("q").unwrap_or_default().to_lowercase();
        let sort = Sort::named(self.query.get("sort"));
        let down = self.query.get("order").map_or(sort == Sort::Value, |order| order == "down");
        let estimates = self.estimates(release);
        let mut rows: Vec<(usize, &Answer)> = estimates.iter().enumerate().collect();
        rows.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
        let ranked = rows.into_iter().zip(1..).map(|((place, answer), rank)| {
            let label = answer.what.to_string();
            Ranked { place, rank, label, answer: answer.clone() }
        });
        let mut rows: Vec<Ranked> = ranked.collect();
        rows.retain(|row| row.label.to_lowercase().contains(&wanted));
        rows.sort_by(|a, b| {
            let order = sort.compare(a, b);
            if down { order.reverse() } else { order }
        });
        let bar = |Ranked { label, answer, .. }: &Ranked| Bar {
            label: label.clone(),
            value: answer.value,
            low: answer.low,
            high: answer.high,
        };
        let bars = Bars {
            title: format!("Estimates of epoch {}", Epochs(release.first, release.last)),
            label: "people, and their share of the reports".to_owned(),
            most: BARS,
            rows: rows.iter().map(bar).collect(),
        };
        let chart = bars.page_of("answers-chart", release.reports as f64);
        Answers { chart, all: estimates.len(), rows, sort, down }
    }

    /// The query of the page with another release, so many places from the one that is shown.
    fn beside(&self, step: isize) -> Option<String> {
        let first = self.asked.beside(self.place, step)?;
        Some(self.query.with("release", &first.to_string()))
    }

    /// The true value behind the line of a release, where a demonstration knows it.
    fn truth(&self, release: &Release) -> String {
        let answer = headline(self.terms, release);
        let known = answer.and_then(|answer| self.asked.truth_of(release, &answer.what));
        known.map_or("–".to_owned(), |value| Near(value).to_string())
    }

    /// True if a demonstration told the truth behind a release.
    fn has_truth(&self) -> bool {
        !self.asked.truth.is_empty()
    }

    /// The fates of the last epochs, newest first: epochs, begin, end and what became of them.
    fn fates(&self) -> impl Iterator<Item = (Epochs, Moment, Moment, String)> {
        let schedule = &self.asked.collection.schedule;
        self.asked.fates.iter().rev().take(FATES).map(move |Fates { first, last, fate }| {
            let (begin, end) = (schedule.start_of(*first), schedule.end_of(*last));
            (Epochs(*first, *last), Moment(begin), Moment(end), fate.words())
        })
    }

    /// The distance that one liar can move an estimate.
    fn liar(&self, release: &Release) -> String {
        let one = release.influence.of_one;
        one.map_or("any distance".to_owned(), |one| with_unit(Upper(one), self.terms))
    }
}

/// The percentage of intervals that contain the truth.
fn percent(release: &Release) -> Near {
    Near(100.0 * release.confidence.get())
}

/// One estimate on a line.
struct Dot {
    first: u64,
    last: u64,
    /// The begin of the last epoch, in seconds since 1970.
    begin: u64,
    when: String,
    answer: Answer,
    /// The true value, where a demonstration knows it.
    truth: Option<f64>,
}

impl Dot {
    /// The text that is shown when the dot is pointed at. Each dot with a text is a stop for a
    /// keyboard, so that only some of many have one; the table has all.
    fn note(&self, from_last: usize, of: usize) -> String {
        if !from_last.is_multiple_of(of.div_ceil(NOTES).max(1)) {
            return String::new();
        }
        let [value, low, high] = [self.answer.value, self.answer.low, self.answer.high].map(Signed);
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
    percent: Near,
    /// The chart as SVG.
    chart: String,
    dots: Vec<Dot>,
}

struct Answers {
    /// The chart as SVG.
    chart: String,
    /// The number of answers, shown or not.
    all: usize,
    rows: Vec<Ranked>,
    sort: Sort,
    down: bool,
}

impl Answers {
    /// The query that sorts by a column, or turns it around.
    fn sorted(&self, query: &Query, column: &str) -> String {
        let sort = Sort::named(Some(column));
        let down = if sort == self.sort { !self.down } else { sort == Sort::Value };
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
}

impl Ranked {
    /// Its share of the reports of its release.
    fn share(&self, release: &Release) -> String {
        let share = 100.0 * self.answer.value / release.reports.max(1) as f64;
        format!("{share:.2} %").replace('-', "−")
    }
}

/// The most rows about what became of epochs.
const FATES: usize = 400;
/// The most answers of which lines are drawn together: the number of colours.
const LINES: usize = 7;

/// The most points of a line that can be pointed at.
const NOTES: usize = 32;

/// The most bars that are drawn; the table below has all.
const BARS: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::dashboard::site::Truth;
    use std::sync::Arc;
    use throng_collection::example;
    use throng_mix::{Fate, Why};

    fn asked() -> Survey {
        let fates = [
            Fates { first: 0, last: 0, fate: Fate::Released },
            Fates { first: 1, last: 2, fate: Fate::Dropped(Why::Short) },
            Fates { first: 3, last: 3, fate: Fate::Merged { into: 4 } },
            Fates { first: 5, last: 5, fate: Fate::Waiting },
            Fates { first: 6, last: 6, fate: Fate::Open },
        ];
        Survey {
            collection: Arc::new(example::collection()),
            releases: vec![Arc::new(example::release())],
            ledger: vec![],
            fates: fates.to_vec(),
            truth: Truth::new(),
        }
    }

    fn page(asked: &Survey, simulated: bool) -> String {
        let frame = Frame::new(Role::Analyzer, false, None, "/").simulated(simulated);
        collection(1_000, asked, "", frame).unwrap()
    }

    #[test]
    fn every_epoch_is_accounted_for() {
        let html = page(&asked(), false);
        for words in
            ["too few reports", "merged into 4", "waiting for the mixes", "still open", "1–2"]
        {
            assert!(html.contains(words), "{words}: {html}");
        }
        assert!(!html.contains("Simulated clock") && !html.contains("Truth"), "{html}");
        assert!(html.contains("begin of the epoch (UTC)"), "{html}");
    }

    #[test]
    fn a_demonstration_shows_the_truth_and_says_that_its_clock_is_simulated() {
        let mut asked = asked();
        asked.truth.insert(0, vec![(Subject::Yes, 637.0)]);
        let html = page(&asked, true);
        assert!(html.contains("Simulated clock"), "{html}");
        assert!(html.contains("truth, as the clients are simulated"), "{html}");
        assert!(html.contains("<td class=\"num\" data-label=\"Truth\">637</td>"), "{html}");
    }
}
