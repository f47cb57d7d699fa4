//! Real processes under thousands of hostile connections from one network, while people at another
//! one report.
//!
//! The attacker is at 127.0.1.0/24, of which a fifth each say nothing, drip, send uploads of one byte,
//! begin uploads of a megabyte, and ask by HTTP/2 for 64 answers that they give no room; what is closed
//! is opened again. What must hold:
//!
//! - every honest upload is acknowledged, and all that were are in the releases: nothing is lost;
//! - no operation of the store fails, though the process may open few files;
//! - the process does not grow beyond 256 MiB.
//!
//! `THRONG_EDGE_CONNECTIONS` and `THRONG_EDGE_SECONDS` set the size. With the first of them, 99 of
//! 100 honest uploads have to be acknowledged within two seconds besides.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold};
use throng_client::Uploader;
use throng_collection::{Collection, Promise, Prompt, Terms};
use throng_mechanism::{BinaryResponse, Mechanism};
use throng_wire::{Below, Chain, Identity, Party, Schedule, Seal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::sleep;

#[test]
fn with_few_files_the_store_never_goes_without() {
    assert_eq!(attack("ulimit -n 1024").files, [1024, 1024]);
}

#[test]
fn the_limit_on_files_is_raised_as_far_as_it_goes() {
    let limits = "ulimit -S -n 1024";
    let [soft, hard] = if is_full() { attack(limits).files } else { Server::alone(limits) };
    assert!(soft == hard && soft > 1024, "{soft} of {hard}");
}

/// The figures of a run.
struct Seen {
    /// Files that the process may open: now, and at most.
    files: [u64; 2],
    /// How long each honest upload took until it was acknowledged.
    took: Vec<Duration>,
    /// The most mebibytes that were ever resident.
    peak: u64,
    connections_refused: u64,
    uploads_refused: u64,
}

/// Runs the story with these limits of the shell.
fn attack(limits: &str) -> Seen {
    // One at a time: each run is a measurement.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    throng_server::raise_open_files();
    let (connections, seconds) =
        (setting(CONNECTIONS).unwrap_or(2_000), setting("THRONG_EDGE_SECONDS").unwrap_or(6));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let seen = runtime.block_on(story(limits, connections, seconds));
    let honest = seen.took.len();
    let within = seen.took.iter().filter(|took| **took <= Duration::from_secs(2)).count();
    println!(
        "{limits}, {connections} hostile connections: {within} of {honest} honest uploads within \
         2 s, the slowest {:?}; {} MiB at most; {} connections and {} uploads refused",
        seen.took.iter().max().unwrap(),
        seen.peak,
        seen.connections_refused,
        seen.uploads_refused,
    );
    let refused = seen.connections_refused + seen.uploads_refused;
    assert!(refused > 0, "the attack was too small to be seen");
    assert!(seen.peak <= 256, "{} MiB", seen.peak);
    assert!(!is_full() || within * 100 >= honest * 99, "{within} of {honest}");
    seen
}

/// A number that the environment sets.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn is_full() -> bool {
    setting(CONNECTIONS).is_some()
}

