//! The way in of reports, the one path that has to be fast.
//!
//! The answer depends on the address and the length alone, never on what is inside a report.

use super::body::Arriving;
use super::path::{Here, Number};
use super::problem::Problem;
use super::source::Source;
use crate::Error;
use crate::party::Party;
use crate::server::Node;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;
use tokio::time::Instant;

/// `POST /v1/collections/{id}/epochs/{epoch}/reports`: sealed reports back to back in, `202` and
/// nothing else out, once they are on disk.
pub async fn submit(
    State(node): State<Arc<Node>>,
    Here(party): Here,
    Number(epoch): Number,
    source: Source,
    body: Body,
) -> Result<StatusCode, Problem> {
    let began = Instant::now();
    let taken = take(&node, &party, epoch, source, body).await;
    node.noted(&taken);
    let taken = taken.map_err(Problem::from);
    let refused = taken.as_ref().err().map(|problem| problem.name);
    node.metrics.upload(refused, began.elapsed(), node.now());
    taken.map(|()| StatusCode::ACCEPTED)
}

async fn take(
    node: &Node,
    party: &Party,
    epoch: u64,
    source: Source,
    body: Body,
) -> Result<(), Error> {
    let mut body = Arriving::new(body, node.patience());
    if let Err(error) = party.mix().and_then(|mix| Ok(mix.admit(epoch, node.now())?)) {
        // A refused body is read, so that the connection lives on, but not kept.
        return body.drained(party.upload).await.and(Err(error));
    }
    let mut holding = node.edge.body(source);
    let reports = body.held(party.upload, &mut holding).await?;
    let (quota, route, now) = (&node.edge.quota, party.route(), node.now());
    let count = (reports.len() / route.shape.report_bytes()) as u64;
    quota.charge(source, (route, epoch), count, now)?;
    let written = party.submit(epoch, &reports, now);
    // From here on the log holds them.
    drop((reports, holding));
    let written = match written {
        Ok(written) => written.await,
        Err(error) => Err(error),
    };
    if written.is_err() {
        quota.refund(source, (route, epoch), count);
    }
    written
}
