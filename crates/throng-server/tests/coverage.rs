//! The intervals at the end of the chain hold the truth as often as they say.

mod common;

use common::Setup;
use throng_account::tail::success_band;
use throng_account::{Delta, Probability, Threshold};
use throng_mechanism::{BinaryResponse, Mechanism, Value};

/// 200 collections with crowds of 60 to 99 people, of whom 1 in 4 to all say yes, through one mix.
/// The 95 % interval holds the truth at least so often, up to the error of 200 draws: an exact
/// binomial band that fails a correct chain with probability at most 1e-7.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let flip = Threshold::at_least(Probability::new("flip", 0.1).unwrap());
    let mechanism = Mechanism::BitSum(BinaryResponse::new(flip).unwrap());
    let setup = Setup { mixes: 1, crowd: 60, epochs: 1, mechanism, ..Setup::default() };
    let mut held = 0;
    for seed in 0..RUNS {
        let mut network = setup.network(seed);
        let people = 60 + seed % 40;
        let yes = people * (1 + seed % 4) / 4;
        let mechanism = network.collection.terms.mechanism.clone();
        let mut words = Vec::new();
        for person in 0..people {
            mechanism.encode(Value::Bit(person < yes), &mut network.rng, &mut words).unwrap();
        }
        network.upload(0, words.iter().map(|word| *word as u8));
        network.close(0);
        network.run();
        let release = network.releases().remove(0);
        assert_eq!(release["reports"], people);
        assert_eq!(release["confidence"], 0.95);
        let interval = release["estimates"][0]["interval"].as_array().unwrap();
        let bounds = [0, 1].map(|end: usize| interval[end].as_f64().unwrap());
        held += u64::from((bounds[0]..=bounds[1]).contains(&(yes as f64)));
    }
    let band = success_band(held, RUNS, Delta::new(1e-7).unwrap());
    println!("{held} of {RUNS}: {:.3} to {:.3}", band.lower, band.upper);
    assert!(band.upper >= 0.95, "{held} of {RUNS}");
}

const RUNS: u64 = 200;
