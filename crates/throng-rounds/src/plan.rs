//! The plan of a computation, which everyone who takes part in it has to know beforehand.

use crate::channel::OVERHEAD;
use crate::{Circuit, Error, Hand, Method, Seat, frames};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::sync::Arc;
use throng_collection::Board;
use throng_wire::{Chain, PublicIdentity, Schedule};

/// A function, who sits where, and how keys are agreed on; and what follows from these: the two
/// boards.
///
/// Everybody shares a key with every member of the committee. An ordinary participant posts one
/// report in every round; a member, which has a key with everybody, as many as the round takes.
/// Both numbers follow from the plan and not from what anybody says, and what is not needed is
/// filled up with random bytes.
///
/// ```
/// use throng_rounds::{Circuit, Committee, ComputationPlan, Method, Seat};
/// use throng_wire::Identity;
///
/// // Two who wonder, and a third who helps. One of three may be curious.
/// let seats = [Seat(0), Seat(1), Seat(2)];
/// let mut circuit = Circuit::new(3, Committee::new(seats.to_vec(), 1)?);
/// let (alice, bob) = (circuit.bit(seats[0]), circuit.bit(seats[1]));
/// let both = circuit.and(alice, bob);
/// circuit.reveal_bit(both, &seats[..2]);
///
/// let roster = [1, 2, 3].map(|seed| Identity::from_seed(&[seed; 32]).public());
/// let plan = ComputationPlan::new(circuit, roster.to_vec(), Method::cards(128)?)?;
/// assert_eq!(plan.partners(Seat(0)).collect::<Vec<_>>(), [Seat(1), Seat(2)]);
/// // One round for keys, one to confirm them, and those of the circuit.
/// assert_eq!(1 + plan.talk_rounds(), 2 + plan.circuit().rounds() as u64);
/// # Ok::<(), throng_rounds::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ComputationPlan {
    circuit: Arc<Circuit>,
    roster: Vec<PublicIdentity>,
    method: Method,
    /// Messages of a report on the board for keys.
    cards: u32,
    /// Bytes of a frame on the other board.
    payload: u32,
    /// Frames of a report there.
    frames: u32,
    /// Reports of a member, round by round.
    member_reports: Vec<usize>,
}

impl ComputationPlan {
    /// Puts a plan together. `roster` has the identity of every seat, which its holder proves to
    /// have before anybody tells it anything.
    pub fn new(
        circuit: Circuit,
        roster: Vec<PublicIdentity>,
        method: Method,
    ) -> Result<Self, Error> {
        circuit.check()?;
        let method = method.sensible()?;
        let seats = circuit.seats();
        if roster.len() != seats as usize {
            let range = format!("{seats}, one for every seat");
            return Err(Error::parameter("the number of identities", range));
        }
        // Whoever held two seats of a committee would count as one of the corrupt.
        if roster.iter().collect::<HashSet<_>>().len() != roster.len() {
            return Err(Error::parameter("an identity", "another one for every seat"));
        }
        let members = circuit.committee().members().len();
        let ordinary = if members < roster.len() { members } else { members - 1 };
        let cards = (ordinary * method.messages()) as u32;
        let circuit = Arc::new(circuit);
        let (payload, frames, member_reports) = lengths(&circuit, ordinary)?;
        Ok(Self { circuit, roster, method, cards, payload, frames, member_reports })
    }

    /// The seats with which a seat shares a key: everybody does with the members.
    pub fn partners(&self, seat: Seat) -> impl Iterator<Item = Seat> {
        let committee = self.circuit.committee();
        let member = committee.place(seat).is_some();
        let everyone = (0..self.roster.len() as u32).map(Seat);
        everyone.filter(move |&other| other != seat && (member || committee.place(other).is_some()))
    }

    /// Reports that a seat posts in a round on the board for keys.
    pub fn key_reports(&self, seat: Seat) -> usize {
        let needed = self.partners(seat).count() * self.method.messages();
        needed.div_ceil(self.cards as usize).max(1)
    }

    /// Reports that a seat posts in this round on the board for everything else.
    pub fn talk_reports(&self, seat: Seat, round: u64) -> usize {
        let of_member = self.member_reports.get(round as usize).copied().unwrap_or(1);
        if self.circuit.committee().place(seat).is_some() { of_member } else { 1 }
    }

    /// The board on which keys are agreed on, with `rounds` rounds to try. A round needs `crowd`
    /// reports.
    pub fn key_board(&self, rounds: u64, crowd: u64, schedule: Schedule, chain: Chain) -> Board {
        let (messages, payload) = (self.cards, Hand::MESSAGE as u32);
        Board { about: "Keys".into(), messages, payload, crowd, rounds, schedule, chain }
    }

    /// The board for everything else.
    pub fn talk_board(&self, crowd: u64, schedule: Schedule, chain: Chain) -> Board {
        let (messages, payload, rounds) = (self.frames, self.payload, self.talk_rounds());
        Board { about: "Computation".into(), messages, payload, crowd, rounds, schedule, chain }
    }

    /// Rounds on that board: one to confirm keys, then those of the circuit.
    pub fn talk_rounds(&self) -> u64 {
        1 + self.circuit.rounds() as u64
    }

    /// The function.
    pub fn circuit(&self) -> &Arc<Circuit> {
        &self.circuit
    }

    /// The identity of the holder of a seat.
    pub fn identity(&self, seat: Seat) -> Option<&PublicIdentity> {
        self.roster.get(seat.0 as usize)
    }

    /// The method by which keys are agreed on.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Names the plan: participants with another one do not confirm each other's keys.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new_with_prefix(b"throng/1 plan\0");
        hash.update(self.circuit.digest());
        for identity in &self.roster {
            hash.update(identity.as_bytes());
        }
        hash.finalize().into()
    }
}

/// Bytes of a frame, frames of a report, and a member's reports of every round. What an ordinary
/// participant says to a member fits one frame, if that is not too long, and its report has a frame
/// for each of its `partners`. Longer frames are fewer, which is less work for members, but
/// everybody sends them in every round.
fn lengths(circuit: &Circuit, partners: usize) -> Result<(u32, u32, Vec<usize>), Error> {
    let traffic = circuit.traffic();
    let said = traffic.iter().map(|round| round.dealer_to_member).max().unwrap_or(0);
    let said = said.max(CONFIRMATION);
    let longest = traffic.iter().map(|round| round.member_to_member).max().unwrap_or(0);
    let useful = (longest / FRAMES).clamp(MIN_FRAME, USUAL_FRAME);
    let payload = (said + OVERHEAD).max(useful).next_multiple_of(64).min(MAX_FRAME);
    let report = partners * frames(payload, said)?;
    let (members, others) = (circuit.committee().members().len() - 1, circuit.seats() as usize - 1);
    let shown = circuit.recipients().len().min(others);
    let mut needed = vec![others * frames(payload, CONFIRMATION)?];
    for round in &traffic {
        let talk = members * frames(payload, round.member_to_member)?;
        needed.push(talk.max(shown * frames(payload, round.member_to_recipient)?));
    }
    let reports = needed.into_iter().map(|frames| frames.div_ceil(report).max(1));
    Ok((payload as u32, report as u32, reports.collect()))
}

/// Bytes of a confirmation: the plan's digest and a signature.
const CONFIRMATION: usize = 32 + 64;
/// Frames that the longest message between members is to take.
const FRAMES: usize = 16;
const MIN_FRAME: usize = 256;
const USUAL_FRAME: usize = 4_096;
const MAX_FRAME: usize = 1 << 15;
