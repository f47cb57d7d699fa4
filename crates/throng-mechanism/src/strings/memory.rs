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
/// The memory tells which strings a user reported. It is to be kept as safe as these.
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

    /// The memory that [`Memory::to_words`] wrote, for the same protocol.
    pub fn from_words(protocol: &Rappor, words: &[u64]) -> Result<Self, Error> {
        let [cohort, limit, seen @ ..] = words else { return Err(MALFORMED) };
        let cohort = Self::cohort_of(protocol, *cohort).ok_or(MALFORMED)?;
        let limit = u32::try_from(*limit).map_err(|_| MALFORMED)?;
        let width = 1 + protocol.bloom().words();
        let entries = seen.len() / width;
        if !seen.len().is_multiple_of(width) || entries > limit as usize {
            return Err(MALFORMED);
        }
        let mut memory = Self { cohort, limit, seen: Vec::with_capacity(entries) };
        for entry in seen.chunks(width) {
            let permanent = Self::filter_of(protocol, &entry[1..]).ok_or(MALFORMED)?;
            memory.seen.push((entry[0], permanent));
        }
        Ok(memory)
    }

    /// Plain numbers to store: the cohort, the limit, and for each string its digest and its
    /// permanent bits.
    pub fn to_words(&self, protocol: &Rappor) -> Vec<u64> {
        let mut words = vec![u64::from(self.cohort), u64::from(self.limit)];
        for (digest, permanent) in &self.seen {
            words.push(*digest);
            words.extend_from_slice(&permanent[..protocol.bloom().words()]);
        }
        words
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
        let mut known = match memory.split_first() {
            None => Self::new(protocol, STRINGS, rng),
            Some((cohort, permanent)) => {
                let cohort = Self::cohort_of(protocol, *cohort).ok_or(MALFORMED)?;
                let permanent = Self::filter_of(protocol, permanent).ok_or(MALFORMED)?;
                let digest = protocol.bloom().digest(text);
                Self { cohort, limit: STRINGS, seen: vec![(digest, permanent)] }
            }
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

    /// A cohort of this protocol.
    fn cohort_of(protocol: &Rappor, word: u64) -> Option<u32> {
        u32::try_from(word).ok().filter(|cohort| *cohort < protocol.bloom().cohorts())
    }

    /// The bits of a filter of this protocol.
    fn filter_of(protocol: &Rappor, bits: &[u64]) -> Option<Filter> {
        let words = protocol.bloom().words();
        if bits.len() != words {
            return None;
        }
        let mut filter = [0; WORDS];
        filter[..words].copy_from_slice(bits);
        let fits = filter.iter().zip(protocol.bloom().full()).all(|(bits, full)| bits & !full == 0);
        fits.then_some(filter)
    }

    /// The cohort, which every report shows.
    pub fn cohort(&self) -> u32 {
        self.cohort
    }

    /// The number of distinct strings so far: ε_∞ is spent once for each.
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

const MALFORMED: Error = Error::Malformed { expected: "a memory of this protocol" };

/// The number of distinct strings that one device reports on, which the promise of a collection
/// allows for.
const STRINGS: u32 = 1;
