//! A mix's word on a bulletin: that it saw one for a round, and which.
//!
//! The analyzer of a board could show each participant another bag. Participants therefore want the
//! signature of every mix, and a mix gives it to the first notice of a round and to no other.

use crate::store::Table;
use crate::{Error, Mix, Stage, lock};
use throng_wire::Notice;

impl Mix {
    /// Signs the analyzer's notice of a round, if it can be one of the batch that left here for it,
    /// and keeps it before anyone sees the signature. The same notice gets the same signature;
    /// another one of the same round is refused, and kept as evidence. Only boards have notices,
    /// which is for the caller to know.
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
        let course = &self.course;
        let analyzer = &course.route.chain.analyzer;
        if !notice.cosigned(&analyzer.identity, analyzer_signature) {
            let party = analyzer.name.clone();
            return Err(Error::Notice(throng_wire::Error::Signature { what: "notice", party }));
        }
        if notice.collection != course.id {
            return Err(foreign("collection"));
        }
        let _one = lock(&self.signing);
        let (key, row) = (course.key(notice.round), statement(notice, analyzer_signature));
        match course.store.rows.get(Table::Notices, &key)? {
            Some(kept) if kept == row => {}
            Some(_) => {
                // Together with the notice that was signed, this one convicts the analyzer. One is
                // enough.
                course.store.rows.put_new(Table::Contradicted, &key, &row)?;
                return Err(Error::Conflict);
            }
            None => {
                self.check(notice)?;
                course.store.rows.put(Table::Notices, &key, &row)?;
            }
        }
        Ok(notice.cosign(&course.identity))
    }

    /// Refuses a notice that cannot be one of a batch that left here.
    fn check(&self, notice: &Notice) -> Result<(), Error> {
        let course = &self.course;
        let (shape, quorum) = (&course.route.shape, course.route.quorum);
        if notice.payload != shape.payload {
            return Err(foreign("payload"));
        }
        course.settle()?;
        let slot = course.slot(notice.round).map_err(|_| foreign("round"))?;
        // The batch that left here, or is ready to.
        let (Stage::Sealed(batch) | Stage::Delivered { manifest: batch, .. }) = &slot.stage else {
            return Err(foreign("round"));
        };
        if slot.last != notice.round {
            return Err(foreign("round"));
        }
        let records = batch.unverified().records;
        let least = notice.reports.checked_mul(shape.messages.into());
        let fits = least.is_some_and(|least| (least..=records).contains(&notice.messages));
        if notice.reports < quorum || !fits {
            return Err(foreign("batch"));
        }
        Ok(())
    }
}

/// The bytes of a notice and the analyzer's signature, which a mix is asked to sign and keeps.
pub fn statement(notice: &Notice, analyzer_signature: &[u8; 64]) -> Vec<u8> {
    [&notice.encode()[..], analyzer_signature].concat()
}

/// Reads the bytes that [`statement`] wrote.
pub fn read_statement(bytes: &[u8]) -> Result<(Notice, [u8; 64]), throng_wire::Error> {
    let (notice, signature) = bytes
        .split_last_chunk()
        .ok_or(throng_wire::Error::Malformed { expected: "a signature" })?;
    Ok((Notice::decode(notice)?, *signature))
}

fn foreign(scope: &'static str) -> Error {
    Error::Notice(throng_wire::Error::Foreign { what: "notice", scope })
}
