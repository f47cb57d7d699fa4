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
//! add more noise), and the messages show nothing but the sum: two datasets with equal sums have
//! bags at a statistical distance of at most
//!
//! ```text
//! 2^−σ = √(q·(e/n)^(m−2))      for n ≥ 19      i.e.  m = 2 + (2σ + log₂ q)/(log₂ n − log₂ e)
//! ```
//!
//! The reason, in short. Lay one message of each user open, in order; what the others of user i add
//! up to is then uniform, and the bag of those says nothing new about them if a random grouping of
//! a uniform bag into n groups of m − 1 has sums that are close to uniform. By Cauchy and Schwarz
//! their distance is at most `½·√(E[q^(C−1)] − 1)`, where C counts the components of the graph on n
//! users that two random groupings of the same bag make: each component is one equation that is met
//! for free. Twice this is the distance of two datasets. The tests enumerate the distances and
//! `E[q^C]` for small cases; there the printed bound holds with room to spare.

use crate::sample::WideCatalogue;
use crate::sums::laplace::{GRID, grid_law, laplace_reach, laplace_variance, on_grid};
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Law, Parameters, Protocol, Question, Scene, Score,
    Tally, require, sample, sum_up_to,
};
use rand_core::CryptoRng;
use throng_account::profile::WorstCase;
use throng_account::{Crowd, Delta, Epsilon, Probability, Profile, UpperOnly, round};

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
    /// ε = B·step          δ = (1 + e^ε)·(2^−σ + distance of the sampled noise from the exact one)
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
        Self::fragile(ask.crowd, ask.epsilon, ask.delta, GRID)
    }

    /// δ, which with too few messages may be above 1.
    fn failure(&self) -> f64 {
        let per_message = (self.crowd as f64).log2() - std::f64::consts::LOG2_E;
        let sigma = 0.5 * ((self.messages as f64 - 2.0) * per_message - f64::from(self.bits));
        let distance = (-sigma).exp2() + self.share.distance * self.crowd as f64;
        round::up((1.0 + self.epsilon.get().exp()) * distance)
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
        vec![Estimate { value, standard_error, half_width }]
    }
}

impl Claims for SplitAndMix {
    fn question(&self) -> Question {
        Question::Real
    }

    /// The promise for the crowd it was made for; a larger one only adds noise.
    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        require(crowd.get() >= self.crowd, "crowd", "at least that promised")?;
        Ok(Box::new(UpperOnly(WorstCase::new(self.epsilon, self.delta.get())?)))
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
mod tests {
    use super::*;
    use crate::testing::Planted;
    use crate::testing::{
        OneByOne, assert_inverse, assert_inverse_within, assert_sampled, assert_view,
        binomial_tails, confidence, hockey_stick, join, rng,
    };
    use std::panic::catch_unwind;
    use throng_account::{Band, Dataset, Profile, Theorem};

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
    fn free_equations(users: usize, m: usize, q: f64) -> f64 {
        let mut ln_factorial = vec![0.0];
        for k in 1..=users * m {
            ln_factorial.push(ln_factorial[k - 1] + (k as f64).ln());
        }
        let ln_choose =
            |n: usize, k: usize| ln_factorial[n] - ln_factorial[k] - ln_factorial[n - k];
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
        for (n, q, m) in
            [(2, 2, 3), (2, 5, 3), (2, 3, 4), (3, 2, 3), (3, 3, 3), (3, 2, 4), (4, 2, 3)]
        {
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
            let derived = free_equations(n as usize, m as usize - 1, q as f64).sqrt();
            assert!(worst > 0.0 && worst <= derived, "{n} {q} {m}: {worst} > {derived}");
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
                        let derived = free_equations(n, m as usize - 1, q);
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
            let split = SplitAndMix {
                bits: 32,
                crowd: 10_000,
                share: exact,
                ..tiny(19, 1.0, 32, messages)
            };
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
            (19, 1.0, 1e-6, 10, 22, 1.44),
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
            let free = free_equations(crowd as usize, messages - 1, f64::from(1 << bits));
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
        assert_eq!(estimate(&many).half_width, f64::INFINITY);
        messages.push(split.mask() + 1);
        assert_eq!(estimate(&messages).half_width, f64::INFINITY);
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
}
