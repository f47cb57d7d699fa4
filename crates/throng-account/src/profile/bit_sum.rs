//! `bit-sum` and `real-sum`: everyone sends bits, flipped now and then (Cheu et al., "Distributed
//! Differential Privacy via Shuffling", 2019, Algorithms 1, 5 and 6).
//!
//! Each of the n users sends a uniform bit with probability λ/n and the true one otherwise, so a
//! bit is flipped with probability `f = λ/(2n)`: binary randomized response, shuffled. In
//! `real-sum` everyone writes a number of `[0, 1]` as r bits and throws them all into one untagged
//! bag.
//!
//! The bag shows one total, so this is one law to account for, not r rounds to compose: at n = 10⁵,
//! ε = 1, δ = 10⁻⁶ the noise needed is 4.2 instead of several hundred.

use crate::error::require;
use crate::kernel::bag::{Bag, Maximum};
use crate::kernel::bag_table::BagTable;
use crate::kernel::rounds;
use crate::{Band, Crowd, Dataset, Delta, Epsilon, Error, Guarantee, Profile, Theorem};

/// The protocol with its crowd.
///
/// ```
/// use throng_account::profile::BitSum;
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// // Of a thousand users a hundred answer by a coin, so that one bit in twenty is flipped.
/// let protocol = BitSum::new(Crowd::new(1_000)?, 100.0)?;
/// assert_eq!(protocol.flip(), 0.05);
/// assert!((protocol.standard_error() - 7.66).abs() < 0.01);
///
/// // One report by itself has ε₀ = ln 19. Among the thousand it is 0.67, and that is exact.
/// assert!((protocol.pure().unwrap().get() - 19_f64.ln()).abs() < 1e-8);
/// let guarantee = protocol.epsilon(Delta::new(1e-6)?)?;
/// assert!((guarantee.epsilon.get() - 0.66547).abs() < 1e-5);
/// assert!(guarantee.epsilon.get() - guarantee.lower.unwrap().epsilon.get() < 1e-8);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BitSum {
    crowd: Crowd,
    flip: f64,
    bits: u64,
}

impl BitSum {
    /// The protocol with `0 < λ < n`, the expected number of users whose bit is replaced by a coin.
    pub fn new(crowd: Crowd, lambda: f64) -> Result<Self, Error> {
        let n = crowd.get() as f64;
        require(lambda > 0.0 && lambda < n, "lambda", lambda, "above 0 and below n")?;
        Self::with_flip(crowd, lambda / (2.0 * n))
    }

    /// The protocol that flips a bit with probability `0 < f < ½`, as the sampler draws it.
    pub fn with_flip(crowd: Crowd, flip: f64) -> Result<Self, Error> {
        let range = "above 1e-30 and below 1/2";
        require(flip > 1e-30 && flip < 0.5, "flip probability", flip, range)?;
        Ok(Self { crowd, flip, bits: 1 })
    }

    /// Binary randomized response with local parameter ε₀: `f = 1/(e^ε₀+1)`.
    pub fn from_local(crowd: Crowd, local: Epsilon) -> Result<Self, Error> {
        Self::with_flip(crowd, 1.0 / (local.get().exp() + 1.0))
    }

    /// The protocol with `bits` bits of each user in the bag, the r of `real-sum`.
    ///
    /// ```
    /// use throng_account::profile::BitSum;
    /// use throng_account::{Crowd, Delta, Profile};
    ///
    /// // Four bits each, one in twenty flipped: noise of 3.8 and rounding of at most 4.
    /// let sum = BitSum::new(Crowd::new(1_000)?, 100.0)?.with_bits(4)?;
    /// assert!((sum.standard_error() - 3.829).abs() < 0.001);
    /// assert!((sum.rounding_error() - 3.953).abs() < 0.001);
    /// // A user by itself has 4·ln 19 = 11.8, among the thousand 1.24.
    /// assert!((sum.epsilon(Delta::new(1e-6)?)?.epsilon.get() - 1.24117).abs() < 1e-5);
    /// # Ok::<(), throng_account::Error>(())
    /// ```
    pub fn with_bits(self, bits: u64) -> Result<Self, Error> {
        let holds = (1..=100_000).contains(&bits) && self.crowd.get() <= MAX_BAG / bits;
        let range = "from 1 to 100000 bits, and at most 2^50 bits in the whole bag";
        require(holds, "r", bits as f64, range)?;
        Ok(Self { bits, ..self })
    }

    /// Refuses a protocol with several bits of each user.
    pub(crate) fn single(self) -> Result<Self, Error> {
        require(self.bits == 1, "r", self.bits as f64, "1 bit of each user")?;
        Ok(self)
    }

