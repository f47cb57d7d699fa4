//! Numbers with a meaning: types that cannot hold nonsense.

use crate::Error;
use crate::error::require;
use crate::kernel::binomial::Binomial;
use crate::kernel::solve::smallest_whole;
use crate::round;

/// A privacy loss ε: finite and not negative.
///
/// ```
/// use throng_account::Epsilon;
///
/// assert_eq!(Epsilon::new(1.0)?.get(), 1.0);
/// assert!(Epsilon::ZERO < Epsilon::new(0.1)?);
/// assert!([-0.1, f64::NAN, f64::INFINITY].iter().all(|value| Epsilon::new(*value).is_err()));
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Epsilon(f64);

impl Epsilon {
    /// Perfect indistinguishability, up to δ.
    pub const ZERO: Self = Self(0.0);

    /// Refuses negative values, infinities and NaN.
    pub fn new(value: f64) -> Result<Self, Error> {
        let range = "a finite number, 0 or more";
        require(value >= 0.0 && value.is_finite(), "epsilon", value, range)?;
        Ok(Self(value))
    }

    /// The ε of a value that is finite and not negative by construction.
    pub(crate) fn at(value: f64) -> Self {
        debug_assert!(value >= 0.0 && value.is_finite(), "{value}");
        Self(value)
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A failure probability δ, strictly between 0 and 1.
///
/// ```
/// use throng_account::Delta;
///
/// assert_eq!(Delta::new(1e-6)?.get(), 1e-6);
/// assert!(Delta::new(0.0).is_err() && Delta::new(1.0).is_err());
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Delta(f64);

impl Delta {
    /// Refuses 0 (ask for the pure ε₀ of the mechanism instead), 1, and everything outside.
    pub fn new(value: f64) -> Result<Self, Error> {
        let holds = (1e-200..1.0).contains(&value);
        require(holds, "delta", value, "at least 1e-200 and below 1")?;
        Ok(Self(value))
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// The number of honest reports, the user's own included, that are shuffled together.
///
/// A guarantee is computed for this number and holds for every larger one, so it is always a lower
/// bound: [`Crowd::honest`] and [`Crowd::remaining`] derive it from what a deployment knows.
///
/// ```
/// use throng_account::{Crowd, Delta, Probability};
///
/// // A thousand reports, of which a tenth may be the adversary's.
/// assert_eq!(Crowd::honest(1_000, 0.1)?.get(), 900);
/// // Of a thousand users who join by a fair coin, 425 do, but for one time in a million.
/// let half = Probability::new("share", 0.5)?;
/// assert_eq!(Crowd::likely(1_000, half, Delta::new(1e-6)?)?.get(), 425);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crowd(u64);

impl Crowd {
    /// The largest crowd that the accountant reckons with.
    pub const LARGEST: Self = Self(10_000_000_000);

    /// A crowd of 1 to 10¹⁰ reports.
    pub fn new(reports: u64) -> Result<Self, Error> {
        let holds = (1..=Self::LARGEST.0).contains(&reports);
        require(holds, "crowd", reports as f64, "from 1 to 1e10 reports")?;
        Ok(Self(reports))
    }

    /// The honest part of `received` reports when at most the fraction `corrupt` of them was sent
    /// by, or is known to, the adversary.
    pub fn honest(received: u64, corrupt: f64) -> Result<Self, Error> {
        let holds = (0.0..1.0).contains(&corrupt);
        require(holds, "corrupt fraction", corrupt, "from 0 to below 1")?;
        // Corrupt reports are rounded up. A product that should be an integer may be off by an ulp.
        let lost = (received as f64 * corrupt * (1.0 - 1e-15)).ceil() as u64;
        Self::new(received.saturating_sub(lost))
    }

    /// The crowd left of `invited` users when at most the fraction `dropout` never reports: the
    /// robust shuffle model. The promise is computed for those, and holds for more.
    pub fn remaining(invited: u64, dropout: f64) -> Result<Self, Error> {
        Self::honest(invited, dropout)
    }

    /// A crowd that forms except with probability `failure`, when each of `users` joins it
    /// independently with probability `share`. The failure is part of δ and has to be added to it.
    pub fn likely(users: u64, share: Probability, failure: Delta) -> Result<Self, Error> {
        let users = Self::new(users)?.get();
        let law = Binomial::new(users, share.get());
        // The largest m with P[Bin < m] ≤ failure: one less than the smallest that has more.
        let fails = |m: u64| Ok::<_, Error>(round::up(law.lower(m - 1)) > failure.get());
        Self::new(smallest_whole(0, users + 1, u64::MAX, fails)? - 1)
    }

    /// The number itself.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A probability strictly between 0 and 1.
///
/// ```
/// use throng_account::Probability;
///
/// assert_eq!(Probability::new("share", 0.25)?.get(), 0.25);
/// let error = Probability::new("share", 1.0).unwrap_err();
/// assert_eq!(error.to_string(), "share = 1 is out of range: it must be strictly between 0 and 1");
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Refuses 0, 1, NaN and everything outside.
    pub fn new(name: &'static str, value: f64) -> Result<Self, Error> {
        require(value > 0.0 && value < 1.0, name, value, "strictly between 0 and 1")?;
        Ok(Self(value))
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A probability that a sampler draws exactly: an integer `threshold` out of 2⁶⁴, chosen so that
/// the quotient is also exactly an `f64`. A coin is `rng.next_u64() < threshold`.
///
/// ```
/// use throng_account::{Probability, Threshold};
///
/// assert_eq!(Threshold::new(1 << 62)?.probability(), 0.25);
/// let tenth = Threshold::at_least(Probability::new("flip", 0.1)?);
/// assert_eq!((tenth.get(), tenth.probability()), (1_844_674_407_370_955_264, 0.1));
/// // 54 significant bits.
/// assert!(Threshold::new((1 << 53) + 1).is_err());
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Threshold(u64);

impl Threshold {
    /// The probability of this integer, above 0 and with at most 53 significant bits.
    pub fn new(threshold: u64) -> Result<Self, Error> {
        // The cast back saturates, so 2⁶⁴ itself is not taken for its largest neighbour.
        let exact = threshold as f64 as u64 == threshold && threshold != u64::MAX;
        let range = "above 0, with at most 53 significant bits";
        require(threshold > 0 && exact, "threshold", threshold as f64, range)?;
        Ok(Self(threshold))
    }

    /// The smallest drawable probability that is at least `probability`.
    pub fn at_least(probability: Probability) -> Self {
        let scaled = probability.get() * TWO_64;
        // An `f64` at or above 2⁵³ is an integer already; the largest below 2⁶⁴ fits a `u64`.
        Self(scaled.ceil() as u64)
    }

    /// The integer to compare a uniform `u64` with.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The probability of the coin, without rounding.
    pub fn probability(self) -> f64 {
        self.0 as f64 / TWO_64
    }
}

/// A number known to lie between two others.
///
/// ```
/// use throng_account::profile::ClonePair;
/// use throng_account::{Band, Crowd, Epsilon, Profile};
///
/// let pair = ClonePair::strong(Crowd::new(1_000)?, Epsilon::new(1.0)?)?;
/// let Band { lower, upper } = pair.delta(Epsilon::new(0.1)?);
/// assert!(lower < upper && upper < lower * (1.0 + 1e-8));
/// // At ε₀ nothing is left.
/// assert_eq!(pair.delta(Epsilon::new(1.0)?), Band::ZERO);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// A value at or below the truth; 0 where nothing better is known.
    pub lower: f64,
    /// A value at or above the truth.
    pub upper: f64,
}

impl Band {
    /// The exact zero.
    pub const ZERO: Self = Self { lower: 0.0, upper: 0.0 };
}

/// 2⁶⁴, which weights and thresholds of samplers are out of.
pub(crate) const TWO_64: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_has_no_type() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Epsilon::new(bad).is_err(), "{bad}");
        }
        for bad in [0.0, 1.0, -0.5, f64::NAN, 1e-300] {
            assert!(Delta::new(bad).is_err(), "{bad}");
        }
        for bad in [0, 10_000_000_001] {
            assert!(Crowd::new(bad).is_err(), "{bad}");
        }
        for bad in [0.0, 1.0, f64::NAN] {
            assert!(Probability::new("p", bad).is_err(), "{bad}");
        }
        for bad in [0, u64::MAX, (1 << 60) + 1] {
            assert!(Threshold::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_partial_crowd_is_rounded_down() {
        assert_eq!(Crowd::honest(1000, 0.1).unwrap().get(), 900);
        assert_eq!(Crowd::honest(1001, 0.1).unwrap().get(), 900);
        assert_eq!(Crowd::remaining(10, 0.5).unwrap().get(), 5);
        assert!(Crowd::honest(10, 1.0).is_err() && Crowd::honest(1, 0.5).is_err());
    }

    #[test]
    fn a_likely_crowd_fails_as_seldom_as_promised_and_no_more() {
        let (share, failure) =
            (Probability::new("share", 0.25).unwrap(), Delta::new(1e-9).unwrap());
        let crowd = Crowd::likely(100_000, share, failure).unwrap().get();
        let law = Binomial::new(100_000, 0.25);
        assert!(law.lower(crowd - 1) <= 1e-9 && law.lower(crowd) > 1e-9 * (1.0 - 1e-8));
        // Too small for any crowd: even one report is not certain enough.
        assert!(Crowd::likely(3, share, failure).is_err());
    }

    #[test]
    fn a_threshold_is_exact_and_never_below_what_was_asked() {
        for p in [1e-30, 1e-9, 0.1, 1.0 / 3.0, 0.5, 1.0 - f64::EPSILON / 2.0] {
            let coin = Threshold::at_least(Probability::new("p", p).unwrap());
            assert!(coin.probability() >= p, "{p}");
            // A smaller integer would be below what was asked.
            assert!((coin.get() - 1) as f64 / TWO_64 < p || coin.get() > 1 << 53, "{p}");
            // The quotient loses nothing: scaling back gives the integer.
            assert_eq!((coin.probability() * TWO_64) as u64, coin.get(), "{p}");
            assert_eq!(Threshold::new(coin.get()), Ok(coin));
        }
    }
}
