//! The gates by name: what they compute, and in which range that is.

use super::{Bit, Circuit, Gate, Number};
use crate::Element;

/// Gates. Those on bits give bits, and a number knows its range.
impl Circuit {
    /// `1 − a`.
    pub fn not(&mut self, a: Bit) -> Bit {
        let one = self.one();
        Bit(self.push(Gate::Sub(one, a.0)))
    }

    /// `a·b`.
    pub fn and(&mut self, a: Bit, b: Bit) -> Bit {
        Bit(self.push(Gate::Multiply(a.0, b.0)))
    }

    /// `a + b − a·b`.
    pub fn or(&mut self, a: Bit, b: Bit) -> Bit {
        let both = self.push(Gate::Multiply(a.0, b.0));
        let sum = self.push(Gate::Add(a.0, b.0));
        Bit(self.push(Gate::Sub(sum, both)))
    }

    /// `a + b − 2·a·b`.
    pub fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let both = self.push(Gate::Multiply(a.0, b.0));
        let twice = self.push(Gate::Add(both, both));
        let sum = self.push(Gate::Add(a.0, b.0));
        Bit(self.push(Gate::Sub(sum, twice)))
    }

    /// The bit that is 1 if all are set, or if there are none.
    pub fn and_all(&mut self, bits: &[Bit]) -> Bit {
        let wires = bits.iter().map(|bit| bit.0).collect();
        Bit(self.product(wires))
    }

    /// The bit that is 1 if an odd number is set: the product of the signs `1 − 2·b`, as a tree.
    pub fn xor_all(&mut self, bits: &[Bit]) -> Bit {
        let (one, mut signs) = (self.one(), Vec::with_capacity(bits.len()));
        for bit in bits {
            let twice = self.push(Gate::Add(bit.0, bit.0));
            signs.push(self.push(Gate::Sub(one, twice)));
        }
        let sign = self.product(signs);
        let odd = self.push(Gate::Sub(one, sign));
        Bit(self.push(Gate::Scale(odd, Element::from(2).inverse())))
    }

    /// A number that everybody knows.
    pub fn constant(&mut self, value: i64) -> Number {
        let wire = self.push(Gate::Constant(Element::from_signed(value)));
        Number { wire, range: Some((value, value)) }
    }

    /// `a + b`.
    pub fn add(&mut self, a: impl Into<Number>, b: impl Into<Number>) -> Number {
        self.combine(a.into(), b.into(), Gate::Add, i64::checked_add)
    }

    /// `a − b`.
    pub fn sub(&mut self, a: impl Into<Number>, b: impl Into<Number>) -> Number {
        self.combine(a.into(), b.into(), Gate::Sub, i64::checked_sub)
    }

    /// `factor·a`.
    pub fn scale(&mut self, a: impl Into<Number>, factor: i64) -> Number {
        let a = a.into();
        let range = a.range.and_then(|(low, high)| {
            let (low, high) = (low.checked_mul(factor)?, high.checked_mul(factor)?);
            Some((low.min(high), low.max(high)))
        });
        Number { wire: self.push(Gate::Scale(a.wire, Element::from_signed(factor))), range }
    }

    /// `a·b`.
    pub fn multiply(&mut self, a: impl Into<Number>, b: impl Into<Number>) -> Number {
        self.combine(a.into(), b.into(), Gate::Multiply, i64::checked_mul)
    }

    /// The sum of bits or of numbers; 0 for none.
    pub fn sum<W: Into<Number>>(&mut self, wires: impl IntoIterator<Item = W>) -> Number {
        let mut wires = wires.into_iter().map(Into::into);
        let Some(first) = wires.next() else { return self.constant(0) };
        wires.fold(first, |sum, wire| self.add(sum, wire))
    }

    /// `Σ weight·bit`.
    pub(crate) fn weighted(&mut self, digits: impl Iterator<Item = (Bit, i64)>) -> Number {
        let terms: Vec<_> = digits.map(|(bit, weight)| self.scale(bit, weight)).collect();
        self.sum(terms)
    }

    /// A gate of two numbers. Its extremes are at extremes of both, since it is linear in each.
    fn combine(
        &mut self,
        a: Number,
        b: Number,
        gate: fn(u32, u32) -> Gate,
        of: fn(i64, i64) -> Option<i64>,
    ) -> Number {
        let range = a.range.zip(b.range).and_then(|((a, b), (c, d))| {
            let corners = [of(a, c)?, of(a, d)?, of(b, c)?, of(b, d)?];
            Some((*corners.iter().min()?, *corners.iter().max()?))
        });
        Number { wire: self.push(gate(a.wire, b.wire)), range }
    }

    /// Neighbours are multiplied until one is left; 1 for none.
    fn product(&mut self, mut wires: Vec<u32>) -> u32 {
        while wires.len() > 1 {
            let multiply = |pair: &[u32]| match *pair {
                [a, b] => self.push(Gate::Multiply(a, b)),
                _ => pair[0],
            };
            wires = wires.chunks(2).map(multiply).collect();
        }
        wires.pop().unwrap_or_else(|| self.one())
    }

    pub(super) fn one(&mut self) -> u32 {
        if let Some(one) = self.one {
            return one;
        }
        let one = self.push(Gate::Constant(Element::ONE));
        self.one = Some(one);
        one
    }
}
