//! The analyzer: batches in, releases out.

use crate::Error;
use crate::ledger::{Entry, Ledger};
use crate::published::Published;
use crate::release::{Count, release};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use throng_account::Crowd;
use throng_collection::{Account, Collection};
use throng_mechanism::Tally;
use throng_mix::store::{Change, RowKey, Store, StoreError, Table, blob};
use throng_mix::{Course, Limits, Opened, Slot, Stage, Step, Why, lock};
use throng_wire::{Identity, Route};

/// One collection at its analyzer.
///
/// ```
/// use throng_collection::example;
/// use throng_mix::{Limits, simulated::MemoryStore};
/// use throng_server::Analyzer;
///
/// let store = MemoryStore::new().store();
/// let open = |identity| {
///     let collection = example::collection().into();
///     Analyzer::open(store.clone(), collection, identity, Limits::default())
/// };
/// let [mix, analyzer] = throng_wire::example::identities();
/// let analyzer = open(analyzer)?;
/// assert_eq!(analyzer.step(1_000)?, None);
/// assert!(analyzer.releases()?.is_empty() && analyzer.ledger().is_empty());
///
/// // Whoever has another place in the chain cannot be its analyzer.
/// assert!(open(mix).is_err());
/// # Ok::<(), throng_server::Error>(())
/// ```
pub struct Analyzer {
    course: Arc<Course>,
    collection: Arc<Collection>,
    ledger: Mutex<Ledger>,
    account: Mutex<Account>,
    /// The releases by their first epoch, once somebody asked.
    published: Mutex<Option<BTreeMap<u64, Arc<Published>>>>,
}

impl Analyzer {
    /// Goes on from what is on disk. Refuses a ledger that was rolled back.
    pub fn open(
        store: Store,
        collection: Arc<Collection>,
        identity: Identity,
        limits: Limits,
    ) -> Result<Self, Error> {
        let route = Arc::new(Route::from(&*collection));
        let course = Arc::new(Course::open(store, route, identity, limits)?);
        if course.hop != collection.chain.hops() {
            return Err(throng_mix::Error::WrongPlace.into());
        }
        let ledger = read_ledger(&course)?;
        let account = Mutex::new(Account::new(&collection.terms));
        let ledger = Mutex::new(ledger);
        let published = Mutex::new(None);
        let analyzer = Self { course, collection, ledger, account, published };
        analyzer.write_head()?;
        Ok(analyzer)
    }

    /// Its course.
    pub fn course(&self) -> &Arc<Course> {
        &self.course
    }

    /// Does what is due next, and says what it was.
    pub fn step(&self, now: u64) -> Result<Option<Step>, Error> {
        self.course.advance(now, |step| match step {
            Step::Process { first } => self.analyze(first),
            Step::Close { .. } | Step::GiveUp { .. } => Ok(()),
            Step::Shred { .. } | Step::Destroy { .. } => Ok(()),
        })
    }

    /// All releases so far, oldest first, each as the JSON object that was published.
    pub fn releases(&self) -> Result<Vec<String>, Error> {
        let rows = self
            .course
            .store
            .rows
            .under(Table::Releases, &RowKey::all(self.course.id))?
            .into_iter();
        rows.map(|(_, row)| String::from_utf8(row).map_err(|_| UNREADABLE.into())).collect()
    }

