//! A mix: its course, and the steps that only a mix takes.

use crate::peel::{Fingerprints, Peeler};
use crate::progress::Acknowledged;
use crate::store::{Blob, LogKey, Pending, Store, StoreError, blob};
use crate::{Course, Error, Limits, Progress, Shuffler, Slot, Stage, Step, Why, Word};
use rand_core::CryptoRng;
use std::sync::{Arc, Mutex};
use throng_wire::{Identity, Loss, Manifest, Receipt, RecordDigest, Route, SignedManifest};

/// One collection at one mix.
///
/// ```
/// use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// use throng_mix::{Limits, Mix, Step, simulated::MemoryStore};
/// use throng_wire::example;
///
/// let mut rng = ChaCha20Rng::seed_from_u64(1);
/// let (store, [identity, _]) = (MemoryStore::new().store(), example::identities());
/// let mix = Mix::open(store, example::route().into(), identity, Limits::default())?;
/// mix.course.keyring.publish(1_000, &mut rng)?;
/// mix.accept(0, &[0; 97], 1_000)?;
///
/// // At its deadline the epoch closes. One report is no crowd.
/// let deadline = example::schedule().deadline(0);
/// assert_eq!(mix.step(deadline, &mut rng)?, Some(Step::Close { first: 0, last: 0 }));
/// assert_eq!(mix.course.slots()[0].stage.name(), "short");
/// assert!(mix.outgoing(0)?.is_none());
///
/// // It is forgotten, its keys are destroyed, and the next party is told that there were too few.
/// while mix.step(deadline, &mut rng)?.is_some() {}
/// let told = mix.outgoing(0)?.expect("a word");
/// assert!(told.manifest.unverified().is_empty());
/// # Ok::<(), throng_mix::Error>(())
/// ```
pub struct Mix {
    /// The course of this mix.
    pub course: Arc<Course>,
    acknowledged: Acknowledged,
    /// Held while a notice is signed, so that there is one at a time.
    pub(crate) signing: Mutex<()>,
}

/// A batch, or the word that there is none, that waits for the next party's receipt.
pub struct Outgoing {
    /// Manifest and signature.
    pub manifest: SignedManifest,
    /// All records.
    pub records: Blob,
}

impl Mix {
    /// Opens the mix and goes on from what is on disk.
    pub fn open(
        store: Store,
        route: Arc<Route>,
        identity: Identity,
        limits: Limits,
    ) -> Result<Self, Error> {
        let course = Course::open(store, route, identity, limits)?;
        if course.hop == course.route.chain.hops() {
            return Err(Error::WrongPlace);
        }
        let acknowledged = Acknowledged::default();
        Ok(Self { course: Arc::new(course), acknowledged, signing: Mutex::new(()) })
    }

    /// Refuses an epoch for which no reports are taken now.
    pub fn admit(&self, epoch: u64, now: u64) -> Result<(), Error> {
        self.course.timetable().admit(epoch, now)
    }

    /// Takes reports for an epoch. They count once the answer resolves.
    pub fn submit(&self, epoch: u64, reports: &[u8], now: u64) -> Result<Pending, Error> {
        let course = &self.course;
        let each = course.route.shape.report_bytes();
        let key = self.log_key(epoch);
        // The lock is held until the log has them, so that no report is admitted after its epoch's
        // close.
        let timetable = course.timetable();
        timetable.admit(epoch, now)?;
        if reports.is_empty() || !reports.len().is_multiple_of(each) {
            return Err(Error::Length);
        }
        Ok(course.store.logs.submit(&course.log(epoch), &key.ok_or(Error::NoKeys)?, reports))
    }

    /// Takes reports for an epoch, and waits until they are on disk.
    pub fn accept(&self, epoch: u64, reports: &[u8], now: u64) -> Result<(), Error> {
        Ok(self.submit(epoch, reports, now)?.wait()?)
    }

    /// Does what is due next, and returns what it was. `rng` decides the permutation.
    pub fn step(&self, now: u64, rng: &mut impl CryptoRng) -> Result<Option<Step>, Error> {
        self.course.advance(now, |step| match step {
            Step::Close { first, last } => self.close(first, last, rng),
            Step::Process { first } => self.mix(first, rng),
            Step::Tell { first } => self.tell(first),
            Step::GiveUp { first } => self.give_up(first),
            Step::Shred { .. } | Step::Destroy { .. } => Ok(()),
        })
    }

    /// The first epochs of the batches, and of the words that there is none, that wait to be handed
    /// over, oldest first.
    pub fn waiting(&self) -> Vec<u64> {
        let timetable = self.course.timetable();
        let leaves = |slot: &&Slot| leaving(slot).is_some();
        timetable.slots.values().filter(leaves).map(|slot| slot.first).collect()
    }

