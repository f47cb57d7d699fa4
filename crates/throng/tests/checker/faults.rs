//! Faults, drawn from a seed: kills, partitions, jumps of a wall clock, and disks that fail.

use crate::chain::Chain;
use crate::party::Disk;
use crate::relay::Link;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// The faults so far.
#[derive(Debug, Default)]
pub struct Done {
    pub kills: AtomicU64,
    pub partitions: AtomicU64,
    pub jumps: AtomicU64,
    pub disks: AtomicU64,
}

/// One fault with everything that was drawn for it.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill { hop: u8, down: Duration },
    Partition { links: [(u8, u8); 2], link: Link, time: Duration },
    Jump { hop: u8, seconds: i64, restarts: bool, time: Duration },
    Disk { hop: u8, disk: Disk, time: Duration },
}

/// Things that one fault at a time does to a chain.
#[derive(Default)]
struct Turns {
    /// Stopping and starting a party, by hop from 0.
    process: [Mutex<()>; 3],
    disk: [Mutex<()>; 3],
    /// One clock at a time is wrong: two of three would be the majority.
    clock: Mutex<()>,
}

/// Draws and does faults until a time. When it returns, all of them are over.
pub async fn trouble(chain: &Arc<Chain>, done: &Arc<Done>, rng: &mut ChaCha12Rng, until: Instant) {
    let (turns, mut under_way) = (Arc::new(Turns::default()), JoinSet::new());
    while Instant::now() < until {
        for fault in deck(rng) {
            sleep(between(rng, 100..700)).await;
            if Instant::now() >= until {
                break;
            }
            under_way.spawn(happen(chain.clone(), done.clone(), turns.clone(), fault));
        }
        while under_way.try_join_next().is_some() {}
    }
    while let Some(happened) = under_way.join_next().await {
        happened.unwrap();
    }
}

async fn happen(chain: Arc<Chain>, done: Arc<Done>, turns: Arc<Turns>, fault: Fault) {
    let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
    match fault {
        Fault::Kill { hop, down } => {
            let _turn = turns.process[usize::from(hop) - 1].lock().await;
            chain.party(hop).kill();
            sleep(down).await;
            chain.party(hop).start();
            count(&done.kills);
        }
        Fault::Partition { links, link, time } => {
            let set = |link| {
                for (from, to) in links {
                    chain.link(from, to, link);
                }
            };
            set(link);
            sleep(time).await;
            set(Link::Open);
            count(&done.partitions);
        }
        Fault::Jump { hop, seconds, restarts, time } => {
            let Ok(_clock) = turns.clock.try_lock() else { return };
            if restarts {
                let _turn = turns.process[usize::from(hop) - 1].lock().await;
                chain.party(hop).kill();
                chain.party(hop).set_clock(seconds);
                chain.party(hop).start();
                count(&done.kills);
            } else {
                chain.party(hop).set_clock(seconds);
            }
            sleep(time).await;
            chain.party(hop).set_clock(0);
            count(&done.jumps);
        }
        Fault::Disk { hop, disk, time } => {
            let Ok(_disk) = turns.disk[usize::from(hop) - 1].try_lock() else { return };
            let party = chain.party(hop);
            let before = party.refused();
            party.set_disk(disk);
            sleep(time).await;
            party.set_disk(Disk::Sound);
            // One that nobody met is none.
            if party.refused() > before {
                count(&done.disks);
            }
        }
    }
}

/// Faults of every kind in an order that is drawn.
fn deck(rng: &mut ChaCha12Rng) -> Vec<Fault> {
    let mut deck = Vec::new();
    for kind in 0..DECK {
        let fault = match kind {
            0..3 => partition(rng),
            3..6 => jump(rng),
            6..9 => disk(rng),
            _ => kill(rng),
        };
        let place = below(rng, deck.len() as u64 + 1) as usize;
        deck.insert(place, fault);
    }
    deck
}

fn kill(rng: &mut ChaCha12Rng) -> Fault {
    let down = if below(rng, 4) == 0 { between(rng, 0..3_000) } else { Duration::ZERO };
    Fault::Kill { hop: hop(rng), down }
}

fn partition(rng: &mut ChaCha12Rng) -> Fault {
    let to = hop(rng);
    // Clients talk to the first mix only.
    let others: Vec<u8> = (0..=3).filter(|from| *from != to && (*from > 0 || to == 1)).collect();
    let from = others[below(rng, others.len() as u64) as usize];
    let both = from > 0 && below(rng, 2) == 0;
    let links = [(from, to), if both { (to, from) } else { (from, to) }];
    let link = match below(rng, 5) {
        0 => Link::Refused,
        1 => Link::Silent { there: true, back: true },
        2 => Link::Silent { there: true, back: false },
        3 => Link::Silent { there: false, back: true },
        _ => Link::Cut { after: below(rng, 400) as usize },
    };
    Fault::Partition { links, link, time: between(rng, 200..3_500) }
}

fn jump(rng: &mut ChaCha12Rng) -> Fault {
    let seconds = JUMPS[below(rng, JUMPS.len() as u64) as usize];
    let seconds = if below(rng, 2) == 0 { seconds } else { -seconds };
    let restarts = below(rng, 3) == 0;
    // The first mix is the one that closes.
    let hop = if below(rng, 2) == 0 { 1 } else { hop(rng) };
    Fault::Jump { hop, seconds, restarts, time: between(rng, 300..4_000) }
}

fn disk(rng: &mut ChaCha12Rng) -> Fault {
    let disk = if below(rng, 2) == 0 { Disk::Full } else { Disk::Failing };
    Fault::Disk { hop: hop(rng), disk, time: between(rng, 300..3_000) }
}

fn hop(rng: &mut ChaCha12Rng) -> u8 {
    1 + below(rng, 3) as u8
}

fn between(rng: &mut ChaCha12Rng, range: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(range.start + below(rng, range.end - range.start))
}

fn below(rng: &mut ChaCha12Rng, end: u64) -> u64 {
    rng.next_u64() % end
}

/// The number of faults of which three are partitions, three jumps, three of a disk, and the rest
/// kills.
const DECK: u64 = 24;

/// Seconds by which a clock jumps: less than is noticed, and up to a year.
const JUMPS: [i64; 9] = [1, 5, 15, 25, 60, 300, 3_600, 86_400, 31_536_000];
