//! Composition: what several rounds cost together.
//!
//! The numerical engine turns each round's profile into a privacy-loss distribution on a grid that
//! dominates it, multiplies characteristic functions, and reads δ off the product:
//!
//! 1. *Connect the dots* (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots: Tighter
//!    Discrete Approximations of Privacy Loss Distributions", 2022). The profile is convex in e^ε,
//!    so the chords through `(e^{jh}, δ(jh))` lie above it, and they are the profile of a law on the
//!    grid. Values are rounded up first; their lower convex hull is still above the truth.
//! 2. *Tilt.* The law is weighted by `e^{λ·loss}` so that its T-fold sum is centred on the ε asked
//!    for. Rounding errors are then relative to the δ sought, be it 10⁻³⁰.
//! 3. *Fourier.* One transform of length L, the T-th power, one inner product with the transform of
//!    the tilted hockey stick. That computes the sum on a circle of L places; the stick is positive,
//!    so what wraps around only adds to δ.
//!
//! A dominating pair per round dominates the composition of rounds chosen adaptively, as long as
//! crowds and parameters are fixed in advance (`docs/privacy.md`, 5.6).

use crate::bag::Bag;
use crate::published::renyi_epsilon;
use crate::solve::smallest_epsilon;
use crate::special::{lower_normal_quantile, round_down, round_up};
use crate::{
    Band, Crowd, Dataset, Delta, Epsilon, Error, Guarantee, Neighbours, Profile, Theorem, Witness,
    work,
};
use realfft::RealFftPlanner;
use realfft::num_complex::Complex64;
use std::f64::consts::TAU;

/// `T` rounds of (ε, δ)-DP are (Tε, Tδ)-DP.
pub fn basic(epsilon: Epsilon, delta: f64, rounds: u64) -> (f64, f64) {
    let t = rounds as f64;
    (round_up(t * epsilon.get()), round_up(t * delta))
}

/// `T` rounds of (ε, δ)-DP are (ε', δ' + Tδ)-DP.
///
/// ```text
/// ε' = ε·(e^ε − 1)·T + ε·√(2T·ln(1/δ'))
/// ```
///
/// Upper bound for every δ' > 0. Dwork, Rothblum, Vadhan (2010); Cheu et al. (2019), Lemma 7. Their
/// Lemma 10 loses a factor T in the first term and is false.
pub fn advanced(epsilon: Epsilon, rounds: u64, slack: Delta) -> f64 {
    let (eps, t) = (epsilon.get(), rounds as f64);
    round_up(eps * eps.exp_m1() * t + eps * (-2.0 * t * slack.get().ln()).sqrt())
}

/// `T` rounds of pure ε-DP, each ε²/2-zCDP, by Rényi divergence.
///
/// Upper bound. Bun, Steinke, "Concentrated Differential Privacy" (2016), Propositions 3 and 7, with
/// the conversion of [`renyi_epsilon`].
pub fn concentrated(epsilon: Epsilon, rounds: u64, delta: Delta) -> f64 {
    let rho = 0.5 * epsilon.get().powi(2) * rounds as f64;
    renyi_epsilon(|alpha| alpha * rho, delta)
}

/// `T` rounds of μ-GDP are √T·μ-GDP: exact. Dong, Roth, Su (2019), Corollary 3.3.
pub fn gaussian(mu: f64, rounds: u64) -> f64 {
    mu * (rounds as f64).sqrt()
}

/// A sequence of rounds, each with a profile of its own.
#[derive(Default)]
pub struct Composition<'a> {
    rounds: Vec<(&'a dyn Profile, u64)>,
}

