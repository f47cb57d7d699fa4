//! Taking part over the network, with the clock of this machine.

use crate::{Error, Outcome, Participant};
use rand_core::CryptoRng;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use throng_client::{Patience, Poster, Report, Uploader};
use throng_collection::Board;
use throng_wire::Bulletin;
use tokio::time::sleep;

/// Takes part from the first round of `keys` to the result, and returns what this seat is shown.
///
/// It posts in every round of both boards, each time when the round has begun and the one before is
/// out, and waits for what everybody saw. The rounds of `talk` have to begin after those of `keys`,
/// and a round has to be long enough for the bulletin of the one before to come out in it. If one
/// does not, or if this device starts too late, it has dropped out, and the error says so. Dropping
/// the future is dropping out too.
///
/// [`key_board`](crate::ComputationPlan::key_board) and
/// [`talk_board`](crate::ComputationPlan::talk_board) of the plan make the boards; their servers
/// list the files like any collection.
pub async fn attend(
    mut participant: Participant,
    keys: &Board,
    talk: &Board,
    rng: &mut impl CryptoRng,
) -> Result<Outcome, Error> {
    let mut desk = Desk::new(keys)?;
    for round in 0..keys.rounds {
        desk.open(round).await?;
        let posts = participant.offer(keys, rng)?;
        match desk.post(round, &posts, rng).await {
            Ok(bulletin) => drop(participant.settle(&bulletin)?),
            // Too few came; there is another round to try.
            Err(Error::Client(throng_client::Error::Refused { status: 410, .. }))
                if round + 1 < keys.rounds => {}
            Err(error) => return Err(error),
        }
    }
    participant.begin(talk)?;
    let mut desk = Desk::new(talk)?;
    for round in 0..talk.rounds {
        desk.open(round).await?;
        let posts = participant.speak(round, rng)?;
        let bulletin = desk.post(round, &posts, rng).await?;
        if let Some(outcome) = participant.hear(&bulletin)? {
            return Ok(outcome);
        }
    }
    Err(Error::OutOfTurn)
}

/// A place at one board.
struct Desk<'a> {
    board: &'a Board,
    uploader: Uploader,
    /// One for each report of a round.
    posters: Vec<Poster>,
}

impl<'a> Desk<'a> {
    fn new(board: &'a Board) -> Result<Self, Error> {
        let uploader = Uploader::with_patience(board, PATIENCE)?;
        Ok(Self { board, uploader, posters: Vec::new() })
    }

    /// Waits for the begin of a round.
    async fn open(&self, round: u64) -> Result<(), Error> {
        let schedule = &self.board.schedule;
        if now() >= schedule.deadline(round) {
            return Err(Error::Late { round });
        }
        sleep(Duration::from_secs(schedule.start_of(round).saturating_sub(now()))).await;
        Ok(())
    }

    /// Posts, and waits until everybody sees the round.
    async fn post(
        &mut self,
        round: u64,
        posts: &[Vec<u8>],
        rng: &mut impl CryptoRng,
    ) -> Result<Bulletin, Error> {
        let deadline = self.board.schedule.deadline(round);
        // The keys of a round may come a little after its begin.
        let directory = once_there(|| self.uploader.directory(round), deadline).await?;
        let posters = self.posters.len().max(posts.len());
        self.posters.resize_with(posters, || Poster::new(self.board));
        let mut reports: Vec<Report> = Vec::with_capacity(posts.len());
        for (poster, messages) in self.posters.iter_mut().zip(posts) {
            poster.learn(&directory, round)?;
            reports.push(poster.post(messages, round, rng)?);
        }
        self.uploader.upload_many(&reports).await?;
        sleep(Duration::from_secs(deadline.saturating_sub(now()))).await;
        // It is of no use once the next round is over.
        let last = self.board.schedule.deadline(round + 1).max(deadline + LEAST_WAIT);
        match once_there(|| self.uploader.bulletin(round), last).await {
            Err(throng_client::Error::Refused { status: 404, .. }) => Err(Error::Late { round }),
            seen => Ok(seen?),
        }
    }
}

/// Asks for something that is not there yet, again and again until a time.
async fn once_there<T, F: Future<Output = Result<T, throng_client::Error>>>(
    ask: impl Fn() -> F,
    until: u64,
) -> F::Output {
    loop {
        match ask().await {
            Err(throng_client::Error::Refused { status: 404, .. }) if now() < until => {
                sleep(ASK_AGAIN).await;
            }
            other => return other,
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A round is short: what does not come soon comes too late.
const PATIENCE: Patience = Patience {
    attempts: 6,
    first: Duration::from_millis(100),
    most: Duration::from_secs(2),
    request: Duration::from_secs(30),
};
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// Seconds that the last bulletin is waited for.
const LEAST_WAIT: u64 = 60;
