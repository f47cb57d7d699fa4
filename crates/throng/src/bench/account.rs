//! `throng bench account`: time per answer, how it grows with the crowd, and the terms visited.

use super::rate::repeat;
use crate::report::{Printable, Report};
use anyhow::Result;
use std::hint::black_box;
use std::time::{Duration, Instant};
use throng_account::profile::{Amplification, BitSum, Blanket, ClonePair};
use throng_account::spend::shuffled_rounds;
use throng_account::{Crowd, Delta, Epsilon, Error, Guarantee, Profile, measured};

/// Solves ε at δ = 10⁻⁸ for each kind of query and crowd.
pub fn account() -> Result<Report> {
    let limit = exponential_time();
    let delta = Delta::new(1e-8)?;
    let mut rows = Vec::new();
    for (kind, solve) in KINDS {
        // Time and terms of the row above.
        let mut before = [f64::NAN; 2];
        for decade in 3..=9_u32 {
            let n = 10_u64.pow(decade);
            eprintln!("{kind}, n = 1e{decade}");
            let (time, terms) = measure(|| solve(Crowd::new(n)?, delta))?;
            let per_term = time / terms as f64 / limit;
            let milliseconds = format!("{:.3}", 1e3 * time);
            let now = [time, terms as f64];
            // Over a decade of n: 0 is constant, 0.5 a square root.
            let [time_exponent, terms_exponent] = [0, 1].map(|i| (now[i] / before[i]).log10());
            rows.push(
                Report::default()
                    .line("query", "query", kind)
                    .line("n", "n", Printable::new(n, format!("1e{decade}")))
                    .line("seconds", "ms", Printable::new(time, milliseconds))
                    .say("growth", growth(time_exponent))
                    .line("terms", "terms", terms)
                    .field("time_exponent", time_exponent)
                    .field("terms_exponent", terms_exponent)
                    .say("growth", growth(terms_exponent))
                    .line("term_over_exp", "term / exp", Printable::places(per_term, 1)),
            );
            before = now;
        }
    }
    Ok(Report::default()
        .field("delta", delta.get())
        .field("exp_seconds", limit)
        .rows("rows", rows)
        .note(format!(
            "Best of several runs of one epsilon solve at delta = 1e-8, single thread. Growth is \
             the exponent of n against the row above. The last column is the time per term over \
             that of one exp(), {:.1} ns in this run.",
            1e9 * limit
        )))
}

/// An exponent for people, or a dash where there is no row above.
fn growth(exponent: f64) -> String {
    if exponent.is_nan() { "-".into() } else { format!("{exponent:.2}") }
}

type Solve = fn(Crowd, Delta) -> Result<Guarantee, Error>;

const KINDS: [(&str, Solve); 8] = [
    ("amplify, epsilon0 = 1", |n, delta| ClonePair::strong(n, Epsilon::new(1.0)?)?.epsilon(delta)),
    ("amplify, epsilon0 = 4", |n, delta| ClonePair::strong(n, Epsilon::new(4.0)?)?.epsilon(delta)),
    ("amplify with lower bound", |n, delta| {
        Amplification::new(n, Epsilon::new(1.0)?)?.epsilon(delta)
    }),
    ("bit-sum, lambda = n/2", |n, delta| BitSum::new(n, n.get() as f64 / 2.0)?.epsilon(delta)),
    ("bit-sum, lambda = 100", |n, delta| BitSum::new(n, 100.0)?.epsilon(delta)),
    ("kary-response, k = 10", |n, delta| kary(n, 10)?.epsilon(delta)),
    ("kary-response, k = 100", |n, delta| kary(n, 100)?.epsilon(delta)),
    ("compose, 1000 rounds", |n, delta| shuffled_rounds(n, Epsilon::new(1.0)?, 1000, delta)),
];

fn kary(crowd: Crowd, k: u64) -> Result<Blanket, Error> {
    Blanket::kary_response(crowd, Epsilon::new(1.0)?, k)
}

/// Seconds of the fastest run, and terms of one, within a fifth of a second or three runs.
fn measure(run: impl Fn() -> Result<Guarantee, Error>) -> Result<(f64, u64)> {
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
    let count = 2_000_000_u32;
    1.0 / repeat(count.into(), || {
        let terms = (0..count).map(|i| black_box(-1e-6 * f64::from(i)).exp());
        black_box(terms.sum::<f64>());
    })
}
