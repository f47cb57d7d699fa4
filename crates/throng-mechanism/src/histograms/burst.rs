//! `burst-histogram`: [`BurstCount`](crate::BurstCount) for k categories, each with a '+' and a '−'
//! of its own.
//!
//! ```text
//! client     a '+' for its category
//!            at most one event, for a category drawn uniformly, in the K slots that the largest
//!            event needs, else nulls
//! analyzer   N_{v,+} − N_{v,−} − n·μ/k       standard error √(n·(m/k − (μ/k)²)), for every dataset
//! ```
//!
//! μ is the mean, m the mean square of '+' minus '−' in an event. The tests are in
//! `counts/burst.rs`, beside those of `burst-count`: they share their catalogues.

use crate::counts::burst::{Events, burst_parameters, long_enough, read_bursts, told_bursts};
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, Parameters, Protocol, Question, Scene,
    Score, Setting, Tally, Trace, Value, fits, require, sample, third,
};
use rand_core::CryptoRng;
use throng_account::profile::Bursts;
use throng_account::{Crowd, Delta, Probability, Profile, calibrate};

/// Symbols 2v for '−' and 2v + 1 for '+' of category v, 2k for null: the user's category, then the
/// slots.
///
/// ```
/// use throng_account::Probability;
/// use throng_account::profile::Bursts;
/// use throng_mechanism::{BurstHistogram, Protocol, Tally};
///
/// let bursts = Bursts::new(vec![1 << 62], vec![1 << 61], vec![1 << 61])?;
/// let histogram = BurstHistogram::new(3, bursts)?;
///
/// // Three users: a plus of category 0, one of category 2, and one of 0 with a pair of category 1.
/// let mut tally = Tally::new(&histogram);
/// tally.absorb(&histogram, &[1, 6, 6, 5, 6, 6, 1, 2, 3]);
/// let estimates = histogram.estimate(&tally, Probability::new("confidence", 0.95)?);
/// assert_eq!(estimates.iter().map(|e| e.value).collect::<Vec<_>>(), [2.0, 0.0, 1.0]);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BurstHistogram {
    categories: u32,
    events: Events,
}

impl BurstHistogram {
    /// The mechanism with at least two categories and this catalogue of events of one user.
    pub fn new(categories: u32, bursts: Bursts) -> Result<Self, Error> {
        require(categories >= 2, "categories", "2 or more")?;
        Ok(Self { categories, events: Events::new(bursts)? })
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "The true category and at most one burst of noise in a random cell",
        example: "--n 1e4 --size 4 --pairs 0.1,0.05 \\\n      \
                  --plus 4e-3,4e-3 --minus 4e-3,4e-3 --delta 1e-5",
        settings: &[Setting::Bursts, Setting::Size("Categories")],
        profile: |settings, crowd| {
            let (k, bursts) = (settings.size, told_bursts(settings)?);
            Ok(Box::new(throng_account::profile::BurstHistogram::new(crowd, k, bursts)?))
        },
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.small("categories")?, read_bursts(given)?)
    }

    /// The mechanism with as many slots as are allowed, up to the point where more gain little.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let (crowd, epsilon, delta) = (ask.crowd, ask.epsilon, ask.delta);
        let size = ask.question.size()?;
        let (k, slots) = (size.into(), ask.burst_slots(24.0, 48));
        let found = calibrate::burst_histogram(crowd, k, slots, ask.epochs, epsilon, delta)?;
        Self::new(size, found.bursts().clone())
    }

    /// Refuses short bursts at a small ε, which cost more than coins and gain nothing.
    pub(crate) fn worth(ask: &Ask) -> Result<(), Error> {
        long_enough(ask, 3.0)
    }

    /// The probability of each role.
    fn role(&self) -> f64 {
        1.0 / f64::from(self.categories)
    }

    fn null(&self) -> u64 {
        2 * u64::from(self.categories)
    }
}

impl Protocol for BurstHistogram {
    type Input = u32;

    fn messages(&self) -> usize {
        1 + self.events.slots
    }

    fn encode(&self, input: &u32, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        fits(*input < self.categories, "one of the categories")?;
        report.push(2 * u64::from(*input) + 1);
        let role = sample::below(self.categories.into(), rng);
        self.events.append(2 * role, self.null(), rng, report);
        Ok(())
    }

    fn law(&self, input: &u32) -> Law {
        let mut law = Law::new();
        for role in 0..u64::from(self.categories) {
            let given_role = self.events.law(2 * u64::from(*input) + 1, 2 * role, self.null());
            for (report, p) in given_role {
                *law.entry(report).or_insert(0.0) += p * self.role();
            }
        }
        law
    }

    /// '−' and '+' of each category, and nulls, so that counting takes no branch.
    fn cells(&self) -> usize {
        2 * self.categories as usize + 1
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let noise = self.events.noise(tally.n(), self.role());
        // Every category has the same noise, whose law is worked out once.
        let error = Estimate::of_noise(0.0, &noise, 1.0, confidence);
        let (counts, _) = tally.cells().as_chunks::<2>();
        let values = counts.iter().map(|[minus, plus]| *plus as f64 - *minus as f64 - noise.mean());
        values.map(|value| Estimate { value, ..error }).collect()
    }
}

impl Claims for BurstHistogram {
    fn question(&self) -> Question {
        Question::Category { size: self.categories }
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        let (k, bursts) = (self.categories.into(), self.events.bursts.clone());
        Ok(Box::new(throng_account::profile::BurstHistogram::new(crowd, k, bursts)?))
    }

    fn profile_near(&self, crowd: Crowd, delta: Delta) -> Result<Box<dyn Profile>, Error> {
        let (k, bursts) = (self.categories.into(), self.events.bursts.clone());
        Ok(Box::new(throng_account::profile::BurstHistogram::near(crowd, k, bursts, delta)?))
    }

    fn standard_error(&self, reports: f64) -> f64 {
        self.events.noise(reports, self.role()).deviation()
    }

    fn half_width(&self, reports: f64, confidence: Probability) -> f64 {
        self.events.noise(reports, self.role()).reach(confidence)
    }

    /// Each message is a plus or a minus of the category.
    fn influence(&self) -> f64 {
        2.0 * self.messages() as f64
    }

    fn parameters(&self) -> Parameters {
        let mut list = burst_parameters(&self.events.bursts);
        list.insert(0, ("categories", vec![self.categories.into()]));
        list
    }

    /// The likelihood ratio of the two cells with as many users as speak for a cell on average, of
    /// which the others fill the first where there is no third.
    fn score(&self, scene: &Scene) -> Result<Option<Score>, Error> {
        let each = Crowd::new((scene.crowd.get() / u64::from(self.categories)).max(1))?;
        let law = throng_account::profile::BurstCount::new(each, self.events.bursts.clone())?;
        let taken = if third(self.categories) == 0 { scene.others as i64 } else { 0 };
        Ok(Some(Box::new(move |tally: &Tally| {
            let count = |cell: usize| tally.cells()[cell] as i64;
            let ratio = |v: usize, taken: i64| {
                law.log_ratio(count(2 * v + 1) - taken, count(2 * v)).clamp(-60.0, 60.0)
            };
            ratio(1, 0) - ratio(0, taken)
        })))
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        value.category().ok()?;
        Some(self.events.trace(self.null()))
    }
}
