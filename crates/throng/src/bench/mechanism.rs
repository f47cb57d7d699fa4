//! `throng bench encode|aggregate`: reports per second of both halves of the mechanisms, on one
//! core and on all, beside the generator and the memory of the same run.

use super::rate::{in_millions, millions, one_and_all, repeat};
use crate::parallel::generator;
use crate::report::{Printable, Report};
use anyhow::Result;
use chacha20::rand_core::Rng;
use std::hint::black_box;
use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold};
use throng_mechanism::{
    Ask, BinaryResponse, Bloom, KaryResponse, Key, Kind, LaplaceMean, Longitudinal, Mechanism,
    Question, Rappor, SubsetSelection, UnarySum, Value,
};

/// Measures the clients' half, with secure randomness (ChaCha12).
pub fn encode() -> Result<Report> {
    let words = words_per_second();
    let mut rows = Vec::new();
    for (name, mechanism) in settings()? {
        eprintln!("{name}");
        let (one, all) = one_and_all(|seed| encode_for(&mechanism, seed));
        let taken = Printable::places(words / one, 1);
        let row = row(name, &mechanism, one, all);
        rows.push(row.line("generator_words_per_report", "words of generator time", taken));
    }
    Ok(Report::default().field("generator_words_per_second", words).rows("rows", rows).note(
        format!(
            "The generator alone (ChaCha12) gives {} M words of 64 bits a second in this run; the \
             last column says for how many of them a report takes the time.",
            in_millions(words)
        ),
    ))
}

/// Measures the analyzer's half.
pub fn aggregate() -> Result<Report> {
    let memory = bytes_per_second();
    let mut rows = Vec::new();
    for (name, mechanism) in settings()? {
        eprintln!("{name}");
        let mut rng = generator(1, 0);
        let mut bag = Vec::new();
        let words = mechanism.messages() * mechanism.words();
        let reports = (BAG / words).max(64);
        for user in 0..reports {
            mechanism.encode(value(&mechanism, user), &mut rng, &mut bag)?;
        }
        let (one, all) = one_and_all(|_| {
            let mut tally = mechanism.tally();
            repeat(reports as u64, || mechanism.absorb(&mut tally, black_box(&bag)))
        });
        let bytes = one * (8 * words) as f64;
        let gigabytes = Printable::new(bytes, format!("{:.2}", bytes / 1e9));
        rows.push(
            row(name, &mechanism, one, all).line("bytes_per_second", "GB/s", gigabytes).line(
                "over_memory",
                "of memory speed",
                Printable::places(bytes / memory, 2),
            ),
        );
    }
    Ok(Report::default().field("memory_bytes_per_second", memory).rows("rows", rows).note(format!(
        "Summing 64-bit words of memory runs at {:.1} GB/s in this run, one core.",
        memory / 1e9
    )))
}

/// The beginning of a row of both tables: a setting, and its rates on one core and on all.
fn row(name: String, mechanism: &Mechanism, one: f64, all: f64) -> Report {
    Report::default()
        .field("mechanism", mechanism.key().name())
        .line("setting", "mechanism", name)
        .line("messages", "messages", mechanism.messages())
        .line("per_second", "M reports/s", millions(one))
        .line("per_second_all_cores", "all cores", millions(all))
}

