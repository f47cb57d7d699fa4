//! `throng simulate`: error against truth, many times over.

use crate::args::Simulate;
use crate::collection::read_terms;
use crate::parallel::{generator, seed, spread};
use crate::report::{Report, Rows, digits};
use crate::values::{Column, synthetic};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;
use throng_account::Probability;
use throng_account::show::Near;
use throng_chart::{Axis, Chart, Scale, Series, Stroke};
use throng_mechanism::{
    Control, DecodeOptions, Estimate, Kind, Mechanism, Question, Tally, Values, Winner, norm_sub,
    simulate,
};

/// Runs the simulation and compares.
pub fn run(mut request: Simulate) -> Result<Report> {
    if request.repeat == 0 {
        bail!("--repeat must be 1 or more");
    }
    let seed = seed(request.seed)?;
    let confidence = Probability::new("confidence", request.confidence)?;
    let (mechanism, column) = prepare(&mut request, seed)?;
    let n = column.values.len() as u64;
    let started = Instant::now();
    let tallies = tallies(&mechanism, &column.values, request.repeat, seed)?;
    let seconds = started.elapsed().as_secs_f64();
    let (truth, names) = truth(&mechanism, &column);
    let runs: Vec<Vec<Estimate>> = tallies
        .iter()
        .map(|tally| estimates(&mechanism, tally, &names, confidence))
        .collect::<Result<_>>()?;
    let found = Comparison::new(&truth, &runs);
    // Strings are compared where they are found, which says nothing about the others.
    let predicted = match mechanism.kind() {
        Kind::Text => found.claimed,
        Kind::Bit | Kind::Real | Kind::Category | Kind::Attributes | Kind::State => {
            mechanism.standard_error(n as f64)
        }
    };
    let mut report = Report::default()
        .line("mechanism", "mechanism", mechanism.key().name())
        .line("n", "reports", n)
        .line("repeat", "runs", request.repeat)
        .line("rmse", "measured error (root mean square)", Near(found.rmse))
        .line("rmse_uncertainty", "  (its uncertainty)", Near(found.uncertainty))
        .line("predicted_rmse", "predicted error", Near(predicted))
        .field("claimed_rmse", found.claimed)
        .line("bias", "bias", Near(found.bias))
        .line("bias_uncertainty", "  (its uncertainty)", Near(found.bias_uncertainty))
        .line("confidence", "confidence of the intervals", Near(request.confidence))
        .line("coverage", "truth inside the interval", Near(found.coverage))
        .field("seed", seed)
        .say("seed", seed.to_string())
        .line(
            "reports_per_second",
            "reports per second",
            Near((n * request.repeat) as f64 / seconds),
        );
    report = remarks(report, &request, &mechanism, &column.values, &truth, &runs)?;
    if request.norm_sub {
        report = post_processed(report, &mechanism, &truth, &runs, n)?;
    }
    let found: Vec<Winner> =
        runs.iter().filter_map(|run| mechanism.winner(run, confidence)).collect();
    if !found.is_empty() {
        report = winner(report, &found, &truth, &names);
    }
    let cells: Vec<serde_json::Value> = truth
        .iter()
        .zip(&runs[0])
        .zip(&names)
        .take(LISTED)
        .map(|((truth, estimate), name)| {
            let (low, high) = estimate.interval();
            serde_json::json!({"name": name, "truth": truth, "estimate": estimate.value,
                "standard_error": estimate.standard_error, "interval": [low, high]})
        })
        .collect();
    report = report.field("first_run", cells).table(first_run(&truth, &runs[0], &names));
    if let Some(file) = &request.plot {
        let chart = picture(&mechanism, &truth, &runs);
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
    let key = match (&collection, request.mechanism) {
        (Some(collection), _) => collection.mechanism.key(),
        (None, Some(key)) => key,
        (None, None) => bail!("name a mechanism or give --collection"),
    };
    let column = match &request.values.values {
        Some(_) if request.wish.n.is_some() && request.values.weights.is_none() => {
            bail!("--n goes with --weights; without them every row of the file is one user");
        }
        Some(file) => Some(request.values.read(file, key.kind(), request.wish.n)?),
        None => None,
    };
    let n = match (&column, &collection, request.wish.n) {
        (Some(column), ..) => column.values.len() as u64,
        (None, _, Some(n)) => n,
        (None, Some(collection), None) => collection.promise.crowd.get(),
        (None, None, None) => bail!("--n is needed: how many users?"),
    };
    let mut wish = request.wish.with(n);
    if wish.limits.size.is_none() {
        wish.limits.size = column.as_ref().and_then(Column::size);
    }
    let mechanism = match collection {
        Some(collection) => collection.mechanism,
        None => wish.about(key)?.calibrate(key)?,
    };
    let column = match column {
        Some(column) => column,
        None => synthetic(mechanism.question(), n, &mut generator(seed, u64::MAX)),
    };
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
    Ok(parts
        .chunks(blocks as usize)
        .map(|parts| {
            let mut whole = mechanism.tally();
            for part in parts {
                whole.merge(part);
            }
            whole
        })
        .collect())
}

/// The true values of the estimates, and their names.
fn truth(mechanism: &Mechanism, column: &Column) -> (Vec<f64>, Vec<String>) {
    if let Values::Texts(texts) = &column.values {
        let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
        for text in texts {
            *counts.entry(text).or_insert(0.0) += 1.0;
        }
        let mut counts: Vec<(&str, f64)> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.total_cmp(&a.1));
        return counts.into_iter().map(|(text, count)| (count, text.to_string())).unzip();
    }
    let truth = mechanism.truth(&column.values);
    let names = (0..truth.len())
        .map(|i| column.names.get(i).cloned().unwrap_or_else(|| format!("{}", i + 1)))
        .collect();
    (truth, names)
}