    /// All releases so far, oldest first, in memory after the first time.
    pub fn published(&self) -> Result<Vec<Arc<Published>>, Error> {
        let mut kept = lock(&self.published);
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

    /// The collection.
    pub fn collection(&self) -> &Arc<Collection> {
        &self.collection
    }

    /// Opens, counts, asks the accountant, and publishes, all in one commit.
    fn analyze(&self, first: u64) -> Result<(), Error> {
        let (course, collection) = (&self.course, &*self.collection);
        let terms = &collection.terms;
        let (mut tally, mut words) = (terms.mechanism.tally(), Vec::new());
        let opened = course.open_received(first, |message| {
            if words.len() >= TOGETHER {
                terms.mechanism.absorb(&mut tally, &words);
                words.clear();
            }
            Ok::<_, Error>(terms.decode_payload(message, first, &mut words)?)
        })?;
        terms.mechanism.absorb(&mut tally, &words);
        let Some(opened) = opened else { return Ok(()) };
        let Opened { slot, manifest, valid, loss, .. } = &opened;
        let nonsense = tally.malformed();
        // What no client sends is nobody to hide among.
        let reports = valid.saturating_sub(nonsense) / u64::from(collection.shape().messages);
        if !course.is_crowd(slot, reports)? {
            return Ok(());
        }
        let honest = Crowd::honest(reports, terms.promise.corrupt)?;
        // From disk: the entry of a release that seemed to fail may be there.
        *self.lock() = read_ledger(course)?;
        let charged = {
            let mut account = lock(&self.account);
            let lifetime = terms.promise.lifetime.0;
            self.lock().charge(&mut account, lifetime, slot.first, slot.last, honest)?
        };
        let Some(entry) = charged else {
            let why = Why::Budget;
            return Ok(course.put(slot.at(Stage::Dropped { why, reports, shredded: false }), &[])?);
        };
        let counted = self.follow(slot, &mut tally)?;
        let manifest = manifest.unverified();
        let mut losses = manifest.losses.clone();
        losses.push(*loss);
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
        course.remember(&opened)?;
        let (key, row) = (course.key(first), entry.to_row());
        // By their order, which need not be that of epochs.
        let place = RowKey::at(course.id, self.lock().entries().len() as u64);
        let mut changes = vec![
            Change::Put { table: Table::Ledger, key: &place, value: &row },
            Change::Put { table: Table::Releases, key: &key, value: published.as_bytes() },
        ];
        if let Some(words) = &counted {
            changes.push(Change::Put { table: Table::Tallies, key: &key, value: words });
        }
        let written = course.put(slot.at(Stage::Released { shredded: false }), &changes);
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
        let (own, rows) = (self.course.key(slot.first), &self.course.store.rows);
        for (key, row) in rows.under(Table::Tallies, &RowKey::all(self.course.id))? {
            if key != own {
                let words = row.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word));
                let words: Vec<u64> = words.collect();
                tally.add_words(&words).map_err(throng_collection::Error::from)?;
            }
        }
        Ok(Some(counted))
    }

    /// Adds a release to those in memory; what may or may not be on disk is read again instead.
    fn remember(&self, release: &str, written: bool) {
        let mut kept = lock(&self.published);
        let Some(all) = kept.as_mut() else { return };
        match Published::parse(release, all.values().next_back()).filter(|_| written) {
            Some(release) => {
                all.insert(release.first, Arc::new(release));
            }
            None => *kept = None,
        }
    }

    /// Keeps the newest hash of the ledger outside its table.
    fn write_head(&self) -> Result<(), Error> {
        let head = self.lock().head();
        Ok(self.course.store.blobs.write(&blob::head(self.course.id), &head)?)
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }
}

fn read_ledger(course: &Course) -> Result<Ledger, Error> {
    let Course { store, id, .. } = course;
    let rows = store.rows.under(Table::Ledger, &RowKey::all(*id))?.into_iter();
    let rows: Vec<Vec<u8>> = rows.map(|(_, row)| row).collect();
    let corrupt = StoreError::Corrupt { what: "the ledger's head" };
    let head = store.blobs.read(&blob::head(*id))?;
    let head = head.map(|bytes| bytes.try_into().map_err(|_| corrupt)).transpose()?;
    // It is written before the first entry.
    if head.is_none() && !rows.is_empty() {
        return Err(Error::Rollback { reason: "its newest hash is missing" });
    }
    Ledger::open(id, &rows, head)
}

/// Words of messages that are counted together.
const TOGETHER: usize = 1 << 16;

const UNREADABLE: StoreError = StoreError::Corrupt { what: "the row of a release" };
