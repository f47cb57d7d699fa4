//! Names for what a circuit computes: small, copied freely, and typed.

/// A wire that is 0 or 1.
///
/// ```
/// use throng_rounds::{Circuit, Seat, example};
///
/// let mut circuit = Circuit::new(3, example::committee());
/// let (a, b) = (circuit.bit(Seat(0)), circuit.bit(Seat(1)));
/// let both = circuit.and(a, b);
/// circuit.reveal_bit(both, &[Seat(0)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bit(pub(crate) u32);

/// A wire that is an integer, and in which range it lies.
///
/// ```
/// use throng_rounds::{Circuit, Number, Seat, example};
///
/// let mut circuit = Circuit::new(3, example::committee());
/// let (age, adult) = (circuit.integer(Seat(0), 7), circuit.bit(Seat(1)));
/// let product: Number = circuit.multiply(age, adult);
/// circuit.reveal_number(product, &[Seat(2)]);
/// # circuit.check().unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    pub(crate) wire: u32,
    /// The least and the greatest it can be; `None` if that is beyond 64 bits.
    pub(crate) range: Option<(i64, i64)>,
}

impl From<Bit> for Number {
    fn from(bit: Bit) -> Self {
        Self { wire: bit.0, range: Some((0, 1)) }
    }
}

/// Something that a circuit reveals; an [`Outcome`](crate::Outcome) is read by it.
///
/// ```
/// use throng_rounds::{Circuit, Seat, example};
///
/// let mut circuit = Circuit::new(3, example::committee());
/// let secret = circuit.bit(Seat(1));
/// let first = circuit.reveal_bit(secret, &[Seat(0)]);
/// let second = circuit.reveal_bit(secret, &[Seat(2)]);
/// assert_ne!(first, second);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Output(pub(crate) u32);
