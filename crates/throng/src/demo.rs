//! `throng demo`: the whole system on loopback, told step by step.

mod answer;
mod passage;
mod samples;
mod story;
mod tell;

pub use story::Story;

use crate::args::{Cli, Demo};
use crate::collection::draft;
use crate::crowd::Job;
use crate::local::{LocalParties, LocalServers};
use crate::parallel::seed;
use crate::report::Report;
use crate::stop;
use answer::{EpochResult, summary};
use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap::error::ErrorKind;
use passage::Watch;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};
use story::People;
use tell::Steps;
use throng_account::{Crowd, Delta, Epsilon};
use throng_client::{Client, Uploader};
use throng_collection::{Collection, Terms};
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
    tokio::runtime::Runtime::new()?.block_on(async {
        let parties = LocalParties::gather(request.mixes).await?;
        let collection = parties.collection(terms);
        let servers = parties.serve(slice::from_ref(&collection), &[])?;
        let shown = tokio::select! {
            report = play(&people, &collection, &servers, request.seed) => report?.print(json),
            _ = stop::asked() => {
                servers.stop().await;
                bail!("stopped; nothing is left behind");
            }
        };
        if !request.headless {
            let page = &collection.chain.analyzer.url;
            eprintln!(
                "\nDashboard: {page}/   (Ctrl-C ends the demonstration and removes its data)"
            );
            if epochs == 1 {
                eprintln!("With --epochs 7 it has a line over time to show.");
            }
            stop::asked().await?;
        }
        servers.stop().await;
        Ok(shown)
    })
}

/// Runs all epochs, one after the other. The noise is drawn from the seed `noise`, if there is one.
async fn play(
    people: &People,
    collection: &Collection,
    servers: &LocalServers,
    noise: Option<u64>,
) -> Result<Report> {
    let mut steps = Steps::default();
    tell::open(&format!("{} {}", collection.terms.question.text, people.about()));
    steps.keys(collection);
    steps.collection(collection);

    let uploader = Arc::new(Uploader::new(collection)?);
    let watch = Watch::new(collection)?;
    let clients = (0..people.clients).map(|_| Client::new(collection.clone()));
    let mut clients = clients.collect::<Result<_, _>>()?;
    let schedule = &collection.schedule;
    let mut releases = Vec::new();
    let mut sending = Duration::ZERO;
    let started = Instant::now();
    for epoch in 0..people.epochs {
        servers.clock.set(schedule.start_of(epoch));
        let directory = Arc::new(servers.directory(&uploader, schedule.window_of(epoch)).await?);
        let values = Arc::new(people.values(epoch));
        let truth = people.truth(&values, epoch);
        let uploader = uploader.clone();
        let job = Job { values, directory, uploader, epoch, seed: noise, bulk: false };
        let start = Instant::now();
        job.run(&mut clients).await?;
        let taken = start.elapsed();
        sending += taken;
        if epoch == 0 {
            steps.sent(people.clients, collection, taken);
        }
        servers.clock.set(schedule.deadline(epoch));
        let (release, reports) = watch.through(epoch).await?;
        servers.show_truth(collection.id(), epoch, truth.clone());
        let told = EpochResult::new(people.story, release, truth);
        if epoch == 0 {
            steps.passed(collection, &reports, &told.release);
            steps.next("release", &told.sentence());
        } else {
            tell::aside(&format!("epoch {epoch}"), &told.sentence());
        }
        releases.push(told);
    }
    eprintln!();
    let reports = (people.clients * people.epochs) as f64;
    let rate = reports / started.elapsed().as_secs_f64();
    Ok(summary(collection, &releases, rate)?
        .field("question", collection.terms.question.text.clone())
        .field("mechanism", collection.terms.mechanism.key().name())
        .field("upload_reports_per_second", reports / sending.as_secs_f64())
        .field("seed", people.seed)
        .field("collection", collection.id().to_string()))
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
    let epsilon = request.epsilon.unwrap_or(story.usual_epsilon(epochs));
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(request.delta)?);
    let crowd =
        Crowd::honest(clients * 9 / 10, corrupt).context("--clients has to be 2 or more")?;
    // Whoever names a mechanism wants it, fragile or not.
    let ask = Ask::new(question, crowd, epsilon, delta)
        .with_reports(clients)
        .with_epochs(epochs)
        .with_max_messages(64)
        .with_fragile(true);
    let mut terms = draft(&ask, ask.calibrate(key)?, corrupt)?;
    terms.question = story.prompt();
    Ok(terms)
}

/// Ends the program as it ends after other wrong arguments.
fn usage(reason: &str) -> ! {
    Cli::command().error(ErrorKind::ValueValidation, reason).exit()
}