fn estimates(
    mechanism: &Mechanism,
    tally: &Tally,
    names: &[String],
    confidence: Probability,
) -> Result<Vec<Estimate>> {
    let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
    let level = Probability::new("level", 0.05)?;
    let options = DecodeOptions { control: Control::Discovery, level, confidence };
    // A string that is not found cannot be told from an absent one.
    let absent = Estimate { value: f64::NAN, standard_error: f64::NAN, half_width: f64::NAN };
    let mut estimates = vec![absent; names.len()];
    let Some(found) = mechanism.decode(tally, &candidates, &options) else {
        return Ok(mechanism.estimate(tally, confidence));
    };
    for decoded in found {
        estimates[decoded.candidate] = decoded.estimate;
    }
    Ok(estimates)
}

/// Adds what a reader has to know about the numbers of some mechanisms.
fn remarks(
    report: Report,
    request: &Simulate,
    mechanism: &Mechanism,
    values: &Values,
    truth: &[f64],
    runs: &[Vec<Estimate>],
) -> Result<Report> {
    Ok(match (mechanism.question(), values) {
        (Question::Text { .. }, _) => {
            let found: usize =
                runs.iter().map(|run| run.iter().filter(|e| is_found(e)).count()).sum();
            let mean = found as f64 / runs.len() as f64;
            report
                .line("found", "strings found per run", Near(mean))
                .line("strings", "of", truth.len())
                .note(
                    "Error, bias and coverage are those of the strings found, at a false discovery \
                     rate of 5 %. Strings that just pass are found when they come out large.",
                )
        }
        (Question::State { changes: followed, .. }, Values::Rows { bits, width }) => {
            let changes = |row: &[bool]| {
                let first = usize::from(row[0]);
                first + row.windows(2).filter(|pair| pair[0] != pair[1]).count()
            };
            let many = bits.chunks(*width).filter(|row| changes(row) > followed as usize).count();
            if many == 0 {
                return Ok(report);
            }
            let note = format!(
                "Changes of a user after number {followed} are not followed, so the estimates are \
                 biased; raise --changes."
            );
            report
                .line("over_changes", "users with more changes than are followed", many)
                .note(note)
        }
        (_, Values::Reals(numbers)) => {
            let n = numbers.len() as u64;
            let mean = request.values.range()?.mean(&runs[0][0], n);
            let exact = Estimate { value: truth[0], standard_error: 0.0, half_width: 0.0 };
            report
                .line(
                    "mean_truth",
                    "mean, truth",
                    Near(request.values.range()?.mean(&exact, n).value),
                )
                .line("mean_estimate", "mean, first run", Near(mean.value))
                .line("mean_half_width", "  (interval, to each side)", Near(mean.half_width))
        }
        _ => report,
    })
}

