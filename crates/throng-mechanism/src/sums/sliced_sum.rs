//! `sliced-sum`: the binary digits of a number, each hidden among coins of its own.
//!
//! ```text
//! client     X = x·B rounded at random to a neighbouring integer, B = 2ᵇ − 1
//!            for each level j < b the message (j, digit j of X)
//!            in each of J slots, with probability p_j, the message (j, fair coin), else null
//! analyzer   (1/B)·Σ_j 2ʲ·(N_{j,1} − N_{j,0} + n)/2
//!            variance n·J·Σ_j 4ʲ·p_j/(4B²) from coins, and at most n/(4B²) from rounding
//! ```
//!
//! The digits travel as they are inside the bag, so the local floor is infinite: whoever sees which
//! messages belong to one user sees its value. Coins are thrown without looking at the digits and
//! have slots of their own, never shared with them. Their law is fixed per user: more users than
//! the crowd only add noise, fewer honest ones weaken what was promised.

use crate::inquiry::weights;
use crate::sums::laplace::{grid_law, on_grid};
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, MAX_SLOTS, Noise, Parameters, Protocol,
    Question, Scene, Score, Setting, TWO_64, Tally, Trace, Value, odds, require, sample, small,
    symbol_or_null, with_slots,
};
use rand_core::CryptoRng;
use throng_account::{Crowd, Probability, Profile, calibrate};

/// Symbols 2·level + bit, and 2b for null: the digits of the user's value, then the slots.
///
/// ```
/// use throng_mechanism::{Claims, Protocol, SlicedSum};
///
/// // Numbers of two binary digits, and one slot that holds a coin of either level with chance ¼.
/// let sum = SlicedSum::new(vec![1 << 62, 1 << 62], 1)?;
/// let law = sum.law(&1.0);
/// // Digits 1 of level 0 and 3 of level 1; null is symbol 4.
/// assert_eq!((law[&vec![1, 3, 4]], law[&vec![0, 1, 3]]), (0.5, 0.125));
///
/// // A liar sends three ones of the higher level, which is worth ⅔.
/// assert_eq!(sum.influence(), 2.0);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlicedSum {
    weights: Vec<u64>,
    slots: u32,
    levels: sample::Catalogue,
}

impl SlicedSum {
    /// The mechanism with these weights out of 2⁶⁴ of the coins of each level in a slot, the lowest
    /// first, and this number of slots.
    ///
    /// From one to 32 levels, none without weight: a digit without coins is published.
    pub fn new(weights: Vec<u64>, slots: u32) -> Result<Self, Error> {
        require((1..=32).contains(&weights.len()), "levels", "from 1 to 32")?;
        require((1..=MAX_SLOTS).contains(&slots), "slots", "from 1 to 65535")?;
        let refused = Error::Parameter { name: "weights", range: "above 0, in sum below 2^64" };
        match sample::Catalogue::new(weights.iter().copied()) {
            Some(levels) if !weights.contains(&0) => Ok(Self { weights, slots, levels }),
            _ => Err(refused),
        }
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "Numbers bit by bit, with labelled coins",
        example: "--n 1e4 --weights 0.03,0.03,0.02 --delta 1e-5",
        settings: &[Setting::Slots("Slots for coins per report"), Setting::Weights],
        profile: |settings, crowd| {
            let weights = weights(&settings.weights)?;
            Ok(Box::new(throng_account::profile::SlicedSum::new(crowd, settings.slots, weights)?))
        },
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.weights("weights")?, given.small("slots")?)
    }

    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let (crowd, epsilon, delta) = (ask.crowd, ask.epsilon, ask.delta);
        let found = calibrate::sliced_sum(crowd, ask.epochs, epsilon, delta, ask.max_messages)?;
        Self::new(found.weights().to_vec(), small(found.slots())?)
    }

    /// B, the largest integer that a value is rounded to.
    fn top(&self) -> u32 {
        u32::MAX >> (32 - self.weights.len())
    }

    /// Each level with the probability that a slot holds a coin of it.
    fn chances(&self) -> impl Iterator<Item = (i32, f64)> {
        (0..).zip(&self.weights).map(|(j, &weight)| (j, weight as f64 / TWO_64))
    }

    /// The reach of coins and rounding, in halves of a step of the grid.
    ///
    /// Few coins of the highest level are most of the noise, so it is read off its own law. That
    /// needs few lattice points: coins of the lowest levels and rounding are taken as steps of a
    /// coarser lattice with the same variance, and a coarse step is added. Rounding hides how few
    /// coins there are, but not every dataset has any: the reach is the larger one.
    fn reach(&self, reports: f64, confidence: Probability) -> f64 {
        let deviation = 2.0 * f64::from(self.top()) * self.standard_error(reports);
        let highest = self.weights.len() as i32 - 1;
        let lowest = ((deviation / 64.0).log2().floor() as i32).max(highest - 8).clamp(0, highest);
        let unit = 2.0_f64.powi(lowest);
        let coins = self.chances().flat_map(|(j, p)| {
            let (size, share) = (1_i64 << (j - lowest).max(0), 4.0_f64.powi((j - lowest).min(0)));
            [(size, 0.5 * p * share), (-size, 0.5 * p * share)]
        });
        let coins = Noise::new(reports * f64::from(self.slots), coins.collect());
        let rounding = 0.5 / (unit * unit);
        let both = coins.clone().and(reports, vec![(1, rounding), (-1, rounding)]);
        unit * (coins.reach(confidence).max(both.reach(confidence)) + 1.0)
    }

    /// The messages of all digits of an integer.
    fn digits(&self, integer: u64) -> impl Iterator<Item = u64> {
        (0..self.weights.len() as u64).map(move |level| 2 * level + (integer >> level & 1))
    }
}

