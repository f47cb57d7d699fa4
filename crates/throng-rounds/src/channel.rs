//! Private channels over a public bag: frames that only the other end can find and read, and that
//! nobody else can tell from random bytes.
//!
//! ```text
//! direction key = HKDF-Expand(pair key, "throng/1 channel" ‖ 0x00 ‖ board ‖ from ‖ to)
//! frame key     = HKDF-Expand(direction key, "throng/1 frame key" ‖ 0x00)
//! label         = HKDF-Expand(direction key, "throng/1 frame label" ‖ 0x00 ‖ round ‖ sequence)
//!
//! frame         = label (16) ‖ AES-256-GCM-SIV(plain) ‖ tag (16)
//! plain         = last (1) ‖ length (2) ‖ data ‖ zeros, up to the board's payload
//! nonce         = round (8) ‖ sequence (4)
//! AAD           = board ‖ from ‖ to ‖ round ‖ sequence ‖ label
//! ```
//!
//! To whoever lacks the key a label is the output of a pseudorandom function at a point that never
//! comes twice, ciphertext and tag are those of a cipher under a nonce that never comes twice, and
//! the length is always the same. All three look uniform and independent, like the random bytes
//! with which [`pad`](crate::pad()) fills up reports. So a bag shows how many messages each
//! participant sends, which is fixed, and not who talks to whom.
//!
//! A frame belongs to one board, round, direction and place; moved to any other it has another
//! label, and with its label rewritten it does not open. A channel seals a round at most once, and
//! rounds only go forward, so no nonce comes twice. Should a process that lost its memory do it
//! nevertheless, the cipher (RFC 8452) still shows no more than whether the two plain texts were
//! equal.

use crate::key::expand;
use crate::{Error, Pair, PairKey, Seat};
use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, Nonce, UnboundKey};
use std::fmt;
use throng_wire::{Bulletin, CollectionId};
use zeroize::Zeroizing;

/// One end of a channel, on one board. Its keys are wiped when dropped, and `Debug` does not show
/// them.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_rounds::{Channel, Seat, example, pad};
/// use throng_wire::{Bag, Bulletin, CollectionId};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let [three, eight] = example::pair_keys(&mut rng);
/// let board = CollectionId::new([9; 32]);
/// let mut three = Channel::new(&three, Seat(3), Seat(8), board, 64)?;
/// let mut eight = Channel::new(&eight, Seat(8), Seat(3), board, 64)?;
///
/// // What seat 3 says is somewhere among the messages of round 5.
/// let frames = three.seal(5, b"the well is poisoned")?.concat();
/// let messages = pad(&frames, 1, (2, 64), &mut rng)?.concat();
/// let bulletin = Bulletin::new(board, 5, 2, Bag::new(64, &messages)?);
/// assert_eq!(eight.open(&bulletin)?, b"the well is poisoned");
/// # Ok::<(), throng_rounds::Error>(())
/// ```
pub struct Channel {
    board: CollectionId,
    partner: Seat,
    payload: usize,
    outward: Direction,
    inward: Direction,
}

impl Channel {
    /// The end of `own`, who shares `key` with `partner`, on a board whose messages have `payload`
    /// bytes. A key needs no more than one channel on each board.
    pub fn new(
        key: &PairKey,
        own: Seat,
        partner: Seat,
        board: CollectionId,
        payload: usize,
    ) -> Result<Self, Error> {
        if Pair::new(own, partner)? != key.pair() {
            let range = format!("{} and {}", key.pair().low(), key.pair().high());
            return Err(Error::parameter("the two ends of this key", range));
        }
        room(payload)?;
        let outward = Direction::new(key, &board, own, partner);
        let inward = Direction::new(key, &board, partner, own);
        Ok(Self { board, partner, payload, outward, inward })
    }

    /// The frames that carry `data` in this round: [`frames`] of them, each as long as the board's
    /// messages. A round is sealed once, and rounds only go forward.
    pub fn seal(&mut self, round: u64, data: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let count = frames(self.payload, data.len())?;
        self.outward.enter(round)?;
        let mut pieces = data.chunks(room(self.payload)?);
        let frame = |sequence| {
            let piece = pieces.next().unwrap_or_default();
            let mut frame = vec![0; self.payload];
            frame[PLAIN] = u8::from(sequence as usize + 1 == count);
            frame[PLAIN + 1..DATA].copy_from_slice(&(piece.len() as u16).to_be_bytes());
            frame[DATA..DATA + piece.len()].copy_from_slice(piece);
            self.outward.seal(place(round, sequence), &mut frame);
            frame
        };
        Ok((0..count as u32).map(frame).collect())
    }

