//! Wrong input, missing tokens, readers who leave: what is said, and with which exit code.

use crate::{assert_refused, json, throng};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

#[test]
fn negative_numbers_and_errors_for_programs_say_what_is_wrong() {
    for (line, says) in [
        ("account bit-sum --n -5 --flip 0.1 --delta 1e-6", "not a whole number"),
        ("account bit-sum --n 1000 --flip 0.1 --epsilon -1", "epsilon = -1 is out of range"),
        ("plan --value category --n 1000 --epsilon 1 --delta 1e-6", "--size is needed"),
    ] {
        assert_refused(line, 2, says);
    }
    assert_refused(
        "calibrate crowd --epsilon0 20 --epsilon 0.001 --delta 1e-12",
        1,
        "no crowd up to 1e10 reaches epsilon = 0.001",
    );
    let line = "account bit-sum --n 1000 --flip 0.1 --epsilon -1 --json";
    let refused = throng().args(line.split_whitespace()).output().unwrap();
    let answer: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!((refused.status.code(), &answer["status"]), (Some(2), &2.into()));
    assert!(answer["error"].as_str().unwrap().contains("out of range"), "{answer}");
}

/// Files come from others. One that is too long, or never ends, is not read to its end.
#[test]
fn files_of_text_that_are_too_long_are_refused_and_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let long = directory.path().join("long.toml");
    let file = std::fs::File::create(&long).unwrap();
    // A gigabyte of nothing, which takes no room.
    file.set_len(1 << 30).unwrap();
    for file in [long.to_str().unwrap(), "/dev/zero"] {
        for line in [
            format!("collection check {file}"),
            format!("collection show {file}"),
            format!("account collection {file} --delta 1e-6"),
            format!("send --collection {file} --values a.csv --column a"),
            format!("serve mix --config {file}"),
            format!("token --file {file} --name reader --role viewer"),
            format!("results --analyzer http://127.0.0.1:9 --token-file {file}"),
        ] {
            assert_refused(&line, 1, "longer than 1048576 bytes");
        }
    }
}

/// The reader of a pipe may leave before all is written.
#[test]
fn completions_end_quietly_when_nobody_reads_on() {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("throng"))
        .args(["completions", "bash"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert_eq!(said, "");
}

#[test]
fn columns_of_files_are_simulated_and_bad_ones_say_where() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data");
    let answer = json(&format!(
        "simulate burst-histogram --values {data}/flights.csv --column carrier --repeat 3 --seed 1 \
         --max-messages 9 --norm-sub"
    ));
    assert_eq!(answer["n"], 20_000);
    assert!(answer["rmse_norm_sub"].as_f64().unwrap() > 0.0);
    let answer = json(&format!(
        "simulate sliced-sum --values {data}/flights.csv --column delay_minutes --low -15 --high \
         120 --repeat 3 --seed 1"
    ));
    assert_eq!(answer["n"], 20_000);
    let answer = json(&format!(
        "simulate additive-histogram --values {data}/browsers.csv --column browser --weights share \
         --n 50000 --repeat 3 --seed 1"
    ));
    assert_eq!(answer["n"], 50_000);
    for (line, says) in [
        (
            format!("simulate bit-sum --values {data}/flights.csv --column late"),
            "it has delay_minutes",
        ),
        (
            format!("simulate bit-sum --values {data}/flights.csv --column carrier"),
            "line 2: not a bit",
        ),
        (format!("simulate bit-sum --values {data}/flights.csv"), "--column is needed"),
        (format!("simulate bit-sum --values {data}/nothing.csv --column x"), "cannot read"),
        ("simulate bit-sum".into(), "--n is needed"),
        ("simulate kary-response --n 1000".into(), "--size is needed"),
        ("simulate split-and-mix --n 1000".into(), "--fragile"),
        ("audit nonsense --n 10 --epsilon 1 --delta 1e-6".into(), "not a mechanism"),
        ("audit bit-sum --n 100 --epsilon 1 --delta 1e-3 --weaken 0.5".into(), "1 or more"),
        (
            "audit longitudinal --size 4 --n 100 --epsilon 1 --delta 1e-3 --chain".into(),
            "all its periods",
        ),
        ("audit bit-sum --n 1e8 --epsilon 1 --delta 1e-3 --chain".into(), "would do"),
        (
            "audit bit-sum --n 20 --epsilon 1 --delta 1e-3 --chain --seconds 2".into(),
            "is the least",
        ),
        ("plan --value category --n 1000 --epsilon 1 --delta 1e-6".into(), "--size is needed"),
        ("simulate --collection /dev/null".into(), "is not a collection"),
    ] {
        let output = throng().args(line.split_whitespace()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_ne!(output.status.code(), Some(0), "{line}");
        assert!(error.contains(says), "{line}: {error}");
    }
}

#[test]
fn a_token_is_shown_once_and_kept_as_a_digest() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let named = |more: &str| format!("token {more} --file {}", file.display());
    let output =
        throng().args(named("--role viewer --name me").split_whitespace()).output().unwrap();
    assert!(output.status.success());
    let secret = String::from_utf8(output.stdout).unwrap();
    let secret = secret.strip_suffix('\n').unwrap();
    assert!(secret.starts_with("throng_") && secret.len() == 7 + 64, "{}", secret.len());
    assert!(!String::from_utf8_lossy(&output.stderr).contains(secret));
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("name = \"me\"") && !kept.contains(&secret[7..]));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let made = json(&named("--role operator --name night"));
    assert!(made["token"].is_string() && made["role"] == "operator");
    for (line, code, says) in [
        (named("--role viewer --name me"), 1, "choose another name"),
        (named("--revoke you"), 1, "it has me, night"),
        (named("--role admin --name x"), 2, "viewer, operator"),
        (named("--name x"), 2, "--role"),
    ] {
        assert_refused(&line, code, says);
    }
    assert_eq!(json(&named("--revoke me"))["revoked"], "me");
    let left = std::fs::read_to_string(&file).unwrap();
    assert!(!left.contains("\"me\"") && left.contains("night"), "{left}");
}

