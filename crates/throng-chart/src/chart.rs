//! The content of a line chart.

use crate::calendar::moment;
use crate::span::Span;
use crate::text::number;

/// A line chart: series of points over two labelled axes.
///
/// ```
/// use throng_chart::{Axis, Chart, Scale, Series, Stroke};
///
/// let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear, range: None };
/// let line = Series::new("a < b", Stroke::Solid, vec![(1.0, 0.5), (2.0, 0.25)]);
/// let chart = Chart { title: "ε".to_owned(), x: axis("n"), y: axis("ε"), series: vec![line] };
/// assert!(chart.svg().contains("a &lt; b"));
/// assert_eq!(chart.csv(), "series,n,ε\na < b,1.0,0.5\na < b,2.0,0.25\n");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The heading, which is also the accessible name of the picture.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series, in the order of the legend.
    pub series: Vec<Series>,
}

/// One axis of a chart.
///
/// ```
/// use throng_chart::{Axis, Chart, Scale, Series, Stroke};
///
/// let fits = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear, range: None };
/// let line = Series::new("", Stroke::Solid, vec![(1.0, 4.0), (2.0, 5.0)]);
/// let mut chart = Chart { title: "t".to_owned(), x: fits("x"), y: fits("y"), series: vec![line] };
/// let fitted = chart.svg();
/// chart.y.range = Some((100.0, 0.0));
/// assert!(!fitted.contains(">100<") && chart.svg().contains(">100<"));
///
/// // An interval that the scale cannot show fits the data too.
/// chart.y.range = Some((0.0, f64::NAN));
/// assert_eq!(chart.svg(), fitted);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// The map from values to positions.
    pub scale: Scale,
    /// The interval to show, its ends in either order; `None`, or an interval the scale cannot
    /// show (empty, not finite, not positive on a log axis), fits the data.
    pub range: Option<(f64, f64)>,
}

/// The map from values to positions on an axis.
///
/// ```
/// use throng_chart::{Axis, Chart, Scale, Series, Stroke};
///
/// let axis = |scale| Axis { label: String::new(), scale, range: None };
/// let line = Series::new("", Stroke::Solid, vec![(1.0, 0.0), (2.0, -1.0)]);
/// let (title, x, y) = (String::new(), axis(Scale::Whole), axis(Scale::Log));
/// let mut chart = Chart { title, x, y, series: vec![line] };
/// // Nothing of it is positive.
/// assert!(chart.page("c").contains("no data"));
/// chart.y.scale = Scale::Linear;
/// assert!(!chart.page("c").contains("no data"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equal distances.
    Linear,
    /// Equal ratios are equal distances; only positive values have a position.
    Log,
    /// Equal differences are equal distances, of things that are counted, such as epochs: ticks are
    /// whole numbers, and an axis that fits its data ends where they end.
    Whole,
    /// Moments, in seconds since 1970-01-01 UTC: ticks are round times, days, months or years, and
    /// an axis that fits its data ends where they end.
    Time,
}

/// A named sequence of points.
///
/// ```
/// use throng_chart::{Series, Stroke};
///
/// let plain = Series::new("estimate", Stroke::Solid, vec![(1.0, 611.8), (2.0, 603.1)]);
/// assert!(plain.band.is_empty() && plain.notes.is_empty());
/// let banded = Series { band: vec![(598.9, 624.7), (590.2, 616.0)], ..plain };
/// assert_eq!(banded.points.len(), banded.band.len());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name in the legend; an unnamed series has no legend entry.
    pub name: String,
    /// The way the points are drawn.
    pub stroke: Stroke,
    /// The points, joined in this order; one without a position on the axes interrupts the line.
    pub points: Vec<(f64, f64)>,
    /// The interval in which each point may really lie, drawn as an area behind the line: one
    /// interval per point, or none at all. One without a position interrupts the area.
    pub band: Vec<(f64, f64)>,
    /// The texts to be read on a page at each point: a point with a note has a marker that shows it
    /// when pointed at or focused. One per point, or none at all; empty ones do not count.
    pub notes: Vec<String>,
}

