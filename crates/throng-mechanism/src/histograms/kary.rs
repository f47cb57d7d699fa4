//! `kary-response`: one of k categories, replaced by a uniform one now and then (Warner 1965 for
//! two; Kairouz, Bonawitz, Ramage, "Discrete Distribution Estimation under Local Privacy", 2016).
//!
//! ```text
//! client     y = x, but with probability γ uniform among all k
//! analyzer   n̂_v = (c_v − nγ/k)/(1 − γ)      c_v reports are v
//! local      ε₀ = ln(1 + k(1−γ)/γ)           P[y = x] = 1 − γ + γ/k, P[y = v] = γ/k otherwise
//! ```
//!
//! How wrong n̂_v is depends on n_v: the variance of c_v is that of two binomials (`rates`).

use crate::histograms::rates::Rates;
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, Parameters, Protocol, Question, Scene,
    Score, Setting, Tally, Trace, Value, fits, require, sample, third, within_floor,
};
use rand_core::CryptoRng;
use throng_account::profile::{BitSum, Blanket};
use throng_account::{Crowd, Epsilon, Probability, Profile, Threshold, calibrate, round};

/// One message: a category, from 0 to k − 1.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_mechanism::{Claims, KaryResponse, Protocol};
///
/// // The truth with chance ½, each of the other three with ⅙: at most three times as likely.
/// let response = KaryResponse::local(4, Epsilon::new(3_f64.ln())?)?;
/// let law = response.law(&2);
/// assert!((law[&vec![2]] - 0.5).abs() < 1e-8);
/// assert!((law[&vec![0]] - 1.0 / 6.0).abs() < 1e-8);
///
/// // γ = ⅔, so a liar weighs as much as 1/(1 − γ) = 3 honest users.
/// assert!((response.influence() - 3.0).abs() < 1e-8);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KaryResponse {
    categories: u32,
    replace: Threshold,
    /// The local ε₀ of the coin, `ln(1 + k(1−γ)/γ)`, rounded up.
    epsilon: Epsilon,
}

impl KaryResponse {
    /// The mechanism with this coin, which replaces the value by a uniform one.
    pub fn new(categories: u32, replace: Threshold) -> Result<Self, Error> {
        let known = (2..=MAX_CATEGORIES).contains(&categories);
        require(known, "categories", "from 2 to 1000000000")?;
        let (k, gamma) = (f64::from(categories), replace.probability());
        let epsilon = Epsilon::new(round::up((k * (1.0 - gamma) / gamma).ln_1p()))?;
        Ok(Self { categories, replace, epsilon })
    }

    /// The least replacement that keeps a local ε₀: `γ ≥ k/(e^ε₀ + k − 1)`.
    pub fn local(categories: u32, epsilon: Epsilon) -> Result<Self, Error> {
        let k = f64::from(categories);
        // Close to 1 the coin has few digits for ε₀: the quotient is rounded up as well.
        let gamma = k / (round::within(epsilon.get()).exp_m1() + k);
        let gamma = round::up_by(gamma, 2.0 * f64::EPSILON);
        Self::new(categories, Threshold::at_least(Probability::new("replace", gamma)?))
    }

    /// The number of categories.
    pub fn categories(&self) -> u32 {
        self.categories
    }

    /// The coin.
    pub fn replace(&self) -> Threshold {
        self.replace
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "k-ary response with a known local epsilon, shuffled: by its blanket",
        example: "--n 1e4 --epsilon0 2 --k 10 --delta 1e-6",
        settings: &[Setting::SizeOrTwo("Categories"), Setting::Local(&["categories", "replace"])],
        profile: |settings, crowd| {
            let local = settings.local()?;
            // Two categories have an exact account of their own.
            if settings.size == 2 {
                return Ok(Box::new(BitSum::from_local(crowd, local)?));
            }
            Ok(Box::new(Blanket::kary_response(crowd, local, settings.size)?))
        },
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.small("categories")?, given.noise("replace")?)
    }

    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let size = ask.question.size()?;
        let found = calibrate::kary_response(ask.crowd, size.into(), ask.epsilon, ask.delta)?;
        Self::new(size, found.coin)
    }

    pub(crate) fn rates(&self) -> Rates {
        let (k, gamma) = (f64::from(self.categories), self.replace.probability());
        let (gap, other) = (1.0 - gamma, gamma / k);
        Rates { held: gap + other, other, gap }
    }
}

