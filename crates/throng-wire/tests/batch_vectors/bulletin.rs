//! Bulletins of a board.

use crate::{assert_refused, bytes, identity, read};
use throng_wire::{
    Bag, Bulletin, CollectionId, Error, Identity, Notice, PublicIdentity, SignedNotice, hex,
};

#[test]
fn bulletins_are_taken_or_refused_as_the_file_says() {
    let file = read("bulletin.json");
    let parties = file["parties"].as_array().unwrap();
    let identities: Vec<Identity> = parties.iter().map(identity).collect();
    let public: Vec<PublicIdentity> = identities.iter().map(Identity::public).collect();
    let posted: Vec<Vec<u8>> = file["posted"].as_array().unwrap().iter().map(bytes).collect();

    let collection = file["collection"].as_str().unwrap().parse().unwrap();
    let (round, reports) = (file["round"].as_u64().unwrap(), file["reports"].as_u64().unwrap());
    let bag = Bag::new(posted[0].len(), &posted.concat()).unwrap();
    let notice = Notice::of(collection, round, reports, &bag);
    assert_eq!(hex(&notice.encode()), file["notice"]);
    let signatures = identities.iter().map(|party| notice.cosign(party)).collect();
    let head = SignedNotice { notice, signatures }.encode();
    assert_eq!(hex(&[&head[..], bag.as_bytes()].concat()), file["bulletin"]);

    let take = |bytes: &[u8]| take(bytes, &collection, round, &public);
    let bulletin = take(&bytes(&file["bulletin"])).unwrap();
    assert_eq!(
        (bulletin.bag(), hex(&bulletin.digest())),
        (&bag, file["digest"].as_str().unwrap().into())
    );
    assert!(bulletin.holds(posted.iter().map(Vec::as_slice)));
    let cases = assert_refused(&file["cases"], "bulletin", take);
    assert!(cases > 55, "{cases}");
}

/// The bulletin, if a participant takes it, or the step that fails.
fn take(
    bytes: &[u8],
    collection: &CollectionId,
    round: u64,
    parties: &[PublicIdentity],
) -> Result<Bulletin, String> {
    Bulletin::decode(bytes, collection, round, parties).map_err(|error| match error {
        Error::Foreign { scope, .. } => scope.into(),
        Error::Signature { party, .. } => party.replace("the party at", "signature"),
        Error::Malformed { expected: "whole messages" | "messages in the order of a bag" } => {
            "order".into()
        }
        Error::Malformed { expected: "the bag that was signed" } => "bag".into(),
        Error::Malformed { .. } => "decode".into(),
        error => panic!("{error}"),
    })
}
