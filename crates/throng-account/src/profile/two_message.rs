//! `two-message-count`: everyone sends the true bit and, separately, a coin that is 1 with
//! probability p (Stemmer, lecture slides on the shuffle model).
//!
//! The bag shows `Σx + Z` with `Z ~ Bin(n, p)`, so neighbouring datasets differ by a shift of Z by
//! one, the same for every dataset.

use crate::kernel::binomial::Binomial;
use crate::round;
use crate::{Band, Crowd, Dataset, Epsilon, Probability, Profile, Theorem};

/// The protocol with its crowd.
///
/// ```
/// use throng_account::profile::TwoMessageCount;
/// use throng_account::{Crowd, Delta, Epsilon, Probability, Profile};
///
/// let count = TwoMessageCount::new(Crowd::new(100)?, Probability::new("p", 0.25)?);
/// // √(100·¼·¾), and ε = 0.62 at δ = 10⁻³.
/// assert!((count.standard_error() - 18.75_f64.sqrt()).abs() < 1e-12);
/// assert!((count.epsilon(Delta::new(1e-3)?)?.epsilon.get() - 0.62064).abs() < 1e-5);
/// // Few ones are the rarer outcome: to be seen without one tells more than with one.
/// let (without, with) = count.directions(Epsilon::new(0.5)?);
/// assert!(without > 3.0 * with);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoMessageCount {
    pub(crate) crowd: Crowd,
    pub(crate) p: f64,
}

impl TwoMessageCount {
    /// The protocol whose extra message is a 1 with probability `p`.
    pub fn new(crowd: Crowd, p: Probability) -> Self {
        Self { crowd, p: p.get() }
    }

    /// `δ(ε)` for telling `Z` from `Z + 1`, and for telling `Z + 1` from `Z`. Exact to rounding.
    ///
    /// ```text
    /// H(Z ‖ Z+1) = P[Z ≤ k] − E·P[Z ≤ k−1],   k = ⌊(n+1)p/(p+Eq)⌋
    /// H(Z+1 ‖ Z) = P[Z ≥ k−1] − E·P[Z ≥ k],   k = ⌈E(n+1)p/(q+Ep)⌉
    /// ```
    ///
    /// They differ, and neither is monotone in p.
    pub fn directions(&self, epsilon: Epsilon) -> (f64, f64) {
        let (n, p, q) = (self.crowd.get(), self.p, 1.0 - self.p);
        let e = epsilon.get().exp();
        let gain = epsilon.get().exp_m1();
        let law = Binomial::new(n, p);
        // P[Z ≤ k] − E·P[Z ≤ k−1] = P[Z = k] − (E−1)·P[Z ≤ k−1], and the mirror image. Each is
        // maximal at its cut; both neighbours of the rounding are tried, as any cut is a valid
        // event. An empty tail costs nothing, at infinite gain too.
        let cost = |tail: f64| if tail == 0.0 { 0.0 } else { gain * tail };
        let below = |k: u64| law.pmf(k) - if k == 0 { 0.0 } else { cost(law.lower(k - 1)) };
        let above = |k: u64| law.pmf(k - 1) - cost(law.upper(k));
        let trials = n as f64 + 1.0;
        let down = (trials * p / (p + e * q)).floor() as u64;
        let up = (trials * p / (q / e + p)).ceil() as u64;
        let best = |cut: u64, first: u64, value: &dyn Fn(u64) -> f64| {
            let cuts = cut.saturating_sub(1).max(first)..=(cut + 1).min(n + first);
            cuts.map(value).fold(0.0, f64::max)
        };
        (best(down, 0, &below), best(up, 1, &above))
    }

    /// Standard error of the estimated count, `√(np(1−p))`.
    pub fn standard_error(&self) -> f64 {
        (self.crowd.get() as f64 * self.p * (1.0 - self.p)).sqrt()
    }
}

impl Profile for TwoMessageCount {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let (down, up) = self.directions(epsilon);
        let value = down.max(up);
        Band { lower: round::down(value), upper: round::delta_up(value) }
    }

    fn theorem(&self) -> Theorem {
        Theorem::ExactCount
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        Some(Dataset::Every)
    }

    /// The chance that the coins are all 0, or all 1, which shows the user's bit for certain.
    fn least_delta(&self) -> f64 {
        let law = Binomial::new(self.crowd.get(), self.p);
        round::up(law.pmf(0).max(law.pmf(self.crowd.get())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};
    use crate::{Delta, Error};

    fn count(n: u64, p: f64) -> TwoMessageCount {
        TwoMessageCount::new(Crowd::new(n).unwrap(), Probability::new("p", p).unwrap())
    }

    #[test]
    fn both_directions_agree_with_enumeration() {
        for row in vectors("two_message.json") {
            let protocol = count(row.u64("n"), row.f64("p"));
            let (down, up) = protocol.directions(Epsilon::at(row.f64("epsilon")));
            assert_close(down, row.f64("delta_up"), 1e-9);
            assert_close(up, row.f64("delta_down"), 1e-9);
            assert!(protocol.least_delta() >= row.f64("atom"));
        }
    }

    // The slide's rule p = ln(1/δ)/(ε²n) was meant to give (ε, δ); it gives 664 times the δ.
    #[test]
    fn the_printed_rule_breaks_its_promise() {
        let p = 1e6_f64.ln() / 1000.0;
        let delta = count(1000, p).delta(Epsilon::at(1.0));
        assert_close(delta.lower, 0.000664185291541327, 1e-8);
    }

    #[test]
    fn an_epsilon_that_no_delta_reaches_is_refused_with_the_least_delta() {
        let p = 1e6_f64.ln() / (4.0 * 10_000.0);
        let refused = count(10_000, p).epsilon(Delta::new(1e-6).unwrap());
        let Err(Error::Unreachable { least, .. }) = refused else { panic!("{refused:?}") };
        assert_close(least, 0.0316, 2e-3);
        assert!(count(10_000, p).epsilon(Delta::new(least * 1.001).unwrap()).is_ok());
    }

    // e^ε overflows here; what is left is the chance of an outcome that gives the user away.
    #[test]
    fn a_huge_epsilon_leaves_the_atoms() {
        let band = count(1, 0.9).delta(Epsilon::at(710.0));
        assert!(band.lower <= 0.9 && 0.9 <= band.upper, "{band:?}");
    }

    // More noise is not always more private.
    #[test]
    fn delta_is_not_monotone_in_p() {
        let delta = |np: f64| count(50, np / 50.0).delta(Epsilon::at(1.0)).upper;
        assert_close(delta(2.60), 0.0709347, 1e-5);
        assert_close(delta(2.65), 0.0709470, 1e-5);
        assert_close(delta(2.70), 0.0707741, 1e-5);
    }
}
