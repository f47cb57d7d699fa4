//! `throng results`: what an analyzer has published.

use crate::args::Results;
use crate::report::{Report, Rows, digits};
use anyhow::{Context, Result, anyhow, bail};
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use throng_account::show::{Lower, Near, Upper};
use throng_account::{Delta, Epsilon};
use throng_collection::{Answer, BatchGuarantee, Collection, Release, Subjects};
use throng_mechanism::Spending;
use throng_server::{in_the_open, read_text};
use zeroize::Zeroizing;

/// Fetches and shows all releases.
pub fn run(request: &Results) -> Result<Report> {
    let analyzer = Analyzer::new(&request.analyzer)?;
    let analyzer = analyzer.with_token(token(request.token_file.as_deref())?)?;
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
        let subjects = Subjects::of(Arc::new(analyzer.collection(id).await?));
        let (mut releases, mut fates) = analyzer.published(&subjects).await?;
        while releases.is_empty() && Instant::now() < patience {
            tokio::time::sleep(AGAIN).await;
            (releases, fates) = analyzer.published(&subjects).await?;
        }
        let question = &subjects.collection().terms.question.text;
        report = report.say("collection", id).say("question", question);
        report = match releases.last() {
            Some(latest) => privacy(report, subjects.collection(), latest),
            None => report.say("releases", "none yet"),
        };
        let rows = releases.iter().flat_map(rows).collect();
        report = report.table(Rows { head: HEAD.to_vec(), rows });
        let rows = fates.iter().map(fate).collect();
        report = report.table(Rows { head: FATES.to_vec(), rows });
        let published: Vec<Value> = releases.iter().map(published).collect::<Result<_>>()?;
        all.push(json!({
            "collection": id,
            "question": question,
            "fates": fates,
            "releases": published,
        }));
    }
    Ok(report.field("collections", all))
}

/// A release as it was published.
pub fn published(release: &Release) -> Result<Value> {
    Ok(serde_json::from_str(&release.to_json())?)
}

/// Adds what the latest release says about privacy.
fn privacy(report: Report, collection: &Collection, release: &Release) -> Report {
    let guarantee = &release.guarantee;
    let (bound, crowd) = bound_and_crowd(guarantee);
    let latest = format!("{bound} among {crowd}, against everyone but the first mix");
    let report = report.say("latest release", latest).say("holds if", &*guarantee.holds_if);
    nobody_honest(report, guarantee, "infinity")
        .say("spent so far", spent_so_far(collection, release))
}

/// What all releases so far cost together, at which delta and against whom.
pub fn spent_so_far(collection: &Collection, release: &Release) -> String {
    let Release { spent, .. } = release;
    let [epsilon, delta] = [spent.epsilon.get(), spent.delta.get()].map(Upper).map(digits);
    let lifetime = digits(Upper(spent.lifetime.get()));
    let whom = match collection.terms.spending() {
        Spending::PerEpoch => {
            "by all releases together, for somebody who is in each of them, if the same holds each \
             time and crowds do not react to releases"
        }
        Spending::Lifetime => {
            "by all releases together, charged once for all epochs, if the same holds each time and \
             crowds do not react to releases"
        }
        // Without a crowd there is no delta.
        Spending::Memoized => {
            return format!(
                "epsilon {epsilon} of {lifetime} at delta 0, by all releases together, even if no \
                 mix is honest: no crowd is counted on for a remembered text"
            );
        }
    };
    format!("epsilon {epsilon} of {lifetime} at delta {delta}, {whom}")
}

/// An epsilon with its delta, in few words.
pub fn at(epsilon: Epsilon, delta: Delta) -> String {
    let [epsilon, delta] = [epsilon.get(), delta.get()].map(Upper).map(digits);
    format!("{epsilon} at {delta}")
}

/// The bound of a guarantee, and the crowd that it counts on, in words.
pub fn bound_and_crowd(guarantee: &BatchGuarantee) -> (String, String) {
    let [epsilon, delta] = [guarantee.epsilon.get(), guarantee.delta.get()].map(Upper).map(digits);
    let honest = digits(Lower(guarantee.honest.get() as f64));
    (format!("epsilon {epsilon} at delta {delta}"), format!("{honest} honest reports"))
}

/// Adds what is left if everybody colludes, `nothing` being the word for no bound.
pub fn nobody_honest(report: Report, guarantee: &BatchGuarantee, nothing: &str) -> Report {
    let floor = guarantee.local_floor.map_or(nothing.into(), |floor| digits(Upper(floor.get())));
    report.say("with nobody honest", format!("epsilon {floor} (local floor)"))
}

