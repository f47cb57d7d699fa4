//! A simulated disk that fails and crashes where it is told to.
//!
//! [`MemoryStore`] is for deterministic tests of whatever runs over a [`Store`]: count the
//! operations of an undisturbed run with [`MemoryStore::operations`], then repeat it with a crash
//! at every one of them, [`MemoryStore::restart`], and see that nothing acknowledged is lost and
//! nothing happens twice. Clones are handles of the same disk.
//!
//! ```
//! use throng_mix::simulated::{Fault, Faults, MemoryStore};
//! use throng_mix::store::StoreError;
//!
//! let disk = MemoryStore::new();
//! let secrets = disk.store().secrets;
//! disk.set_faults(Faults::at(1, Fault::CrashAfter));
//! secrets.put("a", b"1")?;
//! assert!(secrets.put("b", b"2").is_err());
//! assert!(secrets.names().is_err());
//! disk.restart();
//! assert_eq!(secrets.names()?, ["a", "b"]);
//! # Ok::<(), StoreError>(())
//! ```

use crate::lock;
use crate::store::{
    ANOTHER, Blob, BlobWriter, Blobs, Change, LogKey, LogName, Logs, Pending, RowKey, Rows,
    Scratch, Secrets, Store, StoreError, Table, Visit, checked,
};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use zeroize::Zeroizing;

/// The way in which one operation goes wrong.
///
/// ```
/// use throng_mix::simulated::{Fault, Faults, MemoryStore};
///
/// // Whoever hears of a failure does not know whether it has happened.
/// let disk = MemoryStore::new();
/// let secrets = disk.store().secrets;
/// disk.set_faults(Faults::list([(0, Fault::FailBefore), (1, Fault::FailAfter)]));
/// assert!(secrets.put("a", b"").is_err() && secrets.put("b", b"").is_err());
/// assert_eq!(secrets.names()?, ["b"]);
/// # Ok::<(), throng_mix::store::StoreError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing goes wrong.
    None,
    /// The operation fails, and nothing has happened.
    FailBefore,
    /// The operation fails, but has happened.
    FailAfter,
    /// The machine stops before the operation.
    CrashBefore,
    /// The machine stops after the operation, before anybody is told.
    CrashAfter,
}

/// Decides for each operation, by its number from 0, what goes wrong with it.
///
/// ```
/// use throng_mix::simulated::{Fault, Faults, MemoryStore};
///
/// let disk = MemoryStore::new();
/// disk.set_faults(Faults::at(1, Fault::FailBefore));
/// let blobs = disk.store().blobs;
/// let done = [blobs.names(), blobs.names(), blobs.names()].map(|answer| answer.is_ok());
/// assert_eq!(done, [true, false, true]);
/// ```
#[derive(Default)]
pub struct Faults(Option<Box<dyn FnMut(u64) -> Fault + Send>>);

impl Faults {
    /// No faults: a disk that works.
    pub fn none() -> Self {
        Self::default()
    }

    /// One fault, at the operation of this number.
    pub fn at(step: u64, fault: Fault) -> Self {
        Self::list([(step, fault)])
    }

    /// Faults at the operations of these numbers.
    pub fn list(faults: impl IntoIterator<Item = (u64, Fault)>) -> Self {
        let faults: HashMap<u64, Fault> = faults.into_iter().collect();
        Self::by(move |step| faults.get(&step).copied().unwrap_or(Fault::None))
    }

    /// Faults that a function decides, perhaps with a seeded generator inside.
    pub fn by(decide: impl FnMut(u64) -> Fault + Send + 'static) -> Self {
        Self(Some(Box::new(decide)))
    }
}

/// The simulated disk: what a crash would leave, and failures where a test wants them.
///
/// ```
/// use throng_mix::simulated::{Fault, Faults, MemoryStore};
///
/// let disk = MemoryStore::new();
/// let secrets = disk.store().secrets;
/// secrets.put("key", b"secret")?;
/// disk.set_faults(Faults::at(0, Fault::CrashBefore));
/// assert!(secrets.destroy("key").is_err());
/// assert!(disk.crashed() && secrets.get("key").is_err());
///
/// // A clone is a handle of the same disk.
/// disk.clone().restart();
/// assert_eq!(secrets.get("key")?.unwrap().as_slice(), b"secret");
/// # Ok::<(), throng_mix::store::StoreError>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Machine>>);

impl MemoryStore {
    /// An empty disk that works.
    pub fn new() -> Self {
        Self::default()
    }

    /// A store whose four seams are all this disk.
    pub fn store(&self) -> Store {
        let disk = Arc::new(self.clone());
        Store { rows: disk.clone(), blobs: disk.clone(), logs: disk.clone(), secrets: disk }
    }

    /// Replaces the faults, and counts operations from 0 again.
    pub fn set_faults(&self, faults: Faults) {
        let mut machine = self.lock();
        machine.faults = faults;
        machine.operations = 0;
    }

