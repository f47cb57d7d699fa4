//! `longitudinal`: how many hold a bit, period after period, when each changes it at most k times
//! (Erlingsson et al., "Amplification by Shuffling: From Local to Central Differential Privacy via
//! Anonymity", 2019, Algorithms 1 and 2, corrected).
//!
//! Periods 1 … d are the leaves of a binary tree with L = log₂ d + 1 levels; a node of level h
//! spans 2^h of them. A client looks at one of its changes only, and at one level only. Before
//! period 1 everyone's bit is 0, so that starting with 1 is a change in period 1.
//!
//! ```text
//! client     once: a level h out of L and an index κ out of k, both uniform
//!            when a node of level h ends: u = the sign of the κ-th change if the node has it, or 0
//!                 u = 0: a fair sign     else: u with probability a, −u otherwise
//!            in all other periods: null
//! lifetime   ε = ln(a/(1 − a)), of everything a client ever sends
//! analyzer   f_t = c·k·L·Σ (signs of the nodes C_t that make up 1 … t),    c = 1/(2a − 1)
//!            variance c²k²·L·|C_t|·n − f_t
//! ```
//!
//! A user contributes ckL or −ckL to f_t if its level is one of C_t's, which are all different, and
//! nothing otherwise. So its square has the mean c²k²L|C_t| whatever its history, and the bit's own
//! square is what the variance is less by.
//!
//! Two printed constants are different here. Algorithm 2 scales by `k·log₂ d`, one level too few:
//! its answers are too small by the factor log₂ d/(log₂ d + 1). Algorithm 1 tosses the coin of ε/2,
//! which promises more than asked and doubles the noise: at most one node holds anything, so two
//! histories differ by `2a/(2(1 − a))` at most, not by the square of that.

use crate::histograms::rates::WIDE;
use crate::{
    Ask, Bag, Claims, Error, Estimate, Follower, Given, Kind, Law, Noise, OTHER_QUESTION,
    Parameters, Protocol, Question, Spending, Tally, Trace, Value, bits_of, fits, require,
    within_floor,
};
use rand_core::CryptoRng;
use std::collections::HashMap;
use throng_account::profile::ClonePair;
use throng_account::{Crowd, Epsilon, Probability, Profile, Threshold, UpperOnly, round};

/// The protocol. Its messages carry their period: `(t − 1)·(2L + 1) + symbol`, where the symbol is
/// 0 for null and `1 + 2·level + sign` for an answer.
///
/// ```
/// use throng_account::Epsilon;
/// use throng_mechanism::{Claims, Longitudinal};
///
/// // Sixteen periods: a tree of five levels, of which every client answers on one.
/// let protocol = Longitudinal::local(16, 2, Epsilon::new(1.0)?)?;
/// assert_eq!((protocol.levels(), protocol.symbols()), (5, 11));
/// assert!(protocol.local_floor().unwrap().get() <= 1.0);
///
/// // 7 = 4 + 2 + 1 is made of three nodes, 8 is one.
/// let [seven, eight] = [7, 8].map(|period| protocol.standard_error_at(1e4, period));
/// assert!((seven / eight - 3_f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Longitudinal {
    periods: u64,
    /// The number of changes that are allowed for, k.
    pub(super) changes: u32,
    /// The coin a.
    pub(super) keep: Threshold,
    /// ε of everything one client ever sends, in whatever order, rounded up: `ln(a/(1 − a))`.
    ///
    /// Exact, and valid for every history, also those with more than k changes.
    epsilon: Epsilon,
}

impl Longitudinal {
    /// `periods` is a power of two, `changes` the k that is allowed for, `keep` the probability of
    /// the true sign: above ½.
    pub fn new(periods: u64, changes: u32, keep: Threshold) -> Result<Self, Error> {
        let fits = periods.is_power_of_two() && periods <= MAX_PERIODS;
        require(fits, "periods", "a power of two, at most 1048576")?;
        require(changes > 0, "changes", "at least 1")?;
        require(keep.get() > 1 << 63, "keep", "above one half")?;
        let a = keep.probability();
        // 2a − 1 and 1 − a are without rounding for a coin from ½ on.
        let epsilon = Epsilon::new(round::up(((2.0 * a - 1.0) / (1.0 - a)).ln_1p()))?;
        Ok(Self { periods, changes, keep, epsilon })
    }

