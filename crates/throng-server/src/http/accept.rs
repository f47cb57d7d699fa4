//! The sockets. Nobody can hold one for long without asking for something, or slow down the others.
//!
//! ```text
//! handshake and first request   within the patience
//! headers of every later one    within the patience, by hyper
//! bodies                        by their handlers
//! the connection                ends after its age, once its requests are answered
//! ```
//!
//! Addresses of peers are dropped where they come in.

use super::door::{Visits, enter};
use super::routes::routes;
use crate::server::Node;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
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
    let requests = node.limits.requests.min(MOST);
    let connections = requests * CONNECTIONS + SPARE;
    let room = Arc::new(Semaphore::new(connections));
    let all = Connections {
        http: builder(patience),
        routes: routes(node),
        tls,
        requests: Arc::new(Semaphore::new(requests)),
        patience,
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
                Ok((stream, _)) => {
                    let all = Arc::clone(&all);
                    tokio::spawn(async move {
                        all.connection(stream).await;
                        drop((all, permit));
                    });
                }
                // Too many open files, most likely: it gets better when connections end.
                Err(_) => sleep(PAUSE).await,
            }
        }
    };
    stopping.run_until_cancelled(accept).await;
    drop((listener, all));
    let everyone = room.acquire_many(connections as u32);
    if timeout(patience, everyone).await.is_err() {
        given_up.cancel();
        let _ = room.acquire_many(connections as u32).await;
    }
}

/// The state that all connections share.
struct Connections {
    http: auto::Builder<TokioExecutor>,
    routes: Router,
    tls: Option<TlsAcceptor>,
    requests: Arc<Semaphore>,
    patience: Duration,
    stopping: CancellationToken,
    /// Cuts off the connections that are not over by now.
    given_up: CancellationToken,
}

impl Connections {
    async fn connection(&self, stream: TcpStream) {
        // Answers are short; waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else { return self.http(stream).await };
        let handshake = timeout(self.patience, tls.accept(stream));
        if let Some(Ok(Ok(stream))) = self.stopping.run_until_cancelled(handshake).await {
            self.http(stream).await;
        }
    }

    async fn http(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let visits = Arc::new(Visits::default());
        let (mut routes, room) = (self.routes.clone(), Arc::clone(&self.requests));
        let seen = Arc::clone(&visits);
        let door = service_fn(move |request| enter(request, &mut routes, &room, &seen));
        let service = TowerToHyperService::new(door);
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(stream), service));
        for wait in [self.patience, AGE] {
            select! {
                _ = connection.as_mut() => return,
                () = self.stopping.cancelled() => {}
                () = sleep(wait) => {}
            }
            if !visits.any() {
                return;
            }
        }
        connection.as_mut().graceful_shutdown();
        loop {
            select! {
                _ = connection.as_mut() => return,
                () = self.given_up.cancelled() => return,
                // Whoever does not read the answer does not get to keep the connection for it.
                () = sleep(self.patience) => if visits.quiet() { return },
            }
        }
    }
}

fn builder(patience: Duration) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS as u32)
        .keep_alive_interval(patience)
        .keep_alive_timeout(patience);
    builder
}

/// The most requests at the same time, whatever the file says: a semaphore holds no more.
const MOST: usize = 1 << 24;

/// The number of connections for every request that is worked on: most of them are between two.
const CONNECTIONS: usize = 2;

/// The number of further connections, for the other parties and for whoever watches.
const SPARE: usize = 64;

/// The age at which a connection is asked to end; clients make another.
const AGE: Duration = Duration::from_mins(10);

/// The pause after a socket could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// The most bytes of headers, which is also the size of the read buffer of a connection.
const HEADERS: usize = 64 << 10;

/// The most requests at the same time on one connection.
const STREAMS: u32 = 256;
