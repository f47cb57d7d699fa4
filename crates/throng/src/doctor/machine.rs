//! A machine by itself: what every party and every trial needs of it.

use super::clock;
use super::finding::Findings;
use crate::parallel::cores;
use crate::shield;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// Looks at processors, memory, swap, open files, disk, clock and loopback.
pub fn examine(findings: &mut Findings) {
    findings.ok("processors", cores());
    if let Some(free) = available_memory() {
        let remedy = "a mix keeps batches on disk beyond limits.memory: set that below it";
        room("memory", free, "available", remedy, findings);
    }
    secrets(findings);
    let temporary = std::env::temp_dir();
    let name = temporary.display();
    let kept = tempfile::tempfile().map(|_| format!("{name} takes them"));
    let kept = kept.map_err(|error| format!("{name}: {error}"));
    let remedy = "set TMPDIR to a directory that can be written; throng demo keeps its data there";
    findings.judge("temporary files", kept, remedy);
    space(&temporary, findings);
    let now = clock::now() as u64;
    let says = format!("it is {}", clock::shown(now));
    let said = if now < EARLIEST { Err(says) } else { Ok(says) };
    findings.judge("clock", said, "set the clock: epochs open and close by it");
    let bound = TcpListener::bind(("127.0.0.1", 0));
    let bound = bound.map(|_| "a server can listen on 127.0.0.1");
    let bound = bound.map_err(|error| format!("cannot listen on 127.0.0.1: {error}"));
    findings.judge("loopback", bound, "throng demo and trials on one machine need it");
    findings.ok(
        "next",
        "a party is checked with --config FILE --role mix|analyzer, a chain with --collection FILE",
    );
}

/// Says where the secrets of a server may be left, and how many connections it can have.
pub fn secrets(findings: &mut Findings) {
    findings.ok("core dumps", "throng serve turns them off for itself");
    match (shield::swaps(), shield::may_lock()) {
        (_, true) => findings.ok("swap", "throng serve locks its memory, so that none goes there"),
        (false, false) => findings.ok("swap", "this machine has none"),
        (true, false) => {
            let says = "keys in memory may go to swap: the limit on locked memory is not infinite";
            let remedy = "LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited; or encrypt \
                          the swap, or turn it off";
            findings.warn("swap", says, remedy);
        }
    }
    match getrlimit(Resource::Nofile).current {
        Some(most) if most < FILES => {
            let says = format!("a process may open {most}, and every connection is one");
            findings.warn("files", says, "LimitNOFILE=65536 in the unit, or ulimit -n 65536");
        }
        Some(most) => findings.ok("files", format!("a process may open {most}")),
        None => findings.ok("files", "a process may open as many as it likes"),
    }
}

/// Checks that the disk of a directory has room.
pub fn space(directory: &Path, findings: &mut Findings) {
    let Some(free) = free_space(directory) else { return };
    let remedy = "make room: a full disk makes clients come back later";
    room("disk", free, &format!("free at {}", directory.display()), remedy, findings);
}

/// Warns if less than a gibibyte is left.
fn room(check: &'static str, bytes: u64, left: &str, remedy: &str, findings: &mut Findings) {
    if bytes < GIB {
        findings.warn(check, format!("{} MiB {left}", bytes >> 20), remedy);
    } else {
        findings.ok(check, format!("{:.1} GiB {left}", bytes as f64 / GIB as f64));
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

const GIB: u64 = 1 << 30;

/// The files of a server with the connections that `limits.requests` allows by default.
const FILES: u64 = 2 * 4_096 + 64 + 256;

/// The beginning of 2025: a clock that says less is wrong.
const EARLIEST: u64 = 1_735_689_600;
