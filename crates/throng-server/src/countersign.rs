//! What a mix says of a bulletin: that it saw one for a round, and which.
//!
//! The analyzer of a board could show each participant another bag. Participants therefore want the
//! signature of every mix, and a mix gives it to the first notice of a round and to no other.

use crate::slots::{Slot, Stage};
use crate::store::{Change, Store, StoreError};
use crate::{Error, Mix};
use std::sync::PoisonError;
use throng_wire::{Notice, SignedManifest};

impl<S: Store> Mix<S> {
    /// Signs the analyzer's notice of a round, if it can be one of the batch that left here for it, and
    /// keeps it before anyone sees the signature. The same notice gets the same signature; another one
    /// of the same round is refused, and kept as evidence. Only boards have notices, which is for the
    /// caller to know.
    ///
    /// ```text
    /// the analyzer signed it; collection and payload are this board's
    /// a batch for exactly this round left here, or is ready to
    /// quorum ≤ reports,   reports · messages of a report ≤ messages ≤ records of that batch
    /// ```
    pub fn countersign(
        &self,
        notice: &Notice,
        analyzer_signature: &[u8; 64],
    ) -> Result<[u8; 64], Error> {
        let hop = &self.hop;
        let analyzer = &hop.route.chain.analyzer;
        if !notice.cosigned(&analyzer.identity, analyzer_signature) {
            let party = analyzer.name.clone();
            return Err(Error::Notice(throng_wire::Error::Signature { what: "notice", party }));
        }
        if notice.collection != hop.id {
            return Err(foreign("collection"));
        }
        let _one = self.signing.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, row) = (hop.key(notice.round), statement(notice, analyzer_signature));
        match self.kept(NOTICES, &key)? {
            Some(kept) if kept == row => {}
            Some(_) => {
                // With the one that was signed it convicts the analyzer, once.
                if self.kept(CONTRADICTED, &key)?.is_none() {
                    hop.store.commit(&[Change::Put {
                        table: CONTRADICTED,
                        key: &key,
                        value: &row,
                    }])?;
                }
                return Err(Error::Conflict);
            }
            None => {
                self.check(notice)?;
                hop.store.commit(&[Change::Put { table: NOTICES, key: &key, value: &row }])?;
            }
        }
        Ok(notice.cosign(&hop.identity))
    }

    /// Whether a notice can be one of what left here.
    fn check(&self, notice: &Notice) -> Result<(), Error> {
        let hop = &self.hop;
        let (shape, quorum) = (&hop.route.shape, hop.route.quorum);
        if notice.payload != shape.payload {
            return Err(foreign("payload"));
        }
        hop.settle()?;
        let slot = hop.slot(notice.round).map_err(|_| foreign("round"))?;
        let batch = left(&slot).filter(|_| slot.last == notice.round);
        let records = batch.ok_or(foreign("round"))?.unverified().records;
        let least = notice.reports.checked_mul(shape.messages.into());
        let fits = least.is_some_and(|least| (least..=records).contains(&notice.messages));
        if notice.reports < quorum || !fits {
            return Err(foreign("batch"));
        }
        Ok(())
    }

    fn kept(&self, table: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.hop.store.rows(table, key)?;
        Ok(rows.into_iter().find(|(found, _)| found == key).map(|(_, row)| row))
    }
}

/// A notice and the analyzer's signature: what a mix is asked to sign, and what is kept of it.
pub(crate) fn statement(notice: &Notice, analyzer_signature: &[u8; 64]) -> Vec<u8> {
    [&notice.encode()[..], analyzer_signature].concat()
}

/// What [`statement`] wrote.
pub(crate) fn read_statement(bytes: &[u8]) -> Result<(Notice, [u8; 64]), throng_wire::Error> {
    let (notice, signature) = bytes
        .split_last_chunk()
        .ok_or(throng_wire::Error::Malformed { expected: "a signature" })?;
    Ok((Notice::decode(notice)?, *signature))
}

/// The batch that left a mix with a slot, or is ready to.
fn left(slot: &Slot) -> Option<&SignedManifest> {
    match &slot.stage {
        Stage::Sealed(manifest) | Stage::Delivered { manifest, .. } => Some(manifest),
        _ => None,
    }
}

fn foreign(scope: &'static str) -> Error {
    Error::Notice(throng_wire::Error::Foreign { what: "notice", scope })
}

/// Notices with the analyzer's signature, one for each round, at whoever signed them too.
pub(crate) const NOTICES: &str = "notices";

/// The first other notice of a round.
const CONTRADICTED: &str = "contradicted";
