//! The reasons why a protocol of several rounds stops.

use crate::Seat;
use thiserror::Error;

/// Everything that can go wrong here. No variant holds a key, a share or an input.
///
/// ```
/// use throng_rounds::{Error, Pair, Seat};
///
/// let error = Pair::new(Seat(2), Seat(2)).unwrap_err();
/// assert_eq!(error.to_string(), "seat 2 cannot be paired with itself");
/// ```
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A pair has two ends.
    #[error("{seat} cannot be paired with itself")]
    Alone {
        /// The seat.
        seat: Seat,
    },
    /// A parameter outside its range.
    #[error("{name} must be {range}")]
    Parameter {
        /// The name of the parameter.
        name: &'static str,
        /// The values that would do.
        range: String,
    },
    /// A partner that sent nothing. What that means is for the protocol to say.
    #[error("{seat} sent nothing in round {round}; go on without it, or stop")]
    Silent {
        /// The seat.
        seat: Seat,
        /// The round.
        round: u64,
    },
    /// A partner's frames that are not all there, or were altered.
    #[error("what {seat} sent in round {round} is cut or altered; stop, and agree on new keys")]
    Broken {
        /// The seat.
        seat: Seat,
        /// The round.
        round: u64,
    },
    /// A partner's frame that is there twice.
    #[error("a frame of {seat} was copied in round {round}; stop, and agree on new keys")]
    Doubled {
        /// The seat.
        seat: Seat,
        /// The round.
        round: u64,
    },
    /// Messages of our own that are not in the bulletin that everybody signed.
    #[error(
        "our own messages are missing from round {round}: a mix or the analyzer dropped them; \
         stop, and begin again through other mixes"
    )]
    Lost {
        /// The round.
        round: u64,
    },
    /// A round that a channel has left behind.
    #[error("round {round} is asked for after round {latest}; rounds go forward, take a later one")]
    Past {
        /// The one asked for.
        round: u64,
        /// The latest one.
        latest: u64,
    },
    /// More than the frames of one round carry.
    #[error("{length} bytes are too long for one round; send at most {at_most}")]
    TooLong {
        /// Bytes given.
        length: usize,
        /// Bytes that would do.
        at_most: usize,
    },
    /// A number of values other than the circuit asks of this seat.
    #[error("{seat} has to give {expected} values, not {given}")]
    Arity {
        /// The seat.
        seat: Seat,
        /// The number of inputs that the circuit has for it.
        expected: usize,
        /// The number of values given.
        given: usize,
    },
    /// A value of another type or range than the circuit asks for.
    #[error("value {place} of {seat} must be {expected}")]
    Input {
        /// The seat.
        seat: Seat,
        /// The place of the value, from 0.
        place: usize,
        /// The values that would do.
        expected: String,
    },
    /// Too few members are left to notice a wrong share among theirs.
    #[error("{present} members are there, but {needed} are needed; start again when they are back")]
    TooFew {
        /// The number of members whose messages came.
        present: usize,
        /// The number that would do.
        needed: usize,
    },
    /// Fewer inputs than the circuit asks for.
    #[error("inputs of {present} seats are there, but {needed} are needed; start again with more")]
    TooFewInputs {
        /// Seats whose inputs all members have.
        present: usize,
        /// The number that would do.
        needed: usize,
    },
    /// A member that was there when the others began to multiply. Without its shares nobody can
    /// tell whether all of them fit.
    #[error(
        "{seat} left in the middle of the computation; start again when it is back, or without it"
    )]
    Left {
        /// The seat.
        seat: Seat,
    },
    /// An input without which the circuit cannot be computed.
    #[error("the inputs of {seat} are missing; start again with it, or with a circuit without it")]
    Absent {
        /// The seat.
        seat: Seat,
    },
    /// Bytes that no honest participant sends.
    #[error("what {seat} sent cannot be read; start again without it")]
    Malformed {
        /// The seat.
        seat: Seat,
    },
    /// Members heard different participants: some messages reached only some of them.
    #[error("the members did not hear the same participants; start again")]
    Disagreement,
    /// Shares that do not fit together.
    #[error("shares contradict each other, so somebody deviated; start again with other members")]
    Inconsistent,
    /// A member multiplied wrongly.
    #[error("a product is wrong, so a member deviated; start again with other members")]
    Misbehaved,
    /// An input that is none of those it could be.
    #[error("an input is out of its range, so somebody deviated; start again with others")]
    NotABit,
    /// A call in the wrong order: a round is sent, then received.
    #[error(
        "a player sends, then receives, once in each round; this one is closed now, start again"
    )]
    OutOfTurn,
    /// A call after the end, good or bad.
    #[error("this player has finished; start again with a new one")]
    Closed,
    /// A round that is over, or whose bulletin does not come.
    #[error("round {round} went by without us; begin again in a later one, and check the clock")]
    Late {
        /// The round.
        round: u64,
    },
    /// The mixes or the analyzer cannot be reached, or do not take or give what they should.
    #[cfg(feature = "http")]
    #[error(transparent)]
    Client(#[from] throng_client::Error),
    /// A bulletin, key or collection that is not what it should be.
    #[error(transparent)]
    Wire(#[from] throng_wire::Error),
}

impl Error {
    pub(crate) fn parameter(name: &'static str, range: impl Into<String>) -> Self {
        Self::Parameter { name, range: range.into() }
    }
}
