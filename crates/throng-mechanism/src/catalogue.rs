//! The catalogue: every mechanism under its stable key, one row each.
//!
//! A mechanism is described in its own file, by [`Protocol`](crate::Protocol) and
//! [`Claims`]. Here it gets a key, a variant, a row that finds it by name, and a line wherever
//! mechanisms are told apart: to make one, to ask it, and to encode a value.

use crate::mechanism::Device;
use crate::time::follower::Follower;
use crate::{
    AdditiveHistogram, Ask, BinaryResponse, BurstCount, BurstHistogram, Claims, CoinCount, Columns,
    Error, Given, Histogram, Inquiry, KaryResponse, Kind, LaplaceMean, Longitudinal, Memory,
    Protocol, Rappor, Selection, SlicedSum, SplitAndMix, SubsetSelection, TwoMessageCount,
    UnarySum, Value,
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
/// Beside the methods below it has those of its [`Protocol`](crate::Protocol) and of its
/// [`Claims`], except for what depends on the type of its input.
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
/// assert!(estimate.holds(300.0));
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

/// All that is known of a key, beside its mechanism.
///
/// ```
/// use throng_mechanism::Key;
///
/// let row = Key::BitSum.row();
/// assert_eq!((row.fitted, row.section), ("The flip", "randomized-response-and-bit-sum"));
/// assert!(!row.slow && !row.fragile);
/// ```
pub struct Row {
    key: Key,
    name: &'static str,
    kind: Kind,
    /// The section about it, of the page of `docs/mechanisms` about its kind.
    pub section: &'static str,
    /// The calibrated parameter, as the beginning of a phrase that ends with the mechanism's name:
    /// "The flip" of `bit-sum`.
    pub fitted: &'static str,
    /// Refuses with the reason why it is no offer, as far as that is known without calibrating.
    pub(crate) worth: fn(&Ask) -> Result<(), Error>,
    /// The inquiry of an accountant about it, where a profile says all there is to say.
    pub inquiry: Option<&'static Inquiry>,
    /// True if calibrating takes seconds. It is then done at several lengths: more messages buy a
    /// smaller error.
    pub slow: bool,
    /// True if one liar or one lost message ruins the result, so that it has to be asked for.
    pub fragile: bool,
    /// How it is calibrated for several epochs.
    pub(crate) over: Over,
    /// A mechanism with the same parameters, calibrated in the same way, that stands before it.
    pub(crate) twin: Option<Key>,
}

/// The way to calibrate a mechanism for several epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// For one release, whose promise is moved until all epochs together keep theirs.
    OneRelease,
    /// With its shape searched for all epochs together.
    AllEpochs,
    /// Once, as reports of one person hang together: one calibration covers all epochs.
    Lasting,
}

/// The row of a mechanism without an inquiry, with a section of its own name, that is quickly
/// calibrated, always worth it, and robust.
const fn row(key: Key, name: &'static str, kind: Kind, fitted: &'static str) -> Row {
    Row {
        key,
        name,
        kind,
        section: name,
        fitted,
        worth: |_| Ok(()),
        inquiry: None,
        slow: false,
        fragile: false,
        over: Over::OneRelease,
        twin: None,
    }
}

