//! Asking one mix to sign the notices of a board, and whether it dropped the rounds that never
//! came.

use super::peers::{Failure, Peers};
use super::trouble::Trouble;
use super::{Task, pause};
use crate::Error;
use std::collections::BTreeMap;
use std::sync::Arc;
use throng_mix::statement;
use throng_wire::Notice;
use tokio::sync::Notify;

impl Task {
    /// Asks a mix for every signature that is missing, for ever.
    pub async fn notices(self, peers: Peers, hop: u8, url: String) {
        let base = format!("{url}/v1/collections/{}", self.party.id());
        let mix = Target { peers, hop, base };
        let (mut troubles, mut waits) = (BTreeMap::new(), BTreeMap::new());
        let nobody = Notify::new();
        loop {
            self.ask_for_signatures(&mix, &mut troubles).await;
            self.ask_for_rounds(&mix, &mut waits).await;
            pause(&nobody).await;
        }
    }

    /// Asks for signatures. A notice that the mix does not sign holds up no other.
    async fn ask_for_signatures(&self, mix: &Target, troubles: &mut BTreeMap<u64, Trouble>) {
        let unsigned = self.party.noticeboard().and_then(|board| board.unsigned(mix.hop));
        let unsigned = unsigned.unwrap_or_default();
        troubles.retain(|round, _| unsigned.iter().any(|(notice, _)| notice.round == *round));
        for (notice, own) in &unsigned {
            let new = || Trouble::new("notices", self.party.id());
            let trouble = troubles.entry(notice.round).or_insert_with(new);
            if !trouble.due() {
                continue;
            }
            match self.ask_to_sign(mix, notice, own).await {
                Ok(()) => trouble.over(),
                Err(reason) => {
                    self.node.metrics.failed("notices");
                    trouble.met(&format!("hop {}, round {}: {reason}", mix.hop, notice.round));
                }
            }
        }
    }

    async fn ask_to_sign(
        &self,
        mix: &Target,
        notice: &Notice,
        own: &[u8; 64],
    ) -> Result<(), String> {
        let (hop, round) = (mix.hop, notice.round);
        let url = format!("{}/notices/{round}", mix.base);
        let answer = mix.peers.tell(&url, statement(notice, own), SIGNATURE).await;
        if answer == Err(Failure::Status(409)) {
            let collection = self.party.id();
            tracing::error!(%collection, hop, round, "a mix has signed another notice");
        }
        let answer = answer.map_err(|failure| failure.to_string())?;
        let signature = answer.as_slice().try_into().map_err(|_| Failure::Broken.to_string())?;
        let party = Arc::clone(&self.party);
        let collect = move |_: &_| party.noticeboard()?.collect(hop, round, &signature);
        self.node.blocking(collect).await.map_err(|error: Error| error.to_string())?;
        tracing::info!(collection = %self.party.id(), hop, round, "a mix signed a notice");
        Ok(())
    }

    /// Asks whether the mix dropped the rounds that never came, so that nobody waits in vain.
    async fn ask_for_rounds(&self, mix: &Target, waits: &mut BTreeMap<u64, Trouble>) {
        let awaited = self.awaited();
        waits.retain(|round, _| awaited.contains(round));
        for round in awaited {
            let new = || Trouble::new("notices", self.party.id());
            let wait = waits.entry(round).or_insert_with(new);
            if !wait.due() {
                continue;
            }
            let answer = mix.peers.get(&format!("{}/bulletins/{round}", mix.base), 0).await;
            if let (Err(Failure::Status(410)), Ok(board)) = (answer, self.party.noticeboard()) {
                board.dropped_before(round);
                let collection = self.party.id();
                tracing::info!(%collection, hop = mix.hop, round, "a mix dropped the round");
            }
            wait.wait();
        }
    }

    /// The last rounds of which nothing is heard: whoever waits for a bulletin waits for one of
    /// them.
    fn awaited(&self) -> Vec<u64> {
        let Ok(board) = self.party.noticeboard() else { return Vec::new() };
        board.awaited(self.node.now()).take(AWAITED).collect()
    }
}

/// A mix, and the address at which it answers for this board.
struct Target {
    peers: Peers,
    hop: u8,
    base: String,
}

const SIGNATURE: usize = 64;

/// The most rounds that are asked for at the same time.
const AWAITED: usize = 16;
