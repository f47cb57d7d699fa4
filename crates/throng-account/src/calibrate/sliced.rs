//! Calibration of `sliced-sum`: how many levels, how many coins for each, how many slots.
//!
//! Level j gets coins in proportion to `1/u_j`, `u_j = √(4^j + κ²)`. κ = 0 has the least noise;
//! larger ones save coins on the low levels. A forecast without any accounting chooses levels, κ
//! and slots; then the number of coins is fitted with the accountant, at the integers the sampler
//! will use.

use super::cannot;
use crate::error::require;
use crate::kernel::solve::smallest_safe;
use crate::profile::SlicedSum;
use crate::profile::coins::Coins;
use crate::quantity::TWO_64;
use crate::spend::composed_delta;
use crate::tradeoff::gaussian_delta;
use crate::{Crowd, Delta, Epsilon, Error, Profile};

/// The least error, noise and rounding together, for `sliced-sum` with at most `max_messages`
/// messages per user, with which `epochs` releases together keep the promise. Among settings within
/// a hundredth of the least error, the one with the fewest messages is taken.
///
/// ```
/// use throng_account::calibrate::sliced_sum;
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// let (epsilon, delta) = (Epsilon::new(2.0)?, Delta::new(1e-4)?);
/// let found = sliced_sum(Crowd::new(100)?, 1, epsilon, delta, 4)?;
/// assert!(found.weights().len() as u64 + found.slots() <= 4);
/// assert!(found.delta(epsilon).upper <= 1e-4);
/// // The lowest level gets the most coins: they cost the sum the least.
/// assert!(found.weights().is_sorted_by(|low, high| low >= high));
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn sliced_sum(
    crowd: Crowd,
    epochs: u64,
    epsilon: Epsilon,
    delta: Delta,
    max_messages: u64,
) -> Result<SlicedSum, Error> {
    require(max_messages >= 2, "messages", max_messages as f64, "2 or more")?;
    // Below, the coins of a crowd number billions, and accounting for them takes minutes.
    require(epsilon.get() >= 0.01, "epsilon", epsilon.get(), "0.01 or more")?;
    let promise = Promise { crowd, epochs: epochs.max(1), epsilon, delta };
    // The coins that one level alone would need; several need about as much in all.
    let single = |rate: f64| promise.one_level(rate) <= delta.get();
    let coins =
        if single(MAX_COINS) { smallest_safe(1e-3, MAX_COINS, 1e-3, single) } else { MAX_COINS };
    let mut plans = forecasts(&promise, coins, max_messages);
    let mut tries = 0;
    while let Some(plan) = best(&plans).filter(|_| epochs <= 1 || tries < TRIES) {
        tries += 1;
        let Some((fitted, scale)) = plan.fit(&promise) else {
            // One level alone does not pay for a finite crowd, so it comes last.
            let any = epochs <= 1 || tries + 1 < TRIES;
            plans.retain(|other| *other != plan && (any || other.shape.len() == 1));
            continue;
        };
        // With what was needed here, another plan may look better, and is tried once.
        let again = best(&forecasts(&promise, coins * scale / plan.scale, max_messages));
        let again = again.filter(|other| other.shape != plan.shape || other.slots != plan.slots);
        let other = again.and_then(|other| other.fit(&promise));
        let better = other.filter(|(other, _)| other.standard_error() < fitted.standard_error());
        return Ok(better.map_or(fitted, |(better, _)| better));
    }
    let full = SlicedSum::new(crowd, max_messages - 1, vec![u64::MAX])?;
    Err(cannot("weights", epsilon, delta, Some(full)))
}

/// The promise to keep, and the crowd it is made to.
struct Promise {
    crowd: Crowd,
    epochs: u64,
    epsilon: Epsilon,
    delta: Delta,
}

impl Promise {
    /// About δ of all epochs with one level of so many coins.
    fn one_level(&self, rate: f64) -> f64 {
        match self.epochs {
            1 => Coins::Poisson { rate }.delta(self.epsilon).upper,
            // Many coins are Gaussian noise.
            epochs => gaussian_delta(2.0 * (epochs as f64 / rate).sqrt(), self.epsilon.get()),
        }
    }

