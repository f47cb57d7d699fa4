//! Agreeing on a key through a shuffle: two put messages into the bag that everybody sees, and know
//! something of them that nobody else does, namely which of them are their own.
//!
//! ```text
//! tag      = low seat (4) ‖ high seat (4) ‖ position (2)
//! message  = tag ‖ card (8)                               a card is 8 random bytes
//!
//! Bits     one card on each of n tags; the bit of a card is its lowest
//!          two equal bits on a tag: left out; two different ones: a key bit, the low seat's
//!          (the low seat knows it as its own, the high seat as the opposite of its own)
//! Cards    t cards on the tag of position 0
//!          for each of the 2t cards, smallest first, whether it is the low seat's
//! ```
//!
//! The tag holds the pair and the position, so that many pairs agree in one round, and each tag
//! must hold exactly what the two ends put there: anybody else can write to it too.
//!
//! A bit alone would do for the outsiders, but not against an analyzer that alters the bag. Where
//! both ends sent a 0 it could turn one of them into a 1; both ends would find a message like their
//! own, believe that the other sent the opposite, and take for a key bit what the analyzer knows.
//! Cards make every message unlike every other, and each end looks for exactly its own: whatever is
//! altered or dropped, its owner sees it.
//!
//! An analyzer that replaces a card guesses whose it is, and the end it guessed right goes on with
//! a key that the other does not have. So a key is used only after [`PairKey::confirms`].

use crate::key::seats;
use crate::{Error, Method, Pair, PairKey, Seat};
use rand_core::CryptoRng;
use std::fmt;
use std::hint::black_box;
use thiserror::Error;
use throng_wire::{Bag, Bulletin};
use zeroize::Zeroizing;

/// One end's cards for one partner and one round. Wiped when dropped, and `Debug` does not show
/// them: whoever knows them knows which messages of the bag are this end's.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_rounds::{Hand, Method, Seat};
/// use throng_wire::{Bag, Bulletin, CollectionId};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let method = Method::cards(128)?;
/// let three = Hand::draw(Seat(3), Seat(8), method, &mut rng)?;
/// let eight = Hand::draw(Seat(8), Seat(3), method, &mut rng)?;
///
/// // Both send their messages through the mixes; everybody sees the bag of all of them.
/// let messages: Vec<u8> = three.messages().chain(eight.messages()).flatten().collect();
/// let bag = Bag::new(Hand::MESSAGE, &messages)?;
/// let bulletin = Bulletin::new(CollectionId::new([7; 32]), 0, 2, bag);
///
/// let (three, eight) = (three.settle(&bulletin)?, eight.settle(&bulletin)?);
/// assert!(three.confirms(Seat(8), &eight.confirmation(Seat(8))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Hand {
    pair: Pair,
    /// 0 for the low seat, 1 for the high one, which knows the key by what is not its own.
    side: u8,
    method: Method,
    cards: Zeroizing<Vec<u64>>,
}

impl Hand {
    /// Bytes of a message.
    pub const MESSAGE: usize = 18;

