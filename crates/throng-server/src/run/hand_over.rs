//! Sending sealed batches to the next party until it signs for them.

use super::peers::{Failure, Peers};
use super::trouble::Trouble;
use super::{Task, pause};
use crate::{Error, Outgoing, Slot, Stage};
use std::collections::BTreeMap;
use std::sync::Arc;
use throng_wire::Receipt;

impl Task {
    /// Hands over, for ever. A batch that the next party does not take holds up no other.
    pub async fn hand_over(self, peers: Peers) {
        let mut troubles: BTreeMap<u64, Trouble> = BTreeMap::new();
        loop {
            let sealed = |slot: &Slot| matches!(slot.stage, Stage::Sealed(_)).then_some(slot.first);
            let waiting: Vec<u64> = self.seat.slots().iter().filter_map(sealed).collect();
            troubles.retain(|first, _| waiting.contains(first));
            for first in waiting {
                let new = || Trouble::new("hand over", self.seat.id);
                let trouble = troubles.entry(first).or_insert_with(new);
                if !trouble.due() {
                    continue;
                }
                match self.send(&peers, first).await {
                    Ok(()) => trouble.over(),
                    Err(reason) => {
                        self.node.metrics.failed("hand over");
                        trouble.met(&format!("epoch {first}: {reason}"));
                    }
                }
            }
            pause(&self.seat.leave).await;
        }
    }

    async fn send(&self, peers: &Peers, first: u64) -> Result<(), String> {
        let said = |error: Error| error.to_string();
        let seat = Arc::clone(&self.seat);
        let outgoing = self.node.blocking(move |_| seat.mix()?.outgoing_at(first)).await;
        let Some(Outgoing { manifest, records, .. }) = outgoing.map_err(said)? else {
            return Ok(());
        };
        let (next, last) = (self.seat.hop() + 1, manifest.unverified().last);
        let party = self.seat.route().chain.party(next);
        let url = &party.ok_or_else(|| said(Error::WrongPlace))?.url;
        let url = format!("{url}/v1/collections/{}/batches/{next}/{first}/{last}", self.seat.id);
        let answer = peers.put(&url, manifest.encode(), records, RECEIPT).await;
        if answer == Err(Failure::Status(409)) {
            tracing::error!(collection = %self.seat.id, first, "the next party has another batch");
        }
        let answer = answer.map_err(|failure| failure.to_string())?;
        let receipt = Receipt::decode(&answer).map_err(|error| error.to_string())?;
        let seat = Arc::clone(&self.seat);
        let delivered = move |_: &_| seat.mix()?.delivered(first, receipt);
        self.node.blocking(delivered).await.map_err(said)?;
        tracing::info!(collection = %self.seat.id, first, "handed over a batch");
        self.seat.work.notify_one();
        Ok(())
    }
}

/// Bytes of a receipt at most.
const RECEIPT: usize = 256;
