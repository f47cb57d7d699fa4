//! Sealing a report: the client's half of the envelope.
//!
//! ```text
//! onion  = layer(hop 2, layer(hop 3, … layer(analyzer, message)))      one for each of M messages
//! report = layer(hop 1, onion ‖ … ‖ onion)
//! layer  = enc (32) ‖ ciphertext ‖ tag (16)                            HPKE, single shot, no aad
//! ```
//!
//! The first mix opens whole reports, so that it can count clients and drop replays; what it passes
//! on are single messages, and no later hop learns which of them came together.

#[cfg(feature = "open")]
use crate::native::Sealer;
#[cfg(not(feature = "open"))]
use crate::portable::Sealer;
use crate::{Binding, CollectionId, ENC, Error, LAYER, LayerPublic, Shape, TAG};
use rand_core::CryptoRng;
use std::mem;
use zeroize::Zeroizing;

/// Seals the reports of one epoch of a collection.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_wire::{CollectionId, LayerSecret, Seal, Shape};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
///
/// // Three messages of one byte, through two mixes to the analyzer.
/// let shape = Shape { mixes: 2, messages: 3, payload: 1 };
/// let keys = [1, 2, 3].map(|seed| LayerSecret::from_bytes(&[seed; 32]).public());
/// let seal = Seal::new(&shape, CollectionId::new([7; 32]), 0, 0, &keys)?;
/// let [one, other] = [[0, 0, 1], [0, 0, 1]].map(|messages| seal.report(&messages, &mut rng));
/// let (one, other) = (one?, other?);
///
/// // The same messages, the same length, and nothing in common.
/// assert_eq!((one.len(), other.len()), (shape.report_bytes(), shape.report_bytes()));
/// assert_ne!(one, other);
/// assert!(seal.report(&[0, 1], &mut rng).is_err());
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Clone)]
pub struct Seal {
    shape: Shape,
    outer: Layer,
    /// The layers of hop 2 and later, the analyzer's last.
    inner: Vec<Layer>,
}

impl Seal {
    /// The seal of an `epoch`, and of the `window` it lies in, named by its first epoch. There is
    /// one key for every hop, the analyzer's last.
    pub fn new(
        shape: &Shape,
        collection: CollectionId,
        epoch: u64,
        window: u64,
        keys: &[LayerPublic],
    ) -> Result<Self, Error> {
        if !(1..u8::MAX).contains(&shape.mixes) || shape.messages == 0 || shape.payload == 0 {
            return Err(Error::Argument { expected: "a mix, a message and a byte of it" });
        }
        let (first, later) = match keys.split_first() {
            Some((first, later)) if later.len() == usize::from(shape.mixes) => (first, later),
            _ => return Err(Error::Argument { expected: "one key for every hop" }),
        };

        let analyzer = shape.analyzer();
        let outer = Binding { collection, epoch, hop: 1, analyzer: false };
        let inner = (2..=analyzer).zip(later).map(|(hop, key)| {
            Layer::new(key, &Binding { collection, epoch: window, hop, analyzer: hop == analyzer })
        });
        let inner = inner.collect::<Result<_, _>>()?;
        Ok(Self { shape: *shape, outer: Layer::new(first, &outer)?, inner })
    }

    /// Seals the messages of one client, given back to back. Every report of a collection has the
    /// same length, and two reports have nothing in common, be their messages the same or not.
    pub fn report(&self, messages: &[u8], rng: &mut impl CryptoRng) -> Result<Vec<u8>, Error> {
        let payload = self.shape.payload as usize;
        if messages.len() != self.shape.messages as usize * payload {
            let expected = "all messages of a report, each of its length";
            return Err(Error::Argument { expected });
        }

        // Layers grow outward in place from the message. Wiped if a key is refused half-way.
        let mut report = Zeroizing::new(vec![0; self.shape.report_bytes()]);
        let onions = ENC..report.len() - TAG;
        let onions = report[onions].chunks_exact_mut(self.shape.record_bytes(2));
        for (onion, message) in onions.zip(messages.chunks_exact(payload)) {
            let mut start = self.inner.len() * ENC;
            let mut end = start + payload;
            onion[start..end].copy_from_slice(message);
            for layer in self.inner.iter().rev() {
                (start, end) = (start - ENC, end + TAG);
                layer.seal_in_place(&mut onion[start..end], rng)?;
            }
        }
        self.outer.seal_in_place(&mut report, rng)?;
        Ok(mem::take(&mut *report))
    }
}

/// One layer: a key and what it is bound to.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_wire::{Binding, CollectionId, LAYER, Layer, LayerSecret};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let key = LayerSecret::from_bytes(&[1; 32]).public();
/// let collection = CollectionId::new([7; 32]);
/// let binding = Binding { collection, epoch: 0, hop: 1, analyzer: false };
/// let layer = Layer::new(&key, &binding)?;
/// let sealed = layer.seal(b"yes", &mut rng)?;
/// assert_eq!(sealed.len(), 3 + LAYER);
/// assert_ne!(layer.seal(b"yes", &mut rng)?, sealed);
/// # Ok::<(), throng_wire::Error>(())
/// ```
#[derive(Clone)]
pub struct Layer(Sealer);

