//! Ticks of an axis of dates: at round times of the day, days, months or years, all UTC.

/// A date of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
}

/// The distance from one tick to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stride {
    /// So many seconds, a part of a day.
    Seconds(i64),
    /// So many days from the first of each month on, where that leaves room before the next.
    Days(i64),
    /// So many months, a part of a year.
    Months(i64),
    /// So many years.
    Years(i64),
}

impl Stride {
    /// The finest of which no more than this many lie in so many seconds.
    pub(crate) fn of(width: f64, most: f64) -> Self {
        let fits = |stride: &Self| width / stride.seconds() <= most;
        STRIDES.into_iter().find(fits).unwrap_or_else(|| {
            // 1, 2 or 5 times a power of ten years.
            let mut years = 10;
            while width / Self::Years(years).seconds() > most {
                years = if years.to_string().starts_with('2') { years / 2 * 5 } else { years * 2 };
            }
            Self::Years(years)
        })
    }

    /// Its length, about.
    fn seconds(self) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds as f64,
            Self::Days(days) => days as f64 * DAY as f64,
            Self::Months(months) => months as f64 * 30.4 * DAY as f64,
            Self::Years(years) => years as f64 * 365.25 * DAY as f64,
        }
    }

    /// The ticks between two moments, both included, with their labels. The first tick of a day, a
    /// year or the axis says which one it is; the others say what changes.
    pub(crate) fn ticks(self, from: f64, to: f64) -> Vec<(f64, String)> {
        let (from, to) = (from.ceil() as i64, to.floor() as i64);
        let mut ticks = Vec::new();
        let mut before: Option<Date> = None;
        for moment in self.moments(from, to) {
            let date = Date::of(moment.div_euclid(DAY));
            let new_day = before.is_none_or(|before| before != date);
            let new_year = before.is_none_or(|before| before.year != date.year);
            let label = match self {
                Self::Seconds(step) => {
                    let time = clock(moment.rem_euclid(DAY), step);
                    if new_day { format!("{} {time}", date.short(new_year)) } else { time }
                }
                Self::Days(_) => date.short(new_year),
                Self::Months(_) if new_year => format!("{} {}", date.name(), date.year),
                Self::Months(_) => date.name().to_owned(),
                Self::Years(_) => date.year.to_string(),
            };
            ticks.push((moment as f64, label));
            before = Some(date);
        }
        ticks
    }

    /// The moments of the ticks.
    fn moments(self, from: i64, to: i64) -> Vec<i64> {
        let inside = |moment: &i64| (from..=to).contains(moment);
        let (first, last) = (Date::of(from.div_euclid(DAY)), Date::of(to.div_euclid(DAY)));
        let months = |step: i64| {
            let of = |date: Date| date.year * 12 + date.month - 1;
            (of(first).div_euclid(step)..=of(last).div_euclid(step)).map(move |month| {
                let month = month * step;
                Date { year: month.div_euclid(12), month: month.rem_euclid(12) + 1, day: 1 }
            })
        };
        match self {
            Self::Seconds(step) => (from.div_euclid(step)..=to.div_euclid(step))
                .map(|at| at * step)
                .filter(inside)
                .collect(),
            Self::Days(step) => months(1)
                .flat_map(|month| {
                    let days = (0..31 / step).map(move |at| at * step);
                    // Days that would crowd the first of the next month are left out.
                    let room = month.length() - step / 2;
                    days.filter(move |day| *day < room.max(1))
                        .map(move |day| (month.days() + day) * DAY)
                })
                .filter(inside)
                .collect(),
            Self::Months(step) => {
                months(step).map(|date| date.days() * DAY).filter(inside).collect()
            }
            Self::Years(step) => {
                months(12 * step).map(|date| date.days() * DAY).filter(inside).collect()
            }
        }
    }
}

impl Date {
    /// The date so many days after 1970-01-01.
    pub(crate) fn of(days: i64) -> Self {
        let days = days + 719_468;
        let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let number = if month < 10 { month + 3 } else { month - 9 };
        let year = 400 * era + year + i64::from(number <= 2);
        Self { year, month: number, day: day - (153 * month + 2) / 5 + 1 }
    }

    /// Days after 1970-01-01.
    pub(crate) fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let month = (self.month + 9) % 12;
        let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
        let day = (153 * month + 2) / 5 + self.day - 1;
        era * 146_097 + year * 365 + year / 4 - year / 100 + day - 719_468
    }

    /// The days of its month.
    fn length(self) -> i64 {
        let next = match self.month {
            12 => Self { year: self.year + 1, month: 1, day: 1 },
            month => Self { month: month + 1, day: 1, ..self },
        };
        next.days() - Self { day: 1, ..self }.days()
    }

    fn name(self) -> &'static str {
        MONTHS[(self.month - 1).clamp(0, 11) as usize]
    }

    /// Day and month, and the year if asked for.
    fn short(self, year: bool) -> String {
        let text = format!("{} {}", self.day, self.name());
        if year { format!("{text} {}", self.year) } else { text }
    }
}

