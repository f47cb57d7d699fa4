//! A party as a process: opened, started, stopped.
//!
//! ```text
//! Server::open        identity, data directory, collections
//!   start             listens; a task per collection steps, states keys and hands over
//! Running::stop       no new connections; requests under way end; the logs are on disk
//! ```

use crate::config::{in_file, read_file, wrong};
use crate::dashboard::{Curves, Desk, Truth};
use crate::http::{Guard, serve, tls};
use crate::metrics::Metrics;
use crate::party::{Party, Topic};
use crate::run::{Peers, Watch, run};
use crate::{Access, Analyzer, Clock, Config, Error, Role};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throng_collection::{Board, Collection, Subject};
use throng_mix::store::{RowKey, Store, StoreError, Table};
use throng_mix::{Limits, lock};
use throng_wire::{CollectionId, Identity};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
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
    node: Arc<Node>,
    address: SocketAddr,
    listening: JoinHandle<()>,
    work: JoinSet<()>,
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
    pub parties: BTreeMap<CollectionId, Arc<Party>>,
    pub store: Store,
    pub clock: Clock,
    pub limits: Limits,
    pub metrics: Metrics,
    pub guard: Guard,
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
}

impl Server {
    /// Reads all files and opens the data directory. Refuses an identity that does not have the
    /// role in every collection.
    pub fn open(config: &Config, clock: Clock) -> Result<Self, Error> {
        let (mut collections, mut boards) = (Vec::new(), Vec::new());
        for file in &config.collections {
            read_file(file, |text| {
                if Board::is_in(text) {
                    Board::parse(text).map(|board| boards.push(board))
                } else {
                    Collection::parse(text).map(|collection| collections.push(collection))
                }
            })?;
        }
        let read = |file: &PathBuf| fs::read(file).map_err(|error| in_file(file, &error));
        let tls = config.tls.as_ref().map(|(certificate, key)| {
            Ok::<_, Error>((read(certificate)?, Zeroizing::new(read(key)?)))
        });
        let access = config.access.as_ref().map(|file| read_file(file, Access::parse));
        let parts = Parts {
            role: config.role,
            identity: Identity::read(&config.identity)?,
            collections,
            boards,
            store: Store::on_disk(&config.data)?,
            limits: config.limits.clone(),
            tls: tls.transpose()?,
            authority: config.authority.as_ref().map(read).transpose()?,
            access: access.transpose()?,
        };
        Ok(Self { listen: config.listen, ..Self::from_parts(parts, clock)? })
    }

    /// Opens the data directory. [`Server::start`] listens on some port of the loopback address.
    pub fn from_parts(parts: Parts, clock: Clock) -> Result<Self, Error> {
        let Parts { role, identity, store, limits, access, tls: pem, .. } = parts;
        let tls = pem.map(|(certificate, key)| tls(&certificate, &key)).transpose()?;
        let peers = Peers::new(parts.authority.as_deref(), Duration::from_secs(limits.patience))?;
        let mut parties = BTreeMap::new();
        let questions = parts.collections.into_iter().map(|one| Topic::Question(Arc::new(one)));
        let boards = parts.boards.into_iter().map(|one| Topic::Board(Box::new(one)));
        for topic in questions.chain(boards) {
            let party = Party::open(&store, topic, (role, &identity), &limits, &clock)?;
            if let Some(twice) = parties.insert(party.id(), Arc::new(party)) {
                return Err(wrong("collections", format!("{} is there twice", twice.id())));
            }
        }
        if parties.is_empty() {
            return Err(wrong("collections", "there is nothing to serve; name one"));
        }
        let guard = Guard::new(access, &identity.public(), tls.is_some())?;
        let node = Node {
            role,
            parties,
            store,
            clock,
            limits,
            metrics: Metrics::default(),
            guard,
            planner: Arc::default(),
            curves: Curves::default(),
            watch: Watch::default(),
            truth: Mutex::default(),
            rendering: Arc::new(Semaphore::new(PAGES)),
            probed: Mutex::default(),
        };
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        Ok(Self { node: Arc::new(node), peers, tls, listen })
    }

    /// Binds its address and listens.
    pub async fn start(self) -> Result<Running, Error> {
        self.node.readable_at(self.listen)?;
        let listener = Listener::bind(self.listen).await?;
        self.start_on(listener)
    }

    /// Listens on a socket that is bound already. Must be called inside a tokio runtime.
    pub fn start_on(self, listener: Listener) -> Result<Running, Error> {
        let Self { node, peers, tls, .. } = self;
        let (address, stop) = (listener.address()?, CancellationToken::new());
        node.readable_at(address)?;
        let work = run(&node, &peers, &stop);
        read_ahead(&node);
        let listening = tokio::spawn(serve(listener.0, tls, Arc::clone(&node), stop.clone()));
        tracing::info!(role = %node.role, collections = node.parties.len(), "listening");
        Ok(Running { node, address, listening, work, stopping: stop.drop_guard() })
    }
}

impl Listener {
    /// Binds an address; port 0 is any free one.
    pub async fn bind(address: SocketAddr) -> Result<Self, Error> {
        let bound = TcpListener::bind(address).await;
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
        let Self { mut node, listening, mut work, stopping, .. } = self;
        drop(stopping);
        // A task that panicked has stopped too.
        let _ = listening.await;
        while work.join_next().await.is_some() {}
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

    /// Refuses to show results to everybody who reaches an address.
    fn readable_at(&self, address: SocketAddr) -> Result<(), Error> {
        if self.role == Role::Mix || !self.guard.is_open() || address.ip().is_loopback() {
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

    /// True if the disk takes rows. However often this is asked, the disk is tried once a second.
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
            let writable = self.store.rows.put(Table::Probe, &RowKey::default(), b"").is_ok();
            let probed = Some((Instant::now(), writable));
            *lock(&self.probed) = probed;
            writable
        })
    }

    /// The result of the last attempt, unless it was long ago. The lock is never held while
    /// somebody waits.
    fn probed(&self) -> Option<bool> {
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
    let parties: Vec<CollectionId> = node.parties.keys().copied().collect();
    let node = Arc::downgrade(node);
    tokio::task::spawn_blocking(move || {
        for id in parties {
            let Some(node) = node.upgrade() else { return };
            // A visitor is told later what is wrong.
            let _ = node.parties[&id].analyzer().and_then(Analyzer::published);
        }
    });
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

const MOMENT: Duration = Duration::from_millis(5);
