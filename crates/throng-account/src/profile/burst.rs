//! `burst-count`: everyone sends a '+' for a 1 and, rarely, a burst of noise.
//!
//! A user adds at most one event, drawn without looking at the bit: j pairs of '+' and '−', which
//! hide how many messages there are, or k times '+', or k times '−', which hide their difference.
//! The estimate is the difference of the two counts. A user has 1 + K slots, where K is the size of
//! the largest event; what is not used is filled with nulls.
//!
//! The bag shows (number of '+', number of '−'). The noise does not depend on the data, so one bit
//! moves the law of the noise by one '+', on every dataset alike.

use crate::error::require;
use crate::kernel::bins::Bins;
use crate::kernel::burst_law::{Law, Limits, Sum};
use crate::round;
use crate::{Band, Crowd, Dataset, Delta, Epsilon, Error, Profile, Theorem};

/// The catalogue of noise events, as integer weights out of 2⁶⁴: a sampler compares one uniform
/// `u64` with their running sums, and takes no event with the rest.
///
/// ```
/// use throng_account::profile::Bursts;
///
/// // A pair, a lone '+' and a lone '−', each of them with chance ⅛.
/// let eighth = 1 << 61;
/// let bursts = Bursts::new(vec![eighth], vec![eighth], vec![eighth])?;
/// assert_eq!((bursts.slots(), bursts.none()), (2, 5 * eighth));
/// assert!(Bursts::new(vec![1 << 63], vec![1 << 63], vec![]).is_err());
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bursts {
    pairs: Vec<u64>,
    plus: Vec<u64>,
    minus: Vec<u64>,
    none: u64,
}

impl Bursts {
    /// `pairs[j-1]` is the weight of j '+' and j '−' together, `plus[k-1]` of k '+', `minus[k-1]`
    /// of k '−'. There is at least one event, and the weights sum to less than 2⁶⁴.
    pub fn new(pairs: Vec<u64>, plus: Vec<u64>, minus: Vec<u64>) -> Result<Self, Error> {
        let lists = [&pairs, &plus, &minus];
        let longest = lists.iter().map(|list| list.len()).max().unwrap_or(0);
        require(longest <= 4096, "burst", longest as f64, "at most 4096 messages of one sign")?;
        let total: u128 = lists.into_iter().flatten().map(|&weight| u128::from(weight)).sum();
        let holds = total > 0 && total < 1 << 64;
        require(holds, "weight of all bursts", total as f64, "above 0 and below 2^64")?;
        Ok(Self { pairs, plus, minus, none: (total as u64).wrapping_neg() })
    }

    /// Weights of j '+' and j '−', from j = 1.
    pub fn pairs(&self) -> &[u64] {
        &self.pairs
    }

    /// Weights of k '+', from k = 1.
    pub fn plus(&self) -> &[u64] {
        &self.plus
    }

    /// Weights of k '−', from k = 1.
    pub fn minus(&self) -> &[u64] {
        &self.minus
    }

    /// The weight of no event.
    pub fn none(&self) -> u64 {
        self.none
    }

    /// K, the number of messages of the largest event that can happen.
    pub fn slots(&self) -> u64 {
        let largest =
            |list: &[u64]| list.iter().rposition(|&weight| weight > 0).map_or(0, |i| i + 1);
        (2 * largest(&self.pairs)).max(largest(&self.plus)).max(largest(&self.minus)) as u64
    }
}

/// The protocol with its crowd.
///
/// ```
/// use throng_account::profile::{BurstCount, Bursts};
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// let sixteenth = 1 << 60;
/// let bursts = Bursts::new(vec![sixteenth], vec![sixteenth; 2], vec![sixteenth; 2])?;
/// let count = BurstCount::new(Crowd::new(100)?, bursts)?;
/// // ε = 0.51 at δ = 10⁻³, the same on every dataset.
/// assert!((count.epsilon(Delta::new(1e-3)?)?.epsilon.get() - 0.50973).abs() < 1e-5);
///
/// // A bit that was removed is the easier one to notice.
/// let (removed, added) = count.directions(Epsilon::new(1.0)?);
/// assert!(removed > 1e-5 && added < 1e-15);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BurstCount {
    bursts: Bursts,
    law: Law,
}

