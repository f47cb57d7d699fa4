//! A chain, all that is known about it from outside, and the properties that both must have.

use crate::common::{
    CATEGORIES, DRAIN, Member, Network, Role, Setup, counts, hand_over, tell, wire,
};
use crate::operations::{How, Kind, Operation, Wait};
use rand_core::Rng;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use throng_mix::simulated::{Fault, Faults, MemoryStore};
use throng_mix::store::{LogKey, LogName, RowKey, Table};
use throng_mix::{Fate, Fates, Slot, Stage, Why, Word};
use throng_server::Entry;
use throng_wire::{
    Binding, LAYER, Layer, LayerPublic, LayerSecret, Loss, Opener, Receipt, Route, SignedDirectory,
    SignedManifest,
};

pub struct World {
    network: Network,
    quorum: u64,
    /// The seconds by which each party's clock is behind.
    behind: Vec<u64>,
    disks: Vec<Arc<Mutex<Disk>>>,
    reports: Vec<Report>,
    next_id: u8,
    /// Copies of batches that are still in the network, and for whom.
    post: Vec<(usize, Vec<u8>)>,
    /// The batches that ever left a mix, by hop and first epoch.
    left: BTreeMap<(u8, u64), Vec<u8>>,
    secrets: BTreeMap<(u8, u64), LayerSecret>,
    cosignatures: BTreeMap<(u8, u64), [u8; 64]>,
    directories: BTreeMap<u64, SignedDirectory>,
    destroyed: BTreeSet<(u8, u64)>,
    rows: BTreeMap<String, Vec<u8>>,
    ledger: Vec<Entry>,
    counted: BTreeMap<u8, u64>,
    /// The releases by their first epoch.
    pub releases: BTreeMap<u64, Value>,
    pub crashes: u64,
    /// The reports that were sent again.
    pub replays: u64,
    /// The words that epochs were dropped, as they left mixes.
    pub words: u64,
}

/// A report that a client sent, or tried to send.
struct Report {
    epoch: u64,
    id: u8,
    kind: Kind,
    bytes: Vec<u8>,
    acknowledged: bool,
}

/// The faults that are planned for the disk of a party.
#[derive(Default)]
struct Disk {
    operations: u64,
    faults: BTreeMap<u64, Fault>,
    /// True while the simulation itself is looking.
    observed: bool,
}

impl Disk {
    fn decide(&mut self) -> Fault {
        if self.observed {
            return Fault::None;
        }
        self.operations += 1;
        self.faults.remove(&(self.operations - 1)).unwrap_or(Fault::None)
    }
}

impl World {
    /// A world with all machines switched off.
    pub fn new(setup: &Setup, seed: u64) -> Self {
        let network = setup.machines(seed);
        let disks = network.nodes.iter().map(|node| {
            let disk = Arc::new(Mutex::new(Disk::default()));
            let decides = disk.clone();
            node.store.set_faults(Faults::by(move |_| decides.lock().unwrap().decide()));
            disk
        });
        Self {
            quorum: network.collection.quorum(),
            behind: vec![0; network.nodes.len()],
            disks: disks.collect(),
            reports: Vec::new(),
            next_id: 0,
            post: Vec::new(),
            left: BTreeMap::new(),
            secrets: BTreeMap::new(),
            cosignatures: BTreeMap::new(),
            directories: BTreeMap::new(),
            destroyed: BTreeSet::new(),
            rows: BTreeMap::new(),
            ledger: Vec::new(),
            counted: BTreeMap::new(),
            releases: BTreeMap::new(),
            crashes: 0,
            replays: 0,
            words: 0,
            network,
        }
    }

    /// Switches everything on and tells all keys, twice because there may be one fault.
    pub fn start(&mut self) {
        for _ in 0..2 {
            self.revive();
            self.perform(&Operation::Keys { lost: 0 });
            self.check();
        }
    }

    /// Starts machines that are down, where that works.
    pub fn revive(&mut self) {
        for party in 0..self.network.nodes.len() {
            if self.network.nodes[party].role.is_none() {
                let _ = self.network.nodes[party].restart();
            }
        }
        self.bury();
    }

    /// Makes the disk of a party fail at its operation of this number.
    pub fn set_fault(&mut self, party: usize, at: u64, fault: Fault) {
        self.disks[party].lock().unwrap().faults.insert(at, fault);
    }

