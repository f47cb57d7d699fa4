//! A chain, all that is known about it from outside, and the operations on it.

mod boards;
mod byzantine;
mod checks;
mod clients;
mod clocks;
mod ends;
mod network;
mod secrecy;

use crate::common::{CATEGORIES, Member, Network, Role};
use crate::operations::{Cast, How, Kind, Operation, Wait};
use crate::tally::{Event, Tally};
use clients::Report;
use clocks::Clock;
use network::Letter;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use throng_mix::simulated::{Fault, Faults};
use throng_mix::store::{Change, RowKey, Store, Table};
use throng_mix::{Slot, Step};
use throng_server::{Entry, Error};
use throng_wire::{BatchId, LayerSecret, Notice, SignedDirectory};

pub struct World {
    network: Network,
    /// The seconds for which keys wait for what has not come.
    drain: u64,
    /// True if the first mix is the adversary.
    byzantine: bool,
    /// True if it tells every party the time that the party has itself.
    flatters: bool,
    clocks: Vec<Clock>,
    disks: Vec<Arc<Mutex<Disk>>>,
    /// The part of the network that each party is in, as one bit.
    parts: u8,
    reports: Vec<Report>,
    next_id: u8,
    /// Copies of batches that are still in the network, from whom and for whom.
    post: Vec<(usize, usize, Vec<u8>)>,
    /// Keys and signatures that are still in the network.
    letters: Vec<Letter>,
    /// The batches that ever left a mix, by hop and first epoch.
    left: BTreeMap<(u8, u64), Vec<u8>>,
    /// The batches that each party signed for, with their epochs.
    receipts: BTreeMap<usize, Vec<(u64, u64, BatchId)>>,
    /// The slots that were ever seen, by hop, first and last epoch.
    begun: BTreeSet<(u8, u64, u64)>,
    secrets: BTreeMap<(u8, u64), LayerSecret>,
    cosignatures: BTreeMap<(u8, u64), [u8; 64]>,
    directories: BTreeMap<u64, SignedDirectory>,
    destroyed: BTreeSet<(u8, u64)>,
    /// True if the disk of a party failed during its last step.
    failed: Vec<bool>,
    /// What was published, as it is on disk.
    rows: BTreeMap<String, Vec<u8>>,
    ledger: Vec<Entry>,
    counted: BTreeMap<u8, u64>,
    /// The notices that a noticeboard asked others to sign, and those that mixes signed, by hop.
    stated: BTreeMap<u64, Notice>,
    signed: BTreeMap<(u8, u64), Notice>,
    jumped: BTreeSet<usize>,
    /// The releases by their first epoch.
    pub releases: BTreeMap<u64, Release>,
    /// A fault in the world, by which a test sees that a property would notice it.
    pub plant: Option<Plant>,
    pub met: Tally,
}

/// What was published of a slot.
pub struct Release {
    pub last: u64,
    /// The reports that are in it, and how often.
    counts: Vec<(u8, u64)>,
    reports: u64,
}

/// A fault that no party has.
pub enum Plant {
    /// Keys are destroyed in the order of their windows.
    InOrder,
    /// Wall clocks are believed unseen.
    Wall,
    /// A clock that was doubted once is never believed again.
    Stubborn(bool),
}

/// The faults that are planned for the disk of a party.
#[derive(Default)]
struct Disk {
    operations: u64,
    faults: BTreeMap<u64, Fault>,
    /// The number of faults so far.
    met: u64,
    /// True while the simulation itself is looking.
    observed: bool,
}

impl Disk {
    fn decide(&mut self) -> Fault {
        if self.observed {
            return Fault::None;
        }
        self.operations += 1;
        let fault = self.faults.remove(&(self.operations - 1)).unwrap_or(Fault::None);
        self.met += u64::from(fault != Fault::None);
        fault
    }
}

