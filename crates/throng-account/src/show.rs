//! Numbers as people read them, through types that know their side.
//!
//! [`Upper`] never prints a number below its value and [`Lower`] never one above it, so that a
//! bound stays a bound on paper; [`Near`] prints the nearest number, for what is no bound;
//! [`Count`] prints a whole number. The side is decided by reading the printed decimal back and
//! comparing it, not by adding something small.
//!
//! ```
//! use throng_account::show::{Count, Lower, Near, Upper};
//!
//! let epsilon = 0.99310106;
//! assert_eq!(Upper(epsilon).to_string(), "0.9932");
//! assert_eq!(Near(epsilon).to_string(), "0.9931");
//! assert_eq!(Lower(epsilon).to_string(), "0.9931");
//! assert_eq!(Count(1_234_567).to_string(), "1,234,567");
//!
//! // The precision is the number of significant digits; whole numbers keep all of theirs.
//! assert_eq!(format!("{:.2} {:.6}", Upper(epsilon), Upper(epsilon)), "1 0.993102");
//! assert_eq!(Near(-12_345.6).to_string(), "-12,346");
//! assert_eq!(Near(2.5e-9).to_string(), "2.5e-9");
//!
//! // `#` leaves out what a program could not read: commas, and words for what is not finite.
//! assert_eq!(format!("{:#} {:#}", Near(-12_345.6), Upper(f64::INFINITY)), "-12346 inf");
//! assert_eq!(Upper(f64::INFINITY).to_string(), "unbounded");
//! ```

use std::fmt;

/// An upper bound: what is printed is not below it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Upper(pub f64);

/// A lower bound: what is printed is not above it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Lower(pub f64);

/// A number that is no bound, printed to the nearest.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Near(pub f64);

/// A whole number, its digits in groups of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

impl Upper {
    /// The least number of `digits` significant digits that is not below.
    ///
    /// ```
    /// use throng_account::show::Upper;
    ///
    /// assert_eq!((Upper(0.12341).rounded(4), Upper(12_341.0).rounded(4)), (0.1235, 12_350.0));
    /// assert_eq!(Upper(0.3).rounded(4), 0.3);
    /// ```
    pub fn rounded(self, digits: usize) -> f64 {
        rounded(self.0, Side::Above, digits)
    }

    /// The number with `places` digits after the point.
    ///
    /// ```
    /// use throng_account::show::Upper;
    ///
    /// assert_eq!(Upper(1_f64.exp()).places(2), "2.72");
    /// assert_eq!(Upper(0.5).places(3), "0.500");
    /// ```
    pub fn places(self, places: usize) -> String {
        on_side(format!("{:.places$}", self.0), self.0, Side::Above)
    }
}

impl Lower {
    /// The largest number of `digits` significant digits that is not above.
    ///
    /// ```
    /// use throng_account::show::Lower;
    ///
    /// assert_eq!((Lower(0.12349).rounded(4), Lower(99_999.0).rounded(4)), (0.1234, 99_990.0));
    /// ```
    pub fn rounded(self, digits: usize) -> f64 {
        rounded(self.0, Side::Below, digits)
    }
}

impl Near {
    /// The nearest number of `digits` significant digits.
    ///
    /// ```
    /// use throng_account::show::Near;
    ///
    /// assert_eq!((Near(0.12346).rounded(4), Near(99_999.0).rounded(4)), (0.1235, 100_000.0));
    /// ```
    pub fn rounded(self, digits: usize) -> f64 {
        rounded(self.0, Side::Either, digits)
    }
}

impl fmt::Display for Upper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.0, Side::Above)
    }
}

impl fmt::Display for Lower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.0, Side::Below)
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.0, Side::Either)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        f.write_str(&if f.alternate() { digits } else { grouped(&digits) })
    }
}

/// The side of a number on which its decimal has to lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Either,
    Below,
}

/// Writes a decimal where that is short, and a power of ten otherwise, without zeros at the end.
fn show(f: &mut fmt::Formatter<'_>, value: f64, side: Side) -> fmt::Result {
    let (plain, size) = (f.alternate(), value.abs());
    if !value.is_finite() {
        return if plain { write!(f, "{value}") } else { f.write_str("unbounded") };
    }
    let after_first = f.precision().unwrap_or(DIGITS).saturating_sub(1);
    let decimal = if plain { 1e-3..1e7 } else { 1e-4..1e15 };
    let text = if value == 0.0 || decimal.contains(&size) {
        let places = (after_first as i32 - exponent(size)).max(0) as usize;
        on_side(format!("{value:.places$}"), value, side)
    } else {
        on_side(format!("{value:.after_first$e}"), value, side)
    };
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, ""));
    let short = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    f.write_str(&if plain { short.to_owned() } else { grouped(short) })?;
    if power.is_empty() { Ok(()) } else { write!(f, "e{power}") }
}

