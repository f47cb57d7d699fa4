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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::party::Topic;
    use crate::{Clock, Role};
    use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
    use throng_collection::example;
    use throng_mix::{Limits, simulated::MemoryStore};
    use throng_wire::Receipt;

    /// The next party keeps the keys of a window until it hears what became of it. A mix was let go
    /// as soon as its own keys were destroyed, if the step that signs its last word came to nothing
    /// just then: the next one heard no word, and waited for the drain to be over.
    #[test]
    fn a_collection_is_let_go_only_once_its_last_word_is_handed_over() {
        let (collection, mut rng) = (example::collection(), ChaCha20Rng::seed_from_u64(1));
        let [identity, next] = throng_wire::example::identities();
        let schedule = collection.schedule;
        let (clock, store) = (Clock::manual(schedule.start), MemoryStore::new().store());
        let topic = Topic::Question(Arc::new(collection));
        let place = (Role::Mix, &identity);
        let party = Party::open(&store, topic, place, &Limits::default(), &clock).unwrap();
        let party = Arc::new(party);
        let roster = Roster::new(Parties::from([(party.id(), Arc::clone(&party))]));
        party.course.keyring.publish(clock.now(), &mut rng).unwrap();
        assert_eq!(roster.change(&BTreeSet::new(), &[]), Ok(vec![party.id()]));
        assert!(!roster.let_go(&party), "it has keys");
        // Nobody reports, so that nothing but the word leaves.
        clock.set(schedule.deadline(0));
        while let Some(step) = party.step(clock.now(), &mut rng).unwrap() {
            assert!(!roster.let_go(&party), "after {step:?}");
        }
        assert!(party.course.keyring.windows().is_empty());
        let mix = party.mix().unwrap();
        let word = mix.outgoing(0).unwrap().unwrap().manifest;
        mix.delivered(0, Receipt::sign(word.unverified().id(), 2, &next)).unwrap();
        assert!(roster.let_go(&party) && roster.all().is_empty());
    }
}
