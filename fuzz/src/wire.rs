//! Targets of `throng-wire`: what peers send each other.
//!
//! Whatever decodes encodes to the same bytes. What was signed here once is all that ever verifies:
//! an input that verifies and is not a seed is a forgery.

use crate::target::Target;
use crate::world::identity;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use tempfile::TempDir;
use throng_collection::{duration_text, seconds};
use throng_wire::{
    Bag, BatchId, Binding, Bulletin, CollectionId, Directory, Identity, KeyStatement, LAYER, Layer,
    LayerPublic, LayerSecret, Loss, Manifest, Notice, Opener, PublicIdentity, Receipt,
    RecordDigest, SignedDirectory, SignedManifest, SignedNotice, hex, unhex,
};

/// A batch: manifest, signature, records.
pub const BATCH: Target = Target {
    name: "batch",
    rounds: 20_000,
    seeds: || BATCHES.clone(),
    body: |bytes| {
        let Some(length) = SignedManifest::length(bytes) else {
            assert!(bytes.len() < SignedManifest::START);
            return assert!(SignedManifest::decode(bytes).is_err());
        };
        let (head, records) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
        let Ok(signed) = SignedManifest::decode(head) else { return };
        assert_eq!(head.len(), length);
        assert_eq!(signed.encode(), head);
        let manifest = signed.unverified();
        assert!(manifest.first <= manifest.last && manifest.hop() > 0);
        let verified = signed.verify(&identity(1).public()).is_ok();
        assert_eq!(verified, BATCHES.iter().any(|batch| batch.starts_with(head)));

        let mut digest = RecordDigest::default();
        digest.update(records);
        if verified && digest.matches(manifest).is_ok() {
            assert!(BATCHES.contains(&bytes.to_vec()));
        }
    },
};

/// A receipt.
pub const RECEIPT: Target = Target {
    name: "receipt",
    rounds: 20_000,
    seeds: || RECEIPTS.clone(),
    body: |bytes| {
        let Ok(receipt) = Receipt::decode(bytes) else { return };
        assert_eq!(receipt.encode(), bytes);
        let party = identity(1).public();
        let verified = receipt.verify(&receipt.batch, receipt.hop, &party).is_ok();
        assert_eq!(verified, RECEIPTS.contains(&bytes.to_vec()));
        let mut other = receipt.batch;
        other.0[0] ^= 1;
        assert!(receipt.verify(&other, receipt.hop, &party).is_err());
        assert!(receipt.verify(&receipt.batch, receipt.hop ^ 1, &party).is_err());
    },
};

/// A party's statement of its key.
pub const KEY_STATEMENT: Target = Target {
    name: "key_statement",
    rounds: 20_000,
    seeds: || STATEMENTS.clone(),
    body: |bytes| {
        let Ok(statement) = KeyStatement::decode(bytes) else { return };
        assert_eq!(statement.encode(), bytes);
        let KeyStatement { collection, window, hop, key, .. } = statement;
        let found = statement.verify(&collection, window, hop, &identity(1).public());
        assert_eq!(found.is_ok(), STATEMENTS.contains(&bytes.to_vec()));
        assert!(found.is_err() || found == Ok(key));
        assert!(statement.verify(&collection, window ^ 1, hop, &identity(1).public()).is_err());
    },
};

/// A directory, signed by three parties.
pub const DIRECTORY: Target = Target {
    name: "directory",
    rounds: 10_000,
    seeds: || DIRECTORIES.clone(),
    body: |bytes| {
        let Ok(signed) = SignedDirectory::decode(bytes) else { return };
        assert_eq!(signed.encode(), bytes);
        let parties = [1, 2, 3].map(|hop| identity(hop).public());
        let taken = [0, 4].into_iter().any(|window| signed.verify(&id(), window, &parties).is_ok());
        assert_eq!(taken, DIRECTORIES.contains(&bytes.to_vec()));
        assert!(signed.verify(&id(), 5, &parties).is_err());
        assert!(signed.verify(&id(), 4, &parties[..2]).is_err());
    },
};

