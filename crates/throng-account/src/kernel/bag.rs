//! One bag of randomized bits: the exact privacy profile of `bit-sum` and `real-sum`.
//!
//! Every bit in the bag is flipped with probability `f`. The user owns `r` of them; the others own
//! `N`, of which `t` are ones. The bag shows its total only, so with `S = Bin(N−t, f) − Bin(t, f)`
//! (the others' total, less the constant `t`) the two worlds to tell apart are
//!
//! ```text
//! zeros:  W  = S + Bin(r, f)              the user's bits are all 0
//! ones:   W' = S + r − Bin(r, f)          the user's bits are all 1
//! ```
//!
//! Four facts make the worst case over all datasets computable (proofs in `docs/privacy.md`, 2):
//! * the likelihood ratio of `W'` to `W` increases, so the worst event is `{total ≥ k}`;
//! * the more of the user's bits change, the worse, so only "all zeros to all ones" matters;
//! * the direction zeros-against-ones at `t` is ones-against-zeros at `N − t`, so one direction and
//!   all `t` suffice;
//! * for all `t` in `[t₁, t₂]`, revealing `t₂ − t₁` of the others' bits only helps the adversary,
//!   so the bag with `N − t₂` zeros and `t₁` ones bounds them all.
//!
//! The last one gives a branch-and-bound over blocks of `t` that ends exact when blocks shrink to
//! single datasets, and certified when its budget ends first.
//!
//! One value `P[W' ≥ k] − e^ε·P[W ≥ k]` is a contour integral of the characteristic function,
//! tilted so that `k` lies in the middle of the law, where nothing cancels. The trapezoidal rule
//! with `L` points is the exact value for the law wrapped around a circle of `L` places, so its
//! error is tail probability; forty points give twelve digits whatever the crowd.
//!
//! | symbol | code | meaning |
//! |---|---|---|
//! | f, q | `flip`, `1 − flip` | probability that a bit is flipped, or not |
//! | N, t | `others`, `ones` | the others' bits, and how many are 1 |
//! | r | `own` | the user's bits |
//! | s | `s` | tilt: the law is weighted by `e^{s·total}` |

use crate::kernel::bag_table::Tail;
use crate::kernel::binomial::Product;
use crate::kernel::complex::{exp_m1, ln_1p};
use crate::kernel::solve::smallest_epsilon;
use crate::kernel::special::{bernstein, exp_m1_minus, sin_minus};
use crate::kernel::work;
use crate::round;
use crate::{Band, Crowd, Dataset};
use realfft::num_complex::Complex64;
use std::collections::BinaryHeap;
use std::f64::consts::TAU;

/// The bag, but for how many of the others' bits are ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bag {
    pub(crate) others: u64,
    pub(crate) own: u64,
    pub(crate) flip: f64,
}

/// The maximum of δ or ε over all datasets, and a dataset that reaches its lower bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maximum {
    pub(crate) band: Band,
    pub(crate) dataset: Dataset,
}

impl Bag {
    /// The bag in which each of a crowd has `own` bits.
    pub(crate) fn new(crowd: Crowd, own: u64, flip: f64) -> Self {
        Self { others: (crowd.get() - 1) * own, own, flip }
    }

    /// ε₀ of the user's own bits, rounded up: the loss when nobody else's are in the bag.
    pub(crate) fn pure(&self) -> f64 {
        let bit = ((1.0 - 2.0 * self.flip) / self.flip).ln_1p();
        self.own as f64 * bit * (1.0 + 1e-15)
    }

    /// `δ(ε)` on the dataset with `ones` ones among the others' bits, ones against zeros.
    pub(crate) fn delta_at(&self, ones: u64, epsilon: f64) -> Band {
        self.block_delta(Block::single(ones), epsilon)
    }

    /// `δ(ε)` on the dataset of ones alone.
    pub(crate) fn all_ones(&self, epsilon: f64) -> Band {
        self.delta_at(self.others, epsilon)
    }

