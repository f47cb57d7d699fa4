//! The times of epochs.

use std::ops::Range;

/// The times at which epochs begin and end, in seconds since 1970-01-01 UTC.
///
/// ```
/// use throng_wire::{Below, Schedule};
///
/// // Days, each with an hour of grace; a short one waits for the rest of its week.
/// let (day, below) = (86_400, Below::Merge { window: 7 });
/// let schedule = Schedule { start: 0, every: day, grace: 3_600, below };
/// assert_eq!(schedule.epoch_at(10 * day + 5), Some(10));
/// assert_eq!((schedule.start_of(10), schedule.deadline(10)), (10 * day, 11 * day + 3_600));
/// assert_eq!(schedule.window_epochs(10), 7..14);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The begin of epoch 0.
    pub start: u64,
    /// Seconds from one epoch to the next.
    pub every: u64,
    /// Seconds after its end in which reports for an epoch are still taken.
    pub grace: u64,
    /// The fate of too few reports.
    pub below: Below,
}

impl Schedule {
    /// The epoch that this time lies in, if the first has begun.
    pub fn epoch_at(&self, now: u64) -> Option<u64> {
        Some(now.checked_sub(self.start)? / self.every.max(1))
    }

    /// The begin of an epoch.
    pub fn start_of(&self, epoch: u64) -> u64 {
        self.start.saturating_add(epoch.saturating_mul(self.every))
    }

    /// The end of an epoch, where the next one begins.
    pub fn end_of(&self, epoch: u64) -> u64 {
        self.start_of(epoch.saturating_add(1))
    }

    /// The time until which reports for an epoch are taken: its end and the grace.
    pub fn deadline(&self, epoch: u64) -> u64 {
        self.end_of(epoch).saturating_add(self.grace)
    }

    /// Epochs in a window: those whose reports may be merged, and that share their keys.
    pub fn window(&self) -> u64 {
        match self.below {
            Below::Expire => 1,
            Below::Merge { window } => window.max(1),
        }
    }

    /// The window of an epoch, by its first epoch.
    pub fn window_of(&self, epoch: u64) -> u64 {
        epoch - epoch % self.window()
    }

    /// The epochs of the window that this epoch belongs to.
    pub fn window_epochs(&self, epoch: u64) -> Range<u64> {
        let first = self.window_of(epoch);
        first..first.saturating_add(self.window())
    }
}

/// The fate of an epoch with too few reports.
///
/// ```
/// use throng_wire::{Below, Schedule};
///
/// let expire = Schedule { start: 0, every: 60, grace: 0, below: Below::Expire };
/// let merge = Schedule { below: Below::Merge { window: 4 }, ..expire };
/// assert_eq!((expire.window_epochs(6), merge.window_epochs(6)), (6..7, 4..8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// Its reports are discarded.
    Expire,
    /// Its reports wait for the next epoch of the same window, and are discarded at its end.
    Merge {
        /// Epochs per window.
        window: u64,
    },
}