    /// The most truthful coin whose lifetime ε is within `epsilon`: `a ≤ e^ε/(1 + e^ε)`.
    pub fn local(periods: u64, changes: u32, epsilon: Epsilon) -> Result<Self, Error> {
        // Aiming below by more than the outward rounding of `epsilon`.
        let odds = (-round::within(epsilon.get())).exp();
        let keep = (1.0 / (1.0 + odds)).min(1.0 - 0.5 * f64::EPSILON);
        // Every f64 from ½ on is a multiple of 2⁻⁶⁴, so the threshold is this very number.
        Self::new(periods, changes, Threshold::at_least(Probability::new("keep", keep)?))
    }

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.number("periods")?, given.small("changes")?, given.truth("keep")?)
    }

    /// The mechanism with the largest ε₀ that any randomizer may have.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let Question::State { periods, changes } = ask.question else { return Err(OTHER_QUESTION) };
        Self::local(periods, changes, ask.local_epsilon()?)
    }

    /// The number of periods, d.
    pub fn periods(&self) -> u64 {
        self.periods
    }

    /// The number of levels, L = log₂ d + 1.
    pub fn levels(&self) -> u32 {
        self.periods.ilog2() + 1
    }

    /// The number of different symbols in one period.
    pub fn symbols(&self) -> u64 {
        2 * u64::from(self.levels()) + 1
    }

    /// The message that the analyzer reads in a symbol sent in this period (1 … d).
    pub fn message(&self, period: u64, symbol: u64) -> u64 {
        (period - 1) * self.symbols() + symbol
    }

    /// Standard error of the estimated count in this period (1 … d) among `reports` users: an upper
    /// bound over all histories, reached where nobody holds the bit.
    pub fn standard_error_at(&self, reports: f64, period: u64) -> f64 {
        let nodes = f64::from(period.count_ones());
        self.scale() * (nodes / f64::from(self.levels()) * reports).sqrt()
    }

    /// The error that the worst of all d estimates stays within, except with probability `failure`.
    ///
    /// ```text
    /// P[max_t |error| > c·k·L·√(2n·ln(2d/failure))] ≤ failure
    /// ```
    ///
    /// Upper bound, for histories with at most k changes: Hoeffding's inequality for contributions
    /// between −ckL and ckL, and a union over the periods.
    pub fn band(&self, reports: f64, failure: Probability) -> f64 {
        let union = (2.0 * self.periods as f64 / failure.get()).ln();
        self.scale() * (2.0 * reports * union).sqrt()
    }

    /// The reach of the signs of n users of which those on so many levels count: the larger one of
    /// the laws in which nobody and everybody holds the bit, and half a step of their lattice.
    fn reach(&self, (n, levels): (u64, u32), confidence: Probability) -> f64 {
        let share = f64::from(levels) / f64::from(self.levels());
        let among = |lean: f64| {
            let signs = vec![(1, 0.5 * (share + lean)), (-1, 0.5 * (share - lean))];
            Noise::new(n as f64, signs).reach(confidence)
        };
        // Where every sign counts, their sum is as odd as n.
        let step = if levels == self.levels() { 2.0 } else { 1.0 };
        among(0.0).max(among(1.0 / self.scale())) + 0.5 * step
    }

    /// `c·k·L`.
    fn scale(&self) -> f64 {
        let c = 1.0 / (2.0 * self.keep.probability() - 1.0);
        c * f64::from(self.changes) * f64::from(self.levels())
    }

    /// The cell of the node of this level that ends with this period.
    fn node(&self, level: u32, period: u64) -> usize {
        // Below it: the cells of the periods, and d, d/2, d/4, … nodes of the lower levels.
        let lower = self.periods + 2 * self.periods - ((2 * self.periods) >> level);
        (lower + (period >> level) - 1) as usize
    }
}

impl Protocol for Longitudinal {
    /// The bit in every period.
    type Input = [bool];

