//! One call from a value to a sealed report.
//!
//! A [`Client`] is one device's part in one collection. It randomizes a value, seals it in layers
//! to keys that every party of the collection has signed, and keeps what must be kept so that
//! nobody ever sees two randomizations of one value: a report for each epoch, no more of them than
//! is promised, and a hard off switch.
//!
//! ```
//! use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
//! use throng_account::{Crowd, Delta, Epsilon};
//! use throng_client::Client;
//! use throng_collection::{Collection, Promise, Prompt, Terms};
//! use throng_mechanism::{Ask, Key, Question, Value};
//! use throng_wire::{
//!     Below, Binding, Chain, Directory, Identity, LayerSecret, Opener, Party, Schedule,
//!     SignedDirectory,
//! };
//!
//! let mut rng = ChaCha12Rng::seed_from_u64(1);
//!
//! // A question to a thousand people, asked once, through one mix.
//! let (epsilon, delta, crowd) = (Epsilon::new(1.0)?, Delta::new(1e-6)?, Crowd::new(1000)?);
//! let ask = Ask::new(Question::Bit, crowd, epsilon, delta);
//! let lifetime = (epsilon, delta);
//! let promise = Promise { epsilon, delta, crowd, corrupt: 0.0, epochs: 1, lifetime };
//! let mechanism = ask.calibrate(Key::BitSum)?;
//! let [mix, analyzer] = [Identity::generate(&mut rng), Identity::generate(&mut rng)];
//! let party = |name: &str, identity: &Identity| Party {
//!     name: name.into(),
//!     url: format!("https://{name}.example"),
//!     identity: identity.public(),
//! };
//! let collection = Collection {
//!     terms: Terms { question: Prompt::new("Do you cycle to work?"), promise, mechanism },
//!     schedule: Schedule { start: 0, every: 86_400, grace: 3_600, below: Below::Expire },
//!     chain: Chain { mixes: vec![party("mix", &mix)], analyzer: party("analyzer", &analyzer) },
//! };
//!
//! // Both parties sign the list of their keys for epoch 0.
//! let secrets = [LayerSecret::generate(&mut rng), LayerSecret::generate(&mut rng)];
//! let keys = secrets.iter().map(LayerSecret::public).collect();
//! let keys = Directory { collection: collection.id(), window: 0, keys };
//! let signatures = vec![keys.cosign(&mix), keys.cosign(&analyzer)];
//! let directory = SignedDirectory::new(keys, signatures);
//!
//! // A device checks them, and reports. Asked again, it gives the same bytes.
//! let mut client = Client::new(collection.clone())?;
//! client.learn(&directory, 0)?;
//! let report = client.report(Value::Bit(true), 0, &mut rng)?;
//! let again = client.report(Value::Bit(true), 0, &mut rng)?;
//! assert_eq!(again.as_bytes(), report.as_bytes());
//!
//! // The mix takes off a layer, the analyzer the next: a bit, which may be the true one or not.
//! let collection_id = collection.id();
//! let mut sealed = report.as_bytes().to_vec();
//! for (secret, hop) in secrets.iter().zip(1..) {
//!     let binding = Binding { collection: collection_id, epoch: 0, hop, analyzer: hop == 2 };
//!     let mut opened = vec![0; sealed.len() - throng_wire::LAYER];
//!     Opener::new(secret, &binding)?.open(&sealed, &mut opened)?;
//!     sealed = opened;
//! }
//! assert!(sealed == [0] || sealed == [1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In use, a collection is read from its file, [`Client::open`] keeps the state on disk, and with
//! the feature `http` an `Uploader` does all of it: `uploader.submit(&mut client, value, epoch,
//! rng)`, at the moment that [`jitter`] says.
//!
//! | module | |
//! |---|---|
//! | `client` | [`Client`]: learn, report, acknowledge, disable |
//! | `keys` | the keys of the latest window |
//! | `state`, `file` | the state as bytes, and its replacement on disk |
//! | `report` | [`Report`]: what leaves |
//! | `poster` | [`Poster`]: a part on a board, where messages are posted round by round |
//! | `upload`, `retry` | to the first mix and back, with patience |
//! | `moment` | when to send |

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod client;
mod error;
#[cfg(not(target_arch = "wasm32"))]
mod file;
mod keys;
mod moment;
mod poster;
mod report;
#[cfg(feature = "http")]
mod retry;
mod state;
#[cfg(test)]
mod testing;
#[cfg(feature = "http")]
mod upload;

pub use client::Client;
pub use error::{Error, Trouble};
pub use moment::jitter;
pub use poster::Poster;
pub use report::Report;
#[cfg(feature = "http")]
pub use retry::Patience;
#[cfg(feature = "http")]
pub use upload::Uploader;

/// The README's programs, run as tests.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
