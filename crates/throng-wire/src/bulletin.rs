//! The bulletin of a round of a board: the bag of all messages, signed by every party.
//!
//! ```text
//! notice   = collection (32) ‖ round (8) ‖ reports (8) ‖ payload (4) ‖ messages (8)
//!          ‖ digest of the bag (32)
//! bulletin = notice ‖ number of signatures (1) ‖ signatures (64 each) ‖ bag
//! ```
//!
//! The analyzer, who opens the messages, could show each participant another bag. So every mix
//! signs the notice too, and an honest one signs only one notice for a round: what one participant
//! sees, all see.

use crate::bytes::{Reader, Writer};
use crate::{CollectionId, Error, Identity, PublicIdentity};
use sha2::{Digest, Sha256};
use std::slice::ChunksExact;

/// Messages of one length, in no order: they are kept sorted, so that one bag has one form.
///
/// ```
/// use throng_wire::Bag;
///
/// let bag = Bag::new(2, b"kauaka")?;
/// assert_eq!(bag.as_bytes(), b"kakaua");
/// assert_eq!((bag.len(), bag.count(b"ka"), bag.count(b"no")), (3, 2, 0));
/// assert_eq!(bag.starting_with(b"u").collect::<Vec<_>>(), [b"ua"]);
/// assert!(Bag::new(4, b"kauaka").is_err());
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bag {
    payload: usize,
    bytes: Vec<u8>,
}

impl Bag {
    /// A bag of messages with `payload` bytes each, given back to back in any order.
    pub fn new(payload: usize, messages: &[u8]) -> Result<Self, Error> {
        if payload == 0 || !messages.len().is_multiple_of(payload) {
            return Err(Error::Argument { expected: "whole messages of a length above 0" });
        }
        let mut sorted: Vec<&[u8]> = messages.chunks_exact(payload).collect();
        sorted.sort_unstable();
        Ok(Self { payload, bytes: sorted.concat() })
    }

    /// A bag of messages that are sorted already, as [`Bag::as_bytes`] gave them.
    pub fn sorted(payload: usize, messages: Vec<u8>) -> Result<Self, Error> {
        if payload == 0 || !messages.len().is_multiple_of(payload) {
            return Err(Error::Malformed { expected: "whole messages" });
        }
        let bag = Self { payload, bytes: messages };
        if !bag.messages().is_sorted() {
            return Err(Error::Malformed { expected: "messages in the order of a bag" });
        }
        Ok(bag)
    }

    /// Messages in it.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.payload
    }

    /// True if there is no message.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of a message.
    pub fn payload(&self) -> usize {
        self.payload
    }

    /// All messages, smallest first.
    pub fn messages(&self) -> ChunksExact<'_, u8> {
        self.bytes.chunks_exact(self.payload)
    }

    /// The number of times that a message is in it.
    pub fn count(&self, message: &[u8]) -> usize {
        self.starting_with(message).filter(|found| *found == message).count()
    }

    /// The messages that begin so, smallest first.
    pub fn starting_with(&self, prefix: &[u8]) -> impl Iterator<Item = &[u8]> {
        let from = self.first_where(|message| message >= prefix);
        self.messages().skip(from).take_while(move |message| message.starts_with(prefix))
    }

    /// All messages, back to back.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// SHA-256 of all messages.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes).into()
    }

    /// The place of the first message for which `reached` holds, which it does for all after it.
    fn first_where(&self, reached: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if reached(&self.bytes[middle * self.payload..][..self.payload]) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// The part of a bulletin that every party signs: all but the messages, which the digest fixes.
///
/// ```
/// use throng_wire::{Bag, CollectionId, Identity, Notice};
///
/// let bag = Bag::new(2, b"kauaka")?;
/// let notice = Notice::of(CollectionId::new([7; 32]), 0, 3, &bag);
/// assert_eq!(Notice::decode(&notice.encode())?, notice);
///
/// let mix = Identity::from_seed(&[1; 32]);
/// let signature = notice.cosign(&mix);
/// assert!(notice.cosigned(&mix.public(), &signature));
/// assert!(!Notice { round: 1, ..notice }.cosigned(&mix.public(), &signature));
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The board.
    pub collection: CollectionId,
    /// The round: an epoch of the board.
    pub round: u64,
    /// Distinct valid reports that the messages came in.
    pub reports: u64,
    /// Bytes of a message.
    pub payload: u32,
    /// The number of messages.
    pub messages: u64,
    /// [`Bag::digest`].
    pub digest: [u8; 32],
}

impl Notice {
    /// The notice of a bag.
    pub fn of(collection: CollectionId, round: u64, reports: u64, bag: &Bag) -> Self {
        let (payload, messages) = (bag.payload() as u32, bag.len() as u64);
        Self {
            collection,
            round,
            reports,
            payload,
            messages,
            digest: Sha256::digest(&bag.bytes).into(),
        }
    }

