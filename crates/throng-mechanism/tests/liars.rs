//! One liar moves no estimate by more than the influence that is stated, whatever words it sends:
//! for every mechanism of the catalogue.
//!
//! A liar sends as many messages as everyone, one in each epoch where a report is spread over
//! epochs. Estimates are affine in the tally, so the two reports that pull one of them furthest
//! apart have in every place the word that pulls it furthest up, and down. All words are tried where
//! there are few, and elsewhere those at the ends and many between; those that no client sends are
//! among them. What the two reports found do is then counted, so that nothing rests on being affine
//! but that no others are worse.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use throng_account::{Crowd, Delta, Epsilon, Probability};
use throng_mechanism::{Ask, Key, Kind, Mechanism, Question, Tally, Values, simulate};

#[test]
fn no_words_move_an_estimate_by_more_than_the_stated_influence() {
    for key in Key::ALL {
        for epsilon in [0.5, 2.0] {
            let mechanism = asked(key, epsilon);
            let honest = honest(&mechanism);
            let stated = mechanism.influence();
            if stated.is_infinite() {
                // Nothing is claimed, and rightly so: one share of a sum is any number below q.
                assert_eq!(key, Key::SplitAndMix);
                let mut shares = vec![0; mechanism.messages()];
                let none = values(&mechanism, &honest, &shares)[0];
                shares[0] = last_sent(&mechanism) / 4;
                let moved = values(&mechanism, &honest, &shares)[0] - none;
                assert!(moved.abs() > 100.0, "{moved}");
                continue;
            }
            let furthest = furthest(&mechanism, &honest);
            assert!(furthest <= stated * (1.0 + 1e-9), "{key}, {epsilon}: {furthest} of {stated}");
            // What is stated is not far from what a liar reaches. For strings it is about their
            // counts, and estimates are about bits of filters.
            let least = if key == Key::Rappor { 0.3 } else { 0.5 };
            assert!(furthest >= least * stated, "{key}, {epsilon}: {furthest} of {stated}");
        }
    }
}

/// The liar of the test above, many times over: influences add up, and no more.
#[test]
fn several_liars_move_an_estimate_by_no_more_than_their_influences_together() {
    for key in Key::ALL {
        let mechanism = asked(key, 1.0);
        let (honest, stated) = (honest(&mechanism), mechanism.influence());
        if stated.is_infinite() {
            continue;
        }
        let liars = 7;
        for (estimate, reports) in worst(&mechanism, &honest).into_iter().enumerate() {
            let moved =
                reports.map(|report| values(&mechanism, &honest, &report.repeat(liars))[estimate]);
            let most = liars as f64 * stated * (1.0 + 1e-9);
            assert!(moved[0] - moved[1] <= most, "{key}: {moved:?} of {most}");
        }
    }
}

