//! Privacy-loss distributions on a grid, and the δ of their sum.
//!
//! 1. *Connect the dots* (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots: Tighter
//!    Discrete Approximations of Privacy Loss Distributions", 2022). The profile is convex in e^ε,
//!    so the chords through `(e^{jh}, δ(jh))` lie above it, and they are the profile of a law on
//!    the grid. Values are rounded up first; their lower convex hull is still above the truth.
//! 2. *Tilt.* The law is weighted by `e^{λ·loss}` so that its T-fold sum is centred on the ε asked
//!    for. Rounding errors are then relative to the δ sought, be it 10⁻³⁰.
//! 3. *Fourier.* One transform of length L, the T-th power, one inner product with the transform of
//!    the tilted hockey stick. That computes the sum on a circle of L places; the stick is
//!    positive, so what wraps around only adds to δ.

use crate::kernel::solve::centring_tilt;
use crate::kernel::work;
use crate::round;
use crate::{Epsilon, Profile};
use realfft::RealFftPlanner;
use realfft::num_complex::Complex64;
use std::cell::RefCell;
use std::f64::consts::{PI, TAU};

/// All rounds on one grid.
pub(crate) struct TotalLoss {
    step: f64,
    laws: Vec<Law>,
    /// The chance that some round's loss is infinite: no finite ε goes below it.
    pub(crate) infinite: f64,
    /// Transforms of the lengths used so far: making one takes longer than using it.
    transforms: RefCell<RealFftPlanner<f64>>,
}

impl TotalLoss {
    /// The rounds' laws, all on the grid of this step.
    pub(crate) fn new(step: f64, laws: Vec<Law>) -> Self {
        let survive: f64 = laws.iter().map(|law| law.times * (-law.infinite).ln_1p()).sum();
        let transforms = RefCell::new(RealFftPlanner::new());
        Self { step, infinite: round::up(-survive.exp_m1()), laws, transforms }
    }

    /// The largest finite total.
    pub(crate) fn largest_loss(&self) -> f64 {
        let places: f64 = self.laws.iter().map(|law| law.times * (law.up.len() - 1) as f64).sum();
        self.step * (places + 1.0)
    }

