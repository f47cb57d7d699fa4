//! Targets of `throng-server`: what its own disk gives back.

use crate::target::Target;
use crate::world;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};
use tempfile::TempDir;
use throng_account::Crowd;
use throng_collection::{Account, Terms};
use throng_mechanism::Key;
use throng_mix::store::{LogKey, LogName, Store, StoreError};
use throng_mix::{Destroyed, Slot, Slots, Stage, Timetable, Why, Word};
use throng_server::{Config, Entry, Ledger, Role};
use throng_wire::{
    BatchId, Below, CollectionId, LayerSecret, Loss, Manifest, Receipt, Route, Schedule, Shape,
    SignedManifest, example,
};

/// Rows of slots, one to a line.
pub const SLOT_ROW: Target = Target {
    name: "slot_row",
    rounds: 20_000,
    seeds: || stages().into_iter().map(|stage| slot(stage).to_row()).collect(),
    body: |bytes| bytes.split(|byte| *byte == b'\n').for_each(take_row),
};

/// The rows of ledgers, one to a line; after an empty line comes another ledger.
pub const LEDGER: Target = Target {
    name: "ledger",
    rounds: 10_000,
    seeds: || {
        let rows: Vec<_> = ENTRIES.iter().map(Entry::to_row).collect();
        vec![rows.join(&b'\n'), rows[..1].concat(), Vec::new()]
    },
    body: |bytes| {
        let lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(Vec::from).collect();
        lines.split(Vec::is_empty).for_each(open_ledger);
    },
};

/// The file of `throng serve`.
pub const CONFIG: Target = Target {
    name: "config",
    rounds: 10_000,
    seeds: || vec![CONFIG_FILE.as_bytes().to_vec()],
    body: |bytes| {
        let Ok(text) = str::from_utf8(bytes) else { return };
        let read = |role| Config::parse(role, text, Path::new("/etc/throng"));
        let Ok(config) = read(Role::Mix) else { return };
        fs::write(&CONFIG_PATH.1, text).unwrap();
        let in_file = Config::read(Role::Mix, &CONFIG_PATH.1).unwrap();
        assert_eq!((in_file.listen, &in_file.limits), (config.listen, &config.limits));
        assert!(!config.collections.is_empty() && config.limits.threads > 0);
        assert_eq!(Config { role: Role::Analyzer, ..config }, read(Role::Analyzer).unwrap());
    },
};

/// One or two segments of a log: whether to go on with it, sectors of the first, then both.
pub const LOG: Target = Target {
    name: "log",
    rounds: 400,
    seeds: || SEGMENTS.clone(),
    body: |bytes| {
        let [go_on, sectors, segments @ ..] = bytes else { return };
        let first = SECTOR * usize::from(*sectors);
        let (first, second) = segments.split_at_checked(first).unwrap_or((segments, &[]));
        let log = fresh_log();
        let directory = DISK.1.path().join("logs").join(log.to_string());
        fs::create_dir(&directory).unwrap();
        for (name, bytes) in [("0000000000", first), ("0000000001", second)] {
            if !bytes.is_empty() {
                fs::write(directory.join(name).with_extension("segment"), bytes).unwrap();
            }
        }
        let kept = recover(&log);
        // Waits for the disk several times.
        if *go_on % 8 == 1 {
            append(&log, kept);
        }
        fs::remove_dir_all(directory).unwrap();
    },
};

/// Checks that a row that is read is written and read again as it was, and can be worked with.
fn take_row(row: &[u8]) {
    let Ok(slot) = Slot::from_row(row) else { return };
    assert_eq!(Slot::from_row(&slot.to_row()), Ok(slot.clone()));
    assert!(!slot.shredded || !slot.stage.needs_input());
    let shredded = Slot { shredded: !slot.stage.needs_input(), ..slot.clone() };
    assert_eq!(Slot::from_row(&shredded.to_row()), Ok(shredded));
    let mut timetable = timetable();
    assert!(matches!(timetable.take(signed().unverified(), u64::MAX), Ok(false)));
    timetable.put(slot);
    let _ = timetable.take(signed().unverified(), u64::MAX);
}

/// Checks that no other ledger is taken than the one that was written, or its beginning.
fn open_ledger(rows: &[Vec<u8>]) {
    let (newest, count) = (ENTRIES.last().map(|entry| entry.hash), rows.len());
    // A hash stands for one entry and all before it.
    let opened = Ledger::open(&id(), rows, None);
    if let Ok(ledger) = &opened {
        assert_eq!(ledger.entries(), &ENTRIES[..count]);
    }
    let latest = Ledger::open(&id(), rows, newest);
    assert_eq!(latest.is_ok(), opened.is_ok() && count == ENTRIES.len());
}

/// Checks that a damaged log holds the beginning of its records, or is refused.
fn recover(log: &LogName) -> Option<Vec<u8>> {
    match content(log) {
        Ok(kept) => {
            assert!(records(0..6).starts_with(&kept));
            Some(kept)
        }
        Err(error) => {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
            None
        }
    }
}

