//! Whether a mechanism keeps its promise, and what a person spends over many epochs.

use super::table::{Table, outward, pair_together};
use super::{Promise, Terms};
use crate::Error;
use std::collections::BTreeMap;
use throng_account::{Composition, Crowd, Delta, Epsilon, Profile, terms_visited};
use throng_mechanism::Spending;

/// One release that has been made.
///
/// ```
/// # use throng_account::Crowd;
/// # use throng_wire::{Spent, Terms};
/// # let terms = Terms::parse(r#"
/// # question = { text = "Do you cycle to work?", value = "bit" }
/// # promise = { epsilon = 1.0, delta = 1e-6, crowd = 1000, epochs = 1, lifetime_epsilon = 1.0,
/// #             lifetime_delta = 1e-6 }
/// # mechanism = { key = "bit-sum", flip = "567064570277940032" }
/// # "#)?;
/// // Promised is ε = 1 among a thousand. Among ten thousand, the same report costs a third.
/// let (epsilon, _) = terms.cost(Spent { epochs: 1, honest: Crowd::new(10_000)? })?;
/// assert!(epsilon.get() < 0.34);
///
/// // Two epochs merged into one release show two reports of one person.
/// let (both, _) = terms.cost(Spent { epochs: 2, honest: Crowd::new(10_000)? })?;
/// assert!(both.get() >= 2.0 * epsilon.get());
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spent {
    /// Epochs that were merged into it; 1 if none were.
    pub epochs: u64,
    /// Honest reports in it.
    pub honest: Crowd,
}

impl Terms {
    /// How the losses of several epochs add up. A memory that is used once changes nothing.
    ///
    /// ```
    /// # use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold};
    /// # use throng_mechanism::{Bloom, Mechanism, Rappor};
    /// # use throng_wire::{Promise, Prompt, Spending, Terms};
    /// # let coin = |p| Probability::new("coin", p).map(Threshold::at_least);
    /// # let rappor = Rappor::new(Bloom::new(64, 2, 4, 7)?, coin(0.5)?, coin(0.5)?, coin(0.75)?)?;
    /// # let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
    /// # let lifetime = (rappor.privacy().forever(), delta);
    /// # let promise =
    /// #     Promise { epsilon, delta, crowd: Crowd::new(1000)?, corrupt: 0.0, epochs: 10, lifetime };
    /// # let question = Prompt::new("Which browser is it?");
    /// # let terms = Terms { question, promise, mechanism: Mechanism::Rappor(rappor) };
    /// // `rappor` in ten epochs, and in one.
    /// assert_eq!(terms.spending(), Spending::Memoized);
    /// let once = Terms { promise: Promise { epochs: 1, ..terms.promise }, ..terms };
    /// assert_eq!(once.spending(), Spending::PerEpoch);
    /// # Ok::<(), throng_wire::Error>(())
    /// ```
    pub fn spending(&self) -> Spending {
        match self.mechanism.spending() {
            Spending::Memoized if self.promise.epochs <= 1 => Spending::PerEpoch,
            spending => spending,
        }
    }

    /// The profile of one report among `honest` ones. Where the accountant cannot reckon with so many,
    /// fewer are taken, down to the promised crowd: a bound for every larger one.
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

    /// What one release among `honest` reports costs a person who has a report in each of its `epochs`,
    /// rounded up: ε at the promised δ for one epoch, and by group privacy for several.
    pub fn cost(&self, Spent { epochs, honest }: Spent) -> Result<(Epsilon, Delta), Error> {
        let guarantee = self.profile(honest)?.epsilon(self.promise.delta)?;
        match epochs {
            0 | 1 => Ok((guarantee.epsilon, guarantee.delta)),
            _ => Ok(pair_together((guarantee.epsilon, guarantee.delta), epochs)?),
        }
    }

    /// What all these releases cost together, as [`Account::total`].
    pub fn spent(&self, releases: &[Spent]) -> Result<Epsilon, Error> {
        Account::new(self).total(releases)
    }

    /// The lifetime to promise when up to `window` epochs may be merged: what all epochs cost at the
    /// promised crowd, ε rounded up to four digits. Without a `delta` one is chosen: twice the sum of
    /// those of all epochs, or what groups need.
    pub fn lifetime(&self, window: u64, delta: Option<Delta>) -> Result<(Epsilon, Delta), Error> {
        if self.charged_once() && delta.is_none_or(|delta| delta >= self.promise.delta) {
            return Ok((self.promise.epsilon, delta.unwrap_or(self.promise.delta)));
        }
        let delta = match delta {
            Some(delta) => delta,
            None => self.lifetime_delta(window)?,
        };
        let total = Account::at(self, delta).total_of(&self.every_epoch(window))?;
        Ok((Epsilon::new(four_digits(total.get()))?, delta))
    }

