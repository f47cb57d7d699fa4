//! Whole crowds through encode, shuffle, analyze: the error that was predicted, intervals that
//! cover, and the same answer however the work is split.
//!
//! Measured root mean squares may miss the prediction by six of their own standard deviations; with
//! about forty comparisons a correct mechanism fails with probability below 1e-6.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Crowd, Delta, Epsilon, Probability};
use throng_mechanism::{
    Ask, Control, DecodeOptions, Estimate, Key, Kind, Mechanism, Question, Values, decode, simulate,
};

fn ask(question: Question, n: u64, epsilon: f64) -> Ask {
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(1e-6).unwrap());
    Ask::new(question, Crowd::new(n).unwrap(), epsilon, delta)
        .with_max_messages(40)
        .with_fragile(true)
}

/// A small question that the mechanism answers.
fn small_question(key: Key) -> Question {
    match key.kind() {
        Kind::Bit => Question::Bit,
        Kind::Real => Question::Real,
        Kind::Category => Question::Category { size: 3 },
        Kind::Text => Question::Text { bits: 16, hashes: 2, cohorts: 4 },
        Kind::Attributes => Question::Attributes { count: 3 },
        Kind::State => Question::State { periods: 4, changes: 2 },
    }
}

fn confidence() -> Probability {
    Probability::new("confidence", 0.95).unwrap()
}

/// Somebody's values for every question.
fn values(question: Question, n: usize) -> Values {
    match question {
        Question::Bit => Values::Bits((0..n).map(|i| i % 10 < 3).collect()),
        Question::Real => Values::Reals((0..n).map(|i| (i % 101) as f64 / 100.0).collect()),
        Question::Category { size } => {
            Values::Categories((0..n as u32).map(|i| (i * i) % size).collect())
        }
        Question::Attributes { count } => {
            let width = count as usize;
            let bits =
                (0..n * width).map(|i| (i / width + i).is_multiple_of(i % width + 2)).collect();
            Values::Rows { bits, width }
        }
        Question::State { periods, .. } => {
            let width = periods as usize;
            let bits = (0..n * width).map(|i| i % width >= (i / width) % (2 * width)).collect();
            Values::Rows { bits, width }
        }
        Question::Text { .. } => {
            Values::Texts((0..n).map(|i| format!("string {}", i % 7 * (i % 2))).collect())
        }
    }
}

/// Root mean square error with its standard deviation, root mean square claim, and coverage.
struct Measured {
    rmse: f64,
    deviation: f64,
    claimed: f64,
    coverage: f64,
    compared: f64,
}

fn measure(mechanism: &Mechanism, values: &Values, runs: u64) -> Measured {
    let truth = mechanism.truth(values);
    let (mut squares, mut claims, mut inside) = (Vec::new(), 0.0, 0.0);
    for run in 0..runs {
        let mut rng = ChaCha12Rng::seed_from_u64(run);
        let tally = simulate(mechanism, values, 0..values.len(), &mut rng).unwrap();
        assert_eq!((tally.reports(), tally.malformed()), (values.len() as u64, 0));
        let estimates: Vec<Estimate> = mechanism.estimate(&tally, confidence());
        assert_eq!(estimates.len(), truth.len());
        for (estimate, truth) in estimates.iter().zip(&truth) {
            squares.push((estimate.value - truth).powi(2));
            claims += estimate.standard_error.powi(2);
            inside += f64::from(u8::from(estimate.holds(*truth)));
        }
    }
    let compared = squares.len() as f64;
    let square = squares.iter().sum::<f64>() / compared;
    // Cells of one run may move together, so only runs count as independent.
    let cells = truth.len();
    let per_run: Vec<f64> =
        squares.chunks(cells).map(|run| run.iter().sum::<f64>() / cells as f64).collect();
    let spread = per_run.iter().map(|x| (x - square).powi(2)).sum::<f64>() / runs as f64;
    Measured {
        rmse: square.sqrt(),
        deviation: (spread / runs as f64).sqrt() / (2.0 * square.sqrt()),
        claimed: (claims / compared).sqrt(),
        coverage: inside / compared,
        compared,
    }
}

