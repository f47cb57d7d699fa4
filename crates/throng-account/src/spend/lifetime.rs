//! The spending of a person who takes part in every epoch of a collection.

use super::Composition;
use super::row::{self, Kind};
use super::table::Table;
use crate::round;
use crate::{Crowd, Delta, Epsilon, Error, Profile};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The disclosure of one release: reports of one person, among so many honest ones.
///
/// ```
/// use throng_account::Crowd;
/// use throng_account::spend::Disclosure;
///
/// // Two epochs merged into one release show two reports of one person.
/// let release = Disclosure { epochs: 2, honest: Crowd::new(10_000)? };
/// assert_eq!(release.honest.get(), 10_000);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Disclosure {
    /// Epochs that were merged into it; 1 if none were.
    pub epochs: u64,
    /// Honest reports in it.
    pub honest: Crowd,
}

/// The privacy cost of all releases of a collection together, with the profiles looked at so far.
///
/// ```
/// use throng_account::profile::ClonePair;
/// use throng_account::spend::{Disclosure, Lifetime};
/// use throng_account::{Crowd, Delta, Epsilon, Error, Profile};
///
/// // Reports with ε₀ = 1, drawn anew in each of ten epochs, among a thousand or more.
/// let profile = |honest| -> Result<Box<dyn Profile>, Error> {
///     Ok(Box::new(ClonePair::strong(honest, Epsilon::new(1.0)?)?))
/// };
/// let mut lifetime = Lifetime::per_epoch(Crowd::new(1_000)?, 10, Delta::new(1e-6)?);
/// let release = Disclosure { epochs: 1, honest: Crowd::new(1_000)? };
/// let one = lifetime.total(&[(release, 1)], profile)?.get();
/// let four = lifetime.total(&[(release, 4)], profile)?.get();
/// assert!((0.148..0.150).contains(&one) && (0.311..0.313).contains(&four));
///
/// // Merged into one bag they cost more, by group privacy.
/// let merged = lifetime.total(&[(Disclosure { epochs: 4, ..release }, 1)], profile)?.get();
/// assert!(merged > 4.0 * one);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub struct Lifetime(Spending);

enum Spending {
    PerEpoch(Rounds),
    Once { delta: Delta },
    Memoized(Box<dyn Fn(u64) -> Option<Epsilon> + Send + Sync>),
}

impl Lifetime {
    /// Every epoch draws its randomness anew, so releases compose: up to `epochs` of them, each
    /// among `promised` honest reports or more, at a δ for all of them.
    pub fn per_epoch(promised: Crowd, epochs: u64, delta: Delta) -> Self {
        let floor = cut_off(epochs, delta);
        let (tables, rows) = (BTreeMap::new(), BTreeMap::new());
        Self(Spending::PerEpoch(Rounds { promised, epochs, delta, floor, tables, rows }))
    }

    /// One profile covers all that a client ever sends: charged once, in the smallest crowd.
    pub fn once(delta: Delta) -> Self {
        Self(Spending::Once { delta })
    }

    /// A response that is remembered and shown again and again: charged by itself, without a crowd,
    /// with δ = 0, for one value that never changes. `cost` gives the ε of a number of reports of
    /// it, if anything is claimed for them.
    pub fn memoized(cost: impl Fn(u64) -> Option<Epsilon> + Send + Sync + 'static) -> Self {
        Self(Spending::Memoized(Box::new(cost)))
    }

