//! The promise of a mechanism, and the budget that a person spends over many epochs.

use crate::{Error, Promise, Terms};
use throng_account::show::{Count, Upper};
use throng_account::spend::{Lifetime, ample_delta, every_epoch, group};
use throng_account::{Crowd, Delta, Epsilon, Profile, calibrate, round};
use throng_mechanism::Spending;

pub use throng_account::spend::Disclosure;

impl Terms {
    /// The way in which the losses of several epochs add up. A memory that is used once changes
    /// nothing.
    ///
    /// ```
    /// use throng_account::{Probability, Threshold};
    /// use throng_collection::example;
    /// use throng_mechanism::{Bloom, Mechanism, Rappor, Spending};
    ///
    /// let coin = |p| Probability::new("coin", p).map(Threshold::at_least);
    /// let rappor = Rappor::new(Bloom::new(64, 2, 4, 7)?, coin(0.5)?, coin(0.5)?, coin(0.75)?)?;
    /// let mut terms = example::terms();
    /// terms.mechanism = Mechanism::Rappor(rappor);
    /// assert_eq!((terms.promise.epochs, terms.spending()), (1, Spending::PerEpoch));
    /// terms.promise.epochs = 10;
    /// assert_eq!(terms.spending(), Spending::Memoized);
    /// # Ok::<(), throng_collection::Error>(())
    /// ```
    pub fn spending(&self) -> Spending {
        match self.mechanism.spending() {
            Spending::Memoized if self.promise.epochs <= 1 => Spending::PerEpoch,
            spending => spending,
        }
    }

    /// The profile of one report among `honest` ones. Where the accountant cannot reckon with so
    /// many, fewer are taken, down to the promised crowd: a bound for every larger one.
    pub fn profile(&self, honest: Crowd) -> Result<Box<dyn Profile>, Error> {
        let mut crowd = honest;
        loop {
            match self.mechanism.profile(crowd) {
                Err(_) if crowd > self.promise.crowd => {
                    crowd = Crowd::new(crowd.get() / 2)?.max(self.promise.crowd);
                }
                profile => return Ok(profile?),
            }
        }
    }

    /// The cost of one release among honest reports for a person who has a report in each of its
    /// epochs, rounded up: ε at the promised δ for one epoch, and by group privacy for several.
    ///
    /// ```
    /// use throng_account::Crowd;
    /// use throng_collection::{Disclosure, example};
    ///
    /// let terms = example::terms();
    /// // Promised is ε = 1 among a thousand. Among ten thousand, the same report costs a third.
    /// let (epsilon, _) = terms.cost(Disclosure { epochs: 1, honest: Crowd::new(10_000)? })?;
    /// assert!(epsilon.get() < 0.34);
    ///
    /// // Two epochs merged into one release show two reports of one person.
    /// let (both, _) = terms.cost(Disclosure { epochs: 2, honest: Crowd::new(10_000)? })?;
    /// assert!(both.get() >= 2.0 * epsilon.get());
    /// # Ok::<(), throng_collection::Error>(())
    /// ```
    pub fn cost(&self, release: Disclosure) -> Result<(Epsilon, Delta), Error> {
        let guarantee = self.profile(release.honest)?.epsilon(self.promise.delta)?;
        match release.epochs {
            0 | 1 => Ok((guarantee.epsilon, guarantee.delta)),
            epochs => {
                let (epsilon, delta) =
                    group(guarantee.epsilon.get(), guarantee.delta.get(), epochs);
                Ok((Epsilon::new(epsilon)?, Delta::new(delta)?))
            }
        }
    }

