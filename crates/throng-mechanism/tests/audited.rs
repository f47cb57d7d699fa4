//! The auditor agrees with honest mechanisms and catches weakened ones.
//!
//! Each audit is wrong with probability at most 1e-6.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Crowd, Delta, Epsilon};
use throng_mechanism::{Ask, Attack, Audit, Key, Mechanism, Question};

/// Runs the attack on `real` against what `claimed` claims.
fn audit(ask: &Ask, claimed: &Mechanism, real: &Mechanism, runs: usize) -> Audit {
    let claim = claimed.profile(ask.crowd).unwrap();
    let mut rng = ChaCha12Rng::seed_from_u64(11);
    let attack = Attack::new(real, ask.crowd, &*claim, &mut rng).unwrap();
    let [one, other] = [0, 1]
        .map(|world| (0..runs).map(|_| attack.run(world, &mut rng).unwrap()).collect::<Vec<_>>());
    Audit::judge(&one, &other, &*claim, ask.delta, Delta::new(1e-6).unwrap()).unwrap()
}

fn ask(question: Question, n: u64, epsilon: f64, delta: f64) -> Ask {
    Ask {
        question,
        reports: n,
        crowd: Crowd::new(n).unwrap(),
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        max_messages: 30,
        local_floor: None,
        fragile: true,
    }
}

/// A question, crowd and promise for every mechanism, and how much rarer its noise is made.
fn cases() -> Vec<(Key, Question, u64, f64, f64)> {
    let few = Question::Category { size: 4 };
    let text = Question::Text { bits: 8, hashes: 1, cohorts: 1 };
    let state = Question::State { periods: 2, changes: 1 };
    vec![
        (Key::RandomizedResponse, Question::Bit, 60, 1.0, 4.0),
        (Key::BitSum, Question::Bit, 60, 1.0, 4.0),
        (Key::TwoMessageCount, Question::Bit, 100, 1.0, 4.0),
        (Key::CoinCount, Question::Bit, 100, 1.0, 4.0),
        (Key::BurstCount, Question::Bit, 400, 1.0, 4.0),
        (Key::OneBitMean, Question::Real, 60, 1.0, 4.0),
        (Key::RealSum, Question::Real, 60, 1.0, 8.0),
        (Key::SlicedSum, Question::Real, 100, 1.0, 8.0),
        (Key::LaplaceMean, Question::Real, 4, 1.0, 8.0),
        (Key::SplitAndMix, Question::Real, 40, 1.0, 4.0),
        (Key::KaryResponse, few, 60, 1.0, 8.0),
        (Key::SubsetSelection, few, 4, 1.0, 20.0),
        (Key::Histogram, few, 60, 1.0, 6.0),
        (Key::AdditiveHistogram, few, 100, 1.0, 6.0),
        (Key::BurstHistogram, Question::Category { size: 2 }, 500, 1.0, 10.0),
        (Key::Selection, Question::Attributes { count: 3 }, 60, 1.0, 6.0),
        (Key::Rappor, text, 3, 1.0, 20.0),
        (Key::Longitudinal, state, 1, 1.0, 30.0),
    ]
}

#[test]
fn honest_mechanisms_pass() {
    for (key, question, n, epsilon, _) in cases() {
        let ask = ask(question, n, epsilon, 1e-2);
        let mechanism = ask.calibrate(key).unwrap();
        let found = audit(&ask, &mechanism, &mechanism, 4_000);
        assert!(found.broken().next().is_none(), "{key}: {:?}", found.broken().next());
        assert!(found.epsilon_lower <= epsilon, "{key}: {}", found.epsilon_lower);
    }
}

#[test]
fn weakened_mechanisms_are_caught() {
    for (key, question, n, epsilon, factor) in cases() {
        let ask = ask(question, n, epsilon, 1e-2);
        let mechanism = ask.calibrate(key).unwrap();
        let weakened = mechanism.weakened(factor).unwrap();
        let found = audit(&ask, &mechanism, &weakened, 6_000);
        assert!(found.broken().next().is_some(), "{key} with a {factor}th of its noise passes");
    }
}

// A bound that is certified with so few runs stays well below ε = 1, but is not nothing.
#[test]
fn the_lower_bound_is_worth_something() {
    let ask = ask(Question::Bit, 20, 1.0, 5e-2);
    let mechanism = ask.calibrate(Key::BitSum).unwrap();
    let found = audit(&ask, &mechanism, &mechanism, 100_000);
    assert!((0.4..1.0).contains(&found.epsilon_lower), "{}", found.epsilon_lower);
}
