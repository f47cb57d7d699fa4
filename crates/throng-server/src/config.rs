//! The file of `throng serve`: where a party listens, who it is, and what it serves.
//!
//! ```text
//! listen = "127.0.0.1:8001"
//! identity = "mix1.key"                  as `throng keygen` wrote it
//! data = "mix1-data"                     made if it is not there; one process at a time uses it
//! collections = ["steps.toml"]           any number, boards among them; the identity decides
//!                                        the place in each
//! proxies = ["127.0.0.1", "10.0.0.0/8"]  left out, nobody's X-Forwarded-For is believed
//!
//! [tls]                                  left out where a proxy in front ends TLS
//! certificate = "mix1.pem"               the chain, the party's own certificate first
//! key = "mix1-tls.key"
//!
//! [peers]
//! ca = "ca.pem"                          trust these roots for the other parties, not the system's
//!
//! [access]                               left out, everybody reads; analyzers need loopback then
//! tokens = "tokens.toml"                 as `throng token` wrote it
//!
//! [limits]                               all of it may be left out
//! upload = 1048576                       bytes of a body with reports
//! batch = 1099511627776                  bytes of a batch
//! memory = 1073741824                    bytes of records that are permuted in memory
//! threads = 2                            threads that open records
//! drain = "7d"                           how long late batches still find the keys of a window
//! requests = 4096                        requests at the same time
//! bodies = 67108864                      bytes of bodies with reports that are held at a time
//! source = 2000                          reports for one epoch from one network of clients
//! patience = "30s"                       how long a client may take
//! ```
//!
//! Paths are relative to the file. A key that is not known is refused.

use crate::Error;
use crate::text::read_text;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use throng_collection::seconds;
use throng_mix::{Limits, Network};
use toml::{Table, Value};

/// The role of a server in its collections.
///
/// ```
/// use throng_server::Role;
///
/// assert_eq!(Role::Mix.to_string(), "mix");
/// assert_eq!(Role::Analyzer.to_string(), "analyzer");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A server that takes reports or batches, permutes them and hands them on.
    Mix,
    /// A server that takes batches and publishes releases.
    Analyzer,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mix => "mix",
            Self::Analyzer => "analyzer",
        })
    }
}

/// The settings in the file.
///
/// ```
/// use std::path::Path;
/// use throng_server::{Config, Role};
///
/// let text = r#"
///     listen = "127.0.0.1:8001"
///     identity = "mix1.key"
///     data = "/var/lib/mix1"
///     collections = ["commute.toml"]
///     limits = { drain = "2d" }
/// "#;
/// let config = Config::parse(Role::Mix, text, Path::new("/etc/throng"))?;
/// assert_eq!(config.identity, Path::new("/etc/throng/mix1.key"));
/// assert_eq!((config.limits.drain, config.limits.patience), (172_800, 30));
/// assert_eq!(config.tls, None);
/// # Ok::<(), throng_server::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The role of this server, which the command states and the file does not.
    pub role: Role,
    /// The address it listens on.
    pub listen: SocketAddr,
    /// The file of its identity.
    pub identity: PathBuf,
    /// Its data directory.
    pub data: PathBuf,
    /// The files of its collections.
    pub collections: Vec<PathBuf>,
    /// Certificate and key, both PEM files, if it speaks TLS itself.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// PEM file with the only roots that are trusted for the other parties.
    pub authority: Option<PathBuf>,
    /// The file of the tokens that let people read.
    pub access: Option<PathBuf>,
    /// The limits it keeps.
    pub limits: Limits,
}

impl Config {
    /// Reads the file.
    pub fn read(role: Role, file: &Path) -> Result<Self, Error> {
        let directory = file.parent().unwrap_or(Path::new(""));
        read_file(file, |text| Self::parse(role, text, directory))
    }

    /// Reads the text of a file in this directory.
    pub fn parse(role: Role, text: &str, directory: &Path) -> Result<Self, Error> {
        let keys = "listen, identity, data, collections, proxies, tls, peers, access, limits";
        let top = Section { prefix: "", table: &table(text, keys)?, directory };
        let listen = top.text("listen")?.parse();
        let listen =
            listen.map_err(|_| top.wrong("listen", "an address such as \"127.0.0.1:8001\""))?;
        Ok(Self {
            role,
            listen,
            identity: top.path("identity")?,
            data: top.path("data")?,
            collections: top.paths("collections")?,
            tls: top.section("tls", "certificate, key", |tls| {
                Ok((tls.path("certificate")?, tls.path("key")?))
            })?,
            authority: top
                .section("peers", "ca", |peers| {
                    peers.has("ca").then(|| peers.path("ca")).transpose()
                })?
                .flatten(),
            access: top.section("access", "tokens", |access| access.path("tokens"))?,
            limits: Limits {
                proxies: top.networks("proxies")?,
                ..top.section("limits", LIMITS, limits)?.unwrap_or_default()
            },
        })
    }
}

