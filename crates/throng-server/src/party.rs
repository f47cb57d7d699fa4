//! A party: one collection at this server, and its duty in it.

use crate::clock::Timekeeping;
use crate::config::wrong;
use crate::{Analyzer, Clock, Error, Noticeboard, Role};
use rand_core::CryptoRng;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use throng_collection::{Board, Collection};
use throng_mix::store::{Blob, Store};
use throng_mix::{Course, Fates, Intake, Limits, Mix, Stage, Step};
use throng_wire::{CollectionId, Identity, Notice, Route, SignedManifest, SignedNotice};
use tokio::sync::Notify;

/// One collection at this server, and the means to wake the tasks that wait for it.
pub(crate) struct Party {
    /// The course, which every party has, whatever its duty.
    pub course: Arc<Course>,
    /// The clock, and whether it can be believed.
    pub time: Timekeeping,
    topic: Topic,
    duty: Duty,
    /// The most bytes of a body with reports: whole reports, at least one.
    pub upload: usize,
    /// Wakes the task that steps.
    pub work: Notify,
    /// Wakes the task that hands over.
    pub leave: Notify,
    /// The time at which the task that steps was last done.
    stepped: AtomicU64,
    /// The promise in plain words, once somebody asked.
    words: OnceLock<Vec<String>>,
}

/// The purpose of a collection.
pub(crate) enum Topic {
    Question(Arc<Collection>),
    Board(Box<Board>),
}

impl Topic {
    /// The collection's id.
    pub fn id(&self) -> CollectionId {
        match self {
            Self::Question(collection) => collection.id(),
            Self::Board(board) => board.id(),
        }
    }
}

/// The duty of this server in the collection.
enum Duty {
    /// The server strips a layer and shuffles.
    Mix(Mix),
    /// The server counts and releases.
    Count(Box<Analyzer>),
    /// The server publishes what was posted.
    Post(Noticeboard),
}

impl Party {
    /// Opens the party and goes on from what is on disk. A collection in which the identity has
    /// another role is refused.
    pub fn open(
        store: &Store,
        topic: Topic,
        (role, identity): (Role, &Identity),
        limits: &Limits,
        clock: &Clock,
    ) -> Result<Self, Error> {
        let route = Arc::new(match &topic {
            Topic::Question(collection) => Route::from(&**collection),
            Topic::Board(board) => Route::from(&**board),
        });
        let hop = route.chain.hop_of(&identity.public());
        let analyzer = hop == Some(route.chain.hops());
        if hop.is_none() || analyzer != (role == Role::Analyzer) {
            let reason = format!(
                "{} does not have {} as its {role}; use the key of that party, or another file",
                route.id,
                identity.public()
            );
            return Err(wrong("collections", reason));
        }
        let each = route.shape.report_bytes();
        let (store, identity, own) = (store.clone(), identity.clone(), limits.clone());
        let duty = match (role, &topic) {
            (Role::Mix, _) => Duty::Mix(Mix::open(store, route, identity, own)?),
            (Role::Analyzer, Topic::Question(collection)) => {
                Duty::Count(Box::new(Analyzer::open(store, collection.clone(), identity, own)?))
            }
            (Role::Analyzer, Topic::Board(_)) => {
                Duty::Post(Noticeboard::open(store, route, identity, own)?)
            }
        };
        let course = Arc::clone(match &duty {
            Duty::Mix(mix) => &mix.course,
            Duty::Count(analyzer) => &analyzer.course,
            Duty::Post(noticeboard) => &noticeboard.course,
        });
        let others = course.route.chain.parties().count() - 1;
        let time = Timekeeping::open(clock.clone(), course.store.clone(), course.id, others)?;
        Ok(Self {
            course,
            time,
            topic,
            duty,
            upload: (limits.upload / each).max(1) * each,
            work: Notify::new(),
            leave: Notify::new(),
            stepped: AtomicU64::new(clock.now()),
            words: OnceLock::new(),
        })
    }