impl<'a> Composition<'a> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `times` rounds of the same kind.
    #[must_use]
    pub fn and(mut self, profile: &'a dyn Profile, times: u64) -> Self {
        if times > 0 {
            self.rounds.push((profile, times));
        }
        self
    }

    /// The smallest ε at δ for all rounds together, on the safe side.
    pub fn epsilon(&self, delta: Delta) -> Result<Epsilon, Error> {
        self.epsilon_on(STEPS_PER_DEVIATION, delta)
    }

    /// The same on a grid with so many steps per deviation of one round.
    fn epsilon_on(&self, steps: f64, delta: Delta) -> Result<Epsilon, Error> {
        let discrete = self.discretise(steps, delta.get())?;
        if delta.get() <= discrete.infinite {
            return Err(Error::Unreachable { delta: delta.get(), least: discrete.infinite });
        }
        // Basic composition: the largest loss on the grid, in every round.
        let limit = discrete.largest_loss();
        let found = smallest_epsilon(delta.get(), limit, 0.0, |e| discrete.delta(e));
        Ok(Epsilon::at(found))
    }

    /// An upper bound on `δ(ε)` of all rounds together.
    pub fn delta(&self, epsilon: Epsilon) -> Result<f64, Error> {
        Ok(self.discretise(STEPS_PER_DEVIATION, 1e-12)?.delta(epsilon.get()).min(1.0))
    }

    /// `target`: the order of δ at which the result is going to be used.
    fn discretise(&self, steps: f64, target: f64) -> Result<Discrete, Error> {
        let total: u64 = self.rounds.iter().map(|round| round.1).sum();
        if total > MAX_ROUNDS {
            return Err(Error::OutOfRange {
                name: "rounds",
                value: total as f64,
                range: "at most 10000000",
            });
        }
        // Losses per round, as the μ of a Gaussian with the same total variation.
        let spread = |profile: &dyn Profile| {
            let variation = profile.bulk_delta(Epsilon::ZERO).min(1.0 - 1e-12);
            -2.0 * lower_normal_quantile((0.5 * (1.0 - variation)).ln())
        };
        let square: f64 = self.rounds.iter().map(|&(p, t)| t as f64 * spread(p).powi(2)).sum();
        let mut step = (square / total.max(1) as f64).sqrt() / steps;
        if step <= 0.0 {
            return Ok(Discrete { step: 1.0, laws: Vec::new(), infinite: 0.0 });
        }
        // With one kind of round its largest loss can be a grid point.
        if let [(profile, _)] = self.rounds[..] {
            step = profile.pure().map_or(step, |pure| pure.get() / (pure.get() / step).ceil());
        }
        let floor = target * 1e-6 / total as f64;
        let laws: Vec<Law> = self
            .rounds
            .iter()
            .map(|&(profile, times)| Law {
                times: times as f64,
                ..Law::dominating(profile, step, floor, |place| stride(place / steps, total))
            })
            .collect();
        let survive: f64 = laws.iter().map(|law| law.times * (-law.infinite).ln_1p()).sum();
        Ok(Discrete { step, infinite: round_up(-survive.exp_m1()), laws })
    }
}

/// `rounds` rounds of one shuffled ε₀-LDP randomizer: upper bound by composition of the dominating
/// pair, lower bound by binary response with everyone else on one value in all rounds, whose total
/// count over all rounds an adversary could watch.
pub fn shuffled_rounds(
    crowd: Crowd,
    local: Epsilon,
    rounds: u64,
    delta: Delta,
) -> Result<Guarantee, Error> {
    let pair = crate::ClonePair::strong(crowd, local)?;
    let upper = Composition::new().and(&pair, rounds).epsilon(delta)?.get();
    let upper = upper.min(basic(local, 0.0, rounds).0);
    let bag = Bag {
        others: (crowd.get() - 1) * rounds,
        own: rounds,
        flip: 1.0 / (local.get().exp() + 1.0),
    };
    let lower = smallest_epsilon(delta.get(), bag.pure(), 0.7 * upper, |e| {
        if e >= bag.pure() { 0.0 } else { round_down(bag.delta_at(bag.others, e)) }
    });
    Ok(Guarantee {
        epsilon: Epsilon::at(upper),
        delta,
        neighbours: Neighbours::ReplaceOne,
        theorem: Theorem::Composition,
        lower: Some(Witness {
            epsilon: Epsilon::at((lower * (1.0 - 2e-10)).min(upper)),
            dataset: Dataset::Ones { ones: bag.others, of: bag.others },
        }),
    })
}

/// A mechanism of which only (ε₀, δ₀) is known, with the worst profile it can have.
///
/// ```text
/// δ(ε) = δ₀ + (1 − δ₀)·(e^ε₀ − e^ε)₊/(e^ε₀ + 1)
/// ```
///
/// Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy" (2015), Theorem 2.5:
/// every (ε₀, δ₀)-DP mechanism is a post-processing of this one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declared {
    epsilon: f64,
    delta: f64,
}

