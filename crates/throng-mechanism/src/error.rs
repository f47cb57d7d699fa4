/// Why a value, a message or a parameter is refused.
///
/// No variant holds the value or the message itself: what a user holds never reaches an error.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user's value does not fit the question.
    #[error("the value does not fit: it must be {expected}")]
    Value {
        /// What would fit.
        expected: &'static str,
    },

    /// A message that no client of this mechanism sends.
    #[error("malformed message: it must be {expected}")]
    Malformed {
        /// What it should have been.
        expected: &'static str,
    },

    /// A parameter of the mechanism is out of range.
    #[error("{name} is out of range: it must be {range}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What would do.
        range: &'static str,
    },

    /// The mechanism exists but is not what was asked for.
    #[error("{why}")]
    NotAsked {
        /// What stands against it.
        why: &'static str,
    },

    /// The accountant refuses.
    #[error(transparent)]
    Account(#[from] throng_account::Error),
}