async fn story(limits: &str, connections: u64, seconds: u64) -> Seen {
    let directory = tempfile::tempdir().unwrap();
    let (ports, identities) = (free_ports(), identities());
    let collection = Arc::new(collection(&ports, &identities, seconds));
    fs::write(directory.path().join("collection.toml"), collection.to_toml()).unwrap();
    // A small attack would not be felt by all that a server takes by itself.
    let few = format!("[limits]\npatience = \"9s\"\nrequests = {}\n", connections / 8);
    let settings = if is_full() { "" } else { few.as_str() };
    let mix = Server::start(directory.path(), "mix", limits, &identities[0], ports[0], settings);
    let counter = Server::start(directory.path(), "analyzer", "true", &identities[1], ports[1], "");
    while now() < collection.schedule.start {
        sleep(Duration::from_millis(50)).await;
    }
    let target: SocketAddr = ([127, 0, 0, 1], ports[0]).into();
    let hostile: Vec<_> = (0..connections)
        .map(|which| tokio::spawn(molest(which, target, Arc::clone(&collection))))
        .collect();
    // A thread of their own, so that the attackers do not slow down people on this side.
    let people = Arc::clone(&collection);
    let honest = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(report(people, seconds))
    });
    let honest = honest.await.unwrap();
    let mut acknowledged = BTreeMap::new();
    for (epoch, _) in &honest {
        *acknowledged.entry(*epoch).or_insert(0) += 1;
    }
    // The epochs are closed, mixed, handed over and released while the attack goes on.
    let released = released(&collection, acknowledged.len()).await;
    assert_eq!(released, acknowledged, "{}\n{}", mix.log(), counter.log());
    let (files, peak) = (mix.open_files(), mix.peak());
    hostile.iter().for_each(tokio::task::JoinHandle::abort);
    let metrics = fetch(&format!("http://{target}/metrics")).await.expect("metrics");
    let log = mix.log();
    assert!(!log.contains(" failed: "), "the store failed:\n{log}");
    assert!(!metrics.contains("reason=\"store\""), "{metrics}");
    assert!(!metrics.contains("throng_failures_total{task=\"work\"}"), "{metrics}");
    Seen {
        files,
        took: honest.into_iter().map(|(_, took)| took).collect(),
        peak,
        connections_refused: sum(&metrics, "throng_connections_refused_total"),
        uploads_refused: sum(&metrics, "throng_uploads_refused_total"),
    }
}

/// Holds a connection in one of five ways for as long as it is there, and then another.
async fn molest(which: u64, target: SocketAddr, collection: Arc<Collection>) {
    let from = Ipv4Addr::new(127, 0, 1, 1 + (which / 5 % 200) as u8);
    loop {
        let (id, epoch) = (collection.id(), collection.epoch_at(now()).unwrap_or(1));
        let head = format!(
            "POST /v1/collections/{id}/epochs/{epoch}/reports HTTP/1.1\r\nhost: x\r\n\
             content-length: LENGTH\r\n\r\n"
        );
        if let Some(stream) = connect(from, target).await {
            let _ = match which % 5 {
                0 => wait(stream).await,
                1 => drip(stream, &head).await,
                2 => single_bytes(stream, &head).await,
                3 => megabyte(stream, &head).await,
                _ => unread(stream).await.map_err(std::io::Error::other),
            };
        }
        // Not all at once again.
        sleep(Duration::from_millis(1_500 + which % 1_000)).await;
    }
}

/// Says nothing until the connection is closed.
async fn wait(mut stream: TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 512];
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}

/// Begins an upload, and sends a byte of it a second.
async fn drip(mut stream: TcpStream, head: &str) -> std::io::Result<()> {
    stream.write_all(head.replace("LENGTH", "100").as_bytes()).await?;
    loop {
        stream.write_all(b"x").await?;
        sleep(Duration::from_secs(1)).await;
    }
}

/// Sends uploads of one byte, one after the other.
async fn single_bytes(mut stream: TcpStream, head: &str) -> std::io::Result<()> {
    let upload = format!("{}x", head.replace("LENGTH", "1"));
    let mut answer = [0; 2_048];
    loop {
        stream.write_all(upload.as_bytes()).await?;
        if stream.read(&mut answer).await? == 0 {
            return Ok(());
        }
        sleep(Duration::from_secs(1)).await;
    }
}

/// Sends an upload of a megabyte up to its last bytes.
async fn megabyte(mut stream: TcpStream, head: &str) -> std::io::Result<()> {
    stream.write_all(head.replace("LENGTH", "1000000").as_bytes()).await?;
    for _ in 0..99 {
        stream.write_all(&[0; 10_000]).await?;
    }
    wait(stream).await
}

/// Asks for as many answers as there may be at a time, and reads nothing of them.
async fn unread(stream: TcpStream) -> Result<(), h2::Error> {
    let (asking, speaking) =
        h2::client::Builder::new().initial_window_size(0).handshake::<_, &[u8]>(stream).await?;
    let ask = async {
        let mut held = Vec::new();
        while held.len() < 64 {
            let request = http::Request::get("http://x/nowhere").body(()).unwrap();
            let (answer, _) = asking.clone().ready().await?.send_request(request, true)?;
            let answer = answer.await?.into_body();
            if answer.is_end_stream() {
                sleep(Duration::from_secs(1)).await;
            } else {
                held.push(answer);
            }
        }
        std::future::pending().await
    };
    tokio::select! { ended = speaking => ended, failed = ask => failed }
}

