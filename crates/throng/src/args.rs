//! The arguments, as typed by the user.

mod account;
mod chain;
mod collection;
mod plan;

pub use account::{BurstArgs, CoinArgs, Plain};
pub use chain::{Demo, Results, Send, Serve, ServeArgs};
pub use collection::{Below, Collection, NewCollection, Words};
pub use plan::{Audit, Fitted, Limits, LooseWish, Plan, Simulate, ValueType, ValuesArgs, Wish};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Statistics from many people without learning what one of them reported.
#[derive(Parser)]
#[command(version, max_term_width = 100, propagate_version = true)]
pub struct Cli {
    /// Print one JSON object on standard output and nothing else there
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// The whole system on this machine: clients, mixes, an analyzer and a results page
    Demo(Demo),
    /// How private is it? Epsilon at a delta, or delta at an epsilon
    #[command(subcommand)]
    Account(Account),
    /// How much noise does a promise need?
    #[command(subcommand)]
    Calibrate(Calibrate),
    /// Every mechanism for a question, calibrated: error, messages, bytes, local floor
    Plan(Plan),
    /// Run values through encode, shuffle, analyze in process: error against truth
    Simulate(Simulate),
    /// Measure from outside how private a mechanism is: a lower bound on epsilon
    Audit(Audit),
    /// Run one party of a chain
    #[command(subcommand)]
    Serve(Serve),
    /// Report the rows of a file to a running chain
    Send(Send),
    /// Show what an analyzer has published
    Results(Results),
    /// Write, verify and state the promise of a collection
    #[command(subcommand)]
    Collection(Collection),
    /// Make the identity of a mix or an analyzer
    Keygen {
        /// The file of the secret half to write; it must not exist
        #[arg(long, required_unless_present = "show")]
        out: Option<PathBuf>,
        /// Print the public half of this file instead
        #[arg(long, conflicts_with = "out")]
        show: Option<PathBuf>,
    },
    /// Draw the figures of the papers, corrected, as SVG and CSV
    Figures {
        /// Directory to write to; created if missing
        #[arg(long)]
        out: PathBuf,
    },
    /// Measure speed, side by side with a limit of the same run
    Bench {
        /// What to measure
        target: BenchTarget,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum BenchTarget {
    /// The accountant
    Account,
    /// The clients' half of the mechanisms
    Encode,
    /// The analyzer's half of the mechanisms
    Aggregate,
    /// Sealing reports, the client's work
    Seal,
    /// Opening and mixing, a mix's work
    Mix,
    /// Permuting in memory and on disk
    Shuffle,
    /// The whole chain on loopback
    EndToEnd,
}

/// The mechanisms and theorems to account for.
#[derive(Subcommand)]
pub enum Account {
    /// Everyone sends one bit, flipped now and then: exact over all datasets
    BitSum {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        noise: FlipArgs,
        #[command(flatten)]
        query: Query,
        /// Also the exact trade-off function at these type I errors (n up to 1000)
        #[arg(long, value_delimiter = ',')]
        alpha: Vec<f64>,
    },
    /// Everyone sends the true bit and a separate noise bit: exact
    TwoMessageCount {
        #[command(flatten)]
        crowd: CrowdArgs,
        /// Probability that the noise message is a 1
        #[arg(long)]
        p: f64,
        #[command(flatten)]
        query: Query,
    },
    /// Everyone sends r flipped bits into one untagged bag: exact over all datasets
    RealSum {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        noise: FlipArgs,
        /// Bits per user
        #[arg(long, value_parser = whole)]
        r: u64,
        #[command(flatten)]
        query: Query,
    },
    #[command(flatten)]
    Plain(Plain),
    /// Any randomizer with a known local epsilon, shuffled
    Amplify {
        #[command(flatten)]
        crowd: CrowdArgs,
        /// Local epsilon of the randomizer (not for unary-encoding, which has its own)
        #[arg(long, required_unless_present = "keep")]
        epsilon0: Option<f64>,
        /// What is known of the randomizer
        #[arg(long, value_enum, default_value_t = Randomizer::General)]
        mechanism: Randomizer,
        /// Categories (kary-response, subset-selection)
        #[arg(long, value_parser = whole)]
        k: Option<u64>,
        /// Size of the subsets (subset-selection)
        #[arg(long, value_parser = whole)]
        size: Option<u64>,
        /// Buckets (local-hashing)
        #[arg(long, value_parser = whole)]
        g: Option<u64>,
        /// Proven lower bound on the probability that two values collide (local-hashing)
        #[arg(long, default_value_t = 0.0)]
        collision: f64,
        /// Probability that a 1 stays a 1 (unary-encoding)
        #[arg(long)]
        keep: Option<f64>,
        /// Probability that a 0 becomes a 1 (unary-encoding)
        #[arg(long)]
        set: Option<f64>,
        #[command(flatten)]
        query: Query,
    },
    /// Several rounds of a shuffled randomizer together
    Compose {
        #[command(flatten)]
        crowd: CrowdArgs,
        /// Local epsilon of the randomizer
        #[arg(long)]
        epsilon0: f64,
        /// Failure probability of all rounds together
        #[arg(long)]
        delta: f64,
        /// How many rounds
        #[arg(long, value_parser = whole)]
        rounds: u64,
    },
    /// RAPPOR: one report, several, and all reports on one value
    Rappor {
        /// Probability that the permanent response replaces a bit by a coin
        #[arg(long)]
        f: f64,
        /// Probability of reporting a 1 where the permanent bit is 0
        #[arg(long)]
        p: f64,
        /// Probability of reporting a 1 where the permanent bit is 1
        #[arg(long)]
        q: f64,
        /// Hash functions of the Bloom filter
        #[arg(long)]
        hashes: u32,
        /// How many reports on the same value
        #[arg(long, default_value_t = 1, value_parser = whole)]
        reports: u64,
    },
    /// A bit followed over many periods: the lifetime guarantee, local and shuffled
    Longitudinal {
        /// Periods, a power of two
        #[arg(long, value_parser = whole)]
        periods: u64,
        /// Parameter of the client's coin, which is the local epsilon of everything it ever sends
        #[arg(long)]
        epsilon0: f64,
        /// Users in all, each on a random level of the tree
        #[arg(long, value_parser = whole)]
        n: u64,
        /// Failure probability
        #[arg(long)]
        delta: f64,
    },
}

/// What is known of a randomizer.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Randomizer {
    /// Its local epsilon only
    General,
    /// The truth with odds e^epsilon0 against each other category
    KaryResponse,
    /// A random subset that favours those with the truth
    SubsetSelection,
    /// Response on a hashed value
    LocalHashing,
    /// One flipped bit per category
    UnaryEncoding,
}

/// The mechanisms to calibrate.
#[derive(Subcommand)]
pub enum Calibrate {
    /// The least lambda of bit-sum
    BitSum(Promise),
    /// The least p of two-message-count
    TwoMessageCount(Promise),
    /// The least lambda of real-sum
    RealSum {
        #[command(flatten)]
        promise: Promise,
        /// Bits per user; ceil(epsilon * sqrt(n)) if not given, at most --max-messages
        #[arg(long, value_parser = whole)]
        r: Option<u64>,
        /// Largest number of messages per user
        #[arg(long, value_parser = whole)]
        max_messages: Option<u64>,
    },
    /// The largest local epsilon of k-ary response
    KaryResponse {
        #[command(flatten)]
        promise: Promise,
        /// Categories
        #[arg(long, value_parser = whole)]
        k: u64,
    },
    /// The largest local epsilon of binary randomized response
    RandomizedResponse(Promise),
    #[command(flatten)]
    Fitted(Fitted),
    /// The largest local epsilon of any randomizer
    General(Promise),
    /// The smallest crowd for a given local epsilon
    Crowd {
        /// Local epsilon of the randomizer
        #[arg(long)]
        epsilon0: f64,
        /// Epsilon to reach
        #[arg(long)]
        epsilon: f64,
        /// Failure probability
        #[arg(long)]
        delta: f64,
    },
}

/// A crowd and what it is promised.
#[derive(Args, Clone)]
pub struct Promise {
    #[command(flatten)]
    pub crowd: CrowdArgs,
    /// Epsilon to reach
    #[arg(long)]
    pub epsilon: f64,
    /// Failure probability
    #[arg(long)]
    pub delta: f64,
}

/// How many reports are shuffled together.
#[derive(Args, Clone)]
pub struct CrowdArgs {
    /// Reports shuffled together, the user's own included (1000000 or 1e6)
    #[arg(long, value_parser = whole)]
    pub n: u64,
    /// Fraction of them that may be corrupt: the guarantee counts on the rest only
    #[arg(long, visible_alias = "gamma", default_value_t = 0.0)]
    pub corrupt: f64,
}

/// How often a bit is flipped.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct FlipArgs {
    /// Expected number of users whose bit is a coin: a bit is flipped with probability lambda/(2n)
    #[arg(long)]
    pub lambda: Option<f64>,
    /// Probability that a bit is flipped
    #[arg(long)]
    pub flip: Option<f64>,
}

/// Which way to ask.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct Query {
    /// Ask for delta at this epsilon
    #[arg(long)]
    pub epsilon: Option<f64>,
    /// Ask for epsilon at this delta
    #[arg(long)]
    pub delta: Option<f64>,
}

/// A whole number, also written 1e6 or 1_000_000.
fn whole(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    if let Ok(value) = plain.parse() {
        return Ok(value);
    }
    match plain.parse::<f64>() {
        Ok(value) if (0.0..9e15).contains(&value) && value.fract() == 0.0 => Ok(value as u64),
        _ => Err("not a whole number of at most 9e15".into()),
    }
}
