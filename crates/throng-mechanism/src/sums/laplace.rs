//! `laplace-mean`: a number between 0 and 1, on a grid, with Laplace noise (local Laplace, on the
//! integers; sampled as in Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential
//! Privacy", 2020, Algorithm 2).
//!
//! Noise from floats gives values away by their last digits, so there is none: the value is rounded
//! at random to one of the grid points 0 … B, which keeps its mean, and the noise is an integer.
//!
//! ```text
//! client     y = ⌊xB⌋ + coin(xB − ⌊xB⌋),   N with P[N = k] ∝ s^|k|,   s = e^−num/den
//!            sends y + N, held between −C and B + C
//! local      ε₀ = B·num/den
//! analyzer   (Σ reports)/B        standard error ≤ √(n·(2s/(1−s)² + ¼))/B, for every dataset
//! ```
//!
//! `C = ⌈64·den/num⌉`, so that a report is held with probability below e⁻⁶⁴; that is
//! post-processing, costs no privacy, and moves no mean by what an `f64` could show.

use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, Noise, Parameters, Protocol, Question,
    Setting, Tally, Trace, Value, bits_of, fits, require, sample, sum_up_to, within_floor,
};
use rand_core::CryptoRng;
use throng_account::profile::LaplaceBlanket;
use throng_account::{Crowd, Epsilon, Probability, Profile, calibrate, round};

/// One message: the rounded value plus integer Laplace noise, shifted by `reach` to be at least 0.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_mechanism::{Claims, LaplaceMean, Protocol};
///
/// // Noise falls off by e^−¼ with each of four steps: from one end of the range to the other by e.
/// let mean = LaplaceMean::new(4, 1, 4)?;
/// assert!((mean.local_floor().unwrap().get() - 1.0).abs() < 1e-12);
/// // Messages begin at −C, 64 times four steps below 0.
/// let zero = vec![256];
/// let (low, high) = (mean.law(&0.0)[&zero], mean.law(&1.0)[&zero]);
/// assert!((low / high - 1_f64.exp()).abs() < 1e-9);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceMean {
    grid: u32,
    num: u64,
    den: u64,
    /// `C`: how far a report can lie outside the grid.
    reach: u64,
    /// ε₀ = B·num/den, rounded up. Exact: two inputs at the ends of the grid have this ratio.
    epsilon: Epsilon,
}

impl LaplaceMean {
    /// The mechanism whose noise falls off by `e^−num/den` with each of the `grid` steps between 0
    /// and 1.
    ///
    /// Messages stay below 2³⁰, so that those of a crowd of 10¹⁰ can be added up.
    pub fn new(grid: u32, num: u64, den: u64) -> Result<Self, Error> {
        require(grid > 0 && num > 0 && den > 0, "grid, num and den", "at least 1")?;
        let reach = (64 * u128::from(den)).div_ceil(u128::from(num));
        let range = "such that grid + 128·den/num stays below 2^30";
        require(u128::from(grid) + 2 * reach < 1 << 30, "grid, num and den", range)?;
        let product = u128::from(grid) * u128::from(num);
        // Three roundings, of half an ulp each.
        let epsilon = Epsilon::new(round::up_by(product as f64 / den as f64, 4.0 * f64::EPSILON))?;
        Ok(Self { grid, num, den, reach: reach as u64, epsilon })
    }

    /// The least noise that keeps a local ε₀: `num/den ≤ ε₀/B`, with a power of two below.
    pub fn local(epsilon: Epsilon, grid: u32) -> Result<Self, Error> {
        let step = epsilon.get() / f64::from(grid.max(1));
        // All 53 digits of the quotient, as far as the denominator has room for them.
        let shift = (52.0 - step.log2().floor()).clamp(0.0, 62.0) as u32;
        let den = 1_u64 << shift;
        let mut num = (step * den as f64) as u64;
        // The quotient may have been rounded up.
        while Self::new(grid, num, den)?.epsilon > epsilon {
            num -= 1;
        }
        Self::new(grid, num, den)
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "Laplace noise with a known local epsilon, shuffled: by its blanket",
        example: "--n 1e4 --epsilon0 2 --delta 1e-6",
        settings: &[Setting::Grid, Setting::Local(&["grid", "decay"])],
        profile: |settings, crowd| {
            Ok(Box::new(LaplaceBlanket::new(crowd, settings.local()?, settings.grid)?))
        },
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        let [num, den] = given.pair("decay")?;
        // Noise that decays faster is rarer.
        let num = given.weaken.map_or(num, |factor| (num as f64 * factor) as u64);
        Self::new(given.small("grid")?, num, den)
    }

