//! `subset-selection`: a random set of categories that holds the true one more often than others
//! (Ye, Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally Differential
//! Privacy", 2018; Wang et al., "Mutual Information Optimally Local Private Discrete Distribution
//! Estimation", 2016).
//!
//! ```text
//! client     with probability i a uniform set among those of s categories that hold x,
//!            else a uniform one among those that do not
//! analyzer   n̂_v = (c_v − nq)/(i − q)      c_v sets hold v; q = (s − i)/(k − 1)
//! local      ε₀ = ln(i(k−s)/((1−i)s))      the odds of any set with x to any without
//! ```

use crate::histograms::kary::MAX_CATEGORIES;
use crate::histograms::rates::Rates;
use crate::packed::{column_sums, ones};
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, Parameters, Protocol, Question,
    Setting, Tally, Trace, Value, fits, require, sample, within_floor,
};
use rand_core::CryptoRng;
use throng_account::profile::Blanket;
use throng_account::{Crowd, Epsilon, Probability, Profile, Threshold, round};

/// One message of ⌈k/64⌉ words: bit `v % 64` of word `v / 64` is set if category v is in the set.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_mechanism::{Protocol, SubsetSelection};
///
/// // Sets of two of eight categories. Half of them hold the truth, so each of the 7 sets with it
/// // is three times as likely as each of the 21 without.
/// let selection = SubsetSelection::local(8, Epsilon::new(3_f64.ln())?)?;
/// let law = selection.law(&0);
/// assert_eq!(law.len(), 28);
/// assert!((law[&vec![0b0000_0011]] - 1.0 / 14.0).abs() < 1e-8);
/// assert!((law[&vec![0b0000_0110]] - 1.0 / 42.0).abs() < 1e-8);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubsetSelection {
    categories: u32,
    /// The number of categories in every set.
    size: u32,
    include: Threshold,
    /// The local ε₀ of the coin, `ln(i(k−s)/((1−i)s))`, rounded up.
    epsilon: Epsilon,
    pub(super) rates: Rates,
}

impl SubsetSelection {
    /// The mechanism with sets of `size` of the `categories`, and the coin that includes the true
    /// one, which must be above `size/categories`, or it would not stand out.
    pub fn new(categories: u32, size: u32, include: Threshold) -> Result<Self, Error> {
        let known = (2..=MAX_CATEGORIES).contains(&categories);
        require(known, "categories", "from 2 to 1000000000")?;
        require(size > 0 && size < categories, "size", "at least 1 and below k")?;
        // ik − s and (1−i)s in units of 2⁻⁶⁴, whose quotient is e^ε₀ − 1.
        let (coin, set) = (u128::from(include.get()), u128::from(size));
        let excess = (coin * u128::from(categories)).saturating_sub(set * TWO_64);
        let without = (TWO_64 - coin) * set;
        require(excess > 0, "include", "above the share of the categories in a set")?;
        let epsilon = Epsilon::new(round::up((excess as f64 / without as f64).ln_1p()))?;
        let (k, s, i) = (f64::from(categories), f64::from(size), include.probability());
        let gap = excess as f64 / TWO_64 as f64 / (k - 1.0);
        let rates = Rates { held: i, other: (s - i) / (k - 1.0), gap };
        Ok(Self { categories, size, include, epsilon, rates })
    }

