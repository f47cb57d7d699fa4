//! Every error as a status and a problem document (RFC 9457).
//!
//! Bodies never echo what the caller sent, and never tell what went wrong inside.

use crate::Error;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::borrow::Cow;
use throng_mix::Error as Mix;

/// The answer in place of what was asked for. It is attached to its response, so that a page can
/// tell people the same.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// A stable word for machines.
    pub name: &'static str,
    /// The title, a sentence.
    pub title: Cow<'static, str>,
}

impl Problem {
    /// There is no such path.
    pub const NO_PATH: Self =
        Self::fixed(StatusCode::NOT_FOUND, "no-path", "there is no such path");
    /// The path takes other methods.
    pub const METHOD: Self =
        Self::fixed(StatusCode::METHOD_NOT_ALLOWED, "method", "this path takes another method");
    /// The request has no token, or none that is known.
    pub const TOKEN: Self = Self::fixed(
        StatusCode::UNAUTHORIZED,
        "token",
        "this needs a token: Authorization: Bearer …",
    );
    /// The visitor may see less.
    pub const OPERATOR: Self =
        Self::fixed(StatusCode::FORBIDDEN, "operator", "this needs the token of an operator");
    /// The form is of somebody else's page.
    pub const FOREIGN: Self =
        Self::fixed(StatusCode::FORBIDDEN, "foreign", "this form was sent by another site's page");
    /// The request is for a name that nobody gave to a server on loopback.
    pub const HOST: Self = Self::fixed(
        StatusCode::MISDIRECTED_REQUEST,
        "host",
        "without tokens this server answers to localhost only; behind a proxy, set tokens",
    );

    /// The disk fails, of which nothing more is told.
    const STORE: Self = Self::fixed(
        StatusCode::SERVICE_UNAVAILABLE,
        "store",
        "the server cannot write or read its disk",
    );
    /// An error is inside, of which nothing is told.
    const INTERNAL: Self =
        Self::fixed(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server cannot do this");

    const fn fixed(status: StatusCode, name: &'static str, title: &'static str) -> Self {
        Self { status, name, title: Cow::Borrowed(title) }
    }
}

/// This is the one place where an error becomes a status.
impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let (status, name) = match error {
            Error::Mix(Mix::UnknownCollection) => (StatusCode::NOT_FOUND, "unknown-collection"),
            Error::Mix(Mix::WrongPlace) => (StatusCode::NOT_FOUND, "wrong-place"),
            Error::Mix(Mix::NoKeys) => (StatusCode::NOT_FOUND, "no-keys"),
            Error::Mix(Mix::KeysDestroyed) => (StatusCode::GONE, "keys-destroyed"),
            Error::Mix(Mix::EpochClosed) => (StatusCode::CONFLICT, "epoch-closed"),
            Error::Mix(Mix::Conflict) => (StatusCode::CONFLICT, "conflict"),
            Error::Mix(Mix::Early) => (StatusCode::TOO_EARLY, "early"),
            Error::Mix(Mix::Clock) => (StatusCode::SERVICE_UNAVAILABLE, "clock"),
            Error::Mix(Mix::Length) => (StatusCode::BAD_REQUEST, "length"),
            Error::Mix(Mix::TooLarge) => (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
            Error::Mix(Mix::Batch(_)) => (StatusCode::BAD_REQUEST, "batch"),
            Error::Mix(Mix::Notice(_)) => (StatusCode::BAD_REQUEST, "notice"),
            Error::Mix(Mix::Busy) => (StatusCode::TOO_MANY_REQUESTS, "busy"),
            Error::Mix(Mix::Store(_)) => return Self::STORE,
            Error::Source => (StatusCode::TOO_MANY_REQUESTS, "source"),
            Error::Slow => (StatusCode::REQUEST_TIMEOUT, "slow"),
            Error::Cut => (StatusCode::BAD_REQUEST, "cut"),
            Error::IsBoard => (StatusCode::NOT_FOUND, "is-board"),
            Error::IsQuestion => (StatusCode::NOT_FOUND, "is-question"),
            Error::NoRound => (StatusCode::NOT_FOUND, "no-round"),
            Error::NotYet => (StatusCode::NOT_FOUND, "not-yet"),
            Error::Dropped(_) => (StatusCode::GONE, "dropped"),
            Error::Mix(Mix::Wire(_))
            | Error::Interrupted
            | Error::Rollback { .. }
            | Error::Setting { .. }
            | Error::File { .. }
            | Error::Listen { .. }
            | Error::Collection(_)
            | Error::Account(_) => return Self::INTERNAL,
        };
        Self { status, name, title: error.to_string().into() }
    }
}

