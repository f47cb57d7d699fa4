//! What survives a crash: rows, logs of reports, blobs and secrets.
//!
//! [`DiskStore`] keeps them in one directory; [`MemoryStore`] is a simulated disk that fails where a
//! test says. The state machines' drivers are generic over [`Store`], so every step of theirs can be
//! interrupted in a test.

mod disk;
mod files;
mod log;
mod memory;
mod pending;
mod rows;
mod secrets;
mod segment;

pub use disk::DiskStore;
pub use memory::{Fault, Faults, MemoryStore, Operation};
pub use pending::Pending;

use aws_lc_rs::hkdf::{self, HKDF_SHA256};
use std::fmt;
use std::io::{self, Read, Seek, Write};
use throng_wire::{CollectionId, LayerSecret};
use zeroize::Zeroizing;

/// Durable state of one server.
///
/// # Contract
///
/// What a call returned `Ok` for survives a crash. What a call returned `Err` for may or may not have
/// happened; every call may be repeated. Names of blobs and secrets are lower-case letters, digits,
/// `-`, `_` and `.`, not first a dot.
///
/// ```
/// use throng_server::{Change, MemoryStore, Store, StoreError};
///
/// fn remember(store: &dyn Store) -> Result<(), StoreError> {
///     store.commit(&[Change::Put { table: "t", key: "a-1", value: b"1" }])?;
///     store.put_secret("key", b"secret")
/// }
///
/// let store = MemoryStore::new();
/// remember(&store)?;
/// remember(&store)?;
/// assert_eq!(store.rows("t", "a-")?, [("a-1".to_owned(), b"1".to_vec())]);
/// assert!(store.put_secret("key", b"another").is_err());
/// # Ok::<(), throng_server::StoreError>(())
/// ```
pub trait Store: Send + Sync + 'static {
    /// The rows of a table whose key begins with `prefix`, ordered by key.
    fn rows(&self, table: &str, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// Makes all changes, in order, or none.
    fn commit(&self, changes: &[Change<'_>]) -> Result<(), StoreError>;

    /// Adds records of `each` bytes, back to back, to a log that is created when absent. They are
    /// durable once the answer is there, all or none; many calls share one write to disk, and records
    /// written together are sorted, so that their order of arrival is not kept. Only the first call for
    /// a log touches the disk before it returns.
    fn submit(&self, log: &LogName, key: &LogKey, records: &[u8], each: usize) -> Pending;

    /// [`Store::submit`], and waits.
    fn append(
        &self,
        log: &LogName,
        key: &LogKey,
        records: &[u8],
        each: usize,
    ) -> Result<(), StoreError> {
        self.submit(log, key, records, each).wait()
    }

    /// Ends a log, present or not: what was submitted is on disk on return, and every later record is
    /// refused with [`StoreError::Closed`] until the log is removed.
    fn close_log(&self, log: &LogName) -> Result<(), StoreError>;

    /// Shows all durable records of a log in chunks of whole records. An absent log is empty.
    fn read_log(
        &self,
        log: &LogName,
        key: &LogKey,
        each: usize,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Deletes a log. An absent one is fine.
    fn remove_log(&self, log: &LogName) -> Result<(), StoreError>;

    /// A new blob, which appears under its name, or replaces the one there, when it is finished.
    fn create(&self, blob: &str) -> Result<Box<dyn BlobWriter>, StoreError>;

    /// A finished blob.
    fn open(&self, blob: &str) -> Result<Box<dyn Blob>, StoreError>;

    /// Deletes a blob. An absent one is fine.
    fn remove(&self, blob: &str) -> Result<(), StoreError>;

    /// The names of all finished blobs, in order.
    fn blobs(&self) -> Result<Vec<String>, StoreError>;

    /// Keeps a secret under a name. The same secret again is fine; another one never replaces it.
    fn put_secret(&self, name: &str, secret: &[u8]) -> Result<(), StoreError>;

    /// The secret of that name, if there is one.
    fn secret(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError>;

    /// Overwrites a secret, then removes it. An absent one is fine.
    fn destroy_secret(&self, name: &str) -> Result<(), StoreError>;

    /// The names of all secrets, in order.
    fn secrets(&self) -> Result<Vec<String>, StoreError>;

    /// Room for intermediate results, gone when it is dropped and after a crash.
    fn scratch(&self) -> Result<Box<dyn Scratch>, StoreError>;
}

/// One change of a row.
///
/// ```
/// use throng_server::{Change, MemoryStore, Store};
///
/// let store = MemoryStore::new();
/// store.commit(&[
///     Change::Put { table: "t", key: "a", value: b"1" },
///     Change::Put { table: "t", key: "b", value: b"2" },
///     Change::Delete { table: "t", key: "a" },
///     Change::Delete { table: "t", key: "absent" },
/// ])?;
/// assert_eq!(store.rows("t", "")?, [("b".to_owned(), b"2".to_vec())]);
/// # Ok::<(), throng_server::StoreError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Writes a row, whether it exists or not.
    Put {
        /// The table.
        table: &'a str,
        /// The row's key.
        key: &'a str,
        /// The row's new value.
        value: &'a [u8],
    },
    /// Deletes a row, whether it exists or not.
    Delete {
        /// The table.
        table: &'a str,
        /// The row's key.
        key: &'a str,
    },
}

/// Which log: the reports of one epoch of one collection.
///
/// ```
/// use throng_server::LogName;
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

/// What a log is sealed under. Wiped when dropped, and `Debug` does not show it.
///
/// ```
/// use throng_server::{LogKey, LogName, MemoryStore, Store};
/// # use throng_wire::{CollectionId, LayerSecret};
/// # let secret = LayerSecret::from_bytes(&[1; 32]);
/// # let log = LogName { collection: CollectionId::new([0xab; 32]), epoch: 7 };
///
/// let (store, key) = (MemoryStore::new(), LogKey::derive(&secret, 7));
/// store.append(&log, &key, b"bbaa", 2)?;
/// let mut records = Vec::new();
/// store.read_log(&log, &key, 2, &mut |some| Ok(records.extend_from_slice(some)))?;
/// assert_eq!(records.len(), 4);
///
/// // The key of another epoch does not open it, and no key is shown.
/// assert!(store.read_log(&log, &LogKey::derive(&secret, 8), 2, &mut |_| Ok(())).is_err());
/// assert_eq!(format!("{key:?}"), "LogKey(..)");
/// # Ok::<(), throng_server::StoreError>(())
/// ```
#[derive(Clone)]
pub struct LogKey(Zeroizing<[u8; 32]>);

impl LogKey {
    /// HKDF-SHA256 of the window's secret, so that destroying that secret shreds the logs of the
    /// window.
    pub fn derive(secret: &LayerSecret, epoch: u64) -> Self {
        let window = hkdf::Salt::new(HKDF_SHA256, KEY_LABEL).extract(secret.as_bytes());
        Self(expand(&window, &[&epoch.to_be_bytes()]))
    }

    /// The key of one segment.
    pub(crate) fn segment(&self, salt: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        expand(&hkdf::Salt::new(HKDF_SHA256, salt).extract(&*self.0), &[SEGMENT_LABEL])
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&*self.0, &*other.0).is_ok()
    }
}

impl fmt::Debug for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogKey(..)")
    }
}

