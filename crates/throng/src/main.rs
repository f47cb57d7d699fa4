//! `throng`, the command line. It parses, calls, and prints; the mathematics is in `throng-account`, the
//! mechanisms are in `throng-mechanism`.

mod account;
mod args;
mod ask;
mod audit;
mod bench;
mod calibrate;
mod chart;
mod collection;
mod figures;
mod parallel;
mod plan;
mod report;
mod simulate;
mod values;

use args::{BenchTarget, Cli, Command};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            // A parameter that cannot be is bad usage; a promise that cannot be kept is a failure.
            ExitCode::from(if bad_usage(&error) { 2 } else { 1 })
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<bool> {
    let report = match cli.command {
        Command::Account(query) => account::run(query)?,
        Command::Calibrate(request) => calibrate::run(request)?,
        Command::Plan(request) => plan::run(&request)?,
        Command::Simulate(request) => simulate::run(&request)?,
        Command::Audit(request) => audit::run(&request)?,
        Command::Figures { out } => figures::write(&out)?,
        Command::Bench { target: BenchTarget::Account } => bench::account()?,
        Command::Bench { target: BenchTarget::Encode } => bench::encode()?,
        Command::Bench { target: BenchTarget::Aggregate } => bench::aggregate()?,
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "throng", &mut std::io::stdout());
            return Ok(true);
        }
    };
    Ok(report.print(cli.json))
}

fn bad_usage(error: &anyhow::Error) -> bool {
    let account =
        |error: &throng_account::Error| matches!(error, throng_account::Error::OutOfRange { .. });
    error.chain().any(|cause| match cause.downcast_ref() {
        Some(throng_mechanism::Error::Account(error)) => account(error),
        Some(throng_mechanism::Error::Parameter { .. }) => true,
        _ => cause.downcast_ref().is_some_and(account),
    })
}
