//! `randomized-response` and `bit-sum`: one bit, flipped now and then (Warner 1965; Cheu et al.,
//! "Distributed Differential Privacy via Shuffling", 2019, Algorithm 1).
//!
//! The two keys are one mechanism. `randomized-response` chooses the flip from a local ε₀,
//! `bit-sum` from what a shuffled crowd is promised; both have a local floor and a crowd's
//! guarantee.
//!
//! ```text
//! client     y = x, flipped with probability b
//! analyzer   (Σy − nb)/(1 − 2b)            standard error √(n·b(1−b))/(1 − 2b), for every dataset
//! ```

use crate::histograms::rates::Rates;
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, Parameters, Protocol, Question, Scene,
    Score, Setting, Tally, Trace, Value, first_cell, require, sample, sum_up_to, within_floor,
};
use rand_core::CryptoRng;
use throng_account::profile::BitSum;
use throng_account::{Crowd, Epsilon, Probability, Profile, Threshold, calibrate, round};

/// One message: the bit, flipped with the probability of a coin below ½.
///
/// ```
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{BinaryResponse, Protocol, Tally};
///
/// // One answer in four is flipped: a yes is three times as likely to come from a yes.
/// let response = BinaryResponse::new(Threshold::new(1 << 62)?)?;
/// assert_eq!(response.law(&true)[&vec![1]], 0.75);
/// assert_eq!(response.law(&false)[&vec![1]], 0.25);
///
/// // 40 of 100 say yes; 25 would if nobody held it, and 75 if everybody did.
/// let mut tally = Tally::new(&response);
/// tally.absorb(&response, &[[1; 40].as_slice(), &[0; 60]].concat());
/// let estimate = response.estimate(&tally, Probability::new("confidence", 0.95)?)[0];
/// assert_eq!(estimate.value, 30.0);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryResponse {
    flip: Threshold,
}

impl BinaryResponse {
    /// The coin must be below ½, or nothing is left of the bit.
    pub fn new(flip: Threshold) -> Result<Self, Error> {
        require(flip.get() < 1 << 63, "flip", "below one half")?;
        Ok(Self { flip })
    }

    /// The least flip that keeps a local ε₀: `b ≥ 1/(e^ε₀ + 1)`.
    pub fn local(epsilon: Epsilon) -> Result<Self, Error> {
        // The guarantee is computed from the coin, so an ulp here costs an ulp of ε₀, not privacy.
        let flip = Probability::new("flip", 1.0 / (epsilon.get().exp() + 1.0))?;
        Self::new(Threshold::at_least(flip))
    }

    /// The coin.
    pub fn flip(&self) -> Threshold {
        self.flip
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "Binary response with a known local epsilon, shuffled: exact over all datasets",
        example: "--n 1e4 --epsilon0 2 --delta 1e-6",
        settings: &[Setting::SizeOrTwo("Categories"), Setting::Local(&["flip"])],
        profile: |settings, crowd| Ok(Box::new(BitSum::from_local(crowd, settings.local()?)?)),
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.noise("flip")?)
    }

    /// The least flip that keeps the promise.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        Self::new(calibrate::bit_sum(ask.crowd, ask.epsilon, ask.delta)?.coin)
    }
}

impl Protocol for BinaryResponse {
    type Input = bool;

    fn encode(&self, bit: &bool, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        report.push(u64::from(*bit ^ sample::coin(self.flip, rng)));
        Ok(())
    }

    fn law(&self, input: &bool) -> Law {
        let b = self.flip.probability();
        [(vec![u64::from(*input)], 1.0 - b), (vec![u64::from(!*input)], b)].into()
    }

    fn cells(&self) -> usize {
        1
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        sum_up_to(1, messages, cells)
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let b = self.flip.probability();
        let rates = Rates { held: 1.0 - b, other: b, gap: 1.0 - 2.0 * b };
        vec![rates.estimate(tally.cells()[0] as f64, tally.n(), confidence)]
    }
}

impl Claims for BinaryResponse {
    fn question(&self) -> Question {
        Question::Bit
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Ok(Box::new(BitSum::with_flip(crowd, self.flip.probability())?))
    }

