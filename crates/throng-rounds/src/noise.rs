//! Noise that nobody knows, tossed inside a circuit.
//!
//! A geometric number G with P[G = g] = (1 − q)·q^g has independent binary digits:
//!
//! ```text
//! P[G = Σ gₖ·2^k] = (1 − q)·Π q^(gₖ·2^k)         a product of one factor per digit
//! P[gₖ = 1] = q^(2^k)/(1 + q^(2^k))              so each digit is a coin of its own
//! ```
//!
//! The lowest K digits are therefore G under the condition G < 2^K. The noise is the difference of
//! two such numbers, with q = e^(−ε/Δ): the discrete Laplace law, cut off where it hardly matters.
//! A digit is 1 if m fair coins, read as a binary number, are below an integer threshold: (below,
//! equal) pairs of halves make a tree of depth ⌈log₂ m⌉.
//!
//! ```text
//! (b, e) of high and low halves      b = b_high + e_high·b_low,   e = e_high·e_low
//! ```
//!
//! # The guarantee
//!
//! For two sums s ≤ Δ apart, δ is Σₓ max(0, P(x) − e^ε·P(x − s)). Both parts of the bound are upper
//! ones.
//!
//! *The cut.* With exact digits, M = 2^K − 1 ≥ Δ, Q = q^(2^K) and h = ⌈Δ/2⌉ − 1,
//!
//! ```text
//! P(x) = C·(q^|x| − q^(2M+2−|x|)),   C = (1 − q)/((1 + q)·(1 − Q)²)        |x| ≤ M
//! δ ≤ Q·(S₁ + S₂ + S₃)/((1 + q)·(1 − Q)²)
//!     S₁ = (e^ε − q^Δ)·q·(1 − Q·q^(−Δ))        (e^ε·q^(−Δ) − 1)·q^(2M+2−a) for x = −a, a ≤ M − Δ
//!     S₂ = (q^(−Δ) − q)·(1 − q^Δ)              all of P for x = −a, M − Δ < a ≤ M
//!     S₃ = e^ε·q^(1−Δ)·(1 − q^h)·Q             at most e^ε·q^(2M+2−Δ+x) for 0 < x < Δ/2
//! ```
//!
//! P is log-concave, as a convolution of such laws. So P(x)/P(x − s) falls with x, the best event
//! is a lower tail, and F(u) − e^ε·F(u − s) grows with s: s = Δ is the worst. Where q^|x| alone is
//! concerned the difference is not positive, because e^ε·q^Δ ≥ 1; what is left stands beside the
//! sums. By symmetry the other direction is the same.
//!
//! *The thresholds.* The law that is drawn is within Σ 2·|τₖ/2^m − pₖ| of the exact one in total
//! variation, which adds at most (1 + e^ε) times that to δ.
//!
//! Where the law is small enough to be listed, δ is also summed from it, over every s and the
//! integers that are used, and the smaller of the two is claimed.

use crate::{Bit, Circuit, Error, Number};
use throng_account::{Delta, Epsilon, round};

/// Discrete Laplace noise for a sum that one participant can change by at most the sensitivity Δ.
///
/// ```
/// use throng_account::{Delta, Epsilon};
/// use throng_rounds::{Circuit, Committee, LaplaceNoise, Seat};
///
/// // Twice six digits.
/// let noise = LaplaceNoise::new(Epsilon::new(1.0)?, 2, Delta::new(1e-9)?)?;
/// assert!(noise.delta().get() <= 1e-9);
/// // √2·Δ/ε, nearly.
/// assert!((noise.standard_deviation() - 2.8).abs() < 0.02);
///
/// let seats = [Seat(0), Seat(1), Seat(2)];
/// let mut circuit = Circuit::new(3, Committee::new(seats.to_vec(), 1)?);
/// let bits = seats.map(|seat| circuit.bit(seat));
/// let (count, noise) = (circuit.sum(bits), circuit.noise(&noise));
/// let noisy = circuit.add(count, noise);
/// circuit.reveal_number(noisy, &seats);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LaplaceNoise {
    epsilon: Epsilon,
    sensitivity: u32,
    delta: Delta,
    /// The number m of coins for a digit.
    bits: u32,
    /// τₖ, the lowest digit first: the digit is 1 with probability τₖ/2^m.
    thresholds: Vec<u64>,
}