fn rows(release: &Release) -> Vec<Vec<String>> {
    let epochs = if release.first == release.last {
        release.first.to_string()
    } else {
        format!("{} to {}", release.first, release.last)
    };
    let row = |answer: &Answer| {
        let numbers = [answer.value, answer.standard_error, answer.low, answer.high];
        let mut row = vec![epochs.clone(), release.reports.to_string(), answer.what.to_string()];
        row.extend(numbers.map(known));
        row.push(at(release.guarantee.epsilon, release.guarantee.delta));
        row.push(at(release.spent.epsilon, release.spent.delta));
        row
    };
    release.estimates.iter().map(row).collect()
}

/// What became of some epochs, as the analyzer tells it.
fn fate(row: &Value) -> Vec<String> {
    let text = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
    let number = |name: &str| row[name].as_u64().map_or("-".to_owned(), |at| at.to_string());
    let (first, last) = (number("first"), number("last"));
    let epochs = if first == last { first } else { format!("{first} to {last}") };
    vec![epochs, text("begin"), text("end"), text("words")]
}

/// A number, or a dash for what could be anything.
fn known(value: f64) -> String {
    if value.is_finite() { digits(Near(value)) } else { "-".into() }
}

/// The token in a file, or in the environment, or none.
fn token(file: Option<&Path>) -> Result<Option<Zeroizing<String>>> {
    let Some(file) = file else {
        return Ok(std::env::var("THRONG_TOKEN").ok().map(Zeroizing::new));
    };
    let text = read_text(file).map(Zeroizing::new);
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
    /// The analyzer at this address.
    pub fn new(url: &str) -> Result<Self> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            bail!("an address begins with http:// or https://, such as http://127.0.0.1:8003");
        }
        let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).build()?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), token: None })
    }

    /// Reads with this token, if there is one. It is never sent over other machines in the clear.
    pub fn with_token(self, token: Option<Zeroizing<String>>) -> Result<Self> {
        if token.is_some() && in_the_open(&self.url) {
            bail!("the token would pass other machines in the clear; use an https:// address");
        }
        Ok(Self { token, ..self })
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
    pub async fn releases(&self, subjects: &Subjects) -> Result<Vec<Release>> {
        Ok(self.published(subjects).await?.0)
    }

    /// All releases of a collection, and what became of every epoch, oldest first.
    pub async fn published(&self, subjects: &Subjects) -> Result<(Vec<Release>, Vec<Value>)> {
        let id = subjects.collection().id();
        let text = self.get(&format!("/v1/collections/{id}/releases")).await?;
        let answer: Value = serde_json::from_str(&text)?;
        let rows = answer["releases"].as_array().context("no list of releases")?;
        let releases = rows.iter().map(|row| Release::parse(&row.to_string(), subjects));
        // Older servers do not tell fates.
        let fates = answer["fates"].as_array().cloned().unwrap_or_default();
        Ok((releases.collect::<Result<_, _>>()?, fates))
    }

    /// The status of a party: its epochs and their stages.
    pub async fn status(&self, subjects: &Subjects) -> Result<Value> {
        let id = subjects.collection().id();
        Ok(serde_json::from_str(&self.get(&format!("/v1/collections/{id}/status")).await?)?)
    }

    async fn get(&self, path: &str) -> Result<String> {
        let url = format!("{}{path}", self.url);
        let mut request = self.http.get(&url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(&**token);
        }
        let answer = request.send().await.map_err(|error| {
            let (url, why) = (&self.url, why(error));
            anyhow!("cannot reach {url}: {why}; is it running, and is the address right?")
        })?;
        let status = answer.status();
        let text = answer.text().await?;
        match status {
            _ if status.is_success() => Ok(text),
            StatusCode::NOT_FOUND => bail!("{url} is not there; is {} an analyzer?", self.url),
            StatusCode::UNAUTHORIZED if self.token.is_some() => bail!(
                "{} does not know this token; its operator makes one with `throng token --role \
                 viewer`, and sends the analyzer SIGHUP",
                self.url
            ),
            StatusCode::UNAUTHORIZED => bail!(
                "{} asks for a token; its operator makes one with `throng token --role viewer`. \
                 Give it with --token-file FILE or in THRONG_TOKEN",
                self.url
            ),
            StatusCode::FORBIDDEN => bail!("{url} needs the token of an operator"),
            _ => bail!("{url} answered {status}"),
        }
    }
}

/// The reason why there is no answer: the innermost cause.
pub fn why(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".into();
    }
    anyhow!(error).root_cause().to_string()
}

/// The columns of the table of releases.
const HEAD: [&str; 9] = [
    "epochs",
    "reports",
    "what",
    "estimate",
    "error",
    "low",
    "high",
    "epsilon at delta, this one",
    "epsilon at delta, all so far",
];

/// The columns of the table of fates.
const FATES: [&str; 4] = ["epochs", "from (UTC)", "to (UTC)", "what became of them"];

/// The pause before a release is asked for again.
const AGAIN: Duration = Duration::from_millis(500);
