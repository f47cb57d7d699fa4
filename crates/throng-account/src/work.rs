//! A machine-independent measure of effort: how many terms of a law the kernels have visited.

use std::cell::Cell;

thread_local!(static TERMS: Cell<u64> = const { Cell::new(0) });

/// Terms (probabilities or characteristic-function values) evaluated by this thread so far.
///
/// The difference of two readings is the cost of what lies between, the same on every machine.
pub fn terms_visited() -> u64 {
    TERMS.get()
}

pub(crate) fn count(terms: u64) {
    TERMS.set(TERMS.get() + terms);
}
