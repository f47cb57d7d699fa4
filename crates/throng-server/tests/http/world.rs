//! Two mixes and an analyzer, and what everyone needs to talk to them.

use reqwest::{Client, Response, redirect};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold};
use throng_collection::{Board, Collection, Promise, Prompt, example};
use throng_mechanism::{BinaryResponse, Mechanism};
use throng_mix::Limits;
use throng_mix::store::Store;
use throng_server::{Clock, Listener, Parts, Role, Running, Server};
use throng_wire::example::chain_through;
use throng_wire::{
    Below, Chain, CollectionId, Identity, PublicIdentity, Schedule, Seal, SignedDirectory,
};
use zeroize::Zeroizing;

pub const START: u64 = 1_000_000;

/// The least number of honest reports that are shuffled together.
pub const CROWD: u64 = 20;

/// Certificate chain and key, and the authority that everyone trusts.
pub struct Pem {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
    pub authority: Vec<u8>,
}

pub struct World {
    pub collection: Collection,
    pub boards: Vec<Board>,
    pub id: CollectionId,
    pub identities: Vec<Identity>,
    pub clock: Clock,
    /// The parties by hop, from 0.
    pub parties: Vec<Option<Running>>,
    pub addresses: Vec<SocketAddr>,
    pub http: Client,
    pub data: TempDir,
    pub limits: Limits,
}

impl World {
    pub async fn new(limits: Limits) -> Self {
        Self::with(limits, None).await
    }

    pub async fn with(limits: Limits, pem: Option<Pem>) -> Self {
        Self::made(limits, pem, |_| Vec::new()).await
    }

