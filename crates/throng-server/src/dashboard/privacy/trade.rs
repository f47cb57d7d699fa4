//! The trade-off for anybody who tells two neighbouring inputs apart: missed detections against
//! false alarms.
//!
//! Whoever says "it was x, not y" too readily raises false alarms, with probability α; whoever says
//! it too rarely misses, with probability β. A profile bounds β from below: (ε, δ)-DP holds if and
//! only if
//!
//! ```text
//! β ≥ max(0, 1 − δ − e^ε·α, e^−ε·(1 − δ − α))
//! ```
//!
//! for every test (Dong, Roth, Su, "Gaussian Differential Privacy", 2019, section 2). Every point
//! of the curve gives such a bound, so all of them hold at once, and fewer points only make it
//! weaker. The best of them is a polygon; its corners are computed, not sampled, since a line
//! between two samples of a convex function lies above it.

use super::curve::{Curve, Place};
use throng_account::round;

/// A lower bound on β: corners, α rising from 0 to 1, joined by straight lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound(pub Vec<(f64, f64)>);

impl Bound {
    /// The best bound that all points of a curve give together.
    pub fn new(curve: &Curve) -> Self {
        let points = curve.0.iter().filter(|place| place.delta.upper < 1.0);
        let pair = |place: &Place| {
            let (epsilon, rest) = (place.epsilon, 1.0 - place.delta.upper);
            [Line(-epsilon.exp(), rest), Line(-(-epsilon).exp(), (-epsilon).exp() * rest)]
        };
        let mut lines: Vec<Line> = points.flat_map(pair).collect();
        lines.push(Line(0.0, 0.0));
        // Steepest first; of equally steep ones the higher last.
        lines.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut best: Vec<Line> = Vec::new();
        for line in lines {
            if best.last().is_some_and(|last| last.0 == line.0) {
                best.pop();
            }
            while let [.., before, last] = best[..]
                && before.meets(line) <= before.meets(last)
            {
                best.pop();
            }
            best.push(line);
        }
        let meetings = best.windows(2).map(|pair| pair[0].meets(pair[1]));
        let inside = meetings.filter(|alpha| *alpha > 0.0 && *alpha < 1.0);
        let alphas = [0.0].into_iter().chain(inside).chain([1.0]);
        let height = |alpha: f64| {
            let most = best.iter().map(|line| line.at(alpha)).fold(0.0, f64::max);
            // Down by more than the accountant's allowance for floating-point error.
            (alpha, round::down_by(most, 2.0 * round::SLACK))
        };
        Self(alphas.map(height).collect())
    }

    /// The lower bound on β at this α.
    pub fn beta(&self, alpha: f64) -> f64 {
        let after =
            self.0.partition_point(|(corner, _)| *corner < alpha).clamp(1, self.0.len() - 1);
        let ((a, at_a), (b, at_b)) = (self.0[after - 1], self.0[after]);
        at_a + (at_b - at_a) * ((alpha - a) / (b - a)).clamp(0.0, 1.0)
    }
}

/// A line: its slope and its height at 0.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line(f64, f64);

impl Line {
    fn at(self, alpha: f64) -> f64 {
        self.0 * alpha + self.1
    }

    /// The place where it meets a flatter line.
    fn meets(self, other: Self) -> f64 {
        (self.1 - other.1) / (other.0 - self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_account::profile::BitSum;
    use throng_account::tradeoff::TradeOff;
    use throng_account::{Band, Crowd, Epsilon, Profile};

    fn sampled(protocol: &BitSum, end: f64, points: u32) -> Curve {
        let place = |number: u32| {
            let epsilon = end * f64::from(number) / f64::from(points);
            Place { epsilon, delta: protocol.delta(Epsilon::new(epsilon).unwrap()) }
        };
        Curve((0..=points).map(place).collect())
    }

    #[test]
    fn what_is_drawn_never_exceeds_the_truth() {
        for (n, lambda) in [(10, 2.0), (60, 12.0), (200, 30.0), (800, 20.0)] {
            let protocol = BitSum::new(Crowd::new(n).unwrap(), lambda).unwrap();
            let exact = TradeOff::new(&protocol).unwrap();
            for (end, points) in [(3.0, 60), (1.0, 7), (0.2, 1)] {
                let bound = Bound::new(&sampled(&protocol, end, points));
                let alphas = || (0..=500).map(|step| f64::from(step) / 500.0);
                let truth: Vec<_> = alphas().map(|a| (a, exact.beta(a).unwrap())).collect();
                for (alpha, truth) in &truth {
                    let drawn = bound.beta(*alpha);
                    assert!(
                        drawn <= *truth,
                        "n = {n}, {points} points, {alpha}: {drawn} > {truth}"
                    );
                }
                // The truth is the least of many curves and need not be convex; a profile says as
                // much as its convex hull.
                let hull = hull(&truth);
                for alpha in alphas().filter(|_| points == 60) {
                    let (drawn, hull) = (bound.beta(alpha), hull.beta(alpha));
                    assert!(drawn > hull - 0.002, "n = {n}, {alpha}: {drawn} < {hull}");
                }
            }
        }
    }

    /// The largest convex function below these points.
    fn hull(points: &[(f64, f64)]) -> Bound {
        let mut hull: Vec<(f64, f64)> = Vec::new();
        for &(x, y) in points {
            while let [.., (a, at_a), (b, at_b)] = hull[..]
                && (at_b - at_a) * (x - a) >= (y - at_a) * (b - a)
            {
                hull.pop();
            }
            hull.push((x, y));
        }
        Bound(hull)
    }

    #[test]
    fn every_corner_is_the_best_of_all_lines() {
        let protocol = BitSum::new(Crowd::new(100).unwrap(), 20.0).unwrap();
        let curve = sampled(&protocol, 2.0, 60);
        let bound = Bound::new(&curve);
        for step in 0..=1_000 {
            let alpha = f64::from(step) / 1_000.0;
            let best = curve.0.iter().map(|Place { epsilon, delta }| {
                let rest = 1.0 - delta.upper;
                (rest - epsilon.exp() * alpha).max((-epsilon).exp() * (rest - alpha)).max(0.0)
            });
            let best = best.fold(0.0, f64::max);
            assert!((bound.beta(alpha) - best).abs() < 1e-8, "{alpha}");
        }
        assert!(bound.0.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1));
        assert!(bound.0.len() < 130 && bound.beta(1.0) == 0.0);
    }

    #[test]
    fn a_curve_that_says_nothing_bounds_nothing() {
        let nothing = Place { epsilon: 0.5, delta: Band { lower: 0.0, upper: 1.0 } };
        assert_eq!(Bound::new(&Curve(vec![nothing])).0, [(0.0, 0.0), (1.0, 0.0)]);
        let perfect = Place { epsilon: 0.0, delta: Band::ZERO };
        let bound = Bound::new(&Curve(vec![perfect]));
        assert!((bound.beta(0.3) - 0.7).abs() < 1e-8);
    }
}