    fn messages(&self) -> usize {
        self.periods as usize
    }

    fn encode(
        &self,
        input: &[bool],
        rng: &mut impl CryptoRng,
        report: &mut Bag,
    ) -> Result<(), Error> {
        fits(input.len() as u64 == self.periods, "one bit for every period")?;
        let mut follower = Follower::new(self, rng);
        for (&bit, period) in input.iter().zip(1..) {
            let symbol = follower.report(self, bit, rng)?;
            report.push(self.message(period, symbol));
        }
        Ok(())
    }

    fn law(&self, input: &[bool]) -> Law {
        let a = self.keep.probability();
        let weight = 1.0 / (f64::from(self.levels()) * f64::from(self.changes));
        let before = [false].into_iter().chain(input.iter().copied());
        let jumps: Vec<(u64, bool)> = (1..)
            .zip(before.zip(input))
            .filter_map(|(period, (was, &is))| (was != is).then_some((period, is)))
            .collect();
        let mut law = Law::new();
        for level in 0..self.levels() {
            for chosen in 0..self.changes as usize {
                for signs in 0..1_u64 << (self.periods >> level) {
                    let (mut report, mut p) = (Vec::new(), weight);
                    for period in 1..=self.periods {
                        if period % (1 << level) != 0 {
                            report.push(self.message(period, NULL));
                            continue;
                        }
                        let sign = signs >> ((period >> level) - 1) & 1;
                        report.push(self.message(period, answer(level, sign)));
                        let node = period - (1 << level) + 1..=period;
                        p *= match jumps.get(chosen) {
                            Some((at, _)) if !node.contains(at) => 0.5,
                            Some((_, rising)) if *rising == (sign == 1) => a,
                            Some(_) => 1.0 - a,
                            None => 0.5,
                        };
                    }
                    *law.entry(report).or_insert(0.0) += p;
                }
            }
        }
        law
    }

    /// Messages of each period, and the sum of the signs of each node, modulo 2⁶⁴.
    fn cells(&self) -> usize {
        3 * self.periods as usize - 1
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        let mut malformed = 0;
        for message in messages {
            let (period, symbol) = (message / self.symbols() + 1, message % self.symbols());
            let level = (symbol.saturating_sub(1) / 2) as u32;
            // An answer of a node that ends, or null.
            if period > self.periods || period & ((1 << level) - 1) != 0 {
                malformed += 1;
                continue;
            }
            if symbol != NULL {
                // 1 is +1, 0 is −1.
                let sign = (2 * ((symbol - 1) % 2)).wrapping_sub(1);
                let cell = &mut cells[self.node(level, period)];
                *cell = cell.wrapping_add(sign);
            }
            cells[period as usize - 1] += 1;
        }
        malformed
    }

    /// The count in every period, up to the last one that anybody has reported on.
    ///
    /// The standard error allows for as many users as the fullest period so far has reports.
    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let cells = tally.cells();
        let reports = &cells[..self.periods as usize];
        let last = reports.iter().rposition(|&count| count > 0).map_or(0, |place| place + 1);
        let (mut n, mut reaches) = (0, HashMap::new());
        (1..=last as u64)
            .map(|period| {
                n = n.max(reports[period as usize - 1]);
                let signs = nodes(period).map(|(level, end)| cells[self.node(level, end)] as i64);
                let value = self.scale() * signs.sum::<i64>() as f64;
                // The stated variance with the estimate in place of f_t: not below 0 for any bag
                // of clients' reports, and right on average.
                let most = self.standard_error_at(n as f64, period);
                let error = (most.powi(2) - value).max(0.0).sqrt();
                if most > WIDE * self.scale() {
                    return Estimate::normal(value, error, self.scale(), confidence);
                }
                let key = (n, period.count_ones());
                let reach = reaches.entry(key).or_insert_with(|| self.reach(key, confidence));
                Estimate::even(value, error, *reach * self.scale())
            })
            .collect()
    }
}

impl Claims for Longitudinal {
    fn question(&self) -> Question {
        Question::State { periods: self.periods, changes: self.changes }
    }

