//! The attack an audit runs: two neighbouring crowds, and a score that tells them apart.
//!
//! Any score is a valid attack; a better one finds more. Where the likelihood ratio of the bag is
//! known it is the score; elsewhere a linear one, weighted by how much one user's value moves each
//! cell and how much each cell moves by itself.

use crate::{Error, Mechanism, Question, Tally, Trace, Value, Values};
use rand_core::CryptoRng;
use std::iter::repeat_n;
use throng_account::{Crowd, Dataset, Epsilon, Profile};

/// Everyone's values but one user's, the two values that user may hold, and the score.
///
/// The score, the dataset and the traces of noise are those of the mechanism that is claimed; the
/// clients that are run may be others.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Crowd, Delta, Threshold};
/// use throng_mechanism::{Attack, BinaryResponse, Design, Mechanism};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // A user alone, whose bit is flipped once in four times: ε is ln 3 = 1.0986.
/// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 62)?)?);
/// let crowd = Crowd::new(1)?;
/// let claim = mechanism.profile(crowd)?;
/// let attack = Attack::new(&mechanism, crowd, &*claim, &mut rng)?;
/// let delta = Delta::new(1e-6)?;
/// let design = Design::new(&*claim, &attack.pilot(&mechanism, 500, &mut rng)?, delta)?;
///
/// let evidence = design.gather(&attack, &mechanism, 10_000, &mut rng)?;
/// let audit = design.judge(&attack, &evidence, Delta::new(0.01)?)?;
/// assert!((0.95..1.0987).contains(&audit.epsilon_lower) && audit.consistent());
///
/// // A client that flips half as often.
/// let evidence = design.gather(&attack, &mechanism.weakened(2.0)?, 10_000, &mut rng)?;
/// assert!(!design.judge(&attack, &evidence, Delta::new(0.01)?)?.consistent());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
pub struct Attack<'a> {
    /// The values of the groups, in their order.
    values: Values,
    /// The number of others who hold each of the first two.
    others: [u64; 2],
    score: Score,
    traces: [Option<Trace>; GROUPS],
    claimed: &'a Mechanism,
}

/// Users of an audit that hold the same value: others with a 0 and with a 1 in the worst dataset,
/// and the attacked one in either world.
pub(crate) const GROUPS: usize = 4;

/// The noise that was counted in the reports of each group of users in an audit.
pub type NoiseCounts = [u64; GROUPS];

/// A function that turns the tally of a bag into a number that tends to be larger in the second
/// world. Any function is valid; a better one finds more.
pub type Score = Box<dyn Fn(&Tally) -> f64 + Send + Sync>;

/// The crowd of an audit, for [`Claims::score`](crate::Claims::score).
///
/// ```
/// use throng_account::{Crowd, Threshold};
/// use throng_mechanism::{Claims, CoinCount, Scene};
///
/// // Of 99 others 40 hold a one. Where the likelihood ratio of the bag is known, it is the score.
/// let scene = Scene { crowd: Crowd::new(100)?, others: 99, ones: 40 };
/// assert!(CoinCount::new(1, Threshold::new(1 << 62)?)?.score(&scene)?.is_some());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scene {
    /// All honest users, the attacked one included.
    pub crowd: Crowd,
    /// The users beside the attacked one.
    pub others: usize,
    /// The others who hold a 1 in the worst dataset.
    pub ones: usize,
}

impl Scene {
    /// Others who do not hold a 1.
    pub(crate) fn zeros(&self) -> f64 {
        (self.others - self.ones) as f64
    }
}

