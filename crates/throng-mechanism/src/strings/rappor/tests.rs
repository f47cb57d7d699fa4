//! The checks of `rappor`, of one report and of several through a memory.

use super::*;
use crate::Memory;
use crate::testing::{
    OneByOne, Planted, assert_inverse, assert_local, assert_sampled, assert_view, rng,
};
use rand_core::Rng;
use std::panic::catch_unwind;

fn coin(probability: f64) -> Threshold {
    Threshold::at_least(Probability::new("coin", probability).unwrap())
}

fn rappor(bits: u32, hashes: u32, cohorts: u32, [f, p, q]: [f64; 3]) -> Rappor {
    let bloom = Bloom::new(bits, hashes, cohorts, 5).unwrap();
    Rappor::new(bloom, coin(f), coin(p), coin(q)).unwrap()
}

/// Small protocols with the coins of the paper and with lopsided ones.
fn small() -> [Rappor; 4] {
    let (paper, lopsided) = ([0.5, 0.5, 0.75], [0.2, 0.1, 0.7]);
    [
        rappor(3, 1, 2, paper),
        rappor(4, 2, 1, paper),
        rappor(4, 2, 2, lopsided),
        rappor(3, 2, 1, lopsided),
    ]
}

/// Strings that between them have every filter in the first cohort.
fn strings(bloom: &Bloom) -> Vec<String> {
    let mut filters = std::collections::BTreeMap::new();
    for i in 0..1000 {
        let value = format!("{i}");
        filters.entry(bloom.filter(bloom.digest(&value), 0)).or_insert(value);
    }
    let sets: u32 = (0..bloom.hashes()).fold(1, |sets, j| sets * (bloom.bits() - j) / (j + 1));
    assert_eq!(filters.len(), sets as usize);
    filters.into_values().collect()
}

/// An error in a client.
#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    /// Bits that the string sets stay set.
    NeverCleared,
    /// The permanent response is drawn for every report.
    Forgetful,
}

/// Several reports of one user with a memory, in a fixed cohort, as one message.
struct Repeated {
    rappor: Rappor,
    cohort: u32,
    reports: usize,
    sampler: Bug,
    law: Bug,
}

impl Repeated {
    fn new(rappor: Rappor, cohort: u32, reports: usize) -> Self {
        Self { rappor, cohort, reports, sampler: Bug::None, law: Bug::None }
    }

    fn filter(&self, input: &str) -> u64 {
        self.rappor.bloom.filter(self.rappor.bloom.digest(input), self.cohort)[0]
    }

    /// The chance that independent bits take these values, each 1 with its own chance.
    fn bits(&self, values: u64, one: impl Fn(u32) -> f64) -> f64 {
        let chance = |i| if values >> i & 1 == 1 { one(i) } else { 1.0 - one(i) };
        (0..self.rappor.bloom.bits()).map(chance).product()
    }
}

impl Protocol for Repeated {
    type Input = str;

    fn messages(&self) -> usize {
        1
    }

    fn words(&self) -> usize {
        self.reports * self.rappor.words()
    }

    fn encode(&self, input: &str, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        let mut memory = Memory { cohort: self.cohort, limit: 1, seen: Vec::new() };
        for _ in 0..self.reports {
            self.rappor.permanent(input, &mut memory, rng)?;
            if self.sampler == Bug::NeverCleared {
                memory.seen[0].1[0] |= self.filter(input);
            }
            self.rappor.respond(input, &mut memory, rng, report)?;
            if self.sampler == Bug::Forgetful {
                memory.seen.clear();
            }
        }
        Ok(())
    }

    fn law(&self, input: &str) -> Law {
        let [f, p, q] = self.rappor.coins().map(Threshold::probability);
        let all = 1_u64 << self.rappor.bloom.bits();
        let filter = self.filter(input);
        let set = if self.law == Bug::NeverCleared { 1.0 } else { 1.0 - f / 2.0 };
        let chance = |shown: &[u64]| -> f64 {
            let given = |permanent: u64| -> f64 {
                let prior = |i| if filter >> i & 1 == 1 { set } else { f / 2.0 };
                let seen = |i| if permanent >> i & 1 == 1 { q } else { p };
                let reports: f64 = shown.iter().map(|&shown| self.bits(shown, seen)).product();
                self.bits(permanent, prior) * reports
            };
            (0..all).map(given).sum()
        };
        let mut law = Law::new();
        for index in 0..all.pow(self.reports as u32) {
            let shown: Vec<u64> =
                (0..self.reports).map(|t| index / all.pow(t as u32) % all).collect();
            let message = shown.iter().flat_map(|&shown| [u64::from(self.cohort), shown]);
            let p = match self.law {
                Bug::Forgetful => shown.iter().map(|&shown| chance(&[shown])).product(),
                _ => chance(&shown),
            };
            law.insert(message.collect(), p);
        }
        law
    }

