//! `throng figures`: the figures of the papers with the true curves beside the printed ones.

mod errors;
mod sample_size;

use crate::report::Report;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use throng_account::profile::{BitSum, Shuffled, TwoMessageCount};
use throng_account::spend::{Composition, closed_form, shuffled_rounds};
use throng_account::tradeoff::{TradeOff, gaussian_beta, gaussian_delta, least_beta};
use throng_account::{Crowd, Delta, Epsilon, Probability, Profile, Theorem, calibrate, published};
use throng_chart::{Axis, Chart, Scale, Series, Stroke};

/// Draws every figure into `out`, one SVG and one CSV each, saying on standard error how far it is.
pub fn write(out: &Path) -> Result<Report> {
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut files = Vec::new();
    for (index, (name, draw)) in FIGURES.iter().enumerate() {
        eprintln!("[{}/{}] {name}", index + 1, FIGURES.len());
        files.extend(save(out, name, &draw()?)?);
    }
    Ok(Report::default()
        .say("figures", FIGURES.len().to_string())
        .say("in", out.display().to_string())
        .field("files", files))
}

/// Writes a chart as SVG and CSV, and returns the two files.
pub fn save(out: &Path, name: &str, chart: &Chart) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for (suffix, text) in [("svg", chart.svg()), ("csv", chart.csv())] {
        let path = out.join(format!("{name}.{suffix}"));
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path.display().to_string());
    }
    Ok(files)
}

type Draw = fn() -> Result<Chart>;

const FIGURES: [(&str, Draw); 22] = [
    ("bit-sum-trade-off", bit_sum_trade_off),
    ("bit-sum-profile", bit_sum_profile),
    ("real-sum-trade-off", real_sum_trade_off),
    ("real-sum-profile", real_sum_profile),
    ("coins-trade-off", coins_trade_off),
    ("coins-profile", coins_profile),
    ("amplification-0.5", || amplification(0.5)),
    ("amplification-1", || amplification(1.0)),
    ("amplification-2", || amplification(2.0)),
    ("amplification-4", || amplification(4.0)),
    ("count-error", count_error),
    ("composition", composition),
    ("count-mechanisms-0.1", || errors::count(0.1)),
    ("count-mechanisms-0.5", || errors::count(0.5)),
    ("count-mechanisms-1", || errors::count(1.0)),
    ("sum-mechanisms-0.1", || errors::sum(0.1)),
    ("sum-mechanisms-0.5", || errors::sum(0.5)),
    ("sum-mechanisms-1", || errors::sum(1.0)),
    ("histogram-mechanisms-0.1", || errors::histogram(0.1)),
    ("histogram-mechanisms-0.5", || errors::histogram(0.5)),
    ("histogram-mechanisms-1", || errors::histogram(1.0)),
    ("sample-size", sample_size::chart),
];

/// Chen and Long, Figure 1(a): n = 100, λ = 58.
fn bit_sum_trade_off() -> Result<Chart> {
    let crowd = Crowd::new(100)?;
    let curve = TradeOff::new(&BitSum::new(crowd, 58.0)?)?;
    let delta = published::bit_sum_least_delta(58.0)?;
    let epsilon = published::bit_sum_closed(crowd, 58.0, delta)?;
    Ok(trade_off_chart(
        "Telling one user's bit: bit-sum, n = 100, λ = 58 (Chen & Long, Figure 1a)",
        vec![
            series("exact, worst dataset", Stroke::Solid, alphas(), |a| curve.beta(a).ok()),
            series("Gaussian, exact μ* = 0.1114", Stroke::Dashed, alphas(), |a| {
                Some(gaussian_beta(curve.mu(), a))
            }),
            series(
                "Chen & Long Theorem 2 (not a bound in general)",
                Stroke::Dotted,
                alphas(),
                |a| published::chen_long_curve(100, 58.0, a).ok(),
            ),
            series("Cheu et al. Corollary 17, δ = 0.0635", Stroke::Dashed, alphas(), |a| {
                Some(least_beta(epsilon, delta.get(), a))
            }),
        ],
    ))
}

/// Chen and Long, Figure 1(b): the same as δ(ε).
fn bit_sum_profile() -> Result<Chart> {
    let crowd = Crowd::new(100)?;
    let protocol = BitSum::new(crowd, 58.0)?;
    let mu = TradeOff::new(&protocol)?.mu();
    let printed = TwoMessageCount::new(crowd, Probability::new("flip", protocol.flip())?);
    Ok(profile_chart(
        "Privacy profile: bit-sum, n = 100, λ = 58 (Chen & Long, Figure 1b)",
        vec![
            series("exact, worst dataset", Stroke::Solid, grid(0.0, 1.2, 121), |e| {
                delta_at(&protocol, e)
            }),
            series("Gaussian, exact μ* = 0.1114", Stroke::Dashed, grid(0.0, 1.2, 121), |e| {
                Some(gaussian_delta(mu, e))
            }),
            series("Chen & Long Theorem 2, as δ(ε)", Stroke::Dotted, grid(0.0, 1.2, 121), |e| {
                delta_at(&printed, e)
            }),
            closed_form_profile(|delta| published::bit_sum_closed(crowd, 58.0, delta).ok()),
        ],
    ))
}

