//! Lines as small as a word.

use crate::chart::{NO_DATA, Scale, Series, Stroke, range};
use crate::page::path;
use crate::plot::Plot;
use crate::span::Span;
use crate::text::{TEXT, escape, number, tenth};

/// A line with its band and without axes, for a cell of a table: a value, the lower and the upper
/// end of its interval, at equal steps. One that is no number interrupts the line, or the band.
///
/// ```
/// use throng_chart::sparkline;
///
/// let line = sparkline(&[(5.0, 4.0, 6.0), (7.0, 6.5, 8.0)]);
/// assert!(line.contains("<title>2 values, the last 7, from 6.5 to 8</title>"));
/// assert!(sparkline(&[]).contains("no data"));
/// ```
pub fn sparkline(points: &[(f64, f64, f64)]) -> String {
    let parts = drawn(points).unwrap_or_else(|| {
        let text = r#"<text class="chart-text" x="0" y="18">"#;
        format!("<title>{NO_DATA}</title>{text}{NO_DATA}</text>")
    });
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart-spark\" role=\"img\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-size=\"{TEXT}\">{parts}</svg>\n"
    )
}

/// Title, band, line and last point, if there is any point.
fn drawn(points: &[(f64, f64, f64)]) -> Option<String> {
    let at = points.iter().rposition(|point| point.0.is_finite())?;
    let (value, low, high) = points[at];
    let (last, ends) = (number(value), range(", ", (low, high)));
    let title = escape(&format!("{} values, the last {last}{ends}", points.len()));

    let values = points.iter().enumerate().map(|(at, point)| (at as f64, point.0)).collect();
    let band = points.iter().map(|point| (point.1, point.2)).collect();
    let series = Series { band, ..Series::new("", Stroke::Solid, values) };
    // One alone stands in the middle.
    let ends_across = if points.len() > 1 { (0.0, (points.len() - 1) as f64) } else { (-1.0, 1.0) };
    // From the least to the greatest, without the room of an axis that ends at round numbers.
    let ends = points.iter().flat_map(|(value, low, high)| [*value, *low, *high]);
    let plot = Plot {
        x: Span::new(Scale::Linear, Some(ends_across), [], (EDGE, WIDTH - EDGE)),
        y: Span::new(Scale::Whole, None, ends, (HEIGHT - EDGE, EDGE)),
        px: tenth,
    };
    let mark = plot.pair((plot.x.place(at as f64), plot.y.place(value)));
    let mark = path("chart-mark chart-1", &format!("M{mark}{MARK}"));
    let band = path("chart-band chart-1", &series.area(&plot));
    let alone = path("chart-whisker chart-1", &series.whiskers(&plot));
    let line = r#"class="chart-line chart-1" fill="none" stroke-width="1.5""#;
    let line = format!(r#"<path {line} d="{}"/>"#, series.path(0, &plot));
    Some(format!("<title>{title}</title>{band}{alone}{line}{mark}"))
}

// Sizes in pixels.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 28.0;
/// Room for half the marker of the last point.
const EDGE: f64 = 3.5;
/// A small circle around the point.
const MARK: &str = "m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_fit_for_a_page, corners, values};

    #[test]
    fn a_sparkline_is_small_and_says_its_last_value() {
        let points: Vec<_> = (0..30).map(f64::from).map(|v| (v, v - 2.0, v + 3.0)).collect();
        let line = sparkline(&points);
        assert_fit_for_a_page(&line);
        println!("a sparkline of 30 points: {} bytes", line.len());
        assert!(line.len() < 1_500);
        assert!(line.contains("<title>30 values, the last 29, from 27 to 32</title>"));
        for (x, y) in corners(values(&line, "chart-band", "d")[0]) {
            assert!((0.0..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y));
        }
    }

    #[test]
    fn a_sparkline_of_nothing_is_no_data_and_gaps_stay_gaps() {
        let none = (f64::NAN, f64::NAN, f64::NAN);
        for points in [vec![], vec![none; 3], vec![(f64::INFINITY, 0.0, 1.0)]] {
            assert!(sparkline(&points).contains(">no data</text>"));
            assert_fit_for_a_page(&sparkline(&points));
        }
        let some = (1.0, 0.0, 2.0);
        let gapped = sparkline(&[some, some, none, some, some]);
        assert_fit_for_a_page(&gapped);
        assert_eq!(values(&gapped, "chart-line", "d")[0].matches('M').count(), 2);
        assert_fit_for_a_page(&sparkline(&[some]));
        assert_fit_for_a_page(&sparkline(&[(1.0, f64::NEG_INFINITY, f64::INFINITY), some]));
        assert_fit_for_a_page(&sparkline(&[(f64::MAX, f64::MIN, 5e-324), some]));
    }
}
