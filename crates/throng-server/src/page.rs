//! The results page of an analyzer: server-rendered, without script or anything external.

use crate::Error;
use crate::server::Seat;
use serde_json::Value;
use std::fmt::{self, Write};
use std::sync::Arc;

/// All collections of one analyzer.
pub(crate) fn render<'a>(seats: impl Iterator<Item = &'a Arc<Seat>>) -> Result<String, Error> {
    let mut html = String::from(HEAD);
    for seat in seats {
        let analyzer = seat.analyzer()?;
        let (releases, spent) = (analyzer.releases()?, analyzer.ledger());
        let spent = spent.last().map_or(0.0, |entry| entry.total.get());
        section(&mut html, seat, &releases, spent);
    }
    html.push_str("</main></body></html>\n");
    Ok(html)
}

/// One collection: the question, the latest estimates, what was promised, what was spent.
fn section(html: &mut String, seat: &Seat, releases: &[Value], spent: f64) {
    let collection = seat.collection();
    let question = &collection.terms.question;
    // Writing to a string does not fail.
    let mut put = |text: fmt::Arguments<'_>| {
        let _ = html.write_fmt(text);
    };
    put(format_args!("<section><h2>{}</h2>", Escaped(&question.text)));
    match releases.last() {
        None => put(format_args!("<p>No release yet.</p>")),
        Some(release) => {
            let (first, last) = (&release["first"], &release["last"]);
            let epochs = if first == last {
                format!("epoch {first}")
            } else {
                format!("epochs {first} to {last}")
            };
            put(format_args!("<p>{} reports, {epochs}.</p>", release["reports"]));
            estimates(&mut put, release, &question.unit);
            privacy(&mut put, release);
            dropped(&mut put, release);
        }
    }
    let (epsilon, delta) = collection.terms.promise.lifetime;
    put(format_args!(
        "<p>Spent so far: ε = {} of {} at δ = {}, in {} of at most {} releases.</p>",
        Upper(spent),
        Short(epsilon.get()),
        Upper(delta.get()),
        releases.len(),
        collection.terms.promise.epochs
    ));
    put(format_args!("<details><summary>The promise</summary><ul>"));
    for sentence in seat.words() {
        put(format_args!("<li>{}</li>", Escaped(sentence)));
    }
    put(format_args!("</ul></details><details><summary>The collection</summary>"));
    put(format_args!("<p><code>{}</code></p>", seat.id));
    put(format_args!("<pre>{}</pre></details></section>", Escaped(&collection.to_toml())));
}

/// A table with a bar for every estimate and a thin line for its interval.
fn estimates(put: &mut impl FnMut(fmt::Arguments<'_>), release: &Value, unit: &str) {
    let none = Vec::new();
    let rows = release["estimates"].as_array().unwrap_or(&none);
    let number = |value: &Value| value.as_f64().filter(|n| n.is_finite());
    let ends = rows.iter().flat_map(|row| {
        [&row["value"], &row["interval"][0], &row["interval"][1]].into_iter().filter_map(number)
    });
    let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let scale = |x: f64| if high > low { WIDTH * (x - low) / (high - low) } else { 0.0 };
    let percent = 100.0 * number(&release["confidence"]).unwrap_or(0.0);
    put(format_args!(
        "<table><thead><tr><th>Answer</th><th>Estimate</th><th>{}% interval</th><th></th></tr></thead><tbody>",
        Short(percent)
    ));
    for row in rows.iter().take(ROWS) {
        let label = row["label"].as_str().unwrap_or_default();
        let shown = |value: &Value| number(value).map_or("?".to_owned(), |n| Short(n).to_string());
        let space = if unit.is_empty() { "" } else { " " };
        put(format_args!(
            "<tr><th scope=\"row\">{}</th><td>{}{space}{}</td><td>{} to {}</td><td>",
            Escaped(label),
            shown(&row["value"]),
            Escaped(unit),
            shown(&row["interval"][0]),
            shown(&row["interval"][1]),
        ));
        if let (Some(value), Some(from), Some(to)) =
            (number(&row["value"]), number(&row["interval"][0]), number(&row["interval"][1]))
        {
            let (left, right) = (scale(value.min(0.0)), scale(value.max(0.0)));
            put(format_args!(
                "<svg viewBox=\"0 0 {WIDTH} 12\" width=\"{WIDTH}\" height=\"12\" aria-hidden=\"true\">\
                 <rect class=\"bar\" x=\"{left:.1}\" y=\"2\" width=\"{:.1}\" height=\"8\"/>\
                 <path class=\"span\" d=\"M{:.1} 6H{:.1}\"/></svg>",
                right - left,
                scale(from),
                scale(to)
            ));
        }
        put(format_args!("</td></tr>"));
    }
    put(format_args!("</tbody></table>"));
    if rows.len() > ROWS {
        put(format_args!("<p>The first {ROWS} of {}.</p>", rows.len()));
    }
}

/// What holds for this very release, in words and numbers.
fn privacy(put: &mut impl FnMut(fmt::Arguments<'_>), release: &Value) {
    let privacy = &release["privacy"];
    let bound = |name: &str| match privacy[name].as_f64() {
        Some(number) => Upper(number).to_string(),
        None => "?".to_owned(),
    };
    let text = |name: &str| privacy[name].as_str().unwrap_or_default();
    put(format_args!(
        "<p>Whatever one person reported, what is on this page would have been about as likely: by a \
         factor of at most e<sup>ε</sup> with <b>ε = {}</b>, except with probability δ = {}. This \
         holds if {}, and with {} honest reports among them. Neighbours: {}. By {} ({}).</p>",
        bound("epsilon"),
        bound("delta"),
        Escaped(text("holds_if")),
        privacy["honest"],
        Escaped(text("neighbours")),
        Escaped(text("theorem")),
        Escaped(text("source")),
    ));
}

fn dropped(put: &mut impl FnMut(fmt::Arguments<'_>), release: &Value) {
    let dropped = &release["dropped"];
    let count = |part: &Value| -> u64 {
        part.as_object().map_or(0, |fields| fields.values().filter_map(Value::as_u64).sum())
    };
    let mixes: Vec<String> = dropped["mixes"].as_array().map_or(Vec::new(), |mixes| {
        (1..).zip(mixes).map(|(hop, part)| format!("mix {hop}: {}", count(part))).collect()
    });
    put(format_args!(
        "<p>Left out as repeated or malformed: {}, analyzer: {}.</p>",
        mixes.join(", "),
        count(&dropped["analyzer"])
    ));
}

/// Text as text, whatever it holds.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A number with four digits, so that people can read it.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size == 0.0 {
            return f.write_str("0");
        }
        let (text, power) = if (1e-4..1e15).contains(&size) {
            let digits = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
            (format!("{:.digits$}", self.0), None)
        } else {
            let text = format!("{:.3e}", self.0);
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            (digits.to_owned(), Some(power.to_owned()))
        };
        let text = if text.contains('.') { text.trim_end_matches('0') } else { &text };
        f.write_str(text.trim_end_matches('.'))?;
        power.map_or(Ok(()), |power| write!(f, "e{power}"))
    }
}

