//! `throng bench`: how fast, beside a limit measured in the same run.

mod account;
mod chain;
mod mechanism;
mod rate;
mod system;

pub use account::account;
pub use chain::{mix, seal, shuffle};
pub use mechanism::{aggregate, encode};
pub use system::end_to_end;
