//! `coin-count`: the bit itself, and now and then a fair coin beside it.
//!
//! Like `two-message-count` (Stemmer, lecture slides on the shuffle model), but the noise is as
//! often a 0 as a 1, and whether there is any is seen: what is left is a bit among so many fair
//! coins, whose guarantee is exact, the same for a 0 and for a 1.
//!
//! ```text
//! client     the bit; in each of J slots, with probability p, a fair coin, else null
//! analyzer   (N₁ − N₀ + n)/2                 standard error √(n·J·p)/2, for every dataset
//! ```
//!
//! The bit travels as it is inside the bag, so the local floor is infinite: whoever sees which
//! messages belong to one user sees its bit. Coins are thrown without looking at the bit and have
//! slots of their own, never shared with it. Their law is fixed per user: more users than the crowd
//! only add noise, fewer honest ones weaken what was promised.

use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, MAX_SLOTS, Noise, Parameters, Protocol,
    Question, Scene, Score, Setting, Tally, Trace, Value, count_bits, odds, require, sample, small,
    symbol_or_null, with_slots,
};
use rand_core::CryptoRng;
use throng_account::profile::AdditiveNoise;
use throng_account::{Crowd, Probability, Profile, Threshold, calibrate};

/// Symbols 0 and 1 for bits, 2 for null: the user's bit, then the slots.
///
/// ```
/// use throng_account::Threshold;
/// use throng_mechanism::{Claims, CoinCount, Protocol};
///
/// // The bit, and every other time a fair coin beside it. Null is symbol 2.
/// let count = CoinCount::new(1, Threshold::new(1 << 63)?)?;
/// let law = count.law(&true);
/// assert_eq!((law[&vec![1, 2]], law[&vec![0, 1]], law[&vec![1, 1]]), (0.5, 0.25, 0.25));
///
/// // 800 users throw 400 coins, each of which is off by a half.
/// assert_eq!(count.standard_error(800.0), 10.0);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoinCount {
    slots: u32,
    chance: Threshold,
}

impl CoinCount {
    /// The mechanism with at least one slot, each of which holds a coin with this chance.
    pub fn new(slots: u32, chance: Threshold) -> Result<Self, Error> {
        require((1..=MAX_SLOTS).contains(&slots), "slots", "from 1 to 65535")?;
        Ok(Self { slots, chance })
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "The true bit and, now and then, a fair coin: exact",
        example: "--n 1e4 --p 0.01 --delta 1e-6",
        settings: &[Setting::Slots("Slots for noise per report"), Setting::Chance],
        profile: |settings, crowd| {
            if settings.chance == 1.0 {
                return Ok(AdditiveNoise::in_every_slot(crowd, settings.slots, 2)?);
            }
            let (slots, chance) = (settings.slots, settings.chance()?);
            Ok(Box::new(AdditiveNoise::new(crowd, slots, chance, 2)?))
        },
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.small("slots")?, given.noise("chance")?)
    }

    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let found = calibrate::coin_count(ask.crowd, ask.epsilon, ask.delta)?;
        Self::new(small(found.slots())?, found.chance())
    }

    /// The noise of coins in `N₁ − N₀`.
    fn noise(&self, reports: f64) -> Noise {
        let p = self.chance.probability();
        Noise::new(reports * f64::from(self.slots), vec![(1, 0.5 * p), (-1, 0.5 * p)])
    }
}

impl Protocol for CoinCount {
    type Input = bool;

    fn messages(&self) -> usize {
        1 + self.slots as usize
    }

    fn encode(&self, bit: &bool, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        let mut faces = sample::FairBits::default();
        report.push(u64::from(*bit));
        report.extend((0..self.slots).map(|_| {
            let thrown = sample::coin(self.chance, rng);
            symbol_or_null(thrown, u64::from(faces.next(rng)), NULL)
        }));
        Ok(())
    }

    fn law(&self, input: &bool) -> Law {
        let p = self.chance.probability();
        let bit = Law::from([(vec![u64::from(*input)], 1.0)]);
        with_slots(bit, self.slots, &[(0, 0.5 * p), (1, 0.5 * p), (NULL, 1.0 - p)])
    }

    fn cells(&self) -> usize {
        2
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        count_bits(messages, cells)
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let (zeros, ones, n) = (tally.cells()[0] as f64, tally.cells()[1] as f64, tally.n());
        vec![Estimate::of_noise(0.5 * (ones - zeros + n), &self.noise(n), 0.5, confidence)]
    }
}

impl Claims for CoinCount {
    fn question(&self) -> Question {
        Question::Bit
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Ok(Box::new(AdditiveNoise::new(crowd, self.slots.into(), self.chance, 2)?))
    }

    fn standard_error(&self, reports: f64) -> f64 {
        0.5 * self.noise(reports).deviation()
    }

    fn half_width(&self, reports: f64, confidence: Probability) -> f64 {
        0.5 * self.noise(reports).reach(confidence)
    }

    /// Each message is a one or a zero.
    fn influence(&self) -> f64 {
        self.messages() as f64
    }

    fn message_bits(&self) -> u32 {
        2
    }

    fn parameters(&self) -> Parameters {
        vec![("slots", vec![self.slots.into()]), ("chance", vec![self.chance.get()])]
    }

