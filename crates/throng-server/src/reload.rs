//! Reading the configuration again while the server runs.
//!
//! ```text
//! tokens        those of the file from now on; sessions of tokens that are gone end
//! certificate   new connections are shown the new one
//! collections   new ones are opened and served; those that are named no more are served until
//!               their keys are destroyed
//! the rest      waits for a restart, which is said
//! ```
//!
//! Everything is read, checked and opened before anything is changed, and what is changed then
//! cannot fail. No connection ends.

use crate::config::wrong;
use crate::files::Files;
use crate::http::Shown;
use crate::party::Party;
use crate::server::{Node, Running, twice_there};
use crate::{Access, Config, Error, Token};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use throng_wire::{CollectionId, PublicIdentity};

/// The changes that a reload made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reloaded {
    /// The collections that are served from now on.
    pub added: Vec<CollectionId>,
    /// The collections that are named no more. Each is served until its keys are destroyed.
    pub leaving: Vec<CollectionId>,
    /// The settings that differ from those in force, and wait for a restart.
    pub waiting: Vec<&'static str>,
}

/// The settings that a server was opened with and keeps until it stops.
#[derive(Clone)]
pub(crate) struct Origin {
    config: Config,
    identity: PublicIdentity,
    authority: Option<Vec<u8>>,
}

/// Everything that a reload puts in place, ready to be put there.
struct Prepared {
    reloaded: Reloaded,
    shown: Option<Shown>,
    access: Option<Access>,
    opened: Vec<Arc<Party>>,
    named: BTreeSet<CollectionId>,
}

impl Running {
    /// Reads the configuration again and does as it says now: tokens, certificate, collections. No
    /// connection ends. If anything in it is wrong, nothing changes. How it went is logged, counted
    /// and written into the audit log.
    ///
    /// ```no_run
    /// use std::path::Path;
    /// use throng_server::{Clock, Config, Role, Server};
    ///
    /// # async fn example() -> Result<(), throng_server::Error> {
    /// let file = Path::new("mix.toml");
    /// let mut running =
    ///     Server::open(&Config::read(Role::Mix, file)?, Clock::System)?.start().await?;
    /// // Somebody edits the file.
    /// let reloaded = running.reload(file).await?;
    /// println!("{} more collections", reloaded.added.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn reload(&mut self, file: &Path) -> Result<Reloaded, Error> {
        let went = self.changed(file).await;
        self.node.metrics.reload(went.is_ok());
        let acts = match &went {
            Ok((reloaded, tokens)) => {
                reloaded.log();
                reloaded.acts(tokens)
            }
            Err(error) => {
                tracing::error!("reload failed, nothing changed: {error}");
                let reason = json!(error.to_string());
                vec![("reload", vec![("result", json!("failed")), ("reason", reason)])]
            }
        };
        let record = move |node: &Node| {
            for (act, particulars) in &acts {
                node.record(act, particulars);
            }
        };
        self.node.write_down(record).await;
        went.map(|(reloaded, _)| reloaded)
    }

    async fn changed(&mut self, file: &Path) -> Result<(Reloaded, Tokens), Error> {
        let origin = self.origin.clone();
        let origin = origin.ok_or_else(|| wrong("reload", "no file to read was there at first"))?;
        let (file, address) = (file.to_owned(), self.address);
        let prepare = move |node: &Node| Prepared::read(node, &origin, &file, address);
        let Prepared { mut reloaded, shown, access, opened, named } =
            self.node.blocking(prepare).await?;
        // From here on nothing fails but this, which changes all or nothing.
        reloaded.leaving = self.node.roster.change(&named, &opened).map_err(lingers)?;
        if let (Some(certificate), Some(shown)) = (&self.node.certificate, shown) {
            certificate.replace(shown);
        }
        let before = self.node.guard.access();
        let tokens = Tokens::between(before.as_ref().as_ref(), access.as_ref());
        self.node.guard.replace(access);
        for party in &opened {
            self.work.take_up(&self.node, party);
        }
        Ok((reloaded, tokens))
    }
}

