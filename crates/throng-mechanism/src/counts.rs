//! Counts: how many say yes (`docs/mechanisms/counts.md`).

pub(crate) mod binary;
pub(crate) mod burst;
mod coin_count;
pub(crate) mod two_message;

pub use binary::BinaryResponse;
pub use burst::BurstCount;
pub use coin_count::CoinCount;
pub use two_message::TwoMessageCount;
