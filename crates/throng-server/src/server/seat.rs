//! One collection at this server, be it as a mix or as the analyzer.

use crate::config::wrong;
use crate::{
    Analyzer, Blob, DiskStore, Error, Incoming, Intake, Keyring, Limits, Mix, Noticeboard, Role,
    Slot, Stage, Step,
};
use rand_core::CryptoRng;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use throng_collection::{Board, Collection};
use throng_wire::{
    CollectionId, Identity, Notice, Party, Receipt, Route, SignedManifest, SignedNotice,
};
use tokio::sync::Notify;

/// This party's place in one collection, and who waits for it.
pub(crate) struct Seat {
    pub id: CollectionId,
    topic: Topic,
    part: Part,
    /// Bytes of a body with reports at most: whole reports, at least one.
    pub upload: usize,
    /// Wakes the task that steps.
    pub work: Notify,
    /// Wakes the task that hands over.
    pub leave: Notify,
    /// When the task that steps was last through.
    stepped: AtomicU64,
    /// The promise in plain words, once somebody asked.
    words: OnceLock<Vec<String>>,
}

/// What a collection is for.
pub(crate) enum Topic {
    Question(Arc<Collection>),
    Board(Box<Board>),
}

impl Topic {
    fn route(&self) -> Route {
        match self {
            Self::Question(collection) => Route::from(&**collection),
            Self::Board(board) => Route::from(&**board),
        }
    }
}

enum Part {
    Mix(Box<Mix<DiskStore>>),
    Analyzer(Box<Analyzer<DiskStore>>),
    Noticeboard(Box<Noticeboard<DiskStore>>),
}

impl Seat {
    /// Goes on from what is on disk. Refuses a collection in which the identity has another role.
    pub fn open(
        store: &Arc<DiskStore>,
        topic: Topic,
        (role, identity): (Role, &Identity),
        limits: &Limits,
        now: u64,
    ) -> Result<Self, Error> {
        let route = Arc::new(topic.route());
        let id = route.id;
        let hop = route.chain.hop_of(&identity.public());
        let analyzer = hop == Some(route.chain.hops());
        if hop.is_none() || analyzer != (role == Role::Analyzer) {
            let reason = format!(
                "{id} does not have {} as its {role}; use the key of that party, or another file",
                identity.public()
            );
            return Err(wrong("collections", reason));
        }
        let each = route.shape.report_bytes();
        let (store, identity, own) = (Arc::clone(store), identity.clone(), limits.clone());
        let part = match (role, &topic) {
            (Role::Mix, _) => Part::Mix(Box::new(Mix::open(store, route, identity, own)?)),
            (Role::Analyzer, Topic::Question(collection)) => {
                let collection = Arc::clone(collection);
                Part::Analyzer(Box::new(Analyzer::open(store, collection, identity, own)?))
            }
            (Role::Analyzer, Topic::Board(_)) => {
                Part::Noticeboard(Box::new(Noticeboard::open(store, route, identity, own)?))
            }
        };
        Ok(Self {
            id,
            topic,
            part,
            upload: (limits.upload / each).max(1) * each,
            work: Notify::new(),
            leave: Notify::new(),
            stepped: AtomicU64::new(now),
            words: OnceLock::new(),
        })
    }

    /// Takes reports for an epoch. They count once the answer is there.
    pub fn submit(
        &self,
        epoch: u64,
        reports: &[u8],
        now: u64,
    ) -> Result<impl Future<Output = Result<(), Error>>, Error> {
        let mix = self.mix()?;
        let pending = mix.submit(epoch, reports, now).map_err(|error| match error {
            // Nobody can have sealed to keys that are not there.
            Error::NoKeys => Error::EpochClosed,
            other => other,
        })?;
        let count = reports.len() / self.route().shape.report_bytes();
        Ok(async move {
            pending.await?;
            mix.acknowledged(epoch, count as u64, now);
            Ok(())
        })
    }

    /// Whether a batch of the previous mix is taken.
    pub fn receive(&self, manifest: SignedManifest) -> Result<Intake, Error> {
        match &self.part {
            Part::Mix(mix) => mix.receive(manifest),
            Part::Analyzer(analyzer) => analyzer.receive(manifest),
            Part::Noticeboard(noticeboard) => noticeboard.receive(manifest),
        }
    }

    /// All records of a batch are there.
    pub fn keep(&self, incoming: Incoming) -> Result<Receipt, Error> {
        let kept = match &self.part {
            Part::Mix(mix) => mix.keep(incoming),
            Part::Analyzer(analyzer) => analyzer.keep(incoming),
            Part::Noticeboard(noticeboard) => noticeboard.keep(incoming),
        };
        self.work.notify_one();
        kept
    }

    /// Does what is due next, and says what it was.
    pub fn step(&self, now: u64, rng: &mut impl CryptoRng) -> Result<Option<Step>, Error> {
        match &self.part {
            Part::Mix(mix) => mix.step(now, rng),
            Part::Analyzer(analyzer) => analyzer.step(now),
            Part::Noticeboard(noticeboard) => noticeboard.step(now),
        }
    }

