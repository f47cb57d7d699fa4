//! The way into and out of every handler: a bound on requests at once, and the headers of every
//! answer.

use super::pages::{person, told};
use super::problem::Problem;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Request, Response};
use axum::response::IntoResponse;
use axum::{BoxError, Router};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;
use tower::Service;

/// The requests of one connection.
#[derive(Default)]
pub struct Visits {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Visits {
    /// True if there has been a request.
    pub fn any(&self) -> bool {
        self.begun.load(Ordering::Acquire) > 0
    }

    /// True if no request is being worked on.
    pub fn quiet(&self) -> bool {
        self.ended.load(Ordering::Acquire) >= self.begun.load(Ordering::Acquire)
    }
}

/// Lets a request of a connection to the routes, if there is room among all connections.
pub fn enter<B>(
    request: Request<B>,
    routes: &mut Router,
    room: &Arc<Semaphore>,
    visits: &Arc<Visits>,
) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<B>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let (visit, person) = (Visit::begin(visits), person(&request));
    let permit = Arc::clone(room).try_acquire_owned().ok();
    let admitted = permit.is_some() || WATCHED.contains(&request.uri().path());
    let answer = admitted.then(|| routes.call(request));
    async move {
        let answer = match answer {
            Some(answer) => answer.await?,
            None => Problem::from(throng_mix::Error::Busy).into_response(),
        };
        drop((permit, visit));
        Ok(dressed(told(answer, person)))
    }
}

/// A request that is being worked on.
struct Visit(Arc<Visits>);

impl Visit {
    fn begin(visits: &Arc<Visits>) -> Self {
        visits.begun.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(visits))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::AcqRel);
    }
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
