//! How private is it? Exact and certified accounting for the shuffle model of differential privacy.
//!
//! Users randomize their values, a shuffler mixes the reports, and an adversary sees the mixed bag. This
//! crate computes (ε, δ) for that: exactly where exactness is reachable, rigorously everywhere, in
//! milliseconds for a billion users. It is pure mathematics: no randomness, no I/O, no clock.
//!
//! ```
//! use throng_account::{BitSum, Crowd, Delta, Epsilon, Profile, Shuffled, calibrate};
//!
//! # fn main() -> Result<(), throng_account::Error> {
//! let crowd = Crowd::new(10_000)?;
//! let delta = Delta::new(1e-6)?;
//!
//! // Any randomizer with local ε₀ = 1, in a crowd of ten thousand: at most 0.0433 ...
//! let guarantee = Shuffled::new(crowd, Epsilon::new(1.0)?)?.epsilon(delta)?;
//! assert!(guarantee.epsilon.get() < 0.0433);
//! // ... and some randomizer really costs 0.0379.
//! assert!(guarantee.lower.is_some_and(|witness| witness.epsilon.get() > 0.0379));
//!
//! // Counting ones with (1, 1e-6): how much noise, and how good is the count?
//! let calibrated = calibrate::bit_sum(crowd, Epsilon::new(1.0)?, delta)?;
//! assert!((calibrated.mechanism.lambda() - 67.5).abs() < 0.1);
//! assert!(calibrated.mechanism.standard_error() < 5.9);
//! # Ok(())
//! # }
//! ```
//!
//! Every answer is a [`Guarantee`]: ε rounded up, δ, the neighbouring relation, the theorem, and beside it
//! a lower bound with the dataset that achieves it, so that the gap to the truth is visible. Proofs, and
//! one row per claim with its theorem, function and test, are in `docs/privacy.md`.
//!
//! | question | answer |
//! |---|---|
//! | flipped bits, counted | [`BitSum`], and its [`TradeOff`] function |
//! | bounded reals, summed in one bag | [`RealSum`] |
//! | a true bit and a noise message | [`TwoMessageCount`] |
//! | true messages among coins: a bit, a category, a number | [`CoinCount`], [`AdditiveHistogram`], [`SlicedSum`] |
//! | true messages among rare bursts: a bit, a category | [`BurstCount`], [`BurstHistogram`] |
//! | several columns of flipped bits | [`Columns`] |
//! | any ε₀-LDP randomizer, shuffled | [`Shuffled`], [`ClonePair`] |
//! | k-ary response, subset selection, local hashing, unary encoding | [`Blanket`] |
//! | RAPPOR's three guarantees | [`Rappor`] |
//! | a bit followed over time | [`Longitudinal`] |
//! | several rounds together | [`Composition`], [`shuffled_rounds`], [`compose`] |
//! | how much noise, how large a crowd | [`calibrate`] |
//! | what has been spent | [`Ledger`] |
//! | what the papers print | [`published`] |
//!
//! Inside, three kernels do the work, each with constant or square-root cost in the crowd: a tilted
//! characteristic function for bags of bits (`bag`), a walk over the number of clones (`clones`), and a
//! smoothed contour integral for blankets (`stop_loss`).

mod amplify;
mod bag;
mod bag_table;
mod binomial;
mod bit_sum;
mod blanket;
mod burst;
mod burst_histogram;
mod burst_law;
pub mod calibrate;
mod clones;
mod coins;
mod columns;
mod complex;
pub mod compose;
mod error;
mod guarantee;
mod ledger;
mod longitudinal;
mod loss;
pub mod published;
mod quantity;
mod rappor;
mod real_sum;
mod sliced;
mod solve;
mod special;
mod stop_loss;
#[cfg(test)]
mod testing;
mod tradeoff;
mod two_message;
mod work;

pub use amplify::{Bound, Shuffled};
pub use binomial::success_band;
pub use bit_sum::BitSum;
pub use blanket::Blanket;
pub use burst::{BurstCount, Bursts};
pub use burst_histogram::BurstHistogram;
pub use clones::ClonePair;
pub use coins::{AdditiveHistogram, CoinCount};
pub use columns::Columns;
pub use compose::{Composition, Declared, shuffled_rounds};
pub use error::Error;
pub use guarantee::{Dataset, Guarantee, Neighbours, Profile, Theorem, UpperOnly, Witness};
pub use ledger::{Entry, Event, Ledger};
pub use longitudinal::Longitudinal;
pub use quantity::{Band, Crowd, Delta, Epsilon, Probability, Threshold};
pub use rappor::Rappor;
pub use real_sum::RealSum;
pub use sliced::SlicedSum;
pub use special::normal_reach;
pub use tradeoff::{TradeOff, gaussian_beta, gaussian_delta};
pub use two_message::TwoMessageCount;
pub use work::terms_visited;
