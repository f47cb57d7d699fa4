//! The metrics that an operator may watch, in the text format of Prometheus.
//!
//! Whoever reads the metrics must not learn who reported when. Reports are counted where they left
//! as a crowd; accepted requests show in steps of a thousand, as they stood at the last full hour,
//! so that nobody who fills up a step sees when the next one comes; and writes to the log, of which
//! a quiet server makes one per report, do not show at all. How long requests took is told by the
//! same rule ([`latency`]). Gauges of the process that a single connection or upload moves are
//! looked at once a minute and rounded at random ([`blurred`]); its processor time is told in whole
//! seconds, thousands of times what one report takes.

mod blurred;
mod latency;
mod process;

use crate::Error;
use crate::party::Party;
use crate::server::Node;
use blurred::Blurred;
use latency::Latency;
use process::Process;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throng_mix::{Slot, Stage, Ticking, lock};
use throng_wire::{Route, SignedManifest};

/// Counters since the start of the server.
pub(crate) struct Metrics {
    accepted: Mutex<Ticking>,
    latency: Latency,
    memory: Blurred,
    files: Blurred,
    queue: Blurred,
    connections: Blurred,
    bodies: Blurred,
    free: Blurred,
    /// The other events, by counter and label.
    events: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
}

impl Default for Metrics {
    /// Counters of which nothing has happened; those without labels of their own show a zero.
    fn default() -> Self {
        let zeros = [
            (RECEIVED, ""),
            (REPEATED, ""),
            (ALARMS, CONFLICT),
            (RELOADS, OK),
            (RELOADS, FAILED),
            (LOGINS_REFUSED, ""),
        ];
        Self {
            accepted: Mutex::default(),
            latency: Latency::default(),
            memory: Blurred::default(),
            files: Blurred::default(),
            queue: Blurred::default(),
            connections: Blurred::default(),
            bodies: Blurred::default(),
            free: Blurred::default(),
            events: Mutex::new(zeros.map(|event| (event, 0)).into()),
        }
    }
}

impl Metrics {
    /// Counts a request with reports that was answered, after this time.
    pub fn upload(&self, refused: Option<&'static str>, took: Duration, now: u64) {
        match refused {
            None => {
                lock(&self.accepted).add(1, now / TICK);
                self.latency.add(took, now);
            }
            Some(reason) => {
                self.count(UPLOADS_REFUSED, reason);
            }
        }
    }

    /// Counts a reload.
    pub fn reload(&self, well: bool) {
        self.count(RELOADS, if well { OK } else { FAILED });
    }

    /// Counts a batch that was not taken. Two for the same epochs are an alarm.
    pub fn refused_batch(&self, party: &Party, error: &Error, name: &'static str) {
        self.count(BATCHES_REFUSED, name);
        if matches!(error, Error::Mix(throng_mix::Error::Conflict)) {
            self.count(ALARMS, CONFLICT);
            tracing::error!(collection = %party.id(), "two batches for the same epochs");
        }
    }

    /// Counts two notices that the analyzer of a board signed for one round, which is an alarm.
    pub fn contradicted(&self, party: &Party) {
        self.count(ALARMS, CONFLICT);
        tracing::error!(collection = %party.id(), "two notices of the same round");
    }

    /// Counts an event: a counter of the list below and its label, if it has one. Returns how many
    /// there have been.
    pub fn count(&self, name: &'static str, label: &'static str) -> u64 {
        let mut events = lock(&self.events);
        let count = events.entry((name, label)).or_default();
        *count += 1;
        *count
    }

    /// The count of an event.
    pub fn count_of(&self, name: &'static str, label: &'static str) -> u64 {
        lock(&self.events).get(&(name, label)).copied().unwrap_or_default()
    }

    /// The counts of the events of one counter, by label.
    pub fn counts(&self, name: &str) -> Vec<(&'static str, u64)> {
        let events = lock(&self.events);
        let of = events.iter().filter(|((of, _), _)| *of == name);
        of.map(|((_, label), count)| (*label, *count)).collect()
    }

