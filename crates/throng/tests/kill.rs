//! Real processes killed without warning while reports come in, started again, and the books
//! balanced at the end.
//!
//! Every report carries a number of its own. What must hold when all epochs are over:
//!
//! - a report that was acknowledged and whose epoch was released is counted once;
//! - no report is counted twice, however often it was sent and whoever died when;
//! - every epoch is released: nobody waits for ever.
//!
//! `THRONG_KILL_ROUNDS` repeats the whole story, with other moments each time.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold};
use throng_client::Uploader;
use throng_collection::{Collection, Promise, Prompt, Terms};
use throng_mechanism::{KaryResponse, Mechanism};
use throng_wire::{Below, Chain, Identity, Party, Schedule, Seal};

#[test]
fn killed_at_any_moment_no_acknowledged_report_is_lost_and_none_is_counted_twice() {
    let rounds = std::env::var("THRONG_KILL_ROUNDS").ok().and_then(|n| n.parse().ok());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for round in 0..rounds.unwrap_or(1) {
        let seed = if rounds.is_some() { round ^ now() << 20 } else { round };
        let books = runtime.block_on(story(seed));
        println!("round {round}, seed {seed}: {books:?}");
    }
}

/// The counts of a run.
#[derive(Debug, Default)]
struct Books {
    kills: u64,
    acknowledged: u64,
    replayed: u64,
    released: u64,
}

async fn story(seed: u64) -> Books {
    let directory = tempfile::tempdir().unwrap();
    let ports = free_ports();
    let identities: Vec<Identity> = (0..3).map(|i| Identity::from_seed(&[i + 1; 32])).collect();
    let collection = Arc::new(collection(&ports, &identities));
    let parties: Vec<Arc<ServerProcess>> = (0..3)
        .map(|place| {
            Arc::new(ServerProcess::new(directory.path(), place, &ports, &identities, &collection))
        })
        .collect();
    for party in &parties {
        party.start();
    }

    let load = Arc::new(Load::default());
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (collection, load) = (collection.clone(), load.clone());
            let rng = ChaCha12Rng::seed_from_u64(seed ^ worker << 32);
            tokio::spawn(send(collection, load, rng))
        })
        .collect();
    let mut rng = ChaCha12Rng::seed_from_u64(!seed);
    let mut kills = 0;
    let end = collection.schedule.deadline(EPOCHS - 1);
    while now() < end {
        tokio::time::sleep(Duration::from_millis(150 + rng.next_u64() % 900)).await;
        let victim = parties[(rng.next_u64() % 3) as usize].clone();
        tokio::task::spawn_blocking(move || victim.kill_and_restart()).await.unwrap();
        kills += 1;
    }
    for worker in workers {
        worker.await.unwrap();
    }

    let counted = released(&collection).await;
    let acknowledged = load.acknowledged.lock().unwrap().clone();
    let mut books = Books { kills, ..Books::default() };
    books.replayed = load.replayed.load(Ordering::SeqCst);
    for epoch in 0..EPOCHS {
        let empty = BTreeSet::new();
        let acknowledged = acknowledged.get(&epoch).unwrap_or(&empty);
        books.acknowledged += acknowledged.len() as u64;
        let Some(counts) = counted.get(&epoch) else {
            // Too few acknowledged ones is the only excuse.
            assert!((acknowledged.len() as u64) < CROWD, "epoch {epoch} was dropped");
            continue;
        };
        for (id, &count) in counts.iter().enumerate() {
            assert!(count <= 1, "epoch {epoch}: report {id} is counted {count} times");
            let sure = acknowledged.contains(&(id as u64));
            assert!(!sure || count == 1, "epoch {epoch}: acknowledged report {id} is lost");
        }
        books.released += counts.iter().sum::<u64>();
    }
    assert!(counted.len() as u64 >= EPOCHS - 1, "{} epochs released", counted.len());
    assert!(books.kills > 5 && books.acknowledged > CROWD, "{books:?}");
    books
}

