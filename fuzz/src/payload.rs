//! Payloads of every mechanism, as anyone who seals to the analyzer may make them.
//!
//! Every message is counted, as valid or as malformed, whatever its bytes are; and estimates come
//! out.

use crate::target::Target;
use crate::world;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::sync::LazyLock;
use throng_account::Probability;
use throng_collection::Terms;
use throng_mechanism::{Key, Kind, Value};

/// The place of a mechanism in the list, an epoch, then messages.
pub const PAYLOAD: Target = Target {
    name: "payload",
    rounds: 30_000,
    seeds: || (0..).zip(&*TERMS).map(|(place, terms)| sent(place, terms)).collect(),
    body: |bytes| {
        let [place, epoch, payload @ ..] = bytes else { return };
        let terms = &TERMS[usize::from(*place) % TERMS.len()];
        let epoch = if *epoch == u8::MAX { u64::MAX } else { (*epoch).into() };
        absorb(terms, payload, epoch);
        encode(terms, payload);
    },
};

fn absorb(terms: &Terms, payload: &[u8], epoch: u64) {
    let (mechanism, each) = (&terms.mechanism, terms.payload());
    let mut words = Vec::new();
    let whole = payload.len().is_multiple_of(each);
    assert_eq!(terms.decode_payload(payload, epoch, &mut words).is_ok(), whole);
    assert!(whole || words.is_empty());
    let messages = words.len() / mechanism.words();
    assert!(!whole || messages == payload.len() / each);

    let (mut tally, mut singly) = (mechanism.tally(), mechanism.tally());
    mechanism.absorb(&mut tally, &words);
    words.chunks(mechanism.words()).for_each(|message| mechanism.absorb(&mut singly, message));
    assert_eq!(tally, singly);
    let kept = tally.to_words();
    assert_eq!(kept[0] + tally.malformed(), messages as u64);
    let mut again = mechanism.tally();
    again.add_words(&kept).unwrap();
    assert_eq!(again, tally);
    // Some take milliseconds to estimate.
    if payload.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)).is_multiple_of(16) {
        let estimates = mechanism.estimate(&tally, Probability::new("confidence", 0.95).unwrap());
        assert!(tally.reports() == 0 || estimates.iter().all(|e| e.value.is_finite()));
    }
    if whole && mechanism.epochs().is_none() {
        let mut bytes = Vec::new();
        terms.encode_payload(&words, &mut bytes).unwrap();
        assert_eq!(bytes, payload);
    }
}

/// Checks that words that are encoded at all are decoded as they were.
fn encode(terms: &Terms, bytes: &[u8]) {
    let words: Vec<u64> =
        bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let mut encoded = Vec::new();
    if terms.encode_payload(&words, &mut encoded).is_err() {
        return assert!(encoded.is_empty());
    }
    let mut decoded = Vec::new();
    terms.decode_payload(&encoded, 0, &mut decoded).unwrap();
    assert!(terms.mechanism.epochs().is_some() || decoded == words);
    assert_eq!(decoded.len(), words.len());
}

/// The bytes that a client sends.
fn sent(place: u8, terms: &Terms) -> Vec<u8> {
    let mut rng = ChaCha12Rng::seed_from_u64(place.into());
    let mut words = Vec::new();
    for _ in 0..3 {
        let value = match terms.mechanism.kind() {
            Kind::Bit | Kind::State => Value::Bit(true),
            Kind::Real => Value::Real(0.3),
            Kind::Category => Value::Category(2),
            Kind::Text => Value::Text("a text"),
            Kind::Attributes => Value::Bits(&[true, false, true]),
        };
        terms.mechanism.respond(value, 0, &mut Vec::new(), &mut rng, &mut words).unwrap();
    }
    let mut bytes = vec![place, 0];
    terms.encode_payload(&words, &mut bytes).unwrap();
    bytes
}

static TERMS: LazyLock<Vec<Terms>> = LazyLock::new(|| Key::ALL.map(world::terms).to_vec());
