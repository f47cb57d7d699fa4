//! A machine-independent measure of effort: how many terms of a law the kernels have visited.

use std::cell::Cell;

thread_local!(static TERMS: Cell<u64> = const { Cell::new(0) });

/// Terms (probabilities or characteristic-function values) evaluated by this thread so far.
///
/// The difference of two readings is the cost of what lies between, the same on every machine.
///
/// ```
/// # use throng_account::profile::BitSum;
/// # use throng_account::{Crowd, Epsilon, Profile};
/// use throng_account::terms_visited;
///
/// let start = terms_visited();
/// BitSum::new(Crowd::new(1_000_000)?, 100.0)?.delta(Epsilon::new(1.0)?);
/// // A million users do not take a million terms.
/// let cost = terms_visited() - start;
/// assert!(0 < cost && cost < 100_000);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn terms_visited() -> u64 {
    TERMS.get()
}

pub(crate) fn count(terms: u64) {
    TERMS.set(TERMS.get() + terms);
}