    /// The set size with the least error at a local ε₀, and its coin: `s ≈ k/(e^ε₀ + 1)` and
    /// `i ≤ e^ε₀s/(e^ε₀s + k − s)`.
    ///
    /// The error that is least is the total over all categories, which is the same for every
    /// dataset.
    pub fn local(categories: u32, epsilon: Epsilon) -> Result<Self, Error> {
        let ideal = f64::from(categories) / (epsilon.get().exp() + 1.0);
        let size = |size: f64| (size as u32).clamp(1, categories.saturating_sub(1).max(1));
        let lower = Self::with_size(categories, size(ideal.floor()), epsilon)?;
        let upper = Self::with_size(categories, size(ideal.ceil()), epsilon)?;
        Ok(if lower.total_variance() <= upper.total_variance() { lower } else { upper })
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "Subset selection with a known local epsilon, shuffled: by its blanket",
        example: "--n 1e4 --epsilon0 2 --k 10 --delta 1e-6",
        settings: &[
            Setting::SizeOrTwo("Categories"),
            Setting::Local(&["categories", "size", "include"]),
        ],
        profile: |settings, crowd| {
            let range = "below 2^32";
            let size = u32::try_from(settings.size)
                .map_err(|_| Error::Parameter { name: "size", range })?;
            SubsetSelection::local(size, settings.local()?)?.profile(crowd)
        },
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.small("categories")?, given.small("size")?, given.truth("include")?)
    }

    /// The mechanism with about the largest ε₀ that its own blanket hides, from one that any
    /// randomizer may have.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let (size, any) = (ask.question.size()?, ask.local_epsilon()?);
        let mut best = Self::local(size, any)?;
        let (mut low, mut high) = (any.get(), 1.5 * any.get());
        for _ in 0..12 {
            let middle = 0.5 * (low + high);
            let tried = Self::local(size, Epsilon::new(middle)?)?;
            if tried.profile(ask.crowd)?.delta(ask.epsilon).upper <= ask.delta.get() {
                (low, best) = (middle, tried);
            } else {
                high = middle;
            }
        }
        Ok(best)
    }

    fn with_size(categories: u32, size: u32, epsilon: Epsilon) -> Result<Self, Error> {
        let (k, s) = (f64::from(categories), f64::from(size));
        let exclude = (k - s) / (round::within(epsilon.get()).exp() * s + k - s);
        // Close to 1 the coin has few digits for ε₀: the difference is rounded down as well.
        let include = round::down_by(1.0 - exclude, 2.0 * f64::EPSILON);
        Self::new(categories, size, Threshold::at_least(Probability::new("include", include)?))
    }

    /// Variance that one user adds to the estimates of all categories together.
    fn total_variance(&self) -> f64 {
        let one = self.rates.standard_error(1.0, 1.0).powi(2);
        one + f64::from(self.categories - 1) * self.rates.standard_error(0.0, 1.0).powi(2)
    }

    /// All sets of the right size, as messages.
    fn sets(&self) -> Vec<Vec<u64>> {
        let (k, size) = (u64::from(self.categories), u64::from(self.size));
        (0..k).fold(vec![vec![0; self.words()]], |sets, v| {
            let with = |set: &Vec<u64>| {
                let mut set = set.clone();
                set[v as usize / 64] |= 1 << (v % 64);
                set
            };
            let within_reach = |set: &Vec<u64>| (ones(set)..ones(set) + k - v).contains(&size);
            sets.iter().flat_map(|set| [set.clone(), with(set)]).filter(within_reach).collect()
        })
    }

    fn is_sent(&self, message: &[u64]) -> bool {
        let used = (self.categories - 1) % 64 + 1;
        let spare = message.last().is_some_and(|last| last.unbounded_shr(used) == 0);
        spare && message.len() == self.words() && ones(message) == u64::from(self.size)
    }
}

impl Protocol for SubsetSelection {
    type Input = u32;

    fn words(&self) -> usize {
        self.categories.div_ceil(64) as usize
    }

    /// The set is drawn for the last category, and then that one and the true one change places.
    fn encode(&self, input: &u32, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        fits(*input < self.categories, "one of the categories, counted from 0")?;
        let last = self.categories - 1;
        let start = report.len();
        report.resize(start + self.words(), 0);
        let set = &mut report[start..];

        let include = sample::coin(self.include, rng);
        sample::subset(last, self.size - u32::from(include), set, rng);
        // Every word is visited, so that the work does not tell where the true category is.
        let bit = |word: usize, v: u32| u64::from(word == v as usize / 64) << (v % 64);
        let held = set.iter().enumerate().fold(0, |held, (i, word)| held | word & bit(i, *input));
        let differ = u64::from((held != 0) ^ include).wrapping_neg();
        set[last as usize / 64] |= u64::from(held != 0) << (last % 64);
        for (i, word) in set.iter_mut().enumerate() {
            *word ^= bit(i, *input) & differ;
        }
        Ok(())
    }

