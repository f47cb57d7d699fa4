//! A collection: a question, a promise, the mechanism that keeps it, when it is asked, and who
//! carries the answers.

use crate::{canonical, payload};
use throng_account::{Crowd, Delta, Epsilon};
use throng_mechanism::Mechanism;
use throng_wire::{Chain, CollectionId, Route, Schedule, Shape};

/// A question, its promise, and the mechanism that keeps the promise: the draft of a collection.
///
/// ```
/// use throng_collection::{example, report_bytes};
///
/// let terms = example::terms();
/// // One bit in one message of one byte: 145 bytes through two mixes.
/// assert_eq!((terms.mechanism.per_epoch(), terms.payload()), (1, 1));
/// assert_eq!(report_bytes(&terms.mechanism, 2), 145);
///
/// // When a tenth may be corrupt, it takes 1,112 reports to be sure of a thousand honest ones.
/// let mut wary = terms.clone();
/// wary.promise.corrupt = 0.1;
/// assert_eq!((terms.quorum(), wary.quorum()), (1000, 1112));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The question to the users.
    pub question: Prompt,
    /// The promise to them.
    pub promise: Promise,
    /// The mechanism by which they answer.
    pub mechanism: Mechanism,
}

impl Terms {
    /// Distinct valid reports that make up the promised crowd, however many of the fraction that
    /// may be corrupt are: the least n with [`Crowd::honest`] of n at least the crowd.
    pub fn quorum(&self) -> u64 {
        let Promise { crowd, corrupt, .. } = self.promise;
        let enough = |n: u64| Crowd::honest(n, corrupt).is_ok_and(|honest| honest >= crowd);
        // Honest reports never fall as n grows, and are at least (1 − γ)n − 1.
        let sure = ((crowd.get() + 1) as f64 / (1.0 - corrupt)).ceil() as u64 + 1;
        let (mut short, mut safe) = (crowd.get() - 1, sure);
        while safe - short > 1 {
            let middle = short + (safe - short) / 2;
            if enough(middle) {
                safe = middle;
            } else {
                short = middle;
            }
        }
        safe
    }
}

/// A question in words, and how its answers read.
///
/// ```
/// use throng_collection::Prompt;
///
/// let sleep = Prompt::new("How long do you sleep?");
/// let prompt = Prompt { high: 24.0, unit: "hours".into(), ..sleep };
/// assert_eq!((prompt.low, prompt.high), (0.0, 24.0));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The question.
    pub text: String,
    /// Lower end of a number's range; 0 for other answers.
    pub low: f64,
    /// Upper end of a number's range; 1 for other answers.
    pub high: f64,
    /// The unit of a number, or nothing.
    pub unit: String,
    /// Names of the categories or attributes, or strings to look for. May be empty.
    pub labels: Vec<String>,
}

impl Prompt {
    /// A question without range, unit or labels.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), low: 0.0, high: 1.0, unit: String::new(), labels: Vec::new() }
    }
}

/// The promise to everyone who takes part.
///
/// ```
/// use throng_account::{Crowd, Delta, Epsilon};
/// use throng_collection::Promise;
///
/// // Four weeks. What is added up simply covers all of them, whatever the mechanism.
/// let (epsilon, delta, epochs) = (Epsilon::new(0.1)?, Delta::new(1e-8)?, 4);
/// let (total, failure) = throng_account::spend::closed_form::basic(epsilon, delta.get(), epochs);
/// let lifetime = (Epsilon::new(total)?, Delta::new(failure)?);
/// let crowd = Crowd::new(10_000)?;
/// let promise = Promise { epsilon, delta, crowd, corrupt: 0.05, epochs, lifetime };
/// assert!((promise.lifetime.0.get() - 0.4).abs() < 1e-8);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// ε of one report against whoever sees the shuffled messages.
    pub epsilon: Epsilon,
    /// δ at this ε.
    pub delta: Delta,
    /// Honest reports that are shuffled together at least.
    pub crowd: Crowd,
    /// The fraction of all reports that may come from, or be known to, the adversary.
    pub corrupt: f64,
    /// Epochs in all, numbered from 0.
    pub epochs: u64,
    /// ε and δ of all that one person sends in all epochs.
    pub lifetime: (Epsilon, Delta),
}

impl Promise {
    /// The fraction that may be corrupt where nobody says another.
    pub const USUAL_CORRUPT: f64 = 0.05;
}

/// A collection that can be run.
///
/// ```
/// use throng_collection::{Collection, example};
///
/// let file = r#"
///     question = { text = "Do you cycle to work?", value = "bit" }
///     mechanism = { key = "bit-sum", flip = "567064570277940032" }
///     schedule = { start = 1000, every = "24h", grace = "1h", below = "expire" }
///
///     [promise]
///     epsilon = 1.0
///     delta = 1e-6
///     crowd = 1000
///     epochs = 1
///     lifetime_epsilon = 1.0
///     lifetime_delta = 1e-6
///
///     [[mix]]
///     name = "north"
///     url = "https://north.example"
///     identity = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
///
///     [analyzer]
///     name = "counter"
///     url = "https://counter.example"
///     identity = "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394"
/// "#;
/// let collection = Collection::parse(file)?;
/// assert_eq!(collection, example::collection());
/// assert_eq!((collection.epoch_at(1000), collection.epoch_at(87_400)), (Some(0), None));
///
/// // The id is one of what it says, not of how: a comment does not change it, a question does.
/// assert_eq!(Collection::parse(&collection.to_toml())?.id(), collection.id());
/// let other = Collection::parse(&file.replace("cycle", "walk"))?;
/// assert_ne!(other.id(), collection.id());
/// # Ok::<(), throng_collection::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// Question, promise and mechanism.
    pub terms: Terms,
    /// The times at which it is asked.
    pub schedule: Schedule,
    /// The parties that carry the answers.
    pub chain: Chain,
}