/// The error after projecting every run onto possible counts. The raw estimates stay as they are.
fn post_processed(
    report: Report,
    mechanism: &Mechanism,
    truth: &[f64],
    runs: &[Vec<Estimate>],
    n: u64,
) -> Result<Report> {
    if mechanism.kind() != Kind::Category {
        bail!("--norm-sub is for histograms, where counts sum to n");
    }
    let square: f64 = runs
        .iter()
        .map(|run| {
            let raw: Vec<f64> = run.iter().map(|estimate| estimate.value).collect();
            let projected = norm_sub(&raw, n as f64);
            projected.iter().zip(truth).map(|(p, t)| (p - t).powi(2)).sum::<f64>()
        })
        .sum();
    let rmse = (square / (runs.len() * truth.len()) as f64).sqrt();
    Ok(report.line("rmse_norm_sub", "after Norm-Sub (post-processing)", Near(rmse)))
}

/// Adds how often the commonest attribute is found, and how many stay in question.
fn winner(report: Report, found: &[Winner], truth: &[f64], names: &[String]) -> Report {
    let commonest = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let share = |hit: &dyn Fn(&Winner) -> bool| {
        found.iter().filter(|w| hit(w)).count() as f64 / found.len().max(1) as f64
    };
    let right = share(&|w| truth[w.column] == commonest);
    let held = share(&|w| w.contenders.iter().any(|&c| truth[c] == commonest));
    let mut report = report.line("winner_right", "commonest attribute picked", Near(right)).line(
        "winner_held",
        "commonest among the contenders",
        Near(held),
    );
    if let Some(first) = found.first() {
        let contenders: Vec<&str> = first.contenders.iter().map(|&c| names[c].as_str()).collect();
        report = report
            .say("first run picks", names[first.column].clone())
            .say("  not ruled out", contenders.join(", "));
    }
    report
}

/// The error, bias and coverage of all runs together.
struct Comparison {
    rmse: f64,
    uncertainty: f64,
    claimed: f64,
    bias: f64,
    bias_uncertainty: f64,
    coverage: f64,
}

impl Comparison {
    fn new(truth: &[f64], runs: &[Vec<Estimate>]) -> Self {
        // Cells of one run may move together, so only runs count as independent.
        let per_run = |f: &dyn Fn(&Estimate, f64) -> f64| -> (f64, f64) {
            let mean = |run: &Vec<Estimate>| {
                let found = run.iter().zip(truth).filter(|(e, _)| is_found(e));
                let (sum, count) =
                    found.fold((0.0, 0.0), |(sum, count), (e, t)| (sum + f(e, *t), count + 1.0));
                sum / f64::max(count, 1.0)
            };
            let means: Vec<f64> = runs.iter().map(mean).collect();
            let count = means.len() as f64;
            let centre = means.iter().sum::<f64>() / count;
            let spread = means.iter().map(|m| (m - centre).powi(2)).sum::<f64>() / count;
            (centre, 1.96 * (spread / count).sqrt())
        };
        let (square, square_uncertainty) = per_run(&|e, t| (e.value - t).powi(2));
        let (bias, bias_uncertainty) = per_run(&|e, t| e.value - t);
        let inside =
            |e: &Estimate, t: f64| f64::from(u8::from((e.value - t).abs() <= e.half_width));
        let rmse = square.sqrt();
        Self {
            rmse,
            uncertainty: square_uncertainty / (2.0 * rmse.max(f64::MIN_POSITIVE)),
            claimed: per_run(&|e, _| e.standard_error.powi(2)).0.sqrt(),
            bias,
            bias_uncertainty,
            coverage: per_run(&inside).0,
        }
    }
}

