//! The way of each range of epochs through one server.
//!
//! A slot is a row on disk. It moves by replacing the row, so a server that restarts goes on from
//! where the last row says.

use crate::store::StoreError;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use throng_wire::bytes::unhex_array;
use throng_wire::{BatchId, Receipt, SignedManifest, hex, unhex};

/// A range of epochs that became, or may become, one batch.
///
/// ```
/// use throng_mix::{Slot, Stage, Why};
///
/// let slot = Slot { first: 3, last: 4, input: None, stage: Stage::Closing, shredded: false };
/// let dropped = slot.at(Stage::Dropped { why: Why::Short, reports: 17 });
/// assert!(!slot.to_shred() && dropped.to_shred());
/// assert!(!Slot { shredded: true, ..dropped.clone() }.to_shred());
/// assert_eq!(Slot::from_row(&dropped.to_row())?, dropped);
/// # Ok::<(), throng_mix::store::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The first epoch.
    pub first: u64,
    /// The last epoch.
    pub last: u64,
    /// The batch it was received as; none at the first mix.
    pub input: Option<BatchId>,
    /// The stage it has reached.
    pub stage: Stage,
    /// True once all is decided and what it was made of is gone: nothing more is to be done.
    pub shredded: bool,
}

/// The stages of a slot.
///
/// ```
/// use throng_mix::{Stage, Why};
///
/// assert_eq!(Stage::Held { reports: 17 }.name(), "held");
/// assert_eq!(Stage::Dropped { why: Why::Keys, reports: 17 }.name(), "keys");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The first mix takes no more reports for it, and counts what it has.
    Closing,
    /// There are too few reports, which wait for those of the next epoch.
    Held {
        /// Distinct valid reports so far.
        reports: u64,
    },
    /// The previous mix's batch is on disk.
    Received(SignedManifest),
    /// The permuted batch is on disk. There will never be another one for these epochs.
    Sealed(SignedManifest),
    /// The next party has signed for the batch.
    Delivered {
        /// The batch.
        manifest: SignedManifest,
        /// The signature.
        receipt: Receipt,
    },
    /// The analyzer has published it.
    Released,
    /// The slot is discarded without a release.
    Dropped {
        /// The reason.
        why: Why,
        /// The number of distinct valid reports there were.
        reports: u64,
    },
}

impl Stage {
    /// True if nothing is left to decide.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Closing | Self::Held { .. } | Self::Received(_) | Self::Sealed(_) => false,
            Self::Delivered { .. } | Self::Released | Self::Dropped { .. } => true,
        }
    }

    /// A stable word for JSON; for a dropped slot, the reason.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Closing => "closing",
            Self::Held { .. } => "held",
            Self::Received(_) => "received",
            Self::Sealed(_) => "sealed",
            Self::Delivered { .. } => "delivered",
            Self::Released => "released",
            Self::Dropped { why, .. } => why.name(),
        }
    }
}

/// The reasons why a slot is discarded.
///
/// ```
/// use throng_mix::Why;
///
/// assert_eq!([Why::Short, Why::Budget, Why::Keys].map(Why::name), ["short", "budget", "keys"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// There are fewer distinct valid reports than the crowd needs.
    Short,
    /// The ledger has nothing left to spend.
    Budget,
    /// The keys that open it are gone.
    Keys,
}

impl Why {
    /// A stable word for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Budget => "budget",
            Self::Keys => "keys",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Short, Self::Budget, Self::Keys].into_iter().find(|why| why.name() == name)
    }
}

impl Slot {
    /// True if all is decided and what it was made of can be removed.
    pub fn to_shred(&self) -> bool {
        self.stage.is_final() && !self.shredded
    }

    /// The same slot at another stage.
    #[must_use]
    pub fn at(&self, stage: Stage) -> Self {
        Self { stage, ..self.clone() }
    }

