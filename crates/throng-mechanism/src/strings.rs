//! Strings: which of a list are common (`docs/mechanisms/strings.md`).

pub(crate) mod bloom;
mod chance;
mod cholesky;
mod decode;
mod memory;
mod rappor;
pub(crate) mod siphash;

pub use bloom::{Bloom, Filter};
pub use decode::{Control, DecodeOptions, Decoded, decode};
pub use memory::Memory;
pub use rappor::Rappor;
