//! Everything that pages show, as plain data: they are functions of it, and never ask the server.
//!
//! ```text
//! Ask       what is asked for, of which server
//! Site      the time, every collection here, who answers
//! Place     one collection: its route, batches and keys, and what was published
//! Machine   how this server itself is
//! ```
//!
//! Here, and in the table of pages, the dashboard meets the running server.

use crate::metrics::{ALARMS, BATCHES_REFUSED, CONFLICT, FAILURES, reports};
use crate::party::Party;
use crate::run::{Health, Task};
use crate::server::Node;
use crate::{Entry, Error};
use std::collections::BTreeMap;
use std::sync::Arc;
use throng_collection::{Collection, Release, Subject};
use throng_mix::{Destroyed, Fate, Fates, Progress, Slot, Why};
use throng_wire::{Notice, Route};

/// A request to see a page.
pub(crate) struct Ask<'a> {
    /// The server.
    pub node: &'a Node,
    /// The collection in the path.
    pub party: Option<&'a Party>,
    /// The query.
    pub query: &'a str,
    /// The present time in seconds since 1970.
    pub now: u64,
}

impl<'a> Ask<'a> {
    /// All collections, with the last round of each board.
    pub fn site(&self) -> Result<Site, Error> {
        let (node, now) = (self.node, self.now);
        let parties = node.parties();
        let others = parties.values().flat_map(|party| party.others());
        let heard = others
            .filter_map(|(_, party)| Some((party.url.clone(), node.watch.party(&party.url)?)));
        let places = parties.values().map(|party| Place::of(node, party, now));
        Ok(Site { now, heard: heard.collect(), places: places.collect::<Result<_, _>>()? })
    }

    /// The state of this server itself. The disk is tried, unless it was tried a moment ago.
    pub fn machine(&self) -> Machine {
        let metrics = &self.node.metrics;
        Machine {
            writable: self.node.writable_now(),
            conflicts: metrics.count_of(ALARMS, CONFLICT),
            failures: Task::ALL.map(|task| (task, metrics.count_of(FAILURES, task.name()))),
            refused: metrics.counts(BATCHES_REFUSED),
        }
    }

    /// The collection in the path of a page that is about one.
    pub fn party(&self) -> Result<&'a Party, Error> {
        Ok(self.party.ok_or(throng_mix::Error::UnknownCollection)?)
    }
}

/// The data that a server has to show.
pub(crate) struct Site {
    /// The present time in seconds since 1970.
    pub now: u64,
    /// The collections here, by their ids.
    pub places: Vec<Place>,
    /// The health of the other parties, by their addresses.
    pub heard: BTreeMap<String, Health>,
}

/// One collection at this server.
pub(crate) struct Place {
    /// The present time in seconds since 1970.
    pub now: u64,
    /// The description of it that all parties share.
    pub route: Arc<Route>,
    /// This server's hop.
    pub hop: u8,
    /// Its results so far.
    pub outcome: Outcome,
    /// Its batches.
    pub slots: Vec<Slot>,
    /// The keys of each window that has some, oldest first.
    pub keys: Vec<Keys>,
    /// The keys that are needed now, if any are.
    pub needed: Option<Keys>,
    /// The windows whose keys are destroyed.
    pub destroyed: Destroyed,
    /// The reason why the clock is not believed, if it is not.
    pub doubt: Option<String>,
    /// The time when everything that was due was done.
    pub stepped: u64,
    /// The progress of the running epoch, as counted here or as the first mix last told it.
    pub progress: Option<Progress>,
}

impl Place {
    fn of(node: &Node, party: &Party, now: u64) -> Result<Self, Error> {
        let keyring = &party.course.keyring;
        let (outcome, progress) = match (party.mix(), party.analyzer()) {
            (Ok(mix), _) => (Outcome::HandedOver, mix.progress(now)),
            (_, Ok(_)) => {
                let survey = Survey::of(node, party, now)?;
                (Outcome::Released(survey), node.watch.progress(&party.id()))
            }
            _ => (Outcome::Posted(Rounds::of(party, now, 1)?), None),
        };
        Ok(Self {
            now,
            route: Arc::clone(party.route()),
            hop: party.course.hop,
            outcome,
            slots: party.course.slots(),
            keys: keyring.windows().into_iter().map(|window| Keys::of(party, window)).collect(),
            needed: party.window(now).map(|window| Keys::of(party, window)),
            destroyed: keyring.destroyed(),
            doubt: party.time.doubt().map(|doubt| doubt.to_string()),
            stepped: party.stepped(),
            progress,
        })
    }

    /// The epoch that takes reports.
    pub fn running(&self) -> Option<u64> {
        self.route.epoch_at(self.now)
    }

    /// The fates of all epochs that have begun, oldest first.
    pub fn fates(&self) -> Vec<Fates> {
        Fates::of(&self.route, &self.slots, &self.destroyed, self.now)
    }

