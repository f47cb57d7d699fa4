//! A plan carried out by participants on this machine, through real mixes.

use super::hall::{Hall, Posts, Round};
use super::{boards, progress};
use crate::parallel::fresh_generator;
use crate::report::Rows;
use anyhow::{Context, Result};
use chacha20::ChaCha12Rng;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use throng_rounds::{Circuit, Input, Method, Outcome, Participant, Plan, Seat};
use throng_wire::Identity;

/// A function, everybody's values, and the times at which some leave.
pub struct Computation {
    /// The function.
    pub circuit: Circuit,
    /// The values that each seat gives.
    pub values: Vec<Vec<Input>>,
    /// The seats that stop posting, each with its first silent round on the second board.
    pub leaves: BTreeMap<Seat, u64>,
    /// Mixes of the chain.
    pub mixes: u8,
}

/// The result of a computation, and its cost.
pub struct ComputationResult {
    /// The outcome that each remaining seat was shown.
    pub outcomes: BTreeMap<Seat, Outcome>,
    /// The cost of all rounds.
    pub cost: Cost,
}

/// The cost of a computation, for one participant and for all.
#[derive(Debug, Default, Clone)]
pub struct Cost {
    /// The number of participants.
    pub participants: u32,
    /// Rounds through the mixes.
    pub rounds: u64,
    /// An ordinary participant's share.
    pub ordinary: Share,
    /// The share of a member of the committee.
    pub member: Share,
    /// Bytes of all bulletins, which everybody reads.
    pub read: u64,
    /// Seconds from the first round to the last, with everybody and all servers on this machine.
    pub seconds: f64,
}

/// The work and traffic of one participant.
#[derive(Debug, Default, Clone, Copy)]
pub struct Share {
    /// Messages sent.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// The time of its own work: protocol and sealing.
    pub work: Duration,
}

impl Computation {
    /// Starts servers, and runs all rounds.
    pub async fn run(self) -> Result<ComputationResult> {
        let seats = self.circuit.seats();
        let identities = (0..seats).map(|_| crate::local::fresh_identity());
        let identities: Vec<Identity> = identities.collect::<Result<_>>()?;
        let roster = identities.iter().map(Identity::public).collect();
        let plan = Arc::new(Plan::new(self.circuit.clone(), roster, Method::cards(128)?)?);
        // A report of everybody who stays to the end.
        let crowd = u64::from(seats - self.leaves.len() as u32).max(2);
        let make: [Box<dyn FnOnce(_, _) -> _>; 2] = [
            Box::new(|schedule, chain| plan.key_board(1, seats.into(), schedule, chain)),
            Box::new(|schedule, chain| plan.talk_board(crowd, schedule, chain)),
        ];
        let (servers, [keys, talk]) = boards::start(self.mixes, make).await?;
        let mut crowd = Crowd::new(&plan, identities, &self.values)?;
        let mut tally = Tally::new(&plan);

        let mut hall = Hall::new(&servers, keys.clone())?;
        progress(&format!("{seats} participants agree on keys"));
        let posts =
            crowd.each(|participant, rng| Ok(participant.offer(&keys, rng)?), &mut tally)?;
        let round = tally.round(&mut hall, 0, posts).await?;
        crowd.each(
            |participant, _| Ok(participant.settle(&round.bulletin).map(drop)?),
            &mut tally,
        )?;
        crowd.each(|participant, _| Ok(participant.begin(&talk)?), &mut tally)?;

        let mut hall = Hall::new(&servers, talk.clone())?;
        let mut outcomes = BTreeMap::new();
        for number in 0..plan.talk_rounds() {
            progress(&format!("round {} of {}", number + 1, plan.talk_rounds()));
            let gone = self.leaves.iter().filter(|(_, when)| **when == number);
            gone.for_each(|(seat, _)| crowd.leave(*seat));
            let posts =
                crowd.each(|participant, rng| Ok(participant.speak(number, rng)?), &mut tally)?;
            let round = tally.round(&mut hall, number, posts).await?;
            let heard =
                crowd.each(|participant, _| Ok(participant.hear(&round.bulletin)?), &mut tally)?;
            outcomes.extend(heard.into_iter().filter_map(|(seat, outcome)| Some((seat, outcome?))));
        }
        servers.stop().await;
        Ok(ComputationResult { outcomes, cost: tally.cost(&plan, &self.leaves) })
    }
}

/// Everybody who is still there.
struct Crowd(BTreeMap<Seat, (Participant, ChaCha12Rng)>);

