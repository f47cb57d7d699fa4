//! The real data that questions are put to: small samples, whose sources are in `data/README.md`.

use chacha20::ChaCha12Rng;
use throng_mechanism::sample;

/// Minutes by which flights left late, negative when early.
pub fn delays() -> Vec<f64> {
    rows(FLIGHTS).map(|row| number(&row, 0)).collect()
}

/// Browsers with their share of global usage in per cent, largest first, all others last.
pub fn browsers() -> Vec<(String, f64)> {
    rows(BROWSERS).map(|row| (row[0].to_owned(), number(&row, 1))).collect()
}

/// The commonest given names of newborns and how many received them, largest first.
pub fn names(kept: usize) -> Vec<(String, f64)> {
    rows(NAMES).take(kept).map(|row| (row[0].to_owned(), number(&row, 1))).collect()
}

/// Aircraft, and in which periods each of them flew.
pub fn aircraft() -> Vec<Vec<bool>> {
    rows(ADOPTION).map(|row| row[1..].iter().map(|flew| *flew == "1").collect()).collect()
}

/// The part of `total` that each weight stands for: the numbers between its rounded cumulative
/// shares, so that they add up.
pub fn apportion(weights: &[f64], total: u64) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let (mut weight, mut given) = (0.0, 0);
    let share = |each: &f64| {
        weight += each;
        let upto = (weight / sum * total as f64).round() as u64;
        let count = upto - given;
        given = upto;
        count
    };
    weights.iter().map(share).collect()
}

/// Draws `count` rows in random order, none a second time before all the others.
pub fn drawn(rows: &[f64], count: u64, rng: &mut ChaCha12Rng) -> Vec<f64> {
    let mut order: Vec<u64> = (0..rows.len() as u64).collect();
    sample::shuffle(&mut order, 1, rng);
    order.iter().cycle().take(count as usize).map(|row| rows[*row as usize]).collect()
}

/// The files have one line of names, and no quotes.
fn rows(file: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    file.lines().skip(1).map(|line| line.split(',').collect())
}

fn number(row: &[&str], column: usize) -> f64 {
    row[column].parse().expect("a number in a file that is part of the program")
}

const FLIGHTS: &str = include_str!("../../../../data/flights.csv");
const BROWSERS: &str = include_str!("../../../../data/browsers.csv");
const NAMES: &str = include_str!("../../../../data/names.csv");
const ADOPTION: &str = include_str!("../../../../data/adoption.csv");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::generator;

    /// The figures of `data/README.md`.
    #[test]
    fn the_samples_are_what_their_description_says() {
        let delays = delays();
        let mean = delays.iter().map(|late| late.clamp(-15.0, 120.0)).sum::<f64>() / 20_000.0;
        assert_eq!(delays.len(), 20_000);
        assert!((mean - 10.57).abs() < 0.005, "{mean}");
        let shares: f64 = browsers().iter().map(|(_, share)| share).sum();
        assert!(browsers().len() == 15 && (shares - 100.0).abs() < 1e-9);
        let births: f64 = names(2_000).iter().map(|(_, count)| count).sum();
        assert_eq!((names(2_000).len(), births), (2_000, 2_926_840.0));
        let aircraft = aircraft();
        assert!(aircraft.len() == 1_024 && aircraft.iter().all(|row| row.len() == 32));
        assert_eq!(aircraft.iter().flatten().filter(|flew| **flew).count(), 22_696);
    }

    #[test]
    fn shares_add_up_and_rows_are_used_evenly() {
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 10), [3, 4, 3]);
        assert_eq!(apportion(&[5.0, 0.0, 5.0], 3), [2, 0, 1]);
        let mut some = drawn(&[1.0, 2.0, 3.0], 6, &mut generator(1, 1));
        some.sort_by(f64::total_cmp);
        assert_eq!(some, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    }
}
