//! Rounding outward: the one place where it happens.
//!
//! Every δ in this crate is a sum of positive terms, or of terms that cancel by a known small
//! factor, each accurate to about 1e-12; the tests hold them to 1e-10 of independent values with 50
//! digits. [`SLACK`] is ten times that. Rust has no directed rounding, so an upper bound is
//! multiplied up by this budget and a lower bound down.
//!
//! ```
//! use throng_account::round;
//!
//! let third = 1.0 / 3.0;
//! assert!(round::down(third) < third && third < round::up(third));
//! assert!(round::up(third) - third < 1e-9);
//! // A target that is still met after the claim made of it is rounded up.
//! assert!(round::up(round::within(third)) <= third);
//! ```

/// Relative allowance for floating-point error in every reported bound.
pub const SLACK: f64 = 1e-9;

/// An upper bound that covers the floating-point error of `value ≥ 0`.
pub fn up(value: f64) -> f64 {
    up_by(value, SLACK)
}

/// A lower bound that covers the floating-point error of `value ≥ 0`.
pub fn down(value: f64) -> f64 {
    down_by(value, SLACK).max(0.0)
}

/// An upper bound on a `value ≥ 0` whose relative error is below `allowance`, where that is known
/// to be another one than [`SLACK`].
pub fn up_by(value: f64, allowance: f64) -> f64 {
    value * (1.0 + allowance)
}

/// A lower bound on a `value ≥ 0` whose relative error is below `allowance`.
pub fn down_by(value: f64, allowance: f64) -> f64 {
    value * (1.0 - allowance)
}

/// The value to aim for, so that what comes out keeps the one asked for after it is rounded up.
pub fn within(value: f64) -> f64 {
    down_by(value, 2.0 * SLACK)
}

/// An upper bound on a δ that is positive, however small: it does not underflow to a claim of none.
pub fn delta_up(value: f64) -> f64 {
    up(value).clamp(1e-300, 1.0)
}
