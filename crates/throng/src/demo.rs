//! `throng demo`: the whole system on loopback, told step by step.

mod answer;
mod passage;
mod samples;
mod story;
mod tell;

pub use story::Story;

use crate::args::{Cli, Demo};
use crate::crowd::Job;
use crate::local::LocalChain;
use crate::parallel::seed;
use crate::report::Report;
use answer::{EpochResult, summary};
use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap::error::ErrorKind;
use passage::Watch;
use std::sync::Arc;
use std::time::{Duration, Instant};
use story::People;
use tell::Steps;
use throng_account::show::Count;
use throng_account::{Crowd, Delta, Epsilon};
use throng_client::{Client, Uploader};
use throng_collection::{Promise, Terms};
use throng_mechanism::Ask;

/// Runs it all, and returns whether all is well. Without `--headless` the dashboard stays up until
/// Ctrl-C, after printing.
pub fn run(request: &Demo, json: bool) -> Result<bool> {
    let story = request.question;
    let clients = request.clients.unwrap_or(story.usual_clients());
    let epochs = request.epochs.unwrap_or(story.usual_epochs());
    if epochs > story.most_epochs() {
        usage(&format!("there are values for {} epochs, not for {epochs}", story.most_epochs()));
    }
    let terms = terms(request, clients, epochs)?;
    let seed = seed(request.seed)?;
    let people = People::new(story, clients, epochs, seed);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let chain = LocalChain::start(terms, request.mixes).await?;
        let scene = Scene { people, chain: &chain };
        let shown = tokio::select! {
            report = scene.play(request.seed) => report?.print(json),
            _ = tokio::signal::ctrl_c() => {
                chain.stop().await;
                bail!("stopped; nothing is left behind");
            }
        };
        if !request.headless {
            let page = &chain.collection.chain.analyzer.url;
            eprintln!(
                "\nDashboard: {page}/   (Ctrl-C ends the demonstration and removes its data)"
            );
            if epochs == 1 {
                eprintln!("With --epochs 7 it has a line over time to show.");
            }
            tokio::signal::ctrl_c().await?;
        }
        chain.stop().await;
        Ok(shown)
    })
}

/// Everything that a demonstration is made of.
struct Scene<'a> {
    people: People,
    chain: &'a LocalChain,
}

