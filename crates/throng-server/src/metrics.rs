//! The metrics that an operator may watch, in the text format of Prometheus.
//!
//! Whoever reads the metrics must not learn who reported when. Reports are counted where they left
//! as a crowd; accepted requests show in steps of a thousand, as they stood at the last full hour,
//! so that nobody who fills up a step sees when the next one comes; and writes to the log, of which
//! a quiet server makes one per report, do not show at all.

use crate::Error;
use crate::party::Party;
use crate::server::Node;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use throng_mix::{Slot, Stage, Ticking, lock};
use throng_wire::Route;

/// Counters since the start of the server.
#[derive(Default)]
pub(crate) struct Metrics {
    accepted: Mutex<Ticking>,
    batches: AtomicU64,
    repeated: AtomicU64,
    conflicts: AtomicU64,
    /// The rare events, by name and label.
    rare: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
}

impl Metrics {
    /// Counts a request with reports that was answered.
    pub fn upload(&self, refused: Option<&'static str>, now: u64) {
        match refused {
            None => lock(&self.accepted).add(1, now / TICK),
            Some(reason) => self.count("throng_uploads_refused_total", reason),
        }
    }

    /// Counts a batch that is on disk.
    pub fn batch(&self) {
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a batch that came again.
    pub fn repeated(&self) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a batch that was not taken. Two for the same epochs are an alarm.
    pub fn refused_batch(&self, party: &Party, error: &Error, name: &'static str) {
        self.count("throng_batches_refused_total", name);
        if matches!(error, Error::Mix(throng_mix::Error::Conflict)) {
            self.conflicts.fetch_add(1, Ordering::Relaxed);
            tracing::error!(collection = %party.id(), "two batches for the same epochs");
        }
    }

    /// Counts two notices that the analyzer of a board signed for one round, which is an alarm.
    pub fn contradicted(&self, party: &Party) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
        tracing::error!(collection = %party.id(), "two notices of the same round");
    }

    /// Counts a task that failed and will try again.
    pub fn failed(&self, task: &'static str) {
        self.count("throng_failures_total", task);
    }

    /// The text with all metrics.
    pub fn render(&self, node: &Node) -> String {
        let mut out = Text::default();
        out.head("throng_uploads_accepted_total", "counter", "requests with reports, in steps");
        let accepted = *lock(&self.accepted);
        out.line(format_args!("{}", accepted.at(node.now() / TICK) / STEP * STEP));
        out.head("throng_batches_received_total", "counter", "batches that were taken");
        out.line(format_args!("{}", self.batches.load(Ordering::Relaxed)));
        out.head("throng_batches_repeated_total", "counter", "batches that came again");
        out.line(format_args!("{}", self.repeated.load(Ordering::Relaxed)));
        out.head("throng_alarms_total", "counter", "what an operator must look into");
        out.labelled("kind", "conflict", self.conflicts.load(Ordering::Relaxed));
        let rare = lock(&self.rare).clone();
        for (name, label, help) in RARE {
            out.head(name, "counter", help);
            for ((_, value), count) in rare.iter().filter(|((of, _), _)| *of == name) {
                out.labelled(label, value, *count);
            }
        }
        out.parties(node);
        out.text
    }

    /// The number of times that two batches came for the same epochs, or two notices of one round.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// The numbers of attempts that failed and are repeated, by task.
    pub fn failures(&self) -> Vec<(&'static str, u64)> {
        self.counts("throng_failures_total")
    }

    /// The numbers of batches that were not taken, by reason.
    pub fn refused_batches(&self) -> Vec<(&'static str, u64)> {
        self.counts("throng_batches_refused_total")
    }

    fn counts(&self, name: &str) -> Vec<(&'static str, u64)> {
        let rare = lock(&self.rare);
        let of = rare.iter().filter(|((of, _), _)| *of == name);
        of.map(|((_, label), count)| (*label, *count)).collect()
    }

    fn count(&self, name: &'static str, label: &'static str) {
        let mut rare = lock(&self.rare);
        *rare.entry((name, label)).or_default() += 1;
    }
}

/// The number of reports of a slot, where it may be told because they are a crowd.
pub(crate) fn reports(slot: &Slot, route: &Route, hop: u8) -> Option<u64> {
    let quorum = route.quorum;
    let (manifest, hop) = match &slot.stage {
        Stage::Closing | Stage::Held { .. } | Stage::Released { .. } => return None,
        Stage::Dropped { reports, .. } => {
            return Some(*reports).filter(|reports| *reports >= quorum);
        }
        Stage::Received(manifest) => (manifest, hop),
        Stage::Sealed(manifest) | Stage::Delivered { manifest, .. } => (manifest, hop + 1),
    };
    let reports = manifest.unverified().records / route.shape.records_per_report(hop).max(1);
    // A dishonest mix may hand over fewer.
    Some(reports).filter(|reports| *reports >= quorum)
}

/// The text of one metric after the other.
#[derive(Default)]
struct Text {
    text: String,
    name: &'static str,
}

impl Text {
    fn head(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, rest: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{} {rest}", self.name);
    }

    fn labelled(&mut self, label: &str, value: &str, count: u64) {
        let _ = writeln!(self.text, "{}{{{label}=\"{value}\"}} {count}", self.name);
    }

    fn parties(&mut self, node: &Node) {
        self.head("throng_slots", "gauge", "ranges of epochs by how far they are");
        for party in node.parties.values() {
            let mut stages: BTreeMap<&str, u64> = BTreeMap::new();
            party
                .course
                .slots()
                .iter()
                .for_each(|slot| *stages.entry(slot.stage.name()).or_default() += 1);
            for (stage, count) in stages {
                let (name, id) = (self.name, party.id());
                let _ =
                    writeln!(self.text, "{name}{{collection=\"{id}\",stage=\"{stage}\"}} {count}");
            }
        }
        self.head("throng_reports_total", "counter", "distinct valid reports of crowds that left");
        for party in node.parties.values() {
            let crowd = |slot: &&Slot| !matches!(slot.stage, Stage::Dropped { .. });
            let (slots, hop) = (party.course.slots(), party.course.hop);
            let told =
                slots.iter().filter(crowd).filter_map(|slot| reports(slot, party.route(), hop));
            let told = told.sum();
            self.labelled("collection", &party.id().to_string(), told);
        }
        self.head("throng_idle_seconds", "gauge", "since everything that was due was done");
        for party in node.parties.values() {
            let idle = node.now().saturating_sub(party.stepped());
            self.labelled("collection", &party.id().to_string(), idle);
        }
    }
}

const RARE: [(&str, &str, &str); 3] = [
    ("throng_uploads_refused_total", "reason", "requests with reports that were refused"),
    ("throng_batches_refused_total", "reason", "batches that were refused"),
    ("throng_failures_total", "task", "attempts that failed and are repeated"),
];

/// The number of seconds for which a count of requests stays as it is.
const TICK: u64 = 3_600;

/// The steps in which the number of accepted requests is told.
const STEP: u64 = 1_000;
