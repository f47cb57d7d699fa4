//! The chance that a string that nobody holds scores as high as a given one.
//!
//! The score of a string is the sum of the values in the cells it sets: h distinct ones of k in
//! every cohort. Where nobody holds it, nothing that was reported depends on its hash, so given the
//! values the cells are drawn at random. That makes the test exact: whatever was reported by
//! whoever, and however the values came about, only the hash is taken to be random.
//!
//! ```text
//! K(θ) = ln E[e^{θ·score}] = Σ_c ln(e_h(e^{θ·value_1}, …, e^{θ·value_k})/C(k,h))
//!        with e_h the elementary symmetric polynomial
//! K'(θ) = score,  w = √(2(θ·score − K(θ))),  v = θ√K''(θ)
//! P ≈ 1 − Φ(w) + φ(w)(1/v − 1/w),  and P ≤ e^{−w²/2}
//! ```
//!
//! The saddlepoint formula of Lugannani and Rice, "Saddle Point Approximation for the Distribution
//! of the Sum of Independent Random Variables" (1980), and Chernoff's bound, which takes over where
//! a string has few cells or the score is close to the highest there can be.

use crate::Bloom;

/// The scores of random strings, with these values in the cells.
pub(crate) struct Scores<'a> {
    /// The sets of cells that a string can have: `hashes` of `bits` in every cohort.
    bloom: &'a Bloom,
    /// The values of the cells, cohort after cohort.
    values: &'a [f64],
    mean: f64,
    deviation: f64,
    /// True if only the bound is to be trusted.
    few: bool,
    /// The θ above which powers of e may underflow.
    highest: f64,
    /// The last saddlepoint, where the search for the next one starts.
    theta: f64,
}

impl<'a> Scores<'a> {
    pub(crate) fn new(bloom: &'a Bloom, values: &'a [f64]) -> Self {
        let [_, mean, variance] = cumulants(bloom, values, 0.0);
        let largest = values.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let cells = values.len() / bloom.bits() as usize * bloom.hashes() as usize;
        Self {
            bloom,
            values,
            mean,
            // Values that are all alike differ by rounding only.
            deviation: variance.max(0.0).sqrt().max(1e-9 * largest * cells as f64),
            few: cells < FEW,
            highest: 300.0 / (largest * f64::from(bloom.hashes())),
            theta: 0.0,
        }
    }

    /// The standard deviation of a score.
    pub(crate) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The chance of this score or more.
    pub(crate) fn chance(&mut self, score: f64) -> f64 {
        let z = (score - self.mean) / self.deviation;
        if z <= 0.5 {
            // Never significant; the formula below is singular at the mean.
            return upper_tail(z);
        }
        let (mut low, mut high) = (0.0, self.highest);
        let start = if self.theta > 0.0 { self.theta } else { z / self.deviation };
        let mut theta = start.min(high);
        let mut solved = false;
        let [mut value, mut first, mut second] = cumulants(self.bloom, self.values, theta);
        for _ in 0..ROUNDS {
            solved = (first - score).abs() <= 1e-3 * second.sqrt();
            if solved || (theta == self.highest && first < score) {
                break;
            }
            if first < score {
                low = theta;
            } else {
                high = theta;
            }
            let newton = theta + (score - first) / second;
            theta = match newton {
                _ if newton > low && newton < high => newton,
                _ if newton >= self.highest => self.highest,
                _ => 0.5 * (low + high),
            };
            [value, first, second] = cumulants(self.bloom, self.values, theta);
        }
        self.theta = theta;
        // The exponent is flat at the saddlepoint: a step left out changes it by its square.
        let exponent = theta * score - value;
        let bound = (-exponent).exp();
        let (w, v) = ((2.0 * exponent).sqrt(), theta * second.sqrt());
        let tail = upper_tail(w) + density(w) * (1.0 / v - 1.0 / w);
        let trusted = solved && !self.few && tail > 0.0;
        if trusted { tail.min(bound) } else { bound.min(1.0) }
    }
}

