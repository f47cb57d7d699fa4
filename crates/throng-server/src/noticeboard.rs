//! A board at its analyzer: batches in, bulletins out.
//!
//! ```text
//! Received --opened, sorted, bag on disk--> Released, with the notice in the same commit --> shredded
//!              \--short--> Dropped --> shredded                     \--every mix signs--> the bulletin is out
//! ```
//!
//! The messages of a round are the same in whatever order they come, so that a crash before the commit
//! leads to the same bag and the same notice. After it there is no other notice for the round.

use crate::countersign::{NOTICES, read_statement, statement};
use crate::hop::{Hop, Incoming, Intake};
use crate::keyring::Keyring;
use crate::mixer::Step;
use crate::peel::Peeler;
use crate::slots::{Slot, Stage, Why};
use crate::store::{Blob, Change, Store, StoreError};
use crate::{Error, Limits};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throng_wire::{Bag, Identity, Notice, Receipt, Route, SignedManifest, SignedNotice};

/// One board at its analyzer.
///
/// The bag of a round is sorted in memory, so that a batch of a board takes no more bytes than
/// [`Limits::memory`]. Bags are kept for good.
///
/// ```
/// use std::sync::Arc;
/// use throng_server::{Error, Limits, MemoryStore, Noticeboard};
/// use throng_collection::example;
/// use throng_wire::{Identity, Route};
/// let board = example::board();
///
/// let (store, route) = (Arc::new(MemoryStore::new()), Arc::new(Route::from(&board)));
/// let identity = Identity::from_seed(&[2; 32]);
/// let noticeboard = Noticeboard::open(store, route, identity, Limits::default())?;
/// assert_eq!(noticeboard.step(1_000)?, None);
/// assert!(noticeboard.notices()?.is_empty());
/// assert!(matches!(noticeboard.bulletin(0), Err(Error::NotYet)));
/// assert!(matches!(noticeboard.bulletin(3), Err(Error::NoRound)));
/// # Ok::<(), throng_server::Error>(())
/// ```
pub struct Noticeboard<S> {
    hop: Hop<S>,
    /// The notices by their round; none where what is on disk has to be read first.
    posted: Mutex<Option<BTreeMap<u64, Posted>>>,
    /// Rounds that a mix says it dropped.
    dropped: Mutex<BTreeSet<u64>>,
    /// One step at a time.
    working: Mutex<()>,
}

/// A notice and who has signed it, by hop.
struct Posted {
    notice: Notice,
    signatures: BTreeMap<u8, [u8; 64]>,
}

