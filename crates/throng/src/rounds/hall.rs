//! A board that runs on this machine, and everyone who posts there.

use crate::local::LocalServers;
use crate::parallel::fresh_generator;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};
use throng_client::{Poster, Report, Uploader};
use throng_collection::Board;
use throng_wire::{Bulletin, SignedDirectory};
use tokio::task::{JoinSet, block_in_place};

/// The posts of one participant in a round: the messages of one report after the other.
pub type Posts = Vec<Vec<u8>>;

/// A board and the devices of its participants.
pub struct Hall<'a> {
    servers: &'a LocalServers,
    board: Board,
    uploader: Uploader,
    /// The posters of each participant, one for each of its reports in a round.
    posters: BTreeMap<usize, Vec<Poster>>,
}

/// The outcome of a round, and the time it took.
pub struct Round {
    /// The bulletin that everybody saw.
    pub bulletin: Bulletin,
    /// The time from the first second of the round until everybody saw the bulletin.
    pub taken: Duration,
    /// The time that each participant's device took to seal its reports.
    pub sealing: BTreeMap<usize, Duration>,
}

impl<'a> Hall<'a> {
    /// A hall in which nobody has posted yet.
    pub fn new(servers: &'a LocalServers, board: Board) -> Result<Self> {
        let uploader = Uploader::new(&board)?;
        Ok(Self { servers, board, uploader, posters: BTreeMap::new() })
    }

    /// Bytes that a participant sends for this number of reports.
    pub fn bytes(&self, reports: usize) -> u64 {
        (reports * self.board.shape().report_bytes()) as u64
    }

    /// Messages that a participant sends in this number of reports.
    pub fn messages(&self, reports: usize) -> u64 {
        reports as u64 * u64::from(self.board.messages)
    }

    /// Begins a round, lets everyone post, ends it, and fetches what everyone sees. All
    /// participants on this machine read the same copy; each checks it for its own messages.
    pub async fn round(&mut self, round: u64, posts: BTreeMap<usize, Posts>) -> Result<Round> {
        let start = Instant::now();
        self.servers.clock.set(self.board.schedule.start_of(round));
        let directory = self.servers.directory(&self.uploader, round).await?;
        let sealed = block_in_place(|| self.seal(round, &directory, &posts))?;
        let mut sealing = BTreeMap::new();
        let mut under_way = JoinSet::new();
        for (participant, reports, taken) in sealed {
            sealing.insert(participant, taken);
            let uploader = self.uploader.clone();
            under_way.spawn(async move { uploader.upload_many(&reports).await });
            if under_way.len() >= AT_ONCE
                && let Some(done) = under_way.join_next().await
            {
                done??;
            }
        }
        while let Some(done) = under_way.join_next().await {
            done??;
        }
        self.servers.clock.set(self.board.schedule.deadline(round));
        let bulletin = self.bulletin(round).await?;
        Ok(Round { bulletin, taken: start.elapsed(), sealing })
    }

    /// Seals everybody's reports, on all cores.
    fn seal(
        &mut self,
        round: u64,
        directory: &SignedDirectory,
        posts: &BTreeMap<usize, Posts>,
    ) -> Result<Vec<(usize, Vec<Report>, Duration)>> {
        for (participant, posts) in posts {
            let posters = self.posters.entry(*participant).or_default();
            while posters.len() < posts.len() {
                posters.push(Poster::new(&self.board));
            }
        }
        let posting =
            |(participant, _): &(&usize, &mut Vec<Poster>)| posts.contains_key(participant);
        let mut desks: Vec<_> = self.posters.iter_mut().filter(posting).collect();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = desks.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let work = |desks: &mut [(&usize, &mut Vec<Poster>)]| {
                let mut rng = fresh_generator()?;
                let mut sealed = Vec::with_capacity(desks.len());
                for (participant, posters) in desks {
                    let start = Instant::now();
                    let mut reports = Vec::new();
                    for (poster, messages) in posters.iter_mut().zip(&posts[*participant]) {
                        poster.learn(directory, round)?;
                        reports.push(poster.post(messages, round, &mut rng)?);
                    }
                    sealed.push((**participant, reports, start.elapsed()));
                }
                anyhow::Ok(sealed)
            };
            let workers: Vec<_> =
                desks.chunks_mut(share).map(|some| scope.spawn(move || work(some))).collect();
            let mut all = Vec::new();
            for worker in workers {
                all.extend(worker.join().expect("a worker that does not panic")?);
            }
            Ok(all)
        })
    }

    async fn bulletin(&self, round: u64) -> Result<Bulletin> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.uploader.bulletin(round).await {
                Ok(bulletin) => return Ok(bulletin),
                Err(throng_client::Error::Refused { status: 404, .. })
                    if Instant::now() < until =>
                {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(throng_client::Error::Refused { status: 404, .. }) => {
                    bail!("round {round} was not published in time")
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("fetching round {round}"));
                }
            }
        }
    }
}

/// Uploads at a time.
const AT_ONCE: usize = 16;

/// The longest time in which a round may come out.
const PATIENCE: Duration = Duration::from_mins(10);
