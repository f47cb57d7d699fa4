//! An estimate never travels without its error.

use std::f64::consts::TAU;
use throng_account::Probability;
use throng_account::tail::normal_reach;

/// A number estimated from a bag of messages.
///
/// Values are unbiased and never clamped: a count may come out below 0, so that averages over many
/// releases stay right.
///
/// ```
/// use throng_account::Probability;
/// use throng_mechanism::Estimate;
///
/// let estimate = Estimate::normal(300.0, 10.0, 0.0, Probability::new("confidence", 0.95)?);
/// assert!((estimate.half_width() - 19.6).abs() < 0.001);
/// assert!(estimate.holds(319.0) && !estimate.holds(320.0));
///
/// // A share of a thousand users instead of a count.
/// let share = estimate.rescaled(0.0, 0.001);
/// assert_eq!((share.value, share.standard_error), (0.3, 0.01));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimated value.
    pub value: f64,
    /// Standard deviation of the value around the truth about the users who reported.
    pub standard_error: f64,
    /// How far the interval reaches below `value`, at the confidence asked for.
    pub below: f64,
    /// How far it reaches above.
    pub above: f64,
}

impl Estimate {
    /// The estimate under noise that is close to normal, on a lattice of this step (0 for none):
    /// `z` standard errors and half a step for the rounding of the tail to the lattice.
    pub fn normal(value: f64, standard_error: f64, step: f64, confidence: Probability) -> Self {
        let reach = normal_reach(confidence) * standard_error + 0.5 * step;
        Self::even(value, standard_error, reach)
    }

    /// The estimate with an interval that reaches as far to each side.
    pub fn even(value: f64, standard_error: f64, reach: f64) -> Self {
        Self { value, standard_error, below: reach, above: reach }
    }

    /// The estimate with this interval, stretched to the value where that is outside: a value that
    /// is never clamped may be no possible truth.
    pub fn within(value: f64, standard_error: f64, (low, high): (f64, f64)) -> Self {
        let [below, above] = [value - low, high - value].map(|reach| reach.max(0.0));
        Self { value, standard_error, below, above }
    }

    /// The estimate under the centred sum of independent draws from `noise`, whatever the data,
    /// times `step`.
    pub fn of_noise(value: f64, noise: &Noise, step: f64, confidence: Probability) -> Self {
        let standard_error = noise.deviation() * step;
        Self::even(value, standard_error, noise.reach(confidence) * step)
    }

    /// The interval around the value.
    pub fn interval(&self) -> (f64, f64) {
        (self.value - self.below, self.value + self.above)
    }

    /// Half the width of the interval.
    pub fn half_width(&self) -> f64 {
        0.5 * (self.below + self.above)
    }

    /// True if the truth is in the interval, ends included up to rounding.
    pub fn holds(&self, truth: f64) -> bool {
        let slack = 1e-9 * (1.0 + truth.abs());
        self.value - truth <= self.below + slack && truth - self.value <= self.above + slack
    }

    /// The same estimate in other units: `offset + scale·value`.
    #[must_use]
    pub fn rescaled(&self, offset: f64, scale: f64) -> Self {
        Self {
            value: offset + scale * self.value,
            standard_error: scale.abs() * self.standard_error,
            below: scale.abs() * if scale < 0.0 { self.above } else { self.below },
            above: scale.abs() * if scale < 0.0 { self.below } else { self.above },
        }
    }
}

/// A sum of independent integers: `draws` draws, each taking a value with its probability and 0
/// otherwise, and other such sums beside it.
///
/// ```
/// use throng_account::Probability;
/// use throng_mechanism::Noise;
///
/// // A hundred fair coins: from 40 to 60 heads in 96 % of cases, from 41 to 59 in 94 %.
/// let coins = Noise::new(100.0, vec![(1, 0.5)]);
/// assert_eq!((coins.mean(), coins.deviation()), (50.0, 5.0));
/// assert!((coins.reach(Probability::new("confidence", 0.95)?) - 10.0).abs() < 1e-6);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    parts: Vec<(f64, Vec<(i64, f64)>)>,
}

impl Noise {
    /// The sum of `draws` draws, by the events of one of them.
    pub fn new(draws: f64, events: Vec<(i64, f64)>) -> Self {
        Self { parts: vec![(draws, events)] }
    }

    /// The same with the sum of more draws.
    #[must_use]
    pub fn and(mut self, draws: f64, events: Vec<(i64, f64)>) -> Self {
        self.parts.push((draws, events));
        self
    }

    /// Mean of the sum.
    pub fn mean(&self) -> f64 {
        self.parts.iter().map(|(draws, events)| draws * moment(events, 1)).sum()
    }

    /// Standard deviation of the sum.
    pub fn deviation(&self) -> f64 {
        let variance = |(draws, events): &(f64, Vec<(i64, f64)>)| {
            draws * (moment(events, 2) - moment(events, 1).powi(2)).max(0.0)
        };
        self.parts.iter().map(variance).sum::<f64>().sqrt()
    }

