//! The catalogue: every mechanism under its stable key, one row each.
//!
//! A mechanism is described in its own file, by [`Protocol`](crate::Protocol) and
//! [`Claims`](crate::Claims). Here it gets a key, a variant, and a row that finds it by name, reads
//! it from a file and fits it to a promise.

use crate::claims::Given;
use crate::mechanism::{Body, Device};
use crate::time::follower::Follower;
use crate::{
    AdditiveHistogram, Ask, BinaryResponse, BurstCount, BurstHistogram, CoinCount, Error,
    Histogram, Inquiry, KaryResponse, Kind, LaplaceMean, Longitudinal, Memory, Protocol, Rappor,
    Selection, SlicedSum, SplitAndMix, SubsetSelection, TwoMessageCount, UnarySum, Value,
};
use rand_core::CryptoRng;

/// The keys of collection files, of the command line and of JSON.
///
/// ```
/// use throng_mechanism::{Key, Kind};
///
/// assert_eq!(Key::named("bit-sum"), Some(Key::BitSum));
/// assert_eq!((Key::BitSum.name(), Key::BitSum.kind()), ("bit-sum", Kind::Bit));
/// assert!(Key::ALL.into_iter().all(|key| Key::named(key.name()) == Some(key)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A bit, flipped with a local ε₀ in mind.
    RandomizedResponse,
    /// One of k, replaced by a uniform one now and then.
    KaryResponse,
    /// A number with Laplace noise.
    LaplaceMean,
    /// A number rounded to one flipped bit.
    OneBitMean,
    /// A string as a noisy Bloom filter.
    Rappor,
    /// A bit, flipped with a crowd in mind.
    BitSum,
    /// A bit and a noise bit.
    TwoMessageCount,
    /// A number as several flipped bits.
    RealSum,
    /// One flipped bit per category.
    Histogram,
    /// One flipped bit per attribute.
    Selection,
    /// A bit over time.
    Longitudinal,
    /// A bit and, now and then, fair coins.
    CoinCount,
    /// A bit and, rarely, a burst of noise.
    BurstCount,
    /// One of k and, now and then, uniform ones.
    AdditiveHistogram,
    /// One of k and, rarely, a burst of noise.
    BurstHistogram,
    /// A number digit by digit, each among coins of its own.
    SlicedSum,
    /// A number split into random shares.
    SplitAndMix,
    /// A random set that favours the true category.
    SubsetSelection,
}

/// A mechanism with its parameters: all a client needs to report and an analyzer to estimate.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Crowd, Delta, Probability, Threshold};
/// use throng_mechanism::{BinaryResponse, Mechanism, Value};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
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
pub enum Mechanism {
    /// Under [`Key::RandomizedResponse`].
    RandomizedResponse(BinaryResponse),
    /// Under [`Key::KaryResponse`].
    KaryResponse(KaryResponse),
    /// Under [`Key::LaplaceMean`].
    LaplaceMean(LaplaceMean),
    /// Under [`Key::OneBitMean`].
    OneBitMean(UnarySum),
    /// Under [`Key::Rappor`].
    Rappor(Rappor),
    /// Under [`Key::BitSum`].
    BitSum(BinaryResponse),
    /// Under [`Key::TwoMessageCount`].
    TwoMessageCount(TwoMessageCount),
    /// Under [`Key::RealSum`].
    RealSum(UnarySum),
    /// Under [`Key::Histogram`].
    Histogram(Histogram),
    /// Under [`Key::Selection`].
    Selection(Selection),
    /// Under [`Key::Longitudinal`].
    Longitudinal(Longitudinal),
    /// Under [`Key::CoinCount`].
    CoinCount(CoinCount),
    /// Under [`Key::BurstCount`].
    BurstCount(BurstCount),
    /// Under [`Key::AdditiveHistogram`].
    AdditiveHistogram(AdditiveHistogram),
    /// Under [`Key::BurstHistogram`].
    BurstHistogram(BurstHistogram),
    /// Under [`Key::SlicedSum`].
    SlicedSum(SlicedSum),
    /// Under [`Key::SplitAndMix`].
    SplitAndMix(SplitAndMix),
    /// Under [`Key::SubsetSelection`].
    SubsetSelection(SubsetSelection),
}

