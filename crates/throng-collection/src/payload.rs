//! Messages as bytes: what is inside the innermost layer.
//!
//! ```text
//! P = 8·words if a message has several words, else ⌈message bits/8⌉;   words are little-endian
//! ```
//!
//! Where a report is spread over epochs (`longitudinal`), a message is the symbol alone. Its period
//! is the epoch's, which the analyzer knows and nobody else needs to.

use crate::Terms;
use throng_mechanism::Mechanism;
use throng_wire::{Error, Shape};

impl Terms {
    /// P, the bytes of a message.
    pub fn payload(&self) -> usize {
        payload(&self.mechanism)
    }

    /// Appends the bytes of whole messages, as [`respond`](throng_mechanism::Mechanism::respond)
    /// makes them.
    ///
    /// ```
    /// let terms = throng_collection::example::terms();
    /// let mut bytes = Vec::new();
    /// terms.encode_payload(&[1, 0], &mut bytes)?;
    /// assert_eq!(bytes, [1, 0]);
    ///
    /// let mut messages = Vec::new();
    /// terms.decode_payload(&bytes, 0, &mut messages)?;
    /// assert_eq!(messages, [1, 0]);
    /// assert!(terms.encode_payload(&[256], &mut bytes).is_err());
    /// # Ok::<(), throng_wire::Error>(())
    /// ```
    pub fn encode_payload(&self, messages: &[u64], bytes: &mut Vec<u8>) -> Result<(), Error> {
        let (words, payload) = (self.mechanism.words(), self.payload());
        let fits = |word: &u64| payload >= WORD || word >> (8 * payload) == 0;
        if !messages.len().is_multiple_of(words) || !messages.iter().all(fits) {
            return Err(Error::Malformed { expected: "whole messages of this mechanism" });
        }
        let each = payload / words;
        for word in messages {
            bytes.extend_from_slice(&word.to_le_bytes()[..each]);
        }
        Ok(())
    }

    /// Appends the words of messages that came in an epoch, for
    /// [`absorb`](throng_mechanism::Mechanism::absorb).
    ///
    /// Bytes that no client sends become words that no client sends: counted as malformed there.
    pub fn decode_payload(
        &self,
        bytes: &[u8],
        epoch: u64,
        messages: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let payload = self.payload();
        if !bytes.len().is_multiple_of(payload) {
            return Err(Error::Malformed { expected: "whole messages of this mechanism" });
        }
        for part in bytes.chunks_exact(payload.min(WORD)) {
            let mut word = [0; WORD];
            word[..part.len()].copy_from_slice(part);
            messages.push(self.mechanism.in_epoch(u64::from_le_bytes(word), epoch));
        }
        Ok(())
    }
}

/// Bytes of one sealed report of a mechanism through `mixes` mixes, as the planner counts them.
///
/// ```
/// use throng_collection::{example, report_bytes};
///
/// // One byte in three layers of 48.
/// assert_eq!(report_bytes(&example::terms().mechanism, 2), 145);
/// ```
pub fn report_bytes(mechanism: &Mechanism, mixes: u8) -> u64 {
    shape(mechanism, mixes).report_bytes() as u64
}

/// The lengths of everything, through this number of mixes.
pub(super) fn shape(mechanism: &Mechanism, mixes: u8) -> Shape {
    Shape {
        mixes,
        messages: u32::try_from(mechanism.per_epoch()).unwrap_or(u32::MAX),
        payload: payload(mechanism) as u32,
    }
}

fn payload(mechanism: &Mechanism) -> usize {
    match mechanism.words() {
        0 | 1 => (mechanism.message_bits().div_ceil(8) as usize).clamp(1, WORD),
        words => WORD * words,
    }
}

