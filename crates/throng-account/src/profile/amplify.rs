//! Amplification by shuffling: the privacy of any ε₀-LDP randomizer in a crowd.

use crate::kernel::bag::Bag;
use crate::kernel::solve::smallest_epsilon;
use crate::profile::{Blanket, ClonePair};
use crate::published;
use crate::{Band, Crowd, Dataset, Delta, Epsilon, Error, Guarantee, Profile, Theorem};

/// Some pure ε₀-LDP randomizer, the same for everyone, one report each, shuffled.
///
/// The upper bound is [`ClonePair::strong`]; the lower bound is the better of two real randomizers
/// on explicit datasets: binary response, and ternary response with everyone else on the third
/// value.
///
/// ```
/// use throng_account::profile::Amplification;
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// // Whatever the randomizer, ε₀ = 1 among a thousand is at most 0.149. Some randomizer has 0.13.
/// let amplification = Amplification::new(Crowd::new(1_000)?, Epsilon::new(1.0)?)?;
/// let guarantee = amplification.epsilon(Delta::new(1e-6)?)?;
/// assert!((guarantee.epsilon.get() - 0.14867).abs() < 1e-5);
/// assert!((guarantee.lower.unwrap().epsilon.get() - 0.13056).abs() < 1e-5);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amplification {
    crowd: Crowd,
    local: Epsilon,
    pair: ClonePair,
    ternary: Blanket,
}

/// One bound on ε among several.
///
/// ```
/// use throng_account::profile::Amplification;
/// use throng_account::{Crowd, Delta, Epsilon, Theorem};
///
/// let amplification = Amplification::new(Crowd::new(1_000)?, Epsilon::new(1.0)?)?;
/// let bounds = amplification.bounds(Delta::new(1e-6)?)?;
/// assert_eq!(bounds[0].theorem, Theorem::StrongClones);
///
/// // The best formula of the papers is four times as much, and one of them does not apply.
/// let closed = bounds.iter().find(|bound| bound.theorem == Theorem::ClonesClosed).unwrap();
/// assert!((closed.epsilon.clone()?.get() - 0.6495).abs() < 1e-4);
/// assert!(bounds.last().unwrap().epsilon.is_err());
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The theorem it comes from.
    pub theorem: Theorem,
    /// ε, never above ε₀; or why the theorem does not apply.
    pub epsilon: Result<Epsilon, Error>,
}

impl Amplification {
    /// ε₀ must be above 0 and at most 300.
    pub fn new(crowd: Crowd, local: Epsilon) -> Result<Self, Error> {
        // Ternary response has the stricter range.
        let ternary = Blanket::kary_response(crowd, local, 3)?;
        Ok(Self { crowd, local, pair: ClonePair::strong(crowd, local)?, ternary })
    }

    /// Every bound there is at δ, the smallest first, those out of range last.
    pub fn bounds(&self, delta: Delta) -> Result<Vec<Bound>, Error> {
        let (crowd, local) = (self.crowd, self.local);
        let standard = ClonePair::standard(crowd, local)?;
        let mut bounds: Vec<Bound> = [
            (Theorem::StrongClones, self.pair.epsilon(delta).map(|g| g.epsilon.get())),
            (Theorem::StandardClones, standard.epsilon(delta).map(|g| g.epsilon.get())),
            (Theorem::ClonesClosed, published::clones_closed(crowd, local, delta)),
            (Theorem::SwapRenyi, Ok(published::swap_renyi(crowd, local, 1, delta))),
            (Theorem::SwapGeneral, published::swap_general(crowd, local, delta)),
            (Theorem::SwapSecond, published::swap_second(crowd, local, delta)),
            (Theorem::SwapThird, published::swap_third(crowd, local, delta)),
            (Theorem::Local, Ok(local.get())),
        ]
        .into_iter()
        .map(|(theorem, epsilon)| Bound {
            theorem,
            // Overflow and NaN of the closed forms mean "useless": ε₀ holds anyway.
            epsilon: epsilon.map(|e| Epsilon::at(if e < local.get() { e } else { local.get() })),
        })
        .collect();
        let key = |bound: &Bound| bound.epsilon.as_ref().map_or(f64::INFINITY, |e| e.get());
        bounds.sort_by(|a, b| key(a).total_cmp(&key(b)));
        Ok(bounds)
    }

    /// `δ(ε)` of binary response, on the worst of a few datasets.
    fn binary(&self, epsilon: f64) -> (f64, Dataset) {
        let bag = Bag::new(self.crowd, 1, 1.0 / (self.local.get().exp() + 1.0));
        let others = bag.others;
        bag.worst_of([others / 2, others.saturating_sub(1), others], epsilon)
    }
}