async fn connect(from: Ipv4Addr, to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((from, 0).into()).ok()?;
    socket.connect(to).await.ok()
}

/// Reports at a steady rate, each on a connection of its own, again until it is acknowledged.
/// Returns the epoch of each and how long it took in all.
async fn report(collection: Arc<Collection>, seconds: u64) -> Vec<(u64, Duration)> {
    let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
    let http = http.local_address(std::net::IpAddr::from([127, 0, 2, 1]));
    let http = http.timeout(Duration::from_secs(10)).build().unwrap();
    let (uploader, mut rng) = (Uploader::new(&*collection).unwrap(), ChaCha12Rng::seed_from_u64(1));
    let (mut seals, mut sent, begun) = (BTreeMap::new(), Vec::new(), Instant::now());
    for turn in 0..seconds * RATE {
        let due = Duration::from_millis(turn * 1_000 / RATE);
        sleep(due.saturating_sub(begun.elapsed())).await;
        let Some(epoch) = collection.epoch_at(now()) else { break };
        if let Entry::Vacant(first) = seals.entry(epoch) {
            first.insert(seal(&collection, &uploader, epoch).await);
        }
        let report = seals[&epoch].report(&[(turn % 2) as u8], &mut rng).unwrap();
        sent.push(tokio::spawn(acknowledged(http.clone(), collection.clone(), epoch, report)));
    }
    let mut took = Vec::new();
    for one in sent {
        took.push(one.await.unwrap());
    }
    took
}

/// Sends a report until it is acknowledged.
async fn acknowledged(
    http: reqwest::Client,
    collection: Arc<Collection>,
    epoch: u64,
    report: Vec<u8>,
) -> (u64, Duration) {
    let (mix, id) = (&collection.chain.mixes[0].url, collection.id());
    let url = format!("{mix}/v1/collections/{id}/epochs/{epoch}/reports");
    let begun = Instant::now();
    loop {
        let answer = http.post(&url).body(report.clone()).send().await;
        match answer.map(|answer| answer.status().as_u16()) {
            Ok(202) => return (epoch, begun.elapsed()),
            Ok(status @ (400..=428 | 503)) => panic!("an honest upload was answered {status}"),
            _ => sleep(Duration::from_millis(100)).await,
        }
        assert!(now() < collection.schedule.deadline(epoch), "an honest upload was shut out");
    }
}

