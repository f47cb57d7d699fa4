//! Mixes and analyzers: crowds in, releases out.
//!
//! [`Mixer`] is what a mix and an analyzer decide, without disk, network or clock. [`Mix`], [`Analyzer`]
//! for questions and [`Noticeboard`] for boards put a [`Store`] around it, and stay synchronous and deterministic: every call that depends on time
//! or chance is given both. [`Server`] runs any number of them in one process: it listens, ticks, learns
//! the others' keys and hands batches over.

mod access;
mod analyzer;
mod clock;
mod config;
mod countersign;
mod dashboard;
mod error;
mod hop;
mod http;
mod keyring;
mod ledger;
mod limits;
mod metrics;
mod mix;
mod mixer;
mod noticeboard;
mod peel;
mod pieces;
mod progress;
mod release;
mod run;
mod server;
mod shuffle;
mod slots;
mod store;

pub use access::{Access, Reader, Token};
pub use analyzer::Analyzer;
pub use clock::Clock;
pub use config::{Config, Role};
pub use error::Error;
pub use hop::{Incoming, Intake};
pub use keyring::Keyring;
pub use ledger::{Entry, Ledger};
pub use limits::Limits;
pub use mix::{Mix, Outgoing};
pub use mixer::{Mixer, Rules, Step};
pub use noticeboard::Noticeboard;
pub use server::{Listener, Parts, Running, Server};
pub use shuffle::Shuffler;
pub use slots::{Slot, Slots, Stage, Why};
pub use store::{
    Blob, BlobWriter, Change, DiskStore, Fault, Faults, LogKey, LogName, MemoryStore, Operation,
    Pending, Scratch, Store, StoreError,
};
