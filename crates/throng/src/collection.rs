//! `throng collection`: write, verify and state the promise of a collection; `throng keygen`.

use crate::account::or_infinity;
use crate::args::{self, NewCollection, PromisedTo, Wish, Words};
use crate::calibrate::counting_on;
use crate::local::fresh_identity;
use crate::plan::bytes;
use crate::report::{Printable, Report, finite};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use throng_account::show::Upper;
use throng_account::{Delta, Epsilon};
use throng_collection::{
    Board, Collection, Disclosure, Error, Promise, Prompt, Terms, duration_text,
};
use throng_mechanism::{Ask, Key, Kind, Mechanism, Plan, Spending};
use throng_server::{Clock, read_text};
use throng_wire::{Below, Chain, Identity, Party, Schedule};

/// Writes, verifies or shows a collection.
pub fn run(request: args::Collection) -> Result<Report> {
    match request {
        args::Collection::New(request) => new(&request),
        args::Collection::Check { file } => told(&file, check_board, check),
        args::Collection::Show { file } => told(&file, show_board, show),
    }
}

/// Writes a fresh identity for its owner alone, or reads one, and prints the public half.
pub fn keygen(out: Option<&Path>, show: Option<&Path>) -> Result<Report> {
    if let Some(file) = out {
        ensure!(
            !file.exists(),
            "{} exists already; a key is never replaced: choose another name, or see it with --show",
            file.display()
        );
        fresh_identity()?.write(file)?;
    }
    let file = out.or(show).context("--out or --show is needed")?;
    let identity = Identity::read(file)?;
    Ok(Report::default()
        .line("identity", "identity", identity.public().to_string())
        .line("file", "file", file.display().to_string())
        .note("The file is the secret half: keep it where the party runs, and nowhere else."))
}

/// Question, promise and mechanism of a draft or of a collection.
pub fn read_terms(file: &Path) -> Result<Terms> {
    Terms::parse(&text_of(file)?).with_context(|| format!("{} is not a collection", file.display()))
}

/// A mechanism that was calibrated for a wish, with what it keeps, as a draft: the promise for all
/// epochs is the wish, and that for one of them follows.
pub fn draft(ask: &Ask, mechanism: Mechanism, corrupt: f64) -> Result<Terms> {
    let (epsilon, delta) = if ask.epochs == 1 || mechanism.spending() == Spending::Lifetime {
        (ask.epsilon, ask.delta)
    } else {
        let delta = ask.each_delta();
        let epsilon = mechanism.profile(ask.crowd)?.epsilon(delta)?.epsilon;
        (Epsilon::new(Upper(epsilon.get()).rounded(4))?, delta)
    };
    let promise = Promise {
        epsilon,
        delta,
        crowd: ask.crowd,
        corrupt,
        epochs: ask.epochs,
        lifetime: (ask.epsilon, ask.delta),
    };
    Ok(Terms { question: Prompt::new(usual_text(ask.question.kind())), promise, mechanism })
}

/// Refuses to write a promise that is none, unless that is asked for.
pub fn refuse_high(promise: &Promise, accepted: bool) -> Result<()> {
    match promise.caution() {
        Some(caution) if !accepted => bail!(Usage(format!(
            "{caution} Ask for a smaller epsilon or for fewer epochs, or write it all the same with \
             --high-epsilon"
        ))),
        _ => Ok(()),
    }
}

/// Writes a new file; refuses to replace one.
pub fn write_new(file: &Path, text: &str) -> Result<()> {
    match File::create_new(file).and_then(|mut new| new.write_all(text.as_bytes())) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} exists already; remove it or choose another name", file.display())
        }
        written => written.with_context(|| format!("cannot write {}", file.display())),
    }
}

/// An argument that is not valid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

