//! Whole computations by participants around one table: what is posted is put into bags in process,
//! so that messages can be dropped, copied, altered and forged on the way.

use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use throng_collection::Board;
use throng_rounds::{
    Circuit, Committee, ComputationPlan, Error, Failure, Input, Method, Outcome, Output,
    Participant, Seat,
};
use throng_wire::{Bag, Below, Bulletin, Chain, Identity, Party, Schedule};

/// The messages that everyone posts in a round, for an adversary to change.
type Posts = BTreeMap<Seat, Vec<Vec<u8>>>;

struct Table {
    plan: Arc<ComputationPlan>,
    participants: BTreeMap<Seat, Participant>,
    rng: ChaCha12Rng,
    keys: Board,
    talk: Board,
}

impl Table {
    fn new(circuit: Circuit, values: &[Vec<Input>]) -> Self {
        let seats = circuit.seats();
        let identities: Vec<Identity> = (0..seats).map(identity).collect();
        let roster = identities.iter().map(Identity::public).collect();
        let plan =
            Arc::new(ComputationPlan::new(circuit, roster, Method::cards(128).unwrap()).unwrap());
        let mut participants = BTreeMap::new();
        for ((seat, identity), values) in (0..).map(Seat).zip(identities).zip(values) {
            participants.insert(seat, Participant::new(&plan, seat, identity, values).unwrap());
        }
        let keys = plan.key_board(3, 2, schedule(), chain());
        let talk = plan.talk_board(2, schedule(), chain());
        Self { plan, participants, rng: ChaCha12Rng::seed_from_u64(1), keys, talk }
    }

    /// One round on the board for keys, through an adversary.
    fn agree(&mut self, round: u64, adversary: impl FnOnce(&mut Posts)) -> Failures {
        let Self { participants, rng, keys, .. } = self;
        let mut posted = Posts::new();
        for (&seat, participant) in participants.iter_mut() {
            let reports = participant.offer(keys, rng).unwrap();
            posted.insert(seat, messages(&reports, keys));
        }
        adversary(&mut posted);
        let bulletin = bulletin(keys, round, &posted);
        let settle = |(seat, participant): (&Seat, &mut Participant)| {
            let failures = participant.settle(&bulletin).unwrap();
            failures.into_iter().map(|(with, why)| ((*seat, with), why)).collect::<Vec<_>>()
        };
        participants.iter_mut().flat_map(settle).collect()
    }

    /// All rounds on the other board. `adversary` changes what is posted; whoever it leaves with
    /// nothing has left the table.
    fn talk(&mut self, mut adversary: impl FnMut(u64, &mut Posts)) -> Results {
        let Self { plan, participants, rng, talk, .. } = self;
        for participant in participants.values_mut() {
            participant.begin(talk).unwrap();
        }
        let mut results = Results::new();
        for round in 0..plan.talk_rounds() {
            let mut posted = Posts::new();
            for (&seat, participant) in participants.iter_mut() {
                match participant.speak(round, rng) {
                    Ok(reports) => {
                        posted.insert(seat, messages(&reports, talk));
                    }
                    Err(error) => {
                        results.entry(seat).or_insert(Err(error));
                    }
                }
            }
            adversary(round, &mut posted);
            participants.retain(|seat, _| !posted.get(seat).is_some_and(Vec::is_empty));
            let bulletin = bulletin(talk, round, &posted);
            for (&seat, participant) in participants.iter_mut() {
                match participant.hear(&bulletin) {
                    Ok(None) => {}
                    Ok(Some(outcome)) => {
                        results.insert(seat, Ok(outcome));
                    }
                    Err(error) => {
                        results.entry(seat).or_insert(Err(error));
                    }
                }
            }
        }
        results
    }
}

type Failures = BTreeMap<(Seat, Seat), Failure>;
type Results = BTreeMap<Seat, Result<Outcome, Error>>;

fn identity(seat: u32) -> Identity {
    Identity::from_seed(&[seat as u8 + 1; 32])
}

fn schedule() -> Schedule {
    Schedule { start: 0, every: 60, grace: 0, below: Below::Expire }
}

