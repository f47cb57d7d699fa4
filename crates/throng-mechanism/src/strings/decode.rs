//! Decoding of noisy Bloom filters: which of a list of candidates were reported, and how often.
//!
//! Every user holds one string, on the list or not. One that is not sets each bit of its cohort
//! with chance h/k, so of the share of a cohort's users that set a bit, taken above h/k, those
//! users drop out in the mean:
//!
//! ```text
//! y_cb      = t_cb/N_c − h/k             t_cb of the N_c users of cohort c set bit b, estimated
//! E[y_cb]   = Σ_v x_v·(a_cbv − h/k)      x_v the share of candidate v, a_cbv whether it sets bit b
//! Var[y_cb] = π(1−π)/(N_c·(q*−p*)²)      π = p* + (q*−p*)·share, the chance that bit b is shown
//! ```
//!
//! 1. *Base.* Candidates that stand out beyond doubt are found in rounds: those found so far are
//!    fitted by weighted least squares, and the others are tested on what that leaves.
//! 2. *Test.* Each candidate is tested on what the base leaves, the base without it if it is in it,
//!    and the error of [`Control`] is held over the whole list.
//! 3. *Refit.* The significant ones are fitted together, and nothing shrinks their shares. Squares
//!    left over beyond what the coins explain widen the standard errors.
//!
//! A test asks how likely a string that nobody holds stands out as much by its hash (`chance.rs`).
//! Strings that are not on the list, however common, therefore add no false discoveries. The levels
//! hold as far as the chances do, which are approximations, and as the base is made of strings that
//! are there. Selecting with a penalty on the shares, the LASSO of the RAPPOR paper, fits the noise
//! that the tests then look at, and finds too many.

use crate::queries::selection::one_sided_reach;
use crate::strings::chance::{Scores, upper_tail};
use crate::strings::cholesky;
use crate::{Bloom, Estimate, Rappor, Tally};
use throng_account::Probability;
use throng_account::tail::normal_reach;

/// The kind of error that is limited when many candidates are tested at once.
///
/// ```
/// use throng_mechanism::Control;
///
/// // A list to be published wants the first, one to be looked into the second, which finds more.
/// assert_ne!(Control::Family, Control::Discovery);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// One or more absent candidates found significant: the chance of that is at most the level
    /// (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979).
    Family,
    /// The share of absent candidates among the significant ones: its mean is at most the level
    /// (Benjamini and Hochberg, "Controlling the False Discovery Rate", 1995). For independent
    /// tests, as those of strings with independent hashes are.
    Discovery,
}

impl Control {
    /// The number of candidates that are significant, by their p-values in ascending order.
    fn significant(self, level: f64, tested: &[(usize, f64)], tests: f64) -> usize {
        let mut tested = tested.iter().enumerate().map(|(place, (_, p))| ((place + 1) as f64, p));
        match self {
            Self::Family => tested.take_while(|(k, p)| **p <= level / (tests + 1.0 - k)).count(),
            Self::Discovery => {
                tested.rposition(|(k, p)| *p <= level * k / tests).map_or(0, |last| last + 1)
            }
        }
    }
}

/// The options of decoding.
///
/// ```
/// use throng_account::Probability;
/// use throng_mechanism::{Control, DecodeOptions};
///
/// // At most one time in twenty an absent string is found, over the whole list.
/// let strict = DecodeOptions {
///     control: Control::Family,
///     level: Probability::new("level", 0.05)?,
///     confidence: Probability::new("confidence", 0.95)?,
/// };
/// // Of what is found, at most a twentieth is absent on average.
/// let exploring = DecodeOptions { control: Control::Discovery, ..strict };
/// assert_eq!(exploring.level, strict.level);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeOptions {
    /// The error that is controlled.
    pub control: Control,
    /// The level of that error.
    pub level: Probability,
    /// Confidence of each single interval.
    pub confidence: Probability,
}

