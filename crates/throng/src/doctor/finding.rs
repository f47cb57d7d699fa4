//! Findings, each with its remedy.

use crate::report::Report;
use serde_json::{Value, json};
use std::fmt::Display;

/// All findings, in the order of the examination.
#[derive(Default)]
pub struct Findings(Vec<Finding>);

struct Finding {
    /// The thing that was checked.
    check: &'static str,
    state: State,
    says: String,
    /// The way to repair it.
    remedy: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Warn,
    Fail,
    /// A failure that time alone may heal.
    NotYet,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail | Self::NotYet => "FAIL",
        }
    }

    fn fails(self) -> bool {
        matches!(self, Self::Fail | Self::NotYet)
    }
}

impl Findings {
    /// Records that all is well.
    pub fn ok(&mut self, check: &'static str, says: impl Display) {
        self.push(check, State::Ok, says, None);
    }

    /// Records that it works, but that somebody should look at it.
    pub fn warn(&mut self, check: &'static str, says: impl Display, remedy: &str) {
        self.push(check, State::Warn, says, Some(remedy));
    }

    /// Records that it does not work. Returns nothing to go on with: whoever cannot do without ends
    /// there.
    pub fn fail(&mut self, check: &'static str, says: impl Display, remedy: &str) -> Option<()> {
        self.push(check, State::Fail, says, Some(remedy));
        None
    }

    /// Records that it does not work yet.
    pub fn not_yet(&mut self, check: &'static str, says: impl Display, remedy: &str) {
        self.push(check, State::NotYet, says, Some(remedy));
    }

    /// The value; without one, records that it does not work.
    pub fn need<T>(
        &mut self,
        check: &'static str,
        found: Result<T, impl Display>,
        remedy: &str,
    ) -> Option<T> {
        found.map_err(|error| self.fail(check, error, remedy)).ok()
    }

    /// Records that all is well, in the words of `Ok`, or that it does not work.
    pub fn judge(
        &mut self,
        check: &'static str,
        found: Result<impl Display, impl Display>,
        remedy: &str,
    ) {
        if let Some(says) = self.need(check, found, remedy) {
            self.ok(check, says);
        }
    }

    /// Appends the findings of others.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// True if something fails.
    pub fn fails(&self) -> bool {
        self.0.iter().any(|one| one.state.fails())
    }

    /// True if waiting may help: something fails, and all that fails may pass.
    pub fn may_pass(&self) -> bool {
        self.fails() && self.0.iter().all(|one| one.state != State::Fail)
    }

    /// The report, with a line for each finding.
    pub fn report(self) -> Report {
        let failures = self.0.iter().filter(|one| one.state.fails()).count();
        let warnings = self.0.iter().filter(|one| one.state == State::Warn).count();
        let checks: Vec<Value> = self.0.iter().map(Finding::json).collect();
        let report = Report::default()
            .well(failures == 0)
            .field("ok", failures == 0)
            .field("failures", failures)
            .field("warnings", warnings)
            .field("checks", checks);
        let say = |report: Report, one: &Finding| report.say(one.state.name(), one.line());
        self.0.iter().fold(report, say).note(match (failures, warnings) {
            (0, 0) => "All is well.".into(),
            (0, _) => format!("All works; {warnings} of it to look at."),
            _ => format!("{failures} to put right."),
        })
    }

    /// The lines that people read.
    #[cfg(test)]
    pub fn lines(&self) -> Vec<String> {
        self.0.iter().map(|one| format!("{} {}", one.state.name(), one.line())).collect()
    }

    fn push(
        &mut self,
        check: &'static str,
        state: State,
        says: impl Display,
        remedy: Option<&str>,
    ) {
        let (says, remedy) = (says.to_string(), remedy.map(String::from));
        self.0.push(Finding { check, state, says, remedy });
    }
}

impl Finding {
    fn line(&self) -> String {
        let Self { check, says, .. } = self;
        match &self.remedy {
            None => format!("{check}: {says}"),
            Some(remedy) => format!("{check}: {says}; {remedy}"),
        }
    }

    fn json(&self) -> Value {
        let Self { check, state, says, remedy, .. } = self;
        json!({ "check": check, "state": state.name(), "says": says, "remedy": remedy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_waits_only_if_all_that_fails_may_pass() {
        let mut findings = Findings::default();
        findings.ok("a", "fine");
        findings.warn("b", "so so", "look");
        assert!(!findings.may_pass());
        findings.not_yet("c", "not there", "wait");
        assert!(findings.may_pass());
        findings.fail("d", "broken", "mend it");
        assert!(!findings.may_pass());
    }
}