impl Profile for Amplification {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let lower = self.binary(epsilon.get()).0.max(self.ternary.lower_delta(epsilon));
        Band { lower, upper: self.upper_delta(epsilon) }
    }

    fn upper_delta(&self, epsilon: Epsilon) -> f64 {
        self.pair.delta(epsilon).upper
    }

    fn pure(&self) -> Option<Epsilon> {
        Some(self.local)
    }

    fn theorem(&self) -> Theorem {
        Theorem::StrongClones
    }

    fn witness(&self, epsilon: Epsilon) -> Option<Dataset> {
        let (binary, dataset) = self.binary(epsilon.get());
        let ternary = self.ternary.lower_delta(epsilon);
        Some(if ternary > binary { Dataset::ThirdValue } else { dataset })
    }

    fn epsilon(&self, delta: Delta) -> Result<Guarantee, Error> {
        let limit = self.local.get();
        let upper = self.pair.epsilon(delta)?.epsilon.get();
        let guess = 0.9 * upper;
        let binary = smallest_epsilon(delta.get(), limit, guess, |e| self.binary(e).0);
        // Ternary response is the costlier kernel: look first whether it can win at all.
        let of_ternary = |e: f64| self.ternary.lower_delta(Epsilon::at(e));
        let ternary = if of_ternary(binary) > delta.get() {
            smallest_epsilon(delta.get(), limit, binary.max(guess), of_ternary)
        } else {
            0.0
        };
        let dataset = |lower: Epsilon| {
            Some(if ternary > binary { Dataset::ThirdValue } else { self.binary(lower.get()).1 })
        };
        Ok(Guarantee::new(self.theorem(), delta, upper, binary.max(ternary), dataset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};

    fn amplification(n: u64, local: f64) -> Amplification {
        Amplification::new(Crowd::new(n).unwrap(), Epsilon::at(local)).unwrap()
    }

    // Reference values of the best published evaluations at δ = 10⁻⁸: exact pair and achievable
    // lower bound.
    #[test]
    fn the_band_is_where_it_is_known_to_be() {
        for (n, local, upper, lower) in [
            (1_000, 0.5, 0.081067, 0.0741),
            (1_000, 1.0, 0.188586, 0.1659),
            (1_000, 2.0, 0.497110, 0.4649),
            (1_000, 4.0, 2.849715, 2.6626),
            (10_000, 1.0, 0.0564473, 0.04981),
            (10_000, 4.0, 0.514488, 0.5092),
            (1_000_000, 0.5, 0.00213677, 0.001903),
            (1_000_000, 4.0, 0.0450730, 0.04465),
            (100_000_000, 1.0, 0.000431321, 0.000379),
        ] {
            let found = amplification(n, local).epsilon(Delta::new(1e-8).unwrap()).unwrap();
            assert_close(found.epsilon.get(), upper, 1e-5);
            assert_close(found.lower.unwrap().epsilon.get(), lower, 2e-3);
        }
    }

    // Independent brute force: exact worst cases of random extremal channels, all pairs of inputs
    // and all multisets of the others' inputs.
    #[test]
    fn no_enumerated_channel_exceeds_the_bound() {
        for row in vectors("channels.json") {
            let pair = amplification(row.u64("n"), row.f64("epsilon0")).pair;
            let upper = pair.delta(Epsilon::at(row.f64("epsilon"))).upper;
            assert!(row.f64("delta") <= upper, "{row:?}: {upper}");
            // The channel is printed in rounded decimals, its ε₀ too.
            assert!((row.f64("bound") - upper).abs() <= 1e-8 * upper, "{row:?}: {upper}");
        }
    }

    #[test]
    fn every_listed_bound_is_above_the_lower_bound_and_at_most_local() {
        for n in [2, 50, 1_000, 100_000] {
            for local in [0.1, 0.5, 1.0, 4.0, 9.0] {
                for delta in [1e-2, 1e-6, 1e-12] {
                    let (mechanism, delta) = (amplification(n, local), Delta::new(delta).unwrap());
                    let lower = mechanism.epsilon(delta).unwrap().lower.unwrap().epsilon;
                    let bounds = mechanism.bounds(delta).unwrap();
                    assert_eq!(
                        bounds[0].epsilon.as_ref().unwrap(),
                        &mechanism.epsilon(delta).unwrap().epsilon
                    );
                    for bound in bounds {
                        if let Ok(epsilon) = bound.epsilon {
                            assert!(
                                lower <= epsilon && epsilon.get() <= local,
                                "{n} {local} {bound:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn amplification_is_monotone_in_every_argument() {
        let epsilon = |n: u64, local: f64, delta: f64| {
            amplification(n, local).epsilon(Delta::new(delta).unwrap()).unwrap().epsilon.get()
        };
        for n in [5, 300, 20_000] {
            for local in [0.3, 1.0, 5.0] {
                for delta in [1e-3, 1e-7] {
                    let here = epsilon(n, local, delta) * (1.0 + 1e-9);
                    assert!(epsilon(n + n / 3, local, delta) <= here);
                    assert!(epsilon(n, local * 0.9, delta) <= here);
                    assert!(epsilon(n, local, delta * 2.0) <= here);
                }
            }
        }
    }
}