fn chain() -> Chain {
    let party = |name: &str, seed| Party {
        name: name.into(),
        url: format!("https://{name}.example"),
        identity: Identity::from_seed(&[seed; 32]).public(),
    };
    Chain { mixes: vec![party("north", 201), party("south", 202)], analyzer: party("counter", 203) }
}

fn messages(reports: &[Vec<u8>], board: &Board) -> Vec<Vec<u8>> {
    let each = board.payload as usize;
    for report in reports {
        assert_eq!(report.len(), each * board.messages as usize, "every report has one length");
    }
    reports.iter().flat_map(|report| report.chunks_exact(each)).map(<[u8]>::to_vec).collect()
}

fn bulletin(board: &Board, round: u64, posted: &Posts) -> Bulletin {
    let all: Vec<u8> = posted.values().flatten().flatten().copied().collect();
    let bag = Bag::new(board.payload as usize, &all).unwrap();
    Bulletin::new(board.id(), round, posted.len() as u64, bag)
}

fn nothing(_: u64, _: &mut Posts) {}

/// The wedding problem: two wonder, a third helps.
fn wedding(alice: bool, bob: bool) -> (Table, Output) {
    let [a, b, c] = [Seat(0), Seat(1), Seat(2)];
    let mut circuit = Circuit::new(3, Committee::new(vec![a, b, c], 1).unwrap());
    let (hers, his) = (circuit.bit(a), circuit.bit(b));
    let both = circuit.and(hers, his);
    let answer = circuit.reveal_bit(both, &[a, b]);
    (Table::new(circuit, &[vec![Input::Bit(alice)], vec![Input::Bit(bob)], vec![]]), answer)
}

/// The sum of what eight participants have, of whom five compute; all but the members may be
/// absent.
fn sum() -> (Table, Output) {
    let members: Vec<Seat> = (0..5).map(Seat).collect();
    let mut circuit = Circuit::new(8, Committee::new(members.clone(), 1).unwrap());
    let numbers: Vec<_> = (0..8).map(|seat| circuit.integer(Seat(seat), 4)).collect();
    (5..8).for_each(|seat| circuit.may_be_absent(Seat(seat)));
    let sum = circuit.sum(numbers);
    let answer = circuit.reveal_number(sum, &members);
    let values: Vec<_> = (1..=8).map(|number| vec![Input::Integer(number)]).collect();
    (Table::new(circuit, &values), answer)
}

#[test]
fn two_learn_whether_both_said_yes_and_the_helper_learns_nothing() {
    for (alice, bob) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut table, answer) = wedding(alice, bob);
        assert!(table.agree(0, |_| ()).is_empty());
        let results = table.talk(nothing);
        for seat in [Seat(0), Seat(1)] {
            assert_eq!(results[&seat].as_ref().unwrap().bit(answer), Some(alice && bob));
        }
        assert_eq!(results[&Seat(2)].as_ref().unwrap().bit(answer), None);
    }
}

#[test]
fn whoever_drops_out_after_agreeing_on_keys_is_left_out_of_the_sum() {
    let (mut table, answer) = sum();
    assert!(table.agree(0, |_| ()).is_empty());
    let results = table.talk(|round, posted| {
        if round == 1 {
            posted.insert(Seat(6), Vec::new());
        }
    });
    assert!(!results.contains_key(&Seat(6)));
    for member in (0..5).map(Seat) {
        let outcome = results[&member].as_ref().unwrap();
        assert_eq!(outcome.number(answer), Some(1 + 2 + 3 + 4 + 5 + 6 + 8));
        assert_eq!(outcome.absent(), [Seat(6)]);
    }
}

