//! Everything that survives a crash: rows, blobs, logs of reports, and secrets.
//!
//! The four are seams of their own, so that each can be kept somewhere else: [`Rows`] in a
//! database, [`Blobs`] in an object store, [`Logs`] and [`Secrets`] on this machine.
//! [`Store::on_disk`] keeps all of them in one directory; [`crate::simulated`] has a disk that
//! fails where a test says. A new back-end passes [`conformance`].

pub mod conformance;
mod database;
mod disk;
mod files;
mod key;
mod log;
mod log_files;
mod pending;
mod secret_files;
mod segment;
mod version;

pub use key::{RowKey, Table, blob};
pub use pending::{Answer, Pending};

use aws_lc_rs::hkdf::{self, HKDF_SHA256};
use std::fmt;
use std::io::{self, Read, Seek, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use throng_wire::{CollectionId, LayerSecret};
use zeroize::Zeroizing;

/// The durable state of one server. A clone is a handle of the same state.
///
/// # Contract
///
/// The contract holds for all four seams. Whatever a call returned `Ok` for survives a crash.
/// Whatever a call returned `Err` for may or may not have happened; every call may be repeated.
/// Names of blobs and secrets are lower-case letters, digits, `-`, `_` and `.`, and do not begin
/// with a dot.
///
/// ```
/// use throng_mix::simulated::MemoryStore;
/// use throng_mix::store::{Change, RowKey, Store, StoreError, Table};
/// use throng_wire::CollectionId;
///
/// let key = RowKey::at(CollectionId::new([7; 32]), 0);
/// let remember = |store: &Store| {
///     store.rows.commit(&[Change::Put { table: Table::Slots, key: &key, value: b"1" }])?;
///     store.secrets.put("key", b"secret")
/// };
///
/// let store = MemoryStore::new().store();
/// remember(&store)?;
/// remember(&store)?;
/// assert_eq!(store.rows.get(Table::Slots, &key)?, Some(b"1".to_vec()));
/// assert!(store.secrets.put("key", b"another").is_err());
/// # Ok::<(), StoreError>(())
/// ```
#[derive(Clone)]
pub struct Store {
    /// Small state that changes all at once or not at all.
    pub rows: Arc<dyn Rows>,
    /// Batches and other large values.
    pub blobs: Arc<dyn Blobs>,
    /// Reports of open epochs.
    pub logs: Arc<dyn Logs>,
    /// Keys and other secrets.
    pub secrets: Arc<dyn Secrets>,
}

/// Tables of rows.
pub trait Rows: Send + Sync {
    /// The rows of a table whose key begins with `prefix`, ordered by the bytes of their keys.
    fn under(&self, table: Table, prefix: &RowKey) -> Result<Vec<(RowKey, Vec<u8>)>, StoreError>;

    /// Makes all changes, in order, or none.
    fn commit(&self, changes: &[Change<'_>]) -> Result<(), StoreError>;

    /// The row with exactly this key.
    fn get(&self, table: Table, key: &RowKey) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.under(table, key)?;
        Ok(rows.into_iter().find(|(found, _)| found == key).map(|(_, row)| row))
    }

    /// Writes one row, whether it exists or not.
    fn put(&self, table: Table, key: &RowKey, value: &[u8]) -> Result<(), StoreError> {
        self.commit(&[Change::Put { table, key, value }])
    }

    /// Writes one row, unless it exists. It looks first and writes then: where several might write
    /// the row, the caller holds a lock.
    fn put_new(&self, table: Table, key: &RowKey, value: &[u8]) -> Result<(), StoreError> {
        if self.get(table, key)?.is_some() { Ok(()) } else { self.put(table, key, value) }
    }
}

/// One change of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Writes a row, whether it exists or not.
    Put {
        /// The table.
        table: Table,
        /// The row's key.
        key: &'a RowKey,
        /// The row's new value.
        value: &'a [u8],
    },
    /// Deletes a row, whether it exists or not.
    Delete {
        /// The table.
        table: Table,
        /// The row's key.
        key: &'a RowKey,
    },
}

/// Values of any length under names.
///
/// ```
/// use std::io::{Read, Write};
/// use throng_mix::simulated::MemoryStore;
///
/// let blobs = MemoryStore::new().store().blobs;
/// let mut writer = blobs.create("batch")?;
/// writer.write_all(b"records")?;
/// // Dropped here it would never have existed.
/// assert!(blobs.open("batch").is_err());
/// writer.finish()?;
/// assert_eq!((blobs.names()?, blobs.open("batch")?.size), (vec!["batch".into()], 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Blobs: Send + Sync {
    /// Begins a blob, which appears under its name, or replaces the one there, when it is finished.
    fn create(&self, name: &str) -> Result<Box<dyn BlobWriter>, StoreError>;

    /// Opens a finished blob. Removing or replacing it does not disturb whoever has it open.
    /// An absent one is [`StoreError::Io`] with the kind `NotFound`.
    fn open(&self, name: &str) -> Result<Blob, StoreError>;

    /// Deletes a blob. An absent one is fine.
    fn remove(&self, name: &str) -> Result<(), StoreError>;

    /// The names of all finished blobs, in order.
    fn names(&self) -> Result<Vec<String>, StoreError>;

    /// Makes room for intermediate results, which is gone when it is dropped and after a crash.
    fn scratch(&self) -> Result<Box<dyn Scratch>, StoreError>;

    /// Reads a small blob into memory, if there is one of that name.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut blob = match self.open(name) {
            Err(StoreError::Io { kind: io::ErrorKind::NotFound, .. }) => return Ok(None),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        blob.content.read_to_end(&mut bytes).map_err(StoreError::io("reading a blob"))?;
        Ok(Some(bytes))
    }

    /// Writes a small blob whole.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut blob = self.create(name)?;
        blob.write_all(bytes).map_err(StoreError::io("writing a blob"))?;
        blob.finish()
    }
}

