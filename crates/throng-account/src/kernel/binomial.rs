//! The binomial law to full relative accuracy, from the centre to e⁻⁷⁰⁰ and from 1 trial to 2⁵³.
//!
//! Differences of `lgamma` lose six digits at a billion trials. The saddle-point form of Loader
//! ("Fast and Accurate Computation of Binomial Probabilities", 2000) does not: it writes the pmf as
//! a Gaussian-like factor times corrections that are small to begin with. Tails are sums of terms
//! that shrink away from the cut, never `1 − cdf` of the large side.

use crate::kernel::special::LN_SQRT_TAU;

/// `Bin(trials, p)` with `0 ≤ p ≤ 1` taken as exact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binomial {
    trials: u64,
    p: f64,
    q: f64,
}

impl Binomial {
    pub(crate) fn new(trials: u64, p: f64) -> Self {
        debug_assert!((0.0..=1.0).contains(&p));
        Self { trials, p, q: 1.0 - p }
    }

    pub(crate) fn mean(&self) -> f64 {
        self.trials as f64 * self.p
    }

    /// `ln P[X = k]`; `−∞` outside the support.
    pub(crate) fn ln_pmf(&self, k: u64) -> f64 {
        let Self { trials: n, p, q } = *self;
        if k > n || (p == 0.0 && k > 0) || (q == 0.0 && k < n) {
            return f64::NEG_INFINITY;
        }
        if p == 0.0 || q == 0.0 {
            return 0.0;
        }
        let (n_f, k_f, rest) = (n as f64, k as f64, (n - k) as f64);
        if k == 0 {
            return n_f * (-p).ln_1p();
        }
        if k == n {
            // `ln p` for p near 1 loses digits of 1 − p, which q still has.
            return n_f * if q < 0.5 { (-q).ln_1p() } else { p.ln() };
        }
        let np = Product::new(n_f, p);
        // The last term is what rounding took from 1 − p.
        let mut nq = Product::new(n_f, q);
        nq.low += n_f * ((1.0 - q) - p);
        stirling_error(n_f)
            - stirling_error(k_f)
            - stirling_error(rest)
            - deviance(k_f, np)
            - deviance(rest, nq)
            - LN_SQRT_TAU
            - 0.5 * (k_f * (rest / n_f)).ln()
    }

    pub(crate) fn pmf(&self, k: u64) -> f64 {
        self.ln_pmf(k).exp()
    }

    /// The first of the places around the mode whose mass is at least `least`, a number above 0,
    /// and their masses.
    pub(crate) fn masses(&self, least: f64) -> (u64, Vec<f64>) {
        let n = self.trials;
        let mode = (((n + 1) as f64 * self.p) as u64).min(n);
        let (peak, odds) = (self.pmf(mode), self.p / self.q);
        let walk = |ratios: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            let masses = ratios.scan(peak, |mass, ratio| {
                *mass *= ratio;
                Some(*mass)
            });
            masses.take_while(|&mass| mass >= least).collect()
        };
        let mut all = walk(&mut (0..mode).rev().map(|j| (j + 1) as f64 / ((n - j) as f64 * odds)));
        let first = mode - all.len() as u64;
        all.reverse();
        all.push(peak);
        all.extend(walk(&mut (mode..n).map(|j| odds * (n - j) as f64 / (j + 1) as f64)));
        (first, all)
    }

    /// `P[X ≥ k]`.
    pub(crate) fn upper(&self, k: u64) -> f64 {
        if k == 0 {
            return 1.0;
        }
        if k > self.trials {
            return 0.0;
        }
        if k as f64 >= self.mean() { self.upper_sum(k) } else { 1.0 - self.lower_sum(k - 1) }
    }

    /// `P[X ≤ k]`.
    pub(crate) fn lower(&self, k: u64) -> f64 {
        if k >= self.trials {
            return 1.0;
        }
        if k as f64 <= self.mean() { self.lower_sum(k) } else { 1.0 - self.upper_sum(k + 1) }
    }

    fn upper_sum(&self, k: u64) -> f64 {
        let (n, odds) = (self.trials, self.p / self.q);
        let ratios = (k..n).map(|j| odds * (n - j) as f64 / (j + 1) as f64);
        self.pmf(k) * shrinking_sum(ratios)
    }

    fn lower_sum(&self, k: u64) -> f64 {
        let (n, odds) = (self.trials, self.q / self.p);
        let ratios = (0..k).rev().map(|j| odds * (j + 1) as f64 / (n - j) as f64);
        self.pmf(k) * shrinking_sum(ratios)
    }
}

