//! Arguments of `throng collection` and `throng keygen`.

use super::plan::{key, kinds};
use super::{Limits, epochs, example, whole};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use throng_collection::seconds;
use throng_mechanism::{Key, Kind};
use throng_wire::Party;

/// The commands for collection files.
#[derive(Subcommand)]
pub enum Collection {
    /// Write a collection: a calibrated mechanism, its promise, a schedule and a chain
    New(Box<NewCollection>),
    /// Verify that a collection keeps its promise; say what would do if not
    #[command(after_help = example("collection check crashes.toml"))]
    Check {
        /// The file
        file: PathBuf,
    },
    /// State the promise in plain words
    #[command(after_help = example("collection show crashes.toml"))]
    Show {
        /// The file
        file: PathBuf,
    },
}

/// The contents of a new collection.
#[derive(Args)]
#[command(after_help = "Example:
  throng collection new crashes.toml --value bit --text \"Did it crash today?\" \\
      --n 10000 --corrupt 0.1 --epsilon 1 --delta 1e-6 --epochs 30 --every 24h \\
      --mix north=https://north.example=$NORTH --mix south=https://south.example=$SOUTH \\
      --analyzer counter=https://counter.example=$COUNTER
  Identities are what throng keygen prints, here in $NORTH, $SOUTH and $COUNTER.")]
pub struct NewCollection {
    /// The file to write; it must not exist
    pub file: PathBuf,
    /// Take question, promise and mechanism from a draft, as throng plan --write writes it
    #[arg(long, conflicts_with_all = ["value", "mechanism", "n", "epsilon", "delta"])]
    pub terms: Option<PathBuf>,
    /// What one user holds
    #[arg(long, value_parser = kinds(), required_unless_present_any = ["terms", "mechanism"])]
    pub value: Option<Kind>,
    /// The mechanism; the recommended one if not given
    #[arg(long, value_parser = key)]
    pub mechanism: Option<Key>,
    /// Reports expected in every epoch
    #[arg(long, value_parser = whole, required_unless_present = "terms")]
    pub n: Option<u64>,
    /// Epsilon of all epochs together
    #[arg(long, required_unless_present = "terms")]
    pub epsilon: Option<f64>,
    /// Failure probability of all epochs together
    #[arg(long, required_unless_present = "terms")]
    pub delta: Option<f64>,
    /// Fraction of the reports that may be corrupt: the promise counts on the rest only; 0.05 if
    /// neither this nor a draft says
    #[arg(long, visible_alias = "gamma")]
    pub corrupt: Option<f64>,
    /// Write it even if nothing protects people as soon as one report is an adversary's
    #[arg(long)]
    pub trust_everyone: bool,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub words: Words,
    #[command(flatten)]
    pub times: Times,
    /// A mix as NAME=URL=IDENTITY; repeat it in the order of the way
    #[arg(long = "mix", required = true, value_parser = party)]
    pub mixes: Vec<Party>,
    /// The analyzer as NAME=URL=IDENTITY
    #[arg(long, value_parser = party)]
    pub analyzer: Party,
    /// Write it although the epsilon of all epochs is above 10, which is no promise of privacy
    #[arg(long)]
    pub high_epsilon: bool,
}

/// The wording of the question.
#[derive(Args)]
pub struct Words {
    /// The question
    #[arg(long)]
    pub text: Option<String>,
    /// Names of the categories or attributes, or strings to look for, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Lower end of a number's range
    #[arg(long, allow_negative_numbers = true)]
    pub low: Option<f64>,
    /// Upper end of a number's range
    #[arg(long, allow_negative_numbers = true)]
    pub high: Option<f64>,
    /// The unit of a number
    #[arg(long)]
    pub unit: Option<String>,
}

/// The epochs: how often and how long.
#[derive(Args)]
pub struct Times {
    /// Epochs in all; 1 if neither this nor a draft says
    #[arg(long, value_parser = epochs)]
    pub epochs: Option<u64>,
    /// Failure probability of all epochs of a draft together, with --terms; chosen if not given
    #[arg(long)]
    pub lifetime_delta: Option<f64>,
    /// From one epoch to the next: 90s, 15m, 24h, 7d
    #[arg(long, default_value = "24h", value_parser = duration)]
    pub every: u64,
    /// How long after its end reports for an epoch are taken
    #[arg(long, default_value = "15m", value_parser = duration)]
    pub grace: u64,
    /// What happens to an epoch with too few reports
    #[arg(long, value_enum, default_value_t = Below::Expire)]
    pub below: Below,
    /// Epochs that may be merged with --below merge
    #[arg(long, required_if_eq("below", "merge"),
          value_parser = clap::value_parser!(u64).range(2..=64))]
    pub window: Option<u64>,
    /// Begin of the first epoch in Unix seconds; the current minute if not given
    #[arg(long)]
    pub start: Option<u64>,
}

/// The fate of too few reports.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Below {
    /// They are discarded
    Expire,
    /// They wait for the next epoch of their window
    Merge,
}

fn duration(text: &str) -> Result<u64, String> {
    seconds(text).ok_or_else(|| "a whole number of s, m, h or d, such as 90s or 24h".into())
}

fn party(text: &str) -> Result<Party, String> {
    let parts = text.split_once('=').and_then(|(name, rest)| Some((name, rest.rsplit_once('=')?)));
    let (name, (url, identity)) =
        parts.ok_or("NAME=URL=IDENTITY; throng keygen prints the identity")?;
    let identity = identity.parse().map_err(|error| format!("{error}; throng keygen prints it"))?;
    Ok(Party { name: name.into(), url: url.into(), identity })
}
