//! `vectors/batch.json`, `receipt.json` and `directory.json`: what parties sign for each other, and what
//! they must refuse. Made here from fixed seeds, and read back as another program would.

mod batch;
mod directory;
mod receipt;

use serde_json::{Value, json};
use std::{env, fs};
use throng_wire::{Identity, hex, unhex};

/// What is wrong, the step that must notice, and the bytes.
type Case = (String, String, Vec<u8>);

/// One of those who sign, by number.
fn identity(number: u8) -> Identity {
    Identity::from_seed(&[number; 32])
}

fn case(name: impl Into<String>, step: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Case {
    (name.into(), step.into(), bytes.into())
}

/// Signatures that are not those of `signer` for this label and body.
fn bad_signatures(
    label: &str,
    body: &[u8],
    signer: &Identity,
    other_body: &[u8],
) -> Vec<(&'static str, [u8; 64])> {
    let good = signer.sign(label, body);
    let other_label = if label == "throng/1 key" { "throng/1 receipt" } else { "throng/1 key" };
    vec![
        ("signed by somebody else", identity(99).sign(label, body)),
        ("signed as something else", signer.sign(other_label, body)),
        ("signed without a label", signer.sign("", body)),
        ("with the signature of another", signer.sign(label, other_body)),
        ("with a bit of R altered", altered(&good, 0)),
        ("with a bit of S altered", altered(&good, 32)),
        ("with S above the order of the group", above_order(&good)),
        ("with a signature of zeros", [0; 64]),
        ("with R and S of the neutral element", neutral()),
    ]
}

/// The same bytes with a bit of the one at this place altered.
fn altered<const N: usize>(bytes: &[u8; N], at: usize) -> [u8; N] {
    let mut bytes = *bytes;
    bytes[at] ^= 1;
    bytes
}

/// The same bytes with others at this place.
fn with(bytes: &[u8], at: usize, others: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + others.len()].copy_from_slice(others);
    bytes
}

/// S + L for S, little-endian: the same equation, but not the one signature.
fn above_order(signature: &[u8; 64]) -> [u8; 64] {
    let (mut signature, mut carry) = (*signature, 0);
    for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
    signature
}

fn neutral() -> [u8; 64] {
    let mut signature = [0; 64];
    signature[0] = 1;
    signature
}

fn as_json(field: &str, cases: &[Case]) -> Value {
    let shown =
        |(name, step, bytes): &Case| json!({ "name": name, "step": step, field: hex(bytes) });
    cases.iter().map(shown).collect()
}

/// Compares with the file. With `THRONG_WRITE_VECTORS` set, writes it first.
fn assert_stored(file: &str, made: &Value) {
    let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("THRONG_WRITE_VECTORS").is_some() {
        fs::write(&path, serde_json::to_string_pretty(made).unwrap() + "\n").unwrap();
    }
    let stored: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert!(stored == *made, "{file} differs from what is made");
}

/// Every case of `list` fails where it says.
fn assert_refused<T>(list: &Value, field: &str, check: impl Fn(&[u8]) -> Result<T, String>) {
    for case in list.as_array().unwrap() {
        let step = check(&bytes(&case[field])).err();
        assert_eq!(step.as_deref(), case["step"].as_str(), "{}", case["name"]);
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    unhex(value.as_str().unwrap()).unwrap()
}

/// 2²⁵² + 27742317777372353535851937790883648493.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];
