//! `throng rounds` as a newcomer runs it, each through real mixes on loopback.

use assert_cmd::Command;
use serde_json::Value;

fn throng(args: &[&str]) -> (bool, Value) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("throng"))
        .arg("--json")
        .args(args)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{args:?}: {text}{error}"));
    (output.status.success(), json)
}

#[test]
fn two_clients_learn_whether_both_said_yes() {
    for (alice, bob) in [("yes", "yes"), ("yes", "no")] {
        let (well, told) = throng(&["rounds", "and", "--alice", alice, "--bob", bob]);
        assert!(well, "{told}");
        let both = alice == "yes" && bob == "yes";
        for field in ["cards", "alice_learns", "bob_learns"] {
            assert_eq!(told[field], both, "{field}");
        }
        assert_eq!(told["carol_learns"], false);
        assert_eq!(told["cost"]["participants"], 3);
        assert!(told["cost"]["member"]["bytes_sent"].as_u64().unwrap() > 0);
    }
}

#[test]
fn pairs_agree_by_either_method() {
    for (method, messages) in [("bits", 444), ("cards", 66)] {
        let (well, told) = throng(&["rounds", "keys", "--pairs", "20", "--method", method]);
        assert!(well, "{told}");
        assert_eq!((&told["agreed"], &told["failed_at_first"]), (&20.into(), &0.into()));
        assert_eq!(told["messages"], messages + 1);
        assert!(told["entropy_bits"].as_f64().unwrap() >= 128.0);
    }
}

/// A pair fails with probability 0.03195…; of 200 pairs more than 30 fail with probability below
/// 1e-11.
#[test]
fn pairs_that_failed_try_again() {
    let few = ["rounds", "keys", "--pairs", "200", "--bits", "8", "--positions", "24"];
    let (well, told) = throng(&few);
    assert!(well, "{told}");
    assert_eq!(told["agreed"], 200);
    assert!(told["failed_at_first"].as_u64().unwrap() <= 30, "{told}");

    // With as many positions as bits nearly all fail, and there is no second round.
    let hopeless = ["rounds", "keys", "--pairs", "5", "--bits", "64", "--positions", "64"];
    let (well, told) = throng(&[&hopeless[..], &["--retries", "0"]].concat());
    assert!(!well);
    assert_eq!((&told["agreed"], &told["failed_at_first"]), (&0.into(), &5.into()));
}

/// At this epsilon the noise is 0 but for a chance of 2/(1 + e^14) < 2e-6, so the sum is seen to be
/// right.
#[test]
fn a_sum_survives_dropouts() {
    let few = ["rounds", "sum", "--n", "15", "--bits", "1", "--drop-in-ten", "2"];
    let (well, told) = throng(&[&few[..], &["--epsilon", "14", "--delta", "1e-6"]].concat());
    assert!(well, "{told}");
    let run = &told["runs"][0];
    assert_eq!(
        (&run["n"], &run["left_out"], &run["members_lost"]),
        (&15.into(), &2.into(), &1.into())
    );
    assert_eq!((&run["released"], &run["error"]), (&run["truth"], &0.into()));
    assert_eq!(told["sensitivity"], 1);
    assert!(told["delta"].as_f64().unwrap() <= 1e-6);
}

#[test]
fn many_rounds_err_by_the_central_noise_and_one_round_by_more() {
    let out = tempfile::TempDir::new().unwrap();
    let path = out.path().join("plots");
    let directory = path.to_str().unwrap();
    let (well, told) =
        throng(&["rounds", "xor-sum", "--n", "4,16", "--repeat", "8", "--out", directory]);
    assert!(well, "{told}");
    let [small, large] = [0, 1].map(|run| &told["runs"][run]);
    let predicted = |run: &Value, of: &str| run[of]["predicted"].as_f64().unwrap();
    assert_eq!(predicted(small, "many_rounds"), predicted(large, "many_rounds"));
    let growth = predicted(large, "one_round") / predicted(small, "one_round");
    assert!((growth - 2.0).abs() < 1e-3, "four times as many, twice the error: {growth}");
    for file in ["xor-sum.svg", "xor-sum.csv"] {
        assert!(path.join(file).exists(), "{file}");
    }
}

#[test]
fn a_paused_protocol_answers_what_nobody_asked() {
    let (well, told) =
        throng(&["rounds", "attack", "--n", "60", "--epsilon", "20", "--queries", "3000"]);
    assert!(well, "{told}");
    // A bit is flipped with probability below 3e-9, and 3000 questions find what is not.
    assert_eq!(told["recovered"], 1.0);
    assert_eq!(told["steps"].as_array().unwrap().len(), 5);
}

#[test]
fn a_board_is_checked_and_shown_like_a_collection() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("board.toml");
    let text = r#"
        board = { about = "Keys for the choir", messages = 66, payload = 18, crowd = 10,
                  rounds = 3 }
        schedule = { start = 1000, every = "10m", grace = "1m", below = "expire" }
        mix = [{ name = "north", url = "https://north.example",
                 identity = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c" }]
        analyzer = { name = "counter", url = "https://counter.example",
                     identity = "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394" }
    "#;
    std::fs::write(&file, text).unwrap();
    for command in ["check", "show"] {
        let (well, told) = throng(&["collection", command, file.to_str().unwrap()]);
        assert!(well);
        assert_eq!((&told["kind"], &told["rounds"]), (&"board".into(), &3.into()));
        assert_eq!(told["bytes_per_report"], 48 + 66 * (18 + 48));
    }
    std::fs::write(&file, text.replace("crowd = 10", "crowd = 1")).unwrap();
    let mut check = Command::new(assert_cmd::cargo::cargo_bin!("throng"));
    let output = check.args(["collection", "check", file.to_str().unwrap()]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("board.crowd"), "{error}");
}

#[test]
fn what_cannot_be_is_refused_with_what_would_do() {
    let refused = |args: &[&str], words: &str| {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("throng"))
            .arg("rounds")
            .args(args)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
        assert!(output.stdout.is_empty());
    };
    refused(&["sum", "--n", "4"], "5..=2000");
    refused(&["sum", "--n", "6", "--members", "7"], "fewer than the 7 members");
    refused(&["sum", "--drop-members", "3"], "can lose 2");
    refused(&["sum", "--members", "4", "--corrupt", "2"], "from 5 to 64");
    refused(&["keys", "--bits", "128", "--positions", "100"], "from 1 to the number of positions");
    refused(&["xor-sum", "--n", "7"], "even");
    refused(&["attack", "--n", "9"], "even");
    refused(&["attack", "--epsilon", "0"], "epsilon");
    refused(&["keys", "--positions", "10", "--failure", "5"], "cannot be used with");
}
