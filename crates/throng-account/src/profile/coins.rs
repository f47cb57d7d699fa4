//! `coin-count` and `additive-histogram`: everyone sends the truth and now and then a coin.
//!
//! The true message travels as it is; what hides it are messages drawn without looking at the data.
//! The others' messages only move the counts by a known amount, so the worst case is every case.
//! What is left is one bit X and `Y = X + Bin(T, ½)`, seen together with the number T of coins:
//!
//! ```text
//! δ(ε) = Σ_T P[T]·d(T, ε)
//! d(T, ε) = P[B = m] − (E−1)·P[B < m],   B ~ Bin(T, ½),   m = ⌈(T+1)/(1+E)⌉ − 1
//! ```
//!
//! exactly, in both directions alike (`docs/privacy.md`, 11). As T is seen and another coin is
//! post-processing, d falls with T, and δ with the number of slots and the chance of a coin.
//!
//! | symbol | code | meaning |
//! |---|---|---|
//! | E | `e` | e^ε |
//! | T | `coins` | coins thrown in the whole crowd |
//! | m | `zeros` | the worst event is "at most m zeros" |
//! | ρ | `rho` | 1/(1+E), the share of zeros at the worst cut |
//! | θ | `theta` | `P[B = m] ≤ e^{ερ}·θ^T`: what one more coin is worth |

use crate::error::require;
use crate::kernel::binomial::{Binomial, Product, deviance, shrinking_sum, stirling_error};
use crate::kernel::special::{LN_SQRT_TAU, bernstein};
use crate::kernel::work;
use crate::round;
use crate::{Band, Crowd, Dataset, Epsilon, Error, Profile, Theorem, Threshold};
use std::f64::consts::LN_2;

/// Counting bits or categories: everyone sends its own and, in each of `slots` further slots, with
/// probability `chance` one drawn uniformly from all.
///
/// When a user moves from one category to another, the messages of the other categories do not
/// depend on it. Those drawn in the two are fair coins between them, and a slot holds one with
/// probability `2·chance/categories`. Bits are two categories: every slot that is used is a coin.
///
/// ```
/// use throng_account::profile::AdditiveNoise;
/// use throng_account::{Crowd, Delta, Error, Profile, Threshold};
///
/// // A hundred users, each with a fair coin every other time.
/// let (crowd, delta) = (Crowd::new(100)?, Delta::new(1e-3)?);
/// let bits = AdditiveNoise::new(crowd, 1, Threshold::new(1 << 63)?, 2)?;
/// // With chance (3/4)^100 no coin shows a 0, and a bag of ones gives the user away.
/// assert!((bits.least_delta() / 0.75_f64.powi(100) - 1.0).abs() < 1e-8);
/// assert!(matches!(bits.epsilon(Delta::new(1e-14)?), Err(Error::Unreachable { .. })));
/// assert!((bits.epsilon(delta)?.epsilon.get() - 0.71739).abs() < 1e-5);
///
/// // Two categories of four see half of what is drawn: as private as half the coins for a bit.
/// let four = AdditiveNoise::new(crowd, 1, Threshold::new(1 << 63)?, 4)?;
/// let half = AdditiveNoise::new(crowd, 1, Threshold::new(1 << 62)?, 2)?;
/// assert_eq!(four.epsilon(delta)?.epsilon, half.epsilon(delta)?.epsilon);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdditiveNoise {
    slots: u64,
    chance: Threshold,
    /// Those drawn in two categories by the whole crowd.
    coins: Coins,
}

impl AdditiveNoise {
    /// The protocol with at least two categories and one slot, and at most 2⁴⁰ slots in the whole
    /// crowd.
    pub fn new(
        crowd: Crowd,
        slots: u64,
        chance: Threshold,
        categories: u64,
    ) -> Result<Self, Error> {
        require_slots(crowd, slots)?;
        require(categories >= 2, "categories", categories as f64, "2 or more")?;
        let coin = 2.0 * chance.probability() / categories as f64;
        let coins = Coins::Binomial { slots: crowd.get() * slots, chance: coin };
        Ok(Self { slots, chance, coins })
    }

