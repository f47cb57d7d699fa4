//! Families of commands that differ by the mechanism alone.

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};
use throng_mechanism::Key;

/// A family of commands, one for each of some keys, whose names are those of the keys.
pub trait Family: Sized {
    /// The keys, in the order of the help.
    fn keys() -> impl Iterator<Item = Key>;

    /// The command of a key.
    fn command(key: Key) -> Command;

    /// The arguments of that command.
    fn read(key: Key, matches: &ArgMatches) -> Result<Self, clap::Error>;
}

/// The command of a family that was given.
pub struct ByKey<F>(pub F);

impl<F: Family> Subcommand for ByKey<F> {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(F::keys().map(F::command))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        F::keys().any(|key| key.name() == name)
    }
}

impl<F: Family> FromArgMatches for ByKey<F> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        F::read(Key::named(name).ok_or_else(missing)?, matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// All keys, those of `groups` first.
pub fn in_order(groups: &'static [&[Key]]) -> impl Iterator<Item = Key> {
    let first = groups.concat();
    let others: Vec<Key> = Key::ALL.into_iter().filter(|key| !first.contains(key)).collect();
    first.into_iter().chain(others)
}