    /// The batch that began with this epoch, or the word that there is none, if it waits to be
    /// handed over.
    pub fn outgoing(&self, first: u64) -> Result<Option<Outgoing>, Error> {
        let slot = self.course.slot(first)?;
        let Some(manifest) = leaving(&slot).cloned() else { return Ok(None) };
        let records = if manifest.unverified().is_empty() {
            Blob { size: 0, content: Box::new(std::io::empty()) }
        } else {
            self.course.store.blobs.open(&blob::output(self.course.id, first))?
        };
        Ok(Some(Outgoing { manifest, records }))
    }

    /// Takes the next party's receipt for what began with this epoch.
    pub fn delivered(&self, first: u64, receipt: Receipt) -> Result<(), Error> {
        let course = &self.course;
        loop {
            course.settle()?;
            let slot = course.slot(first)?;
            let Some(manifest) = leaving(&slot).cloned() else { return Ok(()) };
            let next = course.route.chain.party(course.hop + 1).ok_or(Error::WrongPlace)?;
            receipt.verify(&manifest.unverified().id(), course.hop + 1, &next.identity)?;
            let taken = if manifest.unverified().is_empty() {
                Slot { word: Some(Word::Taken { manifest, receipt }), ..slot.clone() }
            } else {
                slot.at(Stage::Delivered { manifest, receipt })
            };
            // A step may have moved the slot on since it was read, and a slot moves a few times.
            if course.replace(&slot, taken)? {
                return Ok(());
            }
        }
    }

    /// Counts reports for an epoch that are on disk and acknowledged to their senders.
    pub fn acknowledged(&self, epoch: u64, reports: u64, now: u64) {
        self.acknowledged.add(epoch, reports, &self.course.route.schedule, now);
    }

    /// The progress of the running epoch, at the first mix.
    pub fn progress(&self, now: u64) -> Option<Progress> {
        let route = &self.course.route;
        let epoch = route.epoch_at(now).filter(|_| self.course.hop == 1)?;
        self.admit(epoch, now).ok()?;
        Some(self.acknowledged.tell(epoch, route.quorum, &route.schedule, now))
    }

    /// Closes epochs at the first mix: no more reports are taken, a crowd leaves, and fewer wait or
    /// are dropped.
    fn close(&self, first: u64, last: u64, rng: &mut impl CryptoRng) -> Result<(), Error> {
        let course = &self.course;
        let slot = Slot::new(first, last, None, Stage::Closing);
        // From this row on nothing is admitted, so that what is read below is all there is.
        course.put(slot.clone(), &[])?;
        self.acknowledged.forget(last);
        let (each, threads) = (course.route.shape.report_bytes(), course.limits.threads);
        let mut shuffler = self.shuffler();
        let mut peeler = Peeler::new(Fingerprints::default(), each, threads);
        for epoch in first..=last {
            course.store.logs.close(&course.log(epoch))?;
            // Without keys for the window nothing was ever admitted.
            let keys = self.log_key(epoch).zip(course.opener(epoch)?);
            let Some((key, opener)) = keys else { continue };
            // The layer binds the epoch: a report can only be replayed within its own.
            peeler.seen = Fingerprints::default();
            course.store.logs.visit(&course.log(epoch), &key, |records| {
                peeler.peel(&opener, records, |onions| Ok::<_, Error>(shuffler.push(onions)?))
            })?;
        }
        // What it remembers of every report is not needed while they are shuffled.
        let (valid, loss) = (peeler.valid, peeler.loss);
        drop(peeler);
        // Without keys nothing was taken, and so nothing was lost.
        let told = course.rounding(first).map(|rounding| rounding.loss(loss)).unwrap_or_default();
        self.leave(&slot, valid, vec![told], [0; 32], shuffler, rng)
    }

    /// Mixes a batch at a later mix: a crowd leaves, fewer are dropped.
    fn mix(&self, first: u64, rng: &mut impl CryptoRng) -> Result<(), Error> {
        let course = &self.course;
        let mut shuffler = self.shuffler();
        let opened = course.open_received(first, |onion| Ok::<_, Error>(shuffler.push(onion)?))?;
        let Some(opened) = opened else { return Ok(()) };
        let received = opened.manifest.unverified();
        let reports = opened.valid / course.route.shape.records_per_report(course.hop);
        let mut losses = received.losses.clone();
        losses.push(opened.loss);
        course.remember(&opened)?;
        let source = course.receipt(received.id()).hash();
        self.leave(&opened.slot, reports, losses, source, shuffler, rng)
    }

