//! Arguments of the commands that run the chain: demonstration, servers, senders and readers.

use super::{example, whole};
use crate::demo::Story;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use throng_mechanism::Key;

/// The demonstration to play.
#[derive(Args)]
#[command(after_help = "Examples:
  throng demo
  throng demo --epochs 7
  throng demo --question names
  throng demo --headless --json --clients 2000 --mechanism coin-count")]
pub struct Demo {
    /// The question that is put, and to whom
    #[arg(long, value_enum, default_value_t = Story::Crash)]
    pub question: Story,
    /// Clients, each of which reports once per epoch; 20000 if not given, 8192 aircraft
    #[arg(long, value_parser = whole)]
    pub clients: Option<u64>,
    /// Mixes in the chain
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub mixes: u8,
    /// Epochs; 1 if not given, 8 of aircraft, and with several the dashboard shows a line over time
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub epochs: Option<u64>,
    /// Exit after the last release instead of leaving the dashboard up
    #[arg(long)]
    pub headless: bool,
    /// Epsilon to promise for all epochs together; 1 if not given, 8 for names that are asked for
    /// more than once, which are protected without a crowd
    #[arg(long)]
    pub epsilon: Option<f64>,
    /// Delta to promise for all epochs together
    #[arg(long, default_value_t = 1e-6)]
    pub delta: f64,
    /// Fraction of the clients that may be corrupt
    #[arg(long, visible_alias = "gamma", default_value_t = super::USUAL_CORRUPT)]
    pub corrupt: f64,
    /// The mechanism, one that answers the question; a simple one of it if not given
    #[arg(long, value_parser = super::plan::key)]
    pub mechanism: Option<Key>,
    /// Seed of the clients' values and, if given, of their noise; else each client draws its own
    #[arg(long)]
    pub seed: Option<u64>,
}

/// The parties of a chain.
#[derive(Subcommand)]
pub enum Serve {
    /// Collect a crowd of reports, peel a layer, permute, hand over
    #[command(after_help = example("serve mix --config mix-north.toml"))]
    Mix(ServeArgs),
    /// Open, count, estimate, publish releases
    #[command(after_help = example("serve analyzer --config analyzer.toml"))]
    Analyzer(ServeArgs),
}

/// The settings of a server.
#[derive(Args)]
pub struct ServeArgs {
    /// The configuration, a TOML file (docs/operations.md)
    #[arg(long)]
    pub config: PathBuf,
    /// Log as JSON, one object a line
    #[arg(long)]
    pub log_json: bool,
}

/// The reports to send.
#[derive(Args)]
#[command(after_help = example(
    "send --collection crashes.toml --values today.csv --column crashed"))]
pub struct Send {
    /// The collection file
    #[arg(long)]
    pub collection: PathBuf,
    /// A CSV file with a header; each row is one person
    #[arg(long)]
    pub values: PathBuf,
    /// Its column; several, separated by commas, for attributes
    #[arg(long, value_delimiter = ',', required = true)]
    pub column: Vec<String>,
    /// Send for this epoch instead of the current one
    #[arg(long)]
    pub epoch: Option<u64>,
    /// Wait for the keys of the epoch, for at most so many seconds: just after it began, the
    /// parties may still be at it
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub wait: u64,
    /// Keep each row's client in this directory, which several epochs need: the next one goes on
    /// with the same clients, row by row, and an interrupted run can be repeated
    #[arg(long)]
    pub state: Option<PathBuf>,
}

/// The releases to read.
#[derive(Args)]
#[command(after_help = "Examples:
  throng results --analyzer http://127.0.0.1:8003
  throng results --analyzer https://counter.example --token-file viewer.token --wait 60")]
pub struct Results {
    /// The analyzer's address
    #[arg(long)]
    pub analyzer: String,
    /// One collection, by its id or the beginning of it; all if not given
    #[arg(long)]
    pub collection: Option<String>,
    /// A file with the token to read with, if the analyzer asks for one; else THRONG_TOKEN is taken
    #[arg(long)]
    pub token_file: Option<PathBuf>,
    /// Wait for the first release, for at most so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
}
