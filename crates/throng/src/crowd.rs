//! Many simulated clients: randomize, seal and upload, each through the real client.

use crate::parallel::{bar, cores, fresh_generator, generator};
use anyhow::{Context, Result};
use std::sync::Arc;
use throng_client::{Client, Report, Uploader};
use throng_mechanism::Values;
use throng_wire::SignedDirectory;
use tokio::task::JoinSet;

/// Clients, one for each value, who take part epoch after epoch.
pub struct Population {
    clients: Vec<Client>,
    seed: Option<u64>,
}

impl Population {
    /// A population of these clients. Each has its own generator, seeded by the operating system
    /// or, for simulations that can be repeated, by `seed`, the client's place and the epoch.
    pub fn new(clients: Vec<Client>, seed: Option<u64>) -> Self {
        Self { clients, seed }
    }

    /// Everyone reports the value of the same place, and waits for the answer: each by a request of
    /// its own, or many in one if `bulk`. A bar says how far it is. A client that has delivered its
    /// report for the epoch already does nothing. Returns how many reported now.
    pub async fn report(
        &mut self,
        values: &Arc<Values>,
        epoch: u64,
        directory: &Arc<SignedDirectory>,
        uploader: &Arc<Uploader>,
        bulk: bool,
    ) -> Result<u64> {
        let bar = bar(self.clients.len() as u64, "sealing and sending", SPEED);
        let job = Job {
            values: values.clone(),
            directory: directory.clone(),
            uploader: uploader.clone(),
            seed: self.seed,
            epoch,
            bulk,
        };
        let mut waiting = std::mem::take(&mut self.clients).into_iter().enumerate();
        let mut under_way = JoinSet::new();
        let mut back = Vec::with_capacity(values.len());
        let (mut sent, lanes) = (0, 2 * cores());
        loop {
            while under_way.len() < lanes {
                let some: Vec<(usize, Client)> = waiting.by_ref().take(TOGETHER).collect();
                if some.is_empty() {
                    break;
                }
                under_way.spawn(job.clone().run(some));
            }
            let Some(done) = under_way.join_next().await else { break };
            let (clients, reported) = done.context("a client's task")??;
            sent += reported;
            bar.inc(clients.len() as u64);
            back.extend(clients);
        }
        bar.finish_and_clear();
        back.sort_by_key(|(place, _)| *place);
        self.clients = back.into_iter().map(|(_, client)| client).collect();
        Ok(sent)
    }
}

/// One task of an epoch, which seals and sends for some of the clients.
#[derive(Clone)]
struct Job {
    values: Arc<Values>,
    directory: Arc<SignedDirectory>,
    uploader: Arc<Uploader>,
    seed: Option<u64>,
    epoch: u64,
    bulk: bool,
}

impl Job {
    /// Seals off the runtime, since it is the clients' arithmetic, then sends all at once.
    async fn run(self, mut clients: Vec<(usize, Client)>) -> Result<(Vec<(usize, Client)>, u64)> {
        let Self { values, directory, uploader, seed, epoch, bulk } = self;
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
        let (reported, each) = (reports.len() as u64, if bulk { TOGETHER } else { 1 });
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
