//! `histogram`: one `bit-sum` per column, every message tagged with its column (Cheu et al.,
//! "Distributed Differential Privacy via Shuffling", 2019, section 6.2). `selection`
//! ([`Selection`](crate::Selection)) has the same columns.
//!
//! A histogram has one column per category, and a user a 1 in one of them: replacing a value
//! changes two columns. In a selection a user may have any bits, and the question is which column
//! has most ones: replacing a user changes all of them.
//!
//! ```text
//! client     y_j = x_j, flipped with probability b, sent as 2j + y_j        for every column j
//! analyzer   (Σy_j − n_j·b)/(1 − 2b)        n_j messages in column j
//!            standard error √(n_j·b(1−b))/(1 − 2b), for every dataset
//! ```

use crate::counts::binary::{flip_of_floor, floor_of_bits, influence_of_bit};
use crate::histograms::rates::Rates;
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, Parameters, Protocol, Question,
    Setting, Tally, Trace, Value, fits, require, sample, with_slots,
};
use rand_core::CryptoRng;
use throng_account::profile::BitSum;
use throng_account::{Crowd, Epsilon, Probability, Profile, Threshold, calibrate};

/// The common part of both: the number of columns, and the coin that flips a bit.
///
/// ```
/// use throng_account::Threshold;
/// use throng_mechanism::Columns;
///
/// // √(n·b(1−b))/(1 − 2b), the same in each of the columns.
/// let columns = Columns::new(5, Threshold::new(1 << 62)?)?;
/// assert!((columns.standard_error(1200.0) - 30.0).abs() < 1e-9);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    columns: u32,
    flip: Threshold,
}

impl Columns {
    /// A row of 1 to 100 000 columns, with a coin below ½.
    pub fn new(columns: u32, flip: Threshold) -> Result<Self, Error> {
        require((1..=MAX_COLUMNS).contains(&columns), "columns", "from 1 to 100000")?;
        require(flip.get() < 1 << 63, "flip", "below one half")?;
        Ok(Self { columns, flip })
    }

    /// Columns, and messages in every report.
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// The coin.
    pub fn flip(&self) -> Threshold {
        self.flip
    }

    /// Standard error of the estimated count of any column among `reports` users.
    pub fn standard_error(&self, reports: f64) -> f64 {
        self.rates().standard_error(0.0, reports)
    }

    pub(crate) fn rates(&self) -> Rates {
        let b = self.flip.probability();
        Rates { held: 1.0 - b, other: b, gap: 1.0 - 2.0 * b }
    }

    /// Appends a report of these bits.
    pub(crate) fn randomize(
        &self,
        bits: impl Fn(u32) -> bool,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) {
        report.reserve(self.columns as usize);
        for first in (0..self.columns).step_by(64) {
            let flips = sample::coins(self.flip, rng);
            let last = self.columns.min(first + 64);
            report.extend((first..last).map(|column| {
                let flip = flips >> (column - first) & 1;
                2 * u64::from(column) + (u64::from(bits(column)) ^ flip)
            }));
        }
    }

    pub(crate) fn law(&self, bits: impl Fn(u32) -> bool) -> Law {
        let b = self.flip.probability();
        (0..self.columns).fold(Law::from([(Vec::new(), 1.0)]), |law, column| {
            let symbol = 2 * u64::from(column) + u64::from(bits(column));
            with_slots(law, 1, &[(symbol, 1.0 - b), (symbol ^ 1, b)])
        })
    }