/// Appends to a log. One that can be read goes on from there. One that cannot may take more, if its
/// last segment is sound, but is not read after that either.
fn append(log: &LogName, kept: Option<Vec<u8>>) {
    let more = [0xee; EACH];
    let taken = DISK.0.logs.append(log, &key(), &more);
    match kept {
        Some(kept) => {
            assert_eq!(taken, Ok(()));
            assert_eq!(content(log), Ok([&kept[..], &more].concat()));
        }
        None => assert_eq!(recover(log), None),
    }
    DISK.0.logs.close(log).unwrap();
}

fn content(log: &LogName) -> Result<Vec<u8>, StoreError> {
    let mut all = Vec::new();
    DISK.0.logs.visit(log, &key(), |records| {
        assert!(records.len().is_multiple_of(EACH));
        all.extend_from_slice(records);
        Ok::<_, StoreError>(())
    })?;
    Ok(all)
}

/// Blocks of two records each.
fn records(blocks: std::ops::Range<u8>) -> Vec<u8> {
    blocks.flat_map(|i| [[2 * i; EACH], [2 * i + 1; EACH]].concat()).collect()
}

/// Two segments of three blocks, cut to what they hold: each alone, and both.
static SEGMENTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    let log = LogName { collection: id(), epoch: 0 };
    // A log goes on in a new segment when it is opened again.
    for blocks in [0..3, 3..6] {
        let store = Store::on_disk(directory.path()).unwrap();
        blocks.for_each(|i| store.logs.append(&log, &key(), &records(i..i + 1)).unwrap());
    }
    let read = |name: &str| -> io::Result<Vec<u8>> {
        let file = directory.path().join("logs").join(log.to_string()).join(name);
        Ok(fs::read(file)?[..4 * SECTOR].to_vec())
    };
    let [first, second] =
        ["0000000000.segment", "0000000001.segment"].map(|name| read(name).unwrap());
    vec![
        [&[0, 4], &first[..]].concat(),
        [&[0, 4], &first[..], &second].concat(),
        [&[1, 4], &first[..], &second].concat(),
        [&[0, 4], &second[..]].concat(),
        vec![0, 0],
    ]
});

static DISK: LazyLock<(Store, TempDir)> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    (Store::on_disk(directory.path()).unwrap(), directory)
});

fn fresh_log() -> LogName {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    LogName { collection: id(), epoch: NEXT.fetch_add(1, Ordering::Relaxed) }
}

fn key() -> LogKey {
    LogKey::derive(&LayerSecret::from_bytes(&[9; 32]), 7, EACH)
}

fn id() -> CollectionId {
    CollectionId::new([3; 32])
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let terms: Terms = world::terms(Key::BitSum);
    let (mut account, lifetime) = (Account::new(&terms), terms.promise.lifetime.0);
    let mut ledger = Ledger::open(&id(), &[], None).unwrap();
    for epoch in 0..3 {
        let honest = Crowd::new(1_000 + epoch).unwrap();
        let entry = ledger.charge(&mut account, lifetime, epoch, epoch, honest).unwrap();
        ledger.push(entry.unwrap());
    }
    ledger.entries().to_vec()
});

fn slot(stage: Stage) -> Slot {
    let shredded = stage == Stage::Released;
    let word = shredded.then_some(Word::Late);
    Slot { shredded, word, ..Slot::new(3, 5, Some(BatchId([8; 32])), stage) }
}

/// The timetable of the party that takes the batch of [`signed`].
fn timetable() -> Timetable {
    let (shape, schedule) = (example::route().shape, example::schedule());
    let route = Route {
        shape: Shape { payload: 32, ..shape },
        schedule: Schedule { below: Below::Merge { window: 10 }, ..schedule },
        epochs: 10,
        ..example::route()
    };
    Timetable::new(route.into(), 2, 50, Slots::new(), Destroyed::default())
}

fn stages() -> Vec<Stage> {
    let receipt = Receipt::sign(signed().unverified().id(), 2, &world::identity(2));
    let mut stages = vec![
        Stage::Closing,
        Stage::Held { reports: 7 },
        Stage::Received(signed()),
        Stage::Sealed(signed()),
        Stage::Delivered { manifest: signed(), receipt },
        Stage::Released,
    ];
    for why in [Why::Short, Why::Budget, Why::Keys] {
        stages.push(Stage::Dropped { why, reports: 4 });
    }
    stages
}

fn signed() -> SignedManifest {
    let manifest = Manifest {
        collection: id(),
        first: 3,
        last: 5,
        record_bytes: 80,
        records: 3,
        losses: vec![Loss::default()],
        source: [0; 32],
        digest: [1; 32],
    };
    SignedManifest::sign(manifest, &world::identity(1))
}

const CONFIG_FILE: &str = r#"
listen = "127.0.0.1:8001"
identity = "mix.key"
data = "/var/lib/mix"
collections = ["a.toml", "b.toml"]
[tls]
certificate = "c.pem"
key = "k.pem"
[peers]
ca = "ca.pem"
[limits]
upload = 1
batch = 2
memory = 3
threads = 4
drain = "5m"
requests = 6
patience = "7s"
"#;

static CONFIG_PATH: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("mix.toml");
    (directory, file)
});

/// Bytes of a record.
const EACH: usize = 20;
/// The bytes at whose multiples parts of a segment begin.
const SECTOR: usize = 512;
