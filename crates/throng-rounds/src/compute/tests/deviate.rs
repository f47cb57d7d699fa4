//! Somebody who does not do as told: the result is right or there is none.

use super::*;
use crate::compute::testing::run_players;

/// Bits, an integer, a choice, a coin against itself; three layers. Seat 0 computes and has an
/// input, the last seat does not compute, and both see everything.
fn mixed(members: u32, corrupt: u32) -> (Arc<Circuit>, Values) {
    let mut circuit = circuit(members + 1, members, corrupt);
    let last = Seat(members);
    let wires: Vec<_> = seats(0, members).into_iter().map(|seat| circuit.bit(seat)).collect();
    let (age, ballot) = (circuit.integer(last, 3), circuit.choice(last, 3));
    let coin = circuit.coin();
    let nothing = circuit.xor(coin, coin);
    let (odd, any) = (circuit.xor_all(&wires), circuit.or(wires[0], ballot[1]));
    let all = circuit.and(odd, any);
    let product = circuit.multiply(age, all);
    for bit in [nothing, odd, any, all, ballot[2]] {
        circuit.reveal_bit(bit, &[Seat(0), last]);
    }
    circuit.reveal_number(product, &[Seat(0), Seat(1), last]);
    let mut values = bits(&vec![true; members as usize]);
    values.insert(last, vec![Input::Integer(5), Input::Choice(Some(1))]);
    (Arc::new(circuit), values)
}

/// Nobody but the deviator may have a wrong value. Gives the errors of the others.
fn right_or_none(
    circuit: &Circuit,
    values: &Values,
    results: Vec<Result<Outcome, Error>>,
    deviator: Seat,
) -> Vec<Error> {
    let expected = plain(circuit, values);
    let mut errors = Vec::new();
    for (seat, result) in (0..).map(Seat).zip(results).filter(|&(seat, _)| seat != deviator) {
        match result {
            Err(error) => errors.push(error),
            Ok(outcome) => {
                for (index, found) in shown(&outcome, expected.len()).into_iter().enumerate() {
                    let entitled = circuit.reveals[index].to.contains(&seat);
                    assert_eq!(found, entitled.then_some(expected[index]), "{seat}");
                }
            }
        }
    }
    errors
}

/// The byte at which the words of a message begin.
fn head(circuit: &Circuit, round: usize) -> usize {
    match Step::all(circuit).nth(round).unwrap() {
        Step::Deal => 0,
        Step::Lift | Step::Output => bitmap_bytes(circuit),
        _ => message::VIEW,
    }
}

fn add(bytes: &mut [u8], head: usize, word: usize, shift: Element) {
    let place = head + 8 * word;
    let old = Element::from_bytes(bytes[place..place + 8].try_into().unwrap()).unwrap();
    bytes[place..place + 8].copy_from_slice(&(old + shift).to_bytes());
}

fn words(bytes: &[u8], head: usize) -> usize {
    (bytes.len() - head) / 8
}

/// One word of one message is another one, in every round, from a member.
#[test]
fn one_wrong_word_gives_no_wrong_value() {
    let mut rng = rng(20);
    for (members, corrupt) in [(3, 1), (5, 1), (5, 2)] {
        let (circuit, values) = mixed(members, corrupt);
        let mut found = 0;
        for round in 0..circuit.rounds() {
            for seed in 0..20 {
                let (target, pick) = (Seat(1 + rng.next_u32() % members), rng.next_u64());
                let target = if target == Seat(1) { Seat(0) } else { target };
                let shift = Element::random(&mut rng);
                let mut hit = false;
                let results = run_between(&circuit, &values, seed, |sent| {
                    let here = (sent.round, sent.from, sent.to) == (round, Seat(1), target);
                    let head = head(&circuit, sent.round);
                    let count = words(sent.bytes, head) as u64;
                    if here && count > 0 {
                        hit = true;
                        add(sent.bytes, head, (pick % count) as usize, shift);
                    }
                    true
                });
                let errors = right_or_none(&circuit, &values, results, Seat(1));
                found += usize::from(hit && !errors.is_empty());
                assert!(!hit || !errors.is_empty(), "round {round}, {members} members");
            }
        }
        assert!(found > 100, "{found}");
    }
}

