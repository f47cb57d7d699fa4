//! `throng collection`: write, verify and state the promise of a collection; `throng keygen`.

use crate::args::{
    Below as BelowArg, Collection as Request, NewCollection, Promise as PromiseArgs,
};
use crate::args::{CrowdArgs, Wish, Words};
use crate::plan::{bytes, finite};
use crate::report::{Printable, Report};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use throng_account::Delta;
use throng_account::show::Upper;
use throng_collection::{Board, Collection, Error, Promise, Prompt, Spent, Terms, duration_text};
use throng_mechanism::{Ask, Kind, Mechanism, Plan, Spending};
use throng_wire::{Below, Chain, Identity, Party, Schedule};
use zeroize::Zeroizing;

/// Writes, verifies or shows a collection.
pub fn run(request: Request) -> Result<Report> {
    match request {
        Request::New(request) => new(&request),
        Request::Check { file } => match board(&file)? {
            Some(board) => Ok(check_board(&board)),
            None => Ok(check(&read(&file)?)),
        },
        Request::Show { file } => match board(&file)? {
            Some(board) => Ok(show_board(&board)),
            None => Ok(show(&read(&file)?)),
        },
    }
}

/// Writes a fresh identity for its owner alone, or reads one, and prints the public half.
pub fn keygen(out: Option<&Path>, show: Option<&Path>) -> Result<Report> {
    let (identity, file) = match (out, show) {
        (Some(file), _) => {
            let mut seed = Zeroizing::new([0; 32]);
            getrandom::fill(&mut *seed)?;
            let identity = Identity::from_seed(&seed);
            identity.write(file)?;
            (identity, file)
        }
        (None, Some(file)) => (Identity::read(file)?, file),
        (None, None) => bail!("--out or --show is needed"),
    };
    Ok(Report::default()
        .line("identity", "identity", identity.public().to_string())
        .line("file", "file", file.display().to_string())
        .note("The file is the secret half: keep it where the party runs, and nowhere else."))
}

/// Question, promise and mechanism of a draft or of a collection.
pub fn read_terms(file: &Path) -> Result<Terms> {
    Terms::parse(&text_of(file)?).with_context(|| format!("{} is not a collection", file.display()))
}

/// A mechanism that was calibrated for a wish, with what it keeps, as a draft.
pub fn draft(ask: &Ask, mechanism: Mechanism, corrupt: f64) -> Terms {
    let promise = Promise {
        epsilon: ask.epsilon,
        delta: ask.delta,
        crowd: ask.crowd,
        corrupt,
        epochs: 1,
        lifetime: (ask.epsilon, ask.delta),
    };
    Terms { question: Prompt::new(usual_text(ask.question.kind())), promise, mechanism }
}

/// Writes a new file; refuses to replace one.
pub fn write_new(file: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).open(file) {
        Ok(mut new) => new.write_all(text.as_bytes()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("{} exists already; remove it or choose another name", file.display())
        }
        Err(error) => Err(error),
    }
    .with_context(|| format!("cannot write {}", file.display()))
}

/// An argument that is not valid.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn new(request: &NewCollection) -> Result<Report> {
    let mut terms = match &request.terms {
        Some(file) => read_terms(file)?,
        None => calibrated(request)?,
    };
    request.words.apply(&mut terms.question);
    let (times, promise) = (&request.times, &mut terms.promise);
    promise.corrupt = request.corrupt.unwrap_or(promise.corrupt);
    promise.epochs = times.epochs.unwrap_or(promise.epochs);
    let below = match (times.below, times.window) {
        (BelowArg::Merge, Some(window)) => Below::Merge { window },
        (BelowArg::Merge, None) => bail!(Usage("--window is needed with --below merge".into())),
        (BelowArg::Expire, Some(_)) => bail!(Usage("--window goes with --below merge".into())),
        (BelowArg::Expire, None) => Below::Expire,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let start = times.start.unwrap_or(now - now % times.every.clamp(1, 60));
    let schedule = Schedule { start, every: times.every, grace: times.grace, below };
    let chain = Chain { mixes: request.mixes.clone(), analyzer: request.analyzer.clone() };
    let delta = times.lifetime_delta.map(Delta::new).transpose()?;
    terms.promise.lifetime = terms.lifetime(schedule.window(), delta)?;
    let text = Collection { terms, schedule, chain }.to_toml();
    let collection = Collection::parse(&text).map_err(usage)?;
    write_new(&request.file, &text)?;
    let (epsilon, delta) = collection.terms.promise.lifetime;
    Ok(Report::default()
        .line("file", "file", request.file.display().to_string())
        .line("id", "id", collection.id().to_string())
        .line("mechanism", "mechanism", collection.terms.mechanism.key().name())
        .line("quorum", "reports needed", collection.quorum())
        .line("lifetime_epsilon", "epsilon of all epochs", Upper(epsilon.get()))
        .line("lifetime_delta", "delta of all epochs", Upper(delta.get())))
}