impl LaplaceNoise {
    /// The noise with few digits and coins: the bound says how many suffice, half of δ for each of
    /// its parts, and as long as the guarantee still holds coins are left away.
    ///
    /// ε from 1e-6 to 16, Δ from 1 to 2²⁰, and δ from 1e-12: below that, rounding would show.
    pub fn new(epsilon: Epsilon, sensitivity: u32, delta: Delta) -> Result<Self, Error> {
        if !(1e-6..=16.0).contains(&epsilon.get()) {
            return Err(Error::parameter("epsilon of a noise", "from 0.000001 to 16"));
        }
        if !(1..=1 << 20).contains(&sensitivity) {
            return Err(Error::parameter("sensitivity", "from 1 to 1048576"));
        }
        let (ideal, half) = (Ideal::new(epsilon, sensitivity), 0.5 * delta.get());
        let drawn =
            |digits, bits| Self::drawn(epsilon, sensitivity, ideal.thresholds(digits, bits), bits);
        let enough =
            (1..=MAX_DIGITS).find(|&digits| ideal.cut(digits) <= half).and_then(|digits| {
                let rounds_well =
                    |&bits: &u32| ideal.rounding(&ideal.thresholds(digits, bits), bits) <= half;
                (1..=MAX_BITS).find(rounds_well).and_then(|bits| drawn(digits, bits))
            });
        let Some(mut noise) = enough.filter(|_| delta.get() >= MIN_DELTA) else {
            let least = MIN_DELTA.max(ideal.least());
            let range = format!("at least {least:e} for this epsilon");
            return Err(Error::parameter("delta of a noise", range));
        };
        let digits = noise.thresholds.len() as u32;
        while let Some(fewer) = drawn(digits, noise.bits - 1).filter(|fewer| fewer.delta <= delta) {
            noise = fewer;
        }
        Ok(noise)
    }

    /// The ε asked for.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// An upper bound on δ for this ε, from the integers that are used; at most the δ asked for.
    pub fn delta(&self) -> Delta {
        self.delta
    }

    /// The standard deviation of what is drawn: √(2·Σ 4^k·pₖ·(1 − pₖ)).
    pub fn standard_deviation(&self) -> f64 {
        let variance = |(k, p): (i32, f64)| 4_f64.powi(k) * p * (1.0 - p);
        (2.0 * (0..).zip(self.chances()).map(variance).sum::<f64>()).sqrt()
    }

    /// The farthest from 0 that it can be.
    pub fn reach(&self) -> i64 {
        (1 << self.thresholds.len()) - 1
    }

    /// P[noise = x], up to a relative error of 2⁻⁴⁴.
    ///
    /// From the lowest digit on: the difference of two digits is 0 where the rest is even, and ±1
    /// where it is odd, so there are two rests at most to follow.
    pub fn probability(&self, x: i64) -> f64 {
        if x.unsigned_abs() > self.reach() as u64 {
            return 0.0;
        }
        // What is left over is `base` or one more.
        let (mut base, mut weights) = (x, [1.0, 0.0]);
        for p in self.chances() {
            let (differ, mut halved) = (p * (1.0 - p), [0.0; 2]);
            let odd = (base & 1) as usize;
            // An odd rest loses or gains one, and is halved to both.
            halved[0] = weights[1 - odd] * differ;
            halved[1] = halved[0];
            halved[odd] += weights[odd] * (1.0 - 2.0 * differ);
            (base, weights) = (base >> 1, halved);
        }
        match base {
            0 => weights[0],
            -1 => weights[1],
            _ => 0.0,
        }
    }

    /// Every x that can be drawn, with its probability.
    pub fn law(&self) -> impl Iterator<Item = (i64, f64)> {
        (-self.reach()..=self.reach()).map(|x| (x, self.probability(x)))
    }

    /// The noise of these thresholds with its δ; none if that is no less than 1.
    fn drawn(epsilon: Epsilon, sensitivity: u32, thresholds: Vec<u64>, bits: u32) -> Option<Self> {
        let ideal = Ideal::new(epsilon, sensitivity);
        let bound = ideal.cut(thresholds.len() as u32) + ideal.rounding(&thresholds, bits);
        let unclaimed = Delta::new(0.5).ok()?;
        let noise = Self { epsilon, sensitivity, delta: unclaimed, bits, thresholds };
        let found = noise.listed().map_or(bound, |listed| listed.min(bound));
        Some(Self { delta: Delta::new(found).ok()?, ..noise })
    }

