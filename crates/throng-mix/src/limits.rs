//! The limits of a server.

use crate::Network;
use std::thread;

/// Bounds that an operator may set.
///
/// ```
/// use throng_mix::Limits;
///
/// let limits = Limits { threads: 2, ..Limits::default() };
/// assert_eq!((limits.upload, limits.requests), (1 << 20, 4_096));
/// assert_eq!(limits.drain, 7 * 86_400);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a body with reports.
    pub upload: usize,
    /// The most bytes of a batch.
    pub batch: u64,
    /// The most bytes of records that are permuted in memory; larger batches use the disk, except
    /// those of boards at the analyzer, which are refused.
    pub memory: usize,
    /// The number of threads that open records.
    pub threads: usize,
    /// The number of seconds after a window's last deadline in which late batches still find its
    /// keys.
    pub drain: u64,
    /// The most requests that are worked on at the same time; more are asked to come back.
    pub requests: usize,
    /// The most bytes of bodies with reports that are held at the same time; whoever brings more is
    /// asked to come back. Batches have a part of their own.
    pub bodies: usize,
    /// The most reports for one epoch of a collection that are taken from one network of clients.
    /// Without a number it follows from the collection, and machines nearby may send any number.
    pub source: Option<u64>,
    /// The proxies in front, whose word on who sent a request is taken.
    pub proxies: Vec<Network>,
    /// The number of seconds that a client has for a request.
    pub patience: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            upload: 1 << 20,
            batch: 1 << 40,
            memory: 1 << 30,
            threads: thread::available_parallelism().map_or(1, usize::from),
            drain: 7 * 86_400,
            requests: 4_096,
            bodies: 64 << 20,
            source: None,
            proxies: Vec::new(),
            patience: 30,
        }
    }
}
