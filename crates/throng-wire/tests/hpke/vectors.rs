//! `vectors/envelope.json`: made here from fixed seeds, and read back as another program would.

use crate::chain::Chain;
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use std::{env, fs};
use throng_wire::{Binding, CollectionId, Layer, LayerSecret, Shape, hex};

/// With `THRONG_WRITE_VECTORS` set, writes the file instead.
#[test]
fn the_file_is_what_the_seeds_make() {
    let shapes = [(1, 3, 1), (2, 2, 8), (3, 1, 32)];
    let envelopes: Vec<_> = (20..).zip(shapes).map(|(seed, shape)| envelope(shape, seed)).collect();
    let made = json!({ "about": ABOUT, "envelopes": envelopes });
    if env::var_os("THRONG_WRITE_VECTORS").is_some() {
        fs::write(FILE, serde_json::to_string_pretty(&made).unwrap() + "\n").unwrap();
    }
    assert!(made == read(), "the file differs from what is made");
}

#[test]
fn every_case_fails_at_the_step_it_names() {
    let mut cases = 0;
    for envelope in read()["envelopes"].as_array().unwrap() {
        let chain = parse(envelope);
        let messages = envelope["messages"].as_array().unwrap().iter().map(bytes);
        let opened = chain.walk(&bytes(&envelope["report"])).unwrap();
        assert_eq!(opened.last().unwrap(), &messages.collect::<Vec<_>>());
        for case in envelope["cases"].as_array().unwrap() {
            let failed = chain.walk(&bytes(&case["report"])).unwrap_err();
            assert_eq!(failed, case["step"], "{}", case["name"]);
            cases += 1;
        }
    }
    assert!(cases > 100, "{cases}");
}

fn envelope((mixes, messages, payload): (u8, u32, u32), seed: u64) -> Value {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let chain = Chain::generate(Shape { mixes, messages, payload }, &mut rng);
    let mut sent = vec![0; (messages * payload) as usize];
    rng.fill_bytes(&mut sent);
    let report = chain.seal().report(&sent, &mut rng).unwrap();
    let cases: Vec<_> = cases(&chain, &sent, &mut rng)
        .into_iter()
        .map(|(name, step, report)| json!({ "name": name, "step": step, "report": hex(&report) }))
        .collect();
    json!({
        "mixes": mixes,
        "messages_per_report": messages,
        "payload": payload,
        "collection": chain.collection.to_string(),
        "epoch": chain.epoch,
        "window": chain.window,
        "secrets": chain.secrets.iter().map(|secret| hex(secret.as_bytes())).collect::<Vec<_>>(),
        "messages": sent.chunks(payload as usize).map(hex).collect::<Vec<_>>(),
        "report": hex(&report),
        "cases": cases,
    })
}

/// Reports with one thing wrong each: what, where it must be noticed, and the bytes.
fn cases(chain: &Chain, sent: &[u8], rng: &mut ChaCha12Rng) -> Vec<(String, String, Vec<u8>)> {
    let report = chain.seal().report(sent, rng).unwrap();
    let fewer = &sent[..sent.len() - chain.shape.payload as usize];
    let lengths = [
        ("empty", Vec::new()),
        ("cut by a byte", report[..report.len() - 1].to_vec()),
        ("a byte longer", [&report[..], &[0]].concat()),
        ("two reports", report.repeat(2)),
        (
            "a message too few",
            wrap(chain, fewer, rng, |hop, text, rng| layer(chain, hop, text, rng)),
        ),
    ];
    let mut cases: Vec<_> =
        lengths.map(|(name, report)| (name.into(), "length".into(), report)).into();

    let last = chain.shape.analyzer();
    for hop in 1..=last {
        for (name, fault) in FAULTS {
            let report = wrap(chain, sent, rng, |at, text, rng| match at {
                at if at == hop => fault(chain, hop, text, rng),
                at => layer(chain, at, text, rng),
            });
            cases.push((format!("{name} at hop {hop}"), chain.step(hop), report));
        }
    }
    for hop in 1..last {
        let report = wrap(chain, sent, rng, |at, text, rng| match at {
            at if at == hop => layer(chain, hop + 1, text, rng),
            at if at == hop + 1 => layer(chain, hop, text, rng),
            at => layer(chain, at, text, rng),
        });
        cases.push((format!("layers {hop} and {} swapped", hop + 1), chain.step(hop), report));
    }
    cases
}

/// A report whose first onion and outer layer are made by `seal`, which is given the hop.
fn wrap(
    chain: &Chain,
    sent: &[u8],
    rng: &mut ChaCha12Rng,
    seal: impl Fn(u8, &[u8], &mut ChaCha12Rng) -> Vec<u8>,
) -> Vec<u8> {
    let mut onions = Vec::new();
    for (i, message) in sent.chunks(chain.shape.payload as usize).enumerate() {
        let mut onion = message.to_vec();
        for hop in (2..=chain.shape.analyzer()).rev() {
            onion = if i == 0 { seal(hop, &onion, rng) } else { layer(chain, hop, &onion, rng) };
        }
        onions.extend(onion);
    }
    seal(1, &onions, rng)
}

/// A layer without fault.
fn layer(chain: &Chain, hop: u8, text: &[u8], rng: &mut ChaCha12Rng) -> Vec<u8> {
    bound(chain, hop, &chain.binding(hop), text, rng)
}

fn bound(chain: &Chain, hop: u8, binding: &Binding, text: &[u8], rng: &mut ChaCha12Rng) -> Vec<u8> {
    Layer::new(&chain.secret(hop).public(), binding).unwrap().seal(text, rng).unwrap()
}

fn flip(mut sealed: Vec<u8>, bit: usize) -> Vec<u8> {
    sealed[bit / 8] ^= 1 << (bit % 8);
    sealed
}

