//! A chart as a document of its own.

use crate::chart::{Chart, Stroke};
use crate::marks::{COLOURS, marker, pen};
use crate::plot::Plot;
use crate::span::Tick;
use crate::text::{LINE, TEXT, escape, px, text, widest, width, wrap};

impl Chart {
    /// The chart as a self-contained SVG 1.1 document.
    pub fn svg(&self) -> String {
        let names: Vec<_> = self.series.iter().map(|s| wrap(&s.name, NAME_ROOM)).collect();
        let title = wrap(&self.title, TITLE_ROOM);
        let [x_label, y_label] = [&self.x, &self.y].map(|axis| wrap(&axis.label, PLOT_HEIGHT));
        let rise = |lines: &[String]| lines.len() as f64 * LINE;
        let top = EDGE + rise(&title) + EDGE;
        let bottom = top + PLOT_HEIGHT.max(names.iter().map(|name| rise(name) + GAP).sum());
        let height = bottom + GAP + LINE + rise(&x_label) + EDGE;

        let y = self.upward((bottom, top));
        let rows = y.ticks(|_| LINE);
        let left = EDGE + rise(&y_label) + GAP + widest(rows.iter().map(Tick::width)) + GAP;
        let names_width = widest(names.iter().flatten().map(|line| width(line)));
        let legend = LEGEND_GAP + SWATCH + GAP + names_width + EDGE;
        let right = (WIDTH - legend).max(left + LEAST_PLOT);
        let width = px(right + legend);
        let plot = Plot { x: self.across((left, right)), y, px };

        // Charts inlined into one page share its identifiers; this one is the same for the same
        // clip only.
        let (clip, edge) = plot.clip(|sides| format!("clip-{}", sides.join("-")));
        let size = format!(r#"width="{width}" height="{height}""#);
        let mut parts = vec![
            format!(r#"<svg xmlns="http://www.w3.org/2000/svg" version="1.1" role="img" {size}"#),
            format!(r#"viewBox="0 0 {width} {height}" {FONT} font-size="{TEXT}" fill="{INK}">"#),
            format!("<title>{}</title>", escape(&self.title)),
            format!(r#"<rect {size} fill="{PAPER}"/>"#),
            edge,
        ];
        parts.extend(grid(&plot, &rows));
        for (index, series) in self.series.iter().enumerate().filter(|(_, s)| !s.band.is_empty()) {
            let (path, colour) = (series.area(&plot), PALETTE[index % COLOURS]);
            parts.push(format!(r#"<path d="{path}" fill="{colour}" fill-opacity="0.2"{clip}/>"#));
            let alone = series.whiskers(&plot);
            if !alone.is_empty() {
                let pen = format!(r#"fill="none" stroke="{colour}" stroke-width="1.5""#);
                parts.push(format!(r#"<path d="{alone}" {pen}{clip}/>"#));
            }
        }
        for (index, series) in self.layers() {
            let (path, style) = (series.path(index, &plot), style(series.stroke, index));
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
}

/// The grid, the axes and the tick labels.
fn grid(Plot { x, y, .. }: &Plot, rows: &[Tick]) -> Vec<String> {
    let (left, right, top, bottom) = (x.from, px(x.to), px(y.to), y.from);
    let columns = x.ticks(|tick| tick.width() + LINE);
    let lines = |labelled: bool, mark: f64| -> String {
        let upright = columns.iter().filter(|tick| tick.is_labelled() == labelled);
        let upright = upright.map(|tick| format!("M{} {}V{top}", px(tick.at), px(bottom + mark)));
        let level = rows.iter().filter(|tick| tick.is_labelled() == labelled);
        let level = level.map(|tick| format!("M{} {}H{right}", px(left - mark), px(tick.at)));
        upright.chain(level).collect()
    };
    let axes = format!("M{} {top}V{}H{right}", px(left), px(bottom));
    let lines = [(lines(false, 0.0), MINOR_GRID), (lines(true, MARK), MAJOR_GRID), (axes, AXIS)];
    let draw = |(d, colour)| format!(r#"<path d="{d}" fill="none" stroke="{colour}"/>"#);
    let below = columns.iter().filter(|tick| tick.is_labelled());
    let below = below.map(|tick| tick.text((tick.at, bottom + GAP + 0.6 * LINE), MIDDLE));
    let beside = rows.iter().filter(|tick| tick.is_labelled());
    let beside = beside.map(|tick| tick.text((left - GAP, tick.at + 4.5), END));
    lines.into_iter().map(draw).chain(below).chain(beside).collect()
}

/// The sample of a series in the legend, from the left end of its middle line.
fn swatch(stroke: Stroke, index: usize, (x, y): (f64, f64)) -> String {
    let path = match stroke {
        Stroke::Markers => format!("M{} {}{}", px(x + SWATCH / 2.0), px(y), marker(index)),
        _ => format!("M{} {}h{SWATCH}", px(x), px(y)),
    };
    format!(r#"<path d="{path}" {}/>"#, style(stroke, index))
}

/// The attributes of the series at this place. Past the palette its colours return with thinner
/// lines, and with other markers.
fn style(stroke: Stroke, index: usize) -> String {
    let (colour, (width, dashes)) = (PALETTE[index % COLOURS], pen(stroke, index));
    if stroke == Stroke::Markers {
        return format!(r#"fill="{colour}""#);
    }
    let ends = r#"stroke-linecap="round" stroke-linejoin="round" fill="none""#;
    format!(r#"{ends} stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}""#)
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

const FONT: &str = r#"font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif""#;
const TITLE: &str = r#"font-size="16""#;
const MIDDLE: &str = r#"text-anchor="middle""#;
const END: &str = r#"text-anchor="end""#;
const INK: &str = "#222";
const PAPER: &str = "#fff";
const AXIS: &str = "#555";
const MAJOR_GRID: &str = "#d8d8d8";
const MINOR_GRID: &str = "#efefef";
/// The palette of Okabe and Ito, which the colour-blind can tell apart, without its yellow, which
/// is faint on white.
const PALETTE: [&str; COLOURS] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;
    use crate::marks::{DOT, MARKERS};
    use crate::testing::{chart, series};

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
}
