//! `burst-histogram`: everyone names a category and adds noise to a random one.
//!
//! Each category has its own '+' and '−'. A user sends '+' of the own category; then draws a role,
//! one category of the k uniformly, and may add one event of the catalogue there.
//!
//! Shown the roles, which know nothing of the data, the categories are independent, and one user's
//! change from v to v' adds a '+' to the noise of one category and takes it from another:
//!
//! ```text
//! δ(ε) ≤ H_E(P⊗Q ‖ Q⊗P) + 2·P[Bin(n, 1/k) < N]       Q the noise of N users, P = Q and one '+'
//! ```
//!
//! for every N, because users beyond N in a category only add noise to it. Which N is best depends
//! on the δ in question, so a few are kept and the smallest sum is taken.

use crate::kernel::binomial::Binomial;
use crate::kernel::bins::Bins;
use crate::kernel::burst_law::{Law, Limits, Sum};
use crate::profile::Bursts;
use crate::profile::blanket::require_categories;
use crate::round;
use crate::{Band, Crowd, Delta, Epsilon, Error, Probability, Profile, Theorem};

/// The protocol with its crowd.
///
/// ```
/// use throng_account::profile::{BurstHistogram, Bursts};
/// use throng_account::{Crowd, Delta, Profile};
///
/// let sixteenth = 1 << 60;
/// let bursts = Bursts::new(vec![sixteenth], vec![sixteenth], vec![sixteenth])?;
/// let histogram = BurstHistogram::new(Crowd::new(200)?, 2, bursts)?;
/// // Below the chance that hardly anyone hides a category, no ε is known.
/// assert!(histogram.least_delta() < 1e-3);
/// assert!(histogram.epsilon(Delta::new(histogram.least_delta() / 2.0)?).is_err());
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BurstHistogram {
    bursts: Bursts,
    roles: Vec<Role>,
}

impl BurstHistogram {
    /// Computes the law of the noise of one category, for several numbers of users with its role.
    ///
    /// An error where it has too many outcomes, or where a category has hardly anyone to hide it.
    pub fn new(crowd: Crowd, categories: u64, bursts: Bursts) -> Result<Self, Error> {
        Self::with_failures(crowd, categories, bursts, &FAILURES)
    }

    /// Does as [`Self::new`], for whoever looks at δ near this one: an upper bound with less work,
    /// which is no bound worth having at a much smaller δ.
    ///
    /// ```
    /// use throng_account::profile::{BurstHistogram, Bursts};
    /// use throng_account::{Crowd, Delta, Epsilon, Profile};
    ///
    /// let sixteenth = 1 << 60;
    /// let bursts = Bursts::new(vec![sixteenth], vec![sixteenth], vec![sixteenth])?;
    /// let (crowd, epsilon) = (Crowd::new(200)?, Epsilon::new(1.0)?);
    /// let exact = BurstHistogram::new(crowd, 2, bursts.clone())?.delta(epsilon).upper;
    /// let near = BurstHistogram::near(crowd, 2, bursts, Delta::new(exact)?)?.delta(epsilon).upper;
    /// assert!(exact <= near && near < 1.1 * exact);
    /// # Ok::<(), throng_account::Error>(())
    /// ```
    pub fn near(
        crowd: Crowd,
        categories: u64,
        bursts: Bursts,
        delta: Delta,
    ) -> Result<Self, Error> {
        let failure = failure_near(delta.get());
        Self::with_role(crowd, categories, bursts, failure, Limits::SMALL.near(delta.get()))
    }

    /// Does as [`Self::near`], with the number of users that fails with this probability.
    pub(crate) fn with_role(
        crowd: Crowd,
        categories: u64,
        bursts: Bursts,
        failure: f64,
        limits: Limits,
    ) -> Result<Self, Error> {
        require_categories(categories)?;
        let users = likely_users(crowd, categories, failure)?;
        let drawn = Binomial::new(crowd.get(), 1.0 / categories as f64);
        let failure = round::up(drawn.lower(users - 1));
        let cells = TwoCells::coarse(&Law::new(limits, users, &bursts)?);
        Ok(Self { bursts, roles: vec![Role { users, failure, cells }] })
    }