    fn cells(&self) -> usize {
        self.rappor.cells()
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        self.rappor.absorb_batch(messages, cells)
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let bits = self.rappor.bloom.bits() as usize;
        let estimates = self.rappor.estimate(tally, confidence);
        estimates[self.cohort as usize * bits..][..bits].to_vec()
    }
}

fn truth(filter: u64, bits: u32) -> Vec<f64> {
    (0..bits).map(|i| (filter >> i & 1) as f64).collect()
}

#[test]
fn the_claim_bounds_every_likelihood_ratio() {
    for rappor in small() {
        let strings = strings(&rappor.bloom);
        let inputs: Vec<&str> = strings.iter().map(String::as_str).collect();
        assert_local(&rappor, &inputs, rappor.privacy().one_report());
        for reports in 1..=2 {
            let repeated = Repeated::new(rappor, 0, reports);
            assert_local(&repeated, &inputs, rappor.privacy().reports(reports as u64));
        }
    }
}

#[test]
fn disjoint_filters_reach_the_claim() {
    for rappor in &small()[..3] {
        let strings = strings(&rappor.bloom);
        for reports in 1..=2 {
            let repeated = Repeated::new(*rappor, 0, reports);
            let laws: Vec<Law> = strings.iter().map(|value| repeated.law(value)).collect();
            let ratios = laws.iter().flat_map(|p| laws.iter().map(move |q| (p, q)));
            let worst = ratios
                .flat_map(|(p, q)| p.iter().map(|(report, mass)| (mass / q[report]).ln()))
                .fold(0.0, f64::max);
            let claim = rappor.privacy().reports(reports as u64).get();
            assert!((worst - claim).abs() < 1e-8 * claim, "{worst} for {claim}");
        }
    }
}

// One report with a fresh cohort is one ε₁-LDP randomizer for all, cohort and bits together.
#[test]
fn a_shuffled_crowd_gets_the_whole_amplification() {
    let rappor = rappor(2, 1, 2, [0.5, 0.5, 0.75]);
    let local = rappor.privacy().one_report();
    // Other randomizers with this ε₀ reach the bound, this one does not.
    let profile = UpperOnly(ClonePair::strong(Crowd::new(3).unwrap(), local).unwrap());
    // One string of each pair of filters.
    let pair = |value: &String| {
        [0, 1].map(|cohort| rappor.bloom.filter(rappor.bloom.digest(value), cohort)[0])
    };
    let strings: std::collections::BTreeMap<[u64; 2], String> =
        (0..40).map(|i| format!("{i}")).map(|value| (pair(&value), value)).collect();
    let inputs: Vec<&str> = strings.values().map(String::as_str).collect();
    assert_eq!(inputs.len(), 4);
    assert_view(&rappor, &inputs, 3, &profile);
}

#[test]
fn the_sampler_follows_the_law() {
    for rappor in small() {
        for value in ["", "a string"] {
            assert_sampled(&rappor, value);
            assert_sampled(&Repeated::new(rappor, rappor.bloom.cohorts() - 1, 1), value);
        }
    }
    // Two reports hang together through the permanent response.
    assert_sampled(&Repeated::new(rappor(3, 1, 2, [0.5, 0.1, 0.9]), 1, 2), "a string");
}

#[test]
fn the_analyzer_inverts_the_law() {
    for rappor in small() {
        for cohort in 0..rappor.bloom.cohorts() {
            let repeated = Repeated::new(rappor, cohort, 1);
            for value in ["", "a string"] {
                let truth = truth(repeated.filter(value), rappor.bloom.bits());
                assert_inverse(&repeated, value, &truth);
            }
        }
    }
}

/// The checks catch a client with this error: one that does it without the law knowing, and one
/// whose law knows it and whose claim does not.
fn assert_caught(bug: Bug, reports: usize) {
    let rappor = rappor(3, 1, 1, [0.5, 0.1, 0.9]);
    let strings = strings(&rappor.bloom);
    let inputs: Vec<&str> = strings.iter().map(String::as_str).collect();
    let planted = Repeated { sampler: bug, ..Repeated::new(rappor, 0, reports) };
    assert!(catch_unwind(|| assert_sampled(&planted, inputs[0])).is_err());
    let planted = Repeated { law: bug, ..planted };
    assert_sampled(&planted, inputs[0]);
    let claim = rappor.privacy().reports(reports as u64);
    assert!(catch_unwind(|| assert_local(&planted, &inputs, claim)).is_err());
}

