//! Numbers as people read them.

use std::fmt;

/// A number with four digits, so that people can read it.
pub struct Short(pub f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if !size.is_finite() {
            return f.write_str("unbounded");
        }
        if size == 0.0 {
            return f.write_str("0");
        }
        let (text, power) = if (1e-4..1e15).contains(&size) {
            let digits = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
            (format!("{:.digits$}", self.0), None)
        } else {
            let text = format!("{:.3e}", self.0);
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            (digits.to_owned(), Some(power.to_owned()))
        };
        let text = if text.contains('.') { text.trim_end_matches('0') } else { &text };
        f.write_str(&grouped(text.trim_end_matches('.')))?;
        power.map_or(Ok(()), |power| write!(f, "e{power}"))
    }
}

/// A number with four digits that is no smaller than what it stands for: a bound stays one.
pub struct Upper(pub f64);

impl fmt::Display for Upper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = Short(self.0).to_string();
        if near.replace(',', "").parse::<f64>().is_ok_and(|near| near >= self.0) {
            return f.write_str(&near);
        }
        // One unit of the fourth digit, or of the last one that is shown.
        let unit = 10_f64.powi((self.0.abs().log10().floor() as i32 - 3).min(0));
        Short(self.0 + unit).fmt(f)
    }
}

/// A count, its digits in groups of three.
pub struct Whole(pub u64);

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&grouped(&self.0.to_string()))
    }
}

/// Commas between the thousands of what is before the point.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, shown) in [
            (0.0, "0"),
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
            assert_eq!(Short(number).to_string(), shown);
        }
    }

    #[test]
    fn a_bound_is_never_shown_smaller_than_it_is() {
        assert_eq!(Upper(1.09318).to_string(), "1.094");
        assert_eq!(Upper(1e-6).to_string(), "1e-6");
        assert_eq!(Upper(0.0).to_string(), "0");
        let mut number = 1.234567e-12;
        while number < 1e12 {
            let shown: f64 = Upper(number).to_string().replace(',', "").parse().unwrap();
            assert!((number..number * 1.0021).contains(&shown), "{number} as {shown}");
            number *= 1.037;
        }
    }
}
