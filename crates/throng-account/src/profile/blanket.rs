//! The privacy blanket of concrete randomizers.
//!
//! A randomizer that always keeps a floor M under all its output laws hides a user among everyone
//! whose report came from that floor. With `G = (P₀ − E·P₁)/M` under M (and 0 with the missing
//! mass),
//!
//! ```text
//! δ(ε) ≤ E[(G₁ + … + Gₙ)₊]/n                                                E = e^ε
//! ```
//!
//! (Balle, Bell, Gascon, Nissim, "The Privacy Blanket of the Shuffle Model", 2019, Lemma 5.3; proof
//! and conditions in `docs/privacy.md`, 6). For the randomizers here every output has probability M
//! or p·M, so G takes four values besides 0:
//!
//! | value | mass | output |
//! |---|---|---|
//! | p − E | `apart` | likely under the first input only |
//! | 1 − pE | `apart` | likely under the second input only |
//! | p·(1 − E) | `both` | likely under both |
//! | 1 − E | `neither` | likely under neither |

use crate::error::require;
use crate::kernel::stop_loss::{Summand, mean_positive_part};
use crate::{Band, Crowd, Dataset, Epsilon, Error, Probability, Profile, Theorem};

/// The blanket of one randomizer, shared by `crowd` users.
///
/// ```
/// use throng_account::profile::{Blanket, ClonePair};
/// use throng_account::{Crowd, Epsilon, Profile};
///
/// // Ten categories hide a user better than two: δ at ε = 0.08 for ε₀ = 1 among a thousand.
/// let (crowd, local) = (Crowd::new(1_000)?, Epsilon::new(1.0)?);
/// let epsilon = Epsilon::new(0.08)?;
/// let kary = Blanket::kary_response(crowd, local, 10)?.delta(epsilon).upper;
/// let any = ClonePair::strong(crowd, local)?.delta(epsilon).upper;
/// assert!(kary < 1.1e-6 && any > 3e-4);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blanket {
    crowd: u64,
    local: f64,
    apart: f64,
    both: f64,
    neither: f64,
    /// The number of categories, for k-ary response with k ≥ 3.
    categories: Option<u64>,
}

impl Blanket {
    /// k-ary randomized response: the truth with odds `e^ε₀` against each other category.
    ///
    /// An upper bound, within 1e-3 of the explicit dataset "everyone else holds a third value" at
    /// n = 10³ and 1e-5 at 10⁵. For two categories [`crate::profile::BitSum`] is exact.
    pub fn kary_response(crowd: Crowd, local: Epsilon, categories: u64) -> Result<Self, Error> {
        require_categories(categories)?;
        let others = categories as f64 - 1.0;
        let unit = 1.0 / (local_odds(local)? + others);
        let masses = [1.0, 0.0, others - 1.0].map(|mass| mass * unit);
        Ok(Self { categories: Some(categories), ..Self::of_masses(crowd, local.get(), masses) })
    }

    /// Subset selection: a subset of `size` of `k` categories, with odds `e^ε₀` for those that hold
    /// the truth.
    pub fn subset_selection(
        crowd: Crowd,
        local: Epsilon,
        categories: u64,
        size: u64,
    ) -> Result<Self, Error> {
        let holds = (2..=MAX_CATEGORIES).contains(&categories) && (1..categories).contains(&size);
        let range = "at least 1 and below k, with k from 2 to 1000000000";
        require(holds, "size", size as f64, range)?;
        // In units of the number of subsets: shares of those that hold both, one or none of two.
        let (k, s) = (categories as f64, size as f64);
        let hold = s / k;
        let both = hold * (s - 1.0) / (k - 1.0);
        let apart = hold * (k - s) / (k - 1.0);
        let neither = (k - s) / k * (k - s - 1.0) / (k - 1.0);
        let unit = 1.0 / (local_odds(local)? * hold + (1.0 - hold));
        let masses = [apart, both, neither].map(|mass| mass * unit);
        Ok(Self::of_masses(crowd, local.get(), masses))
    }

