//! The way in of reports, the one path that has to be fast.
//!
//! The answer depends on the address and the length alone, never on what is inside a report.

use super::path::{Here, Number};
use super::problem::Problem;
use crate::Error;
use crate::party::Party;
use crate::server::Node;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use std::sync::Arc;
use tokio::time::{Instant, timeout};

/// `POST /v1/collections/{id}/epochs/{epoch}/reports`: sealed reports back to back in, `202` and
/// nothing else out, once they are on disk.
pub async fn submit(
    State(node): State<Arc<Node>>,
    Here(party): Here,
    Number(epoch): Number,
    body: Body,
) -> Result<StatusCode, Problem> {
    let began = Instant::now();
    let taken = take(&node, &party, epoch, body).await.map_err(Problem::from);
    let refused = taken.as_ref().err().map(|problem| problem.name);
    node.metrics.upload(refused, began.elapsed(), node.now());
    taken.map(|()| StatusCode::ACCEPTED)
}

async fn take(node: &Node, party: &Party, epoch: u64, body: Body) -> Result<(), Error> {
    let admitted = party.mix().and_then(|mix| Ok(mix.admit(epoch, node.now())?));
    let reading = async {
        match admitted {
            Ok(()) => whole(body, party.upload).await,
            // A refused body is read, so that the connection lives on, but not kept.
            Err(error) => drained(body, party.upload).await.and(Err(error)),
        }
    };
    let reports = timely(node, reading).await?;
    party.submit(epoch, &reports, node.now())?.await
}

/// Waits for a body, or a part of it, for as long as a client may take.
pub async fn timely<T>(
    node: &Node,
    reading: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    timeout(node.patience(), reading).await.unwrap_or(Err(Error::Slow))
}

/// Reads a body of at most `most` bytes without keeping it.
async fn drained(mut body: Body, most: usize) -> Result<(), Error> {
    let mut left = most;
    while let Some(bytes) = next(&mut body).await? {
        left = left.checked_sub(bytes.len()).ok_or(throng_mix::Error::TooLarge)?;
    }
    Ok(())
}

/// Reads the whole body, of at most `most` bytes.
pub async fn whole(mut body: Body, most: usize) -> Result<Bytes, Error> {
    if body.size_hint().lower() > most as u64 {
        // Whoever is a little over should get the answer, not a broken connection.
        drained(body, most.saturating_add(LINGER)).await?;
        return Err(throng_mix::Error::TooLarge.into());
    }
    let Some(first) = next(&mut body).await? else { return Ok(Bytes::new()) };
    // Most uploads are one report, which comes in one piece.
    if body.is_end_stream() && first.len() <= most {
        return Ok(first);
    }
    let mut bytes = Vec::from(first);
    while let Some(more) = next(&mut body).await? {
        if bytes.len() + more.len() > most {
            return Err(throng_mix::Error::TooLarge.into());
        }
        bytes.extend_from_slice(&more);
    }
    if bytes.len() > most { Err(throng_mix::Error::TooLarge.into()) } else { Ok(bytes.into()) }
}

/// Reads the next bytes of a body, if there are more.
pub async fn next(body: &mut Body) -> Result<Option<Bytes>, Error> {
    while let Some(frame) = body.frame().await {
        // Frames without data are trailers, which nobody asked for.
        if let Ok(data) = frame.map_err(|_| Error::Cut)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// The number of bytes beyond the limit that are read, and not kept, before the answer.
const LINGER: usize = 4 << 20;