/// The largest distance between two estimates that differ in one liar's report.
fn furthest(mechanism: &Mechanism, honest: &Tally) -> f64 {
    let distance = |(estimate, [up, down]): (usize, [Vec<u64>; 2])| {
        assert_eq!(up.len(), mechanism.messages() * mechanism.words());
        values(mechanism, honest, &up)[estimate] - values(mechanism, honest, &down)[estimate]
    };
    worst(mechanism, honest).into_iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// For each estimate the two reports that pull it furthest up and down.
fn worst(mechanism: &Mechanism, honest: &Tally) -> Vec<[Vec<u64>; 2]> {
    let (estimates, places) = (values(mechanism, honest, &[]).len(), mechanism.messages());
    let mut reports = vec![[Vec::new(), Vec::new()]; estimates];
    for place in 0..places {
        let words = words(mechanism, mechanism.epochs().map(|_| place as u64));
        let pulls: Vec<_> = words.iter().map(|word| values(mechanism, honest, word)).collect();
        for (estimate, [up, down]) in reports.iter_mut().enumerate() {
            let by = |a: &usize, b: &usize| pulls[*a][estimate].total_cmp(&pulls[*b][estimate]);
            up.extend(&words[(0..words.len()).max_by(by).unwrap()]);
            down.extend(&words[(0..words.len()).min_by(by).unwrap()]);
        }
        if mechanism.epochs().is_none() {
            // Every message has the same words.
            return reports.iter().map(|report| report.clone().map(|m| m.repeat(places))).collect();
        }
    }
    reports
}

/// The messages that are tried, in an epoch where that matters.
fn words(mechanism: &Mechanism, epoch: Option<u64>) -> Vec<Vec<u64>> {
    let bits = mechanism.message_bits();
    let mut rng = ChaCha12Rng::seed_from_u64(3);
    let mut found: Vec<Vec<u64>> = match mechanism.words() {
        // A cohort and a filter of eight bits.
        2 => (0..=2).flat_map(|cohort| (0..=256).map(move |filter| vec![cohort, filter])).collect(),
        1 if bits <= 10 => (0..2 << bits).map(|word| vec![word]).collect(),
        1 => {
            let ends = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
            let between = (0..500).map(|_| rng.next_u64() >> (64 - bits));
            let last = last_sent(mechanism);
            ends.chain(between).chain([last, last + 1]).map(|word| vec![word]).collect()
        }
        more => panic!("{more} words"),
    };
    found.push(vec![u64::MAX; mechanism.words()]);
    if let Some(epoch) = epoch {
        for word in &mut found {
            word[0] = mechanism.in_epoch(word[0], epoch);
        }
    }
    found
}

/// The largest word that a client sends, where all smaller ones are sent as well.
fn last_sent(mechanism: &Mechanism) -> u64 {
    let sent = |word: u64| {
        let mut tally = mechanism.tally();
        mechanism.absorb(&mut tally, &[word]);
        tally.malformed() == 0
    };
    let (mut low, mut high) = (0, 1 << mechanism.message_bits());
    assert!(sent(low) && !sent(high));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        (low, high) = if sent(middle) { (middle, high) } else { (low, middle) };
    }
    low
}

/// The estimates from honest reports and these messages.
fn values(mechanism: &Mechanism, honest: &Tally, messages: &[u64]) -> Vec<f64> {
    let mut tally = honest.clone();
    mechanism.absorb(&mut tally, messages);
    mechanism.estimate(&tally, confidence()).iter().map(|estimate| estimate.value).collect()
}

fn asked(key: Key, epsilon: f64) -> Mechanism {
    let question = match key.kind() {
        Kind::Bit => Question::Bit,
        Kind::Real => Question::Real,
        Kind::Category => Question::Category { size: 4 },
        Kind::Text => Question::Text { bits: 8, hashes: 2, cohorts: 2 },
        Kind::Attributes => Question::Attributes { count: 3 },
        Kind::State => Question::State { periods: 8, changes: 1 },
    };
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(1e-6).unwrap());
    let ask = Ask::new(question, Crowd::new(1_000).unwrap(), epsilon, delta);
    ask.with_max_messages(40).with_fragile(true).calibrate(key).unwrap()
}

/// The reports of honest people.
fn honest(mechanism: &Mechanism) -> Tally {
    let n = 200;
    let values = match mechanism.question() {
        Question::Bit => Values::Bits((0..n).map(|i| i % 3 == 0).collect()),
        Question::Real => Values::Reals((0..n).map(|i| (i % 11) as f64 / 10.0).collect()),
        Question::Category { size } => {
            Values::Categories((0..n as u32).map(|i| i % size).collect())
        }
        Question::Attributes { count } => rows(n, count as usize),
        Question::State { periods, .. } => rows(n, periods as usize),
        Question::Text { .. } => Values::Texts((0..n).map(|i| format!("{}", i % 5)).collect()),
    };
    let mut rng = ChaCha12Rng::seed_from_u64(8);
    simulate(mechanism, &values, 0..n, &mut rng).unwrap()
}

/// Rows of bits that change once.
fn rows(n: usize, width: usize) -> Values {
    let bits = (0..n * width).map(|i| i % width >= (i / width) % (2 * width)).collect();
    Values::Rows { bits, width }
}

fn confidence() -> Probability {
    Probability::new("confidence", 0.95).unwrap()
}
