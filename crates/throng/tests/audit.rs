//! `throng audit --chain` with real processes: what it finds, and that nothing of it stays.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Many people in few collections, so that a busy machine has little to start, and so much noise that
/// one of them is enough. Randomness is drawn from the seed alone.
const AUDIT: &str = "audit bit-sum --n 300 --epsilon 0.5 --delta 1e-6 --chain --seed 1 --json";

/// Time for one epoch.
const SHORT: &str = "--seconds 14";

#[test]
fn an_honest_chain_is_not_accused_and_every_release_is_right() {
    let (status, found) = audited(SHORT);
    assert_eq!(status, Some(0), "{found}");
    assert_eq!((&found["consistent"], &found["wrong_releases"]), (&true.into(), &0.into()));
    let runs = found["runs"].as_u64().unwrap();
    // A run is a release in either world; those of a stage that is not whole are checked as well.
    assert!(runs > 0 && found["releases"].as_u64().unwrap() >= 2 * runs, "{found}");
    assert!(found["law"][0]["trials"].as_u64().unwrap() > 100 * runs, "{found}");
}

/// Clients with a sixteenth of the noise flip one bit in 96 instead of one in six.
#[test]
fn too_little_noise_is_seen_through_the_chain() {
    let (status, found) = audited(&format!("{SHORT} --weaken 16"));
    assert_eq!(status, Some(1), "{found}");
    assert_eq!((&found["keeps_law"], &found["consistent"]), (&false.into(), &false.into()));
    // The chain itself does what it should.
    assert_eq!(found["wrong_releases"], 0, "{found}");
}

#[test]
fn whoever_stops_it_finds_nothing_left() {
    let place = tempfile::tempdir().unwrap();
    let mut audit = started(place.path(), "--seconds 600");
    let serving = || {
        let mut kept = fs::read_dir(place.path()).unwrap();
        kept.any(|entry| entry.unwrap().path().join("analyzer").is_dir())
    };
    while !serving() {
        assert_eq!(audit.try_wait().unwrap(), None, "it ended before it began");
        sleep(Duration::from_millis(20));
    }
    let id = audit.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let output = audit.wait_with_output().unwrap();
    // Nothing was released, so that there is nothing to say.
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_nothing_left(place.path());
}

/// The status and the answer of an audit that ends by itself.
fn audited(arguments: &str) -> (Option<i32>, Value) {
    let place = tempfile::tempdir().unwrap();
    let output = started(place.path(), arguments).wait_with_output().unwrap();
    assert_nothing_left(place.path());
    let error = String::from_utf8_lossy(&output.stderr);
    let answer = serde_json::from_slice(&output.stdout);
    (output.status.code(), answer.unwrap_or_else(|_| panic!("no answer, but {error}")))
}

fn started(place: &Path, arguments: &str) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("throng"))
        .args(AUDIT.split(' ').chain(arguments.split(' ')))
        .env("TMPDIR", place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Neither files nor, where they can be listed, processes.
fn assert_nothing_left(place: &Path) {
    let kept: Vec<_> = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(kept.is_empty(), "{kept:?}");
    let name = place.as_os_str().as_encoded_bytes();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let ours = line.windows(name.len()).any(|part| part == name);
        assert!(!ours, "{} still runs", process.path().display());
    }
}
