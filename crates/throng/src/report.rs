//! The answer of a command: one JSON object for programs, tables for people.

use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};
use serde_json::{Map, Value};
use std::fmt::Display;
use std::io::{IsTerminal, Write, stdout};
use throng_account::show::{Lower, Near, Upper};

/// An answer, or a row of one, collected field by field.
#[derive(Default, Clone)]
pub struct Report {
    json: Map<String, Value>,
    lines: Vec<(&'static str, String)>,
    tables: Vec<Rows>,
    notes: Vec<String>,
    failed: bool,
}

/// A table with its heading.
#[derive(Clone)]
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
    pub fn line(self, key: &str, label: &'static str, value: impl Into<Printable>) -> Self {
        let Printable { json, text } = value.into();
        self.field(key, json).say(label, text)
    }

    /// A line for people only.
    pub fn say(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.lines.push((label, text.into()));
        self
    }

    /// A table for people only.
    pub fn table(mut self, table: impl Into<Rows>) -> Self {
        self.tables.push(table.into());
        self
    }

    /// Rows for programs, shown to people as a table.
    pub fn rows(self, key: &str, rows: Vec<Self>) -> Self {
        let objects: Vec<_> = rows.iter().map(|row| row.json.clone()).collect();
        self.field(key, objects).table(rows)
    }

    /// A sentence below everything, for people only.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Says whether all is well; if not, the command ends with an error code.
    pub fn well(mut self, well: bool) -> Self {
        self.failed = !well;
        self
    }

    /// The fields without a word for people.
    pub fn for_programs(self) -> Self {
        Self { json: self.json, ..Self::default() }
    }

    /// Prints to standard output; returns true if all is well. A closed pipe is no error.
    pub fn print(self, json: bool) -> bool {
        let failed = self.failed;
        let text = if json { format!("{:#}\n", Value::from(self)) } else { self.text() };
        let _ = stdout().write_all(text.as_bytes());
        !failed
    }

    fn text(self) -> String {
        let fancy = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let painted = |cell: Cell| if fancy { cell.fg(Color::Cyan) } else { cell };
        let mut text = String::new();
        if !self.lines.is_empty() {
            let mut table = blank(false);
            for (label, value) in self.lines {
                table.add_row([painted(Cell::new(label)), Cell::new(value)]);
            }
            text = text + &table.trim_fmt() + "\n";
        }
        for rows in self.tables {
            let mut table = blank(fancy);
            let bold = |cell: Cell| if fancy { cell.add_attribute(Attribute::Bold) } else { cell };
            table.set_header(rows.head.iter().map(|name| painted(bold(Cell::new(name)))));
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

impl From<Report> for Value {
    fn from(report: Report) -> Self {
        report.json.into()
    }
}

/// The lines of all rows, under the labels of the first.
impl From<Vec<Report>> for Rows {
    fn from(rows: Vec<Report>) -> Self {
        let head =
            rows.first().map_or_else(Vec::new, |row| row.lines.iter().map(|l| l.0).collect());
        let cells = |row: Report| row.lines.into_iter().map(|(_, text)| text).collect();
        Self { head, rows: rows.into_iter().map(cells).collect() }
    }
}

/// A value for programs and for people. A number that is not whole says by its type on which side
/// of it its digits may lie, so there is no conversion from a bare `f64`.
pub struct Printable {
    json: Value,
    text: String,
}

impl Printable {
    /// A value that people read as `text`.
    pub fn new(json: impl Into<Value>, text: impl Into<String>) -> Self {
        Self { json: json.into(), text: text.into() }
    }

    /// An upper bound, or `otherwise` for people and "infinity" for programs where there is none.
    pub fn bounded(value: f64, otherwise: &str) -> Self {
        if value.is_finite() { Upper(value).into() } else { Self::new(finite(value), otherwise) }
    }

    /// A measured number that people read with `places` digits after the point.
    pub fn places(value: f64, places: usize) -> Self {
        Self::new(value, format!("{value:.places$}"))
    }
}

impl From<Upper> for Printable {
    fn from(bound: Upper) -> Self {
        Self::new(bound.0, digits(bound))
    }
}

impl From<Lower> for Printable {
    fn from(bound: Lower) -> Self {
        Self::new(bound.0, digits(bound))
    }
}

impl From<Near> for Printable {
    fn from(number: Near) -> Self {
        Self::new(number.0, digits(number))
    }
}

impl From<String> for Printable {
    fn from(text: String) -> Self {
        Self::new(text.clone(), text)
    }
}

impl From<&str> for Printable {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<u64> for Printable {
    fn from(number: u64) -> Self {
        Self::new(number, number.to_string())
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

impl From<bool> for Printable {
    fn from(truth: bool) -> Self {
        Self::new(truth, truth.to_string())
    }
}

/// A number that may be infinite, for programs.
pub fn finite(value: f64) -> Value {
    if value.is_finite() { value.into() } else { "infinity".into() }
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
