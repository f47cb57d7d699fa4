//! The values that users hold.

use crate::{Error, Estimate, fits, require};
use std::fmt;

/// The kind of value a user holds.
///
/// ```
/// use throng_mechanism::Kind;
///
/// assert_eq!(Kind::named("string"), Some(Kind::Text));
/// assert_eq!((Kind::Text.name(), Kind::Text.words()), ("string", "a text from a list"));
/// assert!(Kind::ALL.into_iter().all(|kind| Kind::named(kind.name()) == Some(kind)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Yes or no.
    Bit,
    /// A bounded number.
    Real,
    /// One of k categories.
    Category,
    /// A string.
    Text,
    /// Yes or no to several attributes.
    Attributes,
    /// Yes or no in each of several periods.
    State,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Bit, Self::Real, Self::Category, Self::Text, Self::Attributes, Self::State];

    /// The name in files, on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bit => "bit",
            Self::Real => "real",
            Self::Category => "category",
            Self::Text => "string",
            Self::Attributes => "attributes",
            Self::State => "state",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A description for people who choose one.
    pub fn words(self) -> &'static str {
        match self {
            Self::Bit => "yes or no",
            Self::Real => "a number within a range",
            Self::Category => "one of several answers",
            Self::Text => "a text from a list",
            Self::Attributes => "yes or no to several things; which is the commonest?",
            Self::State => "yes or no, again and again",
        }
    }

    /// A sentence that says what the planner's errors are errors of.
    pub fn errors(self) -> &'static str {
        match self {
            Self::Bit => "Errors are standard errors of the count of ones.",
            Self::Real => {
                "Errors are standard errors of the sum, in units of the range; divide by n for the \
                 mean."
            }
            Self::Category => {
                "Errors are root mean squares over the counts of all categories; beside it, of the \
                 count of a category that one user in ten holds."
            }
            Self::Text => "Errors are standard errors of the count of a rare string.",
            Self::Attributes => "Errors are standard errors of the count of each attribute.",
            Self::State => {
                "Errors are root mean squares over the periods; the best is the last period, the \
                 worst the one before it."
            }
        }
    }

    /// The page of `docs/mechanisms` about it, without its ending.
    pub fn page(self) -> &'static str {
        match self {
            Self::Bit => "counts",
            Self::Real => "sums",
            Self::Category => "histograms",
            Self::Text => "strings",
            Self::Attributes => "selection-and-queries",
            Self::State => "time",
        }
    }

    /// The error that says what would fit, and nothing of what was given.
    fn refused(self) -> Error {
        let expected = match self {
            Self::Bit => "a bit",
            Self::Real => "a number from 0 to 1",
            Self::Category => "a category",
            Self::Text => "a string",
            Self::Attributes => "one bit per attribute",
            Self::State => "one bit per period",
        };
        Error::Value { expected }
    }
}

/// One user's value. `Debug` does not show it.
///
/// ```
/// use throng_mechanism::Value;
///
/// assert_eq!(format!("{:?}", Value::Text("what I think")), "Text(..)");
/// ```
#[derive(Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Yes or no.
    Bit(bool),
    /// A number, scaled to the unit interval.
    Real(f64),
    /// One of k categories, from 0.
    Category(u32),
    /// A string.
    Text(&'a str),
    /// Several bits: one per attribute, or one per period.
    Bits(&'a [bool]),
}

impl<'a> Value<'a> {
    pub(crate) fn bit(self) -> Result<bool, Error> {
        let Self::Bit(bit) = self else { return Err(Kind::Bit.refused()) };
        Ok(bit)
    }

    pub(crate) fn real(self) -> Result<f64, Error> {
        let Self::Real(number) = self else { return Err(Kind::Real.refused()) };
        Ok(number)
    }

    pub(crate) fn category(self) -> Result<u32, Error> {
        let Self::Category(category) = self else { return Err(Kind::Category.refused()) };
        Ok(category)
    }

    pub(crate) fn text(self) -> Result<&'a str, Error> {
        let Self::Text(text) = self else { return Err(Kind::Text.refused()) };
        Ok(text)
    }

    /// One bit per attribute or per period, which `kind` says.
    pub(crate) fn bits(self, kind: Kind) -> Result<&'a [bool], Error> {
        let Self::Bits(bits) = self else { return Err(kind.refused()) };
        Ok(bits)
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bit(_) => "Bit(..)",
            Self::Real(_) => "Real(..)",
            Self::Category(_) => "Category(..)",
            Self::Text(_) => "Text(..)",
            Self::Bits(_) => "Bits(..)",
        })
    }
}

