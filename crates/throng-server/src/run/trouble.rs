//! Failures that repeat themselves: they are logged once, and tried again less and less often.

use std::time::Duration;
use throng_wire::CollectionId;
use tokio::time::Instant;

/// The state of something that is tried again and again.
pub struct Trouble {
    task: &'static str,
    collection: CollectionId,
    /// The reason of the last failure, if it has not worked since.
    reason: Option<String>,
    delay: Duration,
    again: Instant,
}

impl Trouble {
    /// A state in which nothing is wrong yet.
    pub fn new(task: &'static str, collection: CollectionId) -> Self {
        Self { task, collection, reason: None, delay: FIRST, again: Instant::now() }
    }

    /// True if it is time to try.
    pub fn due(&self) -> bool {
        Instant::now() >= self.again
    }

    /// Notes a failure. The reason holds no address and nothing that was sent.
    pub fn met(&mut self, reason: &str) {
        if self.reason.as_deref() != Some(reason) {
            let (task, collection) = (self.task, self.collection);
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
            tracing::info!(collection = %self.collection, task = self.task, "works again");
        }
        self.delay = FIRST;
        self.again = Instant::now();
    }
}

const FIRST: Duration = Duration::from_millis(100);
const LAST: Duration = Duration::from_secs(15);
