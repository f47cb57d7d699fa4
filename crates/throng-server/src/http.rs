//! The services over HTTP.
//!
//! ```text
//! accept    sockets, TLS, connections that are slow or old, graceful end
//! door      requests at once, headers of every answer
//! routes    every path and what answers it
//! upload    reports in          batch   batches in
//! about     what is going on, for people and their machines
//! problem   every error as a status and a problem document
//! ```

mod about;
mod accept;
mod batch;
mod door;
mod openapi;
mod path;
mod problem;
mod routes;
mod tls;
mod upload;

pub(crate) use accept::serve;
pub(crate) use tls::Tls;
