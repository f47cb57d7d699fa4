//! Two mixes and an analyzer as processes, relays between them, and what they serve.

use crate::party::Party;
use crate::relay::{Link, Relay};
use crate::topic::{Topic, topics};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use throng_wire::Identity;
use tokio::net::TcpListener;

pub struct Chain {
    pub topics: [Topic; 2],
    /// The parties by hop, from 1.
    pub parties: Vec<Arc<Party>>,
    relays: Vec<Relay>,
}

impl Chain {
    /// Makes the files of all parties in a folder and starts them. Lanes are chains that run at the
    /// same time, each at addresses of its own.
    pub async fn start(folder: &Path, lane: u8, shim: &Path) -> Self {
        let identities: Vec<_> = (1..=3).map(|seed| Identity::from_seed(&[seed; 32])).collect();
        let at = |hop: u8, port| SocketAddr::new(address(lane, hop), port);
        let party = |hop: u8| throng_wire::Party {
            name: NAMES[usize::from(hop) - 1].into(),
            url: format!("http://{}", at(hop, RELAYED)),
            identity: identities[usize::from(hop) - 1].public(),
        };
        let chain = throng_wire::Chain { mixes: vec![party(1), party(2)], analyzer: party(3) };
        let topics = topics(&chain);
        for (topic, name) in topics.iter().zip(["board.toml", "question.toml"]) {
            fs::write(folder.join(name), &topic.file).unwrap();
        }
        let (mut parties, mut relays) = (Vec::new(), Vec::new());
        for (hop, name) in (1..).zip(NAMES) {
            identities[usize::from(hop) - 1].write(&folder.join(format!("{name}.key"))).unwrap();
            let direct = at(hop, DIRECT);
            let text = format!(
                "listen = \"{direct}\"\nidentity = \"{name}.key\"\ndata = \"{name}\"\n\
                 collections = [\"board.toml\", \"question.toml\"]\n"
            );
            fs::write(folder.join(format!("{name}.toml")), text).unwrap();
            let listener = TcpListener::bind(at(hop, RELAYED)).await.unwrap();
            let sources = [CLIENTS].into_iter().chain((1..=3).map(|hop| address(lane, hop)));
            relays.push(Relay::start(listener, direct, sources));
            parties.push(Arc::new(Party::new(folder, name, hop, direct, shim)));
        }
        for party in &parties {
            party.start();
        }
        Self { topics, parties, relays }
    }

    /// Sets the link to a party from another, or from the clients with hop 0.
    pub fn link(&self, from: u8, to: u8, link: Link) {
        let source = match from {
            0 => CLIENTS,
            from => self.party(from).source(),
        };
        self.relays[usize::from(to) - 1].set(source, link);
    }

    /// True if the relay of every party has heard every other.
    pub fn all_heard(&self) -> bool {
        self.relays.iter().zip(1..).all(|(relay, to)| {
            let mut others = self.parties.iter().filter(|party| party.hop != to);
            others.all(|party| relay.heard(party.source()))
        })
    }

    pub fn party(&self, hop: u8) -> &Arc<Party> {
        &self.parties[usize::from(hop) - 1]
    }

    /// The round at a time; all topics have the same.
    pub fn round(&self, time: u64) -> Option<u64> {
        self.topics[0].route.epoch_at(time)
    }

    /// The address of a path of a topic at a party, without the relay.
    pub fn direct(&self, hop: u8, topic: &Topic, path: &str) -> String {
        format!("http://{}/v1/collections/{}{path}", self.party(hop).address, topic.route.id)
    }
}

/// The true time.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The address of a party, which no other checker on this machine has.
fn address(lane: u8, hop: u8) -> IpAddr {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    Ipv4Addr::new(127, 100 + high % 100, low, 10 * lane + hop).into()
}

const NAMES: [&str; 3] = ["north", "south", "counter"];

/// Clients connect from where everybody does who does not say.
const CLIENTS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

const RELAYED: u16 = 8_000;
const DIRECT: u16 = 8_001;
