//! The arguments, as typed by the user.

mod account;
mod by_key;
mod chain;
mod collection;
mod operate;
mod plan;
pub mod rounds;

pub use account::Plain;
pub use by_key::ByKey;
pub use chain::{Demo, Results, Send, Serve, ServeArgs};
pub use collection::{Below, Collection, NewCollection, Words};
pub use operate::{Doctor, Log, Token};
pub use plan::{Audit, FittedMechanism, Limits, LooseWish, Plan, Simulate, ValuesArgs, Wish};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use throng_account::{Probability, Threshold};

/// Statistics from many people without learning what one of them reported.
#[derive(Parser)]
#[command(version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "Examples:
  throng demo
  throng plan --value bit --n 1e6 --epsilon 1 --delta 1e-6 --epochs 365
  throng account amplify --n 1e6 --epsilon0 1 --delta 1e-6")]
pub struct Cli {
    /// Print one JSON object on standard output and nothing else there
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads the arguments of this process. A number below 0 is taken for a number, so that the
    /// answer is about its range and not about an option nobody meant.
    pub fn read() -> Result<Self, clap::Error> {
        fn with_negative_numbers(command: clap::Command) -> clap::Command {
            command.allow_negative_numbers(true).mut_subcommands(with_negative_numbers)
        }
        let mut command = with_negative_numbers(Self::command());
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// The whole system on this machine: clients, mixes, an analyzer and its dashboard
    Demo(Demo),
    /// How private is it? Epsilon at a delta, or delta at an epsilon
    #[command(subcommand)]
    #[command(after_help = example("account amplify --n 1e6 --epsilon0 1 --delta 1e-6"))]
    Account(Account),
    /// How much noise does a promise need?
    #[command(subcommand)]
    #[command(after_help = example("calibrate bit-sum --n 1e6 --epsilon 1 --delta 1e-6"))]
    Calibrate(Calibrate),
    /// Every mechanism for a question, calibrated: error, messages, bytes, local floor, lifetime
    Plan(Plan),
    /// What one device gives away over several collections together
    Budget(Budget),
    /// Run values through encode, shuffle, analyze in process: error against truth
    Simulate(Simulate),
    /// Measure from outside how private a mechanism is: a lower bound on epsilon
    Audit(Audit),
    /// Run one party of a chain
    #[command(subcommand, after_help = example("serve mix --config mix-north.toml"))]
    Serve(Serve),
    /// Report the rows of a file to a running chain
    Send(Send),
    /// Show what an analyzer has published
    Results(Results),
    /// What a crowd can do when it answers more than once: keys, sums, secret computation
    #[command(subcommand, after_help = example("rounds and --alice yes --bob no"))]
    Rounds(rounds::Rounds),
    /// Check this machine, a party or a chain, and say what to do
    Doctor(Doctor),
    /// Let somebody read at an analyzer or a mix
    Token(Token),
    /// What operators did at a party, and whether the log of it was tampered with
    #[command(subcommand, after_help = example("log verify --data north-data"))]
    Log(Log),
    /// Write, verify and state the promise of a collection
    #[command(subcommand, after_help = example("collection show crashes.toml"))]
    Collection(Collection),
    /// Make the identity of a mix or an analyzer
    #[command(after_help = "Examples:
  throng keygen --out north.key
  throng keygen --show north.key")]
    Keygen {
        /// The file of the secret half to write; it must not exist
        #[arg(long, required_unless_present = "show")]
        out: Option<PathBuf>,
        /// Print the public half of this file instead
        #[arg(long, conflicts_with = "out")]
        show: Option<PathBuf>,
    },
    /// Draw the figures of the papers, corrected, as SVG and CSV
    #[command(after_help = example("figures --out figures"))]
    Figures {
        /// Directory to write to; created if missing
        #[arg(long)]
        out: PathBuf,
    },
    /// Measure speed, side by side with a limit of the same run
    #[command(after_help = example("bench account"))]
    Bench {
        /// What to measure
        target: BenchTarget,
    },
    /// Write the manual pages
    #[command(after_help = example("manual --out man   # then: man -l man/throng-plan.1"))]
    Manual {
        /// Directory to write to; created if missing
        #[arg(long)]
        out: PathBuf,
    },
    /// Print a completion script for a shell
    #[command(after_help = example("completions bash > throng.bash"))]
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
    #[command(after_help = example("account bit-sum --n 1e4 --lambda 68 --delta 1e-6"))]
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
    #[command(after_help = example("account two-message-count --n 1e4 --p 0.0035 --epsilon 1"))]
    TwoMessageCount {
        #[command(flatten)]
        crowd: CrowdArgs,
        /// Probability that the noise message is a 1
        #[arg(long, visible_alias = "extra", value_parser = share)]
        p: f64,
        #[command(flatten)]
        query: Query,
    },
    /// Everyone sends r flipped bits into one untagged bag: exact over all datasets
    #[command(after_help = example("account real-sum --n 1e4 --lambda 2373 --r 100 --delta 1e-6"))]
    RealSum {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        noise: FlipArgs,
        /// Bits per user
        #[arg(long, visible_alias = "bits", value_parser = whole)]
        r: u64,
        #[command(flatten)]
        query: Query,
    },
    #[command(flatten)]
    Plain(ByKey<Plain>),
    /// Sums split into random shares: a crowd's promise, and the messages it takes
    #[command(after_help = "Example:
  throng account split-and-mix --n 1e4 --noise-epsilon 1 --noise-delta 1e-9 \\
      --delta 1e-5")]
    SplitAndMix {
        #[command(flatten)]
        crowd: CrowdArgs,
        /// Epsilon of the shared noise
        #[arg(long)]
        noise_epsilon: f64,
        /// Failure probability that the shares are made for
        #[arg(long)]
        noise_delta: f64,
        /// Steps between 0 and 1
        #[arg(long, visible_alias = "grid", default_value_t = 1000)]
        size: u32,
        #[command(flatten)]
        query: Query,
    },
    /// Any mechanism, as written in a collection file
    #[command(after_help = example("account collection plan.toml --delta 1e-6"))]
    Collection {
        /// The file, as written by throng plan --write
        file: PathBuf,
        /// Reports shuffled together; those of the file's promise if not given
        #[arg(long, value_parser = whole)]
        n: Option<u64>,
        #[command(flatten)]
        query: Query,
    },
    /// Any randomizer with a known local epsilon, shuffled
    #[command(after_help = "Examples:
  throng account amplify --n 1e6 --epsilon0 1 --delta 1e-6
  throng account amplify --n 1e6 --epsilon0 4 --delta 1e-8 \\
      --mechanism kary-response --k 100")]
    Amplify(Amplify),
    /// Several rounds of a shuffled randomizer together
    #[command(after_help = example(
        "account compose --n 1e6 --epsilon0 4 --delta 1e-6 --rounds 1000"))]
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
    #[command(after_help = "Examples:
  throng account rappor --f 0.5 --p 0.5 --q 0.75 --hashes 2 --reports 10
  throng account rappor --f 0.5 --p 0.5 --q 0.75 --hashes 2 --n 1e5 --delta 1e-6")]
    Rappor(RapporArgs),
    /// A bit followed over many periods: the lifetime guarantee, local and shuffled
    #[command(after_help = example(
        "account longitudinal --periods 64 --epsilon0 1 --n 1e6 --delta 1e-6"))]
    Longitudinal {
        /// Periods, a power of two
        #[arg(long, value_parser = whole)]
        periods: u64,
        /// Parameter of the client's coin, which is the local epsilon of everything it ever sends
        #[arg(long, required_unless_present = "keep", conflicts_with = "keep")]
        epsilon0: Option<f64>,
        /// Probability of the true sign, instead of epsilon0
        #[arg(long, value_parser = share)]
        keep: Option<f64>,
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        query: Query,
    },
}

