//! `throng`, the command line. It parses, calls, and prints; the mathematics is in `throng-account`.

mod account;
mod args;
mod bench;
mod calibrate;
mod chart;
mod figures;
mod report;

use args::{BenchTarget, Cli, Command};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;
use throng_account::Error;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            // A parameter that cannot be is bad usage; a promise that cannot be kept is a failure.
            let usage = matches!(error.downcast_ref(), Some(Error::OutOfRange { .. }));
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Account(query) => account::run(query)?.print(cli.json),
        Command::Calibrate(request) => calibrate::run(request)?.print(cli.json),
        Command::Figures { out } => figures::write(&out)?.print(cli.json),
        Command::Bench { target: BenchTarget::Account } => bench::account()?.print(cli.json),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "throng", &mut std::io::stdout());
        }
    }
    Ok(())
}
