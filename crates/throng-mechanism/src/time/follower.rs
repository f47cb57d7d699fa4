//! The device's half of `longitudinal`: the state it keeps from period to period.

use crate::time::longitudinal::{NULL, answer};
use crate::{Error, Longitudinal, require, sample};
use rand_core::CryptoRng;
use std::fmt;

/// The state that one client keeps from period to period. `Debug` does not show it.
///
/// The level is no secret: it shows in every answer. The rest tells about the user.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::Epsilon;
/// use throng_mechanism::{Follower, Longitudinal};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let protocol = Longitudinal::local(4, 1, Epsilon::new(1.0)?)?;
/// let mut follower = Follower::new(&protocol, &mut rng);
/// for bit in [false, true] {
///     assert!(follower.report(&protocol, bit, &mut rng)? < protocol.symbols());
/// }
/// // Kept on the device, and taken up again.
/// let mut follower = Follower::from_words(&protocol, follower.to_words())?;
/// assert_eq!(follower.period(), 2);
/// follower.report(&protocol, true, &mut rng)?;
/// follower.report(&protocol, true, &mut rng)?;
/// assert!(follower.report(&protocol, true, &mut rng).is_err());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Follower {
    level: u64,
    /// The followed change κ, from 1.
    change: u64,
    /// The number of changes so far.
    seen: u64,
    /// 1 if the current node holds the chosen change, and 1 if that was from 0 to 1.
    holds: u64,
    rising: u64,
    /// The bit in the last period.
    last: u64,
    /// The number of periods reported so far.
    period: u64,
}

impl Follower {
    /// The number of words in a client's state.
    pub const WORDS: usize = 7;

    /// Draws the level and the change that this client will ever report on.
    pub fn new(protocol: &Longitudinal, rng: &mut impl CryptoRng) -> Self {
        let level = sample::below(u64::from(protocol.levels()), rng);
        let change = 1 + sample::below(u64::from(protocol.changes), rng);
        Self { level, change, seen: 0, holds: 0, rising: 0, last: 0, period: 0 }
    }

    /// The symbol to send for the next period, in which the user's bit is `bit`.
    ///
    /// There is one for every period, null or not. Which of the two depends on the level alone.
    pub fn report(
        &mut self,
        protocol: &Longitudinal,
        bit: bool,
        rng: &mut impl CryptoRng,
    ) -> Result<u64, Error> {
        require(self.period < protocol.periods(), "period", "at most the last period")?;
        // Without branches on what the user holds.
        let bit = u64::from(bit);
        let changed = bit ^ self.last;
        self.seen += changed;
        let chosen = changed & u64::from(self.seen == self.change);
        self.rising ^= chosen & (self.rising ^ bit);
        self.holds |= chosen;
        self.last = bit;
        self.period += 1;
        if self.period & ((1 << self.level) - 1) != 0 {
            return Ok(NULL);
        }
        let told = self.rising ^ u64::from(!sample::coin(protocol.keep, rng));
        let fair = sample::below(2, rng);
        let sign = fair ^ (self.holds & (fair ^ told));
        self.holds = 0;
        Ok(answer(self.level as u32, sign))
    }

    /// Appends the symbol of an epoch to a report. `memory` is empty, or what the last epoch left
    /// in it.
    ///
    /// Period t is epoch t − 1, and the state advances once for each. Epochs that a device missed
    /// are caught up with the bit it last reported, 0 if it never did, and without sending: a
    /// change during the gap counts as one in the epoch of the next report, and the answers of
    /// nodes that ended in the gap are missing from the count. What is sent is a part of what the
    /// lifetime ε covers.
    pub(crate) fn respond(
        protocol: &Longitudinal,
        bit: bool,
        epoch: u64,
        memory: &mut Vec<u64>,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let expected = "a memory of this protocol before this epoch";
        let mut follower = match <[u64; Self::WORDS]>::try_from(&memory[..]) {
            Ok(words) => Self::from_words(protocol, words)?,
            Err(_) if memory.is_empty() => Self::new(protocol, rng),
            Err(_) => return Err(Error::Malformed { expected }),
        };
        while follower.period < epoch {
            let unchanged = follower.last == 1;
            follower.report(protocol, unchanged, rng)?;
        }
        if follower.period != epoch {
            return Err(Error::Malformed { expected });
        }
        report.push(follower.report(protocol, bit, rng)?);
        // In place: a memory that grew would leave copies of itself behind.
        memory.resize(Self::WORDS, 0);
        memory.copy_from_slice(&follower.to_words());
        Ok(())
    }

    /// The number of periods reported so far.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The state as plain numbers, to be kept on the device.
    pub fn to_words(&self) -> [u64; Self::WORDS] {
        let Self { level, change, seen, holds, rising, last, period } = *self;
        [level, change, seen, holds, rising, last, period]
    }

    /// The state that was kept. Refuses a state that no client of this protocol can be in.
    pub fn from_words(protocol: &Longitudinal, words: [u64; Self::WORDS]) -> Result<Self, Error> {
        let [level, change, seen, holds, rising, last, period] = words;
        let fits = level < u64::from(protocol.levels())
            && (1..=u64::from(protocol.changes)).contains(&change)
            && seen <= period
            && period <= protocol.periods()
            && holds <= u64::from(seen >= change)
            && rising <= 1
            // Every change turns the bit, which started at 0.
            && last == seen % 2;
        require(fits, "state", "one that a client left behind")?;
        Ok(Self { level, change, seen, holds, rising, last, period })
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Follower(..)")
    }
}