    /// The mechanism with the largest ε₀ that its own blanket hides.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let mut local = calibrate::laplace(ask.crowd, GRID.into(), ask.epsilon, ask.delta)?;
        loop {
            let found = Self::local(local, GRID)?;
            if found.profile(ask.crowd)?.upper_delta(ask.epsilon) <= ask.delta.get() {
                return Ok(found);
            }
            // Rounding to integers crossed the line: step inside it.
            local = Epsilon::new(local.get() * (1.0 - 1e-6))?;
        }
    }

    /// `num/den`.
    fn step(&self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// The largest message.
    fn largest(&self) -> u64 {
        u64::from(self.grid) + 2 * self.reach
    }
}

impl Protocol for LaplaceMean {
    type Input = f64;

    fn encode(&self, input: &f64, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        let value = on_grid(*input, self.grid, rng)? as i64;
        let noise = sample::discrete_laplace(self.num, self.den, rng);
        let shifted = value.saturating_add(noise).saturating_add(self.reach as i64);
        report.push(shifted.clamp(0, self.largest() as i64) as u64);
        Ok(())
    }

    fn law(&self, input: &f64) -> Law {
        let (x, reach, last) = (self.step(), self.reach as i64, self.largest() as i64);
        let (floor, up) = grid_law(*input, self.grid).expect("a value in range");
        let mut law = Law::new();
        for (value, weight) in [(floor as i64, 1.0 - up), (floor as i64 + 1, up)] {
            if weight == 0.0 {
                continue;
            }
            for message in 0..=last {
                let away = (message - reach - value).unsigned_abs() as f64;
                // All that lies beyond the ends is held there: Σ_{j ≥ 0} s^j = 1/(1 − s).
                let held = if message == 0 || message == last { 1.0 / -(-x).exp_m1() } else { 1.0 };
                let mass = (0.5 * x).tanh() * (-x * away).exp() * held;
                *law.entry(vec![message as u64]).or_insert(0.0) += weight * mass;
            }
        }
        law
    }

    fn cells(&self) -> usize {
        1
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        sum_up_to(self.largest(), messages, cells)
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let (n, steps) = (tally.n(), f64::from(self.grid));
        let value = (tally.cells()[0] as f64 - n * self.reach as f64) / steps;
        let half_width = laplace_reach(n, self.step(), 0.25 * n, confidence) / steps;
        vec![Estimate::even(value, self.standard_error(n), half_width)]
    }
}

impl Claims for LaplaceMean {
    fn question(&self) -> Question {
        Question::Real
    }

    /// The profile of its blanket: an upper bound for all values, and a dataset below it.
    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Ok(Box::new(LaplaceBlanket::new(crowd, self.epsilon, self.grid.into())?))
    }

    fn local_floor(&self) -> Option<Epsilon> {
        Some(self.epsilon)
    }

    /// An upper bound over all datasets, reached when all values lie midway between grid points.
    fn standard_error(&self, reports: f64) -> f64 {
        (reports * (laplace_variance(self.step()) + 0.25)).sqrt() / f64::from(self.grid)
    }

    fn influence(&self) -> f64 {
        1.0 + 2.0 * self.reach as f64 / f64::from(self.grid)
    }

    fn message_bits(&self) -> u32 {
        bits_of(self.largest() + 1)
    }

    fn parameters(&self) -> Parameters {
        vec![("grid", vec![self.grid.into()]), ("decay", vec![self.num, self.den])]
    }

    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        Some(Self::local(within_floor(floor)?, self.grid).ok()?.parameters())
    }

    /// Noise beyond the width of the grid: `P[|N| > B] = 2s^(B+1)/(1 + s)`.
    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let (point, rest) = grid_law(value.real().ok()?, self.grid).ok()?;
        let (x, width) = (self.step(), u64::from(self.grid));
        let chance = 2.0 * (-x * (width + 1) as f64).exp() / (1.0 + (-x).exp());
        let middle = point + self.reach;
        (rest == 0.0).then(|| {
            Trace::new(1, chance, move |report| {
                u64::from(report.iter().any(|message| message.abs_diff(middle) > width))
            })
        })
    }
}

/// A value from 0 to 1 as a grid point from 0 to `grid`, rounded at random so that its mean stays.
pub(crate) fn on_grid(value: f64, grid: u32, rng: &mut impl CryptoRng) -> Result<u64, Error> {
    let (below, rest) = grid_law(value, grid)?;
    Ok(below + u64::from(sample::fraction(rest, rng)))
}

