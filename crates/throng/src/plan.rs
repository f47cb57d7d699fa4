//! `throng plan`: which mechanism?

use crate::account::or_infinity;
use crate::args::Plan as Request;
use crate::collection::{draft, write_new};
use crate::figures::errors_against_crowd;
use crate::report::{Printable, Report, digits};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use throng_account::show::{Near, Upper};
use throng_collection::report_bytes;
use throng_mechanism::{Error, Key, Kind, Mechanism, Offer, Plan};

/// Calibrates everything that applies and recommends one.
pub fn run(request: &Request) -> Result<Report> {
    let ask = request.wish.of_kind(request.value)?;
    let plan = Plan::new(&ask, bytes);
    let Some(best) = plan.offers.first() else {
        let why: Vec<_> = plan.refused.iter().map(|(key, why)| format!("{key}: {why}")).collect();
        bail!("no mechanism keeps this promise\n  {}", why.join("\n  "));
    };
    // The error of a common category differs from that of the others; nothing else has categories.
    let heavy = ask.question.kind() == Kind::Category;
    let offers = plan.offers.iter().enumerate();
    let options: Vec<_> = offers.map(|(i, offer)| option(offer, i == 0, heavy)).collect();
    let refusal =
        |(key, why): &(Key, Error)| json!({"mechanism": key.name(), "why": why.to_string()});
    let mut report = Report::default()
        .line("n", "reports", ask.reports)
        .line("honest", "honest reports counted on", ask.crowd.get())
        .line("epsilon", "epsilon", Upper(ask.epsilon.get()))
        .line("delta", "delta", Upper(ask.delta.get()))
        .line("recommended", "recommended", best.mechanism.key().name())
        .field("reason", plan.reason.clone())
        .rows("options", options)
        .field("refused", plan.refused.iter().map(refusal).collect::<Vec<_>>())
        .note(sentence(&plan.reason))
        .note(ask.question.kind().errors());
    for (model, label, error) in [
        ("central", "error in the central model", plan.central),
        ("local", "error in the local model", plan.local),
    ] {
        let told = |rmse| Printable::new(json!({"rmse": rmse}), digits(Near(rmse)));
        report = match error.map(told) {
            Some(error) => report.line(model, label, error),
            None => report.field(model, Value::Null),
        };
    }
    for (key, why) in &plan.refused {
        report = report.note(format!("Not {key}: {why}."));
    }
    if let Some(file) = &request.plot {
        let [epsilon, delta] = [ask.epsilon.get(), ask.delta.get()].map(Upper).map(digits);
        let title = format!("Standard error at ε = {epsilon}, δ = {delta}");
        let chart = errors_against_crowd(&ask, title)?;
        fs::write(file, chart.svg()).with_context(|| format!("cannot write {}", file.display()))?;
        report = report.line("plot", "plot", file.display().to_string());
    }
    if let Some(file) = &request.write {
        let corrupt = request.wish.promise.crowd.corrupt;
        write_new(file, &draft(&ask, best.mechanism.clone(), corrupt).to_toml())?;
        report = report.line("collection", "collection", file.display().to_string());
    }
    Ok(report)
}

/// One mechanism, calibrated; `heavy` shows people its error for a common category too.
fn option(offer: &Offer, recommended: bool, heavy: bool) -> Report {
    let mechanism = &offer.mechanism;
    let option = Report::default()
        .line("mechanism", "mechanism", mechanism.key().name())
        .line("rmse", "error", Near(offer.standard_error))
        .field("rmse_heavy", offer.heavy_error);
    let common = Near(offer.heavy_error);
    let option = if heavy { option.say("error at 10 %", digits(common)) } else { option };
    let floor = Printable::bounded(or_infinity(mechanism.local_floor()), "infinite");
    option
        .line("half_width", "95 % +-", Near(offer.half_width))
        .line("messages", "messages", mechanism.messages())
        .line("bytes", "bytes", bytes(mechanism))
        .line("local_floor", "local floor", floor)
        .line("influence", "one liar", Printable::bounded(mechanism.influence(), "anything"))
        .field("recommended", recommended)
}

/// Bytes of a report through two mixes.
pub fn bytes(mechanism: &Mechanism) -> u64 {
    report_bytes(mechanism, 2)
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
