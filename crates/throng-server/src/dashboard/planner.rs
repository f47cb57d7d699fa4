//! The choice of a mechanism: the questions of `throng plan` as a form, answered while a slider
//! moves.
//!
//! Mechanisms are calibrated beside the requests ([`desk`]). An answer shows what is known within a
//! moment and says what is still being computed; the script then asks again. Without a script the
//! visitor waits.

mod choice;
mod desk;

pub(crate) use desk::Desk;

use super::query::Query;
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use choice::{Choice, DIALS};
use desk::Found;
use std::sync::Arc;
use std::time::Duration;
use throng_account::show::{Count, Near, Upper};
use throng_chart::{Bar, Bars};
use throng_collection::report_bytes;
use throng_mechanism::{Ask, Key, Kind, Mechanism, Offer, Plan, Question};

/// Renders the page, or only the answer if the query has `part`.
pub(crate) fn planner(desk: &Arc<Desk>, query: &str, frame: Frame) -> Result<String, Error> {
    // Whoever sends the form without a script waits for the whole answer.
    let script = query.is_empty();
    let query = Query::parse(query);
    let choice = Choice::parse(&query);
    let patience = if query.part() || script { GLANCE } else { WAIT };
    let ask = choice.ask()?;
    let found = desk.look(&ask, patience);
    let page = Page::new(frame, choice, ask, found);
    if query.part() { shown(&page.as_answer()) } else { shown(&page) }
}

/// The question that a query asks, and the texts that a page makes of it, for the fuzz targets: a
/// link, command lines, and the state of every slider.
#[doc(hidden)]
pub fn planner_query(query: &str) -> Result<(Ask, Vec<String>), Error> {
    let query = Query::parse(query);
    let choice = Choice::parse(&query);
    let mut shown = vec![query.with("view", "x"), choice.command(), choice.writes(Key::BitSum)];
    for dial in &DIALS {
        shown.extend([choice.words(dial), choice.exact(dial)]);
        shown.extend(dial.words().get(choice.place(dial)).cloned());
    }
    Ok((choice.ask()?, shown))
}

#[derive(Template)]
#[template(path = "planner.html", blocks = ["answer"])]
struct Page {
    frame: Frame,
    choice: Choice,
    ask: Ask,
    plan: Plan,
    chart: String,
    /// The offers that do not fit into the picture.
    beyond: Vec<String>,
    /// The mechanisms whose answer is not known yet.
    waiting: Vec<&'static str>,
}

impl Page {
    fn new(frame: Frame, choice: Choice, ask: Ask, found: Found) -> Self {
        let unknown = found.iter().filter(|(_, found)| found.is_none());
        let waiting = unknown.map(|(key, _)| key.name()).collect();
        let known = found.into_iter().filter_map(|(key, found)| Some((key, found?)));
        let plan = Plan::of(&ask, known, bytes);
        let (chart, beyond) = picture(&plan);
        Self { frame, choice, ask, plan, chart, beyond, waiting }
    }

    /// The best mechanism, and the reason why it is the best.
    fn best(&self) -> Option<(Key, &str)> {
        let key = self.plan.offers.first()?.mechanism.key();
        let reason = &self.plan.reason;
        Some((key, reason.strip_prefix(key.name()).unwrap_or(reason).trim()))
    }
}

/// The largest effect of one liar, if there is a limit to it.
fn liar(offer: &Offer) -> Option<Upper> {
    Some(offer.mechanism.influence()).filter(|influence| influence.is_finite()).map(Upper)
}

/// Draws the errors beside those of the other models. A bar begins at zero, so that one many times
/// longer than the shortest would leave nothing of the rest: such an error is told in words.
fn picture(plan: &Plan) -> (String, Vec<String>) {
    let several = |key| plan.offers.iter().filter(|o| o.mechanism.key() == key).count() > 1;
    let offers = plan.offers.iter().map(|offer| {
        let key = offer.mechanism.key();
        let label = match offer.mechanism.messages() {
            messages if several(key) => format!("{key}, {messages} messages"),
            _ => key.to_string(),
        };
        (label, offer.heavy_error)
    });
    let others = [("the central model", plan.central), ("the local model", plan.local)];
    let others = others.into_iter().filter_map(|(name, error)| Some((name.to_owned(), error?)));
    let all: Vec<(String, f64)> = offers.chain(others).collect();
    let least = all.iter().map(|(_, error)| *error).fold(f64::INFINITY, f64::min);
    let (near, far): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, error)| *error <= WIDEST * least);
    let beyond = far.iter().map(|(name, error)| {
        format!("{name}, {} ({} times the least)", Near(*error), (error / least).round())
    });
    let beyond = beyond.collect();
    let bar = |(label, value)| Bar { label, value, low: f64::NAN, high: f64::NAN };
    let bars = Bars {
        title: "Standard error of each mechanism".into(),
        label: "standard error".into(),
        rows: near.into_iter().map(bar).collect(),
        most: 20,
    };
    (bars.page("errors"), beyond)
}