    /// The total ε, rounded up, that these releases, each of them so many times, cost a person who
    /// has a report in every epoch of each. `profile` gives the profile of one report in a crowd of
    /// honest ones.
    ///
    /// Crowds are rounded down to two digits, though not below the promised one, so that many
    /// releases share a profile. That is on the safe side: the bag of a larger crowd is made from
    /// that of a smaller one by adding the reports of others, whose randomness is their own.
    ///
    /// The crowds are to be independent of what was released before; a lifetime that was promised
    /// rests on the promised crowd alone.
    pub fn total<E: From<Error>>(
        &mut self,
        releases: &[(Disclosure, u64)],
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<Epsilon, E> {
        let Some(smallest) = releases.iter().map(|(release, _)| release.honest).min() else {
            return Ok(Epsilon::ZERO);
        };
        match &mut self.0 {
            Spending::Once { delta } => Ok(profile(smallest)?.epsilon(*delta)?.epsilon),
            Spending::Memoized(cost) => {
                let reports = releases.iter().map(|(release, times)| release.epochs.max(1) * times);
                let reports = reports.sum();
                let range = "so few that something is claimed for all of them together";
                let unclaimed = Error::OutOfRange { name: "reports", value: reports as f64, range };
                Ok(cost(reports).ok_or(unclaimed)?)
            }
            Spending::PerEpoch(rounds) => rounds.total(releases, profile),
        }
    }
}

impl Lifetime {
    /// True if a glance shows that these releases cost ε at most; where it is false,
    /// [`Self::total`] says what they cost, which may still be no more.
    ///
    /// Whoever checks a promise knows the ε to look at. One δ at it decides, by the same composition
    /// that `total` searches for the ε of one δ, with some ten of them on up to a million places
    /// each; and rows are not looked at where releases one by one will do. Whatever is true here is
    /// at most ε there.
    ///
    /// ```
    /// use throng_account::profile::ClonePair;
    /// use throng_account::spend::{Disclosure, Lifetime};
    /// use throng_account::{Crowd, Delta, Epsilon, Error, Profile};
    ///
    /// let profile = |honest| -> Result<Box<dyn Profile>, Error> {
    ///     Ok(Box::new(ClonePair::strong(honest, Epsilon::new(1.0)?)?))
    /// };
    /// let release = Disclosure { epochs: 1, honest: Crowd::new(1_000)? };
    /// let mut lifetime = Lifetime::per_epoch(release.honest, 10, Delta::new(1e-6)?);
    /// // Four of them cost 0.312.
    /// let [enough, less] = [0.32, 0.31].map(Epsilon::new);
    /// assert!(lifetime.plainly_within(&[(release, 4)], enough?, profile)?);
    /// assert!(!lifetime.plainly_within(&[(release, 4)], less?, profile)?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn plainly_within<E: From<Error>>(
        &mut self,
        releases: &[(Disclosure, u64)],
        epsilon: Epsilon,
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<bool, E> {
        match &mut self.0 {
            // These have nothing to compose.
            Spending::Once { .. } | Spending::Memoized(_) => Ok(false),
            Spending::PerEpoch(rounds) => rounds.plainly_within(releases, epsilon, profile),
        }
    }

