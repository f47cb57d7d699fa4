//! The bulletins of a board, for whoever takes part in it, and the mixes' signatures of them.

use super::body::Arriving;
use super::path::{Here, Number};
use super::problem::Problem;
use crate::Error;
use crate::pieces::pieces;
use crate::server::Node;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::IntoResponse;
use std::sync::Arc;
use throng_mix::read_statement;

/// `GET /v1/collections/{id}/bulletins/{round}`: the notice, the signatures of all parties, and the
/// bag. It is for everybody, and never changes. A mix has none, and says of a round that it dropped
/// it.
pub async fn fetch(
    State(node): State<Arc<Node>>,
    Here(party): Here,
    Number(round): Number,
) -> Result<impl IntoResponse, Problem> {
    let (signed, bag) = node.blocking(move |_| party.bulletin(round)).await?;
    let head = signed.encode();
    let length = head.len() as u64 + bag.size;
    let (body, feeding) = pieces(head, bag, AHEAD, node.patience());
    // It ends when the reader leaves, or is too slow.
    tokio::spawn(feeding);
    let media = (CONTENT_TYPE, "application/octet-stream".to_owned());
    let cache = (CACHE_CONTROL, "public, max-age=31536000, immutable".to_owned());
    let headers = [media, cache, (CONTENT_LENGTH, length.to_string())];
    Ok((headers, Body::from_stream(body)))
}

/// `PUT /v1/collections/{id}/notices/{round}`: the analyzer's notice with its signature in, this
/// mix's signature out. The same notice again gets the same signature, and another one none.
pub async fn countersign(
    State(node): State<Arc<Node>>,
    Here(party): Here,
    Number(round): Number,
    body: Body,
) -> Result<Vec<u8>, Problem> {
    let body = Arriving::new(body, node.patience()).short(STATEMENT).await?;
    let (notice, signature) = read_statement(&body).map_err(throng_mix::Error::Notice)?;
    if notice.round != round {
        let foreign = throng_wire::Error::Foreign { what: "notice", scope: "address" };
        return Err(throng_mix::Error::Notice(foreign).into());
    }
    let at = Arc::clone(&party);
    let signed = node.blocking(move |_| at.countersign(&notice, &signature)).await;
    if let Err(Error::Mix(throng_mix::Error::Conflict)) = signed {
        node.metrics.contradicted(&party);
    }
    Ok(signed?.to_vec())
}

/// The bytes of a notice and a signature.
const STATEMENT: usize = 92 + 64;

/// The number of pieces that are read ahead of each reader. It is small, since there may be many
/// slow readers.
const AHEAD: usize = 1;
