//! A release: what the analyzer publishes of one batch.
//!
//! ```text
//! answer      what each estimate is about, and the estimates with their errors
//! guarantee   what holds for those who are in the batch
//! json        the one text of a release, written and read
//! ```
//!
//! The analyzer makes it and keeps its text; pages, tables and tools read that text back into the
//! same type.

mod answer;
mod guarantee;
mod json;

pub use answer::{Answer, Subject, Subjects};
pub use guarantee::BatchGuarantee;

use crate::{Collection, Terms};
use throng_account::{Crowd, Delta, Epsilon, Probability};
use throng_mechanism::{Question, Tally};
use throng_wire::{BatchId, CollectionId, Loss};

/// One release.
///
/// ```
/// use std::sync::Arc;
/// use throng_collection::{Release, Subjects, Subject, example};
///
/// let release = example::release();
/// assert_eq!(release.estimates[0].what, Subject::Yes);
/// assert!(release.spent.epsilon <= release.spent.lifetime);
///
/// let subjects = Subjects::of(Arc::new(example::collection()));
/// let text = release.to_json();
/// assert_eq!(Release::parse(&text, &subjects)?, release);
///
/// // What no analyzer of this collection wrote is refused.
/// assert!(Release::parse(&text.replace("yes", "no"), &subjects).is_err());
/// # Ok::<(), throng_collection::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// The collection.
    pub collection: CollectionId,
    /// The first epoch.
    pub first: u64,
    /// The last epoch.
    pub last: u64,
    /// Distinct valid reports.
    pub reports: u64,
    /// The probability with which an interval has the truth in it.
    pub confidence: Probability,
    /// The estimates, in the units of the question.
    pub estimates: Vec<Answer>,
    /// The guarantee for this batch.
    pub guarantee: BatchGuarantee,
    /// The cost of all releases up to this one.
    pub spent: Budget,
    /// The distance that liars can move an estimate.
    pub influence: Influence,
    /// Messages that each mix left out, in the order of the chain, and then the analyzer; each count
    /// is rounded at random to hundreds by whoever tells it.
    pub losses: Vec<Loss>,
    /// Messages that could be opened and are not what a client sends, rounded likewise. Only the
    /// analyzer can tell.
    pub nonsense: u64,
    /// The batch.
    pub batch: BatchId,
    /// The hash of the batch's entry in the ledger.
    pub ledger: [u8; 32],
    /// The question and the times of its epochs; releases from before these were published have
    /// none.
    pub about: Option<About>,
}

/// The question that a release answers, and the time that it is about.
///
/// ```
/// use throng_collection::{About, example};
///
/// let collection = example::collection();
/// let about = About::of(&collection, 0, 1);
/// assert_eq!(about.begin, collection.schedule.start_of(0));
/// assert_eq!(about.end, collection.schedule.start_of(2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The question in words.
    pub question: String,
    /// The begin of the first epoch, in seconds since 1970-01-01 UTC.
    pub begin: u64,
    /// The end of the last epoch.
    pub end: u64,
}

impl About {
    /// The question of a collection, and the time from the first to the last of some epochs.
    pub fn of(collection: &Collection, first: u64, last: u64) -> Self {
        let (question, schedule) = (&collection.terms.question.text, &collection.schedule);
        let (begin, end) = (schedule.start_of(first), schedule.end_of(last));
        Self { question: question.clone(), begin, end }
    }
}

impl Release {
    /// Epochs that were released together.
    pub fn epochs(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Messages that were left out on the whole way, as far as it is told: about as many.
    pub fn left_out(&self) -> u64 {
        let all = self.losses.iter().flat_map(|loss| [loss.replayed, loss.malformed]);
        all.fold(self.nonsense, u64::saturating_add)
    }
}

/// The part of the lifetime's budget that is spent.
///
/// ```
/// use throng_collection::example;
///
/// let spent = example::release().spent;
/// assert!(spent.epsilon.get() < 1.0 && spent.lifetime.get() == 1.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// ε of all releases up to this one together.
    pub epsilon: Epsilon,
    /// The δ of the lifetime.
    pub delta: Delta,
    /// The ε of the lifetime: what may be spent.
    pub lifetime: Epsilon,
}

impl Budget {
    /// The budget of the promised lifetime, with this total spent.
    pub fn of(terms: &Terms, total: Epsilon) -> Self {
        let (lifetime, delta) = terms.promise.lifetime;
        Self { epsilon: total, delta, lifetime }
    }
}

/// The distance that liars can move an estimate, in its own units.
///
/// ```
/// use throng_collection::Influence;
///
/// let some = Influence { of_one: Some(1.5), corrupt: 4 };
/// assert_eq!(some.of_all_corrupt(), Some(6.0));
/// assert_eq!(Influence { of_one: None, ..some }.of_all_corrupt(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Influence {
    /// The distance that one liar can move it; `None` is any distance.
    pub of_one: Option<f64>,
    /// Reports that are not counted on as honest.
    pub corrupt: u64,
}

impl Influence {
    /// The influence on the estimates of `reports` distinct valid reports, counted in `tally`.
    pub fn of(terms: &Terms, reports: u64, tally: &Tally) -> Self {
        let one = terms.mechanism.influence() * unit(terms, tally);
        let honest = Crowd::honest(reports, terms.promise.corrupt).map_or(0, Crowd::get);
        Self { of_one: Some(one).filter(|one| one.is_finite()), corrupt: reports - honest }
    }

    /// The distance that all of them together can move it; `None` is any distance.
    pub fn of_all_corrupt(&self) -> Option<f64> {
        let all = self.of_one? * self.corrupt as f64;
        Some(all).filter(|all| all.is_finite())
    }
}

/// One unit of the mechanism in units of the question: a mean is taken over all reports.
fn unit(terms: &Terms, tally: &Tally) -> f64 {
    match terms.mechanism.question() {
        Question::Real => {
            (terms.question.high - terms.question.low) / tally.reports().max(1) as f64
        }
        _ => 1.0,
    }
}
