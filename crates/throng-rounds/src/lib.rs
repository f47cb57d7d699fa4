//! What a crowd can do when it answers more than once.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod agree;
mod agreement;
mod channel;
mod circuit;
mod compute;
mod field;
mod filled;
mod error;
mod key;
mod noise;
mod odds;
mod participant;
pub mod pause;
mod plan;
mod robust;
mod seat;
pub mod shamir;
pub mod six_cards;

pub use agree::{Failure, Offer};
pub use agreement::Agreement;
pub use channel::{Channel, dummy, frames};
pub use circuit::{Bit, Circuit, Number, Output, Value};
pub use compute::{Committee, Outcome, Party, Progress, Traffic};
pub use error::Error;
pub use field::Element;
pub use filled::filled;
pub use key::PairKey;
pub use noise::Noise;
pub use odds::Method;
pub use participant::Participant;
pub use plan::Plan;
pub use robust::{RobustXorSum, XorSum, XorSums, xor_sum};
pub use seat::{Pair, Seat};