impl World {
    /// A world with all machines switched off.
    pub fn new(cast: &Cast, seed: u64) -> Self {
        let network = cast.setup.machines(seed);
        let disks = network.nodes.iter().map(|node| {
            let disk = Arc::new(Mutex::new(Disk::default()));
            let decides = disk.clone();
            node.store.set_faults(Faults::by(move |_| decides.lock().unwrap().decide()));
            disk
        });
        let parties = network.nodes.len();
        let mut met = Tally::default();
        met.count(Event::Byzantine, cast.byzantine.into());
        Self {
            drain: cast.setup.drain,
            byzantine: cast.byzantine,
            flatters: false,
            clocks: (0..parties).map(|_| Clock::new(parties - 1, network.now)).collect(),
            disks: disks.collect(),
            parts: 0,
            reports: Vec::new(),
            next_id: 0,
            post: Vec::new(),
            letters: Vec::new(),
            left: BTreeMap::new(),
            receipts: BTreeMap::new(),
            begun: BTreeSet::new(),
            secrets: BTreeMap::new(),
            cosignatures: BTreeMap::new(),
            directories: BTreeMap::new(),
            destroyed: BTreeSet::new(),
            failed: vec![false; parties],
            rows: BTreeMap::new(),
            ledger: Vec::new(),
            counted: BTreeMap::new(),
            stated: BTreeMap::new(),
            signed: BTreeMap::new(),
            jumped: BTreeSet::new(),
            releases: BTreeMap::new(),
            plant: None,
            met,
            network,
        }
    }

    /// Switches everything on and tells all keys, twice because there may be one fault.
    pub fn start(&mut self) {
        for _ in 0..2 {
            self.revive();
            self.perform(&Operation::Keys { lost: 0, late: false });
            self.check();
        }
    }

