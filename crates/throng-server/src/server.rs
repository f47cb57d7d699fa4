//! A party as a process: opened, started, stopped.
//!
//! ```text
//! Server::open        identity, data directory, collections
//!   start             listens; a task per collection steps, states keys and hands over
//! Running::reload     tokens, certificate and collections as the file names them now
//! Running::stop       no new connections; requests under way end; the logs are on disk
//! ```

use crate::config::wrong;
use crate::dashboard::{Curves, Desk, Truth};
use crate::files::Files;
use crate::http::{Certificate, Edge, Guard, Shown, Visitor, routes, serve};
use crate::metrics::{LOGINS_REFUSED, Metrics};
use crate::party::{Party, Topic};
use crate::reload::Origin;
use crate::roster::{Parties, Roster};
use crate::run::{Peers, Watch, Work};
use crate::{Access, Analyzer, AuditLog, Clock, Config, Error, Reader, Role};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throng_collection::{Board, Collection, Subject};
use throng_mix::store::{RowKey, Store, StoreError, Table};
use throng_mix::{Limits, lock};
use throng_wire::{CollectionId, Identity};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};
use zeroize::Zeroizing;

/// The parts of a server, for one that is not read from files.
///
/// ```
/// use throng_collection::example;
/// use throng_mix::{Limits, simulated::MemoryStore};
/// use throng_server::{Clock, Parts, Role, Server};
/// use throng_wire::Identity;
///
/// let parts = |role| Parts {
///     role,
///     identity: Identity::from_seed(&[1; 32]),
///     collections: vec![example::collection()],
///     boards: Vec::new(),
///     store: MemoryStore::new().store(),
///     limits: Limits::default(),
///     tls: None,
///     authority: None,
///     access: None,
/// };
/// // The identity is that of a mix of this collection, and of nothing else.
/// assert!(Server::from_parts(parts(Role::Analyzer), Clock::System).is_err());
/// assert!(Server::from_parts(parts(Role::Mix), Clock::System).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Parts {
    /// The role it has in all of its collections.
    pub role: Role,
    /// The identity it signs with.
    pub identity: Identity,
    /// The questions it serves.
    pub collections: Vec<Collection>,
    /// The boards it serves.
    pub boards: Vec<Board>,
    /// Everything that survives a crash: [`Store::on_disk`], or other seams.
    pub store: Store,
    /// The limits it keeps.
    pub limits: Limits,
    /// Certificate chain and key in PEM, if it speaks TLS itself.
    pub tls: Option<(Vec<u8>, Zeroizing<Vec<u8>>)>,
    /// The only roots in PEM that are trusted for the other parties; without them, the system's.
    pub authority: Option<Vec<u8>>,
    /// The tokens of those who may read. Without them everybody may, which an analyzer allows on
    /// loopback only.
    pub access: Option<Access>,
}

