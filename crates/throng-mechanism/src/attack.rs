//! The attack an audit runs: two neighbouring crowds, and a score that tells them apart.
//!
//! Any score is a valid attack; a better one finds more. Where the likelihood ratio of the bag is
//! known it is the score; elsewhere a linear one, weighted by how much one user's value moves each
//! cell and how much each cell moves by itself.

use crate::{Error, Mechanism, Tally, Value, Values};
use rand_core::CryptoRng;
use throng_account::profile::BurstCount;
use throng_account::{Crowd, Dataset, Epsilon, Profile};

/// Everyone's values but one user's, the two values that user may hold, and the score.
///
/// ```
/// # use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// # let mut rng = ChaCha12Rng::seed_from_u64(1);
/// # use throng_account::{Crowd, Delta, Threshold};
/// use throng_mechanism::{Attack, Audit, BinaryResponse, Mechanism};
///
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
    others: Values,
    pair: [Values; 2],
    score: Score,
}

enum Score {
    /// `Σ weightᵢ·cellᵢ`.
    Linear(Vec<f64>),
    /// Odds of the two cells of the user's bit, of which the others fill `taken`.
    Odds { taken: Vec<[f64; 2]> },
    /// The exact likelihood ratio of a burst count, or of the two cells of a burst histogram with as
    /// many users as speak for a cell on average, of which the others fill `taken` of the first.
    Bursts { law: Box<BurstCount>, cells: usize, taken: i64 },
    /// What k-ary response says about categories 0 and 1 when everyone else holds `third`.
    Kary { odds: f64, third: usize },
    /// The sum modulo 2^bits, as the number of smallest size.
    Residue { bits: u32 },
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
        let (others, pair) = match mechanism {
            Mechanism::RandomizedResponse(_)
            | Mechanism::BitSum(_)
            | Mechanism::TwoMessageCount(_)
            | Mechanism::CoinCount(_)
            | Mechanism::BurstCount(_) => (
                Values::Bits((0..others).map(|user| user < ones).collect()),
                [false, true].map(|bit| Values::Bits(vec![bit])),
            ),
            Mechanism::OneBitMean(_)
            | Mechanism::RealSum(_)
            | Mechanism::LaplaceMean(_)
            | Mechanism::SlicedSum(_)
            | Mechanism::SplitAndMix(_) => (
                Values::Reals((0..others).map(|user| f64::from(u8::from(user < ones))).collect()),
                [0.0, 1.0].map(|number| Values::Reals(vec![number])),
            ),
            Mechanism::KaryResponse(_)
            | Mechanism::SubsetSelection(_)
            | Mechanism::Histogram(_)
            | Mechanism::AdditiveHistogram(_)
            | Mechanism::BurstHistogram(_) => (
                Values::Categories(vec![third(mechanism); others]),
                [0, 1].map(|category| Values::Categories(vec![category])),
            ),
            Mechanism::Rappor(_) => (
                Values::Texts(vec!["third".into(); others]),
                ["first", "second"].map(|text| Values::Texts(vec![text.into()])),
            ),
            Mechanism::Selection(m) => {
                let width = m.columns().columns() as usize;
                let row = |bit: bool| Values::Rows { bits: vec![bit; width], width };
                let bits = vec![share > 0.5; others * width];
                (Values::Rows { bits, width }, [row(false), row(true)])
            }
            Mechanism::Longitudinal(m) => {
                let width = m.periods() as usize;
                // A change in the first period, and one in the last.
                let rows = [0, width - 1].map(|first| Values::Rows {
                    bits: (0..width).map(|period| period >= first).collect(),
                    width,
                });
                (Values::Rows { bits: vec![false; others * width], width }, rows)
            }
        };
        let score = Score::of(mechanism, &others, &pair, ones, crowd, rng)?;
        Ok(Self { mechanism, others, pair, score })
    }

    /// One run: everyone reports, the bag is counted, and the score says which world it looks like.
    pub fn run(&self, world: usize, rng: &mut impl CryptoRng) -> Result<f64, Error> {
        let range = 0..self.others.len();
        let mut tally = crate::simulate(self.mechanism, &self.others, range, rng)?;
        tally.merge(&crate::simulate(self.mechanism, &self.pair[world], 0..1, rng)?);
        Ok(self.score.of_tally(&tally))
    }
}

