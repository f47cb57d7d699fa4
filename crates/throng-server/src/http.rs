//! The services over HTTP.
//!
//! ```text
//! accept    sockets, TLS, connections that are slow or old, graceful end
//! edge      connections, requests and bodies at once, and fair shares of them
//!   source    whom they count for             shares   who gets and who loses
//!   quota     reports of one network in an epoch
//!   body      bodies that come too slowly      reader   readers that are too slow
//!   answer    answers on their way        unread   when they have to be read
//! door      whether there is room for a request, headers of every answer
//! routes    every path and what answers it
//! upload    reports in          batch   batches in          bulletin   what boards show
//! guard     who may read
//! about     what is going on, for machines      pages   the same, for people
//! problem   every error as a status and a problem document
//! ```

mod about;
mod accept;
mod answer;
mod batch;
mod body;
mod bulletin;
mod door;
mod edge;
mod guard;
mod not_after;
mod pages;
mod path;
mod problem;
mod quota;
mod reader;
mod routes;
mod shares;
mod source;
mod tls;
mod unread;
mod upload;

pub(crate) use accept::serve;
pub(crate) use edge::Edge;
pub(crate) use guard::{Guard, Visitor};
pub(crate) use problem::Problem;
pub(crate) use routes::routes;
pub(crate) use tls::{Certificate, Pem, Shown};
