//! What an axis shows: the interval, its pixels, and ticks at round numbers.

use super::{Axis, Scale, widest};

/// The interval that an axis shows, and the pixels of its ends.
pub(super) struct Span {
    pub(super) scale: Scale,
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// A grid line, of the lesser kind without a label.
pub(super) struct Tick {
    pub(super) value: f64,
    /// A number, with a `^` before an exponent.
    pub(super) label: String,
}

impl Span {
    /// The range the axis asks for, or else the data's widened to round numbers.
    pub(super) fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        (from, to): (f64, f64),
    ) -> Self {
        let scale = axis.scale;
        let span = |(lo, hi): (f64, f64)| Self { scale, lo, hi, from, to };
        let asked = bounds(axis.range.into_iter().flat_map(<[f64; 2]>::from), scale);
        // A narrower interval is rounding noise about a constant and has no ticks to tell apart.
        let wide =
            |(lo, hi): (f64, f64)| hi - lo > (lo.abs().max(hi.abs()) * RESOLUTION).max(SMALLEST);
        if wide(asked) {
            return span(asked);
        }
        let fitted = match (bounds(values, scale), scale) {
            (data, _) if wide(data) => data,
            ((f64::INFINITY, _), Scale::Linear) => (0.0, 1.0),
            ((f64::INFINITY, _), Scale::Log) => (1.0, 10.0),
            ((value, _), Scale::Log) => (value / 2.0, value * 2.0),
            ((value, _), Scale::Linear) => {
                let around = if value.abs() > SMALLEST { value.abs() / 2.0 } else { 1.0 };
                (value - around, value + around)
            }
        };
        span(fitted).rounded()
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
    pub(super) fn place(&self, value: f64) -> f64 {
        let along = |value: f64| if self.scale == Scale::Log { value.log10() } else { value };
        let (lo, hi) = (along(self.lo), along(self.hi));
        let part = ((along(value) - lo) / (hi - lo)).clamp(-FAR, FAR);
        self.from + part * (self.to - self.from)
    }

    /// Whether a pixel lies between the ends, give or take a line's width.
    pub(super) fn holds(&self, pixel: f64) -> bool {
        (self.from.min(self.to) - BLEED..=self.from.max(self.to) + BLEED).contains(&pixel)
    }

    /// The ticks, each of whose labels takes up this many pixels of the axis. A label too close to
    /// the one before is left out.
    pub(super) fn ticks(&self, extent: impl Fn(&Tick) -> f64) -> Vec<Tick> {
        let mut ticks = match self.scale {
            Scale::Linear => self.linear_ticks(),
            Scale::Log => self.log_ticks(),
        };
        // One extent for all of them: thinned labels then keep a regular pattern.
        let extent = widest(ticks.iter().map(extent));
        let mut last = f64::INFINITY;
        for tick in ticks.iter_mut().filter(|tick| !tick.label.is_empty()) {
            let at = self.place(tick.value);
            if (at - last).abs() < extent {
                tick.label.clear();
            } else {
                last = at;
            }
        }
        ticks
    }

    /// Ticks at the multiples of a round step.
    pub(super) fn linear_ticks(&self) -> Vec<Tick> {
        let (digit, power) = step(self.hi - self.lo);
        let first = quotient(self.lo, decimal(digit, power)).ceil() as i64;
        let last = quotient(self.hi, decimal(digit, power)).floor() as i64;
        let plain = (1e-3..1e6).contains(&self.lo.abs().max(self.hi.abs()));
        (first..=last).map(|multiple| Tick::new(multiple * digit, power, plain)).collect()
    }

    /// Ticks at the powers of ten, or at 1, 2 and 5 times these where the powers are too few.
    pub(super) fn log_ticks(&self) -> Vec<Tick> {
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
            _ => Some(Tick { value: decimal(digit, power), label: String::new() }),
        });
        let shown = self.lo * (1.0 - SLACK)..=self.hi * (1.0 + SLACK);
        let ticks: Vec<Tick> = ticks.filter(|tick| shown.contains(&tick.value)).collect();
        // Over less than a decade the round numbers can be too few, and the scale is near linear.
        let labelled = ticks.iter().filter(|tick| !tick.label.is_empty()).count();
        if decades < 1.0 && labelled < 3 { self.linear_ticks() } else { ticks }
    }
}