/// Adds a polynomial to one word of what the deviator says in a round, to itself as well: all
/// shares still fit together.
fn shared_well(
    circuit: &Arc<Circuit>,
    values: &Values,
    (round, deviator): (usize, Seat),
    pick: u64,
    (constant, slope): (Element, Element),
    seed: u64,
    mut heard: impl FnMut(&Letter),
) -> Vec<Error> {
    let shift = |seat: Seat| constant + slope * Element::from(seat.0 + 1);
    let player = |seat| {
        let values = values.get(&seat).map_or(&[][..], |values| values);
        Player::new(Arc::clone(circuit), seat, values).unwrap()
    };
    let players = (0..circuit.seats()).map(Seat).map(player).collect();
    let between = |sent: Letter| {
        let head = head(circuit, sent.round);
        if (sent.round, sent.from) == (round, deviator) {
            let word = pick as usize % words(sent.bytes, head);
            add(sent.bytes, head, word, shift(sent.to));
        }
        heard(&sent);
        true
    };
    let own = |now: usize, seat: Seat, words: &mut [Element]| {
        if (now, seat) == (round, deviator) && !words.is_empty() {
            let word = pick as usize % words.len();
            words[word] = words[word] + shift(seat);
        }
    };
    let results = run_players(players, circuit.rounds(), seed, between, own);
    right_or_none(circuit, values, results, deviator)
}

#[test]
fn a_wrong_value_that_is_shared_well_is_noticed() {
    let mut rng = rng(21);
    for (members, corrupt) in [(3, 1), (5, 1)] {
        let (circuit, values) = mixed(members, corrupt);
        let depth = circuit.depth();
        for round in 0..circuit.rounds() - 1 {
            // Who does not compute can only deal.
            let deviator = if round == 0 { Seat(members) } else { Seat(1) };
            for seed in 0..20 {
                let polynomial = (Element::random(&mut rng), Element::random(&mut rng));
                let (pick, at) = (rng.next_u64(), (round, deviator));
                let errors = shared_well(&circuit, &values, at, pick, polynomial, seed, |_| ());
                let expected = match round {
                    0 => Error::NotABit,
                    products if products < depth + 2 => Error::Misbehaved,
                    // What is opened is fixed by the shares of the others.
                    reveal if reveal == depth + 2 => Error::Inconsistent,
                    // Either of the two masked products, or the share under the cover.
                    mask if mask == depth + 3 => match pick % 3 {
                        0 => Error::Misbehaved,
                        1 => Error::NotABit,
                        _ => Error::Inconsistent,
                    },
                    _ => Error::Inconsistent,
                };
                assert!(errors.contains(&expected), "round {round}: {errors:?}");
                let rest =
                    |error: &Error| *error == expected || matches!(error, Error::TooFew { .. });
                assert!(errors.iter().all(rest), "round {round}: {errors:?}");
            }
        }
    }
}

#[test]
fn any_byte_may_be_wrong() {
    let mut rng = rng(22);
    let (mut kinds, mut right) = (BTreeMap::<String, u32>::new(), 0);
    for (members, corrupt) in [(3, 1), (4, 1), (5, 2)] {
        let (circuit, values) = mixed(members, corrupt);
        for seed in 0..300 {
            let round = rng.next_u32() as usize % circuit.rounds();
            let deviator = Seat(rng.next_u32() % (members + 1));
            let target = Seat(rng.next_u32() % (members + 1));
            let (place, kind, with) = (rng.next_u64(), rng.next_u32() % 8, rng.next_u32() as u8);
            let results = run_between(&circuit, &values, seed, |sent| {
                if (sent.round, sent.from, sent.to) != (round, deviator, target) {
                    return true;
                }
                let place = place as usize % sent.bytes.len();
                match kind {
                    0 => sent.bytes.truncate(place),
                    1 => sent.bytes.push(with),
                    2 => return false,
                    _ => sent.bytes[place] ^= with,
                }
                true
            });
            let errors = right_or_none(&circuit, &values, results, deviator);
            right += u32::from(errors.is_empty());
            for error in errors {
                let kind = format!("{error:?}").split(' ').next().unwrap_or_default().to_string();
                *kinds.entry(kind).or_default() += 1;
            }
        }
    }
    for kind in ["Malformed", "Inconsistent", "Misbehaved", "NotABit", "Disagreement", "TooFew"] {
        assert!(kinds.contains_key(kind), "{kind} of {kinds:?}");
    }
    assert!(right > 100);
}

