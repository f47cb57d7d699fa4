//! Arguments of the planner, the simulator and the auditor.

use super::{Promise, whole};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use throng_mechanism::Key;

/// What is asked of a planner.
#[derive(Args)]
#[command(after_help = "Examples:
  throng plan --value bit --n 1e6 --epsilon 1 --delta 1e-8
  throng plan --value category --size 16 --n 2e4 --epsilon 1 --delta 1e-6 --write plan.toml")]
pub struct Plan {
    /// What one user holds
    #[arg(long, value_enum)]
    pub value: ValueType,
    #[command(flatten)]
    pub wish: Wish,
    /// Write the error of every mechanism against n to this SVG file
    #[arg(long)]
    pub plot: Option<PathBuf>,
    /// Write the recommended mechanism as a collection file
    #[arg(long)]
    pub write: Option<PathBuf>,
}

/// What to simulate.
#[derive(Args)]
#[command(after_help = "Examples:
  throng simulate burst-count --n 1e6 --epsilon 1 --delta 1e-8 --repeat 200
  throng simulate sliced-sum --values data/flights.csv --column delay_minutes \\
      --low -15 --high 120 --epsilon 1 --delta 1e-6
  throng simulate --collection plan.toml --values data/flights.csv --column carrier")]
pub struct Simulate {
    /// The mechanism to calibrate, unless a collection is given
    #[arg(value_parser = key, required_unless_present = "collection")]
    pub mechanism: Option<Key>,
    /// A collection file or a draft of one; its range of numbers holds unless given here
    #[arg(long, conflicts_with = "mechanism")]
    pub collection: Option<PathBuf>,
    #[command(flatten)]
    pub wish: LooseWish,
    #[command(flatten)]
    pub values: ValuesArgs,
    /// How often to run everything
    #[arg(long, default_value_t = 100, value_parser = whole)]
    pub repeat: u64,
    /// Seed of the simulation; a fresh one is drawn and printed if not given
    #[arg(long)]
    pub seed: Option<u64>,
    /// Confidence of the intervals
    #[arg(long, default_value_t = 0.95)]
    pub confidence: f64,
    /// Also post-process histograms onto counts that are not negative and sum to n (biased)
    #[arg(long)]
    pub norm_sub: bool,
    /// Write a picture of the estimates against the truth to this SVG file
    #[arg(long)]
    pub plot: Option<PathBuf>,
}

/// Where the values of a simulation come from.
#[derive(Args)]
pub struct ValuesArgs {
    /// A CSV file with a header; synthetic values if not given
    #[arg(long)]
    pub values: Option<PathBuf>,
    /// Its column; several, separated by commas, for attributes and periods
    #[arg(long, value_delimiter = ',')]
    pub column: Vec<String>,
    /// A column that says how many users, or which share of them, hold the value of its row
    #[arg(long)]
    pub weights: Option<String>,
    /// Lower end of a number's range; smaller numbers count as this
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pub low: f64,
    /// Upper end of a number's range; larger numbers count as this
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub high: f64,
}

/// What to audit.
#[derive(Args)]
#[command(after_help = "Examples:
  throng audit bit-sum --n 1000 --epsilon 1 --delta 1e-6
  throng audit burst-count --n 1000 --epsilon 1 --delta 1e-6 --weaken 2   # a planted bug")]
pub struct Audit {
    /// The mechanism to calibrate
    #[arg(value_parser = key)]
    pub mechanism: Key,
    #[command(flatten)]
    pub wish: Wish,
    /// Runs in each of the two worlds
    #[arg(long, default_value_t = 20_000, value_parser = whole)]
    pub runs: u64,
    /// Confidence of everything said
    #[arg(long, default_value_t = 0.999_999)]
    pub confidence: f64,
    /// Divide the client's noise by this, while the claim stays: a planted bug
    #[arg(long)]
    pub weaken: Option<f64>,
    /// Seed; a fresh one is drawn and printed if not given
    #[arg(long)]
    pub seed: Option<u64>,
}

/// What one user holds.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ValueType {
    /// Yes or no
    Bit,
    /// A bounded number
    Real,
    /// One of --size categories
    Category,
    /// A string; --size is the number of Bloom filter bits
    String,
    /// --size yes-or-no attributes, of which the commonest is asked for
    Attributes,
    /// Yes or no in each of --size periods, with at most --changes changes
    State,
}

/// A promise, and what may be spent on it.
#[derive(Args, Clone)]
pub struct Wish {
    #[command(flatten)]
    pub promise: Promise,
    #[command(flatten)]
    pub limits: Limits,
}

/// The same where the crowd may be the number of rows of a file.
#[derive(Args, Clone)]
pub struct LooseWish {
    /// Reports; the number of rows of the file if not given
    #[arg(long, value_parser = whole)]
    pub n: Option<u64>,
    /// Fraction of them that may be corrupt: the guarantee counts on the rest only
    #[arg(long, visible_alias = "gamma", default_value_t = 0.0)]
    pub corrupt: f64,
    /// Epsilon to reach
    #[arg(long, default_value_t = 1.0)]
    pub epsilon: f64,
    /// Failure probability
    #[arg(long, default_value_t = 1e-6)]
    pub delta: f64,
    #[command(flatten)]
    pub limits: Limits,
}