/// The coins of RAPPOR, and a crowd if there is one.
#[derive(Args)]
pub struct RapporArgs {
    /// Probability that the permanent response replaces a bit by a coin
    #[arg(long, visible_alias = "permanent", value_parser = share)]
    pub f: f64,
    /// Probability of reporting a 1 where the permanent bit is 0
    #[arg(long, required_unless_present = "shown", value_parser = share)]
    pub p: Option<f64>,
    /// Probability of reporting a 1 where the permanent bit is 1
    #[arg(long, required_unless_present = "shown", value_parser = share)]
    pub q: Option<f64>,
    /// Both of these, as calibrate prints them
    #[arg(long, value_delimiter = ',', num_args = 1, conflicts_with_all = ["p", "q"],
          value_parser = share)]
    pub shown: Vec<f64>,
    /// Hash functions of the Bloom filter
    #[arg(long)]
    pub hashes: u32,
    /// How many reports on the same value
    #[arg(long, default_value_t = 1, value_parser = whole)]
    pub reports: u64,
    /// Reports shuffled together, one of each user
    #[arg(long, value_parser = whole)]
    pub n: Option<u64>,
    /// Fraction of n that is corrupt after all: the guarantee counts on the rest only
    #[arg(long, visible_alias = "gamma", default_value_t = 0.0, requires = "n")]
    pub corrupt: f64,
    /// Ask for delta at this epsilon
    #[arg(long, requires = "n")]
    pub epsilon: Option<f64>,
    /// Ask for epsilon at this delta
    #[arg(long, requires = "n", conflicts_with = "epsilon")]
    pub delta: Option<f64>,
}

