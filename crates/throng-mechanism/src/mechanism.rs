//! Every mechanism under its stable key.

use crate::{
    AdditiveHistogram, BinaryResponse, BurstCount, BurstHistogram, CoinCount, Error, Estimate,
    Histogram, KaryResponse, LaplaceMean, Longitudinal, Protocol, Rappor, Selection, SlicedSum,
    SplitAndMix, SubsetSelection, Tally, TwoMessageCount, UnarySum, Value, Values,
};
use rand_core::CryptoRng;
use throng_account::Probability;

/// The keys of collection files, of the command line and of JSON.
///
/// ```
/// use throng_mechanism::Key;
///
/// assert_eq!(Key::named("bit-sum"), Some(Key::BitSum));
/// assert!(Key::ALL.into_iter().all(|key| Key::named(key.name()) == Some(key)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // The names say it, and each mechanism's module says the rest.
pub enum Key {
    RandomizedResponse,
    KaryResponse,
    LaplaceMean,
    OneBitMean,
    Rappor,
    BitSum,
    TwoMessageCount,
    RealSum,
    Histogram,
    Selection,
    Longitudinal,
    CoinCount,
    BurstCount,
    AdditiveHistogram,
    BurstHistogram,
    SlicedSum,
    SplitAndMix,
    SubsetSelection,
}

impl Key {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::RandomizedResponse,
        Self::KaryResponse,
        Self::LaplaceMean,
        Self::OneBitMean,
        Self::Rappor,
        Self::BitSum,
        Self::TwoMessageCount,
        Self::RealSum,
        Self::Histogram,
        Self::Selection,
        Self::Longitudinal,
        Self::CoinCount,
        Self::BurstCount,
        Self::AdditiveHistogram,
        Self::BurstHistogram,
        Self::SlicedSum,
        Self::SplitAndMix,
        Self::SubsetSelection,
    ];

    /// As written in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::RandomizedResponse => "randomized-response",
            Self::KaryResponse => "kary-response",
            Self::LaplaceMean => "laplace-mean",
            Self::OneBitMean => "one-bit-mean",
            Self::Rappor => "rappor",
            Self::BitSum => "bit-sum",
            Self::TwoMessageCount => "two-message-count",
            Self::RealSum => "real-sum",
            Self::Histogram => "histogram",
            Self::Selection => "selection",
            Self::Longitudinal => "longitudinal",
            Self::CoinCount => "coin-count",
            Self::BurstCount => "burst-count",
            Self::AdditiveHistogram => "additive-histogram",
            Self::BurstHistogram => "burst-histogram",
            Self::SlicedSum => "sliced-sum",
            Self::SplitAndMix => "split-and-mix",
            Self::SubsetSelection => "subset-selection",
        }
    }

    /// The key of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A mechanism with its parameters: all a client needs to report and an analyzer to estimate.
///
/// ```
/// # use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// # let mut rng = ChaCha12Rng::seed_from_u64(1);
/// # use throng_account::{Crowd, Delta, Probability, Threshold};
/// use throng_mechanism::{BinaryResponse, Mechanism, Value};
///
/// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 60)?)?);
///
/// // A device's half.
/// let mut bag = Vec::new();
/// for user in 0..1_000 {
///     mechanism.encode(Value::Bit(user < 300), &mut rng, &mut bag)?;
/// }
/// // The analyzer's half.
/// let mut tally = mechanism.tally();
/// mechanism.absorb(&mut tally, &bag);
/// let estimate = mechanism.estimate(&tally, Probability::new("confidence", 0.9999)?)[0];
/// assert!((estimate.value - 300.0).abs() < estimate.half_width);
///
/// // What is promised: 0.63 among the thousand, ln 15 should every mix collude.
/// let epsilon = mechanism.profile(Crowd::new(1_000)?)?.epsilon(Delta::new(1e-6)?)?.epsilon;
/// assert!(epsilon.get() < 0.7);
/// assert!((mechanism.local_floor().unwrap().get() - 15_f64.ln()).abs() < 1e-6);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // As `Key`.
pub enum Mechanism {
    RandomizedResponse(BinaryResponse),
    KaryResponse(KaryResponse),
    LaplaceMean(LaplaceMean),
    OneBitMean(UnarySum),
    Rappor(Rappor),
    BitSum(BinaryResponse),
    TwoMessageCount(TwoMessageCount),
    RealSum(UnarySum),
    Histogram(Histogram),
    Selection(Selection),
    Longitudinal(Longitudinal),
    CoinCount(CoinCount),
    BurstCount(BurstCount),
    AdditiveHistogram(AdditiveHistogram),
    BurstHistogram(BurstHistogram),
    SlicedSum(SlicedSum),
    SplitAndMix(SplitAndMix),
    SubsetSelection(SubsetSelection),
}