/// Players of which one has other bits than any value has.
fn with_bits(circuit: &Arc<Circuit>, values: &Values, seat: Seat, bits: &[i64]) -> Vec<Error> {
    let player = |own: Seat| {
        let values = values.get(&own).map_or(&[][..], |values| values);
        let mut player = Player::new(Arc::clone(circuit), own, values).unwrap();
        if let (Some(role), true) = (&mut player.role, own == seat) {
            assert_eq!(role.bits.len(), bits.len());
            *role.bits = bits.iter().map(|&bit| Element::from_signed(bit)).collect();
        }
        player
    };
    let players = (0..circuit.seats()).map(Seat).map(player).collect();
    let results = run_players(players, circuit.rounds(), 23, |_| true, |_, _, _| ());
    right_or_none(circuit, values, results, seat)
}

#[test]
fn an_input_that_is_no_bit_is_noticed() {
    let (circuit, values) = mixed(3, 1);
    // Three digits of an integer, three options of a choice.
    let wrong = [
        [2, 0, 1, 0, 1, 0],
        [-1, 0, 1, 0, 1, 0],
        [1, 0, 1, 0, 1, 1],
        [1, 0, 1, 1, 1, 1],
        [1, 0, 1, 2, -1, 0],
    ];
    for bits in wrong {
        let errors = with_bits(&circuit, &values, Seat(3), &bits);
        assert_eq!(errors, [Error::NotABit, Error::NotABit, Error::NotABit]);
    }
    assert!(with_bits(&circuit, &values, Seat(3), &[1, 0, 1, 0, 1, 0]).is_empty());
    // A member's bit, and its coin, which is tossed over whatever stands there.
    let errors = with_bits(&circuit, &values, Seat(1), &[2, 0]);
    assert!(errors[..2].iter().all(|error| *error == Error::NotABit));
    assert!(with_bits(&circuit, &values, Seat(1), &[1, 2]).is_empty());
}

// A dealer whose shares lie on no polynomial: with three honest members for t = 1 that shows.
#[test]
fn shares_that_do_not_fit_are_noticed() {
    for members in [3, 4, 5] {
        let (circuit, values) = mixed(members, 1);
        for word in 0..6 {
            let results = run_between(&circuit, &values, 24, |sent| {
                if sent.round == 0 && (sent.from, sent.to) == (Seat(members), Seat(2)) {
                    add(sent.bytes, 0, word, Element::ONE);
                }
                true
            });
            let errors = right_or_none(&circuit, &values, results, Seat(members));
            assert_eq!(errors, vec![Error::Inconsistent; members as usize]);
        }
    }
}

