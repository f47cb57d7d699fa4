//! The law of all the noise that N users' bursts add to a bag of '+' and '−'.
//!
//! Each user adds one event or none, so the law is the N-th power of a polynomial
//! `B = p₀ + Σ p_e·x^{t_e}·y^{a_e}`, where `t` counts the messages of an event and `a` its '+'. Two
//! ways to raise it, both with positive terms only:
//!
//! *By totals.* `B·∂Bᴺ = N·∂B·Bᴺ`, `∂` the derivative along t, gives Miller's recursion
//!
//! ```text
//! p₀·t·V(t, a) = Σ_e p_e·((N+1)·t_e − t)·V(t − t_e, a − a_e),      V(0, 0) = p₀ᴺ
//! ```
//!
//! whose terms are positive while `t ≤ (N+1)·min t_e`.
//!
//! *By bursts*, for crowds that send more messages than that. Write B = r·R + s·S, where R are
//! pairs or nothing, S bursts of one sign, both of mass 1. Then `Bᴺ = Σ_m Bin(N, s)(m)·Sᵐ·R^{N−m}`,
//! a Horner scheme in S; powers of R are laws on the line.
//!
//! The table has the totals `0..=T` and the differences `−D₁..=D₂`. Both schemes reach a cell
//! through partial sums of the events of a crowd, so leaving out what is beyond the table loses
//! only crowds with more than T messages, more than D₂ '+' in bursts, or more than D₁ '−' in
//! bursts. Chernoff's bound holds each of these below a `leak` of 10⁻²².

use crate::Error;
use crate::error::require;
use crate::kernel::binomial::Binomial;
use crate::kernel::work;
use crate::profile::Bursts;
use crate::quantity::TWO_64;

/// The table, its relative error and the mass that it misses.
#[derive(Clone)]
pub(crate) struct Law {
    window: Window,
    cells: Vec<f64>,
    /// Every cell is within `e^±error` of the mass that it stands for.
    pub(crate) error: f64,
    /// The mass beyond the table, and of crowds lost on the way to a cell of it.
    pub(crate) leak: f64,
}

impl Law {
    /// The law of `trials` users; an error where that takes a larger table than the limits allow.
    pub(crate) fn new(limits: Limits, trials: u64, bursts: &Bursts) -> Result<Self, Error> {
        let Job { catalogue, window, most, terms } = Job::new(limits, trials, bursts)?;
        work::count(terms as u64);
        let (cells, error) = match most {
            None => (catalogue.by_totals(window), catalogue.error_by_totals(window)),
            Some(most) => (catalogue.by_bursts(window, most), catalogue.error_by_bursts(most)),
        };
        // Whoever adds the cells up, by `Sum`, rounds once more for each in a part and for each
        // part.
        let error = error + (PART as f64 + window.cells() / PART as f64) * f64::EPSILON;
        Ok(Self { window, cells, error, leak: 4.0 * limits.leak + UNDERFLOW })
    }

    /// True if the limits allow the law of `trials` users.
    pub(crate) fn is_within(limits: Limits, trials: u64, bursts: &Bursts) -> bool {
        Job::new(limits, trials, bursts).is_ok()
    }

    /// The mass of `plus` and `minus` messages of noise; 0 beyond the table.
    pub(crate) fn mass(&self, plus: i64, minus: i64) -> f64 {
        let mass = || {
            let (plus, minus) = (usize::try_from(plus).ok()?, usize::try_from(minus).ok()?);
            let (first, row) = self.row(plus.checked_add(minus)?);
            row.get(plus.checked_sub(first)?).copied()
        };
        mass().unwrap_or(0.0)
    }

    /// Every outcome, with its mass as it is and its mass when one '+' is added to the noise.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(f64, f64)) {
        for t in 0..=self.window.last + 1 {
            let (start, bare) = self.row(t);
            let (shifted_start, shifted) = match t.checked_sub(1) {
                Some(before) => self.row(before),
                None => (0, [].as_slice()),
            };
            // Shifted rows begin and end at the same place as bare ones, or one place later.
            let lead = (shifted_start + 1).saturating_sub(start).min(bare.len());
            let common = (bare.len() - lead).min(shifted.len());
            bare[..lead].iter().for_each(|&v| visit(v, 0.0));
            bare[lead..].iter().zip(shifted).for_each(|(&v, &p)| visit(v, p));
            bare[lead + common..].iter().for_each(|&v| visit(v, 0.0));
            shifted[common..].iter().for_each(|&p| visit(0.0, p));
        }
    }

    /// The number of '+' in the first cell of row `t`, and the row.
    fn row(&self, t: usize) -> (usize, &[f64]) {
        if t > self.window.last {
            return (self.window.first(t), &[]);
        }
        let start = t * self.window.stride();
        (self.window.first(t), &self.cells[start..start + self.window.width(t)])
    }
}