    /// The data that the partner sent in the round of this bulletin. A round is opened once, and
    /// rounds only go forward.
    pub fn open(&mut self, bulletin: &Bulletin) -> Result<Vec<u8>, Error> {
        let (notice, seat) = (bulletin.notice(), self.partner);
        let ours = notice.collection == self.board;
        throng_wire::Error::unless_in("bulletin", "collection", ours)?;
        if bulletin.bag().payload() != self.payload {
            let expected = "messages of the channel's length";
            return Err(throng_wire::Error::Malformed { expected }.into());
        }
        let round = notice.round;
        self.inward.enter(round)?;
        // All frames are kept for the end: data that grew would leave copies of itself behind.
        let mut frames = Vec::new();
        for sequence in 0..MAX_FRAMES {
            let frame = self.frame(bulletin, sequence)?;
            let last = frame[0] == LAST;
            frames.push(frame);
            if last {
                let pieces: Vec<_> = frames.iter().filter_map(|frame| piece(frame)).collect();
                return Ok(pieces.concat());
            }
        }
        Err(Error::Broken { seat, round })
    }

    /// The plain text of the partner's frame with this number, which holds a [`piece`].
    fn frame(&self, bulletin: &Bulletin, sequence: u32) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (seat, round) = (self.partner, bulletin.notice().round);
        let labelled = |sequence| {
            let label = self.inward.label(place(round, sequence));
            bulletin.bag().starting_with(&label).take(2).collect::<Vec<_>>()
        };
        match labelled(sequence)[..] {
            [frame] => {
                let opened = self.inward.open(place(round, sequence), frame);
                opened.filter(|plain| piece(plain).is_some()).ok_or(Error::Broken { seat, round })
            }
            // The first frame is missing: nobody spoke, or somebody cut off the beginning.
            [] if sequence == 0 && labelled(1).is_empty() => Err(Error::Silent { seat, round }),
            [] => Err(Error::Broken { seat, round }),
            _ => Err(Error::Doubled { seat, round }),
        }
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Channel(with {}, on {}, ..)", self.partner, self.board)
    }
}

/// The number of frames that carry `length` bytes on a board whose messages have `payload` bytes:
/// at least one, each with `payload − 35` of them.
///
/// ```
/// use throng_rounds::frames;
///
/// assert_eq!((frames(64, 0)?, frames(64, 29)?, frames(64, 30)?), (1, 1, 2));
/// assert!(frames(35, 1).is_err());
/// # Ok::<(), throng_rounds::Error>(())
/// ```
pub fn frames(payload: usize, length: usize) -> Result<usize, Error> {
    let room = room(payload)?;
    let (count, at_most) = (length.div_ceil(room).max(1), MAX_FRAMES as usize * room);
    if length > at_most { Err(Error::TooLong { length, at_most }) } else { Ok(count) }
}

/// Bytes of data in a frame.
fn room(payload: usize) -> Result<usize, Error> {
    match payload.checked_sub(OVERHEAD) {
        Some(room @ 1..) => Ok(room.min(usize::from(u16::MAX))),
        _ => Err(Error::parameter("payload", format!("more than {OVERHEAD}"))),
    }
}

/// The data of a plain text, if it has the one form that a sender gives it.
#[doc(hidden)]
pub fn piece(plain: &[u8]) -> Option<&[u8]> {
    let (&[last, high, low], body) = plain.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes([high, low]));
    let (data, padding) = body.split_at_checked(length)?;
    let full = length == body.len().min(usize::from(u16::MAX));
    let sound = (last == LAST || (last == MORE && full)) && padding.iter().all(|&byte| byte == 0);
    sound.then_some(data)
}

/// The way from one end to the other.
struct Direction {
    key: Zeroizing<[u8; 32]>,
    frames: LessSafeKey,
    /// The board, the sender and the receiver.
    context: Vec<u8>,
    entered: Option<u64>,
}

