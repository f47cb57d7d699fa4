//! Statistical queries: means of vectors over a crowd, and learning from them.
//!
//! A statistical query asks for the mean of a bounded function of one user's data. Any algorithm
//! that needs nothing else can be run on a shuffled crowd (Cheu et al., "Distributed Differential
//! Privacy via Shuffling", 2019, section 1): each round broadcasts the question, every user answers
//! it with `real-sum`, one bag per coordinate, and the next question depends on the estimated
//! means.
//!
//! Replacing one user's data may move all r bits of all d coordinates in all T rounds. Thrown into
//! one bag per coordinate they show less than in d·r·T columns of their own, which compose exactly
//! like rounds: [`throng_account::profile::Columns`] accounts for them, whatever the questions, as
//! long as their number is fixed in advance.

use crate::{Bag, Claims, Error, Estimate, Law, Protocol, Tally, UnarySum, fits, require};
use rand_core::CryptoRng;
use throng_account::{Crowd, Delta, Epsilon, Probability, calibrate};

/// Sums of several coordinates from −1 to 1, each by `real-sum` in a bag of its own.
///
/// ```
/// use throng_account::Threshold;
/// use throng_mechanism::{Claims, Protocol, UnarySum, VectorSum};
///
/// // Two coordinates of three bits each, one in four of them flipped.
/// let sum = VectorSum::new(2, UnarySum::new(3, Threshold::new(1 << 62)?)?)?;
/// assert_eq!(sum.messages(), 6);
///
/// // From −1 to 1 where a single sum goes from 0 to 1: twice the error.
/// let coordinate = UnarySum::new(3, Threshold::new(1 << 62)?)?;
/// assert_eq!(sum.standard_error(100.0), 2.0 * coordinate.standard_error(100.0));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorSum {
    dimensions: u32,
    coordinate: UnarySum,
}

impl VectorSum {
    /// The sums of `dimensions` coordinates, each by the mechanism of one.
    pub fn new(dimensions: u32, coordinate: UnarySum) -> Result<Self, Error> {
        require((1..=1 << 20).contains(&dimensions), "dimensions", "from 1 to 1048576")?;
        Ok(Self { dimensions, coordinate })
    }

    /// The least noise with which all rounds of a training keep its promise in a crowd.
    pub fn calibrated(dimensions: u32, crowd: Crowd, training: &Training) -> Result<Self, Error> {
        let Training { rounds, bits, epsilon, delta, .. } = *training;
        let columns = rounds.saturating_mul(u64::from(dimensions) * u64::from(bits));
        let coin = calibrate::columns(crowd, columns, epsilon, delta)?.coin;
        Self::new(dimensions, UnarySum::new(bits, coin)?)
    }

    /// Standard error of each estimated sum among `reports` users, at most.
    pub fn standard_error(&self, reports: f64) -> f64 {
        2.0 * self.coordinate.standard_error(reports)
    }
}

impl Protocol for VectorSum {
    type Input = [f64];

    fn messages(&self) -> usize {
        self.dimensions as usize * self.coordinate.messages()
    }

    fn encode(
        &self,
        input: &[f64],
        rng: &mut impl CryptoRng,
        report: &mut Bag,
    ) -> Result<(), Error> {
        let all = input.len() == self.dimensions as usize;
        let bounded = input.iter().all(|x| (-1.0..=1.0).contains(x));
        fits(all && bounded, "a number from -1 to 1 for every coordinate")?;
        for (coordinate, x) in (0_u64..).zip(input) {
            let start = report.len();
            self.coordinate.encode(&(0.5 * (x + 1.0)), rng, report)?;
            report[start..].iter_mut().for_each(|bit| *bit += 2 * coordinate);
        }
        Ok(())
    }

