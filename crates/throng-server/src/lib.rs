//! Servers: mixes and analyzers as processes, crowds in, releases out.
//!
//! [`throng_mix`] decides and keeps; here are the duties of an analyzer, [`Analyzer`] for questions
//! and [`Noticeboard`] for boards, the sockets and tasks around all of them, and the dashboard.
//! [`Server`] runs any number of collections in one process: it listens, ticks, learns the others'
//! keys and hands batches over.
//!
//! | module | |
//! |---|---|
//! | `analyzer`, `ledger` | batches in, releases out; what was spent |
//! | `noticeboard` | the analyzer of a board: batches in, bulletins out |
//! | `party` | one collection at this server, and its duty in it |
//! | `server`, `run`, `http` | sockets, tasks, time; the only asynchronous part |
//! | `config`, `access`, `clock` | settings, tokens, the time |
//! | `dashboard`, `metrics` | pages and counters |

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod access;
mod analyzer;
mod clock;
mod config;
mod dashboard;
mod error;
mod http;
mod ledger;
mod metrics;
mod noticeboard;
mod party;
mod pieces;
mod run;
mod server;

pub use access::{Access, Reader, Token};
pub use analyzer::Analyzer;
pub use clock::Clock;
pub use config::{Config, Role};
pub use error::Error;
pub use ledger::{Entry, Ledger};
pub use noticeboard::Noticeboard;
pub use server::{Listener, Parts, Running, Server};
