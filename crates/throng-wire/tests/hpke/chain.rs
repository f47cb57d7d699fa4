//! A whole chain in one place, which walks reports from the client to the analyzer.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::Rng;
use throng_wire::{Binding, CollectionId, LAYER, LayerSecret, Opener, Seal, Shape};

/// The secrets of all hops, and the time they work at.
pub struct Chain {
    pub shape: Shape,
    pub collection: CollectionId,
    pub epoch: u64,
    pub window: u64,
    pub secrets: Vec<LayerSecret>,
}

impl Chain {
    pub fn generate(shape: Shape, rng: &mut ChaCha12Rng) -> Self {
        let mut id = [0; 32];
        rng.fill_bytes(&mut id);
        let secrets = (0..=shape.mixes).map(|_| LayerSecret::generate(rng)).collect();
        Self { shape, collection: CollectionId::new(id), epoch: 7, window: 4, secrets }
    }

    pub fn seal(&self) -> Seal {
        let keys: Vec<_> = self.secrets.iter().map(LayerSecret::public).collect();
        Seal::new(&self.shape, self.collection, self.epoch, self.window, &keys).unwrap()
    }

    pub fn secret(&self, hop: u8) -> &LayerSecret {
        &self.secrets[usize::from(hop) - 1]
    }

    pub fn binding(&self, hop: u8) -> Binding {
        let epoch = if hop == 1 { self.epoch } else { self.window };
        let analyzer = hop == self.shape.analyzer();
        Binding { collection: self.collection, epoch, hop, analyzer }
    }

    pub fn opener(&self, hop: u8) -> Opener {
        Opener::new(self.secret(hop), &self.binding(hop)).unwrap()
    }

    /// The records that leave every hop in turn, or the first step that fails for any of them.
    pub fn walk(&self, report: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, String> {
        if report.len() != self.shape.report_bytes() {
            return Err("length".into());
        }
        let mut stages = Vec::new();
        let mut records = vec![report.to_vec()];
        for hop in 1..=self.shape.analyzer() {
            let opener = self.opener(hop);
            let open = |record: &Vec<u8>| {
                let mut opened = vec![0; record.len() - LAYER];
                opener.open(record, &mut opened).map(|()| opened).map_err(|_| self.step(hop))
            };
            records = records.iter().map(open).collect::<Result<_, _>>()?;
            if hop == 1 {
                let onions = records[0].chunks_exact(self.shape.record_bytes(2));
                records = onions.map(<[u8]>::to_vec).collect();
            }
            stages.push(records.clone());
        }
        Ok(stages)
    }

    /// What the vectors call the opening at a hop.
    pub fn step(&self, hop: u8) -> String {
        if hop == self.shape.analyzer() {
            "open analyzer".into()
        } else {
            format!("open hop {hop}")
        }
    }
}
