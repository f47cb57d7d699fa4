//! An append log with group commit, one directory of [segments](super::segment) per log.
//!
//! ```text
//! submit     copies the records into the queue and returns at once
//! committer  one thread per log: takes the whole queue, sorts it, seals it as one block,
//!            writes it, waits for the disk, and answers everybody in it; meanwhile the next
//!            queue fills up
//! ```
//!
//! The busier the log, the larger the groups: the disk is waited for once per group. What arrived
//! together is sorted by content, which is random, so within a group nothing is left of its order.
//!
//! Which blocks belong to the log is decided by the heads of its segments: a segment has the blocks
//! from its own first up to the first of the next one, and each of them must be intact. In the last
//! segment, what follows its intact blocks was never acknowledged; if it holds an intact block,
//! that is damage and an error.

use super::pending::{Answer, Pending};
use super::segment::{DAMAGED, MAX_BLOCK, PREFIX, Segment, SegmentReader};
use super::{LogKey, StoreError, Visit, files};
use crate::lock;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A log that takes records.
pub struct Log {
    shared: Arc<Shared>,
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl Log {
    /// Opens a log, or makes it.
    pub fn open(directory: &Path, key: &LogKey) -> Result<Self, StoreError> {
        let doing = StoreError::io("opening a log");
        files::private_directory(directory).map_err(&doing)?;
        let paths = segments(directory)?;
        let next = paths.last().map_or(Ok(FIRST), |last| end_of(last, key))?;
        let made = paths.last().map_or(Some(0), |last| index(last)?.checked_add(1));
        let shared = Arc::new(Shared {
            directory: directory.to_owned(),
            key: key.clone(),
            queue: Mutex::default(),
            filled: Condvar::new(),
            next: AtomicU64::new(next),
        });
        let (made, segment, block) = (made.ok_or(DAMAGED)?, None, Vec::new());
        let mut committer = Committer { log: Arc::clone(&shared), made, segment, block };
        let thread = thread::Builder::new().name("log".to_owned());
        let thread = thread.spawn(move || committer.run()).map_err(&doing)?;
        Ok(Self { shared, committer: Mutex::new(Some(thread)) })
    }

    /// Queues whole records.
    pub fn submit(&self, key: &LogKey, records: &[u8]) -> Pending {
        if let Err(error) = self.check(key) {
            return Err(error).into();
        }
        let mut queue = lock(&self.shared.queue);
        if queue.ended {
            return Err(StoreError::Closed).into();
        }
        if records.len() > MAX_BLOCK - queue.records.len() {
            return Err(StoreError::Full).into();
        }
        if records.is_empty() {
            return Ok(()).into();
        }
        let idle = queue.records.is_empty();
        queue.records.extend_from_slice(records);
        let pending = queue.answer.pending();
        drop(queue);
        if idle {
            self.shared.filled.notify_one();
        }
        pending
    }

    /// Takes no more records, and returns when all that were queued are answered.
    pub fn end(&self) {
        lock(&self.shared.queue).ended = true;
        self.shared.filled.notify_one();
        let thread = lock(&self.committer).take();
        if let Some(thread) = thread {
            // The committer does not panic, and if it did there is nobody left to tell.
            let _ = thread.join();
        }
    }

    /// Shows the acknowledged records.
    pub fn read(&self, key: &LogKey, visit: Visit<'_>) -> Result<(), StoreError> {
        self.check(key)?;
        let end = self.shared.next.load(Ordering::Acquire);
        read(&self.shared.directory, key, Some(end), visit)
    }

    /// The number of bytes in the queue.
    pub fn waiting(&self) -> usize {
        lock(&self.shared.queue).records.len()
    }

    fn check(&self, key: &LogKey) -> Result<(), StoreError> {
        if self.shared.key.same(key) { Ok(()) } else { Err(DAMAGED) }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.end();
    }
}

/// Shows all records of the log in a directory, a block at a time, up to the block `end` if that is
/// known.
pub fn read(
    directory: &Path,
    key: &LogKey,
    end: Option<u64>,
    visit: Visit<'_>,
) -> Result<(), StoreError> {
    let paths = segments(directory)?;
    let mut segments = paths.iter().map(|path| SegmentReader::open(path, key));
    let (mut number, mut segment) = (FIRST, segments.next().transpose()?);
    while let Some(mut current) = segment {
        segment = segments.next().transpose()?;
        if current.first != number {
            return Err(DAMAGED);
        }
        let stop = segment.iter().map(|next| next.first).chain(end).min();
        match current.walk(stop, visit)? {
            // If `end` is reached, later segments are still being written.
            Some(reached) if end != Some(reached) => number = reached,
            _ => break,
        }
    }
    Ok(())
}

/// The state that clients and the committer share.
struct Shared {
    directory: PathBuf,
    key: LogKey,
    queue: Mutex<Queue>,
    filled: Condvar,
    /// The number of the block after the last acknowledged one.
    next: AtomicU64,
}

#[derive(Default)]
struct Queue {
    records: Vec<u8>,
    answer: Answer,
    ended: bool,
}

/// The thread that writes.
struct Committer {
    log: Arc<Shared>,
    /// The number of segments that were made or tried.
    made: u32,
    segment: Option<Segment>,
    block: Vec<u8>,
}

impl Committer {
    fn run(&mut self) {
        let mut records = Vec::new();
        while let Some(answer) = self.take(&mut records) {
            answer.give(self.commit(&records));
        }
    }

