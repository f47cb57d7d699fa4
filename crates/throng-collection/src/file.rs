//! A collection as a TOML file.
//!
//! A key that is not known is refused: a typing error must not change a promise in silence. What
//! the file may leave out is said at [`Collection::parse`].

use crate::section::{Lines, Section, line};
use crate::{Collection, Error, Promise, Prompt, Terms};
use std::collections::{BTreeMap, BTreeSet};
use throng_account::{Crowd, Delta, Epsilon};
use throng_mechanism::{Key, Kind, Mechanism, Question, Range, Spending};
use throng_wire::{Below, Chain, Party, PublicIdentity, Schedule};
use toml::Value;

impl Terms {
    /// Reads a draft, or the draft in a whole collection. Refuses one whose promise is not kept.
    ///
    /// ```
    /// use throng_collection::Terms;
    ///
    /// let draft = r#"
    ///     question = { text = "Do you cycle to work?", value = "bit" }
    ///     mechanism = { key = "bit-sum", flip = "567064570277940032" }
    ///
    ///     [promise]
    ///     epsilon = 1.0
    ///     delta = 1e-6
    ///     crowd = 1000
    ///     epochs = 1
    ///     lifetime_epsilon = 1.0
    ///     lifetime_delta = 1e-6
    /// "#;
    /// let terms = Terms::parse(draft)?;
    /// assert_eq!(Terms::parse(&terms.to_toml())?, terms);
    ///
    /// // A crowd a fifth smaller does not hide a person that well, and the error says what would.
    /// let error = Terms::parse(&draft.replace("crowd = 1000", "crowd = 800")).unwrap_err();
    /// assert!(error.to_string().contains("the promise is not kept"));
    /// # Ok::<(), throng_collection::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file = Section::parse(text)?;
        if ["schedule", "mix", "analyzer"].iter().any(|name| file.has(name)) {
            return Collection::parse(text).map(|collection| collection.terms);
        }
        let terms = Self::read(&file)?;
        file.known("question promise mechanism")?;
        terms.verify(1)?;
        Ok(terms)
    }

    /// The terms as a draft that [`Terms::parse`] reads.
    pub fn to_toml(&self) -> String {
        let Self { question, promise, mechanism } = self;
        let mut out = Lines::default();
        out.section("[question]");
        out.text("text", &question.text);
        out.text("value", mechanism.kind().name());
        if mechanism.kind() == Kind::Real {
            out.number("low", question.low).number("high", question.high);
        }
        if !question.unit.is_empty() {
            out.text("unit", &question.unit);
        }
        if !question.labels.is_empty() {
            out.value("labels", Value::from(question.labels.clone()));
        }
        out.section("[promise]");
        out.number("epsilon", promise.epsilon.get()).number("delta", promise.delta.get());
        out.value("crowd", promise.crowd.get()).number("corrupt", promise.corrupt);
        out.value("epochs", promise.epochs);
        out.number("lifetime_epsilon", promise.lifetime.0.get());
        out.number("lifetime_delta", promise.lifetime.1.get());
        out.section("[mechanism]");
        out.text("key", mechanism.key().name());
        for (name, integers) in mechanism.parameters() {
            // As strings: they may exceed what TOML calls an integer.
            let texts: Vec<String> = integers.iter().map(u64::to_string).collect();
            match &texts[..] {
                [one] => out.text(name, one),
                _ => out.value(name, Value::from(texts)),
            };
        }
        out.0
    }

    fn read(file: &Section) -> Result<Self, Error> {
        let mechanism = mechanism(file)?;
        let question = prompt(&file.section("question")?, mechanism.question())?;
        let promise = promise(&file.section("promise")?)?;
        if let Some(periods) = mechanism.epochs() {
            let most = format!("at most the {periods} periods");
            file.ensure(promise.epochs <= periods, "promise.epochs", most)?;
        }
        Ok(Self { question, promise, mechanism })
    }
}

