//! Work spread over all cores, the same whatever their number.

use anyhow::Result;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use zeroize::Zeroizing;

/// Does units 0..`units`, each with a generator of its own that depends on `seed` and the unit
/// alone, and returns their results in order. A progress bar on standard error says how far it is.
pub fn spread<T: Send>(
    what: &'static str,
    units: u64,
    seed: u64,
    work: impl Fn(u64, &mut ChaCha12Rng) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let bar = ProgressBar::new(units).with_prefix(what);
    let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent} %, {eta} left");
    bar.set_style(style.expect("a constant template"));
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(u64, Result<T>)> = thread::scope(|scope| {
        let run = || {
            let mut mine = Vec::new();
            loop {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= units {
                    return mine;
                }
                let mut rng = generator(seed, unit);
                mine.push((unit, work(unit, &mut rng)));
                bar.inc(1);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("a worker that does not panic")).collect()
    });
    bar.finish_and_clear();
    done.sort_by_key(|(unit, _)| *unit);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The generator of one unit.
pub fn generator(seed: u64, unit: u64) -> ChaCha12Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&unit.to_le_bytes());
    ChaCha12Rng::from_seed(key)
}

/// A generator with 32 bytes of the operating system as its seed, as a device would have.
pub fn fresh_generator() -> Result<ChaCha12Rng> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key)?;
    Ok(ChaCha12Rng::from_seed(*key))
}

/// The seed asked for, or a fresh one from the operating system.
pub fn seed(asked: Option<u64>) -> Result<u64> {
    match asked {
        Some(seed) => Ok(seed),
        // Small enough that JSON readers take it for an integer.
        None => Ok(getrandom::u64()? >> 11),
    }
}