/// Reads the text of a file as what it should be. An error names the file.
pub(crate) fn read_file<T, E: ToString>(
    file: &Path,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Error> {
    let text = read_text(file).map_err(|error| in_file(file, &error))?;
    parse(&text).map_err(|error| in_file(file, &error))
}

/// The error for a file that cannot be read, or not as what it should be.
pub(crate) fn in_file(file: &Path, error: &impl ToString) -> Error {
    Error::File { path: file.display().to_string(), reason: error.to_string() }
}

/// Reads a text in TOML that has no other than these keys.
pub(crate) fn table(text: &str, keys: &str) -> Result<Table, Error> {
    // What stands there is not repeated: it may be a secret in the wrong place.
    let table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        wrong("TOML", format!("line {line}: {}", error.message()))
    })?;
    only("", &table, keys)?;
    Ok(table)
}

/// Refuses keys that are not among these. The prefix tells where the table is.
pub(crate) fn only(prefix: &str, table: &Table, keys: &str) -> Result<(), Error> {
    let unknown = table.keys().find(|key| keys.split(", ").all(|known| known != *key));
    let Some(key) = unknown else { return Ok(()) };
    Err(wrong(format!("{prefix}{key}"), format!("not known here; there is {keys}")))
}

/// The error for a field that cannot be as it is, with a reason that names what would do.
pub(crate) fn wrong(field: impl Into<String>, reason: impl Into<String>) -> Error {
    Error::Setting { field: field.into(), reason: reason.into() }
}

fn limits(part: &Section<'_>) -> Result<Limits, Error> {
    let Limits { upload, batch, memory, threads, drain, requests, bodies, patience, .. } =
        Limits::default();
    let source = part.has("source").then(|| part.integer("source", 0, 1 << 60));
    Ok(Limits {
        upload: part.integer("upload", upload as u64, 1 << 30)? as usize,
        batch: part.integer("batch", batch, 1 << 60)?,
        memory: part.integer("memory", memory as u64, 1 << 50)? as usize,
        threads: part.integer("threads", threads as u64, 1 << 10)? as usize,
        drain: part.duration("drain", drain)?,
        requests: part.integer("requests", requests as u64, 1 << 20)? as usize,
        bodies: part.integer("bodies", bodies as u64, 1 << 40)? as usize,
        source: source.transpose()?,
        patience: part.duration("patience", patience)?,
        ..Limits::default()
    })
}

/// A table of the file, and the prefix that tells where it is.
struct Section<'a> {
    prefix: &'a str,
    table: &'a Table,
    directory: &'a Path,
}

impl Section<'_> {
    /// Reads a section that has no other than these keys, if it is there.
    fn section<T>(
        &self,
        name: &str,
        keys: &str,
        read: impl FnOnce(&Section<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.table.get(name) else { return Ok(None) };
        let table = value.as_table().ok_or_else(|| self.wrong(name, "a section"))?;
        let prefix = &format!("{name}.");
        only(prefix, table, keys)?;
        read(&Section { prefix, table, directory: self.directory }).map(Some)
    }

    fn text(&self, key: &str) -> Result<&str, Error> {
        let value = self.table.get(key).ok_or_else(|| self.wrong(key, "missing"))?;
        value.as_str().ok_or_else(|| self.wrong(key, "a text in quotes"))
    }

    fn path(&self, key: &str) -> Result<PathBuf, Error> {
        let text = self.text(key)?;
        if text.is_empty() {
            return Err(self.wrong(key, "a path, relative to this file or absolute"));
        }
        Ok(self.directory.join(text))
    }

    fn paths(&self, key: &str) -> Result<Vec<PathBuf>, Error> {
        let reason = "a list of collection files, at least one";
        let list = self.table.get(key).and_then(Value::as_array);
        let list = list.filter(|list| !list.is_empty()).ok_or_else(|| self.wrong(key, reason))?;
        let path = |value: &Value| {
            let text = value.as_str().filter(|text| !text.is_empty());
            Ok(self.directory.join(text.ok_or_else(|| self.wrong(key, reason))?))
        };
        list.iter().map(path).collect()
    }

    /// Reads a list of networks; there need not be any.
    fn networks(&self, key: &str) -> Result<Vec<Network>, Error> {
        let reason = "a list of addresses and networks, such as \"127.0.0.1\" or \"10.0.0.0/8\"";
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        let list = value.as_array().ok_or_else(|| self.wrong(key, reason))?;
        let network = |value: &Value| value.as_str().and_then(Network::parse);
        let networks =
            list.iter().map(|value| network(value).ok_or_else(|| self.wrong(key, reason)));
        networks.collect()
    }

    fn integer(&self, key: &str, default: u64, most: u64) -> Result<u64, Error> {
        let Some(value) = self.table.get(key) else { return Ok(default) };
        let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| self.wrong(key, format!("a whole number from 1 to {most}")))
    }

    fn duration(&self, key: &str, default: u64) -> Result<u64, Error> {
        if !self.has(key) {
            return Ok(default);
        }
        let time = seconds(self.text(key)?).filter(|time| (1..=MAX_DURATION).contains(time));
        time.ok_or_else(|| self.wrong(key, "a duration from 1s to 366d, such as \"30s\" or \"7d\""))
    }

    fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn wrong(&self, key: &str, reason: impl Into<String>) -> Error {
        wrong(format!("{}{key}", self.prefix), reason)
    }
}

