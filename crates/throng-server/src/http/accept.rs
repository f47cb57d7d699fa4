//! The sockets. Nobody can hold one for long without asking for something, or slow down the others.
//!
//! ```text
//! handshake and first request   within the patience, or a third of it when there is little room
//! headers of every later one    the same, by hyper
//! bodies                        by their handlers
//! answers                       are read at the least rate, those of a connection together
//! the connection                ends after its age, once its requests are answered, or when
//!                               somebody with fewer connections needs its place
//! ```
//!
//! Addresses of peers are dropped where they come in.

use super::door::enter;
use super::edge::Seat;
use super::reader::Reader;
use super::routes::routes;
use crate::metrics::CONNECTIONS_REFUSED;
use crate::server::Node;
use axum::Router;
use futures_util::future::{BoxFuture, FutureExt};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::service_fn;

/// Accepts connections until it is stopped, and then waits for those there are, but not longer than
/// a client may take for a request.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    node: Arc<Node>,
    stopping: CancellationToken,
) {
    let patience = node.patience();
    let sockets = node.edge.sockets;
    let room = Arc::new(Semaphore::new(sockets));
    let all = Connections {
        calm: Manner::new(patience),
        pressed: Manner::new(patience / 3),
        routes: routes(Arc::clone(&node)),
        tls,
        patience,
        node,
        stopping: stopping.clone(),
        given_up: CancellationToken::new(),
    };
    let given_up = all.given_up.clone();
    let all = Arc::new(all);
    let accept = async {
        loop {
            // This semaphore is never closed.
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, address)) => {
                    let Some(seat) = all.seat(address.ip()) else { continue };
                    let all = Arc::clone(&all);
                    tokio::spawn(async move {
                        all.connection(stream, seat).await;
                        drop((all, permit));
                    });
                }
                // Too many open files, most likely: it gets better when connections end.
                Err(_) => sleep(PAUSE).await,
            }
        }
    };
    let forgetting = async {
        loop {
            sleep(FORGET).await;
            all.node.edge.quota.forget(all.node.now());
        }
    };
    let ending = async {
        loop {
            sleep(all.node.edge.unread.pause()).await;
            all.node.edge.unread.end(Instant::now());
        }
    };
    let work = async {
        select! { () = accept => {}, () = forgetting => {}, () = ending => {} }
    };
    stopping.run_until_cancelled(work).await;
    drop((listener, all));
    let everyone = room.acquire_many(sockets as u32);
    if timeout(patience, everyone).await.is_err() {
        given_up.cancel();
        let _ = room.acquire_many(sockets as u32).await;
    }
}

/// The state that all connections share.
struct Connections {
    calm: Manner,
    /// The manner while there is little room.
    pressed: Manner,
    routes: Router,
    tls: Option<TlsAcceptor>,
    patience: Duration,
    node: Arc<Node>,
    stopping: CancellationToken,
    /// Cuts off the connections that are not over by now.
    given_up: CancellationToken,
}

/// The way in which HTTP is spoken.
struct Manner {
    http: auto::Builder<TokioExecutor>,
    /// The time for a request to begin.
    wait: Duration,
}

impl Connections {
    /// A seat for a connection, if there is one.
    fn seat(&self, address: std::net::IpAddr) -> Option<Arc<Seat>> {
        let (edge, metrics) = (&self.node.edge, &self.node.metrics);
        let Some((seat, instead)) = edge.seat(edge.sources.peer(address)) else {
            metrics.count(CONNECTIONS_REFUSED, "full");
            return None;
        };
        if instead {
            metrics.count(CONNECTIONS_REFUSED, "share");
        }
        Some(seat)
    }

    async fn connection(&self, stream: TcpStream, seat: Arc<Seat>) {
        // Answers are short; waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let ended = seat.ended.clone();
        let manner = if self.node.edge.is_pressed() { &self.pressed } else { &self.calm };
        // Boxes: of thousands of connections each should be as small as what it is doing.
        let speaking: BoxFuture<'_, ()> = match &self.tls {
            None => self.http(stream, seat, manner).boxed(),
            Some(tls) => self.https(tls, stream, seat, manner).boxed(),
        };
        ended.run_until_cancelled(speaking).await;
    }

    async fn https(&self, tls: &TlsAcceptor, stream: TcpStream, seat: Arc<Seat>, manner: &Manner) {
        let handshake = timeout(wait(&seat, manner), tls.accept(stream).boxed());
        if let Some(Ok(Ok(stream))) = self.stopping.run_until_cancelled(handshake).await {
            self.http(stream, seat, manner).boxed().await;
        }
    }

    async fn http<S>(&self, stream: S, seat: Arc<Seat>, manner: &Manner)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut routes, node, visitor) =
            (self.routes.clone(), Arc::clone(&self.node), Arc::clone(&seat));
        let door = service_fn(move |request| enter(request, &mut routes, &node, &visitor));
        let service = TowerToHyperService::new(door);
        let stream = TokioIo::new(Reader::new(stream, self.patience));
        let mut connection = Box::pin(manner.http.serve_connection(stream, service));
        for wait in [wait(&seat, manner), AGE] {
            select! {
                _ = connection.as_mut() => return,
                () = self.stopping.cancelled() => {}
                () = sleep(wait) => {}
            }
            if !seat.any() {
                return;
            }
        }
        connection.as_mut().graceful_shutdown();
        loop {
            select! {
                _ = connection.as_mut() => return,
                () = self.given_up.cancelled() => return,
                // Whoever does not read the answer does not get to keep the connection for it.
                () = sleep(self.patience) => if seat.quiet() { return },
            }
        }
    }
}

impl Manner {
    fn new(wait: Duration) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1().timer(TokioTimer::new()).header_read_timeout(wait).max_buf_size(BUFFER);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_send_buf_size(WINDOW as usize)
            .max_header_list_size(BUFFER as u32)
            .keep_alive_interval(wait)
            .keep_alive_timeout(wait);
        Self { http, wait }
    }
}

/// The time that a connection has to begin a request.
fn wait(seat: &Seat, manner: &Manner) -> Duration {
    if seat.reserved { manner.wait.min(BRIEFLY) } else { manner.wait }
}

/// The age at which a connection is asked to end; clients make another.
const AGE: Duration = Duration::from_mins(10);

/// The pause after a socket could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// The time to begin a request on a connection for which there was no room.
const BRIEFLY: Duration = Duration::from_secs(3);

/// The time between two looks at whether counts of past epochs are still there.
const FORGET: Duration = Duration::from_mins(1);

/// The most bytes of headers, which is also the size of the read buffer of a connection: the least
/// that hyper takes, since there may be thousands.
const BUFFER: usize = 8 << 10;

/// The most requests at the same time on one connection.
const STREAMS: u32 = 64;

/// The most bytes that are on their way, in each direction, on a connection with HTTP/2.
const WINDOW: u32 = (64 << 10) - 1;