impl Score {
    fn of(
        mechanism: &Mechanism,
        others: &Values,
        pair: &[Values; 2],
        ones: usize,
        crowd: Crowd,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, Error> {
        let rest = (others.len() - ones) as f64;
        Ok(match mechanism {
            Mechanism::RandomizedResponse(_)
            | Mechanism::BitSum(_)
            | Mechanism::TwoMessageCount(_)
            | Mechanism::OneBitMean(_)
            | Mechanism::RealSum(_) => Self::Linear(vec![1.0]),
            Mechanism::CoinCount(_) => Self::Odds { taken: vec![[rest, ones as f64]] },
            // Everyone else is at 0, so every level is full of zeros.
            Mechanism::SlicedSum(m) => Self::Odds { taken: vec![[rest, 0.0]; m.weights().len()] },
            Mechanism::AdditiveHistogram(_) => Self::Odds { taken: vec![[0.0, 0.0]] },
            Mechanism::BurstCount(m) => {
                let law = Box::new(BurstCount::new(crowd, m.bursts().clone())?);
                Self::Bursts { law, cells: 1, taken: 0 }
            }
            Mechanism::BurstHistogram(m) => {
                let each = Crowd::new((crowd.get() / u64::from(m.categories())).max(1))?;
                let law = Box::new(BurstCount::new(each, m.bursts().clone())?);
                let taken = if third(mechanism) == 0 { others.len() as i64 } else { 0 };
                Self::Bursts { law, cells: 2, taken }
            }
            Mechanism::KaryResponse(m) => {
                let odds = m.epsilon().get().exp();
                Self::Kary { odds, third: third(mechanism) as usize }
            }
            Mechanism::SplitAndMix(m) => Self::Residue { bits: m.bits() },
            _ => Self::Linear(weights(mechanism, others, pair, rng)?),
        })
    }

    fn of_tally(&self, tally: &Tally) -> f64 {
        let cell = |i: usize| tally.cells()[i] as f64;
        match self {
            Self::Linear(weights) => {
                weights.iter().zip(tally.cells()).map(|(w, c)| w * *c as f64).sum()
            }
            Self::Odds { taken } => taken
                .iter()
                .enumerate()
                .map(|(level, [zeros, ones])| {
                    ((cell(2 * level + 1) - ones) / (cell(2 * level) - zeros)).ln()
                })
                .sum(),
            Self::Bursts { law, cells, taken } => {
                let count = |i: usize| tally.cells()[i] as i64;
                let ratio =
                    |v: usize, taken: i64| law.log_ratio(count(2 * v + 1) - taken, count(2 * v));
                match cells {
                    1 => ratio(0, 0),
                    _ => ratio(1, 0).clamp(-60.0, 60.0) - ratio(0, *taken).clamp(-60.0, 60.0),
                }
            }
            Self::Kary { odds, third } => {
                let n = tally.reports() as f64;
                let rest = |v: usize| {
                    let others = n - cell(v) - cell(*third);
                    cell(v) * odds + cell(*third) / odds + others
                };
                (rest(1) / rest(0)).ln()
            }
            Self::Residue { bits } => {
                let spare = 64 - bits;
                ((tally.cells()[0] << spare) as i64 >> spare) as f64
            }
        }
    }
}

impl Mechanism {
    /// The same mechanism with its noise `factor` times as rare: a bug for an audit to find.
    ///
    /// ```
    /// # use throng_account::Threshold;
    /// # use throng_mechanism::{BinaryResponse, Mechanism};
    /// let mechanism = Mechanism::BitSum(BinaryResponse::new(Threshold::new(1 << 62)?)?);
    /// let weak = mechanism.weakened(2.0)?;
    /// assert_eq!(weak.parameters(), [("flip", vec![1 << 61])]);
    /// assert!(weak.local_floor() > mechanism.local_floor());
    /// # Ok::<(), throng_mechanism::Error>(())
    /// ```
    pub fn weakened(&self, factor: f64) -> Result<Self, Error> {
        if !(factor >= 1.0 && factor.is_finite()) {
            return Err(Error::Parameter { name: "factor", range: "1 or more" });
        }
        // At most 53 significant bits, as thresholds want.
        let rarer = |weight: u64| (weight as f64 / factor) as u64;
        let parameters: Vec<(&str, Vec<u64>)> = self
            .parameters()
            .into_iter()
            .map(|(name, list)| {
                let change = |(i, weight): (usize, u64)| match name {
                    "flip" | "extra" | "replace" | "chance" | "weights" | "pairs" | "plus"
                    | "minus" | "permanent" => rarer(weight),
                    "shown" if i == 0 => rarer(weight),
                    // The chance of the truth: what is left of 1 is the noise.
                    "include" | "keep" | "shown" => {
                        (TWO_64 - (TWO_64 - weight as f64) / factor) as u64
                    }
                    // Noise that decays faster.
                    "decay" if i == 0 => (weight as f64 * factor) as u64,
                    // A float, bit by bit.
                    "epsilon" => (f64::from_bits(weight) * factor).to_bits(),
                    _ => weight,
                };
                (name, list.into_iter().enumerate().map(change).collect())
            })
            .collect();
        Self::from_parameters(self.key(), |name| {
            parameters.iter().find(|(other, _)| *other == name).map(|(_, list)| list.as_slice())
        })
    }
}

/// By how much the user's value moves each cell, over what the cell does by itself.
fn weights(
    mechanism: &Mechanism,
    others: &Values,
    pair: &[Values; 2],
    rng: &mut impl CryptoRng,
) -> Result<Vec<f64>, Error> {
    let mut mean = |value: Value<'_>| -> Result<Vec<f64>, Error> {
        let mut tally = mechanism.tally();
        let mut report = Vec::new();
        for _ in 0..PILOTS {
            report.clear();
            mechanism.encode(value, rng, &mut report)?;
            mechanism.absorb(&mut tally, &report);
        }
        Ok(tally.cells().iter().map(|&cell| cell as f64 / f64::from(PILOTS)).collect())
    };
    let (zero, one) = (mean(pair[0].get(0))?, mean(pair[1].get(0))?);
    let base = if others.is_empty() { zero.clone() } else { mean(others.get(0))? };
    Ok((0..zero.len())
        .map(|i| {
            // A cell counts at most one message in most mechanisms: a coin's variance.
            let share = base[i].clamp(0.0, 1.0);
            (one[i] - zero[i]) / (share * (1.0 - share) + 0.01)
        })
        .collect())
}

/// A category that is neither of the pair, where there is one.
fn third(mechanism: &Mechanism) -> u32 {
    let categories = match mechanism {
        Mechanism::KaryResponse(m) => m.categories(),
        Mechanism::SubsetSelection(m) => m.categories(),
        Mechanism::AdditiveHistogram(m) => m.categories(),
        Mechanism::BurstHistogram(m) => m.categories(),
        Mechanism::Histogram(m) => m.columns().columns(),
        _ => 0,
    };
    if categories > 2 { 2 } else { 0 }
}

const TWO_64: f64 = 18_446_744_073_709_551_616.0;
/// Reports that the weights of a linear score are estimated from.
const PILOTS: u32 = 20_000;
