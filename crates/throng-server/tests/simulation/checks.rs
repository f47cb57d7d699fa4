//! What must hold at all times: properties (b), (c), (d), (f), (g), (h) and (i).

use super::clients::FORGED;
use super::{CATEGORIES, Event, Kind, Release, Role, World};
use crate::common::counts;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use throng_mix::store::{RowKey, Store, Table, blob};
use throng_mix::{Stage, read_statement};
use throng_wire::{Binding, LAYER, Loss, Manifest, Opener, Receipt, SignedManifest};

impl World {
    pub fn check(&mut self) {
        for party in 0..self.network.nodes.len() {
            self.check_keys(party);
        }
        self.check_published();
    }

    /// Checks (i).
    fn check_keys(&mut self, party: usize) {
        let node = &self.network.nodes[party];
        let Some(role) = &node.role else { return };
        let (hop, keyring) = (node.hop, role.keyring());
        for window in keyring.windows() {
            if let Some(secret) = keyring.secret(window) {
                assert!(!self.destroyed.contains(&(hop, window)), "destroyed keys came back");
                let first = self.secrets.entry((hop, window)).or_insert(secret.clone());
                assert_eq!(first.as_bytes(), secret.as_bytes(), "two keys of hop {hop}");
            }
            if let Ok(signature) = keyring.cosignature(window) {
                let first = self.cosignatures.entry((hop, window)).or_insert(signature);
                assert_eq!(*first, signature, "hop {hop} signed two directories");
            }
            if let Ok(signed) = keyring.directory(window) {
                let first = self.directories.entry(window).or_insert_with(|| signed.clone());
                assert_eq!(*first, signed, "two directories");
            }
        }
        let windows = self.secrets.keys().filter(|(h, w)| *h == hop && keyring.is_destroyed(*w));
        self.destroyed.extend(windows.copied().collect::<Vec<_>>());
        let Some(names) = self.look(party, |store| store.secrets.names().unwrap()) else { return };
        for (_, window) in self.destroyed.iter().filter(|(h, _)| *h == hop) {
            let name = format!("{}-{window}", self.network.route.id);
            assert!(!names.contains(&name), "a destroyed key is on the disk of hop {hop}");
        }
    }

    /// Checks (b), (c), (f) and (h).
    fn check_published(&mut self) {
        let last = self.network.nodes.len() - 1;
        if self.network.nodes[last].role.is_none() {
            return;
        }
        let Some(rows) = self.look(last, published) else { return };
        for (key, row) in &self.rows {
            assert_eq!(rows.get(key), Some(row), "what was published stays");
        }
        for (key, row) in &rows {
            if self.rows.contains_key(key) {
                continue;
            }
            match key.split_once('/') {
                Some(("Releases", _)) => self.check_counted(row),
                Some(("Notices", _)) => self.check_posted(row),
                _ => {}
            }
        }
        self.rows = rows;
        self.check_ledger();
    }

    fn check_ledger(&mut self) {
        let Some(Role::Analyzer(analyzer)) = &self.network.nodes.last().unwrap().role else {
            return;
        };
        let entries = self.rows.keys().filter(|key| key.starts_with("Ledger/")).count();
        let releases = self.rows.keys().filter(|key| key.starts_with("Releases/")).count();
        assert_eq!(releases, entries, "one entry per release");
        let ledger = analyzer.ledger();
        // A commit that failed may have happened, and is not known in memory then.
        let known = ledger.len().min(self.ledger.len());
        assert_eq!(ledger[..known], self.ledger[..known], "the ledger only grows");
        assert!(ledger.is_sorted_by(|a, b| a.total <= b.total), "the total never falls");
        if ledger.len() > self.ledger.len() {
            self.ledger = ledger;
        }
    }

    fn check_counted(&mut self, row: &[u8]) {
        let release: Value = serde_json::from_slice(row).unwrap();
        let number = |name: &str| release[name].as_u64().unwrap();
        let counts = counts(&self.network.collection.terms, &release);
        let (last, reports) = (number("last"), number("reports"));
        self.check_release(number("first"), Release { last, counts, reports });
    }

    fn check_posted(&mut self, row: &[u8]) {
        let (notice, _) = read_statement(row).unwrap();
        let (id, round) = (self.network.route.id, notice.round);
        let place = self.network.nodes.len() - 1;
        let bag = |store: &Store| store.blobs.read(&blob::bag(id, round)).unwrap();
        let bag = self.look(place, bag).flatten().expect("the bag of a notice");
        assert_eq!(bag.len() as u64, notice.messages);
        let mut counts = BTreeMap::new();
        for message in bag {
            *counts.entry(message).or_insert(0) += 1;
        }
        let counts = counts.into_iter().collect();
        let release = Release { last: round, counts, reports: notice.reports };
        self.met.count(Event::Notice, 1);
        self.check_release(round, release);
    }

    fn check_release(&mut self, first: u64, release: Release) {
        let reports = release.reports;
        assert!(reports >= self.network.route.quorum, "a release of {reports}");
        assert_eq!(release.counts.iter().map(|(_, count)| count).sum::<u64>(), reports);
        let schedule = &self.network.route.schedule;
        for (id, count) in &release.counts {
            // What the adversary sealed, and what only a board shows.
            if *id == FORGED && self.byzantine || u32::from(*id) >= CATEGORIES {
                continue;
            }
            let known = self.reports.iter().find(|r| r.id == *id && matches!(r.kind, Kind::Valid));
            let report = known.unwrap_or_else(|| panic!("report {id} was never sent"));
            let inside = if self.byzantine {
                schedule.window_of(first) == schedule.window_of(report.epoch)
            } else {
                (first..=release.last).contains(&report.epoch)
            };
            assert!(inside, "report {id} is in another epoch");
            let counted = self.counted.entry(*id).or_default();
            *counted += count;
            assert_eq!(*counted, 1, "report {id} is counted more than once");
        }
        self.releases.insert(first, release);
    }