    /// The last epochs that take no more reports, and their fate.
    pub fn decided(&self) -> Option<Fates> {
        self.fates().into_iter().rev().find(|fates| fates.fate != Fate::Open)
    }

    /// True if this server is its analyzer.
    pub fn is_last(&self) -> bool {
        self.hop == self.route.chain.hops()
    }

    /// The other parties, with their hops.
    pub fn others(&self) -> impl Iterator<Item = (u8, &throng_wire::Party)> {
        self.route.chain.parties().filter(|(hop, _)| *hop != self.hop)
    }

    /// The number of reports of a batch, where it may be told.
    pub fn reports(&self, slot: &Slot) -> Option<u64> {
        reports(slot, &self.route, self.hop)
    }
}

/// The results of a collection at this server.
pub(crate) enum Outcome {
    /// A mix hands batches over, and has no results.
    HandedOver,
    /// Answers to a question are released.
    Released(Survey),
    /// Messages on a board are shown.
    Posted(Rounds),
}

/// A question and its releases.
pub(crate) struct Survey {
    pub collection: Arc<Collection>,
    /// The releases, oldest first.
    pub releases: Vec<Arc<Release>>,
    /// The entries of the ledger, oldest first.
    pub ledger: Vec<Entry>,
    /// The fates of all epochs that have begun, oldest first.
    pub fates: Vec<Fates>,
    /// The true values behind releases, which only a demonstration knows.
    pub truth: Truth,
}

/// The true values behind releases, by their last epochs.
pub(crate) type Truth = BTreeMap<u64, Vec<(Subject, f64)>>;

impl Survey {
    /// Reads a question at its analyzer; elsewhere this is an error.
    pub fn of(node: &Node, party: &Party, now: u64) -> Result<Self, Error> {
        let analyzer = party.analyzer()?;
        Ok(Self {
            fates: party.fates(now),
            truth: node.truth_of(&party.id()),
            collection: Arc::clone(analyzer.collection()),
            releases: analyzer.published()?,
            ledger: analyzer.ledger(),
        })
    }
}

/// A board and its rounds.
pub(crate) struct Rounds {
    /// The present time in seconds since 1970.
    pub now: u64,
    pub route: Arc<Route>,
    /// The last rounds that are over, newest first.
    pub over: Vec<Round>,
    /// The newest round with a notice.
    pub newest: Option<u64>,
}

/// A round that is over.
pub(crate) struct Round {
    pub number: u64,
    /// The notice, and the number of signatures that are missing.
    pub notice: Option<(Notice, usize)>,
    /// The reason why nothing was shown, if that is decided.
    pub dropped: Option<Why>,
}

impl Rounds {
    /// Reads a board at its analyzer; elsewhere this is an error.
    pub fn of(party: &Party, now: u64, most: usize) -> Result<Self, Error> {
        let (board, route) = (party.noticeboard()?, party.route());
        let notices = board.notices()?.into_iter();
        let notices: BTreeMap<u64, (Notice, usize)> =
            notices.map(|(notice, missing)| (notice.round, (notice, missing))).collect();
        let end = route.schedule.epoch_at(now).map_or(0, |epoch| (epoch + 1).min(route.epochs));
        let over = (0..end).rev().filter(|round| now >= route.schedule.deadline(*round));
        let round = |number: u64| {
            let notice = notices.get(&number).copied();
            let nothing = if notice.is_none() { board.bulletin(number).err() } else { None };
            let dropped = nothing.and_then(|error| match error {
                Error::Dropped(why) => Some(why),
                _ => None,
            });
            Round { number, notice, dropped }
        };
        Ok(Self {
            now,
            route: Arc::clone(route),
            over: over.take(most).map(round).collect(),
            newest: notices.keys().next_back().copied(),
        })
    }
}

/// The keys of a window of epochs.
pub(crate) struct Keys {
    pub window: u64,
    /// True if everyone signed them.
    pub signed: bool,
    /// The hops whose key is missing.
    pub unknown: Vec<u8>,
    /// The hops whose signature is missing.
    pub unsigned: Vec<u8>,
}

impl Keys {
    fn of(party: &Party, window: u64) -> Self {
        let keyring = &party.course.keyring;
        let (unknown, unsigned) = keyring.missing(window);
        Self { window, signed: keyring.directory(window).is_ok(), unknown, unsigned }
    }
}

/// The state of this server itself.
pub(crate) struct Machine {
    /// True if the disk takes what is written.
    pub writable: bool,
    /// The number of times that two batches came for the same epochs, or two notices of one round.
    pub conflicts: u64,
    /// The numbers of attempts that failed and are repeated, by task.
    pub failures: [(Task, u64); 4],
    /// The numbers of batches that were not taken, by reason.
    pub refused: Vec<(&'static str, u64)>,
}
