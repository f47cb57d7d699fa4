//! A comparison of two clocks, from the `Date` of an answer.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970 here.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The least number of seconds that another clock is ahead (behind, if negative), when it said
/// `date` between `asked` and `answered` by ours. Its date has whole seconds, so that 0 covers a
/// second and the time on the way.
pub fn ahead(date: u64, asked: f64, answered: f64) -> f64 {
    let (least, most) = (date as f64 - answered, (date + 1) as f64 - asked);
    if least > 0.0 {
        least
    } else if most < 0.0 {
        most
    } else {
        0.0
    }
}

/// Seconds since 1970 of a `Date` header (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn parse(date: &str) -> Option<u64> {
    let mut words = date.strip_suffix(" GMT")?.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut time = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (time.next()??, time.next()??, time.next()??);
    let fine = words.next().is_none()
        && (1..=31).contains(&day)
        && (1970..10_000).contains(&year)
        && hours < 24
        && minutes < 60
        && seconds <= 60;
    fine.then(|| days(year, month, day) * 86_400 + hours * 3_600 + minutes * 60 + seconds)
}

/// A time for people: `2026-01-31 08:49:37 UTC`.
pub fn shown(time: u64) -> String {
    let (day, clock) = (time / 86_400, time % 86_400);
    let mut year = 1970 + day / 366;
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let month = (2..=12).rev().find(|month| days(year, *month, 1) <= day).unwrap_or(1);
    let day = day - days(year, month, 1) + 1;
    let (hours, minutes, seconds) = (clock / 3_600, clock / 60 % 60, clock % 60);
    format!("{year}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02} UTC")
}

/// Days from 1970 to a date: years are counted from March, so that a leap day is the last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - TO_1970
}

/// Days from 1 March of the year 0 to 1 January 1970.
const TO_1970: u64 = 719_468;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted day by day, with the rule for leap years as everybody knows it.
    #[test]
    fn days_follow_the_calendar() {
        let mut expected = 0;
        for year in 1970..2500 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            for (month, length) in (1..).zip(lengths) {
                for day in 1..=length {
                    assert_eq!(days(year, month, day), expected);
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
