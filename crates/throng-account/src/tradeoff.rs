//! Trade-off functions: the errors of the best test that tells one user's two values apart.
//!
//! `f(α)` is the least type II error of a test whose type I error is α; `α + f(α) = 1` is perfect
//! privacy. The exact function of `bit-sum` is the lower envelope, over all datasets and both
//! orders, of piecewise linear functions with break points `(P[K ≥ j], P'[K < j])`.
//!
//! | symbol | meaning |
//! |---|---|
//! | K | the number of ones among the reports |
//! | P, P' | its law when the user holds 0, or 1 |
//! | z(p) | the upper normal quantile |

use crate::error::require;
use crate::kernel::binomial::Binomial;
use crate::kernel::special::{lower_normal_quantile, normal_cdf};
use crate::profile::BitSum;
use crate::round;
use crate::{Error, Profile};

/// The exact trade-off function of `bit-sum`, for crowds of up to 1 000.
///
/// ```
/// use throng_account::profile::BitSum;
/// use throng_account::tradeoff::TradeOff;
/// use throng_account::Crowd;
///
/// // Ten users, one bit in ten flipped. A test that is wrong about half of the zeros is wrong
/// // about 14 % of the ones.
/// let curve = TradeOff::new(&BitSum::new(Crowd::new(10)?, 2.0)?)?;
/// assert!((curve.beta(0.5)? - 0.13875).abs() < 1e-5);
/// assert!((curve.mu() - 1.37658).abs() < 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TradeOff {
    /// Tails of the two laws, dataset by dataset.
    datasets: Vec<(Tails, Tails)>,
    pure: f64,
}

impl TradeOff {
    /// Enumerates all datasets. Beyond 1 000 users ask for δ(ε) instead, which needs none.
    pub fn new(protocol: &BitSum) -> Result<Self, Error> {
        let (n, f) = (protocol.single()?.crowd().get(), protocol.flip());
        let range = "at most 1000 for an exact trade-off function";
        require(n <= 1_000, "n", n as f64, range)?;
        let laws = |p: f64| -> Vec<Vec<f64>> { (0..n).map(|t| pmf(t, p)).collect() };
        let (ones, zeros) = (laws(1.0 - f), laws(f));
        let dataset = |t: usize| {
            let others = convolve(&ones[t], &zeros[n as usize - 1 - t]);
            let tails = |own: [f64; 2]| Tails::of(&convolve(&others, &own));
            (tails([1.0 - f, f]), tails([f, 1.0 - f]))
        };
        let pure = protocol.pure().map_or(f64::INFINITY, crate::Epsilon::get);
        Ok(Self { datasets: (0..n as usize).map(dataset).collect(), pure })
    }

    /// `f(α)`: exact to rounding, rounded down.
    pub fn beta(&self, alpha: f64) -> Result<f64, Error> {
        require((0.0..=1.0).contains(&alpha), "alpha", alpha, "from 0 to 1")?;
        // Both orders: a curve and its inverse.
        let least = self.datasets.iter().map(|(without, with)| {
            let break_points = (0..with.lower.len()).map(|j| (without.upper[j], with.lower[j]));
            let mut curve: Vec<(f64, f64)> = break_points.collect();
            let flipped: Vec<_> = curve.iter().map(|&(a, b)| (b, a)).collect();
            curve.reverse();
            interpolate(&curve, alpha).min(interpolate(&flipped, alpha))
        });
        Ok(round::down(least.fold(1.0, f64::min)))
    }

