//! Arguments of an operator's commands around the servers: a check-up and tokens.

use clap::{Args, ValueEnum};
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
    #[arg(long, requires = "config", value_enum)]
    pub role: Option<RoleArg>,
    /// A collection file: what a client needs of its chain
    #[arg(long)]
    pub collection: Option<PathBuf>,
    /// The servers should be running: ask again until all is well, for at most so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
}

/// The role of a party.
#[derive(Clone, Copy, ValueEnum)]
pub enum RoleArg {
    /// It takes reports or batches
    Mix,
    /// It publishes releases
    Analyzer,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Mix => Self::Mix,
            RoleArg::Analyzer => Self::Analyzer,
        }
    }
}

/// The tokens of those who may read.
#[derive(Args)]
#[command(after_help = "Examples:
  throng token --role viewer --name grafana --file tokens.toml > grafana.token
  throng token --revoke grafana --file tokens.toml")]
pub struct Token {
    /// What it allows
    #[arg(long, value_enum, required_unless_present = "revoke")]
    pub role: Option<ReaderArg>,
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

/// The rights of a token.
#[derive(Clone, Copy, ValueEnum)]
pub enum ReaderArg {
    /// To see results
    Viewer,
    /// To see operations, status and metrics too
    Operator,
}

impl From<ReaderArg> for Reader {
    fn from(reader: ReaderArg) -> Self {
        match reader {
            ReaderArg::Viewer => Self::Viewer,
            ReaderArg::Operator => Self::Operator,
        }
    }
}
