//! Helpers of the unit tests: vectors made by an independent program, and comparison.

use crate::profile::Bursts;
use crate::quantity::TWO_64;
use serde_json::Value;
use std::collections::BTreeMap;

/// One row of a vector file.
#[derive(Debug)]
pub(crate) struct Row(Value);

impl Row {
    pub(crate) fn f64(&self, field: &str) -> f64 {
        self.0[field].as_f64().unwrap_or_else(|| panic!("no number {field} in {:?}", self.0))
    }

    pub(crate) fn u64(&self, field: &str) -> u64 {
        self.f64(field) as u64
    }

    pub(crate) fn text(&self, field: &str) -> String {
        self.0[field].as_str().unwrap_or_else(|| panic!("no text {field} in {:?}", self.0)).into()
    }

    pub(crate) fn list(&self, field: &str) -> Vec<f64> {
        let list = self.0[field].as_array().expect("a list");
        list.iter().map(|value| value.as_f64().expect("a number")).collect()
    }

    /// A list of probabilities as weights out of 2⁶⁴.
    pub(crate) fn weights(&self, field: &str) -> Vec<u64> {
        self.list(field).iter().map(|p| (p * TWO_64) as u64).collect()
    }
}

/// The rows of `vectors/<file>`.
pub(crate) fn vectors(file: &str) -> Vec<Row> {
    let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let value: Value = serde_json::from_str(&text).expect("valid JSON");
    let rows: Vec<Row> = value["rows"].as_array().expect("rows").iter().cloned().map(Row).collect();
    assert!(!rows.is_empty(), "{path} has no rows");
    rows
}

/// Panics unless the two agree to a relative `tolerance`; zero agrees with zero only.
#[track_caller]
pub(crate) fn assert_close(found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs();
    assert!(
        error <= tolerance * expected.abs(),
        "{found:e} instead of {expected:e}: relative error {:e}",
        error / expected.abs()
    );
}

/// Mean and variance of one user's noise, '+' minus '−'.
pub(crate) fn moments(bursts: &Bursts) -> (f64, f64) {
    let moment = |weights: &[u64], power: i32| -> f64 {
        let terms = (1_u32..).zip(weights);
        terms.map(|(k, &weight)| f64::from(k).powi(power) * (weight as f64 / TWO_64)).sum()
    };
    let mean = moment(bursts.plus(), 1) - moment(bursts.minus(), 1);
    (mean, moment(bursts.plus(), 2) + moment(bursts.minus(), 2) - mean * mean)
}

/// A law over how often each message occurs.
pub(crate) type Counts = BTreeMap<Vec<u32>, f64>;

/// The law of the shuffled messages of independent users, written out.
pub(crate) fn shuffled<'a>(users: impl IntoIterator<Item = &'a Counts>) -> Counts {
    let mut users = users.into_iter();
    let first = users.next().expect("a user").clone();
    users.fold(first, |bag, user| {
        let mut sum = Counts::new();
        for (before, p) in &bag {
            for (added, q) in user {
                let counts = before.iter().zip(added).map(|(a, b)| a + b).collect();
                *sum.entry(counts).or_insert(0.0) += p * q;
            }
        }
        sum
    })
}

/// `Σ (P − e^ε·Q)₊`.
pub(crate) fn divergence(p: &Counts, q: &Counts, epsilon: f64) -> f64 {
    let gain = |(counts, p): (&Vec<u32>, &f64)| {
        (p - epsilon.exp() * q.get(counts).copied().unwrap_or(0.0)).max(0.0)
    };
    p.iter().map(gain).sum()
}
