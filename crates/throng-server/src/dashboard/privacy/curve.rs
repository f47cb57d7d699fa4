//! δ against ε, for the crowd of one release, drawn once and kept.

use crate::Error;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use throng_account::show::{Near, Upper};
use throng_account::spend::group;
use throng_account::{Band, Crowd, Epsilon};
use throng_collection::Terms;
use throng_mix::lock;
use throng_wire::CollectionId;

/// The curves that were asked for last, of all collections.
#[derive(Default)]
pub(crate) struct Curves(Mutex<VecDeque<(Name, Arc<Curve>)>>);

/// The name of a curve: a collection and the number of honest reports.
type Name = (CollectionId, Crowd);

/// Points of a privacy profile, ε rising from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve(pub Vec<Place>);

/// A point of a curve: δ lies within the band at this ε, which is a number of four digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    pub epsilon: f64,
    pub delta: Band,
}

impl Curves {
    /// The curve of one report among `honest` ones, for a release that reached this ε. One curve is
    /// computed at a time, so that a page that is asked for often takes no more than one processor.
    pub fn of(
        &self,
        id: CollectionId,
        terms: &Terms,
        honest: Crowd,
        reached: f64,
    ) -> Result<Arc<Curve>, Error> {
        let mut kept = lock(&self.0);
        if let Some((_, curve)) = kept.iter().find(|(name, _)| *name == (id, honest)) {
            return Ok(Arc::clone(curve));
        }
        let curve = Arc::new(Curve::new(terms, honest, reached)?);
        kept.push_front(((id, honest), Arc::clone(&curve)));
        kept.truncate(KEPT);
        Ok(curve)
    }
}

impl Curve {
    /// Computes a curve up to half more than the ε of the release, and up to the promised one if
    /// that is near.
    pub fn new(terms: &Terms, honest: Crowd, reached: f64) -> Result<Self, Error> {
        let profile = terms.profile(honest)?;
        let promised = 1.05 * terms.promise.epsilon.get();
        let end =
            if promised <= 3.0 * reached { promised.max(1.5 * reached) } else { 1.5 * reached };
        let step = Upper(end.max(LEAST) / STEPS).rounded(2);
        let place = |number: u32| {
            // The number that a table shows, so that what stands beside it is about that very
            // number.
            let epsilon = Epsilon::new(Near(f64::from(number) * step).rounded(4))?;
            Ok(Place { epsilon: epsilon.get(), delta: profile.delta(epsilon) })
        };
        (0..=STEPS as u32).map(place).collect::<Result<_, Error>>().map(Self)
    }

    /// The curve of a person with a report in each of `epochs` epochs, by [`group`] privacy.
    /// Nothing is known from below.
    pub fn together(&self, epochs: u64) -> Self {
        let place = |Place { epsilon, delta }: &Place| {
            let (epsilon, upper) = group(*epsilon, delta.upper, epochs);
            Place { epsilon, delta: Band { lower: 0.0, upper: upper.min(1.0) } }
        };
        match epochs {
            0 | 1 => self.clone(),
            _ => Self(self.0.iter().map(place).collect()),
        }
    }

    /// True if anything is known from below.
    pub fn has_lower(&self) -> bool {
        self.0.iter().any(|place| place.delta.lower > 0.0)
    }
}

/// The number of points beside the first. Its product with a number of two digits has four.
const STEPS: f64 = 60.0;
/// The length of the shortest axis.
const LEAST: f64 = 1e-3;
/// The most curves in memory, each of some 1,500 bytes.
const KEPT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dashboard::privacy::tests::terms;
    use throng_collection::Disclosure;
    use throng_mechanism::Key;

    #[test]
    fn a_curve_is_the_profile_at_the_numbers_that_are_shown() {
        let terms = terms(Key::BitSum);
        let honest = Crowd::new(1_300).unwrap();
        let Curve(places) = Curve::new(&terms, honest, 0.9).unwrap();
        assert_eq!(places.len(), 61);
        let profile = terms.profile(honest).unwrap();
        for Place { epsilon, delta } in &places {
            assert_eq!(Near(*epsilon).to_string().parse(), Ok(*epsilon));
            assert_eq!(*delta, profile.delta(Epsilon::new(*epsilon).unwrap()));
        }
        let end = places.last().unwrap();
        assert!(end.epsilon >= 1.05 && end.delta.upper < 1e-6, "{end:?}");
        assert!(places.is_sorted_by(|a, b| a.epsilon < b.epsilon && a.delta.upper > b.delta.upper));
        assert!(Curve(places).has_lower());
    }

    // What a release of merged epochs publishes is a point of its curve.
    #[test]
    fn merged_epochs_are_reckoned_with_as_in_their_release() {
        let terms = terms(Key::BitSum);
        let honest = Crowd::new(1_200).unwrap();
        let one = terms.profile(honest).unwrap().epsilon(terms.promise.delta).unwrap();
        let delta = Band { lower: 0.0, upper: terms.promise.delta.get() };
        let curve = Curve(vec![Place { epsilon: one.epsilon.get(), delta }]);
        for epochs in [1, 2, 3, 5] {
            let (epsilon, delta) = terms.cost(Disclosure { epochs, honest }).unwrap();
            let Curve(merged) = curve.together(epochs);
            assert!((merged[0].epsilon / epsilon.get() - 1.0).abs() < 1e-8);
            assert!((merged[0].delta.upper / delta.get() - 1.0).abs() < 1e-8, "{epochs}");
        }
    }

    #[test]
    fn a_curve_is_computed_once_and_old_ones_go() {
        let (curves, terms) = (Curves::default(), terms(Key::BitSum));
        let id = |n| CollectionId::new([n; 32]);
        let honest = Crowd::new(1_000).unwrap();
        let first = curves.of(id(0), &terms, honest, 0.9).unwrap();
        assert!(Arc::ptr_eq(&first, &curves.of(id(0), &terms, honest, 0.9).unwrap()));
        let kept = || curves.0.lock().unwrap();
        for place in 0..300 {
            kept().push_front(((id(1), Crowd::new(place + 1).unwrap()), Arc::clone(&first)));
        }
        curves.of(id(2), &terms, honest, 0.9).unwrap();
        assert_eq!(kept().len(), KEPT);
    }
}