/// A candidate that stands out.
///
/// ```
/// use throng_mechanism::{Decoded, Estimate};
///
/// // The third of the list, held by 2,480 to 2,520 users: no accident.
/// let estimate = Estimate::even(2_500.0, 10.0, 20.0);
/// let found = Decoded { candidate: 2, estimate, significant: true, p_value: 1e-9 };
/// assert_eq!(found.estimate.interval(), (2_480.0, 2_520.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decoded {
    /// The place of the candidate on the list.
    pub candidate: usize,
    /// The number of users who hold it. Among candidates picked for being large, estimates are on
    /// the large side.
    pub estimate: Estimate,
    /// True if it is found, at the level asked for.
    pub significant: bool,
    /// The chance of standing out as much for a string that nobody holds.
    pub p_value: f64,
}

/// The candidates that stand out, the most significant first.
///
/// Candidates that are not returned are indistinguishable from absent ones. Of candidates with the
/// same bits in every cohort, such as one listed twice, at most one is. The list must not depend on
/// the seed of the hash. At most a quarter as many candidates are returned as there are cells, and
/// 1024.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{Bloom, Control, DecodeOptions, Protocol, Rappor, Tally, decode};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let coin = |p| Probability::new("coin", p).map(Threshold::at_least);
/// let rappor = Rappor::new(Bloom::new(32, 2, 8, 1)?, coin(0.1)?, coin(0.1)?, coin(0.9)?)?;
/// let mut report = Vec::new();
/// for user in 0..4_000 {
///     let held = if user < 2_500 { "firefox" } else { "lynx" };
///     rappor.encode(held, &mut rng, &mut report)?;
/// }
/// let mut tally = Tally::new(&rappor);
/// tally.absorb(&rappor, &report);
///
/// let candidates = ["firefox", "mosaic", "lynx", "netscape"];
/// let level = Probability::new("level", 0.01)?;
/// let confidence = Probability::new("confidence", 0.95)?;
/// let options = DecodeOptions { control: Control::Family, level, confidence };
/// let found = decode(&rappor, &tally, &candidates, &options);
/// let names = found.iter().filter(|d| d.significant).map(|d| candidates[d.candidate]);
/// assert_eq!(names.collect::<Vec<_>>(), ["firefox", "lynx"]);
/// let firefox = found.iter().find(|d| d.candidate == 0).unwrap();
/// assert!((firefox.estimate.value - 2_500.0).abs() < 300.0 && firefox.p_value < 1e-6);
///
/// // What is found at a level of the family is found at the same level of discoveries.
/// let exploring = DecodeOptions { control: Control::Discovery, ..options };
/// let more = decode(&rappor, &tally, &candidates, &exploring);
/// assert!(more.iter().filter(|d| d.significant).count() >= 2);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
pub fn decode(
    protocol: &Rappor,
    tally: &Tally,
    candidates: &[&str],
    options: &DecodeOptions,
) -> Vec<Decoded> {
    let problem = Problem::new(protocol, tally, candidates);
    if problem.n == 0.0 || candidates.is_empty() {
        return Vec::new();
    }
    let (level, tests) = (options.level.get(), candidates.len() as f64);
    let base = Model::base(&problem, level);
    // Beyond twice the limit hardly any would pass again; up to there it is of interest.
    let near_limit = |k: usize| level * (2 * k + 16) as f64 / tests;
    let near = base.others(&problem, near_limit);
    let again = base.shares.iter().map(|&(v, share)| (v, base.p_value(&problem, v, share)));
    let mut tested: Vec<(usize, f64)> = again.chain(near).collect();
    tested.sort_by(|a, b| a.1.total_cmp(&b.1));
    tested.truncate(problem.most());

    let count = options.control.significant(level, &tested, tests);
    let slopes = Slopes::new(&problem, &base);
    let share = |v| base.shares.iter().find(|found| found.0 == v).map_or(0.0, |found| found.1);
    let shares: Vec<(usize, f64)> = tested.iter().map(|&(v, _)| (v, share(v))).collect();
    // Those that are not significant do not take part in the estimates of those that are.
    let found = Model::fit(&problem, &shares[..count]);
    let all = Model::fit(&problem, &shares);
    let decoded = tested.iter().enumerate().filter_map(|(place, &(candidate, p_value))| {
        let significant = place < count;
        let model = if significant { &found } else { &all };
        let mut fitted = model.shares.iter().zip(&model.errors);
        let ((_, share), error) = fitted.find(|((v, _), _)| *v == candidate)?;
        let (value, error) = (problem.n * share, problem.n * error);
        let limit = match options.control {
            _ if !significant => near_limit(place + 1),
            Control::Family => level / (tests - place as f64),
            Control::Discovery => level * count as f64 / tests,
        };
        let margin = one_sided_reach(p_value) - one_sided_reach(limit);
        let margin = margin / (slopes.of(&problem, candidate) * error / problem.n);
        let estimate = listed(value, error, margin, options.confidence);
        Some(Decoded { candidate, estimate, significant, p_value })
    });
    decoded.collect()
}

