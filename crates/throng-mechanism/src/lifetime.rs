//! Calibration for a lifetime: the noise with which all epochs together keep the promise.
//!
//! A mechanism is calibrated for one release at (ε₁, δ₁), δ₁ = δ/(2T), and the whole profile of
//! what comes out is composed T times; ε₁ is then moved until the composition keeps (ε, δ) by a
//! hair. A mechanism of one parameter passes through all of its settings that way, so the setting
//! found is the best there is. Bursts and slices have a shape beside their strength, which is
//! searched for all epochs at once. What is returned has been composed as it is.

use crate::catalogue::Over;
use crate::plan::NO_GAIN;
use crate::{Ask, Error, Key, Mechanism, Question, Spending};
use throng_account::profile::WorstCase;
use throng_account::spend::{Composition, Disclosure, Lifetime, every_epoch};
use throng_account::tradeoff::gaussian_delta;
use throng_account::{Crowd, Delta, Epsilon, Profile, calibrate};

/// A mechanism and what it costs.
pub(crate) struct Fitted {
    pub mechanism: Mechanism,
    /// ε of one release, at [`Ask::each_delta`].
    pub each: Epsilon,
    /// ε of all of them, at the δ of the promise.
    pub lifetime: Epsilon,
    accountant: Lifetime,
}

impl Ask {
    /// δ of one release: that of the promise if there is but one, and half of an equal part of it
    /// otherwise, which [`ample_delta`](throng_account::spend::ample_delta) undoes.
    ///
    /// ```
    /// use throng_account::{Crowd, Delta, Epsilon};
    /// use throng_mechanism::{Ask, Question};
    ///
    /// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
    /// let ask = Ask::new(Question::Bit, Crowd::new(1000)?, epsilon, delta);
    /// assert_eq!(ask.each_delta(), delta);
    /// assert_eq!(ask.with_epochs(50).each_delta(), Delta::new(1e-8)?);
    /// # Ok::<(), throng_mechanism::Error>(())
    /// ```
    pub fn each_delta(&self) -> Delta {
        let part = self.delta.get() / (2.0 * self.epochs as f64);
        if self.epochs <= 1 { self.delta } else { Delta::new(part).unwrap_or(self.delta) }
    }

    /// The same question asked once, with about the part of the promise that one release has.
    pub(crate) fn about_once(&self) -> Self {
        self.once(Epsilon::new(self.guess()).unwrap_or(self.epsilon))
    }

    /// One mechanism, calibrated for the promise over all epochs.
    pub(crate) fn fitted(&self, key: Key) -> Result<Fitted, Error> {
        if self.epochs <= 1 || key.row().over == Over::Lasting {
            let mechanism = Mechanism::fit(key, self)?;
            if mechanism.spending() == Spending::Memoized && self.epochs > 1 {
                return self.costing(mechanism);
            }
            let accountant = self.accountant(&mechanism);
            let (each, lifetime) = (self.epsilon, self.epsilon);
            return Ok(Fitted { mechanism, each, lifetime, accountant });
        }
        if key.row().over == Over::AllEpochs {
            let refused = |why| if key.row().slow && self.gaussian_wins() { NO_GAIN } else { why };
            return self.costing(Mechanism::fit(key, self).map_err(refused)?);
        }
        let found = approach(self.guess(), self.epsilon.get(), |each| {
            let each = Epsilon::new(each)?;
            let mechanism = Mechanism::fit(key, &self.once(each))?;
            let mut accountant = self.accountant(&mechanism);
            let lifetime = self.total(&mut accountant, &mechanism)?;
            Ok((Fitted { mechanism, each, lifetime, accountant }, lifetime.get()))
        })?;
        found.map_err(|best| self.out_of_reach(best))
    }

    /// A mechanism with what it costs, if that is not too much.
    pub(crate) fn costing(&self, mechanism: Mechanism) -> Result<Fitted, Error> {
        let mut accountant = self.accountant(&mechanism);
        let lifetime = self.total(&mut accountant, &mechanism)?;
        if lifetime > self.epsilon {
            return Err(self.out_of_reach(lifetime.get()));
        }
        let each = if self.epochs <= 1 || mechanism.spending() == Spending::Lifetime {
            lifetime
        } else {
            self.profile(&mechanism, self.crowd)?.epsilon(self.each_delta())?.epsilon
        };
        Ok(Fitted { mechanism, each, lifetime, accountant })
    }

