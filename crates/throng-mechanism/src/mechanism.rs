//! The methods of any mechanism. Each asks its [`body`](Mechanism::body).

use crate::attack::{Scene, Score};
use crate::claims::Given;
use crate::{
    Claims, DecodeOptions, Decoded, Error, Estimate, Key, Kind, Mechanism, Parameters, Protocol,
    Question, Spending, Tally, Value, Values, Winner,
};
use rand_core::CryptoRng;
use throng_account::{Crowd, Epsilon, Probability, Profile};

/// The client's half.
impl Mechanism {
    /// Randomizes one value and appends the report. Nothing is appended when the value is refused.
    pub fn encode(
        &self,
        value: Value<'_>,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) -> Result<(), Error> {
        self.randomize(value, None, rng, report)
    }

    /// Appends the report of one epoch of a device that takes part in several.
    ///
    /// `memory` is empty, or what the last epoch left in it; most mechanisms draw everything afresh
    /// and leave it empty. It tells about the user and is to be kept as safe as the value. When a
    /// value is refused, nothing is appended and the memory is to be thrown away.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_account::Epsilon;
    /// use throng_mechanism::{Longitudinal, Mechanism, Value};
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let local = Longitudinal::local(4, 1, Epsilon::new(1.0)?)?;
    /// let mechanism = Mechanism::Longitudinal(local);
    /// let (mut memory, mut report) = (Vec::new(), Vec::new());
    /// // A message for each of the epochs 0 and 2; the device was off in between.
    /// mechanism.respond(Value::Bit(false), 0, &mut memory, &mut rng, &mut report)?;
    /// mechanism.respond(Value::Bit(true), 2, &mut memory, &mut rng, &mut report)?;
    /// assert_eq!((report.len(), mechanism.per_epoch()), (2, 1));
    /// // Epochs do not come again.
    /// let late = mechanism.respond(Value::Bit(true), 1, &mut memory, &mut rng, &mut report);
    /// assert!(late.is_err());
    /// # Ok::<(), throng_mechanism::Error>(())
    /// ```
    pub fn respond(
        &self,
        value: Value<'_>,
        epoch: u64,
        memory: &mut Vec<u64>,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) -> Result<(), Error> {
        self.randomize(value, Some(Device { epoch, memory }), rng, report)
    }

    /// Messages in every report.
    pub fn messages(&self) -> usize {
        self.body().messages()
    }

    /// 64-bit words in every message.
    pub fn words(&self) -> usize {
        self.body().words()
    }

    /// Bits that tell one message from another.
    pub fn message_bits(&self) -> u32 {
        self.body().message_bits()
    }

    /// Messages that a report holds in one epoch.
    pub fn per_epoch(&self) -> usize {
        self.epochs().map_or_else(|| self.messages(), |_| 1)
    }

    /// The epochs that one report is spread over, a message in each; `None` where every epoch has a
    /// whole report of its own.
    pub fn epochs(&self) -> Option<u64> {
        self.body().epochs()
    }

    /// The way the losses of several epochs add up.
    pub fn spending(&self) -> Spending {
        self.body().spending()
    }

    /// ε of this many reports of one user on one value, without a crowd, where a memory ties them
    /// together.
    pub fn memoized(&self, reports: u64) -> Option<Epsilon> {
        self.body().memoized(reports)
    }
}

/// The analyzer's half.
impl Mechanism {
    /// The message that the analyzer reads in a word sent in an epoch. A word that no client sends
    /// stays one.
    pub fn in_epoch(&self, word: u64, epoch: u64) -> u64 {
        self.body().in_epoch(word, epoch)
    }

    /// An empty tally.
    pub fn tally(&self) -> Tally {
        self.body().tally()
    }

    /// Counts a batch of messages, in whatever order.
    pub fn absorb(&self, tally: &mut Tally, messages: &[u64]) {
        self.body().absorb(tally, messages);
    }

    /// The answer to the question: a count, a sum of unit values, a count per category, attribute
    /// or period, or for `rappor` the debiased bits, which [`Mechanism::decode`] turns into counts
    /// of strings.
    pub fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        self.body().estimate(tally, confidence)
    }

    /// True if the estimate at a place has all it is made of when these epochs were counted.
    pub fn is_complete(&self, place: usize, epochs: &[u64]) -> bool {
        self.body().is_complete(place, epochs)
    }

    /// Counts of the candidates that stand out, as [`crate::decode`]; `None` where the estimates
    /// are the answer already.
    pub fn decode(
        &self,
        tally: &Tally,
        candidates: &[&str],
        options: &DecodeOptions,
    ) -> Option<Vec<Decoded>> {
        self.body().decode(tally, candidates, options)
    }

    /// The commonest attribute; `None` where that is not asked, or there are no estimates.
    pub fn winner(&self, estimates: &[Estimate], confidence: Probability) -> Option<Winner> {
        self.body().winner(estimates, confidence)
    }

    /// The true values that the estimates are for.
    pub fn truth(&self, values: &Values) -> Vec<f64> {
        let cells = match self.question() {
            Question::Category { size } => size as usize,
            Question::Bit
            | Question::Real
            | Question::Text { .. }
            | Question::Attributes { .. }
            | Question::State { .. } => 1,
        };
        let mut truth = vec![0.0; cells];
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
}

