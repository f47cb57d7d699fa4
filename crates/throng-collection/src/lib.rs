//! A collection: what is asked, what is promised, and who carries the answers.
//!
//! It is a TOML file that everyone holds and nobody changes: its id is bound into every layer of
//! every report (`docs/protocol.md`, 2). A file whose promise the mechanism does not keep is
//! refused.
//!
//! ```
//! use throng_collection::{Collection, example};
//!
//! let collection = example::collection();
//! let file = collection.to_toml();
//! assert_eq!(Collection::parse(&file)?.id(), collection.id());
//!
//! // Twice the ε is what the mechanism keeps as well; half of it is refused.
//! assert!(Collection::parse(&file.replace("\nepsilon = 1.0", "\nepsilon = 2.0")).is_ok());
//! let error = Collection::parse(&file.replace("\nepsilon = 1.0", "\nepsilon = 0.5")).unwrap_err();
//! assert!(error.to_string().starts_with("the promise is not kept"));
//! # Ok::<(), throng_collection::Error>(())
//! ```
//!
//! | module | |
//! |---|---|
//! | `collection` | [`Collection`]: [`Terms`], a schedule and a chain |
//! | `file`, `section` | the file, read so that errors say where |
//! | `canonical` | the bytes that the id is a hash of |
//! | `payload` | messages as bytes |
//! | `promise` | whether the promise is kept; [`Account`]: what was spent |
//! | `device` | [`Device`]: what several collections cost one device together |
//! | `words` | the promise in plain words |
//! | `release` | [`Release`]: estimates with their errors, and what holds for their batch |
//! | `board` | [`Board`]: a collection that asks nothing and publishes what is posted |
//! | [`example`] | one small collection with its parties |

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod board;
mod canonical;
mod collection;
mod device;
mod error;
pub mod example;
mod file;
mod payload;
mod promise;
mod release;
mod section;
mod words;

pub use board::Board;
pub use collection::{Collection, Promise, Prompt, Terms};
pub use device::{Device, Shared};
pub use error::Error;
pub use file::{duration_text, seconds};
pub use payload::report_bytes;
pub use promise::{Account, Disclosure, HIGH_EPSILON};
pub use release::{About, Answer, BatchGuarantee, Budget, Influence, Release, Subject, Subjects};
