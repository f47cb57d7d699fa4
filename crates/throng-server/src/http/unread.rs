//! Answers that are not read yet, and when they have to be.
//!
//! With HTTP/1 an answer that nobody reads fills up its connection, which [`super::reader`] notices.
//! With HTTP/2 it waits for its stream to be given room, and nothing is written at all. So each has a
//! time by which it has to be gone, at the least rate, and the connection of one that is not is
//! ended.

use super::body::RATE;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throng_mix::lock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The answers of all connections that are on their way.
pub struct Unread {
    patience: Duration,
    answers: Mutex<Answers>,
}

#[derive(Default)]
struct Answers {
    /// The number of the next one.
    next: u64,
    /// By when they have to be read, each with what ends its connection.
    due: BTreeMap<Due, CancellationToken>,
}

/// A time, and the number of an answer.
type Due = (Instant, u64);

impl Unread {
    /// No answers yet, each of which may take so long and as long as its bytes earn.
    pub fn new(patience: Duration) -> Self {
        Self { patience, answers: Mutex::default() }
    }

    /// Sends an answer of so many bytes on its way.
    pub fn enter(
        self: &Arc<Self>,
        now: Instant,
        bytes: u64,
        connection: CancellationToken,
    ) -> OnItsWay {
        let time = now + self.patience + earned(bytes);
        let mut answers = lock(&self.answers);
        let due = (time, answers.next);
        answers.next += 1;
        answers.due.insert(due, connection);
        OnItsWay { unread: Arc::clone(self), due }
    }

    /// Ends the connections of all answers that had to be read by now.
    pub fn end(&self, now: Instant) {
        let mut answers = lock(&self.answers);
        let left = answers.due.split_off(&(now, 0));
        for connection in std::mem::replace(&mut answers.due, left).into_values() {
            connection.cancel();
        }
    }

    /// The time between two looks at what is due.
    pub fn pause(&self) -> Duration {
        self.patience / 3
    }
}

/// An answer that is on its way, until it is dropped.
pub struct OnItsWay {
    unread: Arc<Unread>,
    due: Due,
}

impl OnItsWay {
    /// Gives it the time that so many further bytes earn.
    pub fn earn(&mut self, bytes: u64) {
        let later = (self.due.0 + earned(bytes), self.due.1);
        let mut answers = lock(&self.unread.answers);
        // It may be too late already.
        if let Some(connection) = answers.due.remove(&self.due) {
            answers.due.insert(later, connection);
        }
        self.due = later;
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        lock(&self.unread.answers).due.remove(&self.due);
    }
}

/// The time that bytes may take at the least rate.
fn earned(bytes: u64) -> Duration {
    Duration::from_secs(bytes.div_ceil(RATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn ended(connections: &[CancellationToken]) -> Vec<bool> {
        connections.iter().map(CancellationToken::is_cancelled).collect()
    }

    #[test]
    fn an_answer_has_the_patience_and_the_time_that_its_bytes_earn() {
        let (unread, now) = (Arc::new(Unread::new(PATIENCE)), Instant::now());
        let connections = [(); 3].map(|()| CancellationToken::new());
        let sizes = [0, 10 * RATE, 0];
        let mut on_their_way: Vec<OnItsWay> = sizes
            .iter()
            .zip(&connections)
            .map(|(bytes, connection)| unread.enter(now, *bytes, connection.clone()))
            .collect();
        // The last one is a stream, of which more is taken.
        on_their_way[2].earn(3 * RATE);
        for (after, expected) in [
            (30, [false, false, false]),
            (31, [true, false, false]),
            (33, [true, false, false]),
            (34, [true, false, true]),
            (40, [true, false, true]),
            (41, [true, true, true]),
        ] {
            unread.end(now + Duration::from_secs(after));
            assert_eq!(ended(&connections), expected, "after {after} seconds");
        }
        // Whoever is too late earns nothing.
        on_their_way[0].earn(RATE);
        assert!(lock(&unread.answers).due.is_empty());
    }

    #[test]
    fn an_answer_that_is_gone_ends_nothing_and_nothing_is_kept_of_it() {
        let (unread, now) = (Arc::new(Unread::new(PATIENCE)), Instant::now());
        let connection = CancellationToken::new();
        drop(unread.enter(now, 1, connection.clone()));
        assert!(lock(&unread.answers).due.is_empty());
        unread.end(now + 10 * PATIENCE);
        assert!(!connection.is_cancelled());
    }
}