/// The randomizer that is shuffled.
#[derive(Args)]
pub struct Amplify {
    #[command(flatten)]
    pub crowd: CrowdArgs,
    /// Local epsilon of the randomizer (not for unary-encoding, which has its own)
    #[arg(long, required_unless_present = "keep")]
    pub epsilon0: Option<f64>,
    /// What is known of the randomizer
    #[arg(long, value_enum, default_value_t = Randomizer::General)]
    pub mechanism: Randomizer,
    /// Categories (kary-response, subset-selection)
    #[arg(long, value_parser = whole)]
    pub k: Option<u64>,
    /// Size of the subsets (subset-selection)
    #[arg(long, value_parser = whole)]
    pub size: Option<u64>,
    /// Buckets (local-hashing)
    #[arg(long, value_parser = whole)]
    pub g: Option<u64>,
    /// Proven lower bound on the probability that two values collide (local-hashing)
    #[arg(long, default_value_t = 0.0)]
    pub collision: f64,
    /// Probability that a 1 stays a 1 (unary-encoding)
    #[arg(long)]
    pub keep: Option<f64>,
    /// Probability that a 0 becomes a 1 (unary-encoding)
    #[arg(long)]
    pub set: Option<f64>,
    #[command(flatten)]
    pub query: Query,
}

/// A randomizer, as far as it is known.
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

/// The collections that one device takes part in.
#[derive(Args)]
#[command(after_help = example("budget crashes.toml plan.toml --plot budget.svg"))]
pub struct Budget {
    /// Collection files, or drafts of them
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Failure probability of all lifetimes together; the sum of theirs if not given
    #[arg(long)]
    pub delta: Option<f64>,
    /// Write epsilon over the lifetimes, of each and of all together, to this SVG file
    #[arg(long)]
    pub plot: Option<PathBuf>,
}

/// The mechanisms to calibrate.
#[derive(Subcommand)]
pub enum Calibrate {
    /// The least lambda of bit-sum
    #[command(after_help = example("calibrate bit-sum --n 1e6 --epsilon 1 --delta 1e-6"))]
    BitSum(Asked),
    /// The least p of two-message-count
    #[command(after_help = example("calibrate two-message-count --n 1e4 --epsilon 1 --delta 1e-6"))]
    TwoMessageCount(Asked),
    /// The least lambda of real-sum
    #[command(after_help = example(
        "calibrate real-sum --n 1e3 --epsilon 1 --delta 1e-6 --max-messages 8"))]
    RealSum {
        #[command(flatten)]
        asked: Asked,
        /// Bits per user; ceil(epsilon * sqrt(n)) if not given, at most --max-messages
        #[arg(long, value_parser = whole)]
        r: Option<u64>,
        /// Largest number of messages per user
        #[arg(long, value_parser = whole)]
        max_messages: Option<u64>,
    },
    /// The largest local epsilon of k-ary response
    #[command(after_help = example(
        "calibrate kary-response --k 10 --n 1e4 --epsilon 0.1 --delta 1e-6"))]
    KaryResponse {
        #[command(flatten)]
        asked: Asked,
        /// Categories
        #[arg(long, visible_alias = "size", value_parser = whole)]
        k: u64,
    },
    /// The largest local epsilon of binary randomized response
    #[command(after_help = example(
        "calibrate randomized-response --n 1e4 --epsilon 0.1 --delta 1e-6"))]
    RandomizedResponse(Asked),
    #[command(flatten)]
    FittedMechanism(ByKey<FittedMechanism>),
    /// The largest local epsilon of any randomizer
    #[command(after_help = example("calibrate general --n 1e4 --epsilon 0.1 --delta 1e-6"))]
    General(Promise),
    /// The smallest crowd for a given local epsilon
    #[command(after_help = example("calibrate crowd --epsilon0 1 --epsilon 0.1 --delta 1e-6"))]
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

/// A promise for all epochs together.
#[derive(Args, Clone)]
pub struct Asked {
    #[command(flatten)]
    pub promise: Promise,
    /// Epochs in which the same people are asked: epsilon and delta are for all of them together
    #[arg(long, default_value_t = 1, value_parser = epochs)]
    pub epochs: u64,
}