    /// Starts again after a crash, or without one: durable state is there, unfinished blobs are
    /// gone. The faults stay, and so does the count.
    pub fn restart(&self) {
        let mut machine = self.lock();
        machine.crashed = false;
        machine.life += 1;
    }

    /// The number of operations so far, failed ones included.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// True if every call fails until [`MemoryStore::restart`].
    pub fn crashed(&self) -> bool {
        self.lock().crashed
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        lock(&self.0)
    }
}

impl Rows for MemoryStore {
    fn under(&self, table: Table, prefix: &RowKey) -> Result<Vec<(RowKey, Vec<u8>)>, StoreError> {
        self.lock().operate(|disk| {
            let rows = disk.rows.get(&table).into_iter().flatten();
            let rows = rows.filter(|(key, _)| key.as_str().starts_with(prefix.as_str()));
            rows.map(|(key, value)| (key.clone(), value.clone())).collect()
        })
    }

    fn commit(&self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        self.lock().operate(|disk| {
            for change in changes {
                match *change {
                    Change::Put { table, key, value } => {
                        let table = disk.rows.entry(table).or_default();
                        table.insert(key.clone(), value.to_vec());
                    }
                    Change::Delete { table, key } => {
                        disk.rows.entry(table).or_default().remove(key);
                    }
                }
            }
        })
    }
}

impl Logs for MemoryStore {
    fn submit(&self, log: &LogName, key: &LogKey, records: &[u8]) -> Pending {
        let answer = self.lock().operate(|disk| {
            key.whole(records)?;
            let log = disk.logs.entry(*log).or_default();
            if log.closed {
                return Err(StoreError::Closed);
            }
            log.check(key)?;
            log.key = Some(key.clone());
            let mut group: Vec<&[u8]> = records.chunks(key.each()).collect();
            group.sort_unstable();
            log.records.extend(group.into_iter().flatten());
            Ok(())
        });
        answer.flatten().into()
    }

    fn close(&self, log: &LogName) -> Result<(), StoreError> {
        self.lock().operate(|disk| {
            disk.logs.entry(*log).or_default().closed = true;
        })
    }

    fn read(&self, log: &LogName, key: &LogKey, visit: Visit<'_>) -> Result<(), StoreError> {
        // The records are copied, so that `visit` may use the store.
        let records = self.lock().operate(|disk| match disk.logs.get(log) {
            Some(log) => log.check(key).map(|()| log.records.clone()),
            None => Ok(Vec::new()),
        });
        let _ = records.flatten()?.chunks((key.each() * CHUNK).max(1)).try_for_each(visit);
        Ok(())
    }

    fn remove(&self, log: &LogName) -> Result<(), StoreError> {
        self.lock().operate(|disk| drop(disk.logs.remove(log)))
    }
}

impl Blobs for MemoryStore {
    fn create(&self, name: &str) -> Result<Box<dyn BlobWriter>, StoreError> {
        let name = checked(name)?.to_owned();
        let mut machine = self.lock();
        machine.operate(|_| ())?;
        let (store, life, bytes) = (self.clone(), machine.life, Vec::new());
        Ok(Box::new(Unfinished { store, life, name, bytes }))
    }

    fn open(&self, name: &str) -> Result<Blob, StoreError> {
        let bytes = self.lock().operate(|disk| disk.blobs.get(name).cloned())?;
        let absent = io::ErrorKind::NotFound.into();
        let bytes = bytes.ok_or(absent).map_err(StoreError::io("opening a blob"))?;
        Ok(Blob { size: bytes.len() as u64, content: Box::new(Cursor::new(bytes)) })
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        self.lock().operate(|disk| drop(disk.blobs.remove(name)))
    }

    fn names(&self) -> Result<Vec<String>, StoreError> {
        self.lock().operate(|disk| disk.blobs.keys().cloned().collect())
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, StoreError> {
        self.lock().operate(|_| Box::new(Cursor::new(Vec::new())) as _)
    }
}

impl Secrets for MemoryStore {
    fn put(&self, name: &str, secret: &[u8]) -> Result<(), StoreError> {
        let name = checked(name)?;
        let put = self.lock().operate(|disk| {
            let new = || Zeroizing::new(secret.to_vec());
            let kept = disk.secrets.entry(name.to_owned()).or_insert_with(new);
            if kept.as_slice() == secret { Ok(()) } else { Err(ANOTHER) }
        });
        put.flatten()
    }

    fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        self.lock().operate(|disk| disk.secrets.get(name).cloned())
    }

    fn destroy(&self, name: &str) -> Result<(), StoreError> {
        self.lock().operate(|disk| drop(disk.secrets.remove(name)))
    }

    fn names(&self) -> Result<Vec<String>, StoreError> {
        self.lock().operate(|disk| disk.secrets.keys().cloned().collect())
    }
}