    fn chances(&self) -> impl Iterator<Item = f64> {
        let one = (1_u64 << self.bits) as f64;
        self.thresholds.iter().map(move |&tau| tau as f64 / one)
    }

    /// δ summed from the law, the worst shift; none if there is too much to sum.
    fn listed(&self) -> Option<f64> {
        let shifts = self.sensitivity as usize;
        if (self.reach() as usize) > MAX_LISTED / 2 / shifts {
            return None;
        }
        let law: Vec<_> = self.law().map(|(_, p)| p).collect();
        let growth = self.epsilon.get().exp();
        let delta = |shift: usize| {
            let shifted = std::iter::repeat_n(0.0, shift).chain(law.iter().copied());
            law.iter().zip(shifted).map(|(p, other)| (p - growth * other).max(0.0)).sum::<f64>()
        };
        let worst = (1..=shifts).map(delta).fold(0.0, f64::max);
        Some(round::up(worst) + (1.0 + growth) * LAW_ERROR)
    }
}

impl Circuit {
    /// A draw of this noise, which nobody knows.
    pub fn noise(&mut self, noise: &LaplaceNoise) -> Number {
        let mut digits = Vec::new();
        for sign in [1, -1] {
            for (place, &tau) in noise.thresholds.iter().enumerate().filter(|&(_, &tau)| tau != 0) {
                // Halving both sides of a comparison changes nothing.
                let shift = tau.trailing_zeros();
                let bit = self.below(tau >> shift, noise.bits - shift);
                digits.push((bit, sign << place));
            }
        }
        self.weighted(digits.into_iter())
    }

    /// The bit that is 1 if `bits` coins, as a number, are below an odd threshold.
    fn below(&mut self, threshold: u64, bits: u32) -> Bit {
        let mut parts: Vec<_> = (0..bits)
            .rev()
            .map(|place| {
                let coin = self.coin();
                let tails = self.not(coin);
                let one = threshold >> place & 1 == 1;
                Part { below: one.then_some(tails), equal: if one { coin } else { tails } }
            })
            .collect();
        while parts.len() > 1 {
            let last = parts.len().div_ceil(2) - 1;
            let joined = |(place, pair): (usize, &[Part])| match *pair {
                [high, low] => self.join(high, low, place == last),
                _ => pair[0],
            };
            parts = parts.chunks(2).enumerate().map(joined).collect();
        }
        // The lowest digit of an odd number is 1, so that something can be below.
        let below = parts.first().and_then(|part| part.below);
        below.unwrap_or_else(|| Bit(self.constant(0).wire))
    }

    /// Two parts as one. Nobody asks whether the lowest part is equal.
    fn join(&mut self, high: Part, low: Part, lowest: bool) -> Part {
        let behind = low.below.map(|below| self.and(high.equal, below));
        let below = match (high.below, behind) {
            // They exclude each other, so that their sum is a bit.
            (Some(high), Some(behind)) => Some(Bit(self.add(high, behind).wire)),
            (high, behind) => high.or(behind),
        };
        let equal = if lowest { high.equal } else { self.and(high.equal, low.equal) };
        Part { below, equal }
    }
}

/// Some digits of a comparison, from the highest: whether the coins are below there (never, if
/// none), or equal.
#[derive(Clone, Copy)]
struct Part {
    below: Option<Bit>,
    equal: Bit,
}

/// The law with exact digits.
struct Ideal {
    epsilon: f64,
    growth: f64,
    sensitivity: f64,
    /// −ln q, a little less than ε/Δ, so that e^ε·q^Δ ≥ 1.
    step: f64,
}

impl Ideal {
    fn new(epsilon: Epsilon, sensitivity: u32) -> Self {
        let (epsilon, sensitivity) = (epsilon.get(), f64::from(sensitivity));
        let step = epsilon / sensitivity * (1.0 - 4.0 * f64::EPSILON);
        Self { epsilon, growth: epsilon.exp(), sensitivity, step }
    }