    /// The lifetime to promise when up to `window` epochs may be merged: what all epochs cost at
    /// the promised crowd, ε rounded up to four digits. Without a `delta` one is chosen: twice the
    /// sum of those of all epochs, or what groups need.
    pub fn lifetime(&self, window: u64, delta: Option<Delta>) -> Result<(Epsilon, Delta), Error> {
        if self.charged_once() && delta.is_none_or(|delta| delta >= self.promise.delta) {
            return Ok((self.promise.epsilon, delta.unwrap_or(self.promise.delta)));
        }
        let delta = match delta {
            Some(delta) => delta,
            None => self.lifetime_delta(window)?,
        };
        let Promise { epochs, crowd, .. } = self.promise;
        let total = Account::at(self, delta).total_of(&every_epoch(epochs, window, crowd))?;
        Ok((Epsilon::new(Upper(total.get()).rounded(4))?, delta))
    }

    /// Refuses a promise that is not kept when up to `window` epochs may be merged.
    pub(crate) fn verify(&self, window: u64) -> Result<(), Error> {
        let Promise { epsilon, delta, crowd, lifetime, .. } = self.promise;
        let profile = self.mechanism.profile(crowd)?;
        let reached = profile.delta(epsilon).upper;
        // Not a number: no promise is kept.
        let kept = reached <= delta.get();
        if !kept {
            let remedy = self.remedy();
            let (crowd, epsilon) = (crowd.get(), epsilon.get());
            let reason = format!(
                "with {crowd} honest reports delta is {:e} at epsilon {epsilon}, not {:e}",
                Upper(reached).rounded(4),
                delta.get()
            );
            return Err(Error::Promise { reason, remedy });
        }
        if self.charged_once() && profile.delta(lifetime.0).upper <= lifetime.1.get() {
            return Ok(());
        }
        self.verify_lifetime(window)
    }

    fn verify_lifetime(&self, window: u64) -> Result<(), Error> {
        let Promise { epochs, crowd, lifetime: (epsilon, delta), .. } = self.promise;
        let (mut account, all) = (Account::new(self), every_epoch(epochs, window, crowd));
        // Most promises are kept, and that is seen for less than what they cost.
        let seen = account.lifetime.plainly_within(&all, epsilon, |honest| self.profile(honest));
        if matches!(seen, Ok(true)) {
            return Ok(());
        }
        let total = match account.total_of(&all) {
            Ok(total) => total,
            Err(Error::Account(throng_account::Error::Unreachable { least, .. })) => {
                let at = delta.get();
                let reason = format!("no epsilon covers {epochs} epochs at lifetime_delta {at:e}");
                let least = Upper(round::up(least)).rounded(4);
                let remedy = format!("lifetime_delta has to be above {least:e}");
                return Err(Error::Promise { reason, remedy });
            }
            Err(error) => return Err(error),
        };
        let covered = total <= epsilon;
        if !covered {
            let (total, at, promised) = (Upper(total.get()).rounded(4), delta.get(), epsilon.get());
            let reason =
                format!("{epochs} epochs cost epsilon {total} at delta {at:e}, not {promised}");
            let remedy = format!("promise lifetime_epsilon = {total}, or fewer epochs");
            return Err(Error::Promise { reason, remedy });
        }
        Ok(())
    }

    /// A change that would do: a crowd of at most a thousand times the promised one, or another ε.
    /// The search is short, as a file may be made to hold up its readers.
    fn remedy(&self) -> String {
        let Promise { epsilon, delta, crowd, .. } = self.promise;
        let profile = |crowd| self.mechanism.profile(crowd).ok();
        let Some(remedy) = calibrate::remedy(profile, crowd, epsilon, delta, SEARCH) else {
            return "it needs more honest reports, a larger epsilon, or more noise".into();
        };
        let crowd = remedy.crowd.map(|enough| format!("{} honest reports", enough.get()));
        let epsilon = remedy.epsilon.map(|all| format!("epsilon {}", Upper(all.get()).rounded(4)));
        let ways = crowd.into_iter().chain(epsilon).chain(["more noise".into()]);
        format!("it needs {}", ways.collect::<Vec<_>>().join(", or "))
    }

    fn charged_once(&self) -> bool {
        self.promise.epochs == 1 || self.spending() == Spending::Lifetime
    }