/// What the deviator adds to a product of the first layer multiplies a secret in the second, so
/// that the sum T depends on the secret. What is opened is ρ·T, and ρ takes all three members to
/// know.
#[test]
fn the_check_of_a_wrong_product_does_not_tell_what_it_was_multiplied_by() {
    let mut circuit = circuit(3, 3, 1);
    let wires: Vec<_> = seats(0, 3).into_iter().map(|seat| circuit.bit(seat)).collect();
    let first = circuit.and(wires[0], wires[1]);
    let second = circuit.and(first, wires[2]);
    circuit.reveal_bit(second, &[Seat(0)]);
    let circuit = Arc::new(circuit);
    // Three squares, then the product: its value and r times it.
    let (at, r_times, one) = ((2, Seat(1)), 7, (Element::ONE, Element::ZERO));
    let (reveal, check) = (circuit.depth() + 2, circuit.depth() + 4);
    for (secret, seed) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
        let mut said = BTreeMap::new();
        let hear = |sent: &Letter| {
            let words = sent.bytes[head(&circuit, sent.round)..].chunks(8);
            let words = words.map(|word| Element::from_bytes(word.try_into().unwrap()).unwrap());
            said.insert((sent.round, sent.from.0, sent.to.0), words.collect::<Vec<_>>());
        };
        let values = bits(&[true, true, secret]);
        let errors = shared_well(&circuit, &values, at, r_times, one, seed, hear);
        assert_eq!(errors, [Error::Misbehaved, Error::Misbehaved]);

        // Two shares are a line, here of what members 0 and 2 said to 1 and of what each dealt.
        let line = |a: (usize, Element), b: (usize, Element)| {
            let by = crate::shamir::at_zero(&[a.0, b.0]);
            by[0] * a.1 + by[1] * b.1
        };
        let opened = |round, word: usize| {
            line((0, said[&(round, 0, 1)][word]), (2, said[&(round, 2, 1)][word]))
        };
        let dealt = |dealer: u32, word: usize| {
            let (a, b) = ((dealer + 1) % 3, (dealer + 2) % 3);
            let share = |to: u32| (to as usize, said[&(0, dealer, to)][word]);
            line(share(a), share(b))
        };
        // One bit, then r, two seeds, ρ.
        let rho: Element = (0..3).map(|dealer| dealt(dealer, 4)).sum();
        // Three coefficients per wire: three inputs, three squares, the first product, the second.
        let coefficients = challenge::challenge([opened(reveal, 1), opened(reveal, 2)]);
        let coefficients: Vec<_> = coefficients.take(24).collect();
        // The 1 that was added counts as much as a share of member 1 does.
        let added = crate::shamir::at_zero(&[0, 1, 2])[1];
        let sum = added * (coefficients[18] + Element::from(secret) * coefficients[21]);
        assert!(rho != Element::ONE && opened(check, 0) == rho * sum);
        assert_eq!(opened(check, 1), Element::ZERO);
    }
}

/// A member that hears the others before it speaks, and has one of them silenced later, makes a
/// product depend on a share of a secret that is 0 if the secret is, and only then. Going on
/// without the silenced one, the run would end well for a 0 and not for a 1.
#[test]
fn whether_it_ends_well_does_not_tell_a_secret() {
    let mut circuit = circuit(4, 4, 1);
    let [a, b, c, d] = [0, 1, 2, 1].map(|seat| circuit.bit(Seat(seat)));
    let (known, secret) = (circuit.and(a, b), circuit.and(c, d));
    let both = circuit.and(known, secret);
    circuit.reveal_bit(both, &[Seat(3)]);
    let circuit = Arc::new(circuit);
    // Four squares, then the two products, each with r times it.
    let (layer, known, secret) = (2, 8, 10);
    let (deviator, silenced) = (Seat(3), Seat(2));
    let outcome = |c: bool, seed: u64| {
        let values = Values::from([
            (Seat(0), vec![Input::Bit(false)]),
            (Seat(1), vec![Input::Bit(true), Input::Bit(true)]),
            (Seat(2), vec![Input::Bit(c)]),
        ]);
        // What each would deal of the secret in the first layer, to 0, to 1 and to the deviator.
        let mut heard = BTreeMap::new();
        run_between(&circuit, &values, seed, |sent| {
            if sent.round == layer {
                let place = message::VIEW + 8 * secret;
                let word = sent.bytes[place..place + 8].try_into().unwrap();
                heard.insert((sent.from.0, sent.to.0), Element::from_bytes(word).unwrap());
            }
            true
        });
        let by = crate::shamir::at_zero(&[0, 1, 2, 3]);
        let (at_0, at_1) = (heard[&(3, 0)], heard[&(3, 1)]);
        let own = at_0 + Element::from(3) * (at_1 - at_0);
        let others: Element = (0..3).map(|from| by[from as usize] * heard[&(from, 3)]).sum();
        // The share of the deviator becomes 0.
        let slope = (Element::ZERO - (others + by[3] * own)) * (by[3] * Element::from(4)).inverse();
        let players = (0..4).map(Seat).map(|seat| {
            let values = values.get(&seat).map_or(&[][..], |values| values);
            Player::new(Arc::clone(&circuit), seat, values).unwrap()
        });
        let between = |sent: Letter| {
            if (sent.round, sent.from) == (layer, deviator) {
                let shift = slope * Element::from(sent.to.0 + 1);
                add(sent.bytes, message::VIEW, secret, shift);
                if sent.to == silenced {
                    add(sent.bytes, message::VIEW, known, Element::ONE);
                }
            }
            sent.from != silenced || sent.round < layer + 2
        };
        let own = |round: usize, seat: Seat, words: &mut [Element]| {
            if (round, seat) == (layer, deviator) {
                words[secret] = words[secret] + slope * Element::from(4);
            }
        };
        run_players(players.collect(), circuit.rounds(), seed, between, own)
    };
    for (secret, seed) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
        let left = Err(Error::Left { seat: silenced });
        assert_eq!(outcome(secret, seed)[..2], [left.clone(), left]);
    }
}

