//! The health of the other parties and the progress of running epochs, asked for now and then, to
//! be shown to people; and their clocks, by which this party judges its own.
//!
//! A party that does not answer is logged by the tasks that need it, not here, and nowhere with its
//! address.

use super::peers::{Failure, Peers};
use crate::Role;
use crate::party::Party;
use crate::server::Node;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, StreamExt};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throng_mix::{Progress, lock};
use throng_wire::CollectionId;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The last answers of the other parties.
#[derive(Default)]
pub(crate) struct Watch {
    /// The health of the parties, by address.
    parties: Mutex<BTreeMap<String, Health>>,
    open: Mutex<BTreeMap<CollectionId, Progress>>,
}

/// The health of a party: whether it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Health {
    /// The failure of the last attempt, if it failed.
    pub trouble: Option<Failure>,
    /// The time since when it answers, or does not.
    pub since: u64,
    /// The time of its last answer.
    pub answered: Option<u64>,
}

impl Watch {
    /// The health of the party at an address, once it was asked.
    pub fn party(&self, url: &str) -> Option<Health> {
        lock(&self.parties).get(url).copied()
    }

    /// The seconds for which the party at an address has not answered, once they are so many that a
    /// restart does not explain them.
    pub fn unreached(&self, url: &str, now: u64) -> Option<u64> {
        let health = self.party(url).filter(|health| health.trouble.is_some())?;
        Some(now.saturating_sub(health.since)).filter(|seconds| *seconds >= UNREACHED)
    }

    /// The progress of the running epoch of a collection, if the first mix tells it.
    pub fn progress(&self, collection: &CollectionId) -> Option<Progress> {
        lock(&self.open).get(collection).copied()
    }

    fn heard(&self, url: &str, answer: Result<(), Failure>, now: u64) {
        let mut parties = lock(&self.parties);
        let before = parties.get(url).copied();
        let trouble = answer.err();
        let same = before.filter(|health| health.trouble.is_some() == trouble.is_some());
        let last = before.and_then(|health| health.answered);
        let answered = if trouble.is_none() { Some(now) } else { last };
        let since = same.map_or(now, |health| health.since);
        parties.insert(url.to_owned(), Health { trouble, since, answered });
    }

    fn told(&self, collection: CollectionId, progress: Option<Progress>) {
        let mut open = lock(&self.open);
        match progress {
            Some(progress) => open.insert(collection, progress),
            None => open.remove(&collection),
        };
    }
}

/// Asks everyone, for ever.
pub async fn watch(node: Arc<Node>, peers: Peers) {
    let mut soon = SOON;
    loop {
        // A task of its own: should an answer make it panic, the next round is asked all the same.
        let mut asking = JoinSet::new();
        let (here, to) = (Arc::clone(&node), peers.clone());
        asking.spawn(async move { round(&here, &to).await });
        asking.join_next().await;
        // Servers that were started together do not go on asking together.
        let jitter = f64::from(getrandom::u32().unwrap_or(0)) / f64::from(u32::MAX);
        let calm = node.parties().values().all(|party| party.time.doubt().is_none());
        let every = if calm { EVERY } else { soon };
        soon = if calm { SOON } else { (soon * 2).min(EVERY) };
        sleep(every.mul_f64(0.8 + 0.4 * jitter)).await;
    }
}

async fn round(node: &Node, peers: &Peers) {
    let parties = node.parties();
    let others = parties.values().flat_map(|party| party.others());
    let urls: BTreeSet<&str> = others.map(|(_, party)| party.url.as_str()).collect();
    let health = urls.into_iter().map(|url| ask_health(node, peers, url).boxed());
    let own = parties.values().filter(|_| node.role == Role::Analyzer);
    let running = own.filter(|party| party.route().epoch_at(node.now()).is_some());
    let progress = running.map(|party| ask_progress(node, peers, party).boxed());
    let asks: Vec<BoxFuture<'_, ()>> = health.chain(progress).collect();
    stream::iter(asks).for_each_concurrent(AT_ONCE, |ask| ask).await;
}

