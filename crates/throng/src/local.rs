//! A whole chain on this machine: real servers, real disks, and a clock set by hand.

use anyhow::{Context, Result};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use throng_client::Uploader;
use throng_collection::{Board, Collection, Terms};
use throng_mix::Limits;
use throng_mix::store::Store;
use throng_server::{Clock, Listener, Parts, Role, Running, Server};
use throng_wire::{Below, Chain, Identity, Party, Schedule, SignedDirectory};
use zeroize::Zeroizing;

/// Mixes and an analyzer that listen on loopback and run one collection.
pub struct LocalChain {
    /// The collection they run.
    pub collection: Collection,
    /// The servers that run it.
    pub servers: LocalServers,
}

impl LocalChain {
    /// Makes identities and a collection, and starts everyone.
    pub async fn start(terms: Terms, mixes: u8) -> Result<Self> {
        let mut made = None;
        let servers = LocalServers::start(mixes, |schedule, chain| {
            let collection = Collection { terms, schedule, chain };
            made = Some(collection.clone());
            (vec![collection], Vec::new())
        });
        let servers = servers.await?;
        Ok(Self { collection: made.context("a collection")?, servers })
    }

    /// The keys of an epoch, once every party has signed them.
    pub async fn directory(&self, uploader: &Uploader, epoch: u64) -> Result<SignedDirectory> {
        self.servers.directory(uploader, self.collection.schedule.window_of(epoch)).await
    }

    /// Turns everyone's clock to an epoch's first second.
    pub fn begin(&self, epoch: u64) {
        self.servers.clock.set(self.collection.schedule.start_of(epoch));
    }

    /// Turns everyone's clock to an epoch's deadline.
    pub fn end(&self, epoch: u64) {
        self.servers.clock.set(self.collection.schedule.deadline(epoch));
    }

    /// Stops everyone, the first mix first.
    pub async fn stop(self) {
        self.servers.stop().await;
    }
}

/// The servers of a chain, whatever they run. Everything they keep goes when they go.
pub struct LocalServers {
    /// Everyone's time.
    pub clock: Clock,
    parties: Vec<Running>,
    _data: TempDir,
}

impl LocalServers {
    /// Makes identities, and starts everyone with what `make` returns for this chain and a schedule
    /// that begins now.
    pub async fn start(
        mixes: u8,
        make: impl FnOnce(Schedule, Chain) -> (Vec<Collection>, Vec<Board>),
    ) -> Result<Self> {
        let data = tempfile::Builder::new().prefix("throng-").tempdir()?;
        let mut listeners = Vec::new();
        let mut identities = Vec::new();
        for _ in 0..=mixes {
            listeners.push(Listener::bind(([127, 0, 0, 1], 0).into()).await?);
            identities.push(fresh_identity()?);
        }
        let mut parties = Vec::new();
        for (place, (listener, identity)) in listeners.iter().zip(&identities).enumerate() {
            let analyzer = place == usize::from(mixes);
            let name = if analyzer { "analyzer".into() } else { format!("mix {}", place + 1) };
            let url = format!("http://{}", listener.address()?);
            parties.push(Party { name, url, identity: identity.public() });
        }
        let analyzer = parties.pop().context("an analyzer")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let schedule = Schedule { start: now, every: 3_600, grace: 60, below: Below::Expire };
        let (collections, boards) = make(schedule, Chain { mixes: parties, analyzer });
        let clock = Clock::manual(now);

        let mut running = Vec::new();
        for (place, (listener, identity)) in listeners.into_iter().zip(identities).enumerate() {
            let role = if place == usize::from(mixes) { Role::Analyzer } else { Role::Mix };
            let parts = Parts {
                role,
                identity,
                collections: collections.clone(),
                boards: boards.clone(),
                store: Store::on_disk(&data.path().join(format!("party-{}", place + 1)))?,
                limits: Limits::default(),
                tls: None,
                authority: None,
                access: None,
            };
            running.push(Server::from_parts(parts, clock.clone())?.start_on(listener)?);
        }
        Ok(Self { clock, parties: running, _data: data })
    }

    /// The keys of a window, once every party has signed them.
    pub async fn directory(&self, uploader: &Uploader, window: u64) -> Result<SignedDirectory> {
        for _ in 0..200 {
            match uploader.directory(window).await {
                Ok(directory) => return Ok(directory),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        Ok(uploader.directory(window).await?)
    }

    /// Stops everyone, the first mix first.
    pub async fn stop(self) {
        for party in self.parties {
            party.stop().await;
        }
    }
}

/// An identity that nobody has seen.
pub fn fresh_identity() -> Result<Identity> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed)?;
    Ok(Identity::from_seed(&seed))
}