    /// The smallest μ for which the protocol is μ-GDP (Dong, Roth, Su, "Gaussian Differential
    /// Privacy", 2019), rounded up.
    ///
    /// ```text
    /// μ* = max over datasets and j of  z(P[K ≥ j]) − z(P'[K ≥ j])
    /// ```
    ///
    /// Exact, since the epigraph of a Gaussian trade-off function is convex and only break points
    /// need checking. It is decided by the rarest outcomes and grows with n at fixed λ: report δ(ε)
    /// or compose the profile instead.
    pub fn mu(&self) -> f64 {
        let mut mu = 0.0_f64;
        for (without, with) in &self.datasets {
            for j in 1..with.lower.len() - 1 {
                mu = mu.max(match (without.quantile(j), with.quantile(j)) {
                    (Some(a), Some(b)) => a - b,
                    // −ln of a tail grows at least by z per unit of z, so tails this small whose
                    // logarithms differ by ε₀ at most have quantiles no further apart than this.
                    _ => self.pure / FAR,
                });
            }
        }
        round::up(mu)
    }
}

/// `δ(ε)` of μ-GDP: `Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2)` (Dong et al., Corollary 2.13).
///
/// For `μ > 0`; exact to rounding, rounded up.
///
/// ```
/// use throng_account::tradeoff::gaussian_delta;
///
/// // At ε = 0 the total variation: 2Φ(½) − 1.
/// assert!((gaussian_delta(1.0, 0.0) - 0.382925).abs() < 1e-6);
/// assert!((gaussian_delta(1.0, 1.0) - 0.126937).abs() < 1e-6);
/// ```
pub fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    let first = normal_cdf(-epsilon / mu + 0.5 * mu);
    let second = (epsilon + crate::kernel::special::ln_normal_cdf(-epsilon / mu - 0.5 * mu)).exp();
    // The difference cancels, the more the smaller μ; each term is good to an ulp times (ε/μ)².
    let z = epsilon / mu;
    round::up((first - second).max(0.0) + 2e-15 * (2.0 + z * z) * first)
}

/// `G_μ(α) = Φ(Φ⁻¹(1 − α) − μ)`, the trade-off function of μ-GDP.
///
/// ```
/// use throng_account::tradeoff::gaussian_beta;
///
/// // Nothing is learned at μ = 0; at μ = 1 a test of level 5 % misses 74 %.
/// assert!((gaussian_beta(0.0, 0.05) - 0.95).abs() < 1e-12);
/// assert!((gaussian_beta(1.0, 0.05) - 0.740489).abs() < 1e-6);
/// ```
pub fn gaussian_beta(mu: f64, alpha: f64) -> f64 {
    if alpha <= 0.0 || alpha >= 1.0 {
        return 1.0 - alpha.clamp(0.0, 1.0);
    }
    let z = if alpha < 0.5 {
        -lower_normal_quantile(alpha.ln())
    } else {
        lower_normal_quantile((1.0 - alpha).ln())
    };
    normal_cdf(z - mu)
}

/// The type II error that (ε, δ)-DP leaves to every test of type I error α.
///
/// ```text
/// max(0, 1 − δ − e^ε·α, e^−ε·(1 − δ − α))
/// ```
///
/// Lower bound, exact for the worst mechanism. Wasserman, Zhou (2010); Dong et al., Prop. 2.5.
///
/// ```
/// use throng_account::tradeoff::least_beta;
///
/// // With ε = 0 and δ = 0 a test does no better than a guess.
/// assert_eq!(least_beta(0.0, 0.0, 0.25), 0.75);
/// // ε = ln 3: a test of level ¼ misses a quarter.
/// assert!((least_beta(3_f64.ln(), 0.0, 0.25) - 0.25).abs() < 1e-12);
/// ```
pub fn least_beta(epsilon: f64, delta: f64, alpha: f64) -> f64 {
    let (steep, flat) =
        (1.0 - delta - epsilon.exp() * alpha, (-epsilon).exp() * (1.0 - delta - alpha));
    steep.max(flat).max(0.0)
}

/// Both tails at every cut, each a sum of positive terms from its own end.
#[derive(Debug, Clone)]
struct Tails {
    /// `P[K < j]`.
    lower: Vec<f64>,
    /// `P[K ≥ j]`.
    upper: Vec<f64>,
}

