//! The whole profile of `bit-sum` at once, for callers that need hundreds of its points.
//!
//! `bag` finds one δ(ε), exactly. Here the law of the others' total is written out for blocks of
//! datasets, after which every further ε costs a binary search per block.
//!
//! With a zeros and b ones among the others' bits, `S = Bin(a, f) − Bin(b, f)` has the generating
//! function `(q + fz)^a·(q + f/z)^b`. Its logarithmic derivative gives, for `g_S = P[S]`,
//!
//! ```text
//! qf·(S+b+1)·g_{S+1} + β_S·g_S = qf·(a−S+1)·g_{S−1},   β_S = (q²+f²)·S − (a−b)·f²
//! ```
//!
//! Where `β ≥ 0` the ratio `g_S/g_{S−1}` follows from the one above it without subtraction, where
//! `β ≤ 0` the ratio `g_S/g_{S+1}` from the one below it. Each step shrinks the relative error of
//! the ratio it starts from, so both may start at 0 far enough out. S is log-concave, so the ratios
//! decrease, and with them the worst cut is found: `W' ≥ k` against `W ≥ k` (`bag`, one own bit) is
//!
//! ```text
//! δ = (q − Ef)·g_{k−1} − (E−1)·P[S ≥ k],   k the first place with g_k/g_{k−1} < (q − Ef)/(Eq − f)
//! ```

use crate::kernel::special::bernstein;
use crate::kernel::work;
use crate::profile::BitSum;
use crate::round;
use crate::{Band, Epsilon, Profile, Theorem};

/// `δ(ε)` of a `bit-sum` from above, tight to the share of a block in all datasets.
pub(crate) struct BagTable {
    column: BitSum,
    blocks: Vec<Tail>,
}

impl BagTable {
    /// Writes out the laws; a few milliseconds.
    pub(crate) fn new(column: BitSum) -> Self {
        let (others, flip) = (column.crowd().get() - 1, column.flip());
        let reach = bernstein(NATS, others as f64 * flip * (1.0 - flip)).ceil();
        let blocks = ((ENTRIES / reach) as u64).clamp(16, MAX_BLOCKS).min(others + 1);
        // For all datasets of a block, revealing the bits in which they differ leaves this bag.
        let block = |index: u64| {
            let start = |index: u64| (others + 1) * index / blocks;
            let (first, last) = (start(index), start(index + 1) - 1);
            Tail::new(others - last, first, flip)
        };
        Self { column, blocks: (0..blocks).map(block).collect() }
    }
}

impl Profile for BagTable {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let pure = self.pure().map_or(f64::INFINITY, Epsilon::get);
        let left = pure - epsilon.get();
        if left <= 0.0 {
            return Band::ZERO;
        }
        let (kept, gain) = weights(self.column.flip(), pure, epsilon.get());
        let worst = self.blocks.iter().map(|tail| tail.delta(kept, gain)).fold(0.0, f64::max);
        Band { lower: 0.0, upper: round::delta_up(worst).min(cap(left)) }
    }

    fn pure(&self) -> Option<Epsilon> {
        self.column.pure()
    }

    fn theorem(&self) -> Theorem {
        Theorem::ExactBag
    }
}

/// The upper half of the law of S.
pub(crate) struct Tail {
    /// `g_{S−1}`, from the mode upward.
    before: Vec<f64>,
    /// `g_S/g_{S−1}`.
    ratio: Vec<f64>,
    /// `P[S' ≥ S]`.
    above: Vec<f64>,
}

impl Tail {
    pub(crate) fn new(zeros: u64, ones: u64, flip: f64) -> Self {
        let (_, masses) = difference(zeros, ones, flip);
        let mode = (0..masses.len()).max_by(|&i, &j| masses[i].total_cmp(&masses[j])).unwrap_or(0);
        let before = masses[mode..].to_vec();
        let after = before[1..].iter().chain(&[0.0]);
        let ratio = after.zip(&before).map(|(after, before)| after / before).collect();
        let mut above = vec![0.0; before.len()];
        for index in (1..before.len()).rev() {
            above[index - 1] = above[index] + before[index];
        }
        Self { before, ratio, above }
    }

    /// δ of one own bit with `q − Ef` and `E − 1`, rounding and the mass left out apart.
    pub(crate) fn delta(&self, kept: f64, gain: f64) -> f64 {
        // Eq − f = (q − Ef) + (E − 1)
        let threshold = kept / (kept + gain);
        let cut = self.ratio.partition_point(|&ratio| ratio >= threshold);
        let cut = cut.min(self.ratio.len() - 1);
        kept * self.before[cut] - gain * self.above[cut] + LEFT_OUT
    }

    /// δ of one own bit with this flip and this ε₀ at ε, rounded up.
    pub(crate) fn bounded(&self, flip: f64, pure: f64, epsilon: f64) -> f64 {
        if epsilon >= pure {
            return 0.0;
        }
        let (kept, gain) = weights(flip, pure, epsilon);
        round::delta_up(self.delta(kept, gain)).min(cap(pure - epsilon))
    }
}

/// `q − Ef` and `E − 1`: what is left to ε₀, of which rounding moves the last bits, and what ε
/// takes.
fn weights(flip: f64, pure: f64, epsilon: f64) -> (f64, f64) {
    let left = pure - epsilon;
    // q − Ef = f·(e^{ε₀−ε} − 1)·e^ε
    let kept = flip * epsilon.exp() * left.exp_m1() * (1.0 + 4e-16 * (2.0 + pure) / left);
    (kept, epsilon.exp_m1())
}