    /// The profile of the same protocol with a drawn message in every slot: a fixed number of them.
    ///
    /// ```
    /// use throng_account::profile::AdditiveNoise;
    /// use throng_account::{Crowd, Epsilon};
    ///
    /// // Two users and two coins. A total of 3 shows a 1, by chance ¼: no ε goes below that.
    /// let two = AdditiveNoise::in_every_slot(Crowd::new(2)?, 1, 2)?;
    /// assert!((two.least_delta() - 0.25).abs() < 1e-8);
    /// // A total of 2 has chance ½ against ¼.
    /// let delta = two.delta(Epsilon::ZERO).upper;
    /// assert!((delta - 0.5).abs() < 1e-8);
    /// # Ok::<(), throng_account::Error>(())
    /// ```
    pub fn in_every_slot(
        crowd: Crowd,
        slots: u64,
        categories: u64,
    ) -> Result<Box<dyn Profile>, Error> {
        require_slots(crowd, slots)?;
        require(categories >= 2, "categories", categories as f64, "2 or more")?;
        let coin = 2.0 / categories as f64;
        Ok(Box::new(Coins::Binomial { slots: crowd.get() * slots, chance: coin }))
    }

    /// Slots for drawn messages of each user.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// The probability that a slot holds a drawn message.
    pub fn chance(&self) -> Threshold {
        self.chance
    }
}

impl Profile for AdditiveNoise {
    /// Exact: upper and lower differ by rounding only.
    fn delta(&self, epsilon: Epsilon) -> Band {
        self.coins.delta(epsilon)
    }

    fn theorem(&self) -> Theorem {
        Theorem::ExactCoins
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        Some(Dataset::Every)
    }

    /// The chance that nobody draws the true bit or category.
    fn least_delta(&self) -> f64 {
        self.coins.least_delta()
    }
}

/// One bit among a random number of fair coins, by the law of that number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Coins {
    /// Every slot holds a coin with the same chance.
    Binomial { slots: u64, chance: f64 },
    /// Infinitely many slots, with `rate` coins on average.
    Poisson { rate: f64 },
}

impl Coins {
    /// `ln E θ^T`.
    fn ln_power(&self, theta: f64) -> f64 {
        match *self {
            Self::Binomial { slots, chance } => slots as f64 * (-chance * (1.0 - theta)).ln_1p(),
            Self::Poisson { rate } => -rate * (1.0 - theta),
        }
    }

