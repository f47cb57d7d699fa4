//! Failures that repeat themselves: they are logged once, and tried again less and less often.

use super::Task;
use super::peers::Failure;
use crate::Error;
use std::collections::BTreeMap;
use std::time::Duration;
use throng_wire::CollectionId;
use tokio::time::Instant;

/// The state of something that is tried again and again.
pub struct Trouble {
    /// The task that tries.
    pub task: Task,
    collection: CollectionId,
    /// The reason of the last failure, if it has not worked since.
    reason: Option<String>,
    delay: Duration,
    again: Instant,
}

impl Trouble {
    /// A state in which nothing is wrong yet.
    pub fn new(task: Task, collection: CollectionId) -> Self {
        Self { task, collection, reason: None, delay: FIRST, again: Instant::now() }
    }

    /// True if it is time to try.
    pub fn due(&self) -> bool {
        Instant::now() >= self.again
    }

    /// Notes a failure. The reason holds no address and nothing that was sent.
    pub fn met(&mut self, reason: &str) {
        if self.reason.as_deref() != Some(reason) {
            let (task, collection) = (self.task.name(), self.collection);
            tracing::warn!(%collection, task, reason, "failed; trying again");
            self.reason = Some(reason.to_owned());
        }
        self.wait();
    }

    /// Notes that it is not there yet, which is not worth a line in the log.
    pub fn wait(&mut self) {
        self.again = Instant::now() + self.delay;
        self.delay = (self.delay * 2).min(LAST);
    }

    /// Notes a success.
    pub fn over(&mut self) {
        if self.reason.take().is_some() {
            tracing::info!(collection = %self.collection, task = self.task.name(), "works again");
        }
        self.delay = FIRST;
        self.again = Instant::now();
    }
}

/// The states of several things that are tried again, each by itself and under its number.
pub struct Troubles {
    task: Task,
    collection: CollectionId,
    each: BTreeMap<u64, Trouble>,
}

impl Troubles {
    /// Things of which nothing is wrong yet.
    pub fn new(task: Task, collection: CollectionId) -> Self {
        Self { task, collection, each: BTreeMap::new() }
    }

    /// Forgets all things but these.
    pub fn keep(&mut self, numbers: &[u64]) {
        self.each.retain(|number, _| numbers.contains(number));
    }

    /// The state of a thing, if it is time to try it.
    pub fn due(&mut self, number: u64) -> Option<&mut Trouble> {
        let new = || Trouble::new(self.task, self.collection);
        Some(self.each.entry(number).or_insert_with(new)).filter(|trouble| trouble.due())
    }
}

/// The reason why an attempt failed, with the other party or here.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    #[error(transparent)]
    Peer(#[from] Failure),
    #[error(transparent)]
    Here(Error),
}

impl<E: Into<Error>> From<E> for Obstacle {
    fn from(error: E) -> Self {
        Self::Here(error.into())
    }
}

const FIRST: Duration = Duration::from_millis(100);
const LAST: Duration = Duration::from_secs(15);
