//! Keys with many partners at once, over as many rounds as it takes.

use crate::{Error, Failure, Hand, Method, PairKey, Seat};
use rand_core::CryptoRng;
use std::collections::BTreeMap;
use std::fmt;
use throng_wire::Bulletin;

/// One participant's agreements: a [`Hand`] for every partner it has no key with, in every round.
///
/// A failed pair tries again in the next round, with fresh cards. What failed for one end alone,
/// such as a message of its own that is missing, stays failed: the other end believes in its key,
/// sends nothing more, and learns at confirmation that nobody shares it.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_rounds::{Agreement, Hand, Method, Seat};
/// use throng_wire::{Bag, Bulletin, CollectionId};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
///
/// // Seats 0, 1 and 2, each with the two others. Seat 2 does not come.
/// let mut one = Agreement::new(Seat(0), [Seat(1), Seat(2)], Method::cards(128)?)?;
/// let mut other = Agreement::new(Seat(1), [Seat(0), Seat(2)], Method::cards(128)?)?;
/// let messages = [one.messages(&mut rng)?, other.messages(&mut rng)?].concat();
/// let bag = Bag::new(Hand::MESSAGE, &messages)?;
/// let bulletin = Bulletin::new(CollectionId::new([7; 32]), 0, 2, bag);
/// one.settle(&bulletin);
/// other.settle(&bulletin);
///
/// let failed: Vec<Seat> = one.failures().map(|(seat, _)| seat).collect();
/// assert_eq!(failed, [Seat(2)]);
/// let (one, other) = (one.into_keys(), other.into_keys());
/// assert!(one[&Seat(1)].confirms(Seat(1), &other[&Seat(0)].confirmation(Seat(1))));
/// # Ok::<(), throng_rounds::Error>(())
/// ```
pub struct Agreement {
    own: Seat,
    method: Method,
    /// Partners without a key, and why there is none yet.
    open: BTreeMap<Seat, Option<Failure>>,
    /// The cards that were sent in the round that is not settled yet.
    sent: Vec<(Seat, Hand)>,
    keys: BTreeMap<Seat, PairKey>,
}

impl Agreement {
    /// The agreements of `own` with each of `partners`.
    pub fn new(
        own: Seat,
        partners: impl IntoIterator<Item = Seat>,
        method: Method,
    ) -> Result<Self, Error> {
        let open: BTreeMap<Seat, Option<Failure>> =
            partners.into_iter().map(|partner| (partner, None)).collect();
        if open.contains_key(&own) {
            return Err(Error::Alone { seat: own });
        }
        let method = method.sensible()?;
        Ok(Self { own, method, open, sent: Vec::new(), keys: BTreeMap::new() })
    }

    /// The messages to post in this round, back to back: fresh cards for every partner without a
    /// key.
    pub fn messages(&mut self, rng: &mut impl CryptoRng) -> Result<Vec<u8>, Error> {
        self.sent.clear();
        let mut messages = Vec::new();
        for &partner in self.open.keys() {
            let hand = Hand::draw(self.own, partner, self.method, rng)?;
            messages.extend(hand.messages().flatten());
            self.sent.push((partner, hand));
        }
        Ok(messages)
    }

    /// Takes what everybody saw of the round.
    pub fn settle(&mut self, bulletin: &Bulletin) {
        for (partner, hand) in self.sent.drain(..) {
            match hand.settle(bulletin) {
                Ok(key) => {
                    self.open.remove(&partner);
                    self.keys.insert(partner, key);
                }
                Err(failure) => {
                    self.open.insert(partner, Some(failure));
                }
            }
        }
    }

    /// Partners without a key.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Partners whose last round failed, and why.
    pub fn failures(&self) -> impl Iterator<Item = (Seat, Failure)> {
        self.open.iter().filter_map(|(seat, failure)| Some((*seat, (*failure)?)))
    }

    /// The keys so far, by partner.
    pub fn into_keys(self) -> BTreeMap<Seat, PairKey> {
        self.keys
    }
}

impl fmt::Debug for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (agreed, open) = (self.keys.len(), self.open.len());
        write!(f, "Agreement({}, {agreed} keys, {open} open)", self.own)
    }
}
