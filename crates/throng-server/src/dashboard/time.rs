//! Times and epochs as people read them.

use std::fmt;
use std::time::{Duration, SystemTime};
use throng_wire::Schedule;

/// Seconds since 1970 as a date and a time of day, UTC.
pub struct Moment(pub u64);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > LAST {
            return f.write_str("never");
        }
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.0);
        let text = humantime::format_rfc3339_seconds(time).to_string().replace('T', " ");
        // The year 9999 has as many letters as every other; those of the seconds are cut off.
        write!(f, "{text:.16}")
    }
}

/// The epochs of a release: one, or several that were merged.
pub struct Epochs(pub u64, pub u64);

impl fmt::Display for Epochs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(first, last) = self;
        if first == last { write!(f, "{first}") } else { write!(f, "{first}–{last}") }
    }
}

/// A number of seconds, shown in the largest unit of which it holds at least one.
pub struct Span(pub u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
        let found = units.iter().find(|(each, _)| self.0 >= *each);
        let (each, unit) = found.unwrap_or(&(1, "second"));
        let count = self.0 / each;
        write!(f, "{count} {unit}{}", if count == 1 { "" } else { "s" })
    }
}

/// The state of a schedule of which no epoch is running.
pub fn rest(schedule: &Schedule, now: u64) -> String {
    if now < schedule.start { format!("begins {}", Moment(schedule.start)) } else { "over".into() }
}

/// The part of an epoch that is over, from 0 to 1.
pub fn elapsed(schedule: &Schedule, epoch: u64, now: u64) -> f64 {
    let begun = now.saturating_sub(schedule.start_of(epoch)) as f64;
    (begun / schedule.every.max(1) as f64).clamp(0.0, 1.0)
}

/// The last second of the year 9999.
const LAST: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_epochs_read_well() {
        assert_eq!(Moment(1_700_000_000).to_string(), "2023-11-14 22:13");
        assert_eq!(Moment(u64::MAX).to_string(), "never");
        assert_eq!(
            (Epochs(3, 3).to_string(), Epochs(3, 5).to_string()),
            ("3".into(), "3–5".into())
        );
        for (seconds, text) in
            [(0, "0 seconds"), (59, "59 seconds"), (60, "1 minute"), (172_799, "1 day")]
        {
            assert_eq!(Span(seconds).to_string(), text);
        }
    }
}