    fn score(&self, scene: &Scene) -> Result<Option<Score>, Error> {
        Ok(Some(odds(vec![[scene.zeros(), scene.ones as f64]])))
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        value.bit().ok()?;
        Some(Trace::slots(self.slots.into(), self.chance.probability(), 1, NULL))
    }
}

const NULL: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Planted;
    use crate::testing::{OneByOne, assert_inverse, assert_sampled, assert_view, rng};
    use throng_account::Crowd;

    fn count(slots: u32, chance: f64) -> CoinCount {
        let chance = Probability::new("chance", chance).unwrap();
        CoinCount::new(slots, Threshold::at_least(chance)).unwrap()
    }

    fn profile(crowd: u64, count: &CoinCount) -> AdditiveNoise {
        let crowd = Crowd::new(crowd).unwrap();
        AdditiveNoise::new(crowd, count.slots.into(), count.chance, 2).unwrap()
    }

    #[test]
    fn the_claim_bounds_the_whole_bag() {
        for (slots, chance, crowd) in [(1, 0.3, 4), (1, 0.9, 4), (2, 0.6, 3), (3, 0.5, 2)] {
            let count = count(slots, chance);
            let claim = profile(crowd, &count);
            assert_view(&count, &[&false, &true], crowd as usize, &claim);
        }
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for (slots, chance) in [(1, 0.01), (1, 0.9), (2, 0.4)] {
            for input in [false, true] {
                assert_sampled(&count(slots, chance), &input);
            }
        }
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for (slots, chance) in [(1, 0.01), (1, 0.9), (2, 0.4)] {
            assert_inverse(&count(slots, chance), &false, &[0.0]);
            assert_inverse(&count(slots, chance), &true, &[1.0]);
        }
    }

    #[test]
    fn batches_and_parts_are_counted_alike() {
        let count = count(2, 0.5);
        let mut messages = vec![3, u64::MAX];
        for user in 0..500 {
            count.encode(&(user % 3 == 0), &mut rng(user), &mut messages).unwrap();
        }
        let mut whole = Tally::new(&count);
        whole.absorb(&count, &messages);
        let mut cells = vec![0; 2];
        let one_by_one = |message: &u64| count.absorb(&[*message], &mut cells).is_err();
        assert_eq!(messages.iter().map(one_by_one).filter(|bad| *bad).count(), 2);
        assert_eq!((whole.cells(), whole.malformed(), whole.reports()), (&cells[..], 2, 500));

        let (mut left, mut right) = (Tally::new(&count), Tally::new(&count));
        left.absorb(&count, &messages[..701]);
        right.absorb(&count, &messages[701..]);
        left.merge(&right);
        assert_eq!(left, whole);
    }

    // The published error at ε = 1, δ = 1e-8 with 124.186 coins in the crowd, and the reach of a
    // report of two messages, from −½ to 1½.
    #[test]
    fn error_and_influence_are_those_of_the_coins() {
        assert!((count(1, 124.186 / 1e6).standard_error(1e6) - 5.572).abs() < 0.001);
        let count = count(1, 0.5);
        let counted = |symbol| {
            let mut tally = Tally::new(&count);
            tally.absorb(&count, &[symbol; 2]);
            count.estimate(&tally, crate::testing::confidence())[0].value
        };
        assert_eq!((counted(0), counted(1)), (-0.5, 1.5));
        assert_eq!(counted(1) - counted(0), count.influence());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(CoinCount::new(0, count(1, 0.5).chance).is_err());
        assert!(CoinCount::new(65_536, count(1, 0.5).chance).is_err());
        let cells = &mut [0; 2];
        assert!(count(1, 0.5).absorb(&[3], cells).is_err());
        assert!(count(1, 0.5).absorb(&[0, 1], cells).is_err());
        assert!(count(1, 0.5).absorb(&[], cells).is_err());
        assert_eq!(*cells, [0; 2]);
    }

    // A client that throws no coins when it holds nothing of interest: the coins that are seen come
    // from the ones, and the number of coins tells how many those are.
    #[test]
    #[should_panic(expected = " > ")]
    fn coins_only_for_ones_break_the_claim() {
        let honest = count(1, 0.5);
        let planted = Planted::client(&honest, |input, report| {
            // In the law the symbols are sorted, in a report the bit comes first: both have it
            // there.
            if !*input {
                report[1] = NULL;
            }
        });
        assert_view(&planted, &[&false, &true], 3, &profile(3, &honest));
    }

    #[test]
    #[should_panic(expected = "tail")]
    fn a_coin_that_only_lands_on_one_is_noticed() {
        let honest = count(1, 0.5);
        let planted = Planted::sampler(&honest, |_, report| {
            report[1] = if report[1] == 0 { 1 } else { report[1] };
        });
        assert_sampled(&planted, &false);
    }

    #[test]
    #[should_panic(expected = "for 0")]
    fn an_estimate_without_the_users_is_noticed() {
        // (N₁ − N₀)/2 for two users.
        let honest = count(1, 0.5);
        let planted = Planted::analyzer(&honest, |e| e.value -= 1.0);
        assert_inverse(&planted, &false, &[0.0]);
    }
}
