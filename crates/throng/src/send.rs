//! `throng send`: the rows of a file as clients of a running chain.

use crate::args::{Send, ValuesArgs};
use crate::collection::text_of;
use crate::crowd::Job;
use crate::report::Report;
use anyhow::{Context, Result, bail};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};
use throng_client::{Client, Patience, Uploader};
use throng_collection::{Collection, duration_text};
use throng_mechanism::{Kind, Values};
use throng_server::Clock;

/// Sends every row as one report.
pub fn run(request: &Send) -> Result<Report> {
    let file = &request.collection;
    let collection = Collection::parse(&text_of(file)?)
        .with_context(|| format!("{} is not a collection that can be run", file.display()))?;
    let epoch = open_epoch(request, &collection, Clock::System.now())?;
    let values = values(request, &collection)?;
    let mut clients = clients(request, &collection, values.len())?;
    let count = clients.len() as u64;
    let sent = tokio::runtime::Runtime::new()?.block_on(async {
        let uploader = Arc::new(Uploader::new(&collection)?);
        let window = collection.schedule.window_of(epoch);
        // Somebody waits at the terminal: if nobody answers at first, they want to know.
        let first = Patience { attempts: 3, ..Patience::default() };
        let first = Uploader::with_patience(&collection, first)?;
        let until = Instant::now() + Duration::from_secs(request.wait);
        let directory = loop {
            match first.directory(window).await {
                Err(_) if Instant::now() < until => tokio::time::sleep(PAUSE).await,
                directory => break directory,
            }
        };
        let directory = Arc::new(directory.with_context(|| {
            let mix = collection.chain.mixes.first().map_or("", |mix| &mix.url);
            format!("no keys from {mix} (throng doctor --collection {} says why)", file.display())
        })?);
        let values = Arc::new(values);
        let job = Job { values, directory, uploader, epoch, seed: None, bulk: true };
        job.run(&mut clients).await
    })?;
    Ok(Report::default()
        .line("collection", "collection", collection.id().to_string())
        .line("epoch", "epoch", epoch)
        .line("reports", "reports acknowledged", sent)
        .line("already", "rows that had reported before", count - sent)
        .line("bytes_per_report", "bytes per report", collection.shape().report_bytes()))
}

/// The epoch asked for or the current one, if it takes reports now.
fn open_epoch(request: &Send, collection: &Collection, now: u64) -> Result<u64> {
    let schedule = &collection.schedule;
    let last = collection.terms.promise.epochs - 1;
    if now < schedule.start {
        bail!("the collection begins in {}", duration_text(schedule.start - now));
    }
    let over = |epoch| now.checked_sub(schedule.deadline(epoch)).map(duration_text);
    if let Some(since) = over(last) {
        bail!("the collection ended {since} ago");
    }
    let Some(epoch) = request.epoch.or_else(|| collection.epoch_at(now)) else {
        bail!("only the grace of the last epoch is left; ask for it with --epoch {last}");
    };
    if epoch > last {
        bail!("there is no epoch {epoch}: the last one is {last}");
    }
    if let Some(since) = over(epoch) {
        bail!("epoch {epoch} closed {since} ago");
    }
    if let Some(wait) = schedule.start_of(epoch).checked_sub(now).filter(|wait| *wait > 0) {
        bail!("epoch {epoch} begins in {}", duration_text(wait));
    }
    Ok(epoch)
}

/// The column in the terms of the collection: its range, and its names of categories.
fn values(request: &Send, collection: &Collection) -> Result<Values> {
    let question = &collection.terms.question;
    let columns = ValuesArgs {
        values: None,
        column: request.column.clone(),
        weights: None,
        low: question.low,
        high: question.high,
    };
    let kind = match collection.terms.mechanism.kind() {
        // One epoch is one period.
        Kind::State => Kind::Bit,
        kind => kind,
    };
    let mut column = columns.read(&request.values, kind, None)?;
    if let Values::Categories(list) = &mut column.values {
        let place = |name: &String| match question.labels.as_slice() {
            [] => name.trim().parse().ok(),
            labels => labels.iter().position(|label| label == name).map(|place| place as u32),
        };
        let places: Vec<Option<u32>> = column.names.iter().map(place).collect();
        for (row, category) in list.iter_mut().enumerate() {
            // The value itself is nobody's business; the names of the collection are public.
            *category = places[*category as usize].with_context(|| {
                format!(
                    "{}: row {} below the head holds a category that the collection does not \
                     name; {}",
                    request.values.display(),
                    row + 1,
                    named(&question.labels)
                )
            })?;
        }
    }
    Ok(column.values)
}

/// The categories of a collection, for whoever has used another.
fn named(labels: &[String]) -> String {
    match labels {
        [] => "its categories are numbers from 0 on".into(),
        _ if labels.len() <= SHOWN => format!("there are {}", labels.join(", ")),
        _ => format!("there are {}, and {} more", labels[..SHOWN].join(", "), labels.len() - SHOWN),
    }
}

/// Labels shown in an error.
const SHOWN: usize = 20;
/// Time between two questions for keys that are not out yet.
const PAUSE: Duration = Duration::from_secs(1);

/// The clients, one for each row: those of the state directory, or new ones that are not kept.
fn clients(request: &Send, collection: &Collection, count: usize) -> Result<Vec<Client>> {
    let Some(directory) = &request.state else {
        if collection.terms.promise.epochs > 1 {
            eprintln!(
                "note: without --state the rows of the next epoch are taken for other people, and \
                 nobody's epochs are counted"
            );
        }
        let fresh = (0..count).map(|_| Ok(Client::new(collection.clone())?));
        return fresh.collect();
    };
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let file = |row: usize| directory.join(format!("client-{row}"));
    (0..count).map(|row| Ok(Client::open(collection.clone(), &file(row))?)).collect()
}
