//! Uniformly random order for records of one size, in memory or, when they are many, on disk.
//!
//! ```text
//! shuffle(records):
//!   if they fit into memory: Fisher and Yates
//!   else: put each into one of B scratch files, uniformly and independently;
//!         shuffle(each file); the results one after the other
//! ```
//!
//! Every order is equally likely: renaming the records changes neither the law of their independent
//! uniform files nor, given those, the laws of the orders within (uniform, by induction over
//! depth), so no order differs from another but by names. The number of files, and which of them
//! are split again, depends on counts alone, and counts have no names.

use crate::store::{Blobs, Scratch, StoreError};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use rand_core::CryptoRng;
use std::io::{Read, Seek, Write};
use zeroize::Zeroizing;

/// Collects records and writes them out in uniformly random order, in bounded memory.
///
/// ```
/// use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// use throng_mix::{Shuffler, simulated::MemoryStore};
///
/// let mut rng = ChaCha20Rng::seed_from_u64(1);
/// let blobs = MemoryStore::new().store().blobs;
/// let mut shuffler = Shuffler::new(2, 1 << 20, &*blobs);
/// shuffler.push(b"aabb")?;
/// shuffler.push(b"cc")?;
/// let mut out = Vec::new();
/// let count = shuffler.finish(&mut rng, &mut |some| Ok(out.extend_from_slice(some)))?;
/// let mut records: Vec<&[u8]> = out.chunks(2).collect();
/// records.sort();
/// assert_eq!(records, [b"aa", b"bb", b"cc"]);
/// assert_eq!(count, 3);
/// # Ok::<(), throng_mix::store::StoreError>(())
/// ```
pub struct Shuffler<'a> {
    size: usize,
    limit: usize,
    blobs: &'a dyn Blobs,
    records: Vec<u8>,
    spilled: Option<Pile>,
}

impl<'a> Shuffler<'a> {
    /// A shuffler of records of `size` bytes. Beyond `memory_limit` bytes they go to scratch files
    /// of the store.
    pub fn new(size: usize, memory_limit: usize, blobs: &'a dyn Blobs) -> Self {
        let size = size.max(1);
        // Whole records, at least one, and no more than have an index.
        let limit = (memory_limit / size).clamp(1, u32::MAX as usize) * size;
        Self { size, limit, blobs, records: Vec::new(), spilled: None }
    }

    /// Takes one record, or several back to back.
    pub fn push(&mut self, records: &[u8]) -> Result<(), StoreError> {
        if !records.len().is_multiple_of(self.size) {
            return Err(StoreError::Misuse { what: "a part of a record" });
        }
        for part in records.chunks(self.limit) {
            if self.records.len() + part.len() > self.limit {
                self.spill()?;
            }
            self.records.extend_from_slice(part);
        }
        Ok(())
    }

    /// Hands all records to `out` in uniformly random order, many at a time, and says how many
    /// there are.
    pub fn finish(mut self, rng: &mut impl CryptoRng, out: Out<'_>) -> Result<u64, StoreError> {
        let Some(mut pile) = self.spilled.take() else {
            self.write_shuffled(rng, out)?;
            return Ok((self.records.len() / self.size) as u64);
        };
        pile.write(&mut self.records)?;
        let count = pile.bytes / self.size as u64;
        self.shuffle(pile, rng, out)?;
        Ok(count)
    }

    fn spill(&mut self) -> Result<(), StoreError> {
        let pile = match &mut self.spilled {
            Some(pile) => pile,
            none => none.insert(Pile::new(self.blobs)?),
        };
        pile.write(&mut self.records)
    }

    /// Shuffles a pile, which may be more than fits into memory.
    fn shuffle(
        &mut self,
        mut pile: Pile,
        rng: &mut impl CryptoRng,
        out: Out<'_>,
    ) -> Result<(), StoreError> {
        if pile.bytes <= self.limit as u64 {
            pile.read(&mut self.records, pile.bytes as usize)?;
            return self.write_shuffled(rng, out);
        }
        self.scatter(pile, rng)?.into_iter().try_for_each(|part| self.shuffle(part, rng, out))
    }

