//! A board at its analyzer: batches in, bulletins out.
//!
//! ```text
//! Received --opened, sorted, bag on disk--> Released, notice in the same commit --> shredded
//!     \--short--> Dropped --> shredded           \--every mix signs--> the bulletin is out
//! ```
//!
//! The messages of a round are the same in whatever order they come, so that a crash before the
//! commit leads to the same bag and the same notice. After it there is no other notice for the
//! round.

use crate::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use throng_mix::store::{Blob, Change, RowKey, Store, StoreError, Table, blob};
use throng_mix::{Course, Limits, Stage, Step, Why, lock, read_statement, statement};
use throng_wire::{Bag, Identity, Notice, Route, SignedNotice};

/// One board at its analyzer.
///
/// The bag of a round is sorted in memory, so that a batch of a board takes no more bytes than
/// [`Limits::memory`]. Bags are kept for good.
///
/// ```
/// use throng_collection::example;
/// use throng_mix::{Limits, simulated::MemoryStore};
/// use throng_server::{Error, Noticeboard};
/// use throng_wire::Route;
///
/// let (store, route) = (MemoryStore::new().store(), Route::from(&example::board()));
/// let [_, identity] = throng_wire::example::identities();
/// let noticeboard = Noticeboard::open(store, route.into(), identity, Limits::default())?;
/// assert_eq!(noticeboard.step(1_000)?, None);
/// assert!(noticeboard.notices()?.is_empty());
/// assert!(matches!(noticeboard.bulletin(0), Err(Error::NotYet)));
/// assert!(matches!(noticeboard.bulletin(3), Err(Error::NoRound)));
/// # Ok::<(), Error>(())
/// ```
pub struct Noticeboard {
    /// The course of this board.
    pub course: Arc<Course>,
    /// The notices by their round; `None` if they have to be read from disk first.
    posted: Mutex<Option<Notices>>,
    /// The rounds that a mix says it dropped.
    dropped: Mutex<BTreeSet<u64>>,
}

type Notices = BTreeMap<u64, NoticeRecord>;

/// A notice and the signatures under it, by hop.
struct NoticeRecord {
    notice: Notice,
    signatures: BTreeMap<u8, [u8; 64]>,
}

impl NoticeRecord {
    fn new(course: &Course, notice: Notice, own: [u8; 64]) -> Self {
        Self { notice, signatures: BTreeMap::from([(course.hop, own)]) }
    }
}

impl Noticeboard {
    /// Opens the board and goes on from what is on disk.
    pub fn open(
        store: Store,
        route: Arc<Route>,
        identity: Identity,
        mut limits: Limits,
    ) -> Result<Self, Error> {
        limits.batch = limits.batch.min(limits.memory as u64);
        let course = Arc::new(Course::open(store, route, identity, limits)?);
        if course.hop != course.route.chain.hops() {
            return Err(throng_mix::Error::WrongPlace.into());
        }
        let opened = Self { course, posted: Mutex::default(), dropped: Mutex::default() };
        drop(opened.posted()?);
        Ok(opened)
    }

    /// Does what is due next, and returns what it was.
    pub fn step(&self, now: u64) -> Result<Option<Step>, Error> {
        self.course.advance(now, |step| match step {
            Step::Process { first } => self.post(first),
            // An analyzer closes and hands over nothing; the rest is done already.
            Step::Close { .. }
            | Step::Tell { .. }
            | Step::GiveUp { .. }
            | Step::Shred { .. }
            | Step::Destroy { .. } => Ok(()),
        })
    }

    /// Takes and keeps a mix's signature of the notice of a round.
    pub fn collect(&self, hop: u8, round: u64, signature: &[u8; 64]) -> Result<(), Error> {
        let party = self.course.route.chain.party(hop).ok_or(throng_mix::Error::WrongPlace)?;
        let notice = self.find(round, |posted| posted.notice)?.ok_or(Error::NotYet)?;
        if !notice.cosigned(&party.identity, signature) {
            let party = party.name.clone();
            return Err(throng_wire::Error::Signature { what: "notice", party }.into());
        }
        let key = RowKey::signed(self.course.id, round, hop);
        self.course.store.rows.put(Table::Countersignatures, &key, signature)?;
        if let Some(posted) = self.posted()?.as_mut().and_then(|all| all.get_mut(&round)) {
            posted.signatures.insert(hop, *signature);
        }
        Ok(())
    }

    /// Notes that a mix says it dropped a round. It is believed while nothing of the round is here:
    /// a mix that lies about it could as well drop the round.
    pub fn dropped_before(&self, round: u64) {
        lock(&self.dropped).insert(round);
    }

    /// The notices that a party has not signed yet, each with the analyzer's signature.
    pub fn unsigned(&self, hop: u8) -> Result<Vec<(Notice, [u8; 64])>, Error> {
        let posted = self.posted()?;
        let missing = |posted: &&NoticeRecord| !posted.signatures.contains_key(&hop);
        let each = posted.iter().flat_map(BTreeMap::values).filter(missing);
        Ok(each.filter_map(|it| Some((it.notice, *it.signatures.get(&self.course.hop)?))).collect())
    }

