//! The methods by which two agree on a key through a shuffle: what they cost, how seldom they fail,
//! and how much of the key nobody else can guess.
//!
//! ```text
//! symbol   meaning
//! n        positions: tags on which each end puts one card
//! k        bits the key material must have at least
//! t        cards that each end puts on one tag
//! ```
//!
//! Everything is counted in integers of any size, so that a decision is never one of rounding.

use crate::Error;
use throng_account::round;

/// A way to agree on a key, the same for both ends.
///
/// ```
/// use throng_rounds::Method;
///
/// // 128 bits either way: seven times fewer messages with all cards on one tag.
/// let bits = Method::bits(128, 64)?;
/// assert_eq!(bits, Method::Bits { positions: 444, bits: 128 });
/// let cards = Method::cards(128)?;
/// assert_eq!(cards, Method::Cards { cards: 66 });
/// assert!(bits.entropy_bits() >= 128.0 && cards.entropy_bits() >= 128.0);
///
/// // One fails for want of differing bits, the other when two random cards are equal.
/// assert!(bits.failure() <= 2_f64.powi(-64));
/// assert!(cards.failure() <= 2_f64.powi(-50));
/// # Ok::<(), throng_rounds::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// A random bit each on every one of many tags; those on which the two differ make the key.
    ///
    /// The bag shows a 0 and a 1 and not whose is which, so the low seat's bit is known to the two
    /// ends alone. Where the bits are equal everybody knows both, and the position is left out.
    ///
    /// Ishai, Kushilevitz, Ostrovsky, Sahai, "Cryptography from Anonymity" (FOCS 2006).
    Bits {
        /// n: tags, each with one message of each end.
        positions: u16,
        /// k: positions that must differ, at least. All that differ enter the key.
        bits: u16,
    },
    /// Many random cards on one tag; whose each is makes the key.
    ///
    /// The bag shows 2t cards, and every choice of t of them as the low seat's is equally likely to
    /// everybody but the two ends. Nothing is left out, so far fewer messages do. In the tradition
    /// of Fischer, Wright, "Multiparty Secret Key Exchange Using a Random Deal of Cards" (CRYPTO
    /// 1991).
    Cards {
        /// t: cards of each end.
        cards: u16,
    },
}

impl Method {
    /// The fewest positions that yield `bits` bits, but with probability at most `2^-failure`.
    ///
    /// ```
    /// use throng_rounds::Method;
    ///
    /// // Three positions for each bit, as often printed, fail with probability 2⁻³⁵·⁹⁵.
    /// let printed = Method::Bits { positions: 384, bits: 128 };
    /// assert!(printed.failure() > 2_f64.powi(-36));
    /// assert_eq!(Method::bits(128, 40)?, Method::Bits { positions: 394, bits: 128 });
    /// # Ok::<(), throng_rounds::Error>(())
    /// ```
    pub fn bits(bits: u16, failure: u16) -> Result<Self, Error> {
        if bits == 0 {
            return Err(Error::parameter("bits", "at least 1"));
        }
        let counts: Vec<u16> = (bits..=MAX_MESSAGES).collect();
        let often = |&n: &u16| match n.checked_sub(failure) {
            Some(free) => !below(n, bits).at_most_power(u64::from(free)),
            None => true,
        };
        match counts.get(counts.partition_point(often)) {
            Some(&positions) => Ok(Self::Bits { positions, bits }),
            None => Err(Error::parameter(
                "bits",
                format!("fewer, or the failure more likely, to do with {MAX_MESSAGES} positions"),
            )),
        }
    }

    /// The fewest cards of which the outsiders' uncertainty is at least `bits` bits.
    ///
    /// ```
    /// use throng_rounds::Method;
    ///
    /// // 20 ways to say which three of six are the low seat's.
    /// assert_eq!(Method::cards(4)?, Method::Cards { cards: 3 });
    /// # Ok::<(), throng_rounds::Error>(())
    /// ```
    pub fn cards(bits: u16) -> Result<Self, Error> {
        if bits == 0 {
            return Err(Error::parameter("bits", "at least 1"));
        }
        let enough = |(_, ways): &(u16, Natural)| ways.bits() > u64::from(bits);
        match hands().take_while(|(t, _)| 2 * t <= MAX_MESSAGES).find(enough) {
            Some((cards, _)) => Ok(Self::Cards { cards }),
            None => {
                Err(Error::parameter("bits", format!("what {} cards can hold", MAX_MESSAGES / 2)))
            }
        }
    }