    fn ln_pmf(&self, coins: u64) -> f64 {
        match *self {
            Self::Binomial { slots, chance: 1.0 } => {
                if coins == slots {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            Self::Binomial { slots, chance } => Binomial::new(slots, chance).ln_pmf(coins),
            Self::Poisson { rate } => ln_poisson(rate, coins),
        }
    }

    /// `P[T−1]/(T·P[T])`.
    fn odds_below(&self, coins: f64) -> f64 {
        match *self {
            Self::Binomial { slots, chance } => {
                (1.0 - chance) / (chance * (slots as f64 - coins + 1.0))
            }
            Self::Poisson { rate } => 1.0 / rate,
        }
    }

    /// The T that matter, and a bound on `Σ P[T]·d(T, ε)` over the others.
    ///
    /// `d(T) ≤ P[B = m] ≤ e^{T·h(m/T)}·2^−T` with the entropy h, which is concave and has slope ε
    /// at ρ; as `m < (T+1)ρ`, that is at most `e^{ερ}·θ^T`, `ln θ = h(ρ) − ln 2`. So what is left
    /// out is at most `e^{ερ}·E θ^T` times the tails of the law weighted by `θ^T`, for which there
    /// is Bernstein's inequality, and `e^{ερ} < 4/3`.
    fn window(&self, epsilon: f64, rho: f64) -> (u64, u64, f64) {
        let theta = ((-epsilon).exp().ln_1p() + rho * epsilon - LN_2).min(0.0).exp();
        // Mean and variance of T when its law is weighted by θ^T.
        let (mean, variance, most) = match *self {
            Self::Binomial { slots, chance } => {
                let (n, p) = (slots as f64, chance * theta / (1.0 - chance * (1.0 - theta)));
                (n * p, n * p * (1.0 - p), slots)
            }
            Self::Poisson { rate } => (rate * theta, rate * theta, u64::MAX),
        };
        let reach = bernstein(NATS, variance);
        let (first, last) = ((mean - reach).max(0.0) as u64, (mean + reach).ceil() as u64);
        (first, last.min(most), 3.0 * (self.ln_power(theta) - NATS).exp())
    }

    /// `Σ P[T]·d(T, ε)` over the window, and a bound on the rest.
    ///
    /// From one T to the one below, the law and the binomial coefficient change by simple factors,
    /// and so does the ratio `P[B < m]/P[B = m]`. Errors of the ratio shrink by θ per step
    /// downward; upward they would grow.
    fn sum(&self, epsilon: f64) -> (f64, f64) {
        let gain = epsilon.exp_m1();
        let rho = (-epsilon).exp() / (1.0 + (-epsilon).exp());
        let cut = |coins: u64| (((coins + 1) as f64 * rho).ceil() as u64).saturating_sub(1);
        let (first, last, rest) = self.window(epsilon, rho);
        work::count(last - first + 1);

        let mut zeros = cut(last);
        let mut below = ratio_below(last, zeros);
        let start = self.ln_pmf(last) + Binomial::new(last, 0.5).ln_pmf(zeros);
        let (mut mass, mut total) = (1.0, 0.0);
        for coins in (first..=last).rev() {
            // An empty tail costs nothing, at infinite gain too.
            let cost = if below == 0.0 { 0.0 } else { gain * below };
            total += mass * (1.0 - cost).max(0.0);
            if coins == 0 {
                break;
            }
            let (t, m) = (coins as f64, zeros as f64);
            let next = cut(coins - 1);
            // P[B < m] with one coin less: half of P[B = m] or of P[B = m−1] more, or less.
            let (factor, half) = if next == zeros { (t - m, m) } else { (m, -m) };
            mass *= 2.0 * factor * self.odds_below(t);
            below = match next {
                0 => 0.0,
                _ if gain > MAX_GAIN => ratio_below(coins - 1, next),
                _ => (t * below + half) * (0.5 / factor),
            };
            zeros = next;
        }
        ((start + total.ln()).exp(), rest)
    }
}

impl Profile for Coins {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let (sum, rest) = self.sum(epsilon.get());
        // With hardly any coin the weighted sum overflows: then δ is next to 1, and 1 is said.
        let lower = if sum.is_finite() { round::down(sum).min(1.0) } else { 0.0 };
        Band { lower, upper: round::delta_up(sum + rest) }
    }

    fn theorem(&self) -> Theorem {
        Theorem::ExactCoins
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        Some(Dataset::Every)
    }

    /// `Σ_T P[T]·2^−T = (1 − p/2)^slots`, rounded up: the loss is infinite when all coins agree
    /// with the bit.
    fn least_delta(&self) -> f64 {
        round::up(self.ln_power(0.5).exp())
    }
}

/// `ln P[Poisson(rate) = k]`.
pub(crate) fn ln_poisson(rate: f64, k: u64) -> f64 {
    if k == 0 {
        return -rate;
    }
    let k = k as f64;
    -stirling_error(k) - deviance(k, Product::new(rate, 1.0)) - LN_SQRT_TAU - 0.5 * k.ln()
}

/// `P[B < zeros]/P[B = zeros]` for `B ~ Bin(coins, ½)`, `zeros ≤ coins/2`.
fn ratio_below(coins: u64, zeros: u64) -> f64 {
    let step = |m: u64| m as f64 / (coins - m + 1) as f64;
    if zeros == 0 { 0.0 } else { step(zeros) * shrinking_sum((1..zeros).rev().map(step)) }
}

/// Refuses no slots, and so many that their coins cannot be counted.
pub(crate) fn require_slots(crowd: Crowd, slots: u64) -> Result<(), Error> {
    let range = "1 or more, and at most 2^40 in the whole crowd";
    require(slots > 0 && slots <= MAX_SLOTS / crowd.get(), "slots", slots as f64, range)
}

/// The window may leave out e^-NATS of the weighted law.
const NATS: f64 = 50.0;
/// Above this the ratio is added up afresh, from a few terms; below, it comes from its neighbour.
const MAX_GAIN: f64 = 16.0;
/// The most slots of the whole crowd: counts stay well within the integers of an `f64`.
const MAX_SLOTS: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delta;
    use crate::Probability;
    use crate::testing::{Counts, assert_close, divergence, shuffled, vectors};

    fn chance(p: f64) -> Threshold {
        Threshold::at_least(Probability::new("p", p).unwrap())
    }

    fn count(n: u64, slots: u64, p: f64) -> AdditiveNoise {
        AdditiveNoise::new(Crowd::new(n).unwrap(), slots, chance(p), 2).unwrap()
    }

    /// The messages of one user with this value, over all that its slots may hold.
    fn messages(value: usize, categories: usize, slots: u32, p: f64) -> Counts {
        let mut slot = Counts::from([(vec![0; categories], 1.0 - p)]);
        let mut truth = vec![0; categories];
        truth[value] = 1;
        for category in 0..categories {
            let mut drawn = vec![0; categories];
            drawn[category] = 1;
            slot.insert(drawn, p / categories as f64);
        }
        let all = vec![slot; slots as usize];
        shuffled(std::iter::once(&Counts::from([(truth, 1.0)])).chain(&all))
    }

