//! The checks every mechanism passes, shared by its unit tests.
//!
//! * *exact*: [`assert_local`] holds the local claim against every likelihood ratio of the
//!   enumerated law; [`assert_view`] holds the accountant's profile against the enumerated law of
//!   the whole bag, over all datasets of a small crowd, all pairs of values, both directions.
//! * *sampled*: [`assert_sampled`] holds the sampler against the law.
//! * *inverse*: [`assert_inverse`] feeds the analyzer with the law and expects the truth, with the
//!   error it claims.

mod planted;

pub(crate) use planted::Planted;

use crate::{Error, Estimate, Law, Protocol, Tally};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::collections::BTreeMap;
use throng_account::{Epsilon, Probability, Profile};

/// A generator with a fixed seed.
pub(crate) fn rng(seed: u64) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(seed)
}

pub(crate) fn confidence() -> Probability {
    Probability::new("confidence", 0.95).unwrap()
}

/// Counting message by message, to compare with batches.
pub(crate) trait OneByOne: Protocol {
    fn absorb(&self, message: &[u64], cells: &mut [u64]) -> Result<(), Error> {
        let counted = message.len() == self.words() && self.absorb_batch(message, cells) == 0;
        if counted { Ok(()) } else { Err(Error::Malformed { expected: "one that a client sends" }) }
    }
}

impl<P: Protocol> OneByOne for P {}

/// No report is more than e^ε₀ times likelier under one input than under another.
#[track_caller]
pub(crate) fn assert_local<P: Protocol>(protocol: &P, inputs: &[&P::Input], local: Epsilon) {
    let laws: Vec<Law> = inputs.iter().map(|input| checked_law(protocol, input)).collect();
    let limit = local.get().exp() * (1.0 + 1e-8);
    for (i, p) in laws.iter().enumerate() {
        for (j, q) in laws.iter().enumerate() {
            for (report, mass) in p {
                let other = q.get(report).copied().unwrap_or(0.0);
                assert!(*mass <= limit * other, "{report:?}: {mass} under {i}, {other} under {j}");
            }
        }
    }
}

/// The hockey-stick divergence of the whole bag stays within the profile, and somewhere reaches its
/// lower bound. Everybody's values range over `inputs`.
#[track_caller]
pub(crate) fn assert_view<P: Protocol>(
    protocol: &P,
    inputs: &[&P::Input],
    crowd: usize,
    profile: &dyn Profile,
) {
    let laws: Vec<Law> = inputs.iter().map(|input| checked_law(protocol, input)).collect();
    let mut others = vec![(0, Law::from([(Vec::new(), 1.0)]))];
    for _ in 1..crowd {
        // Datasets are multisets: each user's input is at or after the one before.
        others = others
            .iter()
            .flat_map(|(from, bag)| {
                (*from..laws.len()).map(|i| (i, join(bag, &laws[i], protocol.words())))
            })
            .collect();
    }
    for epsilon in [0.0, 0.1, 0.3, 0.7, 1.0, 1.5, 2.5, 4.0] {
        let epsilon = Epsilon::new(epsilon).unwrap();
        let mut worst = 0.0_f64;
        for (_, bag) in &others {
            let views: Vec<Law> = laws.iter().map(|law| join(bag, law, protocol.words())).collect();
            for p in &views {
                for q in &views {
                    worst = worst.max(hockey_stick(p, q, epsilon));
                }
            }
        }
        let band = profile.delta(epsilon);
        let room = 1e-12;
        assert!(worst <= band.upper + room, "ε = {}: {worst} > {}", epsilon.get(), band.upper);
        assert!(worst >= band.lower - room, "ε = {}: {worst} < {}", epsilon.get(), band.lower);
    }
}

/// The sampler draws each report as often as the law says, as in [`assert_fits`].
#[track_caller]
pub(crate) fn assert_sampled<P: Protocol>(protocol: &P, input: &P::Input) {
    let law = checked_law(protocol, input);
    let mut observed: BTreeMap<&Vec<u64>, u64> = law.keys().map(|report| (report, 0)).collect();
    let mut rng = rng(7);
    for _ in 0..40_000 {
        let mut report = Vec::new();
        protocol.encode(input, &mut rng, &mut report).unwrap();
        assert_eq!(report.len(), protocol.messages() * protocol.words());
        let report = sorted(&report, protocol.words());
        *observed.get_mut(&report).unwrap_or_else(|| panic!("{report:?} is not in the law")) += 1;
    }
    let observed: Vec<u64> = observed.into_values().collect();
    assert_fits(&observed, &law.into_values().collect::<Vec<_>>());
}

