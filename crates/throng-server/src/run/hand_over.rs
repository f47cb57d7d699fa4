//! Sending sealed batches to the next party until it signs for them.

use super::peers::{Failure, Peers};
use super::trouble::{Obstacle, Troubles};
use super::{Task, Worker, pause};
use crate::Error;
use std::sync::Arc;
use throng_mix::Outgoing;
use throng_wire::Receipt;

impl Worker {
    /// Hands batches over, for ever. A batch that the next party does not take holds up no other.
    pub async fn hand_over(self, peers: Peers) {
        let Ok(mix) = self.party.mix() else { return };
        let mut troubles = Troubles::new(Task::HandOver, Arc::clone(self.party.route()));
        loop {
            let waiting = mix.waiting();
            troubles.keep(&waiting);
            for first in waiting {
                let Some(trouble) = troubles.due(first) else { continue };
                let sent = self.send(&peers, first).await;
                self.note(trouble, sent.map_err(|reason| format!("epoch {first}: {reason}")));
            }
            pause(&self.party.leave).await;
        }
    }

    async fn send(&self, peers: &Peers, first: u64) -> Result<(), Obstacle> {
        let (at, collection) = (Arc::clone(&self.party), self.party.id());
        let outgoing = move |_: &_| Ok::<_, Error>(at.mix()?.outgoing(first)?);
        let Some(Outgoing { manifest, records }) = self.node.blocking(outgoing).await? else {
            return Ok(());
        };
        let (next, last) = (self.party.course.hop + 1, manifest.unverified().last);
        let party = self.party.route().chain.party(next).ok_or(throng_mix::Error::WrongPlace)?;
        let url =
            format!("{}/v1/collections/{collection}/batches/{next}/{first}/{last}", party.url);
        let answer = peers.put(&url, manifest.encode(), records, RECEIPT).await;
        if answer == Err(Failure::Status(409)) {
            tracing::error!(%collection, first, "the next party has another batch");
        }
        let receipt = Receipt::decode(&answer?)?;
        let at = Arc::clone(&self.party);
        let delivered = move |_: &_| Ok::<_, Error>(at.mix()?.delivered(first, receipt)?);
        self.node.blocking(delivered).await?;
        tracing::info!(%collection, first, "handed over a batch");
        self.party.work.notify_one();
        Ok(())
    }
}

/// The most bytes of a receipt.
const RECEIPT: usize = 256;
