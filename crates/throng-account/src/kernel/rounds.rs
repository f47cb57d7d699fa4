//! Several rounds of `bit-sum` together, each with a dataset of its own, which may be chosen by
//! whoever has seen the rounds before.
//!
//! One symmetric pair that dominates all datasets is the worst of them at every ε, above 0 and
//! below: composed, it charges for a dataset that leans both ways. No dataset does. Here every
//! block of datasets keeps a pair of its own, and in each round the worst of them is taken for the
//! rounds that follow:
//!
//! ```text
//! g₀(E) = (1 − E)₊,     g_{i+1}(E) = max over blocks j of  ∫ P_j·gᵢ(E·Q_j/P_j)
//! ```
//!
//! gᵢ is the profile of i rounds (`docs/privacy.md`, 9.1). Laws are chords on a grid of ε (`loss`),
//! so a round is a sum of products at grid points, all of them positive. Blocks come in mirrored
//! pairs, and `g(E) = 1 − E + E·g(1/E)`: half of the grid is enough.

use crate::kernel::bag::Bag;
use crate::kernel::bag_table::Tail;
use crate::kernel::loss::{lower_hull, slope};
use crate::kernel::special::lower_normal_quantile;
use crate::kernel::work;
use crate::round;

/// The points `(ε, δ)` of the profiles of 1, 2, … `rounds` rounds of a bag with one own bit, each
/// out to where it is below `floor`. Upper bounds.
pub(crate) fn in_a_row(bag: &Bag, rounds: u64, floor: f64) -> Vec<Vec<(f64, f64)>> {
    let blocks: Vec<Block> = low_blocks(bag.others).map(|ones| Block::new(bag, ones)).collect();
    let variation = blocks.iter().map(|block| block.delta(0.0)).fold(0.0, f64::max);
    let step = deviation(variation) / STEPS_PER_DEVIATION;
    let laws: Vec<Law> =
        blocks.iter().flat_map(|block| block.laws(step, (1e-3 * floor).max(LEAST_FLOOR))).collect();
    let mut profile = Profile { step, above: vec![0.0] };
    let mut all = Vec::new();
    for done in 1..=rounds {
        // What is cut off in one round stays with those that follow.
        profile = profile.after(&laws, floor * done as f64 / rounds as f64);
        all.push(profile.points());
    }
    all
}

/// The deviation of a Gaussian loss with this distance in total variation.
fn deviation(variation: f64) -> f64 {
    if variation < 1e-6 {
        return std::f64::consts::TAU.sqrt() * variation;
    }
    -2.0 * lower_normal_quantile((0.5 * (1.0 - variation.min(0.99))).ln())
}

/// The numbers of ones, from the first to the last, of the datasets in each block up to the middle;
/// blocks beyond it mirror them. Short ones at the end, where the worst datasets are, longer ones
/// in the middle, which has something to spare.
fn low_blocks(others: u64) -> impl Iterator<Item = (u64, u64)> {
    let middle = others / 2;
    let block = move |first: u64| {
        let length = 1 + (SHORTEST * others as f64 + LONGER * first as f64) as u64;
        (first, (first + length - 1).min(middle))
    };
    std::iter::successors(Some(block(0)), move |&(_, last)| {
        (last < middle).then(|| block(last + 1))
    })
}

/// The bag that bounds a block of datasets, seen from both worlds.
struct Block {
    flip: f64,
    pure: f64,
    up: Tail,
    down: Tail,
}

impl Block {
    /// For all datasets with `first` to `last` ones, revealing the bits in which they differ leaves
    /// this bag.
    fn new(bag: &Bag, (first, last): (u64, u64)) -> Self {
        let (zeros, ones, flip) = (bag.others - last, first, bag.flip);
        let (up, down) = (Tail::new(zeros, ones, flip), Tail::new(ones, zeros, flip));
        Self { flip, pure: bag.pure(), up, down }
    }

    fn bound(&self, tail: &Tail, epsilon: f64) -> f64 {
        tail.bounded(self.flip, self.pure, epsilon)
    }

