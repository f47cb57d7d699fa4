//! The parts of a mechanism: a client's half, an analyzer's half, and the exact law between them.

use crate::{Error, Estimate};
use rand_core::CryptoRng;
use std::collections::BTreeMap;
use throng_account::Probability;

/// A mechanism: how one user's value becomes a report, and how a bag of messages becomes estimates.
///
/// # Contract
/// `encode` draws a report from `law(input)`, whatever is in it appended as `messages()` messages
/// of `words()` words each. `estimate` depends on the bag through the cells that `absorb_batch`
/// counts, so the order of messages does not matter and bags can be counted apart and added up.
/// Over reports drawn from `law`, each estimated value has the truth as its mean, and a standard
/// deviation of at most its standard error on average.
///
/// All but `encode` and `law` can be asked of any mechanism, whatever its input.
///
/// ```
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{BinaryResponse, Protocol, Tally, TwoMessageCount};
///
/// /// The mean of the estimate from one report, over everything that `encode` may draw.
/// fn mean<P: Protocol<Input = bool>>(protocol: &P, bit: bool, confidence: Probability) -> f64 {
///     let estimated = |report: &[u64]| {
///         let mut tally = Tally::new(protocol);
///         tally.absorb(protocol, report);
///         protocol.estimate(&tally, confidence)[0].value
///     };
///     protocol.law(&bit).iter().map(|(report, chance)| chance * estimated(report)).sum()
/// }
///
/// let (coin, confidence) = (Threshold::new(1 << 62)?, Probability::new("confidence", 0.95)?);
/// for bit in [false, true] {
///     let truth = f64::from(u8::from(bit));
///     assert_eq!(mean(&BinaryResponse::new(coin)?, bit, confidence), truth);
///     assert_eq!(mean(&TwoMessageCount::new(coin), bit, confidence), truth);
/// }
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
pub trait Protocol {
    /// The value that one user holds.
    type Input: ?Sized
    where
        Self: Sized;

    /// Messages in every report.
    fn messages(&self) -> usize {
        1
    }

    /// 64-bit words in every message.
    fn words(&self) -> usize {
        1
    }

    /// Randomizes one value and appends the report. Nothing is appended when the value is refused.
    fn encode(
        &self,
        input: &Self::Input,
        rng: &mut impl CryptoRng,
        report: &mut Bag,
    ) -> Result<(), Error>
    where
        Self: Sized;

    /// The exact law of a report as a bag: its messages in ascending order, and their probability.
    /// Exponential in the number of messages; meant for enumerating small cases.
    fn law(&self, input: &Self::Input) -> Law
    where
        Self: Sized;

    /// The number of counters that the analyzer needs.
    fn cells(&self) -> usize;

    /// Counts many messages and returns how many of them were malformed, which are left out.
    ///
    /// Unless said otherwise, a message is one word: the number of the cell that counts it.
    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        let mut malformed = 0;
        for &symbol in messages {
            match usize::try_from(symbol).ok().and_then(|cell| cells.get_mut(cell)) {
                Some(count) => *count += 1,
                None => malformed += 1,
            }
        }
        malformed
    }

    /// The answers to the question, each with its standard error and an interval of this
    /// confidence.
    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate>;
}

/// Messages, word after word, as they lie in a report or in a bag.
pub(crate) type Bag = Vec<u64>;

/// Reports, each a sorted list of messages, with their probabilities.
pub type Law = BTreeMap<Vec<u64>, f64>;

/// The counts of a bag of messages. Tallies of parts add up to the tally of the whole.
///
/// ```
/// use throng_account::Threshold;
/// use throng_mechanism::{BinaryResponse, Tally};
///
/// let response = BinaryResponse::new(Threshold::new(1 << 62)?)?;
/// let mut whole = Tally::new(&response);
/// whole.absorb(&response, &[1, 0, 1, 9]);
/// // Nobody sends a 9.
/// assert_eq!((whole.reports(), whole.malformed(), whole.cells()), (3, 1, &[2][..]));
///
/// // Counted in parts, kept as numbers, and added up.
/// let mut parts = Tally::new(&response);
/// parts.absorb(&response, &[9, 1]);
/// let mut rest = Tally::new(&response);
/// rest.absorb(&response, &[0, 1]);
/// parts.add_words(&rest.to_words())?;
/// assert_eq!(parts, whole);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    messages: u64,
    malformed: u64,
    per_report: u64,
    cells: Vec<u64>,
}

impl Tally {
    /// An empty tally.
    pub fn new(protocol: &(impl Protocol + ?Sized)) -> Self {
        Self {
            messages: 0,
            malformed: 0,
            per_report: protocol.messages() as u64,
            cells: vec![0; protocol.cells()],
        }
    }

    /// Counts the messages of a batch. Those that no client sends are counted apart and left out.
    pub fn absorb(&mut self, protocol: &(impl Protocol + ?Sized), messages: &[u64]) {
        let malformed = protocol.absorb_batch(messages, &mut self.cells);
        self.malformed += malformed;
        self.messages += messages.len().div_ceil(protocol.words()) as u64 - malformed;
    }

    /// Adds a tally counted elsewhere, of the same protocol.
    pub fn merge(&mut self, other: &Self) {
        self.messages += other.messages;
        self.malformed += other.malformed;
        for (cell, more) in self.cells.iter_mut().zip(&other.cells) {
            *cell = cell.wrapping_add(*more);
        }
    }

    /// The counts as plain numbers, to be kept.
    pub fn to_words(&self) -> Vec<u64> {
        [&[self.messages, self.malformed], &self.cells[..]].concat()
    }

    /// Adds a tally that [`Tally::to_words`] gave for the same protocol.
    pub fn add_words(&mut self, words: &[u64]) -> Result<(), Error> {
        match words {
            [messages, malformed, cells @ ..] if cells.len() == self.cells.len() => {
                let (messages, malformed) = (*messages, *malformed);
                let per_report = self.per_report;
                self.merge(&Self { messages, malformed, per_report, cells: cells.to_vec() });
                Ok(())
            }
            _ => Err(Error::Malformed { expected: "a tally of this protocol" }),
        }
    }

    /// The number of reports that the well-formed messages make up, rounded to a whole number.
    pub fn reports(&self) -> u64 {
        (self.messages + self.per_report / 2) / self.per_report
    }

    /// The number of messages left out because no client would have sent them.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// The counters.
    pub fn cells(&self) -> &[u64] {
        &self.cells
    }

    /// Counts messages of one bit, `ones` of which are 1.
    pub(crate) fn count(&mut self, messages: u64, ones: u64) {
        self.messages += messages;
        self.cells[0] += ones;
    }

    /// The number of reports as a float, for estimators.
    pub(crate) fn n(&self) -> f64 {
        self.messages as f64 / self.per_report as f64
    }
}
