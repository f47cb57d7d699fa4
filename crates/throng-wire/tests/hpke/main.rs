//! The envelope from both ends: reports are sealed by one implementation of HPKE and opened by
//! another, and nothing opens that was not sealed for the one who opens it.

#![cfg(feature = "open")]

mod chain;
mod vectors;

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use chain::Chain;
use hpke::aead::AesGcm128;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};
use throng_wire::{Binding, CollectionId, Error, LAYER, Layer, LayerSecret, Opener, Shape};

#[test]
fn each_implementation_opens_what_the_other_seals() {
    let mut rng = ChaCha12Rng::seed_from_u64(10);
    for round in 0..100 {
        let (secret, binding) = (LayerSecret::generate(&mut rng), binding(&mut rng));
        let len = if round < 5 { round } else { rng.next_u32() as usize % 2_000 };
        let mut text = vec![0; len];
        rng.fill_bytes(&mut text);

        let ours = Layer::new(&secret.public(), &binding).unwrap().seal(&text, &mut rng).unwrap();
        let theirs = hpke_seal(&secret, &binding, &text, &mut rng);
        assert_eq!((ours.len(), theirs.len()), (len + LAYER, len + LAYER));
        for sealed in [&ours, &theirs] {
            let mut opened = vec![0xaa; len];
            let opener = Opener::new(&secret, &binding).unwrap();
            assert_eq!(opener.open(sealed, &mut opened), Ok(()));
            assert_eq!(opened, text);
            assert_eq!(hpke_open(&secret, &binding, sealed), Some(text.clone()));
        }
    }
}

#[test]
fn a_layer_opens_for_nobody_else() {
    let mut rng = ChaCha12Rng::seed_from_u64(11);
    let (secret, other) = (LayerSecret::generate(&mut rng), LayerSecret::generate(&mut rng));
    let binding = Binding { hop: 2, analyzer: false, ..binding(&mut rng) };
    let sealed = Layer::new(&secret.public(), &binding).unwrap().seal(b"text", &mut rng).unwrap();
    let opens = |secret: &LayerSecret, binding: &Binding| {
        let mut opened = [0xaa; 4];
        let result = Opener::new(secret, binding).unwrap().open(&sealed, &mut opened);
        assert_eq!(&opened, if result.is_ok() { b"text" } else { &[0; 4] });
        result
    };
    assert_eq!(opens(&secret, &binding), Ok(()));
    assert_eq!(opens(&other, &binding), Err(Error::Sealed), "key");
    for bit in 0..256 {
        let mut id = *binding.collection.as_bytes();
        id[bit / 8] ^= 1 << (bit % 8);
        let collection = CollectionId::new(id);
        assert_eq!(opens(&secret, &Binding { collection, ..binding }), Err(Error::Sealed));
    }
    for bit in 0..64 {
        let epoch = binding.epoch ^ 1 << bit;
        assert_eq!(opens(&secret, &Binding { epoch, ..binding }), Err(Error::Sealed), "{epoch}");
    }
    for hop in (0..=255).filter(|&hop| hop != binding.hop) {
        assert_eq!(opens(&secret, &Binding { hop, ..binding }), Err(Error::Sealed), "hop {hop}");
    }
    assert_eq!(opens(&secret, &Binding { analyzer: true, ..binding }), Err(Error::Sealed), "role");
}

#[test]
fn reports_travel_the_whole_chain() {
    for (mixes, messages, payload) in [(1, 1, 1), (1, 5, 3), (2, 1, 32), (2, 4, 8), (8, 2, 1)] {
        let mut rng = ChaCha12Rng::seed_from_u64(12);
        let chain = Chain::generate(Shape { mixes, messages, payload }, &mut rng);
        let sent: Vec<u8> = (0..messages * payload).map(|i| i as u8).collect();
        let report = chain.seal().report(&sent, &mut rng).unwrap();
        assert_eq!(chain.walk(&report).unwrap().last().unwrap().concat(), sent);
    }
}

/// Records as they enter every hop, each with each of its bits flipped: the hop refuses them all.
#[test]
fn every_flipped_bit_is_noticed_by_the_hop_it_reaches() {
    let mut rng = ChaCha12Rng::seed_from_u64(13);
    let chain = Chain::generate(Shape { mixes: 2, messages: 2, payload: 1 }, &mut rng);
    let report = chain.seal().report(&[3, 4], &mut rng).unwrap();
    let stages = chain.walk(&report).unwrap();
    for (hop, records) in (1..).zip([vec![report]].iter().chain(&stages[..2])) {
        let opener = chain.opener(hop);
        for record in records {
            assert_eq!(record.len(), chain.shape.record_bytes(hop));
            let mut opened = vec![0; record.len() - LAYER];
            assert_eq!(opener.open(record, &mut opened), Ok(()));
            for bit in 0..8 * record.len() {
                let mut flipped = record.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let refused = opener.open(&flipped, &mut opened);
                assert_eq!(refused, Err(Error::Sealed), "hop {hop}, bit {bit}");
            }
        }
    }
}

fn binding(rng: &mut ChaCha12Rng) -> Binding {
    let mut id = [0; 32];
    rng.fill_bytes(&mut id);
    let (epoch, hop) = (rng.next_u64(), rng.next_u32() as u8);
    Binding { collection: CollectionId::new(id), epoch, hop, analyzer: hop.is_multiple_of(2) }
}

fn hpke_seal(
    secret: &LayerSecret,
    binding: &Binding,
    text: &[u8],
    rng: &mut ChaCha12Rng,
) -> Vec<u8> {
    let key = <X25519HkdfSha256 as Kem>::PublicKey::from_bytes(&secret.public().0).unwrap();
    let seal = hpke::single_shot_seal_with_rng::<AesGcm128, HkdfSha256, X25519HkdfSha256>;
    let (enc, sealed) = seal(&OpModeS::Base, &key, &binding.info(), text, &[], rng).unwrap();
    [enc.to_bytes().to_vec(), sealed].concat()
}

fn hpke_open(secret: &LayerSecret, binding: &Binding, sealed: &[u8]) -> Option<Vec<u8>> {
    let key = <X25519HkdfSha256 as Kem>::PrivateKey::from_bytes(secret.as_bytes()).unwrap();
    let (enc, text) = sealed.split_at(32);
    let enc = <X25519HkdfSha256 as Kem>::EncappedKey::from_bytes(enc).ok()?;
    let open = hpke::single_shot_open::<AesGcm128, HkdfSha256, X25519HkdfSha256>;
    open(&OpModeR::Base, &key, &enc, &binding.info(), text, &[]).ok()
}
