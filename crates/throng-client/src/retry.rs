//! Trying again: how often, and when.

use crate::{Error, Trouble};
use std::time::Duration;

/// The bounds of an upload. All of it is bounded: attempts, their time, and the waiting between.
///
/// ```
/// use std::time::Duration;
/// use throng_client::Patience;
///
/// let Patience { attempts, first, most, request } = Patience::default();
/// // Up to 2, 4, 8, 16 and 32 seconds between the six, and half a minute for each.
/// let waits: Duration = (1..attempts).map(|tried| (first * 2_u32.pow(tried - 1)).min(most)).sum();
/// assert_eq!(waits, Duration::from_secs(62));
/// assert_eq!(attempts * request + waits, Duration::from_secs(242));
///
/// let hasty = Patience { attempts: 1, ..Patience::default() };
/// assert_eq!(hasty.request, request);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Attempts in all, at least one.
    pub attempts: u32,
    /// The most that is waited after the first attempt; doubles with every further one.
    pub first: Duration,
    /// The most that is waited after any attempt; where the mix asks for a wait, as much again at
    /// most.
    pub most: Duration,
    /// Time for one attempt, from connecting to the last byte of the answer.
    pub request: Duration,
}

/// Six attempts, with up to a minute of waiting between them if the mix does not ask for more.
impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 6,
            first: Duration::from_secs(2),
            most: Duration::from_mins(1),
            request: Duration::from_secs(30),
        }
    }
}

impl Patience {
    /// The wait after this number of attempts: uniform between zero and a limit that doubles, so
    /// that a crowd which failed together does not come back together. It comes on top of what the
    /// mix asked for.
    ///
    /// `random` is uniform over all of `u64`.
    pub(crate) fn wait(&self, attempts: u32, asked: Option<Duration>, random: u64) -> Duration {
        let doubled = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        let limit = self.first.saturating_mul(doubled).min(self.most);
        let share = (limit.as_nanos() * u128::from(random)) >> 64;
        let share = Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX));
        asked.unwrap_or_default().min(self.most).saturating_add(share)
    }

    /// Tries until it is done, refused, or has been tried often enough.
    pub(crate) async fn attempt<T, F>(&self, mut request: impl FnMut() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (trouble, asked) = match request().await {
                Ok(done) => return Ok(done),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(trouble, asked)) => (trouble, asked),
            };
            if attempts >= self.attempts {
                return Err(Error::Unreachable { attempts, trouble });
            }
            // Without randomness the longest wait is as good.
            let random = getrandom::u64().unwrap_or(u64::MAX);
            tokio::time::sleep(self.wait(attempts, asked, random)).await;
        }
    }
}

/// The reason why one attempt failed.
pub(crate) enum Failure {
    /// A failure that trying again will not mend.
    Final(Error),
    /// A failure that may pass, after this time if the mix said so.
    Passing(Trouble, Option<Duration>),
}

impl Failure {
    /// The failure that an answer other than success means; `remedy` is for those that trying again
    /// does not help.
    pub fn of_status(
        status: u16,
        retry_after: Option<&str>,
        remedy: impl Fn(u16) -> &'static str,
    ) -> Self {
        match status {
            // 408: the mix gave up on a slow connection.
            408 | 429 | 500..=599 => {
                // A date instead of seconds is taken for the longest wait.
                let asked =
                    |text: &str| text.trim().parse().map_or(Duration::MAX, Duration::from_secs);
                Self::Passing(Trouble::Status(status), retry_after.map(asked))
            }
            _ => Self::Final(Error::Refused { status, remedy: remedy(status) }),
        }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        let trouble = match () {
            () if error.is_builder() => return Self::Final(Error::Address),
            () if error.is_timeout() => Trouble::Time,
            () if error.is_connect() => Trouble::Connection,
            () => Trouble::Broken,
        };
        Self::Passing(trouble, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        attempts: 4,
        first: Duration::from_secs(1),
        most: Duration::from_secs(6),
        request: Duration::from_secs(1),
    };

    #[test]
    fn waiting_doubles_up_to_the_most_and_is_anywhere_below() {
        for (attempts, limit) in [(1, 1), (2, 2), (3, 4), (4, 6), (33, 6), (u32::MAX, 6)] {
            let limit = Duration::from_secs(limit);
            assert_eq!(PATIENCE.wait(attempts, None, 0), Duration::ZERO);
            assert_eq!(PATIENCE.wait(attempts, None, 1 << 63), limit / 2);
            let longest = PATIENCE.wait(attempts, None, u64::MAX);
            assert!(longest < limit && longest > limit.mul_f64(0.999_999));
        }
    }

    #[test]
    fn what_the_mix_asks_for_is_waited_at_least_but_not_without_end() {
        let asked = |seconds| PATIENCE.wait(1, Some(Duration::from_secs(seconds)), 0);
        assert_eq!(asked(3), Duration::from_secs(3));
        assert_eq!(asked(u64::MAX), Duration::from_secs(6));
        let random = PATIENCE.wait(1, Some(Duration::from_secs(3)), 1 << 63);
        assert_eq!(random, Duration::from_millis(3500));
    }

    #[test]
    fn some_answers_pass_and_others_are_final() {
        let of = |status, after| match Failure::of_status(status, after, |_| "a remedy") {
            Failure::Final(error) => Err(error),
            Failure::Passing(trouble, asked) => Ok((trouble, asked)),
        };
        for status in [408, 429, 500, 503, 599] {
            assert_eq!(of(status, None), Ok((Trouble::Status(status), None)));
        }
        let asked = |after| of(429, Some(after)).unwrap().1.unwrap();
        assert_eq!(asked("7"), Duration::from_secs(7));
        assert_eq!(asked("Wed, 21 Oct 2015 07:28:00 GMT"), Duration::MAX);
        for status in [200, 204, 301, 400, 404, 409, 413] {
            assert_eq!(of(status, Some("7")), Err(Error::Refused { status, remedy: "a remedy" }));
        }
    }
}
