//! Directories of a window's keys, and the statements they are made of.

use crate::{array, assert_refused, bytes, identity, read};
use serde_json::Value;
use throng_wire::{
    CollectionId, Directory, Error, Identity, KeyStatement, LayerPublic, LayerSecret,
    PublicIdentity, SignedDirectory, hex,
};

#[test]
fn directories_and_statements_are_taken_or_refused_as_the_file_says() {
    let file = read("directory.json");
    let parties = file["parties"].as_array().unwrap();
    let identities: Vec<Identity> = parties.iter().map(identity).collect();
    let public: Vec<PublicIdentity> = identities.iter().map(Identity::public).collect();
    let keys: Vec<LayerPublic> = parties.iter().map(layer_key).collect();

    let collection = file["collection"].as_str().unwrap().parse().unwrap();
    let directory = Directory { collection, window: file["window"].as_u64().unwrap(), keys };
    let signatures = identities.iter().map(|party| directory.cosign(party)).collect();
    let signed = SignedDirectory::new(directory.clone(), signatures);
    assert_eq!(hex(&signed.encode()), file["directory"]);

    let Directory { window, keys, .. } = directory;
    let take = |bytes: &[u8]| take(bytes, &collection, window, &public);
    assert_eq!(take(&bytes(&file["directory"])).unwrap().keys, keys);
    let mut cases = assert_refused(&file["cases"], "directory", take);
    for (index, statement) in file["statements"].as_array().unwrap().iter().enumerate() {
        let hop = index as u8 + 1;
        let stated = KeyStatement::sign(collection, window, hop, keys[index], &identities[index]);
        assert_eq!(hex(&stated.encode()), statement["statement"]);
        let check = |bytes: &[u8]| key(bytes, &collection, window, hop, &public[index]);
        assert_eq!(check(&bytes(&statement["statement"])), Ok(keys[index]));
        cases += assert_refused(&statement["cases"], "statement", check);
    }
    assert!(cases > 120, "{cases}");
}

/// The key of a party's secret, which the file has too.
fn layer_key(party: &Value) -> LayerPublic {
    let key = LayerSecret::from_bytes(&array(&party["secret"])).public();
    assert_eq!(hex(&key.0), party["key"]);
    key
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
