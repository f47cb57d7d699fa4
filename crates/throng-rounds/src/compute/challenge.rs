//! The random coefficients of the checks, from numbers that nobody knew before they were opened.

use crate::Element;
use sha2::{Digest, Sha256};

/// SHA-256 of the label, the two opened numbers and a counter, cut into words of 8 bytes, each an
/// element or skipped: every member has the same coefficients in the same order.
pub(super) struct Challenge {
    seeded: Sha256,
    counter: u64,
    block: [u8; 32],
    used: usize,
}

impl Challenge {
    pub fn new(seeds: [Element; 2]) -> Self {
        let seeded = Sha256::new_with_prefix(b"throng/1 challenge")
            .chain_update(seeds[0].to_bytes())
            .chain_update(seeds[1].to_bytes());
        Self { seeded, counter: 0, block: [0; 32], used: 32 }
    }

    pub fn next(&mut self) -> Element {
        loop {
            if let Some(element) = Element::candidate(self.word()) {
                return element;
            }
        }
    }

    fn word(&mut self) -> u64 {
        if self.used == self.block.len() {
            let counter = self.counter.to_le_bytes();
            self.block = self.seeded.clone().chain_update(counter).finalize().into();
            (self.counter, self.used) = (self.counter + 1, 0);
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.block[self.used..self.used + 8]);
        self.used += 8;
        u64::from_le_bytes(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_follow_from_the_seeds() {
        let draw = |a: u32, b: u32| {
            let mut challenge = Challenge::new([a.into(), b.into()]);
            (0..9).map(|_| challenge.next().signed()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));

        // The first word is the first 61 bits of SHA-256(label ‖ 1 ‖ 2 ‖ 0), the lowest byte first.
        let text = [&b"throng/1 challenge"[..], &[1, 0, 0, 0, 0, 0, 0, 0], &[2], &[0; 15]].concat();
        let first = u64::from_le_bytes(Sha256::digest(&text)[..8].try_into().unwrap());
        assert_eq!(Some(draw(1, 2)[0]), Element::candidate(first).map(Element::signed));
    }
}
