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

/// The numbers of holders among `n` users that `support` reports do not rule out, when a report
/// supports with probability `held` if its user is a holder and `other < held` if not: each end is
/// wrong with probability at most `failure`, whatever the truth.
///
/// ```text
/// C = Bin(m, held) + Bin(n − m, other)
/// lower = min { m : P[C ≥ support] > failure },   upper = max { m : P[C ≤ support] > failure }
/// ```
///
/// Clopper and Pearson's construction for this law, which grows with m. 0 or n where every m is
/// ruled out from the other side.
///
/// ```
/// use throng_account::Delta;
/// use throng_account::tail::holders_band;
///
/// // Of ten reports two support it. Without a holder that many do with probability 0.086,
/// // and with five holders that few with 0.007.
/// assert_eq!(holders_band(2, 10, 0.9, 0.05, Delta::new(0.025)?), (0, 4));
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn holders_band(support: u64, n: u64, held: f64, other: f64, failure: Delta) -> (u64, u64) {
    let support = support.min(n);
    let most = |support: u64, held: f64, other: f64| {
        // P[C ≤ support] falls with m; keep the last m at which it is above `failure`.
        let (mut kept, mut out) = (0, n + 1);
        while out - kept > 1 {
            let m = kept + (out - kept) / 2;
            let likely = two_binomials(support, m, n, held, other) > failure.get();
            (kept, out) = if likely { (m, out) } else { (kept, m) };
        }
        kept
    };
    // P[C ≥ support | m holders] is P[n − C ≤ n − support], where n − m "hold" with 1 − other.
    let lower = n - most(n - support, 1.0 - other, 1.0 - held);
    (lower, most(support, held, other))
}

/// `P[Bin(m, held) + Bin(n − m, other) ≤ support]`, up to masses too small to matter.
fn two_binomials(support: u64, m: u64, n: u64, held: f64, other: f64) -> f64 {
    let (first, masses) = Binomial::new(m, held).masses(NEGLIGIBLE);
    let (start, rest) = Binomial::new(n - m, other).masses(NEGLIGIBLE);
    let mut sums = rest;
    for place in 1..sums.len() {
        sums[place] += sums[place - 1];
    }
    let below = |j: u64| match support.checked_sub(j + start) {
        Some(room) => sums[(room as usize).min(sums.len() - 1)],
        None => 0.0,
    };
    (first..).zip(&masses).map(|(j, mass)| mass * below(j)).sum()
}

/// The mass of a single place that no tail depends on.
const NEGLIGIBLE: f64 = 1e-17;

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
