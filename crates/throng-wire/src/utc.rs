//! Moments as text.

use std::fmt;

/// Seconds since 1970-01-01 UTC, shown as RFC 3339 has them.
///
/// ```
/// use throng_wire::Utc;
///
/// assert_eq!(Utc(1_700_000_000).to_string(), "2023-11-14T22:13:20Z");
/// assert_eq!(Utc(0).to_string(), "1970-01-01T00:00:00Z");
/// // Years have four digits; the last second that has some stands for all later ones.
/// assert_eq!(Utc(u64::MAX).to_string(), "9999-12-31T23:59:59Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utc(pub u64);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.min(LAST);
        let (days, time) = (seconds / DAY, seconds % DAY);
        let (year, month, day) = date(days);
        let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Year, month and day of the day so many days after 1970-01-01.
///
/// ```text
/// years begin in March, so that the leap day is their last;  400 years have 146097 days
/// month m from March on begins (153·m + 2) / 5 days after its year does
/// ```
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let number = if month < 10 { month + 3 } else { month - 9 };
    (400 * era + year + u64::from(number <= 2), number, day - (153 * month + 2) / 5 + 1)
}

const DAY: u64 = 86_400;

/// The last second of the year 9999.
const LAST: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every day of eight thousand years, counted one by one by the rule of the calendar.
    #[test]
    fn every_day_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..=LAST / DAY {
            assert_eq!(date(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (10_000, 1, 1));
    }
}
