//! One small question and one small board, for examples, tests and fuzzing.
//!
//! Their parties are those of [`throng_wire::example`], whose secrets are known to everybody.
//!
//! ```
//! use throng_collection::{Collection, example};
//!
//! let collection = example::collection();
//! assert_eq!(Collection::parse(&collection.to_toml())?, collection);
//! assert_eq!(collection.chain, throng_wire::example::chain());
//! assert_eq!(example::board().chain, collection.chain);
//! # Ok::<(), throng_collection::Error>(())
//! ```

// The numbers below are in range, whoever calls.
#![allow(clippy::missing_panics_doc)]

use crate::{
    About, BatchGuarantee, Board, Budget, Collection, Influence, Promise, Prompt, Release,
    Subjects, Terms,
};
use std::sync::Arc;
use throng_account::{Crowd, Delta, Epsilon, Probability};
use throng_mechanism::{Ask, Key, Kind, Question};
use throng_wire::{BatchId, Loss, Route, Schedule, SignedDirectory, example};

/// A yes-or-no question to a thousand people, asked once: ε = 1 at δ = 10⁻⁶.
pub fn collection() -> Collection {
    Collection { terms: terms(), schedule: example::schedule(), chain: example::chain() }
}

/// Question, promise and mechanism of [`collection`].
pub fn terms() -> Terms {
    asked(Question::Bit, Key::BitSum)
}

/// Another question under the promise of [`terms`], and the mechanism of this key that answers it.
///
/// ```
/// use throng_collection::example;
/// use throng_mechanism::Key;
///
/// let terms = example::asked(example::question(Key::Rappor.kind()), Key::Rappor);
/// assert_eq!((terms.promise, terms.mechanism.key()), (example::terms().promise, Key::Rappor));
/// ```
pub fn asked(question: Question, key: Key) -> Terms {
    let (epsilon, delta) = (Epsilon::new(1.0).expect(VALID), Delta::new(1e-6).expect(VALID));
    let crowd = Crowd::new(1_000).expect(VALID);
    let ask = Ask::new(question, crowd, epsilon, delta).with_max_messages(12).with_fragile(true);
    let lifetime = (epsilon, delta);
    Terms {
        question: Prompt::new("Do you cycle to work?"),
        promise: Promise { epsilon, delta, crowd, corrupt: 0.0, epochs: 1, lifetime },
        mechanism: ask.calibrate(key).expect(VALID),
    }
}

/// A small question of a kind.
pub fn question(kind: Kind) -> Question {
    match kind {
        Kind::Bit => Question::Bit,
        Kind::Real => Question::Real,
        Kind::Category => Question::Category { size: 3 },
        Kind::Text => Question::Text { bits: 70, hashes: 2, cohorts: 4 },
        Kind::Attributes => Question::Attributes { count: 3 },
        Kind::State => Question::State { periods: 16, changes: 2 },
    }
}

/// A board on which ten people or more post two messages of 18 bytes each, in three rounds.
pub fn board() -> Board {
    Board {
        about: "Keys for the neighbourhood's survey".into(),
        messages: 2,
        payload: 18,
        crowd: 10,
        rounds: 3,
        schedule: Schedule { every: 600, grace: 60, ..example::schedule() },
        chain: example::chain(),
    }
}

/// A release of [`collection`]: of 1,200 people, 640 of whose bits came out as 1.
///
/// ```
/// use throng_collection::example;
///
/// let release = example::release();
/// assert_eq!((release.first, release.last, release.reports), (0, 0, 1_200));
/// assert_eq!(release.collection, example::collection().id());
/// ```
pub fn release() -> Release {
    let collection = Arc::new(collection());
    let terms = &collection.terms;
    let mut tally = terms.mechanism.tally();
    tally.add_words(&[1_200, 0, 640]).expect(VALID);
    let confidence = Probability::new("confidence", 0.95).expect(VALID);
    let guarantee = BatchGuarantee::of(terms, 1_200, 1).expect(VALID);
    Release {
        collection: collection.id(),
        first: 0,
        last: 0,
        reports: 1_200,
        confidence,
        estimates: Subjects::of(Arc::clone(&collection)).answers(&tally, &[0], confidence),
        spent: Budget::of(terms, guarantee.epsilon),
        guarantee,
        influence: Influence::of(terms, 1_200, &tally),
        losses: vec![Loss { replayed: 2, malformed: 1 }, Loss::default()],
        nonsense: 0,
        batch: BatchId([7; 32]),
        ledger: [8; 32],
        about: Some(About::of(&collection, 0, 0)),
    }
}

/// The keys of window 0 of a collection or board with these parties, signed by both.
///
/// ```
/// use throng_collection::example;
///
/// let collection = example::collection();
/// let directory = example::directory(&collection);
/// let parties = collection.chain.identities();
/// assert!(directory.verify(&collection.id(), 0, &parties).is_ok());
/// ```
pub fn directory(of: impl Into<Route>) -> SignedDirectory {
    example::keys(&of.into(), 0).1
}

/// The reason why the numbers above are accepted.
const VALID: &str = "in range";