fn calibrated(request: &NewCollection) -> Result<Terms> {
    let NewCollection { n: Some(n), epsilon: Some(epsilon), delta: Some(delta), .. } = *request
    else {
        bail!(Usage("--n, --epsilon and --delta are needed, or --terms".into()));
    };
    let corrupt = request.corrupt.unwrap_or(0.0);
    let promise = PromiseArgs { crowd: CrowdArgs { n, corrupt }, epsilon, delta };
    let wish = Wish { promise, limits: request.limits.clone() };
    let (ask, mechanism) = match (request.mechanism, request.value) {
        (Some(key), _) => {
            let ask = wish.about(key)?;
            let mechanism = ask.calibrate(key)?;
            (ask, mechanism)
        }
        (None, Some(kind)) => {
            let ask = wish.of_kind(kind)?;
            let plan = Plan::new(&ask, bytes);
            let best = plan.offers.into_iter().next();
            (ask, best.context("no mechanism keeps this promise; see throng plan")?.mechanism)
        }
        (None, None) => bail!(Usage("--value or --mechanism is needed, or --terms".into())),
    };
    Ok(draft(&ask, mechanism, corrupt))
}

impl Words {
    fn apply(&self, question: &mut Prompt) {
        let Self { text, labels, low, high, unit } = self;
        question.text = text.clone().unwrap_or_else(|| question.text.clone());
        question.unit = unit.clone().unwrap_or_else(|| question.unit.clone());
        question.low = low.unwrap_or(question.low);
        question.high = high.unwrap_or(question.high);
        if !labels.is_empty() {
            question.labels.clone_from(labels);
        }
    }
}

fn check(collection: &Collection) -> Report {
    let lines = numbers(collection).into_iter();
    lines
        .fold(Report::default(), |report, (key, label, value)| report.line(key, label, value))
        .field("kept", true)
        .note("It keeps its promise.")
}

fn show(collection: &Collection) -> Report {
    let Terms { question, mechanism, promise } = &collection.terms;
    let mut parameters = serde_json::Map::new();
    for (name, integers) in mechanism.parameters() {
        let text = integers.iter().map(|n| Value::String(n.to_string())).collect();
        parameters.insert(name.into(), Value::Array(text));
    }
    let spending = match collection.terms.spending() {
        Spending::PerEpoch => "per-epoch",
        Spending::Lifetime => "lifetime",
        Spending::Memoized => "memoized",
    };
    let chain = &collection.chain;
    let plain = collection.plain();
    let lines = numbers(collection).into_iter();
    let report = lines
        .fold(Report::default(), |report, (key, _, value)| report.field(key, value.json))
        .field(
            "question",
            json!({"text": question.text, "value": mechanism.kind().name(),
                "low": question.low, "high": question.high, "unit": question.unit,
                "labels": question.labels}),
        )
        .field("parameters", parameters)
        .field("corrupt", promise.corrupt)
        .field("spending", spending)
        .field("merged", merged(collection))
        .field("influence", finite(mechanism.influence()))
        .field("standard_error", mechanism.standard_error(collection.quorum() as f64))
        .field("schedule", schedule(&collection.schedule))
        .field("mix", chain.mixes.iter().map(party).collect::<Vec<_>>())
        .field("analyzer", party(&chain.analyzer))
        .field("plain", plain.clone())
        .say("collection", collection.id().to_string());
    plain.into_iter().fold(report, Report::note)
}

