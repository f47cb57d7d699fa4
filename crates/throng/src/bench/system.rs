//! `throng bench end-to-end`: a chain on loopback under load, beside what cannot be avoided.

use super::chain::{agreements, fresh_keys, ratio, terms};
use super::rate::all_cores;
use crate::crowd::Job;
use crate::local::{LocalParties, LocalServers};
use crate::parallel::{cores, generator};
use crate::report::{Report, Rows};
use crate::results::Analyzer;
use anyhow::{Context, Result, ensure};
use chacha20::rand_core::Rng;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};
use throng_account::show::Near;
use throng_client::{Client, Uploader};
use throng_collection::{Collection, Subjects};
use throng_mechanism::Values;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// Clients, two mixes, an analyzer: from values to a release, and the first mix alone under load.
pub fn end_to_end() -> Result<Report> {
    let (raw, fresh) = (all_cores(agreements), all_cores(fresh_keys));
    let mut terms = terms(CLIENTS)?;
    terms.promise.epochs = 2;
    terms.promise.lifetime = terms.lifetime(1, None)?;
    Runtime::new()?.block_on(async {
        let parties = LocalParties::gather(2).await?;
        let collection = parties.collection(terms);
        let servers = parties.serve(slice::from_ref(&collection), &[])?;
        let report = measure(&collection, &servers, raw, fresh).await;
        servers.stop().await;
        report
    })
}

async fn measure(
    collection: &Collection,
    servers: &LocalServers,
    raw: f64,
    fresh: f64,
) -> Result<Report> {
    let schedule = &collection.schedule;
    let uploader = Arc::new(Uploader::new(collection)?);
    servers.clock.set(schedule.start_of(0));
    let directory = Arc::new(servers.directory(&uploader, schedule.window_of(0)).await?);
    let clients = (0..CLIENTS).map(|_| Client::new(collection.clone()));
    let mut clients = clients.collect::<Result<_, _>>()?;
    let values = Arc::new(Values::Bits((0..CLIENTS).map(|i| i % 3 == 0).collect()));
    let job = Job { values, directory, uploader, epoch: 0, seed: None, bulk: false };
    let start = Instant::now();
    job.run(&mut clients).await?;
    let sent = start.elapsed();
    servers.clock.set(schedule.deadline(0));
    released(collection).await?;
    let all = start.elapsed();

    // The second epoch is left open: what is accepted is on disk, and nothing else happens.
    servers.clock.set(schedule.start_of(1));
    servers.directory(&job.uploader, schedule.window_of(1)).await?;
    let each = collection.shape().report_bytes();
    let single = accepted(collection, each, 128).await?;
    let many = (64 << 10) / each;
    let bulk = accepted(collection, many * each, 16).await? * many as f64;

    // Three layers: a fresh key and an agreement each at the client, an agreement each at the
    // servers.
    let unavoidable = CLIENTS as f64 * (6.0 / raw + 3.0 / fresh);
    let rate = Near((CLIENTS as f64 / all.as_secs_f64()).round());
    let (single, bulk) = (Near(single.round()), Near(bulk.round()));
    let over = ratio(unavoidable, all.as_secs_f64());
    let parts = [
        ("clients seal and send, one request each", sent.as_secs_f64()),
        ("two mixes and the analyzer, after the deadline", all.saturating_sub(sent).as_secs_f64()),
        ("all X25519 of everyone, on all cores", unavoidable),
    ];
    let rows = parts.map(|(part, seconds)| vec![part.into(), format!("{seconds:.2}")]).into();
    Ok(Report::default()
        .field("agreements_per_second", raw)
        .line("reports_per_second", "reports a second, from value to release", rate)
        .line("over_unavoidable", "over the X25519 of everyone alone", over)
        .line("accepted_per_second", "durable uploads a second, one report each", single)
        .line("accepted_in_bulk", "durable reports a second, in bodies of 64 KiB", bulk)
        .line("bytes_per_report", "bytes per report", each)
        .table(Rows { head: vec!["where the time goes", "seconds"], rows })
        .note(format!(
            "{CLIENTS} clients, one message each, two mixes. Clients, servers and load share {} \
             cores; aws-lc does {raw:.0} X25519 agreements a second on them in this run.",
            cores()
        )))
}

/// Requests a second that are answered with 202, measured over `connections` for two seconds.
async fn accepted(collection: &Collection, bytes: usize, connections: u64) -> Result<f64> {
    let url = &collection.chain.mixes[0].url;
    let address = url.strip_prefix("http://").context("a loopback address")?.to_owned();
    let head = format!(
        "POST /v1/collections/{}/epochs/1/reports HTTP/1.1\r\nhost: {address}\r\n\
         content-type: application/octet-stream\r\ncontent-length: {bytes}\r\n\r\n",
        collection.id()
    );
    let start = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..connections {
        let (address, head) = (address.clone(), head.clone());
        workers.spawn(async move {
            let mut stream = TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            let mut request = head.into_bytes();
            let body = request.len();
            request.resize(body + bytes, 0);
            let mut rng = generator(worker, 9);
            rng.fill_bytes(&mut request[body..]);
            let mut answer = [0; 1024];
            let mut taken = 0_u64;
            while start.elapsed() < Duration::from_secs(2) {
                // No two reports are alike.
                request[body..body + 8].copy_from_slice(&rng.next_u64().to_le_bytes());
                stream.write_all(&request).await?;
                let read = stream.read(&mut answer).await?;
                ensure!(answer[..read].starts_with(b"HTTP/1.1 202"), "an upload was refused");
                taken += 1;
            }
            Ok(taken)
        });
    }
    let mut taken = 0;
    while let Some(worker) = workers.join_next().await {
        taken += worker??;
    }
    Ok(taken as f64 / start.elapsed().as_secs_f64())
}

async fn released(collection: &Collection) -> Result<()> {
    let analyzer = Analyzer::new(&collection.chain.analyzer.url)?;
    let subjects = Subjects::of(Arc::new(collection.clone()));
    let start = Instant::now();
    while analyzer.releases(&subjects).await?.is_empty() {
        ensure!(start.elapsed() < Duration::from_mins(2), "no release after two minutes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

const CLIENTS: u64 = 20_000;
