//! The contract of a store as a test that any back-end runs.
//!
//! Each function is given a way to open the same state again and again: `open` ends whatever was
//! open before it, and what comes back must be all that survived. The state is empty at the
//! beginning. A back-end for one seam runs the function of that seam; a whole store runs [`store`].
//!
//! ```
//! use throng_mix::simulated::MemoryStore;
//! use throng_mix::store::conformance;
//!
//! let memory = MemoryStore::new();
//! conformance::rows(|| {
//!     memory.restart();
//!     memory.store().rows
//! });
//! ```

use super::{
    Blob, Blobs, Change, LogKey, LogName, Logs, RowKey, Rows, Secrets, Store, StoreError, Table,
};
use std::io::{ErrorKind, Read, Seek, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use throng_wire::{CollectionId, LayerSecret};

/// Tests all four seams of a store, one after the other.
///
/// # Panics
/// If the contract is broken.
pub fn store(open: impl Fn() -> Store) {
    rows(|| open().rows);
    blobs(|| open().blobs);
    logs(|| open().logs);
    secrets(|| open().secrets);
}

/// Rows are changed all at once, found by the beginning of their keys in order, and kept.
///
/// # Panics
/// If the contract is broken.
pub fn rows(open: impl Fn() -> Arc<dyn Rows>) {
    let (id, other) = (CollectionId::new([3; 32]), CollectionId::new([4; 32]));
    let [first, second, tenth] = [1, 2, 10].map(|epoch| RowKey::at(id, epoch));
    let signed = RowKey::signed(id, 2, 1);
    let keys = |rows: &dyn Rows, table, prefix: &RowKey| -> Vec<RowKey> {
        rows.under(table, prefix).expect("reading rows").into_iter().map(|row| row.0).collect()
    };

    let rows = open();
    for table in Table::ALL {
        assert!(keys(&*rows, table, &RowKey::all(id)).is_empty(), "the state is not empty");
    }
    rows.commit(&[
        put(Table::Slots, &tenth, b"10"),
        put(Table::Slots, &first, b"1"),
        put(Table::Slots, &second, b"2"),
        put(Table::Slots, &signed, b""),
        put(Table::Slots, &RowKey::at(other, 1), b"other"),
        put(Table::Destroyed, &RowKey::of(id), &[0, 255]),
    ])
    .expect("putting rows");
    drop(rows);

    let rows = open();
    let all = [first.clone(), second.clone(), signed.clone(), tenth.clone()];
    assert_eq!(keys(&*rows, Table::Slots, &RowKey::all(id)), all, "order of keys");
    assert_eq!(keys(&*rows, Table::Slots, &second), [second.clone(), signed.clone()]);
    assert_eq!(rows.get(Table::Slots, &second).expect("a row"), Some(b"2".to_vec()));
    assert_eq!(rows.get(Table::Slots, &signed).expect("a row"), Some(Vec::new()));
    assert_eq!(rows.get(Table::Destroyed, &RowKey::of(id)).expect("a row"), Some(vec![0, 255]));
    assert_eq!(rows.get(Table::Destroyed, &RowKey::of(other)).expect("no row"), None);
    assert!(keys(&*rows, Table::Taken, &RowKey::all(id)).is_empty(), "tables are apart");

    let gone = Change::Delete { table: Table::Slots, key: &first };
    let large = vec![7; 1 << 20];
    rows.commit(&[put(Table::Slots, &second, &large), gone, gone]).expect("changing rows");
    // Within one commit the last change of a row counts.
    rows.commit(&[put(Table::Slots, &first, b"a"), gone]).expect("changing rows");
    rows.commit(&[gone, put(Table::Slots, &tenth, b"x"), put(Table::Slots, &tenth, b"y")])
        .expect("changing rows");
    rows.commit(&[]).expect("changing nothing");
    drop(rows);

    let rows = open();
    assert_eq!(rows.get(Table::Slots, &first).expect("no row"), None);
    assert_eq!(rows.get(Table::Slots, &second).expect("a row"), Some(large));
    assert_eq!(rows.get(Table::Slots, &tenth).expect("a row"), Some(b"y".to_vec()));
    commits_are_whole(&*rows, id);
}

fn put<'a>(table: Table, key: &'a RowKey, value: &'a [u8]) -> Change<'a> {
    Change::Put { table, key, value }
}

/// Checks that whoever reads while others commit never sees half a commit.
fn commits_are_whole(rows: &dyn Rows, id: CollectionId) {
    let pair = [100, 101].map(|epoch| RowKey::at(id, epoch));
    let write = |value: u32| {
        let value = value.to_be_bytes();
        let changes = pair.each_ref().map(|key| put(Table::Taken, key, &value));
        rows.commit(&changes).expect("committing");
    };
    write(0);
    thread::scope(|scope| {
        let writer = scope.spawn(|| (1..=50).for_each(write));
        while !writer.is_finished() {
            let both = rows.under(Table::Taken, &RowKey::all(id)).expect("reading");
            assert_eq!(both.len(), 2, "rows of one commit");
            assert_eq!(both[0].1, both[1].1, "half a commit");
        }
    });
}

/// Blobs appear when they are finished, stay while they are open, and have decent names.
///
/// # Panics
/// If the contract is broken.
pub fn blobs(open: impl Fn() -> Arc<dyn Blobs>) {
    let blobs = open();
    assert!(blobs.names().expect("listing").is_empty(), "the state is not empty");
    let mut one = blobs.create("one").expect("creating a blob");
    one.write_all(b"first").expect("writing a blob");
    assert!(blobs.open("one").is_err(), "an unfinished blob is not there");
    assert!(blobs.names().expect("listing").is_empty());
    one.finish().expect("finishing a blob");
    let dropped = blobs.create("two").expect("creating a blob");
    drop(dropped);
    blobs.write("two", &vec![2; 300_000]).expect("writing a blob");
    blobs.write("a.b-c_0", b"").expect("writing an empty blob");
    let unfinished = blobs.create("one").expect("creating a blob");
    drop(unfinished);
    for wrong in ["", ".", "..", ".hidden", "a/b", "../a", "Upper", "a b", "\u{e9}"] {
        let misuse = blobs.create(wrong).err();
        assert!(matches!(misuse, Some(StoreError::Misuse { .. })), "the name {wrong:?}");
    }
    drop(blobs);

    let blobs = open();
    assert_eq!(blobs.names().expect("listing"), ["a.b-c_0", "one", "two"]);
    assert_eq!(blobs.read("one").expect("reading"), Some(b"first".to_vec()));
    assert_eq!(blobs.read("absent").expect("reading"), None);
    let absent = blobs.open("absent").err();
    assert!(matches!(absent, Some(StoreError::Io { kind: ErrorKind::NotFound, .. })));
    let two = blobs.open("two").expect("opening a blob");
    assert_eq!(two.size, 300_000);
    blobs.write("two", b"other").expect("replacing a blob");
    assert_eq!(rest(two), vec![2; 300_000], "an open blob is not disturbed");
    let one = blobs.open("one").expect("opening a blob");
    blobs.remove("one").expect("removing a blob");
    blobs.remove("one").expect("removing an absent blob");
    assert_eq!(rest(one), b"first", "an open blob is not disturbed");

    let mut scratch = blobs.scratch().expect("making scratch");
    scratch.write_all(b"intermediate").expect("writing scratch");
    scratch.rewind().expect("rewinding scratch");
    let mut text = String::new();
    scratch.read_to_string(&mut text).expect("reading scratch");
    assert_eq!(text, "intermediate");
    drop((scratch, blobs));

    let blobs = open();
    assert_eq!(blobs.names().expect("listing"), ["a.b-c_0", "two"]);
    assert_eq!(blobs.read("two").expect("reading"), Some(b"other".to_vec()));
}

fn rest(mut blob: Blob) -> Vec<u8> {
    let mut bytes = Vec::new();
    blob.content.read_to_end(&mut bytes).expect("reading a blob");
    bytes
}

/// Logs keep what they acknowledged, whole, refuse what comes late, and open with their key alone.
///
/// # Panics
/// If the contract is broken.
pub fn logs(open: impl Fn() -> Arc<dyn Logs>) {
    let log = |epoch| LogName { collection: CollectionId::new([3; 32]), epoch };
    let key = |epoch| LogKey::derive(&LayerSecret::from_bytes(&[9; 32]), epoch, 2);
    let content = |logs: &Arc<dyn Logs>, epoch| {
        let mut all = Vec::new();
        let keep = |records: &[u8]| {
            all.extend_from_slice(records);
            Ok::<_, StoreError>(())
        };
        logs.visit(&log(epoch), &key(epoch), keep)?;
        Ok::<_, StoreError>(all)
    };

    let logs = open();
    assert_eq!(content(&logs, 5), Ok(Vec::new()), "an absent log is empty");
    logs.append(&log(5), &key(5), b"bbccaa").expect("appending");
    logs.append(&log(5), &key(5), b"").expect("appending nothing");
    assert_eq!(content(&logs, 5), Ok(b"aabbcc".to_vec()), "records written together are sorted");
    assert!(logs.append(&log(5), &key(5), b"odd").is_err(), "a part of a record");
    assert!(logs.append(&log(5), &key(6), b"zz").is_err(), "another key");
    let longer = LogKey::derive(&LayerSecret::from_bytes(&[9; 32]), 5, 3);
    assert!(logs.append(&log(5), &longer, b"zzz").is_err(), "records of another length");
    let [first, second] = [b"ee", b"dd"].map(|records| logs.submit(&log(5), &key(5), records));
    first.wait().expect("submitting");
    second.wait().expect("submitting");
    logs.append(&log(6), &key(6), b"xx").expect("appending");
    drop(logs);

    let logs = open();
    let mut all = content(&logs, 5).expect("reading");
    all.sort_unstable();
    assert_eq!(all, b"aabbccddee", "all that was acknowledged");
    assert_eq!(content(&logs, 6), Ok(b"xx".to_vec()), "logs are apart");
    let mut shown = 0;
    let once = &mut |_: &[u8]| {
        shown += 1;
        ControlFlow::Break(())
    };
    logs.read(&log(5), &key(5), once).expect("breaking off");
    assert_eq!(shown, 1);
    logs.close(&log(5)).expect("closing");
    logs.close(&log(5)).expect("closing again");
    logs.close(&log(7)).expect("closing an absent log");
    assert_eq!(logs.append(&log(5), &key(5), b"ff"), Err(StoreError::Closed));
    closing_waits(&logs);
    drop(logs);

    let logs = open();
    for closed in [5, 7] {
        let late = logs.append(&log(closed), &key(closed), b"gg");
        assert_eq!(late, Err(StoreError::Closed), "a closed log stays closed");
    }
    assert_eq!(content(&logs, 5).expect("reading").len(), 10);
    logs.remove(&log(5)).expect("removing");
    logs.remove(&log(5)).expect("removing an absent log");
    assert_eq!(content(&logs, 5), Ok(Vec::new()));
    logs.append(&log(5), &key(5), b"hh").expect("a log of the same name begins anew");
    drop(logs);

    let logs = open();
    assert_eq!(content(&logs, 5), Ok(b"hh".to_vec()));
    for epoch in 5..=8 {
        logs.remove(&log(epoch)).expect("removing");
    }
}

/// Checks that a closed log has what was acknowledged before, and nothing else.
fn closing_waits(logs: &Arc<dyn Logs>) {
    let log = LogName { collection: CollectionId::new([3; 32]), epoch: 8 };
    let key = LogKey::derive(&LayerSecret::from_bytes(&[9; 32]), 8, 5);
    let taken: usize = thread::scope(|scope| {
        let writers: Vec<_> = (0..4_u8)
            .map(|writer| {
                let (logs, key) = (&logs, &key);
                scope.spawn(move || {
                    let mut records = (0..5_000_u32).map(|i| {
                        let [a, b, c, d] = i.to_be_bytes();
                        [writer, a, b, c, d]
                    });
                    let mut taken = 0;
                    while let Some(record) = records.next()
                        && logs.append(&log, key, &record).is_ok()
                    {
                        taken += 1;
                    }
                    taken
                })
            })
            .collect();
        thread::sleep(std::time::Duration::from_millis(5));
        logs.close(&log).expect("closing");
        writers.into_iter().map(|writer| writer.join().expect("a writer")).sum()
    });
    let mut found = Vec::new();
    let keep = |records: &[u8]| {
        found.extend(records.chunks(5).map(<[u8]>::to_vec));
        Ok::<_, StoreError>(())
    };
    logs.visit(&log, &key, keep).expect("reading");
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), taken, "records that were acknowledged, each once");
}