    /// The number of operations of the disk of a party so far.
    pub fn operations(&self, party: usize) -> u64 {
        self.disks[party].lock().unwrap().operations
    }

    /// Claims that a report which was never sent was acknowledged.
    pub fn imagine(&mut self) {
        let report = self.report(0, Kind::Valid).unwrap();
        self.reports[report].acknowledged = true;
    }

    /// Sends the last report a second time in another envelope, as no replay can.
    pub fn repeat(&mut self) {
        self.next_id -= 1;
        let report = self.report(0, Kind::Valid).unwrap();
        self.upload(&[report], &[]);
    }

    pub fn perform(&mut self, operation: &Operation) {
        match *operation {
            Operation::Upload { count, later, kind } => {
                let fresh: Vec<usize> =
                    (0..count).filter_map(|_| self.report(later, kind)).collect();
                self.upload(&fresh, &[]);
            }
            Operation::Again { which } => {
                let which = self.which(which);
                self.replays += which.len() as u64;
                self.upload(&which, &[]);
            }
            Operation::Retry => {
                for which in 0..self.reports.len() {
                    if !self.reports[which].acknowledged {
                        self.upload(&[which], &[]);
                    }
                }
            }
            Operation::Misplace { which, later } => self.misplace(which, later),
            Operation::Bulk { which } => {
                let Some(fresh) = self.report(0, Kind::Valid) else { return };
                let again = self.which(which);
                let again = again.iter().filter(|r| self.epoch_of(**r) == self.epoch_of(fresh));
                let mut all = vec![fresh];
                all.extend(again.flat_map(|r| [*r, *r]).collect::<Vec<_>>());
                let noise = self.noise(self.network.collection.shape().report_bytes());
                self.upload(&all, &noise);
            }
            Operation::Part { bytes } => {
                let epoch = self.network.collection.epoch_at(self.network.now).unwrap_or(0);
                let noise = self.noise(bytes.into());
                let whole = self.network.collection.shape().report_bytes();
                if let Some(Role::Mix(mix)) = &self.network.nodes[0].role
                    && !noise.len().is_multiple_of(whole)
                {
                    assert!(mix.accept(epoch, &noise, self.now(0)).is_err(), "part of a report");
                }
            }
            Operation::Wait(wait) => self.wait(wait),
            Operation::Step { party } => self.step(usize::from(party) % self.network.nodes.len()),
            Operation::Work => {
                self.revive();
                for party in 0..self.network.nodes.len() {
                    self.step(party);
                    self.deliver(party, 0, How::Well);
                }
            }
            Operation::Deliver { mix, which, how } => {
                self.deliver(usize::from(mix) % (self.network.nodes.len() - 1), which.into(), how);
            }
            Operation::Late { which } => {
                if !self.post.is_empty() {
                    let (to, batch) = self.post.remove(usize::from(which) % self.post.len());
                    self.carry(to, &batch);
                }
            }
            Operation::Keys { lost } => self.exchange(lost),
            Operation::Restart { party } => {
                let party = usize::from(party) % self.network.nodes.len();
                let _ = self.network.nodes[party].restart();
            }
            Operation::Disk { party, after, fault } => {
                let party = usize::from(party) % self.network.nodes.len();
                self.set_fault(party, self.operations(party) + u64::from(after), fault);
            }
            Operation::Back { party, seconds } => {
                let party = usize::from(party) % self.network.nodes.len();
                self.behind[party] = seconds.into();
            }
        }
        self.bury();
    }

    /// Stops faults and lets time go on: everything ends, without anything more being sent.
    pub fn drain(&mut self) {
        self.behind.fill(0);
        self.disks.iter().for_each(|disk| disk.lock().unwrap().faults.clear());
        self.revive();
        let schedule = self.network.collection.schedule;
        let epochs = self.network.collection.terms.promise.epochs;
        let mut times: Vec<u64> = (0..epochs).map(|epoch| schedule.deadline(epoch)).collect();
        times.push(schedule.deadline(epochs - 1) + DRAIN);
        times.push(schedule.deadline(epochs - 1) + 2 * DRAIN);
        for time in times {
            self.network.now = self.network.now.max(time);
            for round in 0.. {
                assert!(round < 100, "it never ends");
                if !self.work() {
                    break;
                }
            }
            self.check();
        }
        self.check_end();
    }

