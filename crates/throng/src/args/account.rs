//! Accounts that need no more than a profile.

use super::plan::in_order;
use super::{CrowdArgs, FlipArgs, Query, whole};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};
use throng_mechanism::{Inquiry, Key, Setting, Settings};

/// A mechanism that is fully described by a profile: one command for each key with an [`Inquiry`].
pub struct Plain {
    /// The mechanism.
    pub key: Key,
    pub crowd: CrowdArgs,
    /// The parameters of its noise, except for the flip.
    pub settings: Settings,
    pub flip: Option<FlipArgs>,
    pub query: Query,
}

impl Plain {
    fn command(key: Key, inquiry: &Inquiry) -> Command {
        let example = format!("Example:\n  throng account {key} {}", inquiry.example);
        let command = CrowdArgs::augment_args(Command::new(key.name()));
        let command = inquiry.settings.iter().fold(command, |command, setting| match setting {
            Setting::Local => {
                command.arg(number("epsilon0", "EPSILON0", "Local epsilon").required(true))
            }
            Setting::Size(what) => command.arg(count("size", "SIZE", what).required(true)),
            Setting::SizeOrTwo(what) => {
                command.arg(count("size", "SIZE", what).visible_alias("k").default_value("2"))
            }
            Setting::Flip => FlipArgs::augment_args(command),
            Setting::Slots(what) => command.arg(count("slots", "SLOTS", what).default_value("1")),
            Setting::Chance => {
                command.arg(number("p", "P", "Probability that a slot is used").required(true))
            }
            Setting::Weights => {
                let what = "Probability of a coin of each level in a slot, lowest level first";
                command.arg(list("weights", "WEIGHTS", what).required(true))
            }
            Setting::Bursts => command
                .arg(list(
                    "pairs",
                    "PAIRS",
                    "Probabilities of 1, 2, ... pairs of a plus and a minus",
                ))
                .arg(list("plus", "PLUS", "Probabilities of 1, 2, ... plusses"))
                .arg(list("minus", "MINUS", "Probabilities of 1, 2, ... minuses")),
        });
        // After the arguments, which have an about of their own.
        Query::augment_args(command).about(inquiry.about).after_help(example)
    }

    /// The inquiries in the order of the help.
    fn inquiries() -> impl Iterator<Item = (Key, &'static Inquiry)> {
        in_order(&ORDER).filter_map(|key| Some((key, key.inquiry()?)))
    }
}

impl Subcommand for Plain {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(Self::inquiries().map(|(key, inquiry)| Self::command(key, inquiry)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Self::inquiries().any(|(key, _)| key.name() == name)
    }
}

impl FromArgMatches for Plain {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let key = Key::named(name).ok_or_else(missing)?;
        let asked = key.inquiry().ok_or_else(missing)?.settings;
        let flip = asked.contains(&Setting::Flip).then(|| FlipArgs::from_arg_matches(matches));
        Ok(Self {
            key,
            crowd: CrowdArgs::from_arg_matches(matches)?,
            settings: settings(asked, matches),
            flip: flip.transpose()?,
            query: Query::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The settings that were given. The parser has seen to it that nothing is missing.
fn settings(asked: &[Setting], matches: &ArgMatches) -> Settings {
    let number = |name: &str| matches.get_one::<f64>(name).copied().unwrap_or(f64::NAN);
    let count = |name: &str| matches.get_one::<u64>(name).copied().unwrap_or(0);
    let list = |name: &str| {
        matches.get_many::<f64>(name).map_or_else(Vec::new, |list| list.copied().collect())
    };
    let mut settings = Settings::default();
    for setting in asked {
        match setting {
            Setting::Local => settings.local = number("epsilon0"),
            Setting::Size(_) | Setting::SizeOrTwo(_) => settings.size = count("size"),
            // Added once the number of reports is known.
            Setting::Flip => {}
            Setting::Slots(_) => settings.slots = count("slots"),
            Setting::Chance => settings.chance = number("p"),
            Setting::Weights => settings.weights = list("weights"),
            Setting::Bursts => {
                settings.pairs = list("pairs");
                settings.plus = list("plus");
                settings.minus = list("minus");
            }
        }
    }
    settings
}

fn number(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help).value_parser(value_parser!(f64))
}

fn list(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    number(name, shown, help).value_delimiter(',').action(clap::ArgAction::Append)
}

fn count(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help).value_parser(whole)
}

/// The order of the help: a report of one message, one of a message per cell, one with extra
/// messages for noise. Others follow.
const ORDER: [&[Key]; 4] = [
    &[Key::RandomizedResponse, Key::KaryResponse, Key::SubsetSelection],
    &[Key::LaplaceMean, Key::OneBitMean, Key::Histogram, Key::Selection],
    &[Key::CoinCount, Key::AdditiveHistogram, Key::BurstCount, Key::BurstHistogram],
    &[Key::SlicedSum],
];