/// A law that can be computed, and how.
struct Job {
    catalogue: Catalogue,
    window: Window,
    /// The most one-sided bursts, where the law is computed by them and not by totals.
    most: Option<u64>,
    terms: f64,
}

impl Job {
    fn new(limits: Limits, trials: u64, bursts: &Bursts) -> Result<Self, Error> {
        let catalogue = Catalogue::new(trials, bursts, limits.leak);
        let window = catalogue.window();
        let smallest = catalogue.events.iter().map(|event| event.total as u64).min();
        let positive = smallest.is_some_and(|least| window.last as u64 <= (trials + 1) * least);
        let most = if positive { None } else { Some(catalogue.most_bursts()) };
        let table = window.cells() * catalogue.events.len() as f64;
        let terms = most.map_or(table, |most| {
            let pairs = (bursts.pairs().len() as f64 + 1.0) * window.last as f64 / 2.0;
            (most as f64 + 1.0) * table + trials as f64 * pairs
        });
        let holds = window.cells() <= limits.cells && terms <= limits.terms;
        let range = "smaller: such noise has too many outcomes to account for";
        require(holds, "burst table", window.cells(), range)?;
        Ok(Self { catalogue, window, most, terms })
    }
}

/// The size of a table that is worth its time, and what it may miss.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The cells of the table.
    pub(crate) cells: f64,
    /// The terms that are added up in all of them.
    pub(crate) terms: f64,
    /// The mass that each side of the table may miss.
    pub(crate) leak: f64,
}

impl Limits {
    /// A table that can be computed.
    pub(crate) const LARGE: Self = Self { cells: 3e7, terms: 2e10, leak: LEAK };
    /// A table so small that all its outcomes can be kept in order.
    pub(crate) const SMALL: Self = Self { cells: 2.5e6, terms: 2e9, leak: LEAK };

    /// The same for whoever looks at δ near this one: what the table misses is added to it, and is
    /// at most a ten-thousandth of it.
    pub(crate) fn near(self, delta: f64) -> Self {
        Self { leak: (2.5e-5 * delta).max(LEAK), ..self }
    }
}

/// A long sum of positive terms in parts, so that its rounding error grows with their number and
/// not with that of the terms.
#[derive(Default)]
pub(crate) struct Sum {
    whole: f64,
    part: f64,
    terms: usize,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, term: f64) {
        self.part += term;
        self.terms += 1;
        if self.terms == PART {
            *self = Self { whole: self.whole + self.part, ..Self::default() };
        }
    }

    pub(crate) fn total(&self) -> f64 {
        self.whole + self.part
    }
}

impl std::fmt::Debug for Law {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Law").field("window", &self.window).finish_non_exhaustive()
    }
}

/// Totals up to `last`, differences '+' minus '−' from `-below` to `above`.
#[derive(Debug, Clone, Copy)]
struct Window {
    last: usize,
    below: usize,
    above: usize,
}

impl Window {
    /// The fewest '+' in row `t`.
    fn first(&self, t: usize) -> usize {
        t.saturating_sub(self.below).div_ceil(2)
    }

    /// One more than the most '+' in row `t`.
    fn end(&self, t: usize) -> usize {
        t.min(usize::midpoint(t, self.above)) + 1
    }

    fn width(&self, t: usize) -> usize {
        self.end(t) - self.first(t)
    }

    fn stride(&self) -> usize {
        usize::midpoint(self.below, self.above) + 1
    }

    fn cells(&self) -> f64 {
        (self.last as f64 + 1.0) * self.stride() as f64
    }

    /// Adds `factor` times row `source`, moved by the event, to row `t`.
    fn add(&self, row: &mut [f64], t: usize, source: &[f64], event: &Event, factor: f64) {
        let from = t - event.total;
        let start = self.first(t).max(self.first(from) + event.plus);
        let end = self.end(t).min(self.end(from) + event.plus);
        if start >= end {
            return;
        }
        let row = &mut row[start - self.first(t)..end - self.first(t)];
        let moved = start - event.plus - self.first(from);
        for (sum, &mass) in row.iter_mut().zip(&source[moved..]) {
            *sum += factor * mass;
        }
    }
}

