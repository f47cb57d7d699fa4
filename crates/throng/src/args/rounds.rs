//! Arguments of protocols in which a crowd answers more than once.

use super::example;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The protocols to play through. All of them use real mixes on this machine.
#[derive(Subcommand)]
pub enum Rounds {
    /// Pairs agree on secret keys through the shuffle
    Keys(Keys),
    /// The wedding problem: do both say yes? With six cards, then between two clients
    And(And),
    /// The sum of everybody's numbers, with noise that nobody knows and in spite of dropouts
    Sum(Sum),
    /// How many groups have an odd number of ones: many rounds beside one
    XorSum(XorSum),
    /// Pause a one-round protocol, and ask what its users never meant to answer
    Attack(Attack),
}

/// The pairs that agree, and their method.
#[derive(Args)]
#[command(after_help = "Examples:
  throng rounds keys --pairs 20
  throng rounds keys --pairs 20 --method cards
  throng rounds keys --pairs 50 --bits 8 --positions 24")]
pub struct Keys {
    /// Pairs that agree at the same time
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pairs: u32,
    /// How a key is made of what everybody sees
    #[arg(long, value_enum, default_value_t = MethodArg::Bits)]
    pub method: MethodArg,
    /// Secret bits that a key has at least
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..=512))]
    pub bits: u16,
    /// A pair fails with probability at most 2^-FAILURE (bits only)
    #[arg(long, default_value_t = 64, conflicts_with = "positions",
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub failure: u16,
    /// Positions instead, whatever the probability (bits only)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub positions: Option<u16>,
    /// Rounds in which pairs that failed try again
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(0..=20))]
    pub retries: u64,
    #[command(flatten)]
    pub mixes: Mixes,
}

/// The method by which a key is made.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// One bit at each position; those that differ are the key (Ishai, Kushilevitz, Ostrovsky,
    /// Sahai)
    Bits,
    /// A hand of cards each; whose card is whose is the key
    Cards,
}

/// The answers of Alice and Bob.
#[derive(Args)]
#[command(after_help = example("rounds and --alice yes --bob no"))]
pub struct And {
    /// What Alice wants
    #[arg(long, value_enum, default_value_t = Answer::Yes)]
    pub alice: Answer,
    /// What Bob wants
    #[arg(long, value_enum, default_value_t = Answer::Yes)]
    pub bob: Answer,
    #[command(flatten)]
    pub mixes: Mixes,
}

/// Yes or no.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Answer {
    Yes,
    No,
}

/// The participants whose numbers are added, and the privacy of their sum.
#[derive(Args)]
#[command(after_help = example("rounds sum --n 10,20 --bits 4 --epsilon 0.5"))]
pub struct Sum {
    /// Participants; several numbers, to see what grows
    #[arg(long, value_delimiter = ',', default_values_t = [10, 20, 40],
          value_parser = clap::value_parser!(u32).range(5..=2_000))]
    pub n: Vec<u32>,
    /// Bits of everybody's number
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub bits: u32,
    /// How many of ten participants drop out after agreeing on keys
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=8))]
    pub drop_in_ten: u32,
    /// Members of the committee that drop out after giving their numbers, before the computation
    /// begins
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=60))]
    pub drop_members: u32,
    #[command(flatten)]
    pub computation: ComputationArgs,
    #[command(flatten)]
    pub mixes: Mixes,
}

/// The participants whose bits are added, and their groups.
#[derive(Args)]
#[command(after_help = example("rounds xor-sum --n 8,16 --out figures"))]
pub struct XorSum {
    /// Participants; several numbers, to see what grows
    #[arg(long, value_delimiter = ',', default_values_t = [8, 16, 32, 64, 128],
          value_parser = clap::value_parser!(u32).range(4..=1_024))]
    pub n: Vec<u32>,
    /// Releases of the same sum, each with noise of its own, to measure the error by. One release
    /// is what epsilon is for; a real collection makes no more
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
    pub repeat: u16,
    /// Directory for the plot, as SVG and CSV; created if missing
    #[arg(long)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub computation: ComputationArgs,
    #[command(flatten)]
    pub mixes: Mixes,
}

/// The protocol that is paused, and how often it is asked.
#[derive(Args)]
#[command(after_help = example("rounds attack --n 100 --epsilon 4 --out figures"))]
pub struct Attack {
    /// Users of the whole protocol; it is paused after half of them
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(8..=20_000))]
    pub n: u32,
    /// Epsilon that the protocol keeps for each user
    #[arg(long, default_value_t = 1.0)]
    pub epsilon: f64,
    /// Questions that the attacker has answered
    #[arg(long, default_value_t = 50_000,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub queries: u32,
    /// Directory for the plot, as SVG and CSV; created if missing
    #[arg(long)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub mixes: Mixes,
}

/// The committee that computes, and the privacy of one participant's input in the result.
#[derive(Args)]
pub struct ComputationArgs {
    /// Participants who compute on shares of what all others give
    #[arg(long, value_parser = clap::value_parser!(u32).range(3..=64))]
    pub members: Option<u32>,
    /// Members who may work together against the rest
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=31))]
    pub corrupt: u32,
    /// Epsilon of the result, when one participant's input is replaced by another
    #[arg(long, default_value_t = 1.0)]
    pub epsilon: f64,
    /// Delta of the result, which has to be more than 0 because the noise has a largest value
    #[arg(long, default_value_t = 1e-9)]
    pub delta: f64,
    /// Seed of the participants' inputs; their secrets and the noise are never seeded
    #[arg(long)]
    pub seed: Option<u64>,
}

/// The chain.
#[derive(Args)]
pub struct Mixes {
    /// Mixes in the chain
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub mixes: u8,
}