    /// The larger of the divergences of the two worlds from each other.
    fn delta(&self, epsilon: f64) -> f64 {
        self.bound(&self.up, epsilon).max(self.bound(&self.down, epsilon))
    }

    /// The law of the loss of this block, and that of its mirror image.
    fn laws(&self, step: f64, floor: f64) -> [Law; 2] {
        // Both divergences are the distance in total variation at 0.
        let start = self.delta(0.0);
        let side = |tail| Side::new(|epsilon| self.bound(tail, epsilon), start, step, floor);
        let (up, down) = (side(&self.up), side(&self.down));
        [Law::new(&up, &down, step), Law::new(&down, &up, step)]
    }
}

/// The losses above 0 of one world, by chords through its profile.
struct Side {
    /// The mass of a loss of `j` steps in the *other* world.
    masses: Vec<f64>,
    /// The mass of an infinite loss in this one.
    infinite: f64,
}

impl Side {
    /// `start` is the profile at 0.
    fn new(profile: impl Fn(f64) -> f64, start: f64, step: f64, floor: f64) -> Self {
        let mut points = vec![(0, start)];
        while points[points.len() - 1].1 > floor && points.len() < MAX_POINTS {
            let place = points.len();
            points.push((place, profile(step * place as f64).min(start)));
        }
        let hull = lower_hull(&points, step);
        let slopes: Vec<f64> = hull.windows(2).map(|pair| slope(pair[0], pair[1], step)).collect();
        let mut masses = vec![0.0; points.len()];
        for (index, &(place, _)) in hull.iter().enumerate().skip(1) {
            let right = slopes.get(index).copied().unwrap_or(0.0);
            masses[place] = (right - slopes[index - 1]).max(0.0);
        }
        Self { masses, infinite: hull[hull.len() - 1].1 }
    }
}

/// A privacy-loss distribution on the grid: masses in the first world.
struct Law {
    /// Of a loss of `j − offset` steps.
    masses: Vec<f64>,
    offset: usize,
    infinite: f64,
}

impl Law {
    fn new(up: &Side, down: &Side, step: f64) -> Self {
        let offset = down.masses.len() - 1;
        let mut masses: Vec<f64> = down.masses.iter().rev().copied().collect();
        masses[offset] = 0.0;
        let raised = up.masses.iter().enumerate().skip(1);
        masses.extend(raised.map(|(place, mass)| mass * (step * place as f64).exp()));
        let beside: f64 = masses.iter().sum();
        masses[offset] = (1.0 - up.infinite - beside).max(0.0);
        Self { masses, offset, infinite: up.infinite }
    }
}

/// The profile g of some rounds at the grid points from ε = 0 on; constant after the last.
struct Profile {
    step: f64,
    above: Vec<f64>,
}

impl Profile {
    /// The profile with one round more before these.
    fn after(&self, laws: &[Law], floor: f64) -> Self {
        let reach = |law: &Law| law.masses.len() - 1 - law.offset;
        let widest = laws.iter().map(reach).max().unwrap_or(0);
        let length = self.above.len() + widest;
        let deepest = laws.iter().map(|law| law.offset).max().unwrap_or(0);
        // g from `widest` steps below ε = 0 to `deepest` beyond the end.
        let around: Vec<f64> = (0..widest + length + deepest)
            .map(|place| self.at(place as i64 - widest as i64))
            .collect();
        let mut above = vec![0.0_f64; length];
        for law in laws {
            let mut sum = vec![law.infinite; length];
            for (index, &mass) in law.masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                // A loss of l steps turns ε = k steps into k − l.
                let from = widest + law.offset - index;
                for (sum, g) in sum.iter_mut().zip(&around[from..]) {
                    *sum += mass * g;
                }
            }
            work::count((length * law.masses.len()) as u64 / 64);
            for (most, sum) in above.iter_mut().zip(sum) {
                *most = most.max(sum);
            }
        }
        let end = above.iter().position(|&delta| delta <= floor).unwrap_or(length - 1);
        above.truncate(end + 1);
        Self { step: self.step, above }
    }

    /// g at a grid point; below ε = 0 it is `1 − E + E·g(1/E)`.
    fn at(&self, place: i64) -> f64 {
        let last = self.above.len() - 1;
        let mirrored = self.above[(place.unsigned_abs() as usize).min(last)];
        let epsilon = self.step * place as f64;
        if place >= 0 { mirrored } else { epsilon.exp() * mirrored - epsilon.exp_m1() }
    }

    fn points(&self) -> Vec<(f64, f64)> {
        let point =
            |(place, &delta): (usize, &f64)| (self.step * place as f64, round::delta_up(delta));
        self.above.iter().enumerate().map(point).collect()
    }
}

