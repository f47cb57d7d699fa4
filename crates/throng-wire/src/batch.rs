//! Batches on their way down the chain, and receipts on their way back.
//!
//! A batch is `manifest ‖ signature ‖ records`. Its manifest fixes every byte of it, so a batch
//! that left once is the same for ever; its receiver signs a receipt for exactly these bytes.
//!
//! An empty one, without records, says that its epochs had too few reports at this mix or before
//! it. It states nothing else: no loss is told, since a loss is a part of how many there were.

use crate::bytes::{Reader, Writer, hex};
use crate::{CollectionId, Error, Identity, PublicIdentity};
use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::RangeInclusive;

/// The statement of a mix about the batch it made.
///
/// ```
/// use throng_wire::{CollectionId, Loss, Manifest, RecordDigest};
///
/// let records = [0; 98];
/// let mut digest = RecordDigest::default();
/// digest.update(&records);
/// let manifest = Manifest {
///     collection: CollectionId::new([7; 32]),
///     first: 4,
///     last: 5,
///     record_bytes: 49,
///     records: 2,
///     losses: vec![Loss { replayed: 1, malformed: 0 }],
///     source: [0; 32],
///     digest: digest.finish(),
/// };
/// assert_eq!((manifest.hop(), manifest.bytes()), (1, Some(98)));
///
/// // The name is a hash of all it says.
/// assert_ne!(Manifest { last: 6, ..manifest.clone() }.id(), manifest.id());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The collection.
    pub collection: CollectionId,
    /// The first epoch in it.
    pub first: u64,
    /// The last epoch in it; later than the first where short epochs were merged.
    pub last: u64,
    /// Bytes of each record.
    pub record_bytes: u32,
    /// The number of records that follow.
    pub records: u64,
    /// The losses at each mix so far, as each tells them, the first mix first; as many as this
    /// mix's hop.
    pub losses: Vec<Loss>,
    /// SHA-256 of the receipt this mix gave for the batch it made this one from; zeros at hop 1.
    pub source: [u8; 32],
    /// SHA-256 of all records.
    pub digest: [u8; 32],
}

/// Records that a party left out. What is told of them is rounded at random to hundreds
/// (`docs/protocol.md`, section 5).
///
/// ```
/// use throng_wire::Loss;
///
/// // What the mixes of a chain left out, the first mix first.
/// let losses = [Loss { replayed: 300, malformed: 100 }, Loss::default()];
/// let all: u64 = losses.iter().map(|loss| loss.replayed + loss.malformed).sum();
/// assert_eq!(all, 400);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loss {
    /// Records seen before in the same window.
    pub replayed: u64,
    /// Records that would not open.
    pub malformed: u64,
}

/// SHA-256 of a manifest: the name of a batch.
///
/// ```
/// use throng_wire::BatchId;
///
/// assert_eq!(BatchId([0xab; 32]).to_string(), "ab".repeat(32));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchId(pub [u8; 32]);

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchId({self})")
    }
}

impl Manifest {
    /// A mix's word that epochs are dropped, as there are too few reports: the manifest of no
    /// records. `record_bytes` are those of the records that there would be, `source` is as for
    /// any batch.
    ///
    /// ```
    /// use throng_wire::{CollectionId, Loss, Manifest};
    ///
    /// let dropped = Manifest::empty(CollectionId::new([7; 32]), 4..=5, 2, 49, [1; 32]);
    /// assert!(dropped.is_empty());
    /// assert_eq!((dropped.hop(), dropped.bytes()), (2, Some(0)));
    /// assert_eq!(dropped.losses, [Loss::default(); 2]);
    /// ```
    pub fn empty(
        collection: CollectionId,
        epochs: RangeInclusive<u64>,
        hop: u8,
        record_bytes: u32,
        source: [u8; 32],
    ) -> Self {
        Self {
            collection,
            first: *epochs.start(),
            last: *epochs.end(),
            record_bytes,
            records: 0,
            losses: vec![Loss::default(); hop.into()],
            source,
            digest: RecordDigest::default().finish(),
        }
    }

    /// True if it says that its epochs are dropped.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The mix that made the batch.
    pub fn hop(&self) -> u8 {
        self.losses.len() as u8
    }