    /// The rounds that are over and of which nothing is heard, newest first.
    pub fn awaited(&self, now: u64) -> impl Iterator<Item = u64> {
        let route = &self.course.route;
        let end = route.schedule.epoch_at(now).map_or(0, |epoch| (epoch + 1).min(route.epochs));
        let destroyed = self.course.keyring.destroyed();
        let rounds = (destroyed.first_left()..end).rev();
        let waits = move |round: &u64| !destroyed.contains(route.schedule.window_of(*round));
        let over = rounds.filter(waits).filter(move |round| now >= route.schedule.deadline(*round));
        over.filter(|round| self.course.slot(*round).is_err() && !self.is_dropped(*round))
    }

    /// All notices, oldest first, each with the number of parties that have not signed it yet.
    pub fn notices(&self) -> Result<Vec<(Notice, usize)>, Error> {
        let hops = usize::from(self.course.route.chain.hops());
        let posted = self.posted()?;
        let each = posted.iter().flat_map(BTreeMap::values);
        Ok(each.map(|it| (it.notice, hops.saturating_sub(it.signatures.len()))).collect())
    }

    /// The signed notice of a round and its bag, once every party has signed.
    pub fn bulletin(&self, round: u64) -> Result<(SignedNotice, Blob), Error> {
        let course = &self.course;
        if round >= course.route.epochs {
            return Err(Error::NoRound);
        }
        course.settle()?;
        match course.slot(round).map(|slot| slot.stage) {
            Ok(Stage::Dropped { why, .. }) => return Err(Error::Dropped(why)),
            Err(_) if course.keyring.is_destroyed(course.route.schedule.window_of(round)) => {
                return Err(Error::Dropped(Why::Keys));
            }
            Err(_) if self.is_dropped(round) => return Err(Error::Dropped(Why::Short)),
            _ => {}
        }
        let hops = usize::from(course.route.chain.hops());
        let signed = self.find(round, |posted| {
            let signatures: Vec<_> = posted.signatures.values().copied().collect();
            SignedNotice { notice: posted.notice, signatures }
        })?;
        let signed = signed.filter(|signed| signed.signatures.len() == hops);
        let signed = signed.ok_or(Error::NotYet)?;
        Ok((signed, course.store.blobs.open(&blob::bag(course.id, round))?))
    }

    /// Opens all messages of a round and publishes those of a crowd: first the bag, and then in one
    /// commit that it is published, with its notice.
    fn post(&self, round: u64) -> Result<(), Error> {
        let course = &self.course;
        let mut messages = Vec::new();
        let opened = course.open_received(round, |message| {
            messages.extend_from_slice(message);
            Ok::<_, Error>(())
        })?;
        let Some(opened) = opened else { return Ok(()) };
        let shape = &course.route.shape;
        let reports = opened.valid / u64::from(shape.messages);
        if !course.is_crowd(&opened.slot, reports)? {
            return Ok(());
        }
        let bag = Bag::new(shape.payload as usize, &messages)?;
        drop(messages);
        course.store.blobs.write(&blob::bag(course.id, round), bag.as_bytes())?;
        course.remember(&opened)?;
        let notice = Notice::of(course.id, round, reports, &bag);
        let own = notice.cosign(&course.identity);
        let (key, row) = (course.key(round), statement(&notice, &own));
        let put = Change::Put { table: Table::Notices, key: &key, value: &row };
        let written = course.put(opened.slot.at(Stage::Released), &[put]);
        let mut posted = lock(&self.posted);
        match posted.as_mut().filter(|_| written.is_ok()) {
            Some(all) => drop(all.insert(round, NoticeRecord::new(course, notice, own))),
            // A commit that seemed to fail may have happened.
            None => *posted = None,
        }
        Ok(written?)
    }

    /// The notices, which are read first if they are not in memory.
    fn posted(&self) -> Result<MutexGuard<'_, Option<Notices>>, Error> {
        let mut posted = lock(&self.posted);
        if posted.is_none() {
            *posted = Some(self.read()?);
        }
        Ok(posted)
    }

    fn find<T>(&self, round: u64, of: impl Fn(&NoticeRecord) -> T) -> Result<Option<T>, Error> {
        Ok(self.posted()?.as_ref().and_then(|all| all.get(&round)).map(of))
    }

    fn read(&self) -> Result<Notices, Error> {
        let (course, prefix) = (&self.course, RowKey::all(self.course.id));
        let mut all = BTreeMap::new();
        for (_, row) in course.store.rows.under(Table::Notices, &prefix)? {
            let (notice, own) = read_statement(&row).map_err(|_| UNREADABLE)?;
            all.insert(notice.round, NoticeRecord::new(course, notice, own));
        }
        for (key, row) in course.store.rows.under(Table::Countersignatures, &prefix)? {
            let (round, hop) = key.epoch().zip(key.hop()).ok_or(UNREADABLE)?;
            let posted = all.get_mut(&round).ok_or(UNREADABLE)?;
            posted.signatures.insert(hop, row.try_into().map_err(|_| UNREADABLE)?);
        }
        Ok(all)
    }

    fn is_dropped(&self, round: u64) -> bool {
        lock(&self.dropped).contains(&round)
    }
}

const UNREADABLE: StoreError = StoreError::Corrupt { what: "the row of a notice" };
