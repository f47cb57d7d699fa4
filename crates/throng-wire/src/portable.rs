//! Sealing on the `hpke` crate: pure Rust, for every target.

use crate::{Error, LayerPublic};
use hpke::aead::AesGcm128;
use hpke::inout::InOutBuf;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{
    Deserializable, Kem, OpModeS, Serializable,
    single_shot_seal_inout_detached_with_rng as hpke_seal,
};
use rand_core::CryptoRng;

/// Seals layers to one key for one `info`.
#[derive(Clone)]
pub(crate) struct Sealer {
    key: <X25519HkdfSha256 as Kem>::PublicKey,
    info: Vec<u8>,
}

impl Sealer {
    pub fn new(key: &LayerPublic, info: &[u8]) -> Result<Self, Error> {
        let key = Deserializable::from_bytes(&key.0)
            .map_err(|_| Error::Malformed { expected: "an X25519 public key" })?;
        Ok(Self { key, info: info.to_vec() })
    }

    /// Seals the text of a layer in place, and fills the key before it and the tag after it.
    pub fn seal(&self, layer: [&mut [u8]; 3], rng: &mut impl CryptoRng) -> Result<(), Error> {
        let [enc, text, tag] = layer;
        let text = InOutBuf::from(text);
        // At sequence 0 nothing else can fail than the agreement.
        let (key, sum) = hpke_seal::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
            &OpModeS::Base,
            &self.key,
            &self.info,
            text,
            &[],
            rng,
        )
        .map_err(|_| Error::Malformed { expected: "a public key that is not of small order" })?;
        key.write_exact(enc);
        sum.write_exact(tag);
        Ok(())
    }
}
