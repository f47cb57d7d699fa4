//! Two laws that are known outcome by outcome, sorted into bins of the loss.
//!
//! A law of bursts has a million outcomes, and composition looks at hundreds of δ(ε). One pass over
//! the outcomes sums the masses of both laws in every bin of `ln P/Q`; then
//!
//! ```text
//! δ(jw) = Σ_{bins from j on} P − e^{jw}·Q
//! ```
//!
//! at the edges of bins of width w, and chords between them lie above δ, which is convex in e^ε.

use crate::round;
use crate::{Band, Epsilon, Profile, Theorem};

/// Sums of P and Q by the loss `ln P/Q`.
pub(crate) struct Bins {
    width: f64,
    /// From the losses below `−MOST·width` to those above `MOST·width`.
    sums: Vec<[f64; 2]>,
    outcomes: u64,
    /// Masses are within `e^±error` of those that they stand for.
    error: f64,
    /// The mass that the outcomes miss.
    leak: f64,
}

impl Bins {
    /// Bins for laws with this distance in total variation, whose masses are within `e^±error` of
    /// the truth and miss `leak`.
    pub(crate) fn new(variation: f64, error: f64, leak: f64) -> Self {
        // As if the loss were Gaussian: the distance is its deviation over √(2π).
        let width = (2.5 * variation / PER_DEVIATION).max(1e-12);
        Self { width, sums: vec![[0.0; 2]; 2 * MOST + 1], outcomes: 0, error, leak }
    }

    /// Bins of all outcomes of two laws that are taken as exact and complete.
    pub(crate) fn of_pairs(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let variation = pairs.clone().map(|(p, q)| (p - q).max(0.0)).sum();
        let mut bins = Self::new(variation, 0.0, 0.0);
        pairs.for_each(|(p, q)| bins.add(p, q));
        bins
    }

    /// Adds an outcome.
    #[inline]
    pub(crate) fn add(&mut self, p: f64, q: f64) {
        // Two masses of 0 have no loss, and add nothing wherever they go.
        let place = ((p / q).ln() / self.width).floor().clamp(-(MOST as f64), MOST as f64);
        let [sum_p, sum_q] = &mut self.sums[(place + MOST as f64) as usize];
        *sum_p += p;
        *sum_q += q;
        self.outcomes += 1;
    }

    /// The profile of both directions.
    pub(crate) fn profile(&self, theorem: Theorem) -> BinnedProfile {
        let rounding = 2.0 * self.outcomes as f64 * f64::EPSILON;
        // P − E·Q, with E lower by all that losses and masses may be off, so that every outcome of
        // these bins adds something. An outcome of the bin before, whose loss rounding took over
        // the edge, would add next to nothing.
        let delta = |place: usize, [p, q]: [f64; 2], before: f64| {
            let e = (self.width * place as f64 - MARGIN - 2.0 * self.error).exp();
            let gain = (p - e * q).max(0.0) + rounding * p + (MARGIN + 2.0 * self.error) * before;
            round::delta_up(gain * self.error.exp() + self.leak).min(1.0)
        };
        let mut deltas = vec![0.0; MOST + 1];
        let (mut above, mut below) = ([0.0; 2], [0.0; 2]);
        for place in (0..=MOST).rev() {
            let [p, q] = self.sums[MOST + place];
            above = [above[0] + p, above[1] + q];
            // The losses below −jw are those of the bins that end there or before.
            if place < MOST {
                let [p, q] = self.sums[MOST - place - 1];
                below = [below[0] + q, below[1] + p];
            }
            let (before, after) =
                (self.sums[(MOST + place).saturating_sub(1)][0], self.sums[MOST - place][1]);
            deltas[place] = delta(place, above, before).max(delta(place, below, after));
        }
        // The first bin ends where the last edge is mirrored, and goes on to what only Q can show.
        deltas[MOST] = deltas[MOST].max(delta(MOST, [self.sums[0][1], 0.0], 0.0));
        BinnedProfile::new(self.width, deltas, theorem)
    }

    /// Outcomes by increasing loss, `(loss, P, Q)`, that are no easier to tell apart than those in
    /// the bins: every bin is split between its edges, with the same sums (connect the dots).
    pub(crate) fn dominating(&self) -> Vec<(f64, f64, f64)> {
        let mut split = vec![[0.0; 2]; 2 * MOST + 1];
        let (mut rest_p, mut rest_q) = (0.0, 0.0);
        for (index, &[p, q]) in self.sums.iter().enumerate() {
            // What is beyond the ends is told apart for sure.
            if index == 2 * MOST || index == 0 {
                (rest_p, rest_q) = (rest_p + p, rest_q + q);
                continue;
            }
            let [left, right] = [index, index + 1].map(|index| self.edge(index));
            let upper = (p - q * left.exp()) / (right.exp() - left.exp());
            let upper = upper.clamp(0.0, q);
            for (index, edge, q) in [(index, left, q - upper), (index + 1, right, upper)] {
                split[index][0] += q * edge.exp();
                split[index][1] += q;
            }
        }
        let inner = split.iter().enumerate().map(|(index, &[p, q])| (self.edge(index), p, q));
        let inner = inner.filter(|&(_, p, q)| p > 0.0 || q > 0.0);
        let ends = [(f64::NEG_INFINITY, 0.0, rest_q)].into_iter().chain(inner);
        ends.chain([(f64::INFINITY, rest_p, 0.0)]).collect()
    }

    /// The relative error of masses, with that of the sums and of the losses.
    pub(crate) fn error(&self) -> f64 {
        self.error + MARGIN + self.outcomes as f64 * f64::EPSILON
    }

