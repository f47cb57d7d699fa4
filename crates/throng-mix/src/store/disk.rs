//! A store in one directory of a file system.
//!
//! ```text
//! lock          held by the one process that uses the directory
//! version       the version of everything else
//! rows.sqlite   rows
//! logs/         a directory per log, with an empty file `closed` once it is
//! blobs/        finished blobs
//! secrets/      a file per secret, for their owner alone
//! partial/      unfinished blobs, scratch, logs that are being deleted; emptied when opened
//! ```

use super::database::Database;
use super::log_files::LogFiles;
use super::secret_files::SecretFiles;
use super::{Blob, BlobWriter, Blobs, Scratch, Store, StoreError, checked, files, version};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl Store {
    /// Opens all four in a data directory, which is made if absent. One process at a time has it
    /// open; what was left unfinished is cleared. A directory of an older version is upgraded, one
    /// of a newer version is [`StoreError::Newer`].
    ///
    /// ```
    /// use throng_mix::store::Store;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let store = Store::on_disk(directory.path())?;
    /// store.secrets.put("key", b"secret")?;
    /// assert!(Store::on_disk(directory.path()).is_err());
    /// drop(store);
    /// assert_eq!(Store::on_disk(directory.path())?.secrets.names()?, ["key"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_disk(directory: &Path) -> Result<Self, StoreError> {
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
        let version = version::known(directory)?;
        let [logs, blobs, partial, secrets] =
            ["logs", "blobs", "partial", "secrets"].map(|name| directory.join(name));
        files::if_there(fs::remove_dir_all(&partial)).map_err(&doing)?;
        for made in [&blobs, &partial] {
            files::private_directory(made).map_err(&doing)?;
        }
        let partial =
            Arc::new(Partial { directory: partial, used: AtomicU64::new(0), _lock: lock });
        version::upgrade(directory, version, &partial)?;
        Ok(Store {
            rows: Arc::new(Database::open(&directory.join("rows.sqlite"), Arc::clone(&partial))?),
            logs: Arc::new(LogFiles::open(&logs, Arc::clone(&partial)).map_err(&doing)?),
            secrets: Arc::new(SecretFiles::open(&secrets, Arc::clone(&partial))?),
            blobs: Arc::new(BlobFiles { directory: blobs, partial }),
        })
    }
}

/// A directory of finished blobs.
struct BlobFiles {
    directory: PathBuf,
    partial: Arc<Partial>,
}

impl Blobs for BlobFiles {
    fn create(&self, name: &str) -> Result<Box<dyn BlobWriter>, StoreError> {
        let path = self.directory.join(checked(name)?);
        let partial = self.partial.path();
        let file = files::private_file(&partial).map_err(StoreError::io("making a blob"))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(Box::new(Unfinished { file, partial, path }))
    }

    fn open(&self, name: &str) -> Result<Blob, StoreError> {
        let doing = StoreError::io("opening a blob");
        let file = File::open(self.directory.join(checked(name)?)).map_err(&doing)?;
        let size = file.metadata().map_err(&doing)?.len();
        Ok(Blob { size, content: Box::new(file) })
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.directory.join(checked(name)?);
        files::remove(&path).map_err(StoreError::io("removing a blob"))
    }

