//! Losses as a party tells them: rounded at random, so that hardly anything shows of one record.
//!
//! Whoever sends copies of somebody's report, altered or not, would learn from exact counts what
//! became of it. What is told is therefore a multiple of s = [`STEP`]:
//!
//! ```text
//! told = s·⌊(loss + u)/s⌋          u uniform in 0 … s − 1
//! ```
//!
//! Its mean over u is the loss, and one loss more changes it for exactly one u in s: two courses of
//! events that differ in one lost record are told apart from it with an advantage of 1/s, and with
//! one of k/s if they differ in k. No loss is told as 0. u is drawn once for every count of every
//! slot, by HKDF from the secret of the window: counted again after a crash it is the same, nobody
//! else knows it, and it is gone with the keys.

use crate::store::expand;
use aws_lc_rs::hkdf::{self, HKDF_SHA256};
use throng_wire::{LayerSecret, Loss};

/// The rounding of the losses of one slot at one party.
///
/// ```
/// use throng_mix::{Rounding, STEP};
/// use throng_wire::{LayerSecret, Loss};
///
/// let rounding = Rounding::derive(&LayerSecret::from_bytes(&[1; 32]), 7, 2);
/// let told = rounding.loss(Loss { replayed: 0, malformed: 250 });
/// assert_eq!(told.replayed, 0);
/// assert!(told.malformed == 200 || told.malformed == 300);
/// assert_eq!(rounding.nonsense(3 * STEP), 3 * STEP);
/// ```
pub struct Rounding {
    replayed: u64,
    malformed: u64,
    nonsense: u64,
}

impl Rounding {
    /// The rounding at a hop of the slot that begins with an epoch, from the secret of its window.
    pub fn derive(secret: &LayerSecret, first: u64, hop: u8) -> Self {
        let window = hkdf::Salt::new(HKDF_SHA256, LABEL).extract(secret.as_bytes());
        let offset = |count: u8| {
            let bytes = expand(&window, &[&first.to_be_bytes(), &[hop, count]]);
            let wide = bytes[..16].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
            // Of 128 bits the remainder is uniform but for one part in 2^121.
            (wide % u128::from(STEP)) as u64
        };
        Self { replayed: offset(1), malformed: offset(2), nonsense: offset(3) }
    }

    /// The records that a party left out, as it tells them.
    pub fn loss(&self, exact: Loss) -> Loss {
        Loss {
            replayed: told(exact.replayed, self.replayed),
            malformed: told(exact.malformed, self.malformed),
        }
    }

    /// The messages that no client sends, as the analyzer tells them.
    pub fn nonsense(&self, exact: u64) -> u64 {
        told(exact, self.nonsense)
    }
}

fn told(exact: u64, offset: u64) -> u64 {
    exact.saturating_add(offset) / STEP * STEP
}

/// The step of losses that are told.
pub const STEP: u64 = 100;

const LABEL: &[u8] = b"throng/1 loss";

#[cfg(test)]
mod tests {
    use super::*;

    // Exact, over all u.
    #[test]
    fn what_is_told_is_unbiased_and_one_loss_more_changes_it_for_one_offset_in_a_hundred() {
        for loss in 0..5 * STEP {
            let all = || (0..STEP).map(|offset| told(loss, offset));
            assert_eq!(all().sum::<u64>(), STEP * loss, "the mean is the loss");
            assert!(all().all(|told| told.is_multiple_of(STEP) && told.abs_diff(loss) < STEP));
            for more in [1, 2, 7, STEP - 1] {
                let changed = (0..STEP).filter(|u| told(loss, *u) != told(loss + more, *u));
                assert_eq!(changed.count() as u64, more, "{loss} and {more} more");
            }
        }
        assert!((0..STEP).all(|offset| told(0, offset) == 0), "nothing lost is told as nothing");
        assert_eq!(told(u64::MAX, 99), u64::MAX / STEP * STEP);
    }

    fn offsets(seed: u8, first: u64, hop: u8) -> [u64; 3] {
        let secret = LayerSecret::from_bytes(&[seed; 32]);
        let Rounding { replayed, malformed, nonsense } = Rounding::derive(&secret, first, hop);
        [replayed, malformed, nonsense]
    }

    #[test]
    fn every_count_of_every_slot_at_every_party_has_an_offset_of_its_own_and_keeps_it() {
        assert_eq!(offsets(1, 5, 2), offsets(1, 5, 2));
        // Two fair offsets are equal once in a hundred times, and 12 of 24 pairs once in 10^17.
        let differ = |other: &dyn Fn(u64) -> [u64; 3]| {
            let pairs = (0..8).flat_map(|first| {
                let (one, two) = (offsets(1, first, 2), other(first));
                [0, 1, 2].map(|count| one[count] != two[count])
            });
            assert!(pairs.filter(|differ| *differ).count() > 12);
        };
        differ(&|first| offsets(2, first, 2));
        differ(&|first| offsets(1, first + 8, 2));
        differ(&|first| offsets(1, first, 3));
        differ(&|first| {
            let [a, b, c] = offsets(1, first, 2);
            [b, c, a]
        });
    }

    // 300 cells of Bin(20,000, 1/100), each outside of 109 to 291 with probability below 6e-10
    // (exact tails): fails fair offsets with probability below 2e-7.
    #[test]
    fn offsets_are_uniform() {
        let mut seen = [[0_u32; STEP as usize]; 3];
        for first in 0..20_000 {
            for (count, offset) in offsets(9, first, 1).into_iter().enumerate() {
                seen[count][offset as usize] += 1;
            }
        }
        for times in seen.as_flattened() {
            assert!((109..=291).contains(times), "{times}");
        }
    }
}
