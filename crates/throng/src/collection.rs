//! A mechanism with its promise, as a TOML file.
//!
//! Every parameter that decides a random outcome is an integer, written as a string because it may
//! exceed what TOML calls an integer.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use throng_account::{Delta, Epsilon};
use throng_mechanism::{Ask, Key, Mechanism};
use toml::{Table, Value};

/// What a collection file says.
pub struct Collection {
    /// The mechanism with its integers.
    pub mechanism: Mechanism,
    /// Honest reports at least.
    pub crowd: u64,
    /// ε against who sees the shuffled bag.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: Delta,
}

impl Collection {
    /// A calibrated mechanism with the promise it was calibrated for.
    pub fn of(ask: &Ask, mechanism: Mechanism) -> Self {
        Self { mechanism, crowd: ask.crowd.get(), epsilon: ask.epsilon, delta: ask.delta }
    }

    /// Writes the file; refuses to replace one.
    pub fn write(&self, file: &Path) -> Result<()> {
        let mut mechanism = Table::new();
        mechanism.insert("key".into(), self.mechanism.key().name().into());
        for (name, integers) in self.mechanism.parameters() {
            let text = |n: &u64| Value::String(n.to_string());
            let value = match &integers[..] {
                [one] => text(one),
                many => Value::Array(many.iter().map(text).collect()),
            };
            mechanism.insert(name.into(), value);
        }
        let mut promise = Table::new();
        promise.insert("epsilon".into(), self.epsilon.get().into());
        promise.insert("delta".into(), self.delta.get().into());
        promise.insert("crowd".into(), i64::try_from(self.crowd)?.into());
        let mut all = Table::new();
        all.insert("promise".into(), promise.into());
        all.insert("mechanism".into(), mechanism.into());
        let text = toml::to_string(&all)?;
        if file.exists() {
            bail!("{} exists already; remove it or choose another name", file.display());
        }
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Reads a file and checks that the mechanism keeps the promise.
    pub fn read(file: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not a collection", file.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let all: Table = text.parse()?;
        let section = |name: &str| -> Result<&Table> {
            let value = all.get(name).with_context(|| format!("[{name}] is missing"))?;
            value.as_table().with_context(|| format!("{name} is not a section"))
        };
        let (promise, parameters) = (section("promise")?, section("mechanism")?);
        let number = |name: &str| -> Result<f64> {
            let value = promise.get(name).with_context(|| format!("promise.{name} is missing"))?;
            value
                .as_float()
                .or_else(|| value.as_integer().map(|i| i as f64))
                .with_context(|| format!("promise.{name} is not a number"))
        };
        let key =
            parameters.get("key").and_then(Value::as_str).context("mechanism.key is missing")?;
        let key = Key::named(key).with_context(|| format!("there is no mechanism {key}"))?;
        let lists: BTreeMap<&str, Vec<u64>> = parameters
            .iter()
            .filter(|(name, _)| *name != "key")
            .map(|(name, value)| Ok((name.as_str(), integers(name, value)?)))
            .collect::<Result<_>>()?;
        let found = Self {
            mechanism: Mechanism::from_parameters(key, |name| lists.get(name).map(Vec::as_slice))?,
            crowd: number("crowd")? as u64,
            epsilon: Epsilon::new(number("epsilon")?)?,
            delta: Delta::new(number("delta")?)?,
        };
        let crowd = throng_account::Crowd::new(found.crowd)?;
        let reached = found.mechanism.profile(crowd)?.delta(found.epsilon).upper;
        if reached > found.delta.get() {
            bail!(
                "it does not keep its promise: delta is {reached:e} at epsilon {} with {} honest reports",
                found.epsilon.get(),
                found.crowd
            );
        }
        Ok(found)
    }
}

fn integers(name: &str, value: &Value) -> Result<Vec<u64>> {
    let one = |value: &Value| -> Result<u64> {
        match value {
            Value::String(text) => text.parse().ok(),
            Value::Integer(integer) => u64::try_from(*integer).ok(),
            _ => None,
        }
        .with_context(|| format!("mechanism.{name} is not an integer from 0 to 2^64 - 1"))
    };
    match value {
        Value::Array(list) => list.iter().map(one).collect(),
        single => Ok(vec![one(single)?]),
    }
}