#[test]
fn two_of_five_members_may_leave_before_and_after_the_products_and_three_may_not() {
    let rounds = sum().0.plan.talk_rounds();
    // They deal and are not heard of any more, or leave when everything is checked.
    let multiplying = 3..rounds - 1;
    for leave in 2..rounds {
        let (mut table, answer) = sum();
        assert!(table.agree(0, |_| ()).is_empty());
        let results = table.talk(|round, posted| {
            if round == leave {
                posted.insert(Seat(3), Vec::new());
                posted.insert(Seat(4), Vec::new());
            }
        });
        for member in (0..3).map(Seat) {
            if multiplying.contains(&leave) {
                let left = Error::Left { seat: Seat(3) };
                assert_eq!(results[&member].as_ref().unwrap_err(), &left);
                continue;
            }
            let outcome = results[&member].as_ref().unwrap();
            assert_eq!(outcome.number(answer), Some(36), "left in round {leave}");
        }
    }
    let (mut table, _) = sum();
    assert!(table.agree(0, |_| ()).is_empty());
    let results = table.talk(|round, posted| {
        if round == 3 {
            (2..5).for_each(|seat| drop(posted.insert(Seat(seat), Vec::new())));
        }
    });
    let too_few = Error::TooFew { present: 2, needed: 3 };
    for member in [Seat(0), Seat(1)] {
        assert_eq!(results[&member].as_ref().unwrap_err(), &too_few);
    }
}

#[test]
fn a_required_participant_who_is_missing_ends_it_with_its_name() {
    let (mut table, _) = wedding(true, true);
    assert!(table.agree(0, |_| ()).is_empty());
    let results = table.talk(|round, posted| {
        if round == 1 {
            posted.insert(Seat(1), Vec::new());
        }
    });
    // Without Bob two of three members are left, and three are needed.
    assert!(matches!(results[&Seat(0)], Err(Error::TooFew { .. })), "{:?}", results[&Seat(0)]);

    let members: Vec<Seat> = (0..3).map(Seat).collect();
    let mut circuit = Circuit::new(4, Committee::new(members.clone(), 1).unwrap());
    let bit = circuit.bit(Seat(3));
    circuit.reveal_bit(bit, &members);
    let mut table = Table::new(circuit, &[vec![], vec![], vec![], vec![Input::Bit(true)]]);
    assert!(table.agree(0, |_| ()).is_empty());
    let results = table.talk(|round, posted| {
        if round == 1 {
            posted.insert(Seat(3), Vec::new());
        }
    });
    for member in members {
        assert_eq!(results[&member].as_ref().unwrap_err(), &Error::Absent { seat: Seat(3) });
    }
}

#[test]
fn a_failed_pair_tries_again_and_the_computation_goes_on() {
    let (mut table, answer) = wedding(true, true);
    // Somebody else puts a card on the table of seats 0 and 1.
    let failures = table.agree(0, |posted| {
        let mut card = posted[&Seat(0)].iter().find(|m| m[..8] == PAIR).unwrap().clone();
        card[17] ^= 1;
        posted.get_mut(&Seat(2)).unwrap().push(card);
    });
    let pair = [(Seat(0), Seat(1)), (Seat(1), Seat(0))];
    assert_eq!(failures, pair.map(|ends| (ends, Failure::Crowded)).into_iter().collect());
    assert!(table.agree(1, |_| ()).is_empty());
    assert_eq!(table.talk(nothing)[&Seat(0)].as_ref().unwrap().bit(answer), Some(true));
}

#[test]
fn nothing_is_computed_when_a_partner_never_came() {
    let (mut table, _) = wedding(true, true);
    table.participants.remove(&Seat(2));
    let failures = table.agree(0, |_| ());
    assert_eq!(failures[&(Seat(0), Seat(2))], Failure::Absent);
    let results = table.talk(nothing);
    for seat in [Seat(0), Seat(1)] {
        let too_few = Error::TooFew { present: 2, needed: 3 };
        assert_eq!(results[&seat].as_ref().unwrap_err(), &too_few);
    }
}