const LIMITS: &str = "upload, batch, memory, threads, drain, requests, bodies, source, patience";

const MAX_DURATION: u64 = 366 * 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"
        listen = "127.0.0.1:8001"
        identity = "mix1.key"
        data = "/var/lib/mix1"
        collections = ["a.toml", "b.toml"]
    "#;

    fn parse(text: &str) -> Result<Config, String> {
        let config = Config::parse(Role::Mix, text, Path::new("/etc/throng"));
        config.map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_relative_to_the_file_and_limits_may_be_left_out() {
        let config = parse(LEAST).unwrap();
        assert_eq!(config.identity, Path::new("/etc/throng/mix1.key"));
        assert_eq!(config.data, Path::new("/var/lib/mix1"));
        assert_eq!(config.collections[1], Path::new("/etc/throng/b.toml"));
        assert_eq!((config.tls, config.authority), (None, None));
        assert_eq!(config.limits, Limits::default());
    }

    #[test]
    fn every_field_is_read() {
        let text = format!(
            "{LEAST}
            proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]
            [tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"
            [peers]\nca = \"ca.pem\"
            [access]\ntokens = \"t.toml\"
            [limits]\nupload = 1\nbatch = 2\nmemory = 3\nthreads = 4\ndrain = \"5m\"\nrequests = 6
            patience = \"7s\"\nbodies = 8\nsource = 9"
        );
        let config = parse(&text).unwrap();
        let [certificate, key] = ["c.pem", "k.pem"].map(|name| Path::new("/etc/throng").join(name));
        assert_eq!(config.tls, Some((certificate, key)));
        assert_eq!(config.authority.as_deref(), Some(Path::new("/etc/throng/ca.pem")));
        assert_eq!(config.access.as_deref(), Some(Path::new("/etc/throng/t.toml")));
        let limits = Limits {
            upload: 1,
            batch: 2,
            memory: 3,
            threads: 4,
            drain: 300,
            requests: 6,
            bodies: 8,
            source: Some(9),
            proxies: ["127.0.0.1", "10.0.0.0/8"].map(|text| Network::parse(text).unwrap()).into(),
            patience: 7,
        };
        assert_eq!(config.limits, limits);
    }

    #[test]
    fn a_mistake_is_named_with_its_field() {
        for (text, field) in [
            (LEAST.replace("127.0.0.1:8001", "localhost"), "listen: an address"),
            (LEAST.replace("identity", "indentity"), "indentity: not known here"),
            (LEAST.replace("[\"a.toml\", \"b.toml\"]", "[]"), "collections: a list"),
            (LEAST.replace("data =", "#"), "data: missing"),
            (format!("{LEAST}proxies = [\"nginx\"]"), "proxies: a list of addresses"),
            (format!("{LEAST}proxies = \"10.0.0.1\""), "proxies: a list of addresses"),
            (format!("{LEAST}[tls]\nkey = \"k.pem\""), "tls.certificate: missing"),
            (format!("{LEAST}[peers]\ncertificate = \"c\""), "peers.certificate: not known"),
            (format!("{LEAST}[limits]\nupload = 0"), "limits.upload: a whole number from 1"),
            (format!("{LEAST}throng_5ecret"), "TOML: line 6: "),
            (format!("{LEAST}[limits]\nsource = 0"), "limits.source: a whole number from 1"),
            (format!("{LEAST}[limits]\nupload = \"1M\""), "limits.upload: a whole number"),
            (format!("{LEAST}[limits]\npatience = 30"), "limits.patience: a text"),
            (format!("{LEAST}[limits]\ndrain = \"1w\""), "limits.drain: a duration"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.starts_with(field), "{error}");
            assert!(!error.contains("5ecret"), "{error}");
        }
    }
}
