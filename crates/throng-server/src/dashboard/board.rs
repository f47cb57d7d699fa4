//! The page of one board: its purpose and its rounds.

use super::health::State;
use super::site::{self, Rounds};
use super::time::Moment;
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use throng_account::show::Count;
use throng_mix::Why;
use throng_wire::hex;

/// The page.
pub(crate) fn board(
    now: u64,
    rounds: &Rounds,
    words: &[String],
    file: String,
    frame: Frame,
) -> Result<String, Error> {
    let brief = Brief::new(now, rounds);
    let rounds = rounds.over.iter().map(|round| Round::new(rounds, round)).collect();
    shown(&Page { frame, brief, words, rounds, file })
}

/// A board among others.
pub struct Brief {
    pub id: String,
    pub title: String,
    pub running: bool,
    pub when: String,
    /// The reports of the last round that is over.
    pub reports: String,
    pub state: State,
}

impl Brief {
    /// The state of a board, and how its last round went.
    pub fn new(now: u64, rounds: &Rounds) -> Self {
        let route = &rounds.route;
        let running = route.epoch_at(now);
        let when = match running {
            Some(round) => format!("round {round}, {} in all", route.epochs),
            None if now < route.schedule.start => {
                format!("begins {}", Moment(route.schedule.start))
            }
            None => "over".to_owned(),
        };
        let last = rounds.over.first().map(|round| Round::new(rounds, round));
        let posted = last.as_ref().and_then(|round| round.notice.as_ref());
        Self {
            id: route.id.to_string(),
            title: route.title.clone(),
            running: running.is_some(),
            when,
            reports: posted.map_or_else(|| "–".to_owned(), |posted| posted.reports.to_string()),
            state: last.map_or_else(|| State::plain("none is over"), |round| round.state),
        }
    }
}

impl Round {
    fn new(rounds: &Rounds, round: &site::Round) -> Self {
        let (route, number) = (&rounds.route, round.number);
        let hops = route.chain.hops();
        let state = match (&round.notice, round.dropped) {
            (Some((_, 0)), _) => State::ok("published"),
            (Some((_, missing)), _) => {
                State::warn(format!("{missing} of {hops} signatures missing"))
            }
            (None, Some(Why::Short)) => State::plain("dropped: too few reports"),
            (None, Some(_)) => State::bad("dropped: nothing came in time"),
            (None, None) => State::plain("on the way"),
        };
        Self {
            number,
            out: matches!(round.notice, Some((_, 0))),
            closed: Moment(route.schedule.deadline(number)),
            state,
            notice: round.notice.map(|(notice, _)| Numbers {
                reports: Count(notice.reports),
                messages: Count(notice.messages),
                digest: hex(&notice.digest),
            }),
        }
    }
}

struct Round {
    number: u64,
    /// True if there is a bulletin.
    out: bool,
    closed: Moment,
    state: State,
    notice: Option<Numbers>,
}

/// The numbers of a notice, as they are shown.
struct Numbers {
    reports: Count,
    messages: Count,
    digest: String,
}

#[derive(Template)]
#[template(path = "board.html")]
struct Page<'a> {
    frame: Frame,
    brief: Brief,
    words: &'a [String],
    rounds: Vec<Round>,
    file: String,
}

/// The number of rounds that are shown.
pub(crate) const ROUNDS: usize = 100;