impl Protocol for KaryResponse {
    type Input = u32;

    #[inline]
    fn encode(&self, input: &u32, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        fits(*input < self.categories, "one of the categories, counted from 0")?;
        let value = u64::from(*input);
        let replaced = u64::from(sample::coin(self.replace, rng)).wrapping_neg();
        let uniform = sample::below(u64::from(self.categories), rng);
        report.push(value ^ (replaced & (value ^ uniform)));
        Ok(())
    }

    fn law(&self, input: &u32) -> Law {
        let Rates { held, other, .. } = self.rates();
        (0..self.categories)
            .map(|v| (vec![u64::from(v)], if v == *input { held } else { other }))
            .collect()
    }

    fn cells(&self) -> usize {
        self.categories as usize
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let n = tally.n() as u64;
        self.rates().estimates(tally.cells().iter().map(|&c| (c, n)), confidence)
    }
}

impl Claims for KaryResponse {
    fn question(&self) -> Question {
        Question::Category { size: self.categories }
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Ok(Box::new(Blanket::kary_response(crowd, self.epsilon, self.categories.into())?))
    }

    fn local_floor(&self) -> Option<Epsilon> {
        Some(self.epsilon)
    }

    /// Variance is linear in the number of holders, so its mean is that of the mean cell.
    fn standard_error(&self, reports: f64) -> f64 {
        self.rates().standard_error(reports / f64::from(self.categories), reports)
    }

    fn heavy_error(&self, reports: f64) -> f64 {
        self.rates().standard_error(0.1 * reports, reports)
    }

    fn influence(&self) -> f64 {
        1.0 / self.rates().gap
    }

    fn parameters(&self) -> Parameters {
        vec![("categories", vec![self.categories.into()]), ("replace", vec![self.replace.get()])]
    }

    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        Some(Self::local(self.categories, within_floor(floor)?).ok()?.parameters())
    }

    /// The log-likelihood ratio of categories 0 and 1 when everyone else holds a third.
    fn score(&self, _: &Scene) -> Result<Option<Score>, Error> {
        let (odds, third) = (self.epsilon.get().exp(), third(self.categories) as usize);
        Ok(Some(Box::new(move |tally: &Tally| {
            let cell = |v: usize| tally.cells()[v] as f64;
            let n = tally.reports() as f64;
            let rest = |v: usize| {
                let others = n - cell(v) - cell(third);
                cell(v) * odds + cell(third) / odds + others
            };
            (rest(1) / rest(0)).ln()
        })))
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let chance = self.rates().other * f64::from(self.categories - 1);
        Some(Trace::other_than(value.category().ok()?.into(), chance))
    }
}