/// The claims, as in [`Claims`].
impl Mechanism {
    /// The question it answers.
    pub fn question(&self) -> Question {
        self.body().question()
    }

    /// The kind of value a user holds.
    pub fn kind(&self) -> Kind {
        self.question().kind()
    }

    /// The privacy profile among `crowd` honest users, against whoever sees the shuffled bag.
    pub fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        self.body().profile(crowd)
    }

    /// ε of one user's report by itself, should every mix collude with the analyzer; `None` where
    /// the report shows the value.
    pub fn local_floor(&self) -> Option<Epsilon> {
        self.body().local_floor()
    }

    /// Standard error among `reports` users: of the count, of the sum of unit values, or the root
    /// mean square over all categories, attributes or periods.
    pub fn standard_error(&self, reports: u64) -> f64 {
        self.body().standard_error(reports as f64)
    }

    /// Standard error of a cell that one user in ten holds, where that differs from the mean cell.
    pub fn heavy_error(&self, reports: u64) -> f64 {
        self.body().heavy_error(reports as f64)
    }

    /// Half the width of the interval to be expected among `reports` users.
    pub fn half_width(&self, reports: u64, confidence: Probability) -> f64 {
        self.body().half_width(reports as f64, confidence)
    }

    /// The distance that one user who sends whatever they like moves a single estimate, between the
    /// two reports that pull it furthest apart, with as many messages as everyone sends.
    ///
    /// An honest user moves a count or a sum of unit values by 1.
    pub fn influence(&self) -> f64 {
        self.body().influence()
    }

    /// A score for an audit; `None` for a linear one.
    pub(crate) fn score(&self, scene: &Scene) -> Result<Option<Score>, Error> {
        self.body().score(scene)
    }
}

/// The mechanism as named integers: every parameter that decides a random outcome is one.
impl Mechanism {
    /// All that [`Mechanism::from_parameters`] needs to make the same mechanism again.
    pub fn parameters(&self) -> Parameters {
        self.body().parameters()
    }

    /// Names of the parameters that are no integers but floats, bit by bit.
    pub fn floats(&self) -> &'static [&'static str] {
        self.body().floats()
    }

    /// The mechanism of a key with parameters found by name.
    ///
    /// ```
    /// use throng_mechanism::{Key, LaplaceMean, Mechanism};
    ///
    /// let mechanism = Mechanism::LaplaceMean(LaplaceMean::new(1000, 1, 500)?);
    /// let kept = mechanism.parameters();
    /// assert_eq!(kept, [("grid", vec![1000]), ("decay", vec![1, 500])]);
    ///
    /// let find = |name: &str| {
    ///     let (_, list) = kept.iter().find(|(known, _)| *known == name)?;
    ///     Some(&list[..])
    /// };
    /// assert_eq!(Mechanism::from_parameters(Key::LaplaceMean, find)?, mechanism);
    /// # Ok::<(), throng_mechanism::Error>(())
    /// ```
    pub fn from_parameters<'a>(
        key: Key,
        find: impl Fn(&str) -> Option<&'a [u64]>,
    ) -> Result<Self, Error> {
        (key.row().read)(&Given(&find))
    }

    /// The same mechanism with its noise `factor` times as rare: a bug for an audit to find.
    ///
    /// ```
    /// use throng_account::Threshold;
    /// use throng_mechanism::{BinaryResponse, Mechanism};
    ///
    /// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 62)?)?);
    /// let weak = mechanism.weakened(2.0)?;
    /// assert_eq!(weak.parameters(), [("flip", vec![1 << 61])]);
    /// assert!(weak.local_floor() > mechanism.local_floor());
    /// # Ok::<(), throng_mechanism::Error>(())
    /// ```
    pub fn weakened(&self, factor: f64) -> Result<Self, Error> {
        if !(factor >= 1.0 && factor.is_finite()) {
            return Err(Error::Parameter { name: "factor", range: "1 or more" });
        }
        self.with(&self.body().weakened(factor))
    }

    /// The mechanism with a local ε₀ of exactly `floor`, which hides more in a crowd than one with
    /// a larger ε₀; `None` where a report shows the value.
    pub(crate) fn floored(&self, floor: Epsilon) -> Option<Self> {
        self.with(&self.body().floored(floor)?).ok()
    }

    /// The mechanism of the same key with other parameters.
    fn with(&self, parameters: &Parameters) -> Result<Self, Error> {
        Self::from_parameters(self.key(), |name| {
            parameters.iter().find(|(other, _)| *other == name).map(|(_, list)| list.as_slice())
        })
    }
}

/// A device that makes a report of one epoch.
pub(crate) struct Device<'a> {
    pub epoch: u64,
    /// The memory that the last epoch left; empty in the first.
    pub memory: &'a mut Vec<u64>,
}

/// A [`Protocol`] without its input type, and its [`Claims`].
pub(crate) trait Body: Claims {
    fn messages(&self) -> usize;
    fn words(&self) -> usize;
    fn tally(&self) -> Tally;
    fn absorb(&self, tally: &mut Tally, messages: &[u64]);
    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate>;
}

impl<P: Protocol + Claims> Body for P {
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
