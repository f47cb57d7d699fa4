//! Arguments of an operator's commands around the servers: a check-up, tokens, the audit log.

use super::example;
use super::plan::one_of;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use throng_server::{Reader, Role};

/// The parts that the doctor looks at.
#[derive(Args)]
#[command(after_help = "Examples:
  throng doctor
  throng doctor --config mix-north.toml --role mix
  throng doctor --collection crashes.toml --wait 30")]
pub struct Doctor {
    /// The configuration of a party, as for throng serve
    #[arg(long, requires = "role")]
    pub config: Option<PathBuf>,
    /// What that party is
    #[arg(long, requires = "config", value_parser = one_of(ROLES))]
    pub role: Option<Role>,
    /// A collection file: what a client needs of its chain
    #[arg(long)]
    pub collection: Option<PathBuf>,
    /// The servers should be running: ask again until all is well, for at most so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
}

/// The tokens of those who may read.
#[derive(Args)]
#[command(after_help = "Examples:
  throng token --role viewer --name grafana --file tokens.toml > grafana.token
  throng token --revoke grafana --file tokens.toml")]
pub struct Token {
    /// What it allows
    #[arg(long, value_parser = one_of(READERS), required_unless_present = "revoke")]
    pub role: Option<Reader>,
    /// Whose it is
    #[arg(long, required_unless_present = "revoke")]
    pub name: Option<String>,
    /// The file of tokens, which holds their digests; made if it is not there
    #[arg(long)]
    pub file: PathBuf,
    /// Remove the token of this name instead
    #[arg(long, value_name = "NAME", conflicts_with_all = ["role", "name"])]
    pub revoke: Option<String>,
}

/// The ways to look at the audit log of a party.
#[derive(Subcommand)]
pub enum Log {
    /// List what was done, and say whether the log holds
    #[command(after_help = example("log show --data north-data"))]
    Show {
        /// The data directory of the party
        #[arg(long)]
        data: PathBuf,
    },
    /// Say whether every line is as it was written; if not, the exit code is 1
    #[command(after_help = example("log verify --data north-data"))]
    Verify {
        /// The data directory of the party
        #[arg(long)]
        data: PathBuf,
    },
}

/// The roles of a party.
const ROLES: [(&str, Role, &str); 2] = [
    ("mix", Role::Mix, "It takes reports or batches"),
    ("analyzer", Role::Analyzer, "It publishes releases"),
];

/// The rights of a token.
const READERS: [(&str, Reader, &str); 2] = [
    ("viewer", Reader::Viewer, "To see results"),
    ("operator", Reader::Operator, "To see operations, status and metrics too"),
];
