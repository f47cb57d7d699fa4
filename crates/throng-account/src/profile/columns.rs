//! Several `bit-sum` columns of which one user's value moves many: a histogram of one-hot rows,
//! where a replaced value moves two, or a selection over d attributes, where it may move all d.
//!
//! The columns are independent given the data, so together they are rounds to compose, all of them
//! with the same crowd. What the user shows in a column that does not change is post-processing.

use crate::error::require;
use crate::kernel::bag::Bag;
use crate::kernel::bag_table::BagTable;
use crate::kernel::solve::smallest_epsilon;
use crate::profile::BitSum;
use crate::round;
use crate::spend::Composition;
use crate::{Band, Dataset, Delta, Epsilon, Error, Guarantee, Profile, Theorem};

/// The columns that change together.
///
/// ```
/// use throng_account::profile::{BitSum, Columns};
/// use throng_account::{Crowd, Epsilon, Profile};
///
/// let column = BitSum::new(Crowd::new(100)?, 50.0)?;
/// let (one, two) = (Columns::new(column, 1)?, Columns::new(column, 2)?);
/// let epsilon = Epsilon::new(1.0)?;
/// assert_eq!(one.delta(epsilon), column.delta(epsilon));
/// assert!(two.delta(epsilon).upper > column.delta(epsilon).upper);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Columns {
    column: BitSum,
    changing: u64,
}

impl Columns {
    /// `changing` columns like `column`, from 1 to 100 000, with one bit of each user.
    pub fn new(column: BitSum, changing: u64) -> Result<Self, Error> {
        // With at most 10¹⁰ users, totals stay well within the integers of an `f64`.
        let holds = (1..=100_000).contains(&changing);
        require(holds, "changing columns", changing as f64, "from 1 to 100000")?;
        Ok(Self { column: column.single()?, changing })
    }

    /// A lower bound on δ(ε) and the dataset that has it.
    ///
    /// Whoever complements the columns in which the user has a 1 and adds all columns up sees one
    /// bag, in which all of the user's bits change.
    fn achieved(&self, epsilon: Epsilon) -> (f64, Dataset) {
        let bag = self.bag();
        let half = bag.others / 2;
        // With two columns in all and one 1 in each row, the others have none or both of their
        // complemented bits, so only an even number of ones is sure to have a dataset.
        let middle = if self.changing == 2 { half - half % 2 } else { half };
        bag.worst_of([bag.others, middle, 0], epsilon.get())
    }

    /// The sum of all columns.
    pub(crate) fn bag(&self) -> Bag {
        Bag::new(self.column.crowd(), self.changing, self.column.flip())
    }

    /// ε₀ of all changing columns together.
    fn local(&self) -> f64 {
        round::up(self.bag().pure())
    }
}

impl Profile for Columns {
    /// Upper bound by composition of the columns, lower bound by their sum; exact for one column.
    fn delta(&self, epsilon: Epsilon) -> Band {
        if self.changing == 1 {
            return self.column.delta(epsilon);
        }
        let upper = self.bulk_delta(epsilon);
        Band { lower: self.achieved(epsilon).0.min(upper), upper }
    }

    fn bulk_delta(&self, epsilon: Epsilon) -> f64 {
        if self.changing == 1 {
            return self.column.bulk_delta(epsilon);
        }
        let left = self.local() - epsilon.get();
        if left <= 0.0 {
            return 0.0;
        }
        // No event gains more than a factor e^(ε₀−ε) allows.
        let cap = round::delta_up(-(-left).exp_m1());
        let table = BagTable::new(self.column);
        Composition::new().and(&table, self.changing).delta(epsilon).map_or(cap, |d| d.min(cap))
    }

    fn pure(&self) -> Option<Epsilon> {
        Some(Epsilon::at(self.local()))
    }

    fn theorem(&self) -> Theorem {
        if self.changing == 1 { self.column.theorem() } else { Theorem::Composition }
    }

    fn witness(&self, epsilon: Epsilon) -> Option<Dataset> {
        if self.changing == 1 {
            return self.column.witness(epsilon);
        }
        Some(self.achieved(epsilon).1)
    }

