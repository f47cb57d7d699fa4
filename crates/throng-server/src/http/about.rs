//! The state of a server, for machines. Keys and directories are for everybody; results, status and
//! metrics for those whose token says so.

use super::guard::{Operator, Viewer};
use super::path::{Here, Number};
use super::problem::Problem;
use crate::metrics::reports;
use crate::party::Party;
use crate::server::Node;
use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use throng_mix::{Progress, Slot};

/// `GET /healthz`: the process is up.
pub async fn health() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: tells whether reports and batches can be taken now, and what is missing if not.
pub async fn ready(State(node): State<Arc<Node>>) -> (StatusCode, Json<Value>) {
    let writable = node.writable().await;
    let waiting: Vec<Value> =
        node.parties.values().filter_map(|party| missing(party, node.now())).collect();
    let ready = writable && waiting.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let store = if writable { "writable" } else { "not writable" };
    (status, Json(json!({ "ready": ready, "store": store, "waiting": waiting })))
}

/// `GET /metrics`: the text for Prometheus.
pub async fn metrics(
    State(node): State<Arc<Node>>,
    _: Operator,
) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], node.metrics.render(&node))
}

/// `GET /openapi.json`: the description of all paths.
pub async fn openapi() -> ([(HeaderName, &'static str); 1], &'static str) {
    ([(CONTENT_TYPE, "application/json")], OPENAPI)
}

/// `GET /v1/collections`: the list of collections.
pub async fn collections(State(node): State<Arc<Node>>) -> Json<Value> {
    let each = node.parties.values().map(|party| {
        let (title, question) = (&party.route().title, party.question());
        let mut row = json!({
            "id": party.id().to_string(),
            "kind": if question.is_some() { "question" } else { "board" },
            "title": title,
            "role": node.role.to_string(),
            "hop": party.course.hop,
        });
        if question.is_some() {
            row["question"] = title.as_str().into();
        }
        row
    });
    Json(json!({ "collections": each.collect::<Vec<_>>() }))
}

/// `GET /v1/collections/{id}`: the file that everyone holds.
pub async fn collection(Here(party): Here) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "application/toml")], party.file())
}

/// `GET /v1/collections/{id}/keys/{window}`: this party's key, stated to the others.
pub async fn statement(Here(party): Here, Number(window): Number) -> Result<Vec<u8>, Problem> {
    Ok(party.course.keyring.statement(window)?.encode())
}

/// `GET /v1/collections/{id}/cosignatures/{window}`: this party's signature of all keys.
pub async fn cosignature(Here(party): Here, Number(window): Number) -> Result<Vec<u8>, Problem> {
    Ok(party.course.keyring.cosignature(window)?.to_vec())
}

/// `GET /v1/collections/{id}/directories/{window}`: all keys with everyone's signature. It is the
/// same for everybody and never changes, so caches may keep it.
pub async fn directory(
    State(node): State<Arc<Node>>,
    Here(party): Here,
    Number(window): Number,
) -> Result<([(HeaderName, String); 2], Vec<u8>), Problem> {
    let directory = party.course.keyring.directory(window)?.encode();
    let route = party.route();
    let last = route.window_epochs(window).end.saturating_sub(1);
    let left = route.schedule.deadline(last).saturating_sub(node.now());
    let media = (CONTENT_TYPE, "application/octet-stream".to_owned());
    Ok(([media, (CACHE_CONTROL, format!("public, max-age={left}"))], directory))
}

/// `GET /v1/collections/{id}/status`: the stage of each range of epochs, and at the first mix the
/// progress of the running epoch. Nothing is told of fewer reports than a crowd while they wait.
pub async fn status(State(node): State<Arc<Node>>, _: Operator, Here(party): Here) -> Json<Value> {
    let shown = |slot: &Slot| {
        json!({
            "first": slot.first,
            "last": slot.last,
            "stage": slot.stage.name(),
            "reports": reports(slot, party.route(), party.course.hop),
        })
    };
    Json(json!({
        "collection": party.id().to_string(),
        "role": node.role.to_string(),
        "hop": party.course.hop,
        "epoch": party.route().epoch_at(node.now()),
        "epochs": party.route().epochs,
        "open": party.mix().ok().and_then(|mix| mix.progress(node.now())).map(Progress::to_json),
        "slots": party.course.slots().iter().map(shown).collect::<Vec<_>>(),
    }))
}

/// `GET /v1/collections/{id}/releases`: everything that was published, and its cost.
pub async fn releases(
    State(node): State<Arc<Node>>,
    _: Viewer,
    Here(party): Here,
) -> Result<([(HeaderName, &'static str); 1], String), Problem> {
    let id = party.id();
    let releases = node.blocking(move |_| party.analyzer()?.releases()).await?;
    // Each is one JSON object already.
    let all = format!(r#"{{"collection":"{id}","releases":[{}]}}"#, releases.join(","));
    Ok(([(CONTENT_TYPE, "application/json")], all))
}

/// The parties whose key or signature this one waits for, if any.
fn missing(party: &Party, now: u64) -> Option<Value> {
    let window = party.window(now)?;
    if party.course.keyring.directory(window).is_ok() {
        return None;
    }
    let (keys, signatures) = party.course.keyring.missing(window);
    let id = party.id().to_string();
    Some(json!({ "collection": id, "window": window, "keys": keys, "signatures": signatures }))
}

/// The description of all paths in OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../../openapi.json");