fn rounded(value: f64, side: Side, digits: usize) -> f64 {
    if !value.is_finite() {
        return value;
    }
    let after_first = digits.saturating_sub(1);
    on_side(format!("{value:.after_first$e}"), value, side).parse().unwrap_or(value)
}

/// `nearest` is the decimal of some length that is nearest to `value`. If it lies on the wrong
/// side, the next one of that length does not.
fn on_side(nearest: String, value: f64, side: Side) -> String {
    let read: f64 = nearest.parse().unwrap_or(value);
    let text = match side {
        Side::Above if read < value => next(&nearest, value > 0.0),
        Side::Below if read > value => next(&nearest, value < 0.0),
        _ => nearest,
    };
    // A zero has no sign.
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.to_owned(),
        _ => text,
    }
}

/// One unit of the last digit further from zero, or nearer to it.
fn next(text: &str, away: bool) -> String {
    let (sign, size) = text.strip_prefix('-').map_or(("", text), |size| ("-", size));
    let (mantissa, power) = size.split_once('e').unwrap_or((size, ""));
    // The zero in front takes a carry.
    let mut digits = format!("0{mantissa}").into_bytes();
    let (last, turned) = if away { (b'9', b'0') } else { (b'0', b'9') };
    for digit in digits.iter_mut().rev().filter(|byte| byte.is_ascii_digit()) {
        if *digit != last {
            *digit = if away { *digit + 1 } else { *digit - 1 };
            break;
        }
        *digit = turned;
    }
    let digits: String = digits.into_iter().map(char::from).collect();
    let (carry, rest) = (digits.starts_with('1'), &digits[2..]);
    match power.parse::<i32>() {
        // 9.99e4 is followed by 1.00e5, and 1.00e5 preceded by 9.99e4.
        Ok(power) if carry => format!("{sign}1{rest}e{}", power + 1),
        Ok(power) if digits.starts_with("00") => format!("{sign}9{rest}e{}", power - 1),
        Ok(power) => format!("{sign}{}e{power}", &digits[1..]),
        // As 9.9 is by 10.0, and 10.0 by 9.9: one zero at most is left in front.
        Err(_) => {
            let whole = digits.find('.').unwrap_or(digits.len());
            let first = digits.find(|digit| digit != '0').unwrap_or(whole).min(whole - 1);
            format!("{sign}{}", &digits[first..])
        }
    }
}

