//! Exact and certified privacy accounting for the shuffle model of differential privacy.
//!
//! Users randomize their values, a shuffler mixes the reports, and an adversary sees the mixed bag.
//! This crate computes (ε, δ) for that: exactly where exactness is reachable, rigorously
//! everywhere, in milliseconds for a billion users. It is pure mathematics: no randomness, no I/O,
//! no clock.
//!
//! ```
//! use throng_account::profile::Amplification;
//! use throng_account::{Crowd, Delta, Epsilon, Profile, calibrate};
//!
//! let crowd = Crowd::new(10_000)?;
//! let delta = Delta::new(1e-6)?;
//!
//! // Any randomizer with local ε₀ = 1, in a crowd of ten thousand: at most 0.0433 ...
//! let guarantee = Amplification::new(crowd, Epsilon::new(1.0)?)?.epsilon(delta)?;
//! assert!(guarantee.epsilon.get() < 0.0433);
//! // ... and some randomizer really costs 0.0379.
//! assert!(guarantee.lower.is_some_and(|witness| witness.epsilon.get() > 0.0379));
//!
//! // Counting ones with (1, 1e-6): how much noise, and how good is the count?
//! let calibrated = calibrate::bit_sum(crowd, Epsilon::new(1.0)?, delta)?;
//! assert!((calibrated.mechanism.lambda() - 67.5).abs() < 0.1);
//! assert!(calibrated.mechanism.standard_error() < 5.9);
//! # Ok::<(), throng_account::Error>(())
//! ```
//!
//! Every answer is a [`Guarantee`]: ε rounded up, δ, the neighbouring relation, the theorem, and
//! beside it a lower bound with the dataset that achieves it, so that the gap to the truth is
//! visible. Proofs, and one row per claim with its theorem, function and test, are in
//! `docs/privacy.md`.
//!
//! | question | answer |
//! |---|---|
//! | how private is one mechanism? | its [`profile`] |
//! | what do several rounds cost? | [`spend`] |
//! | how much noise, how large a crowd? | [`calibrate`] |
//! | how well can a test do? | [`tradeoff`] |
//! | what do the papers print? | [`published`] |
//! | how is a bound rounded, and printed? | [`mod@round`], [`show`] |
//!
//! Inside, three kernels do the work, each with constant or square-root cost in the crowd: a tilted
//! characteristic function for bags of bits (`bag`), a walk over the number of clones (`clones`),
//! and a smoothed contour integral for blankets (`stop_loss`).

pub mod calibrate;
mod error;
mod guarantee;
mod kernel;
pub mod profile;
pub mod published;
mod quantity;
pub mod round;
pub mod show;
pub mod spend;
pub mod tail;
#[cfg(test)]
mod testing;
pub mod tradeoff;

pub use error::Error;
pub use guarantee::{Dataset, Guarantee, Neighbours, Profile, Theorem, UpperOnly, Witness};
pub use kernel::work::measured;
pub use quantity::{Band, Crowd, Delta, Epsilon, Probability, Threshold};
