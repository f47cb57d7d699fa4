//! `vectors/batch.json`, `receipt.json`, `directory.json` and `bulletin.json`, which the programs
//! beside them make: what parties sign comes out the same, and what must be refused is refused.

mod batch;
mod bulletin;
mod directory;
mod receipt;

use serde_json::Value;
use std::fs;
use throng_wire::{Identity, unhex};

/// A file of vectors.
fn read(file: &str) -> Value {
    let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The one who signs, whose public half the file has too.
fn identity(party: &Value) -> Identity {
    let identity = Identity::from_seed(&array(&party["identity_seed"]));
    assert_eq!(identity.public().to_string(), party["identity"]);
    identity
}

/// Every case of `list` fails where it says. Returns how many there are.
fn assert_refused<T>(
    list: &Value,
    field: &str,
    check: impl Fn(&[u8]) -> Result<T, String>,
) -> usize {
    let cases = list.as_array().unwrap();
    for case in cases {
        let step = check(&bytes(&case[field])).err();
        assert_eq!(step.as_deref(), case["step"].as_str(), "{}", case["name"]);
    }
    cases.len()
}

fn bytes(value: &Value) -> Vec<u8> {
    unhex(value.as_str().unwrap()).unwrap()
}

fn array(value: &Value) -> [u8; 32] {
    bytes(value).try_into().unwrap()
}
