//! `sliced-sum`: everyone writes a number of `[0, 1]` in binary and sends its bits one by one, each
//! with its level, among labelled coins.
//!
//! With b levels the value is rounded at random to a multiple of `1/B`, `B = 2^b − 1`. In each of
//! the slots a user throws, with probability `p_j`, a fair coin of level j. High levels get few
//! coins, as their noise weighs most; low ones get many, as theirs costs nothing.
//!
//! Four facts (proofs in `docs/privacy.md`, 11):
//! * the number of coins of every level is visible, and given it the levels are independent;
//! * a bit that stays may be drawn afresh by the adversary, and a bit that changes may be
//!   complemented: the worst pair differs in every bit, the same for all datasets and directions;
//! * the vector of coin counts is multinomial; with Poisson counts of the same rates the levels are
//!   independent and compose;
//! * given their total both vectors of counts have the same law, so finite crowds cost a factor
//!
//! ```text
//! δ ≤ R·δ_Poisson,   R = max_m Bin(N, p)(m)/Poisson(Np)(m) < (1 − p − 1/N)^(−1/2)
//! ```
//!
//! with N slots in the crowd and `p = Σ p_j`.

use crate::error::require;
use crate::kernel::binomial::Binomial;
use crate::kernel::bins::BinnedProfile;
use crate::kernel::solve::smallest_epsilon;
use crate::profile::coins::{Coins, ln_poisson, require_slots};
use crate::quantity::TWO_64;
use crate::round;
use crate::spend::Composition;
use crate::{Band, Crowd, Dataset, Delta, Epsilon, Error, Guarantee, Profile, Theorem};

/// The protocol with its crowd.
///
/// ```
/// use throng_account::Crowd;
/// use throng_account::profile::SlicedSum;
///
/// // Three binary digits, two slots; the lowest digit is hidden by coins in one slot of sixteen.
/// let sum = SlicedSum::new(Crowd::new(1_000)?, 2, vec![1 << 60, 1 << 61, 1 << 62])?;
/// // √(2000·(1/16 + 4/8 + 16/4))/14, and √1000/14.
/// assert!((sum.noise_error() - 9_125_f64.sqrt() / 14.0).abs() < 1e-9);
/// assert!((sum.rounding_error() - 1_000_f64.sqrt() / 14.0).abs() < 1e-9);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SlicedSum {
    crowd: Crowd,
    slots: u64,
    weights: Vec<u64>,
}

impl SlicedSum {
    /// `weights[j]` out of 2⁶⁴ is the probability that a slot holds a coin of level j, which stands
    /// for `2^j/(2^b − 1)` of the sum. From 1 to 32 levels, all with coins.
    pub fn new(crowd: Crowd, slots: u64, weights: Vec<u64>) -> Result<Self, Error> {
        require_slots(crowd, slots)?;
        let levels = weights.len();
        require((1..=32).contains(&levels), "levels", levels as f64, "from 1 to 32")?;
        let total: u128 = weights.iter().copied().map(u128::from).sum();
        let holds = !weights.contains(&0) && total <= 1 << 64;
        let range = "each 1 or more, and at most 2^64 together";
        require(holds, "weights", total as f64, range)?;
        Ok(Self { crowd, slots, weights })
    }

    /// Slots for coins of each user.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// The weights out of 2⁶⁴ with which a slot holds a coin of each level, the lowest level first.
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// Standard error of the estimated sum: noise and rounding together.
    pub fn standard_error(&self) -> f64 {
        self.noise_error().hypot(self.rounding_error())
    }

    /// The part of the coins, `√(N·Σ 4^j·p_j)/(2B)`.
    pub fn noise_error(&self) -> f64 {
        let weighted = |(j, &weight): (i32, &u64)| 4f64.powi(j) * probability(weight);
        let sum: f64 = (0..).zip(&self.weights).map(weighted).sum();
        (self.trials() as f64 * sum).sqrt() / (2.0 * self.steps())
    }

    /// The most that rounding the values to multiples of 1/B can add, in quadrature: `√n/(2B)`.
    pub fn rounding_error(&self) -> f64 {
        (self.crowd.get() as f64).sqrt() / (2.0 * self.steps())
    }

    /// B, the largest integer that a value becomes.
    fn steps(&self) -> f64 {
        2f64.powi(self.weights.len() as i32) - 1.0
    }

    fn trials(&self) -> u64 {
        self.crowd.get() * self.slots
    }

