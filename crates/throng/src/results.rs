//! `throng results`: what an analyzer has published.

use crate::args::Results;
use crate::report::{Report, Rows, shown};
use anyhow::{Context, Result, anyhow, bail};
use reqwest::{StatusCode, Url};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use throng_account::show::{Lower, Near, Upper};
use throng_collection::Collection;
use zeroize::Zeroizing;

/// Fetches and shows all releases.
pub fn run(request: &Results) -> Result<Report> {
    let analyzer = Analyzer::new(&request.analyzer)?;
    let analyzer = match token(request.token_file.as_deref())? {
        Some(token) => analyzer.with_token(token)?,
        None => analyzer,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(fetch_all(request, &analyzer))
}

async fn fetch_all(request: &Results, analyzer: &Analyzer) -> Result<Report> {
    let served = analyzer.collections().await?;
    let wanted =
        |id: &&String| request.collection.as_ref().is_none_or(|start| id.starts_with(start));
    let ids: Vec<&String> = served.iter().filter(wanted).collect();
    if ids.is_empty() {
        bail!("{} serves no such collection; it serves {}", request.analyzer, served.join(", "));
    }
    let patience = Instant::now() + Duration::from_secs(request.wait.unwrap_or(0));
    let mut report = Report::default();
    let mut all = Vec::new();
    for id in ids {
        let collection = analyzer.collection(id).await?;
        let mut releases = analyzer.releases(id).await?;
        while releases.is_empty() && Instant::now() < patience {
            tokio::time::sleep(AGAIN).await;
            releases = analyzer.releases(id).await?;
        }
        report = report.say("collection", id).say("question", &collection.terms.question.text);
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
    let text = |name: &str| shown(&privacy[name], Upper);
    report
        .say(
            "latest release",
            format!(
                "epsilon {} at delta {} among {} honest reports; {}",
                text("epsilon"),
                text("delta"),
                shown(&privacy["honest"], Lower),
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
    let estimates = release["estimates"].as_array().cloned().unwrap_or_default();
    estimates
        .iter()
        .map(|estimate| {
            vec![
                epochs.clone(),
                shown(&release["reports"], Near),
                estimate["label"].as_str().unwrap_or("-").to_owned(),
                shown(&estimate["value"], Near),
                shown(&estimate["standard_error"], Near),
                shown(&estimate["interval"][0], Near),
                shown(&estimate["interval"][1], Near),
                shown(&release["privacy"]["epsilon"], Upper),
            ]
        })
        .collect()
}

/// The token in a file, or in the environment, or none.
fn token(file: Option<&Path>) -> Result<Option<Zeroizing<String>>> {
    let Some(file) = file else {
        return Ok(std::env::var("THRONG_TOKEN").ok().map(Zeroizing::new));
    };
    let text = fs::read_to_string(file).map(Zeroizing::new);
    let text = text.with_context(|| format!("cannot read {}", file.display()))?;
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        bail!("{} is not a token: one line, as throng token prints it", file.display());
    }
    Ok(Some(Zeroizing::new(token.to_owned())))
}

/// An analyzer's interface for reading.
pub struct Analyzer {
    http: reqwest::Client,
    url: String,
    token: Option<Zeroizing<String>>,
}

impl Analyzer {
    /// At this address.
    pub fn new(url: &str) -> Result<Self> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            bail!("an address begins with http:// or https://, such as http://127.0.0.1:8003");
        }
        let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).build()?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), token: None })
    }

    /// With a token to read with. It is not sent past other machines in the clear.
    pub fn with_token(self, token: Zeroizing<String>) -> Result<Self> {
        if in_the_open(&self.url) {
            bail!("the token would pass other machines in the clear; use an https:// address");
        }
        Ok(Self { token: Some(token), ..self })
    }

    /// The ids of the questions it serves. Boards have bulletins instead of results.
    pub async fn collections(&self) -> Result<Vec<String>> {
        let answer: Value = serde_json::from_str(&self.get("/v1/collections").await?)?;
        let list = answer["collections"].as_array().context("no list of collections")?;
        let questions = list.iter().filter(|one| one["kind"] != "board");
        Ok(questions.filter_map(|one| Some(one["id"].as_str()?.to_owned())).collect())
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
        let mut request = self.http.get(&url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(&**token);
        }
        let answer = request.send().await.map_err(|error| {
            let (url, why) = (&self.url, why(&error));
            anyhow!("cannot reach {url}: {why}; is it running, and is the address right?")
        })?;
        let status = answer.status();
        let text = answer.text().await?;
        match status {
            _ if status.is_success() => Ok(text),
            StatusCode::NOT_FOUND => bail!("{url} is not there; is {} an analyzer?", self.url),
            StatusCode::UNAUTHORIZED if self.token.is_some() => bail!(
                "{} does not know this token; its operator makes one with `throng token --role viewer`, \
                 and restarts the analyzer",
                self.url
            ),
            StatusCode::UNAUTHORIZED => bail!(
                "{} asks for a token; its operator makes one with `throng token --role viewer`. Give it \
                 with --token-file FILE or in THRONG_TOKEN",
                self.url
            ),
            StatusCode::FORBIDDEN => bail!("{url} needs the token of an operator"),
            _ => bail!("{url} answered {status}"),
        }
    }
}

/// Why there is no answer: the reason at the bottom.
pub fn why(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".into();
    }
    let mut reason: &dyn Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

/// Whether what is said to an address passes other machines without TLS.
pub fn in_the_open(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    url.scheme() == "http" && !here
}

/// How often a release is asked for.
const AGAIN: Duration = Duration::from_millis(500);
