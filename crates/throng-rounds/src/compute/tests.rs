use super::testing::{Letter, Values, plain, rng, run, run_between, shown};
use super::*;
use crate::Bit;
use proptest::prelude::*;
use rand_core::Rng;
use throng_account::Delta;
use throng_account::tail::success_band;

fn seats(from: u32, to: u32) -> Vec<Seat> {
    (from..to).map(Seat).collect()
}

/// `seats` participants, of whom the first `members` compute.
fn circuit(all: u32, members: u32, corrupt: u32) -> Circuit {
    Circuit::new(all, Committee::new(seats(0, members), corrupt).unwrap())
}

fn bits(values: &[bool]) -> Values {
    let value = |(seat, &bit): (usize, &bool)| (Seat(seat as u32), vec![Input::Bit(bit)]);
    values.iter().enumerate().map(value).collect()
}

/// Two for the ands, and one for each wish, which proves that it is a bit.
#[test]
fn an_and_of_three_bits_takes_five_multiplications() {
    let mut circuit = circuit(3, 3, 1);
    let wishes = [0, 1, 2].map(|seat| circuit.bit(Seat(seat)));
    let all = circuit.and_all(&wishes);
    circuit.reveal_bit(all, &seats(0, 3));
    assert_eq!(circuit.layers.iter().map(|layer| layer.products.len()).sum::<usize>(), 5);
}

#[test]
fn the_gates_follow_their_truth_tables() {
    let mut circuit = circuit(3, 3, 1);
    let (a, b) = (circuit.bit(Seat(0)), circuit.bit(Seat(1)));
    let wires = [circuit.and(a, b), circuit.or(a, b), circuit.xor(a, b), circuit.not(a)];
    let outputs = wires.map(|wire| circuit.reveal_bit(wire, &[Seat(2)]));
    let circuit = Arc::new(circuit);
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let outcomes = run(&circuit, &bits(&[a, b]), 1);
        let found = outputs.map(|output| outcomes[2].bit(output).unwrap());
        assert_eq!(found, [a & b, a | b, a ^ b, !a]);
        assert!(outputs.iter().all(|&output| outcomes[0].bit(output).is_none()));
        assert!(outputs.iter().all(|&output| outcomes[2].number(output).is_none()));
        assert!(outcomes[2].absent().is_empty());
    }
}

#[test]
fn trees_take_a_logarithm_of_rounds() {
    for count in 0..9 {
        let mut circuit = circuit(9, 3, 1);
        let wires: Vec<_> = seats(0, count).into_iter().map(|seat| circuit.bit(seat)).collect();
        let (odd, all) = (circuit.xor_all(&wires), circuit.and_all(&wires));
        let outputs = [odd, all].map(|wire| circuit.reveal_bit(wire, &[Seat(8)]));
        let depth = count.next_power_of_two().trailing_zeros() as usize;
        assert_eq!(circuit.depth(), depth.max(usize::from(count > 0)));
        let circuit = Arc::new(circuit);
        for pattern in [0_u32, 1, 0b1011, 0xff] {
            let values: Vec<_> = (0..count).map(|i| pattern >> i & 1 == 1).collect();
            let outcomes = run(&circuit, &bits(&values), 2);
            let found = outputs.map(|output| outcomes[8].bit(output).unwrap());
            let ones = values.iter().filter(|&&bit| bit).count();
            assert_eq!(found, [ones % 2 == 1, ones == values.len()]);
        }
    }
}