impl Mechanism {
    /// Its key.
    pub fn key(&self) -> Key {
        match self {
            Self::RandomizedResponse(_) => Key::RandomizedResponse,
            Self::KaryResponse(_) => Key::KaryResponse,
            Self::LaplaceMean(_) => Key::LaplaceMean,
            Self::OneBitMean(_) => Key::OneBitMean,
            Self::Rappor(_) => Key::Rappor,
            Self::BitSum(_) => Key::BitSum,
            Self::TwoMessageCount(_) => Key::TwoMessageCount,
            Self::RealSum(_) => Key::RealSum,
            Self::Histogram(_) => Key::Histogram,
            Self::Selection(_) => Key::Selection,
            Self::Longitudinal(_) => Key::Longitudinal,
            Self::CoinCount(_) => Key::CoinCount,
            Self::BurstCount(_) => Key::BurstCount,
            Self::AdditiveHistogram(_) => Key::AdditiveHistogram,
            Self::BurstHistogram(_) => Key::BurstHistogram,
            Self::SlicedSum(_) => Key::SlicedSum,
            Self::SplitAndMix(_) => Key::SplitAndMix,
            Self::SubsetSelection(_) => Key::SubsetSelection,
        }
    }

    /// Randomizes one value and appends the report. Nothing is appended when the value is refused.
    pub fn encode(
        &self,
        value: Value<'_>,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) -> Result<(), Error> {
        match (self, value) {
            (Self::RandomizedResponse(m) | Self::BitSum(m), Value::Bit(x)) => {
                m.encode(&x, rng, report)
            }
            (Self::TwoMessageCount(m), Value::Bit(x)) => m.encode(&x, rng, report),
            (Self::CoinCount(m), Value::Bit(x)) => m.encode(&x, rng, report),
            (Self::BurstCount(m), Value::Bit(x)) => m.encode(&x, rng, report),
            (Self::OneBitMean(m) | Self::RealSum(m), Value::Real(x)) => m.encode(&x, rng, report),
            (Self::LaplaceMean(m), Value::Real(x)) => m.encode(&x, rng, report),
            (Self::SlicedSum(m), Value::Real(x)) => m.encode(&x, rng, report),
            (Self::SplitAndMix(m), Value::Real(x)) => m.encode(&x, rng, report),
            (Self::KaryResponse(m), Value::Category(x)) => m.encode(&x, rng, report),
            (Self::SubsetSelection(m), Value::Category(x)) => m.encode(&x, rng, report),
            (Self::Histogram(m), Value::Category(x)) => m.encode(&x, rng, report),
            (Self::AdditiveHistogram(m), Value::Category(x)) => m.encode(&x, rng, report),
            (Self::BurstHistogram(m), Value::Category(x)) => m.encode(&x, rng, report),
            (Self::Rappor(m), Value::Text(x)) => m.encode(x, rng, report),
            (Self::Selection(m), Value::Bits(x)) => m.encode(x, rng, report),
            (Self::Longitudinal(m), Value::Bits(x)) => m.encode(x, rng, report),
            _ => Err(Error::Value { expected: self.holds() }),
        }
    }

    /// Messages in every report.
    pub fn messages(&self) -> usize {
        self.half().messages()
    }

    /// 64-bit words in every message.
    pub fn words(&self) -> usize {
        self.half().words()
    }

    /// An empty tally.
    pub fn tally(&self) -> Tally {
        self.half().tally()
    }

