//! `E[(G₁ + … + Gₙ)₊]/n` for independent, identically distributed G with few values, from both
//! sides: the kernel of every privacy blanket.
//!
//! Small cases are enumerated. Otherwise let X be the sum and ξ an independent `N(0, σ²)`. Adding ξ
//! can only raise the expectation of a convex function, and by a known amount at most:
//!
//! ```text
//! E(X+ξ)₊ − σ²·d  ≤  E(X)₊  ≤  E(X+ξ)₊,     d = density of X + ξ at 0,
//! ```
//!
//! because `E(x+ξ)₊ − x₊ = σ·(φ(z) − |z|·Φ(−|z|)) ≤ σ·φ(z)` with `z = x/σ`, which is `σ²` times the
//! density of ξ at `−x`. Both sides are contour integrals of the characteristic function of X + ξ,
//! tilted so that its mean is near 0 and nothing cancels:
//!
//! ```text
//! E(X+ξ)₊ = e^{K(s)} · (1/2π) ∫ χ(u)/(s+iu)² du,   d = e^{K(s)} · (1/2π) ∫ χ(u) du.
//! ```
//!
//! The trapezoidal rule with step `2π/Λ` computes, by Poisson's formula, the integral plus
//! `e^{−slΛ}·E(X+ξ+lΛ)₊ ≥ 0` summed over `l ≠ 0`: an upper bound stays one, and for the lower bound
//! the extra is bounded and taken off. ξ makes χ fall like a Gaussian, so the sum ends after some
//! ten thousand terms whatever the crowd; with σ = 0.005/s the two sides differ by a few parts in
//! 10⁵ of δ, about a millionth of ε. Where the terms' own rounding would show, the result is
//! replaced by bounds that need no sum: Chernoff's, and that of one summand alone.

use crate::Band;
use crate::kernel::binomial::Binomial;
use crate::kernel::complex::ln_1p;
use crate::kernel::solve::centring_tilt;
use crate::kernel::special::exp_m1_minus;
use crate::kernel::work;
use crate::round;
use realfft::num_complex::Complex64;

/// The law of one summand: `(value, probability)`; what is missing to 1 is at 0.
pub(crate) struct Summand {
    pub(crate) atoms: Vec<(f64, f64)>,
    /// `E[G]`, which the caller knows without cancellation.
    pub(crate) mean: f64,
}

/// `E[(G₁ + … + Gₙ)₊]/n`, from both sides, rounded outward.
pub(crate) fn mean_positive_part(law: &Summand, n: u64) -> Band {
    // One summand alone: a positive part is never larger than the sum of the positive parts.
    let alone: f64 = law.atoms.iter().map(|&(value, mass)| mass * value.max(0.0)).sum();
    if alone == 0.0 {
        return Band::ZERO;
    }
    let band = enumerated(law, n).unwrap_or_else(|| {
        let nothing = Band { lower: 0.0, upper: f64::INFINITY };
        Contour::new(law, n as f64).map_or(nothing, |contour| contour.positive_part())
    });
    let upper = law.chernoff(n as f64).min(band.upper) / n as f64;
    Band {
        lower: round::down(band.lower / n as f64),
        upper: round::delta_up(if upper < alone { upper } else { alone }),
    }
}

/// `E[(G₁ + … + Gₙ)₊]` over all combinations of counts with any weight, if not too many.
fn enumerated(law: &Summand, n: u64) -> Option<Band> {
    // A sum that is spread out further has too many, and is smooth enough for the contour.
    let spread = law.atoms.iter().map(|&(_, m)| 1.0 + (n as f64 * m * (1.0 - m).max(0.0)).sqrt());
    if spread.product::<f64>() > 40.0 && n > 40 {
        return None;
    }
    // A few summands with many values have too many as well: C(n + values, n), all of some weight.
    let values = law.atoms.len() as f64;
    let ways = (1..=n.min(40)).fold(1.0, |ways, i| ways * (values + i as f64) / i as f64);
    if n <= 40 && ways > MAX_ENUMERATED as f64 {
        return None;
    }
    let mut budget = MAX_ENUMERATED;
    let value = enumerate(&law.atoms, (n, 1.0), 0.0, 1.0, &mut budget)?;
    // Terms without weight are worth at most n times the largest value, each time one is left out.
    let largest = law.atoms.iter().map(|atom| atom.0).fold(0.0, f64::max);
    let rest = 8.0 * LEAST * MAX_ENUMERATED as f64 * n as f64 * largest;
    Some(Band { lower: value, upper: value + rest })
}

/// The part of `E[(base + …)₊]` that follows from here, where `weight` has come to: `n` summands
/// have no value yet, and those still possible have the mass `left` together.
fn enumerate(
    atoms: &[(f64, f64)],
    (n, left): (u64, f64),
    base: f64,
    weight: f64,
    budget: &mut u64,
) -> Option<f64> {
    *budget = budget.checked_sub(1)?;
    let Some(&(value, mass)) = atoms.first() else {
        work::count(1);
        return Some(weight * base.max(0.0));
    };
    // Given the atoms before it, each remaining summand takes this value with this probability.
    let law = Binomial::new(n, (mass / left).clamp(0.0, 1.0));
    let (first, masses) = law.masses((LEAST / weight).min(1.0));
    let mut sum = 0.0;
    for (k, share) in (first..).zip(masses) {
        let (rest, base) = ((n - k, left - mass), base + k as f64 * value);
        sum += enumerate(&atoms[1..], rest, base, weight * share, budget)?;
    }
    Some(sum)
}