/// The most categories that the accountant takes.
pub(crate) const MAX_CATEGORIES: u32 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Planted;
    use crate::testing::{
        OneByOne, assert_inverse, assert_local, assert_sampled, assert_view, rng,
    };
    use throng_account::profile::Blanket;
    use throng_account::{Crowd, Delta, Profile, calibrate};

    fn response(categories: u32, replace: f64) -> KaryResponse {
        let replace = Probability::new("replace", replace).unwrap();
        KaryResponse::new(categories, Threshold::at_least(replace)).unwrap()
    }

    fn grid() -> impl Iterator<Item = KaryResponse> {
        [2, 3, 4].into_iter().flat_map(|k| [0.01, 0.5, 0.9].map(|gamma| response(k, gamma)))
    }

    const INPUTS: [&u32; 4] = [&0, &1, &2, &3];

    #[test]
    fn the_claim_bounds_every_likelihood_ratio() {
        for m in grid() {
            let inputs = &INPUTS[..m.cells()];
            assert_local(&m, inputs, m.epsilon);
            // The accountant's lower bound is that of ε₀ itself, not of ε₀ rounded up.
            let local = Epsilon::new(m.epsilon.get() / (1.0 + 1e-9)).unwrap();
            let crowd = Crowd::new(4).unwrap();
            let blanket = Blanket::kary_response(crowd, local, m.categories.into()).unwrap();
            assert_view(&m, inputs, 4, &blanket);
        }
    }

    #[test]
    fn the_coin_keeps_the_epsilon_asked_for_and_no_less() {
        for k in [2, 3, 10, 1000, MAX_CATEGORIES] {
            for epsilon in [1e-3, 0.1, 1.0, 4.0, 15.0] {
                let local = KaryResponse::local(k, Epsilon::new(epsilon).unwrap()).unwrap();
                let found = local.epsilon.get();
                // The coin has 53 digits, of which many categories take some.
                let least = epsilon * (1.0 - 1e-8) - 4.0 * f64::from(k) * f64::EPSILON;
                assert!(found <= epsilon && found > least, "{k}: {found} for {epsilon}");
            }
        }
    }

    #[test]
    fn the_claim_is_the_one_the_calibration_accounts_for() {
        let (crowd, delta) = (Crowd::new(10_000).unwrap(), Delta::new(1e-6).unwrap());
        let epsilon = Epsilon::new(0.5).unwrap();
        let calibrated = calibrate::kary_response(crowd, 10, epsilon, delta).unwrap();
        let local = KaryResponse::new(10, calibrated.coin).unwrap().epsilon.get();
        let accounted = calibrated.mechanism.pure().unwrap().get();
        assert!((local / accounted - 1.0).abs() < 1e-15, "{local} {accounted}");
    }

    /// Tests 27 laws at 1e-9 each.
    #[test]
    fn the_sampler_follows_the_law() {
        for m in grid() {
            for input in 0..m.categories {
                assert_sampled(&m, &input);
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
    fn a_lie_moves_an_estimate_by_the_influence() {
        let m = response(4, 0.5);
        let count = |messages: &[u64]| {
            let mut tally = Tally::new(&m);
            tally.absorb(&m, messages);
            m.estimate(&tally, crate::testing::confidence())[1].value
        };
        assert!((count(&[1, 1, 3]) - count(&[1, 2, 3]) - m.influence()).abs() < 1e-12);
        assert_eq!(m.influence(), 2.0);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(KaryResponse::new(1, response(2, 0.5).replace).is_err());
        assert!(KaryResponse::local(4, Epsilon::ZERO).is_err());
        let (m, mut report) = (response(3, 0.5), Vec::new());
        assert!(m.encode(&3, &mut rng(0), &mut report).is_err() && report.is_empty());
        let cells = &mut [0; 3];
        for message in [&[3][..], &[u64::MAX], &[], &[0, 1]] {
            assert!(m.absorb(message, cells).is_err());
        }
        assert_eq!(*cells, [0; 3]);
        // What is counted beside them is counted all the same.
        assert_eq!(m.absorb_batch(&[2, 3, 0, u64::MAX, 1 << 32, 2], cells), 3);
        assert_eq!(*cells, [1, 0, 2]);
    }

    // The shape of a classic: the uniform draw misses the last category.
    #[test]
    #[should_panic(expected = "tail")]
    fn a_draw_that_misses_a_category_is_noticed() {
        let honest = response(3, 0.5);
        let planted = Planted::sampler(&honest, |input, report| {
            report[0] = if *input != 2 && report[0] == 2 { 0 } else { report[0] };
        });
        assert_sampled(&planted, &0);
    }

    #[test]
    #[should_panic(expected = "under")]
    fn a_claim_without_the_factor_k_is_noticed() {
        let m = response(3, 0.5);
        let gamma = m.replace.probability();
        let claim = Epsilon::new(((1.0 - gamma) / gamma).ln_1p()).unwrap();
        assert_local(&m, &INPUTS[..3], claim);
    }

    #[test]
    #[should_panic(expected = "for 0")]
    fn an_estimate_that_subtracts_gamma_for_gamma_over_k_is_noticed() {
        // Two users, γ = ½, k = 2: n·γ/2 too much is subtracted, and divided by 1 − γ.
        assert_inverse(&Planted::analyzer(&response(2, 0.5), |e| e.value -= 1.0), &1, &[0.0, 1.0]);
    }
}
