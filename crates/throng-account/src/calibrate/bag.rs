//! Calibration of flipped bits: in one bag, and in columns.

use super::{Calibration, PRECISION, cannot};
use crate::kernel::solve::smallest_safe;
use crate::profile::{BitSum, Columns};
use crate::{Crowd, Delta, Epsilon, Error, Probability, Profile, Threshold};

/// The least λ for `bit-sum`. The coin flips a bit.
///
/// ```
/// use throng_account::calibrate::bit_sum;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // Among a thousand one bit in 33 is flipped; the count is then good to ±5.8.
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let found = bit_sum(Crowd::new(1_000)?, epsilon, delta)?;
/// assert!((found.mechanism.lambda() - 61.48).abs() < 0.01);
/// assert!((found.mechanism.standard_error() - 5.816).abs() < 0.001);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn bit_sum(crowd: Crowd, epsilon: Epsilon, delta: Delta) -> Result<Calibration<BitSum>, Error> {
    real_sum(crowd, 1, epsilon, delta)
}

/// The least λ for `real-sum` with `bits` bits per user. The coin flips a bit.
///
/// ```
/// use throng_account::calibrate::{bit_sum, real_sum};
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // With one bit per user it is `bit_sum`. Four bits share a bag, and each needs more noise.
/// let (crowd, epsilon, delta) = (Crowd::new(100)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let one = real_sum(crowd, 1, epsilon, delta)?;
/// assert_eq!(one.coin, bit_sum(crowd, epsilon, delta)?.coin);
/// assert!(real_sum(crowd, 4, epsilon, delta)?.coin > one.coin);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn real_sum(
    crowd: Crowd,
    bits: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Calibration<BitSum>, Error> {
    let at = |flip: f64| BitSum::with_flip(crowd, flip)?.with_bits(bits);
    let explicit = |sum: &BitSum| sum.bag().all_ones(epsilon.get()).upper;
    let full = |sum: &BitSum| sum.delta(epsilon).upper;
    // In large crowds every δ takes a tenth of a second, and a ten-thousandth is nothing.
    let precision = if crowd.get() > 10_000_000 { 1e-4 } else { PRECISION };
    least_flip(at, explicit, full, (1.0 + 1e-4, 10.0, precision), epsilon, delta)
}

/// The least λ for columns of which `changing` change together. The coin flips a bit.
///
/// ```
/// use throng_account::calibrate::{bit_sum, columns};
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // One column is a `bit_sum`.
/// let (crowd, epsilon, delta) = (Crowd::new(100)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let (one, bit) = (columns(crowd, 1, epsilon, delta)?, bit_sum(crowd, epsilon, delta)?);
/// let ratio = one.coin.probability() / bit.coin.probability();
/// assert!((ratio - 1.0).abs() < 1e-4);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn columns(
    crowd: Crowd,
    changing: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Calibration<Columns>, Error> {
    let at = |flip: f64| Columns::new(BitSum::with_flip(crowd, flip)?, changing);
    let explicit = |columns: &Columns| columns.bag().all_ones(epsilon.get()).lower;
    let full = |columns: &Columns| columns.bulk_delta(epsilon);
    least_flip(at, explicit, full, (1.01, 3.0, 10.0 * PRECISION), epsilon, delta)
}

