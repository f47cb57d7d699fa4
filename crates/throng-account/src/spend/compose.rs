//! Composition: the privacy cost of several rounds together.
//!
//! The numerical engine turns each round's profile into a privacy-loss distribution on a grid that
//! dominates it, multiplies characteristic functions, and reads δ off the product (`loss`).
//!
//! A dominating pair per round dominates the composition of rounds chosen adaptively, as long as
//! crowds and parameters are fixed in advance (`docs/privacy.md`, 5.6).

use crate::error::require;
use crate::kernel::bag::Bag;
use crate::kernel::loss::{Law, TotalLoss};
use crate::kernel::solve::smallest_epsilon;
use crate::kernel::special::lower_normal_quantile;
use crate::profile::ClonePair;
use crate::spend::closed_form::basic;
use crate::{Crowd, Delta, Epsilon, Error, Guarantee, Profile, Theorem};

/// A sequence of rounds, each with a profile of its own.
///
/// ```
/// use throng_account::profile::WorstCase;
/// use throng_account::spend::{Composition, closed_form};
/// use throng_account::{Delta, Epsilon};
///
/// // Thirty rounds of which nothing but ε = 0.1 is known.
/// let (epsilon, delta) = (Epsilon::new(0.1)?, Delta::new(1e-6)?);
/// let round = WorstCase::new(epsilon, 0.0)?;
/// let all = Composition::new().and(&round, 30).epsilon(delta)?.get();
/// // The binomial law of thirty answers has 2.345887; the grid adds a little.
/// assert!((2.345887..2.3482).contains(&all));
/// assert!(all < closed_form::concentrated(epsilon, 30, delta));
/// assert_eq!(Composition::new().epsilon(delta)?, Epsilon::ZERO);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Default)]
pub struct Composition<'a> {
    rounds: Vec<(&'a dyn Profile, u64)>,
}

impl<'a> Composition<'a> {
    /// A composition of no rounds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `times` rounds of the same kind.
    #[must_use]
    pub fn and(mut self, profile: &'a dyn Profile, times: u64) -> Self {
        if times > 0 {
            self.rounds.push((profile, times));
        }
        self
    }

    /// The smallest ε at δ for all rounds together, on the safe side.
    pub fn epsilon(&self, delta: Delta) -> Result<Epsilon, Error> {
        self.epsilon_on(STEPS_PER_DEVIATION, delta)
    }

    /// The smallest ε at δ, computed on a grid with `steps` steps per deviation of one round.
    fn epsilon_on(&self, steps: f64, delta: Delta) -> Result<Epsilon, Error> {
        let loss = self.discretise(steps, delta.get(), 0)?;
        // Basic composition, where every round is pure.
        let pure = |&(profile, times): &(&dyn Profile, u64)| {
            profile.pure().map(|pure| basic(pure, 0.0, times).0)
        };
        let basic: Option<f64> = self.rounds.iter().map(pure).sum();
        if delta.get() <= loss.infinite {
            let least = loss.infinite.min(1.0);
            return basic.map(Epsilon::at).ok_or(Error::Unreachable { delta: delta.get(), least });
        }
        let found = smallest_epsilon(delta.get(), loss.largest_loss(), 0.0, |e| loss.delta(e));
        let found = basic.map_or(found, |basic| found.min(basic));
        Ok(Epsilon::at(found))
    }

    /// An upper bound on `δ(ε)` of all rounds together.
    pub fn delta(&self, epsilon: Epsilon) -> Result<f64, Error> {
        Ok(self.discretise(STEPS_PER_DEVIATION, 1e-12, 0)?.delta(epsilon.get()).min(1.0))
    }

    /// The same where δ is about `target`, on the grid of [`Self::epsilon`].
    pub(crate) fn delta_near(&self, epsilon: Epsilon, target: Delta) -> Result<f64, Error> {
        Ok(self.discretise(STEPS_PER_DEVIATION, target.get(), 0)?.delta(epsilon.get()).min(1.0))
    }