    /// The reasons why slots were dropped, at all parties.
    pub fn dropped(&self) -> Vec<Why> {
        let slots = self.network.nodes.iter().flat_map(|node| node.role().slots());
        let why = |slot: Slot| match slot.stage {
            Stage::Dropped { why, .. } => Some(why),
            _ => None,
        };
        slots.filter_map(why).collect()
    }

    /// What the analyzer knows of each epoch.
    pub fn fates(&self) -> Vec<String> {
        let route = Route::from(&*self.network.collection);
        let role = self.network.nodes.last().unwrap().role();
        let destroyed = role.keyring().destroyed();
        let fates = Fates::of(&route, &role.slots(), &destroyed, self.network.now);
        let words =
            |fates: &Fates| (fates.first..=fates.last).map(|_| fates.fate.words()).collect();
        fates.iter().flat_map(|fates| -> Vec<String> { words(fates) }).collect()
    }

    /// Checks what must hold at all times.
    pub fn check(&mut self) {
        for disk in &self.disks {
            disk.lock().unwrap().observed = true;
        }
        for party in 0..self.network.nodes.len() {
            self.check_keys(party);
        }
        self.check_releases();
        for disk in &self.disks {
            disk.lock().unwrap().observed = false;
        }
    }

    fn now(&self, party: usize) -> u64 {
        self.network.now - self.behind[party]
    }

    fn which(&self, which: u8) -> Vec<usize> {
        let count = self.reports.len();
        (count > 0).then(|| usize::from(which) % count.max(1)).into_iter().collect()
    }

    fn epoch_of(&self, report: usize) -> u64 {
        self.reports[report].epoch
    }

    fn noise(&mut self, bytes: usize) -> Vec<u8> {
        let mut noise = vec![0; bytes];
        self.network.rng.fill_bytes(&mut noise);
        noise
    }

