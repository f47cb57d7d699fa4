//! The releases beside the truth.

use super::story::Story;
use crate::report::{Report, digits};
use crate::results::{at, bound_and_crowd, nobody_honest, published, spent_so_far};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use throng_account::show::{Near, Upper};
use throng_collection::{Answer, Collection, Release, Subject};

/// A release with the truth beside every estimate.
pub struct EpochResult {
    /// The release as it was published.
    pub release: Release,
    story: Story,
    /// The true values under their labels, the most important first.
    truth: Vec<(Subject, f64)>,
    /// The estimates; of names, the largest first.
    estimates: Vec<Comparison>,
    /// The estimate that stands for the whole: the first that is asked for, the last of a line over
    /// time, or the name found most often.
    top: Comparison,
}

/// The truth about something, and the estimate of it.
#[derive(Clone)]
struct Comparison {
    what: Subject,
    truth: Option<f64>,
    answer: Option<Answer>,
}

impl EpochResult {
    /// Puts the truth beside a release. If nothing was found, the commonest value in truth stands
    /// for the whole.
    pub fn new(story: Story, release: Release, truth: Vec<(Subject, f64)>) -> Self {
        let beside = |what: &Subject, answer: Option<&Answer>| Comparison {
            what: what.clone(),
            truth: truth.iter().find(|(name, _)| what == name).map(|(_, count)| *count),
            answer: answer.cloned(),
        };
        let found = release.estimates.iter().map(|answer| beside(&answer.what, Some(answer)));
        let mut estimates: Vec<Comparison> = found.collect();
        if story == Story::Names {
            let value = |beside: &Comparison| beside.numbers()[1].unwrap_or(f64::NAN);
            estimates.sort_by(|a, b| value(b).total_cmp(&value(a)));
        }
        let top = if story == Story::Aircraft { estimates.last() } else { estimates.first() };
        let top = top.cloned().unwrap_or_else(|| beside(&truth[0].0, None));
        Self { release, story, truth, estimates, top }
    }

    /// The release in one sentence.
    pub fn sentence(&self) -> String {
        let of = |value: Option<f64>| value.map_or("-".into(), |value| Near(value).to_string());
        let [truth, estimate, _, low, high] = self.top.numbers().map(of);
        let guarantee = &self.release.guarantee;
        let epsilon = Upper(guarantee.epsilon.get()).places(3);
        let delta = digits(Upper(guarantee.delta.get()));
        let (label, found, counted) = (&self.top.what, self.estimates.len(), self.story.counted());
        let what = match self.story {
            Story::Names if found == 0 => {
                return format!(
                    "no name is common enough to be found; the commonest, {label}, is held by \
                     {truth} {counted}"
                );
            }
            Story::Names if found == 1 => format!("1 name found, {label}: "),
            Story::Names => format!("{found} names found, the first {label}: "),
            Story::Browsers => format!("{found} counts, the first {label}: "),
            Story::Aircraft => format!("{label}: "),
            Story::Crash | Story::Delays => String::new(),
        };
        format!(
            "{what}estimate {estimate}, truth {truth} {counted}; 95 %: {low} to {high}; epsilon \
             {epsilon} at delta {delta}"
        )
    }

    /// The release as JSON, for programs.
    fn to_json(&self) -> Result<Value> {
        let published = published(&self.release)?;
        let privacy = &published["privacy"];
        let top = self.top.to_json();
        Ok(json!({
            "epoch": self.release.last,
            "label": top["label"],
            "truth": top["truth"],
            "estimate": top["estimate"],
            "standard_error": top["standard_error"],
            "interval": top["interval"],
            "estimates": self.estimates.iter().map(Comparison::to_json).collect::<Vec<_>>(),
            "reports": published["reports"],
            "epsilon": privacy["epsilon"],
            "delta": privacy["delta"],
            "local_floor": privacy["local_floor"],
            "honest": privacy["honest"],
            "spent_epsilon": privacy["spent_epsilon"],
            "spent_delta": privacy["spent_delta"],
            "dropped": published["dropped"],
        }))
    }
}