    fn law(&self, input: &u32) -> Law {
        let i = self.include.probability();
        let sets = self.sets();
        let holds = |set: &Vec<u64>| set[*input as usize / 64] >> (input % 64) & 1 == 1;
        let with = sets.iter().filter(|set| holds(set)).count();
        let (with, without) = (i / with as f64, (1.0 - i) / (sets.len() - with) as f64);
        let mass = |set: &Vec<u64>| if holds(set) { with } else { without };
        sets.iter().map(|set| (set.clone(), mass(set))).collect()
    }

    fn cells(&self) -> usize {
        self.categories as usize
    }

    /// Whole runs of well-formed messages are added up at once.
    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        let (words, mut malformed, mut run) = (self.words(), 0, 0);
        for (row, message) in messages.chunks(words).enumerate() {
            if !self.is_sent(message) {
                column_sums(&messages[run * words..row * words], words, cells);
                (malformed, run) = (malformed + 1, row + 1);
            }
        }
        column_sums(messages.get(run * words..).unwrap_or_default(), words, cells);
        malformed
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let n = tally.n() as u64;
        self.rates.estimates(tally.cells().iter().map(|&c| (c, n)), confidence)
    }
}

impl Claims for SubsetSelection {
    fn question(&self) -> Question {
        Question::Category { size: self.categories }
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        let (k, size) = (self.categories.into(), self.size.into());
        Ok(Box::new(Blanket::subset_selection(crowd, self.epsilon, k, size)?))
    }

    fn local_floor(&self) -> Option<Epsilon> {
        Some(self.epsilon)
    }

    /// Variance is linear in the number of holders, so its mean is that of the mean cell.
    fn standard_error(&self, reports: f64) -> f64 {
        self.rates.standard_error(reports / f64::from(self.categories), reports)
    }

    fn heavy_error(&self, reports: f64) -> f64 {
        self.rates.standard_error(0.1 * reports, reports)
    }

    fn influence(&self) -> f64 {
        1.0 / self.rates.gap
    }

    fn message_bits(&self) -> u32 {
        self.categories
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("categories", vec![self.categories.into()]),
            ("size", vec![self.size.into()]),
            ("include", vec![self.include.get()]),
        ]
    }

    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        Some(Self::local(self.categories, within_floor(floor)?).ok()?.parameters())
    }

    /// Sets without the true category.
    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let category = value.category().ok()? as usize;
        Some(Trace::new(1, 1.0 - self.include.probability(), move |report| {
            let word = report.get(category / 64).copied().unwrap_or_default();
            1 - (word >> (category % 64) & 1)
        }))
    }
}