/// A mix or an analyzer that is ready to listen.
///
/// ```
/// use throng_collection::example;
/// use throng_mix::{Limits, simulated::MemoryStore};
/// use throng_server::{Clock, Listener, Parts, Role, Server};
/// use throng_wire::Identity;
/// use tokio::net::TcpStream;
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let parts = Parts {
///         role: Role::Mix,
///         identity: Identity::from_seed(&[1; 32]),
///         collections: vec![example::collection()],
///         boards: Vec::new(),
///         store: MemoryStore::new().store(),
///         limits: Limits::default(),
///         tls: None,
///         authority: None,
///         access: None,
///     };
///     let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?;
///     let address = listener.address()?;
///     let running = Server::from_parts(parts, Clock::manual(1_000))?.start_on(listener)?;
///     assert_eq!(running.address(), address);
///     TcpStream::connect(address).await?;
///     running.stop().await;
///     assert!(TcpStream::connect(address).await.is_err());
///     Ok(())
/// }
/// ```
pub struct Server {
    node: Arc<Node>,
    peers: Peers,
    tls: Option<TlsAcceptor>,
    listen: SocketAddr,
    origin: Option<Origin>,
}

/// A server that listens. Dropped, it stops without waiting for anyone.
///
/// ```no_run
/// use std::path::Path;
/// use throng_server::{Clock, Config, Role, Server};
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let config = Config::read(Role::Mix, Path::new("mix.toml"))?;
///     let running = Server::open(&config, Clock::System)?.start().await?;
///     println!("listens on {}", running.address());
///     tokio::signal::ctrl_c().await?;
///     running.stop().await;
///     Ok(())
/// }
/// ```
pub struct Running {
    pub(crate) node: Arc<Node>,
    pub(crate) address: SocketAddr,
    pub(crate) work: Work,
    /// The configuration it was opened with, if there was one.
    pub(crate) origin: Option<Origin>,
    listening: JoinHandle<()>,
    /// The guard that stops everything when it is dropped.
    stopping: DropGuard,
}

/// A socket that is bound and not served yet, so that its address can go into a collection.
///
/// ```
/// use throng_server::Listener;
///
/// #[tokio::main]
/// async fn main() -> Result<(), throng_server::Error> {
///     let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?;
///     let address = listener.address()?;
///     assert_ne!(address.port(), 0);
///     // It is bound, so that nobody else gets it.
///     assert!(Listener::bind(address).await.is_err());
///     Ok(())
/// }
/// ```
pub struct Listener(TcpListener);

/// All that one server shares among its tasks.
pub(crate) struct Node {
    pub role: Role,
    pub identity: Identity,
    pub roster: Roster,
    pub store: Store,
    /// The data directory, if the server was opened in one.
    pub data: Option<PathBuf>,
    /// The log of what operators did, where there is a data directory.
    pub acts: Option<AuditLog>,
    pub clock: Clock,
    pub limits: Limits,
    pub metrics: Metrics,
    pub guard: Guard,
    /// The certificate, if the server speaks TLS itself.
    pub certificate: Option<Arc<Certificate>>,
    /// Connections, requests and bodies, and whose they are.
    pub edge: Arc<Edge>,
    pub planner: Arc<Desk>,
    pub curves: Curves,
    /// The last answers of the other parties.
    pub watch: Watch,
    /// The true values behind releases, in a demonstration.
    truth: Mutex<BTreeMap<CollectionId, Truth>>,
    /// One permit for each page that is being rendered.
    rendering: Arc<Semaphore>,
    /// The time of the last attempt to write a row, and whether the disk took it.
    probed: Mutex<Option<(Instant, bool)>>,
    /// The time at which somebody began to try the disk, until that is over.
    probing: Mutex<Option<Instant>>,
    /// The time at which the disk last refused what was sent, until it was tried with success.
    failed: Mutex<Option<u64>>,
}

impl Server {
    /// Reads all files and opens the data directory. Refuses an identity that does not have the
    /// role in every collection.
    pub fn open(config: &Config, clock: Clock) -> Result<Self, Error> {
        let files = Files::read(config)?;
        let origin = Origin::new(config, &files);
        let store = Store::on_disk(&config.data)?;
        let acts = AuditLog::open(&config.data, clock.now())?;
        let place = Some((config.data.clone(), acts));
        let server = Self::assemble(files, (config.role, store, &config.limits), place, clock)?;
        Ok(Self { listen: config.listen, origin: Some(origin), ..server })
    }

    /// Opens the data directory. [`Server::start`] listens on some port of the loopback address.
    pub fn from_parts(parts: Parts, clock: Clock) -> Result<Self, Error> {
        let Parts { role, identity, store, limits, tls, authority, access, .. } = parts;
        let questions = parts.collections.into_iter().map(|one| Topic::Question(Arc::new(one)));
        let boards = parts.boards.into_iter().map(|one| Topic::Board(Box::new(one)));
        let topics = questions.chain(boards).collect();
        let files = Files { topics, identity, tls, authority, access };
        Self::assemble(files, (role, store, &limits), None, clock)
    }

    fn assemble(
        files: Files,
        (role, store, limits): (Role, Store, &Limits),
        place: Option<(PathBuf, AuditLog)>,
        clock: Clock,
    ) -> Result<Self, Error> {
        let Files { topics, identity, access, .. } = files;
        let shown = files.tls.as_ref().map(Shown::read).transpose()?;
        let certificate = shown.map(|shown| Arc::new(Certificate::new(shown)));
        let tls = certificate.as_ref().map(Certificate::acceptor).transpose()?;
        let peers = Peers::new(files.authority.as_deref(), Duration::from_secs(limits.patience))?;
        let mut parties = Parties::new();
        for topic in topics {
            let party = Party::open(&store, topic, (role, &identity), limits, &clock)?;
            if let Some(twice) = parties.insert(party.id(), Arc::new(party)) {
                return Err(twice_there(twice.id()));
            }
        }
        if parties.is_empty() {
            return Err(wrong("collections", "there is nothing to serve; name one"));
        }
        let guard = Guard::new(access, &identity.public(), tls.is_some())?;
        let (data, acts) = place.unzip();
        let upload = parties.values().map(|party| party.upload).max().unwrap_or(0);
        let edge = Arc::new(Edge::new(limits, upload)?);
        let node = Node {
            role,
            identity,
            roster: Roster::new(parties),
            store,
            data,
            acts,
            clock,
            limits: limits.clone(),
            metrics: Metrics::default(),
            guard,
            certificate,
            edge,
            planner: Arc::default(),
            curves: Curves::default(),
            watch: Watch::default(),
            truth: Mutex::default(),
            rendering: Arc::new(Semaphore::new(PAGES)),
            probed: Mutex::default(),
            probing: Mutex::default(),
            failed: Mutex::default(),
        };
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        Ok(Self { node: Arc::new(node), peers, tls, listen, origin: None })
    }

    /// Answers requests without a socket, for the fuzz targets.
    #[doc(hidden)]
    pub fn routes(&self) -> axum::Router {
        routes(Arc::clone(&self.node))
    }

    /// Binds its address and listens.
    pub async fn start(self) -> Result<Running, Error> {
        self.node.readable_at(self.listen, !self.node.guard.is_open())?;
        let listener = Listener::bind(self.listen).await?;
        self.start_on(listener)
    }

    /// Listens on a socket that is bound already. Must be called inside a tokio runtime.
    pub fn start_on(self, listener: Listener) -> Result<Running, Error> {
        let Self { node, peers, tls, origin, .. } = self;
        let (address, stop) = (listener.address()?, CancellationToken::new());
        node.readable_at(address, !node.guard.is_open())?;
        node.started();
        let work = Work::begin(&node, peers, stop.clone());
        read_ahead(&node);
        let listening = tokio::spawn(serve(listener.0, tls, Arc::clone(&node), stop.clone()));
        tracing::info!(role = %node.role, collections = node.parties().len(), "listening");
        Ok(Running { node, address, work, origin, listening, stopping: stop.drop_guard() })
    }
}

impl Listener {
    /// Binds an address; port 0 is any free one.
    #[expect(clippy::unused_async, reason = "it can only be called where there is a runtime")]
    pub async fn bind(address: SocketAddr) -> Result<Self, Error> {
        let bound = (|| {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            // A server that is started again need not wait for old connections to be forgotten.
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)
        })();
        Ok(Self(bound.map_err(|error| unheard(&address, &error))?))
    }

    /// The address that was bound.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.0.local_addr().map_err(|error| unheard(&"a bound socket", &error))
    }
}

