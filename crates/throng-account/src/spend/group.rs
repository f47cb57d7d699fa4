//! Group privacy: several reports of one person in one bag.

use crate::round;

/// (ε, δ) of m reports of one person together that lie in one shuffled bag, each with randomness of
/// its own, and each with (ε, δ) among the honest reports of the bag.
///
/// Replacing m values is replacing one after the other. With `P_i` the bag after i replacements,
///
/// ```text
/// P_0(S) ≤ e^ε·P_1(S) + δ ≤ e^ε·(e^ε·P_2(S) + δ) + δ ≤ …
///        ≤ e^{mε}·P_m(S) + δ·(1 + e^ε + … + e^{(m−1)ε})
/// so (ε, δ) for one is (mε, δ·(e^{mε} − 1)/(e^ε − 1)) for m
/// ```
///
/// Upper bounds, both rounded up; the δ may be above 1, where nothing is said. They are at least
/// what m rounds cost that are apart: those are (mε, 1 − (1 − δ)^m) by basic composition, and
/// 1 − (1 − δ)^m ≤ mδ. Far from tight where many releases follow each other.
///
/// ```
/// use throng_account::spend::group;
///
/// // Two reports at (ln 2, 10⁻⁶) keep (ln 4, 3·10⁻⁶).
/// let (epsilon, delta) = group(2_f64.ln(), 1e-6, 2);
/// assert!((epsilon - 4_f64.ln()).abs() < 1e-8 && (delta - 3e-6).abs() < 1e-14);
/// ```
pub fn group(epsilon: f64, delta: f64, reports: u64) -> (f64, f64) {
    let m = reports as f64;
    let factor = if epsilon == 0.0 { m } else { (m * epsilon).exp_m1() / epsilon.exp_m1() };
    (round::up(m * epsilon), round::up(delta * factor))
}
