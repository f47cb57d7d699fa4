//! Line charts as self-contained SVG, and the plotted numbers as CSV.
//!
//! The layout measures its texts with a table of rough glyph widths, so a chart needs no font at
//! hand. The estimates lean wide, because white space does less harm than an overlap.

mod span;

use span::{BLEED, Span, Tick};

/// A line chart: series of points over two labelled axes.
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
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// How values map to positions.
    pub scale: Scale,
    /// The interval to show, its ends in either order; `None`, or an interval the scale cannot
    /// show (empty, not finite, not positive on a log axis), fits the data.
    pub range: Option<(f64, f64)>,
}

/// How an axis maps values to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equal distances.
    Linear,
    /// Equal ratios are equal distances; only positive values have a position.
    Log,
}

/// A named sequence of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name in the legend; an unnamed series has no legend entry.
    pub name: String,
    /// How the points are drawn.
    pub stroke: Stroke,
    /// The points, joined in this order; one without a position on the axes interrupts the line.
    pub points: Vec<(f64, f64)>,
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stroke {
    /// An unbroken line.
    Solid,
    /// A line of dashes.
    Dashed,
    /// A line of round dots.
    Dotted,
    /// The points alone, without a line.
    Markers,
}

impl Chart {
    /// The chart as a self-contained SVG 1.1 document.
    pub fn svg(&self) -> String {
        let names: Vec<_> = self.series.iter().map(|s| wrap(&s.name, NAME_ROOM)).collect();
        let title = wrap(&self.title, TITLE_ROOM);
        let (x_label, y_label) =
            (wrap(&self.x.label, PLOT_HEIGHT), wrap(&self.y.label, PLOT_HEIGHT));
        let rise = |lines: &[String]| lines.len() as f64 * LINE;
        let top = EDGE + rise(&title) + EDGE;
        let bottom = top + PLOT_HEIGHT.max(names.iter().map(|name| rise(name) + GAP).sum());
        let height = bottom + GAP + LINE + rise(&x_label) + EDGE;

        let points = self.series.iter().flat_map(|series| &series.points);
        let points = points.filter(|(x, y)| self.x.scale.admits(*x) && self.y.scale.admits(*y));
        let y = Span::new(&self.y, points.clone().map(|point| point.1), (bottom, top));
        let rows = y.ticks(|_| LINE);
        let left = EDGE + rise(&y_label) + GAP + widest(rows.iter().map(Tick::width)) + GAP;
        let names_width = widest(names.iter().flatten().map(|line| width(line)));
        let legend = LEGEND_GAP + SWATCH + GAP + names_width + EDGE;
        let right = (WIDTH - legend).max(left + LEAST_PLOT);
        let width = px(right + legend);
        let x = Span::new(&self.x, points.map(|point| point.0), (left, right));
        let columns = x.ticks(|tick| tick.width() + LINE);

        // A little outside the plot, so that a line along its edge keeps its width.
        let [l, t] = [left, top].map(|edge| px(edge - BLEED));
        let [r, b] = [right, bottom].map(|edge| px(edge + BLEED));
        // Charts inlined into one page share its identifiers; this one is the same for the same
        // clip only.
        let name = format!("clip-{l}-{t}-{r}-{b}");
        let clip = format!(r#" clip-path="url(#{name})""#);
        let size = format!(r#"width="{width}" height="{height}""#);
        let mut parts = vec![
            format!(r#"<svg xmlns="http://www.w3.org/2000/svg" version="1.1" role="img" {size}"#),
            format!(r#"viewBox="0 0 {width} {height}" {FONT} font-size="{TEXT}" fill="{INK}">"#),
            format!("<title>{}</title>", escape(&self.title)),
            format!(r#"<rect {size} fill="{PAPER}"/>"#),
            format!(r#"<clipPath id="{name}"><path d="M{l} {t}H{r}V{b}H{l}z"/></clipPath>"#),
        ];
        parts.extend(grid(&x, &y, &columns, &rows));
        // Lines under dashes under dots under markers: where series coincide, all stay visible.
        let mut order: Vec<_> = self.series.iter().enumerate().collect();
        order.sort_by_key(|(_, series)| series.stroke);
        for (index, series) in order {
            let (path, style) = (series.path(index, &x, &y), style(series.stroke, index));
            // Markers at an edge show whole: those outside are left out instead of clipped.
            let cut = if series.stroke == Stroke::Markers { "" } else { &*clip };
            parts.push(format!(r#"<path d="{path}" {style}{cut}/>"#));
        }

        parts.push(text((left, EDGE + LINE), TITLE, &title));
        let (middle, centre) = (f64::midpoint(left, right), px(f64::midpoint(top, bottom)));
        parts.push(text((middle, bottom + GAP + 2.0 * LINE), MIDDLE, &x_label));
        let turn = format!(r#"{MIDDLE} transform="translate({EDGE} {centre}) rotate(-90)""#);
        parts.push(text((0.0, 0.6 * LINE), &turn, &y_label));
        let (start, mut down) = (right + LEGEND_GAP, top + LINE);
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            parts.push(swatch(self.series[index].stroke, index, (start, down - 4.5)));
            parts.push(text((start + SWATCH + GAP, down), "", name));
            down += rise(name) + GAP;
        }
        parts.push("</svg>\n".to_owned());
        parts.join("\n")
    }

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
}

impl Scale {
    /// Whether a value has a position on an axis of this scale.
    fn admits(self, value: f64) -> bool {
        value.is_finite() && (self == Self::Linear || value > 0.0)
    }
}

impl Tick {
    fn width(&self) -> f64 {
        let (number, raised) = self.label.split_once('^').unwrap_or((&self.label, ""));
        width(number) + width(raised) * RAISED / TEXT
    }

    /// The label at its place.
    fn text(&self, (x, y): (f64, f64), style: &str) -> String {
        let label = self.label.split_once('^').map(|(number, raised)| {
            format!(r#"{number}<tspan dy="-5" font-size="{RAISED}">{raised}</tspan>"#)
        });
        let label = label.as_ref().unwrap_or(&self.label);
        format!(r#"<text x="{}" y="{}" {style}>{label}</text>"#, px(x), px(y))
    }
}

impl Series {
    /// The path through each run of points that have a position, or of their markers.
    fn path(&self, index: usize, x: &Span, y: &Span) -> String {
        let mut path = String::new();
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
}

/// The grid, the axes and the tick labels.
fn grid(x: &Span, y: &Span, columns: &[Tick], rows: &[Tick]) -> Vec<String> {
    let (left, right, top, bottom) = (x.from, px(x.to), px(y.to), y.from);
    let (mut minor, mut major, mut labels) = (String::new(), String::new(), vec![]);
    for tick in columns {
        let at = x.place(tick.value);
        if tick.label.is_empty() {
            minor.extend(["M", &px(at), " ", &px(bottom), "V", &top]);
        } else {
            major.extend(["M", &px(at), " ", &px(bottom + MARK), "V", &top]);
            labels.push(tick.text((at, bottom + GAP + 0.6 * LINE), MIDDLE));
        }
    }
    for tick in rows {
        let at = y.place(tick.value);
        if tick.label.is_empty() {
            minor.extend(["M", &px(left), " ", &px(at), "H", &right]);
        } else {
            major.extend(["M", &px(left - MARK), " ", &px(at), "H", &right]);
            labels.push(tick.text((left - GAP, at + 4.5), r#"text-anchor="end""#));
        }
    }
    let axes = format!("M{} {top}V{}H{right}", px(left), px(bottom));
    let lines = [(minor, MINOR_GRID), (major, MAJOR_GRID), (axes, AXIS)];
    let draw = |(d, colour)| format!(r#"<path d="{d}" fill="none" stroke="{colour}"/>"#);
    lines.into_iter().map(draw).chain(labels).collect()
}

/// The sample of a series in the legend, from the left end of its middle line.
fn swatch(stroke: Stroke, index: usize, (x, y): (f64, f64)) -> String {
    let path = match stroke {
        Stroke::Markers => format!("M{} {}{}", px(x + SWATCH / 2.0), px(y), marker(index)),
        _ => format!("M{} {}h{SWATCH}", px(x), px(y)),
    };
    format!(r#"<path d="{path}" {}/>"#, style(stroke, index))
}

/// How the series at this place is drawn. Past the palette its colours return with thinner lines,
/// and with other markers.
fn style(stroke: Stroke, index: usize) -> String {
    let colour = PALETTE[index % PALETTE.len()];
    let (width, dash) = match stroke {
        Stroke::Solid => (2.2, "none"),
        Stroke::Dashed => (2.0, "7 6"),
        Stroke::Dotted => (3.0, "0.01 6"),
        Stroke::Markers => return format!(r#"fill="{colour}""#),
    };
    let width = if (index / PALETTE.len()).is_multiple_of(2) { width } else { width / 2.0 };
    let ends = r#"stroke-linecap="round" stroke-linejoin="round" fill="none""#;
    format!(r#"{ends} stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}""#)
}

/// The marker of the series at this place.
fn marker(index: usize) -> &'static str {
    MARKERS[index % MARKERS.len()]
}

/// The greatest of some widths, or nothing.
fn widest(widths: impl Iterator<Item = f64>) -> f64 {
    widths.fold(0.0, f64::max)
}

/// About how wide a text is, by the widest of the common sans-serif fonts.
fn width(text: &str) -> f64 {
    let em = |glyph: char| match glyph {
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '&' | '\u{2e80}'.. => 1.0,
        'f' | 'i' | 'j' | 'l' | 'r' | 't' | ' '..='/' | ':' | ';' | '[' | ']' | '|' => 0.43,
        'A'..='Z' => 0.76,
        _ if glyph.is_alphanumeric() => 0.64,
        _ => 0.84,
    };
    text.chars().map(em).sum::<f64>() * TEXT
}

/// The words of a text in lines no wider than the room, unless a single word is.
fn wrap(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(word) <= room => {
                line.extend([" ", word]);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Lines of text, the first on this baseline.
fn text((x, y): (f64, f64), style: &str, lines: &[String]) -> String {
    let lines = lines.iter().enumerate().map(|(row, line)| {
        let (x, y) = (px(x), px(y + row as f64 * LINE));
        format!(r#"<tspan x="{x}" y="{y}">{}</tspan>"#, escape(line))
    });
    format!("<text {style}>{}</text>", lines.collect::<Vec<_>>().concat())
}

/// A text as markup, which cannot hold control characters.
fn escape(text: &str) -> String {
    let text = text.replace(|c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}', " ");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A CSV field, quoted where RFC 4180 asks for it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// A coordinate to a hundredth of a pixel; adding zero turns a negative zero positive.
fn px(value: f64) -> String {
    format!("{}", (value * 100.0).round() / 100.0 + 0.0)
}

// Sizes in pixels.
const WIDTH: f64 = 860.0;
const LEAST_PLOT: f64 = 440.0;
const PLOT_HEIGHT: f64 = 410.0;
const EDGE: f64 = 14.0;
const MARK: f64 = 5.0;
const GAP: f64 = 8.0;
const TITLE_ROOM: f64 = 560.0;
const NAME_ROOM: f64 = 190.0;
const LEGEND_GAP: f64 = 24.0;
const SWATCH: f64 = 30.0;
const LINE: f64 = 18.0;
const TEXT: f64 = 13.0;
const RAISED: f64 = 9.5;

const FONT: &str = r#"font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif""#;
const TITLE: &str = r#"font-size="16""#;
const MIDDLE: &str = r#"text-anchor="middle""#;
const INK: &str = "#222";
const PAPER: &str = "#fff";
const AXIS: &str = "#555";
const MAJOR_GRID: &str = "#d8d8d8";
const MINOR_GRID: &str = "#efefef";
/// The palette of Okabe and Ito, which the colour-blind can tell apart, without its yellow, which
/// is faint on white.
const PALETTE: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Marker outlines, as paths from the point: circle, square, triangle, diamond.
const MARKERS: [&str; 4] = [
    "m-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0 -7.6 0z",
    "m-3.4 -3.4h6.8v6.8h-6.8z",
    "m0 -4.8l4.4 7.6h-8.8z",
    "m0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z",
];
/// A circle around the point, so small that the width of the line fills it.
const DOT: &str = "m-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0";

#[cfg(test)]
mod tests {
    use super::span::{SLACK, decimal, exponent, step};
    use super::*;

    fn axis(scale: Scale, range: Option<(f64, f64)>) -> Axis {
        Axis { label: "quantity".to_owned(), scale, range }
    }

    fn series(name: &str, stroke: Stroke, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_owned(), stroke, points: points.to_vec() }
    }

    fn chart(scale: Scale, range: Option<(f64, f64)>, series: Vec<Series>) -> Chart {
        let title = "A chart".to_owned();
        Chart { title, x: axis(scale, range), y: axis(scale, range), series }
    }

    /// The data of the path of the first series.
    fn drawn(chart: &Chart) -> String {
        let (svg, colour) = (chart.svg(), PALETTE[0]);
        let of_series = |line: &&str| line.starts_with("<path") && line.contains(colour);
        let line = svg.lines().find(of_series).expect("a drawn series").to_owned();
        line.split('"').nth(1).expect("path data").to_owned()
    }

    /// Every value of an attribute, as a number.
    fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
        let key = format!(" {attribute}=\"");
        let values = svg.split(&key).skip(1).filter_map(|rest| rest.split('"').next());
        values.map(|value| value.parse().expect("a number")).collect()
    }

    /// Intervals of every size and place, from a fixed linear congruence.
    fn intervals() -> impl Iterator<Item = (f64, f64)> {
        let mut state = 1_u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..20_000).map(move |_| {
            let lo = (uniform() - 0.5) * 10_f64.powf(40.0 * uniform() - 20.0);
            (lo, lo + lo.abs() * 10_f64.powf(24.0 * uniform() - 13.0))
        })
    }

    fn fitted(scale: Scale, (lo, hi): (f64, f64)) -> Span {
        Span::new(&axis(scale, None), [lo, hi].into_iter(), (0.0, 600.0))
    }

    #[test]
    fn a_fitted_linear_axis_covers_the_data_from_tick_to_tick() {
        for (lo, hi) in intervals() {
            let span = fitted(Scale::Linear, (lo, hi));
            let forgiven = SLACK * (hi - lo) + 8.0 * f64::EPSILON * lo.abs().max(hi.abs());
            assert!(span.lo <= lo + forgiven && hi - forgiven <= span.hi, "{lo} to {hi}");
            let ticks = span.linear_ticks();
            assert_eq!((ticks[0].value, ticks[ticks.len() - 1].value), (span.lo, span.hi));
            assert!((4..=9).contains(&ticks.len()), "{} ticks for {lo} to {hi}", ticks.len());
        }
    }

    #[test]
    fn a_fitted_log_axis_covers_the_data_and_ends_at_one_two_or_five() {
        for (lo, hi) in intervals().map(|(lo, hi)| (lo.abs(), hi.abs())) {
            let (lo, hi) = (lo.min(hi), lo.max(hi));
            let span = fitted(Scale::Log, (lo, hi));
            assert!(span.lo <= lo * (1.0 + SLACK) && hi * (1.0 - SLACK) <= span.hi);
            for end in [span.lo, span.hi] {
                let digit = end / decimal(1, exponent(end));
                assert!([1.0, 2.0, 5.0].iter().any(|d| (digit - d).abs() < 1e-6), "{end}");
            }
            assert!(lo / span.lo < 2.6 && span.hi / hi < 2.6 || hi / lo < 1.0 + 1e-9);
        }
    }

    #[test]
    fn an_axis_fits_exactly_data_that_ends_on_round_numbers_far_from_zero() {
        let span = fitted(Scale::Linear, (1.0, 1.00000001));
        assert_eq!((span.lo, span.hi), (1.0, 1.00000001));
        assert_eq!(span.linear_ticks().len(), 6);
    }

    #[test]
    fn an_asked_range_is_kept_and_its_ticks_reach_within_a_step_of_its_ends() {
        for (a, b) in [(0.3, 1.9), (-7.0, 1234.5), (9.0, -2.0), (1e-7, 3.3e-7)] {
            let span = Span::new(&axis(Scale::Linear, Some((a, b))), [5.0].into_iter(), (0.0, 1.0));
            assert_eq!((span.lo, span.hi), (a.min(b), a.max(b)));
            let ticks = span.linear_ticks();
            let (digit, power) = step(span.hi - span.lo);
            let size = decimal(digit, power);
            assert!((0.0..size).contains(&(ticks[0].value - span.lo)));
            assert!((0.0..size).contains(&(span.hi - ticks[ticks.len() - 1].value)));
        }
    }

    #[test]
    fn a_range_the_scale_cannot_show_gives_way_to_the_data() {
        for range in [(-1.0, 10.0), (0.0, 10.0), (3.0, 3.0), (1.0, f64::NAN), (1.0, f64::INFINITY)]
        {
            let asking = axis(Scale::Log, Some(range));
            let span = Span::new(&asking, [20.0, 500.0].into_iter(), (0.0, 1.0));
            assert_eq!((span.lo, span.hi), (20.0, 500.0), "{range:?}");
        }
    }

    #[test]
    fn tick_labels_keep_their_distance() {
        for scale in [Scale::Linear, Scale::Log] {
            for ends in intervals().map(|(lo, hi)| (lo.abs(), hi.abs())) {
                let span = fitted(scale, ends);
                let ticks = span.ticks(|tick| tick.width() + LINE);
                let labelled: Vec<_> = ticks.iter().filter(|tick| !tick.label.is_empty()).collect();
                assert!(labelled.len() >= 2, "{ends:?}");
                for pair in labelled.windows(2) {
                    let apart = span.place(pair[1].value) - span.place(pair[0].value);
                    let halves = f64::midpoint(pair[0].width(), pair[1].width());
                    assert!(apart > halves + LINE / 2.0, "{} {}", pair[0].label, pair[1].label);
                }
            }
        }
    }

    #[test]
    fn labels_of_one_axis_are_all_different() {
        for ends in intervals() {
            let span = fitted(Scale::Linear, ends);
            let mut labels: Vec<_> = span.linear_ticks().into_iter().map(|t| t.label).collect();
            let count = labels.len();
            labels.sort();
            labels.dedup();
            assert_eq!(labels.len(), count, "{labels:?}");
        }
    }

    fn labels(span: &Span) -> Vec<String> {
        let labels = span.ticks(|_| LINE).into_iter().map(|tick| tick.label);
        labels.filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn a_log_axis_labels_decades_and_raises_exponents_from_three_on() {
        let span = fitted(Scale::Log, (1e-4, 1e3));
        assert_eq!(labels(&span), ["10^−4", "10^−3", "0.01", "0.1", "1", "10", "100", "10^3"]);
        assert_eq!(span.log_ticks().iter().filter(|tick| tick.label.is_empty()).count(), 7 * 8);
        let svg = chart(Scale::Log, Some((1e-4, 1e3)), vec![]).svg();
        assert!(svg.contains(r#">10<tspan dy="-5" font-size="9.5">−4</tspan></text>"#));
    }

    #[test]
    fn a_log_axis_of_hundreds_of_decades_labels_round_exponents_only() {
        let span = fitted(Scale::Log, (1e-200, 1.0));
        let expected = ["10^−200", "10^−150", "10^−100", "10^−50", "1"];
        assert_eq!(labels(&span), expected);
        assert_eq!(span.log_ticks().len(), expected.len());
    }

    #[test]
    fn a_short_log_axis_labels_one_two_and_five() {
        assert_eq!(labels(&fitted(Scale::Log, (0.5, 20.0))), ["0.5", "1", "2", "5", "10", "20"]);
        let small = fitted(Scale::Log, (2e-4, 1e-3));
        assert_eq!(labels(&small), ["2×10^−4", "5×10^−4", "10^−3"]);
    }

    #[test]
    fn a_log_axis_within_one_digit_has_the_ticks_of_a_linear_one() {
        let asking = axis(Scale::Log, Some((3.0, 4.0)));
        let span = Span::new(&asking, std::iter::empty(), (0.0, 600.0));
        assert_eq!(labels(&span), ["3.0", "3.2", "3.4", "3.6", "3.8", "4.0"]);
    }

    #[test]
    fn linear_labels_share_their_decimals_or_turn_to_powers_of_ten() {
        assert_eq!(
            labels(&fitted(Scale::Linear, (-0.5, 1.0))),
            ["−0.6", "−0.4", "−0.2", "0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(&fitted(Scale::Linear, (-5e5, 1.5e6))),
            ["−5×10^5", "0", "5×10^5", "10^6", "1.5×10^6"]
        );
    }

    #[test]
    fn points_without_a_position_break_the_line() {
        for (scale, missing) in
            [(Scale::Linear, f64::NAN), (Scale::Linear, f64::INFINITY), (Scale::Log, 0.0)]
        {
            let points = [(1.0, 1.0), (2.0, 2.0), (3.0, missing), (4.0, 4.0), (5.0, 5.0)];
            let gapped = chart(scale, None, vec![series("a", Stroke::Solid, &points)]);
            let path = drawn(&gapped);
            assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 2), "{path}");
            let whole: Vec<_> = points.into_iter().filter(|point| point.1 != missing).collect();
            let whole = chart(scale, None, vec![series("a", Stroke::Solid, &whole[..2])]);
            assert_eq!(drawn(&whole).matches('M').count(), 1);
        }
    }

    #[test]
    fn a_point_alone_between_gaps_shows_as_a_dot() {
        let points = [(1.0, 1.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, f64::NAN)];
        let path = drawn(&chart(Scale::Linear, None, vec![series("a", Stroke::Dashed, &points)]));
        assert_eq!(path.matches(DOT).count(), 2);
        assert!(!path.contains('L'));
    }

    #[test]
    fn markers_outside_the_range_are_left_out_and_those_on_its_edge_are_not() {
        let points = [(0.0, 0.0), (0.5, 1.0), (0.5, 1.1), (-3.0, 0.5), (1e300, 0.5)];
        let markers = vec![series("a", Stroke::Markers, &points)];
        let path = drawn(&chart(Scale::Linear, Some((0.0, 1.0)), markers));
        assert_eq!(path.matches(MARKERS[0]).count(), 2);
    }

    #[test]
    fn lines_are_clipped_by_the_clip_that_the_document_defines() {
        let line = vec![series("a", Stroke::Solid, &[(0.0, 0.0), (1.0, 5.0)])];
        let svg = chart(Scale::Linear, Some((0.0, 1.0)), line).svg();
        let name = svg.split("clipPath id=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert!(svg.contains(&format!("clip-path=\"url(#{})\"", name.expect("a clip"))));
    }

    #[test]
    fn texts_are_escaped_in_every_place() {
        let hostile = "a<b> & \"c\"\u{0}]]>";
        let mut it =
            chart(Scale::Linear, None, vec![series(hostile, Stroke::Solid, &[(0.0, 0.0)])]);
        (it.title, it.x.label, it.y.label) = (hostile.into(), hostile.into(), hostile.into());
        let svg = it.svg();
        assert_eq!(svg.matches("a&lt;b&gt; &amp; \"c\"").count(), 5);
        assert!(!svg.contains("<b>") && !svg.contains("]]>") && !svg.contains('\0'));
    }

    #[test]
    fn the_legend_stands_right_of_the_plot_and_within_the_picture() {
        let long = "a name of a good many words that cannot stand on a single line";
        let word = "an_identifier_without_any_place_at_which_it_could_be_broken_into_lines";
        for name in ["short", long, word] {
            let named: Vec<_> =
                (0..12).map(|_| series(name, Stroke::Markers, &[(0.0, 0.0), (1.0, 1.0)])).collect();
            let svg = chart(Scale::Linear, None, named).svg();
            let clip = svg.split("clipPath").nth(1).expect("a clip");
            let edge = |mark: char| {
                let number = clip.split(mark).nth(1).expect("an edge");
                let end = number.find(|c: char| !c.is_ascii_digit() && c != '.');
                number[..end.expect("an end")].parse::<f64>().expect("a number")
            };
            let (left, right, bottom) = (edge('M'), edge('H'), edge('V'));
            assert!(right - left > LEAST_PLOT);
            let (picture, tall) = (numbers(&svg, "width")[0], numbers(&svg, "height")[0]);
            let entries: Vec<&str> = svg.split("<text >").skip(1).collect();
            assert_eq!(entries.len(), 12);
            for line in entries.iter().flat_map(|entry| {
                let entry = entry.split("</text>").next().expect("an entry");
                entry.split("<tspan").skip(1).collect::<Vec<_>>()
            }) {
                let (x, y) = (numbers(line, "x")[0], numbers(line, "y")[0]);
                let name = line.split(['>', '<']).nth(1).expect("a line");
                assert!(x > right + SWATCH && x + width(name) < picture, "{line}");
                assert!(y < bottom && bottom < tall, "{line}");
            }
        }
    }

    #[test]
    fn a_chart_without_drawable_points_still_has_labelled_axes() {
        for scale in [Scale::Linear, Scale::Log] {
            let nothing =
                series("nothing", Stroke::Solid, &[(f64::NAN, 1.0), (1.0, f64::INFINITY)]);
            for all in [vec![], vec![nothing]] {
                let svg = chart(scale, None, all).svg();
                assert!(svg.matches("text-anchor=\"end\"").count() >= 4);
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
            }
        }
    }

    #[test]
    fn a_constant_series_runs_inside_the_plot() {
        for (scale, value) in [(Scale::Linear, 0.0), (Scale::Linear, -3.0), (Scale::Log, 1e-12)] {
            let span = fitted(scale, (value, value));
            assert!(span.lo < value && value < span.hi);
            let noisy = fitted(scale, (value, value + value.abs() * 1e-15));
            assert_eq!((noisy.lo, noisy.hi), (span.lo, span.hi));
        }
    }

    #[test]
    fn the_largest_and_smallest_floats_have_finite_coordinates() {
        let extremes = [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 0.0, -5e-324, 1.0];
        for scale in [Scale::Linear, Scale::Log] {
            for a in extremes {
                for b in extremes {
                    let line = vec![series("a", Stroke::Solid, &[(a, b), (b, a)])];
                    for range in [None, Some((a, b)), Some((1.0, 1.0 + 1e-11))] {
                        let svg = chart(scale, range, line.clone()).svg();
                        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn coordinates_have_two_decimals_at_most() {
        let points: Vec<_> = (1..50).map(|i| (f64::from(i).sqrt(), 1.0 / f64::from(i))).collect();
        let svg = chart(Scale::Log, None, vec![series("a", Stroke::Solid, &points)]).svg();
        for fraction in svg.split('.').skip(2) {
            let digits = fraction.chars().take_while(char::is_ascii_digit).count();
            assert!(digits <= 2, ".{}", &fraction[..digits]);
        }
        assert_eq!((px(-0.001), px(1e-9 + 2.0)), ("0".to_owned(), "2".to_owned()));
    }

    #[test]
    fn series_past_the_palette_do_not_look_like_earlier_ones() {
        for stroke in [Stroke::Solid, Stroke::Dashed, Stroke::Dotted, Stroke::Markers] {
            let mut looks: Vec<_> =
                (0..2 * PALETTE.len()).map(|i| swatch(stroke, i, (0.0, 0.0))).collect();
            looks.sort();
            looks.dedup();
            assert_eq!(looks.len(), 2 * PALETTE.len());
        }
    }

    #[test]
    fn lines_are_drawn_under_markers_whatever_their_order() {
        let ends = [(0.0, 0.0), (1.0, 1.0)];
        let both = vec![series("m", Stroke::Markers, &ends), series("s", Stroke::Solid, &ends)];
        let svg = chart(Scale::Linear, None, both).svg();
        assert!(svg.find(PALETTE[1]) < svg.find(PALETTE[0]));
    }

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
