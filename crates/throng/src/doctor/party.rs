//! A party by its configuration: its files, its disk, its port, and the others of its chains.

use super::finding::Findings;
use super::{certificate, chain, client, machine};
use crate::results::in_the_open;
use reqwest::{Client, Url};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throng_collection::Collection;
use throng_server::{Access, Config, Role};
use throng_wire::{Identity, PublicIdentity};

/// Looks at everything that the configuration names. `running` says that the party should be up.
pub async fn examine(file: &Path, role: Role, running: bool, findings: &mut Findings) {
    let name = file.display();
    let config = match Config::read(role, file) {
        Ok(config) => config,
        Err(error) => {
            let remedy = "docs/operations.md has a configuration to begin with";
            return findings.fail("configuration", error.to_string(), remedy);
        }
    };
    findings.ok("configuration", format!("{name} is one of a {role}"));
    let identity = identity(&config.identity, findings);
    let seats = seats(&config, identity.as_ref(), findings);
    tls(&config, &seats, findings);
    access(&config, findings);
    data(&config.data, running, findings);
    let Some(http) = http(&config, findings) else { return };
    port(&config, &http, &seats, running, findings).await;
    let others = seats.iter().flat_map(|Seat { collection, hop }| {
        let others = (1..=collection.chain.hops()).filter(move |other| other != hop);
        others.map(|other| (Arc::clone(collection), other))
    });
    chain::examine(&http, others, findings).await;
}

/// The party's place in one collection.
struct Seat {
    collection: Arc<Collection>,
    hop: u8,
}

fn identity(file: &Path, findings: &mut Findings) -> Option<PublicIdentity> {
    match Identity::read(file) {
        Ok(identity) => {
            let says = format!("{} is that of {}", file.display(), identity.public());
            findings.ok("identity", says);
            Some(identity.public())
        }
        Err(error) => {
            let remedy = if file.exists() {
                "collections name a party by its identity, so it must be the file it began with"
            } else {
                "make it with throng keygen --out, or correct `identity`"
            };
            findings.fail("identity", error.to_string(), remedy);
            None
        }
    }
}

/// The collections that can be run, and where in them this party is.
fn seats(config: &Config, identity: Option<&PublicIdentity>, findings: &mut Findings) -> Vec<Seat> {
    let mut seats: Vec<Seat> = Vec::new();
    for file in &config.collections {
        let Some(collection) = client::collection(file, findings) else { continue };
        chain::schedule(&collection, false, findings);
        let Some(identity) = identity else { continue };
        let Some(hop) = seat(&collection, config.role, identity, findings) else { continue };
        if seats.iter().any(|seat| seat.collection.id() == collection.id()) {
            let says = format!("{} is there twice", file.display());
            findings.fail("collection", says, "take it out of `collections` once");
            continue;
        }
        seats.push(Seat { collection: Arc::new(collection), hop });
    }
    seats
}

/// The hop of the identity, if it has this role there.
fn seat(
    collection: &Collection,
    role: Role,
    identity: &PublicIdentity,
    findings: &mut Findings,
) -> Option<u8> {
    let chain = &collection.chain;
    let Some((hop, party)) = chain.parties().find(|(_, party)| party.identity == *identity) else {
        let names: Vec<&str> = chain.parties().map(|(_, party)| party.name.as_str()).collect();
        findings.fail(
            "place",
            format!("the identity is none of {} in it", names.join(", ")),
            "use the key file of one of them, or the right collection file",
        );
        return None;
    };
    let found = if hop == chain.hops() { Role::Analyzer } else { Role::Mix };
    if found != role {
        findings.fail(
            "place",
            format!("this is {}, its {found}, not a {role}", party.name),
            format!("start it with throng serve {found}"),
        );
        return None;
    }
    findings.ok("place", format!("this is {}, hop {hop} of {}", party.name, chain.hops()));
    let open = chain.parties().filter(|(other, party)| *other != hop && in_the_open(&party.url));
    for (_, party) in open {
        let says = format!("{} is reached without TLS: who listens sees when", party.name);
        findings.warn("TLS", says, "let its url begin with https:// in the next collection");
    }
    Some(hop)
}

fn tls(config: &Config, seats: &[Seat], findings: &mut Findings) {
    let own: Vec<Url> = seats.iter().filter_map(|seat| Url::parse(own_url(seat)).ok()).collect();
    if let Some((certificate, key)) = &config.tls {
        let hosts = own.iter().filter_map(Url::host_str);
        certificate::examine(certificate, key, hosts, findings);
        if own.iter().any(|url| url.scheme() == "http") {
            let says = "its url says http, and the configuration has [tls]";
            findings.warn("TLS", says, "nobody gets through unless a proxy speaks TLS to it");
        }
    } else if own.iter().any(|url| url.scheme() == "https") {
        let says = "its url says https, and the configuration has no [tls]";
        findings.warn("TLS", says, "fine behind a proxy that ends TLS; else add [tls]");
    }
}

/// Checks who may read what an analyzer publishes.
fn access(config: &Config, findings: &mut Findings) {
    let here = config.listen.ip().is_loopback();
    let make = "throng token --role viewer --name NAME --file tokens.toml makes one; name the file \
                under [access] as tokens";
    match &config.access {
        None if config.role == Role::Mix => {}
        None if here => {
            let says =
                "no token is needed to read results on this machine, or through a proxy on it";
            findings.warn("access", says, make);
        }
        None => {
            let says = format!("everybody who reaches {} could read the results", config.listen);
            findings.fail("access", says, make);
        }
        Some(file) => tokens(file, make, findings),
    }
}

