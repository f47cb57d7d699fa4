//! Calibration: the least noise that keeps a promise, on integers a sampler can use.
//!
//! Every answer has been accounted for again at the very parameter returned, so it is safe even
//! where privacy is not monotone in the parameter (`two-message-count`). The search tolerance is a
//! millionth of the parameter, or a ten-thousandth for `bit-sum` and `real-sum` above ten million
//! users. A mechanism that carries its own integer weights is returned as it is; with others comes
//! the coin that their sampler throws.
//!
//! ```
//! use throng_account::{Crowd, Delta, Epsilon, Profile, calibrate};
//!
//! let (crowd, epsilon, delta) = (Crowd::new(1_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
//! let noise = calibrate::coin_count(crowd, epsilon, delta)?;
//! assert!(noise.delta(epsilon).upper <= delta.get());
//! # Ok::<(), throng_account::Error>(())
//! ```

mod bag;
mod burst;
mod coins;
mod remedy;
mod sliced;

pub use bag::{bit_sum, columns, real_sum};
pub use burst::{burst_count, burst_histogram, least_burst_error};
pub use coins::{additive_histogram, coin_count};
pub use remedy::{Remedy, remedy};
pub use sliced::sliced_sum;

use crate::error::require;
use crate::kernel::solve::{smallest_doubled, smallest_safe};
use crate::profile::{Blanket, ClonePair, LaplaceBlanket, TwoMessageCount};
use crate::round;
use crate::{Crowd, Delta, Epsilon, Error, Probability, Profile, Threshold};

/// A mechanism that keeps `(ε, δ)`, with the coin its sampler throws.
///
/// ```
/// use throng_account::{Crowd, Delta, Epsilon, calibrate};
///
/// let (crowd, epsilon, delta) = (Crowd::new(100)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let found = calibrate::bit_sum(crowd, epsilon, delta)?;
/// // The mechanism is that of the coin, to the last digit, and keeps the promise by a hair.
/// assert_eq!(found.mechanism.flip(), found.coin.probability());
/// assert!(found.delta <= 1e-6 && found.delta > 0.99e-6);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration<M> {
    /// The mechanism, at exactly the probability of the coin.
    pub mechanism: M,
    /// The coin.
    pub coin: Threshold,
    /// δ at the ε asked for, rounded up.
    pub delta: f64,
}

/// The least p, up to ½, for `two-message-count`. The coin sends the extra 1.
///
/// ```
/// use throng_account::calibrate::two_message_count;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let found = two_message_count(Crowd::new(1_000)?, epsilon, delta)?;
/// // 34 extra ones among a thousand users: √(np(1−p)) = 5.73.
/// assert!((found.mechanism.standard_error() - 5.731).abs() < 0.001);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn two_message_count(
    crowd: Crowd,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Calibration<TwoMessageCount>, Error> {
    let at = |p: f64| {
        let coin = Threshold::at_least(Probability::new("p", p)?);
        let mechanism = TwoMessageCount { crowd, p: coin.probability() };
        Ok::<_, Error>(Calibration { mechanism, coin, delta: mechanism.delta(epsilon).upper })
    };
    let safe = |p: f64| at(p).is_ok_and(|found| found.delta <= delta.get());
    // δ wobbles with p as cuts move over the lattice. Beyond the last crossing found it is safe.
    let most = 0.5;
    if !safe(most) {
        return Err(cannot("p", epsilon, delta, Some(TwoMessageCount { crowd, p: most })));
    }
    at(smallest_safe(1e-15, most, PRECISION, safe))
}

/// The largest ε₀ that a crowd hides down to (ε, δ), for any ε₀-LDP randomizer, rounded down.
///
/// ```
/// use throng_account::calibrate::{crowd, local_epsilon};
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // A thousand users hide ε₀ = 2.3 down to ½.
/// let (epsilon, delta) = (Epsilon::new(0.5)?, Delta::new(1e-6)?);
/// let local = local_epsilon(Crowd::new(1_000)?, epsilon, delta)?;
/// assert!((local.get() - 2.3021).abs() < 1e-4);
/// // And it takes a thousand users for that.
/// assert_eq!(crowd(local, epsilon, delta)?.get(), 1_000);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn local_epsilon(crowd: Crowd, epsilon: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    largest_local(epsilon, |local| {
        ClonePair::strong(crowd, local).is_ok_and(|pair| pair.delta(epsilon).upper <= delta.get())
    })
}