/// K and its first two derivatives.
fn cumulants(bloom: &Bloom, values: &[f64], theta: f64) -> [f64; 3] {
    let (bits, h) = (bloom.bits() as usize, bloom.hashes() as usize);
    let sets: f64 = (0..h).map(|j| ((bits - j) as f64 / (j + 1) as f64).ln()).sum();
    let mut total = [0.0; 3];
    let mut e = vec![[0.0; 3]; h + 1];
    for values in values.chunks(bits) {
        // Relative to the largest value, so that no power of e is above 1.
        let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        e.fill([0.0; 3]);
        e[0][0] = 1.0;
        for value in values {
            let x = value - top;
            let power = (theta * x).exp();
            for j in (1..=h).rev() {
                let [zeroth, first, second] = e[j - 1];
                e[j][0] += power * zeroth;
                e[j][1] += power * (first + x * zeroth);
                e[j][2] += power * (second + x * (2.0 * first + x * zeroth));
            }
        }
        let [zeroth, first, second] = e[h];
        let mean = first / zeroth;
        total[0] += zeroth.ln() - sets + theta * h as f64 * top;
        total[1] += mean + h as f64 * top;
        total[2] += second / zeroth - mean * mean;
    }
    total
}

/// `P[Z > z]` for a standard normal Z.
pub(crate) fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    if z < 3.0 {
        // ½ − φ(z)·(z + z³/3 + z⁵/(3·5) + …)
        let (mut sum, mut term) = (0.0, z);
        for k in 1..60 {
            sum += term;
            term *= z * z / f64::from(2 * k + 1);
        }
        0.5 - density(z) * sum
    } else {
        // φ(z)/(z + 1/(z + 2/(z + …))), from the inside out.
        density(z) / (1..=60).rev().fold(z, |tail, k| z + f64::from(k) / tail)
    }
}

fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt()
}

