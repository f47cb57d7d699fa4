//! `split-and-mix`: a sum as exact as a trusted curator's, and as fragile as a house of cards
//! (Ishai, Kushilevitz, Ostrovsky, Sahai, "Cryptography from Anonymity", 2006; Balle, Bell, Gascón,
//! Nissim, "Private Summation in the Multi-Message Shuffle Model", 2020; Ghazi, Manurangsi, Pagh,
//! Velingker, "Private Aggregation from Fewer Anonymous Messages", 2020).
//!
//! **One lost message turns the sum into a uniformly random number, and if m are lost, as many as
//! one report has, nothing shows it. One malicious user can set it to anything, unnoticed.**
//! Nothing bounds the influence of a user, and nobody is protected locally: a report that can be
//! told apart from the others shows its value. Hence the name of the constructor,
//! [`SplitAndMix::fragile`].
//!
//! ```text
//! client     y = ⌊xB⌋ + coin(xB − ⌊xB⌋),   z = y + NB − NB′ mod q,   NB, NB′ ~ NB(1/n, e^−ε/B)
//!            sends m − 1 uniform numbers mod q, and what they lack to z
//! analyzer   (Σ messages mod q, as the number next to the middle of its range)/B
//!            standard error √(2s/(1−s)² + n/4)/B,   s = e^−ε/B
//! ```
//!
//! The shares of n users add up to `P[N = k] ∝ s^|k|`, which hides the sum by ε (more users only
//! add more noise), and the messages show nothing but the sum: the bag is within a statistical
//! distance of one that is drawn from the sum alone,
//!
//! ```text
//! ½·√(E[q^(C−1)] − 1)                   computed up to 400 users
//! 2^−σ = √(q·(e/n)^(m−2))               for n ≥ 19, the published bound, beyond
//! ```
//!
//! The reason, in short (in full: `docs/privacy.md`, 14). Lay one message of each user open, in
//! order; what the others of user i add up to is then uniform, and the bag of those says nothing
//! new about them if a random grouping of a uniform bag into n groups of m − 1 has sums that are
//! close to uniform. By Cauchy and Schwarz their distance is at most `½·√(E[q^(C−1)] − 1)`, where C
//! counts the components of the graph on n users that two random groupings of the same bag make:
//! each component is one equation that is met for free. The tests enumerate the distances for small
//! cases.

use crate::sample::WideCatalogue;
use crate::sums::laplace::{GRID, grid_law, laplace_reach, laplace_variance, on_grid};
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Law, Parameters, Protocol, Question, Scene, Score,
    Tally, Trace, Value, require, sample, sum_up_to,
};
use rand_core::CryptoRng;
use throng_account::profile::WorstCase;
use throng_account::{Band, Crowd, Delta, Epsilon, Probability, Profile, Theorem, round};

/// m messages below q = 2^bits, which add up to the value and a share of the noise.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Crowd, Delta, Epsilon};
/// use throng_mechanism::{Protocol, SplitAndMix};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let split = SplitAndMix::fragile(Crowd::new(1_000)?, epsilon, delta, 1_000)?;
/// let (kept, failing) = split.guarantee();
/// assert!(kept <= epsilon && failing <= delta && split.capacity() >= 2_000);
///
/// // Messages that look like nothing, and add up to the value and a share of the noise.
/// let mut report = Vec::new();
/// split.encode(&0.5, &mut rng, &mut report)?;
/// assert_eq!(report.len(), split.messages());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SplitAndMix {
    crowd: u64,
    grid: u32,
    /// ε/B: the noise falls off by e^−step with each step of the grid.
    step: f64,
    bits: u32,
    messages: usize,
    capacity: u64,
    share: NoiseShare,
    epsilon: Epsilon,
    delta: Delta,
    /// The promise asked for, from which all of the above follows.
    asked: (Epsilon, Delta),
}