    /// Fresh cards of `own` for `partner`, who has to use the same method in the same round.
    pub fn draw(
        own: Seat,
        partner: Seat,
        method: Method,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, Error> {
        let (pair, method) = (Pair::new(own, partner)?, method.sensible()?);
        let side = u8::from(own == pair.high());
        let mut cards = Zeroizing::new(vec![0; method.messages()]);
        cards.fill_with(|| rng.next_u64());
        Ok(Self { pair, side, method, cards })
    }

    /// The messages that `own` puts into the bag.
    pub fn messages(&self) -> impl Iterator<Item = [u8; Self::MESSAGE]> {
        let position = |place: usize| match self.method {
            Method::Bits { .. } => place as u16,
            Method::Cards { .. } => 0,
        };
        self.cards.iter().enumerate().map(move |(place, card)| {
            let mut message = [0; Self::MESSAGE];
            message[..TAG].copy_from_slice(&tag(self.pair, position(place)));
            message[TAG..].copy_from_slice(&card.to_be_bytes());
            message
        })
    }

    /// The key, from what everybody saw of the round. The cards are used up: after a failure both
    /// ends draw new ones, for old ones in a new bag would tell whose they are.
    ///
    /// Takes a binary search for every tag and, with [`Method::Cards`], 2t² comparisons. What is
    /// read and where it branches depends on the bag, which is public, and not on which cards are
    /// whose.
    pub fn settle(self, bulletin: &Bulletin) -> Result<PairKey, Failure> {
        if bulletin.bag().payload() != Self::MESSAGE {
            return Err(Failure::Lost);
        }
        let material = self.material(bulletin.bag())?;
        Ok(PairKey::derive(self.pair, self.method, &bulletin.digest(), &material))
    }

    /// The material that the two ends know and nobody else, a bit in each byte.
    fn material(&self, bag: &Bag) -> Result<Zeroizing<Vec<u8>>, Failure> {
        match self.method {
            Method::Bits { bits, .. } => self.differing_bits(bag, bits),
            Method::Cards { .. } => self.low_hand(bag),
        }
    }

    fn differing_bits(&self, bag: &Bag, needed: u16) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let mut material = Zeroizing::new(Vec::with_capacity(self.cards.len()));
        let (mut present, mut alone, mut crowded) = (1, 0, false);
        for (position, &own) in (0..).zip(self.cards.iter()) {
            let tag = tag(self.pair, position);
            let mut shown = cards_on(bag, &tag);
            let (one, other) = (shown.next(), shown.next());
            crowded |= shown.next().is_some();
            let found = |card: Option<u64>| card.map_or(0, |card| same(card, own));
            present &= found(one) | found(other);
            match (one, other) {
                (Some(one), Some(other)) if (one ^ other) & 1 == 1 => {
                    material.push((own & 1) as u8 ^ self.side);
                }
                (Some(_), None) => alone += 1,
                _ => {}
            }
        }
        match material.len() as u16 {
            _ if crowded => Err(Failure::Crowded),
            _ if present == 0 => Err(Failure::Lost),
            _ if alone == self.cards.len() => Err(Failure::Absent),
            _ if alone > 0 => Err(Failure::Incomplete),
            found if found < needed => Err(Failure::TooFew { found, needed }),
            _ => Ok(material),
        }
    }

    fn low_hand(&self, bag: &Bag) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let t = self.cards.len();
        let shown: Vec<u64> = cards_on(bag, &tag(self.pair, 0)).take(2 * t + 1).collect();
        let own = |card: &u64| self.cards.iter().fold(0, |any, mine| any | same(*card, *mine));
        let mut material = Zeroizing::new(shown.iter().map(own).collect::<Vec<u8>>());
        let found: usize = material.iter().map(|&own| usize::from(own)).sum();
        match shown.len() {
            all if all > 2 * t => Err(Failure::Crowded),
            _ if found < t => Err(Failure::Lost),
            all if all == t => Err(Failure::Absent),
            all if all < 2 * t => Err(Failure::Incomplete),
            // In a sorted bag equal cards are neighbours.
            _ if shown.windows(2).any(|two| two[0] == two[1]) => Err(Failure::Equal),
            _ => {
                material.iter_mut().for_each(|own| *own ^= self.side);
                Ok(material)
            }
        }
    }
}

impl fmt::Debug for Hand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, method, .. } = self;
        write!(f, "Hand({}, {}, {method:?}, ..)", pair.low(), pair.high())
    }
}

