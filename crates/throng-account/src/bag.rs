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
//! * for all `t` in `[t₁, t₂]`, revealing `t₂ − t₁` of the others' bits only helps the adversary, so
//!   the bag with `N − t₂` zeros and `t₁` ones bounds them all.
//!
//! The last one gives a branch-and-bound over blocks of `t` that ends exact when blocks shrink to
//! single datasets, and certified when its budget ends first.
//!
//! One value `P[W' ≥ k] − e^ε·P[W ≥ k]` is a contour integral of the characteristic function,
//! tilted so that `k` lies in the middle of the law, where nothing cancels. The trapezoidal rule
//! with `L` points is the exact value for the law wrapped around a circle of `L` places, so its
//! error is tail probability; thirty points give thirteen digits whatever the crowd.
//!
//! | symbol | code | meaning |
//! |---|---|---|
//! | f, q | `flip`, `keep` | probability that a bit is flipped, or not |
//! | N, t | `others`, `ones` | the others' bits, and how many are 1 |
//! | r | `own` | the user's bits |
//! | s | `s` | tilt: the law is weighted by `e^{s·total}` |

use crate::Band;
use crate::binomial::Product;
use crate::complex::{exp_m1, ln_1p};
use crate::solve::smallest_epsilon;
use crate::special::{exp_m1_minus, round_down, round_up, sin_minus};
use crate::work;
use realfft::num_complex::Complex64;
use std::collections::BinaryHeap;

/// The bag, but for how many of the others' bits are ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bag {
    pub(crate) others: u64,
    pub(crate) own: u64,
    pub(crate) flip: f64,
}

/// A δ or ε, bounded from both sides over all datasets, and the dataset of the lower bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worst {
    pub(crate) band: Band,
    pub(crate) ones: u64,
}

impl Bag {
    /// ε₀ of the user's own bits, rounded up: the loss when nobody else's are in the bag.
    pub(crate) fn pure(&self) -> f64 {
        let bit = ((1.0 - self.flip) / self.flip).ln();
        self.own as f64 * (bit + 1e-15 * (1.0 + bit))
    }

    /// `δ(ε)` on the dataset with `ones` ones among the others' bits, ones against zeros.
    pub(crate) fn delta_at(&self, ones: u64, epsilon: f64) -> f64 {
        self.block_delta(Block::single(ones), epsilon)
    }

    /// `δ(ε)` over all datasets.
    pub(crate) fn delta(&self, epsilon: f64) -> Worst {
        let left = self.pure() - epsilon;
        if left <= 0.0 {
            return Worst { band: Band::ZERO, ones: 0 };
        }
        // δ vanishes with what is left to ε₀, of which rounding moves the last bits.
        let edge = 4e-15 * (1.0 + self.pure()) / left;
        let search = self.search(epsilon, BLOCKS);
        let lower = round_down(search.best * (1.0 - edge)).max(0.0);
        let upper = round_up(search.ceiling() * (1.0 + edge)).min(1.0);
        Worst { band: Band { lower, upper }, ones: search.ones }
    }

    /// An upper bound on `δ(ε)` over all datasets from a smaller search, for use in bulk.
    pub(crate) fn coarse_delta(&self, epsilon: f64) -> f64 {
        if epsilon >= self.pure() {
            return 0.0;
        }
        round_up(self.search(epsilon, COARSE_BLOCKS).ceiling())
    }

