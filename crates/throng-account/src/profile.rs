//! Privacy profiles, one file per family of mechanisms.
//!
//! | mechanism | profile |
//! |---|---|
//! | flipped bits, counted | [`BitSum`] |
//! | bounded reals, summed in one bag | [`RealSum`] |
//! | a true bit and a noise message | [`TwoMessageCount`] |
//! | a true bit or number among coins | [`CoinCount`], [`SlicedSum`] |
//! | a true category among drawn ones | [`AdditiveHistogram`] |
//! | true messages among rare bursts: a bit, a category | [`BurstCount`], [`BurstHistogram`] |
//! | several columns of flipped bits | [`Columns`] |
//! | any ε₀-LDP randomizer, shuffled | [`Shuffled`], [`ClonePair`] |
//! | k-ary response, subset selection, local hashing, unary encoding | [`Blanket`] |
//! | RAPPOR's three guarantees | [`Rappor`] |
//! | a bit followed over time | [`Longitudinal`] |
//! | anything of which only (ε₀, δ₀) is known | [`Declared`] |
//!
//! ```
//! use throng_account::profile::CoinCount;
//! use throng_account::{Crowd, Delta, Probability, Profile, Threshold};
//!
//! // A bit among coins, of which one in a hundred shows: no message is noisy by itself.
//! let chance = Threshold::at_least(Probability::new("chance", 0.01)?);
//! let count = CoinCount::new(Crowd::new(10_000)?, 1, chance)?;
//! assert!(count.epsilon(Delta::new(1e-6)?)?.epsilon.get() < 0.91);
//! assert!(count.pure().is_none());
//! # Ok::<(), throng_account::Error>(())
//! ```

mod amplify;
pub(crate) mod bit_sum;
mod blanket;
mod burst;
pub(crate) mod burst_histogram;
pub(crate) mod coins;
mod columns;
mod declared;
mod longitudinal;
mod rappor;
mod real_sum;
mod sliced;
mod two_message;

pub use crate::kernel::clones::ClonePair;
pub use amplify::{Bound, Shuffled};
pub use bit_sum::BitSum;
pub use blanket::Blanket;
pub use burst::{BurstCount, Bursts};
pub use burst_histogram::BurstHistogram;
pub use coins::{AdditiveHistogram, CoinCount};
pub use columns::Columns;
pub use declared::Declared;
pub use longitudinal::Longitudinal;
pub use rappor::Rappor;
pub use real_sum::RealSum;
pub use sliced::SlicedSum;
pub use two_message::TwoMessageCount;
