//! The auditor: what a mechanism really gives away, measured from outside.
//!
//! Two neighbouring crowds are run many times through the real encoder. An attack turns each bag
//! into a score; half of the runs choose which scores to bet on, the other half say how often the
//! bet is won. Clopper-Pearson limits on the two frequencies give a lower bound on δ(ε) that holds
//! with the stated confidence whatever the mechanism does, so a bound above the accountant's claim
//! convicts one of them.

use crate::Error;
use throng_account::tail::success_band;
use throng_account::{Band, Delta, Epsilon, Profile};

/// The result of an audit.
///
/// ```
/// use throng_account::profile::WorstCase;
/// use throng_account::{Delta, Epsilon};
/// use throng_mechanism::Audit;
///
/// // Scores that tell the two worlds apart nine times out of ten: ε is about ln 9 = 2.2.
/// let one: Vec<f64> = (0..2_000).map(|run| f64::from(run % 10 > 0)).collect();
/// let other: Vec<f64> = (0..2_000).map(|run| f64::from(run % 10 == 0)).collect();
/// let (delta, failure) = (Delta::new(1e-6)?, Delta::new(0.01)?);
/// let claim = WorstCase::new(Epsilon::new(1.0)?, 0.0)?;
/// let audit = Audit::judge(&one, &other, &claim, delta, failure)?;
/// assert!((1.7..2.2).contains(&audit.epsilon_lower));
///
/// // Whoever claimed ε = 1 is convicted.
/// assert!(audit.broken().count() > 0);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// ε is at least this at the δ asked for.
    pub epsilon_lower: f64,
    /// The probability with which `epsilon_lower` and all findings hold together.
    pub confidence: f64,
    /// The measured profile, where it says anything: at each ε, a lower bound on δ and the claim.
    pub findings: Vec<Finding>,
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

impl Audit {
    /// Judges the scores of runs in the two worlds; which world is which does not matter.
    ///
    /// `failure` is the chance that any of the statements is wrong.
    pub fn judge(
        one: &[f64],
        other: &[f64],
        claim: &dyn Profile,
        delta: Delta,
        failure: Delta,
    ) -> Result<Self, Error> {
        // Half of the runs of each world choose the bets, the other half judges them.
        let [p, q] = [one, other].map(|scores| scores.split_at(scores.len() / 2));
        let mut cuts = Vec::new();
        for (p, q) in [(p, q), (q, p)] {
            cuts.extend(Cut::chosen(p.0, q.0).into_iter().map(|cut| (cut, p.1, q.1)));
        }
        // Two limits for each cut. The other half of the runs settled how many there are.
        let each = Delta::new(failure.get() / (2 * cuts.len()) as f64)?;
        let bets = cuts.into_iter().map(|(cut, p, q)| Bet {
            often: cut.frequency(p, each).lower,
            seldom: cut.frequency(q, each).upper,
        });
        let bets: Vec<Bet> = bets.collect();
        let grid = (0..POINTS).map(|i| STEP * f64::from(i));
        let findings = grid
            .map(|epsilon| (epsilon, bets.iter().map(|bet| bet.delta(epsilon)).fold(0.0, f64::max)))
            .filter(|(_, delta_lower)| *delta_lower > 0.0)
            .map(|(epsilon, delta_lower)| {
                let delta_claimed = claim.delta(Epsilon::new(epsilon)?).upper;
                Ok(Finding { epsilon, delta_lower, delta_claimed })
            })
            .collect::<Result<_, Error>>()?;
        let epsilon_lower = bets.iter().map(|bet| bet.epsilon(delta)).fold(0.0, f64::max);
        Ok(Self { epsilon_lower, confidence: 1.0 - failure.get(), findings })
    }

    /// The points at which the claim is contradicted.
    pub fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.broken())
    }
}

/// A tail of scores.
#[derive(Clone, Copy, PartialEq)]
struct Cut {
    at: f64,
    above: bool,
}

impl Cut {
    /// The tails on which `p` exceeds `e^ε·q` most, for each ε of the profile.
    fn chosen(p: &[f64], q: &[f64]) -> Vec<Self> {
        let [p, q] = [p, q].map(|scores| {
            let mut scores = scores.to_vec();
            scores.sort_by(f64::total_cmp);
            scores
        });
        let share = |scores: &[f64], cut: Self| {
            let below = |s: &f64| if cut.above { *s < cut.at } else { *s <= cut.at };
            let hits = scores.partition_point(below);
            let hits = if cut.above { scores.len() - hits } else { hits };
            hits as f64 / scores.len().max(1) as f64
        };
        let stride = (p.len() / CANDIDATES).max(1);
        let candidates: Vec<(Self, f64, f64)> = p
            .iter()
            .step_by(stride)
            .flat_map(|&at| [Self { at, above: true }, Self { at, above: false }])
            .map(|cut| (cut, share(&p, cut), share(&q, cut)))
            .collect();
        let mut chosen: Vec<Self> = Vec::new();
        for i in 0..POINTS {
            let e = (STEP * f64::from(i)).exp();
            let gain = |c: &&(Self, f64, f64)| c.1 - e * c.2;
            let best = candidates.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
            chosen.extend(best.map(|best| best.0).filter(|cut| !chosen.contains(cut)));
        }
        chosen
    }

    /// The frequency with which scores fall into the tail.
    fn frequency(self, scores: &[f64], failure: Delta) -> Band {
        let hit = |s: &&f64| if self.above { **s >= self.at } else { **s <= self.at };
        success_band(scores.iter().filter(hit).count() as u64, scores.len() as u64, failure)
    }
}

/// A tail with limits on its frequencies in the two worlds.
struct Bet {
    /// A lower limit in the world where the tail should be frequent.
    often: f64,
    /// An upper limit in the other world.
    seldom: f64,
}

impl Bet {
    fn delta(&self, epsilon: f64) -> f64 {
        self.often - epsilon.exp() * self.seldom
    }

    /// `P[often] ≤ e^ε·P[seldom] + δ`, solved for ε.
    fn epsilon(&self, delta: Delta) -> f64 {
        let left = self.often - delta.get();
        if left > 0.0 { (left / self.seldom).ln().max(0.0) } else { 0.0 }
    }
}

/// Points of the measured profile, and their distance.
const POINTS: u32 = 61;
const STEP: f64 = 0.05;
/// Scores tried as cuts.
const CANDIDATES: usize = 2_000;
