//! The guarantee for those who are in a batch.

use crate::words::{CONDITIONS, holds_if};
use crate::{Account, Disclosure, Error, Terms};
use std::borrow::Cow;
use throng_account::{Crowd, Delta, Epsilon, Theorem};

/// The guarantee for a batch by its number of reports and epochs, whatever was released before.
///
/// ```
/// use throng_collection::{BatchGuarantee, example};
///
/// let guarantee = BatchGuarantee::of(&example::terms(), 1_200, 1)?;
/// assert!(guarantee.lower.unwrap() <= guarantee.epsilon);
/// assert!(guarantee.epsilon < example::terms().promise.epsilon);
/// assert!(guarantee.local_floor.unwrap() > guarantee.epsilon);
/// # Ok::<(), throng_collection::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BatchGuarantee {
    /// ε against everybody but an honest mix, on the conditions of `holds_if`.
    pub epsilon: Epsilon,
    /// δ at this ε.
    pub delta: Delta,
    /// The bound below which no ε holds, where one is known.
    pub lower: Option<Epsilon>,
    /// Reports that are counted on as honest.
    pub honest: Crowd,
    /// The share of reports that may be the adversary's.
    pub corrupt: f64,
    /// ε with no report of the adversary's among them.
    pub if_all_honest: Epsilon,
    /// Epochs that were merged.
    pub epochs: u64,
    /// ε of a report with nobody honest; `None` is infinite.
    pub local_floor: Option<Epsilon>,
    /// The theorem that gives ε of one epoch.
    pub theorem: Theorem,
    /// The paper that proves it, in the words of the release.
    pub source: Cow<'static, str>,
    /// The neighbouring relation, in the words of the release.
    pub neighbours: Cow<'static, str>,
    /// The condition it rests on, in the words of the release.
    pub holds_if: Cow<'static, str>,
}

impl BatchGuarantee {
    /// The guarantee for a batch of `reports` distinct valid reports from this number of merged
    /// epochs.
    pub fn of(terms: &Terms, reports: u64, epochs: u64) -> Result<Self, Error> {
        let promise = &terms.promise;
        let honest = Crowd::honest(reports, promise.corrupt)?;
        let one = terms.profile(honest)?.epsilon(promise.delta)?;
        let (epsilon, delta) = Self::cost(terms, Disclosure { epochs, honest })?;
        let all = Disclosure { epochs, honest: Crowd::new(reports)? };
        let (if_all_honest, _) = Self::cost(terms, all)?;
        let neighbours = if epochs == 1 { ONE_REPORT } else { ONE_IN_EACH };
        Ok(Self {
            epsilon,
            delta,
            lower: one.lower.filter(|_| epochs == 1).map(|witness| witness.epsilon),
            honest,
            corrupt: promise.corrupt,
            if_all_honest,
            epochs,
            local_floor: terms.mechanism.local_floor(),
            theorem: one.theorem,
            source: one.theorem.source().into(),
            neighbours: neighbours.into(),
            holds_if: holds_if(terms).into(),
        })
    }

    /// ε and δ for a person with a report in every epoch of the release. If group privacy over many
    /// merged epochs turns the promised δ into more than 1, this is ε at the δ of the lifetime.
    pub fn cost(terms: &Terms, release: Disclosure) -> Result<(Epsilon, Delta), Error> {
        match terms.cost(release) {
            Ok(cost) => Ok(cost),
            Err(_) => Ok((Account::new(terms).total(&[release])?, terms.promise.lifetime.1)),
        }
    }
}

/// The words of a release, without a copy where they are those of this version.
pub(super) fn words(theorem: Theorem, text: &str) -> Cow<'static, str> {
    let mut known = [theorem.source(), ONE_REPORT, ONE_IN_EACH].into_iter().chain(CONDITIONS);
    match known.find(|known| *known == text) {
        Some(known) => known.into(),
        None => text.to_owned().into(),
    }
}

const ONE_REPORT: &str = "one person's report is replaced by another";
const ONE_IN_EACH: &str = "the reports of one person, one in each epoch, are replaced by others";
