//! Targets of `throng-rounds`: what anybody may post to a board, and what whoever holds a seat may
//! say to the others.
//!
//! Whatever is posted, a participant gets what the others sent it or an error: never a key that the
//! other end does not have, data that nobody sent, or a wrong result.

use crate::target::Target;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use throng_account::Epsilon;
use throng_collection::Board;
use throng_rounds::{
    Bit, Channel, Circuit, Committee, ComputationPlan, Element, Hand, Input, Method, Number,
    Outcome, Output, Participant, Player, RobustXorSum, Seat, example, pad, piece,
};
use throng_wire::{Bag, Bulletin, CollectionId, Identity};

/// The place of a method in the list, then the messages of a round for keys.
pub const CARDS: Target = Target {
    name: "cards",
    rounds: 10_000,
    seeds: || {
        let all = (0..).zip(METHODS).map(|(place, method)| {
            let hands = hands(method);
            let messages = hands.iter().flat_map(Hand::messages).flatten();
            [place].into_iter().chain(messages).collect()
        });
        all.collect()
    },
    body: |bytes| {
        let [place, messages @ ..] = bytes else { return };
        let Ok(bag) = Bag::new(Hand::MESSAGE, messages) else {
            return assert!(!messages.len().is_multiple_of(Hand::MESSAGE));
        };
        let bulletin = Bulletin::new(id(), 0, 2, bag);
        let hands = hands(METHODS[usize::from(*place) % METHODS.len()]);
        let [low, high] = hands.map(|hand| {
            let own: Vec<_> = hand.messages().collect();
            let settled = hand.settle(&bulletin);
            assert!(settled.is_err() || own.iter().all(|own| bulletin.bag().count(own) > 0));
            settled
        });
        // Where both found all cards of their own, there was room for nothing else.
        if let (Ok(low), Ok(high)) = (low, high) {
            assert!(high.confirms(LOW, &low.confirmation(LOW)));
            assert!(low.confirms(HIGH, &high.confirmation(HIGH)));
        }
    },
};

/// A round, then the messages that everybody sees of it, or else what is in a frame that the
/// partner sealed.
pub const CHANNEL: Target = Target {
    name: "channel",
    rounds: 10_000,
    seeds: || {
        let frames = |round: usize| {
            let frames = ends().0.seal(round as u64, SAID[round]).unwrap().concat();
            let reports = frames.len() / FRAME + 1;
            let mut rng = ChaCha12Rng::seed_from_u64(round as u64);
            let padded = pad(&frames, reports, (1, FRAME as u32), &mut rng).unwrap().concat();
            [&[round as u8][..], &padded].concat()
        };
        let plain = [vec![0, 1, 0, 2, 7, 7, 0], vec![0, 0, 0, 2, 7, 7], vec![0]];
        (0..SAID.len()).map(frames).chain(plain).collect()
    },
    body: |bytes| {
        let [round, messages @ ..] = bytes else { return };
        if let Some(data) = piece(messages) {
            // One form for one text.
            let rest = &messages[3..];
            assert!(rest.starts_with(data) && rest[data.len()..].iter().all(|byte| *byte == 0));
        }
        let round = usize::from(*round) % SAID.len();
        let Ok(bag) = Bag::new(FRAME, messages) else { return };
        let mut end = ends().1;
        let bulletin = Bulletin::new(id(), round as u64, 2, bag);
        if let Ok(data) = end.open(&bulletin) {
            assert_eq!(data, SAID[round]);
        }
        // A round is opened once.
        assert!(end.open(&bulletin).is_err());
    },
};