/// `1 + r₁ + r₁r₂ + …` for decreasing ratios, up to a remainder below 1e-17 of the sum.
pub(crate) fn shrinking_sum(ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for ratio in ratios {
        term *= ratio;
        sum += term;
        // The remainder is below the geometric series that goes on with this ratio.
        if ratio < 1.0 && term * ratio <= 1e-17 * sum * (1.0 - ratio) {
            break;
        }
    }
    sum
}

/// `ln n! − ln(√(2πn)·(n/e)ⁿ)`.
pub(crate) fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let ln_factorial: f64 = (2..=n as u32).map(|k| f64::from(k).ln()).sum();
        return ln_factorial - (LN_SQRT_TAU + (n + 0.5) * n.ln() - n);
    }
    let m = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / m) / m) / m) / m)
        / n
}

/// `x·ln(x/m) + m − x`, accurate when `x` is near `m`.
pub(crate) fn deviance(x: f64, m: Product) -> f64 {
    let difference = (x - m.high) - m.low;
    let sum = x + m.high;
    if difference.abs() >= 0.1 * sum {
        return x * (x / m.high).ln() - difference;
    }
    // ln(x/m) = 2·artanh(v), v = difference/sum, expanded around the leading difference·v.
    let v = difference / sum;
    let mut value = difference * v;
    let mut power = 2.0 * x * v;
    for j in 1..60 {
        power *= v * v;
        let next = value + power / f64::from(2 * j + 1);
        if next == value {
            break;
        }
        value = next;
    }
    value
}

/// A product of two floats with its rounding error.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

impl Product {
    pub(crate) fn new(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: libm::fma(a, b, -high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};

    #[test]
    fn pmf_and_tails_agree_with_eighty_digits() {
        for row in vectors("special.json") {
            let name = row.text("fn");
            if !name.contains("binomial") {
                continue;
            }
            let law = Binomial::new(row.list("args")[0] as u64, row.list("args")[1]);
            let (k, value) = (row.list("args")[2] as u64, row.f64("value"));
            match name.as_str() {
                // An absolute error of the logarithm is a relative error of the pmf.
                "ln_binomial_pmf" => {
                    let error = (law.ln_pmf(k) - value).abs();
                    assert!(error < 4e-12, "{row:?}: off by {error:e}");
                }
                "binomial_upper_tail" => assert_close(law.upper(k), value, 1e-11),
                "binomial_lower_tail" => assert_close(law.lower(k), value, 1e-11),
                other => panic!("unknown function {other}"),
            }
        }
    }

    #[test]
    fn a_sure_outcome_has_all_the_mass() {
        for (n, p, place) in [(0, 0.0, 0), (0, 0.3, 0), (0, 1.0, 0), (5, 0.0, 0), (5, 1.0, 5)] {
            assert_eq!(Binomial::new(n, p).masses(1e-60), (place, vec![1.0]));
        }
    }

    #[test]
    fn the_pmf_sums_to_one_and_the_tails_meet() {
        for (n, p) in [(1, 0.3), (7, 0.5), (40, 0.01), (1000, 0.999)] {
            let law = Binomial::new(n, p);
            assert_close((0..=n).map(|k| law.pmf(k)).sum(), 1.0, 1e-13);
            let (first, masses) = law.masses(1e-40);
            for (k, mass) in (first..).zip(&masses) {
                assert_close(*mass, law.pmf(k), 1e-12);
            }
            assert!(first == 0 || law.pmf(first - 1) < 1e-40);
            let next = first + masses.len() as u64;
            assert!(next > n || law.pmf(next) < 1e-40);
            for k in 1..=n {
                assert_close(law.upper(k) + law.lower(k - 1), 1.0, 1e-13);
            }
        }
    }
}