    /// True if one look at δ shows that all rounds together cost ε at most at this δ. Where it is
    /// false, [`Self::epsilon`] may still find an ε that is just as small.
    ///
    /// The look is at an ε that is smaller by more than what the search for the smallest one leaves
    /// over: the search would have ended below ε as well.
    pub(crate) fn plainly_within(&self, epsilon: Epsilon, delta: Delta) -> Result<bool, Error> {
        let below = Epsilon::new(epsilon.get() * (1.0 - 1e-9))?;
        Ok(self.delta_near(below, delta)? <= delta.get())
    }

    /// The step of a grid, and upper bounds on δ at all its places from 0 on, for a few rounds that
    /// are to be composed many times: the tail may be coarser.
    pub(crate) fn written(&self, target: f64) -> Result<(f64, Vec<f64>), Error> {
        Ok(self.discretise(0.5 * STEPS_PER_DEVIATION, target, MANY)?.written())
    }

    /// `target`: the order of δ at which the result is going to be used. `rounds`: how many there
    /// are at least, if these are not all.
    fn discretise(&self, steps: f64, target: f64, rounds: u64) -> Result<TotalLoss, Error> {
        let total = self.rounds.iter().fold(0_u64, |sum, round| sum.saturating_add(round.1));
        require(total <= 10_000_000, "rounds", total as f64, "at most 10000000")?;
        // Losses per round, as the μ of a Gaussian with the same total variation.
        let spread = |profile: &dyn Profile| {
            let variation = profile.bulk_delta(Epsilon::ZERO).min(1.0 - 1e-12);
            -2.0 * lower_normal_quantile((0.5 * (1.0 - variation)).ln())
        };
        let square: f64 = self.rounds.iter().map(|&(p, t)| t as f64 * spread(p).powi(2)).sum();
        let mut step = (square / total.max(1) as f64).sqrt() / steps;
        if step.is_nan() || step <= 0.0 {
            return Ok(TotalLoss::new(1.0, Vec::new()));
        }
        // With one kind of round its largest loss can be a grid point.
        if let [(profile, _)] = self.rounds[..] {
            let aligned = |pure: Epsilon| pure.get() / (pure.get() / step).ceil();
            step = profile.pure().map(aligned).filter(|&step| step > 0.0).unwrap_or(step);
        }
        let floor = target * 1e-6 / total as f64;
        let law = |&(profile, times): &(&dyn Profile, u64)| {
            Law::dominating(profile, times, step, floor, |place| {
                stride(place / steps, total.max(rounds))
            })
        };
        Ok(TotalLoss::new(step, self.rounds.iter().map(law).collect()))
    }
}

/// `rounds` rounds of one shuffled ε₀-LDP randomizer: upper bound by composition of the dominating
/// pair, lower bound by binary response with everyone else on one value in all rounds, whose total
/// count over all rounds an adversary could watch.
///
/// ```
/// use throng_account::spend::shuffled_rounds;
/// use throng_account::{Crowd, Delta, Epsilon};
///
/// // Once 0.149, and four times 0.31: twice as much.
/// let (crowd, local, delta) = (Crowd::new(1_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let [once, four] = [1, 4].map(|rounds| shuffled_rounds(crowd, local, rounds, delta));
/// let (once, four) = (once?.epsilon.get(), four?.epsilon.get());
/// assert!((once - 0.1487).abs() < 1e-4 && (four - 0.3116).abs() < 1e-4);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn shuffled_rounds(
    crowd: Crowd,
    local: Epsilon,
    rounds: u64,
    delta: Delta,
) -> Result<Guarantee, Error> {
    let pair = ClonePair::strong(crowd, local)?;
    let upper = Composition::new().and(&pair, rounds).epsilon(delta)?.get();
    let bag = Bag::new(crowd, rounds, 1.0 / (local.get().exp() + 1.0));
    let delta_at = |e: f64| bag.all_ones(e).lower;
    let lower = smallest_epsilon(delta.get(), bag.pure(), 0.7 * upper, delta_at);
    let dataset = bag.dataset(bag.others);
    Ok(Guarantee::new(Theorem::Composition, delta, upper, lower, |_| Some(dataset)))
}

