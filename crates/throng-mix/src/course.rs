//! The course of epochs at one party, be it a mix or the analyzer: taking batches, keeping slots,
//! opening records, shredding, destroying keys. [`Timetable`] decides; this has the disk.

use crate::peel::{Fingerprints, Peeler};
use crate::store::{Blob, BlobWriter, Change, LogName, RowKey, Store, StoreError, Table, blob};
use crate::{Error, Keyring, Limits, Rounding, Slot, Slots, Stage, Step, Timetable, Why, lock};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use throng_wire::{
    BatchId, Binding, CollectionId, Identity, Loss, Manifest, Opener, Receipt, RecordDigest, Route,
    SignedManifest,
};

/// The course of one collection at one party.
///
/// Every duty is built around one: [`crate::Mix`] here, the analyzer's in `throng-server`.
pub struct Course {
    /// The store that keeps everything.
    pub store: Store,
    /// The description of the collection that all parties share.
    pub route: Arc<Route>,
    /// The collection's id.
    pub id: CollectionId,
    /// This party's place, from 1; the analyzer's is one past the last mix.
    pub hop: u8,
    /// The identity that this party signs with.
    pub identity: Identity,
    /// The party's keys.
    pub keyring: Keyring,
    /// The party's limits.
    pub limits: Limits,
    timetable: Mutex<Timetable>,
    /// Set when the row of a slot could not be written, or so it seemed.
    doubt: AtomicBool,
    /// One batch is taken at a time, and none while leftovers are removed.
    taking: Mutex<()>,
    /// Held during a step, so that there is one at a time: the steps that failed.
    working: Mutex<Vec<Step>>,
    /// Set while something may be left of destroyed windows.
    unswept: AtomicBool,
}

/// A batch on its way in.
pub enum Intake {
    /// The batch is on disk already, and gets the same receipt again.
    Known(Receipt),
    /// The batch is new, and its records are to follow.
    New(Incoming),
}

/// A batch whose records are coming in.
pub struct Incoming {
    manifest: Box<SignedManifest>,
    /// The time when it was begun.
    now: u64,
    /// The records on disk; a word that nothing comes has none, and leaves none behind.
    blob: Option<Box<dyn BlobWriter>>,
    digest: RecordDigest,
}

impl Incoming {
    /// Writes the next bytes of the records. More than the manifest says are refused at once.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.digest.update(bytes);
        if self.digest.bytes() > self.manifest.unverified().bytes().unwrap_or(0) {
            let expected = "as many records as the manifest says";
            return Err(Error::Batch(throng_wire::Error::Malformed { expected }));
        }
        if let Some(blob) = &mut self.blob {
            blob.write_all(bytes).map_err(StoreError::io("writing a batch"))?;
        }
        Ok(())
    }
}

/// A received batch whose records were opened, each once.
pub struct OpenedBatch {
    /// The slot it was received in.
    pub slot: Slot,
    /// The manifest that its sender signed.
    pub manifest: SignedManifest,
    /// Records that opened.
    pub valid: u64,
    /// Records that did not open, or came twice, as they are told.
    pub loss: Loss,
    /// The rounding of all losses of the slot that are told.
    pub rounding: Rounding,
    seen: Fingerprints,
}

impl Course {
    /// Opens the course and goes on from what is on disk.
    pub fn open(
        store: Store,
        route: Arc<Route>,
        identity: Identity,
        limits: Limits,
    ) -> Result<Self, Error> {
        let keyring = Keyring::open(store.clone(), route.clone(), identity.clone())?;
        let (id, hop) = (route.id, keyring.hop);
        let slots = read_slots(&store, id)?;
        let timetable =
            Timetable::new(route.clone(), hop, limits.drain, slots, keyring.destroyed());
        let opened = Self {
            store,
            route,
            id,
            hop,
            identity,
            keyring,
            limits,
            timetable: Mutex::new(timetable),
            doubt: AtomicBool::new(false),
            taking: Mutex::new(()),
            working: Mutex::default(),
            unswept: AtomicBool::new(true),
        };
        opened.sweep()?;
        Ok(opened)
    }

