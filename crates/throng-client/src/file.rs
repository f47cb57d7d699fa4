//! The state on disk: read whole, replaced whole, by one client at a time.
//!
//! ```text
//! replace   write FILE.new, fsync;  rename it to FILE;  fsync the directory
//! ```
//!
//! A crash before the renaming leaves the old state and perhaps a FILE.new, which the next writing
//! removes; a crash after it leaves the new state. Nothing half-written is ever read. What is
//! replaced is unlinked, not overwritten: storage may keep its blocks for a while.

use crate::Error;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A state file, held by this client alone for as long as it lives.
pub(crate) struct StateFile {
    path: PathBuf,
    /// A file of its own, since renaming replaces the state file.
    _lock: File,
}

impl StateFile {
    /// Takes hold of a file, which need not be there.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let fail = |error| file_error(path, &error);
        let lock = owners(OpenOptions::new().create(true).truncate(false).write(true))
            .open(beside(path, "lock"))
            .map_err(fail)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => state_error(path, BUSY),
            TryLockError::Error(error) => fail(error),
        })?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// The contents, or `None` if the file is not there.
    pub fn read(&self) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let fail = |error| file_error(&self.path, &error);
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail(error)),
        };
        let metadata = file.metadata().map_err(fail)?;
        if others_may_read(&metadata) {
            return Err(self.refuse(READABLE));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(metadata.len() as usize));
        file.read_to_end(&mut bytes).map_err(fail)?;
        Ok(Some(bytes))
    }

    /// Puts new contents in place of the old. They are on disk when this returns; if it fails,
    /// either are.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), Error> {
        self.try_replace(bytes).map_err(|error| file_error(&self.path, &error))
    }

    /// The error for contents that are not a state.
    pub fn refuse(&self, fault: &'static str) -> Error {
        state_error(&self.path, fault)
    }

    fn try_replace(&self, bytes: &[u8]) -> io::Result<()> {
        let new = beside(&self.path, "new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = owners(OpenOptions::new().write(true).create_new(true)).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        sync_directory(&self.path)
    }
}

/// `state` becomes `state.suffix`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn file_error(path: &Path, error: &io::Error) -> Error {
    Error::File { path: path.display().to_string(), reason: error.to_string() }
}

fn state_error(path: &Path, fault: &'static str) -> Error {
    Error::State { path: path.display().to_string(), fault }
}

// Elsewhere than on Unix files belong to their user by where they are, and directories cannot be
// synced.

fn owners(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg_attr(not(unix), expect(unused_variables))]
fn others_may_read(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0;
    #[cfg(not(unix))]
    false
}

fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if cfg!(unix) { File::open(directory.unwrap_or(Path::new(".")))?.sync_all() } else { Ok(()) }
}

