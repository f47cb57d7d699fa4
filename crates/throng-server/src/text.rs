//! Files of text, which others may have written: no more of them is read than fits.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a file of text: a collection, a board, the settings of a party, tokens. One of more than
/// [`LONGEST_TEXT`] bytes is refused, and no more of it is read than shows that: it may grow while
/// it is read, and a pipe or a device need not end.
///
/// ```
/// use throng_server::{LONGEST_TEXT, read_text};
///
/// let file = std::env::temp_dir().join(format!("throng-text-{}", std::process::id()));
/// std::fs::write(&file, "a".repeat(LONGEST_TEXT))?;
/// assert_eq!(read_text(&file)?.len(), LONGEST_TEXT);
/// std::fs::write(&file, "a".repeat(LONGEST_TEXT + 1))?;
/// assert!(read_text(&file).unwrap_err().to_string().contains("longer than 1048576 bytes"));
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_text(file: &Path) -> io::Result<String> {
    let bytes = read_short(file)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "not text in UTF-8"))
}

/// Reads a file as [`read_text`] does, whatever bytes it has: a certificate, or a key.
pub fn read_short(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LONGEST_TEXT as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST_TEXT {
        let reason = format!("longer than {LONGEST_TEXT} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// The most bytes of a file of text.
pub const LONGEST_TEXT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    // It never ends: whoever reads all of it does not return.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_never_ends_is_refused() {
        let refused = read_text(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn other_bytes_than_text_are_refused_as_text_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0xff, 0xfe]).unwrap();
        assert_eq!(read_text(file.path()).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(read_short(file.path()).unwrap(), [0xff, 0xfe]);
    }
}
