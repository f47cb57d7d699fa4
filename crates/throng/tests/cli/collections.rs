//! Plans and collections: from what is asked for to a file that everyone can check.

use crate::{assert_refused, json, throng};
use serde_json::Value;

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
