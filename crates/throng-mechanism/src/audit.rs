//! The auditor: what a mechanism really gives away, measured from outside.
//!
//! Two neighbouring crowds are run many times through the real encoder. An attack turns each bag
//! into a score, and a few tails of scores are registered before the runs begin: those that would
//! show a weakened mechanism most, and those that would show the largest ε. All runs then say how
//! often the tails are hit. Exact limits on these frequencies (Clopper and Pearson) give a lower
//! bound on δ(ε) that holds with the stated confidence whatever the mechanism does, so a bound
//! above the accountant's claim convicts one of them.
//!
//! Both worlds share the reports of the others in a run. With a tail S and the events
//!
//! ```text
//! a   the score is in S in the world where S should be frequent, and not in the other
//! b   in the other world alone                        c   in both
//! P[S] − e^ε·P'[S] = P[a] − e^ε·P[b] − (e^ε − 1)·P[c]       ≤ δ(ε)
//! ```
//!
//! limits on three binomial frequencies suffice, and where the worlds mostly agree those are small.
//!
//! The second question is whether single reports follow the law that the claim was computed from:
//! [`Trace`](crate::Trace)s of noise are counted in every report, and their number is held against
//! the exact binomial law. A claim that is looser than the truth leaves room for weak noise; the
//! law leaves none.

use crate::attack::GROUPS;
use crate::{Attack, Error, Mechanism, NoiseCounts};
use rand_core::CryptoRng;
use throng_account::tail::{normal_reach, success_band};
use throng_account::{Band, Delta, Epsilon, Probability, Profile};

/// The result of an audit.
///
/// ```
/// use throng_mechanism::{Audit, Finding};
///
/// let finding = Finding { epsilon: 1.0, delta_lower: 2e-3, delta_claimed: 1e-6 };
/// let (findings, laws) = (vec![finding], vec![]);
/// let (epsilon_lower, epsilon_claimed, confidence) = (0.9, 1.0, 0.999);
/// let audit = Audit { epsilon_lower, epsilon_claimed, confidence, findings, laws };
/// assert!(!audit.keeps_profile() && audit.keeps_law() && !audit.consistent());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// ε is at least this at the δ asked for.
    pub epsilon_lower: f64,
    /// The accountant says it is at most this.
    pub epsilon_claimed: f64,
    /// The probability with which everything that is found holds together.
    pub confidence: f64,
    /// The measured profile, where it says anything: at each ε, a lower bound on δ and the claim.
    pub findings: Vec<Finding>,
    /// The frequencies of noise in single reports, and those of the law.
    pub laws: Vec<Frequency>,
}

impl Audit {
    /// The points at which the claim is contradicted.
    pub fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.broken())
    }

    /// False if some event tells the worlds apart more than is claimed.
    pub fn keeps_profile(&self) -> bool {
        self.broken().next().is_none() && self.epsilon_lower <= self.epsilon_claimed
    }

    /// False if single reports do not follow the law that the claim was computed from.
    pub fn keeps_law(&self) -> bool {
        self.laws.iter().all(|law| !law.broken())
    }

    /// True if nothing contradicts the claim.
    pub fn consistent(&self) -> bool {
        self.keeps_profile() && self.keeps_law()
    }
}

/// One point of the profile.
///
/// ```
/// use throng_mechanism::Finding;
///
/// let finding = Finding { epsilon: 1.0, delta_lower: 2e-3, delta_claimed: 1e-6 };
/// assert!(finding.broken());
/// assert!(!Finding { delta_claimed: 0.01, ..finding }.broken());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// ε.
    pub epsilon: f64,
    /// δ(ε) is at least this.
    pub delta_lower: f64,
    /// The accountant says it is at most this.
    pub delta_claimed: f64,
}

impl Finding {
    /// True if the measurement contradicts the claim.
    pub fn broken(&self) -> bool {
        self.delta_lower > self.delta_claimed
    }
}

