//! Intervals hold the truth as often as they print, at every level: by the exact law of the counts,
//! worked out by convolution for crowds from one user on, for cells that nobody, few or all hold,
//! and for noise from hardly any to more than the crowd.

mod cells;
mod counts;
mod sums;
mod time;

use throng_account::{Probability, Threshold};
use throng_mechanism::{Estimate, Protocol, Tally};

fn probability(value: f64) -> Probability {
    Probability::new("probability", value).unwrap()
}

fn coin(p: f64) -> Threshold {
    Threshold::at_least(probability(p))
}

/// The law of the sum of independent numbers: `copies` of each law, which lists `P[0], P[1], …`.
fn sum(parts: &[(usize, &[f64])]) -> Vec<f64> {
    let mut law = vec![1.0];
    for &(copies, part) in parts {
        let mut power = part.to_vec();
        let mut left = copies;
        while left > 0 {
            if left % 2 == 1 {
                law = convolve(&law, &power);
            }
            left /= 2;
            if left > 0 {
                power = convolve(&power, &power);
            }
        }
    }
    law
}

/// The law of a sum; places at the upper end that are never reached in practice are left out.
fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let (a, b) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut sum = vec![0.0; a.len() + b.len() - 1];
    for (i, p) in a.iter().enumerate().filter(|(_, p)| **p > 1e-15) {
        sum[i..].iter_mut().zip(b).for_each(|(cell, q)| *cell += p * q);
    }
    let end = sum.iter().rposition(|&mass| mass > 1e-15).map_or(1, |last| last + 1);
    sum.truncate(end);
    sum
}

/// Fails unless the intervals that counts lead to hold the truth with the confidence, up to half a
/// point.
#[track_caller]
fn assert_covered(
    about: &str,
    truth: f64,
    law: &[f64],
    estimate: impl Fn(u64, Probability) -> Estimate,
) {
    for level in LEVELS {
        let held = |(count, mass): (usize, &f64)| {
            // Counts that hardly occur are taken to mislead.
            let holds = *mass > 1e-8 && estimate(count as u64, probability(level)).holds(truth);
            if holds { *mass } else { 0.0 }
        };
        let covered: f64 = law.iter().enumerate().map(held).sum();
        assert!(covered >= level - 0.005, "{about}, truth {truth}: {covered} for {level}");
    }
}

/// The same for estimates that a count shifts and does not widen.
#[track_caller]
fn assert_shifted(
    about: &str,
    truth: f64,
    law: &[f64],
    estimate: impl Fn(u64, Probability) -> Estimate,
) {
    let most = law.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0 as u64;
    let near = most.saturating_sub(1);
    let here = LEVELS.map(|level| estimate(near, probability(level)));
    let next = estimate(near + 1, probability(LEVELS[0]));
    let step = next.value - here[0].value;
    assert!(step > 0.0 && (next.half_width() / here[0].half_width() - 1.0).abs() < 1e-9, "{about}");
    assert_covered(about, truth, law, |c, at| {
        let level = LEVELS.iter().position(|&level| level == at.get()).unwrap();
        let value = here[level].value + (c as f64 - near as f64) * step;
        Estimate { value, ..here[level] }
    });
}

/// The first estimate from these counts, of as many messages.
fn from_cells(
    m: &impl Protocol,
    messages: u64,
    counts: &[(usize, u64)],
    confidence: Probability,
) -> Estimate {
    let mut words = vec![0; 2 + m.cells()];
    words[0] = messages;
    for &(cell, count) in counts {
        words[2 + cell] = count;
    }
    let mut tally = Tally::new(m);
    tally.add_words(&words).unwrap();
    m.estimate(&tally, confidence)[0]
}

/// The counts of two cells whose difference, first less second, is `place − middle`.
fn difference([first, second]: [usize; 2], place: u64, middle: u64) -> [(usize, u64); 2] {
    [(first, place.saturating_sub(middle)), (second, middle.saturating_sub(place))]
}

/// Numbers of holders among n.
fn holders(n: usize) -> Vec<usize> {
    let mut some: Vec<usize> = [0, 1, 2, 5, 20, n / 2, n].into_iter().filter(|&m| m <= n).collect();
    some.sort_unstable();
    some.dedup();
    some
}

const LEVELS: [f64; 3] = [0.8, 0.95, 0.99];
