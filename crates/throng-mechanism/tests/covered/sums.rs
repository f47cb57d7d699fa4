//! Sums of numbers, all of them at an end, midway between points of the grid, which rounds the
//! most, or near an end.

use crate::{assert_covered, assert_shifted, coin, difference, from_cells, sum};
use throng_account::{Crowd, Delta, Epsilon};
use throng_mechanism::{Claims, LaplaceMean, Protocol, SlicedSum, SplitAndMix, UnarySum};

/// The law of a value on a grid, rounded at random, from 0 on.
fn rounded(value: f64, grid: u32) -> Vec<f64> {
    let scaled = value * f64::from(grid);
    let mut law = vec![0.0; scaled.floor() as usize];
    law.extend([1.0 - scaled.fract(), scaled.fract()]);
    law
}

/// Values whose rounding differs the most.
fn values(grid: u32) -> [f64; 4] {
    let step = 1.0 / f64::from(grid);
    [0.0, 1.0, 0.5 * step, 0.1 * step]
}

#[test]
fn flipped_bits_of_values() {
    for n in [1_usize, 2, 5, 20, 100, 300] {
        for bits in [1_u32, 2, 7, 100] {
            for b in [0.0005, 0.01, 0.1, 0.4] {
                if bits == 100 && n > 20 {
                    continue;
                }
                let m = UnarySum::new(bits, coin(b)).unwrap();
                let r = f64::from(bits);
                for value in values(bits).into_iter().chain([0.5]) {
                    let one = |bit: u32| {
                        let share = (value * r - f64::from(bit)).clamp(0.0, 1.0);
                        share * (1.0 - b) + (1.0 - share) * b
                    };
                    let laws: Vec<[f64; 2]> =
                        (0..bits).map(|bit| [1.0 - one(bit), one(bit)]).collect();
                    let parts: Vec<(usize, &[f64])> =
                        laws.iter().map(|law| (n, &law[..])).collect();
                    let (truth, all) = (n as f64 * value, n as u64 * u64::from(bits));
                    let about = format!("sum of {n} at {value}, {bits} bits, {b}");
                    assert_covered(&about, truth, &sum(&parts), |c, at| {
                        from_cells(&m, all, &[(0, c)], at)
                    });
                }
            }
        }
    }
}

#[test]
fn values_with_laplace_noise() {
    for (grid, num, den, most) in [(2, 2, 1, 40), (4, 1, 2, 40), (10, 1, 5, 10), (50, 1, 50, 2)] {
        let m = LaplaceMean::new(grid, num, den).unwrap();
        for n in [1_usize, 2, 3, 10, 40].into_iter().filter(|&n| n <= most) {
            for value in values(grid) {
                let law: Vec<f64> = {
                    let law = m.law(&value);
                    let last = *law.keys().next_back().unwrap().first().unwrap();
                    (0..=last)
                        .map(|message| law.get(&vec![message]).copied().unwrap_or(0.0))
                        .collect()
                };
                let about = format!("laplace-mean {n} at {value}, {grid}, {num}/{den}");
                assert_shifted(&about, n as f64 * value, &sum(&[(n, &law)]), |c, at| {
                    from_cells(&m, n as u64, &[(0, c)], at)
                });
            }
        }
    }
}

// A rare coin of the highest level is nearly all of the noise.
#[test]
fn digits_of_values_among_coins() {
    for (chances, slots) in [
        (vec![0.4], 1_u32),
        (vec![0.1, 0.05], 2),
        (vec![0.05, 0.05, 0.05, 0.05], 2),
        (vec![0.01, 0.02, 0.03, 0.02, 0.01], 3),
        (vec![0.002; 6], 1),
        // More levels than the law is worked out for.
        (vec![0.02; 11], 2),
    ] {
        let weights = chances.iter().map(|&p| coin(p).get()).collect();
        let m = SlicedSum::new(weights, slots).unwrap();
        let top = (1 << chances.len()) - 1;
        // A slot, in halves of the grid's step, from −2^(b−1) on.
        let middle = 1_usize << (chances.len() - 1);
        let mut slot = vec![0.0; 2 * middle + 1];
        slot[middle] = 1.0 - chances.iter().sum::<f64>();
        for (j, p) in chances.iter().enumerate() {
            slot[middle + (1 << j)] += 0.5 * p;
            slot[middle - (1 << j)] += 0.5 * p;
        }
        let most = if top > 500 { 1 } else { 100 };
        for n in [1_usize, 2, 5, 20, 100].into_iter().filter(|&n| n <= most) {
            let copies = n * slots as usize;
            let noise = sum(&[(copies, &slot)]);
            for value in values(top) {
                // Twice the rounded values, and the coins.
                let twice: Vec<f64> = rounded(value, top).iter().flat_map(|&p| [p, 0.0]).collect();
                let law = sum(&[(1, &noise), (n, &twice)]);
                let zero = (copies * middle) as u64 + n as u64 * u64::from(top);
                let about = format!("sliced-sum {n} at {value}, {chances:?}, {slots}");
                assert_shifted(&about, n as f64 * value, &law, |c, at| {
                    from_cells(&m, (n * m.messages()) as u64, &difference([1, 0], c, zero), at)
                });
            }
        }
    }
}

// Laplace noise in all, or of half as many users again.
#[test]
fn shares_of_values() {
    for (crowd, grid, epsilon) in [(19, 4, 1.0), (19, 1, 3.0), (30, 20, 0.5)] {
        let (eps, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(1e-4).unwrap());
        let m = SplitAndMix::fragile(Crowd::new(crowd).unwrap(), eps, delta, grid).unwrap();
        let x = epsilon / f64::from(grid);
        for n in [crowd as usize, crowd as usize * 3 / 2] {
            let share = negative_binomial(n as f64 / crowd as f64, x);
            // One side less the other.
            let minus: Vec<f64> = share.iter().rev().copied().collect();
            let noise = sum(&[(1, &share), (1, &minus)]);
            let middle = minus.len() as u64 - 1;
            for value in values(grid) {
                let law = sum(&[(1, &noise), (n, &rounded(value, grid))]);
                let about = format!("split-and-mix {n} of {crowd} at {value}, {grid}, {epsilon}");
                assert_shifted(&about, n as f64 * value, &law, |c, at| {
                    let bits = m.message_bits();
                    let sum = c.wrapping_sub(middle) & ((1 << bits) - 1);
                    from_cells(&m, (n * m.messages()) as u64, &[(0, sum)], at)
                });
            }
        }
    }
}

/// `P[k] = C(k + r − 1, k)·(1 − s)^r·s^k`, s = e^−x.
fn negative_binomial(r: f64, x: f64) -> Vec<f64> {
    let s = (-x).exp();
    let mut law = vec![(1.0 - s).powf(r)];
    while law.len() < (40.0 / x) as usize {
        let k = law.len() as f64;
        law.push(law[law.len() - 1] * s * (k + r - 1.0) / k);
    }
    law
}