/// Bytes of a word.
const WORD: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::asked;
    use chacha20::ChaCha12Rng;
    use chacha20::rand_core::{Rng, SeedableRng};
    use throng_mechanism::{Key, Question, Value};

    /// The terms of every mechanism, in several sizes where the size decides how words are laid
    /// out.
    fn all() -> Vec<Terms> {
        let text = |bits| Question::Text { bits, hashes: 2, cohorts: 64 };
        let mut questions = vec![Question::Bit, Question::Real];
        questions.extend([2, 3, 8, 9].map(|size| Question::Category { size }));
        questions.extend([text(64), text(128), text(100)]);
        questions.extend([1, 5].map(|count| Question::Attributes { count }));
        questions.extend([1, 8].map(|periods| Question::State { periods, changes: 1 }));
        let mut all = Vec::new();
        for question in questions {
            all.extend(question.keys().iter().map(|key| asked(question, *key)));
        }
        // Sets of this many categories take several words.
        for size in [63, 64, 65, 300] {
            let question = Question::Category { size };
            all.push(asked(question, Key::SubsetSelection));
            all.push(asked(question, Key::KaryResponse));
        }
        assert!(Key::ALL.iter().all(|key| all.iter().any(|terms| terms.mechanism.key() == *key)));
        all
    }

    /// A report of one epoch for some value.
    fn report(terms: &Terms, epoch: u64, memory: &mut Vec<u64>, rng: &mut ChaCha12Rng) -> Vec<u64> {
        let mut report = Vec::new();
        let bits: Vec<bool> = (0..5).map(|_| rng.next_u64() & 1 == 1).collect();
        let value = match terms.mechanism.question() {
            Question::Bit | Question::State { .. } => Value::Bit(bits[0]),
            Question::Real => Value::Real(0.3),
            Question::Category { size } => Value::Category(rng.next_u32() % size),
            Question::Text { .. } => Value::Text("a text"),
            Question::Attributes { count } => Value::Bits(&bits[..count as usize]),
        };
        terms.mechanism.respond(value, epoch, memory, rng, &mut report).unwrap();
        report
    }

    #[test]
    fn what_is_sent_is_what_is_counted() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for terms in all() {
            let (key, mut memory) = (terms.mechanism.key(), Vec::new());
            let mut tally = terms.mechanism.tally();
            for epoch in 0..terms.mechanism.epochs().unwrap_or(20) {
                let sent = report(&terms, epoch, &mut memory, &mut rng);
                let (mut bytes, mut found) = (Vec::new(), Vec::new());
                terms.encode_payload(&sent, &mut bytes).unwrap();
                assert_eq!(bytes.len(), terms.mechanism.per_epoch() * terms.payload(), "{key}");
                terms.decode_payload(&bytes, epoch, &mut found).unwrap();
                let placed = |word: &u64| terms.mechanism.in_epoch(*word, epoch);
                assert_eq!(found, sent.iter().map(placed).collect::<Vec<_>>(), "{key}");
                terms.mechanism.absorb(&mut tally, &found);
            }
            assert_eq!(tally.malformed(), 0, "{key}");
        }
    }

    // Whoever seals to the analyzer may seal anything.
    #[test]
    fn bytes_of_nobody_are_counted_and_harm_nothing() {
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        for terms in all() {
            let key = terms.mechanism.key();
            let mut tally = terms.mechanism.tally();
            let mut bytes = vec![0; 500 * terms.payload()];
            rng.fill_bytes(&mut bytes);
            bytes[..terms.payload()].fill(0xff);
            let mut found = Vec::new();
            terms.decode_payload(&bytes, 0, &mut found).unwrap();
            terms.mechanism.absorb(&mut tally, &found);
            let full = 8 * terms.payload() as u32 == terms.mechanism.message_bits();
            // Where every byte string is a message there is nothing to find.
            assert!(full || tally.malformed() > 0, "{key}");
            assert!(
                terms.decode_payload(&bytes[..bytes.len() - 1], 0, &mut found).is_err()
                    || terms.payload() == 1
            );
        }
    }

    // Read as a message, a symbol too large is one of the next period.
    #[test]
    fn a_symbol_stays_in_its_period() {
        let question = Question::State { periods: 8, changes: 1 };
        let terms = asked(question, Key::Longitudinal);
        for (byte, epoch) in [(9, 0), (255, 0), (0, 8), (0, u64::MAX)] {
            let (mut found, mut tally) = (Vec::new(), terms.mechanism.tally());
            terms.decode_payload(&[byte], epoch, &mut found).unwrap();
            terms.mechanism.absorb(&mut tally, &found);
            assert_eq!(tally.malformed(), 1, "{byte} in {epoch}");
        }
    }

    #[test]
    fn words_that_do_not_fit_are_refused() {
        let terms = asked(Question::Bit, Key::BitSum);
        let mut bytes = Vec::new();
        assert!(terms.encode_payload(&[256], &mut bytes).is_err() && bytes.is_empty());
    }

    #[test]
    fn the_planner_predicts_the_bytes_of_a_report() {
        for terms in all() {
            // One outer layer around as many onions as there are messages, of two layers each.
            let onion = terms.payload() as u64 + 2 * 48;
            let bytes = report_bytes(&terms.mechanism, 2);
            assert_eq!(
                bytes,
                48 + terms.mechanism.per_epoch() as u64 * onion,
                "{}",
                terms.mechanism.key()
            );
            assert_eq!(bytes, shape(&terms.mechanism, 2).report_bytes() as u64);
        }
    }
}
