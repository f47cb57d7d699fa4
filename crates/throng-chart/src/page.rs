//! A chart as a part of a web page: classes in place of colours and fonts, and no fixed size.
//!
//! A picture that shrinks with its page shrinks its letters too. So each comes in two frames, wide
//! and narrow, and the style sheet shows the one that its column has room for.

use crate::chart::{Chart, NO_DATA, Series, Stroke};
use crate::marks::{line_width, marker};
use crate::span::{BLEED, Span, Tick};
use crate::text::{self, LINE, TEXT, cut, escape, tenth, widest, width};

impl Chart {
    /// The chart for a page whose style sheet holds [`CSS`](crate::CSS). Its identifiers are `id`
    /// and `id-narrow` with an ending, so no other chart of the page may have these; characters
    /// other than letters, digits, `-` and `_` become `-`.
    ///
    /// The title is what assistive technology calls the chart, and is not drawn: a page has
    /// headings of its own. The names of limits stand on their lines, those of other series below.
    pub fn page(&self, id: &str) -> String {
        frames(id, |id, frame| self.framed(id, frame))
    }

    fn framed(&self, id: &str, frame: &Frame) -> String {
        let label = text::lines(&self.y.label, frame.width);
        let label_part = lines((0.0, TEXT), r#"class="chart-text chart-label""#, &label);
        let names = (&*self.title, &*self.description());
        if self.drawn().next().is_none() {
            let down = (label.len() + 1) as f64 * LINE;
            let parts = label_part + &line((0.0, down), r#"class="chart-text""#, NO_DATA);
            return picture(id, frame, down + GAP, "img", names, &parts);
        }
        let top = label.len() as f64 * LINE + self.readout(&label, frame) + TOP;
        let bottom = top + frame.plot;
        let y = self.upward((bottom, top));
        let rows = y.ticks(|_| ROW);
        let left = widest(rows.iter().map(Tick::width)) + GAP;
        let x = self.across((left, frame.width - MARGIN));
        let columns = x.ticks(|tick| tick.width() + LINE);
        let (clip, clip_part) = clip(id, &x, &y);
        let mut parts = vec![label_part, grid(&x, &y, &columns, &rows, frame), clip_part];
        parts.push(self.lines(&x, &y, &clip));
        parts.extend(self.series.iter().enumerate().map(|(index, series)| match series.stroke {
            Stroke::Limit => limit_names(series, &x, &y),
            _ => points(series, index, &x, &y, (frame.width, top - TOP - LINE + TEXT)),
        }));
        let mut down = bottom + GAP + LINE;
        let name = text::lines(&self.x.label, frame.width - left);
        let middle = (f64::midpoint(x.from, x.to), down + LINE);
        parts.push(lines(middle, r#"class="chart-text" text-anchor="middle""#, &name));
        down += name.len() as f64 * LINE + GAP;
        let (legend, height) = self.legend(left, down, frame);
        parts.push(legend);
        let noted = self.series.iter().any(|series| series.notes.iter().any(|n| !n.is_empty()));
        // What is inside an `img` cannot be focused.
        let role = if noted { "group" } else { "img" };
        picture(id, frame, height, role, names, &parts.concat())
    }

    /// The height of the row for notes: nothing, if they fit beside the label or there are none.
    fn readout(&self, label: &[String], frame: &Frame) -> f64 {
        let notes = self.series.iter().flat_map(|series| &series.notes);
        let room = widest(notes.map(|note| width(note)));
        let taken = label.last().map_or(0.0, |line| width(line) + GAP);
        let fits = room == 0.0 || !label.is_empty() && taken + room <= frame.width;
        if fits { 0.0 } else { LINE }
    }

    /// The bands, and over them the lines: dashes over lines, dots over dashes, so that where
    /// series coincide, all stay visible.
    fn lines(&self, x: &Span, y: &Span, clip: &str) -> String {
        let mut order: Vec<_> = self.series.iter().enumerate().collect();
        order.sort_by_key(|(_, series)| series.stroke);
        let bands = order.iter().filter(|(_, series)| !series.band.is_empty());
        let bands = bands.map(|(index, series)| {
            let (path, colour) = (series.area(x, y, tenth), colour(*index));
            format!(r#"<path class="chart-band {colour}"{clip} d="{path}"/>"#)
        });
        let lines = order.iter().map(|(index, series)| {
            // Markers at an edge show whole: those outside are left out instead of clipped.
            let clip = if series.stroke == Stroke::Markers { "" } else { clip };
            let (path, style) = (series.path(*index, x, y, tenth), style(series.stroke, *index));
            format!(r#"<path {style}{clip} d="{path}"/>"#)
        });
        bands.chain(lines).collect()
    }

    /// The names of the series in rows from this height on, and the height where they end.
    fn legend(&self, left: f64, top: f64, frame: &Frame) -> (String, f64) {
        let (mut across, mut down, mut legend) = (left, top + TEXT, String::new());
        let named = self.series.iter().enumerate();
        let mut named =
            named.filter(|(_, s)| s.stroke != Stroke::Limit && !s.name.is_empty()).peekable();
        if named.peek().is_none() {
            return (legend, top);
        }
        for (index, series) in named {
            let name = cut(&series.name, frame.width - left - SWATCH - GAP);
            let wide = SWATCH + GAP + width(&name);
            if across > left && across + wide > frame.width {
                (across, down) = (left, down + LINE + GAP / 2.0);
            }
            legend += &swatch(series, index, (across, down - 4.5));
            let at = (across + SWATCH + GAP, down);
            legend += &titled(line(at, r#"class="chart-text""#, &name), &series.name, &name);
            across += wide + 2.0 * GAP;
        }
        (legend, down + GAP)
    }
}

/// One of the two shapes of a picture.
pub(crate) struct Frame {
    class: &'static str,
    suffix: &'static str,
    pub(crate) width: f64,
    /// The height of a plot.
    plot: f64,
    /// True if the label of a row stands above it instead of beside it.
    pub(crate) stacked: bool,
}

/// A picture in both frames.
pub(crate) fn frames(id: &str, draw: impl Fn(&str, &Frame) -> String) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let id: String = id.chars().map(plain).collect();
    let both = FRAMES.map(|frame| draw(&format!("{id}{}", frame.suffix), &frame));
    format!("<div class=\"chart-frame\">\n{}</div>\n", both.concat())
}

/// The element around the parts of a picture, with its name and its description.
pub(crate) fn picture(
    id: &str,
    frame: &Frame,
    height: f64,
    role: &str,
    (title, description): (&str, &str),
    parts: &str,
) -> String {
    let (class, wide, high) = (frame.class, tenth(frame.width), tenth(height));
    let (title, description) = (escape(title), escape(description));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {class}\" role=\"{role}\" \
         viewBox=\"0 0 {wide} {high}\" font-size=\"{TEXT}\" \
         aria-labelledby=\"{id}-title {id}-desc\">\n\
         <title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-desc\">{description}</desc>\n\
         {parts}</svg>\n"
    )
}

/// One line of text on this baseline.
pub(crate) fn line((x, y): (f64, f64), style: &str, text: &str) -> String {
    format!("<text {style} x=\"{}\" y=\"{}\">{}</text>\n", tenth(x), tenth(y), escape(text))
}

/// The text inside an element again, in whole, if what is shown of it is less.
pub(crate) fn titled(element: String, whole: &str, shown: &str) -> String {
    if whole == shown {
        return element;
    }
    format!("<g><title>{}</title>{element}</g>", escape(whole))
}

/// Lines of text, the first on this baseline.
fn lines((x, y): (f64, f64), style: &str, lines: &[String]) -> String {
    let rows = lines.iter().enumerate();
    rows.map(|(row, text)| line((x, y + row as f64 * LINE), style, text)).collect()
}

/// Level grid lines, the axis below, and the tick labels.
fn grid(x: &Span, y: &Span, columns: &[Tick], rows: &[Tick], frame: &Frame) -> String {
    let (left, right, bottom) = (tenth(x.from), tenth(x.to), tenth(y.from));
    let (mut level, mut marks, mut labels) = (String::new(), String::new(), String::new());
    for tick in rows.iter().filter(|tick| !tick.label.is_empty()) {
        let at = y.place(tick.value);
        level.extend(["M", &left, " ", &tenth(at), "H", &right]);
        let style = r#"class="chart-text" text-anchor="end""#;
        labels += &tick.text((x.from - GAP, at + 4.5), style);
    }
    for tick in columns.iter().filter(|tick| !tick.label.is_empty()) {
        let (at, half) = (x.place(tick.value), tick.width() / 2.0);
        marks.extend(["M", &tenth(at), " ", &bottom, "v", &tenth(MARK)]);
        // At the edge a label moves inward, rather than out of the picture.
        let centre = at.min(frame.width - half);
        let style = r#"class="chart-text" text-anchor="middle""#;
        labels += &tick.text((centre, y.from + GAP + TEXT), style);
    }
    format!(
        "<path class=\"chart-grid\" d=\"{level}\"/>\n\
         <path class=\"chart-axis\" d=\"M{left} {bottom}H{right}{marks}\"/>\n{labels}\n"
    )
}

/// The attribute of what ends at the edge of the plot, and that edge.
fn clip(id: &str, x: &Span, y: &Span) -> (String, String) {
    // A little outside the plot, so that a line along its edge keeps its width.
    let [l, t] = [x.from, y.to].map(|edge| tenth(edge - BLEED));
    let [r, b] = [x.to, y.from].map(|edge| tenth(edge + BLEED));
    (
        format!(r#" clip-path="url(#{id}-clip)""#),
        format!("<clipPath id=\"{id}-clip\"><path d=\"M{l} {t}H{r}V{b}H{l}z\"/></clipPath>\n"),
    )
}

/// The name of a limit over the right end of its line, or under it where there is no room above.
fn limit_names(series: &Series, x: &Span, y: &Span) -> String {
    let levels = series.points.iter().filter(|point| y.scale.admits(point.1));
    let levels = levels.map(|point| y.place(point.1)).filter(|at| y.holds(*at));
    let style = r#"class="chart-text chart-halo chart-limit-name" text-anchor="end""#;
    let name = cut(&series.name, x.to - x.from);
    let names = levels.map(|at| {
        let beside = if at - LINE < y.to { TEXT } else { -5.0 };
        titled(line((x.to, at + beside), style, &name), &series.name, &name)
    });
    if name.is_empty() { String::new() } else { names.collect() }
}

/// The markers of the points with notes, which are shown above the plot, and of the last point: it
/// is the one most looked for, and its shape tells lines apart without their colours.
fn points(series: &Series, index: usize, x: &Span, y: &Span, readout: (f64, f64)) -> String {
    let seen = |point: &(f64, f64)| {
        let admitted = x.scale.admits(point.0) && y.scale.admits(point.1);
        let at = (x.place(point.0), y.place(point.1));
        (admitted && x.holds(at.0) && y.holds(at.1)).then_some(at)
    };
    let last = series.points.iter().rposition(|point| seen(point).is_some());
    let marks = series.points.iter().enumerate().filter_map(|(at, point)| {
        let ((across, up), colour) = (seen(point)?, colour(index));
        let path = format!("M{} {}{}", tenth(across), tenth(up), marker(index));
        let note = series.notes.get(at).filter(|note| !note.is_empty());
        let Some(note) = note else {
            let alone = Some(at) == last && series.stroke != Stroke::Markers;
            return alone.then(|| format!("<path class=\"chart-mark {colour}\" d=\"{path}\"/>\n"));
        };
        let style =
            r#"class="chart-text chart-halo chart-note" text-anchor="end" visibility="hidden""#;
        let shown = line(readout, style, &cut(note, readout.0));
        Some(format!(
            "<g class=\"chart-point {colour}\" tabindex=\"0\" role=\"img\"><title>{}</title>\
             <circle cx=\"{}\" cy=\"{}\" r=\"{REACH}\" fill=\"none\" pointer-events=\"all\"/>\
             <path class=\"chart-mark {colour}\" d=\"{path}\"/>{shown}</g>\n",
            escape(note),
            tenth(across),
            tenth(up)
        ))
    });
    marks.collect()
}

/// The sample of a series in the legend, from the left end of its middle line.
fn swatch(series: &Series, index: usize, (x, y): (f64, f64)) -> String {
    let (left, middle, colour) = (tenth(x), tenth(y), colour(index));
    let (upper, centre) = (tenth(y - 5.0), tenth(x + SWATCH / 2.0));
    let (style, marker) = (style(series.stroke, index), marker(index));
    let band = format!(
        r#"<path class="chart-band {colour}" d="M{left} {upper}h{SWATCH}v10h-{SWATCH}z"/>"#
    );
    let line = format!(r#"<path {style} d="M{left} {middle}h{SWATCH}"/>"#);
    let mark = format!(r#"<path class="chart-mark {colour}" d="M{centre} {middle}{marker}"/>"#);
    let band = if series.band.is_empty() { String::new() } else { band };
    let line = if series.stroke == Stroke::Markers { String::new() } else { line };
    [band, line, mark].concat()
}

/// The attributes of the series at this place. Past the palette its colours return with thinner
/// lines, and with other markers.
fn style(stroke: Stroke, index: usize) -> String {
    let colour = colour(index);
    let (width, dash) = match stroke {
        Stroke::Solid => (2.2, ""),
        Stroke::Dashed => (2.0, r#" stroke-dasharray="7 6""#),
        Stroke::Dotted => (3.0, r#" stroke-dasharray="0.01 6""#),
        Stroke::Limit => {
            return r#"class="chart-limit" stroke-width="1.5" stroke-dasharray="6 4""#.to_owned();
        }
        Stroke::Markers => return format!(r#"class="chart-mark {colour}""#),
    };
    let width = line_width(width, index / COLOURS);
    format!(r#"class="chart-line {colour}" fill="none" stroke-width="{width}"{dash}"#)
}

/// The class of the colour of the series at this place.
fn colour(index: usize) -> String {
    format!("chart-{}", index % COLOURS + 1)
}

const FRAMES: [Frame; 2] = [
    Frame { class: "chart-wide", suffix: "", width: 640.0, plot: 240.0, stacked: false },
    Frame { class: "chart-narrow", suffix: "-narrow", width: 360.0, plot: 200.0, stacked: true },
];
// Sizes in the units of the picture.
pub(crate) const GAP: f64 = 8.0;
pub(crate) const MARK: f64 = 5.0;
/// Between the label of the vertical axis and the plot.
const TOP: f64 = 12.0;
/// Right of a plot, room for half a marker.
const MARGIN: f64 = 6.0;
/// Between labelled grid lines, at least.
const ROW: f64 = 32.0;
const SWATCH: f64 = 30.0;
/// The distance from its point at which a marker can be pointed at.
const REACH: f64 = 11.0;
/// The colours of the style sheet.
const COLOURS: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;
    use crate::testing::{HOSTILE, assert_fit_for_a_page, chart, corners, series, values};

    /// Releases around 600, with intervals of growing width.
    fn releases(count: u32) -> Series {
        let points = (1..=count).map(f64::from).map(|x| (x, 600.0 + 40.0 * x.sin()));
        let points: Vec<_> = points.collect();
        let band = points.iter().map(|(x, y)| (y - 9.0 - x.sqrt(), y + 7.0 + x.sqrt())).collect();
        Series { band, ..series("estimate", Stroke::Solid, &points) }
    }

    fn over_time(series: Vec<Series>) -> Chart {
        let mut chart = chart(Scale::Linear, None, series);
        chart.x.scale = Scale::Whole;
        chart
    }

    #[test]
    fn every_kind_of_series_is_fit_for_a_page() {
        let noted = Series { notes: vec!["first".into(), String::new()], ..releases(3) };
        let strokes = [Stroke::Dashed, Stroke::Dotted, Stroke::Markers];
        let mut all = vec![releases(5), noted, Series::limit("budget", 700.0)];
        all.extend(strokes.map(|stroke| series("s", stroke, &[(1.0, 2.0), (2.0, 3.0)])));
        for scale in [Scale::Linear, Scale::Log, Scale::Whole] {
            for range in [None, Some((1.0, 500.0))] {
                assert_fit_for_a_page(&chart(scale, range, all.clone()).page("it"));
            }
        }
    }

    #[test]
    fn hostile_texts_stay_texts_in_every_place() {
        let point = series(HOSTILE, Stroke::Solid, &[(1.0, 1.0)]);
        let noted = Series { notes: vec![HOSTILE.to_owned()], ..point };
        let mut it = over_time(vec![noted, Series::limit(HOSTILE, 2.0)]);
        (it.title, it.x.label, it.y.label) = (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
        let page = it.page(HOSTILE);
        assert_fit_for_a_page(&page);
        // In each frame: title, description (its two axes and two series), both labels, the note
        // twice, and the names of a series and of a limit.
        assert!(page.matches("&lt;script&gt;").count() >= 2 * 10, "{page}");
    }

    #[test]
    fn charts_of_one_page_share_no_identifier() {
        let it = over_time(vec![releases(5)]);
        assert_fit_for_a_page(&[it.page("one"), it.page("two")].concat());
    }

    #[test]
    fn a_band_encloses_its_line() {
        let page = over_time(vec![releases(50)]).page("it");
        let (bands, lines) = (values(&page, "chart-band", "d"), values(&page, "chart-line", "d"));
        for at in [0, 2] {
            let (band, line) = (corners(bands[at]), corners(lines[at]));
            assert_eq!((band.len(), line.len()), (100, 50));
            for (index, (x, y)) in line.iter().enumerate() {
                let (high, low) = (band[index], band[99 - index]);
                assert!(high.0 == *x && low.0 == *x, "the same place");
                assert!(high.1 < *y && *y < low.1, "{high:?} over {y} over {low:?}");
            }
        }
    }

    #[test]
    fn an_interval_with_its_ends_exchanged_is_the_same() {
        let mut turned = releases(5);
        turned.band = turned.band.into_iter().map(|(low, high)| (high, low)).collect();
        assert_eq!(over_time(vec![turned]).page("it"), over_time(vec![releases(5)]).page("it"));
    }

    #[test]
    fn an_interval_without_a_position_interrupts_the_band() {
        let mut gapped = releases(5);
        gapped.band[2].1 = f64::INFINITY;
        let page = over_time(vec![gapped]).page("it");
        assert_eq!(values(&page, "chart-band", "d")[0].matches('z').count(), 2);
        assert_eq!(values(&page, "chart-line", "d")[0].matches('M').count(), 1);
    }

    #[test]
    fn a_limit_runs_across_the_plot_and_the_axis_reaches_it() {
        let page = over_time(vec![releases(5), Series::limit("budget", 2000.0)]).page("it");
        assert_fit_for_a_page(&page);
        let (path, axis) = (values(&page, "chart-limit", "d")[0], values(&page, "chart-axis", "d"));
        let ends = |path: &str| {
            let (from, rest) = path[1..].split_once(' ').expect("a start");
            let to = rest.split_once('H').expect("an end").1;
            (from.to_owned(), to.split('M').next().map(str::to_owned))
        };
        assert_eq!(ends(path), ends(axis[0]));
        assert!(page.contains(">budget</text>") && page.contains(">2000</text>"));
    }

    #[test]
    fn points_with_notes_can_be_focused_and_say_them() {
        let notes = vec![String::new(), "epoch 2: 636.4, from 626 to 644.8".to_owned()];
        let page = over_time(vec![Series { notes, ..releases(3) }]).page("it");
        assert_eq!(values(&page, "chart-point", "tabindex"), ["0", "0"]);
        assert_eq!(page.matches("<title>epoch 2: 636.4, from 626 to 644.8</title>").count(), 2);
        assert_eq!(values(&page, "chart", "role"), ["group", "group"]);
        assert_eq!(values(&over_time(vec![releases(3)]).page("it"), "chart", "role"), ["img"; 2]);
    }

    #[test]
    fn the_description_says_what_is_seen() {
        let mut it = over_time(vec![
            Series {
                band: vec![(1.0, 3.0), (4.0, 6.5)],
                ..series("a", Stroke::Solid, &[(1.0, 2.0), (2.0, 5.0)])
            },
            Series::limit("budget", 8.0),
        ]);
        it.x.label = "epoch".to_owned();
        let expected = "quantity against epoch, 1 to 2. a: from 2 to 5, the last 5, which may lie \
                        from 4 to 6.5. budget: limit at 8.";
        assert!(it.page("it").contains(&format!("<desc id=\"it-desc\">{expected}</desc>")));
    }

    #[test]
    fn nothing_to_draw_is_said() {
        let nothing = series("a", Stroke::Solid, &[(f64::NAN, 1.0), (1.0, f64::INFINITY)]);
        for all in [vec![], vec![nothing], vec![Series::limit("budget", 3.0)]] {
            for scale in [Scale::Linear, Scale::Log, Scale::Whole] {
                let page = chart(scale, None, all.clone()).page("it");
                assert_fit_for_a_page(&page);
                assert_eq!(page.matches(">no data</text>").count(), 2);
            }
        }
    }

    #[test]
    fn the_largest_and_smallest_floats_are_fit_for_a_page() {
        let extremes =
            [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 0.0, 1.0, f64::NAN, f64::INFINITY];
        for scale in [Scale::Linear, Scale::Log, Scale::Whole] {
            for a in extremes {
                for b in extremes {
                    let mut line = series("a", Stroke::Solid, &[(a, b), (b, a), (1.0, a)]);
                    line.band = vec![(a, b), (1.0, a)];
                    line.notes = vec!["n".to_owned(); 2];
                    let all = vec![line, Series::limit("b", b)];
                    for range in [None, Some((a, b))] {
                        assert_fit_for_a_page(&chart(scale, range, all.clone()).page("it"));
                    }
                }
            }
        }
    }

    #[test]
    fn a_year_of_releases_is_light() {
        let page = over_time(vec![releases(365)]).page("it");
        println!("365 points with a band: {} bytes", page.len());
        assert!(page.len() < 32_000);
        for path in [values(&page, "chart-line", "d"), values(&page, "chart-band", "d")].concat() {
            let decimals = path.split('.').skip(1);
            let mut digits = decimals.map(|d| d.chars().take_while(char::is_ascii_digit).count());
            assert!(digits.all(|count| count == 1));
        }
    }

    #[test]
    fn texts_stay_within_the_picture() {
        let named = |name: &str| Series { name: name.to_owned(), ..releases(40) };
        let names =
            ["short", "w".repeat(300).leak(), "some words that need more than a line or so"];
        for name in names {
            let mut it = over_time([name; 9].map(named).to_vec());
            it.series.push(Series::limit(name, 1e5));
            (it.x.label, it.y.label) = (name.to_owned(), name.to_owned());
            it.series[0].notes = vec![name.to_owned(); 40];
            let page = it.page("it");
            for (picture, frame) in page.split("<svg").skip(1).zip(FRAMES) {
                for text in picture.split("<text ").skip(1) {
                    let (tag, text) = text.split_once('>').expect("a text");
                    let text = text.split('<').next().unwrap_or_default();
                    let x = tag.split(" x=\"").nth(1).or(tag.split("x=\"").nth(1));
                    let x = x.and_then(|x| x.split('"').next()).expect("a place");
                    let x: f64 = x.parse().expect("a number");
                    let (before, after) = match tag {
                        _ if tag.contains("\"end\"") => (width(text), 0.0),
                        _ if tag.contains("\"middle\"") => (width(text) / 2.0, width(text) / 2.0),
                        _ => (0.0, width(text)),
                    };
                    let inside = x - before > -1.0 && x + after < frame.width + 1.0;
                    assert!(inside, "{text} at {x}, {tag}");
                }
            }
        }
    }

    #[test]
    fn series_differ_by_more_than_their_colour() {
        let all: Vec<_> = (0..4).map(|_| releases(3)).collect();
        let page = over_time(all).page("it");
        let marks = values(&page, "chart-mark", "d");
        let mut shapes: Vec<_> =
            marks.iter().filter_map(|path| path.split_once('m').map(|(_, shape)| shape)).collect();
        shapes.sort_unstable();
        shapes.dedup();
        assert_eq!(shapes.len(), 4);
    }
}