    /// The name of the batch.
    pub fn id(&self) -> BatchId {
        BatchId(Sha256::digest(self.body()).into())
    }

    /// Bytes of all records; `None` if nothing can be that long.
    pub fn bytes(&self) -> Option<u64> {
        self.records.checked_mul(self.record_bytes.into())
    }

    /// ```text
    /// 0x01 ‖ collection (32) ‖ first (8) ‖ last (8) ‖ hop (1) ‖ record bytes (4) ‖ records (8)
    ///      ‖ hop × (replayed (8) ‖ malformed (8)) ‖ source (32) ‖ digest (32)
    /// ```
    fn body(&self) -> Vec<u8> {
        let mut body = Writer::default();
        body.u8(VERSION).raw(self.collection.as_bytes()).u64(self.first).u64(self.last);
        body.u8(self.hop()).u32(self.record_bytes).u64(self.records);
        for loss in &self.losses {
            body.u64(loss.replayed).u64(loss.malformed);
        }
        body.raw(&self.source).raw(&self.digest);
        body.0
    }
}

/// A [`Manifest`] with the signature of the mix that made the batch.
///
/// ```
/// use throng_wire::{Identity, SignedManifest, example};
///
/// let manifest = example::manifest();
/// let [mix, other] = [1, 2].map(|seed| Identity::from_seed(&[seed; 32]));
/// let bytes = SignedManifest::sign(manifest.clone(), &mix).encode();
///
/// // The first bytes of a batch tell how many belong to its manifest.
/// assert_eq!(SignedManifest::length(&bytes[..SignedManifest::START]), Some(bytes.len()));
///
/// let received = SignedManifest::decode(&bytes)?;
/// assert_eq!(received.verify(&mix.public())?, &manifest);
/// assert!(received.verify(&other.public()).is_err());
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedManifest {
    manifest: Manifest,
    signature: [u8; 64],
}

impl SignedManifest {
    /// Signs a manifest.
    pub fn sign(manifest: Manifest, identity: &Identity) -> Self {
        let signature = identity.sign(MANIFEST, &manifest.body());
        Self { manifest, signature }
    }

    /// The manifest, if `mix` signed it.
    pub fn verify(&self, mix: &PublicIdentity) -> Result<&Manifest, Error> {
        if mix.verify(MANIFEST, &self.manifest.body(), &self.signature) {
            return Ok(&self.manifest);
        }
        let party = format!("the mix at hop {}", self.manifest.hop());
        Err(Error::Signature { what: "manifest", party })
    }

    /// The manifest, whoever signed it.
    pub fn unverified(&self) -> &Manifest {
        &self.manifest
    }

    /// Manifest and signature: what the records follow.
    pub fn encode(&self) -> Vec<u8> {
        [&self.manifest.body()[..], &self.signature].concat()
    }

    /// Reads what [`SignedManifest::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        if reader.u8("a version")? != VERSION {
            return Err(Error::Malformed { expected: "a batch of version 1" });
        }
        let collection = CollectionId::new(reader.array("a collection id")?);
        let first = reader.u64("a first epoch")?;
        let last = reader.u64("a last epoch")?;
        let hop = reader.u8("a hop")?;
        let record_bytes = reader.u32("the bytes of a record")?;
        let records = reader.u64("a number of records")?;
        let losses = (0..hop)
            .map(|_| {
                let replayed = reader.u64("a count of replays")?;
                Ok(Loss { replayed, malformed: reader.u64("a count of malformed records")? })
            })
            .collect::<Result<_, Error>>()?;
        let source = reader.array("the hash of a receipt")?;
        let digest = reader.array("a digest")?;
        let signature = reader.array("a signature")?;
        reader.end()?;
        if first > last || hop == 0 || record_bytes == 0 {
            return Err(Error::Malformed { expected: "an epoch range, a hop and a length" });
        }
        let manifest =
            Manifest { collection, first, last, record_bytes, records, losses, source, digest };
        manifest.bytes().ok_or(Error::Malformed { expected: "a number of records" })?;
        let silent = manifest.losses.iter().all(|loss| *loss == Loss::default());
        if manifest.is_empty() && !(silent && manifest.digest == RecordDigest::default().finish()) {
            return Err(Error::Malformed { expected: "no losses where there are no records" });
        }
        Ok(Self { manifest, signature })
    }

    /// Bytes of manifest and signature of a batch that begins with `start`; `None` until `start`
    /// has [`SignedManifest::START`] bytes.
    pub fn length(start: &[u8]) -> Option<usize> {
        let hop = *start.get(Self::START - 1)?;
        Some(Self::START + 4 + 8 + usize::from(hop) * 16 + 32 + 32 + 64)
    }

    /// Bytes that tell how long the rest is.
    pub const START: usize = 1 + 32 + 8 + 8 + 1;
}