    /// The text with all metrics. It waits for the disk.
    pub fn render(&self, node: &Node) -> String {
        let mut text = String::new();
        let (now, parties) = (node.now(), node.parties());
        let mut write = |name: &str, kind: &str, help: &str, lines: Vec<(String, u64)>| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, count) in lines {
                let _ = writeln!(text, "{name}{labels} {count}");
            }
        };
        let accepted = lock(&self.accepted).at(now / TICK) / STEP * STEP;
        let help = "requests with reports, in steps";
        write("throng_uploads_accepted_total", "counter", help, vec![(String::new(), accepted)]);
        for (name, key, help) in COUNTERS {
            let counts = self.counts(name).into_iter();
            let lines = counts.map(|(value, count)| (label(key, value), count));
            write(name, "counter", help, lines.collect());
        }
        let connections = self.connections.tell(now, FILE_STEP, || node.edge.connections() as u64);
        let help = "open connections, in steps";
        write("throng_connections", "gauge", help, vec![(String::new(), connections)]);
        let held = self.bodies.tell(now, QUEUE_STEP, || node.edge.held() as u64);
        let help = "bytes of bodies that are held, in steps";
        write("throng_bodies_bytes", "gauge", help, vec![(String::new(), held)]);
        let parties = || parties.values();
        let slots = parties().flat_map(|party| stages(party));
        write("throng_slots", "gauge", "ranges of epochs by how far they are", slots.collect());
        let left = parties().map(|party| (label("collection", party.id()), reports_left(party)));
        let help = "distinct valid reports of crowds that left";
        write("throng_reports_total", "counter", help, left.collect());
        let idle = parties()
            .map(|party| (label("collection", party.id()), now.saturating_sub(party.stepped())));
        let help = "since everything that was due was done";
        write("throng_idle_seconds", "gauge", help, idle.collect());
        let peers = parties().flat_map(|party| {
            let others = party.others().filter_map(|(hop, other)| {
                let up = node.watch.party(&other.url)?.trouble.is_none();
                Some((format!("{{collection=\"{}\",hop=\"{hop}\"}}", party.id()), u64::from(up)))
            });
            others.collect::<Vec<_>>()
        });
        let help = "1 if the other party answered when it was last asked";
        write("throng_peer_up", "gauge", help, peers.collect());
        let trusted = parties().map(|party| {
            (label("collection", party.id()), u64::from(party.time.doubt().is_none()))
        });
        write("throng_clock_trusted", "gauge", "1 if the clock is believed", trusted.collect());
        for (name, kind, help, value) in self.machine(node, now) {
            write(
                name,
                kind,
                help,
                value.map(|value| (String::new(), value)).into_iter().collect(),
            );
        }
        let version = label("version", env!("CARGO_PKG_VERSION"));
        write("throng_build_info", "gauge", "the version that runs", vec![(version, 1)]);
        let help = "how long accepted requests with reports took, in steps";
        write(UPLOAD_SECONDS, "histogram", help, Vec::new());
        self.latency.render(UPLOAD_SECONDS, now, &mut text);
        clocks(parties(), &mut text);
        text
    }

    /// The metrics of the machine and the process, which have no labels: name, kind, help and
    /// value. One that is not known here has no line.
    fn machine(&self, node: &Node, now: u64) -> [Metric; 10] {
        let room = node.data.as_deref().and_then(|data| rustix::fs::statvfs(data).ok());
        let bytes = |blocks: u64, each: u64| blocks.saturating_mul(each);
        let free = room.as_ref().map(|room| bytes(room.f_bavail, room.f_frsize));
        // The first report of an epoch makes a file of a mebibyte.
        let free = free.map(|free| self.free.tell(now, DISK_STEP, || free));
        let size = room.as_ref().map(|room| bytes(room.f_blocks, room.f_frsize));
        let process = Process::now();
        let memory = process.as_ref().map(|process| {
            let resident = process.resident;
            self.memory.tell(now, MEMORY_STEP, || resident)
        });
        let files = process::open_files();
        let files = files.map(|files| self.files.tell(now, FILE_STEP, || files));
        let queue = self.queue.tell(now, QUEUE_STEP, || node.store.logs.waiting());
        let certificate = node.certificate.as_ref().and_then(|certificate| certificate.expires());
        let intact = node.acts.as_ref().map(|acts| u64::from(acts.is_intact()));
        let start = process.as_ref().map(|process| process.start);
        let cpu = process.as_ref().map(|process| process.cpu);
        [
            ("throng_disk_free_bytes", "gauge", "room left under data", free),
            ("throng_disk_size_bytes", "gauge", "room in all under data", size),
            ("throng_certificate_expires_seconds", "gauge", "end of the certificate", certificate),
            ("throng_audit_intact", "gauge", "1 if the audit log is as it was written", intact),
            ("throng_queue_bytes", "gauge", "bytes that wait for the log, in steps", Some(queue)),
            ("process_resident_memory_bytes", "gauge", "bytes in memory, in steps", memory),
            ("process_open_fds", "gauge", "open files, in steps", files),
            ("process_max_fds", "gauge", "the most files that may be open", process::most_files()),
            ("process_start_time_seconds", "gauge", "the time of the start", start),
            ("process_cpu_seconds_total", "counter", "processor time", cpu),
        ]
    }
}

