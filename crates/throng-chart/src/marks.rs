//! The paths of a series: its line, its band, its markers.

use crate::chart::{Series, Stroke};
use crate::span::Span;

impl Series {
    /// The path through each run of points that have a position, or of their markers, or across the
    /// plot at their heights; `px` writes a coordinate.
    pub(crate) fn path(&self, index: usize, x: &Span, y: &Span, px: fn(f64) -> String) -> String {
        let mut path = String::new();
        if self.stroke == Stroke::Limit {
            let levels = self.points.iter().filter(|point| y.scale.admits(point.1));
            for at in levels.map(|point| y.place(point.1)).filter(|at| y.holds(*at)) {
                path.extend(["M", &px(x.from), " ", &px(at), "H", &px(x.to)]);
            }
            return path;
        }
        let gap = |point: &(f64, f64)| !x.scale.admits(point.0) || !y.scale.admits(point.1);
        for run in self.points.split(gap) {
            let mut command = "M";
            for (across, up) in run.iter().map(|point| (x.place(point.0), y.place(point.1))) {
                if self.stroke != Stroke::Markers {
                    path.extend([command, &px(across), " ", &px(up)]);
                } else if x.holds(across) && y.holds(up) {
                    path.extend(["M", &px(across), " ", &px(up), marker(index)]);
                }
                command = "L";
            }
            // A point alone between gaps makes no line, and shows as a dot instead.
            if run.len() == 1 && self.stroke != Stroke::Markers {
                path += DOT;
            }
        }
        path
    }

    /// The area between the ends of each run of intervals: along the high ends, back along the low
    /// ones. An interval alone between gaps is a line.
    pub(crate) fn area(&self, x: &Span, y: &Span, px: fn(f64) -> String) -> String {
        let band = self.points.iter().zip(&self.band).map(|(point, ends)| (point.0, *ends));
        let band: Vec<_> = band.collect();
        let gap = |(at, (low, high)): &(f64, (f64, f64))| {
            !x.scale.admits(*at) || !y.scale.admits(*low) || !y.scale.admits(*high)
        };
        let mut path = String::new();
        for run in band.split(gap).filter(|run| !run.is_empty()) {
            let high = run.iter().map(|(at, ends)| (at, ends.0.max(ends.1)));
            let low = run.iter().rev().map(|(at, ends)| (at, ends.0.min(ends.1)));
            let mut command = "M";
            for (at, end) in high.chain(low) {
                path.extend([command, &px(x.place(*at)), " ", &px(y.place(end))]);
                command = "L";
            }
            path.push('z');
        }
        path
    }
}

/// The width of a line when the palette is in use for the `pass`th time, from 0: every other time
/// it is half of `width`.
pub(crate) fn line_width(width: f64, pass: usize) -> f64 {
    if pass.is_multiple_of(2) { width } else { width / 2.0 }
}

/// The marker of the series at this place.
pub(crate) fn marker(index: usize) -> &'static str {
    MARKERS[index % MARKERS.len()]
}

/// Marker outlines, as paths from the point: circle, square, triangle, diamond.
pub(crate) const MARKERS: [&str; 4] = [
    "m-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0 -7.6 0z",
    "m-3.4 -3.4h6.8v6.8h-6.8z",
    "m0 -4.8l4.4 7.6h-8.8z",
    "m0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z",
];
/// A circle around the point, so small that the width of the line fills it.
pub(crate) const DOT: &str = "m-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0";
