//! The amount of traffic, known before anybody speaks.

use super::message::{Shape, Step, bitmap_bytes, dealt};
use crate::{Circuit, Element, Seat};

/// The bytes of one round's longest message of each kind; 0 where there is none. Whether a message
/// is sent, and how long it is, depends on the circuit alone.
///
/// ```
/// use throng_rounds::{Circuit, Seat, example};
///
/// let mut circuit = Circuit::new(4, example::committee());
/// let secret = circuit.bit(Seat(3));
/// circuit.reveal_bit(secret, &[Seat(0)]);
///
/// let traffic = circuit.traffic();
/// assert_eq!(traffic.len(), circuit.rounds());
/// // A share of the bit from seat 3, and of six random numbers from every member.
/// assert_eq!((traffic[0].dealer_to_member, traffic[0].member_to_member), (8, 48));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes from each member to each other one.
    pub member_to_member: usize,
    /// Bytes from each dealer that is no member to each member.
    pub dealer_to_member: usize,
    /// Bytes from each member to each recipient.
    pub member_to_recipient: usize,
}

impl Circuit {
    /// The number of rounds in which everybody sends and receives: the depth and six more.
    pub fn rounds(&self) -> usize {
        self.depth() + 6
    }

    /// The traffic of every round.
    pub fn traffic(&self) -> Vec<Traffic> {
        Step::all(self).map(|step| self.traffic_of(step)).collect()
    }

    fn traffic_of(&self, step: Step) -> Traffic {
        let mut most = Traffic::default();
        match step {
            Step::Deal => {
                let is_member = |seat: &Seat| self.committee().place(*seat).is_some();
                let bytes = |seat| Element::BYTES * dealt(self, seat);
                let (members, others): (Vec<_>, Vec<_>) = self.dealers().partition(is_member);
                most.member_to_member = members.into_iter().map(bytes).max().unwrap_or(0);
                most.dealer_to_member = others.into_iter().map(bytes).max().unwrap_or(0);
            }
            Step::Output => {
                let shares = |seat| bitmap_bytes(self) + Element::BYTES * self.shown(seat).count();
                let all = self.recipients().into_iter().map(shares);
                most.member_to_recipient = all.max().unwrap_or(0);
            }
            _ => most.member_to_member = Shape::of(self, step).map_or(0, Shape::bytes),
        }
        most
    }
}
