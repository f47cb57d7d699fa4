//! What the releases say, beside the truth.

use super::story::Story;
use crate::report::{Report, Rows, digits, shown};
use serde_json::{Value, json};
use std::fmt::Display;
use throng_account::show::{Lower, Near, Upper};
use throng_collection::Collection;

/// A release as the demonstration prints it: the truth beside every estimate. What is asked for first,
/// or last of a line over time, or found most often, also stands for the whole.
pub fn answer(story: Story, release: &Value, epoch: u64, truth: &[(String, f64)]) -> Value {
    let known =
        |label: &Value| truth.iter().find(|(name, _)| label == name).map(|(_, true_)| *true_);
    let published = release["estimates"].as_array().map_or(&[][..], Vec::as_slice);
    let mut estimates: Vec<Value> = published
        .iter()
        .map(|estimate| {
            json!({
                "label": estimate["label"],
                "truth": known(&estimate["label"]),
                "estimate": estimate["value"],
                "standard_error": estimate["standard_error"],
                "interval": estimate["interval"],
            })
        })
        .collect();
    if story == Story::Names {
        let value = |estimate: &Value| estimate["estimate"].as_f64().unwrap_or(f64::NAN);
        estimates.sort_by(|a, b| value(b).total_cmp(&value(a)));
    }
    let top = if story == Story::Aircraft { estimates.last() } else { estimates.first() };
    let commonest = truth.first().map(|(label, truth)| json!({ "label": label, "truth": truth }));
    let top = top.cloned().or(commonest).unwrap_or_default();
    let privacy = &release["privacy"];
    json!({
        "epoch": epoch,
        "label": top["label"],
        "truth": top["truth"],
        "estimate": top["estimate"],
        "standard_error": top["standard_error"],
        "interval": top["interval"],
        "estimates": estimates,
        "reports": release["reports"],
        "epsilon": privacy["epsilon"],
        "delta": privacy["delta"],
        "local_floor": privacy["local_floor"],
        "honest": privacy["honest"],
        "spent_epsilon": privacy["spent_epsilon"],
        "spent_delta": privacy["spent_delta"],
        "dropped": release["dropped"],
    })
}

/// An answer in one sentence.
pub fn sentence(story: Story, answer: &Value) -> String {
    let [estimate, truth] = ["estimate", "truth"].map(|name| told(&answer[name], Near));
    let (low, high) = (told(&answer["interval"][0], Near), told(&answer["interval"][1], Near));
    let epsilon = told(&answer["epsilon"], |epsilon| Upper(epsilon).places(3));
    let found = answer["estimates"].as_array().map_or(0, Vec::len);
    let counted = story.counted();
    let label = answer["label"].as_str().unwrap_or_default();
    let what = match story {
        Story::Names if found == 0 => {
            return format!(
                "no name is common enough to be found; the commonest, {label}, is held by {truth} {counted}"
            );
        }
        Story::Names => format!("{found} names found, the first {label}: "),
        Story::Browsers => format!("{found} counts, the first {label}: "),
        Story::Aircraft => format!("{label}: "),
        Story::Crash | Story::Delays => String::new(),
    };
    format!(
        "{what}estimate {estimate}, truth {truth} {counted}; 95 %: {low} to {high}; epsilon {epsilon}"
    )
}

/// Everything, for people and for programs.
pub fn summary(
    story: Story,
    collection: &Collection,
    releases: &[Value],
    truth: &[(String, f64)],
    rate: f64,
) -> Report {
    let mut report = Report::default()
        .field("releases", releases)
        .say("question", &collection.terms.question.text)
        .say("mechanism", collection.terms.mechanism.key().name());
    if let Some(last) = releases.last() {
        let floor = match &last["local_floor"] {
            Value::String(_) => "infinite: a report by itself shows the value".into(),
            floor => shown(floor, Upper),
        };
        report = report
            .say(
                "against everyone, one mix honest",
                format!(
                    "epsilon {} at delta {}, counting on {} honest reports",
                    shown(&last["epsilon"], Upper),
                    shown(&last["delta"], Upper),
                    shown(&last["honest"], Lower)
                ),
            )
            .say("with nobody honest", format!("epsilon {floor} (local floor)"));
    }
    report = report
        .line("bytes_per_report", "bytes per report", collection.shape().report_bytes())
        .line("reports_per_second", "reports per second, end to end", Near(rate.round()));
    if !story.has_several_answers() || releases.len() > 1 {
        report = over_time(report, releases, story.has_several_answers());
    }
    match (story, releases.last()) {
        (Story::Browsers, Some(last)) => shares(report, last),
        (Story::Names, Some(last)) => ranking(report, last, truth),
        _ => report,
    }
}

/// A row for every epoch, with a picture if there are several.
fn over_time(report: Report, releases: &[Value], several: bool) -> Report {
    let mut head =
        vec!["epoch", "truth", "estimate", "error", "low", "high", "reports", "epsilon", "spent"];
    let mut rows: Vec<Vec<String>> = releases
        .iter()
        .map(|release| {
            let mut row = vec![shown(&release["epoch"], Near)];
            row.extend(cells(release));
            row.push(shown(&release["reports"], Near));
            row.extend(["epsilon", "spent_epsilon"].map(|name| shown(&release[name], Upper)));
            row
        })
        .collect();
    if several {
        head.insert(1, "answer");
        for (row, release) in rows.iter_mut().zip(releases) {
            row.insert(1, release["label"].as_str().unwrap_or("-").into());
        }
    }
    if releases.len() < 2 {
        return report.table(Rows { head, rows });
    }
    head.push(PICTURE);
    for (row, picture) in rows.iter_mut().zip(pictures(releases)) {
        row.push(picture);
    }
    report.table(Rows { head, rows })
}

