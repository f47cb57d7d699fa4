//! Bars with their intervals.

use crate::chart::{NO_DATA, Scale, extremes, range};
use crate::page::{Frame, GAP, MARK, frames, line, path};
use crate::span::Span;
use crate::text::{LINE, TEXT, cut, escape, number, tenth, widest, width};

/// A bar chart: rows of one labelled bar each, from zero to its value.
///
/// ```
/// use throng_chart::{Bar, Bars};
///
/// let bar = |label: &str, value| Bar {
///     label: label.to_owned(),
///     value,
///     low: value - 1.0,
///     high: value + 1.0,
/// };
/// let rows = vec![bar("tea", 9.0), bar("coffee", 7.0), bar("water", 3.0)];
/// let bars = Bars { title: "Drinks".to_owned(), label: "people".to_owned(), rows, most: 2 };
/// let page = bars.page("drinks");
/// assert!(page.contains("and 1 more") && !page.contains("water"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// The name of the chart for assistive technology; it is not drawn.
    pub title: String,
    /// The quantity, with its unit.
    pub label: String,
    /// The bars, from the top.
    pub rows: Vec<Bar>,
    /// The number of rows to draw, from the first; the rest are only counted.
    pub most: usize,
}

/// One row of a bar chart.
///
/// ```
/// use throng_chart::{Bar, Bars};
///
/// let none = f64::NAN;
/// let tea = Bar { label: "tea".to_owned(), value: 9.0, low: 8.0, high: 10.0 };
/// let mate = Bar { label: "mate".to_owned(), value: none, low: none, high: none };
/// let rows = vec![tea, mate];
/// let bars = Bars { title: "Drinks".to_owned(), label: "people".to_owned(), rows, most: 2 };
/// let page = bars.page("drinks");
/// assert!(page.contains("<title>tea: 9, from 8 to 10</title>"));
/// assert!(page.contains("<title>mate: no data</title>"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The name of what is measured; one too long for its column is cut, and in whole where it is
    /// pointed at.
    pub label: String,
    /// The end of the bar; a row without a number has no bar.
    pub value: f64,
    /// The lower end of the thin line over it; without both ends there is none.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Bars {
    /// The chart for a page whose style sheet holds [`CSS`](crate::CSS), with identifiers as in
    /// [`Chart::page`](crate::Chart::page).
    pub fn page(&self, id: &str) -> String {
        frames(id, |frame| self.framed(frame, None))
    }

    /// The same with the share of each value of a whole beside it.
    ///
    /// ```
    /// use throng_chart::{Bar, Bars};
    ///
    /// let tea = Bar { label: "tea".to_owned(), value: 9.0, low: 8.0, high: 10.0 };
    /// let (title, label) = ("Drinks".to_owned(), "people".to_owned());
    /// let bars = Bars { title, label, rows: vec![tea], most: 2 };
    /// assert!(bars.page_of("drinks", 36.0).contains(">9 · 25 %<"));
    /// ```
    pub fn page_of(&self, id: &str, whole: f64) -> String {
        frames(id, |frame| self.framed(frame, Some(whole)))
    }

    fn framed(&self, frame: &Frame, whole: Option<f64>) -> String {
        let shown = &self.rows[..self.rows.len().min(self.most)];
        let values = widest(shown.iter().map(|bar| width(&bar.valued(whole))));
        let (left, right, labels, high) = if frame.stacked {
            (EDGE, frame.width - EDGE, frame.width - values - GAP, 40.0)
        } else {
            let labels = widest(shown.iter().map(|bar| width(&bar.label)));
            let labels = labels.min(frame.width * MOST_LABEL);
            (labels + 2.0 * GAP, frame.width - values - 2.0 * GAP, labels, 24.0)
        };
        let ends = shown.iter().flat_map(Bar::ends).chain([0.0]);
        // From the least to the greatest, so that little below zero takes little of the width.
        let range = extremes(ends.filter(|end| end.is_finite()));
        let x = Span::new(Scale::Linear, range, [0.0], (left, right.max(left + 1.0)));

        let top = if self.label.is_empty() { LINE } else { 2.0 * LINE } + MARK;
        let mut down = top + GAP / 2.0;
        let mut rows = String::new();
        for bar in shown {
            rows += &bar.row(&x, (down, labels), frame, whole);
            down += high;
        }
        let label = cut(&self.label, frame.width);
        let mut parts = line((0.0, TEXT), r#"class="chart-text chart-label""#, &label);
        if shown.iter().any(|bar| bar.value.is_finite()) {
            parts += &columns(&x, (top, down), frame);
        }
        // Upright lines run through the labels of a narrow chart.
        let halo = if frame.stacked { " chart-halo" } else { "" };
        parts.extend(["<g class=\"chart-text chart-row", halo, "\">\n", &rows, "</g>\n"]);
        let rest = match self.rows.len() - shown.len() {
            _ if shown.is_empty() => NO_DATA.to_owned(),
            0 => String::new(),
            more => format!("and {more} more"),
        };
        if !rest.is_empty() {
            parts += &line((0.0, down + TEXT + GAP / 2.0), r#"class="chart-text""#, &rest);
            down += LINE + GAP / 2.0;
        }
        let names = [&*self.title, &*self.description(shown)];
        frame.picture(down + GAP / 2.0, "img", names, &parts)
    }

    /// The chart in words.
    fn description(&self, shown: &[Bar]) -> String {
        let known = || shown.iter().filter(|bar| bar.value.is_finite());
        let by = |a: &&Bar, b: &&Bar| a.value.total_cmp(&b.value);
        let (Some(most), Some(least)) = (known().max_by(by), known().min_by(by)) else {
            return NO_DATA.to_owned();
        };
        let (drawn, all, label) = (shown.len(), self.rows.len(), &self.label);
        let [most, least] = [most, least].map(Bar::sentence);
        format!("{label}: {drawn} of {all} rows. The greatest is {most}; the least is {least}.")
    }
}

impl Bar {
    fn row(&self, x: &Span, (top, room): (f64, f64), frame: &Frame, whole: Option<f64>) -> String {
        let (text, bar) = if frame.stacked { (14.0, 20.0) } else { (16.5, 6.0) };
        let (text, bar) = (top + text, top + bar);
        let title = escape(&self.sentence());
        let label = line((0.0, text), "", &cut(&self.label, room));
        let value = line((frame.width, text), r#"text-anchor="end""#, &self.valued(whole));
        let (mut rect, mut span) = (String::new(), String::new());
        if self.value.is_finite() {
            let (zero, end) = (x.place(0.0), x.place(self.value.clamp(x.lo, x.hi)));
            let (from, wide, y) = (tenth(zero.min(end)), tenth((end - zero).abs()), tenth(bar));
            let place = format!(r#"x="{from}" y="{y}" width="{wide}" height="{BAR}""#);
            rect = format!(r#"<rect class="chart-bar" {place}/>"#);
        }
        if let Some((low, high)) = self.interval() {
            let (from, to) = (x.place(low.max(x.lo)), x.place(high.min(x.hi)));
            let (from, wide, middle) = (tenth(from), tenth(to - from), tenth(bar + BAR / 2.0));
            span = path("chart-span", &format!("M{from} {middle}m0-3v6m0-3h{wide}m0-3v6"));
        }
        format!("<g><title>{title}</title>\n{label}{rect}{span}{value}</g>\n")
    }

    /// The value to read.
    fn shown(&self) -> String {
        if self.value.is_finite() { number(self.value) } else { NO_DATA.to_owned() }
    }

    /// The value to read, with its share of a whole.
    fn valued(&self, whole: Option<f64>) -> String {
        let share = whole.filter(|whole| *whole > 0.0).map(|whole| 100.0 * self.value / whole);
        match share.filter(|share| share.is_finite()) {
            Some(share) => {
                let share = format!("{:.*}", usize::from(share.abs() < 10.0), share);
                let share = share.trim_end_matches(".0").replace('-', "−");
                format!("{} · {} %", self.shown(), if share == "−0" { "0" } else { &share })
            }
            None => self.shown(),
        }
    }

    /// The row in words.
    fn sentence(&self) -> String {
        let ends = self.interval().map_or(String::new(), |ends| range(", ", ends));
        format!("{}: {}{ends}", self.label, self.shown())
    }

    /// The interval, if there is a bar and both ends are numbers.
    fn interval(&self) -> Option<(f64, f64)> {
        let finite = [self.value, self.low, self.high].iter().all(|end| end.is_finite());
        finite.then_some((self.low.min(self.high), self.low.max(self.high)))
    }

    /// The values that the axis must cover.
    fn ends(&self) -> impl Iterator<Item = f64> {
        let (low, high) = self.interval().unwrap_or((self.value, self.value));
        [low, self.value, high].into_iter()
    }
}

/// Grid lines through the rows, with the numbers over them, and the line of zero.
fn columns(x: &Span, (top, bottom): (f64, f64), frame: &Frame) -> String {
    let line = |at: f64| format!("M{} {}V{}", tenth(at), tenth(top), tenth(bottom));
    let ticks = x.ticks(|tick| tick.width() + LINE);
    let ticks = ticks.iter().filter(|tick| tick.is_labelled());
    let upright: String = ticks.clone().map(|tick| line(tick.at)).collect();
    let labels = ticks.map(|tick| {
        let half = tick.width() / 2.0;
        let centre = tick.at.min(frame.width - half).max(half);
        tick.text((centre, top - MARK), r#"class="chart-text" text-anchor="middle""#)
    });
    let (upright, zero) = (path("chart-grid", &upright), path("chart-axis", &line(x.place(0.0))));
    format!("{upright}\n{zero}\n{}\n", labels.collect::<String>())
}

// Sizes in the units of the picture.
const BAR: f64 = 12.0;
const EDGE: f64 = 4.0;
/// The part of the width that labels take at most.
const MOST_LABEL: f64 = 0.36;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, assert_fit_for_a_page, values};

    fn bar(label: &str, value: f64, spread: f64) -> Bar {
        Bar { label: label.to_owned(), value, low: value - spread, high: value + spread }
    }

    fn bars(rows: Vec<Bar>, most: usize) -> Bars {
        Bars { title: "Bars".to_owned(), label: "devices".to_owned(), rows, most }
    }

    fn numbers(page: &str, attribute: &str) -> Vec<f64> {
        let values = values(page, "chart-bar", attribute);
        values.into_iter().map(|value| value.parse().expect("a number")).collect()
    }

    #[test]
    fn greater_values_have_longer_bars() {
        let rows: Vec<_> = (0..40).map(|i| bar("row", f64::from(i * i), 3.0)).collect();
        let page = bars(rows, 40).page("it");
        assert_fit_for_a_page(&page);
        let (lengths, starts) = (numbers(&page, "width"), numbers(&page, "x"));
        for frame in [0..40, 40..80] {
            assert_eq!(lengths[frame.start], 0.0);
            assert!(lengths[frame.clone()].windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(lengths[frame.clone()].windows(9).all(|few| few[0] < few[8]));
            assert!(starts[frame.clone()].iter().all(|start| *start == starts[frame.start]));
        }
    }

    #[test]
    fn negative_values_end_at_zero_from_the_left() {
        let page = bars(vec![bar("gain", 30.0, 5.0), bar("loss", -20.0, 5.0)], 9).page("it");
        let (lengths, starts) = (numbers(&page, "width"), numbers(&page, "x"));
        for frame in [0, 2] {
            let zero = starts[frame];
            assert!((starts[frame + 1] + lengths[frame + 1] - zero).abs() < 0.11);
            assert!((lengths[frame] / lengths[frame + 1] - 1.5).abs() < 0.01);
            let axis = values(&page, "chart-axis", "d")[frame / 2];
            assert!(axis.starts_with(&format!("M{} ", tenth(zero))), "{axis} at {zero}");
        }
        assert!(page.contains(">−20</text>"));
    }

    #[test]
    fn an_interval_runs_from_its_low_end_to_its_high_end() {
        let turned = Bar { label: "turned".to_owned(), value: 50.0, low: 60.0, high: 40.0 };
        let page = bars(vec![bar("row", 50.0, 10.0), turned, bar("all", 100.0, 0.0)], 9).page("it");
        let spans = values(&page, "chart-span", "d");
        let ends = |path: &str| {
            let (from, rest) = path[1..].split_once(' ').expect("a start");
            let wide = rest.split('h').nth(1).and_then(|rest| rest.split('m').next());
            let number = |text: &str| text.parse::<f64>().expect("a number");
            (number(from), number(wide.expect("a width")))
        };
        let (bar, start) = (numbers(&page, "width")[2], numbers(&page, "x")[2]);
        for span in &spans[..2] {
            let (from, wide) = ends(span);
            assert!((from - start - 0.4 * bar).abs() < 0.2 && (wide - 0.2 * bar).abs() < 0.2);
        }
    }

    #[test]
    fn a_long_label_is_cut_and_whole_in_the_title() {
        let long = "a label far longer than any column of a page could have room for, ever";
        let page = bars(vec![bar(long, 1.0, 0.5)], 9).page("it");
        assert_eq!(page.matches(&format!("<title>{long}: 1, from 0.5 to 1.5</title>")).count(), 2);
        assert!(page.contains("…</text>") && !page.contains(&format!(">{long}</text>")));
    }

    #[test]
    fn hostile_labels_stay_texts() {
        let mut it = bars(vec![bar(HOSTILE, 1.0, 0.5)], 9);
        (it.title, it.label) = (HOSTILE.to_owned(), HOSTILE.to_owned());
        assert_fit_for_a_page(&it.page(HOSTILE));
    }

    #[test]
    fn no_more_rows_than_asked_are_drawn_and_the_rest_counted() {
        let rows: Vec<_> = (0..40).map(|i| bar("row", f64::from(i), 1.0)).collect();
        for (most, drawn, more) in [(40, 40, 0), (41, 40, 0), (6, 6, 2), (1, 1, 2)] {
            let page = bars(rows.clone(), most).page("it");
            assert_eq!(values(&page, "chart-bar", "x").len(), 2 * drawn);
            assert_eq!(page.matches(&format!(">and {} more<", 40 - drawn)).count(), more);
        }
    }

    #[test]
    fn values_that_are_no_numbers_have_no_bars_and_no_rows_are_no_data() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for value in odd {
            let rows = vec![bar("odd", value, 1.0), bar("row", 1.0, value)];
            for rows in [rows.clone(), rows[..1].to_vec()] {
                let page = bars(rows.clone(), 9).page("it");
                assert_fit_for_a_page(&page);
                assert_eq!(values(&page, "chart-bar", "x").len(), 2 * (rows.len() - 1));
                assert!(values(&page, "chart-span", "d").is_empty());
                assert_eq!(page.matches(">no data</text>").count(), 2);
            }
        }
        for most in [0, 9] {
            let page = bars(vec![], most).page("it");
            assert_fit_for_a_page(&page);
            assert_eq!(page.matches(">no data</text>").count(), 2);
        }
    }

    #[test]
    fn the_largest_floats_stay_within_the_picture() {
        for value in [f64::MAX, f64::MIN, 1e300, 5e-324] {
            let page = bars(vec![bar("row", value, 1.0), bar("row", 1.0, f64::MAX)], 9).page("it");
            assert_fit_for_a_page(&page);
            let ends = numbers(&page, "x").into_iter().zip(numbers(&page, "width"));
            assert!(ends.into_iter().all(|(x, wide)| x >= 0.0 && x + wide <= 900.0), "{value}");
        }
    }

    #[test]
    fn a_little_below_zero_takes_a_little_of_the_width() {
        let rows = vec![bar("many", 2_000.0, 20.0), bar("none", -5.0, 20.0)];
        let page = bars(rows, 9).page_of("it", 4_000.0);
        assert_fit_for_a_page(&page);
        let (from, wide) = (numbers(&page, "x"), numbers(&page, "width"));
        let longest = wide.iter().copied().fold(0.0, f64::max);
        assert!(longest > 600.0, "{from:?} {wide:?}");
        assert!(page.contains(">2,000 · 50 %<") && page.contains(">−5 · −0.1 %<"), "{page}");
    }

    #[test]
    fn a_thousand_bars_are_light() {
        let row = |i: u32| bar(&format!("category {i}"), 1e4 / f64::from(i + 1), 20.0);
        let page = bars((0..1000).map(row).collect(), 1000).page("it");
        assert_fit_for_a_page(&page);
        println!("1,000 bars: {} bytes", page.len());
        assert!(page.len() < 600_000);
    }
}