    /// A party's signature.
    pub fn cosign(&self, identity: &Identity) -> [u8; 64] {
        identity.sign(BULLETIN, &self.encode())
    }

    /// True if `party` signed it.
    pub fn cosigned(&self, party: &PublicIdentity, signature: &[u8; 64]) -> bool {
        party.verify(BULLETIN, &self.encode(), signature)
    }

    /// Its 92 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.raw(self.collection.as_bytes()).u64(self.round).u64(self.reports);
        to.u32(self.payload).u64(self.messages).raw(&self.digest);
        to.0
    }

    /// Reads what [`Notice::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let notice = Self::read(&mut reader)?;
        reader.end()?;
        Ok(notice)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self {
            collection: CollectionId::new(reader.array("a collection id")?),
            round: reader.u64("a round")?,
            reports: reader.u64("a number of reports")?,
            payload: reader.u32("a length of messages")?,
            messages: reader.u64("a number of messages")?,
            digest: reader.array("a digest")?,
        })
    }
}

/// A [`Notice`] with a signature of every party, in the order of the chain. The bag follows it.
///
/// ```
/// use throng_wire::{Bag, Bulletin, CollectionId, Identity, Notice, SignedNotice, example};
///
/// let (collection, parties) = (CollectionId::new([7; 32]), example::identities());
/// let bag = Bag::new(2, b"kauaka")?;
/// let notice = Notice::of(collection, 0, 3, &bag);
/// let signatures = parties.iter().map(|party| notice.cosign(party)).collect();
/// let signed = SignedNotice { notice, signatures };
/// let bytes = [&signed.encode()[..], bag.as_bytes()].concat();
///
/// let known = parties.each_ref().map(Identity::public);
/// let bulletin = Bulletin::decode(&bytes, &collection, 0, &known)?;
/// assert_eq!(bulletin.bag(), &bag);
///
/// // One message altered, or another round: refused.
/// let mut altered = bytes.clone();
/// *altered.last_mut().unwrap() ^= 1;
/// assert!(Bulletin::decode(&altered, &collection, 0, &known).is_err());
/// assert!(Bulletin::decode(&bytes, &collection, 1, &known).is_err());
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNotice {
    /// The notice that is signed.
    pub notice: Notice,
    /// The signatures, the analyzer's last.
    pub signatures: Vec<[u8; 64]>,
}

impl SignedNotice {
    /// Everything of a bulletin that comes before the bag.
    pub fn encode(&self) -> Vec<u8> {
        let count = self.signatures.len() as u8;
        [&self.notice.encode()[..], &[count], self.signatures.as_flattened()].concat()
    }

    /// The bytes of it with the signatures of `parties` parties.
    pub fn length(parties: usize) -> usize {
        NOTICE + 1 + 64 * parties
    }

    /// The notice, if it is for this board and round and every one of `parties` signed it.
    pub fn verify(
        &self,
        collection: &CollectionId,
        round: u64,
        parties: &[PublicIdentity],
    ) -> Result<&Notice, Error> {
        let Self { notice, signatures } = self;
        Error::unless_in("bulletin", "collection", notice.collection == *collection)?;
        Error::unless_in("bulletin", "round", notice.round == round)?;
        PublicIdentity::all_signed(parties, ("bulletin", BULLETIN), &notice.encode(), signatures)?;
        Ok(notice)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let notice = Notice::read(reader)?;
        let count = reader.u8("a number of signatures")?;
        let signatures =
            (0..count).map(|_| reader.array("a signature")).collect::<Result<_, Error>>()?;
        Ok(Self { notice, signatures })
    }
}

/// The bag of a round, as everyone sees it, with its notice.
///
/// ```
/// use throng_wire::{Bag, Bulletin, CollectionId};
///
/// let bag = Bag::new(2, b"kauaka")?;
/// let bulletin = Bulletin::new(CollectionId::new([7; 32]), 4, 3, bag);
/// assert_eq!((bulletin.notice().round, bulletin.notice().messages), (4, 3));
/// assert!(bulletin.holds([&b"ka"[..], b"ka"]) && !bulletin.holds([&b"ua"[..], b"ua"]));
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulletin {
    notice: Notice,
    bag: Bag,
}

impl Bulletin {
    /// The bulletin of a bag that is not signed by anybody yet.
    pub fn new(collection: CollectionId, round: u64, reports: u64, bag: Bag) -> Self {
        Self { notice: Notice::of(collection, round, reports, &bag), bag }
    }