/// The frequency of noise in reports on one value.
///
/// ```
/// use throng_account::Band;
/// use throng_mechanism::Frequency;
///
/// let measured = Band { lower: 0.1, upper: 0.2 };
/// assert!(Frequency { chance: 0.25, measured, trials: 100 }.broken());
/// assert!(!Frequency { chance: 0.15, measured, trials: 100 }.broken());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frequency {
    /// The probability that the law gives to noise.
    pub chance: f64,
    /// The probabilities that the reports do not rule out.
    pub measured: Band,
    /// The coins that were looked at.
    pub trials: u64,
}

impl Frequency {
    /// True if the measurement contradicts the law, whatever rounding did to its probability.
    pub fn broken(&self) -> bool {
        let Band { lower, upper } = self.measured;
        self.chance < lower * (1.0 - ROUNDING) || self.chance > upper * (1.0 + ROUNDING)
    }
}

/// The tails that an audit bets on and the claim that it tests, settled before it begins.
///
/// There is an example at [`Attack`].
pub struct Design {
    cuts: Vec<Cut>,
    /// ε and the claimed δ.
    claimed: Vec<(f64, f64)>,
    epsilon_claimed: f64,
    delta: Delta,
}

/// The counts of runs that were made, as far as a [`Design`] needs them. Counts of parts add up.
///
/// ```
/// use throng_mechanism::Evidence;
///
/// let mut evidence = Evidence::default();
/// evidence.merge(&Evidence::default());
/// assert_eq!(evidence.runs(), 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    runs: u64,
    /// The events a, b and c of each tail.
    events: Vec<[u64; 3]>,
    /// Noise in reports of each group.
    noise: NoiseCounts,
}

impl Evidence {
    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Adds other runs of the same design.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.events.resize(self.events.len().max(other.events.len()), [0; 3]);
        for (mine, more) in self.events.iter_mut().zip(&other.events) {
            mine.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        self.noise.iter_mut().zip(other.noise).for_each(|(count, more)| *count += more);
    }
}

