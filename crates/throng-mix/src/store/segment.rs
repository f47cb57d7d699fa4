//! One file of a log: sealed blocks of records, in a file that has its full length from the start.
//!
//! ```text
//! segment  = magic (16) ‖ salt (32) ‖ first block (8) ‖ record length (4) ‖ tag (16), then blocks
//! block    = number (8) ‖ length (4) ‖ sealed records (length) ‖ tag (16)
//! key      = HKDF-SHA256 of the log's key with the salt
//! tag      AES-256-GCM with the block's number as nonce (0 for the head) and what precedes as AAD
//! ```
//!
//! Head and blocks begin at multiples of 512, so that no write touches a sector with acknowledged
//! bytes; between them are zeros. Blocks are numbered from 1 through all segments of a log.
//!
//! A number may come twice: a block that was not acknowledged is written again, with other records,
//! when its write failed or the machine stopped. That happens in a new segment only, and every
//! segment has 32 fresh random bytes as salt and thus its own key: no nonce is ever used twice
//! under a key, whoever has seen the bytes of the first attempt.

use super::{LogKey, StoreError, Visit, files};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A segment that takes blocks.
pub struct Segment {
    file: File,
    key: LessSafeKey,
    at: u64,
    end: u64,
}

impl Segment {
    /// Makes a new file with room for `room` bytes of blocks, from the number `first` on. It
    /// appears under its name with its head complete, so that a bad head is always damage.
    pub fn create(path: &Path, key: &LogKey, first: u64, room: u64) -> Result<Self, StoreError> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(|_| StoreError::Randomness)?;
        let each = length_bytes(key.each())?;
        let key = cipher(key, &salt)?;
        let mut bytes = [MAGIC.as_slice(), &salt, &first.to_be_bytes(), &each].concat();
        let tag = seal(&key, 0, &bytes, &mut [])?;
        bytes.extend_from_slice(tag.as_ref());
        bytes.resize(SECTOR as usize, 0);

        let temporary = path.with_extension("new");
        let end = SECTOR + room.next_multiple_of(SECTOR);
        let made = filled(&temporary, &bytes, end).and_then(|file| {
            files::rename(&temporary, path)?;
            Ok(file)
        });
        let file = made.map_err(|error| {
            // A full disk should not be kept full by what did not fit.
            let _ = fs::remove_file(&temporary);
            StoreError::io("making a segment")(error)
        })?;
        Ok(Self { file, key, at: SECTOR, end })
    }

    /// True if there is room for a block with `length` bytes of records.
    pub fn fits(&self, length: usize) -> bool {
        self.at + padded(length) <= self.end
    }

    /// Seals the records in `block`, which has [`PREFIX`] bytes before them, and makes them
    /// durable.
    pub fn write(&mut self, number: u64, block: &mut Vec<u8>) -> Result<(), StoreError> {
        let length = block.len() - PREFIX;
        let (head, records) = block.split_at_mut(PREFIX);
        head[..8].copy_from_slice(&number.to_be_bytes());
        head[8..].copy_from_slice(&length_bytes(length)?);
        let tag = seal(&self.key, number, head, records)?;
        block.extend_from_slice(tag.as_ref());
        block.resize(padded(length) as usize, 0);

        let doing = StoreError::io("writing a log");
        self.file.write_all_at(block, self.at).map_err(&doing)?;
        self.file.sync_data().map_err(&doing)?;
        self.at += padded(length);
        Ok(())
    }
}

/// Makes a durable file that begins with a head and has zeros up to its end.
///
/// Zeros are written, not only promised: a later write then changes no metadata, and making it
/// durable is one write instead of two.
fn filled(path: &Path, head: &[u8], end: u64) -> io::Result<File> {
    let file = File::create(path)?;
    let zeros = vec![0; ZEROS];
    for at in (SECTOR..end).step_by(ZEROS) {
        file.write_all_at(&zeros[..ZEROS.min((end - at) as usize)], at)?;
    }
    file.write_all_at(head, 0)?;
    file.sync_all()?;
    Ok(file)
}

/// A segment that is read.
pub struct SegmentReader {
    /// The number of its first block.
    pub first: u64,
    /// The number of bytes of a record.
    each: usize,
    file: File,
    key: LessSafeKey,
    at: u64,
    end: u64,
}

