//! A plan carried out by participants on this machine, through real mixes.

use super::hall::{Hall, Share, after};
use super::{measured, rounded};
use crate::local::{LocalParties, fresh_identity};
use crate::parallel::fresh_generator;
use crate::report::Report;
use anyhow::{Context, Result};
use chacha20::ChaCha12Rng;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use throng_rounds::{
    Circuit, Committee, ComputationPlan, Error, Input, Method, Outcome, Participant, Seat,
};
use throng_wire::Identity;

/// The result of a computation, and its cost.
pub struct ComputationResult {
    /// The outcome that each remaining seat was shown.
    pub outcomes: BTreeMap<Seat, Outcome>,
    /// The cost of all rounds, for one participant and for all, as a row.
    pub cost: Report,
}

/// Starts servers, and runs all rounds: every seat with its values, and `leaves` has the seats that
/// stop posting, each with its first silent round on the second board.
pub async fn compute(
    circuit: Circuit,
    values: &[Vec<Input>],
    leaves: &BTreeMap<Seat, u64>,
    mixes: u8,
) -> Result<ComputationResult> {
    let seats = circuit.seats();
    let identities = (0..seats).map(|_| fresh_identity()).collect::<Result<Vec<_>>>()?;
    let roster = identities.iter().map(Identity::public).collect();
    let plan = Arc::new(ComputationPlan::new(circuit, roster, Method::cards(128)?)?);
    let parties = LocalParties::gather(mixes).await?;
    let keys = plan.key_board(1, seats.into(), parties.schedule, parties.chain.clone());
    // A report of everybody who stays to the end.
    let crowd = u64::from(seats - leaves.len() as u32).max(2);
    let talk = plan.talk_board(crowd, after(&keys), parties.chain.clone());
    let mut hall = Hall::open(parties, &[keys.clone(), talk.clone()])?;
    let mut crowd = Crowd::new(&plan, identities, values)?;

    eprintln!("{seats} participants agree on keys");
    let posts = crowd.each(&mut hall, |participant, rng| participant.offer(&keys, rng))?;
    let (seen, _) = hall.round(0, posts).await?;
    crowd.each(&mut hall, |participant, _| participant.settle(&seen).map(drop))?;
    crowd.each(&mut hall, |participant, _| participant.begin(&talk))?;

    hall.enter(&talk)?;
    let mut outcomes = BTreeMap::new();
    for number in 0..plan.talk_rounds() {
        eprintln!("round {} of {}", number + 1, plan.talk_rounds());
        crowd.0.retain(|seat, _| leaves.get(seat) != Some(&number));
        let posts = crowd.each(&mut hall, |participant, rng| participant.speak(number, rng))?;
        let (seen, _) = hall.round(number, posts).await?;
        let heard = crowd.each(&mut hall, |participant, _| participant.hear(&seen))?;
        outcomes.extend(heard.into_iter().filter_map(|(seat, outcome)| Some((seat, outcome?))));
    }
    let cost = cost(&hall, plan.circuit().committee(), leaves);
    hall.close().await;
    Ok(ComputationResult { outcomes, cost })
}

/// Everybody who is still there.
struct Crowd(BTreeMap<Seat, (Participant, ChaCha12Rng)>);

impl Crowd {
    fn new(
        plan: &Arc<ComputationPlan>,
        identities: Vec<Identity>,
        values: &[Vec<Input>],
    ) -> Result<Self> {
        let mut all = BTreeMap::new();
        for ((seat, identity), given) in (0..).map(Seat).zip(identities).zip(values) {
            let participant = Participant::new(plan, seat, identity, given)?;
            all.insert(seat, (participant, fresh_generator()?));
        }
        Ok(Self(all))
    }

    /// Lets everybody do something, and counts the time.
    fn each<T>(
        &mut self,
        hall: &mut Hall,
        mut act: impl FnMut(&mut Participant, &mut ChaCha12Rng) -> Result<T, Error>,
    ) -> Result<BTreeMap<Seat, T>> {
        let mut done = BTreeMap::new();
        for (&seat, (participant, rng)) in &mut self.0 {
            let start = Instant::now();
            let result = act(participant, rng).with_context(|| format!("at {seat}"))?;
            hall.shares.entry(seat).or_default().work += start.elapsed();
            done.insert(seat, result);
        }
        Ok(done)
    }
}

/// The cost as a row, for programs and people. Of either kind of participant it has the one that
/// did most, among those who stayed.
fn cost(hall: &Hall, committee: &Committee, left: &BTreeMap<Seat, u64>) -> Report {
    let most = |member: bool| {
        let stayed = hall.shares.iter().filter(|(seat, _)| !left.contains_key(seat));
        let of_kind = stayed.filter(|(seat, _)| committee.members().contains(seat) == member);
        of_kind.map(|(_, share)| *share).max_by_key(|share| share.work).unwrap_or_default()
    };
    let row = Report::default().line("participants", "n", hall.shares.len());
    let row = row.line("rounds", "rounds", hall.rounds);
    let row = most(false).tell(row, "participant", ["messages", "bytes sent", "work s"]);
    let labels = ["a member's messages", "its bytes sent", "its work s"];
    let row = most(true).tell(row, "member", labels);
    let row = row.line("bytes_read", "bytes read", hall.read);
    row.line("seconds", "seconds in all", measured(hall.seconds, 1))
}

impl Share {
    /// Adds a share to the row of a cost; a dash for who is not there.
    fn tell(&self, row: Report, key: &str, labels: [&'static str; 3]) -> Report {
        let seconds = self.work.as_secs_f64();
        let json = json!({
            "messages": self.messages,
            "bytes_sent": self.bytes,
            "work_seconds": rounded(seconds).0,
        });
        let row = row.field(key, json);
        let cells = [self.messages.to_string(), self.bytes.to_string(), format!("{seconds:.3}")];
        let cells = if self.messages == 0 { ["-"; 3].map(String::from) } else { cells };
        labels.into_iter().zip(cells).fold(row, |row, (label, cell)| row.say(label, cell))
    }
}
