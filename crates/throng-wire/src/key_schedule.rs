//! The way from an agreement to the key of a layer, the same on both sides.
//!
//! RFC 9180, sections 4.1 and 5.1, for one recipient and one `info`, base mode, sequence 0. What is
//! the same for all layers is computed once:
//!
//! ```text
//! eae_prk       = LabeledExtract("", "eae_prk", dh)                          suite KEM
//! shared_secret = LabeledExpand(eae_prk, "shared_secret", enc ‖ pkR, 32)     suite KEM
//! context       = 0x00 ‖ psk_id_hash ‖ info_hash                             once
//! secret        = LabeledExtract(shared_secret, "secret", "")                suite HPKE
//! key, nonce    = LabeledExpand(secret, "key" | "base_nonce", context, 16 | 12)
//!
//! KEM = "KEM" ‖ 0x0020     HPKE = "HPKE" ‖ 0x0020 0001 0001
//! LabeledExtract(salt, label, ikm)   = HMAC(salt, "HPKE-v1" ‖ suite ‖ label ‖ ikm)
//! LabeledExpand(prk, label, info, L) =
//!     HMAC(prk, L (2) ‖ "HPKE-v1" ‖ suite ‖ label ‖ info ‖ 0x01)[..L]
//! ```

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

/// The keys of layers to one recipient for one `info`.
#[derive(Clone)]
pub(crate) struct KeySchedule {
    pub public: [u8; 32],
    pub context: [u8; 65],
    unsalted: hmac::Key,
}

impl KeySchedule {
    /// The schedule for the holder of this public key.
    pub fn new(public: [u8; 32], info: &[u8]) -> Self {
        let unsalted = hmac_key(&[]);
        let mut context = [0; 65];
        context[1..33].copy_from_slice(&extract(&unsalted, SUITE, b"psk_id_hash", &[]));
        context[33..].copy_from_slice(&extract(&unsalted, SUITE, b"info_hash", info));
        Self { public, context, unsalted }
    }

    /// Key and nonce of the layer with this encapsulated key and agreement.
    pub fn keys(&self, enc: &[u8], dh: &[u8; 32]) -> ([u8; 16], [u8; 12]) {
        self.schedule(&self.shared_secret(enc, dh))
    }

    /// DeriveKeyPair of section 7.1.3: an ephemeral scalar from random bytes.
    pub fn ephemeral(&self, random: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        let prk = hmac_key(&extract(&self.unsalted, KEM_SUITE, b"dkp_prk", random));
        Zeroizing::new(expand(&prk, KEM_SUITE, b"sk", [&[], &[]]))
    }

    /// ExtractAndExpand of section 4.1.
    pub fn shared_secret(&self, enc: &[u8], dh: &[u8; 32]) -> [u8; 32] {
        let prk = hmac_key(&extract(&self.unsalted, KEM_SUITE, b"eae_prk", dh));
        expand(&prk, KEM_SUITE, b"shared_secret", [enc, &self.public])
    }

    /// KeySchedule of section 5.1.
    pub fn schedule(&self, shared_secret: &[u8; 32]) -> ([u8; 16], [u8; 12]) {
        let secret = hmac_key(&extract(&hmac_key(shared_secret), SUITE, b"secret", &[]));
        let key = expand(&secret, SUITE, b"key", [&self.context, &[]]);
        let nonce = expand(&secret, SUITE, b"base_nonce", [&self.context, &[]]);
        (key, nonce)
    }
}

fn extract(salt: &hmac::Key, suite: &[u8], label: &[u8], ikm: &[u8]) -> [u8; 32] {
    mac(salt, &[VERSION, suite, label, ikm])
}

/// Expands at most one block of HKDF, which is all that HPKE asks of it.
fn expand<const N: usize>(
    prk: &hmac::Key,
    suite: &[u8],
    label: &[u8],
    info: [&[u8]; 2],
) -> [u8; N] {
    let len = (N as u16).to_be_bytes();
    let block = mac(prk, &[&len, VERSION, suite, label, info[0], info[1], &[1]]);
    *block.first_chunk().expect("no more than 32 bytes are asked for")
}

fn mac(key: &hmac::Key, parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(part);
    }
    context.sign().as_ref().try_into().expect("HMAC-SHA256 has 32 bytes")
}

fn hmac_key(bytes: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, bytes)
}

const VERSION: &[u8] = b"HPKE-v1";
const KEM_SUITE: &[u8] = b"KEM\x00\x20";
const SUITE: &[u8] = b"HPKE\x00\x20\x00\x01\x00\x01";
