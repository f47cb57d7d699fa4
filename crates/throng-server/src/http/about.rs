//! The state of a server, for machines. Keys and directories are for everybody; results, status and
//! metrics for those whose token says so.

use super::guard::{Operator, Viewer};
use super::path::{Here, Number};
use super::problem::Problem;
use crate::Error;
use crate::metrics::reports;
use crate::party::Party;
use crate::server::Node;
use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use throng_mix::{Fate, Fates, Progress, Slot};
use throng_wire::Utc;

/// `GET /healthz`: the process is up.
pub async fn health() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: tells whether reports and batches can be taken now, and what is missing if not.
pub async fn ready(State(node): State<Arc<Node>>) -> (StatusCode, Json<Value>) {
    let writable = node.writable().await;
    let parties = node.parties();
    let waiting: Vec<Value> =
        parties.values().filter_map(|party| missing(party, node.now())).collect();
    let away = parties.values().filter_map(|party| unreachable(&node, party));
    let unreachable: Vec<Value> = away.collect();
    let clock: Vec<Value> =
        parties.values().filter_map(|party| doubted(party, node.now())).collect();
    let ready = writable && waiting.is_empty() && unreachable.is_empty() && clock.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let store = if writable { "writable" } else { "not writable" };
    let body = json!({
        "ready": ready, "store": store, "waiting": waiting, "unreachable": unreachable,
        "clock": clock,
    });
    (status, Json(body))
}

/// `GET /metrics`: the text for Prometheus.
pub async fn metrics(
    State(node): State<Arc<Node>>,
    _: Operator,
) -> Result<([(HeaderName, &'static str); 1], String), Problem> {
    let text = node.blocking(|node| Ok::<_, Error>(node.metrics.render(node))).await?;
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], text))
}

