//! Randomize and estimate: every mechanism of the shuffle model, the client's half and the analyzer's
//! half of each in one file, with a planner, a simulator and an auditor on top.
//!
//! ```
//! use throng_account::{Crowd, Delta, Epsilon, Probability};
//! use throng_mechanism::{Ask, Plan, Question, Values, simulate};
//! # use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
//!
//! # fn main() -> Result<(), throng_mechanism::Error> {
//! // How many of 10,000 people say yes, so that nobody learns more than (1, 1e-6) about one of them?
//! let plan = Plan::new(&Ask {
//!     question: Question::Bit,
//!     reports: 10_000,
//!     crowd: Crowd::new(10_000)?,
//!     epsilon: Epsilon::new(1.0)?,
//!     delta: Delta::new(1e-6)?,
//!     max_messages: 16,
//!     local_floor: None,
//!     fragile: false,
//! });
//! let mechanism = &plan.offers[0].mechanism;
//!
//! // Three thousand do. Everyone reports, the reports are shuffled, the bag is counted.
//! let values = Values::Bits((0..10_000).map(|user| user < 3_000).collect());
//! let mut rng = ChaCha12Rng::seed_from_u64(1);
//! let tally = simulate(mechanism, &values, 0..10_000, &mut rng)?;
//! let estimate = mechanism.estimate(&tally, Probability::new("confidence", 0.999)?)[0];
//! assert!((estimate.value - 3_000.0).abs() <= estimate.half_width);
//! # Ok(())
//! # }
//! ```
//!
//! | users hold | keys |
//! |---|---|
//! | a bit | [`BinaryResponse`] (`randomized-response`, `bit-sum`), [`TwoMessageCount`], [`CoinCount`], [`BurstCount`] |
//! | a number | [`UnarySum`] (`real-sum`, `one-bit-mean`), [`SlicedSum`], [`LaplaceMean`], [`SplitAndMix`] |
//! | one of k | [`KaryResponse`], [`SubsetSelection`], [`Histogram`], [`AdditiveHistogram`], [`BurstHistogram`], [`Buckets`], [`norm_sub`] |
//! | attributes | [`Selection`] |
//! | a string | [`Rappor`] with its [`Memory`], decoded by [`decode`] |
//! | a bit over time | [`Longitudinal`] with its [`Client`] |
//! | a vector, a model | [`VectorSum`], [`logistic_regression`] |
//! | all data in one hand, to compare with | [`CentralSum`], [`CentralSelection`] |
//!
//! A mechanism is a [`Protocol`]; [`Mechanism`] is any of them under its stable [`Key`]. [`Plan`] calibrates
//! what answers a question and recommends one; [`simulate`] runs a crowd in process; [`Attack`] and
//! [`Audit`] measure privacy from outside. All randomness comes from an argument and is drawn in
//! [`sample`], by comparing integers with the integers that the accountant is given.

mod additive_histogram;
mod attack;
mod audit;
mod binary;
mod bloom;
mod buckets;
mod burst;
mod central;
mod chance;
mod cholesky;
mod coin_count;
mod columns;
mod decode;
mod error;
mod estimate;
mod kary;
mod laplace;
mod longitudinal;
mod mechanism;
mod memory;
pub mod packed;
mod parameters;
mod plan;
#[cfg(test)]
mod planted;
mod promise;
mod protocol;
mod queries;
mod rappor;
mod rates;
pub mod sample;
mod simplex;
mod simulate;
mod siphash;
mod sliced_sum;
mod slots;
mod split_mix;
mod subset;
#[cfg(test)]
mod testing;
mod two_message;
mod unary_sum;
mod value;

pub use additive_histogram::AdditiveHistogram;
pub use attack::Attack;
pub use audit::{Audit, Finding};
pub use binary::BinaryResponse;
pub use bloom::{Bloom, Filter};
pub use buckets::{Buckets, Collisions};
pub use burst::{BurstCount, BurstHistogram};
pub use central::{CentralSelection, CentralSum};
pub use coin_count::CoinCount;
pub use columns::{Columns, Histogram, Selection, Winner};
pub use decode::{Control, DecodeOptions, Decoded, decode};
pub use error::Error;
pub use estimate::{Estimate, Noise};
pub use kary::KaryResponse;
pub use laplace::LaplaceMean;
pub use longitudinal::{Client, Longitudinal};
pub use mechanism::{Key, Mechanism};
pub use memory::Memory;
pub use parameters::Parameters;
pub use plan::{Ask, Offer, Plan, Question};
pub use protocol::{Law, Protocol, Tally};
pub use queries::{Example, Training, VectorSum, dot, logistic, logistic_regression};
pub use rappor::Rappor;
pub use simplex::norm_sub;
pub use simulate::simulate;
pub use sliced_sum::SlicedSum;
pub use split_mix::SplitAndMix;
pub use subset::SubsetSelection;
pub use two_message::TwoMessageCount;
pub use unary_sum::UnarySum;
pub use value::{Range, Value, Values};
