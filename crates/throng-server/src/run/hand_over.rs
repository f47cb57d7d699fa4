//! Sending sealed batches to the next party until it signs for them.

use super::peers::{Failure, Peers};
use super::trouble::Trouble;
use super::{Task, pause};
use crate::Error;
use std::collections::BTreeMap;
use std::sync::Arc;
use throng_mix::{Outgoing, Slot, Stage};
use throng_wire::Receipt;

impl Task {
    /// Hands batches over, for ever. A batch that the next party does not take holds up no other.
    pub async fn hand_over(self, peers: Peers) {
        let mut troubles: BTreeMap<u64, Trouble> = BTreeMap::new();
        loop {
            let sealed = |slot: &Slot| matches!(slot.stage, Stage::Sealed(_)).then_some(slot.first);
            let waiting: Vec<u64> = self.party.course.slots().iter().filter_map(sealed).collect();
            troubles.retain(|first, _| waiting.contains(first));
            for first in waiting {
                let new = || Trouble::new("hand over", self.party.id());
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
            pause(&self.party.leave).await;
        }
    }

    async fn send(&self, peers: &Peers, first: u64) -> Result<(), String> {
        let said = |error: Error| error.to_string();
        let party = Arc::clone(&self.party);
        let outgoing =
            self.node.blocking(move |_| Ok::<_, Error>(party.mix()?.outgoing_at(first)?)).await;
        let Some(Outgoing { manifest, records, .. }) = outgoing.map_err(said)? else {
            return Ok(());
        };
        let (next, last) = (self.party.course.hop + 1, manifest.unverified().last);
        let party = self.party.route().chain.party(next);
        let url = &party.ok_or_else(|| said(throng_mix::Error::WrongPlace.into()))?.url;
        let url = format!("{url}/v1/collections/{}/batches/{next}/{first}/{last}", self.party.id());
        let answer = peers.put(&url, manifest.encode(), records, RECEIPT).await;
        if answer == Err(Failure::Status(409)) {
            let collection = self.party.id();
            tracing::error!(%collection, first, "the next party has another batch");
        }
        let answer = answer.map_err(|failure| failure.to_string())?;
        let receipt = Receipt::decode(&answer).map_err(|error| error.to_string())?;
        let party = Arc::clone(&self.party);
        let delivered = move |_: &_| Ok::<_, Error>(party.mix()?.delivered(first, receipt)?);
        self.node.blocking(delivered).await.map_err(said)?;
        tracing::info!(collection = %self.party.id(), first, "handed over a batch");
        self.party.work.notify_one();
        Ok(())
    }
}

/// The most bytes of a receipt.
const RECEIPT: usize = 256;
