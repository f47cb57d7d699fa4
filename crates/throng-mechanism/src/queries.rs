//! Selection, means of vectors, learning, and what one trusted party would do
//! (`docs/mechanisms/selection-and-queries.md`).

mod central;
mod regression;
pub(crate) mod selection;

pub use central::{CentralSelection, CentralSum};
pub use regression::{Example, Training, VectorSum, dot, logistic, logistic_regression};
pub use selection::{Selection, Winner};
