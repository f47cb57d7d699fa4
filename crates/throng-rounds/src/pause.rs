//! Why one round is not enough: a robust protocol of one round can be paused half-way and resumed
//! by an attacker, with inputs of its own choice, as often as it likes.
//!
//! The bag of the first half of the users is safe to publish, for that is what robust means.
//! Whoever has it may play the missing half: user i of the first half is in group i with the bit
//! xᵢ, and the attacker adds a user to every group, with the bit yᵢ. The analyzer then answers
//!
//! ```text
//! d(y) = Σ xᵢ ⊕ yᵢ
//! ```
//!
//! for one y after the other, and all of it is post-processing of one bag. Answers that are too
//! good reconstruct x (Dinur, Nissim, "Revealing Information while Preserving Privacy", 2003),
//! which differential privacy excludes. So no robust protocol of one round answers well (Balcer,
//! Cheu, Joseph, Mao, "Connecting Robust Shuffle Privacy and Pan-Privacy", 2021): [`error_floor`].
//!
//! # How the bits are found
//!
//! | symbol | meaning |
//! |---|---|
//! | m, n = 2m | paused users; users of the whole protocol |
//! | uᵢ, vᵢ = ±1 | 1 − 2xᵢ, 1 − 2yᵢ |
//! | Sᵢ, Tᵢ = ±1 | flips of the bag, drawn once; of the attacker's messages, drawn per query |
//! | f, κ | chance of a flip; 1/(1 − 2f) |
//! | a, Q | an answer; the number of queries |
//!
//! For uniform y the vᵢ are independent signs, and d(y) = m/2 − ½Σuᵢvᵢ, so ûᵢ, the average over the
//! queries of (m − 2a)·vᵢ, has mean uᵢ when answers are unbiased. With [`RobustXorSum`],
//! m − 2a = κ²·Σₖ uₖSₖ·vₖTₖ, and given the bag
//!
//! ```text
//! mean ûᵢ = κ·uᵢSᵢ        variance ûᵢ = κ⁴·(m − κ⁻²)/Q
//! ```
//!
//! The fresh noise averages out, the frozen noise S does not: more queries find the *bag's* bit
//! with any certainty, and with it xᵢ with probability 1 − f = e^ε/(1 + e^ε), which is also the
//! most that ε allows ([`recovery_ceiling`]). Q·uᵢSᵢ·ûᵢ/κ² is a sum of Q·m independent signs with
//! mean Q/κ, so by Hoeffding's inequality its sign is wrong, or it is 0, with probability at most
//! e^{−Q/(2mκ²)}: [`PausedRun::queries`].
//!
//! # Why several rounds cannot be paused
//!
//! In an interactive protocol the second message of every user depends on the first messages of
//! all, for instance through keys that each pair agreed on. The first half's second messages are
//! made once, for the one half that took part in the first round. For other inputs the attacker
//! needs those users to answer again, which they do not within a run; and when somebody is missing
//! the run stops instead of going on with whoever is left. There is no half-finished bag to resume.

use crate::{Error, RobustXorSum};
use rand_core::CryptoRng;
use std::fmt;
use throng_account::{Delta, Epsilon, round};

/// A protocol stopped after its first half, in the attacker's hands.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Delta, Epsilon};
/// use throng_rounds::{RobustXorSum, pause::{PausedRun, Reconstruction}};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
///
/// // Answers this accurate give everybody away.
/// let secret: Vec<bool> = (0..50).map(|i| i % 3 == 0).collect();
/// let protocol = RobustXorSum::new(Epsilon::new(25.0)?)?;
/// let paused = PausedRun::after(protocol, &secret, &mut rng);
/// assert!((paused.answer(&[true; 50], &mut rng) - 33.0).abs() < 1e-6);
///
/// let mut attack = Reconstruction::new(&paused);
/// attack.ask(paused.queries(Delta::new(1e-9)?), &mut rng);
/// assert_eq!(attack.guesses(), secret);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PausedRun {
    protocol: RobustXorSum,
    bag: Vec<Vec<u8>>,
    users: u32,
}

