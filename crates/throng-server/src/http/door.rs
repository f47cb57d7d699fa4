//! The way into and out of every handler: a bound on requests at once, and the headers of every
//! answer.

use super::problem::Problem;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Request, Response};
use axum::response::IntoResponse;
use axum::{BoxError, Router};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::Semaphore;
use tower::Service;

/// One connection's way to the routes.
#[derive(Clone)]
pub struct Door {
    pub routes: Router,
    /// One permit per request, among all connections.
    pub room: Arc<Semaphore>,
    pub visits: Arc<Visits>,
}

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

impl<B> Service<Request<B>> for Door
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let visit = Visit::begin(&self.visits);
        let reader = super::pages::person(&request);
        let watched = WATCHED.contains(&request.uri().path());
        let permit = Arc::clone(&self.room).try_acquire_owned().ok();
        if permit.is_none() && !watched {
            let busy = Problem::from(throng_mix::Error::Busy).into_response();
            return Box::pin(async { Ok(dressed(super::pages::told(busy, reader))) });
        }
        let answer = self.routes.call(request);
        Box::pin(async move {
            let answer = answer.await;
            drop((permit, visit));
            answer.map(|answer| dressed(super::pages::told(answer, reader)))
        })
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
