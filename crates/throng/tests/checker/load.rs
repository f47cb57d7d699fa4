//! Clients that post numbered messages to the first mix, and remember what was sent and what was
//! acknowledged.

use crate::chain::{Chain, now};
use crate::topic::Topic;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throng_wire::{Route, Seal, SignedDirectory};
use tokio::time::sleep;

/// What clients posted to one topic, by round.
#[derive(Default)]
pub struct Load {
    rounds: Mutex<BTreeMap<u64, Posted>>,
}

/// The numbers of the messages of a round.
#[derive(Debug, Clone, Default)]
pub struct Posted {
    pub sent: BTreeSet<u64>,
    pub acknowledged: BTreeSet<u64>,
}

impl Load {
    /// The messages of a round so far.
    pub fn of(&self, round: u64) -> Posted {
        self.rounds.lock().unwrap().get(&round).cloned().unwrap_or_default()
    }

    /// A number that no other message of the round has, while there are any.
    fn next(&self, round: u64, most: u64) -> Option<u64> {
        let mut rounds = self.rounds.lock().unwrap();
        let sent = &mut rounds.entry(round).or_default().sent;
        let number = sent.len() as u64;
        (number < most).then(|| {
            sent.insert(number);
            number
        })
    }

    fn taken(&self, round: u64, number: u64) {
        self.rounds.lock().unwrap().entry(round).or_default().acknowledged.insert(number);
    }
}

/// Seals messages for one of the topics and sends each until it is acknowledged or its round is
/// over, and now and then once more, also for the next round, where it does not belong.
pub async fn post(chain: Arc<Chain>, place: usize, load: Arc<Load>, mut rng: ChaCha12Rng) {
    let http = reqwest::Client::builder().timeout(ANSWER).no_proxy().build().unwrap();
    let (topic, mut copy) = (&chain.topics[place], Vec::new());
    let deadline = |round| topic.route.schedule.deadline(round);
    loop {
        let Some(round) = chain.round(now()) else {
            sleep(MOMENT).await;
            continue;
        };
        let Some(seal) = seal(topic, &http, round).await else {
            sleep(MOMENT).await;
            continue;
        };
        let url = topic.at_first(&format!("/epochs/{round}/reports"));
        let send = async |report: &[u8]| {
            let answer = http.post(&url).body(report.to_vec()).send().await;
            answer.is_ok_and(|answer| answer.status().as_u16() == 202)
        };
        if !copy.is_empty() {
            send(&copy).await;
        }
        while chain.round(now()) == Some(round) {
            sleep(BETWEEN).await;
            let Some(number) = load.next(round, topic.numbers()) else { continue };
            let report = seal.report(&topic.message(round, number), &mut rng).unwrap();
            let mut taken = false;
            while !taken && now() < deadline(round) {
                taken = send(&report).await;
                if !taken {
                    sleep(MOMENT).await;
                }
            }
            if taken {
                load.taken(round, number);
                if rng.next_u64().is_multiple_of(8) {
                    send(&report).await;
                    copy = report;
                }
            }
        }
    }
}

/// A seal for a round, once everybody has signed its keys.
async fn seal(topic: &Topic, http: &reqwest::Client, round: u64) -> Option<Seal> {
    let url = topic.at_first(&format!("/directories/{round}"));
    let answer = http.get(url).send().await.ok()?;
    let directory = SignedDirectory::decode(&answer.bytes().await.ok()?).ok()?;
    let Route { id, shape, chain, .. } = &topic.route;
    let directory = directory.verify(id, round, &chain.identities()).ok()?;
    Some(Seal::new(shape, *id, round, round, &directory.keys).unwrap())
}

const ANSWER: Duration = Duration::from_secs(2);
const MOMENT: Duration = Duration::from_millis(50);
const BETWEEN: Duration = Duration::from_millis(25);
