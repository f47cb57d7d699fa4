//! Taking one layer off many records, each record once.

use crate::Error;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use throng_wire::{LAYER, Loss, Opener};

/// The records that have passed, each known by the first 16 bytes of its SHA-256.
///
/// Whole records are compared. An altered copy does not open, and counting it against the original
/// would let whoever sends it first have the original dropped.
#[derive(Default)]
pub struct Fingerprints {
    /// The hashes of other batches.
    before: HashSet<u128>,
    /// The hashes of this batch.
    here: HashSet<u128>,
}

impl Fingerprints {
    /// Adds a record, and returns true if it is new.
    pub fn insert(&mut self, record: &[u8]) -> bool {
        let hash = Sha256::digest(record);
        let hash = u128::from_be_bytes(*hash.first_chunk().expect("SHA-256 has 32 bytes"));
        !self.before.contains(&hash) && self.here.insert(hash)
    }

    /// Adds the hashes of another batch, as [`Fingerprints::to_bytes`] wrote them.
    pub fn extend(&mut self, bytes: &[u8]) {
        let hashes = bytes.as_chunks::<16>().0.iter().map(|hash| u128::from_be_bytes(*hash));
        self.before.extend(hashes);
    }

    /// The hashes of this batch alone, so that it can be counted again after a crash, whatever
    /// other batches were counted in between. They are in ascending order, so that nothing tells
    /// which came first.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut hashes: Vec<u128> = self.here.iter().copied().collect();
        hashes.sort_unstable();
        hashes.into_iter().flat_map(u128::to_be_bytes).collect()
    }
}

/// Opens records in chunks, counting what it leaves out.
#[derive(Default)]
pub struct Peeler {
    /// The records that are left out when they come again.
    pub seen: Fingerprints,
    len: usize,
    threads: usize,
    fresh: Vec<u8>,
    opened: Vec<u8>,
    ok: Vec<bool>,
    /// Records that opened.
    pub valid: u64,
    /// Records that were left out.
    pub loss: Loss,
}

impl Peeler {
    /// A peeler of records of `len` bytes that leaves out those `seen` before.
    pub fn new(seen: Fingerprints, len: usize, threads: usize) -> Self {
        Self { seen, len, threads, ..Self::default() }
    }

    /// Opens whole records, given back to back, and shows what was in each.
    pub fn peel<E: From<Error>>(
        &mut self,
        opener: &Opener,
        records: &[u8],
        mut show: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.fresh.clear();
        for record in records.chunks_exact(self.len) {
            if self.seen.insert(record) {
                self.fresh.extend_from_slice(record);
            } else {
                self.loss.replayed += 1;
            }
        }
        let count = self.fresh.len() / self.len;
        self.opened.clear();
        self.opened.resize(count * (self.len - LAYER), 0);
        self.ok.clear();
        self.ok.resize(count, false);
        opener
            .open_batch(&self.fresh, self.len, &mut self.opened, &mut self.ok, self.threads)
            .map_err(Error::from)?;
        for (opened, ok) in self.opened.chunks_exact(self.len - LAYER).zip(&self.ok) {
            if *ok {
                self.valid += 1;
                show(opened)?;
            } else {
                self.loss.malformed += 1;
            }
        }
        Ok(())
    }
}
