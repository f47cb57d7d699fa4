//! Computing a circuit on shares, so that nobody sees an input and a wrong result is noticed.
//!
//! Each member holds, for every wire x, a share of x and a share of r·x, for a random r that nobody
//! knows. Every round is one message from each member to each other one.
//!
//! ```text
//! deal      everybody shares its input bits among the members; every member also shares its coins
//!           and random numbers: its parts of r, of two seeds, of two masks ρ, ρ′ and of a cover m
//! lift      r·x for every input bit; who was heard
//! layers    for every multiplication of a depth: x·y, and (r·x)·y
//! reveal    r and the seeds are opened; from the seeds follow random α, β, γ, γ′
//! mask      T = Σ α·(r·z − r·(z)) over inputs and products z
//!           B = Σ β·(x² − x) over what must be bits
//!           ρ·T and ρ′·B are multiplied; m + Σ γ·z + Σ γ′·(r·z) is opened
//! check     ρ·T and ρ′·B are opened, and must be 0
//! output    shares of every output to those who may see it
//! ```
//!
//! The pairs (x, r·x) and T are those of Chida, Genkin, Hamada, Ikarashi, Kikuchi, Lindell, Nof,
//! "Fast Large-Scale Honest-Majority MPC for Malicious Adversaries" (CRYPTO 2018).
//!
//! # What is claimed
//!
//! Up to t members, together with any number of participants who are no members, follow the
//! protocol or do not; p = 2⁶¹ − 1, and SHA-256 is taken for a random function of the seeds.
//!
//! **No wrong result.** An honest recipient gets an error, or the function of some inputs in range:
//! its own and those of all honest participants as they gave them (0 for those left out, who are
//! named). It gets anything else with probability at most 6/p < 2.7·10⁻¹⁸:
//!
//! - Until `reveal` a coalition has seen t shares of each secret, which are independent of all
//!   secrets and of r. So whatever it adds to a product z and to r·z, say d and d′, it adds without
//!   knowing r. At the first wire where one of them is not 0, r·z − r·(z) is d′ − r·d, which is 0
//!   for one r at most (1/p); otherwise T, with α drawn after, is 0 with probability 1/p, and ρ·T,
//!   to which the coalition can again only add what it fixed before, with probability 1/p.
//! - A product that is right but of an input that is no bit: B and ρ′·B in the same way (2/p).
//! - With more than 2t + 1 members, shares dealt by a deviator may fit no polynomial at all. Then
//!   neither do those of the covered sum, but with probability 1/p, and it does not open.
//! - Opened are only values of which 2t + 1 shares are there and all fit. At least t + 1 are
//!   honest.
//!
//! **Nothing but the outputs.** All that is opened are r and the seeds, which are random; a sum
//! under a cover; two zeros; and the outputs, each to those who may see it. A polynomial of degree
//! t of which t shares are known follows from its value, so shares tell no more than these values.
//! If somebody adds something to a product, T would depend on secrets; it is never opened without
//! its mask, and whether it is 0 depends on what was added and not on the secrets.
//!
//! # What is not claimed
//!
//! - That it ends well: each participant can make it fail, by silence, by shares that do not fit or
//!   by an input that is out of range. An error may name a seat, but does not say whose fault it
//!   is. A corrupt recipient may see its outputs while others get an error. Then a coin can be
//!   refused after it is seen, though not chosen.
//! - That everybody is heard: one member suffices to leave out a seat that may be absent, or all of
//!   them but one. It knows nothing then, but what is shown has to be harmless whoever is left out.
//! - That an input is not used if its owner got an error: once dealt it may count.
//! - Anything if more than t members are corrupt, or if rounds overlap: everything that counts in a
//!   round has to be sent before anything of the next one is seen.
//! - That inputs are true, or that those of corrupt participants are independent of what they know.
//! - What outputs say about inputs. For that, add [`LaplaceNoise`](crate::LaplaceNoise) before
//!   revealing.
//!
//! # Who drops out
//!
//! A member that is not heard in the deal or in the lift is out, and the others go on while they
//! are 2t + 1. From then on until the check all of them have to stay, or it ends with
//! [`Error::Left`]; for the output 2t + 1 suffice again. All members have to have heard the same:
//! each says in every round whom it heard in the round before, and stops if somebody heard others.
//! A message that reached only some members thus ends the computation, with [`Error::Disagreement`]
//! or [`Error::Left`].
//!
//! Why all have to stay: a deviator may give one honest member a share of z that does not fit. What
//! that member multiplies it by, say its share of y, then enters the product, and a deviator that
//! speaks last can see to it that this share is 0 if y is. The covered sum shows the misfit
//! whatever y is, but only with the share of the one who has it. If that one could be silenced
//! before, whether the run ends well would tell y. And if the check could do without some, shares
//! of ρ·T that do not fit would open to another value for every choice of the others, and a
//! deviator that speaks last could look for one that is 0.

mod challenge;
mod committee;
mod member;
mod message;
mod outcome;
mod traffic;

