//! The key of a pair, and what its ends can prove with it.
//!
//! ```text
//! salt         = SHA-256("throng/1 pair salt" ‖ 0x00 ‖ bulletin digest
//!                        ‖ low seat ‖ high seat ‖ method)
//! key          = HKDF-SHA256(salt, material, "throng/1 pair key" ‖ 0x00)
//! anything     = HKDF-Expand(key, label ‖ 0x00 ‖ context)
//! ```
//!
//! The bulletin is part of the salt: two ends that were shown different bags have different keys,
//! so equivocation shows as a confirmation that does not fit.
//!
//! The material has the min-entropy that [`Method::entropy_bits`] states; that 32 bytes extracted
//! from it look uniform is the usual assumption on HKDF, with HMAC as a random oracle, for the salt
//! is public and depends on the bag.

use crate::{Method, Pair, Seat};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use sha2::{Digest, Sha256};
use std::fmt;
use throng_wire::{Identity, PublicIdentity};
use zeroize::Zeroizing;

/// The secret that two seats share and nobody else knows. It is wiped when dropped, and `Debug`
/// does not show it.
///
/// That both ends have it is not known before each has seen the other's [`confirmation`], and who
/// the other end is not before its [signature]: whoever puts messages on the tag of a partner that
/// is missing shares a key with us, and confirms it. Both go through a [`Channel`] of this key.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_rounds::{Seat, example};
/// use throng_wire::Identity;
///
/// let [three, eight] = example::pair_keys(&mut ChaCha12Rng::seed_from_u64(1));
///
/// // Seat 3 proves to seat 8 that it has the key, and that it is who it should be.
/// assert!(eight.confirms(Seat(3), &three.confirmation(Seat(3))));
/// let identity = Identity::from_seed(&[3; 32]);
/// assert!(eight.verify(Seat(3), &identity.public(), &three.signed(Seat(3), &identity)));
/// assert_eq!(format!("{three:?}"), "PairKey(seat 3, seat 8)");
/// ```
///
/// [`Channel`]: crate::Channel
/// [`confirmation`]: PairKey::confirmation
/// [signature]: PairKey::signed
pub struct PairKey {
    pair: Pair,
    key: Zeroizing<[u8; 32]>,
}

impl PairKey {
    /// Derives the key from what the two ends know and nobody else.
    pub(crate) fn derive(pair: Pair, method: Method, bulletin: &[u8; 32], material: &[u8]) -> Self {
        let salt = Sha256::new()
            .chain_update(SALT)
            .chain_update(bulletin)
            .chain_update(seats(pair))
            .chain_update(method.to_bytes())
            .finalize();
        let extracted = Salt::new(HKDF_SHA256, &salt).extract(material);
        Self { pair, key: fill(&extracted, &[KEY]) }
    }

    /// The pair that has it.
    pub fn pair(&self) -> Pair {
        self.pair
    }

    /// Proves to the other end that `own` has this key, and so saw the same bulletin. It says
    /// nothing of who `own` is, and shows nothing of the key.
    pub fn confirmation(&self, own: Seat) -> [u8; 32] {
        *self.expand(&[CONFIRMATION, &own.0.to_be_bytes()])
    }

    /// True if `proof` is the [confirmation](PairKey::confirmation) of `from`, the other end. It
    /// takes the same time wherever the two differ.
    ///
    /// Our own confirmation sent back to us is not the other end's.
    pub fn confirms(&self, from: Seat, proof: &[u8]) -> bool {
        let expected = self.confirmation(from);
        self.holds(from) && verify_slices_are_equal(&expected, proof).is_ok()
    }

    /// The holder of `identity` says: I sit at `own`, and this key is mine with the other seat of
    /// the pair. Only the other end of the key can check it, so it tells outsiders nothing.
    ///
    /// ```text
    /// Ed25519("throng/1 pair" ‖ 0x00 ‖ low seat ‖ high seat ‖ own seat ‖ fingerprint)
    /// ```
    ///
    /// The fingerprint is expanded from the key, and does not reveal it. It differs for every key,
    /// so that a signature for one round is none for another.
    pub fn signed(&self, own: Seat, identity: &Identity) -> [u8; 64] {
        identity.sign(SIGNATURE, &self.statement(own))
    }

    /// True if the holder of `identity` [signed](PairKey::signed) that it sits at `from` and has
    /// this key. With it, the key is shared with nobody else, as long as that holder keeps it.
    pub fn verify(&self, from: Seat, identity: &PublicIdentity, signature: &[u8; 64]) -> bool {
        self.holds(from) && identity.verify(SIGNATURE, &self.statement(from), signature)
    }

    /// HKDF-Expand for a label and a context of fixed length.
    pub(crate) fn expand(&self, info: &[&[u8]]) -> Zeroizing<[u8; 32]> {
        expand(&self.key, info)
    }

