//! The spending of one person who answers several questions, each of them again and again.

use super::row::{self, Kind};
use super::table::Table;
use super::{Composition, Disclosure};
use crate::{Delta, Epsilon, Error, Profile, round};

/// Releases of several questions, of which one person has reports in all.
///
/// The crowds, the mechanisms and the numbers of releases are fixed in advance, so the releases
/// compose, whichever question they answer (`docs/privacy.md`, 9). What is known by a pure ε alone
/// is added to that. One person may hold any answers to all questions: they are replaced together.
///
/// ```
/// use throng_account::profile::BitSum;
/// use throng_account::spend::{Disclosure, Together};
/// use throng_account::{Crowd, Delta, Epsilon, Profile};
///
/// let crowd = Crowd::new(1_000)?;
/// let (crashes, sleep) = (BitSum::new(crowd, 100.0)?, BitSum::new(crowd, 200.0)?);
/// let release = Disclosure { epochs: 1, honest: crowd };
/// let delta = Delta::new(1e-6)?;
///
/// let mut all = Together::new(delta, 2);
/// all.add(&crashes, &[(release, 1)])?;
/// all.add(&sleep, &[(release, 1)])?;
/// let both = all.epsilon(delta)?.get();
/// let apart = [crashes, sleep].map(|one| one.epsilon(delta).map(|one| one.epsilon.get()));
/// let [crashes, sleep] = apart;
/// let (crashes, sleep) = (crashes?, sleep?);
/// assert!(both > crashes.max(sleep) && both < 0.8 * (crashes + sleep));
///
/// // What is told without a crowd adds its own ε.
/// all.add_pure(Epsilon::new(2.0)?);
/// assert!((all.epsilon(delta)?.get() - both - 2.0).abs() < 1e-8);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub struct Together {
    questions: Vec<Question>,
    pure: f64,
    /// The advantage over guessing of whoever sees what is known by a pure ε alone.
    pure_advantage: f64,
    /// The δ that may be cut off the tail of one profile.
    floor: f64,
}

impl Together {
    /// Nothing yet, to be asked at δ after about so many releases.
    pub fn new(delta: Delta, releases: u64) -> Self {
        let floor = 1e-4 * delta.get() / releases.max(1) as f64;
        Self { questions: Vec::new(), pure: 0.0, pure_advantage: 0.0, floor }
    }

    /// Adds the releases of one question, each of them so many times, where `profile` is that of
    /// one report in the smallest of their crowds.
    pub fn add(
        &mut self,
        profile: &dyn Profile,
        releases: &[(Disclosure, u64)],
    ) -> Result<(), Error> {
        for (Disclosure { epochs, .. }, times) in releases {
            let epochs = (*epochs).max(1);
            let one = Table::new(profile, epochs, self.floor)?;
            let single = epochs == 1 && *times > 1;
            let row =
                if single { row::in_a_row(profile, &one, *times, self.floor)? } else { vec![] };
            let one = if epochs == 1 { one } else { one.together(epochs)? };
            self.questions.push(Question { one, row, times: *times });
        }
        Ok(())
    }

    /// The same after a share of all releases, each kind rounded up, without what is known by a
    /// pure ε.
    #[must_use]
    pub fn part(&self, share: f64) -> Self {
        let times = |times: u64| ((times as f64 * share).ceil() as u64).min(times);
        let part = |all: &Question| Question { times: times(all.times), ..all.clone() };
        let questions = self.questions.iter().map(part).collect();
        Self { questions, pure: 0.0, pure_advantage: 0.0, floor: self.floor }
    }

    /// Adds something of which a pure ε is known and nothing else.
    pub fn add_pure(&mut self, epsilon: Epsilon) {
        self.pure = round::up(self.pure + epsilon.get());
        // (e^ε − 1)/(e^ε + 1) is the δ(0) of everything that keeps ε.
        let one = round::up((0.5 * epsilon.get()).tanh());
        self.pure_advantage = either(self.pure_advantage, one);
    }

    /// The smallest ε at δ for all of it, on the safe side.
    pub fn epsilon(&self, delta: Delta) -> Result<Epsilon, Error> {
        let composed = self.least(|all| Ok(all.epsilon(delta)?.get()))?;
        Epsilon::new(if self.pure > 0.0 { round::up(composed + self.pure) } else { composed })
    }

    /// What is gained over guessing by somebody who sees all of it: at most this much more often
    /// than not is a guess between two sets of answers right, at even odds before. Upper bound on
    /// δ(0); that of independent parts is at most `1 − (1 − a)(1 − b)`.
    pub fn advantage(&self) -> Result<f64, Error> {
        let composed = self.least(|all| all.delta(Epsilon::ZERO))?;
        Ok(either(composed, self.pure_advantage))
    }

    fn least(&self, asked: impl Fn(Composition<'_>) -> Result<f64, Error>) -> Result<f64, Error> {
        let kinds: Vec<Kind<'_>> = self.questions.iter().map(Question::kind).collect();
        row::least(&kinds, asked)
    }
}

/// The releases of one question, as in [`Kind`].
#[derive(Clone)]
struct Question {
    one: Table,
    row: Vec<Table>,
    times: u64,
}

impl Question {
    fn kind(&self) -> Kind<'_> {
        Kind { one: &self.one, row: &self.row, times: self.times }
    }
}