impl SplitAndMix {
    /// The fewest messages for (ε, δ) in a crowd of at least 19 honest users, every one of whose
    /// messages arrives. **Read the module's warning first.**
    ///
    /// `grid` is the number of steps between 0 and 1. There is room for the sum of
    /// [`SplitAndMix::capacity`] reports, at least twice the crowd.
    pub fn fragile(crowd: Crowd, epsilon: Epsilon, delta: Delta, grid: u32) -> Result<Self, Error> {
        let n = crowd.get();
        if n < MIN_CROWD {
            return Err(Error::Account(throng_account::Error::NotValid {
                theorem: "Balle et al. (2020)",
                name: "crowd",
                relation: ">=",
                limit: MIN_CROWD as f64,
                value: n as f64,
            }));
        }
        let asked = (epsilon, delta);
        // Aiming below by more than the outward rounding of the guarantee.
        let step = round::within(epsilon.get()) / f64::from(grid.max(1));
        require(grid > 0 && step >= SMALLEST_STEP, "grid", "from 1 to 20000·epsilon")?;
        let distance = delta.get() / (1.0 + epsilon.get().exp());
        let share = NoiseShare::new(n, step, distance * NEGLIGIBLE)?;
        let (noise, sum) = (2 * widest(step), u128::from(2 * n) * u128::from(grid));
        let bits = (noise + sum + 1).next_power_of_two().ilog2();
        let capacity = (((1 << bits) - 1 - noise) / u128::from(grid)).min(u128::from(4 * n)) as u64;
        let epsilon = Epsilon::new(round::up(f64::from(grid) * step))?;
        let mut split = Self {
            crowd: n,
            grid,
            step,
            bits,
            messages: 2,
            capacity,
            share,
            epsilon,
            delta,
            asked,
        };
        while split.failure() > delta.get() {
            split.messages += 1;
            let range = "above what the noise table is off by, about 1e-12·(1 + e^epsilon)";
            require(split.messages <= MAX_MESSAGES, "delta", range)?;
        }
        split.delta = Delta::new(split.failure())?;
        Ok(split)
    }

    /// (ε, δ) of the view of everything that is sent, among at least the crowd of honest users,
    /// when one value is replaced.
    ///
    /// ```text
    /// ε = B·step          δ = (1 + e^ε)·(distance of the bag + distance of the sampled noise)
    /// ```
    ///
    /// Upper bounds. Either view is within the distances of one that is drawn from the noisy sum,
    /// which is ε-private; one distance is paid as it is, the other times e^ε.
    pub fn guarantee(&self) -> (Epsilon, Delta) {
        (self.epsilon, self.delta)
    }

    /// The most reports whose sum is below q, with room for noise on both sides that is exceeded
    /// with probability below e⁻⁶³; at most four times the crowd.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        let float = |name| given.number(name).map(f64::from_bits);
        let (crowd, epsilon) = (Crowd::new(given.number("crowd")?)?, float("epsilon")?);
        // A larger ε is rarer noise.
        let epsilon = given.weaken.map_or(epsilon, |factor| epsilon * factor);
        Self::fragile(
            crowd,
            Epsilon::new(epsilon)?,
            Delta::new(float("delta")?)?,
            given.small("grid")?,
        )
    }

    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        if !ask.fragile {
            return Err(Error::NotAsked {
                why: "one liar or one lost message ruins its sum; allow it with --fragile",
            });
        }
        // The noise of a small ε is wide, and a coarser grid does for it.
        let finest = 0.999 * ask.epsilon.get() / SMALLEST_STEP;
        Self::fragile(ask.crowd, ask.epsilon, ask.delta, GRID.min(finest as u32).max(1))
    }

    /// δ, which with too few messages may be above 1.
    fn failure(&self) -> f64 {
        let shown = self.published_distance().min(self.distance());
        let distance = shown + self.share.distance * self.crowd as f64;
        round::up((1.0 + self.epsilon.get().exp()) * distance)
    }

    /// `√(q·(e/n)^(m−2))`.
    fn published_distance(&self) -> f64 {
        let per_message = (self.crowd as f64).log2() - std::f64::consts::LOG2_E;
        let sigma = 0.5 * ((self.messages as f64 - 2.0) * per_message - f64::from(self.bits));
        (-sigma).exp2()
    }

    /// `½·√(E[q^(C−1)] − 1)`, rounded up; infinite for crowds that it is not computed for.
    fn distance(&self) -> f64 {
        if self.crowd > MAX_COUNTED || self.crowd * self.messages as u64 > MAX_THINGS {
            return f64::INFINITY;
        }
        let q = f64::from(self.bits).exp2();
        round::up(0.5 * free_equations(self.crowd as usize, self.messages - 1, q).sqrt())
    }

    /// The mask q − 1.
    fn mask(&self) -> u64 {
        (1 << self.bits) - 1
    }
}