/// The reports of all clients: numbers given out, copies sent again, and acknowledgements.
#[derive(Default)]
struct Load {
    next: Mutex<BTreeMap<u64, u64>>,
    replayed: AtomicU64,
    acknowledged: Mutex<BTreeMap<u64, BTreeSet<u64>>>,
}

impl Load {
    /// A number that no other report of the epoch has, while there are any.
    fn number(&self, epoch: u64) -> Option<u64> {
        let mut next = self.next.lock().unwrap();
        let next = next.entry(epoch).or_default();
        (*next < CATEGORIES).then(|| {
            *next += 1;
            *next - 1
        })
    }
}

/// Seals reports with numbers of their own and sends each until it is acknowledged or its epoch is
/// over, and now and then once more.
async fn send(collection: Arc<Collection>, load: Arc<Load>, mut rng: ChaCha12Rng) {
    let uploader = Uploader::new(&*collection).unwrap();
    let http = reqwest::Client::builder().timeout(Duration::from_secs(2)).build().unwrap();
    let mix = &collection.chain.mixes[0].url;
    while let Some(epoch) = next_epoch(&collection).await {
        let Ok(directory) = uploader.directory(epoch).await else { continue };
        let identities: Vec<_> = collection.chain.parties().map(|(_, p)| p.identity).collect();
        let directory = directory.verify(&collection.id(), epoch, &identities).unwrap();
        let shape = collection.shape();
        let seal = Seal::new(&shape, collection.id(), epoch, epoch, &directory.keys).unwrap();
        let url = format!("{mix}/v1/collections/{}/epochs/{epoch}/reports", collection.id());
        while collection.epoch_at(now()) == Some(epoch) {
            let Some(id) = load.number(epoch) else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let report = seal.report(&(id as u16).to_le_bytes(), &mut rng).unwrap();
            let mut taken = false;
            while !taken && now() < collection.schedule.deadline(epoch) {
                let answer = http.post(&url).body(report.clone()).send().await;
                match answer.map(|answer| answer.status().as_u16()) {
                    Ok(202) => taken = true,
                    Ok(409) => break,
                    _ => tokio::time::sleep(Duration::from_millis(30)).await,
                }
            }
            if taken {
                load.acknowledged.lock().unwrap().entry(epoch).or_default().insert(id);
                if rng.next_u64().is_multiple_of(8) {
                    load.replayed.fetch_add(1, Ordering::SeqCst);
                    let _ = http.post(&url).body(report).send().await;
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Waits for an epoch; `None` when there is none to come.
async fn next_epoch(collection: &Collection) -> Option<u64> {
    while now() < collection.schedule.start_of(EPOCHS) {
        if let Some(epoch) = collection.epoch_at(now()) {
            return Some(epoch);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    None
}

/// The count of each number, epoch by epoch, once every epoch is released or dropped.
async fn released(collection: &Collection) -> BTreeMap<u64, Vec<u64>> {
    let http = reqwest::Client::builder().timeout(Duration::from_secs(5)).build().unwrap();
    let base = format!("{}/v1/collections/{}", collection.chain.analyzer.url, collection.id());
    let read = async |url: String| -> Option<serde_json::Value> {
        let text = http.get(&url).send().await.ok()?.text().await.ok()?;
        serde_json::from_str(&text).ok()
    };
    let first = format!("{}/v1/collections/{}", collection.chain.mixes[0].url, collection.id());
    let mut counts = BTreeMap::new();
    for _ in 0..600 {
        counts.clear();
        let releases = read(format!("{base}/releases")).await.unwrap_or_default();
        for release in releases["releases"].as_array().unwrap_or(&Vec::new()) {
            counts.insert(release["first"].as_u64().unwrap(), invert(release));
        }
        let status = read(format!("{first}/status")).await.unwrap_or_default();
        let slots = status["slots"].as_array().cloned().unwrap_or_default();
        let dropped = slots.iter().filter(|slot| slot["stage"] == "short").count();
        if counts.len() + dropped == EPOCHS as usize {
            return counts;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("after a minute {} of {EPOCHS} epochs are released", counts.len());
}

/// Estimates of k-ary response are counts, stretched and moved.
fn invert(release: &serde_json::Value) -> Vec<u64> {
    let n = release["reports"].as_f64().unwrap();
    let gamma = replace().probability();
    let count = |value: f64| value * (1.0 - gamma) + n * gamma / CATEGORIES as f64;
    let estimates = release["estimates"].as_array().unwrap();
    estimates.iter().map(|one| count(one["value"].as_f64().unwrap()).round() as u64).collect()
}

/// One server process.
struct ServerProcess {
    role: &'static str,
    config: PathBuf,
    log: PathBuf,
    process: Mutex<Option<Child>>,
}

impl ServerProcess {
    fn new(
        directory: &Path,
        place: usize,
        ports: &[u16],
        identities: &[Identity],
        collection: &Collection,
    ) -> Self {
        let name = ["mix-1", "mix-2", "analyzer"][place];
        let key = directory.join(format!("{name}.key"));
        identities[place].write(&key).unwrap();
        let file = directory.join("collection.toml");
        fs::write(&file, collection.to_toml()).unwrap();
        let config = directory.join(format!("{name}.toml"));
        let text = format!(
            "listen = \"127.0.0.1:{}\"\nidentity = \"{name}.key\"\ndata = \"{name}\"\n\
             collections = [\"collection.toml\"]\n",
            ports[place]
        );
        fs::write(&config, text).unwrap();
        let role = if place == 2 { "analyzer" } else { "mix" };
        let log = directory.join(format!("{name}.log"));
        Self { role, config, log, process: Mutex::new(None) }
    }

    fn start(&self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let child = Command::new(assert_cmd::cargo::cargo_bin!("throng"))
            .args(["serve", self.role, "--config"])
            .arg(&self.config)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.process.lock().unwrap() = Some(child);
    }

    /// Sends SIGKILL: nothing is flushed, nobody is told.
    fn kill_and_restart(&self) {
        self.kill();
        self.start();
    }

    fn kill(&self) {
        if let Some(mut child) = self.process.lock().unwrap().take() {
            if let Some(status) = child.try_wait().unwrap() {
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                panic!("{} ended by itself with {status}:\n{log}", self.role);
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some(mut child) = self.process.lock().unwrap().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn collection(ports: &[u16], identities: &[Identity]) -> Collection {
    let party = |place: usize, name: &str| Party {
        name: name.into(),
        url: format!("http://127.0.0.1:{}", ports[place]),
        identity: identities[place].public(),
    };
    let kary = KaryResponse::new(CATEGORIES as u32, replace()).unwrap();
    let (epsilon, delta) = (Epsilon::new(20.0).unwrap(), Delta::new(1e-6).unwrap());
    let lifetime = (Epsilon::new(20.0 * EPOCHS as f64).unwrap(), Delta::new(1e-5).unwrap());
    let crowd = Crowd::new(CROWD).unwrap();
    Collection {
        terms: Terms {
            question: Prompt::new("Which number are you?"),
            promise: Promise { epsilon, delta, crowd, corrupt: 0.0, epochs: EPOCHS, lifetime },
            mechanism: Mechanism::KaryResponse(kary),
        },
        schedule: Schedule { start: now() + 3, every: 5, grace: 1, below: Below::Expire },
        chain: Chain {
            mixes: vec![party(0, "mix 1"), party(1, "mix 2")],
            analyzer: party(2, "analyzer"),
        },
    }
}

/// A probability so small that every number can be told, and read back from the estimates.
fn replace() -> Threshold {
    Threshold::at_least(Probability::new("replace", 1.0 / 1024.0).unwrap())
}

fn free_ports() -> Vec<u16> {
    let sockets: Vec<TcpListener> =
        (0..3).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
    sockets.iter().map(|socket| socket.local_addr().unwrap().port()).collect()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

const CATEGORIES: u64 = 2_048;
const CROWD: u64 = 30;
const EPOCHS: u64 = 3;
const WORKERS: u64 = 4;
