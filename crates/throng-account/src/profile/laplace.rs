//! The privacy blanket of integer Laplace noise on a grid.
//!
//! A value is one of the grid points 0 … B, or a mixture of such, and a report has the law
//!
//! ```text
//! R_x(k) = c·s^|k−x|,   s = e^−h,   h = ε₀/B,   c = (1−s)/(1+s)            k any integer
//! ```
//!
//! All of these laws lie above `M(k) = c·s^(B/2 + |k−B/2|)`. Among all pairs of values the ends 0
//! and B are the worst, in convex order of `G = (P₀ − E·P₁)/M` (proof in `docs/privacy.md`, 6.1),
//! so `δ(ε) ≤ E[(G₁ + … + Gₙ)₊]/n` with the law of G for the ends:
//!
//! | value | mass | outcome |
//! |---|---|---|
//! | e^ε₀ − E, and 1 − e^ε₀·E | s^B/(1+s) each | k ≤ 0, and k ≥ B |
//! | e^λ − E, and 1 − e^λ·E | c·s^(B−k) each | k and B − k, for 0 < k < B/2, λ = ε₀ − 2hk |
//! | 1 − E | c·s^(B/2) | the middle, where B is even |
//!
//! A fine grid has more outcomes than are told apart here. The mass of neighbouring ones is shared
//! out between the first and the last of them so that its mean stays, which is more in convex order
//! and keeps an upper bound one; for the lower bound it is drawn together to its mean.

use crate::error::require;
use crate::kernel::stop_loss::{Summand, mean_positive_part};
use crate::profile::ClonePair;
use crate::{Band, Crowd, Dataset, Epsilon, Error, Profile, Theorem};

/// Reports with integer Laplace noise, of which `crowd` are shuffled.
///
/// ```
/// use throng_account::profile::{ClonePair, LaplaceBlanket};
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// // What Laplace noise hides among a thousand, and what is known of any randomizer.
/// let (crowd, local, delta) = (Crowd::new(1_000)?, Epsilon::new(4.0)?, Delta::new(1e-6)?);
/// let laplace = LaplaceBlanket::new(crowd, local, 64)?.epsilon(delta)?.epsilon.get();
/// let any = ClonePair::strong(crowd, local)?.epsilon(delta)?.epsilon.get();
/// assert!((laplace - 1.213).abs() < 1e-3 && (any - 1.853).abs() < 1e-3);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LaplaceBlanket {
    crowd: u64,
    grid: u64,
    local: f64,
    /// What holds for any randomizer, and is the smaller bound where few users are to be counted.
    any: ClonePair,
    /// λ and mass of the outcomes nearer to 0 than to B; those nearer to B mirror them.
    half: Vec<(f64, f64)>,
}

impl LaplaceBlanket {
    /// Noise that falls off by e^ε₀ over the whole `grid` of steps.
    ///
    /// An upper bound for every two values and every crowd, valid for all ε₀ up to 300. In ε it
    /// lies 25 % (n = 10³) to 35 % (10⁶) above the dataset where everyone else holds the value of
    /// one end at ε₀ = 2, and 19 % to 43 % at 4; which of the two is the truth is not known.
    pub fn new(crowd: Crowd, local: Epsilon, grid: u64) -> Result<Self, Error> {
        require(local > Epsilon::ZERO, "epsilon0", 0.0, "above 0, to 300")?;
        require((1..=MAX_GRID).contains(&grid), "grid", grid as f64, "from 1 to 2^30 steps")?;
        let any = ClonePair::strong(crowd, local)?;
        let blocks = if crowd.get() > FEW { BLOCKS } else { BLOCKS / 2 };
        let half = Noise { local: local.get(), grid: grid as f64 }.half(blocks);
        Ok(Self { crowd: crowd.get(), grid, local: local.get(), any, half })
    }

    /// G of the two ends at ε.
    fn summand(&self, epsilon: f64) -> Summand {
        // e^λ − E and 1 − e^λ·E, from differences of exponents.
        let near = |lambda: f64| epsilon.exp() * (lambda - epsilon).exp_m1();
        let far = |lambda: f64| -(lambda + epsilon).exp_m1();
        let atoms = self.half.iter().flat_map(|&(l, mass)| [(near(l), mass), (far(l), mass)]);
        Summand { atoms: atoms.collect(), mean: -epsilon.exp_m1() }
    }

    /// `(R_B − E·R_0)/R_B` under `R_B`: exact where everyone else holds the value of one end, the
    /// user's other value being that of the other end; a little less on a fine grid.
    fn one_end(&self, epsilon: f64) -> Summand {
        let noise = Noise { local: self.local, grid: self.grid as f64 };
        let atoms = noise.whole().into_iter().map(|(l, mass)| (-(l + epsilon).exp_m1(), mass));
        Summand { atoms: atoms.collect(), mean: -epsilon.exp_m1() }
    }
}