impl PausedRun {
    /// A run from the messages that `users` users sent, user i in group i, in repeat 0. The bag may
    /// lack some.
    pub fn new(protocol: RobustXorSum, bag: Vec<Vec<u8>>, users: u32) -> Self {
        Self { protocol, bag, users }
    }

    /// Runs the first half for one bit per user, and keeps the bag alone.
    pub fn after(protocol: RobustXorSum, bits: &[bool], rng: &mut impl CryptoRng) -> Self {
        let mut bag: Vec<Vec<u8>> = (0..)
            .zip(bits)
            .map(|(group, &bit)| protocol.encode(group, bit, 0, rng).to_vec())
            .collect();
        // Sorting forgets who sent what as well as a shuffle does.
        bag.sort_unstable();
        Self { protocol, users: bag.len() as u32, bag }
    }

    /// An estimate of `Σ xᵢ ⊕ yᵢ`: the protocol resumed with one more user in every group.
    ///
    /// Nothing of the protocol is used but its two halves. A `y` that is too short leaves users
    /// without a partner, whose bits are then counted as they are.
    pub fn answer(&self, y: &[bool], rng: &mut impl CryptoRng) -> f64 {
        let resumed: Vec<_> =
            (0..).zip(y).map(|(group, &bit)| self.protocol.encode(group, bit, 0, rng)).collect();
        let bag = self.bag.iter().map(Vec::as_slice);
        let sums = self.protocol.estimate(bag.chain(resumed.iter().map(<[u8; 7]>::as_slice)));
        sums.iter().find(|sum| sum.repeat == 0).map_or(0.0, |sum| sum.value)
    }

    /// The root of the mean squared error of answers to `queries` uniform queries, given the
    /// `truth`.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_account::Epsilon;
    /// use throng_rounds::{RobustXorSum, pause::PausedRun};
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let protocol = RobustXorSum::new(Epsilon::new(25.0)?)?;
    /// let paused = PausedRun::after(protocol, &[true; 50], &mut rng);
    /// assert!(paused.answer_rmse(&[true; 50], 20, &mut rng) < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn answer_rmse(&self, truth: &[bool], queries: usize, rng: &mut impl CryptoRng) -> f64 {
        let squares = (0..queries).map(|_| {
            let (y, answer) = self.ask(rng);
            (answer - hamming(truth, &y)).powi(2)
        });
        (squares.sum::<f64>() / queries.max(1) as f64).sqrt()
    }

    /// Queries after which a guess differs from the bag's bit with probability at most `failure`:
    /// `2mκ²·ln(1/failure)`, by Hoeffding's inequality.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_account::{Delta, Epsilon};
    /// use throng_rounds::{RobustXorSum, pause::PausedRun};
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let protocol = RobustXorSum::new(Epsilon::new(3_f64.ln())?)?;
    /// let paused = PausedRun::after(protocol, &[true; 100], &mut rng);
    /// assert_eq!(paused.queries(Delta::new(1e-3)?), 5_527);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queries(&self, failure: Delta) -> usize {
        let (m, kappa) = (f64::from(self.users), self.protocol.weight());
        (2.0 * m * kappa * kappa * -failure.get().ln()).ceil() as usize
    }

    /// A uniform query and its answer.
    fn ask(&self, rng: &mut impl CryptoRng) -> (Vec<bool>, f64) {
        let y = uniform_bits(self.users, rng);
        let answer = self.answer(&y, rng);
        (y, answer)
    }
}

/// Says nothing of what is in the bag.
impl fmt::Debug for PausedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PausedRun")
            .field("protocol", &self.protocol)
            .field("users", &self.users)
            .finish_non_exhaustive()
    }
}