/// The reason why there is no key. Whichever it is, the next round needs a new [`Hand`] of both
/// ends.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_rounds::{Failure, Hand, Method, Seat};
/// use throng_wire::{Bag, Bulletin, CollectionId};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
///
/// // The partner did not take part.
/// let hand = Hand::draw(Seat(3), Seat(8), Method::cards(128)?, &mut rng)?;
/// let bag = Bag::new(Hand::MESSAGE, &hand.messages().flatten().collect::<Vec<_>>())?;
/// let bulletin = Bulletin::new(CollectionId::new([7; 32]), 0, 1, bag);
/// assert_eq!(hand.settle(&bulletin).unwrap_err(), Failure::Absent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A message of ours is not in the bag.
    #[error(
        "our own message is missing: a mix or the analyzer dropped or altered it; \
         try again with fresh cards, and if it happens again through other mixes"
    )]
    Lost,
    /// Nothing is on the tags but what we sent.
    #[error("the partner sent nothing; try again in the next round with fresh cards")]
    Absent,
    /// More on a tag than two ends put there.
    #[error(
        "more messages than the pair's own: somebody else writes in its name, or the partner uses \
         another method; try again in the next round with fresh cards"
    )]
    Crowded,
    /// Less on the tags than the partner has to send.
    #[error(
        "some of the partner's messages are missing; try again in the next round with fresh cards"
    )]
    Incomplete,
    /// Chance made too many bits equal, as often as [`Method::failure`] says.
    #[error("{found} bits differ and {needed} are needed; try again with fresh cards")]
    TooFew {
        /// Positions that differ.
        found: u16,
        /// Positions that have to.
        needed: u16,
    },
    /// Two cards are the same: by chance, as seldom as [`Method::failure`] says, or because
    /// somebody copied one.
    #[error("two cards are equal; try again in the next round with fresh cards")]
    Equal,
}

fn tag(pair: Pair, position: u16) -> [u8; TAG] {
    let mut tag = [0; TAG];
    tag[..8].copy_from_slice(&seats(pair));
    tag[8..].copy_from_slice(&position.to_be_bytes());
    tag
}

/// The cards on a tag, smallest first.
fn cards_on(bag: &Bag, tag: &[u8; TAG]) -> impl Iterator<Item = u64> {
    bag.starting_with(tag)
        .filter_map(|message| message.last_chunk().copied())
        .map(u64::from_be_bytes)
}

/// 1 if the two are equal, else 0, without a branch.
fn same(one: u64, other: u64) -> u8 {
    let difference = black_box(one ^ other);
    1 ^ ((difference | difference.wrapping_neg()) >> 63) as u8
}

