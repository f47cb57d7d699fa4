//! `selection`: which of several attributes is the commonest; one `bit-sum` per attribute, as in
//! [`Columns`].
//!
//! Replacing a user may change all of its bits.

use crate::counts::binary::floor_of_bits;
use crate::{
    Ask, Bag, Claims, Columns, Error, Estimate, Given, Inquiry, Kind, Law, Parameters, Protocol,
    Question, Setting, Tally, Trace, Value, fits,
};
use rand_core::CryptoRng;
use throng_account::tail::normal_reach;
use throng_account::{Crowd, Epsilon, Probability, Profile};

/// `selection`: a user holds a bit for every column.
///
/// ```
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{Claims, Columns, Protocol, Selection, Tally};
///
/// let selection = Selection::new(Columns::new(2, Threshold::new(1 << 62)?)?);
/// // A hundred reports: column 0 shows 30 ones, column 1 shows 70.
/// let bag = [[0; 70].as_slice(), &[1; 30], &[2; 30], &[3; 70]].concat();
/// let mut tally = Tally::new(&selection);
/// tally.absorb(&selection, &bag);
/// let confidence = Probability::new("confidence", 0.95)?;
/// let estimates = selection.estimate(&tally, confidence);
/// assert_eq!(estimates.iter().map(|e| e.value).collect::<Vec<_>>(), [10.0, 90.0]);
/// assert_eq!(selection.winner(&estimates, confidence).unwrap().contenders, [1]);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection(Columns);

impl Selection {
    /// One column per attribute.
    pub fn new(columns: Columns) -> Self {
        Self(columns)
    }

    /// The columns.
    pub fn columns(&self) -> &Columns {
        &self.0
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "One flipped bit per attribute: all of them change",
        example: "--n 1e4 --lambda 1000 --size 5 --delta 1e-6",
        settings: &[Setting::Flip, Setting::Size("Attributes")],
        profile: |settings, crowd| Columns::claim(settings.flip, crowd, settings.size),
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Columns::read(given).map(Self)
    }

    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let count = ask.question.size()?;
        Columns::fit(count, count, ask).map(Self)
    }
}

/// The column that is the commonest.
///
/// ```
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{Claims, Columns, Estimate, Selection, Winner};
///
/// let selection = Selection::new(Columns::new(3, Threshold::new(1 << 62)?)?);
/// let confidence = Probability::new("confidence", 0.95)?;
/// // Two are too close to tell apart, the third is far behind.
/// let estimates = [90.0, 100.0, 20.0].map(|value| Estimate::normal(value, 10.0, 0.0, confidence));
/// let winner = selection.winner(&estimates, confidence);
/// assert_eq!(winner, Some(Winner { column: 1, contenders: vec![0, 1] }));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Winner {
    /// The column with the largest estimate.
    pub column: usize,
    /// The columns that cannot be ruled out, in ascending order; `column` is one of them.
    pub contenders: Vec<usize>,
}

impl Protocol for Selection {
    type Input = [bool];

    fn messages(&self) -> usize {
        self.0.columns() as usize
    }

    fn encode(
        &self,
        input: &[bool],
        rng: &mut impl CryptoRng,
        report: &mut Bag,
    ) -> Result<(), Error> {
        fits(input.len() == self.messages(), "one bit per column")?;
        self.0.randomize(|column| input[column as usize], rng, report);
        Ok(())
    }

    fn law(&self, input: &[bool]) -> Law {
        self.0.law(|column| input[column as usize])
    }

    fn cells(&self) -> usize {
        2 * self.messages()
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        self.0.estimate(tally, confidence)
    }
}

impl Claims for Selection {
    fn question(&self) -> Question {
        Question::Attributes { count: self.0.columns() }
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Columns::claim(self.0.flip().probability(), crowd, self.0.columns().into())
    }

    fn local_floor(&self) -> Option<Epsilon> {
        floor_of_bits(self.0.flip(), self.0.columns())
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
        self.0.floored(floor, self.0.columns())
    }

    /// The column with the largest estimate, and all that may really be the commonest; `None` if
    /// there are no estimates.
    ///
    /// A column is ruled out when the largest estimate is ahead of it by more than noise explains:
    /// `z·√(SE₁² + SE₂²)` and half a step of the lattice, with the one-sided normal quantile z of
    /// `(1 − confidence)/(d − 1)`. For the truly commonest column to be ruled out, one of the d − 1
    /// others must have got ahead of it by that much through noise alone, so with the stated
    /// confidence it is among the contenders, up to the normal approximation.
    fn winner(&self, estimates: &[Estimate], confidence: Probability) -> Option<Winner> {
        let by_value = |a: &usize, b: &usize| estimates[*a].value.total_cmp(&estimates[*b].value);
        // The first of equals.
        let column = (0..estimates.len()).rev().max_by(by_value)?;
        let others = (estimates.len() - 1).max(1) as f64;
        let z = one_sided_reach((1.0 - confidence.get()) / others);
        let step = 1.0 / self.0.rates().gap;
        let largest = estimates[column];
        let may_be = |other: &Estimate| {
            let error = largest.standard_error.hypot(other.standard_error);
            largest.value - other.value <= z * error + 0.5 * step
        };
        let contenders = (0..estimates.len()).filter(|&other| may_be(&estimates[other])).collect();
        Some(Winner { column, contenders })
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let bits = value.bits(Kind::Attributes).ok()?;
        (bits.len() == self.messages()).then(|| self.0.trace(|column| bits[column as usize]))
    }
}

/// A z with `P[Z > z] ≤ tail` for a standard normal Z.
pub(crate) fn one_sided_reach(tail: f64) -> f64 {
    match Probability::new("confidence", 1.0 - 2.0 * tail) {
        Ok(both_sides) if tail > 1e-10 => normal_reach(both_sides),
        // Too few digits in the complement: P[Z > z] ≤ ½·e^{−z²/2}.
        _ => (-2.0 * (2.0 * tail).ln()).max(0.0).sqrt(),
    }
}