pub use committee::Committee;
pub use outcome::Outcome;
pub use traffic::Traffic;

use crate::circuit::{Kind, input_bits};
use crate::shamir::{Opening, Shares, share_all};
use crate::{Circuit, Element, Error, Input, Seat};
use member::Member;
use message::{RANDOM, Step, bitmap_bytes, dealt, decode, encode, from_bitmap};
use outcome::OutputValue;
use rand_core::CryptoRng;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// The messages of a round to one player, by sender.
type Incoming = BTreeMap<Seat, Vec<u8>>;

/// One participant of a computation, without the network. In each of [`Circuit::rounds`] rounds it
/// sends, then receives; after an error it refuses to go on, and whatever it held is wiped.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use throng_rounds::{Circuit, Committee, Input, Player, Seat};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let seats = [Seat(0), Seat(1), Seat(2)];
/// let mut circuit = Circuit::new(3, Committee::new(seats.to_vec(), 1)?);
/// let (a, b) = (circuit.bit(Seat(0)), circuit.bit(Seat(1)));
/// let both = circuit.and(a, b);
/// let both = circuit.reveal_bit(both, &[Seat(0), Seat(1)]);
///
/// // The third seat has no input and sees no output; it only helps.
/// let circuit = Arc::new(circuit);
/// let values = [vec![Input::Bit(true)], vec![Input::Bit(true)], vec![]];
/// let mut players = Vec::new();
/// for (seat, values) in seats.into_iter().zip(&values) {
///     players.push(Player::new(Arc::clone(&circuit), seat, values)?);
/// }
///
/// let mut outcomes = Vec::new();
/// for _ in 0..circuit.rounds() {
///     let mut incoming = vec![BTreeMap::new(); 3];
///     for (player, from) in players.iter_mut().zip(seats) {
///         for (to, message) in player.send(&mut rng)? {
///             incoming[to.0 as usize].insert(from, message);
///         }
///     }
///     for (player, incoming) in players.iter_mut().zip(incoming) {
///         outcomes.extend(player.receive(incoming)?);
///     }
/// }
/// assert_eq!(outcomes[0].bit(both), Some(true));
/// assert_eq!(outcomes[2].bit(both), None);
/// # Ok::<(), throng_rounds::Error>(())
/// ```
pub struct Player {
    circuit: Arc<Circuit>,
    own: Seat,
    round: usize,
    /// True between sending and receiving.
    sent: bool,
    /// Everything secret, until its end.
    role: Option<Role>,
}

struct Role {
    /// Its own input bits, until they are dealt.
    bits: Shares,
    /// A member's part, until it is out.
    member: Option<Member>,
}

impl Player {
    /// A player with the values of this seat's inputs, in the order in which the circuit declares
    /// them.
    pub fn new(circuit: Arc<Circuit>, own: Seat, values: &[Input]) -> Result<Self, Error> {
        circuit.check()?;
        if own.0 >= circuit.seats() {
            return Err(Error::parameter("a seat", format!("below {}", circuit.seats())));
        }
        let kinds = circuit.dealers.get(&own).map_or(&[][..], |dealer| &dealer.kinds);
        let bits = input_bits(own, kinds, values)?;
        let place = circuit.committee().place(own);
        let member = place.map(|place| Member::new(Arc::clone(&circuit), place));
        Ok(Self { circuit, own, round: 0, sent: false, role: Some(Role { bits, member }) })
    }

    /// The messages of this player in this round: at most one to a seat, none to itself.
    pub fn send(&mut self, rng: &mut impl CryptoRng) -> Result<Vec<(Seat, Vec<u8>)>, Error> {
        let (step, mut role) = self.turn(false)?;
        let messages = match (step, &mut role.member) {
            (Step::Deal, _) => self.deal(&mut role, rng),
            (_, None) => Vec::new(),
            (Step::Output, Some(member)) => {
                let others = self.circuit.recipients().into_iter().filter(|&seat| seat != self.own);
                others.map(|seat| (seat, member.output(seat))).collect()
            }
            (step, Some(member)) => member.send(step, rng),
        };
        (self.sent, self.role) = (true, Some(role));
        Ok(messages)
    }

    /// Takes what came in this round, by sender; a seat that is not in it was not heard. Senders
    /// are who they say they are: the channel has to make sure of that. The messages are wiped.
    /// After the last round there is an outcome.
    pub fn receive(&mut self, mut incoming: Incoming) -> Result<Option<Outcome>, Error> {
        let outcome = self.take(&incoming);
        incoming.values_mut().for_each(Zeroize::zeroize);
        outcome
    }

    /// Forgets what it holds, as after an error.
    pub(crate) fn close(&mut self) {
        self.role = None;
    }

    /// The step of this round and what is held, if it is the turn to send or, once sent, to
    /// receive. It is held no more: whoever goes on puts it back.
    fn turn(&mut self, sent: bool) -> Result<(Step, Role), Error> {
        let role = self.role.take().ok_or(Error::Closed)?;
        if self.sent != sent {
            return Err(Error::OutOfTurn);
        }
        Ok((Step::all(&self.circuit).nth(self.round).ok_or(Error::Closed)?, role))
    }