    /// Local hashing to `buckets`, the hash function public: k-ary response on the hashed value.
    ///
    /// `collision` is a proven lower bound on the probability that two given values collide. With
    /// none known use 0, which is k-ary response with `buckets` categories: a family that merely
    /// has *at most* 1/g collisions does not reach the bound for exactly 1/g.
    ///
    /// ```
    /// use throng_account::profile::Blanket;
    /// use throng_account::{Crowd, Epsilon, Profile};
    ///
    /// let (crowd, local) = (Crowd::new(1_000)?, Epsilon::new(1.0)?);
    /// let at = |collision| Blanket::local_hashing(crowd, local, 4, collision);
    /// let epsilon = Epsilon::new(0.1)?;
    /// // Nothing known of collisions: four categories. One collision in four known: less.
    /// let four = Blanket::kary_response(crowd, local, 4)?.delta(epsilon).upper;
    /// assert_eq!(at(0.0)?.delta(epsilon).upper, four);
    /// assert!(at(0.25)?.delta(epsilon).upper < four);
    /// # Ok::<(), throng_account::Error>(())
    /// ```
    pub fn local_hashing(
        crowd: Crowd,
        local: Epsilon,
        buckets: u64,
        collision: f64,
    ) -> Result<Self, Error> {
        require((0.0..1.0).contains(&collision), "collision", collision, "from 0 to below 1")?;
        let unit = Self::kary_response(crowd, local, buckets)?.apart;
        let (g, c0) = (buckets as f64, collision);
        let neither = (1.0 - c0) * (g - 2.0) + c0 * (g - 1.0);
        let masses = [1.0 - c0, c0, neither].map(|mass| mass * unit);
        Ok(Self::of_masses(crowd, local.get(), masses))
    }

    /// Unary encoding: one bit per category, a 1 kept with probability `keep`, a 0 set with
    /// probability `set`. RAPPOR's one-time response has this form with one hash function.
    ///
    /// ```
    /// use throng_account::profile::Blanket;
    /// use throng_account::{Crowd, Probability, Profile};
    ///
    /// let (keep, set) = (Probability::new("keep", 0.5)?, Probability::new("set", 0.25)?);
    /// let unary = Blanket::unary_encoding(Crowd::new(1_000)?, keep, set)?;
    /// // (½·¾)/(¼·½) = 3.
    /// assert!((unary.pure().unwrap().get() - 3_f64.ln()).abs() < 1e-9);
    /// # Ok::<(), throng_account::Error>(())
    /// ```
    pub fn unary_encoding(
        crowd: Crowd,
        keep: Probability,
        set: Probability,
    ) -> Result<Self, Error> {
        let (ps, q) = (keep.get(), set.get());
        require(ps > q, "keep", ps, "above the probability that a 0 is set")?;
        let odds = ps * (1.0 - q) / (q * (1.0 - ps));
        // The floor of the two bits that matter; the other bits have the same law either way.
        let b = (1.0 - ps) / (1.0 - q);
        let masses = [b * q * (1.0 - q), b * q * q, b * (1.0 - q) * (1.0 - q)];
        Ok(Self::of_masses(crowd, odds.ln(), masses))
    }

    fn of_masses(crowd: Crowd, local: f64, [apart, both, neither]: [f64; 3]) -> Self {
        Self { crowd: crowd.get(), local, apart, both, neither, categories: None }
    }

    /// G of the blanket at ε.
    fn summand(&self, epsilon: f64) -> Summand {
        let (p, gain) = (self.local.exp(), -epsilon.exp_m1());
        // p − E, 1 − pE, p(1 − E) and 1 − E, from differences of exponents.
        let atoms = [
            (epsilon.exp() * (self.local - epsilon).exp_m1(), self.apart),
            (-(self.local + epsilon).exp_m1(), self.apart),
            (p * gain, self.both),
            (gain, self.neither),
        ];
        Summand { atoms: atoms.into_iter().filter(|atom| atom.1 > 0.0).collect(), mean: gain }
    }