impl Comparison {
    fn to_json(&self) -> Value {
        let answer = self.answer.as_ref();
        json!({
            "label": self.what.to_string(),
            "truth": self.truth,
            "estimate": answer.map(|answer| answer.value),
            "standard_error": answer.map(|answer| answer.standard_error),
            "interval": answer.map(|answer| [answer.low, answer.high]),
        })
    }

    /// Truth, estimate, error and interval, where they are known.
    fn numbers(&self) -> [Option<f64>; 5] {
        let of = |number: fn(&Answer) -> f64| {
            self.answer.as_ref().map(number).filter(|number| number.is_finite())
        };
        [self.truth, of(|a| a.value), of(|a| a.standard_error), of(|a| a.low), of(|a| a.high)]
    }
}

/// Everything, for people and for programs.
pub fn summary(collection: &Collection, releases: &[EpochResult], rate: f64) -> Result<Report> {
    let all: Vec<Value> = releases.iter().map(EpochResult::to_json).collect::<Result<_>>()?;
    let last = releases.last().context("an epoch")?;
    let guarantee = &last.release.guarantee;
    let (bound, crowd) = bound_and_crowd(guarantee);
    let report = Report::default()
        .field("releases", all)
        .say("question", &collection.terms.question.text)
        .say("mechanism", collection.terms.mechanism.key().name())
        .say("against everyone but the first mix", format!("{bound}, counting on {crowd}"));
    let nothing = "infinite: a report by itself shows the value";
    let mut report = nobody_honest(report, guarantee, nothing)
        .say("spent so far", spent_so_far(collection, &last.release))
        .line("bytes_per_report", "bytes per report", collection.shape().report_bytes())
        .line("reports_per_second", "reports per second, end to end", Near(rate.round()));
    let several = last.story.has_several_answers();
    if !several || releases.len() > 1 {
        report = over_time(report, releases, several);
    }
    Ok(match last.story {
        Story::Browsers => shares(report, last),
        Story::Names => ranking(report, last),
        _ => report,
    })
}

/// Adds a row for every epoch, with a picture if there are several.
fn over_time(report: Report, releases: &[EpochResult], several: bool) -> Report {
    let numbers: Vec<_> = releases.iter().map(|told| told.top.numbers()).collect();
    let row = |(told, picture): (&EpochResult, String)| {
        let Release { last, reports, guarantee, spent, .. } = &told.release;
        let row = Report::default().say("epoch", last.to_string());
        let row = if several { row.say("answer", told.top.what.to_string()) } else { row };
        let row = compared(row, "truth", told.top.numbers())
            .say("reports", reports.to_string())
            .say("epsilon at delta, this one", at(guarantee.epsilon, guarantee.delta))
            .say("epsilon at delta, all so far", at(spent.epsilon, spent.delta));
        if releases.len() > 1 { row.say("o estimate, - 95 %, | truth", picture) } else { row }
    };
    report.table(releases.iter().zip(pictures(&numbers)).map(row).collect::<Vec<_>>())
}

/// Adds every category with its share.
fn shares(report: Report, told: &EpochResult) -> Report {
    let reports = told.release.reports as f64;
    let percent = |count: Option<f64>| {
        count.map_or("-".into(), |count| format!("{:.2}", 100.0 * count / reports))
    };
    let row = |beside: &Comparison| {
        let numbers = beside.numbers();
        compared(Report::default().say("browser", beside.what.to_string()), "truth", numbers)
            .say("truth %", percent(numbers[0]))
            .say("estimate %", percent(numbers[1]))
    };
    report.table(told.estimates.iter().map(row).collect::<Vec<_>>())
}