/// The estimate of a candidate that is returned because its test passed its limit, by `margin`
/// standard errors of the estimate.
///
/// Had it come out lower by more than the margin, nothing would be said of it, so its estimate is
/// taken for normal given that it is at least `value − margin·error`: nearly so, as the test looks
/// at what another fit leaves, and the limit hangs on other candidates (Lee, Sun, Sun, Taylor,
/// "Exact Post-Selection Inference, with Application to the Lasso", 2016, for a single cut). The
/// interval has all counts, from 0 on, for which this law does not rule out so high a value:
///
/// ```text
/// P[X ≥ x | X ≥ x − margin] = Q(x − μ)/Q(x − margin − μ) ≥ α/2,   Q = P[Z > ·]
/// ```
///
/// Its lower end reaches far down where the margin is small, and is the usual one where it is
/// large. The upper end stays the usual one: it is too low no more often among estimates that
/// passed than among all, `(a − b)/(1 − b) ≤ a`, also where the test and the estimate do not quite
/// agree. The value itself stays the one that is unbiased over all candidates, listed or not.
fn listed(value: f64, error: f64, margin: f64, confidence: Probability) -> Estimate {
    let (margin, half) = (margin.max(0.0), 0.5 * (1.0 - confidence.get()));
    // In standard errors above the value.
    let (mut low, mut high) = ((-value / error).clamp(-FAR, 0.0), 0.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let more = upper_tail(-middle) / upper_tail(-margin - middle) < half;
        (low, high) = if more { (middle, high) } else { (low, middle) };
    }
    let above = normal_reach(confidence);
    Estimate::within(value, error, ((value + error * low).max(0.0), value + error * above))
}

/// How fast the tests of candidates move with their shares.
struct Slopes {
    /// The weights of the cells that are not cut.
    weights: Vec<f64>,
    /// The deviation of the score of a string that nobody holds.
    deviation: f64,
}

impl Slopes {
    fn new(problem: &Problem, base: &Model) -> Self {
        let moves = |(r, w): (&f64, &f64)| if (w.sqrt() * r).abs() < CUT { *w } else { 0.0 };
        let weights = base.residuals.iter().zip(&base.weights).map(moves).collect();
        let values = base.values(&base.residuals);
        Self { weights, deviation: Scores::new(&problem.bloom, &values).deviation() }
    }

    /// Standard errors that the test of a candidate moves by, for a share of 1.
    fn of(&self, problem: &Problem, candidate: usize) -> f64 {
        problem.sum(candidate, &self.weights) * (1.0 - problem.chance) / self.deviation
    }
}

/// The counts, as shares of cohorts, and the cells that each candidate sets: as many for every one,
/// h in every cohort.
struct Problem {
    /// All reports.
    n: f64,
    /// Reports per cohort.
    cohorts: Vec<f64>,
    /// The shares y, cohort after cohort.
    shares: Vec<f64>,
    /// The chance h/k that a string sets a bit.
    chance: f64,
    /// The chances p* and q* that a bit is shown as 1.
    shown: (f64, f64),
    bloom: Bloom,
    /// The cells of each candidate.
    candidates: Vec<Vec<u32>>,
}

impl Problem {
    fn new(protocol: &Rappor, tally: &Tally, candidates: &[&str]) -> Self {
        let bloom = *protocol.bloom();
        let chance = f64::from(bloom.hashes()) / f64::from(bloom.bits());
        let (zero, one) = protocol.shown();
        let (mut cohorts, mut shares) = (Vec::new(), Vec::new());
        for cells in tally.cells().chunks(bloom.bits() as usize + 1) {
            let n = cells[0] as f64;
            cohorts.push(n);
            shares.extend(cells[1..].iter().map(|&count| {
                // An empty cohort has no weight; any finite share will do.
                (count as f64 / n.max(1.0) - zero) / (one - zero) - chance
            }));
        }
        let n = cohorts.iter().sum();
        let candidates = candidates.iter().map(|candidate| cells(&bloom, candidate)).collect();
        Self { n, cohorts, shares, chance, shown: (zero, one), bloom, candidates }
    }

