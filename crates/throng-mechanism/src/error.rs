use throng_account::show::Upper;

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

    /// A report has more messages than are allowed.
    #[error("it sends {needed} messages, and at most {most} are allowed")]
    Messages {
        /// The messages of one report.
        needed: u64,
        /// The most that are allowed.
        most: u64,
    },

    /// All epochs together do not keep the promise.
    #[error(
        "{epochs} epochs do not keep epsilon = {epsilon}, delta = {delta:e} together: {}; enlarge \
         the crowd, epsilon or delta, or ask less often",
        reached(*best)
    )]
    Lifetime {
        /// The number of epochs.
        epochs: u64,
        /// The ε asked for.
        epsilon: f64,
        /// The δ asked for.
        delta: f64,
        /// The least ε of all epochs that was found.
        best: f64,
    },

    /// The accountant refuses.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
}

/// The least ε of a lifetime, in words.
fn reached(best: f64) -> String {
    if best.is_finite() {
        format!("the least that was found is {}", Upper(best).places(4))
    } else {
        "no setting tried has a finite epsilon".into()
    }
}

/// Refuses a parameter that is out of its range.
pub(crate) fn require(holds: bool, name: &'static str, range: &'static str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Parameter { name, range }) }
}

/// Refuses a value that does not fit the question.
pub(crate) fn fits(holds: bool, expected: &'static str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Value { expected }) }
}
