//! Batches: a manifest, its signature, and records.

use crate::{
    Case, as_json, assert_refused, assert_stored, bad_signatures, bytes, case, identity, with,
};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use throng_wire::{
    BatchId, CollectionId, Identity, Loss, Manifest, PublicIdentity, RecordDigest, SignedManifest,
    hex,
};

#[test]
fn batches_are_received_or_refused_as_the_file_says() {
    let batches: Value = [made(1, 1, 5, 49), made(2, 2, 11, 97)].into_iter().collect();
    assert_stored("batch.json", &json!({ "about": ABOUT, "batches": batches }));
    for batch in batches.as_array().unwrap() {
        let mix = batch["identity"].as_str().unwrap().parse().unwrap();
        let received = receive(&bytes(&batch["batch"]), &mix).unwrap();
        assert_eq!(received.to_string(), batch["id"]);
        assert_refused(&batch["cases"], "batch", |bytes| receive(bytes, &mix));
    }
}

/// What a receiver does, and the step that fails.
fn receive(batch: &[u8], mix: &PublicIdentity) -> Result<BatchId, String> {
    let length = SignedManifest::length(batch).ok_or("decode")?;
    let (head, records) = batch.split_at_checked(length).ok_or("decode")?;
    let signed = SignedManifest::decode(head).map_err(|_| "decode")?;
    let manifest = signed.verify(mix).map_err(|_| "signature")?;
    let mut digest = RecordDigest::default();
    records.chunks(7).for_each(|part| digest.update(part));
    let count = Some(digest.bytes()) == manifest.bytes();
    digest.matches(manifest).map_err(|_| if count { "digest" } else { "count" })?;
    Ok(manifest.id())
}

/// A batch of three records that a mix made, and what must be refused in its place.
fn made(seed: u64, hop: u8, last: u64, record_bytes: u32) -> Value {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let mut random = || {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        bytes
    };
    let (collection, source) = (random(), if hop == 1 { [0; 32] } else { random() });
    let mut records = vec![0; 3 * record_bytes as usize];
    rng.fill_bytes(&mut records);
    let mut digest = RecordDigest::default();
    digest.update(&records);
    let losses = (0..u64::from(hop)).map(|i| Loss { replayed: 3 + i, malformed: 2 * i });
    let manifest = Manifest {
        collection: CollectionId::new(collection),
        first: if hop == 1 { last } else { last - 2 },
        last,
        record_bytes,
        records: 3,
        losses: losses.collect(),
        source,
        digest: digest.finish(),
    };
    let mix = identity(hop);
    let signed = SignedManifest::sign(manifest.clone(), &mix);
    let cases = cases(&signed, &records, &mix);
    json!({
        "identity_seed": hex(&[hop; 32]),
        "identity": mix.public().to_string(),
        "collection": manifest.collection.to_string(),
        "first": manifest.first,
        "last": manifest.last,
        "hop": hop,
        "record_bytes": record_bytes,
        "records": manifest.records,
        "losses": manifest.losses.iter().map(|l| [l.replayed, l.malformed]).collect::<Vec<_>>(),
        "source": hex(&source),
        "digest": hex(&manifest.digest),
        "id": manifest.id().to_string(),
        "batch": hex(&[signed.encode(), records].concat()),
        "cases": as_json("batch", &cases),
    })
}

fn cases(signed: &SignedManifest, records: &[u8], mix: &Identity) -> Vec<Case> {
    let encoded = signed.encode();
    let (body, signature) = encoded.split_last_chunk::<64>().unwrap();
    let whole = |body: &[u8], signature: &[u8; 64]| [body, signature, records].concat();
    let resigned = |body: &[u8]| whole(body, &mix.sign(LABEL, body));

    let mut cases = malformed(body, &encoded, &resigned);
    let bit = |at: usize| whole(&with(body, at, &[body[at] ^ 1]), signature);
    for (name, at) in fields(signed.unverified().hop()) {
        cases.push(case(format!("{name} altered"), "signature", bit(at)));
    }
    // Read with the wrong number of losses, the signature is not where it was.
    let hop = body[HOP];
    let fewer = [&with(body, HOP, &[hop - 1])[..LOSSES], &body[LOSSES + 16..]].concat();
    let step = if hop == 1 { "decode" } else { "signature" };
    cases.push(case("a loss and the hop taken away", step, whole(&fewer, signature)));
    let more = resigned(&with(body, HOP, &[hop + 1]));
    cases.push(case("the hop raised without a loss, signed", "signature", more));
    for (name, bad) in bad_signatures(LABEL, body, mix, &with(body, FIRST + 7, &[0])) {
        cases.push(case(name, "signature", whole(body, &bad)));
    }
    cases.extend(other_records(&encoded, records, signed.unverified().record_bytes as usize));
    cases.push(case("a record fewer in the manifest", "count", resigned(&count(body, 2))));
    cases.push(case("a record more in the manifest", "count", resigned(&count(body, 4))));
    let shorter = signed.unverified().record_bytes - 1;
    let shorter = resigned(&with(body, RECORD_BYTES, &shorter.to_be_bytes()));
    cases.push(case("shorter records in the manifest", "count", shorter));
    let digest = body.len() - 1;
    let digest = resigned(&with(body, digest, &[body[digest] ^ 1]));
    cases.push(case("another digest in the manifest", "digest", digest));
    cases
}