/// The largest ε₀ for k-ary response. The coin replaces the value by a uniform one of the k.
///
/// ```
/// use throng_account::calibrate::{kary_response, local_epsilon};
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// // Of three categories more may be said than by any randomizer: ε₀ = 0.90 instead of 0.80.
/// let (crowd, epsilon, delta) = (Crowd::new(20)?, Epsilon::new(0.5)?, Delta::new(1e-3)?);
/// let found = kary_response(crowd, 3, epsilon, delta)?;
/// let local = found.mechanism.pure().unwrap();
/// assert!((local.get() - 0.9016).abs() < 1e-4);
/// assert!((local_epsilon(crowd, epsilon, delta)?.get() - 0.7979).abs() < 1e-4);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn kary_response(
    crowd: Crowd,
    categories: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Calibration<Blanket>, Error> {
    let at = |local: Epsilon| Blanket::kary_response(crowd, local, categories);
    let mut local = largest_local(epsilon, |local| {
        at(local).is_ok_and(|blanket| blanket.bulk_delta(epsilon) <= delta.get())
    })?;
    let k = categories as f64;
    loop {
        // P[uniform] = k/(e^ε₀ + k − 1), rounded up to a coin, and the ε₀ of that coin.
        let uniform = Probability::new("coin", k / (local.get().exp() + k - 1.0))?;
        let coin = Threshold::at_least(uniform);
        let gamma = coin.probability();
        let mechanism = at(Epsilon::at(round::up((k * (1.0 - gamma) / gamma).ln_1p())))?;
        let found = mechanism.bulk_delta(epsilon);
        if found <= delta.get() {
            return Ok(Calibration { mechanism, coin, delta: found });
        }
        // Rounding crossed the line: step inside it.
        local = Epsilon::at(local.get() * (1.0 - PRECISION));
    }
}

/// The largest ε₀ for Laplace noise on a grid of so many steps, rounded down.
///
/// ```
/// use throng_account::calibrate::{laplace, local_epsilon};
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // A thousand users hide more of it than of any randomizer.
/// let (crowd, epsilon, delta) = (Crowd::new(1_000)?, Epsilon::new(0.5)?, Delta::new(1e-6)?);
/// assert!((laplace(crowd, 100, epsilon, delta)?.get() - 2.617).abs() < 2e-3);
/// assert!((local_epsilon(crowd, epsilon, delta)?.get() - 2.3021).abs() < 1e-3);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn laplace(crowd: Crowd, grid: u64, epsilon: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    largest_local(epsilon, |local| {
        LaplaceBlanket::new(crowd, local, grid)
            .is_ok_and(|blanket| blanket.upper_delta(epsilon) <= delta.get())
    })
}

/// The smallest crowd that hides an ε₀-LDP randomizer down to (ε, δ).
///
/// ```
/// use throng_account::calibrate::crowd;
/// use throng_account::profile::ClonePair;
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// let (local, epsilon, delta) = (Epsilon::new(1.0)?, Epsilon::new(0.1)?, Delta::new(1e-6)?);
/// let needed = crowd(local, epsilon, delta)?;
/// assert_eq!(needed.get(), 2_096);
/// // One fewer do not.
/// let fewer = ClonePair::strong(Crowd::new(2_095)?, local)?;
/// assert!(fewer.delta(epsilon).upper > delta.get());
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn crowd(local: Epsilon, epsilon: Epsilon, delta: Delta) -> Result<Crowd, Error> {
    let pair = |n: u64| ClonePair::strong(Crowd::new(n.min(Crowd::LARGEST.get()))?, local);
    let safe = |n: u64| Ok::<_, Error>(pair(n)?.delta(epsilon).upper <= delta.get());
    match smallest_doubled(1, Crowd::LARGEST.get(), u64::MAX, safe)? {
        Some(least) => Crowd::new(least),
        None => Err(cannot("crowd up to 1e10", epsilon, delta, pair(u64::MAX).ok())),
    }
}

