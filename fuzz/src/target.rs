//! A fuzz target, and the short run of it that the test suite makes.

use crate::mutate::Mutator;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::{env, fs, thread};

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
    /// Runs the seeds and the corpus as they are, then mutations of them. The inputs are the same
    /// in every run, unless `THRONG_FUZZ_SEED` is another number or `fresh`.
    pub fn smoke(&self) {
        let (mut inputs, number) = ((self.seeds)(), number());
        let corpus = self.corpus(Path::new(CORPORA));
        assert!(!corpus.is_empty(), "there is no corpus of {}", self.name);
        inputs.extend(corpus);
        let mut mutator = Mutator::new(number);
        for input in &inputs {
            self.watch(number, input);
        }
        for _ in 0..self.rounds {
            self.watch(number, &mutator.mutate(&inputs));
        }
    }

    /// The inputs that long runs found, from the directory of all corpora.
    pub fn corpus(&self, corpora: &Path) -> Vec<Vec<u8>> {
        let files = fs::read_dir(corpora.join(self.name)).into_iter().flatten();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        let read = |file| parts(&fs::read(file).unwrap()).map(<[u8]>::to_vec).collect::<Vec<_>>();
        files.iter().flat_map(read).collect()
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

/// The inputs in a file, with three dashes on a line of their own between them.
fn parts(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(file);
    std::iter::from_fn(move || {
        let all = rest.take()?;
        let Some(end) = all.windows(BETWEEN.len()).position(|here| here == BETWEEN) else {
            return Some(all);
        };
        rest = Some(&all[end + BETWEEN.len()..]);
        Some(&all[..end])
    })
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

/// The directory of all corpora, seen from a crate.
const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");

/// The end of one input and the beginning of the next.
const BETWEEN: &[u8] = b"\n---\n";
