//! Real processes under faults, and the exact contents of every round as the judge.
//!
//! Two mixes and an analyzer serve a board, whose bulletins show all messages of a round, and a
//! question, from whose estimates all reports of an epoch can be read back. A relay stands in front
//! of each of them and knows who connects. Clients post numbered messages while parties are killed, cut off from each other, have their wall clock moved by up to a year, and
//! find their disk full or unable to keep anything. What must hold:
//!
//! - an acknowledged message is shown by its round, once; what was not acknowledged is
//!   there at most once; nothing else is there;
//! - a round is dropped only if fewer messages than a crowd were acknowledged, and every round
//!   ends;
//! - what a round shows never changes;
//! - nobody closes or takes an epoch more than a minute early;
//! - nobody ends by itself, panics, or sees two batches for the same epochs;
//! - after the faults everything goes on by itself, and the keys of rounds that are over are gone.
//!
//! `THRONG_CHECKER_MINUTES` runs chains one after the other for so long, `THRONG_CHECKER_LANES` of
//! them at the same time; `THRONG_SEED` repeats what was drawn.

#[path = "checker/books.rs"]
mod books;
#[path = "checker/chain.rs"]
mod chain;
#[path = "checker/faults.rs"]
mod faults;
#[path = "checker/load.rs"]
mod load;
#[path = "checker/party.rs"]
mod party;
#[path = "checker/relay.rs"]
mod relay;
#[path = "checker/topic.rs"]
mod topic;

use books::{Books, Counts, get};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use chain::{Chain, now};
use faults::{Done, trouble};
use load::{Load, post};
use party::Party;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use topic::End;

#[test]
fn whatever_fails_what_is_acknowledged_is_shown_once_and_everything_goes_on() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let minutes = number("THRONG_CHECKER_MINUTES");
    let seed = number("THRONG_SEED").unwrap_or_else(|| minutes.map_or(1, |_| now()));
    let lanes = number("THRONG_CHECKER_LANES").unwrap_or(if minutes.is_some() { 3 } else { 1 });
    say(format_args!("THRONG_SEED={seed}"));
    let folder = tempfile::tempdir().unwrap();
    let shim = party::shim(folder.path());
    let end = minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let live = &|lane: u8| {
        let (mut counts, mut seed) = (Counts::default(), seed ^ u64::from(lane) << 40);
        loop {
            let faulty = end.map_or(BRIEF, |_| LONG);
            counts += runtime.block_on(life(seed, lane, &shim, faulty));
            if end.is_none_or(|end| Instant::now() >= end) {
                return counts;
            }
            say(format_args!("lane {lane}: {counts}"));
            seed += 1;
        }
    };
    let counts = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes as u8).map(|lane| scope.spawn(move || live(lane))).collect();
        let mut all = Counts::default();
        for lane in lanes {
            all += lane.join().expect("the books balance");
        }
        all
    });
    say(format_args!("{counts}"));
    let Counts { kills, partitions, jumps, disks, acknowledged, released, .. } = counts;
    assert!(kills.min(partitions).min(jumps).min(disks) > 0, "a kind of fault never came");
    assert!(acknowledged > 0 && released > 0);
}