    /// The smallest ε at `delta` over all datasets: solved on the worst dataset found, then raised
    /// until every block's bound is below `delta`.
    pub(crate) fn epsilon(&self, delta: f64) -> Worst {
        let pure = self.pure();
        let solve = |block: Block, guess: f64| {
            smallest_epsilon(delta, pure, guess, |e| round_up(self.block_delta(block, e)))
        };
        let mut ones = self.others;
        let mut lower = solve(Block::single(ones), 0.0);
        let mut search = self.search(lower, BLOCKS);
        // A worse dataset turned up: solve there and search again, which it rarely takes twice.
        for _ in 0..4 {
            let better = solve(Block::single(search.ones), lower);
            if better <= lower {
                break;
            }
            (ones, lower) = (search.ones, better);
            search = self.search(lower, BLOCKS);
        }
        // Raise ε until nothing looked at is above δ: blocks still open, and single datasets.
        let mut upper = lower;
        for block in search.open.into_iter().chain(search.closed) {
            if round_up(block.bound) > delta
                && round_up(self.block_delta(block.range, upper)) > delta
            {
                upper = upper.max(solve(block.range, upper));
            }
        }
        // Near ε₀ the last bits of ε decide about δ.
        if upper > 0.0 {
            upper = (upper + 1e-15 * (1.0 + pure)).min(pure);
        }
        // `lower` was solved on a value rounded up; the true ε of that dataset is this at least.
        let floor = smallest_epsilon(delta, pure, lower, |e| {
            round_down(self.block_delta(Block::single(ones), e))
        });
        Worst { band: Band { lower: floor.min(upper), upper }, ones }
    }

    /// Best-first branch and bound over blocks of datasets.
    fn search(&self, epsilon: f64, blocks: usize) -> Search {
        let mut search =
            Search { best: 0.0, ones: self.others, open: BinaryHeap::new(), closed: Vec::new() };
        // Good datasets to start from let most blocks be dismissed unsplit.
        for ones in [self.others, 0, self.others / 2, self.others.saturating_sub(1)] {
            search.push(self, Block::single(ones), epsilon);
        }
        search.push(self, Block { first: 0, last: self.others }, epsilon);
        for _ in 0..blocks {
            let Some(top) = search.open.peek() else { break };
            if top.bound <= search.best * (1.0 + 1e-12) {
                break;
            }
            let Block { first, last } = search.open.pop().expect("peeked").range;
            let middle = first + (last - first) / 2;
            search.push(self, Block { first, last: middle }, epsilon);
            search.push(self, Block { first: middle + 1, last }, epsilon);
        }
        search
    }

    /// Bounds `δ(ε)` of every dataset of the block; exact for a single dataset.
    fn block_delta(&self, block: Block, epsilon: f64) -> f64 {
        let zeros = self.others - block.last;
        Hypotheses { up: zeros, down: block.first, own: self.own, flip: self.flip, epsilon }.delta()
    }
}

/// The datasets with `first ..= last` ones.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Block {
    first: u64,
    last: u64,
}

impl Block {
    fn single(ones: u64) -> Self {
        Self { first: ones, last: ones }
    }
}

/// A block still to be split, ordered by its bound.
#[derive(Debug, PartialEq)]
struct Open {
    bound: f64,
    range: Block,
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

struct Search {
    /// The largest δ of a single dataset, and that dataset.
    best: f64,
    ones: u64,
    open: BinaryHeap<Open>,
    /// Single datasets.
    closed: Vec<Open>,
}

impl Search {
    fn push(&mut self, bag: &Bag, range: Block, epsilon: f64) {
        let bound = bag.block_delta(range, epsilon);
        if range.first < range.last {
            self.open.push(Open { bound, range });
            return;
        }
        if bound > self.best {
            (self.best, self.ones) = (bound, range.first);
        }
        self.closed.push(Open { bound, range });
    }

