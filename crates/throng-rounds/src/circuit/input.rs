//! The inputs of participants, as values and as bits.

use crate::{Element, Error, Seat};
use std::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The value of one input of a participant. `Debug` does not show it, and it is wiped when dropped.
///
/// ```
/// use throng_rounds::Input;
///
/// assert_eq!(format!("{:?}", Input::Bit(true)), "Bit(..)");
/// ```
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub enum Input {
    /// The value of an input made by [`Circuit::bit`](crate::Circuit::bit).
    Bit(bool),
    /// The value of an input made by [`Circuit::integer`](crate::Circuit::integer).
    Integer(u64),
    /// The value of an input made by [`Circuit::choice`](crate::Circuit::choice): an option from 0,
    /// or none.
    Choice(Option<u32>),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bit(_) => "Bit(..)",
            Self::Integer(_) => "Integer(..)",
            Self::Choice(_) => "Choice(..)",
        })
    }
}

/// The type of an input. All inputs travel as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bit,
    Integer(u32),
    Choice(u32),
    /// A fair bit that the member tosses.
    Coin,
}

impl Kind {
    pub fn bits(self) -> u32 {
        match self {
            Self::Bit | Self::Coin => 1,
            Self::Integer(bits) => bits,
            Self::Choice(options) => options,
        }
    }

    /// A name and a size, for a digest.
    pub fn words(self) -> [u64; 2] {
        let name = match self {
            Self::Bit => 0,
            Self::Integer(_) => 1,
            Self::Choice(_) => 2,
            Self::Coin => 3,
        };
        [name, self.bits().into()]
    }

    fn expected(self) -> String {
        match self {
            Self::Bit => "a bit".into(),
            Self::Integer(bits) => format!("an integer of {bits} bits"),
            Self::Choice(options) => format!("a choice among {options} options, or none"),
            Self::Coin => "nothing".into(),
        }
    }

    /// Appends the bits of a value of this kind; `None` if it is of another.
    fn write(self, value: &Input, bits: &mut Vec<Element>) -> Option<()> {
        match (self, value) {
            (Self::Bit, &Input::Bit(bit)) => bits.push(bit.into()),
            (Self::Integer(count), &Input::Integer(integer)) if integer >> count == 0 => {
                bits.extend((0..count).map(|place| Element::from((integer >> place) as u32 & 1)));
            }
            (Self::Choice(options), &Input::Choice(choice))
                if choice.is_none_or(|c| c < options) =>
            {
                // None is a place that no option has.
                let chosen = choice.unwrap_or(u32::MAX);
                bits.extend((0..options).map(|option| Element::from(option == chosen)));
            }
            _ => return None,
        }
        Some(())
    }
}

/// The bits of a seat's inputs in the order in which they were declared, with 0 for every coin: it
/// is tossed when it is dealt.
pub(crate) fn input_bits(
    seat: Seat,
    kinds: &[Kind],
    values: &[Input],
) -> Result<Zeroizing<Vec<Element>>, Error> {
    let expected = kinds.iter().filter(|&&kind| kind != Kind::Coin).count();
    if values.len() != expected {
        return Err(Error::Arity { seat, expected, given: values.len() });
    }
    let room = kinds.iter().map(|kind| kind.bits() as usize).sum();
    let mut bits = Zeroizing::new(Vec::with_capacity(room));
    let mut values = values.iter().enumerate();
    for &kind in kinds {
        if kind == Kind::Coin {
            bits.push(Element::ZERO);
        } else if let Some((place, value)) = values.next() {
            kind.write(value, &mut bits).ok_or_else(|| Error::Input {
                seat,
                place,
                expected: kind.expected(),
            })?;
        }
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: Kind, value: &Input) -> Option<Vec<i64>> {
        let bits = input_bits(Seat(1), &[kind], std::slice::from_ref(value)).ok()?;
        Some(bits.iter().map(|bit| bit.signed()).collect())
    }

    #[test]
    fn values_become_bits() {
        assert_eq!(written(Kind::Bit, &Input::Bit(true)), Some(vec![1]));
        assert_eq!(written(Kind::Integer(3), &Input::Integer(6)), Some(vec![0, 1, 1]));
        assert_eq!(written(Kind::Integer(32), &Input::Integer(u32::MAX.into())), Some(vec![1; 32]));
        assert_eq!(written(Kind::Choice(3), &Input::Choice(Some(1))), Some(vec![0, 1, 0]));
        assert_eq!(written(Kind::Choice(3), &Input::Choice(None)), Some(vec![0; 3]));
    }

    #[test]
    fn other_values_are_refused_by_place() {
        let wrong = [
            (Kind::Bit, Input::Integer(1)),
            (Kind::Integer(3), Input::Integer(8)),
            (Kind::Integer(32), Input::Integer(1 << 32)),
            (Kind::Choice(3), Input::Choice(Some(3))),
            (Kind::Choice(3), Input::Choice(Some(u32::MAX))),
            (Kind::Choice(3), Input::Bit(false)),
        ];
        for (kind, value) in wrong {
            let kinds = [Kind::Bit, Kind::Coin, kind];
            let error = input_bits(Seat(4), &kinds, &[Input::Bit(true), value]).unwrap_err();
            let expected = kind.expected();
            assert_eq!(error, Error::Input { seat: Seat(4), place: 1, expected });
        }
    }

    #[test]
    fn as_many_values_as_inputs() {
        let kinds = [Kind::Bit, Kind::Coin, Kind::Bit];
        for given in [0, 1, 3] {
            let values = vec![Input::Bit(true); given];
            let error = input_bits(Seat(4), &kinds, &values).unwrap_err();
            assert_eq!(error, Error::Arity { seat: Seat(4), expected: 2, given });
        }
    }
}
