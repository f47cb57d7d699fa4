//! Bytes, keys and onion layers: what clients, mixes and analyzers agree on.
//!
//! `docs/protocol.md` is the normative description of every layout here.

mod batch;
mod bytes;
mod collection;
mod directory;
mod error;
mod id;
mod keys;
#[cfg(feature = "open")]
mod native;
#[cfg(feature = "open")]
mod open;
#[cfg(any(test, not(feature = "open")))]
mod portable;
#[cfg(feature = "open")]
mod schedule;
mod seal;
mod shape;
mod suite;
#[cfg(feature = "open")]
mod x25519;

pub use batch::{BatchId, Loss, Manifest, Receipt, RecordDigest, SignedManifest};
pub use bytes::{hex, unhex};
pub use collection::{
    Account, Below, Chain, Collection, Party, Promise, Prompt, Schedule, Spending, Spent, Terms,
    duration_text, seconds, value_name,
};
pub use directory::{Directory, KeyStatement, SignedDirectory};
pub use error::Error;
pub use id::CollectionId;
pub use keys::{Identity, LayerPublic, LayerSecret, PublicIdentity};
#[cfg(feature = "open")]
pub use open::Opener;
pub use seal::{Layer, Seal};
pub use shape::{ENC, LAYER, Shape, TAG};
pub use suite::Binding;
#[cfg(feature = "open")]
pub use x25519::AgreementKey;