    fn names(&self) -> Result<Vec<String>, StoreError> {
        files::names(&self.directory).map_err(StoreError::io("listing the blobs"))
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, StoreError> {
        let doing = StoreError::io("making scratch");
        let path = self.partial.path();
        let file = files::private_file(&path).map_err(&doing)?;
        fs::remove_file(&path).map_err(&doing)?;
        Ok(Box::new(file))
    }
}

/// Names that no two files share, in a directory that this process alone uses.
pub struct Partial {
    directory: PathBuf,
    used: AtomicU64,
    /// The lock of the directory, released when the last part of the store is closed.
    _lock: File,
}

impl Partial {
    /// A path that no file has yet.
    pub fn path(&self) -> PathBuf {
        self.directory.join(self.used.fetch_add(1, Ordering::Relaxed).to_string())
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
        // A finished blob has left this path. A file that cannot be removed now is removed at the
        // next opening.
        let _ = fs::remove_file(&self.partial);
    }
}

const IN_USE: &str = "another process uses the data directory; stop it, or choose another";

const BUFFER: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Change, LogKey, LogName, RowKey, Table};
    use std::os::unix::fs::PermissionsExt;
    use throng_wire::{CollectionId, LayerSecret};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_directory_is_for_one_process_and_one_owner() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("data");
        let store = Store::on_disk(&place).unwrap();
        let second = Store::on_disk(&place).err();
        assert!(matches!(second, Some(StoreError::Misuse { what: IN_USE })));
        store.secrets.put("key", b"secret").unwrap();
        assert_eq!(mode(&place), 0o700);
        assert_eq!(mode(&place.join("secrets")), 0o700);
        assert_eq!(mode(&place.join("secrets/key")), 0o600);
        drop(store);
        Store::on_disk(&place).unwrap();
    }

    #[test]
    fn what_was_left_unfinished_is_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let store = Store::on_disk(directory.path()).unwrap();
        let mut blob = store.blobs.create("batch").unwrap();
        blob.write_all(b"half").unwrap();
        blob.flush().unwrap();
        // Like a process that stops: nothing is dropped.
        std::mem::forget(blob);
        fs::write(at("secrets/.unfinished"), b"half a secret").unwrap();
        fs::create_dir(at("partial/doomed")).unwrap();
        fs::write(at("partial/doomed/0000000000.segment"), b"half a log").unwrap();
        fs::hard_link(at("secrets/.unfinished"), at("witness")).unwrap();
        drop(store);

        let store = Store::on_disk(directory.path()).unwrap();
        assert!(files::names(&at("partial")).unwrap().is_empty());
        assert!(
            store.blobs.names().unwrap().is_empty() && store.secrets.names().unwrap().is_empty()
        );
        assert_eq!(fs::read(at("witness")).unwrap(), [0; 13]);
    }

    #[test]
    fn a_destroyed_secret_is_overwritten_before_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::on_disk(directory.path()).unwrap();
        store.secrets.put("key", b"secret").unwrap();
        let witness = directory.path().join("witness");
        fs::hard_link(directory.path().join("secrets/key"), &witness).unwrap();
        store.secrets.destroy("key").unwrap();
        assert_eq!(fs::read(witness).unwrap(), [0; 6]);
    }

    #[test]
    fn a_damaged_database_is_told_at_opening() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::on_disk(directory.path()).unwrap();
        let id = CollectionId::new([1; 32]);
        let keys: Vec<RowKey> = (0..2000).map(|epoch| RowKey::at(id, epoch)).collect();
        let put = |key| Change::Put { table: Table::Slots, key, value: &[7; 40] };
        store.rows.commit(&keys.iter().map(put).collect::<Vec<_>>()).unwrap();
        drop(store);
        let file = directory.path().join("rows.sqlite");
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 4096].fill(0x55);
        fs::write(&file, bytes).unwrap();
        let opened = Store::on_disk(directory.path()).err();
        assert!(matches!(opened, Some(StoreError::Corrupt { .. })), "{opened:?}");
    }

    #[test]
    fn closing_waits_for_what_was_submitted_and_refuses_the_rest() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::on_disk(directory.path()).unwrap();
        let log = LogName { collection: CollectionId::new([1; 32]), epoch: 0 };
        let key = LogKey::derive(&LayerSecret::from_bytes(&[1; 32]), 0, 8);
        let taken: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4_u8)
                .map(|t| {
                    let (store, key) = (&store, &key);
                    scope.spawn(move || {
                        (0..1_000_000)
                            .take_while(|_| store.logs.append(&log, key, &[t; 8]).is_ok())
                            .count()
                    })
                })
                .collect();
            std::thread::sleep(std::time::Duration::from_millis(20));
            store.logs.close(&log).unwrap();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let mut found = 0;
        let count = |records: &[u8]| {
            found += records.len() / 8;
            Ok::<_, StoreError>(())
        };
        store.logs.visit(&log, &key, count).unwrap();
        assert_eq!(found, taken);
    }
}
