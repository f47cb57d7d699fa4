//! The answer of a command: one JSON object for programs, tables for people.

use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};
use serde_json::{Map, Value};
use std::fmt::Display;
use std::io::{IsTerminal, Write, stdout};
use throng_account::show::{Lower, Near, Upper};

/// An answer, collected field by field.
#[derive(Default)]
pub struct Report {
    json: Map<String, Value>,
    lines: Vec<(String, String)>,
    tables: Vec<Rows>,
    notes: Vec<String>,
    failed: bool,
}

/// A table with its heading.
pub struct Rows {
    /// Column names.
    pub head: Vec<&'static str>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Report {
    /// A field for programs only.
    pub fn field(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.json.insert(key.into(), value.into());
        self
    }

    /// A field for programs, shown to people under `label`.
    pub fn line(mut self, key: &str, label: &str, value: impl Into<Printable>) -> Self {
        let Printable { json, text } = value.into();
        self.lines.push((label.into(), text));
        self.json.insert(key.into(), json);
        self
    }

    /// A line for people only.
    pub fn say(mut self, label: &str, text: impl Into<String>) -> Self {
        self.lines.push((label.into(), text.into()));
        self
    }

    /// A table for people only.
    pub fn table(mut self, table: Rows) -> Self {
        self.tables.push(table);
        self
    }

    /// A sentence below everything, for people only.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Makes the answer a failure: the command ends with an error code.
    pub fn failing(mut self) -> Self {
        self.failed = true;
        self
    }

    /// Prints to standard output; returns true if all is well. A closed pipe is no error.
    pub fn print(self, json: bool) -> bool {
        let failed = self.failed;
        let text = if json { format!("{:#}\n", Value::Object(self.json)) } else { self.text() };
        let _ = stdout().write_all(text.as_bytes());
        !failed
    }

    fn text(self) -> String {
        let fancy = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let mut text = String::new();
        if !self.lines.is_empty() {
            let mut table = blank(false);
            for (label, value) in self.lines {
                let label = Cell::new(label);
                table
                    .add_row([if fancy { label.fg(Color::Cyan) } else { label }, Cell::new(value)]);
            }
            text = text + &table.trim_fmt() + "\n";
        }
        for rows in self.tables {
            let mut table = blank(fancy);
            table.set_header(rows.head.iter().map(|name| {
                let cell = Cell::new(name);
                if fancy { cell.add_attribute(Attribute::Bold).fg(Color::Cyan) } else { cell }
            }));
            for row in rows.rows {
                table.add_row(row.into_iter().map(|cell| {
                    let number = cell.parse::<f64>().is_ok();
                    let align = if number { CellAlignment::Right } else { CellAlignment::Left };
                    Cell::new(cell).set_alignment(align)
                }));
            }
            text = text + "\n" + &table.trim_fmt() + "\n";
        }
        for note in self.notes {
            text = text + "\n" + &note + "\n";
        }
        text
    }
}

/// A value for programs and for people. A number that is not whole says by its type on which side
/// of it its digits may lie, so there is no conversion from a bare `f64`.
pub struct Printable {
    /// The value as programs read it.
    pub json: Value,
    text: String,
}

impl From<Upper> for Printable {
    fn from(bound: Upper) -> Self {
        Self { json: bound.0.into(), text: digits(bound) }
    }
}

impl From<Lower> for Printable {
    fn from(bound: Lower) -> Self {
        Self { json: bound.0.into(), text: digits(bound) }
    }
}

impl From<Near> for Printable {
    fn from(number: Near) -> Self {
        Self { json: number.0.into(), text: digits(number) }
    }
}

impl From<String> for Printable {
    fn from(text: String) -> Self {
        Self { json: text.clone().into(), text }
    }
}

impl From<&str> for Printable {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<u64> for Printable {
    fn from(number: u64) -> Self {
        Self { json: number.into(), text: number.to_string() }
    }
}

impl From<u32> for Printable {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<usize> for Printable {
    fn from(number: usize) -> Self {
        (number as u64).into()
    }
}

impl From<Vec<u64>> for Printable {
    fn from(numbers: Vec<u64>) -> Self {
        let json = Value::from(numbers);
        Self { text: json.to_string(), json }
    }
}

impl From<bool> for Printable {
    fn from(truth: bool) -> Self {
        Self { json: truth.into(), text: truth.to_string() }
    }
}

/// A number of six significant digits, with a power of ten where that is shorter.
pub fn digits(number: impl Display) -> String {
    format!("{number:#.6}")
}

fn blank(fancy: bool) -> Table {
    let mut table = Table::new();
    table.load_style(if fancy { UTF8_FULL_CONDENSED } else { NOTHING });
    if fancy {
        // Long sources wrap to the width of the terminal.
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    // The defect that this type is for: 0.9931010644752212 was told as at most 0.993101.
    #[test]
    fn a_bound_is_told_outward_and_kept_as_it_is_for_programs() {
        let told = |shown: Printable| (shown.text, shown.json);
        let epsilon = 0.9931010644752212;
        assert_eq!(told(Upper(epsilon).into()), ("0.993102".into(), epsilon.into()));
        assert_eq!(told(Lower(epsilon).into()), ("0.993101".into(), epsilon.into()));
        assert_eq!(told(Near(1e-6).into()), ("1e-6".into(), 1e-6.into()));
        assert_eq!(told(7_u64.into()), ("7".into(), 7_u64.into()));
        assert_eq!(told(Upper(f64::INFINITY).into()), ("inf".into(), Value::Null));
    }
}
