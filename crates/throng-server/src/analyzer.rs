//! The analyzer: batches in, releases out.

use crate::hop::{Hop, Incoming, Intake};
use crate::keyring::Keyring;
use crate::ledger::{Entry, Ledger};
use crate::mixer::Step;
use crate::peel::Peeler;
use crate::published::Published;
use crate::release::{Count, release};
use crate::slots::{Slot, Stage, Why};
use crate::store::{Change, Store, StoreError};
use crate::{Error, Limits};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throng_account::Crowd;
use throng_mechanism::Tally;
use throng_wire::{Account, Collection, Identity, Receipt, Route, SignedManifest};

/// One collection at its analyzer.
///
/// ```
/// use std::sync::Arc;
/// use throng_server::{Analyzer, Error, Limits, MemoryStore};
/// use throng_wire::{Collection, Identity};
/// # let collection = Collection::parse(r#"
/// # question = { text = "Do you cycle to work?", value = "bit" }
/// # mechanism = { key = "bit-sum", flip = "567064570277940032" }
/// # promise = { epsilon = 1.0, delta = 1e-6, crowd = 1000, epochs = 1, lifetime_epsilon = 1.0,
/// #             lifetime_delta = 1e-6 }
/// # schedule = { start = 1000, every = "24h", grace = "1h", below = "expire" }
/// # mix = [{ name = "north", url = "http://127.0.0.1:1",
/// #          identity = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c" }]
/// # analyzer = { name = "counter", url = "http://127.0.0.1:2",
/// #          identity =     "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394" }
/// # "#)?;
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
    collection: Arc<Collection>,
    ledger: Mutex<Ledger>,
    account: Mutex<Account>,
    /// The releases by their first epoch, once somebody asked.
    published: Mutex<Option<BTreeMap<u64, Arc<Published>>>>,
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
        let published = Mutex::new(None);
        let analyzer = Self { hop, collection, ledger, account, published, working };
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
    pub fn published(&self) -> Result<Vec<Arc<Published>>, Error> {
        let mut kept = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            let mut all = BTreeMap::new();
            for row in self.releases()? {
                let release = Published::parse(&row, all.values().next_back());
                let release = Arc::new(release.ok_or(UNREADABLE)?);
                all.insert(release.first, release);
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
        &self.collection
    }

    /// Its place in the chain.
    pub fn hop(&self) -> u8 {
        self.hop.place
    }

    /// All slots so far.
    pub fn slots(&self) -> Vec<Slot> {
        self.hop.machine().slots().iter().cloned().collect()
    }

    /// Opens, counts, asks the accountant, and publishes, all in one commit.
    fn analyze(&self, first: u64) -> Result<(), Error> {
        let hop = &self.hop;
        let slot = hop.slot(first)?;
        let Stage::Received(signed) = &slot.stage else { return Ok(()) };
        let Some(opener) = hop.opener(first)? else {
            return hop.put(slot.at(crate::slots::lost_keys()), &[]);
        };
        let (collection, manifest) = (&*self.collection, signed.unverified());
        let terms = &collection.terms;
        let mut tally = terms.mechanism.tally();
        let mut seen = hop.seen_before(&slot)?;
        let len = collection.shape().record_bytes(hop.place);
        let mut peeler = Peeler::new(&mut seen, len, hop.limits.threads);
        let mut words = Vec::new();
        hop.read_input(&slot, |records| {
            words.clear();
            peeler.peel(&opener, records, |message| {
                Ok(terms.decode_payload(message, first, &mut words)?)
            })?;
            terms.mechanism.absorb(&mut tally, &words);
            Ok(())
        })?;
        let (valid, loss) = (peeler.valid, peeler.loss);
        let nonsense = tally.malformed();
        // What no client sends is nobody to hide among.
        let reports = valid.saturating_sub(nonsense) / u64::from(collection.shape().messages);
        let verdict = hop.machine().judge(&slot, reports);
        if let Some(stage) = verdict {
            return hop.put(slot.at(stage), &[]);
        }
        let honest = Crowd::honest(reports, terms.promise.corrupt)?;
        // From disk: the entry of a release that seemed to fail may be there.
        *self.lock() = read_ledger(hop)?;
        let charged = {
            let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
            let lifetime = terms.promise.lifetime.0;
            self.lock().charge(&mut account, lifetime, slot.first, slot.last, honest)?
        };
        let Some(entry) = charged else {
            let why = Why::Budget;
            return hop.put(slot.at(Stage::Dropped { why, reports, shredded: false }), &[]);
        };
        let counted = self.follow(&slot, &mut tally)?;
        let mut losses = manifest.losses.clone();
        losses.push(loss);
        let entries = self.ledger();
        let before = entries.iter().flat_map(|entry| entry.first..=entry.last);
        let epochs: Vec<u64> = before.chain(slot.first..=slot.last).collect();
        let count = Count {
            first: slot.first,
            last: slot.last,
            batch: manifest.id(),
            reports,
            losses: &losses,
            tally: &tally,
            nonsense,
            epochs: &epochs,
        };
        let published = release(collection, &count, &entry)?.to_string();
        hop.remember(&slot, &seen)?;
        let (key, row) = (format!("{}/{first:020}", hop.id), entry.to_row());
        // By their order, which need not be that of epochs.
        let place = format!("{}/{:020}", hop.id, self.lock().entries().len());
        let mut changes = vec![
            Change::Put { table: LEDGER, key: &place, value: &row },
            Change::Put { table: RELEASES, key: &key, value: published.as_bytes() },
        ];
        if let Some(words) = &counted {
            changes.push(Change::Put { table: TALLIES, key: &key, value: words });
        }
        let written = hop.put(slot.at(Stage::Released { shredded: false }), &changes);
        self.remember(&published, written.is_ok());
        written?;
        self.lock().push(entry);
        self.write_head()
    }

    /// Adds what was counted before, where an estimate is about all epochs so far, and returns what was
    /// counted now, to be kept.
    fn follow(&self, slot: &Slot, tally: &mut Tally) -> Result<Option<Vec<u8>>, Error> {
        if self.collection.terms.mechanism.epochs().is_none() {
            return Ok(None);
        }
        let counted = tally.to_words().into_iter().flat_map(u64::to_be_bytes).collect();
        let prefix = self.prefix();
        let own = format!("{prefix}{:020}", slot.first);
        for (key, row) in self.hop.store.rows(TALLIES, &prefix)? {
            if key != own {
                let words = row.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word));
                let words: Vec<u64> = words.collect();
                tally.add_words(&words).map_err(throng_wire::Error::from)?;
            }
        }
        Ok(Some(counted))
    }

    /// Adds a release to those in memory; what may or may not be on disk is read again instead.
    fn remember(&self, release: &str, written: bool) {
        let mut kept = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(all) = kept.as_mut() else { return };
        match Published::parse(release, all.values().next_back()).filter(|_| written) {
            Some(release) => {
                all.insert(release.first, Arc::new(release));
            }
            None => *kept = None,
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
