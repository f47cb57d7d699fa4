//! A first mix that is the adversary: it has its identity and its keys, reads all that clients
//! sent it, and signs what it likes. What the honest rest promises must hold all the same.

use super::checks::{manifest_of, overlap};
use super::clients::FORGED;
use super::{Event, World};
use crate::common::identity;
use crate::operations::{Content, Forgery, Twist};
use throng_mix::store::{RowKey, Table};
use throng_wire::{
    Binding, CollectionId, LAYER, Loss, Manifest, Opener, RecordDigest, SignedManifest,
};

impl World {
    /// Signs a batch and sends it to the second party. Only one without a twist may be taken.
    pub(super) fn forge(&mut self, forgery: &Forgery) {
        let route = self.network.route.clone();
        let running = route.schedule.epoch_at(self.network.now).unwrap();
        let Some(first) = running.checked_add_signed(forgery.later.into()) else { return };
        if self.honest(0) {
            return;
        }
        let records = self.forged_records(first, forgery);
        let last = first + u64::from(forgery.epochs) - 1;
        let (signed, records) = self.twisted(first, last, records, forgery.twist);
        let batch = [signed.encode(), records.concat()].concat();
        self.met.count(Event::Forged, 1);
        for to in 1..self.network.nodes.len() {
            let taken = self.carry(0, to, &batch).is_some();
            let fits = to == 1 && forgery.twist == Twist::None;
            assert!(fits || !taken, "hop {} takes {:?}", to + 1, forgery.twist);
            self.met.count(Event::Taken, taken.into());
        }
        if forgery.copy {
            self.post.push((0, 1, batch));
        }
    }

    /// Checks that a party which refused a second batch has the evidence: both manifests, signed.
    pub(super) fn check_evidence(&mut self, party: usize, batch: &[u8]) {
        let id = self.network.route.id;
        let refused = manifest_of(batch).unwrap();
        let previous = identity(party as u8).public();
        let key = RowKey::at(id, refused.unverified().first);
        let (taken, accused) = self
            .look(party, |store| {
                let taken = store.rows.under(Table::Taken, &RowKey::all(id)).unwrap();
                (taken, store.rows.get(Table::Accused, &key).unwrap())
            })
            .unwrap();
        let read = |row: &[u8]| manifest_of(row).filter(|it| it.verify(&previous).is_ok()).unwrap();
        let accused = read(&accused.expect("evidence of the second batch"));
        let convicts = taken.iter().map(|(_, row)| read(row)).any(|taken| {
            let (one, other) = (taken.unverified(), accused.unverified());
            one.id() != other.id() && overlap(one, other)
        });
        assert!(convicts, "no two batches that hop {party} signed");
        self.met.count(Event::Conflict, 1);
    }

    fn forged_records(&mut self, first: u64, forgery: &Forgery) -> Vec<Vec<u8>> {
        let count = usize::from(forgery.count);
        let mut records = match forgery.content {
            Content::Clients => {
                let mut all = self.own_onions(first, self.network.route.quorum as usize);
                all.extend(self.onions(first));
                all
            }
            Content::Victim => {
                let mut all = self.own_onions(first, count);
                all.extend(self.onions(first).into_iter().take(1));
                all
            }
            Content::Own => self.own_onions(first, count),
            Content::Copies => self.own_onions(first, 1).into_iter().cycle().take(count).collect(),
            Content::Noise => Vec::new(),
            Content::Word => return Vec::new(),
        };
        if records.is_empty() {
            let bytes = self.network.route.shape.record_bytes(2);
            records = (0..count).map(|_| self.noise(bytes)).collect();
        }
        records
    }

    /// What clients sent for the window of an epoch, without the layer of the first mix.
    fn onions(&self, epoch: u64) -> Vec<Vec<u8>> {
        let schedule = &self.network.route.schedule;
        let window = schedule.window_of(epoch);
        let inside = self.reports.iter().filter(|r| schedule.window_of(r.epoch) == window);
        inside.filter_map(|report| self.peeled(report.epoch, &report.bytes)).collect()
    }

    /// Onions that the adversary seals itself, if the window has keys.
    fn own_onions(&mut self, epoch: u64, count: usize) -> Vec<Vec<u8>> {
        let Some(keys) = self.keys(self.network.route.schedule.window_of(epoch)) else {
            return Vec::new();
        };
        let seal = |_| {
            let report = self.network.seal_to(epoch, &[FORGED], &keys);
            self.peeled(epoch, &report)
        };
        (0..count).filter_map(seal).collect()
    }

    fn peeled(&self, epoch: u64, report: &[u8]) -> Option<Vec<u8>> {
        let route = &self.network.route;
        let secret = self.secrets.get(&(1, route.schedule.window_of(epoch)))?;
        let binding = Binding { collection: route.id, epoch, hop: 1, analyzer: false };
        let mut onion = vec![0; report.len() - LAYER];
        Opener::new(secret, &binding).unwrap().open(report, &mut onion).ok()?;
        Some(onion)
    }

    /// Signs a manifest of these records, with something wrong in it.
    fn twisted(
        &mut self,
        mut first: u64,
        mut last: u64,
        mut records: Vec<Vec<u8>>,
        twist: Twist,
    ) -> (SignedManifest, Vec<Vec<u8>>) {
        let mut record_bytes = self.network.route.shape.record_bytes(2) as u32;
        let loss = Loss { replayed: 0, malformed: records.len() as u64 };
        let (mut collection, mut losses) = (self.network.route.id, vec![loss]);
        let mut number = records.len() as u64;
        let mut signer = identity(1);
        match twist {
            Twist::None | Twist::Digest => {}
            Twist::Size => {
                record_bytes += 1;
                for record in &mut records {
                    record.push(0);
                }
            }
            Twist::Hop => losses.push(Loss::default()),
            Twist::Order => (first, last) = (last + 1, first),
            Twist::Collection => collection = CollectionId::new([9; 32]),
            Twist::Many => number = 1 << 50,
            Twist::Stranger => signer = identity(9),
        }
        let mut digest = RecordDigest::default();
        for record in &records {
            digest.update(record);
        }
        let mut digest = digest.finish();
        digest[0] ^= u8::from(twist == Twist::Digest);
        let source = [0; 32];
        let manifest = Manifest {
            collection,
            first,
            last,
            record_bytes,
            records: number,
            losses,
            source,
            digest,
        };
        (SignedManifest::sign(manifest, &signer), records)
    }
}