/// A blob that is being written. Dropped unfinished, it never existed.
///
/// ```
/// use std::io::Write;
/// use throng_server::{MemoryStore, Store};
///
/// let store = MemoryStore::new();
/// let mut blob = store.create("batch")?;
/// blob.write_all(b"records")?;
/// assert!(store.open("batch").is_err());
/// blob.finish()?;
/// assert_eq!(store.blobs()?, ["batch"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait BlobWriter: Write + Send {
    /// Makes it durable and visible under its name, at once.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// A finished blob.
///
/// ```
/// use std::io::Read;
/// use throng_server::{MemoryStore, Store};
/// # use std::io::Write;
/// # let store = MemoryStore::new();
/// # let mut blob = store.create("batch")?;
/// # blob.write_all(b"records")?;
/// # blob.finish()?;
///
/// let mut blob = store.open("batch")?;
/// let mut text = String::new();
/// blob.read_to_string(&mut text)?;
/// assert_eq!((&*text, blob.size()), ("records", 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Blob: Read + Seek + Send {
    /// How many bytes it has.
    fn size(&self) -> u64;
}

/// A temporary file without a name.
///
/// ```
/// use std::io::{Read, Seek, Write};
/// use throng_server::{MemoryStore, Store};
///
/// let store = MemoryStore::new();
/// let mut scratch = store.scratch()?;
/// scratch.write_all(b"intermediate")?;
/// scratch.rewind()?;
/// let mut text = String::new();
/// scratch.read_to_string(&mut text)?;
/// assert_eq!(text, "intermediate");
/// assert!(store.blobs()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Scratch: Read + Write + Seek + Send {}

impl<T: Read + Write + Seek + Send> Scratch for T {}

