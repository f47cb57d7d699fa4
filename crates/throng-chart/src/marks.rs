//! The paths of a series: its line, its band, its markers.

use crate::chart::{Chart, Series, Stroke};
use crate::plot::Plot;

impl Chart {
    /// The series in the order in which they are drawn, each with its index: lines under dashes
    /// under dots under markers, so that where series coincide, all stay visible.
    pub(crate) fn layers(&self) -> Vec<(usize, &Series)> {
        let mut layers: Vec<_> = self.series.iter().enumerate().collect();
        layers.sort_by_key(|(_, series)| series.stroke);
        layers
    }
}

impl Series {
    /// The path through each run of points that have a position, or of their markers, or across the
    /// plot at their heights.
    pub(crate) fn path(&self, index: usize, plot: &Plot) -> String {
        match self.stroke {
            Stroke::Limit => {
                let right = (plot.px)(plot.x.to);
                let starts = self.levels(plot).map(|at| plot.pair((plot.x.from, at)));
                let lines = starts.map(|start| format!("M{start}H{right}"));
                lines.collect()
            }
            Stroke::Markers => {
                let places = self.points.iter().filter_map(|point| plot.seen(*point));
                let marks = places.map(|at| format!("M{}{}", plot.pair(at), marker(index)));
                marks.collect()
            }
            Stroke::Solid | Stroke::Dashed | Stroke::Dotted => {
                let places: Vec<_> = self.points.iter().map(|point| plot.place(*point)).collect();
                let runs = places.split(Option::is_none).filter(|run| !run.is_empty());
                let line = |run: &[Option<(f64, f64)>]| {
                    // A point alone between gaps makes no line, and shows as a dot instead.
                    let dot = if run.len() == 1 { DOT } else { "" };
                    plot.through(run.iter().copied().flatten()) + dot
                };
                runs.map(line).collect()
            }
        }
    }

    /// The area between the ends of each run of intervals: along the high ends, back along the low
    /// ones. An interval alone between gaps has no area, but [`whiskers`](Self::whiskers).
    pub(crate) fn area(&self, plot: &Plot) -> String {
        let ends = self.ends(plot);
        let runs = ends.split(Option::is_none).filter(|run| run.len() > 1);
        let area = runs.map(|run| {
            let high = run.iter().flatten().map(|(_, high)| *high);
            let low = run.iter().rev().flatten().map(|(low, _)| *low);
            plot.through(high.chain(low)) + "z"
        });
        area.collect()
    }

    /// The upright line of each interval alone between gaps, with a short one across either end.
    pub(crate) fn whiskers(&self, plot: &Plot) -> String {
        let ends = self.ends(plot);
        let alone = ends.split(Option::is_none).filter(|run| run.len() == 1).flatten().flatten();
        let lines = alone.map(|((x, low), (_, high))| {
            let [from, low, high] = [x - WHISKER, *low, *high].map(|at| (plot.px)(at));
            let (across, wide) = ((plot.px)(*x), 2.0 * WHISKER);
            format!("M{from} {high}h{wide}M{across} {high}V{low}M{from} {low}h{wide}")
        });
        lines.collect()
    }

    /// The places of the two ends of each interval, if it has them, the low one first.
    fn ends(&self, plot: &Plot) -> Vec<Option<Interval>> {
        let ends = self.points.iter().zip(&self.band).map(|(&(x, _), &(low, high))| {
            let (low, high) = if low < high { (low, high) } else { (high, low) };
            Some((plot.place((x, low))?, plot.place((x, high))?))
        });
        ends.collect()
    }

    /// The heights of a limit that are within the plot.
    pub(crate) fn levels(&self, plot: &Plot) -> impl Iterator<Item = f64> {
        self.points.iter().filter_map(|point| plot.y.seen(point.1))
    }
}

/// The places of the low and of the high end of an interval.
type Interval = ((f64, f64), (f64, f64));

/// The width and the dashes of the line of the series at this place. Every other time that the
/// palette is in use, its lines are half as wide.
pub(crate) fn pen(stroke: Stroke, index: usize) -> (f64, &'static str) {
    let (width, dashes) = match stroke {
        Stroke::Solid | Stroke::Markers => (2.2, "none"),
        Stroke::Dashed => (2.0, "7 6"),
        Stroke::Dotted => (3.0, "0.01 6"),
        Stroke::Limit => (1.6, "12 4 2 4"),
    };
    (if (index / COLOURS).is_multiple_of(2) { width } else { width / 2.0 }, dashes)
}

/// The marker of the series at this place.
pub(crate) fn marker(index: usize) -> &'static str {
    MARKERS[index % MARKERS.len()]
}

/// Half the width of the line across the end of an interval.
const WHISKER: f64 = 4.0;
/// The number of colours of each look.
pub(crate) const COLOURS: usize = 7;
/// Marker outlines, as paths from the point: circle, square, triangle, diamond.
pub(crate) const MARKERS: [&str; 4] = [
    "m-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0 -7.6 0z",
    "m-3.4 -3.4h6.8v6.8h-6.8z",
    "m0 -4.8l4.4 7.6h-8.8z",
    "m0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z",
];
/// A circle around the point, so small that the width of the line fills it.
pub(crate) const DOT: &str = "m-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0";