    /// The first part of the bound.
    fn cut(&self, digits: u32) -> f64 {
        let size = 2_f64.powi(digits as i32);
        if size <= self.sensitivity {
            return f64::INFINITY;
        }
        let (q, tail) = ((-self.step).exp(), (-self.step * size).exp());
        // 1 − q^x without cancellation.
        let lost = |x: f64| -(-self.step * x).exp_m1();
        let (wide, half) = (self.sensitivity, ((self.sensitivity - 1.0) / 2.0).floor());
        let inner = (self.epsilon.exp_m1() + lost(wide)) * q * lost(size - wide);
        let edge = ((self.step * wide).exp_m1() + lost(1.0)) * lost(wide);
        let middle = self.growth * (self.step * (wide - 1.0)).exp() * lost(half) * tail;
        round::up(tail * (inner + edge + middle) / ((1.0 + q) * lost(size).powi(2)))
    }

    /// The second.
    fn rounding(&self, thresholds: &[u64], bits: u32) -> f64 {
        let one = (1_u64 << bits) as f64;
        let apart = |(k, &tau): (i32, &u64)| {
            2.0 * ((tau as f64 / one - self.chance(k)).abs() + CHANCE_ERROR)
        };
        round::up((1.0 + self.growth) * (0..).zip(thresholds).map(apart).sum::<f64>())
    }

    fn thresholds(&self, digits: u32, bits: u32) -> Vec<u64> {
        let one = (1_u64 << bits) as f64;
        (0..digits as i32).map(|k| (self.chance(k) * one).round() as u64).collect()
    }

    /// `q^(2^k)/(1 + q^(2^k))`.
    fn chance(&self, k: i32) -> f64 {
        1.0 / (1.0 + (self.step * 2_f64.powi(k)).exp())
    }

    /// No δ below this is reached, for want of digits of the chances.
    fn least(&self) -> f64 {
        8.0 * f64::from(MAX_DIGITS) * (1.0 + self.growth) * CHANCE_ERROR
    }
}

const MAX_DIGITS: u32 = 48;

const MAX_BITS: u32 = 52;

const MIN_DELTA: f64 = 1e-12;

/// A chance is at most ½, and its exponent is off by a few units in the last place, of which it
/// sees a quarter at most.
const CHANCE_ERROR: f64 = 2.0 * f64::EPSILON;

/// The relative error of a probability: eight roundings for each of at most 48 digits.
const LAW_ERROR: f64 = 256.0 * f64::EPSILON;

