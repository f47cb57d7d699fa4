//! The services over HTTP.
//!
//! ```text
//! accept    sockets, TLS, connections that are slow or old, graceful end
//! door      requests at once, headers of every answer
//! routes    every path and what answers it
//! upload    reports in          batch   batches in          bulletin   what boards show
//! guard     who may read
//! about     what is going on, for machines      pages   the same, for people
//! problem   every error as a status and a problem document
//! ```

mod about;
mod accept;
mod batch;
mod bulletin;
mod door;
mod guard;
mod not_after;
mod pages;
mod path;
mod problem;
mod routes;
mod tls;
mod upload;

pub(crate) use accept::serve;
pub(crate) use guard::{Guard, Visitor};
pub(crate) use problem::Problem;
pub(crate) use tls::{Certificate, Pem, Shown};
