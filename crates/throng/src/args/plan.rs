//! Arguments of the planner, the simulator and the auditor.

use super::by_key::{Family, in_order};
use super::{Promise, epochs, example, whole};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::path::PathBuf;
use throng_mechanism::{Key, Kind};

/// The question to the planner.
#[derive(Args)]
#[command(after_help = "Examples:
  throng plan --value bit --n 1e6 --epsilon 1 --delta 1e-6 --epochs 365
  throng plan --value real --low 0 --high 120 --n 1e5 --epsilon 1 --delta 1e-6
  throng plan --value category --size 16 --n 2e4 --epsilon 1 --delta 1e-6 --write plan.toml")]
pub struct Plan {
    /// What one user holds
    #[arg(long, value_parser = kinds())]
    pub value: Kind,
    #[command(flatten)]
    pub wish: Wish,
    /// Epochs in which the same people are asked: epsilon and delta are for all of them together
    #[arg(long, default_value_t = 1, value_parser = epochs)]
    pub epochs: u64,
    /// Lower end of a number's range, which the error of the mean is told in
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pub low: f64,
    /// Upper end of a number's range
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub high: f64,
    /// Write the error of every mechanism against n to this SVG file
    #[arg(long)]
    pub plot: Option<PathBuf>,
    /// Write the recommended mechanism as a collection file
    #[arg(long)]
    pub write: Option<PathBuf>,
    /// Write it although epsilon is above 10, which is no promise of privacy
    #[arg(long, requires = "write")]
    pub high_epsilon: bool,
    /// Write it even if nothing protects people as soon as one report is an adversary's
    #[arg(long, requires = "write")]
    pub trust_everyone: bool,
}

/// The simulation to run.
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

/// The source of the values of a simulation.
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

/// The audit to make.
#[derive(Args)]
#[command(after_help = "Examples:
  throng audit bit-sum --n 1000 --epsilon 1 --delta 1e-6 --seconds 2
  throng audit selection --size 4 --n 1000 --epsilon 1 --delta 1e-6 --seconds 2 \\
      --weaken 1.3   # a planted bug
  throng audit bit-sum --n 20 --epsilon 1 --delta 1e-6 --chain")]
pub struct Audit {
    /// The mechanism to calibrate
    #[arg(value_parser = key)]
    pub mechanism: Key,
    #[command(flatten)]
    pub wish: Wish,
    /// Run everything through a real chain: processes of `throng serve` on this machine, two mixes
    /// and an analyzer; sealed reports go in, and all that is seen are its releases
    #[arg(long)]
    pub chain: bool,
    /// Time that the audit may take, on all cores, 20 if not given, and 60 with --chain; an
    /// interruption gives the answer so far
    #[arg(long, conflicts_with = "runs")]
    pub seconds: Option<f64>,
    /// Runs in each of the two worlds, instead of a time
    #[arg(long, value_parser = whole)]
    pub runs: Option<u64>,
    /// Confidence that all that is said of the mechanism is true
    #[arg(long, default_value_t = 0.999_99)]
    pub confidence: f64,
    /// Divide the probability of the client's noise, or the width of Laplace noise, by this, while
    /// the claim stays: a planted bug
    #[arg(long)]
    pub weaken: Option<f64>,
    /// Seed; a fresh one is drawn and printed if not given
    #[arg(long)]
    pub seed: Option<u64>,
}

/// A promise, and what may be spent on it.
#[derive(Args, Clone)]
pub struct Wish {
    #[command(flatten)]
    pub promise: Promise,
    #[command(flatten)]
    pub limits: Limits,
}

/// A [`Wish`] whose crowd may be the number of rows of a file.
#[derive(Args, Clone)]
pub struct LooseWish {
    /// Reports; the number of rows of the file if not given
    #[arg(long, value_parser = whole)]
    pub n: Option<u64>,
    /// Fraction of them that may be corrupt: the guarantee counts on the rest only
    #[arg(long, visible_alias = "gamma", default_value_t = super::USUAL_CORRUPT)]
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

/// The limits of a mechanism.
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

impl Limits {
    /// No limits, for a question of this size.
    pub fn none(size: Option<u64>) -> Self {
        Self {
            size,
            changes: 1,
            hashes: 2,
            cohorts: 64,
            dropout: 0.0,
            max_messages: None,
            local_floor: None,
            fragile: false,
        }
    }
}

/// A mechanism that the planner calibrates: one command for each key that has none of its own.
pub struct FittedMechanism {
    /// The mechanism.
    pub key: Key,
    /// The wish that it has to fulfil.
    pub wish: Wish,
    /// Epochs in which it has to, all together.
    pub epochs: u64,
}

/// The argument that says how often people are asked.
#[derive(Args)]
pub struct HowOften {
    /// Epochs in which the same people are asked: epsilon and delta are for all of them together
    #[arg(long, default_value_t = 1, value_parser = epochs)]
    pub epochs: u64,
}

impl Family for FittedMechanism {
    fn keys() -> impl Iterator<Item = Key> {
        in_order(&FITTED).filter(|key| !OWN.contains(key))
    }

