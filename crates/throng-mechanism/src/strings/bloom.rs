//! The bits of a Bloom filter that a string sets: public, and the same on every machine.
//!
//! Every cohort has its own hash functions, so two strings that share bits in one cohort are apart
//! in most others.
//!
//! ```text
//! mix(z)     z + 0x9e3779b97f4a7c15, then SplitMix64's finaliser
//! digest     SipHash-2-4(key = (seed, 0), string), strings as UTF-8 bytes
//! bit i      of h in cohort c: t = ⌊mix(mix(digest ⊕ mix(c)) + i)·(j + 1)/2⁶⁴⌋ with j = k − h + i,
//!            or j where t is taken
//! ```
//!
//! The last line is Floyd's way to a uniform set of h distinct bits of k (Bentley and Floyd, "A
//! Sample of Brilliance", 1987). The finaliser is that of Steele, Lea, Flood, "Fast Splittable
//! Pseudorandom Number Generators" (2014). Nothing here is secret, and nothing rests on collisions
//! being hard to find: whoever makes up strings with shared bits spoils the estimates of those
//! strings and nobody's privacy.

use crate::strings::siphash::siphash;
use crate::{Error, require};

/// The bits of a filter, 64 to a word from the least significant on; words past the last are 0.
pub type Filter = [u64; WORDS];

/// The map from strings to filters.
///
/// ```
/// use throng_mechanism::{Bloom, packed};
///
/// let bloom = Bloom::new(128, 2, 64, 7)?;
/// let digest = bloom.digest("firefox");
/// let filter = bloom.filter(digest, 0);
/// assert_eq!((packed::ones(&filter), bloom.words()), (2, 2));
///
/// // In another cohort the same string sets other bits, with other strings beside it.
/// assert_ne!(bloom.filter(digest, 1), filter);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bloom {
    bits: u32,
    hashes: u32,
    cohorts: u32,
    pub(super) seed: u64,
}

impl Bloom {
    /// Filters of 2 to 512 `bits`, of which a string sets `hashes`, fewer than there are; 1 to 4096
    /// `cohorts`. The `seed` sets collections apart.
    pub fn new(bits: u32, hashes: u32, cohorts: u32, seed: u64) -> Result<Self, Error> {
        require((2..=64 * WORDS as u32).contains(&bits), "bits", "2 to 512")?;
        require((1..bits).contains(&hashes), "hashes", "1 or more, and fewer than bits")?;
        require((1..=4096).contains(&cohorts), "cohorts", "1 to 4096")?;
        Ok(Self { bits, hashes, cohorts, seed })
    }

    /// The number of bits of a filter.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of bits that a string sets.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// The number of sets of hash functions.
    pub fn cohorts(&self) -> u32 {
        self.cohorts
    }

    /// The number of 64-bit words that hold a filter.
    pub fn words(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// A string as 64 bits. The work depends on its length only.
    #[inline]
    pub fn digest(&self, value: &str) -> u64 {
        siphash(self.seed, 0, value.as_bytes())
    }

    /// The filter of a digest in a cohort. The work does not depend on the digest.
    #[inline]
    pub fn filter(&self, digest: u64, cohort: u32) -> Filter {
        let key = mix(digest ^ mix(u64::from(cohort)));
        let mut filter = [0; WORDS];
        let words = &mut filter[..self.words()];
        for i in 0..u64::from(self.hashes) {
            let last = u64::from(self.bits - self.hashes) + i;
            let random = mix(key.wrapping_add(i));
            let place = ((u128::from(random) * u128::from(last + 1)) >> 64) as u64;
            // All words are read and written, whichever holds the place.
            let at = |word: usize, place: u64| u64::from(place / 64 == word as u64) << (place % 64);
            let hits = words.iter().enumerate().map(|(word, bits)| bits & at(word, place));
            let taken = u64::from(hits.fold(0, |any, hit| any | hit) != 0);
            let place = place ^ ((place ^ last) & taken.wrapping_neg());
            words.iter_mut().enumerate().for_each(|(word, bits)| *bits |= at(word, place));
        }
        filter
    }

    /// True if these are the words of a filter: as many, and without bits past the last.
    #[inline]
    pub(crate) fn fits(&self, words: &[u64]) -> bool {
        let within = |(bits, full): (&u64, u64)| bits & !full == 0;
        words.len() == self.words() && words.iter().zip(self.full()).all(within)
    }

    /// The words of a filter with all its bits set.
    pub(crate) fn full(&self) -> Filter {
        std::array::from_fn(|word| {
            let bits = self.bits.saturating_sub(64 * word as u32);
            if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
        })
    }
}

/// One to one on 64 bits; each bit of the input changes each bit of the output half the time.
#[inline]
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e3779b97f4a7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
    z ^ (z >> 31)
}

