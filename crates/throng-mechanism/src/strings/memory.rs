//! What a client of `rappor` remembers.

use crate::strings::bloom::WORDS;
use crate::{Error, Filter, Rappor};
use rand_core::CryptoRng;

/// What a client keeps between reports: its cohort and the permanent response to each string so far.
///
/// Each remembered string costs ε_∞ anew, so there is a limit to them, and it is the client's budget.
/// A string past the limit is refused. A client that then sends nothing shows that its string is a
/// new one; reporting a string it knows instead shows nothing, and biases the counts by one user.
///
/// The memory tells which strings a user reported. It is to be kept as safe as these.
///
/// ```
/// # use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// # let mut rng = ChaCha12Rng::seed_from_u64(1);
/// # use throng_account::{Probability, Threshold};
/// use throng_mechanism::{Bloom, Memory, Rappor};
///
/// let coin = |p| Probability::new("coin", p).map(Threshold::at_least);
/// let rappor = Rappor::new(Bloom::new(64, 2, 4, 7)?, coin(0.5)?, coin(0.25)?, coin(0.75)?)?;
/// let mut memory = Memory::new(&rappor, 1, &mut rng);
/// let first = rappor.permanent("firefox", &mut memory, &mut rng)?;
///
/// // Remembered over a restart; a second string is past the limit.
/// let mut memory = Memory::from_words(&rappor, &memory.to_words(&rappor))?;
/// assert_eq!(rappor.permanent("firefox", &mut memory, &mut rng)?, first);
/// assert!(rappor.permanent("lynx", &mut memory, &mut rng).is_err());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Memory {
    pub(crate) cohort: u32,
    pub(crate) limit: u32,
    pub(crate) seen: Vec<(u64, Filter)>,
}

impl Memory {
    /// An empty memory for up to `limit` distinct strings, in a random cohort.
    pub fn new(protocol: &Rappor, limit: u32, rng: &mut impl CryptoRng) -> Self {
        Self { cohort: protocol.fresh_cohort(rng), limit, seen: Vec::new() }
    }

    /// Reads what [`Memory::to_words`] wrote, for the same protocol.
    pub fn from_words(protocol: &Rappor, words: &[u64]) -> Result<Self, Error> {
        let malformed = Error::Malformed { expected: "a memory of this protocol" };
        let [cohort, limit, seen @ ..] = words else { return Err(malformed) };
        let (Ok(cohort), Ok(limit)) = (u32::try_from(*cohort), u32::try_from(*limit)) else {
            return Err(malformed);
        };
        let width = 1 + protocol.bloom().words();
        let entries = seen.len() / width;
        if cohort >= protocol.bloom().cohorts()
            || !seen.len().is_multiple_of(width)
            || entries > limit as usize
        {
            return Err(malformed);
        }
        let mut memory = Self { cohort, limit, seen: Vec::with_capacity(entries) };
        for entry in seen.chunks(width) {
            let mut permanent = [0; WORDS];
            permanent[..width - 1].copy_from_slice(&entry[1..]);
            if permanent.iter().zip(protocol.bloom().full()).any(|(bits, full)| bits & !full != 0) {
                return Err(malformed);
            }
            memory.seen.push((entry[0], permanent));
        }
        Ok(memory)
    }

    /// Plain numbers to store: the cohort, the limit, and for each string its digest and its permanent
    /// bits.
    pub fn to_words(&self, protocol: &Rappor) -> Vec<u64> {
        let mut words = vec![u64::from(self.cohort), u64::from(self.limit)];
        for (digest, permanent) in &self.seen {
            words.push(*digest);
            words.extend_from_slice(&permanent[..protocol.bloom().words()]);
        }
        words
    }

    /// The cohort, which every report shows.
    pub fn cohort(&self) -> u32 {
        self.cohort
    }

    /// Distinct strings so far: how many times ε_∞ is spent.
    pub fn strings(&self) -> usize {
        self.seen.len()
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
