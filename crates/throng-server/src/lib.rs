//! Servers: mixes and analyzers as processes, crowds in, releases out.
//!
//! [`throng_mix`] decides and keeps; here are the duties of an analyzer, [`Analyzer`] for questions
//! and [`Noticeboard`] for boards, the sockets and tasks around all of them, and the dashboard.
//! [`Server`] runs any number of collections in one process: it listens, ticks, learns the others'
//! keys and hands batches over.
//!
//! One mix and one analyzer in one process, without sockets, from 1,200 answers to a release:
//!
//! ```
//! use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
//! use std::io::Read;
//! use throng_collection::{Subject, example};
//! use throng_mechanism::Value;
//! use throng_mix::{Intake, Limits, Mix, simulated::MemoryStore};
//! use throng_server::Analyzer;
//! use throng_wire::{Route, Seal};
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1);
//! let collection = example::collection();
//! let (route, [north, counter]) = (Route::from(&collection), throng_wire::example::identities());
//! let disk = || MemoryStore::new().store();
//! let mix = Mix::open(disk(), route.clone().into(), north, Limits::default())?;
//! let analyzer = Analyzer::open(disk(), collection.clone().into(), counter, Limits::default())?;
//!
//! // Both make their keys of the first epoch.
//! let mut keys = Vec::new();
//! for course in [&mix.course, &analyzer.course] {
//!     course.keyring.publish(1_000, &mut rng)?;
//!     keys.push(course.keyring.statement(0)?.key);
//! }
//! // Of 1,200 people, 300 answer yes; each answer is randomized, sealed and acknowledged.
//! let seal = Seal::new(&route.shape, route.id, 0, 0, &keys)?;
//! for person in 0..1_200 {
//!     let mut messages = Vec::new();
//!     collection.terms.mechanism.encode(Value::Bit(person < 300), &mut rng, &mut messages)?;
//!     let mut payload = Vec::new();
//!     collection.terms.encode_payload(&messages, &mut payload)?;
//!     mix.accept(0, &seal.report(&payload, &mut rng)?, 1_000)?;
//! }
//!
//! // The epoch ends. The mix takes off its layer and permutes; the analyzer signs for the batch.
//! let deadline = route.schedule.deadline(0);
//! mix.step(deadline, &mut rng)?;
//! let mut outgoing = mix.outgoing(0)?.ok_or("a batch is ready")?;
//! let mut records = Vec::new();
//! outgoing.records.content.read_to_end(&mut records)?;
//! let Intake::New(mut incoming) = analyzer.course.receive(outgoing.manifest, deadline)? else {
//!     return Err("the batch is new to the analyzer".into());
//! };
//! incoming.write(&records)?;
//! mix.delivered(0, analyzer.course.keep(incoming)?)?;
//!
//! // It opens, counts, charges the ledger and publishes.
//! analyzer.step(deadline)?;
//! let release = &analyzer.published()?[0];
//! let answer = &release.estimates[0];
//! assert_eq!((release.reports, &answer.what), (1_200, &Subject::Yes));
//! assert!((answer.value - 300.0).abs() < 5.0 * answer.standard_error);
//! assert!(release.guarantee.epsilon.get() <= 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | |
//! |---|---|
//! | `analyzer`, `ledger` | batches in, releases out; what was spent |
//! | `noticeboard` | the analyzer of a board: batches in, bulletins out |
//! | `party` | one collection at this server, and its duty in it |
//! | `server`, `run`, `http` | sockets, tasks, time; the only asynchronous part |
//! | `config`, `files`, `text`, `access`, `clock` | settings and what they name, tokens, the time |
//! | `reload`, `roster`, `current` | other tokens, certificates and collections under way |
//! | `open_files` | how many files may be open, sockets included |
//! | `audit_log` | what operators did, as a chain |
//! | `dashboard`, `metrics` | pages and counters |

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod access;
mod analyzer;
mod audit_log;
mod clock;
mod config;
mod current;
mod dashboard;
mod error;
mod files;
mod http;
mod ledger;
mod metrics;
mod noticeboard;
mod open_files;
mod party;
mod pieces;
mod reload;
mod roster;
mod run;
mod server;
mod text;

pub use access::{Access, Reader, Token};
pub use analyzer::Analyzer;
pub use audit_log::{AuditLog, Verdict};
pub use clock::Clock;
pub use config::{Config, Role};
#[doc(hidden)]
pub use dashboard::planner_query;
pub use error::Error;
pub use ledger::{Entry, Ledger};
pub use noticeboard::Noticeboard;
pub use open_files::raise_open_files;
pub use reload::Reloaded;
pub use run::in_the_open;
pub use server::{Listener, Parts, Running, Server};
pub use text::{LONGEST_TEXT, read_short, read_text};