/// A crowd and what it is promised.
#[derive(Args, Clone)]
pub struct Promise {
    #[command(flatten)]
    pub crowd: PromisedTo,
    /// Epsilon to reach
    #[arg(long)]
    pub epsilon: f64,
    /// Failure probability
    #[arg(long)]
    pub delta: f64,
}

/// The reports that a promise is made for, not all of which are honest.
#[derive(Args, Clone)]
pub struct PromisedTo {
    /// Reports shuffled together, the user's own included (1000000 or 1e6)
    #[arg(long, value_parser = whole)]
    pub n: u64,
    /// Fraction of them that may be corrupt: the guarantee counts on the rest only
    #[arg(long, visible_alias = "gamma", default_value_t = USUAL_CORRUPT)]
    pub corrupt: f64,
}

/// The number of reports that are shuffled together, all of them honest unless it is said.
#[derive(Args, Clone)]
pub struct CrowdArgs {
    /// Honest reports shuffled together, the user's own included (1000000 or 1e6)
    #[arg(long, value_parser = whole)]
    pub n: u64,
    /// Fraction of n that is corrupt after all: the guarantee counts on the rest only
    #[arg(long, visible_alias = "gamma", default_value_t = 0.0)]
    pub corrupt: f64,
}

/// The probability that a bit is flipped, given in one of two ways.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct FlipArgs {
    /// Expected number of users whose bit is a coin: a bit is flipped with probability lambda/(2n)
    #[arg(long)]
    pub lambda: Option<f64>,
    /// Probability that a bit is flipped, or out of 2^64, as calibrate prints it
    #[arg(long, value_parser = share)]
    pub flip: Option<f64>,
}

/// The side of the question: delta at an epsilon, or epsilon at a delta.
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

/// The last section of the help of a command: a line that works.
fn example(line: &str) -> String {
    format!("Example:\n  throng {line}")
}

/// A number of epochs.
fn epochs(text: &str) -> Result<u64, String> {
    let epochs = whole(text)?;
    if (1..=1_000_000).contains(&epochs) { Ok(epochs) } else { Err("from 1 to 1e6".into()) }
}

/// A whole number, also written 1e6 or 1_000_000.
fn whole(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    if let Ok(value) = plain.parse() {
        return Ok(value);
    }
    match plain.parse::<f64>() {
        Ok(value) if (0.0..9e15).contains(&value) && value.fract() == 0.0 => Ok(value as u64),
        _ => Err("not a whole number from 0 to 9e15".into()),
    }
}

/// A probability, also as the integer out of 2^64 that calibrate prints.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<u64>() {
        // No probability, and no slip of a percentage.
        Ok(weight) if weight >= 1000 => Ok(weight as f64 / 2_f64.powi(64)),
        _ => text.parse().map_err(|_| "not a number".into()),
    }
}

/// An integer of a sampler, also as a probability.
fn weight(text: &str) -> Result<u64, String> {
    if let Ok(weight) = text.parse() {
        return Ok(weight);
    }
    let chance = text.parse().map_err(|_| "neither an integer nor a probability")?;
    let chance = Probability::new("probability", chance).map_err(|error| error.to_string())?;
    Ok(Threshold::at_least(chance).get())
}

/// The fraction of reports that may be corrupt where a promise is made and nobody says another.
const USUAL_CORRUPT: f64 = throng_collection::Promise::USUAL_CORRUPT;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command as Page, CommandFactory};
    use throng_wire::Identity;

    #[test]
    fn every_command_has_examples_that_are_understood() {
        let mut throng = Cli::command().disable_help_subcommand(true);
        throng.build();
        understood(&throng);
    }

    fn understood(page: &Page) {
        let path = page.get_bin_name().unwrap_or("throng");
        let help = page.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = help.replace("\\\n", " ");
        let examples: Vec<&str> =
            help.lines().filter(|line| line.starts_with("  throng ")).collect();
        assert!(examples.iter().any(|example| example[2..].starts_with(path)), "{path}");
        for example in examples {
            let parsed = Cli::try_parse_from(words(example));
            assert!(parsed.is_ok(), "{example}: {}", parsed.err().unwrap());
        }
        page.get_subcommands().for_each(understood);
    }

    /// Splits an example as a shell would, without comments and redirections.
    fn words(example: &str) -> Vec<String> {
        let identity = Identity::from_seed(&[1; 32]).public().to_string();
        let line = example.split(" #").next().unwrap().split(" >").next().unwrap();
        let mut words = Vec::new();
        for (place, part) in line.split('"').enumerate() {
            if place % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(|word| match word.split_once('$') {
                    Some((before, _)) => format!("{before}{identity}"),
                    None => word.to_owned(),
                }));
            }
        }
        words
    }
}