fn unheard(address: &impl ToString, error: &io::Error) -> Error {
    Error::Listen { address: address.to_string(), reason: error.to_string() }
}

impl Running {
    /// Shows the true values behind the release of an epoch beside its estimates. Only a
    /// demonstration knows them, whose clients are simulated: they are kept in memory, and a server
    /// with the machine's clock does not take them.
    pub fn show_truth(&self, collection: CollectionId, epoch: u64, truth: Vec<(Subject, f64)>) {
        if self.node.clock.is_simulated() {
            lock(&self.node.truth).entry(collection).or_default().insert(epoch, truth);
        }
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server: it takes no new connections, lets requests and the step under way end, and
    /// closes the data directory. Whatever takes longer than a client may is given up; nothing
    /// acknowledged is lost.
    pub async fn stop(self) {
        let Self { mut node, listening, work, stopping, .. } = self;
        drop(stopping);
        // A task that panicked has stopped too.
        let _ = listening.await;
        work.over().await;
        node.write_down(Node::stopped).await;
        // Whatever was cut off lets go of the data directory within moments.
        let given_up = Instant::now() + node.patience();
        let node = loop {
            match Arc::try_unwrap(node) {
                Ok(alone) => break alone,
                Err(_) if Instant::now() >= given_up => return,
                Err(shared) => node = shared,
            }
            sleep(MOMENT).await;
        };
        let _ = tokio::task::spawn_blocking(move || drop(node)).await;
        tracing::info!("stopped");
    }
}

impl Node {
    /// Runs work that waits for the disk or computes for long.
    pub async fn blocking<T: Send + 'static, E: Into<Error> + Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Error> {
        // The node is held, so that the data directory stays open until this is done.
        let node = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&node)).await;
        done.map_or(Err(Error::Interrupted), |done| done.map_err(Into::into))
    }

    /// Writes something down without holding up other tasks. It has happened, whether that works
    /// or not.
    pub async fn write_down(self: &Arc<Self>, write: impl FnOnce(&Self) + Send + 'static) {
        let written = |node: &Self| {
            write(node);
            Ok::<_, Error>(())
        };
        let _ = self.blocking(written).await;
    }

    /// All collections that are served now.
    pub fn parties(&self) -> Arc<Parties> {
        self.roster.all()
    }

    /// Writes down what an operator did, where there is a log of it. It waits for the disk.
    pub fn record(&self, act: &str, particulars: &[(&str, Value)]) {
        if let Some(acts) = &self.acts {
            acts.record(self.now(), act, particulars);
        }
    }

    /// Writes down that somebody has signed in who may see operations.
    pub fn entered(&self, visitor: &Visitor) {
        if visitor.reader == Reader::Operator {
            self.record("login", &[("name", json!(visitor.name))]);
        }
    }

    /// Counts somebody who tried to sign in without a token. Every tenfold number of them since the
    /// start is written down, so that those who try do not fill the disk.
    pub fn turned_away(&self) {
        if self.guard.is_open() {
            return;
        }
        let count = self.metrics.count(LOGINS_REFUSED, "");
        if 10_u64.checked_pow(count.ilog10()) == Some(count) {
            self.record("logins refused", &[("since_start", json!(count))]);
        }
    }

    /// Writes down that a collection is served no longer.
    pub fn let_go(&self, collection: CollectionId) {
        tracing::info!(%collection, "let go: it is named no more, and its keys are destroyed");
        self.record("collection removed", &[("collection", json!(collection.to_string()))]);
    }

    fn started(&self) {
        let parties = self.parties();
        let collections: Vec<String> = parties.keys().map(CollectionId::to_string).collect();
        let access = self.guard.access();
        let tokens = access.iter().flat_map(Access::tokens);
        let tokens: Vec<Value> = tokens
            .map(|token| json!({ "name": token.name, "role": token.reader.to_string() }))
            .collect();
        self.record(
            "start",
            &[
                ("version", json!(env!("CARGO_PKG_VERSION"))),
                ("role", json!(self.role.to_string())),
                ("collections", json!(collections)),
                ("tokens", json!(tokens)),
            ],
        );
        self.tell_last();
        for collection in self.orphans() {
            tracing::warn!(%collection, "its keys are on disk and it is not in the list: name it, \
                                         and they are destroyed in time");
        }
    }

    fn stopped(&self) {
        self.record("stop", &[]);
        self.tell_last();
    }

    /// Tells the newest hash of the audit log, for whoever keeps the log of the process elsewhere.
    fn tell_last(&self) {
        if let Some(acts) = &self.acts {
            tracing::info!(last = acts.last(), "audit log");
        }
    }

    /// The collections whose keys are on disk and that are not served.
    fn orphans(&self) -> BTreeSet<CollectionId> {
        let names = self.store.secrets.names().unwrap_or_default();
        let ids = names.iter().filter_map(|name| name.rsplit_once('-')?.0.parse().ok());
        let parties = self.parties();
        ids.filter(|id| !parties.contains_key(id)).collect()
    }

    /// Refuses to show results to everybody who reaches an address.
    pub fn readable_at(&self, address: SocketAddr, guarded: bool) -> Result<(), Error> {
        if self.role == Role::Mix || guarded || address.ip().is_loopback() {
            return Ok(());
        }
        let reason = format!(
            "everybody who reaches {address} could read the results; make a token with \
             `throng token --role viewer --name NAME --file tokens.toml` and put \
             tokens = \"tokens.toml\" here, or listen on 127.0.0.1"
        );
        Err(wrong("access", reason))
    }

    /// Renders a page. Few are rendered at a time, so that people who look never keep the threads
    /// that batches need.
    pub async fn page(
        self: &Arc<Self>,
        render: impl FnOnce(&Self) -> Result<String, Error> + Send + 'static,
    ) -> Result<String, Error> {
        let permit = Arc::clone(&self.rendering).acquire_owned().await;
        let work = move |node: &Self| {
            // The permit goes with the work: whoever leaves early does not make room for more.
            let _permit = permit;
            render(node)
        };
        self.blocking(work).await
    }

    /// Remembers whether the disk refused what was sent.
    pub fn noted<T>(&self, taken: &Result<T, Error>) {
        if let Err(Error::Mix(throng_mix::Error::Store(_))) = taken {
            *lock(&self.failed) = Some(self.now());
        }
    }

    /// True if the disk takes rows, and has not refused reports or a batch for some time. However
    /// often this is asked, the disk is tried once a second.
    pub async fn writable(self: &Arc<Self>) -> bool {
        match self.probed() {
            Some(writable) => writable,
            None => {
                self.blocking(|node| Ok::<_, Error>(node.writable_now())).await.unwrap_or(false)
            }
        }
    }

    /// Answers as [`Node::writable`] does, for callers that may block and are not tasks of the
    /// runtime.
    pub fn writable_now(&self) -> bool {
        self.probed().unwrap_or_else(|| {
            let mut probing = lock(&self.probing);
            if let Some(begun) = *probing {
                // One tries at a time; the others take what the last one found, unless the disk
                // hangs: then it is as good as one that refuses.
                let found = lock(&self.probed).is_none_or(|(_, writable)| writable);
                return found && begun.elapsed() < self.patience();
            }
            *probing = Some(Instant::now());
            drop(probing);
            let failed = *lock(&self.failed);
            let row = self.store.rows.put(Table::Probe, &RowKey::default(), b"").is_ok();
            // A log needs more than a row does: after it failed, as much is tried as a new one
            // takes.
            let writable = row && (failed.is_none() || self.takes_a_log());
            *lock(&self.probed) = Some((Instant::now(), writable));
            *lock(&self.probing) = None;
            let mut last = lock(&self.failed);
            if writable && *last == failed {
                *last = None;
            }
            writable && last.is_none()
        })
    }

    /// True if the disk takes as many bytes at once as a log.
    fn takes_a_log(&self) -> bool {
        let blobs = &self.store.blobs;
        let written = blobs.write(PROBE, &vec![0; LOG]);
        written.and_then(|()| blobs.remove(PROBE)).is_ok()
    }

    /// The result of the last attempt, unless it was long ago; what the disk refused just now it
    /// would refuse again. The lock is never held while somebody waits.
    fn probed(&self) -> Option<bool> {
        let failed = *lock(&self.failed);
        if failed.is_some_and(|at| self.now() < at.saturating_add(REFUSING)) {
            return Some(false);
        }
        let probed = *lock(&self.probed);
        probed.filter(|(at, _)| at.elapsed() < PROBE_EVERY).map(|(_, writable)| writable)
    }

    /// The present time in seconds since 1970.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The true values behind the releases of a collection, where a demonstration told them.
    pub fn truth_of(&self, collection: &CollectionId) -> Truth {
        lock(&self.truth).get(collection).cloned().unwrap_or_default()
    }

    /// The time that a client has for a request.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.limits.patience)
    }
}