    fn command(key: Key) -> Command {
        let (sizes, size, n) = match key.kind() {
            Kind::Bit | Kind::Real => ("", "", "1e4"),
            Kind::Category => (" (--size categories)", " --size 10", "1e4"),
            Kind::Text => (" (--size bits)", " --size 64", "1e5"),
            Kind::Attributes => (" (--size attributes)", " --size 5", "1e4"),
            Kind::State => (" (--size periods, --changes)", " --size 8", "1e5"),
        };
        let fragile = if key.row().fragile { " (needs --fragile)" } else { "" };
        let about = format!("{} of {key}{sizes}{fragile}", key.row().fitted);
        let mut line = format!("calibrate {key}{size} --n {n} --epsilon 1 --delta 1e-6");
        if key.row().slow {
            line += " --max-messages 9";
        }
        if key.row().fragile {
            line += " --fragile";
        }
        if LONG.contains(&key)
            && let Some((begin, last)) = line.rsplit_once(" --")
        {
            line = format!("{begin} \\\n      --{last}");
        }
        // After the arguments, which have an about of their own.
        let command = HowOften::augment_args(Wish::augment_args(Command::new(key.name())));
        command.about(about).after_help(example(&line))
    }

    fn read(key: Key, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let HowOften { epochs } = HowOften::from_arg_matches(matches)?;
        Ok(Self { key, wish: Wish::from_arg_matches(matches)?, epochs })
    }
}

/// The key of a mechanism.
pub(super) fn key(text: &str) -> Result<Key, String> {
    Key::named(text).ok_or_else(|| {
        let names: Vec<_> = Key::ALL.iter().map(|key| key.name()).collect();
        format!("not a mechanism; there are {}", names.join(", "))
    })
}

/// The kinds of values, each with a word of help.
pub(super) fn kinds() -> impl TypedValueParser<Value = Kind> {
    one_of(Kind::ALL.map(|kind| {
        let help = match kind {
            Kind::Bit => "Yes or no",
            Kind::Real => "A bounded number",
            Kind::Category => "One of --size categories",
            Kind::Text => "A string; --size is the number of Bloom filter bits",
            Kind::Attributes => "--size yes-or-no attributes, of which the commonest is asked for",
            Kind::State => "Yes or no in each of --size periods, with at most --changes changes",
        };
        (kind.name(), kind, help)
    }))
}

/// One of some values, each given by its name and listed with a word of help.
pub(super) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, T, &'static str); N],
) -> impl TypedValueParser<Value = T> {
    let listed = values.map(|(name, _, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(listed).try_map(move |given| {
        let value = values.into_iter().find(|(name, ..)| *name == given);
        value.map(|(_, value, _)| value).ok_or("not one of the values")
    })
}

/// Mechanisms whose calibration has more to say, in commands of their own.
const OWN: [Key; 5] =
    [Key::BitSum, Key::TwoMessageCount, Key::RealSum, Key::KaryResponse, Key::RandomizedResponse];

/// The order of the help: by kind of value, the shorter report first. Others follow.
const FITTED: [&[Key]; 4] = [
    &[Key::CoinCount, Key::BurstCount],
    &[Key::LaplaceMean, Key::OneBitMean, Key::SlicedSum, Key::SplitAndMix],
    &[Key::Histogram, Key::SubsetSelection, Key::AdditiveHistogram, Key::BurstHistogram],
    &[Key::Selection, Key::Rappor, Key::Longitudinal],
];

/// The mechanisms whose examples have their last argument on a line of its own.
const LONG: [Key; 2] = [Key::AdditiveHistogram, Key::BurstHistogram];
