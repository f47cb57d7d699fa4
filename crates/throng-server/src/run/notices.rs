//! Asking one mix to sign the notices of a board, and whether it dropped the rounds that never
//! came.

use super::peers::Failure;
use super::trouble::{Obstacle, Troubles};
use super::{Neighbour, TICK, Task, Worker};
use crate::Noticeboard;
use std::sync::Arc;
use throng_mix::statement;
use throng_wire::Notice;
use tokio::time::sleep;

impl Worker {
    /// Asks a mix for every signature that is missing, for ever.
    pub async fn notices(self, mix: Neighbour) {
        let Ok(board) = self.party.noticeboard() else { return };
        let new = || Troubles::new(Task::Notices, Arc::clone(self.party.route()));
        let (mut troubles, mut waits) = (new(), new());
        loop {
            self.ask_for_signatures(board, &mix, &mut troubles).await;
            self.ask_for_rounds(board, &mix, &mut waits).await;
            sleep(TICK).await;
        }
    }

    /// Asks for signatures. A notice that the mix does not sign holds up no other.
    async fn ask_for_signatures(
        &self,
        board: &Noticeboard,
        mix: &Neighbour,
        troubles: &mut Troubles,
    ) {
        let unsigned = board.unsigned(mix.hop).unwrap_or_default();
        let rounds: Vec<u64> = unsigned.iter().map(|(notice, _)| notice.round).collect();
        troubles.keep(&rounds);
        for (notice, own) in &unsigned {
            let Some(trouble) = troubles.due(notice.round) else { continue };
            let asked = self.ask_to_sign(mix, notice, own).await;
            let failed = |reason| format!("hop {}, round {}: {reason}", mix.hop, notice.round);
            self.note(trouble, asked.map_err(failed));
        }
    }

    async fn ask_to_sign(
        &self,
        mix: &Neighbour,
        notice: &Notice,
        own: &[u8; 64],
    ) -> Result<(), Obstacle> {
        let (hop, round, collection) = (mix.hop, notice.round, self.party.id());
        let url = format!("{}/notices/{round}", mix.base);
        let answer = mix.peers.tell(&url, statement(notice, own), SIGNATURE).await;
        if answer == Err(Failure::Status(409)) {
            tracing::error!(%collection, hop, round, "a mix has signed another notice");
        }
        let signature = answer?.as_slice().try_into().map_err(|_| Failure::Broken)?;
        let party = Arc::clone(&self.party);
        let collect = move |_: &_| party.noticeboard()?.collect(hop, round, &signature);
        self.node.blocking(collect).await?;
        tracing::info!(%collection, hop, round, "a mix signed a notice");
        Ok(())
    }

    /// Asks whether the mix dropped the last rounds of which nothing is heard, so that nobody waits
    /// in vain for their bulletins.
    async fn ask_for_rounds(&self, board: &Noticeboard, mix: &Neighbour, waits: &mut Troubles) {
        let awaited: Vec<u64> = board.awaited(self.node.now()).take(AWAITED).collect();
        waits.keep(&awaited);
        for round in awaited {
            let Some(wait) = waits.due(round) else { continue };
            let answer = mix.peers.get(&format!("{}/bulletins/{round}", mix.base), 0).await;
            if answer == Err(Failure::Status(410)) {
                board.dropped_before(round);
                let collection = self.party.id();
                tracing::info!(%collection, hop = mix.hop, round, "a mix dropped the round");
            }
            wait.wait();
        }
    }
}

const SIGNATURE: usize = 64;

/// The most rounds that are asked for at the same time.
const AWAITED: usize = 16;
