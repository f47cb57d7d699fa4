//! Estimates made plausible: no count below zero or above the crowd, shares that add up.
//!
//! This costs no privacy, since it looks at nothing but the published estimates. Plausible
//! estimates are no longer unbiased, so that the raw ones are shown first.

use throng_collection::{Answer, Release, Terms};
use throng_mechanism::{Question, norm_sub};

/// The estimates of a release, projected onto what can be.
pub fn plausible(terms: &Terms, release: &Release) -> Vec<Answer> {
    let reports = release.reports as f64;
    let (low, high) = match terms.mechanism.question() {
        Question::Real => (terms.question.low, terms.question.high),
        _ => (0.0, reports),
    };
    let clip = |x: f64| if x.is_nan() { x } else { x.clamp(low, high) };
    let values: Vec<f64> = release.estimates.iter().map(|answer| answer.value).collect();
    let values = match terms.mechanism.question() {
        // Everyone holds exactly one of the categories.
        Question::Category { .. } if values.iter().all(|value| value.is_finite()) => {
            norm_sub(&values, reports)
        }
        _ => values.into_iter().map(clip).collect(),
    };
    let fit = |(answer, value): (&Answer, f64)| Answer {
        value,
        low: clip(answer.low),
        high: clip(answer.high),
        ..answer.clone()
    };
    release.estimates.iter().zip(values).map(fit).collect()
}

/// An explanation of raw estimates, in words.
pub fn raw(terms: &Terms) -> &'static str {
    match terms.mechanism.question() {
        Question::Text { .. } => {
            "Raw: strings that stand out from the noise only, which makes those that barely do \
             look larger."
        }
        _ => "Raw: unbiased, so that a small count can come out below zero.",
    }
}

/// An explanation of plausible estimates, in words.
pub fn words(terms: &Terms) -> &'static str {
    match terms.mechanism.question() {
        Question::Category { .. } => {
            "Post-processed: shifted alike and cut at zero, so that counts add up to the reports. \
             Intervals and standard errors are those of the raw estimates, cut to what can be."
        }
        Question::Real => "Post-processed: cut to the range of the answers.",
        _ => "Post-processed: cut to what can be, from none to all of the reports.",
    }
}
