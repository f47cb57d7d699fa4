//! Profiles that are looked at in a few places only, of one report and of several of one person.

use super::group;
use crate::round;
use crate::{Band, Epsilon, Error, Profile, Theorem};

/// A profile known at some ε, and between them by chords.
///
/// δ is convex in e^ε, so a chord through two values, each rounded up, lies above it; after the
/// last value it is that value. Upper bound. An evaluation may take 30 ms, and composition wants
/// hundreds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    /// ε and δ, ascending in ε, from 0 on.
    points: Vec<(f64, f64)>,
    pure: Option<Epsilon>,
    theorem: Theorem,
}

impl Table {
    /// The table of a profile, out to where δ stops falling, where it is 0, or where `reports`
    /// reports of one person have less of it than `floor`.
    pub fn new(profile: &dyn Profile, reports: u64, floor: f64) -> Result<Self, Error> {
        let written = profile.written_out();
        let (per_deviation, most) =
            if written.is_some() { (FINE, FINE_MOST) } else { (PER_DEVIATION, MOST) };
        let profile = written.as_deref().unwrap_or(profile);
        let pure = profile.pure();
        let last = pure.map_or(f64::INFINITY, Epsilon::get);
        let mut points: Vec<(f64, f64)> = Vec::new();
        let (mut epsilon, mut step) = (0.0, 0.0);
        loop {
            let delta = profile.bulk_delta(Epsilon::new(epsilon)?).min(1.0);
            let falls = points.last().is_none_or(|(_, before)| delta < before * (1.0 - 1e-6));
            points.push((epsilon, delta));
            let (total, small) = group(epsilon, delta, reports);
            // Larger ε are not worth a place.
            let enough = small <= floor || epsilon >= last || total > 300.0;
            if !falls || enough || points.len() >= most {
                break;
            }
            if points.len() == 1 {
                // As if the loss were Gaussian: δ(0) is its deviation over √(2π).
                step = (2.5 * delta / per_deviation).max(1e-12);
            } else if epsilon > 3.0 * per_deviation * step {
                // In the tail the places get further apart each time.
                step *= 1.0 + 0.6 / per_deviation;
            }
            epsilon = (epsilon + step).min(last);
        }
        Ok(Self { points, pure, theorem: profile.theorem() })
    }

    /// The profile of `rounds` rounds together, known at these points, where one round has this
    /// table.
    pub fn of_rounds(&self, rounds: u64, points: Vec<(f64, f64)>) -> Result<Self, Error> {
        let pure = self.pure.map(|pure| Epsilon::new(round::up(pure.get() * rounds as f64)));
        Ok(Self { points, pure: pure.transpose()?, theorem: Theorem::Composition })
    }

    /// The profile of `reports` reports of one person in one bag, by [`group()`] at every point of
    /// the table, with chords between.
    pub fn together(&self, reports: u64) -> Result<Self, Error> {
        let pure = self.pure.map(|pure| Epsilon::new(round::up(pure.get() * reports as f64)));
        let mut points: Vec<(f64, f64)> = Vec::new();
        for &(epsilon, delta) in &self.points {
            let (total, delta) = group(epsilon, delta, reports);
            // More ε for no less δ says nothing.
            if points.last().is_none_or(|(_, least)| delta < *least) {
                points.push((total, delta.min(1.0)));
            }
        }
        Ok(Self { points, pure: pure.transpose()?, theorem: self.theorem })
    }
}

impl Profile for Table {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let eps = epsilon.get();
        let after = self.points.partition_point(|(place, _)| *place < eps);
        let upper = match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (Some((left, high)), Some((right, low))) => {
                let share = (eps - left).exp_m1() / (right - left).exp_m1();
                round::up(high + (low - high) * share)
            }
            (Some((_, delta)), None) => delta,
            (None, point) => point.map_or(1.0, |(_, delta)| *delta),
        };
        Band { lower: 0.0, upper }
    }

    fn pure(&self) -> Option<Epsilon> {
        self.pure
    }

    fn theorem(&self) -> Theorem {
        self.theorem
    }

    fn least_delta(&self) -> f64 {
        self.points.last().map_or(1.0, |(_, delta)| *delta)
    }
}

