//! The number of users that an error of α needs: Cheu et al., "Distributed Differential Privacy via
//! Shuffling" (2019), Table 1, with measured numbers in place of orders.
//!
//! A crowd is large enough when nine in ten runs end within α·n: of the sum for a mean, of the
//! worst of 100 counts for a histogram, and for a selection when the attribute picked among 100 is
//! held by at most α·n fewer users than the commonest.

use super::log_chart;
use crate::parallel::spread;
use anyhow::{Context, Result};
use chacha20::ChaCha12Rng;
use throng_account::{Crowd, Delta, Epsilon, Probability};
use throng_chart::{Chart, Series, Stroke};
use throng_mechanism::{
    Ask, BinaryResponse, CentralSelection, CentralSum, Key, Mechanism, Protocol, Question,
    SubsetSelection, Tally, UnarySum, Values, sample, simulate,
};

/// Users needed against α, for three problems in three models.
pub fn chart() -> Result<Chart> {
    let mut series = Vec::new();
    for (problem, model, how) in CASES {
        let mut points = Vec::new();
        for alpha in [0.2, 0.1, 0.05, 0.025] {
            let n = least_crowd(problem, model, alpha)?;
            eprintln!("{problem:?}, {model:?}, alpha = {alpha}: {n} users");
            points.push((alpha, n as f64));
        }
        let stroke = match model {
            Model::Central => Stroke::Dotted,
            Model::Shuffled => Stroke::Solid,
            Model::Local => Stroke::Dashed,
        };
        let name = format!("{problem:?}, {model:?}: {how}").to_lowercase();
        series.push(Series::new(name, stroke, points));
    }
    let title = "Users needed at ε = 1, δ = 10⁻⁶, measured (Cheu et al., Table 1)";
    Ok(log_chart(title, ("error α", "users, n"), series))
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Problem {
    Mean,
    Histogram,
    Selection,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Model {
    Central,
    Shuffled,
    Local,
}

/// Every problem in every model, and how it is solved there.
const CASES: [(Problem, Model, &str); 9] = [
    (Problem::Mean, Model::Central, "discrete Laplace"),
    (Problem::Mean, Model::Shuffled, "sliced-sum"),
    (Problem::Mean, Model::Local, "one-bit-mean"),
    (Problem::Histogram, Model::Central, "discrete Laplace"),
    (Problem::Histogram, Model::Shuffled, "additive-histogram"),
    (Problem::Histogram, Model::Local, "subset-selection"),
    (Problem::Selection, Model::Central, "exponential mechanism"),
    (Problem::Selection, Model::Shuffled, "selection"),
    (Problem::Selection, Model::Local, "response on a random attribute"),
];

/// The smallest crowd on a grid of 2^(1/4) that is large enough.
fn least_crowd(problem: Problem, model: Model, alpha: f64) -> Result<u64> {
    let crowd = |step: u32| 2_f64.powf(3.0 + 0.25 * f64::from(step)).round() as u64;
    let (mut small, mut large) = (0, 8);
    while !enough(problem, model, alpha, crowd(large))? {
        small = large;
        // Four times as many users: the last crowd tried is at most four times too large.
        large += 8;
        anyhow::ensure!(large <= 80, "no crowd of eight million is large enough");
    }
    while large - small > 1 {
        let middle = u32::midpoint(small, large);
        if enough(problem, model, alpha, crowd(middle))? {
            large = middle;
        } else {
            small = middle;
        }
    }
    Ok(crowd(large))
}

/// True if nine in ten runs end within α·n.
fn enough(problem: Problem, model: Model, alpha: f64, n: u64) -> Result<bool> {
    let Some(setting) = Setting::new(problem, model, alpha, n)? else { return Ok(false) };
    let limit = alpha * n as f64;
    let hits = spread("measuring", RUNS, n, |_, rng| {
        Ok(u64::from(setting.error(rng).context("a simulated run")? <= limit))
    })?;
    Ok(hits.iter().sum::<u64>() * 10 >= RUNS * 9)
}

/// A crowd with its values, ready to run.
struct Setting {
    problem: Problem,
    values: Values,
    truth: Vec<f64>,
    method: Method,
}

enum Method {
    Shuffled(Mechanism),
    Noise(CentralSum),
    Exponential(CentralSelection),
    Attribute(BinaryResponse),
}

impl Setting {
    /// A setting, or `None` if the mechanism cannot keep the promise in so small a crowd.
    fn new(problem: Problem, model: Model, alpha: f64, n: u64) -> Result<Option<Self>> {
        let epsilon = Epsilon::new(1.0)?;
        let users = n as usize;
        let (question, key, values, truth) = match problem {
            Problem::Mean => {
                let numbers: Vec<f64> =
                    (0..users).map(|i| f64::from(u8::from(i % 10 < 3))).collect();
                let truth = vec![numbers.iter().sum()];
                (Question::Real, Key::SlicedSum, Values::Reals(numbers), truth)
            }
            Problem::Histogram => {
                let categories = (0..n as u32).map(|i| i % CELLS).collect();
                let holders = |cell| (cell..users).step_by(CELLS as usize).len() as f64;
                let truth = (0..CELLS as usize).map(holders).collect();
                let question = Question::Category { size: CELLS };
                (question, Key::AdditiveHistogram, Values::Categories(categories), truth)
            }
            Problem::Selection => {
                let width = CELLS as usize;
                // The first attribute is ahead of the others, which three in ten hold, by 2α.
                let holders = |share: f64| (share * n as f64).round() as usize;
                let mut truth = vec![holders(0.3) as f64; width];
                truth[0] = holders(0.3 + 2.0 * alpha) as f64;
                let holds = |i: usize| ((i / width) as f64) < truth[i % width];
                let bits = (0..users * width).map(holds).collect();
                let question = Question::Attributes { count: CELLS };
                (question, Key::Selection, Values::Rows { bits, width }, truth)
            }
        };
        let ask =
            Ask::new(question, Crowd::new(n)?, epsilon, Delta::new(1e-6)?).with_max_messages(100);
        let method = match (model, problem) {
            (Model::Shuffled, _) => match ask.calibrate(key) {
                Ok(mechanism) => Method::Shuffled(mechanism),
                Err(_) => return Ok(None),
            },
            (Model::Central, Problem::Mean) => Method::Noise(CentralSum::new(epsilon, 1)?),
            (Model::Central, Problem::Histogram) => Method::Noise(CentralSum::new(epsilon, 2)?),
            (Model::Central, Problem::Selection) => {
                Method::Exponential(CentralSelection::new(epsilon)?)
            }
            (Model::Local, Problem::Mean) => {
                let flip = BinaryResponse::local(epsilon)?.flip();
                Method::Shuffled(Mechanism::OneBitMean(UnarySum::new(1, flip)?))
            }
            (Model::Local, Problem::Histogram) => Method::Shuffled(Mechanism::SubsetSelection(
                SubsetSelection::local(CELLS, epsilon)?,
            )),
            (Model::Local, Problem::Selection) => {
                Method::Attribute(BinaryResponse::local(epsilon)?)
            }
        };
        Ok(Some(Self { problem, values, truth, method }))
    }

    /// The error of one run.
    fn error(&self, rng: &mut ChaCha12Rng) -> Result<f64> {
        let confidence = Probability::new("confidence", 0.95)?;
        let estimates: Vec<f64> = match &self.method {
            Method::Exponential(mechanism) => {
                let counts: Vec<u64> = self.truth.iter().map(|&t| t as u64).collect();
                return Ok(self.regret(mechanism.select(&counts, rng)?));
            }
            Method::Noise(noise) => {
                self.truth.iter().map(|&t| noise.release(t as i64, confidence, rng).value).collect()
            }
            Method::Shuffled(mechanism) => {
                let tally = simulate(mechanism, &self.values, 0..self.values.len(), rng)?;
                mechanism.estimate(&tally, confidence).iter().map(|e| e.value).collect()
            }
            Method::Attribute(response) => self.one_each(*response, rng)?,
        };
        if self.problem == Problem::Selection {
            let best = (0..estimates.len()).max_by(|&a, &b| estimates[a].total_cmp(&estimates[b]));
            return Ok(self.regret(best.unwrap_or(0)));
        }
        let errors = estimates.iter().zip(&self.truth).map(|(e, t)| (e - t).abs());
        Ok(errors.fold(0.0, f64::max))
    }

    /// Users by which the picked attribute is behind the commonest.
    fn regret(&self, picked: usize) -> f64 {
        self.truth.iter().copied().fold(0.0, f64::max) - self.truth[picked]
    }

    /// Everyone answers for one attribute of their own choice.
    fn one_each(&self, response: BinaryResponse, rng: &mut ChaCha12Rng) -> Result<Vec<f64>> {
        let Values::Rows { bits, width } = &self.values else { return Ok(Vec::new()) };
        let mut tallies = vec![Tally::new(&response); *width];
        let mut report = Vec::new();
        for row in bits.chunks(*width) {
            let attribute = sample::below(*width as u64, rng) as usize;
            report.clear();
            response.encode(&row[attribute], rng, &mut report)?;
            tallies[attribute].absorb(&response, &report);
        }
        let confidence = Probability::new("confidence", 0.95)?;
        let share = |tally: &Tally| response.estimate(tally, confidence)[0].value * *width as f64;
        Ok(tallies.iter().map(share).collect())
    }
}

/// Runs per crowd, categories and attributes.
const RUNS: u64 = 200;
const CELLS: u32 = 100;