/// The largest ε₀ ≥ ε for which `safe` holds; ε itself always does.
fn largest_local(epsilon: Epsilon, safe: impl Fn(Epsilon) -> bool) -> Result<Epsilon, Error> {
    require(epsilon > Epsilon::ZERO, "epsilon", 0.0, "above 0")?;
    let (mut low, mut high) = (epsilon.get(), 2.0 * epsilon.get());
    while high < MAX_LOCAL && safe(Epsilon::at(high)) {
        (low, high) = (high, 2.0 * high);
    }
    // Searched downward: the reciprocal has its smallest safe value there.
    let inverse = smallest_safe(1.0 / high, 1.0 / low, PRECISION, |x| safe(Epsilon::at(1.0 / x)));
    Ok(Epsilon::at((1.0 / inverse).min(MAX_LOCAL)))
}

/// The refusal of a promise that the `best` mechanism does not keep, nor any other.
fn cannot<M: Profile>(
    parameter: &'static str,
    epsilon: Epsilon,
    delta: Delta,
    best: Option<M>,
) -> Error {
    let best = best.and_then(|mechanism| mechanism.epsilon(delta).ok());
    let best = best.map_or(f64::INFINITY, |guarantee| guarantee.epsilon.get());
    Error::CannotCalibrate { parameter, epsilon: epsilon.get(), delta: delta.get(), best }
}

const PRECISION: f64 = 1e-6;
const MAX_LOCAL: f64 = 200.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    fn promise(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
        (Epsilon::at(epsilon), Delta::new(delta).unwrap())
    }

    #[test]
    fn two_message_noise_lies_where_independent_programs_put_it() {
        for (n, epsilon, delta, np) in [
            (1_000, 0.5, 1e-6, 94.51),
            (1_000, 1.0, 1e-6, 34.00),
            (10_000, 0.1, 1e-6, 1651.8),
            (10_000, 1.0, 1e-9, 57.37),
            (100_000, 0.1, 1e-6, 1426.5),
        ] {
            let (eps, delta) = promise(epsilon, delta);
            let found = two_message_count(Crowd::new(n).unwrap(), eps, delta).unwrap();
            assert_close(found.mechanism.p * n as f64, np, 1e-3);
            assert!(found.mechanism.delta(eps).upper <= delta.get());
        }
        let (eps, delta) = promise(0.25, 1e-9);
        let refused = two_message_count(Crowd::new(1_000).unwrap(), eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
    }

    #[test]
    fn the_largest_local_epsilon_is_just_hidden() {
        let crowd = Crowd::new(10_000).unwrap();
        let (eps, delta) = promise(0.1, 1e-6);
        let local = local_epsilon(crowd, eps, delta).unwrap();
        let delta_at = |x: f64| ClonePair::strong(crowd, Epsilon::at(x)).unwrap().delta(eps);
        assert!(delta_at(local.get()).upper <= delta.get());
        assert!(delta_at(local.get() * 1.00001).lower > delta.get());
        let kary = kary_response(crowd, 10, eps, delta).unwrap();
        assert!(kary.delta <= delta.get() && kary.mechanism.pure().unwrap() > local);
        assert!(kary.mechanism.delta(eps).upper <= delta.get());
    }

    #[test]
    fn the_smallest_crowd_is_the_smallest() {
        let (eps, delta) = promise(0.1, 1e-6);
        let local = Epsilon::at(1.0);
        let found = crowd(local, eps, delta).unwrap().get();
        let safe = |n| {
            let pair = ClonePair::strong(Crowd::new(n).unwrap(), local).unwrap();
            pair.delta(eps).upper <= delta.get()
        };
        assert!(safe(found) && !safe(found - 1), "{found}");
    }
}
