//! The version of a data directory, in a file of its own: a number and the end of the line.
//!
//! ```text
//! 1   directories without the file
//! 2   the keys that are destroyed may be a list of windows, not only all up to one
//! ```
//!
//! A build opens directories of its own version and of all older ones, which are of its version
//! from then on: it raises [`VERSION`] when it writes what the build before cannot read.

use super::disk::Partial;
use super::{StoreError, files};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Reads the version of a directory. One that this build does not know is refused, before anything
/// in the directory is touched.
pub fn known(directory: &Path) -> Result<u64, StoreError> {
    let text = files::if_there(fs::read_to_string(directory.join(NAME)));
    let text = text.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => DAMAGED,
        _ => StoreError::io(READING)(error),
    })?;
    let Some(text) = text else { return Ok(1) };
    let found = text.strip_suffix('\n').and_then(|number| number.parse().ok());
    match found.ok_or(DAMAGED)? {
        0 => Err(DAMAGED),
        found if found > VERSION => Err(StoreError::Newer { found, known: VERSION }),
        found => Ok(found),
    }
}

/// Makes the directory one of this build's version, durably. Whatever has to change in it is
/// changed before the file is: after a crash in between it is done again.
pub fn upgrade(directory: &Path, from: u64, partial: &Partial) -> Result<(), StoreError> {
    let (to, doing) = (directory.join(NAME), StoreError::io("writing the version"));
    if from == VERSION {
        // It may be there and not durable, when an earlier attempt failed at the very end.
        return files::sync_directory(directory).map_err(doing);
    }
    let path = partial.path();
    let mut file = files::private_file(&path).map_err(&doing)?;
    let written = file.write_all(format!("{VERSION}\n").as_bytes());
    written.and_then(|()| file.sync_all()).map_err(&doing)?;
    files::rename(&path, &to).map_err(&doing)
}

/// The version of directories that this build writes.
pub const VERSION: u64 = 2;

const NAME: &str = "version";

const READING: &str = "reading the version of the data directory";

const DAMAGED: StoreError = StoreError::Corrupt { what: "the version of the data directory" };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    /// What opening a directory with this file answers, and the file afterwards.
    fn opened(text: Option<&str>) -> (Result<(), StoreError>, String) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(NAME);
        drop(Store::on_disk(directory.path()).unwrap());
        match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let result = Store::on_disk(directory.path()).map(drop);
        (result, fs::read_to_string(file).unwrap())
    }

    #[test]
    fn a_new_directory_has_this_builds_version_and_an_older_one_gets_it() {
        let new = tempfile::tempdir().unwrap();
        drop(Store::on_disk(&new.path().join("data")).unwrap());
        assert_eq!(fs::read_to_string(new.path().join("data/version")).unwrap(), "2\n");
        for older in [None, Some("1\n"), Some("2\n")] {
            assert_eq!(opened(older), (Ok(()), "2\n".to_owned()), "{older:?}");
        }
    }

    #[test]
    fn a_newer_directory_is_refused_and_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        drop(Store::on_disk(directory.path()).unwrap());
        fs::write(at("version"), "3\n").unwrap();
        fs::write(at("partial/0"), "of the newer build").unwrap();
        fs::write(at("secrets/.unfinished"), "of the newer build").unwrap();
        fs::remove_file(at("rows.sqlite")).unwrap();
        let refused = Store::on_disk(directory.path()).err().unwrap();
        assert_eq!(refused, StoreError::Newer { found: 3, known: 2 });
        assert!(refused.to_string().contains("start the newer build"), "{refused}");
        assert!(at("partial/0").exists() && at("secrets/.unfinished").exists());
        assert!(!at("rows.sqlite").exists());
        assert_eq!(fs::read_to_string(at("version")).unwrap(), "3\n");
    }

    #[test]
    fn a_version_that_is_no_number_is_damage() {
        for text in ["", "2", "two\n", "-1\n", "0\n", "2\n2\n", " 2\n"] {
            assert_eq!(opened(Some(text)), (Err(DAMAGED), text.to_owned()), "{text:?}");
        }
    }
}
