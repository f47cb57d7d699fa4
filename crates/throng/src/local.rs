//! A whole chain on this machine: real servers, real disks, and a clock set by hand.

use anyhow::{Context, Result};
use std::time::Duration;
use tempfile::TempDir;
use throng_client::Uploader;
use throng_collection::{Board, Collection, Subject, Terms};
use throng_mix::Limits;
use throng_mix::store::Store;
use throng_server::{Clock, Listener, Parts, Role, Running, Server};
use throng_wire::{Below, Chain, CollectionId, Identity, Party, Schedule, SignedDirectory};
use zeroize::Zeroizing;

/// The parties of a chain on loopback, who have identities and wait for something to serve.
pub struct LocalParties {
    /// The chain that they form.
    pub chain: Chain,
    /// A schedule that begins now.
    pub schedule: Schedule,
    waiting: Vec<(Listener, Identity)>,
}

impl LocalParties {
    /// Makes this number of mixes and an analyzer.
    pub async fn gather(mixes: u8) -> Result<Self> {
        let (mut waiting, mut parties) = (Vec::new(), Vec::new());
        for place in 0..=mixes {
            let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?;
            let identity = fresh_identity()?;
            let name = if place < mixes { format!("mix {}", place + 1) } else { "analyzer".into() };
            let url = format!("http://{}", listener.address()?);
            parties.push(Party { name, url, identity: identity.public() });
            waiting.push((listener, identity));
        }
        let analyzer = parties.pop().context("an analyzer")?;
        let start = Clock::System.now();
        let schedule = Schedule { start, every: 3_600, grace: 60, below: Below::Expire };
        Ok(Self { chain: Chain { mixes: parties, analyzer }, schedule, waiting })
    }

    /// The collection of these terms, for them to run.
    pub fn collection(&self, terms: Terms) -> Collection {
        Collection { terms, schedule: self.schedule, chain: self.chain.clone() }
    }

    /// Starts everyone.
    pub fn serve(self, collections: &[Collection], boards: &[Board]) -> Result<LocalServers> {
        let data = temporary_directory()?;
        let clock = Clock::manual(self.schedule.start);
        let mut parties = Vec::new();
        for (place, (listener, identity)) in self.waiting.into_iter().enumerate() {
            let mix = place < self.chain.mixes.len();
            let parts = Parts {
                role: if mix { Role::Mix } else { Role::Analyzer },
                identity,
                collections: collections.to_vec(),
                boards: boards.to_vec(),
                store: Store::on_disk(&data.path().join(format!("party-{}", place + 1)))?,
                limits: Limits::default(),
                tls: None,
                authority: None,
                access: None,
            };
            parties.push(Server::from_parts(parts, clock.clone())?.start_on(listener)?);
        }
        Ok(LocalServers { clock, parties, _data: data })
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
    /// The keys of a window, once every party has signed them.
    pub async fn directory(&self, uploader: &Uploader, window: u64) -> Result<SignedDirectory> {
        for _ in 0..200 {
            if let Ok(directory) = uploader.directory(window).await {
                return Ok(directory);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(uploader.directory(window).await?)
    }

    /// Shows the true values behind the release of an epoch on the analyzer's pages: these clients
    /// are simulated.
    pub fn show_truth(&self, collection: CollectionId, epoch: u64, truth: Vec<(Subject, f64)>) {
        if let Some(analyzer) = self.parties.last() {
            analyzer.show_truth(collection, epoch, truth);
        }
    }

    /// Stops everyone, the first mix first.
    pub async fn stop(self) {
        for party in self.parties {
            party.stop().await;
        }
    }
}

/// A directory for what is kept as long as a chain on this machine runs.
pub fn temporary_directory() -> Result<TempDir> {
    tempfile::Builder::new().prefix("throng-").tempdir().with_context(|| {
        let place = std::env::temp_dir();
        format!("no data can be kept in {}; set TMPDIR to another directory", place.display())
    })
}

/// An identity that nobody has seen.
pub fn fresh_identity() -> Result<Identity> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed)?;
    Ok(Identity::from_seed(&seed))
}
