//! The subjects of estimates, and the estimates with their errors.

use super::unit;
use crate::{Collection, Terms};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use throng_account::Probability;
use throng_mechanism::{Control, DecodeOptions, Decoded, Estimate, Question, Tally};

/// The subject of an estimate.
///
/// ```
/// use throng_collection::Subject;
///
/// assert_eq!(Subject::Period(7).to_string(), "period 7");
/// assert_eq!(Subject::Label("Firefox".into()).to_string(), "Firefox");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The number of those who said yes.
    Yes,
    /// The mean of the answers.
    Mean,
    /// The number of those who say yes in a period, numbered from 1.
    Period(u64),
    /// The number of those who gave this answer.
    Label(Arc<str>),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::Mean => f.write_str("mean"),
            Self::Period(number) => write!(f, "period {number}"),
            Self::Label(label) => f.write_str(label),
        }
    }
}

/// An estimate and its interval. An estimate that could be anything is not a number.
///
/// ```
/// use throng_collection::example;
///
/// let yes = &example::release().estimates[0];
/// assert!(yes.low < yes.value && yes.value < yes.high);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The subject of the estimate.
    pub what: Subject,
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Answer {
    /// An answer without infinite numbers: the text of a release has one word for infinite and
    /// unknown.
    fn new(what: Subject, estimate: Estimate) -> Self {
        let known = |number: f64| if number.is_finite() { number } else { f64::NAN };
        let (low, high) = estimate.interval();
        let [value, standard_error, low, high] =
            [estimate.value, estimate.standard_error, low, high].map(known);
        Self { what, value, standard_error, low, high }
    }
}

/// The subjects of a collection's releases. All of them share its labels.
///
/// ```
/// use std::sync::Arc;
/// use throng_account::Probability;
/// use throng_collection::{Subjects, Subject, example};
///
/// let subjects = Subjects::of(Arc::new(example::collection()));
/// let nothing = example::terms().mechanism.tally();
/// let answers = subjects.answers(&nothing, &[0], Probability::new("confidence", 0.95)?);
/// assert_eq!(answers[0].what, Subject::Yes);
/// # Ok::<(), throng_collection::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Subjects {
    collection: Arc<Collection>,
    /// The subjects of all estimates, in their order. Of strings, the candidates.
    all: Vec<Subject>,
    /// Their places by their labels.
    places: HashMap<String, usize>,
}

impl Subjects {
    /// The subjects of this collection.
    pub fn of(collection: Arc<Collection>) -> Self {
        let Terms { question, mechanism, .. } = &collection.terms;
        // Numbers from 0 where the question has no labels.
        let label = |place: u32| match question.labels.get(place as usize) {
            Some(label) => Subject::Label(Arc::from(&**label)),
            None => Subject::Label(Arc::from(place.to_string())),
        };
        let all: Vec<Subject> = match mechanism.question() {
            Question::Bit => vec![Subject::Yes],
            Question::Real => vec![Subject::Mean],
            Question::State { periods, .. } => (1..=periods).map(Subject::Period).collect(),
            Question::Category { size: count } | Question::Attributes { count } => {
                (0..count).map(label).collect()
            }
            Question::Text { .. } => (0..question.labels.len() as u32).map(label).collect(),
        };
        let places = all.iter().enumerate().map(|(place, what)| (what.to_string(), place));
        Self { places: places.collect(), all, collection }
    }

    /// The collection.
    pub fn collection(&self) -> &Arc<Collection> {
        &self.collection
    }

    /// The estimates, each with its interval, in the units of the question. `epochs` are those that
    /// are in the tally, which is of all epochs so far where estimates are about all of them.
    pub fn answers(&self, tally: &Tally, epochs: &[u64], confidence: Probability) -> Vec<Answer> {
        if let Some(found) = self.found(tally, confidence) {
            return found;
        }
        let terms = &self.collection.terms;
        let estimates = terms.mechanism.estimate(tally, confidence);
        let answer = |(what, estimate): (&Subject, Estimate)| match what {
            Subject::Mean => {
                let scaled = estimate.rescaled(terms.question.low, unit(terms, tally));
                Answer::new(Subject::Mean, scaled)
            }
            _ => Answer::new(what.clone(), estimate),
        };
        let complete = |place: usize| terms.mechanism.is_complete(place, epochs);
        let all = self.all.iter().zip(estimates).enumerate();
        all.filter(|(place, _)| complete(*place)).map(|(_, told)| answer(told)).collect()
    }

    /// The strings that stand out from the noise; `None` where the estimates are the answer
    /// already.
    fn found(&self, tally: &Tally, confidence: Probability) -> Option<Vec<Answer>> {
        let candidates: Vec<&str> =
            self.collection.terms.question.labels.iter().map(String::as_str).collect();
        let level = Probability::new("level", 1.0 - confidence.get()).unwrap_or(confidence);
        let options = DecodeOptions { control: Control::Family, level, confidence };
        let found = self.collection.terms.mechanism.decode(tally, &candidates, &options)?;
        let significant = found.into_iter().filter(|found| found.significant);
        let answer =
            |found: Decoded| Answer::new(self.all[found.candidate].clone(), found.estimate);
        Some(significant.map(answer).collect())
    }

    /// The subjects that the labels of a release stand for, if a release has such labels.
    pub(super) fn read(&self, labels: &[&str]) -> Option<Vec<Subject>> {
        let places = labels.iter().map(|label| self.places.get(*label).copied());
        let places: Vec<usize> = places.collect::<Option<_>>()?;
        let whole = match self.collection.terms.mechanism.question() {
            Question::State { .. } => places.is_sorted_by(|a, b| a < b),
            Question::Text { .. } => places.iter().collect::<HashSet<_>>().len() == places.len(),
            Question::Bit
            | Question::Real
            | Question::Category { .. }
            | Question::Attributes { .. } => places.iter().copied().eq(0..self.all.len()),
        };
        whole.then(|| places.iter().map(|&place| self.all[place].clone()).collect())
    }
}