impl Protocol for SplitAndMix {
    type Input = f64;

    fn messages(&self) -> usize {
        self.messages
    }

    fn encode(&self, input: &f64, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        let value = on_grid(*input, self.grid, rng)?;
        let mut rest = value.wrapping_add(self.share.draw(rng)).wrapping_sub(self.share.draw(rng));
        for _ in 1..self.messages {
            let message = sample::below(1 << self.bits, rng);
            rest = rest.wrapping_sub(message);
            report.push(message);
        }
        report.push(rest & self.mask());
        Ok(())
    }

    fn law(&self, input: &f64) -> Law {
        let mut sums = vec![0.0; 1 << self.bits];
        let (floor, up) = grid_law(*input, self.grid).expect("a value in range");
        let (share, mask) = (self.share.law(), self.mask());
        for (plus, p) in share.iter().enumerate() {
            for (minus, q) in share.iter().enumerate() {
                let sum = (floor + plus as u64).wrapping_sub(minus as u64);
                sums[(sum & mask) as usize] += p * q * (1.0 - up);
                sums[(sum.wrapping_add(1) & mask) as usize] += p * q * up;
            }
        }
        let free = self.bits * (self.messages as u32 - 1);
        let mut law = Law::new();
        for (sum, p) in sums.iter().enumerate() {
            for word in 0..1_u64 << free {
                let digits =
                    (1..self.messages as u32).map(|i| word >> (self.bits * (i - 1)) & mask);
                let mut report: Vec<u64> = digits.collect();
                let rest = report.iter().fold(sum as u64, |rest, digit| rest.wrapping_sub(*digit));
                report.push(rest & mask);
                report.sort_unstable();
                *law.entry(report).or_insert(0.0) += p / f64::from(free).exp2();
            }
        }
        law
    }

    fn cells(&self) -> usize {
        1
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        sum_up_to(self.mask(), messages, cells)
    }

    /// The sum of the values. Its error is infinite where the bag shows that it is worthless: a
    /// message is missing or malformed, or there are more reports than the sum has room for.
    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let (n, reports) = (tally.n(), tally.reports());
        // The number with this remainder that is next to the middle of 0 … nB.
        let middle = reports.wrapping_mul(u64::from(self.grid)) / 2;
        let above = tally.cells()[0].wrapping_sub(middle) & self.mask();
        let half = 1_u64 << (self.bits - 1);
        let offset = (above ^ half).wrapping_sub(half) as i64;
        let value = (middle as f64 + offset as f64) / f64::from(self.grid);

        let whole = n == reports as f64 && tally.malformed() == 0 && reports <= self.capacity();
        let (standard_error, half_width) = if whole {
            (self.standard_error(n), self.half_width(n, confidence))
        } else {
            (f64::INFINITY, f64::INFINITY)
        };
        vec![Estimate::even(value, standard_error, half_width)]
    }
}

impl Claims for SplitAndMix {
    fn question(&self) -> Question {
        Question::Real
    }

