//! The memory of a client of `rappor`.

use crate::strings::bloom::WORDS;
use crate::{Error, Filter, Rappor};
use rand_core::CryptoRng;

/// The memory of a client between reports: its cohort and its permanent response to each string.
///
/// Each remembered string costs ε_∞ anew, so there is a limit to them, and it is the client's
/// budget. A string past the limit is refused. A client that then sends nothing shows that its
/// string is a new one; reporting a string it knows instead shows nothing, and biases the counts by
/// one user.
///
/// The memory tells which strings a user reported. It is to be kept as safe as these. It lives as
/// long as the process: a device that may be restarted reports by
/// [`Mechanism::respond`](crate::Mechanism::respond), whose memory is plain words.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{Bloom, Memory, Rappor};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let coin = |p| Probability::new("coin", p).map(Threshold::at_least);
/// let rappor = Rappor::new(Bloom::new(64, 2, 4, 7)?, coin(0.5)?, coin(0.25)?, coin(0.75)?)?;
/// let mut memory = Memory::new(&rappor, 1, &mut rng);
/// let first = rappor.permanent("firefox", &mut memory, &mut rng)?;
///
/// // The same each time; a second string is past the limit.
/// assert_eq!(rappor.permanent("firefox", &mut memory, &mut rng)?, first);
/// assert!(rappor.permanent("lynx", &mut memory, &mut rng).is_err());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Memory {
    /// The cohort, which every report shows.
    pub(super) cohort: u32,
    /// The most distinct strings: ε_∞ is spent once for each.
    pub(super) limit: u32,
    /// The digests of the strings, each with its permanent response.
    pub(super) seen: Vec<(u64, Filter)>,
}

impl Memory {
    /// An empty memory for up to `limit` distinct strings, in a random cohort.
    pub fn new(protocol: &Rappor, limit: u32, rng: &mut impl CryptoRng) -> Self {
        Self { cohort: protocol.fresh_cohort(rng), limit, seen: Vec::new() }
    }

    /// Appends the report of an epoch. `memory` is empty, or what the last epoch left in it: the
    /// cohort and the permanent response to the first string.
    ///
    /// A device whose string changes goes on showing the first one: a new response would cost ε_∞
    /// anew, and sending nothing would tell of the change. The string is not kept, so the memory
    /// tells no more of it than all reports together may.
    pub(crate) fn respond(
        protocol: &Rappor,
        text: &str,
        memory: &mut Vec<u64>,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let mut known = if memory.is_empty() {
            Self::new(protocol, STRINGS, rng)
        } else {
            let expected = "a memory of this protocol";
            let (cohort, bits) = protocol.parse(memory).ok_or(Error::Malformed { expected })?;
            let mut permanent = [0; WORDS];
            permanent[..bits.len()].copy_from_slice(bits);
            let seen = vec![(protocol.bloom().digest(text), permanent)];
            Self { cohort, limit: STRINGS, seen }
        };
        protocol.respond(text, &mut known, rng, report)?;
        let words = protocol.bloom().words();
        // In place: a memory that grew would leave copies of itself behind.
        memory.resize(1 + words, 0);
        memory[0] = known.cohort.into();
        for (_, permanent) in &known.seen {
            memory[1..].copy_from_slice(&permanent[..words]);
        }
        Ok(())
    }
}

/// The reports of a client with a memory.
impl Rappor {
    /// One of many reports of the same user: the permanent response is remembered, the
    /// instantaneous one drawn afresh. Nothing is appended when the memory is full and the string
    /// is not in it.
    pub fn respond(
        &self,
        value: &str,
        memory: &mut Memory,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let permanent = self.permanent(value, memory, rng)?;
        self.show(memory.cohort, &permanent, rng, report);
        Ok(())
    }

    /// The permanent response to a string: the one that is remembered, or a new one, which from now
    /// on is.
    pub fn permanent(
        &self,
        value: &str,
        memory: &mut Memory,
        rng: &mut impl CryptoRng,
    ) -> Result<Filter, Error> {
        let digest = self.bloom().digest(value);
        // Drawn whether it is needed or not, so that a string known already takes the same work.
        let mut permanent = self.replace(digest, memory.cohort, rng);
        let mut known = 0;
        for (other, remembered) in &memory.seen {
            let same = u64::from(*other == digest).wrapping_neg();
            known |= same;
            for (bits, remembered) in permanent.iter_mut().zip(remembered) {
                *bits ^= (*bits ^ remembered) & same;
            }
        }
        if known == 0 {
            if memory.seen.len() >= memory.limit as usize {
                let expected = "one of those the full memory already holds";
                return Err(Error::Value { expected });
            }
            memory.seen.push((digest, permanent));
        }
        Ok(permanent)
    }
}

/// Says how full it is and nothing else.
impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { limit, seen, .. } = self;
        f.debug_struct("Memory")
            .field("strings", &seen.len())
            .field("limit", limit)
            .finish_non_exhaustive()
    }
}

/// The number of distinct strings that one device reports on, which the promise of a collection
/// allows for.
const STRINGS: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bloom;
    use crate::testing::rng;
    use throng_account::{Probability, Threshold};

    #[test]
    fn a_memory_answers_the_same_for_ever() {
        let coin = |p| Threshold::at_least(Probability::new("coin", p).unwrap());
        let [f, p, q] = [0.5, 0.1, 0.9].map(coin);
        let rappor = Rappor::new(Bloom::new(100, 3, 7, 5).unwrap(), f, p, q).unwrap();
        let mut rng = rng(1);
        let mut memory = Memory::new(&rappor, 2, &mut rng);
        let first = rappor.permanent("one", &mut memory, &mut rng).unwrap();
        let second = rappor.permanent("two", &mut memory, &mut rng).unwrap();
        assert_ne!(first, second);
        let kept = memory.clone();
        assert_eq!(rappor.permanent("one", &mut memory, &mut rng).unwrap(), first);
        assert_eq!(rappor.permanent("two", &mut memory, &mut rng).unwrap(), second);
        assert_eq!(memory, kept);
        assert_eq!(format!("{memory:?}"), "Memory { strings: 2, limit: 2, .. }");

        let mut reports = Vec::new();
        for _ in 0..50 {
            rappor.respond("one", &mut memory, &mut rng, &mut reports).unwrap();
        }
        let cohort = u64::from(memory.cohort);
        let reports: std::collections::BTreeSet<&[u64]> = reports.chunks(3).collect();
        assert!(reports.len() == 50 && reports.iter().all(|report| report[0] == cohort));

        let mut report = Vec::new();
        let refused = rappor.respond("three", &mut memory, &mut rng, &mut report).unwrap_err();
        assert!(matches!(refused, Error::Value { .. }) && report.is_empty());
        assert_eq!(memory, kept);

        for wrong in [&[7, 0, 0][..], &[1 << 32, 0, 0], &[0, 0, 1 << 36], &[0, 0, 0, 0], &[0]] {
            let mut left = wrong.to_vec();
            let refused = Memory::respond(&rappor, "one", &mut left, &mut rng, &mut report);
            assert!(refused.is_err() && report.is_empty() && left == wrong, "{wrong:?}");
        }
    }
}
