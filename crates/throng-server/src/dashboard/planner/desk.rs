//! A desk where mechanisms are calibrated: two at a time for the whole server, each ask once, with
//! bounds on everything that waits.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use throng_mechanism::{Ask, Error, Key, Offer};
use throng_mix::lock;

/// The offers of a mechanism, or the reason why it has none.
pub type Offers = Result<Vec<Offer>, Error>;

/// Every mechanism that fits a question, with its answer once that is known.
pub type Found = Vec<(Key, Option<Offers>)>;

/// The answers that are known, and the work that is under way.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    /// Signals that an answer was found.
    news: Condvar,
}

#[derive(Default)]
struct State {
    /// The known answers, newest first.
    known: VecDeque<(Job, Offers)>,
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
    at: Option<Job>,
}

#[derive(Clone, PartialEq)]
struct Job {
    ask: Ask,
    key: Key,
}

impl Desk {
    /// The answers that are known for every mechanism that fits the question, after waiting for at
    /// most `patience`.
    pub fn look(self: &Arc<Self>, ask: &Ask, patience: Duration) -> Found {
        let until = Instant::now() + patience;
        let jobs = Job::all(ask);
        let mut state = lock(&self.state);
        let missing = |state: &State| jobs.iter().any(|job| state.answer(job).is_none());
        if missing(&state) {
            state.queue(&jobs);
            (0..state.lanes.len()).for_each(|lane| self.run(&mut state, lane));
        }
        if state.waiting < WAITING {
            state.waiting += 1;
            while missing(&state)
                && let Some(left) = until.checked_duration_since(Instant::now())
            {
                let woken = self.news.wait_timeout(state, left);
                (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
            }
            state.waiting -= 1;
        }
        jobs.iter().map(|job| (job.key, state.answer(job).cloned())).collect()
    }

    /// Starts the thread of a lane, unless there is one or nothing to do.
    fn run(self: &Arc<Self>, state: &mut State, lane: usize) {
        if state.lanes[lane].busy || state.lanes[lane].queue.is_empty() {
            return;
        }
        let desk = Arc::clone(self);
        let thread = thread::Builder::new().name("planner".into());
        // Without a thread the queue stays, and the next one who asks tries again.
        if thread.spawn(move || desk.work(lane)).is_ok() {
            state.lanes[lane].busy = true;
        }
    }

    /// Works through a lane until it is empty.
    fn work(&self, lane: usize) {
        loop {
            let mut state = lock(&self.state);
            let Some(job) = state.lanes[lane].queue.pop_front() else {
                (state.lanes[lane].busy, state.lanes[lane].at) = (false, None);
                return;
            };
            state.lanes[lane].at = Some(job.clone());
            drop(state);
            let found = catch_unwind(AssertUnwindSafe(|| job.ask.offers(job.key)));
            let found = found.unwrap_or(Err(Error::NotAsked { why: "it could not be calibrated" }));
            lock(&self.state).keep(job, found);
            self.news.notify_all();
        }
    }
}

impl State {
    /// Puts the jobs that are not known in front of the queues. Those that fall off the ends are
    /// asked for again if somebody still wants them.
    fn queue(&mut self, jobs: &[Job]) {
        for job in jobs.iter().rev() {
            let known = self.answer(job).is_some();
            let lane = &mut self.lanes[usize::from(job.key.row().slow)];
            if known || lane.at.as_ref() == Some(job) {
                continue;
            }
            lane.queue.retain(|other| other != job);
            lane.queue.push_front(job.clone());
            lane.queue.truncate(QUEUE);
        }
    }

    fn keep(&mut self, job: Job, found: Offers) {
        self.known.push_front((job, found));
        self.known.truncate(KNOWN);
    }

    /// The answer to a job, if it is known.
    fn answer(&self, job: &Job) -> Option<&Offers> {
        self.known.iter().find(|(known, _)| known == job).map(|(_, found)| found)
    }
}

impl Job {
    /// One for every mechanism that fits the question.
    fn all(ask: &Ask) -> Vec<Self> {
        ask.question.keys().iter().map(|key| Self { ask: ask.clone(), key: *key }).collect()
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
        let desk = Arc::new(Desk::default());
        let ask = ask("value=real&n=10000&max_messages=4");
        let bytes = |mechanism: &Mechanism| mechanism.messages() as u64;
        let all = |found: Found| -> Option<Vec<(Key, Offers)>> {
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
            let jobs = Job::all(&ask);
            state.queue(&jobs);
            state.queue(&jobs);
            assert!(state.lanes.iter().all(|lane| lane.queue.len() <= QUEUE));
            assert!(state.lanes.iter().all(|lane| lane.queue[0].ask == ask));
            for job in jobs {
                state.keep(job, Err(Error::NotAsked { why: "" }));
            }
        }
        assert_eq!(state.known.len(), KNOWN);
    }
}