    /// The promise for the crowd it was made for; a larger one only adds noise.
    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        require(crowd.get() >= self.crowd, "crowd", "at least that promised")?;
        Ok(Box::new(Shares(WorstCase::new(self.epsilon, self.delta.get())?)))
    }

    /// An upper bound over all datasets, reached when all values lie midway between grid points.
    fn standard_error(&self, reports: f64) -> f64 {
        let noise = reports / self.crowd as f64 * laplace_variance(self.step);
        (noise + 0.25 * reports).sqrt() / f64::from(self.grid)
    }

    fn half_width(&self, reports: f64, confidence: Probability) -> f64 {
        if reports > self.capacity as f64 {
            return f64::INFINITY;
        }
        let copies = reports / self.crowd as f64;
        laplace_reach(copies, self.step, 0.25 * reports, confidence) / f64::from(self.grid)
    }

    fn influence(&self) -> f64 {
        f64::INFINITY
    }

    fn message_bits(&self) -> u32 {
        self.bits
    }

    /// The table of its noise follows from these four; two of them are floats, bit by bit.
    fn parameters(&self) -> Parameters {
        let (epsilon, delta) = self.asked;
        vec![
            ("crowd", vec![self.crowd]),
            ("grid", vec![self.grid.into()]),
            ("epsilon", vec![epsilon.get().to_bits()]),
            ("delta", vec![delta.get().to_bits()]),
        ]
    }

    fn floats(&self) -> &'static [&'static str] {
        &["epsilon", "delta"]
    }

    /// The sum modulo q, as the number of smallest size.
    fn score(&self, _: &Scene) -> Result<Option<Score>, Error> {
        let spare = 64 - self.bits;
        Ok(Some(Box::new(move |tally: &Tally| {
            ((tally.cells()[0] << spare) as i64 >> spare) as f64
        })))
    }

    /// Noise that is not 0: the shares of its two sides differ.
    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let (point, rest) = grid_law(value.real().ok()?, self.grid).ok()?;
        let law = self.share.law();
        // 1 − Σ p², without the cancellation at p₀ close to 1.
        let some: f64 = law[1..].iter().sum();
        let alike: f64 = law[1..].iter().map(|p| p * p).sum();
        let (chance, mask) = (some * (2.0 - some) - alike, self.mask());
        (rest == 0.0).then(|| {
            Trace::new(1, chance, move |report| {
                let sum = report.iter().fold(0_u64, |sum, share| sum.wrapping_add(*share));
                u64::from(sum & mask != point)
            })
        })
    }
}

/// The promise of the noisy sum, with the distance of the bag in its δ.
struct Shares(WorstCase);

impl Profile for Shares {
    fn delta(&self, epsilon: Epsilon) -> Band {
        Band { lower: 0.0, ..self.0.delta(epsilon) }
    }

    fn theorem(&self) -> Theorem {
        Theorem::SplitAndMix
    }

    fn pure(&self) -> Option<Epsilon> {
        self.0.pure()
    }

    fn least_delta(&self) -> f64 {
        self.0.least_delta()
    }
}

/// An upper bound on `E[q^(C−1)] − 1` for two random groupings of n·m things into n groups of m,
/// where C counts the components of the graph in which every thing joins its two groups.
///
/// The component of the first user is a given set of j users with probability `κ_j/C(nm, jm)`: both
/// groupings give it the same jm things, and κ_j is the chance that j users are connected. What is
/// left is two random groupings for n − j users. With `E_n = E[q^C]`,
///
/// ```text
/// E_n/q − 1 = Σ_{j<n} κ_j·C(n−1, j−1)/C(nm, jm)·(E_{n−j} − 1)
/// ```
///
/// Every term is positive, so `κ_j ≤ 1` gives an upper bound in which nothing cancels. A sum of
/// `ln k` up to k = 20 000 stays below 2¹⁸, so its additions are off by 2·10⁴·2⁻³⁶ < 3·10⁻⁷ in all;
/// a coefficient has six of them, and is raised by 10⁻⁵.
fn free_equations(users: usize, m: usize, q: f64) -> f64 {
    let mut ln_factorial = vec![0.0];
    for k in 1..=users * m {
        ln_factorial.push(ln_factorial[k - 1] + (k as f64).ln());
    }
    let ln_choose = |n: usize, k: usize| ln_factorial[n] - ln_factorial[k] - ln_factorial[n - k];
    let (mut expected, mut excess) = (vec![1.0, q], 0.0);
    for n in 2..=users {
        let term = |j: usize| {
            let chance = (ln_choose(n - 1, j - 1) - ln_choose(n * m, j * m)).exp();
            chance * (1.0 + 1e-5) * (expected[n - j] - 1.0)
        };
        excess = (1..n).map(term).sum();
        let next = q * (1.0 + excess);
        if !next.is_finite() {
            return f64::INFINITY;
        }
        expected.push(next);
    }
    excess
}