/// The chance that one of two independent things happens, rounded up.
fn either(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        return a.max(b);
    }
    round::up(a + b - a * b).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{BitSum, TwoMessageCount};
    use crate::{Crowd, Probability};

    const N: u64 = 6;
    const FLIP: f64 = 0.3;
    const COIN: f64 = 0.4;

    fn binomial(n: u64, p: f64) -> Vec<f64> {
        (0..n).fold(vec![1.0], |law, _| {
            let mut next = vec![0.0; law.len() + 1];
            for (count, mass) in law.iter().enumerate() {
                next[count] += mass * (1.0 - p);
                next[count + 1] += mass * p;
            }
            next
        })
    }

    fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; a.len() + b.len() - 1];
        for (i, p) in a.iter().enumerate() {
            for (j, q) in b.iter().enumerate() {
                all[i + j] += p * q;
            }
        }
        all
    }

    /// The bag of flipped bits, and the count with noise bits, when `ones` hold a 1.
    fn laws(ones: [u64; 2]) -> [Vec<f64>; 2] {
        let flipped = sum(&binomial(ones[0], 1.0 - FLIP), &binomial(N - ones[0], FLIP));
        let mut counted = vec![0.0; ones[1] as usize];
        counted.extend(binomial(N, COIN));
        [flipped, counted]
    }

    /// `Σ (p − e^ε·q)₊` over everything that `times` releases of both show.
    fn divergence(from: [u64; 2], to: [u64; 2], times: [usize; 2], epsilon: f64) -> f64 {
        let [p, q] = [from, to].map(laws);
        let mut pairs = vec![(1.0, 1.0)];
        for (kind, times) in times.into_iter().enumerate() {
            for _ in 0..times {
                let at = |law: &[f64], place: usize| law.get(place).copied().unwrap_or(0.0);
                let length = p[kind].len().max(q[kind].len());
                let places = (0..length).map(|i| (at(&p[kind], i), at(&q[kind], i)));
                let places: Vec<_> = places.collect();
                let all = pairs.iter().flat_map(|a| places.iter().map(|b| (a.0 * b.0, a.1 * b.1)));
                pairs = all.collect();
            }
        }
        pairs.into_iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    /// Every dataset of both questions, and what one person who changes both answers shows in all
    /// releases, enumerated: never above what is claimed, and at one of them close to it. A profile
    /// is the worst over all datasets at every ε, which no single one of them reaches, so that
    /// composition is a few parts in a hundred above it.
    #[test]
    fn two_questions_cost_what_all_that_they_show_costs() {
        let crowd = Crowd::new(N).unwrap();
        let bits = BitSum::with_flip(crowd, FLIP).unwrap();
        let count = TwoMessageCount::new(crowd, Probability::new("p", COIN).unwrap());
        let release = Disclosure { epochs: 1, honest: crowd };
        for times in [[1, 1], [2, 1], [1, 2], [3, 0], [0, 2]] {
            let mut all = Together::new(Delta::new(1e-9).unwrap(), 4);
            all.add(&bits, &[(release, times[0] as u64)]).unwrap();
            all.add(&count, &[(release, times[1] as u64)]).unwrap();
            for epsilon in [0.0, 0.3, 1.0, 2.0] {
                let mut worst = 0.0_f64;
                for a in 0..N {
                    for (f, t) in [(a, a + 1), (a + 1, a)] {
                        for (g, u) in [(0, 1), (1, 0)] {
                            worst = worst.max(divergence([f, g], [t, u], times, epsilon));
                        }
                    }
                }
                let epsilon = Epsilon::new(epsilon).unwrap();
                let claimed = all.least(|all| all.delta(epsilon)).unwrap();
                assert!(worst <= claimed, "{times:?}: {worst} > {claimed}");
                assert!(claimed <= 1.1 * worst + 1e-3, "{times:?}: {worst} < {claimed}");
            }
            let advantage = all.advantage().unwrap();
            let at_zero = all.least(|all| all.delta(Epsilon::ZERO)).unwrap();
            assert_eq!(advantage.to_bits(), at_zero.to_bits());
        }
    }

    #[test]
    fn merged_epochs_and_pure_parts_cost_more() {
        let crowd = Crowd::new(1_000).unwrap();
        let bits = BitSum::new(crowd, 100.0).unwrap();
        let delta = Delta::new(1e-5).unwrap();
        let of = |epochs, times| {
            let mut all = Together::new(delta, 4);
            all.add(&bits, &[(Disclosure { epochs, honest: crowd }, times)]).unwrap();
            all
        };
        let apart = of(1, 4).epsilon(delta).unwrap();
        assert!(apart < of(2, 2).epsilon(delta).unwrap());
        let mut with = of(1, 4);
        let before = with.advantage().unwrap();
        with.add_pure(Epsilon::new(1.0).unwrap());
        let more = (1_f64.exp() - 1.0) / (1_f64.exp() + 1.0);
        let expected = 1.0 - (1.0 - before) * (1.0 - more);
        assert!((with.advantage().unwrap() - expected).abs() < 1e-8);
        // A quarter of four releases is one, and so is a tenth.
        let one = of(1, 1).epsilon(delta).unwrap();
        for share in [0.25, 0.1] {
            assert_eq!(with.part(share).epsilon(delta).unwrap(), one);
        }
        assert_eq!(with.part(1.0).epsilon(delta).unwrap(), apart);
        let nothing = Together::new(delta, 0);
        assert_eq!(nothing.epsilon(delta).unwrap(), Epsilon::ZERO);
        assert_eq!(nothing.advantage().unwrap().to_bits(), 0.0_f64.to_bits());
    }
}
