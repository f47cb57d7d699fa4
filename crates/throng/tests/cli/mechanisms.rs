//! Every mechanism through every command that takes one.

use crate::{json, throng};
use serde_json::Value;
use throng_mechanism::{Key, Kind};

/// Every mechanism, with the arguments that its question needs.
fn keys() -> impl Iterator<Item = (Key, String)> {
    Key::ALL.into_iter().map(|key| {
        let size = match key.kind() {
            Kind::Bit | Kind::Real => "",
            Kind::Category | Kind::State => " --size 4",
            Kind::Text => " --size 16 --cohorts 4",
            Kind::Attributes => " --size 3",
        };
        let short = if key.row().slow { " --max-messages 9" } else { "" };
        let few = if key == Key::RealSum { " --max-messages 20" } else { "" };
        let fragile = if key.row().fragile { " --fragile" } else { "" };
        (key, [size, short, few, fragile].concat())
    })
}

#[test]
fn every_mechanism_is_simulated_with_the_error_predicted() {
    for (key, more) in keys() {
        let line =
            format!("simulate {key} --n 2000 --epsilon 1 --delta 1e-6 --repeat 20 --seed 7 {more}");
        let answer = json(&line);
        assert_eq!(answer["mechanism"], key.name());
        let number =
            |field: &str| answer[field].as_f64().unwrap_or_else(|| panic!("{line}: {field}"));
        assert_eq!((number("n"), number("repeat")), (2000.0, 20.0));
        assert!(number("bias").is_finite() && (0.0..=1.0).contains(&number("coverage")), "{line}");
        // Twenty runs tell a factor of two. Rare strings are not found at all in so small a crowd.
        if key.kind() != Kind::Text {
            let ratio = number("rmse") / number("predicted_rmse");
            assert!((0.5..2.0).contains(&ratio), "{line}: {ratio}");
        }
    }
}

#[test]
fn every_mechanism_is_audited_and_a_weakened_one_is_caught() {
    for (key, more) in keys() {
        let line =
            format!("audit {key} --n 200 --epsilon 1 --delta 1e-2 --runs 400 --seed 7 {more}");
        let answer = json(&line);
        assert_eq!(answer["mechanism"], key.name());
        assert_eq!(answer["consistent"], true, "{line}");
        let (low, claim) = (&answer["epsilon_lower"], &answer["epsilon_claimed"]);
        assert!(low.as_f64().unwrap() <= claim.as_f64().unwrap(), "{line}");
        assert!(answer["confidence"].is_number() && answer["delta"].is_number());
    }
    let line = "audit burst-count --n 500 --epsilon 1 --delta 1e-4 --weaken 4 --runs 2000 --seed 7";
    let output = throng().args(line.split_whitespace()).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["consistent"], false);
    assert!(answer["caught"].as_str().unwrap().contains("CAUGHT"));
}

#[test]
fn every_mechanism_is_calibrated_on_the_safe_side() {
    for (key, more) in keys() {
        // These have arguments of their own.
        let more = if key == Key::KaryResponse { "--k 4".into() } else { more };
        let line = format!("calibrate {key} --n 5000 --epsilon 1 --delta 1e-6 {more}");
        let answer = json(&line);
        assert!(answer["delta_upper"].as_f64().unwrap() <= 1e-6, "{line}");
        assert!(answer["standard_error"].as_f64().unwrap() > 0.0, "{line}");
        let floor = &answer["local_floor"];
        assert!(floor.is_number() || floor == "infinity", "{line}: {floor}");
    }
}

