//! The analyzer: batches in, releases out.

use crate::hop::{Hop, Incoming, Intake};
use crate::keyring::Keyring;
use crate::ledger::{Entry, Ledger};
use crate::mixer::Step;
use crate::peel::{Peeler, Seen};
use crate::release::Counted;
use crate::slots::{Slot, Stage, Why};
use crate::store::{Change, Store, StoreError};
use crate::{Error, Limits};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throng_account::Crowd;
use throng_collection::{Account, Collection, Release, Subjects};
use throng_mechanism::{Mechanism, Tally};
use throng_wire::{Identity, Manifest, Opener, Receipt, Route, SignedManifest};

/// One collection at its analyzer.
///
/// ```
/// use std::sync::Arc;
/// use throng_server::{Analyzer, Error, Limits, MemoryStore};
/// use throng_collection::example;
/// use throng_wire::Identity;
/// let collection = example::collection();
///
/// let (store, collection) = (Arc::new(MemoryStore::new()), Arc::new(collection));
/// let open = |seed| {
///     let identity = Identity::from_seed(&[seed; 32]);
///     Analyzer::open(store.clone(), collection.clone(), identity, Limits::default())
/// };
/// let analyzer = open(2)?;
/// assert_eq!(analyzer.step(1_000)?, None);
/// assert!(analyzer.releases()?.is_empty() && analyzer.ledger().is_empty());
///
/// // Who has no place in the chain cannot be its analyzer.
/// assert!(matches!(open(3), Err(Error::WrongPlace)));
/// # Ok::<(), throng_server::Error>(())
/// ```
pub struct Analyzer<S> {
    hop: Hop<S>,
    subjects: Subjects,
    ledger: Mutex<Ledger>,
    account: Mutex<Account>,
    /// The releases by their first epoch, once somebody asked.
    published: Mutex<Option<BTreeMap<u64, Arc<Release>>>>,
    /// One step at a time.
    working: Mutex<()>,
}

impl<S: Store> Analyzer<S> {
    /// Goes on from what is on disk. Refuses a ledger that was rolled back.
    pub fn open(
        store: Arc<S>,
        collection: Arc<Collection>,
        identity: Identity,
        limits: Limits,
    ) -> Result<Self, Error> {
        let hop = Hop::open(store, Arc::new(Route::from(&*collection)), identity, limits)?;
        if hop.place != collection.chain.hops() {
            return Err(Error::WrongPlace);
        }
        let ledger = read_ledger(&hop)?;
        let account = Mutex::new(Account::new(&collection.terms));
        let (ledger, working) = (Mutex::new(ledger), Mutex::new(()));
        let (subjects, published) = (Subjects::of(collection), Mutex::new(None));
        let analyzer = Self { hop, subjects, ledger, account, published, working };
        analyzer.write_head()?;
        Ok(analyzer)
    }

    /// Whether a batch of the last mix is taken.
    pub fn receive(&self, manifest: SignedManifest) -> Result<Intake, Error> {
        self.hop.receive(manifest)
    }

    /// All records of a batch are there: keeps it and signs for it.
    pub fn keep(&self, incoming: Incoming) -> Result<Receipt, Error> {
        self.hop.keep(incoming)
    }

    /// Does what is due next, and says what it was.
    pub fn step(&self, now: u64) -> Result<Option<Step>, Error> {
        let _one = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        self.hop.settle()?;
        let step = self.hop.machine().next(now);
        match step {
            Some(Step::Mix { first }) => self.analyze(first)?,
            Some(Step::Shred { first }) => self.hop.shred(first)?,
            Some(Step::Destroy { window }) => self.hop.destroy(window, now)?,
            Some(Step::Close { .. } | Step::GiveUp { .. }) | None => {}
        }
        Ok(step)
    }

    /// All releases so far, oldest first, each as the JSON object that was published.
    pub fn releases(&self) -> Result<Vec<String>, Error> {
        let rows = self.hop.store.rows(RELEASES, &self.prefix())?.into_iter();
        rows.map(|(_, row)| String::from_utf8(row).map_err(|_| UNREADABLE.into())).collect()
    }

