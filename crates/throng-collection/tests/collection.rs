//! `vectors/collection.json`, which `vectors/collection.py` makes: files, their canonical bytes and
//! ids, and files that are refused.

use serde_json::Value;
use throng_collection::{Board, Collection, Terms, example};
use throng_wire::example::chain_through;
use throng_wire::hex;

#[test]
fn files_are_read_as_the_vectors_say() {
    let cases = read();
    let accepted: Vec<_> = cases.iter().filter(|case| case["name"].is_string()).collect();
    for case in &accepted {
        let collection = Collection::parse(text(&case["toml"])).unwrap();
        assert_eq!(hex(&collection.canonical()), case["canonical"], "{}", case["name"]);
        assert_eq!(collection.id().to_string(), case["id"], "{}", case["name"]);
    }
    assert_eq!((accepted.len(), cases.len()), (6, 88));
}

#[test]
fn what_is_refused_says_which_field() {
    for case in read().iter().filter(|case| case["name"].is_null()) {
        let names = text(&case["refused"]);
        let error = Collection::parse(text(&case["toml"])).expect_err(names).to_string();
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
        .map(|(name, toml)| (name.clone(), Collection::parse(toml).unwrap().id()))
        .collect();
    for (name, id) in &ids {
        for (other, other_id) in &ids {
            let same = name == other || [name, other].iter().all(|n| n.starts_with("bits"));
            assert_eq!(id == other_id, same, "{name}, {other}");
        }
    }
}

#[test]
fn a_damaged_file_never_panics() {
    let (_, text) = accepted().swap_remove(0);
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

/// People are told that the promise rests on one of these names.
#[test]
fn parties_whose_names_read_alike_are_refused() {
    let (collection, board) = (example::collection(), example::board());
    let named = |names: [&str; 2]| {
        let mut chain = chain_through(&["a", "b"]);
        for (mix, name) in chain.mixes.iter_mut().zip(names) {
            mix.name = name.into();
        }
        chain
    };
    for chain in [named(["north", "south"]), named(["North Star", "North Sea"])] {
        let collection = Collection { chain: chain.clone(), ..collection.clone() };
        assert!(Collection::parse(&collection.to_toml()).is_ok());
        assert!(Board::parse(&Board { chain, ..board.clone() }.to_toml()).is_ok());
    }
    for again in [
        "north",
        "North",
        " north",
        "north\u{a0}",
        "\u{2003}NORTH ",
        "no\u{200b}rth",
        "nor\u{ad}th",
        "\u{feff}north",
    ] {
        let chain = named(["north", again]);
        let collection = Collection { chain: chain.clone(), ..collection.clone() };
        let refused = Collection::parse(&collection.to_toml()).unwrap_err().to_string();
        let expected = "mix[2].name: another party is called north";
        assert_eq!(refused, expected, "{again:?}");
        let board = Board { chain, ..board.clone() };
        assert_eq!(Board::parse(&board.to_toml()).unwrap_err().to_string(), expected);
        // Nor may the analyzer be taken for a mix.
        let mut chain = chain_through(&["north"]);
        chain.analyzer.name = again.into();
        let collection = Collection { chain, ..collection };
        let refused = Collection::parse(&collection.to_toml()).unwrap_err().to_string();
        assert_eq!(refused, "analyzer.name: another party is called north", "{again:?}");
    }
    let chain = named(["two  words", "Two Words"]);
    let collection = Collection { chain, ..collection };
    assert!(Collection::parse(&collection.to_toml()).is_err());
}

/// The names of the files that are accepted, and the files.
fn accepted() -> Vec<(String, String)> {
    let accepted = read().into_iter().filter(|case| case["name"].is_string());
    accepted.map(|case| (text(&case["name"]).into(), text(&case["toml"]).into())).collect()
}

fn read() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../vectors/collection.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