/// Why a store did not do what it was asked. No bytes of records, rows or secrets in here.
///
/// ```
/// use throng_server::{LogKey, LogName, MemoryStore, Store, StoreError};
/// # use throng_wire::{CollectionId, LayerSecret};
/// # let secret = LayerSecret::from_bytes(&[1; 32]);
/// # let log = LogName { collection: CollectionId::new([0xab; 32]), epoch: 7 };
///
/// let (store, key) = (MemoryStore::new(), LogKey::derive(&secret, 7));
/// store.close_log(&log)?;
/// assert_eq!(store.append(&log, &key, b"late", 4), Err(StoreError::Closed));
/// assert!(matches!(store.put_secret("../key", b""), Err(StoreError::Misuse { .. })));
/// # Ok::<(), throng_server::StoreError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("{doing} failed: {kind}")]
    Io {
        /// What it said.
        kind: io::ErrorKind,
        /// What was being done.
        doing: &'static str,
    },
    /// What is on disk is not what was written, or it was written under another key.
    #[error("{what} is damaged, or its key is another one")]
    Corrupt {
        /// What cannot be read.
        what: &'static str,
    },
    /// The log takes no more records.
    #[error("the log is closed")]
    Closed,
    /// More is waiting to be written than the store wants to hold in memory. Later it has room again.
    #[error("the store is busy")]
    Full,
    /// A request that no correct caller makes.
    #[error("{what}")]
    Misuse {
        /// What is wrong with it.
        what: &'static str,
    },
}

impl StoreError {
    /// Says what was being done when the operating system refused.
    pub fn io(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Io { kind: error.kind(), doing }
    }
}

/// Whether a blob or a secret may have this name, which is also that of its file.
fn checked(name: &str) -> Result<&str, StoreError> {
    let allowed = |c: u8| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    match name.as_bytes() {
        [first, ..] if *first != b'.' && name.len() <= MAX_NAME && name.bytes().all(allowed) => {
            Ok(name)
        }
        _ => Err(StoreError::Misuse { what: "a name that no file has" }),
    }
}

/// Whether records come back to back, whole.
fn whole(records: &[u8], each: usize) -> Result<(), StoreError> {
    if each == 0 || !records.len().is_multiple_of(each) {
        return Err(StoreError::Misuse { what: "a part of a record" });
    }
    Ok(())
}

fn expand(from: &hkdf::Prk, info: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    let fits = "32 bytes are one block of HKDF-SHA256";
    from.expand(info, HKDF_SHA256).expect(fits).fill(&mut *key).expect(fits);
    key
}

const KEY_LABEL: &[u8] = b"throng/1 log";

const SEGMENT_LABEL: &[u8] = b"throng/1 segment";

