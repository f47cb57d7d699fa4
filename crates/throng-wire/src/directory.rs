//! The keys of a window, signed by every party.
//!
//! Each party states its own key, then signs the list of all. A client seals to a list that every
//! party of its collection has signed, so nobody can give one person keys of their own; and a party
//! signs one list per window, so there are no two of them.

use crate::bytes::{Reader, Writer};
use crate::{CollectionId, Error, Identity, LayerPublic, PublicIdentity};

/// One party's key for one window, signed by that party.
///
/// ```
/// use throng_wire::{CollectionId, Identity, KeyStatement, LayerSecret};
///
/// let (collection, mix) = (CollectionId::new([7; 32]), Identity::from_seed(&[1; 32]));
/// let key = LayerSecret::from_bytes(&[3; 32]).public();
/// let statement = KeyStatement::sign(collection, 0, 1, key, &mix);
/// let received = KeyStatement::decode(&statement.encode())?;
/// assert_eq!(received.verify(&collection, 0, 1, &mix.public())?, key);
///
/// // It is not for the next window.
/// let error = received.verify(&collection, 1, 1, &mix.public()).unwrap_err();
/// assert_eq!(error.to_string(), "the key belongs to another window");
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyStatement {
    /// The collection.
    pub collection: CollectionId,
    /// The first epoch of the window.
    pub window: u64,
    /// The party's hop; the analyzer's is one past the last mix.
    pub hop: u8,
    /// The key.
    pub key: LayerPublic,
    signature: [u8; 64],
}

impl KeyStatement {
    /// States a key.
    pub fn sign(
        collection: CollectionId,
        window: u64,
        hop: u8,
        key: LayerPublic,
        identity: &Identity,
    ) -> Self {
        let mut statement = Self { collection, window, hop, key, signature: [0; 64] };
        statement.signature = identity.sign(KEY, &statement.body());
        statement
    }

    /// The key, if `party` stated it for this collection, window and hop.
    pub fn verify(
        &self,
        collection: &CollectionId,
        window: u64,
        hop: u8,
        party: &PublicIdentity,
    ) -> Result<LayerPublic, Error> {
        Error::unless_in("key", "collection", self.collection == *collection)?;
        Error::unless_in("key", "window", self.window == window)?;
        Error::unless_in("key", "hop", self.hop == hop)?;
        let signed = party.verify(KEY, &self.body(), &self.signature);
        if signed { Ok(self.key) } else { Err(Error::unsigned("key", hop)) }
    }

    /// `collection ‖ window ‖ hop ‖ key ‖ signature`.
    pub fn encode(&self) -> Vec<u8> {
        [&self.body()[..], &self.signature].concat()
    }

    /// Reads what [`KeyStatement::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let statement = Self {
            collection: CollectionId::new(reader.array("a collection id")?),
            window: reader.u64("a window")?,
            hop: reader.u8("a hop")?,
            key: LayerPublic(reader.array("a key")?),
            signature: reader.array("a signature")?,
        };
        reader.end()?;
        Ok(statement)
    }

    fn body(&self) -> Vec<u8> {
        let mut body = Writer::default();
        body.raw(self.collection.as_bytes()).u64(self.window).u8(self.hop).raw(&self.key.0);
        body.0
    }
}

/// The keys of all parties for one window, in the order of the chain.
///
/// ```
/// use throng_wire::{CollectionId, Directory, Identity, LayerSecret};
///
/// let keys = [3, 4].map(|seed| LayerSecret::from_bytes(&[seed; 32]).public()).to_vec();
/// let directory = Directory { collection: CollectionId::new([7; 32]), window: 0, keys };
/// let mix = Identity::from_seed(&[1; 32]);
/// let signature = directory.cosign(&mix);
/// assert!(directory.cosigned(&mix.public(), &signature));
///
/// // Whoever signs a list signs the keys of all others too.
/// let mut swapped = directory.clone();
/// swapped.keys.reverse();
/// assert!(!swapped.cosigned(&mix.public(), &signature));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The collection.
    pub collection: CollectionId,
    /// The first epoch of the window.
    pub window: u64,
    /// One key for each mix, then the analyzer's.
    pub keys: Vec<LayerPublic>,
}

impl Directory {
    /// A party's signature of the whole list.
    pub fn cosign(&self, identity: &Identity) -> [u8; 64] {
        identity.sign(DIRECTORY, &self.body())
    }

    /// True if `party` signed the whole list.
    pub fn cosigned(&self, party: &PublicIdentity, signature: &[u8; 64]) -> bool {
        party.verify(DIRECTORY, &self.body(), signature)
    }

    /// `collection ‖ window ‖ number of keys (1) ‖ keys`.
    fn body(&self) -> Vec<u8> {
        let mut body = Writer::default();
        body.raw(self.collection.as_bytes()).u64(self.window).u8(self.keys.len() as u8);
        for key in &self.keys {
            body.raw(&key.0);
        }
        body.0
    }
}

