//! An identity as a file: its seed in hexadecimal, for its owner alone.

use super::Identity;
use crate::Error;
use crate::bytes::{hex, unhex_array};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// Files of identities are for Unix systems, where a file can be its owner's alone.
impl Identity {
    /// Reads a file that [`Identity::write`] wrote. A file that others may read is refused.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let fail = |error: io::Error| refused(file, error.to_string());
        let opened = File::open(file).map_err(fail)?;
        let mode = opened.metadata().map_err(fail)?.permissions().mode();
        let mut text = Zeroizing::new(String::new());
        // A file of another kind may be long, and need not be text.
        let read = opened.take(LONGEST).read_to_string(&mut text);
        let seed = text.trim().strip_prefix(PREFIX).and_then(unhex_array::<32>).map(Zeroizing::new);
        let seed = read.ok().and(seed);
        let seed =
            seed.ok_or_else(|| refused(file, "not an identity; make one with `throng keygen`"))?;
        if mode & 0o077 != 0 {
            let file_name = file.display();
            return Err(refused(file, format!("others may read it; run chmod 600 {file_name}")));
        }
        Ok(Self::from_seed(&seed))
    }

    /// Writes a new file that only its owner may read. A file that exists is never replaced.
    ///
    /// ```
    /// use throng_wire::Identity;
    ///
    /// let file = std::env::temp_dir().join(format!("throng-identity-{}", std::process::id()));
    /// let identity = Identity::from_seed(&[1; 32]);
    /// identity.write(&file)?;
    /// assert_eq!(Identity::read(&file)?.public(), identity.public());
    /// assert!(Identity::from_seed(&[2; 32]).write(&file).is_err());
    /// # std::fs::remove_file(&file).unwrap();
    /// # Ok::<(), throng_wire::Error>(())
    /// ```
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        let fail = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                refused(file, "it exists, and an identity is never replaced; choose another name")
            }
            _ => refused(file, error.to_string()),
        };
        let seed = Zeroizing::new(self.0.to_bytes());
        let text = Zeroizing::new(format!("{PREFIX}{}\n", *Zeroizing::new(hex(&*seed))));
        let mut options = OpenOptions::new();
        let mut new = options.write(true).create_new(true).mode(0o600).open(file).map_err(fail)?;
        new.write_all(text.as_bytes()).and_then(|()| new.sync_all()).map_err(fail)
    }
}

fn refused(file: &Path, reason: impl Into<String>) -> Error {
    Error::File { path: file.display().to_string(), reason: reason.into() }
}

const PREFIX: &str = "throng-identity-1:";
/// More bytes than any file of an identity has.
const LONGEST: u64 = 1 << 10;