    pub(crate) fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let (columns, _) = tally.cells().as_chunks::<2>();
        let supports = columns.iter().map(|[zeros, ones]| (*ones, zeros + ones));
        self.rates().estimates(supports, confidence)
    }

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(given.small("columns")?, given.noise("flip")?)
    }

    /// The least flip that keeps the promise when `changing` of the columns change with one user.
    pub(crate) fn fit(columns: u32, changing: u32, ask: &Ask) -> Result<Self, Error> {
        let found = calibrate::columns(ask.crowd, changing.into(), ask.epsilon, ask.delta)?;
        Self::new(columns, found.coin)
    }

    /// Refuses more columns than messages, as each sends one; no calibration is needed to know.
    pub(crate) fn worth(ask: &Ask) -> Result<(), Error> {
        ask.allows(ask.question.size()?.into())
    }

    /// The profile by the chance of a flip.
    pub(crate) fn claim(flip: f64, crowd: Crowd, changing: u64) -> Result<Box<dyn Profile>, Error> {
        let column = BitSum::with_flip(crowd, flip)?;
        Ok(Box::new(throng_account::profile::Columns::new(column, changing)?))
    }

    /// Flipped bits.
    pub(crate) fn trace(&self, bits: impl Fn(u32) -> bool) -> Trace {
        let truth: Vec<u64> = (0..self.columns)
            .map(|column| 2 * u64::from(column) + u64::from(bits(column)))
            .collect();
        Trace::new(self.columns.into(), self.flip.probability(), move |report| {
            truth.iter().zip(report).filter(|(truth, sent)| truth != sent).count() as u64
        })
    }

    /// Nothing ties a message to its column: all of them may speak for one.
    pub(crate) fn influence(&self) -> f64 {
        f64::from(self.columns) * influence_of_bit(self.flip)
    }

    pub(crate) fn parameters(&self) -> Parameters {
        vec![("columns", vec![self.columns.into()]), ("flip", vec![self.flip.get()])]
    }

    pub(crate) fn floored(&self, floor: Epsilon, changing: u32) -> Option<Parameters> {
        Some(Self { flip: flip_of_floor(floor, changing)?, ..*self }.parameters())
    }
}

/// `histogram`: a user holds one category, counted from 0.
///
/// ```
/// use throng_account::Threshold;
/// use throng_mechanism::{Columns, Histogram, Protocol};
///
/// // A bit for each of three categories, flipped one time in four; column j sends 2j or 2j + 1.
/// let histogram = Histogram::new(Columns::new(3, Threshold::new(1 << 62)?)?);
/// assert_eq!(histogram.messages(), 3);
/// let (held, other) = (histogram.law(&1), histogram.law(&2));
/// let report = vec![0, 3, 4];
/// assert_eq!((held[&report], other[&report]), (27.0 / 64.0, 3.0 / 64.0));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram(Columns);

impl Histogram {
    /// One column per category.
    pub fn new(columns: Columns) -> Self {
        Self(columns)
    }

    /// The columns.
    pub fn columns(&self) -> &Columns {
        &self.0
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "One flipped bit per category: two columns change",
        example: "--n 1e4 --lambda 200 --delta 1e-6",
        settings: &[Setting::Flip, Setting::SizeOrTwo("Categories")],
        profile: |settings, crowd| Columns::claim(settings.flip, crowd, settings.size.min(2)),
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Columns::read(given).map(Self)
    }

    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let size = ask.question.size()?;
        Columns::fit(size, size.min(2), ask).map(Self)
    }
}

impl Protocol for Histogram {
    type Input = u32;

    fn messages(&self) -> usize {
        self.0.columns as usize
    }

    fn encode(&self, input: &u32, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        fits(*input < self.0.columns, "one of the categories, counted from 0")?;
        self.0.randomize(|column| column == *input, rng, report);
        Ok(())
    }

    fn law(&self, input: &u32) -> Law {
        self.0.law(|column| column == *input)
    }

    fn cells(&self) -> usize {
        2 * self.messages()
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        self.0.estimate(tally, confidence)
    }
}

impl Claims for Histogram {
    fn question(&self) -> Question {
        Question::Category { size: self.0.columns }
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Columns::claim(self.0.flip.probability(), crowd, self.0.columns.min(2).into())
    }

    fn local_floor(&self) -> Option<Epsilon> {
        floor_of_bits(self.0.flip, 2)
    }

    fn standard_error(&self, reports: f64) -> f64 {
        self.0.standard_error(reports)
    }

    fn influence(&self) -> f64 {
        self.0.influence()
    }

    fn parameters(&self) -> Parameters {
        self.0.parameters()
    }

    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        self.0.floored(floor, 2)
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let category = value.category().ok()?;
        Some(self.0.trace(|column| column == category))
    }
}