    /// The users.
    pub fn crowd(&self) -> Crowd {
        self.crowd
    }

    /// The probability that a bit is flipped.
    pub fn flip(&self) -> f64 {
        self.flip
    }

    /// `λ = 2nf`.
    pub fn lambda(&self) -> f64 {
        2.0 * self.crowd.get() as f64 * self.flip
    }

    /// `δ(ε)` on one dataset: `ones` of the other users' bits are 1, and the user's are told to be
    /// 1 from 0. The other direction is this one at `(n − 1)·r − ones`.
    ///
    /// Exact up to the outward rounding.
    ///
    /// ```
    /// use throng_account::profile::BitSum;
    /// use throng_account::{Crowd, Epsilon, Profile};
    ///
    /// // Ten users. The worst dataset is not the one where all others hold a 1.
    /// let protocol = BitSum::new(Crowd::new(10)?, 2.0)?;
    /// let epsilon = Epsilon::new(0.5)?;
    /// let all_ones = protocol.delta_at(9, epsilon)?;
    /// assert!((all_ones.upper - 0.284804).abs() < 1e-6);
    /// assert!((protocol.delta(epsilon).upper - 0.285007).abs() < 1e-6);
    /// # Ok::<(), throng_account::Error>(())
    /// ```
    pub fn delta_at(&self, ones: u64, epsilon: Epsilon) -> Result<Band, Error> {
        let bag = self.bag();
        require(ones <= bag.others, "ones", ones as f64, "at most the bits of the others")?;
        Ok(bag.delta_at(ones, epsilon.get()))
    }

    /// Standard error of the unbiased estimate `(Σy/r − nf)/(1 − 2f)` of the number of ones, or of
    /// the sum when every value is a multiple of 1/r: the noise alone.
    pub fn standard_error(&self) -> f64 {
        let (n, r, f) = (self.crowd.get() as f64, self.bits as f64, self.flip);
        (n * r * f * (1.0 - f)).sqrt() / (r * (1.0 - 2.0 * f))
    }

    /// The most that rounding the values to multiples of 1/r can add to the standard error,
    /// in quadrature.
    pub fn rounding_error(&self) -> f64 {
        (self.crowd.get() as f64).sqrt() / (2.0 * self.bits as f64)
    }

    pub(crate) fn bag(&self) -> Bag {
        Bag::new(self.crowd, self.bits, self.flip)
    }
}

impl Profile for BitSum {
    /// δ at its worst over all datasets, over how many of the user's bits change, and over both
    /// directions. Exact (upper and lower differ by rounding only) up to about 10⁶ users; beyond,
    /// certified with a gap below 1e-3 in ε.
    fn delta(&self, epsilon: Epsilon) -> Band {
        self.bag().delta(epsilon.get()).band
    }

    fn bulk_delta(&self, epsilon: Epsilon) -> f64 {
        self.bag().coarse_delta(epsilon.get())
    }

    fn written_out(&self) -> Option<Box<dyn Profile>> {
        (self.bits == 1).then(|| Box::new(BagTable::new(*self)) as Box<dyn Profile>)
    }

    /// With a dataset of its own in each round, chosen by whoever has seen the rounds before.
    fn in_a_row(&self, rounds: u64, floor: f64) -> Option<Vec<Vec<(f64, f64)>>> {
        // More noise than this leans to no side on any dataset.
        let variance = self.crowd.get() as f64 * self.flip * (1.0 - self.flip);
        (self.bits == 1 && variance < 1e5).then(|| rounds::in_a_row(&self.bag(), rounds, floor))
    }

    fn pure(&self) -> Option<Epsilon> {
        Some(Epsilon::at(self.bag().pure()))
    }

    fn theorem(&self) -> Theorem {
        Theorem::ExactBag
    }

    fn witness(&self, epsilon: Epsilon) -> Option<Dataset> {
        Some(self.bag().delta(epsilon.get()).dataset)
    }

    fn epsilon(&self, delta: Delta) -> Result<Guarantee, Error> {
        let Maximum { band, dataset } = self.bag().epsilon(delta.get());
        Ok(Guarantee::new(Theorem::ExactBag, delta, band.upper, band.lower, |_| Some(dataset)))
    }
}

