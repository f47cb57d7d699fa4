//! The clients: reports, and what becomes of them on the way to the first mix.

use super::{CATEGORIES, Kind, Role, World};
use rand_core::Rng;
use throng_wire::{Binding, LAYER, Layer, LayerPublic};

/// A report that a client sent, or tried to send.
pub struct Report {
    pub epoch: u64,
    pub id: u8,
    pub kind: Kind,
    pub bytes: Vec<u8>,
    pub acknowledged: bool,
}

impl World {
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

    pub(super) fn which(&self, which: u8) -> Vec<usize> {
        let count = self.reports.len();
        (count > 0).then(|| usize::from(which) % count.max(1)).into_iter().collect()
    }

    pub(super) fn noise(&mut self, bytes: usize) -> Vec<u8> {
        let mut noise = vec![0; bytes];
        self.network.rng.fill_bytes(&mut noise);
        noise
    }

    /// Makes a report, if there are keys to seal it to.
    pub(super) fn report(&mut self, later: i8, kind: Kind) -> Option<usize> {
        let route = self.network.route.clone();
        let epoch = route.schedule.epoch_at(self.network.now)?.checked_add_signed(later.into());
        let epoch = epoch.filter(|epoch| *epoch < route.epochs)?;
        let keys = self.keys(route.schedule.window_of(epoch))?;
        let id = Some(self.next_id).filter(|id| *id < FORGED)?;
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
                let binding = Binding { collection: route.id, epoch, hop: 1, analyzer: false };
                let layer = Layer::new(&keys[0], &binding).unwrap();
                bytes = layer.seal(&inside, &mut self.network.rng).unwrap();
            }
        }
        self.reports.push(Report { epoch, id, kind, bytes, acknowledged: false });
        Some(self.reports.len() - 1)
    }

    /// The keys of a window, once there is a directory that every party signed.
    pub(super) fn keys(&self, window: u64) -> Option<Vec<LayerPublic>> {
        let route = &self.network.route;
        let signed = self.directories.get(&window)?;
        let directory = signed.verify(&route.id, window, &route.chain.identities()).unwrap();
        Some(directory.keys.clone())
    }

    /// Sends reports in one body, for the epoch of the first.
    pub(super) fn upload(&mut self, reports: &[usize], more: &[u8]) {
        let Some(first) = reports.first() else { return };
        let epoch = self.reports[*first].epoch;
        let mut body: Vec<u8> = more.to_vec();
        for report in reports {
            body.extend(&self.reports[*report].bytes);
        }
        if self.accept(epoch, &body) {
            for report in reports {
                self.reports[*report].acknowledged = true;
            }
        }
    }

    pub(super) fn retry(&mut self) {
        for which in 0..self.reports.len() {
            if !self.reports[which].acknowledged {
                self.upload(&[which], &[]);
            }
        }
    }

    /// Sends a report for another epoch than its own.
    pub(super) fn misplace(&mut self, which: u8, later: i8) {
        let now = self.clocks[0].wall(self.network.now);
        let epoch = self.network.route.schedule.epoch_at(now).unwrap_or(0);
        let epoch = epoch.checked_add_signed(later.into()).unwrap_or(0);
        for report in self.which(which) {
            if self.reports[report].epoch != epoch {
                let bytes = self.reports[report].bytes.clone();
                self.accept(epoch, &bytes);
            }
        }
    }

    pub(super) fn bulk(&mut self, which: u8) {
        let Some(fresh) = self.report(0, Kind::Valid) else { return };
        let again = self.which(which);
        let same = |r: &&usize| self.reports[**r].epoch == self.reports[fresh].epoch;
        let mut all = vec![fresh];
        all.extend(again.iter().filter(same).flat_map(|r| [*r, *r]));
        let noise = self.noise(self.network.route.shape.report_bytes());
        self.upload(&all, &noise);
    }

    pub(super) fn part(&mut self, bytes: usize) {
        let epoch = self.network.route.epoch_at(self.network.now).unwrap_or(0);
        let noise = self.noise(bytes);
        let whole = self.network.route.shape.report_bytes();
        if !noise.len().is_multiple_of(whole) {
            assert!(!self.accept(epoch, &noise), "part of a report");
        }
    }

    /// Gives a body to the first mix, which takes nothing while it doubts its clock. The adversary
    /// answers nothing that anybody could rely on.
    fn accept(&mut self, epoch: u64, body: &[u8]) -> bool {
        if !self.honest(0) || self.judge(0).1.is_doubt() {
            return false;
        }
        let now = self.clocks[0].wall(self.network.now);
        let Some(Role::Mix(mix)) = &self.network.nodes[0].role else { return false };
        mix.accept(epoch, body, now).is_ok()
    }
}

/// The message in all records that an adversary seals.
pub const FORGED: u8 = CATEGORIES as u8 - 1;
