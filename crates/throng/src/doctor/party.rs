//! A party by its configuration: its files, its disk, its port, and the others of its chains.

use super::finding::Findings;
use super::{certificate, chain, client, machine, read};
use reqwest::{Client, Url};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use throng_collection::Collection;
use throng_server::{Access, Config, Role, in_the_open, read_text};
use throng_wire::{Identity, PublicIdentity};

/// Looks at everything that the configuration names. `running` says that the party should be up.
pub async fn examine(
    file: &Path,
    role: Role,
    running: bool,
    findings: &mut Findings,
) -> Option<()> {
    let remedy = "docs/operations.md has a configuration to begin with";
    let config = findings.need("configuration", Config::read(role, file), remedy)?;
    findings.ok("configuration", format!("{} is one of a {role}", file.display()));
    let identity = identity(&config.identity, findings);
    let seats = seats(&config, identity.as_ref(), findings);
    tls(&config, &seats, findings);
    access(&config, findings);
    machine::secrets(findings);
    let busy = data(&config.data, running, findings).unwrap_or(false);
    let http = http(&config, findings)?;
    let alone = port(&config, &http, &seats, running, findings).await;
    if busy && alone {
        let says = format!(
            "{} is in use by a running server that is not the one of {}",
            config.data.display(),
            config.listen
        );
        findings.fail("data", says, "stop that server first, or give this one another `data`");
    }
    let others = seats.iter().flat_map(|Seat { collection, hop }| {
        let others = (1..=collection.chain.hops()).filter(move |other| other != hop);
        others.map(|other| (Arc::clone(collection), other))
    });
    chain::examine(&http, others, findings).await;
    Some(())
}

/// The party's place in one collection.
struct Seat {
    collection: Arc<Collection>,
    hop: u8,
}

