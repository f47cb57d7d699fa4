//! What the analyzer publishes: estimates with their error, and a guarantee for the batch they come from.

use crate::Error;
use crate::ledger::Entry;
use serde_json::{Map, Value, json};
use throng_account::{Crowd, Delta, Epsilon, Probability};
use throng_collection::{Collection, Spent, Terms};
use throng_mechanism::{Control, DecodeOptions, Estimate, Kind, Spending, Tally};
use throng_wire::{BatchId, Loss, hex};

/// What was counted of one batch.
pub struct Count<'a> {
    /// The first epoch.
    pub first: u64,
    /// The last epoch.
    pub last: u64,
    /// The batch.
    pub batch: BatchId,
    /// Distinct valid reports.
    pub reports: u64,
    /// What mixes left out, in the order of the chain, and what the analyzer left out.
    pub losses: &'a [Loss],
    /// The counters, of all epochs so far where estimates are about all of them.
    pub tally: &'a Tally,
    /// Messages of this batch that no client would have sent.
    pub nonsense: u64,
    /// Epochs that are in the tally.
    pub epochs: &'a [u64],
}

/// What holds for a batch by its number of reports and epochs, whatever was released before.
#[derive(Debug, Clone)]
pub struct Holds(Map<String, Value>);

/// Puts a release together. `entry` is what it costs in the ledger.
pub fn release(collection: &Collection, count: &Count<'_>, entry: &Entry) -> Result<Value, Error> {
    let holds = Holds::of(collection, count.reports, count.last - count.first + 1)?;
    release_with(collection, count, entry, &holds)
}

/// The same with what is known to hold for so many reports and epochs.
pub fn release_with(
    collection: &Collection,
    count: &Count<'_>,
    entry: &Entry,
    holds: &Holds,
) -> Result<Value, Error> {
    let confidence = Probability::new("confidence", CONFIDENCE)?;
    let mut release = Map::new();
    let mut field = |name: &str, value: Value| {
        release.insert(name.into(), value);
    };
    field("collection", collection.id().to_string().into());
    field("first", count.first.into());
    field("last", count.last.into());
    field("reports", count.reports.into());
    field("confidence", CONFIDENCE.into());
    field("estimates", estimates(collection, count, confidence).into());
    field("privacy", holds.and_spent(collection, entry));
    field("influence", influence(collection, count));
    field("dropped", dropped(count));
    field("batch", count.batch.to_string().into());
    field("ledger", hex(&entry.hash).into());
    Ok(Value::Object(release))
}

/// Each with its label, value, standard error and interval, in the units of the question.
fn estimates(collection: &Collection, count: &Count<'_>, confidence: Probability) -> Vec<Value> {
    let terms = &collection.terms;
    let question = &terms.question;
    let name = |place: usize| question.labels.get(place).cloned();
    let shown = |label: String, estimate: Estimate| {
        let (low, high) = estimate.interval();
        json!({
            "label": label,
            "value": estimate.value,
            "standard_error": estimate.standard_error,
            "interval": [low, high],
        })
    };
    let candidates: Vec<&str> = question.labels.iter().map(String::as_str).collect();
    let level = Probability::new("level", 1.0 - CONFIDENCE).unwrap_or(confidence);
    let options = DecodeOptions { control: Control::Family, level, confidence };
    if let Some(found) = terms.mechanism.decode(count.tally, &candidates, &options) {
        return found
            .into_iter()
            .filter(|found| found.significant)
            .map(|found| shown(candidates[found.candidate].to_owned(), found.estimate))
            .collect();
    }
    let values = terms.mechanism.estimate(count.tally, confidence).into_iter();
    let reports = count.tally.reports().max(1) as f64;
    values
        .enumerate()
        .filter(|(place, _)| terms.mechanism.is_complete(*place, count.epochs))
        .map(|(place, estimate)| match terms.mechanism.kind() {
            Kind::Bit => shown("yes".into(), estimate),
            Kind::Real => {
                let scale = (question.high - question.low) / reports;
                shown("mean".into(), estimate.rescaled(question.low, scale))
            }
            Kind::State => shown(format!("period {}", place + 1), estimate),
            Kind::Category | Kind::Text | Kind::Attributes => {
                shown(name(place).unwrap_or_else(|| place.to_string()), estimate)
            }
        })
        .collect()
}

