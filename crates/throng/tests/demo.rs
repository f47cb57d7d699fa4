//! The demonstration, run as a newcomer would: the estimates and what is said about them are right.

use assert_cmd::Command;
use serde_json::Value;
use throng_account::{Delta, success_band};

fn demo(arguments: &[&str]) -> Value {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("throng"));
    let run = command.args(["demo", "--headless", "--json"]).args(arguments).assert().success();
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

/// Forty epochs through real servers. Were the truth inside each interval with the stated 95 %, fewer
/// would be inside than the limit with a chance of at most 1e-6.
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
fn a_mechanism_for_other_values_is_refused_with_advice() {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("throng"));
    let run =
        command.args(["demo", "--headless", "--mechanism", "kary-response"]).assert().failure();
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(said.contains("bit-sum"), "{said}");
}
