//! The time of day, real or set by hand, and whether it can be believed.

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use throng_mix::store::{RowKey, Store, Table};
use throng_mix::{Error, Judgement, Reading, Timekeeper, lock};
use throng_wire::CollectionId;

/// A source of the time, in seconds since 1970-01-01 UTC.
///
/// ```
/// use throng_server::Clock;
///
/// let clock = Clock::manual(1_000);
/// // A clone is a handle of the same clock.
/// clock.clone().set(2_000);
/// assert_eq!(clock.now(), 2_000);
/// assert!(Clock::System.now() > 1_700_000_000);
/// assert!(clock.is_simulated() && !Clock::System.is_simulated());
/// ```
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A clock that is set by hand, for demonstrations and tests.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// A clock that stands at a time until it is set.
    pub fn manual(now: u64) -> Self {
        Self::Manual(Arc::new(AtomicU64::new(now)))
    }

    /// Sets a manual clock; the machine's is left alone.
    pub fn set(&self, now: u64) {
        if let Self::Manual(time) = self {
            time.store(now, Ordering::SeqCst);
        }
    }

    /// True if it is set by hand, so that what it says need not be the time of day anywhere else.
    pub fn is_simulated(&self) -> bool {
        match self {
            Self::System => false,
            Self::Manual(_) => true,
        }
    }

    /// The present time.
    pub fn now(&self) -> u64 {
        match self {
            Self::System => {
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
            }
            Self::Manual(time) => time.load(Ordering::SeqCst),
        }
    }

    /// One look at both clocks of the machine; there is none at a clock that is set by hand.
    pub(crate) fn reading(&self) -> Option<Reading> {
        match self {
            Self::System => Some(Reading { wall: self.now(), steady: steady() }),
            Self::Manual(_) => None,
        }
    }
}

/// The seconds since the machine was started, those in which it slept among them.
fn steady() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const STEADY: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const STEADY: ClockId = ClockId::Monotonic;
    clock_gettime(STEADY).tv_sec.unsigned_abs()
}

/// The clock of one party in one collection, and its judge.
pub(crate) struct Timekeeping {
    clock: Clock,
    keeper: Mutex<Timekeeper>,
    store: Store,
    collection: CollectionId,
    /// The start of this machine, if the system tells which one it is.
    boot: Option<String>,
    /// The lead that is on disk.
    kept: Mutex<Option<i64>>,
    /// The last judgement that was told to the operator.
    told: Mutex<Judgement>,
}

impl Timekeeping {
    /// Begins to judge a clock with this many other parties as witnesses. What was believed before
    /// counts if the machine was not restarted since.
    pub fn open(
        clock: Clock,
        store: Store,
        collection: CollectionId,
        others: usize,
    ) -> Result<Self, Error> {
        let boot = fs::read_to_string(BOOT).ok().map(|text| text.trim().to_owned());
        let row = store.rows.get(Table::Clock, &RowKey::of(collection))?;
        let row = row.and_then(|row| String::from_utf8(row).ok());
        // A row that cannot be read is as good as none: the others are asked.
        let lead = row.as_deref().and_then(|row| row.split_once(' ')).and_then(|(when, lead)| {
            Some(lead.parse().ok()?).filter(|_| boot.as_deref() == Some(when))
        });
        Ok(Self {
            clock,
            keeper: Mutex::new(Timekeeper::new(others, lead)),
            store,
            collection,
            boot,
            kept: Mutex::new(lead),
            told: Mutex::new(Judgement::Believed),
        })
    }

    /// Judges the clock as it stands now. One that is set by hand is right.
    pub fn judge(&self) -> Judgement {
        self.clock.reading().map_or(Judgement::Believed, |at| lock(&self.keeper).judge(at))
    }

    /// The judgement, if the clock is not believed.
    pub fn doubt(&self) -> Option<Judgement> {
        Some(self.judge()).filter(|judgement| *judgement != Judgement::Believed)
    }

    /// The latest time that was believed: what is due then may be done.
    pub fn due(&self) -> u64 {
        let Some(at) = self.clock.reading() else { return self.clock.now() };
        let mut keeper = lock(&self.keeper);
        keeper.judge(at);
        keeper.due()
    }