/// The attack: uniform queries, and every user's sign correlated with the answers.
///
/// It can be asked to go on, so that what it recovers is seen to grow with the queries.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::Epsilon;
/// use throng_rounds::{RobustXorSum, pause::{PausedRun, Reconstruction}};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let secret = [true, false, false, true];
/// let protocol = RobustXorSum::new(Epsilon::new(25.0)?)?;
/// let paused = PausedRun::after(protocol, &secret, &mut rng);
/// let mut attack = Reconstruction::new(&paused);
/// attack.ask(20, &mut rng);
/// attack.ask(200, &mut rng);
/// assert_eq!(attack.queries(), 220);
/// assert_eq!(attack.recovered(&secret), 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reconstruction<'a> {
    paused: &'a PausedRun,
    /// `Q·ûᵢ`.
    correlation: Vec<f64>,
    queries: usize,
}

impl<'a> Reconstruction<'a> {
    /// The attack before its first query.
    pub fn new(paused: &'a PausedRun) -> Self {
        Self { paused, correlation: vec![0.0; paused.users as usize], queries: 0 }
    }

    /// Asks that many uniform queries more.
    pub fn ask(&mut self, queries: usize, rng: &mut impl CryptoRng) {
        for _ in 0..queries {
            let (y, answer) = self.paused.ask(rng);
            self.absorb(&y, answer);
        }
    }

    /// One bit per user: where the correlation with the user's sign is negative, a one.
    pub fn guesses(&self) -> Vec<bool> {
        self.correlation.iter().map(|&sum| sum < 0.0).collect()
    }

    /// The fraction of the `truth` that is guessed.
    pub fn recovered(&self, truth: &[bool]) -> f64 {
        1.0 - hamming(truth, &self.guesses()) / truth.len().max(1) as f64
    }

    /// Queries asked.
    pub fn queries(&self) -> usize {
        self.queries
    }

    fn absorb(&mut self, y: &[bool], answer: f64) {
        let centred = f64::from(self.paused.users) - 2.0 * answer;
        for (sum, &bit) in self.correlation.iter_mut().zip(y) {
            *sum += if bit { -centred } else { centred };
        }
        self.queries += 1;
    }
}

/// Says nothing of what was found.
impl fmt::Debug for Reconstruction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconstruction")
            .field("paused", &self.paused)
            .field("queries", &self.queries)
            .finish_non_exhaustive()
    }
}

/// The most of uniform bits that anybody recovers, on average, from an ε-private bag: e^ε/(1 +
/// e^ε).
///
/// A guess that is 1 with chance p for a one and q for a zero has p ≤ e^ε·q and 1 − q ≤ e^ε·(1 −
/// p), and is right with chance (p + 1 − q)/2. An upper bound, rounded up; randomized response
/// attains it.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_rounds::pause::recovery_ceiling;
///
/// assert!((recovery_ceiling(Epsilon::new(3_f64.ln())?) - 0.75).abs() < 1e-15);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn recovery_ceiling(epsilon: Epsilon) -> f64 {
    round::up_by(1.0 / (1.0 + (-epsilon.get()).exp()), 4.0 * f64::EPSILON).min(1.0)
}

