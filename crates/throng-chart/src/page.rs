//! A chart as a part of a web page: classes in place of colours and fonts, and no fixed size.
//!
//! A picture that shrinks with its page shrinks its letters too. So each comes in two frames, for
//! a whole page and for a column or a telephone, and the style sheet shows the one that its place
//! has room for.

use crate::chart::{Chart, NO_DATA, Scale, Series, Stroke};
use crate::marks::{COLOURS, marker, pen};
use crate::plot::Plot;
use crate::span::Tick;
use crate::text::{self, LINE, TEXT, cut, escape, tenth, widest, width};

impl Chart {
    /// The chart for a page whose style sheet holds [`CSS`](crate::CSS). Its identifiers are `id`
    /// and `id-narrow` with an ending, so no other chart of the page may have these; characters
    /// other than letters, digits, `-` and `_` become `-`.
    ///
    /// The title is what assistive technology calls the chart, and is not drawn: a page has
    /// headings of its own. The names of limits stand on their lines, those of other series below.
    pub fn page(&self, id: &str) -> String {
        frames(id, |frame| self.framed(frame))
    }

    fn framed(&self, frame: &Frame) -> String {
        let label = text::lines(&self.y.label, frame.width);
        let label_part = lines((0.0, TEXT), r#"class="chart-text chart-label""#, &label);
        let names = [&*self.title, &*self.description()];
        if self.drawn().next().is_none() {
            let down = (label.len() + 1) as f64 * LINE;
            let parts = label_part + &line((0.0, down), r#"class="chart-text""#, NO_DATA);
            return frame.picture(down + GAP, "img", names, &parts);
        }
        let top = label.len() as f64 * LINE + self.readout(&label, frame) + TOP;
        let bottom = top + frame.plot;
        let y = self.upward_on_page((bottom, top));
        let rows = y.ticks(|_| ROW);
        let (left, right) = (widest(rows.iter().map(Tick::width)) + GAP, frame.width - MARGIN);
        let plot = Plot { x: self.across((left, right)), y, px: tenth };
        let (clip, edge) = plot.clip(|_| format!("{}-clip", frame.id));
        let mut parts = label_part + &grid(&plot, &rows, frame) + &edge + "\n";
        parts += &self.lines(&plot, &clip);
        for (index, series) in self.series.iter().enumerate() {
            parts += &match series.stroke {
                Stroke::Limit => limit_names(series, &plot),
                _ => points(series, index, &plot, (frame.width, top - TOP - LINE + TEXT)),
            };
        }
        let mut down = bottom + GAP + LINE;
        let name = text::lines(&self.x.label, frame.width - left);
        let middle = (f64::midpoint(left, right), down + LINE);
        parts += &lines(middle, r#"class="chart-text" text-anchor="middle""#, &name);
        down += name.len() as f64 * LINE + GAP;
        let (legend, height) = self.legend(down, &plot, frame);
        let noted = self.series.iter().any(|series| series.notes.iter().any(|n| !n.is_empty()));
        // What is inside an `img` cannot be focused.
        let role = if noted { "group" } else { "img" };
        frame.picture(height, role, names, &(parts + &legend))
    }

    /// The height of the row for notes: nothing, if they fit beside the label or there are none.
    fn readout(&self, label: &[String], frame: &Frame) -> f64 {
        let notes = self.series.iter().flat_map(|series| &series.notes);
        let room = widest(notes.map(|note| width(note)));
        let taken = label.last().map_or(0.0, |line| width(line) + GAP);
        let fits = room == 0.0 || !label.is_empty() && taken + room <= frame.width;
        if fits { 0.0 } else { LINE }
    }

    /// The bands, and over them the lines.
    fn lines(&self, plot: &Plot, clip: &str) -> String {
        let layers = self.layers();
        let bands = layers.iter().filter(|(_, series)| !series.band.is_empty());
        let bands = bands.map(|(index, series)| {
            let (area, alone, colour) = (series.area(plot), series.whiskers(plot), colour(*index));
            let drawn = [("chart-band", area), ("chart-whisker", alone)];
            let drawn = drawn.iter().filter(|(_, path)| !path.is_empty());
            let drawn = drawn.map(|(class, path)| {
                format!(r#"<path class="{class} {colour}"{clip} d="{path}"/>"#)
            });
            drawn.collect::<String>()
        });
        let lines = layers.iter().map(|(index, series)| {
            // Markers at an edge show whole: those outside are left out instead of clipped.
            let clip = if series.stroke == Stroke::Markers { "" } else { clip };
            let (path, style) = (series.path(*index, plot), style(series.stroke, *index));
            format!(r#"<path {style}{clip} d="{path}"/>"#)
        });
        bands.chain(lines).collect()
    }

    /// The names of the series in rows from this height on, and the height where they end.
    fn legend(&self, top: f64, plot: &Plot, frame: &Frame) -> (String, f64) {
        let left = plot.x.from;
        let (mut across, mut down, mut legend) = (left, top + TEXT, String::new());
        let named = |series: &Series| series.stroke != Stroke::Limit && !series.name.is_empty();
        for (index, series) in self.series.iter().enumerate().filter(|(_, s)| named(s)) {
            let name = cut(&series.name, frame.width - left - SWATCH - GAP);
            let wide = SWATCH + GAP + width(&name);
            if across > left && across + wide > frame.width {
                (across, down) = (left, down + LINE + GAP / 2.0);
            }
            legend += &swatch(series, index, plot, (across, down - 4.5));
            let at = (across + SWATCH + GAP, down);
            legend += &titled(line(at, r#"class="chart-text""#, &name), &series.name, &name);
            across += wide + 2.0 * GAP;
        }
        let end = if legend.is_empty() { top } else { down + GAP };
        (legend, end)
    }
}

/// One of the two shapes of a picture.
pub(crate) struct Frame {
    id: String,
    class: &'static str,
    pub(crate) width: f64,
    /// The height of a plot.
    plot: f64,
    /// True if the label of a row stands above it instead of beside it.
    pub(crate) stacked: bool,
}

/// A picture in both frames.
pub(crate) fn frames(id: &str, draw: impl Fn(&Frame) -> String) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let id: String = id.chars().map(plain).collect();
    let narrow = format!("{id}-narrow");
    let both = [
        Frame { id, class: "chart-wide", width: WIDE, plot: 280.0, stacked: false },
        Frame { id: narrow, class: "chart-narrow", width: NARROW, plot: 200.0, stacked: true },
    ];
    format!("<div class=\"chart-frame\">\n{}</div>\n", both.map(|frame| draw(&frame)).concat())
}

impl Frame {
    /// The element around the parts of a picture, with its title and its description.
    pub(crate) fn picture(&self, height: f64, role: &str, names: [&str; 2], parts: &str) -> String {
        let Self { id, class, width, .. } = self;
        let (high, [title, description]) = (tenth(height), names.map(escape));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {class}\" role=\"{role}\" \
             viewBox=\"0 0 {width} {high}\" font-size=\"{TEXT}\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n\
             <title id=\"{id}-title\">{title}</title>\n\
             <desc id=\"{id}-desc\">{description}</desc>\n{parts}</svg>\n"
        )
    }
}

/// One line of text on this baseline.
pub(crate) fn line((x, y): (f64, f64), style: &str, text: &str) -> String {
    format!("<text {style} x=\"{}\" y=\"{}\">{}</text>\n", tenth(x), tenth(y), escape(text))
}

/// A path in the look of a class.
pub(crate) fn path(class: &str, path: &str) -> String {
    format!(r#"<path class="{class}" d="{path}"/>"#)
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
fn grid(Plot { x, y, .. }: &Plot, rows: &[Tick], frame: &Frame) -> String {
    let (left, right, bottom) = (tenth(x.from), tenth(x.to), tenth(y.from));
    let rows = rows.iter().filter(|tick| tick.is_labelled());
    let columns = x.ticks(|tick| tick.width() + LINE);
    let columns = columns.iter().filter(|tick| tick.is_labelled());
    let level = rows.clone().map(|tick| format!("M{left} {}H{right}", tenth(tick.at)));
    let marks = columns.clone().map(|tick| format!("M{} {bottom}v{MARK}", tenth(tick.at)));
    let marks: String = marks.collect();
    let beside = r#"class="chart-text" text-anchor="end""#;
    let beside = rows.map(|tick| tick.text((x.from - GAP, tick.at + 4.5), beside));
    let below = columns.map(|tick| {
        // At the edge a label moves inward, rather than out of the picture.
        let half = tick.width() / 2.0;
        let centre = tick.at.min(frame.width - half).max(half);
        tick.text((centre, y.from + GAP + TEXT), r#"class="chart-text" text-anchor="middle""#)
    });
    let labels: String = beside.chain(below).collect();
    let level = path("chart-grid", &level.collect::<String>());
    // An axis that does not begin at zero is broken where it begins.
    let cut = y.scale == Scale::Linear && y.lo > 0.0;
    let cut = cut.then(|| format!("M{left} {}v-3l-4 -3l8 -4l-4 -3v-3", tenth(y.from)));
    let cut = cut.unwrap_or_default();
    let axis = path("chart-axis", &format!("M{left} {bottom}H{right}{marks}{cut}"));
    format!("{level}\n{axis}\n{labels}\n")
}

/// The name of a limit over the right end of its line, or under it where there is no room above.
fn limit_names(series: &Series, plot: &Plot) -> String {
    let (from, to) = (plot.x.from, plot.x.to);
    let style = r#"class="chart-text chart-halo chart-limit-name" text-anchor="end""#;
    let name = cut(&series.name, to - from);
    let levels = series.levels(plot).filter(|_| !name.is_empty());
    let names = levels.map(|at| {
        let beside = if at - LINE < plot.y.to { TEXT } else { -5.0 };
        titled(line((to, at + beside), style, &name), &series.name, &name)
    });
    names.collect()
}

/// The markers of the points with notes, which are shown above the plot, and of the last point: it
/// is the one most looked for, and its shape tells lines apart without their colours.
fn points(series: &Series, index: usize, plot: &Plot, readout: (f64, f64)) -> String {
    let colour = colour(index);
    let last = series.points.iter().rposition(|point| plot.seen(*point).is_some());
    let marks = series.points.iter().enumerate().filter_map(|(at, point)| {
        let place = plot.seen(*point)?;
        let mark = mark(&plot.pair(place), index);
        let Some(note) = series.notes.get(at).filter(|note| !note.is_empty()) else {
            let alone = Some(at) == last && series.stroke != Stroke::Markers;
            return alone.then_some(mark + "\n");
        };
        let style =
            r#"class="chart-text chart-halo chart-note" text-anchor="end" visibility="hidden""#;
        let shown = line(readout, style, &cut(note, readout.0));
        let (across, up, note) = (tenth(place.0), tenth(place.1), escape(note));
        Some(format!(
            "<g class=\"chart-point {colour}\" tabindex=\"0\" role=\"img\"><title>{note}</title>\
             <circle cx=\"{across}\" cy=\"{up}\" r=\"{REACH}\" fill=\"none\" \
             pointer-events=\"all\"/>{mark}{shown}</g>\n"
        ))
    });
    marks.collect()
}

/// The sample of a series in the legend, from the left end of its middle line: of its line, its
/// band and its lone intervals, those that are in the plot.
fn swatch(series: &Series, index: usize, plot: &Plot, (x, y): (f64, f64)) -> String {
    let (left, upper, middle) = (tenth(x), tenth(y - 5.0), tenth(y));
    let band = (!series.area(plot).is_empty()).then(|| {
        let area = format!("M{left} {upper}h{SWATCH}v10h-{SWATCH}z");
        path(&format!("chart-band {}", colour(index)), &area)
    });
    let alone = (!series.whiskers(plot).is_empty()).then(|| {
        let centre = tenth(x + SWATCH / 2.0);
        let (upper, across) = (tenth(y - 6.0), tenth(x + SWATCH / 2.0 - 4.0));
        let whisker =
            format!("M{across} {upper}h8M{centre} {upper}v12M{across} {}h8", tenth(y + 6.0));
        path(&format!("chart-whisker {}", colour(index)), &whisker)
    });
    let joined =
        series.points.windows(2).any(|pair| pair.iter().all(|point| plot.place(*point).is_some()));
    let line = (series.stroke != Stroke::Markers && joined).then(|| {
        format!(r#"<path {} d="M{left} {middle}h{SWATCH}"/>"#, style(series.stroke, index))
    });
    let mark = mark(&format!("{} {middle}", tenth(x + SWATCH / 2.0)), index);
    [band, alone, line, Some(mark)].into_iter().flatten().collect()
}

/// The marker of the series at this place, around a point.
fn mark(point: &str, index: usize) -> String {
    path(&format!("chart-mark {}", colour(index)), &format!("M{point}{}", marker(index)))
}

/// The attributes of the series at this place. Past the palette its colours return with thinner
/// lines, and with other markers.
fn style(stroke: Stroke, index: usize) -> String {
    let (colour, (width, dashes)) = (colour(index), pen(stroke, index));
    let line = format!(r#"class="chart-line {colour}" fill="none" stroke-width="{width}""#);
    match stroke {
        Stroke::Solid => line,
        Stroke::Dashed | Stroke::Dotted => format!(r#"{line} stroke-dasharray="{dashes}""#),
        Stroke::Limit => {
            r#"class="chart-limit" stroke-width="1.5" stroke-dasharray="6 4""#.to_owned()
        }
        Stroke::Markers => format!(r#"class="chart-mark {colour}""#),
    }
}

/// The class of the colour of the series at this place.
fn colour(index: usize) -> String {
    format!("chart-{}", index % COLOURS + 1)
}

// Sizes in the units of the picture.
const WIDE: f64 = 900.0;
const NARROW: f64 = 400.0;
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
        for scale in [Scale::Linear, Scale::Log, Scale::Whole, Scale::Time] {
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
    fn one_release_is_a_mark_with_its_interval_clear_of_the_frame() {
        let page = over_time(vec![releases(1)]).page("it");
        assert_fit_for_a_page(&page);
        assert!(values(&page, "chart-band", "d").is_empty(), "no band, nor in the legend: {page}");
        // In each frame one in the plot and one in the legend.
        let whiskers = values(&page, "chart-whisker", "d");
        assert_eq!(whiskers.len(), 4);
        // The starts of lines: their heights are those of the grid, and of the ends of the
        // interval.
        let heights = |path: &str| -> Vec<f64> {
            let starts = path.split('M').filter_map(|line| line.split_once(' '));
            let height = |(_, rest): (&str, &str)| rest.split(['h', 'H', 'V']).next()?.parse().ok();
            starts.filter_map(height).collect()
        };
        let grid = heights(values(&page, "chart-grid", "d")[0]);
        let ends = heights(whiskers[0]);
        assert!(ends.len() == 3 && grid.len() > 2, "{page}");
        for end in ends {
            assert!(grid.iter().any(|at| *at < end) && grid.iter().any(|at| *at > end), "{page}");
        }
    }

    #[test]
    fn an_axis_begins_at_zero_or_is_broken() {
        let line = |low: f64| series("a", Stroke::Solid, &[(1.0, low), (2.0, 1_000.0)]);
        let broken = |low| {
            let page = over_time(vec![line(low)]).page("it");
            values(&page, "chart-axis", "d")[0].contains("l-4 -3")
        };
        assert!(broken(900.0) && !broken(400.0) && !broken(0.0) && !broken(-10.0));
        assert!(over_time(vec![line(400.0)]).page("it").contains(">0</text>"));
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
        assert!(page.contains(">budget</text>") && page.contains(">2,000</text>"));
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
            for scale in [Scale::Linear, Scale::Log, Scale::Whole, Scale::Time] {
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
        for scale in [Scale::Linear, Scale::Log, Scale::Whole, Scale::Time] {
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
            for (picture, frame) in page.split("<svg").skip(1).zip([WIDE, NARROW]) {
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
                    let inside = x - before > -1.0 && x + after < frame + 1.0;
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