    // The weighted sum overflows where a coin is all but impossible: nothing above the truth is
    // said.
    // The sum over all events of the two laws of 1 + Bin(T, ½) and Bin(T, ½).
    #[test]
    fn a_coin_in_every_slot_is_a_fixed_number_of_coins() {
        for (n, slots) in [(1, 1), (2, 1), (5, 2), (30, 1)] {
            let profile = AdditiveNoise::in_every_slot(Crowd::new(n).unwrap(), slots, 2).unwrap();
            let law = Binomial::new(n * slots, 0.5);
            let pmf = |k: u64| if k <= n * slots { law.pmf(k) } else { 0.0 };
            for epsilon in [0.0, 0.2, 1.0, 2.5_f64] {
                let below = |k: u64| k.checked_sub(1).map_or(0.0, pmf);
                let term = |k: u64| (below(k) - epsilon.exp() * pmf(k)).max(0.0);
                let exact: f64 = (0..=n * slots + 1).map(term).sum();
                let band = profile.delta(Epsilon::at(epsilon));
                assert!(band.lower <= exact * (1.0 + 1e-12) && exact <= band.upper * (1.0 + 1e-12));
                assert!(band.upper <= exact * (1.0 + 1e-8), "{n} {slots} {epsilon}: {band:?}");
            }
            // Nearly certain is nearly this.
            let nearly = AdditiveNoise::new(Crowd::new(n).unwrap(), slots, chance(1.0 - 1e-12), 2);
            let (nearly, epsilon) = (nearly.unwrap(), Epsilon::at(0.3));
            let (one, other) = (profile.delta(epsilon).upper, nearly.delta(epsilon).upper);
            assert!((one / other - 1.0).abs() < 1e-8, "{n}: {one} {other}");
        }
    }

    #[test]
    fn hardly_any_coin_hides_nothing() {
        let chance = Threshold::at_least(Probability::new("chance", 3e-11).unwrap());
        let count = AdditiveNoise::new(Crowd::new(100).unwrap(), 1, chance, 2).unwrap();
        let band = count.delta(Epsilon::at(1.0));
        assert!(band.lower <= 1.0 && band.upper >= 1.0 - 1e-8, "{band:?}");
    }

    #[test]
    fn d_and_delta_agree_with_eighty_digits() {
        for row in vectors("coins.json") {
            let coins = match row.text("kind").as_str() {
                "coin" => Coins::Binomial { slots: row.u64("trials"), chance: row.f64("p") },
                "additive" => Coins::Binomial {
                    slots: row.u64("trials"),
                    chance: 2.0 * row.f64("p") / row.f64("categories"),
                },
                "given" => Coins::Binomial { slots: row.u64("coins"), chance: 1.0 },
                _ => Coins::Poisson { rate: row.f64("rate") },
            };
            let (delta, epsilon) = (row.f64("delta"), Epsilon::at(row.f64("epsilon")));
            let (sum, rest) = coins.sum(epsilon.get());
            assert_close(sum, delta, 1e-10);
            assert!(rest <= 1e-14 * delta, "{row:?}");
            let band = coins.delta(epsilon);
            assert!(band.lower <= delta && delta <= band.upper, "{row:?}: {band:?}");
            assert!(band.upper >= coins.least_delta() * (1.0 - 1e-8), "{row:?}");
        }
    }

    #[test]
    fn single_values_agree_with_forty_digits() {
        for (coins, epsilon, expected) in [
            (0, 1.0, 1.0),
            (1, 1.0, 0.5),
            (10, 0.5, 0.09357915659841547),
            (100, 0.5, 0.0005698563248133241),
            (100, 1.0, 8.00255105953459e-8),
        ] {
            let given = Coins::Binomial { slots: coins, chance: 1.0 };
            assert_close(given.sum(epsilon).0, expected, 1e-12);
        }
        for (slots, chance, epsilon, expected) in [
            (12, 0.7, 0.5, 0.1178961686748492),
            (30, 0.4, 1.0, 0.02288175819086803),
            (8, 0.4, 0.5, 0.2942161827460662),
            (1_000, 0.124, 1.0, 9.194382694189226e-9),
            (1_000_000, 124e-6, 1.0, 1.0217778018852e-8),
        ] {
            assert_close(Coins::Binomial { slots, chance }.sum(epsilon).0, expected, 1e-12);
        }
        // Printed with nine digits.
        let small = Coins::Binomial { slots: 1_000_000, chance: 0.008457 };
        assert_close(small.sum(0.1).0, 9.99990316e-9, 1e-9);
    }

