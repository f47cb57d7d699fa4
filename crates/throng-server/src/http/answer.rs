//! Answers on their way out. What is not read yet is in memory, and counts until it is sent.

use super::edge::Holding;
use super::unread::OnItsWay;
use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::time::Instant;

/// A body that holds a part of the room for answers until its last byte is gone. It comes in small
/// pieces, so that what is taken of it is known.
pub struct Answer {
    body: Body,
    /// The bytes of the body that come next.
    rest: Bytes,
    held: Arc<Held>,
}

/// What an answer holds until its body and all of its bytes are dropped.
pub struct Held {
    on_its_way: Option<OnItsWay>,
    _room: Holding,
}

impl Held {
    /// Room, and a connection that is ended if it is not given back.
    pub fn new(room: Holding, on_its_way: Option<OnItsWay>) -> Self {
        Self { on_its_way, _room: room }
    }
}

impl Answer {
    /// A body, and what it holds.
    pub fn new(body: Body, held: Held) -> Self {
        Self { body, rest: Bytes::new(), held: Arc::new(held) }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(context)).transpose()?;
            match frame.map(Frame::into_data) {
                None => return Poll::Ready(None),
                Some(Err(trailers)) => return Poll::Ready(Some(Ok(trailers))),
                Some(Ok(bytes)) => self.rest = bytes,
            }
        }
        let length = self.rest.len().min(PIECE);
        let (bytes, held) = (self.rest.split_to(length), Arc::clone(&self.held));
        if let Some(on_its_way) = &held.on_its_way {
            on_its_way.taken(length, Instant::now());
        }
        // The body is gone before its bytes are.
        let piece = Bytes::from_owner(Piece { bytes, _held: held });
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, mut hint) = (self.rest.len() as u64, self.body.size_hint());
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}

/// Bytes that hold something until they are dropped.
struct Piece {
    bytes: Bytes,
    _held: Arc<Held>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The most bytes that are taken at a time.
const PIECE: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::super::edge::{Asked, Edge, Purpose};
    use super::super::source::tests::source;
    use super::*;
    use futures_util::stream;
    use http_body_util::BodyExt;
    use std::convert::Infallible;
    use std::time::Duration;
    use throng_mix::Limits;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    fn edge() -> Edge {
        Edge::new(&Limits { bodies: 1 << 20, ..Limits::default() }, 0).unwrap()
    }

    /// What somebody asks who is known by a number.
    fn asked(from: u64) -> Asked {
        Asked { purpose: Purpose::Public, source: source(from), beside: false, connection: None }
    }

    #[tokio::test]
    async fn what_is_not_sent_yet_is_held_though_its_body_is_gone() {
        let stream = || {
            let pieces = stream::iter([Ok::<_, Infallible>(vec![7; 60_000]), Ok(vec![7; 40_000])]);
            Body::from_stream(pieces)
        };
        for whole in [Body::from(vec![7; 100_000]), stream()] {
            let edge = edge();
            let mut body = edge.answer(whole, &asked(1)).unwrap();
            let mut pieces = Vec::new();
            while let Some(frame) = body.frame().await {
                pieces.push(frame.unwrap().into_data().unwrap());
            }
            drop(body);
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE));
            assert_eq!(pieces.concat(), vec![7; 100_000]);
            // The last one to be sent keeps all of it.
            while pieces.pop().is_some() {
                assert_eq!(edge.held() >= 100_000, !pieces.is_empty());
            }
            assert_eq!(edge.held(), 0);
        }
    }

    #[tokio::test]
    async fn the_length_that_is_told_is_that_of_what_comes() {
        let edge = edge();
        let mut body = edge.answer(Body::from(vec![7; 40_000]), &asked(1)).unwrap();
        for left in [40_000, 40_000 - PIECE, 40_000 - 2 * PIECE] {
            assert_eq!(
                (body.size_hint().exact(), body.is_end_stream()),
                (Some(left as u64), false)
            );
            assert!(body.frame().await.is_some());
        }
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
    }

    #[tokio::test]
    async fn whoever_takes_a_piece_earns_time_for_the_next() {
        let (edge, asked, ended) = (edge(), asked(1), CancellationToken::new());
        let connection = Some(edge.unread.connection(ended.clone()));
        let asked = Asked { connection, ..asked };
        let begin = Instant::now();
        let mut body = edge.answer(Body::from(vec![0; 100_000]), &asked).unwrap();
        let after = |seconds| begin + Duration::from_secs(seconds);
        edge.unread.end(after(25));
        assert!(!ended.is_cancelled());
        assert!(body.frame().await.is_some() && body.frame().await.is_some());
        edge.unread.end(after(40));
        assert!(!ended.is_cancelled());
        edge.unread.end(after(1_000));
        assert!(ended.is_cancelled());
    }

    #[test]
    fn short_answers_are_always_given_and_long_ones_within_the_room() {
        let edge = edge();
        let ask = |from, size| edge.answer(Body::from(vec![0; size]), &asked(from));
        let held: Vec<Body> = (0..20).filter_map(|_| ask(1, 100_000)).collect();
        assert_eq!(held.len(), 4, "three quarters of half a mebibyte");
        assert!(ask(1, 100_000).is_none() && ask(1, 8_000).is_some());
        assert!(ask(2, 100_000).is_some());
    }

    #[test]
    fn beside_others_short_answers_take_room_too_and_parties_and_operators_have_some_more() {
        let edge = edge();
        let ask = |from, purpose, size| {
            let asked = Asked { purpose, beside: true, ..asked(from) };
            edge.answer(Body::from(vec![0; size]), &asked)
        };
        let mut held: Vec<Body> =
            (0..1_000).filter_map(|_| ask(1, Purpose::Public, 1_024)).collect();
        assert_eq!(held.len(), 128, "three quarters of half a mebibyte");
        // What has no body waits for nothing.
        assert!(ask(1, Purpose::Public, 0).is_some() && ask(1, Purpose::Public, 1).is_none());
        for purpose in [Purpose::Watch, Purpose::Party] {
            held.push(ask(1, purpose, 1_024).unwrap());
        }
        let more = (0..1_000).map_while(|_| ask(1, Purpose::Watch, 1_024));
        held.extend(more);
        assert!(held.len() < 500 && ask(2, Purpose::Watch, 1_024).is_some());
    }
}