    fn lifetime_delta(&self, window: u64) -> Result<Delta, Error> {
        let Promise { delta, crowd, epochs, .. } = self.promise;
        if self.spending() != Spending::PerEpoch {
            return Ok(delta);
        }
        let ample = ample_delta(epochs, window, delta, || self.profile(crowd))?;
        Delta::new(Upper(ample).rounded(4)).map_err(|_| Error::Promise {
            reason: format!("nothing can be said of {epochs} epochs, {window} of them merged"),
            remedy: "it needs fewer epochs, a smaller window, or smaller epsilon and delta".into(),
        })
    }
}

/// The budget spent by a person who takes part in every epoch. It keeps the profiles it has
/// computed.
///
/// ```
/// use throng_account::{Crowd, Probability, Threshold};
/// use throng_collection::{Account, Disclosure, example};
/// use throng_mechanism::{Bloom, Mechanism, Rappor};
///
/// // With `rappor` a device shows one memoized response again and again: each release costs less
/// // than the one before, and all of them at most 4·ln 3.
/// let coin = |p| Probability::new("coin", p).map(Threshold::at_least);
/// let rappor = Rappor::new(Bloom::new(64, 2, 4, 7)?, coin(0.5)?, coin(0.5)?, coin(0.75)?)?;
/// let mut terms = example::terms();
/// terms.mechanism = Mechanism::Rappor(rappor);
/// terms.promise.epochs = 10;
///
/// let mut account = Account::new(&terms);
/// let release = Disclosure { epochs: 1, honest: Crowd::new(1000)? };
/// let one = account.total(&[release])?.get();
/// let two = account.total(&[release; 2])?.get();
/// let ten = account.total(&[release; 10])?.get();
/// assert!(one < two && two < 2.0 * one && ten < 4.0 * 3_f64.ln());
/// # Ok::<(), throng_collection::Error>(())
/// ```
pub struct Account {
    terms: Terms,
    lifetime: Lifetime,
}

impl Account {
    /// An account at the δ of the promised lifetime.
    pub fn new(terms: &Terms) -> Self {
        Self::at(terms, terms.promise.lifetime.1)
    }

    /// An account at another δ.
    pub fn at(terms: &Terms, delta: Delta) -> Self {
        let Promise { crowd, epochs, .. } = terms.promise;
        let lifetime = match terms.spending() {
            Spending::PerEpoch => Lifetime::per_epoch(crowd, epochs, delta),
            Spending::Lifetime => Lifetime::once(delta),
            Spending::Memoized => {
                let mechanism = terms.mechanism.clone();
                Lifetime::memoized(move |reports| mechanism.memoized(reports))
            }
        };
        Self { terms: terms.clone(), lifetime }
    }

    /// The cost of all these releases for a person who has a report in every epoch of each, as
    /// [`Lifetime::total`].
    pub fn total(&mut self, releases: &[Disclosure]) -> Result<Epsilon, Error> {
        let once: Vec<(Disclosure, u64)> = releases.iter().map(|release| (*release, 1)).collect();
        self.total_of(&once)
    }

    /// The cost of releases that are repeated, each this number of times.
    fn total_of(&mut self, releases: &[(Disclosure, u64)]) -> Result<Epsilon, Error> {
        self.lifetime.total(releases, |honest| self.terms.profile(honest))
    }
}

impl Promise {
    /// A warning in plain words, if the ε of all epochs together is above [`HIGH_EPSILON`].
    ///
    /// Of two sets of answers that were as likely as each other, whoever sees all releases names
    /// the wrong one with probability `(1 − δ)/(1 + e^ε)` at least (Kairouz, Oh, Viswanath, The
    /// Composition Theorem for Differential Privacy, 2015, Theorem 2.1). Rounded down.
    ///
    /// ```
    /// use throng_account::Epsilon;
    /// use throng_collection::example;
    ///
    /// let mut promise = example::terms().promise;
    /// assert_eq!(promise.caution(), None);
    /// promise.lifetime.0 = Epsilon::new(12.0)?;
    /// assert!(promise.caution().unwrap().contains("1 time in 162,756"));
    /// # Ok::<(), throng_account::Error>(())
    /// ```
    pub fn caution(&self) -> Option<String> {
        let (epsilon, delta) = (self.lifetime.0.get(), self.lifetime.1.get());
        if epsilon <= HIGH_EPSILON {
            return None;
        }
        let times = round::up((epsilon.exp() + 1.0) / (1.0 - delta)).ceil();
        let wrong = if times < 1e15 {
            format!("wrong no more than 1 time in {}", Count(times as u64))
        } else {
            "hardly ever wrong".into()
        };
        Some(format!(
            "This is no promise of privacy: epsilon {epsilon} over all epochs allows that somebody \
             who sees all results, and who before them would have guessed your answers at even \
             odds, is {wrong}."
        ))
    }
}

