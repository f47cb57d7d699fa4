//! `additive-histogram`: the category itself, and now and then a random one beside it.
//!
//! `coin-count` for k categories: between any two of them, the random ones are fair coins.
//!
//! ```text
//! client     its category; in each of J slots, with probability p, a uniform category, else null
//! analyzer   N_v − n·J·p/k                 standard error √(n·J·(p/k)(1 − p/k)), for every dataset
//! ```
//!
//! The category travels as it is inside the bag, so the local floor is infinite: whoever sees which
//! messages belong to one user sees its category. Random ones are drawn without looking at it and
//! have slots of their own, never shared with it. Their law is fixed per user: more users than the
//! crowd only add noise, fewer honest ones weaken what was promised.
//!
//! Noise spreads over all categories, so there can be no more of them than the crowd can cover.
//! Names from a larger domain are first put into [`Buckets`](crate::Buckets).

use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, MAX_SLOTS, Noise, Parameters, Protocol,
    Question, Scene, Score, Setting, Tally, Trace, Value, fits, odds, require, sample, small,
    symbol_or_null, with_slots,
};
use rand_core::CryptoRng;
use throng_account::profile::AdditiveNoise;
use throng_account::{Crowd, Probability, Profile, Threshold, calibrate};

/// Symbols `0..k` for categories, k for null: the user's category, then the slots.
///
/// ```
/// use throng_account::Threshold;
/// use throng_mechanism::{AdditiveHistogram, Claims, Protocol};
///
/// // Two categories, and every other time a random one of them in the slot. Null is symbol 2.
/// let half = Threshold::new(1 << 63)?;
/// let histogram = AdditiveHistogram::new(2, 1, half)?;
/// let law = histogram.law(&0);
/// assert_eq!((law[&vec![0, 2]], law[&vec![0, 0]], law[&vec![0, 1]]), (0.5, 0.25, 0.25));
///
/// // 1600 slots hold a given category with chance ¼: √(1600·¼·¾).
/// assert!((histogram.standard_error(1600.0) - 300_f64.sqrt()).abs() < 1e-9);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdditiveHistogram {
    categories: u32,
    slots: u32,
    chance: Threshold,
}

impl AdditiveHistogram {
    /// The mechanism with at least two categories and one slot, each of which holds a random
    /// category with this chance.
    pub fn new(categories: u32, slots: u32, chance: Threshold) -> Result<Self, Error> {
        require(categories >= 2, "categories", "2 or more")?;
        require((1..=MAX_SLOTS).contains(&slots), "slots", "from 1 to 65535")?;
        Ok(Self { categories, slots, chance })
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "The true category and, now and then, a uniform one: exact",
        example: "--n 1e4 --p 0.1 --size 10 --delta 1e-6",
        settings: &[
            Setting::Slots("Slots for noise per report"),
            Setting::Chance,
            Setting::Size("Categories"),
        ],
        profile: |settings, crowd| {
            if settings.chance == 1.0 {
                return Ok(AdditiveNoise::in_every_slot(crowd, settings.slots, settings.size)?);
            }
            let (slots, chance, k) = (settings.slots, settings.chance()?, settings.size);
            Ok(Box::new(AdditiveNoise::new(crowd, slots, chance, k)?))
        },
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.small("categories")?, given.small("slots")?, given.noise("chance")?)
    }

    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let (crowd, size) = (ask.crowd, ask.question.size()?);
        let found = calibrate::additive_histogram(crowd, size.into(), ask.epsilon, ask.delta)?;
        Self::new(size, small(found.slots())?, found.chance())
    }

    /// The probability that a slot holds a given category.
    fn cell(&self) -> f64 {
        self.chance.probability() / f64::from(self.categories)
    }

    /// The noise of random categories in the count of one.
    fn noise(&self, reports: f64) -> Noise {
        Noise::new(reports * f64::from(self.slots), vec![(1, self.cell())])
    }
}