    /// The dataset with `ones` ones among the others' bits.
    pub(crate) fn dataset(&self, ones: u64) -> Dataset {
        Dataset::Ones { ones, of: self.others }
    }

    /// A lower bound on `δ(ε)`: the largest on the datasets with so many ones, and the first of
    /// them that has it.
    pub(crate) fn worst_of(&self, ones: [u64; 3], epsilon: f64) -> (f64, Dataset) {
        let found = ones.map(|ones| (self.delta_at(ones, epsilon).lower, self.dataset(ones)));
        let none = (0.0, self.dataset(ones[0]));
        found.into_iter().fold(none, |worst, next| if next.0 > worst.0 { next } else { worst })
    }

    /// `δ(ε)` over all datasets.
    pub(crate) fn delta(&self, epsilon: f64) -> Maximum {
        let search = self.search(epsilon, BLOCKS);
        let band = Band { lower: search.best, upper: search.ceiling() };
        Maximum { band, dataset: self.dataset(search.ones) }
    }

    /// An upper bound on `δ(ε)` over all datasets from a smaller search, for use in bulk.
    pub(crate) fn coarse_delta(&self, epsilon: f64) -> f64 {
        self.search(epsilon, COARSE_BLOCKS).ceiling()
    }

    /// The smallest ε at `delta` over all datasets: solved on the worst dataset found, then raised
    /// until every block's bound is below `delta`.
    pub(crate) fn epsilon(&self, delta: f64) -> Maximum {
        let pure = self.pure();
        let solve = |block: Block, guess: f64| {
            smallest_epsilon(delta, pure, guess, |e| self.block_delta(block, e).upper)
        };
        let mut ones = self.others;
        let mut lower = solve(Block::single(ones), 0.0);
        let mut search = self.search(lower, BLOCKS);
        // When a worse dataset turns up, solve there; search again if that moved ε noticeably.
        for _ in 0..4 {
            let worse = solve(Block::single(search.ones), lower);
            let settled = worse <= lower * (1.0 + 1e-6);
            if worse > lower {
                (ones, lower) = (search.ones, worse);
            }
            if settled {
                break;
            }
            search = self.search(lower, BLOCKS);
        }
        // Raise ε until nothing looked at is above δ: blocks still open, and single datasets.
        let mut upper = lower;
        for block in search.open.into_iter().chain(search.closed) {
            if block.bound > delta && self.block_delta(block, upper).upper > delta {
                upper = upper.max(solve(block, upper));
            }
        }
        // `lower` was solved on a value rounded up; the true ε of that dataset is this at least.
        let floor =
            smallest_epsilon(delta, pure, lower, |e| self.delta_at(ones, e).lower).min(upper);
        Maximum { band: Band { lower: floor, upper }, dataset: self.dataset(ones) }
    }

    /// Best-first branch and bound over blocks of datasets.
    fn search(&self, epsilon: f64, blocks: usize) -> Search {
        let mut search = Search { ones: self.others, ..Search::default() };
        // Good datasets to start from let most blocks be dismissed unsplit.
        for ones in [self.others, 0, self.others / 2, self.others.saturating_sub(1)] {
            search.push(self, Block::single(ones), epsilon);
        }
        search.push(self, Block::new(0, self.others), epsilon);
        for round in 0..blocks {
            let Some(top) = search.open.peek() else { break };
            if top.bound <= search.peak {
                break;
            }
            let Block { first, last, .. } = search.open.pop().expect("peeked");
            let middle = first + (last - first) / 2;
            // Now and then a middle stands for blocks too wide to be split down to single datasets.
            if round.is_multiple_of(8) {
                search.push(self, Block::single(middle), epsilon);
            }
            search.push(self, Block::new(first, middle), epsilon);
            search.push(self, Block::new(middle + 1, last), epsilon);
        }
        search
    }