    /// No dataset is above this.
    fn ceiling(&self) -> f64 {
        self.open.peek().map_or(self.best, |top| top.bound.max(self.best))
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
    /// `max over k of P[W' ≥ k] − e^ε·P[W ≥ k]`.
    fn delta(&self) -> f64 {
        let (f, q) = (self.flip, 1.0 - self.flip);
        let per_bit = self.epsilon / self.own as f64;
        // The tilt that makes the two laws cross at the worst cut: (f + q·e^s)/(q + f·e^s) = e^(ε/r).
        let denominator = q - f * per_bit.exp();
        if denominator <= 0.0 {
            return 0.0;
        }
        let crossing = (per_bit.exp_m1() / denominator).ln_1p();
        let at_crossing = self.tilt(crossing);
        // The tails converge like e^(−s·m), so a tilt below one deviation would need a long circle.
        let s = crossing.max(1.0 / at_crossing.deviation.max(0.5));
        let tilted = if s > crossing { self.tilt(s) } else { at_crossing };
        let ratio = self.own as f64 * (tilted.log_ratio(self.flip) - per_bit);
        // P[W' ≥ k] − e^ε·P[W ≥ k] rises to its maximum in k and falls from there; a climb that
        // turns around has found it, up to rounding.
        let mut k = at_crossing.cut(self.own as f64);
        let mut direction = 0.0;
        loop {
            let [below, here, above] = tilted.cuts(self, k, ratio);
            let uphill = if below > above { -1.0 } else { 1.0 };
            if here >= below.max(above) || here.is_nan() || uphill == -direction {
                return here.max(below).max(above).clamp(0.0, 1.0);
            }
            direction = uphill;
            k += direction;
        }
    }

    fn tilt(&self, s: f64) -> Tilted {
        let (f, q) = (self.flip, 1.0 - self.flip);
        // Probabilities of a flip among zeros (total rises) and ones (total falls), after tilting.
        let flipped = f / (f + q * (-s).exp());
        let fallen = f * (-s).exp() / (f * (-s).exp() + q);
        let kept = q / (q + f * (-s).exp());
        let (up, down) = ((self.up + self.own) as f64, self.down as f64);
        let variance = up * flipped * (1.0 - flipped) + down * fallen * (1.0 - fallen);
        let (rise, fall) = (Product::new(up, flipped), Product::new(down, fallen));
        Tilted {
            s,
            flipped,
            fallen,
            kept,
            deviation: variance.sqrt(),
            mean: (rise.high - fall.high) + (rise.low - fall.low),
            exponent: up * centred_cumulant(f, s) + down * centred_cumulant(f, -s),
        }
    }
}

/// The law of `W` tilted by `e^{s·W}`.
#[derive(Clone, Copy)]
struct Tilted {
    s: f64,
    /// Tilted flip probability of a zero.
    flipped: f64,
    /// Tilted flip probability of a one.
    fallen: f64,
    /// Tilted probability that a one of the user's stays a one.
    kept: f64,
    deviation: f64,
    mean: f64,
    /// `ln E e^{sW} − s·E W`, the mean being that before tilting.
    exponent: f64,
}

impl Tilted {
    /// `ln((f + q·e^s)/(q + f·e^s))`: how the two laws of one bit differ at this tilt.
    fn log_ratio(&self, f: f64) -> f64 {
        // (f + q·e^s)/(q + f·e^s) − 1 = (q − f)(e^s − 1)/(q + f·e^s)
        let q = 1.0 - f;
        ((q - f) * -(-self.s).exp_m1() / (q * (-self.s).exp() + f)).ln_1p()
    }

