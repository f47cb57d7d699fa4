//! Rates: how many of something a second.

use std::thread;
use std::time::{Duration, Instant};

/// Items per second, when one call makes `items`: the best of several fifths of a second.
pub fn repeat(items: u64, mut call: impl FnMut()) -> f64 {
    call();
    let mut best = 0.0_f64;
    for _ in 0..3 {
        let (start, mut calls) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_millis(80) {
            call();
            calls += 1;
        }
        best = best.max((calls * items) as f64 / start.elapsed().as_secs_f64());
    }
    best
}

/// The sum of the rates of `threads` threads at once.
pub fn on(threads: usize, rate: impl Fn(u64) -> f64 + Sync) -> f64 {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|seed| {
                scope.spawn({
                    let rate = &rate;
                    move || rate(seed as u64)
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().expect("a worker that does not panic")).sum()
    })
}

/// Cores of this machine.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// A rate in millions, with three digits.
pub fn millions(rate: f64) -> String {
    let rate = rate / 1e6;
    if rate < 10.0 { format!("{rate:.2}") } else { format!("{rate:.0}") }
}