    /// What to expect of so many coins in this shape.
    fn forecast(&self, coins: f64, shape: Vec<f64>, slots: f64) -> Plan {
        let (n, levels) = (self.crowd.get() as f64, shape.len() as i32);
        // The price of a finite crowd, R = (1 − p)^(−1/2) in every epoch, as so much more noise.
        let total = shape.iter().sum::<f64>();
        let mut scale = coins;
        // Over several epochs the coins that pay for it are to be paid for as well.
        let rounds = if self.epochs > 1 { 8 } else { 1 };
        // One level alone is accounted for as it is.
        for _ in 0..if levels > 1 || self.epochs == 1 { rounds } else { 0 } {
            let share = (scale * total / (slots * n)).min(FULL);
            let price = 0.5 * self.epochs as f64 * (-share).ln_1p() / self.delta.get().ln();
            scale = coins * (1.0 + price);
        }
        let steps = 2f64.powi(levels) - 1.0;
        let noise: f64 = (0..levels).zip(&shape).map(|(j, c)| 4f64.powi(j) * c).sum();
        let error = (scale * noise + n).sqrt() / (2.0 * steps);
        Plan { slots: slots as u64, shape, scale, error }
    }

    /// δ of all epochs.
    fn spent(&self, sum: &SlicedSum) -> f64 {
        match self.epochs {
            1 => sum.bulk_delta(self.epsilon),
            epochs => composed_delta(sum, epochs, self.epsilon, self.delta).unwrap_or(1.0),
        }
    }
}

/// Levels, slots and the shape of the allocation, with what they are expected to give.
#[derive(Clone, PartialEq)]
struct Plan {
    slots: u64,
    /// Coins of each level when their scale is 1.
    shape: Vec<f64>,
    /// The scale expected to do.
    scale: f64,
    /// The expected error.
    error: f64,
}

impl Plan {
    fn messages(&self) -> u64 {
        self.slots + self.shape.len() as u64
    }

    fn at(&self, crowd: Crowd, scale: f64) -> Option<SlicedSum> {
        let trials = crowd.get() as f64 * self.slots as f64;
        let weight = |coins: &f64| (scale * coins / trials * TWO_64).ceil() as u64;
        SlicedSum::new(crowd, self.slots, self.shape.iter().map(weight).collect()).ok()
    }

    /// The least scale that keeps the promise, to a relative 3e-4. `ln δ` is all but linear in it,
    /// so a handful of evaluations do.
    fn fit(&self, promise: &Promise) -> Option<(SlicedSum, f64)> {
        let target = promise.delta.get().ln();
        let mut scale = self.scale;
        // A thousandth of the error is worth a law once, and not a composition.
        let (close, near) = if promise.epochs > 1 { (2e-3, 0.03) } else { (3e-4, 0.0) };
        let (mut below, mut above) = (None, None);
        // How fast the gap shrinks as the scale grows.
        let mut fall: Option<f64> = None;
        let mut fitted = None;
        for _ in 0..12 {
            let mechanism = self.at(promise.crowd, scale)?;
            let gap = promise.spent(&mechanism).ln() - target;
            if gap <= 0.0 {
                above = Some((scale, gap));
                fitted = Some((mechanism, scale));
            } else {
                // More coins fill the slots, until more of them do more harm than good.
                fall = below.map(|(low, more): (f64, f64)| (more - gap) / (scale - low));
                if above.is_none() && fall.is_some_and(|fall| fall <= 0.0) {
                    return None;
                }
                below = Some((scale, gap));
            }
            scale = match (below, above) {
                (Some((low, _)), Some((high, _))) if high - low <= close * high => break,
                (_, Some((_, gap))) if -gap <= near => break,
                (Some((low, high_gap)), Some((high, low_gap))) => {
                    // A little past the root, so that the next value is safe.
                    let root = low + (high - low) * high_gap / (high_gap - low_gap);
                    (root * (1.0 + 1e-4)).clamp(low * (1.0 + 1e-4), high * (1.0 - 1e-4))
                }
                // As it fell last, and a little further.
                (Some((low, gap)), None) if let Some(fall) = fall => {
                    (low + (1.05 * gap / fall).max(1e-4 * low)).min(2.0 * low)
                }
                // As if ln δ were proportional to the scale, and a little further.
                _ => {
                    let factor = (target / (target + gap).min(-1e-3)).powf(1.1);
                    scale * (factor + 1e-4 * gap.signum()).clamp(0.5, 2.0)
                }
            };
        }
        fitted
    }
}