impl SegmentReader {
    /// Opens a segment and checks its head.
    pub fn open(path: &Path, key: &LogKey) -> Result<Self, StoreError> {
        let doing = StoreError::io("opening a segment");
        let file = File::open(path).map_err(&doing)?;
        let end = file.metadata().map_err(&doing)?.len();
        let mut bytes = [0; HEAD];
        file.read_exact_at(&mut bytes, 0).map_err(|_| DAMAGED)?;
        let (body, tag) = bytes.split_at_mut(HEAD - TAG);
        let (first, each) = (u64::from_be_bytes(array(&body[48..56])), key.each());
        let key = cipher(key, &array(&body[16..48]))?;
        let opened = key.open_in_place(nonce(0), Aad::from(&*body), tag).is_ok();
        if !opened || &body[..16] != MAGIC || length(&body[56..60]) != each {
            return Err(DAMAGED);
        }
        Ok(Self { first, each, file, key, at: SECTOR, end })
    }

    /// Shows the records of all blocks, from the first one up to `stop`, or to the last intact one
    /// where none is known, and returns the number at which it arrives; `None` if `visit` breaks
    /// off. A block that is missing on the way is damage.
    pub fn walk(&mut self, stop: Option<u64>, visit: Visit<'_>) -> Result<Option<u64>, StoreError> {
        let (mut number, mut records) = (self.first, Vec::new());
        while stop.is_none_or(|stop| number < stop)
            && self.block(self.at, &mut records)? == Some(number)
        {
            self.at += padded(records.len());
            if visit(&records).is_break() {
                return Ok(None);
            }
            number += 1;
        }
        let complete = match stop {
            Some(stop) => number == stop,
            None => !self.more(&mut records)?,
        };
        if complete { Ok(Some(number)) } else { Err(DAMAGED) }
    }

    /// True if an intact block follows.
    ///
    /// A machine that stops leaves at most one block damaged, the last one, since a block is
    /// written only when the one before is durable. An intact block after a damaged one therefore
    /// means that an acknowledged one is lost.
    fn more(&self, records: &mut Vec<u8>) -> Result<bool, StoreError> {
        for at in (self.at..self.end).step_by(SECTOR as usize) {
            if self.block(at, records)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes durable what has been read.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(StoreError::io("settling a log"))
    }

    /// The number of the intact block that begins `at` these bytes, whose records are then in
    /// `records`.
    fn block(&self, at: u64, records: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        let doing = StoreError::io("reading a log");
        let mut head = [0; PREFIX];
        if at + (PREFIX + TAG) as u64 > self.end {
            return Ok(None);
        }
        self.file.read_exact_at(&mut head, at).map_err(&doing)?;
        let number = u64::from_be_bytes(array(&head[..8]));
        let length = length(&head[8..]);
        let stop = at + (PREFIX + length + TAG) as u64;
        if number < self.first || length == 0 || length > MAX_BLOCK || stop > self.end {
            return Ok(None);
        }
        records.resize(length + TAG, 0);
        self.file.read_exact_at(records, at + PREFIX as u64).map_err(&doing)?;
        let opened = self.key.open_in_place(nonce(number), Aad::from(&head), records).is_ok();
        records.truncate(length);
        Ok((opened && length.is_multiple_of(self.each)).then_some(number))
    }
}

fn cipher(key: &LogKey, salt: &[u8; 32]) -> Result<LessSafeKey, StoreError> {
    let key = UnboundKey::new(&AES_256_GCM, &*key.segment(salt)).map_err(|_| UNSEALED)?;
    Ok(LessSafeKey::new(key))
}

fn seal(key: &LessSafeKey, number: u64, aad: &[u8], records: &mut [u8]) -> Result<Tag, StoreError> {
    let tag = key.seal_in_place_separate_tag(nonce(number), Aad::from(aad), records);
    tag.map_err(|_| UNSEALED)
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

fn length_bytes(length: usize) -> Result<[u8; 4], StoreError> {
    Ok(u32::try_from(length).map_err(|_| UNSEALED)?.to_be_bytes())
}

fn length(bytes: &[u8]) -> usize {
    u32::from_be_bytes(array(bytes)) as usize
}

/// The number of bytes that a block with `length` bytes of records takes.
fn padded(length: usize) -> u64 {
    ((PREFIX + length + TAG) as u64).next_multiple_of(SECTOR)
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the slices here are cut to their length")
}

/// The number of bytes before the records of a block.
pub const PREFIX: usize = 12;

/// The most bytes of records in a block.
pub const MAX_BLOCK: usize = 16 << 20;

/// The error for bytes that are not those that were written.
pub const DAMAGED: StoreError = StoreError::Corrupt { what: "a log" };

/// The error for a length that no record has, or for a lack of random bytes.
const UNSEALED: StoreError = StoreError::Misuse { what: "a log cannot be sealed" };

const MAGIC: &[u8; 16] = b"throng/1 log\0\0\0\0";

const HEAD: usize = 76;

const TAG: usize = 16;

/// The smallest unit that a disk writes, in bytes.
const SECTOR: u64 = 512;

const ZEROS: usize = 1 << 20;