impl Collection {
    /// Reads a collection. Refuses one whose promise is not kept, and says what would do.
    ///
    /// ```text
    /// [question]   text, value = bit | real | category | string | attributes | state
    ///              low, high (real only); unit, labels may be left out
    /// [promise]    epsilon, delta, crowd, corrupt (0 if left out), epochs, lifetime_epsilon,
    ///              lifetime_delta
    /// [mechanism]  key, and its integers as `throng plan --write` writes them
    /// [schedule]   start (Unix seconds), every = "24h", grace = "15m", below = "expire" | "merge",
    ///              window (merge only)
    /// [[mix]]      name, url, identity: from 1 to 8 of them, in the order of the way
    /// [analyzer]   name, url, identity
    /// ```
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file = Section::parse(text)?;
        let collection =
            Self { terms: Terms::read(&file)?, schedule: schedule(&file)?, chain: chain(&file)? };
        file.known("question promise mechanism schedule mix analyzer")?;
        collection.fits(&file)?;
        collection.terms.verify(collection.schedule.window())?;
        Ok(collection)
    }

    /// The collection as a file that [`Collection::parse`] reads.
    pub fn to_toml(&self) -> String {
        let mut out = Lines(self.terms.to_toml());
        out.course(&self.schedule, &self.chain);
        out.0
    }

    /// Checks what concerns several sections at once.
    fn fits(&self, file: &Section) -> Result<(), Error> {
        let merges = matches!(self.schedule.below, Below::Merge { .. });
        let remembers = match self.terms.spending() {
            Spending::PerEpoch => None,
            Spending::Lifetime => Some("its messages belong to their period"),
            Spending::Memoized => Some("reports of one person on one string hang together"),
        };
        if merges && let Some(why) = remembers {
            let key = self.terms.mechanism.key();
            let reason = format!("{key} cannot merge epochs: {why}; use \"expire\"");
            return Err(file.wrong("schedule.below", reason));
        }
        let bytes = self.shape().report_bytes();
        let reason =
            format!("a report takes {bytes} bytes, more than {MAX_REPORT}; use fewer messages");
        file.ensure(bytes <= MAX_REPORT, "mechanism", reason)
    }
}

/// Seconds from a text such as `90s`, `15m`, `24h` or `7d`.
///
/// ```
/// use throng_collection::seconds;
///
/// assert_eq!(seconds("24h"), Some(86_400));
/// assert_eq!((seconds("1.5h"), seconds("90"), seconds("-1s")), (None, None, None));
/// ```
pub fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let (_, each) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let digits = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    digits.then(|| number.parse::<u64>().ok()?.checked_mul(*each)).flatten()
}

/// The shortest text that [`seconds`] reads as this duration.
///
/// ```
/// use throng_collection::{duration_text, seconds};
///
/// assert_eq!(duration_text(5_400), "90m");
/// assert_eq!(duration_text(86_400), "1d");
/// assert_eq!(seconds(&duration_text(86_401)), Some(86_401));
/// ```
pub fn duration_text(seconds: u64) -> String {
    let divides = |(_, each): &&(&str, u64)| seconds > 0 && seconds.is_multiple_of(*each);
    let (unit, each) = UNITS.iter().find(divides).unwrap_or(&("s", 1));
    format!("{}{unit}", seconds / each)
}

fn prompt(section: &Section, question: Question) -> Result<Prompt, Error> {
    section.known("text value low high unit labels")?;
    let expected = question.kind().name();
    let answers = format!("the mechanism answers for \"{expected}\"");
    section.ensure(section.text("value")? == expected, "value", answers)?;
    let mut prompt = Prompt::new(section.line("text")?);
    if question == Question::Real {
        (prompt.low, prompt.high) = (section.number("low")?, section.number("high")?);
        let range = Range::new(prompt.low, prompt.high);
        section.ensure(range.is_ok(), "high", "a finite number above low")?;
    } else {
        section.without(&["low", "high"], "only numbers (value = \"real\") have a range")?;
    }
    if section.has("unit") {
        prompt.unit = section.line("unit")?;
    }
    if section.has("labels") {
        prompt.labels = labels(section, question)?;
    }
    Ok(prompt)
}

