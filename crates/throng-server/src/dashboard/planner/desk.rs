//! A desk where mechanisms are calibrated: two at a time for the whole server, each ask once, with
//! bounds on everything that waits.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use throng_mechanism::{Ask, Error, Key, Offer};
use throng_mix::lock;

/// The offers of a mechanism, or the reason why it has none.
pub type Offers = Result<Vec<Offer>, Error>;

/// The answers that are known, and the work that is under way.
#[derive(Default)]
pub struct Desk(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Signals that an answer was found.
    news: Condvar,
}

#[derive(Default)]
struct State {
    known: BTreeMap<Id, Offers>,
    /// The names of the known answers, oldest first.
    order: VecDeque<Id>,
    lanes: [Lane; 2],
    /// The number of requests that wait for an answer.
    waiting: usize,
}

/// One thread's work. Slow mechanisms have a lane of their own, so that they do not hold up the
/// rest.
#[derive(Default)]
struct Lane {
    /// The jobs, the latest ask first: whoever asked before has moved on, or asks again.
    queue: VecDeque<Job>,
    /// True if there is a thread.
    busy: bool,
    /// The job that is under way.
    at: Option<Id>,
}

#[derive(Clone)]
struct Job {
    id: Id,
    ask: Ask,
    key: Key,
}

/// The name of an ask and a key, as text because fractional numbers have no total order.
type Id = String;

impl Desk {
    /// The answers that are known for every mechanism that fits the question, after waiting for at
    /// most `patience`.
    pub fn look(&self, ask: &Ask, patience: Duration) -> Vec<(Key, Option<Offers>)> {
        let until = Instant::now() + patience;
        let jobs: Vec<Job> = ask.question.keys().iter().map(|key| Job::new(ask, *key)).collect();
        let mut state = self.0.lock();
        let missing = |state: &State| jobs.iter().any(|job| !state.known.contains_key(&job.id));
        if missing(&state) {
            state.queue(&jobs);
            (0..state.lanes.len()).for_each(|lane| self.run(&mut state, lane));
        }
        if state.waiting < WAITING {
            state.waiting += 1;
            while missing(&state)
                && let Some(left) = until.checked_duration_since(Instant::now())
            {
                let woken = self.0.news.wait_timeout(state, left);
                (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
            }
            state.waiting -= 1;
        }
        jobs.into_iter().map(|job| (job.key, state.known.get(&job.id).cloned())).collect()
    }

    /// Starts the thread of a lane, unless there is one or nothing to do.
    fn run(&self, state: &mut State, lane: usize) {
        if state.lanes[lane].busy || state.lanes[lane].queue.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.0);
        let thread = thread::Builder::new().name("planner".into());
        // Without a thread the queue stays, and the next one who asks tries again.
        if thread.spawn(move || shared.work(lane)).is_ok() {
            state.lanes[lane].busy = true;
        }
    }
}

impl Shared {
    /// Works through a lane until it is empty.
    fn work(&self, lane: usize) {
        loop {
            let mut state = self.lock();
            let Some(Job { id, ask, key }) = state.lanes[lane].queue.pop_front() else {
                (state.lanes[lane].busy, state.lanes[lane].at) = (false, None);
                return;
            };
            state.lanes[lane].at = Some(id.clone());
            drop(state);
            let found = catch_unwind(AssertUnwindSafe(|| ask.offers(key)));
            let found = found.unwrap_or(Err(Error::NotAsked { why: "it could not be calibrated" }));
            self.lock().keep(id, found);
            self.news.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    /// Puts the jobs that are not known in front of the queues. Those that fall off the ends are
    /// asked for again if somebody still wants them.
    fn queue(&mut self, jobs: &[Job]) {
        for job in jobs.iter().rev().filter(|job| !self.known.contains_key(&job.id)) {
            let lane = &mut self.lanes[usize::from(job.key.row().slow)];
            if lane.at.as_ref() == Some(&job.id) {
                continue;
            }
            lane.queue.retain(|other| other.id != job.id);
            lane.queue.push_front(job.clone());
            lane.queue.truncate(QUEUE);
        }
    }

    fn keep(&mut self, id: Id, found: Offers) {
        if self.known.insert(id.clone(), found).is_none() {
            self.order.push_back(id);
        }
        while self.order.len() > KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

impl Job {
    fn new(ask: &Ask, key: Key) -> Self {
        Self { id: format!("{key} {ask:?}"), ask: ask.clone(), key }
    }
}

/// The most jobs that wait in a lane.
const QUEUE: usize = 32;
/// The most requests that wait for an answer; others are told at once what is known.
const WAITING: usize = 32;
/// The most answers that are kept.
const KNOWN: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dashboard::planner::choice::Choice;
    use crate::dashboard::query::Query;
    use throng_mechanism::{Mechanism, Plan};

    fn ask(query: &str) -> Ask {
        Choice::parse(&Query::parse(query)).ask().unwrap()
    }

    #[test]
    fn what_is_found_is_what_the_planner_finds_and_is_kept() {
        let desk = Desk::default();
        let ask = ask("value=real&n=10000&max_messages=4");
        let bytes = |mechanism: &Mechanism| mechanism.messages() as u64;
        let all = |found: Vec<(Key, Option<Offers>)>| -> Option<Vec<(Key, Offers)>> {
            found.into_iter().map(|(key, found)| Some((key, found?))).collect()
        };
        let found = all(desk.look(&ask, Duration::from_mins(10))).unwrap();
        assert_eq!(Plan::of(&ask, found.clone(), bytes), Plan::new(&ask, bytes));
        assert_eq!(all(desk.look(&ask, Duration::ZERO)), Some(found));
    }

    #[test]
    fn nothing_grows_without_bounds_and_the_newest_comes_first() {
        let mut state = State::default();
        for n in 0..500 {
            let ask = ask(&format!("n={}", 1_000 + n));
            let jobs: Vec<Job> =
                ask.question.keys().iter().map(|key| Job::new(&ask, *key)).collect();
            state.queue(&jobs);
            state.queue(&jobs);
            assert!(state.lanes.iter().all(|lane| lane.queue.len() <= QUEUE));
            assert!(state.lanes.iter().all(|lane| lane.queue[0].ask == ask));
            for job in jobs {
                state.keep(job.id, Err(Error::NotAsked { why: "" }));
            }
        }
        assert_eq!((state.known.len(), state.order.len()), (KNOWN, KNOWN));
    }
}