/// Terms that are summed at most.
const MAX_LISTED: usize = 1 << 22;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::testing::{Values, plain_bits, run};
    use crate::{Committee, Element, Seat};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use throng_account::tail::success_band;

    fn noise(epsilon: f64, sensitivity: u32, delta: f64) -> LaplaceNoise {
        LaplaceNoise::new(Epsilon::new(epsilon).unwrap(), sensitivity, Delta::new(delta).unwrap())
            .unwrap()
    }

    /// Fair coins that it takes.
    fn coins(noise: &LaplaceNoise) -> u32 {
        let used = |&tau: &u64| if tau == 0 { 0 } else { noise.bits - tau.trailing_zeros() };
        2 * noise.thresholds.iter().map(used).sum::<u32>()
    }

    fn tossed(noise: &LaplaceNoise) -> Circuit {
        let seats: Vec<_> = (0..3).map(Seat).collect();
        let mut circuit = Circuit::new(3, Committee::new(seats.clone(), 1).unwrap());
        let number = circuit.noise(noise);
        assert!(number.range.unwrap().1 <= noise.reach());
        circuit.reveal_number(number, &seats);
        circuit
    }

    #[test]
    fn a_geometric_number_has_independent_digits() {
        for (q, digits) in [(0.9_f64, 4), (0.5, 5), (0.1, 3)] {
            for g in 0..1 << digits {
                let digit = |k: i32| {
                    let power = q.powi(1 << k);
                    if g >> k & 1 == 1 { power / (1.0 + power) } else { 1.0 / (1.0 + power) }
                };
                let product: f64 = (0..digits).map(digit).product();
                let exact = (1.0 - q) * q.powi(g) / (1.0 - q.powi(1 << digits));
                assert!((product / exact - 1.0).abs() < 1e-13);
            }
        }
    }

    /// Digit by digit, as a convolution.
    fn convolved(noise: &LaplaceNoise) -> Vec<f64> {
        let mut law = BTreeMap::from([(0_i64, 1.0)]);
        for (k, p) in noise.chances().enumerate() {
            let mut next = BTreeMap::new();
            for (x, weight) in law {
                for (step, chance) in [(-1, p * (1.0 - p)), (1, p * (1.0 - p))] {
                    *next.entry(x + (step << k)).or_insert(0.0) += weight * chance;
                }
                *next.entry(x).or_insert(0.0) += weight * (p * p + (1.0 - p) * (1.0 - p));
            }
            law = next;
        }
        (-noise.reach()..=noise.reach()).map(|x| law.get(&x).copied().unwrap_or(0.0)).collect()
    }

    #[test]
    fn the_law_is_that_of_the_digits() {
        for noise in [noise(1.0, 2, 1e-9), noise(0.1, 3, 1e-6), noise(8.0, 1, 1e-3)] {
            let law: Vec<_> = noise.law().map(|(_, p)| p).collect();
            for (found, expected) in law.iter().zip(convolved(&noise)) {
                assert!((found - expected).abs() <= 1e-13 * expected, "{found} {expected}");
            }
            assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let variance: f64 = noise.law().map(|(x, p)| (x * x) as f64 * p).sum();
            assert!((variance.sqrt() / noise.standard_deviation() - 1.0).abs() < 1e-12);
            for x in [noise.reach() + 1, i64::MAX, i64::MIN] {
                assert_eq!(noise.probability(x), 0.0);
            }
        }
    }

    #[test]
    fn the_law_is_nearly_discrete_laplace() {
        let (noise, q) = (noise(1.0, 2, 1e-9), (-0.5_f64).exp());
        for (x, p) in noise.law() {
            let exact = (1.0 - q) / (1.0 + q) * q.powi(x.abs() as i32);
            assert!((p - exact).abs() < 1e-9);
        }
    }

    /// δ over all shifts and both directions, in the plainest way.
    fn brute_force(noise: &LaplaceNoise) -> f64 {
        let (reach, growth) = (noise.reach(), noise.epsilon().get().exp());
        let most = i64::from(noise.sensitivity);
        let mut worst = 0.0_f64;
        for shift in (-most..=most).filter(|&shift| shift != 0) {
            let excess = |x: i64| noise.probability(x) - growth * noise.probability(x - shift);
            worst = worst.max((-reach..=reach).map(|x| excess(x).max(0.0)).sum());
        }
        worst
    }

    #[test]
    fn the_claim_is_above_brute_force_and_the_bound_above_the_claim() {
        for epsilon in [0.05, 0.3, 1.0, 2.5, 8.0] {
            for sensitivity in [1, 2, 3, 5, 16] {
                for delta in [1e-3, 1e-6, 1e-9] {
                    let noise = noise(epsilon, sensitivity, delta);
                    let exact = brute_force(&noise);
                    let ideal = Ideal::new(noise.epsilon, sensitivity);
                    let digits = noise.thresholds.len() as u32;
                    let bound = ideal.cut(digits) + ideal.rounding(&noise.thresholds, noise.bits);
                    let claim = noise.delta().get();
                    assert!(
                        exact <= claim && claim <= bound && claim <= delta,
                        "{exact:e} {claim:e}"
                    );
                    // What is claimed from the list is no more than rounding above the truth.
                    assert!(claim - exact < 1e-8 * exact + (1.0 + epsilon.exp()) * 1e-13);
                }
            }
        }
    }

    // With exact digits only the cut is left: the first part of the bound against its own law.
    #[test]
    fn the_cut_is_bounded_closely() {
        for (epsilon, sensitivity) in [(1.0, 1), (0.5, 4), (2.0, 3), (0.1, 1)] {
            let wanted = Epsilon::new(epsilon).unwrap();
            let ideal = Ideal::new(wanted, sensitivity);
            for digits in 3..=7 {
                let thresholds = ideal.thresholds(digits, 52);
                let delta = Delta::new(0.5).unwrap();
                let noise =
                    LaplaceNoise { epsilon: wanted, sensitivity, delta, bits: 52, thresholds };
                let (exact, bound) = (brute_force(&noise), ideal.cut(digits));
                assert!(exact <= bound + 1e-13, "{exact:e} {bound:e}");
                assert!(bound < 1.05 * exact + 1e-12 || bound > 0.2, "{exact:e} {bound:e}");
            }
        }
    }

    #[test]
    fn large_sensitivities_take_more_digits_not_more_work() {
        for (sensitivity, digits) in [(1, 5), (2, 6), (255, 13), (65_535, 21), (1 << 20, 25)] {
            let noise = noise(1.0, sensitivity, 1e-9);
            assert_eq!(noise.thresholds.len(), digits);
            assert!((29..=38).contains(&noise.bits), "{}", noise.bits);
            assert!(noise.delta().get() <= 1e-9);
            let laplace = 2_f64.sqrt() * f64::from(sensitivity);
            assert!((noise.standard_deviation() / laplace - 1.0).abs() < 0.05);
        }
        assert_eq!(noise(1e-6, 1 << 20, 1e-12).thresholds.len(), 44);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let refused = |epsilon, sensitivity, delta| {
            let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
            LaplaceNoise::new(epsilon, sensitivity, delta).unwrap_err().to_string()
        };
        assert!(refused(0.0, 1, 1e-6).starts_with("epsilon of a noise must be"));
        assert!(refused(17.0, 1, 1e-6).starts_with("epsilon of a noise must be"));
        assert!(refused(1.0, 0, 1e-6).starts_with("sensitivity must be"));
        assert!(refused(1.0, 1 << 21, 1e-6).starts_with("sensitivity must be"));
        assert!(refused(1.0, 1, 1e-13).starts_with("delta of a noise must be at least 1e-12"));
        // What the message proposes will do.
        let message = refused(16.0, 1, 1e-12);
        let least = message.split_whitespace().find_map(|word| word.parse::<f64>().ok()).unwrap();
        noise(16.0, 1, least);
    }

    /// Coins are rounds of multiplications: a calibration that wastes them is noticed.
    #[test]
    fn twice_six_digits_take_some_360_coins() {
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-9).unwrap());
        let noise = LaplaceNoise::new(epsilon, 2, delta).unwrap();
        assert_eq!(noise.thresholds.len(), 6);
        assert!((300..400).contains(&coins(&noise)), "{}", coins(&noise));
    }

    /// Every outcome of every coin, as tossed by one member while the others toss zeros.
    #[test]
    fn the_circuit_draws_the_law_exactly() {
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(0.5).unwrap());
        for (bits, thresholds) in
            [(3, vec![3, 1]), (3, vec![5, 0]), (2, vec![2, 1, 1]), (4, vec![11])]
        {
            let noise = LaplaceNoise { epsilon, sensitivity: 1, delta, bits, thresholds };
            let (circuit, coins) = (tossed(&noise), coins(&noise));
            let mut counts = BTreeMap::<i64, u32>::new();
            for outcome in 0_u32..1 << coins {
                let bits = (0..coins).map(|i| Element::from(outcome >> i & 1)).collect();
                let drawn = plain_bits(&circuit, &BTreeMap::from([(Seat(1), bits)]));
                *counts.entry(drawn[0]).or_default() += 1;
            }
            for (x, p) in noise.law() {
                let count = counts.get(&x).copied().unwrap_or(0);
                assert_eq!(f64::from(count), p * f64::from(1 << coins), "{x}");
            }
        }
    }

    /// Some thirty values, 600 draws: a right sampler fails with probability below 6e-8.
    #[test]
    fn the_protocol_draws_the_law() {
        let noise = noise(1.0, 2, 0.2);
        let circuit = Arc::new(tossed(&noise));
        let mut counts = BTreeMap::<i64, u64>::new();
        for seed in 0..600 {
            let outcomes = run(&circuit, &Values::new(), seed);
            let drawn = outcomes[0].number(crate::Output(0)).unwrap();
            assert!(outcomes.iter().all(|outcome| outcome.number(crate::Output(0)) == Some(drawn)));
            *counts.entry(drawn).or_default() += 1;
        }
        assert!(noise.reach() < 16);
        for (x, p) in noise.law() {
            let count = counts.get(&x).copied().unwrap_or(0);
            let band = success_band(count, 600, Delta::new(1e-9).unwrap());
            assert!(band.lower <= p && p <= band.upper, "{x}: {count} of 600 at {p}");
        }
    }
}