/// The plan with the fewest messages among those within a hundredth of the least error.
fn best(plans: &[Plan]) -> Option<Plan> {
    let least = plans.iter().map(|plan| plan.error).fold(f64::INFINITY, f64::min);
    let close = plans.iter().filter(|plan| plan.error <= 1.01 * least);
    close.min_by(|a, b| a.messages().cmp(&b.messages()).then(a.error.total_cmp(&b.error))).cloned()
}

/// All plans worth a look.
fn forecasts(promise: &Promise, coins: f64, max_messages: u64) -> Vec<Plan> {
    let mut plans = Vec::new();
    // A sum has 32 levels at most.
    for levels in 1..=(max_messages - 1).min(32) as i32 {
        for kappa in KAPPAS.map(|share| share * 2f64.powi(levels)) {
            let weight: Vec<f64> = (0..levels).map(|j| 2f64.powi(j).hypot(kappa)).collect();
            let sum: f64 = weight.iter().sum();
            let shape: Vec<f64> = weight.iter().map(|u| sum / u).collect();
            let full = coins * shape.iter().sum::<f64>() / (FULL * promise.crowd.get() as f64);
            let least = full.ceil().max(1.0);
            let room = max_messages as f64 - f64::from(levels);
            // More slots than that are worth a message where every epoch pays for a finite crowd.
            let most = if promise.epochs > 1 { room } else { least.min(room) };
            let slots = (0..).map(|more| least + f64::from(more)).take_while(|it| *it <= most);
            plans.extend(slots.map(|slots| promise.forecast(coins, shape.clone(), slots)));
        }
    }
    plans
}

const KAPPAS: [f64; 12] = [0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.35, 0.6, 1.0, 3.0];
/// The share of the slots that a plan may fill: at 0.9 the finite crowd costs a factor of 3 in δ.
const FULL: f64 = 0.9;
const MAX_COINS: f64 = 1e9;
/// Plans that are tried over several epochs, where each takes some ten compositions.
const TRIES: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(sum: &SlicedSum) -> u64 {
        sum.weights().len() as u64 + sum.slots()
    }

    fn fitted(n: u64, epsilon: f64, max_messages: u64) -> SlicedSum {
        let (crowd, eps) = (Crowd::new(n).unwrap(), Epsilon::at(epsilon));
        let delta = Delta::new(1e-8).unwrap();
        let found = sliced_sum(crowd, 1, eps, delta, max_messages).unwrap();
        let reached = found.delta(eps).upper;
        assert!(reached <= delta.get(), "{found:?}");
        assert!(messages(&found) <= max_messages);
        // Next to nothing is given away.
        assert!(reached > 0.99 * delta.get(), "{found:?}");
        found
    }

    #[test]
    fn errors_lie_where_an_independent_program_puts_them() {
        for (n, epsilon, max_messages, error) in [
            (1_000, 1.0, 20, 5.4),
            (10_000, 1.0, 8, 5.35),
            (1_000_000, 1.0, 12, 5.25),
            (1_000_000, 0.1, 8, 47.5),
            (1_000_000, 4.0, 12, 2.2),
            (100_000_000, 1.0, 20, 5.25),
        ] {
            let found = fitted(n, epsilon, max_messages).standard_error();
            assert!(found < error && found > 0.95 * error, "n = {n}: {found}");
        }
    }

    #[test]
    fn few_messages_leave_few_levels() {
        let few = fitted(1_000, 0.1, 11);
        assert_eq!((few.weights().len(), few.slots()), (1, 9));
        assert!(messages(&fitted(1_000, 4.0, 5)) <= 5);
        let crowd = Crowd::new(1_000).unwrap();
        let (eps, delta) = (Epsilon::at(0.1), Delta::new(1e-8).unwrap());
        let refused = sliced_sum(crowd, 1, eps, delta, 5);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
        assert!(sliced_sum(crowd, 1, eps, delta, 1).is_err());
    }
}
