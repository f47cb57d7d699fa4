use crate::show::Upper;

/// The reason why a question has no answer, by what the caller can do about it.
///
/// ```
/// use throng_account::{Delta, Error};
///
/// let error = Delta::new(0.0).unwrap_err();
/// assert!(matches!(error, Error::OutOfRange { name: "delta", .. }));
/// let text = "delta = 0 is out of range: it must be at least 1e-200 and below 1";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside the range in which it means anything.
    #[error("{name} = {value} is out of range: it must be {range}")]
    OutOfRange {
        /// The parameter, as the caller knows it.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The range that would do, in words.
        range: &'static str,
    },

    /// A theorem is asked outside the range it is proved for.
    #[error("{theorem} does not apply: it needs {name} {relation} {limit}, but {name} = {value}")]
    NotValid {
        /// The theorem.
        theorem: &'static str,
        /// The parameter that leaves its range.
        name: &'static str,
        /// `>=`, `<=`, `<` or `>`.
        relation: &'static str,
        /// The smallest (or largest) value that would do.
        limit: f64,
        /// The value that was given.
        value: f64,
    },

    /// No finite ε holds at this δ, because an outcome of larger probability gives the user away.
    #[error(
        "no finite epsilon holds at delta = {delta}: one outcome reveals the user with \
         probability {least}, so delta must be at least that"
    )]
    Unreachable {
        /// The δ asked for.
        delta: f64,
        /// The smallest δ that some finite ε reaches.
        least: f64,
    },

    /// No parameter in the mechanism's range keeps the promise.
    #[error(
        "no {parameter} reaches epsilon = {epsilon}, delta = {delta:e}: {}; enlarge the crowd, \
         epsilon or delta",
        reached(*best)
    )]
    CannotCalibrate {
        /// The parameter searched.
        parameter: &'static str,
        /// The ε asked for.
        epsilon: f64,
        /// The δ asked for.
        delta: f64,
        /// ε at the most private setting.
        best: f64,
    },
}

/// Refuses a parameter that is not in its range.
pub(crate) fn require(
    holds: bool,
    name: &'static str,
    value: f64,
    range: &'static str,
) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::OutOfRange { name, value, range }) }
}

/// The ε that the most private setting reaches, in words.
fn reached(best: f64) -> String {
    if best.is_finite() {
        format!("the most private setting tried has epsilon {}", Upper(best).places(4))
    } else {
        "no setting tried has a finite epsilon".into()
    }
}