    /// A world with boards along the chain of the question.
    pub async fn made(
        limits: Limits,
        pem: Option<Pem>,
        boards: impl Fn(&Collection) -> Vec<Board>,
    ) -> Self {
        let identities: Vec<_> = (1..=3).map(|seed| Identity::from_seed(&[seed; 32])).collect();
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
            addresses.push(listener.address().unwrap());
            listeners.push(listener);
        }
        let scheme = if pem.is_some() { "https" } else { "http" };
        let collection =
            collection(|hop| format!("{scheme}://localhost:{}", addresses[hop].port()));
        let http = Client::builder().no_proxy().redirect(redirect::Policy::none());
        let http = match &pem {
            Some(pem) => {
                http.tls_certs_only([reqwest::Certificate::from_pem(&pem.authority).unwrap()])
            }
            None => http,
        };
        let mut world = Self {
            id: collection.id(),
            boards: boards(&collection),
            collection,
            identities,
            clock: Clock::manual(START),
            parties: Vec::new(),
            addresses,
            http: http.build().unwrap(),
            data: tempfile::tempdir().unwrap(),
            limits,
        };
        for (hop, listener) in listeners.into_iter().enumerate() {
            let mut parts = world.parts(hop);
            if let Some(pem) = &pem {
                parts.tls = Some((pem.certificate.clone(), Zeroizing::new(pem.key.clone())));
                parts.authority = Some(pem.authority.clone());
            }
            let server = Server::from_parts(parts, world.clock.clone()).unwrap();
            world.parties.push(Some(server.start_on(listener).unwrap()));
        }
        world
    }

    /// The parts of a party; hops are counted from 0.
    pub fn parts(&self, hop: usize) -> Parts {
        Parts {
            role: if hop == 2 { Role::Analyzer } else { Role::Mix },
            identity: self.identities[hop].clone(),
            collections: vec![self.collection.clone()],
            boards: self.boards.clone(),
            store: Store::on_disk(&self.directory(hop)).unwrap(),
            limits: self.limits.clone(),
            tls: None,
            authority: None,
            access: None,
        }
    }

    pub fn directory(&self, hop: usize) -> PathBuf {
        self.data.path().join(format!("party-{hop}"))
    }

    /// A party's address and a path of this collection.
    pub fn at(&self, hop: usize, path: &str) -> String {
        let party = self.collection.chain.party(hop as u8 + 1).unwrap();
        format!("{}/v1/collections/{}{path}", party.url, self.id)
    }

    pub fn root(&self, hop: usize) -> &str {
        &self.collection.chain.party(hop as u8 + 1).unwrap().url
    }

    pub async fn get(&self, url: &str) -> Response {
        self.http.get(url).send().await.unwrap()
    }

    pub async fn json(&self, url: &str) -> Value {
        serde_json::from_slice(&self.get(url).await.bytes().await.unwrap()).unwrap()
    }

    pub async fn post(&self, epoch: u64, body: Vec<u8>) -> u16 {
        let url = self.at(0, &format!("/epochs/{epoch}/reports"));
        self.http.post(url).body(body).send().await.unwrap().status().as_u16()
    }

    /// A seal for an epoch, once everybody has signed its keys.
    pub async fn seal(&self, epoch: u64) -> Seal {
        let url = self.at(0, &format!("/directories/{epoch}"));
        let bytes = eventually(async || {
            let answer = self.get(&url).await;
            let complete = answer.status() == 200;
            if complete { Some(answer.bytes().await.unwrap()) } else { None }
        });
        let directory = SignedDirectory::decode(&bytes.await).unwrap();
        let parties: Vec<PublicIdentity> = self.identities.iter().map(Identity::public).collect();
        let keys = &directory.verify(&self.id, epoch, &parties).unwrap().keys;
        Seal::new(&self.collection.shape(), self.id, epoch, epoch, keys).unwrap()
    }

    /// Reports that say yes and no in turns.
    pub async fn reports(&self, epoch: u64, count: usize) -> Vec<Vec<u8>> {
        let seal = self.seal(epoch).await;
        (0..count).map(|i| seal.report(&[(i % 2) as u8], &mut rng()).unwrap()).collect()
    }

    /// The releases, once there are as many.
    pub async fn releases(&self, count: usize) -> Vec<Value> {
        let url = self.at(2, "/releases");
        eventually(async || {
            let releases = self.json(&url).await["releases"].as_array().unwrap().clone();
            (releases.len() >= count).then_some(releases)
        })
        .await
    }

    /// A slot of a party, once it is at a stage.
    pub async fn slot(&self, hop: usize, first: u64, stage: &str) -> Value {
        let url = self.at(hop, "/status");
        eventually(async || {
            let status = self.json(&url).await;
            let slots = status["slots"].as_array().unwrap().iter();
            slots.clone().find(|s| s["first"] == first && s["stage"] == stage).cloned()
        })
        .await
    }

    pub async fn metric(&self, hop: usize, line: &str) -> u64 {
        let text = self.get(&format!("{}/metrics", self.root(hop))).await.text().await.unwrap();
        let found = text.lines().find_map(|found| found.strip_prefix(line));
        found.unwrap_or_else(|| panic!("no {line} in\n{text}")).trim().parse().unwrap()
    }

    pub async fn stop(&mut self, hop: usize) {
        self.parties[hop].take().unwrap().stop().await;
    }

    /// Starts a party that was stopped, from what is on its disk.
    pub async fn start(&mut self, hop: usize) {
        let server = Server::from_parts(self.parts(hop), self.clock.clone()).unwrap();
        let listener = Listener::bind(self.addresses[hop]).await.unwrap();
        self.parties[hop] = Some(server.start_on(listener).unwrap());
    }
}

/// A collection of ten epochs, each a hundred seconds long.
/// A question along a chain of two mixes, whose parties are at these addresses, by hop from 0.
pub fn collection(url: impl Fn(usize) -> String) -> Collection {
    let flip = Threshold::at_least(Probability::new("flip", 0.25).unwrap());
    let epsilon = |value: f64| Epsilon::new(value).unwrap();
    let mut collection = example::collection();
    collection.terms.question = Prompt::new("Is 1 < 2?");
    collection.terms.mechanism = Mechanism::BitSum(BinaryResponse::new(flip).unwrap());
    collection.terms.promise = Promise {
        epsilon: epsilon(1.1),
        crowd: Crowd::new(CROWD).unwrap(),
        epochs: 10,
        lifetime: (epsilon(20.0), Delta::new(1e-3).unwrap()),
        ..collection.terms.promise
    };
    collection.schedule = Schedule { start: START, every: 100, grace: 10, below: Below::Expire };
    collection.chain = chain_through(&["north", "south"]);
    let Chain { mixes, analyzer } = &mut collection.chain;
    for (hop, party) in mixes.iter_mut().chain([analyzer]).enumerate() {
        party.url = url(hop);
    }
    collection
}

pub fn limits() -> Limits {
    Limits { patience: 5, threads: 1, drain: 1_000, ..Limits::default() }
}

pub fn rng() -> chacha20::ChaCha12Rng {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).unwrap();
    rand_core::SeedableRng::from_seed(seed)
}

/// Asks again and again, for at most half a minute.
pub async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..1_500 {
        if let Some(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it did not happen");
}
