//! The page of one board: its purpose and its rounds.

use super::health::State;
use super::site::{Round, Rounds};
use super::time::{Moment, rest};
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use throng_account::show::Count;
use throng_mix::Why;
use throng_wire::hex;

/// The page.
pub(crate) fn board(
    rounds: &Rounds,
    words: &[String],
    file: String,
    frame: Frame,
) -> Result<String, Error> {
    shown(&Page { frame, rounds, words, file })
}

impl Rounds {
    /// The round that takes messages.
    pub fn running(&self) -> Option<u64> {
        self.route.epoch_at(self.now)
    }

    /// The round that runs, in words.
    pub fn when(&self) -> String {
        match self.running() {
            Some(round) => format!("round {round}, {} in all", self.route.epochs),
            None => rest(&self.route.schedule, self.now),
        }
    }

    /// The reports and the state of the last round that is over.
    pub fn last(&self) -> (String, State) {
        let (last, none) = (self.over.first(), || "–".to_owned());
        let notice = last.and_then(|round| round.notice);
        let reports = notice.map_or_else(none, |(notice, _)| Count(notice.reports).to_string());
        (reports, last.map_or_else(|| State::plain("none is over"), |round| self.state(round)))
    }

    fn state(&self, round: &Round) -> State {
        match (&round.notice, round.dropped) {
            (Some((_, 0)), _) => State::ok("published"),
            (Some((_, missing)), _) => {
                let hops = self.route.chain.hops();
                State::warn(format!("{missing} of {hops} signatures missing"))
            }
            (None, Some(Why::Short)) => State::plain("dropped: too few reports"),
            (None, Some(_)) => State::bad("dropped: nothing came in time"),
            (None, None) => State::plain("on the way"),
        }
    }
}

#[derive(Template)]
#[template(path = "board.html")]
struct Page<'a> {
    frame: Frame,
    rounds: &'a Rounds,
    words: &'a [String],
    file: String,
}

/// The number of rounds that are shown.
pub(crate) const ROUNDS: usize = 100;
