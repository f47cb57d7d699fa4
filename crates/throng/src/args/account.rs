//! Accounts that need no more than a profile.

use super::{CrowdArgs, FlipArgs, Query, whole};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Mechanisms of which a profile says all there is to say.
#[derive(Subcommand)]
pub enum Plain {
    /// Binary response with a known local epsilon, shuffled: exact over all datasets
    RandomizedResponse(LocalArgs),
    /// k-ary response with a known local epsilon, shuffled: by its blanket
    KaryResponse(LocalArgs),
    /// Subset selection with a known local epsilon, shuffled: by its blanket
    SubsetSelection(LocalArgs),
    /// Laplace noise with a known local epsilon, shuffled: as any randomizer
    LaplaceMean(LocalArgs),
    /// Numbers rounded to one flipped bit: exact over all datasets
    OneBitMean {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        noise: FlipArgs,
        #[command(flatten)]
        query: Query,
    },
    /// One flipped bit per category: two columns change
    Histogram {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        noise: FlipArgs,
        #[command(flatten)]
        query: Query,
    },
    /// One flipped bit per attribute: all of them change
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
    CoinCount {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        coins: CoinArgs,
        #[command(flatten)]
        query: Query,
    },
    /// The true category and, now and then, a uniform one: exact
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
    BurstCount {
        #[command(flatten)]
        crowd: CrowdArgs,
        #[command(flatten)]
        bursts: BurstArgs,
        #[command(flatten)]
        query: Query,
    },
    /// The true category and at most one burst of noise in a random cell
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
