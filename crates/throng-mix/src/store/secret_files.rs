//! Secrets as files that only their owner may read, overwritten before they are removed.
//!
//! Overwriting is the best a program can do, not a proof: a file system that never writes in place,
//! or a disk that moves sectors, may keep old bytes. Where that matters the disk itself is
//! encrypted.

use super::disk::Partial;
use super::{ANOTHER, Secrets, StoreError, checked, equal, files};
use crate::lock;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use zeroize::Zeroizing;

/// A directory of secrets.
pub struct SecretFiles {
    directory: PathBuf,
    /// Held while the files change, so that finding a name free and taking it are one step.
    changing: Mutex<()>,
    /// Keeps the directory this process's own while its secrets are open.
    _partial: Arc<Partial>,
}

impl SecretFiles {
    /// Makes the directory, and shreds what was not finished.
    pub fn open(directory: &Path, partial: Arc<Partial>) -> Result<Self, StoreError> {
        let doing = StoreError::io("opening the secrets");
        files::private_directory(directory).map_err(&doing)?;
        shred(&directory.join(UNFINISHED)).map_err(&doing)?;
        Ok(Self { directory: directory.to_owned(), changing: Mutex::new(()), _partial: partial })
    }
}

impl Secrets for SecretFiles {
    fn put(&self, name: &str, secret: &[u8]) -> Result<(), StoreError> {
        let doing = StoreError::io("writing a secret");
        let path = self.directory.join(checked(name)?);
        let _changing = lock(&self.changing);
        if let Some(kept) = self.get(name)? {
            // It may be there and not durable, when an earlier attempt failed at the very end.
            files::sync_directory(&self.directory).map_err(&doing)?;
            return if equal(&kept, secret) { Ok(()) } else { Err(ANOTHER) };
        }
        let unfinished = self.directory.join(UNFINISHED);
        shred(&unfinished).map_err(&doing)?;
        let mut file = files::private_file(&unfinished).map_err(&doing)?;
        file.write_all(secret).and_then(|()| file.sync_all()).map_err(&doing)?;
        files::rename(&unfinished, &path).map_err(&doing)
    }

    fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let doing = StoreError::io("reading a secret");
        let file = files::if_there(File::open(self.directory.join(checked(name)?)));
        let Some(mut file) = file.map_err(&doing)? else { return Ok(None) };
        // The buffer has its full capacity from the start: one that grows leaves copies behind.
        let size = file.metadata().map_err(&doing)?.len();
        let mut secret = Zeroizing::new(vec![0; size as usize]);
        file.read_exact(&mut secret).map_err(&doing)?;
        Ok(Some(secret))
    }

    fn destroy(&self, name: &str) -> Result<(), StoreError> {
        let path = self.directory.join(checked(name)?);
        let _changing = lock(&self.changing);
        shred(&path).map_err(StoreError::io("destroying a secret"))
    }

    fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names =
            files::names(&self.directory).map_err(StoreError::io("listing the secrets"))?;
        names.retain(|name| checked(name).is_ok());
        Ok(names)
    }
}

/// Overwrites a file with zeros, durably, and removes it, durably. An absent one is fine.
fn shred(path: &Path) -> io::Result<()> {
    let Some(mut file) = files::if_there(OpenOptions::new().write(true).open(path))? else {
        // Removed by an attempt that may have failed to make that durable.
        return path.parent().map_or(Ok(()), files::sync_directory);
    };
    let size = file.metadata()?.len();
    file.write_all(&vec![0; size as usize])?;
    file.sync_all()?;
    files::remove(path)
}

/// The name of a secret that is being written. No secret has it, because it begins with a dot.
const UNFINISHED: &str = ".unfinished";
