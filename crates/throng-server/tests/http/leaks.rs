//! The things that a server must not write to its log or its disk: who reported, and what.

use crate::world::{START, World, limits};
use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Mutex;
use throng_mix::lock;
use throng_wire::hex;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[tokio::test(flavor = "multi_thread")]
async fn neither_addresses_nor_reports_are_written_down() {
    let subscriber = tracing_subscriber::registry()
        .with(tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| Log))
        .with(Targets::new().with_target("throng", LevelFilter::TRACE));
    subscriber.init();
    let mut world = World::new(limits()).await;
    let reports = world.reports(0, 30).await;
    let address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77));
    let http = reqwest::Client::builder().no_proxy().local_address(address).build().unwrap();
    let url = format!("http://{}/v1/collections/{}", world.addresses[0], world.id);
    let canary = b"recognisable-bytes-".repeat(20);
    let each = reports[0].len();
    for report in reports.iter().map(Vec::as_slice).chain([&canary[..each]]) {
        let request = http.post(format!("{url}/epochs/0/reports")).body(report.to_vec());
        assert_eq!(request.send().await.unwrap().status(), 202);
    }
    // Some that are refused, and one address that is not there.
    for (epoch, body) in [(5, canary[..each].to_vec()), (0, canary[..each - 1].to_vec())] {
        let request = http.post(format!("{url}/epochs/{epoch}/reports")).body(body);
        assert!(request.send().await.unwrap().status().is_client_error());
    }
    http.put(format!("{url}/batches/1/0/0")).body(canary.clone()).send().await.unwrap();

    let mut needles = vec![b"127.0.0.77".to_vec(), vec![127, 0, 0, 77], canary[..19].to_vec()];
    // Every report, its key and its middle, as bytes and in hexadecimal digits.
    for part in reports.iter().flat_map(|report| [&report[..16], &report[each / 2..][..16]]) {
        needles.push(part.to_vec());
        needles.push(hex(part).into_bytes());
    }
    assert!(needles[3..].iter().step_by(2).all(|part| contains(&reports.concat(), part)));
    // The order of arrival would be that of these, were they there at all.
    scan(world.data.path(), &needles);
    // What a later party does not take is said too.
    world.stop(1).await;
    world.clock.set(START + 110);
    world.slot(0, 0, "sealed").await;
    let failures = "throng_failures_total{task=\"hand over\"}";
    crate::world::eventually(async || (world.metric_or_zero(0, failures).await > 0).then_some(()))
        .await;
    // From here on the mix holds what is inside the reports, permuted; nothing of their outside.
    scan(world.data.path(), &needles);
    world.stop(0).await;
    scan(world.data.path(), &needles);

    let log = lock(&LOG).clone();
    let text = String::from_utf8_lossy(&log).into_owned();
    assert!(text.contains("listening") && text.contains("cannot be reached"), "{text}");
    // Ports belong to the addresses of parties: no log line names one.
    needles.extend(world.addresses.iter().map(|address| address.to_string().into_bytes()));
    needles.push(b"127.0.0.".to_vec());
    needles.push(b"localhost".to_vec());
    for needle in needles.iter().filter(|needle| needle.len() > 4) {
        assert!(!contains(&log, needle), "{}", String::from_utf8_lossy(needle));
    }
}

impl World {
    pub async fn metric_or_zero(&self, hop: usize, line: &str) -> u64 {
        let text = self.get(&format!("{}/metrics", self.root(hop))).await.text().await.unwrap();
        let found = text.lines().find_map(|found| found.strip_prefix(line));
        found.map_or(0, |count| count.trim().parse().unwrap())
    }
}

/// Checks that no file below the directory holds one of these.
fn scan(directory: &Path, needles: &[Vec<u8>]) {
    let mut files = 0;
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            // What goes away meanwhile is not there.
            let Ok(bytes) = fs::read(&path) else { continue };
            files += 1;
            for needle in needles.iter().filter(|needle| needle.len() > 4) {
                assert!(!contains(&bytes, needle), "{}", path.display());
            }
        }
    }
    assert!(files > 5, "{files} files");
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// Everything that is logged in this process.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&LOG).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