#[test]
fn every_mechanism_errs_as_predicted_and_its_intervals_cover() {
    // The part of the prediction, a bound over all data, that the error reaches at least.
    let loose = [
        (Key::OneBitMean, 0.7),
        (Key::RealSum, 0.9),
        (Key::LaplaceMean, 0.9),
        (Key::SlicedSum, 0.8),
        (Key::SplitAndMix, 0.9),
        (Key::KaryResponse, 0.9),
        (Key::SubsetSelection, 0.9),
        (Key::Longitudinal, 0.5),
    ];
    for key in Key::ALL {
        let least = loose.iter().find(|(other, _)| *other == key).map_or(0.95, |(_, least)| *least);
        let question = match key.kind() {
            Kind::Bit => Question::Bit,
            Kind::Real => Question::Real,
            Kind::Category => Question::Category { size: 8 },
            // Strings are decoded; see below.
            Kind::Text => continue,
            Kind::Attributes => Question::Attributes { count: 5 },
            Kind::State => Question::State { periods: 8, changes: 1 },
        };
        for (n, epsilon) in [(2_000, 1.0), (3_000, 2.0)] {
            let mechanism = ask(question, n, epsilon).calibrate(key).unwrap();
            let values = values(question, n as usize);
            let found = measure(&mechanism, &values, 300);
            // The error of a state differs from period to period.
            let followed = key.kind() == Kind::State;
            let predicted =
                if followed { found.claimed } else { mechanism.standard_error(n as f64) };
            let room = 6.0 * found.deviation;
            let context = format!(
                "{key}, n = {n}: measured {:.4} ± {:.4}, predicted {predicted:.4}, coverage {:.4}",
                found.rmse, found.deviation, found.coverage
            );
            println!("{context}");
            assert!(found.rmse <= predicted + room, "{context}");
            assert!(found.rmse >= least * predicted - room, "{context}");
            assert!(
                found.claimed <= 1.1 * predicted && found.claimed >= 0.7 * predicted,
                "{context}"
            );
            // Coverage is at least as stated, up to six deviations of `coins` coins, in case cells
            // of a run move together as if they were one.
            let coins = found.compared / mechanism.truth(&values).len() as f64;
            let slack = 6.0 * (0.05 * 0.95 / coins).sqrt();
            assert!(found.coverage >= 0.95 - slack, "{context}");
        }
    }
}

#[test]
fn tallies_of_parts_add_up_to_the_tally_of_the_whole() {
    for key in Key::ALL {
        let question = small_question(key);
        let mechanism = ask(question, 1_500, 2.0).calibrate(key).unwrap();
        let values = values(question, 1_500);
        let mut bag = Vec::new();
        let mut rng = ChaCha12Rng::seed_from_u64(5);
        for value in values.iter() {
            mechanism.encode(value, &mut rng, &mut bag).unwrap();
        }
        let width = mechanism.words();
        let mut whole = mechanism.tally();
        mechanism.absorb(&mut whole, &bag);
        // Another order, in two parts.
        throng_mechanism::sample::shuffle(&mut bag, width, &mut rng);
        let (one, other) = bag.split_at(bag.len() / width / 3 * width);
        let (mut left, mut right) = (mechanism.tally(), mechanism.tally());
        mechanism.absorb(&mut left, one);
        mechanism.absorb(&mut right, other);
        left.merge(&right);
        assert_eq!(left, whole, "{key}");
        assert_eq!(
            mechanism.estimate(&left, confidence()),
            mechanism.estimate(&whole, confidence())
        );
    }
}

