//! The tasks that a server does by itself, collection by collection.
//!
//! ```text
//! work        makes the keys of the next window; takes every step that is due
//! keys        asks one other party for its key and its signature, one task for each of them
//! hand over   sends every sealed batch to the next party until that signs for it
//! notices     asks one mix to sign what a board showed, one task for each of them
//! watch       asks all other parties whether they are there, to be shown
//! ```
//!
//! Tasks share nothing but the collection: one that fails says so, waits, and tries again, and the
//! others go on.

mod hand_over;
mod keys;
mod notices;
mod peers;
mod trouble;
mod watch;

pub(crate) use peers::Peers;
pub use peers::in_the_open;
pub(crate) use watch::{Health, Watch};

use crate::Error;
use crate::metrics::FAILURES;
use crate::party::Party;
use crate::server::{Node, seeded};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use throng_mix::Step;
use tokio::select;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use trouble::Trouble;

/// All tasks of a server. They end soon after `stopping`; a step under way is finished first.
pub(crate) struct Work {
    peers: Peers,
    stopping: CancellationToken,
    tasks: JoinSet<()>,
}

impl Work {
    /// Starts the tasks of all collections.
    pub fn begin(node: &Arc<Node>, peers: Peers, stopping: CancellationToken) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(until(stopping.clone(), watch::watch(Arc::clone(node), peers.clone())));
        let mut work = Self { peers, stopping, tasks };
        node.parties().values().for_each(|party| work.take_up(node, party));
        work
    }

    /// Starts the tasks of one collection. They end by themselves once it is let go.
    pub fn take_up(&mut self, node: &Arc<Node>, party: &Arc<Party>) {
        let Self { peers, stopping, tasks } = self;
        // Those of collections that were let go are over.
        while tasks.try_join_next().is_some() {}
        let stopping = stopping.child_token();
        let worker = Worker { node: Arc::clone(node), party: Arc::clone(party) };
        tasks.spawn(worker.clone().work(stopping.clone()));
        for (hop, other) in party.others() {
            let collection = party.id();
            if in_the_open(&other.url) {
                tracing::warn!(%collection, hop, "the party has no https; who listens sees when");
            }
            let base = format!("{}/v1/collections/{collection}", other.url);
            let other = Neighbour { peers: peers.clone(), hop, base };
            tasks.spawn(until(stopping.clone(), worker.clone().keys(other.clone())));
            if party.noticeboard().is_ok() {
                tasks.spawn(until(stopping.clone(), worker.clone().notices(other)));
            }
        }
        if party.mix().is_ok() {
            tasks.spawn(until(stopping, worker.hand_over(peers.clone())));
        }
    }

    /// Waits until all of them have ended.
    pub async fn over(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Another party of a collection, and the address at which it answers for it.
#[derive(Clone)]
struct Neighbour {
    peers: Peers,
    hop: u8,
    base: String,
}

/// A task that is tried again when it fails.
#[derive(Clone, Copy)]
pub(crate) enum Task {
    HandOver,
    Keys,
    Notices,
    Work,
}

impl Task {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 4] = [Self::HandOver, Self::Keys, Self::Notices, Self::Work];

    /// Its name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::HandOver => "hand over",
            Self::Keys => "keys",
            Self::Notices => "notices",
            Self::Work => "work",
        }
    }
}

/// The doer of the tasks for one collection of one server.
#[derive(Clone)]
struct Worker {
    node: Arc<Node>,
    party: Arc<Party>,
}

impl Worker {
    async fn work(self, stopping: CancellationToken) {
        let mut trouble = Trouble::new(Task::Work, self.party.route());
        while !stopping.is_cancelled() {
            if trouble.due() {
                self.note(&mut trouble, self.steps(&stopping).await);
            }
            if self.node.roster.let_go(&self.party) {
                stopping.cancel();
                let id = self.party.id();
                return self.node.write_down(move |node| node.let_go(id)).await;
            }
            stopping.run_until_cancelled(pause(&self.party.work)).await;
        }
    }

    /// Does everything that is due.
    async fn steps(&self, stopping: &CancellationToken) -> Result<(), Error> {
        loop {
            let party = Arc::clone(&self.party);
            let step = self.node.blocking(move |_| step(&party)).await?;
            let Some(step) = step else {
                self.party.rested(self.node.now());
                return Ok(());
            };
            self.tell(&step);
            self.party.leave.notify_one();
            if stopping.is_cancelled() {
                return Ok(());
            }
        }
    }

    /// Notes how an attempt went.
    fn note(&self, trouble: &mut Trouble, went: Result<(), impl fmt::Display>) {
        match went {
            Ok(()) => trouble.over(),
            Err(reason) => {
                self.node.metrics.count(FAILURES, trouble.task.name());
                trouble.met(&reason.to_string());
            }
        }
    }

    /// Tells the operator what became of a slot.
    fn tell(&self, step: &Step) {
        let collection = self.party.id();
        let (Step::Close { first, .. } | Step::Process { first } | Step::GiveUp { first }) = step
        else {
            tracing::debug!(%collection, ?step, "done");
            return;
        };
        if let Ok(slot) = self.party.course.slot(*first) {
            let (first, last, stage) = (slot.first, slot.last, slot.stage.name());
            tracing::info!(%collection, first, last, stage, "epochs moved on");
        }
    }
}

fn step(party: &Party) -> Result<Option<Step>, Error> {
    let mut rng = seeded()?;
    // What a doubted clock says is not due; what was due before is still done.
    let due = party.time.due();
    party.time.tell();
    // Steps make room, so they are taken even if the disk has none for a new key.
    let published = party.course.keyring.publish(due, &mut rng);
    let step = party.step(due, &mut rng)?;
    published?;
    party.time.keep()?;
    Ok(step)
}

/// Waits until the next round: for a tick, or less when somebody calls.
async fn pause(call: &Notify) {
    select! {
        () = call.notified() => {}
        () = sleep(TICK) => {}
    }
}

async fn until(stopping: CancellationToken, task: impl Future<Output = ()>) {
    stopping.run_until_cancelled(task).await;
}

const TICK: Duration = Duration::from_millis(200);
