//! Many simulated clients: randomize, seal and upload, each through the real client.

use crate::parallel::{cores, fresh_generator, generator};
use crate::progress::Progress;
use anyhow::{Context, Result};
use std::sync::Arc;
use throng_client::{Client, Report, Uploader};
use throng_mechanism::Values;
use throng_wire::SignedDirectory;
use tokio::task::JoinSet;

/// The reports of one epoch: what everyone says, and to whom.
#[derive(Clone)]
pub struct Job {
    /// The values, one for each client.
    pub values: Arc<Values>,
    /// The keys to seal with.
    pub directory: Arc<SignedDirectory>,
    /// The way to the first mix.
    pub uploader: Arc<Uploader>,
    /// The number of the epoch.
    pub epoch: u64,
    /// The seed, for simulations that can be repeated: each client has its own generator, seeded by
    /// this, its place and the epoch; or by the operating system if there is none.
    pub seed: Option<u64>,
    /// True if many reports share a request, false if each has a request of its own.
    pub bulk: bool,
}

impl Job {
    /// Every client reports the value of the same place, and waits for the answer. A bar says how
    /// far it is. A client that has delivered its report for the epoch already does nothing.
    /// Returns how many reported now.
    pub async fn run(&self, clients: &mut Vec<Client>) -> Result<u64> {
        let bar = Progress::of(clients.len() as u64, "sealing and sending", SPEED);
        let mut waiting = std::mem::take(clients).into_iter().enumerate();
        let mut under_way = JoinSet::new();
        let mut back = Vec::with_capacity(self.values.len());
        let (mut sent, lanes) = (0, 2 * cores());
        loop {
            while under_way.len() < lanes {
                let some: Vec<(usize, Client)> = waiting.by_ref().take(TOGETHER).collect();
                if some.is_empty() {
                    break;
                }
                under_way.spawn(self.clone().part(some));
            }
            let Some(done) = under_way.join_next().await else { break };
            let (some, reported) = done.context("a client's task")??;
            sent += reported;
            bar.inc(some.len() as u64);
            back.extend(some);
        }
        drop(bar);
        back.sort_by_key(|(place, _)| *place);
        clients.extend(back.into_iter().map(|(_, client)| client));
        Ok(sent)
    }

    /// Seals for some of the clients off the runtime, since that is their arithmetic, then sends
    /// all at once.
    async fn part(self, mut clients: Vec<(usize, Client)>) -> Result<(Vec<(usize, Client)>, u64)> {
        let Self { values, directory, uploader, epoch, seed, bulk } = self;
        let (mut clients, reports) = tokio::task::spawn_blocking(move || {
            let mut reports = Vec::with_capacity(clients.len());
            for (at, (place, client)) in clients.iter_mut().enumerate() {
                let window = client.collection().schedule.window_of(epoch);
                client.learn(&directory, window)?;
                let mut rng = match seed {
                    Some(seed) => generator(seed ^ ((epoch + 1) << 40), *place as u64),
                    None => fresh_generator()?,
                };
                match client.report(values.get(*place), epoch, &mut rng) {
                    Ok(report) => reports.push((at, report)),
                    Err(throng_client::Error::Reported { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok::<_, anyhow::Error>((clients, reports))
        })
        .await??;
        let reported = reports.len() as u64;
        let each = if bulk { TOGETHER } else { 1 };
        let mut uploads = JoinSet::new();
        let mut reports = reports.into_iter().peekable();
        while reports.peek().is_some() {
            let (places, some): (Vec<usize>, Vec<Report>) = reports.by_ref().take(each).unzip();
            let uploader = uploader.clone();
            uploads
                .spawn(async move { uploader.upload_many(&some).await.map(|()| (places, some)) });
        }
        while let Some(done) = uploads.join_next().await {
            let (places, some) = done??;
            for (place, report) in places.into_iter().zip(&some) {
                clients[place].1.acknowledge(report)?;
            }
        }
        Ok((clients, reported))
    }
}

/// Clients that are sealed and sent together.
const TOGETHER: usize = 64;
const SPEED: &str = "{pos} of {len}, {per_sec}, {eta} left";
