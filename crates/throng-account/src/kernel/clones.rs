//! Hiding among clones: the dominating pair of any shuffled ε₀-LDP randomizer, evaluated exactly.
//!
//! Each of the other users' reports is, with probability `w` each, a clone of type A or of type B,
//! and otherwise of no use to anyone. The user's own report is of type A with probability
//! `p/(p+1)`, `p = e^ε₀`, in one world and `1/(p+1)` in the other, else of type B. The adversary
//! counts clones. Size-biasing the multinomial law of the others gives
//!
//! ```text
//! δ(ε) = 1/(n·w·(p+1)) · E[((p−E)·A − (pE−1)·B)₊],   (A, B, rest) ~ Multinomial(n; w, w, 1−2w),
//!        E = e^ε,
//! ```
//!
//! the same in both directions. `w = 1/(p+1)` is valid for every ε₀-LDP randomizer that all users
//! share (theorem and proof in `docs/privacy.md`, 5); `w = e^−ε₀/2` is the standard clones of
//! Feldman, McMillan and Talwar, "Hiding Among the Clones" (2021), Theorem 3.2, kept for
//! comparison.
//!
//! Given `c = A + B ~ Bin(n, 2w)`, A is `Bin(c, ½)` and the expectation is a stop-loss of A at
//! `τ = c·(½ + β)`, `β = tanh(ε/2) / (2·tanh(ε₀/2))`:
//!
//! ```text
//! E(A − τ)₊ = (a/2)·b(a) − β·c·P[A ≥ a],   a = ⌊τ⌋ + 1,   b the pmf of Bin(c, ½).
//! ```
//!
//! The sum over `c` walks outward from its mode with constant work per step.

use crate::error::require;
use crate::kernel::binomial::{Binomial, shrinking_sum};
use crate::kernel::solve::smallest_epsilon;
use crate::kernel::special::{LN_SQRT_TAU, normal_cdf};
use crate::kernel::work;
use crate::round;
use crate::{Band, Crowd, Delta, Epsilon, Error, Profile, Theorem};

/// The pair of laws that dominates `crowd` shuffled reports of an ε₀-LDP randomizer.
///
/// ```
/// use throng_account::profile::ClonePair;
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// let (crowd, local, delta) = (Crowd::new(1_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let strong = ClonePair::strong(crowd, local)?.epsilon(delta)?.epsilon.get();
/// let standard = ClonePair::standard(crowd, local)?.epsilon(delta)?.epsilon.get();
/// assert!((strong - 0.14867).abs() < 1e-5 && (standard - 0.18241).abs() < 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClonePair {
    crowd: u64,
    local: f64,
    theorem: Theorem,
    /// Probability that another user's report is a clone of type A; the same for type B.
    clone: f64,
}

impl ClonePair {
    /// The pair for all pure ε₀-LDP randomizers that users share: clones of mass `2/(e^ε₀+1)`.
    ///
    /// An upper bound on every such randomizer, valid for all ε₀ and crowds, attained by binary
    /// randomized response on an interval of ε. Theorem in `docs/privacy.md`, 5.
    pub fn strong(crowd: Crowd, local: Epsilon) -> Result<Self, Error> {
        Self::of_mass(crowd, local, Theorem::StrongClones, 1.0 / (local.get().exp() + 1.0))
    }

    /// The standard clones, mass `e^−ε₀`. Feldman et al. (2021), Theorem 3.2. ε is larger by 12 to
    /// 47 %.
    pub fn standard(crowd: Crowd, local: Epsilon) -> Result<Self, Error> {
        Self::of_mass(crowd, local, Theorem::StandardClones, 0.5 * (-local.get()).exp())
    }

    fn of_mass(crowd: Crowd, local: Epsilon, theorem: Theorem, clone: f64) -> Result<Self, Error> {
        require(local.get() <= 300.0, "epsilon0", local.get(), "from 0 to 300")?;
        Ok(Self { crowd: crowd.get(), local: local.get(), theorem, clone })
    }