    /// Bounds `δ(ε)` of every dataset of the block from above, and one of the bag that stands for
    /// it from below: for a single dataset, the same up to rounding.
    fn block_delta(&self, block: Block, epsilon: f64) -> Band {
        let left = self.pure() - epsilon;
        if left <= 0.0 {
            return Band::ZERO;
        }
        // No event gains more than a factor e^(ε₀−ε) allows, whatever else is in the bag.
        let cap = round::up(-(-left).exp_m1()).min(1.0);
        let Self { own, flip, .. } = *self;
        let (up, down) = (self.others - block.last, block.first);
        let laws = Hypotheses { up, down, own, flip, epsilon };
        // δ vanishes with what is left to ε₀, of which rounding moves the last bits.
        let edge = 4e-16 * (2.0 * own as f64 + self.pure()) / left;
        match laws.delta().or_else(|| self.written_out(up, down, left, epsilon)) {
            Some(value) if edge < 0.5 => Band {
                lower: round::down(value * (1.0 - edge)),
                upper: round::delta_up(value / (1.0 - edge)).min(cap),
            },
            _ => Band { lower: 0.0, upper: cap },
        }
    }

    /// δ of one own bit from the law of the others' total itself, where nothing cancels however
    /// close the flip is to one half; `None` for several own bits, for large crowds, and where it
    /// is not far above what the law leaves out.
    fn written_out(&self, up: u64, down: u64, left: f64, epsilon: f64) -> Option<f64> {
        if self.own != 1 || up + down > MAX_WRITTEN {
            return None;
        }
        // q − Ef = f·(e^{ε₀−ε} − 1)·e^ε
        let kept = self.flip * epsilon.exp() * left.exp_m1();
        let value = Tail::new(up, down, self.flip).delta(kept, epsilon.exp_m1());
        (value > 1e-15).then_some(value.min(1.0))
    }
}

/// The datasets with `first ..= last` ones, ordered by the bound on their δ once that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Block {
    first: u64,
    last: u64,
    bound: f64,
}

impl Block {
    fn new(first: u64, last: u64) -> Self {
        Self { first, last, bound: 1.0 }
    }

    fn single(ones: u64) -> Self {
        Self::new(ones, ones)
    }
}

impl Eq for Block {}

impl PartialOrd for Block {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Block {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

#[derive(Default)]
struct Search {
    /// The largest lower bound of a single dataset, and that dataset.
    best: f64,
    ones: u64,
    /// The largest upper bound of a single dataset.
    peak: f64,
    /// Blocks still to be split.
    open: BinaryHeap<Block>,
    /// Single datasets.
    closed: Vec<Block>,
}

impl Search {
    fn push(&mut self, bag: &Bag, block: Block, epsilon: f64) {
        let Band { lower, upper: bound } = bag.block_delta(block, epsilon);
        let block = Block { bound, ..block };
        if block.first < block.last {
            self.open.push(block);
            return;
        }
        if lower > self.best {
            (self.best, self.ones) = (lower, block.first);
        }
        self.peak = self.peak.max(bound);
        self.closed.push(block);
    }

