//! `real-sum` and `one-bit-mean`: a number from 0 to 1 as a few bits, each flipped now and then, in
//! one untagged bag.
//!
//! `real-sum` is Cheu et al., "Distributed Differential Privacy via Shuffling" (2019), Algorithms 5
//! and 6. With a single bit it is `one-bit-mean`, the local mechanism of Ding, Kulkarni, Yekhanin,
//! "Collecting Telemetry Data Privately" (2017).
//!
//! ```text
//! client     k = ⌊xr⌋ bits are 1, the next is 1 with probability xr − k, the rest are 0;
//!            each is flipped with probability b
//! analyzer   (Σy − nrb)/(r(1 − 2b))
//! ```

use crate::counts::binary::{flip_of_floor, floor_of_bits, influence_of_bit};
use crate::histograms::rates::WIDE;
use crate::sums::laplace::{grid_law, on_grid};
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, Parameters, Protocol, Question, Scene,
    Score, Setting, Tally, Trace, Value, first_cell, require, sample, small, sum_up_to, with_slots,
};
use rand_core::CryptoRng;
use throng_account::profile::BitSum;
use throng_account::tail::{normal_reach, success_band};
use throng_account::{Crowd, Delta, Epsilon, Probability, Profile, Threshold, calibrate};

/// `bits` messages of one bit each.
///
/// ```
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{Protocol, Tally, UnarySum};
///
/// // Numbers as two bits, one in four of them flipped.
/// let sum = UnarySum::new(2, Threshold::new(1 << 62)?)?;
/// let law = sum.law(&1.0);
/// assert_eq!((law[&vec![1, 1]], law[&vec![0, 1]], law[&vec![0, 0]]), (0.5625, 0.375, 0.0625));
///
/// // A hundred users, 80 ones: (80 − 200·¼)/(2·½).
/// let mut tally = Tally::new(&sum);
/// tally.absorb(&sum, &[[1; 80].as_slice(), &[0; 120]].concat());
/// assert_eq!(sum.estimate(&tally, Probability::new("confidence", 0.95)?)[0].value, 30.0);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnarySum {
    bits: u32,
    flip: Threshold,
}

impl UnarySum {
    /// The mechanism with at least one bit, and a coin below ½.
    pub fn new(bits: u32, flip: Threshold) -> Result<Self, Error> {
        require((1..=MAX_BITS).contains(&bits), "bits", "from 1 to 1000000")?;
        require(flip.get() < 1 << 63, "flip", "below one half")?;
        Ok(Self { bits, flip })
    }

    /// The coin.
    pub fn flip(&self) -> Threshold {
        self.flip
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "Numbers rounded to one flipped bit: exact over all datasets",
        example: "--n 1e4 --lambda 68 --delta 1e-6",
        settings: &[Setting::Flip],
        profile: |settings, crowd| Ok(Box::new(BitSum::with_flip(crowd, settings.flip)?)),
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.small("bits")?, given.noise("flip")?)
    }

    /// The mechanism with as many bits as a central sum's error asks for and the messages allow.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let wanted = (ask.epsilon.get() * (ask.reports as f64).sqrt()).ceil() as u64;
        let bits = wanted.min(ask.max_messages).max(1);
        let coin = calibrate::real_sum(ask.crowd, bits, ask.epsilon, ask.delta)?.coin;
        Self::new(small(bits)?, coin)
    }
}

impl Protocol for UnarySum {
    type Input = f64;

    fn messages(&self) -> usize {
        self.bits as usize
    }

    fn encode(&self, input: &f64, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        let ones = on_grid(*input, self.bits, rng)? as u32;
        for first in (0..self.bits).step_by(64) {
            let flips = sample::coins(self.flip, rng);
            let here = (self.bits - first).min(64);
            report.extend((0..here).map(|i| u64::from(first + i < ones) ^ (flips >> i & 1)));
        }
        Ok(())
    }

    fn law(&self, input: &f64) -> Law {
        let (whole, fraction) = grid_law(*input, self.bits).expect("a value in range");
        let b = self.flip.probability();
        (0..u64::from(self.bits)).fold(Law::from([(Vec::new(), 1.0)]), |law, bit| {
            let one = match bit {
                _ if bit < whole => 1.0 - b,
                _ if bit == whole => fraction * (1.0 - b) + (1.0 - fraction) * b,
                _ => b,
            };
            with_slots(law, 1, &[(0, 1.0 - one), (1, one)])
        })
    }

    fn cells(&self) -> usize {
        1
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        sum_up_to(1, messages, cells)
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let (n, r, b) = (tally.n(), f64::from(self.bits), self.flip.probability());
        let ones = tally.cells()[0] as f64;
        let step = 1.0 / (r * (1.0 - 2.0 * b));
        let value = (ones - n * r * b) * step;
        if self.bits > 1 || n == 0.0 {
            return vec![Estimate::normal(value, self.standard_error(n), step, confidence)];
        }
        // Each report is one coin: the variance of their sum is at most that of equal coins, whose
        // tails are the heaviest too (Hoeffding, "On the Distribution of the Number of Successes in
        // Independent Trials", 1956).
        let error = if n > 1.0 {
            (ones * (1.0 - ones / n) * n / (n - 1.0)).sqrt() * step
        } else {
            self.standard_error(n)
        };
        vec![Estimate::within(value, error, self.mean_coins(ones, n, confidence))]
    }
}

