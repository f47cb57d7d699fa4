//! Inverting a privacy profile.

/// The smallest ε, to a relative 1e-10, at which `delta_at(ε) ≤ delta`.
///
/// `delta_at` is non-increasing and at most `delta` at `limit`. The returned ε is one at which
/// `delta_at` has been evaluated and found at most `delta`, or `limit` itself: whatever the search
/// does, the answer is on the safe side of what was computed.
///
/// Profiles are close to Gaussian, for which `√ln(1/δ)` is linear in ε, so the search interpolates
/// that (Illinois variant of false position) and needs about eight evaluations.
pub(crate) fn smallest_epsilon(
    delta: f64,
    limit: f64,
    guess: f64,
    mut delta_at: impl FnMut(f64) -> f64,
) -> f64 {
    let target = height(delta);
    let mut gap_at = |epsilon: f64| height(delta_at(epsilon)) - target;
    // Until ε = 0 is looked at it counts as δ = 1, which makes the first slope that of a Gaussian.
    let (mut low, mut low_gap) = (0.0, -target);
    let mut seen = guess <= 0.0;
    let (mut high, mut high_gap) = (limit, None);
    let mut next = guess;
    if guess <= 0.0 {
        low_gap = gap_at(0.0);
        if low_gap >= 0.0 {
            return 0.0;
        }
        // The Gaussian profile with this δ(0) = μ/√(2π).
        let variation = (-(low_gap + target).powi(2)).exp();
        next = 2.5 * variation * std::f64::consts::SQRT_2 * target;
    }
    next = next.min(0.9 * limit);
    let (mut lean, mut stride) = (0.0, 0.0_f64);
    for round in 0..200 {
        let gap = gap_at(next);
        if gap >= 0.0 {
            low_gap *= if lean < 0.0 { 0.5 } else { 1.0 };
            (high, high_gap, lean) = (next, Some(gap), -1.0);
        } else {
            high_gap = high_gap.map(|g| if lean > 0.0 { 0.5 * g } else { g });
            (low, low_gap, lean) = (next, gap, 1.0);
        }
        let margin = TOLERANCE * high;
        if high - low <= margin {
            break;
        }
        next = match high_gap {
            // Interpolation should be done by now: the profile jumps. Halve.
            Some(_) if round > 20 => 0.5 * (low + high),
            // Step a little past the root, so that the other end closes in as well.
            Some(gap) => (low - (high - low) * low_gap / (gap - low_gap) + 0.4 * lean * margin)
                .clamp(low + 0.3 * margin, high - 0.3 * margin),
            // Step as a Gaussian profile would, then twice as far each time.
            None => {
                let gaussian = next * (target / (target + gap) - 1.0).clamp(0.0, 1.0);
                stride = (2.0 * stride).max(gaussian + 0.4 * TOLERANCE * next);
                (next + stride).min(0.5 * (next + limit))
            }
        };
        // The guess was far too large; perhaps even ε = 0 will do.
        if low == 0.0 && !seen && next < 0.5 * high {
            seen = true;
            low_gap = gap_at(0.0);
            if low_gap >= 0.0 {
                return 0.0;
            }
        }
    }
    // All that was looked at would do, and ε = 0 was not: then it may do as well.
    if low == 0.0 && !seen && gap_at(0.0) >= 0.0 {
        return 0.0;
    }
    high
}

/// The smallest value in `(low, high]`, to a relative `tolerance`, for which `safe` holds, given
/// that it holds at `high` and, once it holds, goes on to hold. Any answer but `high` has been
/// tested.
pub(crate) fn smallest_safe(
    mut low: f64,
    mut high: f64,
    tolerance: f64,
    mut safe: impl FnMut(f64) -> bool,
) -> f64 {
    for _ in 0..200 {
        if high - low <= tolerance * high.abs() {
            break;
        }
        // Halve the exponent while the ends are far apart, the interval when they are close.
        let middle =
            if low > 0.0 && high > 4.0 * low { (low * high).sqrt() } else { 0.5 * (low + high) };
        (low, high) = if safe(middle) { (low, middle) } else { (middle, high) };
    }
    high
}

