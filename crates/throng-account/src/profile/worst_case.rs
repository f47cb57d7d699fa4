//! A mechanism known by its promise alone.

use crate::error::require;
use crate::round;
use crate::{Band, Dataset, Epsilon, Error, Profile, Theorem};

/// A mechanism of which only (ε₀, δ₀) is known, with the worst profile it can have.
///
/// ```text
/// δ(ε) = δ₀ + (1 − δ₀)·(e^ε₀ − e^ε)₊/(e^ε₀ + 1)
/// ```
///
/// Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy" (2015), Theorem 2.5:
/// every (ε₀, δ₀)-DP mechanism is a post-processing of this one.
///
/// ```
/// use throng_account::profile::WorstCase;
/// use throng_account::{Epsilon, Profile};
///
/// // The best guess at a bit from an answer with ε₀ = 1 is right more often than wrong by tanh ½.
/// let declared = WorstCase::new(Epsilon::new(1.0)?, 0.0)?;
/// let advantage = declared.delta(Epsilon::ZERO);
/// assert!(advantage.lower < 0.5_f64.tanh() && 0.5_f64.tanh() < advantage.upper);
/// assert_eq!(declared.pure(), Some(Epsilon::new(1.0)?));
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstCase {
    epsilon: f64,
    delta: f64,
}

impl WorstCase {
    /// The declared (ε₀, δ₀); with δ₀ = 0 the mechanism is pure.
    pub fn new(epsilon: Epsilon, delta: f64) -> Result<Self, Error> {
        require((0.0..1.0).contains(&delta), "delta", delta, "from 0 to below 1")?;
        require(epsilon.get() <= 300.0, "epsilon", epsilon.get(), "from 0 to 300")?;
        Ok(Self { epsilon: epsilon.get(), delta })
    }
}

impl Profile for WorstCase {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let left = (self.epsilon - epsilon.get()).max(0.0);
        // (e^ε₀ − e^ε)/(e^ε₀ + 1), from the difference of the exponents.
        let share = -(-left).exp_m1() / (1.0 + (-self.epsilon).exp());
        let value = self.delta + (1.0 - self.delta) * share;
        Band { lower: round::down(value), upper: round::delta_up(value) }
    }

    fn pure(&self) -> Option<Epsilon> {
        (self.delta == 0.0).then(|| Epsilon::at(self.epsilon))
    }

    fn theorem(&self) -> Theorem {
        Theorem::Local
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        Some(Dataset::Every)
    }
}
