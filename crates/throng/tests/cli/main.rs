//! The command line as a contract: names, flags, JSON fields and exit codes.

mod collections;
mod mechanisms;
mod wrong;

use assert_cmd::Command;
use serde_json::Value;

#[test]
fn every_account_answers_with_the_fields_of_the_contract() {
    let by_delta = ["delta", "epsilon_upper", "epsilon_lower"];
    let by_epsilon = ["epsilon", "delta_upper", "delta_lower"];
    for (line, fields) in [
        ("account bit-sum --n 1000 --lambda 64 --delta 1e-6", by_delta),
        ("account bit-sum --n 1000 --lambda 64 --epsilon 0.5", by_epsilon),
        ("account two-message-count --n 1000 --p 0.04 --delta 1e-6", by_delta),
        ("account two-message-count --n 1000 --p 0.04 --epsilon 1", by_epsilon),
        ("account real-sum --n 1000 --lambda 453 --r 32 --delta 1e-6", by_delta),
        ("account real-sum --n 1000 --lambda 453 --r 32 --epsilon 0.9", by_epsilon),
        ("account amplify --n 1e4 --epsilon0 1 --delta 1e-6", by_delta),
        ("account amplify --n 1e4 --epsilon0 1 --epsilon 0.04", by_epsilon),
        (
            "account amplify --n 1e4 --epsilon0 1 --delta 1e-6 --mechanism kary-response --k 10",
            by_delta,
        ),
        (
            "account amplify --n 1e4 --epsilon0 1 --delta 1e-6 --mechanism kary-response --k 2",
            by_delta,
        ),
        (
            "account amplify --n 1e4 --epsilon0 1 --delta 1e-6 --mechanism subset-selection --k 10 \
             --size 3",
            by_delta,
        ),
        (
            "account amplify --n 1e4 --epsilon0 1 --delta 1e-6 --mechanism local-hashing --g 4",
            by_delta,
        ),
        (
            "account amplify --n 1e4 --keep 0.5 --set 0.2 --epsilon 0.1 --mechanism unary-encoding",
            by_epsilon,
        ),
        ("account compose --n 1e4 --epsilon0 1 --delta 1e-6 --rounds 10", by_delta),
        (
            "account longitudinal --periods 8 --epsilon0 1 --n 1e5 --delta 1e-6",
            ["delta", "epsilon_upper", "local_floor"],
        ),
        (
            "account rappor --f 0.5 --p 0.5 --q 0.75 --hashes 2 --reports 5",
            ["epsilon_one", "epsilon_reports", "epsilon_forever"],
        ),
    ] {
        let answer = json(line);
        assert!(answer["mechanism"].is_string(), "{line}");
        for field in fields {
            assert!(answer[field].is_number(), "{line}: {field} in {answer}");
        }
        let ordered = |low: &str, high: &str| match (answer[low].as_f64(), answer[high].as_f64()) {
            (Some(low), Some(high)) => low <= high,
            _ => true,
        };
        assert!(ordered("epsilon_lower", "epsilon_upper"), "{line}");
        assert!(ordered("delta_lower", "delta_upper"), "{line}");
    }
}

#[test]
fn amplification_lists_every_bound_with_its_source() {
    let answer = json("account amplify --n 1e4 --epsilon0 1 --delta 1e-6");
    let bounds = answer["bounds"].as_array().unwrap();
    assert_eq!(bounds.len(), 8);
    let best = answer["epsilon_upper"].as_f64().unwrap();
    for bound in bounds {
        assert!(bound["name"].is_string() && bound["source"].is_string());
        if bound["valid"].as_bool().unwrap() {
            assert!(bound["epsilon"].as_f64().unwrap() >= best);
        } else {
            assert!(bound["epsilon"].is_null() && bound["why"].is_string());
        }
    }
}

#[test]
fn calibration_returns_parameters_that_keep_the_promise() {
    let answer = json("calibrate bit-sum --n 1e4 --epsilon 1 --delta 1e-6 --corrupt 0");
    assert!(answer["delta_upper"].as_f64().unwrap() <= 1e-6);
    assert!((answer["standard_error"].as_f64().unwrap() - 5.84).abs() < 0.02);
    let lambda = answer["lambda"].as_f64().unwrap();
    let again = json(&format!("account bit-sum --n 1e4 --lambda {lambda} --delta 1e-6"));
    assert!((again["epsilon_upper"].as_f64().unwrap() - 1.0).abs() < 1e-5);
    for line in [
        "calibrate two-message-count --n 1e4 --epsilon 1 --delta 1e-6",
        "calibrate real-sum --n 1e3 --epsilon 1 --delta 1e-6 --max-messages 8",
        "calibrate kary-response --k 10 --n 1e4 --epsilon 0.1 --delta 1e-6",
        "calibrate randomized-response --n 1e4 --epsilon 0.1 --delta 1e-6",
    ] {
        let answer = json(line);
        assert!(answer["delta_upper"].as_f64().unwrap() <= 1e-6, "{line}");
        assert!(answer["standard_error"].as_f64().unwrap() > 0.0, "{line}");
        assert!(answer["threshold"].is_u64(), "{line}");
    }
    assert_eq!(
        json("calibrate real-sum --n 1e3 --epsilon 1 --delta 1e-6 --max-messages 8")["r"],
        8
    );
    let crowd =
        json("calibrate crowd --epsilon0 1 --epsilon 0.1 --delta 1e-6")["n"].as_u64().unwrap();
    let delta = |n: u64| {
        let answer = json(&format!("account amplify --n {n} --epsilon0 1 --epsilon 0.1"));
        answer["delta_upper"].as_f64().unwrap()
    };
    assert!(delta(crowd) <= 1e-6 && delta(crowd - 1) > 1e-6, "{crowd}");
    assert!(json("calibrate general --n 1e4 --epsilon 0.1 --delta 1e-6")["epsilon0"].is_number());
    // What is calibrated for many epochs errs more, and one of them costs less.
    for line in [
        "calibrate bit-sum --n 1e4",
        "calibrate two-message-count --n 1e5",
        "calibrate kary-response --k 10 --n 1e5",
        "calibrate randomized-response --n 1e4",
        "calibrate coin-count --n 1e5",
    ] {
        let once = json(&format!("{line} --epsilon 1 --delta 1e-6"));
        let many = json(&format!("{line} --epsilon 1 --delta 1e-6 --epochs 30"));
        let error = |answer: &Value| answer["standard_error"].as_f64().unwrap();
        let ratio = error(&many) / error(&once);
        assert!((2.5..8.0).contains(&ratio), "{line}: {ratio}");
        assert_eq!((once["epochs"].as_u64(), many["epochs"].as_u64()), (Some(1), Some(30)));
        assert!(many["each_epsilon"].as_f64().unwrap() < 0.3, "{line}");
    }
}

