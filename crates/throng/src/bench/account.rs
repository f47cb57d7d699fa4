//! `throng bench account`: time per answer, how it grows with the crowd, and the terms visited.

use crate::report::{Report, Rows};
use anyhow::Result;
use std::hint::black_box;
use std::time::{Duration, Instant};
use throng_account::profile::{BitSum, Blanket, ClonePair, Shuffled};
use throng_account::spend::shuffled_rounds;
use throng_account::{Crowd, Delta, Epsilon, Profile, measured};

/// Solves ε at δ = 10⁻⁸ for each kind of query and crowd.
pub fn account() -> Result<Report> {
    let limit = exponential_time();
    let mut rows = Vec::new();
    let mut json = Vec::new();
    for (kind, solve) in KINDS {
        let mut before: Option<(f64, f64)> = None;
        for decade in 3..=9_u32 {
            let n = 10_u64.pow(decade);
            eprintln!("{kind}, n = 1e{decade}");
            let (time, terms) = measure(|| solve(Crowd::new(n)?))?;
            // Exponents of growth per decade of n: 0 is constant, 0.5 a square root.
            let growth = |now: f64, then: f64| (now / then).log10();
            let exponents = before.map(|(t, c)| (growth(time, t), growth(terms as f64, c)));
            let per_term = time / terms as f64 / limit;
            let shown = |pick: fn((f64, f64)) -> f64| {
                exponents.map_or("-".into(), |pair| format!("{:.2}", pick(pair)))
            };
            rows.push(vec![
                kind.into(),
                format!("1e{decade}"),
                format!("{:.3}", 1e3 * time),
                shown(|pair| pair.0),
                terms.to_string(),
                shown(|pair| pair.1),
                format!("{per_term:.1}"),
            ]);
            json.push(serde_json::json!({
                "query": kind, "n": n, "seconds": time, "terms": terms,
                "time_exponent": exponents.map(|pair| pair.0),
                "terms_exponent": exponents.map(|pair| pair.1),
                "term_over_exp": per_term,
            }));
            before = Some((time, terms as f64));
        }
    }
    Ok(Report::default()
        .field("delta", 1e-8)
        .field("exp_seconds", limit)
        .field("rows", json)
        .table(Rows {
            head: vec!["query", "n", "ms", "growth", "terms", "growth", "term / exp"],
            rows,
        })
        .note(format!(
            "Best of several runs of one epsilon solve at delta = 1e-8, single thread. Growth is \
             the exponent of n against the row above. The last column is the time per term over \
             that of one exp(), {:.1} ns in this run.",
            1e9 * limit
        )))
}

type Solve = fn(Crowd) -> Result<f64>;

const KINDS: [(&str, Solve); 8] = [
    ("amplify, epsilon0 = 1", |n| clones(n, 1.0)),
    ("amplify, epsilon0 = 4", |n| clones(n, 4.0)),
    ("amplify with lower bound", |n| {
        Ok(Shuffled::new(n, Epsilon::new(1.0)?)?.epsilon(delta()?)?.epsilon.get())
    }),
    ("bit-sum, lambda = n/2", |n| bits(n, n.get() as f64 / 2.0)),
    ("bit-sum, lambda = 100", |n| bits(n, 100.0)),
    ("kary-response, k = 10", |n| kary(n, 10)),
    ("kary-response, k = 100", |n| kary(n, 100)),
    ("compose, 1000 rounds", |n| {
        Ok(shuffled_rounds(n, Epsilon::new(1.0)?, 1000, delta()?)?.epsilon.get())
    }),
];

fn clones(crowd: Crowd, local: f64) -> Result<f64> {
    Ok(ClonePair::strong(crowd, Epsilon::new(local)?)?.epsilon(delta()?)?.epsilon.get())
}

fn bits(crowd: Crowd, lambda: f64) -> Result<f64> {
    Ok(BitSum::new(crowd, lambda)?.epsilon(delta()?)?.epsilon.get())
}

fn kary(crowd: Crowd, k: u64) -> Result<f64> {
    let blanket = Blanket::kary_response(crowd, Epsilon::new(1.0)?, k)?;
    Ok(blanket.epsilon(delta()?)?.epsilon.get())
}

fn delta() -> Result<Delta> {
    Ok(Delta::new(1e-8)?)
}

/// Seconds of the fastest run, and terms of one, within a fifth of a second or three runs.
fn measure(run: impl Fn() -> Result<f64>) -> Result<(f64, u64)> {
    let start = Instant::now();
    let (first, terms) = measured(|| run().map(black_box));
    first?;
    let mut best = start.elapsed();
    let deadline = Instant::now() + Duration::from_millis(200);
    for round in 0..1_000 {
        if round >= 2 && Instant::now() > deadline {
            break;
        }
        let start = Instant::now();
        black_box(run()?);
        best = best.min(start.elapsed());
    }
    Ok((best.as_secs_f64(), terms))
}

/// Seconds of one exp() in a plain loop: what a term could cost at best.
fn exponential_time() -> f64 {
    let count = 2_000_000;
    let start = Instant::now();
    let mut sum = 0.0;
    for i in 0..count {
        sum += black_box(-1e-6 * f64::from(i)).exp();
    }
    black_box(sum);
    start.elapsed().as_secs_f64() / f64::from(count)
}
