//! A sign that is seen more often when it is true.
//!
//! In many mechanisms a report supports a category with one probability if the user holds it and a
//! smaller one if not. The number of reports that support it then says how many hold it:
//!
//! ```text
//! E[c] = p·m + q·(n − m)              p seen when held, q seen when not, m hold it, c support it
//! (c − n·q)/(p − q)                   is unbiased for m
//! pq·(n − c) + (1−p)(1−q)·c           is unbiased for the variance of c, p(1−p)·m + q(1−q)·(n−m)
//! ```
//!
//! The last line is linear in c like the variance in m, and never negative for 0 ≤ c ≤ n. It is the
//! standard error, but no interval: where few reports support a category, that variance is read off
//! the very count that came out small. The interval holds every m that c does not rule out, judged
//! by the law that c has with m holders:
//!
//! ```text
//! narrow     P_m[C ≥ c] > α/2 and P_m[C ≤ c] > α/2                 C = Bin(m, p) + Bin(n − m, q)
//! wide       |c − nq − (p−q)m| − ½ ≤ z·√(p(1−p)·m + q(1−q)·(n−m))      a quadratic in m
//! ```

use crate::Estimate;
use std::collections::HashMap;
use throng_account::tail::{holders_band, normal_reach};
use throng_account::{Delta, Probability};

/// The probabilities that a report supports a category that its user holds, or does not hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rates {
    pub(crate) held: f64,
    pub(crate) other: f64,
    /// `held − other`, which is above 0, kept apart for its digits.
    pub(crate) gap: f64,
}

impl Rates {
    /// The estimated number of holders of the category, if `support` of `n` reports support it.
    pub(crate) fn estimate(&self, support: f64, n: f64, confidence: Probability) -> Estimate {
        let (p, q) = (self.held, self.other);
        let value = (support - n * q) / self.gap;
        let deviation = (p * q * (n - support) + (1.0 - p) * (1.0 - q) * support).max(0.0).sqrt();
        let failure = Delta::new(0.5 * (1.0 - confidence.get()));
        let interval = match failure {
            Ok(failure) if deviation <= WIDE => {
                let (low, high) = holders_band(support as u64, n as u64, p, q, failure);
                (low as f64, high as f64)
            }
            _ => self.score_interval(support, n, normal_reach(confidence)),
        };
        Estimate::within(value, deviation / self.gap, interval)
    }

    /// The estimates of many categories, each distinct support worked out once.
    pub(crate) fn estimates(
        &self,
        supports: impl Iterator<Item = (u64, u64)>,
        confidence: Probability,
    ) -> Vec<Estimate> {
        let mut known = HashMap::new();
        let estimate = |(support, n): (u64, u64)| {
            let worked_out = || self.estimate(support as f64, n as f64, confidence);
            *known.entry((support, n)).or_insert_with(worked_out)
        };
        supports.map(estimate).collect()
    }

    /// The numbers of holders whose expected support is within z deviations of their own, and half
    /// a report, of `support`.
    fn score_interval(&self, support: f64, n: f64, z: f64) -> (f64, f64) {
        let (p, q) = (self.held, self.other);
        let (fixed, slope) = (n * q * (1.0 - q), p * (1.0 - p) - q * (1.0 - q));
        // (x − gap·m)² = z²·(fixed + slope·m), once from above and once from below.
        let end = |x: f64, side: f64| {
            let (half, z2) = (self.gap * x + 0.5 * z * z * slope, z * z);
            let root = (half * half - self.gap * self.gap * (x * x - z2 * fixed)).max(0.0).sqrt();
            ((half + side * root) / (self.gap * self.gap)).clamp(0.0, n)
        };
        let above = support - n * q;
        (end(above - 0.5, -1.0), end(above + 0.5, 1.0))
    }

    /// Standard error of the estimate if `holders` of `n` users hold the category.
    pub(crate) fn standard_error(&self, holders: f64, n: f64) -> f64 {
        let (p, q) = (self.held, self.other);
        (holders * p * (1.0 - p) + (n - holders) * q * (1.0 - q)).sqrt() / self.gap
    }
}

/// The deviation of a support above which the normal law is taken.
pub(crate) const WIDE: f64 = 24.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::confidence;
    use crate::{KaryResponse, SubsetSelection};
    use serde_json::Value;
    use throng_account::{Epsilon, Threshold};

    #[test]
    fn variances_agree_with_eighty_digits() {
        let path = format!("{}/../../vectors/estimators.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let mut checked = 0;
        for row in file["rows"].as_array().unwrap() {
            let number = |field: &str| row[field].as_f64().unwrap();
            let whole = |field: &str| number(field) as u32;
            let error_at: Box<dyn Fn(f64) -> f64> = match row["kind"].as_str().unwrap() {
                "kary" => {
                    let local = Epsilon::new(number("epsilon0")).unwrap();
                    let m = KaryResponse::local(whole("k"), local).unwrap();
                    Box::new(move |holders| m.rates().standard_error(holders, 1.0))
                }
                "subset" => {
                    let (k, s) = (number("k"), number("size"));
                    let odds = number("epsilon0").exp() * s / (k - s);
                    let include = Probability::new("include", odds / (odds + 1.0)).unwrap();
                    let include = Threshold::at_least(include);
                    let m = SubsetSelection::new(whole("k"), whole("size"), include).unwrap();
                    Box::new(move |holders| m.rates.standard_error(holders, 1.0))
                }
                _ => continue,
            };
            for (holders, field) in [(1.0, "variance_hit"), (0.0, "variance_miss")] {
                let ratio = error_at(holders).powi(2) / number(field);
                assert!((ratio - 1.0).abs() < 2e-8, "{row}: {ratio}");
            }
            checked += 1;
        }
        assert!(checked > 50);
    }

    #[test]
    fn value_and_variance_are_unbiased_over_the_binomials() {
        let pmf = |n: u32, p: f64, k: u32| {
            let choose: f64 = (0..k).map(|j| f64::from(n - j) / f64::from(j + 1)).product();
            choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
        };
        for (p, q) in [(0.9, 0.1), (0.6, 0.59), (0.5, 0.001), (1.0 - 1e-9, 1e-9)] {
            let rates = Rates { held: p, other: q, gap: p - q };
            for (n, holders) in [(5, 0), (5, 2), (7, 7), (1, 1)] {
                let (mut mean, mut square, mut claimed) = (0.0, 0.0, 0.0);
                for x in 0..=holders {
                    for y in 0..=n - holders {
                        let mass = pmf(holders, p, x) * pmf(n - holders, q, y);
                        let found = rates.estimate(f64::from(x + y), f64::from(n), confidence());
                        mean += mass * found.value;
                        square += mass * (found.value - f64::from(holders)).powi(2);
                        claimed += mass * found.standard_error.powi(2);
                    }
                }
                let exact = rates.standard_error(f64::from(holders), f64::from(n)).powi(2);
                let room = 1e-9 * (1.0 + exact);
                assert!((mean - f64::from(holders)).abs() < room, "{mean} for {holders}");
                assert!((square - exact).abs() < room, "{square} for {exact}");
                assert!((claimed - exact).abs() < room, "{claimed} for {exact}");
            }
        }
    }
}
