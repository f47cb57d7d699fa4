//! The counts that an analyzer would have, drawn from the law of the counters instead of report by
//! report.
//!
//! Binomial counts are drawn as rounded normal ones. That is close enough to look at.

use crate::Result;
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use rand_core::Rng;
use throng_account::Threshold;
use throng_collection::Terms;
use throng_mechanism::{Columns, Follower, Kind, Longitudinal, Mechanism, Rappor, Tally};

/// A population that reports again and again.
pub struct Population<'a> {
    terms: &'a Terms,
    rng: ChaCha12Rng,
    /// The beginning of the trend, and its whole length.
    trend: (f64, f64),
    /// Those who are followed over time, each with the period in which they begin to say yes.
    clients: Vec<(Follower, u64)>,
    /// The tally so far, where estimates are about all of it.
    so_far: Option<Tally>,
}

impl<'a> Population<'a> {
    pub fn new(terms: &'a Terms, seed: u64) -> Self {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let trend = (0.15 + 0.3 * uniform(&mut rng), 0.5 * uniform(&mut rng) - 0.15);
        Self { terms, rng, trend, clients: Vec::new(), so_far: None }
    }

    /// Draws the counts of the reports of an epoch.
    pub fn count(&mut self, epoch: u64, reports: u64) -> Result<Tally> {
        let mechanism = &self.terms.mechanism;
        let share = self.share(epoch);
        let rng = &mut self.rng;
        let messages = reports * mechanism.messages() as u64;
        let cells = match (mechanism.kind(), mechanism) {
            (Kind::Bit, Mechanism::BitSum(m)) => {
                let yes = (share * reports as f64) as u64;
                vec![flipped(yes, reports, m.flip(), rng)]
            }
            (Kind::Real, Mechanism::RealSum(m)) => {
                let ones = (share * messages as f64) as u64;
                vec![flipped(ones, messages, m.flip(), rng)]
            }
            (Kind::Category, Mechanism::Histogram(m)) => {
                columns(m.columns(), &zipf(m.columns().columns(), share), reports, rng)
            }
            (Kind::Category, Mechanism::KaryResponse(m)) => {
                let gamma = m.replace().probability();
                let replaced = gamma / f64::from(m.categories());
                let laws = zipf(m.categories(), share);
                let laws: Vec<f64> = laws.iter().map(|f| f * (1.0 - gamma) + replaced).collect();
                multinomial(reports, &laws, rng)
            }
            (Kind::Attributes, Mechanism::Selection(m)) => {
                let shares = zipf(m.columns().columns(), share);
                let shares: Vec<f64> = shares.iter().map(|each| 2.0 * each).collect();
                columns(m.columns(), &shares, reports, rng)
            }
            (Kind::Text, Mechanism::Rappor(m)) => {
                strings(m, &self.terms.question.labels, reports, rng)
            }
            (Kind::State, Mechanism::Longitudinal(m)) => return self.follow(m, epoch, reports),
            // The gallery asks each kind of question through the mechanisms above.
            (
                Kind::Bit
                | Kind::Real
                | Kind::Category
                | Kind::Attributes
                | Kind::Text
                | Kind::State,
                other,
            ) => return Err(format!("the gallery does not ask through {}", other.key()).into()),
        };
        let mut tally = mechanism.tally();
        tally.add_words(&[&[messages, 0], &cells[..]].concat())?;
        Ok(tally)
    }

    /// The share at an epoch, from a trend with a weekly swing.
    fn share(&self, epoch: u64) -> f64 {
        let ((begin, rise), t) = (self.trend, epoch as f64);
        let swing = 0.04 * (t * std::f64::consts::TAU / 7.0).sin();
        (begin + rise * (t / 365.0).min(1.5) + swing).clamp(0.02, 0.95)
    }