    /// The profile of any randomizer with its ε₀; others reach the bound, this one need not.
    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Ok(Box::new(UpperOnly(ClonePair::strong(crowd, self.epsilon)?)))
    }

    fn local_floor(&self) -> Option<Epsilon> {
        Some(self.epsilon)
    }

    fn standard_error(&self, reports: f64) -> f64 {
        let square = |period| self.standard_error_at(reports, period).powi(2);
        ((1..=self.periods).map(square).sum::<f64>() / self.periods as f64).sqrt()
    }

    /// A node of every level that a running count is made of, each plus or minus.
    fn influence(&self) -> f64 {
        2.0 * self.scale() * f64::from(self.levels().saturating_sub(1).max(1))
    }

    /// The bits of a symbol: its period is the epoch's.
    fn message_bits(&self) -> u32 {
        bits_of(self.symbols())
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("periods", vec![self.periods]),
            ("changes", vec![self.changes.into()]),
            ("keep", vec![self.keep.get()]),
        ]
    }

    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        Some(Self::local(self.periods, self.changes, within_floor(floor)?).ok()?.parameters())
    }

    fn spending(&self) -> Spending {
        Spending::Lifetime
    }

    fn epochs(&self) -> Option<u64> {
        Some(self.periods)
    }

    /// True if all nodes that the running count up to a period is made of have been reported: each
    /// is reported in its last period. An epoch that was dropped leaves a hole in the counts that
    /// need it.
    fn is_complete(&self, place: usize, epochs: &[u64]) -> bool {
        nodes(place as u64 + 1).all(|(_, end)| epochs.contains(&(end - 1)))
    }

    /// Adds the period to a symbol. A symbol too large would be read as one of a later period.
    fn in_epoch(&self, word: u64, epoch: u64) -> u64 {
        if word < self.symbols() && epoch < self.periods {
            self.message(epoch + 1, word)
        } else {
            u64::MAX
        }
    }

    /// A falling sign about a rise in the last period, which every client answers for: `1 − a`
    /// where it is the change that is followed, else a half.
    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let (last, before) = value.bits(Kind::State).ok()?.split_last()?;
        let fair = 1.0 - 1.0 / f64::from(self.changes);
        let chance = (1.0 - self.keep.probability()) * (1.0 - fair) + 0.5 * fair;
        let (symbols, levels) = (self.symbols(), self.levels());
        (*last && before.iter().all(|bit| !bit)).then(|| {
            Trace::new(1, chance, move |report| {
                let symbol = report.last().map_or(NULL, |message| message % symbols);
                u64::from((0..levels).any(|level| symbol == answer(level, 0)))
            })
        })
    }
}

/// The symbol of an answer.
pub(crate) fn answer(level: u32, sign: u64) -> u64 {
    1 + 2 * u64::from(level) + sign
}

/// `C_t`: levels and last periods of the nodes that make up `1 … period`, one per binary digit.
fn nodes(period: u64) -> impl Iterator<Item = (u32, u64)> {
    let digits = (0..64).filter(move |level| period >> level & 1 == 1);
    digits.map(move |level| (level, period >> level << level))
}

/// The symbol of a period in which no node of the client's level ends.
pub(crate) const NULL: u64 = 0;

