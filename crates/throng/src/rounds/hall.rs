//! Boards that run on this machine, everyone who posts there, and what it costs them.

use crate::local::{LocalParties, LocalServers};
use crate::parallel::{cores, fresh_generator};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};
use throng_client::{Poster, Report, Uploader};
use throng_collection::Board;
use throng_rounds::{RobustXorSum, Seat};
use throng_wire::{Bulletin, Schedule, SignedDirectory};
use tokio::task::{JoinSet, block_in_place};

/// The posts of one participant in a round: the messages of one report after the other.
pub type Posts = Vec<Vec<u8>>;

/// The servers, the board in use, and the devices of its participants.
pub struct Hall {
    servers: LocalServers,
    board: Board,
    uploader: Uploader,
    /// The posters of each participant, one for each of its reports in a round.
    posters: BTreeMap<Seat, Vec<Poster>>,
    /// The work and traffic of everyone so far, on all boards.
    pub shares: BTreeMap<Seat, Share>,
    /// Rounds through the mixes.
    pub rounds: u64,
    /// Bytes of all bulletins, which everybody reads.
    pub read: u64,
    /// Seconds that the rounds took, with everybody and all servers on this machine.
    pub seconds: f64,
}

/// The work and traffic of one participant.
#[derive(Debug, Default, Clone, Copy)]
pub struct Share {
    /// Messages sent.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// The time of its own work: protocol and sealing.
    pub work: Duration,
}

impl Hall {
    /// Starts servers that run these boards. The first is the one in use.
    pub fn open(parties: LocalParties, boards: &[Board]) -> Result<Self> {
        let servers = parties.serve(&[], boards)?;
        let board = boards.first().context("a board")?.clone();
        let uploader = Uploader::new(&board)?;
        let (posters, shares) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { servers, board, uploader, posters, shares, rounds: 0, read: 0, seconds: 0.0 })
    }

    /// Goes over to another board.
    pub fn enter(&mut self, board: &Board) -> Result<()> {
        self.uploader = Uploader::new(board)?;
        self.board = board.clone();
        self.posters.clear();
        Ok(())
    }

    /// Stops the servers.
    pub async fn close(self) {
        self.servers.stop().await;
    }

    /// Begins a round, lets everyone post, ends it, and fetches what everyone sees. All
    /// participants on this machine read the same copy; each checks it for its own messages.
    /// Returns the bulletin, and the time since the first second of the round.
    pub async fn round(
        &mut self,
        round: u64,
        posts: BTreeMap<Seat, Posts>,
    ) -> Result<(Bulletin, Duration)> {
        let start = Instant::now();
        self.servers.clock.set(self.board.schedule.start_of(round));
        let directory = self.servers.directory(&self.uploader, round).await?;
        let sealed = block_in_place(|| self.seal(round, &directory, &posts))?;
        let mut under_way = JoinSet::new();
        for (seat, reports, taken) in sealed {
            let share = self.shares.entry(seat).or_default();
            share.messages += reports.len() as u64 * u64::from(self.board.messages);
            share.bytes += (reports.len() * self.board.shape().report_bytes()) as u64;
            share.work += taken;
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
        let taken = start.elapsed();
        self.rounds += 1;
        self.read += bulletin.bag().as_bytes().len() as u64;
        self.seconds += taken.as_secs_f64();
        Ok((bulletin, taken))
    }

    /// Seals everybody's reports, on all cores.
    fn seal(
        &mut self,
        round: u64,
        directory: &SignedDirectory,
        posts: &BTreeMap<Seat, Posts>,
    ) -> Result<Vec<(Seat, Vec<Report>, Duration)>> {
        for (&seat, posts) in posts {
            let posters = self.posters.entry(seat).or_default();
            posters.resize_with(posters.len().max(posts.len()), || Poster::new(&self.board));
        }
        let mut desks: Vec<_> = self.posters.iter_mut().collect();
        desks.retain(|(seat, _)| posts.contains_key(seat));
        let share = desks.len().div_ceil(cores()).max(1);
        thread::scope(|scope| {
            let work = |desks: &mut [(&Seat, &mut Vec<Poster>)]| {
                let mut rng = fresh_generator()?;
                let mut sealed = Vec::with_capacity(desks.len());
                for (seat, posters) in desks {
                    let start = Instant::now();
                    let mut reports = Vec::new();
                    for (poster, messages) in posters.iter_mut().zip(&posts[*seat]) {
                        poster.learn(directory, round)?;
                        reports.push(poster.post(messages, round, &mut rng)?);
                    }
                    sealed.push((**seat, reports, start.elapsed()));
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
                Err(throng_client::Error::Refused { status: 404, .. }) => {}
                other => return other.with_context(|| format!("fetching round {round}")),
            }
            if Instant::now() >= until {
                bail!("round {round} was not published in time");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The schedule of a board whose first round comes after the last of another.
pub fn after(board: &Board) -> Schedule {
    Schedule { start: board.schedule.deadline(board.rounds), ..board.schedule }
}

/// Everybody's messages of the one-round protocol through mixes, a report each.
pub async fn one_round(mixes: u8, reports: Vec<Vec<u8>>) -> Result<Bulletin> {
    let parties = LocalParties::gather(mixes).await?;
    let messages = reports.first().map_or(0, Vec::len) / RobustXorSum::MESSAGE_LEN;
    let board = Board {
        about: "Parities in one round".into(),
        messages: messages as u32,
        payload: RobustXorSum::MESSAGE_LEN as u32,
        crowd: reports.len() as u64,
        rounds: 1,
        schedule: parties.schedule,
        chain: parties.chain.clone(),
    };
    let mut hall = Hall::open(parties, &[board])?;
    let posts = (0..).map(Seat).zip(reports).map(|(seat, report)| (seat, vec![report]));
    let (bulletin, _) = hall.round(0, posts.collect()).await?;
    hall.close().await;
    Ok(bulletin)
}

/// Uploads at a time.
const AT_ONCE: usize = 16;

/// The longest time in which a round may come out.
const PATIENCE: Duration = Duration::from_mins(10);