impl Design {
    /// Chooses tails by the scores of a pilot: runs of a mechanism that the audit should convict,
    /// which have nothing to do with the runs that follow. A poor choice finds less, and is as
    /// valid.
    pub fn new(claim: &dyn Profile, pilot: &[[f64; 2]], delta: Delta) -> Result<Self, Error> {
        let point = |i: u32| -> Result<(f64, f64), Error> {
            let epsilon = STEP * f64::from(i);
            Ok((epsilon, claim.delta(Epsilon::new(epsilon)?).upper))
        };
        let claimed = (0..POINTS).map(point).collect::<Result<Vec<_>, _>>()?;
        let epsilon_claimed = claim.epsilon(delta)?.epsilon.get();
        let mut design = Self { cuts: Vec::new(), claimed, epsilon_claimed, delta };
        for often in [0, 1] {
            let candidates = Cut::candidates(pilot, often);
            let shares: Vec<_> = candidates.iter().map(|cut| Shares::of(*cut, pilot)).collect();
            let best = |value: &dyn Fn(&Shares) -> f64| {
                let values = candidates.iter().zip(&shares).map(|(cut, s)| (*cut, value(s)));
                values.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(cut, _)| cut)
            };
            let seen = best(&|shares| design.visibility(shares));
            let told = best(&|shares| shares.epsilon(design.delta.get()));
            design.cuts.extend(seen);
            design.cuts.extend(told.filter(|told| Some(*told) != seen));
        }
        Ok(design)
    }

    /// Makes runs and counts what happens.
    pub fn gather(
        &self,
        attack: &Attack<'_>,
        client: &Mechanism,
        runs: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Evidence, Error> {
        let mut evidence = Evidence::default();
        for _ in 0..runs {
            let mut noise = NoiseCounts::default();
            let scores = attack.run(client, &mut noise, rng)?;
            evidence.merge(&self.witness(scores, noise));
        }
        Ok(evidence)
    }

    /// The evidence of one run that was made elsewhere: the score in either world, and the noise
    /// that was counted in the reports of each group.
    pub fn witness(&self, scores: [f64; 2], noise: NoiseCounts) -> Evidence {
        let counted = |cut: &Cut| {
            let mut events = [0; 3];
            if let Some(event) = cut.event(scores) {
                events[event] = 1;
            }
            events
        };
        Evidence { runs: 1, events: self.cuts.iter().map(counted).collect(), noise }
    }

    /// Judges the evidence. `failure` is the chance that any of the statements is wrong: half of it
    /// is for the profile, half for the law.
    pub fn judge(
        &self,
        attack: &Attack<'_>,
        evidence: &Evidence,
        failure: Delta,
    ) -> Result<Audit, Error> {
        let each = self.share(failure)?;
        let bets: Vec<Shares> = evidence
            .events
            .iter()
            .map(|events| {
                let [a, b, c] = events.map(|count| success_band(count, evidence.runs, each));
                Shares { a: a.lower, b: b.upper, c: c.upper, runs: f64::INFINITY }
            })
            .collect();
        let most = |value: &dyn Fn(&Shares) -> f64| bets.iter().map(value).fold(0.0, f64::max);
        let finding = |&(epsilon, delta_claimed): &(f64, f64)| Finding {
            epsilon,
            delta_lower: most(&|bet| bet.delta(epsilon)),
            delta_claimed,
        };
        let findings = self.claimed.iter().map(finding).filter(|found| found.delta_lower > 0.0);
        let each = law_share(failure)?;
        let laws = (0..GROUPS).filter_map(|group| {
            let trace = attack.trace(group)?;
            let trials = trace.trials * attack.members(group) * evidence.runs;
            let measured = success_band(evidence.noise[group], trials, each);
            (trials > 0).then_some(Frequency { chance: trace.chance, measured, trials })
        });
        Ok(Audit {
            epsilon_lower: most(&|bet| bet.epsilon(self.delta.get())),
            epsilon_claimed: self.epsilon_claimed,
            confidence: 1.0 - failure.get(),
            findings: findings.collect(),
            laws: laws.collect(),
        })
    }

    /// True if an audit of this many runs would probably find the mechanism of a pilot by its
    /// profile: with probability 0.95, up to the pilot's own errors.
    pub fn would_convict(
        &self,
        pilot: &[[f64; 2]],
        runs: u64,
        failure: Delta,
    ) -> Result<bool, Error> {
        let reach = tail_reach(self.share(failure)?)? + POWER;
        let shares = self.cuts.iter().map(|cut| Shares::of(*cut, pilot));
        let seen = |s: Shares| self.visibility(&Shares { runs: runs as f64, ..s }) > reach;
        Ok(shares.into_iter().any(seen))
    }

    /// The smallest factor that noise may be too rare by and be found by its law, with probability
    /// 0.95 in this many runs; `None` if there is none up to 64 that the mechanism has parameters
    /// for.
    pub fn least_seen(
        &self,
        attack: &Attack<'_>,
        runs: u64,
        failure: Delta,
    ) -> Result<Option<f64>, Error> {
        let reach = tail_reach(law_share(failure)?)?;
        let seen = |factor: f64| -> Result<bool, Error> {
            let weak = attack.claimed().weakened(factor)?;
            let group_shows = |group: usize| {
                let trace = attack.trace(group)?;
                let trials = (trace.trials * attack.members(group) * runs) as f64;
                let (p, q) = (trace.chance, attack.chance(&weak, group)?);
                let spread = |p: f64| (p * (1.0 - p) / trials).sqrt();
                Some(trials > 0.0 && (p - q).abs() > reach * spread(p) + POWER * spread(q))
            };
            Ok((0..GROUPS).any(|group| group_shows(group) == Some(true)))
        };
        // A mechanism may have no parameters for noise that is very weak.
        let factors = (1..=6).rev().map(|power| f64::from(1 << power));
        let most = factors.into_iter().find(|&most| attack.claimed().weakened(most).is_ok());
        let (mut missed, mut caught) = (1.0_f64, most.unwrap_or(1.0));
        if !seen(caught)? {
            return Ok(None);
        }
        while caught / missed > 1.001 {
            let middle = (missed * caught).sqrt();
            if seen(middle)? {
                caught = middle;
            } else {
                missed = middle;
            }
        }
        Ok(Some(caught))
    }

    /// The chance that one of the limits of the profile is wrong: three for each tail.
    fn share(&self, failure: Delta) -> Result<Delta, Error> {
        Ok(Delta::new(0.5 * failure.get() / (3 * self.cuts.len()).max(1) as f64)?)
    }

    /// Standard errors by which a tail exceeds the claim, where it exceeds it most.
    fn visibility(&self, shares: &Shares) -> f64 {
        let excess = |&(epsilon, claimed): &(f64, f64)| {
            (shares.delta(epsilon) - claimed) / shares.spread(epsilon)
        };
        self.claimed.iter().map(excess).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// A tail of scores: those beyond `at`, towards the world in which it should be frequent.
#[derive(Clone, Copy, PartialEq)]
struct Cut {
    often: usize,
    at: f64,
}

impl Cut {
    /// Tails to choose from, in steps of equal frequency.
    fn candidates(pilot: &[[f64; 2]], often: usize) -> Vec<Self> {
        let mut scores: Vec<f64> = pilot.iter().flatten().copied().collect();
        scores.sort_by(f64::total_cmp);
        scores.dedup();
        let stride = (scores.len() / CANDIDATES).max(1);
        scores.into_iter().step_by(stride).map(|at| Self { often, at }).collect()
    }

    /// The event that a run is: 0 for a, 1 for b, 2 for c.
    fn event(self, scores: [f64; 2]) -> Option<usize> {
        // Scores tend to be larger in the second world.
        let hit = |score: f64| if self.often == 1 { score >= self.at } else { score <= self.at };
        match (hit(scores[self.often]), hit(scores[1 - self.often])) {
            (true, false) => Some(0),
            (false, true) => Some(1),
            (true, true) => Some(2),
            (false, false) => None,
        }
    }
}

/// The probabilities of the events of a tail: estimated, or limits to the safe side.
#[derive(Clone, Copy)]
struct Shares {
    a: f64,
    b: f64,
    c: f64,
    /// The number of runs behind an estimate.
    runs: f64,
}

impl Shares {
    fn of(cut: Cut, pilot: &[[f64; 2]]) -> Self {
        let mut counts = [0.0; 3];
        for event in pilot.iter().filter_map(|scores| cut.event(*scores)) {
            counts[event] += 1.0;
        }
        let runs = pilot.len().max(1) as f64;
        let [a, b, c] = counts.map(|count| count / runs);
        Self { a, b, c, runs }
    }

    /// `P[S] − e^ε·P'[S]`.
    fn delta(&self, epsilon: f64) -> f64 {
        self.a - epsilon.exp() * self.b - epsilon.exp_m1() * self.c
    }

    /// Its standard error, with a few events more than were seen.
    fn spread(&self, epsilon: f64) -> f64 {
        let (e, more) = (epsilon.exp(), 4.0 / self.runs);
        let square = self.a + e * e * (self.b + more) + (e - 1.0).powi(2) * (self.c + more);
        ((square + more) / self.runs).sqrt()
    }

    /// `P[S] ≤ e^ε·P'[S] + δ`, solved for ε; for an estimate, well to the safe side.
    fn epsilon(&self, delta: f64) -> f64 {
        let (often, seldom) = (self.a + self.c, self.b + self.c);
        let slack = |p: f64| 4.0 * (p / self.runs).sqrt() + 8.0 / self.runs;
        let left = often - slack(often) - delta;
        if left > 0.0 { (left / (seldom + slack(seldom))).ln().max(0.0) } else { 0.0 }
    }
}

/// The chance that one limit on a frequency of noise is wrong: two for each group.
fn law_share(failure: Delta) -> Result<Delta, Error> {
    Ok(Delta::new(0.5 * failure.get() / (2 * GROUPS) as f64)?)
}

/// Standard errors that a normal law exceeds, to one side, with this probability.
fn tail_reach(failure: Delta) -> Result<f64, Error> {
    let both = Probability::new("confidence", 1.0 - 2.0 * failure.get())?;
    Ok(normal_reach(both))
}

/// Points of the measured profile, and their distance.
const POINTS: u32 = 61;
const STEP: f64 = 0.05;
/// Scores tried as cuts.
const CANDIDATES: usize = 1_000;
/// Standard errors beyond the limit that make a finding likely: 0.95 of a normal law.
const POWER: f64 = 1.645;
/// The relative error of a chance in a law: far more than its few roundings.
const ROUNDING: f64 = 1e-12;
