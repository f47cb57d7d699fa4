//! The checks of `split-and-mix`: its law, its noise, what shares hide, and who can ruin it.

use super::*;
use crate::testing::{
    OneByOne, Planted, assert_inverse, assert_inverse_within, assert_sampled, assert_view,
    binomial_tails, confidence, hockey_stick, join, rng,
};
use std::panic::catch_unwind;
use throng_account::{Dataset, Profile, Theorem};

fn calibrated(crowd: u64, epsilon: f64, delta: f64, grid: u32) -> SplitAndMix {
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
    SplitAndMix::fragile(Crowd::new(crowd).unwrap(), epsilon, delta, grid).unwrap()
}

/// Tiny parameters that no promise is made for, whose law can be enumerated.
fn tiny(crowd: u64, epsilon: f64, bits: u32, messages: usize) -> SplitAndMix {
    SplitAndMix {
        crowd,
        grid: 1,
        step: epsilon,
        bits,
        messages,
        capacity: crowd,
        share: NoiseShare::new(crowd, epsilon, 1e-14).unwrap(),
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(0.5).unwrap(),
        asked: (Epsilon::ZERO, Delta::new(0.5).unwrap()),
    }
}

/// `E[q^(C−1)] − 1` for two random groupings of n groups of m: the component of the first user
/// has size j with probability `κ_j·C(n−1, j−1)/C(nm, jm)`, κ_j that of j users being
/// connected.
fn exact_equations(users: usize, m: usize, q: f64) -> f64 {
    let mut ln_factorial = vec![0.0];
    for k in 1..=users * m {
        ln_factorial.push(ln_factorial[k - 1] + (k as f64).ln());
    }
    let ln_choose = |n: usize, k: usize| ln_factorial[n] - ln_factorial[k] - ln_factorial[n - k];
    let (mut connected, mut expected) = (vec![1.0, 1.0], vec![1.0, q]);
    let mut excess = 0.0;
    for n in 2..=users {
        let size = |j: usize| (ln_choose(n - 1, j - 1) - ln_choose(n * m, j * m)).exp();
        let sizes: Vec<f64> = (1..n).map(|j| connected[j] * size(j)).collect();
        connected.push(1.0 - sizes.iter().sum::<f64>());
        excess = (1..n).map(|j| sizes[j - 1] * (expected[n - j] - 1.0)).sum();
        expected.push(q * (1.0 + excess));
    }
    excess
}

/// The law of the messages of one user whose noisy value is `sum`, modulo any q.
fn messages_law(sum: u64, q: u64, m: u32) -> Law {
    let mut law = Law::new();
    for word in 0..q.pow(m - 1) {
        let mut report: Vec<u64> = (0..m - 1).map(|i| word / q.pow(i) % q).collect();
        report.push((sum + q * u64::from(m) - report.iter().sum::<u64>()) % q);
        report.sort_unstable();
        *law.entry(report).or_insert(0.0) += 1.0 / q.pow(m - 1) as f64;
    }
    law
}

#[test]
fn equal_sums_are_as_close_as_derived_over_all_datasets() {
    for (n, q, m) in [(2, 2, 3), (2, 5, 3), (2, 3, 4), (3, 2, 3), (3, 3, 3), (3, 2, 4), (4, 2, 3)] {
        let one: Vec<Law> = (0..q).map(|sum| messages_law(sum, q, m)).collect();
        // Each dataset by its sum.
        let mut bags = vec![(0, Law::from([(Vec::new(), 1.0)]))];
        for _ in 0..n {
            bags = bags
                .iter()
                .flat_map(|(sum, bag)| {
                    one.iter().zip(0..).map(move |(law, x)| ((sum + x) % q, join(bag, law, 1)))
                })
                .collect();
        }
        let mut worst = 0.0_f64;
        for (i, (sum, p)) in bags.iter().enumerate() {
            for (_, other) in bags[..i].iter().filter(|(other, _)| other == sum) {
                worst = worst.max(hockey_stick(p, other, Epsilon::ZERO));
            }
        }
        let derived = exact_equations(n as usize, m as usize - 1, q as f64).sqrt();
        assert!(worst > 0.0 && worst <= derived, "{n} {q} {m}: {worst} > {derived}");
        // What is claimed bounds the distance to a bag that is drawn from the sum alone, such as
        // the average over all datasets with that sum.
        let claimed = 0.5 * free_equations(n as usize, m as usize - 1, q as f64).sqrt();
        for sum in 0..q {
            let alike: Vec<&Law> =
                bags.iter().filter(|(other, _)| *other == sum).map(|(_, bag)| bag).collect();
            let mut average = Law::new();
            for (bag, p) in alike.iter().flat_map(|bag| bag.iter()) {
                *average.entry(bag.clone()).or_insert(0.0) += p / alike.len() as f64;
            }
            for bag in alike {
                let far = hockey_stick(bag, &average, Epsilon::ZERO);
                assert!(far <= claimed, "{n} {q} {m}: {far} > {claimed}");
            }
        }
    }
}