const BUSY: &str = "another client has it open; two would randomize twice";
const READABLE: &str = "others may read it; run chmod 600 on it";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;
    use crate::testing::{World, rng};
    use tempfile::TempDir;
    use throng_mechanism::Value;

    const YES: Value<'_> = Value::Bit(true);

    struct Device {
        world: World,
        directory: TempDir,
    }

    impl Device {
        fn new() -> Self {
            Self { world: World::of_bits(), directory: TempDir::new().unwrap() }
        }

        fn file(&self) -> PathBuf {
            self.directory.path().join("state")
        }

        fn open(&self) -> Result<Client, Error> {
            let mut client = Client::open(self.world.collection.clone(), &self.file())?;
            client.learn(&self.world.directory(0), 0)?;
            Ok(client)
        }
    }

    // A device that randomizes again after a crash shows two reports of one value.
    #[test]
    fn after_a_crash_the_same_bytes_are_sent() {
        let device = Device::new();
        let report = device.open().unwrap().report(YES, 0, &mut rng(1)).unwrap();
        for seed in 2..4 {
            let mut client = device.open().unwrap();
            assert_eq!(client.pending().unwrap().as_bytes(), report.as_bytes());
            let again = client.report(Value::Bit(false), 0, &mut rng(seed)).unwrap();
            assert_eq!(again.as_bytes(), report.as_bytes());
        }
        let mut client = device.open().unwrap();
        client.acknowledge(&report).unwrap();
        drop(client);
        let mut client = device.open().unwrap();
        assert_eq!((client.reports(), client.pending().is_none()), (1, true));
        let gone = client.report(YES, 0, &mut rng(4)).unwrap_err();
        assert_eq!(gone, Error::Reported { epoch: 0 });
    }

    #[test]
    fn the_state_is_on_disk_before_the_report_is_out() {
        let device = Device::new();
        let mut client = device.open().unwrap();
        assert_eq!(fs::read(device.file()).unwrap(), client.state());
        let report = client.report(YES, 0, &mut rng(1)).unwrap();
        let stored = fs::read(device.file()).unwrap();
        assert_eq!(stored, client.state());
        assert!(stored.windows(report.as_bytes().len()).any(|part| part == report.as_bytes()));
    }

    // A crash while FILE.new is written, at any byte of it.
    #[test]
    fn what_was_not_renamed_was_not_written() {
        let device = Device::new();
        let report = device.open().unwrap().report(YES, 0, &mut rng(1)).unwrap();
        let whole = fs::read(device.file()).unwrap();
        for length in [0, 1, whole.len() / 2, whole.len()] {
            fs::write(beside(&device.file(), "new"), &whole[..length]).unwrap();
            let mut client = device.open().unwrap();
            assert_eq!(client.pending().unwrap().as_bytes(), report.as_bytes());
            client.disable().unwrap();
            client.enable().unwrap();
            assert!(!beside(&device.file(), "new").exists());
            drop(client);
            fs::write(device.file(), &whole).unwrap();
        }
        // A crash before the very first renaming: nothing has left, so nothing is lost.
        fs::remove_file(device.file()).unwrap();
        fs::write(beside(&device.file(), "new"), &whole[..9]).unwrap();
        assert_eq!(device.open().unwrap().reports(), 0);
    }

    #[test]
    fn a_state_that_cannot_be_written_lets_no_report_out() {
        let device = Device::new();
        let mut client = device.open().unwrap();
        let before = fs::read(device.file()).unwrap();
        fs::create_dir(beside(&device.file(), "new")).unwrap();
        assert!(matches!(client.report(YES, 0, &mut rng(1)), Err(Error::File { .. })));
        assert_eq!((client.reports(), client.pending().is_none()), (0, true));
        assert_eq!(fs::read(device.file()).unwrap(), before);
        // The off switch holds for this process all the same.
        assert!(client.disable().is_err());
        assert_eq!(client.report(YES, 0, &mut rng(2)).unwrap_err(), Error::Disabled);
    }

    #[test]
    fn a_file_that_is_not_this_states_is_left_as_it_is() {
        let device = Device::new();
        device.open().unwrap().report(YES, 0, &mut rng(1)).unwrap();
        let whole = fs::read(device.file()).unwrap();
        let mut newer = whole.clone();
        newer[20] += 1;
        let other = Client::new(World::of_strings().collection).unwrap().state();
        for wrong in [&whole[..0], &whole[..whole.len() - 1], b"a diary", &newer, &other] {
            fs::write(device.file(), wrong).unwrap();
            assert!(matches!(device.open(), Err(Error::State { .. })));
            assert_eq!(fs::read(device.file()).unwrap(), wrong);
        }
    }

    #[test]
    fn two_clients_do_not_share_a_file() {
        let device = Device::new();
        let first = device.open().unwrap();
        assert_eq!(device.open().unwrap_err(), state_error(&device.file(), BUSY));
        drop(first);
        device.open().unwrap();
    }

    #[test]
    fn the_off_switch_outlives_the_process() {
        let device = Device::new();
        let mut client = device.open().unwrap();
        let report = client.report(YES, 0, &mut rng(1)).unwrap();
        client.disable().unwrap();
        drop(client);
        let stored = fs::read(device.file()).unwrap();
        assert!(!stored.windows(32).any(|part| part == &report.as_bytes()[..32]));
        let mut client = device.open().unwrap();
        assert_eq!(client.report(YES, 0, &mut rng(2)).unwrap_err(), Error::Disabled);
        client.enable().unwrap();
        drop(client);
        assert_eq!(device.open().unwrap().reports(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let device = Device::new();
        device.open().unwrap().report(YES, 0, &mut rng(1)).unwrap();
        let mode = |mode| fs::set_permissions(device.file(), fs::Permissions::from_mode(mode));
        let now = fs::metadata(device.file()).unwrap().permissions().mode();
        assert_eq!(now & 0o777, 0o600);
        mode(0o640).unwrap();
        assert_eq!(device.open().unwrap_err(), state_error(&device.file(), READABLE));
        mode(0o600).unwrap();
        device.open().unwrap();
    }
}
