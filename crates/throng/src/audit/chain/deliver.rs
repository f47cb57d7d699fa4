//! Reports in, releases out, over HTTP, and the books of all of it.

use super::check::{Expected, published};
use super::runs::{Run, now};
use super::{EVERY, GRACE, Plan, score_of};
use crate::results::Analyzer;
use anyhow::{Context, Result, anyhow};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use throng_client::{Error, Patience, Report, Uploader};
use throng_collection::{BatchGuarantee, Collection, Release, Subjects};
use throng_mechanism::{NoiseCounts, Tally};
use throng_wire::{Schedule, SignedDirectory};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// What a chain did beside the statistics.
#[derive(Default)]
pub struct Passage {
    /// Releases that were held against their reports.
    pub releases: u64,
    /// Runs that are left out, since not all reports arrived in time.
    pub late: u64,
    /// What is wrong with releases.
    pub faults: Vec<String>,
}

/// The sealed reports of a run.
pub struct Packed {
    pub run: u64,
    pub epoch: u64,
    /// The worlds, in their order.
    pub worlds: Vec<World>,
    pub noise: NoiseCounts,
}

/// The reports of one world of a run, and the counts of the bag that they make.
pub struct World {
    /// The collection that they go to.
    pub way: usize,
    pub reports: Vec<Report>,
    pub tally: Tally,
}

/// The ways into a chain and out of it.
pub struct Post {
    ways: Vec<Way>,
    analyzer: Analyzer,
    expected: Expected,
    books: Mutex<Books>,
}

/// The way of one collection.
struct Way {
    subjects: Subjects,
    uploader: Uploader,
}