impl Collection {
    /// The lengths of everything.
    pub fn shape(&self) -> Shape {
        payload::shape(&self.terms.mechanism, self.chain.mixes.len() as u8)
    }

    /// SHA-256 of [`Collection::canonical`].
    pub fn id(&self) -> CollectionId {
        canonical::id(canonical::QUESTION, &self.canonical())
    }

    /// Distinct valid reports that a mix and the analyzer require.
    pub fn quorum(&self) -> u64 {
        self.terms.quorum()
    }

    /// The epoch at this time, if there is one.
    pub fn epoch_at(&self, now: u64) -> Option<u64> {
        self.schedule.epoch_at(now).filter(|epoch| *epoch < self.terms.promise.epochs)
    }
}

impl From<&Collection> for Route {
    fn from(collection: &Collection) -> Self {
        Self {
            id: collection.id(),
            title: collection.terms.question.text.clone(),
            shape: collection.shape(),
            quorum: collection.quorum(),
            epochs: collection.terms.promise.epochs,
            schedule: collection.schedule,
            chain: collection.chain.clone(),
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::example;
    use throng_mechanism::{Key, Question};
    use throng_wire::Below;

    /// A count of bits through two mixes.
    pub fn collection() -> Collection {
        Collection {
            terms: example::terms(),
            schedule: Schedule { start: 1_000, every: 60, grace: 5, below: Below::Expire },
            chain: throng_wire::example::chain_through(&["north", "south"]),
        }
    }

    /// A mean over several epochs, some corrupt, merged two by two.
    pub fn rich_collection() -> Collection {
        let mut terms = example::asked(Question::Real, Key::SlicedSum);
        terms.question.high = 120.0;
        terms.question.unit = "minutes".into();
        terms.promise.corrupt = 0.1;
        terms.promise.epochs = 4;
        terms.promise.lifetime = terms.lifetime(2, None).unwrap();
        let below = Below::Merge { window: 2 };
        Collection {
            terms,
            schedule: Schedule { start: 1_700_000_000, every: 86_400, grace: 0, below },
            ..collection()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{collection, rich_collection};
    use super::*;

    #[test]
    fn epochs_follow_the_clock() {
        let collection = collection();
        let schedule = collection.schedule;
        assert_eq!(schedule.epoch_at(999), None);
        assert_eq!((schedule.epoch_at(1_000), schedule.epoch_at(1_059)), (Some(0), Some(0)));
        assert_eq!(schedule.epoch_at(1_060), Some(1));
        assert_eq!((schedule.start_of(1), schedule.deadline(0)), (1_060, 1_065));
        // There is one epoch, and nothing after it.
        assert_eq!((collection.epoch_at(1_059), collection.epoch_at(1_060)), (Some(0), None));
        // Numbers from outside do not overflow.
        assert_eq!(schedule.deadline(u64::MAX), u64::MAX);
    }

    #[test]
    fn windows_group_epochs_that_may_be_merged() {
        let alone = collection().schedule;
        assert_eq!((alone.window_of(5), alone.window_epochs(5)), (5, 5..6));
        let mut merging = rich_collection();
        let window = |of: &Collection, epoch| Route::from(of).window_epochs(epoch);
        assert_eq!((merging.schedule.window_of(3), window(&merging, 3)), (2, 2..4));
        merging.terms.promise.epochs = 3;
        assert_eq!(window(&merging, 2), 2..3);
    }

    #[test]
    fn the_quorum_is_the_least_number_with_enough_honest_ones() {
        let mut terms = collection().terms;
        for crowd in [1, 2, 9, 10, 1_000, 12_345, 1_000_000_000] {
            for corrupt in [0.0, 1e-9, 0.1, 1.0 / 3.0, 0.5, 0.99] {
                terms.promise.crowd = Crowd::new(crowd).unwrap();
                terms.promise.corrupt = corrupt;
                let quorum = terms.quorum();
                let honest = |n| Crowd::honest(n, corrupt).map_or(0, Crowd::get);
                assert!(honest(quorum) >= crowd, "{crowd} at {corrupt}");
                assert!(honest(quorum - 1) < crowd, "{crowd} at {corrupt}");
            }
        }
    }

    #[test]
    fn a_chain_knows_its_hops() {
        let chain = collection().chain;
        assert_eq!(chain.hops(), 3);
        assert_eq!(chain.party(0), None);
        assert_eq!(chain.party(1).unwrap().name, "north");
        assert_eq!(chain.party(3).unwrap().name, "counter");
        assert_eq!(chain.party(4), None);
        assert_eq!(chain.hop_of(&chain.mixes[1].identity), Some(2));
    }
}