    /// The levels with Poisson coins.
    fn poisson(&self) -> Vec<Coins> {
        let rate = |&weight: &u64| self.trials() as f64 * probability(weight);
        self.weights.iter().map(|weight| Coins::Poisson { rate: rate(weight) }).collect()
    }

    /// The level with the fewest coins, alone, as it is: what any adversary may look at.
    fn thinnest(&self) -> Coins {
        let least = self.weights.iter().copied().min().unwrap_or(0);
        Coins::Binomial { slots: self.trials(), chance: probability(least) }
    }

    /// R, rounded up. The ratio of the two laws rises from m to m + 1 while `m ≤ Np`.
    fn finite_crowd(&self) -> f64 {
        let trials = self.trials();
        let total: u128 = self.weights.iter().copied().map(u128::from).sum();
        let p = (total as f64 / TWO_64).min(1.0);
        let mean = trials as f64 * p;
        let most = (mean.floor() as u64 + 1).min(trials);
        round::up((Binomial::new(trials, p).ln_pmf(most) - ln_poisson(mean, most)).exp()).max(1.0)
    }
}

impl Profile for SlicedSum {
    /// Upper bound by composition; lower bound by the level with the fewest coins. Exact for one
    /// level.
    fn delta(&self, epsilon: Epsilon) -> Band {
        let lower = self.thinnest().delta(epsilon);
        if self.weights.len() == 1 {
            return lower;
        }
        let upper = self.bulk_delta(epsilon);
        Band { lower: lower.lower.min(upper), upper }
    }

    fn bulk_delta(&self, epsilon: Epsilon) -> f64 {
        if self.weights.len() == 1 {
            return self.thinnest().delta(epsilon).upper;
        }
        let levels = self.poisson();
        let composed = together(&levels).delta(epsilon).unwrap_or(1.0);
        round::delta_up(self.finite_crowd() * composed)
    }

    fn written_out(&self) -> Option<Box<dyn Profile>> {
        if self.weights.len() == 1 {
            return None;
        }
        let (levels, factor) = (self.poisson(), self.finite_crowd());
        let (step, deltas) = together(&levels).written(LEAST_DELTA).ok()?;
        let deltas = deltas.iter().map(|delta| round::delta_up(factor * delta).min(1.0)).collect();
        Some(Box::new(BinnedProfile::new(step, deltas, self.theorem())))
    }

    fn theorem(&self) -> Theorem {
        if self.weights.len() == 1 { Theorem::ExactCoins } else { Theorem::SlicedCoins }
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        Some(Dataset::Every)
    }

    fn epsilon(&self, delta: Delta) -> Result<Guarantee, Error> {
        if self.weights.len() == 1 {
            return self.thinnest().epsilon(delta);
        }
        let factor = self.finite_crowd();
        let levels = self.poisson();
        let share = Delta::new(delta.get() / round::up(factor))?;
        let upper = match together(&levels).epsilon(share) {
            Ok(epsilon) => epsilon.get(),
            Err(Error::Unreachable { least, .. }) => {
                let least = (least * factor).min(1.0);
                return Err(Error::Unreachable { delta: delta.get(), least });
            }
            Err(other) => return Err(other),
        };
        let thinnest = self.thinnest();
        let lower = smallest_epsilon(delta.get(), upper, 0.7 * upper, |e| {
            thinnest.delta(Epsilon::at(e)).lower
        });
        Ok(self.guarantee(delta, upper, lower))
    }
}

/// The levels as rounds.
fn together(levels: &[Coins]) -> Composition<'_> {
    levels.iter().fold(Composition::new(), |all, level| all.and(level, 1))
}

/// The order of the smallest δ of one release that composition looks at.
const LEAST_DELTA: f64 = 1e-15;

