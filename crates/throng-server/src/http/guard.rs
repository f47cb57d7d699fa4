//! The check of who may read: a bearer token in a header, or a session in a cookie that a token
//! opened.
//!
//! A session names its token and its end, and carries a code under a key that this process drew
//! when it started. So a cookie is worth nothing after a restart, and never contains the token.

use super::problem::Problem;
use super::source::Peer;
use crate::current::Current;
use crate::server::{Node, seeded};
use crate::{Access, Error, Reader, Token};
use aws_lc_rs::hmac;
use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue};
use rand_core::Rng;
use std::net::IpAddr;
use std::sync::Arc;
use throng_wire::{PublicIdentity, hex, unhex};
use zeroize::Zeroizing;

/// Tokens and sessions of a server.
pub(crate) struct Guard {
    /// The tokens, which a reload replaces. A session names one, and ends with it.
    access: Current<Option<Access>>,
    sessions: hmac::Key,
    /// The name of its cookies, which differs between several parties on one host.
    cookie: String,
    /// True if cookies go back over TLS only.
    secure: bool,
}

/// Somebody who may read something.
#[derive(Clone)]
pub(crate) struct Visitor {
    /// The name of the token; none where everybody may read.
    pub name: Option<String>,
    /// The right that the token gives.
    pub reader: Reader,
}

/// A visitor who may see results.
pub(crate) struct Viewer(pub Visitor);

/// A visitor who may see operations.
pub(crate) struct Operator;

impl Guard {
    /// A guard of these tokens; without any, everybody may read.
    pub fn new(
        access: Option<Access>,
        identity: &PublicIdentity,
        secure: bool,
    ) -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; 32]);
        seeded()?.fill_bytes(&mut *key);
        let sessions = hmac::Key::new(hmac::HMAC_SHA256, &*key);
        let mark = identity.to_string().chars().take(8).collect::<String>();
        // Browsers take a cookie of the first name from nobody but this host, over TLS.
        let cookie =
            if secure { format!("__Host-throng-{mark}") } else { format!("throng-{mark}") };
        Ok(Self { access: Current::new(access), sessions, cookie, secure })
    }

    /// True if everybody may read.
    pub fn is_open(&self) -> bool {
        self.access.read().is_none()
    }

    /// The tokens as they are now.
    pub fn access(&self) -> Arc<Option<Access>> {
        self.access.read()
    }

    /// Puts other tokens in their place.
    pub fn replace(&self, access: Option<Access>) {
        self.access.replace(access);
    }

    /// The visitor who sent a request, if they may read something.
    pub fn visitor(&self, headers: &HeaderMap, now: u64) -> Option<Visitor> {
        let access = self.access.read();
        let Some(access) = &*access else {
            return Some(Visitor { name: None, reader: Reader::Operator });
        };
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| {
            let (scheme, secret) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
        });
        let token = match bearer {
            Some(secret) => access.who(secret)?,
            None => self.session(access, headers, now)?,
        };
        Some(Visitor { name: Some(token.name.clone()), reader: token.reader })
    }

    /// The cookie of a new session, and whose it is.
    pub fn begin(
        &self,
        secret: &str,
        headers: &HeaderMap,
        now: u64,
    ) -> Option<(HeaderValue, Visitor)> {
        let access = self.access.read();
        let token = access.as_ref().as_ref()?.who(secret)?;
        let (who, until) = (hex(&token.digest), now + SESSION);
        let code = hex(hmac::sign(&self.sessions, signed(&who, until).as_bytes()).as_ref());
        // A proxy that ends TLS says so; whoever lies about it spoils no cookie but their own.
        let proxied = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
        let value = format!("{who}.{until}.{code}");
        let visitor = Visitor { name: Some(token.name.clone()), reader: token.reader };
        Some((self.cookie(&value, SESSION, self.secure || proxied)?, visitor))
    }

    /// The cookie that ends a session.
    pub fn end(&self) -> Option<HeaderValue> {
        self.cookie("", 0, self.secure)
    }

    fn session<'a>(&self, access: &'a Access, headers: &HeaderMap, now: u64) -> Option<&'a Token> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|c| c.split_once('='));
        let (_, value) = pairs.find(|(name, _)| name.trim() == self.cookie)?;
        let mut parts = value.trim().split('.');
        let (who, until, code) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        let message = signed(who, until);
        hmac::verify(&self.sessions, message.as_bytes(), &unhex(code)?).ok()?;
        let digest = unhex(who)?;
        let token = access.tokens().iter().find(|token| token.digest[..] == digest[..]);
        token.filter(|_| now < until)
    }

    /// A cookie that browsers send with requests from our own pages only, and that scripts do not
    /// see.
    fn cookie(&self, value: &str, age: u64, secure: bool) -> Option<HeaderValue> {
        let (name, secure) = (&self.cookie, if secure { "; Secure" } else { "" });
        let text =
            format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::from_str(&text).ok()
    }
}

impl FromRequestParts<Arc<Node>> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Problem> {
        if node.guard.is_open() && !local(parts) {
            return Err(Problem::HOST);
        }
        let visitor = node.guard.visitor(&parts.headers, node.now());
        visitor.map(Self).ok_or(Problem::TOKEN)
    }
}

impl FromRequestParts<Arc<Node>> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Self, Problem> {
        let Viewer(visitor) = Viewer::from_request_parts(parts, node).await?;
        if visitor.reader < Reader::Operator {
            return Err(Problem::OPERATOR);
        }
        Ok(Self)
    }
}

