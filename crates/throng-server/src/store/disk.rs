//! A store in one directory of a file system.
//!
//! ```text
//! lock          held by the one process that uses the directory
//! rows.sqlite   rows
//! logs/         a directory per log, with an empty file `closed` once it is
//! blobs/        finished blobs
//! secrets/      a file per secret, for their owner alone
//! partial/      unfinished blobs, scratch, logs that are being deleted; emptied when opened
//! ```

use super::log::{self, Log};
use super::rows::Rows;
use super::secrets::Secrets;
use super::{
    Blob, BlobWriter, Change, LogKey, LogName, Pending, Scratch, Store, StoreError, checked, files,
    whole,
};
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use zeroize::Zeroizing;

/// A data directory. One process at a time has it open.
///
/// ```
/// use throng_server::{DiskStore, Store};
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
///
/// let store = DiskStore::open(directory)?;
/// store.put_secret("key", b"secret")?;
/// assert!(DiskStore::open(directory).is_err());
/// drop(store);
/// assert_eq!(DiskStore::open(directory)?.secrets()?, ["key"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DiskStore {
    logs: PathBuf,
    blobs: PathBuf,
    partial: Arc<Partial>,
    rows: Rows,
    secrets: Secrets,
    /// The logs that were used; the others are found when they are.
    used: RwLock<HashMap<LogName, Slot>>,
    /// Held while a log ends, so that a second call returns no earlier than the first.
    ending: Mutex<()>,
    /// Unlocked when closed.
    _lock: File,
}