    /// Does as [`Self::new`], for the numbers of users that fail with these probabilities.
    fn with_failures(
        crowd: Crowd,
        categories: u64,
        bursts: Bursts,
        failures: &[f64],
    ) -> Result<Self, Error> {
        require_categories(categories)?;
        let drawn = Binomial::new(crowd.get(), 1.0 / categories as f64);
        let mut roles: Vec<Role> = Vec::new();
        let mut refused = None;
        for &failure in failures {
            let Ok(users) = likely_users(crowd, categories, failure) else { continue };
            if roles.last().is_some_and(|role| role.users == users) {
                continue;
            }
            // Each role is a bound by itself; those whose law is too large are left out.
            let failure = round::up(drawn.lower(users - 1));
            match Law::new(Limits::SMALL, users, &bursts) {
                Ok(law) => roles.push(Role { users, failure, cells: TwoCells::new(&law) }),
                Err(why) => refused = Some(why),
            }
        }
        if roles.is_empty() {
            let range = "larger: some category may have nobody to hide it";
            let nobody = Error::OutOfRange { name: "crowd", value: crowd.get() as f64, range };
            return Err(refused.unwrap_or(nobody));
        }
        Ok(Self { bursts, roles })
    }

    /// The bursts that a user may add to the category of its role.
    pub fn bursts(&self) -> &Bursts {
        &self.bursts
    }

    fn bound(&self, epsilon: f64) -> f64 {
        let bounds = self.roles.iter().map(|role| role.cells.delta(epsilon) + 2.0 * role.failure);
        round::delta_up(bounds.fold(1.0, f64::min))
    }
}

impl Profile for BurstHistogram {
    /// An upper bound. It gives the adversary the roles; how much that costs is not known, so the
    /// lower bound is 0.
    fn delta(&self, epsilon: Epsilon) -> Band {
        Band { lower: 0.0, upper: self.bound(epsilon.get()) }
    }

    fn theorem(&self) -> Theorem {
        Theorem::BurstRoles
    }

    fn written_out(&self) -> Option<Box<dyn Profile>> {
        let roles = self.roles.iter().map(|role| Role { cells: role.cells.binned(), ..*role });
        Some(Box::new(Self { bursts: self.bursts.clone(), roles: roles.collect() }))
    }

    /// The smallest δ for which some finite ε is known.
    fn least_delta(&self) -> f64 {
        self.bound(LARGEST_EPSILON)
    }

    fn limit(&self, _: Delta) -> Result<f64, Error> {
        Ok(LARGEST_EPSILON)
    }
}

/// A number of users that a category has, but for a failure.
#[derive(Debug, Clone)]
struct Role {
    users: u64,
    /// `P[fewer]`, for one category.
    failure: f64,
    cells: TwoCells,
}

/// The users that a category has but with probability `failure`.
pub(crate) fn likely_users(crowd: Crowd, categories: u64, failure: f64) -> Result<u64, Error> {
    let share = Probability::new("share", 1.0 / categories as f64)?;
    Crowd::likely(crowd.get(), share, Delta::new(failure)?).map(Crowd::get)
}

/// The largest failure that is a small part of δ, of those that are tried.
pub(crate) fn failure_near(delta: f64) -> f64 {
    let small = FAILURES.iter().copied().find(|failure| *failure <= 0.02 * delta);
    small.unwrap_or(FAILURES[FAILURES.len() - 1])
}

/// P⊗Q against Q⊗P: the two categories of a change, one with the user's '+', one without.
#[derive(Clone)]
pub(crate) struct TwoCells {
    /// The outcomes of one category, `(ln P/Q, P, Q)`, by increasing loss.
    outcomes: Vec<(f64, f64, f64)>,
    /// The relative error, as in [`Law`].
    error: f64,
    leak: f64,
}

impl TwoCells {
    /// The pair of products made of the law Q.
    pub(crate) fn new(law: &Law) -> Self {
        let mut pairs = Vec::new();
        law.for_each(|zero, one| pairs.push((zero, one)));
        Self { error: law.error, leak: law.leak, ..Self::of_pairs(pairs) }
    }

