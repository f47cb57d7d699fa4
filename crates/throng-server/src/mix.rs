//! A mix: [`Mixer`](crate::Mixer) with a disk around it.

use crate::hop::{Hop, Incoming, Intake};
use crate::keyring::Keyring;
use crate::mixer::Step;
use crate::peel::{Peeler, Seen};
use crate::progress::{Acknowledged, Progress};
use crate::shuffle::Shuffler;
use crate::slots::{Slot, Stage, Why};
use crate::store::{Blob, LogKey, Pending, Store, StoreError};
use crate::{Error, Limits};
use rand_core::CryptoRng;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use throng_wire::{Identity, Loss, Manifest, Receipt, RecordDigest, Route, SignedManifest};

/// One collection at one mix.
///
/// ```
/// use std::sync::Arc;
/// use throng_server::{Limits, MemoryStore, Mix, Step};
/// use throng_collection::example;
/// use throng_wire::{Identity, Route};
/// let collection = example::collection();
/// # use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// # let mut rng = ChaCha20Rng::seed_from_u64(1);
///
/// let (store, identity) = (Arc::new(MemoryStore::new()), Identity::from_seed(&[1; 32]));
/// let mix = Mix::open(store, Arc::new(Route::from(&collection)), identity, Limits::default())?;
/// mix.keyring().publish(1_000, &mut rng)?;
/// mix.accept(0, &[0; 97], 1_000)?;
///
/// // At its deadline the epoch closes. One report is no crowd.
/// let deadline = mix.route().schedule.deadline(0);
/// assert_eq!(mix.step(deadline, &mut rng)?, Some(Step::Close { first: 0, last: 0 }));
/// assert_eq!(mix.slots()[0].stage.name(), "short");
/// assert!(mix.outgoing()?.is_none());
/// # Ok::<(), throng_server::Error>(())
/// ```
pub struct Mix<S> {
    pub(crate) hop: Hop<S>,
    acknowledged: Acknowledged,
    /// One step at a time.
    working: Mutex<()>,
    /// One notice at a time.
    pub(crate) signing: Mutex<()>,
}

/// A batch that waits for the next party's receipt.
pub struct Outgoing {
    /// The first epoch of its slot.
    pub first: u64,
    /// Manifest and signature.
    pub manifest: SignedManifest,
    /// All records.
    pub records: Box<dyn Blob>,
}

impl<S: Store> Mix<S> {
    /// Goes on from what is on disk.
    pub fn open(
        store: Arc<S>,
        route: Arc<Route>,
        identity: Identity,
        limits: Limits,
    ) -> Result<Self, Error> {
        let hop = Hop::open(store, route, identity, limits)?;
        if hop.place == hop.route.chain.hops() {
            return Err(Error::WrongPlace);
        }
        let (working, signing) = Default::default();
        Ok(Self { hop, acknowledged: Acknowledged::default(), working, signing })
    }

    /// Whether reports for an epoch are taken now.
    pub fn admit(&self, epoch: u64, now: u64) -> Result<(), Error> {
        self.hop.machine().admit(epoch, now)
    }

    /// Takes reports for an epoch. They count once the answer is there.
    pub fn submit(&self, epoch: u64, reports: &[u8], now: u64) -> Result<Pending, Error> {
        let hop = &self.hop;
        let each = hop.route.shape.report_bytes();
        let secret = hop.keyring.secret(hop.route.schedule.window_of(epoch));
        let key = secret.map(|secret| LogKey::derive(&secret, epoch));
        // Held until the log has them: what is admitted is never too late for its epoch's close.
        let machine = hop.machine();
        machine.admit(epoch, now)?;
        if reports.is_empty() || !reports.len().is_multiple_of(each) {
            return Err(Error::Length);
        }
        Ok(hop.store.submit(&hop.log(epoch), &key.ok_or(Error::NoKeys)?, reports, each))
    }

    /// Takes reports for an epoch, and waits until they are on disk.
    pub fn accept(&self, epoch: u64, reports: &[u8], now: u64) -> Result<(), Error> {
        Ok(self.submit(epoch, reports, now)?.wait()?)
    }

    /// Whether a batch of the previous mix is taken.
    pub fn receive(&self, manifest: SignedManifest) -> Result<Intake, Error> {
        self.hop.receive(manifest)
    }

