//! A year of slots, ledger and releases, in the rows that an analyzer writes.

use crate::Result;
use crate::draw::{Population, lost};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use throng_account::{Crowd, Epsilon, Probability};
use throng_collection::{
    About, Account, BatchGuarantee, Budget, Collection, Influence, Promise, Release, Subjects,
};
use throng_mix::store::{Change, RowKey, Store, Table, blob};
use throng_mix::{Slot, Stage, Why};
use throng_server::Ledger;
use throng_wire::{BatchId, Loss, Route};

/// The past of the collections of one kind, and its cost. Collections that differ in their words
/// alone share it.
pub struct History {
    events: Vec<Event>,
    guarantees: BTreeMap<(u64, u64), BatchGuarantee>,
    /// The first window whose keys are still there.
    live: u64,
}

#[derive(Clone, Copy)]
struct Event {
    first: u64,
    last: u64,
    reports: u64,
    /// The ε spent after it, if it was released, or else the reason why not.
    outcome: Result<Epsilon, Why>,
}

impl History {
    /// Makes up epoch after epoch until now.
    pub fn new(collection: &Collection, now: u64) -> Result<Self> {
        let running = collection.epoch_at(now).unwrap_or(collection.terms.promise.epochs);
        let route = Route::from(collection);
        let mut events = Vec::new();
        let mut first = 0;
        while first < running {
            let window = route.window_epochs(first);
            let merged = window.end - first == 2 && first % 26 == 10 && window.end <= running;
            let last = if merged { first + 1 } else { first };
            // Nothing ever arrived for a few epochs.
            if first % 211 != 100 {
                events.push(event(collection, first, last));
            }
            first = last + 1;
        }
        reckon(collection, &mut events)?;
        let mut guarantees = BTreeMap::new();
        for event in events.iter().filter(|event| event.outcome.is_ok()) {
            let (reports, epochs) = (event.reports, event.last - event.first + 1);
            if let Entry::Vacant(new) = guarantees.entry((reports, epochs)) {
                new.insert(BatchGuarantee::of(&collection.terms, reports, epochs)?);
            }
        }
        Ok(Self { events, guarantees, live: collection.schedule.window_of(running) })
    }

    /// Writes the past of one collection, with estimates of its own.
    pub fn write(&self, collection: &Collection, seed: u64, store: &Store) -> Result<()> {
        let id = collection.id();
        let subjects = Subjects::of(Arc::new(collection.clone()));
        let confidence = Probability::new("confidence", 0.95)?;
        let mut ledger = Ledger::open(&id, &[], None)?;
        let mut people = Population::new(&collection.terms, seed);
        let mut rng = ChaCha12Rng::seed_from_u64(!seed);
        let mut rows: Vec<(Table, RowKey, Vec<u8>)> = Vec::new();
        let mut epochs = Vec::new();
        for event in &self.events {
            let Event { first, last, reports, .. } = *event;
            let key = RowKey::at(id, first);
            let batch = batch(seed, first);
            // A collection that may spend less shares the past of another until its budget is
            // spent.
            let lifetime = collection.terms.promise.lifetime.0;
            let affordable = |total: &Epsilon| *total <= lifetime;
            let outcome =
                event.outcome.and_then(|total| Some(total).filter(affordable).ok_or(Why::Budget));
            let stage = match outcome {
                Err(why) => {
                    let reports = if why == Why::Short { 20 } else { reports };
                    Stage::Dropped { why, reports }
                }
                Ok(total) => {
                    let honest = Crowd::honest(reports, collection.terms.promise.corrupt)?.get();
                    let entry = ledger.entry(first, last, honest, total);
                    epochs.extend(first..=last);
                    let mut loss = || Loss { replayed: lost(&mut rng), malformed: lost(&mut rng) };
                    let losses = vec![loss(), loss(), loss()];
                    let tally = people.count(first, reports)?;
                    let release = Release {
                        collection: id,
                        first,
                        last,
                        reports,
                        confidence,
                        estimates: subjects.answers(&tally, &epochs, confidence),
                        guarantee: self.guarantees[&(reports, last - first + 1)].clone(),
                        spent: Budget::of(&collection.terms, total),
                        influence: Influence::of(&collection.terms, reports, &tally),
                        losses,
                        nonsense: lost(&mut rng),
                        batch,
                        ledger: entry.hash,
                        about: Some(About::of(collection, first, last)),
                    };
                    let place = RowKey::at(id, ledger.entries().len() as u64);
                    rows.push((Table::Ledger, place, entry.to_row()));
                    rows.push((Table::Releases, key.clone(), release.to_json().into_bytes()));
                    ledger.push(entry);
                    Stage::Released
                }
            };
            let slot = Slot { shredded: true, ..Slot::new(first, last, Some(batch), stage) };
            rows.push((Table::Slots, key, slot.to_row()));
        }
        rows.push((Table::Destroyed, RowKey::of(id), self.live.to_string().into_bytes()));
        let changes: Vec<Change<'_>> = rows
            .iter()
            .map(|(table, key, value)| Change::Put { table: *table, key, value })
            .collect();
        store.rows.commit(&changes)?;
        Ok(store.blobs.write(&blob::head(id), &ledger.head())?)
    }
}