    /// `E[(1 − e^{ε−loss})₊]` of the total loss, plus the infinite part, rounded up.
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        if self.laws.is_empty() || epsilon >= self.largest_loss() {
            return self.infinite;
        }
        let place = epsilon / self.step;
        let tilt = self.centring_tilt(place);
        // A law that is all but a point is spread over one place.
        let variance: f64 = self.laws.iter().map(|law| law.times * law.moments(tilt).2).sum();
        let deviation = variance.max(1.0).sqrt();
        let tilt = tilt.max(1.0 / deviation);
        let length = 24.0 * deviation + 50.0 / tilt;
        if length.is_nan() || length > MAX_LENGTH {
            return 1.0;
        }
        let length = (length.ceil() as usize).next_power_of_two();
        // First grid place above ε, and how far above.
        let first = place.floor() + 1.0;
        let gap = (epsilon - first * self.step).exp();
        let exponent: f64 = self.laws.iter().map(|law| law.times * law.moments(tilt).0).sum();
        let scale = (exponent - tilt * first).exp() / length as f64;
        let (sum, rounding) = self.inner_product(tilt, length, first, gap);
        // Masses are second differences of δ, good to 1e-12, and their errors add up over the
        // rounds like the losses do; the logarithm of the tilt's normalisation counts every round.
        let rounds: f64 = self.laws.iter().map(|law| law.times).sum();
        let allowance = 1.0 + 1e-11 * rounds.sqrt() + 1e-14 * rounds;
        round::up(scale * (sum + rounding).max(0.0) * allowance) + self.infinite
    }

    /// The step of the grid, and upper bounds on δ at all its places from 0 on: for a few rounds of
    /// which hundreds of δ are asked. Sums of positive terms only, so small δ keep their digits.
    pub(crate) fn written(&self) -> (f64, Vec<f64>) {
        let mut sum = Spread { first: 0, masses: vec![1.0] };
        let mut lost = self.infinite;
        let mut terms = 0.0;
        for law in &self.laws {
            for _ in 0..law.times as u64 {
                terms += sum.masses.len() as f64;
                sum = sum.and(law);
                lost += sum.trim();
            }
        }
        // The factor e^{−h} from each place to the one above it, and δ from the one above.
        let decay = (-self.step).exp();
        let last = (sum.first + sum.masses.len() as i64).max(1) as usize;
        let mut deltas = vec![0.0; last];
        let (mut above, mut weighted) = (0.0, 0.0);
        for place in (0..last).rev() {
            // Σ_{i > j} p_i and Σ_{i > j} p_i·e^{(j−i)h}.
            deltas[place] = above - weighted;
            let index = usize::try_from(place as i64 - sum.first).ok();
            let mass = index.and_then(|index| sum.masses.get(index)).copied().unwrap_or(0.0);
            (above, weighted) = (above + mass, (weighted + mass) * decay);
        }
        // As in `delta`, and two roundings for each term of a sum.
        let allowance = 1.0 + 1e-11 * (self.laws.len() as f64).sqrt() + 4e-16 * terms;
        // above − weighted: each is good to a rounding per place, relative to its own size.
        let rounding = 4e-16 * last as f64;
        let mut tail = 0.0;
        for place in (0..last).rev() {
            let index = usize::try_from(place as i64 - sum.first).ok();
            let value = deltas[place].max(0.0) * allowance + rounding * tail;
            deltas[place] = round::up(value + lost).min(1.0);
            tail += index.and_then(|index| sum.masses.get(index)).copied().unwrap_or(0.0);
        }
        (self.step, deltas)
    }

    /// `Σ_l X_l·conj(κ_l)` with X the transform of the tilted total loss and κ that of the tilted
    /// hockey stick, and a bound on its rounding error.
    fn inner_product(&self, tilt: f64, length: usize, first: f64, gap: f64) -> (f64, f64) {
        let rounds: f64 = self.laws.iter().map(|law| law.times).sum();
        // Error of one transform value (the masses sum to 1), as it enters the T-th power.
        let unit = 4.0 * f64::EPSILON * (length as f64).log2();
        // |stick| ≤ 2/(1 − e^−tilt) anywhere on the circle.
        let neglected = NEGLIGIBLE.exp() * 2.0 / -(-tilt).exp_m1();
        let (mut sum, mut rounding) = (0.0, 0.0);
        let mut add = |l: usize, log: Complex64| {
            let weight = if l == 0 || 2 * l == length { 1.0 } else { 2.0 };
            if log.re <= NEGLIGIBLE {
                rounding += weight * neglected;
                return;
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
        };
        if let Some(few) = self.few_frequencies(tilt, length) {
            let others = length / 2 + 1 - few.len();
            for (l, log) in few {
                add(l, log);
            }
            return (sum, rounding + 2.0 * others as f64 * neglected);
        }
        for (l, log) in self.all_frequencies(tilt, length).into_iter().enumerate() {
            add(l, log);
        }
        (sum, rounding)
    }

    /// The logarithm of the transform of the tilted total loss at all frequencies, as far as they
    /// are not negligible.
    fn all_frequencies(&self, tilt: f64, length: usize) -> Vec<Complex64> {
        let fft = self.transforms.borrow_mut().plan_fft_forward(length);
        let mut logs = vec![Complex64::new(0.0, 0.0); length / 2 + 1];
        for law in &self.laws {
            let mut input = law.tilted(tilt, length);
            let mut output = fft.make_output_vec();
            fft.process(&mut input, &mut output).expect("buffers of the planned length");
            // In many rounds nearly all frequencies are negligible, which is seen without a
            // logarithm.
            let negligible = (2.0 * (NEGLIGIBLE - 1.0) / law.times).exp();
            for (log, value) in logs.iter_mut().zip(&output) {
                // Moduli are at most 1, so what has become negligible stays so.
                if value.norm_sqr() < negligible {
                    log.re = f64::NEG_INFINITY;
                } else {
                    law.add_log(log, *value);
                }
            }
        }
        work::count(length as u64 * self.laws.len() as u64);
        logs
    }

    /// The same for a great many rounds of one kind, at the few frequencies where it matters; none
    /// where that is not known to be less work.
    ///
    /// A shorter transform, of M places, has X at every θ that is a multiple of 2π/M. No other θ is
    /// further than π/M from one of them, and `|X(θ) − X(θ')| ≤ |θ − θ'|·E|place|`: where X is so
    /// small that its T-th power is negligible even with that added, it is negligible all around.
    /// What is left is summed term by term. So the work hardly grows with the number of rounds.
    fn few_frequencies(&self, tilt: f64, length: usize) -> Option<Vec<(usize, Complex64)>> {
        let [law] = &self.laws[..] else { return None };
        if length < 4 * COARSE {
            return None;
        }
        let fft = self.transforms.borrow_mut().plan_fft_forward(COARSE);
        let (mut input, mut output) = (law.tilted(tilt, COARSE), fft.make_output_vec());
        fft.process(&mut input, &mut output).expect("buffers of the planned length");
        let places = law.places(tilt);
        let reach: f64 = places.iter().map(|(place, mass)| mass * place.abs() as f64).sum();
        let slack = 1.001 * PI / COARSE as f64 * reach + 1e-13;
        let negligible = ((NEGLIGIBLE - 1.0) / law.times).exp();
        let (each, last) = (length / COARSE, length / 2);
        let around =
            |k: usize| (k * each).saturating_sub(each / 2)..(k * each + each / 2).min(last + 1);
        let matter = output.iter().enumerate().filter(|(_, x)| x.norm() + slack >= negligible);
        let matter: Vec<usize> = matter.flat_map(|(k, _)| around(k)).collect();
        if matter.len() * places.len() > length {
            return None;
        }
        work::count((COARSE + matter.len() * places.len()) as u64);
        let log = |l| {
            let mut log = Complex64::new(0.0, 0.0);
            law.add_log(&mut log, transform_at(&places, l, length));
            (l, log)
        };
        Some(matter.into_iter().map(log).collect())
    }

    /// The tilt under which the total loss has its mean at `place`.
    fn centring_tilt(&self, place: f64) -> f64 {
        let mean =
            |tilt: f64| self.laws.iter().map(|law| law.times * law.moments(tilt).1).sum::<f64>();
        let widest = self.laws.iter().map(|law| law.up.len()).max().unwrap_or(1) as f64;
        if mean(0.0) >= place {
            return 0.0;
        }
        centring_tilt(widest, 40, |tilt| mean(tilt) < place)
    }
}

