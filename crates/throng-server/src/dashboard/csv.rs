//! Every estimate of every release, one to a row, for spreadsheets and scripts.

use crate::Published;
use std::fmt::Write;
use std::sync::Arc;

/// The whole table. Numbers read back to the same bits.
pub(crate) fn csv(releases: &[Arc<Published>]) -> String {
    let mut table = String::from(HEAD);
    for release in releases {
        let Published { first, last, reports, privacy, .. } = &**release;
        for (label, point) in release.labels.iter().zip(&release.estimates) {
            // Writing to a string does not fail.
            let _ = writeln!(
                table,
                "{first},{last},{reports},{},{},{},{},{},{},{},{},{}",
                field(label),
                Exact(point.value),
                Exact(point.standard_error),
                Exact(point.low),
                Exact(point.high),
                release.confidence,
                privacy.epsilon,
                privacy.delta,
                privacy.spent_epsilon,
            );
        }
    }
    table
}

/// A text in quotes (RFC 4180). Where a spreadsheet would take it for a formula, an apostrophe in front
/// makes it stay text.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

/// A number, or nothing where there is none.
struct Exact(f64);

impl std::fmt::Display for Exact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_finite() { write!(f, "{:?}", self.0) } else { Ok(()) }
    }
}

const HEAD: &str = "first_epoch,last_epoch,reports,label,value,standard_error,low,high,confidence,\
                    epsilon,delta,spent_epsilon\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stays_one_field_and_is_no_formula() {
        assert_eq!(field("a, \"b\"\nc"), "\"a, \"\"b\"\"\nc\"");
        assert_eq!(field("=1+1"), "\"'=1+1\"");
    }
}
