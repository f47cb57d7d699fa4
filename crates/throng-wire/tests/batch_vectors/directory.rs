//! Directories of a window's keys, and the statements they are made of.

use crate::{
    Case, as_json, assert_refused, assert_stored, bad_signatures, bytes, case, identity, with,
};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use throng_wire::{
    CollectionId, Directory, Error, KeyStatement, LayerPublic, LayerSecret, PublicIdentity,
    SignedDirectory, hex,
};

#[test]
fn directories_and_statements_are_taken_or_refused_as_the_file_says() {
    let made = made();
    assert_stored("directory.json", &made);
    let collection = made["collection"].as_str().unwrap().parse().unwrap();
    let window = made["window"].as_u64().unwrap();
    let parties = made["parties"].as_array().unwrap();
    let public: Vec<PublicIdentity> =
        parties.iter().map(|party| party["identity"].as_str().unwrap().parse().unwrap()).collect();
    let keys: Vec<_> = parties.iter().map(|party| bytes(&party["key"])).collect();

    let take = |bytes: &[u8]| take(bytes, &collection, window, &public);
    let taken = take(&bytes(&made["directory"])).unwrap();
    assert!(taken.keys.iter().map(|key| key.as_bytes().to_vec()).eq(keys.clone()));
    assert_refused(&made["cases"], "directory", take);
    for (index, statement) in made["statements"].as_array().unwrap().iter().enumerate() {
        let check = |bytes: &[u8]| key(bytes, &collection, window, index as u8 + 1, &public[index]);
        let key = check(&bytes(&statement["statement"])).unwrap();
        assert_eq!(key.as_bytes().to_vec(), keys[index]);
        assert_refused(&statement["cases"], "statement", check);
    }
}

/// What a client does with a directory, and the step that fails.
fn take(
    bytes: &[u8],
    collection: &CollectionId,
    window: u64,
    parties: &[PublicIdentity],
) -> Result<Directory, String> {
    let signed = SignedDirectory::decode(bytes).map_err(|_| "decode")?;
    signed.verify(collection, window, parties).cloned().map_err(step)
}

/// What a party does with another's statement, and the step that fails.
fn key(
    bytes: &[u8],
    collection: &CollectionId,
    window: u64,
    hop: u8,
    party: &PublicIdentity,
) -> Result<LayerPublic, String> {
    let statement = KeyStatement::decode(bytes).map_err(|_| "decode")?;
    statement.verify(collection, window, hop, party).map_err(step)
}

fn step(error: Error) -> String {
    match error {
        Error::Foreign { scope, .. } => scope.into(),
        Error::Signature { party, .. } => party.replace("the party at", "signature"),
        error => panic!("{error}"),
    }
}

fn made() -> Value {
    let mut rng = ChaCha12Rng::seed_from_u64(40);
    let mut id = [0; 32];
    rng.fill_bytes(&mut id);
    let secrets: Vec<_> = (0..HOPS).map(|_| LayerSecret::generate(&mut rng)).collect();
    let keys: Vec<_> = secrets.iter().map(LayerSecret::public).collect();
    let directory = Directory { collection: CollectionId::new(id), window: 4, keys: keys.clone() };
    let parties: Value = (1..).zip(&secrets).map(|(hop, secret)| party(hop, secret)).collect();
    let statements: Value =
        (1..).zip(&keys).map(|(hop, key)| statement(&directory, hop, *key)).collect();
    let cases: Vec<_> = lists(&directory)
        .into_iter()
        .chain(others(&directory))
        .chain(targeted(&directory))
        .collect();
    json!({
        "about": ABOUT,
        "collection": directory.collection.to_string(),
        "window": directory.window,
        "parties": parties,
        "directory": hex(&signed_by_all(&directory)),
        "cases": as_json("directory", &cases),
        "statements": statements,
    })
}

fn party(hop: u8, secret: &LayerSecret) -> Value {
    json!({
        "identity_seed": hex(&[hop; 32]),
        "identity": identity(hop).public().to_string(),
        "secret": hex(secret.as_bytes()),
        "key": hex(secret.public().as_bytes()),
    })
}

/// Lists that are not of three keys and three signatures.
fn lists(directory: &Directory) -> Vec<Case> {
    let whole = signed_by_all(directory);
    let of = |hops: &[u8]| {
        let mut keys = directory.keys.clone();
        keys.push(LayerPublic::new([7; 32]));
        keys.truncate(hops.len());
        let directory = Directory { keys, ..directory.clone() };
        signed(&directory, |hop| directory.cosign(&identity(hop)))
    };
    vec![
        case("nothing", "decode", []),
        case("cut in the keys", "decode", &whole[..COUNT + 40]),
        case("without signatures", "decode", &whole[..COUNT + 1 + 3 * 32]),
        case("a signature missing", "decode", &whole[..whole.len() - 64]),
        case("cut by a byte", "decode", &whole[..whole.len() - 1]),
        case("a byte longer", "decode", [&whole[..], &[0]].concat()),
        case("a signature too many", "decode", [&whole[..], &whole[whole.len() - 64..]].concat()),
        case("a count of 0 before three keys", "decode", with(&whole, COUNT, &[0])),
        case("a count of 2 before three keys", "decode", with(&whole, COUNT, &[2])),
        case("a count of 255 before three keys", "decode", with(&whole, COUNT, &[255])),
        case("no keys", "chain", of(&[])),
        case("without the last party", "chain", of(&[1, 2])),
        case("with one more party", "chain", of(&[1, 2, 3, 4])),
    ]
}

