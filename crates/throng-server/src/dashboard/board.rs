//! One board: what takes place, and what became of its rounds.

use super::health::State;
use super::time::Moment;
use super::{Frame, shown};
use crate::Error;
use crate::party::Party;
use crate::server::Node;
use askama::Template;
use std::collections::BTreeMap;
use throng_account::show::Count;
use throng_mix::Why;
use throng_wire::{Notice, hex};

/// The page.
pub(crate) fn board(node: &Node, party: &Party, frame: Frame) -> Result<String, Error> {
    let rounds = rounds(node, party, SHOWN)?;
    shown(&Page {
        frame,
        brief: Brief::new(node, party, rounds.first()),
        words: party.words(),
        file: party.file(),
        rounds,
    })
}

/// A board among others.
pub struct Brief {
    pub id: String,
    pub title: String,
    pub running: bool,
    pub when: String,
    /// Of the last round that is over.
    pub reports: String,
    pub state: State,
}

/// How far a board is, and how its last round went.
pub fn brief(node: &Node, party: &Party) -> Result<Brief, Error> {
    Ok(Brief::new(node, party, rounds(node, party, 1)?.first()))
}

impl Brief {
    fn new(node: &Node, party: &Party, last: Option<&Round>) -> Self {
        let (route, now) = (party.route(), node.now());
        let running = route.epoch_at(now);
        let when = match running {
            Some(round) => format!("round {round}, {} in all", route.epochs),
            None if now < route.schedule.start => {
                format!("begins {}", Moment(route.schedule.start))
            }
            None => "over".to_owned(),
        };
        let shown = last.and_then(|round| round.notice.as_ref());
        Self {
            id: party.id().to_string(),
            title: route.title.clone(),
            running: running.is_some(),
            when,
            reports: shown.map_or_else(|| "–".to_owned(), |notice| notice.reports.to_string()),
            state: last.map_or_else(|| State::plain("none is over"), |round| round.state.clone()),
        }
    }
}

/// The last rounds that are over, newest first.
fn rounds(node: &Node, party: &Party, most: usize) -> Result<Vec<Round>, Error> {
    let (board, route, now) = (party.noticeboard()?, party.route(), node.now());
    let notices = board.notices()?.into_iter();
    let notices: BTreeMap<u64, (Notice, usize)> =
        notices.map(|(notice, missing)| (notice.round, (notice, missing))).collect();
    let end = route.schedule.epoch_at(now).map_or(0, |epoch| (epoch + 1).min(route.epochs));
    let over = (0..end).rev().filter(|round| now >= route.schedule.deadline(*round));
    let hops = route.chain.hops();
    let round = |number: u64| {
        let notice = notices.get(&number);
        let state = match notice {
            Some((_, 0)) => State::ok("published"),
            Some((_, missing)) => State::warn(format!("{missing} of {hops} signatures missing")),
            None => match board.bulletin(number).err() {
                Some(Error::Dropped(Why::Short)) => State::plain("dropped: too few reports"),
                Some(Error::Dropped(_)) => State::bad("dropped: nothing came in time"),
                _ => State::plain("on the way"),
            },
        };
        Round {
            number,
            out: notice.is_some_and(|(_, missing)| *missing == 0),
            closed: Moment(route.schedule.deadline(number)),
            state,
            notice: notice.map(|(notice, _)| Posted {
                reports: Count(notice.reports),
                messages: Count(notice.messages),
                digest: hex(&notice.digest),
            }),
        }
    };
    Ok(over.take(most).map(round).collect())
}

struct Round {
    number: u64,
    /// Whether there is a bulletin.
    out: bool,
    closed: Moment,
    state: State,
    notice: Option<Posted>,
}

/// What was shown.
struct Posted {
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

/// Rounds that are shown.
const SHOWN: usize = 100;