impl BurstCount {
    /// Computes the law of the noise of the crowd, which is the work; profiles are then cheap.
    ///
    /// An error where the law has too many outcomes to compute: large bursts with many events.
    pub fn new(crowd: Crowd, bursts: Bursts) -> Result<Self, Error> {
        Self::within(Limits::LARGE, crowd, bursts)
    }

    /// Does as [`Self::new`], for whoever looks at δ near this one: an upper bound with less work,
    /// which is no bound worth having at a much smaller δ.
    ///
    /// ```
    /// use throng_account::profile::{BurstCount, Bursts};
    /// use throng_account::{Crowd, Delta, Epsilon, Profile};
    ///
    /// let sixteenth = 1 << 60;
    /// let bursts = Bursts::new(vec![sixteenth], vec![sixteenth; 2], vec![sixteenth; 2])?;
    /// let (crowd, epsilon) = (Crowd::new(100)?, Epsilon::new(1.0)?);
    /// let exact = BurstCount::new(crowd, bursts.clone())?.delta(epsilon).upper;
    /// let near = BurstCount::near(crowd, bursts, Delta::new(exact)?)?.delta(epsilon).upper;
    /// assert!(exact <= near && near < 1.001 * exact);
    /// # Ok::<(), throng_account::Error>(())
    /// ```
    pub fn near(crowd: Crowd, bursts: Bursts, delta: Delta) -> Result<Self, Error> {
        Self::within(Limits::LARGE.near(delta.get()), crowd, bursts)
    }

    /// Does as [`Self::new`], with other limits.
    pub(crate) fn within(limits: Limits, crowd: Crowd, bursts: Bursts) -> Result<Self, Error> {
        Ok(Self { law: Law::new(limits, crowd.get(), &bursts)?, bursts })
    }

    /// `δ(ε)` for telling a bit that was removed, and for telling one that was added.
    ///
    /// ```text
    /// removed = Σ (V(a, b) − E·V(a−1, b))₊        V the law of the noise: a '+' and b '−'
    /// added   = Σ (V(a−1, b) − E·V(a, b))₊
    /// ```
    ///
    /// Exact to rounding; the mass outside the computed table, 4·10⁻²² unless it was made for one δ,
    /// is added.
    pub fn directions(&self, epsilon: Epsilon) -> (f64, f64) {
        let (removed, added) = self.sums(divergence_at(epsilon.get()));
        (removed + self.law.leak, added + self.law.leak)
    }

    /// `ln P[bag | bit 1]/P[bag | bit 0]` for a bag with `plus` '+' and `minus` '−' beyond the
    /// others' ones. Outside the computed table it is infinite, or 0 where nothing is known.
    pub fn log_ratio(&self, plus: i64, minus: i64) -> f64 {
        let (one, zero) =
            (self.law.mass(plus.saturating_sub(1), minus), self.law.mass(plus, minus));
        if one == zero { 0.0 } else { (one / zero).ln() }
    }

    /// The bursts that they may add.
    pub fn bursts(&self) -> &Bursts {
        &self.bursts
    }

    /// The larger of both divergences of the table as it is, at an ε that may be below 0 by
    /// rounding.
    fn divergence(&self, epsilon: f64) -> f64 {
        let (removed, added) = self.sums(divergence_at(epsilon));
        removed.max(added)
    }

    /// A `gain` of one mass against another, summed over all outcomes in both directions.
    fn sums(&self, gain: impl Fn(f64, f64) -> f64) -> (f64, f64) {
        let (mut removed, mut added) = (Sum::default(), Sum::default());
        self.law.for_each(|zero, one| {
            removed.add(gain(zero, one));
            added.add(gain(one, zero));
        });
        (removed.total(), added.total())
    }
}

