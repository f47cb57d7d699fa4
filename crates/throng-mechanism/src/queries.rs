//! Selection, means of vectors, learning, and the release of one trusted party
//! (`docs/mechanisms/selection-and-queries.md`).

mod central;
mod regression;
pub(crate) mod selection;

pub use central::{CentralSelection, CentralSum};
pub use regression::{Example, Training, VectorSum, dot, logistic, logistic_regression};
pub use selection::{Selection, Winner};
