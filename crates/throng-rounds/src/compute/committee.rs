//! The participants who compute.

use crate::{Error, Seat};

/// The participants who compute on shares, and how many of them may be corrupt.
///
/// `corrupt` = t members together learn nothing and cannot pass off a wrong result. That takes an
/// honest majority of those who stay: 2t + 1 are needed at every step, and each further member is
/// one that may be missing when the others begin to multiply.
///
/// ```
/// use throng_rounds::{Committee, Seat};
///
/// let committee = Committee::new((0..5).map(Seat).collect(), 1)?;
/// assert_eq!((committee.needed(), committee.members().len()), (3, 5));
///
/// assert!(Committee::new(vec![Seat(0), Seat(1)], 1).is_err());
/// assert!(Committee::new(vec![Seat(0), Seat(1), Seat(1)], 1).is_err());
/// # Ok::<(), throng_rounds::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committee {
    members: Vec<Seat>,
    corrupt: u32,
}

impl Committee {
    /// At most 64 different members, at least 2·`corrupt` + 1, and `corrupt` at least 1: with 0
    /// every member would see every input.
    pub fn new(mut members: Vec<Seat>, corrupt: u32) -> Result<Self, Error> {
        if !(1..=(MAX_MEMBERS as u32 - 1) / 2).contains(&corrupt) {
            return Err(Error::parameter("corrupt members", "from 1 to 31"));
        }
        let given = members.len();
        members.sort_unstable();
        members.dedup();
        let least = 2 * corrupt as usize + 1;
        if members.len() < given || !(least..=MAX_MEMBERS).contains(&given) {
            let range = format!("from {least} to {MAX_MEMBERS} different seats");
            return Err(Error::parameter("members", range));
        }
        Ok(Self { members, corrupt })
    }

    /// The members, the lowest seat first.
    pub fn members(&self) -> &[Seat] {
        &self.members
    }

    /// The number t of members who may be corrupt.
    pub fn corrupt(&self) -> u32 {
        self.corrupt
    }

    /// The number of members who have to stay, 2t + 1.
    pub fn needed(&self) -> usize {
        2 * self.corrupt as usize + 1
    }

    /// Fails if fewer members are there than have to be.
    pub(crate) fn enough(&self, present: usize) -> Result<(), Error> {
        let needed = self.needed();
        if present < needed { Err(Error::TooFew { present, needed }) } else { Ok(()) }
    }

    /// The place of a seat among the members.
    pub(crate) fn place(&self, seat: Seat) -> Option<usize> {
        self.members.binary_search(&seat).ok()
    }
}

/// The most members there can be: a set of them is a word.
const MAX_MEMBERS: usize = 64;