    /// Upper bounds on δ(0) of one release and of all of them: the distance in total variation,
    /// which is what an attacker gains over guessing.
    pub(crate) fn advantages(&self, fitted: &mut Fitted) -> Result<(f64, f64), Error> {
        let mechanism = &fitted.mechanism;
        let profile = |crowd| self.profile(mechanism, crowd);
        let one = profile(self.crowd)?.upper_delta(Epsilon::ZERO).min(1.0);
        if self.epochs <= 1 {
            return Ok((one, one));
        }
        let all = fitted.accountant.advantage(&self.releases(), profile)?;
        Ok((one, all))
    }

    /// The largest ε₁ for which T rounds that are ε₁-DP, and nothing else is known of, keep the
    /// promise: what a pure mechanism of the central or of the local model may spend each time.
    pub(crate) fn each_pure(&self) -> Epsilon {
        if self.epochs <= 1 {
            return self.epsilon;
        }
        let basic = self.epsilon.get() / self.epochs as f64;
        let found = approach(self.guess().max(basic), self.epsilon.get(), |each| {
            let each = Epsilon::new(each)?;
            let round = WorstCase::new(each, 0.0)?;
            let all = Composition::new().and(&round, self.epochs).epsilon(self.delta)?;
            Ok((each, all.get()))
        });
        match found {
            Ok(Ok(each)) => each,
            Ok(Err(_)) | Err(_) => Epsilon::new(basic).unwrap_or(self.epsilon),
        }
    }

    /// The largest μ for which a Gaussian mechanism that is μ-GDP keeps the promise: exact.
    pub(crate) fn gaussian_mu(&self) -> f64 {
        let keeps = |mu: f64| gaussian_delta(mu, self.epsilon.get()) <= self.delta.get();
        bisect(0.0, 50.0, keeps)
    }

    /// True if over several epochs the best bursts, with endless pairs, err hardly less than
    /// Gaussian noise, which coins come close to.
    pub(crate) fn gaussian_wins(&self) -> bool {
        if self.epochs <= 1 {
            return false;
        }
        // A replaced category moves two cells, which are two counts.
        let cells = if matches!(self.question, Question::Category { .. }) { 2 } else { 1 };
        let rounds = self.epochs.saturating_mul(cells);
        let gaussian = (rounds as f64).sqrt() / self.gaussian_mu();
        let slots = self.burst_slots(12.0, 120);
        calibrate::least_burst_error(slots, rounds, self.epsilon, self.delta)
            .is_none_or(|error| error >= 0.97 * gaussian)
    }

    /// ε of one release if the loss were Gaussian.
    fn guess(&self) -> f64 {
        let mu = self.gaussian_mu() / (self.epochs as f64).sqrt();
        let delta = self.each_delta().get();
        bisect(self.epsilon.get(), 0.0, |epsilon| gaussian_delta(mu, epsilon) <= delta)
    }

    /// The same question asked once, with a promise of its own.
    fn once(&self, epsilon: Epsilon) -> Self {
        Self { epsilon, delta: self.each_delta(), epochs: 1, ..self.clone() }
    }

    fn accountant(&self, mechanism: &Mechanism) -> Lifetime {
        match mechanism.spending() {
            Spending::Memoized if self.epochs > 1 => {
                let mechanism = mechanism.clone();
                Lifetime::memoized(move |reports| mechanism.memoized(reports))
            }
            Spending::PerEpoch | Spending::Memoized => {
                Lifetime::per_epoch(self.crowd, self.epochs, self.delta)
            }
            Spending::Lifetime => Lifetime::once(self.delta),
        }
    }

    /// ε of all epochs together.
    fn total(&self, accountant: &mut Lifetime, mechanism: &Mechanism) -> Result<Epsilon, Error> {
        let profile = |crowd: Crowd| self.profile(mechanism, crowd);
        if self.epochs <= 1 && mechanism.spending() != Spending::Lifetime {
            // One release is what its profile says, without a grid.
            return Ok(profile(self.crowd)?.epsilon(self.delta)?.epsilon);
        }
        accountant.total(&self.releases(), profile)
    }

    /// The profile near the δ of one release.
    fn profile(&self, mechanism: &Mechanism, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        mechanism.profile_near(crowd, self.each_delta())
    }

    fn releases(&self) -> Vec<(Disclosure, u64)> {
        every_epoch(self.epochs.max(1), 1, self.crowd)
    }

    pub(crate) fn out_of_reach(&self, best: f64) -> Error {
        Error::Lifetime {
            epochs: self.epochs,
            epsilon: self.epsilon.get(),
            delta: self.delta.get(),
            best,
        }
    }
}