    /// `P[A − c/2 ≥ βc] ≤ e^{−2β²c}` for every c, so `δ ≤ (scale·n/2)·E[e^{−2β²c}]`.
    fn hoeffding(&self, epsilon: f64) -> f64 {
        let beta = 0.5 * (0.5 * epsilon).tanh() / (0.5 * self.local).tanh();
        let scale = (0.5 * self.local).tanh() * (epsilon.exp() + 1.0) / (2.0 * self.clone);
        let kept = 2.0 * self.clone * (-2.0 * beta * beta).exp_m1();
        scale * (self.crowd as f64 * kept.ln_1p()).exp()
    }

    /// `δ(ε)` of the pair itself for ε < ε₀, exact to rounding.
    fn value(&self, epsilon: f64) -> f64 {
        let (p, n, w) = (self.local.exp(), self.crowd as f64, self.clone);
        let (half, half_local) = (0.5 * epsilon, 0.5 * self.local);
        let beta = 0.5 * half.tanh() / half_local.tanh();
        // ½ − β, which loses its digits near ε₀ when formed as a difference.
        let slack = 0.5 * (half_local - half).sinh() / (half_local.sinh() * half.cosh());
        // (p − 1)(E + 1)/(n·w·(p + 1)), without forming p or E where they are large or close to 1.
        let scale = (0.5 * self.local).tanh() * (epsilon.exp() + 1.0) / (n * w);
        let trivial = (p - epsilon.exp()) / (2.0 * n * w * (p + 1.0)) / scale;
        let (clones, odds) = (Binomial::new(self.crowd, 2.0 * w), 2.0 * w / (1.0 - 2.0 * w));
        scale * Walk { clones, crowd: self.crowd, odds, beta, slack }.expectation(trivial)
    }
}

impl Profile for ClonePair {
    /// Upper and lower value of the pair. Only the upper one bounds a randomizer: the pair is a
    /// bound, and no dataset achieves it.
    fn delta(&self, epsilon: Epsilon) -> Band {
        // At ε₀ = 0 both worlds are one; at ε ≥ ε₀ no event has positive weight.
        if epsilon.get() >= self.local {
            return Band::ZERO;
        }
        // Where δ is beyond any use, Hoeffding's inequality spares a walk that finds only zeros.
        let bound = self.hoeffding(epsilon.get());
        if bound < 1e-210 {
            return Band { lower: 0.0, upper: round::delta_up(bound) };
        }
        let value = self.value(epsilon.get());
        Band { lower: round::down(value), upper: round::delta_up(value) }
    }

    fn pure(&self) -> Option<Epsilon> {
        Some(Epsilon::at(self.local))
    }

    fn theorem(&self) -> Theorem {
        self.theorem
    }

    /// ε by the central limit theorem.
    fn guess(&self, delta: Delta) -> f64 {
        let clones = 2.0 * self.clone * self.crowd as f64;
        smallest_epsilon(delta.get(), self.local, 0.0, |epsilon| {
            let z = (0.5 * epsilon).tanh() / (0.5 * self.local).tanh() * clones.sqrt();
            let loss = (-0.5 * z * z - LN_SQRT_TAU).exp() - z * normal_cdf(-z);
            (epsilon.exp() + 1.0) * (0.5 * self.local).tanh() / clones.sqrt() * loss.max(0.0)
        })
    }
}

/// `E[(A − τ(c))₊]` over `c ~ Bin(n, 2w)`, term by term.
struct Walk {
    clones: Binomial,
    crowd: u64,
    odds: f64,
    beta: f64,
    slack: f64,
}

/// The walk's state at one `c`.
#[derive(Clone, Copy)]
struct Step {
    c: u64,
    /// `P[Bin(n, 2w) = c]`.
    weight: f64,
    /// `⌊τ⌋ + 1`.
    a: u64,
    /// `P[Bin(c, ½) = a]` and `P[Bin(c, ½) ≥ a]`.
    pmf: f64,
    tail: f64,
}