fn labels(section: &Section, question: Question) -> Result<Vec<String>, Error> {
    let texts = || section.wrong("labels", "a list of texts");
    let list = section.get("labels")?.as_array().ok_or_else(texts)?;
    let given = list.len();
    let named = match question {
        Question::Category { size } => size as usize,
        Question::Attributes { count } => count as usize,
        // The candidates that are looked for: any number.
        Question::Text { .. } => given,
        Question::Bit | Question::Real | Question::State { .. } => {
            let others = "only categories, attributes and strings have labels";
            return Err(section.wrong("labels", others));
        }
    };
    let as_many = format!("{given} of them, but the mechanism has {named}");
    section.ensure(given == named, "labels", as_many)?;
    let mut labels = Vec::new();
    for label in list {
        let label = line(label.as_str().ok_or_else(texts)?);
        labels.push(label.map_err(|reason| section.wrong("labels", reason))?);
    }
    let distinct = labels.iter().collect::<BTreeSet<_>>().len();
    section.ensure(distinct == given, "labels", "each only once")?;
    Ok(labels)
}

fn promise(section: &Section) -> Result<Promise, Error> {
    section.known("epsilon delta crowd corrupt epochs lifetime_epsilon lifetime_delta")?;
    let epsilon = |key: &str| -> Result<Epsilon, Error> {
        let epsilon = Epsilon::new(section.number(key)?).ok().filter(|e| e.get() > 0.0);
        epsilon.ok_or_else(|| section.wrong(key, "a finite number above 0"))
    };
    let delta = |key: &str| -> Result<Delta, Error> {
        let delta = Delta::new(section.number(key)?);
        delta.map_err(|_| section.wrong(key, "at least 1e-200 and below 1"))
    };
    let corrupt = if section.has("corrupt") { section.number("corrupt")? } else { 0.0 };
    let fits = (0.0..=MAX_CORRUPT).contains(&corrupt);
    section.ensure(fits, "corrupt", format!("from 0 to {MAX_CORRUPT}"))?;
    Ok(Promise {
        epsilon: epsilon("epsilon")?,
        delta: delta("delta")?,
        crowd: Crowd::new(section.integer("crowd", 1..=MAX_CROWD)?)?,
        corrupt,
        epochs: section.integer("epochs", 1..=MAX_EPOCHS)?,
        lifetime: (epsilon("lifetime_epsilon")?, delta("lifetime_delta")?),
    })
}

fn mechanism(file: &Section) -> Result<Mechanism, Error> {
    let section = file.section("mechanism")?;
    let name = section.text("key")?;
    let key = Key::named(name).ok_or_else(|| {
        let names: Vec<_> = Key::ALL.iter().map(|key| key.name()).collect();
        section.wrong("key", format!("one of {}", names.join(", ")))
    })?;
    let mut given: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (name, value) in section.table.iter().filter(|(name, _)| *name != "key") {
        let whole = "an integer from 0 to 2^64 - 1, or a list of them";
        let list = integers(value).ok_or_else(|| section.wrong(name, whole))?;
        given.insert(name, list);
    }
    let made = Mechanism::from_parameters(key, |name| given.get(name).map(Vec::as_slice));
    let made = made.map_err(|error| match error {
        throng_mechanism::Error::Parameter { name, range } => section.wrong(name, range),
        error => file.wrong("mechanism", error.to_string()),
    })?;
    // What the mechanism does not have, or has otherwise, is a mistake too.
    for (name, list) in &given {
        let parameters = made.parameters();
        let known = parameters.iter().any(|(known, integers)| known == name && integers == list);
        section.ensure(known, name, format!("{key} has no such parameter"))?;
    }
    Ok(made)
}

