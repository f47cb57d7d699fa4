//! The identities of parties, and the keys that layers are sealed to.

#[cfg(unix)]
mod file;

use crate::Error;
use crate::bytes::{hex, unhex_array};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem, Serializable};
use rand_core::CryptoRng;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// A party's long-term Ed25519 key: it signs keys, directories, manifests and receipts. Wiped when
/// dropped, and `Debug` does not show it.
///
/// ```
/// use throng_wire::Identity;
///
/// let identity = Identity::from_seed(&[1; 32]);
/// let signature = identity.sign("label", b"body");
/// assert!(identity.public().verify("label", b"body", &signature));
///
/// // What is signed under one label is not signed under another.
/// assert!(!identity.public().verify("other", b"body", &signature));
/// assert_eq!(format!("{identity:?}"), format!("Identity({})", identity.public()));
/// ```
#[derive(Clone)]
pub struct Identity(SigningKey);

impl Identity {
    /// A fresh identity.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Self::from_seed(&seed)
    }

    /// The identity of this seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// The public half, by which others know it.
    pub fn public(&self) -> PublicIdentity {
        PublicIdentity(self.0.verifying_key().to_bytes())
    }

    /// Signs `label ‖ 0x00 ‖ body`.
    pub fn sign(&self, label: &str, body: &[u8]) -> [u8; 64] {
        self.0.sign(&labelled(label, body)).to_bytes()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.public())
    }
}

/// The public half of an [`Identity`], as pinned in a collection.
///
/// ```
/// use throng_wire::{Identity, PublicIdentity, unhex};
///
/// // Test 1 of RFC 8032, section 7.1.
/// let seed = unhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
/// let public = Identity::from_seed(&seed.unwrap().try_into().unwrap()).public();
/// let known = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
/// assert_eq!(known.parse::<PublicIdentity>()?, public);
///
/// // A point of small order, for which anybody can sign.
/// assert!(PublicIdentity::new([0; 32]).is_err());
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicIdentity([u8; 32]);

impl PublicIdentity {
    /// A point of the curve, not one of small order, in the one encoding it has.
    pub fn new(bytes: [u8; 32]) -> Result<Self, Error> {
        let canonical = |key: &VerifyingKey| key.to_edwards().compress().to_bytes() == bytes;
        match VerifyingKey::from_bytes(&bytes) {
            Ok(key) if !key.is_weak() && canonical(&key) => Ok(Self(bytes)),
            _ => Err(Error::Malformed { expected: "an Ed25519 public key" }),
        }
    }

    /// The encoded point.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// True if `signature` is this party's of `label ‖ 0x00 ‖ body`.
    pub fn verify(&self, label: &str, body: &[u8], signature: &[u8; 64]) -> bool {
        VerifyingKey::from_bytes(&self.0).is_ok_and(|key| {
            key.verify_strict(&labelled(label, body), &Signature::from_bytes(signature)).is_ok()
        })
    }

    /// Refuses a body that not every one of `parties`, in the order of the chain, signed.
    pub(crate) fn all_signed(
        parties: &[Self],
        (what, label): (&'static str, &str),
        body: &[u8],
        signatures: &[[u8; 64]],
    ) -> Result<(), Error> {
        Error::unless_in(what, "chain", signatures.len() == parties.len())?;
        let mut signed = (1..).zip(parties.iter().zip(signatures));
        match signed.find(|(_, (party, signature))| !party.verify(label, body, signature)) {
            Some((hop, _)) => Err(Error::unsigned(what, hop)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for PublicIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for PublicIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicIdentity({self})")
    }
}

impl FromStr for PublicIdentity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bytes =
            unhex_array(text).ok_or(Error::Malformed { expected: "64 hexadecimal digits" })?;
        Self::new(bytes)
    }
}

/// The X25519 key of one party for one window, which opens layers. Wiped when dropped.
///
/// ```
/// use throng_wire::{LayerSecret, hex, unhex};
///
/// // Bob's keys of RFC 7748, section 6.1.
/// let secret = unhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
/// let secret = LayerSecret::from_bytes(&secret.unwrap().try_into().unwrap());
/// let public = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
/// assert_eq!(hex(&secret.public().0), public);
/// assert_eq!(format!("{secret:?}"), "LayerSecret(..)");
/// ```
#[derive(Clone)]
pub struct LayerSecret(Zeroizing<[u8; 32]>);

impl LayerSecret {
    /// A fresh key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *bytes);
        Self(bytes)
    }

    /// The key that was stored.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(Zeroizing::new(*bytes))
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The public half, to which layers are sealed.
    #[expect(clippy::missing_panics_doc, reason = "32 bytes are always a scalar")]
    pub fn public(&self) -> LayerPublic {
        type Secret = <X25519HkdfSha256 as Kem>::PrivateKey;
        let secret = Secret::from_bytes(&*self.0).expect("any 32 bytes are an X25519 scalar");
        LayerPublic(X25519HkdfSha256::sk_to_pk(&secret).to_bytes().into())
    }
}

impl fmt::Debug for LayerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LayerSecret(..)")
    }
}

/// The public half of a [`LayerSecret`]: any 32 bytes, though sealing to a point of small order
/// fails.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_wire::{Binding, CollectionId, Layer, LayerPublic};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let collection = CollectionId::new([7; 32]);
/// let binding = Binding { collection, epoch: 0, hop: 1, analyzer: false };
///
/// // Zero is a point of small order: with it, everyone would agree on the same secret.
/// let layer = Layer::new(&LayerPublic([0; 32]), &binding);
/// assert!(layer.and_then(|layer| layer.seal(b"yes", &mut rng)).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerPublic(pub [u8; 32]);

fn labelled(label: &str, body: &[u8]) -> Vec<u8> {
    [label.as_bytes(), &[0], body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};

    #[test]
    fn a_signature_is_of_one_label_and_one_body() {
        let identity = Identity::generate(&mut ChaCha12Rng::seed_from_u64(1));
        let signature = identity.sign("throng/1 receipt", b"body");
        let public = identity.public();
        assert!(public.verify("throng/1 receipt", b"body", &signature));
        assert!(!public.verify("throng/1 manifest", b"body", &signature));
        assert!(!public.verify("throng/1 receipt", b"bode", &signature));
        assert_eq!(public.to_string().parse::<PublicIdentity>(), Ok(public));
    }

    #[test]
    fn secrets_do_not_show() {
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        let (identity, layer) = (Identity::generate(&mut rng), LayerSecret::generate(&mut rng));
        let shown = format!("{identity:?} {layer:?}");
        assert!(!shown.contains(&hex(&identity.0.to_bytes())));
        assert!(!shown.contains(&hex(layer.as_bytes())));
    }

    #[test]
    fn a_point_of_small_order_is_nobody() {
        let mut one = [0; 32];
        one[0] = 1;
        assert!(PublicIdentity::new(one).is_err());
        assert!(PublicIdentity::new([0; 32]).is_err());
    }

    // The point with y = 3 could also be written as y = p + 3: two identities of one party.
    #[test]
    fn a_point_has_one_encoding() {
        let mut three = [0; 32];
        three[0] = 3;
        assert!(PublicIdentity::new(three).is_ok());
        let mut again = [0xff; 32];
        (again[0], again[31]) = (0xed + 3, 0x7f);
        assert!(PublicIdentity::new(again).is_err());
    }
}