    /// Messages of each end.
    pub fn messages(self) -> usize {
        match self {
            Self::Bits { positions, .. } => usize::from(positions),
            Self::Cards { cards } => usize::from(cards),
        }
    }

    /// Bits of min-entropy of what the key is made from, for everybody but the two ends, given that
    /// they agree: a lower bound.
    ///
    /// ```text
    /// Bits    k, for each differing position is a fair coin, independent of all that is seen
    /// Cards   log₂ C(2t, t), for each of the C(2t, t) hands is equally likely; rounded down
    /// ```
    ///
    /// Valid against everybody else together, including the analyzer and all mixes but one.
    pub fn entropy_bits(self) -> f64 {
        match self {
            Self::Bits { bits, .. } => f64::from(bits),
            Self::Cards { cards } => {
                hands().take(cards.into()).last().map_or(0.0, |(_, ways)| ways.log2_below())
            }
        }
    }

    /// The probability that two who follow the protocol, and lose no message, have to try again: an
    /// upper bound.
    ///
    /// ```text
    /// Bits    P[Bin(n, ½) < k], exact, rounded up; at least 2⁻¹⁰²²
    /// Cards   C(2t, 2)/2⁶⁴, two of the cards being equal
    /// ```
    pub fn failure(self) -> f64 {
        match self {
            Self::Bits { positions, bits } => below(positions, bits).over_power(positions.into()),
            Self::Cards { cards } => {
                let t = f64::from(cards);
                (t * (2.0 * t - 1.0) * CARD).clamp(0.0, 1.0)
            }
        }
    }

    /// Refuses what no round would carry, or nobody could agree by.
    pub(crate) fn sensible(self) -> Result<Self, Error> {
        match self {
            Self::Bits { positions, bits } if bits == 0 || bits > positions => {
                Err(Error::parameter("bits", "from 1 to the number of positions"))
            }
            Self::Bits { positions, .. } if positions > MAX_MESSAGES => {
                Err(Error::parameter("positions", format!("at most {MAX_MESSAGES}")))
            }
            Self::Cards { cards } if cards == 0 || cards > MAX_MESSAGES / 2 => {
                Err(Error::parameter("cards", format!("from 1 to {}", MAX_MESSAGES / 2)))
            }
            fine => Ok(fine),
        }
    }

    /// The bytes that enter a hash.
    pub(crate) fn to_bytes(self) -> [u8; 5] {
        let (kind, one, two) = match self {
            Self::Bits { positions, bits } => (1, positions, bits),
            Self::Cards { cards } => (2, cards, 0),
        };
        let ([a, b], [c, d]) = (one.to_be_bytes(), two.to_be_bytes());
        [kind, a, b, c, d]
    }
}

/// `Σ_{i<k} C(n, i)`: of 2ⁿ equally likely outcomes of n coins, those with fewer than k heads.
fn below(n: u16, k: u16) -> Natural {
    let (mut sum, mut ways) = (Natural::from(0), Natural::from(1));
    for i in 0..u64::from(k).min(u64::from(n) + 1) {
        sum.add(&ways);
        ways.multiply(u64::from(n) - i);
        ways.divide_exactly(i + 1);
    }
    sum
}

/// `(t, C(2t, t))` for t = 1, 2, …, by `C(2t, t) = C(2t−2, t−1)·2(2t−1)/t`.
fn hands() -> impl Iterator<Item = (u16, Natural)> {
    (1..=u16::MAX).scan(Natural::from(1), |ways, t| {
        ways.multiply(2 * (2 * u64::from(t) - 1));
        ways.divide_exactly(u64::from(t));
        Some((t, ways.clone()))
    })
}

/// A natural number: 64 bits each, the least first, the last not zero.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Natural(Vec<u64>);

impl Natural {
    fn from(value: u64) -> Self {
        Self(if value == 0 { vec![] } else { vec![value] })
    }