fn new(request: &NewCollection) -> Result<Report> {
    let times = &request.times;
    let below = match (times.below, times.window) {
        (args::Below::Merge, Some(window)) => Below::Merge { window },
        (args::Below::Expire, None) => Below::Expire,
        // The parser has asked for the window of a merge.
        _ => bail!(Usage("--window goes with --below merge".into())),
    };
    let now = Clock::System.now();
    ensure!(now > 0, "the clock of this machine is before 1970: set it first");
    let start = times.start.unwrap_or(now - now % times.every.clamp(1, 60));
    let schedule = Schedule { start, every: times.every, grace: times.grace, below };
    let chain = Chain { mixes: request.mixes.clone(), analyzer: request.analyzer.clone() };
    let mut terms = match &request.terms {
        Some(file) => drafted(request, file, schedule.window())?,
        None => calibrated(request, schedule.window())?,
    };
    request.words.apply(&mut terms.question);
    refuse_high(&terms.promise, request.high_epsilon)?;
    nobody_is_trusted_unasked(&terms, request.trust_everyone)?;
    let text = Collection { terms, schedule, chain }.to_toml();
    let collection = Collection::parse(&text).map_err(usage)?;
    write_new(&request.file, &text)?;
    let Promise { epsilon, delta, epochs, lifetime, corrupt, .. } = collection.terms.promise;
    let report = Report::default()
        .line("file", "file", request.file.display().to_string())
        .line("id", "id", collection.id().to_string())
        .line("mechanism", "mechanism", collection.terms.mechanism.key().name())
        .line("quorum", "reports needed", collection.quorum())
        .line("epochs", "epochs", epochs)
        .line("lifetime_epsilon", "epsilon of all epochs", Upper(lifetime.0.get()))
        .line("lifetime_delta", "delta of all epochs", Upper(lifetime.1.get()))
        .line("epsilon", "epsilon of one epoch", Upper(epsilon.get()))
        .line("delta", "delta of one epoch", Upper(delta.get()));
    Ok(counting_on(cautioned(report, &collection.terms.promise), corrupt))
}

/// Refuses terms under which one report of an adversary's leaves nothing that is proved, unless
/// they were asked for.
pub fn nobody_is_trusted_unasked(terms: &Terms, asked: bool) -> Result<()> {
    if asked || terms.promise.corrupt > 0.0 || terms.mechanism.local_floor().is_some() {
        return Ok(());
    }
    bail!(Usage(format!(
        "{} shows the value to whoever can pick out one report, and with corrupt = 0 no report of \
         an adversary's is allowed for. Give --corrupt {} or the share you allow for, or \
         --trust-everyone if every report and every mix is surely honest",
        terms.mechanism.key().name(),
        Promise::USUAL_CORRUPT
    )))
}

/// Adds what a high epsilon means, for programs and for people.
fn cautioned(report: Report, promise: &Promise) -> Report {
    let caution = promise.caution();
    let report = report.field("caution", caution.clone());
    caution.into_iter().fold(report, Report::note)
}

/// The terms of a draft. Its mechanism is what it is, so another number of epochs costs more or
/// less.
fn drafted(request: &NewCollection, file: &Path, window: u64) -> Result<Terms> {
    let mut terms = read_terms(file)?;
    let (times, promise) = (&request.times, &mut terms.promise);
    promise.corrupt = request.corrupt.unwrap_or(promise.corrupt);
    let epochs = times.epochs.unwrap_or(promise.epochs);
    let delta = times.lifetime_delta.map(Delta::new).transpose()?;
    if epochs != promise.epochs || window > 1 || delta.is_some() {
        promise.epochs = epochs;
        terms.promise.lifetime = terms.lifetime(window, delta)?;
    }
    Ok(terms)
}

/// Question, promise and mechanism for what is asked. Where epochs may be merged, one person's
/// reports in a release cost more than apart, so the mechanism is calibrated for less until what is
/// promised covers that too.
fn calibrated(request: &NewCollection, window: u64) -> Result<Terms> {
    if request.times.lifetime_delta.is_some() {
        bail!(Usage(
            "--lifetime-delta goes with --terms; without a draft --delta is that one".into()
        ));
    }
    let mut terms = calibrated_for(request, 1.0)?;
    let asked = terms.promise.lifetime;
    if window == 1 || request.times.epochs.unwrap_or(1) == 1 {
        return Ok(terms);
    }
    let mut share = 1.0;
    for _ in 0..SEARCHES {
        let cost = terms.lifetime(window, Some(asked.1)).map(|(epsilon, _)| epsilon);
        if cost.as_ref().is_ok_and(|cost| *cost <= asked.0) {
            terms.promise.lifetime = asked;
            return Ok(terms);
        }
        // Where groups have no epsilon at this delta, a smaller one may do.
        share *= cost.map_or(0.5, |cost| (0.97 * asked.0.get() / cost.get()).clamp(0.1, 0.97));
        terms = calibrated_for(request, share)?;
    }
    bail!("{window} merged epochs cannot keep this promise; take a smaller --window")
}

