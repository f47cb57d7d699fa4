//! The privacy cost of several rounds together, by formulas.

use crate::published::renyi_epsilon;
use crate::round;
use crate::{Delta, Epsilon};

/// `T` rounds of (ε, δ)-DP are (Tε, Tδ)-DP.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_account::spend::closed_form::basic;
///
/// let (epsilon, delta) = basic(Epsilon::new(0.1)?, 1e-7, 10);
/// assert!((epsilon - 1.0).abs() < 1e-8 && (delta - 1e-6).abs() < 1e-14);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn basic(epsilon: Epsilon, delta: f64, rounds: u64) -> (f64, f64) {
    let t = rounds as f64;
    (round::up(t * epsilon.get()), round::up(t * delta))
}

/// `T` rounds of (ε, δ)-DP are (ε', δ' + Tδ)-DP.
///
/// ```text
/// ε' = ε·(e^ε − 1)·T + ε·√(2T·ln(1/δ'))
/// ```
///
/// Upper bound for every δ' > 0. Dwork, Rothblum, Vadhan (2010); Cheu et al. (2019), Lemma 7. Their
/// Lemma 10 loses a factor T in the first term and is false.
///
/// ```
/// use throng_account::spend::closed_form::{advanced, basic};
/// use throng_account::{Delta, Epsilon};
///
/// // A hundred rounds of ε = 0.1: 6.3 instead of 10. For ten rounds it gives more than basic.
/// let (epsilon, slack) = (Epsilon::new(0.1)?, Delta::new(1e-6)?);
/// assert!((advanced(epsilon, 100, slack) - 6.308).abs() < 0.001);
/// assert!(advanced(epsilon, 10, slack) > basic(epsilon, 0.0, 10).0);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn advanced(epsilon: Epsilon, rounds: u64, slack: Delta) -> f64 {
    let (eps, t) = (epsilon.get(), rounds as f64);
    round::up(eps * eps.exp_m1() * t + eps * (-2.0 * t * slack.get().ln()).sqrt())
}

/// `T` rounds of pure ε-DP, each ε²/2-zCDP, by Rényi divergence.
///
/// Upper bound. Bun, Steinke, "Concentrated Differential Privacy" (2016), Propositions 3 and 7,
/// with the conversion of [`renyi_epsilon`].
///
/// ```
/// use throng_account::spend::closed_form::{advanced, concentrated};
/// use throng_account::{Delta, Epsilon};
///
/// let (epsilon, delta) = (Epsilon::new(0.1)?, Delta::new(1e-6)?);
/// let rounds = concentrated(epsilon, 100, delta);
/// assert!((rounds - 5.222).abs() < 0.001 && rounds < advanced(epsilon, 100, delta));
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn concentrated(epsilon: Epsilon, rounds: u64, delta: Delta) -> f64 {
    let rho = 0.5 * epsilon.get().powi(2) * rounds as f64;
    renyi_epsilon(|alpha| alpha * rho, delta)
}

/// `T` rounds of μ-GDP are √T·μ-GDP: exact. Dong, Roth, Su (2019), Corollary 3.3.
///
/// ```
/// assert_eq!(throng_account::spend::closed_form::gaussian(0.5, 16), 2.0);
/// ```
pub fn gaussian(mu: f64, rounds: u64) -> f64 {
    mu * (rounds as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};

    #[test]
    fn advanced_composition_agrees_with_eighty_digits() {
        let rows = vectors("published.json");
        for row in rows.iter().filter(|row| row.text("name") == "advanced") {
            let slack = Delta::new(row.f64("delta")).unwrap();
            let found = advanced(Epsilon::at(row.f64("epsilon")), row.u64("rounds"), slack);
            assert_close(found, row.f64("value"), 3e-9);
        }
    }
}
