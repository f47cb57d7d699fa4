//! The auditor agrees with honest mechanisms and catches weakened ones.
//!
//! Each audit is wrong with probability at most 1e-6.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Crowd, Delta, Epsilon};
use throng_mechanism::{Ask, Attack, Audit, Key, Kind, Mechanism, Question};

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
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
    Ask::new(question, Crowd::new(n).unwrap(), epsilon, delta)
        .with_max_messages(30)
        .with_fragile(true)
}

/// A question and a crowd for every mechanism, and how much rarer its noise is made.
fn cases() -> impl Iterator<Item = (Key, Question, u64, f64)> {
    Key::ALL.into_iter().map(|key| {
        let question = match key.kind() {
            Kind::Bit => Question::Bit,
            Kind::Real => Question::Real,
            Kind::Category if key == Key::BurstHistogram => Question::Category { size: 2 },
            Kind::Category => Question::Category { size: 4 },
            Kind::Text => Question::Text { bits: 8, hashes: 1, cohorts: 1 },
            Kind::Attributes => Question::Attributes { count: 3 },
            Kind::State => Question::State { periods: 2, changes: 1 },
        };
        let tuned = TUNED.iter().find(|(tuned, ..)| *tuned == key);
        let (n, factor) = tuned.map_or((60, 6.0), |(_, n, factor)| (*n, *factor));
        (key, question, n, factor)
    })
}

/// The keys for which so few runs need another crowd or another factor than the usual ones.
const TUNED: [(Key, u64, f64); 16] = [
    (Key::RandomizedResponse, 60, 4.0),
    (Key::BitSum, 60, 4.0),
    (Key::TwoMessageCount, 100, 4.0),
    (Key::CoinCount, 100, 4.0),
    (Key::BurstCount, 400, 4.0),
    (Key::OneBitMean, 60, 4.0),
    (Key::RealSum, 60, 8.0),
    (Key::SlicedSum, 100, 8.0),
    (Key::LaplaceMean, 4, 8.0),
    (Key::SplitAndMix, 40, 4.0),
    (Key::KaryResponse, 60, 8.0),
    (Key::SubsetSelection, 4, 20.0),
    (Key::AdditiveHistogram, 100, 6.0),
    (Key::BurstHistogram, 500, 10.0),
    (Key::Rappor, 3, 20.0),
    (Key::Longitudinal, 1, 30.0),
];

#[test]
fn honest_mechanisms_pass() {
    for (key, question, n, _) in cases() {
        let ask = ask(question, n, 1.0, 1e-2);
        let mechanism = ask.calibrate(key).unwrap();
        let found = audit(&ask, &mechanism, &mechanism, 4_000);
        assert!(found.broken().next().is_none(), "{key}: {:?}", found.broken().next());
        assert!(found.epsilon_lower <= 1.0, "{key}: {}", found.epsilon_lower);
    }
}

#[test]
fn weakened_mechanisms_are_caught() {
    for (key, question, n, factor) in cases() {
        let ask = ask(question, n, 1.0, 1e-2);
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
