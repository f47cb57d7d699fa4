//! Boards: notices go to the mixes to be signed, and each mix signs one of a round.

use super::{Event, Role, World};
use crate::common::identity;
use std::io::Read;
use throng_mix::store::{RowKey, Table};
use throng_mix::{Stage, read_statement, statement};
use throng_wire::{Bulletin, Notice};

impl World {
    /// Carries notices to mixes and signatures back; true if any came.
    pub(super) fn sign(&mut self) -> bool {
        let mut signed = false;
        let place = self.network.nodes.len() - 1;
        for party in 0..place {
            let hop = party as u8 + 1;
            let Some(Role::Board(board)) = &self.network.nodes[place].role else { return signed };
            for (notice, own) in board.unsigned(hop).unwrap_or_default() {
                assert!(notice.cosigned(&identity(place as u8 + 1).public(), &own));
                let stated = *self.stated.entry(notice.round).or_insert(notice);
                assert_eq!(stated, notice, "two notices of round {}", notice.round);
                if !self.hears(party, place) {
                    continue;
                }
                let signature = if self.honest(party) {
                    let Some(Role::Mix(mix)) = &self.network.nodes[party].role else { continue };
                    let Ok(signature) = mix.countersign(&notice, &own) else { continue };
                    assert_eq!(signature, notice.cosign(&identity(hop)));
                    self.signed.insert((hop, notice.round), notice);
                    signature
                } else {
                    notice.cosign(&identity(hop))
                };
                signed |= board.collect(hop, notice.round, &signature).is_ok();
            }
        }
        signed
    }

    /// Changes the notice of the first round that has one, as no noticeboard does.
    pub fn repost(&mut self) {
        let place = self.network.nodes.len() - 1;
        let own = identity(place as u8 + 1);
        self.look(place, |store| {
            let rows = store.rows.under(Table::Notices, &RowKey::default()).unwrap();
            let (notice, _) = read_statement(&rows[0].1).unwrap();
            let other = Notice { digest: [7; 32], ..notice };
            let row = statement(&other, &other.cosign(&own));
            store.rows.put(Table::Notices, &rows[0].0, &row).unwrap();
        });
    }

    /// Checks that every notice which all mixes can sign became a bulletin with the same bag, and
    /// that no mix signs another.
    pub(super) fn check_bulletins(&mut self) {
        let (place, route) = (self.network.nodes.len() - 1, self.network.route.clone());
        let Role::Board(board) = self.network.nodes[place].role() else { return };
        for (notice, _) in board.notices().unwrap() {
            let round = notice.round;
            let handed_over = |party: &usize| {
                let slot = self.network.nodes[*party].role().course().slot(round);
                slot.is_ok_and(|slot| matches!(slot.stage, Stage::Delivered { .. }))
            };
            let mut mixes = (0..place).filter(|party| self.honest(*party));
            if !mixes.all(|party| handed_over(&party)) {
                continue;
            }
            let (signed, mut bag) = board.bulletin(round).expect("a bulletin that all signed");
            let mut bytes = signed.encode();
            bag.content.read_to_end(&mut bytes).unwrap();
            let identities = route.chain.identities();
            let shown = Bulletin::decode(&bytes, &route.id, round, &identities).unwrap();
            assert_eq!(*shown.notice(), self.stated[&round]);
            let counts = &self.releases[&round].counts;
            let all = counts.iter().all(|(id, n)| shown.bag().count(&[*id]) as u64 == *n);
            assert!(all && shown.bag().len() as u64 == notice.messages, "another bag is shown");
            self.met.count(Event::Bulletin, 1);
        }
        for ((hop, round), notice) in &self.signed {
            let Role::Mix(mix) = self.network.nodes[usize::from(*hop) - 1].role() else { continue };
            let other = Notice { digest: [7; 32], ..*notice };
            let refused = mix.countersign(&other, &other.cosign(&identity(place as u8 + 1)));
            assert!(refused.is_err(), "hop {hop} signs two notices of round {round}");
        }
    }
}