/// True if a request came from this machine, judged by its address and by the name it was sent to:
/// a page of somebody else can make a browser ask for a name of theirs that leads here. A request
/// that a proxy passes on came from elsewhere.
fn local(parts: &Parts) -> bool {
    let proxied = ["forwarded", "x-forwarded-for", "x-forwarded-host", "via"];
    if proxied.iter().any(|name| parts.headers.contains_key(*name)) {
        return false;
    }
    // Whoever came through no door, as in tests of single routes, is here.
    if parts.extensions.get::<Peer>().is_some_and(|peer| !peer.here) {
        return false;
    }
    let named = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = named.or(parts.uri.authority().map(Authority::as_str)).unwrap_or_default();
    let name = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |h| h.0);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn signed(who: &str, until: u64) -> String {
    format!("throng/1 session\0{who}\0{until}")
}

/// The number of seconds after which a token is asked for again.
const SESSION: u64 = 12 * 3_600;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::Identity;

    fn guard() -> (Zeroizing<String>, Guard) {
        let (secret, token) = Token::generate("a", Reader::Viewer).unwrap();
        let mut access = Access::default();
        access.add(token).unwrap();
        (secret, Guard::new(Some(access), &identity(), false).unwrap())
    }

    fn identity() -> PublicIdentity {
        Identity::from_seed(&[1; 32]).public()
    }

    #[test]
    fn only_names_of_this_machine_are_local() {
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST:8003", true),
            ("127.0.0.1:8003", true),
            ("127.9.9.9", true),
            ("[::1]:8003", true),
            ("[::1]", true),
            ("evil.example", false),
            ("localhost.evil.example:8003", false),
            ("127.0.0.1.evil.example", false),
            ("192.0.2.1:8003", false),
            ("", false),
        ] {
            let request = axum::http::Request::builder().header(HOST, host).body(()).unwrap();
            let (mut parts, ()) = request.into_parts();
            assert_eq!(local(&parts), expected, "{host}");
            parts.headers.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.1"));
            assert!(!local(&parts), "{host} through a proxy");
            parts.headers.remove("x-forwarded-for");
            // Whatever name somebody from elsewhere asks for.
            let sources =
                super::super::source::Sources::new(&throng_mix::Limits::default()).unwrap();
            for (address, here) in [("127.0.0.1", true), ("192.0.2.1", false)] {
                parts.extensions.insert(sources.peer(address.parse().unwrap()));
                assert_eq!(local(&parts), expected && here, "{host} from {address}");
            }
        }
    }

    fn with(name: axum::http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_token_opens_a_session_that_ends() {
        let (secret, guard) = guard();
        let (cookie, visitor) = guard.begin(&secret, &HeaderMap::new(), 1_000).unwrap();
        assert_eq!(visitor.name.as_deref(), Some("a"));
        let cookie = cookie.to_str().unwrap();
        assert!(!cookie.contains(&secret["throng_".len()..]));
        for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
            assert!(cookie.contains(attribute), "{attribute}");
        }
        let value = cookie.split(';').next().unwrap();
        let headers = with(COOKIE, &format!("other=1; {value}"));
        assert_eq!(guard.visitor(&headers, 1_000).unwrap().reader, Reader::Viewer);
        assert!(guard.visitor(&headers, 1_000 + SESSION).is_none());
        // Not of another process, not with another end, not cut.
        assert!(self::guard().1.visitor(&headers, 1_000).is_none());
        let later = value.replace("44200", "99999");
        assert_ne!(later, value);
        let (name, _) = value.split_once('=').unwrap();
        let (empty, nonsense) = (format!("{name}="), format!("{name}=a.b.c"));
        for forged in [&later[..], &value[..value.len() - 2], &empty, &nonsense] {
            assert!(guard.visitor(&with(COOKIE, forged), 1_000).is_none(), "{forged}");
        }
        let proxied = with("x-forwarded-proto".parse().unwrap(), "https");
        let (cookie, _) = guard.begin(&secret, &proxied, 1_000).unwrap();
        assert!(cookie.to_str().unwrap().ends_with("; Secure"));
    }

    #[test]
    fn a_session_ends_with_its_token() {
        let (secret, guard) = guard();
        let (cookie, _) = guard.begin(&secret, &HeaderMap::new(), 1_000).unwrap();
        let headers = with(COOKIE, cookie.to_str().unwrap().split(';').next().unwrap());
        let before = Option::clone(&guard.access());
        // Another token of the same name is not the one that opened the session.
        let mut other = Access::default();
        other.add(Token::generate("a", Reader::Operator).unwrap().1).unwrap();
        for (access, seen) in
            [(Some(other), false), (before, true), (Some(Access::default()), false)]
        {
            guard.replace(access);
            assert_eq!(guard.visitor(&headers, 1_000).is_some(), seen);
            assert_eq!(guard.begin(&secret, &HeaderMap::new(), 1_000).is_some(), seen);
        }
    }

    #[test]
    fn a_bearer_token_is_enough_and_a_wrong_one_is_not_forgiven() {
        let (secret, guard) = guard();
        for scheme in ["Bearer", "bearer"] {
            let headers = with(AUTHORIZATION, &format!("{scheme} {}", *secret));
            assert!(guard.visitor(&headers, 0).is_some());
        }
        let wrong = format!("Bearer {}0", *secret);
        for value in [&wrong[..], "Bearer ", "Bearer", &secret, "Basic dTpw"] {
            assert!(guard.visitor(&with(AUTHORIZATION, value), 0).is_none(), "{value}");
        }
        assert!(guard.visitor(&HeaderMap::new(), 0).is_none());
        let open = Guard::new(None, &identity(), false).unwrap();
        assert_eq!(open.visitor(&HeaderMap::new(), 0).unwrap().reader, Reader::Operator);
    }
}