impl Direction {
    fn new(key: &PairKey, board: &CollectionId, from: Seat, to: Seat) -> Self {
        let (from, to) = (from.0.to_be_bytes(), to.0.to_be_bytes());
        let context = [board.as_bytes(), &from[..], &to].concat();
        let own = key.expand(&[CHANNEL, &context]);
        let frame = expand(&own, &[FRAME_KEY]);
        let frames = UnboundKey::new(&AES_256_GCM_SIV, &*frame).expect("a key of 32 bytes");
        Self { key: own, frames: LessSafeKey::new(frames), context, entered: None }
    }

    /// Enters a round, which has to be later than the one before.
    fn enter(&mut self, round: u64) -> Result<(), Error> {
        if let Some(latest) = self.entered.filter(|&latest| round <= latest) {
            return Err(Error::Past { round, latest });
        }
        self.entered = Some(round);
        Ok(())
    }

    fn label(&self, place: Place) -> [u8; LABEL] {
        let whole = expand(&self.key, &[FRAME_LABEL, &place]);
        std::array::from_fn(|byte| whole[byte])
    }

    /// Seals a frame in place: its plain text is where the ciphertext goes.
    fn seal(&self, place: Place, frame: &mut [u8]) {
        let (label, rest) = frame.split_at_mut(LABEL);
        let (plain, tag) = rest.split_at_mut(rest.len() - TAG);
        label.copy_from_slice(&self.label(place));
        let aad = self.associated(place, label);
        let sealed = self
            .frames
            .seal_in_place_separate_tag(Nonce::assume_unique_for_key(place), Aad::from(aad), plain)
            .expect("a frame is far shorter than what the cipher takes");
        tag.copy_from_slice(sealed.as_ref());
    }

    fn open(&self, place: Place, frame: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (label, sealed) = frame.split_at_checked(LABEL)?;
        let mut plain = Zeroizing::new(sealed.to_vec());
        let aad = Aad::from(self.associated(place, label));
        let nonce = Nonce::assume_unique_for_key(place);
        let length = self.frames.open_in_place(nonce, aad, &mut plain).ok()?.len();
        plain.truncate(length);
        Some(plain)
    }

    fn associated(&self, place: Place, label: &[u8]) -> Vec<u8> {
        [&self.context[..], &place, label].concat()
    }
}

/// The place of a frame: its round and its sequence number.
type Place = [u8; 12];

fn place(round: u64, sequence: u32) -> Place {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&round.to_be_bytes());
    bytes[8..].copy_from_slice(&sequence.to_be_bytes());
    bytes
}

const CHANNEL: &[u8] = b"throng/1 channel\0";
const FRAME_KEY: &[u8] = b"throng/1 frame key\0";
const FRAME_LABEL: &[u8] = b"throng/1 frame label\0";

const LABEL: usize = 16;
const TAG: usize = 16;
/// The places at which the plain text begins, and the data in it.
const PLAIN: usize = LABEL;
const DATA: usize = PLAIN + 3;
/// Bytes of a frame that are not data.
pub(crate) const OVERHEAD: usize = DATA + TAG;

const MORE: u8 = 0;
const LAST: u8 = 1;

