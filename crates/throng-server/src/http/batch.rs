//! Batches in, receipts out. A batch is never in memory as a whole.

use super::body::Arriving;
use super::path::{Here, Place};
use super::problem::Problem;
use super::source::Source;
use crate::Error;
use crate::metrics::{RECEIVED, REPEATED};
use crate::party::Party;
use crate::server::Node;
use axum::body::Body;
use axum::extract::State;
use std::sync::Arc;
use throng_mix::Intake;
use throng_wire::{Receipt, SignedManifest};
use tokio::time::timeout;

/// `PUT /v1/collections/{id}/batches/{hop}/{first}/{last}`: manifest, signature and records in, the
/// receipt out. The same batch again gets the same receipt.
pub async fn receive(
    State(node): State<Arc<Node>>,
    Here(party): Here,
    place: Place,
    source: Source,
    body: Body,
) -> Result<Vec<u8>, Problem> {
    let taken = take(&node, &party, &place, source, body).await;
    node.noted(&taken);
    match &taken {
        // The way in which a body comes says nothing of the batch.
        Ok(_) | Err(Error::Slow | Error::Cut) => {}
        Err(error) => node.metrics.refused_batch(&party, error, Problem::from(error).name),
    }
    Ok(taken?.encode())
}

async fn take(
    node: &Arc<Node>,
    party: &Arc<Party>,
    place: &Place,
    source: Source,
    body: Body,
) -> Result<Receipt, Error> {
    let mut body = Pieces { body: Arriving::long(body, node.patience()), held: Vec::new() };
    // What costs nothing is looked at first, and a manifest has to come in one go.
    if place.hop != party.course.hop || place.hop == 1 {
        return Err(throng_mix::Error::WrongPlace.into());
    }
    let start = node.edge.start(source, START).ok_or(throng_mix::Error::Busy)?;
    let manifest = timeout(node.patience(), body.manifest()).await;
    let manifest = manifest.unwrap_or(Err(Error::Slow))?;
    let said = manifest.unverified();
    if (place.first, place.last) != (said.first, said.last) {
        let foreign = throng_wire::Error::Foreign { what: "batch", scope: "address" };
        return Err(throng_mix::Error::Batch(foreign).into());
    }
    let size = said.bytes();
    let at = Arc::clone(party);
    let intake = node.blocking(move |_| at.receive(manifest)).await?;
    // It is known by its signature to be another party's, and has room until its end.
    drop(start);
    let _room = node.edge.batch(source, 2 * PIECE).ok_or(throng_mix::Error::Busy)?;
    match intake {
        Intake::Known(receipt) => {
            // The body is read to its end: an earlier answer would be lost with the connection.
            let mut left = size.unwrap_or(0);
            while let Some(piece) = body.piece().await? {
                left = left.checked_sub(piece.len() as u64).ok_or(throng_mix::Error::TooLarge)?;
            }
            node.metrics.count(REPEATED, "");
            Ok(receipt)
        }
        Intake::New(mut incoming) => {
            while let Some(piece) = body.piece().await? {
                let write = move |_: &_| incoming.write(&piece).map(|()| incoming);
                incoming = node.blocking(write).await?;
            }
            let at = Arc::clone(party);
            let keep = move |_: &_| {
                let kept = at.course.keep(incoming);
                at.work.notify_one();
                kept
            };
            let receipt = node.blocking(keep).await?;
            node.metrics.count(RECEIVED, "");
            tracing::info!(collection = %party.id(), first = place.first, "received a batch");
            Ok(receipt)
        }
    }
}

/// A body in pieces of a size that is worth writing.
struct Pieces {
    body: Arriving,
    held: Vec<u8>,
}

impl Pieces {
    /// Reads the manifest and the signature, which come before the records.
    async fn manifest(&mut self) -> Result<SignedManifest, Error> {
        loop {
            let length = SignedManifest::length(&self.held);
            if let Some(length) = length.filter(|length| *length <= self.held.len()) {
                let rest = self.held.split_off(length);
                let manifest =
                    SignedManifest::decode(&self.held).map_err(throng_mix::Error::Batch)?;
                self.held = rest;
                return Ok(manifest);
            }
            let expected = "a manifest and a signature";
            let short = throng_mix::Error::Batch(throng_wire::Error::Malformed { expected });
            let bytes = self.body.next().await?.ok_or(short)?;
            self.held.extend_from_slice(&bytes);
        }
    }

    /// The next piece of the records; `None` at their end.
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, Error> {
        while self.held.len() < PIECE {
            match self.body.next().await? {
                Some(bytes) => self.held.extend_from_slice(&bytes),
                None => break,
            }
        }
        let piece = std::mem::take(&mut self.held);
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }
}

/// The number of bytes that are written at a time.
const PIECE: usize = 1 << 20;

/// The number of bytes that a batch holds before it is known to be another party's.
const START: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::*;
    use crate::{Clock, Parts, Role, Server};
    use axum::body::Bytes;
    use axum::http::{Request, StatusCode};
    use futures_util::{FutureExt, stream};
    use std::convert::Infallible;
    use throng_collection::example;
    use throng_mix::{Limits, simulated::MemoryStore};
    use throng_wire::Manifest;
    use tower::ServiceExt;

    /// Beginnings of batches took the room of the batches themselves, so that two networks that
    /// began many and signed none kept the other party out.
    #[tokio::test]
    async fn a_flood_of_beginnings_that_nobody_signed_keeps_no_batch_out() {
        let (collection, [mix, analyzer]) =
            (example::collection(), throng_wire::example::identities());
        let (id, over) = (collection.id(), collection.schedule.end_of(0));
        let bytes = collection.shape().record_bytes(2) as u32;
        let parts = Parts {
            role: Role::Analyzer,
            identity: analyzer,
            collections: vec![collection],
            boards: Vec::new(),
            store: MemoryStore::new().store(),
            limits: Limits::default(),
            tls: None,
            authority: None,
            access: None,
        };
        let routes = Server::from_parts(parts, Clock::manual(over)).unwrap().routes();
        let put = |network, body| {
            let request = Request::put(format!("/v1/collections/{id}/batches/2/0/0"));
            let request = request.extension(source(network)).body(body).unwrap();
            Box::pin(routes.clone().oneshot(request))
        };
        let silence = || Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let mut flood = Vec::new();
        for network in [1, 2] {
            let mut begun: Vec<_> = (0..1_000).map(|_| put(network, silence())).collect();
            let answers = begun.iter_mut().filter_map(FutureExt::now_or_never);
            let refused = answers.map(|answer| answer.unwrap().status());
            assert!(refused.last() == Some(StatusCode::TOO_MANY_REQUESTS), "there is room left");
            flood.push(begun);
        }
        // The word that nothing comes is a batch, too, and needs no keys.
        let word = SignedManifest::sign(Manifest::empty(id, 0..=0, 1, bytes, [0; 32]), &mix);
        let taken = put(3, Body::from(word.encode())).await.unwrap();
        assert_eq!(taken.status(), StatusCode::OK);
        drop(flood);
    }
}
