//! The edge of a server: who is connected, what is under way, and how much of it is held.
//!
//! ```text
//! connections   as many as half of the files that this process may open; the other half is
//!               the store's. A few more are let in to ask what other parties and operators
//!               ask, and nothing else
//! requests      limits.requests, and some more for other parties
//! bodies        limits.bodies; a quarter of it for batches, and half of it for answers that
//!               are not read yet, besides, with a little more of that for parties and operators
//! ```
//!
//! All of them are shared fairly among sources.

use super::answer::{Answer, Held};
use super::quota::Quota;
use super::shares::{Room, Shares, Stage};
use super::source::{Peer, Source, Sources};
use super::unread::{Connection, Unread};
use crate::{Error, open_files};
use axum::body::{Body, HttpBody};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throng_mix::{Limits, lock};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The edge of a server.
pub(crate) struct Edge {
    pub(super) sources: Sources,
    pub(super) quota: Quota,
    pub(super) unread: Arc<Unread>,
    /// The number of sockets that may be open at the same time.
    pub(super) sockets: usize,
    lobby: Mutex<Lobby>,
    requests: Arc<Mutex<Room>>,
    kept_back: Arc<Mutex<Room>>,
    bodies: Arc<Mutex<Room>>,
    batches: Arc<Mutex<Room>>,
    /// The beginnings of batches, whose senders nobody knows yet.
    starts: Arc<Mutex<Room>>,
    answers: Arc<Mutex<Room>>,
    answers_kept_back: Arc<Mutex<Room>>,
}

/// The connections there are.
struct Lobby {
    room: Shares<CancellationToken>,
    /// The connections for which there was no room. They may ask what parties and operators ask.
    reserve: Shares<CancellationToken>,
}

/// The purpose of a request, as far as it decides on its way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// An operator's machine looks at this one.
    Watch,
    /// Another party asks, or brings something.
    Party,
    /// Anything else, reports above all.
    Public,
}

impl Edge {
    /// An edge for bodies of at most `upload` bytes.
    pub fn new(limits: &Limits, upload: usize) -> Result<Self, Error> {
        let requests = limits.requests.min(MOST);
        let sockets = (requests * CONNECTIONS + RESERVE + SPARE).min(open_files::allowed() / 2);
        let reserve = RESERVE.min(sockets / 4);
        let room = sockets.saturating_sub(reserve + SPARE).max(1);
        let bodies = limits.bodies.max(upload);
        let shared = |most| Arc::new(Mutex::new(Room::new(most)));
        Ok(Self {
            sources: Sources::new(limits)?,
            quota: Quota::new(limits.source),
            unread: Arc::new(Unread::new(Duration::from_secs(limits.patience))),
            sockets: sockets.max(MIN_SOCKETS),
            lobby: Mutex::new(Lobby { room: Shares::new(room), reserve: Shares::new(reserve) }),
            requests: shared(requests),
            kept_back: shared(PARTIES),
            bodies: shared(bodies),
            batches: shared((bodies / 4).max(BATCHES)),
            starts: shared(STARTS),
            answers: shared(bodies / 2),
            answers_kept_back: shared(ANSWERS),
        })
    }

    /// Lets a connection in, if there is room or somebody else has to go. Returns its seat, and
    /// true if somebody lost theirs.
    pub(super) fn seat(self: &Arc<Self>, peer: Peer) -> Option<(Arc<Seat>, bool)> {
        let ended = CancellationToken::new();
        let source = (!peer.proxy).then_some(peer.source);
        let mut lobby = lock(&self.lobby);
        let (entered, reserved) = match lobby.room.enter(source, ended.clone()) {
            Ok(entered) => (entered, false),
            Err(ended) => (lobby.reserve.enter(source, ended).ok()?, true),
        };
        drop(lobby);
        let (id, loser) = entered;
        if let Some(loser) = &loser {
            loser.cancel();
        }
        let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (edge, connection) = (Arc::clone(self), self.unread.connection(ended.clone()));
        let seat = Seat { edge, peer, connection, reserved, ended, id, begun, done };
        Some((Arc::new(seat), loser.is_some()))
    }

    /// Takes a place among the requests that are worked on. Some are kept back for other parties,
    /// and those who watch need none.
    pub(super) fn request(&self, purpose: Purpose, source: Source) -> Option<Place> {
        let some = || Holding::take(&self.requests, source, 1);
        let kept_back = || Holding::take(&self.kept_back, source, 1);
        match purpose {
            Purpose::Watch => Some(Place(None)),
            Purpose::Party => kept_back().or_else(some).map(|one| Place(Some(one))),
            Purpose::Public => some().map(|one| Place(Some(one))),
        }
    }

    /// A body with reports, of which nothing is held yet.
    pub(super) fn body(&self, source: Source) -> Holding {
        Holding { room: Arc::clone(&self.bodies), source, amount: 0 }
    }

    /// Room for the beginning of a batch, until its signature is checked.
    pub(super) fn start(&self, source: Source, bytes: usize) -> Option<Holding> {
        Holding::take(&self.starts, source, bytes)
    }

    /// Room for the pieces of a batch, which is another party's by its signature.
    pub(super) fn batch(&self, source: Source, bytes: usize) -> Option<Holding> {
        Holding::take(&self.batches, source, bytes)
    }

