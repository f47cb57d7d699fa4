//! Calibration of true messages among coins.

use super::{Fitted, PRECISION, cannot};
use crate::kernel::solve::smallest_safe;
use crate::profile::{AdditiveHistogram, CoinCount};
use crate::{Crowd, Delta, Epsilon, Error, Probability, Profile, Threshold};

/// The fewest slots, and in them the fewest coins, for `coin-count`.
///
/// ```
/// use throng_account::calibrate::coin_count;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // 85 fair coins among a thousand users hide one bit: √85/2 = 4.6.
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let count = coin_count(Crowd::new(1_000)?, epsilon, delta)?.mechanism;
/// assert_eq!(count.slots(), 1);
/// assert!((1_000.0 * count.chance().probability() - 84.87).abs() < 0.01);
/// assert!((count.standard_error() - 4.606).abs() < 0.001);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn coin_count(
    crowd: Crowd,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Fitted<CoinCount>, Error> {
    fit(epsilon, delta, |slots, chance| CoinCount::new(crowd, slots, chance))
}

/// The fewest slots, and in them the fewest drawn categories, for `additive-histogram`.
///
/// ```
/// use throng_account::calibrate::{additive_histogram, coin_count};
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // Two of four categories get half of what is drawn: twice as much has to be.
/// let (crowd, epsilon, delta) = (Crowd::new(1_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let four = additive_histogram(crowd, 4, epsilon, delta)?.mechanism.chance();
/// let bit = coin_count(crowd, epsilon, delta)?.mechanism.chance();
/// assert!((four.probability() / bit.probability() - 2.0).abs() < 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn additive_histogram(
    crowd: Crowd,
    categories: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Fitted<AdditiveHistogram>, Error> {
    fit(epsilon, delta, |slots, chance| AdditiveHistogram::new(crowd, slots, chance, categories))
}

/// δ falls with the slots and with the chance: first the slots, all of them full, then the chance.
fn fit<M: Profile>(
    epsilon: Epsilon,
    delta: Delta,
    at: impl Fn(u64, Threshold) -> Result<M, Error>,
) -> Result<Fitted<M>, Error> {
    let coin = |chance: f64| Probability::new("chance", chance).map(Threshold::at_least);
    let found = |slots: u64, chance: f64| -> Result<(M, f64), Error> {
        let mechanism = at(slots, coin(chance)?)?;
        let found = mechanism.delta(epsilon).upper;
        Ok((mechanism, found))
    };
    let safe = |slots: u64, chance: f64| Ok(found(slots, chance)?.1 <= delta.get());
    let full = 1.0 - f64::EPSILON / 2.0;
    let mut high = 1;
    while !safe(high, full)? {
        if high >= MAX_SLOTS {
            let best = at(high, coin(full)?)?.epsilon(delta);
            let best = best.map_or(f64::INFINITY, |guarantee| guarantee.epsilon.get());
            return Err(cannot("slots", epsilon, delta, best));
        }
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if safe(middle, full)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    let chance = smallest_safe(1e-18, full, PRECISION, |p| safe(high, p).unwrap_or(false));
    let (mechanism, delta) = found(high, chance)?;
    Ok(Fitted { mechanism, delta })
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
            let thrown = 4.0 * found.mechanism.standard_error().powi(2);
            // The finite-crowd numbers of the last two are for twice the slots.
            assert_close(thrown, coins, if n <= 10_000 && epsilon == 0.1 { 1e-3 } else { 2e-5 });
            assert_eq!(found.mechanism.slots(), slots);
            assert!(found.mechanism.delta(eps).upper <= delta.get());
            assert_eq!(found.delta, found.mechanism.delta(eps).upper);
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
            assert_eq!(found.mechanism.slots(), slots);
            assert_close(found.mechanism.chance().probability(), chance, 2e-5);
            // The printed errors leave out the factor 1 − p/k of the variance.
            let share = found.mechanism.chance().probability() / categories as f64;
            assert_close(found.mechanism.standard_error() / (1.0 - share).sqrt(), error, 2e-4);
            assert!(found.mechanism.delta(eps).upper <= delta.get());
        }
    }

    #[test]
    fn an_impossible_promise_is_refused() {
        let (eps, delta) = promise(1e-9, 1e-15);
        let refused = coin_count(Crowd::new(2).unwrap(), eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
    }
}
