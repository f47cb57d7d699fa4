//! A collection as bytes, in one way only: fixed order, every field (`docs/protocol.md`, 2.2).
//!
//! Comments, order and spelling of the file are not in them, so they do not change the id.

use crate::{Collection, Prompt, Terms};
use sha2::{Digest, Sha256};
use throng_wire::bytes::Writer;
use throng_wire::{Below, Chain, CollectionId, Party, Schedule};

impl Collection {
    /// All fields as bytes. Integers are big-endian, floats their 64 bits, texts and lists counted
    /// by a `u32`.
    ///
    /// ```text
    /// text ‖ value ‖ low ‖ high ‖ unit ‖ labels
    /// ‖ epsilon ‖ delta ‖ crowd ‖ corrupt ‖ epochs ‖ lifetime epsilon ‖ lifetime delta
    /// ‖ mechanism key ‖ parameters, each: name ‖ integers
    /// ‖ start ‖ every ‖ grace ‖ window (0: expire)
    /// ‖ mixes, each: name ‖ url ‖ identity ‖ analyzer: the same
    /// ```
    pub fn canonical(&self) -> Vec<u8> {
        let mut to = Writer::default();
        terms(&mut to, &self.terms);
        course(&mut to, &self.schedule, &self.chain);
        to.0
    }
}

/// SHA-256(label ‖ 0x00 ‖ canonical bytes).
pub(crate) fn id(label: &str, canonical: &[u8]) -> CollectionId {
    let hash = Sha256::new().chain_update(label).chain_update([0]).chain_update(canonical);
    CollectionId::new(hash.finalize().into())
}

/// Writes `start ‖ every ‖ grace ‖ window (0: expire)`, then the mixes, each as `name ‖ url ‖
/// identity`, and the analyzer in the same way.
pub(crate) fn course(to: &mut Writer, schedule: &Schedule, chain: &Chain) {
    let window = match schedule.below {
        Below::Expire => 0,
        Below::Merge { window } => window,
    };
    to.u64(schedule.start).u64(schedule.every).u64(schedule.grace).u64(window);
    to.u32(chain.mixes.len() as u32);
    for (_, Party { name, url, identity }) in chain.parties() {
        to.text(name).text(url).raw(identity.as_bytes());
    }
}

fn terms(to: &mut Writer, Terms { question, promise, mechanism }: &Terms) {
    let Prompt { text, low, high, unit, labels } = question;
    to.text(text).text(mechanism.kind().name()).f64(*low).f64(*high).text(unit);
    to.u32(labels.len() as u32);
    for label in labels {
        to.text(label);
    }
    to.f64(promise.epsilon.get()).f64(promise.delta.get()).u64(promise.crowd.get());
    to.f64(promise.corrupt).u64(promise.epochs);
    to.f64(promise.lifetime.0.get()).f64(promise.lifetime.1.get());
    to.text(mechanism.key().name());
    let parameters = mechanism.parameters();
    to.u32(parameters.len() as u32);
    for (name, integers) in parameters {
        to.text(name).u32(integers.len() as u32);
        for integer in integers {
            to.u64(integer);
        }
    }
}

pub(crate) const QUESTION: &str = "throng/1 collection";
pub(crate) const BOARD: &str = "throng/1 board";