/// A blob that is being written. Dropped unfinished, it never existed.
pub trait BlobWriter: Write + Send {
    /// Makes it durable and visible under its name, at once.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// A finished blob.
pub struct Blob {
    /// The number of bytes it has.
    pub size: u64,
    /// All of them.
    pub content: Box<dyn Read + Send>,
}

/// A temporary file without a name.
pub trait Scratch: Read + Write + Seek + Send {}

impl<T: Read + Write + Seek + Send> Scratch for T {}

/// Logs of records that many write and one reads at the end.
///
/// ```
/// use throng_mix::simulated::MemoryStore;
/// use throng_mix::store::{LogKey, LogName, StoreError};
/// use throng_wire::{CollectionId, LayerSecret};
///
/// let secret = LayerSecret::from_bytes(&[1; 32]);
/// let logs = MemoryStore::new().store().logs;
/// let log = LogName { collection: CollectionId::new([0xab; 32]), epoch: 7 };
/// // Records of two bytes.
/// let key = LogKey::derive(&secret, 7, 2);
/// logs.append(&log, &key, b"bbaa")?;
/// logs.close(&log)?;
/// assert_eq!(logs.append(&log, &key, b"late"), Err(StoreError::Closed));
///
/// let mut records = Vec::new();
/// logs.visit(&log, &key, |some| Ok::<_, StoreError>(records.extend_from_slice(some)))?;
/// assert_eq!(records.len(), 4);
/// // The key of another epoch does not open it.
/// let other = LogKey::derive(&secret, 8, 2);
/// assert!(logs.visit(&log, &other, |_| Ok::<_, StoreError>(())).is_err());
/// # Ok::<(), StoreError>(())
/// ```
pub trait Logs: Send + Sync {
    /// Adds records, back to back, to a log that is created when absent. They are durable once the
    /// answer is there, all or none; many calls share one write to disk, and records written
    /// together are sorted, so that their order of arrival is not kept. Only the first call for a
    /// log may wait before it returns.
    fn submit(&self, log: &LogName, key: &LogKey, records: &[u8]) -> Pending;

