//! Tails of the binomial and the normal law, for estimates and tests.

use crate::kernel::binomial::Binomial;
use crate::kernel::special::lower_normal_quantile;
use crate::round;
use crate::{Band, Delta, Probability};

/// The success probabilities that `successes` of `trials` do not rule out: each end is wrong with
/// probability at most `failure`, whatever the truth.
///
/// ```text
/// lower = sup { p : P[Bin(trials, p) ≥ successes] ≤ failure },   upper the mirror image
/// ```
///
/// Clopper, Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the
/// Binomial" (1934); conservative. Found by bisection on exact tails, the safe end returned.
///
/// ```
/// use throng_account::Delta;
/// use throng_account::tail::success_band;
///
/// // Nobody of a hundred: with 95 % confidence fewer than three in a hundred. 1 − 0.05^(1/100)
/// let band = success_band(0, 100, Delta::new(0.05)?);
/// assert_eq!(band.lower, 0.0);
/// assert!((band.upper - 0.029513).abs() < 1e-6);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn success_band(successes: u64, trials: u64, failure: Delta) -> Band {
    let lower = |hits: u64| {
        // The tail rises with p; keep the end at which it is still small.
        let (mut safe, mut wrong) = (0.0, hits as f64 / trials as f64);
        for _ in 0..60 {
            let middle = 0.5 * (safe + wrong);
            let small = round::up(Binomial::new(trials, middle).upper(hits)) <= failure.get();
            (safe, wrong) = if small { (middle, wrong) } else { (safe, middle) };
        }
        safe
    };
    let successes = successes.min(trials);
    let misses = trials - successes;
    Band {
        lower: if successes == 0 { 0.0 } else { lower(successes) },
        upper: if misses == 0 { 1.0 } else { (1.0 - lower(misses)) * (1.0 + f64::EPSILON) },
    }
}

/// The `z` with `P[|Z| ≤ z] = confidence` for a standard normal Z: how many standard errors an
/// interval reaches to each side.
///
/// ```
/// use throng_account::tail::normal_reach;
/// use throng_account::Probability;
///
/// assert!((normal_reach(Probability::new("confidence", 0.95)?) - 1.959964).abs() < 1e-6);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn normal_reach(confidence: Probability) -> f64 {
    -lower_normal_quantile((0.5 * (1.0 - confidence.get())).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_success_band_is_wrong_as_seldom_as_promised_and_no_more() {
        let failure = Delta::new(0.025).unwrap();
        // Tabulated 95 % limits.
        for (hits, trials, lower, upper) in [
            (0, 10, 0.0, 0.3085),
            (3, 10, 0.0667, 0.6525),
            (10, 10, 0.6915, 1.0),
            (50, 100, 0.3983, 0.6017),
        ] {
            let band = success_band(hits, trials, failure);
            assert!(
                (band.lower - lower).abs() < 5e-5 && (band.upper - upper).abs() < 5e-5,
                "{band:?}"
            );
        }
        // Enumerated: no p is outside its band more often than promised.
        for p in [0.01, 0.2, 0.5, 0.93] {
            let law = Binomial::new(40, p);
            let outside = |side: &dyn Fn(Band) -> bool| -> f64 {
                (0..=40).filter(|&k| side(success_band(k, 40, failure))).map(|k| law.pmf(k)).sum()
            };
            assert!(outside(&|band| band.lower > p) <= 0.025);
            assert!(outside(&|band| band.upper < p) <= 0.025);
        }
    }
}
