//! Failures that repeat themselves: they are logged once, and tried again less and less often.

use super::Task;
use super::peers::Failure;
use crate::Error;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use throng_wire::{CollectionId, Route};
use tokio::time::Instant;

/// The state of something that is tried again and again.
pub struct Trouble {
    /// The task that tries.
    pub task: Task,
    collection: CollectionId,
    /// The reason of the last failure, if it has not worked since.
    reason: Option<String>,
    delay: Duration,
    /// The longest delay.
    longest: Duration,
    again: Instant,
}

impl Trouble {
    /// A state in which nothing is wrong yet.
    pub fn new(task: Task, route: &Route) -> Self {
        let epoch = Duration::from_secs(route.schedule.every);
        // No epoch is over before it is tried again.
        let longest = (epoch / 16).clamp(FIRST, LAST);
        let (collection, again) = (route.id, Instant::now());
        Self { task, collection, reason: None, delay: FIRST, longest, again }
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
        self.delay = (self.delay * 2).min(self.longest);
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
    route: Arc<Route>,
    each: BTreeMap<u64, Trouble>,
}

impl Troubles {
    /// Things of which nothing is wrong yet.
    pub fn new(task: Task, route: Arc<Route>) -> Self {
        Self { task, route, each: BTreeMap::new() }
    }

    /// Forgets all things but these.
    pub fn keep(&mut self, numbers: &[u64]) {
        self.each.retain(|number, _| numbers.contains(number));
    }

    /// The state of a thing, if it is time to try it.
    pub fn due(&mut self, number: u64) -> Option<&mut Trouble> {
        let new = || Trouble::new(self.task, &self.route);
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

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::{Schedule, example};

    /// The waits after one failure after another.
    fn waits(every: u64) -> Vec<Duration> {
        let route =
            Route { schedule: Schedule { every, ..example::schedule() }, ..example::route() };
        let mut trouble = Trouble::new(Task::Keys, &route);
        let mut waits = Vec::new();
        for _ in 0..20 {
            waits.push(trouble.delay);
            trouble.wait();
        }
        waits
    }

    /// With epochs of some seconds, parties once waited so long after trouble that whole epochs had
    /// no keys.
    #[test]
    fn no_wait_is_longer_than_a_sixteenth_of_an_epoch() {
        for (every, longest) in [(1, 100), (6, 375), (60, 3_750), (240, 15_000), (86_400, 15_000)] {
            let waits = waits(every);
            assert!(waits.is_sorted());
            assert_eq!(waits[0], FIRST);
            assert_eq!(*waits.last().unwrap(), Duration::from_millis(longest), "every {every} s");
        }
    }
}
