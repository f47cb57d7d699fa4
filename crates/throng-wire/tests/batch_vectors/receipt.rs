//! Receipts: a party's word for one batch at one hop.

use crate::{
    Case, as_json, assert_refused, assert_stored, bad_signatures, bytes, case, identity, with,
};
use serde_json::{Value, json};
use throng_wire::{BatchId, Error, PublicIdentity, Receipt, hex};

#[test]
fn receipts_are_taken_or_refused_as_the_file_says() {
    let receipts: Value = [made(2, 0x5a), made(3, 0xc3)].into_iter().collect();
    assert_stored("receipt.json", &json!({ "about": ABOUT, "receipts": receipts }));
    for receipt in receipts.as_array().unwrap() {
        let party = receipt["identity"].as_str().unwrap().parse().unwrap();
        let batch = BatchId(bytes(&receipt["batch"]).try_into().unwrap());
        let hop = receipt["hop"].as_u64().unwrap() as u8;
        let take = |bytes: &[u8]| take(bytes, &batch, hop, &party);
        assert_eq!(hex(&take(&bytes(&receipt["receipt"])).unwrap().hash()), receipt["hash"]);
        assert_refused(&receipt["cases"], "receipt", take);
    }
}

/// What a sender does, and the step that fails.
fn take(bytes: &[u8], batch: &BatchId, hop: u8, party: &PublicIdentity) -> Result<Receipt, String> {
    let receipt = Receipt::decode(bytes).map_err(|_| "decode")?;
    match receipt.verify(batch, hop, party) {
        Ok(()) => Ok(receipt),
        Err(Error::Foreign { scope, .. }) => Err(scope.into()),
        Err(_) => Err("signature".into()),
    }
}

/// The receipt of the party at a hop, and what must be refused in its place.
fn made(hop: u8, byte: u8) -> Value {
    let (party, batch) = (identity(hop), BatchId([byte; 32]));
    let receipt = Receipt::sign(batch, hop, &party);
    json!({
        "identity_seed": hex(&[hop; 32]),
        "identity": party.public().to_string(),
        "batch": batch.to_string(),
        "hop": hop,
        "receipt": hex(&receipt.encode()),
        "hash": hex(&receipt.hash()),
        "cases": as_json("receipt", &cases(&receipt, hop)),
    })
}

fn cases(receipt: &Receipt, hop: u8) -> Vec<Case> {
    let party = identity(hop);
    let encoded = receipt.encode();
    let (body, signature) = encoded.split_last_chunk::<64>().unwrap();
    let signed = |body: &[u8]| [body, &party.sign(LABEL, body)].concat();
    let mut other = receipt.batch;
    other.0[31] ^= 1;
    let other_batch = Receipt::sign(other, hop, &party).encode();
    let other_hop = Receipt::sign(receipt.batch, hop + 1, &party).encode();
    let next_hop = Receipt::sign(receipt.batch, hop + 1, &identity(hop + 1)).encode();
    let mut cases = vec![
        case("nothing", "decode", []),
        case("cut before the signature", "decode", body),
        case("cut by a byte", "decode", &encoded[..encoded.len() - 1]),
        case("a byte longer", "decode", [&encoded[..], &[0]].concat()),
        case("twice", "decode", encoded.repeat(2)),
        case("version 0, signed", "decode", signed(&with(body, 0, &[0]))),
        case("version 2, signed", "decode", signed(&with(body, 0, &[2]))),
        case("the batch altered", "batch", [&other_batch[..34], signature].concat()),
        case("for another batch, signed", "batch", other_batch),
        case("the hop altered", "hop", [&other_hop[..34], signature].concat()),
        case("for another hop, signed", "hop", other_hop),
        case("of the party at the next hop", "hop", next_hop),
    ];
    let other_body = with(body, 1, &[0]);
    for (name, bad) in bad_signatures(LABEL, body, &party, &other_body) {
        cases.push(case(name, "signature", [body, &bad].concat()));
    }
    cases
}

const LABEL: &str = "throng/1 receipt";
const ABOUT: &str = "Receipts for batches. Each has the receiver's Ed25519 seed and public identity, the \
    batch and the hop that the sender expects, the receipt and its hash. In each case one thing is \
    wrong; `step` is the first one that must fail: decode, batch (it is for another one), hop (it is \
    of another one), signature (strict Ed25519 by this party).";
