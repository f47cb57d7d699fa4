//! `real-sum`: everyone writes a number of `[0, 1]` as r bits and throws them, flipped now and
//! then, into one untagged bag (Cheu et al., "Distributed Differential Privacy via Shuffling",
//! 2019, Algorithms 5 and 6).
//!
//! The bag shows one total, so this is one law to account for, not r rounds to compose: at n = 10⁵,
//! ε = 1, δ = 10⁻⁶ the noise needed is 4.2 instead of several hundred.

use crate::kernel::bag::Bag;
use crate::profile::bit_sum::{bag_guarantee, checked_flip};
use crate::{Band, Crowd, Dataset, Delta, Epsilon, Error, Guarantee, Profile, Theorem};

/// The protocol with its crowd.
///
/// ```
/// use throng_account::profile::RealSum;
/// use throng_account::{Crowd, Delta, Profile};
///
/// // Four bits each, one in twenty flipped: noise of 3.8 and rounding of at most 4.
/// let sum = RealSum::new(Crowd::new(1_000)?, 100.0, 4)?;
/// assert!((sum.standard_error() - 3.829).abs() < 0.001);
/// assert!((sum.rounding_error() - 3.953).abs() < 0.001);
/// // A user by itself has 4·ln 19 = 11.8, among the thousand 1.24.
/// assert!((sum.epsilon(Delta::new(1e-6)?)?.epsilon.get() - 1.24117).abs() < 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealSum {
    crowd: Crowd,
    bits: u64,
    flip: f64,
}

impl RealSum {
    /// The protocol with λ as in [`crate::profile::BitSum::new`] and `bits` bits per user.
    pub fn new(crowd: Crowd, lambda: f64, bits: u64) -> Result<Self, Error> {
        let n = crowd.get() as f64;
        if !(lambda > 0.0 && lambda < n) {
            return Err(Error::OutOfRange {
                name: "lambda",
                value: lambda,
                range: "above 0 and below n",
            });
        }
        Self::with_flip(crowd, lambda / (2.0 * n), bits)
    }

    /// The protocol that flips a bit with probability `0 < f < ½`, as the sampler draws it.
    pub fn with_flip(crowd: Crowd, flip: f64, bits: u64) -> Result<Self, Error> {
        if bits == 0 || bits > MAX_BITS || crowd.get() > MAX_BAG / bits {
            return Err(Error::OutOfRange {
                name: "r",
                value: bits as f64,
                range: "from 1 to 100000 bits, and at most 2^50 bits in the whole bag",
            });
        }
        Ok(Self { crowd, bits, flip: checked_flip(flip)? })
    }

    /// Standard error of the estimated sum when every value is a multiple of 1/r: the noise alone.
    pub fn standard_error(&self) -> f64 {
        let (n, r, f) = (self.crowd.get() as f64, self.bits as f64, self.flip);
        (n * r * f * (1.0 - f)).sqrt() / (r * (1.0 - 2.0 * f))
    }

    /// The most that rounding the values to multiples of 1/r can add to the standard error,
    /// in quadrature.
    pub fn rounding_error(&self) -> f64 {
        (self.crowd.get() as f64).sqrt() / (2.0 * self.bits as f64)
    }

    /// The probability that a bit is flipped.
    pub fn flip(&self) -> f64 {
        self.flip
    }

    fn bag(&self) -> Bag {
        Bag { others: (self.crowd.get() - 1) * self.bits, own: self.bits, flip: self.flip }
    }
}

impl Profile for RealSum {
    /// δ at its worst over all datasets, over how many of the user's bits change, and over both
    /// directions.
    fn delta(&self, epsilon: Epsilon) -> Band {
        self.bag().delta(epsilon.get()).band
    }

    fn bulk_delta(&self, epsilon: Epsilon) -> f64 {
        self.bag().coarse_delta(epsilon.get())
    }

    fn pure(&self) -> Option<Epsilon> {
        Some(Epsilon::at(self.bag().pure()))
    }

    fn theorem(&self) -> Theorem {
        Theorem::ExactBag
    }

