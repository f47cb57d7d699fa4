//! `throng figures`: the figures of the papers with the true curves beside the printed ones.

mod errors;
mod sample_size;

pub use errors::errors_against_crowd;

use crate::report::Report;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use throng_account::profile::{Amplification, BitSum, TwoMessageCount};
use throng_account::spend::{Composition, closed_form, shuffled_rounds};
use throng_account::tradeoff::{TradeOff, gaussian_beta, gaussian_delta, least_beta};
use throng_account::{Crowd, Delta, Epsilon, Probability, Profile, Theorem, calibrate, published};
use throng_chart::Stroke::{self, Dashed, Dotted, Markers, Solid};
use throng_chart::{Axis, Chart, Scale, Series};

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
        &[
            ("exact, worst dataset", Solid, &|a| curve.beta(a).ok()),
            ("Gaussian, exact μ* = 0.1114", Dashed, &|a| Some(gaussian_beta(curve.mu(), a))),
            ("Chen & Long Theorem 2 (not a bound in general)", Dotted, &|a| {
                published::chen_long_curve(100, 58.0, a).ok()
            }),
            ("Cheu et al. Corollary 17, δ = 0.0635", Dashed, &|a| {
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
    let mut series = curves(
        &grid(0.0, 1.2, 121),
        &[
            ("exact, worst dataset", Solid, &|e| delta_at(&protocol, e)),
            ("Gaussian, exact μ* = 0.1114", Dashed, &|e| Some(gaussian_delta(mu, e))),
            ("Chen & Long Theorem 2, as δ(ε)", Dotted, &|e| delta_at(&printed, e)),
        ],
    );
    series.push(closed_form_profile("Cheu et al. Corollary 17, where valid", |delta| {
        published::bit_sum_closed(crowd, 58.0, Delta::new(delta).ok()?).ok()
    }));
    let title = "Privacy profile: bit-sum, n = 100, λ = 58 (Chen & Long, Figure 1b)";
    Ok(profile_chart(title, series))
}

/// Chen and Long, Figure 1(c): r = 10 bits per user in one bag.
fn real_sum_trade_off() -> Result<Chart> {
    let (bag, printed, mu) = ten_bits()?;
    let columns = Composition::new().and(&printed, 10);
    let exact = sampled(&grid(0.0, 4.0, 161), |e| delta_at(&bag, e));
    let theirs = sampled(&grid(0.0, 4.0, 81), |e| composed_delta(&columns, e));
    Ok(trade_off_chart(
        "Telling ten bits: real-sum, n = 100, λ = 58, r = 10 (Chen & Long, Figure 1c)",
        &[
            ("exact, one bag", Solid, &|a| envelope(&exact, a)),
            ("Gaussian, √10·μ* (valid, looser)", Dashed, &|a| Some(gaussian_beta(mu, a))),
            ("Chen & Long Theorem 3, as printed", Dotted, &|a| envelope(&theirs, a)),
        ],
    ))
}

/// Chen and Long, Figure 1(d): the same as δ(ε).
fn real_sum_profile() -> Result<Chart> {
    let (bag, printed, mu) = ten_bits()?;
    let one = BitSum::new(Crowd::new(100)?, 58.0)?;
    let (columns, theirs) =
        (Composition::new().and(&one, 10), Composition::new().and(&printed, 10));
    let over = |points, curve: Curve<'_>| curves(&grid(0.0, 2.0, points), &[curve]);
    let series = [
        over(81, ("exact, one bag", Solid, &|e| delta_at(&bag, e))),
        over(21, ("ten separate columns, composed", Markers, &|e| composed_delta(&columns, e))),
        over(81, ("Gaussian, √10·μ*", Dashed, &|e| Some(gaussian_delta(mu, e)))),
        over(41, ("Chen & Long Theorem 3, as printed", Dotted, &|e| composed_delta(&theirs, e))),
    ];
    let title = "Privacy profile: real-sum, n = 100, λ = 58, r = 10 (Chen & Long, Figure 1d)";
    Ok(profile_chart(title, series.concat()))
}

/// Chen and Long, Figure 2(a): a sum with 50 fair coins added.
fn coins_trade_off() -> Result<Chart> {
    let coins = fifty_coins()?;
    let lines = sampled(&grid(0.0, 8.0, 801), |e| delta_at(&coins, e));
    // Claim 14 speaks of δ/2.
    let delta = published::coins_least_delta(50)?;
    let epsilon = published::coins_closed(50, delta)?;
    Ok(trade_off_chart(
        "A sum with 50 fair coins added (Chen & Long, Figure 2a)",
        &[
            ("exact", Solid, &|a| envelope(&lines, a)),
            ("Chen & Long Claim B.4, printed steps", Dotted, &|a| {
                published::coins_curve(50, a).ok()
            }),
            ("Cheu et al. Claim 14, δ = 0.0077", Dashed, &|a| {
                Some(least_beta(epsilon, 0.5 * delta.get(), a))
            }),
        ],
    ))
}

/// Chen and Long, Figure 2(b): the same as δ(ε).
fn coins_profile() -> Result<Chart> {
    let coins = fifty_coins()?;
    let mut series = curves(&grid(0.0, 2.5, 126), &[("exact", Solid, &|e| delta_at(&coins, e))]);
    series.push(closed_form_profile("Cheu et al. Claim 14, where valid", |delta| {
        published::coins_closed(50, Delta::new(2.0 * delta).ok()?).ok()
    }));
    let title = "A sum with 50 fair coins added, as δ(ε) (Chen & Long, Figure 2b)";
    Ok(profile_chart(title, series))
}

/// ε after shuffling against the crowd, every bound, at one ε₀.
fn amplification(local: f64) -> Result<Chart> {
    let delta = Delta::new(1e-6)?;
    let epsilon0 = Epsilon::new(local)?;
    let mut upper: Vec<Series> = Vec::new();
    let mut lower = Vec::new();
    for n in logarithmic(1e2, 1e8, 25) {
        let mechanism = Amplification::new(Crowd::new(n as u64)?, epsilon0)?;
        for bound in mechanism.bounds(delta)? {
            let name = bound.theorem.name();
            // A bound that says no more than ε₀ is left to the line of ε₀ itself.
            let useful = |e: &Epsilon| *e < epsilon0 || bound.theorem == Theorem::Local;
            let y = bound.epsilon.ok().filter(useful).map_or(f64::NAN, Epsilon::get);
            add_point(&mut upper, name, Dashed, (n, y));
        }
        if let Some(witness) = mechanism.epsilon(delta)?.lower {
            lower.push((n, witness.epsilon.get()));
        }
    }
    upper.retain(|series| series.points.iter().any(|point| point.1.is_finite()));
    // Bounds are listed by size, which changes with n: fix an order for the legend.
    let last = |series: &Series| series.points.last().map_or(f64::INFINITY, |point| point.1);
    upper.sort_by(|a, b| last(a).total_cmp(&last(b)));
    if let Some(best) = upper.first_mut() {
        best.stroke = Solid;
    }
    upper.insert(0, Series::new("lower bound", Dotted, lower));
    let title = format!("Amplification by shuffling, ε₀ = {local}, δ = 10⁻⁶");
    Ok(log_chart(title, ("reports in the crowd, n", "ε after shuffling"), upper))
}

/// Standard error of a count at (1, 10⁻⁶) in the three models.
fn count_error() -> Result<Chart> {
    let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
    // Lemma 18 stops just short of ε = 1.
    let below = Epsilon::new(1.0 - 1e-9)?;
    let crowd = |n: f64| Crowd::new(n as u64).ok();
    Ok(log_chart(
        "Counting ones at ε = 1, δ = 10⁻⁶: standard error of the count",
        ("users, n", "standard error"),
        curves(
            &logarithmic(100.0, 1e8, 25),
            &[
                ("local: randomized response", Solid, &|n| {
                    Some(published::response_error(crowd(n)?, epsilon))
                }),
                ("shuffled: Cheu et al. Lemma 18", Dashed, &|n| {
                    let lambda = published::bit_sum_lambda(crowd(n)?, below, delta).ok()?;
                    Some(BitSum::new(crowd(n)?, lambda).ok()?.standard_error())
                }),
                ("shuffled: bit-sum, exact account", Solid, &|n| {
                    let found = calibrate::bit_sum(crowd(n)?, epsilon, delta).ok()?;
                    Some(found.mechanism.standard_error())
                }),
                ("shuffled: two-message-count, exact account", Dashed, &|n| {
                    let found = calibrate::two_message_count(crowd(n)?, epsilon, delta).ok()?;
                    Some(found.mechanism.standard_error())
                }),
                ("central: geometric noise", Solid, &|_| Some(published::geometric_error(epsilon))),
            ],
        ),
    ))
}

/// ε of T rounds, n = 10⁵, ε₀ = 1.
fn composition() -> Result<Chart> {
    let (crowd, local, delta) = (Crowd::new(100_000)?, Epsilon::new(1.0)?, Delta::new(1e-6)?);
    let mechanism = Amplification::new(crowd, local)?;
    let rounds = logarithmic(1.0, 1e4, 17);
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for &t in &rounds {
        let found = shuffled_rounds(crowd, local, t as u64, delta)?;
        lower.extend(found.lower.map(|witness| (t, witness.epsilon.get())));
        upper.push((t, found.epsilon.get()));
    }
    let each = |t: f64, share: f64| {
        Some(mechanism.epsilon(Delta::new(share * delta.get() / t).ok()?).ok()?.epsilon)
    };
    let mut series = vec![
        Series::new("lower bound (binary response)", Dotted, lower),
        Series::new("dominating pairs, composed numerically", Solid, upper),
    ];
    series.extend(curves(
        &rounds,
        &[
            ("advanced composition", Dashed, &|t| {
                Some(closed_form::advanced(each(t, 0.5)?, t as u64, Delta::new(0.5e-6).ok()?))
            }),
            ("Erlingsson et al. Remark 1 (Rényi)", Dashed, &|t| {
                Some(published::swap_renyi(crowd, local, t as u64, delta))
            }),
            ("basic composition", Dashed, &|t| Some(t * each(t, 1.0)?.get())),
            ("without shuffling, T·ε₀", Dashed, &Some),
        ],
    ));
    let title = "T rounds together: n = 10⁵, ε₀ = 1, δ = 10⁻⁶ in all";
    Ok(log_chart(title, ("rounds, T", "ε of all rounds"), series))
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
fn closed_form_profile(name: &str, epsilon: impl Fn(f64) -> Option<f64>) -> Series {
    let points = logarithmic(1e-3, 0.4, 200).into_iter();
    Series::new(name, Dashed, points.filter_map(|d| Some((epsilon(d)?, d))).collect())
}

fn trade_off_chart(title: &str, all: &[Curve<'_>]) -> Chart {
    let mut series = curves(&grid(0.0, 1.0, 201), all);
    series.push(Series::new("perfect privacy", Dotted, vec![(0.0, 1.0), (1.0, 0.0)]));
    let unit = |label: &str| Axis { range: Some((0.0, 1.0)), ..axis(label, Scale::Linear) };
    Chart { title: title.into(), x: unit("type I error α"), y: unit("type II error β"), series }
}

fn profile_chart(title: &str, series: Vec<Series>) -> Chart {
    let y = Axis { range: Some((1e-10, 1.0)), ..axis("δ", Scale::Log) };
    Chart { title: title.into(), x: axis("ε", Scale::Linear), y, series }
}

/// A chart with two logarithmic axes.
pub fn log_chart(title: impl Into<String>, (x, y): (&str, &str), series: Vec<Series>) -> Chart {
    Chart { title: title.into(), x: axis(x, Scale::Log), y: axis(y, Scale::Log), series }
}

fn delta_at(profile: &dyn Profile, epsilon: f64) -> Option<f64> {
    Some(profile.delta(Epsilon::new(epsilon).ok()?).upper)
}

fn composed_delta(rounds: &Composition, epsilon: f64) -> Option<f64> {
    rounds.delta(Epsilon::new(epsilon).ok()?).ok()
}

/// A function by its name in the legend, `None` where it has no value.
type Curve<'a> = (&'a str, Stroke, &'a dyn Fn(f64) -> Option<f64>);

fn curves(xs: &[f64], all: &[Curve<'_>]) -> Vec<Series> {
    let series = |(name, stroke, y): &Curve<'_>| {
        let points = xs.iter().map(|&x| (x, y(x).unwrap_or(f64::NAN))).collect();
        Series::new(*name, *stroke, points)
    };
    all.iter().map(series).collect()
}

/// The points of a function where it has a value.
fn sampled(xs: &[f64], y: impl Fn(f64) -> Option<f64>) -> Vec<(f64, f64)> {
    xs.iter().filter_map(|&x| Some((x, y(x)?))).collect()
}

/// Adds a point to the series of this name, which begins with its first point.
fn add_point(series: &mut Vec<Series>, name: &str, stroke: Stroke, point: (f64, f64)) {
    match series.iter_mut().find(|series| series.name == name) {
        Some(series) => series.points.push(point),
        None => series.push(Series::new(name, stroke, vec![point])),
    }
}

fn axis(label: &str, scale: Scale) -> Axis {
    Axis { label: label.into(), scale, range: None }
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
