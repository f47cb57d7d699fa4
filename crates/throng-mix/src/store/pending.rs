//! The answer to records that are on their way to disk.
//!
//! All records that one write makes durable share one [`Answer`]: the writer gives it once, and
//! everybody who waits, blocked or polling, is woken.

use super::StoreError;
use crate::lock;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// A future that resolves when the records are durable, or failed to be. Await it, or
/// [`Pending::wait`].
///
/// Dropping it does not take the records back.
#[derive(Debug)]
#[must_use = "nothing is durable before the answer"]
pub struct Pending {
    group: Arc<Group>,
    /// The place of its waker among those of the group, once it was polled.
    place: Option<usize>,
}

impl Pending {
    /// Blocks until the answer is there.
    pub fn wait(self) -> Result<(), StoreError> {
        let mut state = lock(&self.group.state);
        loop {
            if let Some(answer) = state.answer {
                return answer;
            }
            state = self.group.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl From<Result<(), StoreError>> for Pending {
    fn from(result: Result<(), StoreError>) -> Self {
        let answer = Answer::default();
        let pending = answer.pending();
        answer.give(result);
        pending
    }
}

impl Future for Pending {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { group, place } = &mut *self;
        let mut state = lock(&group.state);
        if let Some(answer) = state.answer {
            return Poll::Ready(answer);
        }
        if let Some(waker) = place.and_then(|place| state.wakers.get_mut(place)) {
            waker.clone_from(context.waker());
        } else {
            *place = Some(state.wakers.len());
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

/// The answer of a writer, which several callers wait for. If it is dropped without one, they are
/// told that the write was interrupted, so that nobody waits for ever.
///
/// ```
/// use throng_mix::store::{Answer, StoreError};
///
/// let answer = Answer::default();
/// let (first, second) = (answer.pending(), answer.pending());
/// std::thread::spawn(move || answer.give(Ok(())));
/// assert_eq!((first.wait(), second.wait()), (Ok(()), Ok(())));
///
/// let forgotten = Answer::default().pending();
/// assert!(matches!(forgotten.wait(), Err(StoreError::Io { .. })));
/// ```
#[derive(Debug, Default)]
pub struct Answer(Arc<Group>);

impl Answer {
    /// Adds a caller who waits.
    pub fn pending(&self) -> Pending {
        Pending { group: Arc::clone(&self.0), place: None }
    }

    /// Tells everybody who waits.
    pub fn give(self, answer: Result<(), StoreError>) {
        self.tell(answer);
    }

    /// Sets the answer, unless there is one already.
    fn tell(&self, answer: Result<(), StoreError>) {
        let mut state = lock(&self.0.state);
        if state.answer.is_some() {
            return;
        }
        state.answer = Some(answer);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.0.answered.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let (kind, doing) = (std::io::ErrorKind::Interrupted, "writing records");
        self.tell(Err(StoreError::Io { kind, doing }));
    }
}

/// The callers who wait for one write.
#[derive(Debug, Default)]
struct Group {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    answer: Option<Result<(), StoreError>>,
    wakers: Vec<Waker>,
}