/// A bulletin of round 2 of a board, signed by three parties.
pub const BULLETIN: Target = Target {
    name: "bulletin",
    rounds: 10_000,
    seeds: || BULLETINS.clone(),
    body: |bytes| {
        let parties = [1, 2, 3].map(|hop| identity(hop).public());
        let taken = Bulletin::decode(bytes, &id(), 2, &parties);
        assert_eq!(taken.is_ok(), BULLETINS.contains(&bytes.to_vec()));
        assert!(Bulletin::decode(bytes, &id(), 1, &parties).is_err());
        assert!(Bulletin::decode(bytes, &id(), 2, &parties[..2]).is_err());
        if let Ok(bulletin) = taken {
            let bag = bulletin.bag();
            assert_eq!(bag.len() as u64, bulletin.notice().messages);
            assert!(bag.messages().all(|message| bag.count(message) > 0));
        }
        if let Ok(notice) = Notice::decode(bytes) {
            assert_eq!(notice.encode(), bytes);
        }
    },
};

/// Layers back to back: their length, how they are cut, and then themselves.
pub const LAYERS: Target = Target {
    name: "layers",
    rounds: 3_000,
    seeds: || {
        let all = [&[INSIDE as u8, 0], &SEALED.concat()[..]].concat();
        let one = [&[INSIDE as u8, 1], &SEALED[0][..]].concat();
        vec![all, one, vec![0, 0], vec![INSIDE as u8, 2]]
    },
    body: |bytes| {
        let [inside, threads, sealed @ ..] = bytes else { return };
        let (len, threads) = (LAYER + usize::from(*inside), usize::from(*threads % 4));
        let count = sealed.len() / len;
        let (mut opened, mut ok) = (vec![0xaa; count * (len - LAYER)], vec![true; count]);
        let fits = sealed.len() == count * len;
        let tried = OPENER.open_batch(sealed, len, &mut opened, &mut ok, threads);
        assert_eq!(tried.is_ok(), fits);
        let sealed = &sealed[..count * len];
        OPENER.open_batch(sealed, len, &mut opened, &mut ok, threads).unwrap();
        for (i, layer) in sealed.chunks(len).enumerate() {
            let found = &opened[i * (len - LAYER)..(i + 1) * (len - LAYER)];
            let mut alone = vec![0xaa; len - LAYER];
            assert_eq!(OPENER.open(layer, &mut alone).is_ok(), ok[i]);
            assert_eq!(alone, found);
            assert_eq!(ok[i], SEALED.iter().any(|sealed| sealed == layer));
            assert!(ok[i] || found.iter().all(|byte| *byte == 0));
        }
        // Whatever the lengths, nothing is read or written that is not there.
        for len in [0, 1, LAYER - 1, LAYER, usize::MAX] {
            let _ = OPENER.open_batch(sealed, len, &mut opened, &mut ok, threads);
        }
        assert!(OPENER.open(sealed, &mut []).is_err());
    },
};

/// Texts that stand for bytes, keys and durations.
pub const NAMES: Target = Target {
    name: "names",
    rounds: 50_000,
    seeds: || {
        let durations = ["90s", "15m", "24h", "366d", "0s", "18446744073709551615s"];
        let keys = [id().to_string(), identity(1).public().to_string(), hex(&[1, 0xff, 0xab])];
        keys.into_iter().chain(durations.map(String::from)).map(String::into_bytes).collect()
    },
    body: |bytes| {
        let Ok(text) = str::from_utf8(bytes) else { return };
        if let Some(found) = unhex(text) {
            assert_eq!(hex(&found), text);
        }
        if let Ok(id) = text.parse::<CollectionId>() {
            assert_eq!(id.to_string(), text);
        }
        if let Ok(identity) = text.parse::<PublicIdentity>() {
            assert_eq!(identity.to_string(), text);
            assert!(!identity.verify("throng/1 key", text.as_bytes(), &[0; 64]));
        }
        if let Some(time) = seconds(text) {
            assert_eq!(seconds(&duration_text(time)), Some(time));
            assert!(duration_text(time).len() <= text.len());
        }
    },
};

