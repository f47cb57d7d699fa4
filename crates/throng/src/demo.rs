//! `throng demo`: the whole system on loopback.

use crate::args::Demo;
use crate::crowd::Population;
use crate::local::LocalChain;
use crate::parallel::{generator, seed};
use crate::report::{Report, Rows, number};
use crate::results::Analyzer;
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use throng_account::{Crowd, Delta, Epsilon};
use throng_client::{Client, Uploader};
use throng_mechanism::{Ask, Question, Values, sample};
use throng_wire::{Promise, Prompt, Terms};

/// Runs it all, and returns what there is to print. Without `--headless` the results page stays up
/// until Ctrl-C, after printing.
pub fn run(request: &Demo, json: bool) -> Result<bool> {
    let terms = terms(request)?;
    let seed = seed(request.seed)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let chain = LocalChain::start(terms, request.mixes).await?;
        let shown = tokio::select! {
            report = story(request, &chain, seed) => report?.print(json),
            _ = tokio::signal::ctrl_c() => {
                chain.stop().await;
                bail!("stopped; nothing is left behind");
            }
        };
        if !request.headless {
            let page = &chain.collection.chain.analyzer.url;
            eprintln!(
                "\nResults page: {page}/   (Ctrl-C ends the demonstration and removes its data)"
            );
            tokio::signal::ctrl_c().await?;
        }
        chain.stop().await;
        Ok(shown)
    })
}

async fn story(request: &Demo, chain: &LocalChain, seed: u64) -> Result<Report> {
    let collection = &chain.collection;
    let id = collection.id().to_string();
    eprintln!("collection  {id}");
    eprintln!("question    {}", collection.terms.question.text);
    for (hop, party) in collection.chain.parties() {
        eprintln!("hop {hop}       {:9} {}", party.name, party.url);
    }
    for sentence in collection.plain() {
        eprintln!("  {sentence}");
    }
    let uploader = Arc::new(Uploader::new(collection)?);
    let clients = (0..request.clients).map(|_| Client::new(collection.clone()));
    let mut population = Population::new(clients.collect::<Result<_, _>>()?, request.seed);
    let analyzer = Analyzer::new(&collection.chain.analyzer.url)?;
    let mut releases = Vec::new();
    let mut sending = Duration::ZERO;
    let started = Instant::now();
    for epoch in 0..request.epochs {
        chain.begin(epoch);
        let directory = Arc::new(chain.directory(&uploader, epoch).await?);
        let values = Arc::new(crashes(request.clients, epoch, seed));
        let truth = collection.terms.mechanism.truth(&values)[0];
        let start = Instant::now();
        population.report(&values, epoch, &directory, &uploader, false).await?;
        sending += start.elapsed();
        eprintln!(
            "epoch {epoch}     {} reports acknowledged; the deadline passes",
            request.clients
        );
        chain.end(epoch);
        let release = released(chain, &analyzer, &id, epoch).await?;
        releases.push(shown(&release, epoch, truth));
    }
    let reports = request.clients * request.epochs;
    let rate = reports as f64 / started.elapsed().as_secs_f64();
    Ok(summary(collection.shape().report_bytes(), &releases, rate)
        .field("upload_reports_per_second", reports as f64 / sending.as_secs_f64())
        .field("seed", seed)
        .field("collection", id))
}

/// The question, with the mechanism calibrated for the honest part of nine tenths of the clients.
fn terms(request: &Demo) -> Result<Terms> {
    let (epsilon, delta) = (Epsilon::new(request.epsilon)?, Delta::new(request.delta)?);
    let crowd = Crowd::honest(request.clients * 9 / 10, request.corrupt)
        .context("--clients has to be 2 or more")?;
    let ask = Ask {
        question: Question::Bit,
        reports: request.clients,
        crowd,
        epsilon,
        delta,
        max_messages: 64,
        local_floor: None,
        fragile: false,
    };
    if !Question::Bit.keys().contains(&request.mechanism) {
        let known: Vec<&str> = Question::Bit.keys().iter().map(|key| key.name()).collect();
        bail!("{} does not count bits; take one of {}", request.mechanism, known.join(", "));
    }
    let mechanism = ask.calibrate(request.mechanism)?;
    let (corrupt, epochs) = (request.corrupt, request.epochs);
    let lifetime = (epsilon, delta);
    let promise = Promise { epsilon, delta, crowd, corrupt, epochs, lifetime };
    let question = Prompt::new("Did the application crash today?");
    let mut terms = Terms { question, promise, mechanism };
    terms.promise.lifetime = terms.lifetime(1, None)?;
    Ok(terms)
}