/// Chen and Long, Figure 1(c): r = 10 bits per user in one bag.
fn real_sum_trade_off() -> Result<Chart> {
    let (bag, printed, mu) = ten_bits()?;
    let columns = Composition::new().and(&printed, 10);
    let lines = |delta: &dyn Fn(f64) -> Option<f64>, points: usize| -> Vec<(f64, f64)> {
        grid(0.0, 4.0, points).into_iter().filter_map(|e| Some((e, delta(e)?))).collect()
    };
    let exact = lines(&|e| delta_at(&bag, e), 161);
    let theirs = lines(&|e| composed_delta(&columns, e), 81);
    Ok(trade_off_chart(
        "Telling ten bits: real-sum, n = 100, λ = 58, r = 10 (Chen & Long, Figure 1c)",
        vec![
            series("exact, one bag", Stroke::Solid, alphas(), |a| envelope(&exact, a)),
            series("Gaussian, √10·μ* (valid, looser)", Stroke::Dashed, alphas(), |a| {
                Some(gaussian_beta(mu, a))
            }),
            series("Chen & Long Theorem 3, as printed", Stroke::Dotted, alphas(), |a| {
                envelope(&theirs, a)
            }),
        ],
    ))
}

/// Chen and Long, Figure 1(d): the same as δ(ε).
fn real_sum_profile() -> Result<Chart> {
    let (bag, printed, mu) = ten_bits()?;
    let one = BitSum::new(Crowd::new(100)?, 58.0)?;
    let (columns, theirs) =
        (Composition::new().and(&one, 10), Composition::new().and(&printed, 10));
    Ok(profile_chart(
        "Privacy profile: real-sum, n = 100, λ = 58, r = 10 (Chen & Long, Figure 1d)",
        vec![
            series("exact, one bag", Stroke::Solid, grid(0.0, 2.0, 81), |e| delta_at(&bag, e)),
            series("ten separate columns, composed", Stroke::Markers, grid(0.0, 2.0, 21), |e| {
                composed_delta(&columns, e)
            }),
            series("Gaussian, √10·μ*", Stroke::Dashed, grid(0.0, 2.0, 81), |e| {
                Some(gaussian_delta(mu, e))
            }),
            series("Chen & Long Theorem 3, as printed", Stroke::Dotted, grid(0.0, 2.0, 41), |e| {
                composed_delta(&theirs, e)
            }),
        ],
    ))
}

/// Chen and Long, Figure 2(a): a sum with 50 fair coins added.
fn coins_trade_off() -> Result<Chart> {
    let coins = fifty_coins()?;
    let lines: Vec<(f64, f64)> =
        grid(0.0, 8.0, 801).into_iter().filter_map(|e| Some((e, delta_at(&coins, e)?))).collect();
    // Claim 14 speaks of δ/2.
    let delta = published::coins_least_delta(50)?;
    let epsilon = published::coins_closed(50, delta)?;
    Ok(trade_off_chart(
        "A sum with 50 fair coins added (Chen & Long, Figure 2a)",
        vec![
            series("exact", Stroke::Solid, alphas(), |a| envelope(&lines, a)),
            series("Chen & Long Claim B.4, printed steps", Stroke::Dotted, alphas(), |a| {
                published::coins_curve(50, a).ok()
            }),
            series("Cheu et al. Claim 14, δ = 0.0077", Stroke::Dashed, alphas(), |a| {
                Some(least_beta(epsilon, 0.5 * delta.get(), a))
            }),
        ],
    ))
}

/// Chen and Long, Figure 2(b): the same as δ(ε).
fn coins_profile() -> Result<Chart> {
    let coins = fifty_coins()?;
    Ok(profile_chart(
        "A sum with 50 fair coins added, as δ(ε) (Chen & Long, Figure 2b)",
        vec![
            series("exact", Stroke::Solid, grid(0.0, 2.5, 126), |e| delta_at(&coins, e)),
            Series {
                name: "Cheu et al. Claim 14, where valid".into(),
                ..closed_form_profile(|delta| {
                    published::coins_closed(50, Delta::new(2.0 * delta.get()).ok()?).ok()
                })
            },
        ],
    ))
}

