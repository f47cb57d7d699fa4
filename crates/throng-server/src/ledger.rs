//! The privacy that a collection has cost those who took part, release by release.
//!
//! Entries form a chain of hashes, and the newest hash is also kept outside the table. A table that
//! was put back to an older state is refused: it would spend the same budget twice.

use crate::Error;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use throng_account::{Crowd, Epsilon};
use throng_collection::{Account, Disclosure};
use throng_mix::store::StoreError;
use throng_wire::{CollectionId, hex, unhex};

/// One release and its cost.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_server::Ledger;
/// use throng_wire::CollectionId;
///
/// let id = CollectionId::new([7; 32]);
/// let entry = Ledger::open(&id, &[], None)?.entry(0, 1, 1_000, Epsilon::new(0.5)?);
/// let again = Ledger::open(&id, &[entry.to_row()], Some(entry.hash))?;
/// assert_eq!(again.entries(), [entry.clone()]);
///
/// // A row that was changed breaks the chain.
/// let cheaper = String::from_utf8(entry.to_row()).unwrap().replace("0.5", "0.4");
/// assert!(Ledger::open(&id, &[cheaper.into_bytes()], None).is_err());
/// # Ok::<(), throng_server::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The first epoch of the release.
    pub first: u64,
    /// The last epoch of the release.
    pub last: u64,
    /// The number of honest reports in it.
    pub honest: u64,
    /// The total ε after it, at the δ of the lifetime.
    pub total: Epsilon,
    /// The hash of the chain up to here.
    pub hash: [u8; 32],
}

/// The chain of entries of one collection.
///
/// ```
/// use throng_account::Crowd;
/// use throng_collection::{Account, Disclosure, example};
/// use throng_server::Ledger;
/// use throng_wire::CollectionId;
///
/// let (id, crowd) = (CollectionId::new([7; 32]), Crowd::new(1_000)?);
/// let terms = example::terms();
/// let mut account = Account::new(&terms);
/// // As much as one release costs.
/// let lifetime = account.total(&[Disclosure { epochs: 1, honest: crowd }])?;
/// let mut ledger = Ledger::open(&id, &[], None)?;
/// let entry = ledger.charge(&mut account, lifetime, 0, 0, crowd)?;
/// ledger.push(entry.expect("the lifetime allows for one release"));
/// assert_eq!(ledger.charge(&mut account, lifetime, 1, 1, crowd)?, None);
///
/// // A table without the entry is older than what was seen.
/// assert!(Ledger::open(&id, &[], Some(ledger.head())).is_err());
/// # Ok::<(), throng_server::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ledger {
    start: [u8; 32],
    entries: Vec<Entry>,
}

impl Ledger {
    /// Opens a ledger from its rows, oldest first, and the newest hash that was seen. A chain that
    /// is broken or does not contain that hash is refused.
    pub fn open(
        collection: &CollectionId,
        rows: &[Vec<u8>],
        head: Option<[u8; 32]>,
    ) -> Result<Self, Error> {
        let start = Sha256::digest([&b"throng/1 ledger\0"[..], collection.as_bytes()].concat());
        let mut ledger = Self { start: start.into(), entries: Vec::new() };
        for row in rows {
            let entry =
                Entry::parse(row).ok_or(StoreError::Corrupt { what: "a row of the ledger" })?;
            let again = ledger.entry(entry.first, entry.last, entry.honest, entry.total);
            if again != entry {
                return Err(Error::Rollback { reason: "its chain of hashes is broken" });
            }
            ledger.entries.push(entry);
        }
        let seen = |head: &[u8; 32]| {
            *head == ledger.start || ledger.entries.iter().any(|entry| entry.hash == *head)
        };
        if head.as_ref().is_none_or(seen) {
            return Ok(ledger);
        }
        Err(Error::Rollback { reason: "entries that were there before are missing" })
    }