/// The disk, and the state of the machine around it.
#[derive(Default)]
struct Machine {
    disk: Disk,
    faults: Faults,
    operations: u64,
    crashed: bool,
    /// Counts restarts: what was begun in one life cannot be finished in the next.
    life: u64,
}

impl Machine {
    fn operate<T>(&mut self, act: impl FnOnce(&mut Disk) -> T) -> Result<T, StoreError> {
        if self.crashed {
            return Err(FAILED);
        }
        let decide = self.faults.0.as_mut();
        let fault = decide.map_or(Fault::None, |decide| decide(self.operations));
        self.operations += 1;
        let happens = !matches!(fault, Fault::FailBefore | Fault::CrashBefore);
        let outcome = happens.then(|| act(&mut self.disk));
        self.crashed = matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
        outcome.filter(|_| fault == Fault::None).ok_or(FAILED)
    }
}

#[derive(Default)]
struct Disk {
    rows: BTreeMap<Table, BTreeMap<RowKey, Vec<u8>>>,
    logs: HashMap<LogName, Log>,
    blobs: BTreeMap<String, Arc<[u8]>>,
    secrets: BTreeMap<String, Zeroizing<Vec<u8>>>,
}

#[derive(Default)]
struct Log {
    /// The key of the records, once there are any.
    key: Option<LogKey>,
    records: Vec<u8>,
    closed: bool,
}

impl Log {
    fn check(&self, key: &LogKey) -> Result<(), StoreError> {
        let fits = self.key.as_ref().is_none_or(|sealed| sealed.same(key));
        if fits { Ok(()) } else { Err(StoreError::Corrupt { what: "a log" }) }
    }
}

struct Unfinished {
    store: MemoryStore,
    life: u64,
    name: String,
    bytes: Vec<u8>,
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlobWriter for Unfinished {
    fn finish(self: Box<Self>) -> Result<(), StoreError> {
        let Self { store, life, name, bytes } = *self;
        let mut machine = store.lock();
        if machine.life != life {
            return Err(FAILED);
        }
        let finish = |disk: &mut Disk| drop(disk.blobs.insert(name, bytes.into()));
        machine.operate(finish)
    }
}

const FAILED: StoreError =
    StoreError::Io { kind: io::ErrorKind::Other, doing: "a simulated operation" };

/// The number of records shown at a time: few, so that readers meet more than one chunk.
const CHUNK: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table::Slots;

    fn key() -> RowKey {
        RowKey::of(throng_wire::CollectionId::new([1; 32]))
    }

    fn put(store: &MemoryStore) -> Result<(), StoreError> {
        store.commit(&[Change::Put { table: TABLE, key: &key(), value: b"1" }])
    }

    #[test]
    fn each_fault_does_what_it_says() {
        for (fault, happened, crashed) in [
            (Fault::None, true, false),
            (Fault::FailBefore, false, false),
            (Fault::FailAfter, true, false),
            (Fault::CrashBefore, false, true),
            (Fault::CrashAfter, true, true),
        ] {
            let store = MemoryStore::new();
            store.set_faults(Faults::at(0, fault));
            assert_eq!(put(&store).is_ok(), fault == Fault::None);
            assert_eq!(store.crashed(), crashed);
            assert_eq!(Rows::get(&store, TABLE, &key()).is_err(), crashed);
            store.restart();
            assert_eq!(Rows::get(&store, TABLE, &key()).unwrap().is_some(), happened);
        }
    }

    #[test]
    fn a_blob_of_an_earlier_life_cannot_be_finished() {
        let store = MemoryStore::new();
        let mut blob = store.create("b").unwrap();
        blob.write_all(b"half").unwrap();
        store.restart();
        assert!(blob.finish().is_err());
        assert!(Blobs::names(&store).unwrap().is_empty());
    }

    // How tests are meant to use it: whatever the step at which the machine stops, what was told to
    // be durable is, and repeating from the start ends where an undisturbed run does.
    #[test]
    fn a_run_can_be_interrupted_at_every_operation() {
        let run = |store: &MemoryStore| -> Result<(), StoreError> {
            let done = Rows::get(store, TABLE, &key())?.is_some();
            if !done {
                store.create("b")?.finish()?;
                put(store)?;
            }
            Ok(())
        };
        let whole = MemoryStore::new();
        run(&whole).unwrap();
        assert_eq!(whole.operations(), 4);
        for step in 0..whole.operations() {
            for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::FailAfter] {
                let store = MemoryStore::new();
                store.set_faults(Faults::at(step, fault));
                assert!(run(&store).is_err());
                store.restart();
                store.set_faults(Faults::none());
                run(&store).unwrap();
                assert!(Rows::get(&store, TABLE, &key()).unwrap().is_some());
                assert_eq!(Blobs::names(&store).unwrap(), ["b"]);
            }
        }
    }
}
