//! Remedies for a promise that is not kept.

use crate::kernel::solve::smallest_doubled;
use crate::kernel::work::{measured, terms_visited};
use crate::{Crowd, Delta, Epsilon, Error, Profile};

/// Ways to keep a promise with a mechanism as it is, each by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remedy {
    /// The crowd that would keep it, to a thousandth, if one at most 1000 times as large does.
    pub crowd: Option<Crowd>,
    /// The ε that is kept instead, at the same δ.
    pub epsilon: Option<Epsilon>,
}

/// Looks for ways to keep (ε, δ) where a mechanism does not among `crowd`. `profile` is the profile
/// of the mechanism in a crowd, where it has one.
///
/// The search visits not many more than `budget` terms of laws. `None` if a hundred looks at δ
/// would take more than that: the promise may come from somebody who wants to hold up its reader.
///
/// ```
/// use throng_account::profile::ClonePair;
/// use throng_account::{Crowd, Delta, Epsilon, Profile, calibrate};
///
/// // ε₀ = 1 among a thousand is not hidden down to 0.1; among 2,096 it is.
/// let profile = |crowd| {
///     let pair = ClonePair::strong(crowd, Epsilon::new(1.0).ok()?).ok()?;
///     Some(Box::new(pair) as Box<dyn Profile>)
/// };
/// let (crowd, epsilon, delta) = (Crowd::new(1_000)?, Epsilon::new(0.1)?, Delta::new(1e-6)?);
/// let remedy = calibrate::remedy(profile, crowd, epsilon, delta, 1_000_000).unwrap();
/// assert!((2_096..=2_098).contains(&remedy.crowd.unwrap().get()));
/// assert!((remedy.epsilon.unwrap().get() - 0.1487).abs() < 1e-4);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn remedy(
    profile: impl Fn(Crowd) -> Option<Box<dyn Profile>>,
    crowd: Crowd,
    epsilon: Epsilon,
    delta: Delta,
    budget: u64,
) -> Option<Remedy> {
    let here = profile(crowd)?;
    let (_, look) = measured(|| here.delta(epsilon));
    if look > budget / 100 {
        return None;
    }
    let begin = terms_visited();
    let keeps = |n: u64| -> Result<bool, Error> {
        if terms_visited() - begin > budget {
            return Ok(false);
        }
        let profile = Crowd::new(n).ok().and_then(&profile);
        Ok(profile.is_some_and(|profile| profile.delta(epsilon).upper <= delta.get()))
    };
    let enough = smallest_doubled(crowd.get() << 1, crowd.get() << 10, 1_000, keeps);
    Some(Remedy {
        crowd: enough.ok().flatten().and_then(|enough| Crowd::new(enough).ok()),
        epsilon: here.epsilon(delta).ok().map(|guarantee| guarantee.epsilon),
    })
}
