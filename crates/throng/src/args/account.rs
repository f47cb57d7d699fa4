//! Accounts that need no more than a profile.

use super::by_key::{Family, in_order};
use super::{CrowdArgs, FlipArgs, Query, example, share, weight, whole};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use throng_mechanism::{Key, Setting, Settings};

/// A mechanism that is fully described by a profile: one command for each key with an inquiry.
pub struct Plain {
    /// The mechanism.
    pub key: Key,
    pub crowd: CrowdArgs,
    /// The parameters of its noise, except for the flip.
    pub settings: Settings,
    pub flip: Option<FlipArgs>,
    pub query: Query,
}

impl Family for Plain {
    fn keys() -> impl Iterator<Item = Key> {
        in_order(&ORDER).filter(|key| key.row().inquiry.is_some())
    }

    fn command(key: Key) -> Command {
        let command = CrowdArgs::augment_args(Command::new(key.name()));
        let Some(inquiry) = key.row().inquiry else { return command };
        let command = inquiry.settings.iter().fold(command, with_setting);
        let example = example(&format!("account {key} {}", inquiry.example));
        // After the arguments, which have an about of their own.
        Query::augment_args(command).about(inquiry.about).after_help(example)
    }

    fn read(key: Key, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let asked = key.row().inquiry.map_or(&[][..], |inquiry| inquiry.settings);
        let flip = asked.contains(&Setting::Flip).then(|| FlipArgs::from_arg_matches(matches));
        Ok(Self {
            key,
            crowd: CrowdArgs::from_arg_matches(matches)?,
            settings: settings(asked, matches),
            flip: flip.transpose()?,
            query: Query::from_arg_matches(matches)?,
        })
    }
}

/// The local ε₀, or the parameters that calibrate prints. A parameter may be an argument already.
fn made_of(command: Command, parameters: &'static [&'static str]) -> Command {
    let coin = parameters[parameters.len() - 1];
    let local = number("epsilon0", "EPSILON0", "Local epsilon");
    let local = local.required_unless_present(coin).conflicts_with(coin);
    parameters.iter().fold(command.arg(local), |command, name| {
        if command.get_arguments().any(|known| known.get_id() == name) {
            return command;
        }
        let help = "As calibrate prints it, all such instead of --epsilon0";
        let list = Arg::new(*name).long(*name).value_name("INTEGERS").help(help);
        command.arg(list.value_delimiter(',').value_parser(weight))
    })
}

fn with_setting(command: Command, setting: &Setting) -> Command {
    match setting {
        Setting::Local(instead) => made_of(command, instead),
        Setting::Size(what) => command.arg(
            count("size", "SIZE", what).visible_aliases(["categories", "columns"]).required(true),
        ),
        Setting::SizeOrTwo(what) => {
            let size = count("size", "SIZE", what).visible_aliases(["k", "columns"]);
            command.arg(size.default_value("2"))
        }
        Setting::Grid => {
            let what = "Steps from one end of the range to the other";
            command.arg(count("grid", "GRID", what).default_value("1000"))
        }
        Setting::Flip => FlipArgs::augment_args(command),
        Setting::Slots(what) => command.arg(count("slots", "SLOTS", what).default_value("1")),
        Setting::Chance => command
            .arg(
                number("p", "P", "Probability that a slot is used")
                    .required_unless_present("chance"),
            )
            .arg(
                count("chance", "CHANCE", "The same out of 2^64, as calibrate prints it")
                    .conflicts_with("p"),
            ),
        Setting::Weights => {
            let what =
                "Probability of a coin of each level in a slot, lowest level first, or out of 2^64";
            command.arg(list("weights", "WEIGHTS", what).required(true))
        }
        Setting::Bursts => {
            let pairs = "Probabilities of 1, 2, ... pairs of a plus and a minus, or out of 2^64";
            command
                .arg(list("pairs", "PAIRS", pairs))
                .arg(list("plus", "PLUS", "Probabilities of 1, 2, ... plusses"))
                .arg(list("minus", "MINUS", "Probabilities of 1, 2, ... minuses"))
        }
    }
}

/// The parameters given instead of a local ε₀, if they are.
fn instead(asked: &[Setting], matches: &ArgMatches) -> &'static [&'static str] {
    let names = asked.iter().find_map(|setting| match setting {
        Setting::Local(names) => Some(*names),
        _ => None,
    });
    names.filter(|names| matches.contains_id(names[names.len() - 1])).unwrap_or_default()
}

/// The settings that the command has; the parser has seen to it that nothing is missing. The flip
/// is added once the number of reports is known.
fn settings(asked: &[Setting], matches: &ArgMatches) -> Settings {
    let number = |name| matches.try_get_one(name).ok().flatten().copied().unwrap_or_default();
    let count = |name| matches.try_get_one(name).ok().flatten().copied().unwrap_or_default();
    let made_of = |names: &[&'static str]| {
        let list = |name: &'static str| {
            let integers = matches.try_get_many::<u64>(name).ok().flatten();
            (name, integers.map_or_else(Vec::new, |integers| integers.copied().collect()))
        };
        names.iter().copied().map(list).collect()
    };
    let list = |name| {
        let numbers = matches.try_get_many::<f64>(name).ok().flatten();
        numbers.map_or_else(Vec::new, |numbers| numbers.copied().collect())
    };
    Settings {
        local: number("epsilon0"),
        made_of: made_of(instead(asked, matches)),
        size: count("size"),
        grid: count("grid"),
        slots: count("slots"),
        // An integer of a sampler has 53 significant bits: nothing is lost.
        chance: match count("chance") {
            0 => number("p"),
            chance => chance as f64 / 2_f64.powi(64),
        },
        weights: list("weights"),
        pairs: list("pairs"),
        plus: list("plus"),
        minus: list("minus"),
        ..Settings::default()
    }
}

fn number(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help).value_parser(value_parser!(f64))
}

/// Probabilities, also out of 2^64, as calibrate prints them.
fn list(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    let list = number(name, shown, help).value_parser(share);
    list.value_delimiter(',').action(clap::ArgAction::Append)
}

fn count(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help).value_parser(whole)
}

/// The order of the help: responses, means, a response for every cell, noise in extra messages, and
/// slices. Others follow.
const ORDER: [&[Key]; 5] = [
    &[Key::RandomizedResponse, Key::KaryResponse, Key::SubsetSelection],
    &[Key::LaplaceMean, Key::OneBitMean],
    &[Key::Histogram, Key::Selection],
    &[Key::CoinCount, Key::AdditiveHistogram, Key::BurstCount, Key::BurstHistogram],
    &[Key::SlicedSum],
];
