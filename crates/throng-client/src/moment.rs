//! The moment to send.

use rand_core::CryptoRng;
use std::time::Duration;
use throng_mechanism::sample;
use throng_wire::Schedule;

/// The wait from `now`, in seconds since 1970, before sending the report of an epoch: a uniform
/// moment in what is left of it. The moment then tells nothing about when a value came to be, and a
/// crowd does not arrive all at once. Zero when the epoch is over, in the grace after it.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use std::time::Duration;
/// use throng_client::jitter;
/// use throng_wire::{Below, Schedule};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
///
/// // Epoch 2 lies between the seconds 1200 and 1300.
/// let schedule = Schedule { start: 1000, every: 100, grace: 10, below: Below::Expire };
/// let wait = jitter(&schedule, 2, 1250, &mut rng);
/// assert!(wait < Duration::from_secs(50));
///
/// let early = jitter(&schedule, 2, 1000, &mut rng);
/// assert!((Duration::from_secs(200)..Duration::from_secs(300)).contains(&early));
/// assert_eq!(jitter(&schedule, 2, 1305, &mut rng), Duration::ZERO);
/// ```
pub fn jitter(schedule: &Schedule, epoch: u64, now: u64, rng: &mut impl CryptoRng) -> Duration {
    let from = schedule.start_of(epoch).max(now);
    let left = schedule.start_of(epoch.saturating_add(1)).saturating_sub(from);
    let within = match left.saturating_mul(NANOSECONDS) {
        0 => 0,
        nanoseconds => sample::below(nanoseconds, rng),
    };
    Duration::from_secs(from - now).saturating_add(Duration::from_nanos(within))
}

const NANOSECONDS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, rng};

    #[test]
    fn the_moment_lies_in_what_is_left_of_the_epoch() {
        let schedule = World::of_bits().collection.schedule;
        let mut rng = rng(1);
        // Epoch 2 is from 1200 to 1300.
        for (now, from, to) in [(1000, 200, 300), (1200, 0, 100), (1290, 0, 10)] {
            let mut halves = [0; 2];
            for _ in 0..200 {
                let wait = jitter(&schedule, 2, now, &mut rng);
                assert!((Duration::from_secs(from)..Duration::from_secs(to)).contains(&wait));
                halves[usize::from(wait >= Duration::from_secs(u64::midpoint(from, to)))] += 1;
            }
            // Below 40 of 200 fair coins: less than e^−36, by Hoeffding's inequality.
            assert!(halves.iter().all(|count| *count >= 40), "{halves:?}");
        }
        for now in [1300, 1305, u64::MAX] {
            assert_eq!(jitter(&schedule, 2, now, &mut rng), Duration::ZERO);
        }
    }
}