const MAX_COLUMNS: u32 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::selection::one_sided_reach;
    use crate::testing::Planted;
    use crate::testing::{
        OneByOne, assert_inverse, assert_sampled, assert_view, confidence, hockey_stick, rng,
    };
    use crate::{Selection, Winner};

    fn columns(columns: u32, flip: f64) -> Columns {
        let flip = Probability::new("flip", flip).unwrap();
        Columns::new(columns, Threshold::at_least(flip)).unwrap()
    }

    fn profile(crowd: u64, flip: f64, changing: u64) -> impl Profile {
        let column = BitSum::with_flip(Crowd::new(crowd).unwrap(), flip).unwrap();
        throng_account::profile::Columns::new(column, changing).unwrap()
    }

    /// All rows of `length` bits.
    fn rows(length: u32) -> Vec<Vec<bool>> {
        (0..1 << length).map(|row: u32| (0..length).map(|j| row >> j & 1 == 1).collect()).collect()
    }

    #[test]
    fn the_bag_shows_what_the_accountant_says() {
        for flip in [0.05, 0.25, 0.4] {
            let three = Histogram::new(columns(3, flip));
            assert_view(&three, &[&0, &1, &2], 3, &profile(3, flip, 2));
            for (d, crowd) in [(2, 3), (3, 2)] {
                let (m, rows) = (Selection::new(columns(d, flip)), rows(d));
                let inputs: Vec<&[bool]> = rows.iter().map(Vec::as_slice).collect();
                assert_view(&m, &inputs, crowd, &profile(crowd as u64, flip, d.into()));
            }
        }
    }

    /// Tests 42 laws at 1e-9 each.
    #[test]
    fn the_sampler_follows_the_law() {
        for flip in [0.001, 0.2, 0.49] {
            for d in [1, 2, 3] {
                let m = columns(d, flip);
                (0..d).for_each(|input| assert_sampled(&Histogram::new(m), &input));
                for row in rows(d) {
                    assert_sampled(&Selection::new(m), &row);
                }
            }
        }
    }

    // More columns than one draw of 64 coins covers.
    #[test]
    fn every_column_gets_its_own_bit_and_tag() {
        let m = Selection::new(columns(150, 1e-18));
        let row: Vec<bool> = (0..150).map(|j| j % 3 == 0).collect();
        let mut report = Vec::new();
        m.encode(&row, &mut rng(0), &mut report).unwrap();
        let expected = (0_u64..).zip(&row).map(|(j, &bit)| 2 * j + u64::from(bit));
        assert!(report.iter().copied().eq(expected));
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for flip in [0.001, 0.2, 0.49] {
            for d in [1, 2, 3] {
                let m = columns(d, flip);
                for row in rows(d) {
                    let truth: Vec<f64> = row.iter().map(|&bit| f64::from(u8::from(bit))).collect();
                    assert_inverse(&Selection::new(m), &row, &truth);
                    if row.iter().filter(|&&bit| bit).count() == 1 {
                        let category = row.iter().position(|&bit| bit).unwrap() as u32;
                        assert_inverse(&Histogram::new(m), &category, &truth);
                    }
                }
            }
        }
    }

    /// The law of the count of ones in a column that `holders` of `n` users hold.
    fn column_law(n: usize, holders: usize, flip: f64) -> Vec<f64> {
        let mut law = vec![1.0];
        for user in 0..n {
            let one = if user < holders { 1.0 - flip } else { flip };
            law.push(0.0);
            for k in (0..law.len()).rev() {
                let below = if k == 0 { 0.0 } else { law[k - 1] };
                law[k] = law[k] * (1.0 - one) + below * one;
            }
        }
        law
    }

    // Three columns, the first the commonest by nothing or a little: it is ruled out no more often
    // than stated, by enumeration.
    #[test]
    fn the_commonest_column_is_among_the_contenders() {
        let (n, flip) = (40, 0.25);
        let m = Selection::new(columns(3, flip));
        let rates = m.columns().rates();
        for holders in [[20, 20, 20], [20, 19, 3], [40, 40, 40], [0, 0, 0]] {
            let laws = holders.map(|holders| column_law(n, holders, flip));
            for level in [0.6, 0.9, 0.99] {
                let level = Probability::new("confidence", level).unwrap();
                let at: Vec<Estimate> =
                    (0..=n).map(|ones| rates.estimate(ones as f64, n as f64, level)).collect();
                let mut missed = 0.0;
                for (a, p) in laws[0].iter().enumerate() {
                    for (b, q) in laws[1].iter().enumerate() {
                        for (c, r) in laws[2].iter().enumerate() {
                            let estimates = [a, b, c].map(|ones| at[ones]);
                            let winner = m.winner(&estimates, level).unwrap();
                            assert!(winner.contenders.contains(&winner.column));
                            let found = winner.contenders.contains(&0);
                            missed += if found { 0.0 } else { p * q * r };
                        }
                    }
                }
                assert!(missed <= 1.0 - level.get(), "{holders:?}: {missed} at {level:?}");
            }
        }
    }

    #[test]
    fn contenders_are_those_within_noise_of_the_largest() {
        let m = Selection::new(columns(4, 0.25));
        let at = |value| Estimate::normal(value, 10.0, 2.0, confidence());
        // z = 2.128 for 5 % over three comparisons; √2·10·z + 1 = 31.1.
        let values = [70.0, 100.0, 68.0, 100.0].map(at);
        let winner = m.winner(&values, confidence()).unwrap();
        assert_eq!(winner, Winner { column: 1, contenders: vec![0, 1, 3] });
        assert_eq!(m.winner(&[], confidence()), None);
        assert_eq!(m.winner(&values[..1], confidence()).unwrap().contenders, [0]);
        for (tail, z) in [(0.025, 1.959964), (0.5, 0.0), (0.9, 0.0), (1e-9, 5.9978)] {
            assert!((one_sided_reach(tail) - z).abs() < 1e-4);
        }
        // The true quantile of 1e-20 is 9.2623.
        assert!((9.2623..9.6).contains(&one_sided_reach(1e-20)));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Columns::new(0, columns(1, 0.2).flip()).is_err());
        assert!(Columns::new(2, Threshold::at_least(Probability::new("b", 0.5).unwrap())).is_err());
        let (mut report, m) = (Vec::new(), columns(3, 0.2));
        assert!(Histogram::new(m).encode(&3, &mut rng(0), &mut report).is_err());
        assert!(Selection::new(m).encode(&[true; 2], &mut rng(0), &mut report).is_err());
        assert!(Selection::new(m).encode(&[true; 4], &mut rng(0), &mut report).is_err());
        assert!(report.is_empty());
        let cells = &mut [0; 6];
        for message in [&[6][..], &[], &[0, 1], &[u64::MAX]] {
            assert!(Histogram::new(m).absorb(message, cells).is_err());
        }
        assert_eq!(*cells, [0; 6]);
    }

    // One column of the two that change is what a histogram seems to show of its user.
    #[test]
    #[should_panic(expected = "ε = ")]
    fn a_histogram_accounted_for_as_one_column_is_noticed() {
        let m = Histogram::new(columns(3, 0.25));
        assert_view(&m, &[&0, &1, &2], 3, &profile(3, 0.25, 1));
    }

    #[test]
    #[should_panic(expected = "tail")]
    fn a_coin_shared_by_two_columns_is_noticed() {
        let honest = Histogram::new(columns(3, 0.25));
        let planted = Planted::sampler(&honest, |_, report| {
            // Neither of the first two columns holds the value: their flips are copies.
            report[1] = 2 + report[0] % 2;
        });
        assert_sampled(&planted, &2);
    }

    #[test]
    #[should_panic(expected = "for 0")]
    fn an_estimate_with_another_flip_is_noticed() {
        let honest = Histogram::new(columns(2, 0.25));
        assert_inverse(&Planted::analyzer(&honest, |e| e.value -= 0.01), &1, &[0.0, 1.0]);
    }

    #[test]
    fn one_report_alone_shows_the_odds_of_its_changing_columns() {
        let m = Histogram::new(columns(4, 0.25));
        let local = Epsilon::new(2.0 * 3_f64.ln() * (1.0 + 1e-12)).unwrap();
        let less = Epsilon::new(2.0 * 3_f64.ln() * 0.999).unwrap();
        assert!(hockey_stick(&m.law(&0), &m.law(&3), local) < 1e-12);
        assert!(hockey_stick(&m.law(&0), &m.law(&3), less) > 1e-5);
    }
}
