//! Every estimate of every release, one to a row, for spreadsheets and scripts.

use std::fmt::Write;
use std::sync::Arc;
use throng_collection::Release;

/// The whole table. Numbers read back to the same bits.
pub(crate) fn csv(releases: &[Arc<Release>]) -> String {
    let mut table = String::from(HEAD);
    for release in releases {
        let Release { first, last, reports, guarantee, spent, .. } = &**release;
        for answer in &release.estimates {
            // Writing to a string does not fail.
            let _ = writeln!(
                table,
                "{first},{last},{reports},{},{},{},{},{},{},{},{},{}",
                field(&answer.what.to_string()),
                exact(answer.value),
                exact(answer.standard_error),
                exact(answer.low),
                exact(answer.high),
                release.confidence.get(),
                guarantee.epsilon.get(),
                guarantee.delta.get(),
                spent.epsilon.get(),
            );
        }
    }
    table
}

/// A text in quotes (RFC 4180). Where a spreadsheet would take it for a formula, an apostrophe in
/// front makes it stay text.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

/// A number that reads back to the same bits, or nothing if it is not finite.
fn exact(number: f64) -> String {
    if number.is_finite() { format!("{number:?}") } else { String::new() }
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
