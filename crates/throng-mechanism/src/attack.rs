//! The attack an audit runs: two neighbouring crowds, and a score that tells them apart.
//!
//! Any score is a valid attack; a better one finds more. Where the likelihood ratio of the bag is
//! known it is the score; elsewhere a linear one, weighted by how much one user's value moves each
//! cell and how much each cell moves by itself.

use crate::{Error, Mechanism, Question, Tally, Values, simulate};
use rand_core::CryptoRng;
use std::iter::repeat_n;
use throng_account::{Crowd, Dataset, Epsilon, Profile};

/// Everyone's values but one user's, the two values that user may hold, and the score.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Crowd, Delta, Threshold};
/// use throng_mechanism::{Attack, Audit, BinaryResponse, Mechanism};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // A user alone, whose bit is flipped once in four times: ε is ln 3 = 1.0986.
/// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 62)?)?);
/// let crowd = Crowd::new(1)?;
/// let claim = mechanism.profile(crowd)?;
/// let attack = Attack::new(&mechanism, crowd, &*claim, &mut rng)?;
/// let [one, other] = [0, 1].map(|world| {
///     (0..2_000).map(|_| attack.run(world, &mut rng)).collect::<Result<Vec<_>, _>>()
/// });
/// let (delta, failure) = (Delta::new(1e-6)?, Delta::new(0.01)?);
/// let audit = Audit::judge(&one?, &other?, &*claim, delta, failure)?;
/// assert!((0.85..1.0987).contains(&audit.epsilon_lower));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
pub struct Attack<'a> {
    mechanism: &'a Mechanism,
    /// The values of the others, then those of the attacked user in the two worlds.
    values: Values,
    score: Score,
}

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
        mechanism: &'a Mechanism,
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
        let values = worst_values(mechanism.question(), &scene, share);
        let score = match mechanism.score(&scene)? {
            Some(score) => score,
            None => linear(weights(mechanism, &values, others, rng)?),
        };
        Ok(Self { mechanism, values, score })
    }

    /// One run: everyone reports, the bag is counted, and the score says which world it looks like.
    pub fn run(&self, world: usize, rng: &mut impl CryptoRng) -> Result<f64, Error> {
        let others = self.values.len() - 2;
        let attacked = others + world;
        let mut tally = simulate(self.mechanism, &self.values, 0..others, rng)?;
        tally.merge(&simulate(self.mechanism, &self.values, attacked..attacked + 1, rng)?);
        Ok((self.score)(&tally))
    }
}

/// The values of the others, and the two values of the attacked user that are furthest apart: known
/// for every kind of question. `share` of the others' bits are 1 in the worst dataset.
fn worst_values(question: Question, scene: &Scene, share: f64) -> Values {
    let Scene { others, ones, .. } = *scene;
    let bits = (0..others).map(|user| user < ones).chain([false, true]);
    match question {
        Question::Bit => Values::Bits(bits.collect()),
        Question::Real => Values::Reals(bits.map(|bit| f64::from(u8::from(bit))).collect()),
        Question::Category { size } => {
            Values::Categories(repeat_n(third(size), others).chain([0, 1]).collect())
        }
        Question::Text { .. } => {
            let texts = repeat_n("third", others).chain(["first", "second"]);
            Values::Texts(texts.map(str::to_owned).collect())
        }
        Question::Attributes { count } => {
            let width = count as usize;
            let rows = repeat_n(share > 0.5, others).chain([false, true]);
            Values::Rows { bits: rows.flat_map(|bit| repeat_n(bit, width)).collect(), width }
        }
        Question::State { periods, .. } => {
            let width = periods as usize;
            // No change at all, a change in the first period, and one in the last.
            let changes = repeat_n(width, others).chain([0, width - 1]);
            let row = |first| (0..width).map(move |period| period >= first);
            Values::Rows { bits: changes.flat_map(row).collect(), width }
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

/// The shift of each cell by the attacked user's value, over the variance of the cell itself.
fn weights(
    mechanism: &Mechanism,
    values: &Values,
    others: usize,
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
    let (zero, one) = (mean(others)?, mean(others + 1)?);
    let base = if others == 0 { zero.clone() } else { mean(0)? };
    let weight = |((zero, one), base): ((&f64, &f64), &f64)| {
        // A cell counts at most one message in most mechanisms: a coin's variance.
        let share = base.clamp(0.0, 1.0);
        (one - zero) / (share * (1.0 - share) + 0.01)
    };
    Ok(zero.iter().zip(&one).zip(&base).map(weight).collect())
}

/// The number of reports that the weights of a linear score are estimated from.
const PILOTS: u32 = 20_000;