/// The least root mean squared error, over uniform inputs in groups of two, of any one-round
/// XOR-sum among `users` whose first half alone is ε-private.
///
/// ```text
/// error ≥ √(n / (8·(1 + e^ε)))
/// ```
///
/// A lower bound, rounded down; for pure ε, every n, and every randomizer and analyzer. Let the
/// attack ask all y. Then ûᵢ = uᵢ + eᵢ with eᵢ = −2·E[vᵢ·(a − d)], the average being over y and the
/// fresh noise. The vᵢ are orthonormal, so by Bessel's inequality Σeᵢ² ≤ 4·E[(a − d)²]; a wrong
/// guess needs |eᵢ| ≥ 1. On average at most 4·error² guesses are wrong, and by [`recovery_ceiling`]
/// at least m/(1 + e^ε) are. Randomized response is 8.8 times above it at ε = 1, and 2.8 times at ε
/// = 8.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_rounds::pause::error_floor;
///
/// // Four times the crowd, twice the error.
/// let epsilon = Epsilon::new(3_f64.ln())?;
/// assert!((error_floor(epsilon, 3_200) - 10.0).abs() < 1e-12);
/// assert!((error_floor(epsilon, 12_800) - 20.0).abs() < 1e-12);
/// # Ok::<(), throng_account::Error>(())
/// ```
pub fn error_floor(epsilon: Epsilon, users: u64) -> f64 {
    let floor = (users as f64 / (8.0 * (1.0 + epsilon.get().exp()))).sqrt();
    round::down_by(floor, 4.0 * f64::EPSILON)
}

/// The attack on a protocol of one ε.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::Epsilon;
/// use throng_rounds::pause::AttackResult;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
///
/// // κ = 2 and n = 2m at e^ε = 3: at least 1/√32.
/// let point = AttackResult::measure(Epsilon::new(3_f64.ln())?, 40, 10, &mut rng)?;
/// assert!((point.floor_per_root_n - 0.1768).abs() < 1e-4);
/// assert!((point.ceiling - 0.75).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttackResult {
    /// The ε of the first half.
    pub epsilon: f64,
    /// The root mean squared error of the answers, measured, over √n, with n all users of the
    /// resumed protocol.
    pub per_root_n: f64,
    /// The least that it is, over many bags, for any robust protocol of one round.
    pub floor_per_root_n: f64,
    /// The fraction of the first half's bits that the attack recovers.
    pub recovered: f64,
    /// The most that ε allows, on average.
    pub ceiling: f64,
}

impl AttackResult {
    /// Pauses the protocol of this ε, with uniform bits, and attacks it with `queries` queries.
    ///
    /// From one ε to a larger one accuracy is bought with privacy alone: where `per_root_n` falls
    /// towards 0, what is recovered rises towards everything. `users` counts both halves and is
    /// even.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_account::Epsilon;
    /// use throng_rounds::pause::AttackResult;
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let private = AttackResult::measure(Epsilon::new(0.5)?, 80, 2_000, &mut rng)?;
    /// assert!(private.recovered < 1.0 && private.per_root_n > private.floor_per_root_n);
    /// let accurate = AttackResult::measure(Epsilon::new(20.0)?, 80, 2_000, &mut rng)?;
    /// assert!(accurate.recovered == 1.0 && accurate.per_root_n < 0.01);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn measure(
        epsilon: Epsilon,
        users: u32,
        queries: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, Error> {
        if users < 2 || !users.is_multiple_of(2) {
            return Err(Error::parameter("users", "even, and at least 2"));
        }
        if queries == 0 {
            return Err(Error::parameter("queries", "at least 1"));
        }
        let protocol = RobustXorSum::new(epsilon)?;
        let truth = uniform_bits(users / 2, rng);
        let paused = PausedRun::after(protocol, &truth, rng);
        let mut attack = Reconstruction::new(&paused);
        let mut squares = 0.0;
        for _ in 0..queries {
            let (y, answer) = paused.ask(rng);
            attack.absorb(&y, answer);
            squares += (answer - hamming(&truth, &y)).powi(2);
        }
        let (epsilon, root_n) = (protocol.epsilon(), f64::from(users).sqrt());
        Ok(Self {
            epsilon: epsilon.get(),
            per_root_n: (squares / queries as f64).sqrt() / root_n,
            floor_per_root_n: error_floor(epsilon, users.into()) / root_n,
            recovered: attack.recovered(&truth),
            ceiling: recovery_ceiling(epsilon),
        })
    }
}

/// The number of bits that differ.
fn hamming(x: &[bool], y: &[bool]) -> f64 {
    x.iter().zip(y).filter(|(x, y)| x != y).count() as f64
}