impl Tails {
    fn of(pmf: &[f64]) -> Self {
        let (mut lower, mut upper) = (vec![0.0; pmf.len() + 1], vec![0.0; pmf.len() + 1]);
        for j in 0..pmf.len() {
            lower[j + 1] = lower[j] + pmf[j];
        }
        for j in (0..pmf.len()).rev() {
            upper[j] = upper[j + 1] + pmf[j];
        }
        Self { lower, upper }
    }

    /// `z(P[K ≥ j])`, from the smaller tail; `None` where that is too small for a float.
    fn quantile(&self, j: usize) -> Option<f64> {
        let small = self.upper[j].min(self.lower[j]);
        let z = (small > SMALLEST).then(|| lower_normal_quantile(small.ln()))?;
        Some(if self.upper[j] < self.lower[j] { -z } else { z })
    }
}

fn pmf(trials: u64, p: f64) -> Vec<f64> {
    let law = Binomial::new(trials, p);
    (0..=trials).map(|k| law.pmf(k)).collect()
}

fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            sum[i + j] += x * y;
        }
    }
    sum
}

fn interpolate(curve: &[(f64, f64)], alpha: f64) -> f64 {
    let after = curve.partition_point(|point| point.0 < alpha).min(curve.len() - 1);
    let ((a0, b0), (a1, b1)) = (curve[after.saturating_sub(1)], curve[after]);
    if a1 <= a0 { b1.min(b0) } else { b0 + (b1 - b0) * ((alpha - a0) / (a1 - a0)).clamp(0.0, 1.0) }
}

/// The smallest tail that is taken for what it is.
const SMALLEST: f64 = 1e-290;
/// A point below the upper quantile of √`SMALLEST`, so that both of two tails, one of them that
/// small and not more than a factor 1/√`SMALLEST` apart, lie beyond it.
const FAR: f64 = 25.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Crowd;
    use crate::testing::{assert_close, vectors};

    fn trade_off(n: u64, lambda: f64) -> TradeOff {
        TradeOff::new(&BitSum::new(Crowd::new(n).unwrap(), lambda).unwrap()).unwrap()
    }

    #[test]
    fn the_envelope_agrees_with_enumeration() {
        for row in vectors("tradeoff.json") {
            let found = trade_off(row.u64("n"), row.f64("lambda")).beta(row.f64("alpha")).unwrap();
            let beta = row.f64("beta");
            assert!(found <= beta && beta - found <= 2e-9 * beta + 1e-15, "{row:?}: {found}");
        }
    }

    #[test]
    fn the_gaussian_parameter_agrees_with_enumeration() {
        for row in vectors("mu_star.json") {
            let (found, mu) = (trade_off(row.u64("n"), row.f64("lambda")).mu(), row.f64("mu"));
            assert!(found >= mu && found <= mu * (1.0 + 2e-9), "{row:?}: {found}");
        }
    }

    // Chen and Long's Theorem 2 states a curve that the protocol does not keep: with everyone
    // holding a one, "some report is a zero" is a better test than the curve allows.
    #[test]
    fn a_published_curve_lies_above_the_truth() {
        let alpha = 1.0 - 0.9_f64.powi(10);
        let published = crate::published::chen_long_curve(10, 2.0, alpha).unwrap();
        assert_close(published, 0.0701908264, 1e-8);
        let truth = trade_off(10, 2.0).beta(alpha).unwrap();
        assert!(truth <= 0.038_742_048_91 && truth < published);
    }

    #[test]
    fn gaussian_profiles_agree_with_published_values() {
        for (epsilon, delta) in [
            (0.0, 0.3829249225480),
            (0.5, 0.2384217081349),
            (1.0, 0.1269367375066),
            (2.0, 0.0209236358211),
        ] {
            assert_close(gaussian_delta(1.0, epsilon), delta, 2e-9);
        }
        assert_close(gaussian_beta(0.111388, 0.05), 0.93742, 1e-5);
        assert_close(gaussian_beta(0.111388, 0.8), 0.17029, 1e-4);
    }
}
