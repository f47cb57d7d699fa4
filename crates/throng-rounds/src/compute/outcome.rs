//! The result of a computation for one of its participants.

use crate::{Element, Error, Output, Seat};
use std::collections::BTreeMap;
use std::fmt;

/// The outputs that one seat is shown, and the seats that were left out. `Debug` does not show the
/// outputs. See [`Player`](crate::Player) for an example.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    shown: BTreeMap<Output, OutputValue>,
    absent: Vec<Seat>,
}

impl Outcome {
    pub(super) fn new(shown: BTreeMap<Output, OutputValue>, absent: Vec<Seat>) -> Self {
        Self { shown, absent }
    }

    /// A bit, if this seat is shown it.
    pub fn bit(&self, output: Output) -> Option<bool> {
        match self.shown.get(&output)? {
            OutputValue::Bit(bit) => Some(*bit),
            OutputValue::Number(_) => None,
        }
    }

    /// A number, if this seat is shown it.
    pub fn number(&self, output: Output) -> Option<i64> {
        match self.shown.get(&output)? {
            OutputValue::Number(number) => Some(*number),
            OutputValue::Bit(_) => None,
        }
    }

    /// The seats whose inputs and coins count as 0 because they were not heard: as members and
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
pub(super) enum OutputValue {
    Bit(bool),
    Number(i64),
}

impl OutputValue {
    pub fn new(value: Element, is_bit: bool) -> Result<Self, Error> {
        match value.signed() {
            bit @ (0 | 1) if is_bit => Ok(Self::Bit(bit == 1)),
            number if !is_bit => Ok(Self::Number(number)),
            _ => Err(Error::Misbehaved),
        }
    }
}