    /// Waits for records and takes all there are; `None` when the log has ended.
    fn take(&self, records: &mut Vec<u8>) -> Option<Answer> {
        records.clear();
        records.shrink_to(KEPT);
        let mut queue = lock(&self.log.queue);
        while queue.records.is_empty() {
            if queue.ended {
                return None;
            }
            queue = self.log.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut queue.records, records);
        Some(std::mem::take(&mut queue.answer))
    }

    fn commit(&mut self, records: &[u8]) -> Result<(), StoreError> {
        self.block.clear();
        self.block.shrink_to(KEPT);
        self.block.resize(PREFIX, 0);
        sort_into(records, self.log.key.each(), &mut self.block);

        // After an error the segment is given up: what it has of this block was not acknowledged,
        // and the head of the next segment says so.
        let number = self.log.next.load(Ordering::Acquire);
        let mut segment = match self.segment.take().filter(|segment| segment.fits(records.len())) {
            Some(segment) => segment,
            None => self.make(number, records.len())?,
        };
        segment.write(number, &mut self.block)?;
        self.segment = Some(segment);
        self.log.next.store(number + 1, Ordering::Release);
        Ok(())
    }

    fn make(&mut self, first: u64, least: usize) -> Result<Segment, StoreError> {
        let index = self.made;
        self.made = index.checked_add(1).ok_or(StoreError::Full)?;
        let room = (SMALLEST << (2 * index.min(STEPS))).max(least as u64 + 64);
        let path = self.log.directory.join(format!("{index:010}.segment"));
        Segment::create(&path, &self.log.key, first, room)
    }
}

/// Appends the records to `block`, sorted.
fn sort_into(records: &[u8], each: usize, block: &mut Vec<u8>) {
    let mut order: Vec<(u64, &[u8])> = records.chunks(each).map(|r| (prefix(r), r)).collect();
    order.sort_unstable();
    for (_, record) in order {
        block.extend_from_slice(record);
    }
}

/// The first bytes of a record, in the order of the records: most comparisons need no more.
fn prefix(record: &[u8]) -> u64 {
    let mut first = [0; 8];
    let bytes = record.len().min(8);
    first[..bytes].copy_from_slice(&record[..bytes]);
    u64::from_be_bytes(first)
}

/// The number of the block after the last one of the log's last segment.
fn end_of(last: &Path, key: &LogKey) -> Result<u64, StoreError> {
    let mut segment = SegmentReader::open(last, key)?;
    let end = segment.walk(None, &mut |_| ControlFlow::Continue(()))?.ok_or(DAMAGED)?;
    // A block may be intact without being durable: its writer stopped before the disk answered. The
    // next segment's head counts on it.
    segment.sync()?;
    Ok(end)
}

/// The segments of a log, in order. Those that were not finished have another name.
fn segments(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let names =
        files::if_there(files::names(directory)).map_err(StoreError::io("listing a log"))?;
    let segments = names.into_iter().flatten().filter(|name| name.ends_with(".segment"));
    Ok(segments.map(|name| directory.join(name)).collect())
}

fn index(segment: &Path) -> Option<u32> {
    segment.file_stem()?.to_str()?.parse().ok()
}

/// The number of a log's first block; 0 is the nonce of heads.
const FIRST: u64 = 1;

/// The bytes of blocks in the first segment. Each segment has room for four times those of the one
/// before, a few times.
const SMALLEST: u64 = 1 << 20;

const STEPS: u32 = 3;

/// The largest buffer that is kept; larger ones are given back.
const KEPT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use throng_wire::LayerSecret;