/// One user's share of one side of the noise: the negative binomial law NB(1/n, e^−x) as a table of
/// integer weights out of 2¹²⁸.
#[derive(Debug, Clone, PartialEq)]
struct NoiseShare {
    /// The weights of 1, 2, …; 0 has the rest.
    table: WideCatalogue,
    /// A bound on the statistical distance of two draws, one for each side, from the exact law.
    distance: f64,
}

impl NoiseShare {
    /// The share, cut off where all that the shares of all users lack is at most `negligible`.
    ///
    /// ```text
    /// P[k] = (r/k)·e^{−xk}·(1 − e^−x)^r·Π_{j<k} (1 + r/j),       r = 1/n
    /// ```
    fn new(crowd: u64, x: f64, negligible: f64) -> Result<Self, Error> {
        let r = 1.0 / crowd as f64;
        let survive = -(-x).exp_m1();
        let (mut weights, mut distance) = (Vec::new(), 0.0);
        // ln Π (1 + r/j), with the digits that each addition loses carried on.
        let (mut product, mut carry) = (0.0, 0.0);
        for k in 1..=MAX_TABLE {
            let (k, decay) = (k as f64, x * k as f64);
            let mass = r / k * (r * survive.ln() - decay + product).exp();
            weights.push((mass * TWO_128) as u128);
            // A few units in the last place of each factor, the exponent's in proportion to its
            // size; and what the cut to an integer takes away.
            distance += mass * (decay + 16.0) * 2.0 * f64::EPSILON + 1.0 / TWO_128;
            // P[k + 1]/P[k] < e^−x, so what follows is below a geometric series.
            let rest = mass * (1.0 - survive) / survive;
            if 2.0 * rest * crowd as f64 <= negligible {
                let table = WideCatalogue::new(weights).ok_or(TOO_LONG)?;
                return Ok(Self { table, distance: 2.0 * (distance + rest) });
            }
            let term = (r / k).ln_1p() - carry;
            let sum = product + term;
            carry = (sum - product) - term;
            product = sum;
        }
        Err(TOO_LONG)
    }

    /// One draw, by the same steps whatever comes out.
    #[inline]
    fn draw(&self, rng: &mut impl CryptoRng) -> u64 {
        let place = self.table.draw(rng) as u64;
        let none = u64::from(place == self.table.events() as u64);
        (place + 1) & none.wrapping_sub(1)
    }

    /// The probabilities of 0, 1, 2, …
    fn law(&self) -> Vec<f64> {
        let positive = self.table.weights().map(|weight| weight as f64 / TWO_128);
        let mut law: Vec<f64> = [0.0].into_iter().chain(positive).collect();
        law[0] = 1.0 - law.iter().sum::<f64>();
        law
    }
}

/// A width that noise of up to four times the crowd exceeds, to one side, with probability below
/// e⁻⁶³: `P[N > w] ≤ 2⁴·e^−xw/2`, by the moment of e^{xN/2}, which is at most 2 for the crowd.
fn widest(x: f64) -> u128 {
    (132.0 / x).ceil() as u128
}

const TOO_LONG: Error =
    Error::Parameter { name: "grid", range: "smaller, for the noise to fit into a table" };

/// The largest crowd whose distance is computed: a fraction of a second.
const MAX_COUNTED: u64 = 400;
/// The most messages of a crowd for which the rounding of that computation is bounded.
const MAX_THINGS: u64 = 20_000;
/// The smallest crowd for which the bound on the distance is proved.
const MIN_CROWD: u64 = 19;

/// The smallest decay of the noise per step of the grid.
const SMALLEST_STEP: f64 = 5e-5;
const MAX_TABLE: u64 = 1 << 20;
const MAX_MESSAGES: usize = 1000;

/// The part of the distance that the cut tail of the noise may take.
const NEGLIGIBLE: f64 = 1e-5;

const TWO_128: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;

#[cfg(test)]
mod tests;
