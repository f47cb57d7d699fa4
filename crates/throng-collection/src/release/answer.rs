//! The subjects of estimates, and the estimates with their errors.

use super::unit;
use crate::{Collection, Prompt, Terms};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use throng_account::Probability;
use throng_mechanism::{Control, DecodeOptions, Estimate, Question, Tally};

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
    known: SubjectSet,
}

/// The subjects that a release has, by the kind of its question.
#[derive(Debug, Clone)]
enum SubjectSet {
    Yes,
    Mean,
    /// A running count for each period up to this one.
    Periods(u64),
    /// An estimate for each of these, in this order.
    Every(Vec<Arc<str>>),
    /// An estimate for those of these that stand out.
    Some(HashSet<Arc<str>>),
}

impl Subjects {
    /// The subjects of this collection.
    pub fn of(collection: Arc<Collection>) -> Self {
        let Terms { question, mechanism, .. } = &collection.terms;
        let known = match mechanism.question() {
            Question::Bit => SubjectSet::Yes,
            Question::Real => SubjectSet::Mean,
            Question::State { periods, .. } => SubjectSet::Periods(periods),
            Question::Category { size } => SubjectSet::Every(labels(question, size)),
            Question::Attributes { count } => SubjectSet::Every(labels(question, count)),
            Question::Text { .. } => {
                SubjectSet::Some(question.labels.iter().map(|label| Arc::from(&**label)).collect())
            }
        };
        Self { collection, known }
    }

    /// The collection.
    pub fn collection(&self) -> &Arc<Collection> {
        &self.collection
    }

    /// The estimates, each with its interval, in the units of the question. `epochs` are those that
    /// are in the tally, which is of all epochs so far where estimates are about all of them.
    pub fn answers(&self, tally: &Tally, epochs: &[u64], confidence: Probability) -> Vec<Answer> {
        let terms = &self.collection.terms;
        if let Some(found) = self.found(tally, confidence) {
            return found;
        }
        let estimates = terms.mechanism.estimate(tally, confidence).into_iter().enumerate();
        let answer = |(place, estimate): (usize, Estimate)| match &self.known {
            SubjectSet::Yes => Some(Answer::new(Subject::Yes, estimate)),
            SubjectSet::Mean => {
                let scaled = estimate.rescaled(terms.question.low, unit(terms, tally));
                Some(Answer::new(Subject::Mean, scaled))
            }
            SubjectSet::Periods(_) => {
                let period = place as u64 + 1;
                let complete = terms.mechanism.is_complete(place, epochs);
                complete.then(|| Answer::new(Subject::Period(period), estimate))
            }
            SubjectSet::Every(labels) => {
                Some(Answer::new(Subject::Label(Arc::clone(labels.get(place)?)), estimate))
            }
            SubjectSet::Some(_) => None,
        };
        estimates.filter_map(answer).collect()
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
        let answers = significant.filter_map(|found| {
            let what = self.named(candidates[found.candidate])?;
            Some(Answer::new(what, found.estimate))
        });
        Some(answers.collect())
    }

    /// The subjects that the labels of a release stand for, if a release has such labels.
    pub(super) fn read(&self, labels: &[&str]) -> Option<Vec<Subject>> {
        let all: Vec<Subject> = match &self.known {
            SubjectSet::Every(every) => every.iter().cloned().map(Subject::Label).collect(),
            _ => labels.iter().map(|label| self.named(label)).collect::<Option<_>>()?,
        };
        let whole = match &self.known {
            SubjectSet::Yes | SubjectSet::Mean => labels.len() == 1,
            SubjectSet::Periods(_) => all.is_sorted_by(|a, b| period(a) < period(b)),
            SubjectSet::Every(every) => {
                labels.iter().copied().eq(every.iter().map(|label| &**label))
            }
            SubjectSet::Some(_) => labels.iter().collect::<HashSet<_>>().len() == labels.len(),
        };
        whole.then_some(all)
    }

    fn named(&self, label: &str) -> Option<Subject> {
        let what = match &self.known {
            SubjectSet::Yes => Subject::Yes,
            SubjectSet::Mean => Subject::Mean,
            SubjectSet::Periods(most) => {
                let number = label.rsplit(' ').next()?.parse().ok()?;
                Subject::Period(Some(number).filter(|number| (1..=*most).contains(number))?)
            }
            SubjectSet::Every(_) => return None,
            SubjectSet::Some(some) => Subject::Label(Arc::clone(some.get(label)?)),
        };
        (what.to_string() == label).then_some(what)
    }
}

fn period(what: &Subject) -> Option<u64> {
    if let Subject::Period(number) = what { Some(*number) } else { None }
}

/// The labels of a question, or numbers from 0 where it has none.
fn labels(question: &Prompt, count: u32) -> Vec<Arc<str>> {
    let label = |place: u32| match question.labels.get(place as usize) {
        Some(label) => Arc::from(&**label),
        None => Arc::from(place.to_string()),
    };
    (0..count).map(label).collect()
}