/// `E[q^(C−1)] − 1` by enumeration of every second grouping; the first may be any.
fn enumerated_equations(users: usize, m: usize, q: f64) -> f64 {
    fn place(left: &mut [usize], joined: &mut Vec<usize>, m: usize, total: &mut [f64; 2], q: f64) {
        if joined.len() == left.len() * m {
            let mut root: Vec<usize> = (0..left.len()).collect();
            for (thing, &group) in joined.iter().enumerate() {
                let (a, b) = (root[thing / m], root[group]);
                root.iter_mut().filter(|r| **r == a).for_each(|r| *r = b);
            }
            root.sort_unstable();
            root.dedup();
            *total = [total[0] + 1.0, total[1] + q.powi(root.len() as i32 - 1)];
            return;
        }
        for group in 0..left.len() {
            if left[group] > 0 {
                left[group] -= 1;
                joined.push(group);
                place(left, joined, m, total, q);
                joined.pop();
                left[group] += 1;
            }
        }
    }
    let mut total = [0.0; 2];
    place(&mut vec![m; users], &mut Vec::new(), m, &mut total, q);
    total[1] / total[0] - 1.0
}

#[test]
fn components_of_two_groupings_agree_with_enumeration() {
    for (users, m, q) in
        [(2, 1, 2.0), (2, 3, 5.0), (3, 2, 2.0), (3, 3, 64.0), (4, 2, 7.0), (4, 3, 2.0), (6, 1, 3.0)]
    {
        let enumerated = enumerated_equations(users, m, q);
        let exact = exact_equations(users, m, q);
        assert!((exact / enumerated - 1.0).abs() < 1e-10, "{users} {m} {q}: {exact} {enumerated}");
        assert!(free_equations(users, m, q) >= enumerated);
    }
    // Taking every set of users for connected costs little where there are enough messages.
    for (users, m) in [(19, 13), (30, 11), (100, 9)] {
        let (claimed, exact) =
            (free_equations(users, m, 65536.0), exact_equations(users, m, 65536.0));
        assert!(claimed >= exact && claimed <= 1.01 * exact, "{users} {m}: {claimed} {exact}");
    }
}

// Fourteen, twelve and ten messages where the published bound asks for 25, 21 and 15.
#[test]
fn small_crowds_need_few_messages_and_name_their_theorem() {
    for (crowd, fewest) in [(19, 14), (30, 12), (100, 10)] {
        let split = calibrated(crowd, 1.0, 1e-6, 1000);
        assert_eq!(split.messages(), fewest, "{crowd}");
        assert!(split.published_distance() > 1e-6);
        let profile = split.profile(Crowd::new(crowd).unwrap()).unwrap();
        assert_eq!(profile.theorem(), Theorem::SplitAndMix);
    }
}

#[test]
fn the_printed_distance_is_above_the_derived_one_from_nineteen_users_on() {
    for m in [3, 4, 5, 7, 9, 13] {
        for log_q in [1, 4, 8, 16, 24, 32, 40] {
            for n in [19, 20, 25, 40, 80] {
                let q = f64::from(log_q).exp2();
                let printed = q * (std::f64::consts::E / n as f64).powi(m - 2);
                if printed < 1.0 {
                    let derived = exact_equations(n, m as usize - 1, q);
                    assert!(derived <= 0.2 * printed, "{n} {m} {log_q}: {derived} {printed}");
                }
            }
        }
    }
}