impl Crowd {
    fn new(plan: &Arc<Plan>, identities: Vec<Identity>, values: &[Vec<Input>]) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (seat, identity) in (0..).map(Seat).zip(identities) {
            let rng = fresh_generator()?;
            let given = values.get(seat.0 as usize).map_or(&[][..], Vec::as_slice);
            let participant = Participant::new(plan, seat, identity, given)?;
            all.insert(seat, (participant, rng));
        }
        Ok(Self(all))
    }

    /// Lets everybody do something, and counts the time.
    fn each<T>(
        &mut self,
        mut act: impl FnMut(&mut Participant, &mut ChaCha12Rng) -> Result<T>,
        tally: &mut Tally,
    ) -> Result<BTreeMap<Seat, T>> {
        let mut done = BTreeMap::new();
        for (&seat, (participant, rng)) in &mut self.0 {
            let start = Instant::now();
            let result = act(participant, rng).with_context(|| format!("at {seat}"))?;
            tally.share(seat).work += start.elapsed();
            done.insert(seat, result);
        }
        Ok(done)
    }

    fn leave(&mut self, seat: Seat) {
        self.0.remove(&seat);
    }
}

/// The work and traffic of everybody so far.
struct Tally {
    shares: BTreeMap<Seat, Share>,
    rounds: u64,
    read: u64,
    seconds: f64,
}

impl Tally {
    fn new(plan: &Plan) -> Self {
        let seats = (0..plan.circuit().seats()).map(Seat);
        let shares = seats.map(|seat| (seat, Share::default())).collect();
        Self { shares, rounds: 0, read: 0, seconds: 0.0 }
    }

    fn share(&mut self, seat: Seat) -> &mut Share {
        self.shares.entry(seat).or_default()
    }

    /// Lets everybody post, and returns what everybody sees.
    async fn round(
        &mut self,
        hall: &mut Hall<'_>,
        number: u64,
        posts: BTreeMap<Seat, Posts>,
    ) -> Result<Round> {
        for (&seat, posts) in &posts {
            let share = self.share(seat);
            share.messages += hall.messages(posts.len());
            share.bytes += hall.bytes(posts.len());
        }
        let posts = posts.into_iter().map(|(seat, posts)| (seat.0 as usize, posts)).collect();
        let round = hall.round(number, posts).await?;
        for (&place, &taken) in &round.sealing {
            self.share(Seat(place as u32)).work += taken;
        }
        self.rounds += 1;
        self.read += round.bulletin.bag().as_bytes().len() as u64;
        self.seconds += round.taken.as_secs_f64();
        Ok(round)
    }

    /// The cost by kind of participant: the one that did most, among those who stayed.
    fn cost(self, plan: &Plan, left: &BTreeMap<Seat, u64>) -> Cost {
        let committee = plan.circuit().committee();
        let most = |member: bool| {
            let of_kind =
                self.shares.iter().filter(|(seat, _)| committee.members().contains(seat) == member);
            let stayed = of_kind.filter(|(seat, _)| !left.contains_key(seat));
            stayed.map(|(_, share)| *share).max_by_key(|share| share.work).unwrap_or_default()
        };
        Cost {
            participants: self.shares.len() as u32,
            rounds: self.rounds,
            ordinary: most(false),
            member: most(true),
            read: self.read,
            seconds: self.seconds,
        }
    }
}

impl Cost {
    /// The cost as JSON, for programs.
    pub fn json(&self) -> Json {
        let share = |share: Share| {
            json!({
                "messages": share.messages,
                "bytes_sent": share.bytes,
                "work_seconds": super::rounded(share.work.as_secs_f64()).0,
            })
        };
        json!({
            "participants": self.participants,
            "rounds": self.rounds,
            "participant": share(self.ordinary),
            "member": share(self.member),
            "bytes_read": self.read,
            "seconds": super::rounded(self.seconds).0,
        })
    }

    /// The costs as a table, for people.
    pub fn table<'a>(all: impl IntoIterator<Item = &'a Self>) -> Rows {
        let head = vec![
            "n",
            "rounds",
            "messages",
            "bytes sent",
            "work s",
            "a member's messages",
            "its bytes sent",
            "its work s",
            "bytes read",
            "seconds in all",
        ];
        let share = |share: Share| {
            if share.messages == 0 {
                return ["-".into(), "-".into(), "-".into()];
            }
            let work = format!("{:.3}", share.work.as_secs_f64());
            [share.messages.to_string(), share.bytes.to_string(), work]
        };
        let row = |cost: &Self| {
            let mut row = vec![cost.participants.to_string(), cost.rounds.to_string()];
            row.extend(share(cost.ordinary));
            row.extend(share(cost.member));
            row.extend([cost.read.to_string(), format!("{:.1}", cost.seconds)]);
            row
        };
        Rows { head, rows: all.into_iter().map(row).collect() }
    }
}