/// The ε of all epochs together above which a promise is called none.
pub const HIGH_EPSILON: f64 = 10.0;

/// The terms of laws that a search for a remedy may visit: some seconds.
const SEARCH: u64 = 200_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collection;
    use crate::collection::testing::{collection, rich_collection};
    use crate::example;
    use throng_account::measured;
    use throng_mechanism::{Key, Mechanism, Question};
    use throng_wire::Below;

    fn disclosure(epochs: u64, honest: u64) -> Disclosure {
        Disclosure { epochs, honest: Crowd::new(honest).unwrap() }
    }

    fn asked(mut terms: Terms, epochs: u64) -> Terms {
        terms.promise.epochs = epochs;
        terms.promise.lifetime = terms.lifetime(1, None).unwrap();
        terms
    }

    #[test]
    fn a_promise_that_is_not_kept_is_refused_and_what_would_do_does() {
        let mut terms = collection().terms;
        terms.promise.crowd = Crowd::new(600).unwrap();
        let Err(Error::Promise { reason, remedy }) = Terms::parse(&terms.to_toml()) else {
            panic!("a crowd of 600 keeps it");
        };
        assert!(reason.contains("with 600 honest reports"), "{reason}");
        let words: Vec<&str> = remedy.split([' ', ',']).collect();
        assert_eq!(words[..2], ["it", "needs"]);
        let mut more = terms.clone();
        more.promise.crowd = Crowd::new(words[2].parse().unwrap()).unwrap();
        // Calibration leaves little to spare.
        assert!((950..=1_001).contains(&more.promise.crowd.get()), "{remedy}");
        assert_eq!(Terms::parse(&more.to_toml()), Ok(more));
        let place = words.iter().position(|word| *word == "epsilon").unwrap();
        terms.promise.epsilon = Epsilon::new(words[place + 1].parse().unwrap()).unwrap();
        terms.promise.lifetime.0 = terms.promise.epsilon;
        assert_eq!(Terms::parse(&terms.to_toml()), Ok(terms));
    }

    #[test]
    fn a_lifetime_covers_all_epochs() {
        let terms = asked(collection().terms, 30);
        let (epsilon, delta) = terms.promise.lifetime;
        assert_eq!(Terms::parse(&terms.to_toml()), Ok(terms.clone()));
        let mut short = terms.clone();
        short.promise.lifetime.0 = Epsilon::new(0.99 * epsilon.get()).unwrap();
        let error = Terms::parse(&short.to_toml()).unwrap_err().to_string();
        assert!(error.contains(&format!("lifetime_epsilon = {}", epsilon.get())), "{error}");
        // Merging costs more than asking apart, and the schedule decides.
        let merging = Collection { terms: terms.clone(), ..rich_collection() };
        let error = Collection::parse(&merging.to_toml()).unwrap_err().to_string();
        assert!(error.contains("30 epochs cost epsilon"), "{error}");
        let merged = terms.lifetime(2, Some(delta)).unwrap();
        assert!(merged.0 > epsilon);
        let collection = rich_collection();
        assert_eq!(Collection::parse(&collection.to_toml()), Ok(collection));
    }

    /// A file is verified by a glance where one will do. What is accepted and what is refused is
    /// what the total says, up to the last digit of it.
    #[test]
    fn a_lifetime_is_verified_as_its_total_says() {
        for (key, question) in [
            (Key::BitSum, Question::Bit),
            (Key::CoinCount, Question::Bit),
            (Key::KaryResponse, Question::Category { size: 3 }),
            (Key::AdditiveHistogram, Question::Category { size: 3 }),
            (Key::LaplaceMean, Question::Real),
            (Key::SplitAndMix, Question::Real),
            (Key::Rappor, Question::Text { bits: 64, hashes: 2, cohorts: 8 }),
        ] {
            let mut terms = example::asked(question, key);
            for (epochs, window) in [(1, 1), (2, 1), (30, 1), (30, 4), (1_000, 1)] {
                if window > 1 && key == Key::Rappor {
                    continue;
                }
                terms.promise.epochs = epochs;
                terms.promise.lifetime.1 = Delta::new(0.01).unwrap();
                let all = every_epoch(epochs, window, terms.promise.crowd);
                let total = Account::new(&terms).total_of(&all);
                for share in [0.5, 0.999, 1.0 - 1e-9, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 1.001, 3.0] {
                    let epsilon = share * total.as_ref().map_or(1.0, |total| total.get());
                    terms.promise.lifetime.0 = Epsilon::new(epsilon).unwrap();
                    let kept = terms.verify_lifetime(window).is_ok();
                    let expected = total.as_ref().is_ok_and(|total| total.get() <= epsilon);
                    assert_eq!(kept, expected, "{key}, {epochs}, {window}: {share} of {total:?}");
                }
            }
        }
    }

    #[test]
    fn what_was_spent_stays_within_what_was_promised() {
        let terms = asked(collection().terms, 30);
        let mut account = Account::new(&terms);
        assert_eq!(account.total(&[]), Ok(Epsilon::ZERO));
        let mut releases = Vec::new();
        let mut before = Epsilon::ZERO;
        for epoch in 0..30 {
            releases.push(disclosure(1, 1_000 + 137 * epoch));
            if epoch % 10 == 9 {
                let total = account.total(&releases).unwrap();
                assert!(total > before && total <= terms.promise.lifetime.0);
                before = total;
            }
        }
        // Larger crowds cost less, and smaller ones than promised more.
        assert!(before.get() < 0.8 * terms.promise.lifetime.0.get());
        let least = account.total(&vec![disclosure(1, 1_000); 30]).unwrap();
        assert!(before < least && least <= terms.promise.lifetime.0);
        let small = account.total(&vec![disclosure(1, 500); 30]).unwrap();
        assert!(small > least);
        // Merged epochs are covered by group privacy, one by one and all together.
        let (epsilon, delta) = terms.cost(disclosure(3, 1_000)).unwrap();
        assert!((2.99..3.0 + 1e-6).contains(&epsilon.get()), "{epsilon:?}");
        let factor =
            1.0 + epsilon.get().exp().powf(1.0 / 3.0) + epsilon.get().exp().powf(2.0 / 3.0);
        assert!((delta.get() / (1e-6 * factor) - 1.0).abs() < 1e-6);
        let merged = account.total(&[disclosure(3, 1_000), disclosure(3, 1_200)]).unwrap();
        assert!(merged > account.total(&[disclosure(1, 1_000); 6]).unwrap());
    }

    // An analyzer that reckons with more than the promise would never publish it.
    #[test]
    fn the_least_crowd_of_a_question_that_is_asked_once_is_within_the_promise() {
        for key in [Key::BitSum, Key::CoinCount, Key::TwoMessageCount, Key::BurstCount] {
            let terms = asked(example::asked(Question::Bit, key), 1);
            let least = disclosure(1, terms.promise.crowd.get());
            let total = Account::new(&terms).total(&[least]).unwrap();
            assert!(total <= terms.promise.lifetime.0, "{key}: {total:?}");
        }
    }

    #[test]
    fn a_life_is_charged_once() {
        let life = Question::State { periods: 8, changes: 1 };
        let terms = asked(example::asked(life, Key::Longitudinal), 8);
        assert_eq!(terms.spending(), Spending::Lifetime);
        assert_eq!(terms.promise.lifetime, (terms.promise.epsilon, terms.promise.delta));
        let once = Account::new(&terms).total(&[disclosure(1, 1_000)]).unwrap();
        assert_eq!(
            Account::new(&terms).total(&[disclosure(1, 1_000), disclosure(1, 3_000)]),
            Ok(once)
        );
        assert!(once <= terms.promise.epsilon && once.get() > 0.999);
        assert!(Terms::parse(&terms.to_toml()).is_ok());
    }

    #[test]
    fn a_remembered_string_is_charged_without_a_crowd() {
        let text = Question::Text { bits: 64, hashes: 2, cohorts: 8 };
        let once = example::asked(text, Key::Rappor);
        assert_eq!(once.spending(), Spending::PerEpoch);
        let terms = asked(once, 50);
        assert_eq!(terms.spending(), Spending::Memoized);
        let Mechanism::Rappor(rappor) = &terms.mechanism else { unreachable!() };
        let (one, all) = (rappor.privacy().one_report(), rappor.privacy().forever());
        assert_eq!(Account::new(&terms).total(&[disclosure(1, 1_000)]), Ok(one));
        let total = Account::new(&terms).total(&[disclosure(1, 1_000); 50]).unwrap();
        assert!(total > one && total <= all && total <= terms.promise.lifetime.0);
        assert!(Terms::parse(&terms.to_toml()).is_ok());
        // Its reports hang together: a merged bag is not covered by what holds for single ones.
        let mut merging = collection();
        merging.terms = terms;
        merging.schedule.below = Below::Merge { window: 2 };
        let error = Collection::parse(&merging.to_toml()).unwrap_err().to_string();
        assert!(error.starts_with("schedule.below: rappor cannot merge"), "{error}");
    }

    // The table of this mechanism outgrows the accountant at ten times the crowd. An analyzer that
    // cannot say what a release costs would never publish it, nor what comes after.
    #[test]
    fn a_crowd_too_large_to_reckon_with_costs_no_more_than_a_smaller_one() {
        let terms = asked(example::asked(Question::Category { size: 3 }, Key::BurstHistogram), 2);
        let (many, more) = (disclosure(1, 10_000), disclosure(1, 10_000_000_000));
        assert!(terms.mechanism.profile(many.honest).is_err());
        let (epsilon, _) = terms.cost(many).unwrap();
        assert!(epsilon < terms.promise.epsilon && terms.cost(more).is_ok());
        let total = Account::new(&terms).total(&[many, more]).unwrap();
        assert!(total >= epsilon && total <= terms.promise.lifetime.0);
        // Fewer than promised is another matter.
        assert!(terms.profile(Crowd::new(1).unwrap()).is_err());
    }

    // One ε of this promise takes a hundred looks of 7 million terms each, and files come from
    // others.
    #[test]
    fn a_file_does_not_hold_up_its_reader_with_what_would_do() {
        let mut terms = example::asked(Question::Attributes { count: 64 }, Key::Selection);
        terms.promise.crowd = Crowd::new(1_000_000_000).unwrap();
        terms.promise.epsilon = Epsilon::new(1e-9).unwrap();
        terms.promise.delta = Delta::new(1e-100).unwrap();
        let (parsed, visited) = measured(|| Terms::parse(&terms.to_toml()));
        let error = parsed.unwrap_err().to_string();
        assert!(error.contains("it needs more honest reports"), "{error}");
        assert!(visited < SEARCH);
    }

    #[test]
    fn numbers_to_tell_are_rounded_up() {
        for value in [1.0, 0.12345, 9.9999, 12_345.6, 3.65e-6, 1e-8, 0.1 + 0.2] {
            let told = Upper(value).rounded(4);
            assert!(told >= value && told <= value * 1.001_001, "{value}: {told}");
            assert!(format!("{told:e}").split('e').next().unwrap().len() <= 5, "{told}");
        }
    }
}