// Balle et al. give twelve messages for ten thousand users, 32 bits and σ = 40.
#[test]
fn the_number_of_messages_is_the_published_one() {
    let sigma = |messages| {
        let exact = NoiseShare { distance: 0.0, ..NoiseShare::new(10_000, 1.0, 1e-9).unwrap() };
        let split =
            SplitAndMix { bits: 32, crowd: 10_000, share: exact, ..tiny(19, 1.0, 32, messages) };
        -(split.failure() / (1.0 + 1.0_f64.exp())).log2()
    };
    assert!(sigma(11) < 40.0 && sigma(12) >= 40.0, "{} {}", sigma(11), sigma(12));
}

#[test]
fn a_calibrated_protocol_keeps_its_promise_with_the_fewest_messages() {
    for (crowd, epsilon, delta, grid, messages, error) in [
        (10_000, 1.0, 1e-6, 100, 8, 1.51),
        (1_000_000, 1.0, 1e-6, 1000, 7, 1.51),
        (1_000_000, 0.1, 1e-9, 300, 7, 14.3),
        (19, 1.0, 1e-6, 10, 12, 1.44),
    ] {
        let split = calibrated(crowd, epsilon, delta, grid);
        let (e, d) = split.guarantee();
        assert!(e.get() <= epsilon && e.get() > epsilon * (1.0 - 1e-8));
        assert!(d.get() <= delta);
        let fewer = SplitAndMix { messages: split.messages - 1, ..split.clone() };
        assert!(fewer.failure() > delta);
        assert_eq!(split.messages(), messages, "{crowd}");
        assert!((split.standard_error(crowd as f64) - error).abs() < 0.01 * error);
        assert!(split.capacity() >= 2 * crowd);
        // The table's part of δ is the smaller one.
        assert!(split.share.distance * (crowd as f64) < 1e-3 * delta);
    }
}

#[test]
fn the_table_is_as_close_to_the_negative_binomial_law_as_it_says() {
    for (crowd, x) in [(19, 1.0), (1000, 0.1), (1_000_000, 0.01_f64)] {
        let share = NoiseShare::new(crowd, x, 1e-11).unwrap();
        let law = share.law();
        // Mean r·s/(1−s) and second factorial moment r(r+1)·(s/(1−s))²: not how it was made.
        let (r, odds) = (1.0 / crowd as f64, 1.0 / x.exp_m1());
        let moment = |f: fn(f64) -> f64| -> f64 {
            law.iter().enumerate().map(|(k, p)| f(k as f64) * p).sum()
        };
        assert!((moment(|k| k) / (r * odds) - 1.0).abs() < 1e-8);
        let second = r * (r + 1.0) * odds * odds;
        assert!((moment(|k| k * (k - 1.0)) / second - 1.0).abs() < 1e-6);
        let none = (r * (-(-x).exp_m1()).ln()).exp();
        assert!((law[0] - none).abs() <= share.distance.max(4.0 * f64::EPSILON));
        assert!(share.distance * crowd as f64 <= 1e-10);
    }
}

// Nineteen tables convolved, both sides: discrete Laplace to within the claimed distance.
#[test]
fn the_shares_of_a_crowd_add_up_to_laplace_noise() {
    let (crowd, x) = (19, 1.0_f64);
    let share = NoiseShare::new(crowd, x, 1e-13).unwrap();
    let (one, cut) = (share.law(), 80);
    let mut side = vec![0.0; cut];
    side[0] = 1.0;
    for _ in 0..crowd {
        let add = |k: usize| (0..=k).map(|j| side[k - j] * one.get(j).unwrap_or(&0.0)).sum();
        side = (0..cut).map(add).collect();
    }
    let mut distance = 0.0;
    for k in 0..cut {
        let mass: f64 = (k..cut).map(|j| side[j] * side[j - k]).sum();
        let exact = (0.5 * x).tanh() * (-x * k as f64).exp();
        distance += (mass - exact).abs() * if k == 0 { 0.5 } else { 1.0 };
    }
    assert!(distance <= share.distance * crowd as f64 + 1e-15, "{distance}");
}