/// The tilted, smoothed characteristic function and its trapezoidal rule.
struct Contour {
    n: f64,
    s: f64,
    sigma: f64,
    /// Deviation of the tilted sum.
    deviation: f64,
    /// `ln E e^{s(X+ξ)}`, and a bound on its error.
    exponent: f64,
    doubt: f64,
    /// Values with their tilted probabilities.
    atoms: Vec<(f64, f64)>,
    /// `ln E e^{v(X+ξ)}` at a second, larger tilt `v`, to bound the far tail.
    far: (f64, f64),
}

impl Contour {
    /// `None` where the sum would be too long: far out in a tail that Chernoff's bound covers well.
    fn new(law: &Summand, n: f64) -> Option<Self> {
        let centre = law.centring_tilt();
        // A tilt of less than one deviation would make 1/(s+iu)² too steep.
        let s = centre.max(1.0 / (law.variance(centre) * n).sqrt());
        let deviation = (law.variance(s) * n).sqrt();
        let x = s * deviation;
        // Beyond 35 deviations δ is below 10⁻²⁰⁰; below ⅓ the tilted law is all but a point.
        if !(0.3..35.0).contains(&x) {
            return None;
        }
        let sigma = SMOOTHING / s.max(1.0 / deviation);
        let smoothed = |t: f64| {
            let (log, error) = law.cumulant(t);
            (n * log + 0.5 * (sigma * t).powi(2), n * error)
        };
        let far = s + 8.0 / deviation;
        let ((exponent, doubt), (far_exponent, far_doubt)) = (smoothed(s), smoothed(far));
        if doubt > 1e-6 {
            return None;
        }
        Some(Self {
            n,
            s,
            sigma,
            deviation,
            exponent,
            doubt,
            atoms: law.tilted(s),
            far: (far, far_exponent + far_doubt),
        })
    }

    fn positive_part(&self) -> Band {
        let x = self.s * self.deviation;
        // Far enough that a shift by Λ leaves e^-40 of the result on either side.
        let period = self.deviation * (12.0_f64).max(x / 2.0 + 45.0 / x);
        let step = std::f64::consts::TAU / period;
        let end = 9.0 / self.sigma;
        let (mut hinge, mut density) = (0.0, 0.0);
        let (mut hinge_size, mut density_size) = (0.0, 0.0);
        let last = (end / step) as u64;
        let (mut index, mut evaluated) = (0, 0);
        while index <= last {
            let u = step * index as f64;
            let Term { value, doubt, quiet } = self.characteristic(u);
            // The terms that follow and are known to be too small to look at.
            let skipped = (quiet / step) as u64;
            let weight = if index == 0 { 1.0 } else { 2.0 };
            let pole = Complex64::new(self.s, u);
            hinge += weight * (value / (pole * pole)).re;
            density += weight * value.re;
            hinge_size += weight * doubt / pole.norm_sqr() * (1 + skipped) as f64;
            density_size += weight * doubt * (1 + skipped) as f64;
            index += 1 + skipped;
            evaluated += 1;
        }
        work::count(evaluated);
        let scale = self.exponent.exp() / period;
        // Beyond the end |χ| ≤ e^{−(σu)²/2}, at most e^-40.5 at the end and falling from there.
        let cut = 2.0 * (-0.5 * (self.sigma * end).powi(2)).exp();
        let cut = cut * (2.0 + 1.0 / (self.sigma * step * 9.0));
        // Rounding of every term, of which the logarithms and angles are the larger part.
        let hinge_error = cut / (end * end) + 4e-16 * hinge_size;
        let density_error = cut + 4e-16 * density_size;
        let upper = scale * (hinge + hinge_error);
        let smoothing = self.sigma.powi(2) * scale * (density + density_error).max(0.0);
        let lower = scale * (hinge - hinge_error) - smoothing - self.wrapped(period, upper);
        // Where rounding is all there is, neither end says anything.
        let upper = if hinge > hinge_error { upper } else { f64::INFINITY };
        Band {
            lower: lower.max(0.0) * (1.0 - 2.0 * self.doubt),
            upper: upper * (1.0 + 2.0 * self.doubt),
        }
    }

    /// Bounds `Σ over l ≠ 0 of e^{−slΛ}·E(X+ξ+lΛ)₊`.
    fn wrapped(&self, period: f64, positive_part: f64) -> f64 {
        // l ≥ 1: E(X+ξ+lΛ)₊ ≤ lΛ + E(X+ξ)₊, and Σ l·y^l = y/(1−y)².
        let y = (-self.s * period).exp();
        let above = (period + positive_part) * y / (1.0 - y).powi(2);
        // l ≤ −1: E(X+ξ−m)₊ ≤ E e^{v(X+ξ)}·e^{−vm}/(e·v) at the second tilt v > s.
        let (v, cumulant) = self.far;
        let z = (-(v - self.s) * period).exp();
        above + cumulant.exp() / (std::f64::consts::E * v) * z / (1.0 - z)
    }

