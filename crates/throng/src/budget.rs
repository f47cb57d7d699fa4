//! `throng budget`: what one device gives away over several collections together.

use crate::args::Budget;
use crate::collection::{Usage, text_of};
use crate::report::{Report, digits};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use throng_account::Delta;
use throng_account::show::{Near, Upper};
use throng_chart::{Axis, Chart, Scale, Series, Stroke};
use throng_collection::{Collection, Device, HIGH_EPSILON, Promise, Shared, Terms};
use throng_mechanism::Spending;

/// Adds up what the files promise.
pub fn run(request: &Budget) -> Result<Report> {
    let files: Vec<Entry> =
        request.files.iter().map(|file| Entry::read(file)).collect::<Result<_>>()?;
    for (place, one) in files.iter().enumerate() {
        let twice = |other: &&Entry| other.id.is_some() && other.id == one.id;
        if let Some(other) = files[..place].iter().find(twice) {
            let text = format!("{} and {} are the same collection", other.name, one.name);
            return Err(Usage(text).into());
        }
    }
    let device = files.iter().fold(Device::default(), |all, one| all.and(&one.terms, one.window));
    let delta = request.delta.map(Delta::new).transpose()?;
    let release = device.release(None)?;
    let lifetime = device.lifetime(delta).with_context(
        || "all lifetimes together have no epsilon at this --delta; take a larger one",
    )?;
    let mut report = Report::default()
        .say("collections", files.len().to_string())
        .rows("collections", files.iter().map(Entry::row).collect());
    report = total(report, "release", "one epoch of each, together", &release);
    report = total(report, "lifetime", "all epochs of each, together", &lifetime).note(
        "Against whoever sees all releases, and for somebody who answers everywhere and every \
             time: all answers of one person are replaced by others. Each promise rests on its own \
             crowd and its own honest first mix.",
    );
    if files.iter().any(|one| one.terms.spending() == Spending::Memoized) {
        report = report.note(
            "A remembered text is charged without a crowd, at delta 0: its epsilon over all epochs \
             is added to the rest as it is.",
        );
    }
    if files.iter().any(|one| one.terms.spending() == Spending::Lifetime) {
        report = report.note(
            "A state that is followed is charged once for all epochs, provided that the same \
             people report every time and no answer reacts to earlier results.",
        );
    }
    if files.iter().any(|one| one.window > 1) {
        report = report.note(
            "Where epochs may be merged, all of them are charged as if they were; one epoch of each \
             is charged alone.",
        );
    }
    if lifetime.epsilon.get() > HIGH_EPSILON {
        report = report.note(format!(
            "An epsilon above {HIGH_EPSILON} is no promise of privacy: whoever sees everything may \
             be all but certain of what a device answered."
        ));
    }
    if let Some(file) = &request.plot {
        let svg = picture(&files, &device, delta)?.svg();
        fs::write(file, svg).with_context(|| format!("cannot write {}", file.display()))?;
        report = report.line("plot", "plot", file.display().to_string());
    }
    Ok(report)
}

/// One file.
struct Entry {
    name: String,
    id: Option<String>,
    terms: Terms,
    window: u64,
}

impl Entry {
    /// Reads a collection, or a draft of one.
    fn read(file: &Path) -> Result<Self> {
        let name = file.display().to_string();
        let text = text_of(file)?;
        if let Ok(collection) = Collection::parse(&text) {
            let (id, window) = (collection.id().to_string(), collection.schedule.window());
            return Ok(Self { name, id: Some(id), terms: collection.terms, window });
        }
        let terms = Terms::parse(&text).with_context(|| format!("{name} is not a collection"))?;
        Ok(Self { name, id: None, terms, window: 1 })
    }

    fn row(&self) -> Report {
        let Promise { epsilon, delta, epochs, lifetime, .. } = self.terms.promise;
        let charged = match self.terms.spending() {
            Spending::PerEpoch => "composed",
            Spending::Lifetime => "composed, once for all epochs",
            Spending::Memoized => "added, without a crowd",
        };
        Report::default()
            .line("file", "file", self.name.clone())
            .field("id", self.id.clone())
            .field("question", self.terms.question.text.clone())
            .line("mechanism", "mechanism", self.terms.mechanism.key().name())
            .line("epochs", "epochs", epochs)
            .line("epsilon", "epsilon of one", Upper(epsilon.get()))
            .line("delta", "at delta", Upper(delta.get()))
            .line("lifetime_epsilon", "epsilon of all", Upper(lifetime.0.get()))
            .line("lifetime_delta", "at delta", Upper(lifetime.1.get()))
            .line("charged", "charged", charged)
    }
}

/// Adds a total for programs and for people.
fn total(report: Report, key: &str, label: &'static str, all: &Shared) -> Report {
    let Shared { epsilon, delta, sum, advantage } = *all;
    let [told, at] = [epsilon.get(), delta.get()].map(Upper).map(digits);
    let plain = digits(Near(sum.get()));
    let gained = Upper(100.0 * advantage).places(2);
    report
        .field(
            key,
            serde_json::json!({"epsilon": epsilon.get(), "delta": delta.get(),
                "sum_of_epsilons": sum.get(), "advantage": advantage}),
        )
        .say(
            label,
            format!(
                "epsilon {told} at delta {at} (the plain sum is {plain}); a guess gains at most \
                 {gained} %"
            ),
        )
}

/// ε over the lifetimes.
fn picture(files: &[Entry], device: &Device, delta: Option<Delta>) -> Result<Chart> {
    let shares: Vec<f64> = (1..=STEPS).map(|step| f64::from(step) / f64::from(STEPS)).collect();
    let line = |name: &str, stroke, device: &Device, delta| -> Result<Series> {
        let (course, all) = (device.course(delta, &shares)?, device.lifetime(delta)?);
        let points = shares.iter().zip(course).map(|(share, e)| (100.0 * share, e.get())).collect();
        let name = format!("{name}, δ = {}", digits(Upper(all.delta.get())));
        Ok(Series::new(name, stroke, points))
    };
    let mut series = vec![line("all together", Stroke::Solid, device, delta)?];
    for one in files {
        let alone = Device::default().and(&one.terms, one.window);
        series.push(line(&one.name, Stroke::Dashed, &alone, None)?);
    }
    let axis = |label: &str, range| Axis { label: label.into(), scale: Scale::Linear, range };
    Ok(Chart {
        title: "What one device gives away to whoever sees all releases, at most".into(),
        x: axis("part of every lifetime, %", Some((0.0, 100.0))),
        y: axis("ε of all releases so far", None),
        series,
    })
}

/// Points of a line.
const STEPS: u32 = 20;
