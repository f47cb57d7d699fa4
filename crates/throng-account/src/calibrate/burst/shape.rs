//! The rates of bursts when only the difference of '+' and '−' is seen.
//!
//! ```text
//! λ_k = s^k/k for k < K, λ_K = κ·s^K/K          rates of the whole crowd, of either sign
//! ```
//!
//! For each s the smallest κ that keeps the promise is found, and of these pairs the one with the
//! least variance. Over several epochs the law on the line is composed with itself, so that s and κ
//! follow from the promise for all of them: s grows past 1 as the best noise becomes Gaussian. No
//! claim rests on this law.

use crate::kernel::bins::Bins;
use crate::profile::burst_histogram::TwoCells;
use crate::spend::composed_delta;
use crate::{Delta, Epsilon, Theorem};
use realfft::RealFftPlanner;
use realfft::num_complex::Complex64;

/// The number of independent differences that one user moves, by one each.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Moved {
    One,
    Two,
}

/// A promise for the law on the line.
pub(super) struct Shape {
    pub(super) slots: usize,
    pub(super) epochs: u64,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) moved: Moved,
}

impl Shape {
    /// The rates of least variance that keep the promise.
    pub(super) fn rates(&self) -> Option<Vec<f64>> {
        let mut lines = Lines(RealFftPlanner::new());
        let mut guess = 1.0;
        let mut cost = |ln_s: f64| {
            let kappa = self.kappa(&mut lines, ln_s, &mut guess)?;
            let rates = self.with(ln_s, kappa);
            Some((variance(&rates), rates))
        };
        // s is near e^−ε for large bursts, and grows as they are cut shorter.
        let (mut low, mut high) =
            (-1.02 * self.epsilon, (0.5 * self.epsilon).max(1.0 / self.slots as f64));
        let inner = |low: f64, high: f64| low + (1.0 - GOLDEN) * (high - low);
        let (mut left, mut right) = (inner(low, high), inner(high, low));
        let (mut at_left, mut at_right) = (cost(left), cost(right));
        let mut best: Option<(f64, Vec<f64>)> = None;
        for _ in 0..STEPS {
            for found in [&at_left, &at_right].into_iter().flatten() {
                if best.as_ref().is_none_or(|best| found.0 < best.0) {
                    best = Some(found.clone());
                }
            }
            let worth = |found: &Option<(f64, _)>| found.as_ref().map_or(f64::INFINITY, |f| f.0);
            // Where neither fits, s is too small.
            if worth(&at_left) < worth(&at_right) {
                (high, right, at_right) = (right, left, at_left);
                left = inner(low, high);
                at_left = cost(left);
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = inner(high, low);
                at_right = cost(right);
            }
        }
        best.map(|(_, rates)| rates)
    }

    fn with(&self, ln_s: f64, kappa: f64) -> Vec<f64> {
        let end = |k: usize| if k == self.slots { kappa } else { 1.0 };
        (1..=self.slots).map(|k| end(k) * (ln_s * k as f64).exp() / k as f64).collect()
    }

    /// The smallest κ that keeps the promise at this s, to a ten-thousandth, from a guess that is
    /// moved to it.
    fn kappa(&self, lines: &mut Lines, ln_s: f64, guess: &mut f64) -> Option<f64> {
        // Variances above this are not looked at.
        let most = 1e4 * self.epochs as f64 / self.epsilon.min(1.0).powi(2);
        // ln δ falls almost linearly with κ.
        let target = self.delta.ln();
        let mut excess = |kappa: f64| -> f64 {
            let law = lines.law(&self.with(ln_s, kappa), 1e-5 * self.delta / self.epochs as f64);
            law.map_or(f64::INFINITY, |law| self.risk(&law).max(1e-300).ln() - target)
        };
        // An unsafe κ with its excess, and a safe one.
        let (mut low, mut high) = (None, None);
        let mut kappa = *guess;
        for _ in 0..60 {
            let found = excess(kappa);
            if found <= 0.0 {
                high = Some((kappa, found));
            } else {
                if variance(&self.with(ln_s, kappa)) > most {
                    return None;
                }
                low = Some((kappa, found));
            }
            kappa = match (low, high) {
                (Some((low, _)), Some((high, _))) if high - low <= 1e-4 * high => break,
                (Some((low, over)), Some((high, under))) if over.is_finite() => {
                    let root = low + (high - low) * over / (over - under);
                    // A little past the root, so that both ends close in.
                    let past = if root - low < high - root { root } else { root * (1.0 + 5e-5) };
                    past.clamp(low + 0.01 * (high - low), high - 0.01 * (high - low))
                }
                (Some((low, _)), Some((high, _))) => 0.5 * (low + high),
                (Some((low, over)), None) => low * (1.0 + over.clamp(0.2, 3.0)),
                (None, Some((high, _))) if high <= 1e-3 => break,
                (None, Some((high, _))) => (0.5 * high).max(1e-3),
                (None, None) => return None,
            };
        }
        let (kappa, _) = high?;
        *guess = kappa;
        Some(kappa)
    }

