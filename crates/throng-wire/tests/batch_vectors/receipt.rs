//! Receipts: a party's word for one batch at one hop.

use crate::{array, assert_refused, bytes, identity, read};
use throng_wire::{BatchId, Error, PublicIdentity, Receipt, hex};

#[test]
fn receipts_are_taken_or_refused_as_the_file_says() {
    let mut cases = 0;
    for receipt in read("receipt.json")["receipts"].as_array().unwrap() {
        let (party, batch) = (identity(receipt), BatchId(array(&receipt["batch"])));
        let hop = receipt["hop"].as_u64().unwrap() as u8;
        let signed = Receipt::sign(batch, hop, &party);
        assert_eq!(hex(&signed.encode()), receipt["receipt"]);
        assert_eq!(hex(&signed.hash()), receipt["hash"]);

        let take = |bytes: &[u8]| take(bytes, &batch, hop, &party.public());
        assert_eq!(hex(&take(&bytes(&receipt["receipt"])).unwrap().hash()), receipt["hash"]);
        cases += assert_refused(&receipt["cases"], "receipt", take);
    }
    assert!(cases > 40, "{cases}");
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