    /// G of k-ary response on the dataset where everyone else holds a third value: exact.
    fn third_value(&self, epsilon: f64, categories: u64) -> Summand {
        let (p, gain) = (self.local.exp(), -epsilon.exp_m1());
        let mut law = self.summand(epsilon);
        law.atoms.truncate(2);
        // The third value is p times as likely from the others, so it tells p times less.
        law.atoms.push((gain / p, p * self.apart));
        if categories > 3 {
            law.atoms.push((gain, (categories as f64 - 3.0) * self.apart));
        }
        law
    }
}

impl Profile for Blanket {
    fn delta(&self, epsilon: Epsilon) -> Band {
        Band { lower: self.lower_delta(epsilon), upper: self.upper_delta(epsilon) }
    }

    /// `δ(ε)` of the explicit dataset, rounded down; 0 where none is known.
    fn lower_delta(&self, epsilon: Epsilon) -> f64 {
        match self.categories {
            Some(k) if k >= 3 && epsilon.get() < self.local => {
                mean_positive_part(&self.third_value(epsilon.get(), k), self.crowd).lower
            }
            _ => 0.0,
        }
    }

    fn upper_delta(&self, epsilon: Epsilon) -> f64 {
        if epsilon.get() >= self.local {
            return 0.0;
        }
        mean_positive_part(&self.summand(epsilon.get()), self.crowd).upper
    }

    fn pure(&self) -> Option<Epsilon> {
        Some(Epsilon::at(self.local))
    }

    fn theorem(&self) -> Theorem {
        Theorem::Blanket
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        self.categories.filter(|&k| k >= 3).map(|_| Dataset::ThirdValue)
    }
}

fn local_odds(local: Epsilon) -> Result<f64, Error> {
    let value = local.get();
    require(value > 0.0 && value <= 300.0, "epsilon0", value, "above 0, to 300")?;
    Ok(value.exp())
}

/// Refuses a number of categories that is no choice, or beyond any use.
pub(crate) fn require_categories(categories: u64) -> Result<(), Error> {
    let holds = (2..=MAX_CATEGORIES).contains(&categories);
    require(holds, "k", categories as f64, "from 2 to 1000000000 categories")
}

