//! Rates: how many of something a second.

use crate::parallel::{cores, on};
use crate::report::Printable;
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

/// The rate of one thread, and the sum of the rates of as many as there are cores.
pub fn one_and_all(rate: impl Fn(u64) -> f64 + Sync) -> (f64, f64) {
    (on(1, &rate).iter().sum(), all_cores(&rate))
}

/// The sum of the rates of as many threads as there are cores.
pub fn all_cores(rate: impl Fn(u64) -> f64 + Sync) -> f64 {
    on(cores(), rate).iter().sum()
}

/// A rate that people read in millions.
pub fn millions(rate: f64) -> Printable {
    Printable::new(rate, in_millions(rate))
}

/// A rate in millions, with three digits.
pub fn in_millions(rate: f64) -> String {
    let rate = rate / 1e6;
    if rate < 10.0 { format!("{rate:.2}") } else { format!("{rate:.0}") }
}