/// Masses of consecutive places, from `first` on.
struct Spread {
    first: i64,
    masses: Vec<f64>,
}

impl Spread {
    /// The sum with one more loss.
    fn and(&self, law: &Law) -> Self {
        let reach = law.up.len() - 1;
        let one: Vec<f64> = law.down[1..].iter().rev().chain(&law.up).copied().collect();
        let mut masses = vec![0.0; self.masses.len() + one.len() - 1];
        for (start, &mass) in self.masses.iter().enumerate() {
            for (sum, &other) in masses[start..].iter_mut().zip(&one) {
                *sum += mass * other;
            }
        }
        Self { first: self.first - reach as i64, masses }
    }

    /// Cuts off what is negligible at both ends, and returns how much that is.
    fn trim(&mut self) -> f64 {
        let cut = |masses: &mut dyn Iterator<Item = &f64>| {
            let (mut lost, mut places) = (0.0, 0);
            for &mass in masses {
                if lost + mass > TRIMMED {
                    break;
                }
                (lost, places) = (lost + mass, places + 1);
            }
            (lost, places)
        };
        let (above, last) = cut(&mut self.masses.iter().rev());
        self.masses.truncate((self.masses.len() - last).max(1));
        let (below, first) = cut(&mut self.masses.iter());
        let first = first.min(self.masses.len() - 1);
        self.masses.drain(..first);
        self.first += first as i64;
        above + below
    }
}

