//! Every mechanism of the shuffle model, the client's half and the analyzer's half of each in one
//! file, with a planner, a simulator and an auditor on top.
//!
//! ```
//! use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
//! use throng_account::{Crowd, Delta, Epsilon, Probability};
//! use throng_mechanism::{Ask, Plan, Question, Values, simulate};
//!
//! // How many of 10,000 people say yes? Nobody is to learn more than (1, 1e-6) about one of them.
//! let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
//! let ask = Ask::new(Question::Bit, Crowd::new(10_000)?, epsilon, delta);
//! // Among those with about the same error, the one with the fewest messages.
//! let plan = Plan::new(&ask, |mechanism| mechanism.messages() as u64);
//! let mechanism = &plan.offers[0].mechanism;
//!
//! // Three thousand do. Everyone reports, the reports are shuffled, the bag is counted.
//! let values = Values::Bits((0..10_000).map(|user| user < 3_000).collect());
//! let mut rng = ChaCha12Rng::seed_from_u64(1);
//! let tally = simulate(mechanism, &values, 0..10_000, &mut rng)?;
//! let estimate = mechanism.estimate(&tally, Probability::new("confidence", 0.999)?)[0];
//! assert!(estimate.holds(3_000.0));
//! # Ok::<(), throng_mechanism::Error>(())
//! ```
//!
//! | users hold | keys |
//! |---|---|
//! | a bit | [`BinaryResponse`] (`randomized-response`, `bit-sum`), [`TwoMessageCount`] |
//! | | [`CoinCount`], [`BurstCount`] |
//! | a number | [`UnarySum`] (`real-sum`, `one-bit-mean`), [`SlicedSum`] |
//! | | [`LaplaceMean`], [`SplitAndMix`] |
//! | one of k | [`KaryResponse`], [`SubsetSelection`], [`Histogram`] |
//! | | [`AdditiveHistogram`], [`BurstHistogram`], [`Buckets`], [`norm_sub`] |
//! | attributes | [`Selection`] |
//! | a string | [`Rappor`] with its [`Memory`], decoded by [`decode`] |
//! | a bit over time | [`Longitudinal`] with its [`Follower`] |
//! | a vector, a model | [`VectorSum`], [`logistic_regression`] |
//! | all data in one hand, to compare with | [`CentralSum`], [`CentralSelection`] |
//!
//! A mechanism is a [`Protocol`] with its [`Claims`], both in one file; [`Mechanism`] is any of
//! them under its stable [`Key`], and [`Kind`] says what its users hold. [`Plan`] calibrates what
//! answers a question and recommends one; [`simulate`] runs a crowd in process; [`Attack`] and
//! [`Audit`] measure privacy from outside. All randomness comes from an argument and is drawn in
//! [`sample`], by comparing integers with the integers that the accountant is given.

mod attack;
mod audit;
mod catalogue;
mod claims;
mod counts;
mod error;
mod estimate;
mod histograms;
mod inquiry;
mod lifetime;
mod mechanism;
pub mod packed;
mod plan;
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
mod trace;
mod value;

pub use attack::{Attack, NoiseCounts, Scene, Score};
pub use audit::{Audit, Design, Evidence, Finding, Frequency};
pub use catalogue::{Key, Mechanism, Row};
pub use claims::{Claims, Parameters, Spending};
pub use counts::*;
pub use error::Error;
pub use estimate::{Estimate, Noise};
pub use histograms::*;
pub use inquiry::{Inquiry, Setting, Settings};
pub use plan::{Ask, Offer, Plan, Question};
pub use protocol::{Law, Protocol, Tally};
pub use queries::*;
pub use simulate::simulate;
pub use strings::*;
pub use sums::*;
pub use time::*;
pub use trace::Trace;
pub use value::{Kind, Range, Value, Values};

// The vocabulary in which mechanisms are written.
use attack::{first_cell, odds, third};
use claims::{Given, bits_of, within_floor};
use error::{fits, require};
use plan::{OTHER_QUESTION, small};
use protocol::Bag;
use sample::TWO_64;
use slots::{MAX_SLOTS, count_bits, sum_up_to, symbol_or_null, with_slots, with_symbols};
