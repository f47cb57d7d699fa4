//! What clients post to: a board, whose bulletins show all messages of a round, and a question, in
//! whose releases every report can be told from every other.

use crate::chain::now;
use serde_json::Value;
use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold};
use throng_collection::{Board, Collection, Promise, Prompt, Terms};
use throng_mechanism::{KaryResponse, Mechanism};
use throng_wire::{Below, Bulletin, Chain, Route, Schedule};

pub struct Topic {
    pub route: Route,
    /// The file that all parties have.
    pub file: String,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Board,
    Question,
}

/// The end of a round or an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The numbers of all messages in it, in order.
    Shown(Vec<u64>),
    Dropped,
}

/// Both topics of a chain, which begin at the same time.
pub fn topics(chain: &Chain) -> [Topic; 2] {
    let schedule = Schedule { start: now() + 4, every: 6, grace: 2, below: Below::Expire };
    let board = Board {
        about: "Whatever is posted".into(),
        messages: 1,
        payload: 8,
        crowd: CROWD,
        rounds: EPOCHS,
        schedule,
        chain: chain.clone(),
    };
    let (epsilon, delta) = (Epsilon::new(20.0).unwrap(), Delta::new(1e-6).unwrap());
    let lifetime = (Epsilon::new(20.0 * EPOCHS as f64).unwrap(), Delta::new(1e-4).unwrap());
    let crowd = Crowd::new(CROWD).unwrap();
    let kary = KaryResponse::new(CATEGORIES as u32, replace()).unwrap();
    let question = Collection {
        terms: Terms {
            question: Prompt::new("Which number are you?"),
            promise: Promise { epsilon, delta, crowd, corrupt: 0.0, epochs: EPOCHS, lifetime },
            mechanism: Mechanism::KaryResponse(kary),
        },
        schedule,
        chain: chain.clone(),
    };
    let (posted, asked) = (board.to_toml(), question.to_toml());
    [
        Topic { route: Route::from(&board), file: posted, kind: Kind::Board },
        Topic { route: Route::from(&question), file: asked, kind: Kind::Question },
    ]
}

impl Topic {
    /// The numbers that messages of an epoch may have.
    pub fn numbers(&self) -> u64 {
        match self.kind {
            Kind::Board => u64::MAX,
            Kind::Question => CATEGORIES,
        }
    }

    /// The message with a number. On a board it tells its round as well.
    pub fn message(&self, round: u64, number: u64) -> Vec<u8> {
        match self.kind {
            Kind::Board => [round as u32, number as u32].map(u32::to_be_bytes).concat(),
            Kind::Question => (number as u16).to_le_bytes().to_vec(),
        }
    }

    /// The address of a path at the first mix, through its relay.
    pub fn at_first(&self, path: &str) -> String {
        let Route { chain, id, .. } = &self.route;
        format!("{}/v1/collections/{id}{path}", chain.mixes[0].url)
    }

    /// The numbers of all messages in a bulletin, which everybody must have signed.
    pub fn bulletin(&self, round: u64, bytes: &[u8]) -> Result<End, String> {
        let parties = self.route.chain.identities();
        let bulletin = Bulletin::decode(bytes, &self.route.id, round, &parties);
        let bulletin = bulletin.map_err(|error| format!("round {round}: {error}"))?;
        let mut numbers = Vec::new();
        for message in bulletin.bag().messages() {
            let number = u64::from_be_bytes(message.try_into().unwrap());
            if number >> 32 != round {
                return Err(format!("round {round}: nobody sent {number:x}"));
            }
            numbers.push(number & u64::from(u32::MAX));
        }
        Ok(End::Shown(numbers))
    }
}

/// The ends of all epochs that an analyzer tells of.
pub fn releases(told: &Value) -> Vec<(u64, End)> {
    let list = |key: &str| told[key].as_array().cloned().unwrap_or_default();
    let mut ends = Vec::new();
    for release in list("releases") {
        let counts = counts(&release);
        let each = counts.into_iter().zip(0..);
        let numbers = each.flat_map(|(count, number)| vec![number; count]).collect();
        ends.push((release["first"].as_u64().unwrap(), End::Shown(numbers)));
    }
    for fate in list("fates") {
        let (first, last) = (fate["first"].as_u64().unwrap(), fate["last"].as_u64().unwrap());
        if ["short", "keys", "budget"].iter().any(|dropped| fate["fate"] == *dropped) {
            ends.extend((first..=last).map(|epoch| (epoch, End::Dropped)));
        }
    }
    ends
}

/// Estimates of k-ary response are counts, stretched and moved.
fn counts(release: &Value) -> Vec<usize> {
    let n = release["reports"].as_f64().unwrap();
    let gamma = replace().probability();
    let count = |value: f64| value * (1.0 - gamma) + n * gamma / CATEGORIES as f64;
    let estimates = release["estimates"].as_array().unwrap();
    estimates.iter().map(|one| count(one["value"].as_f64().unwrap()).round() as usize).collect()
}

/// A probability so small that every number can be told, and read back from the estimates.
fn replace() -> Threshold {
    Threshold::at_least(Probability::new("replace", 1.0 / 1024.0).unwrap())
}

/// The least number of messages of a round.
pub const CROWD: u64 = 4;

/// Rounds and epochs in all: far more than are run, so that a clock that is ahead could close them.
const EPOCHS: u64 = 100;

/// The number of answers to the question, each of which is given once.
const CATEGORIES: u64 = 512;