    /// The number of cells of cohorts that are not empty.
    fn rows(&self) -> usize {
        self.bloom.bits() as usize * self.cohorts.iter().filter(|&&n| n > 0.0).count()
    }

    /// The number of candidates that can be told apart.
    fn most(&self) -> usize {
        (self.rows() / 4).clamp(1, MOST)
    }

    /// One over the variance of a cell's share, when `above` is what the model gives it above h/k.
    fn weight(&self, cell: usize, above: f64) -> f64 {
        let (zero, one) = self.shown;
        let pi = zero + (one - zero) * (self.chance + above).clamp(0.0, 1.0);
        self.cohorts[cell / self.bloom.bits() as usize] * (one - zero).powi(2) / (pi * (1.0 - pi))
    }

    /// Sum over the cells of a candidate.
    fn sum(&self, candidate: usize, values: &[f64]) -> f64 {
        self.candidates[candidate].iter().map(|&cell| values[cell as usize]).sum()
    }

    /// `Σ_v x_v·(a_v − h/k)`, cell by cell.
    fn fitted(&self, shares: &[(usize, f64)]) -> Vec<f64> {
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        let mut fitted = vec![-self.chance * total; self.shares.len()];
        for &(candidate, share) in shares {
            self.candidates[candidate].iter().for_each(|&cell| fitted[cell as usize] += share);
        }
        fitted
    }

    /// Weight of the cells that two candidates share, row by row up to the diagonal.
    fn overlaps(&self, candidates: &[(usize, f64)], weights: &[f64]) -> Vec<Vec<f64>> {
        let mut who = vec![Vec::new(); weights.len()];
        let mut overlaps: Vec<Vec<f64>> = (0..candidates.len()).map(|i| vec![0.0; i + 1]).collect();
        for (i, &(candidate, _)) in candidates.iter().enumerate() {
            for &cell in &self.candidates[candidate] {
                let cell = cell as usize;
                who[cell].push(i);
                who[cell].iter().for_each(|&j| overlaps[i][j] += weights[cell]);
            }
        }
        overlaps
    }

    /// The normal equations of the columns `a − h/k`, solved: candidates and shares, and the
    /// standard errors of these.
    fn solve(&self, shares: &[(usize, f64)], weights: &[f64]) -> (Vec<(usize, f64)>, Vec<f64>) {
        let weighted: Vec<f64> = weights.iter().zip(&self.shares).map(|(w, y)| w * y).collect();
        let (chance, all) = (self.chance, weights.iter().sum::<f64>());
        let offset = chance * weighted.iter().sum::<f64>();
        let right = shares.iter().map(|&(v, _)| self.sum(v, &weighted) - offset);
        let sums: Vec<f64> = shares.iter().map(|&(v, _)| self.sum(v, weights)).collect();
        let mut normal = self.overlaps(shares, weights);
        for (i, row) in normal.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                *entry += chance * (chance * all - sums[i] - sums[j]);
            }
        }
        let solved = cholesky::solve(normal, &right.collect::<Vec<_>>());
        let solved = shares.iter().zip(solved).filter_map(|(&(candidate, _), solved)| {
            let (share, variance) = solved?;
            Some(((candidate, share), variance.sqrt()))
        });
        solved.unzip()
    }
}

