//! Learning the keys and signatures of one other party.

use super::peers::{Failure, Peers};
use super::trouble::Trouble;
use super::{Task, pause};
use crate::Error;
use std::fmt;
use std::sync::Arc;
use throng_wire::KeyStatement;
use tokio::sync::Notify;

impl Task {
    /// Asks one party for all that is missing, for ever.
    pub async fn keys(self, peers: Peers, hop: u8, url: String) {
        let mut trouble = Trouble::new("keys", self.party.id());
        let nobody = Notify::new();
        loop {
            if trouble.due() {
                match self.ask(&peers, hop, &url).await {
                    Ok(()) => trouble.over(),
                    // Its clock may be behind, or it waits for somebody itself.
                    Err(Missing::Peer(Failure::Status(404))) => trouble.wait(),
                    Err(error) => {
                        self.node.metrics.failed("keys");
                        trouble.met(&format!("hop {hop}: {error}"));
                    }
                }
            }
            pause(&nobody).await;
        }
    }

    /// Asks for whatever the other party has that is missing here.
    async fn ask(&self, peers: &Peers, hop: u8, url: &str) -> Result<(), Missing> {
        let (route, keyring) = (self.party.route(), &self.party.course.keyring);
        let base = format!("{url}/v1/collections/{}", self.party.id());
        let mut asked = Ok(());
        for window in keyring.windows() {
            let last = route.window_epochs(window).end.saturating_sub(1);
            if self.node.now() < route.schedule.deadline(last) {
                // One window that fails holds up no other.
                let one = self.ask_for(window, peers, hop, &base).await;
                asked = asked.and(one);
            }
        }
        asked
    }

    async fn ask_for(
        &self,
        window: u64,
        peers: &Peers,
        hop: u8,
        base: &str,
    ) -> Result<(), Missing> {
        let keyring = &self.party.course.keyring;
        if keyring.missing(window).0.contains(&hop) {
            let bytes = peers.get(&format!("{base}/keys/{window}"), STATEMENT).await?;
            let statement = KeyStatement::decode(&bytes).map_err(Error::from)?;
            if statement.window != window {
                let (what, scope) = ("key", "window");
                return Err(Error::from(throng_wire::Error::Foreign { what, scope }).into());
            }
            let party = Arc::clone(&self.party);
            let learn = move |_: &_| party.course.keyring.learn(hop, &statement);
            self.node.blocking(learn).await?;
        }
        let (keys, signatures) = keyring.missing(window);
        if keys.is_empty() && signatures.contains(&hop) {
            let bytes = peers.get(&format!("{base}/cosignatures/{window}"), SIGNATURE).await?;
            let expected = "a signature";
            let signature = bytes.as_slice().try_into();
            let signature =
                signature.map_err(|_| Error::from(throng_wire::Error::Malformed { expected }));
            keyring.collect(hop, window, &signature?).map_err(Error::from)?;
        }
        Ok(())
    }
}

/// The reason why something is still missing: the other party does not have it, or it is not good.
enum Missing {
    Peer(Failure),
    Here(Error),
}

impl From<Failure> for Missing {
    fn from(failure: Failure) -> Self {
        Self::Peer(failure)
    }
}

impl From<Error> for Missing {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peer(failure) => failure.fmt(f),
            Self::Here(error) => error.fmt(f),
        }
    }
}

/// The most bytes of a statement.
const STATEMENT: usize = 256;

const SIGNATURE: usize = 64;
