//! A participant of a board: from messages to a sealed report, once in every round.

use crate::keys::KnownKeys;
use crate::{Error, Report};
use rand_core::CryptoRng;
use std::fmt;
use std::sync::Arc;
use throng_collection::Board;
use throng_mechanism::sample;
use throng_wire::{Route, SignedDirectory};
use zeroize::Zeroizing;

/// One device's part on one board.
///
/// It seals each round once: asked again it gives the same bytes, so that retrying an upload never
/// shows two reports of one device. It keeps nothing on disk. A protocol of several rounds holds
/// secrets that are to die with it, so a device that loses its memory has dropped out.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_client::{Error, Poster};
/// use throng_collection::example;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let board = example::board();
/// let directory = example::directory(&board);
///
/// // A board for two messages of 18 bytes in each round.
/// let mut poster = Poster::new(&board);
/// poster.learn(&directory, 0)?;
/// let report = poster.post(&[1; 36], 0, &mut rng)?;
/// assert_eq!(report.as_bytes().len(), board.shape().report_bytes());
///
/// // What was said is said.
/// assert_eq!(poster.post(&[2; 36], 0, &mut rng)?.as_bytes(), report.as_bytes());
/// assert!(poster.post(&[1; 35], 0, &mut rng).is_ok());
/// assert_eq!(poster.post(&[1; 36], 1, &mut rng).unwrap_err(), Error::NoKeys { window: 1 });
/// # Ok::<(), Error>(())
/// ```
pub struct Poster {
    keys: KnownKeys,
    posted: Option<Report>,
}

impl Poster {
    /// Somebody who has not posted yet.
    pub fn new(board: &Board) -> Self {
        Self { keys: KnownKeys::new(board.into()), posted: None }
    }

    /// Takes the keys of a round, if every party of the board signed them.
    pub fn learn(&mut self, directory: &SignedDirectory, round: u64) -> Result<(), Error> {
        self.keys.learn(directory, round)
    }

    /// Seals the messages of a round, given back to back, in an order that chance decides. The same
    /// round gets the same bytes, whatever the messages.
    pub fn post(
        &mut self,
        messages: &[u8],
        round: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Report, Error> {
        if let Some(posted) = &self.posted {
            match posted.epoch() {
                last if last == round => return Ok(posted.clone()),
                last if last > round => return Err(Error::Past { epoch: round, last }),
                _ => {}
            }
        }
        let Route { id, shape, epochs, .. } = self.keys.route;
        if round >= epochs {
            return Err(Error::NoSuchEpoch { epoch: round, last: epochs - 1 });
        }
        let seal = self.keys.seal(round)?;
        // The first mix sees places, and is to learn nothing from them.
        let mixed = shuffled(messages, shape.payload as usize, rng);
        let sealed = seal.report(&mixed, rng)?.into();
        let report = Report { collection: id, epoch: round, sealed, revoked: Arc::default() };
        self.posted = Some(report.clone());
        Ok(report)
    }
}

/// Shows where it is, and nothing of what it posts.
impl fmt::Debug for Poster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poster")
            .field("board", &self.keys.route.id)
            .field("round", &self.posted.as_ref().map(Report::epoch))
            .finish_non_exhaustive()
    }
}

/// Whole messages in a uniformly random order.
fn shuffled(messages: &[u8], each: usize, rng: &mut impl CryptoRng) -> Zeroizing<Vec<u8>> {
    let mut places: Vec<u64> = (0..(messages.len() / each.max(1)) as u64).collect();
    sample::shuffle(&mut places, 1, rng);
    let mut mixed = Zeroizing::new(Vec::with_capacity(messages.len()));
    for place in places {
        mixed.extend_from_slice(&messages[place as usize * each..][..each]);
    }
    // A part of a message is left for the seal to refuse.
    let whole = mixed.len();
    mixed.extend_from_slice(&messages[whole..]);
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, rng};
    use throng_wire::Directory;

    fn board(world: &World) -> Board {
        let throng_collection::Collection { schedule, chain, .. } = world.collection.clone();
        Board {
            about: "Talk".into(),
            messages: 3,
            payload: 2,
            crowd: 2,
            rounds: 2,
            schedule,
            chain,
        }
    }

    fn poster(world: &World, round: u64) -> Poster {
        let board = board(world);
        let mut poster = Poster::new(&board);
        let keys = Directory { collection: board.id(), ..world.keys(round) };
        poster.learn(&world.signed(keys), round).unwrap();
        poster
    }

    #[test]
    fn a_round_is_sealed_once_and_rounds_go_forward() {
        let world = World::of_bits();
        let mut poster = poster(&world, 1);
        let unknown = poster.post(b"aabbcc", 0, &mut rng(1)).unwrap_err();
        assert_eq!(unknown, Error::NoKeys { window: 0 });
        let report = poster.post(b"aabbcc", 1, &mut rng(1)).unwrap();
        assert_eq!(poster.post(b"xxyyzz", 1, &mut rng(2)).unwrap().as_bytes(), report.as_bytes());
        let past = poster.post(b"aabbcc", 0, &mut rng(1)).unwrap_err();
        assert_eq!(past, Error::Past { epoch: 0, last: 1 });
        let none = poster.post(b"aabbcc", 2, &mut rng(1)).unwrap_err();
        assert_eq!(none, Error::NoSuchEpoch { epoch: 2, last: 1 });
    }

    #[test]
    fn messages_of_another_length_are_refused_and_the_round_is_not_spent() {
        let world = World::of_bits();
        let mut poster = poster(&world, 0);
        for wrong in [&b"aabb"[..], b"aabbccdd", b"aabbc", b""] {
            assert!(matches!(poster.post(wrong, 0, &mut rng(1)), Err(Error::Wire(_))));
        }
        poster.post(b"aabbcc", 0, &mut rng(1)).unwrap();
    }

    /// Six orders, each within the exact band of a sixth at 1e-9: fails a uniform shuffle with
    /// probability below 1e-8.
    #[test]
    fn chance_decides_the_places_of_messages() {
        let mut rng = rng(3);
        let mut orders = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            *orders.entry(shuffled(b"aabbcc", 2, &mut rng).to_vec()).or_insert(0_u64) += 1;
        }
        assert_eq!(orders.len(), 6);
        let rate = throng_account::Delta::new(1e-9).unwrap();
        for count in orders.values() {
            let band = throng_account::tail::success_band(*count, 6_000, rate);
            assert!(band.lower <= 1.0 / 6.0 && 1.0 / 6.0 <= band.upper, "{orders:?}");
        }
    }
}