    /// An upper bound on δ(0) of these releases together: the distance in total variation of all
    /// that is seen if a person holds one value or another, which is what an attacker gains over
    /// guessing.
    ///
    /// ```
    /// use throng_account::profile::WorstCase;
    /// use throng_account::spend::{Disclosure, Lifetime};
    /// use throng_account::{Crowd, Delta, Epsilon, Error, Profile};
    ///
    /// // Two answers that are right three times in four: half of the time they differ and say
    /// // nothing, and otherwise they are right nine times in ten.
    /// let profile = |_| -> Result<Box<dyn Profile>, Error> {
    ///     Ok(Box::new(WorstCase::new(Epsilon::new(3_f64.ln())?, 0.0)?))
    /// };
    /// let honest = Crowd::new(10)?;
    /// let mut lifetime = Lifetime::per_epoch(honest, 2, Delta::new(1e-6)?);
    /// let [once, twice] = [1, 2].map(|times| {
    ///     lifetime.advantage(&[(Disclosure { epochs: 1, honest }, times)], profile)
    /// });
    /// assert!((once? - 0.5).abs() < 0.01 && (twice? - 0.5).abs() < 0.01);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn advantage<E: From<Error>>(
        &mut self,
        releases: &[(Disclosure, u64)],
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<f64, E> {
        let Some(smallest) = releases.iter().map(|(release, _)| release.honest).min() else {
            return Ok(0.0);
        };
        match &mut self.0 {
            Spending::Once { .. } => Ok(profile(smallest)?.upper_delta(Epsilon::ZERO).min(1.0)),
            Spending::Memoized(_) => {
                let epsilon = self.total(releases, profile)?.get();
                // What is ε-DP has a distance of at most (e^ε − 1)/(e^ε + 1).
                Ok(round::up((0.5 * epsilon).tanh()).min(1.0))
            }
            Spending::PerEpoch(rounds) => {
                let promised = rounds.promised;
                let share = |honest| rounded_down(honest, promised);
                Ok(rounds.least(releases, share, profile, |all| all.delta(Epsilon::ZERO))?)
            }
        }
    }
}

/// A release for every window of epochs, each with all of its epochs and the smallest crowd:
/// nothing that can happen costs more. A group costs at least as much as its epochs apart, and a
/// larger crowd no more than a smaller one.
///
/// ```
/// use throng_account::Crowd;
/// use throng_account::spend::{Disclosure, every_epoch};
///
/// // Seven epochs, of which up to three are merged.
/// let honest = Crowd::new(1_000)?;
/// let [three, one] = [3, 1].map(|epochs| Disclosure { epochs, honest });
/// assert_eq!(every_epoch(7, 3, honest), [(three, 2), (one, 1)]);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn every_epoch(epochs: u64, window: u64, honest: Crowd) -> Vec<(Disclosure, u64)> {
    let (full, rest) = (epochs / window, epochs % window);
    let all = [(window, full), (rest, 1)].into_iter().filter(|(epochs, n)| epochs * n > 0);
    all.map(|(epochs, times)| (Disclosure { epochs, honest }, times)).collect()
}

/// A δ at which all epochs together have a finite ε: twice the sum of those of all epochs, or of
/// what groups need where up to `window` epochs are merged. It may be above 1, where there is none.
///
/// ```
/// use throng_account::profile::ClonePair;
/// use throng_account::spend::ample_delta;
/// use throng_account::{Crowd, Delta, Epsilon, Error, Profile};
///
/// let profile = || -> Result<Box<dyn Profile>, Error> {
///     Ok(Box::new(ClonePair::strong(Crowd::new(1_000)?, Epsilon::new(1.0)?)?))
/// };
/// let ample = ample_delta(10, 1, Delta::new(1e-6)?, profile)?;
/// assert!((ample - 2e-5).abs() < 1e-15);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn ample_delta<E: From<Error>>(
    epochs: u64,
    window: u64,
    each: Delta,
    profile: impl FnOnce() -> Result<Box<dyn Profile>, E>,
) -> Result<f64, E> {
    let sum = epochs as f64 * each.get();
    let groups = epochs.div_ceil(window) as f64;
    let mut least = 0.0;
    if window > 1 {
        let one = Table::new(&*profile()?, window, 1e-6 * sum / groups)?;
        least = one.together(window)?.least_delta();
    }
    Ok(2.0 * sum.max(groups * least))
}

