//! The way of an epoch through the chain, as its parties tell it over HTTP.

use crate::local::LocalChain;
use crate::results::Analyzer;
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use throng_collection::{Release, Subjects};

/// The outcome of an epoch.
pub struct Passage {
    /// The release that the analyzer published.
    pub release: Release,
    /// The batches that the mixes handed over, in the order of the chain.
    pub mixes: Vec<Handover>,
}

/// The batch that a mix handed over.
pub struct Handover {
    /// The mix.
    pub mix: String,
    /// The party that signed for it.
    pub to: String,
    /// Reports that went on.
    pub reports: u64,
    /// Reports that came twice and were left out.
    pub repeated: u64,
    /// Reports that could not be opened and were left out.
    pub malformed: u64,
}

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

    /// Waits until an epoch is released and everyone has signed for what it got.
    pub async fn through(&self, epoch: u64) -> Result<Passage> {
        let spinner = spinner();
        let patience = Instant::now();
        while patience.elapsed() < PATIENCE {
            let mut told = Vec::new();
            for (name, party) in &self.parties {
                let (stage, reports) = stage(&party.status(&self.id).await?, epoch);
                if DROPPED.contains(&&stage[..]) {
                    bail!("{name} dropped the epoch instead of releasing it ({stage})");
                }
                told.push((stage, reports));
            }
            if let Some(passage) = self.passage(&told, epoch).await? {
                spinner.finish_and_clear();
                return Ok(passage);
            }
            let each = self.parties.iter().zip(&told);
            let stages: Vec<_> =
                each.map(|((name, _), (stage, _))| format!("{name}: {stage}")).collect();
            spinner.set_message(stages.join("   "));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("no release after {} s; this machine may be too busy", PATIENCE.as_secs())
    }

    /// The whole way, once the epoch is at its end.
    async fn passage(&self, told: &[(String, Option<u64>)], epoch: u64) -> Result<Option<Passage>> {
        let Some(((_, analyzer), mixes)) = self.parties.split_last() else { return Ok(None) };
        let over = told.iter().take(mixes.len()).all(|(stage, _)| stage == "delivered");
        let releases = analyzer.releases(&self.subjects).await?;
        let release = releases.into_iter().find(|release| release.last == epoch);
        let Some(release) = release.filter(|_| over) else { return Ok(None) };
        let handed =
            release.losses.iter().take(mixes.len()).enumerate().map(|(place, loss)| Handover {
                mix: self.parties[place].0.clone(),
                to: self.parties[place + 1].0.clone(),
                reports: told[place].1.unwrap_or(0),
                repeated: loss.replayed,
                malformed: loss.malformed,
            });
        let mixes = handed.collect();
        Ok(Some(Passage { release, mixes }))
    }
}

/// The stage of a party in an epoch, and the number of reports it tells of.
fn stage(status: &Value, epoch: u64) -> (String, Option<u64>) {
    let slots = status["slots"].as_array().map_or(&[][..], Vec::as_slice);
    let slot = slots.iter().find(|slot| slot["last"].as_u64() == Some(epoch));
    let stage = slot.and_then(|slot| slot["stage"].as_str()).unwrap_or("waiting");
    (stage.into(), slot.and_then(|slot| slot["reports"].as_u64()))
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