fn uniform_bits(count: u32, rng: &mut impl CryptoRng) -> Vec<bool> {
    let words: Vec<u64> = (0..count.div_ceil(64)).map(|_| rng.next_u64()).collect();
    (0..count as usize).map(|i| words[i / 64] >> (i % 64) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    use throng_account::tail::success_band;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    fn protocol(value: f64) -> RobustXorSum {
        RobustXorSum::new(epsilon(value)).unwrap()
    }

    /// The predicted error of an answer over both noises, with κ as in the module's page:
    /// `½·√(m(κ⁴ − 1))`.
    fn predicted(protocol: &RobustXorSum, users: usize) -> f64 {
        protocol.standard_error(std::iter::repeat_n(2, users))
    }

    fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    fn bits(code: usize, count: usize) -> Vec<bool> {
        (0..count).map(|i| code >> i & 1 == 1).collect()
    }

    fn sign(bit: bool) -> f64 {
        if bit { -1.0 } else { 1.0 }
    }

    /// Messages in which exactly these bits stand, user i in group i.
    fn sent(bits: &[bool]) -> Vec<Vec<u8>> {
        let message = |(group, &bit): (u8, &bool)| vec![0, 0, 0, 0, 0, group, u8::from(bit)];
        (0..).zip(bits).map(message).collect()
    }

    fn flipped(bits: &[bool], flips: &[bool]) -> Vec<bool> {
        bits.iter().zip(flips).map(|(bit, flip)| bit ^ flip).collect()
    }

    /// The chance of exactly these flips.
    fn chance(protocol: &RobustXorSum, flips: &[bool]) -> f64 {
        let f = protocol.flip().probability();
        flips.iter().map(|&flip| if flip { f } else { 1.0 - f }).product()
    }

    /// `P[Bin(n, p) = k]` for every k.
    fn binomial(n: usize, p: f64) -> Vec<f64> {
        (0..n).fold(vec![1.0], |law, _| convolved(&law, &[1.0 - p, p]))
    }

    fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; a.len() + b.len() - 1];
        for (i, x) in a.iter().enumerate() {
            b.iter().enumerate().for_each(|(j, y)| sum[i + j] += x * y);
        }
        sum
    }

    /// The law of the error of an answer to a uniform query when `wrong` is the law of how many of
    /// `m` pairs have one flip: the error is ½·Σ vᵢuᵢ(1 − κ²·SᵢTᵢ), with independent uniform signs.
    fn error_law(m: usize, wrong: &[f64], kappa: f64) -> Vec<(f64, f64)> {
        let mut law = Vec::new();
        for (k, p) in wrong.iter().enumerate() {
            for (i, q) in binomial(m - k, 0.5).iter().enumerate() {
                for (j, r) in binomial(k, 0.5).iter().enumerate() {
                    let right_sum = (2 * i) as f64 - (m - k) as f64;
                    let wrong_sum = (2 * j) as f64 - k as f64;
                    let twice =
                        right_sum * (1.0 - kappa.powi(2)) + wrong_sum * (1.0 + kappa.powi(2));
                    law.push((0.5 * twice, p * q * r));
                }
            }
        }
        law
    }

    /// Chernoff: a bound on the chance that the mean of `count` draws of `law` is as far out as
    /// `mean`, on the side on which it is.
    fn tail(law: &[(f64, f64)], mean: f64, count: usize) -> f64 {
        let expected: f64 = law.iter().map(|(x, p)| x * p).sum();
        let side = (mean - expected).signum();
        let exponent = |s: f64| {
            let moment: f64 = law.iter().map(|(x, p)| p * (side * s * (x - mean)).exp()).sum();
            moment.ln() * count as f64
        };
        (0..400).map(|i| exponent(1e-6 * 1.04_f64.powi(i) / expected)).fold(0.0, f64::min).exp()
    }

    // The query and both noises are enumerated, with the real analyzer and the real correlation.
    #[test]
    fn the_correlation_has_the_mean_and_variance_that_the_number_of_queries_rests_on() {
        for value in [0.7, 3.0] {
            let m = protocol(value);
            let kappa = m.weight();
            let (x, mut overall) = ([true, false, true], 0.0);
            for frozen in (0..8).map(|code| bits(code, 3)) {
                let bag = sent(&flipped(&x, &frozen));
                let paused = PausedRun::new(m, bag.clone(), 3);
                let (mut mean, mut square, mut error) = ([0.0; 3], [0.0; 3], 0.0);
                for (y, fresh) in (0..64).map(|code| (bits(code / 8, 3), bits(code % 8, 3))) {
                    let resumed = sent(&flipped(&y, &fresh));
                    let all = bag.iter().chain(&resumed).map(Vec::as_slice);
                    let answer = m.estimate(all)[0].value;
                    let mut attack = Reconstruction::new(&paused);
                    attack.absorb(&y, answer);
                    let p = chance(&m, &fresh) / 8.0;
                    for i in 0..3 {
                        mean[i] += p * attack.correlation[i];
                        square[i] += p * attack.correlation[i].powi(2);
                    }
                    error += p * (answer - hamming(&x, &y)).powi(2);
                }
                for i in 0..3 {
                    let expected = kappa * sign(x[i]) * sign(frozen[i]);
                    assert!((mean[i] - expected).abs() < 1e-9);
                    let variance = kappa.powi(4) * (3.0 - kappa.powi(-2));
                    assert!(((square[i] - expected.powi(2)) / variance - 1.0).abs() < 1e-9);
                }
                overall += chance(&m, &frozen) * error;
            }
            let predicted = predicted(&m, 3);
            assert!((overall.sqrt() / predicted - 1.0).abs() < 1e-9);
            assert!((predicted - 0.5 * (3.0 * (kappa.powi(4) - 1.0)).sqrt()).abs() < 1e-9);
        }
    }

    #[test]
    fn the_number_of_queries_keeps_its_promise_by_exact_tails() {
        for (value, users) in [(0.5, 2), (1.0, 5), (1.0, 20), (4.0, 20)] {
            let m = protocol(value);
            let paused = PausedRun::new(m, Vec::new(), users);
            for failure in [0.3, 1e-2, 1e-4] {
                let queries = paused.queries(delta(failure));
                let own = binomial(queries, 1.0 - m.flip().probability());
                let others = binomial(queries * (users as usize - 1), 0.5);
                let half = queries * users as usize / 2;
                let wrong: f64 = convolved(&own, &others)[..=half].iter().sum();
                assert!(wrong <= failure && wrong > failure.powi(2) / 10.0, "{wrong} {failure}");
            }
        }
    }

    /// Three guesses of all bits at 1e-9 each, and three counts at 2e-9 each.
    #[test]
    fn enough_queries_find_the_bag_and_with_it_as_many_bits_as_the_ceiling_allows() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for value in [1.0, 2.0, 8.0] {
            let (m, truth) = (protocol(value), uniform_bits(100, &mut rng));
            let paused = PausedRun::after(m, &truth, &mut rng);
            let mut attack = Reconstruction::new(&paused);
            attack.ask(paused.queries(delta(1e-11)), &mut rng);
            // The bag is sorted by group.
            let bag: Vec<bool> = paused.bag.iter().map(|message| message[6] == 1).collect();
            assert_eq!(attack.guesses(), bag);

            let right = (100.0 * attack.recovered(&truth)).round() as u64;
            let band = success_band(right, 100, delta(1e-9));
            let ceiling = recovery_ceiling(m.epsilon());
            assert!((ceiling - (1.0 - m.flip().probability())).abs() < 1e-12);
            assert!(band.lower <= ceiling && ceiling <= band.upper, "{right} {ceiling}");
        }
    }

    /// 4,000 independent answers, each from a bag of its own, at 2e-9.
    #[test]
    fn an_answer_follows_its_law() {
        let (m, mut rng) = (protocol(1.0), ChaCha12Rng::seed_from_u64(2));
        let f = m.flip().probability();
        let reach = predicted(&m, 6);
        let law = error_law(6, &binomial(6, 2.0 * f * (1.0 - f)), m.weight());
        let inside: f64 = law.iter().filter(|(e, _)| e.abs() <= reach).map(|(_, p)| p).sum();
        assert!((law.iter().map(|(e, p)| e * e * p).sum::<f64>().sqrt() - reach).abs() < 1e-9);

        let count = (0..4_000).filter(|_| {
            let (x, y) = (uniform_bits(6, &mut rng), uniform_bits(6, &mut rng));
            let answer = PausedRun::after(m, &x, &mut rng).answer(&y, &mut rng);
            (answer - hamming(&x, &y)).abs() <= reach
        });
        let band = success_band(count.count() as u64, 4_000, delta(1e-9));
        assert!(band.lower <= inside && inside <= band.upper, "{inside} {band:?}");
    }

    /// Four bags at 2e-9 each, the tails being Chernoff's bounds on the exact law given the bag.
    #[test]
    fn the_measured_error_is_the_one_predicted_for_the_bag() {
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        for (value, frozen) in [(1.0, 0), (1.0, 8), (1.0, 30), (3.0, 1)] {
            let (m, truth) = (protocol(value), uniform_bits(30, &mut rng));
            let flips: Vec<bool> = (0..30).map(|i| i < frozen).collect();
            let paused = PausedRun::new(m, sent(&flipped(&truth, &flips)), 30);
            let f = m.flip().probability();
            let wrong = convolved(&binomial(30 - frozen, f), &binomial(frozen, 1.0 - f));
            let squares: Vec<(f64, f64)> =
                error_law(30, &wrong, m.weight()).iter().map(|(e, p)| (e * e, *p)).collect();
            let mean = paused.answer_rmse(&truth, 4_000, &mut rng).powi(2);
            assert!(tail(&squares, mean, 4_000) > 1e-9, "{mean}");
            // The test would notice an error that is off by an eighth.
            assert!(tail(&squares, mean * 1.25, 4_000) < 1e-9);
            assert!(tail(&squares, mean / 1.25, 4_000) < 1e-9);
        }
    }

    // Every table of four errors out of five values, for every pair of bits: the step from a small
    // error to few wrong guesses, on which the floor stands. It is tight for one table per set of
    // ones that a tie takes for zeros: 0 + 1 + 1 + 3 for the four pairs.
    #[test]
    fn answers_of_small_error_leave_few_guesses_wrong() {
        let paused = PausedRun::new(protocol(1.0), Vec::new(), 2);
        let (mut tables, mut tight) = (0, 0);
        for code in 0..5_usize.pow(4) {
            let errors = [1, 5, 25, 125].map(|unit| (code / unit % 5) as f64 / 2.0 - 1.0);
            let square = errors.iter().map(|e| e * e).sum::<f64>() / 4.0;
            for x in (0..4).map(|code| bits(code, 2)) {
                let mut attack = Reconstruction::new(&paused);
                for (y, error) in errors.iter().enumerate() {
                    let y = bits(y, 2);
                    attack.absorb(&y, hamming(&x, &y) + error);
                }
                let wrong = hamming(&x, &attack.guesses());
                assert!(wrong <= 4.0 * square);
                tables += 1;
                tight += u32::from(wrong == 4.0 * square && wrong > 0.0);
            }
        }
        assert_eq!((tables, tight), (2_500, 5));
    }

    #[test]
    fn no_guess_of_an_epsilon_private_bag_beats_the_ceiling() {
        for value in [0.1, 1.0, 3.0] {
            let (e, ceiling) = (f64::exp(value), recovery_ceiling(epsilon(value)));
            for (p, q) in (0..=100).flat_map(|p| (0..=100).map(move |q| (p, q))) {
                let (p, q) = (f64::from(p) / 100.0, f64::from(q) / 100.0);
                if p <= e * q && 1.0 - q <= e * (1.0 - p) {
                    assert!(f64::midpoint(p, 1.0 - q) <= ceiling);
                }
            }
        }
    }

    #[test]
    fn randomized_response_stays_above_the_floor_of_all_protocols() {
        let ratio =
            |value: f64| predicted(&protocol(value), 500) / error_floor(epsilon(value), 1_000);
        for tenths in 1..=200 {
            assert!(ratio(f64::from(tenths) / 10.0) > 2.0);
        }
        assert!((ratio(1.0) - 8.8).abs() < 0.05 && (ratio(8.0) - 2.8).abs() < 0.05);
    }

    /// Four points: all guesses at 1e-9 each, counts at 2e-9 each.
    #[test]
    fn along_the_curve_accuracy_and_recovery_rise_together() {
        let mut rng = ChaCha12Rng::seed_from_u64(4);
        let epsilons = [1.0, 2.0, 4.0, 8.0].map(epsilon);
        let queries = PausedRun::new(protocol(1.0), Vec::new(), 64).queries(delta(1e-9 / 64.0));
        let points = epsilons.map(|e| AttackResult::measure(e, 128, queries, &mut rng).unwrap());
        for (point, epsilon) in points.iter().zip(epsilons) {
            assert!((point.epsilon / epsilon.get() - 1.0).abs() < 1e-9);
            let right = (64.0 * point.recovered).round() as u64;
            let band = success_band(right, 64, delta(1e-9));
            assert!(band.lower <= point.ceiling && point.ceiling <= band.upper, "{point:?}");
        }
        let falls = |of: fn(&AttackResult) -> f64| points.is_sorted_by(|a, b| of(a) > of(b));
        assert!(falls(|point| point.floor_per_root_n) && falls(|point| -point.ceiling));
        let errors = epsilons.map(|e| predicted(&RobustXorSum::new(e).unwrap(), 64));
        assert!(errors.is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn the_bag_may_lack_users_and_hold_nonsense() {
        let mut rng = ChaCha12Rng::seed_from_u64(5);
        let bag = vec![vec![0, 0, 0, 0, 0, 1, 1], vec![7], Vec::new(), vec![1; 7]];
        let paused = PausedRun::new(protocol(40.0), bag, 3);
        // Of users 0 and 2 nothing is known, so the answer is y₀ + (1 ⊕ y₁) + y₂.
        assert!((paused.answer(&[true, false, true], &mut rng) - 3.0).abs() < 1e-9);
        assert!((paused.answer(&[], &mut rng) - 1.0).abs() < 1e-9);
        assert_eq!(PausedRun::new(protocol(1.0), Vec::new(), 0).answer(&[], &mut rng), 0.0);
    }

    #[test]
    fn a_point_without_halves_or_queries_is_refused() {
        let mut rng = ChaCha12Rng::seed_from_u64(6);
        for (users, queries) in [(0, 5), (3, 5), (4, 0)] {
            assert!(AttackResult::measure(epsilon(1.0), users, queries, &mut rng).is_err());
        }
        assert!(AttackResult::measure(Epsilon::ZERO, 4, 5, &mut rng).is_err());
    }

    #[test]
    fn debug_shows_neither_the_bag_nor_the_guesses() {
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        let paused = PausedRun::after(protocol(1.0), &[true; 4], &mut rng);
        let mut attack = Reconstruction::new(&paused);
        attack.ask(3, &mut rng);
        let shown = format!("{attack:?}");
        assert!(shown.contains("users: 4") && shown.contains("queries: 3"));
        assert!(!shown.contains('[') && !shown.contains("true"));
    }
}
