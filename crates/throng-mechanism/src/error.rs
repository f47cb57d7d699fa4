/// The reason why a value, a message or a parameter is refused.
///
/// No variant holds the value or the message itself: what a user holds never reaches an error.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::Threshold;
/// use throng_mechanism::{BinaryResponse, Error, Mechanism, Value};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 62)?)?);
/// let error = mechanism.encode(Value::Real(0.7), &mut rng, &mut Vec::new()).unwrap_err();
/// // It says what would fit, and nothing of what was given.
/// assert_eq!(error, Error::Value { expected: "a bit" });
/// assert_eq!(error.to_string(), "the value does not fit: it must be a bit");
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user's value does not fit the question.
    #[error("the value does not fit: it must be {expected}")]
    Value {
        /// The kind of value that would fit.
        expected: &'static str,
    },

    /// A message that no client of this mechanism sends.
    #[error("malformed message: it must be {expected}")]
    Malformed {
        /// The message it should have been.
        expected: &'static str,
    },

    /// A parameter of the mechanism is out of range.
    #[error("{name} is out of range: it must be {range}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The range that would do, in words.
        range: &'static str,
    },

    /// The mechanism exists but is not what was asked for.
    #[error("{why}")]
    NotAsked {
        /// The reason against it.
        why: &'static str,
    },

    /// The accountant refuses.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
}

/// Refuses a parameter that is out of its range.
pub(crate) fn require(holds: bool, name: &'static str, range: &'static str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Parameter { name, range }) }
}

/// Refuses a value that does not fit the question.
pub(crate) fn fits(holds: bool, expected: &'static str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Value { expected }) }
}