/// Follows records as they pass, and tells at the end what they were.
///
/// ```
/// use throng_wire::{RecordDigest, example};
///
/// // Two records of 49 bytes, all of them 0.
/// let manifest = example::manifest();
///
/// // Records come in pieces, wherever the network cuts them.
/// let mut passing = RecordDigest::default();
/// passing.update(&[0; 40]);
/// assert!(passing.clone().matches(&manifest).is_err());
/// passing.update(&[0; 58]);
/// assert_eq!(passing.bytes(), 98);
/// passing.matches(&manifest)?;
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct RecordDigest {
    hash: Sha256,
    bytes: u64,
}

impl RecordDigest {
    /// The next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of everything.
    pub fn finish(self) -> [u8; 32] {
        self.hash.finalize().into()
    }

    /// Refuses records that are not those of a manifest, all of them and no more.
    pub fn matches(self, manifest: &Manifest) -> Result<(), Error> {
        if Some(self.bytes) != manifest.bytes() {
            return Err(Error::Malformed { expected: "as many records as the manifest says" });
        }
        if self.finish() != manifest.digest {
            return Err(Error::Malformed { expected: "the records whose digest is signed" });
        }
        Ok(())
    }
}

/// The receiver's word that a batch is on its disk.
///
/// ```
/// use throng_wire::{BatchId, Identity, Receipt};
///
/// let (batch, mix) = (BatchId([7; 32]), Identity::from_seed(&[2; 32]));
/// let receipt = Receipt::sign(batch, 2, &mix);
/// let received = Receipt::decode(&receipt.encode())?;
/// received.verify(&batch, 2, &mix.public())?;
///
/// // It is no receipt for another batch.
/// let error = received.verify(&BatchId([8; 32]), 2, &mix.public()).unwrap_err();
/// assert_eq!(error.to_string(), "the receipt belongs to another batch");
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The batch.
    pub batch: BatchId,
    /// The hop that received it.
    pub hop: u8,
    signature: [u8; 64],
}

impl Receipt {
    /// Signs for a batch.
    pub fn sign(batch: BatchId, hop: u8, identity: &Identity) -> Self {
        let signature = identity.sign(RECEIPT, &Self::body(&batch, hop));
        Self { batch, hop, signature }
    }

    /// Refuses a receipt that is not for this very batch, by `party` at `hop`.
    pub fn verify(&self, batch: &BatchId, hop: u8, party: &PublicIdentity) -> Result<(), Error> {
        Error::unless_in("receipt", "batch", self.batch == *batch)?;
        Error::unless_in("receipt", "hop", self.hop == hop)?;
        let signed = party.verify(RECEIPT, &Self::body(batch, hop), &self.signature);
        if signed { Ok(()) } else { Err(Error::unsigned("receipt", hop)) }
    }

    /// SHA-256, for the next manifest.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.encode()).into()
    }

    /// `0x01 ‖ batch (32) ‖ hop (1) ‖ signature (64)`.
    pub fn encode(&self) -> Vec<u8> {
        [&Self::body(&self.batch, self.hop)[..], &self.signature].concat()
    }

    /// Reads what [`Receipt::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        if reader.u8("a version")? != VERSION {
            return Err(Error::Malformed { expected: "a receipt of version 1" });
        }
        let receipt = Self {
            batch: BatchId(reader.array("a batch")?),
            hop: reader.u8("a hop")?,
            signature: reader.array("a signature")?,
        };
        reader.end()?;
        Ok(receipt)
    }

    fn body(batch: &BatchId, hop: u8) -> Vec<u8> {
        let mut body = Writer::default();
        body.u8(VERSION).raw(&batch.0).u8(hop);
        body.0
    }
}