    fn law(&self, input: &[f64]) -> Law {
        let start = Law::from([(Vec::new(), 1.0)]);
        (0_u64..).zip(input).fold(start, |law, (coordinate, x)| {
            let mut longer = Law::new();
            for (bits, q) in self.coordinate.law(&(0.5 * (x + 1.0))) {
                let tagged: Vec<u64> = bits.iter().map(|bit| 2 * coordinate + bit).collect();
                longer.extend(law.iter().map(|(sent, p)| ([&sent[..], &tagged].concat(), p * q)));
            }
            longer
        })
    }

    /// Messages and ones of every coordinate.
    fn cells(&self) -> usize {
        2 * self.dimensions as usize
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let (coordinates, _) = tally.cells().as_chunks::<2>();
        let sum = |[zeros, ones]: &[u64; 2]| {
            let mut one = Tally::new(&self.coordinate);
            one.count(zeros + ones, *ones);
            let unit = self.coordinate.estimate(&one, confidence)[0];
            unit.rescaled(-one.n(), 2.0)
        };
        coordinates.iter().map(sum).collect()
    }
}

/// The parameters of a descent.
///
/// ```
/// use throng_account::{Delta, Epsilon};
/// use throng_mechanism::Training;
///
/// let training = Training {
///     rounds: 20,
///     rate: 0.5,
///     momentum: 0.5,
///     bits: 1,
///     epsilon: Epsilon::new(1.0)?,
///     delta: Delta::new(1e-6)?,
/// };
/// // Half the rounds for the same promise: each of them may be twice as exact.
/// let shorter = Training { rounds: training.rounds / 2, ..training };
/// assert_eq!((shorter.rounds, shorter.epsilon), (10, training.epsilon));
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Training {
    /// The number of rounds, each a gradient step.
    pub rounds: u64,
    /// Step size.
    pub rate: f64,
    /// The share of the step before last that is kept.
    pub momentum: f64,
    /// Bits per coordinate.
    pub bits: u32,
    /// ε of all rounds together.
    pub epsilon: Epsilon,
    /// δ of all rounds together.
    pub delta: Delta,
}

/// One user's features, each from −1 to 1, and label.
pub type Example<'a> = (&'a [f64], bool);