    /// Counts a batch of messages, in whatever order.
    pub fn absorb(&self, tally: &mut Tally, messages: &[u64]) {
        self.half().absorb(tally, messages);
    }

    /// What was asked: a count, a sum of unit values, a count per category, attribute or period, or
    /// for `rappor` the debiased bits, which [`crate::decode`] turns into counts of strings.
    pub fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        self.half().estimate(tally, confidence)
    }

    /// What the estimates are estimates of.
    pub fn truth(&self, values: &Values) -> Vec<f64> {
        let cells = match self {
            Self::KaryResponse(m) => m.categories(),
            Self::SubsetSelection(m) => m.categories(),
            Self::AdditiveHistogram(m) => m.categories(),
            Self::BurstHistogram(m) => m.categories(),
            Self::Histogram(m) => m.columns().columns(),
            _ => 1,
        };
        let mut truth = vec![0.0; cells as usize];
        match values {
            Values::Bits(bits) => truth[0] = bits.iter().filter(|bit| **bit).count() as f64,
            Values::Reals(numbers) => truth[0] = numbers.iter().sum(),
            Values::Categories(list) => list.iter().for_each(|&v| truth[v as usize] += 1.0),
            Values::Rows { bits, width } => {
                truth = vec![0.0; *width];
                for row in bits.chunks(*width) {
                    truth.iter_mut().zip(row).for_each(|(t, bit)| *t += f64::from(u8::from(*bit)));
                }
            }
            Values::Texts(_) => truth.clear(),
        }
        truth
    }

    /// What kind of value a user holds.
    pub fn holds(&self) -> &'static str {
        match self {
            Self::RandomizedResponse(_)
            | Self::BitSum(_)
            | Self::TwoMessageCount(_)
            | Self::CoinCount(_)
            | Self::BurstCount(_) => "a bit",
            Self::OneBitMean(_)
            | Self::RealSum(_)
            | Self::LaplaceMean(_)
            | Self::SlicedSum(_)
            | Self::SplitAndMix(_) => "a number from 0 to 1",
            Self::KaryResponse(_)
            | Self::SubsetSelection(_)
            | Self::Histogram(_)
            | Self::AdditiveHistogram(_)
            | Self::BurstHistogram(_) => "a category",
            Self::Rappor(_) => "a string",
            Self::Selection(_) => "one bit per attribute",
            Self::Longitudinal(_) => "one bit per period",
        }
    }

    /// The analyzer's half, whatever the input.
    fn half(&self) -> &dyn AnalyzerHalf {
        match self {
            Self::RandomizedResponse(m) | Self::BitSum(m) => m,
            Self::OneBitMean(m) | Self::RealSum(m) => m,
            Self::KaryResponse(m) => m,
            Self::LaplaceMean(m) => m,
            Self::Rappor(m) => m,
            Self::TwoMessageCount(m) => m,
            Self::Histogram(m) => m,
            Self::Selection(m) => m,
            Self::Longitudinal(m) => m,
            Self::CoinCount(m) => m,
            Self::BurstCount(m) => m,
            Self::AdditiveHistogram(m) => m,
            Self::BurstHistogram(m) => m,
            Self::SlicedSum(m) => m,
            Self::SplitAndMix(m) => m,
            Self::SubsetSelection(m) => m,
        }
    }
}

/// A [`Protocol`] without its input type.
trait AnalyzerHalf {
    fn messages(&self) -> usize;
    fn words(&self) -> usize;
    fn tally(&self) -> Tally;
    fn absorb(&self, tally: &mut Tally, messages: &[u64]);
    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate>;
}

impl<P: Protocol> AnalyzerHalf for P {
    fn messages(&self) -> usize {
        Protocol::messages(self)
    }

    fn words(&self) -> usize {
        Protocol::words(self)
    }

    fn tally(&self) -> Tally {
        Tally::new(self)
    }

    fn absorb(&self, tally: &mut Tally, messages: &[u64]) {
        tally.absorb(self, messages);
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        Protocol::estimate(self, tally, confidence)
    }
}
