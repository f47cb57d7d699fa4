//! The auditor agrees with honest mechanisms and catches weakened ones.
//!
//! Each audit is wrong with probability at most 1e-6.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Crowd, Delta, Epsilon, Profile};
use throng_mechanism::{Ask, Attack, Audit, Design, Key, Kind, Mechanism, Question};

/// Chooses tails by a pilot of a weak mechanism, and holds `client` against what `claimed` claims.
fn audit(ask: &Ask, claimed: &Mechanism, client: &Mechanism, runs: u64) -> Audit {
    let claim = claimed.profile(ask.crowd).unwrap();
    let mut rng = ChaCha12Rng::seed_from_u64(11);
    let attack = Attack::new(claimed, ask.crowd, &*claim, &mut rng).unwrap();
    let design = design(&attack, &*claim, ask.delta, &mut rng);
    let evidence = design.gather(&attack, client, runs, &mut rng).unwrap();
    design.judge(&attack, &evidence, Delta::new(1e-6).unwrap()).unwrap()
}

fn design(attack: &Attack<'_>, claim: &dyn Profile, delta: Delta, rng: &mut ChaCha12Rng) -> Design {
    let weak = attack.claimed().weakened(1.5).unwrap();
    Design::new(claim, &attack.pilot(&weak, 1_000, rng).unwrap(), delta).unwrap()
}

fn ask(question: Question, n: u64, epsilon: f64, delta: f64) -> Ask {
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
    Ask::new(question, Crowd::new(n).unwrap(), epsilon, delta)
        .with_max_messages(30)
        .with_fragile(true)
}

/// A question and a crowd for every mechanism.
fn cases() -> impl Iterator<Item = (Key, Question, u64)> {
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
        let n = match key {
            Key::BurstCount => 400,
            Key::BurstHistogram => 500,
            _ => 100,
        };
        (key, question, n)
    })
}

#[test]
fn honest_mechanisms_pass_and_a_factor_of_1_3_is_caught() {
    for (key, question, n) in cases() {
        let ask = ask(question, n, 1.0, 1e-2);
        let mechanism = ask.calibrate(key).unwrap();
        let found = audit(&ask, &mechanism, &mechanism, 1_500);
        assert!(found.consistent(), "{key}: {found:?}");
        // Answers of one user per run tell less than those of everyone.
        let runs = if key == Key::Longitudinal { 15_000 } else { 1_500 };
        let weakened = mechanism.weakened(1.3).unwrap();
        let found = audit(&ask, &mechanism, &weakened, runs);
        assert!(!found.keeps_law(), "{key} with noise weaker by 1.3 passes: {:?}", found.laws);
    }
}

// Where the claim is tight, the worlds themselves tell.
#[test]
fn the_profile_alone_convicts_where_the_claim_is_tight() {
    let ask = ask(Question::Bit, 200, 1.0, 1e-4);
    for (key, factor) in [(Key::BitSum, 1.5), (Key::CoinCount, 1.5), (Key::BurstCount, 1.5)] {
        let mechanism = ask.calibrate(key).unwrap();
        let weakened = mechanism.weakened(factor).unwrap();
        let found = audit(&ask, &mechanism, &weakened, 30_000);
        assert!(!found.keeps_profile(), "{key}: {:?}", found.findings.first());
        assert!(audit(&ask, &mechanism, &mechanism, 30_000).keeps_profile(), "{key}");
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

// The rate of false alarms is a theorem; this is the rule at work. Ten thousand audits of two
// honest mechanisms at the command's own confidence accuse none, and at a failure of one half,
// which the exact limits do not use up, fewer than half are accused.
#[test]
fn an_honest_mechanism_is_not_accused_in_ten_thousand_audits() {
    for key in [Key::BitSum, Key::CoinCount] {
        let ask = ask(Question::Bit, 12, 1.0, 5e-2);
        let mechanism = ask.calibrate(key).unwrap();
        let claim = mechanism.profile(ask.crowd).unwrap();
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        let attack = Attack::new(&mechanism, ask.crowd, &*claim, &mut rng).unwrap();
        let design = design(&attack, &*claim, ask.delta, &mut rng);
        let [strict, loose] = [1e-5, 0.5].map(|failure| Delta::new(failure).unwrap());
        let mut accused = [0; 2];
        for _ in 0..5_000 {
            let evidence = design.gather(&attack, &mechanism, 100, &mut rng).unwrap();
            for (count, failure) in accused.iter_mut().zip([strict, loose]) {
                let audit = design.judge(&attack, &evidence, failure).unwrap();
                *count += u32::from(!audit.consistent());
            }
        }
        assert_eq!(accused[0], 0, "{key}");
        assert!((1..2_500).contains(&accused[1]), "{key}: {}", accused[1]);
    }
}
