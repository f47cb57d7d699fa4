//! `throng audit --chain`: the audit through real processes.
//!
//! Two mixes and an analyzer run as `throng serve` would run them elsewhere. A run of the audit is
//! an epoch of two collections, one for each world: the same people report in both, with the same
//! randomness, except for the attacked one. They randomize and seal by the real client, and send
//! over HTTP. All that the adversary sees are the two releases, and the score is made of their
//! estimates. Many pairs of collections are served side by side, and which of a pair is which world
//! is drawn anew in every epoch.
//!
//! Beside the statistics there is an exact check: every release must be, number for number, what
//! its reports say, but for digests and for what was spent so far, which is held against the
//! lifetime alone ([`check`]).

mod check;
mod deliver;
mod parties;
mod people;
mod runs;

use super::{Budget, Case, MAX_PILOT, seconds, tell, time_of_run};
use crate::collection::draft;
use crate::local::fresh_identity;
use crate::parallel::{cores, generator};
use crate::report::Report;
use anyhow::{Result, bail, ensure};
pub use deliver::Passage;
use runs::Run;
use std::sync::Arc;
use std::time::Instant;
use throng_account::{Crowd, Probability};
use throng_collection::{Answer, Collection, Subjects, Terms};
use throng_mechanism::{Attack, Evidence, Question, Score};
use throng_wire::{Below, Chain, Party, Schedule};

/// Runs both worlds through a chain and compares what can be told apart with what is claimed.
pub fn run(case: &Case<'_>) -> Result<Report> {
    let plan = Plan::of(case)?;
    let rng = &mut generator(case.seed, u64::MAX);
    let attack = Attack::new(&case.claimed, plan.crowd, &*case.claim, rng)?;
    let attack = attack.with_score(plan.score()?);
    let pilot = cores() as f64 * PILOT_SECONDS / time_of_run(&attack)?;
    let pilot = (pilot as u64).clamp(100, MAX_PILOT);
    let bets = case.bet(&attack, &Budget { runs: plan.runs, pilot, aim: AIM })?;

    let (runs, passage) = runs::make(case, &plan, &attack)?;
    match (&runs[..], passage.faults.first()) {
        ([], Some(fault)) => bail!("CAUGHT: {fault}"),
        ([], None) if passage.late > 0 => {
            bail!("no run was in time for its epoch: this machine is too busy, or --n is too large")
        }
        _ => {}
    }
    let witness = |run: &Run| bets.design.witness(run.scores, run.noise);
    let parts: Vec<Evidence> = runs.iter().map(witness).collect();
    let mut found = case.judge(&attack, &bets, &case.hear(&parts, plan.runs)?)?;
    found.passage = Some(passage);
    Ok(tell::report(case.request, &case.ask, &found))
}

/// The runs that are to be made, and when.
struct Plan {
    terms: Terms,
    /// Everybody who reports in an epoch.
    crowd: Crowd,
    /// Pairs of collections.
    pairs: u64,
    /// Runs in all.
    runs: u64,
}

impl Plan {
    fn of(case: &Case<'_>) -> Result<Self> {
        let Case { request, ask, claimed, .. } = case;
        if let Question::State { .. } = claimed.question() {
            bail!(
                "one run of {} would take all its periods; without --chain it is audited whole",
                claimed.key()
            );
        }
        let mut terms = draft(ask, claimed.clone(), request.wish.promise.crowd.corrupt)?;
        if let Question::Text { .. } = claimed.question() {
            terms.question.labels = TEXTS.map(str::to_owned).into();
        }
        let most = most_pairs(&terms)?;
        let (pairs, epochs) = match request.runs {
            Some(runs) => (most.min(runs), runs.div_ceil(most)),
            None => (most, epochs_in(seconds(request))?),
        };
        let long = "so many epochs are too much for one chain: --seconds 600 is the most";
        ensure!(epochs <= MOST_EPOCHS, long);
        terms.promise.epochs = epochs + SPARE;
        terms.promise.lifetime = terms.lifetime(1, None)?;
        let (crowd, runs) = (Crowd::new(terms.quorum())?, request.runs.unwrap_or(pairs * epochs));
        Ok(Self { terms, crowd, pairs, runs })
    }

    /// The collections of this chain, two for each pair, which begin now.
    fn collections(&self, chain: &Chain, now: u64) -> Vec<Collection> {
        let schedule =
            Schedule { start: now + 1, every: EVERY, grace: GRACE, below: Below::Expire };
        let numbered = |number: u64| {
            let mut terms = self.terms.clone();
            terms.question.text = format!("{} ({number})", terms.question.text);
            Collection { terms, schedule, chain: chain.clone() }
        };
        (0..2 * self.pairs).map(numbered).collect()
    }