/// The most frames that one end sends in a round.
const MAX_FRAMES: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use throng_account::Delta;
    use throng_account::tail::success_band;
    use throng_wire::{Bag, hex};

    const OWN: Seat = Seat(3);
    const PARTNER: Seat = Seat(8);
    const PAYLOAD: usize = 41;

    fn board() -> CollectionId {
        CollectionId::new([9; 32])
    }

    fn key() -> PairKey {
        let pair = Pair::new(OWN, PARTNER).unwrap();
        PairKey::derive(pair, Method::Cards { cards: 66 }, &[1; 32], b"material")
    }

    fn channel(own: Seat, partner: Seat, board: CollectionId, payload: usize) -> Channel {
        Channel::new(&key(), own, partner, board, payload).unwrap()
    }

    fn ends() -> (Channel, Channel) {
        (channel(OWN, PARTNER, board(), PAYLOAD), channel(PARTNER, OWN, board(), PAYLOAD))
    }

    /// A message of whoever has nothing to say.
    fn dummy(payload: usize, rng: &mut ChaCha12Rng) -> Vec<u8> {
        crate::pad(&[], 1, (1, payload as u32), rng).unwrap().concat()
    }

    /// The bulletin that everybody sees: the frames given, among dummies.
    fn shown(round: u64, frames: &[Vec<u8>]) -> Bulletin {
        let mut rng = ChaCha12Rng::seed_from_u64(round);
        let mut all = frames.concat();
        (0..10).for_each(|_| all.extend(dummy(PAYLOAD, &mut rng)));
        Bulletin::new(board(), round, 2, Bag::new(PAYLOAD, &all).unwrap())
    }

    const SILENT: Error = Error::Silent { seat: OWN, round: 5 };
    const BROKEN: Error = Error::Broken { seat: OWN, round: 5 };
    const DOUBLED: Error = Error::Doubled { seat: OWN, round: 5 };

    fn opened(frames: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
        ends().1.open(&shown(5, frames))
    }

    // Computed with the modules `hmac` and `cryptography` of Python.
    #[test]
    fn frames_are_the_documented_ones() {
        let frames = ends().0.seal(5, b"throng!").unwrap();
        let known = [
            "27ff95d88e4438d0c095c7c651969837c5b17536924dd8b5a1e50183314dff2727f2e347d389b0c197",
            "dae962e5aa26a8383fafb64e5182918238cf97f8f8f7b5a67cb4530edd5be01c2c7a72e8443cd6245c",
        ];
        assert_eq!(frames.iter().map(|frame| hex(frame)).collect::<Vec<_>>(), known);
    }

    #[test]
    fn whatever_is_sealed_opens_at_the_other_end() {
        let (mut own, mut partner) = ends();
        for (round, length) in (0..).zip([0, 1, 5, 6, 7, 12, 13, 600]) {
            let (forth, back) = (vec![round as u8; length], vec![0xaa; 600 - length]);
            let mut all = own.seal(round, &forth).unwrap();
            assert_eq!(all.len(), frames(PAYLOAD, length).unwrap());
            all.extend(partner.seal(round, &back).unwrap());
            assert!(all.iter().all(|frame| frame.len() == PAYLOAD));
            let bulletin = shown(round, &all);
            assert_eq!(own.open(&bulletin).unwrap(), back);
            assert_eq!(partner.open(&bulletin).unwrap(), forth);
        }
    }

    #[test]
    fn who_says_nothing_is_silent() {
        assert_eq!(opened(&[]), Err(SILENT));
    }

    #[test]
    fn a_frame_that_is_dropped_or_copied_is_seen() {
        let frames = ends().0.seal(5, &[7; 20]).unwrap();
        assert_eq!(frames.len(), 4);
        for place in 0..4 {
            let mut dropped = frames.clone();
            dropped.remove(place);
            assert_eq!(opened(&dropped), Err(BROKEN), "frame {place} dropped");
            let mut copied = frames.clone();
            copied.push(frames[place].clone());
            assert_eq!(opened(&copied), Err(DOUBLED), "frame {place} copied");
            // The label alone, on something else.
            let mut forged = frames.clone();
            let mut other = dummy(PAYLOAD, &mut ChaCha12Rng::seed_from_u64(1));
            other[..LABEL].copy_from_slice(&frames[place][..LABEL]);
            forged.push(other);
            assert_eq!(opened(&forged), Err(DOUBLED));
        }
    }

    #[test]
    fn no_byte_can_be_altered() {
        let frames = ends().0.seal(5, b"word").unwrap();
        for byte in 0..PAYLOAD {
            let mut altered = frames.clone();
            altered[0][byte] ^= 1;
            let expected = if byte < LABEL { SILENT } else { BROKEN };
            assert_eq!(opened(&altered), Err(expected), "byte {byte}");
        }
        assert_eq!(opened(&frames).unwrap(), b"word");
    }

    #[test]
    fn frames_do_not_change_places() {
        let frames = ends().0.seal(5, &[7; 12]).unwrap();
        let mut swapped = frames.clone();
        swapped[0][LABEL..].copy_from_slice(&frames[1][LABEL..]);
        swapped[1][LABEL..].copy_from_slice(&frames[0][LABEL..]);
        assert_eq!(opened(&swapped), Err(BROKEN));
    }

    #[test]
    fn frames_of_another_round_board_direction_or_key_are_nothing() {
        let seal = |mut channel: Channel, round| channel.seal(round, b"word").unwrap();
        assert!(opened(&seal(ends().0, 5)).is_ok());
        assert_eq!(opened(&seal(ends().0, 4)), Err(SILENT), "replayed");
        assert_eq!(opened(&seal(ends().1, 5)), Err(SILENT), "reflected");
        let elsewhere = channel(OWN, PARTNER, CollectionId::new([8; 32]), PAYLOAD);
        assert_eq!(opened(&seal(elsewhere, 5)), Err(SILENT), "from another board");
        let (pair, method) = (key().pair(), Method::Cards { cards: 66 });
        let other = PairKey::derive(pair, method, &[2; 32], b"material");
        let other = Channel::new(&other, OWN, PARTNER, board(), PAYLOAD).unwrap();
        assert_eq!(opened(&seal(other, 5)), Err(SILENT), "under another key");
    }

    // A label tells where a frame belongs, and so does the cipher: relabelled, it does not open.
    #[test]
    fn a_relabelled_frame_does_not_open() {
        let label = ends().0.outward.label(place(5, 0));
        let elsewhere = channel(OWN, PARTNER, CollectionId::new([8; 32]), PAYLOAD);
        for (mut from, round) in [(ends().0, 4), (ends().1, 5), (elsewhere, 5)] {
            let mut frames = from.seal(round, b"word").unwrap();
            frames[0][..LABEL].copy_from_slice(&label);
            assert_eq!(opened(&frames), Err(BROKEN));
        }
    }

    #[test]
    fn a_bulletin_of_another_board_or_length_is_refused() {
        let bag = Bag::new(PAYLOAD, &ends().0.seal(5, b"word").unwrap().concat()).unwrap();
        let foreign = Bulletin::new(CollectionId::new([8; 32]), 5, 2, bag);
        let error = throng_wire::Error::Foreign { what: "bulletin", scope: "collection" };
        assert_eq!(ends().1.open(&foreign), Err(error.into()));
        let longer = Bulletin::new(board(), 5, 2, Bag::new(42, &[0; 84]).unwrap());
        assert!(matches!(ends().1.open(&longer), Err(Error::Wire(_))));
        // Neither used up the round.
        let (mut own, mut partner) = ends();
        assert!(partner.open(&foreign).is_err());
        assert!(partner.open(&shown(5, &own.seal(5, b"word").unwrap())).is_ok());
    }

    #[test]
    fn rounds_only_go_forward() {
        let (mut own, mut partner) = ends();
        let bulletin = shown(5, &own.seal(5, b"word").unwrap());
        for round in [5, 4, 0] {
            assert_eq!(own.seal(round, b"other"), Err(Error::Past { round, latest: 5 }));
        }
        assert!(own.seal(u64::MAX, b"word").is_ok());
        assert!(own.seal(u64::MAX, b"word").is_err());
        assert!(partner.open(&bulletin).is_ok());
        assert_eq!(partner.open(&bulletin), Err(Error::Past { round: 5, latest: 5 }));
    }

    #[test]
    fn what_is_too_long_is_refused_and_uses_no_round() {
        let at_most = 6 << 16;
        let (mut own, mut partner) = ends();
        let long = vec![1; at_most + 1];
        assert_eq!(own.seal(5, &long), Err(Error::TooLong { length: at_most + 1, at_most }));
        let bulletin = shown(5, &own.seal(5, &long[1..]).unwrap());
        assert_eq!(partner.open(&bulletin).unwrap(), long[1..]);
    }

    #[test]
    fn a_channel_is_between_the_ends_of_its_key() {
        let new = |own, partner, payload| Channel::new(&key(), own, partner, board(), payload);
        assert!(new(OWN, Seat(4), PAYLOAD).is_err());
        assert!(new(OWN, OWN, PAYLOAD).is_err());
        assert!(new(OWN, PARTNER, 35).is_err());
        assert!(new(OWN, PARTNER, 36).is_ok());
        let text = format!("Channel(with seat 8, on {}, ..)", board());
        assert_eq!(format!("{:?}", ends().0), text);
    }

    // An end with the key can make plain texts that no sender makes: they are refused, not guessed
    // at.
    #[test]
    fn a_plain_text_has_one_form() {
        assert_eq!(piece(&[LAST, 0, 2, 7, 7, 0]), Some(&[7, 7][..]));
        assert_eq!(piece(&[LAST, 0, 0, 0, 0, 0]), Some(&[][..]));
        assert_eq!(piece(&[MORE, 0, 3, 7, 7, 7]), Some(&[7, 7, 7][..]));
        for wrong in [
            &[2, 0, 2, 7, 7, 0][..],
            &[MORE, 0, 2, 7, 7, 0],
            &[LAST, 0, 2, 7, 7, 1],
            &[LAST, 0, 4, 7, 7, 7],
            &[LAST, 1, 0, 7, 7, 7],
            &[LAST, 0],
            &[],
        ] {
            assert_eq!(piece(wrong), None, "{wrong:?}");
        }
    }

    // A message longer than a length can say is filled up to what it can say.
    #[test]
    fn large_frames_hold_what_a_length_can_say() {
        let payload = OVERHEAD + 70_000;
        let mut own = channel(OWN, PARTNER, board(), payload);
        let data = vec![3; 65_535 + 1];
        let frames = own.seal(5, &data).unwrap();
        assert_eq!(frames.len(), 2);
        let bag = Bag::new(payload, &frames.concat()).unwrap();
        let mut partner = channel(PARTNER, OWN, board(), payload);
        assert_eq!(partner.open(&Bulletin::new(board(), 5, 2, bag)).unwrap(), data);
    }

    /// Counts of `Bin(trials, 1/256)` that are not too rare, each side with probability at most
    /// `failure`.
    fn usual(trials: u64, failure: f64) -> Vec<bool> {
        let usual = |hits| {
            let band = success_band(hits, trials, Delta::new(failure).unwrap());
            band.lower <= 1.0 / 256.0 && 1.0 / 256.0 <= band.upper
        };
        (0..200).map(usual).collect()
    }

    // 8,000 frames of zeros, the plainest there is, from both ends and in runs of four. If frames
    // are uniform, the count of a byte at a place is Bin(8000, 1/256), and outside `usual` with
    // probability at most 2e-14; 41 places of 256 bytes make 2.1e-10. Dummies pass the same test.
    #[test]
    fn frames_look_like_dummies() {
        let (mut own, mut partner) = ends();
        let both = (0..1_000).flat_map(|round| {
            let (forth, back) = (own.seal(round, &[0; 24]), partner.seal(round, &[0; 24]));
            forth.unwrap().into_iter().chain(back.unwrap())
        });
        let frames: Vec<Vec<u8>> = both.collect();
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let dummies: Vec<Vec<u8>> = (0..frames.len()).map(|_| dummy(PAYLOAD, &mut rng)).collect();
        assert_eq!(frames.len(), 8_000);
        let usual = usual(8_000, 1e-14);
        for messages in [&frames, &dummies] {
            for place in 0..PAYLOAD {
                let mut counts = [0; 256];
                for message in messages {
                    counts[usize::from(message[place])] += 1;
                }
                let odd = counts.iter().position(|&count: &usize| !usual[count]);
                assert_eq!(odd, None, "place {place}");
            }
        }
        let labels: HashSet<&[u8]> = frames.iter().map(|frame| &frame[..LABEL]).collect();
        assert_eq!(labels.len(), frames.len(), "a label comes twice");
        let bodies: HashSet<&[u8]> = frames.iter().map(|frame| &frame[LABEL..]).collect();
        assert_eq!(bodies.len(), frames.len(), "a ciphertext comes twice");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn whatever_happens_to_frames_the_truth_comes_out_or_an_error(
            data in proptest::collection::vec(any::<u8>(), 0..40),
            payload in 36_usize..60,
            changes in proptest::collection::vec((any::<u16>(), any::<u16>(), any::<u8>()), 0..4),
        ) {
            let mut frames = channel(OWN, PARTNER, board(), payload).seal(5, &data).unwrap();
            for (frame, byte, with) in &changes {
                let count = frames.len();
                let frame = &mut frames[usize::from(*frame) % count];
                frame[usize::from(*byte) % payload] ^= with;
            }
            let bag = Bag::new(payload, &frames.concat()).unwrap();
            let opened = channel(PARTNER, OWN, board(), payload)
                .open(&Bulletin::new(board(), 5, 2, bag));
            prop_assert!(opened.is_err() || opened == Ok(data.clone()));
            if changes.is_empty() {
                prop_assert_eq!(opened, Ok(data));
            }
        }
    }
}