    /// Starts machines that are down, where that works.
    pub fn revive(&mut self) {
        for party in 0..self.network.nodes.len() {
            if self.network.nodes[party].role.is_none() {
                self.restart(party, false);
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

    /// Removes a table from the disk of a party, as no fault does, and starts it again.
    pub fn forget(&mut self, party: usize, table: Table) {
        self.look(party, |store| {
            for (key, _) in store.rows.under(table, &RowKey::default()).unwrap() {
                store.rows.commit(&[Change::Delete { table, key: &key }]).unwrap();
            }
        });
        self.restart(party, false);
    }

    pub fn perform(&mut self, operation: &Operation) {
        let parties = self.network.nodes.len();
        match *operation {
            Operation::Upload { count, later, kind } => {
                let fresh: Vec<usize> =
                    (0..count).filter_map(|_| self.report(later, kind)).collect();
                self.upload(&fresh, &[]);
            }
            Operation::Again { which } => {
                let which = self.which(which);
                self.met.count(Event::Replay, which.len() as u64);
                self.upload(&which, &[]);
            }
            Operation::Retry => self.retry(),
            Operation::Misplace { which, later } => self.misplace(which, later),
            Operation::Bulk { which } => self.bulk(which),
            Operation::Part { bytes } => self.part(bytes.into()),
            Operation::Wait(wait) => self.wait(wait),
            Operation::Step { party } => drop(self.step(usize::from(party) % parties)),
            Operation::Work => {
                self.revive();
                self.hear_all(0);
                for party in 0..parties {
                    let _ = self.step(party);
                    self.deliver_all(party);
                }
                self.sign();
            }
            Operation::Deliver { mix, which, how } => {
                self.deliver(usize::from(mix) % (parties - 1), which.into(), how);
            }
            Operation::Late { which } => self.late(which.into()),
            Operation::Keys { lost, late } => self.exchange(lost, late),
            Operation::Letter { which } => self.open_letter(which.into()),
            Operation::Restart { party, reboot } => {
                self.restart(usize::from(party) % parties, reboot);
                self.met.count(Event::Reboot, reboot.into());
            }
            Operation::Disk { party, after, fault } => {
                let party = usize::from(party) % parties;
                self.set_fault(party, self.operations(party) + u64::from(after), fault);
            }
            Operation::Jump { party, seconds } => {
                let party = usize::from(party) % parties;
                self.clocks[party].ahead = seconds;
                self.met.count(Event::Jump, 1);
                if seconds != 0 && self.jumped.insert(party) && self.jumped.len() == parties {
                    self.met.count(Event::JumpedEverywhere, 1);
                }
            }
            Operation::Split { parts } => {
                self.parts = parts;
                let all = (1 << parties) - 1;
                self.met.count(Event::Split, (parts & all != 0 && parts & all != all).into());
            }
            Operation::Heal => self.parts = 0,
            Operation::Flatter { flatters } => self.flatters = flatters,
            Operation::Forge(ref forgery) => self.forge(forgery),
        }
        self.bury();
    }

    /// Ends all troubles and lets time go on: everything ends by itself, without anything more
    /// being sent and without a restart of anybody who runs.
    pub fn drain(&mut self) {
        self.clocks.iter_mut().for_each(|clock| clock.ahead = 0);
        (self.parts, self.flatters) = (0, false);
        self.disks.iter().for_each(|disk| disk.lock().unwrap().faults.clear());
        self.revive();
        let route = self.network.route.clone();
        let mut times: Vec<u64> =
            (0..route.epochs).map(|epoch| route.schedule.deadline(epoch)).collect();
        times.push(route.schedule.deadline(route.epochs - 1) + self.drain);
        times.push(route.schedule.deadline(route.epochs - 1) + 2 * self.drain);
        for time in times {
            self.network.now = self.network.now.max(time);
            self.hear_all(0);
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

    /// Does all that can be done now without faults; true if there was anything.
    fn work(&mut self) -> bool {
        let mut worked = false;
        for party in 0..self.network.nodes.len() {
            worked |= self.step(party).unwrap().is_some();
            worked |= self.deliver_all(party);
        }
        worked | self.sign()
    }

    /// Lets a party do what is due, as a server does.
    fn step(&mut self, party: usize) -> Result<Option<Step>, Error> {
        if !self.honest(party) || self.network.nodes[party].role.is_none() {
            return Ok(None);
        }
        let (due, _) = self.judge(party);
        let Network { nodes, rng, .. } = &mut self.network;
        let published = nodes[party].role().keyring().publish(due, rng);
        let (owed, faults) = (self.owed(party, due), self.faults(party));
        let Network { nodes, rng, .. } = &mut self.network;
        let step = nodes[party].role().step(due, rng);
        self.hoard(party, &step);
        let failed = step.is_err() || self.faults(party) > faults;
        self.check_owed(party, due, owed, failed);
        self.check_times(party);
        let step = step?;
        published?;
        self.keep(party)?;
        Ok(step)
    }

    /// The number of faults of a party's disk so far.
    fn faults(&self, party: usize) -> u64 {
        self.disks[party].lock().unwrap().met
    }

    fn wait(&mut self, wait: Wait) {
        let schedule = self.network.route.schedule;
        let (now, epoch) = (self.network.now, schedule.epoch_at(self.network.now).unwrap());
        self.network.now = match wait {
            Wait::Little => now + 7,
            Wait::Epoch => schedule.start_of(epoch + 1),
            Wait::Deadline => {
                let deadlines = (epoch.saturating_sub(1)..=epoch).map(|e| schedule.deadline(e));
                deadlines.filter(|deadline| *deadline > now).min().unwrap()
            }
            Wait::Far => now + schedule.every + self.drain.min(schedule.every) + 10,
        };
    }

    /// Stops machines whose disk stopped.
    fn bury(&mut self) {
        for party in 0..self.network.nodes.len() {
            let Member { store, role, .. } = &mut self.network.nodes[party];
            if store.crashed() && role.take().is_some() {
                self.met.count(Event::Crash, 1);
                self.crash(party);
            }
        }
    }

    /// True if a party does what it should.
    fn honest(&self, party: usize) -> bool {
        party > 0 || !self.byzantine
    }

    /// Looks at the disk of a party, unless its machine has stopped. What the simulation does
    /// itself never fails.
    fn look<T>(&self, party: usize, see: impl FnOnce(&Store) -> T) -> Option<T> {
        let disk = &self.network.nodes[party].store;
        (!disk.crashed()).then(|| {
            self.disks[party].lock().unwrap().observed = true;
            let seen = see(&disk.store());
            self.disks[party].lock().unwrap().observed = false;
            seen
        })
    }

    /// The slots of a party, as they are on disk.
    fn slots(&self, party: usize) -> Option<Vec<Slot>> {
        let all = |store: &Store| store.rows.under(Table::Slots, &RowKey::default()).unwrap();
        let rows = self.look(party, all)?;
        Some(rows.iter().map(|(_, row)| Slot::from_row(row).unwrap()).collect())
    }
}
