//! Two mixes and an analyzer, each a process of this very program.

use crate::local::{fresh_identity, temporary_directory};
use anyhow::{Context, Result, anyhow, bail};
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use throng_collection::Collection;
use throng_wire::{Chain, Party};

/// The processes and all that they keep. Both are gone when this is.
pub struct Parties {
    /// The collections that they serve.
    pub collections: Vec<Collection>,
    processes: Vec<Process>,
    directory: TempDir,
}

struct Process {
    name: &'static str,
    log: PathBuf,
    child: Child,
}

impl Parties {
    /// Makes fresh identities, writes everyone's files into a temporary directory, and starts all
    /// three on free ports of the loopback.
    pub fn start(collections: impl FnOnce(&Chain) -> Vec<Collection>) -> Result<Self> {
        let directory = temporary_directory()?;
        let here = directory.path();
        // All ports are held at once, so that they differ, and let go just before they are used.
        let listeners = NAMES.map(|_| TcpListener::bind(("127.0.0.1", 0)));
        let (mut addresses, mut parties) = (Vec::new(), Vec::new());
        for (name, listener) in NAMES.into_iter().zip(&listeners) {
            let listener = listener.as_ref().map_err(|error| anyhow!("no free port: {error}"))?;
            let (address, identity) = (listener.local_addr()?, fresh_identity()?);
            identity.write(&here.join(format!("{name}.key")))?;
            let (url, identity) = (format!("http://{address}"), identity.public());
            parties.push(Party { name: name.into(), url, identity });
            addresses.push(address);
        }
        let analyzer = parties.pop().context("an analyzer")?;
        let collections = collections(&Chain { mixes: parties, analyzer });
        let files: Vec<String> =
            (0..collections.len()).map(|number| format!("\"{number}.toml\"")).collect();
        for (number, collection) in collections.iter().enumerate() {
            fs::write(here.join(format!("{number}.toml")), collection.to_toml())?;
        }
        drop(listeners);
        let mut all = Self { collections, processes: Vec::new(), directory };
        for (name, address) in NAMES.into_iter().zip(addresses) {
            let config = format!(
                "listen = \"{address}\"\nidentity = \"{name}.key\"\ndata = \"{name}\"\n\
                 collections = [{}]\n",
                files.join(", ")
            );
            all.spawn(name, &config)?;
        }
        Ok(all)
    }

    /// An error if a process has ended by itself, which none should.
    pub fn all_alive(&mut self) -> Result<()> {
        for process in &mut self.processes {
            if let Some(status) = process.child.try_wait()? {
                bail!(
                    "{} of the chain ended by itself ({status}); if this machine is short of \
                     memory, files or ports, free some and try again",
                    process.name
                );
            }
        }
        Ok(())
    }

    /// The last that each process said, for somebody who wonders what went wrong.
    pub fn last_words(&self) -> String {
        self.processes.iter().map(Process::last_words).collect()
    }

    fn spawn(&mut self, name: &'static str, config: &str) -> Result<()> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let here = self.directory.path();
        let (file, log) = (here.join(format!("{name}.conf")), here.join(format!("{name}.log")));
        fs::write(&file, config)?;
        let role = if name == NAMES[2] { "analyzer" } else { "mix" };
        let child = Command::new(&program)
            .args(["serve", role, "--config"])
            .arg(&file)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            // Ctrl-C is for the audit, which stops them itself.
            .process_group(0)
            .spawn();
        match child {
            Ok(child) => self.processes.push(Process { name, log, child }),
            Err(error) => bail!("cannot start {}: {error}", program.display()),
        }
        Ok(())
    }
}

impl Process {
    fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        let said: Vec<String> =
            last.iter().map(|line| format!("\n{} said: {line}", self.name)).collect();
        said.concat()
    }
}

impl Drop for Parties {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.child.kill();
        }
        for process in &mut self.processes {
            let _ = process.child.wait();
        }
    }
}

/// The parties in the order of the chain. They are also the names of their files.
const NAMES: [&str; 3] = ["mix-1", "mix-2", "analyzer"];
/// Lines of a log that are shown.
const LINES: usize = 3;