/// The power of ten of the first digit.
fn exponent(size: f64) -> i32 {
    let text = format!("{size:e}");
    text.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

/// The text with commas between the thousands before the point.
fn grouped(text: &str) -> String {
    let whole = text.find('.').unwrap_or(text.len());
    let sign = usize::from(text.starts_with('-'));
    let mut grouped = String::with_capacity(text.len() + text.len() / 3);
    for (place, digit) in text.char_indices() {
        if place > sign && place < whole && (whole - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Significant digits, unless the precision says otherwise.
const DIGITS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(shown: &str) -> f64 {
        shown.replace(',', "").replace("unbounded", "inf").parse().unwrap()
    }

    /// A unit of the last digit that is printed of `value`.
    fn unit(value: f64, digits: usize, plain: bool) -> f64 {
        let place = exponent(value.abs()) - (digits as i32 - 1);
        let decimal = if plain { 1e-3..1e7 } else { 1e-4..1e15 };
        let place = if decimal.contains(&value.abs()) { place.min(0) } else { place };
        format!("1e{place}").parse().unwrap()
    }

    fn check(value: f64, digits: usize) {
        let sides = |text: [String; 3]| text.map(|text| read(&text));
        for plain in [false, true] {
            let [low, near, high] = sides(if plain {
                [
                    format!("{:#.digits$}", Lower(value)),
                    format!("{:#.digits$}", Near(value)),
                    format!("{:#.digits$}", Upper(value)),
                ]
            } else {
                [
                    format!("{:.digits$}", Lower(value)),
                    format!("{:.digits$}", Near(value)),
                    format!("{:.digits$}", Upper(value)),
                ]
            });
            assert!(low <= value && value <= high, "{value:e}, {digits}: {low:e} {high:e}");
            assert!(low == near || near == high, "{value:e}, {digits}");
            if value.abs() < 1e300 {
                // A unit of what is below the smallest float is no number; neither is the error
                // then.
                let room = unit(value, digits, plain) * (1.0 + 1e-12) + value.abs() * 1e-15;
                let room = room.max(1e-323);
                assert!(high - value <= room && value - low <= room, "{value:e}, {digits}");
                assert!((near - value).abs() <= 0.5 * room + 1e-323, "{value:e}, {digits}");
            }
        }
        let (low, high) = (Lower(value).rounded(digits), Upper(value).rounded(digits));
        let near = Near(value).rounded(digits);
        assert!(low <= value && value <= high && (low == near || near == high), "{value:e}");
        for rounded in [low, near, high] {
            // It has no more digits than that.
            let shown = format!("{rounded:e}");
            let mantissa = shown.trim_start_matches('-').split('e').next().unwrap();
            assert!(!rounded.is_finite() || mantissa.replace('.', "").len() <= digits, "{shown}");
        }
    }

    /// 300,000 patterns of bits, then numbers of few digits and their neighbours.
    #[test]
    fn no_bound_is_printed_on_its_wrong_side() {
        let mut state = 0_u64;
        let mut draw = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        for turn in 0..300_000 {
            let value = f64::from_bits(draw());
            if !value.is_nan() {
                check(value, 1 + turn % 17);
            }
        }
        for turn in 0..30_000 {
            let (whole, power) = (draw() % 100_000, (draw() % 40) as i32 - 25);
            let value: f64 = format!("{whole}e{power}").parse().unwrap();
            for value in [value, value.next_up(), -value, value.next_down()] {
                check(value, 1 + turn % 17);
            }
        }
    }

    #[test]
    fn the_ends_of_all_numbers_are_printed_at_every_length() {
        for digits in 1..=20 {
            for value in [
                0.0,
                -0.0,
                5e-324,
                f64::MIN_POSITIVE,
                f64::MIN_POSITIVE.next_down(),
                f64::MAX,
                f64::MIN,
                f64::EPSILON,
                1.0_f64.next_down(),
                1.0_f64.next_up(),
                1e-3_f64.next_down(),
                1e-4_f64.next_down(),
                1e7_f64.next_down(),
                1e15_f64.next_down(),
                1e15,
                9.995,
                99_995.0,
                0.1 + 0.2,
            ] {
                check(value, digits);
                check(-value, digits);
            }
        }
        for shown in [Upper(f64::NAN).to_string(), Lower(f64::NEG_INFINITY).to_string()] {
            assert_eq!(shown, "unbounded");
        }
        assert_eq!(format!("{:#} {:#}", Near(f64::NAN), Lower(f64::NEG_INFINITY)), "NaN -inf");
    }

    #[test]
    fn numbers_are_short() {
        for (number, shown) in [
            (0.0, "0"),
            (-0.0, "0"),
            (f64::NAN, "unbounded"),
            (0.52341, "0.5234"),
            (-1.5, "-1.5"),
            (12345.6, "12,346"),
            (-1234567.0, "-1,234,567"),
            (999.96, "1,000"),
            (0.1, "0.1"),
            (1e-8, "1e-8"),
            (1.2343e-9, "1.234e-9"),
            (100.0, "100"),
        ] {
            assert_eq!(Near(number).to_string(), shown);
        }
        for (number, shown) in [
            (0.0, "0"),
            (1e-6, "1e-6"),
            (1.25e-9, "1.25e-9"),
            (0.00351352, "0.00351352"),
            (68.130000001, "68.13"),
            (1234567.0, "1234567"),
            (5.11085e7, "5.11085e7"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(format!("{:#.6}", Near(number)), shown);
        }
        for (number, shown) in
            [(7, "7"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(Count(number).to_string(), shown);
        }
    }

    #[test]
    fn bounds_move_outward_by_one_digit_and_no_further() {
        for (number, below, above) in [
            (1.09318, "1.093", "1.094"),
            (0.87649, "0.8764", "0.8765"),
            (1e-6, "1e-6", "1e-6"),
            (99_999.5, "99,999", "100,000"),
            (9.9996e-7, "9.999e-7", "1e-6"),
            (-9.9996e-7, "-1e-6", "-9.999e-7"),
            (0.1, "0.1", "0.1"),
            (0.1 + 0.2, "0.3", "0.3001"),
            (2.0, "2", "2"),
        ] {
            assert_eq!(
                (Lower(number).to_string(), Upper(number).to_string()),
                (below.into(), above.into())
            );
        }
        let places = |value: f64, places| Upper(value).places(places);
        assert_eq!((places(0.91301, 3), places(-0.006, 2)), ("0.914".into(), "0.00".into()));
        assert_eq!((places(0.0001, 2), places(9.999, 2)), ("0.01".into(), "10.00".into()));
    }
}