impl Declared {
    /// With δ₀ = 0 the mechanism is pure.
    pub fn new(epsilon: Epsilon, delta: f64) -> Result<Self, Error> {
        if !(0.0..1.0).contains(&delta) {
            return Err(Error::OutOfRange {
                name: "delta",
                value: delta,
                range: "from 0 to below 1",
            });
        }
        if epsilon.get() > 300.0 {
            return Err(Error::OutOfRange {
                name: "epsilon",
                value: epsilon.get(),
                range: "from 0 to 300",
            });
        }
        Ok(Self { epsilon: epsilon.get(), delta })
    }
}

impl Profile for Declared {
    fn delta(&self, epsilon: Epsilon) -> Band {
        let left = (self.epsilon - epsilon.get()).max(0.0);
        // (e^ε₀ − e^ε)/(e^ε₀ + 1), from the difference of the exponents.
        let share = -(-left).exp_m1() / (1.0 + (-self.epsilon).exp());
        let value = self.delta + (1.0 - self.delta) * share;
        Band { lower: round_down(value), upper: round_up(value).min(1.0) }
    }

    fn pure(&self) -> Option<Epsilon> {
        (self.delta == 0.0).then(|| Epsilon::at(self.epsilon))
    }

    fn theorem(&self) -> Theorem {
        Theorem::Local
    }

    fn witness(&self, _: Epsilon) -> Option<Dataset> {
        Some(Dataset::Every)
    }
}

/// All rounds on one grid.
struct Discrete {
    step: f64,
    laws: Vec<Law>,
    /// The chance that some round's loss is infinite.
    infinite: f64,
}

impl Discrete {
    fn largest_loss(&self) -> f64 {
        let places: f64 = self.laws.iter().map(|law| law.times * (law.up.len() - 1) as f64).sum();
        self.step * (places + 1.0)
    }

    /// `E[(1 − e^{ε−loss})₊]` of the total loss, plus the infinite part, rounded up.
    fn delta(&self, epsilon: f64) -> f64 {
        if self.laws.is_empty() || epsilon >= self.largest_loss() {
            return self.infinite;
        }
        let place = epsilon / self.step;
        let tilt = self.centring_tilt(place);
        let deviation =
            self.laws.iter().map(|law| law.times * law.moments(tilt).2).sum::<f64>().sqrt();
        let tilt = tilt.max(1.0 / deviation);
        let length = ((24.0 * deviation + 50.0 / tilt).ceil() as usize).next_power_of_two();
        // First grid place above ε, and how far above.
        let first = place.floor() + 1.0;
        let gap = (epsilon - first * self.step).exp();
        let exponent: f64 = self.laws.iter().map(|law| law.times * law.moments(tilt).0).sum();
        let scale = (exponent - tilt * first).exp() / length as f64;
        let (sum, rounding) = self.inner_product(tilt, length, first, gap);
        round_up(scale * (sum + rounding).max(0.0)) + self.infinite
    }

    /// `Σ_l X_l·conj(κ_l)` with X the transform of the tilted total loss and κ that of the tilted
    /// hockey stick, and a bound on its rounding error.
    fn inner_product(&self, tilt: f64, length: usize, first: f64, gap: f64) -> (f64, f64) {
        let fft = RealFftPlanner::<f64>::new().plan_fft_forward(length);
        // ln X, summed over the rounds, and the number of rounds for the error.
        let mut logs = vec![Complex64::new(0.0, 0.0); length / 2 + 1];
        let mut rounds = 0.0;
        for law in &self.laws {
            let mut input = law.tilted(tilt, length);
            let mut output = fft.make_output_vec();
            fft.process(&mut input, &mut output).expect("buffers of the planned length");
            for (log, value) in logs.iter_mut().zip(&output) {
                log.re += 0.5 * value.norm_sqr().max(1e-300).ln() * law.times;
                // Moduli are at most 1, so what has become negligible stays so.
                if log.re > NEGLIGIBLE {
                    log.im += value.im.atan2(value.re) * law.times;
                }
            }
            rounds += law.times;
        }
        work::count(length as u64 * self.laws.len() as u64);
        // Error of one transform value (the masses sum to 1), as it enters the T-th power.
        let unit = 4.0 * f64::EPSILON * (length as f64).log2();
        let (mut sum, mut rounding) = (0.0, 0.0);
        for (l, log) in logs.iter().enumerate() {
            let weight = if l == 0 || 2 * l == length { 1.0 } else { 2.0 };
            if log.re <= NEGLIGIBLE {
                // |stick| ≤ 2/(1 − e^−tilt) anywhere on the circle.
                rounding += weight * NEGLIGIBLE.exp() * 2.0 / -(-tilt).exp_m1();
                continue;
            }
            let theta = TAU * l as f64 / length as f64;
            let stick = pole(tilt, theta) - pole(tilt + self.step, theta) * gap;
            // conj(e^{−iθ·first}·κ) = e^{iθ·first}·conj(κ); the turn is reduced first.
            let turn = TAU * ((l as f64 * first) / length as f64).fract();
            let modulus = log.re.exp();
            let value = Complex64::from_polar(modulus, log.im + turn) * stick.conj();
            sum += weight * value.re;
            // (x + e)^T − x^T ≤ T·e·max(x, e)^(T−1), and the T-fold phase.
            let grown =
                (log.re * (1.0 - 1.0 / rounds)).exp().max(unit.powf((rounds - 1.0).min(20.0)));
            rounding += weight * stick.norm() * rounds * unit * grown;
        }
        (sum, rounding)
    }

