//! `throng rounds`: what a crowd can do when it answers more than once, through real mixes.

mod and;
mod attack;
mod computation;
mod hall;
mod keys;
mod sum;
mod xor_sum;

use crate::args::rounds::Rounds;
use crate::figures::save;
use crate::report::{Printable, Report};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use throng_account::show::{Lower, Near, Upper};
use throng_chart::Chart;

/// Plays one of the protocols through.
pub fn run(request: &Rounds) -> Result<Report> {
    tokio::runtime::Runtime::new()?.block_on(async {
        tokio::select! {
            done = play(request) => done,
            _ = crate::stop::asked() => bail!("stopped; nothing is left behind"),
        }
    })
}

async fn play(request: &Rounds) -> Result<Report> {
    match request {
        Rounds::Keys(request) => keys::run(request).await,
        Rounds::And(request) => and::run(request).await,
        Rounds::Sum(request) => sum::run(request).await,
        Rounds::XorSum(request) => xor_sum::run(request).await,
        Rounds::Attack(request) => attack::run(request).await,
    }
}

/// Writes charts as SVG and CSV, if there is a directory for them, and returns the files.
fn draw(out: Option<&Path>, charts: &[(&str, Chart)]) -> Result<Vec<String>> {
    let Some(out) = out else { return Ok(Vec::new()) };
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut files = Vec::new();
    for (name, chart) in charts {
        files.extend(save(out, name, chart)?);
    }
    eprintln!("wrote {}", files.join(", "));
    Ok(files)
}

/// A value with four significant digits, for JSON and people.
fn rounded(value: f64) -> Near {
    Near(Near(value).rounded(4))
}

/// A lower bound with four significant digits, rounded down.
fn rounded_down(value: f64) -> Lower {
    Lower(Lower(value).rounded(4))
}

/// An upper bound with four significant digits, rounded up.
fn rounded_up(value: f64) -> Upper {
    Upper(Upper(value).rounded(4))
}

/// A value with four significant digits for programs, and `places` after the point for people.
fn measured(value: f64, places: usize) -> Printable {
    Printable::new(rounded(value).0, format!("{value:.places$}"))
}

/// A number that may be negative.
fn whole(number: i64) -> Printable {
    Printable::new(number, number.to_string())
}