/// A [`Directory`] with a signature of every party, in the same order.
///
/// ```
/// use throng_wire::{CollectionId, Directory, Identity, LayerSecret, SignedDirectory};
///
/// let collection = CollectionId::new([7; 32]);
/// let keys = [3, 4].map(|seed| LayerSecret::from_bytes(&[seed; 32]).public()).to_vec();
/// let directory = Directory { collection, window: 0, keys };
/// let parties = [1, 2].map(|seed| Identity::from_seed(&[seed; 32]));
/// let known = parties.each_ref().map(Identity::public);
/// let signatures = parties.iter().map(|party| directory.cosign(party)).collect();
/// let signed = SignedDirectory::new(directory.clone(), signatures);
/// let received = SignedDirectory::decode(&signed.encode())?;
/// assert_eq!(received.verify(&collection, 0, &known)?, &directory);
///
/// // All have to have signed, each in their place.
/// assert!(received.verify(&collection, 0, &[known[1], known[0]]).is_err());
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDirectory {
    directory: Directory,
    signatures: Vec<[u8; 64]>,
}

impl SignedDirectory {
    /// Puts together what parties signed.
    pub fn new(directory: Directory, signatures: Vec<[u8; 64]>) -> Self {
        Self { directory, signatures }
    }

    /// The keys, if the list is for this collection and window and every one of `parties`, in the
    /// order of the chain, signed it.
    pub fn verify(
        &self,
        collection: &CollectionId,
        window: u64,
        parties: &[PublicIdentity],
    ) -> Result<&Directory, Error> {
        let Self { directory, signatures } = self;
        Error::unless_in("directory", "collection", directory.collection == *collection)?;
        Error::unless_in("directory", "window", directory.window == window)?;
        Error::unless_in("directory", "chain", directory.keys.len() == parties.len())?;
        let (name, body) = (("directory", DIRECTORY), directory.body());
        PublicIdentity::all_signed(parties, name, &body, signatures)?;
        Ok(directory)
    }

    /// `collection ‖ window ‖ number of keys ‖ keys ‖ signatures`.
    pub fn encode(&self) -> Vec<u8> {
        [&self.directory.body()[..], self.signatures.as_flattened()].concat()
    }

    /// The bytes of an encoded directory with `parties` parties.
    ///
    /// ```
    /// use throng_wire::{SignedDirectory, example};
    ///
    /// let (_, directory) = example::keys(&example::route(), 0);
    /// assert_eq!(directory.encode().len(), SignedDirectory::length(2));
    /// ```
    pub fn length(parties: usize) -> usize {
        32 + 8 + 1 + parties * (32 + 64)
    }

    /// Reads what [`SignedDirectory::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let collection = CollectionId::new(reader.array("a collection id")?);
        let window = reader.u64("a window")?;
        let count = reader.u8("a number of keys")?;
        let keys = (0..count)
            .map(|_| Ok(LayerPublic(reader.array("a key")?)))
            .collect::<Result<_, Error>>()?;
        let signatures =
            (0..count).map(|_| reader.array("a signature")).collect::<Result<_, Error>>()?;
        reader.end()?;
        Ok(Self { directory: Directory { collection, window, keys }, signatures })
    }
}

const KEY: &str = "throng/1 key";
const DIRECTORY: &str = "throng/1 directory";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerSecret;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};

    fn parties() -> (Vec<Identity>, Vec<PublicIdentity>, Directory) {
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        let identities: Vec<Identity> = (0..3).map(|_| Identity::generate(&mut rng)).collect();
        let public = identities.iter().map(Identity::public).collect();
        let keys = (0..3).map(|_| LayerSecret::generate(&mut rng).public()).collect();
        let collection = CollectionId::new([5; 32]);
        (identities, public, Directory { collection, window: 4, keys })
    }

    #[test]
    fn a_directory_holds_with_every_signature_and_with_none_missing() {
        let (identities, public, directory) = parties();
        let signatures: Vec<_> = identities.iter().map(|party| directory.cosign(party)).collect();
        let signed = SignedDirectory::new(directory.clone(), signatures.clone());
        let again = SignedDirectory::decode(&signed.encode()).unwrap();
        assert_eq!(again.verify(&directory.collection, 4, &public), Ok(&directory));
        assert!(again.verify(&directory.collection, 5, &public).is_err());
        assert!(again.verify(&CollectionId::new([6; 32]), 4, &public).is_err());
        assert!(again.verify(&directory.collection, 4, &public[..2]).is_err());
        for missing in 0..3 {
            let mut signatures = signatures.clone();
            signatures[missing] = signatures[(missing + 1) % 3];
            let signed = SignedDirectory::new(directory.clone(), signatures);
            let refused = signed.verify(&directory.collection, 4, &public);
            assert_eq!(refused, Err(Error::unsigned("directory", missing as u8 + 1)));
        }
        // One key replaced for one person: the others' signatures are of another list.
        let mut targeted = directory.clone();
        targeted.keys[0] = directory.keys[1];
        let mut mine = signatures;
        mine[0] = targeted.cosign(&identities[0]);
        let refused = SignedDirectory::new(targeted, mine);
        assert!(refused.verify(&directory.collection, 4, &public).is_err());
    }

    #[test]
    fn a_key_is_stated_for_one_place() {
        let (identities, public, directory) = parties();
        let id = directory.collection;
        let statement = KeyStatement::sign(id, 4, 2, directory.keys[1], &identities[1]);
        let again = KeyStatement::decode(&statement.encode()).unwrap();
        assert_eq!(again.verify(&id, 4, 2, &public[1]), Ok(directory.keys[1]));
        assert!(again.verify(&id, 4, 2, &public[0]).is_err());
        assert!(again.verify(&id, 4, 1, &public[1]).is_err());
        assert!(again.verify(&id, 5, 2, &public[1]).is_err());
        for length in 0..statement.encode().len() {
            assert!(KeyStatement::decode(&statement.encode()[..length]).is_err());
        }
    }
}