    const EACH: usize = 20;
    const SECTOR: u64 = 512;
    /// The bytes of a block: number, length, two records, tag.
    const BLOCK: u64 = (12 + 2 * EACH + 16) as u64;

    fn key(seed: u8) -> LogKey {
        key_for(seed, EACH)
    }

    fn key_for(seed: u8, each: usize) -> LogKey {
        LogKey::derive(&LayerSecret::from_bytes(&[seed; 32]), 7, each)
    }

    /// Two records, in order, that no other `i` has.
    fn pair(i: u8) -> Vec<u8> {
        [[2 * i; EACH], [2 * i + 1; EACH]].concat()
    }

    fn append(log: &Log, i: u8) {
        log.submit(&key(1), &pair(i)).wait().unwrap();
    }

    fn content(directory: &Path, key: &LogKey) -> Result<Vec<u8>, StoreError> {
        let mut all = Vec::new();
        read(directory, key, None, &mut |records| {
            all.extend_from_slice(records);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    fn pairs(range: impl IntoIterator<Item = u8>) -> Vec<u8> {
        range.into_iter().flat_map(pair).collect()
    }

    /// A log with three blocks in one segment, which is cut to what it holds.
    fn three_blocks() -> (tempfile::TempDir, Vec<u8>) {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::open(directory.path(), &key(1)).unwrap();
        (0..3).for_each(|i| append(&log, i));
        drop(log);
        let path = directory.path().join("0000000000.segment");
        OpenOptions::new().write(true).open(&path).unwrap().set_len(4 * SECTOR).unwrap();
        let bytes = fs::read(path).unwrap();
        (directory, bytes)
    }

    /// Puts a segment of these bytes into a directory of its own.
    fn segment_of(bytes: &[u8]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("0000000000.segment"), bytes).unwrap();
        directory
    }

    fn flipped(bytes: &[u8], at: u64) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes[at as usize] ^= 1 << (at % 8);
        bytes
    }

    /// Reads what is there, goes on with it, and reads it again.
    fn assert_goes_on(bytes: &[u8], kept: &[u8], reopen: bool) {
        let directory = segment_of(bytes);
        assert_eq!(content(directory.path(), &key(1)), Ok(kept.to_vec()));
        if reopen {
            let log = Log::open(directory.path(), &key(1)).unwrap();
            append(&log, 9);
            append(&log, 10);
            drop(log);
            let all = [kept, &pairs([9, 10])].concat();
            assert_eq!(content(directory.path(), &key(1)), Ok(all));
        }
    }

    #[test]
    fn a_log_cut_anywhere_in_its_last_block_keeps_the_others() {
        let (_directory, bytes) = three_blocks();
        for cut in 3 * SECTOR..4 * SECTOR {
            let kept = if cut < 3 * SECTOR + BLOCK { pairs(0..2) } else { pairs(0..3) };
            assert_goes_on(&bytes[..cut as usize], &kept, cut % 16 == 5);
        }
    }

    #[test]
    fn a_last_block_with_a_flipped_bit_is_left_out_and_the_others_stay() {
        let (_directory, bytes) = three_blocks();
        for at in 3 * SECTOR..4 * SECTOR {
            let kept = if at < 3 * SECTOR + BLOCK { pairs(0..2) } else { pairs(0..3) };
            assert_goes_on(&flipped(&bytes, at), &kept, at % 16 == 5);
        }
    }

    // The sectors of one write reach the disk in any order.
    #[test]
    fn a_last_block_whose_end_was_written_first_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::open(directory.path(), &key(1)).unwrap();
        append(&log, 0);
        let long: Vec<u8> = pair(1).into_iter().cycle().take(100 * EACH).collect();
        log.submit(&key(1), &long).wait().unwrap();
        drop(log);
        let bytes = fs::read(directory.path().join("0000000000.segment")).unwrap();
        for missing in 0..4 {
            let mut bytes = bytes.clone();
            bytes[(2 + missing) * SECTOR as usize..][..SECTOR as usize].fill(0);
            assert_goes_on(&bytes, &pair(0), true);
        }
    }