/// The mechanism for a share of the epsilon that is asked for.
fn calibrated_for(request: &NewCollection, share: f64) -> Result<Terms> {
    let NewCollection { n: Some(n), epsilon: Some(epsilon), delta: Some(delta), .. } = *request
    else {
        bail!(Usage("--n, --epsilon and --delta are needed, or --terms".into()));
    };
    let corrupt = request.corrupt.unwrap_or(Promise::USUAL_CORRUPT);
    let promise = args::Promise { crowd: PromisedTo { n, corrupt }, epsilon, delta };
    let mut wish = Wish { promise, limits: request.limits.clone() };
    // As many as are named, unless the names are strings to look for.
    let named = request.words.labels.len() as u64;
    let kind = request.mechanism.map(Key::kind).or(request.value);
    if named > 0 && matches!(kind, Some(Kind::Category | Kind::Attributes)) {
        wish.limits.size = wish.limits.size.or(Some(named));
    }
    let epochs = request.times.epochs.unwrap_or(1);
    let part = |ask: Ask| -> Result<Ask> {
        let epsilon = Epsilon::new(share * ask.epsilon.get())?;
        Ok(Ask { epsilon, ..ask }.with_epochs(epochs))
    };
    match (request.mechanism, request.value) {
        (Some(key), _) => {
            let ask = part(wish.about(key)?)?;
            draft(&ask, ask.calibrate(key)?, corrupt)
        }
        (None, Some(kind)) => {
            let ask = part(wish.of_kind(kind)?)?;
            let best = Plan::new(&ask, bytes).offers.into_iter().next();
            let best = best.context("no mechanism keeps this promise; see throng plan")?;
            draft(&ask, best.mechanism, corrupt)
        }
        (None, None) => bail!(Usage("--value or --mechanism is needed, or --terms".into())),
    }
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

/// What is told of a file, be it one of a board or of a collection.
fn told(
    file: &Path,
    of_board: fn(&Board) -> Report,
    of_collection: fn(&Collection) -> Report,
) -> Result<Report> {
    let text = text_of(file)?;
    let not = |what| format!("{} is not a {what} that can be run", file.display());
    if Board::is_in(&text) {
        return Ok(of_board(&Board::parse(&text).with_context(|| not("board"))?));
    }
    Ok(of_collection(&Collection::parse(&text).with_context(|| not("collection"))?))
}

fn check(collection: &Collection) -> Report {
    let report = numbers(collection).field("kept", true).note("It keeps its promise.");
    warned(collection, cautioned(report, &collection.terms.promise))
}

/// Adds a warning if no report of an adversary's is allowed for.
fn warned(collection: &Collection, report: Report) -> Report {
    let Terms { promise, mechanism, .. } = &collection.terms;
    if promise.corrupt > 0.0 {
        return report;
    }
    let left = match mechanism.local_floor() {
        Some(_) => "only the local floor is sure",
        None => "nothing is sure",
    };
    report.note(format!(
        "Warning: corrupt is 0, so everyone who reports is trusted, and every mix: as soon as some \
         of the reports are an adversary's, {left}. throng collection new writes another one with \
         --corrupt {}.",
        Promise::USUAL_CORRUPT
    ))
}

fn show(collection: &Collection) -> Report {
    let Terms { question, mechanism, promise } = &collection.terms;
    let text = |integers: Vec<u64>| integers.iter().map(u64::to_string).collect::<Vec<_>>().into();
    let parameters = mechanism.parameters().into_iter();
    let parameters: Map<_, _> = parameters.map(|(name, list)| (name.into(), text(list))).collect();
    let spending = match collection.terms.spending() {
        Spending::PerEpoch => "per-epoch",
        Spending::Lifetime => "lifetime",
        Spending::Memoized => "memoized",
    };
    let question = json!({"text": question.text, "value": mechanism.kind().name(),
        "low": question.low, "high": question.high, "unit": question.unit,
        "labels": question.labels});
    let report = numbers(collection)
        .for_programs()
        .field("question", question)
        .field("parameters", parameters)
        .field("corrupt", promise.corrupt)
        .field("spending", spending)
        .field("caution", promise.caution())
        .field("merged", merged(collection))
        .field("influence", finite(mechanism.influence()))
        .field("standard_error", mechanism.standard_error(collection.quorum() as f64))
        .say("collection", collection.id().to_string());
    let report = shown(report, &collection.schedule, &collection.chain, collection.plain());
    warned(collection, report)
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
    shown(check_board(board), &board.schedule, &board.chain, board.plain())
}

/// Adds who runs it and when, and what it says in plain words.
fn shown(report: Report, schedule: &Schedule, chain: &Chain, plain: Vec<String>) -> Report {
    let (below, window) = match schedule.below {
        Below::Expire => ("expire", Value::Null),
        Below::Merge { window } => ("merge", window.into()),
    };
    let schedule = json!({"start": schedule.start, "every": duration_text(schedule.every),
        "grace": duration_text(schedule.grace), "below": below, "window": window});
    let party = |party: &Party| {
        let identity = party.identity.to_string();
        json!({"name": party.name, "url": party.url, "identity": identity})
    };
    let report = report
        .field("schedule", schedule)
        .field("mix", chain.mixes.iter().map(party).collect::<Vec<_>>())
        .field("analyzer", party(&chain.analyzer))
        .field("plain", plain.clone());
    plain.into_iter().fold(report, Report::note)
}

/// The numbers that programs and operators ask for.
fn numbers(collection: &Collection) -> Report {
    let Terms { promise, mechanism, .. } = &collection.terms;
    let shape = collection.shape();
    let floor = Printable::bounded(or_infinity(mechanism.local_floor()), "infinity");
    Report::default()
        .line("id", "id", collection.id().to_string())
        .line("mechanism", "mechanism", mechanism.key().name())
        .line("mixes", "mixes", u64::from(shape.mixes))
        .line("messages", "messages per report", shape.messages)
        .line("payload", "bytes per message", shape.payload)
        .line("bytes_per_report", "bytes per report", shape.report_bytes())
        .line("quorum", "reports needed", collection.quorum())
        .line("crowd", "honest ones among them", promise.crowd.get())
        .line("epsilon", "epsilon of one epoch", Upper(promise.epsilon.get()))
        .line("delta", "delta of one epoch", Upper(promise.delta.get()))
        .line("epochs", "epochs", promise.epochs)
        .line("lifetime_epsilon", "epsilon of all epochs", Upper(promise.lifetime.0.get()))
        .line("lifetime_delta", "delta of all epochs", Upper(promise.lifetime.1.get()))
        .line("local_floor", "local floor", floor)
}

/// The epsilon and delta that cover the reports of one person in one merged release.
fn merged(collection: &Collection) -> Value {
    let Below::Merge { window } = collection.schedule.below else { return Value::Null };
    let spent = Disclosure { epochs: window, honest: collection.terms.promise.crowd };
    collection.terms.cost(spent).map_or(Value::Null, |(epsilon, delta)| {
        json!({"epochs": window, "epsilon": epsilon.get(), "delta": delta.get()})
    })
}

/// The text of a file.
pub fn text_of(file: &Path) -> Result<String> {
    read_text(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Turns an error about a field into one about the argument it came from.
fn usage(error: Error) -> anyhow::Error {
    match error {
        Error::Field { .. } => Usage(error.to_string()).into(),
        other => other.into(),
    }
}

/// Calibrations for merged epochs that are tried at most.
const SEARCHES: u32 = 12;

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
