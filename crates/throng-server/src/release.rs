//! The step from the counts of a batch to a release.

use crate::Error;
use crate::ledger::Entry;
use throng_account::Probability;
use throng_collection::{BatchGuarantee, Budget, Influence, Release, Subjects};
use throng_mechanism::Tally;
use throng_wire::{BatchId, Loss};

/// The counts of one batch.
pub struct BatchCounts {
    /// The batch.
    pub batch: BatchId,
    /// The number of distinct valid reports.
    pub reports: u64,
    /// The records that each mix left out, in the order of the chain, and then the analyzer.
    pub losses: Vec<Loss>,
    /// The tally of the batch, or of all epochs so far where estimates are about all of them.
    pub tally: Tally,
    /// The number of messages of this batch that no client would have sent.
    pub nonsense: u64,
}

impl BatchCounts {
    /// Makes the release. `entry` is its entry in the ledger, and `epochs` are those in the tally.
    pub fn release(
        self,
        subjects: &Subjects,
        entry: &Entry,
        epochs: &[u64],
    ) -> Result<Release, Error> {
        let collection = subjects.collection();
        let terms = &collection.terms;
        let confidence = Probability::new("confidence", CONFIDENCE)?;
        let Entry { first, last, total, hash, .. } = *entry;
        Ok(Release {
            collection: collection.id(),
            first,
            last,
            reports: self.reports,
            confidence,
            estimates: subjects.answers(&self.tally, epochs, confidence),
            guarantee: BatchGuarantee::of(terms, self.reports, last - first + 1)?,
            spent: Budget::of(terms, total),
            influence: Influence::of(terms, self.reports, &self.tally),
            losses: self.losses,
            nonsense: self.nonsense,
            batch: self.batch,
            ledger: hash,
        })
    }
}

/// The probability with which an interval contains the truth.
const CONFIDENCE: f64 = 0.95;