impl<E: Into<Error>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::from(&error.into())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({
            "type": format!("urn:throng:problem:{}", self.name),
            "title": self.title,
            "status": self.status.as_u16(),
        });
        let media = [(CONTENT_TYPE, "application/problem+json")];
        let mut response = (self.status, media, body.to_string()).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer realm=\"throng\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, how);
        }
        let later = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
        if later.contains(&self.status) {
            let when = if self.name == "source" { MUCH_LATER } else { LATER };
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(when));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// The number of seconds after which a busy server is worth another try.
const LATER: &str = "1";

/// The same for a network that has sent its reports: there is no more room before the next epoch.
const MUCH_LATER: &str = "60";

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use throng_mix::store::StoreError;

    #[test]
    fn a_full_queue_is_429_with_a_time_to_come_back() {
        let response = Problem::from(StoreError::Full).into_response();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        let disk = StoreError::Io { kind: ErrorKind::StorageFull, doing: "writing to a log" };
        let response = Problem::from(disk).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key(RETRY_AFTER));
    }

    #[test]
    fn every_reason_has_its_status_and_its_name() {
        let wire = || throng_wire::Error::Malformed { expected: "a signature" };
        for (error, status, name) in [
            (Mix::UnknownCollection.into(), 404, "unknown-collection"),
            (Mix::WrongPlace.into(), 404, "wrong-place"),
            (Mix::NoKeys.into(), 404, "no-keys"),
            (Mix::KeysDestroyed.into(), 410, "keys-destroyed"),
            (Mix::EpochClosed.into(), 409, "epoch-closed"),
            (Mix::Conflict.into(), 409, "conflict"),
            (Mix::Early.into(), 425, "early"),
            (Mix::Clock.into(), 503, "clock"),
            (Mix::Length.into(), 400, "length"),
            (Mix::TooLarge.into(), 413, "too-large"),
            (Mix::Batch(wire()).into(), 400, "batch"),
            (Mix::Notice(wire()).into(), 400, "notice"),
            (Mix::Busy.into(), 429, "busy"),
            (StoreError::Randomness.into(), 503, "store"),
            (wire().into(), 500, "internal"),
            (Error::Source, 429, "source"),
            (Error::Slow, 408, "slow"),
            (Error::Cut, 400, "cut"),
            (Error::IsBoard, 404, "is-board"),
            (Error::IsQuestion, 404, "is-question"),
            (Error::NoRound, 404, "no-round"),
            (Error::NotYet, 404, "not-yet"),
            (Error::Dropped(throng_mix::Why::Keys), 410, "dropped"),
            (Error::Interrupted, 500, "internal"),
        ] {
            let problem = Problem::from(&error);
            assert_eq!((problem.status.as_u16(), problem.name), (status, name), "{error}");
        }
    }

    #[test]
    fn what_goes_wrong_inside_stays_inside() {
        let (field, reason) = ("secret".into(), "secret".into());
        let inside = [
            Error::Setting { field, reason },
            StoreError::Corrupt { what: "secret" }.into(),
            Error::Rollback { reason: "secret" },
        ];
        for error in inside {
            let problem = Problem::from(error);
            assert!(problem.status.is_server_error());
            assert!(!problem.title.contains("secret"));
        }
    }
}