    /// Does what is due next, and returns what it was. The steps that are alike for every party are
    /// done here; `perform` is given the rest: closing epochs, processing batches, giving them up.
    /// A step that fails holds up no other: what removes something is tried again every time, first
    /// of all, and the rest after what is due besides. The error is that of the first that failed,
    /// where nothing else was left to do.
    pub fn advance<E: From<Error>>(
        &self,
        now: u64,
        mut perform: impl FnMut(Step) -> Result<(), E>,
    ) -> Result<Option<Step>, E> {
        let mut failed = lock(&self.working);
        failed.retain(|step| !matches!(step, Step::Shred { .. } | Step::Destroy { .. }));
        let mut error = None;
        loop {
            self.settle()?;
            let next = self.timetable().due(now).find(|step| !failed.contains(step));
            let Some(step) = next else {
                if let Some(error) = error {
                    return Err(error);
                }
                if failed.is_empty() {
                    self.sweep()?;
                    return Ok(None);
                }
                failed.clear();
                continue;
            };
            let done = match step {
                Step::Shred { first } => self.shred(first).map_err(E::from),
                Step::Destroy { window } => self.destroy(window, now).map_err(E::from),
                step => perform(step),
            };
            match done {
                Ok(()) => return Ok(Some(step)),
                Err(reason) => {
                    failed.push(step);
                    error.get_or_insert(reason);
                }
            }
        }
    }