/// No event gains more than a factor e^(ε₀−ε) allows.
fn cap(left: f64) -> f64 {
    round::delta_up(-(-left).exp_m1())
}

/// The places where `Bin(zeros, flip) − Bin(ones, flip)` has all but [`LEFT_OUT`] of its mass: the
/// first of them, and the masses.
fn difference(zeros: u64, ones: u64, flip: f64) -> (i64, Vec<f64>) {
    let (a, b, f, q) = (zeros as f64, ones as f64, flip, 1.0 - flip);
    let mean = ((a - b) * f).round();
    let reach = bernstein(NATS, (a + b) * f * q).ceil();
    // Ratios are started further out than they are used: the steps from 1.4·reach to reach leave
    // less than e^−50 of a relative error.
    let within = |place: f64| place.clamp(-b, a);
    let (low, high) = (within(mean - reach), within(mean + reach));
    let (bottom, top) = (within((mean - 1.4 * reach).floor()), within((mean + 1.4 * reach).ceil()));
    let lean = |s: f64| (q * q + f * f) * s - (a - b) * f * f;
    let turn = ((a - b) * f * f / (q * q + f * f)).floor().clamp(low, high);
    // rise[S] = g_S/g_{S−1} for S in low+1 ..= high.
    let mut rise = vec![0.0; (high - low) as usize + 1];
    let mut ratio = 0.0;
    let mut s = top;
    while s > turn {
        ratio = q * f * (a - s + 1.0) / (q * f * (s + b + 1.0) * ratio + lean(s));
        if s <= high {
            rise[(s - low) as usize] = ratio;
        }
        s -= 1.0;
    }
    // From below, with ratio = g_{S−1}/g_S.
    let mut ratio = 0.0;
    let mut s = bottom;
    while s < turn {
        ratio = q * f * (s + b + 1.0) / (q * f * (a - s + 1.0) * ratio - lean(s));
        s += 1.0;
        if s > low {
            rise[(s - low) as usize] = 1.0 / ratio;
        }
    }
    work::count((top - bottom) as u64 + 1);
    let mut masses = vec![0.0; rise.len()];
    let middle = ((mean - low) as usize).min(rise.len() - 1);
    masses[middle] = 1.0;
    for index in middle + 1..rise.len() {
        masses[index] = masses[index - 1] * rise[index];
    }
    for index in (0..middle).rev() {
        masses[index] = masses[index + 1] / rise[index + 1];
    }
    let total: f64 = masses.iter().sum();
    for mass in &mut masses {
        *mass /= total;
    }
    (low as i64, masses)
}

const NATS: f64 = 60.0;
/// The mass left out, which is below `2·e^−NATS`, rounded up.
const LEFT_OUT: f64 = 2e-26;
/// The number of masses that the blocks may keep together.
const ENTRIES: f64 = 5e5;
const MAX_BLOCKS: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Crowd;
    use crate::kernel::binomial::Binomial;
    use crate::testing::assert_close;

    fn table(n: u64, flip: f64) -> BagTable {
        BagTable::new(BitSum::with_flip(Crowd::new(n).unwrap(), flip).unwrap())
    }

    #[test]
    fn the_law_of_a_difference_is_the_convolution() {
        for (zeros, ones, flip) in [
            (0, 0, 0.3),
            (7, 0, 0.2),
            (0, 9, 0.01),
            (40, 3, 0.45),
            (200, 190, 0.1),
            (30, 999, 1e-3),
        ] {
            let (first, masses) = difference(zeros, ones, flip);
            let (up, down) = (Binomial::new(zeros, flip), Binomial::new(ones, flip));
            for (index, &mass) in masses.iter().enumerate() {
                let place = first + index as i64;
                let exact: f64 = (0..=ones)
                    .filter_map(|j| u64::try_from(place + j as i64).ok().map(|i| (i, j)))
                    .map(|(i, j)| up.pmf(i) * down.pmf(j))
                    .sum();
                // Until the subnormal numbers.
                if exact > 1e-290 {
                    assert_close(mass, exact, 1e-11);
                }
            }
        }
    }

    #[test]
    fn small_crowds_are_exact_and_large_ones_covered() {
        for (n, flip) in
            [(1, 0.2), (7, 0.3), (300, 0.1), (20_000, 5e-3), (1_000_000, 1e-4), (1_000_000, 0.1)]
        {
            let table = table(n, flip);
            let deviation = 1.0 / (n as f64 * flip).sqrt();
            // A block reveals its share of the bits, which is about half of that in ε.
            let exact = table.blocks.len() as u64 == n;
            let share = if exact { 0.0 } else { 0.5 / table.blocks.len() as f64 };
            for epsilon in [0.0, 0.3, 1.0, 2.0, 4.0, 6.0].map(|z| z * deviation) {
                let found = table.delta(Epsilon::at(epsilon)).upper;
                let truth = table.column.delta(Epsilon::at(epsilon)).lower;
                assert!(found >= truth, "n = {n}, {epsilon}: {found:e} {truth:e}");
                let before = table.column.delta(Epsilon::at(epsilon * (1.0 - 2.0 * share)));
                let ceiling = before.upper * (1.0 + 2.0 * share + 1e-8) + 3.0 * LEFT_OUT;
                assert!(found <= ceiling, "n = {n}, {epsilon}: {found:e} {ceiling:e}");
            }
        }
    }
}
