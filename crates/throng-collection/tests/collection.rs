//! `vectors/collection.json`: files, their canonical bytes and ids, and files that are refused.
//!
//! `THRONG_WRITE_VECTORS=1` writes the file anew.

use serde_json::{Value, json};
use throng_collection::{Collection, Terms};
use throng_wire::{Identity, hex};

#[test]
fn files_are_read_as_the_vectors_say() {
    let cases: Vec<Value> = accepted()
        .into_iter()
        .map(|(name, toml)| {
            let collection = Collection::parse(&toml).unwrap_or_else(|e| panic!("{name}: {e}"));
            let (bytes, id) = (hex(&collection.canonical()), collection.id().to_string());
            json!({"name": name, "toml": toml, "canonical": bytes, "id": id})
        })
        .chain(refused().into_iter().map(|(names, toml)| json!({"toml": toml, "refused": names})))
        .collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/collection.json");
    if std::env::var_os("THRONG_WRITE_VECTORS").is_some() {
        std::fs::write(file, format!("{:#}\n", Value::Array(cases.clone()))).unwrap();
    }
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(stored, Value::Array(cases));
}

#[test]
fn what_is_refused_says_which_field() {
    for (names, toml) in refused() {
        let error = Collection::parse(&toml).expect_err(names).to_string();
        assert!(error.starts_with(names), "{names}: {error}");
    }
}

#[test]
fn a_file_survives_writing() {
    for (name, toml) in accepted() {
        let collection = Collection::parse(&toml).unwrap();
        let written = Collection::parse(&collection.to_toml()).unwrap();
        assert_eq!((written.id(), &written), (collection.id(), &collection), "{name}");
        // A draft is the same terms, and a collection is a draft.
        let terms = Terms::parse(&toml).unwrap();
        assert_eq!(terms, collection.terms);
        if name != "merged" {
            assert_eq!(Terms::parse(&terms.to_toml()), Ok(terms));
        }
    }
}

#[test]
fn comments_and_order_are_not_in_the_id() {
    let ids: Vec<_> = accepted()
        .iter()
        .map(|(name, toml)| (*name, Collection::parse(toml).unwrap().id()))
        .collect();
    for (name, id) in &ids {
        for (other, other_id) in &ids {
            let same = name == other || [*name, *other].iter().all(|n| n.starts_with("bits"));
            assert_eq!(id == other_id, same, "{name}, {other}");
        }
    }
}

#[test]
fn a_damaged_file_never_panics() {
    let text = bits();
    for place in 0..text.len() {
        for damage in ["", "9", "-", "\"", "x"] {
            let mut damaged = text.clone();
            damaged.replace_range(place..=place, damage);
            if let Ok(found) = Collection::parse(&damaged) {
                let _ = found.id();
            }
        }
    }
}

fn accepted() -> Vec<(&'static str, String)> {
    let mut other_order = bits();
    let schedule = other_order.find("[schedule]").unwrap();
    let end = other_order.find("[[mix]]").unwrap();
    let moved = other_order[schedule..end].to_string();
    other_order.replace_range(schedule..end, "");
    other_order = format!("# A comment.\n{other_order}\n{moved}")
        .replace("epsilon = 1.0", "epsilon = 1")
        .replace("every = \"24h\"", "every = \"1d\"")
        .replace("flip = \"4611686018427387904\"", "flip = 4611686018427387904")
        .replace("corrupt = 0.0\n", "");
    let merged = bits()
        .replace("value = \"bit\"", "value = \"real\"\nlow = -15.0\nhigh = 120\nunit = \"min\"")
        .replace("\"bit-sum\"", "\"one-bit-mean\"\nbits = 1")
        .replace("corrupt = 0.0", "corrupt = 0.25")
        .replace("epochs = 1", "epochs = 5")
        .replace("lifetime_epsilon = 1.0", "lifetime_epsilon = 30.0")
        .replace("below = \"expire\"", "below = \"merge\"\nwindow = 2");
    let life = bits()
        .replace("value = \"bit\"", "value = \"state\"")
        .replace("epochs = 1", "epochs = 4")
        .replace(
            "key = \"bit-sum\"\nflip = \"4611686018427387904\"",
            "key = \"longitudinal\"\nperiods = 4\nchanges = 1\nkeep = \"13835058055282163712\"",
        );
    let one_mix = {
        let text = bits();
        let second = text.rfind("[[mix]]").unwrap();
        let end = text.find("[analyzer]").unwrap();
        format!("{}{}", &text[..second], &text[end..])
    };
    vec![
        ("bits", bits()),
        ("bits, otherwise written", other_order),
        ("categories", categories()),
        ("merged", merged),
        ("a life", life),
        ("one mix", one_mix),
    ]
}