    /// The least reach with `P[|sum − mean| ≤ reach] ≥ confidence`.
    ///
    /// Read off the exact law where the normal law is off: where that law is narrow, or its tails
    /// are heavier, as those of Laplace-like noise are.
    pub fn reach(&self, confidence: Probability) -> f64 {
        let deviation = self.deviation();
        if deviation > WIDE && self.excess().abs() < HEAVY {
            return normal_reach(confidence) * deviation + 0.5;
        }
        let (first, law) = self.law();
        let mean = self.mean();
        let mut distances: Vec<(f64, f64)> = law
            .iter()
            .enumerate()
            .map(|(place, &mass)| (((first + place as i64) as f64 - mean).abs(), mass))
            .collect();
        distances.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut covered = 0.0;
        for (distance, mass) in distances {
            covered += mass;
            if covered >= confidence.get() {
                // A truth at exactly this distance is covered, whatever rounding did to it.
                return distance + 1e-9;
            }
        }
        f64::INFINITY
    }

    /// The excess of the fourth moment of the sum over that of a normal law, relative to it.
    fn excess(&self) -> f64 {
        let fourth = |(draws, events): &(f64, Vec<(i64, f64)>)| {
            let [one, two, three, four] = [1, 2, 3, 4].map(|power| moment(events, power));
            let mixed = 4.0 * three * one + 3.0 * two * two;
            draws * (four - mixed + 12.0 * two * one * one - 6.0 * one.powi(4))
        };
        self.parts.iter().map(fourth).sum::<f64>() / self.deviation().powi(4)
    }

    /// The first place and the masses of the sum around its mean, by its characteristic function.
    fn law(&self) -> (i64, Vec<f64>) {
        let events = self.parts.iter().flat_map(|(_, events)| events);
        let largest = events.map(|event| event.0.unsigned_abs()).max().unwrap_or(1);
        let places = (2.0 * (14.0 * self.deviation() + 3.0 * largest as f64) + 8.0).ceil() as usize;
        let first = self.mean().round() as i64 - places as i64 / 2;
        let mut law = vec![0.0; places];
        for l in 0..=places / 2 {
            let theta = TAU * l as f64 / places as f64;
            let (modulus, phase) = self.characteristic(theta);
            if modulus < -45.0 {
                continue;
            }
            let weight = if l == 0 || 2 * l == places { 1.0 } else { 2.0 } / places as f64;
            for (place, mass) in law.iter_mut().enumerate() {
                let turn = theta * (first + place as i64) as f64;
                *mass += weight * modulus.exp() * (phase - turn).cos();
            }
        }
        (first, law)
    }

    /// ln of the modulus of the characteristic function, and its phase.
    fn characteristic(&self, theta: f64) -> (f64, f64) {
        let parts = self.parts.iter().map(|(draws, events)| {
            // Of one draw, from its small deviation from 1.
            let (re, im) = events.iter().fold((0.0, 0.0), |(re, im), &(value, p)| {
                let (sin, cos) = (0.5 * theta * value as f64).sin_cos();
                (re - 2.0 * p * sin * sin, im + 2.0 * p * sin * cos)
            });
            let modulus = 0.5 * (2.0 * re + re * re + im * im).ln_1p();
            (draws * modulus, draws * im.atan2(1.0 + re))
        });
        parts.fold((0.0, 0.0), |(modulus, phase), (m, p)| (modulus + m, phase + p))
    }
}

/// `E[value^power]` of one draw.
fn moment(events: &[(i64, f64)], power: i32) -> f64 {
    events.iter().map(|&(value, p)| (value as f64).powi(power) * p).sum()
}

/// The deviation above which the normal law may be taken.
const WIDE: f64 = 24.0;
/// The excess below which it is: it moves the level of an interval by a hundredth of this at most.
const HEAVY: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    fn confidence(value: f64) -> Probability {
        Probability::new("confidence", value).unwrap()
    }

    #[test]
    fn the_exact_reach_covers_and_one_step_less_does_not() {
        // Bin(20, 0.3) around 6: enumerated.
        let pmf = |k: u64| {
            let choose: f64 = (0..k).map(|j| (20 - j) as f64 / (j + 1) as f64).product();
            choose * 0.3_f64.powi(k as i32) * 0.7_f64.powi(20 - k as i32)
        };
        let noise = Noise::new(20.0, vec![(1, 0.3)]);
        for level in [0.5, 0.8, 0.95, 0.99] {
            let reach = noise.reach(confidence(level));
            let covered = |reach: f64| -> f64 {
                (0..=20).filter(|&k| (k as f64 - 6.0).abs() <= reach + 1e-9).map(pmf).sum()
            };
            assert!(covered(reach) >= level - 1e-12, "{level}: {reach}");
            assert!(covered(reach - 1.0) < level, "{level}: {reach}");
        }
    }

    // A normal interval around Laplace-like noise covers 92.7 % when 95 % are asked for.
    #[test]
    fn laplace_noise_gets_the_wider_interval_it_needs() {
        let s = (-1.0_f64).exp();
        // Discrete Laplace as a compound Poisson sum: one ±k at rate s^k/k each.
        let events = (1..40).flat_map(|k| {
            let rate = s.powi(k) / f64::from(k) / 1e6;
            [(i64::from(k), rate), (-i64::from(k), rate)]
        });
        let noise = Noise::new(1e6, events.collect());
        assert!((noise.deviation() - 1.357).abs() < 0.001);
        assert!((noise.reach(confidence(0.95)) - 3.0).abs() < 1e-6);
        assert!(normal_reach(confidence(0.95)) * noise.deviation() < 3.0);
    }
}
