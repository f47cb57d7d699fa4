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
#[derive(Default)]
pub struct Peer<'a> {
    pub names: BTreeSet<&'a str>,
    pub hops: BTreeSet<u8>,
    /// The number of collections that need keys now.
    needed: usize,
    missing: usize,
}

impl Peer<'_> {
    /// The state of its keys.
    pub fn keys(&self) -> State {
        match (self.needed, self.missing) {
            (0, _) => State::plain("none needed now"),
            (_, 0) => State::ok("signed"),
            (needed, missing) => State::warn(format!("missing for {missing} of {needed}")),
        }
    }
}

impl Site {
    /// Every other party in the chains of this server and its address, in the order of the chain.
    pub fn peers(&self) -> Vec<(&str, Peer<'_>)> {
        let mut known: BTreeMap<&str, Peer<'_>> = BTreeMap::new();
        for place in &self.places {
            // The hops whose key is missing, or whose signature if all keys are there.
            let missing = place
                .needed
                .as_ref()
                .map(|keys| if keys.unknown.is_empty() { &keys.unsigned } else { &keys.unknown });
            for (hop, party) in place.others() {
                let seen = known.entry(&party.url).or_default();
                seen.names.insert(&party.name);
                seen.hops.insert(hop);
                seen.needed += usize::from(missing.is_some());
                seen.missing += usize::from(missing.is_some_and(|missing| missing.contains(&hop)));
            }
        }
        let mut peers: Vec<_> = known.into_iter().collect();
        peers.sort_by(|(_, a), (_, b)| a.hops.cmp(&b.hops));
        peers
    }

    /// Tells whether the party at an address answers, since when, and when it last did.
    pub fn reachable(&self, url: &str) -> (State, String) {
        let Some(&Health { trouble, since, answered }) = self.heard.get(url) else {
            return (State::plain("not asked yet"), String::new());
        };
        let since = format!("since {}", Moment(since));
        match trouble {
            None => (State::ok("answers"), since),
            Some(trouble) => {
                let ago = answered.map(|answered| Span(self.now.saturating_sub(answered)));
                let last = ago.map_or_else(String::new, |ago| format!("; answered {ago} ago"));
                (State::bad(trouble.to_string()), since + &last)
            }
        }
    }
}

impl Place {
    /// The windows of epochs that have keys at this server, newest first, and the parties that are
    /// waited for.
    pub fn windows(&self) -> Vec<(Epochs, State)> {
        let names = |hops: &[u8]| {
            let parties = hops.iter().filter_map(|hop| self.route.chain.party(*hop));
            parties.map(|party| party.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let window = |keys: &Keys| {
            let epochs = self.route.window_epochs(keys.window);
            let state = if keys.signed {
                State::ok("signed by all")
            } else if keys.unknown.is_empty() {
                State::warn(format!("not signed yet by {}", names(&keys.unsigned)))
            } else {
                State::warn(format!("no key yet from {}", names(&keys.unknown)))
            };
            (Epochs(epochs.start, epochs.end.saturating_sub(1)), state)
        };
        self.keys.iter().rev().map(window).collect()
    }
}

impl Machine {
    /// The state of the disk: whether it takes what is written.
    pub fn disk(&self) -> State {
        if self.writable { State::ok("writable") } else { State::bad("not writable") }
    }

    /// The state of the alarms: whether anything has to be looked into.
    pub fn alarms(&self) -> State {
        match self.conflicts {
            0 => State::ok("none"),
            1 => State::bad("1 conflict"),
            count => State::bad(format!("{count} conflicts")),
        }
    }
}