/// A secret is never replaced, and is gone once destroyed.
///
/// # Panics
/// If the contract is broken.
pub fn secrets(open: impl Fn() -> Arc<dyn Secrets>) {
    let secrets = open();
    assert!(secrets.names().expect("listing").is_empty(), "the state is not empty");
    secrets.put("window-0", b"secret").expect("putting a secret");
    secrets.put("window-1", b"other").expect("putting a secret");
    secrets.put("window-0", b"secret").expect("putting the same secret");
    for other in [&b"Secret"[..], b"", b"secrets"] {
        let misuse = secrets.put("window-0", other).err();
        assert!(matches!(misuse, Some(StoreError::Misuse { .. })), "another secret");
    }
    assert!(secrets.put("../window", b"").is_err(), "a name that no file has");
    drop(secrets);

    let secrets = open();
    assert_eq!(secrets.names().expect("listing"), ["window-0", "window-1"]);
    let kept = secrets.get("window-0").expect("reading").expect("a secret");
    assert_eq!(kept.as_slice(), b"secret");
    secrets.destroy("window-0").expect("destroying");
    secrets.destroy("window-0").expect("destroying what is gone");
    assert!(secrets.get("window-0").expect("reading").is_none());
    drop(secrets);

    let secrets = open();
    assert_eq!(secrets.names().expect("listing"), ["window-1"]);
    secrets.destroy("window-1").expect("destroying");
}
