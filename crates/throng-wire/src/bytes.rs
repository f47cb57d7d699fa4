//! Hexadecimal, and cursors over the fixed layouts of `docs/protocol.md`: big-endian integers,
//! counted lists and texts.

use crate::Error;

/// Appends fields to bytes.
///
/// ```
/// use throng_wire::bytes::{Reader, Writer};
///
/// let mut to = Writer::default();
/// to.u8(1).u64(2).text("three");
/// let mut from = Reader(&to.0);
/// assert_eq!((from.u8("a byte")?, from.u64("a number")?), (1, 2));
/// let length = from.u32("a length")? as usize;
/// assert_eq!(from.take(length, "a text")?, b"three");
/// from.end()?;
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// The bits of a float: no two files with different numbers share bytes.
    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.u64(value.to_bits())
    }

    /// The length in four bytes, then the text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.u32(text.len() as u32).raw(text.as_bytes())
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Takes fields from bytes, and says which one was missing.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// One byte.
    pub fn u8(&mut self, expected: &'static str) -> Result<u8, Error> {
        Ok(self.array::<1>(expected)?[0])
    }

    /// Four bytes.
    pub fn u32(&mut self, expected: &'static str) -> Result<u32, Error> {
        Ok(u32::from_be_bytes(self.array(expected)?))
    }

    /// Eight bytes.
    pub fn u64(&mut self, expected: &'static str) -> Result<u64, Error> {
        Ok(u64::from_be_bytes(self.array(expected)?))
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], Error> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Error::Malformed { expected })?;
        self.0 = rest;
        Ok(*head)
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: usize, expected: &'static str) -> Result<&'a [u8], Error> {
        let (head, rest) = self.0.split_at_checked(length).ok_or(Error::Malformed { expected })?;
        self.0 = rest;
        Ok(head)
    }

    /// Refuses bytes that are left.
    pub fn end(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Malformed { expected: "the end" }) }
    }
}

/// Lower-case hexadecimal.
///
/// ```
/// assert_eq!(throng_wire::hex(&[0, 10, 255]), "000aff");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of lower-case hexadecimal: one text per value.
///
/// ```
/// use throng_wire::unhex;
///
/// assert_eq!(unhex("000aff"), Some(vec![0, 10, 255]));
/// assert_eq!(unhex("000AFF"), None);
/// assert_eq!(unhex("0"), None);
/// ```
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks() else { return None };
    pairs.iter().map(|pair| unhex_byte(*pair)).collect()
}

/// Exactly `N` bytes of lower-case hexadecimal. They may be a secret, so no copy is left behind.
pub fn unhex_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, []) = text.as_bytes().as_chunks() else { return None };
    let pairs: &[[u8; 2]; N] = pairs.try_into().ok()?;
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = unhex_byte(*pair)?;
    }
    Some(bytes)
}

fn unhex_byte([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}
