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

mod attack;
mod audit;
mod counts;
mod error;
mod estimate;
mod histograms;
mod mechanism;
pub mod packed;
mod parameters;
mod plan;
mod promise;
mod protocol;
mod queries;
pub mod sample;
mod simulate;
mod slots;
mod strings;
mod sums;
#[cfg(test)]
mod testing;
mod time;
mod value;

pub use attack::Attack;
pub use audit::{Audit, Finding};
pub use counts::binary::BinaryResponse;
pub use counts::burst::{BurstCount, BurstHistogram};
pub use counts::coin_count::CoinCount;
pub use counts::two_message::TwoMessageCount;
pub use error::Error;
pub use estimate::{Estimate, Noise};
pub use histograms::additive::AdditiveHistogram;
pub use histograms::buckets::{Buckets, Collisions};
pub use histograms::columns::{Columns, Histogram, Selection, Winner};
pub use histograms::kary::KaryResponse;
pub use histograms::simplex::norm_sub;
pub use histograms::subset::SubsetSelection;
pub use mechanism::{Key, Mechanism};
pub use parameters::Parameters;
pub use plan::{Ask, Offer, Plan, Question};
pub use protocol::{Law, Protocol, Tally};
pub use queries::central::{CentralSelection, CentralSum};
pub use queries::regression::{Example, Training, VectorSum, dot, logistic, logistic_regression};
pub use simulate::simulate;
pub use strings::bloom::{Bloom, Filter};
pub use strings::decode::{Control, DecodeOptions, Decoded, decode};
pub use strings::memory::Memory;
pub use strings::rappor::Rappor;
pub use sums::laplace::LaplaceMean;
pub use sums::sliced_sum::SlicedSum;
pub use sums::split_mix::SplitAndMix;
pub use sums::unary_sum::UnarySum;
pub use time::longitudinal::{Client, Longitudinal};
pub use value::{Range, Value, Values};