/// A privacy-loss distribution on the grid `jh`, symmetric in the sense of its two worlds:
/// `P[loss = −jh] = e^{−jh}·P[loss = jh]`.
pub(crate) struct Law {
    /// The number of rounds that have it.
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
    pub(crate) fn dominating(
        profile: &dyn Profile,
        times: u64,
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
        Self { times: times as f64, up, down, infinite: last.1 }
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

    /// Adds the logarithm of a value of the transform, as often as there are rounds.
    fn add_log(&self, log: &mut Complex64, value: Complex64) {
        log.re += 0.5 * value.norm_sqr().max(1e-300).ln() * self.times;
        if log.re > NEGLIGIBLE {
            log.im += value.im.atan2(value.re) * self.times;
        }
    }

    /// Places with their tilted masses.
    fn places(&self, t: f64) -> Vec<(i64, f64)> {
        let total = self.moments(t).0;
        let both = self.up.iter().zip(&self.down).enumerate().filter(|(_, (up, _))| **up > 0.0);
        let both = both.flat_map(|(j, (&up, &down))| [(j as i64, up), (-(j as i64), down)]);
        let tilted = |(place, mass): (i64, f64)| (place, mass * (t * place as f64 - total).exp());
        both.map(tilted).filter(|(_, mass)| *mass > 0.0).collect()
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

/// `Σ mass·e^{−2πi·l·place/length}`. The turn is reduced in integers and the sum compensated, so
/// that the error is a few units in the last place of the total mass, which is 1.
fn transform_at(places: &[(i64, f64)], l: usize, length: usize) -> Complex64 {
    let (mut sum, mut lost) = (Complex64::new(0.0, 0.0), Complex64::new(0.0, 0.0));
    for &(place, mass) in places {
        let turn = (l as i64 * place).rem_euclid(length as i64);
        let (sin, cos) = (TAU * (turn as f64 / length as f64)).sin_cos();
        let term = Complex64::new(mass * cos, -mass * sin) - lost;
        let next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    sum
}

/// The points of the lower convex hull, in the coordinate `e^{jh}`.
pub(crate) fn lower_hull(points: &[(usize, f64)], step: f64) -> Vec<(usize, f64)> {
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
pub(crate) fn slope(a: (usize, f64), b: (usize, f64), step: f64) -> f64 {
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

/// The mass that may be cut off each end of a sum of losses; it counts as infinite loss.
const TRIMMED: f64 = 1e-24;
const MAX_POINTS: usize = 4_000;
/// Places of the circle on which it is seen which frequencies matter.
const COARSE: usize = 1 << 17;
/// Places of the circle: a gigabyte of them.
const MAX_LENGTH: f64 = 33_554_432.0;
/// Logarithm of a modulus that is not worth its phase.
const NEGLIGIBLE: f64 = -60.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Crowd;
    use crate::profile::{BitSum, WorstCase};

    /// A million rounds, on a circle of a million places and more.
    #[test]
    fn few_frequencies_tell_what_all_of_them_do() {
        let bits = BitSum::with_flip(Crowd::new(1_000).unwrap(), 0.4).unwrap();
        // Two losses only: the transform comes back to 1 again and again.
        let coin = WorstCase::new(Epsilon::at(1e-3), 0.0).unwrap();
        let profiles: [(&dyn Profile, f64); 2] = [(&bits, 1.3e-2), (&coin, 1e-3)];
        for (profile, deviation) in profiles {
            let step = deviation / 40.0;
            let law = Law::dominating(profile, 1_000_000, step, 1e-18, |_| 1);
            let all = TotalLoss::new(step, vec![law]);
            for tilt in [2e-5, 1e-4, 4e-4] {
                let length = 1 << 20;
                let few = all.few_frequencies(tilt, length).expect("few");
                assert!(few.len() < length / 32, "{}", few.len());
                let mut every = all.all_frequencies(tilt, length);
                for (l, log) in few {
                    let dense = std::mem::replace(&mut every[l], Complex64::new(-1e9, 0.0));
                    if dense.re > NEGLIGIBLE {
                        let turn = ((dense.im - log.im) / TAU).fract();
                        let turn = turn.abs().min(1.0 - turn.abs());
                        assert!((dense.re - log.re).abs() < 1e-6 && turn < 1e-6, "{dense} {log}");
                    } else {
                        assert!(log.re < NEGLIGIBLE + 1e-6);
                    }
                }
                assert!(
                    every.iter().all(|log| log.re <= NEGLIGIBLE),
                    "one that matters is missing"
                );
            }
        }
    }
}
