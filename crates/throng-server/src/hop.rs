//! What every party does with a collection, be it a mix or the analyzer: takes batches, keeps slots,
//! shreds, destroys keys.

use crate::keyring::Keyring;
use crate::mixer::{Mixer, Rules};
use crate::peel::Seen;
use crate::slots::{Slot, Slots, Stage};
use crate::store::{BlobWriter, Change, LogName, Store, StoreError};
use crate::{Error, Limits};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throng_wire::{
    BatchId, Binding, CollectionId, Identity, Opener, Receipt, RecordDigest, Route, SignedManifest,
};

/// One party's share in one collection.
pub(crate) struct Hop<S> {
    pub store: Arc<S>,
    pub route: Arc<Route>,
    pub id: CollectionId,
    pub place: u8,
    pub identity: Identity,
    pub keyring: Keyring<S>,
    pub limits: Limits,
    machine: Mutex<Mixer>,
    /// Set when the row of a slot could not be written, or so it seemed.
    doubt: AtomicBool,
    /// One batch is taken at a time, and none while leftovers are removed.
    taking: Mutex<()>,
}

/// A batch on its way in.
pub enum Intake {
    /// It is on disk already; the same receipt again.
    Known(Receipt),
    /// Its records are to follow.
    New(Incoming),
}

/// A batch whose records are coming in.
pub struct Incoming {
    manifest: Box<SignedManifest>,
    blob: Box<dyn BlobWriter>,
    digest: RecordDigest,
}

impl Incoming {
    /// The next bytes of the records. More than the manifest says is refused at once.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.digest.update(bytes);
        if self.digest.bytes() > self.manifest.unverified().bytes().unwrap_or(0) {
            let expected = "as many records as the manifest says";
            return Err(Error::Batch(throng_wire::Error::Malformed { expected }));
        }
        self.blob.write_all(bytes).map_err(StoreError::io("writing a batch"))?;
        Ok(())
    }
}

impl<S: Store> Hop<S> {
    /// Goes on from what is on disk.
    pub fn open(
        store: Arc<S>,
        route: Arc<Route>,
        identity: Identity,
        limits: Limits,
    ) -> Result<Self, Error> {
        let id = route.id;
        let place = route.chain.hop_of(&identity.public()).ok_or(Error::WrongPlace)?;
        let keyring = Keyring::open(store.clone(), route.clone(), place, identity.clone())?;
        let slots = read_slots(&*store, &id)?;
        let rules = Rules {
            schedule: route.schedule,
            epochs: route.epochs,
            quorum: route.quorum,
            shape: route.shape,
            hop: place,
            drain: limits.drain,
        };
        let machine = Mutex::new(Mixer::new(rules, slots, keyring.live()));
        let (doubt, taking) = (AtomicBool::new(false), Mutex::new(()));
        let opened =
            Self { store, route, id, place, identity, keyring, limits, machine, doubt, taking };
        opened.sweep()?;
        Ok(opened)
    }