    /// The tilted characteristic function of X + ξ at `u`, zero where it is below e^-60.
    fn characteristic(&self, u: f64) -> Term {
        let mut moved = Complex64::new(0.0, 0.0);
        for &(value, mass) in &self.atoms {
            let (sin, cos) = (0.5 * u * value).sin_cos();
            // e^{iuv} − 1 = 2i·sin(uv/2)·e^{iuv/2}
            moved += Complex64::new(-2.0 * sin * sin, 2.0 * sin * cos) * mass;
        }
        let square = 2.0 * moved.re + moved.norm_sqr();
        let smooth = self.sigma * self.sigma * u;
        if 0.5 * self.n * square.max(-1.0).ln_1p() - 0.5 * smooth * u < -60.0 {
            // |φ(u+v)| ≤ |φ(u)| + v·E|G − E G| for one summand, and the last factor is at most the
            // deviation.
            let slack = (-60.0 / self.n).exp() - (1.0 + square).max(0.0).sqrt();
            let quiet = slack.max(0.0) * self.n.sqrt() / self.deviation;
            return Term { value: Complex64::new(0.0, 0.0), doubt: (-60.0_f64).exp(), quiet };
        }
        let log = ln_1p(moved) * self.n;
        let modulus = (log.re - 0.5 * smooth * u).exp();
        let value = Complex64::from_polar(modulus, log.im + smooth * self.s);
        // An ulp of the sum `moved` counts n times in the logarithm.
        let size = 8.0 + log.norm() + self.n * moved.norm() + smooth * (u + self.s);
        Term { value, doubt: modulus * size, quiet: 0.0 }
    }
}

/// One value of the characteristic function.
struct Term {
    value: Complex64,
    /// Its modulus times the size of its logarithm, for the rounding error.
    doubt: f64,
    /// How far it is known to stay below e^-60, from here on.
    quiet: f64,
}

impl Summand {
    /// `ln E e^{tG}`, and a bound on its error.
    fn cumulant(&self, t: f64) -> (f64, f64) {
        let steepest = self.atoms.iter().map(|&(v, _)| (t * v).abs()).fold(0.0, f64::max);
        if steepest < 0.5 {
            // The first order is known; the rest has one sign.
            let curved: f64 = self.atoms.iter().map(|&(v, m)| m * exp_m1_minus(t * v)).sum();
            let linear = t * self.mean;
            return ((linear + curved).ln_1p(), 1e-15 * (linear.abs() + curved));
        }
        // Far from 0 the sum can be small against 1, and only its terms, all positive, say how
        // small.
        let rest = (1.0 - self.atoms.iter().map(|atom| atom.1).sum::<f64>()).max(0.0);
        let (mut total, mut error) = (rest, 1e-15);
        for &(v, m) in &self.atoms {
            let term = m * (t * v).exp();
            total += term;
            error += 1e-15 * term * (1.0 + (t * v).abs());
        }
        (total.ln(), error / total)
    }

    /// The atoms weighted by `e^{tG}` and normalised.
    fn tilted(&self, t: f64) -> Vec<(f64, f64)> {
        let total = self.cumulant(t).0.exp();
        self.atoms.iter().map(|&(v, m)| (v, m * (t * v).exp() / total)).collect()
    }

    /// Variance of G tilted by `t`, the atom at 0 included.
    fn variance(&self, t: f64) -> f64 {
        let atoms = self.tilted(t);
        let mean: f64 = atoms.iter().map(|&(v, m)| m * v).sum();
        let rest = (1.0 - atoms.iter().map(|atom| atom.1).sum::<f64>()).max(0.0);
        let spread = |&(v, m): &(f64, f64)| m * (v - mean).powi(2);
        atoms.iter().map(spread).sum::<f64>() + rest * mean * mean
    }

    /// `E(X)₊ ≤ E e^{tX}/(e·t)`, at the tilt that centres X.
    fn chernoff(&self, n: f64) -> f64 {
        let t = self.centring_tilt();
        let (log, error) = self.cumulant(t);
        (n * (log + error) - 1.0).exp() / t
    }

    /// The tilt ≥ 0 under which G has mean 0, by bisection on the increasing tilted mean.
    fn centring_tilt(&self) -> f64 {
        let slope = |t: f64| {
            self.mean + self.atoms.iter().map(|&(v, m)| m * v * (t * v).exp_m1()).sum::<f64>()
        };
        let largest = self.atoms.iter().map(|a| a.0).fold(0.0, f64::max);
        centring_tilt(largest, 60, |t| slope(t) < 0.0)
    }
}

/// σ in units of 1/s: the two sides differ by about its square, relatively.
const SMOOTHING: f64 = 5e-3;
/// Combinations of counts that are enumerated instead, and the probability that makes one count.
const MAX_ENUMERATED: u64 = 300_000;
const LEAST: f64 = 1e-60;