/// Adds truth, under a label of its own, estimate, error and interval to a row.
fn compared(row: Report, truth: &'static str, numbers: [Option<f64>; 5]) -> Report {
    let labels = [truth, "estimate", "error", "low", "high"];
    let cells = numbers.map(|number| number.map_or("-".into(), |number| digits(Near(number))));
    labels.into_iter().zip(cells).fold(row, |row, (label, cell)| row.say(label, cell))
}

/// The commonest in truth beside those that were found, each with its count.
fn ranking(report: Report, told: &EpochResult) -> Report {
    let EpochResult { truth, estimates: found, .. } = told;
    let row = |(place, (what, count)): (usize, &(Subject, f64))| {
        let beside = found.get(place);
        let row = Report::default()
            .say("rank", (place + 1).to_string())
            .say("in truth", what.to_string())
            .say("count", digits(Near(*count)))
            .say("found", beside.map_or("-".into(), |beside| beside.what.to_string()));
        compared(row, "its truth", beside.map_or([None; 5], Comparison::numbers))
    };
    let rows: Vec<_> = truth.iter().take(RANKS).enumerate().map(row).collect();
    let report = report.table(rows);
    if found.is_empty() {
        return report.note(
            "No name is common enough to stand out from the noise; more --clients or a larger \
             --epsilon help.",
        );
    }
    let first = |name: &Subject| truth.iter().take(RANKS).any(|(what, _)| name == what);
    let right = found.iter().take(RANKS).filter(|beside| first(&beside.what)).count();
    report.note(format!(
        "{} of {} names are found, and {right} of the true first {RANKS} are among the first \
         {RANKS}. Names whose counts differ by less than the error change places. The chance that a \
         name is told which nobody holds is kept to 5 %, nearly.",
        found.len(),
        truth.len(),
    ))
}

/// Pictures of estimate, interval and truth, all on one scale.
fn pictures(releases: &[[Option<f64>; 5]]) -> Vec<String> {
    let values =
        |[truth, estimate, _, low, high]: &[Option<f64>; 5]| [*truth, *estimate, *low, *high];
    let all: Vec<f64> = releases.iter().flat_map(values).flatten().collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let cell = |value: f64| {
        let place = (value - low) / (high - low).max(f64::MIN_POSITIVE);
        ((place * COLUMNS as f64) as usize).min(COLUMNS - 1)
    };
    let draw = |release: &[Option<f64>; 5]| {
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

/// Names that are listed.
const RANKS: usize = 10;
/// Width of a picture.
const COLUMNS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_collection::example;

    #[test]
    fn numbers_in_a_sentence_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (10.574, "10.57"),
            (589.0, "589"),
            (591.72, "591.7"),
            (-13804.6, "-13,805"),
        ] {
            assert_eq!(Near(value).to_string(), text);
        }
    }

    #[test]
    fn a_picture_has_all_releases_on_one_scale() {
        let release =
            |truth: f64, low: f64, high: f64| [truth, 0.5 * (low + high), 1.0, low, high].map(Some);
        let drawn = pictures(&[release(0.0, 0.0, 10.0), release(28.0, 12.0, 32.0)]);
        assert_eq!(drawn[0], "|----o-----");
        assert_eq!(drawn[1], "            ----------o-----|---");
    }

    #[test]
    fn names_that_are_not_found_leave_the_commonest_truth() {
        let truth =
            [("Emma", 7.0), ("Noah", 5.0)].map(|(name, n)| (Subject::Label(name.into()), n));
        let release = Release { estimates: vec![], ..example::release() };
        let told = EpochResult::new(Story::Names, release, truth.into());
        let json = told.to_json().unwrap();
        assert_eq!((&json["truth"], &json["estimate"]), (&json!(7.0), &Value::Null));
        assert_eq!((&json["label"], &json["interval"]), (&json!("Emma"), &Value::Null));
        assert!(told.sentence().contains("Emma, is held by 7 newborns"));
    }
}