    /// Refuses a promise that is not kept when up to `window` epochs may be merged.
    pub(super) fn verify(&self, window: u64) -> Result<(), Error> {
        let Promise { epsilon, delta, crowd, lifetime, .. } = self.promise;
        let profile = self.mechanism.profile(crowd)?;
        let before = terms_visited();
        let reached = profile.delta(epsilon).upper;
        // What is not a number keeps nothing.
        let kept = reached <= delta.get();
        if !kept {
            let remedy = self.remedy(&*profile, terms_visited() - before);
            let (crowd, epsilon) = (crowd.get(), epsilon.get());
            let reason = format!(
                "with {crowd} honest reports delta is {reached:.3e} at epsilon {epsilon}, not {:e}",
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
        let Promise { epochs, lifetime: (epsilon, delta), .. } = self.promise;
        let total = match Account::new(self).total_of(&self.every_epoch(window)) {
            Ok(total) => total,
            Err(Error::Account(throng_account::Error::Unreachable { least, .. })) => {
                let at = delta.get();
                let reason = format!("no epsilon covers {epochs} epochs at lifetime_delta {at:e}");
                let remedy = format!("lifetime_delta has to be above {:.3e}", outward(least));
                return Err(Error::Promise { reason, remedy });
            }
            Err(error) => return Err(error),
        };
        let covered = total <= epsilon;
        if !covered {
            let (total, at, promised) = (four_digits(total.get()), delta.get(), epsilon.get());
            let reason =
                format!("{epochs} epochs cost epsilon {total} at delta {at:e}, not {promised}");
            let remedy = format!("promise lifetime_epsilon = {total}, or fewer epochs");
            return Err(Error::Promise { reason, remedy });
        }
        Ok(())
    }

    /// What would do instead: a crowd of at most a thousand times the promised one, or another ε. It is
    /// not looked for long, as a file may be made to hold up its readers: `look` is what one δ costs.
    fn remedy(&self, profile: &dyn Profile, look: u64) -> String {
        let Promise { epsilon, delta, crowd, .. } = self.promise;
        if look > SEARCH / 100 {
            return "it needs more honest reports, a larger epsilon, or more noise".into();
        }
        let begin = terms_visited();
        let keeps = |n: u64| {
            if terms_visited() - begin > SEARCH {
                return false;
            }
            let profile = Crowd::new(n).ok().and_then(|n| self.mechanism.profile(n).ok());
            profile.is_some_and(|profile| profile.delta(epsilon).upper <= delta.get())
        };
        let mut ways = Vec::new();
        let mut doubled = (1..=10).map(|k| crowd.get() << k);
        if let Some(mut enough) = doubled.find(|n| keeps(*n)) {
            let mut short = enough / 2;
            while enough - short > 1 + enough / 1_000 {
                let middle = short + (enough - short) / 2;
                if keeps(middle) {
                    enough = middle;
                } else {
                    short = middle;
                }
            }
            ways.push(format!("{enough} honest reports"));
        }
        if let Ok(guarantee) = profile.epsilon(delta) {
            ways.push(format!("epsilon {}", four_digits(guarantee.epsilon.get())));
        }
        ways.push("more noise".into());
        format!("it needs {}", ways.join(", or "))
    }

    fn charged_once(&self) -> bool {
        self.promise.epochs == 1 || self.spending() == Spending::Lifetime
    }

    /// A release for every window, each with all of its epochs: nothing that can happen costs more. A
    /// group costs at least as much as its epochs apart, and a larger crowd no more than a smaller one.
    fn every_epoch(&self, window: u64) -> Vec<(Spent, u64)> {
        let Promise { epochs, crowd: honest, .. } = self.promise;
        let (full, rest) = (epochs / window, epochs % window);
        let all = [(window, full), (rest, 1)].into_iter().filter(|(epochs, n)| epochs * n > 0);
        all.map(|(epochs, times)| (Spent { epochs, honest }, times)).collect()
    }

    fn lifetime_delta(&self, window: u64) -> Result<Delta, Error> {
        let Promise { delta, crowd, epochs, .. } = self.promise;
        if self.spending() != Spending::PerEpoch {
            return Ok(delta);
        }
        let sum = epochs as f64 * delta.get();
        let groups = epochs.div_ceil(window) as f64;
        let mut least = 0.0;
        if window > 1 {
            let one = Table::new(&*self.profile(crowd)?, window, 1e-6 * sum / groups)?;
            least = one.together(window)?.least();
        }
        let delta = four_digits(2.0 * sum.max(groups * least));
        Delta::new(delta).map_err(|_| Error::Promise {
            reason: format!("nothing can be said of {epochs} epochs, {window} of them merged"),
            remedy: "it needs fewer epochs, a smaller window, or smaller epsilon and delta".into(),
        })
    }
}

/// What a person who takes part in every epoch has spent. It keeps the profiles it has looked at.
///
/// ```
/// # use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold};
/// # use throng_mechanism::{Bloom, Mechanism, Rappor};
/// # use throng_wire::{Account, Promise, Prompt, Spent, Terms};
/// # let coin = |p| Probability::new("coin", p).map(Threshold::at_least);
/// # let rappor = Rappor::new(Bloom::new(64, 2, 4, 7)?, coin(0.5)?, coin(0.5)?, coin(0.75)?)?;
/// # let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// # let lifetime = (rappor.privacy().forever(), delta);
/// # let promise =
/// #     Promise { epsilon, delta, crowd: Crowd::new(1000)?, corrupt: 0.0, epochs: 10, lifetime };
/// # let question = Prompt::new("Which browser is it?");
/// # let terms = Terms { question, promise, mechanism: Mechanism::Rappor(rappor) };
/// // With `rappor` a device shows one memoized response again and again: each release costs less than
/// // the one before, and all of them at most 4·ln 3.
/// let mut account = Account::new(&terms);
/// let release = Spent { epochs: 1, honest: Crowd::new(1000)? };
/// let one = account.total(&[release])?.get();
/// let two = account.total(&[release; 2])?.get();
/// let ten = account.total(&[release; 10])?.get();
/// assert!(one < two && two < 2.0 * one && ten < 4.0 * 3_f64.ln());
/// # Ok::<(), throng_wire::Error>(())
/// ```
pub struct Account {
    terms: Terms,
    delta: Delta,
    profiles: BTreeMap<(Crowd, u64), Table>,
}

impl Account {
    /// At the δ of the promised lifetime.
    pub fn new(terms: &Terms) -> Self {
        Self::at(terms, terms.promise.lifetime.1)
    }

    /// At another δ.
    pub fn at(terms: &Terms, delta: Delta) -> Self {
        Self { terms: terms.clone(), delta, profiles: BTreeMap::new() }
    }

    /// What all these releases cost a person who has a report in every epoch of each: the total ε, rounded
    /// up.
    ///
    /// Crowds are rounded down to two digits, though not below the promised one, so that many releases
    /// share a profile. That is on the safe side: the bag of a larger crowd is made from that of a
    /// smaller one by adding the reports of others, whose randomness is their own.
    ///
    /// The crowds are to be independent of what was released before; a lifetime that was promised rests
    /// on the promised crowd alone.
    pub fn total(&mut self, releases: &[Spent]) -> Result<Epsilon, Error> {
        let mut kinds: BTreeMap<Spent, u64> = BTreeMap::new();
        for release in releases {
            *kinds.entry(*release).or_default() += 1;
        }
        self.total_of(&kinds.into_iter().collect::<Vec<_>>())
    }

    /// The same of releases that come so many times.
    fn total_of(&mut self, releases: &[(Spent, u64)]) -> Result<Epsilon, Error> {
        let Some(smallest) = releases.iter().map(|(release, _)| release.honest).min() else {
            return Ok(Epsilon::ZERO);
        };
        match self.terms.spending() {
            Spending::PerEpoch => self.composed(releases),
            Spending::Lifetime => Ok(self.terms.profile(smallest)?.epsilon(self.delta)?.epsilon),
            Spending::Memoized => {
                let reports = releases.iter().map(|(release, times)| release.epochs.max(1) * times);
                let together = self.terms.mechanism.memoized(reports.sum());
                together.map_or_else(|| self.composed(releases), Ok)
            }
        }
    }

    /// The smaller of what it was and what at least was promised: as safe, and it does not pass the
    /// promised lifetime by what many grids add.
    fn composed(&mut self, releases: &[(Spent, u64)]) -> Result<Epsilon, Error> {
        let promised = self.terms.promise.crowd;
        // One release has nothing to share its profile with.
        let alone = matches!(releases, [(_, 1)]);
        let share = |honest| if alone { honest } else { rounded_down(honest, promised) };
        let actual = self.compose(releases, share);
        if releases.iter().any(|(release, _)| release.honest < promised) {
            return actual;
        }
        match (actual, self.compose(releases, |_| promised)) {
            (Ok(actual), Ok(least)) => Ok(if least < actual { least } else { actual }),
            (actual, least) => least.or(actual),
        }
    }

    fn compose(
        &mut self,
        releases: &[(Spent, u64)],
        crowd: impl Fn(Crowd) -> Crowd,
    ) -> Result<Epsilon, Error> {
        let mut kinds: BTreeMap<(Crowd, u64), u64> = BTreeMap::new();
        for (Spent { epochs, honest }, times) in releases {
            *kinds.entry((crowd(*honest), (*epochs).max(1))).or_default() += times;
        }
        for &(honest, epochs) in kinds.keys() {
            self.look_at(honest, epochs)?;
        }
        let all = kinds
            .iter()
            .fold(Composition::new(), |all, (kind, times)| all.and(&self.profiles[kind], *times));
        Ok(all.epsilon(self.delta)?)
    }

    fn look_at(&mut self, honest: Crowd, epochs: u64) -> Result<(), Error> {
        if self.profiles.contains_key(&(honest, epochs)) {
            return Ok(());
        }
        // What is cut off in all epochs together is a small part of δ.
        let floor = 1e-4 * self.delta.get() / self.terms.promise.epochs as f64;
        let one = Table::new(&*self.terms.profile(honest)?, epochs, floor)?;
        let table = if epochs == 1 { one } else { one.together(epochs)? };
        self.profiles.insert((honest, epochs), table);
        Ok(())
    }
}

/// To two digits, twenty steps per decade, but not below the promised crowd unless it is.
fn rounded_down(honest: Crowd, promised: Crowd) -> Crowd {
    let unit = 10_u64.pow(honest.get().ilog10().saturating_sub(1));
    let step = STEPS.iter().rev().find(|step| **step * unit <= honest.get());
    let rounded = step.and_then(|step| Crowd::new(step * unit).ok()).unwrap_or(honest);
    rounded.max(promised.min(honest))
}

/// Rounded up to four significant digits.
pub(super) fn four_digits(value: f64) -> f64 {
    if value <= 0.0 {
        return value;
    }
    let nearest = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
    let unit = 10_f64.powi(value.log10().floor() as i32 - 3);
    let rounded: f64 = nearest(value);
    if rounded >= value { rounded } else { nearest(rounded + unit) }
}

/// Terms of laws that are looked at for what would do: some seconds.
const SEARCH: u64 = 200_000_000;
/// Some 12 % apart.
const STEPS: [u64; 20] =
    [10, 11, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 45, 50, 56, 63, 71, 80, 90];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::testing::{collection, rich_collection, terms};
    use crate::{Below, Collection};
    use throng_mechanism::{Key, Mechanism, Question};

    fn spent(epochs: u64, honest: u64) -> Spent {
        Spent { epochs, honest: Crowd::new(honest).unwrap() }
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

    #[test]
    fn what_was_spent_stays_within_what_was_promised() {
        let terms = asked(collection().terms, 30);
        let mut account = Account::new(&terms);
        assert_eq!(account.total(&[]), Ok(Epsilon::ZERO));
        let mut releases = Vec::new();
        let mut before = Epsilon::ZERO;
        for epoch in 0..30 {
            releases.push(spent(1, 1_000 + 137 * epoch));
            if epoch % 10 == 9 {
                let total = account.total(&releases).unwrap();
                assert!(total > before && total <= terms.promise.lifetime.0);
                before = total;
            }
        }
        // Larger crowds cost less, and smaller ones than promised more.
        assert!(before.get() < 0.8 * terms.promise.lifetime.0.get());
        let least = account.total(&vec![spent(1, 1_000); 30]).unwrap();
        assert!(before < least && least <= terms.promise.lifetime.0);
        let small = account.total(&vec![spent(1, 500); 30]).unwrap();
        assert!(small > least);
        // Merged epochs are covered by group privacy, one by one and all together.
        let (epsilon, delta) = terms.cost(spent(3, 1_000)).unwrap();
        assert!((2.99..3.0 + 1e-6).contains(&epsilon.get()), "{epsilon:?}");
        let factor =
            1.0 + epsilon.get().exp().powf(1.0 / 3.0) + epsilon.get().exp().powf(2.0 / 3.0);
        assert!((delta.get() / (1e-6 * factor) - 1.0).abs() < 1e-6);
        let merged = account.total(&[spent(3, 1_000), spent(3, 1_200)]).unwrap();
        assert!(merged > account.total(&[spent(1, 1_000); 6]).unwrap());
    }

    #[test]
    fn a_life_is_charged_once() {
        let life = Question::State { periods: 8, changes: 1 };
        let terms = asked(terms(life, Key::Longitudinal, 1.0), 8);
        assert_eq!(terms.spending(), Spending::Lifetime);
        assert_eq!(terms.promise.lifetime, (terms.promise.epsilon, terms.promise.delta));
        let once = terms.spent(&[spent(1, 1_000)]).unwrap();
        assert_eq!(terms.spent(&[spent(1, 1_000), spent(1, 3_000)]), Ok(once));
        assert!(once <= terms.promise.epsilon && once.get() > 0.999);
        assert!(Terms::parse(&terms.to_toml()).is_ok());
    }

    #[test]
    fn a_remembered_string_is_charged_without_a_crowd() {
        let text = Question::Text { bits: 64, hashes: 2, cohorts: 8 };
        let once = terms(text, Key::Rappor, 1.0);
        assert_eq!(once.spending(), Spending::PerEpoch);
        let terms = asked(once, 50);
        assert_eq!(terms.spending(), Spending::Memoized);
        let Mechanism::Rappor(rappor) = &terms.mechanism else { unreachable!() };
        let (one, all) = (rappor.privacy().one_report(), rappor.privacy().forever());
        assert_eq!(terms.spent(&[spent(1, 1_000)]), Ok(one));
        let total = terms.spent(&[spent(1, 1_000); 50]).unwrap();
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
        let terms = asked(terms(Question::Category { size: 3 }, Key::BurstHistogram, 1.0), 2);
        let (many, more) = (spent(1, 10_000), spent(1, 10_000_000_000));
        assert!(terms.mechanism.profile(many.honest).is_err());
        let (epsilon, _) = terms.cost(many).unwrap();
        assert!(epsilon < terms.promise.epsilon && terms.cost(more).is_ok());
        let total = terms.spent(&[many, more]).unwrap();
        assert!(total >= epsilon && total <= terms.promise.lifetime.0);
        // Fewer than promised is another matter.
        assert!(terms.profile(Crowd::new(1).unwrap()).is_err());
    }

    // One ε of this promise takes a hundred looks of 7 million terms each, and files come from others.
    #[test]
    fn a_file_does_not_hold_up_its_reader_with_what_would_do() {
        let mut terms = terms(Question::Attributes { count: 64 }, Key::Selection, 1.0);
        terms.promise.crowd = Crowd::new(1_000_000_000).unwrap();
        terms.promise.epsilon = Epsilon::new(1e-9).unwrap();
        terms.promise.delta = Delta::new(1e-100).unwrap();
        let before = terms_visited();
        let error = Terms::parse(&terms.to_toml()).unwrap_err().to_string();
        assert!(error.contains("it needs more honest reports"), "{error}");
        assert!(terms_visited() - before < SEARCH);
    }

    #[test]
    fn crowds_are_rounded_down_but_not_below_the_promise() {
        let crowd = |n| Crowd::new(n).unwrap();
        for (honest, promised, expected) in [
            (1_234, 1_000, 1_200),
            (1_399, 1_300, 1_300),
            (99_999, 1, 90_000),
            (7, 1, 7),
            (500, 1_000, 500),
        ] {
            assert_eq!(rounded_down(crowd(honest), crowd(promised)), crowd(expected));
        }
    }

    #[test]
    fn numbers_to_tell_are_rounded_up() {
        for value in [1.0, 0.12345, 9.9999, 12_345.6, 3.65e-6, 1e-8, 0.1 + 0.2] {
            let told = four_digits(value);
            assert!(told >= value && told <= value * 1.001_001, "{value}: {told}");
            assert!(format!("{told:e}").split('e').next().unwrap().len() <= 5, "{told}");
        }
    }
}
