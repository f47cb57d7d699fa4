//! All players of a computation in one place, with somebody in between who may alter what is sent.

use super::Role;
use crate::circuit::{Dealer, Gate, input_bits};
use crate::{Circuit, Element, Error, Input, Outcome, Output, Player, Seat};
use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) type Values = BTreeMap<Seat, Vec<Input>>;

/// A message on its way.
pub(crate) struct Letter<'a> {
    pub round: usize,
    pub from: Seat,
    pub to: Seat,
    pub bytes: &'a mut Vec<u8>,
}

pub(crate) fn rng(seed: u64) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(seed)
}

/// A run in which everybody does as told.
pub(crate) fn run(circuit: &Arc<Circuit>, values: &Values, seed: u64) -> Vec<Outcome> {
    let results = run_between(circuit, values, seed, |_| true);
    results.into_iter().map(Result::unwrap).collect()
}

/// A run in which `between` may alter every message, and says whether it arrives. Whoever has
/// failed is silent.
pub(crate) fn run_between(
    circuit: &Arc<Circuit>,
    values: &Values,
    seed: u64,
    between: impl FnMut(Letter) -> bool,
) -> Vec<Result<Outcome, Error>> {
    let seats = (0..circuit.seats()).map(Seat);
    let player = |seat| {
        let values = values.get(&seat).map_or(&[][..], |values| values);
        Player::new(Arc::clone(circuit), seat, values).unwrap()
    };
    run_players(seats.map(player).collect(), circuit.rounds(), seed, between, |_, _, _| ())
}

/// A run in which `own` may also alter what a member says to itself, which takes the same words.
pub(crate) fn run_players(
    mut players: Vec<Player>,
    rounds: usize,
    seed: u64,
    mut between: impl FnMut(Letter) -> bool,
    mut own: impl FnMut(usize, Seat, &mut [Element]),
) -> Vec<Result<Outcome, Error>> {
    let mut rng = rng(seed);
    let mut results: Vec<Option<Result<Outcome, Error>>> = players.iter().map(|_| None).collect();
    for round in 0..rounds {
        let mut incoming = vec![BTreeMap::new(); players.len()];
        for (from, player) in players.iter_mut().enumerate().filter(|(i, _)| results[*i].is_none())
        {
            let from = Seat(from as u32);
            for (to, mut bytes) in player.send(&mut rng).unwrap() {
                assert_ne!(from, to);
                if between(Letter { round, from, to, bytes: &mut bytes }) {
                    assert!(incoming[to.0 as usize].insert(from, bytes).is_none());
                }
            }
            if let Some(Role { member: Some(member), .. }) = &mut player.role {
                own(round, from, &mut member.own);
            }
        }
        for ((player, incoming), result) in players.iter_mut().zip(incoming).zip(&mut results) {
            if result.is_none() {
                *result = player.receive(incoming).transpose();
            }
        }
    }
    results.into_iter().map(Option::unwrap).collect()
}

/// The circuit in the clear, every coin 0.
pub(crate) fn plain(circuit: &Circuit, values: &Values) -> Vec<i64> {
    let bits = |(&seat, dealer): (&Seat, &Dealer)| {
        let given = values.get(&seat).map_or(&[][..], |values| values);
        (seat, input_bits(seat, &dealer.kinds, given).unwrap().to_vec())
    };
    plain_bits(circuit, &circuit.dealers.iter().map(bits).collect())
}

/// The circuit in the clear, from the bits of every seat, coins included, in the order in which
/// they are dealt; 0 for none.
pub(crate) fn plain_bits(circuit: &Circuit, bits: &BTreeMap<Seat, Vec<Element>>) -> Vec<i64> {
    let mut wires = vec![Element::ZERO; circuit.gates.len()];
    for (seat, bits) in bits {
        for (&wire, &bit) in circuit.dealers[seat].wires.iter().zip(bits) {
            wires[wire as usize] = bit;
        }
    }
    for (index, &gate) in circuit.gates.iter().enumerate() {
        let wire = |wire: u32| wires[wire as usize];
        wires[index] = match gate {
            Gate::Input => wires[index],
            Gate::Constant(constant) => constant,
            Gate::Add(a, b) => wire(a) + wire(b),
            Gate::Sub(a, b) => wire(a) - wire(b),
            Gate::Scale(a, by) => by * wire(a),
            Gate::Multiply(a, b) => wire(a) * wire(b),
        };
    }
    circuit.reveals.iter().map(|reveal| wires[reveal.wire as usize].signed()).collect()
}

/// The outputs that a seat is shown, as numbers.
pub(crate) fn shown(outcome: &Outcome, outputs: usize) -> Vec<Option<i64>> {
    let read = |output| outcome.bit(output).map(i64::from).or(outcome.number(output));
    (0..outputs as u32).map(|index| read(Output(index))).collect()
}
