//! Work spread over all cores, the same whatever their number.

use crate::progress::Progress;
use anyhow::Result;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use zeroize::Zeroizing;

/// Does units 0..`units`, each with a generator of its own that depends on `seed` and the unit
/// alone, and returns their results in order. Standard error says how far it is.
pub fn spread<T: Send>(
    what: &'static str,
    units: u64,
    seed: u64,
    work: impl Fn(u64, &mut ChaCha12Rng) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    spread_until(what, units, seed, || false, work)
}

/// Does as [`spread`] until it is to stop. The results are then those of the first units, as far as
/// none is missing.
pub fn spread_until<T: Send>(
    what: &'static str,
    units: u64,
    seed: u64,
    stop: impl Fn() -> bool + Sync,
    work: impl Fn(u64, &mut ChaCha12Rng) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let bar = Progress::of(units, what, "{percent} %, {eta} left");
    let next = AtomicU64::new(0);
    let run = |_| {
        let mut mine = Vec::new();
        loop {
            let unit = next.fetch_add(1, Ordering::Relaxed);
            if unit >= units || stop() {
                return mine;
            }
            mine.push((unit, work(unit, &mut generator(seed, unit))));
            bar.inc(1);
        }
    };
    let mut done: Vec<(u64, Result<T>)> = on(cores(), run).into_iter().flatten().collect();
    drop(bar);
    done.sort_by_key(|(unit, _)| *unit);
    let whole = done.into_iter().zip(0..).take_while(|((unit, _), place)| unit == place);
    whole.map(|((_, result), _)| result).collect()
}

/// The results of `threads` threads that work at the same time, each given its number.
pub fn on<T: Send>(threads: usize, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let numbers = 0..threads as u64;
        let workers: Vec<_> = numbers.map(|number| scope.spawn(move || work(number))).collect();
        workers.into_iter().map(|w| w.join().expect("a worker that does not panic")).collect()
    })
}

/// Cores of this machine.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
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

/// A word that is said once the user interrupts. A second interruption ends the program.
pub fn interruption() -> Result<Arc<AtomicBool>> {
    let said = Arc::new(AtomicBool::new(false));
    let (mine, runtime) =
        (said.clone(), tokio::runtime::Builder::new_current_thread().enable_all().build()?);
    thread::spawn(move || {
        runtime.block_on(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                mine.store(true, Ordering::Relaxed);
                let _ = tokio::signal::ctrl_c().await;
                std::process::exit(130);
            }
        });
    });
    Ok(said)
}

/// The seed asked for, or a fresh one from the operating system.
pub fn seed(asked: Option<u64>) -> Result<u64> {
    // Small enough that JSON readers take it for an integer.
    asked.map_or_else(|| Ok(getrandom::u64()? >> 11), Ok)
}