/// The law of [`on_grid`]: the point below, and the probability of the next.
pub(crate) fn grid_law(value: f64, grid: u32) -> Result<(u64, f64), Error> {
    fits((0.0..=1.0).contains(&value), "a number from 0 to 1")?;
    let scaled = value * f64::from(grid);
    Ok((scaled.floor() as u64, scaled.fract()))
}

/// Variance of `P[k] ∝ e^−x|k|`: `2s/(1 − s)²` with `s = e^−x`, without cancellation.
pub(crate) fn laplace_variance(x: f64) -> f64 {
    0.5 / (0.5 * x).sinh().powi(2)
}

/// The reach of noise that is the sum of `copies` draws of `P[k] ∝ e^−x|k|` (a fraction of one is a
/// share of it) and of rounding with this variance.
///
/// Laplace noise has heavier tails than the normal law, so a narrow sum is read off its own law.
/// That needs few lattice points: noise much wider than the lattice is taken on a coarser one,
/// where it is Laplace noise again, and a coarse step is added. Rounding adds half a step, as truth
/// lies anywhere between the points.
pub(crate) fn laplace_reach(copies: f64, x: f64, rounding: f64, confidence: Probability) -> f64 {
    let coarse = (0.3 / x).floor().max(1.0);
    let x = x * coarse;
    // Laplace noise is a compound Poisson sum: a jump of ±k at rate e^−xk/k each. Many draws of
    // small probability stand for the rates.
    let rounding = 0.5 * rounding / (coarse * coarse);
    let draws = 1e9 * (1.0 + copies + rounding);
    let farthest = (30.0 / x).ceil().max(1.0) as i64;
    let events = (1..=farthest).flat_map(|k| {
        let jump = copies * (-x * k as f64).exp() / k as f64;
        let rate = (jump + if k == 1 { rounding } else { 0.0 }) / draws;
        [(k, rate), (-k, rate)]
    });
    let reach = Noise::new(draws, events.collect()).reach(confidence);
    let step = if coarse > 1.0 { 1.0 } else { 0.5 };
    coarse * (reach + step)
}