/// Below this the tails of a bag are not known any better.
const LEAST_FLOOR: f64 = 1e-25;
/// Grid points per deviation of one round's loss: chords add about a thousandth to ε.
const STEPS_PER_DEVIATION: f64 = 8.0;
const MAX_POINTS: usize = 4_000;
/// Length of the first block as a share of all datasets, and what is added to a later one, as a
/// share of the way to it.
const SHORTEST: f64 = 0.001;
const LONGER: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::{Bag, in_a_row, low_blocks};
    use crate::profile::BitSum;
    use crate::testing::vectors;
    use crate::{Crowd, Epsilon, Profile};

    /// δ at ε by the chord between two points.
    fn chord(points: &[(f64, f64)], epsilon: f64) -> f64 {
        let after = points.partition_point(|point| point.0 <= epsilon);
        let ((left, high), (right, low)) = (points[after - 1], points[after]);
        high + (low - high) * (epsilon - left).exp_m1() / (right - left).exp_m1()
    }

    #[test]
    fn rounds_lie_just_above_the_worst_choice_of_datasets() {
        let rows = vectors("rounds.json");
        let small = rows.iter().filter(|row| row.u64("n") < 10);
        for row in small {
            let bag = Bag::new(Crowd::new(row.u64("n")).unwrap(), 1, row.f64("flip"));
            let all = in_a_row(&bag, row.u64("rounds"), 1e-9);
            let found = chord(&all[all.len() - 1], row.f64("epsilon"));
            assert!(found >= row.f64("delta"), "{row:?}: {found}");
            assert!(found <= 1.02 * row.f64("delta"), "{row:?}: {found}");
        }
    }

    #[test]
    fn one_round_is_the_worst_block_of_datasets() {
        for (n, flip, off) in [
            (950, 0.032246, 4e-2),
            (40, 0.01, 4e-2),
            (5, 0.5 - 1e-9, 1e-5),
            (2, 1e-12, 1e-6),
            (100_000, 0.4, 0.2),
        ] {
            let crowd = Crowd::new(n).unwrap();
            let protocol = BitSum::with_flip(crowd, flip).unwrap();
            let points = &in_a_row(&protocol.bag(), 1, 1e-12)[0];
            for &(epsilon, delta) in points.iter().step_by(9).filter(|point| point.1 > 1e-11) {
                let exact = protocol.delta(Epsilon::at(epsilon));
                assert!(delta >= exact.lower, "{n} {flip} {epsilon}: {delta} {exact:?}");
            }
            // Within two deviations; further out a block tells the more.
            for &(epsilon, delta) in points.iter().take(16).step_by(5) {
                let exact = protocol.delta(Epsilon::at(epsilon)).upper;
                assert!(delta <= exact * (1.0 + off), "{n} {flip} {epsilon}: {delta} {exact}");
            }
        }
    }

    #[test]
    fn blocks_leave_no_dataset_out() {
        for others in [0, 1, 2, 3, 10, 11, 949, 1_000_000, 9_999_999_999] {
            let low: Vec<(u64, u64)> = low_blocks(others).collect();
            assert_eq!(low[0].0, 0);
            assert!(low.iter().all(|(first, last)| first <= last));
            assert!(low.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
            // The mirrored ones begin at the latest right after the last.
            let last = low[low.len() - 1].1;
            assert!(others - last <= last + 1, "{others}: {low:?}");
            assert!(low.len() < 100, "{others}: {}", low.len());
        }
    }
}
