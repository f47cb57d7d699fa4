//! The value of a wire, and the round in which it can be computed.

use crate::Element;

/// One wire's value, from wires before it. Sixteen bytes, so that a million are a small matter.
#[derive(Clone, Copy)]
pub(crate) enum Gate {
    Input,
    Constant(Element),
    Add(u32, u32),
    Sub(u32, u32),
    Scale(u32, Element),
    Multiply(u32, u32),
}

impl Gate {
    /// The wires it is made from.
    pub fn operands(self) -> impl Iterator<Item = u32> {
        let (a, b) = match self {
            Self::Input | Self::Constant(_) => (None, None),
            Self::Scale(a, _) => (Some(a), None),
            Self::Add(a, b) | Self::Sub(a, b) | Self::Multiply(a, b) => (Some(a), Some(b)),
        };
        a.into_iter().chain(b)
    }

    /// A name and two operands, for a digest.
    pub fn words(self) -> [u64; 3] {
        let element = |element: Element| u64::from_le_bytes(element.to_bytes());
        match self {
            Self::Input => [0, 0, 0],
            Self::Constant(constant) => [1, 0, element(constant)],
            Self::Add(a, b) => [2, a.into(), b.into()],
            Self::Sub(a, b) => [3, a.into(), b.into()],
            Self::Scale(a, by) => [4, a.into(), element(by)],
            Self::Multiply(a, b) => [5, a.into(), b.into()],
        }
    }
}

/// Wires of the same depth: those that take a round together, and those that follow from them and
/// from shallower ones without talking to anybody, in an order in which they can be computed.
#[derive(Clone, Default)]
pub(crate) struct Layer {
    pub products: Vec<u32>,
    pub local: Vec<u32>,
}
