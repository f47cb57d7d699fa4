//! Collection files.
//!
//! Whether a promise is kept is computed, and that takes seconds where a crowd or a mechanism is
//! large. The computation is no decoder: a file that asks for much of it is read without its
//! promise, up to the complaint that it is missing.

use crate::target::Target;
use crate::world;
use std::sync::{Arc, LazyLock};
use throng_collection::{About, Board, Collection, Release, Subjects, Terms, example};
use throng_mechanism::Key;
use throng_wire::{Loss, Route};
use toml::{Table, Value};

/// A file, or a draft.
pub const COLLECTION: Target = Target {
    name: "collection",
    rounds: 4_000,
    seeds,
    body: |bytes| {
        let Ok(text) = str::from_utf8(bytes) else { return };
        let Ok(mut table) = text.parse::<Table>() else {
            return assert!(Collection::parse(text).is_err() && Terms::parse(text).is_err());
        };
        if is_cheap(&table) {
            return read(text);
        }
        table.remove("promise");
        assert!(Collection::parse(&table.to_string()).is_err());
    },
};

/// The file of a board.
pub const BOARD: Target = Target {
    name: "board",
    rounds: 10_000,
    seeds: || vec![board().to_toml().into_bytes()],
    body: |bytes| {
        let Ok(text) = str::from_utf8(bytes) else { return };
        let Ok(board) = Board::parse(text) else { return };
        assert!(Board::is_in(text) && Collection::parse(text).is_err());
        let again = Board::parse(&board.to_toml()).unwrap();
        assert_eq!((again.id(), &again), (board.id(), &board));
        let route = Route::from(&board);
        assert!(route.shape.report_bytes() > 0 && route.quorum >= 2);
        let _ = (board.plain(), route.epoch_at(u64::MAX), route.window_epochs(u64::MAX - 1));
    },
};

/// The place of a collection in the list, then a release of it.
pub const RELEASE: Target = Target {
    name: "release",
    rounds: 3_000,
    seeds: || {
        let written = (0..)
            .zip(RELEASES.iter())
            .map(|(place, (_, text))| [&[place][..], text.as_bytes()].concat());
        written.collect()
    },
    body: |bytes| {
        let [place, text @ ..] = bytes else { return };
        let Ok(text) = str::from_utf8(text) else { return };
        let subjects = &RELEASES[usize::from(*place) % RELEASES.len()].0;
        let Ok(release) = Release::parse(text, subjects) else { return };
        assert_eq!(release.collection, subjects.collection().id());
        assert!(release.first <= release.last && release.guarantee.honest.get() > 0);
        let again = Release::parse(&release.to_json(), subjects).unwrap();
        assert_eq!(again.to_json(), release.to_json());
    },
};

/// A small board.
fn board() -> Board {
    let Collection { schedule, chain, .. } = world::collection(Key::BitSum);
    Board { about: "Keys".into(), messages: 3, payload: 18, crowd: 5, rounds: 2, schedule, chain }
}

/// Checks that a file that is read is written and read again as it was, and can be worked with.
fn read(text: &str) {
    if let Ok(collection) = Collection::parse(text) {
        let again = Collection::parse(&collection.to_toml()).unwrap();
        assert_eq!((again.id(), &again), (collection.id(), &collection));
        let shape = collection.shape();
        for hop in 1..=shape.analyzer() {
            assert!(shape.record_bytes(hop) > 0 && collection.chain.party(hop).is_some());
        }
        assert!(collection.quorum() >= collection.terms.promise.crowd.get());
        let _ = (collection.plain(), collection.epoch_at(u64::MAX), collection.epoch_at(0));
        let _ = collection.schedule.deadline(u64::MAX);
    } else if let Ok(terms) = Terms::parse(text) {
        assert_eq!(Terms::parse(&terms.to_toml()), Ok(terms));
    }
}

/// True if the promise is computed in milliseconds: one epoch, or several that are charged once.
fn is_cheap(table: &Table) -> bool {
    let integer = |section: &str, key: &str| table.get(section)?.get(key)?.as_integer();
    let key = table.get("mechanism").and_then(|mechanism| mechanism.get("key"));
    let key = key.and_then(Value::as_str).and_then(Key::named);
    let epochs = if key == Some(Key::Longitudinal) { 8 } else { 1 };
    key.is_none_or(|key| CHEAP.contains(&key))
        && integer("promise", "crowd").is_none_or(|crowd| crowd <= 2_000)
        && integer("promise", "epochs").is_none_or(|given| given <= epochs)
}

/// The files of the vectors, good and bad, a file of every mechanism, and a draft.
fn seeds() -> Vec<Vec<u8>> {
    let vectors: serde_json::Value =
        serde_json::from_str(include_str!("../../vectors/collection.json")).unwrap();
    let files = vectors.as_array().unwrap().iter();
    let files = files.map(|file| file["toml"].as_str().unwrap().to_owned());
    let every = Key::ALL.map(|key| {
        let mut collection = world::collection(key);
        collection.terms.promise.epochs = 1;
        collection.to_toml()
    });
    let draft = world::terms(Key::Longitudinal).to_toml();
    files.chain(every).chain([draft]).map(String::into_bytes).collect()
}

/// Collections of every kind of question, and a release of each.
static RELEASES: LazyLock<Vec<(Subjects, String)>> = LazyLock::new(|| {
    let keys = [Key::BitSum, Key::LaplaceMean, Key::KaryResponse, Key::Rappor, Key::Longitudinal];
    let release = |key: Key| {
        let mut collection = world::collection(key);
        if matches!(key, Key::KaryResponse | Key::Rappor) {
            collection.terms.question.labels = ["a", "b", "c"].map(String::from).to_vec();
        }
        let (collection, mut release) = (Arc::new(collection), example::release());
        let subjects = Subjects::of(collection.clone());
        let tally = collection.terms.mechanism.tally();
        release.collection = collection.id();
        release.losses = vec![Loss { replayed: 2, malformed: 1 }; 3];
        release.estimates = subjects.answers(&tally, &[0], release.confidence);
        release.about = (key != Key::BitSum).then(|| About::of(&collection, 0, 0));
        (subjects, release.to_json())
    };
    keys.into_iter().map(release).collect()
});

/// The mechanisms whose promises take milliseconds, whatever the parameters.
const CHEAP: &[Key] = &[
    Key::RandomizedResponse,
    Key::LaplaceMean,
    Key::OneBitMean,
    Key::Rappor,
    Key::BitSum,
    Key::TwoMessageCount,
    Key::Longitudinal,
    Key::CoinCount,
    Key::AdditiveHistogram,
    Key::SplitAndMix,
];