// A mix that drops Carol and takes her seat agrees on keys with everybody. It learns nothing more.
#[test]
fn a_stranger_in_a_seat_is_told_nothing() {
    let (mut table, _) = wedding(true, true);
    let plan = table.plan.clone();
    let roster: Vec<_> = [0, 1, 77].map(|seat| identity(seat).public()).to_vec();
    let method = Method::cards(128).unwrap();
    let forged =
        Arc::new(ComputationPlan::new(plan.circuit().as_ref().clone(), roster, method).unwrap());
    let taken = Participant::new(&forged, Seat(2), identity(77), &[]).unwrap();
    table.participants.insert(Seat(2), taken);
    assert!(table.agree(0, |_| ()).is_empty());
    let mut said = 0;
    let results = table.talk(|round, posted| {
        if round == 1 {
            said = [Seat(0), Seat(1)].iter().filter(|seat| posted.contains_key(seat)).count();
        }
    });
    assert_eq!(said, 0, "nobody deals");
    for seat in [Seat(0), Seat(1)] {
        let too_few = Error::TooFew { present: 2, needed: 3 };
        assert_eq!(results[&seat].as_ref().unwrap_err(), &too_few);
    }
}

// Whoever took the seat of an optional participant could otherwise stop the others at once.
#[test]
fn a_confirmation_that_is_copied_or_cut_counts_as_none() {
    let (mut table, answer) = sum();
    assert!(table.agree(0, |_| ()).is_empty());
    let results = table.talk(|round, posted| {
        if round == 0 {
            let copies = posted[&Seat(7)].clone();
            posted.get_mut(&Seat(7)).unwrap().extend(copies);
        }
    });
    for member in (0..5).map(Seat) {
        let outcome = results[&member].as_ref().unwrap();
        assert_eq!(outcome.number(answer), Some(1 + 2 + 3 + 4 + 5 + 6 + 7));
        assert_eq!(outcome.absent(), [Seat(7)]);
    }
}

#[test]
fn participants_with_another_function_do_not_confirm_each_other() {
    let (mut table, _) = wedding(true, true);
    let plan = table.plan.clone();
    let mut other = plan.circuit().as_ref().clone();
    let coin = other.coin();
    other.reveal_bit(coin, &[Seat(2)]);
    let roster = (0..3).map(|seat| identity(seat).public()).collect();
    let other = Arc::new(ComputationPlan::new(other, roster, plan.method()).unwrap());
    assert_ne!(other.digest(), plan.digest());
    let deviant = Participant::new(&other, Seat(2), identity(2), &[]).unwrap();
    table.participants.insert(Seat(2), deviant);
    assert!(table.agree(0, |_| ()).is_empty());
    let results = table.talk(nothing);
    assert!(matches!(results[&Seat(0)], Err(Error::TooFew { present: 2, needed: 3 })));
}

#[test]
fn who_does_not_find_its_own_messages_stops() {
    let rounds = wedding(true, true).0.plan.talk_rounds();
    for when in 0..rounds {
        let (mut table, _) = wedding(true, true);
        assert!(table.agree(0, |_| ()).is_empty());
        let results = table.talk(|round, posted| {
            if round == when {
                // All frames of Alice are real ones: she talks to two, and a report has two.
                for message in posted.get_mut(&Seat(0)).unwrap() {
                    message[20] ^= 1;
                }
            }
        });
        let lost = results[&Seat(0)].as_ref().unwrap_err();
        // In rounds in which she says nothing there is nothing to miss.
        assert!(matches!(lost, Error::Lost { round } if *round == when), "{when}: {lost}");
        assert!(results[&Seat(1)].is_err(), "a wrong result in round {when}");
    }
}

#[test]
fn a_copied_frame_ends_it() {
    let (mut table, _) = wedding(true, true);
    assert!(table.agree(0, |_| ()).is_empty());
    let results = table.talk(|round, posted| {
        if round == 2 {
            let copies = posted[&Seat(0)].clone();
            posted.get_mut(&Seat(2)).unwrap().extend(copies);
        }
    });
    assert!(matches!(results[&Seat(1)], Err(Error::Doubled { seat: Seat(0), round: 2 })));
    assert!(results.values().all(Result::is_err));
}

#[test]
fn frames_of_an_earlier_round_are_nothing_but_noise_in_a_later_one() {
    let (mut table, answer) = wedding(true, true);
    assert!(table.agree(0, |_| ()).is_empty());
    let mut earlier = Vec::new();
    let results = table.talk(|_, posted| {
        let now: Vec<_> = posted.values().flatten().cloned().collect();
        posted.get_mut(&Seat(2)).unwrap().append(&mut earlier);
        earlier = now;
    });
    assert_eq!(results[&Seat(0)].as_ref().unwrap().bit(answer), Some(true));
}