const TWO_64: u128 = 1 << 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Planted;
    use crate::testing::{
        OneByOne, assert_inverse, assert_local, assert_sampled, assert_view, binomial_tails,
        hockey_stick, rng,
    };
    use rand_core::Rng;
    use throng_account::profile::Blanket;
    use throng_account::{Crowd, Profile};

    fn selection(categories: u32, size: u32, include: f64) -> SubsetSelection {
        let include = Probability::new("include", include).unwrap();
        SubsetSelection::new(categories, size, Threshold::at_least(include)).unwrap()
    }

    fn grid() -> Vec<SubsetSelection> {
        let shapes = [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3)];
        let at = |(k, s)| {
            let share = f64::from(s) / f64::from(k);
            [0.05, 0.5, 0.99].map(|part| selection(k, s, share + part * (1.0 - share)))
        };
        shapes.into_iter().flat_map(at).collect()
    }

    fn local(categories: u32, epsilon: f64) -> SubsetSelection {
        SubsetSelection::local(categories, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    const INPUTS: [&u32; 4] = [&0, &1, &2, &3];

    #[test]
    fn the_claim_bounds_every_likelihood_ratio() {
        for m in grid() {
            let inputs = &INPUTS[..m.cells()];
            assert_local(&m, inputs, m.epsilon);
            let crowd = Crowd::new(3).unwrap();
            let (k, s) = (m.categories.into(), m.size.into());
            let blanket = Blanket::subset_selection(crowd, m.epsilon, k, s).unwrap();
            assert_view(&m, inputs, 3, &blanket);
        }
    }

    // In a crowd of one the blanket's bound is the divergence itself.
    #[test]
    fn the_accountant_has_the_same_randomizer_in_mind() {
        for m in grid() {
            let (k, s) = (m.categories.into(), m.size.into());
            let alone = Blanket::subset_selection(Crowd::new(1).unwrap(), m.epsilon, k, s).unwrap();
            for share in [0.0, 0.3, 0.9] {
                let epsilon = Epsilon::new(share * m.epsilon.get()).unwrap();
                let exact = hockey_stick(&m.law(&0), &m.law(&1), epsilon);
                let bound = alone.delta(epsilon).upper;
                assert!(exact <= bound && bound <= exact * (1.0 + 1e-6), "{exact} {bound}");
            }
        }
    }

    #[test]
    fn the_coin_keeps_the_epsilon_asked_for_and_no_less() {
        for k in [2, 3, 10, 100, 1024, MAX_CATEGORIES] {
            for epsilon in [1e-3, 0.1, 1.0, 4.0, 15.0, 30.0] {
                let found = local(k, epsilon).epsilon.get();
                assert!(found <= epsilon, "{k}: {found} for {epsilon}");
                // The coin has 53 digits, of which a large ε₀ takes some.
                let least = epsilon * (1.0 - 1e-8) - 4.0 * f64::EPSILON * epsilon.exp();
                assert!(found > least, "{k}: {found} for {epsilon}");
            }
        }
        // More than a coin can say.
        assert!(local(10, 300.0).epsilon.get() < 40.0);
    }

    #[test]
    fn no_other_size_has_a_smaller_error() {
        for k in [2, 3, 7, 20, 50] {
            for epsilon in [0.05, 0.5, 1.0, 2.0, 3.0, 5.0] {
                let best = local(k, epsilon).total_variance();
                for size in 1..k {
                    let epsilon = Epsilon::new(epsilon).unwrap();
                    let other = SubsetSelection::with_size(k, size, epsilon).unwrap();
                    assert!(best <= other.total_variance() * (1.0 + 1e-9), "{k} {size}");
                }
            }
        }
    }

    /// Tests 63 laws at 1e-9 each.
    #[test]
    fn the_sampler_follows_the_law() {
        for m in grid() {
            for input in 0..m.categories {
                assert_sampled(&m, &input);
            }
        }
        // Two words, and the sets that are drawn almost full.
        for (size, input) in [(1, 0), (1, 64), (64, 64), (64, 3)] {
            let share = f64::from(size) / 65.0;
            assert_sampled(&selection(65, size, 0.5 + 0.5 * share), &input);
        }
    }

    // Every pair of other categories is equally often in the set together, which a set that is
    // filled by coins and then corrected could get wrong. 2016 cells at 1e-9 in all.
    #[test]
    fn pairs_are_in_a_large_set_as_often_as_they_should() {
        let (draws, n, size) = (10_000, 64_u32, 19);
        let (mut rng, mut set) = (rng(5), [0]);
        let mut pairs = vec![0_u64; 64 * 64];
        for _ in 0..draws {
            sample::subset(n, size, &mut set, &mut rng);
            assert_eq!(ones(&set), u64::from(size));
            for a in 0..64 {
                let held = (set[0] >> a & 1).wrapping_neg() & set[0];
                (0..a).for_each(|b| pairs[64 * a + b] += held >> b & 1);
            }
        }
        let p = f64::from(size * (size - 1)) / f64::from(n * (n - 1));
        for a in 0..64 {
            for b in 0..a {
                let tail = binomial_tails(draws, p, pairs[64 * a + b]);
                assert!(tail > 1e-9 / (2.0 * 2016.0), "{a} {b}: {}", pairs[64 * a + b]);
            }
        }
    }

    #[test]
    fn subsets_have_their_size_at_every_shape() {
        let mut rng = rng(6);
        for n in [1_u32, 2, 63, 64, 65, 200] {
            let mut set = vec![u64::MAX; 5];
            for size in [0, 1, n / 2, n - 1, n] {
                sample::subset(n, size, &mut set, &mut rng);
                assert_eq!(ones(&set), u64::from(size), "{size} of {n}");
                assert!((n..320).all(|v| set[v as usize / 64] >> (v % 64) & 1 == 0));
            }
        }
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for m in grid() {
            for input in 0..m.categories {
                let truth: Vec<f64> =
                    (0..m.categories).map(|v| f64::from(u8::from(v == input))).collect();
                assert_inverse(&m, &input, &truth);
            }
        }
    }

    #[test]
    fn a_batch_is_counted_as_its_messages_one_by_one() {
        let mut rng = rng(3);
        for (k, reports) in [(3, 50), (64, 5000), (65, 100), (300, 4200)] {
            let (m, mut messages) = (local(k, 1.0), Vec::new());
            for report in 0..reports {
                m.encode(&(report % k), &mut rng, &mut messages).unwrap();
                if report % 13 == 5 {
                    *messages.last_mut().unwrap() = rng.next_u64();
                }
            }
            // The last message is cut off.
            messages.push(1);
            let (mut one_by_one, mut batch) = (vec![7; m.cells()], vec![7; m.cells()]);
            let count = |message| u64::from(m.absorb(message, &mut one_by_one).is_err());
            let malformed: u64 = messages.chunks(m.words()).map(count).sum();
            assert_eq!(m.absorb_batch(&messages, &mut batch), malformed);
            assert!(one_by_one == batch && malformed > 0);
            assert_eq!(m.absorb_batch(&[], &mut batch), 0);
        }
    }

    #[test]
    fn a_lie_moves_an_estimate_by_the_influence() {
        let m = selection(4, 2, 0.75);
        let count = |messages: &[u64]| {
            let mut tally = Tally::new(&m);
            tally.absorb(&m, messages);
            m.estimate(&tally, crate::testing::confidence())[0].value
        };
        assert!(
            (count(&[0b0011, 0b0101]) - count(&[0b0110, 0b0101]) - m.influence()).abs() < 1e-12
        );
        assert_eq!(m.influence(), 3.0);
    }

    #[test]
    fn nonsense_is_refused() {
        let coin = selection(4, 1, 0.6).include;
        for (categories, size) in [(1, 1), (4, 0), (4, 4), (4, 3), (0, 0)] {
            assert!(SubsetSelection::new(categories, size, coin).is_err());
        }
        assert!(SubsetSelection::local(4, Epsilon::ZERO).is_err());
        assert!(SubsetSelection::local(1, Epsilon::new(1.0).unwrap()).is_err());
        let (m, mut report) = (selection(66, 2, 0.5), Vec::new());
        assert!(m.encode(&66, &mut rng(0), &mut report).is_err() && report.is_empty());
        let cells = &mut [0; 66];
        for message in [&[3][..], &[1, 0], &[7, 0], &[1, 4], &[3, 0, 0], &[]] {
            assert!(m.absorb(message, cells).is_err(), "{message:?}");
        }
        assert_eq!(cells.iter().sum::<u64>(), 0);
        assert!(m.absorb(&[1, 2], cells).is_ok() && cells[0] == 1 && cells[65] == 1);
    }

    #[test]
    #[should_panic(expected = "tail")]
    fn a_set_that_prefers_some_company_is_noticed() {
        let honest = selection(4, 2, 0.75);
        let planted = Planted::sampler(&honest, |_, report| {
            report[0] = if report[0] == 0b1001 { 0b1100 } else { report[0] };
        });
        assert_sampled(&planted, &3);
    }

    #[test]
    #[should_panic(expected = "under")]
    fn a_claim_that_forgets_the_sizes_is_noticed() {
        let m = selection(4, 1, 0.75);
        assert_local(&m, &INPUTS, Epsilon::new(3_f64.ln()).unwrap());
    }

    #[test]
    #[should_panic(expected = "for 0")]
    fn an_estimate_with_another_rate_is_noticed() {
        // q = s/k instead of (s − i)/(k − 1), for two users: 2·(1/4 − 1/12)/(3/4 − 1/12) too low.
        let planted = selection(4, 1, 0.75);
        assert_inverse(&Planted::analyzer(&planted, |e| e.value -= 0.5), &3, &[0.0, 0.0, 0.0, 1.0]);
    }
}