/// Places per deviation of the loss, near its middle: chords add half a hundredth to its variance.
const PER_DEVIATION: f64 = 6.0;
/// The most places of a table.
const MOST: usize = 160;
/// The same for profiles that are written out: chords add a ten-thousandth to the variance.
const FINE: f64 = 40.0;
const FINE_MOST: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::BitSum;
    use crate::spend::Composition;
    use crate::{Crowd, Delta, Probability};

    /// `Σ (p − e^ε·q)₊` for the numbers of ones in bags where bits of value 1 and 0 are flipped.
    fn divergence(ones: [u64; 2], n: u64, flip: f64, epsilon: f64) -> f64 {
        let law = |ones: u64| {
            let mut law = vec![1.0];
            for user in 0..n {
                let one = if user < ones { 1.0 - flip } else { flip };
                let mut next = vec![0.0; law.len() + 1];
                for (count, p) in law.iter().enumerate() {
                    next[count] += p * (1.0 - one);
                    next[count + 1] += p * one;
                }
                law = next;
            }
            law
        };
        let (p, q) = (law(ones[0]), law(ones[1]));
        p.iter().zip(&q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    fn bit_sum(n: u64, flip: f64) -> BitSum {
        let flip = Probability::new("flip", flip).unwrap();
        BitSum::with_flip(Crowd::new(n).unwrap(), flip.get()).unwrap()
    }

    #[test]
    fn a_group_covers_every_bag_in_which_one_person_has_several_reports() {
        let mut factor_needed = false;
        for (n, flip) in [(2, 0.3), (4, 0.25), (7, 0.1), (12, 0.2)] {
            let profile = bit_sum(n, flip);
            for reports in 1..=n.min(4) {
                let table = Table::new(&profile, reports, 1e-12).unwrap();
                let group = table.together(reports).unwrap();
                for place in 0..60 {
                    let epsilon = Epsilon::new(0.15 * f64::from(place)).unwrap();
                    // All bits of one person change, everyone else has what they have.
                    let worst = (0..=n - reports)
                        .flat_map(|ones| [[ones + reports, ones], [ones, ones + reports]])
                        .map(|ones| divergence(ones, n, flip, epsilon.get()))
                        .fold(0.0, f64::max);
                    let claimed = group.delta(epsilon).upper;
                    assert!(worst <= claimed + 1e-15, "{n}, {reports}: {worst} > {claimed}");
                    let m = reports as f64;
                    let one = Epsilon::new(epsilon.get() / m).unwrap();
                    factor_needed |= worst > m * profile.delta(one).upper * (1.0 + 1e-6);
                }
            }
        }
        // m times δ would not have been enough.
        assert!(factor_needed);
    }

    #[test]
    fn a_table_lies_above_its_profile_and_not_by_much() {
        let profile = bit_sum(1_000, 0.05);
        let table = Table::new(&profile, 1, 1e-12).unwrap();
        assert!(table.points.len() < 600, "{}", table.points.len());
        for place in 0..200 {
            let epsilon = Epsilon::new(0.007 * f64::from(place)).unwrap();
            let (exact, claimed) = (profile.delta(epsilon).upper, table.delta(epsilon).upper);
            assert!(exact <= claimed * (1.0 + 1e-12), "{place}");
        }
        let delta = Delta::new(1e-6).unwrap();
        for rounds in [2, 50] {
            let exact = Composition::new().and(&profile, rounds).epsilon(delta).unwrap().get();
            let claimed = Composition::new().and(&table, rounds).epsilon(delta).unwrap().get();
            assert!(
                claimed > exact * (1.0 - 1e-3) && claimed < exact * 1.001,
                "{exact}, {claimed}"
            );
        }
    }

    #[test]
    fn a_group_costs_no_less_than_its_rounds_apart() {
        let table = Table::new(&bit_sum(1_000, 0.05), 4, 1e-12).unwrap();
        let group = table.together(4).unwrap();
        for delta in [1e-3, 1e-6, 1e-9] {
            let delta = Delta::new(delta).unwrap();
            let apart = Composition::new().and(&table, 4).epsilon(delta).unwrap();
            let together = Composition::new().and(&group, 1).epsilon(delta).unwrap();
            assert!(apart < together);
        }
    }
}