/// Asks a party whether it is there, and what time it is.
async fn ask_health(node: &Node, peers: &Peers, url: &str) {
    let health = format!("{url}/healthz");
    let answer = timeout(PATIENCE, peers.time(&health, HEALTH)).await.unwrap_or(Err(Failure::Slow));
    if let Ok(Some(time)) = answer {
        for party in node.parties().values() {
            let here = party.others().filter(|(_, other)| other.url == url);
            here.for_each(|(hop, _)| party.time.hear(hop, time));
        }
    }
    node.watch.heard(url, answer.map(|_| ()), node.now());
}

/// Asks the first mix how far the running epoch is.
async fn ask_progress(node: &Node, peers: &Peers, party: &Party) {
    let Some(mix) = party.route().chain.party(1) else { return };
    let url = format!("{}/v1/collections/{}/status", mix.url, party.id());
    // With tokens of its own the mix does not tell us.
    let answer = get(peers, &url, STATUS).await.ok();
    let said = answer.and_then(|bytes| progress(&bytes));
    node.watch.told(party.id(), said.filter(|said| said.crowd == party.route().quorum));
}

async fn get(peers: &Peers, url: &str, most: usize) -> Result<Vec<u8>, Failure> {
    timeout(PATIENCE, peers.get(url, most)).await.unwrap_or(Err(Failure::Slow))
}

fn progress(status: &[u8]) -> Option<Progress> {
    let status: Value = serde_json::from_slice(status).ok()?;
    Progress::parse(&status["open"])
}

const EVERY: Duration = Duration::from_secs(15);

/// The first pause while a clock is not believed; the next ones are longer.
const SOON: Duration = Duration::from_millis(500);

/// Seconds without an answer after which a party counts as unreachable.
const UNREACHED: u64 = 300;

/// The time that a party has for an answer. People look at it later, so that a late one is as good
/// as none.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of questions that are open at the same time.
const AT_ONCE: usize = 16;

/// The most bytes of an answer about health. A status may be longer: it has a line for every batch.
const HEALTH: usize = 256;
const STATUS: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_when_does_not_move_while_nothing_changes() {
        let watch = Watch::default();
        let seen = || watch.party("http://a").unwrap();
        assert_eq!(watch.party("http://a"), None);
        watch.heard("http://a", Err(Failure::Unreachable), 10);
        watch.heard("http://a", Err(Failure::Slow), 20);
        let down = Health { trouble: Some(Failure::Slow), since: 10, answered: None };
        assert_eq!(seen(), down);
        watch.heard("http://a", Ok(()), 30);
        watch.heard("http://a", Ok(()), 40);
        assert_eq!(seen(), Health { trouble: None, since: 30, answered: Some(40) });
        watch.heard("http://a", Err(Failure::Status(500)), 50);
        let down = Health { trouble: Some(Failure::Status(500)), since: 50, answered: Some(40) };
        assert_eq!(seen(), down);
    }

    #[test]
    fn a_party_is_unreachable_once_it_is_away_for_longer_than_a_restart() {
        let watch = Watch::default();
        let away = |now| watch.unreached("http://a", now);
        assert_eq!(away(1_000), None);
        watch.heard("http://a", Err(Failure::Unreachable), 1_000);
        watch.heard("http://a", Err(Failure::Slow), 1_290);
        assert_eq!((away(1_299), away(1_300)), (None, Some(300)));
        watch.heard("http://a", Ok(()), 1_310);
        assert_eq!(away(9_999), None);
    }

    #[test]
    fn what_a_mix_says_is_not_taken_on_trust() {
        let open = r#"{"open":{"epoch":1,"crowd":20,"reached":false,"at_least":null}}"#;
        let expected = Progress { epoch: 1, crowd: 20, at_least: None };
        assert_eq!(progress(open.as_bytes()), Some(expected));
        for status in ["", "{}", "[]", r#"{"open":null}"#, r#"{"open":{"reached":1}}"#] {
            assert_eq!(progress(status.as_bytes()), None);
        }
    }
}