impl Walk {
    /// `trivial·c` bounds the term at `c`, whatever A does; it bounds what the walk leaves out.
    fn expectation(&self, trivial: f64) -> f64 {
        let mode = (self.clones.mean().floor() as u64).clamp(1, self.crowd);
        let anchor = Step { weight: self.clones.pmf(mode), ..self.fresh(mode) };
        let mut sum = self.term(&anchor);
        let mut step = anchor;
        while step.c < self.crowd {
            let ratio = self.odds * float(self.crowd - step.c) / float(step.c + 1);
            step = self.up(step, ratio);
            let term = self.term(&step);
            sum += term;
            if step.c.is_multiple_of(CHECK_EVERY) {
                // E(A − τ)₊/c falls with c (more clones hide better), so this bounds the rest.
                let rest = term / (step.c as f64 * step.weight) * step.weight_beyond(ratio);
                if rest <= NEGLIGIBLE * sum || step.weight == 0.0 {
                    sum += if step.weight == 0.0 { 0.0 } else { rest };
                    break;
                }
            }
        }
        work::count(step.c - anchor.c);
        step = anchor;
        while step.c > 1 {
            let ratio = float(step.c) / (float(self.crowd - step.c + 1) * self.odds);
            step = self.down(step, ratio);
            sum += self.term(&step);
            if step.c.is_multiple_of(CHECK_EVERY) {
                let rest = trivial * step.weight_beyond(ratio);
                if rest <= NEGLIGIBLE * sum || step.weight == 0.0 {
                    sum += rest;
                    break;
                }
            }
        }
        work::count(anchor.c - step.c);
        sum
    }

    fn term(&self, step: &Step) -> f64 {
        let (c, a) = (float(step.c), float(step.a));
        // Two ways to write the same difference; the second is small term by term near ε₀. Zero
        // where a > c: no outcome beats the cut.
        let loss = if self.beta < 0.25 {
            0.5 * a * step.pmf - self.beta * c * step.tail
        } else {
            self.slack * c * step.tail - 0.5 * (c * (step.tail - step.pmf) + (c - a) * step.pmf)
        };
        step.weight * loss.max(0.0)
    }

    /// The step from `c` to `c + 1`.
    fn up(&self, step: Step, ratio: f64) -> Step {
        let next = step.c + 1;
        let cut = self.cut(next);
        if Self::needs_fresh(&step, next) || cut > next {
            return Step { weight: step.weight * ratio, ..self.fresh(next) };
        }
        let (c, a) = (float(step.c), float(step.a));
        let tail = step.tail + 0.5 * step.pmf * a / (c - a + 1.0);
        let pmf = step.pmf * 0.5 * (c + 1.0) / (c + 1.0 - a);
        let mut moved = Step { c: next, weight: step.weight * ratio, a: step.a, pmf, tail };
        while moved.a < cut {
            let a = float(moved.a);
            moved.tail -= moved.pmf;
            moved.pmf *= (c + 1.0 - a) / (a + 1.0);
            moved.a += 1;
        }
        moved.settle()
    }

    /// The step from `c` to `c − 1`.
    fn down(&self, step: Step, ratio: f64) -> Step {
        let next = step.c - 1;
        let cut = self.cut(next);
        if Self::needs_fresh(&step, next) || cut > next || step.a > next {
            return Step { weight: step.weight * ratio, ..self.fresh(next) };
        }
        let (c, a) = (float(step.c), float(step.a));
        let pmf = step.pmf * 2.0 * (c - a) / c;
        // P[Bin(c) ≥ a] = P[Bin(c−1) ≥ a] + ½·P[Bin(c−1) = a−1]
        let tail = step.tail - 0.5 * pmf * a / (c - a);
        let mut moved = Step { c: next, weight: step.weight * ratio, a: step.a, pmf, tail };
        while moved.a > cut {
            let a = float(moved.a);
            moved.pmf *= a / (c - a);
            moved.tail += moved.pmf;
            moved.a -= 1;
        }
        moved.settle()
    }

    /// The step at `c` from scratch, but for its weight.
    fn fresh(&self, c: u64) -> Step {
        let a = self.cut(c);
        let law = Binomial::new(c, 0.5);
        let (pmf, tail) = if a > c { (0.0, 0.0) } else { (law.pmf(a), law.upper(a)) };
        Step { c, weight: 0.0, a, pmf, tail }
    }

    /// True if the step to `next` needs a fresh evaluation.
    ///
    /// Where the pmf has underflowed (below e^-700, which takes over a thousand clones) it is
    /// looked at every 64 steps only: it cannot grow in between to anything a δ of 1e-200 would
    /// notice.
    fn needs_fresh(step: &Step, next: u64) -> bool {
        let lost = step.pmf == 0.0 && (next < 1100 || next.is_multiple_of(64));
        lost || next.is_multiple_of(ANCHOR_EVERY)
    }