impl Profile for BurstCount {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let Law { error, leak, .. } = self.law;
        // What the table misses may belong to the other world, where it counts E times.
        let lower = self.divergence(epsilon.get() + 2.0 * error) * (-error).exp()
            - epsilon.get().exp() * leak;
        Band { lower: round::down(lower), upper: self.upper_delta(epsilon) }
    }

    fn theorem(&self) -> Theorem {
        Theorem::ExactBursts
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        Some(Dataset::Every)
    }

    fn upper_delta(&self, epsilon: Epsilon) -> f64 {
        let Law { error, leak, .. } = self.law;
        round::delta_up(self.divergence(epsilon.get() - 2.0 * error) * error.exp() + leak)
    }

    fn written_out(&self) -> Option<Box<dyn Profile>> {
        let (removed, added) = self.sums(divergence_at(0.0));
        let mut bins = Bins::new(removed.max(added), self.law.error, self.law.leak);
        self.law.for_each(|zero, one| bins.add(zero, one));
        Some(Box::new(bins.profile(self.theorem())))
    }

    /// The chance of bags that are possible for one of the two bits only.
    fn least_delta(&self) -> f64 {
        let (removed, added) = self.sums(|mass, other| if other == 0.0 { mass } else { 0.0 });
        round::delta_up(removed.max(added) * self.law.error.exp() + self.law.leak)
    }
}

