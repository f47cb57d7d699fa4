//! `throng`, the command line. It parses, calls, and prints; the mathematics is in
//! `throng-account`, the mechanisms are in `throng-mechanism`.

mod account;
mod args;
mod ask;
mod audit;
mod bench;
mod budget;
mod calibrate;
mod collection;
mod crowd;
mod demo;
mod doctor;
mod figures;
mod local;
mod log;
mod manual;
mod parallel;
mod plan;
mod progress;
mod report;
mod results;
mod rounds;
mod send;
mod serve;
mod shield;
mod simulate;
mod stop;
mod token;
mod values;

use args::{BenchTarget, Cli, Command};
use clap::CommandFactory;
use progress::Progress;
use report::Report;
use std::io::{Write, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        // Help and version are answers, and come this way too.
        Err(error) if !error.use_stderr() || !json_wanted() => error.exit(),
        Err(error) => {
            let text = error.render().to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            return failed(text.trim_end(), true, 2);
        }
    };
    let json = cli.json;
    match run(cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // An impossible parameter is bad usage; a promise that cannot be kept is a failure.
        Err(error) => failed(&format!("{error:#}"), json, if bad_usage(&error) { 2 } else { 1 }),
    }
}

/// Tells what went wrong: people on standard error, and programs, which asked for it, on standard
/// output.
fn failed(reason: &str, json: bool, status: u8) -> ExitCode {
    eprintln!("error: {reason}");
    if json {
        Report::default().field("error", reason).field("status", status).print(true);
    }
    ExitCode::from(status)
}

/// True if the arguments, which could not be understood as a whole, ask for JSON.
fn json_wanted() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

fn run(cli: Cli) -> anyhow::Result<bool> {
    let _working = working(&cli.command).map(Progress::busy);
    let report = match cli.command {
        Command::Demo(request) => return demo::run(&request, cli.json),
        Command::Serve(party) => return serve::run(&party).map(|()| true),
        Command::Send(request) => send::run(&request)?,
        Command::Results(request) => results::run(&request)?,
        Command::Rounds(request) => rounds::run(&request)?,
        Command::Doctor(request) => doctor::run(&request)?,
        Command::Token(request) => return token::run(&request, cli.json),
        Command::Log(request) => log::run(&request)?,
        Command::Manual { out } => manual::write(&out)?,
        Command::Account(query) => account::run(query)?,
        Command::Calibrate(request) => calibrate::run(request)?,
        Command::Plan(request) => plan::run(&request)?,
        Command::Budget(request) => budget::run(&request)?,
        Command::Simulate(request) => simulate::run(request)?,
        Command::Audit(request) => audit::run(&request)?,
        Command::Collection(request) => collection::run(request)?,
        Command::Keygen { out, show } => collection::keygen(out.as_deref(), show.as_deref())?,
        Command::Figures { out } => figures::write(&out)?,
        Command::Bench { target: BenchTarget::Account } => bench::account()?,
        Command::Bench { target: BenchTarget::Encode } => bench::encode()?,
        Command::Bench { target: BenchTarget::Aggregate } => bench::aggregate()?,
        Command::Bench { target: BenchTarget::Seal } => bench::seal()?,
        Command::Bench { target: BenchTarget::Mix } => bench::mix()?,
        Command::Bench { target: BenchTarget::Shuffle } => bench::shuffle()?,
        Command::Bench { target: BenchTarget::EndToEnd } => bench::end_to_end()?,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "throng", &mut script);
            // A closed pipe is no error.
            let _ = stdout().write_all(&script);
            return Ok(true);
        }
    };
    Ok(report.print(cli.json))
}

/// The word for work that may take long and says nothing itself of how far it is.
fn working(command: &Command) -> Option<&'static str> {
    match command {
        Command::Account(_) => Some("accounting"),
        Command::Calibrate(_) => Some("calibrating"),
        Command::Plan(_) => Some("planning"),
        Command::Budget(_) => Some("adding up"),
        Command::Collection(_) => Some("checking"),
        _ => None,
    }
}

fn bad_usage(error: &anyhow::Error) -> bool {
    let account =
        |error: &throng_account::Error| matches!(error, throng_account::Error::OutOfRange { .. });
    error.chain().any(|cause| match cause.downcast_ref() {
        Some(throng_mechanism::Error::Account(error)) => account(error),
        Some(throng_mechanism::Error::Parameter { .. }) => true,
        _ if matches!(cause.downcast_ref(), Some(throng_rounds::Error::Parameter { .. })) => true,
        _ => cause.is::<collection::Usage>() || cause.downcast_ref().is_some_and(account),
    })
}