    /// `⌊c·(½ + β)⌋ + 1`; an error of the last bit moves a term of relative size 1e-16.
    fn cut(&self, c: u64) -> u64 {
        if self.beta < 0.25 {
            // Truncation, which is what an `f64` does on its way to an integer, is ⌊·⌋ here.
            (float(c) * (0.5 + self.beta)) as i64 as u64 + 1
        } else {
            c + 1 - (c as f64 * self.slack).ceil() as u64
        }
    }
}

/// Counts here are far below 2⁶³, and a signed conversion is one instruction.
fn float(count: u64) -> f64 {
    count as i64 as f64
}

impl Step {
    /// Far out, where the terms of the tail fall fast, subtracting them would eat its digits: there
    /// the few that count are added up instead.
    fn settle(mut self) -> Self {
        if self.c - self.a < self.a / 2 {
            let (c, a) = (self.c, self.a);
            let ratios = (a..c).map(|j| (c - j) as f64 / (j + 1) as f64);
            self.tail = self.pmf * shrinking_sum(ratios);
        }
        self
    }

    /// Bounds `Σ weight·c` beyond this step, away from the mode, by a geometric series.
    fn weight_beyond(&self, ratio: f64) -> f64 {
        // c grows by less than a factor of two per step while c ≥ 1, and slower the larger it is.
        let grown = ratio * (1.0 + 1.0 / self.c as f64);
        if grown >= 1.0 { f64::INFINITY } else { self.weight * self.c as f64 / (1.0 - grown) }
    }
}

/// The part that the walk may leave out, added to the result.
const NEGLIGIBLE: f64 = 1e-11;
/// Steps between looks at whether to stop.
const CHECK_EVERY: u64 = 16;
/// Steps between fresh evaluations, so that rounding does not build up.
const ANCHOR_EVERY: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};

    #[test]
    fn the_profile_agrees_with_direct_summation_in_eighty_digits() {
        for row in vectors("clone_pair.json") {
            let (crowd, local) =
                (Crowd::new(row.u64("n")).unwrap(), Epsilon::at(row.f64("epsilon0")));
            let pair = match row.text("blanket").as_str() {
                "strong" => ClonePair::strong(crowd, local).unwrap(),
                _ => ClonePair::standard(crowd, local).unwrap(),
            };
            let delta = row.f64("delta");
            assert_close(pair.value(row.f64("epsilon")), delta, 1e-10);
            let band = pair.delta(Epsilon::at(row.f64("epsilon")));
            assert!(band.lower <= delta && delta <= band.upper, "{row:?}");
        }
    }

    #[test]
    fn nothing_is_left_at_the_local_epsilon_and_without_one() {
        let crowd = Crowd::new(100).unwrap();
        let pair = ClonePair::strong(crowd, Epsilon::at(1.0)).unwrap();
        assert_eq!(pair.delta(Epsilon::at(1.0)), Band::ZERO);
        assert_eq!(pair.delta(Epsilon::at(7.0)), Band::ZERO);
        let nothing = ClonePair::strong(crowd, Epsilon::ZERO).unwrap();
        assert_eq!(nothing.delta(Epsilon::ZERO), Band::ZERO);
        assert!(ClonePair::strong(crowd, Epsilon::at(301.0)).is_err());
    }

    #[test]
    fn tiny_deltas_and_huge_crowds_leave_no_noise() {
        // δ falls smoothly over sixty decades: its logarithm is concave in ε.
        let pair = ClonePair::strong(Crowd::new(1_000_000_000).unwrap(), Epsilon::at(2.0)).unwrap();
        let logs: Vec<f64> = (1..=40).map(|i| pair.value(4e-5 * f64::from(i)).ln()).collect();
        assert!(logs[39] < -140.0, "{}", logs[39]);
        for three in logs.windows(3) {
            let (first, second) = (three[1] - three[0], three[2] - three[1]);
            assert!(second < first && first < 0.0, "{three:?}");
        }
    }
}