    /// δ at ε of all epochs.
    fn risk(&self, law: &[f64]) -> f64 {
        if self.epochs > 1 {
            let (Ok(epsilon), Ok(delta)) = (Epsilon::new(self.epsilon), Delta::new(self.delta))
            else {
                return 1.0;
            };
            // A law on the line is its own mirror image: two differences are two rounds.
            let rounds = if self.moved == Moved::Two { 2 * self.epochs } else { self.epochs };
            let profile = Bins::of_pairs(shifted(law)).profile(Theorem::ExactBursts);
            return composed_delta(&profile, rounds, epsilon, delta).unwrap_or(1.0);
        }
        match self.moved {
            Moved::One => {
                let e = self.epsilon.exp();
                shifted(law).map(|(zero, one)| (zero - e * one).max(0.0)).sum()
            }
            Moved::Two => TwoCells::of_pairs(shifted(law)).delta(self.epsilon),
        }
    }
}

/// Variance of the difference of '+' and '−', both with these rates.
pub(super) fn variance(rates: &[f64]) -> f64 {
    2.0 * (1_u32..).zip(rates).map(|(k, rate)| f64::from(k * k) * rate).sum::<f64>()
}

/// The masses of every outcome, and those of the law moved by one.
fn shifted(law: &[f64]) -> impl Iterator<Item = (f64, f64)> + Clone + '_ {
    let bare = law.iter().copied().chain([0.0]);
    bare.zip([0.0].into_iter().chain(law.iter().copied()))
}

/// Laws on the line, with the transforms that they take.
struct Lines(RealFftPlanner<f64>);

impl Lines {
    /// The law of the difference of two sums of bursts with these rates, but for about `leak`;
    /// nothing where it is long.
    fn law(&mut self, rates: &[f64], leak: f64) -> Option<Vec<f64>> {
        let mean: f64 = (1_u32..).zip(rates).map(|(k, rate)| f64::from(k) * rate).sum();
        let weights: Vec<f64> = (1_u32..).zip(rates).map(|(k, rate)| f64::from(k) * rate).collect();
        let mut sum = vec![(-rates.iter().sum::<f64>()).exp()];
        // Panjer's recursion for a compound Poisson law.
        for a in 1.. {
            let reach = rates.len().min(a);
            let before = sum[a - reach..].iter().rev();
            sum.push(weights.iter().zip(before).map(|(w, mass)| w * mass).sum::<f64>() / a as f64);
            let last = a as f64 > mean + rates.len() as f64;
            if last && sum[a + 1 - reach..].iter().sum::<f64>() < leak {
                break;
            }
            if a > 8 * LONGEST_LINE {
                return None;
            }
        }
        // Both sums start late when bursts are many and small.
        let sum = &sum[sum.iter().position(|&mass| mass > 1e-6 * leak)?..];
        if sum.len() > LONGEST_LINE {
            return None;
        }
        let half = self.autocorrelation(sum);
        Some(half[1..].iter().rev().chain(&half).copied().collect())
    }

    /// `Σ x[i]·x[i + shift]` for every shift. A rounding error of the Fourier transform does no
    /// harm where sums are long.
    fn autocorrelation(&mut self, x: &[f64]) -> Vec<f64> {
        if x.len() < 48 {
            let product = |shift: usize| x[shift..].iter().zip(x).map(|(x, y)| x * y).sum::<f64>();
            return (0..x.len()).map(product).collect();
        }
        let length = (2 * x.len()).next_power_of_two();
        let mut padded = x.to_vec();
        padded.resize(length, 0.0);
        let mut spectrum = vec![Complex64::default(); length / 2 + 1];
        let mut product = vec![0.0; length];
        let forward = self.0.plan_fft_forward(length).process(&mut padded, &mut spectrum);
        for value in &mut spectrum {
            *value = Complex64::new(value.norm_sqr(), 0.0);
        }
        let inverse = self.0.plan_fft_inverse(length).process(&mut spectrum, &mut product);
        debug_assert!(forward.is_ok() && inverse.is_ok(), "lengths that fit");
        product.truncate(x.len());
        product.iter().map(|value| (value / length as f64).max(0.0)).collect()
    }
}

/// The golden section of an interval.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Steps of the search for s: to a thousandth of where it is looked for, where the variance hardly
/// changes any more.
const STEPS: usize = 17;
const LONGEST_LINE: usize = 2500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    // (s, κ) of an independent search.
    #[test]
    fn the_law_on_the_line_has_its_known_minimum() {
        for (slots, epsilon, s, error) in [
            (4, 0.9975, 0.507123, 2.2473),
            (6, 0.95, 0.442520, 1.8788),
            (8, 0.9, 0.431185, 1.7352),
            (12, 0.9, 0.410204, 1.5516),
        ] {
            let shape = Shape { slots, epochs: 1, epsilon, delta: 0.2e-8, moved: Moved::One };
            let rates = shape.rates().unwrap();
            assert_close(rates[0], s, 0.02);
            assert_close(variance(&rates).sqrt(), error, 1e-3);
        }
    }
}