impl<S: Store> Noticeboard<S> {
    /// Goes on from what is on disk.
    pub fn open(
        store: Arc<S>,
        route: Arc<Route>,
        identity: Identity,
        mut limits: Limits,
    ) -> Result<Self, Error> {
        limits.batch = limits.batch.min(limits.memory as u64);
        let hop = Hop::open(store, route, identity, limits)?;
        if hop.place != hop.route.chain.hops() {
            return Err(Error::WrongPlace);
        }
        let (posted, dropped, working) = Default::default();
        let opened = Self { hop, posted, dropped, working };
        drop(opened.posted()?);
        Ok(opened)
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
            Some(Step::Mix { first }) => self.post(first)?,
            Some(Step::Shred { first }) => self.hop.shred(first)?,
            Some(Step::Destroy { window }) => self.hop.destroy(window, now)?,
            Some(Step::Close { .. } | Step::GiveUp { .. }) | None => {}
        }
        Ok(step)
    }

    /// A mix's signature of the notice of a round, which is kept.
    pub fn collect(&self, hop: u8, round: u64, signature: &[u8; 64]) -> Result<(), Error> {
        let party = self.hop.route.chain.party(hop).ok_or(Error::WrongPlace)?;
        let notice = self.find(round, |posted| posted.notice)?.ok_or(Error::NotYet)?;
        if !notice.cosigned(&party.identity, signature) {
            let party = party.name.clone();
            return Err(throng_wire::Error::Signature { what: "notice", party }.into());
        }
        let key = format!("{}/{hop:03}", self.hop.key(round));
        let put = Change::Put { table: SIGNATURES, key: &key, value: signature };
        self.hop.store.commit(&[put])?;
        if let Some(posted) = self.posted()?.as_mut().and_then(|all| all.get_mut(&round)) {
            posted.signatures.insert(hop, *signature);
        }
        Ok(())
    }

    /// A mix says that it dropped a round. It is believed while nothing of the round is here: a mix that
    /// lies about it could as well drop the round.
    pub fn dropped_before(&self, round: u64) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).insert(round);
    }

    /// The notices that a party has not signed yet, each with the analyzer's signature.
    pub fn unsigned(&self, hop: u8) -> Result<Vec<(Notice, [u8; 64])>, Error> {
        let posted = self.posted()?;
        let missing = |posted: &&Posted| !posted.signatures.contains_key(&hop);
        let each = posted.iter().flat_map(BTreeMap::values).filter(missing);
        Ok(each.filter_map(|it| Some((it.notice, *it.signatures.get(&self.hop.place)?))).collect())
    }

    /// Rounds that are over and of which nothing is heard, newest first.
    pub fn awaited(&self, now: u64) -> impl Iterator<Item = u64> {
        let route = &self.hop.route;
        let end = route.schedule.epoch_at(now).map_or(0, |epoch| (epoch + 1).min(route.epochs));
        let rounds = (self.hop.keyring.live()..end).rev();
        let over = rounds.filter(move |round| now >= route.schedule.deadline(*round));
        over.filter(|round| self.hop.slot(*round).is_err() && !self.is_dropped(*round))
    }

    /// All notices, oldest first, each with the number of parties that have not signed it yet.
    pub fn notices(&self) -> Result<Vec<(Notice, usize)>, Error> {
        let hops = usize::from(self.hop.route.chain.hops());
        let posted = self.posted()?;
        let each = posted.iter().flat_map(BTreeMap::values);
        Ok(each.map(|it| (it.notice, hops.saturating_sub(it.signatures.len()))).collect())
    }

    /// What every party signed of a round, and its bag, once all of them have.
    pub fn bulletin(&self, round: u64) -> Result<(SignedNotice, Box<dyn Blob>), Error> {
        let hop = &self.hop;
        if round >= hop.route.epochs {
            return Err(Error::NoRound);
        }
        hop.settle()?;
        match hop.slot(round).map(|slot| slot.stage) {
            Ok(Stage::Dropped { why, .. }) => return Err(Error::Dropped(why)),
            Err(_) if round < hop.keyring.live() => return Err(Error::Dropped(Why::Keys)),
            Err(_) if self.is_dropped(round) => return Err(Error::Dropped(Why::Short)),
            _ => {}
        }
        let hops = usize::from(hop.route.chain.hops());
        let signed = self.find(round, |posted| {
            let signatures: Vec<_> = posted.signatures.values().copied().collect();
            SignedNotice { notice: posted.notice, signatures }
        })?;
        let signed = signed.filter(|signed| signed.signatures.len() == hops);
        let signed = signed.ok_or(Error::NotYet)?;
        Ok((signed, hop.store.open(&self.bag_name(round))?))
    }

    /// Its keys.
    pub fn keyring(&self) -> &Keyring<S> {
        &self.hop.keyring
    }

    /// What it knows of the board.
    pub fn route(&self) -> &Arc<Route> {
        &self.hop.route
    }

    /// Its place in the chain.
    pub fn hop(&self) -> u8 {
        self.hop.place
    }

    /// All slots so far.
    pub fn slots(&self) -> Vec<Slot> {
        self.hop.machine().slots().iter().cloned().collect()
    }

    /// Opens all messages of a round, and publishes a crowd's: first the bag, then in one commit that
    /// it is published and as what.
    fn post(&self, round: u64) -> Result<(), Error> {
        let hop = &self.hop;
        let slot = hop.slot(round)?;
        if !matches!(slot.stage, Stage::Received(_)) {
            return Ok(());
        }
        let Some(opener) = hop.opener(round)? else {
            return hop.put(slot.at(crate::slots::lost_keys()), &[]);
        };
        let shape = &hop.route.shape;
        let mut seen = hop.seen_before(&slot)?;
        let mut peeler = Peeler::new(&mut seen, shape.record_bytes(hop.place), hop.limits.threads);
        let mut messages = Vec::new();
        hop.read_input(&slot, |records| {
            peeler.peel(&opener, records, |message| {
                messages.extend_from_slice(message);
                Ok(())
            })
        })?;
        let reports = peeler.valid / u64::from(shape.messages);
        let verdict = hop.machine().judge(&slot, reports);
        if let Some(stage) = verdict {
            return hop.put(slot.at(stage), &[]);
        }
        let bag = Bag::new(shape.payload as usize, &messages)?;
        drop(messages);
        let mut blob = hop.store.create(&self.bag_name(round))?;
        blob.write_all(bag.as_bytes()).map_err(StoreError::io("writing a bag"))?;
        blob.finish()?;
        hop.remember(&slot, &seen)?;
        let notice = Notice::of(hop.id, round, reports, &bag);
        let own = notice.cosign(&hop.identity);
        let (key, row) = (hop.key(round), statement(&notice, &own));
        let put = Change::Put { table: NOTICES, key: &key, value: &row };
        let written = hop.put(slot.at(Stage::Released { shredded: false }), &[put]);
        let mut posted = self.lock();
        match posted.as_mut().filter(|_| written.is_ok()) {
            Some(all) => {
                let signatures = BTreeMap::from([(hop.place, own)]);
                all.insert(round, Posted { notice, signatures });
            }
            // What seemed to fail may be there.
            None => *posted = None,
        }
        written
    }

    /// The notices, after reading them where that is not done.
    fn posted(&self) -> Result<MutexGuard<'_, Option<BTreeMap<u64, Posted>>>, Error> {
        let mut posted = self.lock();
        if posted.is_none() {
            *posted = Some(self.read()?);
        }
        Ok(posted)
    }

    fn find<T>(&self, round: u64, of: impl Fn(&Posted) -> T) -> Result<Option<T>, Error> {
        Ok(self.posted()?.as_ref().and_then(|all| all.get(&round)).map(of))
    }

    fn read(&self) -> Result<BTreeMap<u64, Posted>, Error> {
        let (hop, prefix) = (&self.hop, format!("{}/", self.hop.id));
        let mut all = BTreeMap::new();
        for (_, row) in hop.store.rows(NOTICES, &prefix)? {
            let (notice, own) = read_statement(&row).map_err(|_| UNREADABLE)?;
            let signatures = BTreeMap::from([(hop.place, own)]);
            all.insert(notice.round, Posted { notice, signatures });
        }
        for (key, row) in hop.store.rows(SIGNATURES, &prefix)? {
            let place = key.strip_prefix(&prefix).and_then(|rest| {
                let (round, hop) = rest.split_once('/')?;
                Some((round.parse::<u64>().ok()?, hop.parse().ok()?))
            });
            let (round, hop) = place.ok_or(UNREADABLE)?;
            let posted = all.get_mut(&round).ok_or(UNREADABLE)?;
            posted.signatures.insert(hop, row.try_into().map_err(|_| UNREADABLE)?);
        }
        Ok(all)
    }

    fn is_dropped(&self, round: u64) -> bool {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).contains(&round)
    }

    /// A name that is not among those of batches on their way.
    fn bag_name(&self, round: u64) -> String {
        format!("{}.bag-{round}", self.hop.id)
    }

    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<u64, Posted>>> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const UNREADABLE: StoreError = StoreError::Corrupt { what: "the row of a notice" };

/// Of mixes, by round and hop.
const SIGNATURES: &str = "countersignatures";
