//! The random coefficients of the checks, from numbers that nobody knew before they were opened.

use crate::Element;
use sha2::{Digest, Sha256};
use std::array::from_fn;

/// SHA-256 of the label, the two opened numbers and a counter, cut into words of 8 bytes, each an
/// element or skipped: every member has the same coefficients in the same order, without an end.
pub(super) fn challenge(seeds: [Element; 2]) -> impl Iterator<Item = Element> {
    let seeded = Sha256::new_with_prefix(b"throng/1 challenge")
        .chain_update(seeds[0].to_bytes())
        .chain_update(seeds[1].to_bytes());
    let block = move |counter: u64| -> [u8; 32] {
        seeded.clone().chain_update(counter.to_le_bytes()).finalize().into()
    };
    let words = (0..).map(block).flat_map(|block| {
        let word = |place: usize| from_fn(|byte| block[8 * place + byte]);
        [0, 1, 2, 3].map(word).map(u64::from_le_bytes)
    });
    words.filter_map(Element::candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_follow_from_the_seeds() {
        let draw = |a: u32, b: u32| {
            challenge([a.into(), b.into()]).take(9).map(Element::signed).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));

        // The first word is the first 61 bits of SHA-256(label ‖ 1 ‖ 2 ‖ 0), the lowest byte first.
        let text = [&b"throng/1 challenge"[..], &[1, 0, 0, 0, 0, 0, 0, 0], &[2], &[0; 15]].concat();
        let first = u64::from_le_bytes(Sha256::digest(&text)[..8].try_into().unwrap());
        assert_eq!(Some(draw(1, 2)[0]), Element::candidate(first).map(Element::signed));
    }
}