/// The found with the largest `x` whose cost is at most `most`, to about two thousandths of it, or
/// else the least cost seen. `at` gives what is found at an x with its cost, which rises with x, or
/// refuses where x is too small for anything. No x may be refused for good: that is an error.
fn approach<F>(
    start: f64,
    most: f64,
    mut at: impl FnMut(f64) -> Result<(F, f64), Error>,
) -> Result<Result<F, f64>, Error> {
    let mut x = start;
    let mut kept: Option<(f64, f64, F)> = None;
    // The smallest that costs too much, and the largest that is refused.
    let (mut above, mut refused): (Option<(f64, f64)>, Option<f64>) = (None, None);
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..TRIES {
        match at(x) {
            Ok((found, cost)) => {
                best = best.min(cost);
                if cost <= most {
                    kept = Some((x, cost, found));
                } else {
                    above = Some((x, cost));
                }
            }
            Err(why @ Error::Account(_)) => {
                refused = Some(x);
                last = Some(why);
            }
            Err(why) => return Err(why),
        }
        let below = kept.as_ref().map(|(x, cost, _)| (*x, *cost));
        x = match (below, above) {
            (Some((_, cost)), _) if cost >= (1.0 - TOLERANCE) * most => break,
            (Some((low, _)), Some((high, _))) if high - low <= 1e-4 * high => break,
            (Some((low, cost)), Some((high, more))) => {
                let goal = (1.0 - 0.4 * TOLERANCE) * most;
                let root = low + (high - low) * (goal - cost) / (more - cost);
                root.clamp(low + 0.05 * (high - low), high - 0.05 * (high - low))
            }
            (Some((low, cost)), None) => {
                low * ((1.0 - 0.4 * TOLERANCE) * most / cost).clamp(1.0 + 1e-4, 4.0)
            }
            (None, Some((high, cost))) => {
                let next = high * ((1.0 - 0.4 * TOLERANCE) * most / cost).clamp(0.25, 1.0 - 1e-4);
                match refused {
                    Some(low) if high - low <= 0.02 * high => break,
                    Some(low) if next <= low => 0.5 * (low + high),
                    _ => next,
                }
            }
            (None, None) => 1.25 * x,
        };
    }
    match (kept, last) {
        (Some((_, _, found)), _) => Ok(Ok(found)),
        (None, Some(why)) if best.is_infinite() => Err(why),
        (None, _) => Ok(Err(best)),
    }
}

/// The point between a safe end and another where `safe` ends, on the safe side.
fn bisect(mut keeps: f64, mut fails: f64, safe: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (keeps + fails);
        if safe(middle) {
            keeps = middle;
        } else {
            fails = middle;
        }
    }
    keeps
}