    /// Puts each record into one of several piles, enough of them that most fit into memory.
    fn scatter(
        &mut self,
        mut pile: Pile,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Pile>, StoreError> {
        let fitting = pile.bytes.div_ceil(self.limit as u64);
        let piles = (2 * fitting).clamp(2, MAX_PILES) as usize;
        let mut parts = Vec::new();
        for _ in 0..piles {
            parts.push((Pile::new(self.blobs)?, Vec::new()));
        }
        // Half of the memory for what is read, half for what waits to be written.
        let chunk = (self.limit / 2 / self.size).max(1) * self.size;
        let mut left = pile.bytes;
        while left > 0 {
            let bytes = left.min(chunk as u64);
            pile.read(&mut self.records, bytes as usize)?;
            left -= bytes;
            for record in self.records.chunks(self.size) {
                let (part, waiting) = &mut parts[below(piles as u64, rng) as usize];
                waiting.extend_from_slice(record);
                if waiting.len() >= chunk / piles {
                    part.write(waiting)?;
                }
            }
        }
        let written = parts.into_iter().map(|(mut part, mut waiting)| {
            part.write(&mut waiting)?;
            Ok(part)
        });
        written.collect()
    }

    /// Hands over the records in memory, at most 2³² − 1, in uniformly random order: Fisher and
    /// Yates on their indices, with exactly uniform draws. The records themselves are moved once,
    /// straight to where they go.
    fn write_shuffled(&self, rng: &mut impl CryptoRng, out: Out<'_>) -> Result<(), StoreError> {
        let mut order: Vec<u32> = (0..(self.records.len() / self.size) as u32).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, below(last as u64 + 1, rng) as usize);
        }
        let mut gathered = Vec::new();
        for some in order.chunks((GATHERED / self.size).max(1)) {
            gathered.clear();
            for &index in some {
                let start = index as usize * self.size;
                gathered.extend_from_slice(&self.records[start..][..self.size]);
            }
            out(&gathered)?;
        }
        Ok(())
    }
}

/// A function that takes records in their new order.
type Out<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), StoreError>;

/// A number that is exactly uniform among `0..n`, for `n ≥ 1`: the high half of a product, redrawn
/// while its low half falls among the few that would make some values likelier (Lemire, "Fast
/// Random Integer Generation in an Interval", 2019).
fn below(n: u64, rng: &mut impl CryptoRng) -> u64 {
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(n);
        let low = product as u64;
        if low >= n || low >= n.wrapping_neg() % n {
            return (product >> 64) as u64;
        }
    }
}

/// Records in a scratch file: written, then read.
///
/// The order of a pile, beside that of the batch it becomes, is a part of the permutation. What is
/// left of the file on the disk is therefore encrypted, under a key that is in memory only.
struct Pile {
    scratch: Box<dyn Scratch>,
    key: Zeroizing<[u8; 32]>,
    cipher: ChaCha20,
    bytes: u64,
    rewound: bool,
}

impl Pile {
    fn new(blobs: &dyn Blobs) -> Result<Self, StoreError> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(|_| StoreError::Randomness)?;
        let cipher = stream(&key);
        Ok(Self { scratch: blobs.scratch()?, key, cipher, bytes: 0, rewound: false })
    }

    /// Moves records to the file.
    fn write(&mut self, records: &mut Vec<u8>) -> Result<(), StoreError> {
        self.cipher.apply_keystream(records);
        self.scratch.write_all(records).map_err(StoreError::io("writing scratch"))?;
        self.bytes += records.len() as u64;
        records.clear();
        Ok(())
    }

    /// Reads the next `bytes` of the file.
    fn read(&mut self, records: &mut Vec<u8>, bytes: usize) -> Result<(), StoreError> {
        let doing = StoreError::io("reading scratch");
        if !self.rewound {
            self.scratch.rewind().map_err(&doing)?;
            self.cipher = stream(&self.key);
            self.rewound = true;
        }
        records.resize(bytes, 0);
        self.scratch.read_exact(records).map_err(&doing)?;
        self.cipher.apply_keystream(records);
        Ok(())
    }
}

/// The keystream of a key that is used once, from its beginning.
fn stream(key: &[u8; 32]) -> ChaCha20 {
    ChaCha20::new(&(*key).into(), &[0; 12].into())
}

/// The number of bytes that are written at once.
const GATHERED: usize = 1 << 18;

