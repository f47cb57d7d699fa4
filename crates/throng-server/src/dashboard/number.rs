//! Numbers of which all pages have one look.

use std::fmt;
use throng_account::show::{Near, Upper};

/// An estimate, with a minus sign where it is below zero, as charts have it.
#[derive(Debug, Clone, Copy)]
pub struct Signed(pub f64);

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Near(self.0).to_string();
        match text.strip_prefix('-') {
            Some(size) => write!(f, "−{size}"),
            None => f.write_str(&text),
        }
    }
}

/// A δ that holds: rounded up, a power of ten with its factor where it is small.
#[derive(Debug, Clone, Copy)]
pub struct Delta(pub f64);

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0.0 && self.0 < SMALL {
            write!(f, "{:e}", Upper(self.0).rounded(4))
        } else {
            write!(f, "{}", Upper(self.0))
        }
    }
}

/// The least δ that is written as a plain decimal.
const SMALL: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_has_one_notation_and_is_never_shown_smaller() {
        for (delta, shown) in [
            (2e-4, "2e-4"),
            (1e-6, "1e-6"),
            (0.000_200_001, "2.001e-4"),
            (9.999_9e-5, "1e-4"),
            (0.25, "0.25"),
            (0.0, "0"),
        ] {
            assert_eq!(Delta(delta).to_string(), shown);
        }
    }

    #[test]
    fn an_estimate_below_zero_has_a_minus_sign() {
        assert_eq!(Signed(-7.8671).to_string(), "−7.867");
        assert_eq!(Signed(-12_345.6).to_string(), "−12,346");
        assert_eq!(Signed(3.0).to_string(), "3");
    }
}
