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
/// let slot = Slot::new(3, 4, None, Stage::Closing);
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
    /// True once everything is gone that is not needed at its stage.
    pub shredded: bool,
    /// A mix's word to the next party that the slot is dropped for too few reports, once signed.
    pub word: Option<Word>,
}

/// A mix's word that a slot is dropped: an empty manifest, on its way to the next party.
///
/// ```
/// use throng_mix::{Slot, Stage, Why, Word};
/// use throng_wire::{Manifest, SignedManifest, example};
///
/// let [mix, _] = example::identities();
/// let manifest = Manifest::empty(example::manifest().collection, 3..=3, 1, 49, [0; 32]);
/// let stage = Stage::Dropped { why: Why::Short, reports: 17 };
/// let word = Some(Word::Waiting(SignedManifest::sign(manifest, &mix)));
/// let slot = Slot { word, ..Slot::new(3, 3, None, stage) };
/// assert_eq!(Slot::from_row(&slot.to_row())?, slot);
/// # Ok::<(), throng_mix::store::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// It is on disk and waits to be taken. There will never be another manifest for these epochs.
    Waiting(SignedManifest),
    /// The next party has signed for it.
    Taken {
        /// The word.
        manifest: SignedManifest,
        /// The signature.
        receipt: Receipt,
    },
    /// The next party did not take it in time, and no longer waits for these epochs.
    Late,
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

    /// True if what the slot is made of, the reports or the batch that came, is still to be read.
    pub fn needs_input(&self) -> bool {
        match self {
            Self::Closing | Self::Held { .. } | Self::Received(_) => true,
            Self::Sealed(_) | Self::Delivered { .. } | Self::Released | Self::Dropped { .. } => {
                false
            }
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
    /// A slot of which nothing is removed yet.
    pub fn new(first: u64, last: u64, input: Option<BatchId>, stage: Stage) -> Self {
        Self { first, last, input, stage, shredded: false, word: None }
    }

    /// True if the next party is to hear that there were too few reports, and has not yet.
    pub fn to_tell(&self) -> bool {
        matches!(self.stage, Stage::Dropped { why: Why::Short, .. }) && self.word.is_none()
    }

    /// True if there may be something on disk that is not needed any more: what it was made of,
    /// once a batch is made of it, and that batch once somebody has signed for it.
    pub fn to_shred(&self) -> bool {
        !self.stage.needs_input() && !self.shredded
    }

    /// The same slot at another stage, at which nothing is removed yet.
    #[must_use]
    pub fn at(&self, stage: Stage) -> Self {
        Self { stage, shredded: false, ..self.clone() }
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
        let mut row = json!({
            "first": self.first,
            "last": self.last,
            "input": self.input.map(|id| id.to_string()),
            "stage": self.stage.name(),
            "manifest": manifest.map(|signed| hex(&signed.encode())),
            "receipt": receipt.map(|receipt| hex(&receipt.encode())),
            "reports": reports,
            "shredded": self.shredded,
        });
        row["word"] = match &self.word {
            None => Value::Null,
            Some(Word::Late) => json!({}),
            Some(Word::Waiting(manifest)) => json!({ "manifest": hex(&manifest.encode()) }),
            Some(Word::Taken { manifest, receipt }) => json!({
                "manifest": hex(&manifest.encode()),
                "receipt": hex(&receipt.encode()),
            }),
        };
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
        // Nothing is gone that is still to be read, whatever a row says.
        let shredded = row["shredded"].as_bool()? && !stage.needs_input();
        // Rows from before there were words have none.
        let word = match &row["word"] {
            Value::Null => None,
            word => Some(Self::parse_word(word)?),
        };
        let slot = Self { first, last, input, stage, shredded, word };
        (first <= last && last < u64::MAX).then_some(slot)
    }

    fn parse_word(row: &Value) -> Option<Word> {
        let bytes = |name: &str| row.get(name).map(|text| unhex(text.as_str()?));
        Some(match (bytes("manifest"), bytes("receipt")) {
            (None, None) => Word::Late,
            (None, Some(_)) => return None,
            (Some(manifest), None) => Word::Waiting(SignedManifest::decode(&manifest?).ok()?),
            (Some(manifest), Some(receipt)) => Word::Taken {
                manifest: SignedManifest::decode(&manifest?).ok()?,
                receipt: Receipt::decode(&receipt?).ok()?,
            },
        })
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
                let waiting = Some(Word::Waiting(signed.clone()));
                let taken = Some(Word::Taken { manifest: signed.clone(), receipt });
                for (input, word) in
                    [(None, None), (input, Some(Word::Late)), (input, waiting), (None, taken)]
                {
                    let slot = Slot { shredded, word, ..Slot::new(3, 5, input, stage.clone()) };
                    // What is still to be read is never taken for gone.
                    let shredded = shredded && !slot.stage.needs_input();
                    assert_eq!(Slot::from_row(&slot.to_row()), Ok(Slot { shredded, ..slot }));
                }
            }
        }
        assert!(Slot::from_row(b"{}").is_err());
    }

    /// Rows were written without a word before a dropped slot was told to the next party.
    #[test]
    fn a_row_without_a_word_is_one_that_nobody_was_told() {
        let slot = Slot::new(3, 5, None, Stage::Dropped { why: Why::Short, reports: 4 });
        let mut row: Value = serde_json::from_slice(&slot.to_row()).unwrap();
        row.as_object_mut().unwrap().remove("word");
        let older = Slot::from_row(row.to_string().as_bytes()).unwrap();
        assert_eq!(older, slot);
        assert!(older.to_tell());
        row["word"] = json!({ "receipt": "00" });
        assert!(Slot::from_row(row.to_string().as_bytes()).is_err());
    }
}
