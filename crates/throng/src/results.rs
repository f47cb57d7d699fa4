//! `throng results`: what an analyzer has published.

use crate::args::Results;
use crate::report::{Report, Rows, number};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::time::Duration;
use throng_wire::Collection;

/// Fetches and shows all releases.
pub fn run(request: &Results) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(fetch_all(request))
}

async fn fetch_all(request: &Results) -> Result<Report> {
    let analyzer = Analyzer::new(&request.analyzer)?;
    let wanted =
        |id: &String| request.collection.as_ref().is_none_or(|start| id.starts_with(start));
    let ids: Vec<String> = analyzer.collections().await?.into_iter().filter(wanted).collect();
    if ids.is_empty() {
        bail!("{} serves no such collection", request.analyzer);
    }
    let mut report = Report::default();
    let mut all = Vec::new();
    for id in ids {
        let collection = analyzer.collection(&id).await?;
        let releases = analyzer.releases(&id).await?;
        report = report.say("collection", &id).say("question", &collection.terms.question.text);
        if releases.is_empty() {
            report = report.say("releases", "none yet");
        }
        if let Some(latest) = releases.last() {
            report = privacy(report, latest);
        }
        let rows = releases.iter().flat_map(rows).collect();
        report = report.table(Rows {
            head: vec!["epochs", "reports", "what", "estimate", "error", "low", "high", "epsilon"],
            rows,
        });
        all.push(json!({ "collection": id, "question": collection.terms.question.text,
            "releases": releases }));
    }
    Ok(report.field("collections", all))
}

/// What the latest release says of privacy.
fn privacy(report: Report, release: &Value) -> Report {
    let privacy = &release["privacy"];
    let text = |name: &str| match &privacy[name] {
        Value::Number(n) => number(n.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => text.clone(),
        _ => "-".into(),
    };
    report
        .say(
            "latest release",
            format!(
                "epsilon {} at delta {} among {} honest reports; {}",
                text("epsilon"),
                text("delta"),
                text("honest"),
                text("holds_if")
            ),
        )
        .say("with nobody honest", format!("epsilon {} (local floor)", text("local_floor")))
        .say(
            "spent so far",
            format!(
                "epsilon {} of {} at delta {}",
                text("spent_epsilon"),
                text("lifetime_epsilon"),
                text("spent_delta")
            ),
        )
}

fn rows(release: &Value) -> Vec<Vec<String>> {
    let epochs = match (release["first"].as_u64(), release["last"].as_u64()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (first, _) => first.map_or_else(|| "-".into(), |first| first.to_string()),
    };
    let of = |value: &Value| value.as_f64().map_or_else(|| "-".into(), number);
    let estimates = release["estimates"].as_array().cloned().unwrap_or_default();
    estimates
        .iter()
        .map(|estimate| {
            vec![
                epochs.clone(),
                of(&release["reports"]),
                estimate["label"].as_str().unwrap_or("-").to_owned(),
                of(&estimate["value"]),
                of(&estimate["standard_error"]),
                of(&estimate["interval"][0]),
                of(&estimate["interval"][1]),
                of(&release["privacy"]["epsilon"]),
            ]
        })
        .collect()
}

/// An analyzer's public interface.
pub struct Analyzer {
    http: reqwest::Client,
    url: String,
}

impl Analyzer {
    /// At this address.
    pub fn new(url: &str) -> Result<Self> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            bail!("an address begins with http:// or https://, such as http://127.0.0.1:8003");
        }
        let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).build()?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned() })
    }

    /// The ids of what it serves.
    pub async fn collections(&self) -> Result<Vec<String>> {
        let answer: Value = serde_json::from_str(&self.get("/v1/collections").await?)?;
        let list = answer["collections"].as_array().context("no list of collections")?;
        Ok(list.iter().filter_map(|one| Some(one["id"].as_str()?.to_owned())).collect())
    }

    /// A collection's file.
    pub async fn collection(&self, id: &str) -> Result<Collection> {
        Ok(Collection::parse(&self.get(&format!("/v1/collections/{id}")).await?)?)
    }

    /// All releases of a collection, oldest first.
    pub async fn releases(&self, id: &str) -> Result<Vec<Value>> {
        let text = self.get(&format!("/v1/collections/{id}/releases")).await?;
        let answer: Value = serde_json::from_str(&text)?;
        Ok(answer["releases"].as_array().context("no list of releases")?.clone())
    }

    /// Where a party is with its epochs.
    pub async fn status(&self, id: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.get(&format!("/v1/collections/{id}/status")).await?)?)
    }

    async fn get(&self, path: &str) -> Result<String> {
        let url = format!("{}{path}", self.url);
        let answer = self.http.get(&url).send().await;
        let answer = answer.with_context(|| {
            format!("cannot reach {}; is it running, and is the address right?", self.url)
        })?;
        let status = answer.status();
        let text = answer.text().await?;
        if status == reqwest::StatusCode::NOT_FOUND {
            bail!("{url} is not there; is {} an analyzer?", self.url);
        }
        if !status.is_success() {
            bail!("{url} answered {status}");
        }
        Ok(text)
    }
}
