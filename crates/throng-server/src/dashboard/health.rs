//! The state of this server and of the others: the parts that an operator's pages share.

use super::site::{Keys, Machine, Place, Site};
use super::time::{Epochs, Moment, Span};
use crate::run::Health;
use std::collections::{BTreeMap, BTreeSet};

/// A word, and the class of its pill, which tells how bad it is.
#[derive(Clone)]
pub struct State {
    pub class: &'static str,
    pub text: String,
}

impl State {
    pub fn ok(text: impl Into<String>) -> Self {
        Self { class: "ok", text: text.into() }
    }

    pub fn warn(text: impl Into<String>) -> Self {
        Self { class: "warn", text: text.into() }
    }

    pub fn bad(text: impl Into<String>) -> Self {
        Self { class: "bad", text: text.into() }
    }

    /// A state that is neither good nor bad.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { class: "", text: text.into() }
    }
}

/// Another party, as it looks from here.
pub struct Peer {
    pub names: String,
    pub hops: String,
    pub url: String,
    pub state: State,
    /// The time since when it is in this state, and that of its last answer.
    pub since: String,
    pub keys: State,
}

/// Every other party in the chains of this server, by address.
pub fn peers(site: &Site) -> Vec<Peer> {
    let mut known: BTreeMap<&str, PeerState<'_>> = BTreeMap::new();
    for place in &site.places {
        let missing = place.needed.as_ref().map(missing);
        for (hop, party) in place.others() {
            let seen = known.entry(&party.url).or_default();
            seen.names.insert(&party.name);
            seen.hops.insert(hop);
            seen.needed += usize::from(missing.is_some());
            seen.missing += usize::from(missing.is_some_and(|missing| missing.contains(&hop)));
        }
    }
    let peer = |(url, seen): (&str, PeerState<'_>)| {
        let hops: Vec<String> = seen.hops.iter().map(u8::to_string).collect();
        let (state, since) = reachable(site.heard.get(url), site.now);
        Peer {
            names: seen.names.into_iter().collect::<Vec<_>>().join(", "),
            hops: hops.join(", "),
            url: url.to_owned(),
            state,
            since,
            keys: match (seen.needed, seen.missing) {
                (0, _) => State::plain("none needed now"),
                (_, 0) => State::ok("signed"),
                (needed, missing) => State::warn(format!("missing for {missing} of {needed}")),
            },
        }
    };
    let mut peers: Vec<Peer> = known.into_iter().map(peer).collect();
    // The order is that of the chain.
    peers.sort_by(|a, b| (&a.hops, &a.url).cmp(&(&b.hops, &b.url)));
    peers
}

/// A window of epochs that has keys.
pub struct Window {
    pub epochs: Epochs,
    pub state: State,
}

/// The windows that have keys at this server, newest first, and the parties that are waited for.
pub fn windows(place: &Place) -> Vec<Window> {
    let route = &place.route;
    let names = |hops: &[u8]| {
        let parties = hops.iter().filter_map(|hop| route.chain.party(*hop));
        parties.map(|party| party.name.clone()).collect::<Vec<_>>().join(", ")
    };
    let window = |keys: &Keys| {
        let epochs = route.window_epochs(keys.window);
        let state = if keys.signed {
            State::ok("signed by all")
        } else if keys.unknown.is_empty() {
            State::warn(format!("not signed yet by {}", names(&keys.unsigned)))
        } else {
            State::warn(format!("no key yet from {}", names(&keys.unknown)))
        };
        Window { epochs: Epochs(epochs.start, epochs.end.saturating_sub(1)), state }
    };
    place.keys.iter().rev().map(window).collect()
}

/// The state of the disk: whether it takes what is written.
pub fn disk(machine: &Machine) -> State {
    if machine.writable { State::ok("writable") } else { State::bad("not writable") }
}

/// The state of the alarms: whether anything has to be looked into.
pub fn alarms(machine: &Machine) -> State {
    match machine.conflicts {
        0 => State::ok("none"),
        1 => State::bad("1 conflict"),
        count => State::bad(format!("{count} conflicts")),
    }
}

/// Counts by name on one line, and their sum.
pub fn listed(
    counts: &[(&'static str, u64)],
    word: impl Fn(&'static str) -> &'static str,
) -> (u64, String) {
    let each = counts.iter().map(|(name, count)| format!("{count} {}", word(name)));
    (counts.iter().map(|(_, count)| count).sum(), each.collect::<Vec<_>>().join(", "))
}

/// The hops whose key is missing, or whose signature if all keys are there.
fn missing(keys: &Keys) -> &[u8] {
    if keys.unknown.is_empty() { &keys.unsigned } else { &keys.unknown }
}

fn reachable(health: Option<&Health>, now: u64) -> (State, String) {
    let Some(&Health { trouble, since, answered }) = health else {
        return (State::plain("not asked yet"), String::new());
    };
    let since = format!("since {}", Moment(since));
    match (trouble, answered) {
        (None, _) => (State::ok("answers"), since),
        (Some(trouble), None) => (State::bad(trouble.to_string()), since),
        (Some(trouble), Some(answered)) => {
            let ago = Span(now.saturating_sub(answered));
            (State::bad(trouble.to_string()), format!("{since}; answered {ago} ago"))
        }
    }
}

#[derive(Default)]
struct PeerState<'a> {
    names: BTreeSet<&'a str>,
    hops: BTreeSet<u8>,
    /// The number of collections that need keys now.
    needed: usize,
    missing: usize,
}