/// Writes how far the clocks of the other parties are ahead, which may be below zero.
fn clocks<'a>(parties: impl Iterator<Item = &'a Arc<Party>>, text: &mut String) {
    let help = "seconds by which the other party's clock was ahead when it was last heard";
    // Writing to a string does not fail.
    let _ = writeln!(text, "# HELP {CLOCKS} {help}\n# TYPE {CLOCKS} gauge");
    for party in parties {
        for (hop, _) in party.others() {
            let Some(ahead) = party.time.ahead(hop) else { continue };
            let id = party.id();
            let _ = writeln!(text, "{CLOCKS}{{collection=\"{id}\",hop=\"{hop}\"}} {ahead}");
        }
    }
}

/// Name, kind, help and value of a metric without labels.
type Metric = (&'static str, &'static str, &'static str, Option<u64>);

/// The numbers of a party's slots, by stage.
fn stages(party: &Party) -> Vec<(String, u64)> {
    let mut stages: BTreeMap<&str, u64> = BTreeMap::new();
    for slot in party.course.slots() {
        *stages.entry(slot.stage.name()).or_default() += 1;
    }
    let labels = |stage| format!("{{collection=\"{}\",stage=\"{stage}\"}}", party.id());
    stages.into_iter().map(|(stage, count)| (labels(stage), count)).collect()
}

/// The number of reports that left a party as crowds.
fn reports_left(party: &Party) -> u64 {
    let (slots, hop) = (party.course.slots(), party.course.hop);
    let left = slots.iter().filter(|slot| !matches!(slot.stage, Stage::Dropped { .. }));
    left.filter_map(|slot| reports(slot, party.route(), hop)).sum()
}

/// The number of reports of a slot, where it may be told because they are a crowd.
pub(crate) fn reports(slot: &Slot, route: &Route, hop: u8) -> Option<u64> {
    let count = |manifest: &SignedManifest, hop| {
        manifest.unverified().records / route.shape.records_per_report(hop).max(1)
    };
    let reports = match &slot.stage {
        Stage::Closing | Stage::Held { .. } | Stage::Released => return None,
        Stage::Dropped { reports, .. } => *reports,
        Stage::Received(manifest) => count(manifest, hop),
        Stage::Sealed(manifest) | Stage::Delivered { manifest, .. } => count(manifest, hop + 1),
    };
    // A dishonest mix may hand over fewer.
    Some(reports).filter(|reports| *reports >= route.quorum)
}

fn label(key: &str, value: impl Display) -> String {
    if key.is_empty() { String::new() } else { format!("{{{key}=\"{value}\"}}") }
}

/// The counter of batches that are on disk.
pub(crate) const RECEIVED: &str = "throng_batches_received_total";
/// The counter of batches that came again.
pub(crate) const REPEATED: &str = "throng_batches_repeated_total";
/// The counter of two batches for the same epochs, or two notices of one round.
pub(crate) const ALARMS: &str = "throng_alarms_total";
/// The counter of batches that were not taken, by reason.
pub(crate) const BATCHES_REFUSED: &str = "throng_batches_refused_total";
/// The counter of connections that found no room, or lost it to others, by reason.
pub(crate) const CONNECTIONS_REFUSED: &str = "throng_connections_refused_total";
/// The counter of attempts that failed and are repeated, by task.
pub(crate) const FAILURES: &str = "throng_failures_total";

/// The counter of attempts to sign in that were refused.
pub(crate) const LOGINS_REFUSED: &str = "throng_logins_refused_total";

/// The label of all alarms.
pub(crate) const CONFLICT: &str = "conflict";

const UPLOADS_REFUSED: &str = "throng_uploads_refused_total";

const CLOCKS: &str = "throng_peer_clock_offset_seconds";
const UPLOAD_SECONDS: &str = "throng_upload_seconds";
const RELOADS: &str = "throng_reloads_total";
const OK: &str = "ok";
const FAILED: &str = "failed";

/// The counters in the order of the text: the name, the key of the label, and what it counts.
const COUNTERS: [(&str, &str, &str); 9] = [
    (RECEIVED, "", "batches that were taken"),
    (REPEATED, "", "batches that came again"),
    (ALARMS, "kind", "what an operator must look into"),
    (UPLOADS_REFUSED, "reason", "requests with reports that were refused"),
    (BATCHES_REFUSED, "reason", "batches that were refused"),
    (CONNECTIONS_REFUSED, "reason", "connections for which there was no room, or no longer"),
    (FAILURES, "task", "attempts that failed and are repeated"),
    (RELOADS, "result", "reloads of the configuration"),
    (LOGINS_REFUSED, "", "attempts to sign in that were refused"),
];

/// The number of seconds for which a count of requests stays as it is.
const TICK: u64 = 3_600;

/// The steps in which the number of accepted requests is told.
const STEP: u64 = 1_000;

/// The steps of gauges that a single connection or upload moves.
const MEMORY_STEP: u64 = 16 << 20;
const FILE_STEP: u64 = 64;
const DISK_STEP: u64 = 256 << 20;
const QUEUE_STEP: u64 = 1 << 20;