/// Alterations of what one member of a committee says: a round, a receiver, what is done, how many
/// bytes follow, and those.
pub const COMPUTATION: Target = Target {
    name: "computation",
    rounds: 3_000,
    seeds: || {
        let alter = |round, to, what, bytes: &[u8]| {
            [&[round, to, what, bytes.len() as u8][..], bytes].concat()
        };
        let mut seeds = vec![Vec::new()];
        for round in 0..CIRCUIT.0.rounds() as u8 {
            for what in 0..5 {
                seeds.push(alter(round, 0, what, &[1, 0, 0, 0, 0, 0, 0, 0x80]));
            }
        }
        // On the line through 2k, k and 0, so that all shares fit, and 3k = −1: one of the products
        // is a no where it was a yes. Only the check of products sees it.
        let k = Element::ZERO - Element::from(3).inverse();
        for place in 0..64 {
            let add =
                |to, share: Element| alter(2, to, 4, &[&[place][..], &share.to_bytes()].concat());
            seeds.push([add(0, k + k), add(1, k)].concat());
        }
        // The same to everybody, so that they agree.
        seeds.push([0, 1, 3].map(|to| alter(1, to, 0, &[])).concat());
        seeds.push([0, 1, 3].map(|to| alter(6, to, 0, &[])).concat());
        seeds
    },
    body: |bytes| {
        let alterations: Vec<Alteration> = Alteration::all(bytes).collect();
        for (seat, outcome) in compute(&alterations) {
            // A liar may give another number of eight bits instead of 40, and leave out who may be
            // absent.
            match (seat, outcome.bit(CIRCUIT.1), outcome.number(CIRCUIT.2)) {
                (LIAR, ..) | (Seat(0 | 1), Some(true), None) | (_, None, Some(0..=257)) => {}
                (seat, yes, all) => panic!("{seat} is shown {yes:?} and {all:?}"),
            }
        }
    },
};

/// Alterations of what everybody sees of a computation: a round, the first of which is that for
/// keys, a message, what is done with it, how many bytes follow, and those.
pub const TALK: Target = Target {
    name: "talk",
    rounds: 150,
    seeds: || {
        let mut seeds = vec![Vec::new()];
        for round in 0..=PLAN.talk_rounds() as u8 {
            for what in 0..5 {
                seeds.push(vec![round, 3 * round, what, 2, 1, 0x80]);
            }
        }
        seeds
    },
    body: |bytes| {
        let alterations: Vec<Alteration> = Alteration::all(bytes).collect();
        for (seat, outcome) in talk(&alterations) {
            let sum = if outcome.absent().is_empty() { 42 } else { 40 };
            match (seat, outcome.bit(CIRCUIT.1), outcome.number(CIRCUIT.2)) {
                (Seat(0 | 1), Some(true), None) => {}
                (Seat(2 | 3), None, Some(shown)) if shown == sum => {}
                (seat, yes, all) => panic!("{seat} is shown {yes:?} and {all:?}"),
            }
        }
    },
};

/// The length of messages, then messages to be counted by groups.
pub const XOR_SUM: Target = Target {
    name: "xor_sum",
    rounds: 20_000,
    seeds: || {
        let message = |repeat, group, bit| [0, repeat, 0, 0, 0, group, bit];
        let messages = [message(0, 1, 1), message(0, 1, 0), message(0, 2, 1), message(1, 1, 2)];
        vec![[&[7][..], messages.as_flattened()].concat(), vec![7]]
    },
    body: |bytes| {
        let [each, messages @ ..] = bytes else { return };
        let each = usize::from(*each).max(1);
        let protocol = RobustXorSum::new(Epsilon::new(1.0).unwrap()).unwrap();
        let found = protocol.estimate(messages.chunks(each));
        let counted: u64 = found.iter().map(|sum| sum.messages).sum();
        assert!(counted <= messages.len().div_ceil(each) as u64);
        assert!(found.is_sorted_by_key(|sum| sum.repeat));
        assert!(found.iter().all(|sum| !sum.value.is_nan() && sum.standard_error >= 0.0));
    },
};

/// What happens to one message.
struct Alteration<'a> {
    round: u8,
    /// The receiver, or the place in a bag.
    place: u8,
    what: u8,
    bytes: &'a [u8],
}

impl<'a> Alteration<'a> {
    /// All that an input asks for, of which a few are enough.
    fn all(mut input: &'a [u8]) -> impl Iterator<Item = Self> {
        let next = move || {
            let (&[round, place, what, length], rest) = input.split_first_chunk()?;
            let (bytes, rest) = rest.split_at(rest.len().min(length.into()));
            input = rest;
            Some(Self { round, place, what, bytes })
        };
        std::iter::from_fn(next).take(16)
    }