    fn epsilon(&self, delta: Delta) -> Result<Guarantee, Error> {
        if self.changing == 1 {
            return self.column.epsilon(delta);
        }
        let table = BagTable::new(self.column);
        let upper = Composition::new().and(&table, self.changing).epsilon(delta)?.get();
        let upper = upper.min(self.local());
        let lower = smallest_epsilon(delta.get(), self.local(), 0.7 * upper, |e| {
            self.achieved(Epsilon::at(e)).0
        });
        Ok(self.guarantee(delta, upper, lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Crowd;
    use crate::testing::vectors;

    fn columns(n: u64, flip: f64, changing: u64) -> Columns {
        let column = BitSum::with_flip(Crowd::new(n).unwrap(), flip).unwrap();
        Columns::new(column, changing).unwrap()
    }

    #[test]
    fn enumerated_columns_lie_between_the_bounds() {
        for row in vectors("columns.json") {
            let exact = row.f64("delta");
            let columns = columns(row.u64("n"), row.f64("flip"), row.u64("changing"));
            let band = columns.delta(Epsilon::at(row.f64("epsilon")));
            assert!(band.lower <= exact && exact <= band.upper, "{row:?}: {band:?}");
            // No dataset is the worst at every ε, and composition allows for another at each.
            assert!(band.upper <= 1.3 * exact, "{row:?}: {band:?}");
            assert!(band.lower >= 0.8 * exact, "{row:?}: {band:?}");
        }
    }

    // All datasets of two columns, both directions, every event: the law of both counts.
    #[test]
    fn every_dataset_of_a_small_crowd_is_covered() {
        for (others, flip) in [(1, 0.2), (2, 0.05), (3, 0.3)] {
            let count = |ones: u64| -> Vec<f64> {
                let mut law = vec![1.0];
                for user in 0..=others {
                    let one = if user < ones { 1.0 - flip } else { flip };
                    law.push(0.0);
                    for place in (0..law.len()).rev() {
                        let below = if place == 0 { 0.0 } else { law[place - 1] };
                        law[place] = law[place] * (1.0 - one) + below * one;
                    }
                }
                law
            };
            let columns = columns(others + 1, flip, 2);
            for epsilon in [0.0, 0.4, 1.1, 2.5_f64] {
                let upper = columns.delta(Epsilon::at(epsilon)).upper;
                for (first, second) in (0..=others).flat_map(|i| (0..=others).map(move |j| (i, j)))
                {
                    // The first column gains the user's 1, the second loses it.
                    let worlds =
                        [(count(first + 1), count(second)), (count(first), count(second + 1))];
                    let delta: f64 = (0..worlds[0].0.len().pow(2))
                        .map(|cell| (cell / worlds[0].0.len(), cell % worlds[0].0.len()))
                        .map(|(i, j)| {
                            let at = |world: &(Vec<f64>, Vec<f64>)| world.0[i] * world.1[j];
                            (at(&worlds[0]) - epsilon.exp() * at(&worlds[1])).max(0.0)
                        })
                        .sum();
                    assert!(delta <= upper, "{others} {flip} {epsilon}: {delta} > {upper}");
                }
            }
        }
    }

    // A histogram of two categories, every dataset of one-hot rows: the lower bound has to be one
    // of theirs. It once came from a number of ones that no such rows have.
    #[test]
    fn a_witness_of_two_categories_exists() {
        let step = |law: &[f64], one: f64| -> Vec<f64> {
            let mut next = vec![0.0; law.len() + 1];
            for (place, p) in law.iter().enumerate() {
                next[place] += p * (1.0 - one);
                next[place + 1] += p * one;
            }
            next
        };
        let count = |ones: u64, of: u64, flip: f64| {
            let one = |user| if user < ones { 1.0 - flip } else { flip };
            (0..of).fold(vec![1.0], |law, user| step(&law, one(user)))
        };
        for (n, flip) in [(2, 0.340_479_247), (2, 0.1), (4, 0.2), (6, 0.35)] {
            let columns = columns(n, flip, 2);
            for epsilon in (0..40).map(|i| 0.05 * f64::from(i)) {
                let exact = |held: u64| -> f64 {
                    // Of the others `held` have the first category; the user moves to the second.
                    let [a, b] = [held + 1, held].map(|ones| count(ones, n, flip));
                    let [c, d] = [n - 1 - held, n - held].map(|ones| count(ones, n, flip));
                    let cell = |(i, j): (usize, usize)| a[i] * c[j] - epsilon.exp() * b[i] * d[j];
                    let cells = (0..a.len()).flat_map(|i| (0..c.len()).map(move |j| (i, j)));
                    cells.map(|at| cell(at).max(0.0)).sum()
                };
                let worst = (0..n).map(exact).fold(0.0, f64::max);
                let lower = columns.delta(Epsilon::at(epsilon)).lower;
                assert!(lower <= worst * (1.0 + 1e-12), "{n} {flip} {epsilon}: {lower} > {worst}");
            }
        }
    }

    #[test]
    fn large_crowds_are_known_to_a_percent() {
        for (n, flip, changing, gap) in [
            (1_000_000, 1e-4, 2, 0.005),
            (1_000_000, 1e-4, 100, 0.02),
            (1_000_000, 1e-3, 100, 0.01),
            (10_000, 1e-2, 2, 0.005),
        ] {
            let columns = columns(n, flip, changing);
            let delta = Delta::new(1e-8).unwrap();
            let found = columns.epsilon(delta).unwrap();
            let lower = found.lower.as_ref().unwrap().epsilon.get();
            assert!(found.epsilon.get() / lower < 1.0 + gap, "{found:?}");
            assert!(columns.delta(found.epsilon).upper <= delta.get() * (1.0 + 1e-6));
        }
    }

    #[test]
    fn privacy_falls_with_the_columns_and_grows_with_epsilon_flip_and_crowd() {
        let delta =
            |n, flip, changing, eps| columns(n, flip, changing).delta(Epsilon::at(eps)).upper;
        for (n, flip) in [(30, 0.1), (400, 0.02)] {
            for changing in [2, 5] {
                for eps in [0.1, 0.7, 2.0] {
                    let here = delta(n, flip, changing, eps) * (1.0 + 1e-3);
                    assert!(delta(n, flip, changing + 1, eps) * (1.0 + 1e-3) >= here);
                    assert!(delta(n, flip, changing, eps + 0.1) <= here);
                    assert!(delta(n, 1.1 * flip, changing, eps) <= here);
                    assert!(delta(n + 5, flip, changing, eps) <= here);
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_at_the_local_epsilon() {
        let columns = columns(100, 0.25, 3);
        let pure = columns.pure().unwrap();
        crate::testing::assert_close(pure.get(), 3.0 * 3f64.ln(), 1e-8);
        assert_eq!(columns.delta(pure), Band::ZERO);
        assert!(Columns::new(columns.column, 0).is_err());
    }
}