/// ε after shuffling against the crowd, every bound, at one ε₀.
fn amplification(local: f64) -> Result<Chart> {
    let delta = Delta::new(1e-6)?;
    let epsilon0 = Epsilon::new(local)?;
    let mut upper: Vec<Series> = Vec::new();
    let mut lower = Vec::new();
    for n in logarithmic(1e2, 1e8, 25) {
        let mechanism = Shuffled::new(Crowd::new(n as u64)?, epsilon0)?;
        for bound in mechanism.bounds(delta)? {
            let name = bound.theorem.name();
            // A bound that says no more than ε₀ is left to the line of ε₀ itself.
            let useful = |e: &Epsilon| *e < epsilon0 || bound.theorem == Theorem::Local;
            let y = bound.epsilon.ok().filter(useful).map_or(f64::NAN, Epsilon::get);
            match upper.iter_mut().find(|series| series.name == name) {
                Some(series) => series.points.push((n, y)),
                None => upper.push(Series::new(name, Stroke::Dashed, vec![(n, y)])),
            }
        }
        if let Some(witness) = mechanism.epsilon(delta)?.lower {
            lower.push((n, witness.epsilon.get()));
        }
    }
    upper.retain(|series| series.points.iter().any(|point| point.1.is_finite()));
    // Bounds are listed by size, which changes with n: fix an order for the legend.
    upper.sort_by(|a, b| last(a).total_cmp(&last(b)));
    if let Some(best) = upper.first_mut() {
        best.stroke = Stroke::Solid;
    }
    upper.insert(0, Series::new("lower bound", Stroke::Dotted, lower));
    Ok(Chart {
        title: format!("Amplification by shuffling, ε₀ = {local}, δ = 10⁻⁶"),
        x: axis("reports in the crowd, n", Scale::Log),
        y: axis("ε after shuffling", Scale::Log),
        series: upper,
    })
}

/// Standard error of a count at (1, 10⁻⁶) in the three models.
fn count_error() -> Result<Chart> {
    let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
    // Lemma 18 stops just short of ε = 1.
    let below = Epsilon::new(1.0 - 1e-9)?;
    let crowds = || logarithmic(100.0, 1e8, 25);
    let error = |crowd: Crowd, lambda: f64| Some(BitSum::new(crowd, lambda).ok()?.standard_error());
    Ok(Chart {
        title: "Counting ones at ε = 1, δ = 10⁻⁶: standard error of the count".into(),
        x: axis("users, n", Scale::Log),
        y: axis("standard error", Scale::Log),
        series: vec![
            series("local: randomized response", Stroke::Solid, crowds(), |n| {
                Some(published::response_error(Crowd::new(n as u64).ok()?, epsilon))
            }),
            series("shuffled: Cheu et al. Lemma 18", Stroke::Dashed, crowds(), |n| {
                let crowd = Crowd::new(n as u64).ok()?;
                error(crowd, published::bit_sum_lambda(crowd, below, delta).ok()?)
            }),
            series("shuffled: bit-sum, exact account", Stroke::Solid, crowds(), |n| {
                let crowd = Crowd::new(n as u64).ok()?;
                Some(calibrate::bit_sum(crowd, epsilon, delta).ok()?.mechanism.standard_error())
            }),
            series("shuffled: two-message-count, exact account", Stroke::Dashed, crowds(), |n| {
                let crowd = Crowd::new(n as u64).ok()?;
                let found = calibrate::two_message_count(crowd, epsilon, delta).ok()?;
                Some(found.mechanism.standard_error())
            }),
            series("central: geometric noise", Stroke::Solid, crowds(), |_| {
                Some(published::geometric_error(epsilon))
            }),
        ],
    })
}