/// The smallest whole number in `(low, high]`, to one part in `parts`, for which `safe` holds, as
/// in [`smallest_safe`].
pub(crate) fn smallest_whole<E>(
    mut low: u64,
    mut high: u64,
    parts: u64,
    mut safe: impl FnMut(u64) -> Result<bool, E>,
) -> Result<u64, E> {
    while high - low > 1 + high / parts {
        let middle = low + (high - low) / 2;
        (low, high) = if safe(middle)? { (low, middle) } else { (middle, high) };
    }
    Ok(high)
}

/// The smallest whole number, as in [`smallest_whole`], in a range found by doubling from `start`;
/// `None` where `most` and more are not safe.
pub(crate) fn smallest_doubled<E>(
    start: u64,
    most: u64,
    parts: u64,
    mut safe: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let mut high = start;
    while !safe(high)? {
        if high >= most {
            return Ok(None);
        }
        high *= 2;
    }
    smallest_whole(high / 2, high, parts, safe).map(Some)
}

/// The tilt at which the mean of a law with this `largest` value ceases to be `short`, from above.
pub(crate) fn centring_tilt(largest: f64, halvings: u32, short: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0 / largest);
    while short(high) && high * largest < 600.0 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..halvings {
        let middle = 0.5 * (low + high);
        (low, high) = if short(middle) { (middle, high) } else { (low, middle) };
    }
    high
}

/// `√ln(1/δ)`, increasing in ε; values of zero count as very small.
fn height(delta: f64) -> f64 {
    (-delta.clamp(1e-300, 1.0).ln()).sqrt()
}

const TOLERANCE: f64 = 1e-10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_tested_safe_and_tight() {
        // A Gaussian-like profile, a linear one, and one with a jump to zero.
        type Case = (fn(f64) -> f64, f64, f64);
        let profiles: [Case; 4] = [
            (|e| 0.4 * (-50.0 * e * e).exp(), 1e-8, 0.591_69),
            (|e| (0.5 - 0.1 * e).max(0.0), 0.2, 3.0),
            (|e| if e < 1.5 { 0.1 } else { 0.0 }, 0.01, 1.5),
            // Starts just above δ and hardly falls: a Gaussian slope would creep along.
            (|e| 0.0101 * (-0.02 * e).exp(), 0.01, 0.497_52),
        ];
        for (profile, delta, expected) in profiles {
            for guess in [0.0, 1e-3, 0.3, 7.0] {
                let mut calls = 0;
                let found = smallest_epsilon(delta, 8.0, guess, |e| {
                    calls += 1;
                    profile(e)
                });
                assert!(profile(found) <= delta && profile(found * (1.0 - 2e-10)) > delta);
                assert!((found - expected).abs() < 1e-4, "{found}");
                assert!(calls < 60, "{calls} evaluations");
            }
        }
    }

    // Halving towards 0 once ended at 4.6e-139, where 0 would do.
    #[test]
    fn a_profile_that_is_never_above_needs_no_epsilon() {
        for guess in [0.0, 1e-12, 7e-7, 0.5] {
            assert_eq!(smallest_epsilon(1e-7, 1.0, guess, |_| 0.0), 0.0, "{guess}");
            assert_eq!(smallest_epsilon(1e-7, 1e-6, guess, |e| 1e-7 - 0.01 * e), 0.0, "{guess}");
        }
    }

    #[test]
    fn the_smallest_safe_value_is_found_over_many_decades() {
        let found = smallest_safe(1e-300, 1.0, 1e-10, |x| x >= 3.7e-120);
        assert!((3.7e-120..3.700_000_001e-120).contains(&found));
    }
}