    /// The tilt under which the total loss has its mean at `place`.
    fn centring_tilt(&self, place: f64) -> f64 {
        let mean =
            |tilt: f64| self.laws.iter().map(|law| law.times * law.moments(tilt).1).sum::<f64>();
        let widest = self.laws.iter().map(|law| law.up.len()).max().unwrap_or(1) as f64;
        let (mut low, mut high) = (0.0, 1.0 / widest);
        if mean(0.0) >= place {
            return 0.0;
        }
        while mean(high) < place && high * widest < 600.0 {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if mean(middle) < place {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// A privacy-loss distribution on the grid `jh`, symmetric in the sense of its two worlds:
/// `P[loss = −jh] = e^{−jh}·P[loss = jh]`.
struct Law {
    times: f64,
    /// `P[loss = jh]`, `j ≥ 0`.
    up: Vec<f64>,
    /// `P[loss = −jh]`, `j ≥ 0`, with 0 at `j = 0`.
    down: Vec<f64>,
    infinite: f64,
}

impl Law {
    /// The law of the chords through the profile at grid points, up to where δ falls below `floor`.
    ///
    /// Far out, where the mass is small, not every grid point is evaluated: a longer chord is a
    /// chord. Nor is one beyond the largest loss.
    fn dominating(
        profile: &dyn Profile,
        step: f64,
        floor: f64,
        stride: impl Fn(f64) -> usize,
    ) -> Self {
        let largest = profile.pure().map_or(usize::MAX, |pure| {
            // An ulp above a whole number of steps is that whole number.
            (pure.get() / step * (1.0 - 1e-12)).ceil() as usize
        });
        let mut points: Vec<(usize, f64)> = Vec::new();
        let mut place = 0_usize;
        loop {
            let epsilon = step * place as f64;
            let value = profile.bulk_delta(Epsilon::at(epsilon)).min(1.0);
            // Some profiles end on a plateau above the floor: what is left there is infinite loss.
            let plateau = points.last().is_some_and(|&(_, before)| value >= before * (1.0 - 1e-12));
            points.push((place, value));
            if value <= floor || plateau || place == largest || points.len() > MAX_POINTS {
                break;
            }
            place += stride(place as f64);
            place = place.min(largest);
        }
        let hull = lower_hull(&points, step);
        let last = hull[hull.len() - 1];
        let mut up = vec![0.0; last.0 + 1];
        let mut down = vec![0.0; last.0 + 1];
        // Slopes of δ against e^ε; to the right of the last point δ is constant.
        let slopes: Vec<f64> = hull.windows(2).map(|pair| slope(pair[0], pair[1], step)).collect();
        for (index, &(place, _)) in hull.iter().enumerate().skip(1) {
            let right = slopes.get(index).copied().unwrap_or(0.0);
            let mass = (right - slopes[index - 1]).max(0.0);
            down[place] = mass;
            up[place] = mass * (step * place as f64).exp();
        }
        let beside: f64 = up.iter().chain(&down).sum();
        up[0] = (1.0 - last.1 - beside).max(0.0);
        Self { times: 1.0, up, down, infinite: last.1 }
    }

    /// `ln E e^{t·place}`, and mean and variance of the tilted place.
    fn moments(&self, t: f64) -> (f64, f64, f64) {
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        let mut add = |place: f64, mass: f64| {
            let mass = mass * (t * place).exp();
            total += mass;
            first += mass * place;
            second += mass * place * place;
        };
        for (j, (&up, &down)) in self.up.iter().zip(&self.down).enumerate() {
            if up > 0.0 {
                add(j as f64, up);
                add(-(j as f64), down);
            }
        }
        let mean = first / total;
        (total.ln(), mean, second / total - mean * mean)
    }

    /// Tilted masses on a circle of `length` places.
    fn tilted(&self, t: f64, length: usize) -> Vec<f64> {
        let total = self.moments(t).0;
        let mut circle = vec![0.0; length];
        for (j, (&up, &down)) in self.up.iter().zip(&self.down).enumerate() {
            if up > 0.0 {
                let place = j as f64;
                circle[j % length] += up * (t * place - total).exp();
                circle[(length - j % length) % length] += down * (-t * place - total).exp();
            }
        }
        circle
    }
}

/// Grid steps to the next evaluation, so many deviations out.
///
/// In a few rounds the tail itself is what δ is read from: there a chord of two steps adds 3e-4 to ε.
/// In many rounds the sum is made of central losses, and the tail may be coarser.
fn stride(deviations: f64, total: u64) -> usize {
    match deviations {
        _ if deviations < 1.5 => 1,
        _ if total < 32 => 2,
        _ => (deviations / 0.75) as usize,
    }
}

/// The points of the lower convex hull, in the coordinate `e^{jh}`.
fn lower_hull(points: &[(usize, f64)], step: f64) -> Vec<(usize, f64)> {
    let mut hull: Vec<(usize, f64)> = Vec::with_capacity(points.len());
    for &point in points {
        while let [.., a, b] = hull[..] {
            if slope(a, b, step) < slope(b, point, step) {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// Slope of δ against `e^{jh}` between two points.
fn slope(a: (usize, f64), b: (usize, f64), step: f64) -> f64 {
    let start = step * a.0 as f64;
    (b.1 - a.1) / (start.exp() * (step * (b.0 - a.0) as f64).exp_m1())
}

/// `1/(1 − e^{−t−iθ})`.
fn pole(t: f64, theta: f64) -> Complex64 {
    let half = (0.5 * theta).sin();
    let decay = (-t).exp();
    let bottom = Complex64::new(-(-t).exp_m1() + 2.0 * decay * half * half, decay * theta.sin());
    bottom.inv()
}

/// Grid points per deviation of one round's loss: the grid adds less than 1e-4 to ε.
const STEPS_PER_DEVIATION: f64 = 40.0;
const MAX_POINTS: usize = 4_000;
/// Logarithm of a modulus that is not worth its phase.
const NEGLIGIBLE: f64 = -60.0;
const MAX_ROUNDS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};
    use crate::{ClonePair, gaussian_delta};

    struct Gaussian(f64);

    impl Profile for Gaussian {
        fn delta(&self, epsilon: Epsilon) -> Band {
            let upper = gaussian_delta(self.0, epsilon.get());
            Band { lower: upper * (1.0 - 1e-8), upper }
        }
        fn pure(&self) -> Option<Epsilon> {
            None
        }
        fn theorem(&self) -> Theorem {
            Theorem::Local
        }
        fn witness(&self, _: Epsilon) -> Option<Dataset> {
            None
        }
    }

    fn pair(n: u64, local: f64) -> ClonePair {
        ClonePair::strong(Crowd::new(n).unwrap(), Epsilon::at(local)).unwrap()
    }

    #[test]
    fn composed_profiles_lie_just_above_the_exact_ones() {
        for row in vectors("compose.json") {
            let (times, epsilon) = (row.u64("rounds"), Epsilon::at(row.f64("epsilon")));
            let exact = row.f64("delta");
            let profile: Box<dyn Profile> = match row.text("kind").as_str() {
                "response" => {
                    Box::new(Declared::new(Epsilon::at(row.f64("epsilon0")), 0.0).unwrap())
                }
                "clone" => Box::new(pair(row.u64("n"), row.f64("epsilon0"))),
                _ => Box::new(Gaussian(row.f64("mu"))),
            };
            let found = Composition::new().and(&*profile, times).delta(epsilon).unwrap();
            assert!(found >= exact, "{row:?}: {found:e}");
            if exact > 1e-15 {
                assert!(found <= 1.05 * exact + 1e-15, "{row:?}: {found:e}");
            }
        }
    }

    // Values of an independent connect-the-dots implementation on the same pairs, δ = 10⁻⁶.
    #[test]
    fn composed_epsilons_agree_with_an_independent_program() {
        for (n, local, rounds, expected) in [
            (10_000, 1.0, 10, 0.14847),
            (10_000, 1.0, 100, 0.50828),
            (10_000, 1.0, 1_000, 1.7585),
            (10_000, 4.0, 100, 4.9876),
            (1_000_000, 1.0, 1_000, 0.14847),
            (1_000_000, 4.0, 1_000, 1.3922),
        ] {
            let crowd = Crowd::new(n).unwrap();
            let delta = Delta::new(1e-6).unwrap();
            let found = shuffled_rounds(crowd, Epsilon::at(local), rounds, delta).unwrap();
            assert_close(found.epsilon.get(), expected, 3e-4);
            assert!(found.lower.unwrap().epsilon < found.epsilon);
        }
    }

    #[test]
    fn refining_the_grid_gains_less_than_a_thousandth() {
        let delta = Delta::new(1e-6).unwrap();
        for (n, local, rounds) in [(10_000, 1.0, 1_000), (1_000, 4.0, 1_000), (10_000, 2.0, 3)] {
            let pair = pair(n, local);
            let plan = Composition::new().and(&pair, rounds);
            let ours = plan.epsilon(delta).unwrap().get();
            let finer = plan.epsilon_on(8.0 * STEPS_PER_DEVIATION, delta).unwrap().get();
            assert!(finer <= ours && ours <= 1.001 * finer, "n = {n}: {ours} {finer}");
        }
    }

    // Cheu et al., Lemma 10, would give 74.3 here.
    #[test]
    fn a_published_composition_lemma_is_below_the_truth() {
        let (rounds, epsilon, slack) = (10_000, 0.1, Delta::new(1e-6).unwrap());
        let printed = epsilon * epsilon + 2.0 * epsilon * (rounds as f64 * 1e6_f64.ln()).sqrt();
        assert_close(printed, 74.3, 1e-3);
        let response = Declared::new(Epsilon::at(epsilon), 0.0).unwrap();
        let composed = Composition::new().and(&response, rounds);
        let exact = composed.epsilon(slack).unwrap().get();
        assert_close(exact, 96.6, 1e-3);
        assert!(composed.delta(Epsilon::at(printed)).unwrap() > 5e-3);
        assert!(advanced(Epsilon::at(epsilon), rounds, slack) > exact);
        assert!(concentrated(Epsilon::at(epsilon), rounds, slack) > exact);
    }

    #[test]
    fn advanced_composition_agrees_with_fifty_digits() {
        let rows = vectors("published.json");
        for row in rows.iter().filter(|row| row.text("name") == "advanced") {
            let slack = Delta::new(row.f64("delta")).unwrap();
            let found = advanced(Epsilon::at(row.f64("epsilon")), row.u64("rounds"), slack);
            assert_close(found, row.f64("value"), 3e-9);
        }
    }

    #[test]
    fn different_rounds_compose_in_any_order_and_one_round_is_itself() {
        let (a, b) = (pair(1_000, 1.0), pair(300, 0.5));
        let delta = Delta::new(1e-7).unwrap();
        let one = Composition::new().and(&a, 3).and(&b, 5).epsilon(delta).unwrap().get();
        let other = Composition::new().and(&b, 5).and(&a, 3).epsilon(delta).unwrap().get();
        assert_close(one, other, 1e-9);
        let single = Composition::new().and(&a, 1).epsilon(delta).unwrap().get();
        let exact = a.epsilon(delta).unwrap().epsilon.get();
        assert!(single >= exact && single < exact * 1.001, "{single} {exact}");
    }

    #[test]
    fn an_approximate_round_costs_its_delta_every_time() {
        let declared = Declared::new(Epsilon::at(0.1), 1e-7).unwrap();
        let composed = Composition::new().and(&declared, 10);
        let refused = composed.epsilon(Delta::new(9e-7).unwrap());
        assert!(matches!(refused, Err(Error::Unreachable { .. })), "{refused:?}");
        assert!(composed.epsilon(Delta::new(1.1e-6).unwrap()).unwrap().get() <= 1.05);
    }
}
