//! The analyzer: batches in, releases out.

use crate::Error;
use crate::ledger::{Entry, Ledger};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use throng_account::{Crowd, Probability};
use throng_collection::{
    About, Account, BatchGuarantee, Budget, Collection, Influence, Release, Subjects,
};
use throng_mechanism::Tally;
use throng_mix::store::{Change, RowKey, Store, StoreError, Table, blob};
use throng_mix::{Course, Limits, OpenedBatch, Slot, Stage, Step, Why, lock};
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
    /// The course of this analyzer.
    pub course: Arc<Course>,
    subjects: Subjects,
    ledger: Mutex<Ledger>,
    account: Mutex<Account>,
    /// The releases by their first epoch, once somebody asked.
    published: Mutex<Option<BTreeMap<u64, Arc<Release>>>>,
}

impl Analyzer {
    /// Opens the analyzer and goes on from what is on disk. A ledger that was rolled back is
    /// refused.
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
        let analyzer = Self {
            ledger: Mutex::new(read_ledger(&course)?),
            account: Mutex::new(Account::new(&collection.terms)),
            subjects: Subjects::of(collection),
            published: Mutex::new(None),
            course,
        };
        analyzer.write_head()?;
        Ok(analyzer)
    }

    /// Does what is due next, and returns what it was.
    pub fn step(&self, now: u64) -> Result<Option<Step>, Error> {
        self.course.advance(now, |step| match step {
            Step::Process { first } => self.analyze(first),
            // An analyzer closes and hands over nothing; the rest is done already.
            Step::Close { .. }
            | Step::Tell { .. }
            | Step::GiveUp { .. }
            | Step::Shred { .. }
            | Step::Destroy { .. } => Ok(()),
        })
    }

    /// All releases so far, oldest first, each as the JSON object that was published.
    pub fn releases(&self) -> Result<Vec<String>, Error> {
        let Course { store, id, .. } = &*self.course;
        let rows = store.rows.under(Table::Releases, &RowKey::all(*id))?.into_iter();
        rows.map(|(_, row)| String::from_utf8(row).map_err(|_| UNREADABLE.into())).collect()
    }

    /// All releases so far, oldest first, in memory after the first time.
    pub fn published(&self) -> Result<Vec<Arc<Release>>, Error> {
        let mut kept = lock(&self.published);
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

    /// The entries of the ledger, oldest first.
    pub fn ledger(&self) -> Vec<Entry> {
        lock(&self.ledger).entries().to_vec()
    }

    /// The collection.
    pub fn collection(&self) -> &Arc<Collection> {
        self.subjects.collection()
    }

    /// Opens and counts a batch, asks the accountant, and publishes.
    fn analyze(&self, first: u64) -> Result<(), Error> {
        let Some((opened, mut tally)) = self.count(first)? else { return Ok(()) };
        let (course, slot, nonsense) = (&self.course, &opened.slot, tally.malformed());
        // A message that no client would send does not count towards the crowd.
        let messages = u64::from(course.route.shape.messages);
        let reports = opened.valid.saturating_sub(nonsense) / messages;
        if !course.is_crowd(slot, reports)? {
            return Ok(());
        }
        let Some(entry) = self.charge(slot, reports)? else {
            let dropped = slot.at(Stage::Dropped { why: Why::Budget, reports });
            return Ok(course.put(dropped, &[])?);
        };
        let followed = self.follow(slot, &mut tally)?;
        let release = self.release(&opened, (reports, nonsense), &tally, &entry)?;
        course.remember(&opened)?;
        self.publish(slot, release, entry, followed.as_deref())
    }

    /// Opens the messages of a batch and counts them.
    fn count(&self, first: u64) -> Result<Option<(OpenedBatch, Tally)>, Error> {
        let terms = &self.collection().terms;
        let (mut tally, mut words) = (terms.mechanism.tally(), Vec::new());
        let opened = self.course.open_received(first, |message| {
            if words.len() >= TOGETHER {
                terms.mechanism.absorb(&mut tally, &words);
                words.clear();
            }
            Ok::<_, Error>(terms.decode_payload(message, first, &mut words)?)
        })?;
        let Some(opened) = opened else { return Ok(None) };
        terms.mechanism.absorb(&mut tally, &words);
        Ok(Some((opened, tally)))
    }

    /// The release of a batch with its entry in the ledger. The tally is that of the batch, or of
    /// all epochs so far where estimates are about all of them.
    fn release(
        &self,
        opened: &OpenedBatch,
        (reports, nonsense): (u64, u64),
        tally: &Tally,
        entry: &Entry,
    ) -> Result<Release, Error> {
        let terms = &self.collection().terms;
        let confidence = Probability::new("confidence", CONFIDENCE)?;
        let Entry { first, last, total, hash, .. } = *entry;
        let manifest = opened.manifest.unverified();
        let before = self.ledger().into_iter().flat_map(|entry| entry.first..=entry.last);
        let epochs: Vec<u64> = before.chain(first..=last).collect();
        Ok(Release {
            collection: self.course.id,
            first,
            last,
            reports,
            confidence,
            estimates: self.subjects.answers(tally, &epochs, confidence),
            guarantee: BatchGuarantee::of(terms, reports, last - first + 1)?,
            spent: Budget::of(terms, total),
            influence: Influence::of(terms, reports, tally),
            losses: manifest.losses.iter().copied().chain([opened.loss]).collect(),
            nonsense: opened.rounding.nonsense(nonsense),
            batch: manifest.id(),
            ledger: hash,
            about: Some(About::of(self.collection(), first, last)),
        })
    }

    /// The entry that a release of `reports` reports adds to the ledger, if the lifetime allows it.
    fn charge(&self, slot: &Slot, reports: u64) -> Result<Option<Entry>, Error> {
        let promise = &self.collection().terms.promise;
        let honest = Crowd::honest(reports, promise.corrupt)?;
        // The ledger is read from disk: it may have the entry of a release that seemed to fail.
        *lock(&self.ledger) = read_ledger(&self.course)?;
        let mut account = lock(&self.account);
        lock(&self.ledger).charge(&mut account, promise.lifetime.0, slot.first, slot.last, honest)
    }

    /// Writes a release, its entry in the ledger and the tally to go on from, all in one commit.
    fn publish(
        &self,
        slot: &Slot,
        release: Release,
        entry: Entry,
        followed: Option<&[u8]>,
    ) -> Result<(), Error> {
        let course = &self.course;
        let (text, row, key) = (release.to_json(), entry.to_row(), course.key(slot.first));
        // Entries are numbered in their order, which need not be that of epochs.
        let place = RowKey::at(course.id, lock(&self.ledger).entries().len() as u64);
        let mut changes = vec![
            Change::Put { table: Table::Ledger, key: &place, value: &row },
            Change::Put { table: Table::Releases, key: &key, value: text.as_bytes() },
        ];
        if let Some(words) = followed {
            changes.push(Change::Put { table: Table::Tallies, key: &key, value: words });
        }
        let written = course.put(slot.at(Stage::Released), &changes);
        let mut kept = lock(&self.published);
        match kept.as_mut().filter(|_| written.is_ok()) {
            Some(all) => drop(all.insert(release.first, Arc::new(release))),
            // A commit that seemed to fail may have happened: all are read again.
            None => *kept = None,
        }
        drop(kept);
        written?;
        lock(&self.ledger).push(entry);
        self.write_head()
    }

    /// Adds the earlier tally, where an estimate is about all epochs so far, and returns the
    /// present one to be kept.
    fn follow(&self, slot: &Slot, tally: &mut Tally) -> Result<Option<Vec<u8>>, Error> {
        if self.collection().terms.mechanism.epochs().is_none() {
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

    /// Keeps the newest hash of the ledger outside its table.
    fn write_head(&self) -> Result<(), Error> {
        let head = lock(&self.ledger).head();
        Ok(self.course.store.blobs.write(&blob::head(self.course.id), &head)?)
    }
}

fn read_ledger(course: &Course) -> Result<Ledger, Error> {
    let Course { store, id, .. } = course;
    let rows = store.rows.under(Table::Ledger, &RowKey::all(*id))?.into_iter();
    let rows: Vec<Vec<u8>> = rows.map(|(_, row)| row).collect();
    let corrupt = StoreError::Corrupt { what: "the ledger's head" };
    let head = store.blobs.read(&blob::head(*id))?;
    let head = head.map(|bytes| bytes.try_into().map_err(|_| corrupt)).transpose()?;
    // The head is written before the first entry.
    if head.is_none() && !rows.is_empty() {
        return Err(Error::Rollback { reason: "its newest hash is missing" });
    }
    Ledger::open(id, &rows, head)
}

/// The number of words of messages that are counted together.
const TOGETHER: usize = 1 << 16;

const UNREADABLE: StoreError = StoreError::Corrupt { what: "the row of a release" };

/// The probability with which an interval contains the truth.
const CONFIDENCE: f64 = 0.95;