impl Tick {
    /// The tick at `number * 10^power`, written out if `plain`, or else as a multiple of a power
    /// of ten.
    pub(super) fn new(number: i64, power: i32, plain: bool) -> Self {
        let value = decimal(number, power);
        let digits = number.unsigned_abs().to_string();
        let raised = power + digits.len() as i32 - 1;
        let sign = if number < 0 { "-" } else { "" };
        let label = match digits.trim_end_matches('0').split_at_checked(1) {
            _ if plain => format!("{value:.*}", (-power).max(0) as usize),
            None => "0".to_owned(),
            Some(("1", "")) => format!("{sign}10^{raised}"),
            Some((first, "")) => format!("{sign}{first}×10^{raised}"),
            Some((first, rest)) => format!("{sign}{first}.{rest}×10^{raised}"),
        };
        Self { value, label: label.replace('-', "−") }
    }
}

/// The least and the greatest of the values that the scale admits.
fn bounds(values: impl Iterator<Item = f64>, scale: Scale) -> (f64, f64) {
    let least = if scale == Scale::Log { 1.0 / HUGE } else { -HUGE };
    let values = values.filter(|value| scale.admits(*value)).map(|value| value.clamp(least, HUGE));
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.fold(none, |(lo, hi), value| (lo.min(value), hi.max(value)))
}

/// The finest round step, 1, 2 or 5 times a power of ten, with few enough of them in a width. The
/// width of the narrowest span has four digits, so more than that are not compared.
pub(super) fn step(width: f64) -> (i64, i32) {
    let least = width / MOST_STEPS * 0.999;
    let power = least.log10().floor() as i32;
    let digit = [1, 2, 5].into_iter().find(|digit| decimal(*digit, power) >= least);
    digit.map_or((1, power + 1), |digit| (digit, power))
}

/// `number * 10^power`, dividing for a negative power: only its inverse is an exact float.
pub(super) fn decimal(number: i64, power: i32) -> f64 {
    let scale = 10_f64.powi(power.abs());
    if power < 0 { number as f64 / scale } else { number as f64 * scale }
}

/// How many times a size goes into a value: a whole number, where only rounding says otherwise.
fn quotient(value: f64, size: f64) -> f64 {
    let exact = value / size;
    let whole = exact.round();
    if (exact - whole).abs() < SLACK.max(4.0 * f64::EPSILON * exact.abs()) { whole } else { exact }
}

/// The power of ten at or below a positive value.
pub(super) fn exponent(value: f64) -> i32 {
    quotient(value.log10(), 1.0).floor() as i32
}

/// How far beyond the frame a line may reach: about its width.
pub(super) const BLEED: f64 = 1.5;
/// Most steps between the ticks of a linear axis.
const MOST_STEPS: f64 = 8.0;
/// A log axis shorter than this has too few powers of ten to be read by them alone.
const FEW_DECADES: f64 = 2.0;
/// A log axis that labels powers of ten farther apart than this has no room for the others.
const DENSE_STRIDE: i32 = 10;
/// The error forgiven a value that should be a tick.
pub(super) const SLACK: f64 = 1e-9;
/// The narrowest span of an axis relative to its values, and absolutely.
const RESOLUTION: f64 = 1e-12;
const SMALLEST: f64 = 1e-304;
/// The end of every axis, far enough from the largest float for its width to be one.
const HUGE: f64 = 1e300;
/// The farthest a point is placed, in sizes of the plot: renderers lose the precision of a much
/// longer line, or its dashes.
const FAR: f64 = 1e3;