/// The mechanism with the least flip probability. Its δ on an `explicit` dataset, which costs
/// microseconds, brackets it from below; steps of a `growth` find the end above; the `full` δ,
/// which falls with the flip probability, decides.
fn least_flip<M: Profile>(
    at: impl Fn(f64) -> Result<M, Error>,
    explicit: impl Fn(&M) -> f64,
    full: impl Fn(&M) -> f64,
    (first, growth, tolerance): (f64, f64, f64),
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Calibration<M>, Error> {
    let keeps = |found: &dyn Fn(&M) -> f64, flip: f64| {
        at(flip).is_ok_and(|mechanism| found(&mechanism) <= delta.get())
    };
    let safe = |flip: f64| keeps(&full, flip);
    let most = at(MOST)?;
    if !safe(MOST) {
        return Err(cannot("lambda", epsilon, delta, Some(most)));
    }
    let floor = smallest_safe(1e-12, MOST, PRECISION, |flip| keeps(&explicit, flip));
    let mut ceiling = (floor * first).min(MOST);
    while !safe(ceiling) {
        ceiling = (ceiling + growth * (ceiling - floor)).min(MOST);
    }
    let mut flip = smallest_safe(floor * (1.0 - PRECISION), ceiling, tolerance, safe);
    loop {
        let coin = Threshold::at_least(Probability::new("flip probability", flip)?);
        let mechanism = at(coin.probability())?;
        let found = mechanism.delta(epsilon).upper;
        if found <= delta.get() {
            return Ok(Calibration { mechanism, coin, delta: found });
        }
        // Rounding to a coin moved δ over the line.
        flip = (flip * (1.0 + PRECISION)).min(MOST);
    }
}

/// Just below ½ there is nothing left of the data, nor of its use.
const MOST: f64 = 0.5 * (1.0 - 1e-9);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    fn promise(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
        (Epsilon::at(epsilon), Delta::new(delta).unwrap())
    }

    // λ from datasets t ≤ 10 (lower) to a coarser certificate (upper).
    #[test]
    fn lambda_lies_where_independent_programs_put_it() {
        for (n, epsilon, delta, low, high) in [
            (1_000, 0.5, 1e-6, 142.24, 142.43),
            (1_000, 1.0, 1e-6, 61.48, 61.60),
            (10_000, 0.1, 1e-6, 2002.2, 2007.5),
            (10_000, 1.0, 1e-6, 67.43, 67.69),
            (10_000, 1.0, 1e-9, 112.8, 113.3),
            (1_000_000, 1.0, 1e-6, 68.12, 68.2),
        ] {
            let (eps, delta) = promise(epsilon, delta);
            let crowd = Crowd::new(n).unwrap();
            let found = bit_sum(crowd, eps, delta).unwrap();
            let lambda = found.mechanism.lambda();
            assert!(lambda > low - 0.05 && lambda < high + 0.05, "n = {n}: {lambda}");
            // The mechanism returned keeps the promise; a little less noise would not.
            assert!(found.mechanism.delta(eps).upper <= delta.get());
            assert_eq!(found.mechanism.flip(), found.coin.probability());
            let less = BitSum::new(crowd, lambda * (1.0 - 1e-5)).unwrap();
            assert!(less.delta(eps).lower > delta.get());
        }
    }

    #[test]
    fn real_sum_needs_the_noise_of_one_bag() {
        let (eps, delta) = promise(1.0, 1e-6);
        let found = real_sum(Crowd::new(10_000).unwrap(), 100, eps, delta).unwrap();
        assert_close(2e4 * found.mechanism.flip(), 2372.2, 1e-3);
        assert!(found.mechanism.delta(eps).upper <= delta.get());
    }

    #[test]
    fn columns_keep_their_promise_with_little_to_spare() {
        for (n, changing, epsilon, less) in [
            (1_000, 2, 2.0, 0.9),
            (10_000, 2, 1.0, 0.98),
            (1_000_000, 2, 1.0, 0.98),
            (100_000, 20, 1.0, 0.98),
        ] {
            let (eps, delta) = promise(epsilon, 1e-6);
            let crowd = Crowd::new(n).unwrap();
            let found = columns(crowd, changing, eps, delta).unwrap();
            assert!(found.mechanism.delta(eps).upper <= delta.get());
            assert_eq!(found.mechanism.bag().flip, found.coin.probability());
            // A little less noise provably breaks it.
            let less = BitSum::with_flip(crowd, less * found.coin.probability()).unwrap();
            assert!(Columns::new(less, changing).unwrap().delta(eps).lower > delta.get());
        }
    }

    #[test]
    fn an_impossible_promise_is_refused_with_the_best_there_is() {
        let (eps, delta) = promise(1e-12, 1e-15);
        let refused = bit_sum(Crowd::new(2).unwrap(), eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
        let refused = columns(Crowd::new(2).unwrap(), 2, eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
    }
}