    /// The present time, if it can be believed.
    pub fn believed(&self) -> Result<u64, Error> {
        let due = self.due();
        if self.doubt().is_none() { Ok(due) } else { Err(Error::Clock) }
    }

    /// Takes the time that another party told.
    pub fn hear(&self, hop: u8, time: u64) {
        if let Some(at) = self.clock.reading() {
            lock(&self.keeper).hear(hop, time, at.steady);
        }
    }

    /// The seconds by which another party's clock was ahead when it was last heard.
    pub fn ahead(&self, hop: u8) -> Option<i64> {
        lock(&self.keeper).ahead(hop, self.clock.reading()?)
    }

    /// Keeps what was believed, so that a restart of this process does not forget it.
    pub fn keep(&self) -> Result<(), Error> {
        let (lead, mut kept) = (lock(&self.keeper).lead(), lock(&self.kept));
        let (Some(lead), Some(boot)) = (lead, &self.boot) else { return Ok(()) };
        if kept.is_none_or(|kept| kept.abs_diff(lead) > SLACK) {
            let (key, row) = (RowKey::of(self.collection), format!("{boot} {lead}"));
            self.store.rows.put(Table::Clock, &key, row.as_bytes())?;
            *kept = Some(lead);
        }
        Ok(())
    }

    /// Tells the operator when the clock begins to be doubted, and when it is believed again.
    pub fn tell(&self) {
        let (collection, judgement) = (self.collection, self.judge());
        let before = std::mem::replace(&mut *lock(&self.told), judgement);
        if judgement.is_doubt() && !before.is_doubt() {
            tracing::error!(%collection, reason = %judgement, "nothing is taken or closed");
        } else if before.is_doubt() && !judgement.is_doubt() {
            tracing::info!(%collection, "the clock is not in doubt any more");
        }
    }
}

/// The file in which Linux names the start of the machine.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The seconds by which what is on disk may be off: readings are cut to whole seconds.
const SLACK: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_mix::simulated::MemoryStore;

    fn id() -> CollectionId {
        CollectionId::new([1; 32])
    }

    fn open(store: &Store) -> Timekeeping {
        Timekeeping::open(Clock::System, store.clone(), id(), 1).unwrap()
    }

    /// A process that is started while the clock is wrong does not take it for right.
    #[test]
    fn a_restart_does_not_forget_what_was_believed() {
        let store = MemoryStore::new().store();
        let first = open(&store);
        assert!(first.believed().is_err() && first.due() == 0);
        first.hear(2, Clock::System.now());
        assert!(first.believed().is_ok());
        first.keep().unwrap();
        assert!(open(&store).believed().is_ok());
        // The same machine, whose wall clock was a day behind when it was last believed.
        let row = store.rows.get(Table::Clock, &RowKey::of(id())).unwrap().unwrap();
        let row = String::from_utf8(row).unwrap();
        let (boot, lead) = row.split_once(' ').unwrap();
        let lead: i64 = lead.parse().unwrap();
        let put = |boot: &str, lead: i64| {
            let row = format!("{boot} {lead}");
            store.rows.put(Table::Clock, &RowKey::of(id()), row.as_bytes()).unwrap();
            open(&store).judge()
        };
        let jumped = put(boot, lead - 86_400);
        assert!(matches!(jumped, Judgement::Jumped { seconds: 86_390..=86_410 }), "{jumped:?}");
        // Another start of the machine: nothing is known.
        assert_eq!(put("another", lead - 86_400), Judgement::Unconfirmed);
    }

    #[test]
    fn a_clock_that_is_set_by_hand_is_right() {
        let store = MemoryStore::new().store();
        let clock = Clock::manual(5_000);
        let time = Timekeeping::open(clock.clone(), store, id(), 1).unwrap();
        assert_eq!(time.believed().unwrap(), 5_000);
        clock.set(9_000_000);
        assert_eq!((time.judge(), time.due()), (Judgement::Believed, 9_000_000));
    }
}
