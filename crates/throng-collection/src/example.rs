//! One small question and one small board, for examples, tests and fuzzing.
//!
//! Their parties are those of [`throng_wire::example`], whose secrets are known to everybody.
//!
//! ```
//! use throng_collection::{Collection, example};
//!
//! let collection = Collection::parse(example::FILE)?;
//! assert_eq!(collection, example::collection());
//! assert_eq!(collection.chain, throng_wire::example::chain());
//! assert_eq!(example::board().chain, collection.chain);
//! # Ok::<(), throng_collection::Error>(())
//! ```

use crate::{Board, Collection, Promise, Prompt, Terms};
use throng_account::{Crowd, Delta, Epsilon, Threshold};
use throng_mechanism::{BinaryResponse, Mechanism};
use throng_wire::{Route, Schedule, SignedDirectory, example};

/// The file of [`collection`].
pub const FILE: &str = r#"
    question = { text = "Do you cycle to work?", value = "bit" }
    mechanism = { key = "bit-sum", flip = "567064570277940032" }
    schedule = { start = 1000, every = "24h", grace = "1h", below = "expire" }

    [promise]
    epsilon = 1.0
    delta = 1e-6
    crowd = 1000
    epochs = 1
    lifetime_epsilon = 1.0
    lifetime_delta = 1e-6

    [[mix]]
    name = "north"
    url = "https://north.example"
    identity = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"

    [analyzer]
    name = "counter"
    url = "https://counter.example"
    identity = "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394"
"#;

/// A yes-or-no question to a thousand people, asked once: ε = 1 at δ = 10⁻⁶.
pub fn collection() -> Collection {
    Collection { terms: terms(), schedule: example::schedule(), chain: example::chain() }
}

/// Question, promise and mechanism of [`collection`].
pub fn terms() -> Terms {
    let (epsilon, delta) = (Epsilon::new(1.0).expect(VALID), Delta::new(1e-6).expect(VALID));
    let flip = Threshold::new(567_064_570_277_940_032).expect(VALID);
    Terms {
        question: Prompt::new("Do you cycle to work?"),
        promise: Promise {
            epsilon,
            delta,
            crowd: Crowd::new(1_000).expect(VALID),
            corrupt: 0.0,
            epochs: 1,
            lifetime: (epsilon, delta),
        },
        mechanism: Mechanism::BitSum(BinaryResponse::new(flip).expect(VALID)),
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

/// The keys of window 0 of a collection or board with these parties, signed by both.
///
/// ```
/// use throng_collection::example;
///
/// let collection = example::collection();
/// let directory = example::directory(&collection);
/// let parties = throng_wire::example::route().parties();
/// assert!(directory.verify(&collection.id(), 0, &parties).is_ok());
/// ```
pub fn directory(of: impl Into<Route>) -> SignedDirectory {
    example::keys(&of.into(), 0).1
}

/// The numbers above are in range.
const VALID: &str = "in range";
