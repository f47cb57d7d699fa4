//! The part of a collection that everyone on the way needs to know, whatever it is for.

use crate::{Chain, CollectionId, Schedule, Shape};
use std::ops::Range;

/// The lengths, the quorum, the schedule and the chain of a collection. Mixes know no more of a
/// question or a board than this.
///
/// ```
/// let route = throng_wire::example::route();
/// assert_eq!((route.quorum, route.epochs), (1000, 1));
/// assert_eq!((route.epoch_at(1000), route.epoch_at(87_400)), (Some(0), None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The collection's id.
    pub id: CollectionId,
    /// The name that people call it by: the question, or what a board is about.
    pub title: String,
    /// The lengths of everything.
    pub shape: Shape,
    /// Distinct valid reports that a mix and the analyzer require.
    pub quorum: u64,
    /// Epochs in all, numbered from 0.
    pub epochs: u64,
    /// The times of its epochs.
    pub schedule: Schedule,
    /// The parties on the way.
    pub chain: Chain,
}

impl Route {
    /// The epoch at this time, if there is one.
    pub fn epoch_at(&self, now: u64) -> Option<u64> {
        self.schedule.epoch_at(now).filter(|epoch| *epoch < self.epochs)
    }

    /// The epochs of the window that this epoch belongs to. The last window may be shorter.
    pub fn window_epochs(&self, epoch: u64) -> Range<u64> {
        let Range { start, end } = self.schedule.window_epochs(epoch);
        start..end.min(self.epochs).max(start)
    }
}
