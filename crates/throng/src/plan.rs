//! `throng plan`: which mechanism?

use crate::account::or_infinity;
use crate::args::Plan as Request;
use crate::calibrate::counting_on;
use crate::collection::{draft, nobody_is_trusted_unasked, refuse_high, write_new};
use crate::figures::errors_against_crowd;
use crate::report::{Printable, Report, digits};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use throng_account::show::{Near, Upper};
use throng_collection::report_bytes;
use throng_mechanism::{Ask, Error, Key, Kind, Mechanism, Offer, Plan, Range};

/// Calibrates everything that applies and recommends one.
pub fn run(request: &Request) -> Result<Report> {
    let ask = request.wish.of_kind(request.value)?.with_epochs(request.epochs);
    let range = Range::new(request.low, request.high)?;
    let corrupt = request.wish.promise.crowd.corrupt;
    let plan = Plan::new(&ask, bytes);
    let Some(best) = plan.offers.first() else {
        let why: Vec<_> = plan.refused.iter().map(|(key, why)| format!("{key}: {why}")).collect();
        bail!("no mechanism keeps this promise\n  {}", why.join("\n  "));
    };
    let offers = plan.offers.iter().enumerate();
    let options: Vec<_> = offers.map(|(i, offer)| option(&ask, range, offer, i == 0)).collect();
    let refusal =
        |(key, why): &(Key, Error)| json!({"mechanism": key.name(), "why": why.to_string()});
    let mut report = Report::default()
        .line("n", "reports", ask.reports)
        .line("honest", "honest reports counted on", ask.crowd.get())
        .line("epochs", "epochs", asked(&ask))
        .line("epsilon", "epsilon of all epochs", Upper(ask.epsilon.get()))
        .line("delta", "delta of all epochs", Upper(ask.delta.get()))
        .line("each_delta", "delta of one epoch", Upper(ask.each_delta().get()))
        .line("recommended", "recommended", best.mechanism.key().name())
        .field("reason", plan.reason.clone())
        .rows("options", options)
        .field("refused", plan.refused.iter().map(refusal).collect::<Vec<_>>())
        .note(sentence(&plan.reason))
        .note(ask.question.kind().errors())
        .note(COLUMNS);
    let worthless: Vec<&str> =
        plan.offers.iter().filter(|offer| offer.worthless).map(name).collect();
    if !worthless.is_empty() {
        report = report.note(format!(
            "Worthless here, as the interval of 95 % is as wide as all that the answer can be: {}.",
            worthless.join(", ")
        ));
    }
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
    report = counting_on(report, corrupt);
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
        let mut terms = draft(&ask, best.mechanism.clone(), corrupt)?;
        if ask.question.kind() == Kind::Real {
            (terms.question.low, terms.question.high) = (request.low, request.high);
        }
        refuse_high(&terms.promise, request.high_epsilon)?;
        nobody_is_trusted_unasked(&terms, request.trust_everyone)?;
        write_new(file, &terms.to_toml())?;
        report = report.line("collection", "collection", file.display().to_string());
    }
    Ok(report)
}

/// How often people are asked, in a number and a word.
fn asked(ask: &Ask) -> Printable {
    let told = match ask.epochs {
        1 => "1: asked once (--epochs 365 for a year of days)".into(),
        epochs => epochs.to_string(),
    };
    Printable::new(ask.epochs, told)
}

/// One mechanism, calibrated. People see what the error is of, and for a category that of a common
/// one too.
fn option(ask: &Ask, range: Range, offer: &Offer, recommended: bool) -> Report {
    let mechanism = &offer.mechanism;
    let option = Report::default()
        .line("mechanism", "mechanism", mechanism.key().name())
        .line("rmse", "error", Near(offer.standard_error))
        .field("rmse_heavy", offer.heavy_error);
    let common = Near(offer.heavy_error);
    let (n, error) = (ask.reports as f64, offer.standard_error);
    let option = match ask.question.kind() {
        Kind::Category => option.say("error at 10 %", digits(common)).line(
            "rmse_share",
            "error / n",
            Near(error / n),
        ),
        Kind::Real => {
            let mean = (range.high() - range.low()) * error / n;
            option.line("rmse_mean", "error of the mean", Near(mean))
        }
        _ => option.line("rmse_share", "error / n", Near(error / n)),
    };
    let floor = Printable::bounded(or_infinity(mechanism.local_floor()), "infinite");
    option
        .line("half_width", "95 % +-", Near(offer.half_width))
        .line("messages", "messages", mechanism.messages())
        .line("bytes", "bytes", bytes(mechanism))
        .line("local_floor", "local floor", floor)
        .line("influence", "one liar", Printable::bounded(mechanism.influence(), "anything"))
        .line("lifetime_epsilon", "epsilon, all", Upper(offer.lifetime.get()))
        .line("each_epsilon", "epsilon, one", Upper(offer.each.get()))
        .field("each_delta", offer.each_delta.get())
        .line("advantage", "gain, one", Upper(offer.advantage))
        .line("lifetime_advantage", "gain, all", Upper(offer.lifetime_advantage))
        .field("worthless", offer.worthless)
        .field("recommended", recommended)
}

fn name(offer: &Offer) -> &'static str {
    offer.mechanism.key().name()
}

/// The meaning of the columns about privacy.
const COLUMNS: &str = "Epsilon and gain are those of all epochs and of one. Gain is what whoever sees \
     the shuffled messages gets over guessing: of two answers that were as likely as each other, \
     they name the right one with probability at most (1 + gain)/2. Both rest on an honest first \
     mix and on the crowd counted on; the local floor rests on nobody.";

/// Bytes of a report through two mixes.
pub fn bytes(mechanism: &Mechanism) -> u64 {
    report_bytes(mechanism, 2)
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