    /// Where the two laws cross, to the order of their skewness: the first guess of the worst cut.
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
    fn cuts(&self, laws: &Hypotheses, k: f64, ratio: f64) -> [f64; 3] {
        let r = laws.own as f64;
        let (up, down) = ((laws.up + laws.own) as f64, laws.down as f64);
        let points = self.points(k, r);
        let step = std::f64::consts::TAU / points;
        let decay = (-self.s).exp();
        let offset = k - self.mean;
        let mut sums = [0.0; 3];
        let mut visited = 0;
        for index in 0..=(points / 2.0) as u64 {
            visited += 1;
            let theta = step * index as f64;
            let half = (0.5 * theta).sin();
            let rise = Coin::new(self.flipped, theta, half);
            let fall = Coin::new(self.fallen, theta, half);
            let log_modulus = up * rise.log_modulus + down * fall.log_modulus;
            let own = self.log_quotient(theta, half) * r + ratio;
            // The moduli of both laws only fall towards θ = π; what is left out is below e^-NATS.
            if log_modulus.max(log_modulus + own.re) < -NATS {
                break;
            }
            // 1 − e^{−iθ} = 2·sin²(θ/2) + i·sin θ
            let turn = Complex64::new(2.0 * half * half, theta.sin());
            let tail = turn * decay - (-self.s).exp_m1();
            let angle = up * rise.angle - down * fall.angle - theta * offset;
            let difference = if own.re < 1.0 {
                Complex64::from_polar(log_modulus.exp(), angle) * exp_m1(own)
            } else {
                Complex64::from_polar((log_modulus + own.re).exp(), angle + own.im)
                    - Complex64::from_polar(log_modulus.exp(), angle)
            };
            let term = difference / tail;
            let weight = if index == 0 || 2 * index == points as u64 { 1.0 } else { 2.0 };
            let spin = Complex64::new(1.0 - turn.re, turn.im);
            // e^{−iθ(k−1)}, e^{−iθk}, e^{−iθ(k+1)}
            sums[0] += weight * (term * spin).re;
            sums[1] += weight * term.re;
            sums[2] += weight * (term * spin.conj()).re;
        }
        work::count(visited);
        let rise = Product::new(up - down, laws.flip);
        let distance = (k - rise.high) - rise.low;
        let scale = |shift: f64| {
            (self.exponent - self.s * (distance + shift) + laws.epsilon).exp() / points
        };
        [scale(-1.0) * sums[0], scale(0.0) * sums[1], scale(1.0) * sums[2]]
    }

    /// `ln(A/B)`, without cancellation where A and B are close.
    fn log_quotient(&self, theta: f64, half: f64) -> Complex64 {
        // e^{iθ} − 1, A − B = (kept − flipped)(e^{iθ} − 1) and B = 1 + flipped·(e^{iθ} − 1)
        let turn = Complex64::new(-2.0 * half * half, theta.sin());
        ln_1p(turn * (self.kept - self.flipped) / (turn * self.flipped + 1.0))
    }

    /// How many places the circle needs so that wrapping around it moves less than e^-NATS of
    /// the mass (Bernstein's inequality) and of the tail sum.
    fn points(&self, k: f64, r: f64) -> f64 {
        let spread = self.deviation.powi(2) + r * self.kept * (1.0 - self.kept);
        let reach = NATS / 3.0 + (NATS * NATS / 9.0 + 2.0 * NATS * spread).sqrt();
        let apart = r * (self.kept - self.flipped);
        let half = (reach + (k - self.mean).abs() + apart + 2.0).max(NATS / self.s);
        2.0 * half.ceil()
    }
}

/// A tilted coin's characteristic function around its mean: `E e^{iθ(X−p)}` in polar form.
struct Coin {
    log_modulus: f64,
    angle: f64,
}

impl Coin {
    fn new(p: f64, theta: f64, half_sine: f64) -> Self {
        let q = 1.0 - p;
        let log_modulus = 0.5 * (-4.0 * p * q * half_sine * half_sine).ln_1p();
        let (a, b) = (q * theta, p * theta);
        let im = p * sin_minus(a) - q * sin_minus(b);
        let re = p * a.cos() + q * b.cos();
        Self { log_modulus, angle: im.atan2(re) }
    }
}

/// `ln E e^{s(X−f)}` of one coin, without cancellation for small `s`.
fn centred_cumulant(f: f64, s: f64) -> f64 {
    let q = 1.0 - f;
    (q * exp_m1_minus(-f * s) + f * exp_m1_minus(q * s)).ln_1p()
}

/// Splits of the full search: exact up to crowds of about 10⁵, a certified band beyond.
const BLOCKS: usize = 2_000;
const COARSE_BLOCKS: usize = 120;
/// What the wrapped circle and the truncated sum may lose: e^-NATS of the tilted mass.
const NATS: f64 = 45.0;
