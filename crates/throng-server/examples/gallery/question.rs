//! The questions of the gallery.

use crate::Result;
use throng_account::{Crowd, Delta, Epsilon};
use throng_collection::{Collection, Promise, Prompt, Terms};
use throng_mechanism::{Ask, Key, Question};
use throng_wire::{Below, Chain, Schedule};

/// The kinds of collections, by their past.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Bit,
    Real,
    Category,
    Attributes,
    State,
    Text,
    /// A category out of a thousand.
    Thousand,
    /// A count whose lifetime is over before its time.
    Spent,
    /// Words that a page must not fall for.
    Hostile,
    /// Nothing was released.
    Young,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bit => "bit",
            Self::Real => "real",
            Self::Category => "category",
            Self::Attributes => "attributes",
            Self::State => "state",
            Self::Text => "text",
            Self::Thousand => "thousand",
            Self::Spent => "spent",
            Self::Hostile => "hostile",
            Self::Young => "young",
        }
    }

    /// The kind whose mechanism, promise and past it shares.
    pub fn base(self) -> Self {
        match self {
            Self::Spent | Self::Young => Self::Bit,
            Self::Hostile => Self::Category,
            other => other,
        }
    }

    fn ask(self) -> (Question, Key) {
        match self.base() {
            Self::Real => (Question::Real, Key::RealSum),
            Self::Category => (Question::Category { size: 12 }, Key::Histogram),
            Self::Attributes => (Question::Attributes { count: 8 }, Key::Selection),
            Self::State => (Question::State { periods: 64, changes: 1 }, Key::Longitudinal),
            Self::Text => (Question::Text { bits: 64, hashes: 2, cohorts: 8 }, Key::Rappor),
            Self::Thousand => (Question::Category { size: 1_000 }, Key::KaryResponse),
            _ => (Question::Bit, Key::BitSum),
        }
    }
}

/// The kinds in the gallery: one of each first, then more of the quick ones.
pub fn kinds(count: usize) -> Vec<Kind> {
    FIRST.iter().chain(MORE.iter().cycle()).take(count).copied().collect()
}

/// The collection at a place of the gallery, with the terms of its base.
pub fn collection(
    kind: Kind,
    place: usize,
    base: &Terms,
    schedule: Schedule,
    chain: &Chain,
) -> Result<Collection> {
    let mut terms = Terms { question: prompt(kind, place), ..base.clone() };
    if kind == Kind::Spent {
        let (epsilon, delta) = terms.promise.lifetime;
        terms.promise.lifetime = (Epsilon::new(0.7 * epsilon.get())?, delta);
    }
    Ok(Collection { terms, schedule, chain: chain.clone() })
}

/// A schedule with epochs of a day, or of a week for those followed over 64 periods; three fifths
/// of the running one are over.
pub fn schedule(kind: Kind, epochs: u64, now: u64) -> Schedule {
    let every = if kind == Kind::State { 7 * DAY } else { DAY };
    let past = match kind {
        Kind::Young => 0,
        Kind::State => epochs.min(60),
        _ => epochs,
    };
    let start = now.saturating_sub(past * every + every * 3 / 5);
    Schedule { start, every, grace: 3_600, below: below(kind) }
}

fn below(kind: Kind) -> Below {
    match kind.base() {
        Kind::Real | Kind::Category => Below::Merge { window: 2 },
        _ => Below::Expire,
    }
}

/// The mechanism and the promise, calibrated for a crowd.
pub fn terms(kind: Kind, epochs: u64) -> Result<Terms> {
    let (epsilon, delta) = (Epsilon::new(0.5)?, Delta::new(1e-8)?);
    let crowd = Crowd::new(if kind == Kind::Thousand { 100_000 } else { 10_000 })?;
    let (question, key) = kind.ask();
    let ask = Ask::new(question, crowd, epsilon, delta).with_max_messages(8);
    let promise = Promise {
        epsilon,
        delta,
        crowd,
        corrupt: 0.05,
        epochs: if kind == Kind::State { 64 } else { epochs + 10 },
        lifetime: (epsilon, delta),
    };
    let mechanism = ask.calibrate(key)?;
    let mut terms = Terms { question: Prompt::new(""), promise, mechanism };
    let window = if let Below::Merge { window } = below(kind) { window } else { 1 };
    terms.promise.lifetime = terms.lifetime(window, None)?;
    Ok(terms)
}