impl Profile for LaplaceBlanket {
    fn delta(&self, epsilon: Epsilon) -> Band {
        Band { lower: self.lower_delta(epsilon), upper: self.upper_delta(epsilon) }
    }

    fn lower_delta(&self, epsilon: Epsilon) -> f64 {
        if epsilon.get() >= self.local {
            return 0.0;
        }
        mean_positive_part(&self.one_end(epsilon.get()), self.crowd).lower
    }

    fn upper_delta(&self, epsilon: Epsilon) -> f64 {
        if epsilon.get() >= self.local {
            return 0.0;
        }
        let own = mean_positive_part(&self.summand(epsilon.get()), self.crowd).upper;
        if self.crowd > FEW { own } else { own.min(self.any.upper_delta(epsilon)) }
    }

    fn pure(&self) -> Option<Epsilon> {
        Some(Epsilon::at(self.local))
    }

    fn theorem(&self) -> Theorem {
        Theorem::Blanket
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        Some(Dataset::OneEnd)
    }

    fn guess(&self, delta: crate::Delta) -> f64 {
        0.9 * self.any.guess(delta)
    }
}

/// The law of one report: `h = local/grid`.
struct Noise {
    local: f64,
    grid: f64,
}

impl Noise {
    /// λ and mass under M of the outcomes k ≤ B/2, the middle counted half, in at most so
    /// many blocks whose mass is shared out between their edges.
    fn half(&self, most: u32) -> Vec<(f64, f64)> {
        let last = (0.5 * self.grid).floor();
        let mut half = vec![(self.local, self.decay(self.grid) * self.sides())];
        for (a, b) in blocks(last, most) {
            // The outcomes a + 1 … b: on b alone if there is one, else on a and b. Their mass
            // is s^(B−b)·(1 − s^d)/(1+s), that of R_0 is s^(a+1)·(1 − s^d)/(1+s), d = b − a.
            let d = b - a;
            let share = self.sides() / (1.0 + self.decay(d));
            let first = self.decay(self.grid - a + 1.0) * self.fall(d - 1.0) * share;
            let mut second = self.decay(self.grid - b) * self.fall(d + 1.0) * share;
            if 2.0 * b == self.grid {
                second -= 0.5 * self.decay(b) * self.fall(1.0) * self.sides();
            }
            if let Some(edge) = half.last_mut() {
                edge.1 += first;
            }
            half.push((self.lambda(b), second));
        }
        half
    }

    /// λ and mass under `R_B` of all outcomes, in blocks drawn together to their means.
    fn whole(&self) -> Vec<(f64, f64)> {
        let mut whole = vec![(self.local, self.decay(self.grid) * self.sides())];
        for (a, b) in blocks(self.grid - 1.0, 2 * BLOCKS) {
            // R_0/R_B of the block is s^(a+1)/s^(B−b).
            let mass = self.decay(self.grid - b) * self.fall(b - a) * self.sides();
            whole.push((self.lambda(0.5 * (a + 1.0 + b)), mass));
        }
        whole.push((-self.local, self.sides()));
        whole
    }

    /// `ln(R_0(k)/R_B(k))` for k from 0 to B.
    fn lambda(&self, k: f64) -> f64 {
        self.local * (1.0 - 2.0 * k / self.grid)
    }

    /// `s^k`.
    fn decay(&self, k: f64) -> f64 {
        (-self.local * k / self.grid).exp()
    }

    /// `1 − s^k`.
    fn fall(&self, k: f64) -> f64 {
        -(-self.local * k / self.grid).exp_m1()
    }

    /// `1/(1+s)`: what lies on one side of the value, itself included.
    fn sides(&self) -> f64 {
        1.0 / (1.0 + self.decay(1.0))
    }
}

/// The whole numbers from 0 to `last` cut into at most `most` blocks `(a, b]` of about one length.
fn blocks(last: f64, most: u32) -> impl Iterator<Item = (f64, f64)> {
    let count = last.min(f64::from(most));
    let edge = move |i: f64| (last * i / count).round();
    (0..count as u32).map(move |i| (edge(f64::from(i)), edge(f64::from(i + 1))))
}