/// Private logistic regression by gradient descent on estimated mean gradients.
///
/// In each round every user computes the gradient of their own loss at the weights broadcast,
/// `(σ(w·x) − y)·x`, and reports it through [`VectorSum`]. The weights are (ε, δ)-differentially
/// private for replacing one user's features and label, all rounds together.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Delta, Epsilon};
/// use throng_mechanism::{Training, dot, logistic, logistic_regression};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// // Two thousand users whose label is the sign of their only feature; one step of descent.
/// let user = |user| if user % 2 == 0 { ([1.0], true) } else { ([-1.0], false) };
/// let users: Vec<([f64; 1], bool)> = (0..2_000).map(user).collect();
/// let examples: Vec<_> = users.iter().map(|(features, label)| (&features[..], *label)).collect();
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let training = Training { rounds: 1, rate: 4.0, momentum: 0.0, bits: 1, epsilon, delta };
/// let weights = logistic_regression(&examples, &training, &mut rng)?;
/// assert!(logistic(dot(&weights, &[1.0])) > 0.8);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
pub fn logistic_regression(
    examples: &[Example<'_>],
    training: &Training,
    rng: &mut impl CryptoRng,
) -> Result<Vec<f64>, Error> {
    let dimensions = examples.first().map_or(0, |(features, _)| features.len());
    let crowd = Crowd::new(examples.len() as u64)?;
    let protocol = VectorSum::calibrated(dimensions as u32, crowd, training)?;
    let confidence = Probability::new("confidence", 0.95)?;
    let mut weights = vec![0.0; dimensions];
    let mut step = vec![0.0; dimensions];
    let (mut report, mut gradient) = (Vec::new(), vec![0.0; dimensions]);
    for _ in 0..training.rounds {
        let mut tally = Tally::new(&protocol);
        for (features, label) in examples {
            let error = logistic(dot(&weights, features)) - f64::from(u8::from(*label));
            for (slope, x) in gradient.iter_mut().zip(*features) {
                *slope = error * x;
            }
            report.clear();
            protocol.encode(&gradient, rng, &mut report)?;
            tally.absorb(&protocol, &report);
        }
        let sums = protocol.estimate(&tally, confidence);
        for ((w, step), sum) in weights.iter_mut().zip(&mut step).zip(sums) {
            *step = training.momentum * *step - training.rate * sum.value / examples.len() as f64;
            *w += *step;
        }
    }
    Ok(weights)
}

/// `1/(1 + e^−z)`: the probability of the label that weights give to features with this product.
///
/// ```
/// use throng_mechanism::logistic;
///
/// assert_eq!(logistic(0.0), 0.5);
/// // Odds of 9 to 1.
/// assert!((logistic(9_f64.ln()) - 0.9).abs() < 1e-12);
/// ```
pub fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// The product of weights and features, over the shorter of both.
///
/// ```
/// assert_eq!(throng_mechanism::dot(&[1.0, 2.0], &[3.0, -1.0]), 1.0);
/// ```
pub fn dot(weights: &[f64], features: &[f64]) -> f64 {
    weights.iter().zip(features).map(|(w, x)| w * x).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_inverse_within, assert_sampled, assert_view, rng};
    use throng_account::profile::{BitSum, Columns};
    use throng_account::{Threshold, UpperOnly};

    fn vectors(dimensions: u32, bits: u32, flip: f64) -> VectorSum {
        let flip = Threshold::at_least(Probability::new("flip", flip).unwrap());
        VectorSum::new(dimensions, UnarySum::new(bits, flip).unwrap()).unwrap()
    }

    #[test]
    fn columns_bound_the_bags() {
        let protocol = vectors(2, 2, 0.2);
        let column = BitSum::with_flip(Crowd::new(2).unwrap(), 0.2).unwrap();
        let inputs: [&[f64]; 4] = [&[-1.0, -1.0], &[1.0, 1.0], &[0.0, 0.3], &[1.0, -1.0]];
        // The bound is not attained: a bag shows less than its columns. Only its upper side is
        // checked.
        let bound = UpperOnly(Columns::new(column, 4).unwrap());
        assert_view(&protocol, &inputs, 2, &bound);
    }

    #[test]
    fn the_sampler_follows_the_law_and_the_analyzer_inverts_it() {
        let protocol = vectors(2, 2, 0.2);
        for input in [[-1.0, 1.0], [0.1, -0.6]] {
            assert_sampled(&protocol, &input[..]);
            assert_inverse_within(&protocol, &input[..], &input, 1.6);
        }
    }

    // Two features, of which one decides the label four times in five.
    #[test]
    fn regression_finds_the_direction_that_matters() {
        let mut rng = rng(3);
        let mut data = Vec::new();
        for i in 0..20_000_u32 {
            let x = [f64::from(i % 21) / 10.0 - 1.0, f64::from(i % 13) / 6.0 - 1.0];
            let label = (x[0] > 0.0) ^ crate::sample::fraction(0.2, &mut rng);
            data.push((x, label));
        }
        let examples: Vec<Example> = data.iter().map(|(x, y)| (&x[..], *y)).collect();
        let training = Training {
            rounds: 15,
            rate: 4.0,
            momentum: 0.5,
            bits: 8,
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
        };
        let weights = logistic_regression(&examples, &training, &mut rng).unwrap();
        assert!(weights[0] > 1.0 && weights[1].abs() < 0.3, "{weights:?}");
        let right = examples.iter().filter(|(x, y)| (dot(&weights, x) > 0.0) == *y).count();
        assert!(right > 15_000, "{right}");
    }

    #[test]
    fn vectors_that_do_not_fit_are_refused() {
        let mut report = Vec::new();
        for bad in [&[0.0][..], &[0.0, 1.1], &[f64::NAN, 0.0]] {
            assert!(vectors(2, 1, 0.2).encode(bad, &mut rng(1), &mut report).is_err());
        }
        assert!(report.is_empty());
    }
}