const VERSION: u8 = 1;
const MANIFEST: &str = "throng/1 manifest";
const RECEIPT: &str = "throng/1 receipt";

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};

    fn signed() -> (SignedManifest, Identity) {
        let identity = Identity::generate(&mut ChaCha12Rng::seed_from_u64(3));
        let manifest = Manifest {
            collection: CollectionId::new([1; 32]),
            first: 2,
            last: 3,
            record_bytes: 4,
            records: 2,
            losses: vec![Loss { replayed: 1, malformed: 0 }, Loss::default()],
            source: [7; 32],
            digest: Sha256::digest(b"aaaabbbb").into(),
        };
        (SignedManifest::sign(manifest, &identity), identity)
    }

    #[test]
    fn a_manifest_survives_the_wire_and_nothing_else_does() {
        let (signed, identity) = signed();
        let bytes = signed.encode();
        assert_eq!(SignedManifest::length(&bytes[..SignedManifest::START - 1]), None);
        assert_eq!(SignedManifest::length(&bytes), Some(bytes.len()));
        let again = SignedManifest::decode(&bytes).unwrap();
        assert_eq!(again, signed);
        assert!(again.verify(&identity.public()).is_ok());
        for length in 0..bytes.len() {
            assert!(SignedManifest::decode(&bytes[..length]).is_err());
        }
        for bit in 0..8 * bytes.len() {
            let mut altered = bytes.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            let accepted = SignedManifest::decode(&altered)
                .is_ok_and(|altered| altered.verify(&identity.public()).is_ok());
            assert!(!accepted, "bit {bit}");
        }
    }

    #[test]
    fn an_empty_manifest_states_no_number_but_none() {
        let (signed, identity) = signed();
        let full = signed.unverified();
        let empty = Manifest::empty(full.collection, 2..=3, 2, 4, [7; 32]);
        let decode = |manifest: &Manifest| {
            SignedManifest::decode(&SignedManifest::sign(manifest.clone(), &identity).encode())
        };
        let received = decode(&empty).unwrap();
        assert_eq!(received.verify(&identity.public()), Ok(&empty));
        assert_eq!(RecordDigest::default().matches(&empty), Ok(()));
        for hop in 0..2 {
            for loss in [Loss { replayed: 1, malformed: 0 }, Loss { replayed: 0, malformed: 1 }] {
                let mut telling = empty.clone();
                telling.losses[hop] = loss;
                assert!(decode(&telling).is_err(), "{loss:?}");
            }
        }
        assert!(decode(&Manifest { digest: [0; 32], ..empty }).is_err());
        assert!(decode(full).is_ok());
    }

    #[test]
    fn records_are_those_of_the_manifest_or_refused() {
        let (signed, _) = signed();
        let check = |records: &[u8]| {
            let mut digest = RecordDigest::default();
            records.chunks(3).for_each(|chunk| digest.update(chunk));
            digest.matches(signed.unverified())
        };
        assert_eq!(check(b"aaaabbbb"), Ok(()));
        assert!(check(b"aaaabbb").is_err());
        assert!(check(b"bbbbaaaa").is_err());
        assert!(check(b"aaaabbbbb").is_err());
    }

    #[test]
    fn a_receipt_is_for_one_batch_at_one_hop() {
        let (signed, identity) = signed();
        let id = signed.unverified().id();
        let receipt = Receipt::sign(id, 3, &identity);
        let again = Receipt::decode(&receipt.encode()).unwrap();
        assert_eq!(again.verify(&id, 3, &identity.public()), Ok(()));
        assert!(again.verify(&id, 2, &identity.public()).is_err());
        assert!(again.verify(&BatchId([0; 32]), 3, &identity.public()).is_err());
        let stranger = Identity::from_seed(&[9; 32]).public();
        assert!(again.verify(&id, 3, &stranger).is_err());
    }
}