/// The guarantee with the derived distance in place of the printed one, which needs 19 users.
struct Claim {
    epsilon: f64,
    distance: f64,
}

impl Profile for Claim {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let e = epsilon.get();
        // Discrete Laplace noise has δ(e) ≤ 1 − e^{(e−ε)/2} below its ε.
        let noise = (-(0.5 * (e - self.epsilon)).exp_m1()).max(0.0);
        Band { lower: 0.0, upper: noise + (1.0 + e.exp()) * self.distance }
    }
    fn pure(&self) -> Option<Epsilon> {
        None
    }
    fn theorem(&self) -> Theorem {
        unreachable!()
    }
    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        None
    }
}

// Also planted: noise shares of half the size, which the view of the whole bag gives away.
#[test]
fn the_whole_bag_of_a_tiny_crowd_keeps_the_promise() {
    for (crowd, bits, messages) in [(2, 1, 14), (3, 1, 9), (2, 2, 6)] {
        let split = tiny(crowd, 1.0, bits, messages);
        let free = exact_equations(crowd as usize, messages - 1, f64::from(1 << bits));
        let distance = free.sqrt() + split.share.distance * crowd as f64;
        let claim = Claim { epsilon: 1.0, distance };
        assert_view(&split, &[&0.0, &1.0], crowd as usize, &claim);
        if crowd == 2 && bits == 1 {
            let share = NoiseShare::new(2 * crowd, 1.0, 1e-14).unwrap();
            let planted = SplitAndMix { share, ..split };
            let view = || assert_view(&planted, &[&0.0, &1.0], 2, &claim);
            assert!(catch_unwind(view).is_err());
        }
    }
}

#[test]
fn the_sampler_follows_the_law() {
    assert_sampled(&tiny(19, 1.0, 3, 3), &0.3);
    assert_sampled(&tiny(2, 0.5, 2, 4), &1.0);
    let uneven = tiny(2, 0.5, 2, 4);
    let planted = Planted::sampler(&uneven, |_, report| report[0] &= 2);
    assert!(catch_unwind(|| assert_sampled(&planted, &1.0)).is_err());
}

#[test]
fn the_analyzer_inverts_the_law() {
    let split = tiny(19, 5.0, 4, 2);
    assert_inverse(&split, &0.5, &[0.5]);
    // Values on the grid are not rounded, but the claim allows for it.
    assert_inverse_within(&split, &0.0, &[0.0], 400.0);
    let planted = Planted::analyzer(&split, |estimate| estimate.value += 0.5);
    assert!(catch_unwind(|| assert_inverse(&planted, &0.5, &[0.5])).is_err());
}

#[test]
fn any_but_one_of_the_messages_are_uniform() {
    let law = messages_law(1, 3, 3);
    // Ordered reports: each pair of the first two is as likely, and the third makes up the sum.
    assert!(law.keys().all(|report| report.iter().sum::<u64>() % 3 == 1));
    let split = calibrated(1000, 1.0, 1e-6, 50);
    let (mut rng, mut report) = (rng(4), Vec::new());
    let (draws, m) = (20_000, split.messages());
    let mut high = vec![0; m];
    for _ in 0..draws {
        report.clear();
        split.encode(&0.25, &mut rng, &mut report).unwrap();
        for (count, message) in high.iter_mut().zip(&report) {
            *count += message >> (split.bits - 1);
        }
    }
    // Fails a correct sampler with probability below 1e-9.
    assert!(high.iter().all(|&count| binomial_tails(draws, 0.5, count) > 1e-11));
}

// 2,000 sums of 40 users, by their distance from the truth: exact binomial tails, which fail a
// correct sampler with probability below 1e-8.
#[test]
fn sums_of_whole_crowds_carry_laplace_noise() {
    let split = calibrated(40, 1.0, 1e-6, 1);
    let (mut rng, draws) = (rng(9), 2000);
    let mut observed = [0; 9];
    for _ in 0..draws {
        let mut messages = Vec::new();
        for user in 0..40 {
            split.encode(&f64::from(user % 2), &mut rng, &mut messages).unwrap();
        }
        let mut tally = Tally::new(&split);
        tally.absorb(&split, &messages);
        let noise = split.estimate(&tally, confidence())[0].value - 20.0;
        assert_eq!(noise, noise.round());
        if noise.abs() <= 4.0 {
            observed[(noise + 4.0) as usize] += 1;
        }
    }
    for (place, count) in observed.into_iter().enumerate() {
        let p = 0.5_f64.tanh() * (-(place as f64 - 4.0).abs()).exp();
        assert!(binomial_tails(draws, p, count) > 1e-10, "{place}: {count}");
    }
}

