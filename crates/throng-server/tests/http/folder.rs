//! Parties that are opened from files, as `throng serve` opens them.

use crate::world::{START, World, collection, limits};
use reqwest::{Client, redirect};
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;
use throng_collection::{Collection, Prompt};
use throng_server::{Access, Clock, Config, Error, Listener, Role, Running, Server};
use throng_wire::Identity;

/// A folder with the files of two mixes and an analyzer on loopback.
pub struct Folder {
    place: TempDir,
    pub addresses: Vec<SocketAddr>,
    pub clock: Clock,
    listeners: Vec<Option<Listener>>,
}

impl Folder {
    /// Identities and addresses of all three, and the file `a.toml` of a question.
    pub async fn new() -> Self {
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        let place = tempfile::tempdir().unwrap();
        for hop in 0..3 {
            let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
            addresses.push(listener.address().unwrap());
            listeners.push(Some(listener));
            identity(hop).write(&place.path().join(format!("{hop}.key"))).unwrap();
        }
        let folder = Self { place, addresses, clock: Clock::manual(START), listeners };
        folder.write("a.toml", folder.question("a").to_toml());
        for hop in 0..3 {
            folder.configure(hop, "[\"a.toml\"]", "");
        }
        folder
    }

    /// A question along the chain.
    pub fn question(&self, words: &str) -> Collection {
        let mut question =
            collection(|hop| format!("http://localhost:{}", self.addresses[hop].port()));
        question.terms.question = Prompt::new(words);
        question
    }

    /// Writes the configuration of a party, with these collections and further sections.
    pub fn configure(&self, hop: usize, collections: &str, more: &str) {
        let text = format!(
            "listen = \"{}\"\n\
             identity = \"{hop}.key\"\n\
             data = \"data-{hop}\"\n\
             collections = {collections}\n\
             {more}\n\
             [limits]\n\
             patience = \"5s\"\n\
             threads = 1\n\
             drain = \"1000s\"\n",
            self.addresses[hop]
        );
        self.write(&format!("{hop}.toml"), &text);
    }

    /// Writes a file for its owner alone.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), Permissions::from_mode(0o600)).unwrap();
    }

    pub fn write_tokens(&self, tokens: &[&throng_server::Token]) {
        let mut access = Access::default();
        for token in tokens {
            access.add((*token).clone()).unwrap();
        }
        self.write("tokens.toml", access.to_toml());
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn config(&self, hop: usize) -> PathBuf {
        self.path(&format!("{hop}.toml"))
    }

    pub fn data(&self, hop: usize) -> PathBuf {
        self.path(&format!("data-{hop}"))
    }

    /// Opens a party as its file says, or says why not.
    pub fn open(&self, hop: usize) -> Result<Server, Error> {
        let role = if hop == 2 { Role::Analyzer } else { Role::Mix };
        Server::open(&Config::read(role, &self.config(hop))?, self.clock.clone())
    }

    /// Starts a party at its address.
    pub async fn start(&mut self, hop: usize) -> Running {
        let listener = match self.listeners[hop].take() {
            Some(listener) => listener,
            None => Listener::bind(self.addresses[hop]).await.unwrap(),
        };
        self.open(hop).unwrap().start_on(listener).unwrap()
    }

    /// A question as its clients see it: a world whose parties run here.
    pub fn world(&self, question: Collection) -> World {
        let http = Client::builder().no_proxy().redirect(redirect::Policy::none());
        World {
            id: question.id(),
            collection: question,
            boards: Vec::new(),
            identities: (0..3).map(identity).collect(),
            clock: self.clock.clone(),
            parties: Vec::new(),
            addresses: self.addresses.clone(),
            http: http.build().unwrap(),
            data: tempfile::tempdir().unwrap(),
            limits: limits(),
        }
    }
}

fn identity(hop: usize) -> Identity {
    Identity::from_seed(&[hop as u8 + 1; 32])
}