#[test]
fn numbers_are_added_scaled_multiplied_and_shown_with_their_sign() {
    let mut circuit = circuit(4, 3, 1);
    let (a, b) = (circuit.integer(Seat(3), 8), circuit.integer(Seat(0), 32));
    let difference = circuit.sub(a, b);
    let scaled = circuit.scale(difference, -3);
    let seven = circuit.constant(7);
    let shifted = circuit.add(scaled, seven);
    let product = circuit.multiply(a, difference);
    let sum = circuit.sum([a, b, seven]);
    let wires = [difference, scaled, shifted, product, sum];
    assert_eq!(product.range, Some((-255 * i64::from(u32::MAX), 255 * 255)));
    let outputs = wires.map(|wire| circuit.reveal_number(wire, &[Seat(3)]));
    let (circuit, mut values) = (Arc::new(circuit), Values::new());
    for (a, b) in [(0, 0), (255, u32::MAX), (17, 4), (0, 1)] {
        values.insert(Seat(3), vec![Input::Integer(a)]);
        values.insert(Seat(0), vec![Input::Integer(b.into())]);
        let outcomes = run(&circuit, &values, 3);
        let found = outputs.map(|output| outcomes[3].number(output).unwrap());
        let (a, b) = (a as i64, i64::from(b));
        assert_eq!(found, [a - b, 3 * (b - a), 3 * (b - a) + 7, a * (a - b), a + b + 7]);
    }
}

#[test]
fn choices_are_counted() {
    let mut circuit = circuit(6, 3, 1);
    let everybody = seats(0, 6);
    let ballots: Vec<_> = everybody.iter().map(|&seat| circuit.choice(seat, 3)).collect();
    let outputs: Vec<_> = (0..3)
        .map(|option| {
            let count = circuit.sum(ballots.iter().map(|ballot| ballot[option]));
            circuit.reveal_number(count, &everybody)
        })
        .collect();
    let votes = [Some(0), Some(2), None, Some(2), Some(0), Some(2)];
    let values = everybody.iter().zip(votes).map(|(&s, vote)| (s, vec![Input::Choice(vote)]));
    for outcome in run(&Arc::new(circuit), &values.collect(), 4) {
        let counts: Vec<_> =
            outputs.iter().map(|&output| outcome.number(output).unwrap()).collect();
        assert_eq!(counts, [2, 0, 3]);
    }
}

/// Sixteen coins, 400 runs: a fair coin fails this with probability below 3.2e-8.
#[test]
fn coins_are_fair_with_and_without_all_members() {
    let mut circuit = circuit(5, 5, 1);
    let outputs: Vec<_> = (0..8)
        .map(|_| {
            let coin = circuit.coin();
            circuit.reveal_bit(coin, &[Seat(1)])
        })
        .collect();
    let circuit = Arc::new(circuit);
    for absent in [None, Some(Seat(4))] {
        let mut heads = [0; 8];
        for seed in 0..400 {
            let results =
                run_between(&circuit, &Values::new(), seed, |sent| Some(sent.from) != absent);
            let outcome = results[1].as_ref().unwrap();
            assert_eq!(outcome.absent(), absent.as_slice());
            for (heads, &output) in heads.iter_mut().zip(&outputs) {
                *heads += u64::from(outcome.bit(output).unwrap());
            }
        }
        for heads in heads {
            let band = success_band(heads, 400, Delta::new(1e-9).unwrap());
            assert!(band.lower < 0.5 && 0.5 < band.upper, "{heads} of 400");
        }
    }
}