/// The way the points of a series are drawn.
///
/// ```
/// use throng_chart::{Series, Stroke};
///
/// // A limit has a height and no place on the horizontal axis.
/// let limit = Series::limit("alarm", 700.0);
/// assert_eq!(limit.stroke, Stroke::Limit);
/// assert!(limit.points[0].0.is_nan());
/// assert_eq!(limit.points[0].1, 700.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stroke {
    /// An unbroken line.
    Solid,
    /// A line of dashes.
    Dashed,
    /// A line of round dots.
    Dotted,
    /// A level line across the whole plot at the height of each point, wherever that is.
    Limit,
    /// The points alone, without a line.
    Markers,
}

impl Chart {
    /// Every point of every series, drawn or not, one to a row under the labels of the axes; the
    /// numbers read back to the same bits.
    pub fn csv(&self) -> String {
        let head = format!("series,{},{}\n", field(&self.x.label), field(&self.y.label));
        let rows = self.series.iter().flat_map(|series| {
            let name = field(&series.name);
            series.points.iter().map(move |(x, y)| format!("{name},{x:?},{y:?}\n"))
        });
        std::iter::once(head).chain(rows).collect()
    }

    /// The points that have a position, but for those of limits, which have only a height.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = &(f64, f64)> {
        let lines = self.series.iter().filter(|series| series.stroke != Stroke::Limit);
        lines.flat_map(|series| &series.points).filter(|point| self.admits(**point))
    }

    /// The interval of the horizontal axis, between these pixels.
    pub(crate) fn across(&self, pixels: (f64, f64)) -> Span {
        let values = || self.drawn().map(|point| point.0);
        // Among few points, the first and the last keep their distance from the frame.
        let ends = extremes(values())
            .filter(|(first, last)| self.x.scale == Scale::Whole && last - first < FEW_STEPS);
        let room = ends.map(|(first, last)| [first - 0.5, last + 0.5]).into_iter().flatten();
        Span::new(self.x.scale, self.x.range, values().chain(room), pixels)
    }

    /// The interval of the vertical axis, between these pixels.
    pub(crate) fn upward(&self, pixels: (f64, f64)) -> Span {
        Span::new(self.y.scale, self.y.range, self.heights(), pixels)
    }

    /// The same for a page: with room over and under what is drawn, and from zero on where that
    /// takes no more than half of the height.
    pub(crate) fn upward_on_page(&self, pixels: (f64, f64)) -> Span {
        let ends = extremes(self.heights().filter(|height| height.is_finite()));
        let ends = ends.filter(|_| self.y.scale == Scale::Linear).map(|(least, most)| {
            let room = (most - least) * ROOM;
            let low = if least >= 0.0 && least <= most / 2.0 { 0.0 } else { least - room };
            // Nothing negative is hinted at where nothing is.
            [if least >= 0.0 { low.max(0.0) } else { low }, most + room]
        });
        let room = ends.into_iter().flatten();
        Span::new(self.y.scale, self.y.range, self.heights().chain(room), pixels)
    }

    /// Every height that the vertical axis has to cover.
    fn heights(&self) -> impl Iterator<Item = f64> {
        self.series.iter().flat_map(move |series| {
            let level = series.stroke == Stroke::Limit;
            let points = series.points.iter().filter(move |point| level || self.admits(**point));
            let ends = series.points.iter().zip(&series.band);
            let ends = ends.filter(move |((x, _), _)| self.x.scale.admits(*x));
            points.map(|point| point.1).chain(ends.flat_map(|(_, (low, high))| [*low, *high]))
        })
    }

    /// True if a point has a position on the axes.
    pub(crate) fn admits(&self, (x, y): (f64, f64)) -> bool {
        self.x.scale.admits(x) && self.y.scale.admits(y)
    }

    /// The chart in words.
    pub(crate) fn description(&self) -> String {
        let Some((first, last)) = extremes(self.drawn().map(|point| point.0)) else {
            return NO_DATA.to_owned();
        };
        let across = if self.x.scale == Scale::Time { moment } else { number };
        let ([first, last], x, y) = ([first, last].map(across), &self.x.label, &self.y.label);
        let mut words = format!("{y} against {x}, {first} to {last}.");
        for series in &self.series {
            if let Some(seen) = self.described(series) {
                let name = if series.name.is_empty() { &self.y.label } else { &series.name };
                words.extend([" ", name, ": ", &seen, "."]);
            }
        }
        words
    }

    /// A series in words.
    fn described(&self, series: &Series) -> Option<String> {
        if series.stroke == Stroke::Limit {
            let level = series.points.iter().find(|point| self.y.scale.admits(point.1))?;
            return Some(format!("limit at {}", number(level.1)));
        }
        let at = series.points.iter().rposition(|point| self.admits(*point))?;
        let points = series.points.iter().filter(|point| self.admits(**point));
        let (least, most) = extremes(points.map(|point| point.1))?;
        let [least, most, last] = [least, most, series.points[at].1].map(number);
        let ends =
            series.band.get(at).map_or(String::new(), |ends| range(", which may lie ", *ends));
        Some(format!("from {least} to {most}, the last {last}{ends}"))
    }
}