    /// The bytes of its row.
    pub fn to_row(&self) -> Vec<u8> {
        let (manifest, receipt, reports) = match &self.stage {
            Stage::Closing | Stage::Released => (None, None, None),
            Stage::Held { reports } | Stage::Dropped { reports, .. } => {
                (None, None, Some(*reports))
            }
            Stage::Received(manifest) | Stage::Sealed(manifest) => (Some(manifest), None, None),
            Stage::Delivered { manifest, receipt } => (Some(manifest), Some(receipt), None),
        };
        let row = json!({
            "first": self.first,
            "last": self.last,
            "input": self.input.map(|id| id.to_string()),
            "stage": self.stage.name(),
            "manifest": manifest.map(|signed| hex(&signed.encode())),
            "receipt": receipt.map(|receipt| hex(&receipt.encode())),
            "reports": reports,
            "shredded": self.shredded,
        });
        row.to_string().into_bytes()
    }

    /// Reads the bytes that [`Slot::to_row`] wrote.
    pub fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        Self::parse(row).ok_or(StoreError::Corrupt { what: "the row of a slot" })
    }

    fn parse(row: &[u8]) -> Option<Self> {
        let row: Value = serde_json::from_slice(row).ok()?;
        let bytes = |name: &str| unhex(row[name].as_str()?);
        let manifest = || SignedManifest::decode(&bytes("manifest")?).ok();
        let reports = || row["reports"].as_u64();
        let stage = match row["stage"].as_str()? {
            "closing" => Stage::Closing,
            "held" => Stage::Held { reports: reports()? },
            "received" => Stage::Received(manifest()?),
            "sealed" => Stage::Sealed(manifest()?),
            "delivered" => Stage::Delivered {
                manifest: manifest()?,
                receipt: Receipt::decode(&bytes("receipt")?).ok()?,
            },
            "released" => Stage::Released,
            why => Stage::Dropped { why: Why::named(why)?, reports: reports()? },
        };
        let input = match &row["input"] {
            Value::Null => None,
            text => Some(BatchId(unhex_array(text.as_str()?)?)),
        };
        let (first, last) = (row["first"].as_u64()?, row["last"].as_u64()?);
        // Nothing is gone before all is decided, whatever a row says.
        let shredded = row["shredded"].as_bool()? && stage.is_final();
        (first <= last && last < u64::MAX).then_some(Self { first, last, input, stage, shredded })
    }
}

/// All slots of one collection at one server, by their first epoch. No two overlap.
pub type Slots = BTreeMap<u64, Slot>;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::{CollectionId, Identity, Loss, Manifest};

    #[test]
    fn every_stage_survives_its_row() {
        let manifest = Manifest {
            collection: CollectionId::new([1; 32]),
            first: 3,
            last: 5,
            record_bytes: 80,
            records: 3,
            losses: vec![Loss::default()],
            source: [0; 32],
            digest: [0; 32],
        };
        let id = manifest.id();
        let signed = SignedManifest::sign(manifest, &Identity::from_seed(&[4; 32]));
        let input = Some(id);
        let receipt = Receipt::sign(id, 2, &Identity::from_seed(&[5; 32]));
        let dropped = |why| Stage::Dropped { why, reports: 4 };
        for shredded in [false, true] {
            for stage in [
                Stage::Closing,
                Stage::Held { reports: 7 },
                Stage::Received(signed.clone()),
                Stage::Sealed(signed.clone()),
                Stage::Delivered { manifest: signed.clone(), receipt },
                Stage::Released,
                dropped(Why::Short),
                dropped(Why::Budget),
                dropped(Why::Keys),
            ] {
                for input in [None, input] {
                    let slot = Slot { first: 3, last: 5, input, stage: stage.clone(), shredded };
                    // What is undecided is never taken for gone.
                    let shredded = shredded && slot.stage.is_final();
                    assert_eq!(Slot::from_row(&slot.to_row()), Ok(Slot { shredded, ..slot }));
                }
            }
        }
        assert!(Slot::from_row(b"{}").is_err());
    }
}