/// Shares of a masked sum that do not fit open to another value for every choice of who is heard,
/// and a deviator that hears the check before it speaks could have the others silenced until one of
/// them is 0. Here it is as lucky with the first choice as one of many would make it.
#[test]
fn who_is_silenced_does_not_choose_what_the_check_opens() {
    let mut circuit = circuit(4, 4, 1);
    let [a, b] = [0, 1].map(|seat| circuit.bit(Seat(seat)));
    let both = circuit.and(a, b);
    circuit.reveal_bit(both, &seats(0, 4));
    let circuit = Arc::new(circuit);
    let values =
        Values::from([(Seat(0), vec![Input::Bit(false)]), (Seat(1), vec![Input::Bit(true)])]);
    // Two squares, then the product, each with r times it.
    let (layer, product) = (2, 4);
    let (mask, check) = (circuit.depth() + 3, circuit.depth() + 4);
    let (deviator, silenced) = (Seat(3), Seat(2));
    let by = crate::shamir::at_zero(&[0, 1, 2, 3])[3].inverse();
    // The product becomes 1, so that T is not 0; in the check the deviator says that it is.
    let run = |shifts: [Element; 2], heard: &mut dyn FnMut(&Letter) -> bool| {
        let between = |sent: Letter| {
            if sent.from == deviator && sent.round == layer {
                add(sent.bytes, message::VIEW, product, by);
            }
            if sent.from == deviator && sent.round == mask && sent.to.0 < 2 {
                add(sent.bytes, message::VIEW, 0, by * shifts[sent.to.0 as usize]);
            }
            if sent.from == deviator && sent.round == check {
                sent.bytes[message::VIEW..message::VIEW + 8].fill(0);
            }
            heard(&sent)
        };
        let own = |round: usize, seat: Seat, words: &mut [Element]| {
            if (round, seat) == (layer, deviator) {
                words[product] = words[product] + by;
            }
            if (round, seat) == (check, deviator) {
                words[0] = Element::ZERO;
            }
        };
        let player = |seat| {
            let values = values.get(&seat).map_or(&[][..], |values| values);
            Player::new(Arc::clone(&circuit), seat, values).unwrap()
        };
        run_players((0..4).map(Seat).map(player).collect(), circuit.rounds(), 30, between, own)
    };
    let mut shares = [Element::ZERO; 2];
    run([Element::ZERO; 2], &mut |sent| {
        if sent.round == check && sent.to == deviator && sent.from.0 < 2 {
            let word = sent.bytes[message::VIEW..message::VIEW + 8].try_into().unwrap();
            shares[sent.from.0 as usize] = Element::from_bytes(word).unwrap();
        }
        true
    });
    assert!(shares.iter().all(|&share| share != Element::ZERO));
    let lucky = shares.map(|share| Element::ZERO - share);
    let results = run(lucky, &mut |sent| sent.from != silenced || sent.round < check);
    let left = Err(Error::Left { seat: silenced });
    assert_eq!(results[..2], [left.clone(), left]);
}