/// `GET /openapi.json`: the description of all paths.
pub async fn openapi() -> ([(HeaderName, &'static str); 1], &'static str) {
    ([(CONTENT_TYPE, "application/json")], OPENAPI)
}

/// `GET /v1/collections`: the list of collections.
pub async fn collections(State(node): State<Arc<Node>>) -> Json<Value> {
    let parties = node.parties();
    let each = parties.values().map(|party| {
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

/// `GET /v1/collections/{id}/status`: the stage of each range of epochs, the fate of every epoch
/// that has begun, and at the first mix the progress of the running one. Nothing is told of fewer
/// reports than a crowd while they wait.
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
        "clock": clock(&node),
        "now": Utc(node.now()).to_string(),
        "doubt": party.time.doubt().map(|doubt| doubt.to_string()),
        "others": others(&party),
        "open": party.mix().ok().and_then(|mix| mix.progress(node.now())).map(Progress::to_json),
        "slots": party.course.slots().iter().map(shown).collect::<Vec<_>>(),
        "fates": fates(&party, node.now()),
    }))
}

/// `GET /v1/collections/{id}/releases`: everything that was published and its cost, and the fate
/// of every epoch that has begun.
pub async fn releases(
    State(node): State<Arc<Node>>,
    _: Viewer,
    Here(party): Here,
) -> Result<([(HeaderName, &'static str); 1], String), Problem> {
    let at = Arc::clone(&party);
    let releases = node.blocking(move |_| at.analyzer()?.releases()).await?;
    let (id, clock) = (party.id(), clock(&node));
    let question = Value::from(party.route().title.as_str());
    let fates = Value::from(fates(&party, node.now()));
    // Each release is one JSON object already.
    let releases = releases.join(",");
    let all = format!(
        r#"{{"collection":"{id}","question":{question},"clock":"{clock}","fates":{fates},"releases":[{releases}]}}"#
    );
    Ok(([(CONTENT_TYPE, "application/json")], all))
}

/// The seconds by which the clocks of the other parties are ahead of the one here.
fn others(party: &Party) -> Vec<Value> {
    let each = party.others().map(|(hop, _)| json!({ "hop": hop, "ahead": party.time.ahead(hop) }));
    each.collect()
}

/// The fates of all epochs that have begun, oldest first, with their times.
fn fates(party: &Party, now: u64) -> Vec<Value> {
    let schedule = &party.route().schedule;
    let shown = |fates: Fates| {
        let Fates { first, last, fate } = fates;
        let mut row = json!({
            "first": first,
            "last": last,
            "begin": Utc(schedule.start_of(first)).to_string(),
            "end": Utc(schedule.end_of(last)).to_string(),
            "fate": fate.name(),
            "words": fate.words(),
        });
        if let Fate::Merged { into } = fate {
            row["into"] = into.into();
        }
        row
    };
    party.fates(now).into_iter().map(shown).collect()
}

/// The word for the clock of a server: one that is set by hand need not tell the time of day.
fn clock(node: &Node) -> &'static str {
    if node.clock.is_simulated() { "simulated" } else { "system" }
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

/// The judgement of a clock that is not believed, while something depends on it.
fn doubted(party: &Party, now: u64) -> Option<Value> {
    let judgement = party.time.doubt()?;
    let over = party.window(now).is_none() && party.course.keyring.windows().is_empty();
    if over && !judgement.is_doubt() {
        return None;
    }
    Some(json!({ "collection": party.id().to_string(), "reason": judgement.to_string() }))
}

/// The next party, if batches have not been able to reach it for some minutes.
fn unreachable(node: &Node, party: &Party) -> Option<Value> {
    let hop = party.course.hop + 1;
    let next = party.route().chain.party(hop)?;
    let seconds = node.watch.unreached(&next.url, node.now())?;
    Some(json!({ "collection": party.id().to_string(), "hop": hop, "seconds": seconds }))
}

/// The description of all paths in OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../../openapi.json");

#[cfg(test)]
mod tests {
    use crate::{Clock, Parts, Role, Server};
    use axum::Router;
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use throng_collection::example;
    use throng_mix::simulated::MemoryStore;
    use throng_mix::store::{Change, RowKey, Rows, Store, StoreError, Table};
    use throng_mix::{Limits, lock};
    use tokio::sync::Notify;
    use tokio::time::timeout;
    use tower::ServiceExt;

    /// Rows that count what is written. The first one takes until the gate is open.
    struct Slow {
        rows: Arc<dyn Rows>,
        writes: AtomicUsize,
        begun: Notify,
        gate: Mutex<Receiver<()>>,
    }

    impl Rows for Slow {
        fn under(
            &self,
            table: Table,
            prefix: &RowKey,
        ) -> Result<Vec<(RowKey, Vec<u8>)>, StoreError> {
            self.rows.under(table, prefix)
        }

        fn commit(&self, changes: &[Change<'_>]) -> Result<(), StoreError> {
            if self.writes.fetch_add(1, Ordering::SeqCst) == 0 {
                self.begun.notify_one();
                let _ = lock(&self.gate).recv();
            }
            self.rows.commit(changes)
        }
    }

    /// A mix whose disk takes its first row when the sender is dropped.
    fn mix(patience: u64) -> (Router, Arc<Slow>, Sender<()>) {
        let (disk, (open, gate)) = (MemoryStore::new().store(), channel());
        let (writes, gate) = (AtomicUsize::new(0), Mutex::new(gate));
        let rows = Arc::clone(&disk.rows);
        let rows = Arc::new(Slow { rows, writes, begun: Notify::new(), gate });
        let [identity, _] = throng_wire::example::identities();
        let parts = Parts {
            role: Role::Mix,
            identity,
            collections: vec![example::collection()],
            boards: Vec::new(),
            store: Store { rows: rows.clone(), ..disk },
            limits: Limits { patience, ..Limits::default() },
            tls: None,
            authority: None,
            access: None,
        };
        (Server::from_parts(parts, Clock::manual(0)).unwrap().routes(), rows, open)
    }

    /// Asks whether it is ready, and returns what is said of the store.
    async fn store(routes: Router) -> String {
        let ask = Request::get("/readyz").body(Body::empty()).unwrap();
        let answer = routes.oneshot(ask).await.unwrap().into_body();
        let answer = to_bytes(answer, 1 << 10).await.unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        answer["store"].as_str().unwrap().to_owned()
    }

    /// Everybody who asked while the disk was tried had it tried once more. It is answered without
    /// a token, and when there is no room for others: a flood of it was a flood of writes.
    #[tokio::test]
    async fn readiness_asked_for_many_times_at_once_tries_the_disk_once() {
        let (routes, rows, open) = mix(30);
        let first = tokio::spawn(store(routes.clone()));
        timeout(BOUND, rows.begun.notified()).await.unwrap();
        for _ in 0..10 {
            store(routes.clone()).await;
        }
        drop(open);
        assert_eq!(first.await.unwrap(), "writable");
        assert_eq!(rows.writes.load(Ordering::SeqCst), 1);
    }

    /// While a disk hung, nobody but the first who asked was told so.
    #[tokio::test]
    async fn a_disk_that_hangs_for_longer_than_a_client_may_take_is_not_told_as_writable() {
        for (patience, expected) in [(3_600, "writable"), (0, "not writable")] {
            let (routes, rows, open) = mix(patience);
            let first = tokio::spawn(store(routes.clone()));
            timeout(BOUND, rows.begun.notified()).await.unwrap();
            assert_eq!(store(routes.clone()).await, expected);
            drop(open);
            assert_eq!(first.await.unwrap(), "writable");
            assert_eq!(store(routes).await, "writable");
        }
    }

    const BOUND: Duration = Duration::from_secs(30);
}
