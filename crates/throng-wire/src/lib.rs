//! Bytes, keys and onion layers: what clients, mixes and analyzers agree on.
//!
//! `docs/protocol.md` is the normative description of every layout here.
//!
//! ```
//! # #[cfg(feature = "open")] {
//! use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
//! use throng_wire::{Binding, CollectionId, LayerSecret, Opener, Seal, Shape};
//!
//! // One mix, and an answer of one byte: every report has 97 of them.
//! let shape = Shape { mixes: 1, messages: 1, payload: 1 };
//! let [mix, analyzer] = [1, 2].map(|seed| LayerSecret::from_bytes(&[seed; 32]));
//! let collection = CollectionId::new([7; 32]);
//! let seal = Seal::new(&shape, collection, 0, 0, &[mix.public(), analyzer.public()])?;
//! let report = seal.report(&[1], &mut ChaCha12Rng::seed_from_u64(1))?;
//! assert_eq!(report.len(), 97);
//!
//! // The mix takes off its layer, and cannot take off the analyzer's.
//! let binding = |hop, analyzer| Binding { collection, epoch: 0, hop, analyzer };
//! let (mut onion, mut message) = ([0; 49], [0]);
//! Opener::new(&mix, &binding(1, false))?.open(&report, &mut onion)?;
//! assert!(Opener::new(&mix, &binding(2, true))?.open(&onion, &mut message).is_err());
//! Opener::new(&analyzer, &binding(2, true))?.open(&onion, &mut message)?;
//! assert_eq!(message, [1]);
//! # }
//! # Ok::<(), throng_wire::Error>(())
//! ```
//!
//! | module | |
//! |---|---|
//! | `keys` | [`Identity`], [`LayerSecret`] |
//! | `directory` | [`SignedDirectory`]: the keys of a window |
//! | `seal` | [`Seal`]: for clients |
//! | `open` | with the feature `open`, `Opener`: for mixes and the analyzer |
//! | `shape`, `suite` | [`Shape`]: how long everything is; [`Binding`]: what a layer is for |
//! | `batch` | [`SignedManifest`], [`Receipt`]: batches down the chain, receipts back |
//! | `bulletin` | [`Bulletin`]: the messages of a round of a board, signed by everyone |
//! | `route`, `schedule`, `chain` | [`Route`]: all that a mix knows of a question or a board |
//! | [`bytes`] | cursors over the layouts |

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod batch;
mod bulletin;
pub mod bytes;
mod chain;
mod directory;
mod error;
pub mod example;
mod id;
#[cfg(feature = "open")]
mod key_schedule;
mod keys;
#[cfg(feature = "open")]
mod native;
#[cfg(feature = "open")]
mod open;
#[cfg(any(test, not(feature = "open")))]
mod portable;
mod route;
mod schedule;
mod seal;
mod shape;
mod suite;
mod utc;
#[cfg(feature = "open")]
mod x25519;

pub use batch::{BatchId, Loss, Manifest, Receipt, RecordDigest, SignedManifest};
pub use bulletin::{Bag, Bulletin, Notice, SignedNotice};
pub use bytes::{hex, unhex};
pub use chain::{Chain, Party};
pub use directory::{Directory, KeyStatement, SignedDirectory};
pub use error::Error;
pub use id::CollectionId;
pub use keys::{Identity, LayerPublic, LayerSecret, PublicIdentity};
#[cfg(feature = "open")]
pub use open::Opener;
pub use route::Route;
pub use schedule::{Below, Schedule};
pub use seal::{Layer, Seal};
pub use shape::{ENC, LAYER, Shape, TAG};
pub use suite::Binding;
pub use utc::Utc;
#[cfg(feature = "open")]
pub use x25519::AgreementKey;
