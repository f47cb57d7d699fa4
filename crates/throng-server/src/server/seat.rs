//! One collection at this server, be it as a mix or as the analyzer.

use crate::config::wrong;
use crate::{Analyzer, DiskStore, Error, Incoming, Intake, Keyring, Limits, Mix, Role, Slot, Step};
use rand_core::CryptoRng;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use throng_wire::{Collection, CollectionId, Identity, Party, Receipt, SignedManifest};
use tokio::sync::Notify;

/// This party's place in one collection, and who waits for it.
pub(crate) struct Seat {
    pub id: CollectionId,
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

enum Part {
    Mix(Box<Mix<DiskStore>>),
    Analyzer(Box<Analyzer<DiskStore>>),
}

impl Seat {
    /// Goes on from what is on disk. Refuses a collection in which the identity has another role.
    pub fn open(
        store: &Arc<DiskStore>,
        collection: Collection,
        (role, identity): (Role, &Identity),
        limits: &Limits,
        now: u64,
    ) -> Result<Self, Error> {
        let id = collection.id();
        let hop = collection.chain.hop_of(&identity.public());
        let analyzer = hop == Some(collection.chain.hops());
        if hop.is_none() || analyzer != (role == Role::Analyzer) {
            let reason = format!(
                "{id} does not have {} as its {role}; use the key of that party, or another file",
                identity.public()
            );
            return Err(wrong("collections", reason));
        }
        let each = collection.shape().report_bytes();
        let (store, collection) = (Arc::clone(store), Arc::new(collection));
        let (identity, own) = (identity.clone(), limits.clone());
        let part = match role {
            Role::Mix => Part::Mix(Box::new(Mix::open(store, collection, identity, own)?)),
            Role::Analyzer => {
                Part::Analyzer(Box::new(Analyzer::open(store, collection, identity, own)?))
            }
        };
        Ok(Self {
            id,
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
        let count = reports.len() / self.collection().shape().report_bytes();
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
        }
    }

    /// All records of a batch are there.
    pub fn keep(&self, incoming: Incoming) -> Result<Receipt, Error> {
        let kept = match &self.part {
            Part::Mix(mix) => mix.keep(incoming),
            Part::Analyzer(analyzer) => analyzer.keep(incoming),
        };
        self.work.notify_one();
        kept
    }

    /// Does what is due next, and says what it was.
    pub fn step(&self, now: u64, rng: &mut impl CryptoRng) -> Result<Option<Step>, Error> {
        match &self.part {
            Part::Mix(mix) => mix.step(now, rng),
            Part::Analyzer(analyzer) => analyzer.step(now),
        }
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
            Part::Analyzer(_) => Err(Error::WrongPlace),
        }
    }

    pub fn analyzer(&self) -> Result<&Analyzer<DiskStore>, Error> {
        match &self.part {
            Part::Mix(_) => Err(Error::WrongPlace),
            Part::Analyzer(analyzer) => Ok(analyzer),
        }
    }

    pub fn keyring(&self) -> &Keyring<DiskStore> {
        match &self.part {
            Part::Mix(mix) => mix.keyring(),
            Part::Analyzer(analyzer) => analyzer.keyring(),
        }
    }

    pub fn collection(&self) -> &Arc<Collection> {
        match &self.part {
            Part::Mix(mix) => mix.collection(),
            Part::Analyzer(analyzer) => analyzer.collection(),
        }
    }

    pub fn hop(&self) -> u8 {
        match &self.part {
            Part::Mix(mix) => mix.hop(),
            Part::Analyzer(analyzer) => analyzer.hop(),
        }
    }

    pub fn slots(&self) -> Vec<Slot> {
        match &self.part {
            Part::Mix(mix) => mix.slots(),
            Part::Analyzer(analyzer) => analyzer.slots(),
        }
    }

    /// The promise in plain words.
    pub fn words(&self) -> &[String] {
        self.words.get_or_init(|| self.collection().plain())
    }

    /// Everyone else, with their hops.
    pub fn others(&self) -> Vec<(u8, Party)> {
        let others = self.collection().chain.parties().filter(|(hop, _)| *hop != self.hop());
        others.map(|(hop, party)| (hop, party.clone())).collect()
    }

    /// The window that reports are sealed for at this time, or will be within one window's time.
    pub fn window(&self, now: u64) -> Option<u64> {
        let collection = self.collection();
        let schedule = &collection.schedule;
        let ahead = schedule.every.saturating_mul(schedule.window());
        let epoch = match collection.epoch_at(now) {
            Some(epoch) => epoch,
            None if now < schedule.start && schedule.start - now <= ahead => 0,
            None => return None,
        };
        Some(schedule.window_of(epoch))
    }
}