pub(crate) fn schedule(file: &Section) -> Result<Schedule, Error> {
    let section = file.section("schedule")?;
    section.known("start every grace below window")?;
    let duration = |key: &str, least: u64| {
        let range = least..=MAX_DURATION;
        let given = seconds(section.text(key)?).filter(|seconds| range.contains(seconds));
        let reason = format!("a duration from {least}s to 366d, such as \"24h\" or \"90s\"");
        given.ok_or_else(|| section.wrong(key, reason))
    };
    let below = match section.text("below")? {
        "expire" => {
            section.without(&["window"], "only with below = \"merge\"")?;
            Below::Expire
        }
        "merge" => Below::Merge { window: section.integer("window", 2..=64)? },
        _ => return Err(section.wrong("below", "\"expire\" or \"merge\"")),
    };
    Ok(Schedule {
        start: section.integer("start", 0..=MAX_START)?,
        every: duration("every", 1)?,
        grace: duration("grace", 0)?,
        below,
    })
}

pub(crate) fn chain(file: &Section) -> Result<Chain, Error> {
    let list = file.table.get("mix").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let fits = (1..=MAX_MIXES).contains(&list.len());
    file.ensure(fits, "mix", format!("from 1 to {MAX_MIXES} sections [[mix]]"))?;
    let mut mixes = Vec::new();
    for (index, mix) in list.iter().enumerate() {
        mixes.push(party(&file.within(&format!("mix[{}]", index + 1), mix)?)?);
    }
    let chain = Chain { mixes, analyzer: party(&file.section("analyzer")?)? };
    for (hop, party) in chain.parties() {
        let name = if hop == chain.hops() { "analyzer".into() } else { format!("mix[{hop}]") };
        let own = chain.hop_of(&party.identity) == Some(hop);
        file.ensure(own, &format!("{name}.identity"), "everyone has an identity of their own")?;
        let alike = |other: &(u8, &Party)| other.0 < hop && reads_alike(&other.1.name, &party.name);
        let first = chain.parties().find(alike);
        let taken = first.map(|(_, other)| format!("another party is called {}", other.name));
        file.ensure(taken.is_none(), &format!("{name}.name"), taken.unwrap_or_default())?;
    }
    Ok(chain)
}

fn party(section: &Section) -> Result<Party, Error> {
    section.known("name url identity")?;
    let url = section.line("url")?;
    let form = "http://host or https://host, perhaps with a port and a path, without a slash at \
                the end";
    section.ensure(is_url(&url), "url", form)?;
    let identity = section.text("identity")?.parse::<PublicIdentity>();
    let name = section.line("name")?;
    let key = "an Ed25519 public key as 64 hexadecimal digits; throng keygen prints it";
    let identity = identity.map_err(|_| section.wrong("identity", key))?;
    Ok(Party { name, url, identity })
}

/// True if people would take two names for the same: up to case, and to spaces and marks that do
/// not show.
fn reads_alike(one: &str, other: &str) -> bool {
    let unseen =
        |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    let read = |name: &str| -> String {
        let name = name.replace(unseen, "").to_lowercase();
        name.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    read(one) == read(other)
}

fn is_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/:[]%".contains(c);
    let bare = |rest: &str| rest.is_empty() || rest.starts_with(['/', ':']);
    rest.is_some_and(|rest| !bare(rest) && !rest.ends_with(['/', ':']) && rest.chars().all(allowed))
}

fn integers(value: &Value) -> Option<Vec<u64>> {
    let one = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        Value::Integer(integer) => u64::try_from(*integer).ok(),
        _ => None,
    };
    match value {
        Value::Array(list) => list.iter().map(one).collect(),
        single => Some(vec![one(single)?]),
    }
}

const UNITS: &[(&str, u64)] = &[("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
const MAX_MIXES: usize = 8;
pub(crate) const MAX_CROWD: u64 = 1_000_000_000;
const MAX_CORRUPT: f64 = 0.99;
pub(crate) const MAX_EPOCHS: u64 = 1_000_000;
/// A year with a day to spare.
const MAX_DURATION: u64 = 366 * 86_400;
/// Some 34,000 years.
const MAX_START: u64 = 1 << 40;
/// The largest report: one of several megabytes is a mistake.
pub(crate) const MAX_REPORT: usize = 1 << 24;