    #[test]
    fn damage_before_an_intact_block_is_an_error() {
        let (_directory, bytes) = three_blocks();
        let heads = 0..76;
        let blocks = [SECTOR, 2 * SECTOR].map(|start| start..start + BLOCK);
        for at in blocks.into_iter().chain([heads]).flatten() {
            let directory = segment_of(&flipped(&bytes, at));
            assert_eq!(content(directory.path(), &key(1)), Err(DAMAGED), "byte {at}");
            assert_eq!(Log::open(directory.path(), &key(1)).err(), Some(DAMAGED));
        }
    }

    #[test]
    fn damage_at_the_end_of_an_earlier_segment_is_an_error() {
        let (directory, bytes) = three_blocks();
        let log = Log::open(directory.path(), &key(1)).unwrap();
        append(&log, 3);
        drop(log);
        let first = directory.path().join("0000000000.segment");
        assert_eq!(content(directory.path(), &key(1)), Ok(pairs(0..4)));
        for at in 3 * SECTOR..3 * SECTOR + BLOCK {
            fs::write(&first, flipped(&bytes, at)).unwrap();
            assert_eq!(content(directory.path(), &key(1)), Err(DAMAGED));
        }
        fs::write(&first, &bytes[..3 * SECTOR as usize]).unwrap();
        assert_eq!(content(directory.path(), &key(1)), Err(DAMAGED));
        fs::remove_file(&first).unwrap();
        assert_eq!(content(directory.path(), &key(1)), Err(DAMAGED));
    }

