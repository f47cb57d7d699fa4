//! Participants by their numbers.

use crate::Error;
use std::fmt;

/// A participant's place, from 0. Everybody who takes part knows who has which; mixes and the
/// analyzer cannot tell whose messages are whose.
///
/// ```
/// use throng_rounds::Seat;
///
/// assert_eq!(Seat(3).to_string(), "seat 3");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(pub u32);

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seat {}", self.0)
    }
}

/// Two participants, in no order.
///
/// ```
/// use throng_rounds::{Pair, Seat};
///
/// let pair = Pair::new(Seat(5), Seat(2))?;
/// assert_eq!(pair, Pair::new(Seat(2), Seat(5))?);
/// assert_eq!((pair.low(), pair.high()), (Seat(2), Seat(5)));
/// assert!(Pair::new(Seat(2), Seat(2)).is_err());
/// # Ok::<(), throng_rounds::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    low: Seat,
    high: Seat,
}

impl Pair {
    /// Two different seats.
    pub fn new(one: Seat, other: Seat) -> Result<Self, Error> {
        if one == other {
            return Err(Error::Alone { seat: one });
        }
        Ok(Self { low: one.min(other), high: one.max(other) })
    }

    /// The lower one.
    pub fn low(self) -> Seat {
        self.low
    }

    /// The higher one.
    pub fn high(self) -> Seat {
        self.high
    }
}