    /// A pair that dominates the one of the law Q, by outcomes in bins.
    pub(crate) fn coarse(law: &Law) -> Self {
        let mut variation = Sum::default();
        law.for_each(|zero, one| variation.add((zero - one).max(0.0)));
        let mut bins = Bins::new(variation.total(), law.error, law.leak);
        law.for_each(|zero, one| bins.add(one, zero));
        Self::of_bins(&bins)
    }

    /// The same for outcomes that are in order already.
    fn binned(&self) -> Self {
        if self.outcomes.len() <= FEW {
            return self.clone();
        }
        let variation: f64 = self.outcomes.iter().map(|(_, p, q)| (p - q).max(0.0)).sum();
        let mut bins = Bins::new(variation, self.error, self.leak);
        self.outcomes.iter().for_each(|&(_, one, zero)| bins.add(one, zero));
        Self::of_bins(&bins)
    }

    fn of_bins(bins: &Bins) -> Self {
        Self { outcomes: bins.dominating(), error: bins.error(), leak: bins.leak() }
    }

    /// The pair of products made of Q and P of every outcome, taken as exact and complete.
    pub(crate) fn of_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let possible = pairs.into_iter().filter(|&(zero, one)| zero > 0.0 || one > 0.0);
        let outcome = |(zero, one): (f64, f64)| ((one / zero).ln(), one, zero);
        let mut outcomes: Vec<_> = possible.map(outcome).collect();
        outcomes.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        Self { outcomes, error: 0.0, leak: 0.0 }
    }

    /// An upper bound on `H_E(P⊗Q ‖ Q⊗P)`, exact but for rounding and twice the leak of the law.
    /// The other direction is the same: exchange the categories.
    ///
    /// ```text
    /// Σ_i P_i·Q[L < l_i − ε] − E·Q_i·P[L < l_i − ε],      l = ln P/Q
    /// ```
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        // Masses are off by e^±error, running sums by a rounding per outcome, and losses by a few
        // roundings. A lower cut takes in more pairs than it should; with E lower still, all of
        // them count for more than they do.
        let sums = self.outcomes.len() as f64 * f64::EPSILON;
        let margin = 4.0 * (self.error + sums) + 1e-12;
        let (cut, e) = (epsilon - margin, (epsilon - 2.0 * margin).exp().min(f64::MAX));
        let (mut below_one, mut below_zero) = (0.0, 0.0);
        let mut below = self.outcomes.iter().peekable();
        let mut total = 0.0;
        for &(loss, one, zero) in &self.outcomes {
            while let Some((_, p, q)) = below.next_if(|outcome| outcome.0 < loss - cut) {
                below_one += p;
                below_zero += q;
            }
            total += (one * below_zero - e * zero * below_one).max(0.0);
        }
        total * (2.0 * (self.error + sums)).exp() + 2.0 * self.leak
    }
}

impl std::fmt::Debug for TwoCells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TwoCells").field("outcomes", &self.outcomes.len()).finish_non_exhaustive()
    }
}