/// Files, and how their error begins.
fn refused() -> Vec<(&'static str, String)> {
    let mut list: Vec<(&'static str, String)> = Vec::new();
    let mut change = |names, from: &str, to: &str| {
        let text = bits();
        assert!(text.contains(from), "{from}");
        list.push((names, text.replacen(from, to, 1)));
    };
    // Sections and keys that are not there, or not known.
    change("file:", "[question]", "[question");
    change("question:", "[question]", "[questions]");
    change("promise:", "[promise]", "[promises]");
    change("mechanism:", "[mechanism]", "[machine]");
    change("schedule:", "[schedule]", "[schedules]");
    change("analyzer:", "[analyzer]", "[analyser]");
    change("extra:", "[question]", "[extra]\n[question]");
    change("question.colour:", "value =", "colour = \"red\"\nvalue =");
    change("promise.epsilom:", "epsilon = 1.0", "epsilom = 1.0");
    change("promise.lifetime:", "lifetime_epsilon", "lifetime");
    change("promise.lifetime_delta:", "lifetime_delta = 1e-6\n", "");
    change("mechanism.flap:", "flip =", "flap = 1\nflip =");
    change("schedule.windows:", "below =", "windows = 2\nbelow =");
    change("mix[2].key:", "name = \"south\"", "name = \"south\"\nkey = 1");
    change("analyzer.hop:", "name = \"counter\"", "name = \"counter\"\nhop = 3");
    // The question.
    change("question.text:", "How many say yes?", "");
    change("question.text:", "How many say yes?", &"long".repeat(251));
    change("question.text:", "How many say yes?", "two\\nlines");
    change("question.value:", "value = \"bit\"", "value = \"category\"");
    change("question.low:", "value = \"bit\"", "value = \"bit\"\nlow = 0");
    change("question.labels:", "value = \"bit\"", "value = \"bit\"\nlabels = [\"no\", \"yes\"]");
    // The promise.
    change("promise.epsilon:", "epsilon = 1.0", "epsilon = 0");
    change("promise.epsilon:", "epsilon = 1.0", "epsilon = inf");
    change("promise.epsilon:", "epsilon = 1.0", "epsilon = \"1\"");
    change("promise.delta:", "\ndelta = 1e-6", "\ndelta = 0.0");
    change("promise.delta:", "\ndelta = 1e-6", "\ndelta = 1.0");
    change("promise.crowd:", "crowd = 1000", "crowd = 0");
    change("promise.crowd:", "crowd = 1000", "crowd = 1e3");
    change("promise.crowd:", "crowd = 1000", "crowd = 1000000001");
    change("promise.corrupt:", "corrupt = 0.0", "corrupt = 1.0");
    change("promise.corrupt:", "corrupt = 0.0", "corrupt = -0.1");
    change("promise.corrupt:", "corrupt = 0.0", "corrupt = nan");
    change("promise.epochs:", "epochs = 1", "epochs = 0");
    change("promise.epochs:", "epochs = 1", "epochs = 1000001");
    change("the promise is not kept: with 3 honest", "crowd = 1000", "crowd = 3");
    change("the promise is not kept: 900 epochs", "epochs = 1", "epochs = 900");
    // The mechanism.
    change("mechanism.key:", "bit-sum", "bit-some");
    change("mechanism.flip:", "flip = \"4611686018427387904\"\n", "");
    change("mechanism.flip:", "\"4611686018427387904\"", "\"half\"");
    change("mechanism.flip:", "\"4611686018427387904\"", "[\"1\", \"2\"]");
    change("mechanism.flip:", "\"4611686018427387904\"", "0.25");
    change("mechanism:", "\"4611686018427387904\"", "\"0\"");
    change("mechanism:", "\"4611686018427387904\"", "\"4611686018427387905\"");
    // The schedule.
    change("schedule.start:", "start = 1700000000", "start = -1");
    change("schedule.start:", "start = 1700000000", "start = \"2023-11-14\"");
    for every in ["\"0s\"", "\"24\"", "\"1w\"", "\"-1h\"", "\"1.5h\"", "\"367d\"", "24", "\"\""] {
        change("schedule.every:", "\"24h\"", every);
    }
    change("schedule.grace:", "grace = \"15m\"\n", "");
    change("schedule.below:", "\"expire\"", "\"drop\"");
    change("schedule.window:", "\"expire\"", "\"expire\"\nwindow = 2");
    change("schedule.window:", "\"expire\"", "\"merge\"");
    change("schedule.window:", "\"expire\"", "\"merge\"\nwindow = 1");
    change("schedule.window:", "\"expire\"", "\"merge\"\nwindow = 65");
    // Who carries it.
    change("mix[1].url:", "https://north.example", "ftp://north.example");
    change("mix[1].url:", "https://north.example", "https://north.example/");
    change("mix[1].url:", "https://north.example", "https://");
    change("mix[1].url:", "https://north.example", "https://user@north.example");
    change("mix[1].url:", "https://north.example", "https://north.example?a=b");
    change("mix[1].name:", "\"north\"", "\"\"");
    let north = identity(1);
    change("mix[1].identity:", &north, &north[1..]);
    change("mix[1].identity:", &north, &north.to_uppercase());
    change("mix[1].identity:", &north, &format!("01{}", "00".repeat(31)));
    change("mix[2].identity:", &identity(2), &north);
    change("analyzer.identity:", &identity(3), &north);
    let more = (4..12).map(|seed| party("[[mix]]", "another", seed)).collect::<String>();
    change("mix:", "[analyzer]", &format!("{more}[analyzer]"));
    list.push(("mix:", bits().replace("[[mix]]", "[[mixes]]")));

    let labels = |labels: &str| categories().replace("[\"a\", \"b\", \"ß \\\"c\\\"\"]", labels);
    list.push(("question.labels:", labels("[\"a\", \"b\"]")));
    list.push(("question.labels:", labels("[\"a\", \"b\", \"a\"]")));
    list.push(("question.labels:", labels("[\"a\", \"b\", 3]")));
    list.push(("question.labels:", labels("\"a\"")));
    let life = accepted().swap_remove(4).1;
    list.push(("promise.epochs:", life.replace("epochs = 4", "epochs = 5")));
    list.push(("schedule.below:", life.replace("\"expire\"", "\"merge\"\nwindow = 2")));
    let real = accepted().swap_remove(3).1;
    list.push(("question.high:", real.replace("high = 120", "high = -15")));
    list.push(("mechanism.bits:", real.replace("bits = 1", "bits = 2")));
    list
}

fn bits() -> String {
    let head = "[question]
text = \"How many say yes?\"
value = \"bit\"

[promise]
epsilon = 1.0
delta = 1e-6
crowd = 1000
corrupt = 0.0
epochs = 1
lifetime_epsilon = 1.0
lifetime_delta = 1e-6

[mechanism]
key = \"bit-sum\"
flip = \"4611686018427387904\"

[schedule]
start = 1700000000
every = \"24h\"
grace = \"15m\"
below = \"expire\"

";
    let (north, south) = (party("[[mix]]", "north", 1), party("[[mix]]", "south", 2));
    format!("{head}{north}{south}{}", party("[analyzer]", "counter", 3))
}

fn categories() -> String {
    let labels = "value = \"category\"\nlabels = [\"a\", \"b\", \"ß \\\"c\\\"\"]";
    bits().replace("value = \"bit\"", labels).replace(
        "key = \"bit-sum\"\nflip = \"4611686018427387904\"",
        "key = \"kary-response\"\ncategories = \"3\"\nreplace = \"9223372036854775808\"",
    )
}

fn party(head: &str, name: &str, seed: u8) -> String {
    let identity = identity(seed);
    format!(
        "{head}\nname = \"{name}\"\nurl = \"https://{name}.example\"\nidentity = \"{identity}\"\n\n"
    )
}

fn identity(seed: u8) -> String {
    Identity::from_seed(&[seed; 32]).public().to_string()
}
