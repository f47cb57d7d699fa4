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
//! come from a law on the line. Finitely many pairs cost a part η of ε. They add nothing to the
//! error of the estimate, so the best is the smallest η whose pairs the crowd can carry.

use super::cannot;
use crate::error::require;
use crate::kernel::burst_law::Limits;
use crate::kernel::solve::smallest_safe;
use crate::kernel::work::terms_visited;
use crate::profile::burst_histogram::{FAILURES, TwoCells, likely_users};
use crate::profile::{BurstCount, BurstHistogram, Bursts};
use crate::quantity::TWO_64;
use crate::{Crowd, Delta, Epsilon, Error, Profile};
use realfft::RealFftPlanner;
use realfft::num_complex::Complex64;

/// Bursts of at most `slots` messages for `burst-count`, with about the least standard error.
///
/// At ε = 1, δ = 10⁻⁸, for ten thousand users: 2.28 with 4 slots, 1.52 with 8, 1.41 with 12, where
/// the central model has 1.36. Refused when the crowd is too small to carry the noise with one
/// event per user.
///
/// ```
/// use throng_account::calibrate::burst_count;
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// // Bursts of at most four messages.
/// let (crowd, epsilon, delta) = (Crowd::new(1_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let count = burst_count(crowd, 4, epsilon, delta)?;
/// assert!(count.bursts().slots() <= 4);
/// assert!(count.delta(epsilon).upper <= delta.get());
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn burst_count(
    crowd: Crowd,
    slots: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<BurstCount, Error> {
    let promise = Promise::new(slots, epsilon, delta)?;
    let mut last = None;
    let deadline = terms_visited() + MOST_TERMS;
    // Large tables are looked at only where small ones do not do.
    for (budget, etas) in [(5e8, &ETAS[..]), (1e10, &ETAS[4..])] {
        for eta in etas {
            match promise.fit_count(crowd, *eta, budget, deadline) {
                Search::Found(found) if found.upper_delta(epsilon) <= delta.get() => {
                    return Ok(found);
                }
                Search::Found(tried) | Search::Plus(tried) => last = Some(tried),
                Search::Crowd(tried) => last = tried.or(last),
            }
        }
    }
    Err(cannot("burst", epsilon, delta, last))
}

/// Bursts of at most `slots` messages for `burst-histogram`, with about the least standard error.
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
/// let found = burst_histogram(Crowd::new(20)?, 10, 4, epsilon, delta);
/// assert!(matches!(found, Err(Error::CannotCalibrate { .. })));
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn burst_histogram(
    crowd: Crowd,
    categories: u64,
    slots: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<BurstHistogram, Error> {
    let promise = Promise::new(slots, epsilon, delta)?;
    require(categories >= 2, "k", categories as f64, "2 or more categories")?;
    // One of those failures that the mechanism itself tries, and a small part of δ.
    let failure = FAILURES.iter().copied().find(|failure| *failure <= 0.02 * delta.get());
    let users = failure.and_then(|failure| likely_users(crowd, categories, failure).ok());
    let (Some(failure), Some(users)) = (failure, users) else {
        return Err(cannot("burst", epsilon, delta, None::<BurstHistogram>));
    };
    let mut last = None;
    let deadline = terms_visited() + MOST_TERMS;
    for eta in ETAS {
        if terms_visited() > deadline {
            break;
        }
        let mut rho = 0.12 * -delta.get().ln() / eta;
        if !promise.carried(eta, rho, users) {
            continue;
        }
        let Some(sided) = promise.least_variance(1.0 - eta, on_two_lines) else { continue };
        let search = promise.enough_pairs(&mut rho, |rho| {
            let bursts = promise.bursts([&sided, &sided], eta, rho, users)?;
            let mechanism =
                BurstHistogram::with_failures(crowd, categories, bursts, &[failure]).ok()?;
            let found = mechanism.delta(epsilon).upper;
            Some((mechanism, found, 0.0))
        });
        match search {
            Search::Found(found) => {
                // The others are no better at this δ, and each is a law of its own.
                let useful = 1e-4 * delta.get()..=0.5 * delta.get();
                let near: Vec<f64> =
                    FAILURES.into_iter().filter(|failure| useful.contains(failure)).collect();
                let bursts = found.bursts().clone();
                return BurstHistogram::with_failures(crowd, categories, bursts, &near);
            }
            Search::Plus(tried) => last = Some(tried),
            Search::Crowd(tried) => last = tried.or(last),
        }
    }
    Err(cannot("burst", epsilon, delta, last))
}

/// The promise to keep, and the slots there are for it.
struct Promise {
    slots: usize,
    epsilon: Epsilon,
    delta: Delta,
}

/// The outcome of a search for enough pairs, with the last mechanism tried.
enum Search<M> {
    Found(M),
    /// The '+' bursts do not hide an added bit.
    Plus(M),
    /// The crowd cannot carry the pairs.
    Crowd(Option<M>),
}

impl Promise {
    fn new(slots: u64, epsilon: Epsilon, delta: Delta) -> Result<Self, Error> {
        let most = "from 2 to 400 messages of noise";
        require((2..=400).contains(&slots), "slots", slots as f64, most)?;
        let least = "at least 0.05: the noise for less has too many outcomes";
        require(epsilon.get() >= 0.05, "epsilon", epsilon.get(), least)?;
        Ok(Self { slots: slots as usize, epsilon, delta })
    }

    /// Bursts for a count whose pairs cost a part η of ε.
    fn fit_count(&self, crowd: Crowd, eta: f64, budget: f64, deadline: u64) -> Search<BurstCount> {
        let mut last = Search::Crowd(None);
        let mut rho = 0.5 * -self.delta.get().ln() / eta;
        if !self.carried(eta, rho, crowd.get()) {
            return last;
        }
        let Some(minus) = self.least_variance(1.0 - eta, on_the_line) else { return last };
        // One event per user couples the kinds: pairs leave fewer users for bursts, and '+' may
        // need a larger part of η than its usual twentieth.
        for part in [0.05, 0.2, 1.0] {
            let Some(plus) = self.least_variance(1.0 - part * eta, on_the_line) else { break };
            last = self.enough_pairs(&mut rho, |rho| {
                let bursts = self.bursts([&plus, &minus], eta, rho, crowd.get())?;
                // A search that is past its deadline ends with the mechanism it has.
                let terms = if terms_visited() < deadline { budget } else { 0.0 };
                let limits = Limits { terms, ..Limits::LARGE };
                let mechanism = BurstCount::within(limits, crowd, bursts).ok()?;
                let (removed, added) = mechanism.directions(self.epsilon);
                Some((mechanism, removed, added))
            });
            if !matches!(last, Search::Plus(_)) {
                break;
            }
        }
        last
    }

    /// The rates of least variance that keep a share of δ, at a part of ε, when only the difference
    /// of '+' and '−' is seen; `risk` is the divergence of its law from the same law moved by one.
    fn least_variance(&self, part: f64, risk: fn(&[f64], f64) -> f64) -> Option<Vec<f64>> {
        let (epsilon, delta) = (part * self.epsilon.get(), SHARE * self.delta.get());
        // Variances above this are not looked at.
        let most = 1e4 / epsilon.min(1.0).powi(2);
        let rates = |s: f64, kappa: f64| -> Vec<f64> {
            let end = |k: usize| if k == self.slots { kappa } else { 1.0 };
            (1..=self.slots).map(|k| end(k) * s.powi(k as i32) / k as f64).collect()
        };
        let safe = |s: f64, kappa: f64| {
            line(&rates(s, kappa), 1e-5 * delta).is_some_and(|law| risk(&law, epsilon) <= delta)
        };
        let fit = |ln_s: f64| -> Option<Vec<f64>> {
            let s = ln_s.exp();
            let mut kappa = 1.0;
            while !safe(s, kappa) {
                kappa *= 4.0;
                if variance(&rates(s, kappa)) > most {
                    return None;
                }
            }
            Some(rates(s, smallest_safe(1e-3, kappa, 1e-4, |kappa| safe(s, kappa))))
        };
        let cost = |ln_s: f64| fit(ln_s).map_or(f64::INFINITY, |rates| variance(&rates));
        // s is near e^−ε for large bursts, and grows as they are cut shorter.
        let (mut low, mut high) = (-1.02 * epsilon, 0.5 * epsilon);
        for _ in 0..16 {
            let (left, right) = (0.62 * low + 0.38 * high, 0.38 * low + 0.62 * high);
            // Where neither fits, s is too small.
            (low, high) = if cost(left) < cost(right) { (low, right) } else { (left, high) };
        }
        fit(0.5 * (low + high)).or_else(|| fit(high))
    }

    /// A mechanism with about the fewest pairs that keep the promise, from `rho` upwards.
    /// `at` gives the mechanism of a ρ with its δ for a bit that was removed, and for one that was
    /// added.
    fn enough_pairs<M>(
        &self,
        rho: &mut f64,
        at: impl Fn(f64) -> Option<(M, f64, f64)>,
    ) -> Search<M> {
        let delta = self.delta.get();
        let mut before: Option<(f64, f64, M)> = None;
        for _ in 0..12 {
            let Some((mechanism, removed, added)) = at(*rho) else { break };
            if added > SAFE * delta {
                return Search::Plus(mechanism);
            }
            if removed <= SAFE * delta {
                return Search::Found(mechanism);
            }
            // ln δ falls almost linearly with ρ, until pairs crowd out the bursts.
            let excess = (removed / (0.8 * delta)).ln();
            let growth = match before {
                Some((_, larger, _)) if larger <= excess => return Search::Crowd(Some(mechanism)),
                Some((last, larger, _)) => excess / (larger - excess) * (1.0 - last / *rho),
                None => 0.3,
            };
            before = Some((*rho, excess, mechanism));
            *rho *= 1.0 + growth.clamp(0.03, 1.0);
        }
        Search::Crowd(before.map(|(_, _, mechanism)| mechanism))
    }

    /// True if `users` can carry pairs of this ρ, with room for bursts. Fewer pairs are not tried.
    fn carried(&self, eta: f64, rho: f64, users: u64) -> bool {
        self.pairs(eta, rho).iter().sum::<f64>() <= MOST_EVENTS * users as f64
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
        if events > MOST_EVENTS * n {
            return None;
        }
        let weights = |rates: &[f64]| -> Vec<u64> {
            rates.iter().map(|rate| (rate / n * TWO_64).round() as u64).collect()
        };
        Bursts::new(weights(&pairs), weights(plus), weights(minus)).ok()
    }
}

/// Variance of the difference of '+' and '−', both with these rates.
fn variance(rates: &[f64]) -> f64 {
    2.0 * (1_u32..).zip(rates).map(|(k, rate)| f64::from(k * k) * rate).sum::<f64>()
}

/// The law of the difference of two sums of bursts with these rates, but for about `leak`; nothing
/// where it is long.
fn line(rates: &[f64], leak: f64) -> Option<Vec<f64>> {
    let mean: f64 = (1_u32..).zip(rates).map(|(k, rate)| f64::from(k) * rate).sum();
    let mut sum = vec![(-rates.iter().sum::<f64>()).exp()];
    // Panjer's recursion for a compound Poisson law.
    for a in 1.. {
        let reach = rates.len().min(a);
        let terms = (1..=reach).map(|k| k as f64 * rates[k - 1] * sum[a - k]);
        sum.push(terms.sum::<f64>() / a as f64);
        if a as f64 > mean + rates.len() as f64 && sum[a + 1 - reach..].iter().sum::<f64>() < leak {
            break;
        }
        if a > 8 * LONGEST_LINE {
            return None;
        }
    }
    // Both sums start late when bursts are many and small.
    let sum = &sum[sum.iter().position(|&mass| mass > 1e-6 * leak)?..];
    if sum.len() > LONGEST_LINE {
        return None;
    }
    let half = autocorrelation(sum);
    Some(half[1..].iter().rev().chain(&half).copied().collect())
}

/// `Σ x[i]·x[i + shift]` for every shift. No claim rests on it, so a rounding error of the Fourier
/// transform does no harm where sums are long.
fn autocorrelation(x: &[f64]) -> Vec<f64> {
    if x.len() < 48 {
        let product = |shift: usize| x[shift..].iter().zip(x).map(|(x, y)| x * y).sum::<f64>();
        return (0..x.len()).map(product).collect();
    }
    let length = (2 * x.len()).next_power_of_two();
    let mut planner = RealFftPlanner::<f64>::new();
    let mut padded = x.to_vec();
    padded.resize(length, 0.0);
    let mut spectrum = vec![Complex64::default(); length / 2 + 1];
    let mut product = vec![0.0; length];
    let forward = planner.plan_fft_forward(length).process(&mut padded, &mut spectrum);
    for value in &mut spectrum {
        *value = Complex64::new(value.norm_sqr(), 0.0);
    }
    let inverse = planner.plan_fft_inverse(length).process(&mut spectrum, &mut product);
    debug_assert!(forward.is_ok() && inverse.is_ok(), "lengths that fit");
    product.truncate(x.len());
    product.iter().map(|value| (value / length as f64).max(0.0)).collect()
}

/// The masses of every outcome, and those of the law moved by one.
fn moved(law: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let bare = law.iter().copied().chain([0.0]);
    bare.zip([0.0].into_iter().chain(law.iter().copied()))
}

/// One difference against itself moved by one.
fn on_the_line(law: &[f64], epsilon: f64) -> f64 {
    let e = epsilon.exp();
    moved(law).map(|(zero, one)| (zero - e * one).max(0.0)).sum()
}

/// Two differences, of which one or the other is moved.
fn on_two_lines(law: &[f64], epsilon: f64) -> f64 {
    TwoCells::of_pairs(moved(law)).delta(epsilon)
}

/// The part of ε that pairs may cost, from the most accurate.
const ETAS: [f64; 9] = [0.025, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4];
/// Nine users of ten may have an event.
const MOST_EVENTS: f64 = 0.9;
/// The share of δ for the law on the line.
const SHARE: f64 = 0.4;
/// Leaves room for the outward rounding of the final δ.
const SAFE: f64 = 1.0 - 1e-6;
const LONGEST_LINE: usize = 2500;
/// Terms of all laws of a search.
const MOST_TERMS: u64 = 20_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, moments};

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
            let found = burst_count(crowd, slots, eps, delta).unwrap();
            let bursts = found.bursts().clone();
            let error = (n as f64 * moments(&bursts).1).sqrt();
            assert!(low <= error && error <= high, "n = {n}, {slots} slots: {error}");
            // A mechanism made from the weights alone keeps the promise.
            assert_eq!(bursts.slots(), slots);
            let again = BurstCount::new(crowd, bursts).unwrap().delta(eps).upper;
            assert!(again == found.delta(eps).upper && again <= delta.get(), "{again:e}");
        }
    }

    // Coins that are thrown with chance p have the variance p/4.
    #[test]
    fn bursts_of_four_have_less_than_half_the_error_of_coins() {
        let (eps, delta) = promise(1.0, 1e-6);
        let crowd = Crowd::new(1_000).unwrap();
        let bursts = burst_count(crowd, 4, eps, delta).unwrap();
        let coins = crate::calibrate::coin_count(crowd, eps, delta).unwrap().chance();
        assert!(4.0 * moments(bursts.bursts()).1 < 0.25 * coins.probability());
    }

    // An independent calibration has 3.42 for 775 users per category; here 977 all add noise.
    #[test]
    fn histograms_are_as_accurate_as_an_independent_program_finds() {
        let (eps, delta) = promise(1.0, 1e-8);
        let crowd = Crowd::new(1_000_000).unwrap();
        for (slots, error) in [(4, 5.78), (8, 4.08), (12, 3.42)] {
            let found = burst_histogram(crowd, 1024, slots, eps, delta).unwrap();
            let most = error * (1e6 / 1024.0 / 775.0_f64).sqrt();
            let bursts = found.bursts().clone();
            // A user adds noise to a category with probability 1/1024.
            let ((mean, variance), share) = (moments(&bursts), 1.0 / 1024.0);
            let variance = share * variance + share * (1.0 - share) * mean * mean;
            let error = (1e6 * variance).sqrt();
            assert!(error > 2.8 && error <= most, "{slots} slots: {error}, not {most}");
            let again = BurstHistogram::new(crowd, 1024, bursts).unwrap().delta(eps).upper;
            assert!(again == found.delta(eps).upper && again <= delta.get(), "{again:e}");
        }
    }

    // (s, κ) of an independent search, at another share of δ.
    #[test]
    fn the_law_on_the_line_has_its_known_minimum() {
        let (_, delta) = promise(1.0, 1e-8 * 0.2 / SHARE);
        for (slots, part, s, error) in [
            (4, 0.9975, 0.507123, 2.2473),
            (6, 0.95, 0.442520, 1.8788),
            (8, 0.9, 0.431185, 1.7352),
            (12, 0.9, 0.410204, 1.5516),
        ] {
            let promise = Promise { slots, epsilon: Epsilon::at(1.0), delta };
            let rates = promise.least_variance(part, on_the_line).unwrap();
            assert_close(rates[0], s, 5e-3);
            assert_close(variance(&rates).sqrt(), error, 1e-3);
        }
    }

    #[test]
    fn small_crowds_and_senseless_slots_are_refused() {
        let (eps, delta) = promise(1.0, 1e-8);
        let refused = burst_count(Crowd::new(30).unwrap(), 8, eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
        let refused = burst_histogram(Crowd::new(1000).unwrap(), 100, 8, eps, delta);
        assert!(matches!(refused, Err(Error::CannotCalibrate { .. })), "{refused:?}");
        for (slots, eps) in [(0, eps), (1, eps), (401, eps), (8, Epsilon::ZERO)] {
            let refused = burst_count(Crowd::new(10_000).unwrap(), slots, eps, delta);
            assert!(matches!(refused, Err(Error::OutOfRange { .. })), "{refused:?}");
        }
    }
}