    /// A value that δ exceeds on no dataset.
    fn ceiling(&self) -> f64 {
        self.open.peek().map_or(self.peak, |top| top.bound.max(self.peak))
    }
}

/// The two laws of one block, to be told apart at one ε.
struct Hypotheses {
    up: u64,
    down: u64,
    own: u64,
    flip: f64,
    epsilon: f64,
}

impl Hypotheses {
    /// `max over k of P[W' ≥ k] − e^ε·P[W ≥ k]`, to a relative 1e-10; `None` where that cannot be
    /// said, which takes laws so far apart that δ is close to 1 or ε close to ε₀.
    fn delta(&self) -> Option<f64> {
        let r = self.own as f64;
        let per_bit = self.epsilon / r;
        let gain = per_bit.exp_m1();
        // The tilt that makes the two laws cross at the worst cut:
        // (f + q·e^s)/(q + f·e^s) = e^(ε/r).
        let denominator = (1.0 - 2.0 * self.flip) - self.flip * gain;
        if denominator <= 0.0 {
            return None;
        }
        let crossing = (gain / denominator).ln_1p();
        let at_crossing = TiltedLaw::new(self, crossing);
        // The tails converge like e^(−s·m), so a tilt below one deviation would need a long circle.
        let s = crossing.max(1.0 / at_crossing.deviation.max(0.5));
        let tilted = if s > crossing { TiltedLaw::new(self, s) } else { at_crossing };
        // (f + q·e^s)/(q + f·e^s) − 1: how the two laws of one bit differ at this tilt.
        let (f, q) = (self.flip, 1.0 - self.flip);
        let odds_gain = (1.0 - 2.0 * f) * -(-s).exp_m1() / (q * (-s).exp() + f);
        // ln η: how far the laws of the user's bits are from crossing there.
        let ratio = r * ((odds_gain - gain) / (1.0 + gain)).ln_1p();
        // P[W' ≥ k] − e^ε·P[W ≥ k] rises to its maximum in k and falls from there; a climb that
        // turns around has found it, up to rounding.
        let mut k = at_crossing.cut(r);
        let mut direction = 0.0;
        for _ in 0..MAX_CLIMB {
            let [below, here, above] = tilted.cuts(self, k, ratio);
            let (uphill, next) =
                if below.value > above.value { (-1.0, below) } else { (1.0, above) };
            if here.value >= next.value || uphill == -direction {
                let highest = if here.value >= next.value { here } else { next };
                return (highest.error <= 1e-10 * highest.value).then_some(highest.value.min(1.0));
            }
            direction = uphill;
            k += direction;
        }
        None
    }
}

/// The law of `W` tilted by `e^{s·W}`.
#[derive(Clone, Copy)]
struct TiltedLaw {
    s: f64,
    /// Tilted probabilities that a zero is flipped, or not.
    flipped: f64,
    stayed: f64,
    /// Tilted probabilities that a one is flipped, or not.
    fallen: f64,
    kept: f64,
    /// `kept − flipped`, which is how a bit of the user's differs between the worlds.
    apart: f64,
    deviation: f64,
    mean: f64,
    /// `ln E e^{sW} − s·E W`, the mean being that before tilting.
    exponent: f64,
}

impl TiltedLaw {
    fn new(laws: &Hypotheses, s: f64) -> Self {
        let (f, q, decay) = (laws.flip, 1.0 - laws.flip, (-s).exp());
        let (zero, one) = (f + q * decay, q + f * decay);
        let (flipped, stayed) = (f / zero, q * decay / zero);
        let (fallen, kept) = (f * decay / one, q / one);
        let (up, down) = ((laws.up + laws.own) as f64, laws.down as f64);
        let (rise, fall) = (Product::new(up, flipped), Product::new(down, fallen));
        Self {
            s,
            flipped,
            stayed,
            fallen,
            kept,
            apart: (1.0 - 2.0 * f) * decay / (zero * one),
            deviation: (up * flipped * stayed + down * fallen * kept).sqrt(),
            mean: (rise.high - fall.high) + (rise.low - fall.low),
            exponent: up * centred_cumulant(f, s) + down * centred_cumulant(f, -s),
        }
    }

    /// The point where the two laws cross, to the order of their skewness: the first guess of the
    /// worst cut.
    fn cut(&self, r: f64) -> f64 {
        let others = self.mean - r * self.flipped;
        (others + 0.5 * (1.0 + (r - 1.0) * (self.kept + self.flipped))).ceil()
    }

