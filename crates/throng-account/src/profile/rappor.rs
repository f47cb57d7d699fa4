//! RAPPOR: the ε of one report, of several reports and of all reports on one value.
//!
//! A value sets h bits of a Bloom filter. Each bit is once and for all replaced by a coin with
//! probability f (the permanent response); every report then shows a 1 with probability q where the
//! permanent bit is 1 and p where it is 0 (the instantaneous response). Two values differ in at
//! most 2h bits, h in each direction. Erlingsson, Pihur, Korolova, "RAPPOR" (2014).
//!
//! The permanent response is drawn per *distinct value*: a value that changes costs again.

use crate::error::require;
use crate::round;
use crate::{Epsilon, Error, Probability};

/// The parameters of the two responses.
///
/// ```
/// use throng_account::profile::Rappor;
/// use throng_account::Probability;
///
/// let coin = |p| Probability::new("coin", p);
/// let rappor = Rappor::new(2, coin(0.5)?, coin(0.5)?, coin(0.75)?)?;
/// assert!((rappor.one_report().get() - 1.07429).abs() < 1e-5);
/// // More and more reports on one string come close to the permanent response, and no further.
/// let [ten, thousand] = [10, 1_000].map(|reports| rappor.reports(reports).get());
/// assert!((ten - 4.2993).abs() < 1e-4 && ten < thousand);
/// assert!((rappor.forever().get() - 4.0 * 3_f64.ln()).abs() < 1e-8);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rappor {
    hashes: u32,
    f: f64,
    p: f64,
    q: f64,
}

impl Rappor {
    /// `q > p`, and at least one hash function.
    pub fn new(hashes: u32, f: Probability, p: Probability, q: Probability) -> Result<Self, Error> {
        let (f, p, q) = (f.get(), p.get(), q.get());
        require(hashes > 0, "hashes", 0.0, "1 or more")?;
        require(q > p, "q", q, "above p")?;
        require(f >= 1e-300, "f", f, "at least 1e-300")?;
        Ok(Self { hashes, f, p, q })
    }

    /// ε of one report: exact, the worst over all filters.
    ///
    /// ```text
    /// q* = f(p+q)/2 + (1−f)q,   p* = f(p+q)/2 + (1−f)p,   ε₁ = h·ln(q*(1−p*)/(p*(1−q*)))
    /// ```
    pub fn one_report(&self) -> Epsilon {
        self.reports(1)
    }

    /// ε of `reports` reports on one value: exact, the worst over all filters.
    ///
    /// ```text
    /// L(s) = ln [(1−f/2)·q^s(1−q)^(T−s) + (f/2)·p^s(1−p)^(T−s)]
    ///      − ln [(f/2)·q^s(1−q)^(T−s) + (1−f/2)·p^s(1−p)^(T−s)]
    /// ε_T = h·(max L − min L) over s = 0..T
    /// ```
    ///
    /// L increases with s, so the extremes are at its ends.
    pub fn reports(&self, reports: u64) -> Epsilon {
        let t = reports as f64;
        let apart = self.q - self.p;
        let all = self.log_odds(t * (apart / self.p).ln_1p());
        let none = self.log_odds(t * (-apart / (1.0 - self.p)).ln_1p());
        Epsilon::at(round::up(f64::from(self.hashes) * (all - none)))
    }

    /// ε for ever, when the permanent response itself is known: `2h·ln((1−f/2)/(f/2))`.
    pub fn forever(&self) -> Epsilon {
        let ratio = (1.0 - 0.5 * self.f) / (0.5 * self.f);
        Epsilon::at(round::up(2.0 * f64::from(self.hashes) * ratio.ln()))
    }

    /// L as a function of the log-likelihood ratio of the reports given permanent bits 1 and 0.
    fn log_odds(&self, ratio: f64) -> f64 {
        // Both likelihoods divided by the larger, and their difference without cancellation.
        let (one, zero) = (ratio.min(0.0).exp(), (-ratio).min(0.0).exp());
        let difference = if ratio > 0.0 { -(-ratio).exp_m1() } else { ratio.exp_m1() };
        let half = 0.5 * self.f;
        ((1.0 - self.f) * difference / (half * one + (1.0 - half) * zero)).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, vectors};

    fn rappor(hashes: u32, f: f64, p: f64, q: f64) -> Rappor {
        let probability = |value| Probability::new("probability", value).unwrap();
        Rappor::new(hashes, probability(f), probability(p), probability(q)).unwrap()
    }

    #[test]
    fn all_three_guarantees_agree_with_eighty_digits() {
        for row in vectors("published.json") {
            let name = row.text("name");
            if !name.starts_with("rappor") {
                continue;
            }
            let (p, q) =
                if name == "rappor_forever" { (0.5, 0.75) } else { (row.f64("p"), row.f64("q")) };
            let rappor = rappor(row.u64("hashes") as u32, row.f64("f"), p, q);
            let found = match name.as_str() {
                "rappor_one" => rappor.one_report(),
                "rappor_many" => rappor.reports(row.u64("reports")),
                _ => rappor.forever(),
            };
            assert_close(found.get(), row.f64("value"), 3e-9);
        }
    }

    #[test]
    fn nearly_equal_probabilities_keep_their_digits() {
        // To first order in q − p the loss is h·(1−f)·(q−p)/(p(1−p)).
        let (p, q) = (0.5, 0.5 + 1e-12);
        let expected = 2.0 * 0.5 * (q - p) / 0.25;
        assert_close(rappor(2, 0.5, p, q).one_report().get(), expected, 3e-9);
    }

    // Brute force over every pair of values, every filter and every report.
    #[test]
    fn the_formula_is_the_worst_likelihood_ratio() {
        let (bits, f, p, q) = (6_u32, 0.5, 0.5, 0.75);
        let report_law = |bit: bool, shown: bool| {
            let keep = if bit { 1.0 - f / 2.0 } else { f / 2.0 };
            let one = keep * q + (1.0 - keep) * p;
            if shown { one } else { 1.0 - one }
        };
        let likelihood = |filter: u32, report: u32| -> f64 {
            (0..bits).map(|i| report_law(filter >> i & 1 == 1, report >> i & 1 == 1)).product()
        };
        let filters: Vec<u32> = (0..1 << bits).filter(|x: &u32| x.count_ones() == 2).collect();
        let mut worst = 0.0_f64;
        for &a in &filters {
            for &b in &filters {
                for report in 0..1 << bits {
                    worst = worst.max((likelihood(a, report) / likelihood(b, report)).ln());
                }
            }
        }
        assert_close(rappor(2, f, p, q).one_report().get(), worst, 3e-9);
    }

    #[test]
    fn reports_approach_the_permanent_response_and_never_pass_it() {
        let rappor = rappor(4, 0.5, 0.5, 0.75);
        let forever = rappor.forever().get();
        let mut before = 0.0;
        for reports in [1, 2, 5, 10, 50, 1000, 1_000_000] {
            let here = rappor.reports(reports).get();
            assert!(here >= before && here <= forever * (1.0 + 1e-8));
            before = here;
        }
        assert_close(before, forever, 1e-8);
    }
}