    /// A mix's signature of the notice of a round.
    pub fn countersign(&self, notice: &Notice, analyzer: &[u8; 64]) -> Result<[u8; 64], Error> {
        if self.question().is_some() {
            return Err(Error::IsQuestion);
        }
        self.mix()?.countersign(notice, analyzer)
    }

    /// What a round of a board showed. A mix knows only that there is nothing, where it dropped it.
    pub fn bulletin(&self, round: u64) -> Result<(SignedNotice, Box<dyn Blob>), Error> {
        let noticeboard = self.noticeboard();
        if let Err(Error::WrongPlace) = noticeboard
            && let Stage::Dropped { why, .. } = self.mix()?.hop.slot(round)?.stage
        {
            return Err(Error::Dropped(why));
        }
        noticeboard?.bulletin(round)
    }

    /// Everything that was due is done.
    pub fn rested(&self, now: u64) {
        self.stepped.store(now, Ordering::Relaxed);
    }

    /// When everything that was due was done.
    pub fn stepped(&self) -> u64 {
        self.stepped.load(Ordering::Relaxed)
    }

    pub fn mix(&self) -> Result<&Mix<DiskStore>, Error> {
        match &self.part {
            Part::Mix(mix) => Ok(mix),
            Part::Analyzer(_) | Part::Noticeboard(_) => Err(Error::WrongPlace),
        }
    }

    /// Where estimates come from: the analyzer of a question.
    pub fn analyzer(&self) -> Result<&Analyzer<DiskStore>, Error> {
        match &self.part {
            Part::Analyzer(analyzer) => Ok(analyzer),
            Part::Noticeboard(_) => Err(Error::IsBoard),
            Part::Mix(_) => Err(Error::WrongPlace),
        }
    }

    /// Where bulletins come from: the analyzer of a board.
    pub fn noticeboard(&self) -> Result<&Noticeboard<DiskStore>, Error> {
        match &self.part {
            Part::Noticeboard(noticeboard) => Ok(noticeboard),
            Part::Mix(_) if self.question().is_none() => Err(Error::WrongPlace),
            Part::Mix(_) | Part::Analyzer(_) => Err(Error::IsQuestion),
        }
    }

    pub fn keyring(&self) -> &Keyring<DiskStore> {
        match &self.part {
            Part::Mix(mix) => mix.keyring(),
            Part::Analyzer(analyzer) => analyzer.keyring(),
            Part::Noticeboard(noticeboard) => noticeboard.keyring(),
        }
    }

    /// What everyone on the way knows of it.
    pub fn route(&self) -> &Arc<Route> {
        match &self.part {
            Part::Mix(mix) => mix.route(),
            Part::Analyzer(analyzer) => analyzer.route(),
            Part::Noticeboard(noticeboard) => noticeboard.route(),
        }
    }

    /// What is asked, unless it is a board.
    pub fn question(&self) -> Option<&Arc<Collection>> {
        match &self.topic {
            Topic::Question(collection) => Some(collection),
            Topic::Board(_) => None,
        }
    }

    pub fn hop(&self) -> u8 {
        match &self.part {
            Part::Mix(mix) => mix.hop(),
            Part::Analyzer(analyzer) => analyzer.hop(),
            Part::Noticeboard(noticeboard) => noticeboard.hop(),
        }
    }

    pub fn slots(&self) -> Vec<Slot> {
        match &self.part {
            Part::Mix(mix) => mix.slots(),
            Part::Analyzer(analyzer) => analyzer.slots(),
            Part::Noticeboard(noticeboard) => noticeboard.slots(),
        }
    }

    /// The promise of a question, or what takes place on a board, in plain words.
    pub fn words(&self) -> &[String] {
        self.words.get_or_init(|| match &self.topic {
            Topic::Question(collection) => collection.plain(),
            Topic::Board(board) => board.plain(),
        })
    }

    /// The file that everyone holds.
    pub fn file(&self) -> String {
        match &self.topic {
            Topic::Question(collection) => collection.to_toml(),
            Topic::Board(board) => board.to_toml(),
        }
    }

    /// Everyone else, with their hops.
    pub fn others(&self) -> Vec<(u8, Party)> {
        let others = self.route().chain.parties().filter(|(hop, _)| *hop != self.hop());
        others.map(|(hop, party)| (hop, party.clone())).collect()
    }

    /// The window that reports are sealed for at this time, or will be within one window's time.
    pub fn window(&self, now: u64) -> Option<u64> {
        let route = self.route();
        let schedule = &route.schedule;
        let ahead = schedule.every.saturating_mul(schedule.window());
        let epoch = match route.epoch_at(now) {
            Some(epoch) => epoch,
            None if now < schedule.start && schedule.start - now <= ahead => 0,
            None => return None,
        };
        Some(schedule.window_of(epoch))
    }
}
