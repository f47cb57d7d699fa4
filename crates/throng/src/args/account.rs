//! Accounts that need no more than a profile.

use super::{CrowdArgs, FlipArgs, Query, whole};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Mechanisms of which a profile says all there is to say.
#[derive(Subcommand)]
pub enum Plain {
    /// Binary response with a known local epsilon, shuffled: exact over all datasets
    #[command(after_help = "Example:
  throng account randomized-response --n 1e4 --epsilon0 2 --delta 1e-6")]
    RandomizedResponse(LocalArgs),
    /// k-ary response with a known local epsilon, shuffled: by its blanket
    #[command(after_help = "Example:
  throng account kary-response --n 1e4 --epsilon0 2 --k 10 --delta 1e-6")]
    KaryResponse(LocalArgs),
    /// Subset selection with a known local epsilon, shuffled: by its blanket
    #[command(after_help = "Example:
  throng account subset-selection --n 1e4 --epsilon0 2 --k 10 --delta 1e-6")]
    SubsetSelection(LocalArgs),
    /// Laplace noise with a known local epsilon, shuffled: as any randomizer
    #[command(after_help = "Example:
  throng account laplace-mean --n 1e4 --epsilon0 2 --delta 1e-6")]
    LaplaceMean(LocalArgs),
    /// Numbers rounded to one flipped bit: exact over all datasets
    #[command(after_help = "Example:
  throng account one-bit-mean --n 1e4 --lambda 68 --delta 1e-6")]
    OneBitMean {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        noise: FlipArgs,
        #[command(flatten)]
        query: Query,
    },
    /// One flipped bit per category: two columns change
    #[command(after_help = "Example:
  throng account histogram --n 1e4 --lambda 200 --delta 1e-6")]
    Histogram {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        noise: FlipArgs,
        #[command(flatten)]
        query: Query,
    },
    /// One flipped bit per attribute: all of them change
    #[command(after_help = "Example:
  throng account selection --n 1e4 --lambda 1000 --size 5 --delta 1e-6")]
    Selection {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        noise: FlipArgs,
        /// Attributes
        #[arg(long, value_parser = whole)]
        size: u64,
        #[command(flatten)]
        query: Query,
    },
    /// The true bit and, now and then, a fair coin: exact
    #[command(after_help = "Example:
  throng account coin-count --n 1e4 --p 0.01 --delta 1e-6")]
    CoinCount {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        coins: CoinArgs,
        #[command(flatten)]
        query: Query,
    },
    /// The true category and, now and then, a uniform one: exact
    #[command(after_help = "Example:
  throng account additive-histogram --n 1e4 --p 0.1 --size 10 --delta 1e-6")]
    AdditiveHistogram {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        coins: CoinArgs,
        /// Categories
        #[arg(long, value_parser = whole)]
        size: u64,
        #[command(flatten)]
        query: Query,
    },
    /// The true bit and at most one burst of noise: exact
    #[command(after_help = "Example:
  throng account burst-count --n 1e4 --pairs 0.01,0.005 \\
      --plus 3e-5,1e-5 --minus 3e-5,1e-5 --epsilon 1")]
    BurstCount {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        bursts: BurstArgs,
        #[command(flatten)]
        query: Query,
    },
    /// The true category and at most one burst of noise in a random cell
    #[command(after_help = "Example:
  throng account burst-histogram --n 1e4 --size 4 --pairs 0.1,0.05 \\
      --plus 4e-3,4e-3 --minus 4e-3,4e-3 --delta 1e-5")]
    BurstHistogram {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        bursts: BurstArgs,
        /// Categories
        #[arg(long, value_parser = whole)]
        size: u64,
        #[command(flatten)]
        query: Query,
    },
    /// Numbers bit by bit, with labelled coins
    #[command(after_help = "Example:
  throng account sliced-sum --n 1e4 --weights 0.03,0.03,0.02 --delta 1e-5")]
    SlicedSum {
        #[command(flatten)]
        crowd: CrowdArgs,
        /// Slots for coins per report
        #[arg(long, default_value_t = 1, value_parser = whole)]
        slots: u64,
        /// Probability of a coin of each level in a slot, lowest level first
        #[arg(long, value_delimiter = ',', required = true)]
        weights: Vec<f64>,
        #[command(flatten)]
        query: Query,
    },
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
        #[arg(long, default_value_t = 1000)]
        size: u32,
        #[command(flatten)]
        query: Query,
    },
    /// Any mechanism, as written in a collection file
    #[command(after_help = "Example:
  throng account collection plan.toml --delta 1e-6")]
    Collection {
        /// The file, as written by throng plan --write
        file: PathBuf,
        /// Reports shuffled together; those of the file's promise if not given
        #[arg(long, value_parser = whole)]
        n: Option<u64>,
        #[command(flatten)]
        query: Query,
    },
}

/// A randomizer with a local epsilon.
#[derive(Args)]
pub struct LocalArgs {
    #[command(flatten)]
    pub crowd: CrowdArgs,
    /// Local epsilon
    #[arg(long)]
    pub epsilon0: f64,
    /// Categories
    #[arg(long, visible_alias = "k", default_value_t = 2, value_parser = whole)]
    pub size: u64,
    #[command(flatten)]
    pub query: Query,
}

/// Noise messages that come with a probability.
#[derive(Args)]
pub struct CoinArgs {
    /// Slots for noise per report
    #[arg(long, default_value_t = 1, value_parser = whole)]
    pub slots: u64,
    /// Probability that a slot is used
    #[arg(long)]
    pub p: f64,
}

/// A catalogue of noise events.
#[derive(Args)]
pub struct BurstArgs {
    /// Probabilities of 1, 2, ... pairs of a plus and a minus
    #[arg(long, value_delimiter = ',')]
    pub pairs: Vec<f64>,
    /// Probabilities of 1, 2, ... plusses
    #[arg(long, value_delimiter = ',')]
    pub plus: Vec<f64>,
    /// Probabilities of 1, 2, ... minuses
    #[arg(long, value_delimiter = ',')]
    pub minus: Vec<f64>,
}