impl Post {
    pub fn new(plan: &Plan, collections: &[Collection]) -> Result<Self> {
        let way = |collection: &Collection| -> Result<Way> {
            let patience = Patience { attempts: 2, first: SOON, most: SOON, request: REQUEST };
            let uploader = Uploader::with_patience(collection, patience)?;
            Ok(Way { subjects: Subjects::of(Arc::new(collection.clone())), uploader })
        };
        let reports = plan.crowd.get();
        let guarantee = BatchGuarantee::of(&plan.terms, reports, 1)?;
        let analyzer = &collections.first().context("a collection")?.chain.analyzer;
        Ok(Self {
            ways: collections.iter().map(way).collect::<Result<_>>()?,
            analyzer: Analyzer::new(&analyzer.url)?,
            expected: Expected { reports, guarantee },
            books: Mutex::default(),
        })
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn collection(&self, way: usize) -> &Collection {
        self.ways[way].subjects.collection()
    }

    /// The schedule of all collections.
    pub fn schedule(&self) -> Schedule {
        self.collection(0).schedule
    }

    /// The keys of an epoch, collection by collection; none where they are not out yet.
    pub async fn directories(&self, epoch: u64) -> Vec<Result<SignedDirectory, Error>> {
        let window = self.schedule().window_of(epoch);
        let mut asked = JoinSet::new();
        for (place, way) in self.ways.iter().enumerate() {
            let uploader = way.uploader.clone();
            asked.spawn(async move { (place, uploader.directory(window).await) });
        }
        let mut keys = asked.join_all().await;
        keys.sort_by_key(|(place, _)| *place);
        keys.into_iter().map(|(_, directory)| directory).collect()
    }

    /// Sends the reports of a run, waits for its releases, checks and enters them.
    pub async fn deliver(self: Arc<Self>, packed: Packed) {
        let Packed { run, epoch, worlds, noise } = packed;
        let mut in_time = true;
        for world in &worlds {
            self.books().sent(world.way, epoch);
            in_time &= self.upload(world).await;
        }
        if !in_time {
            self.books().give_up(run);
            return;
        }
        let deadline = Duration::from_secs(self.schedule().deadline(epoch));
        sleep(deadline.saturating_sub(now())).await;
        let mut scores = [0.0; 2];
        for (world, score) in worlds.iter().zip(&mut scores) {
            match self.released(world, epoch).await {
                Ok(Some(release)) => {
                    let question = self.collection(world.way).terms.mechanism.question();
                    *score = score_of(question, &release.estimates);
                }
                Ok(None) => return self.books().give_up(run),
                Err(error) => return self.books().fail(error),
            }
        }
        self.books().finish(run, Run { scores, noise });
    }

    /// Sends the reports of a world in a few requests at once. Returns false if not all of them
    /// were acknowledged.
    async fn upload(&self, world: &World) -> bool {
        let each = world.reports.len().div_ceil(REQUESTS).max(1);
        let mut requests = JoinSet::new();
        for some in world.reports.chunks(each) {
            let (uploader, some) = (self.ways[world.way].uploader.clone(), some.to_vec());
            requests.spawn(async move { uploader.upload_many(&some).await });
        }
        let mut taken = true;
        while let Some(answer) = requests.join_next().await {
            taken &= matches!(answer, Ok(Ok(())));
        }
        taken
    }

    /// The release of an epoch, once it is there, after it was checked; `None` if there will be
    /// none, which is a fault.
    async fn released(&self, world: &World, epoch: u64) -> Result<Option<Release>> {
        let subjects = &self.ways[world.way].subjects;
        let patience = Instant::now() + PATIENCE;
        loop {
            let answer = self.analyzer.published(subjects).await;
            let fault = match &answer {
                Ok((releases, fates)) => {
                    if let Some(release) = releases.iter().find(|release| release.last == epoch) {
                        self.take(world, release);
                        return Ok(Some(release.clone()));
                    }
                    let gone = |fate| format!("all reports were acknowledged, but {fate}");
                    dropped(fates, epoch).map(gone)
                }
                Err(error) if error.is::<throng_collection::Error>() => {
                    Some("its release is not one that an analyzer writes".into())
                }
                Err(_) => None,
            };
            if let Some(fault) = fault {
                self.books().fault(world.way, epoch, &fault);
                return Ok(None);
            }
            if Instant::now() > patience {
                let seconds = PATIENCE.as_secs();
                let busy = "this machine may be too busy: a smaller --n takes less";
                let late = format!("no release of epoch {epoch} after {seconds} s; {busy}");
                return Err(answer.err().map_or(anyhow!("{late}"), |error| error.context(late)));
            }
            sleep(SOON).await;
        }
    }

    /// Checks a release against the reports that it is made of.
    fn take(&self, world: &World, release: &Release) {
        let fault = self.expected.fault(release, &self.ways[world.way].subjects, &world.tally);
        let mut books = self.books();
        books.released(world.way, release.last);
        if let Some(fault) = fault {
            books.fault(world.way, release.last, &fault);
        }
    }

    /// Looks once more at everything that was published.
    pub async fn look_back(&self) -> Result<()> {
        for (place, way) in self.ways.iter().enumerate() {
            let (releases, _) = self.analyzer.published(&way.subjects).await?;
            let mut books = self.books();
            let (whole, unsure) = (books.seen.get(&place), books.sent.get(&place));
            let (whole, unsure) = (whole.cloned().unwrap_or_default(), unsure.cloned());
            if let Err((epoch, what)) = published(&releases, &whole, &unsure.unwrap_or_default()) {
                books.fault(place, epoch, what);
            }
        }
        Ok(())
    }
}

/// The fate of an epoch that will not be released.
fn dropped(fates: &[serde_json::Value], epoch: u64) -> Option<&str> {
    let about = |fate: &&serde_json::Value| {
        fate["first"].as_u64() <= Some(epoch) && Some(epoch) <= fate["last"].as_u64()
    };
    let fate = fates.iter().find(about)?;
    let lives = ["open", "waiting", "released"].contains(&fate["fate"].as_str()?);
    fate["words"].as_str().filter(|_| !lives)
}

/// The books: what was sent, what came back, and what was wrong with it.
#[derive(Default)]
pub struct Books {
    /// Runs that are over; `None` for those whose reports did not all arrive in time.
    runs: BTreeMap<u64, Option<Run>>,
    /// Epochs of each collection for which something was sent, and those whose release was seen.
    sent: BTreeMap<usize, BTreeSet<u64>>,
    seen: BTreeMap<usize, BTreeSet<u64>>,
    late: bool,
    failure: Option<anyhow::Error>,
    passage: Passage,
}

impl Books {
    /// The number of runs that are over; an error if a delivery failed.
    pub fn finished(&mut self) -> Result<u64> {
        self.failure.take().map_or(Ok(self.runs.len() as u64), Err)
    }