/// The settings to measure, one or two of every mechanism, each with its name.
fn settings() -> Result<Vec<(String, Mechanism)>> {
    let (one, two) = (Epsilon::new(1.0)?, Epsilon::new(2.0)?);
    let coin = |p: f64| anyhow::Ok(Threshold::at_least(Probability::new("p", p)?));
    let rappor = |bits, cohorts| -> Result<Rappor> {
        let bloom = Bloom::new(bits, 2, cohorts, 0)?;
        Ok(Rappor::new(bloom, coin(0.5)?, coin(0.5)?, coin(0.75)?)?)
    };
    let calibrated = |key: Key, question, max_messages| -> Result<Mechanism> {
        let ask = Ask::new(question, Crowd::new(1_000_000)?, one, Delta::new(1e-8)?);
        Ok(ask.with_max_messages(max_messages).with_fragile(true).calibrate(key)?)
    };
    let category = |size| Question::Category { size };
    let mut all = vec![
        ("", Mechanism::RandomizedResponse(BinaryResponse::local(one)?)),
        ("", Mechanism::OneBitMean(UnarySum::new(1, coin(0.2)?)?)),
        (", 1000 bits", Mechanism::RealSum(UnarySum::new(1000, coin(0.1)?)?)),
        ("", Mechanism::LaplaceMean(LaplaceMean::local(one, 1000)?)),
        (", 64 periods", Mechanism::Longitudinal(Longitudinal::local(64, 2, one)?)),
        (", k = 10", Mechanism::KaryResponse(KaryResponse::local(10, two)?)),
        (", k = 100", Mechanism::KaryResponse(KaryResponse::local(100, two)?)),
        (", k = 1024", Mechanism::KaryResponse(KaryResponse::local(1024, two)?)),
        (", k = 10", Mechanism::SubsetSelection(SubsetSelection::local(10, one)?)),
        (", k = 100", Mechanism::SubsetSelection(SubsetSelection::local(100, one)?)),
        (", k = 1024", Mechanism::SubsetSelection(SubsetSelection::local(1024, one)?)),
        (", 16 bits", Mechanism::Rappor(rappor(16, 64)?)),
        (", 128 bits", Mechanism::Rappor(rappor(128, 8)?)),
        ("", calibrated(Key::BitSum, Question::Bit, 1)?),
        ("", calibrated(Key::TwoMessageCount, Question::Bit, 2)?),
        ("", calibrated(Key::CoinCount, Question::Bit, 2)?),
        ("", calibrated(Key::BurstCount, Question::Bit, 9)?),
        ("", calibrated(Key::SlicedSum, Question::Real, 16)?),
        ("", calibrated(Key::SplitAndMix, Question::Real, 16)?),
        (", k = 1024", calibrated(Key::AdditiveHistogram, category(1024), 16)?),
        (", k = 1024", calibrated(Key::BurstHistogram, category(1024), 9)?),
        (", k = 100", calibrated(Key::Histogram, category(100), 100)?),
        (", 100 attributes", calibrated(Key::Selection, Question::Attributes { count: 100 }, 100)?),
    ];
    // Mechanisms without a setting of their own are measured as they are calibrated.
    for key in Key::ALL {
        if !all.iter().any(|(_, mechanism)| mechanism.key() == key) {
            all.push(("", calibrated(key, usual_question(key.kind()), 16)?));
        }
    }
    Ok(all.into_iter().map(|(size, made)| (format!("{}{size}", made.key()), made)).collect())
}

fn usual_question(kind: Kind) -> Question {
    match kind {
        Kind::Bit => Question::Bit,
        Kind::Real => Question::Real,
        Kind::Category => Question::Category { size: 10 },
        Kind::Text => Question::Text { bits: 128, hashes: 2, cohorts: 8 },
        Kind::Attributes => Question::Attributes { count: 10 },
        Kind::State => Question::State { periods: 64, changes: 2 },
    }
}

/// A value for a user. Rates depend on the values, so these stay as they are: rates of one day are
/// compared with those of another.
fn value(mechanism: &Mechanism, user: usize) -> Value<'static> {
    match mechanism.kind() {
        Kind::Bit => Value::Bit(user.is_multiple_of(3)),
        Kind::Real => Value::Real((user % 97) as f64 / 96.0),
        Kind::Category => Value::Category((user % 10) as u32),
        Kind::Text => Value::Text(["alpha", "beta", "gamma", "delta"][user % 4]),
        Kind::Attributes | Kind::State => Value::Bits(&BITS[..mechanism.messages()]),
    }
}

/// Reports per second of one thread.
fn encode_for(mechanism: &Mechanism, seed: u64) -> f64 {
    let mut rng = generator(seed, 7);
    let mut report = Vec::new();
    repeat(BATCH as u64, || {
        report.clear();
        for user in 0..BATCH {
            let value = value(mechanism, user);
            mechanism.encode(value, &mut rng, &mut report).expect("a fitting value");
        }
        black_box(&report);
    })
}

fn words_per_second() -> f64 {
    let mut rng = generator(0, 0);
    repeat(4096, || {
        black_box((0..4096).fold(0, |sum, _| sum ^ rng.next_u64()));
    })
}

fn bytes_per_second() -> f64 {
    let words = vec![1_u64; 1 << 24];
    8.0 * repeat(words.len() as u64, || {
        black_box(black_box(&words).iter().sum::<u64>());
    })
}

/// Reports encoded between looks at the clock.
const BATCH: usize = 64;
/// Words of the bag that is counted over and over.
const BAG: usize = 1 << 22;
/// The attributes or periods of everybody.
const BITS: [bool; 1024] = [false; 1024];
