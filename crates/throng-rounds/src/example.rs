//! Keys and circuits for examples.
//!
//! ```
//! use throng_rounds::{Circuit, example};
//!
//! let circuit = Circuit::new(3, example::committee());
//! assert_eq!(circuit.committee().needed(), 3);
//! ```

use crate::{Committee, Hand, Method, PairKey, Seat};
use rand_core::CryptoRng;
use throng_wire::{Bag, Bulletin, CollectionId};

/// The members in seats 0, 1 and 2, of whom one may be corrupt.
#[expect(clippy::missing_panics_doc, reason = "three seats are enough")]
pub fn committee() -> Committee {
    Committee::new(vec![Seat(0), Seat(1), Seat(2)], 1).expect(VALID)
}

/// The key that seats 3 and 8 agreed on, as each of them has it.
///
/// # Panics
/// If two of 132 random cards are equal, with probability below 2⁻⁵⁰.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_rounds::{Seat, example};
///
/// let [three, eight] = example::pair_keys(&mut ChaCha12Rng::seed_from_u64(1));
/// assert!(three.confirms(Seat(8), &eight.confirmation(Seat(8))));
/// ```
pub fn pair_keys(rng: &mut impl CryptoRng) -> [PairKey; 2] {
    let method = Method::Cards { cards: 66 };
    let hands = [(Seat(3), Seat(8)), (Seat(8), Seat(3))]
        .map(|(own, partner)| Hand::draw(own, partner, method, rng).expect(VALID));
    let messages: Vec<u8> = hands.iter().flat_map(Hand::messages).flatten().collect();
    let bag = Bag::new(Hand::MESSAGE, &messages).expect(VALID);
    let bulletin = Bulletin::new(CollectionId::new([7; 32]), 0, 2, bag);
    hands.map(|hand| hand.settle(&bulletin).expect("no two cards are equal"))
}

/// The numbers above are in range.
const VALID: &str = "in range";