#[test]
fn steps_out_of_turn_are_refused() {
    let (mut table, _) = wedding(true, true);
    let Table { participants, rng, keys, talk, .. } = &mut table;
    let alice = participants.get_mut(&Seat(0)).unwrap();
    let empty = bulletin(talk, 0, &Posts::new());
    assert_eq!(alice.speak(0, rng).unwrap_err(), Error::OutOfTurn);
    let bob = participants.get_mut(&Seat(1)).unwrap();
    bob.begin(talk).unwrap();
    assert_eq!(bob.begin(talk).unwrap_err(), Error::OutOfTurn);
    let carol = participants.get_mut(&Seat(2)).unwrap();
    carol.begin(talk).unwrap();
    assert_eq!(carol.hear(&empty).unwrap_err(), Error::OutOfTurn);
    assert_eq!(carol.offer(keys, rng).unwrap_err(), Error::OutOfTurn);
}

// Whoever has keys and skips the round that confirms them would deal to strangers.
#[test]
fn nothing_is_dealt_before_keys_are_confirmed() {
    let (mut table, _) = wedding(true, true);
    assert!(table.agree(0, |_| ()).is_empty());
    let Table { participants, rng, talk, .. } = &mut table;
    let alice = participants.get_mut(&Seat(0)).unwrap();
    alice.begin(talk).unwrap();
    assert_eq!(alice.speak(1, rng).unwrap_err(), Error::OutOfTurn);
    assert_eq!(alice.speak(0, rng).unwrap_err(), Error::OutOfTurn);
}

#[test]
fn a_bulletin_of_another_round_or_board_is_refused() {
    for (foreign, round, scope) in [(false, 1, "round"), (true, 0, "collection")] {
        let (mut table, _) = wedding(true, true);
        assert!(table.agree(0, |_| ()).is_empty());
        let Table { participants, rng, keys, talk, .. } = &mut table;
        let alice = participants.get_mut(&Seat(0)).unwrap();
        alice.begin(talk).unwrap();
        let said = messages(&alice.speak(0, rng).unwrap(), talk);
        let board =
            if foreign { Board { payload: talk.payload, ..keys.clone() } } else { talk.clone() };
        let shown = bulletin(&board, round, &Posts::from([(Seat(0), said)]));
        let refused = throng_wire::Error::Foreign { what: "bulletin", scope };
        assert_eq!(alice.hear(&shown).unwrap_err(), Error::Wire(refused));
    }
}

#[test]
fn a_seat_takes_its_own_identity_and_as_many_values_as_it_has_inputs() {
    let (table, _) = wedding(true, true);
    let none = Participant::new(&table.plan, Seat(0), identity(0), &[]).unwrap_err();
    assert_eq!(none, Error::Arity { seat: Seat(0), expected: 1, given: 0 });
    let number = Participant::new(&table.plan, Seat(0), identity(0), &[Input::Integer(1)]);
    assert!(matches!(number, Err(Error::Input { seat: Seat(0), place: 0, .. })));
    let other = Participant::new(&table.plan, Seat(0), identity(1), &[Input::Bit(true)]);
    assert!(matches!(other, Err(Error::Parameter { .. })));
}

#[test]
fn a_roster_has_one_identity_for_every_seat() {
    let plan = wedding(true, true).0.plan;
    for (seats, good) in [(&[0, 1, 2][..], true), (&[0, 1, 1], false), (&[0, 1], false)] {
        let roster = seats.iter().map(|&seat| identity(seat).public()).collect();
        let made = ComputationPlan::new(plan.circuit().as_ref().clone(), roster, plan.method());
        assert_eq!(made.is_ok(), good, "{seats:?}");
    }
}

/// Seats 0 and 1, as tags begin.
const PAIR: [u8; 8] = [0, 0, 0, 0, 0, 0, 0, 1];