/// A moment in words.
pub(crate) fn moment(seconds: f64) -> String {
    let seconds = seconds.round() as i64;
    let date = Date::of(seconds.div_euclid(DAY));
    format!("{} {} UTC", date.short(true), clock(seconds.rem_euclid(DAY), 60))
}

/// A time of the day, with seconds where steps are shorter than a minute.
fn clock(second: i64, step: i64) -> String {
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    if step < 60 {
        format!("{hour:02}:{minute:02}:{:02}", second % 60)
    } else {
        format!("{hour:02}:{minute:02}")
    }
}

const DAY: i64 = 86_400;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Strides up to years, the finest first.
const STRIDES: [Stride; 24] = [
    Stride::Seconds(1),
    Stride::Seconds(2),
    Stride::Seconds(5),
    Stride::Seconds(10),
    Stride::Seconds(15),
    Stride::Seconds(30),
    Stride::Seconds(60),
    Stride::Seconds(2 * 60),
    Stride::Seconds(5 * 60),
    Stride::Seconds(10 * 60),
    Stride::Seconds(15 * 60),
    Stride::Seconds(30 * 60),
    Stride::Seconds(3_600),
    Stride::Seconds(3 * 3_600),
    Stride::Seconds(6 * 3_600),
    Stride::Seconds(12 * 3_600),
    Stride::Days(1),
    Stride::Days(2),
    Stride::Days(7),
    Stride::Days(15),
    Stride::Months(1),
    Stride::Months(3),
    Stride::Years(1),
    Stride::Years(2),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_each_others_inverse_and_follow_the_calendar() {
        let mut before = Date::of(-800_001);
        for days in -800_000..800_000 {
            let date = Date::of(days);
            assert_eq!(date.days(), days);
            let next = if before.day < before.length() {
                Date { day: before.day + 1, ..before }
            } else if before.month < 12 {
                Date { month: before.month + 1, day: 1, ..before }
            } else {
                Date { year: before.year + 1, month: 1, day: 1 }
            };
            assert_eq!(date, next);
            before = date;
        }
        assert_eq!(Date::of(0), Date { year: 1970, month: 1, day: 1 });
        assert_eq!(Date::of(19_782), Date { year: 2024, month: 2, day: 29 });
    }

    #[test]
    fn spans_from_a_minute_to_centuries_have_a_few_ticks_that_say_where_they_are() {
        let start = 1_700_000_000.0;
        for minutes in [1, 5, 30, 60, 240, 1_440, 4_320, 20_160, 60_480, 200_000, 525_600] {
            for years in [1, 3, 20, 300] {
                let width = f64::from(minutes) * 60.0 * f64::from(years);
                let ticks = Stride::of(width, 8.0).ticks(start, start + width);
                assert!((2..=11).contains(&ticks.len()), "{width}: {ticks:?}");
                assert!(ticks.iter().all(|(at, _)| (start..=start + width).contains(at)));
                assert!(ticks.is_sorted_by(|a, b| a.0 < b.0), "{ticks:?}");
                // The first tick names the year.
                let year = Date::of((ticks[0].0 as i64).div_euclid(DAY)).year.to_string();
                assert!(ticks[0].1.contains(&year), "{ticks:?}");
            }
        }
    }

    #[test]
    fn labels_say_what_changes() {
        let labels = |from: f64, width: f64| -> Vec<String> {
            let ticks = Stride::of(width, 8.0).ticks(from, from + width);
            ticks.into_iter().map(|(_, label)| label).collect()
        };
        // 2023-11-14 22:13:20.
        let from = 1_700_000_000.0;
        assert_eq!(
            labels(from, 4.0 * 3_600.0),
            [
                "14 Nov 2023 22:30",
                "23:00",
                "23:30",
                "15 Nov 00:00",
                "00:30",
                "01:00",
                "01:30",
                "02:00"
            ]
        );
        assert_eq!(labels(from, 5.0 * 86_400.0)[..2], ["15 Nov 2023", "16 Nov"]);
        assert_eq!(labels(from, 150.0 * 86_400.0), ["Dec 2023", "Jan 2024", "Feb", "Mar", "Apr"]);
        assert_eq!(labels(from, 5.0 * 365.25 * 86_400.0), ["2024", "2025", "2026", "2027", "2028"]);
        assert_eq!(moment(from), "14 Nov 2023 22:13 UTC");
    }
}
