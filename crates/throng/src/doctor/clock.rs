//! A comparison of two clocks, from the `Date` of an answer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds since 1970 here.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The least number of seconds that another clock is ahead (behind, if negative), when it said
/// `date` between `asked` and `answered` by ours. Its date has whole seconds, so that 0 covers a
/// second and the time on the way.
pub fn ahead(date: u64, asked: f64, answered: f64) -> f64 {
    let (least, most) = (date as f64 - answered, (date + 1) as f64 - asked);
    if least > 0.0 { least } else { most.min(0.0) }
}

/// Seconds since 1970 of a `Date` header (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn parse(date: &str) -> Option<u64> {
    let time = httpdate::parse_http_date(date).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// A time for people: `2026-01-31 08:49:37 UTC`.
pub fn shown(time: u64) -> String {
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(time));
    time.to_string().replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted day by day, with the rule for leap years as everybody knows it.
    #[test]
    fn times_follow_the_calendar() {
        let mut expected = 0;
        for year in 1970..2500 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            for (month, length) in (1..).zip(lengths) {
                for day in 1..=length {
                    let date = format!("{year}-{month:02}-{day:02} 23:59:59 UTC");
                    assert_eq!(shown(expected * 86_400 + 86_399), date);
                    expected += 1;
                }
            }
        }
    }

    #[test]
    fn dates_of_answers_are_read() {
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(parse("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        for wrong in ["", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 25:00:00 GMT"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_second_and_the_way_are_no_difference() {
        // Said in the second 100, asked at 99.5 and heard at 100.5, or the other way about.
        assert_eq!(ahead(100, 99.5, 100.5), 0.0);
        assert_eq!(ahead(100, 100.2, 100.3), 0.0);
        assert_eq!(ahead(100, 100.9, 101.0), 0.0);
        assert_eq!(ahead(110, 100.0, 100.5), 9.5);
        assert_eq!(ahead(90, 100.0, 100.5), -9.0);
    }
}
