//! The state that a device kept.

use crate::target::Target;
use crate::world;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use throng_client::Client;
use throng_collection::Collection;
use throng_mechanism::{Key, Kind, Value};
use throng_wire::{Directory, LayerPublic, LayerSecret, SignedDirectory};

/// The place of a collection in the list, then a state.
pub const CLIENT_STATE: Target = Target {
    name: "client_state",
    rounds: 4_000,
    seeds: || (0..).zip(&*COLLECTIONS).flat_map(|(place, world)| states(place, world)).collect(),
    body: |bytes| {
        let [place, state @ ..] = bytes else { return };
        let collection = &COLLECTIONS[usize::from(*place) % COLLECTIONS.len()];
        restore(collection, state);
        // The sum at the end keeps out accidents, not whoever can write the file.
        if let Some((body, _)) = state.split_last_chunk::<32>() {
            restore(collection, &[body, &Sha256::digest(body)].concat());
        }
    },
};

/// Checks that a restored state is kept as it was, and never makes a second report for an epoch.
fn restore(collection: &Collection, state: &[u8]) {
    let Ok(mut client) = Client::restore(collection.clone(), state) else { return };
    assert_eq!(client.state(), state);
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let (reports, last) = (client.reports(), client.last_epoch());
    let pending = client.pending();
    for epoch in (0..collection.terms.promise.epochs).chain([u64::MAX]) {
        let _ = client.learn(&directory(collection, epoch), epoch);
        let before = client.reports();
        match client.report(value(collection), epoch, &mut rng) {
            Ok(report) if Some(epoch) == last => {
                assert_eq!(report.as_bytes(), pending.as_ref().unwrap().as_bytes());
            }
            Ok(report) => {
                assert!(last.is_none_or(|last| epoch > last) && client.reports() == before + 1);
                assert_eq!(report.as_bytes().len(), collection.shape().report_bytes());
                client.acknowledge(&report).unwrap();
            }
            Err(_) => assert_eq!(client.reports(), before),
        }
    }
    assert!(client.is_enabled() || client.reports() == reports);
    let again = Client::restore(collection.clone(), &client.state()).unwrap();
    assert_eq!(again.state(), client.state());
}

/// The states before the first report, with one on its way, with one delivered, and switched off.
fn states(place: u8, collection: &Collection) -> Vec<Vec<u8>> {
    let mut rng = ChaCha12Rng::seed_from_u64(place.into());
    let mut client = Client::new(collection.clone()).unwrap();
    let mut states = vec![client.state()];
    for epoch in [0, 3] {
        client.learn(&directory(collection, epoch), epoch).unwrap();
        let report = client.report(value(collection), epoch, &mut rng).unwrap();
        states.push(client.state());
        client.acknowledge(&report).unwrap();
        states.push(client.state());
    }
    client.disable().unwrap();
    states.push(client.state());
    states.into_iter().map(|state| [&[place][..], &state].concat()).collect()
}

fn value(collection: &Collection) -> Value<'static> {
    let text = collection.terms.mechanism.kind() == Kind::Text;
    if text { Value::Text("a text") } else { Value::Bit(true) }
}

fn directory(collection: &Collection, window: u64) -> SignedDirectory {
    let directory = Directory { collection: collection.id(), window, keys: KEYS.clone() };
    let signatures = [1, 2, 3].map(|hop| directory.cosign(&world::identity(hop))).to_vec();
    SignedDirectory::new(directory, signatures)
}

/// Collections without memory, with the memory of a string, and with that of a lifetime.
static COLLECTIONS: LazyLock<Vec<Collection>> =
    LazyLock::new(|| [Key::BitSum, Key::Rappor, Key::Longitudinal].map(world::collection).to_vec());

static KEYS: LazyLock<Vec<LayerPublic>> =
    LazyLock::new(|| [1, 2, 3].map(|byte| LayerSecret::from_bytes(&[byte; 32]).public()).to_vec());