    /// Reads a bulletin, if it is for this board and round, every one of `parties`, in the order of
    /// the chain, signed it, and the bag is the one they signed.
    pub fn decode(
        bytes: &[u8],
        collection: &CollectionId,
        round: u64,
        parties: &[PublicIdentity],
    ) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let signed = SignedNotice::read(&mut reader)?;
        let notice = *signed.verify(collection, round, parties)?;
        let bag = Bag::sorted(notice.payload as usize, reader.0.to_vec())?;
        if Notice::of(notice.collection, notice.round, notice.reports, &bag) != notice {
            return Err(Error::Malformed { expected: "the bag that was signed" });
        }
        Ok(Self { notice, bag })
    }

    /// The notice, without its signatures.
    pub fn notice(&self) -> &Notice {
        &self.notice
    }

    /// All messages.
    pub fn bag(&self) -> &Bag {
        &self.bag
    }

    /// SHA-256 of the notice, and so of everything.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.notice.encode()).into()
    }

    /// True if these messages are there, each as often as it is given.
    pub fn holds<'a>(&self, messages: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let mut sorted: Vec<&[u8]> = messages.into_iter().collect();
        sorted.sort_unstable();
        sorted.chunk_by(|a, b| a == b).all(|same| self.bag.count(same[0]) >= same.len())
    }
}

const BULLETIN: &str = "throng/1 bulletin";
/// Bytes of a notice.
const NOTICE: usize = 92;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn board() -> CollectionId {
        CollectionId::new([7; 32])
    }

    fn parties() -> Vec<Identity> {
        (1..4).map(|seed| Identity::from_seed(&[seed; 32])).collect()
    }

    fn known() -> Vec<PublicIdentity> {
        parties().iter().map(Identity::public).collect()
    }

    fn signed(bag: &Bag) -> (SignedNotice, Vec<u8>) {
        let notice = Notice::of(board(), 2, 5, bag);
        let signatures = parties().iter().map(|party| notice.cosign(party)).collect();
        let signed = SignedNotice { notice, signatures };
        let bytes = [&signed.encode()[..], bag.as_bytes()].concat();
        (signed, bytes)
    }

    #[test]
    fn a_bulletin_is_refused_wherever_it_is_touched() {
        let bag = Bag::new(3, &(0..30).rev().collect::<Vec<u8>>()).unwrap();
        let (signed, bytes) = signed(&bag);
        assert_eq!(signed.encode().len(), SignedNotice::length(3));
        assert_eq!(Bulletin::decode(&bytes, &board(), 2, &known()).unwrap().bag(), &bag);
        for place in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[place] ^= 1;
            assert!(Bulletin::decode(&altered, &board(), 2, &known()).is_err(), "byte {place}");
            assert!(Bulletin::decode(&bytes[..place], &board(), 2, &known()).is_err());
        }
        let longer = [&bytes[..], &[255; 3]].concat();
        assert!(Bulletin::decode(&longer, &board(), 2, &known()).is_err());
    }

    #[test]
    fn every_party_has_to_sign() {
        let bag = Bag::new(1, &[1, 2]).unwrap();
        let (signed, _) = signed(&bag);
        for missing in 0..3 {
            let mut short = signed.clone();
            short.signatures[missing] = signed.signatures[(missing + 1) % 3];
            let bytes = [&short.encode()[..], bag.as_bytes()].concat();
            let refused = Bulletin::decode(&bytes, &board(), 2, &known()).unwrap_err();
            assert_eq!(refused, Error::unsigned("bulletin", missing as u8 + 1));
        }
        let mut fewer = signed;
        fewer.signatures.pop();
        let bytes = [&fewer.encode()[..], bag.as_bytes()].concat();
        assert!(Bulletin::decode(&bytes, &board(), 2, &known()).is_err());
    }

    // The same messages in another order would be another digest for the same bag.
    #[test]
    fn a_bag_has_one_form() {
        assert!(Bag::sorted(1, vec![2, 1]).is_err());
        assert_eq!(Bag::sorted(1, vec![1, 2]), Bag::new(1, &[2, 1]));
        assert!(Bag::new(0, &[]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_bag_counts_and_finds_what_is_in_it(
            messages in proptest::collection::vec(0_u8..4, 0..60),
            prefix in proptest::collection::vec(0_u8..4, 0..3),
        ) {
            let whole = messages.len() / 2 * 2;
            let bag = Bag::new(2, &messages[..whole]).unwrap();
            let begins = |m: &&[u8]| m.starts_with(&prefix);
            let expected = messages[..whole].chunks(2).filter(begins).count();
            prop_assert_eq!(bag.starting_with(&prefix).count(), expected);
            prop_assert!(bag.starting_with(&prefix).all(|m| m.starts_with(&prefix)));
            for message in messages[..whole].chunks(2) {
                let times = messages[..whole].chunks(2).filter(|m| *m == message).count();
                prop_assert_eq!(bag.count(message), times);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Bulletin::decode(&bytes, &board(), 0, &known());
            let _ = Notice::decode(&bytes);
        }
    }
}