    /// Asks the real clients, period after period; half of all say yes in the end.
    fn follow(&mut self, m: &Longitudinal, epoch: u64, reports: u64) -> Result<Tally> {
        if self.clients.is_empty() {
            let rng = &mut self.rng;
            let begin = |rng: &mut ChaCha12Rng| rng.next_u64() % (2 * m.periods());
            self.clients = (0..reports).map(|_| (Follower::new(m, rng), begin(rng))).collect();
        }
        let mechanism = &self.terms.mechanism;
        let tally = self.so_far.get_or_insert_with(|| mechanism.tally());
        // Epochs that were dropped went by as well.
        while let Some(period) = self.clients.first().map(|(client, _)| client.period() + 1)
            && period <= epoch + 1
        {
            let mut bag = Vec::with_capacity(self.clients.len());
            for (client, begin) in &mut self.clients {
                let symbol = client.report(m, *begin <= period, &mut self.rng)?;
                bag.push(m.message(period, symbol));
            }
            if period == epoch + 1 {
                mechanism.absorb(tally, &bag);
            }
        }
        Ok(tally.clone())
    }
}

/// The number of messages of a party that were not counted, which is 0 most of the time.
pub fn lost(rng: &mut impl Rng) -> u64 {
    let random = rng.next_u64();
    if random.is_multiple_of(4) { (random >> 2) % 40 } else { 0 }
}

/// The number of ones after every bit was flipped with the probability of `flip`.
fn flipped(ones: u64, all: u64, flip: Threshold, rng: &mut impl Rng) -> u64 {
    let b = flip.probability();
    binomial(ones, 1.0 - b, rng) + binomial(all - ones.min(all), b, rng)
}

/// Draws the zeros and ones of every column.
fn columns(m: &Columns, shares: &[f64], reports: u64, rng: &mut impl Rng) -> Vec<u64> {
    let mut cells = Vec::new();
    for share in shares {
        let ones = flipped((share.min(1.0) * reports as f64) as u64, reports, m.flip(), rng);
        cells.extend([reports - ones, ones]);
    }
    cells
}

/// Draws the reports of every cohort, and how many of them show each bit.
fn strings(m: &Rappor, labels: &[String], reports: u64, rng: &mut impl Rng) -> Vec<u64> {
    let bloom = m.bloom();
    let [f, p, q] = m.coins().map(Threshold::probability);
    let half = 0.5 * f * (q - p);
    let shares = zipf(VISITED, 0.5);
    let each = reports / u64::from(bloom.cohorts());
    let mut cells = Vec::new();
    for cohort in 0..bloom.cohorts() {
        let last = cohort + 1 == bloom.cohorts();
        let users = if last { reports - each * u64::from(cohort) } else { each };
        let mut set = vec![0; bloom.bits() as usize];
        for (label, share) in labels.iter().zip(&shares) {
            let filter = bloom.filter(bloom.digest(label), cohort);
            for (bit, count) in set.iter_mut().enumerate() {
                *count += (filter[bit / 64] >> (bit % 64) & 1) * (share * users as f64) as u64;
            }
        }
        cells.push(users);
        cells.extend(set.into_iter().map(|set| {
            let set: u64 = set.min(users);
            binomial(set, q - half, rng) + binomial(users - set, p + half, rng)
        }));
    }
    cells
}

fn multinomial(n: u64, laws: &[f64], rng: &mut impl Rng) -> Vec<u64> {
    let (mut left, mut chance) = (n, laws.iter().sum::<f64>());
    let mut cells = Vec::with_capacity(laws.len());
    for (place, law) in laws.iter().enumerate() {
        let last = place + 1 == laws.len();
        let count = if last { left } else { binomial(left, (law / chance).min(1.0), rng) };
        cells.push(count);
        left -= count;
        chance -= law;
    }
    cells
}

/// Shares that fall off, the more so the larger `steep` is, and add up to 1.
fn zipf(cells: u32, steep: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=cells).map(|rank| f64::from(rank).powf(-0.6 - steep)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

fn binomial(n: u64, p: f64, rng: &mut impl Rng) -> u64 {
    let (mean, deviation) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    ((mean + deviation * normal(rng)).round().max(0.0) as u64).min(n)
}

/// An approximately normal number: the sum of twelve uniform ones has the variance 1.
fn normal(rng: &mut impl Rng) -> f64 {
    (0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0
}

fn uniform(rng: &mut impl Rng) -> f64 {
    f64::from(rng.next_u32()) / f64::from(u32::MAX)
}

/// The number of strings that anybody holds.
const VISITED: u32 = 8;