    /// Runs that are missing of so many, once those below `next` are made.
    pub fn missing(&self, next: u64, wanted: u64) -> u64 {
        (wanted + self.passage.late).saturating_sub(next)
    }

    /// True if runs below this one are not over.
    pub fn under_way(&self, next: u64) -> bool {
        (self.runs.len() as u64) < next
    }

    /// True if a run was late since this was last asked.
    pub fn take_late(&mut self) -> bool {
        std::mem::take(&mut self.late)
    }

    /// The runs in their order up to the first that is not over, and what the chain did.
    ///
    /// Those that were late are left out. Whether a run is late is known before anything of it is
    /// seen, so that leaving it out chooses nothing. A run that was not released at all is a fault.
    pub fn settle(&mut self) -> (Vec<Run>, Passage) {
        let whole = self.runs.iter().zip(0..).take_while(|((run, _), place)| *run == place);
        let runs = whole.filter_map(|((_, run), _)| *run).collect();
        (runs, std::mem::take(&mut self.passage))
    }

    fn sent(&mut self, way: usize, epoch: u64) {
        self.sent.entry(way).or_default().insert(epoch);
    }

    fn released(&mut self, way: usize, epoch: u64) {
        self.passage.releases += 1;
        self.seen.entry(way).or_default().insert(epoch);
    }

    fn fault(&mut self, way: usize, epoch: u64, what: &str) {
        self.passage.faults.push(format!("epoch {epoch} of collection {way}: {what}"));
    }

    fn finish(&mut self, run: u64, made: Run) {
        self.runs.insert(run, Some(made));
    }

    fn give_up(&mut self, run: u64) {
        self.passage.late += 1;
        self.late = true;
        self.runs.insert(run, None);
    }

    fn fail(&mut self, error: anyhow::Error) {
        self.failure = Some(error);
    }
}

/// Requests that the reports of one epoch are spread over.
const REQUESTS: usize = 4;
const SOON: Duration = Duration::from_millis(250);
/// What takes longer than an epoch comes too late.
const REQUEST: Duration = Duration::from_secs(EVERY + GRACE);
/// The longest that a release may take after the deadline.
const PATIENCE: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn run(score: f64) -> Run {
        Run { scores: [score; 2], noise: NoiseCounts::default() }
    }

    #[test]
    fn runs_count_up_to_the_first_that_is_not_over_without_those_that_were_late() {
        let mut books = Books::default();
        books.finish(0, run(0.0));
        books.give_up(1);
        books.finish(2, run(2.0));
        books.finish(4, run(4.0));
        assert!(books.under_way(5) && books.take_late() && !books.take_late());
        // One of five was late, so that a sixth is needed.
        assert_eq!((books.missing(5, 5), books.missing(6, 5)), (1, 0));
        let (runs, passage) = books.settle();
        let scores: Vec<f64> = runs.iter().map(|run| run.scores[0]).collect();
        assert_eq!((scores, passage.late), (vec![0.0, 2.0], 1));
    }

    #[test]
    fn an_epoch_that_nothing_will_come_of_is_told_from_one_that_waits() {
        let fates = |fate: &str| {
            vec![serde_json::json!({"first": 1, "last": 3, "fate": fate, "words": "too few"})]
        };
        for (fate, gone) in [("short", true), ("keys", true), ("waiting", false), ("open", false)] {
            assert_eq!(dropped(&fates(fate), 2).is_some(), gone, "{fate}");
        }
        assert_eq!(dropped(&fates("short"), 4), None);
    }
}