#[test]
fn every_mechanism_is_accounted_for_from_its_parameters() {
    for line in [
        "randomized-response --n 1e4 --epsilon0 2",
        "kary-response --n 1e4 --epsilon0 2 --size 10",
        "kary-response --n 1e4 --epsilon0 2 --size 2",
        "subset-selection --n 1e4 --epsilon0 2 --size 10",
        "laplace-mean --n 1e4 --epsilon0 2",
        "one-bit-mean --n 1e4 --lambda 68",
        "histogram --n 1e4 --lambda 200",
        "selection --n 1e4 --lambda 1000 --size 5",
        "coin-count --n 1e4 --p 0.01",
        "additive-histogram --n 1e4 --p 0.1 --size 10",
        "burst-count --n 1e4 --pairs 0.01,0.005 --plus 3e-5,2e-5 --minus 3e-5,2e-5",
        "burst-histogram --n 1e4 --size 4 --pairs 0.1,0.05 --plus 4e-3,4e-3 --minus 4e-3,4e-3",
        "sliced-sum --n 1e4 --weights 0.03,0.03,0.02",
        "split-and-mix --n 1e4 --noise-epsilon 1 --noise-delta 1e-9",
    ] {
        for query in ["--delta 1e-5", "--epsilon 1.5"] {
            let answer = json(&format!("account {line} {query}"));
            let upper = if query.contains("delta") { "epsilon_upper" } else { "delta_upper" };
            assert!(answer[upper].as_f64().unwrap() >= 0.0, "{line}");
            let floor = &answer["local_floor"];
            assert!(floor.is_number() || floor == "infinity", "{line}: {floor}");
        }
    }
}

// The arguments of the account are the printed fields that it knows, and nothing else.
#[test]
fn every_calibration_can_be_fed_to_the_account() {
    let promise = "--n 3000 --epsilon 1 --delta 1e-6";
    for (key, more) in keys() {
        // Over several epochs those with a command of their own print the sampler's integers.
        let own =
            ["bit-sum", "two-message-count", "real-sum", "kary-response"].contains(&key.name());
        for epochs in if own { &["1", "30"][..] } else { &["1"] } {
            let more = if key == Key::KaryResponse { "--size 4" } else { &more };
            let printed = json(&format!("calibrate {key} {promise} --epochs {epochs} {more}"));
            let account = format!("account {key} {}", arguments(key, &printed));
            let [epsilon, delta] = match *epochs {
                "1" => ["epsilon", "delta"],
                _ => ["each_epsilon", "each_delta"],
            }
            .map(|field| printed[field].as_f64().unwrap());

            let answer = json(&format!("{account} --epsilon {epsilon}"));
            let found = answer["delta_upper"].as_f64().unwrap();
            let told = printed["delta_upper"].as_f64().unwrap();
            assert!(found <= delta, "{account}: {found} above {delta}");
            assert!((found - told).abs() <= 1e-6 * told, "{account}: {found} for {told}");
            let answer = json(&format!("{account} --delta {delta}"));
            let found = answer["epsilon_upper"].as_f64().unwrap();
            assert!(found <= epsilon * (1.0 + 1e-9), "{account}: {found} above {epsilon}");
        }
    }
}

/// The printed fields that the account of a mechanism has arguments for, as arguments.
fn arguments(key: Key, printed: &Value) -> String {
    let help = throng().args(["account", key.name(), "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    // The same chance in other words, and the promise.
    let left_out = |name: &str| match name {
        "epsilon" | "delta" => true,
        "lambda" | "epsilon0" => !printed["flip"].is_null(),
        _ => false,
    };
    let known = |name: &str| {
        let named = |word: &str| word.strip_prefix("--").unwrap_or(word) == name;
        // [alias: --k] or [aliases: --k, --columns]
        let aliases = help.split("[alias").skip(1).filter_map(|rest| rest.split(']').next());
        help.split_whitespace().any(|word| word.starts_with("--") && named(word))
            || aliases.flat_map(|list| list.split([' ', ','])).any(named)
    };
    let fields = printed.as_object().unwrap().iter();
    let arguments = fields.filter_map(|(field, value)| {
        let name = field.replace('_', "-");
        let text = match value {
            Value::Array(list) => list.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
            one => one.to_string(),
        };
        (known(&name) && !left_out(&name)).then(|| format!("--{name} {text}"))
    });
    arguments.collect::<Vec<_>>().join(" ")
}