impl Protocol for SlicedSum {
    type Input = f64;

    fn messages(&self) -> usize {
        self.weights.len() + self.slots as usize
    }

    fn encode(&self, input: &f64, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        report.extend(self.digits(on_grid(*input, self.top(), rng)?));
        let (levels, mut faces) = (self.weights.len() as u64, sample::FairBits::default());
        report.extend((0..self.slots).map(|_| {
            let level = self.levels.draw(rng) as u64;
            let coin = 2 * level + u64::from(faces.next(rng));
            symbol_or_null(level < levels, coin, 2 * levels)
        }));
        Ok(())
    }

    fn law(&self, input: &f64) -> Law {
        let (whole, rest) = grid_law(*input, self.top()).expect("a value in range");
        let mut digits = Law::from([(self.digits(whole).collect(), 1.0 - rest)]);
        if rest > 0.0 {
            digits.insert(self.digits(whole + 1).collect(), rest);
        }
        let mut slot = Vec::new();
        let mut none = 1.0;
        for (j, p) in self.chances() {
            let zero = 2 * j as u64;
            slot.extend([(zero, 0.5 * p), (zero + 1, 0.5 * p)]);
            none -= p;
        }
        slot.push((2 * self.weights.len() as u64, none));
        with_slots(digits, self.slots, &slot)
    }

    /// Zeros and ones of each level, and nulls, so that counting takes no branch.
    fn cells(&self) -> usize {
        2 * self.weights.len() + 1
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let n = tally.n();
        let (levels, _) = tally.cells().as_chunks::<2>();
        let sum = levels
            .iter()
            .rev()
            .fold(0.0, |sum, [zeros, ones]| 2.0 * sum + 0.5 * (*ones as f64 - *zeros as f64 + n));
        let half_width = self.half_width(n, confidence);
        vec![Estimate::even(sum / f64::from(self.top()), self.standard_error(n), half_width)]
    }
}

impl Claims for SlicedSum {
    fn question(&self) -> Question {
        Question::Real
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        let (slots, weights) = (self.slots.into(), self.weights.clone());
        Ok(Box::new(throng_account::profile::SlicedSum::new(crowd, slots, weights)?))
    }

    /// The coins' exactly, and the most that rounding may add.
    fn standard_error(&self, reports: f64) -> f64 {
        let coins = self.chances().map(|(j, p)| 4.0_f64.powi(j) * p).sum::<f64>();
        (reports * (f64::from(self.slots) * coins + 1.0)).sqrt() / (2.0 * f64::from(self.top()))
    }

    fn half_width(&self, reports: f64, confidence: Probability) -> f64 {
        self.reach(reports, confidence) / (2.0 * f64::from(self.top()))
    }

    /// Each message is a one or a zero of the highest level.
    fn influence(&self) -> f64 {
        let highest = 2.0_f64.powi(self.weights.len() as i32 - 1);
        self.messages() as f64 * highest / f64::from(self.top())
    }

    fn parameters(&self) -> Parameters {
        vec![("slots", vec![self.slots.into()]), ("weights", self.weights.clone())]
    }