    /// A write that failed may have happened: what is on disk is what is so. Everything that depends
    /// on a slot's stage begins with this.
    pub fn settle(&self) -> Result<(), Error> {
        let mut machine = self.machine();
        if self.doubt.load(Ordering::Relaxed) {
            machine.replace(read_slots(&*self.store, &self.id)?);
            self.doubt.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether a batch is taken, after checking its manifest.
    pub fn receive(&self, signed: SignedManifest) -> Result<Intake, Error> {
        let previous = self.place.checked_sub(1).and_then(|hop| self.route.chain.party(hop));
        let previous = previous.ok_or(Error::WrongPlace)?;
        let manifest = signed.verify(&previous.identity).map_err(Error::Batch)?;
        if manifest.collection != self.id {
            return Err(Error::UnknownCollection);
        }
        if manifest.bytes().is_none_or(|bytes| bytes > self.limits.batch) {
            return Err(Error::TooLarge);
        }
        self.settle()?;
        let taken = self.machine().take(manifest);
        if let Err(Error::Conflict) = taken {
            self.accuse(&signed)?;
        }
        if taken? {
            return Ok(Intake::Known(self.receipt(manifest.id())));
        }
        // Without keys it would be taken only to be dropped.
        let window = self.route.schedule.window_of(manifest.first);
        self.keyring.secret(window).ok_or(Error::NoKeys)?;
        let blob = self.store.create(&self.input(manifest.id()))?;
        let digest = RecordDigest::default();
        Ok(Intake::New(Incoming { manifest: Box::new(signed), blob, digest }))
    }

    /// All records are there: keeps the batch and signs for it.
    pub fn keep(&self, incoming: Incoming) -> Result<Receipt, Error> {
        let Incoming { manifest: signed, blob, digest } = incoming;
        let manifest = signed.unverified();
        digest.matches(manifest).map_err(Error::Batch)?;
        let id = manifest.id();
        let _one = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle()?;
        blob.finish()?;
        let slot = Slot {
            first: manifest.first,
            last: manifest.last,
            input: Some(id),
            stage: Stage::Received((*signed).clone()),
        };
        // Two may have come at once: one of them is kept, and not longer than it is needed.
        let mut machine = self.machine();
        let taken = machine.take(manifest);
        if let Ok(false) = taken {
            // Kept for good: evidence, should there ever be another.
            let (key, value) = (self.key(manifest.first), signed.encode());
            self.commit(&slot, &[Change::Put { table: TAKEN, key: &key, value: &value }])?;
            machine.put(slot);
            return Ok(self.receipt(id));
        }
        if let Err(Error::Conflict) = taken {
            self.accuse(&signed)?;
        }
        let stage = machine.slots().get(manifest.first).map(|slot| &slot.stage);
        if taken.is_err() || !matches!(stage, Some(Stage::Received(_))) {
            self.store.remove(&self.input(id))?;
        }
        taken.map(|_| self.receipt(id))
    }

    /// Writes a slot's row, together with other changes, and tells the machine.
    pub fn put(&self, slot: Slot, more: &[Change<'_>]) -> Result<(), Error> {
        let mut machine = self.machine();
        self.commit(&slot, more)?;
        machine.put(slot);
        Ok(())
    }

    /// Removes what a decided slot was made of.
    pub fn shred(&self, first: u64) -> Result<(), Error> {
        let slot = self.slot(first)?;
        if let Some(input) = slot.input {
            self.store.remove(&self.input(input))?;
        } else {
            for epoch in slot.first..=slot.last {
                self.store.remove_log(&self.log(epoch))?;
            }
        }
        self.store.remove(&self.output(first))?;
        self.put(slot.shredded(), &[])
    }

    /// Destroys the keys of a window, and with them what is left of it.
    pub fn destroy(&self, window: u64, now: u64) -> Result<(), Error> {
        if self.machine().destroy(window, now) {
            self.keyring.destroy(window)?;
            self.sweep()?;
            self.machine().destroyed();
        }
        Ok(())
    }

    /// What opens the records of an epoch at this hop, if its keys are here.
    pub fn opener(&self, epoch: u64) -> Result<Option<Opener>, Error> {
        let window = self.route.schedule.window_of(epoch);
        let Some(secret) = self.keyring.secret(window) else { return Ok(None) };
        let analyzer = self.place == self.route.chain.hops();
        let epoch = if self.place == 1 { epoch } else { window };
        let binding = Binding { collection: self.id, epoch, hop: self.place, analyzer };
        Ok(Some(Opener::new(&secret, &binding)?))
    }

    /// What earlier batches of the same window held.
    pub fn seen_before(&self, slot: &Slot) -> Result<Seen, Error> {
        let mut seen = Seen::default();
        let window = self.route.window_epochs(slot.first);
        let firsts: Vec<u64> = {
            let machine = self.machine();
            let other = |s: &&Slot| window.contains(&s.first) && s.first != slot.first;
            machine.slots().iter().filter(other).map(|s| s.first).collect()
        };
        let present = self.store.blobs()?;
        for first in firsts {
            let name = self.spent(first);
            if present.contains(&name) {
                let mut bytes = Vec::new();
                let mut blob = self.store.open(&name)?;
                blob.read_to_end(&mut bytes).map_err(StoreError::io("reading replays"))?;
                seen.extend(&bytes);
            }
        }
        Ok(seen)
    }

    /// Keeps what a batch held for others of the same window, where there can be any. They may come in
    /// any order: a mix that cheats sends the last epoch first.
    pub fn remember(&self, slot: &Slot, seen: &Seen) -> Result<(), Error> {
        if self.route.window_epochs(slot.first) == (slot.first..slot.last + 1) {
            return Ok(());
        }
        let mut blob = self.store.create(&self.spent(slot.first))?;
        blob.write_all(&seen.to_bytes()).map_err(StoreError::io("writing replays"))?;
        blob.finish()?;
        Ok(())
    }

    /// Shows the records of a received batch, chunk by chunk.
    pub fn read_input(
        &self,
        slot: &Slot,
        mut visit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let input = slot.input.ok_or(Error::WrongPlace)?;
        let len = self.route.shape.record_bytes(self.place);
        let mut blob = self.store.open(&self.input(input))?;
        let mut chunk = vec![0; len * (CHUNK / len).max(1)];
        let mut left = blob.size();
        while left > 0 {
            let take = left.min(chunk.len() as u64) as usize;
            let reading = blob.read_exact(&mut chunk[..take]);
            reading.map_err(StoreError::io("reading a batch"))?;
            visit(&chunk[..take])?;
            left -= take as u64;
        }
        Ok(())
    }

    /// The slot that begins with an epoch.
    pub fn slot(&self, first: u64) -> Result<Slot, Error> {
        self.machine().slots().get(first).cloned().ok_or(Error::WrongPlace)
    }

    /// The state machine.
    pub fn machine(&self) -> MutexGuard<'_, Mixer> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This party's receipt for a batch: the same whenever it is asked.
    pub fn receipt(&self, batch: BatchId) -> Receipt {
        Receipt::sign(batch, self.place, &self.identity)
    }

    /// The log of an epoch's reports.
    pub fn log(&self, epoch: u64) -> LogName {
        LogName { collection: self.id, epoch }
    }

    /// The blob of a batch that this mix made.
    pub fn output(&self, first: u64) -> String {
        format!("{}-{first}.out", self.id)
    }

    fn spent(&self, first: u64) -> String {
        format!("{}-{first}.spent", self.id)
    }

    /// Named by its content, so that two batches for the same epochs never touch each other.
    fn input(&self, batch: BatchId) -> String {
        format!("{}-{batch}.in", self.id)
    }

    /// Keeps the manifest of a second batch for the same epochs, once: with the first one's it convicts
    /// the mix that signed both.
    fn accuse(&self, signed: &SignedManifest) -> Result<(), Error> {
        let key = self.key(signed.unverified().first);
        if !self.store.rows(ACCUSED, &key)?.is_empty() {
            return Ok(());
        }
        let value = signed.encode();
        Ok(self.store.commit(&[Change::Put { table: ACCUSED, key: &key, value: &value }])?)
    }

    /// Of the rows that begin with an epoch.
    pub fn key(&self, first: u64) -> String {
        format!("{}/{first:020}", self.id)
    }

    /// Called with the machine locked, so that nobody reads a stage that is in doubt.
    fn commit(&self, slot: &Slot, more: &[Change<'_>]) -> Result<(), Error> {
        let (key, row) = (self.key(slot.first), slot.to_row());
        let mut changes = vec![Change::Put { table: SLOTS, key: &key, value: &row }];
        changes.extend_from_slice(more);
        let committed = self.store.commit(&changes);
        if committed.is_err() {
            self.doubt.store(true, Ordering::Relaxed);
        }
        Ok(committed?)
    }

    /// Removes what interrupted steps left behind, and what was kept for windows that are destroyed.
    /// Nothing of it left this machine, and nobody has a receipt for it.
    fn sweep(&self) -> Result<(), Error> {
        let _none = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle()?;
        let needed: Vec<String> = {
            let machine = self.machine();
            let live = self.keyring.live();
            let blob = |slot: &Slot| match (&slot.stage, slot.input) {
                (Stage::Sealed(_), _) => Some(self.output(slot.first)),
                (Stage::Received(_), Some(input)) => Some(self.input(input)),
                _ => None,
            };
            let open = machine.slots().iter().filter_map(blob);
            let spent = machine.slots().iter().filter(|slot| slot.first >= live);
            open.chain(spent.map(|slot| self.spent(slot.first))).collect()
        };
        let ours = format!("{}-", self.id);
        for name in self.store.blobs()? {
            if name.starts_with(&ours) && !needed.contains(&name) {
                self.store.remove(&name)?;
            }
        }
        Ok(())
    }
}

fn read_slots<S: Store>(store: &S, id: &CollectionId) -> Result<Slots, Error> {
    let mut slots = Slots::default();
    for (_, row) in store.rows(SLOTS, &format!("{id}/"))? {
        slots.put(Slot::from_row(&row)?);
    }
    Ok(slots)
}

const SLOTS: &str = "slots";
const TAKEN: &str = "taken";
const ACCUSED: &str = "accused";

/// Bytes of records that are opened at a time.
const CHUNK: usize = 4 << 20;