/// Bytes of a tag.
const TAG: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use throng_account::Delta;
    use throng_account::tail::success_band;
    use throng_wire::CollectionId;

    const LOW: Seat = Seat(3);
    const HIGH: Seat = Seat(8);

    fn hand(own: Seat, method: Method, cards: &[u64]) -> Hand {
        let pair = Pair::new(LOW, HIGH).unwrap();
        let side = u8::from(own == HIGH);
        Hand { pair, side, method, cards: Zeroizing::new(cards.to_vec()) }
    }

    fn drawn(method: Method, seed: u64) -> (Hand, Hand) {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let mut draw = |own, partner| Hand::draw(own, partner, method, &mut rng).unwrap();
        (draw(LOW, HIGH), draw(HIGH, LOW))
    }

    fn messages(hands: &[&Hand]) -> Vec<[u8; 18]> {
        hands.iter().flat_map(|hand| hand.messages()).collect()
    }

    fn bag(messages: &[[u8; 18]]) -> Bag {
        Bag::new(Hand::MESSAGE, messages.as_flattened()).unwrap()
    }

    fn bulletin(messages: &[[u8; 18]]) -> Bulletin {
        Bulletin::new(CollectionId::new([7; 32]), 5, 2, bag(messages))
    }

    fn agrees(low: &PairKey, high: &PairKey) -> bool {
        high.confirms(LOW, &low.confirmation(LOW)) && low.confirms(HIGH, &high.confirmation(HIGH))
    }

    fn methods() -> [Method; 2] {
        [Method::Bits { positions: 40, bits: 4 }, Method::Cards { cards: 5 }]
    }

    #[test]
    fn a_message_is_tag_and_card() {
        let bits = hand(HIGH, Method::Bits { positions: 2, bits: 1 }, &[1, u64::MAX - 1]);
        let shown: Vec<_> = bits.messages().collect();
        assert_eq!(shown[0], [0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(shown[1][..10], [0, 0, 0, 3, 0, 0, 0, 8, 0, 1]);
        let cards = hand(LOW, Method::Cards { cards: 2 }, &[1, 2]);
        assert!(cards.messages().all(|message| message[8..10] == [0, 0]));
    }

    #[test]
    fn many_pairs_agree_in_one_round() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for method in [Method::bits(128, 64).unwrap(), Method::cards(128).unwrap()] {
            let mut draw = |own, partner| Hand::draw(own, partner, method, &mut rng).unwrap();
            let seats: Vec<Seat> = (0..6).map(Seat).collect();
            let pairs = seats.iter().flat_map(|&a| seats.iter().map(move |&b| (a, b)));
            let pairs: Vec<_> = pairs.filter(|(a, b)| a < b).collect();
            let hands: Vec<_> = pairs.iter().map(|&(a, b)| (draw(a, b), draw(b, a))).collect();
            let all: Vec<&Hand> = hands.iter().flat_map(|(a, b)| [a, b]).collect();
            let bulletin = bulletin(&messages(&all));
            for ((a, b), (one, other)) in pairs.into_iter().zip(hands) {
                let one = one.settle(&bulletin).unwrap();
                let other = other.settle(&bulletin).unwrap();
                assert!(other.confirms(a, &one.confirmation(a)));
                assert!(one.confirms(b, &other.confirmation(b)));
            }
        }
    }

    /// The views of outsiders, and how often each key goes with each.
    type Views = BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, u64>>;

    /// Runs the protocol once for every choice of all cards below `values`, and says how often it
    /// fails.
    fn enumerate(method: Method, values: u64) -> (Views, u64) {
        let each = method.messages();
        let (mut views, mut failures) = (Views::new(), 0);
        for number in 0..values.pow(2 * each as u32) {
            let digit = |place: u32| number / values.pow(place) % values;
            let cards: Vec<u64> = (0..2 * each as u32).map(digit).collect();
            let (low, high) = cards.split_at(each);
            let (low, high) = (hand(LOW, method, low), hand(HIGH, method, high));
            let (forth, back) = (bag(&messages(&[&low, &high])), bag(&messages(&[&high, &low])));
            assert_eq!(forth, back, "the order in which messages arrive is not in the bag");
            match (low.material(&forth), high.material(&forth)) {
                (Ok(key), Ok(same)) => {
                    assert_eq!(key, same);
                    let keys = views.entry(forth.as_bytes().to_vec()).or_default();
                    *keys.entry(key.to_vec()).or_default() += 1;
                }
                (low, high) => {
                    assert_eq!(low.unwrap_err(), high.unwrap_err());
                    failures += 1;
                }
            }
        }
        (views, failures)
    }

    // Four values are a bit and a nonce of one bit.
    #[test]
    fn one_bit_is_independent_of_what_outsiders_see() {
        let (views, failures) = enumerate(Method::Bits { positions: 1, bits: 1 }, 4);
        assert_eq!(failures, 8, "half of 16 runs");
        assert_eq!(views.len(), 4);
        for keys in views.values() {
            assert_eq!(keys, &BTreeMap::from([(vec![0], 1), (vec![1], 1)]));
        }
    }

    #[test]
    fn several_bits_are_independent_of_what_outsiders_see() {
        for (bits, failures) in [(1, 4_096 / 8), (2, 4_096 / 2), (3, 4_096 * 7 / 8)] {
            let (views, failed) = enumerate(Method::Bits { positions: 3, bits }, 4);
            assert_eq!(failed, failures, "P[Bin(3, ½) < {bits}] of 4⁶ runs");
            for keys in views.values() {
                let length = keys.keys().next().unwrap().len();
                assert!(length >= usize::from(bits));
                assert_eq!(keys.len(), 1 << length, "every key occurs");
                let often = keys.values().next().unwrap();
                assert!(keys.values().all(|times| times == often), "equally often");
            }
        }
    }

    #[test]
    fn every_hand_is_as_likely_whatever_cards_are_shown() {
        for (cards, values, hands) in [(1, 5, 2), (2, 6, 6), (3, 6, 20)] {
            let (views, failures) = enumerate(Method::Cards { cards }, values);
            let distinct: u64 = (0..2 * u64::from(cards)).map(|taken| values - taken).product();
            assert_eq!(failures, values.pow(2 * u32::from(cards)) - distinct);
            for keys in views.values() {
                assert_eq!(keys.len(), hands);
                let often = keys.values().next().unwrap();
                assert!(keys.values().all(|times| times == often));
            }
        }
    }

    // Why messages carry a nonce: an analyzer that turns one of two equal bits would make both ends
    // take for a key bit what it knows.
    #[test]
    fn whatever_is_replaced_its_owner_sees_it() {
        let methods = [Method::Bits { positions: 1, bits: 1 }, Method::Cards { cards: 1 }];
        for (method, low, high) in methods
            .into_iter()
            .flat_map(|m| (0..6).flat_map(move |l| (0..6).map(move |h| (m, l, h))))
        {
            for (place, card) in (0..2).flat_map(|place| (0..6).map(move |card| (place, card))) {
                let original = [low, high];
                if low == high || card == original[place] {
                    continue;
                }
                let ends = [hand(LOW, method, &[low]), hand(HIGH, method, &[high])];
                let mut shown = original;
                shown[place] = card;
                let sent = shown.map(|card| hand(LOW, method, &[card]));
                let bag = bag(&messages(&[&sent[0], &sent[1]]));
                assert_eq!(ends[place].material(&bag).unwrap_err(), Failure::Lost);
            }
        }
    }

    /// A count of agreements that is `Bin(trials, ½)` fails with probability at most 2e-10.
    fn assert_fair(hits: u64, trials: u64, what: &str) {
        let band = success_band(hits, trials, Delta::new(1e-10).unwrap());
        assert!(band.lower <= 0.5 && 0.5 <= band.upper, "{what}: {hits} of {trials}");
    }

    // 20,000 pairs in one bag. Given all that is shown, key bits are independent fair coins, so
    // each of the 24 + 6 counts below is binomial: together they fail with probability below
    // 30·2e-10 = 6e-9. The number of failures is Bin(20 000, P[Bin(24, ½) < 8]), and off the band
    // with at most 2e-10.
    #[test]
    fn bits_are_fair_and_fail_as_often_as_stated() {
        let (pairs, method) = (20_000_u32, Method::Bits { positions: 24, bits: 8 });
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        let mut draw = |own, partner| Hand::draw(own, partner, method, &mut rng).unwrap();
        let (low, high) = (|pair| Seat(2 * pair), |pair| Seat(2 * pair + 1));
        let hands: Vec<_> =
            (0..pairs).map(|p| (draw(low(p), high(p)), draw(high(p), low(p)))).collect();
        let all: Vec<&Hand> = hands.iter().flat_map(|(low, high)| [low, high]).collect();
        let bag = bag(&messages(&all));

        let (mut failures, mut by_position, mut counts) = (0, [(0, 0); 24], [(0, 0); 6]);
        let mut count = |place: usize, hit: bool| {
            counts[place].0 += u64::from(hit);
            counts[place].1 += 1;
        };
        for (low, high) in &hands {
            let Ok(key) = low.material(&bag) else {
                assert!(matches!(high.material(&bag), Err(Failure::TooFew { needed: 8, .. })));
                failures += 1;
                continue;
            };
            assert_eq!(high.material(&bag).unwrap(), key);
            let shown = (0..24).map(|position| {
                let tag = tag(low.pair, position);
                let cards: Vec<u64> = cards_on(&bag, &tag).collect();
                (usize::from(position), cards[0], cards[1])
            });
            let differing: Vec<_> = shown.filter(|(_, a, b)| (a ^ b) & 1 == 1).collect();
            assert_eq!(differing.len(), key.len());
            for (place, (&bit, &(position, smaller, larger))) in
                key.iter().zip(&differing).enumerate()
            {
                let bit = bit == 1;
                by_position[position].0 += u64::from(bit);
                by_position[position].1 += 1;
                count(0, bit);
                count(1, bit == (smaller & 1 == 1));
                count(2, bit == (larger - smaller > u64::MAX / 4));
                count(3, bit == (position % 2 == 1));
                if place > 0 {
                    count(4, bit == (key[place - 1] == 1));
                    count(5, bit == (differing[place - 1].1 & 1 == 1));
                }
            }
        }
        for (place, (hits, trials)) in by_position.into_iter().chain(counts).enumerate() {
            assert!(trials > 5_000);
            assert_fair(hits, trials, &format!("count {place}"));
        }
        let band = success_band(failures, u64::from(pairs), Delta::new(1e-10).unwrap());
        let rate = method.failure();
        assert!((rate - 0.03195732831954956).abs() < 1e-15);
        assert!(band.lower <= rate && rate <= band.upper, "{failures} failures");
    }

    // 20 hands, 20,000 pairs: the count of each hand is Bin(20 000, 1/20), off its band with
    // probability at most 2e-10, so all together with at most 4e-9.
    #[test]
    fn hands_are_dealt_evenly() {
        let (method, mut hands) = (Method::Cards { cards: 3 }, BTreeMap::<Vec<u8>, u64>::new());
        for seed in 0..20_000 {
            let (low, high) = drawn(method, seed);
            let bag = bag(&messages(&[&low, &high]));
            let hand = low.material(&bag).unwrap();
            assert_eq!(high.material(&bag).unwrap(), hand);
            *hands.entry(hand.to_vec()).or_default() += 1;
        }
        assert_eq!(hands.len(), 20);
        for (hand, &times) in &hands {
            let band = success_band(times, 20_000, Delta::new(1e-10).unwrap());
            assert!(band.lower <= 0.05 && 0.05 <= band.upper, "{hand:?}: {times}");
        }
    }

    #[test]
    fn a_third_message_on_a_tag_is_seen() {
        for method in methods() {
            let (low, high) = drawn(method, 3);
            let mut sent = messages(&[&low, &high]);
            let mut third = sent[0];
            third[17] ^= 0x55;
            sent.push(third);
            let bulletin = bulletin(&sent);
            assert_eq!(low.settle(&bulletin).unwrap_err(), Failure::Crowded);
            assert_eq!(high.settle(&bulletin).unwrap_err(), Failure::Crowded);
        }
    }

    #[test]
    fn a_missing_partner_is_named() {
        for method in methods() {
            let (low, _) = drawn(method, 4);
            let bulletin = bulletin(&messages(&[&low]));
            assert_eq!(low.settle(&bulletin).unwrap_err(), Failure::Absent);
        }
    }

    #[test]
    fn a_message_that_is_dropped_or_altered_is_missed_by_its_owner() {
        for method in methods() {
            for place in 0..method.messages() {
                let (low, high) = drawn(method, 5);
                let mut sent = messages(&[&low, &high]);
                sent.remove(place);
                let shown = bulletin(&sent);
                assert_eq!(low.settle(&shown).unwrap_err(), Failure::Lost);
                assert_eq!(high.settle(&shown).unwrap_err(), Failure::Incomplete);

                let (low, high) = drawn(method, 5);
                let mut sent = messages(&[&low, &high]);
                sent[place][17] ^= 1;
                let shown = bulletin(&sent);
                assert_eq!(low.settle(&shown).unwrap_err(), Failure::Lost);
                // The other end cannot tell, and has a key that nobody confirms.
                let (unaltered, _) = drawn(method, 5);
                let before = bulletin(&messages(&[&unaltered, &drawn(method, 5).1]));
                let before = unaltered.settle(&before).unwrap();
                assert!(!agrees(&before, &high.settle(&shown).unwrap()));
            }
        }
    }

    #[test]
    fn a_bag_without_us_or_of_other_messages_is_a_loss() {
        for method in methods() {
            let (low, high) = drawn(method, 6);
            assert_eq!(low.settle(&bulletin(&[])).unwrap_err(), Failure::Lost);
            let longer = Bag::new(19, &[0; 38]).unwrap();
            let longer = Bulletin::new(CollectionId::new([7; 32]), 5, 2, longer);
            assert_eq!(high.settle(&longer).unwrap_err(), Failure::Lost);
        }
    }

    #[test]
    fn equal_cards_are_no_hand_and_no_bit() {
        let method = Method::Cards { cards: 2 };
        let (low, high) = (hand(LOW, method, &[1, 2]), hand(HIGH, method, &[2, 3]));
        let shown = bulletin(&messages(&[&low, &high]));
        assert_eq!(low.settle(&shown).unwrap_err(), Failure::Equal);
        assert_eq!(high.settle(&shown).unwrap_err(), Failure::Equal);

        // Our own two are equal, and the bag has one of them.
        let twice = hand(LOW, method, &[1, 1]);
        let other = hand(HIGH, method, &[1, 2]);
        let rest = hand(HIGH, method, &[3, 4]);
        let shown = bulletin(&messages(&[&other, &rest]));
        assert_eq!(twice.settle(&shown).unwrap_err(), Failure::Lost);

        let method = Method::Bits { positions: 2, bits: 1 };
        let (low, high) = (hand(LOW, method, &[9, 2]), hand(HIGH, method, &[9, 3]));
        let shown = bulletin(&messages(&[&low, &high]));
        assert!(agrees(&low.settle(&shown).unwrap(), &high.settle(&shown).unwrap()));
    }

    #[test]
    fn too_few_differing_bits_are_counted() {
        let method = Method::Bits { positions: 3, bits: 2 };
        let (low, high) = (hand(LOW, method, &[2, 4, 6]), hand(HIGH, method, &[8, 5, 10]));
        let shown = bulletin(&messages(&[&low, &high]));
        let failure = Failure::TooFew { found: 1, needed: 2 };
        assert_eq!(low.settle(&shown).unwrap_err(), failure);
        assert_eq!(high.settle(&shown).unwrap_err(), failure);
    }

    // An analyzer that shows each end another bulletin, be it another round's, another board's or
    // one with another message far away, leaves them with different keys.
    #[test]
    fn two_bulletins_make_two_keys() {
        let method = Method::Cards { cards: 5 };
        let (low, high) = drawn(method, 7);
        let sent = messages(&[&low, &high]);
        let more = [&sent[..], &[[9; 18]]].concat();
        let (board, foreign) = (CollectionId::new([7; 32]), CollectionId::new([8; 32]));
        let others = [
            Bulletin::new(board, 6, 2, bag(&sent)),
            Bulletin::new(foreign, 5, 2, bag(&sent)),
            Bulletin::new(board, 5, 3, bag(&sent)),
            Bulletin::new(board, 5, 2, bag(&more)),
        ];
        let low = low.settle(&bulletin(&sent)).unwrap();
        assert!(agrees(&low, &high.settle(&bulletin(&sent)).unwrap()));
        for other in &others {
            assert!(!agrees(&low, &drawn(method, 7).1.settle(other).unwrap()));
        }
    }

    #[test]
    fn an_offer_needs_two_seats_and_a_sensible_method() {
        let mut rng = ChaCha12Rng::seed_from_u64(8);
        let method = Method::Cards { cards: 5 };
        assert!(Hand::draw(LOW, LOW, method, &mut rng).is_err());
        assert!(Hand::draw(LOW, HIGH, Method::Cards { cards: 0 }, &mut rng).is_err());
        let (low, _) = drawn(method, 8);
        let shown = format!("{low:?}");
        assert_eq!(shown, "Hand(seat 3, seat 8, Cards { cards: 5 }, ..)");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_bag_makes_it_panic(
            picks in proptest::collection::vec((0_usize..12, 0_u8..4, any::<u8>()), 0..40),
            payload in 1_usize..30,
            noise in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            for method in [Method::Bits { positions: 4, bits: 2 }, Method::Cards { cards: 4 }] {
                let (low, high) = drawn(method, 9);
                let known = messages(&[&low, &high]);
                // Messages of the pair, some altered in tag or card, each any number of times.
                let picked = picks.iter().map(|&(place, kind, byte)| {
                    let mut message = known[place % known.len()];
                    match kind {
                        0 => message[usize::from(byte) % 18] ^= byte,
                        1 => message[17] ^= byte & 1,
                        _ => {}
                    }
                    message
                });
                let shown = bulletin(&picked.collect::<Vec<_>>());
                if let (Ok(low), Ok(high)) = (low.settle(&shown), high.settle(&shown)) {
                    prop_assert!(agrees(&low, &high));
                }
                let whole = noise.len() / payload * payload;
                let other = Bag::new(payload, &noise[..whole]).unwrap();
                let other = Bulletin::new(CollectionId::new([7; 32]), 5, 2, other);
                prop_assert!(drawn(method, 9).0.settle(&other).is_err());
            }
        }
    }
}