/// One event with its probability.
struct Event {
    p: f64,
    total: usize,
    plus: usize,
}

impl Event {
    fn is_pair(&self) -> bool {
        self.total == 2 * self.plus
    }
}

/// The events that can happen, as probabilities.
struct Catalogue {
    trials: u64,
    events: Vec<Event>,
    /// `P[no event]`.
    none: f64,
    /// `P[some event]`, summed as integers: `ln P[no event]` needs its digits.
    some: f64,
    /// The mass that each side of a table may miss.
    leak: f64,
}

impl Catalogue {
    fn new(trials: u64, bursts: &Bursts, leak: f64) -> Self {
        let sized = |weights: &[u64]| -> Vec<(usize, f64)> {
            let sizes = (1..).zip(weights).filter(|&(_, &weight)| weight > 0);
            sizes.map(|(size, &weight)| (size, weight as f64 / TWO_64)).collect()
        };
        let pairs = sized(bursts.pairs()).into_iter().map(|(j, p)| (p, 2 * j, j));
        let plus = sized(bursts.plus()).into_iter().map(|(k, p)| (p, k, k));
        let minus = sized(bursts.minus()).into_iter().map(|(k, p)| (p, k, 0));
        let events = pairs.chain(plus).chain(minus);
        Self {
            trials,
            events: events.map(|(p, total, plus)| Event { p, total, plus }).collect(),
            none: bursts.none() as f64 / TWO_64,
            some: bursts.none().wrapping_neg() as f64 / TWO_64,
            leak,
        }
    }

    fn window(&self) -> Window {
        let burst = |event: &Event, size: usize| if event.is_pair() { 0 } else { size };
        Window {
            last: self.reach(|event| event.total),
            below: self.reach(|event| burst(event, event.total - event.plus)),
            above: self.reach(|event| burst(event, event.plus)),
        }
    }

    /// A number that the sum of the sizes of all users' events exceeds with probability `leak` at
    /// most: `P[X ≥ x] ≤ e^{−θx}·E[e^{θX}]` for every θ > 0, so the θ need not be the best.
    fn reach(&self, size: impl Fn(&Event) -> usize) -> usize {
        let sizes: Vec<(f64, f64)> =
            self.events.iter().map(|event| (event.p, size(event) as f64)).collect();
        let largest = sizes.iter().map(|&(_, size)| size).fold(0.0, f64::max);
        let bound = |ln_theta: f64| {
            let theta = ln_theta.exp();
            let growth: f64 = sizes.iter().map(|(p, size)| p * (theta * size).exp_m1()).sum();
            (self.trials as f64 * growth.ln_1p() - self.leak.ln()) / theta
        };
        let (mut low, mut high) = (-16.0, 4.0);
        for _ in 0..100 {
            let (left, right) = ((2.0 * low + high) / 3.0, (low + 2.0 * high) / 3.0);
            (low, high) = if bound(left) <= bound(right) { (low, right) } else { (left, high) };
        }
        let likely = bound(0.5 * (low + high)) * (1.0 + 1e-9);
        likely.min(self.trials as f64 * largest).ceil() as usize
    }

    /// A number of one-sided bursts that is exceeded with probability `leak` at most.
    fn most_bursts(&self) -> u64 {
        self.reach(|event| usize::from(!event.is_pair())) as u64
    }

    /// Miller's recursion, from V(0, 0) = 1; every row keeps its own power of 2⁵¹² aside.
    fn by_totals(&self, window: Window) -> Vec<f64> {
        let (stride, trials) = (window.stride(), (self.trials + 1) as f64);
        let mut cells = vec![0.0; (window.last + 1) * stride];
        let mut lifts = vec![0_i32; window.last + 1];
        cells[0] = 1.0;
        for t in 1..=window.last {
            let (done, rest) = cells.split_at_mut(t * stride);
            // Fresh memory that is read first is mapped twice, and tables have gigabytes in all.
            rest[..stride].fill(0.0);
            let row = &mut rest[..window.width(t)];
            let mut lift = lifts[t - 1];
            for event in self.events.iter().filter(|event| event.total <= t) {
                let from = t - event.total;
                let weight = (trials * event.total as f64 - t as f64) / t as f64;
                let aside = LIFT.recip().powi(lift - lifts[from]);
                let factor = event.p / self.none * weight * aside;
                window.add(row, t, &done[from * stride..], event, factor);
            }
            if row.iter().any(|&mass| mass > LIFT) {
                for mass in row.iter_mut() {
                    *mass /= LIFT;
                }
                lift += 1;
            }
            lifts[t] = lift;
        }
        let start = self.ln_no_events();
        for (row, lift) in cells.chunks_mut(stride).zip(lifts) {
            let scale = (start + f64::from(lift) * LIFT.ln()).exp();
            for mass in row.iter_mut() {
                *mass *= scale;
            }
        }
        cells
    }