/// Blocks on either side of the middle.
const BLOCKS: u32 = 32;
/// Crowds that take long: half as many blocks do for them, and the bound of any randomizer is
/// looked at as well.
const FEW: u64 = 200;
const MAX_GRID: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delta;
    use crate::testing::{assert_close, vectors};

    fn laplace(n: u64, local: f64, grid: u64) -> LaplaceBlanket {
        LaplaceBlanket::new(Crowd::new(n).unwrap(), Epsilon::at(local), grid).unwrap()
    }

    #[test]
    fn the_bounds_contain_what_every_pair_and_every_bag_gives() {
        for row in vectors("laplace.json") {
            let law = laplace(row.u64("n"), row.f64("epsilon0"), row.u64("grid"));
            let (epsilon, delta) = (row.f64("epsilon"), row.f64("delta"));
            let own = mean_positive_part(&law.summand(epsilon), law.crowd);
            assert!(own.lower <= delta && delta <= own.upper, "{row:?}: {own:?}");
            assert_close(own.upper, delta, 1e-4);
            let band = law.delta(Epsilon::at(epsilon));
            assert!(band.upper <= own.upper);
            // Bags are enumerated as long as they are small.
            if law.crowd * law.grid <= 12 {
                let worst = row.f64("delta_worst");
                assert!(worst <= band.upper && band.lower <= worst, "{row:?}: {band:?}");
                assert_close(band.lower, row.f64("delta_lower"), 1e-4);
            }
        }
    }

    // P₀ has mass 1, and so has the law of the lower bound, whose G has the mean of all others.
    #[test]
    fn blocks_of_outcomes_keep_mass_and_mean() {
        for grid in [1, 2, 3, 31, 32, 33, 34, 64, 65, 66, 1000, 1001, 1 << 30] {
            for local in [0.01, 1.0, 9.0] {
                let law = laplace(1_000, local, grid);
                let mass: f64 = law.half.iter().map(|&(l, mass)| mass * (l.exp() + 1.0)).sum();
                assert_close(mass, 1.0, 1e-13);
                assert!(law.half.iter().all(|atom| atom.1 >= 0.0));
                let end = law.one_end(0.5);
                assert_close(end.atoms.iter().map(|atom| atom.1).sum(), 1.0, 1e-13);
                let mean: f64 = end.atoms.iter().map(|atom| atom.0 * atom.1).sum();
                assert_close(mean, end.mean, 1e-12);
            }
        }
    }

    #[test]
    fn blocks_lie_above_single_outcomes_and_not_by_much() {
        let grid = 1000;
        for (n, local, epsilon) in [(1_000, 2.0, 0.3_f64), (1_000, 4.0, 1.2), (100_000, 6.0, 0.3)] {
            let law = laplace(n, local, grid);
            let noise = Noise { local, grid: grid as f64 };
            let c = noise.fall(1.0) * noise.sides();
            let single = (1..grid).map(|k| {
                let (k, floor) = (k as f64, k.max(grid - k) as f64);
                let (zero, end) = (noise.decay(k - floor), noise.decay(grid as f64 - k - floor));
                (zero - epsilon.exp() * end, c * noise.decay(floor))
            });
            let ends = law.summand(epsilon);
            let side = law.half[0].1 - noise.decay(grid as f64) * noise.sides();
            let outer = ends.atoms[..2].iter().map(|&(value, mass)| (value, mass - side));
            let fine = Summand { atoms: outer.chain(single).collect(), mean: ends.mean };
            let (fine, blocks) =
                (mean_positive_part(&fine, n), law.upper_delta(Epsilon::at(epsilon)));
            assert!(fine.lower <= blocks && fine.lower > 1e-8, "{local}: {fine:?} {blocks}");
            assert_close(blocks, fine.upper, 2e-2);
        }
    }

    #[test]
    fn more_is_known_than_of_any_randomizer() {
        for (n, local, laplace_epsilon, any) in [
            (1_000, 1.0, 0.1302043, 0.14867),
            (1_000, 4.0, 1.2132851, 1.85291),
            (10_000, 2.0, 0.0946085, 0.1144),
            (1_000_000, 4.0, 0.0276091, 0.0343),
        ] {
            let (law, delta) = (laplace(n, local, 1_000), Delta::new(1e-6).unwrap());
            let found = law.epsilon(delta).unwrap();
            assert_close(found.epsilon.get(), laplace_epsilon, 1e-5);
            assert_close(law.any.epsilon(delta).unwrap().epsilon.get(), any, 1e-3);
            let lower = found.lower.unwrap();
            assert_eq!(lower.dataset, Dataset::OneEnd);
            assert!(lower.epsilon < found.epsilon);
        }
        // With one step it is binary response, for which the clones are the blanket.
        let (law, epsilon) = (laplace(500, 2.0, 1), Epsilon::at(0.3));
        assert_close(law.delta(epsilon).upper, law.any.delta(epsilon).upper, 1e-4);
        // Two people, or ten: the bound of any randomizer is never exceeded.
        for n in [2, 10, 40] {
            let law = laplace(n, 3.0, 1_000);
            for epsilon in [0.0, 0.5, 2.9].map(Epsilon::at) {
                assert!(law.upper_delta(epsilon) <= law.any.upper_delta(epsilon));
            }
        }
    }

    #[test]
    fn nothing_is_left_at_the_local_epsilon_and_nonsense_is_refused() {
        let law = laplace(100, 1.0, 10);
        assert_eq!(law.delta(Epsilon::at(1.0)), Band::ZERO);
        assert_eq!(law.pure(), Some(Epsilon::at(1.0)));
        let crowd = Crowd::new(100).unwrap();
        for (local, grid) in [(0.0, 10), (301.0, 10), (1.0, 0), (1.0, (1 << 30) + 1)] {
            assert!(LaplaceBlanket::new(crowd, Epsilon::at(local), grid).is_err());
        }
    }
}
