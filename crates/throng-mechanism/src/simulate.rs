//! Encode, shuffle, analyze, in process.

use crate::{Error, Mechanism, Tally, Values, sample};
use rand_core::CryptoRng;

/// Runs the users of `range` through the real encoder, permutes their messages, and counts them.
///
/// Users are taken in groups of a few thousand, each group permuted by itself. The tally depends on
/// the bag alone, so this is the tally of one great permutation, in little memory; tallies of
/// several ranges, from several threads, are merged.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{BinaryResponse, Mechanism, Values, simulate};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 60)?)?);
/// let values = Values::Bits((0..1_000).map(|user| user < 300).collect());
///
/// // Halves of a crowd, each counted by itself.
/// let mut tally = simulate(&mechanism, &values, 0..500, &mut rng)?;
/// tally.merge(&simulate(&mechanism, &values, 500..1_000, &mut rng)?);
/// assert_eq!(tally.reports(), 1_000);
/// let estimate = mechanism.estimate(&tally, Probability::new("confidence", 0.9999)?)[0];
/// assert!(estimate.holds(mechanism.truth(&values)[0]));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
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