/// One row per key, by chapter; within a chapter in the order in which the planner looks at them.
static ROWS: [Row; 18] = [
    Row {
        inquiry: Some(&BurstCount::INQUIRY),
        worth: BurstCount::worth,
        slow: true,
        over: Over::AllEpochs,
        ..row(Key::BurstCount, "burst-count", Kind::Bit, "The catalogue")
    },
    Row {
        inquiry: Some(&CoinCount::INQUIRY),
        ..row(Key::CoinCount, "coin-count", Kind::Bit, "Coins")
    },
    Row {
        section: "randomized-response-and-bit-sum",
        ..row(Key::BitSum, "bit-sum", Kind::Bit, "The flip")
    },
    row(Key::TwoMessageCount, "two-message-count", Kind::Bit, "The noise"),
    Row {
        inquiry: Some(&BinaryResponse::INQUIRY),
        twin: Some(Key::BitSum),
        section: "randomized-response-and-bit-sum",
        ..row(Key::RandomizedResponse, "randomized-response", Kind::Bit, "The flip")
    },
    Row {
        over: Over::AllEpochs,
        inquiry: Some(&SlicedSum::INQUIRY),
        ..row(Key::SlicedSum, "sliced-sum", Kind::Real, "Levels and coins")
    },
    row(Key::RealSum, "real-sum", Kind::Real, "Bits and flip"),
    Row {
        inquiry: Some(&UnarySum::INQUIRY),
        ..row(Key::OneBitMean, "one-bit-mean", Kind::Real, "The flip")
    },
    Row {
        inquiry: Some(&LaplaceMean::INQUIRY),
        ..row(Key::LaplaceMean, "laplace-mean", Kind::Real, "The largest local epsilon")
    },
    Row { fragile: true, ..row(Key::SplitAndMix, "split-and-mix", Kind::Real, "Shares and noise") },
    Row {
        inquiry: Some(&BurstHistogram::INQUIRY),
        worth: BurstHistogram::worth,
        slow: true,
        over: Over::AllEpochs,
        ..row(Key::BurstHistogram, "burst-histogram", Kind::Category, "The catalogue")
    },
    Row {
        inquiry: Some(&AdditiveHistogram::INQUIRY),
        ..row(Key::AdditiveHistogram, "additive-histogram", Kind::Category, "Fake messages")
    },
    Row {
        inquiry: Some(&Histogram::INQUIRY),
        worth: Columns::worth,
        ..row(Key::Histogram, "histogram", Kind::Category, "The flip")
    },
    Row {
        inquiry: Some(&KaryResponse::INQUIRY),
        ..row(Key::KaryResponse, "kary-response", Kind::Category, "The largest local epsilon")
    },
    Row {
        inquiry: Some(&SubsetSelection::INQUIRY),
        ..row(Key::SubsetSelection, "subset-selection", Kind::Category, "The largest local epsilon")
    },
    Row {
        section: "strings-rappor",
        over: Over::Lasting,
        ..row(Key::Rappor, "rappor", Kind::Text, "Filter and coins")
    },
    Row {
        section: "time-longitudinal",
        over: Over::Lasting,
        ..row(Key::Longitudinal, "longitudinal", Kind::State, "The coin")
    },
    Row {
        inquiry: Some(&Selection::INQUIRY),
        worth: Columns::worth,
        ..row(Key::Selection, "selection", Kind::Attributes, "The flip")
    },
];

impl Key {
    /// All keys, in the order of the variants.
    pub const ALL: [Self; ROWS.len()] = {
        let (mut all, mut key) = ([Self::BitSum; ROWS.len()], 0);
        while key < all.len() {
            all[key] = ROWS[PLACES[key]].key;
            key += 1;
        }
        all
    };

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

    /// All that is known of it.
    pub fn row(self) -> &'static Row {
        &ROWS[PLACES[self as usize]]
    }
}