    fn add(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()) + 1, 0);
        let mut carry = false;
        for (limb, more) in self.0.iter_mut().zip(other.0.iter().chain(std::iter::repeat(&0))) {
            (*limb, carry) = limb.carrying_add(*more, carry);
        }
        self.trim();
    }

    fn multiply(&mut self, factor: u64) {
        let mut carry = 0;
        for limb in &mut self.0 {
            (*limb, carry) = limb.carrying_mul(factor, carry);
        }
        self.0.push(carry);
        self.trim();
    }

    /// Divides by a divisor of it that is not zero.
    fn divide_exactly(&mut self, divisor: u64) {
        let mut rest = 0;
        for limb in self.0.iter_mut().rev() {
            let part = (u128::from(rest) << 64) | u128::from(*limb);
            *limb = (part / u128::from(divisor)) as u64;
            rest = (part % u128::from(divisor)) as u64;
        }
        debug_assert_eq!(rest, 0);
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// The least b with `self < 2^b`.
    fn bits(&self) -> u64 {
        let last = self.0.last().map_or(0, |limb| u64::from(limb.leading_zeros()));
        64 * self.0.len() as u64 - last
    }

    /// True if `self ≤ 2^power`.
    fn at_most_power(&self, power: u64) -> bool {
        let ones: u32 = self.0.iter().map(|limb| limb.count_ones()).sum();
        self.bits() <= power || (self.bits() == power + 1 && ones == 1)
    }

    /// The first 53 bits, how many follow them, and whether any of those is set.
    fn leading(&self) -> (u64, u64, bool) {
        let dropped = self.bits().saturating_sub(53);
        let (limbs, shift) = ((dropped / 64) as usize, dropped % 64);
        let at = |place: usize| self.0.get(place).copied().unwrap_or(0);
        let pair = u128::from(at(limbs)) | (u128::from(at(limbs + 1)) << 64);
        let lost = at(limbs) & ((1 << shift) - 1);
        let inexact = lost != 0 || self.0.iter().take(limbs).any(|&limb| limb != 0);
        ((pair >> shift) as u64, dropped, inexact)
    }

    /// log₂ of it, rounded down: cutting digits lowers it, and the slack is far above the error of
    /// a logarithm of 53 bits.
    fn log2_below(&self) -> f64 {
        let (leading, dropped, _) = self.leading();
        let value = dropped as f64 + (leading as f64).log2();
        round::down_by(value, 1e-12).max(0.0)
    }

    /// `self/2^power` rounded up, at least the smallest normal float, and 0 if it is 0.
    fn over_power(&self, power: u64) -> f64 {
        let (leading, dropped, inexact) = self.leading();
        if leading == 0 {
            return 0.0;
        }
        let exponent = dropped as i64 - power as i64;
        // Both are exact: at most 2⁵³, and a power of two with a normal product.
        let leading = (leading + u64::from(inexact)) as f64;
        if exponent < -1022 { f64::MIN_POSITIVE } else { leading * power_of_two(exponent) }
    }
}