/// Lists for something else, or without everyone's word.
fn others(directory: &Directory) -> Vec<Case> {
    let elsewhere = CollectionId::new([8; 32]);
    let elsewhere = Directory { collection: elsewhere, ..directory.clone() };
    let later = Directory { window: directory.window + 1, ..directory.clone() };
    let place = |order: [u8; 3]| {
        signed(directory, |hop| directory.cosign(&identity(order[usize::from(hop) - 1])))
    };
    let mut cases = vec![
        case("for another collection, signed by all", "collection", signed_by_all(&elsewhere)),
        case("for another window, signed by all", "window", signed_by_all(&later)),
        case(
            "with the signatures of another window",
            "signature hop 1",
            signed(directory, |hop| later.cosign(&identity(hop))),
        ),
        case("signatures 1 and 2 swapped", "signature hop 1", place([2, 1, 3])),
        case("signatures 2 and 3 swapped", "signature hop 2", place([1, 3, 2])),
        case("one signature three times", "signature hop 2", place([1, 1, 1])),
    ];
    let body = body(directory);
    for at in 1..=HOPS {
        for (name, bad) in bad_signatures(LABEL, &body, &identity(at), &self::body(&later)) {
            let bytes = signed(directory, |hop| match hop {
                hop if hop == at => bad,
                hop => directory.cosign(&identity(hop)),
            });
            cases.push(case(format!("{name} at hop {at}"), format!("signature hop {at}"), bytes));
        }
    }
    cases
}

/// Keys for one person alone: some of the parties go along, but not all.
fn targeted(directory: &Directory) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in 1..=HOPS {
        let mut other = directory.clone();
        other.keys[usize::from(at) - 1] = LayerSecret::from_bytes(&[at; 32]).public();
        let with = |agrees: &dyn Fn(u8) -> bool| {
            signed(&other, |hop| {
                let list = if agrees(hop) { &other } else { directory };
                list.cosign(&identity(hop))
            })
        };
        let name = format!("another key at hop {at}");
        cases.push(case(format!("{name}, signed by nobody"), "signature hop 1", with(&|_| false)));
        for one in 1..=HOPS {
            let step = if one == 1 { "signature hop 2" } else { "signature hop 1" };
            let only = format!("{name}, signed only by the party at hop {one}");
            cases.push(case(only, step, with(&|hop| hop == one)));
            let but = format!("{name}, signed by all but the party at hop {one}");
            cases.push(case(but, format!("signature hop {one}"), with(&|hop| hop != one)));
        }
    }
    let mut swapped = directory.clone();
    swapped.keys.swap(0, 1);
    let bytes = signed(&swapped, |hop| directory.cosign(&identity(hop)));
    cases.push(case("keys 1 and 2 swapped", "signature hop 1", bytes));
    cases
}

/// A party's statement of its key, and what must be refused in its place.
fn statement(directory: &Directory, hop: u8, key: LayerPublic) -> Value {
    let Directory { collection, window, .. } = *directory;
    let party = identity(hop);
    let sign = |collection, window, hop, key| {
        KeyStatement::sign(collection, window, hop, key, &party).encode()
    };
    let encoded = sign(collection, window, hop, key);
    let (body, signature) = encoded.split_last_chunk::<64>().unwrap();
    let other_key = sign(collection, window, hop, LayerPublic::new([7; 32]));
    let unsigned = |encoded: &[u8]| [&encoded[..body.len()], signature].concat();
    let elsewhere = sign(CollectionId::new([8; 32]), window, hop, key);
    let later = sign(collection, window + 1, hop, key);
    let other_hop = sign(collection, window, hop % HOPS + 1, key);
    let mut cases = vec![
        case("nothing", "decode", []),
        case("cut before the signature", "decode", body),
        case("cut by a byte", "decode", &encoded[..encoded.len() - 1]),
        case("a byte longer", "decode", [&encoded[..], &[0]].concat()),
        case("the collection altered", "collection", unsigned(&elsewhere)),
        case("for another collection, signed", "collection", elsewhere),
        case("the window altered", "window", unsigned(&later)),
        case("for another window, signed", "window", later),
        case("the hop altered", "hop", unsigned(&other_hop)),
        case("for another hop, signed", "hop", other_hop),
        case("the key altered", format!("signature hop {hop}"), unsigned(&other_key)),
    ];
    let other_body = &other_key[..body.len()];
    for (name, bad) in bad_signatures("throng/1 key", body, &party, other_body) {
        cases.push(case(name, format!("signature hop {hop}"), [body, &bad].concat()));
    }
    json!({
        "hop": hop,
        "statement": hex(&encoded),
        "cases": as_json("statement", &cases),
    })
}

fn signed_by_all(directory: &Directory) -> Vec<u8> {
    signed(directory, |hop| directory.cosign(&identity(hop)))
}

/// One signature for each key.
fn signed(directory: &Directory, signature: impl Fn(u8) -> [u8; 64]) -> Vec<u8> {
    let signatures = (1..=directory.keys.len() as u8).map(signature).collect();
    SignedDirectory::new(directory.clone(), signatures).encode()
}

fn body(directory: &Directory) -> Vec<u8> {
    SignedDirectory::new(directory.clone(), Vec::new()).encode()
}

const LABEL: &str = "throng/1 directory";
const ABOUT: &str = "The keys of one window of a collection with two mixes. Each party has its Ed25519 \
    seed and public identity, and its X25519 secret and key; the analyzer is the last. A directory \
    lists the keys, with a signature of every party; a statement is one party's word for its own key. In \
    each case one thing is wrong; `step` is the first one that must fail: decode, collection, window, \
    chain (not as many keys as parties), hop (of a statement), signature hop i (strict Ed25519 by the \
    party there; hops are checked in order).";

const HOPS: u8 = 3;
/// Where the number of keys is.
const COUNT: usize = 40;