    /// All records of a batch are there: keeps it and signs for it.
    pub fn keep(&self, incoming: Incoming) -> Result<Receipt, Error> {
        self.hop.keep(incoming)
    }

    /// Does what is due next, and says whether anything was. `rng` decides the permutation.
    pub fn step(&self, now: u64, rng: &mut impl CryptoRng) -> Result<Option<Step>, Error> {
        let _one = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        self.hop.settle()?;
        let step = self.hop.machine().next(now);
        match step {
            Some(Step::Close { first, last }) => self.close(first, last, rng)?,
            Some(Step::Mix { first }) => self.mix(first, rng)?,
            Some(Step::GiveUp { first }) => self.give_up(first)?,
            Some(Step::Shred { first }) => self.hop.shred(first)?,
            Some(Step::Destroy { window }) => self.hop.destroy(window, now)?,
            None => {}
        }
        Ok(step)
    }

    /// The batch that waits to be handed over, if any: the oldest.
    pub fn outgoing(&self) -> Result<Option<Outgoing>, Error> {
        let first = self.hop.machine().outgoing().map(|slot| slot.first);
        first.map_or(Ok(None), |first| self.outgoing_at(first))
    }

    /// The batch that began with this epoch, if it waits to be handed over.
    pub fn outgoing_at(&self, first: u64) -> Result<Option<Outgoing>, Error> {
        let Stage::Sealed(manifest) = self.hop.slot(first)?.stage else { return Ok(None) };
        let records = self.hop.store.open(&self.hop.output(first))?;
        Ok(Some(Outgoing { first, manifest, records }))
    }

    /// The next party's receipt for the batch that began with this epoch.
    pub fn delivered(&self, first: u64, receipt: Receipt) -> Result<(), Error> {
        let hop = &self.hop;
        hop.settle()?;
        let slot = hop.slot(first)?;
        let Stage::Sealed(manifest) = &slot.stage else { return Ok(()) };
        let next = hop.route.chain.party(hop.place + 1).ok_or(Error::WrongPlace)?;
        receipt.verify(&manifest.unverified().id(), hop.place + 1, &next.identity)?;
        let manifest = manifest.clone();
        hop.put(slot.at(Stage::Delivered { manifest, receipt, shredded: false }), &[])
    }

    /// Its keys.
    pub fn keyring(&self) -> &Keyring<S> {
        &self.hop.keyring
    }

    /// What it knows of the collection.
    pub fn route(&self) -> &Arc<Route> {
        &self.hop.route
    }

    /// Its place in the chain.
    pub fn hop(&self) -> u8 {
        self.hop.place
    }

    /// Reports for an epoch are on disk, and their senders are told.
    pub(crate) fn acknowledged(&self, epoch: u64, reports: u64, now: u64) {
        self.acknowledged.add(epoch, reports, &self.route().schedule, now);
    }

    /// How full the running epoch is, at the first mix.
    pub(crate) fn progress(&self, now: u64) -> Option<Progress> {
        let route = self.route();
        let epoch = route.epoch_at(now).filter(|_| self.hop() == 1)?;
        self.admit(epoch, now).ok()?;
        Some(self.acknowledged.tell(epoch, route.quorum, &route.schedule, now))
    }

    /// All slots so far.
    pub fn slots(&self) -> Vec<Slot> {
        self.hop.machine().slots().iter().cloned().collect()
    }