/// `(P − E·Q)₊`.
fn divergence_at(epsilon: f64) -> impl Fn(f64, f64) -> f64 {
    let e = epsilon.exp().min(f64::MAX);
    move |mass, other| (mass - e * other).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::TWO_64;
    use crate::testing::{Row, assert_close, moments, vectors};
    use std::collections::BTreeMap;

    fn row_bursts(row: &Row) -> Bursts {
        Bursts::new(row.weights("pairs"), row.weights("plus"), row.weights("minus")).unwrap()
    }

    /// Rates of the whole crowd.
    fn count(n: u64, pairs: &[f64], plus: &[f64], minus: &[f64]) -> BurstCount {
        let weights = |rates: &[f64]| -> Vec<u64> {
            rates.iter().map(|rate| (rate / n as f64 * TWO_64).round() as u64).collect()
        };
        let bursts = Bursts::new(weights(pairs), weights(plus), weights(minus)).unwrap();
        BurstCount::new(Crowd::new(n).unwrap(), bursts).unwrap()
    }

    /// The shape of calibrated bursts: (s, κ) of both signs, η·ε and ρ of the pairs.
    fn shape(
        n: u64,
        k: u32,
        plus: (f64, f64),
        minus: (f64, f64),
        tilt: f64,
        rho: f64,
    ) -> BurstCount {
        let sided = |(s, kappa): (f64, f64)| -> Vec<f64> {
            let end = |j: u32| if j == k { kappa } else { 1.0 };
            (1..=k).map(|j| end(j) * s.powi(j as i32) / f64::from(j)).collect()
        };
        let pairs: Vec<f64> =
            (1..=k / 2).map(|j| rho * (-tilt * f64::from(j) / 2.0).exp() / f64::from(j)).collect();
        count(n, &pairs, &sided(plus), &sided(minus))
    }

    #[test]
    fn both_directions_agree_with_direct_convolution() {
        let protocol = count(7, &[1.5], &[0.6, 0.3, 0.2], &[0.6, 0.3, 0.2]);
        let (removed, added) = protocol.directions(Epsilon::at(0.7));
        assert_close(removed, 0.0940559415953505, 1e-10);
        assert_close(added, 0.0123081446992935, 1e-10);
        let protocol = count(9, &[1.0, 0.5], &[0.5, 0.25], &[0.7, 0.4]);
        for (epsilon, expected) in [
            (0.5, (0.12903751265052, 0.07869515392430)),
            (1.0, (0.07594836360090, 0.00711369041971)),
        ] {
            let (removed, added) = protocol.directions(Epsilon::at(epsilon));
            assert_close(removed, expected.0, 1e-10);
            assert_close(added, expected.1, 1e-10);
        }
    }

    #[test]
    fn crowds_of_ten_thousand_agree_with_an_independent_program() {
        let k6 = shape(10_000, 6, (0.418476, 9.869), (0.442520, 9.601), 0.05, 195.0124);
        let k4 = shape(10_000, 4, (0.507123, 4.205), (0.536085, 4.931), 0.05, 194.7485);
        let k8 = shape(10_000, 8, (0.387495, 26.24), (0.431185, 20.0), 0.1, 130.2727);
        let k8m = shape(1_000_000, 8, (0.387495, 26.24), (0.431185, 20.0), 0.1, 136.0);
        let k24 = shape(10_000, 24, (0.609838, 288.0), (0.640523, 182.6), 0.05, 126.6212);
        for (protocol, epsilon, removed, added) in [
            (&k6, 1.0, 9.973046119e-9, 1.473790846e-9),
            (&k4, 1.0, 9.996522344e-9, 1.764857227e-9),
            (&k8, 1.0, 9.982420433e-9, 1.354554547e-11),
            (&k8m, 1.0, 8.861623952e-9, 1.334650869e-11),
            (&k24, 0.5, 9.907901156e-9, 1.059202609e-10),
        ] {
            let found = protocol.directions(Epsilon::at(epsilon));
            assert_close(found.0, removed, 1e-9);
            assert_close(found.1, added, 1e-9);
            let band = protocol.delta(Epsilon::at(epsilon));
            assert!(band.lower < removed && removed < band.upper);
            assert!(band.upper < band.lower * (1.0 + 1e-7));
        }
        assert_eq!(
            (k6.bursts.pairs()[0], k6.bursts.pairs()[1]),
            (0x4de7a7fb0d12280, 0x25fd9f6e26d0060)
        );
        assert_eq!((k6.bursts.none(), k6.bursts.slots()), (0xf72ef1da7a31ce2a, 6));
        let (mean, variance) = moments(&k6.bursts);
        assert_close((1e4 * variance).sqrt(), 1.8050975, 1e-7);
        assert_close(mean * 1e4, -0.0890262, 1e-6);
    }

    #[test]
    fn both_directions_agree_with_eighty_digits() {
        for row in vectors("burst.json").iter().filter(|row| row.text("kind") == "count") {
            let protocol =
                BurstCount::new(Crowd::new(row.u64("n")).unwrap(), row_bursts(row)).unwrap();
            let epsilon = Epsilon::at(row.f64("epsilon"));
            let (removed, added) = protocol.directions(epsilon);
            for (found, expected) in [(removed, row.f64("removed")), (added, row.f64("added"))] {
                let error = (found - expected).abs();
                assert!(error <= 1e-10 * expected + 5e-22, "{row:?}: {found:e}");
            }
            let truth = row.f64("removed").max(row.f64("added"));
            let band = protocol.delta(epsilon);
            assert!(band.lower <= truth && truth <= band.upper, "{row:?}: {band:?}");
        }
    }

    // Every user's event is enumerated, for catalogues drawn at random.
    #[test]
    fn small_crowds_agree_with_enumeration() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for round in 0..60 {
            let n = 1 + round % 6;
            let mut list = |longest: u64| -> Vec<u64> {
                (0..draw(longest + 1)).map(|_| (draw(3) * draw(1000)) << 48).collect()
            };
            let (pairs, plus, minus) = (list(2), list(3), list(3));
            let Ok(bursts) = Bursts::new(pairs, plus, minus) else { continue };
            let law = enumerated(n, &bursts);
            let protocol = BurstCount::new(Crowd::new(n).unwrap(), bursts).unwrap();
            let at = |plus: i64, minus: i64| law.get(&(plus, minus)).copied().unwrap_or(0.0);
            for epsilon in [0.0, 0.3, 1.0, 3.0_f64] {
                let (mut removed, mut added) = (0.0, 0.0);
                for plus in 0..=20 {
                    for minus in 0..=20 {
                        let (zero, one) = (at(plus, minus), at(plus - 1, minus));
                        removed += (zero - epsilon.exp() * one).max(0.0);
                        added += (one - epsilon.exp() * zero).max(0.0);
                        if zero > 0.0 && one > 0.0 {
                            let ratio = protocol.log_ratio(plus, minus);
                            assert!((ratio - (one / zero).ln()).abs() < 1e-10);
                        }
                    }
                }
                let found = protocol.directions(Epsilon::at(epsilon));
                assert!((found.0 - removed).abs() < 1e-11, "{protocol:?}: {found:?} {removed}");
                assert!((found.1 - added).abs() < 1e-11, "{protocol:?}: {found:?} {added}");
                let band = protocol.delta(Epsilon::at(epsilon));
                assert!(
                    band.lower <= removed.max(added) + 1e-15 && removed.max(added) <= band.upper
                );
            }
        }
    }

    fn enumerated(n: u64, bursts: &Bursts) -> BTreeMap<(i64, i64), f64> {
        let p = |weight: u64| weight as f64 / TWO_64;
        let mut events = vec![((0, 0), p(bursts.none()))];
        events.extend((1..).zip(bursts.pairs()).map(|(j, &weight)| ((j, j), p(weight))));
        events.extend((1..).zip(bursts.plus()).map(|(k, &weight)| ((k, 0), p(weight))));
        events.extend((1..).zip(bursts.minus()).map(|(k, &weight)| ((0, k), p(weight))));
        let mut law = BTreeMap::from([((0, 0), 1.0)]);
        for _ in 0..n {
            let mut next = BTreeMap::new();
            for (&(a, b), mass) in &law {
                for &((x, y), p) in events.iter().filter(|event| event.1 > 0.0) {
                    *next.entry((a + x, b + y)).or_insert(0.0) += mass * p;
                }
            }
            law = next;
        }
        law
    }

    #[test]
    fn delta_falls_with_epsilon_and_with_the_crowd() {
        let bursts = row_bursts(&vectors("burst.json")[0]);
        let at = |n| BurstCount::new(Crowd::new(n).unwrap(), bursts.clone()).unwrap();
        for n in [1, 2, 3, 10, 50] {
            let (small, large) = (at(n), at(n + 1));
            let mut last = 1.0;
            for step in 0..60 {
                let epsilon = Epsilon::at(0.1 * f64::from(step));
                let delta = small.delta(epsilon).upper;
                assert!(delta <= last && large.delta(epsilon).upper <= delta * (1.0 + 1e-9));
                last = delta;
            }
        }
    }

    #[test]
    fn a_delta_that_no_epsilon_reaches_is_refused_with_the_least() {
        // A bag without a '+' gives a 0 away; its chance is (1 − 0.75)².
        let protocol =
            BurstCount::new(Crowd::new(2).unwrap(), row_bursts(&vectors("burst.json")[0]));
        let protocol = protocol.unwrap();
        let refused = protocol.epsilon(Delta::new(0.01).unwrap());
        let Err(Error::Unreachable { least, .. }) = refused else { panic!("{refused:?}") };
        assert_close(least, protocol.delta(Epsilon::at(600.0)).upper, 1e-9);
        let guarantee = protocol.epsilon(Delta::new(least * 1.001).unwrap()).unwrap();
        let witness = guarantee.lower.unwrap();
        assert!(witness.epsilon <= guarantee.epsilon);
        assert!(protocol.delta(guarantee.epsilon).upper <= least * 1.001);
    }

    // Pairs alone never hide a '+': the counts differ by one.
    #[test]
    fn without_bursts_of_one_sign_there_is_no_privacy() {
        let protocol = count(100, &[20.0], &[], &[]);
        assert_close(protocol.delta(Epsilon::at(5.0)).lower, 1.0, 1e-8);
        assert_eq!(protocol.log_ratio(3, 2), f64::INFINITY);
        assert_eq!(protocol.log_ratio(3, 3), f64::NEG_INFINITY);
        assert_eq!((protocol.log_ratio(-4, 2), protocol.log_ratio(0, -1)), (0.0, 0.0));
    }

    // Twenty users who nearly always add many '+' have no smallest count to hide the largest in.
    #[test]
    fn what_is_written_out_never_hides_what_an_added_bit_alone_can_show() {
        let mut plus = vec![0.02 / 1.2; 24];
        plus.push(0.6);
        let rates: Vec<f64> = plus.iter().map(|chance| 20.0 * chance * 0.9996).collect();
        let protocol = count(20, &[], &rates, &[]);
        let written = protocol.written_out().unwrap();
        for epsilon in [0.1, 1.0, 2.0, 3.0, 5.0, 10.0].map(Epsilon::at) {
            let (exact, found) = (protocol.delta(epsilon), written.delta(epsilon).upper);
            assert!(exact.lower <= found, "{epsilon:?}: {found} below {exact:?}");
        }
        assert!(written.least_delta() > 3e-5);
    }

    #[test]
    fn catalogues_without_events_or_without_room_are_refused() {
        assert!(Bursts::new(vec![], vec![0], vec![0, 0]).is_err());
        assert!(Bursts::new(vec![1 << 63], vec![1 << 62], vec![1 << 62]).is_err());
        assert!(Bursts::new(vec![], vec![1; 5000], vec![]).is_err());
        let least = Bursts::new(vec![], vec![0, 1, 0], vec![]).unwrap();
        assert_eq!((least.slots(), least.none()), (2, u64::MAX));
    }
}