/// Every category with its share.
fn shares(report: Report, release: &Value) -> Report {
    let reports = release["reports"].as_f64().unwrap_or(f64::NAN);
    let percent = |count: &Value| {
        count.as_f64().map_or_else(|| "-".into(), |count| format!("{:.2}", 100.0 * count / reports))
    };
    let row = |estimate: &Value| {
        let mut row = vec![estimate["label"].as_str().unwrap_or("-").to_owned()];
        row.extend(cells(estimate));
        row.extend([percent(&estimate["truth"]), percent(&estimate["estimate"])]);
        row
    };
    let estimates = release["estimates"].as_array().map_or(&[][..], Vec::as_slice);
    report.table(Rows {
        head: vec!["browser", "truth", "estimate", "error", "low", "high", "truth %", "estimate %"],
        rows: estimates.iter().map(row).collect(),
    })
}

/// The commonest in truth beside those that were found, each with its count.
fn ranking(report: Report, release: &Value, truth: &[(String, f64)]) -> Report {
    let found = release["estimates"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |(place, (label, count)): (usize, &(String, f64))| {
        let mut row = vec![(place + 1).to_string(), label.clone(), digits(Near(*count))];
        let Some(estimate) = found.get(place) else {
            row.extend(vec!["-".into(); 6]);
            return row;
        };
        row.push(estimate["label"].as_str().unwrap_or("-").into());
        row.extend(cells(estimate));
        row
    };
    let rows = truth.iter().take(RANKS).enumerate().map(row).collect();
    let head =
        vec!["rank", "in truth", "count", "found", "its truth", "estimate", "error", "low", "high"];
    let report = report.table(Rows { head, rows });
    if found.is_empty() {
        return report.note(
            "No name is common enough to stand out from the noise; more --clients or a larger --epsilon \
             help.",
        );
    }
    let first = |name: &Value| truth.iter().take(RANKS).any(|(label, _)| name == label);
    let right = found.iter().take(RANKS).filter(|estimate| first(&estimate["label"])).count();
    report.note(format!(
        "{} of {} names are found, and {right} of the true first {RANKS} are among the first {RANKS}. Names \
         whose counts differ by less than the error change places. That any name is told which nobody holds \
         has a chance of at most 5 %.",
        found.len(),
        truth.len(),
    ))
}

/// Truth, estimate, error and interval.
fn cells(answer: &Value) -> [String; 5] {
    let interval = &answer["interval"];
    [&answer["truth"], &answer["estimate"], &answer["standard_error"], &interval[0], &interval[1]]
        .map(|number| shown(number, Near))
}

/// Where estimate, interval and truth lie, all on one scale.
fn pictures(releases: &[Value]) -> Vec<String> {
    let values = |release: &Value| {
        let interval = &release["interval"];
        [&release["truth"], &release["estimate"], &interval[0], &interval[1]].map(Value::as_f64)
    };
    let all: Vec<f64> = releases.iter().flat_map(values).flatten().collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let cell = |value: f64| {
        let place = (value - low) / (high - low).max(f64::MIN_POSITIVE);
        ((place * COLUMNS as f64) as usize).min(COLUMNS - 1)
    };
    let draw = |release: &Value| {
        let mut line = [' '; COLUMNS];
        let [truth, estimate, low, high] = values(release);
        if let (Some(low), Some(high)) = (low, high) {
            line[cell(low)..=cell(high)].fill('-');
        }
        for (value, mark) in [(estimate, 'o'), (truth, '|')] {
            if let Some(value) = value {
                line[cell(value)] = mark;
            }
        }
        line.iter().collect::<String>().trim_end().into()
    };
    releases.iter().map(draw).collect()
}

/// A number in a sentence, if there is one.
fn told<T: Display>(value: &Value, side: impl FnOnce(f64) -> T) -> String {
    value.as_f64().map_or_else(|| "-".into(), |number| side(number).to_string())
}

/// Names that are listed.
const RANKS: usize = 10;
/// Width of a picture.
const COLUMNS: usize = 32;
/// What is in it.
const PICTURE: &str = "o estimate, - 95 %, | truth";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_sentence_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (10.574, "10.57"),
            (589.0, "589"),
            (591.72, "591.7"),
            (-13804.6, "-13,805"),
        ] {
            assert_eq!(told(&json!(value), Near), text);
        }
    }

    #[test]
    fn a_picture_has_all_releases_on_one_scale() {
        let release = |truth: f64, low: f64, high: f64| json!({"truth": truth, "estimate": 0.5 * (low + high), "interval": [low, high]});
        let drawn = pictures(&[release(0.0, 0.0, 10.0), release(28.0, 12.0, 32.0)]);
        assert_eq!(drawn[0], "|----o-----");
        assert_eq!(drawn[1], "            ----------o-----|---");
    }

    #[test]
    fn names_that_are_not_found_leave_the_commonest_truth() {
        let truth = [("Emma".to_owned(), 7.0), ("Noah".to_owned(), 5.0)];
        let release = json!({"estimates": [], "privacy": {"epsilon": 1.0}});
        let told = answer(Story::Names, &release, 0, &truth);
        assert_eq!((&told["truth"], &told["estimate"]), (&json!(7.0), &Value::Null));
        assert!(sentence(Story::Names, &told).contains("Emma, is held by 7 newborns"));
    }
}
