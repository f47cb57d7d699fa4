//! The networks that connections and requests come from, to share a server fairly among them.
//!
//! An address is a person's. It is dropped where it comes in: what stays is a mark, a keyed hash of
//! its network under a key that is drawn at the start and never leaves this process. Marks are in
//! memory while something of the network is under way or counted, and are never logged, stored or
//! shown; so they have no `Debug`.

use crate::Error;
use crate::server::seeded;
use aws_lc_rs::hmac;
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use rand_core::Rng;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use throng_mix::{Limits, Network};
use zeroize::Zeroizing;

/// The mark of a network: an IPv4 /24 or an IPv6 /48, which one customer may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    mark: u64,
    /// True for this machine and private networks, which are a proxy's or a trial's.
    pub near: bool,
}

/// The other end of a connection.
#[derive(Clone, Copy)]
pub struct Peer {
    /// Its own network.
    pub source: Source,
    /// True if it speaks for others.
    pub proxy: bool,
    /// True if it is on this machine.
    pub here: bool,
}

/// The key of the marks, and the proxies that are believed.
pub struct Sources {
    key: hmac::Key,
    proxies: Vec<Network>,
}

impl Sources {
    /// Draws a key.
    pub fn new(limits: &Limits) -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; 32]);
        seeded()?.fill_bytes(&mut *key);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &*key);
        Ok(Self { key, proxies: limits.proxies.clone() })
    }

    /// The other end of a connection from this address.
    pub fn peer(&self, address: IpAddr) -> Peer {
        let proxy = self.proxies.iter().any(|proxy| proxy.contains(address));
        let here = address.to_canonical().is_loopback();
        Peer { source: self.mark(address), proxy, here }
    }

    /// The network that sent a request. A proxy adds the address it heard from to the end of
    /// `X-Forwarded-For`; what stands before is the client's word, and nobody else is believed.
    pub fn of(&self, peer: Peer, headers: &HeaderMap) -> Source {
        if !peer.proxy || !headers.contains_key(FORWARDED) {
            return peer.source;
        }
        // What cannot be read is counted for the proxy, and not as somebody near.
        let unread = Source { near: false, ..peer.source };
        forwarded(headers).map_or(unread, |address| self.mark(address))
    }

    fn mark(&self, address: IpAddr) -> Source {
        let address = address.to_canonical();
        let first = match Network::around(address, if address.is_ipv4() { 24 } else { 48 }).first()
        {
            IpAddr::V4(first) => first.to_ipv6_mapped(),
            IpAddr::V6(first) => first,
        };
        let code = hmac::sign(&self.key, &first.octets());
        let mark = code.as_ref().iter().take(8).fold(0, |mark, byte| mark << 8 | u64::from(*byte));
        Source { mark, near: near(address) }
    }
}

/// A request that came through no door, as in tests of single routes, is nobody's.
impl<S: Sync> FromRequestParts<S> for Source {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self { mark: 0, near: true }))
    }
}

/// The last address in `X-Forwarded-For`, with or without a port.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let line = headers.get_all(FORWARDED).iter().next_back()?.as_bytes();
    // What stands before the last comma is the client's word, whatever bytes it has.
    let last = std::str::from_utf8(line.rsplit(|byte| *byte == b',').next()?).ok()?.trim();
    let with_port = || last.parse().ok().map(|address: SocketAddr| address.ip());
    let bare = last.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(last);
    bare.parse().ok().or_else(with_port)
}

/// The header in which proxies tell whom they heard from.
const FORWARDED: &str = "x-forwarded-for";

/// True for addresses that nobody on the internet has.
fn near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use axum::http::HeaderValue;

    /// A network of its own for each number.
    pub fn source(mark: u64) -> Source {
        Source { mark, near: false }
    }

    fn sources(proxies: &[&str]) -> Sources {
        let proxies = proxies.iter().map(|text| Network::parse(text).unwrap()).collect();
        Sources::new(&Limits { proxies, ..Limits::default() }).unwrap()
    }

    fn mark(sources: &Sources, address: &str) -> u64 {
        sources.peer(address.parse().unwrap()).source.mark
    }

    #[test]
    fn neighbours_in_a_network_are_one_source_and_others_are_not() {
        let sources = sources(&[]);
        for (one, other, same) in [
            ("203.0.113.1", "203.0.113.254", true),
            ("203.0.113.1", "203.0.112.1", false),
            ("203.0.113.1", "::ffff:203.0.113.9", true),
            ("2001:db8:0:1::1", "2001:db8:0:ffff::2", true),
            ("2001:db8:0:1::1", "2001:db8:1:1::1", false),
        ] {
            assert_eq!(mark(&sources, one) == mark(&sources, other), same, "{one} {other}");
        }
    }

    #[test]
    fn marks_of_another_start_are_others() {
        let marks = [(); 2].map(|()| mark(&sources(&[]), "203.0.113.1"));
        assert_ne!(marks[0], marks[1]);
    }

    #[test]
    fn only_proxies_are_believed_and_only_their_last_word() {
        let sources = sources(&["10.0.0.0/8"]);
        let of = |peer: &str, lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", HeaderValue::from_str(line).unwrap());
            }
            sources.of(sources.peer(peer.parse().unwrap()), &headers).mark
        };
        let [client, other] = ["203.0.113.1", "198.51.100.1"].map(|text| mark(&sources, text));
        assert_eq!(of("10.1.1.1", &["203.0.113.1"]), client);
        assert_eq!(of("10.1.1.1", &["198.51.100.1, 203.0.113.1"]), client);
        assert_eq!(of("10.1.1.1", &["198.51.100.1", "203.0.113.1:4711"]), client);
        assert_eq!(of("10.1.1.1", &["203.0.113.1", "198.51.100.1"]), other);
        assert_eq!(of("10.1.1.1", &["unknown"]), mark(&sources, "10.1.1.1"));
        assert_eq!(of("10.1.1.1", &[]), mark(&sources, "10.1.1.1"));
        assert_eq!(of("203.0.113.7", &["198.51.100.1"]), client);
        assert_eq!(of("10.1.1.1", &["[2001:db8::1]"]), mark(&sources, "2001:db8::7"));
    }

    /// A client that sends bytes of its own before what the proxy appends is not taken for the proxy,
    /// nor for somebody near whom no quota holds for.
    #[test]
    fn a_clients_own_bytes_do_not_hide_it_behind_its_proxy() {
        let sources = sources(&["10.0.0.0/8"]);
        let proxy = sources.peer("10.1.1.1".parse().unwrap());
        let of = |line: &[u8]| {
            let value = HeaderValue::from_bytes(line).unwrap();
            sources.of(proxy, &HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), value)]))
        };
        let client = sources.peer("203.0.113.1".parse().unwrap()).source;
        assert!(of(b"\xff, 203.0.113.1") == client);
        let unread = of(b"203.0.113.1, \xff");
        assert!(proxy.source.near && !unread.near && unread.mark == proxy.source.mark);
    }

    #[test]
    fn what_nobody_on_the_internet_has_is_near() {
        for (address, expected) in [
            ("127.3.2.1", true),
            ("::1", true),
            ("192.168.1.1", true),
            ("fd00::1", true),
            ("fe80::1", true),
            ("203.0.113.1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(near(address.parse().unwrap()), expected, "{address}");
        }
    }
}