    fn holds(&self, seat: Seat) -> bool {
        seat == self.pair.low() || seat == self.pair.high()
    }

    fn statement(&self, seat: Seat) -> Vec<u8> {
        let fingerprint = self.expand(&[FINGERPRINT]);
        [&seats(self.pair)[..], &seat.0.to_be_bytes(), &*fingerprint].concat()
    }
}

impl fmt::Debug for PairKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PairKey({}, {})", self.pair.low(), self.pair.high())
    }
}

/// HKDF-Expand from 32 uniform bytes to 32. Every label ends with a zero byte, so that none begins
/// another.
pub(crate) fn expand(key: &[u8; 32], info: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    fill(&Prk::new_less_safe(HKDF_SHA256, key), info)
}

/// The low and the high seat, 8 bytes.
pub(crate) fn seats(pair: Pair) -> [u8; 8] {
    ((u64::from(pair.low().0) << 32) | u64::from(pair.high().0)).to_be_bytes()
}

fn fill(prk: &Prk, info: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut out = Zeroizing::new([0; 32]);
    let filled = prk.expand(info, HKDF_SHA256).and_then(|okm| okm.fill(&mut *out));
    filled.expect("as many bytes as the hash has");
    out
}

const SALT: &[u8] = b"throng/1 pair salt\0";
const KEY: &[u8] = b"throng/1 pair key\0";
const CONFIRMATION: &[u8] = b"throng/1 pair confirmation\0";
const FINGERPRINT: &[u8] = b"throng/1 pair fingerprint\0";
const SIGNATURE: &str = "throng/1 pair";

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::hex;

    const METHOD: Method = Method::Cards { cards: 66 };

    fn pair(one: u32, other: u32) -> Pair {
        Pair::new(Seat(one), Seat(other)).unwrap()
    }

    fn key() -> PairKey {
        PairKey::derive(pair(3, 8), METHOD, &[1; 32], b"material")
    }

    // Computed with the `hmac` and `hashlib` modules of Python.
    #[test]
    fn the_key_is_the_documented_one() {
        let known = "bdec72c1bedf00f7d76f0316ff232201903860310cdea4db5ba40a1b12d03fb8";
        assert_eq!(hex(&*key().key), known);
        let known = "78fc696e97d6287e038f5cee083afc7ac5d2d4e5d5414e3ed0f0f4f8ee40afb1";
        assert_eq!(hex(&key().confirmation(Seat(3))), known);
    }

    #[test]
    fn whatever_differs_makes_another_key() {
        let others = [
            PairKey::derive(pair(3, 9), METHOD, &[1; 32], b"material"),
            PairKey::derive(pair(3, 8), Method::Cards { cards: 67 }, &[1; 32], b"material"),
            PairKey::derive(pair(3, 8), METHOD, &[2; 32], b"material"),
            PairKey::derive(pair(3, 8), METHOD, &[1; 32], b"materiel"),
        ];
        for other in &others {
            assert_ne!(other.key, key().key);
            assert!(!other.confirms(Seat(3), &key().confirmation(Seat(3))));
        }
    }

    #[test]
    fn a_confirmation_is_of_one_seat_and_whole() {
        let proof = key().confirmation(Seat(3));
        assert!(key().confirms(Seat(3), &proof));
        assert!(!key().confirms(Seat(8), &proof));
        assert!(!key().confirms(Seat(3), &proof[..31]));
        assert!(!key().confirms(Seat(3), &[]));
        assert!(!key().confirms(Seat(5), &key().confirmation(Seat(5))));
        for byte in 0..32 {
            let mut wrong = proof;
            wrong[byte] ^= 1;
            assert!(!key().confirms(Seat(3), &wrong));
        }
    }

    #[test]
    fn a_signature_is_of_one_seat_one_identity_and_one_key() {
        let (three, other) = (Identity::from_seed(&[3; 32]), Identity::from_seed(&[4; 32]));
        let signature = key().signed(Seat(3), &three);
        assert!(key().verify(Seat(3), &three.public(), &signature));
        assert!(!key().verify(Seat(8), &three.public(), &signature));
        assert!(!key().verify(Seat(3), &other.public(), &signature));
        assert!(!key().verify(Seat(3), &three.public(), &key().signed(Seat(3), &other)));
        assert!(!key().verify(Seat(5), &three.public(), &key().signed(Seat(5), &three)));
        let next_round = PairKey::derive(pair(3, 8), METHOD, &[2; 32], b"material");
        assert!(!next_round.verify(Seat(3), &three.public(), &signature));
    }

    #[test]
    fn the_key_does_not_show() {
        assert!(!format!("{:?}", key()).contains(&hex(&*key().key)));
    }
}