/// A tape of instructions, each making a wire from earlier ones.
fn build(circuit: &mut Circuit, tape: &[(u8, usize, usize)]) {
    let mut wires: Vec<Bit> = seats(0, 4).into_iter().map(|seat| circuit.bit(seat)).collect();
    let mut numbers = vec![circuit.integer(Seat(3), 4)];
    for &(gate, i, j) in tape {
        let (a, b) = (wires[i % wires.len()], wires[j % wires.len()]);
        let (x, y) = (numbers[i % numbers.len()], numbers[j % numbers.len()]);
        match gate {
            0 => wires.push(circuit.and(a, b)),
            1 => wires.push(circuit.or(a, b)),
            2 => wires.push(circuit.xor(a, b)),
            3 => wires.push(circuit.not(a)),
            4 => numbers.push(circuit.add(x, a)),
            5 => numbers.push(circuit.sub(x, y)),
            6 => numbers.push(circuit.scale(a, j as i64 - 5)),
            _ => wires.push(circuit.xor_all(&wires.clone()[i % wires.len()..])),
        }
    }
    for wire in wires {
        circuit.reveal_bit(wire, &[Seat(0), Seat(3)]);
    }
    for number in numbers {
        circuit.reveal_number(number, &[Seat(1)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_circuit_gives_what_it_gives_in_the_clear(
        tape in prop::collection::vec((0_u8..8, 0_usize..20, 0_usize..20), 0..20),
        given in prop::array::uniform4(any::<bool>()),
        number in 0_u64..16,
        (members, corrupt) in prop::sample::select(vec![(3, 1), (4, 1), (5, 2)]),
    ) {
        let mut circuit = circuit(5, members, corrupt);
        build(&mut circuit, &tape);
        let mut values = bits(&given);
        values.get_mut(&Seat(3)).unwrap().push(Input::Integer(number));
        let circuit = Arc::new(circuit);
        let expected = plain(&circuit, &values);
        let outcomes = run(&circuit, &values, number);
        for (seat, outcome) in outcomes.iter().enumerate() {
            for (index, found) in shown(outcome, expected.len()).into_iter().enumerate() {
                let reveal = &circuit.reveals[index];
                let entitled = reveal.to.contains(&Seat(seat as u32));
                prop_assert_eq!(found, entitled.then_some(expected[index]));
            }
        }
    }
}

/// Three seats of five compute; seat 4 may stay away.
fn optional() -> (Arc<Circuit>, Values) {
    let mut circuit = circuit(5, 3, 1);
    let wires: Vec<_> = seats(0, 5).into_iter().map(|seat| circuit.bit(seat)).collect();
    circuit.may_be_absent(Seat(4));
    let count = circuit.sum(wires);
    circuit.reveal_number(count, &seats(0, 5));
    (Arc::new(circuit), bits(&[true; 5]))
}

#[test]
fn who_may_be_absent_counts_as_zero() {
    let (circuit, values) = optional();
    for result in run_between(&circuit, &values, 5, |sent| sent.from != Seat(4)) {
        let outcome = result.unwrap();
        assert_eq!(shown(&outcome, 1), [Some(4)]);
        assert_eq!(outcome.absent(), [Seat(4)]);
    }
    for outcome in run(&circuit, &values, 5) {
        assert_eq!(shown(&outcome, 1), [Some(5)]);
        assert_eq!(outcome.absent(), []);
    }
}

// A deal that reached one member only cannot be used, but nothing is wrong with the rest.
#[test]
fn a_deal_that_some_members_lack_is_left_out() {
    let (circuit, values) = optional();
    let lost = |sent: Letter| !(sent.round == 0 && sent.from == Seat(4) && sent.to != Seat(1));
    for result in run_between(&circuit, &values, 6, lost) {
        let outcome = result.unwrap();
        assert_eq!((shown(&outcome, 1), outcome.absent()), (vec![Some(4)], &[Seat(4)][..]));
    }
}

#[test]
fn who_must_not_be_absent_is_missed() {
    let (circuit, values) = optional();
    let results = run_between(&circuit, &values, 7, |sent| sent.from != Seat(3));
    for result in &results[..3] {
        assert_eq!(*result, Err(Error::Absent { seat: Seat(3) }));
    }
    assert_eq!(results[3], Err(Error::TooFew { present: 0, needed: 3 }));
}

// Two seats with inputs and coins of all: what is asked for is inputs.
#[test]
fn fewer_inputs_than_asked_for_end_it() {
    for (least, ends) in [(1, false), (2, true), (3, true)] {
        let mut circuit = circuit(5, 3, 1);
        let wires = [3, 4].map(|seat| circuit.bit(Seat(seat)));
        circuit.may_be_absent(Seat(3));
        circuit.may_be_absent(Seat(4));
        circuit.at_least(least);
        let coin = circuit.coin();
        let count = circuit.sum(wires);
        circuit.reveal_number(count, &seats(0, 3));
        circuit.reveal_bit(coin, &seats(0, 3));
        let values = [3, 4].map(|seat| (Seat(seat), vec![Input::Bit(true)])).into();
        let results = run_between(&Arc::new(circuit), &values, 8, |sent| sent.from != Seat(4));
        for result in &results[..3] {
            let few = Error::TooFewInputs { present: 1, needed: least as usize };
            assert_eq!(result.as_ref().err(), ends.then_some(&few));
        }
    }
}

#[test]
fn wrong_values_are_refused_before_anything_is_said() {
    let (circuit, _) = optional();
    let refused =
        |seat, values: &[Input]| Player::new(Arc::clone(&circuit), seat, values).unwrap_err();
    let arity = Error::Arity { seat: Seat(1), expected: 1, given: 0 };
    assert_eq!(refused(Seat(1), &[]), arity);
    let input = Error::Input { seat: Seat(1), place: 0, expected: "a bit".into() };
    assert_eq!(refused(Seat(1), &[Input::Integer(1)]), input);
    assert_eq!(refused(Seat(5), &[]).to_string(), "a seat must be below 5");
}

#[test]
fn mistakes_in_building_are_remembered() {
    let mistakes: [fn(&mut Circuit); 8] = [
        |circuit| _ = circuit.bit(Seat(9)),
        |circuit| _ = circuit.integer(Seat(0), 33),
        |circuit| _ = circuit.integer(Seat(0), 0),
        |circuit| _ = circuit.choice(Seat(0), 0),
        |circuit| _ = circuit.reveal_bit(Bit(7), &[Seat(0)]),
        |circuit| _ = circuit.not(Bit(7)),
        |circuit| {
            let large = circuit.constant(1 << 60);
            circuit.reveal_number(large, &[Seat(0)]);
        },
        |circuit| {
            let large = circuit.constant(i64::MAX);
            let larger = circuit.add(large, large);
            let back = circuit.sub(larger, larger);
            circuit.reveal_number(back, &[Seat(0)]);
        },
    ];
    for mistake in mistakes {
        let mut circuit = circuit(3, 3, 1);
        assert_eq!(circuit.check(), Ok(()));
        mistake(&mut circuit);
        assert!(matches!(circuit.check(), Err(Error::Parameter { .. })));
        assert!(Player::new(Arc::new(circuit), Seat(0), &[]).is_err());
    }
    let beyond = circuit(2, 3, 1);
    assert_eq!(beyond.check().unwrap_err().to_string(), "a seat must be below 2");
}

/// A member that falls silent in `round`, in a committee that has (or has not) one to spare.
fn dropout(members: u32, round: usize, seed: u64) -> Vec<Result<Outcome, Error>> {
    let mut circuit = circuit(members + 1, members, 1);
    let wires: Vec<_> = seats(0, members).into_iter().map(|seat| circuit.bit(seat)).collect();
    circuit.may_be_absent(Seat(1));
    let (odd, all) = (circuit.xor_all(&wires), circuit.and_all(&wires[2..]));
    let all = circuit.and(all, odd);
    let outputs = [odd, all].map(|wire| circuit.reveal_bit(wire, &seats(0, members + 1)));
    assert_eq!(outputs.len(), 2);
    let values = bits(&vec![true; members as usize]);
    run_between(&Arc::new(circuit), &values, seed, |sent| {
        sent.from != Seat(1) || sent.round < round
    })
}

/// The rounds, of `rounds` in all, in which nobody may leave.
fn multiplying(rounds: usize) -> std::ops::Range<usize> {
    2..rounds - 1
}

#[test]
fn a_dropout_is_survived_before_and_after_the_products_if_there_is_one_to_spare() {
    let rounds = 4 + 6;
    for round in 0..=rounds {
        let dealt = round > 0;
        let results = dropout(5, round, 8);
        if multiplying(rounds).contains(&round) {
            for member in [0, 2, 3, 4] {
                assert_eq!(results[member], Err(Error::Left { seat: Seat(1) }), "round {round}");
            }
            assert!(results.iter().all(Result::is_err));
            continue;
        }
        for (seat, result) in results.into_iter().enumerate() {
            let outcome = result.unwrap();
            let expected = if dealt { [Some(1), Some(1)] } else { [Some(0), Some(0)] };
            assert_eq!(shown(&outcome, 2), expected, "round {round}, seat {seat}");
            assert_eq!(outcome.absent(), if dealt { vec![] } else { vec![Seat(1)] });
        }
    }
}

#[test]
fn without_one_to_spare_a_dropout_is_too_few() {
    let rounds = 3 + 6;
    for round in 0..rounds {
        let results = dropout(3, round, 9);
        for (seat, result) in results.iter().enumerate().filter(|&(seat, _)| seat != 1) {
            let few = matches!(result, Err(Error::TooFew { needed: 3, .. }));
            // The outputs themselves still reach the member that does not send its own.
            assert!(few, "round {round}, seat {seat}: {result:?}");
        }
    }
}

// One round is lost, not more. It stays out, but what it is shown does not need its help.
#[test]
fn who_was_not_heard_once_stays_out_and_still_sees_its_outputs() {
    let mut circuit = circuit(5, 4, 1);
    let wires: Vec<_> = seats(0, 4).into_iter().map(|seat| circuit.bit(seat)).collect();
    let all = circuit.and_all(&wires);
    circuit.reveal_bit(all, &seats(0, 5));
    let rounds = circuit.rounds();
    let circuit = Arc::new(circuit);
    for round in 1..rounds {
        let mut later = 0;
        let results = run_between(&circuit, &bits(&[true; 4]), 10, |sent| {
            later += usize::from(sent.from == Seat(2) && sent.round > round + 1);
            sent.from != Seat(2) || sent.round != round
        });
        for result in results {
            match result {
                Ok(outcome) => assert_eq!(shown(&outcome, 1), [Some(1)], "round {round}"),
                Err(_) => assert!(multiplying(rounds).contains(&round), "round {round}"),
            }
        }
        assert_eq!(later, 0);
    }
}

#[test]
fn a_message_that_reaches_only_some_members_ends_it() {
    let mut circuit = circuit(5, 5, 1);
    let wires: Vec<_> = seats(0, 5).into_iter().map(|seat| circuit.bit(seat)).collect();
    let all = circuit.and_all(&wires);
    circuit.reveal_bit(all, &seats(0, 5));
    let (last, circuit) = (circuit.rounds() - 2, Arc::new(circuit));
    for round in 0..=last {
        let results = run_between(&circuit, &bits(&[true; 5]), 11, |sent| {
            sent.round != round || (sent.from, sent.to) != (Seat(2), Seat(4))
        });
        let left = Err(Error::Left { seat: Seat(2) });
        match round {
            0 | 1 => assert!(results.iter().all(|result| *result == Err(Error::Disagreement))),
            // The others have checked everything, and show it without the one that stopped.
            _ if round == last => {
                assert!(results[4] == left && results[..4].iter().all(Result::is_ok));
            }
            _ => assert!(results[4] == left && results.iter().all(Result::is_err), "round {round}"),
        }
    }
}

#[test]
fn a_party_takes_turns_and_ends_once() {
    let (circuit, _) = optional();
    let player = || Player::new(Arc::clone(&circuit), Seat(0), &[Input::Bit(true)]).unwrap();
    let mut rng = rng(12);

    let mut early = player();
    assert_eq!(early.receive(BTreeMap::new()).unwrap_err(), Error::OutOfTurn);
    assert_eq!(early.receive(BTreeMap::new()).unwrap_err(), Error::Closed);
    assert_eq!(early.send(&mut rng), Err(Error::Closed));

    let mut twice = player();
    assert_eq!(twice.send(&mut rng).unwrap().len(), 2);
    assert_eq!(twice.send(&mut rng), Err(Error::OutOfTurn));
    assert_eq!(twice.send(&mut rng), Err(Error::Closed));

    let mut alone = player();
    alone.send(&mut rng).unwrap();
    let few = Error::TooFew { present: 1, needed: 3 };
    assert_eq!(alone.receive(BTreeMap::new()).unwrap_err(), few);
    assert_eq!(alone.send(&mut rng), Err(Error::Closed));
    assert!(alone.role.is_none());
}

#[test]
fn nothing_secret_is_shown() {
    let (circuit, values) = optional();
    let player = Player::new(Arc::clone(&circuit), Seat(0), &values[&Seat(0)]).unwrap();
    assert_eq!(format!("{player:?}"), "Player { own: Seat(0), round: 0, .. }");
    let outcome = run(&circuit, &values, 13).remove(0);
    assert_eq!(format!("{outcome:?}"), "Outcome { outputs: 1, absent: [] }");
    assert_eq!(format!("{:?}", values[&Seat(0)]), "[Bit(..)]");
}

#[test]
fn traffic_is_what_is_sent() {
    let mut circuit = circuit(6, 4, 1);
    let wires: Vec<_> = seats(0, 5).into_iter().map(|seat| circuit.bit(seat)).collect();
    let age = circuit.integer(Seat(5), 7);
    let all = circuit.and_all(&wires);
    circuit.reveal_bit(all, &[Seat(5), Seat(0)]);
    circuit.reveal_number(age, &[Seat(5)]);
    let (traffic, circuit) = (circuit.traffic(), Arc::new(circuit));
    let mut values = bits(&[true; 5]);
    values.insert(Seat(5), vec![Input::Integer(100)]);
    let mut seen = vec![Traffic::default(); circuit.rounds()];
    run_between(&circuit, &values, 14, |sent| {
        let (seen, last) = (&mut seen[sent.round], sent.round + 1 == circuit.rounds());
        let longest = match (circuit.committee().place(sent.from), last) {
            (None, _) => &mut seen.dealer_to_member,
            (Some(_), false) => &mut seen.member_to_member,
            (Some(_), true) => &mut seen.member_to_recipient,
        };
        *longest = sent.bytes.len().max(*longest);
        true
    });
    assert_eq!(seen, traffic);
}

#[test]
fn half_a_million_multiplications_are_a_small_matter() {
    let mut circuit = circuit(3, 3, 1);
    let (mut a, b) = (circuit.bit(Seat(0)), circuit.bit(Seat(1)));
    for _ in 0..8 {
        let products: Vec<_> = (0..62_500).map(|_| circuit.and(a, b)).collect();
        a = products[17];
    }
    let output = circuit.reveal_bit(a, &[Seat(2)]);
    assert!(circuit.layers.iter().map(|layer| layer.products.len()).sum::<usize>() > 500_000);
    let outcomes = run(&Arc::new(circuit), &bits(&[true, true]), 15);
    assert_eq!(outcomes[2].bit(output), Some(true));
}

/// The test looks at what the helper of an AND hears, word by word and as parities of pairs of
/// words from the same round, for each of the four inputs. Each of these bits is fair in truth, but
/// for 2⁻⁶¹. Fewer than 2,000 cells at 1e-12 each: fails by chance with probability below 2e-9.
#[test]
fn the_helper_of_an_and_hears_the_same_whatever_the_inputs() {
    let mut circuit = circuit(3, 3, 1);
    let (a, b) = (circuit.bit(Seat(0)), circuit.bit(Seat(1)));
    let both = circuit.and(a, b);
    circuit.reveal_bit(both, &[Seat(0), Seat(1)]);
    let circuit = Arc::new(circuit);
    let (runs, mut cells) = (400, 0);
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut ones = Vec::new();
        for seed in 0..runs {
            let mut heard = BTreeMap::<_, Vec<u64>>::new();
            run_between(&circuit, &bits(&[a, b]), seed, |sent| {
                if sent.to == Seat(2) {
                    let head = if sent.round > 1 { message::VIEW } else { sent.bytes.len() % 8 };
                    let words = sent.bytes[head..].chunks(8);
                    let words = words.map(|word| u64::from_le_bytes(word.try_into().unwrap()));
                    heard.entry(sent.round).or_default().extend(words);
                }
                true
            });
            let mut fair = Vec::new();
            for (round, words) in heard {
                for (i, &word) in words.iter().enumerate() {
                    fair.extend([word & 1, word >> 60]);
                    // What is opened fits together by design.
                    if round < 3 {
                        fair.extend(words[..i].iter().map(|other| (word ^ other) & 1));
                    }
                }
            }
            ones.resize(fair.len(), 0);
            ones.iter_mut().zip(fair).for_each(|(ones, bit)| *ones += bit);
        }
        cells += ones.len();
        for count in ones {
            let band = success_band(count, runs, Delta::new(5e-13).unwrap());
            assert!(band.lower < 0.5 && 0.5 < band.upper, "{count} of {runs}");
        }
    }
    assert!((400..2_000).contains(&cells), "{cells}");
}

mod deviate;
