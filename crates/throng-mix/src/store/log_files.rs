//! Logs on disk: a directory per log, found when it is first used.

use super::disk::Partial;
use super::log::{self, Log};
use super::{LogKey, LogName, Logs, Pending, StoreError, Visit, files};
use crate::lock;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The logs of a data directory.
pub struct LogFiles {
    directory: PathBuf,
    /// The logs that have been used; `None` for one that takes no more records.
    used: RwLock<HashMap<LogName, Option<Arc<Log>>>>,
    /// Held while a log ends, so that a second call returns no earlier than the first.
    ending: Mutex<()>,
    /// The last field, so that the directory is this process's own until its logs have ended.
    partial: Arc<Partial>,
}

impl LogFiles {
    /// Opens the logs in this directory, which is made if absent.
    pub fn open(directory: &Path, partial: Arc<Partial>) -> io::Result<Self> {
        files::private_directory(directory)?;
        let (used, ending) = (RwLock::default(), Mutex::new(()));
        Ok(Self { directory: directory.to_owned(), used, ending, partial })
    }

    /// The log, if it takes records.
    fn log(&self, name: &LogName, key: &LogKey) -> Result<Arc<Log>, StoreError> {
        if let Some(log) = self.used().get(name) {
            return log.clone().ok_or(StoreError::Closed);
        }
        let mut used = self.used_mut();
        if let Some(log) = used.get(name) {
            return log.clone().ok_or(StoreError::Closed);
        }
        let directory = self.directory(name);
        let closed = directory.join(CLOSED).exists();
        let log = if closed { None } else { Some(Arc::new(Log::open(&directory, key)?)) };
        used.insert(*name, log.clone());
        log.ok_or(StoreError::Closed)
    }

    /// Refuses records from now on, and waits for those that were taken.
    fn end(&self, name: &LogName) {
        let log = self.used_mut().insert(*name, None);
        if let Some(log) = log.flatten() {
            log.end();
        }
    }

    fn directory(&self, log: &LogName) -> PathBuf {
        self.directory.join(log.to_string())
    }

    fn used(&self) -> RwLockReadGuard<'_, HashMap<LogName, Option<Arc<Log>>>> {
        self.used.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn used_mut(&self) -> RwLockWriteGuard<'_, HashMap<LogName, Option<Arc<Log>>>> {
        self.used.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Logs for LogFiles {
    fn submit(&self, log: &LogName, key: &LogKey, records: &[u8]) -> Pending {
        match key.whole(records).and_then(|()| self.log(log, key)) {
            Ok(log) => log.submit(key, records),
            Err(error) => Err(error).into(),
        }
    }

    fn close(&self, log: &LogName) -> Result<(), StoreError> {
        let doing = StoreError::io("closing a log");
        let _ending = lock(&self.ending);
        self.end(log);
        let directory = self.directory(log);
        files::private_directory(&directory).map_err(&doing)?;
        File::create(directory.join(CLOSED)).map_err(&doing)?;
        files::sync_directory(&directory).map_err(&doing)
    }

    fn read(&self, log: &LogName, key: &LogKey, visit: Visit<'_>) -> Result<(), StoreError> {
        let open = self.used().get(log).cloned().flatten();
        match open {
            Some(log) => log.read(key, visit),
            None => log::read(&self.directory(log), key, None, visit),
        }
    }

    fn remove(&self, log: &LogName) -> Result<(), StoreError> {
        let doing = StoreError::io("removing a log");
        let _ending = lock(&self.ending);
        self.end(log);
        // It gets another name first, so that half a log is never taken for a whole one.
        let doomed = self.partial.path();
        files::if_there(fs::rename(self.directory(log), &doomed)).map_err(&doing)?;
        files::sync_directory(&self.directory).map_err(&doing)?;
        self.used_mut().remove(log);
        files::if_there(fs::remove_dir_all(&doomed)).map_err(&doing)?;
        Ok(())
    }

    fn waiting(&self) -> u64 {
        self.used().values().flatten().map(|log| log.waiting() as u64).sum()
    }
}

/// The name of the empty file in a log that takes no more records.
const CLOSED: &str = "closed";