    /// Takes reports for an epoch. They count once the answer resolves.
    pub fn submit<'a>(
        &'a self,
        epoch: u64,
        reports: &[u8],
        now: u64,
    ) -> Result<impl Future<Output = Result<(), Error>> + use<'a>, Error> {
        let mix = self.mix()?;
        if self.time.judge().is_doubt() {
            return Err(throng_mix::Error::Clock.into());
        }
        let pending = mix.submit(epoch, reports, now).map_err(|error| match error {
            // Nobody can have sealed to keys that are not there.
            throng_mix::Error::NoKeys => throng_mix::Error::EpochClosed,
            other => other,
        })?;
        let count = reports.len() / self.course.route.shape.report_bytes();
        Ok(async move {
            pending.await?;
            mix.acknowledged(epoch, count as u64, now);
            Ok(())
        })
    }

    /// Checks the manifest of a batch and takes the batch, unless it is here already.
    pub fn receive(&self, manifest: SignedManifest) -> Result<Intake, Error> {
        Ok(self.course.receive(manifest, self.time.believed()?)?)
    }

    /// Does what is due next, and returns what it was.
    pub fn step(&self, now: u64, rng: &mut impl CryptoRng) -> Result<Option<Step>, Error> {
        match &self.duty {
            Duty::Mix(mix) => Ok(mix.step(now, rng)?),
            Duty::Count(analyzer) => analyzer.step(now),
            Duty::Post(noticeboard) => noticeboard.step(now),
        }
    }

    /// Signs the notice of a round, at a mix.
    pub fn countersign(&self, notice: &Notice, analyzer: &[u8; 64]) -> Result<[u8; 64], Error> {
        if self.question().is_some() {
            return Err(Error::IsQuestion);
        }
        Ok(self.mix()?.countersign(notice, analyzer)?)
    }

    /// The bulletin of a round of a board. A mix knows only that there is none, if it dropped the
    /// round.
    pub fn bulletin(&self, round: u64) -> Result<(SignedNotice, Blob), Error> {
        let noticeboard = self.noticeboard();
        if let Err(Error::Mix(throng_mix::Error::WrongPlace)) = noticeboard
            && let Stage::Dropped { why, .. } = self.course.slot(round)?.stage
        {
            return Err(Error::Dropped(why));
        }
        noticeboard?.bulletin(round)
    }

    /// The fates of all epochs that have begun, oldest first.
    pub fn fates(&self, now: u64) -> Vec<Fates> {
        Fates::of(self.route(), &self.course.slots(), &self.course.keyring.destroyed(), now)
    }

    /// Notes that everything that was due is done.
    pub fn rested(&self, now: u64) {
        self.stepped.store(now, Ordering::Relaxed);
    }

    /// The time when everything that was due was last done.
    pub fn stepped(&self) -> u64 {
        self.stepped.load(Ordering::Relaxed)
    }

    /// True if there is nothing left to do: it has no keys, nothing is due, and nothing waits for
    /// the next party.
    pub fn is_done(&self) -> bool {
        self.course.keyring.windows().is_empty()
            && self.course.is_idle(self.time.due())
            && self.mix().map_or(true, |mix| mix.waiting().is_empty())
    }

    /// The mix, if this server is one.
    pub fn mix(&self) -> Result<&Mix, Error> {
        match &self.duty {
            Duty::Mix(mix) => Ok(mix),
            Duty::Count(_) | Duty::Post(_) => Err(throng_mix::Error::WrongPlace.into()),
        }
    }

    /// The analyzer of a question, where estimates come from.
    pub fn analyzer(&self) -> Result<&Analyzer, Error> {
        match &self.duty {
            Duty::Count(analyzer) => Ok(analyzer),
            Duty::Post(_) => Err(Error::IsBoard),
            Duty::Mix(_) => Err(throng_mix::Error::WrongPlace.into()),
        }
    }

    /// The analyzer of a board, where bulletins come from.
    pub fn noticeboard(&self) -> Result<&Noticeboard, Error> {
        match &self.duty {
            Duty::Post(noticeboard) => Ok(noticeboard),
            Duty::Mix(_) if self.question().is_none() => Err(throng_mix::Error::WrongPlace.into()),
            Duty::Mix(_) | Duty::Count(_) => Err(Error::IsQuestion),
        }
    }

    /// The collection's id.
    pub fn id(&self) -> CollectionId {
        self.course.id
    }

    /// The description of it that all parties share.
    pub fn route(&self) -> &Arc<Route> {
        &self.course.route
    }

    /// The question, unless it is a board.
    pub fn question(&self) -> Option<&Arc<Collection>> {
        match &self.topic {
            Topic::Question(collection) => Some(collection),
            Topic::Board(_) => None,
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

    /// The other parties, with their hops.
    pub fn others(&self) -> impl Iterator<Item = (u8, &throng_wire::Party)> {
        self.route().chain.parties().filter(|(hop, _)| *hop != self.course.hop)
    }

    /// The window for which reports are sealed now, or will be within one window's time.
    pub fn window(&self, now: u64) -> Option<u64> {
        let route = self.route();
        let schedule = &route.schedule;
        let ahead = schedule.every.saturating_mul(schedule.window());
        let soon = now < schedule.start && schedule.start - now <= ahead;
        route.epoch_at(now).or(soon.then_some(0)).map(|epoch| schedule.window_of(epoch))
    }
}