    // A write fails, but its bytes reach the disk. The records are refused, so the block's number
    // is used again: in a new segment, whose head says that the first attempt does not count, and
    // under another key.
    #[test]
    fn a_block_that_was_refused_does_not_count_even_if_it_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let make = |index: u8, first| {
            let path = directory.path().join(format!("000000000{index}.segment"));
            Segment::create(&path, &key(1), first, 2048).unwrap()
        };
        let write = |segment: &mut Segment, number, i| {
            let mut block = [vec![0; PREFIX], pair(i)].concat();
            segment.write(number, &mut block).unwrap();
            block
        };
        let mut before = make(0, 1);
        write(&mut before, 1, 1);
        let refused = write(&mut before, 2, 2);
        let again = write(&mut make(1, 2), 2, 2);
        assert_eq!(refused[..PREFIX], again[..PREFIX]);
        let sealed = PREFIX..BLOCK as usize;
        let same = refused[sealed.clone()].iter().zip(&again[sealed]).filter(|(a, b)| a == b);
        // 56 bytes that are equal by chance with 1/256 each: ten or more have a chance below 1e-13.
        assert!(same.count() < 10);
        assert_eq!(content(directory.path(), &key(1)), Ok(pairs(1..3)));
    }

    #[test]
    fn nothing_is_readable_under_another_key_or_without_one() {
        let (directory, bytes) = three_blocks();
        for other in [key(2), LogKey::derive(&LayerSecret::from_bytes(&[1; 32]), 8, EACH)] {
            assert_eq!(content(directory.path(), &other), Err(DAMAGED));
            assert_eq!(Log::open(directory.path(), &other).err(), Some(DAMAGED));
        }
        for record in pairs(1..3).chunks(EACH) {
            assert!(!bytes.windows(EACH).any(|window| window == record));
        }
        let log = Log::open(directory.path(), &key(1)).unwrap();
        assert_eq!(log.submit(&key(2), &pair(0)).wait(), Err(DAMAGED));
        assert_eq!(log.submit(&key_for(1, EACH / 2), &pair(0)).wait(), Err(DAMAGED));
    }

    #[test]
    fn many_threads_lose_nothing_and_leave_no_order_within_a_group() {
        let (directory, key) = (tempfile::tempdir().unwrap(), key_for(1, 4));
        let log = Log::open(directory.path(), &key).unwrap();
        thread::scope(|scope| {
            for t in 0..8_u32 {
                let (log, key) = (&log, &key);
                scope.spawn(move || {
                    for i in 0..100 {
                        // Scattered, so that the order of arrival is not the sorted one.
                        let record = (100 * t + i).wrapping_mul(0x9E37_79B1).to_be_bytes();
                        log.submit(key, &record).wait().unwrap();
                    }
                });
            }
        });
        let (mut found, mut groups) = (Vec::new(), 0);
        log.read(&key, &mut |records| {
            let group: Vec<[u8; 4]> = records.chunks(4).map(|r| r.try_into().unwrap()).collect();
            assert!(group.is_sorted());
            groups += 1;
            found.extend(group);
            ControlFlow::Continue(())
        })
        .unwrap();
        let mut sent: Vec<[u8; 4]> =
            (0..800_u32).map(|i| i.wrapping_mul(0x9E37_79B1).to_be_bytes()).collect();
        sent.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, sent);
        assert!(groups <= 800);
        log.end();
        assert_eq!(log.submit(&key, &[0; 4]).wait(), Err(StoreError::Closed));
    }

    #[test]
    fn a_group_larger_than_a_segment_has_one_of_its_own() {
        let (directory, key) = (tempfile::tempdir().unwrap(), key_for(1, 1 << 10));
        let log = Log::open(directory.path(), &key).unwrap();
        let records = vec![5; 3 << 20];
        log.submit(&key, &records).wait().unwrap();
        log.submit(&key, &records[..2 << 20]).wait().unwrap();
        let mut bytes = 0;
        let count = &mut |records: &[u8]| {
            bytes += records.len();
            ControlFlow::Continue(())
        };
        log.read(&key, count).unwrap();
        assert_eq!(bytes, 5 << 20);
        let too_many = vec![0; MAX_BLOCK + (1 << 10)];
        assert_eq!(log.submit(&key, &too_many).wait(), Err(StoreError::Full));
    }

    #[test]
    fn tasks_are_woken_like_threads() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::open(directory.path(), &key(1)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let pending: Vec<Pending> = (0..50).map(|i| log.submit(&key(1), &pair(i))).collect();
            for one in pending {
                one.await.unwrap();
            }
        });
        drop(log);
        assert_eq!(content(directory.path(), &key(1)).unwrap().len(), 100 * EACH);
    }

    #[test]
    fn a_failed_write_is_told_and_the_next_one_may_succeed() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("log");
        let log = Log::open(&place, &key(1)).unwrap();
        append(&log, 0);
        // More than the room that is left, and nowhere to make a segment.
        let many: Vec<u8> = pair(1).into_iter().cycle().take(60_000 * EACH).collect();
        fs::rename(&place, directory.path().join("away")).unwrap();
        assert!(matches!(
            log.submit(&key(1), &many).wait(),
            Err(StoreError::Io { kind: std::io::ErrorKind::NotFound, .. })
        ));
        fs::rename(directory.path().join("away"), &place).unwrap();
        append(&log, 2);
        drop(log);
        assert_eq!(content(&place, &key(1)), Ok(pairs([0, 2])));
    }
}