    /// Everyone else is at 0, so every level is full of zeros.
    fn score(&self, scene: &Scene) -> Result<Option<Score>, Error> {
        Ok(Some(odds(vec![[scene.zeros(), 0.0]; self.weights.len()])))
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        value.real().ok()?;
        let levels = self.weights.len();
        let chance = self.chances().map(|(_, p)| p).sum();
        Some(Trace::slots(self.slots.into(), chance, levels, 2 * levels as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Planted;
    use crate::testing::{
        OneByOne, assert_inverse, assert_inverse_within, assert_sampled, assert_view, confidence,
        rng,
    };

    fn sum(chances: &[f64], slots: u32) -> SlicedSum {
        let weights = chances.iter().map(|chance| (chance * TWO_64) as u64);
        SlicedSum::new(weights.collect(), slots).unwrap()
    }

    fn claim(crowd: u64, sum: &SlicedSum) -> throng_account::profile::SlicedSum {
        let (crowd, slots) = (Crowd::new(crowd).unwrap(), sum.slots.into());
        throng_account::profile::SlicedSum::new(crowd, slots, sum.weights.clone()).unwrap()
    }

    #[test]
    fn the_claim_bounds_the_whole_bag() {
        let cases = [(sum(&[0.2, 0.2], 16), 1), (sum(&[0.3, 0.2], 5), 2), (sum(&[0.7], 2), 3)];
        for (sum, crowd) in cases {
            let claim = claim(crowd, &sum);
            assert_view(&sum, &[&0.0, &0.5, &1.0], crowd as usize, &claim);
        }
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for input in [0.0, 0.2, 1.0 / 3.0, 0.9, 1.0] {
            assert_sampled(&sum(&[0.3, 0.6], 1), &input);
            assert_sampled(&sum(&[0.1, 0.4], 2), &input);
        }
    }

    // Rounding is claimed at its worst, a variance of ¼ between two integers.
    #[test]
    fn the_analyzer_inverts_the_law() {
        for sum in [sum(&[0.3, 0.6], 1), sum(&[0.1, 0.4], 2)] {
            for halfway in [1.0 / 6.0, 0.5, 5.0 / 6.0] {
                assert_inverse(&sum, &halfway, &[halfway]);
            }
            for other in [0.0, 0.1, 0.6, 1.0] {
                assert_inverse_within(&sum, &other, &[other], 1.8);
            }
        }
        assert_inverse(&sum(&[0.3, 0.1, 0.2], 1), &0.5, &[0.5]);
    }

    // One level is a bit among coins.
    #[test]
    fn one_level_is_a_coin_count() {
        let bits = sum(&[0.5], 2);
        let chance = throng_account::Threshold::at_least(Probability::new("chance", 0.5).unwrap());
        let count = crate::CoinCount::new(2, chance).unwrap();
        assert_eq!(bits.law(&1.0), count.law(&true));
        assert_eq!(bits.influence(), count.influence());
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let protocol = sum(&[0.1, 0.2, 0.4], 3);
        let mut messages = vec![7, u64::MAX];
        for user in 0..500 {
            protocol.encode(&(f64::from(user) / 500.0), &mut rng(9), &mut messages).unwrap();
        }
        let (mut whole, mut left, mut right) =
            (Tally::new(&protocol), Tally::new(&protocol), Tally::new(&protocol));
        whole.absorb(&protocol, &messages);
        left.absorb(&protocol, &messages[..701]);
        right.absorb(&protocol, &messages[701..]);
        left.merge(&right);
        assert_eq!(left, whole);
        assert_eq!((whole.malformed(), whole.reports()), (2, 500));
    }

    #[test]
    fn influence_is_reached() {
        let protocol = sum(&[0.1, 0.2, 0.3], 2);
        let summed = |symbol| {
            let mut tally = Tally::new(&protocol);
            tally.absorb(&protocol, &[symbol; 5]);
            protocol.estimate(&tally, confidence())[0].value
        };
        assert!((summed(5) - summed(4) - protocol.influence()).abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_refused() {
        for (weights, slots) in [
            (vec![], 1),
            (vec![1; 33], 1),
            (vec![1, 0], 1),
            (vec![1 << 63, 1 << 63], 1),
            (vec![1], 0),
            (vec![1], 65_536),
        ] {
            assert!(SlicedSum::new(weights, slots).is_err());
        }
        let mut report = Vec::new();
        for value in [f64::NAN, -1e-300, 1.0 + f64::EPSILON, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(sum(&[0.5], 1).encode(&value, &mut rng(0), &mut report).is_err());
        }
        assert!(report.is_empty());
        assert!(sum(&[0.5], 1).absorb(&[3], &mut [0; 3]).is_err());
        assert!(sum(&[0.5], 1).absorb(&[], &mut [0; 3]).is_err());
    }

    // A client that throws coins only for values above 0.
    #[test]
    #[should_panic(expected = " > ")]
    fn coins_only_for_some_values_break_the_claim() {
        let honest = sum(&[0.2, 0.2], 16);
        let planted = Planted::client(&honest, |input, report| {
            if *input == 0.0 {
                report.fill(4);
                report[..2].copy_from_slice(&[0, 2]);
            }
        });
        assert_view(&planted, &[&0.0, &1.0], 1, &claim(1, &honest));
    }

    // The whole part alone: the value is rounded down.
    #[test]
    #[should_panic(expected = "for 0.5")]
    fn rounding_down_is_noticed() {
        let honest = sum(&[0.3, 0.6], 1);
        let planted = Planted::analyzer(&honest, |e| e.value -= 1.0 / 3.0);
        assert_inverse(&planted, &0.5, &[0.5]);
    }

    // A coin that shows the digit of its level instead of a fair face.
    #[test]
    #[should_panic(expected = "tail")]
    fn a_coin_that_repeats_the_digit_is_noticed() {
        let honest = sum(&[0.3, 0.6], 1);
        let planted = Planted::sampler(&honest, |input, report| {
            if *input == 1.0 && report[2] < 4 {
                report[2] |= 1;
            }
        });
        assert_sampled(&planted, &1.0);
    }
}