    /// Lets an answer go out, if there is room for what is not read at once. An answer that waits
    /// for nothing but its own connection, whose buffer holds it, is no matter.
    pub(super) fn answer(&self, body: Body, asked: &Asked) -> Option<Body> {
        let hint = body.size_hint();
        let bytes = hint.exact().map_or(STREAM, |exact| exact as usize);
        let public = asked.purpose == Purpose::Public;
        let held = if asked.beside { bytes + BESIDE } else { bytes };
        if body.is_end_stream() || !asked.beside && (bytes <= SHORT || !public) {
            return Some(body);
        }
        let some = || Holding::take(&self.answers, asked.source, held);
        let kept_back = || Holding::take(&self.answers_kept_back, asked.source, held);
        let room = if public { some() } else { kept_back().or_else(some) }?;
        let send = |connection| self.unread.send(connection, Instant::now());
        let on_its_way = asked.connection.as_ref().map(send);
        Some(Body::new(Answer::new(body, Held::new(room, on_its_way))))
    }

    /// True if there is little room for more connections.
    pub(super) fn is_pressed(&self) -> bool {
        lock(&self.lobby).room.is_pressed()
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        let lobby = lock(&self.lobby);
        lobby.room.count() + lobby.reserve.count()
    }

    /// The number of bytes of bodies that are held, in both directions.
    pub fn held(&self) -> usize {
        let answers = [&self.answers, &self.answers_kept_back];
        let rooms = [&self.bodies, &self.batches, &self.starts].into_iter().chain(answers);
        rooms.map(|room| lock(room).used()).sum()
    }
}

/// What an answer is to.
pub(super) struct Asked {
    pub purpose: Purpose,
    pub source: Source,
    /// True if others are on their way beside it on its connection, as with HTTP/2: then each waits
    /// to be read by itself.
    pub beside: bool,
    /// The connection, unless it is a proxy's, which has others' requests on it.
    pub connection: Option<Connection>,
}

/// A connection among the others, until it is dropped.
pub(super) struct Seat {
    pub edge: Arc<Edge>,
    pub peer: Peer,
    /// What its answers know of it.
    pub connection: Connection,
    /// True if it may ask only what parties and operators ask.
    pub reserved: bool,
    /// Cancelled when somebody else gets its place, or its answers are not read.
    pub ended: CancellationToken,
    id: u64,
    begun: AtomicUsize,
    done: AtomicUsize,
}

impl Seat {
    /// Begins to work on a request.
    pub fn visit(self: &Arc<Self>) -> Visit {
        self.begun.fetch_add(1, Ordering::AcqRel);
        self.turn();
        Visit(Arc::clone(self))
    }

    /// True if there has been a request.
    pub fn any(&self) -> bool {
        self.begun.load(Ordering::Acquire) > 0
    }

    /// True if no request is being worked on.
    pub fn quiet(&self) -> bool {
        self.done.load(Ordering::Acquire) >= self.begun.load(Ordering::Acquire)
    }

    fn turn(&self) {
        // Under the lock, so that whoever comes last sees both counts as they are.
        let mut lobby = lock(&self.edge.lobby);
        let stage = if self.quiet() { Stage::Resting } else { Stage::Working };
        self.shares(&mut lobby).turn(self.id, stage);
    }

    fn shares<'a>(&self, lobby: &'a mut Lobby) -> &'a mut Shares<CancellationToken> {
        if self.reserved { &mut lobby.reserve } else { &mut lobby.room }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut lobby = lock(&self.edge.lobby);
        self.shares(&mut lobby).leave(self.id);
    }
}

/// A request that is being worked on.
pub(super) struct Visit(Arc<Seat>);

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.done.fetch_add(1, Ordering::AcqRel);
        self.0.turn();
    }
}

/// A place among the requests that are worked on, until it is dropped.
pub(super) struct Place(#[expect(dead_code, reason = "it is held, not looked at")] Option<Holding>);

/// An amount that a source holds, until it is dropped.
pub(super) struct Holding {
    room: Arc<Mutex<Room>>,
    source: Source,
    amount: usize,
}

impl Holding {
    fn take(room: &Arc<Mutex<Room>>, source: Source, amount: usize) -> Option<Self> {
        let taken = lock(room).take(source, amount);
        taken.then(|| Self { room: Arc::clone(room), source, amount })
    }

    /// Holds `amount` in all, or says that the server is busy.
    pub fn grow(&mut self, amount: usize) -> Result<(), Error> {
        let more = amount.saturating_sub(self.amount);
        if more > 0 && !lock(&self.room).take(self.source, more) {
            return Err(throng_mix::Error::Busy.into());
        }
        self.amount += more;
        Ok(())
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        lock(&self.room).give(self.source, self.amount);
    }
}

/// The most requests at the same time, whatever the file says: a semaphore holds no more.
const MOST: usize = 1 << 24;

/// The number of connections for every request that is worked on: most of them are between two.
const CONNECTIONS: usize = 2;

/// The number of further connections, for the other parties and for whoever watches.
const RESERVE: usize = 64;

/// The number of further sockets, for connections that have lost their place and are not closed
/// yet.
const SPARE: usize = 32;

/// The least number of sockets, however few files may be open.
const MIN_SOCKETS: usize = 8;

/// The number of requests of other parties that are worked on when there is no room for others.
const PARTIES: usize = 64;

/// The least number of bytes for batches that are arriving.
const BATCHES: usize = 8 << 20;

/// The bytes of beginnings of batches.
const STARTS: usize = 4 << 20;

/// The number of bytes of an answer that are no matter: those of a connection's buffer.
const SHORT: usize = 8 << 10;

/// The bytes of answers to parties and operators when there is no room for others.
const ANSWERS: usize = 1 << 20;

/// The number of bytes that an answer takes beside itself while it is on its way with others.
const BESIDE: usize = 2 << 10;

/// The number of bytes of an answer that is read from disk while it is sent.
const STREAM: usize = 256 << 10;