    /// `P[W' ≥ j] − e^ε·P[W ≥ j]` for `j = k − 1, k, k + 1`.
    ///
    /// With η = e^`ratio` and A, B the tilted characteristic functions of one of the user's bits in
    /// the two worlds, this is
    ///
    /// ```text
    /// e^ε·E[e^{sW}]·e^{−sj} · (1/L)·Σ_θ Ŵ(θ)·e^{−iθj}·(η·(A/B)^r − 1) / (1 − e^{−s−iθ})
    /// ```
    fn cuts(&self, laws: &Hypotheses, k: f64, ratio: f64) -> [Estimate; 3] {
        let r = laws.own as f64;
        let (others, down) = (laws.up as f64, laws.down as f64);
        let points = self.points(k, r);
        let step = TAU / points;
        let decay = (-self.s).exp();
        let offset = k - self.mean;
        let (mut sums, mut size) = ([0.0; 3], 0.0);
        let (mut visited, mut cut) = (0, 0.0);
        for index in 0..=(points / 2.0) as u64 {
            visited += 1;
            let theta = step * index as f64;
            let half = (0.5 * theta).sin();
            let rise = Polar::coin(self.flipped, self.stayed, theta, half);
            let fall = Polar::coin(self.fallen, self.kept, theta, half);
            // The two laws share the others' bits and differ in the user's.
            let shared = rise.power(others).plus(fall.power(-down));
            let zeros = shared.plus(rise.power(r)).turned(-theta * offset);
            // 1 − e^{−iθ} = 2·sin²(θ/2) + i·sin θ
            let turn = Complex64::new(2.0 * half * half, theta.sin());
            let tail = turn * decay - (-self.s).exp_m1();
            // B = 1 + flipped·(e^{iθ} − 1). Where it is not small, A/B is the cheaper and safer way
            // to the difference of the two laws, which are close for small θ.
            let b = -turn.conj() * self.flipped + 1.0;
            let own = ln_1p(-turn.conj() * self.apart / b) * r + ratio;
            let close = b.norm_sqr() > 0.25 && own.re < 1.0;
            let (larger, doubt, difference);
            if close {
                larger = zeros.log.re.max(zeros.log.re + own.re);
                doubt = zeros.doubt + own.norm();
                difference = zeros.complex() * exp_m1(own);
            } else {
                let held = Polar::coin(self.kept, self.fallen, theta, half).power(r);
                let ones = shared.plus(held).turned(-theta * (offset - r * self.apart));
                let ones = Polar { log: ones.log + ratio, ..ones };
                larger = zeros.log.re.max(ones.log.re);
                doubt = zeros.doubt.max(ones.doubt);
                difference = ones.complex() - zeros.complex();
            }
            // Both moduli fall towards θ = π, and the tail's grows. As ln(1 − cy) is concave in
            // y = sin²(θ/2), a modulus e^-NATS here is e^{−NATS·y/y₀} further out, where the sine
            // is at least 2/π of its tangent: the terms left out amount to no more than those
            // visited, each of this size.
            if larger < -NATS {
                cut = 2.0 * visited as f64 / tail.norm();
                break;
            }
            let term = difference / tail;
            let weight = if index == 0 || 2 * index == points as u64 { 1.0 } else { 2.0 };
            let spin = Complex64::new(1.0 - turn.re, turn.im);
            // e^{−iθ(k−1)}, e^{−iθk}, e^{−iθ(k+1)}
            sums[0] += weight * (term * spin).re;
            sums[1] += weight * term.re;
            sums[2] += weight * (term * spin.conj()).re;
            // Relative error of a term: that of its logarithms and angles, absolutely.
            let reached = if close { term.norm() } else { 2.0 * larger.exp() / tail.norm() };
            size += weight * (8.0 + doubt) * reached;
        }
        work::count(visited);
        let rise = Product::new(others + r - down, laws.flip);
        let distance = (k - rise.high) - rise.low;
        let power = self.exponent - self.s * distance + laws.epsilon;
        // What wraps around the circle meets a tail sum of at most 2.
        let lost = (-NATS).exp() * (8.0 * points + cut) * (1.0 + ratio.exp());
        let exponents = 2e-16 * (self.exponent.abs() + (self.s * distance).abs() + laws.epsilon);
        let estimate = |shift: f64, sum: f64| {
            let scale = (power - self.s * shift).exp() / points;
            let error = scale * (4e-16 * size + lost + exponents * sum.abs());
            Estimate { value: scale * sum, error }
        };
        [estimate(-1.0, sums[0]), estimate(0.0, sums[1]), estimate(1.0, sums[2])]
    }

