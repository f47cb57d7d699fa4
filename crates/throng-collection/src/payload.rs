//! Messages as bytes: what is inside the innermost layer.
//!
//! ```text
//! P = 8·words if a message has several words, else ⌈message bits/8⌉;   words are little-endian
//! ```
//!
//! A message of `longitudinal` is the symbol alone. Its period is the epoch's, which the analyzer knows
//! and nobody else needs to.

use crate::Terms;
use throng_mechanism::Mechanism;
use throng_wire::Error;

impl Terms {
    /// Messages that one report of one epoch holds.
    pub fn messages(&self) -> usize {
        match self.mechanism {
            Mechanism::Longitudinal(_) => 1,
            _ => self.mechanism.messages(),
        }
    }

    /// P, the bytes of a message.
    pub fn payload(&self) -> usize {
        match self.mechanism.words() {
            0 | 1 => (self.mechanism.message_bits().div_ceil(8) as usize).clamp(1, WORD),
            words => WORD * words,
        }
    }

    /// Appends the bytes of whole messages, as [`Mechanism::encode`] makes them. For `longitudinal`
    /// a message is what [`throng_mechanism::Client::report`] returns.
    ///
    /// ```
    /// # use throng_collection::Terms;
    /// # let terms = Terms::parse(r#"
    /// # question = { text = "Do you cycle to work?", value = "bit" }
    /// # promise = { epsilon = 1.0, delta = 1e-6, crowd = 1000, epochs = 1, lifetime_epsilon = 1.0,
    /// #             lifetime_delta = 1e-6 }
    /// # mechanism = { key = "bit-sum", flip = "567064570277940032" }
    /// # "#)?;
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

    /// Appends the words of messages that came in an epoch, for [`Mechanism::absorb`].
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
            messages.push(self.in_epoch(u64::from_le_bytes(word), epoch));
        }
        Ok(())
    }

    /// Adds the period to a symbol of `longitudinal`.
    fn in_epoch(&self, word: u64, epoch: u64) -> u64 {
        match &self.mechanism {
            Mechanism::Longitudinal(m) if word < m.symbols() && epoch < m.periods() => {
                m.message(epoch + 1, word)
            }
            // A symbol too large would be read as one of a later period.
            Mechanism::Longitudinal(_) => u64::MAX,
            _ => word,
        }
    }
}

/// Bytes of a word.
const WORD: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::testing::terms;
    use chacha20::ChaCha12Rng;
    use chacha20::rand_core::{Rng, SeedableRng};
    use throng_mechanism::{Client, Key, Offer, Question, Value};

    /// Every mechanism, in several sizes where the size decides how words are laid out.
    fn all() -> Vec<Terms> {
        let text = |bits| Question::Text { bits, hashes: 2, cohorts: 64 };
        let mut questions = vec![Question::Bit, Question::Real];
        questions.extend([2, 3, 8, 9].map(|size| Question::Category { size }));
        questions.extend([text(64), text(128), text(100)]);
        questions.extend([1, 5].map(|count| Question::Attributes { count }));
        questions.extend([1, 8].map(|periods| Question::State { periods, changes: 1 }));
        let mut all = Vec::new();
        for question in questions {
            all.extend(question.keys().iter().map(|key| terms(question, *key, 1.0)));
        }
        // Sets of so many categories take several words.
        for size in [63, 64, 65, 300] {
            let question = Question::Category { size };
            all.push(terms(question, Key::SubsetSelection, 1.0));
            all.push(terms(question, Key::KaryResponse, 1.0));
        }
        assert!(Key::ALL.iter().all(|key| all.iter().any(|terms| terms.mechanism.key() == *key)));
        all
    }

    /// A report of one epoch for some value.
    fn report(terms: &Terms, client: &mut Option<Client>, rng: &mut ChaCha12Rng) -> Vec<u64> {
        let mut report = Vec::new();
        let bits: Vec<bool> = (0..5).map(|_| rng.next_u64() & 1 == 1).collect();
        let value = match terms.mechanism.question() {
            Question::Bit => Value::Bit(bits[0]),
            Question::Real => Value::Real(0.3),
            Question::Category { size } => Value::Category(rng.next_u32() % size),
            Question::Text { .. } => Value::Text("a text"),
            Question::Attributes { count } => Value::Bits(&bits[..count as usize]),
            Question::State { .. } => {
                let Mechanism::Longitudinal(m) = &terms.mechanism else { unreachable!() };
                let client = client.get_or_insert_with(|| Client::new(m, rng));
                return vec![client.report(m, bits[0], rng).unwrap()];
            }
        };
        terms.mechanism.encode(value, rng, &mut report).unwrap();
        report
    }

    #[test]
    fn what_is_sent_is_what_is_counted() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for terms in all() {
            let (key, mut client) = (terms.mechanism.key(), None);
            let mut tally = terms.mechanism.tally();
            let epochs =
                if key == Key::Longitudinal { terms.mechanism.messages() as u64 } else { 20 };
            for epoch in 0..epochs {
                let sent = report(&terms, &mut client, &mut rng);
                let (mut bytes, mut found) = (Vec::new(), Vec::new());
                terms.encode_payload(&sent, &mut bytes).unwrap();
                assert_eq!(bytes.len(), terms.messages() * terms.payload(), "{key}");
                terms.decode_payload(&bytes, epoch, &mut found).unwrap();
                match &terms.mechanism {
                    Mechanism::Longitudinal(m) => {
                        assert_eq!(found, [m.message(epoch + 1, sent[0])]);
                    }
                    _ => assert_eq!(found, sent, "{key}"),
                }
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
        let terms = terms(question, Key::Longitudinal, 1.0);
        for (byte, epoch) in [(9, 0), (255, 0), (0, 8), (0, u64::MAX)] {
            let (mut found, mut tally) = (Vec::new(), terms.mechanism.tally());
            terms.decode_payload(&[byte], epoch, &mut found).unwrap();
            terms.mechanism.absorb(&mut tally, &found);
            assert_eq!(tally.malformed(), 1, "{byte} in {epoch}");
        }
    }

    #[test]
    fn words_that_do_not_fit_are_refused() {
        let terms = terms(Question::Bit, Key::BitSum, 1.0);
        let mut bytes = Vec::new();
        assert!(terms.encode_payload(&[256], &mut bytes).is_err() && bytes.is_empty());
    }

    #[test]
    fn the_planner_predicts_the_bytes_of_a_report() {
        for terms in all() {
            let mechanism = terms.mechanism.clone();
            let offer = Offer { mechanism, standard_error: 0.0, heavy_error: 0.0, half_width: 0.0 };
            let key = terms.mechanism.key();
            assert_eq!(offer.bytes(), terms.shape(2).report_bytes() as u64, "{key}");
        }
    }
}
