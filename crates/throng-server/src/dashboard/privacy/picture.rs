//! The charts of the privacy page, each with its numbers beside it.

use super::curve::Curve;
use super::trade::Bound;
use crate::Entry;
use crate::dashboard::number::Delta;
use crate::dashboard::time::{Epochs, Moment};
use throng_account::Band;
use throng_account::show::{Count, Lower, Near, Upper};
use throng_chart::{Axis, Chart, Scale, Series, Stroke};
use throng_collection::{Promise, Release, Terms};
use throng_wire::Schedule;

/// A chart, and its numbers as a table.
pub struct Picture {
    pub svg: String,
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
    /// The number of rows that were left out of the table.
    pub left_out: usize,
}

impl Picture {
    fn new(chart: &Chart, id: &str, head: &[&'static str], rows: Vec<Vec<String>>) -> Self {
        Self { svg: chart.page(id), head: head.to_vec(), rows, left_out: 0 }
    }
}

/// The place of a point that a chart does not have. What comes after it keeps its look, and looks
/// like none of the points of the release and of the promise.
fn place() -> Series {
    Series::new("", Stroke::Markers, vec![])
}

fn axis(label: &str, scale: Scale, range: Option<(f64, f64)>) -> Axis {
    Axis { label: label.into(), scale, range }
}

/// δ against ε, with the points of the release and of the promise.
pub fn profile(curve: &Curve, terms: &Terms, release: &Release) -> Picture {
    let upper = curve.0.iter().map(|place| (place.epsilon, place.delta.upper)).collect();
    let mut series = vec![Series::new("δ at most", Stroke::Solid, upper)];
    // The place of a series decides its shape and colour: the points have the second and the third
    // on every page.
    let mut point = |name: &str, epsilon: f64, delta: f64| {
        let notes = vec![format!("{name}: ε = {}, δ = {}", Upper(epsilon), Delta(delta))];
        let marked = Series::new(name, Stroke::Markers, vec![(epsilon, delta)]);
        series.push(Series { notes, ..marked });
    };
    let held = &release.guarantee;
    point("this release", held.epsilon.get(), held.delta.get());
    let end = curve.0.last().map_or(0.0, |place| place.epsilon);
    let Promise { epsilon, delta, .. } = terms.promise;
    if release.first == release.last && epsilon.get() <= end {
        point("promised", epsilon.get(), delta.get());
    } else {
        series.push(place());
    }
    let lower = curve.has_lower();
    if lower {
        let points = curve.0.iter().map(|place| (place.epsilon, place.delta.lower)).collect();
        series.push(Series::new("δ at least", Stroke::Dashed, points));
    }
    let chart = Chart {
        title: "δ at every ε".into(),
        x: axis("ε", Scale::Linear, Some((0.0, end))),
        y: axis("δ", Scale::Log, None),
        series,
    };
    // Without a lower bound its column is left out.
    let columns = if lower { 3 } else { 2 };
    let row = |place: &super::curve::Place| {
        let Band { lower, upper } = place.delta;
        let epsilon = Upper(place.epsilon).to_string();
        let row = [epsilon, Delta(upper).to_string(), Lower(lower).to_string()];
        row[..columns].to_vec()
    };
    let head = ["ε", "δ at most", "δ at least"];
    let rows = curve.0.iter().map(row).collect();
    Picture::new(&chart, "profile", &head[..columns], rows)
}

/// Missed detections against false alarms, and a sentence about it.
pub fn trade_off(curve: &Curve) -> (Picture, String) {
    let bound = Bound::new(curve);
    let guess = Series::new("pure guessing", Stroke::Dashed, vec![(0.0, 1.0), (1.0, 0.0)]);
    let share = |label: &str| axis(label, Scale::Linear, Some((0.0, 1.0)));
    let chart = Chart {
        title: "How well anybody can tell two answers apart".into(),
        x: share("false alarms, α"),
        y: share("missed, β"),
        series: vec![
            Series::new("misses at least", Stroke::Solid, bound.0.clone()),
            place(),
            place(),
            guess,
        ],
    };
    let row = |alpha: &f64| {
        let beta = Lower(bound.beta(*alpha)).to_string();
        vec![alpha.to_string(), beta, Near(1.0 - alpha).to_string()]
    };
    let meaning = format!(
        "Who wants to find out which of two answers somebody gave, and accuses wrongly in at most \
         5 of 100 cases, misses at least {} of 100; who guesses misses 95.",
        Lower(100.0 * bound.beta(0.05))
    );
    let head = ["false alarms, α", "missed at least, β", "by guessing"];
    let rows = ALPHAS.iter().map(row).collect();
    (Picture::new(&chart, "trade", &head, rows), meaning)
}

/// The rest of the lifetime's ε after each release.
pub fn budget(ledger: &[Entry], promise: &Promise, schedule: &Schedule) -> Option<Picture> {
    let limit = promise.lifetime.0.get();
    let left = |entry: &Entry| (limit - entry.total.get()).max(0.0);
    // The order is by epoch, since a batch may be released before an earlier one.
    let mut ledger = ledger.to_vec();
    ledger.sort_by_key(|entry| entry.last);
    let begin = |entry: &Entry| schedule.start_of(entry.last);
    let points = ledger.iter().map(|entry| (begin(entry) as f64, left(entry)));
    let note = |entry: &Entry| {
        let (epochs, begin) = (Epochs(entry.first, entry.last), Moment(begin(entry)));
        format!("epoch {epochs}, {begin}: {} left", Lower(left(entry)))
    };
    let notes = if ledger.len() > NOTED { vec![] } else { ledger.iter().map(note).collect() };
    let series = Series { notes, ..Series::new("", Stroke::Solid, points.collect()) };
    let last = begin(ledger.last()?).max(schedule.start_of(1));
    let chart = Chart {
        title: "What is left of the budget".into(),
        x: axis(
            "begin of the epoch (UTC)",
            Scale::Time,
            Some((schedule.start as f64, last as f64)),
        ),
        y: axis("ε left", Scale::Linear, Some((0.0, 1.1 * limit))),
        series: vec![series, Series::limit("the whole lifetime", limit)],
    };
    let row = |entry: &Entry| {
        vec![
            Epochs(entry.first, entry.last).to_string(),
            Count(entry.honest).to_string(),
            Upper(entry.total.get()).to_string(),
            Lower(left(entry)).to_string(),
        ]
    };
    let head = ["epoch", "honest reports", "ε spent in all", "ε left"];
    let rows = ledger.iter().rev().take(ROWS).map(row).collect();
    let picture = Picture::new(&chart, "budget", &head, rows);
    Some(Picture { left_out: ledger.len().saturating_sub(ROWS), ..picture })
}

const ALPHAS: [f64; 15] =
    [0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
/// The most releases whose points can be pointed at.
const NOTED: usize = 200;
/// The most rows of the ledger in the table.
const ROWS: usize = 200;