impl DiskStore {
    /// Opens a data directory, or makes it, and clears what was left unfinished.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let doing = StoreError::io("opening the data directory");
        files::private_directory(directory).map_err(&doing)?;
        let lock = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join("lock"))
            .map_err(&doing)?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => StoreError::Misuse { what: IN_USE },
            fs::TryLockError::Error(error) => StoreError::io("locking the data directory")(error),
        })?;
        let [logs, blobs, partial, secrets] =
            ["logs", "blobs", "partial", "secrets"].map(|name| directory.join(name));
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(&doing)?;
        }
        for made in [&logs, &blobs, &partial] {
            files::private_directory(made).map_err(&doing)?;
        }
        Ok(Self {
            logs,
            blobs,
            partial: Arc::new(Partial { directory: partial, used: AtomicU64::new(0) }),
            rows: Rows::open(&directory.join("rows.sqlite"))?,
            secrets: Secrets::open(&secrets)?,
            used: RwLock::default(),
            ending: Mutex::new(()),
            _lock: lock,
        })
    }

    /// The log, if it takes records.
    fn log(&self, name: &LogName, key: &LogKey, each: usize) -> Result<Arc<Log>, StoreError> {
        if let Some(slot) = self.used().get(name) {
            return slot.log();
        }
        let mut used = self.used_mut();
        if let Some(slot) = used.get(name) {
            return slot.log();
        }
        let directory = self.directory(name);
        let slot = if directory.join(CLOSED).exists() {
            Slot::Closed
        } else {
            Slot::Open(Arc::new(Log::open(&directory, key, each)?))
        };
        let log = slot.log();
        used.insert(*name, slot);
        log
    }

    /// Refuses records from now on, and waits for those that were taken.
    fn end(&self, name: &LogName) {
        let slot = self.used_mut().insert(*name, Slot::Closed);
        if let Some(Slot::Open(log)) = slot {
            log.end();
        }
    }

    fn directory(&self, log: &LogName) -> PathBuf {
        self.logs.join(log.to_string())
    }

    fn used(&self) -> RwLockReadGuard<'_, HashMap<LogName, Slot>> {
        self.used.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn used_mut(&self) -> RwLockWriteGuard<'_, HashMap<LogName, Slot>> {
        self.used.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for DiskStore {
    fn rows(&self, table: &str, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.rows.under(table, prefix)
    }

    fn commit(&self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        self.rows.commit(changes)
    }

    fn submit(&self, log: &LogName, key: &LogKey, records: &[u8], each: usize) -> Pending {
        match whole(records, each).and_then(|()| self.log(log, key, each)) {
            Ok(log) => log.submit(key, records, each),
            Err(error) => Err(error).into(),
        }
    }

    fn close_log(&self, log: &LogName) -> Result<(), StoreError> {
        let doing = StoreError::io("closing a log");
        let _ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        self.end(log);
        let directory = self.directory(log);
        files::private_directory(&directory).map_err(&doing)?;
        File::create(directory.join(CLOSED)).map_err(&doing)?;
        files::sync_directory(&directory).map_err(&doing)
    }

    fn read_log(
        &self,
        log: &LogName,
        key: &LogKey,
        each: usize,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let open = self.used().get(log).and_then(|slot| slot.log().ok());
        match open {
            Some(log) => log.read(key, each, visit),
            None => log::read(&self.directory(log), key, each, None, visit),
        }
    }

    fn remove_log(&self, log: &LogName) -> Result<(), StoreError> {
        let doing = StoreError::io("removing a log");
        let _ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        self.end(log);
        // Under another name first: half a log must not be taken for one.
        let doomed = self.partial.path();
        match fs::rename(self.directory(log), &doomed) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed.map_err(&doing)?,
        }
        files::sync_directory(&self.logs).map_err(&doing)?;
        self.used_mut().remove(log);
        match fs::remove_dir_all(&doomed) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(doing(error)),
            _ => Ok(()),
        }
    }

    fn create(&self, blob: &str) -> Result<Box<dyn BlobWriter>, StoreError> {
        let path = self.blobs.join(checked(blob)?);
        let partial = self.partial.path();
        let file = files::private_file(&partial).map_err(StoreError::io("making a blob"))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(Box::new(Unfinished { file, partial, path }))
    }

    fn open(&self, blob: &str) -> Result<Box<dyn Blob>, StoreError> {
        let doing = StoreError::io("opening a blob");
        let file = File::open(self.blobs.join(checked(blob)?)).map_err(&doing)?;
        let size = file.metadata().map_err(&doing)?.len();
        Ok(Box::new(Finished { file, size }))
    }

    fn remove(&self, blob: &str) -> Result<(), StoreError> {
        let path = self.blobs.join(checked(blob)?);
        files::remove(&path).map_err(StoreError::io("removing a blob"))
    }

    fn blobs(&self) -> Result<Vec<String>, StoreError> {
        files::names(&self.blobs).map_err(StoreError::io("listing the blobs"))
    }

    fn put_secret(&self, name: &str, secret: &[u8]) -> Result<(), StoreError> {
        self.secrets.put(name, secret)
    }

    fn secret(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        self.secrets.get(name)
    }

    fn destroy_secret(&self, name: &str) -> Result<(), StoreError> {
        self.secrets.destroy(name)
    }

    fn secrets(&self) -> Result<Vec<String>, StoreError> {
        self.secrets.names()
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, StoreError> {
        let doing = StoreError::io("making scratch");
        let path = self.partial.path();
        let file = files::private_file(&path).map_err(&doing)?;
        fs::remove_file(&path).map_err(&doing)?;
        Ok(Box::new(file))
    }
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskStore").field("logs", &self.logs).finish_non_exhaustive()
    }
}

/// Names that no two files share.
struct Partial {
    directory: PathBuf,
    used: AtomicU64,
}