fn event(collection: &Collection, first: u64, last: u64) -> Event {
    let quorum = collection.quorum();
    // Few different crowds, and so close to the promised one that the accountant takes them for it,
    // so that few profiles are looked at. Those who are followed stay.
    let more = match first * 7 % 5 {
        _ if collection.terms.mechanism.epochs().is_some() => 0,
        0 | 3 => quorum / 41,
        1 => quorum / 23,
        _ => quorum / 13,
    };
    let outcome = match first {
        _ if last > first => Ok(Epsilon::ZERO),
        _ if first % 37 == 18 => Err(Why::Short),
        _ if first % 149 == 70 => Err(Why::Keys),
        _ => Ok(Epsilon::ZERO),
    };
    Event { first, last, reports: quorum + more, outcome }
}

/// Computes the cost of all releases up to each one. That is done for some hundred of them; one in
/// between gets the total of the next that was computed, which is no smaller than its own.
fn reckon(collection: &Collection, events: &mut [Event]) -> Result<()> {
    let Promise { corrupt, lifetime, .. } = collection.terms.promise;
    let mut ledger = Ledger::open(&collection.id(), &[], None)?;
    let mut account = Account::new(&collection.terms);
    let mut released: Vec<&mut Event> =
        events.iter_mut().filter(|event| event.outcome.is_ok()).collect();
    let (count, step) = (released.len(), released.len().div_ceil(100));
    let mut totals = Vec::new();
    for (place, event) in released.iter().enumerate() {
        let (first, last) = (event.first, event.last);
        let honest = Crowd::honest(event.reports, corrupt)?;
        let entry = if place + 1 == count || place % step == 0 {
            let charged = ledger.charge(&mut account, lifetime.0, first, last, honest)?;
            totals.push((place, charged.as_ref().map(|entry| entry.total)));
            charged
        } else {
            None
        };
        let entry = entry.unwrap_or_else(|| ledger.entry(first, last, honest.get(), Epsilon::ZERO));
        ledger.push(entry);
    }
    for (place, event) in released.iter_mut().enumerate() {
        let next = totals.iter().find(|(reckoned, _)| *reckoned >= place);
        event.outcome = next.and_then(|(_, total)| *total).ok_or(Why::Budget);
    }
    Ok(())
}

/// The name of a batch, which may be any: the batch itself is long gone.
fn batch(seed: u64, first: u64) -> BatchId {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&seed.to_be_bytes());
    id[24..].copy_from_slice(&first.to_be_bytes());
    BatchId(id)
}
