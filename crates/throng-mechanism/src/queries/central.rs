//! Central baselines: the releases of a trusted curator who sees every value.
//!
//! For comparison only. They are no protocols of the shuffle model: nobody here is protected from
//! the party that holds the data.
//!
//! ```text
//! sum         Σx + N,  P[N = k] ∝ e^−|k|·num/den                    ε = sensitivity·num/den
//! selection   i with P ∝ e^{(count_i − max)·num/den}                 ε = 2·num/den
//! ```
//!
//! The sum has geometric noise (Ghosh, Roughgarden, Sundararajan, "Universally Utility-Maximizing
//! Privacy Mechanisms", 2009), the selection is the exponential mechanism (McSherry, Talwar,
//! "Mechanism Design via Differential Privacy", 2007), both drawn exactly, without a float.

use crate::sums::laplace::laplace_variance;
use crate::{Error, Estimate, require, sample};
use rand_core::CryptoRng;
use throng_account::{Epsilon, Probability, round};

/// An integer sum with discrete Laplace noise. One user's replacement changes the sum by at most
/// the sensitivity; a count is the sum of bits, with sensitivity 1.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Epsilon, Probability};
/// use throng_mechanism::CentralSum;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // A count by someone who holds all data: ε = 1 costs ±1.36, whatever the crowd.
/// let count = CentralSum::new(Epsilon::new(1.0)?, 1)?;
/// assert!((count.standard_error() - 1.357).abs() < 1e-3);
/// let release = count.release(300, Probability::new("confidence", 0.999_999)?, &mut rng);
/// assert!(release.holds(300.0) && release.half_width() < 15.0);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CentralSum {
    sensitivity: u32,
    decay: Decay,
}

impl CentralSum {
    /// The least noise that keeps ε.
    pub fn new(epsilon: Epsilon, sensitivity: u32) -> Result<Self, Error> {
        require(sensitivity > 0, "sensitivity", "at least 1")?;
        Ok(Self { sensitivity, decay: Decay::within(epsilon, sensitivity)? })
    }

    /// ε = sensitivity·num/den, rounded up. Exact.
    pub fn epsilon(&self) -> Epsilon {
        self.decay.times(self.sensitivity)
    }

    /// Standard error of a release, whatever the data.
    pub fn standard_error(&self) -> f64 {
        laplace_variance(self.decay.value()).sqrt()
    }

    /// The sum plus noise.
    pub fn release(&self, sum: i64, confidence: Probability, rng: &mut impl CryptoRng) -> Estimate {
        let noise = sample::discrete_laplace(self.decay.0, DEN, rng);
        let value = (i128::from(sum) + i128::from(noise)) as f64;
        Estimate::even(value, self.standard_error(), self.reach(confidence))
    }

    /// The least r with `P[|N| ≤ r] = 1 − 2e^−x(r+1)/(1 + e^−x) ≥ confidence`.
    fn reach(&self, confidence: Probability) -> f64 {
        let x = self.decay.value();
        let tail = 0.5 * (1.0 - confidence.get()) * (1.0 + (-x).exp());
        (-tail.ln() / x - 1.0).ceil().max(0.0)
    }
}

/// The choice of the largest count, by the exponential mechanism. One user's replacement changes
/// each count by at most 1, some up and some down.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Epsilon, Probability};
/// use throng_mechanism::CentralSelection;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let selection = CentralSelection::new(Epsilon::new(1.0)?)?;
/// // Behind by 500, another is chosen with probability e^−250.
/// assert_eq!(selection.select(&[100, 600, 100], &mut rng)?, 1);
/// // Of a hundred counts, the chosen one is at most 27.7 below the largest, except once in 10⁴.
/// assert!(selection.reach(100, Probability::new("confidence", 0.9999)?) < 27.7);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CentralSelection {
    decay: Decay,
}

impl CentralSelection {
    /// The sharpest choice that keeps ε.
    pub fn new(epsilon: Epsilon) -> Result<Self, Error> {
        Ok(Self { decay: Decay::within(epsilon, 2)? })
    }

    /// ε = 2·num/den, rounded up.
    pub fn epsilon(&self) -> Epsilon {
        self.decay.times(2)
    }

    /// The place of the count that is chosen.
    ///
    /// A uniform place is kept with probability `e^−x·gap`, which is that of a geometric number
    /// reaching the gap, else drawn again: what is kept has exactly P ∝ e^−x·gap. The largest count
    /// is always kept, so there are at most as many rounds on average as there are counts.
    pub fn select(&self, counts: &[u64], rng: &mut impl CryptoRng) -> Result<usize, Error> {
        let expected = "at least one count";
        let largest = counts.iter().max().ok_or(Error::Value { expected })?;
        loop {
            let place = sample::below(counts.len() as u64, rng) as usize;
            if sample::geometric(self.decay.0, DEN, rng) >= largest - counts[place] {
                return Ok(place);
            }
        }
    }

    /// The most that the chosen one may lie below the largest of `counts` counts, with this
    /// confidence: `(ln(counts − 1) + ln(1/(1 − confidence)))/x`.
    ///
    /// Upper bound: each count that is farther below has at most the weight `e^−x·gap`, the largest
    /// has weight 1.
    pub fn reach(&self, counts: usize, confidence: Probability) -> f64 {
        let others = counts.saturating_sub(1) as f64;
        ((others / (1.0 - confidence.get())).ln() / self.decay.value()).max(0.0)
    }
}

/// The `num` of `num/den`, by which logarithms of probabilities fall per step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decay(u64);

