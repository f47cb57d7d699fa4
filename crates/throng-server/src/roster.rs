//! The collections of a server, which a reload may change.
//!
//! ```text
//! named           served
//! named no more   served until its last key is destroyed: who does not serve a collection does not
//!                 destroy its keys either
//! let go          not served; opened again only when nobody is left who talks to what it was
//! ```

use crate::party::Party;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, Weak};
use throng_wire::CollectionId;

/// Collections by their ids.
pub(crate) type Parties = BTreeMap<CollectionId, Arc<Party>>;

/// The collections that are served, and those among them that are named no more.
pub(crate) struct Roster(RwLock<Places>);

struct Places {
    served: Arc<Parties>,
    leaving: BTreeSet<CollectionId>,
    /// Those that were let go, for as long as somebody talks to them.
    gone: Vec<(CollectionId, Weak<Party>)>,
}

impl Roster {
    /// A roster of these collections, all of them named.
    pub fn new(parties: Parties) -> Self {
        let (leaving, gone) = (BTreeSet::new(), Vec::new());
        Self(RwLock::new(Places { served: Arc::new(parties), leaving, gone }))
    }

    /// All collections that are served now.
    pub fn all(&self) -> Arc<Parties> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).served)
    }

    /// True if a collection was let go and somebody still talks to what it was.
    pub fn lingers(&self, id: &CollectionId) -> bool {
        let mut places = self.places();
        places.gone.retain(|(_, party)| party.strong_count() > 0);
        places.gone.iter().any(|(gone, _)| gone == id)
    }

    /// Adds collections, and names those that are to be served. Returns the ones that are now named
    /// no more; or an id, if it is neither among them nor served, in which case nothing changes.
    pub fn change(
        &self,
        named: &BTreeSet<CollectionId>,
        opened: &[Arc<Party>],
    ) -> Result<Vec<CollectionId>, CollectionId> {
        let mut places = self.places();
        let mut served = Parties::clone(&places.served);
        served.extend(opened.iter().map(|party| (party.id(), Arc::clone(party))));
        if let Some(absent) = named.iter().find(|id| !served.contains_key(id)) {
            return Err(*absent);
        }
        let leaving: BTreeSet<CollectionId> =
            served.keys().filter(|id| !named.contains(id)).copied().collect();
        let new = leaving.difference(&places.leaving).copied().collect();
        (places.served, places.leaving) = (Arc::new(served), leaving);
        Ok(new)
    }

    /// Lets a collection go if it is named no more, has no keys, and has nothing to hand over. The
    /// task that makes its keys asks, so that none is made meanwhile.
    pub fn let_go(&self, party: &Arc<Party>) -> bool {
        let id = party.id();
        let leaves = self.0.read().unwrap_or_else(PoisonError::into_inner).leaving.contains(&id);
        if !leaves || !party.is_done() {
            return false;
        }
        let mut places = self.places();
        // It may have been named again.
        if !places.leaving.remove(&id) {
            return false;
        }
        let mut served = Parties::clone(&places.served);
        served.remove(&id);
        places.served = Arc::new(served);
        places.gone.push((id, Arc::downgrade(party)));
        true
    }

    fn places(&self) -> RwLockWriteGuard<'_, Places> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
