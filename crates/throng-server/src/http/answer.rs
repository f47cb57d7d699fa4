//! Answers on their way out. What is not read yet is in memory, and counts until it is sent.

use super::edge::Holding;
use super::unread::OnItsWay;
use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A body that holds a part of the room for answers until its last byte is gone.
pub struct Answer {
    body: Body,
    /// True if its length is known, and so when it has to be read.
    told: bool,
    held: Option<Held>,
}

/// What an answer holds until it is dropped.
pub struct Held {
    on_its_way: OnItsWay,
    _room: Holding,
}

impl Held {
    /// Room, and a time by which it is to be given back.
    pub fn new(room: Holding, on_its_way: OnItsWay) -> Self {
        Self { on_its_way, _room: room }
    }
}

impl Answer {
    /// A body, and what it holds.
    pub fn new(body: Body, held: Held) -> Self {
        let told = body.size_hint().exact().is_some();
        Self { body, told, held: Some(held) }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let (false, Some(Ok(frame)), Some(held)) = (self.told, &frame, &mut self.held) {
            held.on_its_way.earn(frame.data_ref().map_or(0, Bytes::len) as u64);
        }
        // The body is gone before its last bytes are, so that they take over what it holds.
        let held = if self.body.is_end_stream() { self.held.take() } else { None };
        Poll::Ready(frame.map(|frame| Ok(frame?.map_data(|bytes| owned(bytes, held)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes that hold something until they are dropped.
fn owned(bytes: Bytes, held: Option<Held>) -> Bytes {
    match held {
        Some(held) => Bytes::from_owner(Owned { bytes, _held: held }),
        None => bytes,
    }
}

struct Owned {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

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
        let (purpose, connection) = (Purpose::Public, CancellationToken::new());
        Asked { purpose, source: source(from), beside: false, connection }
    }

    #[tokio::test]
    async fn what_is_not_sent_yet_is_held_though_its_body_is_gone() {
        let edge = edge();
        let mut body = edge.answer(Body::from(vec![7; 100_000]), &asked(1)).unwrap();
        assert_eq!(edge.held(), 100_000);
        let bytes = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        assert_eq!((bytes.len(), edge.held()), (100_000, 100_000));
        drop(bytes);
        assert_eq!(edge.held(), 0);
    }

    #[tokio::test]
    async fn a_stream_holds_its_pieces_until_its_end_and_earns_time_with_each() {
        let (edge, asked) = (edge(), asked(1));
        let pieces = stream::iter([Ok::<_, Infallible>(vec![0; 50_000]), Ok(vec![0; 50_000])]);
        let mut body = edge.answer(Body::from_stream(pieces), &asked).unwrap();
        assert!(body.frame().await.is_some() && edge.held() > 0);
        let after = |seconds| Instant::now() + Duration::from_secs(seconds);
        edge.unread.end(after(30 + 40));
        assert!(!asked.connection.is_cancelled());
        assert!(body.frame().await.is_some());
        edge.unread.end(after(30 + 80));
        assert!(!asked.connection.is_cancelled());
        assert!(body.frame().await.is_none());
        drop(body);
        assert_eq!(edge.held(), 0);
        edge.unread.end(after(1_000));
        assert!(!asked.connection.is_cancelled());
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