impl Decay {
    /// The largest with `times·num/den ≤ ε`.
    fn within(epsilon: Epsilon, times: u32) -> Result<Self, Error> {
        let step = epsilon.get() / f64::from(times);
        require((1e-9..=1000.0).contains(&step), "epsilon", "1e-9 to 1000 per step")?;
        let mut decay = Self((step * DEN as f64) as u64);
        while decay.times(times) > epsilon {
            decay.0 -= 1;
        }
        Ok(decay)
    }

    fn value(self) -> f64 {
        self.0 as f64 / DEN as f64
    }

    /// The product, with three roundings of half an ulp each made up for.
    fn times(self, factor: u32) -> Epsilon {
        let product = (u128::from(factor) * u128::from(self.0)) as f64;
        let epsilon = round::up_by(product / DEN as f64, 4.0 * f64::EPSILON);
        Epsilon::new(epsilon).expect("a quotient of positive integers")
    }
}

/// The denominator of every decay, a power of two.
const DEN: u64 = 1 << 53;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_fits, confidence, rng};
    use std::panic::catch_unwind;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    /// The numbers of releases of 0, by their distance up to 8 from it, to either side; the rest in
    /// the last cell.
    fn releases(sum: &CentralSum) -> Vec<u64> {
        let (mut rng, mut observed) = (rng(5), vec![0; 18]);
        for _ in 0..40_000 {
            let value = sum.release(0, confidence(), &mut rng).value;
            let cell = if value.abs() <= 8.0 { (value + 8.0) as usize } else { 17 };
            observed[cell] += 1;
        }
        observed
    }

    fn laplace_law(x: f64) -> Vec<f64> {
        let mut law: Vec<f64> =
            (-8..=8).map(|k: i32| (0.5 * x).tanh() * (-x * f64::from(k.abs())).exp()).collect();
        law.push(1.0 - law.iter().sum::<f64>());
        law
    }

    #[test]
    fn a_released_sum_has_exactly_discrete_laplace_noise() {
        for (e, sensitivity) in [(1.0, 1), (1.0, 2), (4.0, 3)] {
            let sum = CentralSum::new(epsilon(e), sensitivity).unwrap();
            assert!(sum.epsilon().get() <= e && sum.epsilon().get() > e * (1.0 - 1e-12));
            let law = laplace_law(e / f64::from(sensitivity));
            assert_fits(&releases(&sum), &law);
        }
        // Planted: the noise of half the sensitivity.
        let sum = CentralSum::new(epsilon(1.0), 1).unwrap();
        assert!(catch_unwind(|| assert_fits(&releases(&sum), &laplace_law(0.5))).is_err());
    }

    #[test]
    fn the_sum_states_its_error() {
        let count = CentralSum::new(epsilon(1.0), 1).unwrap();
        // √(2s)/(1 − s) with s = 1/e.
        assert!((count.standard_error() - 1.356_962_5).abs() < 1e-6);
        for level in [0.5, 0.9, 0.95, 0.999] {
            let confidence = Probability::new("confidence", level).unwrap();
            let reach = count.reach(confidence);
            let covered = |r: f64| 1.0 - 2.0 * (-(r + 1.0)).exp() / (1.0 + (-1.0_f64).exp());
            assert!(covered(reach) >= level && covered(reach - 1.0) < level, "{level}");
        }
        let release = count.release(i64::MAX, confidence(), &mut rng(1));
        assert!((release.value - i64::MAX as f64).abs() < 2048.0);
    }

    #[test]
    fn the_selection_is_exactly_the_exponential_mechanism() {
        let (counts, selection) = ([7, 9, 5, 9], CentralSelection::new(epsilon(1.0)).unwrap());
        let (mut rng, mut observed) = (rng(6), [0; 4]);
        for _ in 0..40_000 {
            observed[selection.select(&counts, &mut rng).unwrap()] += 1;
        }
        let law = |x: f64| -> Vec<f64> {
            let weights = counts.map(|count| (x * count as f64).exp());
            weights.iter().map(|weight| weight / weights.iter().sum::<f64>()).collect()
        };
        assert_fits(&observed, &law(0.5));
        // Planted: ε where ε/2 is meant.
        assert!(catch_unwind(|| assert_fits(&observed, &law(1.0))).is_err());
        // Privacy of that law, for the worst change: the chosen down, all others up.
        let (p, counts) = (law(0.5), [8, 8, 6, 10]);
        let weights = counts.map(|count| (0.5 * f64::from(count)).exp());
        for (p, weight) in p.iter().zip(weights) {
            let ratio = p * weights.iter().sum::<f64>() / weight;
            assert!(ratio.ln().abs() <= selection.epsilon().get() + 1e-12);
        }
    }

    #[test]
    fn a_selection_far_below_the_best_is_as_rare_as_stated() {
        let selection = CentralSelection::new(epsilon(0.5)).unwrap();
        let reach = selection.reach(21, confidence());
        // All but one lie just farther below than that.
        let weight = 20.0 * (-0.25 * reach).exp();
        assert!(weight / (1.0 + weight) <= 0.05 && weight > 0.049);
        assert_eq!(selection.reach(1, confidence()), 0.0);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(CentralSum::new(epsilon(0.0), 1).is_err());
        assert!(CentralSum::new(epsilon(1.0), 0).is_err());
        assert!(CentralSelection::new(Epsilon::ZERO).is_err());
        let selection = CentralSelection::new(epsilon(1.0)).unwrap();
        assert!(selection.select(&[], &mut rng(1)).is_err());
    }
}
