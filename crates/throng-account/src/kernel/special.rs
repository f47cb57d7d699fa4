//! The few special functions the accountant needs.

use std::f64::consts::TAU;

/// `e^x − 1 − x`, without cancellation.
pub(crate) fn exp_m1_minus(x: f64) -> f64 {
    if x.abs() > 0.5 {
        return x.exp_m1() - x;
    }
    let (mut sum, mut term) = (0.5 * x * x, 0.5 * x * x);
    for k in 3..40 {
        term *= x / f64::from(k);
        sum += term;
        if term.abs() <= sum.abs() * 1e-17 {
            break;
        }
    }
    sum
}

/// `sin x − x`, without cancellation.
pub(crate) fn sin_minus(x: f64) -> f64 {
    if x.abs() > 1.0 {
        return x.sin() - x;
    }
    // −x³/3! + x⁵/5! − …, nested; the first term left out is below 1e-18 of the first.
    let y = x * x;
    let nested = RECIPROCALS.iter().rev().fold(1.0, |rest, reciprocal| 1.0 - y * reciprocal * rest);
    -x * y / 6.0 * nested
}

/// `Φ(z)`, accurate relatively for negative `z` too.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / core::f64::consts::SQRT_2)
}

/// `ln Φ(z)`, finite for every finite `z`.
pub(crate) fn ln_normal_cdf(z: f64) -> f64 {
    match z {
        _ if z > 0.0 => (-normal_cdf(-z)).ln_1p(),
        _ if z > -30.0 => normal_cdf(z).ln(),
        _ => ln_normal_pdf(z) + mills(-z).ln(),
    }
}

/// The `z` with `ln Φ(z) = ln_p`, for `ln_p ≤ ln ½`: a quantile taken from the small tail.
///
/// Newton's method on the concave function `ln Φ`, which converges from the left of the root.
pub(crate) fn lower_normal_quantile(ln_p: f64) -> f64 {
    // The tail is about φ(z)/|z|.
    let twice = -2.0 * ln_p;
    let mut z = -(twice - (TAU * twice).ln()).max(0.0).sqrt();
    for _ in 0..60 {
        let value = ln_normal_cdf(z);
        let slope = (ln_normal_pdf(z) - value).exp();
        let step = (ln_p - value) / slope;
        z += step;
        if step.abs() <= 1e-15 * z.abs().max(1e-3) {
            break;
        }
    }
    z
}

/// The distance from its mean within which a sum of independent bits with this variance has all but
/// e^−`nats` of its mass, on either side (Bernstein's inequality).
pub(crate) fn bernstein(nats: f64, variance: f64) -> f64 {
    nats / 3.0 + (nats * nats / 9.0 + 2.0 * nats * variance).sqrt()
}

/// Mills' ratio `(1 − Φ(z))/φ(z)` for large `z`, by its continued fraction from the inside out.
fn mills(z: f64) -> f64 {
    let mut tail = z;
    for k in (1..=60).rev() {
        tail = z + f64::from(k) / tail;
    }
    1.0 / tail
}

fn ln_normal_pdf(z: f64) -> f64 {
    -0.5 * z * z - LN_SQRT_TAU
}

/// `1/(4·5), 1/(6·7), …`: ratios of the terms of the sine.
const RECIPROCALS: [f64; 8] = [
    1.0 / 20.0,
    1.0 / 42.0,
    1.0 / 72.0,
    1.0 / 110.0,
    1.0 / 156.0,
    1.0 / 210.0,
    1.0 / 272.0,
    1.0 / 342.0,
];

/// `ln √(2π)`.
pub(crate) const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};

    #[test]
    fn the_normal_law_agrees_with_eighty_digits() {
        for row in vectors("special.json") {
            let value = row.f64("value");
            match row.text("fn").as_str() {
                "normal_cdf" => assert_close(normal_cdf(row.list("args")[0]), value, 1e-12),
                "ln_normal_cdf" => assert_close(ln_normal_cdf(row.list("args")[0]), value, 1e-13),
                "normal_quantile" if row.list("args")[0] < 0.5 => {
                    assert_close(lower_normal_quantile(row.list("args")[0].ln()), value, 1e-13);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn cancellation_free_forms_meet_their_definitions() {
        for x in [-3.0, -0.7, 0.51, 1.3, 2.0_f64] {
            assert_close(exp_m1_minus(x), x.exp() - 1.0 - x, 1e-14);
            assert_close(sin_minus(x), x.sin() - x, 1e-13);
        }
        // Third and second order terms of the series, where the definitions have no digits left.
        assert_close(exp_m1_minus(1e-9), 5e-19 + 1e-27 / 6.0, 1e-15);
        assert_close(sin_minus(1e-5), -1e-15 / 6.0 + 1e-25 / 120.0, 1e-15);
    }
}