// The warning at the head of this file, as a fact.
#[test]
fn a_lost_message_or_a_liar_ruins_the_sum() {
    let split = calibrated(1000, 1.0, 1e-6, 50);
    let (mut rng, mut messages) = (rng(2), Vec::new());
    for _ in 0..1000 {
        split.encode(&0.5, &mut rng, &mut messages).unwrap();
    }
    let estimate = |messages: &[u64]| {
        let mut tally = Tally::new(&split);
        tally.absorb(&split, messages);
        split.estimate(&tally, confidence())[0]
    };
    let whole = estimate(&messages);
    // Below 1e-8 for Laplace noise and rounding.
    assert!((whole.value - 500.0).abs() < 40.0 && whole.standard_error < 1.5);

    let lost = estimate(&messages[1..]);
    assert!((lost.value - 500.0).abs() > 40.0 && lost.standard_error == f64::INFINITY);
    // A liar adds what it likes, and nothing shows.
    messages[0] = (messages[0] + 50 * 300) & split.mask();
    let forged = estimate(&messages);
    assert!((forged.value - whole.value - 300.0).abs() < 1e-6);
    assert_eq!(forged.standard_error, whole.standard_error);
    // Too many reports for q, and a malformed message.
    let many = vec![0; split.messages() * (split.capacity() as usize + 1)];
    assert_eq!(estimate(&many).half_width(), f64::INFINITY);
    messages.push(split.mask() + 1);
    assert_eq!(estimate(&messages).half_width(), f64::INFINITY);
}

#[test]
fn a_batch_counts_like_its_messages_one_by_one() {
    let split = calibrated(100, 1.0, 1e-6, 10);
    let messages: Vec<u64> = (0..2000).map(|i| i * 0x1_0001).collect();
    let (mut one, mut all) = ([0], [0]);
    let refused = messages.iter().filter(|&&m| split.absorb(&[m], &mut one).is_err()).count();
    assert_eq!(split.absorb_batch(&messages, &mut all), refused as u64);
    assert!(refused > 0 && one == all);
}

#[test]
fn nonsense_is_refused() {
    let fragile = |crowd, epsilon, delta, grid| {
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        SplitAndMix::fragile(Crowd::new(crowd).unwrap(), epsilon, delta, grid)
    };
    assert!(matches!(fragile(18, 1.0, 1e-6, 10), Err(Error::Account(_))));
    assert!(fragile(100, 1.0, 1e-6, 0).is_err());
    assert!(fragile(100, 1.0, 1e-6, 1 << 20).is_err());
    assert!(fragile(100, 0.0, 1e-6, 10).is_err());
    assert!(fragile(100, 1.0, 1e-16, 10).is_err());
    let mut report = Vec::new();
    let split = fragile(100, 1.0, 1e-6, 10).unwrap();
    assert!(split.encode(&f64::NAN, &mut rng(1), &mut report).is_err());
    assert!(split.encode(&1.5, &mut rng(1), &mut report).is_err() && report.is_empty());
    assert!(split.absorb(&[split.mask() + 1], &mut [0]).is_err());
    assert!(WideCatalogue::new([u128::MAX, 1]).is_none());
}

// Over many epochs each release has an ε for which the usual grid is too fine.
#[test]
fn a_small_epsilon_takes_a_coarser_grid() {
    let crowd = Crowd::new(1_000).unwrap();
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    let ask = Ask::new(Question::Real, crowd, epsilon, delta).with_fragile(true).with_epochs(60);
    let found = ask.calibrate(crate::Key::SplitAndMix).unwrap();
    // √2/ε₁ with all of ε shared out evenly, and less as most of them never show their worst.
    assert!(found.standard_error(1e3) < 60.0 * 2_f64.sqrt(), "{}", found.standard_error(1e3));
}
