//! The connections on which answers are on their way, and when the next part of them has to be read.
//!
//! With HTTP/1 an answer that nobody reads fills up its connection, which [`super::reader`] notices.
//! With HTTP/2 it waits for its stream to be given room, and nothing is written at all. So a
//! connection with answers has some time, which what is taken of them earns back at the least rate.
//! The one that has none left is ended.

use super::body::RATE;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throng_mix::lock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// All connections with answers on their way.
pub struct Unread {
    patience: Duration,
    next: AtomicU64,
    connections: Mutex<HashMap<u64, Waiting>>,
}

/// A connection with answers on their way.
struct Waiting {
    answers: usize,
    /// The time by which more of them has to be taken.
    due: Instant,
    /// Ends the connection.
    ended: CancellationToken,
}

/// What is known of a connection: its number, and what ends it.
#[derive(Clone)]
pub struct Connection {
    number: u64,
    ended: CancellationToken,
}

impl Unread {
    /// No answers yet. Whoever does not read is waited for so long.
    pub fn new(patience: Duration) -> Self {
        Self { patience, next: AtomicU64::default(), connections: Mutex::default() }
    }

    /// A connection that this ends.
    pub fn connection(&self, ended: CancellationToken) -> Connection {
        Connection { number: self.next.fetch_add(1, Ordering::Relaxed), ended }
    }

    /// Sends an answer on its way on a connection.
    pub fn send(self: &Arc<Self>, connection: &Connection, now: Instant) -> OnItsWay {
        let Connection { number, ended } = connection;
        let fresh = || Waiting { answers: 0, due: now + self.patience, ended: ended.clone() };
        lock(&self.connections).entry(*number).or_insert_with(fresh).answers += 1;
        OnItsWay { unread: Arc::clone(self), number: *number }
    }

    /// Ends the connections of which nothing was taken for too long.
    pub fn end(&self, now: Instant) {
        let connections = lock(&self.connections);
        connections.values().filter(|one| one.due < now).for_each(|one| one.ended.cancel());
    }

    /// The time between two looks at what is due.
    pub fn pause(&self) -> Duration {
        self.patience / 3
    }
}

/// An answer that is on its way, until it is dropped.
pub struct OnItsWay {
    unread: Arc<Unread>,
    number: u64,
}

impl OnItsWay {
    /// Notes that so many bytes of it were taken.
    pub fn taken(&self, bytes: usize, now: Instant) {
        if let Some(one) = lock(&self.unread.connections).get_mut(&self.number) {
            let earned = Duration::from_secs((bytes as u64).div_ceil(RATE));
            one.due = (one.due + earned).min(now + self.unread.patience + earned);
        }
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        let mut connections = lock(&self.unread.connections);
        if let Some(one) = connections.get_mut(&self.number) {
            one.answers -= 1;
            if one.answers == 0 {
                connections.remove(&self.number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// The second, after some begin, in which a connection is ended.
    fn ended_at(unread: &Unread, begin: Instant, ended: &CancellationToken) -> u64 {
        let look = |second: &u64| {
            unread.end(begin + Duration::from_secs(*second));
            ended.is_cancelled()
        };
        (0..10_000).find(look).unwrap()
    }

    #[test]
    fn who_reads_nothing_is_waited_for_as_long_as_the_patience() {
        let (unread, begin) = (Arc::new(Unread::new(PATIENCE)), Instant::now());
        let [slow, other] = [(); 2].map(|()| CancellationToken::new());
        let connection = unread.connection(slow.clone());
        let _first = unread.send(&connection, begin);
        // Another answer, or another connection, is no reason to wait longer.
        let _second = unread.send(&connection, begin + PATIENCE / 2);
        let _other = unread.send(&unread.connection(other.clone()), begin + PATIENCE / 2);
        assert_eq!(ended_at(&unread, begin, &slow), 31);
        assert!(!other.is_cancelled());
        assert_eq!(ended_at(&unread, begin, &other), 46);
    }

    #[test]
    fn what_is_taken_earns_time_for_all_answers_of_a_connection() {
        let (unread, begin) = (Arc::new(Unread::new(PATIENCE)), Instant::now());
        let ended = CancellationToken::new();
        let connection = unread.connection(ended.clone());
        let (one, _two) = (unread.send(&connection, begin), unread.send(&connection, begin));
        one.taken(5 * RATE as usize, begin + PATIENCE);
        drop(one);
        assert_eq!(ended_at(&unread, begin, &ended), 36);
    }

    /// Else whoever read much at once could leave the rest alone for hours.
    #[test]
    fn no_more_is_earned_than_the_patience() {
        let (unread, begin) = (Arc::new(Unread::new(PATIENCE)), Instant::now());
        let ended = CancellationToken::new();
        let answer = unread.send(&unread.connection(ended.clone()), begin);
        (0..1_000).for_each(|_| answer.taken(RATE as usize, begin));
        assert_eq!(ended_at(&unread, begin, &ended), 32);
    }

    #[test]
    fn an_answer_that_is_gone_ends_nothing_and_nothing_is_kept_of_it() {
        let (unread, begin) = (Arc::new(Unread::new(PATIENCE)), Instant::now());
        let ended = CancellationToken::new();
        let connection = unread.connection(ended.clone());
        let answer = unread.send(&connection, begin);
        drop(answer);
        assert!(lock(&unread.connections).is_empty());
        unread.end(begin + 10 * PATIENCE);
        assert!(!ended.is_cancelled());
    }
}