impl Partial {
    fn path(&self) -> PathBuf {
        self.directory.join(self.used.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

enum Slot {
    Open(Arc<Log>),
    Closed,
}

impl Slot {
    fn log(&self) -> Result<Arc<Log>, StoreError> {
        match self {
            Self::Open(log) => Ok(Arc::clone(log)),
            Self::Closed => Err(StoreError::Closed),
        }
    }
}

struct Unfinished {
    file: BufWriter<File>,
    partial: PathBuf,
    path: PathBuf,
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl BlobWriter for Unfinished {
    fn finish(mut self: Box<Self>) -> Result<(), StoreError> {
        let doing = StoreError::io("finishing a blob");
        self.file.flush().map_err(&doing)?;
        self.file.get_ref().sync_all().map_err(&doing)?;
        files::rename(&self.partial, &self.path).map_err(&doing)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Gone already when finished; what cannot be removed now is removed at the next opening.
        let _ = fs::remove_file(&self.partial);
    }
}

struct Finished {
    file: File,
    size: u64,
}

impl Read for Finished {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Seek for Finished {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Blob for Finished {
    fn size(&self) -> u64 {
        self.size
    }
}

const CLOSED: &str = "closed";

const IN_USE: &str = "another process uses the data directory; stop it, or choose another";

const BUFFER: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_directory_is_for_one_process_and_one_owner() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("data");
        let store = DiskStore::open(&place).unwrap();
        let second = DiskStore::open(&place).err();
        assert!(matches!(second, Some(StoreError::Misuse { what: IN_USE })));
        store.put_secret("key", b"secret").unwrap();
        assert_eq!(mode(&place), 0o700);
        assert_eq!(mode(&place.join("secrets")), 0o700);
        assert_eq!(mode(&place.join("secrets/key")), 0o600);
        drop(store);
        DiskStore::open(&place).unwrap();
    }

    #[test]
    fn what_was_left_unfinished_is_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let store = DiskStore::open(directory.path()).unwrap();
        let mut blob = store.create("batch").unwrap();
        blob.write_all(b"half").unwrap();
        blob.flush().unwrap();
        // Like a process that stops: nothing is dropped.
        std::mem::forget(blob);
        fs::write(at("secrets/.unfinished"), b"half a secret").unwrap();
        fs::create_dir(at("partial/doomed")).unwrap();
        fs::write(at("partial/doomed/0000000000.segment"), b"half a log").unwrap();
        fs::hard_link(at("secrets/.unfinished"), at("witness")).unwrap();
        drop(store);

        let store = DiskStore::open(directory.path()).unwrap();
        assert!(files::names(&at("partial")).unwrap().is_empty());
        assert!(store.blobs().unwrap().is_empty() && store.secrets().unwrap().is_empty());
        assert_eq!(fs::read(at("witness")).unwrap(), [0; 13]);
    }

    #[test]
    fn a_destroyed_secret_is_overwritten_before_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let store = DiskStore::open(directory.path()).unwrap();
        store.put_secret("key", b"secret").unwrap();
        let witness = directory.path().join("witness");
        fs::hard_link(directory.path().join("secrets/key"), &witness).unwrap();
        store.destroy_secret("key").unwrap();
        assert_eq!(fs::read(witness).unwrap(), [0; 6]);
    }

    #[test]
    fn a_damaged_database_is_told_at_opening() {
        let directory = tempfile::tempdir().unwrap();
        let store = DiskStore::open(directory.path()).unwrap();
        let rows: Vec<String> = (0..2000).map(|i| format!("row {i}")).collect();
        let put = |key| Change::Put { table: "t", key, value: &[7; 40] };
        store.commit(&rows.iter().map(|key| put(key)).collect::<Vec<_>>()).unwrap();
        drop(store);
        let file = directory.path().join("rows.sqlite");
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 4096].fill(0x55);
        fs::write(&file, bytes).unwrap();
        let opened = DiskStore::open(directory.path()).err();
        assert!(matches!(opened, Some(StoreError::Corrupt { .. })), "{opened:?}");
    }

    #[test]
    fn closing_waits_for_what_was_submitted_and_refuses_the_rest() {
        let directory = tempfile::tempdir().unwrap();
        let store = DiskStore::open(directory.path()).unwrap();
        let log = LogName { collection: throng_wire::CollectionId::new([1; 32]), epoch: 0 };
        let key = LogKey::derive(&throng_wire::LayerSecret::from_bytes(&[1; 32]), 0);
        let taken: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4_u8)
                .map(|t| {
                    let (store, key) = (&store, &key);
                    scope.spawn(move || {
                        (0..1_000_000)
                            .take_while(|_| store.append(&log, key, &[t; 8], 8).is_ok())
                            .count()
                    })
                })
                .collect();
            std::thread::sleep(std::time::Duration::from_millis(20));
            store.close_log(&log).unwrap();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let mut found = 0;
        let count = &mut |records: &[u8]| {
            found += records.len() / 8;
            Ok(())
        };
        store.read_log(&log, &key, 8, count).unwrap();
        assert_eq!(found, taken);
    }
}