impl UnarySum {
    /// The sums of values that `ones` of n reports of one bit do not rule out, by the law of n
    /// equal coins: exact while that is narrow, then by the normal law with the variance of each
    /// sum.
    fn mean_coins(&self, ones: f64, n: f64, confidence: Probability) -> (f64, f64) {
        let b = self.flip.probability();
        let (low, high) = match Delta::new(0.5 * (1.0 - confidence.get())) {
            Ok(failure) if ones * (1.0 - ones / n) <= WIDE * WIDE => {
                let band = success_band(ones as u64, n as u64, failure);
                (band.lower, band.upper)
            }
            _ => {
                let z2 = normal_reach(confidence).powi(2) / n;
                // (s − p)² = z²·p(1 − p)/n, with half a report to each side.
                let end = |s: f64, side: f64| {
                    let root = (z2 * (s * (1.0 - s) + 0.25 * z2)).max(0.0).sqrt();
                    (s + 0.5 * z2 + side * root) / (1.0 + z2)
                };
                (end((ones - 0.5) / n, -1.0), end((ones + 0.5) / n, 1.0))
            }
        };
        let sum = |p: f64| (n * (p - b) / (1.0 - 2.0 * b)).clamp(0.0, n);
        (sum(low), sum(high))
    }
}

impl Claims for UnarySum {
    fn question(&self) -> Question {
        Question::Real
    }

    /// Rounding to bits happens before the noise: what holds for all bits holds for values.
    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        let sum = BitSum::with_flip(crowd, self.flip.probability())?;
        Ok(Box::new(sum.with_bits(self.bits.into())?))
    }

    fn local_floor(&self) -> Option<Epsilon> {
        floor_of_bits(self.flip, self.bits)
    }

    /// The standard error for users whose values are anything.
    fn standard_error(&self, reports: f64) -> f64 {
        let (r, b) = (f64::from(self.bits), self.flip.probability());
        let noise = reports * r * b * (1.0 - b) / (1.0 - 2.0 * b).powi(2);
        // The variance of rounding to one of the r bits, in units of a bit.
        (noise + 0.25 * reports).sqrt() / r
    }

    fn influence(&self) -> f64 {
        influence_of_bit(self.flip)
    }

    fn message_bits(&self) -> u32 {
        1
    }

    fn parameters(&self) -> Parameters {
        vec![("bits", vec![self.bits.into()]), ("flip", vec![self.flip.get()])]
    }

    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        Some(Self { flip: flip_of_floor(floor, self.bits)?, ..*self }.parameters())
    }

    fn score(&self, _: &Scene) -> Result<Option<Score>, Error> {
        Ok(Some(first_cell()))
    }

    /// Flipped bits, of a number at one of the ends: those between are rounded at random.
    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let number = value.real().ok()?;
        let truth = u64::from(number == 1.0);
        (number == truth as f64).then(|| {
            Trace::new(self.bits.into(), self.flip.probability(), move |report| {
                report.iter().filter(|bit| **bit != truth).count() as u64
            })
        })
    }
}

const MAX_BITS: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_inverse_within, assert_local, assert_sampled, assert_view, rng};

    fn sum(bits: u32, flip: f64) -> UnarySum {
        let flip = Probability::new("flip", flip).unwrap();
        UnarySum::new(bits, Threshold::at_least(flip)).unwrap()
    }

    #[test]
    fn the_claims_bound_the_enumerated_laws() {
        for (bits, flip) in [(1, 0.1_f64), (2, 0.2), (3, 0.05)] {
            let local = (f64::from(bits)) * ((1.0 - flip) / flip).ln();
            // Every number of ones, and a value between.
            let mut values: Vec<f64> = (0..=bits).map(|k| f64::from(k) / f64::from(bits)).collect();
            values.push(0.4);
            let inputs: Vec<&f64> = values.iter().collect();
            assert_local(&sum(bits, flip), &inputs, Epsilon::new(local).unwrap());
            let crowd = Crowd::new(3).unwrap();
            let profile = BitSum::with_flip(crowd, flip).unwrap();
            let profile = profile.with_bits(bits.into()).unwrap();
            assert_view(&sum(bits, flip), &inputs, 3, &profile);
        }
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for input in [0.0, 0.29, 0.5, 1.0] {
            assert_sampled(&sum(1, 0.3), &input);
            assert_sampled(&sum(4, 0.1), &input);
        }
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for input in [0.0, 0.4, 1.0] {
            // The error allows for the worst fraction, so it is wide for values without one.
            assert_inverse_within(&sum(4, 0.25), &input, &[input], 1.5);
            assert_inverse_within(&sum(1, 0.2), &input, &[input], 1.3);
        }
    }

    // x·r just below a whole number, and tiny x, where x·r − μ + 1 rounds to the wrong side.
    #[test]
    fn floating_point_does_not_bend_the_encoder() {
        let (whole, fraction) = grid_law(0.29, 100).unwrap();
        assert_eq!((whole, fraction), (28, 0.9999999999999964));
        let (whole, fraction) = grid_law(1e-18, 4).unwrap();
        assert_eq!((whole, fraction), (0, 4e-18));
        assert_eq!(grid_law(1.0, 4).unwrap(), (4, 0.0));
    }

    #[test]
    fn values_outside_the_range_are_refused_and_nothing_is_sent() {
        let mut report = Vec::new();
        for bad in [f64::NAN, -1e-9, 1.0 + 2e-16 + 1e-15, f64::INFINITY] {
            assert!(sum(4, 0.1).encode(&bad, &mut rng(1), &mut report).is_err());
        }
        assert!(report.is_empty());
        assert!(UnarySum::new(0, sum(1, 0.1).flip).is_err());
    }
}
