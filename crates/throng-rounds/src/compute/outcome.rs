//! The result of a computation for one of its participants.

use crate::{Element, Error, Output, Seat};
use std::collections::BTreeMap;
use std::fmt;

/// The outputs that one seat is shown, and the seats that were left out. `Debug` does not show the
/// outputs. See [`Player`](crate::Player) for an example.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    pub(super) shown: BTreeMap<Output, OutputValue>,
    pub(super) absent: Vec<Seat>,
}

impl Outcome {
    /// A bit, if this seat is shown it.
    pub fn bit(&self, output: Output) -> Option<bool> {
        self.shown.get(&output).filter(|shown| shown.is_bit).map(|shown| shown.value == 1)
    }

    /// A number, if this seat is shown it.
    pub fn number(&self, output: Output) -> Option<i64> {
        self.shown.get(&output).filter(|shown| !shown.is_bit).map(|shown| shown.value)
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
pub(super) struct OutputValue {
    value: i64,
    is_bit: bool,
}

impl OutputValue {
    pub fn new(value: Element, is_bit: bool) -> Result<Self, Error> {
        let value = value.signed();
        let fits = !is_bit || value == 0 || value == 1;
        fits.then_some(Self { value, is_bit }).ok_or(Error::Misbehaved)
    }
}