    /// Checks (c) and (d).
    pub(super) fn check_left(&mut self, hop: u8, first: u64, batch: &[u8]) {
        if let Some(before) = self.left.get(&(hop, first)) {
            assert!(before == batch, "other bytes leave hop {hop} for epoch {first}");
            return;
        }
        let signed = manifest_of(batch).unwrap();
        let (manifest, records) = (signed.unverified(), &batch[signed.encode().len()..]);
        for ((other, _), before) in &self.left {
            let before = manifest_of(before).unwrap();
            let apart = !overlap(manifest, before.unverified());
            assert!(*other != hop || apart, "overlapping batches leave hop {hop}");
        }
        self.left.insert((hop, first), batch.to_vec());
        if manifest.is_empty() {
            self.check_word(hop, &signed, records);
            self.met.count(Event::Word, 1);
            return;
        }
        let records: BTreeSet<&[u8]> = records.chunks(manifest.record_bytes as usize).collect();
        assert_eq!(records.len() as u64, manifest.records, "each record once");
        let quorum = self.network.route.quorum;
        assert!(manifest.records >= quorum, "{} leave hop {hop}", manifest.records);
        let mut ids = BTreeSet::new();
        for id in records.into_iter().filter_map(|record| self.opened(hop + 1, first, record)) {
            if id < FORGED {
                assert!(ids.insert(id), "report {id} leaves hop {hop} twice");
            }
        }
    }

    /// Checks the word that epochs are dropped: it is all that is said, and says no number.
    fn check_word(&self, hop: u8, signed: &SignedManifest, records: &[u8]) {
        let party = self.network.route.chain.party(hop).unwrap();
        let manifest = signed.verify(&party.identity).unwrap();
        assert_eq!(records, [0_u8; 0], "a word has no records");
        assert!(manifest.losses.iter().all(|loss| *loss == Loss::default()), "a word tells losses");
    }

    /// Opens a record as all parties from `hop` on would together, if all have keys.
    fn opened(&self, hop: u8, epoch: u64, record: &[u8]) -> Option<u8> {
        let route = &self.network.route;
        let (window, hops) = (route.schedule.window_of(epoch), route.chain.hops());
        let mut record = record.to_vec();
        for hop in hop..=hops {
            let collection = route.id;
            let binding = Binding { collection, epoch: window, hop, analyzer: hop == hops };
            let opener = Opener::new(self.secrets.get(&(hop, window))?, &binding).unwrap();
            let mut opened = vec![0; record.len() - LAYER];
            opener.open(&record, &mut opened).ok()?;
            record = opened;
        }
        Some(record[0])
    }

    /// Checks (g): the batch is on disk, and is the only one of its epochs that is ever signed for.
    pub(super) fn check_receipt(&mut self, party: usize, batch: &[u8], receipt: &Receipt) {
        let (hop, id) = (party + 1, receipt.batch);
        let slot = self.slots(party).unwrap().into_iter().find(|slot| slot.input == Some(id));
        let slot = slot.expect("a batch on disk");
        let store = self.network.nodes[party].store.store();
        let (blobs, evidence) = self
            .look(party, |_| {
                let key = RowKey::at(self.network.route.id, slot.first);
                (store.blobs.names().unwrap(), store.rows.get(Table::Taken, &key).unwrap())
            })
            .unwrap();
        if matches!(slot.stage, Stage::Received(_)) {
            let name = id.to_string();
            assert!(blobs.iter().any(|blob| blob.contains(&name)), "a batch on disk");
        }
        let manifest = manifest_of(batch).unwrap();
        assert_eq!(evidence, Some(manifest.encode()), "the manifest that was taken is evidence");
        let Manifest { first, last, .. } = *manifest.unverified();
        let taken = self.receipts.entry(party).or_default();
        let mut others = taken.iter().filter(|(.., other)| *other != id);
        let apart = others.all(|(f, l, _)| *l < first || last < *f);
        assert!(apart, "hop {hop} signs for two batches of the same epochs");
        taken.push((first, last, id));
    }
}

/// The manifest of a batch, if the bytes begin with one.
pub fn manifest_of(batch: &[u8]) -> Option<SignedManifest> {
    let length = SignedManifest::length(batch).filter(|length| *length <= batch.len())?;
    SignedManifest::decode(&batch[..length]).ok()
}

/// True if two batches are for some of the same epochs.
pub fn overlap(one: &Manifest, other: &Manifest) -> bool {
    one.first <= other.last && other.first <= one.last
}

/// All that an analyzer or a noticeboard has published, as it is on disk.
fn published(store: &Store) -> BTreeMap<String, Vec<u8>> {
    let tables = [Table::Releases, Table::Ledger, Table::Notices];
    let rows = |table| store.rows.under(table, &RowKey::default()).unwrap();
    let name = |table, key: &RowKey| format!("{table:?}/{}", key.as_str());
    let rows = tables
        .into_iter()
        .flat_map(|table| rows(table).into_iter().map(move |(key, row)| (name(table, &key), row)));
    let bags = store.blobs.names().unwrap().into_iter().filter(|blob| blob.contains(".bag-"));
    // A bag that has no notice yet may be made again, and is the same then.
    let bags: Vec<(String, Vec<u8>)> = bags
        .map(|blob| (format!("Bags/{blob}"), store.blobs.read(&blob).unwrap().unwrap()))
        .collect();
    rows.chain(bags).collect()
}
