//! The demonstration, run as a newcomer would: the estimates and what is said about them are right.

use assert_cmd::Command;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use throng_account::Delta;
use throng_account::tail::success_band;

fn throng(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("throng"));
    command.args(["demo", "--headless"]).args(arguments);
    command
}

fn demo(arguments: &[&str]) -> Value {
    let run = throng(arguments).arg("--json").assert().success();
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

/// The error text of a failing run.
fn refused(arguments: &[&str]) -> String {
    let run = throng(arguments).assert().code(2);
    String::from_utf8_lossy(&run.get_output().stderr).into_owned()
}

/// Checks an estimate against its truth. The seed makes it the same every time. By the normal law
/// any of the hundred or so estimates of all stories is this far off with a chance below 1e-6.
fn assert_near(answer: &Value) {
    let number = |value: &Value| value.as_f64().unwrap();
    let (truth, estimate) = (number(&answer["truth"]), number(&answer["estimate"]));
    let error = number(&answer["standard_error"]);
    assert!((estimate - truth).abs() <= 6.0 * error, "{answer}");
    let (low, high) = (number(&answer["interval"][0]), number(&answer["interval"][1]));
    assert!(low <= estimate && estimate <= high && low < high, "{answer}");
}

/// Checks every field that is promised, and that every estimate is near its truth.
fn told(arguments: &[&str]) -> Value {
    let answer = demo(arguments);
    for field in ["bytes_per_report", "reports_per_second", "seed"] {
        assert!(answer[field].as_u64().or(answer[field].as_f64().map(|x| x as u64)) > Some(0));
    }
    for (epoch, release) in answer["releases"].as_array().unwrap().iter().enumerate() {
        assert_eq!(release["epoch"].as_u64(), Some(epoch as u64));
        for field in ["reports", "epsilon", "delta", "local_floor"] {
            assert!(release[field].as_f64() > Some(0.0), "{field}");
        }
        assert_near(release);
        release["estimates"].as_array().unwrap().iter().for_each(assert_near);
    }
    answer
}

/// Forty epochs through real servers. Were the truth inside each interval with the stated 95 %,
/// fewer would be inside than the limit with a chance of at most 1e-6.
#[test]
fn intervals_cover_the_truth_at_the_stated_rate_through_real_servers() {
    let answer = demo(&["--clients", "120", "--epochs", "40", "--seed", "5"]);
    let releases = answer["releases"].as_array().unwrap();
    assert_eq!(releases.len(), 40);
    let mut inside = 0;
    for (epoch, release) in releases.iter().enumerate() {
        let number = |name: &str| release[name].as_f64().unwrap();
        assert_eq!(release["epoch"].as_u64(), Some(epoch as u64));
        assert_eq!(release["reports"].as_u64(), Some(120));
        assert!(number("epsilon") > 0.0 && number("epsilon") <= 1.0);
        assert!(number("local_floor") > number("epsilon"));
        let interval = release["interval"].as_array().unwrap();
        let (low, high) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
        inside += u64::from((low..=high).contains(&number("truth")));
    }
    let reachable = success_band(inside, 40, Delta::new(1e-6).unwrap()).upper;
    assert!(reachable >= 0.95, "{inside} of 40 intervals cover the truth");
    // What is spent only grows.
    let spent = |release: &Value| release["spent_epsilon"].as_f64().unwrap();
    assert!(releases.windows(2).all(|pair| spent(&pair[0]) <= spent(&pair[1])));
}

#[test]
fn one_mix_and_several_messages_work_too() {
    let answer = demo(&["--clients", "300", "--mixes", "1", "--mechanism", "coin-count"]);
    let release = &answer["releases"][0];
    assert_eq!(release["local_floor"], "infinity");
    assert_eq!(release["reports"].as_u64(), Some(300));
    assert!(answer["bytes_per_report"].as_u64().unwrap() > 100);
}

#[test]
fn crashes_are_the_usual_question() {
    let answer = told(&["--clients", "400", "--seed", "1"]);
    assert_eq!(answer["mechanism"], "bit-sum");
    assert_eq!(answer["releases"][0]["label"], "yes");
}

#[test]
fn delays_are_a_mean_in_minutes_also_under_their_other_name() {
    let answer =
        told(&["--question", "session", "--clients", "400", "--epochs", "2", "--seed", "2"]);
    assert_eq!(answer["question"], "How many minutes late did the flight leave?");
    let truth = answer["releases"][0]["truth"].as_f64().unwrap();
    // The mean of all flights is 10.57, and one flight deviates from it by 25 or so.
    assert!((truth - 10.57).abs() < 10.0, "{truth}");
}

#[test]
fn browsers_are_counted_each_under_its_name() {
    let answer = told(&["--question", "browsers", "--clients", "600", "--seed", "3"]);
    let release = &answer["releases"][0];
    let estimates = release["estimates"].as_array().unwrap();
    assert_eq!((estimates.len(), &estimates[1]["label"]), (15, &Value::from("Chrome")));
    let truth: f64 = estimates.iter().map(|one| one["truth"].as_f64().unwrap()).sum();
    assert_eq!(truth, 600.0);
    assert_eq!(release["estimate"], estimates[0]["estimate"]);
}

/// Few clients need a large epsilon for a name to stand out.
#[test]
fn names_come_out_ranked() {
    let arguments = ["--question", "names", "--clients", "4000", "--epsilon", "9", "--seed", "4"];
    let answer = told(&arguments);
    let estimates = answer["releases"][0]["estimates"].as_array().unwrap();
    assert!(estimates.len() >= 5, "{}", estimates.len());
    let value = |one: &Value| one["estimate"].as_f64().unwrap();
    assert!(estimates.windows(2).all(|pair| value(&pair[0]) >= value(&pair[1])));
}

#[test]
fn aircraft_are_followed_over_time() {
    let answer =
        told(&["--question", "adoption", "--clients", "300", "--epochs", "4", "--seed", "5"]);
    let releases = answer["releases"].as_array().unwrap();
    assert_eq!(releases.len(), 4);
    assert_eq!(releases[3]["label"], "period 4");
    assert_eq!(releases[3]["estimates"].as_array().unwrap().len(), 4);
    // All periods are covered by what the first one cost.
    assert_eq!(releases[0]["spent_epsilon"], releases[3]["spent_epsilon"]);
}

#[test]
fn the_story_goes_to_standard_error_step_by_step() {
    let run = throng(&["--clients", "200"]).assert().success();
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    let steps =
        ["1 keys", "2 collection", "3 clients", "4 mix 1", "5 mix 2", "6 analyzer", "7 release"];
    let places: Vec<_> = steps.iter().map(|step| said.find(&format!("\n{step} "))).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{said}");
    assert!(said.contains("answers are simulated") && !said.contains("Dashboard"), "{said}");
    let result = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(result.contains("truth") && !result.contains("clients"), "{result}");
}

#[test]
fn wrong_arguments_are_refused_with_advice() {
    assert!(refused(&["--mechanism", "kary-response"]).contains("bit-sum"));
    assert!(refused(&["--question", "names", "--mechanism", "bit-sum"]).contains("rappor"));
    assert!(refused(&["--question", "aircraft", "--epochs", "33"]).contains("32 epochs"));
    let said = refused(&["--question", "weather"]);
    let keys = ["crash", "delays", "browsers", "names", "aircraft"];
    assert!(keys.iter().all(|key| said.contains(key)), "{said}");
}

/// A service manager's wish to stop, or a terminal that closes, leaves nothing behind.
#[test]
fn a_demonstration_that_is_told_to_stop_removes_its_data() {
    for signal in ["-TERM", "-HUP"] {
        let place = tempfile::tempdir().unwrap();
        let mut demo = std::process::Command::new(assert_cmd::cargo::cargo_bin!("throng"))
            .args(["demo", "--clients", "200"])
            .env("TMPDIR", place.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(demo.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("Dashboard: ")), "no dashboard");
        assert!(place.path().read_dir().unwrap().next().is_some());
        let id = demo.id().to_string();
        let sent = std::process::Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success() && demo.wait().unwrap().success(), "{signal}");
        assert!(place.path().read_dir().unwrap().next().is_none(), "{signal}");
    }
}
