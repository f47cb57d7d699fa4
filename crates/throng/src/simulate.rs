//! `throng simulate`: error against truth, many times over.

use crate::args::Simulate;
use crate::calibrate::counting_on;
use crate::collection::read_terms;
use crate::parallel::{generator, seed, spread};
use crate::progress::Progress;
use crate::report::{Printable, Report, digits};
use crate::values::{Column, synthetic};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;
use throng_account::Probability;
use throng_account::show::Near;
use throng_chart::{Axis, Chart, Scale, Series, Stroke};
use throng_mechanism::{
    Control, DecodeOptions, Estimate, Kind, Mechanism, Question, Tally, Values, norm_sub, simulate,
};

/// Runs the simulation and compares.
pub fn run(mut request: Simulate) -> Result<Report> {
    ensure!(request.repeat > 0, "--repeat must be 1 or more");
    let seed = seed(request.seed)?;
    let confidence = Probability::new("confidence", request.confidence)?;
    let working = Progress::busy("reading and calibrating");
    let (mechanism, column) = prepare(&mut request, seed)?;
    drop(working);
    let n = column.values.len() as u64;
    let started = Instant::now();
    let tallies = tallies(&mechanism, &column.values, request.repeat, seed)?;
    let rate = (n * request.repeat) as f64 / started.elapsed().as_secs_f64();
    let working = Progress::busy("estimating");
    let outcome = Outcome::new(mechanism, column, &tallies, confidence)?;
    drop(working);
    let report = Report::default()
        .line("mechanism", "mechanism", outcome.mechanism.key().name())
        .line("n", "reports", n)
        .line("repeat", "runs", request.repeat);
    // A collection has its own noise, whatever was asked for.
    let report = match request.collection {
        Some(_) => report,
        None => counting_on(report, request.wish.corrupt),
    };
    let mut report = outcome.errors(report, confidence).line("seed", "seed", seed).line(
        "reports_per_second",
        "reports per second",
        Near(rate),
    );
    report = outcome.remarks(report, &request)?;
    if request.norm_sub {
        report = outcome.post_processed(report)?;
    }
    report = outcome.first_run(outcome.winner(report, confidence));
    if let Some(file) = &request.plot {
        let chart = outcome.picture();
        fs::write(file, chart.svg()).with_context(|| format!("cannot write {}", file.display()))?;
        report = report.line("plot", "plot", file.display().to_string());
    }
    Ok(report)
}

/// The mechanism and everybody's values.
fn prepare(request: &mut Simulate, seed: u64) -> Result<(Mechanism, Column)> {
    let collection = request.collection.as_deref().map(read_terms).transpose()?;
    // The range of the file, unless another one is asked for.
    if let Some(terms) = &collection
        && (request.values.low, request.values.high) == (0.0, 1.0)
    {
        (request.values.low, request.values.high) = (terms.question.low, terms.question.high);
    }
    let key = collection.as_ref().map(|terms| terms.mechanism.key()).or(request.mechanism);
    let key = key.context("name a mechanism or give --collection")?;
    let column = match &request.values.values {
        Some(_) if request.wish.n.is_some() && request.values.weights.is_none() => {
            bail!("--n goes with --weights; without them every row of the file is one user");
        }
        Some(file) => Some(request.values.read(file, key.kind(), request.wish.n)?),
        None => None,
    };
    let read = column.as_ref().map(|column| column.values.len() as u64);
    let promised = collection.as_ref().map(|terms| terms.promise.crowd.get());
    let n = read.or(request.wish.n).or(promised).context("--n is needed: how many users?")?;
    let mut wish = request.wish.with(n);
    wish.limits.size = wish.limits.size.or_else(|| column.as_ref().and_then(Column::size));
    let mechanism = match collection {
        Some(terms) => terms.mechanism,
        None => wish.about(key)?.calibrate(key)?,
    };
    let made_up = || {
        let values = synthetic(mechanism.question(), n, &mut generator(seed, u64::MAX));
        Column { values, names: Vec::new() }
    };
    let column = column.unwrap_or_else(made_up);
    Ok((mechanism, column))
}