impl Protocol for AdditiveHistogram {
    type Input = u32;

    fn messages(&self) -> usize {
        1 + self.slots as usize
    }

    fn encode(&self, input: &u32, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        fits(*input < self.categories, "one of the categories")?;
        let k = u64::from(self.categories);
        report.push(u64::from(*input));
        report.extend((0..self.slots).map(|_| {
            let used = sample::coin(self.chance, rng);
            symbol_or_null(used, sample::below(k, rng), k)
        }));
        Ok(())
    }

    fn law(&self, input: &u32) -> Law {
        let k = u64::from(self.categories);
        let mut slot: Vec<(u64, f64)> = (0..k).map(|category| (category, self.cell())).collect();
        slot.push((k, 1.0 - self.chance.probability()));
        with_slots(Law::from([(vec![u64::from(*input)], 1.0)]), self.slots, &slot)
    }

    /// One for each category, and one for nulls, so that counting takes no branch.
    fn cells(&self) -> usize {
        self.categories as usize + 1
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let noise = self.noise(tally.n());
        // Every category has the same noise, whose law is worked out once.
        let error = Estimate::of_noise(0.0, &noise, 1.0, confidence);
        let counts = tally.cells().iter().take(self.categories as usize);
        counts.map(|&count| Estimate { value: count as f64 - noise.mean(), ..error }).collect()
    }
}

impl Claims for AdditiveHistogram {
    fn question(&self) -> Question {
        Question::Category { size: self.categories }
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        let (slots, k) = (self.slots.into(), self.categories.into());
        Ok(Box::new(AdditiveNoise::new(crowd, slots, self.chance, k)?))
    }

    fn standard_error(&self, reports: f64) -> f64 {
        self.noise(reports).deviation()
    }

    fn half_width(&self, reports: f64, confidence: Probability) -> f64 {
        self.noise(reports).reach(confidence)
    }

