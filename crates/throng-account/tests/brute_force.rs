//! The bounds against exhaustive enumeration: random extremal randomizers, every dataset, both
//! directions, adaptive slots included. A bound that is too small anywhere fails here.

use std::collections::BTreeMap;
use throng_account::profile::{BitSum, Blanket, ClonePair, LaplaceBlanket};
use throng_account::{Crowd, Epsilon, Probability, Profile};

/// A randomizer as a table: `channel[input][output]`.
type Channel = Vec<Vec<f64>>;

#[test]
fn no_random_extremal_channel_exceeds_the_clone_pair() {
    let mut rng = SplitMix(1);
    let (mut checks, mut closest) = (0_u64, 0.0_f64);
    for round in 0..1_500 {
        let p = [1.05, 1.5, 2.0, 2.8, 5.0, 20.0][round % 6];
        let channel = extremal_channel(&mut rng, 2 + round % 3, 2 + round % 4, p);
        let n = 1 + round as u64 % 5;
        for epsilon in thresholds(n, p) {
            let bound = pair(n, p).delta(epsilon).upper;
            for delta in all_datasets(&channel, n as usize, epsilon.get().exp()) {
                assert!(
                    delta <= bound + 1e-14,
                    "{channel:?}, n = {n}, {epsilon:?}: {delta} > {bound}"
                );
                checks += 1;
                closest = closest.max(delta / bound.max(1e-12));
            }
        }
    }
    // The test has power: the bound is attained, so one that is smaller would have failed.
    assert!(closest > 0.999_999, "closest {closest}");
    assert!(checks > 200_000, "{checks} checks");
}

#[test]
fn no_adaptive_sequence_of_slots_exceeds_the_clone_pair() {
    let mut rng = SplitMix(2);
    let mut closest = 0.0_f64;
    for round in 0..800 {
        let p = [1.3, 2.0, 4.0, 12.0][round % 4];
        let (n, inputs, outputs) = (2 + round % 2, 2 + round % 2, 2 + round % 2);
        // One channel per slot and history, drawn anew for each history.
        let histories = (0..n as u32).map(|slot| outputs.pow(slot)).sum();
        let tree: Vec<Channel> =
            (0..histories).map(|_| extremal_channel(&mut rng, inputs, outputs, p)).collect();
        for epsilon in thresholds(n as u64, p) {
            let bound = pair(n as u64, p).delta(epsilon).upper;
            for others in datasets(inputs, n - 1) {
                let law = |own: usize| {
                    let mut data = others.clone();
                    data.push(own);
                    adaptive_law(&tree, &data, outputs)
                };
                for (x, y) in [(0, 1), (1, 0)] {
                    let delta = hockey_stick(&law(x), &law(y), epsilon.get().exp());
                    assert!(delta <= bound + 1e-14, "{tree:?} {others:?}: {delta} > {bound}");
                    closest = closest.max(delta / bound.max(1e-12));
                }
            }
        }
    }
    assert!(closest > 0.99, "closest {closest}");
}

#[test]
fn no_concrete_randomizer_exceeds_its_blanket() {
    let mut closest = 0.0_f64;
    for p in [1.2, 2.0, 6.0] {
        let local = eps(f64::ln(p));
        for n in 1..=4_u64 {
            let crowd = Crowd::new(n).unwrap();
            let (keep, set) = (0.5, 0.5 / (0.5 * p + 0.5));
            let cases: [(Channel, Blanket); 5] = [
                (kary(3, p), Blanket::kary_response(crowd, local, 3).unwrap()),
                (kary(4, p), Blanket::kary_response(crowd, local, 4).unwrap()),
                (subsets(4, 2, p), Blanket::subset_selection(crowd, local, 4, 2).unwrap()),
                (hashing(3, 2, p), Blanket::local_hashing(crowd, local, 2, 0.5).unwrap()),
                (
                    unary(3, keep, set),
                    Blanket::unary_encoding(
                        crowd,
                        Probability::new("keep", keep).unwrap(),
                        Probability::new("set", set).unwrap(),
                    )
                    .unwrap(),
                ),
            ];
            for (case, (channel, blanket)) in cases.iter().enumerate() {
                // Enumerating eight outputs and more gets slow beyond three users.
                if n == 4 && channel[0].len() > 6 {
                    continue;
                }
                for epsilon in thresholds(n, p) {
                    let band = blanket.delta(epsilon);
                    let worst = all_datasets(channel, n as usize, epsilon.get().exp())
                        .into_iter()
                        .fold(0.0, f64::max);
                    assert!(
                        worst <= band.upper + 1e-13,
                        "case {case}, n = {n}: {worst} > {band:?}"
                    );
                    assert!(
                        band.lower <= worst + 1e-13,
                        "case {case}, n = {n}: {worst} < {band:?}"
                    );
                    closest = closest.max(worst / band.upper.max(1e-9));
                }
            }
        }
    }
    assert!(closest > 0.999_999, "closest {closest}");
}

