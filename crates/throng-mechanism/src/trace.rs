//! The traces that noise leaves in one report, and how often they must be there.
//!
//! An audit that only tells worlds apart cannot see a client whose noise is too rare as long as the
//! accountant's bound is looser than the truth. But the bound was computed from the integers of the
//! sampler, so a client that does not follow them contradicts the claim too. A trace is an event in
//! a single report whose probability those integers say exactly: the audit counts it.

/// A number of independent coins in one report, each of which shows noise with the same chance.
///
/// ```
/// use throng_account::Threshold;
/// use throng_mechanism::{Claims, CoinCount, Value};
///
/// // Three slots, each of which holds a coin with chance ¼. Null is symbol 2.
/// let count = CoinCount::new(3, Threshold::new(1 << 62)?)?;
/// let trace = count.trace(Value::Bit(true)).unwrap();
/// assert_eq!((trace.trials, trace.chance), (3, 0.25));
/// assert_eq!(trace.count(&[1, 2, 0, 1]), 2);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
pub struct Trace {
    /// The number of coins in a report.
    pub trials: u64,
    /// The probability with which each of them shows noise.
    pub chance: f64,
    count: Count,
}

/// The number of coins of a report that show noise.
type Count = Box<dyn Fn(&[u64]) -> u64 + Send + Sync>;

impl Trace {
    /// The trace that is counted so in a report, as the client appended it.
    pub fn new(
        trials: u64,
        chance: f64,
        count: impl Fn(&[u64]) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { trials, chance, count: Box::new(count) }
    }

    /// The number of coins that show noise in a report, of the client's words in its own order.
    pub fn count(&self, report: &[u64]) -> u64 {
        (self.count)(report).min(self.trials)
    }

    /// Messages after the first `truths` that are not `null`: slots with noise in them.
    pub(crate) fn slots(slots: u64, chance: f64, truths: usize, null: u64) -> Self {
        Self::new(slots, chance, move |report| {
            report.iter().skip(truths).filter(|symbol| **symbol != null).count() as u64
        })
    }

    /// Whether a report is anything but `truth`.
    pub(crate) fn other_than(truth: u64, chance: f64) -> Self {
        Self::new(1, chance, move |report| u64::from(report != [truth]))
    }
}