    fn witness(&self, epsilon: Epsilon) -> Option<Dataset> {
        let bag = self.bag();
        Some(Dataset::Ones { ones: bag.delta(epsilon.get()).ones, of: bag.others })
    }

    fn epsilon(&self, delta: Delta) -> Result<Guarantee, Error> {
        Ok(bag_guarantee(&self.bag(), delta))
    }
}

const MAX_BITS: u64 = 100_000;
/// The most bits in a bag: totals stay well within the integers of an `f64`.
const MAX_BAG: u64 = 1 << 50;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vectors;

    fn real_sum(n: u64, lambda: f64, bits: u64) -> RealSum {
        RealSum::new(Crowd::new(n).unwrap(), lambda, bits).unwrap()
    }

    #[test]
    fn the_worst_case_agrees_with_enumeration_over_all_datasets_and_changes() {
        for row in vectors("real_sum.json") {
            let protocol = real_sum(row.u64("n"), row.f64("lambda"), row.u64("r"));
            let delta = row.f64("delta");
            let band = protocol.delta(Epsilon::at(row.f64("epsilon")));
            assert!(band.lower <= delta && delta <= band.upper, "{row:?}: {band:?}");
            assert!(band.relative_gap() < 3e-9, "{row:?}: {band:?}");
            // The proof that changing all bits is the worst, seen in the enumeration.
            let by_changed = row.list("delta_by_changed");
            assert!(by_changed.is_sorted(), "{row:?}");
        }
    }

    // Calibrated values, each from a search over a few datasets only; the certificate covers all.
    #[test]
    fn the_known_calibrations_hold() {
        for (n, bits, lambda) in [(1_000, 32, 452.2), (10_000, 100, 2372.2), (100_000, 317, 9715.0)]
        {
            let protocol = real_sum(n, lambda, bits);
            let found = protocol.epsilon(Delta::new(1e-6).unwrap()).unwrap();
            assert!((found.epsilon.get() - 1.0).abs() < 1e-3, "{found:?}");
            assert!((protocol.standard_error() - 4.25).abs() < 0.05);
        }
    }

    // A user with thousands of bits and next to nobody to hide among: the two totals are far apart
    // and almost nothing is private. Such laws once drowned the kernel in rounding and came out as
    // safe.
    #[test]
    fn totals_far_apart_are_never_called_private() {
        for (flip, bits) in [(0.2, 300), (0.2, 1_000), (0.2, 3_000), (0.001, 1_000), (1e-6, 7_803)]
        {
            let alone = RealSum::with_flip(Crowd::new(1).unwrap(), flip, bits).unwrap();
            let delta = alone.delta(Epsilon::at(1.0));
            // Distinguishable but for e^-10 and less: 1 − P[all the evidence goes astray].
            assert!(delta.upper > 0.9999, "{flip} {bits}: {delta:?}");
            let found = alone.epsilon(Delta::new(1e-6).unwrap()).unwrap().epsilon.get();
            // The likeliest total of all ones has this loss alone.
            let typical = bits as f64 * (1.0 - 2.0 * flip) * ((1.0 - flip) / flip).ln();
            assert!(found > 0.9 * typical, "{flip} {bits}: {found}");
        }
        let (epsilon, delta) = (Epsilon::at(1.0), Delta::new(1e-6).unwrap());
        let crowd = Crowd::new(100).unwrap();
        let found = crate::calibrate::real_sum(crowd, 3_000, epsilon, delta).unwrap();
        assert!((0.48..0.4995).contains(&found.mechanism.flip()), "{found:?}");
    }

    #[test]
    fn one_bit_is_bit_sum() {
        let crowd = Crowd::new(200).unwrap();
        let (bits, one) = (
            RealSum::new(crowd, 40.0, 1).unwrap(),
            crate::profile::BitSum::new(crowd, 40.0).unwrap(),
        );
        for epsilon in [0.0, 0.3, 1.0, 2.0].map(Epsilon::at) {
            assert_eq!(bits.delta(epsilon), one.delta(epsilon));
        }
        assert!(RealSum::new(crowd, 40.0, 0).is_err());
    }
}
