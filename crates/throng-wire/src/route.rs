//! What everyone on the way needs to know of a collection, whatever it is for.

use crate::{Board, Chain, Collection, CollectionId, PublicIdentity, Schedule, Shape};
use std::ops::Range;

/// How long everything is, how many are waited for, when, and through whom. Mixes know no more of a
/// question or a board than this.
///
/// ```
/// use throng_wire::{Collection, Route};
/// # let collection = Collection::parse(r#"
/// # question = { text = "Do you cycle to work?", value = "bit" }
/// # promise = { epsilon = 1.0, delta = 1e-6, crowd = 1000, epochs = 1, lifetime_epsilon = 1.0,
/// #             lifetime_delta = 1e-6 }
/// # mechanism = { key = "bit-sum", flip = "567064570277940032" }
/// # schedule = { start = 1000, every = "24h", grace = "1h", below = "expire" }
/// # mix = [{ name = "mix", url = "https://mix.example",
/// #          identity = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c" }]
/// # analyzer = { name = "analyzer", url = "https://analyzer.example",
/// #              identity = "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394" }
/// # "#)?;
///
/// let route = Route::from(&collection);
/// assert_eq!((route.id, route.quorum, route.epochs), (collection.id(), 1000, 1));
/// assert_eq!((route.epoch_at(1000), route.epoch_at(87_400)), (Some(0), None));
/// # Ok::<(), throng_wire::Error>(())
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

impl From<&Collection> for Route {
    fn from(collection: &Collection) -> Self {
        Self {
            id: collection.id(),
            title: collection.terms.question.text.clone(),
            shape: collection.shape(),
            quorum: collection.quorum(),
            epochs: collection.terms.promise.epochs,
            schedule: collection.schedule,
            chain: collection.chain.clone(),
        }
    }
}

impl From<&Board> for Route {
    fn from(board: &Board) -> Self {
        Self {
            id: board.id(),
            title: board.about.clone(),
            shape: board.shape(),
            quorum: board.crowd,
            epochs: board.rounds,
            schedule: board.schedule,
            chain: board.chain.clone(),
        }
    }
}
