//! What a command answers: one JSON object for programs, tables for people.

use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};
use serde_json::{Map, Value};
use std::io::{IsTerminal, Write, stdout};

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
    pub fn line(mut self, key: &str, label: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.lines.push((label.into(), shown(&value)));
        self.json.insert(key.into(), value);
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

    /// The answer is that something is wrong: the command ends with a failure.
    pub fn failing(mut self) -> Self {
        self.failed = true;
        self
    }

    /// To standard output; returns whether all is well. A closed pipe is no error.
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

/// Six significant digits, scientific where that is shorter.
pub fn number(value: f64) -> String {
    let trim = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_string();
    if value != 0.0 && !(1e-3..1e7).contains(&value.abs()) {
        let text = format!("{value:.5e}");
        return match text.split_once('e') {
            Some((mantissa, exponent)) => format!("{}e{exponent}", trim(mantissa)),
            None => text,
        };
    }
    let digits = (5 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9);
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { trim(&text) } else { text }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(found) if found.is_f64() => number(found.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
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

    #[test]
    fn numbers_are_short_and_keep_six_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1e-6, "1e-6"),
            (1.25e-9, "1.25e-9"),
            (0.00351352, "0.00351352"),
            (68.130000001, "68.13"),
            (1234567.0, "1234567"),
            (5.11085e7, "5.11085e7"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
