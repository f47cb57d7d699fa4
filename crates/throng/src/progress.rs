//! How far long work is, on standard error.
//!
//! On a terminal a bar or a spinner is redrawn, and gone at the end. Elsewhere, in logs and behind
//! pipes, a plain line is written every ten seconds, so that short work is silent there. `--json`
//! changes nothing of it: that is about standard output.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Work that is under way. Nothing of it stays on a terminal when it is dropped.
pub struct Progress {
    bar: ProgressBar,
    /// The thread that tells of it ends when this is gone.
    _told: Sender<()>,
}

impl Progress {
    /// Work in `total` steps: on a terminal a bar with `rest` behind it.
    pub fn of(total: u64, what: &'static str, rest: &str) -> Self {
        let style = ProgressStyle::with_template(&format!("{{prefix}} {{wide_bar}} {rest}"));
        Self::new(ProgressBar::new(total), what, &style.expect("a constant template"))
    }

    /// Work of which nobody knows how much there is: on a terminal a spinner, after a second.
    pub fn busy(what: &'static str) -> Self {
        let style = ProgressStyle::with_template("{spinner} {prefix}, {elapsed} so far");
        Self::new(ProgressBar::new_spinner(), what, &style.expect("a constant template"))
    }

    /// Notes that more steps are done.
    pub fn inc(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// Notes that so many steps are done in all.
    pub fn set(&self, steps: u64) {
        self.bar.set_position(steps);
    }

    fn new(bar: ProgressBar, what: &'static str, style: &ProgressStyle) -> Self {
        let bar = bar.with_prefix(what).with_style(style.clone());
        let (told, gone) = channel();
        let (shown, terminal) = (bar.clone(), stderr().is_terminal());
        thread::spawn(move || {
            let pause = if terminal { SPIN_AFTER } else { LINE_EVERY };
            while gone.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                match (terminal, shown.length()) {
                    (true, None) => return shown.enable_steady_tick(SPIN_EVERY),
                    (true, Some(_)) => return,
                    (false, _) => eprintln!("{}", line(&shown)),
                }
            }
        });
        Self { bar, _told: told }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A plain line about work that is under way.
fn line(bar: &ProgressBar) -> String {
    let (what, elapsed) = (bar.prefix(), bar.elapsed());
    let Some(total) = bar.length() else {
        return format!("{what}: {} s so far", elapsed.as_secs());
    };
    let done = bar.position().min(total);
    let percent = 100 * done / total.max(1);
    if done == 0 {
        return format!("{what}: {percent} %");
    }
    let left = elapsed.as_secs_f64() * (total - done) as f64 / done as f64;
    format!("{what}: {percent} %, about {left:.0} s left")
}

/// A spinner that is gone at once would only flicker.
const SPIN_AFTER: Duration = Duration::from_secs(1);
const SPIN_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_known() {
        let bar = ProgressBar::hidden().with_prefix("auditing");
        assert_eq!(line(&bar), "auditing: 0 s so far");
        bar.set_length(200);
        assert_eq!(line(&bar), "auditing: 0 %");
        let long = Duration::from_secs(30);
        let bar = bar.with_elapsed(long);
        bar.inc(50);
        assert_eq!(line(&bar), "auditing: 25 %, about 90 s left");
        bar.inc(500);
        assert_eq!(line(&bar), "auditing: 100 %, about 0 s left");
    }
}