/// The most periods: counters for more would not be a small tally.
const MAX_PERIODS: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Planted;
    use crate::testing::{
        OneByOne, assert_inverse, assert_local, assert_sampled, assert_view, binomial_tails,
        confidence, join, rng,
    };
    use std::panic::catch_unwind;

    fn protocol(periods: u64, changes: u32, epsilon: f64) -> Longitudinal {
        Longitudinal::local(periods, changes, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    /// All histories of d bits, with the number of their changes.
    fn histories(periods: u64) -> Vec<(Vec<bool>, u32)> {
        let history = |word: u64| -> (Vec<bool>, u32) {
            let bits = (0..periods).map(|t| word >> t & 1 == 1).collect();
            (bits, ((word ^ word << 1) & ((1 << periods) - 1)).count_ones())
        };
        (0..1 << periods).map(history).collect()
    }

    fn truth(history: &[bool]) -> Vec<f64> {
        history.iter().map(|&bit| f64::from(u8::from(bit))).collect()
    }

    /// The largest logarithm of a likelihood ratio over all pairs of histories.
    fn enumerated_epsilon(protocol: &Longitudinal) -> f64 {
        let laws = histories(protocol.periods());
        let laws: Vec<Law> = laws.iter().map(|(history, _)| protocol.law(history)).collect();
        let ratios = laws.iter().flat_map(|p| {
            laws.iter().flat_map(|q| p.iter().map(|(report, mass)| (mass / q[report]).ln()))
        });
        ratios.fold(0.0, f64::max)
    }

    #[test]
    fn the_lifetime_claim_bounds_every_likelihood_ratio_and_is_reached() {
        for (periods, changes, epsilon) in
            [(1, 1, 1.0), (2, 1, 0.5), (2, 2, 2.0), (4, 1, 1.0), (4, 2, 1.0)]
        {
            let protocol = protocol(periods, changes, epsilon);
            let histories = histories(periods);
            let inputs: Vec<&[bool]> = histories.iter().map(|(bits, _)| &bits[..]).collect();
            assert_local(&protocol, &inputs, protocol.epsilon);
            assert!(protocol.epsilon.get() <= epsilon);
            let exact = enumerated_epsilon(&protocol);
            // A first change is never a fall, and two periods have no room for two changes and
            // their opposites, so some short histories are hidden better.
            let short = (periods, changes) == (1, 1) || (periods, changes) == (2, 2);
            let reached = if short { 0.0 } else { epsilon * (1.0 - 1e-8) };
            assert!(exact <= epsilon && exact >= reached, "{periods} {changes}: {exact}");
            let account =
                throng_account::profile::Longitudinal::new(periods, protocol.epsilon).unwrap();
            assert_eq!(account.lifetime(), protocol.epsilon);
            assert_eq!(account.levels(), protocol.levels());
        }
    }

    // The level is drawn inside the randomizer, so it does not split the crowd.
    #[test]
    fn a_shuffled_crowd_hides_a_whole_life() {
        for (periods, changes, crowd) in [(1, 1, 3), (2, 1, 3), (2, 2, 2)] {
            let protocol = protocol(periods, changes, 1.5);
            let histories = histories(periods);
            let inputs: Vec<&[bool]> = histories.iter().map(|(bits, _)| &bits[..]).collect();
            let account =
                throng_account::profile::Longitudinal::new(periods, protocol.epsilon).unwrap();
            let bound = account.shuffled(Crowd::new(crowd).unwrap()).unwrap();
            assert_view(&protocol, &inputs, crowd as usize, &UpperOnly(bound));
        }
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for history in [&[false; 4][..], &[true; 4], &[false, true, true, false]] {
            assert_sampled(&protocol(4, 2, 1.0), history);
        }
        assert_sampled(&protocol(1, 1, 1.0), &[true]);
        assert_sampled(&protocol(2, 1, 3.0), &[false, true]);
    }

    #[test]
    fn the_analyzer_inverts_the_law_for_every_history_with_at_most_k_changes() {
        for (periods, changes) in [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2)] {
            let protocol = protocol(periods, changes, 1.5);
            for (history, turns) in histories(periods) {
                if turns <= changes {
                    assert_inverse(&protocol, &history, &truth(&history));
                }
            }
        }
    }

    // Two users over the enumerated law: the variance is the formula of the module's head, digit
    // for digit.
    #[test]
    fn the_variance_is_exactly_the_stated_one() {
        let protocol = protocol(4, 2, 1.0);
        let c = 1.0 / (2.0 * protocol.keep.probability() - 1.0);
        let history = [false, true, true, true];
        let law = protocol.law(&history);
        let pair = join(&law, &law, 1);
        for period in 1..=4_u64 {
            let f = 2.0 * truth(&history)[period as usize - 1];
            let moments = pair.iter().map(|(bag, p)| {
                let mut tally = Tally::new(&protocol);
                tally.absorb(&protocol, bag);
                let value = protocol.estimate(&tally, confidence())[period as usize - 1].value;
                p * (value - f).powi(2)
            });
            let stated = (c * 2.0).powi(2) * 3.0 * f64::from(period.count_ones()) * 2.0 - f;
            assert!((moments.sum::<f64>() / stated - 1.0).abs() < 1e-9, "{period}");
        }
    }

    // Algorithm 2 prints the scale k·log₂ d for a level drawn from log₂ d + 1, and Algorithm 1 the
    // coin of ε/2.
    #[test]
    fn the_printed_scale_and_coin_fail_by_the_predicted_factors() {
        let ours = protocol(4, 1, 1.0);
        let history = [false, true, true, true];
        let printed = Planted::analyzer(&ours, |estimate| estimate.value *= 2.0 / 3.0);
        assert!(catch_unwind(|| assert_inverse(&printed, &history, &truth(&history))).is_err());
        assert_inverse(&ours, &history, &truth(&history));

        let coin = 0.5_f64.exp() / (1.0 + 0.5_f64.exp());
        let keep = Threshold::at_least(Probability::new("keep", coin).unwrap());
        let printed = Longitudinal::new(4, 1, keep).unwrap();
        assert!((enumerated_epsilon(&printed) - 0.5).abs() < 1e-12);
        // Less than half of the noise remains of it: c is 2.164 where 4.083 is printed.
        let ratio = printed.standard_error_at(1.0, 4) / ours.standard_error_at(1.0, 4);
        assert!((ratio - 4.0830 / 2.1640).abs() < 1e-4, "{ratio}");
    }

    // Planted: a client that answers truthfully too often, a claim that is too small, and an
    // analyzer that claims a smaller error than it has.
    #[test]
    fn a_truthful_client_a_bold_claim_and_a_small_error_are_caught() {
        let ours = protocol(2, 1, 1.0);
        let history = [true, true];
        let truthful = Planted::sampler(&ours, |_, report| {
            report[0] += u64::from(report[0] == 1);
        });
        assert!(catch_unwind(|| assert_sampled(&truthful, &history)).is_err());
        let claim = Epsilon::new(0.99).unwrap();
        let inputs: [&[bool]; 2] = [&[false, true], &history];
        assert!(catch_unwind(|| assert_local(&ours, &inputs, claim)).is_err());
        let proud = Planted::analyzer(&ours, |estimate| estimate.standard_error *= 0.9);
        assert!(catch_unwind(|| assert_inverse(&proud, &history, &truth(&history))).is_err());
    }

    // Fails a correct client with probability below 1e-8: an exact binomial tail per report.
    #[test]
    fn reporting_period_by_period_and_restored_each_time_follows_the_same_law() {
        let protocol = protocol(4, 2, 1.0);
        let history = [true, true, false, false];
        let law = protocol.law(&history);
        let (mut rng, draws) = (rng(11), 30_000);
        let mut observed = std::collections::BTreeMap::<Vec<u64>, u64>::new();
        for _ in 0..draws {
            let mut client = Follower::new(&protocol, &mut rng);
            let report = (1..).zip(history).map(|(period, bit)| {
                client = Follower::from_words(&protocol, client.to_words()).unwrap();
                protocol.message(period, client.report(&protocol, bit, &mut rng).unwrap())
            });
            *observed.entry(report.collect()).or_default() += 1;
        }
        assert!(observed.keys().all(|report| law.contains_key(report)));
        for (report, &p) in &law {
            let count = observed.get(report).copied().unwrap_or(0);
            let tail = binomial_tails(draws, p, count);
            assert!(tail > 1e-10, "{report:?}: {count} of {draws} at {p}");
        }
    }

    #[test]
    fn a_restored_client_continues_identically() {
        let protocol = protocol(16, 3, 1.0);
        for seed in 0..50 {
            let (mut one, mut two) = (rng(seed), rng(seed));
            let mut kept = Follower::new(&protocol, &mut one);
            let mut restored = Follower::new(&protocol, &mut two);
            for period in 0..16 {
                let bit = period % 5 > 2;
                let symbol = kept.report(&protocol, bit, &mut one).unwrap();
                assert_eq!(symbol, restored.report(&protocol, bit, &mut two).unwrap());
                restored = Follower::from_words(&protocol, restored.to_words()).unwrap();
                assert_eq!(kept, restored);
            }
            assert!(kept.report(&protocol, false, &mut one).is_err());
            assert_eq!((kept.period(), format!("{kept:?}")), (16, "Follower(..)".into()));
        }
    }

    // 20,000 users over 64 periods. The band fails with probability at most 1e-9.
    #[test]
    fn every_period_of_a_crowd_lies_within_the_band() {
        let protocol = protocol(64, 2, 1.0);
        let (users, mut rng) = (20_000, rng(3));
        let mut tally = Tally::new(&protocol);
        let mut counts = [0.0; 64];
        for user in 0..users {
            let history: Vec<bool> = (0..64).map(|t| t >= user % 40 && t < user % 97).collect();
            let mut report = Vec::new();
            protocol.encode(&history, &mut rng, &mut report).unwrap();
            tally.absorb(&protocol, &report);
            for (count, bit) in counts.iter_mut().zip(history) {
                *count += f64::from(u8::from(bit));
            }
        }
        let band = protocol.band(f64::from(users), Probability::new("failure", 1e-9).unwrap());
        let estimates = protocol.estimate(&tally, confidence());
        for (estimate, count) in estimates.iter().zip(counts) {
            assert!((estimate.value - count).abs() <= band);
            assert!(7.0 * estimate.standard_error < 1.2 * band);
        }
    }

    #[test]
    fn a_collection_that_is_still_running_is_estimated_so_far() {
        let protocol = protocol(8, 1, 1.0);
        let mut tally = Tally::new(&protocol);
        assert!(protocol.estimate(&tally, confidence()).is_empty());
        for period in 1..=3 {
            tally.absorb(&protocol, &vec![protocol.message(period, NULL); 100]);
        }
        let estimates = protocol.estimate(&tally, confidence());
        assert_eq!(estimates.len(), 3);
        let error = protocol.standard_error_at(100.0, 3);
        assert!((estimates[2].standard_error / error - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_dropped_epoch_leaves_out_the_periods_that_need_it() {
        let protocol = protocol(8, 1, 1.0);
        // Period 4, epoch 3, ends the node of periods 1 to 4, which 4 to 7 are counted with.
        let released: Vec<u64> = (0..8).filter(|epoch| *epoch != 3).collect();
        let told: Vec<usize> =
            (1..=8).filter(|period| protocol.is_complete(period - 1, &released)).collect();
        assert_eq!(told, [1, 2, 3, 8]);
        let all: Vec<u64> = (0..8).collect();
        assert!((0..8).all(|place| protocol.is_complete(place, &all)));
        assert!(!protocol.is_complete(1, &[0]));
    }

    #[test]
    fn nonsense_is_refused() {
        let ours = protocol(4, 2, 1.0);
        let half = Threshold::at_least(Probability::new("keep", 0.5).unwrap());
        assert!(Longitudinal::new(4, 2, half).is_err());
        assert!(Longitudinal::new(6, 2, ours.keep).is_err());
        assert!(Longitudinal::new(4, 0, ours.keep).is_err());
        assert!(Longitudinal::local(4, 1, Epsilon::ZERO).is_err());
        let mut report = Vec::new();
        assert!(ours.encode(&[true; 3], &mut rng(1), &mut report).is_err() && report.is_empty());
        // An answer for a node of level 1 in period 1, period 5 of 4, two words.
        let mut cells = vec![0; ours.cells()];
        assert!(ours.absorb(&[ours.message(1, answer(1, 1))], &mut cells).is_err());
        assert!(ours.absorb(&[ours.message(5, NULL)], &mut cells).is_err());
        assert!(ours.absorb(&[0, 0], &mut cells).is_err());
        assert!(cells.iter().all(|&cell| cell == 0));
        let start = Follower::new(&ours, &mut rng(1)).to_words();
        for (place, bad) in [(0, 3), (1, 0), (1, 3), (2, 1), (3, 1), (4, 2), (5, 1), (6, 5)] {
            let mut words = start;
            words[place] = bad;
            assert!(Follower::from_words(&ours, words).is_err(), "{place}");
        }
    }
}
