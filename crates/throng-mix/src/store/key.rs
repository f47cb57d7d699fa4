//! The tables and the names under which a server keeps things.

use throng_wire::{BatchId, CollectionId};

/// The tables of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// The slots: the stage of each range of epochs.
    Slots,
    /// The manifests of batches that were taken: evidence, should there ever be others.
    Taken,
    /// The first other manifest for the same epochs.
    Accused,
    /// The windows whose keys are destroyed.
    Destroyed,
    /// The directories that were signed.
    Directories,
    /// The notices of a board's rounds, one for each, with the analyzer's signature.
    Notices,
    /// The first other notice of a round.
    Contradicted,
    /// The signatures of mixes under notices.
    Countersignatures,
    /// The entries of the ledger.
    Ledger,
    /// The releases.
    Releases,
    /// The tallies that later releases go on from.
    Tallies,
    /// The lead of the wall clock over the steady one when it was last believed.
    Clock,
    /// A row that is written to find out whether the disk takes rows.
    Probe,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 13] = [
        Self::Slots,
        Self::Taken,
        Self::Accused,
        Self::Destroyed,
        Self::Directories,
        Self::Notices,
        Self::Contradicted,
        Self::Countersignatures,
        Self::Ledger,
        Self::Releases,
        Self::Tallies,
        Self::Clock,
        Self::Probe,
    ];

    /// A stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Taken => "taken",
            Self::Accused => "accused",
            // Once it held the first window whose keys are not destroyed, which reads the same.
            Self::Destroyed => "live",
            Self::Directories => "directories",
            Self::Notices => "notices",
            Self::Contradicted => "contradicted",
            Self::Countersignatures => "countersignatures",
            Self::Ledger => "ledger",
            Self::Releases => "releases",
            Self::Tallies => "tallies",
            Self::Clock => "clock",
            Self::Probe => "probe",
        }
    }
}

/// The key of a row: a collection, perhaps an epoch of it, perhaps a hop. The default key is empty.
///
/// ```
/// use throng_mix::store::RowKey;
/// use throng_wire::CollectionId;
///
/// let id = CollectionId::new([0xab; 32]);
/// assert_eq!(RowKey::at(id, 7).epoch(), Some(7));
/// assert_eq!(RowKey::signed(id, 7, 2).hop(), Some(2));
/// // The keys of a collection follow one another in the order of its epochs.
/// assert!(RowKey::at(id, 7) < RowKey::at(id, 10));
/// assert!(RowKey::at(id, 10).as_str().starts_with(RowKey::all(id).as_str()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(String);

impl RowKey {
    /// The row of a whole collection.
    pub fn of(collection: CollectionId) -> Self {
        Self(collection.to_string())
    }

    /// The row of an epoch, a slot that begins with it, or a round.
    pub fn at(collection: CollectionId, epoch: u64) -> Self {
        Self(format!("{collection}/{epoch:020}"))
    }

    /// The row of a party's signature in a round.
    pub fn signed(collection: CollectionId, round: u64, hop: u8) -> Self {
        Self(format!("{collection}/{round:020}/{hop:03}"))
    }

    /// The common beginning of all keys of a collection that have an epoch.
    pub fn all(collection: CollectionId) -> Self {
        Self(format!("{collection}/"))
    }

    /// A key as it was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text under which it is stored: ASCII, ordered like the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The epoch, if the key has one.
    pub fn epoch(&self) -> Option<u64> {
        self.0.split('/').nth(1)?.parse().ok()
    }

    /// The hop, if the key has one.
    pub fn hop(&self) -> Option<u8> {
        self.0.split('/').nth(2)?.parse().ok()
    }
}

/// The names of blobs.
pub mod blob {
    use super::{BatchId, CollectionId};

    /// A batch that came in. It is named by its content, so that two batches for the same epochs
    /// never touch each other.
    pub fn input(collection: CollectionId, batch: BatchId) -> String {
        format!("{}{batch}.in", passing(collection))
    }

    /// The batch that a mix made of the slot that begins with this epoch.
    pub fn output(collection: CollectionId, first: u64) -> String {
        format!("{}{first}.out", passing(collection))
    }

    /// The hashes of the records of a slot, for others of its window.
    pub fn spent(collection: CollectionId, first: u64) -> String {
        format!("{}{first}.spent", passing(collection))
    }

    /// The common beginning of the names above: blobs that are removed when nobody needs them any
    /// more.
    pub fn passing(collection: CollectionId) -> String {
        format!("{collection}-")
    }

    /// The newest hash of the ledger.
    pub fn head(collection: CollectionId) -> String {
        format!("{collection}.head")
    }

    /// The messages of a round of a board.
    pub fn bag(collection: CollectionId, round: u64) -> String {
        format!("{collection}.bag-{round}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A bag is kept for good; a name among those that are swept would lose it.
    #[test]
    fn blobs_that_stay_are_not_among_those_that_pass() {
        let id = CollectionId::new([3; 32]);
        let passing = blob::passing(id);
        assert!(blob::input(id, BatchId([1; 32])).starts_with(&passing));
        assert!(blob::output(id, 4).starts_with(&passing));
        assert!(blob::spent(id, 4).starts_with(&passing));
        assert!(!blob::head(id).starts_with(&passing));
        assert!(!blob::bag(id, 4).starts_with(&passing));
    }

    #[test]
    fn every_table_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = Table::ALL.map(Table::name).into();
        assert_eq!(names.len(), Table::ALL.len());
    }
}