    /// The number of places the circle needs so that wrapping around it moves less than e^-NATS of
    /// the mass (Bernstein's inequality) and of the tail sum.
    fn points(&self, k: f64, r: f64) -> f64 {
        let spread = self.deviation.powi(2) + r * self.kept * self.fallen;
        let half = (bernstein(NATS, spread) + (k - self.mean).abs() + r * self.apart + 2.0)
            .max(NATS / self.s);
        2.0 * half.ceil()
    }
}

/// A number and how far it may be off.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    error: f64,
}

/// A value of a characteristic function, by its logarithm.
#[derive(Clone, Copy)]
struct Polar {
    /// The logarithm of its modulus, and its angle.
    log: Complex64,
    /// The sum of the sizes of the terms added up, for the rounding error.
    doubt: f64,
}

impl Polar {
    /// A tilted coin's characteristic function around its mean, `E e^{iθ(X−p)}`.
    fn coin(p: f64, q: f64, theta: f64, half_sine: f64) -> Self {
        let square = half_sine * half_sine;
        // |q + p·e^{iθ}|² = 1 − 4pq·sin²(θ/2) = (q − p)² + 4pq·cos²(θ/2)
        let log_modulus = if square < 0.5 {
            0.5 * (-4.0 * p * q * square).ln_1p()
        } else {
            let cosine = (0.5 * theta).cos();
            0.5 * ((q - p).powi(2) + 4.0 * p * q * cosine * cosine).ln()
        };
        let (a, b) = (q * theta, p * theta);
        let im = p * sin_minus(a) - q * sin_minus(b);
        let re = p * a.cos() + q * b.cos();
        Self { log: Complex64::new(log_modulus, im.atan2(re)), doubt: 0.0 }
    }

    /// The law of `count` such coins, or of minus their sum.
    fn power(self, count: f64) -> Self {
        if count == 0.0 {
            return Self { log: Complex64::new(0.0, 0.0), doubt: 0.0 };
        }
        let log = Complex64::new(count.abs() * self.log.re, count * self.log.im);
        Self { log, doubt: log.re.abs() + log.im.abs() }
    }

    fn plus(self, other: Self) -> Self {
        Self { log: self.log + other.log, doubt: self.doubt + other.doubt }
    }

    fn turned(self, angle: f64) -> Self {
        let log = Complex64::new(self.log.re, self.log.im + angle);
        Self { log, doubt: self.doubt + angle.abs() }
    }

    fn complex(self) -> Complex64 {
        Complex64::from_polar(self.log.re.exp(), self.log.im)
    }
}

/// `ln E e^{s(X−f)}` of one coin, without cancellation for small `s`.
fn centred_cumulant(f: f64, s: f64) -> f64 {
    let q = 1.0 - f;
    (q * exp_m1_minus(-f * s) + f * exp_m1_minus(q * s)).ln_1p()
}

/// Splits of the full search: a little over 2¹¹, so that a flat landscape is cut into 2¹¹ blocks.
/// Exact up to crowds of about 10⁶, a certified band beyond.
const BLOCKS: usize = 2_100;
const COARSE_BLOCKS: usize = 120;
/// The most bits of others whose law is written out where the contour integral gives up.
const MAX_WRITTEN: u64 = 10_000;
/// The wrapped circle and the truncated sum may lose e^-NATS of the tilted mass.
const NATS: f64 = 50.0;
/// The first guess of a cut is off by a few places; anything further is lost.
const MAX_CLIMB: usize = 64;
