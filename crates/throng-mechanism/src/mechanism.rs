//! The methods of any mechanism beside those of its [`Protocol`](crate::Protocol) and its
//! [`Claims`].

use crate::{
    Claims, Error, Given, Key, Kind, Mechanism, Parameters, Tally, Value, Values, require,
};
use rand_core::CryptoRng;
use std::ops::Deref;
use throng_account::Epsilon;

/// All that is said of a mechanism, whatever its input.
impl Deref for Mechanism {
    type Target = dyn Claims;

    fn deref(&self) -> &Self::Target {
        self.parts().1
    }
}

impl Mechanism {
    /// The key of the mechanism.
    pub fn key(&self) -> Key {
        self.parts().0
    }

    /// The kind of value a user holds.
    pub fn kind(&self) -> Kind {
        self.key().kind()
    }

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

    /// Messages that a report holds in one epoch.
    pub fn per_epoch(&self) -> usize {
        self.epochs().map_or_else(|| self.messages(), |_| 1)
    }

    /// An empty tally.
    pub fn tally(&self) -> Tally {
        Tally::new(&**self)
    }

    /// Counts a batch of messages, in whatever order.
    pub fn absorb(&self, tally: &mut Tally, messages: &[u64]) {
        tally.absorb(&**self, messages);
    }

    /// The true values that the estimates are for.
    pub fn truth(&self, values: &Values) -> Vec<f64> {
        match values {
            Values::Bits(bits) => vec![bits.iter().filter(|bit| **bit).count() as f64],
            Values::Reals(numbers) => vec![numbers.iter().sum()],
            Values::Categories(list) => {
                let mut truth = vec![0.0; self.question().size().map_or(1, |size| size as usize)];
                for category in list {
                    truth[*category as usize] += 1.0;
                }
                truth
            }
            Values::Rows { bits, width } => {
                let mut truth = vec![0.0; *width];
                for row in bits.chunks(*width) {
                    truth.iter_mut().zip(row).for_each(|(t, bit)| *t += f64::from(u8::from(*bit)));
                }
                truth
            }
            Values::Texts(_) => Vec::new(),
        }
    }
}

/// The mechanism made of named integers: every parameter that decides a random outcome is one.
impl Mechanism {
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
        Self::read(key, &Given { find: &find, weaken: None })
    }

    /// The same mechanism with weaker noise: a bug for an audit to find.
    ///
    /// The probability of noise is divided by `factor`: that of a coin that flips, replaces or
    /// adds, of every event of a catalogue, or of leaving out the truth. Noise of Laplace's shape
    /// (`laplace-mean`, `split-and-mix`) is always there, so its width is divided.
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
        require(factor >= 1.0 && factor.is_finite(), "factor", "1 or more")?;
        self.with(&self.parameters(), Some(factor))
    }

    /// The mechanism with a local ε₀ of exactly `floor`, which hides more in a crowd than one with
    /// a larger ε₀; `None` where a report shows the value.
    pub(crate) fn floored(&self, floor: Epsilon) -> Option<Self> {
        self.with(&(**self).floored(floor)?, None).ok()
    }

    /// The mechanism of the same key with other parameters.
    /// The same parameters under another key.
    pub(crate) fn named(&self, key: Key) -> Result<Self, Error> {
        let parameters = self.parameters();
        let find = |name: &str| {
            let (_, list) = parameters.iter().find(|(known, _)| *known == name)?;
            Some(&list[..])
        };
        Self::read(key, &Given { find: &find, weaken: None })
    }

    fn with(&self, parameters: &Parameters, weaken: Option<f64>) -> Result<Self, Error> {
        let find = |name: &str| {
            let (_, list) = parameters.iter().find(|(known, _)| *known == name)?;
            Some(&list[..])
        };
        Self::read(self.key(), &Given { find: &find, weaken })
    }
}

/// A device that makes a report of one epoch.
pub(crate) struct Device<'a> {
    pub epoch: u64,
    /// The memory that the last epoch left; empty in the first.
    pub memory: &'a mut Vec<u64>,
}
