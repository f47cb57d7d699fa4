//! Answers on their way out. What is not read yet is in memory, and counts until it is sent.

use super::edge::Holding;
use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A body that holds a part of the room for answers until its last byte is gone.
pub struct Answer {
    body: Body,
    holding: Option<Holding>,
}

impl Answer {
    /// A body, and what it holds.
    pub fn new(body: Body, holding: Holding) -> Self {
        Self { body, holding: Some(holding) }
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
        // The body is gone before its last bytes are, so that they take over what it holds.
        let holding = if self.body.is_end_stream() { self.holding.take() } else { None };
        Poll::Ready(frame.map(|frame| Ok(frame?.map_data(|bytes| owned(bytes, holding)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes that hold something until they are dropped.
fn owned(bytes: Bytes, holding: Option<Holding>) -> Bytes {
    match holding {
        Some(holding) => Bytes::from_owner(Owned { bytes, _holding: holding }),
        None => bytes,
    }
}

struct Owned {
    bytes: Bytes,
    _holding: Holding,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::edge::{Edge, Purpose};
    use super::super::source::tests::source;
    use super::*;
    use futures_util::stream;
    use http_body_util::BodyExt;
    use std::convert::Infallible;
    use throng_mix::Limits;

    fn edge() -> Edge {
        Edge::new(&Limits { bodies: 1 << 20, ..Limits::default() }, 0).unwrap()
    }

    #[tokio::test]
    async fn what_is_not_sent_yet_is_held_though_its_body_is_gone() {
        let edge = edge();
        let page = Body::from(vec![7; 100_000]);
        let mut body = edge.answer(page, Purpose::Public, source(1)).unwrap();
        assert_eq!(edge.held(), 100_000);
        let bytes = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        assert_eq!((bytes.len(), edge.held()), (100_000, 100_000));
        drop(bytes);
        assert_eq!(edge.held(), 0);
    }

    #[tokio::test]
    async fn a_stream_holds_its_pieces_until_its_end() {
        let edge = edge();
        let pieces = stream::iter([Ok::<_, Infallible>("a"), Ok("b")]);
        let mut body = edge.answer(Body::from_stream(pieces), Purpose::Public, source(1)).unwrap();
        assert!(body.frame().await.is_some() && edge.held() > 0);
        assert!(body.frame().await.is_some() && body.frame().await.is_none());
        drop(body);
        assert_eq!(edge.held(), 0);
    }

    #[test]
    fn short_answers_are_always_given_and_long_ones_within_the_room() {
        let edge = edge();
        let ask =
            |from, size| edge.answer(Body::from(vec![0; size]), Purpose::Public, source(from));
        let held: Vec<Body> = (0..20).filter_map(|_| ask(1, 100_000)).collect();
        assert_eq!(held.len(), 4, "three quarters of half a mebibyte");
        assert!(ask(1, 100_000).is_none() && ask(1, 8_000).is_some());
        assert!(ask(2, 100_000).is_some());
    }
}