    /// The score of a bag for somebody who sees nothing but the release of it.
    fn score(&self) -> Result<Score> {
        // Estimates do not depend on who carries the reports.
        let nobody = fresh_identity()?.public();
        let analyzer = Party { name: String::new(), url: String::new(), identity: nobody };
        let collection = self.collections(&Chain { mixes: Vec::new(), analyzer }, 0).swap_remove(0);
        let question = collection.terms.mechanism.question();
        let subjects = Subjects::of(Arc::new(collection));
        Ok(Box::new(move |tally| score_of(question, &subjects.answers(tally, &[0], confidence()))))
    }
}

/// The pairs of collections that a chain on this machine can serve side by side: their messages
/// have to pass in an epoch, and everyone verifies every promise at the start.
fn most_pairs(terms: &Terms) -> Result<u64> {
    let (cores, each) = (cores() as u64, terms.mechanism.per_epoch() as u64);
    let messages = 2 * terms.quorum() * each;
    if messages > 2 * MESSAGES * cores {
        bail!(
            "{messages} messages, in both worlds, are more than pass a chain on this machine in \
             {EVERY} s: --n {} would do",
            MESSAGES * cores / each
        );
    }
    let mut some = terms.clone();
    some.promise.epochs = SPARE;
    some.promise.lifetime = some.lifetime(1, None)?;
    let text = some.to_toml();
    let mut once = f64::INFINITY;
    // The best of three: something else may have come between.
    for _ in 0..3 {
        let began = Instant::now();
        Terms::parse(&text)?;
        once = once.min(began.elapsed().as_secs_f64());
    }
    let verified = (VERIFYING * cores as f64 / once) as u64;
    Ok((MESSAGES * cores / messages).min(verified).clamp(1, (PAIRS * cores).min(MOST_PAIRS)))
}

/// The number of epochs that there is time for.
fn epochs_in(seconds: f64) -> Result<u64> {
    let whole = (seconds - STARTING - GRACE as f64) / EVERY as f64 - 1.0;
    if whole < 1.0 {
        let least = STARTING + (2 * EVERY + GRACE) as f64;
        bail!("an epoch of the chain takes {EVERY} s: --seconds {least:.0} is the least");
    }
    // Some are left for a machine that is busy: of runs that are not all made, half may count.
    Ok(whole as u64 - whole as u64 / 8)
}

/// The score of the estimates of a release: what they say of the attacked user's two values.
fn score_of(question: Question, answers: &[Answer]) -> f64 {
    let value = |answer: &Answer| if answer.value.is_finite() { answer.value } else { 0.0 };
    let at = |place: usize| answers.get(place).map_or(0.0, value);
    match question {
        Question::Bit | Question::Real => at(0),
        Question::Category { .. } => at(1) - at(0),
        // Periods are not run.
        Question::Attributes { .. } | Question::State { .. } => answers.iter().map(value).sum(),
        Question::Text { .. } => {
            let named = |name: &str| answers.iter().find(|answer| answer.what.to_string() == name);
            named(TEXTS[1]).map_or(0.0, value) - named(TEXTS[0]).map_or(0.0, value)
        }
    }
}

/// The confidence of the intervals in releases.
fn confidence() -> Probability {
    Probability::new("confidence", 0.95).expect("a probability")
}

/// The strings that people of an audit hold: the attacked one's two, and the others'.
const TEXTS: [&str; 3] = ["first", "second", "third"];
/// Seconds from one epoch to the next, and of grace: as short as a machine that is busy can keep.
const EVERY: u64 = 3;
const GRACE: u64 = 1;
/// Seconds that go by before the first epoch and after the last.
const STARTING: f64 = 6.0;
/// Epochs that may pass before the parties are ready, or while they are too busy.
const SPARE: u64 = 12;
/// Epochs at most: an analyzer tells all releases of a collection whenever it is asked for them.
const MOST_EPOCHS: u64 = 200;
/// Messages of an epoch, and pairs of collections, for each core.
const MESSAGES: u64 = 2_000;
const PAIRS: u64 = 15;
/// A disk is not faster for more cores.
const MOST_PAIRS: u64 = 60;
/// Seconds on each core in which one party verifies the collections of one world.
const VERIFYING: f64 = 0.5;
/// Seconds for each pilot.
const PILOT_SECONDS: f64 = 0.5;
/// The factor of weaker noise that tails are chosen for: the runs are too few for much less.
const AIM: f64 = 4.0;