    pub(crate) fn leak(&self) -> f64 {
        self.leak
    }

    /// The left edge of a bin.
    fn edge(&self, index: usize) -> f64 {
        (index as f64 - MOST as f64) * self.width
    }
}

/// δ at the edges of bins, and chords between.
pub(crate) struct BinnedProfile {
    width: f64,
    deltas: Vec<f64>,
    theorem: Theorem,
}

impl BinnedProfile {
    /// The profile with these upper bounds on δ at 0, `width`, `2·width` and so on.
    pub(crate) fn new(width: f64, deltas: Vec<f64>, theorem: Theorem) -> Self {
        debug_assert!(!deltas.is_empty(), "a profile has a δ at ε = 0");
        Self { width, deltas, theorem }
    }
}

impl Profile for BinnedProfile {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let place = epsilon.get() / self.width;
        let index = place.floor() as usize;
        let upper = match (self.deltas.get(index), self.deltas.get(index.saturating_add(1))) {
            (Some(high), Some(low)) => {
                let within = epsilon.get() - self.width * index as f64;
                let share = within.max(0.0).exp_m1() / self.width.exp_m1();
                round::up(high + (low - high).min(0.0) * share.min(1.0))
            }
            _ => self.deltas[self.deltas.len() - 1],
        };
        Band { lower: 0.0, upper }
    }

    fn theorem(&self) -> Theorem {
        self.theorem
    }

    fn least_delta(&self) -> f64 {
        self.deltas[self.deltas.len() - 1]
    }
}

/// Twice what rounding does to a loss.
const MARGIN: f64 = 1e-13;
/// Bins per deviation of the loss.
const PER_DEVIATION: f64 = 64.0;
/// Bins of each sign: losses up to 64 deviations.
const MOST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    /// A law on the line that is not its own mirror image, against itself moved by one.
    fn pairs() -> Vec<(f64, f64)> {
        let law: Vec<f64> = (0..60)
            .map(|x| (-0.02 * f64::from(x - 25).powi(2) - 0.03 * f64::from(x)).exp())
            .collect();
        let total: f64 = law.iter().sum();
        let at =
            |x: i32| usize::try_from(x).ok().and_then(|x| law.get(x)).map_or(0.0, |p| p / total);
        (0..=60).map(|x| (at(x), at(x - 1))).collect()
    }

    fn divergence(pairs: &[(f64, f64)], epsilon: f64) -> (f64, f64) {
        let e = epsilon.exp();
        pairs.iter().fold((0.0, 0.0), |(one, other), (p, q)| {
            (one + (p - e * q).max(0.0), other + (q - e * p).max(0.0))
        })
    }

    #[test]
    fn the_profile_of_bins_lies_just_above_that_of_the_outcomes() {
        let pairs = pairs();
        let binned = Bins::of_pairs(pairs.iter().copied()).profile(Theorem::ExactBursts);
        for step in 0..300 {
            let epsilon = 0.005 * f64::from(step);
            let (one, other) = divergence(&pairs, epsilon);
            let (exact, found) = (one.max(other), binned.delta(Epsilon::at(epsilon)).upper);
            assert!(exact <= found && found <= exact * 1.02 + 1e-12, "{epsilon}: {exact} {found}");
        }
        // What only one of them can show is never hidden.
        assert!(binned.least_delta() >= pairs[0].0);
    }

    #[test]
    fn both_laws_are_treated_alike() {
        // Each can show something that the other cannot, and nothing else tells them well apart.
        let pairs = [(3e-5, 0.0), (0.0, 7e-4), (0.5, 0.49933), (0.49997, 0.49997)];
        let profile = |pairs: &[(f64, f64)]| {
            Bins::of_pairs(pairs.iter().copied()).profile(Theorem::ExactBursts)
        };
        let swapped = pairs.map(|(p, q)| (q, p));
        let (one, other) = (profile(&pairs), profile(&swapped));
        assert!(one.least_delta() >= 7e-4 && other.least_delta() >= 7e-4);
        for epsilon in [0.0, 1e-3, 0.1, 0.5, 1.0, 5.0] {
            let (p, q) = divergence(&pairs, epsilon);
            let exact = p.max(q);
            for found in [&one, &other].map(|bins| bins.delta(Epsilon::at(epsilon)).upper) {
                assert!(exact <= found && found <= 1.02 * exact, "{epsilon}: {exact} {found}");
            }
        }
    }

    #[test]
    fn outcomes_of_bins_dominate_those_in_them_and_keep_the_sums() {
        let pairs = pairs();
        let outcomes = Bins::of_pairs(pairs.iter().copied()).dominating();
        assert!(outcomes.is_sorted_by(|a, b| a.0 < b.0));
        let coarse: Vec<(f64, f64)> = outcomes.iter().map(|(_, p, q)| (*p, *q)).collect();
        let (p, q) = coarse.iter().fold((0.0, 0.0), |sum, (p, q)| (sum.0 + p, sum.1 + q));
        assert!((p - 1.0).abs() < 1e-9 && (q - 1.0).abs() < 1e-9, "{p} {q}");
        for step in 0..100 {
            let epsilon = 0.01 * f64::from(step);
            let (exact, found) = (divergence(&pairs, epsilon), divergence(&coarse, epsilon));
            assert!(found.0 >= exact.0 - 1e-12 && found.0 <= 1.02 * exact.0 + 1e-5);
            assert!(found.1 >= exact.1 - 1e-12 && found.1 <= 1.02 * exact.1 + 1e-5);
        }
    }
}