/// The failures of one category that are tried.
const FAILURES: [f64; 11] = [0.5, 0.1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15, 1e-18, 1e-21];
const LARGEST_EPSILON: f64 = 700.0;
/// Outcomes that are few enough to be looked at hundreds of times.
const FEW: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::TWO_64;
    use crate::testing::{Row, assert_close, vectors};

    fn row_bursts(row: &Row) -> Bursts {
        Bursts::new(row.weights("pairs"), row.weights("plus"), row.weights("minus")).unwrap()
    }

    #[test]
    fn two_cells_agree_with_direct_convolution() {
        let weight = |rate: f64| (rate / 7.0 * TWO_64) as u64;
        let sided: Vec<u64> = [0.6, 0.3, 0.2].map(weight).to_vec();
        let bursts = Bursts::new(vec![weight(1.5)], sided.clone(), sided).unwrap();
        let cells = TwoCells::new(&Law::new(Limits::LARGE, 7, &bursts).unwrap());
        assert_close(cells.delta(0.7), 0.132461680797604, 1e-9);
        for row in vectors("burst.json").iter().filter(|row| row.text("kind") == "two_cell") {
            let law = Law::new(Limits::LARGE, row.u64("trials"), &row_bursts(row)).unwrap();
            let found = TwoCells::new(&law).delta(row.f64("epsilon"));
            let expected = row.f64("delta");
            assert!(found * (1.0 + 1e-14) >= expected, "{row:?}: {found:e}");
            assert!(found <= expected * (1.0 + 1e-8) + 1e-21, "{row:?}: {found:e}");
        }
    }

    // The truth is the joint law of all categories, without anything revealed, on every dataset.
    #[test]
    fn no_small_histogram_exceeds_the_bound() {
        let mut closest = 0.0_f64;
        for row in vectors("burst.json").iter().filter(|row| row.text("kind") == "histogram") {
            let crowd = Crowd::new(row.u64("n")).unwrap();
            let protocol =
                BurstHistogram::new(crowd, row.u64("categories"), row_bursts(row)).unwrap();
            let bound = protocol.delta(Epsilon::at(row.f64("epsilon"))).upper;
            assert!(bound >= row.f64("delta"), "{row:?}: {bound}");
            closest = closest.max(row.f64("delta") / bound);
        }
        assert!(closest > 0.5, "{closest}");
    }

    // Nothing is revealed here: each user draws a category and an event, and all counts are shown.
    #[test]
    fn roles_that_stay_hidden_are_worth_no_less() {
        let weight = |p: f64| (p * TWO_64) as u64;
        for (pair, plus, minus) in [(0.4, 0.2, 0.2), (0.1, 0.5, 0.3), (0.0, 0.5, 0.0)] {
            let bursts =
                Bursts::new(vec![weight(pair)], vec![weight(plus)], vec![weight(minus)]).unwrap();
            let events = [([1, 1], pair), ([1, 0], plus), ([0, 1], minus)];
            for n in 2..=4 {
                let mut law = vec![([0_i32; 4], 1.0)];
                for _ in 0..n {
                    let mut next = Vec::new();
                    for &(counts, mass) in &law {
                        next.push((counts, mass * (1.0 - pair - plus - minus)));
                        for cell in [0, 2] {
                            for ([x, y], p) in events {
                                let mut moved = counts;
                                moved[cell] += x;
                                moved[cell + 1] += y;
                                next.push((moved, mass * p / 2.0));
                            }
                        }
                    }
                    law = next;
                }
                let mut sums = std::collections::BTreeMap::<[i32; 4], [f64; 2]>::new();
                for (counts, mass) in law {
                    let [a, b, c, d] = counts;
                    sums.entry([a + 1, b, c, d]).or_default()[0] += mass;
                    sums.entry([a, b, c + 1, d]).or_default()[1] += mass;
                }
                let protocol =
                    BurstHistogram::new(Crowd::new(n).unwrap(), 2, bursts.clone()).unwrap();
                for epsilon in [0.0, 0.2, 0.7, 1.5_f64] {
                    let delta: f64 =
                        sums.values().map(|[x, y]| (x - epsilon.exp() * y).max(0.0)).sum();
                    let bound = protocol.delta(Epsilon::at(epsilon)).upper;
                    assert!(delta <= bound, "n = {n}, {epsilon}: {delta} > {bound}");
                }
            }
        }
    }

    #[test]
    fn a_crowd_without_roles_to_fill_is_refused() {
        let bursts = Bursts::new(vec![1 << 62], vec![1 << 61], vec![1 << 61]).unwrap();
        assert!(BurstHistogram::new(Crowd::new(2).unwrap(), 1000, bursts.clone()).is_err());
        let protocol = BurstHistogram::new(Crowd::new(400).unwrap(), 4, bursts).unwrap();
        let refused = protocol.epsilon(Delta::new(1e-19).unwrap());
        let Err(Error::Unreachable { least, .. }) = refused else { panic!("{refused:?}") };
        let delta = Delta::new(1.1 * least).unwrap();
        let guarantee = protocol.epsilon(delta).unwrap();
        assert!(protocol.delta(guarantee.epsilon).upper <= delta.get());
        assert_eq!(guarantee.lower, None);
    }
}