/// The cells that a string sets.
fn cells(bloom: &Bloom, string: &str) -> Vec<u32> {
    let digest = bloom.digest(string);
    let mut cells = Vec::with_capacity((bloom.cohorts() * bloom.hashes()) as usize);
    for cohort in 0..bloom.cohorts() {
        for (word, mut bits) in (0..).zip(bloom.filter(digest, cohort)) {
            while bits != 0 {
                cells.push(cohort * bloom.bits() + 64 * word + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
    cells
}

/// The candidates found so far, and what they leave.
struct Model {
    /// The candidates and their shares.
    shares: Vec<(usize, f64)>,
    /// The standard errors of the shares.
    errors: Vec<f64>,
    weights: Vec<f64>,
    residuals: Vec<f64>,
}

impl Model {
    /// The candidates that stand out beyond doubt: those that Holm's rule finds, in rounds.
    fn base(problem: &Problem, level: f64) -> Self {
        let mut base = Self::fit(problem, &[]);
        for _ in 0..ROUNDS {
            let tests = problem.candidates.len();
            let more = base.others(problem, |k| level / (tests + 1 - k) as f64);
            let mut shares = base.shares.clone();
            shares.extend(more.iter().map(|&(candidate, _)| (candidate, 0.0)));
            shares.truncate(problem.most());
            let settled = shares.len() == base.shares.len();
            // Once more in the end, with the variances that the last shares predict.
            base = Self::fit(problem, &shares);
            if settled {
                break;
            }
        }
        base
    }

    /// Weighted least squares, with the variances that `shares` predict.
    fn fit(problem: &Problem, shares: &[(usize, f64)]) -> Self {
        let fitted = problem.fitted(shares);
        let weights = fitted.iter().enumerate().map(|(cell, &above)| problem.weight(cell, above));
        let weights: Vec<f64> = weights.collect();
        let (shares, errors) = problem.solve(shares, &weights);

        let fitted = problem.fitted(&shares);
        let residuals: Vec<f64> = problem.shares.iter().zip(fitted).map(|(y, f)| y - f).collect();
        let squares: f64 = residuals.iter().zip(&weights).map(|(r, w)| w * r * r).sum();
        // A string that was picked among many fits as much noise by being picked as by its share.
        let freedom = problem.rows().saturating_sub(2 * shares.len()).max(1) as f64;
        let dispersion = (squares / freedom).max(1.0).sqrt();
        let errors = errors.iter().map(|error| error * dispersion).collect();
        Self { shares, errors, weights, residuals }
    }

    /// The candidates that are not found and their p-values, by what those found leave: in
    /// ascending order, while the k-th smallest of all is within its limit.
    fn others(&self, problem: &Problem, limit: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
        let values = self.values(&self.residuals);
        let mut others: Vec<(usize, f64)> = (0..problem.candidates.len())
            .filter(|&candidate| self.shares.iter().all(|found| found.0 != candidate))
            .map(|candidate| (candidate, problem.sum(candidate, &values)))
            .collect();
        others.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut scores = Scores::new(&problem.bloom, &values);
        let ranks = self.shares.len() + 1..;
        let p_values = ranks.zip(others).map_while(|(k, (candidate, score))| {
            let p_value = scores.chance(score);
            (p_value <= limit(k)).then_some((candidate, p_value))
        });
        p_values.collect()
    }

    /// The p-value of one that is found, by what all the others leave.
    fn p_value(&self, problem: &Problem, candidate: usize, share: f64) -> f64 {
        let own = problem.fitted(&[(candidate, share)]);
        let residuals: Vec<f64> = self.residuals.iter().zip(own).map(|(r, own)| r + own).collect();
        let values = self.values(&residuals);
        Scores::new(&problem.bloom, &values).chance(problem.sum(candidate, &values))
    }

    /// The values that candidates are scored by: residuals in standard errors, times the root of
    /// their weights. Cells far out are a string that is not on the list; cut, they lend little to
    /// the candidates that share some of them.
    fn values(&self, residuals: &[f64]) -> Vec<f64> {
        let cut = |(r, w): (&f64, &f64)| w.sqrt() * (w.sqrt() * r).clamp(-CUT, CUT);
        residuals.iter().zip(&self.weights).map(cut).collect()
    }
}

/// The standard errors beyond which no interval reaches.
const FAR: f64 = 30.0;
/// The most rounds; a handful are usual.
const ROUNDS: usize = 50;
/// The most candidates that are found.
const MOST: usize = 1024;
/// The standard errors at which single cells are cut for the test.
const CUT: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{binomial_tails, rng};
    use crate::{Claims, Protocol, sample};
    use throng_account::Threshold;

    fn probability(value: f64) -> Probability {
        Probability::new("probability", value).unwrap()
    }

    fn rappor(bloom: Bloom, coins: [f64; 3]) -> Rappor {
        let [f, p, q] = coins.map(|coin| Threshold::at_least(probability(coin)));
        Rappor::new(bloom, f, p, q).unwrap()
    }

    fn options(control: Control, level: f64) -> DecodeOptions {
        DecodeOptions { control, level: probability(level), confidence: probability(0.95) }
    }

    fn strings(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("string {i}")).collect()
    }

    fn list(strings: &[String]) -> Vec<&str> {
        strings.iter().map(String::as_str).collect()
    }

    /// A bag in which each of the strings is held by its count of users.
    fn tally(rappor: &Rappor, strings: &[String], counts: &[u64], seed: u64) -> Tally {
        let (mut rng, mut messages) = (rng(seed), Vec::new());
        for (value, count) in strings.iter().zip(counts) {
            for _ in 0..*count {
                rappor.encode(value, &mut rng, &mut messages).unwrap();
            }
        }
        let mut tally = Tally::new(rappor);
        tally.absorb(rappor, &messages);
        tally
    }

    #[test]
    fn least_squares_return_the_shares_from_the_exact_means() {
        let rappor = rappor(Bloom::new(32, 2, 16, 1).unwrap(), [0.5, 0.2, 0.75]);
        let strings = strings(40);
        let truth: Vec<(usize, f64)> = (0..20).map(|v| (2 * v, 0.3 / (v + 1) as f64)).collect();
        let mut problem = Problem::new(&rappor, &Tally::new(&rappor), &list(&strings));
        problem.cohorts = (0..16).map(|cohort| f64::from(100 * (cohort % 5))).collect();
        problem.n = problem.cohorts.iter().sum();
        problem.shares = problem.fitted(&truth);
        for shares in [vec![0.0; 20], truth.iter().map(|(_, share)| *share).collect()] {
            let start: Vec<(usize, f64)> =
                truth.iter().zip(shares).map(|(&(v, _), share)| (v, share)).collect();
            let model = Model::fit(&problem, &start);
            assert!(model.errors.iter().all(|error| *error > 0.0));
            for ((one, fitted), (candidate, share)) in model.shares.iter().zip(&truth) {
                assert!(one == candidate && (fitted - share).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn strings_are_found_with_their_counts() {
        let strings = strings(500);
        for (bits, cohorts, coins) in [(32, 32, [0.5, 0.5, 0.75]), (128, 8, [0.25, 0.35, 0.65])] {
            let rappor = rappor(Bloom::new(bits, 2, cohorts, 9).unwrap(), coins);
            let counts = [30_000, 20_000, 10_000, 10_000, 8000];
            let tally = tally(&rappor, &strings, &counts, 4);
            let found = decode(&rappor, &tally, &list(&strings), &options(Control::Family, 1e-7));
            let mut significant: Vec<usize> =
                found.iter().filter(|one| one.significant).map(|one| one.candidate).collect();
            significant.sort_unstable();
            assert_eq!(significant, [0, 1, 2, 3, 4]);
            for one in found.iter().take(5) {
                let error = one.estimate.value - counts[one.candidate] as f64;
                let expected = rappor.standard_error(78_000.0);
                // Six standard errors; common strings have slightly larger ones than rare strings.
                assert!(error.abs() < 6.0 * one.estimate.standard_error, "{one:?}");
                assert!(
                    (0.95..1.15).contains(&(one.estimate.standard_error / expected)),
                    "{one:?}"
                );
            }
            assert!(found.is_sorted_by_key(|one| one.p_value));
        }
    }

    /// The frequency with which absent candidates are significant in `runs` decodings, each with
    /// hash functions of its own: their share of all significant ones, and the same if only
    /// candidates that are returned counted as tests.
    fn false_discoveries(options: &DecodeOptions, runs: u64, unlisted: bool) -> (f64, f64) {
        let strings = strings(400);
        let counts = [3000, 2000, 1500, 1200, 1000, 900, 800, 700, 500, 400];
        let candidates = if unlisted { &strings[1..] } else { &strings[..] };
        let present = if unlisted { counts.len() - 1 } else { counts.len() };
        let (mut rate, mut planted) = (0.0, 0.0);
        for seed in 0..runs {
            let bloom = Bloom::new(64, 2, 8, seed).unwrap();
            let rappor = rappor(bloom, [0.25, 0.25, 0.75]);
            let tally = tally(&rappor, &strings, &counts, seed);
            let found = decode(&rappor, &tally, &list(candidates), options);
            let share = |significant: usize| {
                let absent = found[..significant].iter().filter(|one| one.candidate >= present);
                absent.count() as f64 / significant.max(1) as f64
            };
            rate += share(found.iter().filter(|one| one.significant).count()) / runs as f64;
            let tested: Vec<(usize, f64)> =
                found.iter().map(|one| (one.candidate, one.p_value)).collect();
            let level = options.level.get();
            let wrong = options.control.significant(level, &tested, tested.len() as f64);
            planted += share(wrong) / runs as f64;
        }
        (rate, planted)
    }

    // A mean of 300 shares whose own means are at most 0.1 is above 0.21 with probability at most
    // e^{−300·KL(0.21 ‖ 0.1)} = 1.4e-7, by Chernoff, whatever their law.
    #[test]
    fn false_discoveries_keep_to_their_level() {
        for unlisted in [false, true] {
            let options = options(Control::Discovery, 0.1);
            let (rate, planted) = false_discoveries(&options, 300, unlisted);
            assert!(rate < 0.21, "{rate}");
            // Only what was returned counted as tested: a planted bug.
            assert!(planted > 0.21, "{planted}");
        }
    }

    // Nobody holds any candidate, and a third of the users the same string: an error is any
    // discovery. The number of runs with one is at most binomial, and its tail at 0.1 above 1e-6.
    #[test]
    fn a_list_of_absent_strings_is_found_empty() {
        let strings = strings(300);
        let runs = 150;
        let mut wrong = 0;
        for seed in 0..runs {
            let rappor = rappor(Bloom::new(64, 2, 8, seed).unwrap(), [0.25, 0.25, 0.75]);
            let tally =
                tally(&rappor, &strings, &[3000, 1500, 1000, 1000, 1000, 500, 500, 500], seed);
            let found =
                decode(&rappor, &tally, &list(&strings[8..]), &options(Control::Family, 0.1));
            wrong += u64::from(found.iter().any(|one| one.significant));
        }
        assert!(wrong <= 15 || binomial_tails(runs, 0.1, wrong) > 1e-6, "{wrong} of {runs}");
    }

    // Of 600 intervals of 95 %, 528 to 594 hold the truth, but with probability below 1e-7.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let strings = strings(100);
        let counts = [4000, 3000, 3000, 2000];
        let (mut held, mut intervals) = (0, 0);
        for seed in 0..150 {
            let rappor = rappor(Bloom::new(32, 2, 16, seed).unwrap(), [0.25, 0.25, 0.75]);
            let tally = tally(&rappor, &strings, &counts, seed);
            let found = decode(&rappor, &tally, &list(&strings), &options(Control::Family, 0.05));
            for one in found.iter().filter(|one| one.candidate < 4) {
                let (low, high) = one.estimate.interval();
                held += u64::from((low..high).contains(&(counts[one.candidate] as f64)));
                intervals += 1;
            }
        }
        assert_eq!(intervals, 600);
        assert!((528..=594).contains(&held), "{held}");
    }

    #[test]
    fn odd_lists_and_empty_bags_are_decoded() {
        let rappor = rappor(Bloom::new(32, 2, 8, 2).unwrap(), [0.25, 0.25, 0.75]);
        let options = options(Control::Discovery, 0.05);
        let strings = strings(3);
        let full = tally(&rappor, &strings, &[5000, 5000], 1);
        assert!(decode(&rappor, &Tally::new(&rappor), &list(&strings), &options).is_empty());
        assert!(decode(&rappor, &full, &[], &options).is_empty());
        // The same string twice is one string.
        let found = decode(&rappor, &full, &["string 0", "string 0", "string 1"], &options);
        let mut candidates: Vec<usize> = found.iter().map(|one| one.candidate).collect();
        candidates.sort_unstable();
        assert!(candidates == [0, 2] || candidates == [1, 2], "{candidates:?}");
        // A handful of reports, and cohorts without any.
        let few = tally(&rappor, &strings, &[2, 1], sample::below(10, &mut rng(1)));
        for one in decode(&rappor, &few, &list(&strings), &options) {
            assert!(one.estimate.value.is_finite() && one.estimate.standard_error > 0.0);
        }
    }
}
