//! `throng send`: the rows of a file as clients of a running chain.

use crate::args::{Send, ValueType, ValuesArgs};
use crate::ask::value_of;
use crate::crowd::Population;
use crate::parallel::seed;
use crate::report::Report;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use throng_client::{Client, Uploader};
use throng_mechanism::Values;
use throng_wire::Collection;

/// Sends every row as one report.
pub fn run(request: &Send) -> Result<Report> {
    let file = &request.collection;
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let collection = Collection::parse(&text)
        .with_context(|| format!("{} is not a collection that can be run", file.display()))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let epoch = request.epoch.or_else(|| collection.epoch_at(now));
    let epoch = epoch.context("the collection has no epoch now: it has ended or not begun")?;
    let values = values(request, &collection)?;
    let clients = clients(request, &collection, values.len())?;
    let count = clients.len();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let uploader = Arc::new(Uploader::new(&collection)?);
        let window = collection.schedule.window_of(epoch);
        let directory = Arc::new(uploader.directory(window).await?);
        let mut population = Population::new(clients, seed(None)?);
        population.report(&Arc::new(values), epoch, &directory, &uploader, true).await
    })?;
    Ok(Report::default()
        .line("collection", "collection", collection.id().to_string())
        .line("epoch", "epoch", epoch)
        .line("reports", "reports acknowledged", count)
        .line("bytes_per_report", "bytes per report", collection.shape().report_bytes()))
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
    let kind = match value_of(collection.terms.mechanism.key()) {
        // One epoch is one period.
        ValueType::State => ValueType::Bit,
        kind => kind,
    };
    let mut column = columns.read(&request.values, kind, None)?;
    if let Values::Categories(list) = &mut column.values {
        let place = |name: &String| match question.labels.iter().position(|label| label == name) {
            Some(place) => Some(place as u32),
            None if question.labels.is_empty() => name.trim().parse().ok(),
            None => None,
        };
        let places: Option<Vec<u32>> = column.names.iter().map(place).collect();
        // The value itself is nobody's business.
        let Some(places) = places else {
            bail!(
                "the column holds a category that the collection does not name; it has {} of them",
                question.labels.len()
            );
        };
        list.iter_mut().for_each(|category| *category = places[*category as usize]);
    }
    Ok(column.values)
}

/// One client for each row: those of the state directory, or new ones that are forgotten again.
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
    let open = |row: usize| {
        let file: &Path = &directory.join(format!("client-{row}"));
        Ok(Client::open(collection.clone(), file)?)
    };
    (0..count).map(open).collect()
}