    /// All releases so far, oldest first, in memory after the first time.
    pub fn published(&self) -> Result<Vec<Arc<Release>>, Error> {
        let mut kept = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            let mut all = BTreeMap::new();
            for row in self.releases()? {
                let release = Release::parse(&row, &self.subjects).map_err(|_| UNREADABLE)?;
                all.insert(release.first, Arc::new(release));
            }
            *kept = Some(all);
        }
        Ok(kept.iter().flat_map(BTreeMap::values).cloned().collect())
    }

    /// What has been spent.
    pub fn ledger(&self) -> Vec<Entry> {
        self.lock().entries().to_vec()
    }

    /// Its keys.
    pub fn keyring(&self) -> &Keyring<S> {
        &self.hop.keyring
    }

    /// What everyone on the way knows of it.
    pub fn route(&self) -> &Arc<Route> {
        &self.hop.route
    }

    /// The collection.
    pub fn collection(&self) -> &Arc<Collection> {
        self.subjects.collection()
    }

    /// Its place in the chain.
    pub fn hop(&self) -> u8 {
        self.hop.place
    }

    /// All slots so far.
    pub fn slots(&self) -> Vec<Slot> {
        self.hop.machine().slots().iter().cloned().collect()
    }

    /// Opens, counts, asks the accountant, and publishes.
    fn analyze(&self, first: u64) -> Result<(), Error> {
        let slot = self.hop.slot(first)?;
        let Stage::Received(signed) = &slot.stage else { return Ok(()) };
        let Some(opener) = self.hop.opener(first)? else {
            return self.hop.put(slot.at(crate::slots::lost_keys()), &[]);
        };
        let (mut counted, seen) = self.count(&slot, signed.unverified(), &opener)?;
        if let Some(stage) = self.hop.machine().judge(&slot, counted.reports) {
            return self.hop.put(slot.at(stage), &[]);
        }
        let Some(entry) = self.charge(&slot, counted.reports)? else {
            let dropped =
                Stage::Dropped { why: Why::Budget, reports: counted.reports, shredded: false };
            return self.hop.put(slot.at(dropped), &[]);
        };
        let followed = self.follow(&slot, &mut counted.tally)?;
        let release = counted.release(&self.subjects, &entry, &self.epochs_with(&slot))?;
        self.hop.remember(&slot, &seen)?;
        self.publish(&slot, release, entry, followed.as_deref())
    }

    /// Opens the messages of a batch and counts them. Returns also what was seen, to be remembered.
    fn count(
        &self,
        slot: &Slot,
        manifest: &Manifest,
        opener: &Opener,
    ) -> Result<(Counted, Seen), Error> {
        let (hop, collection) = (&self.hop, self.collection());
        let (terms, shape) = (&collection.terms, collection.shape());
        let mut tally = terms.mechanism.tally();
        let mut seen = hop.seen_before(slot)?;
        let mut peeler = Peeler::new(&mut seen, shape.record_bytes(hop.place), hop.limits.threads);
        let mut words = Vec::new();
        hop.read_input(slot, |records| {
            words.clear();
            peeler.peel(opener, records, |message| {
                Ok(terms.decode_payload(message, slot.first, &mut words)?)
            })?;
            terms.mechanism.absorb(&mut tally, &words);
            Ok(())
        })?;
        let (valid, loss) = (peeler.valid, peeler.loss);
        let nonsense = tally.malformed();
        // What no client sends is nobody to hide among.
        let reports = valid.saturating_sub(nonsense) / u64::from(shape.messages);
        let losses = manifest.losses.iter().copied().chain([loss]).collect();
        Ok((Counted { batch: manifest.id(), reports, losses, tally, nonsense }, seen))
    }

    /// The entry that a release of so many reports adds to the ledger, if the lifetime allows it.
    fn charge(&self, slot: &Slot, reports: u64) -> Result<Option<Entry>, Error> {
        let promise = &self.collection().terms.promise;
        let honest = Crowd::honest(reports, promise.corrupt)?;
        // From disk: the entry of a release that seemed to fail may be there.
        *self.lock() = read_ledger(&self.hop)?;
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        self.lock().charge(&mut account, promise.lifetime.0, slot.first, slot.last, honest)
    }

    /// The epochs of all releases so far, and of this one.
    fn epochs_with(&self, slot: &Slot) -> Vec<u64> {
        let entries = self.ledger();
        let before = entries.iter().flat_map(|entry| entry.first..=entry.last);
        before.chain(slot.first..=slot.last).collect()
    }

    /// Writes a release, its entry in the ledger and what is to be counted on, all in one commit.
    fn publish(
        &self,
        slot: &Slot,
        release: Release,
        entry: Entry,
        followed: Option<&[u8]>,
    ) -> Result<(), Error> {
        let hop = &self.hop;
        let (text, row) = (release.to_json(), entry.to_row());
        let key = format!("{}/{:020}", hop.id, slot.first);
        // By their order, which need not be that of epochs.
        let place = format!("{}/{:020}", hop.id, self.lock().entries().len());
        let mut changes = vec![
            Change::Put { table: LEDGER, key: &place, value: &row },
            Change::Put { table: RELEASES, key: &key, value: text.as_bytes() },
        ];
        if let Some(words) = followed {
            changes.push(Change::Put { table: TALLIES, key: &key, value: words });
        }
        let written = hop.put(slot.at(Stage::Released { shredded: false }), &changes);
        self.remember(release, written.is_ok());
        written?;
        self.lock().push(entry);
        self.write_head()
    }

    /// Adds what was counted before, where an estimate is about all epochs so far, and returns what was
    /// counted now, to be kept.
    fn follow(&self, slot: &Slot, tally: &mut Tally) -> Result<Option<Vec<u8>>, Error> {
        if !matches!(self.collection().terms.mechanism, Mechanism::Longitudinal(_)) {
            return Ok(None);
        }
        let counted = tally.to_words().into_iter().flat_map(u64::to_be_bytes).collect();
        let prefix = self.prefix();
        let own = format!("{prefix}{:020}", slot.first);
        for (key, row) in self.hop.store.rows(TALLIES, &prefix)? {
            if key != own {
                let words = row.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word));
                let words: Vec<u64> = words.collect();
                tally.add_words(&words).map_err(throng_collection::Error::from)?;
            }
        }
        Ok(Some(counted))
    }

    /// Adds a release to those in memory; what may or may not be on disk is read again instead.
    fn remember(&self, release: Release, written: bool) {
        let mut kept = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        if !written {
            *kept = None;
        } else if let Some(all) = kept.as_mut() {
            all.insert(release.first, Arc::new(release));
        }
    }

    fn prefix(&self) -> String {
        format!("{}/", self.hop.id)
    }

    /// Keeps the newest hash of the ledger outside its table.
    fn write_head(&self) -> Result<(), Error> {
        let head = self.lock().head();
        let mut blob = self.hop.store.create(&head_name(&self.hop))?;
        blob.write_all(&head).map_err(StoreError::io("writing the ledger's head"))?;
        Ok(blob.finish()?)
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_ledger<S: Store>(hop: &Hop<S>) -> Result<Ledger, Error> {
    let rows = hop.store.rows(LEDGER, &format!("{}/", hop.id))?.into_iter();
    let rows: Vec<Vec<u8>> = rows.map(|(_, row)| row).collect();
    let head = read_head(hop)?;
    // It is written before the first entry.
    if head.is_none() && !rows.is_empty() {
        return Err(Error::Rollback { reason: "its newest hash is missing" });
    }
    Ledger::open(&hop.id, &rows, head)
}

fn read_head<S: Store>(hop: &Hop<S>) -> Result<Option<[u8; 32]>, Error> {
    let name = head_name(hop);
    if !hop.store.blobs()?.contains(&name) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let mut blob = hop.store.open(&name)?;
    blob.read_to_end(&mut bytes).map_err(StoreError::io("reading the ledger's head"))?;
    let corrupt = StoreError::Corrupt { what: "the ledger's head" };
    Ok(Some(bytes.try_into().map_err(|_| corrupt)?))
}

fn head_name<S>(hop: &Hop<S>) -> String {
    format!("{}.head", hop.id)
}

const UNREADABLE: StoreError = StoreError::Corrupt { what: "the row of a release" };

const LEDGER: &str = "ledger";
const RELEASES: &str = "releases";
const TALLIES: &str = "tallies";
