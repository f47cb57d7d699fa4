//! The command line as a contract: names, flags, JSON fields and exit codes.

use assert_cmd::Command;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use throng_mechanism::{Key, Kind};

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

#[test]
fn a_plan_recommends_first_and_writes_a_collection_that_can_be_used() {
    let folder = std::env::temp_dir().join(format!("throng-plan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, plot) = (folder.join("plan.toml"), folder.join("plan.svg"));
    for (value, recommended) in [
        ("bit", "burst-count"),
        ("real", "sliced-sum"),
        ("category --size 10", "burst-histogram"),
        ("string", "rappor"),
        ("attributes --size 5", "selection"),
        ("state --size 8", "longitudinal"),
    ] {
        let answer = json(&format!("plan --value {value} --n 1e5 --epsilon 1 --delta 1e-6"));
        let options = answer["options"].as_array().unwrap();
        assert_eq!(options[0]["mechanism"], recommended);
        assert!(options.iter().skip(1).all(|option| option["recommended"] == false));
        for field in ["rmse", "half_width", "messages", "bytes"] {
            assert!(options.iter().all(|option| option[field].is_number()), "{value}: {field}");
        }
        assert!(
            !answer["local"].is_null()
                && answer["central"].is_object() | answer["central"].is_null()
        );
    }
    // Asked every day for a year, the order is another, and the columns say what it costs.
    let year = json("plan --value bit --n 1e6 --epsilon 1 --delta 1e-6 --epochs 365 --corrupt 0");
    let best = &year["options"][0];
    let number = |name: &str| best[name].as_f64().unwrap();
    assert!(number("rmse") <= 1.05 * 80.6, "{best}");
    assert!(number("lifetime_epsilon") <= 1.0 && number("lifetime_epsilon") > 0.99, "{best}");
    assert!(number("each_epsilon") < 0.1 && number("advantage") < 0.01, "{best}");
    assert!((0.05..0.2).contains(&number("lifetime_advantage")), "{best}");
    assert!((number("rmse_share") - number("rmse") / 1e6).abs() < 1e-15);
    let mean = json("plan --value real --low -15 --high 120 --n 1e5 --epsilon 1 --delta 1e-6");
    let best = &mean["options"][0];
    let expected = best["rmse"].as_f64().unwrap() * 135.0 / 1e5;
    assert!((best["rmse_mean"].as_f64().unwrap() - expected).abs() < 1e-9, "{best}");
    let few = json("plan --value bit --n 100 --epsilon 0.05 --delta 1e-6 --epochs 30");
    assert_eq!(few["options"][0]["worthless"], true);
    // A finite local floor rules the clear bags out; missing users cost noise.
    let floor = json("plan --value bit --n 1e5 --epsilon 1 --delta 1e-6 --local-floor 9");
    assert!(floor["options"].as_array().unwrap().iter().all(|o| o["local_floor"].is_number()));
    let rmse = |more: &str| {
        let line =
            format!("plan --value bit --n 1e5 --epsilon 1 --delta 1e-6 --max-messages 2 {more}");
        json(&line)["options"][0]["rmse"].as_f64().unwrap()
    };
    assert!(rmse("--gamma 0.3 --dropout 0.3") > 1.3 * rmse(""));
    let line = format!(
        "plan --value bit --n 2000 --epsilon 1 --delta 1e-6 --max-messages 2 --write {} --plot {}",
        file.display(),
        plot.display()
    );
    json(&line);
    assert!(std::fs::read_to_string(&plot).unwrap().starts_with("<svg"));
    let simulated = json(&format!("simulate --collection {} --repeat 5 --seed 1", file.display()));
    assert_eq!(
        (simulated["mechanism"].as_str(), simulated["n"].as_u64()),
        (Some("coin-count"), Some(1900))
    );
    let accounted = json(&format!("account collection {} --delta 1e-6", file.display()));
    assert!(accounted["epsilon_upper"].as_f64().unwrap() <= 1.000_001);
    // The size of the question is in the file too.
    let sized = folder.join("sized.toml");
    json(&format!(
        "plan --value category --size 5 --n 2000 --epsilon 1 --delta 1e-6 --max-messages 2 --write \
         {}",
        sized.display()
    ));
    let simulated = json(&format!("simulate --collection {} --repeat 2 --seed 1", sized.display()));
    assert_eq!(simulated["first_run"].as_array().unwrap().len(), 5);
    // A second plan does not overwrite the first, and a weaker file is found out.
    let again = throng().args(line.split_whitespace()).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    let text = std::fs::read_to_string(&file).unwrap().replace("crowd = 1900", "crowd = 1500");
    std::fs::write(&file, text).unwrap();
    let line = format!("account collection {} --delta 1e-6", file.display());
    let broken = throng().args(line.split_whitespace()).output().unwrap();
    let error = String::from_utf8(broken.stderr).unwrap();
    assert!(error.contains("the promise is not kept: with 1500 honest reports"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[expect(clippy::too_many_lines, reason = "one folder, from its first file to what is refused")]
fn a_collection_is_written_checked_and_shown() {
    let folder = std::env::temp_dir().join(format!("throng-collection-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let party = |flag: &str, name: &str| {
        let made = json(&format!("keygen --out {}", path(name)));
        let identity = made["identity"].as_str().unwrap().to_string();
        format!("{flag} {name}=https://{name}.example={identity} ")
    };
    let chain =
        party("--mix", "north") + &party("--mix", "south") + &party("--analyzer", "counter");
    // A secret is for its owner, and not replaced.
    let secret = std::fs::read_to_string(path("north")).unwrap();
    let again = throng().args(["keygen", "--out", &path("north")]).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(path("north")).unwrap(), secret);

    let new = format!(
        "collection new {} --mechanism coin-count --n 10000 --corrupt 0.1 --epsilon 4 --delta 1e-6 \
         --epochs 30 --start 1700000000 {chain}",
        path("bits.toml")
    );
    let made = json(&new);
    assert_eq!(made["quorum"], 10_000);
    // The promise that is given is for all epochs, and that of one follows from it.
    assert_eq!((made["lifetime_epsilon"].as_f64(), made["epochs"].as_u64()), (Some(4.0), Some(30)));
    assert_eq!(made["lifetime_delta"].as_f64(), Some(1e-6));
    let one = made["epsilon"].as_f64().unwrap();
    // More than an even share, and much less than all.
    assert!(one > 4.0 / 30.0 && one < 1.0, "{one}");
    assert!((made["delta"].as_f64().unwrap() * 60.0 - 1e-6).abs() < 1e-15);
    let checked = json(&format!("collection check {}", path("bits.toml")));
    assert_eq!((&checked["id"], &checked["kept"]), (&made["id"], &Value::Bool(true)));
    assert_eq!(
        (checked["bytes_per_report"].as_u64(), checked["crowd"].as_u64()),
        (Some(242), Some(9_000))
    );
    let shown = json(&format!("collection show {}", path("bits.toml")));
    assert_eq!(shown["local_floor"], "infinity");
    assert_eq!(shown["mix"][1]["name"], "south");
    assert_eq!(shown["lifetime_epsilon"], made["lifetime_epsilon"]);
    let plain = shown["plain"].to_string();
    assert!(plain.contains("as long as the first mix, north, is honest"), "{plain}");
    assert!(plain.contains("whoever put them there, people or mixes"), "{plain}");
    assert!(plain.contains("the messages of a report on all or none"), "{plain}");
    assert!(plain.contains("nothing protects you"), "{plain}");

    // From a draft, and simulated as it is.
    json(&format!(
        "plan --value category --size 3 --n 2000 --epsilon 1 --delta 1e-6 --max-messages 2 --write \
         {}",
        path("draft.toml")
    ));
    let line = format!(
        "collection new {} --terms {} --labels a,b,c --below merge --window 2 --epochs 4 {chain}",
        path("merged.toml"),
        path("draft.toml")
    );
    let merged = json(&line);
    assert!(merged["lifetime_epsilon"].as_f64().unwrap() > 2.0);
    let shown = json(&format!("collection show {}", path("merged.toml")));
    assert_eq!(shown["question"]["labels"], serde_json::json!(["a", "b", "c"]));
    assert!(shown["merged"]["epsilon"].as_f64().unwrap() > 1.9);
    let simulated =
        json(&format!("simulate --collection {} --repeat 2 --seed 1", path("merged.toml")));
    assert_eq!(simulated["n"], 1_900, "the honest ones");

    // An impossible request says why, and fails with its own code.
    let text = std::fs::read_to_string(path("bits.toml")).unwrap();
    std::fs::write(path("small.toml"), text.replace("crowd = 9000", "crowd = 5000")).unwrap();
    std::fs::write(path("typo.toml"), text.replace("corrupt =", "corupt =")).unwrap();
    let fresh = |more: &str| {
        let new = format!("collection new {} --value bit --n 1000", path("none.toml"));
        format!("{new} --epsilon 1 --delta 1e-6 {more} {chain}")
    };
    for (line, code, says) in [
        (new, 1, "exists already"),
        (format!("collection check {}", path("small.toml")), 1, "honest reports, or epsilon 1.1"),
        (format!("collection show {}", path("typo.toml")), 1, "promise.corupt: not known"),
        (format!("collection check {}", path("draft.toml")), 1, "schedule: the section is missing"),
        (format!("collection check {}", path("nowhere.toml")), 1, "cannot read"),
        (fresh("--mechanism coin-count --corrupt 0"), 2, "or --trust-everyone"),
        (fresh("--every 1w"), 2, "such as 90s"),
        (fresh("--labels no,yes"), 2, "question.labels"),
        (fresh("--window 3"), 2, "--below merge"),
        (fresh("--mix west=https://west.example"), 2, "NAME=URL=IDENTITY"),
        (fresh("--epochs 0"), 2, "from 1 to 1e6"),
        (fresh("--lifetime-delta 1e-5"), 2, "--terms"),
        (fresh("").replace("--epsilon 1 ", "--epsilon 12 "), 2, "no promise of privacy"),
    ] {
        assert_refused(&line, code, says);
    }
    assert!(!folder.join("none.toml").exists());
    let high = fresh("--high-epsilon").replace("--epsilon 1 ", "--epsilon 12 ");
    let high = high.replace("none.toml", "high.toml");
    let caution = json(&high)["caution"].to_string();
    assert!(caution.contains("1 time in 162,756"), "{caution}");
    let shown = json(&format!("collection show {}", path("high.toml")));
    assert!(shown["plain"].to_string().contains("no promise of privacy"), "{shown}");

    // Where epochs may be merged, the promise for all of them is kept as it was given.
    let merged = json(&format!(
        "collection new {} --mechanism bit-sum --n 2000 --epsilon 2 --delta 1e-6 --epochs 6 --below \
         merge --window 3 {chain}",
        path("kept.toml")
    ));
    assert_eq!(merged["lifetime_epsilon"].as_f64(), Some(2.0));
    assert_eq!(json(&format!("collection check {}", path("kept.toml")))["kept"], true);

    // What one device spends in several of them: more than in each, less than the sum.
    let plot = path("budget.svg");
    let line = format!("budget {} {}", path("bits.toml"), path("kept.toml"));
    let both = json(&format!("{line} --plot {plot}"));
    let total = both["lifetime"]["epsilon"].as_f64().unwrap();
    assert!(total > 4.0 && total < 5.5, "{total}");
    assert_eq!(both["lifetime"]["delta"].as_f64(), Some(2e-6));
    let release = both["release"]["epsilon"].as_f64().unwrap();
    assert!(release > one && release < one + merged["epsilon"].as_f64().unwrap());
    let gain = |part: &str| both[part]["advantage"].as_f64().unwrap();
    assert!(0.0 < gain("release") && gain("release") < gain("lifetime") && gain("lifetime") < 1.0);
    assert_eq!(both["collections"].as_array().unwrap().len(), 2);
    assert!(std::fs::read_to_string(plot).unwrap().starts_with("<svg"));
    let strict = json(&format!("{line} --delta 1e-9"));
    assert!(strict["lifetime"]["epsilon"].as_f64().unwrap() > total);
    let twice = format!("budget {} {}", path("bits.toml"), path("bits.toml"));
    assert_refused(&twice, 2, "the same collection");

    // Whoever names the categories has said how many there are.
    let named = format!(
        "collection new {} --mechanism kary-response --labels a,b,c --n 1000 --epsilon 1 --delta \
         1e-6 {chain}",
        path("named.toml")
    );
    assert_eq!(json(&named)["corrupt"], 0.05, "a share that nobody gave");
    // Nobody is trusted unasked; who is, is warned of.
    json(&format!("{} --trust-everyone", fresh("--mechanism coin-count --corrupt 0")));
    let checked = throng().args(["collection", "check", &path("none.toml")]).output().unwrap();
    let said = String::from_utf8(checked.stdout).unwrap();
    assert!(said.contains("corrupt is 0") && said.contains("nothing is sure"), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A share that nobody gave is never 0 where a promise is made, and it is said.
#[test]
fn the_share_that_may_be_corrupt_has_a_stated_default() {
    for line in [
        "plan --value bit --n 1000 --epsilon 1 --delta 1e-6 --max-messages 1",
        "calibrate bit-sum --n 1000 --epsilon 1 --delta 1e-6",
        "audit bit-sum --n 1000 --epsilon 1 --delta 1e-6 --runs 100 --seed 1",
    ] {
        let answer = json(line);
        assert_eq!((&answer["honest"], &answer["corrupt"]), (&950.into(), &0.05.into()), "{line}");
        let shown = throng().args(line.split_whitespace()).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("Counting on 95 % of the reports; --corrupt sets it."), "{shown}");
    }
    let line = "simulate bit-sum --n 1000 --epsilon 1 --delta 1e-6 --repeat 2 --seed 1";
    assert_eq!(json(line)["corrupt"], 0.05);
    // The accountant is asked about honest reports.
    let answer = json("account bit-sum --n 1000 --flip 0.1 --delta 1e-6");
    assert_eq!(answer["n"], 1000);
    assert!(answer["honest"].is_null());
}

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