    /// Ends a log, present or not: what was submitted is durable on return, and every later record
    /// is refused with [`StoreError::Closed`] until the log is removed.
    fn close(&self, log: &LogName) -> Result<(), StoreError>;

    /// Shows all durable records of a log in chunks of whole records, until `visit` breaks off. An
    /// absent log is empty.
    fn read(&self, log: &LogName, key: &LogKey, visit: Visit<'_>) -> Result<(), StoreError>;

    /// Deletes a log. An absent one is fine.
    fn remove(&self, log: &LogName) -> Result<(), StoreError>;

    /// The number of bytes that wait for the next write to disk, where there are any.
    fn waiting(&self) -> u64 {
        0
    }

    /// Adds records as [`Logs::submit`] does, and waits until they are durable.
    fn append(&self, log: &LogName, key: &LogKey, records: &[u8]) -> Result<(), StoreError> {
        self.submit(log, key, records).wait()
    }
}

/// A function that is shown records and says whether it wants more.
pub type Visit<'a> = &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>;

impl dyn Logs {
    /// Reads as [`Logs::read`] does, for a `visit` that may fail on the way.
    pub fn visit<E: From<StoreError>>(
        &self,
        log: &LogName,
        key: &LogKey,
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut visited = Ok(());
        let reading = self.read(log, key, &mut |records| {
            visited = visit(records);
            if visited.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        visited?;
        Ok(reading?)
    }
}

/// Secrets under names.
pub trait Secrets: Send + Sync {
    /// Keeps a secret under a name. The same secret again is fine; another one never replaces it.
    fn put(&self, name: &str, secret: &[u8]) -> Result<(), StoreError>;

    /// The secret of that name, if there is one.
    fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError>;

    /// Overwrites a secret, then removes it. An absent one is fine.
    fn destroy(&self, name: &str) -> Result<(), StoreError>;

    /// The names of all secrets, in order.
    fn names(&self) -> Result<Vec<String>, StoreError>;
}

/// The name of a log: the reports of one epoch of one collection.
///
/// ```
/// use throng_mix::store::LogName;
/// use throng_wire::CollectionId;
///
/// let log = LogName { collection: CollectionId::new([0xab; 32]), epoch: 7 };
/// assert_eq!(log.to_string(), format!("{}-7", log.collection));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogName {
    /// The collection.
    pub collection: CollectionId,
    /// The epoch.
    pub epoch: u64,
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.collection, self.epoch)
    }
}

/// The key that a log is sealed under, for records of one length. It is wiped when dropped, and
/// `Debug` does not show it.
#[derive(Clone)]
pub struct LogKey {
    key: Zeroizing<[u8; 32]>,
    each: usize,
}

impl LogKey {
    /// Derives the key by HKDF-SHA256 from the window's secret, so that destroying that secret
    /// shreds the logs of the window. Records have `each` bytes.
    pub fn derive(secret: &LayerSecret, epoch: u64, each: usize) -> Self {
        let window = hkdf::Salt::new(HKDF_SHA256, KEY_LABEL).extract(secret.as_bytes());
        Self { key: expand(&window, &[&epoch.to_be_bytes()]), each }
    }

    /// The number of bytes of a record.
    pub fn each(&self) -> usize {
        self.each
    }

    /// A key for one part of the log, which has a salt of its own.
    pub fn segment(&self, salt: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        expand(&hkdf::Salt::new(HKDF_SHA256, salt).extract(&*self.key), &[SEGMENT_LABEL])
    }

    /// Compares two keys in constant time.
    pub fn same(&self, other: &Self) -> bool {
        self.each == other.each && equal(&*self.key, &*other.key)
    }