/// The part of ε that may be left over.
const TOLERANCE: f64 = 2e-3;
const TRIES: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Question};
    use throng_account::spend::ample_delta;

    fn ask(question: Question, n: u64, epochs: u64) -> Ask {
        let (crowd, epsilon) = (Crowd::new(n).unwrap(), Epsilon::new(1.0).unwrap());
        Ask::new(question, crowd, epsilon, Delta::new(1e-6).unwrap()).with_epochs(epochs)
    }

    // 80.71 is √365 times the 4.2247 of the analytic Gaussian mechanism (Balle, Wang, 2018) at
    // ε = 1, δ = 10⁻⁶.
    #[test]
    fn a_year_of_counts_errs_little_more_than_central_gaussian_noise() {
        let ask = ask(Question::Bit, 1_000_000, 365);
        let plan = Plan::new(&ask, |mechanism| mechanism.messages() as u64);
        assert!((plan.central.unwrap() - 80.71).abs() < 0.01, "{:?}", plan.central);
        let best = &plan.offers[0];
        assert!(best.standard_error <= 1.05 * 80.6, "{}", best.standard_error);
        for offer in &plan.offers {
            assert!(offer.lifetime <= ask.epsilon && offer.lifetime.get() > 0.99);
            // Composed once more, from the parameters alone.
            let mut again = Lifetime::per_epoch(ask.crowd, 365, ask.delta);
            let profile = |crowd| offer.mechanism.profile(crowd);
            let total = again.total(&every_epoch(365, 1, ask.crowd), profile).unwrap();
            assert!(total <= ask.epsilon, "{}: {total:?}", offer.mechanism.key());
            // One release keeps what is said of it.
            let one = offer.mechanism.profile(ask.crowd).unwrap();
            assert!(one.delta(offer.each).upper <= offer.each_delta.get());
            // Gaussian noise of μ = 0.2367 is told from itself moved with probability 0.0942.
            assert!((0.090..0.096).contains(&offer.lifetime_advantage));
            assert!(offer.advantage < 0.1 * offer.lifetime_advantage);
        }
        let kept = plan.refused.iter().find(|(key, _)| *key == Key::BurstCount);
        assert!(matches!(kept, Some((_, Error::NotAsked { .. }))));
    }

    #[test]
    fn once_is_as_it_was() {
        let ask = ask(Question::Bit, 1_000, 1);
        for key in [Key::BitSum, Key::CoinCount, Key::TwoMessageCount] {
            let offer = &ask.offers(key).unwrap()[0];
            assert_eq!(offer.mechanism, Mechanism::fit(key, &ask).unwrap());
            assert_eq!((offer.each, offer.lifetime), (ask.epsilon, ask.epsilon));
            assert_eq!(offer.each_delta, ask.delta);
            assert_eq!(offer.advantage, offer.lifetime_advantage);
        }
    }

    #[test]
    fn a_memory_is_charged_for_what_it_shows() {
        let question = Question::Text { bits: 32, hashes: 2, cohorts: 4 };
        let ask = ask(question, 100_000, 30);
        let offer = &ask.offers(Key::Rappor).unwrap()[0];
        let all = offer.mechanism.memoized(30).unwrap();
        assert!(all == offer.lifetime && all <= ask.epsilon && all.get() > 0.999);
        assert!(offer.each < offer.lifetime);
        // (e − 1)/(e + 1)
        assert!((offer.lifetime_advantage - 0.4621).abs() < 1e-3);
        let state = Question::State { periods: 8, changes: 1 };
        let followed = Ask { question: state, ..ask };
        let once = Ask { epochs: 1, ..followed.clone() };
        let calibrated = |ask: &Ask| ask.calibrate(Key::Longitudinal).unwrap();
        assert_eq!(calibrated(&followed), calibrated(&once));
    }

    #[test]
    fn what_lasts_is_what_hangs_together() {
        for (question, keys) in [
            (Question::Bit, vec![Key::BitSum, Key::CoinCount]),
            (Question::Text { bits: 32, hashes: 2, cohorts: 4 }, vec![Key::Rappor]),
            (Question::State { periods: 8, changes: 1 }, vec![Key::Longitudinal]),
        ] {
            for key in keys {
                let spending = ask(question, 10_000, 1).calibrate(key).unwrap().spending();
                let lasting = key.row().over == Over::Lasting;
                assert_eq!(lasting, spending != Spending::PerEpoch, "{key}");
            }
        }
    }

    #[test]
    fn a_lifetime_out_of_reach_is_refused_with_what_is_in_reach() {
        // Two-message counts flip at most every second coin.
        let ask = ask(Question::Bit, 200, 365);
        match ask.calibrate(Key::TwoMessageCount) {
            Err(Error::Lifetime { best, epochs: 365, .. }) => assert!(best > 1.0, "{best}"),
            Err(Error::Account(_)) => {}
            other => panic!("{other:?}"),
        }
        // Flipped bits always do, and say nothing.
        let offer = &ask.offers(Key::BitSum).unwrap()[0];
        assert!(offer.worthless);
    }

    #[test]
    fn the_delta_of_one_release_is_the_inverse_of_an_ample_one() {
        let ask = ask(Question::Bit, 1_000, 30);
        let mechanism = ask.calibrate(Key::CoinCount).unwrap();
        let ample = ample_delta(30, 1, ask.each_delta(), || mechanism.profile(ask.crowd)).unwrap();
        assert!((ample / ask.delta.get() - 1.0).abs() < 1e-12);
    }

    // T answers that are right with probability e^ε/(1 + e^ε) are a binomial law each way.
    #[test]
    fn pure_rounds_spend_as_much_as_their_binomial_law_allows() {
        let (rounds, epsilon) = (30, 1.0_f64);
        let each = ask(Question::Bit, 1_000, rounds).each_pure().get();
        let delta_of = |each: f64| {
            let right = each.exp() / (1.0 + each.exp());
            let mut choose = 1.0_f64;
            let mut delta = 0.0;
            for k in 0..=rounds {
                let (k, t) = (k as f64, rounds as f64);
                let p = choose * right.powf(k) * (1.0 - right).powf(t - k);
                let q = choose * right.powf(t - k) * (1.0 - right).powf(k);
                delta += (p - epsilon.exp() * q).max(0.0);
                choose *= (t - k) / (k + 1.0);
            }
            delta
        };
        assert!(delta_of(each) <= 1e-6 && delta_of(1.01 * each) > 1e-6, "{each}");
    }
}