/// A chain from its first round to one that is shown after all faults.
async fn life(seed: u64, lane: u8, shim: &Path, faulty: Duration) -> Counts {
    let folder = tempfile::tempdir().unwrap();
    let chain = Arc::new(Chain::start(folder.path(), lane, shim).await);
    let (loads, books) = ([0, 1].map(|_| Arc::new(Load::default())), Arc::new(Books::default()));
    let mut watching = JoinSet::new();
    watching.spawn(supervise(chain.clone(), books.clone()));
    watching.spawn(look(chain.clone(), books.clone()));
    let mut posting = JoinSet::new();
    for client in 0..CLIENTS {
        let (rng, topic) = (ChaCha12Rng::seed_from_u64(!seed ^ client << 32), client as usize % 2);
        posting.spawn(post(chain.clone(), topic, loads[topic].clone(), rng));
    }
    // Everybody has started and the first round is open before anything happens.
    let up = async || all_answer(&chain).await && chain.round(now()).is_some();
    within(START, up).await.then_some(()).expect("the parties do not start");

    let (done, mut rng) = (Arc::new(Done::default()), ChaCha12Rng::seed_from_u64(seed));
    trouble(&chain, &done, &mut rng, Instant::now() + faulty).await;

    // A round of each topic that began after all faults is shown.
    let calm = chain.round(now()).map_or(0, |round| round + 1);
    let shown = |topic, round: &u64| matches!(books.end(topic, *round), Some(End::Shown(_)));
    let mut last = calm;
    let resumed = within(CALM, async || {
        let first = [0, 1].map(|topic| (calm..calm + 100).find(|round| shown(topic, round)));
        last = first.into_iter().flatten().max().unwrap_or(calm);
        first.iter().all(Option::is_some)
    });
    if !resumed.await {
        books.wrong(format!("not all is shown from round {calm} on, {CALM:?} after the faults"));
    }
    posting.shutdown().await;
    let rounds: Vec<u64> = (0..=last).collect();
    let ended = |topic| rounds.iter().all(|round| books.end(topic, *round).is_some());
    within(SETTLE, async || ended(0) && ended(1)).await;
    let gone =
        within(SETTLE, async || chain.parties.iter().all(|party| old(party, last).is_empty()));
    if !gone.await {
        for party in &chain.parties {
            books.wrong(format!("hop {} has keys of {:?}", party.hop, old(party, last)));
        }
    }
    watching.shutdown().await;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let mut counts = Counts {
        kills: count(&done.kills),
        partitions: count(&done.partitions),
        jumps: count(&done.jumps),
        disks: count(&done.disks),
        ..Counts::default()
    };
    for (topic, load) in loads.iter().enumerate() {
        books.ask(&chain, topic, &rounds).await;
        for round in &rounds {
            books.balance(topic, *round, &load.of(*round), &mut counts);
        }
    }
    if !chain.all_heard() {
        books.wrong("somebody went past the relays".into());
    }
    for party in &chain.parties {
        for line in party.said().lines().filter(|line| bad(line)) {
            books.wrong(format!("hop {} says: {line}", party.hop));
        }
    }
    let wrong = books.all_wrong();
    if !wrong.is_empty() {
        chain.parties.iter().for_each(|party| party.kill());
        let kept = folder.keep();
        panic!("seed {seed}, {counts}, files in {}:\n{}", kept.display(), wrong.join("\n"));
    }
    counts
}

/// Prints a line, also where tests that pass are not heard.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Starts again what could not start on a disk that was not sound, and tells of everything else
/// that ended by itself.
async fn supervise(chain: Arc<Chain>, books: Arc<Books>) {
    loop {
        for party in &chain.parties {
            if let Err(what) = party.supervise() {
                books.wrong(what);
            }
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Looks at everybody, again and again.
async fn look(chain: Arc<Chain>, books: Arc<Books>) {
    for turn in 0_u64.. {
        let begun = chain.round(now()).unwrap_or(0);
        // All releases come at once, which takes long to read.
        for topic in if turn.is_multiple_of(5) { 0..2 } else { 0..1 } {
            let unseen: Vec<u64> =
                (0..begun).filter(|round| books.end(topic, *round).is_none()).collect();
            books.ask(&chain, topic, &unseen).await;
        }
        for hop in 1..=3 {
            books.timely(&chain, hop).await;
        }
        sleep(Duration::from_millis(300)).await;
    }
}

async fn all_answer(chain: &Chain) -> bool {
    for party in &chain.parties {
        let url = format!("http://{}/healthz", party.address);
        if !get(&url).await.is_ok_and(|answer| answer.status().is_success()) {
            return false;
        }
    }
    true
}

/// The windows up to a round of which a party holds the key.
fn old(party: &Party, last: u64) -> Vec<u64> {
    party.secrets().into_iter().filter(|window| *window <= last).collect()
}

/// True if a line of the log tells of what must never be.
fn bad(line: &str) -> bool {
    line.contains("panicked") || line.contains("the next party has another batch")
}

/// Asks again and again; false if it never holds within the time.
async fn within(time: Duration, mut holds: impl AsyncFnMut() -> bool) -> bool {
    let end = Instant::now() + time;
    loop {
        if holds().await {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// The number of clients that post at the same time.
const CLIENTS: u64 = 2;

/// How long faults come, in a run that is part of all tests and in a long one.
const BRIEF: Duration = Duration::from_secs(24);
const LONG: Duration = Duration::from_mins(2);

/// How long to wait at most: for the first answers, for a round after the faults, for the ends of
/// all rounds and of their keys.
const START: Duration = Duration::from_mins(1);
const CALM: Duration = Duration::from_mins(3);
const SETTLE: Duration = Duration::from_mins(1);
