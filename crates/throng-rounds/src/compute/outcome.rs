//! What a computation gives one of its participants.

use crate::{Element, Error, Output, Seat};
use std::collections::BTreeMap;
use std::fmt;

/// What one seat is shown, and who was left out. `Debug` does not show it. See [`Party`](crate::Party)
/// for an example.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    shown: BTreeMap<Output, Shown>,
    absent: Vec<Seat>,
}

impl Outcome {
    pub(super) fn new(shown: BTreeMap<Output, Shown>, absent: Vec<Seat>) -> Self {
        Self { shown, absent }
    }

    /// A bit, if this seat is shown it.
    pub fn bit(&self, output: Output) -> Option<bool> {
        match self.shown.get(&output)? {
            Shown::Bit(bit) => Some(*bit),
            Shown::Number(_) => None,
        }
    }

    /// A number, if this seat is shown it.
    pub fn number(&self, output: Output) -> Option<i64> {
        match self.shown.get(&output)? {
            Shown::Number(number) => Some(*number),
            Shown::Bit(_) => None,
        }
    }

    /// Whose inputs count as 0, and which members' coins, because they were not heard: as members and
    /// recipients know it. Others are told nothing, and for them it is empty.
    pub fn absent(&self) -> &[Seat] {
        &self.absent
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (outputs, absent) = (self.shown.len(), &self.absent);
        f.debug_struct("Outcome").field("outputs", &outputs).field("absent", absent).finish()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Bit(bool),
    Number(i64),
}

impl Shown {
    pub fn new(value: Element, is_bit: bool) -> Result<Self, Error> {
        match value.signed() {
            bit @ (0 | 1) if is_bit => Ok(Self::Bit(bit == 1)),
            number if !is_bit => Ok(Self::Number(number)),
            _ => Err(Error::Misbehaved),
        }
    }
}