fn identity(file: &Path, findings: &mut Findings) -> Option<PublicIdentity> {
    let remedy = if file.exists() {
        "collections name a party by its identity, so it must be the file it began with"
    } else {
        "make it with throng keygen --out, or correct `identity`"
    };
    let public = findings.need("identity", Identity::read(file), remedy)?.public();
    findings.ok("identity", format!("{} is that of {public}", file.display()));
    Some(public)
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
    let party = chain.parties().find(|(_, party)| party.identity == *identity).ok_or_else(|| {
        let names: Vec<&str> = chain.parties().map(|(_, party)| party.name.as_str()).collect();
        format!("the identity is none of {} in it", names.join(", "))
    });
    let remedy = "use the key file of one of them, or the right collection file";
    let (hop, party) = findings.need("place", party, remedy)?;
    let found = if hop == chain.hops() { Role::Analyzer } else { Role::Mix };
    if found != role {
        let says = format!("this is {}, its {found}, not a {role}", party.name);
        findings.fail("place", says, &format!("start it with throng serve {found}"))?;
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
    let own = own_urls(seats);
    let any = |scheme| own.iter().any(|url| url.scheme() == scheme);
    if let Some((certificate, key)) = &config.tls {
        certificate::examine(certificate, key, own.iter().filter_map(Url::host_str), findings);
        if any("http") {
            let says = "its url says http, and the configuration has [tls]";
            findings.warn("TLS", says, "nobody gets through unless a proxy speaks TLS to it");
        }
    } else if any("https") {
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
        Some(file) => {
            tokens(file, make, findings);
        }
    }
}

fn tokens(file: &Path, make: &str, findings: &mut Findings) -> Option<()> {
    let name = file.display();
    let access = read_text(file).map_err(|error| format!("{name}: {error}"));
    let access =
        access.and_then(|text| Access::parse(&text).map_err(|error| format!("{name}: {error}")));
    let access = findings.need("access", access, make)?;
    let names: Vec<&str> = access.tokens().iter().map(|token| token.name.as_str()).collect();
    if names.is_empty() {
        findings.warn("access", format!("{name} has no token, so nobody can read"), make);
    } else {
        findings.ok("access", format!("{name} lets {} read", names.join(", ")));
    }
    Some(())
}

/// Checks that the data directory can be used, and returns whether a server uses it already.
fn data(directory: &Path, running: bool, findings: &mut Findings) -> Option<bool> {
    let (check, name) = ("data", directory.display());
    let Ok(metadata) = fs::metadata(directory) else {
        return absent(directory, findings).map(|()| false);
    };
    if !metadata.is_dir() {
        findings.fail(check, format!("{name} is not a directory"), "correct `data`");
        return None;
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let says = format!("{name} is open to others (mode {mode:03o})");
        findings.warn(check, says, &format!("chmod 700 {name}; it holds keys"));
    }
    let mut busy = false;
    // A server that comes up at this moment would find the lock taken.
    if !running {
        let used = in_use(directory);
        busy = matches!(used, Ok(true));
        let state = match used {
            Ok(true) => Ok(format!("{name} is in use by a running server")),
            Ok(false) => tempfile::tempfile_in(directory)
                .map(|_| format!("{name} can be written, and nobody uses it")),
            Err(error) => Err(error),
        };
        let remedy = format!("let the user who runs the server own {name}");
        findings.judge(check, state.map_err(|error| format!("{name}: {error}")), &remedy);
    }
    machine::space(directory, findings);
    Some(busy)
}

/// Checks the place of a missing directory: it is made at the start, if its parent allows it.
fn absent(directory: &Path, findings: &mut Findings) -> Option<()> {
    let name = directory.display();
    let above = directory.ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
    let file = tempfile::tempfile_in(above);
    let file = file.map_err(|error| format!("{name} cannot be made: {error}"));
    let remedy = "make it for the user who runs the server, with mode 700";
    findings.need("data", file, remedy)?;
    findings.ok("data", format!("{name} is made at the start"));
    machine::space(above, findings);
    Some(())
}

fn in_use(directory: &Path) -> std::io::Result<bool> {
    let lock = match File::open(directory.join("lock")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    match lock.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Checks that the port is free, or that this very party listens there. Returns whether it is
/// free.
async fn port(
    config: &Config,
    http: &Client,
    seats: &[Seat],
    running: bool,
    findings: &mut Findings,
) -> bool {
    let listen = config.listen;
    let here = |url: &Url| url.host_str() == Some("127.0.0.1") || url.domain() == Some("localhost");
    let elsewhere = |url: &Url| here(url) && url.port_or_known_default() != Some(listen.port());
    for url in own_urls(seats).iter().filter(|url| elsewhere(url)) {
        let says = format!("it listens on {listen}, and the collection sends others to {url}");
        findings.warn("port", says, "fine with a proxy between them; else change `listen`");
    }
    let bound = if running { None } else { Some(TcpListener::bind(listen)) };
    match bound {
        None => {}
        Some(Err(error)) if error.kind() == ErrorKind::AddrInUse => {}
        Some(bound) => {
            let free = bound.map(|_| format!("{listen} is free to listen on"));
            let free = free.map_err(|error| format!("cannot listen on {listen}: {error}"));
            let remedy = "`listen` needs an address of this machine and a port above 1023";
            findings.judge("port", free, remedy);
            return true;
        }
    }
    // Without a collection it cannot be told who that is.
    let Some(Seat { collection, hop }) = seats.first() else { return false };
    let own = chain::look(http.clone(), collection, *hop).await;
    if own.fails() && !running {
        let says = format!("{listen} is taken, and not by this party");
        findings.fail("port", says, "stop the other program, or change `listen`");
    }
    findings.extend(own);
    false
}

/// The addresses of this party in its collections.
fn own_urls(seats: &[Seat]) -> Vec<Url> {
    let parties = seats.iter().filter_map(|seat| seat.collection.chain.party(seat.hop));
    parties.filter_map(|party| Url::parse(&party.url).ok()).collect()
}

/// A client that trusts whom the party trusts.
fn http(config: &Config, findings: &mut Findings) -> Option<Client> {
    let authority = config.authority.as_deref().map(read).transpose();
    let authority = findings.need("TLS", authority, "`ca` under [peers] names a PEM file")?;
    let http = chain::http(authority.as_deref());
    let http = http.ok_or("the roots for the other parties cannot be used");
    let remedy = "`ca` under [peers] names a PEM file with certificates, and only those";
    findings.need("TLS", http, remedy)
}
