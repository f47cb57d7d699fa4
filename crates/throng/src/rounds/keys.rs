//! `throng rounds keys`: many pairs agree on keys through the mixes, at the same time.

use super::hall::{Hall, after};
use super::{rounded, rounded_down, rounded_up};
use crate::args::rounds::{Keys, MethodArg};
use crate::local::LocalParties;
use crate::parallel::fresh_generator;
use crate::report::{Report, digits};
use anyhow::Result;
use chacha20::ChaCha12Rng;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use throng_collection::Board;
use throng_rounds::{Agreement, Channel, Failure, Hand, Method, PairKey, Seat, pad};

/// Everyone posts cards and looks, again where it failed; then both ends confirm what they hold.
pub async fn run(request: &Keys) -> Result<Report> {
    let method = method(request)?;
    let (people, rounds) = (2 * request.pairs, request.retries + 1);
    let mut meeting = Meeting::new(people, method)?;
    let parties = LocalParties::gather(request.mixes.mixes).await?;
    let keys = Board {
        about: "Keys for pairs".into(),
        messages: method.messages() as u32,
        payload: Hand::MESSAGE as u32,
        crowd: people.into(),
        rounds,
        schedule: parties.schedule,
        chain: parties.chain.clone(),
    };
    let (about, schedule) = ("Confirmations".into(), after(&keys));
    let talk = Board { about, messages: 1, payload: FRAME, rounds: 1, schedule, ..keys.clone() };
    let mut hall = Hall::open(parties, &[keys.clone(), talk.clone()])?;
    for round in 0..rounds {
        if meeting.open() == 0 {
            break;
        }
        eprintln!("round {}: {} pairs without a key", round + 1, meeting.open());
        meeting.round(round, &mut hall, &keys).await?;
    }
    eprintln!("a round to confirm");
    hall.enter(&talk)?;
    let confirmed = meeting.confirm(&mut hall, &talk).await?;
    let report = meeting.report(request, method, confirmed, &hall);
    hall.close().await;
    Ok(report)
}

fn method(request: &Keys) -> Result<Method> {
    Ok(match (request.method, request.positions) {
        (MethodArg::Cards, _) => Method::cards(request.bits)?,
        (MethodArg::Bits, None) => Method::bits(request.bits, request.failure)?,
        (MethodArg::Bits, Some(positions)) => Method::Bits { positions, bits: request.bits },
    })
}

/// The participants: seats 0 and 1 are a pair, 2 and 3, and so on.
struct Meeting {
    agreements: Vec<Agreement>,
    rng: ChaCha12Rng,
    /// The outcome of each round, as a row.
    attempts: Vec<Report>,
    failed_at_first: Option<u32>,
    looking: Duration,
}

impl Meeting {
    fn new(people: u32, method: Method) -> Result<Self> {
        let agreement = |seat| Agreement::new(Seat(seat), [Seat(seat ^ 1)], method);
        let agreements = (0..people).map(agreement).collect::<Result<_, _>>()?;
        let (rng, attempts, looking) = (fresh_generator()?, Vec::new(), Duration::ZERO);
        Ok(Self { agreements, rng, attempts, failed_at_first: None, looking })
    }

    /// Pairs of which one end has no key.
    fn open(&self) -> u32 {
        let open = |pair: &&[Agreement]| pair.iter().any(|end| end.open() > 0);
        self.agreements.chunks_exact(2).filter(open).count() as u32
    }

    async fn round(&mut self, round: u64, hall: &mut Hall, board: &Board) -> Result<()> {
        let tried = self.open();
        let mut posts = BTreeMap::new();
        for (seat, agreement) in (0..).map(Seat).zip(&mut self.agreements) {
            let messages = agreement.messages(&mut self.rng)?;
            let shape = (board.messages, board.payload);
            posts.insert(seat, pad(&messages, 1, shape, &mut self.rng)?);
        }
        let (bulletin, taken) = hall.round(round, posts).await?;
        let start = Instant::now();
        for agreement in &mut self.agreements {
            agreement.settle(&bulletin);
        }
        self.looking += start.elapsed();
        let mut why = BTreeMap::new();
        for (_, failure) in self.agreements.iter().step_by(2).flat_map(Agreement::failures) {
            *why.entry(named(failure)).or_insert(0) += 1;
        }
        self.count(tried, self.open(), &why, taken);
        Ok(())
    }