// Every pair of grid points and of values midway between two, every dataset of such, in both
// directions: the ends are the worst pair.
#[test]
fn no_pair_of_values_with_laplace_noise_exceeds_the_blanket_of_the_ends() {
    let mut closest = 0.0_f64;
    for grid in 1..=4 {
        for (n, p) in [(1_u64, 3.0), (2, 1.5), (2, 30.0), (3, 6.0), (4, 2.5), (5, 20.0)] {
            if n as usize * grid > 12 {
                continue;
            }
            let channel = laplace(grid, p);
            let crowd = Crowd::new(n).unwrap();
            let blanket = LaplaceBlanket::new(crowd, eps(f64::ln(p)), grid as u64).unwrap();
            for epsilon in [0.0, 0.2, 0.5, 0.8, 0.99].map(|part| eps(part * p.ln())) {
                let band = blanket.delta(epsilon);
                let all = all_datasets(&channel, n as usize, epsilon.get().exp());
                let worst = all.into_iter().fold(0.0, f64::max);
                assert!(worst <= band.upper + 1e-14, "{grid} {n} {p}: {worst} > {band:?}");
                assert!(band.lower <= worst + 1e-14, "{grid} {n} {p}: {worst} < {band:?}");
                closest = closest.max(worst / band.upper);
            }
        }
    }
    assert!(closest > 0.999_999, "closest {closest}");
}

// A family of hash functions with at most 1/g collisions is not one with exactly 1/g.
#[test]
fn hashing_without_known_collisions_needs_the_kary_bound() {
    let (p, epsilon) = (4.0, eps(f64::ln(2.0)));
    // {identity, swap} on two values: never a collision.
    let channel: Channel = (0..2)
        .map(|x: usize| {
            (0..4)
                .map(|o| if o % 2 == (x ^ (o / 2)) { p } else { 1.0 } / (2.0 * (p + 1.0)))
                .collect()
        })
        .collect();
    for n in 1..=4_u64 {
        let crowd = Crowd::new(n).unwrap();
        let worst = all_datasets(&channel, n as usize, 2.0).into_iter().fold(0.0, f64::max);
        let claimed = |collision| {
            Blanket::local_hashing(crowd, eps(p.ln()), 2, collision).unwrap().delta(epsilon).upper
        };
        assert!(worst > claimed(0.5) && worst <= claimed(0.0) + 1e-14, "n = {n}: {worst}");
    }
}

// A report that enters a batch twice breaks the bound: replay protection is a privacy requirement.
#[test]
fn a_replayed_report_breaks_the_bound() {
    let (p, e) = (4.0_f64, 2.0);
    let q = 1.0 / (p + 1.0);
    // Two copies of the user's report among n = 3 users, all others at 1.
    let law = |own: f64| {
        let mut law = vec![0.0; 5];
        for (ones, weight) in [(0, q * q), (1, 2.0 * q * (1.0 - q)), (2, (1.0 - q) * (1.0 - q))] {
            law[ones + 2] += weight * own;
            law[ones] += weight * (1.0 - own);
        }
        law
    };
    let delta =
        hockey_stick(&law(1.0 - q), &law(q), e).max(hockey_stick(&law(q), &law(1.0 - q), e));
    assert!((delta - 0.384).abs() < 1e-12);
    assert!(delta > 1.4 * pair(3, p).delta(eps(e.ln())).upper);
}