/// A power of two, for exponents from −1022 to 1023.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// More messages of one end than this no round carries for one pair.
const MAX_MESSAGES: u16 = 4096;
/// The probability of one card, 2⁻⁶⁴.
const CARD: f64 = 1.0 / 18446744073709551616.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn log2_failure(positions: u16, bits: u16) -> f64 {
        Method::Bits { positions, bits }.failure().log2()
    }

    // Computed with exact integers and 40 digits by an independent program.
    #[test]
    fn the_failures_are_those_of_the_table() {
        let table = [
            (64, 192, -19.80468335026237),
            (128, 384, -35.95162379279862),
            (256, 768, -67.80457243308302),
            (128, 394, -40.30721947233913),
            (128, 444, -64.43523727703888),
            (128, 474, -80.5055276260531),
            (128, 555, -128.4697202996093),
            (256, 696, -40.0645239801618),
            (256, 759, -64.05290825827676),
            (256, 797, -80.38827621904714),
            (256, 896, -128.3248453656256),
        ];
        for (bits, positions, log2) in table {
            assert!((log2_failure(positions, bits) - log2).abs() < 1e-12, "{bits} {positions}");
        }
        let printed = Method::Bits { positions: 384, bits: 128 }.failure();
        assert!((printed / 1.5048140780711837e-11 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_fewest_positions_are_those_of_the_table() {
        let table = [
            (128, [(40, 394), (64, 444), (80, 474), (128, 555)]),
            (256, [(40, 696), (64, 759), (80, 797), (128, 896)]),
        ];
        for (bits, row) in table {
            for (failure, positions) in row {
                assert_eq!(Method::bits(bits, failure), Ok(Method::Bits { positions, bits }));
                let limit = -f64::from(failure);
                assert!(log2_failure(positions, bits) <= limit);
                assert!(log2_failure(positions - 1, bits) > limit);
            }
        }
    }

    // No head in n throws: 2⁻ⁿ to the last digit, on both sides of equality.
    #[test]
    fn one_bit_needs_as_many_positions_as_the_exponent_says() {
        for failure in [1, 2, 53, 64, 1000, 4096] {
            assert_eq!(Method::bits(1, failure), Ok(Method::Bits { positions: failure, bits: 1 }));
        }
        assert_eq!(Method::Bits { positions: 60, bits: 1 }.failure(), 2_f64.powi(-60));
        assert_eq!(Method::Bits { positions: 4096, bits: 1 }.failure(), f64::MIN_POSITIVE);
        assert!(Method::bits(1, 4097).is_err());
        assert!(Method::bits(0, 10).is_err());
        assert!(Method::bits(4000, 128).is_err());
    }

    #[test]
    fn failures_are_the_counted_ones_for_every_small_setting() {
        for n in 0_u16..=16 {
            for k in 0..=n + 2 {
                let few = (0_u32..1 << n).filter(|word| word.count_ones() < u32::from(k)).count();
                let counted = few as f64 / f64::from(1_u32 << n);
                assert_eq!(Method::Bits { positions: n, bits: k }.failure(), counted, "{n} {k}");
            }
        }
    }

    // C(2t, t) as a product of primes needs no division: the power of p in it is, by Kummer, the
    // number of carries when t is added to itself in base p.
    #[test]
    fn hands_are_counted_as_kummer_counts_them() {
        for (t, ways) in hands().take(300) {
            let mut product = Natural::from(1);
            for prime in (2..=2 * u64::from(t)).filter(|&p| (2..p).all(|q| p % q != 0)) {
                let (mut rest, mut carry) = (u64::from(t), 0);
                while rest > 0 || carry > 0 {
                    carry = u64::from(2 * (rest % prime) + carry >= prime);
                    rest /= prime;
                    product.multiply(if carry == 1 { prime } else { 1 });
                }
            }
            assert_eq!(ways, product, "{t}");
        }
    }

    #[test]
    fn the_fewest_cards_hold_the_bits() {
        let table = [
            (1, 1),
            (2, 2),
            (8, 6),
            (64, 34),
            (80, 42),
            (128, 66),
            (192, 99),
            (256, 131),
            (512, 259),
        ];
        for (bits, cards) in table {
            assert_eq!(Method::cards(bits), Ok(Method::Cards { cards }));
            assert!(Method::Cards { cards: cards - 1 }.entropy_bits() < f64::from(bits));
        }
        let entropy = Method::Cards { cards: 66 }.entropy_bits();
        assert!(entropy < 128.1493225247476 && entropy > 128.149322524);
        let failure = Method::Cards { cards: 66 }.failure();
        assert!((failure.log2() + 50.9221828791041).abs() < 1e-12);
        assert!(Method::cards(0).is_err());
        assert!(Method::cards(4089).is_ok());
        assert!(Method::cards(4090).is_err());
    }

    #[test]
    fn what_nobody_could_agree_by_is_refused() {
        let fine = [Method::Bits { positions: 4096, bits: 4096 }, Method::Cards { cards: 2048 }];
        assert!(fine.into_iter().all(|method| method.sensible().is_ok()));
        let refused = [
            Method::Bits { positions: 4097, bits: 1 },
            Method::Bits { positions: 4, bits: 5 },
            Method::Bits { positions: 4, bits: 0 },
            Method::Cards { cards: 0 },
            Method::Cards { cards: 2049 },
        ];
        assert!(refused.into_iter().all(|method| method.sensible().is_err()));
    }
}
