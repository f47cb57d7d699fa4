//! Strings: which of a list are common (`docs/mechanisms/strings.md`).

pub(crate) mod bloom;
mod chance;
mod cholesky;
pub(crate) mod decode;
pub(crate) mod memory;
pub(crate) mod rappor;
pub(crate) mod siphash;
