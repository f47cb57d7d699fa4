//! The books: what every round showed, held against what was sent and what was acknowledged.

use crate::chain::{Chain, now};
use crate::load::Posted;
use crate::topic::{CROWD, End, Kind, releases};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

/// What was seen of a chain.
#[derive(Default)]
pub struct Books {
    /// The ends of rounds, by topic and round.
    ends: Mutex<BTreeMap<(usize, u64), End>>,
    /// Everything that must not be.
    wrong: Mutex<Vec<String>>,
}

/// The counts of one chain or of many.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub kills: u64,
    pub partitions: u64,
    pub jumps: u64,
    pub disks: u64,
    pub rounds: u64,
    /// Rounds that were dropped because too few messages came, or none.
    pub short: u64,
    pub acknowledged: u64,
    pub released: u64,
    pub lost: u64,
    pub doubled: u64,
}

impl Books {
    pub fn wrong(&self, what: String) {
        let mut wrong = self.wrong.lock().unwrap();
        if !wrong.contains(&what) {
            wrong.push(what);
        }
    }

    /// Everything that was wrong.
    pub fn all_wrong(&self) -> Vec<String> {
        self.wrong.lock().unwrap().clone()
    }

    /// The end of a round of a topic, if it was seen.
    pub fn end(&self, topic: usize, round: u64) -> Option<End> {
        self.ends.lock().unwrap().get(&(topic, round)).cloned()
    }

    /// Asks the analyzer for the ends of rounds of a topic.
    pub async fn ask(&self, chain: &Chain, topic: usize, rounds: &[u64]) {
        match chain.topics[topic].kind {
            Kind::Board => {
                for round in rounds {
                    self.bulletin(chain, topic, *round).await;
                }
            }
            Kind::Question if rounds.is_empty() => {}
            Kind::Question => {
                let told = json(&chain.direct(3, &chain.topics[topic], "/releases")).await;
                for (epoch, end) in releases(&told.unwrap_or_default()) {
                    self.ended(topic, epoch, &end);
                }
            }
        }
    }

    async fn bulletin(&self, chain: &Chain, topic: usize, round: u64) {
        let at = &chain.topics[topic];
        let Ok(answer) = get(&chain.direct(3, at, &format!("/bulletins/{round}"))).await else {
            return;
        };
        match answer.status().as_u16() {
            200 => {
                let Ok(bytes) = answer.bytes().await else { return };
                match at.bulletin(round, &bytes) {
                    Ok(end) => self.ended(topic, round, &end),
                    Err(wrong) => self.wrong(wrong),
                }
            }
            410 => self.ended(topic, round, &End::Dropped),
            _ => {}
        }
    }

    /// Notes an end, which is the same whenever one asks.
    fn ended(&self, topic: usize, round: u64, end: &End) {
        let mut ends = self.ends.lock().unwrap();
        let kept = ends.entry((topic, round)).or_insert_with(|| end.clone());
        if kept != end {
            let what = format!("topic {topic}, round {round} ended twice: {kept:?}, {end:?}");
            drop(ends);
            self.wrong(what);
        }
    }

    /// No party has closed or taken an epoch more than a minute before its time.
    pub async fn timely(&self, chain: &Chain, hop: u8) {
        for topic in &chain.topics {
            let Some(status) = json(&chain.direct(hop, topic, "/status")).await else { continue };
            for slot in status["slots"].as_array().into_iter().flatten() {
                let last = slot["last"].as_u64().unwrap();
                let early = topic.route.schedule.end_of(last).saturating_sub(now());
                if early > 60 {
                    let (kind, stage) = (topic.kind, &slot["stage"]);
                    self.wrong(format!("hop {hop}: {kind:?} {last} is {stage} {early} s early"));
                }
            }
        }
    }

    /// Holds a round that has ended against what was posted.
    pub fn balance(&self, topic: usize, round: u64, posted: &Posted, counts: &mut Counts) {
        let Posted { sent, acknowledged } = posted;
        counts.rounds += 1;
        counts.acknowledged += acknowledged.len() as u64;
        let wrong = |what: String| self.wrong(format!("topic {topic}, round {round}: {what}"));
        let shown = match self.end(topic, round) {
            Some(End::Shown(shown)) => shown,
            Some(End::Dropped) => {
                counts.short += 1;
                if acknowledged.len() as u64 >= CROWD {
                    counts.lost += acknowledged.len() as u64;
                    wrong(format!("dropped with {} acknowledged messages", acknowledged.len()));
                }
                return;
            }
            None => {
                counts.lost += acknowledged.len() as u64;
                return wrong("stuck".into());
            }
        };
        counts.released += shown.len() as u64;
        for two in shown.windows(2).filter(|two| two[0] == two[1]) {
            counts.doubled += 1;
            wrong(format!("message {} is shown twice", two[0]));
        }
        for unknown in shown.iter().filter(|number| !sent.contains(number)) {
            wrong(format!("nobody sent message {unknown}"));
        }
        for lost in acknowledged.iter().filter(|number| !shown.contains(number)) {
            counts.lost += 1;
            wrong(format!("message {lost} was acknowledged and is lost"));
        }
    }
}

async fn json(url: &str) -> Option<Value> {
    serde_json::from_slice(&get(url).await.ok()?.bytes().await.ok()?).ok()
}

/// Asks a party directly.
pub async fn get(url: &str) -> reqwest::Result<reqwest::Response> {
    let http = reqwest::Client::builder().timeout(Duration::from_secs(2)).no_proxy().build()?;
    http.get(url).send().await
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.kills += other.kills;
        self.partitions += other.partitions;
        self.jumps += other.jumps;
        self.disks += other.disks;
        self.rounds += other.rounds;
        self.short += other.short;
        self.acknowledged += other.acknowledged;
        self.released += other.released;
        self.lost += other.lost;
        self.doubled += other.doubled;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, partitions, jumps, disks, rounds, short, .. } = self;
        let Self { acknowledged, released, lost, doubled, .. } = self;
        write!(
            f,
            "{kills} kills, {partitions} partitions, {jumps} jumps, {disks} disk faults; \
             {rounds} rounds, {short} of them short; {acknowledged} acknowledged, \
             {released} released, {lost} lost, {doubled} doubled"
        )
    }
}