/// The tallies, one for each repetition.
fn tallies(mechanism: &Mechanism, values: &Values, repeat: u64, seed: u64) -> Result<Vec<Tally>> {
    let blocks = values.len().div_ceil(BLOCK).max(1) as u64;
    let parts = spread("simulating", repeat * blocks, seed, |unit, rng| {
        let first = (unit % blocks) as usize * BLOCK;
        let range = first..values.len().min(first + BLOCK);
        Ok(simulate(mechanism, values, range, rng)?)
    })?;
    let merged = |parts: &[Tally]| {
        let mut whole = mechanism.tally();
        for part in parts {
            whole.merge(part);
        }
        whole
    };
    Ok(parts.chunks(blocks as usize).map(merged).collect())
}

/// All runs beside the truth.
struct Outcome {
    mechanism: Mechanism,
    values: Values,
    /// The true values of the estimates.
    truth: Vec<f64>,
    /// Their names.
    names: Vec<String>,
    /// The estimates, run by run.
    runs: Vec<Vec<Estimate>>,
}

impl Outcome {
    fn new(
        mechanism: Mechanism,
        Column { values, names }: Column,
        tallies: &[Tally],
        confidence: Probability,
    ) -> Result<Self> {
        let (truth, names) = if let Values::Texts(texts) = &values {
            counted(texts)
        } else {
            let truth = mechanism.truth(&values);
            let name = |i| names.get(i).cloned().unwrap_or_else(|| format!("{}", i + 1));
            let names = (0..truth.len()).map(name).collect();
            (truth, names)
        };
        let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
        let level = Probability::new("level", 0.05)?;
        let options = DecodeOptions { control: Control::Discovery, level, confidence };
        // A string that is not found cannot be told from an absent one.
        let absent = Estimate::even(f64::NAN, f64::NAN, f64::NAN);
        let estimates = |tally| {
            let Some(found) = mechanism.decode(tally, &candidates, &options) else {
                return mechanism.estimate(tally, confidence);
            };
            let mut estimates = vec![absent; names.len()];
            // Those that are near enough to look at are not found.
            for text in found.iter().filter(|text| text.significant) {
                estimates[text.candidate] = text.estimate;
            }
            estimates
        };
        let runs = tallies.iter().map(estimates).collect();
        Ok(Self { mechanism, values, truth, names, runs })
    }

    /// Adds what a reader has to know about the numbers of some mechanisms.
    fn remarks(&self, report: Report, request: &Simulate) -> Result<Report> {
        Ok(match (self.mechanism.question(), &self.values) {
            (Question::Text { .. }, _) => {
                let found = self.runs.iter().flatten().filter(|e| is_found(e)).count();
                let mean = found as f64 / self.runs.len() as f64;
                report
                    .line("found", "strings found per run", Near(mean))
                    .line("strings", "of", self.truth.len())
                    .note(
                        "Error, bias and coverage are those of the strings found, at a false \
                         discovery rate of 5 %. A string is found when it comes out large, so \
                         that those found are too large on average: bias and error above the \
                         claim are to be expected. The intervals allow for it, and their coverage \
                         is the test.",
                    )
            }
            (Question::State { changes: followed, .. }, Values::Rows { bits, width }) => {
                let changes = |row: &[bool]| {
                    let first = usize::from(row[0]);
                    first + row.windows(2).filter(|pair| pair[0] != pair[1]).count()
                };
                let over = |row: &&[bool]| changes(row) > followed as usize;
                let many = bits.chunks(*width).filter(over).count();
                if many == 0 {
                    return Ok(report);
                }
                let label = "users with more changes than are followed";
                report.line("over_changes", label, many).note(format!(
                    "Changes of a user after number {followed} are not followed, so the estimates \
                     are biased; raise --changes."
                ))
            }
            (_, Values::Reals(numbers)) => {
                let (range, n) = (request.values.range()?, numbers.len() as u64);
                let exact = Estimate::even(self.truth[0], 0.0, 0.0);
                let (truth, mean) = (range.mean(&exact, n), range.mean(&self.runs[0][0], n));
                report
                    .line("mean_truth", "mean, truth", Near(truth.value))
                    .line("mean_estimate", "mean, first run", Near(mean.value))
                    .line("mean_half_width", "  (interval, to each side)", Near(mean.half_width()))
            }
            _ => report,
        })
    }