/// Reads the published releases, so that the first visitor need not wait. A server that stops waits
/// for one collection at most.
fn read_ahead(node: &Arc<Node>) {
    let parties: Vec<CollectionId> = node.parties().keys().copied().collect();
    let node = Arc::downgrade(node);
    tokio::task::spawn_blocking(move || {
        for id in parties {
            let Some(node) = node.upgrade() else { return };
            let Some(party) = node.parties().get(&id).cloned() else { continue };
            // A visitor is told later what is wrong.
            let _ = party.analyzer().and_then(Analyzer::published);
        }
    });
}

/// The error for a collection that is named by two files.
pub(crate) fn twice_there(id: CollectionId) -> Error {
    wrong("collections", format!("{id} is there twice"))
}

/// A fresh generator for permutations and keys, seeded by the operating system.
pub(crate) fn seeded() -> Result<ChaCha20Rng, Error> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).map_err(|_| StoreError::Randomness)?;
    Ok(ChaCha20Rng::from_seed(*seed))
}

/// The number of pages that are rendered at a time.
const PAGES: usize = 8;

const PROBE_EVERY: Duration = Duration::from_secs(1);

/// The seconds for which a disk that refused something is not tried again.
const REFUSING: u64 = 30;

/// The blob that is written to try the disk.
const PROBE: &str = "probe";

/// The number of bytes of the first file of a log.
const LOG: usize = 1 << 20;

/// The number of connections that wait to be accepted, if the system allows as many.
const BACKLOG: u32 = 1 << 14;

const MOMENT: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;
    use throng_collection::example;
    use throng_mix::simulated::MemoryStore;

    #[test]
    fn keys_of_a_collection_that_is_not_in_the_list_are_noticed() {
        let (store, collection) = (MemoryStore::new().store(), example::collection());
        let lost = CollectionId::new([5; 32]);
        for name in [format!("{lost}-3"), format!("{}-0", collection.id())] {
            store.secrets.put(&name, &[7; 32]).unwrap();
        }
        let parts = Parts {
            role: Role::Mix,
            identity: Identity::from_seed(&[1; 32]),
            collections: vec![collection],
            boards: Vec::new(),
            store,
            limits: Limits::default(),
            tls: None,
            authority: None,
            access: None,
        };
        let server = Server::from_parts(parts, Clock::manual(1_000)).unwrap();
        assert_eq!(server.node.orphans(), [lost].into());
    }
}