impl Reloaded {
    fn log(&self) {
        let Self { added, leaving, waiting } = self;
        tracing::info!(added = added.len(), leaving = leaving.len(), "reloaded");
        for collection in leaving {
            tracing::info!(%collection, "named no more; it is served until its keys are destroyed");
        }
        for setting in waiting {
            tracing::warn!(setting, "changed in the file; it waits for a restart");
        }
    }

    /// The lines of the audit log.
    fn acts(&self, tokens: &Tokens) -> Vec<Act> {
        let Self { added, leaving, waiting } = self;
        let collection =
            |act| move |id: &CollectionId| (act, vec![("collection", json!(id.to_string()))]);
        let token = |act| {
            move |token: &Token| {
                let (name, role) = (json!(token.name), json!(token.reader.to_string()));
                (act, vec![("name", name), ("role", role)])
            }
        };
        let mut acts = vec![("reload", vec![("result", json!("ok")), ("waits", json!(waiting))])];
        acts.extend(added.iter().map(collection("collection added")));
        acts.extend(leaving.iter().map(collection("collection named no more")));
        acts.extend(tokens.removed.iter().map(token("token removed")));
        acts.extend(tokens.added.iter().map(token("token added")));
        acts
    }
}

/// An act and its particulars.
type Act = (&'static str, Vec<(&'static str, Value)>);

/// The tokens that differ before and after.
struct Tokens {
    removed: Vec<Token>,
    added: Vec<Token>,
}

impl Tokens {
    fn between(before: Option<&Access>, after: Option<&Access>) -> Self {
        let [before, after] = [before, after].map(|access| access.map_or(&[][..], Access::tokens));
        let without = |of: &[Token], those: &[Token]| {
            of.iter().filter(|token| !those.contains(token)).cloned().collect()
        };
        Self { removed: without(before, after), added: without(after, before) }
    }
}

impl Origin {
    /// The settings of a server that is opened with these files.
    pub fn new(config: &Config, files: &Files) -> Self {
        let (identity, authority) = (files.identity.public(), files.authority.clone());
        Self { config: config.clone(), identity, authority }
    }

    /// The settings that are not as they were and cannot be changed under way.
    fn differences(&self, config: &Config, files: &Files) -> Vec<&'static str> {
        let before = &self.config;
        let differ = [
            ("listen", before.listen != config.listen),
            ("identity", self.identity != files.identity.public()),
            ("data", before.data != config.data),
            ("tls", before.tls.is_some() != config.tls.is_some()),
            ("peers.ca", self.authority != files.authority),
            ("limits", before.limits != config.limits),
        ];
        differ.into_iter().filter(|(_, differs)| *differs).map(|(setting, _)| setting).collect()
    }
}

impl Prepared {
    /// Reads and opens all that the file names. Nothing that is in force is touched.
    fn read(node: &Node, origin: &Origin, file: &Path, address: SocketAddr) -> Result<Self, Error> {
        let config = Config::read(node.role, file)?;
        let files = Files::read(&config)?;
        let shown = files.tls.as_ref().map(Shown::read).transpose()?;
        node.readable_at(address, files.access.is_some())?;
        let waiting = origin.differences(&config, &files);
        let Files { topics, access, .. } = files;
        let (mut named, mut opened, served) = (BTreeSet::new(), Vec::new(), node.parties());
        for topic in topics {
            let id = topic.id();
            if !named.insert(id) {
                return Err(twice_there(id));
            }
            if served.contains_key(&id) {
                continue;
            }
            if node.roster.lingers(&id) {
                return Err(lingers(id));
            }
            let place = (node.role, &node.identity);
            let party = Party::open(&node.store, topic, place, &node.limits, &node.clock)?;
            opened.push(Arc::new(party));
        }
        let added = opened.iter().map(|party| party.id()).collect();
        let reloaded = Reloaded { added, leaving: Vec::new(), waiting };
        Ok(Self { reloaded, shown, access, opened, named })
    }
}

/// The error for a collection that was let go a moment ago and is wanted again.
fn lingers(id: CollectionId) -> Error {
    wrong("collections", format!("{id} was let go a moment ago; reload again"))
}