    /// Makes a report, if there are keys to seal it to.
    fn report(&mut self, later: i8, kind: Kind) -> Option<usize> {
        let collection = self.network.collection.clone();
        let epoch =
            collection.schedule.epoch_at(self.network.now)?.checked_add_signed(later.into());
        let epoch = epoch.filter(|epoch| *epoch < collection.terms.promise.epochs)?;
        let keys = self.keys(collection.schedule.window_of(epoch))?;
        let id = Some(self.next_id).filter(|id| u32::from(*id) < CATEGORIES)?;
        self.next_id += 1;
        let message = if matches!(kind, Kind::Nonsense) { CATEGORIES as u8 } else { id };
        let mut bytes = self.network.seal_to(epoch, &[message], &keys);
        match kind {
            Kind::Valid | Kind::Nonsense => {}
            Kind::Noise => bytes = self.noise(bytes.len()),
            Kind::Altered => {
                let bit = self.network.rng.next_u32() as usize % (8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            Kind::Hollow => {
                let inside = self.noise(bytes.len() - LAYER);
                let binding =
                    Binding { collection: collection.id(), epoch, hop: 1, analyzer: false };
                let layer = Layer::new(&keys[0], &binding).unwrap();
                bytes = layer.seal(&inside, &mut self.network.rng).unwrap();
            }
        }
        self.reports.push(Report { epoch, id, kind, bytes, acknowledged: false });
        Some(self.reports.len() - 1)
    }

    /// The keys of a window, once there is a directory that every party signed.
    fn keys(&self, window: u64) -> Option<Vec<LayerPublic>> {
        let collection = &self.network.collection;
        let parties: Vec<_> = collection.chain.parties().map(|(_, p)| p.identity).collect();
        let signed = self.directories.get(&window)?;
        Some(signed.verify(&collection.id(), window, &parties).unwrap().keys.clone())
    }

    /// Sends reports in one body, for the epoch of the first.
    fn upload(&mut self, reports: &[usize], more: &[u8]) {
        let (Some(Role::Mix(mix)), Some(first)) = (&self.network.nodes[0].role, reports.first())
        else {
            return;
        };
        let epoch = self.epoch_of(*first);
        let mut body: Vec<u8> = more.to_vec();
        for report in reports {
            body.extend(&self.reports[*report].bytes);
        }
        if mix.accept(epoch, &body, self.now(0)).is_ok() {
            for report in reports {
                self.reports[*report].acknowledged = true;
            }
        }
    }

    /// Sends a report for another epoch than its own.
    fn misplace(&mut self, which: u8, later: i8) {
        let now = self.now(0);
        let epoch = self.network.collection.schedule.epoch_at(now).unwrap_or(0);
        let epoch = epoch.checked_add_signed(later.into()).unwrap_or(0);
        for report in self.which(which) {
            if let Some(Role::Mix(mix)) = &self.network.nodes[0].role
                && self.epoch_of(report) != epoch
            {
                let _ = mix.accept(epoch, &self.reports[report].bytes, now);
            }
        }
    }

    fn wait(&mut self, wait: Wait) {
        let schedule = self.network.collection.schedule;
        let (now, epoch) = (self.network.now, schedule.epoch_at(self.network.now).unwrap());
        self.network.now = match wait {
            Wait::Little => now + 7,
            Wait::Epoch => schedule.start_of(epoch + 1),
            Wait::Deadline => {
                let deadlines = (epoch.saturating_sub(1)..=epoch).map(|e| schedule.deadline(e));
                deadlines.filter(|deadline| *deadline > now).min().unwrap()
            }
            Wait::Far => now + schedule.every + DRAIN + 10,
        };
    }

    fn step(&mut self, party: usize) {
        let now = self.now(party);
        if let Some(role) = &self.network.nodes[party].role {
            let _ = role.step(now, &mut self.network.rng);
        }
    }

    fn exchange(&mut self, lost: u16) {
        for (node, behind) in self.network.nodes.iter().zip(&self.behind) {
            if let Some(role) = &node.role {
                let _ = role.keyring().publish(self.network.now - behind, &mut self.network.rng);
            }
        }
        let roles = self.network.nodes.iter().filter_map(|node| node.role.as_ref());
        let windows: BTreeSet<u64> = roles.flat_map(|role| role.keyring().windows()).collect();
        let nodes = &self.network.nodes;
        for window in windows {
            for told in [false, true] {
                for (place, (from, to)) in self.network.pairs().enumerate() {
                    if lost & (1 << (place % 16)) == 0 {
                        let _ = tell(&nodes[from], &nodes[to], window, told);
                    }
                }
            }
        }
    }

    /// Makes one hand-over, and returns true if anything came of it.
    fn deliver(&mut self, party: usize, which: usize, how: How) -> bool {
        let Some(Role::Mix(mix)) = &self.network.nodes[party].role else { return false };
        let waiting = mix.waiting();
        let Some(&first) = waiting.get(which % waiting.len().max(1)) else { return false };
        let Ok(Some(outgoing)) = mix.outgoing(first) else { return false };
        let batch = wire(outgoing);
        self.check_left(party as u8 + 1, first, &batch);
        let to = party + 1;
        let receipt = match how {
            How::Well => self.carry(to, &batch),
            How::RequestLost => None,
            How::AnswerLost => {
                self.carry(to, &batch);
                None
            }
            How::Twice => {
                let first = self.carry(to, &batch);
                let second = self.carry(to, &batch);
                assert!(first.is_none() || second.is_none() || first == second, "one receipt");
                first.or(second)
            }
            How::Delayed => {
                self.post.push((to, batch));
                None
            }
            How::Cut(bytes) => self.carry(to, &batch[..usize::from(bytes) % batch.len()]),
            How::Flipped(bit) => {
                let (mut batch, bit) = (batch.clone(), bit as usize % (8 * batch.len()));
                batch[bit / 8] ^= 1 << (bit % 8);
                self.carry(to, &batch)
            }
        };
        let Some(receipt) = receipt else { return false };
        let receipt = Receipt::decode(&receipt.encode()).unwrap();
        match &self.network.nodes[party].role {
            Some(Role::Mix(mix)) => mix.delivered(first, receipt).is_ok(),
            _ => false,
        }
    }

    /// Brings a batch to a party, and its receipt back. Nothing that honest parties send is in
    /// conflict with anything.
    fn carry(&mut self, to: usize, batch: &[u8]) -> Option<Receipt> {
        let role = self.network.nodes[to].role.as_ref()?;
        match hand_over(role.course(), batch, self.now(to)) {
            Ok(receipt) => {
                self.check_receipt(to, &receipt);
                Some(receipt)
            }
            Err(throng_mix::Error::Conflict) => panic!("hop {} sees a conflict", to + 1),
            Err(_) => None,
        }
    }

    /// Does all that can be done now without faults; true if there was anything.
    fn work(&mut self) -> bool {
        let mut worked = false;
        for party in 0..self.network.nodes.len() {
            let role = self.network.nodes[party].role();
            worked |= role.step(self.network.now, &mut self.network.rng).unwrap().is_some();
            worked |= self.deliver(party, 0, How::Well);
        }
        worked
    }

    /// Stops machines whose disk stopped.
    fn bury(&mut self) {
        for node in &mut self.network.nodes {
            if node.store.crashed() && node.role.take().is_some() {
                self.crashes += 1;
            }
        }
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
        let names = node.store.store().secrets.names().unwrap();
        for (_, window) in self.destroyed.iter().filter(|(h, _)| *h == hop) {
            let name = format!("{}-{window}", self.network.collection.id());
            assert!(!names.contains(&name), "a destroyed key is on the disk of hop {hop}");
        }
    }

    /// Checks (b), (c), (f) and (h).
    fn check_releases(&mut self) {
        let node = self.network.nodes.last().unwrap();
        if node.role.is_none() {
            return;
        }
        let releases = node.store.store().rows.under(Table::Releases, &RowKey::default()).unwrap();
        let entries = node.store.store().rows.under(Table::Ledger, &RowKey::default()).unwrap();
        assert_eq!(releases.len(), entries.len(), "one entry per release");
        let rows: BTreeMap<String, Vec<u8>> = releases
            .into_iter()
            .map(|(key, row)| (format!("releases/{}", key.as_str()), row))
            .chain(entries.into_iter().map(|(key, row)| (format!("ledger/{}", key.as_str()), row)))
            .collect();
        for (key, row) in &self.rows {
            assert_eq!(rows.get(key), Some(row), "what was published stays");
        }
        for (key, row) in &rows {
            if key.starts_with("releases/") && !self.rows.contains_key(key) {
                let release: Value = serde_json::from_slice(row).unwrap();
                self.check_release(&release);
                self.releases.insert(release["first"].as_u64().unwrap(), release);
            }
        }
        self.rows = rows;
        let ledger = self.network.analyzer().ledger();
        // A commit that failed may have happened, and is not known in memory then.
        let known = ledger.len().min(self.ledger.len());
        assert_eq!(ledger[..known], self.ledger[..known], "the ledger only grows");
        assert!(ledger.is_sorted_by(|a, b| a.total <= b.total), "the total never falls");
        if ledger.len() > self.ledger.len() {
            self.ledger = ledger;
        }
    }

    fn check_release(&mut self, release: &Value) {
        let reports = release["reports"].as_u64().unwrap();
        assert!(reports >= self.quorum, "a release of {reports}");
        let (first, last) = (release["first"].as_u64().unwrap(), release["last"].as_u64().unwrap());
        for (id, count) in counts(&self.network.collection.terms, release) {
            let known = self.reports.iter().find(|r| r.id == id && matches!(r.kind, Kind::Valid));
            let report = known.unwrap_or_else(|| panic!("report {id} was never sent"));
            assert!((first..=last).contains(&report.epoch), "report {id} is in another epoch");
            let counted = self.counted.entry(id).or_default();
            *counted += count;
            assert_eq!(*counted, 1, "report {id} is counted more than once");
        }
    }

    /// Checks (c) and (d).
    fn check_left(&mut self, hop: u8, first: u64, batch: &[u8]) {
        if let Some(before) = self.left.get(&(hop, first)) {
            assert!(before == batch, "other bytes leave hop {hop} for epoch {first}");
            return;
        }
        let length = SignedManifest::length(batch).unwrap();
        let signed = SignedManifest::decode(&batch[..length]).unwrap();
        let manifest = signed.unverified();
        for ((other, _), before) in &self.left {
            let before = SignedManifest::decode(&before[..SignedManifest::length(before).unwrap()]);
            let before = before.unwrap();
            let before = before.unverified();
            let apart = manifest.last < before.first || before.last < manifest.first;
            assert!(*other != hop || apart, "overlapping batches leave hop {hop}");
        }
        if manifest.is_empty() {
            self.check_word(hop, &signed, &batch[length..]);
            self.words += 1;
            self.left.insert((hop, first), batch.to_vec());
            return;
        }
        let size = manifest.record_bytes as usize;
        let records: BTreeSet<&[u8]> = batch[length..].chunks(size).collect();
        assert_eq!(records.len() as u64, manifest.records, "each record once");
        assert!(manifest.records >= self.quorum, "{} leave hop {hop}", manifest.records);
        let mut ids = BTreeSet::new();
        for id in records.into_iter().filter_map(|record| self.opened(hop + 1, first, record)) {
            if u32::from(id) < CATEGORIES {
                assert!(ids.insert(id), "report {id} leaves hop {hop} twice");
            }
        }
        self.left.insert((hop, first), batch.to_vec());
    }

    /// Checks the word that epochs are dropped: it is all that is said, and says no number.
    fn check_word(&self, hop: u8, signed: &SignedManifest, records: &[u8]) {
        let party = self.network.collection.chain.party(hop).unwrap();
        let manifest = signed.verify(&party.identity).unwrap();
        assert_eq!(records, [0_u8; 0], "a word has no records");
        assert!(manifest.losses.iter().all(|loss| *loss == Loss::default()), "a word tells losses");
    }

    /// Opens a record as all parties from `hop` on would together.
    fn opened(&self, hop: u8, epoch: u64, record: &[u8]) -> Option<u8> {
        let collection = &self.network.collection;
        let (window, hops) = (collection.schedule.window_of(epoch), collection.chain.hops());
        let mut record = record.to_vec();
        for hop in hop..=hops {
            let collection = collection.id();
            let binding = Binding { collection, epoch: window, hop, analyzer: hop == hops };
            let opener = Opener::new(&self.secrets[&(hop, window)], &binding).unwrap();
            let mut opened = vec![0; record.len() - LAYER];
            opener.open(&record, &mut opened).ok()?;
            record = opened;
        }
        Some(record[0])
    }

    /// Checks (g).
    fn check_receipt(&self, party: usize, receipt: &Receipt) {
        self.disks[party].lock().unwrap().observed = true;
        let node = &self.network.nodes[party];
        let rows = node.store.store().rows.under(Table::Slots, &RowKey::default()).unwrap();
        let mut slots = rows.iter().map(|(_, row)| Slot::from_row(row).unwrap());
        let slot = slots.find(|slot| slot.input == Some(receipt.batch)).expect("a batch on disk");
        if matches!(slot.stage, Stage::Received(_)) {
            let name = receipt.batch.to_string();
            let blobs = node.store.store().blobs.names().unwrap();
            assert!(blobs.iter().any(|blob| blob.contains(&name)), "a batch on disk");
        }
        self.disks[party].lock().unwrap().observed = false;
    }

    /// Checks (a), (e), and that nothing is left over.
    fn check_end(&self) {
        for node in &self.network.nodes {
            let (hop, role) = (node.hop, node.role());
            let slots = role.slots();
            assert!(slots.iter().all(|slot| slot.shredded), "hop {hop} is not done: {slots:?}");
            assert_eq!(node.store.store().secrets.names(), Ok(Vec::new()), "keys of hop {hop}");
            let blobs = node.store.store().blobs.names().unwrap();
            let left = blobs.iter().filter(|name| !name.contains(".head"));
            assert_eq!(left.count(), 0, "hop {hop} keeps {blobs:?}");
            self.check_logs(hop, &node.store);
        }
        self.check_fates();
        for report in self.reports.iter().filter(|report| report.acknowledged) {
            if matches!(report.kind, Kind::Valid) {
                self.check_fate(report);
            }
        }
    }

    /// Checks (j).
    fn check_fates(&self) {
        let route = Route::from(&*self.network.collection);
        let of = |node: &Member| {
            let (role, slots) = (node.role(), node.role().slots());
            let destroyed = role.keyring().destroyed();
            let fates = Fates::of(&route, &slots, &destroyed, self.network.now);
            let each = fates.iter().flat_map(|fates| {
                let fate = fates.fate;
                (fates.first..=fates.last).map(move |epoch| (epoch, fate))
            });
            each.collect::<BTreeMap<u64, Fate>>()
        };
        let parties: Vec<BTreeMap<u64, Fate>> = self.network.nodes.iter().map(of).collect();
        for epoch in 0..route.epochs {
            let all: Vec<Fate> = parties.iter().map(|fates| fates[&epoch]).collect();
            assert!(all.iter().all(|fate| fate.is_final()), "epoch {epoch} is undecided: {all:?}");
            match *all.last().unwrap() {
                Fate::Lost => {
                    let late = self.network.nodes.iter().flat_map(|node| node.role().slots());
                    let mut late = late.filter(|slot| (slot.first..=slot.last).contains(&epoch));
                    let gave_up = |slot: &Slot| {
                        let keys = matches!(slot.stage, Stage::Dropped { why: Why::Keys, .. });
                        keys || slot.word == Some(Word::Late) || slot.to_tell()
                    };
                    assert!(late.any(|slot| gave_up(&slot)), "epoch {epoch} is lost: {all:?}");
                }
                // Whoever found it short, there was no crowd of reports that everybody can open.
                Fate::Dropped(Why::Short) => {
                    let slots = self.network.nodes.last().unwrap().role().slots();
                    let mut slots = slots.iter().map(|slot| slot.first..=slot.last);
                    let slot = slots.find(|slot| slot.contains(&epoch)).unwrap();
                    let inside = |r: &&Report| {
                        r.acknowledged && matches!(r.kind, Kind::Valid) && slot.contains(&r.epoch)
                    };
                    let valid = self.reports.iter().filter(inside).count() as u64;
                    assert!(valid < self.quorum, "{valid} are not short");
                }
                Fate::Released | Fate::Merged { .. } | Fate::Dropped(Why::Budget) => {}
                other => panic!("epoch {epoch} at the analyzer: {other:?}"),
            }
        }
    }

    fn check_logs(&self, hop: u8, store: &MemoryStore) {
        let collection = &self.network.collection;
        for epoch in 0..collection.terms.promise.epochs {
            let window = collection.schedule.window_of(epoch);
            let Some(secret) = self.secrets.get(&(hop, window)) else { continue };
            let log = LogName { collection: collection.id(), epoch };
            let key = LogKey::derive(secret, epoch, collection.shape().report_bytes());
            let show = &mut |_: &[u8]| panic!("reports on disk");
            let reading = store.store().logs.read(&log, &key, show);
            reading.unwrap();
        }
    }

    /// Follows a report down the chain to where it ended.
    fn check_fate(&self, report: &Report) {
        let Report { epoch, id, .. } = *report;
        let counted = self.counted.get(&id).copied().unwrap_or(0);
        for node in &self.network.nodes {
            let hop = node.hop;
            let slots = node.role().slots();
            let slot = slots.iter().find(|slot| (slot.first..=slot.last).contains(&epoch));
            let slot = slot.unwrap_or_else(|| panic!("report {id} vanished before hop {hop}"));
            match &slot.stage {
                Stage::Delivered { .. } => {}
                Stage::Released => {
                    assert_eq!(counted, 1, "report {id} is not in its release");
                    let release = &self.releases[&slot.first];
                    assert_eq!(release["last"], slot.last);
                    return;
                }
                Stage::Dropped { why, reports, .. } => {
                    self.check_dropped(hop, slot, *why, *reports);
                    // The next party may have it although nobody heard.
                    assert!(counted == 0 || *why == Why::Keys, "report {id} was dropped");
                    return;
                }
                stage => panic!("report {id} is stuck at hop {hop}: {stage:?}"),
            }
        }
        panic!("report {id} has no end");
    }

    /// Checks that a slot was dropped for a good reason.
    fn check_dropped(&self, hop: u8, slot: &Slot, why: Why, reports: u64) {
        let hops = self.network.collection.chain.hops();
        let counts = |kind: Kind| match kind {
            Kind::Valid => true,
            Kind::Nonsense => hop < hops,
            Kind::Hollow => hop == 1,
            Kind::Noise | Kind::Altered => false,
        };
        let inside = |r: &&Report| (slot.first..=slot.last).contains(&r.epoch) && counts(r.kind);
        let acknowledged = self.reports.iter().filter(inside).filter(|r| r.acknowledged).count();
        match why {
            Why::Short => {
                assert!((acknowledged as u64) < self.quorum, "{acknowledged} are not short");
                assert!((acknowledged as u64) <= reports, "{reports} of {acknowledged}");
            }
            Why::Budget => {
                assert!(self.network.collection.terms.promise.lifetime.0.get() < 100.0);
                assert_eq!(hop, hops);
            }
            // Given up, as nobody took it in time. What was received is never without keys.
            Why::Keys => assert!(hop < hops && reports >= self.quorum, "hop {hop} lost its keys"),
        }
    }
}
