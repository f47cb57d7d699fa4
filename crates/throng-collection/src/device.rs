//! The budget of one device that takes part in several collections.

use crate::{Account, Collection, Error, Promise, Terms};
use throng_account::spend::{Disclosure, Together, every_epoch};
use throng_account::{Delta, Epsilon, round};
use throng_mechanism::Spending;

/// One device and the collections that it takes part in, in every epoch of each.
///
/// What it shows in all of them is composed as a whole: mechanisms, crowds and epochs are fixed in
/// the files. A text that is remembered is charged without a crowd and with δ = 0, and its ε is
/// added. All that a person answers in all collections is replaced by other answers.
///
/// ```
/// use throng_collection::{Device, example};
///
/// // Two questions of ε = 1 at δ = 10⁻⁶ each: less than 2 at 2·10⁻⁶.
/// let terms = example::terms();
/// let device = Device::default().and(&terms, 1).and(&terms, 1);
/// let both = device.lifetime(None)?;
/// assert!((1.2..1.5).contains(&both.epsilon.get()));
/// assert!((both.delta.get() - 2e-6).abs() < 1e-12 && (both.sum.get() - 2.0).abs() < 1e-8);
/// # Ok::<(), throng_collection::Error>(())
/// ```
#[derive(Debug, Default, Clone)]
pub struct Device<'a> {
    /// The terms, and how many epochs may be merged into one release.
    members: Vec<(&'a Terms, u64)>,
}

/// What several collections cost one device together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// ε, rounded up.
    pub epsilon: Epsilon,
    /// δ of all of it.
    pub delta: Delta,
    /// The sum of the promised ε, which holds at the sum of their δ.
    pub sum: Epsilon,
    /// An upper bound on δ(0): what somebody who sees all of it gains over guessing.
    pub advantage: f64,
}

impl<'a> Device<'a> {
    /// Adds a collection of which up to `window` epochs may be merged into one release.
    #[must_use]
    pub fn and(mut self, terms: &'a Terms, window: u64) -> Self {
        self.members.push((terms, window.max(1)));
        self
    }

    /// Adds a collection with its schedule.
    #[must_use]
    pub fn takes_part(self, collection: &'a Collection) -> Self {
        self.and(&collection.terms, collection.schedule.window())
    }

    /// The cost of one epoch of each, at the sum of their δ, or at another δ.
    pub fn release(&self, delta: Option<Delta>) -> Result<Shared, Error> {
        let pairs = self.members.iter().map(|(terms, _)| {
            let Promise { epsilon, delta, .. } = terms.promise;
            (epsilon, delta)
        });
        let (sum, sum_delta) = added(pairs)?;
        let delta = delta.unwrap_or(sum_delta);
        let mut all = Together::new(delta, self.members.len() as u64);
        for (terms, _) in &self.members {
            let honest = terms.promise.crowd;
            all.add(&*terms.profile(honest)?, &[(Disclosure { epochs: 1, honest }, 1)])?;
        }
        settled(&all, delta, sum, sum_delta)
    }

    /// The cost of all epochs of each, at the sum of the δ of their lifetimes, or at another δ.
    pub fn lifetime(&self, delta: Option<Delta>) -> Result<Shared, Error> {
        let (sum, sum_delta) = added(self.members.iter().map(|(terms, _)| terms.promise.lifetime))?;
        let delta = delta.unwrap_or(sum_delta);
        settled(&self.remembered(self.composed(delta)?, 1.0)?, delta, sum, sum_delta)
    }

    /// ε after each of these shares of every lifetime, at the δ of [`Device::lifetime`].
    pub fn course(&self, delta: Option<Delta>, shares: &[f64]) -> Result<Vec<Epsilon>, Error> {
        let (_, sum_delta) = added(self.members.iter().map(|(terms, _)| terms.promise.lifetime))?;
        let delta = delta.unwrap_or(sum_delta);
        let all = self.composed(delta)?;
        let after = |share: &f64| Ok(self.remembered(all.part(*share), *share)?.epsilon(delta)?);
        shares.iter().map(after).collect()
    }

    /// All that composes.
    fn composed(&self, delta: Delta) -> Result<Together, Error> {
        let epochs = self.members.iter().map(|(terms, _)| terms.promise.epochs).sum();
        let mut all = Together::new(delta, epochs);
        for (terms, window) in &self.members {
            let Promise { crowd, epochs, .. } = terms.promise;
            let releases = match terms.spending() {
                Spending::PerEpoch => every_epoch(epochs, *window, crowd),
                // One profile covers all that a client ever sends.
                Spending::Lifetime => every_epoch(1, 1, crowd),
                Spending::Memoized => continue,
            };
            all.add(&*terms.profile(crowd)?, &releases)?;
        }
        Ok(all)
    }

    /// Adds what is remembered and shown again and again.
    fn remembered(&self, mut all: Together, share: f64) -> Result<Together, Error> {
        for (terms, _) in &self.members {
            let Promise { crowd, epochs, .. } = terms.promise;
            if terms.spending() == Spending::Memoized {
                let shown = (epochs as f64 * share).ceil() as usize;
                let one = Disclosure { epochs: 1, honest: crowd };
                all.add_pure(Account::new(terms).total(&vec![one; shown])?);
            }
        }
        Ok(all)
    }
}

