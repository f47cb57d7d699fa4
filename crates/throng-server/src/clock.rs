//! The time of day, real or set by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

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
}