/// Whose application crashed: three in a hundred, and one more in a hundred every epoch.
fn crashes(clients: u64, epoch: u64, seed: u64) -> Values {
    let mut rng = generator(seed, u64::MAX - epoch);
    Values::Bits((0..clients).map(|_| sample::below(100, &mut rng) < 3 + epoch).collect())
}

/// Waits for the release of an epoch, and says where its batch is.
async fn released(chain: &LocalChain, analyzer: &Analyzer, id: &str, epoch: u64) -> Result<Value> {
    let spinner = ProgressBar::new_spinner();
    spinner
        .set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a constant template"));
    spinner.enable_steady_tick(Duration::from_millis(100));
    let parties: Vec<(String, Analyzer)> = chain
        .collection
        .chain
        .parties()
        .map(|(_, party)| Ok((party.name.clone(), Analyzer::new(&party.url)?)))
        .collect::<Result<_>>()?;
    let patience = Instant::now();
    while patience.elapsed() < PATIENCE {
        let releases = analyzer.releases(id).await?;
        if let Some(release) = releases.iter().find(|r| r["last"].as_u64() == Some(epoch)) {
            spinner.finish_and_clear();
            return Ok(release.clone());
        }
        let mut stages = Vec::new();
        for (name, party) in &parties {
            let status = party.status(id).await?;
            let slots = status["slots"].as_array().cloned().unwrap_or_default();
            let slot = slots.iter().find(|slot| slot["last"].as_u64() == Some(epoch));
            let stage = slot.map_or("waiting", |slot| slot["stage"].as_str().unwrap_or("-"));
            if DROPPED.contains(&stage) {
                bail!("{name} dropped the epoch instead of releasing it ({stage})");
            }
            stages.push(format!("{name}: {stage}"));
        }
        spinner.set_message(stages.join("   "));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("no release after {} s; this machine may be too busy", PATIENCE.as_secs())
}

/// The fields of a release that the demonstration prints.
fn shown(release: &Value, epoch: u64, truth: f64) -> Value {
    let estimate = &release["estimates"][0];
    let privacy = &release["privacy"];
    json!({
        "epoch": epoch,
        "truth": truth,
        "estimate": estimate["value"],
        "standard_error": estimate["standard_error"],
        "interval": estimate["interval"],
        "reports": release["reports"],
        "epsilon": privacy["epsilon"],
        "delta": privacy["delta"],
        "local_floor": privacy["local_floor"],
        "honest": privacy["honest"],
        "spent_epsilon": privacy["spent_epsilon"],
        "spent_delta": privacy["spent_delta"],
        "dropped": release["dropped"],
    })
}

fn summary(bytes: usize, releases: &[Value], rate: f64) -> Report {
    let of = |value: &Value| value.as_f64().map_or_else(|| "-".into(), number);
    let rows = releases.iter().map(|release| {
        vec![
            of(&release["epoch"]),
            of(&release["truth"]),
            of(&release["estimate"]),
            of(&release["standard_error"]),
            of(&release["interval"][0]),
            of(&release["interval"][1]),
            of(&release["reports"]),
            of(&release["epsilon"]),
            of(&release["spent_epsilon"]),
        ]
    });
    let head =
        vec!["epoch", "truth", "estimate", "error", "low", "high", "reports", "epsilon", "spent"];
    let mut report = Report::default().field("releases", releases);
    if let Some(last) = releases.last() {
        let floor = match &last["local_floor"] {
            Value::String(_) => "infinite: a report by itself shows the value".into(),
            floor => of(floor),
        };
        report = report
            .say(
                "against everyone, one mix honest",
                format!(
                    "epsilon {} at delta {}, counting on {} honest reports",
                    of(&last["epsilon"]),
                    of(&last["delta"]),
                    of(&last["honest"])
                ),
            )
            .say("with nobody honest", format!("epsilon {floor} (local floor)"));
    }
    report
        .line("bytes_per_report", "bytes per report", bytes)
        .line("reports_per_second", "reports per second, end to end", rate.round())
        .table(Rows { head, rows: rows.collect() })
}

/// Stages that nothing follows.
const DROPPED: [&str; 3] = ["short", "budget", "keys"];

/// How long a release may take.
const PATIENCE: Duration = Duration::from_mins(5);