    /// The error after projecting every run onto possible counts. The raw estimates stay as they
    /// are.
    fn post_processed(&self, report: Report) -> Result<Report> {
        let sums_to_n = self.mechanism.kind() == Kind::Category;
        ensure!(sums_to_n, "--norm-sub is for histograms, where counts sum to n");
        let square = |run: &Vec<Estimate>| {
            let raw: Vec<f64> = run.iter().map(|estimate| estimate.value).collect();
            let projected = norm_sub(&raw, self.values.len() as f64);
            projected.iter().zip(&self.truth).map(|(p, t)| (p - t).powi(2)).sum::<f64>()
        };
        let squares: f64 = self.runs.iter().map(square).sum();
        let rmse = (squares / (self.runs.len() * self.truth.len()) as f64).sqrt();
        Ok(report.line("rmse_norm_sub", "after Norm-Sub (post-processing)", Near(rmse)))
    }

    /// Adds how often the commonest attribute is found, and how many stay in question, if an
    /// attribute is what is looked for.
    fn winner(&self, report: Report, confidence: Probability) -> Report {
        let winner = |run: &Vec<Estimate>| self.mechanism.winner(run, confidence);
        let found: Vec<_> = self.runs.iter().filter_map(winner).collect();
        let Some(first) = found.first() else { return report };
        let most = self.truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let commonest = |column: &usize| self.truth[*column] == most;
        let share = |hits: usize| Near(hits as f64 / found.len() as f64);
        let right = found.iter().filter(|w| commonest(&w.column)).count();
        let held = found.iter().filter(|w| w.contenders.iter().any(commonest)).count();
        let contenders: Vec<&str> = first.contenders.iter().map(|&c| &*self.names[c]).collect();
        report
            .line("winner_right", "commonest attribute picked", share(right))
            .line("winner_held", "commonest among the contenders", share(held))
            .say("first run picks", &self.names[first.column])
            .say("  not ruled out", contenders.join(", "))
    }

    /// Adds the error, bias and coverage of all runs together.
    fn errors(&self, report: Report, confidence: Probability) -> Report {
        // Cells of one run may move together, so only runs count as independent: the uncertainty is
        // that of a quotient of two sums over runs.
        let per_run = |f: &dyn Fn(&Estimate, f64) -> f64| -> (f64, f64) {
            let sums = |run: &Vec<Estimate>| {
                let found = run.iter().zip(&self.truth).filter(|(e, _)| is_found(e));
                found.fold((0.0, 0.0), |(sum, count), (e, t)| (sum + f(e, *t), count + 1.0))
            };
            let runs: Vec<(f64, f64)> = self.runs.iter().map(sums).collect();
            let all = runs.iter().map(|run| run.1).sum::<f64>().max(1.0);
            let mean = runs.iter().map(|run| run.0).sum::<f64>() / all;
            let square = |&(sum, count): &(f64, f64)| (sum - mean * count).powi(2);
            (mean, 1.96 * runs.iter().map(square).sum::<f64>().sqrt() / all)
        };
        let (square, square_uncertainty) = per_run(&|e, t| (e.value - t).powi(2));
        let rmse = square.sqrt();
        let uncertainty = square_uncertainty / (2.0 * rmse.max(f64::MIN_POSITIVE));
        let claimed = per_run(&|e, _| e.standard_error.powi(2)).0.sqrt();
        // Strings are compared where they are found, and are found where they come out large.
        let (predicted, label) = match self.mechanism.kind() {
            Kind::Text => (claimed, "claimed error, if none were picked"),
            Kind::Bit | Kind::Real | Kind::Category | Kind::Attributes | Kind::State => {
                (self.mechanism.standard_error(self.values.len() as f64), "predicted error")
            }
        };
        let (bias, bias_uncertainty) = per_run(&|e, t| e.value - t);
        let (coverage, coverage_uncertainty) = per_run(&|e, t| f64::from(u8::from(e.holds(t))));
        report
            .line("rmse", "measured error (root mean square)", Near(rmse))
            .line("rmse_uncertainty", "  (its uncertainty)", Near(uncertainty))
            .line("predicted_rmse", label, Near(predicted))
            .field("claimed_rmse", claimed)
            .line("bias", "bias", Near(bias))
            .line("bias_uncertainty", "  (its uncertainty)", Near(bias_uncertainty))
            .line("confidence", "confidence of the intervals", Near(confidence.get()))
            .line("coverage", "truth inside the interval", Near(coverage))
            .line("coverage_uncertainty", "  (its uncertainty)", Near(coverage_uncertainty))
    }

