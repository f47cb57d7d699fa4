//! `throng log`: what operators did at a party, and whether the log of it is as it was written.

use crate::args::Log;
use crate::report::{Report, Rows};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use throng_server::{AuditLog, Verdict};
use throng_wire::Utc;

/// Shows the log, or says whether it holds. A log that does not is a failure.
pub fn run(request: &Log) -> Result<Report> {
    match request {
        Log::Show { data } => Ok(shown(&read(data)?)),
        Log::Verify { data } => Ok(judged(&read(data)?)),
    }
}

fn read(data: &Path) -> Result<Verdict> {
    AuditLog::verify(data).context("there is no audit log to read")
}

fn judged(verdict: &Verdict) -> Report {
    let report = Report::default()
        .well(verdict.is_intact())
        .field("intact", verdict.is_intact())
        .line("lines", "lines", verdict.lines.len())
        .line("last", "last hash", verdict.last.as_str())
        .field("broken", verdict.broken.clone());
    match &verdict.broken[..] {
        [] => report.note(
            "Every line is as it was written. Compare the last hash with one kept elsewhere: a \
             log that was cut at its end, or written anew, holds too.",
        ),
        broken => {
            let lines: Vec<String> = broken.iter().map(u64::to_string).collect();
            report.note(format!("Changed, added or missing at line {}.", lines.join(", ")))
        }
    }
}

fn shown(verdict: &Verdict) -> Report {
    let entries: Vec<Value> = verdict
        .lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.as_str().into()))
        .collect();
    let rows = Rows {
        head: vec!["line", "time", "act", "particulars"],
        rows: (1..).zip(&entries).map(|(number, entry)| row(number, entry)).collect(),
    };
    judged(verdict).field("entries", entries).table(rows)
}

fn row(number: u64, entry: &Value) -> Vec<String> {
    let Some(fields) = entry.as_object() else {
        return vec![number.to_string(), String::new(), "unreadable".into(), entry.to_string()];
    };
    let time = entry["time"].as_u64().map(|time| Utc(time).to_string());
    let act = entry["act"].as_str().unwrap_or_default().to_owned();
    let known = ["seq", "time", "act", "hash"];
    let particulars = fields.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    let particulars: Vec<String> =
        particulars.map(|(key, value)| format!("{key} {}", plain(value))).collect();
    vec![number.to_string(), time.unwrap_or_default(), act, particulars.join(", ")]
}

/// A value as people read it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