    /// The message that comes instead, if one does.
    fn of(&self, mut message: Vec<u8>) -> Option<Vec<u8>> {
        match self.what % 5 {
            0 => return None,
            1 => message = self.bytes.to_vec(),
            2 => message.iter_mut().zip(self.bytes).for_each(|(byte, other)| *byte ^= other),
            3 => message.truncate(self.bytes.len()),
            _ => drop(self.add(&mut message)),
        }
        Some(message)
    }

    /// Adds to the share at a place of a message, in shares from its beginning.
    fn add(&self, message: &mut [u8]) -> Option<()> {
        let (&[at], more) = self.bytes.split_first_chunk()?;
        let share = message.get_mut(8 * usize::from(at)..)?.first_chunk_mut()?;
        let sum = Element::from_bytes(*share)? + Element::from_bytes(*more.first_chunk()?)?;
        *share = sum.to_bytes();
        Some(())
    }
}

/// Runs the circuit without a network, and returns what each seat is shown. A seat that gets an
/// error is silent from then on.
fn compute(alterations: &[Alteration<'_>]) -> Vec<(Seat, Outcome)> {
    let circuit = &CIRCUIT.0;
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let player = |seat: usize| Player::new(circuit.clone(), SEATS[seat], &[given(seat)]);
    let mut players: Vec<_> = (0..SEATS.len()).map(|seat| player(seat).ok()).collect();
    let mut outcomes = Vec::new();
    for round in 0..circuit.rounds() {
        let mut incoming = vec![BTreeMap::new(); SEATS.len()];
        for (player, from) in players.iter_mut().zip(SEATS) {
            let sent = player.as_mut().map(|player| player.send(&mut rng));
            for (to, message) in sent.and_then(Result::ok).unwrap_or_default() {
                let fitting = |a: &&Alteration<'_>| {
                    from == LIAR
                        && usize::from(a.round) == round
                        && u32::from(a.place) % SEATS.len() as u32 == to.0
                };
                let alter = |message: Option<Vec<u8>>, by: &Alteration<'_>| by.of(message?);
                let message = alterations.iter().filter(fitting).fold(Some(message), alter);
                incoming[to.0 as usize].extend(message.map(|message| (from, message)));
            }
        }
        for ((player, incoming), seat) in players.iter_mut().zip(incoming).zip(SEATS) {
            match player.as_mut().map(|player| player.receive(incoming)) {
                Some(Ok(outcome)) => outcomes.extend(outcome.map(|outcome| (seat, outcome))),
                Some(Err(_)) => *player = None,
                None => {}
            }
        }
    }
    outcomes
}