#[test]
fn the_bag_of_bits_is_exact_on_every_dataset_and_symmetric() {
    for n in 1..=9_u64 {
        for flip in [0.01, 0.1, 0.3, 0.49] {
            let protocol = BitSum::with_flip(Crowd::new(n).unwrap(), flip).unwrap();
            let channel = vec![vec![1.0 - flip, flip], vec![flip, 1.0 - flip]];
            for epsilon in [0.0, 0.05, 0.4, 1.0, 3.0] {
                let e = f64::exp(epsilon);
                let mut worst = 0.0_f64;
                for ones in 0..n {
                    let law = |own: usize| {
                        let mut data = vec![1; ones as usize];
                        data.resize(n as usize - 1, 0);
                        data.push(own);
                        histogram_law(&channel, &data)
                    };
                    let (up, down) =
                        (hockey_stick(&law(1), &law(0), e), hockey_stick(&law(0), &law(1), e));
                    for (exact, at) in [(up, ones), (down, n - 1 - ones)] {
                        let band = protocol.delta_at(at, eps(epsilon)).unwrap();
                        assert!(band.lower <= exact + 1e-15 && exact <= band.upper + 1e-15);
                        worst = worst.max(exact);
                    }
                }
                let band = protocol.delta(eps(epsilon));
                assert!(band.lower <= worst + 1e-15 && worst <= band.upper + 1e-15, "{n} {flip}");
                assert!(band.upper - band.lower <= 3e-9 * worst + 1e-15, "{n} {flip} {epsilon}");
            }
        }
    }
}

fn eps(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn pair(n: u64, p: f64) -> ClonePair {
    ClonePair::strong(Crowd::new(n).unwrap(), eps(p.ln())).unwrap()
}

/// Between the break points of the bound, which is piecewise linear in e^ε, nothing can go wrong
/// that does not go wrong at one of them.
fn thresholds(n: u64, p: f64) -> Vec<Epsilon> {
    let mut all: Vec<f64> = (0..=n)
        .flat_map(|a| (0..=n - a).map(move |b| (a as f64, b as f64)))
        .filter(|(a, b)| a + b > 0.0 && a >= b)
        .map(|(a, b)| ((p * a + b) / (a + p * b)).ln())
        .chain([0.0, 0.3 * p.ln()])
        .collect();
    all.sort_by(f64::total_cmp);
    all.dedup_by(|a, b| (*a - *b).abs() < 1e-12);
    all.into_iter().map(eps).collect()
}

/// Columns proportional to vectors in {1, p}: the extreme points of the ε₀-LDP channels. One column
/// completes the rows to sum to 1 where it can; otherwise another draw is made.
fn extremal_channel(rng: &mut SplitMix, inputs: usize, outputs: usize, p: f64) -> Channel {
    loop {
        let columns: Vec<Vec<f64>> = (0..outputs)
            .map(|_| {
                (0..inputs).map(|_| if rng.next().is_multiple_of(2) { 1.0 } else { p }).collect()
            })
            .collect();
        if let Some(weights) = balance(&columns, rng) {
            return (0..inputs)
                .map(|x| columns.iter().zip(&weights).map(|(c, w)| c[x] * w).collect())
                .collect();
        }
    }
}

/// Non-negative weights under which every row sums to 1: a random start, then multiplicative
/// updates that keep the sign, accepted when they converge.
fn balance(columns: &[Vec<f64>], rng: &mut SplitMix) -> Option<Vec<f64>> {
    let mut weights: Vec<f64> = columns.iter().map(|_| 0.1 + rng.uniform()).collect();
    let inputs = columns[0].len();
    for _ in 0..4_000 {
        let rows: Vec<f64> = (0..inputs)
            .map(|x| columns.iter().zip(&weights).map(|(c, w)| c[x] * w).sum())
            .collect();
        if rows.iter().all(|row: &f64| (row - 1.0).abs() < 1e-13) {
            return Some(weights);
        }
        for (column, weight) in columns.iter().zip(&mut weights) {
            let total: f64 = column.iter().sum();
            let ratio: f64 = column.iter().zip(&rows).map(|(c, row)| c / row).sum::<f64>() / total;
            *weight *= ratio;
        }
    }
    None
}

/// Hockey-stick divergences over all ordered pairs of inputs and all multisets of the others'
/// inputs.
fn all_datasets(channel: &Channel, n: usize, e: f64) -> Vec<f64> {
    let inputs = channel.len();
    let mut found = Vec::new();
    for others in datasets(inputs, n - 1) {
        let laws: Vec<Vec<f64>> = (0..inputs)
            .map(|own| {
                let mut data = others.clone();
                data.push(own);
                histogram_law(channel, &data)
            })
            .collect();
        for x in 0..inputs {
            for y in (0..inputs).filter(|&y| y != x) {
                found.push(hockey_stick(&laws[x], &laws[y], e));
            }
        }
    }
    found
}

/// All multisets of `size` inputs.
fn datasets(inputs: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    datasets(inputs, size - 1)
        .into_iter()
        .flat_map(|set| {
            let first = set.last().copied().unwrap_or(0);
            (first..inputs).map(move |x| {
                let mut set = set.clone();
                set.push(x);
                set
            })
        })
        .collect()
}

/// The law of the histogram of reports, in an order that depends on shapes only. A histogram is
/// packed into four bits per output, so up to 15 reports and 16 outputs.
fn histogram_law(channel: &Channel, data: &[usize]) -> Vec<f64> {
    let mut law = BTreeMap::from([(0_u64, 1.0)]);
    for &x in data {
        let mut next = BTreeMap::new();
        for (histogram, mass) in law {
            for (output, probability) in channel[x].iter().enumerate() {
                *next.entry(histogram + (1 << (4 * output))).or_insert(0.0) += mass * probability;
            }
        }
        law = next;
    }
    law.into_values().collect()
}

/// Users take the slots in uniformly random order; a slot's channel depends on those before.
fn adaptive_law(tree: &[Channel], data: &[usize], outputs: usize) -> Vec<f64> {
    let n = data.len();
    let orders = permutations(data);
    let mut law = vec![0.0; outputs.pow(n as u32)];
    for order in &orders {
        for (sequence, mass) in law.iter_mut().enumerate() {
            let (mut weight, mut history, mut offset) = (1.0 / orders.len() as f64, 0, 0);
            for (slot, &x) in order.iter().enumerate() {
                let z = sequence / outputs.pow(slot as u32) % outputs;
                weight *= tree[offset + history][x][z];
                offset += outputs.pow(slot as u32);
                history = history * outputs + z;
            }
            *mass += weight;
        }
    }
    law
}

fn permutations(data: &[usize]) -> Vec<Vec<usize>> {
    if data.is_empty() {
        return vec![Vec::new()];
    }
    (0..data.len())
        .flat_map(|i| {
            let mut rest = data.to_vec();
            let first = rest.remove(i);
            permutations(&rest).into_iter().map(move |mut tail| {
                tail.insert(0, first);
                tail
            })
        })
        .collect()
}

fn hockey_stick(p: &[f64], q: &[f64], e: f64) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - e * q).max(0.0)).sum()
}

