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
    /// The labels of all categories, attributes or candidate strings, in their order.
    labels: Vec<Arc<str>>,
    /// The places of these labels.
    places: HashMap<Arc<str>, usize>,
}

impl Subjects {
    /// The subjects of this collection.
    pub fn of(collection: Arc<Collection>) -> Self {
        let Terms { question, mechanism, .. } = &collection.terms;
        let count = match mechanism.question() {
            Question::Bit | Question::Real | Question::State { .. } => 0,
            Question::Category { size: count } | Question::Attributes { count } => count as usize,
            Question::Text { .. } => question.labels.len(),
        };
        // Numbers from 0 where the question has no labels.
        let label = |place: usize| match question.labels.get(place) {
            Some(label) => Arc::from(&**label),
            None => Arc::from(place.to_string()),
        };
        let labels: Vec<Arc<str>> = (0..count).map(label).collect();
        let places = labels.iter().enumerate().map(|(place, label)| (Arc::clone(label), place));
        Self { places: places.collect(), labels, collection }
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
        let answer = |(place, estimate): (usize, Estimate)| {
            let what = self.subject(place)?;
            let estimate = match what {
                Subject::Mean => estimate.rescaled(terms.question.low, unit(terms, tally)),
                Subject::Yes | Subject::Period(_) | Subject::Label(_) => estimate,
            };
            Some(Answer::new(what, estimate))
        };
        let estimates = terms.mechanism.estimate(tally, confidence).into_iter().enumerate();
        let complete = |(place, _): &(usize, _)| terms.mechanism.is_complete(*place, epochs);
        estimates.filter(complete).filter_map(answer).collect()
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
            |found: Decoded| Some(Answer::new(self.subject(found.candidate)?, found.estimate));
        Some(significant.filter_map(answer).collect())
    }

    /// The subjects that the labels of a release stand for, if a release has such labels.
    pub(super) fn read(&self, labels: &[&str]) -> Option<Vec<Subject>> {
        let places = labels.iter().map(|label| self.place(label));
        let places: Vec<usize> = places.collect::<Option<_>>()?;
        let whole = match self.collection.terms.mechanism.question() {
            Question::Bit | Question::Real => places.len() == 1,
            Question::State { .. } => places.is_sorted_by(|a, b| a < b),
            Question::Category { .. } | Question::Attributes { .. } => {
                places.iter().copied().eq(0..self.labels.len())
            }
            Question::Text { .. } => places.iter().collect::<HashSet<_>>().len() == places.len(),
        };
        whole.then(|| places.into_iter().filter_map(|place| self.subject(place)).collect())
    }

    /// The subject of the estimate at a place; of strings, the candidate there.
    fn subject(&self, place: usize) -> Option<Subject> {
        match self.collection.terms.mechanism.question() {
            Question::Bit => (place == 0).then_some(Subject::Yes),
            Question::Real => (place == 0).then_some(Subject::Mean),
            Question::State { periods, .. } => {
                Some(place as u64 + 1).filter(|period| *period <= periods).map(Subject::Period)
            }
            Question::Category { .. } | Question::Attributes { .. } | Question::Text { .. } => {
                self.labels.get(place).cloned().map(Subject::Label)
            }
        }
    }

    /// The place whose subject has this label.
    fn place(&self, label: &str) -> Option<usize> {
        let place = match self.collection.terms.mechanism.question() {
            Question::Bit | Question::Real => 0,
            Question::State { .. } => {
                let number: usize = label.strip_prefix("period ")?.parse().ok()?;
                number.checked_sub(1)?
            }
            Question::Category { .. } | Question::Attributes { .. } | Question::Text { .. } => {
                *self.places.get(label)?
            }
        };
        self.subject(place).filter(|what| what.to_string() == label).map(|_| place)
    }
}