    /// The first mix: no more reports for these epochs; a crowd leaves, fewer wait or go.
    fn close(&self, first: u64, last: u64, rng: &mut impl CryptoRng) -> Result<(), Error> {
        let hop = &self.hop;
        let slot = Slot { first, last, input: None, stage: Stage::Closing };
        // From this row on nothing is admitted, so that what is read below is all there is.
        hop.put(slot.clone(), &[])?;
        self.acknowledged.forget(last);
        let shape = hop.route.shape;
        let each = shape.report_bytes();
        let mut shuffler = self.shuffler();
        let (mut valid, mut loss) = (0, Loss::default());
        for epoch in first..=last {
            hop.store.close_log(&hop.log(epoch))?;
            let window = hop.route.schedule.window_of(epoch);
            // Without keys for the window nothing was ever admitted.
            let (Some(secret), Some(opener)) = (hop.keyring.secret(window), hop.opener(epoch)?)
            else {
                continue;
            };
            // The layer binds the epoch: a report can only be replayed within its own.
            let mut seen = Seen::default();
            let mut peeler = Peeler::new(&mut seen, each, hop.limits.threads);
            let key = LogKey::derive(&secret, epoch);
            let mut failed = None;
            let reading = hop.store.read_log(&hop.log(epoch), &key, each, &mut |records| {
                let peeled = peeler.peel(&opener, records, |onions| {
                    onions
                        .chunks_exact(shape.record_bytes(2))
                        .try_for_each(|onion| Ok(shuffler.push(onion)?))
                });
                peeled.map_err(|error| {
                    failed = Some(error);
                    StoreError::Misuse { what: "reading was given up" }
                })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            reading?;
            valid += peeler.valid;
            loss.replayed += peeler.loss.replayed;
            loss.malformed += peeler.loss.malformed;
        }
        self.leave(&slot, valid, vec![loss], [0; 32], shuffler, rng)
    }

    /// A later mix: a crowd leaves, fewer go.
    fn mix(&self, first: u64, rng: &mut impl CryptoRng) -> Result<(), Error> {
        let hop = &self.hop;
        let slot = hop.slot(first)?;
        let Stage::Received(signed) = &slot.stage else { return Ok(()) };
        let Some(opener) = hop.opener(first)? else {
            return hop.put(slot.at(crate::slots::lost_keys()), &[]);
        };
        let mut seen = hop.seen_before(&slot)?;
        let len = hop.route.shape.record_bytes(hop.place);
        let mut peeler = Peeler::new(&mut seen, len, hop.limits.threads);
        let mut shuffler = self.shuffler();
        hop.read_input(&slot, |records| {
            peeler.peel(&opener, records, |onion| Ok(shuffler.push(onion)?))
        })?;
        let (valid, loss) = (peeler.valid, peeler.loss);
        let reports = valid / hop.route.shape.records_per_report(hop.place);
        let mut losses = signed.unverified().losses.clone();
        losses.push(loss);
        hop.remember(&slot, &seen)?;
        let source = hop.receipt(signed.unverified().id()).hash();
        self.leave(&slot, reports, losses, source, shuffler, rng)
    }

    /// Nobody can open the batch any more.
    fn give_up(&self, first: u64) -> Result<(), Error> {
        let slot = self.hop.slot(first)?;
        let Stage::Sealed(manifest) = &slot.stage else { return Ok(()) };
        let each = self.hop.route.shape.records_per_report(self.hop.place + 1);
        let reports = manifest.unverified().records / each.max(1);
        let why = Why::Keys;
        self.hop.put(slot.at(Stage::Dropped { why, reports, shredded: false }), &[])
    }

    /// Permutes and seals a crowd; decides what becomes of fewer.
    fn leave(
        &self,
        slot: &Slot,
        reports: u64,
        losses: Vec<Loss>,
        source: [u8; 32],
        shuffler: Shuffler<'_>,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Error> {
        let hop = &self.hop;
        let verdict = hop.machine().judge(slot, reports);
        if let Some(stage) = verdict {
            return hop.put(slot.at(stage), &[]);
        }
        let mut output = Hashing {
            to: hop.store.create(&hop.output(slot.first))?,
            digest: RecordDigest::default(),
        };
        let records = shuffler.finish(rng, &mut output)?;
        let Hashing { to, digest } = output;
        to.finish()?;
        let manifest = Manifest {
            collection: hop.id,
            first: slot.first,
            last: slot.last,
            record_bytes: hop.route.shape.record_bytes(hop.place + 1) as u32,
            records,
            losses,
            source,
            digest: digest.finish(),
        };
        let signed = SignedManifest::sign(manifest, &hop.identity);
        // Only after this row does a byte leave, and after it no other bytes ever do.
        hop.put(slot.at(Stage::Sealed(signed)), &[])
    }

    fn shuffler(&self) -> Shuffler<'_> {
        let len = self.hop.route.shape.record_bytes(self.hop.place + 1);
        Shuffler::new(len, self.hop.limits.memory, &*self.hop.store)
    }
}

/// Hashes what it writes.
struct Hashing {
    to: Box<dyn crate::store::BlobWriter>,
    digest: RecordDigest,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.digest.update(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
