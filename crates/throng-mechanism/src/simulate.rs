//! Encode, shuffle, analyze, in process.

use crate::{Error, Mechanism, Tally, Values, sample};
use rand_core::CryptoRng;

/// Runs the users of `range` through the real encoder, permutes their messages, and counts them.
///
/// Users are taken in groups of a few thousand, each group permuted by itself. The tally depends on
/// the bag alone, so this is the tally of one great permutation, in little memory; tallies of
/// several ranges, from several threads, are merged.
pub fn simulate(
    mechanism: &Mechanism,
    values: &Values,
    range: std::ops::Range<usize>,
    rng: &mut impl CryptoRng,
) -> Result<Tally, Error> {
    let mut tally = mechanism.tally();
    let mut bag = Vec::new();
    for first in range.clone().step_by(GROUP) {
        bag.clear();
        for user in first..range.end.min(first + GROUP) {
            mechanism.encode(values.get(user), rng, &mut bag)?;
        }
        sample::shuffle(&mut bag, mechanism.words(), rng);
        mechanism.absorb(&mut tally, &bag);
    }
    Ok(tally)
}

const GROUP: usize = 4_096;
