//! The content of an axis: the interval, its pixels, and ticks at round numbers.

use crate::calendar::Stride;
use crate::chart::{Scale, extremes};
use crate::text::{RAISED, TEXT, grouped, px, widest, width};
use std::ops::Range;

/// The interval that an axis shows, and the pixels of its ends.
pub(crate) struct Span {
    pub(crate) scale: Scale,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// A grid line, of the lesser kind without a label.
pub(crate) struct Tick {
    value: f64,
    /// The pixel of the value.
    pub(crate) at: f64,
    /// A number, with a `^` before an exponent.
    label: String,
}

impl Span {
    /// The range that is asked for, or else the data's widened to round numbers.
    pub(crate) fn new(
        scale: Scale,
        range: Option<(f64, f64)>,
        values: impl IntoIterator<Item = f64>,
        (from, to): (f64, f64),
    ) -> Self {
        let span = |(lo, hi): (f64, f64)| Self { scale, lo, hi, from, to };
        // A narrower interval is rounding noise about a constant and has no ticks to tell apart.
        let wide =
            |(lo, hi): &(f64, f64)| hi - lo > (lo.abs().max(hi.abs()) * RESOLUTION).max(SMALLEST);
        let asked = bounds(range.into_iter().flat_map(<[f64; 2]>::from), scale);
        if let Some(asked) = asked.filter(wide) {
            return span(asked);
        }
        let about = |value: f64, room: f64| (value - room, value + room);
        let fitted = match (bounds(values, scale), scale) {
            (Some(data), _) if wide(&data) => data,
            (None, Scale::Log) => (1.0, 10.0),
            (None, Scale::Linear | Scale::Whole | Scale::Time) => (0.0, 1.0),
            (Some((value, _)), Scale::Time) => about(value, 43_200.0),
            (Some((value, _)), Scale::Log) => (value / 2.0, value * 2.0),
            (Some((value, _)), Scale::Whole) => about(value, (value.abs() * 1e-9).max(1.0)),
            (Some((value, _)), Scale::Linear) if value.abs() > SMALLEST => {
                about(value, value.abs() / 2.0)
            }
            (Some((value, _)), Scale::Linear) => about(value, 1.0),
        };
        match scale {
            Scale::Whole | Scale::Time => span(fitted),
            Scale::Linear | Scale::Log => span(fitted).rounded(),
        }
    }

    /// The span with its ends moved outward onto ticks.
    fn rounded(mut self) -> Self {
        if self.scale == Scale::Log {
            let below = [5, 2, 1].map(|digit| decimal(digit, exponent(self.lo)));
            let above = [1, 2, 5, 10].map(|digit| decimal(digit, exponent(self.hi)));
            self.lo = below.into_iter().find(|v| *v <= self.lo * (1.0 + SLACK)).unwrap_or(self.lo);
            self.hi = above.into_iter().find(|v| *v >= self.hi * (1.0 - SLACK)).unwrap_or(self.hi);
            return self;
        }
        // Widening can call for a coarser step, whose multiples the ends then have to reach.
        loop {
            let (digit, power) = step(self.hi - self.lo);
            let first = quotient(self.lo, decimal(digit, power)).floor() as i64;
            let last = quotient(self.hi, decimal(digit, power)).ceil() as i64;
            (self.lo, self.hi) = (decimal(first * digit, power), decimal(last * digit, power));
            if step(self.hi - self.lo) == (digit, power) {
                return self;
            }
        }
    }

    /// The pixel of a value that the scale admits.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let along = |value: f64| if self.scale == Scale::Log { value.log10() } else { value };
        let (lo, hi) = (along(self.lo), along(self.hi));
        let part = ((along(value) - lo) / (hi - lo)).clamp(-FAR, FAR);
        self.from + part * (self.to - self.from)
    }

    /// The pixel of a value, if the scale admits it and it lies between the ends, give or take a
    /// line's width.
    pub(crate) fn seen(&self, value: f64) -> Option<f64> {
        let shown = self.from.min(self.to) - BLEED..=self.from.max(self.to) + BLEED;
        self.scale.admits(value).then(|| self.place(value)).filter(|pixel| shown.contains(pixel))
    }

    /// The ticks, each of whose labels takes up this many pixels of the axis. A label too close to
    /// the one before is left out.
    pub(crate) fn ticks(&self, extent: impl Fn(&Tick) -> f64) -> Vec<Tick> {
        let mut ticks = match self.scale {
            Scale::Linear => self.linear_ticks(),
            Scale::Log => self.log_ticks(),
            Scale::Time => return self.dates(extent),
            Scale::Whole => {
                // A step of less than 1 gives way to 1.
                let (digit, power) = step(self.hi - self.lo);
                self.multiples(if power < 0 { (1, 0) } else { (digit, power) }, 0.0..1e15)
            }
        };
        // One extent for all of them: thinned labels then keep a regular pattern.
        let extent = widest(ticks.iter().map(extent));
        let mut last = f64::INFINITY;
        for tick in &mut ticks {
            tick.at = self.place(tick.value);
            if (tick.at - last).abs() < extent {
                tick.label.clear();
            } else if tick.is_labelled() {
                last = tick.at;
            }
        }
        ticks
    }

