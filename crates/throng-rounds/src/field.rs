//! The numbers that are shared: integers modulo the prime p = 2⁶¹ − 1.
//!
//! A product fits into 128 bits and is reduced by adding its two halves of 61 digits, because 2⁶¹ =
//! 1 modulo p. Nothing branches on a value: what is computed here is a secret or a share of one.

use rand_core::CryptoRng;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul, Sub};
use zeroize::DefaultIsZeroes;

/// An integer modulo 2⁶¹ − 1. `Debug` does not show it.
///
/// ```
/// use throng_rounds::Element;
///
/// let (two, three) = (Element::from(2), Element::from(3));
/// assert_eq!((two - three).signed(), -1);
/// assert_eq!(two * two.inverse(), Element::ONE);
/// assert_eq!(Element::from_signed(-4) + three, two - three);
///
/// // Eight bytes, the lowest first; p itself and more are refused.
/// assert_eq!(three.to_bytes(), [3, 0, 0, 0, 0, 0, 0, 0]);
/// assert_eq!(Element::from_bytes([3, 0, 0, 0, 0, 0, 0, 0]), Some(three));
/// assert_eq!(Element::from_bytes([0xff; 8]), None);
/// assert_eq!(format!("{three:?}"), "Element(..)");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Element(u64);

impl Element {
    /// 0.
    pub const ZERO: Self = Self(0);

    /// 1.
    pub const ONE: Self = Self(1);

    /// p = 2⁶¹ − 1, a prime of Mersenne.
    pub const MODULUS: u64 = (1 << 61) - 1;

    /// Bytes of an encoded element.
    pub const BYTES: usize = 8;

    /// Uniform. Of 2⁶¹ candidates only p itself is drawn again.
    pub fn random(rng: &mut impl CryptoRng) -> Self {
        loop {
            if let Some(element) = Self::candidate(rng.next_u64()) {
                return element;
            }
        }
    }

    /// The lowest 61 bits of a random word, unless they are p: what the words accepted stand for is
    /// uniform.
    pub(crate) fn candidate(word: u64) -> Option<Self> {
        let word = word & Self::MODULUS;
        (word != Self::MODULUS).then_some(Self(word))
    }

    /// The class of an integer that may be negative.
    pub fn from_signed(value: i64) -> Self {
        // −2⁶³ ≥ −8p, so the sum is not negative.
        Self::fold((i128::from(value) + 8 * i128::from(Self::MODULUS)) as u128)
    }

    /// The integer of this class that is nearest to 0.
    pub fn signed(self) -> i64 {
        let half = Self::MODULUS / 2;
        // All ones where the value is above half.
        let above = (half.wrapping_sub(self.0) >> 63).wrapping_neg();
        self.0.wrapping_sub(Self::MODULUS & above) as i64
    }

    /// The lowest byte first.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0.to_le_bytes()
    }

    /// Refuses what is not below p, so that an element has one encoding.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let value = u64::from_le_bytes(bytes);
        (value < Self::MODULUS).then_some(Self(value))
    }

    /// `self^exponent`. The exponent is public.
    ///
    /// ```
    /// use throng_rounds::Element;
    ///
    /// assert_eq!(Element::from(3).pow(4), Element::from(81));
    /// ```
    #[must_use]
    pub fn pow(self, exponent: u64) -> Self {
        let squares = std::iter::successors(Some(self), |&square| Some(square * square));
        let digits = (0..u64::BITS - exponent.leading_zeros()).zip(squares);
        digits
            .filter(|(digit, _)| exponent >> digit & 1 == 1)
            .fold(Self::ONE, |power, (_, square)| power * square)
    }

    /// `1/self` by Fermat's `self^(p − 2)`; 0 for 0.
    #[must_use]
    pub fn inverse(self) -> Self {
        self.pow(Self::MODULUS - 2)
    }

    /// Reduces anything below 2¹²² − p.
    fn fold(value: u128) -> Self {
        let (low, high) = (value as u64 & Self::MODULUS, (value >> 61) as u64);
        Self::reduce(low + high)
    }

    /// Reduces anything below 2p.
    fn reduce(value: u64) -> Self {
        let less = value.wrapping_sub(Self::MODULUS);
        // All ones where the subtraction went below 0.
        let below = (less >> 63).wrapping_neg();
        Self(less.wrapping_add(Self::MODULUS & below))
    }
}

impl From<u32> for Element {
    fn from(value: u32) -> Self {
        Self(value.into())
    }
}

impl From<bool> for Element {
    fn from(bit: bool) -> Self {
        Self(bit.into())
    }
}

impl Add for Element {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::reduce(self.0 + other.0)
    }
}

impl Sub for Element {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::reduce(self.0 + (Self::MODULUS - other.0))
    }
}

impl Mul for Element {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::fold(u128::from(self.0) * u128::from(other.0))
    }
}

impl Sum for Element {
    fn sum<I: Iterator<Item = Self>>(elements: I) -> Self {
        elements.fold(Self::ZERO, Add::add)
    }
}

impl DefaultIsZeroes for Element {}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Element(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};

    const P: u128 = Element::MODULUS as u128;

    /// The corners, and some from anywhere.
    fn elements() -> Vec<Element> {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let corners = [0, 1, 2, P / 2, P / 2 + 1, P - 2, P - 1].map(|value| Element(value as u64));
        corners.into_iter().chain((0..200).map(|_| Element::random(&mut rng))).collect()
    }

    #[test]
    fn arithmetic_is_that_of_wide_integers() {
        for a in elements() {
            for b in elements() {
                let (x, y) = (u128::from(a.0), u128::from(b.0));
                assert_eq!(u128::from((a + b).0), (x + y) % P);
                assert_eq!(u128::from((a - b).0), (x + P - y) % P);
                assert_eq!(u128::from((a * b).0), x * y % P);
                assert_eq!(a - b, a + (Element::ZERO - b));
            }
        }
    }

    #[test]
    fn every_element_but_zero_has_an_inverse() {
        for a in elements() {
            let one = if a == Element::ZERO { Element::ZERO } else { Element::ONE };
            assert_eq!(a * a.inverse(), one);
            assert_eq!(a.pow(0), Element::ONE);
            assert_eq!(a.pow(5), a * a * a * a * a);
        }
    }

    #[test]
    fn signed_integers_go_in_and_out() {
        let half = (P / 2) as i64;
        for value in [0, 1, -1, 255, -256, half, -half, half - 1] {
            assert_eq!(Element::from_signed(value).signed(), value);
        }
        for value in [i64::MIN, i64::MAX, half + 1] {
            let class = i128::from(value).rem_euclid(P as i128);
            assert_eq!(i128::from(Element::from_signed(value).0), class);
        }
    }

    #[test]
    fn an_element_has_one_encoding() {
        for a in elements() {
            assert_eq!(Element::from_bytes(a.to_bytes()), Some(a));
        }
        for value in [P as u64, P as u64 + 1, 1 << 61, u64::MAX] {
            assert_eq!(Element::from_bytes(value.to_le_bytes()), None);
        }
    }

    #[test]
    fn a_candidate_is_drawn_again_when_it_is_the_modulus() {
        assert_eq!(Element::candidate(u64::MAX), None);
        assert_eq!(Element::candidate(u64::MAX << 61 | 7), Some(Element(7)));
    }
}
