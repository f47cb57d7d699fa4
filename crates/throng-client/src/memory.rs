//! What a device remembers of its answers, and how it answers with that.
//!
//! Most mechanisms draw everything afresh in every epoch, and what they cost adds up in the promise.
//! Two do not:
//!
//! - `rappor`: the permanent response to the first string is kept and shown in every epoch. A device
//!   whose string changes goes on showing the first one: a new response would cost ε_∞ anew, and
//!   sending nothing would tell of the change. Only the cohort and the response are kept, not the
//!   string, so the memory tells no more of it than all reports together may.
//! - `longitudinal`: period t is epoch t − 1, and the state advances once for each. Epochs that a device
//!   missed are caught up with the bit it last reported, 0 if it never did, and without sending: a
//!   change during the gap counts as one in the epoch of the next report, and the answers of nodes that
//!   ended in the gap are missing from the count. What is sent is a part of what the lifetime ε covers.

use rand_core::CryptoRng;
use throng_mechanism::{Client as Periods, Error, Longitudinal, Mechanism, Memory, Rappor, Value};
use zeroize::Zeroizing;

/// Whether reports rest on a memory, and the promise on there being one of it only.
pub(crate) fn remembers(mechanism: &Mechanism) -> bool {
    matches!(mechanism, Mechanism::Rappor(_) | Mechanism::Longitudinal(_))
}

/// Appends the messages for one epoch. `memory` is empty, or what the last epoch left in it. When a
/// value is refused, nothing is appended and the memory is to be thrown away.
pub(crate) fn randomize(
    mechanism: &Mechanism,
    value: Value<'_>,
    epoch: u64,
    memory: &mut Words,
    messages: &mut Vec<u64>,
    rng: &mut impl CryptoRng,
) -> Result<(), Error> {
    match (mechanism, value) {
        (Mechanism::Rappor(m), Value::Text(text)) => respond(m, text, memory, messages, rng),
        (Mechanism::Longitudinal(m), Value::Bit(bit)) => {
            advance(m, bit, epoch, memory, messages, rng)
        }
        (Mechanism::Longitudinal(_), _) => Err(Error::Value { expected: "a bit" }),
        _ => mechanism.encode(value, rng, messages),
    }
}

/// Wiped when dropped.
pub(crate) type Words = Zeroizing<Vec<u64>>;

/// Keeps the cohort and the permanent bits. Whatever the string, it is taken for the first one.
fn respond(
    rappor: &Rappor,
    text: &str,
    memory: &mut Words,
    messages: &mut Vec<u64>,
    rng: &mut impl CryptoRng,
) -> Result<(), Error> {
    let mut known = match memory.split_first() {
        None => Memory::new(rappor, STRINGS, rng),
        Some((cohort, permanent)) => {
            let digest = rappor.bloom().digest(text);
            let head = [*cohort, STRINGS.into(), digest];
            Memory::from_words(rappor, &Zeroizing::new([&head, permanent].concat()))?
        }
    };
    rappor.respond(text, &mut known, rng, messages)?;

    let words = Zeroizing::new(known.to_words(rappor));
    if let [cohort, _limit, _digest, permanent @ ..] = &words[..] {
        *memory = Zeroizing::new([&[*cohort], permanent].concat());
    }
    Ok(())
}

/// Keeps the state of the tree.
fn advance(
    protocol: &Longitudinal,
    bit: bool,
    epoch: u64,
    memory: &mut Words,
    messages: &mut Vec<u64>,
    rng: &mut impl CryptoRng,
) -> Result<(), Error> {
    let malformed = Error::Malformed { expected: "a memory of this protocol before this epoch" };
    let mut periods = match <[u64; Periods::WORDS]>::try_from(&memory[..]) {
        Ok(words) => Periods::from_words(protocol, words)?,
        Err(_) if memory.is_empty() => Periods::new(protocol, rng),
        Err(_) => return Err(malformed),
    };
    while periods.period() < epoch {
        let [.., last, _period] = periods.to_words();
        periods.report(protocol, last == 1, rng)?;
    }
    if periods.period() != epoch {
        return Err(malformed);
    }
    messages.push(periods.report(protocol, bit, rng)?);
    *memory = Zeroizing::new(periods.to_words().to_vec());
    Ok(())
}

/// Distinct strings that one device reports on: what the promise of a collection allows for.
const STRINGS: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, rng};

    #[test]
    fn rappor_shows_the_first_string_for_ever() {
        let mechanism = World::of_strings().collection.terms.mechanism;
        let Mechanism::Rappor(rappor) = &mechanism else { unreachable!() };
        let (mut memory, mut rng) = (Words::default(), rng(1));
        let mut first = Vec::new();
        let one = Value::Text("one");
        randomize(&mechanism, one, 0, &mut memory, &mut first, &mut rng).unwrap();
        // The coins of this one show the permanent response as it is.
        assert_eq!(*memory, first);
        let filter = rappor.bloom().filter(rappor.bloom().digest("one"), memory[0] as u32)[0];
        assert_ne!(memory[1], filter, "no response has noise of its own");
        let kept = memory.clone();
        for (text, epoch) in [("one", 1), ("two", 2), ("", 3), ("one", 4)] {
            let mut again = Vec::new();
            let value = Value::Text(text);
            randomize(&mechanism, value, epoch, &mut memory, &mut again, &mut rng).unwrap();
            assert_eq!((&again, &memory), (&first, &kept));
        }
    }

    #[test]
    fn the_string_is_not_in_the_memory() {
        let mechanism = World::of_strings().collection.terms.mechanism;
        let Mechanism::Rappor(rappor) = &mechanism else { unreachable!() };
        let mut memory = Words::default();
        let value = Value::Text("one");
        randomize(&mechanism, value, 0, &mut memory, &mut Vec::new(), &mut rng(2)).unwrap();
        assert_eq!(memory.len(), 1 + rappor.bloom().words());
        assert!(!memory.contains(&rappor.bloom().digest("one")));
    }

    /// The symbols of a device that reports in some epochs only, each with its bit.
    fn symbols(reports: &[(u64, bool)], seed: u64) -> Vec<u64> {
        let mechanism = World::of_changes().collection.terms.mechanism;
        let (mut memory, mut rng) = (Words::default(), rng(seed));
        let mut all = Vec::new();
        for (epoch, bit) in reports {
            let value = Value::Bit(*bit);
            randomize(&mechanism, value, *epoch, &mut memory, &mut all, &mut rng).unwrap();
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
        let strings = World::of_strings().collection.terms.mechanism;
        let changes = World::of_changes().collection.terms.mechanism;
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
            let (mut memory, mut messages) = (Zeroizing::new(words), Vec::new());
            let refused =
                randomize(mechanism, value, epoch, &mut memory, &mut messages, &mut rng(1));
            assert!(refused.is_err() && messages.is_empty());
        }
    }
}