    /// `ln p₀ᴺ`.
    fn ln_no_events(&self) -> f64 {
        let trials = self.trials as f64;
        if self.some < 0.5 { trials * (-self.some).ln_1p() } else { trials * self.none.ln() }
    }

    /// A path to a cell has at most as many steps as messages; each step multiplies by a factor
    /// with eight roundings and adds up as many terms as there are events. The start is an
    /// exponential.
    fn error_by_totals(&self, window: Window) -> f64 {
        let steps = window.last as f64 * (self.events.len() as f64 + 10.0);
        let lifts = 2.0 * self.ln_no_events().abs() + LIFT.ln();
        (steps + 8.0 * lifts) * f64::EPSILON
    }

    /// Horner's scheme over the number of one-sided bursts, from `most` down to none.
    fn by_bursts(&self, window: Window, most: u64) -> Vec<f64> {
        let (pairs, bursts): (Vec<&Event>, Vec<&Event>) =
            self.events.iter().partition(|event| event.is_pair());
        let one_sided: f64 = bursts.iter().map(|event| event.p).sum();
        let calm = self.none + pairs.iter().map(|event| event.p).sum::<f64>();
        // The rarer of the two kinds of user has the digits.
        let number = |m: u64| {
            if one_sided < 0.5 {
                Binomial::new(self.trials, one_sided).pmf(m)
            } else {
                Binomial::new(self.trials, calm).pmf(self.trials - m)
            }
        };
        let step: Vec<(usize, f64)> = pairs.iter().map(|e| (e.plus, e.p / calm)).collect();
        // The law of the pairs among those users who add no burst. Its power only moves up.
        let mut line = vec![0.0; window.last / 2 + 1];
        line[0] = 1.0;
        for _ in most..self.trials {
            multiply(&mut line, self.none / calm, &step);
        }
        let empty = 2 * line.iter().position(|&mass| mass > 0.0).unwrap_or(0);
        let stride = window.stride();
        let mut sum = vec![0.0; (window.last + 1) * stride];
        let mut next = sum.clone();
        for m in (0..=most).rev() {
            for (t, row) in next.chunks_mut(stride).enumerate().skip(empty) {
                let row = &mut row[..window.width(t)];
                row.fill(0.0);
                for event in bursts.iter().filter(|event| event.total <= t) {
                    let source = &sum[(t - event.total) * stride..];
                    window.add(row, t, source, event, event.p / one_sided);
                }
            }
            let mass = number(m);
            for (c, &share) in line.iter().enumerate() {
                next[2 * c * stride + c - window.first(2 * c)] += mass * share;
            }
            std::mem::swap(&mut sum, &mut next);
            multiply(&mut line, self.none / calm, &step);
        }
        sum
    }

    /// The errors of the steps, and that of the binomial law of the number of bursts.
    fn error_by_bursts(&self, most: u64) -> f64 {
        let steps = (self.trials as f64 + most as f64) * (self.events.len() as f64 + 10.0);
        steps * f64::EPSILON + BINOMIAL_ERROR
    }
}

/// Multiplies a law on the line by one more step, in place: a cell needs only those below it.
fn multiply(line: &mut [f64], stay: f64, step: &[(usize, f64)]) {
    for c in (0..line.len()).rev() {
        let moved = step.iter().filter(|&&(j, _)| j <= c).map(|&(j, p)| p * line[c - j]);
        let mass = stay * line[c] + moved.sum::<f64>();
        line[c] = if mass < NEGLIGIBLE { 0.0 } else { mass };
    }
}