    /// The entry that a release would add, or `None` if the lifetime's ε does not allow for it. The
    /// account is the collection's, and remembers profiles from release to release.
    pub fn charge(
        &self,
        account: &mut Account,
        lifetime: Epsilon,
        first: u64,
        last: u64,
        honest: Crowd,
    ) -> Result<Option<Entry>, Error> {
        let charged = |entry: &Entry| {
            let epochs = entry.last - entry.first + 1;
            Ok(Disclosure { epochs, honest: Crowd::new(entry.honest)? })
        };
        let mut spent = self.entries.iter().map(charged).collect::<Result<Vec<_>, Error>>()?;
        spent.push(Disclosure { epochs: last - first + 1, honest });
        let total = account.total(&spent)?;
        let allowed = total <= lifetime;
        Ok(allowed.then(|| self.entry(first, last, honest.get(), total)))
    }

    /// Adds an entry that is on disk.
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The newest hash.
    pub fn head(&self) -> [u8; 32] {
        self.entries.last().map_or(self.start, |entry| entry.hash)
    }

    /// The entry that a release with this total adds.
    pub fn entry(&self, first: u64, last: u64, honest: u64, total: Epsilon) -> Entry {
        let mut hash = Sha256::new();
        hash.update(self.head());
        for field in [first, last, honest, total.get().to_bits()] {
            hash.update(field.to_be_bytes());
        }
        Entry { first, last, honest, total, hash: hash.finalize().into() }
    }
}

impl Entry {
    /// The bytes of its row.
    pub fn to_row(&self) -> Vec<u8> {
        let row = json!({
            "first": self.first,
            "last": self.last,
            "honest": self.honest,
            "total_epsilon": self.total.get(),
            "hash": hex(&self.hash),
        });
        row.to_string().into_bytes()
    }

    fn parse(row: &[u8]) -> Option<Self> {
        let row: Value = serde_json::from_slice(row).ok()?;
        let (first, last) = (row["first"].as_u64()?, row["last"].as_u64()?);
        if first > last || last == u64::MAX {
            return None;
        }
        Some(Self {
            first,
            last,
            honest: row["honest"].as_u64()?,
            total: Epsilon::new(row["total_epsilon"].as_f64()?).ok()?,
            hash: unhex(row["hash"].as_str()?)?.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(length: u64) -> Ledger {
        let id = CollectionId::new([3; 32]);
        let mut ledger = Ledger::open(&id, &[], None).unwrap();
        for epoch in 0..length {
            let total = Epsilon::new(0.1 * (epoch + 1) as f64).unwrap();
            ledger.push(ledger.entry(epoch, epoch, 1_000, total));
        }
        ledger
    }

    #[test]
    fn a_chain_reads_back_and_an_older_one_is_refused() {
        let id = CollectionId::new([3; 32]);
        let ledger = chain(4);
        let rows: Vec<Vec<u8>> = ledger.entries().iter().map(Entry::to_row).collect();
        let again = Ledger::open(&id, &rows, Some(ledger.head())).unwrap();
        assert_eq!(again.entries(), ledger.entries());
        // One entry more than the head knows is what a crash leaves behind.
        assert!(Ledger::open(&id, &rows, Some(ledger.entries()[2].hash)).is_ok());
        for kept in 0..4 {
            let older = Ledger::open(&id, &rows[..kept], Some(ledger.head()));
            assert!(matches!(older, Err(Error::Rollback { .. })), "{kept}");
        }
    }

    #[test]
    fn no_entry_can_be_altered_moved_or_left_out() {
        let id = CollectionId::new([3; 32]);
        let rows: Vec<Vec<u8>> = chain(3).entries().iter().map(Entry::to_row).collect();
        let refused = |rows: &[Vec<u8>]| Ledger::open(&id, rows, None).is_err();
        assert!(refused(&[rows[1].clone(), rows[0].clone(), rows[2].clone()]));
        assert!(refused(&[rows[0].clone(), rows[2].clone()]));
        let altered = String::from_utf8(rows[1].clone()).unwrap().replace("1000", "2000");
        assert!(refused(&[rows[0].clone(), altered.into_bytes(), rows[2].clone()]));
        assert!(Ledger::open(&CollectionId::new([4; 32]), &rows, None).is_err());
    }
}