fn kary(k: usize, p: f64) -> Channel {
    let unit = 1.0 / (p + k as f64 - 1.0);
    (0..k).map(|x| (0..k).map(|y| if x == y { p * unit } else { unit }).collect()).collect()
}

/// Laplace noise on a grid, for grid points and the points midway between. Outcomes from 0 down are
/// one, as are those from the end of the grid up.
fn laplace(grid: usize, p: f64) -> Channel {
    let s = p.powf(-1.0 / grid as f64);
    let law = |x: usize| -> Vec<f64> {
        let mass = |k: usize| match k.abs_diff(x) as i32 {
            away if k == 0 || k == grid => s.powi(away) / (1.0 + s),
            away => s.powi(away) * (1.0 - s) / (1.0 + s),
        };
        (0..=grid).map(mass).collect()
    };
    let midway = |x| law(x).iter().zip(law(x + 1)).map(|(a, b)| 0.5 * (a + b)).collect();
    (0..=grid).map(law).chain((0..grid).map(midway)).collect()
}

fn subsets(k: u32, size: u32, p: f64) -> Channel {
    let all: Vec<u32> = (0..1 << k).filter(|s: &u32| s.count_ones() == size).collect();
    (0..k)
        .map(|x| {
            let row: Vec<f64> = all.iter().map(|s| if s >> x & 1 == 1 { p } else { 1.0 }).collect();
            let total: f64 = row.iter().sum();
            row.into_iter().map(|w| w / total).collect()
        })
        .collect()
}

/// Local hashing with every function from `inputs` values to `g` buckets, each equally likely.
fn hashing(inputs: u32, g: u32, p: f64) -> Channel {
    let functions = g.pow(inputs);
    (0..inputs)
        .map(|x| {
            (0..functions)
                .flat_map(|h| {
                    let bucket = h / g.pow(x) % g;
                    (0..g).map(move |y| {
                        let odds = if y == bucket { p } else { 1.0 };
                        odds / (p + f64::from(g) - 1.0) / f64::from(functions)
                    })
                })
                .collect()
        })
        .collect()
}

fn unary(k: u32, keep: f64, set: f64) -> Channel {
    (0..k)
        .map(|x| {
            (0..1_u32 << k)
                .map(|report| {
                    (0..k)
                        .map(|bit| {
                            let one = if bit == x { keep } else { set };
                            if report >> bit & 1 == 1 { one } else { 1.0 - one }
                        })
                        .product()
                })
                .collect()
        })
        .collect()
}

/// Steele, Lea, Flood's generator: enough to draw test cases.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
