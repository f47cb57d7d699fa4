//! A fuzz target, and the short run of it that the test suite makes.

use crate::mutate::Mutator;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::thread;

/// A decoder under test.
pub struct Target {
    /// The name of the binary and of the corpus.
    pub name: &'static str,
    /// Inputs of the short run.
    pub rounds: u32,
    /// Inputs that are valid, and inputs that have been trouble.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Panics if the decoder does, or if it breaks its word.
    pub body: fn(&[u8]),
}

impl Target {
    /// Runs the seeds as they are, then mutations of them. The inputs are the same in every run,
    /// unless `THRONG_FUZZ_SEED` is another number or `fresh`.
    pub fn smoke(&self) {
        let (seeds, number) = ((self.seeds)(), number());
        let mut mutator = Mutator::new(number);
        for seed in &seeds {
            self.watch(number, seed);
        }
        for _ in 0..self.rounds {
            self.watch(number, &mutator.mutate(&seeds));
        }
    }

    fn watch(&self, number: u64, input: &[u8]) {
        let _witness = Witness { name: self.name, number, input };
        (self.body)(input);
    }
}

/// Says what the input was when the body panics.
struct Witness<'a> {
    name: &'static str,
    number: u64,
    input: &'a [u8],
}

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self { name, number, input } = self;
            eprintln!("{name}, THRONG_FUZZ_SEED={number}: {}", throng_wire::hex(input));
        }
    }
}

/// The number that mutations start from.
fn number() -> u64 {
    match env::var("THRONG_FUZZ_SEED").as_deref() {
        Ok("fresh") => {
            let number = RandomState::new().hash_one("seed");
            println!("THRONG_FUZZ_SEED={number}");
            number
        }
        Ok(number) => number.parse().expect("THRONG_FUZZ_SEED is a number or `fresh`"),
        Err(_) => 1,
    }
}
