//! Two functions of a complex number, without cancellation near zero.

use realfft::num_complex::Complex64;

/// `ln(1 + z)`.
pub(crate) fn ln_1p(z: Complex64) -> Complex64 {
    Complex64::new(0.5 * (2.0 * z.re + z.re * z.re + z.im * z.im).ln_1p(), z.im.atan2(1.0 + z.re))
}

/// `e^z − 1`.
pub(crate) fn exp_m1(z: Complex64) -> Complex64 {
    let half = (0.5 * z.im).sin();
    let grown = z.re.exp();
    Complex64::new(z.re.exp_m1() - 2.0 * grown * half * half, grown * z.im.sin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_functions_undo_each_other_at_every_scale() {
        for scale in [1.0, 1e-3, 1e-9, 1e-15] {
            for (re, im) in [(0.3, 0.2), (-0.4, 0.7), (0.5, -0.1)] {
                let z = Complex64::new(re, im) * scale;
                assert!((exp_m1(ln_1p(z)) - z).norm() < 1e-15 * scale);
            }
        }
    }
}