impl Scene<'_> {
    /// Runs all epochs, one after the other. The noise is drawn from the seed `noise`, if there is
    /// one.
    async fn play(&self, noise: Option<u64>) -> Result<Report> {
        let collection = &self.chain.collection;
        let mut steps = Steps::default();
        tell::open(&format!("{} {}", collection.terms.question.text, self.people.about()));
        steps.keys(collection);
        steps.collection(collection);

        let uploader = Arc::new(Uploader::new(collection)?);
        let watch = Watch::new(self.chain)?;
        let clients = (0..self.people.clients).map(|_| Client::new(collection.clone()));
        let mut clients = clients.collect::<Result<_, _>>()?;
        let mut releases = Vec::new();
        let mut truth = Vec::new();
        let mut sending = Duration::ZERO;
        let started = Instant::now();
        for epoch in 0..self.people.epochs {
            self.chain.begin(epoch);
            let directory = Arc::new(self.chain.directory(&uploader, epoch).await?);
            let values = Arc::new(self.people.values(epoch));
            truth = self.people.truth(&values, epoch);
            let uploader = uploader.clone();
            let job = Job { values, directory, uploader, epoch, seed: noise, bulk: false };
            let start = Instant::now();
            job.run(&mut clients).await?;
            let taken = start.elapsed();
            sending += taken;
            if epoch == 0 {
                steps.next("clients", &self.sent(taken));
            }
            self.chain.end(epoch);
            let (release, reports) = watch.through(epoch).await?;
            let told = EpochResult::new(self.people.story, release, &truth);
            self.tell(&mut steps, &reports, &told);
            releases.push(told);
        }
        eprintln!();
        let reports = (self.people.clients * self.people.epochs) as f64;
        let rate = reports / started.elapsed().as_secs_f64();
        Ok(summary(self.people.story, collection, &releases, &truth, rate)?
            .field("question", collection.terms.question.text.clone())
            .field("mechanism", collection.terms.mechanism.key().name())
            .field("upload_reports_per_second", reports / sending.as_secs_f64())
            .field("seed", self.people.seed)
            .field("collection", collection.id().to_string()))
    }

    /// A sentence about what the clients sent.
    fn sent(&self, taken: Duration) -> String {
        let (seconds, bytes) = (taken.as_secs_f64(), self.chain.collection.shape().report_bytes());
        format!(
            "{} reports of {} bytes, randomized, sealed, acknowledged: {seconds:.1} s, {} a second",
            Count(self.people.clients),
            Count(bytes as u64),
            Count((self.people.clients as f64 / seconds).round() as u64)
        )
    }

    /// Tells every step of the first epoch, and one line for each further epoch. `reports` has what
    /// each party handed on.
    fn tell(&self, steps: &mut Steps, reports: &[u64], told: &EpochResult) {
        let release = &told.release;
        if release.last > 0 {
            return tell::aside(&format!("epoch {}", release.last), &told.sentence());
        }
        let collection = &self.chain.collection;
        let messages = u64::from(collection.shape().messages);
        let names: Vec<&str> = collection.chain.parties().map(|(_, party)| &*party.name).collect();
        for (place, (pair, loss)) in names.windows(2).zip(&release.losses).enumerate() {
            // After the first mix the messages of a report are on their own.
            let (went_on, what) = match (place, messages) {
                (0, _) | (_, 1) => (reports[place], "reports"),
                _ => (reports[place] * messages, "messages"),
            };
            let dropped = loss.replayed + loss.malformed;
            let text = format!(
                "{} {what}, {} repeated or malformed dropped; permuted; {} signed for them",
                Count(went_on + dropped),
                Count(dropped),
                pair[1]
            );
            steps.next(pair[0], &text);
        }
        let loss = release.losses.last().copied().unwrap_or_default();
        let text = format!(
            "{} reports opened and counted; {} messages dropped",
            Count(release.reports),
            loss.replayed + loss.malformed + release.nonsense
        );
        steps.next("analyzer", &text);
        steps.next("release", &told.sentence());
    }
}

/// The question, with the mechanism calibrated for the honest part of nine tenths of the clients.
fn terms(request: &Demo, clients: u64, epochs: u64) -> Result<Terms> {
    let story = request.question;
    let (question, corrupt) = (story.question(epochs), request.corrupt);
    let key = request.mechanism.unwrap_or(story.usual_mechanism());
    if !question.keys().contains(&key) {
        let known: Vec<&str> = question.keys().iter().map(|key| key.name()).collect();
        usage(&format!("{key} does not answer this question; take one of {}", known.join(", ")));
    }
    let (epsilon, delta) = (Epsilon::new(request.epsilon)?, Delta::new(request.delta)?);
    let crowd =
        Crowd::honest(clients * 9 / 10, corrupt).context("--clients has to be 2 or more")?;
    // Whoever names a mechanism wants it, fragile or not.
    let ask = Ask::new(question, crowd, epsilon, delta)
        .with_reports(clients)
        .with_max_messages(64)
        .with_fragile(true);
    let lifetime = (epsilon, delta);
    let promise = Promise { epsilon, delta, crowd, corrupt, epochs, lifetime };
    let mut terms = Terms { question: story.prompt(), promise, mechanism: ask.calibrate(key)? };
    terms.promise.lifetime = terms.lifetime(1, None)?;
    Ok(terms)
}

/// Ends the program as it ends after other wrong arguments.
fn usage(reason: &str) -> ! {
    Cli::command().error(ErrorKind::ValueValidation, reason).exit()
}
