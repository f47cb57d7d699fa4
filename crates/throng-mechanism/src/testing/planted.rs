//! Deliberately wrong variants of a protocol, to see that the checks catch them.

use crate::testing::sorted;
use crate::{Bag, Error, Estimate, Law, Protocol, Tally};
use rand_core::CryptoRng;
use throng_account::Probability;

/// A protocol with one step changed: what happens to a report after it is drawn, what the law says
/// happens to it, and what happens to an estimate.
pub(crate) struct Planted<'a, P: Protocol> {
    pub(crate) honest: &'a P,
    pub(crate) sampler: fn(&P::Input, &mut [u64]),
    pub(crate) law: fn(&P::Input, &mut [u64]),
    pub(crate) estimate: fn(&mut Estimate),
}

impl<'a, P: Protocol> Planted<'a, P> {
    /// The protocol with nothing changed yet.
    pub(crate) fn new(honest: &'a P) -> Self {
        Self { honest, sampler: |_, _| {}, law: |_, _| {}, estimate: |_| {} }
    }

    /// The protocol with clients that do this to their reports, which the law does not say.
    pub(crate) fn sampler(honest: &'a P, change: fn(&P::Input, &mut [u64])) -> Self {
        Self { sampler: change, ..Self::new(honest) }
    }

    /// The protocol with clients that do this to their reports, as the law says.
    pub(crate) fn client(honest: &'a P, change: fn(&P::Input, &mut [u64])) -> Self {
        Self { sampler: change, law: change, ..Self::new(honest) }
    }

    /// The protocol with an analyzer that does this to its estimates.
    pub(crate) fn analyzer(honest: &'a P, change: fn(&mut Estimate)) -> Self {
        Self { estimate: change, ..Self::new(honest) }
    }
}

impl<P: Protocol> Protocol for Planted<'_, P> {
    type Input = P::Input;

    fn messages(&self) -> usize {
        self.honest.messages()
    }

    fn words(&self) -> usize {
        self.honest.words()
    }

    fn encode(
        &self,
        input: &P::Input,
        rng: &mut impl CryptoRng,
        report: &mut Bag,
    ) -> Result<(), Error> {
        let start = report.len();
        self.honest.encode(input, rng, report)?;
        (self.sampler)(input, &mut report[start..]);
        Ok(())
    }

    fn law(&self, input: &P::Input) -> Law {
        let mut law = Law::new();
        for (mut report, p) in self.honest.law(input) {
            (self.law)(input, &mut report);
            *law.entry(sorted(&report, self.words())).or_insert(0.0) += p;
        }
        law
    }

    fn cells(&self) -> usize {
        self.honest.cells()
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        self.honest.absorb_batch(messages, cells)
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let mut estimates = self.honest.estimate(tally, confidence);
        estimates.iter_mut().for_each(self.estimate);
        estimates
    }
}
