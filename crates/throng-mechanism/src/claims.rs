//! The claims of a mechanism: its privacy in a crowd and without one, its error and cost, how far
//! one liar moves the result, and how the losses of several epochs add up.

use crate::{
    DecodeOptions, Decoded, Error, Estimate, Protocol, Question, Scene, Score, TWO_64, Tally,
    Trace, Value, Winner,
};
use throng_account::tail::normal_reach;
use throng_account::{Crowd, Delta, Epsilon, Probability, Profile, Threshold};

/// The second half of a mechanism, beside its [`Protocol`]: all that is said about it.
///
/// # Contract
/// `profile` bounds δ(ε) of the shuffled bag from both sides, over all datasets; `local_floor`
/// bounds the likelihood ratios of one report. `standard_error` is what
/// [`Protocol::estimate`] claims, for the worst dataset or on average over cells.
/// `parameters` make the same mechanism again. The audit (`throng audit`, `tests/audited.rs`) holds
/// the claims against the real encoder.
///
/// ```
/// use throng_account::Threshold;
/// use throng_mechanism::{BinaryResponse, Claims};
///
/// // One answer in four is flipped: a liar weighs as much as two, and 1200 reports are off by 30.
/// let response = BinaryResponse::new(Threshold::new(1 << 62)?)?;
/// assert_eq!((response.influence(), response.message_bits()), (2.0, 1));
/// assert!((response.standard_error(1200.0) - 30.0).abs() < 1e-9);
/// assert!((response.local_floor().unwrap().get() - 3_f64.ln()).abs() < 1e-8);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[allow(unused_variables)] // Defaults do without what they are given.
pub trait Claims: Protocol {
    /// The question it answers.
    fn question(&self) -> Question;

    /// The privacy profile among `crowd` honest users, against whoever sees the shuffled bag.
    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error>;

    /// An upper bound on the profile for whoever looks at δ near this one, where that takes less
    /// work.
    fn profile_near(&self, crowd: Crowd, delta: Delta) -> Result<Box<dyn Profile>, Error> {
        self.profile(crowd)
    }

    /// ε of one user's report by itself, should every mix collude with the analyzer; `None` where
    /// the report shows the value.
    fn local_floor(&self) -> Option<Epsilon> {
        None
    }

    /// Standard error among `reports` users: of the count, of the sum of unit values, or the root
    /// mean square over all categories, attributes or periods.
    fn standard_error(&self, reports: f64) -> f64;

    /// Standard error of a cell that one user in ten holds, where that differs from the mean cell.
    fn heavy_error(&self, reports: f64) -> f64 {
        self.standard_error(reports)
    }

    /// Half the width of the interval to be expected among `reports` users.
    fn half_width(&self, reports: f64, confidence: Probability) -> f64 {
        normal_reach(confidence) * self.standard_error(reports)
    }

    /// The distance that one user who sends whatever they like moves a single estimate, between the
    /// two reports that pull it furthest apart, with as many messages as everyone sends.
    ///
    /// An honest user moves a count or a sum of unit values by 1.
    fn influence(&self) -> f64;

    /// Bits that tell one message from another: those of a cell's number, unless messages are
    /// something else ([`Protocol::absorb_batch`]).
    fn message_bits(&self) -> u32 {
        bits_of(self.cells() as u64)
    }

    /// All that is needed to make the same mechanism again.
    fn parameters(&self) -> Parameters;

    /// Names of the parameters that are no integers but floats, bit by bit.
    fn floats(&self) -> &'static [&'static str] {
        &[]
    }

    /// The parameters with a local ε₀ of exactly `floor`, which hides more in a crowd than one with
    /// a larger ε₀; `None` where a report shows the value.
    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        None
    }

    /// A score that tells the two worlds of an audit apart; `None` for a linear one whose weights
    /// are estimated from pilot reports.
    fn score(&self, scene: &Scene) -> Result<Option<Score>, Error> {
        Ok(None)
    }

    /// The trace of noise in a report on this value, with its exact probability; `None` where no
    /// simple event of one report has one.
    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        None
    }

    /// The way the losses of several epochs add up.
    fn spending(&self) -> Spending {
        Spending::PerEpoch
    }

    /// ε of this many reports of one user on one value, without a crowd, where a memory ties them
    /// together.
    fn memoized(&self, reports: u64) -> Option<Epsilon> {
        None
    }

    /// The epochs that one report is spread over, a message in each; `None` where every epoch has a
    /// whole report of its own.
    fn epochs(&self) -> Option<u64> {
        None
    }

    /// The message that the analyzer reads in a word sent in an epoch. A word that no client sends
    /// stays one.
    fn in_epoch(&self, word: u64, epoch: u64) -> u64 {
        word
    }

    /// True if the estimate at a place has all it is made of when these epochs were counted.
    fn is_complete(&self, place: usize, epochs: &[u64]) -> bool {
        true
    }

    /// Counts of the candidates that stand out, where the estimates are about bits of their hashes.
    fn decode(
        &self,
        tally: &Tally,
        candidates: &[&str],
        options: &DecodeOptions,
    ) -> Option<Vec<Decoded>> {
        None
    }

    /// The column that is the commonest, where that is what was asked.
    fn winner(&self, estimates: &[Estimate], confidence: Probability) -> Option<Winner> {
        None
    }
}