/// ε of T rounds, n = 10⁵, ε₀ = 1.
fn composition() -> Result<Chart> {
    let (crowd, local, delta) = (Crowd::new(100_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
    let mechanism = Shuffled::new(crowd, local)?;
    let rounds = || logarithmic(1.0, 1e4, 17);
    let bands: Vec<(f64, throng_account::Guarantee)> = rounds()
        .into_iter()
        .map(|t| Ok((t, shuffled_rounds(crowd, local, t as u64, delta)?)))
        .collect::<Result<_>>()?;
    let each = |t: f64, share: f64| {
        Some(mechanism.epsilon(Delta::new(share * delta.get() / t).ok()?).ok()?.epsilon)
    };
    Ok(Chart {
        title: "T rounds together: n = 10⁵, ε₀ = 1, δ = 10⁻⁶ in all".into(),
        x: axis("rounds, T", Scale::Log),
        y: axis("ε of all rounds", Scale::Log),
        series: vec![
            Series::new(
                "lower bound (binary response)",
                Stroke::Dotted,
                bands
                    .iter()
                    .filter_map(|(t, g)| Some((*t, g.lower.as_ref()?.epsilon.get())))
                    .collect(),
            ),
            Series::new(
                "dominating pairs, composed numerically",
                Stroke::Solid,
                bands.iter().map(|(t, g)| (*t, g.epsilon.get())).collect(),
            ),
            series("advanced composition", Stroke::Dashed, rounds(), |t| {
                Some(closed_form::advanced(each(t, 0.5)?, t as u64, Delta::new(0.5e-6).ok()?))
            }),
            series("Erlingsson et al. Remark 1 (Rényi)", Stroke::Dashed, rounds(), |t| {
                Some(published::swap_renyi_rounds(crowd, local, t as u64, delta))
            }),
            series("basic composition", Stroke::Dashed, rounds(), |t| {
                Some(t * each(t, 1.0)?.get())
            }),
            series("without shuffling, T·ε₀", Stroke::Dashed, rounds(), Some),
        ],
    })
}

/// The bag of ten bits per user, the printed law of one bit, and the exact μ of ten.
fn ten_bits() -> Result<(BitSum, TwoMessageCount, f64)> {
    let crowd = Crowd::new(100)?;
    let one = BitSum::new(crowd, 58.0)?;
    let mu = TradeOff::new(&one)?.mu();
    let printed = TwoMessageCount::new(crowd, Probability::new("flip", one.flip())?);
    Ok((one.with_bits(10)?, printed, closed_form::gaussian(mu, 10)))
}

/// A sum with 50 fair coins is a two-message count with p = ½ among 50 users.
fn fifty_coins() -> Result<TwoMessageCount> {
    Ok(TwoMessageCount::new(Crowd::new(50)?, Probability::new("p", 0.5)?))
}

/// The trade-off function that a profile, sampled as (ε, δ), says at least.
fn envelope(lines: &[(f64, f64)], alpha: f64) -> Option<f64> {
    lines.iter().map(|&(e, d)| least_beta(e, d, alpha)).reduce(f64::max)
}

/// δ against ε of a closed form that is solved for ε, over the δ it is valid for.
fn closed_form_profile(epsilon: impl Fn(Delta) -> Option<f64>) -> Series {
    let points = logarithmic(1e-3, 0.4, 200)
        .into_iter()
        .filter_map(|d| Some((epsilon(Delta::new(d).ok()?)?, d)))
        .collect();
    Series::new("Cheu et al. Corollary 17, where valid", Stroke::Dashed, points)
}

fn trade_off_chart(title: &str, mut series: Vec<Series>) -> Chart {
    series.push(Series::new("perfect privacy", Stroke::Dotted, vec![(0.0, 1.0), (1.0, 0.0)]));
    let unit = |label: &str| Axis { range: Some((0.0, 1.0)), ..axis(label, Scale::Linear) };
    Chart { title: title.into(), x: unit("type I error α"), y: unit("type II error β"), series }
}

fn profile_chart(title: &str, series: Vec<Series>) -> Chart {
    let y = Axis { range: Some((1e-10, 1.0)), ..axis("δ", Scale::Log) };
    Chart { title: title.into(), x: axis("ε", Scale::Linear), y, series }
}

fn delta_at(profile: &dyn Profile, epsilon: f64) -> Option<f64> {
    Some(profile.delta(Epsilon::new(epsilon).ok()?).upper)
}

fn composed_delta(rounds: &Composition, epsilon: f64) -> Option<f64> {
    rounds.delta(Epsilon::new(epsilon).ok()?).ok()
}

fn series(name: &str, stroke: Stroke, xs: Vec<f64>, y: impl Fn(f64) -> Option<f64>) -> Series {
    let points = xs.into_iter().map(|x| (x, y(x).unwrap_or(f64::NAN))).collect();
    Series::new(name, stroke, points)
}

fn axis(label: &str, scale: Scale) -> Axis {
    Axis { label: label.into(), scale, range: None }
}

fn alphas() -> Vec<f64> {
    grid(0.0, 1.0, 201)
}

fn grid(from: f64, to: f64, points: usize) -> Vec<f64> {
    (0..points).map(|i| from + (to - from) * i as f64 / (points - 1) as f64).collect()
}

/// Whole numbers spread evenly over the decades where they are large, exact values otherwise.
fn logarithmic(from: f64, to: f64, points: usize) -> Vec<f64> {
    let spread = grid(from.ln(), to.ln(), points).into_iter().map(f64::exp);
    let mut all: Vec<f64> = spread.map(|x| if from >= 1.0 { x.round() } else { x }).collect();
    all.dedup();
    all
}

fn last(series: &Series) -> f64 {
    series.points.last().map_or(f64::INFINITY, |point| point.1)
}