fn check_board(board: &Board) -> Report {
    let shape = board.shape();
    Report::default()
        .line("id", "id", board.id().to_string())
        .field("kind", "board")
        .line("about", "about", board.about.clone())
        .line("mixes", "mixes", u64::from(shape.mixes))
        .line("messages", "messages per report", shape.messages)
        .line("payload", "bytes per message", shape.payload)
        .line("bytes_per_report", "bytes per report", shape.report_bytes())
        .line("quorum", "reports needed", board.crowd)
        .line("rounds", "rounds", board.rounds)
        .note(
            "It is a board: messages are posted and shown, and no privacy of their content is \
             promised.",
        )
}

fn show_board(board: &Board) -> Report {
    let Chain { mixes, analyzer } = &board.chain;
    let report = check_board(board)
        .field("schedule", schedule(&board.schedule))
        .field("mix", mixes.iter().map(party).collect::<Vec<_>>())
        .field("analyzer", party(analyzer))
        .field("plain", board.plain());
    board.plain().into_iter().fold(report, Report::note)
}

/// The numbers that programs and operators ask for, each with its key and its label.
fn numbers(collection: &Collection) -> Vec<(&'static str, &'static str, Printable)> {
    let Terms { promise, mechanism, .. } = &collection.terms;
    let shape = collection.shape();
    let local = match mechanism.local_floor() {
        Some(floor) => Upper(floor.get()).into(),
        None => "infinity".into(),
    };
    vec![
        ("id", "id", collection.id().to_string().into()),
        ("mechanism", "mechanism", mechanism.key().name().into()),
        ("mixes", "mixes", u64::from(shape.mixes).into()),
        ("messages", "messages per report", shape.messages.into()),
        ("payload", "bytes per message", shape.payload.into()),
        ("bytes_per_report", "bytes per report", shape.report_bytes().into()),
        ("quorum", "reports needed", collection.quorum().into()),
        ("crowd", "honest ones among them", promise.crowd.get().into()),
        ("epsilon", "epsilon", Upper(promise.epsilon.get()).into()),
        ("delta", "delta", Upper(promise.delta.get()).into()),
        ("epochs", "epochs", promise.epochs.into()),
        ("lifetime_epsilon", "epsilon of all epochs", Upper(promise.lifetime.0.get()).into()),
        ("lifetime_delta", "delta of all epochs", Upper(promise.lifetime.1.get()).into()),
        ("local_floor", "local floor", local),
    ]
}

/// The epsilon and delta that cover the reports of one person in one merged release.
fn merged(collection: &Collection) -> Value {
    let Below::Merge { window } = collection.schedule.below else { return Value::Null };
    let spent = Spent { epochs: window, honest: collection.terms.promise.crowd };
    collection.terms.cost(spent).map_or(Value::Null, |(epsilon, delta)| {
        json!({"epochs": window, "epsilon": epsilon.get(), "delta": delta.get()})
    })
}

fn schedule(schedule: &Schedule) -> Value {
    let (below, window) = match schedule.below {
        Below::Expire => ("expire", Value::Null),
        Below::Merge { window } => ("merge", window.into()),
    };
    json!({"start": schedule.start, "every": duration_text(schedule.every),
        "grace": duration_text(schedule.grace), "below": below, "window": window})
}

fn party(party: &Party) -> Value {
    json!({"name": party.name, "url": party.url, "identity": party.identity.to_string()})
}

/// The board in a file, if the file is one of a board.
fn board(file: &Path) -> Result<Option<Board>> {
    let text = text_of(file)?;
    if !Board::is_in(&text) {
        return Ok(None);
    }
    let board = Board::parse(&text);
    board.map(Some).with_context(|| format!("{} is not a board that can be run", file.display()))
}

fn read(file: &Path) -> Result<Collection> {
    Collection::parse(&text_of(file)?)
        .with_context(|| format!("{} is not a collection that can be run", file.display()))
}

fn text_of(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Turns an error about a field into one about the argument it came from.
fn usage(error: Error) -> anyhow::Error {
    match error {
        Error::Field { .. } => Usage(error.to_string()).into(),
        other => other.into(),
    }
}

fn usual_text(kind: Kind) -> &'static str {
    match kind {
        Kind::Bit => "How many say yes?",
        Kind::Real => "What is the mean?",
        Kind::Category => "How many hold each category?",
        Kind::Text => "Which strings are common?",
        Kind::Attributes => "Which attribute is the commonest?",
        Kind::State => "How many say yes, over time?",
    }
}