    /// Lets both ends of every pair tell each other, sealed, what only the owner of the key can
    /// know. Returns the number of pairs that are satisfied.
    async fn confirm(&mut self, hall: &mut Hall, board: &Board) -> Result<u32> {
        let agreements = std::mem::take(&mut self.agreements);
        let tried = agreements.len() as u32 / 2;
        let mut ends: BTreeMap<u32, (PairKey, Channel)> = BTreeMap::new();
        let mut posts = BTreeMap::new();
        for (seat, agreement) in (0..).zip(agreements) {
            let (own, partner) = (Seat(seat), Seat(seat ^ 1));
            let mut frames = Vec::new();
            if let Some(key) = agreement.into_keys().remove(&partner) {
                let mut channel = Channel::new(&key, own, partner, board.id(), FRAME as usize)?;
                frames = channel.seal(0, &key.confirmation(own))?.concat();
                ends.insert(seat, (key, channel));
            }
            let shape = (board.messages, board.payload);
            posts.insert(own, pad(&frames, 1, shape, &mut self.rng)?);
        }
        let (bulletin, taken) = hall.round(0, posts).await?;
        let mut satisfied = |seat: u32| {
            ends.get_mut(&seat).is_some_and(|(key, channel)| {
                let proof = channel.open(&bulletin);
                proof.is_ok_and(|proof| key.confirms(Seat(seat ^ 1), &proof))
            })
        };
        let pairs = (0..tried).map(|pair| 2 * pair);
        let confirmed = pairs.filter(|&low| satisfied(low) && satisfied(low + 1)).count() as u32;
        let failed = tried - confirmed;
        self.count(tried, failed, &BTreeMap::from([("not confirmed", failed)]), taken);
        Ok(confirmed)
    }

    /// Adds the outcome of a round: pairs that tried, those that failed, and why.
    fn count(&mut self, tried: u32, failed: u32, why: &BTreeMap<&str, u32>, taken: Duration) {
        self.failed_at_first.get_or_insert(failed);
        let why = why.iter().filter(|(_, times)| **times > 0);
        let why: Vec<String> = why.map(|(why, times)| format!("{times} {why}")).collect();
        let row = Report::default()
            .say("round", (self.attempts.len() + 1).to_string())
            .say("pairs", tried.to_string())
            .say("failed", failed.to_string())
            .say("why", why.join(", "))
            .say("seconds", digits(rounded(taken.as_secs_f64())));
        self.attempts.push(row);
    }

    fn report(self, request: &Keys, method: Method, confirmed: u32, hall: &Hall) -> Report {
        // Everybody posts one report in every round.
        let one = hall.shares.values().next().copied().unwrap_or_default();
        let sealing = hall.shares.values().map(|share| share.work).sum();
        let failure = rounded_up(method.failure());
        let entropy = rounded_down(method.entropy_bits());
        let first = self.failed_at_first.unwrap_or(0);
        let each = |total: Duration| rounded(total.as_secs_f64() / f64::from(2 * request.pairs));
        Report::default()
            .well(confirmed == request.pairs)
            .line("pairs", "pairs", request.pairs)
            .line("agreed", "agreed and confirmed", confirmed)
            .line("failed_at_first", "failed in the first round", first)
            .line("failure_bound", "chance that a pair fails, at most", failure)
            .line("entropy_bits", "secret bits of a key, at least", entropy)
            .line("messages", "messages of a participant", one.messages)
            .line("bytes_sent", "bytes it sends", one.bytes)
            .line("bytes_read", "bytes it reads", hall.read)
            .line("seal_seconds", "seconds it seals", each(sealing))
            .line("look_seconds", "seconds it looks for its key", each(self.looking))
            .line("seconds", "seconds in all, everybody on this machine", rounded(hall.seconds))
            .table(self.attempts)
            .note(
                "Nobody else can tell a key from random bits as long as one mix is honest. Who is \
                 at the other end is another matter: see docs/rounds.md.",
            )
    }
}

/// A failure in a few words.
fn named(failure: Failure) -> &'static str {
    match failure {
        Failure::Lost => "own message missing",
        Failure::Absent => "partner absent",
        Failure::Crowded => "a third message",
        Failure::Incomplete => "partner's messages incomplete",
        Failure::TooFew { .. } => "too few positions differ",
        Failure::Equal => "equal cards",
        _ => "other",
    }
}

/// Bytes of a confirmation's frame.
const FRAME: u32 = 96;