fn tokens(file: &Path, make: &str, findings: &mut Findings) {
    let name = file.display();
    let parsed = fs::read_to_string(file).map_err(|error| error.to_string());
    let parsed = parsed.and_then(|text| Access::parse(&text).map_err(|error| error.to_string()));
    match parsed {
        Err(error) => findings.fail("access", format!("{name}: {error}"), make),
        Ok(access) if access.tokens().is_empty() => {
            findings.warn("access", format!("{name} has no token, so nobody can read"), make);
        }
        Ok(access) => {
            let names: Vec<&str> = access.tokens().iter().map(|t| t.name.as_str()).collect();
            findings.ok("access", format!("{name} lets {} read", names.join(", ")));
        }
    }
}

/// Checks that the data directory can be used, and whether a server uses it already.
fn data(directory: &Path, running: bool, findings: &mut Findings) {
    let (check, name) = ("data", directory.display());
    let Ok(metadata) = fs::metadata(directory) else {
        return absent(directory, findings);
    };
    let mode = metadata.permissions().mode() & 0o777;
    if !metadata.is_dir() {
        findings.fail(check, format!("{name} is not a directory"), "correct `data`");
        return;
    }
    if mode & 0o077 != 0 {
        let says = format!("{name} is open to others (mode {mode:03o})");
        findings.warn(check, says, format!("chmod 700 {name}; it holds keys"));
    }
    // A server that comes up at this moment would find the lock taken.
    let used = if running { Ok(true) } else { in_use(directory) };
    match used {
        Ok(true) if running => {}
        Ok(true) => findings.ok(check, format!("{name} is in use by a running server")),
        Err(error) => {
            let remedy = format!("let the user who runs the server own {name}");
            findings.fail(check, format!("{name}: {error}"), remedy);
        }
        Ok(false) => match tempfile::tempfile_in(directory) {
            Ok(_) => findings.ok(check, format!("{name} can be written, and nobody uses it")),
            Err(error) => {
                let remedy = format!("let the user who runs the server own {name}");
                findings.fail(check, format!("{name}: {error}"), remedy);
            }
        },
    }
    machine::space(directory, findings);
}

/// Checks the place of a missing directory: it is made at the start, if its parent allows it.
fn absent(directory: &Path, findings: &mut Findings) {
    let name = directory.display();
    let above = directory.ancestors().skip(1).find(|above| above.exists() || is_empty(above));
    let above = above.filter(|above| !is_empty(above)).unwrap_or(Path::new("."));
    match tempfile::tempfile_in(above) {
        Ok(_) => {
            findings.ok("data", format!("{name} is made at the start"));
            machine::space(above, findings);
        }
        Err(error) => {
            let says = format!("{name} cannot be made: {error}");
            findings.fail("data", says, "make it for the user who runs the server, with mode 700");
        }
    }
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

fn in_use(directory: &Path) -> std::io::Result<bool> {
    let lock = match File::open(directory.join("lock")) {
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match lock.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Checks that the port is free, or that this very party listens there.
async fn port(
    config: &Config,
    http: &Client,
    seats: &[Seat],
    running: bool,
    findings: &mut Findings,
) {
    let listen = config.listen;
    let named = seats.iter().filter_map(|seat| Url::parse(own_url(seat)).ok());
    let here = |url: &Url| url.host_str() == Some("127.0.0.1") || url.domain() == Some("localhost");
    for url in named.filter(|url| here(url) && url.port_or_known_default() != Some(listen.port())) {
        let says = format!("it listens on {listen}, and the collection sends others to {url}");
        findings.warn("port", says, "fine with a proxy between them; else change `listen`");
    }
    if !running {
        match TcpListener::bind(listen) {
            Ok(_) => return findings.ok("port", format!("{listen} is free to listen on")),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => {
                let says = format!("cannot listen on {listen}: {error}");
                let remedy = "`listen` needs an address of this machine and a port above 1023";
                return findings.fail("port", says, remedy);
            }
        }
    }
    // Without a collection it cannot be told who that is.
    let Some(Seat { collection, hop }) = seats.first() else { return };
    let own = chain::look(http.clone(), collection, *hop).await;
    if own.fails() && !running {
        let says = format!("{listen} is taken, and not by this party");
        findings.fail("port", says, "stop the other program, or change `listen`");
    }
    findings.extend(own);
}

fn own_url(seat: &Seat) -> &str {
    seat.collection.chain.party(seat.hop).map_or("", |party| &party.url)
}

/// A client that trusts whom the party trusts.
fn http(config: &Config, findings: &mut Findings) -> Option<Client> {
    let read =
        |file: &PathBuf| fs::read(file).map_err(|error| format!("{}: {error}", file.display()));
    let authority = match config.authority.as_ref().map(read).transpose() {
        Ok(authority) => authority,
        Err(error) => {
            findings.fail("TLS", error, "`ca` under [peers] names a PEM file");
            return None;
        }
    };
    let http = chain::http(authority.as_deref());
    if http.is_none() {
        let remedy = "`ca` under [peers] names a PEM file with certificates, and only those";
        findings.fail("TLS", "the roots for the other parties cannot be used", remedy);
    }
    http
}