/// The number of steps of the unit interval that the planner chooses for mechanisms on a grid.
pub(crate) const GRID: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Planted;
    use crate::testing::{
        OneByOne, assert_inverse, assert_inverse_within, assert_local, assert_sampled, assert_view,
        confidence, rng,
    };
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use throng_account::Delta;

    fn mean(grid: u32, epsilon: f64) -> LaplaceMean {
        LaplaceMean::local(Epsilon::new(epsilon).unwrap(), grid).unwrap()
    }

    #[test]
    fn the_claim_bounds_every_likelihood_ratio_and_is_reached() {
        for (grid, epsilon) in [(1, 4.0), (3, 2.0), (4, 0.5)] {
            let mean = mean(grid, epsilon);
            assert!(mean.epsilon.get() <= epsilon);
            assert!(mean.epsilon.get() > epsilon * (1.0 - 1e-12));
            assert_local(&mean, &[&0.0, &0.3, &0.5, &1.0], mean.epsilon);
            let (low, high) = (mean.law(&0.0), mean.law(&1.0));
            let ratio = low[&vec![0]] / high[&vec![0]];
            assert!((ratio.ln() - epsilon).abs() < 1e-9);
        }
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for (mean, input) in [
            (mean(1, 4.0), 0.25),
            (mean(2, 1.0), 0.6),
            (mean(3, 9.0), 1.0),
            (LaplaceMean::new(2, 3, 7).unwrap(), 0.0),
        ] {
            assert_sampled(&mean, &input);
        }
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for input in [0.125, 0.625, 0.875] {
            assert_inverse(&mean(4, 12.0), &input, &[input]);
        }
        // The claimed error allows for rounding; values on the grid are not rounded.
        for input in [0.0, 0.5, 0.6, 1.0] {
            assert_inverse_within(&mean(2, 4.0), &input, &[input], 1.7);
        }
    }

    #[test]
    fn the_profile_bounds_the_bag() {
        for (mean, crowd) in [(mean(1, 3.0), 2), (LaplaceMean::new(2, 3, 1).unwrap(), 2)] {
            let profile = mean.profile(Crowd::new(crowd).unwrap()).unwrap();
            assert_view(&mean, &[&0.0, &0.3, &0.5, &1.0], crowd as usize, &*profile);
        }
        let mean = mean(3, 2.0);
        let wrong = LaplaceMean::local(Epsilon::new(1.9).unwrap(), 3).unwrap();
        let bold = wrong.profile(Crowd::new(2).unwrap()).unwrap();
        let view = AssertUnwindSafe(|| assert_view(&mean, &[&0.0, &1.0], 2, &*bold));
        assert!(catch_unwind(view).is_err());
    }

    #[test]
    fn the_noise_is_less_than_any_randomizer_needs_and_just_enough() {
        let [epsilon, delta] = [1.0, 1e-6];
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        let crowd = Crowd::new(1_000).unwrap();
        let ask = Ask::new(Question::Real, crowd, epsilon, delta);
        let found = LaplaceMean::fit(&ask).unwrap();
        let spent = found.profile(crowd).unwrap().delta(epsilon).upper;
        assert!(spent <= delta.get() && spent > 0.999 * delta.get(), "{spent:e}");
        let any = calibrate::local_epsilon(crowd, epsilon, delta).unwrap();
        assert!(found.epsilon.get() > 1.1 * any.get(), "{:?} {any:?}", found.epsilon);
    }

    // Planted: noise that is pulled in by a step, an analyzer that forgets a step of the shift, and
    // a claim below the ratio of the ends.
    #[test]
    fn narrow_noise_a_wrong_shift_and_a_bold_claim_are_caught() {
        let mean = LaplaceMean::new(2, 3, 1).unwrap();
        assert_eq!(mean.reach, 22);
        let narrow = Planted::sampler(&mean, |_, report| report[0] -= u64::from(report[0] > 24));
        let shifted = Planted::analyzer(&mean, |estimate| estimate.value += 0.5);
        let claim = Epsilon::new(mean.epsilon.get() * 0.99).unwrap();
        assert!(catch_unwind(|| assert_sampled(&narrow, &0.5)).is_err());
        assert!(catch_unwind(|| assert_inverse(&shifted, &0.5, &[0.5])).is_err());
        assert!(catch_unwind(|| assert_local(&mean, &[&0.0, &1.0], claim)).is_err());
    }

    #[test]
    fn the_interval_covers_what_it_says_for_one_user_too() {
        let level = confidence();
        for x in [0.01, 0.1, 0.5, 2.0_f64] {
            let reach = laplace_reach(1.0, x, 0.0, level);
            let tail = |reach: f64| 2.0 * (-x * (reach.floor() + 1.0)).exp() / (1.0 + (-x).exp());
            assert!(tail(reach) <= 0.05, "{x}: {reach}");
            // No more than two coarse steps too wide.
            let steps = 2.0 * (0.3 / x).floor().max(1.0);
            assert!(tail(reach - steps) > 0.05, "{x}: {reach}");
        }
        // Many users: the normal law.
        let mean = mean(1000, 1.0);
        let mut tally = Tally::new(&mean);
        tally.absorb(&mean, &vec![mean.reach + 500; 10_000]);
        let estimate = mean.estimate(&tally, level)[0];
        assert!((estimate.value - 5000.0).abs() < 1e-6);
        assert!((estimate.half_width() / estimate.standard_error - 1.96).abs() < 0.05);
        assert!((estimate.standard_error - 141.42).abs() < 0.01);
    }

    #[test]
    fn a_batch_counts_like_its_messages_one_by_one() {
        let mean = mean(10, 1.0);
        let messages: Vec<u64> = (0..3000).map(|i| i * 7 % 2000).collect();
        let (mut one, mut all) = ([0], [0]);
        let refused = messages.iter().filter(|&&m| mean.absorb(&[m], &mut one).is_err()).count();
        assert_eq!(mean.absorb_batch(&messages, &mut all), refused as u64);
        assert!(refused > 0 && one == all);
    }

    #[test]
    fn nonsense_is_refused() {
        let mean = mean(10, 1.0);
        let mut report = Vec::new();
        for bad in [f64::NAN, -1e-9, 1.0 + 1e-9, f64::INFINITY] {
            assert!(matches!(
                mean.encode(&bad, &mut rng(1), &mut report),
                Err(Error::Value { .. })
            ));
        }
        assert!(report.is_empty());
        assert!(mean.absorb(&[mean.largest() + 1], &mut [0]).is_err());
        assert!(mean.absorb(&[], &mut [0]).is_err());
        assert!(LaplaceMean::local(Epsilon::ZERO, 10).is_err());
        assert!(LaplaceMean::local(Epsilon::new(1.0).unwrap(), 0).is_err());
        assert!(LaplaceMean::local(Epsilon::new(1e-3).unwrap(), 1 << 20).is_err());
    }
}