/// Words of the widest filter.
pub(crate) const WORDS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::binomial_tails;

    // SplitMix64 from state 0 gives these first.
    #[test]
    fn the_mixer_is_the_published_one() {
        assert_eq!(mix(0), 0xe220a8397b1dcdaf);
        assert_eq!(mix(0x9e3779b97f4a7c15), 0x6e789e6aa1b965f4);
        assert_eq!(mix(0x9e3779b97f4a7c15_u64.wrapping_mul(2)), 0x06c45d188009454f);
    }

    // Clients and analyzers of different releases have to agree: these never change.
    #[test]
    fn filters_are_what_they_were() {
        let bloom = Bloom::new(128, 2, 8, 1).unwrap();
        let strings =
            ["a", "example", "examples", "example.c", "https://example.com/a/longer/path"];
        let digests = strings.map(|value| bloom.digest(value));
        let expected = [
            0xb756d69b679d63d1,
            0xac19314eb847ac28,
            0xb2dacf60a980dfdb,
            0x80e5fc882dae3bc2,
            0x8ccfc1ae28c49c34,
        ];
        assert_eq!(digests, expected);
        assert_eq!(bloom.filter(digests[1], 3)[..3], [1 << 58, 1 << 36, 0]);
    }

    // 2¹³ flips of a bit of the string, of the seed and of the cohort, 64 outputs each: exact
    // binomial tails, and a union bound of 1e-9.
    #[test]
    fn every_input_bit_changes_every_output_bit_half_the_time() {
        let mut changed = [[0_u64; 64]; 3];
        let flips = 1 << 13;
        for trial in 0..flips {
            let bloom = |seed| Bloom::new(64, 1, 8, seed).unwrap();
            let text = format!("value {trial:0>8}");
            let mut other = text.clone().into_bytes();
            other[trial as usize % 14] ^= 1;
            let other = String::from_utf8(other).unwrap();
            let digest = bloom(7).digest(&text);
            let by_text = digest ^ bloom(7).digest(&other);
            let by_seed = digest ^ bloom(7 ^ 1 << (trial % 64)).digest(&text);
            let by_cohort = mix(digest ^ mix(trial)) ^ mix(digest ^ mix(trial ^ 1));
            for (changed, difference) in changed.iter_mut().zip([by_text, by_seed, by_cohort]) {
                (0..64).for_each(|bit| changed[bit] += difference >> bit & 1);
            }
        }
        for count in changed.iter().flatten() {
            assert!(binomial_tails(flips, 0.5, *count) > 1e-9 / 384.0, "{count} of {flips}");
        }
    }

    // All sets are as likely, over strings and over cohorts: exact binomial tails, union bound
    // 1e-9.
    #[test]
    fn sets_of_bits_are_uniform() {
        for (bits, hashes, sets) in [(4, 2, 6), (5, 3, 10), (70, 1, 70)] {
            let bloom = Bloom::new(bits, hashes, 4096, 99).unwrap();
            let by_string = |i: u64| bloom.filter(bloom.digest(&format!("{i}")), 5);
            let by_cohort = |i: u64| bloom.filter(bloom.digest("one"), i as u32);
            for filter in [&by_string as &dyn Fn(u64) -> Filter, &by_cohort] {
                let mut seen = std::collections::BTreeMap::<Filter, u64>::new();
                (0..4096).for_each(|i| *seen.entry(filter(i)).or_default() += 1);
                assert_eq!(seen.len(), sets);
                for (set, count) in seen {
                    assert_eq!(set.iter().map(|word| word.count_ones()).sum::<u32>(), hashes);
                    let tail = binomial_tails(4096, 1.0 / sets as f64, count);
                    assert!(tail > 1e-9 / 400.0, "{set:?}: {count}");
                }
            }
        }
    }

    // Strings that share a bit in one cohort share one in another as often as strangers do.
    #[test]
    fn cohorts_are_independent() {
        let bloom = Bloom::new(8, 1, 2, 3).unwrap();
        let digests: Vec<u64> = (0..128).map(|i| bloom.digest(&format!("{i}"))).collect();
        let same = |a: u64, b: u64, cohort| bloom.filter(a, cohort) == bloom.filter(b, cohort);
        let mut both = [0; 3];
        for (i, &a) in digests.iter().enumerate() {
            for &b in &digests[..i] {
                both[usize::from(same(a, b, 0)) + usize::from(same(a, b, 1))] += 1;
            }
        }
        // 8128 pairs, 127 expected: five standard deviations.
        assert!((71..184).contains(&both[2]), "{both:?}");
    }

    #[test]
    fn strings_that_end_in_zeros_are_different_strings() {
        let bloom = Bloom::new(32, 2, 64, 0).unwrap();
        let digests = ["", "\0", "\0\0", "a", "a\0", "a\0\0\0\0\0\0\0", "a\0\0\0\0\0\0\0\0"]
            .map(|value| bloom.digest(value));
        let distinct: std::collections::BTreeSet<u64> = digests.into_iter().collect();
        assert_eq!(distinct.len(), digests.len());
    }

    #[test]
    fn nonsense_is_refused() {
        for (bits, hashes, cohorts) in [(1, 1, 1), (513, 2, 1), (8, 0, 1), (8, 8, 1), (8, 2, 0)] {
            assert!(Bloom::new(bits, hashes, cohorts, 0).is_err(), "{bits} {hashes} {cohorts}");
        }
        assert!(Bloom::new(8, 2, 4097, 0).is_err());
        assert!(Bloom::new(512, 511, 4096, 0).is_ok());
        assert_eq!(Bloom::new(65, 1, 1, 0).unwrap().full()[..3], [u64::MAX, 1, 0]);
    }
}
