//! How this server and the others are: the parts that an operator's pages share.

use super::time::{Epochs, Moment, Span};
use crate::party::Party;
use crate::run::Health;
use crate::server::Node;
use std::collections::{BTreeMap, BTreeSet};

/// A word and how bad it is: the class of a pill.
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

    /// For what is neither good nor bad.
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
    /// Since when, and when it last answered.
    pub since: String,
    pub keys: State,
}

/// Everyone else in the chains of this server, by address.
pub fn peers(node: &Node) -> Vec<Peer> {
    let now = node.now();
    let mut known: BTreeMap<String, Seen> = BTreeMap::new();
    for party in node.parties.values() {
        let (needed, missing) = missing(party, now);
        for (hop, party) in party.others() {
            let seen = known.entry(party.url).or_default();
            seen.names.insert(party.name);
            seen.hops.insert(hop);
            seen.needed += usize::from(needed);
            seen.missing += usize::from(missing.contains(&hop));
        }
    }
    let peer = |(url, seen): (String, Seen)| {
        let hops: Vec<String> = seen.hops.iter().map(u8::to_string).collect();
        let (state, since) = reachable(node.watch.party(&url), now);
        Peer {
            names: seen.names.into_iter().collect::<Vec<_>>().join(", "),
            hops: hops.join(", "),
            url,
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
    // In the order of the way.
    peers.sort_by(|a, b| (&a.hops, &a.url).cmp(&(&b.hops, &b.url)));
    peers
}

/// A window of epochs that has keys.
pub struct Window {
    pub epochs: Epochs,
    pub state: State,
}

/// The windows that have keys at this server, newest first, and who is waited for.
pub fn windows(party: &Party) -> Vec<Window> {
    let (route, keyring) = (party.route(), &party.course.keyring);
    let window = |window: u64| {
        let epochs = route.window_epochs(window);
        let (keys, signatures) = keyring.missing(window);
        let names = |hops: &[u8]| {
            let parties = hops.iter().filter_map(|hop| route.chain.party(*hop));
            parties.map(|party| party.name.clone()).collect::<Vec<_>>().join(", ")
        };
        let state = if keyring.directory(window).is_ok() {
            State::ok("signed by all")
        } else if keys.is_empty() {
            State::warn(format!("not signed yet by {}", names(&signatures)))
        } else {
            State::warn(format!("no key yet from {}", names(&keys)))
        };
        Window { epochs: Epochs(epochs.start, epochs.end.saturating_sub(1)), state }
    };
    keyring.windows().into_iter().rev().map(window).collect()
}

/// Whether the disk takes what is written.
pub fn disk(node: &Node) -> State {
    if node.writable_now() { State::ok("writable") } else { State::bad("not writable") }
}

/// Whether anything has to be looked into.
pub fn alarms(node: &Node) -> State {
    match node.metrics.conflicts() {
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

/// Whether there are reports to come for which keys are needed, and the hops whose key or signature is
/// missing for them.
fn missing(party: &Party, now: u64) -> (bool, Vec<u8>) {
    let Some(window) = party.window(now) else { return (false, Vec::new()) };
    let (keys, signatures) = party.course.keyring.missing(window);
    (true, if keys.is_empty() { signatures } else { keys })
}

fn reachable(health: Option<Health>, now: u64) -> (State, String) {
    let Some(Health { trouble, since, answered }) = health else {
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
struct Seen {
    names: BTreeSet<String>,
    hops: BTreeSet<u8>,
    /// Collections that need keys now.
    needed: usize,
    missing: usize,
}