    /// Signs the word that a slot is dropped, once: it depends on nothing but the slot. How many
    /// reports there were is nobody's business, and nor is how many were left out.
    fn tell(&self, first: u64) -> Result<(), Error> {
        let course = &self.course;
        let slot = course.slot(first)?;
        let source = slot.input.map_or([0; 32], |input| course.receipt(input).hash());
        let record_bytes = course.route.shape.record_bytes(course.hop + 1) as u32;
        let epochs = slot.first..=slot.last;
        let manifest = Manifest::empty(course.id, epochs, course.hop, record_bytes, source);
        let signed = SignedManifest::sign(manifest, &course.identity);
        // Only after this row does a byte leave, as with a batch.
        course.put(Slot { word: Some(Word::Waiting(signed)), ..slot }, &[])
    }

    /// Drops a batch that nobody can open any more, or a word that nobody waits for.
    fn give_up(&self, first: u64) -> Result<(), Error> {
        let slot = self.course.slot(first)?;
        let given_up = if let Some(Word::Waiting(_)) = slot.word {
            Slot { word: Some(Word::Late), ..slot.clone() }
        } else {
            let Stage::Sealed(manifest) = &slot.stage else { return Ok(()) };
            let each = self.course.route.shape.records_per_report(self.course.hop + 1);
            let reports = manifest.unverified().records / each.max(1);
            slot.at(Stage::Dropped { why: Why::Keys, reports })
        };
        // A receipt that comes meanwhile is worth more.
        self.course.replace(&slot, given_up).map(drop)
    }

    /// Permutes and seals a crowd, or decides what becomes of fewer reports.
    fn leave(
        &self,
        slot: &Slot,
        reports: u64,
        losses: Vec<Loss>,
        source: [u8; 32],
        shuffler: Shuffler<'_>,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Error> {
        let course = &self.course;
        if !course.is_crowd(slot, reports)? {
            return Ok(());
        }
        let mut output = course.store.blobs.create(&blob::output(course.id, slot.first))?;
        let mut digest = RecordDigest::default();
        let records = shuffler.finish(rng, &mut |records| {
            digest.update(records);
            output.write_all(records).map_err(StoreError::io("writing shuffled records"))
        })?;
        output.finish()?;
        let manifest = Manifest {
            collection: course.id,
            first: slot.first,
            last: slot.last,
            record_bytes: course.route.shape.record_bytes(course.hop + 1) as u32,
            records,
            losses,
            source,
            digest: digest.finish(),
        };
        let signed = SignedManifest::sign(manifest, &course.identity);
        // Only after this row does a byte leave, and after it no other bytes ever do.
        course.put(slot.at(Stage::Sealed(signed)), &[])
    }

    /// The key of the log of an epoch, while its window has keys.
    fn log_key(&self, epoch: u64) -> Option<LogKey> {
        let secret = self.course.keyring.secret(epoch)?;
        Some(LogKey::derive(&secret, epoch, self.course.route.shape.report_bytes()))
    }

    fn shuffler(&self) -> Shuffler<'_> {
        let len = self.course.route.shape.record_bytes(self.course.hop + 1);
        Shuffler::new(len, self.course.limits.memory, &*self.course.store.blobs)
    }
}

/// The manifest of a slot that waits to be handed over.
fn leaving(slot: &Slot) -> Option<&SignedManifest> {
    match (&slot.stage, &slot.word) {
        (Stage::Sealed(manifest), _) | (_, Some(Word::Waiting(manifest))) => Some(manifest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::MemoryStore;
    use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
    use throng_wire::{Seal, example};

    /// A receipt comes while a step is under way that has read the slot before: neither the mark
    /// that it is shredded nor giving it up takes the receipt back.
    #[test]
    fn a_step_does_not_undo_a_receipt_that_came_meanwhile() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let route = Route { quorum: 1, ..example::route() };
        let (store, [identity, analyzer]) = (MemoryStore::new().store(), example::identities());
        let mix = Mix::open(store, route.clone().into(), identity, Limits::default()).unwrap();
        let keyring = &mix.course.keyring;
        keyring.publish(1_000, &mut rng).unwrap();
        let own = keyring.statement(0).unwrap().key;
        let keys = [own, example::keys(&route, 0).0[1].public()];
        let seal = Seal::new(&route.shape, route.id, 0, 0, &keys).unwrap();
        mix.accept(0, &seal.report(&[1], &mut rng).unwrap(), 1_000).unwrap();
        mix.step(route.schedule.deadline(0), &mut rng).unwrap();
        let before = mix.course.slot(0).unwrap();
        let Stage::Sealed(manifest) = &before.stage else { panic!("a crowd is sealed") };
        let receipt = Receipt::sign(manifest.unverified().id(), 2, &analyzer);
        mix.delivered(0, receipt).unwrap();
        let shredded = Slot { shredded: true, ..before.clone() };
        let given_up = before.at(Stage::Dropped { why: Why::Keys, reports: 1 });
        for late in [shredded, given_up] {
            assert!(!mix.course.replace(&before, late).unwrap());
            assert_eq!(mix.course.slot(0).unwrap().stage.name(), "delivered");
        }
    }
}