impl Series {
    /// A series without band and notes.
    pub fn new(name: impl Into<String>, stroke: Stroke, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), stroke, points, band: vec![], notes: vec![] }
    }

    /// A level line, such as a budget, with its name.
    pub fn limit(name: impl Into<String>, level: f64) -> Self {
        Self::new(name, Stroke::Limit, vec![(f64::NAN, level)])
    }
}

impl Scale {
    /// True if a value has a position on an axis of this scale.
    pub(crate) fn admits(self, value: f64) -> bool {
        match self {
            Self::Linear | Self::Whole => value.is_finite(),
            Self::Log => value.is_finite() && value > 0.0,
            Self::Time => value.abs() < FAR_AWAY,
        }
    }
}

/// An interval in words after others, or nothing unless both its ends are numbers.
pub(crate) fn range(after: &str, (low, high): (f64, f64)) -> String {
    if !low.is_finite() || !high.is_finite() {
        return String::new();
    }
    format!("{after}from {} to {}", number(low.min(high)), number(low.max(high)))
}

/// The least and the greatest of some values.
pub(crate) fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ends = values.map(|value| (value, value));
    ends.reduce(|(least, most), (value, _)| (least.min(value), most.max(value)))
}

/// A CSV field, quoted where RFC 4180 asks for it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// The seconds from 1970 beyond which there are no dates: some thirty thousand years.
const FAR_AWAY: f64 = 1e12;

/// The steps below which an axis of counted things has half a step more at its ends.
const FEW_STEPS: f64 = 24.0;
/// The room over and under what is drawn on a page, as a part of its height.
const ROOM: f64 = 0.06;
/// The words where there is nothing to draw.
pub(crate) const NO_DATA: &str = "no data";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chart, series};

    #[test]
    fn csv_numbers_read_back_to_the_same_bits() {
        let values = [0.1 + 0.2, -0.0, 1e300, 5e-324, 1.0 / 3.0, f64::NEG_INFINITY, 12345678.9];
        let points: Vec<_> = values.into_iter().zip(values.into_iter().rev()).collect();
        let csv = chart(Scale::Log, None, vec![series("a", Stroke::Solid, &points)]).csv();
        let read = csv.lines().skip(1).map(|row| {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |field: &str| field.parse::<f64>().expect("a number").to_bits();
            assert_eq!((fields.len(), fields[0]), (3, "a"));
            (number(fields[1]), number(fields[2]))
        });
        let bits = points.iter().map(|(x, y)| (x.to_bits(), y.to_bits()));
        assert!(read.eq(bits), "{csv}");
    }

    #[test]
    fn csv_quotes_fields_that_hold_separators() {
        let mut it =
            chart(Scale::Linear, None, vec![series("a, \"b\"", Stroke::Solid, &[(1.0, 2.5)])]);
        it.x.label = "time, s".to_owned();
        assert_eq!(it.csv(), "series,\"time, s\",quantity\n\"a, \"\"b\"\"\",1.0,2.5\n");
    }
}
