//! What a chain must not get wrong, whatever the noise: a release is a function of its reports.
//!
//! The audit knows what everybody's noise was, since it gave out the randomness. So the bag of
//! every epoch is known, and with it every number of the release: reports that were lost, counted
//! twice or altered on the way, noise that did not arrive, and a promise that is not that of this
//! crowd all show at once, without statistics.

use super::confidence;
use serde_json::Value;
use std::collections::BTreeSet;
use throng_collection::{About, BatchGuarantee, Influence, Release, Subjects};
use throng_mechanism::Tally;
use throng_wire::Loss;

/// What is the same in all releases of an audit.
pub struct Expected {
    /// Reports in every epoch.
    pub reports: u64,
    /// The guarantee for so many.
    pub guarantee: BatchGuarantee,
}

impl Expected {
    /// The fault of the release of an epoch whose bag is known, if it has one.
    pub fn fault(&self, release: &Release, subjects: &Subjects, tally: &Tally) -> Option<String> {
        let (collection, epoch) = (subjects.collection(), release.first);
        let right = Release {
            collection: collection.id(),
            first: epoch,
            last: epoch,
            reports: self.reports,
            confidence: confidence(),
            estimates: subjects.answers(tally, &[epoch], confidence()),
            guarantee: self.guarantee.clone(),
            influence: Influence::of(&collection.terms, self.reports, tally),
            losses: vec![Loss::default(); collection.chain.hops().into()],
            nonsense: 0,
            about: Some(About::of(collection, epoch, epoch)),
            // These hang on random keys and on what else was released.
            spent: release.spent,
            batch: release.batch,
            ledger: release.ledger,
        };
        let over = release.spent.epsilon > collection.terms.promise.lifetime.0;
        let over = over.then(|| "more is spent than the lifetime has".to_owned());
        let read = |release: &Release| serde_json::from_str(&release.to_json()).ok();
        difference("the release", read(release).as_ref(), read(&right).as_ref()).or(over)
    }
}

/// The first number in which two values differ, with the way to it.
fn difference(path: &str, told: Option<&Value>, right: Option<&Value>) -> Option<String> {
    if told == right {
        return None;
    }
    let names = |value: Option<&Value>| -> BTreeSet<String> {
        match value {
            Some(Value::Object(fields)) => fields.keys().cloned().collect(),
            Some(Value::Array(list)) => (0..list.len()).map(|place| place.to_string()).collect(),
            _ => BTreeSet::new(),
        }
    };
    let inside = |name: &String| {
        let at = |value: &Value| match name.parse::<usize>() {
            Ok(place) if value.is_array() => value.get(place).cloned(),
            _ => value.get(name).cloned(),
        };
        let (told, right) = (told.and_then(at), right.and_then(at));
        difference(&format!("{path}, {name}"), told.as_ref(), right.as_ref())
    };
    let shown = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
    let whole = || format!("{path} is {}, but by its reports {}", shown(told), shown(right));
    let names: BTreeSet<String> = names(told).union(&names(right)).cloned().collect();
    Some(names.iter().find_map(inside).unwrap_or_else(whole))
}

/// The fault of all that a collection has released, given the epochs whose releases were seen and
/// those for which something was sent.
pub fn published(
    releases: &[Release],
    seen: &BTreeSet<u64>,
    sent: &BTreeSet<u64>,
) -> Result<(), (u64, &'static str)> {
    let mut found = BTreeSet::new();
    for epoch in releases.iter().map(|release| release.first) {
        if !found.insert(epoch) {
            return Err((epoch, "it is released twice"));
        }
        if !sent.contains(&epoch) {
            return Err((epoch, "it is released, but nobody reported"));
        }
    }
    match seen.difference(&found).next() {
        Some(epoch) => Err((*epoch, "its release is there no more")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use throng_account::Epsilon;
    use throng_collection::example;

    fn tally(subjects: &Subjects, bits: &[u64]) -> Tally {
        let mechanism = &subjects.collection().terms.mechanism;
        let mut tally = mechanism.tally();
        mechanism.absorb(&mut tally, bits);
        tally
    }

    /// 1200 bits, of which so many are 1.
    fn bits(ones: usize) -> Vec<u64> {
        (0..1_200).map(|place| u64::from(place < ones)).collect()
    }

    #[test]
    fn a_release_is_its_reports_and_every_other_number_is_a_fault() {
        let subjects = Subjects::of(Arc::new(example::collection()));
        let terms = &subjects.collection().terms;
        let guarantee = BatchGuarantee::of(terms, 1_200, 1).unwrap();
        let expected = Expected { reports: 1_200, guarantee };
        let counted = tally(&subjects, &bits(500));
        let right = Release {
            estimates: subjects.answers(&counted, &[0], confidence()),
            losses: vec![Loss::default(); 2],
            nonsense: 0,
            ..example::release()
        };
        let fault = |release: &Release| expected.fault(release, &subjects, &counted);
        assert_eq!(fault(&right), None);

        let more = tally(&subjects, &bits(501));
        let looser = Epsilon::new(right.guarantee.epsilon.get() * 1.000_001).unwrap();
        let mut wrong = vec![
            ("reports is 1201", Release { reports: 1_201, ..right.clone() }),
            ("nonsense is 1", Release { nonsense: 1, ..right.clone() }),
            (
                "mixes, 0, malformed is 1",
                Release { losses: example::release().losses, ..right.clone() },
            ),
            ("last is 1", Release { last: 1, ..right.clone() }),
            ("begin is nothing", Release { about: None, ..right.clone() }),
        ];
        let estimates = subjects.answers(&more, &[0], confidence());
        wrong.push(("estimates, 0, ", Release { estimates, ..right.clone() }));
        let guarantee = BatchGuarantee { epsilon: looser, ..right.guarantee.clone() };
        wrong.push(("privacy, epsilon is", Release { guarantee, ..right.clone() }));
        for (name, release) in wrong {
            let told = fault(&release).unwrap_or_else(|| panic!("{name} is not noticed"));
            assert!(told.contains(name), "{told}");
        }
        let mut over = right;
        over.spent.epsilon = Epsilon::new(over.spent.lifetime.get() + 1.0).unwrap();
        assert!(fault(&over).is_some());
    }

    #[test]
    fn every_epoch_is_released_once_and_only_if_somebody_reported() {
        let release = |epoch| Release { first: epoch, last: epoch, ..example::release() };
        let look = |epochs: &[u64]| {
            let releases: Vec<Release> = epochs.iter().copied().map(release).collect();
            published(&releases, &[2, 3].into(), &[2, 3, 5].into())
        };
        assert!(look(&[2, 3]).is_ok() && look(&[2, 3, 5]).is_ok());
        assert_eq!(look(&[2, 3, 3]).unwrap_err().0, 3);
        assert_eq!(look(&[2, 3, 4]).unwrap_err().0, 4);
        assert_eq!(look(&[3]).unwrap_err().0, 2);
    }
}