    /// Each message speaks for the category or for none.
    fn influence(&self) -> f64 {
        self.messages() as f64
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("categories", vec![self.categories.into()]),
            ("slots", vec![self.slots.into()]),
            ("chance", vec![self.chance.get()]),
        ]
    }

    fn score(&self, _: &Scene) -> Result<Option<Score>, Error> {
        Ok(Some(odds(vec![[0.0, 0.0]])))
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        value.category().ok()?;
        let null = u64::from(self.categories);
        Some(Trace::slots(self.slots.into(), self.chance.probability(), 1, null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Planted;
    use crate::testing::{OneByOne, assert_inverse, assert_sampled, assert_view, confidence, rng};
    use throng_account::Crowd;

    fn histogram(categories: u32, slots: u32, chance: f64) -> AdditiveHistogram {
        let chance = Probability::new("chance", chance).unwrap();
        AdditiveHistogram::new(categories, slots, Threshold::at_least(chance)).unwrap()
    }

    fn profile(crowd: u64, of: &AdditiveHistogram) -> AdditiveNoise {
        let crowd = Crowd::new(crowd).unwrap();
        let (slots, categories) = (of.slots.into(), of.categories.into());
        AdditiveNoise::new(crowd, slots, of.chance, categories).unwrap()
    }

    #[test]
    fn the_claim_bounds_the_whole_bag() {
        let cases = [(2, 1, 0.3, 4), (3, 1, 0.7, 3), (3, 2, 0.5, 2), (4, 1, 0.9, 3)];
        for (categories, slots, chance, crowd) in cases {
            let histogram = histogram(categories, slots, chance);
            let claim = profile(crowd, &histogram);
            let inputs: Vec<u32> = (0..categories).collect();
            let inputs: Vec<&u32> = inputs.iter().collect();
            assert_view(&histogram, &inputs, crowd as usize, &claim);
        }
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for (categories, slots, chance) in [(2, 1, 0.05), (3, 1, 0.9), (3, 2, 0.4)] {
            for input in 0..categories {
                assert_sampled(&histogram(categories, slots, chance), &input);
            }
        }
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for (slots, chance) in [(1, 0.05), (1, 0.9), (2, 0.4)] {
            assert_inverse(&histogram(3, slots, chance), &0, &[1.0, 0.0, 0.0]);
            assert_inverse(&histogram(3, slots, chance), &2, &[0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let histogram = histogram(5, 3, 0.5);
        let mut messages = vec![6, u64::MAX];
        for user in 0..500 {
            histogram.encode(&(user % 5), &mut rng(user.into()), &mut messages).unwrap();
        }
        let (mut whole, mut left, mut right) =
            (Tally::new(&histogram), Tally::new(&histogram), Tally::new(&histogram));
        whole.absorb(&histogram, &messages);
        left.absorb(&histogram, &messages[..701]);
        right.absorb(&histogram, &messages[701..]);
        left.merge(&right);
        assert_eq!(left, whole);
        assert_eq!((whole.malformed(), whole.reports()), (2, 500));
        assert_eq!(whole.cells().iter().sum::<u64>(), 2000);
    }

    // The published error per category at ε = 1, δ = 1e-8, a million users and 1024 categories.
    #[test]
    fn error_and_influence_are_those_of_the_slots() {
        assert!((histogram(1024, 1, 0.063583).standard_error(1e6) - 7.880).abs() < 0.001);
        let histogram = histogram(2, 1, 0.5);
        let counted = |symbol| {
            let mut tally = Tally::new(&histogram);
            tally.absorb(&histogram, &[symbol; 2]);
            histogram.estimate(&tally, confidence())[1].value
        };
        assert_eq!(counted(1) - counted(0), histogram.influence());
    }

    #[test]
    fn nonsense_is_refused() {
        let chance = histogram(2, 1, 0.5).chance;
        assert!(AdditiveHistogram::new(1, 1, chance).is_err());
        assert!(AdditiveHistogram::new(2, 0, chance).is_err());
        let mut report = Vec::new();
        for category in [3, u32::MAX] {
            let refused = histogram(3, 1, 0.5).encode(&category, &mut rng(0), &mut report);
            assert_eq!(refused, Err(Error::Value { expected: "one of the categories" }));
        }
        assert!(report.is_empty());
        assert!(histogram(3, 1, 0.5).absorb(&[4], &mut [0; 4]).is_err());
        assert!(histogram(3, 1, 0.5).absorb(&[0, 1], &mut [0; 4]).is_err());
    }

    // "There is no use in naming my own category again": then a bag in which it appears twice tells
    // that somebody else holds or drew it, and the noise of a category depends on who holds it.
    #[test]
    #[should_panic(expected = " > ")]
    fn noise_that_avoids_the_value_breaks_the_claim() {
        let honest = histogram(3, 1, 0.8);
        let planted = Planted::client(&honest, |input, report| {
            let own = u64::from(*input);
            if report == [own, own] {
                report[1] = 3;
            }
        });
        assert_view(&planted, &[&0, &1, &2], 3, &profile(3, &honest));
    }

    // A uniform draw that never reaches the last category.
    #[test]
    #[should_panic(expected = "tail")]
    fn a_category_left_out_of_the_noise_is_noticed() {
        let honest = histogram(3, 1, 0.5);
        let planted =
            Planted::sampler(&honest, |_, report| report[1] ^= 2 * u64::from(report[1] == 2));
        assert_sampled(&planted, &0);
    }

    // J·p subtracted from every category instead of J·p/k.
    #[test]
    #[should_panic(expected = "for 1")]
    fn noise_that_is_not_divided_among_categories_is_noticed() {
        let honest = histogram(3, 1, 0.6);
        let planted = Planted::analyzer(&honest, |e| e.value -= 2.0 * 0.6 * (1.0 - 1.0 / 3.0));
        assert_inverse(&planted, &0, &[1.0, 0.0, 0.0]);
    }
}