/// All that is known of a key.
pub(crate) struct Row {
    key: Key,
    name: &'static str,
    kind: Kind,
    /// Page and section of the book.
    section: (&'static str, &'static str),
    /// The calibrated parameter, as the beginning of a phrase that ends with the mechanism's name.
    fitted: &'static str,
    /// Makes the mechanism of named integers.
    pub read: fn(&Given<'_, '_>) -> Result<Mechanism, Error>,
    /// Calibrates the mechanism for a promise.
    pub fit: fn(&Ask) -> Result<Mechanism, Error>,
    /// Refuses with the reason why it is no offer, as far as that is known without calibrating.
    pub worth: fn(&Ask) -> Result<(), Error>,
    /// The inquiry of an accountant about it, where a profile says all.
    inquiry: Option<&'static Inquiry>,
    /// True if calibrating takes seconds. It is then done at several lengths: more messages buy a
    /// smaller error.
    slow: bool,
    /// True if one liar or one lost message ruins the result, so that it has to be asked for.
    fragile: bool,
}

/// One row per key, by chapter; within a chapter in the order in which the planner looks at them.
pub(crate) static ROWS: [Row; Key::ALL.len()] = [
    Row {
        key: Key::BurstCount,
        name: "burst-count",
        kind: Kind::Bit,
        section: ("counts", "burst-count"),
        fitted: "The catalogue",
        read: |given| BurstCount::read(given).map(Mechanism::BurstCount),
        fit: |ask| BurstCount::fit(ask).map(Mechanism::BurstCount),
        worth: BurstCount::worth,
        inquiry: Some(&BurstCount::INQUIRY),
        slow: true,
        fragile: false,
    },
    Row {
        key: Key::CoinCount,
        name: "coin-count",
        kind: Kind::Bit,
        section: ("counts", "coin-count"),
        fitted: "Coins",
        read: |given| CoinCount::read(given).map(Mechanism::CoinCount),
        fit: |ask| CoinCount::fit(ask).map(Mechanism::CoinCount),
        worth: |_| Ok(()),
        inquiry: Some(&CoinCount::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::BitSum,
        name: "bit-sum",
        kind: Kind::Bit,
        section: ("counts", "randomized-response-and-bit-sum"),
        fitted: "The flip",
        read: |given| BinaryResponse::read(given).map(Mechanism::BitSum),
        fit: |ask| BinaryResponse::fit(ask).map(Mechanism::BitSum),
        worth: |_| Ok(()),
        inquiry: None,
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::TwoMessageCount,
        name: "two-message-count",
        kind: Kind::Bit,
        section: ("counts", "two-message-count"),
        fitted: "The noise",
        read: |given| TwoMessageCount::read(given).map(Mechanism::TwoMessageCount),
        fit: |ask| TwoMessageCount::fit(ask).map(Mechanism::TwoMessageCount),
        worth: |_| Ok(()),
        inquiry: None,
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::RandomizedResponse,
        name: "randomized-response",
        kind: Kind::Bit,
        section: ("counts", "randomized-response-and-bit-sum"),
        fitted: "The flip",
        read: |given| BinaryResponse::read(given).map(Mechanism::RandomizedResponse),
        fit: |ask| BinaryResponse::fit(ask).map(Mechanism::RandomizedResponse),
        worth: |_| Ok(()),
        inquiry: Some(&BinaryResponse::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::SlicedSum,
        name: "sliced-sum",
        kind: Kind::Real,
        section: ("sums", "sliced-sum"),
        fitted: "Levels and coins",
        read: |given| SlicedSum::read(given).map(Mechanism::SlicedSum),
        fit: |ask| SlicedSum::fit(ask).map(Mechanism::SlicedSum),
        worth: |_| Ok(()),
        inquiry: Some(&SlicedSum::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::RealSum,
        name: "real-sum",
        kind: Kind::Real,
        section: ("sums", "real-sum"),
        fitted: "Bits and flip",
        read: |given| UnarySum::read(given).map(Mechanism::RealSum),
        fit: |ask| UnarySum::fit(ask).map(Mechanism::RealSum),
        worth: |_| Ok(()),
        inquiry: None,
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::OneBitMean,
        name: "one-bit-mean",
        kind: Kind::Real,
        section: ("sums", "one-bit-mean"),
        fitted: "The flip",
        read: |given| UnarySum::read_one(given).map(Mechanism::OneBitMean),
        fit: |ask| UnarySum::fit_one(ask).map(Mechanism::OneBitMean),
        worth: |_| Ok(()),
        inquiry: Some(&UnarySum::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::LaplaceMean,
        name: "laplace-mean",
        kind: Kind::Real,
        section: ("sums", "laplace-mean"),
        fitted: "The largest local epsilon",
        read: |given| LaplaceMean::read(given).map(Mechanism::LaplaceMean),
        fit: |ask| LaplaceMean::fit(ask).map(Mechanism::LaplaceMean),
        worth: |_| Ok(()),
        inquiry: Some(&LaplaceMean::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::SplitAndMix,
        name: "split-and-mix",
        kind: Kind::Real,
        section: ("sums", "split-and-mix"),
        fitted: "Shares and noise",
        read: |given| SplitAndMix::read(given).map(Mechanism::SplitAndMix),
        fit: |ask| SplitAndMix::fit(ask).map(Mechanism::SplitAndMix),
        worth: |_| Ok(()),
        inquiry: None,
        slow: false,
        fragile: true,
    },
    Row {
        key: Key::BurstHistogram,
        name: "burst-histogram",
        kind: Kind::Category,
        section: ("histograms", "burst-histogram"),
        fitted: "The catalogue",
        read: |given| BurstHistogram::read(given).map(Mechanism::BurstHistogram),
        fit: |ask| BurstHistogram::fit(ask).map(Mechanism::BurstHistogram),
        worth: BurstHistogram::worth,
        inquiry: Some(&BurstHistogram::INQUIRY),
        slow: true,
        fragile: false,
    },
    Row {
        key: Key::AdditiveHistogram,
        name: "additive-histogram",
        kind: Kind::Category,
        section: ("histograms", "additive-histogram"),
        fitted: "Fake messages",
        read: |given| AdditiveHistogram::read(given).map(Mechanism::AdditiveHistogram),
        fit: |ask| AdditiveHistogram::fit(ask).map(Mechanism::AdditiveHistogram),
        worth: |_| Ok(()),
        inquiry: Some(&AdditiveHistogram::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::Histogram,
        name: "histogram",
        kind: Kind::Category,
        section: ("histograms", "histogram"),
        fitted: "The flip",
        read: |given| Histogram::read(given).map(Mechanism::Histogram),
        fit: |ask| Histogram::fit(ask).map(Mechanism::Histogram),
        worth: Histogram::worth,
        inquiry: Some(&Histogram::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::KaryResponse,
        name: "kary-response",
        kind: Kind::Category,
        section: ("histograms", "kary-response"),
        fitted: "The largest local epsilon",
        read: |given| KaryResponse::read(given).map(Mechanism::KaryResponse),
        fit: |ask| KaryResponse::fit(ask).map(Mechanism::KaryResponse),
        worth: |_| Ok(()),
        inquiry: Some(&KaryResponse::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::SubsetSelection,
        name: "subset-selection",
        kind: Kind::Category,
        section: ("histograms", "subset-selection"),
        fitted: "The largest local epsilon",
        read: |given| SubsetSelection::read(given).map(Mechanism::SubsetSelection),
        fit: |ask| SubsetSelection::fit(ask).map(Mechanism::SubsetSelection),
        worth: |_| Ok(()),
        inquiry: Some(&SubsetSelection::INQUIRY),
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::Rappor,
        name: "rappor",
        kind: Kind::Text,
        section: ("strings", "strings-rappor"),
        fitted: "Filter and coins",
        read: |given| Rappor::read(given).map(Mechanism::Rappor),
        fit: |ask| Rappor::fit(ask).map(Mechanism::Rappor),
        worth: |_| Ok(()),
        inquiry: None,
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::Longitudinal,
        name: "longitudinal",
        kind: Kind::State,
        section: ("time", "time-longitudinal"),
        fitted: "The coin",
        read: |given| Longitudinal::read(given).map(Mechanism::Longitudinal),
        fit: |ask| Longitudinal::fit(ask).map(Mechanism::Longitudinal),
        worth: |_| Ok(()),
        inquiry: None,
        slow: false,
        fragile: false,
    },
    Row {
        key: Key::Selection,
        name: "selection",
        kind: Kind::Attributes,
        section: ("selection-and-queries", "selection"),
        fitted: "The flip",
        read: |given| Selection::read(given).map(Mechanism::Selection),
        fit: |ask| Selection::fit(ask).map(Mechanism::Selection),
        worth: Selection::worth,
        inquiry: Some(&Selection::INQUIRY),
        slow: false,
        fragile: false,
    },
];

impl Key {
    /// All keys.
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

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The key of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// The mechanisms for values of this kind, in the order in which the planner looks at them.
    pub fn of(kind: Kind) -> Vec<Self> {
        ROWS.iter().filter(|row| row.kind == kind).map(|row| row.key).collect()
    }

    /// The kind of value of a user who answers through it.
    pub fn kind(self) -> Kind {
        self.row().kind
    }

    /// The page of `docs/mechanisms` that says how it works, without its ending, and the section.
    pub fn section(self) -> (&'static str, &'static str) {
        self.row().section
    }

    /// The inquiry of an accountant about it, where a profile says all there is to say.
    pub fn inquiry(self) -> Option<&'static Inquiry> {
        self.row().inquiry
    }

    /// The calibrated parameter, as the beginning of a phrase that ends with the mechanism's name:
    /// "The flip" of `bit-sum`.
    pub fn fitted(self) -> &'static str {
        self.row().fitted
    }

    /// True if calibrating takes seconds. It is then done at several lengths: more messages buy a
    /// smaller error.
    pub fn is_slow(self) -> bool {
        self.row().slow
    }

    /// True if one liar or one lost message ruins the result, so that it has to be asked for.
    pub fn is_fragile(self) -> bool {
        self.row().fragile
    }

    pub(crate) fn row(self) -> &'static Row {
        &ROWS[PLACES[self as usize]]
    }
}

/// The row of each key; a key without a row, or not in [`Key::ALL`] at its place, does not compile.
const PLACES: [usize; Key::ALL.len()] = {
    let (mut places, mut key) = ([0; Key::ALL.len()], 0);
    while key < places.len() {
        assert!(Key::ALL[key] as usize == key, "Key::ALL is in the order of the variants");
        while ROWS[places[key]].key as usize != key {
            places[key] += 1;
        }
        key += 1;
    }
    places
};

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Mechanism {
    /// The key of the mechanism.
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

    /// Appends a report: the only one there will be, or that of an epoch of a `device` with a
    /// memory.
    pub(crate) fn randomize(
        &self,
        value: Value<'_>,
        device: Option<Device<'_>>,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) -> Result<(), Error> {
        match self {
            Self::RandomizedResponse(m) | Self::BitSum(m) => m.encode(&value.bit()?, rng, report),
            Self::TwoMessageCount(m) => m.encode(&value.bit()?, rng, report),
            Self::CoinCount(m) => m.encode(&value.bit()?, rng, report),
            Self::BurstCount(m) => m.encode(&value.bit()?, rng, report),
            Self::OneBitMean(m) | Self::RealSum(m) => m.encode(&value.real()?, rng, report),
            Self::LaplaceMean(m) => m.encode(&value.real()?, rng, report),
            Self::SlicedSum(m) => m.encode(&value.real()?, rng, report),
            Self::SplitAndMix(m) => m.encode(&value.real()?, rng, report),
            Self::KaryResponse(m) => m.encode(&value.category()?, rng, report),
            Self::SubsetSelection(m) => m.encode(&value.category()?, rng, report),
            Self::Histogram(m) => m.encode(&value.category()?, rng, report),
            Self::AdditiveHistogram(m) => m.encode(&value.category()?, rng, report),
            Self::BurstHistogram(m) => m.encode(&value.category()?, rng, report),
            Self::Selection(m) => m.encode(value.bits(Kind::Attributes)?, rng, report),
            Self::Rappor(m) => match device {
                None => m.encode(value.text()?, rng, report),
                Some(Device { memory, .. }) => {
                    Memory::respond(m, value.text()?, memory, rng, report)
                }
            },
            Self::Longitudinal(m) => match device {
                None => m.encode(value.bits(Kind::State)?, rng, report),
                Some(Device { epoch, memory }) => {
                    Follower::respond(m, value.bit()?, epoch, memory, rng, report)
                }
            },
        }
    }

    /// All that can be asked of it, whatever its input.
    pub(crate) fn body(&self) -> &dyn Body {
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