/// An analyzer that answers everyone the same: whoever reads is told what to do.
#[test]
fn results_say_what_to_do_about_a_missing_or_wrong_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token").display().to_string();
    std::fs::write(&file, "throng_00\n").unwrap();
    for (status, more, says) in [
        ("401 Unauthorized", String::new(), "asks for a token"),
        ("401 Unauthorized", format!("--token-file {file}"), "does not know this token"),
        ("403 Forbidden", format!("--token-file {file}"), "token of an operator"),
        ("404 Not Found", String::new(), "is 127.0.0.1 an analyzer?"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let line = format!("results --analyzer http://{address} {more}");
        let output = throng().args(line.split_whitespace()).env_remove("THRONG_TOKEN").output();
        let error = String::from_utf8(output.unwrap().stderr).unwrap();
        let error = error.replace(&address.to_string(), "127.0.0.1").replace("http://", "");
        assert!(error.contains(says), "{line}: {error}");
        let request = server.join().unwrap().to_lowercase();
        assert_eq!(request.contains("authorization: bearer throng_00"), !more.is_empty());
    }
    let line = format!("results --analyzer http://192.0.2.1:8003 --token-file {file}");
    let output = throng().args(line.split_whitespace()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("in the clear"));
}

/// What is typed wrongly is answered in the terms of who typed it.
#[test]
fn wrong_input_is_told_where_it_is_and_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("cut.toml"), "[question]\ntext = \"a\"\nvalue\n").unwrap();
    std::fs::write(path("people.csv"), "name\nann\n").unwrap();
    json(&format!("keygen --out {}", path("north.key")));
    for (line, code, says) in [
        (format!("collection check {}", path("cut.toml")), 1, "line 3: "),
        ("calibrate bit-sum --n -5 --epsilon 1 --delta 1e-6".into(), 2, "whole number from 0"),
        ("calibrate bit-sum --n 500 --epsilon -1 --delta 1e-6".into(), 2, "0 or more"),
        (
            "calibrate crowd --epsilon0 20 --epsilon 0.001 --delta 1e-12".into(),
            1,
            "no crowd up to 1e10",
        ),
        ("plan --value category --n 1000 --epsilon 1 --delta 1e-6".into(), 2, "--size is needed"),
        (format!("keygen --out {}", path("north.key")), 1, "never replaced: choose another"),
        (format!("keygen --show {}", path("people.csv")), 1, "not an identity"),
    ] {
        assert_refused(&line, code, says);
    }
}

/// A number of labels says how many categories there are.
#[test]
fn labels_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("systems.toml").display().to_string();
    let key = folder.path().join("a.key").display().to_string();
    let identity = json(&format!("keygen --out {key}"))["identity"].as_str().unwrap().to_string();
    let other = folder.path().join("b.key").display().to_string();
    let other = json(&format!("keygen --out {other}"))["identity"].as_str().unwrap().to_string();
    json(&format!(
        "collection new {file} --value category --labels linux,mac,win --n 2000 --epsilon 1 \
         --delta 1e-6 --corrupt 0.05 --mix a=http://127.0.0.1:1={identity} \
         --analyzer b=http://127.0.0.1:2={other}"
    ));
    let shown = json(&format!("collection show {file}"));
    assert_eq!(shown["question"]["labels"].as_array().unwrap().len(), 3);
}

/// A category that nobody has named is told by its row and the names there are, not by itself.
#[test]
fn an_unknown_category_is_told_by_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let identity = |name: &str| {
        let made = json(&format!("keygen --out {}", path(name)));
        made["identity"].as_str().unwrap().to_string()
    };
    let (mix, analyzer) = (identity("a.key"), identity("b.key"));
    json(&format!(
        "collection new {} --mechanism kary-response --labels linux,mac --n 2000 --epsilon 1 \
         --delta 1e-6 --corrupt 0.05 --mix a=http://127.0.0.1:1={mix} \
         --analyzer b=http://127.0.0.1:2={analyzer}",
        path("systems.toml")
    ));
    std::fs::write(path("people.csv"), "system\nmac\nlinux\nsecret-os\n").unwrap();
    let line = format!(
        "send --collection {} --values {} --column system",
        path("systems.toml"),
        path("people.csv")
    );
    assert_refused(&line, 1, "row 3 below the head holds a category");
    assert_refused(&line, 1, "there are linux, mac");
    let output = throng().args(line.split_whitespace()).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("secret-os"));
}

#[test]
fn with_json_an_error_is_json_too() {
    for (line, status) in [
        ("results --analyzer http://127.0.0.1:9", 1),
        ("calibrate bit-sum --n 500 --epsilon -1 --delta 1e-6", 2),
        ("plan --value nonsense", 2),
    ] {
        let output = throng().args(line.split_whitespace()).arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{line}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["status"], status, "{line}");
        let told = String::from_utf8(output.stderr).unwrap();
        let told = told.trim_end().strip_prefix("error: ").unwrap().to_string();
        assert_eq!(answer["error"], told, "{line}");
    }
    // Help is an answer, not an error.
    let help = throng().args(["plan", "--help", "--json"]).output().unwrap();
    assert!(help.status.success() && help.stdout.starts_with(b"Every mechanism"));
}