/// The place of each key's row. A key with two rows does not compile.
const PLACES: [usize; ROWS.len()] = {
    let (mut places, mut row) = ([usize::MAX; ROWS.len()], 0);
    while row < places.len() {
        let place = &mut places[ROWS[row].key as usize];
        assert!(*place == usize::MAX, "one row per key");
        *place = row;
        row += 1;
    }
    places
};

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Mechanism {
    /// The mechanism of a key, with parameters found by name.
    pub(crate) fn read(key: Key, given: &Given<'_, '_>) -> Result<Self, Error> {
        Ok(match key {
            Key::RandomizedResponse => Self::RandomizedResponse(BinaryResponse::read(given)?),
            Key::KaryResponse => Self::KaryResponse(KaryResponse::read(given)?),
            Key::LaplaceMean => Self::LaplaceMean(LaplaceMean::read(given)?),
            Key::OneBitMean => Self::OneBitMean(UnarySum::new(1, given.noise("flip")?)?),
            Key::Rappor => Self::Rappor(Rappor::read(given)?),
            Key::BitSum => Self::BitSum(BinaryResponse::read(given)?),
            Key::TwoMessageCount => Self::TwoMessageCount(TwoMessageCount::read(given)?),
            Key::RealSum => Self::RealSum(UnarySum::read(given)?),
            Key::Histogram => Self::Histogram(Histogram::read(given)?),
            Key::Selection => Self::Selection(Selection::read(given)?),
            Key::Longitudinal => Self::Longitudinal(Longitudinal::read(given)?),
            Key::CoinCount => Self::CoinCount(CoinCount::read(given)?),
            Key::BurstCount => Self::BurstCount(BurstCount::read(given)?),
            Key::AdditiveHistogram => Self::AdditiveHistogram(AdditiveHistogram::read(given)?),
            Key::BurstHistogram => Self::BurstHistogram(BurstHistogram::read(given)?),
            Key::SlicedSum => Self::SlicedSum(SlicedSum::read(given)?),
            Key::SplitAndMix => Self::SplitAndMix(SplitAndMix::read(given)?),
            Key::SubsetSelection => Self::SubsetSelection(SubsetSelection::read(given)?),
        })
    }

    /// The mechanism of a key, calibrated for a promise.
    pub(crate) fn fit(key: Key, ask: &Ask) -> Result<Self, Error> {
        Ok(match key {
            Key::RandomizedResponse => Self::RandomizedResponse(BinaryResponse::fit(ask)?),
            Key::KaryResponse => Self::KaryResponse(KaryResponse::fit(ask)?),
            Key::LaplaceMean => Self::LaplaceMean(LaplaceMean::fit(ask)?),
            Key::OneBitMean => {
                Self::OneBitMean(UnarySum::new(1, BinaryResponse::fit(ask)?.flip())?)
            }
            Key::Rappor => Self::Rappor(Rappor::fit(ask)?),
            Key::BitSum => Self::BitSum(BinaryResponse::fit(ask)?),
            Key::TwoMessageCount => Self::TwoMessageCount(TwoMessageCount::fit(ask)?),
            Key::RealSum => Self::RealSum(UnarySum::fit(ask)?),
            Key::Histogram => Self::Histogram(Histogram::fit(ask)?),
            Key::Selection => Self::Selection(Selection::fit(ask)?),
            Key::Longitudinal => Self::Longitudinal(Longitudinal::fit(ask)?),
            Key::CoinCount => Self::CoinCount(CoinCount::fit(ask)?),
            Key::BurstCount => Self::BurstCount(BurstCount::fit(ask)?),
            Key::AdditiveHistogram => Self::AdditiveHistogram(AdditiveHistogram::fit(ask)?),
            Key::BurstHistogram => Self::BurstHistogram(BurstHistogram::fit(ask)?),
            Key::SlicedSum => Self::SlicedSum(SlicedSum::fit(ask)?),
            Key::SplitAndMix => Self::SplitAndMix(SplitAndMix::fit(ask)?),
            Key::SubsetSelection => Self::SubsetSelection(SubsetSelection::fit(ask)?),
        })
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

    /// The key, and all that can be asked of the mechanism, whatever its input.
    pub(crate) fn parts(&self) -> (Key, &(dyn Claims + 'static)) {
        match self {
            Self::RandomizedResponse(m) => (Key::RandomizedResponse, m),
            Self::KaryResponse(m) => (Key::KaryResponse, m),
            Self::LaplaceMean(m) => (Key::LaplaceMean, m),
            Self::OneBitMean(m) => (Key::OneBitMean, m),
            Self::Rappor(m) => (Key::Rappor, m),
            Self::BitSum(m) => (Key::BitSum, m),
            Self::TwoMessageCount(m) => (Key::TwoMessageCount, m),
            Self::RealSum(m) => (Key::RealSum, m),
            Self::Histogram(m) => (Key::Histogram, m),
            Self::Selection(m) => (Key::Selection, m),
            Self::Longitudinal(m) => (Key::Longitudinal, m),
            Self::CoinCount(m) => (Key::CoinCount, m),
            Self::BurstCount(m) => (Key::BurstCount, m),
            Self::AdditiveHistogram(m) => (Key::AdditiveHistogram, m),
            Self::BurstHistogram(m) => (Key::BurstHistogram, m),
            Self::SlicedSum(m) => (Key::SlicedSum, m),
            Self::SplitAndMix(m) => (Key::SplitAndMix, m),
            Self::SubsetSelection(m) => (Key::SubsetSelection, m),
        }
    }
}
