//! `two-message-count`: the true bit, and separately a coin that is 1 with probability p (Stemmer,
//! lecture slides on the shuffle model).
//!
//! ```text
//! client     x, and y ~ Bernoulli(p)          two messages of one bit
//! analyzer   Σ − np                           standard error √(np(1−p)), for every dataset
//! ```
//!
//! The true bit travels in clear inside the bag: without an honest mix there is no guarantee at
//! all. The slides' rule for p is too small; the accountant calibrates it.

use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Law, Noise, Parameters, Protocol, Question, Scene,
    Score, Tally, Trace, Value, first_cell, sample, sum_up_to,
};
use rand_core::CryptoRng;
use throng_account::{Crowd, Probability, Profile, Threshold, calibrate};

/// The true bit and a noise bit.
///
/// ```
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{Protocol, Tally, TwoMessageCount};
///
/// let count = TwoMessageCount::new(Threshold::new(1 << 62)?);
/// assert_eq!(count.law(&true)[&vec![0, 1]], 0.75);
///
/// // 55 ones among the 200 messages of a hundred users, 25 of which are noise.
/// let mut tally = Tally::new(&count);
/// tally.absorb(&count, &[[1; 55].as_slice(), &[0; 145]].concat());
/// let estimate = count.estimate(&tally, Probability::new("confidence", 0.95)?)[0];
/// assert_eq!((tally.reports(), estimate.value), (100, 30.0));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoMessageCount {
    extra: Threshold,
}

impl TwoMessageCount {
    /// The mechanism with this coin, which sends the extra 1.
    pub fn new(extra: Threshold) -> Self {
        Self { extra }
    }

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Ok(Self::new(given.noise("extra")?))
    }

    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        Ok(Self::new(calibrate::two_message_count(ask.crowd, ask.epsilon, ask.delta)?.coin))
    }

    fn noise(self, reports: f64) -> Noise {
        Noise::new(reports, vec![(1, self.extra.probability())])
    }
}

impl Protocol for TwoMessageCount {
    type Input = bool;

    fn messages(&self) -> usize {
        2
    }

    fn encode(&self, bit: &bool, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        report.extend([u64::from(*bit), u64::from(sample::coin(self.extra, rng))]);
        Ok(())
    }

    fn law(&self, input: &bool) -> Law {
        let (x, p) = (u64::from(*input), self.extra.probability());
        [(vec![0, x], 1.0 - p), (vec![x, 1], p)].into()
    }

    fn cells(&self) -> usize {
        1
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        sum_up_to(1, messages, cells)
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let noise = self.noise(tally.n());
        let value = tally.cells()[0] as f64 - noise.mean();
        vec![Estimate::of_noise(value, &noise, 1.0, confidence)]
    }
}

impl Claims for TwoMessageCount {
    fn question(&self) -> Question {
        Question::Bit
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        let p = Probability::new("extra", self.extra.probability())?;
        Ok(Box::new(throng_account::profile::TwoMessageCount::new(crowd, p)))
    }

    fn standard_error(&self, reports: f64) -> f64 {
        self.noise(reports).deviation()
    }

    fn half_width(&self, reports: f64, confidence: Probability) -> f64 {
        self.noise(reports).reach(confidence)
    }

    fn influence(&self) -> f64 {
        2.0
    }

    fn message_bits(&self) -> u32 {
        1
    }

    fn parameters(&self) -> Parameters {
        vec![("extra", vec![self.extra.get()])]
    }

    fn score(&self, _: &Scene) -> Result<Option<Score>, Error> {
        Ok(Some(first_cell()))
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        value.bit().ok()?;
        Some(Trace::slots(1, self.extra.probability(), 1, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_inverse, assert_sampled, assert_view};

    fn count(p: f64) -> TwoMessageCount {
        TwoMessageCount::new(Threshold::at_least(Probability::new("p", p).unwrap()))
    }

    #[test]
    fn the_bag_shows_what_the_accountant_says() {
        for p in [0.1, 0.5, 0.8] {
            for crowd in [1, 2, 4] {
                let probability = Probability::new("p", p).unwrap();
                let profile = throng_account::profile::TwoMessageCount::new(
                    Crowd::new(crowd).unwrap(),
                    probability,
                );
                assert_view(&count(p), &[&false, &true], crowd as usize, &profile);
            }
        }
    }

    #[test]
    fn the_sampler_follows_the_law_and_the_analyzer_inverts_it() {
        for p in [0.01, 0.3, 0.9] {
            for input in [false, true] {
                assert_sampled(&count(p), &input);
                assert_inverse(&count(p), &input, &[f64::from(u8::from(input))]);
            }
        }
    }
}
