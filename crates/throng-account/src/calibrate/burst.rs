//! Calibration of bursts.
//!
//! The shapes searched here have a few parameters; the exact law at the integer weights decides.
//!
//! ```text
//! '+'    λ_k = s^k/k for k < K, λ_K = κ·s^K/K          rates of the whole crowd; '−' likewise
//! pairs  φ_j = ρ·e^{−ηεj/2}/j for j ≤ K/2
//! ```
//!
//! With endless pairs only the difference of '+' and '−' shows, and the (s, κ) of least variance
//! come from a law on the line ([`shape`]). Finitely many pairs cost a part η of ε. They add
//! nothing to the error of the estimate, so the best is the smallest η whose pairs the crowd can
//! carry.
//!
//! A promise may be one for several epochs: then all that is looked at is composed so many times.

mod shape;

use super::cannot;
use crate::error::require;
use crate::kernel::burst_law::{Law, Limits};
use crate::kernel::work::terms_visited;
use crate::profile::burst_histogram::{failure_near, likely_users};
use crate::profile::{BurstCount, BurstHistogram, Bursts};
use crate::quantity::TWO_64;
use crate::spend::composed_delta;
use crate::{Crowd, Delta, Epsilon, Error, Profile};
use shape::{Moved, Shape, variance};

/// Bursts of at most `slots` messages for `burst-count`, with about the least standard error with
/// which `epochs` releases together keep the promise.
///
/// Once, at ε = 1, δ = 10⁻⁸, for ten thousand users: about 2.3 with 4 slots, 1.5 with 8, 1.4 with
/// 12, where the central model has 1.36. Refused when the crowd is too small to carry the noise
/// with one event per user.
///
/// ```
/// use throng_account::calibrate::burst_count;
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// // Bursts of at most four messages, once.
/// let (crowd, epsilon, delta) = (Crowd::new(1_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let count = burst_count(crowd, 4, 1, epsilon, delta)?;
/// assert!(count.bursts().slots() <= 4);
/// assert!(count.delta(epsilon).upper <= delta.get());
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn burst_count(
    crowd: Crowd,
    slots: u64,
    epochs: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<BurstCount, Error> {
    let promise = Promise::new(slots, epochs, epsilon, delta, Moved::One)?;
    let found = search(crowd.get(), &promise, |start| promise.fit_count(crowd, start));
    found.map_err(|last| cannot("burst", epsilon, delta, last))
}

/// Bursts of at most `slots` messages for `burst-histogram`, with about the least standard error
/// with which `epochs` releases together keep the promise.
///
/// Each category is hidden by the users who drew it, so the crowd needs a few hundred users per
/// category, and more for smaller ε.
///
/// ```
/// use throng_account::calibrate::burst_histogram;
/// use throng_account::{Crowd, Delta, Epsilon, Error};
///
/// // Twenty users cannot hide ten categories, at whatever noise.
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let found = burst_histogram(Crowd::new(20)?, 10, 4, 1, epsilon, delta);
/// assert!(matches!(found, Err(Error::CannotCalibrate { .. })));
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn burst_histogram(
    crowd: Crowd,
    categories: u64,
    slots: u64,
    epochs: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<BurstHistogram, Error> {
    let promise = Promise::new(slots, epochs, epsilon, delta, Moved::Two)?;
    require(categories >= 2, "k", categories as f64, "2 or more categories")?;
    let failure = failure_near(promise.each_delta());
    let Ok(users) = likely_users(crowd, categories, failure) else {
        return Err(cannot("burst", epsilon, delta, None::<BurstHistogram>));
    };
    let found = search(users, &promise, |start| {
        promise.fit_histogram(crowd, categories, users, failure, start)
    });
    found.map_err(|last| cannot("burst", epsilon, delta, last))
}

/// The standard error of bursts of at most `slots` messages with endless pairs, which no crowd gets
/// below: `None` where it is not known.
///
/// ```
/// use throng_account::calibrate::least_burst_error;
/// use throng_account::{Delta, Epsilon};
///
/// // Eight epochs of a count: 11.1, where Gaussian noise has 11.95.
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let error = least_burst_error(15, 8, epsilon, delta).unwrap();
/// assert!((11.0..11.2).contains(&error), "{error}");
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn least_burst_error(slots: u64, epochs: u64, epsilon: Epsilon, delta: Delta) -> Option<f64> {
    let (slots, epsilon, delta) = (slots as usize, epsilon.get(), delta.get());
    let shape = Shape { slots, epochs, epsilon, delta, moved: Moved::One };
    shape.rates().map(|rates| variance(&rates).sqrt())
}

/// The mechanism of the smallest η that can be had, or else the last one tried. Large laws are
/// looked at only where small ones do not do.
fn search<M>(
    users: u64,
    promise: &Promise,
    fit: impl Fn(Start) -> Search<M>,
) -> Result<M, Option<M>> {
    // Laws of two cells have smaller tables, and more is to be had from them.
    let terms = if promise.moved == Moved::Two { 8e8 } else { 4e8 };
    let small = halve(users, promise, Effort { terms, all: 2_000_000_000, room: 0.0 }, &fit);
    small.or_else(|last| {
        let large = Effort { terms: 3e9, all: 6_000_000_000, room: 0.4 };
        halve(users, promise, large, fit).map_err(|tried| tried.or(last))
    })
}

/// Looks for the smallest η by halving: whatever a larger one cannot do, a smaller one can do even
/// less, as a rule.
fn halve<M>(
    users: u64,
    promise: &Promise,
    effort: Effort,
    fit: impl Fn(Start) -> Search<M>,
) -> Result<M, Option<M>> {
    let deadline = terms_visited() + effort.all;
    let (mut best, mut last) = (None, None);
    // Over several epochs pairs cost much less than their part of ε.
    let etas = if promise.epochs == 1 { &ETAS[3..] } else { &ETAS[..] };
    let (mut low, mut high) = (None, etas.len());
    // Large crowds can do with the smallest; others begin in the middle.
    let large = promise.most(etas[0], users) > 4.0 * promise.start(etas[0]);
    let mut next = if large && effort.room == 0.0 { 0 } else { etas.len() / 2 };
    let mut known: Option<Start> = None;
    loop {
        let eta = etas[next];
        // ρ grows a little slower than 1/η.
        let warm = |known: Start| known.rho * (known.eta / eta).powf(0.9);
        let rho = known.map_or_else(|| promise.start(eta), warm);
        let rho = rho.max(effort.room * promise.most(eta, users));
        match fit(Start { eta, rho, terms: effort.terms }) {
            Search::Found(found, noise, rho) => {
                (high, known) = (next, Some(Start { rho, eta, terms: 0.0 }));
                // A smaller η may need more '+' than it saves.
                if best.as_ref().is_none_or(|(_, least)| noise < *least) {
                    best = Some((found, noise));
                }
            }
            Search::Plus(tried) => (last, low) = (Some(tried), Some(next)),
            Search::Crowd(tried) => (last, low) = (tried.or(last), Some(next)),
        }
        let first = low.map_or(0, |low| low + 1);
        // What is between differs by about a hundredth in error.
        let near = best.is_some() && low.is_some_and(|low| etas[high] - etas[low] < 0.0095);
        if first >= high || near || terms_visited() > deadline {
            return best.map(|(found, _)| found).ok_or(last);
        }
        next = usize::midpoint(first, high);
    }
}

/// The work that a search is worth.
#[derive(Clone, Copy)]
struct Effort {
    /// The terms of one law.
    terms: f64,
    /// The terms of all laws.
    all: u64,
    /// The share of the pairs that the crowd can carry to begin with: most of them where it is all
    /// but too small.
    room: f64,
}

/// The η and the ρ of pairs that a search for enough of them begins with.
#[derive(Clone, Copy)]
struct Start {
    eta: f64,
    rho: f64,
    /// The most terms of a law.
    terms: f64,
}

/// The promise to keep, and the slots there are for it.
struct Promise {
    slots: usize,
    epochs: u64,
    epsilon: Epsilon,
    delta: Delta,
    moved: Moved,
}

/// The outcome of a search for enough pairs, with the last mechanism tried.
enum Search<M> {
    /// With the variance of its noise, and its ρ.
    Found(M, f64, f64),
    /// The '+' bursts do not hide an added bit.
    Plus(M),
    /// The crowd cannot carry the pairs.
    Crowd(Option<M>),
}

impl Promise {
    fn new(
        slots: u64,
        epochs: u64,
        epsilon: Epsilon,
        delta: Delta,
        moved: Moved,
    ) -> Result<Self, Error> {
        let most = "from 2 to 400 messages of noise";
        require((2..=400).contains(&slots), "slots", slots as f64, most)?;
        let least = "at least 0.05: the noise for less has too many outcomes";
        require(epsilon.get() >= 0.05, "epsilon", epsilon.get(), least)?;
        Ok(Self { slots: slots as usize, epochs: epochs.max(1), epsilon, delta, moved })
    }

    /// δ of one release, of which the law may miss a small part.
    fn each_delta(&self) -> f64 {
        self.delta.get() / self.epochs as f64
    }

    /// A ρ that is hardly ever enough.
    fn start(&self, eta: f64) -> f64 {
        let share = if self.moved == Moved::Two { 0.12 } else { 0.5 };
        share * -self.delta.get().ln() / eta
    }

    /// The largest ρ that `users` can carry.
    fn most(&self, eta: f64, users: u64) -> f64 {
        MOST_EVENTS * users as f64 / self.pairs(eta, 1.0).iter().sum::<f64>()
    }

    /// Bursts for a count whose pairs cost a part η of ε.
    fn fit_count(&self, crowd: Crowd, mut start: Start) -> Search<BurstCount> {
        let (users, eta) = (crowd.get(), start.eta);
        if self.most(eta, users) < self.start(eta) {
            return Search::Crowd(None);
        }
        let mut last = Search::Crowd(None);
        let Some(minus) = self.least_variance(1.0 - eta) else { return last };
        let limits = Limits { terms: start.terms, cells: 2e7, ..Limits::LARGE };
        let limits = limits.near(self.each_delta());
        // One event per user couples the kinds: pairs leave fewer users for bursts, and '+' may
        // need a larger part of η than its usual twentieth.
        let crowded = start.terms > 1e9 && start.rho > 0.5 * self.most(eta, users);
        for part in if crowded { &[0.2, 1.0][..] } else { &[0.05, 0.2, 1.0] } {
            let Some(plus) = self.least_variance(1.0 - part * eta) else { break };
            let within = |bursts: &Bursts| {
                Law::is_within(limits, users, bursts)
                    && Law::is_within(Limits::LARGE, users, bursts)
            };
            last = self.enough_pairs(&mut start, users, [&plus, &minus], within, |bursts| {
                let mechanism = BurstCount::within(limits, crowd, bursts).ok()?;
                let (removed, added) = self.directions(&mechanism)?;
                Some((mechanism, removed, added))
            });
            if !matches!(last, Search::Plus(_)) {
                break;
            }
        }
        last
    }

    /// δ for a bit that was removed in all epochs, and for one that was added.
    fn directions(&self, count: &BurstCount) -> Option<(f64, f64)> {
        if self.epochs == 1 {
            return Some(count.directions(self.epsilon));
        }
        let all = composed_delta(count, self.epochs, self.epsilon, self.delta).ok()?;
        // Composition knows the worse of both in every epoch. Where '+' are too few for all others
        // to help, more pairs do not either.
        let added = count.directions(Epsilon::ZERO);
        let plus = added.1 > 1.02 * added.0 && all > SAFE * self.delta.get();
        Some(if plus { (0.0, all) } else { (all, 0.0) })
    }

    /// Bursts for a histogram whose pairs cost a part η of ε, for so many users of a category.
    fn fit_histogram(
        &self,
        crowd: Crowd,
        categories: u64,
        users: u64,
        failure: f64,
        mut start: Start,
    ) -> Search<BurstHistogram> {
        if self.most(start.eta, users) < self.start(start.eta) {
            return Search::Crowd(None);
        }
        let Some(sided) = self.least_variance(1.0 - start.eta) else {
            return Search::Crowd(None);
        };
        let limits = Limits { terms: start.terms, ..Limits::SMALL }.near(self.each_delta());
        let within = |bursts: &Bursts| {
            Law::is_within(limits, users, bursts) && Law::is_within(Limits::SMALL, users, bursts)
        };
        self.enough_pairs(&mut start, users, [&sided, &sided], within, |bursts| {
            let found = BurstHistogram::with_role(crowd, categories, bursts, failure, limits);
            let mechanism = found.ok()?;
            let delta = match self.epochs {
                1 => mechanism.delta(self.epsilon).upper,
                epochs => composed_delta(&mechanism, epochs, self.epsilon, self.delta).ok()?,
            };
            Some((mechanism, delta, 0.0))
        })
    }

    /// The rates of least variance that keep a share of δ, at a part of ε, when only the difference
    /// of '+' and '−' is seen.
    fn least_variance(&self, part: f64) -> Option<Vec<f64>> {
        let share = if self.epochs == 1 { SHARE } else { LARGE_SHARE };
        let (epsilon, delta) = (part * self.epsilon.get(), share * self.delta.get());
        let (slots, epochs, moved) = (self.slots, self.epochs, self.moved);
        Shape { slots, epochs, epsilon, delta, moved }.rates()
    }

    /// A mechanism with enough pairs to keep the promise, from those of the start upwards, which is
    /// moved along. `within` says whether the law of some bursts can be computed, and `at` gives
    /// their mechanism with its δ for a bit that was removed, and for one that was added.
    fn enough_pairs<M>(
        &self,
        start: &mut Start,
        users: u64,
        sides: [&[f64]; 2],
        within: impl Fn(&Bursts) -> bool,
        at: impl Fn(Bursts) -> Option<(M, f64, f64)>,
    ) -> Search<M> {
        let (eta, delta) = (start.eta, SAFE * self.delta.get());
        let sided = sides.into_iter().flatten().sum::<f64>() / (MOST_EVENTS * users as f64);
        let most = self.most(eta, users) * (1.0 - sided) * (1.0 - 1e-9);
        // What has too many outcomes is out of reach as well.
        let safe = |rho: f64| self.bursts(sides, eta, rho, users).is_some_and(|it| within(&it));
        let most = if safe(most) {
            most
        } else {
            let (mut low, mut high) = (0.5 * self.start(eta), most);
            for _ in 0..10 {
                let middle = (low * high).sqrt();
                (low, high) = if safe(middle) { (middle, high) } else { (low, middle) };
            }
            low
        };
        let mut before: Option<(f64, f64, M)> = None;
        // −ln δ grows like a power of ρ, until pairs crowd out the bursts.
        let goal = (-(0.8 * delta).ln()).ln();
        for _ in 0..10 {
            let rho = start.rho.min(most);
            let bursts = self.bursts(sides, eta, rho, users);
            let Some((mechanism, removed, added)) = bursts.and_then(&at) else { break };
            if removed <= delta && added <= delta {
                let [plus, minus] = sides.map(variance);
                return Search::Found(mechanism, plus + minus, rho);
            }
            if removed <= delta {
                // Fewer pairs leave more users for '+'.
                let fewer = before.as_ref().map_or(0.7 * rho, |(last, ..)| (rho * last).sqrt());
                if removed > 0.6 * delta || fewer > 0.95 * rho {
                    return Search::Plus(mechanism);
                }
                start.rho = fewer;
                continue;
            }
            if added > delta && rho < 0.3 * most {
                return Search::Plus(mechanism);
            }
            let height = (-removed.min(0.9).ln()).ln();
            let power = match &before {
                Some((last, lower, _)) => (height - lower) / (rho / last).ln(),
                None => 0.33,
            };
            // How much further it is, were the power to stay the same.
            let factor = ((goal - height) / power).exp();
            let hopeless = before.is_some() && factor * rho > 2.0 * most;
            if rho >= most || power <= 0.0 || hopeless {
                return Search::Crowd(Some(mechanism));
            }
            before = Some((rho, height, mechanism));
            // A little room is cheaper than one more law.
            let next = (1.05 * factor).clamp(1.05, 3.0) * rho;
            start.rho = if next > 0.9 * most { most } else { next };
        }
        Search::Crowd(before.map(|(_, _, mechanism)| mechanism))
    }

    /// The rates of pairs.
    fn pairs(&self, eta: f64, rho: f64) -> Vec<f64> {
        let tilt = 0.5 * eta * self.epsilon.get();
        (1..=self.slots / 2).map(|j| rho * (-tilt * j as f64).exp() / j as f64).collect()
    }

    /// Integer weights of bursts with these rates and of their pairs, where `users` can carry them.
    fn bursts(&self, [plus, minus]: [&[f64]; 2], eta: f64, rho: f64, users: u64) -> Option<Bursts> {
        let (pairs, n) = (self.pairs(eta, rho), users as f64);
        let events: f64 = pairs.iter().chain(plus).chain(minus).sum();
        if rho <= 0.0 || events > MOST_EVENTS * n {
            return None;
        }
        let weights = |rates: &[f64]| -> Vec<u64> {
            rates.iter().map(|rate| (rate / n * TWO_64).round() as u64).collect()
        };
        Bursts::new(weights(&pairs), weights(plus), weights(minus)).ok()
    }
}

/// The part of ε that pairs may cost, from the most accurate.
const ETAS: [f64; 20] = [
    0.004, 0.008, 0.015, 0.025, 0.03, 0.035, 0.042, 0.05, 0.059, 0.07, 0.084, 0.1, 0.119, 0.14,
    0.168, 0.2, 0.238, 0.28, 0.336, 0.4,
];
/// Nine users of ten may have an event.
const MOST_EVENTS: f64 = 0.9;
/// The share of δ for the law on the line.
const SHARE: f64 = 0.4;
/// The same over several epochs.
const LARGE_SHARE: f64 = 0.85;
/// Leaves room for the outward rounding of the final δ.
const SAFE: f64 = 1.0 - 1e-6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spend::{Lifetime, every_epoch};
    use crate::testing::moments;

    fn promise(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
        (Epsilon::at(epsilon), Delta::new(delta).unwrap())
    }

    // From the error with endless pairs to that of an independent calibration.
    #[test]
    fn counts_are_as_accurate_as_an_independent_program_finds() {
        for (n, slots, epsilon, low, high) in [
            (10_000, 4, 1.0, 2.221, 2.393),
            (10_000, 8, 1.0, 1.478, 1.554),
            (10_000, 12, 1.0, 1.374, 1.469),
            (1_000_000, 4, 1.0, 2.221, 2.393),
            (1_000_000, 12, 1.0, 1.374, 1.469),
            (10_000, 24, 0.5, 2.799, 3.018),
            (1_000, 8, 1.0, 1.478, 1.732),
        ] {
            let (eps, delta) = promise(epsilon, 1e-8);
            let crowd = Crowd::new(n).unwrap();
            let found = burst_count(crowd, slots, 1, eps, delta).unwrap();
            let bursts = found.bursts().clone();
            let error = (n as f64 * moments(&bursts).1).sqrt();
            assert!(low <= error && error <= high, "n = {n}, {slots} slots: {error}");
            // A mechanism made from the weights alone keeps the promise.
            assert_eq!(bursts.slots(), slots);
            let again = BurstCount::new(crowd, bursts).unwrap().delta(eps).upper;
            assert!(again <= found.delta(eps).upper && again <= delta.get(), "{again:e}");
        }
    }

    // Coins that are thrown with chance p have the variance p/4.
    #[test]
    fn bursts_of_four_have_less_than_half_the_error_of_coins() {
        let (eps, delta) = promise(1.0, 1e-6);
        let crowd = Crowd::new(1_000).unwrap();
        let bursts = burst_count(crowd, 4, 1, eps, delta).unwrap();
        let coins = crate::calibrate::coin_count(crowd, eps, delta).unwrap().chance();
        assert!(4.0 * moments(bursts.bursts()).1 < 0.25 * coins.probability());
    }

    // An independent calibration has 3.42 for 775 users per category; here 977 all add noise.
    #[test]
    fn histograms_are_as_accurate_as_an_independent_program_finds() {
        let (eps, delta) = promise(1.0, 1e-8);
        let crowd = Crowd::new(1_000_000).unwrap();
        for (slots, error) in [(4, 5.78), (8, 4.08), (12, 3.42)] {
            let found = burst_histogram(crowd, 1024, slots, 1, eps, delta).unwrap();
            let most = error * (1e6 / 1024.0 / 775.0_f64).sqrt();
            let bursts = found.bursts().clone();
            // A user adds noise to a category with probability 1/1024.
            let ((mean, variance), share) = (moments(&bursts), 1.0 / 1024.0);
            let variance = share * variance + share * (1.0 - share) * mean * mean;
            let error = (1e6 * variance).sqrt();
            assert!(error > 2.8 && error <= most, "{slots} slots: {error}, not {most}");
            let again = BurstHistogram::new(crowd, 1024, bursts).unwrap().delta(eps).upper;
            assert!(again <= found.delta(eps).upper && again <= delta.get(), "{again:e}");
        }
    }

    // From the error with endless pairs that an independent search of (s, κ) finds under the
    // composed promise, 3.403, 6.145 and 11.06; Gaussian noise has 5.97, 8.45 and 11.95.
    #[test]
    fn bursts_for_several_epochs_keep_the_promise_for_all_of_them() {
        let (eps, delta) = promise(1.0, 1e-6);
        for (n, slots, epochs, low, high) in [
            (1_000, 8, 2, 3.40, 3.70),
            (1_000_000, 15, 4, 6.14, 6.40),
            (1_000_000, 15, 8, 11.05, 11.3),
        ] {
            let crowd = Crowd::new(n).unwrap();
            let found = burst_count(crowd, slots, epochs, eps, delta).unwrap();
            let bursts = found.bursts().clone();
            let error = (n as f64 * moments(&bursts).1).sqrt();
            assert!(low <= error && error <= high, "{epochs} epochs: {error}");
            // Composed once more, from the weights alone.
            let profile = |crowd| -> Result<Box<dyn Profile>, Error> {
                Ok(Box::new(BurstCount::new(crowd, bursts.clone())?))
            };
            let total = Lifetime::per_epoch(crowd, epochs, delta)
                .total(&every_epoch(epochs, 1, crowd), profile)
                .unwrap();
            assert!(total <= eps && total.get() > 0.97, "{epochs} epochs: {total:?}");
        }
    }

    #[test]
    fn histograms_for_several_epochs_keep_the_promise_for_all_of_them() {
        let (eps, delta) = promise(1.0, 1e-6);
        let crowd = Crowd::new(100_000).unwrap();
        let found = burst_histogram(crowd, 16, 8, 3, eps, delta).unwrap();
        let bursts = found.bursts().clone();
        let profile = |crowd| -> Result<Box<dyn Profile>, Error> {
            Ok(Box::new(BurstHistogram::new(crowd, 16, bursts.clone())?))
        };
        let mut accountant = Lifetime::per_epoch(crowd, 3, delta);
        let total = accountant.total(&every_epoch(3, 1, crowd), profile).unwrap();
        assert!(total <= eps && total.get() > 0.95, "{total:?}");
    }

    #[test]
    fn small_crowds_and_senseless_slots_are_refused() {
        let (eps, delta) = promise(1.0, 1e-8);
        let refused = burst_count(Crowd::new(30).unwrap(), 8, 1, eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
        let refused = burst_histogram(Crowd::new(1000).unwrap(), 100, 8, 1, eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
        for (slots, eps) in [(0, eps), (1, eps), (401, eps), (8, Epsilon::ZERO)] {
            let refused = burst_count(Crowd::new(10_000).unwrap(), slots, 1, eps, delta);
            assert!(matches!(refused, Err(Error::OutOfRange { .. })), "{refused:?}");
        }
    }
}
