//! Sections of a TOML file, read so that errors say where, and written in the order given.

use crate::{Error, duration_text};
use std::fmt::{Display, Write};
use std::ops::RangeInclusive;
use throng_wire::{Below, Chain, Party, Schedule};
use toml::{Table, Value, de};

/// The file or a section of it, which says where something is wrong.
#[derive(Default)]
pub(crate) struct Section {
    /// The words before a key: nothing for the file, else the name of the section and a point.
    prefix: String,
    pub table: Table,
}

impl Section {
    /// A whole file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file = Self::default();
        let table = text.parse().map_err(|error: de::Error| {
            let begun = error.span().and_then(|span| text.get(..span.start));
            let line = begun.map(|begun| format!("line {}: ", 1 + begun.matches('\n').count()));
            file.wrong("file", format!("{}{}", line.unwrap_or_default(), error.message()))
        })?;
        Ok(Self { table, ..file })
    }

    pub fn section(&self, name: &str) -> Result<Self, Error> {
        let value = self.table.get(name);
        self.within(name, value.ok_or_else(|| self.wrong(name, "the section is missing"))?)
    }

    /// The section that a value is.
    pub fn within(&self, name: &str, value: &Value) -> Result<Self, Error> {
        let table = value.as_table().cloned().ok_or_else(|| self.wrong(name, "a section"))?;
        Ok(Self { prefix: format!("{}{name}.", self.prefix), table })
    }

    pub fn wrong(&self, key: &str, reason: impl Into<String>) -> Error {
        Error::Field { field: format!("{}{key}", self.prefix), reason: reason.into() }
    }

    pub fn ensure(&self, holds: bool, key: &str, reason: impl Into<String>) -> Result<(), Error> {
        if holds { Ok(()) } else { Err(self.wrong(key, reason)) }
    }

    /// Refuses other keys than these, which spaces separate.
    pub fn known(&self, keys: &str) -> Result<(), Error> {
        let other = self.table.keys().find(|key| !keys.split(' ').any(|known| known == *key));
        let reason = || format!("not known; there are {}", keys.replace(' ', ", "));
        other.map_or(Ok(()), |key| Err(self.wrong(key, reason())))
    }

    pub fn without(&self, keys: &[&str], reason: &str) -> Result<(), Error> {
        let given = keys.iter().find(|key| self.has(key));
        given.map_or(Ok(()), |key| Err(self.wrong(key, reason)))
    }

    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub fn get(&self, key: &str) -> Result<&Value, Error> {
        self.table.get(key).ok_or_else(|| self.wrong(key, "missing"))
    }

    pub fn text(&self, key: &str) -> Result<&str, Error> {
        self.get(key)?.as_str().ok_or_else(|| self.wrong(key, "a text"))
    }

    pub fn line(&self, key: &str) -> Result<String, Error> {
        line(self.text(key)?).map_err(|reason| self.wrong(key, reason))
    }

    pub fn number(&self, key: &str) -> Result<f64, Error> {
        let value = self.get(key)?;
        let number = value.as_float().or_else(|| value.as_integer().map(|i| i as f64));
        // One zero, so that equal promises have equal bytes.
        number.map(|number| number + 0.0).ok_or_else(|| self.wrong(key, "a number"))
    }

    pub fn integer(&self, key: &str, range: RangeInclusive<u64>) -> Result<u64, Error> {
        let integer = self.get(key)?.as_integer().and_then(|i| u64::try_from(i).ok());
        integer.filter(|i| range.contains(i)).ok_or_else(|| {
            self.wrong(key, format!("an integer from {} to {}", range.start(), range.end()))
        })
    }
}

/// The lines of a file on their way out.
#[derive(Default)]
pub(crate) struct Lines(pub String);

impl Lines {
    pub fn section(&mut self, head: &str) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0 = std::mem::take(&mut self.0) + head + "\n";
        self
    }

    pub fn value(&mut self, key: &str, value: impl Display) -> &mut Self {
        let _ = writeln!(self.0, "{key} = {value}");
        self
    }

    pub fn text(&mut self, key: &str, text: &str) -> &mut Self {
        self.value(key, Value::from(text))
    }

    /// Writes a number with all its digits, and few zeros.
    pub fn number(&mut self, key: &str, number: f64) -> &mut Self {
        self.value(key, format_args!("{number:?}"))
    }

    /// Writes the schedule and the chain.
    pub fn course(&mut self, schedule: &Schedule, chain: &Chain) {
        let Schedule { start, every, grace, below } = *schedule;
        self.section("[schedule]").value("start", start);
        self.text("every", &duration_text(every)).text("grace", &duration_text(grace));
        match below {
            Below::Expire => self.text("below", "expire"),
            Below::Merge { window } => self.text("below", "merge").value("window", window),
        };
        for (hop, Party { name, url, identity }) in chain.parties() {
            self.section(if hop == chain.hops() { "[analyzer]" } else { "[[mix]]" });
            self.text("name", name).text("url", url).text("identity", &identity.to_string());
        }
    }
}

/// A text for people: not empty, not long, on one line, and in the order in which it reads.
pub(crate) fn line(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > MAX_TEXT || text.chars().any(disturbs) {
        return Err(format!("a text of 1 to {MAX_TEXT} bytes on one line"));
    }
    Ok(text.into())
}

/// True if a character ends a line, or turns what follows around so that a promise reads otherwise.
fn disturbs(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

const MAX_TEXT: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_cut_off_says_in_which_line() {
        for (text, line) in [("a = 1\nb = 2\nc", "line 3: "), ("a = 1.5.2\nb = 1", "line 1: ")] {
            let error = Section::parse(text).err().unwrap().to_string();
            assert!(error.contains(line), "{error}");
        }
    }

    // A mark that turns the rest of a line around makes a promise read as another one.
    #[test]
    fn a_text_is_one_line_that_reads_in_its_order() {
        for good in ["a", "How far do you cycle?", "כמה?", "👩\u{200d}🚀"] {
            assert_eq!(line(good), Ok(good.into()));
        }
        for bad in ["", "a\nb", "a\u{2028}b", "a\u{2029}b", "a\u{202e}b", "a\u{2067}b", "a\0"] {
            assert!(line(bad).is_err(), "{bad:?}");
        }
        assert!(line(&"a".repeat(MAX_TEXT + 1)).is_err());
    }
}
