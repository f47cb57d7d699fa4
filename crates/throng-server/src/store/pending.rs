//! The answer to records that are on their way to disk.
//!
//! All records that one write makes durable share one [`Group`]: the writer answers once, and
//! everybody who waits, blocked or polling, is woken.

use super::StoreError;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Resolves when the records are durable, or failed to be. Await it, or [`Pending::wait`].
///
/// Dropping it does not take the records back.
///
/// ```
/// use throng_server::{LogKey, LogName, MemoryStore, Store};
/// # use throng_wire::{CollectionId, LayerSecret};
/// # let secret = LayerSecret::from_bytes(&[1; 32]);
/// # let log = LogName { collection: CollectionId::new([0xab; 32]), epoch: 7 };
///
/// let (store, key) = (MemoryStore::new(), LogKey::derive(&secret, 7));
/// // Both may share one write to disk.
/// let first = store.submit(&log, &key, b"aa", 2);
/// let second = store.submit(&log, &key, b"bb", 2);
/// first.wait()?;
/// second.wait()?;
/// # Ok::<(), throng_server::StoreError>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is durable before the answer"]
pub struct Pending(Kind);

impl Pending {
    /// Blocks until the answer is there.
    pub fn wait(self) -> Result<(), StoreError> {
        match self.0 {
            Kind::Answered(answer) => answer,
            Kind::Waiting { group, .. } => group.wait(),
        }
    }

    pub(crate) fn of(group: &Arc<Group>) -> Self {
        Self(Kind::Waiting { group: Arc::clone(group), place: None })
    }
}

impl From<Result<(), StoreError>> for Pending {
    fn from(answer: Result<(), StoreError>) -> Self {
        Self(Kind::Answered(answer))
    }
}

impl Future for Pending {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Kind::Answered(answer) => Poll::Ready(*answer),
            Kind::Waiting { group, place } => group.poll(place, context),
        }
    }
}

/// Everybody who waits for one write.
#[derive(Debug, Default)]
pub(crate) struct Group {
    state: Mutex<State>,
    answered: Condvar,
}

impl Group {
    /// Tells everybody.
    pub fn answer(&self, answer: Result<(), StoreError>) {
        let mut state = self.lock();
        state.answer = Some(answer);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.answered.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn wait(&self) -> Result<(), StoreError> {
        let mut state = self.lock();
        loop {
            match state.answer {
                Some(answer) => return answer,
                None => {
                    state = self.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn poll(
        &self,
        place: &mut Option<usize>,
        context: &Context<'_>,
    ) -> Poll<Result<(), StoreError>> {
        let mut state = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
enum Kind {
    Answered(Result<(), StoreError>),
    Waiting { group: Arc<Group>, place: Option<usize> },
}

#[derive(Debug, Default)]
struct State {
    answer: Option<Result<(), StoreError>>,
    wakers: Vec<Waker>,
}