/// File systems allow 255.
const MAX_NAME: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn log(epoch: u64) -> LogName {
        LogName { collection: CollectionId::new([3; 32]), epoch }
    }

    fn key(epoch: u64) -> LogKey {
        LogKey::derive(&LayerSecret::from_bytes(&[9; 32]), epoch)
    }

    fn content(store: &dyn Store, log: &LogName) -> Result<Vec<u8>, StoreError> {
        let mut all = Vec::new();
        store.read_log(log, &key(log.epoch), 2, &mut |records| {
            all.extend_from_slice(records);
            Ok(())
        })?;
        Ok(all)
    }

    /// Runs on an empty store; `reopen` stops it and starts it again.
    fn assert_contract<S: Store>(store: S, reopen: impl Fn(S) -> S) {
        let store = reopen(assert_rows(store));
        assert_eq!(store.rows("a", "").unwrap(), [("x".to_owned(), b"3".to_vec())]);
        assert_eq!(store.rows("b", "").unwrap(), [("y".to_owned(), b"2".to_vec())]);

        let store = reopen(assert_logs(store));
        assert_eq!(store.append(&log(5), &key(5), b"gg", 2), Err(StoreError::Closed));
        assert_eq!(content(&store, &log(5)), Ok(b"aabbccddee".to_vec()));
        store.remove_log(&log(5)).unwrap();
        store.remove_log(&log(5)).unwrap();
        assert_eq!(content(&store, &log(5)), Ok(Vec::new()));
        store.append(&log(5), &key(5), b"hh", 2).unwrap();
        assert_eq!(content(&store, &log(5)), Ok(b"hh".to_vec()));

        let store = reopen(assert_blobs(store));
        assert_eq!(store.blobs().unwrap(), ["one", "two"]);
        let store = reopen(assert_secrets(store));
        assert_eq!(store.secrets().unwrap(), ["window-1"]);
        assert_eq!(content(&store, &log(5)), Ok(b"hh".to_vec()));
    }

    fn assert_rows<S: Store>(store: S) -> S {
        let put = |table, key, value| Change::Put { table, key, value };
        let changes = [put("a", "x", b"1"), put("b", "y", b"2"), put("b", "x", b"5")];
        store.commit(&changes).unwrap();
        let keys = |prefix| -> Vec<String> {
            store.rows("b", prefix).unwrap().into_iter().map(|row| row.0).collect()
        };
        assert_eq!((keys(""), keys("y")), (vec!["x".into(), "y".into()], vec!["y".into()]));
        let gone = Change::Delete { table: "b", key: "x" };
        store.commit(&[put("a", "x", b"3"), gone, gone]).unwrap();
        assert!(store.rows("none", "").unwrap().is_empty());
        store
    }

    fn assert_logs<S: Store>(store: S) -> S {
        assert_eq!(content(&store, &log(5)), Ok(Vec::new()));
        store.append(&log(5), &key(5), b"bbccaa", 2).unwrap();
        store.append(&log(5), &key(5), b"", 2).unwrap();
        store.append(&log(5), &key(5), b"eedd", 2).unwrap();
        assert_eq!(content(&store, &log(5)), Ok(b"aabbccddee".to_vec()));
        assert!(matches!(
            store.append(&log(5), &key(5), b"abc", 2),
            Err(StoreError::Misuse { .. })
        ));
        assert!(matches!(store.append(&log(5), &key(5), b"", 0), Err(StoreError::Misuse { .. })));
        assert!(matches!(
            store.read_log(&log(5), &key(6), 2, &mut |_| Ok(())),
            Err(StoreError::Corrupt { .. })
        ));
        let stop = store.read_log(&log(5), &key(5), 2, &mut |_| Err(StoreError::Full));
        assert_eq!(stop, Err(StoreError::Full));

        store.close_log(&log(5)).unwrap();
        store.close_log(&log(5)).unwrap();
        assert_eq!(store.append(&log(5), &key(5), b"ff", 2), Err(StoreError::Closed));
        // One that never had a record.
        let empty = log(6);
        store.close_log(&empty).unwrap();
        assert_eq!(store.append(&empty, &key(6), b"ff", 2), Err(StoreError::Closed));
        assert_eq!(content(&store, &empty), Ok(Vec::new()));
        store
    }

    fn assert_blobs<S: Store>(store: S) -> S {
        let write = |name: &str, bytes: &[u8]| {
            let mut blob = store.create(name).unwrap();
            blob.write_all(bytes).unwrap();
            blob
        };
        write("one", b"first").finish().unwrap();
        write("one", b"second").finish().unwrap();
        write("two", b"").finish().unwrap();
        write("three", b"third").finish().unwrap();
        drop(write("one", b"never"));
        store.remove("three").unwrap();
        store.remove("three").unwrap();
        let mut text = String::new();
        let mut one = store.open("one").unwrap();
        one.seek(io::SeekFrom::Start(3)).unwrap();
        one.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), one.size()), ("ond", 6));
        let absent = store.open("three").err();
        assert!(matches!(absent, Some(StoreError::Io { kind: io::ErrorKind::NotFound, .. })));
        for name in ["", ".hidden", "../up", "a/b", "Ä", &"a".repeat(201)] {
            assert!(matches!(store.create(name).err(), Some(StoreError::Misuse { .. })));
            assert!(matches!(store.put_secret(name, b"s"), Err(StoreError::Misuse { .. })));
        }
        let mut scratch = store.scratch().unwrap();
        scratch.write_all(b"some bytes").unwrap();
        scratch.rewind().unwrap();
        scratch.read_exact(&mut [0; 10]).unwrap();
        store
    }

    fn assert_secrets<S: Store>(store: S) -> S {
        store.put_secret("window-0", b"secret").unwrap();
        store.put_secret("window-1", b"other").unwrap();
        store.put_secret("window-0", b"secret").unwrap();
        assert!(matches!(store.put_secret("window-0", b"Secret"), Err(StoreError::Misuse { .. })));
        assert_eq!(store.secret("window-0").unwrap().unwrap().as_slice(), b"secret");
        store.destroy_secret("window-0").unwrap();
        store.destroy_secret("window-0").unwrap();
        assert!(store.secret("window-0").unwrap().is_none());
        store
    }

    #[test]
    fn the_disk_keeps_the_contract() {
        let directory = tempfile::tempdir().unwrap();
        let open = || DiskStore::open(directory.path()).unwrap();
        assert_contract(open(), |store| {
            drop(store);
            open()
        });
    }

    #[test]
    fn the_simulated_disk_keeps_the_contract() {
        assert_contract(MemoryStore::new(), |store| {
            store.restart();
            store
        });
    }

    #[test]
    fn a_log_key_is_of_one_secret_and_one_epoch_and_does_not_show() {
        assert!(key(1).same(&key(1)));
        assert!(!key(1).same(&key(2)));
        assert!(!key(1).same(&LogKey::derive(&LayerSecret::from_bytes(&[8; 32]), 1)));
        assert_eq!(format!("{:?}", key(1)), "LogKey(..)");
    }
}