/// The most files that are open at once for each level of splitting.
const MAX_PILES: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::MemoryStore;
    use crate::store::Store;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    use std::collections::HashMap;
    use throng_account::Delta;
    use throng_account::tail::success_band;

    /// Fails a correct shuffle with probability at most `alpha`: exact binomial tails, and a union
    /// bound over cells and tails.
    #[track_caller]
    fn assert_fits(observed: &[u64], p: &[f64], alpha: f64) {
        let draws = observed.iter().sum();
        let failure = Delta::new(alpha / (2.0 * observed.len() as f64)).unwrap();
        for (cell, (&count, &p)) in observed.iter().zip(p).enumerate() {
            let band = success_band(count, draws, failure);
            assert!(band.lower <= p && p <= band.upper, "cell {cell}: {count} of {draws} at {p}");
        }
    }

    /// Shuffles records that are their numbers, in two bytes; `room` of them fit into memory.
    fn shuffled(n: u16, room: usize, blobs: &dyn Blobs, rng: &mut ChaCha12Rng) -> Vec<u16> {
        let mut shuffler = Shuffler::new(2, 2 * room, blobs);
        for i in 0..n {
            shuffler.push(&i.to_be_bytes()).unwrap();
        }
        let (out, count) = finished(shuffler, rng);
        assert_eq!(count, u64::from(n));
        out
    }

    fn finished(shuffler: Shuffler<'_>, rng: &mut ChaCha12Rng) -> (Vec<u16>, u64) {
        let mut out = Vec::new();
        let mut take = |records: &[u8]| {
            out.extend(records.chunks(2).map(|r| u16::from_be_bytes([r[0], r[1]])));
            Ok(())
        };
        let count = shuffler.finish(rng, &mut take).unwrap();
        (out, count)
    }

    /// 15 laws at 1e-9 each: fails a correct shuffle with probability below 2e-8.
    #[test]
    fn every_order_is_as_likely_in_memory_and_on_disk() {
        let (store, mut rng) = (MemoryStore::new(), ChaCha12Rng::seed_from_u64(1));
        for n in 1..=5_u16 {
            let orders = (1..=usize::from(n)).product::<usize>();
            // All in memory; one at a time, by repeated splitting; two at a time.
            for room in [8, 1, 2] {
                let mut observed = HashMap::new();
                for _ in 0..200 * orders {
                    *observed.entry(shuffled(n, room, &store, &mut rng)).or_insert(0) += 1;
                }
                assert_eq!(observed.len(), orders);
                let observed: Vec<u64> = observed.into_values().collect();
                assert_fits(&observed, &vec![1.0 / orders as f64; orders], 1e-9);
            }
        }
    }

    /// Counts where three of a thousand records land, in tenths, and where two of them land
    /// together, in halves. 8 laws at 1e-9 each: fails a correct shuffle with probability below
    /// 1e-8.
    #[test]
    fn records_land_anywhere_and_independently_of_each_other() {
        let (store, mut rng) = (MemoryStore::new(), ChaCha12Rng::seed_from_u64(2));
        for room in [1000, 70] {
            let (mut tenths, mut halves) = ([[0; 10]; 3], [0; 4]);
            for _ in 0..2000 {
                let order = shuffled(1000, room, &store, &mut rng);
                let place = |record| order.iter().position(|&r| r == record).unwrap();
                let places = [0, 1, 999].map(place);
                for (tenths, place) in tenths.iter_mut().zip(places) {
                    tenths[place / 100] += 1;
                }
                halves[places[0] / 500 * 2 + places[1] / 500] += 1;
            }
            for observed in tenths {
                assert_fits(&observed, &[0.1; 10], 1e-9);
            }
            // 500 of 1000 places for the first, then 499 or 500 of 999 for the second.
            let (same, other) = (0.5 * 499.0 / 999.0, 0.5 * 500.0 / 999.0);
            assert_fits(&halves, &[same, other, other, same], 1e-9);
        }
    }

    #[test]
    fn files_give_the_same_order_as_memory_and_leave_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let stores = [Store::on_disk(directory.path()).unwrap(), MemoryStore::new().store()];
        let rng = || ChaCha12Rng::seed_from_u64(3);
        let orders = stores.map(|store| shuffled(5000, 100, &*store.blobs, &mut rng()));
        assert_eq!(orders[0], orders[1]);
        let mut sorted = orders[0].clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..5000));
        assert!(std::fs::read_dir(directory.path().join("partial")).unwrap().next().is_none());
    }

    #[test]
    fn several_records_at_once_are_like_one_after_the_other() {
        let (store, rng) = (MemoryStore::new(), || ChaCha12Rng::seed_from_u64(4));
        let mut shuffler = Shuffler::new(2, 20, &store);
        let all: Vec<u8> = (0..100_u16).flat_map(u16::to_be_bytes).collect();
        assert!(shuffler.push(&all[..3]).is_err());
        shuffler.push(&all).unwrap();
        let expected = shuffled(100, 10, &store, &mut rng());
        assert_eq!(finished(shuffler, &mut rng()), (expected, 100));
        assert_eq!(finished(Shuffler::new(2, 20, &store), &mut rng()), (Vec::new(), 0));
    }
}