/// The width of a payload follows from these bits.
#[test]
fn messages_fit_into_their_bits_and_longer_ones_are_malformed() {
    for key in Key::ALL {
        let question = small_question(key);
        let mechanism = ask(question, 1_500, 2.0).calibrate(key).unwrap();
        if mechanism.words() > 1 {
            continue;
        }
        // A device that is asked again and again holds one bit at a time.
        let asked = if key.kind() == Kind::State { Question::Bit } else { question };
        let (bits, mut bag) = (mechanism.message_bits(), Vec::new());
        let mut rng = ChaCha12Rng::seed_from_u64(6);
        for value in values(asked, 100).iter() {
            mechanism.respond(value, 0, &mut Vec::new(), &mut rng, &mut bag).unwrap();
        }
        assert!(bag.iter().all(|message| message >> bits == 0), "{key}");
        let malformed = |message: u64| {
            let mut tally = mechanism.tally();
            mechanism.absorb(&mut tally, &[mechanism.in_epoch(message, 0)]);
            tally.malformed()
        };
        assert_eq!((malformed(1 << bits), malformed(u64::MAX)), (1, 1), "{key}");
    }
}

#[test]
fn parameters_make_the_same_mechanism_again_and_refuse_to_be_incomplete() {
    for key in Key::ALL {
        let question = small_question(key);
        let mechanism = ask(question, 1_500, 1.0).calibrate(key).unwrap();
        let parameters = mechanism.parameters();
        let find = |name: &str| {
            parameters.iter().find(|(other, _)| *other == name).map(|(_, list)| list.as_slice())
        };
        assert_eq!(Mechanism::from_parameters(key, find), Ok(mechanism), "{key}");
        assert!(Mechanism::from_parameters(key, |_| None).is_err(), "{key}");
        assert_eq!(Key::named(key.name()), Some(key));
    }
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    let mechanism = ask(Question::Bit, 1_000, 1.0).calibrate(Key::BitSum).unwrap();
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let wrong = values(Question::Real, 5);
    let refused = simulate(&mechanism, &wrong, 0..5, &mut rng).unwrap_err();
    assert_eq!(refused.to_string(), "the value does not fit: it must be a bit");
    assert!(ask(Question::Bit, 1_000, 1.0).calibrate(Key::SlicedSum).is_err());
    let careful = ask(Question::Real, 1_000, 1.0).with_fragile(false);
    assert!(careful.calibrate(Key::SplitAndMix).is_err());
}

#[test]
fn an_empty_bag_has_an_estimate_and_never_panics() {
    for key in Key::ALL {
        let question = small_question(key);
        let mechanism = ask(question, 1_500, 1.0).calibrate(key).unwrap();
        let empty = mechanism.estimate(&mechanism.tally(), confidence());
        // Of periods that nobody has reported in yet there is nothing to say.
        assert_eq!(empty.is_empty(), key.kind() == Kind::State, "{key}");
        assert!(empty.iter().all(|e| !e.value.is_nan()), "{key}: {empty:?}");
        // What no client sends is counted apart.
        let mut tally = mechanism.tally();
        mechanism.absorb(&mut tally, &vec![u64::MAX; 3 * mechanism.words()]);
        assert_eq!((tally.reports(), tally.malformed()), (0, 3), "{key}");
    }
}

#[test]
fn rappor_finds_the_common_strings() {
    let question = Question::Text { bits: 64, hashes: 2, cohorts: 16 };
    let mechanism = ask(question, 20_000, 2.0).calibrate(Key::Rappor).unwrap();
    let Mechanism::Rappor(rappor) = &mechanism else { panic!("another mechanism") };
    let texts = (0..20_000).map(|i| format!("string {}", (i % 10_usize).min(3))).collect();
    let values = Values::Texts(texts);
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    let tally = simulate(&mechanism, &values, 0..20_000, &mut rng).unwrap();
    let candidates: Vec<String> = (0..200).map(|i| format!("string {i}")).collect();
    let list: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let level = Probability::new("level", 1e-6).unwrap();
    let options = DecodeOptions { control: Control::Family, level, confidence: confidence() };
    let found = decode(rappor, &tally, &list, &options);
    let commonest = found.iter().find(|d| d.candidate == 3).expect("seven in ten hold it");
    assert!(commonest.significant);
    assert!((commonest.estimate.value - 14_000.0).abs() < 6.0 * commonest.estimate.standard_error);
    assert!(found.iter().all(|d| d.candidate < 4), "{found:?}");
}