    /// Refuses records that do not come back to back, whole.
    pub(crate) fn whole(&self, records: &[u8]) -> Result<(), StoreError> {
        let whole = self.each > 0 && records.len().is_multiple_of(self.each);
        if whole { Ok(()) } else { Err(StoreError::Misuse { what: "a part of a record" }) }
    }
}

impl fmt::Debug for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogKey(..)")
    }
}

/// The reason why a store did not do what it was asked. There are no bytes of records, rows or
/// secrets in here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("{doing} failed: {kind}")]
    Io {
        /// The kind of its error.
        kind: io::ErrorKind,
        /// The task that failed.
        doing: &'static str,
    },
    /// The bytes on disk are not those that were written, or were written under another key.
    #[error("{what} is damaged, or its key is another one")]
    Corrupt {
        /// The thing that cannot be read.
        what: &'static str,
    },
    /// The data directory was opened by a newer build, which may have written what this one cannot
    /// read.
    #[error(
        "the data directory has version {found}, and this build reads versions up to {known}; \
         start the newer build that used it last, or choose another directory"
    )]
    Newer {
        /// The directory's version.
        found: u64,
        /// The newest version that this build reads.
        known: u64,
    },
    /// The log takes no more records.
    #[error("the log is closed")]
    Closed,
    /// More is waiting to be written than the store wants to hold in memory. Later it has room
    /// again.
    #[error("the store is busy")]
    Full,
    /// The operating system gives no random bytes.
    #[error("the system has no random bytes")]
    Randomness,
    /// The request is one that no correct caller makes.
    #[error("{what}")]
    Misuse {
        /// The fault in the request.
        what: &'static str,
    },
}

impl StoreError {
    /// Wraps an error of the operating system together with the task that failed.
    pub fn io(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Io { kind: error.kind(), doing }
    }
}

/// Checks that a name may be that of a blob or a secret, and so of its file.
pub(crate) fn checked(name: &str) -> Result<&str, StoreError> {
    let allowed = |c: u8| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    let fits = (1..=MAX_NAME).contains(&name.len());
    let fine = fits && !name.starts_with('.') && name.bytes().all(allowed);
    if fine { Ok(name) } else { Err(StoreError::Misuse { what: "a name that no file has" }) }
}

/// Compares secrets of the same length in constant time.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(a, b).is_ok()
}

pub(crate) fn expand(from: &hkdf::Prk, info: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    let fits = "32 bytes are one block of HKDF-SHA256";
    from.expand(info, HKDF_SHA256).expect(fits).fill(&mut *key).expect(fits);
    key
}

/// The error for a secret under a name that another one has.
pub(crate) const ANOTHER: StoreError = StoreError::Misuse { what: "another secret of that name" };

const KEY_LABEL: &[u8] = b"throng/1 log";

const SEGMENT_LABEL: &[u8] = b"throng/1 segment";

/// The longest name in bytes. File systems allow 255.
const MAX_NAME: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::MemoryStore;

    #[test]
    fn the_disk_keeps_the_contract() {
        let directory = tempfile::tempdir().unwrap();
        conformance::store(|| Store::on_disk(directory.path()).unwrap());
    }

    #[test]
    fn the_simulated_disk_keeps_the_contract() {
        let memory = MemoryStore::new();
        conformance::store(|| {
            memory.restart();
            memory.store()
        });
    }

    #[test]
    fn a_log_key_is_of_one_secret_and_one_epoch_and_does_not_show() {
        let derive =
            |seed, epoch, each| LogKey::derive(&LayerSecret::from_bytes(&[seed; 32]), epoch, each);
        let key = |seed, epoch| derive(seed, epoch, 2);
        assert!(key(9, 1).same(&key(9, 1)));
        assert!(!key(9, 1).same(&derive(9, 1, 3)));
        assert!(!key(9, 1).same(&key(9, 2)));
        assert!(!key(9, 1).same(&key(8, 1)));
        assert_eq!(format!("{:?}", key(9, 1)), "LogKey(..)");
    }
}