/// The file of an identity.
pub const IDENTITY_FILE: Target = Target {
    name: "identity_file",
    rounds: 3_000,
    seeds: || vec![written(&identity(1))],
    body: |bytes| {
        fs::write(&FILE.1, bytes).unwrap();
        let Ok(found) = Identity::read(&FILE.1) else { return };
        // What comes after many spaces is not read.
        let (kept, given) = (written(&found), String::from_utf8_lossy(bytes));
        assert!(given.trim().as_bytes().starts_with(kept.trim_ascii()));
    },
};

/// The bytes of a new file of an identity.
fn written(identity: &Identity) -> Vec<u8> {
    let file = FILE.0.path().join("new");
    identity.write(&file).unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::remove_file(file).unwrap();
    bytes
}

/// A file that nobody else may read.
static FILE: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("identity");
    identity(1).write(&file).unwrap();
    (directory, file)
});

fn id() -> CollectionId {
    CollectionId::new([5; 32])
}

fn secret() -> LayerSecret {
    LayerSecret::from_bytes(&[6; 32])
}

fn binding() -> Binding {
    Binding { collection: id(), epoch: 3, hop: 2, analyzer: false }
}

fn manifest(first: u64, last: u64, records: &[u8], losses: Vec<Loss>) -> Vec<u8> {
    let mut digest = RecordDigest::default();
    digest.update(records);
    let manifest = Manifest {
        collection: id(),
        first,
        last,
        record_bytes: 4,
        records: records.len() as u64 / 4,
        losses,
        source: [7; 32],
        digest: digest.finish(),
    };
    [SignedManifest::sign(manifest, &identity(1)).encode(), records.to_vec()].concat()
}

static BATCHES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let loss = Loss { replayed: 1, malformed: u64::MAX };
    vec![
        manifest(3, 3, b"aaaabbbb", vec![loss]),
        manifest(0, u64::MAX, b"", vec![loss; 3]),
        manifest(4, 6, b"ccccddddeeee", vec![Loss::default(); 255]),
    ]
});

static RECEIPTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let receipt = |byte, hop| Receipt::sign(BatchId([byte; 32]), hop, &identity(1)).encode();
    vec![receipt(0, 2), receipt(7, 3)]
});

static STATEMENTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let state = |window, hop, key| {
        KeyStatement::sign(id(), window, hop, LayerPublic([key; 32]), &identity(1)).encode()
    };
    vec![state(0, 1, 9), state(u64::MAX, 255, 0)]
});

/// Bags with three messages, with one twice, and with none.
static BULLETINS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let bag = |messages: &[u8]| {
        let bag = Bag::new(3, messages).unwrap();
        let notice = Notice::of(id(), 2, 3, &bag);
        let signatures = (1..=3).map(|hop| notice.cosign(&identity(hop))).collect();
        [&SignedNotice { notice, signatures }.encode()[..], bag.as_bytes()].concat()
    };
    vec![bag(b"onetwosix"), bag(b"oneone"), bag(b"")]
});

static DIRECTORIES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let signed = |window| {
        let keys = [1, 2, 3].map(|byte| LayerPublic([byte; 32])).to_vec();
        let directory = Directory { collection: id(), window, keys };
        let parties: [Identity; 3] = [1, 2, 3].map(identity);
        let signatures = parties.iter().map(|party| directory.cosign(party)).collect();
        SignedDirectory::new(directory, signatures).encode()
    };
    vec![signed(0), signed(4)]
});

static SEALED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let layer = Layer::new(&secret().public(), &binding()).unwrap();
    let mut rng = ChaCha12Rng::seed_from_u64(5);
    (0..4).map(|i| layer.seal(&[i; INSIDE], &mut rng).unwrap()).collect()
});

static OPENER: LazyLock<Opener> = LazyLock::new(|| Opener::new(&secret(), &binding()).unwrap());

/// Bytes inside a layer.
const INSIDE: usize = 5;
