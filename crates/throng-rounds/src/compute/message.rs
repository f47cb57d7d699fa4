//! The messages of each round, as bytes.
//!
//! ```text
//! deal      share (8) of each input bit; a member's: and of its six random numbers
//! lift      dealers heard (a bit each) ‖ product share (8) of each input bit
//! layer     view (24) ‖ two product shares (8) per multiplication
//! reveal    view (24) ‖ three shares (8)
//! mask      view (24) ‖ two product shares (8) ‖ one share (8)
//! check     view (24) ‖ two shares (8)
//! output    dealers used (a bit each) ‖ share (8) of each output of the recipient
//! ```
//!
//! Every length follows from the circuit, so that no length tells anything.

use crate::shamir::Shares;
use crate::{Circuit, Element, Seat};
use zeroize::Zeroizing;

/// The work of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Deal,
    Lift,
    Layer(usize),
    Reveal,
    Mask,
    Check,
    Output,
}

impl Step {
    /// The steps of a computation, one for each round.
    pub fn all(circuit: &Circuit) -> impl Iterator<Item = Self> {
        let layers = (1..=circuit.depth()).map(Self::Layer);
        let last = [Self::Reveal, Self::Mask, Self::Check, Self::Output];
        [Self::Deal, Self::Lift].into_iter().chain(layers).chain(last)
    }

    /// True if everybody who was heard in the lift has to be heard: from when shares are multiplied
    /// until it is known that they fit and are right.
    pub fn needs_all(self) -> bool {
        matches!(self, Self::Layer(_) | Self::Reveal | Self::Mask | Self::Check)
    }
}

/// The parts of a message between members.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub head: usize,
    /// Elements that are a share of the sender's product, another one for each receiver.
    pub reshared: usize,
    /// Elements that are the sender's share, the same for each receiver.
    pub opened: usize,
}

impl Shape {
    /// `None` for rounds in which members do not talk among themselves.
    pub fn of(circuit: &Circuit, step: Step) -> Option<Self> {
        let (head, reshared, opened) = match step {
            Step::Deal | Step::Output => return None,
            Step::Lift => (bitmap_bytes(circuit), circuit.inputs().count(), 0),
            Step::Layer(depth) => (VIEW, 2 * circuit.layers[depth].products.len(), 0),
            Step::Reveal => (VIEW, 0, 3),
            Step::Mask => (VIEW, 2, 1),
            Step::Check => (VIEW, 0, 2),
        };
        Some(Self { head, reshared, opened })
    }

    pub fn bytes(self) -> usize {
        self.head + Element::BYTES * (self.reshared + self.opened)
    }
}

/// Elements that a seat deals to each member.
pub(crate) fn dealt(circuit: &Circuit, seat: Seat) -> usize {
    let own = circuit.dealers.get(&seat).map_or(0, |dealer| dealer.wires.len());
    own + if circuit.committee().place(seat).is_some() { RANDOM } else { 0 }
}

pub(crate) fn bitmap_bytes(circuit: &Circuit) -> usize {
    circuit.dealers.len().div_ceil(8)
}

pub(crate) fn to_bitmap(flags: &[bool]) -> Vec<u8> {
    let byte =
        |flags: &[bool]| flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag));
    flags.chunks(8).map(byte).collect()
}

/// Refuses set bits beyond the flags.
pub(crate) fn from_bitmap(bytes: &[u8], count: usize) -> Option<Vec<bool>> {
    let flags: Vec<_> = (0..count).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1).collect();
    (to_bitmap(&flags) == bytes).then_some(flags)
}

pub(crate) fn encode<'a>(head: &[u8], elements: impl Iterator<Item = &'a Element>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(head.len() + Element::BYTES * elements.size_hint().0);
    bytes.extend_from_slice(head);
    elements.for_each(|element| bytes.extend_from_slice(&element.to_bytes()));
    bytes
}

/// Refuses other lengths, and encodings of no element.
pub(crate) fn decode(bytes: &[u8], head: usize, elements: usize) -> Option<(&[u8], Shares)> {
    let (head, rest) = bytes.split_at_checked(head)?;
    let (words, []) = rest.as_chunks() else { return None };
    if words.len() != elements {
        return None;
    }
    let mut elements = Zeroizing::new(Vec::with_capacity(elements));
    for &word in words {
        elements.push(Element::from_bytes(word)?);
    }
    Some((head, elements))
}

/// The members heard in the round before (8) ‖ a digest of the circuit and of the dealers used
/// (16).
pub(crate) const VIEW: usize = 24;

/// Random numbers that every member deals.
pub(crate) const RANDOM: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Committee;

    #[test]
    fn steps_come_in_order_and_end() {
        let committee = Committee::new(vec![Seat(0), Seat(1), Seat(2)], 1).unwrap();
        let mut circuit = Circuit::new(3, committee);
        let bits = [Seat(0), Seat(1), Seat(2)].map(|seat| circuit.bit(seat));
        circuit.and_all(&bits);
        let steps: Vec<_> = Step::all(&circuit).collect();
        let (first, last) = (Step::Layer(1), Step::Layer(2));
        let (reveal, mask, check) = (Step::Reveal, Step::Mask, Step::Check);
        let expected = [Step::Deal, Step::Lift, first, last, reveal, mask, check, Step::Output];
        assert_eq!(steps, expected);
        assert_eq!(circuit.rounds(), steps.len());
    }

    #[test]
    fn only_whole_messages_are_read() {
        let elements = [Element::from(1), Element::from_signed(-1)];
        let bytes = encode(b"head", elements.iter());
        assert_eq!(decode(&bytes, 4, 2), Some((&b"head"[..], elements.to_vec().into())));
        for (bytes, elements) in [(&bytes[1..], 2), (&bytes[..19], 2), (&bytes[..], 1), (b"", 0)] {
            assert_eq!(decode(bytes, 4, elements), None);
        }
        let mut above = bytes;
        above[19] = 0xff;
        assert_eq!(decode(&above, 4, 2), None);
    }

    #[test]
    fn a_bitmap_has_one_encoding() {
        for count in 0..20 {
            let flags: Vec<_> = (0..count).map(|i| i % 3 == 0).collect();
            let mut bytes = to_bitmap(&flags);
            assert_eq!(from_bitmap(&bytes, count), Some(flags));
            if count % 8 != 0 {
                *bytes.last_mut().unwrap() |= 0x80;
                assert_eq!(from_bitmap(&bytes, count), None);
            }
        }
    }
}
