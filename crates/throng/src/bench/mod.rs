//! `throng bench`: how fast, beside a limit measured in the same run.

mod account;
mod mechanism;

pub use account::account;
pub use mechanism::{aggregate, encode};
