//! The memory a device has of its answers, and its answers with that memory.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Epsilon, Probability, Threshold};
use throng_mechanism::{Bloom, Longitudinal, Mechanism, Rappor, Value};

fn rng(seed: u64) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(seed)
}

/// All that is shown of a string is its permanent response, but for 1 bit in 2³⁰.
fn strings() -> Mechanism {
    let coin = |p| Threshold::at_least(Probability::new("coin", p).unwrap());
    let bloom = Bloom::new(64, 2, 4, 7).unwrap();
    let rare = 1.0 / f64::from(1 << 30);
    let [f, p, q] = [0.5, rare, 1.0 - rare].map(coin);
    Mechanism::Rappor(Rappor::new(bloom, f, p, q).unwrap())
}

/// Bits that change over sixteen epochs.
fn changes() -> Mechanism {
    let local = Longitudinal::local(16, 2, Epsilon::new(1.0).unwrap()).unwrap();
    Mechanism::Longitudinal(local)
}

#[test]
fn rappor_shows_the_first_string_for_ever() {
    let mechanism = strings();
    let Mechanism::Rappor(rappor) = &mechanism else { unreachable!() };
    let (mut memory, mut rng) = (Vec::new(), rng(1));
    let mut first = Vec::new();
    let one = Value::Text("one");
    mechanism.respond(one, 0, &mut memory, &mut rng, &mut first).unwrap();
    // The coins of this one show the permanent response as it is.
    assert_eq!(memory, first);
    let filter = rappor.bloom().filter(rappor.bloom().digest("one"), memory[0] as u32)[0];
    assert_ne!(memory[1], filter, "no response has noise of its own");
    let kept = memory.clone();
    for (text, epoch) in [("one", 1), ("two", 2), ("", 3), ("one", 4)] {
        let mut again = Vec::new();
        let value = Value::Text(text);
        mechanism.respond(value, epoch, &mut memory, &mut rng, &mut again).unwrap();
        assert_eq!((&again, &memory), (&first, &kept));
    }
}

#[test]
fn the_string_is_not_in_the_memory() {
    let mechanism = strings();
    let Mechanism::Rappor(rappor) = &mechanism else { unreachable!() };
    let mut memory = Vec::new();
    let value = Value::Text("one");
    mechanism.respond(value, 0, &mut memory, &mut rng(2), &mut Vec::new()).unwrap();
    assert_eq!(memory.len(), 1 + rappor.bloom().words());
    assert!(!memory.contains(&rappor.bloom().digest("one")));
}

/// The symbols of a device that reports in some epochs only, each with its bit.
fn symbols(reports: &[(u64, bool)], seed: u64) -> Vec<u64> {
    let mechanism = changes();
    let (mut memory, mut rng) = (Vec::new(), rng(seed));
    let mut all = Vec::new();
    for (epoch, bit) in reports {
        let value = Value::Bit(*bit);
        mechanism.respond(value, *epoch, &mut memory, &mut rng, &mut all).unwrap();
    }
    all
}

#[test]
fn missed_epochs_count_as_no_change() {
    for seed in 0..200 {
        let full = [false, false, true, true, true, true, false, false, false, true];
        let full: Vec<(u64, bool)> = (0..).zip(full).collect();
        let sent = [2, 3, 6, 9];
        let some: Vec<_> = sent.iter().map(|epoch| full[*epoch]).collect();
        let all = symbols(&full, seed);
        let expected: Vec<u64> = sent.iter().map(|epoch| all[*epoch]).collect();
        assert_eq!(symbols(&some, seed), expected);
    }
}

#[test]
fn a_memory_that_nobody_left_is_refused() {
    let strings = strings();
    let changes = changes();
    let (text, bit) = (Value::Text("one"), Value::Bit(true));
    for (mechanism, value, epoch, words) in [
        (&strings, text, 1, vec![0]),
        (&strings, text, 1, vec![4, 1]),
        (&strings, text, 1, vec![0, 1, 1]),
        (&changes, bit, 1, vec![0, 1, 0]),
        // Three periods ahead of its epoch, and an epoch after the last period.
        (&changes, bit, 1, vec![0, 1, 0, 0, 0, 0, 4]),
        (&changes, bit, 16, vec![0, 1, 0, 0, 0, 0, 4]),
    ] {
        let (mut memory, mut messages) = (words, Vec::new());
        let refused = mechanism.respond(value, epoch, &mut memory, &mut rng(1), &mut messages);
        assert!(refused.is_err() && messages.is_empty());
    }
}
