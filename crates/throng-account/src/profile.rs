//! Privacy profiles, one file per family of mechanisms.
//!
//! | mechanism | profile |
//! |---|---|
//! | flipped bits, counted; bounded reals as such bits in one bag | [`BitSum`] |
//! | a true bit and a noise message | [`TwoMessageCount`] |
//! | a true bit or category among drawn ones | [`AdditiveNoise`] |
//! | a true number, in binary, among coins | [`SlicedSum`] |
//! | true messages among rare bursts: a bit, a category | [`BurstCount`], [`BurstHistogram`] |
//! | several columns of flipped bits | [`Columns`] |
//! | any ε₀-LDP randomizer, shuffled | [`Amplification`], [`ClonePair`] |
//! | k-ary response, subset selection, local hashing, unary encoding | [`Blanket`] |
//! | a number with Laplace noise | [`LaplaceBlanket`] |
//! | RAPPOR's three guarantees | [`Rappor`] |
//! | a bit followed over time | [`Longitudinal`] |
//! | anything of which only (ε₀, δ₀) is known | [`WorstCase`] |
//!
//! ```
//! use throng_account::profile::AdditiveNoise;
//! use throng_account::{Crowd, Delta, Probability, Profile, Threshold};
//!
//! // A bit among coins, of which one in a hundred shows: no message is noisy by itself.
//! let chance = Threshold::at_least(Probability::new("chance", 0.01)?);
//! let count = AdditiveNoise::new(Crowd::new(10_000)?, 1, chance, 2)?;
//! assert!(count.epsilon(Delta::new(1e-6)?)?.epsilon.get() < 0.91);
//! assert!(count.pure().is_none());
//! # Ok::<(), throng_account::Error>(())
//! ```

mod amplify;
mod bit_sum;
mod blanket;
mod burst;
pub(crate) mod burst_histogram;
pub(crate) mod coins;
mod columns;
mod laplace;
mod longitudinal;
mod rappor;
mod sliced;
mod two_message;
mod worst_case;

pub use crate::kernel::clones::ClonePair;
pub use amplify::{Amplification, Bound};
pub use bit_sum::BitSum;
pub use blanket::Blanket;
pub use burst::{BurstCount, Bursts};
pub use burst_histogram::BurstHistogram;
pub use coins::AdditiveNoise;
pub use columns::Columns;
pub use laplace::LaplaceBlanket;
pub use longitudinal::Longitudinal;
pub use rappor::Rappor;
pub use sliced::SlicedSum;
pub use two_message::TwoMessageCount;
pub use worst_case::WorstCase;
