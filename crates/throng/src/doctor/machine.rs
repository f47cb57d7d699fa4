//! A machine by itself: what every party and every trial needs of it.

use super::clock;
use super::finding::Findings;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;

/// Looks at processors, memory, disk, clock and loopback.
pub fn examine(findings: &mut Findings) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    findings.ok("processors", format!("{cores}"));
    if let Some(free) = available_memory() {
        let says = format!("{} available", size(free));
        if free < GIB {
            let remedy = "a mix keeps batches on disk beyond limits.memory: set that below it";
            findings.warn("memory", says, remedy);
        } else {
            findings.ok("memory", says);
        }
    }
    let temporary = std::env::temp_dir();
    match tempfile::tempfile() {
        Ok(_) => findings.ok("temporary files", format!("{} takes them", temporary.display())),
        Err(error) => findings.fail(
            "temporary files",
            format!("{}: {error}", temporary.display()),
            "set TMPDIR to a directory that can be written; throng demo keeps its data there",
        ),
    }
    space(&temporary, findings);
    let now = clock::now() as u64;
    let says = format!("it is {}", clock::shown(now));
    if now < EARLIEST {
        findings.fail("clock", says, "set the clock: epochs open and close by it");
    } else {
        findings.ok("clock", says);
    }
    match TcpListener::bind(("127.0.0.1", 0)) {
        Ok(_) => findings.ok("loopback", "a server can listen on 127.0.0.1"),
        Err(error) => {
            let remedy = "throng demo and trials on one machine need it";
            findings.fail("loopback", format!("cannot listen on 127.0.0.1: {error}"), remedy);
        }
    }
    findings.ok(
        "next",
        "a party is checked with --config FILE --role mix|analyzer, a chain with --collection FILE",
    );
}

/// Checks that the disk of a directory has room.
pub fn space(directory: &Path, findings: &mut Findings) {
    let Some(free) = free_space(directory) else { return };
    let says = format!("{} free at {}", size(free), directory.display());
    if free < GIB {
        findings.warn("disk", says, "make room: a full disk makes clients come back later");
    } else {
        findings.ok("disk", says);
    }
}

/// The free space, as `df -P -k` says, which POSIX has.
fn free_space(directory: &Path) -> Option<u64> {
    let output = Command::new("df").args(["-P", "-k"]).arg(directory).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let kibibytes: u64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// The available memory, as Linux says; `None` elsewhere.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn size(bytes: u64) -> String {
    if bytes < GIB {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{:.1} GiB", bytes as f64 / GIB as f64)
    }
}

const GIB: u64 = 1 << 30;

/// The beginning of 2025: a clock that says less is wrong.
const EARLIEST: u64 = 1_735_689_600;