/// Events are observed as often as the law says.
///
/// Fails correct counts with probability at most 1e-9: an exact binomial tail per cell, and a union
/// bound over cells and tails.
#[track_caller]
pub(crate) fn assert_fits(observed: &[u64], law: &[f64]) {
    let (draws, limit) = (observed.iter().sum(), 1e-9 / (2.0 * law.len() as f64));
    for (cell, (&count, &p)) in observed.iter().zip(law).enumerate() {
        let tail = binomial_tails(draws, p, count);
        assert!(tail > limit, "cell {cell}: {count} of {draws} at {p}, tail {tail:e}");
    }
}

/// Over the law of two users with this input, each estimate has twice the truth as its mean, and
/// the mean square of its claimed standard error is at least its variance, and at most 1.3 times
/// that.
#[track_caller]
pub(crate) fn assert_inverse<P: Protocol>(protocol: &P, input: &P::Input, truth: &[f64]) {
    assert_inverse_within(protocol, input, truth, 1.3);
}

/// Does as [`assert_inverse`], with another limit on how conservative the claimed variance may be.
#[track_caller]
pub(crate) fn assert_inverse_within<P: Protocol>(
    protocol: &P,
    input: &P::Input,
    truth: &[f64],
    slack: f64,
) {
    let law = checked_law(protocol, input);
    let pairs = join(&law, &law, protocol.words()).into_iter().map(|(bag, p)| {
        let mut tally = Tally::new(protocol);
        tally.absorb(protocol, &bag);
        let estimates = protocol.estimate(&tally, confidence());
        assert_eq!(estimates.len(), truth.len());
        assert!(
            estimates
                .iter()
                .all(|e| e.below >= 0.0 && e.above >= 0.0 && e.half_width().is_finite())
        );
        (p, estimates)
    });
    let pairs: Vec<(f64, Vec<Estimate>)> = pairs.collect();
    for (i, truth) in truth.iter().enumerate() {
        let mean = |of: &dyn Fn(&Estimate) -> f64| -> f64 {
            pairs.iter().map(|(p, estimates)| p * of(&estimates[i])).sum()
        };
        let (value, square) = (mean(&|e| e.value), mean(&|e| (e.value - 2.0 * truth).powi(2)));
        let claimed = mean(&|e| e.standard_error.powi(2));
        let room = 1e-8 * (1.0 + square.sqrt());
        assert!((value - 2.0 * truth).abs() < room, "{i}: {value} for {truth}");
        let least = square * (1.0 - 1e-6) - 1e-12;
        assert!(claimed >= least, "{i}: claims {claimed}, has {square}");
        assert!(claimed <= slack * square + 1e-9, "{i}: {claimed} for {square}");
    }
}

/// `Σ (p − e^ε·q)₊`.
pub(crate) fn hockey_stick(p: &Law, q: &Law, epsilon: Epsilon) -> f64 {
    let e = epsilon.get().exp();
    p.iter().map(|(bag, p)| (p - e * q.get(bag).copied().unwrap_or(0.0)).max(0.0)).sum()
}

/// The law of both bags thrown together.
pub(crate) fn join(a: &Law, b: &Law, words: usize) -> Law {
    let mut joined = Law::new();
    for (x, p) in a {
        for (y, q) in b {
            let bag: Vec<u64> = x.iter().chain(y).copied().collect();
            *joined.entry(sorted(&bag, words)).or_insert(0.0) += p * q;
        }
    }
    joined
}

/// Messages in ascending order.
pub(crate) fn sorted(messages: &[u64], words: usize) -> Vec<u64> {
    let mut list: Vec<&[u64]> = messages.chunks(words).collect();
    list.sort_unstable();
    list.concat()
}

/// The smaller of `P[X ≤ count]` and `P[X ≥ count]` for `X ~ Bin(draws, p)`.
pub(crate) fn binomial_tails(draws: u64, p: f64, count: u64) -> f64 {
    if p >= 1.0 {
        return if count == draws { 1.0 } else { 0.0 };
    }
    // Logarithms of the pmf by its ratios, from the logarithm at 0.
    let odds = (p / (1.0 - p)).ln();
    let mut ln_pmf = draws as f64 * (-p).ln_1p();
    let (mut lower, mut upper) = (0.0, 0.0);
    for k in 0..=draws {
        let mass = ln_pmf.exp();
        lower += if k <= count { mass } else { 0.0 };
        upper += if k >= count { mass } else { 0.0 };
        ln_pmf += ((draws - k) as f64 / (k + 1) as f64).ln() + odds;
    }
    f64::min(lower, upper)
}

/// The law, checked to be one.
#[track_caller]
fn checked_law<P: Protocol>(protocol: &P, input: &P::Input) -> Law {
    let law = protocol.law(input);
    let total: f64 = law.values().sum();
    assert!((total - 1.0).abs() < 1e-12, "the law sums to {total}");
    let length = protocol.messages() * protocol.words();
    assert!(law.keys().all(|report| report.len() == length));
    law
}