/// The values of many users, in one column. `Debug` does not show them.
///
/// ```
/// use throng_mechanism::{Value, Values};
///
/// let values = Values::Rows { bits: vec![true, false, false, true], width: 2 };
/// assert_eq!(values.len(), 2);
/// assert_eq!(values.get(1), Value::Bits(&[false, true]));
/// assert_eq!(format!("{values:?}"), "Values(2 users)");
/// ```
#[derive(Clone, PartialEq)]
pub enum Values {
    /// Bits.
    Bits(Vec<bool>),
    /// Numbers in the unit interval.
    Reals(Vec<f64>),
    /// Categories.
    Categories(Vec<u32>),
    /// Strings.
    Texts(Vec<String>),
    /// Rows of bits, `width` in each.
    Rows {
        /// All rows, one after the other.
        bits: Vec<bool>,
        /// The number of bits per row.
        width: usize,
    },
}

impl Values {
    /// The number of users.
    pub fn len(&self) -> usize {
        match self {
            Self::Bits(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::Categories(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Rows { bits, width } => bits.len() / width,
        }
    }

    /// True if there are no users.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of one user.
    pub fn get(&self, user: usize) -> Value<'_> {
        match self {
            Self::Bits(values) => Value::Bit(values[user]),
            Self::Reals(values) => Value::Real(values[user]),
            Self::Categories(values) => Value::Category(values[user]),
            Self::Texts(values) => Value::Text(&values[user]),
            Self::Rows { bits, width } => Value::Bits(&bits[user * width..][..*width]),
        }
    }

    /// The values of all users in turn.
    pub fn iter(&self) -> impl Iterator<Item = Value<'_>> {
        (0..self.len()).map(|user| self.get(user))
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Values({} users)", self.len())
    }
}

/// The range of a bounded number, which mechanisms see as the unit interval.
///
/// ```
/// use throng_mechanism::{Estimate, Range};
///
/// let hours = Range::new(4.0, 12.0)?;
/// assert_eq!((hours.unit(6.0)?, hours.unit(20.0)?), (0.25, 1.0));
///
/// // A sum of 50 unit values of 100 users is a mean of eight hours.
/// let sum = Estimate::even(50.0, 5.0, 10.0);
/// let mean = hours.mean(&sum, 100);
/// assert_eq!((mean.value, mean.standard_error), (8.0, 0.4));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// The range from `low` to `high`, which are finite, with `low < high`.
    pub fn new(low: f64, high: f64) -> Result<Self, Error> {
        let range = "from a low to a higher number";
        require(low < high && (high - low).is_finite(), "range", range)?;
        Ok(Self { low, high })
    }

    /// The lower end.
    pub fn low(self) -> f64 {
        self.low
    }

    /// The upper end.
    pub fn high(self) -> f64 {
        self.high
    }

    /// The place of a number between the ends, from 0 to 1. Numbers outside count as the nearer
    /// end, which is part of the question asked; NaN is refused.
    pub fn unit(self, number: f64) -> Result<f64, Error> {
        fits(!number.is_nan(), "a number")?;
        Ok(((number.clamp(self.low, self.high) - self.low) / (self.high - self.low)).min(1.0))
    }

    /// The mean in the range's own units, from an estimated sum of unit values of `reports` users.
    pub fn mean(self, sum: &Estimate, reports: u64) -> Estimate {
        sum.rescaled(self.low, (self.high - self.low) / reports.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_do_not_show_in_debug() {
        let values = Values::Texts(vec!["secret".into()]);
        assert_eq!(format!("{values:?}"), "Values(1 users)");
        assert_eq!(format!("{:?}", values.get(0)), "Text(..)");
        assert_eq!(format!("{:?}", Value::Real(0.25)), "Real(..)");
    }

    #[test]
    fn a_range_maps_its_ends_to_the_unit_interval() {
        let range = Range::new(-15.0, 120.0).unwrap();
        assert_eq!(range.unit(-15.0).unwrap(), 0.0);
        assert_eq!(range.unit(500.0).unwrap(), 1.0);
        assert!(range.unit(f64::NAN).is_err());
        assert!(Range::new(1.0, 1.0).is_err() && Range::new(0.0, f64::INFINITY).is_err());
        let sum = Estimate::even(50.0, 2.0, 4.0);
        let mean = range.mean(&sum, 100);
        assert!((mean.value - 52.5).abs() < 1e-12 && (mean.standard_error - 2.7).abs() < 1e-12);
    }
}
