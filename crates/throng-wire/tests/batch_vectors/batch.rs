//! Batches: a manifest, its signature, and records.

use crate::{array, assert_refused, bytes, identity, read};
use serde_json::Value;
use throng_wire::{
    BatchId, CollectionId, Loss, Manifest, PublicIdentity, RecordDigest, SignedManifest,
};

#[test]
fn batches_are_received_or_refused_as_the_file_says() {
    let mut cases = 0;
    for batch in read("batch.json")["batches"].as_array().unwrap() {
        let (mix, whole) = (identity(batch), bytes(&batch["batch"]));
        let signed = SignedManifest::sign(manifest(batch), &mix);
        assert_eq!(u64::from(signed.unverified().hop()), batch["hop"]);
        assert_eq!(signed.encode(), whole[..SignedManifest::length(&whole).unwrap()]);

        let mix = mix.public();
        let received = receive(&whole, &mix).unwrap();
        assert_eq!(received.to_string(), batch["id"]);
        cases += assert_refused(&batch["cases"], "batch", |bytes| receive(bytes, &mix));
    }
    assert!(cases > 150, "{cases}");
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

/// The manifest that the fields of a vector describe.
fn manifest(batch: &Value) -> Manifest {
    let number = |name: &str| batch[name].as_u64().unwrap();
    let count = |loss: &Value, place: usize| loss[place].as_u64().unwrap();
    let losses = batch["losses"].as_array().unwrap().iter();
    Manifest {
        collection: CollectionId::new(array(&batch["collection"])),
        first: number("first"),
        last: number("last"),
        record_bytes: number("record_bytes") as u32,
        records: number("records"),
        losses: losses
            .map(|loss| Loss { replayed: count(loss, 0), malformed: count(loss, 1) })
            .collect(),
        source: array(&batch["source"]),
        digest: array(&batch["digest"]),
    }
}