/// The way the losses of several epochs add up.
///
/// ```
/// use throng_account::{Epsilon, Threshold};
/// use throng_mechanism::{BinaryResponse, Claims, Longitudinal, Spending};
///
/// let response = BinaryResponse::new(Threshold::new(1 << 62)?)?;
/// let followed = Longitudinal::local(8, 1, Epsilon::new(1.0)?)?;
/// assert_eq!(response.spending(), Spending::PerEpoch);
/// assert_eq!(followed.spending(), Spending::Lifetime);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// Every epoch draws its randomness anew: releases compose.
    PerEpoch,
    /// One profile covers all that a client ever sends, provided that the same crowd reports in
    /// every period and that values do not react to what was released: charged once
    /// (`longitudinal`).
    Lifetime,
    /// Reports of one person hang together through what its client remembers, so nothing is claimed
    /// of the crowd for all of them together, only what they keep by themselves, for one string
    /// that is never changed: charged once, with δ = 0 (`rappor` in several epochs).
    Memoized,
}

/// Named lists of integers. A probability is an integer out of 2⁶⁴.
pub type Parameters = Vec<(&'static str, Vec<u64>)>;

/// Parameters found by name, of which a mechanism is made.
///
/// A coin of noise is read by [`Self::noise`], its complement by [`Self::truth`], a catalogue by
/// [`Self::weights`], and anything else that noise depends on is changed by `weaken`: so an audit
/// can make the noise of any mechanism rarer, and see that it notices.
pub(crate) struct Given<'f, 'a> {
    pub find: &'f dyn Fn(&str) -> Option<&'a [u64]>,
    /// The factor by which noise is made rarer than the parameters say, if it is.
    pub weaken: Option<f64>,
}

impl<'a> Given<'_, 'a> {
    pub fn list(&self, name: &'static str) -> Result<&'a [u64], Error> {
        (self.find)(name).ok_or(Error::Parameter { name, range: "given as a list of integers" })
    }

    pub fn number(&self, name: &'static str) -> Result<u64, Error> {
        match self.list(name)? {
            [value] => Ok(*value),
            _ => Err(Error::Parameter { name, range: "one integer" }),
        }
    }

    pub fn pair(&self, name: &'static str) -> Result<[u64; 2], Error> {
        let list = self.list(name)?;
        list.try_into().map_err(|_| Error::Parameter { name, range: "two integers" })
    }

    pub fn small(&self, name: &'static str) -> Result<u32, Error> {
        let range = "below 2^32";
        u32::try_from(self.number(name)?).map_err(|_| Error::Parameter { name, range })
    }

    /// The coin of noise.
    pub fn noise(&self, name: &'static str) -> Result<Threshold, Error> {
        Ok(Threshold::new(self.rarer(self.number(name)?))?)
    }

    /// The coin of a truth, whose complement is the noise.
    pub fn truth(&self, name: &'static str) -> Result<Threshold, Error> {
        Ok(Threshold::new(self.surer(self.number(name)?))?)
    }

    /// The weights of a catalogue of noise.
    pub fn weights(&self, name: &'static str) -> Result<Vec<u64>, Error> {
        Ok(self.list(name)?.iter().map(|&weight| self.rarer(weight)).collect())
    }

    /// The weight of noise: at most 53 significant bits when weakened, like thresholds.
    pub fn rarer(&self, weight: u64) -> u64 {
        self.weaken.map_or(weight, |factor| (weight as f64 / factor) as u64)
    }

    /// The weight of a truth, whose complement is the noise.
    pub fn surer(&self, weight: u64) -> u64 {
        let complement = TWO_64 - weight as f64;
        self.weaken.map_or(weight, |factor| (TWO_64 - complement / factor) as u64)
    }
}

/// The number of bits that tell `symbols` symbols apart.
pub(crate) fn bits_of(symbols: u64) -> u32 {
    u64::BITS - (symbols - 1).leading_zeros()
}

/// An ε₀ that is within `floor` after rounding outward.
pub(crate) fn within_floor(floor: Epsilon) -> Option<Epsilon> {
    Epsilon::new(floor.get() * (1.0 - 1e-8)).ok()
}