    // The whole bag, all datasets, both directions: nothing of the derivation is used.
    #[test]
    fn every_dataset_of_a_small_crowd_has_this_delta() {
        for (n, slots, p) in [(1, 1, 0.5), (1, 3, 0.75), (2, 2, 0.25), (3, 1, 0.875)] {
            for categories in [2_usize, 3] {
                let users: Vec<Counts> =
                    (0..categories).map(|v| messages(v, categories, slots, p)).collect();
                let protocol = AdditiveNoise::new(
                    Crowd::new(n).unwrap(),
                    slots.into(),
                    chance(p),
                    categories as u64,
                )
                .unwrap();
                let bag = |data: &[usize]| shuffled(data.iter().map(|&v| &users[v]));
                for others in 0..categories.pow(n as u32 - 1) {
                    let mut data: Vec<usize> = (0..n as u32 - 1)
                        .map(|user| others / categories.pow(user) % categories)
                        .collect();
                    data.push(0);
                    let first = bag(&data);
                    *data.last_mut().unwrap() = 1;
                    let second = bag(&data);
                    for epsilon in [0.0, 0.3, 1.0, 2.5] {
                        let band = protocol.delta(Epsilon::at(epsilon));
                        for delta in [
                            divergence(&first, &second, epsilon),
                            divergence(&second, &first, epsilon),
                        ] {
                            assert!(band.lower <= delta && delta <= band.upper, "{band:?} {delta}");
                        }
                    }
                }
                if categories == 2 {
                    // Every message drawn is a coin.
                    let coins = Coins::Binomial { slots: n * u64::from(slots), chance: p };
                    assert_eq!(coins.delta(Epsilon::at(1.0)), protocol.delta(Epsilon::at(1.0)));
                }
            }
        }
    }

    #[test]
    fn privacy_grows_with_epsilon_crowd_slots_and_chance() {
        let delta = |n, slots, p, eps| count(n, slots, p).delta(Epsilon::at(eps)).upper;
        for n in [1, 5, 60, 3_000] {
            for p in [0.01, 0.2, 0.7] {
                for eps in [0.0, 0.1, 1.0, 4.0, 12.0] {
                    let here = delta(n, 2, p, eps) * (1.0 + 3e-9);
                    assert!(delta(n, 2, p, eps + 0.05) <= here);
                    assert!(delta(n + 1, 2, p, eps) <= here);
                    assert!(delta(n, 3, p, eps) <= here);
                    assert!(delta(n, 2, 1.1 * p, eps) <= here);
                }
            }
        }
    }

    // The chance that all coins agree with the bit is larger than that of no coins at all.
    #[test]
    fn a_delta_that_no_epsilon_reaches_is_refused_with_the_least_delta() {
        let protocol = count(10, 2, 0.5);
        let refused = protocol.epsilon(Delta::new(1e-3).unwrap());
        let Err(Error::Unreachable { least, .. }) = refused else { panic!("{refused:?}") };
        assert_close(least, 0.75_f64.powi(20), 2e-9);
        assert_close(protocol.delta(Epsilon::at(50.0)).upper, least, 2e-9);
        assert_close(protocol.delta(Epsilon::at(1e5)).upper, least, 2e-9);
        let delta = Delta::new(least * 1.01).unwrap();
        let found = protocol.epsilon(delta).unwrap();
        assert!(protocol.delta(found.epsilon).upper <= delta.get());
        assert!(found.epsilon.get() / found.lower.unwrap().epsilon.get() < 1.0 + 1e-6);
    }

    #[test]
    fn large_crowds_are_counted_in_few_terms() {
        let protocol = count(10_000_000_000, 1, 1e-4);
        let before = work::terms_visited();
        let found = protocol.epsilon(Delta::new(1e-8).unwrap()).unwrap();
        assert!(work::terms_visited() - before < 2_000_000);
        assert!(found.epsilon.get() < 0.01);
    }

    #[test]
    fn nonsense_is_refused() {
        let crowd = Crowd::new(10_000_000_000).unwrap();
        assert!(AdditiveNoise::new(crowd, 0, chance(0.5), 2).is_err());
        assert!(AdditiveNoise::new(crowd, 1 << 17, chance(0.5), 2).is_err());
        assert!(AdditiveNoise::new(crowd, 1, chance(0.5), 1).is_err());
    }
}