    /// Adds the first run, cell by cell; people see the largest first.
    fn first_run(&self, report: Report) -> Report {
        let cell = |i: usize| {
            let estimate = self.runs[0][i];
            let (low, high) = estimate.interval();
            let [value, error, interval] = if is_found(&estimate) {
                let shown = |x| digits(Near(x));
                let interval = format!("{} .. {}", shown(low), shown(high));
                [shown(estimate.value), shown(estimate.standard_error), interval]
            } else {
                ["not found", "", ""].map(String::from)
            };
            let error = Printable::new(estimate.standard_error, error);
            Report::default()
                .line("name", "first run", self.names[i].clone())
                .line("truth", "truth", Near(self.truth[i]))
                .line("estimate", "estimate", Printable::new(estimate.value, value))
                .line("standard_error", "standard error", error)
                .line("interval", "interval", Printable::new([low, high], interval))
        };
        let mut order: Vec<usize> = (0..self.truth.len()).collect();
        let listed: Vec<Report> = order.iter().take(LISTED).map(|&i| cell(i)).collect();
        order.sort_by(|&a, &b| self.truth[b].total_cmp(&self.truth[a]));
        let shown: Vec<Report> = order.iter().take(SHOWN).map(|&i| cell(i)).collect();
        report.field("first_run", listed).table(shown)
    }

    /// Estimates against the truth: of cells if there are several, otherwise run by run.
    fn picture(&self) -> Chart {
        let axis = |label: &str| Axis { label: label.into(), scale: Scale::Linear, range: None };
        let numbered = |values: Vec<f64>| -> Vec<(f64, f64)> {
            values.into_iter().enumerate().map(|(i, value)| (i as f64 + 1.0, value)).collect()
        };
        let (x, truth, estimates): (_, _, Vec<&Estimate>) = if let [truth] = self.truth[..] {
            let level = vec![(1.0, truth), (self.runs.len() as f64, truth)];
            ("run", level, self.runs.iter().map(|run| &run[0]).collect())
        } else {
            ("cell", numbered(self.truth.clone()), self.runs[0].iter().collect())
        };
        let line = |name: &str, stroke, value: fn(&Estimate) -> f64| {
            Series::new(name, stroke, numbered(estimates.iter().map(|e| value(e)).collect()))
        };
        let key = self.mechanism.key();
        Chart {
            title: format!("{key}: estimates with their intervals, and the truth"),
            x: axis(x),
            y: axis("count or sum"),
            series: vec![
                Series::new("truth", Stroke::Solid, truth),
                line("estimate", Stroke::Markers, |e| e.value),
                line("interval, lower end", Stroke::Dotted, |e| e.interval().0),
                line("interval, upper end", Stroke::Dotted, |e| e.interval().1),
            ],
        }
    }
}

/// How many hold each string, the commonest first.
fn counted(texts: &[String]) -> (Vec<f64>, Vec<String>) {
    let mut counts: BTreeMap<&String, f64> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_insert(0.0) += 1.0;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.total_cmp(&a.1));
    counts.into_iter().map(|(text, count)| (count, text.clone())).unzip()
}

/// True if a string stands out at all, and for every other estimate.
fn is_found(estimate: &Estimate) -> bool {
    !estimate.value.is_nan()
}

impl Column {
    /// Categories, attributes or periods that the values have.
    fn size(&self) -> Option<u64> {
        let sized = matches!(self.values, Values::Categories(_) | Values::Rows { .. });
        sized.then_some(self.names.len() as u64)
    }
}

/// Users that one unit of work encodes.
const BLOCK: usize = 1 << 17;
/// Cells told to programs.
const LISTED: usize = 10_000;
/// Cells shown to people.
const SHOWN: usize = 12;