    fn local_floor(&self) -> Option<Epsilon> {
        floor_of_bits(self.flip, 1)
    }

    fn standard_error(&self, reports: f64) -> f64 {
        let b = self.flip.probability();
        (reports * b * (1.0 - b)).sqrt() / (1.0 - 2.0 * b)
    }

    fn influence(&self) -> f64 {
        influence_of_bit(self.flip)
    }

    fn message_bits(&self) -> u32 {
        1
    }

    fn parameters(&self) -> Parameters {
        vec![("flip", vec![self.flip.get()])]
    }

    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        Some(Self { flip: flip_of_floor(floor, 1)? }.parameters())
    }

    fn score(&self, _: &Scene) -> Result<Option<Score>, Error> {
        Ok(Some(first_cell()))
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        Some(Trace::other_than(value.bit().ok()?.into(), self.flip.probability()))
    }
}

/// ε₀ of `bits` bits, each flipped by this coin: `bits·ln((1−b)/b)`, with its digits where b is
/// close to ½, rounded outward like every claim.
pub(crate) fn floor_of_bits(flip: Threshold, bits: u32) -> Option<Epsilon> {
    let b = flip.probability();
    Epsilon::new(round::up(((1.0 - 2.0 * b) / b).ln_1p() * f64::from(bits))).ok()
}

/// The coin with which `bits` flipped bits have a local ε₀ of exactly `floor`.
pub(crate) fn flip_of_floor(floor: Epsilon, bits: u32) -> Option<Threshold> {
    let each = within_floor(Epsilon::new(floor.get() / f64::from(bits)).ok()?)?;
    Some(BinaryResponse::local(each).ok()?.flip)
}

/// The distance that one flipped bit moves the count.
pub(crate) fn influence_of_bit(flip: Threshold) -> f64 {
    1.0 / (1.0 - 2.0 * flip.probability())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_inverse, assert_local, assert_sampled, assert_view};

    fn response(flip: f64) -> BinaryResponse {
        let flip = Probability::new("flip", flip).unwrap();
        BinaryResponse::new(Threshold::at_least(flip)).unwrap()
    }

    #[test]
    fn the_claim_bounds_every_likelihood_ratio() {
        for epsilon in [0.1, 1.0, 4.0] {
            let local = Epsilon::new(epsilon).unwrap();
            assert_local(&BinaryResponse::local(local).unwrap(), &[&false, &true], local);
        }
        for flip in [0.05, 0.25] {
            let crowd = BitSum::with_flip(Crowd::new(4).unwrap(), flip).unwrap();
            assert_view(&response(flip), &[&false, &true], 4, &crowd);
        }
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for flip in [0.001, 0.2, 0.49] {
            for input in [false, true] {
                assert_sampled(&response(flip), &input);
            }
        }
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for flip in [0.001, 0.2, 0.49] {
            assert_inverse(&response(flip), &false, &[0.0]);
            assert_inverse(&response(flip), &true, &[1.0]);
        }
    }

    // Cheu et al., section 2.1, and the lecture's (9.5) subtract p/2 where np/2 is meant: with
    // n = 1000 and p = 0.1 the printed sum is 55.5 too large.
    #[test]
    fn the_printed_estimator_fails_by_the_predicted_amount() {
        let (n, p, ones) = (1000.0_f64, 0.1, 300.0);
        let expected = (1.0 - p) * ones + n * p / 2.0;
        let printed = (expected - p / 2.0) / (1.0 - p);
        assert!((printed - ones - 55.5).abs() < 0.01);
        let ours = (expected - n * response(p / 2.0).flip().probability()) / (1.0 - p);
        assert!((ours - ones).abs() < 1e-9);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(BinaryResponse::local(Epsilon::new(0.0).unwrap()).is_err());
        let mut tally = Tally::new(&response(0.2));
        tally.absorb(&response(0.2), &[0, 1, 2, 1]);
        assert_eq!((tally.reports(), tally.malformed(), tally.cells()[0]), (3, 1, 2));
    }
}