/// δ at ε of `epochs` releases with this profile, as [`Lifetime::per_epoch`] accounts for them at
/// about this `delta`.
pub(crate) fn composed_delta(
    profile: &dyn Profile,
    epochs: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<f64, Error> {
    let table = Table::new(profile, 1, cut_off(epochs, delta))?;
    Composition::new().and(&table, epochs).delta_near(epsilon, delta)
}

/// The δ that may be cut off the tail of one profile: in all epochs together a small part of δ.
fn cut_off(epochs: u64, delta: Delta) -> f64 {
    1e-4 * delta.get() / epochs as f64
}

/// Releases that compose.
struct Rounds {
    promised: Crowd,
    epochs: u64,
    delta: Delta,
    /// The δ that may be cut off the tail of one profile.
    floor: f64,
    /// The profiles of one report in a crowd, or of several of one person, by crowd and number.
    tables: BTreeMap<(Crowd, u64), Table>,
    /// The profiles of 1, 2, … releases in a row, each with one report in a crowd; none where no
    /// more is known of them than of one.
    rows: BTreeMap<Crowd, Vec<Table>>,
}

impl Rounds {
    /// The smaller of the totals in the actual and in the promised crowds. Both are safe, and the
    /// second does not pass the promised lifetime by what many grids add.
    fn total<E: From<Error>>(
        &mut self,
        releases: &[(Disclosure, u64)],
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<Epsilon, E> {
        let promised = self.promised;
        let actual = match releases {
            // One release is what its profile says, without a table or a grid.
            [(Disclosure { epochs: 0 | 1, honest }, 1)] => {
                let one = profile(*honest)?;
                one.epsilon(self.delta).map(|one| one.epsilon).map_err(E::from)
            }
            // One of merged epochs has nothing to share its profile with.
            [(_, 1)] => self.compose(releases, |honest| honest, &profile),
            _ => self.compose(releases, |honest| rounded_down(honest, promised), &profile),
        };
        let exactly_promised = releases.iter().all(|(release, _)| release.honest == promised);
        let composed = !matches!(releases, [(Disclosure { epochs: 0 | 1, .. }, 1)]);
        if releases.iter().any(|(release, _)| release.honest < promised)
            || exactly_promised && composed
        {
            return actual;
        }
        match (actual, self.compose(releases, |_| promised, profile)) {
            (Ok(actual), Ok(least)) => Ok(if least < actual { least } else { actual }),
            (actual, least) => least.or(actual),
        }
    }

    fn compose<E: From<Error>>(
        &mut self,
        releases: &[(Disclosure, u64)],
        crowd: impl Fn(Crowd) -> Crowd,
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<Epsilon, E> {
        let delta = self.delta;
        let least = self.least(releases, crowd, profile, |all| Ok(all.epsilon(delta)?.get()))?;
        Ok(Epsilon::new(least)?)
    }

    /// What is asked of the composition of releases, each in the crowd that stands for its own: the
    /// smaller answer of releases one by one and of releases in a row.
    fn least<E: From<Error>>(
        &mut self,
        releases: &[(Disclosure, u64)],
        crowd: impl Fn(Crowd) -> Crowd,
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
        asked: impl Fn(Composition<'_>) -> Result<f64, Error>,
    ) -> Result<f64, E> {
        let kinds = kinds_of(releases, crowd);
        for &(honest, epochs) in kinds.keys() {
            self.write(honest, epochs, &profile)?;
        }
        self.write_rows(&kinds, profile)?;
        Ok(row::least(&self.written(&kinds), asked)?)
    }

    /// One δ of all releases in the promised crowd, first one by one and then in a row.
    fn plainly_within<E: From<Error>>(
        &mut self,
        releases: &[(Disclosure, u64)],
        epsilon: Epsilon,
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<bool, E> {
        let (promised, delta) = (self.promised, self.delta);
        let one = matches!(releases, [] | [(Disclosure { epochs: 0 | 1, .. }, 0 | 1)]);
        if one || releases.iter().any(|(release, _)| release.honest != promised) {
            return Ok(false);
        }
        let kinds = kinds_of(releases, |honest| honest);
        for &(honest, epochs) in kinds.keys() {
            self.write(honest, epochs, &profile)?;
        }
        if row::apart(&self.written(&kinds)).plainly_within(epsilon, delta)? {
            return Ok(true);
        }
        self.write_rows(&kinds, profile)?;
        let in_row = row::in_row(&self.written(&kinds));
        Ok(in_row.map(|all| all.plainly_within(epsilon, delta)).transpose()?.unwrap_or(false))
    }

    /// The tables of releases of some kinds, as far as they are written.
    fn written(&self, kinds: &Kinds) -> Vec<Kind<'_>> {
        let kind = |(kind, &times): (&(Crowd, u64), &u64)| {
            let row = self.rows.get(&kind.0).filter(|_| kind.1 == 1).map_or(&[][..], Vec::as_slice);
            Kind { one: &self.tables[kind], row, times }
        };
        kinds.iter().map(kind).collect()
    }

    /// Writes the tables of the commonest kind in a row.
    fn write_rows<E: From<Error>>(
        &mut self,
        kinds: &Kinds,
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<(), E> {
        let single = kinds.iter().filter(|((_, epochs), times)| *epochs == 1 && **times > 1);
        match single.max_by_key(|(_, times)| **times) {
            Some(((honest, _), _)) => self.write_row(*honest, profile),
            None => Ok(()),
        }
    }

    /// Writes the table of a release, if there is none yet.
    fn write<E: From<Error>>(
        &mut self,
        honest: Crowd,
        epochs: u64,
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<(), E> {
        if let Entry::Vacant(place) = self.tables.entry((honest, epochs)) {
            let one = Table::new(&*profile(honest)?, epochs, self.floor)?;
            place.insert(if epochs == 1 { one } else { one.together(epochs)? });
        }
        Ok(())
    }

    /// Writes the tables of releases in a row, after that of one.
    fn write_row<E: From<Error>>(
        &mut self,
        honest: Crowd,
        profile: impl Fn(Crowd) -> Result<Box<dyn Profile>, E>,
    ) -> Result<(), E> {
        if let Entry::Vacant(place) = self.rows.entry(honest) {
            let one = &self.tables[&(honest, 1)];
            place.insert(row::in_a_row(&*profile(honest)?, one, self.epochs, self.floor)?);
        }
        Ok(())
    }
}

/// How many releases there are of each crowd and number of epochs.
type Kinds = BTreeMap<(Crowd, u64), u64>;

/// Releases by their kind, each in the crowd that stands for its own.
fn kinds_of(releases: &[(Disclosure, u64)], crowd: impl Fn(Crowd) -> Crowd) -> Kinds {
    let mut kinds = Kinds::new();
    for (Disclosure { epochs, honest }, times) in releases {
        *kinds.entry((crowd(*honest), (*epochs).max(1))).or_default() += times;
    }
    kinds
}

/// The crowd rounded down to two digits, twenty steps per decade, but not below the promised one
/// unless it is.
fn rounded_down(honest: Crowd, promised: Crowd) -> Crowd {
    let unit = 10_u64.pow(honest.get().ilog10().saturating_sub(1));
    let step = STEPS.iter().rev().find(|step| **step * unit <= honest.get());
    let rounded = step.and_then(|step| Crowd::new(step * unit).ok()).unwrap_or(honest);
    rounded.max(promised.min(honest))
}

/// The steps of a decade, some 12 % apart.
const STEPS: [u64; 20] =
    [10, 11, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 45, 50, 56, 63, 71, 80, 90];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::BitSum;
    use crate::testing::vectors;

    #[test]
    fn one_release_alone_costs_what_its_profile_says() {
        let (promised, delta) = (Crowd::new(1_000).unwrap(), Delta::new(1e-6).unwrap());
        let profile = bit_sum(0.05);
        let release = Disclosure { epochs: 1, honest: Crowd::new(1_234).unwrap() };
        let mut lifetime = Lifetime::per_epoch(promised, 10, delta);
        let one = lifetime.total(&[(release, 1)], &profile).unwrap();
        let said = profile(release.honest).unwrap().epsilon(delta).unwrap().epsilon;
        assert_eq!(one, said);
        assert!(one < lifetime.total(&[(release, 2)], profile).unwrap());
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

    fn bit_sum(flip: f64) -> impl Fn(Crowd) -> Result<Box<dyn Profile>, Error> {
        move |honest| Ok(Box::new(BitSum::with_flip(honest, flip)?))
    }

    #[test]
    fn a_lifetime_of_bit_sums_is_within_a_hundredth_of_what_somebody_reaches() {
        let rows = vectors("rounds.json");
        for row in rows.iter().filter(|row| row.u64("n") > 10) {
            let (crowd, epochs) = (Crowd::new(row.u64("n")).unwrap(), row.u64("rounds"));
            let delta = Delta::new(row.f64("delta_lower")).unwrap();
            let mut lifetime = Lifetime::per_epoch(crowd, epochs, delta);
            let all = [(Disclosure { epochs: 1, honest: crowd }, epochs)];
            let total = lifetime.total(&all, bit_sum(row.f64("flip"))).unwrap().get();
            assert!(total >= row.f64("epsilon"), "{row:?}: {total}");
            assert!(total <= 1.01 * row.f64("epsilon"), "{row:?}: {total}");
        }
    }

    /// What is plainly within an ε is what costs no more than it, but for a few parts in 10⁹ below.
    #[test]
    fn a_glance_agrees_with_the_total_on_either_side_of_it() {
        let (crowd, delta) = (Crowd::new(500).unwrap(), Delta::new(1e-5).unwrap());
        let release = |epochs| Disclosure { epochs, honest: crowd };
        for all in [
            vec![(release(1), 2)],
            vec![(release(1), 60)],
            vec![(release(1), 5_000)],
            vec![(release(3), 1)],
            vec![(release(3), 4), (release(2), 1)],
        ] {
            for flip in [0.3, 0.1] {
                let mut lifetime = Lifetime::per_epoch(crowd, 5_000, delta);
                let total = lifetime.total(&all, bit_sum(flip)).unwrap().get();
                for (share, within) in [
                    (0.5, false),
                    (0.999, false),
                    (1.0 - 1e-9, false),
                    (1.0 + 3e-9, true),
                    (1.001, true),
                    (2.0, true),
                ] {
                    let epsilon = Epsilon::new(share * total).unwrap();
                    let mut fresh = Lifetime::per_epoch(crowd, 5_000, delta);
                    let seen = fresh.plainly_within(&all, epsilon, bit_sum(flip)).unwrap();
                    assert_eq!(seen, within, "{all:?}, flip {flip}: {share} of {total}");
                }
            }
        }
    }

    #[test]
    fn a_glance_decides_nothing_where_nothing_is_composed() {
        let (crowd, delta) = (Crowd::new(500).unwrap(), Delta::new(1e-5).unwrap());
        let large = Epsilon::new(100.0).unwrap();
        let one = |honest, times| [(Disclosure { epochs: 1, honest }, times)];
        let mut lifetime = Lifetime::per_epoch(crowd, 10, delta);
        let more = Crowd::new(600).unwrap();
        for releases in [one(crowd, 1), one(more, 2)] {
            assert!(!lifetime.plainly_within(&releases, large, bit_sum(0.1)).unwrap());
        }
        let mut once = Lifetime::once(delta);
        assert!(!once.plainly_within(&one(crowd, 2), large, bit_sum(0.1)).unwrap());
    }

    #[test]
    fn a_row_costs_no_more_than_its_rounds_and_a_longer_one_no_less() {
        let crowd = Crowd::new(500).unwrap();
        let mut lifetime = Lifetime::per_epoch(crowd, 60, Delta::new(1e-5).unwrap());
        let table = Table::new(&*bit_sum(0.1)(crowd).unwrap(), 1, 1e-11).unwrap();
        let mut before = 0.0;
        for epochs in [1, 2, 3, 24, 25, 26, 49, 50, 60] {
            let all = [(Disclosure { epochs: 1, honest: crowd }, epochs)];
            let total = lifetime.total(&all, bit_sum(0.1)).unwrap().get();
            let apart = Composition::new().and(&table, epochs).epsilon(Delta::new(1e-5).unwrap());
            assert!(total <= 1.0001 * apart.unwrap().get() && total > before, "{epochs}: {total}");
            before = total;
        }
    }
}