fn prompt(kind: Kind, place: usize) -> Prompt {
    // Those that come more than once come every fifth time.
    let product = PRODUCTS[place / 5 % PRODUCTS.len()];
    let (text, labels): (String, Vec<String>) = match kind {
        Kind::Bit => (format!("Did {product} crash today?"), vec![]),
        Kind::Real => (format!("How long was {product} open today?"), vec![]),
        Kind::Category => (format!("Which page of {product} did you open first?"), owned(&PAGES)),
        Kind::Attributes => (format!("Which of these do you use in {product}?"), owned(&FEATURES)),
        Kind::State => (format!("Is {product} installed?"), vec![]),
        Kind::Text => ("Which site did you visit last?".into(), sites()),
        Kind::Thousand => {
            let city = |n: usize| format!("{} {}", TOWNS[n % TOWNS.len()], n / TOWNS.len() + 1);
            ("In which district do you live?".into(), (0..1_000).map(city).collect())
        }
        Kind::Spent => ("Did the update fail?".into(), vec![]),
        Kind::Young => ("Do you like the new look?".into(), vec![]),
        Kind::Hostile => (HOSTILE.into(), hostile()),
    };
    let mut prompt = Prompt { labels, ..Prompt::new(text) };
    if kind == Kind::Real {
        (prompt.high, prompt.unit) = (120.0, "minutes".into());
    }
    prompt
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The candidates, of which the first ones are visited.
fn sites() -> Vec<String> {
    (0..60).map(|n| format!("{}-{}.example", TOWNS[n % TOWNS.len()].to_lowercase(), n)).collect()
}

fn hostile() -> Vec<String> {
    let mut labels = owned(&[
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "=cmd|' /C calc'!A0",
        "@SUM(1+1)*cmd",
        "'; DROP TABLE rows; --",
        "\u{202e}txet desrever\u{202c}",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{200f}(right to left)",
        "{{ 7 * 7 }} {% raw %} ${7*7}",
        "a,b;c\t\"d\"",
        "</table></main></body>",
        "&lt;already&gt; &amp;amp;",
    ]);
    labels.push("0123456789".repeat(50));
    labels
}

/// One kind of each, so that even a small gallery has them all.
const FIRST: [Kind; 10] = [
    Kind::Bit,
    Kind::Real,
    Kind::Category,
    Kind::Thousand,
    Kind::Attributes,
    Kind::Text,
    Kind::State,
    Kind::Hostile,
    Kind::Young,
    Kind::Spent,
];

const MORE: [Kind; 5] = [Kind::Bit, Kind::Real, Kind::Category, Kind::Attributes, Kind::State];

const PRODUCTS: [&str; 10] = [
    "the mail app",
    "the browser",
    "the map",
    "the calendar",
    "the camera",
    "the music player",
    "the reader",
    "the editor",
    "the weather app",
    "the dictionary",
];

const PAGES: [&str; 12] = [
    "Inbox", "Search", "Settings", "Calendar", "Contacts", "Drafts", "Archive", "Sent", "Spam",
    "Trash", "Help", "Account",
];

const FEATURES: [&str; 8] = [
    "Dark mode",
    "Offline copies",
    "Spoken text",
    "Large print",
    "Shared folders",
    "Shortcuts",
    "Two windows",
    "A second account",
];

const TOWNS: [&str; 20] = [
    "Avon", "Birch", "Cedar", "Dover", "Elm", "Ford", "Glen", "Hazel", "Iris", "Juniper", "Kent",
    "Linden", "Maple", "Nash", "Oak", "Pine", "Quarry", "Rowan", "Sorrel", "Thorn",
];

const HOSTILE: &str = "<script>alert(1)</script>\"'`>{{7*7}} =cmd() \u{202e}siht si\u{202c} & a \
                       VeryLongWordWithoutAnyPlaceToBreakItWhichGoesOnAndOnAndOn\
                       AndOnAndOnAndOnAndOn?";

const DAY: u64 = 86_400;
