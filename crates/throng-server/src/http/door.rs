//! The way into and out of every handler: whether there is room, whom a request counts for, and the
//! headers of every answer.

use super::edge::{Asked, Purpose, Seat};
use super::pages::{person, told};
use super::problem::Problem;
use crate::server::Node;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Request, Response, Version};
use axum::response::IntoResponse;
use axum::{BoxError, Router};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tower::Service;

/// Lets a request of a connection to the routes, if there is room among all connections.
pub fn enter<B>(
    mut request: Request<B>,
    routes: &mut Router,
    node: &Node,
    seat: &Arc<Seat>,
) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<B>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let person = person(&request);
    let purpose = purpose(request.method(), request.uri().path());
    let source = node.edge.sources.of(seat.peer, request.headers());
    let beside = request.version() >= Version::HTTP_2;
    let connection = (!seat.peer.proxy).then(|| seat.connection.clone());
    let asked = Asked { purpose, source, beside, connection };
    let turned_away = seat.reserved && purpose == Purpose::Public;
    let place = if turned_away { None } else { node.edge.request(purpose, source) };
    if place.is_none() && request.uri().path().ends_with("/reports") {
        node.metrics.upload(Some("busy"), Duration::ZERO, node.now());
    }
    let begun = place.map(|place| {
        let visit = seat.visit();
        request.extensions_mut().insert(source);
        request.extensions_mut().insert(seat.peer);
        (routes.call(request), place, visit)
    });
    let edge = Arc::clone(&node.edge);
    async move {
        let mut answer = match begun {
            Some((answer, place, visit)) => {
                let answer = answer.await?;
                drop((place, visit));
                answer
            }
            None => busy(beside),
        };
        if turned_away {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let (head, body) = dressed(told(answer, person)).into_parts();
        let answer = edge.answer(body, &asked).map(|body| Response::from_parts(head, body));
        Ok(answer.unwrap_or_else(|| dressed(busy(beside))))
    }
}

/// The answer to those for whom there is no room. Where it would wait to be read beside others,
/// there is none for its words either.
fn busy(beside: bool) -> Response<Body> {
    let mut answer = Problem::from(throng_mix::Error::Busy).into_response();
    if beside {
        *answer.body_mut() = Body::empty();
        answer.headers_mut().remove(CONTENT_TYPE);
        answer.extensions_mut().remove::<Problem>();
    }
    answer
}

/// The purpose of a request. Parties are not known by their addresses, but by what they ask.
fn purpose(method: &Method, path: &str) -> Purpose {
    if WATCHED.contains(&path) {
        return Purpose::Watch;
    }
    let mut parts = path.split('/').skip(1);
    let of_collection = parts.next() == Some("v1") && parts.next() == Some("collections");
    let what = parts.nth(1).filter(|_| of_collection);
    let asked = [(&Method::PUT, "batches"), (&Method::PUT, "notices")];
    let told = [(&Method::GET, "keys"), (&Method::GET, "cosignatures")];
    let party =
        what.is_some_and(|what| asked.iter().chain(&told).any(|one| *one == (method, what)));
    if party { Purpose::Party } else { Purpose::Public }
}

/// Adds the headers by which an answer is not sniffed, framed, opened by others or told to them.
fn dressed(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    response
}

const POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// The paths that operators' machines watch, which are answered even when there is no room.
const WATCHED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_and_operators_are_known_by_what_they_ask() {
        for (method, path, expected) in [
            (Method::GET, "/healthz", Purpose::Watch),
            (Method::GET, "/metrics", Purpose::Watch),
            (Method::PUT, "/v1/collections/ab/batches/2/0/0", Purpose::Party),
            (Method::PUT, "/v1/collections/ab/notices/0", Purpose::Party),
            (Method::GET, "/v1/collections/ab/keys/0", Purpose::Party),
            (Method::GET, "/v1/collections/ab/cosignatures/0", Purpose::Party),
            (Method::POST, "/v1/collections/ab/keys/0", Purpose::Public),
            (Method::POST, "/v1/collections/ab/epochs/0/reports", Purpose::Public),
            (Method::GET, "/v1/collections/ab/directories/0", Purpose::Public),
            (Method::GET, "/v1/collections/keys", Purpose::Public),
            (Method::GET, "/v2/collections/ab/keys/0", Purpose::Public),
            (Method::GET, "/", Purpose::Public),
        ] {
            assert_eq!(purpose(&method, path), expected, "{method} {path}");
        }
    }
}