    /// Reads the slots again after a write that failed, because it may have happened all the same.
    /// Everything that depends on a slot's stage begins with this.
    pub fn settle(&self) -> Result<(), Error> {
        let mut timetable = self.timetable();
        if self.doubt.load(Ordering::Relaxed) {
            timetable.slots = read_slots(&self.store, self.id)?;
            self.doubt.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks the manifest of a batch and takes the batch, unless it is here already. One whose
    /// epochs are not over yet is to come again.
    pub fn receive(&self, signed: SignedManifest, now: u64) -> Result<Intake, Error> {
        let previous = self.route.chain.party(self.hop - 1).ok_or(Error::WrongPlace)?;
        let manifest = signed.verify(&previous.identity).map_err(Error::Batch)?;
        if manifest.collection != self.id {
            return Err(Error::UnknownCollection);
        }
        if manifest.bytes().is_none_or(|bytes| bytes > self.limits.batch) {
            return Err(Error::TooLarge);
        }
        self.settle()?;
        let taken = self.timetable().take(manifest, now);
        if let Err(Error::Conflict) = taken {
            self.accuse(&signed)?;
        }
        if taken? {
            return Ok(Intake::Known(self.receipt(manifest.id())));
        }
        // Without keys it would be taken only to be dropped; a word that nothing comes needs none.
        let blob = if manifest.is_empty() {
            None
        } else {
            self.keyring.secret(manifest.first).ok_or(Error::NoKeys)?;
            Some(self.store.blobs.create(&blob::input(self.id, manifest.id()))?)
        };
        let digest = RecordDigest::default();
        Ok(Intake::New(Incoming { manifest: Box::new(signed), now, blob, digest }))
    }

    /// Keeps a batch whose records are all there, and signs for it.
    pub fn keep(&self, incoming: Incoming) -> Result<Receipt, Error> {
        let Incoming { manifest: signed, now, blob, digest } = incoming;
        let manifest = signed.unverified();
        digest.matches(manifest).map_err(Error::Batch)?;
        let id = manifest.id();
        let _one = lock(&self.taking);
        self.settle()?;
        if let Some(blob) = blob {
            blob.finish()?;
        }
        // The same batch may have come twice at once: one copy is kept, for as long as it is
        // needed.
        let mut timetable = self.timetable();
        let taken = timetable.take(manifest, now);
        if let Ok(false) = taken {
            // The manifest is kept for good, as evidence should there ever be another.
            let Manifest { first, last, .. } = *manifest;
            let (key, value) = (self.key(first), signed.encode());
            let stage = if manifest.is_empty() {
                Stage::Dropped { why: Why::Short, reports: 0 }
            } else {
                Stage::Received((*signed).clone())
            };
            let slot = Slot::new(first, last, Some(id), stage);
            let evidence = Change::Put { table: Table::Taken, key: &key, value: &value };
            self.commit(&mut timetable, slot, &[evidence])?;
            return Ok(self.receipt(id));
        }
        if let Err(Error::Conflict) = taken {
            self.accuse(&signed)?;
        }
        let stage = timetable.slots.get(&manifest.first).map(|slot| &slot.stage);
        if taken.is_err() || !matches!(stage, Some(Stage::Received(_))) {
            self.store.blobs.remove(&blob::input(self.id, id))?;
        }
        taken.map(|_| self.receipt(id))
    }

    /// Writes a slot's row, together with other changes, and tells the timetable.
    pub fn put(&self, slot: Slot, more: &[Change<'_>]) -> Result<(), Error> {
        self.commit(&mut self.timetable(), slot, more)
    }

    /// Writes a slot's row in the place of another, unless that was replaced meanwhile: a receipt
    /// may come while a step is under way. Returns true if it was written.
    pub(crate) fn replace(&self, old: &Slot, new: Slot) -> Result<bool, Error> {
        let mut timetable = self.timetable();
        // What is in doubt may be another one on disk.
        let sure = !self.doubt.load(Ordering::Relaxed);
        let unchanged = sure && timetable.slots.get(&old.first) == Some(old);
        if unchanged {
            self.commit(&mut timetable, new, &[])?;
        }
        Ok(unchanged)
    }

    /// Removes what a slot does not need any more.
    fn shred(&self, first: u64) -> Result<(), Error> {
        let slot = self.slot(first)?;
        if let Some(input) = slot.input {
            self.store.blobs.remove(&blob::input(self.id, input))?;
        } else {
            for epoch in slot.first..=slot.last {
                self.store.logs.remove(&self.log(epoch))?;
            }
        }
        if slot.stage.is_final() {
            self.store.blobs.remove(&blob::output(self.id, first))?;
        }
        // If it has moved on, it is shredded again at its new stage.
        self.replace(&slot, Slot { shredded: true, ..slot.clone() }).map(drop)
    }

    /// Destroys the keys of a window, and with them what is left of it.
    fn destroy(&self, window: u64, now: u64) -> Result<(), Error> {
        let mut timetable = self.timetable();
        // A batch may be on disk whose row could not be written, or so it seemed.
        let begun = !self.doubt.load(Ordering::Relaxed) && timetable.destroy(window, now);
        drop(timetable);
        if begun {
            self.keyring.destroy(window)?;
            self.timetable().destroyed(window);
            self.unswept.store(true, Ordering::Relaxed);
            self.sweep()?;
        }
        Ok(())
    }

    /// Opens the records of the batch received for the slot that begins with an epoch, each record
    /// once, and shows what was in them. Nothing is opened of a batch that is processed already,
    /// nor of one whose keys are gone, which is dropped.
    pub fn open_received<E: From<Error>>(
        &self,
        first: u64,
        mut show: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Option<OpenedBatch>, E> {
        let slot = self.slot(first)?;
        let Stage::Received(manifest) = slot.stage.clone() else { return Ok(None) };
        let (Some(opener), Some(rounding)) = (self.opener(first)?, self.rounding(first)) else {
            self.put(slot.at(Stage::Dropped { why: Why::Keys, reports: 0 }), &[])?;
            return Ok(None);
        };
        let len = self.route.shape.record_bytes(self.hop);
        let mut peeler = Peeler::new(self.seen_before(&slot)?, len, self.limits.threads);
        let input = blob::input(self.id, slot.input.ok_or(Error::WrongPlace)?);
        let Blob { size: mut left, mut content } =
            self.store.blobs.open(&input).map_err(Error::from)?;
        let mut chunk = vec![0; len * (CHUNK / len).max(1)];
        while left > 0 {
            let take = left.min(chunk.len() as u64) as usize;
            let reading = content.read_exact(&mut chunk[..take]);
            reading.map_err(StoreError::io("reading a batch")).map_err(Error::from)?;
            peeler.peel(&opener, &chunk[..take], &mut show)?;
            left -= take as u64;
        }
        let Peeler { seen, valid, loss, .. } = peeler;
        let loss = rounding.loss(loss);
        Ok(Some(OpenedBatch { slot, manifest, valid, loss, rounding, seen }))
    }

    /// Returns true if this many reports are a crowd; decides what becomes of the slot if they are
    /// not.
    pub fn is_crowd(&self, slot: &Slot, reports: u64) -> Result<bool, Error> {
        let verdict = self.timetable().judge(slot, reports);
        match verdict {
            None => Ok(true),
            Some(stage) => self.put(slot.at(stage), &[]).map(|()| false),
        }
    }

    /// An opener of the records of an epoch at this hop, if its keys are here.
    pub(crate) fn opener(&self, epoch: u64) -> Result<Option<Opener>, Error> {
        let Some(secret) = self.keyring.secret(epoch) else { return Ok(None) };
        let analyzer = self.hop == self.route.chain.hops();
        let epoch = if self.hop == 1 { epoch } else { self.route.schedule.window_of(epoch) };
        let binding = Binding { collection: self.id, epoch, hop: self.hop, analyzer };
        Ok(Some(Opener::new(&secret, &binding)?))
    }

    /// The rounding of losses of the slot that begins with an epoch, if its keys are here.
    pub(crate) fn rounding(&self, first: u64) -> Option<Rounding> {
        Some(Rounding::derive(&self.keyring.secret(first)?, first, self.hop))
    }

    /// The records of earlier batches of the same window.
    fn seen_before(&self, slot: &Slot) -> Result<Fingerprints, Error> {
        let mut seen = Fingerprints::default();
        let window = self.route.window_epochs(slot.first);
        let firsts: Vec<u64> = {
            let timetable = self.timetable();
            let other = |s: &&Slot| window.contains(&s.first) && s.first != slot.first;
            timetable.slots.values().filter(other).map(|s| s.first).collect()
        };
        for first in firsts {
            if let Some(bytes) = self.store.blobs.read(&blob::spent(self.id, first))? {
                seen.extend(&bytes);
            }
        }
        Ok(seen)
    }

    /// Keeps the hashes of a batch for others of the same window, where there can be any. They may
    /// come in any order: a mix that cheats sends the last epoch first.
    pub fn remember(&self, opened: &OpenedBatch) -> Result<(), Error> {
        let Slot { first, last, .. } = opened.slot;
        if self.route.window_epochs(first) == (first..last + 1) {
            return Ok(());
        }
        Ok(self.store.blobs.write(&blob::spent(self.id, first), &opened.seen.to_bytes())?)
    }

    /// All slots so far, oldest first.
    pub fn slots(&self) -> Vec<Slot> {
        self.timetable().slots.values().cloned().collect()
    }

    /// The slot that begins with an epoch.
    pub fn slot(&self, first: u64) -> Result<Slot, Error> {
        self.timetable().slots.get(&first).cloned().ok_or(Error::WrongPlace)
    }

    /// True if nothing is due at this time.
    pub fn is_idle(&self, now: u64) -> bool {
        self.timetable().next(now).is_none()
    }

    /// The state machine.
    pub(crate) fn timetable(&self) -> MutexGuard<'_, Timetable> {
        lock(&self.timetable)
    }

    /// This party's receipt for a batch: the same whenever it is asked.
    pub fn receipt(&self, batch: BatchId) -> Receipt {
        Receipt::sign(batch, self.hop, &self.identity)
    }

    /// The log of an epoch's reports.
    pub fn log(&self, epoch: u64) -> LogName {
        LogName { collection: self.id, epoch }
    }

    /// Keeps the manifest of a second batch for the same epochs, once: with the first one's it
    /// convicts the mix that signed both.
    fn accuse(&self, signed: &SignedManifest) -> Result<(), Error> {
        let key = self.key(signed.unverified().first);
        Ok(self.store.rows.put_new(Table::Accused, &key, &signed.encode())?)
    }

    /// The key of rows about a slot that begins with an epoch.
    pub fn key(&self, first: u64) -> RowKey {
        RowKey::at(self.id, first)
    }

    /// Writes a slot's row, with the timetable locked, so that nobody reads a stage that is in
    /// doubt.
    fn commit(
        &self,
        timetable: &mut Timetable,
        slot: Slot,
        more: &[Change<'_>],
    ) -> Result<(), Error> {
        let (key, row) = (self.key(slot.first), slot.to_row());
        let mut changes = vec![Change::Put { table: Table::Slots, key: &key, value: &row }];
        changes.extend_from_slice(more);
        if let Err(error) = self.store.rows.commit(&changes) {
            self.doubt.store(true, Ordering::Relaxed);
            return Err(error.into());
        }
        timetable.put(slot);
        Ok(())
    }

    /// Removes what interrupted steps left behind, and what was kept for windows that are
    /// destroyed. Nothing of it left this machine, and nobody has a receipt for it.
    fn sweep(&self) -> Result<(), Error> {
        if !self.unswept.load(Ordering::Relaxed) {
            return Ok(());
        }
        let _none = lock(&self.taking);
        self.settle()?;
        let needed: Vec<String> = {
            let timetable = self.timetable();
            let destroyed = self.keyring.destroyed();
            let window = |slot: &Slot| self.route.schedule.window_of(slot.first);
            let kept = |slot: &Slot| match (&slot.stage, slot.input) {
                (Stage::Sealed(_), _) => Some(blob::output(self.id, slot.first)),
                (Stage::Received(_), Some(input)) => Some(blob::input(self.id, input)),
                _ => None,
            };
            let open = timetable.slots.values().filter_map(kept);
            let spent = timetable.slots.values().filter(|slot| !destroyed.contains(window(slot)));
            open.chain(spent.map(|slot| blob::spent(self.id, slot.first))).collect()
        };
        let ours = blob::passing(self.id);
        // One that cannot be removed keeps no other.
        let mut removed = Ok(());
        for name in self.store.blobs.names()? {
            if name.starts_with(&ours) && !needed.contains(&name) {
                removed = removed.and(self.store.blobs.remove(&name));
            }
        }
        removed?;
        self.unswept.store(false, Ordering::Relaxed);
        Ok(())
    }
}

fn read_slots(store: &Store, id: CollectionId) -> Result<Slots, Error> {
    let rows = store.rows.under(Table::Slots, &RowKey::all(id))?.into_iter();
    let slots = rows.map(|(_, row)| Slot::from_row(&row).map(|slot| (slot.first, slot)));
    Ok(slots.collect::<Result<_, _>>()?)
}

/// The number of bytes of records that are opened at a time.
const CHUNK: usize = 4 << 20;
