//! Selection, means of vectors, learning, and what one trusted party would do
//! (`docs/mechanisms/selection-and-queries.md`).

pub(crate) mod central;
pub(crate) mod regression;
