//! A gauge that a single connection or upload moves, told so that it does not give one away.
//!
//! The number of open files tells of every connection, and the bytes that wait for the log of every
//! upload. Such a gauge is looked at once a minute at most, however often it is asked for, and then
//! rounded to a multiple of its step at random, up with a probability that makes it right on
//! average:
//!
//! ```text
//! P[told = step·(⌊x/step⌋ + 1)] = (x mod step)/step,      else told = step·⌊x/step⌋
//! ```
//!
//! Somebody who knows everything else, and fills the step up to their liking, sees one more unit
//! with probability 1/step, and cannot ask again within the minute. A fixed rounding would show it
//! for sure.

use std::sync::Mutex;
use throng_mix::lock;

/// A gauge that is told in steps.
#[derive(Default)]
pub struct Blurred(Mutex<Option<(u64, u64)>>);

impl Blurred {
    /// The value that is told at this time, of what `look` finds if it is time to look.
    pub fn tell(&self, now: u64, step: u64, look: impl FnOnce() -> u64) -> u64 {
        let (minute, mut told) = (now / MINUTE, lock(&self.0));
        match *told {
            // A clock that was set back gives no further look.
            Some((looked, value)) if minute <= looked => value,
            _ => {
                // Without randomness, nothing but whole steps.
                let random = getrandom::u64().unwrap_or(0);
                let value = rounded(look(), step, random);
                *told = Some((minute, value));
                value
            }
        }
    }
}

fn rounded(value: u64, step: u64, random: u64) -> u64 {
    let (whole, rest) = (value - value % step, value % step);
    // The remainder of 64 random bits by a step below 2³² is even to one part in 2³².
    if random % step >= step - rest { whole + step } else { whole }
}

const MINUTE: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_right_on_average_and_one_more_shows_once_in_a_step() {
        let ups = |value| (0..64).filter(|random| rounded(value, 64, *random) == 192).count();
        assert_eq!((ups(128), ups(129), ups(130), ups(191)), (0, 1, 2, 63));
        for value in 0..200 {
            let told: Vec<u64> = (0..64).map(|random| rounded(value, 64, random)).collect();
            assert!(told.iter().all(|told| told % 64 == 0 && told.abs_diff(value) < 64));
            assert_eq!(told.iter().sum::<u64>(), 64 * value);
        }
    }

    #[test]
    fn nobody_gets_a_second_look_within_the_minute() {
        let gauge = Blurred::default();
        assert_eq!(gauge.tell(600, 64, || 128), 128);
        for now in [601, 659, 0] {
            assert_eq!(gauge.tell(now, 64, || panic!("it looks")), 128);
        }
        assert_eq!(gauge.tell(660, 64, || 640), 640);
    }
}