/// Runs the plan over boards, and returns what each seat is shown.
fn talk(alterations: &[Alteration<'_>]) -> Vec<(Seat, Outcome)> {
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    let join =
        |seat: usize| Participant::new(&PLAN, SEATS[seat], identity(seat), &[given(seat)]).unwrap();
    let mut all: Vec<_> = (0..SEATS.len()).map(join).collect();
    let mut posts = Vec::new();
    for participant in &mut all {
        posts.extend(participant.offer(&BOARDS[0], &mut rng).unwrap());
    }
    let seen = shown(&BOARDS[0], 0, &posts.concat(), alterations);
    for participant in &mut all {
        participant.settle(&seen).unwrap();
        participant.begin(&BOARDS[1]).unwrap();
    }
    let mut outcomes = Vec::new();
    for round in 0..PLAN.talk_rounds() {
        let mut posts = Vec::new();
        for participant in &mut all {
            posts.extend(participant.speak(round, &mut rng).unwrap_or_default());
        }
        let seen = shown(&BOARDS[1], round, &posts.concat(), alterations);
        for (participant, seat) in all.iter_mut().zip(SEATS) {
            let heard = participant.hear(&seen).ok().flatten();
            outcomes.extend(heard.map(|outcome| (seat, outcome)));
        }
    }
    outcomes
}

/// What everybody sees of a round after some messages were dropped, altered or put in.
fn shown(board: &Board, round: u64, posts: &[u8], alterations: &[Alteration<'_>]) -> Bulletin {
    let each = board.payload as usize;
    let mut messages: Vec<Vec<u8>> = posts.chunks(each).map(<[u8]>::to_vec).collect();
    let turn = if board.rounds == 1 { 0 } else { round + 1 };
    for by in alterations.iter().filter(|by| u64::from(by.round) == turn) {
        let place = usize::from(by.place) % messages.len().max(1);
        let Some(message) = messages.get(place).cloned() else { continue };
        match by.of(message) {
            None => drop(messages.swap_remove(place)),
            Some(mut message) => {
                // Put in beside the old one, or in its place.
                message.resize(each, 0);
                if by.what < 128 { messages[place] = message } else { messages.push(message) }
            }
        }
    }
    Bulletin::new(board.id(), round, 4, Bag::new(each, &messages.concat()).unwrap())
}

/// One end of each of the two directions of a channel.
fn ends() -> (Channel, Channel) {
    let [low, high] = example::pair_keys(&mut ChaCha12Rng::seed_from_u64(3));
    let end = |key, own, partner| Channel::new(key, own, partner, id(), FRAME).unwrap();
    (end(&low, LOW, HIGH), end(&high, HIGH, LOW))
}

fn hands(method: Method) -> [Hand; 2] {
    let mut rng = ChaCha12Rng::seed_from_u64(4);
    [(LOW, HIGH), (HIGH, LOW)].map(|(own, other)| Hand::draw(own, other, method, &mut rng).unwrap())
}

/// What a seat gives: both say yes, and the numbers sum to 42.
fn given(seat: usize) -> Input {
    match seat {
        0 | 1 => Input::Bit(true),
        2 => Input::Integer(40),
        _ => Input::Integer(2),
    }
}

fn id() -> CollectionId {
    CollectionId::new([5; 32])
}

fn identity(seat: usize) -> Identity {
    Identity::from_seed(&[seat as u8 + 1; 32])
}

/// The circuit, and its two outputs: seats 0 and 1 learn whether both say yes, and the others what
/// two numbers sum to. The second number may be missing. Seat 3 is shown a coin too.
static CIRCUIT: LazyLock<(Arc<Circuit>, Output, Output)> = LazyLock::new(|| {
    let mut circuit = Circuit::new(4, Committee::new(SEATS[..3].to_vec(), 1).unwrap());
    let bits: [Bit; 2] = [0, 1].map(|seat| circuit.bit(SEATS[seat]));
    let numbers: [Number; 2] = [2, 3].map(|seat| circuit.integer(SEATS[seat], 8));
    circuit.may_be_absent(SEATS[3]);
    let coin = circuit.coin();
    circuit.reveal_bit(coin, &SEATS[3..]);
    let both = circuit.and(bits[0], bits[1]);
    let sum = circuit.sum(numbers);
    let both = circuit.reveal_bit(both, &SEATS[..2]);
    let sum = circuit.reveal_number(sum, &SEATS[2..]);
    (Arc::new(circuit), both, sum)
});

static PLAN: LazyLock<Arc<ComputationPlan>> = LazyLock::new(|| {
    let roster = (0..SEATS.len()).map(|seat| identity(seat).public()).collect();
    let circuit = Circuit::clone(&CIRCUIT.0);
    Arc::new(ComputationPlan::new(circuit, roster, METHODS[1]).unwrap())
});

/// The board for keys, and the other one.
static BOARDS: LazyLock<[Board; 2]> = LazyLock::new(|| {
    let (schedule, chain) = (throng_wire::example::schedule(), throng_wire::example::chain());
    let keys = PLAN.key_board(1, 4, schedule, chain.clone());
    [keys, PLAN.talk_board(4, schedule, chain)]
});

const SEATS: [Seat; 4] = [Seat(0), Seat(1), Seat(2), Seat(3)];

/// The seat whose messages are altered.
const LIAR: Seat = Seat(2);

const METHODS: [Method; 2] = [Method::Bits { positions: 6, bits: 1 }, Method::Cards { cards: 3 }];

const LOW: Seat = Seat(3);
const HIGH: Seat = Seat(8);

/// Bytes of a message on the board of a channel.
const FRAME: usize = 40;

/// What is said in each round.
const SAID: [&[u8]; 3] = [b"short", b"", b"longer than one frame"];
