//! The network between the parties: it loses, delays, doubles and damages, and falls into parts.

use super::{Event, How, Role, World};
use crate::common::{hand_over, wire};
use std::collections::BTreeSet;
use throng_mix::{Error, Keyring};
use throng_wire::{KeyStatement, Receipt};

/// A key or a signature on its way.
pub struct Letter {
    from: usize,
    to: usize,
    window: u64,
    content: Content,
}

enum Content {
    Key(KeyStatement),
    Signature([u8; 64]),
}

impl World {
    /// True if what one party says reaches another.
    pub(super) fn hears(&self, from: usize, to: usize) -> bool {
        (self.parts >> from) & 1 == (self.parts >> to) & 1
    }

    /// Tells everybody the time of everybody else, except for these.
    pub(super) fn hear_all(&mut self, lost: u16) {
        for (place, (from, to)) in self.network.pairs().enumerate() {
            let runs = |party: usize| self.network.nodes[party].role.is_some();
            if !is_lost(lost, place) && runs(from) && runs(to) && self.hears(from, to) {
                self.hear(from, to);
            }
        }
    }

    /// Makes all keys that are due, and tells times, keys and signatures, except for these.
    pub(super) fn exchange(&mut self, lost: u16, late: bool) {
        self.hear_all(lost);
        for party in 0..self.network.nodes.len() {
            let (mut due, _) = self.judge(party);
            if !self.honest(party) {
                due = self.network.now;
            }
            if let Some(role) = &self.network.nodes[party].role {
                let _ = role.keyring().publish(due, &mut self.network.rng);
            }
        }
        let roles = self.network.nodes.iter().filter_map(|node| node.role.as_ref());
        let windows: BTreeSet<u64> = roles.flat_map(|role| role.keyring().windows()).collect();
        for window in windows {
            for told in [false, true] {
                for (place, (from, to)) in self.network.pairs().enumerate() {
                    let Some(letter) = self.letter(from, to, window, told) else { continue };
                    if !is_lost(lost, place) {
                        self.post_letter(&letter);
                    } else if late {
                        self.letters.push(letter);
                    }
                }
            }
        }
    }

    /// Brings a letter that was late.
    pub(super) fn open_letter(&mut self, which: usize) {
        if !self.letters.is_empty() {
            let letter = self.letters.swap_remove(which % self.letters.len());
            self.post_letter(&letter);
            self.met.count(Event::Letter, 1);
        }
    }

    /// What one party has to say to another: its key, or its signature once keys are `told`.
    fn letter(&self, from: usize, to: usize, window: u64, told: bool) -> Option<Letter> {
        let keyring = self.keyring(from)?;
        let content = if told {
            Content::Signature(keyring.cosignature(window).ok()?)
        } else {
            Content::Key(keyring.statement(window).ok()?)
        };
        Some(Letter { from, to, window, content })
    }

    /// A party whose clock is behind has no key yet, or has destroyed it, and hears nothing.
    fn post_letter(&self, letter: &Letter) {
        let Letter { from, to, window, content } = letter;
        let Some(keyring) = self.keyring(*to).filter(|_| self.hears(*from, *to)) else { return };
        let hop = *from as u8 + 1;
        let _ = match content {
            Content::Key(statement) => keyring.learn(hop, statement),
            Content::Signature(signature) => keyring.collect(hop, *window, signature),
        };
    }

    fn keyring(&self, party: usize) -> Option<&Keyring> {
        Some(self.network.nodes[party].role.as_ref()?.keyring())
    }

    /// Hands over all that waits, once; true if anything came of it. What is not taken holds up
    /// nothing else.
    pub(super) fn deliver_all(&mut self, party: usize) -> bool {
        let Some(Role::Mix(mix)) = &self.network.nodes[party].role else { return false };
        let (mut delivered, mut which) = (false, 0);
        for _ in mix.waiting() {
            if self.deliver(party, which, How::Well) {
                delivered = true;
            } else {
                which += 1;
            }
        }
        delivered
    }

    /// Makes one hand-over, and returns true if anything came of it.
    pub(super) fn deliver(&mut self, party: usize, which: usize, how: How) -> bool {
        let Some(Role::Mix(mix)) = &self.network.nodes[party].role else { return false };
        let waiting = mix.waiting();
        let Some(&first) = waiting.get(which % waiting.len().max(1)) else { return false };
        let Ok(Some(outgoing)) = mix.outgoing(first) else { return false };
        let batch = wire(outgoing);
        self.check_left(party as u8 + 1, first, &batch);
        let to = party + 1;
        let receipt = match how {
            How::Well => self.carry(party, to, &batch),
            How::RequestLost => None,
            How::AnswerLost => {
                self.carry(party, to, &batch);
                None
            }
            How::Twice => {
                let first = self.carry(party, to, &batch);
                let second = self.carry(party, to, &batch);
                assert!(first.is_none() || second.is_none() || first == second, "one receipt");
                first.or(second)
            }
            How::Delayed => {
                self.post.push((party, to, batch));
                None
            }
            How::Cut(bytes) => self.carry(party, to, &batch[..usize::from(bytes) % batch.len()]),
            How::Flipped(bit) => {
                let (mut batch, bit) = (batch.clone(), bit as usize % (8 * batch.len()));
                batch[bit / 8] ^= 1 << (bit % 8);
                self.carry(party, to, &batch)
            }
        };
        let Some(receipt) = receipt else { return false };
        let receipt = Receipt::decode(&receipt.encode()).unwrap();
        match &self.network.nodes[party].role {
            Some(Role::Mix(mix)) => mix.delivered(first, receipt).is_ok(),
            _ => false,
        }
    }

    /// Brings a copy of an earlier batch.
    pub(super) fn late(&mut self, which: usize) {
        if !self.post.is_empty() {
            let (from, to, batch) = self.post.swap_remove(which % self.post.len());
            self.carry(from, to, &batch);
        }
    }

    /// Brings a batch to a party that believes its clock, and its receipt back. Nothing that honest
    /// parties send is in conflict with anything.
    pub(super) fn carry(&mut self, from: usize, to: usize, batch: &[u8]) -> Option<Receipt> {
        if !self.hears(from, to) {
            return None;
        }
        let now = self.believed(to)?;
        let taken = hand_over(self.network.nodes[to].role.as_ref()?.course(), batch, now);
        self.check_times(to);
        match taken {
            Ok(receipt) => {
                self.check_receipt(to, batch, &receipt);
                Some(receipt)
            }
            Err(Error::Conflict) => {
                assert!(!self.honest(from), "hop {} sees a conflict", to + 1);
                self.check_evidence(to, batch);
                None
            }
            Err(error) => {
                self.met.count(Event::Early, matches!(error, Error::Early).into());
                None
            }
        }
    }
}

fn is_lost(lost: u16, place: usize) -> bool {
    lost & (1 << (place % 16)) != 0
}