/// The number of cells of a string below which the approximation can be off by a factor of two.
const FEW: usize = 16;
/// The most rounds of Newton's method; five are usual.
const ROUNDS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rng;
    use rand_core::Rng;

    fn bloom(bits: u32, hashes: u32, cohorts: u32) -> Bloom {
        Bloom::new(bits, hashes, cohorts, 0).unwrap()
    }

    /// Values in units of 1/32, close to normal; `heavy` cells of every cohort stand out by five
    /// deviations, and all are cut at three.
    fn values(bloom: &Bloom, heavy: usize) -> Vec<i32> {
        let mut rng = rng(3);
        let mut normal = || (0..12).map(|_| f64::from(rng.next_u32()) / TWO_32).sum::<f64>() - 6.0;
        let bits = bloom.bits() as usize;
        (0..bits * bloom.cohorts() as usize)
            .map(|cell| normal() + if cell % bits < heavy { 5.0 } else { 0.0 })
            .map(|value| (value.clamp(-3.0, 3.0) * 32.0).round() as i32)
            .collect()
    }

    /// The exact law of the score in units of 1/32, from the least possible on.
    fn law(bloom: &Bloom, values: &[i32]) -> Vec<f64> {
        let mut law = vec![1.0];
        for values in values.chunks(bloom.bits() as usize) {
            let sets: Vec<i32> = match bloom.hashes() {
                1 => values.to_vec(),
                _ => (0..values.len())
                    .flat_map(|i| values[..i].iter().map(move |other| other + values[i]))
                    .collect(),
            };
            let room = 2 * 96 * bloom.hashes() as usize;
            let mut share = vec![0.0; room + 1];
            for sum in &sets {
                share[(sum + room as i32 / 2) as usize] += 1.0 / sets.len() as f64;
            }
            let mut next = vec![0.0; law.len() + room];
            for (i, p) in law.iter().enumerate() {
                for (j, q) in share.iter().enumerate() {
                    next[i + j] += p * q;
                }
            }
            law = next;
        }
        law
    }

    /// The largest and the smallest quotient of the exact chance and ours, over scores with a
    /// chance from 1e-9, below which nothing is left to decide, to 0.1.
    fn quotients(bloom: &Bloom, heavy: usize) -> (f64, f64) {
        let values = values(bloom, heavy);
        let law = law(bloom, &values);
        let values: Vec<f64> = values.iter().map(|&value| f64::from(value) / 32.0).collect();
        let mut scores = Scores::new(bloom, &values);
        let (mut most, mut least, mut exact) = (0.0_f64, f64::INFINITY, 0.0);
        for (place, p) in law.iter().enumerate().rev() {
            exact += p;
            if *p > 0.0 && (1e-9..0.1).contains(&exact) {
                let score = place as f64 / 32.0 - f64::from(3 * bloom.hashes() * bloom.cohorts());
                let quotient = exact / scores.chance(score);
                (most, least) = (most.max(quotient), least.min(quotient));
            }
        }
        (most, least)
    }

    #[test]
    fn the_approximation_is_close_to_the_enumerated_law() {
        for (bits, hashes, cohorts) in [(32, 2, 8), (64, 2, 8), (32, 1, 16), (32, 2, 16)] {
            for heavy in [0, 2, 6] {
                let (most, least) = quotients(&bloom(bits, hashes, cohorts), heavy);
                assert!(most < 1.15 && least > 0.8, "{bits} {hashes} {cohorts}: {least} to {most}");
            }
        }
    }

    #[test]
    fn with_few_cells_the_chance_is_not_understated() {
        for (bits, hashes, cohorts) in [(64, 1, 1), (32, 2, 1), (16, 1, 2), (16, 2, 4), (32, 1, 4)]
        {
            for heavy in [0, 2, 6] {
                let (most, _) = quotients(&bloom(bits, hashes, cohorts), heavy);
                assert!(most < 1.0, "{bits} {hashes} {cohorts}, {heavy}: {most}");
            }
        }
    }

    // One cell of every cohort belongs to a common string that is not on the list, and there is no
    // other noise: the score is binomial. By a normal law with the right mean and variance, sharing
    // 4 of these 16 cells would be a discovery. Noise in the other cells, which the coins always
    // leave, makes ours right: see the first test.
    #[test]
    fn a_normal_law_would_be_off_by_orders_of_magnitude() {
        let values: Vec<f64> = (0..512).map(|cell| f64::from(u8::from(cell % 32 == 0))).collect();
        let bloom = bloom(32, 1, 16);
        let mut scores = Scores::new(&bloom, &values);
        let fewer: f64 = [1.0, 16.0, 120.0, 560.0]
            .iter()
            .zip(0..)
            .map(|(sets, k)| sets * 31_f64.powi(16 - k) / 32_f64.powi(16))
            .sum();
        let exact = 1.0 - fewer;
        assert!(exact > 3000.0 * upper_tail((4.0 - scores.mean) / scores.deviation), "{exact:e}");
        // The formula is for laws without a lattice, and θ/(1 − e^−θ) = 2.6 too small on this one.
        assert!((2.0..3.0).contains(&(exact / scores.chance(4.0))));
    }

    #[test]
    fn the_highest_score_has_the_chance_of_its_set() {
        // Of 4 cells in each of 20 cohorts one has the value 1: a chance of 4⁻²⁰.
        let bloom = bloom(4, 1, 20);
        let values: Vec<f64> = (0..80).map(|cell| f64::from(u8::from(cell % 4 == 1))).collect();
        let chance = Scores::new(&bloom, &values).chance(20.0);
        assert!((chance / 0.25_f64.powi(20) - 1.0).abs() < 1e-6, "{chance:e}");
        // Nothing stands out where all cells are alike.
        for level in [0.0, 0.3] {
            let values = [level; 80];
            assert!(Scores::new(&bloom, &values).chance(20.0 * level) > 0.4);
        }
    }

    #[test]
    fn the_normal_tail_has_its_published_values() {
        for (z, tail) in [
            (0.0, 0.5),
            (1.0, 0.15865525393145705),
            (-1.0, 0.8413447460685429),
            (3.0, 0.0013498980316300946),
            (5.0, 2.866515718791939e-7),
        ] {
            assert!((upper_tail(z) / tail - 1.0).abs() < 1e-12, "{z}: {}", upper_tail(z));
        }
    }

    const TWO_32: f64 = 4_294_967_296.0;
}
