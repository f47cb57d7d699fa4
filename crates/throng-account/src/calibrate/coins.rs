//! Calibration of true messages among coins.

use super::{PRECISION, cannot};
use crate::kernel::solve::{smallest_doubled, smallest_safe};
use crate::profile::AdditiveNoise;
use crate::{Crowd, Delta, Epsilon, Error, Probability, Profile, Threshold};

/// The fewest slots, and in them the fewest coins, for `coin-count`.
///
/// ```
/// use throng_account::calibrate::coin_count;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // 85 fair coins among a thousand users hide one bit.
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let count = coin_count(Crowd::new(1_000)?, epsilon, delta)?;
/// assert_eq!(count.slots(), 1);
/// assert!((1_000.0 * count.chance().probability() - 84.87).abs() < 0.01);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn coin_count(crowd: Crowd, epsilon: Epsilon, delta: Delta) -> Result<AdditiveNoise, Error> {
    additive_histogram(crowd, 2, epsilon, delta)
}

/// The fewest slots, and in them the fewest drawn categories, for `additive-histogram`.
///
/// ```
/// use throng_account::calibrate::{additive_histogram, coin_count};
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // Two of four categories get half of what is drawn: twice as much has to be.
/// let (crowd, epsilon, delta) = (Crowd::new(1_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let four = additive_histogram(crowd, 4, epsilon, delta)?.chance();
/// let bit = coin_count(crowd, epsilon, delta)?.chance();
/// assert!((four.probability() / bit.probability() - 2.0).abs() < 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn additive_histogram(
    crowd: Crowd,
    categories: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<AdditiveNoise, Error> {
    let at = |slots: u64, chance: f64| {
        let coin = Threshold::at_least(Probability::new("chance", chance)?);
        AdditiveNoise::new(crowd, slots, coin, categories)
    };
    let safe = |slots: u64, chance: f64| {
        at(slots, chance).map(|noise| noise.delta(epsilon).upper <= delta.get())
    };
    // δ falls with the slots and with the chance: first the slots, all of them full, then the
    // chance.
    let full = 1.0 - f64::EPSILON / 2.0;
    let Some(slots) = smallest_doubled(1, MAX_SLOTS, u64::MAX, |slots| safe(slots, full))? else {
        return Err(cannot("slots", epsilon, delta, Some(at(MAX_SLOTS, full)?)));
    };
    let chance = smallest_safe(1e-18, full, PRECISION, |p| safe(slots, p).unwrap_or(false));
    at(slots, chance)
}

/// The most slots of one user.
const MAX_SLOTS: u64 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    fn promise(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
        (Epsilon::at(epsilon), Delta::new(delta).unwrap())
    }

    #[test]
    fn coins_lie_where_an_independent_program_puts_them() {
        for (n, epsilon, coins, slots) in [
            (1_000_000, 1.0, 124.186, 1),
            (1_000_000, 0.5, 407.740, 1),
            (1_000_000, 0.1, 8457.04, 1),
            (1_000, 1.0, 123.288, 1),
            (1_000, 0.5, 404.967, 1),
            (10_000, 0.1, 8454.50, 1),
            (1_000, 0.1, 8454.05, 9),
        ] {
            let (eps, delta) = promise(epsilon, 1e-8);
            let found = coin_count(Crowd::new(n).unwrap(), eps, delta).unwrap();
            let thrown = n as f64 * found.slots() as f64 * found.chance().probability();
            // The finite-crowd numbers of the last two are for twice the slots.
            assert_close(thrown, coins, if n <= 10_000 && epsilon == 0.1 { 1e-3 } else { 2e-5 });
            assert_eq!(found.slots(), slots);
            assert!(found.delta(eps).upper <= delta.get());
        }
    }

    #[test]
    fn drawn_categories_lie_where_an_independent_program_puts_them() {
        for (n, categories, epsilon, slots, chance, error) in [
            (1_000_000, 1024, 1.0, 1, 0.063583, 7.880),
            (1_000_000, 1024, 0.5, 1, 0.208762, 14.278),
            (1_000_000, 1024, 0.1, 5, 0.866000, 65.03),
            (10_000, 10, 1.0, 1, 0.062048, 7.877),
            (100_000, 10, 0.1, 1, 0.422827, 65.03),
        ] {
            let (eps, delta) = promise(epsilon, 1e-8);
            let found = additive_histogram(Crowd::new(n).unwrap(), categories, eps, delta).unwrap();
            assert_eq!(found.slots(), slots);
            assert_close(found.chance().probability(), chance, 2e-5);
            // The printed errors leave out the factor 1 − p/k of the variance.
            let share = found.chance().probability() / categories as f64;
            let drawn = n as f64 * slots as f64 * share * (1.0 - share);
            assert_close(drawn.sqrt() / (1.0 - share).sqrt(), error, 2e-4);
            assert!(found.delta(eps).upper <= delta.get());
        }
    }

    #[test]
    fn an_impossible_promise_is_refused() {
        let (eps, delta) = promise(1e-9, 1e-15);
        let refused = coin_count(Crowd::new(2).unwrap(), eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
    }
}
