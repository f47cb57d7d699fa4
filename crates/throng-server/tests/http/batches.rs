//! Batches that are repeated, altered or contradicted.

use crate::world::{START, World, limits};
use reqwest::Response;
use throng_wire::{Identity, Loss, Manifest, Receipt, RecordDigest, SignedManifest};

/// A batch of the first mix: noise, which nobody looks at before it is taken.
fn batch(world: &World, first: u64, noise: u8, by: &Identity) -> (SignedManifest, Vec<u8>) {
    let len = world.collection.shape().record_bytes(2);
    let records = vec![noise; 25 * len];
    let mut digest = RecordDigest::default();
    digest.update(&records);
    let manifest = Manifest {
        collection: world.id,
        first,
        last: first,
        record_bytes: len as u32,
        records: 25,
        losses: vec![Loss::default()],
        source: [0; 32],
        digest: digest.finish(),
    };
    (SignedManifest::sign(manifest, by), records)
}

async fn put(world: &World, hop: usize, path: &str, body: Vec<u8>) -> Response {
    let url = world.at(hop, &format!("/batches/{path}"));
    world.http.put(url).body(body).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_batch_gets_the_same_receipt_and_another_one_is_an_alarm() {
    let world = World::new(limits()).await;
    world.seal(0).await;
    world.clock.set(NEARLY_OVER);
    let mix = &world.identities[0];
    let (manifest, records) = batch(&world, 0, 1, mix);
    let body = [manifest.encode(), records].concat();
    let answer = put(&world, 1, "2/0/0", body.clone()).await;
    assert_eq!(answer.status(), 200);
    let receipt = answer.bytes().await.unwrap();
    let read = Receipt::decode(&receipt).unwrap();
    read.verify(&manifest.unverified().id(), 2, &world.identities[1].public()).unwrap();
    let again = put(&world, 1, "2/0/0", body).await;
    assert_eq!((again.status().as_u16(), again.bytes().await.unwrap()), (200, receipt));

    let alarms = "throng_alarms_total{kind=\"conflict\"}";
    assert_eq!(world.metric(1, alarms).await, 0);
    let (other, records) = batch(&world, 0, 2, mix);
    let answer = put(&world, 1, "2/0/0", [other.encode(), records].concat()).await;
    assert_eq!(answer.status(), 409);
    assert_eq!(world.metric(1, alarms).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_the_batch_of_its_manifest_is_refused() {
    let world = World::new(limits()).await;
    world.seal(0).await;
    world.clock.set(NEARLY_OVER);
    let (manifest, records) = batch(&world, 0, 1, &world.identities[0]);
    let (head, mut altered) = (manifest.encode(), records.clone());
    altered[77] ^= 1;
    let (forged, _) = batch(&world, 0, 1, &world.identities[2]);
    let whole = [&head[..], &records].concat();
    for (what, path, body, status) in [
        ("an altered record", "2/0/0", [&head[..], &altered].concat(), 400),
        ("a record less", "2/0/0", whole[..whole.len() - 1].to_vec(), 400),
        ("a byte more", "2/0/0", [&whole[..], b"x"].concat(), 400),
        ("another's signature", "2/0/0", [&forged.encode()[..], &records].concat(), 400),
        ("half a manifest", "2/0/0", head[..head.len() / 2].to_vec(), 400),
        ("nothing", "2/0/0", Vec::new(), 400),
        ("another epoch's address", "2/1/1", whole.clone(), 400),
        ("another hop's address", "3/0/0", whole.clone(), 404),
        ("no address", "2/0/x", whole.clone(), 404),
    ] {
        let answer = put(&world, 1, path, body).await;
        assert_eq!(answer.status(), status, "{what}");
    }
    assert_eq!(put(&world, 0, "1/0/0", whole.clone()).await.status(), 404, "the first mix");
    assert_eq!(put(&world, 2, "3/0/0", whole.clone()).await.status(), 400, "the analyzer");
    // None of it was in the way of the right one.
    assert_eq!(put(&world, 1, "2/0/0", whole).await.status(), 200);
    world.slot(1, 0, "short").await;
}

/// A first mix whose clock is ahead, or who lies, does not get the others to release early.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_comes_early_is_to_come_again() {
    let world = World::new(limits()).await;
    world.seal(0).await;
    let (manifest, records) = batch(&world, 0, 1, &world.identities[0]);
    let body = [manifest.encode(), records].concat();
    for (now, status) in [(START, 425), (NEARLY_OVER - 1, 425), (NEARLY_OVER, 200), (START, 200)] {
        world.clock.set(now);
        assert_eq!(put(&world, 1, "2/0/0", body.clone()).await.status(), status, "at {now}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_for_destroyed_keys_comes_too_late() {
    let world = World::new(limits()).await;
    world.seal(0).await;
    world.clock.set(START + 110 + 1_000);
    crate::world::eventually(async || {
        (world.get(&world.at(1, "/keys/0")).await.status() == 410).then_some(())
    })
    .await;
    let (manifest, records) = batch(&world, 0, 1, &world.identities[0]);
    let answer = put(&world, 1, "2/0/0", [manifest.encode(), records].concat()).await;
    assert_eq!(answer.status(), 410);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_streamed() {
    let world = World::new(limits()).await;
    world.seal(0).await;
    world.clock.set(NEARLY_OVER);
    let len = world.collection.shape().record_bytes(2);
    let records = vec![9; len * (8_usize << 20).div_ceil(len)];
    let mut digest = RecordDigest::default();
    digest.update(&records);
    let manifest = Manifest {
        records: (records.len() / len) as u64,
        digest: digest.finish(),
        ..batch(&world, 0, 0, &world.identities[0]).0.unverified().clone()
    };
    let signed = SignedManifest::sign(manifest, &world.identities[0]);
    let answer = put(&world, 1, "2/0/0", [signed.encode(), records].concat()).await;
    assert_eq!(answer.status(), 200);
}

/// The first moment at which a batch of epoch 0, which takes 100 seconds, is taken.
const NEARLY_OVER: u64 = START + 80;
