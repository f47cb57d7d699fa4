//! The way of an epoch through the chain, as its parties tell it over HTTP.

use crate::results::Analyzer;
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use throng_collection::{Collection, Release, Subjects};

/// The parties that carry the reports, each asked over HTTP.
pub struct Watch {
    subjects: Subjects,
    parties: Vec<(String, Analyzer)>,
}

impl Watch {
    /// Watches all parties of a collection.
    pub fn new(collection: &Collection) -> Result<Self> {
        let parties = collection.chain.parties();
        let parties =
            parties.map(|(_, party)| Ok((party.name.clone(), Analyzer::new(&party.url)?)));
        let parties = parties.collect::<Result<_>>()?;
        Ok(Self { subjects: Subjects::of(Arc::new(collection.clone())), parties })
    }

    /// Waits until an epoch is released and everyone has signed for what it got. Returns the
    /// release, and how many reports each party tells of, in the order of the chain.
    pub async fn through(&self, epoch: u64) -> Result<(Release, Vec<u64>)> {
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("a constant template");
        let spinner = ProgressBar::new_spinner().with_style(style);
        spinner.enable_steady_tick(Duration::from_millis(100));
        let patience = Instant::now();
        while patience.elapsed() < PATIENCE {
            let (mut stages, mut reports, mut delivered) = (Vec::new(), Vec::new(), 0);
            for (name, party) in &self.parties {
                let (stage, told) = stage(&party.status(&self.subjects).await?, epoch);
                if DROPPED.contains(&&stage[..]) {
                    bail!("{name} dropped the epoch instead of releasing it ({stage})");
                }
                delivered += usize::from(stage == "delivered");
                stages.push(format!("{name}: {stage}"));
                reports.push(told);
            }
            // The last of the parties is the analyzer, which hands nothing on.
            if delivered + 1 == self.parties.len()
                && let Some(release) = self.released(epoch).await?
            {
                spinner.finish_and_clear();
                return Ok((release, reports));
            }
            spinner.set_message(stages.join("   "));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("no release after {} s; this machine may be too busy", PATIENCE.as_secs())
    }

    async fn released(&self, epoch: u64) -> Result<Option<Release>> {
        let Some((_, analyzer)) = self.parties.last() else { return Ok(None) };
        let releases = analyzer.releases(&self.subjects).await?;
        Ok(releases.into_iter().find(|release| release.last == epoch))
    }
}

/// The stage of a party in an epoch, and the number of reports it tells of.
fn stage(status: &Value, epoch: u64) -> (String, u64) {
    let mut slots = status["slots"].as_array().into_iter().flatten();
    let slot = slots.find(|slot| slot["last"].as_u64() == Some(epoch)).unwrap_or(&Value::Null);
    let stage = slot["stage"].as_str().unwrap_or("waiting");
    (stage.into(), slot["reports"].as_u64().unwrap_or(0))
}

/// Stages that nothing follows.
const DROPPED: [&str; 3] = ["short", "budget", "keys"];

/// The longest time that a release may take.
const PATIENCE: Duration = Duration::from_mins(5);