const MAX_CATEGORIES: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delta;
    use crate::testing::{Row, assert_close, vectors};

    fn blanket(row: &Row) -> Blanket {
        let crowd = Crowd::new(row.u64("n")).unwrap();
        let local = || Epsilon::at(row.f64("epsilon0"));
        match row.text("family").as_str() {
            "kary" => Blanket::kary_response(crowd, local(), row.u64("k")),
            "subset" => Blanket::subset_selection(crowd, local(), row.u64("k"), row.u64("size")),
            "hash" => Blanket::local_hashing(crowd, local(), row.u64("g"), row.f64("collision")),
            _ => Blanket::unary_encoding(
                crowd,
                Probability::new("keep", row.f64("keep")).unwrap(),
                Probability::new("set", row.f64("flip")).unwrap(),
            ),
        }
        .unwrap()
    }

    #[test]
    fn the_kernel_contains_the_enumerated_values_on_both_routes() {
        for row in vectors("blanket.json") {
            let (blanket, epsilon) = (blanket(&row), row.f64("epsilon"));
            let (law, n) = (blanket.summand(epsilon), row.u64("n"));
            let delta = row.f64("delta");
            let band = mean_positive_part(&law, n);
            assert!(band.lower <= delta && delta <= band.upper, "{row:?}: {band:?}");
        }
    }

    #[test]
    fn kary_response_is_bracketed_to_a_ten_thousandth() {
        for (n, local, k, lower, upper) in [
            (1_000, 1.0, 10, 0.1028934, 0.1029545),
            (1_000, 4.0, 10, 1.99473, 1.99688),
            (1_000, 1.0, 100, 0.0341197, 0.0341242),
            (10_000, 1.0, 10, 0.0309161, 0.0309178),
            (1_000_000, 1.0, 10, 0.00272920, 0.00272920),
            (100_000_000, 1.0, 10, 0.0002324, 0.0002324),
        ] {
            let law =
                Blanket::kary_response(Crowd::new(n).unwrap(), Epsilon::at(local), k).unwrap();
            let found = law.epsilon(Delta::new(1e-8).unwrap()).unwrap();
            println!("{n} {local} {k} {found:?} want {lower} {upper}");
            assert_close(found.epsilon.get(), upper, 2e-4);
            assert_close(found.lower.unwrap().epsilon.get(), lower, 2e-4);
        }
    }

    // Few clones among many users make a law of rare, large jumps, on which the contour integral
    // once cancelled to nothing and called it private.
    #[test]
    fn rare_clones_hide_nobody() {
        let at = |n: u64, local: f64, k: u64| {
            Blanket::kary_response(Crowd::new(n).unwrap(), Epsilon::at(local), k).unwrap()
        };
        for (n, local, k) in [(1_000, 12.0, 100_000), (25, 8.0, 1_000_000), (100, 8.0, 10)] {
            let blanket = at(n, local, k);
            // Everyone else on a third value, nobody drawing either of the user's: the user's own
            // report gives it away with this probability.
            let p = f64::exp(local);
            let unit = 1.0 / (p + k as f64 - 1.0);
            let alone = (p - 1.0) * unit * (1.0 - 2.0 * unit).powi(n as i32 - 1);
            let band = blanket.delta(Epsilon::ZERO);
            assert!(alone <= band.upper && band.lower <= band.upper, "{n} {k}: {band:?} {alone}");
            let found = blanket.epsilon(Delta::new(1e-6).unwrap()).unwrap();
            assert!(found.epsilon.get() > 0.1, "{n} {k}: {found:?}");
            assert!(found.lower.unwrap().epsilon <= found.epsilon);
        }
        let subsets = Blanket::subset_selection(
            Crowd::new(8_513).unwrap(),
            Epsilon::at(2.1000592728790277),
            393_607,
            393_606,
        );
        let band = subsets.unwrap().delta(Epsilon::at(1.8151555155183556e-8));
        assert!(band.upper > 0.0 && band.upper < 1e-3, "{band:?}");
    }

    #[test]
    fn epsilon_close_to_local_is_answered() {
        for (n, local, part) in [(70, 0.1416018406450617, 0.999_993), (264, 0.001, 0.999_999)] {
            let law =
                Blanket::kary_response(Crowd::new(n).unwrap(), Epsilon::at(local), 3).unwrap();
            let band = law.delta(Epsilon::at(part * local));
            assert!(band.lower <= band.upper && band.upper < 1e-5, "{band:?}");
        }
    }

    // Close to ε₀ almost nothing of the tilted law is left, and its logarithm once lost all its
    // digits. One report drawn from the user's value, all others from no floor at all, bounds the
    // expression from below.
    #[test]
    fn the_upper_bound_holds_close_to_local() {
        for (n, local, k, left) in [
            (3_996, 25.044260479461506, 3, 9.2e-12),
            (15_376, 50.553079772635215, 2_512, 8.7e-12),
            (1_000_000_000, 40.0, 4, 6.5e-6),
            (1_097_310_094, 72.9561465003246, 4, 4e-6),
            (1_000, 2.0, 5, 1e-9),
        ] {
            let law =
                Blanket::kary_response(Crowd::new(n).unwrap(), Epsilon::at(local), k).unwrap();
            let epsilon: f64 = local - left;
            let gain = epsilon.exp() * (local - epsilon).exp_m1();
            let floor = 2.0 * law.apart + law.neither;
            let least = law.apart * gain * ((n - 1) as f64 * (-floor).ln_1p()).exp();
            let upper = law.delta(Epsilon::at(epsilon)).upper;
            assert!(upper >= least * (1.0 - 1e-9), "{n} {local} {k}: {upper:e} < {least:e}");
        }
    }
}