impl Holds {
    /// For so many distinct valid reports from so many merged epochs, and under which conditions.
    pub fn of(collection: &Collection, reports: u64, epochs: u64) -> Result<Self, Error> {
        let terms = &collection.terms;
        let promise = &terms.promise;
        let honest = Crowd::honest(reports, promise.corrupt)?;
        let one = terms.profile(honest)?.epsilon(promise.delta)?;
        let (epsilon, delta) = cost(terms, Spent { epochs, honest })?;
        let all = Spent { epochs, honest: Crowd::new(reports)? };
        let (all_honest, _) = cost(terms, all)?;
        let lower = one.lower.filter(|_| epochs == 1).map(|witness| witness.epsilon.get());
        let neighbours = if epochs == 1 {
            "one person's report is replaced by another"
        } else {
            "the reports of one person, one in each epoch, are replaced by others"
        };
        let facts = [
            ("epsilon", json!(epsilon.get())),
            ("delta", json!(delta.get())),
            ("epsilon_lower", json!(lower)),
            ("honest", json!(honest.get())),
            ("corrupt", json!(promise.corrupt)),
            ("epsilon_if_all_honest", json!(all_honest.get())),
            ("epochs_merged", json!(epochs)),
            ("local_floor", infinite(terms.mechanism.local_floor())),
            ("theorem", json!(one.theorem.name())),
            ("source", json!(one.theorem.source())),
            ("neighbours", json!(neighbours)),
            ("holds_if", json!(holds_if(collection))),
        ];
        Ok(Self(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    /// With what all releases up to this one cost together.
    fn and_spent(&self, collection: &Collection, entry: &Entry) -> Value {
        let (epsilon, delta) = collection.terms.promise.lifetime;
        let mut facts = self.0.clone();
        facts.insert("spent_epsilon".into(), entry.total.get().into());
        facts.insert("spent_delta".into(), delta.get().into());
        facts.insert("lifetime_epsilon".into(), epsilon.get().into());
        Value::Object(facts)
    }
}

/// ε and δ for a person with a report in every epoch of the release. Where many epochs are merged, what
/// group privacy makes of the promised δ can pass 1; then ε at the δ of the lifetime is told instead.
pub(crate) fn cost(terms: &Terms, release: Spent) -> Result<(Epsilon, Delta), Error> {
    match terms.cost(release) {
        Ok(cost) => Ok(cost),
        Err(_) => Ok((terms.spent(&[release])?, terms.promise.lifetime.1)),
    }
}

/// On what the promise rests.
fn holds_if(collection: &Collection) -> String {
    let mut condition = String::from(
        "at least one mix is honest, and no more than the corrupt fraction of the reports it let through \
         is from, or known to, the adversary",
    );
    if collection.terms.spending() == Spending::Lifetime {
        condition.push_str("; and the same people report in every period");
    }
    condition
}

/// How far liars move an estimate, in its own units.
fn influence(collection: &Collection, count: &Count<'_>) -> Value {
    let terms = &collection.terms;
    let question = &terms.question;
    let unit = if terms.mechanism.kind() == Kind::Real {
        (question.high - question.low) / count.tally.reports().max(1) as f64
    } else {
        1.0
    };
    let one = terms.mechanism.influence() * unit;
    let honest = Crowd::honest(count.reports, terms.promise.corrupt).map_or(0, Crowd::get);
    let liars = (count.reports - honest) as f64;
    let finite = |value: f64| if value.is_finite() { json!(value) } else { json!("infinity") };
    json!({ "of_one": finite(one), "corrupt": liars, "of_all_corrupt": finite(one * liars) })
}

fn dropped(count: &Count<'_>) -> Value {
    let parts = |loss: &Loss| json!({ "replayed": loss.replayed, "malformed": loss.malformed });
    let (analyzer, mixes) = match count.losses.split_last() {
        Some((analyzer, mixes)) => (*analyzer, mixes),
        None => (Loss::default(), &[][..]),
    };
    json!({
        "mixes": mixes.iter().map(parts).collect::<Vec<_>>(),
        "analyzer": {
            "replayed": analyzer.replayed,
            "malformed": analyzer.malformed,
            "nonsense": count.nonsense,
        },
    })
}

/// JSON has no infinity.
fn infinite(floor: Option<Epsilon>) -> Value {
    floor.map_or_else(|| json!("infinity"), |floor| json!(floor.get()))
}

/// Of every interval.
const CONFIDENCE: f64 = 0.95;