#[test]
fn a_corrupt_fraction_costs_privacy() {
    let epsilon = |more: &str| {
        let answer = json(&format!("account amplify --n 1e4 --epsilon0 1 --delta 1e-6 {more}"));
        answer["epsilon_upper"].as_f64().unwrap()
    };
    assert_eq!(
        json("account bit-sum --n 1000 --flip 0.1 --delta 1e-6 --corrupt 0.25")["honest"],
        750
    );
    assert!(epsilon("--corrupt 0.5") > 1.3 * epsilon(""));
}

#[test]
fn trade_off_points_come_with_the_smallest_mu() {
    let answer = json("account bit-sum --n 100 --lambda 58 --delta 1e-6 --alpha 0.05,0.5");
    assert!((answer["beta"][0].as_f64().unwrap() - 0.93912).abs() < 1e-5);
    assert!((answer["beta"][1].as_f64().unwrap() - 0.46298).abs() < 1e-5);
    assert!((answer["mu"].as_f64().unwrap() - 0.1113884).abs() < 1e-6);
}

#[test]
fn bad_usage_is_two_and_a_broken_promise_is_one() {
    for (line, code, says) in [
        ("account bit-sum --n 100 --lambda 100 --delta 1e-6", 2, "below n"),
        ("account bit-sum --n 0 --lambda 1 --delta 1e-6", 2, "1e10"),
        ("account bit-sum --n 100 --lambda 10 --delta 0", 2, "below 1"),
        ("account bit-sum --n 100 --lambda 10 --delta 1", 2, "below 1"),
        ("account bit-sum --n 100 --lambda NaN --delta 1e-6", 2, "lambda"),
        ("account bit-sum --n 100 --lambda 10", 2, "--epsilon"),
        ("account bit-sum --n 100 --lambda 10 --epsilon 1 --delta 1e-6", 2, "cannot be used"),
        ("account bit-sum --n ten --lambda 10 --delta 1e-6", 2, "whole number"),
        ("account amplify --n 1e4 --epsilon0 inf --delta 1e-6", 2, "finite"),
        ("account compose --n 1e4 --epsilon0 1 --delta 1e-6 --rounds 0", 2, "rounds"),
        ("account rappor --f 0.5 --p 0.75 --q 0.5 --hashes 2", 2, "above p"),
        ("account longitudinal --periods 6 --epsilon0 1 --n 1e5 --delta 1e-6", 2, "power of two"),
        ("account two-message-count --n 10000 --p 3.45e-4 --delta 1e-6", 1, "at least"),
        ("calibrate two-message-count --n 1000 --epsilon 0.25 --delta 1e-9", 1, "enlarge"),
        ("account amplify --n 1e4 --epsilon0 1 --delta 1e-6 --mechanism kary-response", 1, "--k"),
        // A missing flag is told before a crowd that cannot be.
        ("account amplify --n 0 --keep 0.5 --delta 1e-6", 1, "--epsilon0"),
        ("figures --out /dev/null/nowhere", 1, "cannot create"),
    ] {
        let output = throng().args(line.split_whitespace()).arg("--json").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {error}");
        assert!(error.contains(says), "{line}: {error}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["error"].as_str().unwrap().contains(says), "{line}: {answer}");
    }
}

#[test]
fn people_get_a_table_without_colour_when_piped() {
    let line = "account amplify --n 1e4 --epsilon0 1 --delta 1e-6";
    let output = throng().args(line.split_whitespace()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("epsilon, at most") && text.contains("strong-clones"));
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn completions_know_the_commands() {
    let output = throng().args(["completions", "bash"]).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("two-message-count"));
}

/// Checks that a command ends with this code and an error that says this.
fn assert_refused(line: &str, code: i32, says: &str) {
    let output = throng().args(line.split_whitespace()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{line}: {error}");
    assert!(error.contains(says), "{line}: {error}");
}

fn json(line: &str) -> Value {
    let output = throng().args(line.split_whitespace()).arg("--json").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn throng() -> Command {
    Command::cargo_bin("throng").unwrap()
}
