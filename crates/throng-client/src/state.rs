//! The state that a device keeps about one collection, as bytes.
//!
//! ```text
//! "throng client state" ‖ 0x00 ‖ version (1) ‖ collection id (32) ‖ off (1)
//! ‖ reports (8) ‖ next epoch (8) ‖ memory: words (4), each (8) ‖ pending report: bytes (4) ‖ bytes
//! ‖ SHA-256 of all before
//! ```

use sha2::{Digest, Sha256};
use throng_wire::CollectionId;
use throng_wire::bytes::{Reader, Writer};
use zeroize::Zeroizing;

/// The words that answers rest on, wiped when dropped.
pub(crate) type Words = Zeroizing<Vec<u64>>;

/// Off switch, odometer, memory, and the report that is on its way.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The hard off switch.
    pub off: bool,
    /// Reports so far.
    pub reports: u64,
    /// The first epoch that may still be reported; the one before it is the latest that was, unless
    /// there are no reports.
    pub next: u64,
    /// The words that answers rest on; empty where they rest on nothing.
    pub memory: Words,
    /// The sealed report of the latest epoch until it is delivered.
    pub pending: Option<Vec<u8>>,
}

impl State {
    /// The latest epoch that was reported.
    pub fn last(&self) -> Option<u64> {
        self.next.checked_sub(1)
    }

    /// The bytes to store.
    pub fn encode(&self, collection: CollectionId) -> Zeroizing<Vec<u8>> {
        let pending = self.pending.as_deref().unwrap_or_default();
        // Room for all of it: growing would leave copies of the memory behind.
        let room = FIXED + 8 * self.memory.len() + pending.len();
        let mut to = Writer(Vec::with_capacity(room));
        to.raw(MAGIC).u8(VERSION).raw(collection.as_bytes()).u8(self.off.into());
        to.u64(self.reports).u64(self.next).u32(self.memory.len() as u32);
        for word in &*self.memory {
            to.u64(*word);
        }
        to.u32(pending.len() as u32).raw(pending);
        let sum = Sha256::digest(&to.0);
        to.raw(&sum);
        Zeroizing::new(to.0)
    }

    /// Reads what [`State::encode`] wrote for this collection, whose reports have `report_bytes`
    /// bytes, or says what is wrong with it.
    pub fn decode(
        bytes: &[u8],
        collection: CollectionId,
        report_bytes: usize,
    ) -> Result<Self, &'static str> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(NOT_A_STATE)?;
        match rest.first() {
            Some(&VERSION) => {}
            Some(_) => return Err(OTHER_VERSION),
            None => return Err(DAMAGED),
        }
        let (body, sum) = bytes.split_last_chunk::<32>().ok_or(DAMAGED)?;
        if Sha256::digest(body)[..] != sum[..] {
            return Err(DAMAGED);
        }
        let mut reader = Reader(body.get(MAGIC.len() + 1..).ok_or(DAMAGED)?);
        let id = reader.array("a collection id").map_err(|_| DAMAGED)?;
        if CollectionId::new(id) != collection {
            return Err(OTHER_COLLECTION);
        }
        let state = read(&mut reader).map_err(|_| DAMAGED)?;
        let fits = state.reports <= state.next
            && (state.reports == 0) == (state.next == 0)
            && state.pending.as_ref().is_none_or(|report| {
                report.len() == report_bytes && state.reports > 0 && !state.off
            })
            && (state.memory.is_empty() || state.reports > 0 && !state.off);
        if fits && reader.end().is_ok() { Ok(state) } else { Err(DAMAGED) }
    }
}

/// The fields after the collection's id.
fn read(reader: &mut Reader<'_>) -> Result<State, throng_wire::Error> {
    let off = match reader.u8(SWITCH)? {
        0 => false,
        1 => true,
        _ => return Err(throng_wire::Error::Malformed { expected: SWITCH }),
    };
    let (reports, next) = (reader.u64("a number of reports")?, reader.u64("an epoch")?);
    let words = reader.u32("a number of words")? as usize;
    let (words, _) = reader.take(words.saturating_mul(8), "a memory")?.as_chunks();
    let memory = Zeroizing::new(words.iter().map(|word| u64::from_be_bytes(*word)).collect());
    let pending = reader.u32("a length")? as usize;
    let pending = reader.take(pending, "a pending report")?.to_vec();
    let pending = Some(pending).filter(|report| !report.is_empty());
    Ok(State { off, reports, next, memory, pending })
}

const MAGIC: &[u8] = b"throng client state\0";
const VERSION: u8 = 1;
/// Bytes of everything but the memory and the report.
const FIXED: usize = MAGIC.len() + 1 + 32 + 1 + 8 + 8 + 4 + 4 + 32;

const SWITCH: &str = "a switch that is off or on";

const NOT_A_STATE: &str = "not a state file; it is left as it is";
const OTHER_VERSION: &str = "written by another version of this library; it is left as it is";
const OTHER_COLLECTION: &str = "the state of another collection; each has a file of its own";
const DAMAGED: &str = "damaged; restore it, or leave this collection: starting over would spend \
                       what is promised a second time";

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> CollectionId {
        CollectionId::new([3; 32])
    }

    fn state() -> State {
        let memory = Zeroizing::new(vec![1, u64::MAX]);
        State { off: false, reports: 3, next: 5, memory, pending: Some(vec![9; 40]) }
    }

    fn decode(bytes: &[u8]) -> Result<State, &'static str> {
        State::decode(bytes, id(), 40)
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let off = State { off: true, memory: Words::default(), pending: None, ..state() };
        for state in [State::default(), state(), off] {
            let bytes = state.encode(id());
            assert_eq!(bytes.len(), bytes.capacity());
            assert!(decode(&bytes) == Ok(state));
        }
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let bytes = state().encode(id());
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err());
        }
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped).is_err(), "bit {bit}");
        }
        assert!(decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    /// Fields that do not fit together, under a sum that fits.
    #[test]
    fn what_no_client_writes_is_refused() {
        let wrong = [
            State { reports: 6, ..state() },
            State { reports: 0, ..state() },
            State { off: true, ..state() },
            State { off: true, pending: None, ..state() },
            State { pending: Some(vec![9; 39]), ..state() },
            State { reports: 0, next: 0, pending: None, ..state() },
            State { next: 1, ..State::default() },
        ];
        for state in wrong {
            assert!(decode(&state.encode(id())) == Err(DAMAGED));
        }
        let huge = state().encode(id());
        let count = MAGIC.len() + 1 + 32 + 1 + 8 + 8;
        let mut body = huge[..huge.len() - 32].to_vec();
        body[count..count + 4].fill(0xff);
        let sum = Sha256::digest(&body);
        assert!(decode(&[&body[..], &sum[..]].concat()) == Err(DAMAGED));
    }

    #[test]
    fn other_files_collections_and_versions_are_told_apart() {
        let bytes = state().encode(id());
        assert!(State::decode(&bytes, CollectionId::new([4; 32]), 40) == Err(OTHER_COLLECTION));
        let mut other = bytes.clone();
        other[MAGIC.len()] = VERSION + 1;
        assert!(decode(&other) == Err(OTHER_VERSION));
        assert!(decode(b"a diary") == Err(NOT_A_STATE));
        assert!(decode(b"") == Err(NOT_A_STATE));
    }
}