/// The smaller of the composed ε and of the plain sum, where the latter holds.
fn settled(all: &Together, delta: Delta, sum: Epsilon, sum_delta: Delta) -> Result<Shared, Error> {
    let advantage = all.advantage()?;
    let composed = all.epsilon(delta);
    let epsilon = match composed {
        Ok(composed) if delta < sum_delta || composed < sum => composed,
        Err(error) if delta < sum_delta => return Err(error.into()),
        Ok(_) | Err(_) => sum,
    };
    Ok(Shared { epsilon, delta, sum, advantage })
}

/// The sums of ε and of δ, rounded up.
fn added(pairs: impl Iterator<Item = (Epsilon, Delta)>) -> Result<(Epsilon, Delta), Error> {
    let (mut epsilon, mut delta) = (0.0, 0.0);
    for pair in pairs {
        epsilon = round::up(epsilon + pair.0.get());
        delta += pair.1.get();
    }
    Ok((Epsilon::new(epsilon)?, Delta::new(delta)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::testing::{collection, rich_collection};
    use crate::example;
    use throng_account::Crowd;
    use throng_mechanism::{Key, Question};

    fn delta(delta: f64) -> Delta {
        Delta::new(delta).unwrap()
    }

    #[test]
    fn one_collection_costs_its_own_promise() {
        let mut terms = example::terms();
        terms.promise.epochs = 30;
        terms.promise.lifetime = terms.lifetime(1, None).unwrap();
        let alone = Device::default().and(&terms, 1);
        let all = alone.lifetime(None).unwrap();
        // The sum is rounded up.
        let (promised, delta) = terms.promise.lifetime;
        assert!(all.delta == delta && all.sum >= promised);
        assert!(all.sum.get() < promised.get() * (1.0 + 1e-8), "{:?}", all.sum);
        assert!(all.epsilon <= all.sum && all.epsilon.get() > 0.999 * all.sum.get());
        let one = alone.release(None).unwrap();
        assert!(one.epsilon <= one.sum && one.epsilon.get() > 0.99, "{:?}", one.epsilon);
        assert!(one.sum.get() < terms.promise.epsilon.get() * (1.0 + 1e-8), "{:?}", one.sum);
        // Merged epochs are charged as a group.
        let rich = rich_collection();
        let merged = Device::default().takes_part(&rich).lifetime(None).unwrap();
        assert!(merged.epsilon <= rich.terms.promise.lifetime.0);
        let apart = Device::default().and(&rich.terms, 1).lifetime(None).unwrap();
        assert!(apart.epsilon < merged.epsilon);
    }

    /// The same question in two collections is one that is asked twice as often.
    #[test]
    fn several_collections_cost_what_their_epochs_cost() {
        let mut terms = example::terms();
        terms.promise.epochs = 8;
        terms.promise.lifetime = terms.lifetime(1, None).unwrap();
        let mut longer = terms.clone();
        longer.promise.epochs = 16;
        longer.promise.lifetime = longer.lifetime(1, None).unwrap();
        let both = Device::default().and(&terms, 1).and(&terms, 1).lifetime(None).unwrap();
        assert_eq!(both.delta, longer.promise.lifetime.1);
        let ratio = both.epsilon.get() / longer.promise.lifetime.0.get();
        // Of two questions one is counted in a row, of one question all epochs are.
        assert!((0.998..1.006).contains(&ratio), "{ratio}");
        assert!(both.epsilon.get() < 0.8 * both.sum.get());
        // A smaller δ costs more, and the plain sum does not hold at it.
        let device = Device::default().and(&terms, 1).and(&terms, 1);
        let strict = device.lifetime(Some(delta(1e-8))).unwrap();
        assert!(strict.epsilon > both.epsilon && strict.delta == delta(1e-8));
        let course = device.course(None, &[0.125, 0.5, 1.0]).unwrap();
        assert!(course[0] < course[1] && course[1] < course[2]);
        assert!((course[2].get() / both.epsilon.get() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_remembered_adds_its_own_epsilon() {
        let text = Question::Text { bits: 64, hashes: 2, cohorts: 8 };
        let mut names = example::asked(text, Key::Rappor);
        names.promise.epochs = 20;
        names.promise.lifetime = names.lifetime(1, None).unwrap();
        assert_eq!(names.spending(), Spending::Memoized);
        let life = example::asked(Question::State { periods: 8, changes: 1 }, Key::Longitudinal);
        let bits = collection().terms;
        let without = Device::default().and(&bits, 1).and(&life, 1);
        let before = without.lifetime(None).unwrap();
        let with = without.clone().and(&names, 1).lifetime(Some(before.delta)).unwrap();
        let crowd = Crowd::new(1_000).unwrap();
        let one = Disclosure { epochs: 1, honest: crowd };
        let own = Account::new(&names).total(&[one; 20]).unwrap().get();
        assert!((with.epsilon.get() - before.epsilon.get() - own).abs() < 1e-6);
        assert!(with.advantage > before.advantage && with.advantage <= 1.0);
        // In one release its crowd hides it as well.
        let release = Device::default().and(&names, 1).release(None).unwrap();
        assert!(release.epsilon.get() < own);
    }
}