impl<'a> Attack<'a> {
    /// The worst pair known for this mechanism. `claim` names the dataset where it depends on one.
    pub fn new(
        claimed: &'a Mechanism,
        crowd: Crowd,
        claim: &dyn Profile,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, Error> {
        let others = usize::try_from(crowd.get() - 1)
            .map_err(|_| Error::Parameter { name: "crowd", range: "small enough to run" })?;
        // The share of the others' bits that are 1 in the worst dataset.
        let share = match claim.witness(Epsilon::ZERO) {
            Some(Dataset::Ones { ones, of }) if of > 0 => ones as f64 / of as f64,
            _ => 0.0,
        };
        let ones = (share * others as f64).round() as usize;
        let scene = Scene { crowd, others, ones };
        let values = worst_values(claimed.question());
        let ones = match claimed.question() {
            Question::Bit | Question::Real => ones,
            // All attributes of a user are alike, and so are all other users.
            Question::Attributes { .. } if share > 0.5 => others,
            _ => 0,
        };
        let score = match claimed.score(&scene)? {
            Some(score) => score,
            None => linear(weights(claimed, &values, usize::from(ones > others / 2), rng)?),
        };
        let traces = std::array::from_fn(|group| claimed.trace(values.get(group)));
        let others = [(others - ones) as u64, ones as u64];
        Ok(Self { values, others, score, traces, claimed })
    }

    /// The same worlds, seen through another score: that of somebody who sees less than the bag.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_account::{Crowd, Threshold};
    /// use throng_mechanism::{Attack, BinaryResponse, Mechanism};
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 62)?)?);
    /// let crowd = Crowd::new(3)?;
    /// let claim = mechanism.profile(crowd)?;
    /// let attack = Attack::new(&mechanism, crowd, &*claim, &mut rng)?;
    /// let blind = attack.with_score(Box::new(|_| 0.0));
    /// assert_eq!(blind.pilot(&mechanism, 1, &mut rng)?, [[0.0, 0.0]]);
    /// # Ok::<(), throng_mechanism::Error>(())
    /// ```
    #[must_use]
    pub fn with_score(self, score: Score) -> Self {
        Self { score, ..self }
    }

    /// Everyone in one of the two worlds, the attacked user last: the group of each, and its value.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_account::{Crowd, Threshold};
    /// use throng_mechanism::{Attack, BinaryResponse, Mechanism, Value};
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 62)?)?);
    /// let crowd = Crowd::new(3)?;
    /// let claim = mechanism.profile(crowd)?;
    /// let attack = Attack::new(&mechanism, crowd, &*claim, &mut rng)?;
    /// let [zero, one] = [0, 1].map(|world| attack.users(world).collect::<Vec<_>>());
    /// assert_eq!((zero.len(), &zero[..2]), (3, &one[..2]));
    /// assert_eq!((zero[2].1, one[2].1), (Value::Bit(false), Value::Bit(true)));
    /// # Ok::<(), throng_mechanism::Error>(())
    /// ```
    pub fn users(&self, world: usize) -> impl Iterator<Item = (usize, Value<'_>)> {
        let groups = self.others.into_iter().chain([0; 2]).enumerate();
        let all = groups.map(move |(group, others)| {
            let members = if group == 2 + world { 1 } else { others };
            (group, members as usize)
        });
        all.flat_map(|(group, members)| repeat_n((group, self.values.get(group)), members))
    }

    /// The noise that shows in a report of a group, of the client's words in its own order.
    pub fn noise(&self, group: usize, report: &[u64]) -> u64 {
        self.trace(group).map_or(0, |trace| trace.count(report))
    }

    /// The mechanism that is claimed.
    pub fn claimed(&self) -> &'a Mechanism {
        self.claimed
    }

    /// One run: everyone reports, the bag is counted, and the scores say which world it looks like
    /// when the attacked user holds the one value, and when it holds the other.
    ///
    /// The others report once for both worlds: that is half the work, and what they add to both
    /// scores does not blur the difference. `noise` counts the traces in the reports of each group.
    pub fn run(
        &self,
        client: &Mechanism,
        noise: &mut NoiseCounts,
        rng: &mut impl CryptoRng,
    ) -> Result<[f64; 2], Error> {
        let mut tally = self.claimed.tally();
        for (group, count) in self.others.into_iter().enumerate() {
            self.report(client, group, count, &mut tally, noise, rng)?;
        }
        let mut scores = [0.0; 2];
        for (world, score) in scores.iter_mut().enumerate() {
            let mut tally = tally.clone();
            self.report(client, 2 + world, 1, &mut tally, noise, rng)?;
            *score = (self.score)(&tally);
        }
        Ok(scores)
    }

    /// The scores of several runs.
    pub fn pilot(
        &self,
        client: &Mechanism,
        runs: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<[f64; 2]>, Error> {
        let mut unused = NoiseCounts::default();
        (0..runs).map(|_| self.run(client, &mut unused, rng)).collect()
    }

    /// Reports of a group in each run.
    pub(crate) fn members(&self, group: usize) -> u64 {
        self.others.get(group).copied().unwrap_or(1)
    }

    /// The trace of noise in reports of a group.
    pub(crate) fn trace(&self, group: usize) -> Option<&Trace> {
        self.traces[group].as_ref()
    }

    /// The chance of the same trace if the clients were these.
    pub(crate) fn chance(&self, client: &Mechanism, group: usize) -> Option<f64> {
        Some(client.trace(self.values.get(group))?.chance)
    }

    /// Counts the reports of `count` users of a group, a few thousand at a time.
    fn report(
        &self,
        client: &Mechanism,
        group: usize,
        count: u64,
        tally: &mut Tally,
        noise: &mut NoiseCounts,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Error> {
        let (value, mut bag) = (self.values.get(group), Vec::new());
        let mut left = count;
        while left > 0 {
            bag.clear();
            for _ in 0..left.min(AT_ONCE) {
                let start = bag.len();
                client.encode(value, rng, &mut bag)?;
                noise[group] += self.noise(group, &bag[start..]);
            }
            self.claimed.absorb(tally, &bag);
            left -= left.min(AT_ONCE);
        }
        Ok(())
    }
}

/// The two values of others and the two of the attacked user that are furthest apart: known for
/// every kind of question.
fn worst_values(question: Question) -> Values {
    let bits = [false, true, false, true];
    match question {
        Question::Bit => Values::Bits(bits.into()),
        Question::Real => Values::Reals(bits.map(|bit| f64::from(u8::from(bit))).into()),
        Question::Category { size } => Values::Categories(vec![third(size), third(size), 0, 1]),
        Question::Text { .. } => {
            Values::Texts(["third", "third", "first", "second"].map(str::to_owned).into())
        }
        Question::Attributes { count } => {
            let width = count as usize;
            Values::Rows {
                bits: bits.into_iter().flat_map(|b| repeat_n(b, width)).collect(),
                width,
            }
        }
        Question::State { periods, .. } => {
            let width = periods as usize;
            // No change at all, a change in the first period, and one in the last.
            let changes = [width, width, 0, width - 1];
            let row = |first| (0..width).map(move |period| period >= first);
            Values::Rows { bits: changes.into_iter().flat_map(row).collect(), width }
        }
    }
}

/// `Σ weightᵢ·cellᵢ`.
fn linear(weights: Vec<f64>) -> Score {
    Box::new(move |tally| weights.iter().zip(tally.cells()).map(|(w, c)| w * *c as f64).sum())
}

/// The number of messages that are 1.
pub(crate) fn first_cell() -> Score {
    linear(vec![1.0])
}

/// The odds of the two cells of each of the user's bits, of which the others fill `taken`.
pub(crate) fn odds(taken: Vec<[f64; 2]>) -> Score {
    Box::new(move |tally| {
        let (cells, _) = tally.cells().as_chunks::<2>();
        let levels = taken.iter().zip(cells);
        let ratio = |([zeros, ones], [zero, one]): (&[f64; 2], &[u64; 2])| {
            ((*one as f64 - ones) / (*zero as f64 - zeros)).ln()
        };
        levels.map(ratio).sum()
    })
}

/// A category that is neither of the attacked pair, where there is one.
pub(crate) fn third(categories: u32) -> u32 {
    if categories > 2 { 2 } else { 0 }
}

/// The shift of each cell by the attacked user's value, over the variance of the cell itself. Most
/// others hold the value of the group `other`.
fn weights(
    mechanism: &Mechanism,
    values: &Values,
    other: usize,
    rng: &mut impl CryptoRng,
) -> Result<Vec<f64>, Error> {
    let mut mean = |user: usize| -> Result<Vec<f64>, Error> {
        let mut tally = mechanism.tally();
        let mut report = Vec::new();
        for _ in 0..PILOTS {
            report.clear();
            mechanism.encode(values.get(user), rng, &mut report)?;
            mechanism.absorb(&mut tally, &report);
        }
        Ok(tally.cells().iter().map(|&cell| cell as f64 / f64::from(PILOTS)).collect())
    };
    let (zero, one, base) = (mean(2)?, mean(3)?, mean(other)?);
    let weight = |((zero, one), base): ((&f64, &f64), &f64)| {
        // A cell counts at most one message in most mechanisms: a coin's variance.
        let share = base.clamp(0.0, 1.0);
        (one - zero) / (share * (1.0 - share) + 0.01)
    };
    Ok(zero.iter().zip(&one).zip(&base).map(weight).collect())
}

/// The number of reports that the weights of a linear score are estimated from.
const PILOTS: u32 = 20_000;

/// Reports that lie in memory together.
const AT_ONCE: u64 = 4_096;
