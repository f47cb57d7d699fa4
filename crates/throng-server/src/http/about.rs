//! What is going on, for machines. Keys and directories are for everybody; results, status and metrics
//! for those whose token says so.

use super::guard::{Operator, Viewer};
use super::path::{Here, Number};
use super::problem::Problem;
use crate::Slot;
use crate::metrics::reports;
use crate::progress::Progress;
use crate::server::{Node, Seat};
use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

/// `GET /healthz`: the process is up.
pub async fn health() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: whether reports and batches can be taken now, and what is missing if not.
pub async fn ready(State(node): State<Arc<Node>>) -> (StatusCode, Json<Value>) {
    let writable = node.writable().await;
    let waiting: Vec<Value> =
        node.seats.values().filter_map(|seat| missing(seat, node.now())).collect();
    let ready = writable && waiting.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let store = if writable { "writable" } else { "not writable" };
    (status, Json(json!({ "ready": ready, "store": store, "waiting": waiting })))
}

/// `GET /metrics`.
pub async fn metrics(
    State(node): State<Arc<Node>>,
    _: Operator,
) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], node.metrics.render(&node))
}

/// `GET /v1/collections`.
pub async fn collections(State(node): State<Arc<Node>>) -> Json<Value> {
    let each = node.seats.values().map(|seat| {
        let (title, question) = (&seat.route().title, seat.question());
        let mut row = json!({
            "id": seat.id.to_string(),
            "kind": if question.is_some() { "question" } else { "board" },
            "title": title,
            "role": node.role.to_string(),
            "hop": seat.hop(),
        });
        if question.is_some() {
            row["question"] = title.as_str().into();
        }
        row
    });
    Json(json!({ "collections": each.collect::<Vec<_>>() }))
}

/// `GET /v1/collections/{id}`: the file that everyone holds.
pub async fn collection(Here(seat): Here) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "application/toml")], seat.file())
}

/// `GET /v1/collections/{id}/keys/{window}`: this party's key, stated to the others.
pub async fn statement(Here(seat): Here, Number(window): Number) -> Result<Vec<u8>, Problem> {
    Ok(seat.keyring().statement(window)?.encode())
}

/// `GET /v1/collections/{id}/cosignatures/{window}`: this party's signature of all keys.
pub async fn cosignature(Here(seat): Here, Number(window): Number) -> Result<Vec<u8>, Problem> {
    Ok(seat.keyring().cosignature(window)?.to_vec())
}

/// `GET /v1/collections/{id}/directories/{window}`: all keys with everyone's signature. It is the same
/// for everybody and never changes, so caches may keep it.
pub async fn directory(
    State(node): State<Arc<Node>>,
    Here(seat): Here,
    Number(window): Number,
) -> Result<([(HeaderName, String); 2], Vec<u8>), Problem> {
    let directory = seat.keyring().directory(window)?.encode();
    let route = seat.route();
    let last = route.window_epochs(window).end.saturating_sub(1);
    let left = route.schedule.deadline(last).saturating_sub(node.now());
    let media = (CONTENT_TYPE, "application/octet-stream".to_owned());
    Ok(([media, (CACHE_CONTROL, format!("public, max-age={left}"))], directory))
}

/// `GET /v1/collections/{id}/status`: how far each range of epochs is, and at the first mix how full the
/// running epoch. Nothing is told of fewer reports than a crowd while they wait.
pub async fn status(State(node): State<Arc<Node>>, _: Operator, Here(seat): Here) -> Json<Value> {
    let shown = |slot: &Slot| {
        json!({
            "first": slot.first,
            "last": slot.last,
            "stage": slot.stage.name(),
            "reports": reports(slot, &seat),
        })
    };
    Json(json!({
        "collection": seat.id.to_string(),
        "role": node.role.to_string(),
        "hop": seat.hop(),
        "epoch": seat.route().epoch_at(node.now()),
        "epochs": seat.route().epochs,
        "open": seat.mix().ok().and_then(|mix| mix.progress(node.now())).map(Progress::to_json),
        "slots": seat.slots().iter().map(shown).collect::<Vec<_>>(),
    }))
}

/// `GET /v1/collections/{id}/releases`: everything that was published, and what it cost.
pub async fn releases(
    State(node): State<Arc<Node>>,
    _: Viewer,
    Here(seat): Here,
) -> Result<([(HeaderName, &'static str); 2], String), Problem> {
    let id = seat.id;
    let releases = node.blocking(move |_| seat.analyzer()?.releases()).await?;
    let head = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    // Each is one JSON object already.
    let all = format!(r#"{{"collection":"{id}","releases":[{}]}}"#, releases.join(","));
    Ok((head, all))
}

/// The parties whose key or signature this one waits for, if any.
fn missing(seat: &Seat, now: u64) -> Option<Value> {
    let window = seat.window(now)?;
    if seat.keyring().directory(window).is_ok() {
        return None;
    }
    let (keys, signatures) = seat.keyring().missing(window);
    let id = seat.id.to_string();
    Some(json!({ "collection": id, "window": window, "keys": keys, "signatures": signatures }))
}