/// The seal of an epoch, once all have signed its keys.
async fn seal(collection: &Collection, uploader: &Uploader, epoch: u64) -> Seal {
    let identities: Vec<_> = collection.chain.parties().map(|(_, party)| party.identity).collect();
    let directory = loop {
        match uploader.directory(epoch).await {
            Ok(directory) => break directory,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
        assert!(now() < collection.schedule.deadline(epoch), "there is no directory");
    };
    let directory = directory.verify(&collection.id(), epoch, &identities).unwrap();
    let shape = collection.shape();
    Seal::new(&shape, collection.id(), epoch, epoch, &directory.keys).unwrap()
}

/// The number of reports in each release, once there are as many releases.
async fn released(collection: &Collection, count: usize) -> BTreeMap<u64, u64> {
    let (analyzer, id) = (&collection.chain.analyzer.url, collection.id());
    let url = format!("{analyzer}/v1/collections/{id}/releases");
    let mut counts = BTreeMap::new();
    for _ in 0..600 {
        let text = fetch(&url).await.unwrap_or_default();
        let said: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        for release in said["releases"].as_array().into_iter().flatten() {
            let [first, reports] = ["first", "reports"].map(|key| release[key].as_u64().unwrap());
            counts.insert(first, reports);
        }
        if counts.len() >= count {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    counts
}

async fn fetch(url: &str) -> Option<String> {
    let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build();
    http.ok()?.get(url).send().await.ok()?.text().await.ok()
}

/// The sum of all lines of a metric.
fn sum(metrics: &str, name: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// One server process.
struct Server {
    process: Child,
    log: PathBuf,
}

impl Server {
    /// The number of files that a mix may open with these limits, by itself.
    fn alone(limits: &str) -> [u64; 2] {
        let directory = tempfile::tempdir().unwrap();
        let (ports, identities) = (free_ports(), identities());
        let collection = collection(&ports, &identities, 60);
        fs::write(directory.path().join("collection.toml"), collection.to_toml()).unwrap();
        let mix = Self::start(directory.path(), "mix", limits, &identities[0], ports[0], "");
        for _ in 0..600 {
            if mix.log().contains("listening") {
                return mix.open_files();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it does not start:\n{}", mix.log());
    }

    /// Starts a party through a shell, which sets its limits first.
    fn start(
        directory: &Path,
        role: &str,
        limits: &str,
        identity: &Identity,
        port: u16,
        settings: &str,
    ) -> Self {
        identity.write(&directory.join(format!("{role}.key"))).unwrap();
        let (config, log) =
            (directory.join(format!("{role}.toml")), directory.join(format!("{role}.log")));
        let text = format!(
            "listen = \"127.0.0.1:{port}\"\nidentity = \"{role}.key\"\ndata = \"{role}-data\"\n\
             collections = [\"collection.toml\"]\n{settings}"
        );
        fs::write(&config, text).unwrap();
        let process = Command::new("sh")
            .args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")])
            .arg(assert_cmd::cargo::cargo_bin!("throng"))
            .args(["serve", role, "--config"])
            .arg(config)
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Self { process, log }
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The most mebibytes that were ever resident.
    fn peak(&self) -> u64 {
        self.about("status", "VmHWM:")[0] >> 10
    }

    /// The number of files that the process may open, now and at most.
    fn open_files(&self) -> [u64; 2] {
        let line = self.about("limits", "Max open files");
        [line[0], line[1]]
    }

    /// The numbers of a line of what the kernel says about the process.
    fn about(&self, file: &str, line: &str) -> Vec<u64> {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.process.id())).unwrap();
        let found = text.lines().find_map(|found| found.strip_prefix(line)).unwrap();
        found.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn collection(ports: &[u16], identities: &[Identity], seconds: u64) -> Collection {
    let party = |place: usize, name: &str| Party {
        name: name.into(),
        url: format!("http://127.0.0.1:{}", ports[place]),
        identity: identities[place].public(),
    };
    let flip = Threshold::at_least(Probability::new("flip", 0.25).unwrap());
    let (epsilon, delta) = (Epsilon::new(20.0).unwrap(), Delta::new(1e-6).unwrap());
    let epochs = 2;
    let lifetime = (Epsilon::new(20.0 * epochs as f64).unwrap(), Delta::new(1e-5).unwrap());
    Collection {
        terms: Terms {
            question: Prompt::new("Is it quiet?"),
            promise: Promise {
                epsilon,
                delta,
                crowd: Crowd::new(20).unwrap(),
                corrupt: 0.0,
                epochs,
                lifetime,
            },
            mechanism: Mechanism::BitSum(BinaryResponse::new(flip).unwrap()),
        },
        schedule: Schedule {
            start: now() + 4,
            every: seconds.div_ceil(2) + 1,
            grace: 8,
            below: Below::Expire,
        },
        chain: Chain { mixes: vec![party(0, "north")], analyzer: party(1, "counter") },
    }
}

fn identities() -> [Identity; 2] {
    [1, 2].map(|seed| Identity::from_seed(&[seed; 32]))
}

fn free_ports() -> [u16; 2] {
    let bound = [(); 2].map(|()| TcpListener::bind(("127.0.0.1", 0)).unwrap());
    bound.map(|listener| listener.local_addr().unwrap().port())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The variable that sets the number of hostile connections.
const CONNECTIONS: &str = "THRONG_EDGE_CONNECTIONS";

/// Honest reports a second.
const RATE: u64 = 50;
