//! Data directories of older builds, opened by this one in the middle of an epoch; and what is
//! backed up, put back.
//!
//! The folder `upgrade` has a directory of every version so far, written by a build of that
//! version: the example `fixture` makes them.

mod common;
#[path = "upgrade/rounds.rs"]
mod rounds;
#[path = "upgrade/story.rs"]
mod story;

use common::{DRAIN, EVERY, counts};
use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use story::{Chain, PARTIES, START, STOPPED, secrets};
use tempfile::TempDir;
use throng_mix::store::Store;
use throng_server::{Clock, Config, Error, Role, Server};

#[test]
fn a_directory_of_every_earlier_version_opens_and_its_epoch_goes_on() {
    let mut versions = Vec::new();
    for archive in archives() {
        let name = archive.file_name().unwrap().to_str().unwrap().to_owned();
        versions.push(name.strip_suffix(".tar.gz").unwrap().parse::<u64>().unwrap());
        let directory = unpacked(&archive);
        servers_open(directory.path());
        go_on(directory.path());
    }
    versions.sort_unstable();
    let here = fresh_version();
    assert!(!versions.is_empty() && versions.iter().all(|old| *old <= here), "{versions:?}");
    let missing: Vec<u64> = (1..here).filter(|old| !versions.contains(old)).collect();
    assert!(missing.is_empty(), "no directory of {missing:?}; the example `fixture` makes them");
}

/// Everything that was acknowledged before the upgrade and after it is counted once; what was out
/// before stays as it was.
fn go_on(directory: &Path) {
    let mut chain = Chain::open(directory, STOPPED);
    for party in PARTIES {
        let version = fs::read_to_string(directory.join(party).join("data/version")).unwrap();
        assert_eq!(version, format!("{}\n", fresh_version()), "{party}");
    }
    let kept = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(directory.join(name)).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    assert_eq!((chain.releases(), chain.ledger()), (kept("releases"), kept("ledger")));
    assert_eq!(chain.board.bulletin(0).unwrap(), [0, 1, 2]);

    chain.question.upload(3, 30..33);
    chain.merged.upload(3, 30..32);
    chain.board.upload(3, 30..33);
    chain.run();
    chain.set(START + 4 * EVERY + 10);
    chain.exchange();
    chain.run();

    // Epoch 1 was short and stays so; the batch of epoch 2 was on its way.
    let once = |values: &[u8]| values.iter().map(|value| (*value, 1)).collect::<Vec<_>>();
    let counted = chain.question.counted();
    let expected = [&[0, 1, 2, 3][..], &[10, 11, 12], &[20, 21, 22, 23, 24, 30, 31, 32]];
    assert_eq!(counted, expected.map(once));
    let releases = chain.releases();
    assert_eq!(releases[..1], kept("releases")[..]);
    assert_eq!((releases.len(), chain.ledger().len()), (3, 3));
    assert_eq!(chain.ledger()[..1], kept("ledger")[..]);
    let merged = chain.merged.releases();
    let terms = &chain.merged.collection.terms;
    let covers = merged.iter().map(|one| (one["first"].as_u64(), one["last"].as_u64()));
    assert_eq!(covers.collect::<Vec<_>>(), [(Some(0), Some(1)), (Some(2), Some(3))]);
    let counted: Vec<_> = merged.iter().map(|release| counts(terms, release)).collect();
    assert_eq!(counted, [once(&[0, 1, 2, 3]), once(&[10, 11, 30, 31])]);
    assert!(chain.board.bulletin(1).is_err(), "round 1 was short");
    assert_eq!(chain.board.bulletin(2).unwrap(), [10, 11, 12, 13]);
    assert_eq!(chain.board.bulletin(3).unwrap(), [20, 21, 30, 31, 32]);
    assert_eq!(chain.board.bulletin(0).unwrap(), [0, 1, 2]);

    chain.set(START + 4 * EVERY + 10 + DRAIN);
    chain.run();
    for party in PARTIES {
        let window = |name: &String| name.rsplit('-').next().unwrap().parse::<u64>().unwrap();
        let old = secrets(directory, party).into_iter().filter(|name| window(name) <= 3);
        assert_eq!(old.collect::<Vec<_>>(), Vec::<String>::new(), "keys of {party}");
    }
}