/// True if a string stands out at all, and for every other estimate.
fn is_found(estimate: &Estimate) -> bool {
    !estimate.value.is_nan()
}

/// The first run, cell by cell, the largest first.
fn first_run(truth: &[f64], run: &[Estimate], names: &[String]) -> Rows {
    let mut order: Vec<usize> = (0..truth.len()).collect();
    order.sort_by(|&a, &b| truth[b].total_cmp(&truth[a]));
    let row = |&i: &usize| {
        let (low, high) = run[i].interval();
        if !is_found(&run[i]) {
            return vec![names[i].clone(), digits(Near(truth[i])), "not found".into()];
        }
        vec![
            names[i].clone(),
            digits(Near(truth[i])),
            digits(Near(run[i].value)),
            digits(Near(run[i].standard_error)),
            format!("{} .. {}", digits(Near(low)), digits(Near(high))),
        ]
    };
    Rows {
        head: vec!["first run", "truth", "estimate", "standard error", "interval"],
        rows: order.iter().take(SHOWN).map(row).collect(),
    }
}

/// Estimates against the truth: of cells if there are several, otherwise run by run.
fn picture(mechanism: &Mechanism, truth: &[f64], runs: &[Vec<Estimate>]) -> Chart {
    let axis = |label: &str| Axis { label: label.into(), scale: Scale::Linear, range: None };
    let named = |name: &str, stroke, points| Series::new(name, stroke, points);
    let (x, estimates, line, low, high) = if truth.len() > 1 {
        let cell = |f: &dyn Fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
            runs[0].iter().enumerate().map(|(i, e)| (i as f64 + 1.0, f(e))).collect()
        };
        let line = truth.iter().enumerate().map(|(i, t)| (i as f64 + 1.0, *t)).collect();
        let (low, high) = (cell(&|e| e.interval().0), cell(&|e| e.interval().1));
        ("cell", cell(&|e| e.value), line, low, high)
    } else {
        let run = |f: &dyn Fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
            runs.iter().enumerate().map(|(i, run)| (i as f64 + 1.0, f(&run[0]))).collect()
        };
        let line = vec![(1.0, truth[0]), (runs.len() as f64, truth[0])];
        let (low, high) = (run(&|e| e.interval().0), run(&|e| e.interval().1));
        ("run", run(&|e| e.value), line, low, high)
    };
    Chart {
        title: format!("{}: estimates with their intervals, and the truth", mechanism.key()),
        x: axis(x),
        y: axis("count or sum"),
        series: vec![
            named("truth", Stroke::Solid, line),
            named("estimate", Stroke::Markers, estimates),
            named("interval, lower end", Stroke::Dotted, low),
            named("interval, upper end", Stroke::Dotted, high),
        ],
    }
}

impl Column {
    /// Categories, attributes or periods that the values have.
    fn size(&self) -> Option<u64> {
        match &self.values {
            Values::Categories(_) => Some(self.names.len() as u64),
            Values::Rows { width, .. } => Some(*width as u64),
            _ => None,
        }
    }
}

/// Users that one unit of work encodes.
const BLOCK: usize = 1 << 17;
/// Cells told to programs.
const LISTED: usize = 10_000;
/// Cells shown to people.
const SHOWN: usize = 12;