    fn take(&mut self, incoming: &Incoming) -> Result<Option<Outcome>, Error> {
        let (step, mut role) = self.turn(true)?;
        match (step, &mut role.member) {
            (Step::Output, member) => return self.outcome(member.as_ref(), incoming).map(Some),
            (_, None) => {}
            (Step::Deal, Some(member)) => self.take_deals(member, incoming)?,
            (step, Some(member)) => {
                if !member.receive(step, incoming)? {
                    role.member = None;
                }
            }
        }
        self.round += 1;
        (self.sent, self.role) = (false, Some(role));
        Ok(None)
    }

    /// The shares of its bits, with coins tossed, and of the random numbers of a member.
    fn deal(&self, role: &mut Role, rng: &mut impl CryptoRng) -> Vec<(Seat, Vec<u8>)> {
        let committee = self.circuit.committee();
        let Some(dealer) = self.circuit.dealers.get(&self.own) else { return Vec::new() };
        let mut secrets = Zeroizing::new(Vec::with_capacity(role.bits.len() + RANDOM));
        secrets.extend_from_slice(&role.bits);
        role.bits = Zeroizing::default();
        let mut place = 0;
        for kind in &dealer.kinds {
            if *kind == Kind::Coin {
                secrets[place] = Element::from(rng.next_u32() & 1);
            }
            place += kind.bits() as usize;
        }
        if role.member.is_some() {
            secrets.extend((0..RANDOM).map(|_| Element::random(rng)));
        }
        let members = committee.members();
        let shares = share_all(&secrets, committee.corrupt(), members.len(), rng);
        if let Some(member) = &mut role.member {
            let index = self.circuit.dealers().take_while(|&seat| seat < self.own).count();
            member.take_deal((index, self.own), &shares[member.place]);
        }
        let messages = members.iter().zip(&shares).filter(|&(&seat, _)| seat != self.own);
        messages.map(|(&seat, shares)| (seat, encode(&[], shares.iter()))).collect()
    }

    fn take_deals(&self, member: &mut Member, incoming: &Incoming) -> Result<(), Error> {
        for (index, seat) in self.circuit.dealers().enumerate().filter(|&(_, s)| s != self.own) {
            let Some(bytes) = incoming.get(&seat) else { continue };
            let (_, shares) =
                decode(bytes, 0, dealt(&self.circuit, seat)).ok_or(Error::Malformed { seat })?;
            member.take_deal((index, seat), &shares);
        }
        member.dealt()
    }

    fn outcome(&self, member: Option<&Member>, incoming: &Incoming) -> Result<Outcome, Error> {
        let shown: Vec<_> = self.circuit.shown(self.own).collect();
        let mut used = member.map(|member| member.dealers.clone());
        let mut outcome = Outcome { shown: BTreeMap::new(), absent: Vec::new() };
        if !shown.is_empty() {
            let (places, shares) = self.output_shares(member, incoming, &mut used)?;
            let opening = Opening::new(&places, self.circuit.committee().corrupt())?;
            for (index, (output, reveal)) in shown.into_iter().enumerate() {
                let column: Vec<_> = shares.iter().map(|shares| shares[index]).collect();
                let value = OutputValue::new(opening.open(&column)?, reveal.is_bit)?;
                outcome.shown.insert(output, value);
            }
        }
        let dealers = self.circuit.dealers().zip(used.into_iter().flatten());
        outcome.absent.extend(dealers.filter(|&(_, used)| !used).map(|(seat, _)| seat));
        Ok(outcome)
    }

    /// The shares that each member sent of what this seat is shown. All have to have used the same
    /// dealers.
    fn output_shares(
        &self,
        member: Option<&Member>,
        incoming: &Incoming,
        used: &mut Option<Vec<bool>>,
    ) -> Result<(Vec<usize>, Vec<Shares>), Error> {
        let (head, dealers) = (bitmap_bytes(&self.circuit), self.circuit.dealers.len());
        let count = self.circuit.shown(self.own).count();
        let (mut places, mut shares) = (Vec::new(), Vec::new());
        for (place, &seat) in self.circuit.committee().members().iter().enumerate() {
            if let Some(member) = member.filter(|member| member.place == place) {
                places.push(place);
                shares.push(member.shares_for(seat));
            } else if let Some(bytes) = incoming.get(&seat)
                && member.is_none_or(|member| member.hears(place))
            {
                let (head, elements) =
                    decode(bytes, head, count).ok_or(Error::Malformed { seat })?;
                let heard = from_bitmap(head, dealers).ok_or(Error::Malformed { seat })?;
                if *used.get_or_insert_with(|| heard.clone()) != heard {
                    return Err(Error::Disagreement);
                }
                places.push(place);
                shares.push(elements);
            }
        }
        Ok((places, shares))
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (own, round) = (&self.own, &self.round);
        f.debug_struct("Player").field("own", own).field("round", round).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