impl Layer {
    /// A layer to this key, for this hop.
    pub fn new(key: &LayerPublic, binding: &Binding) -> Result<Self, Error> {
        Ok(Self(Sealer::new(key, &binding.info())?))
    }

    /// Adds the layer: 48 bytes more than the plaintext.
    pub fn seal(&self, plaintext: &[u8], rng: &mut impl CryptoRng) -> Result<Vec<u8>, Error> {
        let mut layer = Zeroizing::new(vec![0; plaintext.len() + LAYER]);
        layer[ENC..][..plaintext.len()].copy_from_slice(plaintext);
        self.seal_in_place(&mut layer, rng)?;
        Ok(mem::take(&mut *layer))
    }

    /// Seals what lies between the first 32 bytes and the last 16, and fills those.
    fn seal_in_place(&self, layer: &mut [u8], rng: &mut impl CryptoRng) -> Result<(), Error> {
        let (enc, rest) = layer.split_at_mut(ENC);
        let (text, tag) = rest.split_at_mut(rest.len() - TAG);
        self.0.seal([enc, text, tag], rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerSecret;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    use proptest::prelude::*;
    use std::collections::HashSet;

    const SHAPE: Shape = Shape { mixes: 2, messages: 2, payload: 3 };

    fn keys(count: u8) -> Vec<LayerPublic> {
        (1..=count).map(|i| LayerSecret::from_bytes(&[i; 32]).public()).collect()
    }

    fn seal(shape: &Shape, keys: &[LayerPublic]) -> Result<Seal, Error> {
        Seal::new(shape, CollectionId::new([1; 32]), 5, 4, keys)
    }

    #[test]
    fn there_is_a_key_for_every_hop() {
        for count in 0..6 {
            assert_eq!(seal(&SHAPE, &keys(count)).is_ok(), count == 3);
        }
        let error = seal(&SHAPE, &keys(2)).err().unwrap();
        assert_eq!(error.to_string(), "a wrong argument: one key for every hop expected");
    }

    #[test]
    fn a_shape_without_mixes_messages_or_bytes_is_refused() {
        assert!(seal(&Shape { mixes: 0, ..SHAPE }, &keys(1)).is_err());
        assert!(seal(&Shape { mixes: u8::MAX, ..SHAPE }, &keys(3)).is_err());
        assert!(seal(&Shape { messages: 0, ..SHAPE }, &keys(3)).is_err());
        assert!(seal(&Shape { payload: 0, ..SHAPE }, &keys(3)).is_err());
    }

    #[test]
    fn messages_of_another_length_are_refused() {
        let (seal, mut rng) = (seal(&SHAPE, &keys(3)).unwrap(), ChaCha12Rng::seed_from_u64(1));
        for len in 0..20 {
            assert_eq!(seal.report(&vec![0; len], &mut rng).is_ok(), len == 6);
        }
    }

    #[test]
    fn a_key_of_small_order_is_refused_at_every_hop() {
        let mut one = [0; 32];
        one[0] = 1;
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        for small in [[0; 32], one] {
            for hop in 0..3 {
                let mut keys = keys(3);
                keys[hop] = LayerPublic(small);
                let refused = seal(&SHAPE, &keys).and_then(|seal| seal.report(&[7; 6], &mut rng));
                assert!(matches!(refused, Err(Error::Malformed { .. })), "hop {hop}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 64,
            failure_persistence: None,
            ..Default::default()
        })]

        #[test]
        fn every_report_has_the_length_of_its_shape(
            mixes in 1_u8..4, messages in 1_u32..4, payload in 1_u32..20, byte: u8, seed: u64,
        ) {
            let shape = Shape { mixes, messages, payload };
            let seal = seal(&shape, &keys(mixes + 1)).unwrap();
            let values = vec![byte; (messages * payload) as usize];
            let report = seal.report(&values, &mut ChaCha12Rng::seed_from_u64(seed)).unwrap();
            prop_assert_eq!(report.len(), shape.report_bytes());
        }
    }

    /// Of 100 reports of the same messages, any two share at most 12 of 246 bytes in place. By
    /// chance a pair shares more with probability below C(246, 13)·256⁻¹³ < 1e-10, and any of 4950
    /// pairs below 1e-6.
    #[test]
    fn reports_of_the_same_messages_have_nothing_in_common() {
        let (seal, mut rng) = (seal(&SHAPE, &keys(3)).unwrap(), ChaCha12Rng::seed_from_u64(3));
        let reports: Vec<_> = (0..100).map(|_| seal.report(&[0; 6], &mut rng).unwrap()).collect();
        let distinct: HashSet<_> = reports.iter().map(|report| &report[..ENC]).collect();
        assert_eq!(distinct.len(), reports.len());
        for (i, a) in reports.iter().enumerate() {
            for b in &reports[..i] {
                let shared = a.iter().zip(b).filter(|(a, b)| a == b).count();
                assert!(shared <= 12, "{shared} bytes of {} in common", a.len());
            }
        }
    }
}