/// A layer that anybody can make: its shared secret is zero because `enc` is of small order. RFC
/// 9180 has it refused; who forgets that opens it.
fn forged(chain: &Chain, hop: u8, enc: [u8; 32], text: &[u8]) -> Vec<u8> {
    let extract = |salt: &[u8], parts: &[&[u8]]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, salt);
        hmac::sign(&key, &[b"HPKE-v1", &parts.concat()[..]].concat())
    };
    let expand = |prk: &hmac::Tag, len: u8, parts: &[&[u8]]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, prk.as_ref());
        hmac::sign(&key, &[&[0, len], &b"HPKE-v1"[..], &parts.concat(), &[1]].concat())
    };
    let (kem, suite) = (b"KEM\0\x20", b"HPKE\0\x20\0\x01\0\x01");
    let public = chain.secret(hop).public();
    let prk = extract(&[], &[kem, b"eae_prk", &[0; 32]]);
    let shared = expand(&prk, 32, &[kem, b"shared_secret", &enc, public.as_bytes()]);
    let psk_id_hash = extract(&[], &[suite, b"psk_id_hash"]);
    let info_hash = extract(&[], &[suite, b"info_hash", &chain.binding(hop).info()]);
    let context = [&[0], psk_id_hash.as_ref(), info_hash.as_ref()].concat();
    let secret = extract(shared.as_ref(), &[suite, b"secret"]);
    let key = expand(&secret, 16, &[suite, b"key", &context]);
    let nonce = expand(&secret, 12, &[suite, b"base_nonce", &context]);

    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key.as_ref()[..16]).unwrap());
    let nonce = Nonce::try_assume_unique_for_key(&nonce.as_ref()[..12]).unwrap();
    let mut sealed = text.to_vec();
    key.seal_in_place_append_tag(nonce, Aad::empty(), &mut sealed).unwrap();
    [&enc[..], &sealed].concat()
}

fn read() -> Value {
    serde_json::from_str(&fs::read_to_string(FILE).unwrap()).unwrap()
}

fn parse(envelope: &Value) -> Chain {
    let number = |name: &str| envelope[name].as_u64().unwrap();
    let secrets = envelope["secrets"].as_array().unwrap().iter();
    Chain {
        shape: Shape {
            mixes: number("mixes") as u8,
            messages: number("messages_per_report") as u32,
            payload: number("payload") as u32,
        },
        collection: envelope["collection"].as_str().unwrap().parse().unwrap(),
        epoch: number("epoch"),
        window: number("window"),
        secrets: secrets
            .map(|secret| LayerSecret::from_bytes(&bytes(secret).try_into().unwrap()))
            .collect(),
    }
}

fn bytes(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

type Fault = fn(&Chain, u8, &[u8], &mut ChaCha12Rng) -> Vec<u8>;

const FAULTS: [(&str, Fault); 14] = [
    ("first bit of enc", |chain, hop, text, rng| flip(layer(chain, hop, text, rng), 0)),
    ("top bit of enc", |chain, hop, text, rng| flip(layer(chain, hop, text, rng), 255)),
    ("first bit of the ciphertext", |chain, hop, text, rng| {
        flip(layer(chain, hop, text, rng), 256)
    }),
    ("first bit of the tag", |chain, hop, text, rng| {
        flip(layer(chain, hop, text, rng), 256 + 8 * text.len())
    }),
    ("last bit of the tag", |chain, hop, text, rng| {
        flip(layer(chain, hop, text, rng), 383 + 8 * text.len())
    }),
    ("enc of another layer", |chain, hop, text, rng| {
        let other = layer(chain, hop, text, rng);
        [&other[..32], &layer(chain, hop, text, rng)[32..]].concat()
    }),
    ("another key", |chain, hop, text, rng| {
        let key = LayerSecret::generate(rng).public();
        Layer::new(&key, &chain.binding(hop)).unwrap().seal(text, rng).unwrap()
    }),
    ("another collection", |chain, hop, text, rng| {
        let mut id = *chain.collection.as_bytes();
        id[31] ^= 1;
        let binding = Binding { collection: CollectionId::new(id), ..chain.binding(hop) };
        bound(chain, hop, &binding, text, rng)
    }),
    ("the epoch after", |chain, hop, text, rng| {
        let binding = chain.binding(hop);
        bound(chain, hop, &Binding { epoch: binding.epoch + 1, ..binding }, text, rng)
    }),
    ("epoch and window confused", |chain, hop, text, rng| {
        let epoch = if hop == 1 { chain.window } else { chain.epoch };
        bound(chain, hop, &Binding { epoch, ..chain.binding(hop) }, text, rng)
    }),
    ("the hop after", |chain, hop, text, rng| {
        bound(chain, hop, &Binding { hop: hop + 1, ..chain.binding(hop) }, text, rng)
    }),
    ("the other role", |chain, hop, text, rng| {
        let binding = chain.binding(hop);
        bound(chain, hop, &Binding { analyzer: !binding.analyzer, ..binding }, text, rng)
    }),
    ("enc of order 4, shared secret zero", |chain, hop, text, _| {
        let mut one = [0; 32];
        one[0] = 1;
        forged(chain, hop, one, text)
    }),
    ("enc zero, shared secret zero", |chain, hop, text, _| forged(chain, hop, [0; 32], text)),
];

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/envelope.json");

const ABOUT: &str = "Reports from the client to the analyzer. Each envelope has the X25519 secrets \
    of all hops in order, the analyzer's last, and a report that opens to its messages. In each \
    case the report has one thing wrong, in its outer layer or in its first onion; `step` is the \
    first one that must fail: length (before anything is opened), open hop i, open analyzer.";
