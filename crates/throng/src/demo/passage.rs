//! The way of an epoch through the chain, as its parties tell it over HTTP.

use crate::local::LocalChain;
use crate::results::Analyzer;
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use throng_collection::{Release, Subjects};

/// The parties that carry the reports, each asked over HTTP.
pub struct Watch {
    id: String,
    subjects: Subjects,
    parties: Vec<(String, Analyzer)>,
}

impl Watch {
    /// Watches all parties of a chain.
    pub fn new(chain: &LocalChain) -> Result<Self> {
        let ask = |url: &str| Analyzer::new(url);
        let parties = chain.collection.chain.parties();
        let parties = parties.map(|(_, party)| Ok((party.name.clone(), ask(&party.url)?)));
        Ok(Self {
            id: chain.collection.id().to_string(),
            subjects: Subjects::of(Arc::new(chain.collection.clone())),
            parties: parties.collect::<Result<_>>()?,
        })
    }

    /// Waits until an epoch is released and everyone has signed for what it got. Returns the release,
    /// and how many reports each party tells of, in the order of the chain.
    pub async fn through(&self, epoch: u64) -> Result<(Release, Vec<u64>)> {
        let spinner = spinner();
        let patience = Instant::now();
        while patience.elapsed() < PATIENCE {
            let (mut stages, mut reports, mut delivered) = (Vec::new(), Vec::new(), 0);
            for (name, party) in &self.parties {
                let (stage, told) = stage(&party.status(&self.id).await?, epoch);
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
    let slots = status["slots"].as_array().map_or(&[][..], Vec::as_slice);
    let slot = slots.iter().find(|slot| slot["last"].as_u64() == Some(epoch));
    let stage = slot.and_then(|slot| slot["stage"].as_str()).unwrap_or("waiting");
    (stage.into(), slot.and_then(|slot| slot["reports"].as_u64()).unwrap_or(0))
}

fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    spinner
        .set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a constant template"));
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// Stages that nothing follows.
const DROPPED: [&str; 3] = ["short", "budget", "keys"];

/// The longest time that a release may take.
const PATIENCE: Duration = Duration::from_mins(5);
