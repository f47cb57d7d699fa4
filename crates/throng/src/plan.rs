//! `throng plan`: which mechanism?

use crate::args::Plan as Request;
use crate::collection::{draft, write_new};
use crate::report::{Report, Rows, digits};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use throng_account::show::{Near, Upper};
use throng_account::{Crowd, Epsilon};
use throng_chart::{Axis, Chart, Scale, Series, Stroke};
use throng_collection::report_bytes;
use throng_mechanism::{Ask, Kind, Mechanism, Offer, Plan};

/// Calibrates everything that applies and recommends one.
pub fn run(request: &Request) -> Result<Report> {
    let ask = request.wish.of_kind(request.value)?;
    let plan = Plan::new(&ask, bytes);
    let Some(best) = plan.offers.first() else {
        let why: Vec<_> = plan.refused.iter().map(|(key, why)| format!("{key}: {why}")).collect();
        bail!("no mechanism keeps this promise\n  {}", why.join("\n  "));
    };
    let options: Vec<Value> =
        plan.offers.iter().enumerate().map(|(i, offer)| option(offer, i == 0)).collect();
    // The error of a common category differs from that of the others; nothing else has categories.
    let heavy = ask.question.kind() == Kind::Category;
    let rows = plan.offers.iter().map(|offer| row(offer, heavy)).collect();
    let mut head =
        vec!["mechanism", "error", "95 % +-", "messages", "bytes", "local floor", "one liar"];
    if heavy {
        head.insert(2, "error at 10 %");
    }
    let refused: Vec<Value> = plan
        .refused
        .iter()
        .map(|(key, why)| json!({"mechanism": key.name(), "why": why.to_string()}))
        .collect();
    let model = |error: Option<f64>| error.map_or(Value::Null, |rmse| json!({"rmse": rmse}));
    let mut report = Report::default()
        .line("n", "reports", ask.reports)
        .line("honest", "honest ones counted on", ask.crowd.get())
        .line("epsilon", "epsilon", Upper(ask.epsilon.get()))
        .line("delta", "delta", Upper(ask.delta.get()))
        .line("recommended", "recommended", best.mechanism.key().name())
        .field("reason", plan.reason.clone())
        .field("options", options)
        .field("refused", refused)
        .field("central", model(plan.central))
        .field("local", model(plan.local));
    if let Some(error) = plan.central {
        report = report.say("error in the central model", digits(Near(error)));
    }
    if let Some(error) = plan.local {
        report = report.say("error in the local model", digits(Near(error)));
    }
    report = report.table(Rows { head, rows });
    report = report.note(sentence(&plan.reason)).note(ask.question.kind().errors());
    for (key, why) in &plan.refused {
        report = report.note(format!("Not {key}: {why}."));
    }
    if let Some(file) = &request.plot {
        let chart = errors_against_crowd(&ask)?;
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

fn option(offer: &Offer, recommended: bool) -> Value {
    json!({
        "mechanism": offer.mechanism.key().name(),
        "rmse": offer.standard_error,
        "rmse_heavy": offer.heavy_error,
        "half_width": offer.half_width,
        "messages": offer.mechanism.messages(),
        "bytes": bytes(&offer.mechanism),
        "local_floor": floor(&offer.mechanism),
        "influence": finite(offer.mechanism.influence()),
        "recommended": recommended,
    })
}

fn row(offer: &Offer, heavy: bool) -> Vec<String> {
    let mut row = vec![
        offer.mechanism.key().name().into(),
        digits(Near(offer.standard_error)),
        digits(Near(offer.half_width)),
        offer.mechanism.messages().to_string(),
        bytes(&offer.mechanism).to_string(),
        offer.mechanism.local_floor().map_or("infinite".into(), |e| digits(Upper(e.get()))),
        match offer.mechanism.influence() {
            moves if moves.is_finite() => digits(Upper(moves)),
            _ => "anything".into(),
        },
    ];
    if heavy {
        row.insert(2, digits(Near(offer.heavy_error)));
    }
    row
}

/// Bytes of a report through two mixes.
pub fn bytes(mechanism: &Mechanism) -> u64 {
    report_bytes(mechanism, 2)
}

/// The local floor as JSON.
pub fn floor(mechanism: &Mechanism) -> Value {
    finite(mechanism.local_floor().map_or(f64::INFINITY, Epsilon::get))
}

/// A number that may be infinite as JSON.
pub fn finite(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!("infinity") }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Standard error against n, for the question at this promise.
pub fn errors_against_crowd(ask: &Ask) -> Result<Chart> {
    let mut series: Vec<Series> = Vec::new();
    let mut push = |name: &str, stroke: Stroke, point: (f64, f64)| match series
        .iter_mut()
        .find(|s| s.name == name)
    {
        Some(found) => found.points.push(point),
        None => series.push(Series::new(name, stroke, vec![point])),
    };
    let share = ask.crowd.get() as f64 / ask.reports as f64;
    for decade in 3..=8 {
        let reports = 10_f64.powi(decade);
        eprintln!("n = {reports}");
        let honest = Crowd::new((reports * share).floor() as u64)?;
        let here = ask.clone().with_reports(reports as u64).with_honest(honest);
        let plan = Plan::new(&here, bytes);
        for offer in &plan.offers {
            let name = match offer.mechanism.messages() {
                1 => offer.mechanism.key().name().to_string(),
                // Lengths that grow with n are one curve.
                m if offer.mechanism.key().is_slow() => {
                    format!("{}, {m} messages", offer.mechanism.key())
                }
                _ => offer.mechanism.key().name().to_string(),
            };
            push(&name, Stroke::Solid, (reports, offer.heavy_error));
        }
        for (name, error) in [("central model", plan.central), ("local model", plan.local)] {
            if let Some(error) = error {
                push(name, Stroke::Dashed, (reports, error));
            }
        }
    }
    let axis = |label: &str| Axis { label: label.into(), scale: Scale::Log, range: None };
    Ok(Chart {
        title: format!(
            "Standard error at ε = {}, δ = {}",
            digits(Upper(ask.epsilon.get())),
            digits(Upper(ask.delta.get()))
        ),
        x: axis("reports, n"),
        y: axis("standard error"),
        series,
    })
}