/// Manifests that nobody may write, signed all the same.
fn malformed(body: &[u8], encoded: &[u8], resigned: &dyn Fn(&[u8]) -> Vec<u8>) -> Vec<Case> {
    let mut cases: Vec<_> = [
        ("nothing", 0),
        ("cut after the version", 1),
        ("cut before the hop", HOP),
        ("cut after the hop", HOP + 1),
        ("cut in the losses", LOSSES + 5),
        ("cut before the signature", body.len()),
        ("cut in the signature", encoded.len() - 1),
    ]
    .map(|(name, length)| case(name, "decode", &encoded[..length]))
    .into();
    let no_loss = [&with(body, HOP, &[0])[..LOSSES], &body[body.len() - 64..]].concat();
    let after = u64::from_be_bytes(body[LAST..LAST + 8].try_into().unwrap()) + 1;
    for (name, body) in [
        ("version 0", with(body, 0, &[0])),
        ("version 2", with(body, 0, &[2])),
        ("hop 0 without losses", no_loss),
        ("a first epoch after the last", with(body, FIRST, &after.to_be_bytes())),
        ("records of no bytes", with(body, RECORD_BYTES, &[0; 4])),
        ("more records than 64 bits can count the bytes of", count(body, u64::MAX)),
    ] {
        cases.push(case(format!("{name}, signed"), "decode", resigned(&body)));
    }
    cases
}

/// Other records after the same manifest.
fn other_records(encoded: &[u8], records: &[u8], each: usize) -> Vec<Case> {
    let [one, two, three] = [0, 1, 2].map(|i| &records[i * each..][..each]);
    let mut first_bit = records.to_vec();
    first_bit[0] ^= 1;
    let mut last_bit = records.to_vec();
    last_bit[3 * each - 1] ^= 0x80;
    [
        ("no records", "count", Vec::new()),
        ("a record too few", "count", [one, two].concat()),
        ("a record too many", "count", [one, two, three, one].concat()),
        ("a byte too few", "count", records[..3 * each - 1].to_vec()),
        ("a byte too many", "count", [records, &[0]].concat()),
        ("records in another order", "digest", [two, one, three].concat()),
        ("a record in place of another", "digest", [one, two, one].concat()),
        ("the first bit altered", "digest", first_bit),
        ("the last bit altered", "digest", last_bit),
    ]
    .map(|(name, step, records)| case(name, step, [encoded, &records].concat()))
    .into()
}

/// The last byte of every field but the version and the hop.
fn fields(hop: u8) -> Vec<(String, usize)> {
    let mut fields: Vec<_> = [
        ("the collection", FIRST),
        ("the first epoch", LAST),
        ("the bytes of a record", RECORDS),
        ("the number of records", LOSSES),
    ]
    .map(|(name, end)| (name.into(), end - 1))
    .into();
    // A bit of higher value: the last epoch must not fall below the first.
    fields.push(("the last epoch".into(), LAST + 3));
    let end = LOSSES + 16 * usize::from(hop);
    for (mix, at) in (1..=hop).zip((LOSSES..).step_by(16)) {
        fields.push((format!("the replays of mix {mix}"), at + 7));
        fields.push((format!("what was malformed at mix {mix}"), at + 15));
    }
    fields.extend([("the source".into(), end + 31), ("the digest".into(), end + 63)]);
    fields
}

fn count(body: &[u8], records: u64) -> Vec<u8> {
    with(body, RECORDS, &records.to_be_bytes())
}

const LABEL: &str = "throng/1 manifest";
const ABOUT: &str = "Batches as they go from a mix to the next party. Each has the mix's Ed25519 seed and \
    public identity, the fields of the manifest, its hash, and the whole batch. In each case one thing \
    is wrong; `step` is the first one that must fail: decode (the manifest is not one), signature \
    (strict Ed25519 by this mix), count (bytes of records), digest.";

/// Where fields of a manifest begin.
const FIRST: usize = 33;
const LAST: usize = 41;
const HOP: usize = 49;
const RECORD_BYTES: usize = 50;
const RECORDS: usize = 54;
const LOSSES: usize = 62;
