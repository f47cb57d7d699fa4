//! Every estimate of every release, one to a row, for spreadsheets and scripts.

use std::fmt::Write;
use std::sync::Arc;
use throng_collection::{About, Collection, Release};
use throng_wire::Utc;

/// The whole table. Numbers read back to the same bits.
pub(crate) fn csv(collection: &Collection, releases: &[Arc<Release>]) -> String {
    let mut table = String::from(HEAD);
    let id = collection.id();
    for release in releases {
        let Release { first, last, reports, guarantee, spent, .. } = &**release;
        // Older releases do not say it themselves.
        let About { question, begin, end } = About::of(collection, *first, *last);
        for answer in &release.estimates {
            // Writing to a string does not fail.
            let _ = writeln!(
                table,
                "{id},{},{},{},{first},{last},{reports},{},{},{},{},{},{},{},{},{}",
                field(&question),
                Utc(begin),
                Utc(end),
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

const HEAD: &str = "collection,question,begin,end,first_epoch,last_epoch,reports,label,value,standard_error,low,high,confidence,\
                    epsilon,delta,spent_epsilon\n";

#[cfg(test)]
mod tests {
    use super::*;
    use throng_collection::example;

    #[test]
    fn a_row_says_what_was_asked_and_when() {
        let (collection, release) = (example::collection(), example::release());
        let expected = format!(
            "{},\"Do you cycle to work?\",1970-01-01T00:16:40Z,1970-01-02T00:16:40Z,0,0,1200,",
            collection.id()
        );
        // An older release has no times of its own.
        for about in [release.about.clone(), None] {
            let table = csv(&collection, &[Arc::new(Release { about, ..release.clone() })]);
            let rows: Vec<&str> = table.lines().collect();
            assert_eq!(rows.len(), 2);
            assert!(rows[1].starts_with(&expected), "{table}");
            assert_eq!(rows[0].split(',').count(), rows[1].split(',').count());
        }
    }

    #[test]
    fn a_label_stays_one_field_and_is_no_formula() {
        assert_eq!(field("a, \"b\"\nc"), "\"a, \"\"b\"\"\nc\"");
        assert_eq!(field("=1+1"), "\"'=1+1\"");
    }
}