/// The mass that each side of a table may miss.
const LEAK: f64 = 1e-22;
/// A mass that is below a hundredth of [`LEAK`] when multiplied by the terms of the largest table.
const NEGLIGIBLE: f64 = 1e-40;
/// A bound on the mass that is dropped because it is negligible or too small for an `f64`.
const UNDERFLOW: f64 = 1e-26;
/// The relative error of [`Binomial`]: four times the one its tests allow.
const BINOMIAL_ERROR: f64 = 1.6e-11;
const LIFT: f64 = 1.3407807929942597e154; // 2⁵¹²
/// Terms of one part of a long sum.
const PART: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    fn bursts(n: f64, pairs: &[f64], plus: &[f64], minus: &[f64]) -> Bursts {
        let weights = |rates: &[f64]| rates.iter().map(|r| (r / n * TWO_64) as u64).collect();
        Bursts::new(weights(pairs), weights(plus), weights(minus)).unwrap()
    }

    fn total(law: &Law) -> f64 {
        let mut sum = 0.0;
        law.for_each(|zero, _| sum += zero);
        sum
    }

    #[test]
    fn the_two_schemes_give_the_same_law() {
        let few = bursts(600.0, &[30.0, 9.0], &[0.5, 0.2, 0.4], &[0.7, 0.0, 0.3, 0.1]);
        let catalogue = Catalogue::new(600, &few, LEAK);
        let window = catalogue.window();
        assert!(window.last <= 601, "{window:?}");
        let by_totals = catalogue.by_totals(window);
        let by_bursts = catalogue.by_bursts(window, catalogue.most_bursts());
        let error = catalogue.error_by_totals(window) + BINOMIAL_ERROR;
        let mut compared = 0;
        for (&x, &y) in by_totals.iter().zip(&by_bursts).filter(|(x, _)| **x > 1e-20) {
            assert!((x - y).abs() <= error * y + 4.0 * LEAK, "{x:e} {y:e}");
            compared += 1;
        }
        assert!(compared > 1000, "{compared}");
        assert_close(by_totals.iter().sum(), 1.0, error);
    }

    #[test]
    fn what_a_narrow_table_misses_is_within_its_leak() {
        for (n, pairs) in [(500, 30.0), (40, 20.0)] {
            let few = bursts(n as f64, &[pairs, 9.0], &[0.5, 0.2, 0.4], &[0.7, 0.0, 0.3, 0.1]);
            let wide = Law::new(Limits::LARGE, n, &few).unwrap();
            assert_close(total(&wide), 1.0, 1e-11);
            for leak in [1e-3, 1e-6, 1e-9] {
                let narrow = Law::new(Limits { leak, ..Limits::LARGE }, n, &few).unwrap();
                let (first, last) = (&narrow.window, &wide.window);
                assert!(first.last < last.last && first.above < last.above);
                let missing = 1.0 - total(&narrow);
                assert!(missing > 1e-5 * leak && missing < narrow.leak, "{leak}: {missing}");
                // No cell has more than its due.
                for plus in 0..60 {
                    for minus in 0..60 {
                        let due = wide.mass(plus, minus) * (1.0 + 1e-10);
                        assert!(narrow.mass(plus, minus) <= due);
                    }
                }
            }
        }
    }

    // p₀ᴺ is e^−3000 here.
    #[test]
    fn many_events_do_not_underflow() {
        let many = bursts(1e6, &[2000.0], &[500.0], &[500.0]);
        let law = Law::new(Limits::LARGE, 1_000_000, &many).unwrap();
        assert_close(total(&law), 1.0, 1e-10);
        let mut mean = 0.0;
        for t in 0..=law.window.last {
            mean += t as f64 * law.row(t).1.iter().sum::<f64>();
        }
        assert_close(mean, 5000.0, 1e-10);
    }

    // Nobody is calm but with probability 2⁻⁶⁴, which 1 − p does not see.
    #[test]
    fn bursts_that_are_almost_sure_keep_the_digits_of_the_rest() {
        let sure = Bursts::new(vec![], vec![u64::MAX], vec![]).unwrap();
        let law = Law::new(Limits::LARGE, 3, &sure).unwrap();
        assert_close(law.mass(3, 0), 1.0, 1e-10);
        assert_close(law.mass(2, 0), 3.0 / TWO_64, 1e-10);
        assert_close(law.mass(1, 0), 3.0 / TWO_64 / TWO_64, 1e-10);
    }

    #[test]
    fn a_table_beyond_reach_is_refused() {
        let huge = bursts(1e4, &[0.0; 1000], &[9.0; 1000], &[0.0]);
        assert!(Law::new(Limits::LARGE, 10_000, &huge).is_err());
    }
}
