//! Learning the keys and signatures of one other party.

use super::peers::Failure;
use super::trouble::{Obstacle, Trouble};
use super::{Neighbour, TICK, Task, Worker};
use std::sync::Arc;
use throng_wire::{Error, KeyStatement};
use tokio::time::sleep;

impl Worker {
    /// Asks one party for all that is missing, for ever.
    pub async fn keys(self, other: Neighbour) {
        let mut trouble = Trouble::new(Task::Keys, self.party.route());
        loop {
            if trouble.due() {
                match self.ask(&other).await {
                    // Its clock may be behind, or it waits for somebody itself.
                    Err(Obstacle::Peer(Failure::Status(404))) => trouble.wait(),
                    asked => {
                        let failed = |reason| format!("hop {}: {reason}", other.hop);
                        self.note(&mut trouble, asked.map_err(failed));
                    }
                }
            }
            sleep(TICK).await;
        }
    }

    /// Asks for whatever the other party has that is missing here.
    async fn ask(&self, other: &Neighbour) -> Result<(), Obstacle> {
        let route = self.party.route();
        let mut asked = Ok(());
        for window in self.party.course.keyring.windows() {
            let last = route.window_epochs(window).end.saturating_sub(1);
            if self.node.now() < route.schedule.deadline(last) {
                // One window that fails holds up no other.
                let one = self.ask_for(window, other).await;
                asked = asked.and(one);
            }
        }
        asked
    }

    async fn ask_for(&self, window: u64, other: &Neighbour) -> Result<(), Obstacle> {
        let (keyring, Neighbour { peers, hop, base }) = (&self.party.course.keyring, other);
        if keyring.missing(window).0.contains(hop) {
            let bytes = peers.get(&format!("{base}/keys/{window}"), STATEMENT).await?;
            let statement = KeyStatement::decode(&bytes)?;
            if statement.window != window {
                return Err(Error::Foreign { what: "key", scope: "window" }.into());
            }
            let (party, hop) = (Arc::clone(&self.party), *hop);
            let learn = move |_: &_| party.course.keyring.learn(hop, &statement);
            self.node.blocking(learn).await?;
        }
        let (keys, signatures) = keyring.missing(window);
        if keys.is_empty() && signatures.contains(hop) {
            let bytes = peers.get(&format!("{base}/cosignatures/{window}"), SIGNATURE).await?;
            let signature = bytes.as_slice().try_into();
            let signature = signature.map_err(|_| Error::Malformed { expected: "a signature" })?;
            keyring.collect(*hop, window, &signature)?;
        }
        Ok(())
    }
}

/// The most bytes of a statement.
const STATEMENT: usize = 256;

const SIGNATURE: usize = 64;