    /// Ticks at round moments, as many as there is room for. Labels differ in width, so that each
    /// is held against the one before.
    fn dates(&self, extent: impl Fn(&Tick) -> f64) -> Vec<Tick> {
        let room = ((self.to - self.from).abs() / DATE).max(1.0);
        let ticks = Stride::of(self.hi - self.lo, room).ticks(self.lo, self.hi);
        let mut last: Option<(f64, f64)> = None;
        let tick = |(value, label): (f64, String)| {
            let mut tick = Tick { value, at: self.place(value), label };
            let wide = extent(&tick);
            if last.is_some_and(|(at, before)| (tick.at - at).abs() < f64::midpoint(before, wide)) {
                tick.label.clear();
            } else {
                last = Some((tick.at, wide));
            }
            tick
        };
        ticks.into_iter().map(tick).collect()
    }

    /// Ticks at the multiples of a round step.
    fn linear_ticks(&self) -> Vec<Tick> {
        self.multiples(step(self.hi - self.lo), 1e-3..1e6)
    }

    /// Ticks at the multiples of a step, written out if the size of the largest is in `plain`.
    fn multiples(&self, (digit, power): (i64, i32), plain: Range<f64>) -> Vec<Tick> {
        let first = quotient(self.lo, decimal(digit, power)).ceil() as i64;
        let last = quotient(self.hi, decimal(digit, power)).floor() as i64;
        let plain = plain.contains(&self.lo.abs().max(self.hi.abs()));
        (first..=last).map(|multiple| Tick::new(multiple * digit, power, plain)).collect()
    }

    /// Ticks at the powers of ten, or at 1, 2 and 5 times these where the powers are too few.
    fn log_ticks(&self) -> Vec<Tick> {
        let decades = self.hi.log10() - self.lo.log10() + SLACK;
        let (first, last) = (exponent(self.lo), exponent(self.hi));
        let (digit, power) = step(decades);
        let stride = decimal(digit, power).max(1.0) as i32;
        let digits = if stride == 1 { 1..=9 } else { 1..=1 };
        let all = (first..=last).flat_map(|power| digits.clone().map(move |digit| (digit, power)));
        let ticks = all.filter_map(|(digit, power)| match digit {
            1 if power % stride == 0 => Some(Tick::new(digit, power, power.abs() < 3)),
            2 | 5 if decades < FEW_DECADES => Some(Tick::new(digit, power, power.abs() < 3)),
            _ if stride > DENSE_STRIDE => None,
            _ => Some(Tick { label: String::new(), ..Tick::new(digit, power, true) }),
        });
        let shown = self.lo * (1.0 - SLACK)..=self.hi * (1.0 + SLACK);
        let ticks: Vec<Tick> = ticks.filter(|tick| shown.contains(&tick.value)).collect();
        // Over less than a decade the round numbers can be too few, and the scale is near linear.
        let labelled = ticks.iter().filter(|tick| tick.is_labelled()).count();
        if decades < 1.0 && labelled < 3 { self.linear_ticks() } else { ticks }
    }
}

impl Tick {
    /// The tick at `number * 10^power`, written out if `plain`, or else as a multiple of a power
    /// of ten.
    fn new(number: i64, power: i32, plain: bool) -> Self {
        let value = decimal(number, power);
        let digits = number.unsigned_abs().to_string();
        let raised = power + digits.len() as i32 - 1;
        let sign = if number < 0 { "-" } else { "" };
        let label = match digits.trim_end_matches('0').split_at_checked(1) {
            _ if plain => grouped(&format!("{value:.*}", (-power).max(0) as usize)),
            None => "0".to_owned(),
            Some(("1", "")) => format!("{sign}10^{raised}"),
            Some((first, "")) => format!("{sign}{first}×10^{raised}"),
            Some((first, rest)) => format!("{sign}{first}.{rest}×10^{raised}"),
        };
        Self { value, at: f64::NAN, label: label.replace('-', "−") }
    }

    pub(crate) fn is_labelled(&self) -> bool {
        !self.label.is_empty()
    }

    /// The width of its label, about.
    pub(crate) fn width(&self) -> f64 {
        let (number, raised) = self.label.split_once('^').unwrap_or((&self.label, ""));
        width(number) + width(raised) * RAISED / TEXT
    }

