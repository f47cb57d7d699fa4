//! All that everyone on the way needs to know of a collection, whatever it is for.

use crate::{Chain, CollectionId, PublicIdentity, Schedule, Shape};
use std::ops::Range;

/// How long everything is, how many are waited for, when, and through whom. Mixes know no more of a
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
    /// What people call it: the question, or what a board is about.
    pub title: String,
    /// How long everything is.
    pub shape: Shape,
    /// Distinct valid reports that a mix and the analyzer require.
    pub quorum: u64,
    /// Epochs in all, numbered from 0.
    pub epochs: u64,
    /// When.
    pub schedule: Schedule,
    /// Through whom.
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

    /// Who has to sign, in the order of the chain.
    pub fn parties(&self) -> Vec<PublicIdentity> {
        self.chain.parties().map(|(_, party)| party.identity).collect()
    }
}
