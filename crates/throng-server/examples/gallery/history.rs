//! A year of slots, ledger and releases, in the rows that an analyzer writes.

use crate::Result;
use crate::draw::{Population, lost};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::io::Write;
use throng_account::{Crowd, Epsilon};
use throng_mechanism::Mechanism;
use throng_server::{
    Change, Count, DiskStore, Holds, Ledger, Slot, Stage, Store, Why, release_with,
};
use throng_wire::{Account, BatchId, Collection, Loss};

/// What happened to the collections of one kind, and what it cost. Collections that differ in their
/// words alone share it.
pub struct History {
    events: Vec<Event>,
    holds: BTreeMap<(u64, u64), Holds>,
    /// The first window whose keys are still there.
    live: u64,
}

struct Event {
    first: u64,
    last: u64,
    /// What was spent after it, if it was released.
    outcome: Result<Epsilon, Why>,
    reports: u64,
}

impl History {
    /// Epoch after epoch up to now.
    pub fn new(collection: &Collection, now: u64) -> Result<Self> {
        let terms = &collection.terms;
        let running = collection.epoch_at(now).unwrap_or(terms.promise.epochs);
        let live = collection.schedule.window_of(running);
        let mut ledger = Ledger::open(&collection.id(), &[], None)?;
        let mut account = Account::new(terms);
        let mut history = Self { events: Vec::new(), holds: BTreeMap::new(), live };
        let mut first = 0;
        while first < running {
            let window = collection.window_epochs(first);
            let merged = window.end - first == 2 && first % 26 == 10 && window.end <= running;
            let last = if merged { first + 1 } else { first };
            // Of one epoch nothing ever arrived.
            if first % 211 != 100 {
                history.happen(collection, (&mut ledger, &mut account), first, last)?;
            }
            first = last + 1;
        }
        Ok(history)
    }

    fn happen(
        &mut self,
        collection: &Collection,
        (ledger, account): (&mut Ledger, &mut Account),
        first: u64,
        last: u64,
    ) -> Result<()> {
        let terms = &collection.terms;
        let quorum = collection.quorum();
        // Few different crowds, and so close to the promised one that the accountant takes them for it,
        // so that few profiles are looked at. Those who are followed stay.
        let more = match first * 7 % 5 {
            _ if matches!(terms.mechanism, Mechanism::Longitudinal(_)) => 0,
            0 | 3 => quorum / 41,
            1 => quorum / 23,
            _ => quorum / 13,
        };
        let reports = quorum + more;
        let dropped = match first {
            _ if last > first => None,
            _ if first % 37 == 18 => Some(Why::Short),
            _ if first % 149 == 70 => Some(Why::Keys),
            _ => None,
        };
        let outcome = match dropped {
            Some(why) => Err(why),
            None => {
                let honest = Crowd::honest(reports, terms.promise.corrupt)?;
                let lifetime = terms.promise.lifetime.0;
                match ledger.charge(account, lifetime, first, last, honest)? {
                    None => Err(Why::Budget),
                    Some(entry) => {
                        let total = entry.total;
                        ledger.push(entry);
                        Ok(total)
                    }
                }
            }
        };
        let kind = (reports, last - first + 1);
        if outcome.is_ok() && !self.holds.contains_key(&kind) {
            self.holds.insert(kind, Holds::of(collection, kind.0, kind.1)?);
        }
        self.events.push(Event { first, last, outcome, reports });
        Ok(())
    }

    /// Writes it down for one collection, with estimates of its own.
    pub fn write(&self, collection: &Collection, seed: u64, store: &DiskStore) -> Result<()> {
        let id = collection.id();
        let mut ledger = Ledger::open(&id, &[], None)?;
        let mut people = Population::new(&collection.terms, seed);
        let mut rng = ChaCha12Rng::seed_from_u64(!seed);
        let mut rows: Vec<(&str, String, Vec<u8>)> = Vec::new();
        let mut epochs = Vec::new();
        for event in &self.events {
            let Event { first, last, reports, .. } = *event;
            let key = format!("{id}/{first:020}");
            let batch = batch(seed, first);
            // One that may spend less shares the past of another up to where it is spent.
            let lifetime = collection.terms.promise.lifetime.0;
            let affordable = |total: &Epsilon| *total <= lifetime;
            let outcome =
                event.outcome.and_then(|total| Some(total).filter(affordable).ok_or(Why::Budget));
            let stage = match outcome {
                Err(why) => {
                    let reports = if why == Why::Short { 20 } else { reports };
                    Stage::Dropped { why, reports, shredded: true }
                }
                Ok(total) => {
                    let honest = Crowd::honest(reports, collection.terms.promise.corrupt)?.get();
                    let entry = ledger.entry(first, last, honest, total);
                    epochs.extend(first..=last);
                    let mut loss = || Loss { replayed: lost(&mut rng), malformed: lost(&mut rng) };
                    let count = Count {
                        first,
                        last,
                        batch,
                        reports,
                        losses: &[loss(), loss(), loss()],
                        tally: &people.count(first, reports)?,
                        nonsense: lost(&mut rng),
                        epochs: &epochs,
                    };
                    let holds = &self.holds[&(reports, last - first + 1)];
                    let published = release_with(collection, &count, &entry, holds)?.to_string();
                    let place = format!("{id}/{:020}", ledger.entries().len());
                    rows.push(("ledger", place, entry.to_row()));
                    rows.push(("releases", key.clone(), published.into_bytes()));
                    ledger.push(entry);
                    Stage::Released { shredded: true }
                }
            };
            let slot = Slot { first, last, input: Some(batch), stage };
            rows.push(("slots", key, slot.to_row()));
        }
        rows.push(("live", id.to_string(), self.live.to_string().into_bytes()));
        let put = |(table, key, value)| Change::Put { table, key, value };
        let changes: Vec<Change<'_>> =
            rows.iter().map(|(table, key, value)| put((*table, key, value))).collect();
        store.commit(&changes)?;
        let mut head = store.create(&format!("{id}.head"))?;
        head.write_all(&ledger.head())?;
        Ok(head.finish()?)
    }
}

/// Any name: the batch itself is long gone.
fn batch(seed: u64, first: u64) -> BatchId {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&seed.to_be_bytes());
    id[24..].copy_from_slice(&first.to_be_bytes());
    BatchId(id)
}
