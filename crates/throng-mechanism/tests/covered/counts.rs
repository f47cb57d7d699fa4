//! Counts of users who hold a bit.

use crate::{assert_covered, assert_shifted, coin, difference, from_cells, holders, sum};
use throng_account::profile::Bursts;
use throng_mechanism::{BinaryResponse, BurstCount, CoinCount, Protocol, TwoMessageCount};

#[test]
fn flipped_bits() {
    for n in [1, 2, 3, 5, 10, 30, 100, 400, 2_600] {
        for b in [0.001, 0.01, 0.1, 0.3, 0.45] {
            let m = BinaryResponse::new(coin(b)).unwrap();
            for held in holders(n) {
                let law = sum(&[(held, &[b, 1.0 - b]), (n - held, &[1.0 - b, b])]);
                assert_covered(&format!("bit-sum {n} {b}"), held as f64, &law, |c, at| {
                    from_cells(&m, n as u64, &[(0, c)], at)
                });
            }
        }
    }
}

#[test]
fn bits_beside_a_coin() {
    for n in [1_usize, 2, 3, 5, 20, 100, 600, 3_000] {
        for p in [0.001, 0.01, 0.1, 0.4] {
            let m = TwoMessageCount::new(coin(p));
            for held in holders(n) {
                let law = sum(&[(held, &[0.0, 1.0]), (n, &[1.0 - p, p])]);
                assert_covered(
                    &format!("two-message-count {n} {p}"),
                    held as f64,
                    &law,
                    |c, at| from_cells(&m, 2 * n as u64, &[(0, c)], at),
                );
            }
        }
    }
}

#[test]
fn bits_among_coins() {
    for n in [1_usize, 2, 3, 5, 20, 100, 700] {
        for (slots, p) in [(1, 0.001), (2, 0.05), (2, 0.3), (1, 0.9)] {
            let m = CoinCount::new(slots, coin(p)).unwrap();
            let slot = [0.5 * p, 1.0 - p, 0.5 * p];
            let (copies, messages) = (n * slots as usize, n as u64 * u64::from(slots + 1));
            for held in holders(n) {
                // Ones less zeros: a bit is 1 or −1.
                let bits = [(held, &[0.0, 0.0, 1.0][..]), (n - held, &[1.0][..])];
                let law = sum(&[bits[0], bits[1], (copies, &slot)]);
                assert_shifted(&format!("coin-count {n} {p}"), held as f64, &law, |c, at| {
                    from_cells(&m, messages, &difference([1, 0], c, messages), at)
                });
            }
        }
    }
}

// The last catalogue is Laplace noise of scale 20, cut at 120: its deviation of 28 is wide, and its
// tails are far from normal.
#[test]
fn bits_and_bursts() {
    for n in [1_usize, 2, 5, 20, 100, 1_000] {
        for (scale, slots, rate) in [(0.3, 4, 1.0), (1.0, 6, 0.2), (3.0, 12, 1.0), (20.0, 120, 1.0)]
        {
            let (m, law) = bursts(n, scale, slots, rate);
            let noise = sum(&[(n, &law)]);
            let messages = (n * m.messages()) as u64;
            for held in holders(n) {
                let law = [vec![0.0; held], noise.clone()].concat();
                let about = format!("burst-count {n}, scale {scale}, rate {rate}");
                assert_shifted(&about, held as f64, &law, |c, at| {
                    from_cells(&m, messages, &difference([1, 0], c, (n * slots) as u64), at)
                });
            }
        }
    }
}

/// Bursts that are Laplace noise of this scale in all, but for those that are too long, and as much
/// of it as `rate` says; and the law of those of one user, from −slots on.
fn bursts(n: usize, scale: f64, slots: usize, rate: f64) -> (BurstCount, Vec<f64>) {
    // No more than every user can send.
    let chance = |k: usize| {
        let all: f64 = (1..=slots).map(|k| (-(k as f64) / scale).exp() / k as f64).sum();
        (-(k as f64) / scale).exp() / k as f64 * (rate / n as f64).min(0.45 / all)
    };
    let weights: Vec<u64> = (1..=slots).map(|k| coin(chance(k)).get()).collect();
    let events = Bursts::new(vec![1 << 60], weights.clone(), weights.clone()).unwrap();
    let mut law: Vec<f64> = weights.iter().rev().map(|&weight| weight as f64 / TWO_64).collect();
    law.push(0.0);
    law.extend(weights.iter().map(|&weight| weight as f64 / TWO_64));
    law[slots] = 1.0 - law.iter().sum::<f64>();
    (BurstCount::new(events).unwrap(), law)
}

const TWO_64: f64 = 18_446_744_073_709_551_616.0;