// A client in use elsewhere never clears a bit that its string sets: reports with the bit at 0
// then say that the string is another one.
#[test]
fn true_bits_that_are_never_cleared_are_caught() {
    assert_caught(Bug::NeverCleared, 1);
}

#[test]
fn a_permanent_response_that_is_not_remembered_is_caught() {
    assert_caught(Bug::Forgetful, 2);
}

// With p in the place of p* every count gets f(q−p)/2 of every user, over q*−p*: half a user for
// each of the two.
#[test]
fn an_estimator_that_forgets_the_permanent_coin_is_caught() {
    let honest = Repeated::new(rappor(3, 1, 1, [0.5, 0.5, 0.75]), 0, 1);
    let truth = truth(honest.filter("a"), 3);
    assert_inverse(&honest, "a", &truth);
    let wrong = Planted::analyzer(&honest, |estimate| estimate.value += 1.0);
    assert!(catch_unwind(|| assert_inverse(&wrong, "a", &truth)).is_err());
}

// The lecture's Figure 9.2 shows 145 ones of 256 at h = 4, f = 0.5, q = 0.75. That fits
// p = 0.5, 144.5 expected, and not the printed p = 0.25, 97 expected.
#[test]
fn the_lectures_figure_was_drawn_with_p_one_half() {
    let ones = |p: f64| {
        let (zero, one) = rappor(256, 4, 1, [0.5, p, 0.75]).shown();
        4.0 * one + 252.0 * zero
    };
    assert!((ones(0.5) - 144.5).abs() < 1e-9 && (ones(0.25) - 97.0).abs() < 1e-9);
}

/// Counts one message without what batches are counted by. False if no client sends it.
fn counted_bit_by_bit(rappor: &Rappor, message: &[u64], cells: &mut [u64]) -> bool {
    let (bits, cohorts) = (rappor.bloom.bits() as usize, u64::from(rappor.bloom.cohorts()));
    let is_set = |bit: usize| message[1 + bit / 64] >> (bit % 64) & 1 == 1;
    let (words, width) = (rappor.words(), 64 * rappor.bloom.words());
    if message.len() != words || message[0] >= cohorts || (bits..width).any(is_set) {
        return false;
    }
    let cells = &mut cells[message[0] as usize * (bits + 1)..][..=bits];
    cells[0] += 1;
    (0..bits).for_each(|bit| cells[1 + bit] += u64::from(is_set(bit)));
    true
}

#[test]
fn batches_count_as_single_messages_do() {
    for (bits, cohorts) in [(16, 3), (70, 1), (128, 5), (512, 2)] {
        let rappor = rappor(bits, 2, cohorts, [0.3, 0.2, 0.9]);
        let mut rng = rng(2);
        let mut messages = Vec::new();
        for i in 0..3000 {
            rappor.encode(&format!("{}", i % 9), &mut rng, &mut messages).unwrap();
        }
        // Cohorts that are not there, and bits past the last.
        let words = rappor.words();
        messages[100 * words] = u64::from(cohorts);
        messages[200 * words] = u64::MAX;
        if bits % 64 != 0 {
            messages[300 * words + words - 1] |= 1 << (bits % 64);
        }
        // And a message that ends early.
        messages.pop();
        let expected = if bits % 64 == 0 { 3 } else { 4 };
        let mut cells = vec![0; rappor.cells()];
        let malformed = messages
            .chunks(words)
            .filter(|message| !counted_bit_by_bit(&rappor, message, &mut cells))
            .count();
        let mut tally = Tally::new(&rappor);
        tally.absorb(&rappor, &messages);
        assert_eq!((tally.malformed(), malformed), (expected, expected as usize));
        assert_eq!(tally.cells(), cells);
        let mut parts = Tally::new(&rappor);
        for part in messages.chunks(words * 700) {
            let mut tally = Tally::new(&rappor);
            tally.absorb(&rappor, part);
            parts.merge(&tally);
        }
        assert_eq!(parts, tally);
    }
}

#[test]
fn nonsense_is_refused() {
    let bloom = Bloom::new(8, 2, 1, 0).unwrap();
    for (p, q) in [(0.5, 0.5), (0.75, 0.5)] {
        assert!(Rappor::new(bloom, coin(0.5), coin(p), coin(q)).is_err());
    }
    // Anything at all is a message of 64 bits, and none is too long.
    let rappor = rappor(64, 2, 2, [0.5, 0.5, 0.75]);
    let mut cells = vec![0; rappor.cells()];
    assert!(rappor.absorb(&[1, rng(3).next_u64()], &mut cells).is_ok());
    for wrong in [&[][..], &[0], &[2, 0], &[0, 0, 0]] {
        assert!(rappor.absorb(wrong, &mut cells).is_err());
    }
}
