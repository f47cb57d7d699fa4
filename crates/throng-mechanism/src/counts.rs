//! Counts: how many say yes (`docs/mechanisms/counts.md`).

pub(crate) mod binary;
pub(crate) mod burst;
pub(crate) mod coin_count;
pub(crate) mod two_message;