/// The most bits in a bag: totals stay well within the integers of an `f64`.
const MAX_BAG: u64 = 1 << 50;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};

    fn bit_sum(n: u64, lambda: f64) -> BitSum {
        BitSum::new(Crowd::new(n).unwrap(), lambda).unwrap()
    }

    #[test]
    fn the_worst_case_over_all_datasets_agrees_with_enumeration() {
        for row in vectors("bit_sum.json") {
            let protocol = bit_sum(row.u64("n"), row.f64("lambda"));
            let delta = row.f64("delta");
            let band = protocol.delta(Epsilon::at(row.f64("epsilon")));
            assert!(band.lower <= delta && delta <= band.upper, "{row:?}: {band:?}");
            // Rows at ε₀ itself have δ = 0, where only an absolute comparison makes sense.
            let tight = if delta == 0.0 { 1e-14 } else { band.lower * (1.0 + 3e-9) };
            assert!(band.upper < tight, "{row:?}: {band:?}");
        }
    }

    #[test]
    fn single_datasets_agree_with_enumeration_up_to_a_billion_users() {
        for row in vectors("bit_sum_point.json") {
            let protocol = bit_sum(row.u64("n"), row.f64("lambda"));
            let band = protocol.bag().delta_at(row.u64("t"), row.f64("epsilon"));
            // The middle of the band is what the kernel computed.
            assert_close(0.5 * (band.lower + band.upper), row.f64("delta"), 1e-10);
        }
    }

    // At ε₀ − ln 2 the tilted flip is a fair coin, whose characteristic function vanishes at π. The
    // term there once got lost, and with it three per cent of δ. For one user δ is exact in closed
    // form.
    #[test]
    fn a_tilted_fair_coin_loses_nothing() {
        for flip in [1e-26, 1e-6, 1e-4, 1e-3, 0.1, 0.4999999999] {
            let alone = BitSum::with_flip(Crowd::new(1).unwrap(), flip).unwrap();
            let pure = alone.pure().unwrap().get();
            for part in [0.0, 0.5, 0.9, 0.999_999, 1.0 - 2f64.ln() / pure] {
                let epsilon = (part * pure).max(0.0);
                let exact = (1.0 - 2.0 * flip) - flip * epsilon.exp_m1();
                let band = alone.delta(Epsilon::at(epsilon));
                assert!(band.lower <= exact && exact <= band.upper, "{flip} {epsilon}: {band:?}");
            }
        }
    }

    // Close to one half the two worlds differ in the seventh digit and beyond, which the contour
    // integral once lost: a fallback five times too large, and no lower bound.
    #[test]
    fn a_flip_next_to_one_half_is_exact() {
        for n in [2_u64, 5, 12] {
            for away in [4e-4, 3.5e-7, 1e-8, 1e-11] {
                let flip = 0.5 - away;
                let protocol = BitSum::with_flip(Crowd::new(n).unwrap(), flip).unwrap();
                // With fair coins the others' total is Bin(n − 1, ½); at ε = 0 δ is its largest
                // mass times 1 − 2f, but for terms of the second order in that.
                let others = crate::kernel::binomial::Binomial::new(n - 1, 0.5);
                let exact = 2.0 * away * others.pmf((n - 1) / 2);
                let band = protocol.delta(Epsilon::ZERO);
                // The last bits of ε₀ = 4·away are rounded outward.
                let slack = 1e-8 + 100.0 * away + 3e-16 / away;
                assert!(band.lower >= exact * (1.0 - slack), "{n} {away}: {band:?} {exact:e}");
                assert!(band.upper <= exact * (1.0 + slack), "{n} {away}: {band:?} {exact:e}");
            }
        }
        let five = BitSum::with_flip(Crowd::new(5).unwrap(), 0.4999996446211443).unwrap();
        let found = five.epsilon(Delta::new(3.3929755949383764e-7).unwrap()).unwrap();
        assert_eq!((found.epsilon.get(), found.lower.unwrap().epsilon.get()), (0.0, 0.0));
    }

    // The all-equal dataset is often taken for the worst. It is not.
    #[test]
    fn the_all_equal_dataset_is_not_the_worst() {
        let protocol = bit_sum(20, 10.0);
        let epsilon = Epsilon::at(0.5);
        let all_equal = protocol.delta_at(19, epsilon).unwrap();
        assert_close(all_equal.upper, 0.00702438093657745, 1e-8);
        assert_close(protocol.delta(epsilon).upper, 0.00752137642489208, 1e-8);
        assert_eq!(protocol.witness(epsilon), Some(Dataset::Ones { ones: 18, of: 19 }));
    }

    #[test]
    fn epsilon_inverts_delta_on_the_safe_side() {
        for (n, lambda, delta) in [(50, 20.0, 1e-3), (1_000, 64.0, 1e-6), (100_000, 68.08, 1e-6)] {
            let protocol = bit_sum(n, lambda);
            let found = protocol.epsilon(Delta::new(delta).unwrap()).unwrap();
            let (upper, lower) = (found.epsilon, found.lower.unwrap());
            assert!(protocol.delta(upper).upper <= delta * (1.0 + 1e-12));
            assert!(protocol.delta(lower.epsilon).lower >= delta * (1.0 - 1e-8));
            assert!(upper.get() / lower.epsilon.get() < 1.0 + 1e-8);
        }
    }

    #[test]
    fn the_gap_stays_below_a_thousandth_at_a_billion_users() {
        for lambda in [100.0, 1e5, 5e8] {
            for delta in [0.4, 1e-4, 1e-8, 1e-15] {
                let found =
                    bit_sum(1_000_000_000, lambda).epsilon(Delta::new(delta).unwrap()).unwrap();
                let lower = found.lower.unwrap().epsilon.get();
                let gap = if found.epsilon.get() == 0.0 {
                    0.0
                } else {
                    found.epsilon.get() / lower - 1.0
                };
                assert!(gap < 1e-3, "lambda {lambda}, delta {delta}: gap {gap}");
            }
        }
    }

    #[test]
    fn privacy_grows_with_lambda_with_epsilon_and_with_the_crowd() {
        let delta =
            |n: u64, lambda: f64, eps: f64| bit_sum(n, lambda).delta(Epsilon::at(eps)).upper;
        for n in [2, 7, 40, 300] {
            let n_f = n as f64;
            for share in [0.05, 0.2, 0.6] {
                for eps in [0.0, 0.1, 0.5, 1.5] {
                    let here = delta(n, share * n_f, eps);
                    assert!(delta(n, 1.1 * share * n_f, eps) <= here * (1.0 + 2e-9));
                    assert!(delta(n, share * n_f, eps + 0.05) <= here * (1.0 + 2e-9));
                    // The same coin in a larger crowd.
                    let larger =
                        BitSum::with_flip(Crowd::new(n + 1).unwrap(), share / 2.0).unwrap();
                    assert!(larger.delta(Epsilon::at(eps)).upper <= here * (1.0 + 2e-9));
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_at_the_local_epsilon() {
        let protocol = bit_sum(100, 58.0);
        let pure = protocol.pure().unwrap().get();
        assert_close(pure, (200.0_f64 / 58.0 - 1.0).ln(), 1e-14);
        assert_eq!(protocol.delta(Epsilon::at(pure)), Band::ZERO);
        assert_eq!(protocol.delta(Epsilon::at(1.0)), Band::ZERO);
        assert!(protocol.delta(Epsilon::at(pure * (1.0 - 1e-6))).lower > 0.0);
    }

    fn real_sum(n: u64, lambda: f64, bits: u64) -> BitSum {
        bit_sum(n, lambda).with_bits(bits).unwrap()
    }

    #[test]
    fn several_bits_agree_with_enumeration_over_all_datasets_and_changes() {
        for row in vectors("real_sum.json") {
            let protocol = real_sum(row.u64("n"), row.f64("lambda"), row.u64("r"));
            let delta = row.f64("delta");
            let band = protocol.delta(Epsilon::at(row.f64("epsilon")));
            assert!(band.lower <= delta && delta <= band.upper, "{row:?}: {band:?}");
            assert!(band.upper <= band.lower * (1.0 + 3e-9), "{row:?}: {band:?}");
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
            let alone = BitSum::with_flip(Crowd::new(1).unwrap(), flip).unwrap();
            let alone = alone.with_bits(bits).unwrap();
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
    fn nonsense_is_refused() {
        let crowd = Crowd::new(100).unwrap();
        for lambda in [0.0, -1.0, 100.0, 101.0, f64::NAN] {
            assert!(BitSum::new(crowd, lambda).is_err(), "{lambda}");
        }
        assert!(bit_sum(10, 2.0).delta_at(10, Epsilon::ZERO).is_err());
        for bits in [0, 100_001] {
            assert!(bit_sum(10, 2.0).with_bits(bits).is_err(), "{bits}");
        }
        assert_eq!(bit_sum(10, 2.0).with_bits(1), Ok(bit_sum(10, 2.0)));
        assert!(real_sum(10, 2.0, 2).single().is_err());
        assert!(real_sum(10, 2.0, 2).delta_at(18, Epsilon::ZERO).is_ok());
        assert!(real_sum(10, 2.0, 2).delta_at(19, Epsilon::ZERO).is_err());
    }
}