/// The number of grid steps to the next evaluation, this many deviations out.
///
/// In a few rounds the tail itself is what δ is read from: there a chord of two steps adds 3e-4 to
/// ε. In many rounds the sum is made of central losses, and the tail may be coarser.
fn stride(deviations: f64, total: u64) -> usize {
    match deviations {
        _ if deviations < 1.5 => 1,
        _ if total < MANY => 2,
        _ => (deviations / 0.75) as usize,
    }
}

/// As many rounds as make their sum one of central losses.
const MANY: u64 = 32;
/// Grid points per deviation of one round's loss: the grid adds less than a thousandth to ε.
const STEPS_PER_DEVIATION: f64 = 40.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{ClonePair, WorstCase};
    use crate::spend::closed_form::{advanced, concentrated};
    use crate::testing::{assert_close, vectors};
    use crate::tradeoff::gaussian_delta;
    use crate::{Band, Dataset};

    struct Gaussian(f64);

    impl Profile for Gaussian {
        fn delta(&self, epsilon: Epsilon) -> Band {
            let upper = gaussian_delta(self.0, epsilon.get());
            Band { lower: upper * (1.0 - 1e-8), upper }
        }
        fn pure(&self) -> Option<Epsilon> {
            None
        }
        fn theorem(&self) -> Theorem {
            Theorem::Local
        }
        fn witness(&self, _: Epsilon) -> Option<Dataset> {
            None
        }
    }

    fn pair(n: u64, local: f64) -> ClonePair {
        ClonePair::strong(Crowd::new(n).unwrap(), Epsilon::at(local)).unwrap()
    }

    #[test]
    fn composed_profiles_lie_just_above_the_exact_ones() {
        for row in vectors("compose.json") {
            let (times, epsilon) = (row.u64("rounds"), Epsilon::at(row.f64("epsilon")));
            let exact = row.f64("delta");
            let profile: Box<dyn Profile> = match row.text("kind").as_str() {
                "response" => {
                    Box::new(WorstCase::new(Epsilon::at(row.f64("epsilon0")), 0.0).unwrap())
                }
                "clone" => Box::new(pair(row.u64("n"), row.f64("epsilon0"))),
                _ => Box::new(Gaussian(row.f64("mu"))),
            };
            let found = Composition::new().and(&*profile, times).delta(epsilon).unwrap();
            assert!(found >= exact, "{row:?}: {found:e}");
            if exact > 1e-15 {
                assert!(found <= 1.05 * exact + 1e-15, "{row:?}: {found:e}");
            }
        }
    }

    // Values of an independent connect-the-dots implementation on the same pairs, δ = 10⁻⁶.
    #[test]
    fn composed_epsilons_agree_with_an_independent_program() {
        for (n, local, rounds, expected) in [
            (10_000, 1.0, 10, 0.14847),
            (10_000, 1.0, 100, 0.50828),
            (10_000, 1.0, 1_000, 1.7585),
            (10_000, 4.0, 100, 4.9876),
            (1_000_000, 1.0, 1_000, 0.14847),
            (1_000_000, 4.0, 1_000, 1.3922),
        ] {
            let crowd = Crowd::new(n).unwrap();
            let delta = Delta::new(1e-6).unwrap();
            let found = shuffled_rounds(crowd, Epsilon::at(local), rounds, delta).unwrap();
            assert_close(found.epsilon.get(), expected, 3e-4);
            assert!(found.lower.unwrap().epsilon < found.epsilon);
        }
    }

    #[test]
    fn refining_the_grid_gains_less_than_a_thousandth() {
        let delta = Delta::new(1e-6).unwrap();
        for (n, local, rounds) in [(10_000, 1.0, 1_000), (1_000, 4.0, 1_000), (10_000, 2.0, 3)] {
            let pair = pair(n, local);
            let plan = Composition::new().and(&pair, rounds);
            let ours = plan.epsilon(delta).unwrap().get();
            let finer = plan.epsilon_on(8.0 * STEPS_PER_DEVIATION, delta).unwrap().get();
            assert!(finer <= ours && ours <= 1.001 * finer, "n = {n}: {ours} {finer}");
        }
    }

    // Cheu et al., Lemma 10, would give 74.3 here.
    #[test]
    fn a_published_composition_lemma_is_below_the_truth() {
        let (rounds, epsilon, slack) = (10_000, 0.1, Delta::new(1e-6).unwrap());
        let printed = epsilon * epsilon + 2.0 * epsilon * (rounds as f64 * 1e6_f64.ln()).sqrt();
        assert_close(printed, 74.3, 1e-3);
        let response = WorstCase::new(Epsilon::at(epsilon), 0.0).unwrap();
        let composed = Composition::new().and(&response, rounds);
        let exact = composed.epsilon(slack).unwrap().get();
        assert_close(exact, 96.6, 1e-3);
        assert!(composed.delta(Epsilon::at(printed)).unwrap() > 5e-3);
        assert!(advanced(Epsilon::at(epsilon), rounds, slack) > exact);
        assert!(concentrated(Epsilon::at(epsilon), rounds, slack) > exact);
    }

    #[test]
    fn different_rounds_compose_in_any_order_and_one_round_is_itself() {
        let (a, b) = (pair(1_000, 1.0), pair(300, 0.5));
        let delta = Delta::new(1e-7).unwrap();
        let one = Composition::new().and(&a, 3).and(&b, 5).epsilon(delta).unwrap().get();
        let other = Composition::new().and(&b, 5).and(&a, 3).epsilon(delta).unwrap().get();
        assert_close(one, other, 1e-9);
        let single = Composition::new().and(&a, 1).epsilon(delta).unwrap().get();
        let exact = a.epsilon(delta).unwrap().epsilon.get();
        assert!(single >= exact && single < exact * 1.001, "{single} {exact}");
    }

    #[test]
    fn extreme_rounds_cost_what_basic_composition_says_at_most() {
        let delta = Delta::new(1e-6).unwrap();
        let nothing = ClonePair::strong(Crowd::new(100).unwrap(), Epsilon::ZERO).unwrap();
        assert_eq!(Composition::new().and(&nothing, 5).epsilon(delta).unwrap().get(), 0.0);
        for (local, rounds) in [(30.0, 1), (40.0, 3), (12.0, 1), (1.0, 1)] {
            let declared = WorstCase::new(Epsilon::at(local), 0.0).unwrap();
            let found = Composition::new().and(&declared, rounds).epsilon(delta).unwrap().get();
            let basic = local * rounds as f64;
            assert!(found <= basic * (1.0 + 1e-8) && found > 0.9 * basic, "{local}: {found}");
        }
        // All but a point mass at ε₀, and a little at infinity.
        for (local, leak) in [(12.0, 1e-9), (11.5, 1e-4), (12.0, 1e-20)] {
            let declared = WorstCase::new(Epsilon::at(local), leak).unwrap();
            let found = Composition::new().and(&declared, 1).epsilon(Delta::new(1e-3).unwrap());
            let found = found.unwrap().get();
            assert!(found > local - 1.0 && found < local + 1.0, "{local} {leak}: {found}");
        }
        let pair = pair(100, 1.0);
        let many = Composition::new().and(&pair, u64::MAX).and(&pair, 2);
        assert!(matches!(many.epsilon(delta), Err(Error::OutOfRange { .. })));
    }

    #[test]
    fn an_approximate_round_costs_its_delta_every_time() {
        let declared = WorstCase::new(Epsilon::at(0.1), 1e-7).unwrap();
        let composed = Composition::new().and(&declared, 10);
        let refused = composed.epsilon(Delta::new(9e-7).unwrap());
        assert!(matches!(refused, Err(Error::Unreachable { .. })), "{refused:?}");
        assert!(composed.epsilon(Delta::new(1.1e-6).unwrap()).unwrap().get() <= 1.05);
    }
}