/// The question in words.
fn asked(ask: &Ask) -> String {
    let what = match ask.question {
        Question::Bit => "how many say yes".into(),
        Question::Real => "the mean of a number".into(),
        Question::Category { size } => {
            format!("how many hold each of {} answers", Count(size.into()))
        }
        Question::Text { bits, hashes, cohorts } => format!(
            "which texts are common, by filters of {bits} bits with {hashes} hash functions in \
             {cohorts} cohorts"
        ),
        Question::Attributes { count } => {
            format!("the commonest of {} things", Count(count.into()))
        }
        Question::State { periods, changes } => format!(
            "how many say yes in each of {} periods, with at most {changes} {}",
            Count(periods),
            if changes == 1 { "change" } else { "changes" }
        ),
    };
    let honest = match ask.crowd.get() {
        honest if honest == ask.reports => String::new(),
        honest => format!(", {} of them honest", Count(honest)),
    };
    let often = match ask.epochs {
        1 => "once, at".into(),
        epochs => format!("in each of {} epochs, which together keep", Count(epochs)),
    };
    format!(
        "To learn {what} from {} reports{honest}, {often} ε = {} and δ = {:e}",
        Count(ask.reports),
        ask.epsilon.get(),
        ask.delta.get()
    )
}

/// The number of bytes of a report through two mixes.
fn bytes(mechanism: &Mechanism) -> u64 {
    report_bytes(mechanism, 2)
}

/// The address in the book that explains a mechanism.
fn page(key: Key) -> String {
    format!("/docs/mechanisms/{}.md#{}", key.kind().page(), key.row().section)
}

/// The time that an answer waits for what is being computed, if a script asks again.
const GLANCE: Duration = Duration::from_millis(150);
/// The time that an answer waits if nothing would ask again.
const WAIT: Duration = Duration::from_secs(10);
/// The longest bar that is drawn, in multiples of the shortest.
const WIDEST: f64 = 25.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::dashboard::book::{Leaf, book};

    fn frame() -> Frame {
        Frame::new(Role::Analyzer, false, None, "/planner")
    }

    fn answer(query: &str, found: impl Fn(Key) -> Option<desk::Offers>) -> String {
        let choice = Choice::parse(&Query::parse(query));
        let ask = choice.ask().unwrap();
        let found = ask.question.keys().iter().map(|key| (*key, found(*key))).collect();
        Page::new(frame(), choice, ask, found).as_answer().render().unwrap()
    }

    #[test]
    fn what_is_not_known_yet_is_said_and_asked_for_again() {
        let html = answer("", |_| None);
        assert!(html.contains("data-again") && html.contains("burst-count"), "{html}");
        let ask = Choice::parse(&Query::parse("")).ask().unwrap();
        let quick = |key| (key != Key::BurstCount).then(|| ask.offers(key));
        let html = answer("", quick);
        assert!(html.contains("data-again") && html.contains("Best so far"), "{html}");
        assert!(html.contains("<svg") && html.contains("bit-sum"), "{html}");
        let refuse = |_| Some(Err(throng_mechanism::Error::NotAsked { why: "no <b>" }));
        let html = answer("", refuse);
        assert!(!html.contains("data-again") && html.contains("no &#60;b&#62;"), "{html}");
    }

    #[test]
    fn the_page_holds_what_was_chosen_and_the_numbers_of_the_plan() {
        let query = "value=attributes&n=20000&size=8&corrupt=0.1&epsilon_step=7";
        let html = planner(&Arc::default(), query, frame()).unwrap();
        let ask = Choice::parse(&Query::parse(query)).ask().unwrap();
        let offer = &Plan::new(&ask, bytes).offers[0];
        assert!(html.contains(&format!(">{}<", Near(offer.standard_error))), "{html}");
        for part in [
            "18,000 of them honest",
            "ε = 1.5",
            "value=\"attributes\" selected",
            "throng plan --value attributes --n 20000 --epsilon 1.5 --delta 1e-6 --epochs 1 --size 8 \
             --corrupt 0.1",
            "throng collection new question.toml --mechanism selection",
            "/docs/mechanisms/selection-and-queries.md#selection",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(!html.contains("data-again"));
    }

    #[test]
    fn every_mechanism_has_its_place_in_the_book() {
        for key in Key::ALL {
            let page = page(key);
            let (path, place) = page.strip_prefix("/docs/").unwrap().split_once('#').unwrap();
            let Ok(Leaf::Page(html)) = book(path, frame()) else { panic!("{path}") };
            assert!(html.contains(&format!(" id=\"{place}\"")), "{page}");
        }
    }
}