fn probability(weight: u64) -> f64 {
    weight as f64 / TWO_64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Counts, assert_close, divergence, shuffled, vectors};

    fn sliced(n: u64, slots: u64, probabilities: &[f64]) -> SlicedSum {
        let weights = probabilities.iter().map(|p| (p * TWO_64) as u64).collect();
        SlicedSum::new(Crowd::new(n).unwrap(), slots, weights).unwrap()
    }

    fn poisson(rates: &[f64], epsilon: f64) -> f64 {
        let levels: Vec<Coins> = rates.iter().map(|&rate| Coins::Poisson { rate }).collect();
        together(&levels).delta(Epsilon::at(epsilon)).unwrap()
    }

    #[test]
    fn composed_levels_lie_just_above_the_exact_ones() {
        for (epsilon, rates, exact) in
            [(1.0, [8.0, 4.0], 0.268142067479), (0.5, [20.0, 10.0], 0.159476451720)]
        {
            let found = poisson(&rates, epsilon);
            assert!(found >= exact && found <= exact * (1.0 + 2e-4), "{found}");
        }
        for row in vectors("sliced.json").iter().filter(|row| row.text("kind") == "poisson") {
            let (found, exact) =
                (poisson(&row.list("rates"), row.f64("epsilon")), row.f64("delta"));
            assert!(found >= exact && found <= exact * 1.02, "{row:?}: {found}");
        }
    }

    #[test]
    fn written_out_it_lies_just_above_the_exact_one() {
        let protocol = sliced(2_000, 3, &[0.04, 0.02, 0.01]);
        let written = protocol.written_out().unwrap();
        for step in 0..40 {
            let epsilon = Epsilon::at(0.04 * f64::from(step));
            let (found, other) = (written.delta(epsilon).upper, protocol.bulk_delta(epsilon));
            // The tail of the grid is coarser.
            let ratio = found / other;
            assert!((0.99..1.15).contains(&ratio) || found < 1e-12, "{epsilon:?}: {ratio}");
        }
        for row in vectors("sliced.json").iter().filter(|row| row.text("kind") == "finite") {
            let protocol = sliced(row.u64("n"), row.u64("slots"), &row.list("weights"));
            let Some(written) = protocol.written_out() else { continue };
            let found = written.delta(Epsilon::at(row.f64("epsilon"))).upper;
            assert!(row.f64("delta") <= found, "{row:?}: {found:e}");
        }
    }

    #[test]
    fn finite_crowds_are_covered() {
        for row in vectors("sliced.json").iter().filter(|row| row.text("kind") == "finite") {
            let protocol = sliced(row.u64("n"), row.u64("slots"), &row.list("weights"));
            let (band, exact) = (protocol.delta(Epsilon::at(row.f64("epsilon"))), row.f64("delta"));
            assert!(band.lower <= exact && exact <= band.upper, "{row:?}: {band:?}");
        }
    }

    /// The messages of one user with this integer: its bits, and its slots with coins.
    fn messages(value: usize, slots: u64, probabilities: &[f64]) -> Counts {
        let symbols = 2 * probabilities.len();
        let single = |level: usize, bit: usize| {
            let mut counts = vec![0; symbols];
            counts[2 * level + bit] = 1;
            counts
        };
        let mut slot = Counts::from([(vec![0; symbols], 1.0 - probabilities.iter().sum::<f64>())]);
        let mut truth = vec![0; symbols];
        for (level, p) in probabilities.iter().enumerate() {
            truth[2 * level + (value >> level & 1)] += 1;
            slot.insert(single(level, 0), p / 2.0);
            slot.insert(single(level, 1), p / 2.0);
        }
        let all = vec![slot; slots as usize];
        shuffled(std::iter::once(&Counts::from([(truth, 1.0)])).chain(&all))
    }

    // The whole bag with the true multinomial coins: every pair of values, both directions, and
    // others that hold anything.
    #[test]
    fn every_pair_of_values_in_a_small_crowd_is_covered() {
        for (n, slots, probabilities) in
            [(1, 2, [0.5, 0.25]), (2, 1, [0.5, 0.5]), (2, 2, [0.375, 0.125]), (3, 1, [0.5, 0.25])]
        {
            let protocol = sliced(n, slots, &probabilities);
            let users: Vec<Counts> = (0..4).map(|v| messages(v, slots, &probabilities)).collect();
            let bags: Vec<Vec<Counts>> = [0, 1, 3]
                .map(|others| {
                    let bag = |own: usize| {
                        let rest = (1..n).map(|user| &users[(others + user as usize) % 4]);
                        shuffled(std::iter::once(&users[own]).chain(rest))
                    };
                    (0..4).map(bag).collect()
                })
                .into();
            for epsilon in [0.0, 0.5, 1.5] {
                let band = protocol.delta(Epsilon::at(epsilon));
                let mut worst = Vec::new();
                for bags in &bags {
                    for (x, y) in (0..4).flat_map(|x| (0..4).map(move |y| (x, y))) {
                        let delta = divergence(&bags[x], &bags[y], epsilon);
                        assert!(delta <= band.upper, "{x} {y}: {delta} {band:?}");
                        if x + y == 3 {
                            worst.push(delta);
                        }
                        // Fewer bits that change are never worse than all.
                        let all = divergence(&bags[x], &bags[3 - x], epsilon);
                        assert!(delta <= all + 1e-14, "{x} {y}: {delta} {all}");
                    }
                }
                // Pairs that differ in every bit are all alike.
                let first = worst[0];
                assert!(worst.iter().all(|delta| (delta - first).abs() < 1e-13), "{worst:?}");
                assert!(band.lower <= first);
            }
        }
    }

    #[test]
    fn the_price_of_a_finite_crowd_is_the_largest_ratio() {
        for (n, p, expected) in
            [(1_000, 0.5, 1.4141), (1_000, 0.1, 1.05408), (1_000_000, 0.01, 1.0050378)]
        {
            assert_close(sliced(n, 1, &[p]).finite_crowd(), expected, 4e-5);
        }
        for (n, p) in [(1, 0.3), (2, 0.9), (7, 0.5), (40, 0.04), (40, 0.9375), (300, 0.2)] {
            let found = sliced(n, 1, &[p]).finite_crowd();
            let law = Binomial::new(n, p);
            let ratio = |m: u64| (law.ln_pmf(m) - ln_poisson(n as f64 * p, m)).exp();
            let most = (0..=n).map(ratio).fold(0.0, f64::max);
            assert!(found >= most && found <= most * (1.0 + 1e-8), "{n} {p}: {found} {most}");
            let room = 1.0 - p - 1.0 / n as f64;
            assert!(room <= 0.0 || most < room.powf(-0.5), "{n} {p}");
        }
    }

    #[test]
    fn epsilon_inverts_delta_and_unreachable_deltas_are_refused() {
        let protocol = sliced(10_000, 1, &[0.125, 0.0625, 0.03125]);
        let delta = Delta::new(1e-6).unwrap();
        let found = protocol.epsilon(delta).unwrap();
        assert!(protocol.delta(found.epsilon).upper <= delta.get() * (1.0 + 1e-3));
        assert!(protocol.delta(Epsilon::at(0.99 * found.epsilon.get())).upper > delta.get());
        assert!(found.lower.unwrap().epsilon < found.epsilon);
        let thin = sliced(100, 1, &[0.25, 0.125]);
        let refused = thin.epsilon(delta);
        let Err(Error::Unreachable { least, .. }) = refused else { panic!("{refused:?}") };
        assert!(least > 0.9375_f64.powi(100));
    }

    #[test]
    fn privacy_grows_with_epsilon_crowd_slots_and_coins() {
        let delta =
            |n, slots, top: f64, eps| sliced(n, slots, &[0.25, top]).delta(Epsilon::at(eps)).upper;
        // The grid of the composition moves with the parameters by a part in a thousand.
        for (n, slots) in [(20, 1), (300, 2)] {
            for eps in [0.2, 1.0, 2.0] {
                let here = delta(n, slots, 0.125, eps) * (1.0 + 1e-3);
                assert!(delta(n, slots, 0.125, eps + 0.1) <= here);
                assert!(delta(n + n / 4, slots, 0.125, eps) <= here);
                assert!(delta(n, slots + 1, 0.125, eps) <= here);
                assert!(delta(n, slots, 0.1875, eps) <= here);
            }
        }
    }

    // Exact second moments of the estimate over the messages of one user.
    #[test]
    fn the_noise_is_what_enumeration_gives() {
        let probabilities = [0.25, 0.125, 0.5];
        let (mut mean, mut square) = (0.0, 0.0);
        for (counts, p) in messages(5, 2, &probabilities) {
            let level = |j: usize| {
                let difference = f64::from(counts[2 * j + 1]) - f64::from(counts[2 * j]);
                2f64.powi(j as i32) * (difference + 1.0) / 2.0
            };
            let estimate = (level(0) + level(1) + level(2)) / 7.0;
            mean += p * estimate;
            square += p * estimate * estimate;
        }
        assert_close(mean, 5.0 / 7.0, 1e-12);
        let protocol = sliced(9, 2, &probabilities);
        assert_close(protocol.noise_error(), 3.0 * (square - mean * mean).sqrt(), 1e-12);
        assert_close(protocol.rounding_error(), 3.0 / 14.0, 1e-12);
    }

    #[test]
    fn nonsense_is_refused() {
        let crowd = Crowd::new(10).unwrap();
        for weights in [vec![], vec![0], vec![1, 0], vec![u64::MAX, 2], vec![1; 33]] {
            assert!(SlicedSum::new(crowd, 1, weights).is_err());
        }
        assert!(SlicedSum::new(crowd, 0, vec![1]).is_err());
        assert!(SlicedSum::new(crowd, 1, vec![u64::MAX, 1]).is_ok());
    }
}