/// A number with four digits that is no smaller than what it stands for: a bound stays one.
struct Upper(f64);

impl fmt::Display for Upper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = Short(self.0).to_string();
        if near.parse::<f64>().is_ok_and(|near| near >= self.0) {
            return f.write_str(&near);
        }
        // One unit of the fourth digit, or of the last one that is shown.
        let unit = 10_f64.powi((self.0.abs().log10().floor() as i32 - 3).min(0));
        Short(self.0 + unit).fmt(f)
    }
}

/// Units of the bars.
const WIDTH: f64 = 240.0;

/// Rows of a table at most; all are in the JSON.
const ROWS: usize = 200;

const HEAD: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Results</title><style>
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fdfdfb; --bar: #3b6ea5; --line: #c9c9c2 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e1; --paper: #191a1c; --bar: #7fa8d6; --line: #44464a }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem }
main { max-width: 46rem; margin: auto }
section { border-top: 1px solid var(--line); margin-top: 2rem }
table { border-collapse: collapse }
th, td { text-align: left; padding: .2rem 1rem .2rem 0; font-variant-numeric: tabular-nums }
th { font-weight: 600 }
pre, code { overflow-x: auto; overflow-wrap: anywhere }
.bar { fill: var(--bar) }
.span { stroke: var(--ink); stroke-width: 1.5 }
</style></head><body><main><h1>Results</h1>
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let text = "<script>alert('1 & \"2\"')</script>";
        let shown = Escaped(text).to_string();
        assert_eq!(shown, "&lt;script&gt;alert(&#39;1 &amp; &quot;2&quot;&#39;)&lt;/script&gt;");
    }

    #[test]
    fn numbers_are_short() {
        for (number, shown) in [
            (0.0, "0"),
            (0.52341, "0.5234"),
            (-1.5, "-1.5"),
            (12345.6, "12346"),
            (0.1, "0.1"),
            (1e-8, "1e-8"),
            (1.2343e-9, "1.234e-9"),
            (100.0, "100"),
        ] {
            assert_eq!(Short(number).to_string(), shown);
        }
    }

    #[test]
    fn a_bound_is_never_shown_smaller_than_it_is() {
        assert_eq!(Upper(1.09318).to_string(), "1.094");
        assert_eq!(Upper(1e-6).to_string(), "1e-6");
        assert_eq!(Upper(0.0).to_string(), "0");
        let mut number = 1.234567e-12;
        while number < 1e12 {
            let shown: f64 = Upper(number).to_string().parse().unwrap();
            assert!((number..number * 1.0021).contains(&shown), "{number} as {shown}");
            number *= 1.037;
        }
    }
}
