//! A machine-independent measure of effort: how many terms of a law the kernels have visited.

use std::cell::Cell;

thread_local!(static TERMS: Cell<u64> = const { Cell::new(0) });

/// Runs something, and returns beside its result how many terms (probabilities or
/// characteristic-function values) it has evaluated: its cost, the same on every machine.
///
/// ```
/// use throng_account::profile::BitSum;
/// use throng_account::{Crowd, Epsilon, Profile, measured};
///
/// let sum = BitSum::new(Crowd::new(1_000_000)?, 100.0)?;
/// let epsilon = Epsilon::new(1.0)?;
/// // A million users do not take a million terms.
/// let (_, cost) = measured(|| sum.delta(epsilon));
/// assert!(0 < cost && cost < 100_000);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn measured<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let begin = terms_visited();
    let result = run();
    (result, terms_visited() - begin)
}

/// Terms evaluated by this thread so far.
pub(crate) fn terms_visited() -> u64 {
    TERMS.get()
}

pub(crate) fn count(terms: u64) {
    TERMS.set(TERMS.get() + terms);
}