/// The files of an older party are read as `throng serve` reads them.
fn servers_open(directory: &Path) {
    for party in PARTIES {
        let role = if party == "counter" { Role::Analyzer } else { Role::Mix };
        let config = Config::read(role, &directory.join(party).join("party.toml")).unwrap();
        Server::open(&config, Clock::manual(STOPPED)).unwrap();
    }
}

/// The analyzer's directory may be copied while it is stopped; the newest copy is put back whole.
#[test]
fn an_analyzer_goes_on_from_a_copy_of_its_directory() {
    let (directory, copies) = (played(), tempfile::tempdir().unwrap());
    let data = directory.path().join("counter/data");
    let copy = copies.path().join("copy");
    copy_all(&data, &copy);
    fs::remove_dir_all(&data).unwrap();
    copy_all(&copy, &data);
    go_on(directory.path());
}

#[test]
fn a_database_that_is_put_back_alone_is_refused() {
    let (directory, copies) = (played(), tempfile::tempdir().unwrap());
    let data = directory.path().join("counter/data");
    fs::copy(data.join("rows.sqlite"), copies.path().join("rows.sqlite")).unwrap();
    go_on(directory.path());
    let newest = fs::read(data.join("rows.sqlite")).unwrap();

    fs::copy(copies.path().join("rows.sqlite"), data.join("rows.sqlite")).unwrap();
    assert!(matches!(open_analyzer(directory.path()), Err(Error::Rollback { .. })));
    // The newest directory is the remedy.
    fs::write(data.join("rows.sqlite"), newest).unwrap();
    assert!(open_analyzer(directory.path()).is_ok());
}

/// Nothing on the machine says that there was ever a newer one: whoever puts a whole directory back
/// has to know that it is the newest.
#[test]
fn a_whole_directory_that_is_put_back_is_not_noticed() {
    let (directory, copies) = (played(), tempfile::tempdir().unwrap());
    let data = directory.path().join("counter/data");
    let copy = copies.path().join("copy");
    copy_all(&data, &copy);
    let before = Chain::open(directory.path(), STOPPED).ledger();
    go_on(directory.path());

    fs::remove_dir_all(&data).unwrap();
    copy_all(&copy, &data);
    assert!(open_analyzer(directory.path()).is_ok());
    let chain = Chain::open(directory.path(), START + 4 * EVERY + 10 + DRAIN);
    assert_eq!(chain.ledger(), before);
}

/// A party with its identity and its collections, and nothing in its data directory, takes part in
/// the windows that come.
#[test]
fn identity_and_collections_are_enough_to_begin_again() {
    let directory = played();
    fs::remove_dir_all(directory.path().join("south/data")).unwrap();
    let mut chain = Chain::open(directory.path(), STOPPED);
    // The windows whose keys were lost, 3 and 4, are lost.
    chain.set(START + 5 * EVERY + 10);
    chain.exchange();
    chain.question.upload(5, 40..43);
    chain.set(START + 6 * EVERY + 10);
    chain.question.settle(1);
    let waiting = chain.question.mix(1).waiting();
    let batch = |first| common::wire(chain.question.mix(1).outgoing(first).unwrap().unwrap());
    let newest = *waiting.last().unwrap();
    let receipt = chain.question.hand_over(2, &batch(newest)).unwrap();
    chain.question.mix(1).delivered(newest, receipt).unwrap();
    chain.question.settle(2);
    assert!(chain.question.deliver(2));
    chain.question.settle(3);
    let last = chain.question.counted().pop().unwrap();
    assert_eq!(last, [(40, 1), (41, 1), (42, 1)]);
}

/// A chain of this build that is stopped where the fixtures are.
fn played() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    story::write_files(directory.path());
    story::play(directory.path());
    directory
}

fn open_analyzer(directory: &Path) -> Result<(), Error> {
    let config = Config::read(Role::Analyzer, &directory.join("counter/party.toml")).unwrap();
    Server::open(&config, Clock::manual(STOPPED)).map(drop)
}

/// The version of directories that this build makes.
fn fresh_version() -> u64 {
    let directory = tempfile::tempdir().unwrap();
    drop(Store::on_disk(directory.path()).unwrap());
    let text = fs::read_to_string(directory.path().join("version")).unwrap();
    text.trim().parse().unwrap()
}

fn archives() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upgrade");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "gz")).collect()
}

fn unpacked(archive: &Path) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = GzDecoder::new(File::open(archive).unwrap());
    tar::Archive::new(file).unpack(directory.path()).unwrap();
    directory
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
