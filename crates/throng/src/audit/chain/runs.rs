//! The runs, epoch after epoch, as far as there is time.

use super::deliver::{Passage, Post};
use super::parties::Parties;
use super::people::People;
use super::{Case, Plan, seconds};
use crate::parallel::{cores, on};
use crate::progress::Progress;
use crate::stop;
use anyhow::{Result, anyhow, bail, ensure};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use throng_mechanism::{Attack, NoiseCounts};
use tokio::runtime::Runtime;

/// One run: the scores of its two releases, and the noise in its reports.
#[derive(Clone, Copy)]
pub struct Run {
    pub scores: [f64; 2],
    pub noise: NoiseCounts,
}

/// Makes the runs until there are enough, the time is over, or somebody interrupts. Returns them in
/// their order, with what the chain did.
pub fn make(case: &Case<'_>, plan: &Plan, attack: &Attack<'_>) -> Result<(Vec<Run>, Passage)> {
    let runtime = Runtime::new()?;
    let stopped = Arc::new(AtomicBool::new(false));
    let word = Arc::clone(&stopped);
    runtime.spawn(async move {
        if stop::asked().await.is_ok() {
            word.store(true, Ordering::Relaxed);
        }
    });
    let parties = Parties::start(|chain| plan.collections(chain, now().as_secs()))?;
    let post = Arc::new(Post::new(plan, &parties.collections)?);
    let progress = Progress::of(plan.runs, "auditing through the chain", REST);
    let limit = Duration::from_secs_f64(seconds(case.request));
    let until = case.request.runs.is_none().then(|| case.began + limit);
    let people = People::of(case, attack, Arc::clone(&post));
    let mut hall = Hall { people, post, parties, runtime, progress, stopped, until };
    if let Err(error) = hall.fill(plan) {
        let stopped = hall.stopped.load(Ordering::Relaxed);
        return Err(if stopped {
            error
        } else {
            anyhow!("{error:#}{}", hall.parties.last_words())
        });
    }
    let Hall { runtime, post, .. } = hall;
    // Whoever still waits for a release waits in vain.
    runtime.shutdown_background();
    Ok(post.books().settle())
}

/// A chain under audit, and the way to fill it.
struct Hall<'a> {
    people: People<'a>,
    post: Arc<Post>,
    parties: Parties,
    runtime: Runtime,
    progress: Progress,
    /// True once somebody wants to stop.
    stopped: Arc<AtomicBool>,
    /// The time after which no run is begun.
    until: Option<Instant>,
}

impl Hall<'_> {
    /// Makes all runs, as far as there is time.
    fn fill(&mut self, plan: &Plan) -> Result<()> {
        let schedule = self.post.schedule();
        let current = || schedule.epoch_at(now().as_secs()).map_or(0, |epoch| epoch + 1);
        self.ready()?;
        let (mut next, mut width) = (0, plan.pairs);
        while self.post.books().missing(next, plan.runs) > 0 && (next == 0 || !self.over()) {
            let epoch = current();
            let begin = Duration::from_secs(schedule.start_of(epoch));
            if epoch >= plan.terms.promise.epochs || !self.goes_on(begin.saturating_sub(now()))? {
                break;
            }
            let some = self.post.books().missing(next, plan.runs).min(width);
            next += self.send(next..next + some, epoch)?;
            // What the chain did not take in an epoch is not asked of it in the next.
            let late = self.post.books().take_late();
            width = if late { width.div_ceil(2) } else { (width + 1 + width / 4).min(plan.pairs) };
        }
        let patience = Instant::now() + LAST;
        while self.post.books().under_way(next) && self.goes_on(LOOK_AGAIN)? {
            ensure!(Instant::now() < patience, "a delivery hangs; this is a bug of the audit");
        }
        if !self.stopped.load(Ordering::Relaxed) {
            self.runtime.block_on(self.post.look_back())?;
        }
        Ok(())
    }

    /// True if there is no time for more.
    fn over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }

    /// Waits until the parties have signed each other's keys.
    fn ready(&mut self) -> Result<()> {
        let patience = Instant::now() + READY;
        loop {
            let epoch = self.post.schedule().epoch_at(now().as_secs()).unwrap_or(0);
            let keys = self.runtime.block_on(self.post.directories(epoch));
            match keys.into_iter().find_map(Result::err) {
                None => return Ok(()),
                Some(error) if Instant::now() > patience => {
                    let seconds = READY.as_secs();
                    let busy = "this machine may be too busy, or a firewall closes the loopback";
                    bail!("no keys after {seconds} s ({error}); {busy}");
                }
                Some(_) if self.goes_on(LOOK_AGAIN)? => {}
                Some(_) => bail!("stopped before anything could be said"),
            }
        }
    }

    /// Lets some time pass. Returns false if somebody wants to stop, and an error if a party has
    /// ended or a delivery has failed.
    fn goes_on(&mut self, pause: Duration) -> Result<bool> {
        let end = Instant::now() + pause;
        loop {
            self.parties.all_alive()?;
            self.progress.set(self.post.books().finished()?);
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(true);
            }
            thread::sleep(left.min(LOOK_AGAIN));
        }
    }

    /// Seals the reports of some runs, on all cores, and has each delivered once it is packed.
    /// Returns for how many of them there are keys.
    fn send(&self, runs: Range<u64>, epoch: u64) -> Result<u64> {
        let keys = self.runtime.block_on(self.post.directories(epoch));
        let pairs = keys.chunks(2).enumerate().filter_map(|(pair, keys)| match keys {
            [Ok(first), Ok(second)] => Some((2 * pair, [first, second])),
            _ => None,
        });
        let packs: Vec<(u64, _)> = runs.zip(pairs).collect();
        let (people, runtime, next) = (&self.people, &self.runtime, AtomicUsize::new(0));
        let work = |_| -> Result<()> {
            while let Some((run, (pair, keys))) = packs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let packed = people.pack(*run, *pair, epoch, *keys)?;
                runtime.spawn(Arc::clone(&people.post).deliver(packed));
            }
            Ok(())
        };
        on(cores(), work).into_iter().collect::<Result<()>>()?;
        Ok(packs.len() as u64)
    }
}

/// The time since 1970.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The longest that the parties may take until they have their keys.
const READY: Duration = Duration::from_secs(40);
/// More than the last delivery may take, by all its own limits.
const LAST: Duration = Duration::from_mins(5);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
const REST: &str = "{pos} of {len} runs, {eta} left";