    /// The label at its place.
    pub(crate) fn text(&self, (x, y): (f64, f64), style: &str) -> String {
        let label = self.label.split_once('^').map(|(number, raised)| {
            format!(r#"{number}<tspan dy="-5" font-size="{RAISED}">{raised}</tspan>"#)
        });
        let label = label.as_ref().unwrap_or(&self.label);
        format!(r#"<text x="{}" y="{}" {style}>{label}</text>"#, px(x), px(y))
    }
}

/// The least and the greatest of the values that the scale admits.
fn bounds(values: impl IntoIterator<Item = f64>, scale: Scale) -> Option<(f64, f64)> {
    let least = if scale == Scale::Log { 1.0 / HUGE } else { -HUGE };
    let values = values.into_iter().filter(|value| scale.admits(*value));
    extremes(values.map(|value| value.clamp(least, HUGE)))
}

/// The finest round step, 1, 2 or 5 times a power of ten, with few enough of them in a width. The
/// width of the narrowest span has four digits, so more than that are not compared.
fn step(width: f64) -> (i64, i32) {
    let least = width / MOST_STEPS * 0.999;
    let power = least.log10().floor() as i32;
    let digit = [1, 2, 5].into_iter().find(|digit| decimal(*digit, power) >= least);
    digit.map_or((1, power + 1), |digit| (digit, power))
}

/// `number * 10^power`, dividing for a negative power: only its inverse is an exact float.
fn decimal(number: i64, power: i32) -> f64 {
    let scale = 10_f64.powi(power.abs());
    if power < 0 { number as f64 / scale } else { number as f64 * scale }
}

/// The number of times that a size goes into a value: a whole number, where only rounding says
/// otherwise.
fn quotient(value: f64, size: f64) -> f64 {
    let exact = value / size;
    let whole = exact.round();
    if (exact - whole).abs() < SLACK.max(4.0 * f64::EPSILON * exact.abs()) { whole } else { exact }
}

/// The power of ten at or below a positive value.
fn exponent(value: f64) -> i32 {
    quotient(value.log10(), 1.0).floor() as i32
}

/// The distance that a line may reach beyond the frame: about its width.
pub(crate) const BLEED: f64 = 1.5;
/// Pixels of an axis of dates for each tick, about.
const DATE: f64 = 88.0;
/// Most steps between the ticks of a linear axis.
const MOST_STEPS: f64 = 8.0;
/// A log axis shorter than this has too few powers of ten to be read by them alone.
const FEW_DECADES: f64 = 2.0;
/// A log axis that labels powers of ten farther apart than this has no room for the others.
const DENSE_STRIDE: i32 = 10;
/// The error forgiven a value that should be a tick.
const SLACK: f64 = 1e-9;
/// The narrowest span of an axis relative to its values, and absolutely.
const RESOLUTION: f64 = 1e-12;
const SMALLEST: f64 = 1e-304;
/// The end of every axis, far enough from the largest float for its width to be one.
const HUGE: f64 = 1e300;
/// The farthest a point is placed, in sizes of the plot: renderers lose the precision of a much
/// longer line, or its dashes.
const FAR: f64 = 1e3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::chart;
    use crate::text::LINE;

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
        Span::new(scale, None, [lo, hi], (0.0, 600.0))
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
            let span = Span::new(Scale::Linear, Some((a, b)), [5.0], (0.0, 1.0));
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
            let span = Span::new(Scale::Log, Some(range), [20.0, 500.0], (0.0, 1.0));
            assert_eq!((span.lo, span.hi), (20.0, 500.0), "{range:?}");
        }
    }

    #[test]
    fn tick_labels_keep_their_distance() {
        for scale in [Scale::Linear, Scale::Log] {
            for ends in intervals().map(|(lo, hi)| (lo.abs(), hi.abs())) {
                let span = fitted(scale, ends);
                let ticks = span.ticks(|tick| tick.width() + LINE);
                let labelled: Vec<_> = ticks.iter().filter(|tick| tick.is_labelled()).collect();
                assert!(labelled.len() >= 2, "{ends:?}");
                for pair in labelled.windows(2) {
                    let apart = pair[1].at - pair[0].at;
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
        assert_eq!(span.log_ticks().iter().filter(|tick| !tick.is_labelled()).count(), 7 * 8);
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
        let span = Span::new(Scale::Log, Some((3.0, 4.0)), [], (0.0, 600.0));
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
    fn a_constant_series_runs_inside_the_plot() {
        for (scale, value) in [(Scale::Linear, 0.0), (Scale::Linear, -3.0), (Scale::Log, 1e-12)] {
            let span = fitted(scale, (value, value));
            assert!(span.lo < value && value < span.hi);
            let noisy = fitted(scale, (value, value + value.abs() * 1e-15));
            assert_eq!((noisy.lo, noisy.hi), (span.lo, span.hi));
        }
    }

    #[test]
    fn a_whole_axis_ends_where_the_data_do_and_has_no_fractions() {
        let span = fitted(Scale::Whole, (1.0, 365.0));
        assert_eq!((span.lo, span.hi), (1.0, 365.0));
        assert_eq!(labels(&span), ["50", "100", "150", "200", "250", "300", "350"]);
        assert_eq!(labels(&fitted(Scale::Whole, (1.0, 2.0))), ["1", "2"]);
        assert_eq!(labels(&fitted(Scale::Whole, (7.0, 7.0))), ["6", "7", "8"]);
        let late = fitted(Scale::Whole, (29_712_345.0, 29_712_348.0));
        assert_eq!(labels(&late), ["29,712,345", "29,712,346", "29,712,347", "29,712,348"]);
    }
}