/// What a mechanism may look like.
#[derive(Args, Clone)]
pub struct Limits {
    /// Categories, attributes, periods or Bloom filter bits
    #[arg(long, value_parser = whole)]
    pub size: Option<u64>,
    /// Changes of one user's answer that are followed (longitudinal)
    #[arg(long, default_value_t = 1)]
    pub changes: u32,
    /// Hash functions (rappor)
    #[arg(long, default_value_t = 2)]
    pub hashes: u32,
    /// Cohorts (rappor)
    #[arg(long, default_value_t = 64)]
    pub cohorts: u32,
    /// Fraction of the users that may never report
    #[arg(long, default_value_t = 0.0)]
    pub dropout: f64,
    /// Messages per report at most; 16 if not given, and no limit for mechanisms asked for by name
    #[arg(long, value_parser = whole)]
    pub max_messages: Option<u64>,
    /// A report by itself must keep this epsilon, should every mix collude
    #[arg(long)]
    pub local_floor: Option<f64>,
    /// Allow split-and-mix, whose sum one liar or one lost message ruins
    #[arg(long)]
    pub fragile: bool,
}

/// Mechanisms that the planner calibrates.
#[derive(Subcommand)]
pub enum Fitted {
    /// Coins of coin-count
    #[command(after_help = "Example:
  throng calibrate coin-count --n 1e4 --epsilon 1 --delta 1e-6")]
    CoinCount(Wish),
    /// The catalogue of burst-count
    #[command(after_help = "Example:
  throng calibrate burst-count --n 1e4 --epsilon 1 --delta 1e-6 --max-messages 9")]
    BurstCount(Wish),
    /// The largest local epsilon of laplace-mean
    #[command(after_help = "Example:
  throng calibrate laplace-mean --n 1e4 --epsilon 1 --delta 1e-6")]
    LaplaceMean(Wish),
    /// The flip of one-bit-mean
    #[command(after_help = "Example:
  throng calibrate one-bit-mean --n 1e4 --epsilon 1 --delta 1e-6")]
    OneBitMean(Wish),
    /// Levels and coins of sliced-sum
    #[command(after_help = "Example:
  throng calibrate sliced-sum --n 1e4 --epsilon 1 --delta 1e-6")]
    SlicedSum(Wish),
    /// Shares and noise of split-and-mix (needs --fragile)
    #[command(after_help = "Example:
  throng calibrate split-and-mix --n 1e4 --epsilon 1 --delta 1e-6 --fragile")]
    SplitAndMix(Wish),
    /// The flip of histogram (--size categories)
    #[command(after_help = "Example:
  throng calibrate histogram --size 10 --n 1e4 --epsilon 1 --delta 1e-6")]
    Histogram(Wish),
    /// The largest local epsilon of subset-selection (--size categories)
    #[command(after_help = "Example:
  throng calibrate subset-selection --size 10 --n 1e4 --epsilon 1 --delta 1e-6")]
    SubsetSelection(Wish),
    /// Fake messages of additive-histogram (--size categories)
    #[command(after_help = "Example:
  throng calibrate additive-histogram --size 10 --n 1e4 --epsilon 1 \\
      --delta 1e-6")]
    AdditiveHistogram(Wish),
    /// The catalogue of burst-histogram (--size categories)
    #[command(after_help = "Example:
  throng calibrate burst-histogram --size 10 --n 1e4 --epsilon 1 --delta 1e-6 \\
      --max-messages 9")]
    BurstHistogram(Wish),
    /// The flip of selection (--size attributes)
    #[command(after_help = "Example:
  throng calibrate selection --size 5 --n 1e4 --epsilon 1 --delta 1e-6")]
    Selection(Wish),
    /// Filter and coins of rappor (--size bits)
    #[command(after_help = "Example:
  throng calibrate rappor --size 64 --n 1e5 --epsilon 1 --delta 1e-6")]
    Rappor(Wish),
    /// The coin of longitudinal (--size periods, --changes)
    #[command(after_help = "Example:
  throng calibrate longitudinal --size 8 --n 1e5 --epsilon 1 --delta 1e-6")]
    Longitudinal(Wish),
}

impl Fitted {
    /// The key and what is wished for.
    pub fn parts(&self) -> (Key, &Wish) {
        match self {
            Self::CoinCount(wish) => (Key::CoinCount, wish),
            Self::BurstCount(wish) => (Key::BurstCount, wish),
            Self::LaplaceMean(wish) => (Key::LaplaceMean, wish),
            Self::OneBitMean(wish) => (Key::OneBitMean, wish),
            Self::SlicedSum(wish) => (Key::SlicedSum, wish),
            Self::SplitAndMix(wish) => (Key::SplitAndMix, wish),
            Self::Histogram(wish) => (Key::Histogram, wish),
            Self::SubsetSelection(wish) => (Key::SubsetSelection, wish),
            Self::AdditiveHistogram(wish) => (Key::AdditiveHistogram, wish),
            Self::BurstHistogram(wish) => (Key::BurstHistogram, wish),
            Self::Selection(wish) => (Key::Selection, wish),
            Self::Rappor(wish) => (Key::Rappor, wish),
            Self::Longitudinal(wish) => (Key::Longitudinal, wish),
        }
    }
}

/// The key of a mechanism.
pub(super) fn key(text: &str) -> Result<Key, String> {
    Key::named(text).ok_or_else(|| {
        let names: Vec<_> = Key::ALL.iter().map(|key| key.name()).collect();
        format!("not a mechanism; there are {}", names.join(", "))
    })
}
