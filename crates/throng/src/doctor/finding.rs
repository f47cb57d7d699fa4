//! Findings, each with its remedy.

use crate::report::Report;
use serde_json::{Value, json};

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
    /// True if time alone may heal it.
    passes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Warn,
    Fail,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        }
    }
}

impl Findings {
    /// Records that all is well.
    pub fn ok(&mut self, check: &'static str, says: impl Into<String>) {
        self.push(check, State::Ok, says.into(), None, false);
    }

    /// Records that it works, but that somebody should look at it.
    pub fn warn(
        &mut self,
        check: &'static str,
        says: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(check, State::Warn, says.into(), Some(remedy.into()), false);
    }

    /// Records that it does not work.
    pub fn fail(
        &mut self,
        check: &'static str,
        says: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(check, State::Fail, says.into(), Some(remedy.into()), false);
    }

    /// Records that it does not work yet.
    pub fn not_yet(
        &mut self,
        check: &'static str,
        says: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(check, State::Fail, says.into(), Some(remedy.into()), true);
    }

    /// Appends the findings of others.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// True if something fails.
    pub fn fails(&self) -> bool {
        self.0.iter().any(|one| one.state == State::Fail)
    }

    /// True if waiting may help: something fails, and all that fails may pass.
    pub fn may_pass(&self) -> bool {
        let mut failing = self.0.iter().filter(|one| one.state == State::Fail).peekable();
        failing.peek().is_some() && failing.all(|one| one.passes)
    }

    /// The report, with a line for each finding.
    pub fn report(self) -> Report {
        let count = |state| self.0.iter().filter(|one| one.state == state).count();
        let (warnings, failures) = (count(State::Warn), count(State::Fail));
        let checks: Vec<Value> = self.0.iter().map(Finding::json).collect();
        let mut report = Report::default()
            .field("ok", failures == 0)
            .field("failures", failures)
            .field("warnings", warnings)
            .field("checks", checks);
        for finding in &self.0 {
            report = report.say(finding.state.name(), finding.line());
        }
        report = report.note(match (failures, warnings) {
            (0, 0) => "All is well.".into(),
            (0, _) => format!("All works; {warnings} of it to look at."),
            _ => format!("{failures} to put right."),
        });
        if failures > 0 { report.failing() } else { report }
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
        says: String,
        remedy: Option<String>,
        passes: bool,
    ) {
        self.0.push(Finding { check, state, says, remedy, passes });
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
