//! The findings of an audit, for people and for programs.

use super::chain::Passage;
use crate::args::Audit as Request;
use crate::calibrate::counting_on;
use crate::report::{Report, Rows, digits};
use throng_account::show::{Lower, Near, Upper};
use throng_mechanism::{Ask, Audit, Finding, Frequency};

/// The findings, and what would have been found.
pub struct Found {
    /// The judgement.
    pub audit: Audit,
    /// Runs that it rests on.
    pub runs: u64,
    /// Runs that it was to rest on.
    pub intended: u64,
    /// The seed of all of them.
    pub seed: u64,
    /// The smallest factor of weaker noise that the law would have shown.
    pub seen_by_law: Option<f64>,
    /// The smallest factor tried that the profile would have shown.
    pub seen_by_profile: Option<f64>,
    /// What a chain did, if the runs went through one.
    pub passage: Option<Passage>,
}

/// The whole answer.
pub fn report(request: &Request, ask: &Ask, found: &Found) -> Report {
    let Found { audit, .. } = found;
    let rows: Vec<Report> = audit.findings.iter().map(point).collect();
    let shown: Vec<Report> = rows.iter().step_by(5).cloned().collect();
    let laws: Vec<Report> = audit.laws.iter().map(frequency).collect();
    let head = POINT.to_vec();
    let report = Report::default()
        .line("mechanism", "mechanism", request.mechanism.name())
        .line("n", "reports", ask.reports)
        .field("honest", ask.crowd.get())
        .line("runs", "runs in each world", found.runs)
        .field("stopped_early", found.runs < found.intended)
        .line("delta", "delta", Upper(ask.delta.get()))
        .line("epsilon_claimed", "epsilon claimed, at most", Upper(audit.epsilon_claimed))
        .line("epsilon_lower", "epsilon measured, at least", Lower(audit.epsilon_lower))
        .field("confidence", audit.confidence)
        .say("confidence, of all of this", audit.confidence.to_string())
        .line("seed", "seed", found.seed)
        .line("keeps_profile", "worlds are told apart as little as claimed", audit.keeps_profile())
        .line("keeps_law", "reports follow their law", audit.keeps_law())
        .line("consistent", "consistent with the claim", found.consistent());
    let report = weakest(passed(report, found), found)
        .field("profile", rows)
        .rows("law", laws)
        // The head stands there even where nothing was found.
        .table(Rows { head, ..shown.into() });
    let stopped = if found.runs < found.intended {
        report.note(format!(
            "Stopped after {} of {} runs; what is said holds for these.",
            found.runs, found.intended
        ))
    } else {
        report
    };
    let stopped = counting_on(stopped, request.wish.promise.crowd.corrupt);
    let stopped = if found.passage.is_some() { stopped.note(SEES_LESS) } else { stopped };
    match caught(found) {
        Some(text) => stopped.field("caught", text.clone()).note(text).well(false),
        None => stopped.note(
            "An event of probability delta is not seen in so few runs, so the measured epsilon may \
             stay far below the claimed one.",
        ),
    }
}

impl Found {
    fn consistent(&self) -> bool {
        let faults = self.passage.as_ref().is_some_and(|passage| !passage.faults.is_empty());
        self.audit.consistent() && !faults
    }
}

/// Adds what the chain did, if there was one.
fn passed(report: Report, found: &Found) -> Report {
    let Some(Passage { releases, late, faults }) = &found.passage else { return report };
    let shown: Vec<&str> = faults.iter().take(FAULTS).map(String::as_str).collect();
    report
        .line("releases", "releases held against their reports", *releases)
        .line("late", "runs left out, too late or given up", *late)
        .line("wrong_releases", "releases with a fault", faults.len())
        .field("faults", shown)
}

/// The smallest bug that would have been found, with probability 0.95.
fn weakest(report: Report, found: &Found) -> Report {
    let said = |seen: Option<f64>, none: &str| {
        seen.map_or(none.to_owned(), |factor| format!("noise weaker by {}", digits(Upper(factor))))
    };
    let by_law = if found.audit.laws.is_empty() {
        "nothing: no frequency of noise is known".to_owned()
    } else {
        said(found.seen_by_law, "nothing below a factor of 64")
    };
    report
        .field("seen_by_law", found.seen_by_law)
        .field("seen_by_profile", found.seen_by_profile)
        .say("would be seen in reports", by_law)
        .say("would be seen between worlds", said(found.seen_by_profile, "nothing below 16"))
}

/// The sentence that convicts.
fn caught(found: &Found) -> Option<String> {
    let audit = &found.audit;
    let excess = |found: &Finding| found.delta_lower - found.delta_claimed;
    let worst = audit.broken().max_by(|a, b| excess(a).total_cmp(&excess(b)));
    let profile = worst.map(|worst| {
        format!(
            "at epsilon {} delta is at least {}, but at most {} is claimed",
            digits(Near(worst.epsilon)),
            digits(Lower(worst.delta_lower)),
            digits(Upper(worst.delta_claimed))
        )
    });
    let law = audit.laws.iter().find(|law| law.broken()).map(|law| {
        format!(
            "noise has a probability from {} to {}, but {} by the law that was accounted for",
            digits(Lower(law.measured.lower)),
            digits(Upper(law.measured.upper)),
            digits(Near(law.chance))
        )
    });
    let more = (audit.epsilon_lower > audit.epsilon_claimed)
        .then(|| "epsilon is larger than claimed".to_owned());
    let fault = found.passage.as_ref().and_then(|passage| passage.faults.first().cloned());
    let all: Vec<String> = [profile.or(more), law, fault].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("CAUGHT: {}.", all.join("; ")))
}

fn point(found: &Finding) -> Report {
    Report::default()
        .line("epsilon", POINT[0], Near(found.epsilon))
        .line("delta_lower", POINT[1], Lower(found.delta_lower))
        .line("delta_claimed", POINT[2], Upper(found.delta_claimed))
        .field("broken", found.broken())
}

fn frequency(law: &Frequency) -> Report {
    Report::default()
        .line("trials", "coins in reports on one value", law.trials)
        .line("chance", "noise by the law", Near(law.chance))
        .line("lower", "measured, at least", Lower(law.measured.lower))
        .line("upper", "measured, at most", Upper(law.measured.upper))
        .field("broken", law.broken())
}

/// Faults that are shown to programs.
const FAULTS: usize = 20;

const SEES_LESS: &str = "Between worlds, only the numbers of releases are compared: what a mix or \
     an analyzer learns besides, such as order and time, is not seen here. Noise is counted in the \
     reports that were sent, and every release was held against them.";

const POINT: [&str; 3] = ["epsilon", "delta measured, at least", "delta claimed, at most"];
