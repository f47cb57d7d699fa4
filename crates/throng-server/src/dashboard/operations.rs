//! The fate of batches, the other parties and the losses, for the operators of an analyzer.
//!
//! Nothing here is about one report, or about fewer than a crowd: losses are told as published
//! releases tell them, and slots are counted as whole batches.

use super::site::{Machine, Outcome, Place, Site, Survey};
use super::strip::Fate;
use super::time::{Epochs, Span};
use super::{Frame, shown};
use crate::Error;
use crate::run::Task;
use askama::Template;
use std::array::from_fn;
use std::cmp::Reverse;
use std::sync::Arc;
use throng_collection::Release;

/// Renders the page.
pub(crate) fn operations(site: &Site, machine: &Machine, frame: Frame) -> Result<String, Error> {
    let mut places: Vec<&Place> = site.places.iter().collect();
    // What waits or is late comes first.
    places.sort_by_cached_key(|&place| (Reverse(place.behind()), &place.route.title));
    let refused = listed(machine.refused.iter().copied());
    let failures = listed(machine.failures.iter().map(|(task, count)| (purpose(*task), *count)));
    shown(&Page { frame, site, machine, refused, failures, places })
}

/// The sum of counts, and each of them by name on one line.
fn listed(counts: impl Iterator<Item = (&'static str, u64)>) -> (u64, String) {
    let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    let each = counts.iter().map(|(name, count)| format!("{count} {name}"));
    (counts.iter().map(|(_, count)| count).sum(), each.collect::<Vec<_>>().join(", "))
}

/// The purpose of a task in words.
fn purpose(task: Task) -> &'static str {
    match task {
        Task::HandOver => "handing over",
        Task::Keys => "asking for keys",
        Task::Notices => "asking for signatures",
        Task::Work => "counting and tidying",
    }
}

impl Place {
    /// The epochs of the newest release or notice, and the time since they closed.
    fn newest(&self) -> Option<(Epochs, Span)> {
        let (first, last) = match &self.outcome {
            Outcome::Released(asked) => {
                let newest = asked.releases.iter().max_by_key(|release| release.last)?;
                (newest.first, newest.last)
            }
            Outcome::Posted(rounds) => (rounds.newest?, rounds.newest?),
            Outcome::HandedOver => return None,
        };
        let closed = self.route.schedule.deadline(last);
        Some((Epochs(first, last), Span(self.now.saturating_sub(closed))))
    }

    /// The number of epochs that take no more reports and of which nothing is decided here.
    fn behind(&self) -> u64 {
        let fates = self.fates();
        let waiting = fates.iter().filter(|fates| fates.fate == throng_mix::Fate::Waiting);
        waiting.map(|fates| fates.last - fates.first + 1).sum()
    }

    /// True if something that arrived is not decided although its deadline is over. An epoch of
    /// which nothing arrived is as it should be where too few people reported.
    fn is_late(&self) -> bool {
        self.behind() > 0 && self.counts().waiting > 0
    }

    /// The messages that each party left out, in all releases and in the newest. A board tells what
    /// it shows and not what was left out.
    fn left(&self) -> Option<Vec<Losses<'_>>> {
        let releases = match &self.outcome {
            Outcome::Released(Survey { releases, .. }) => &releases[..],
            Outcome::Posted(_) => return None,
            Outcome::HandedOver => &[],
        };
        let parties = self.route.chain.parties().enumerate().filter(|_| !releases.is_empty());
        let losses = parties.map(|(place, (hop, party))| {
            let analyzer = hop == self.route.chain.hops();
            let left = |release: &Arc<Release>| {
                let loss = release.losses.get(place)?;
                let nonsense = if analyzer { release.nonsense } else { 0 };
                Some([loss.replayed, loss.malformed, nonsense])
            };
            let add = |a: [u64; 3], b: [u64; 3]| from_fn(|sort| a[sort].saturating_add(b[sort]));
            let all = releases.iter().filter_map(left).fold([0; 3], add);
            let newest = releases.last().and_then(left).unwrap_or_default();
            Losses { party: &party.name, analyzer, sums: [all, newest] }
        });
        Some(losses.collect())
    }
}

struct Losses<'a> {
    party: &'a str,
    /// True for the analyzer, which alone can tell what makes no sense.
    analyzer: bool,
    /// The messages that were repeated, malformed and nonsense, in all releases and in the newest.
    sums: [[u64; 3]; 2],
}

#[derive(Template)]
#[template(path = "operations.html")]
struct Page<'a> {
    frame: Frame,
    site: &'a Site,
    machine: &'a Machine,
    /// The number of batches that were refused, and their reasons.
    refused: (u64, String),
    /// The number of attempts that failed, and their tasks.
    failures: (u64, String),
    places: Vec<&'a Place>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::dashboard::overview::overview;
    use crate::dashboard::site::{Keys, Truth};
    use crate::dashboard::status::status;
    use std::collections::BTreeMap;
    use throng_collection::example;
    use throng_mix::{Slot, Stage, Why};
    use throng_wire::Route;

    const NAME: &str = "<b>\"Nord\" & 'Süd'";

    /// A question that waits for a key, as the party at this hop sees it. All names are hostile.
    fn site(hop: u8) -> Site {
        let mut collection = example::collection();
        collection.terms.question.text = NAME.into();
        collection.chain.mixes[0].name = NAME.into();
        collection.chain.analyzer.name = NAME.into();
        let route = Arc::new((&collection).into());
        let keys = || Keys { window: 0, signed: false, unknown: vec![1, 2], unsigned: vec![] };
        let outcome = if hop == 1 {
            Outcome::HandedOver
        } else {
            Outcome::Released(Survey {
                collection: collection.into(),
                releases: vec![],
                ledger: vec![],
                fates: vec![],
                truth: Truth::new(),
            })
        };
        let place = Place {
            now: 1_000,
            route,
            hop,
            outcome,
            slots: vec![],
            keys: vec![keys()],
            needed: Some(keys()),
            destroyed: throng_mix::Destroyed::default(),
            doubt: None,
            stepped: 900,
            progress: None,
        };
        Site { now: 1_000, places: vec![place], heard: BTreeMap::new() }
    }

    fn machine(counts: [u64; 4]) -> Machine {
        let failures = from_fn(|place| (Task::ALL[place], counts[place]));
        Machine { writable: true, conflicts: 0, failures, refused: vec![("conflict", 2)] }
    }

    fn frame(role: Role) -> Frame {
        Frame::new(role, false, None, "/")
    }

    #[test]
    fn hostile_names_stay_text() {
        let escaped = "&#60;b&#62;&#34;Nord&#34; &#38; &#39;Süd&#39;";
        let machine = machine([0; 4]);
        let pages = [
            operations(&site(2), &machine, frame(Role::Analyzer)),
            status(&site(1), &machine, frame(Role::Mix)),
            overview(&site(2), "", frame(Role::Analyzer)),
            overview(&site(2), "part=1&q=<b>", frame(Role::Analyzer)),
        ];
        for html in pages.map(Result::unwrap) {
            assert!(html.contains(escaped) && !html.contains("<b>"), "{html}");
        }
    }

    #[test]
    fn an_epoch_that_was_short_is_decided_and_one_of_which_nothing_is_heard_is_not() {
        let mut site = site(2);
        let place = &mut site.places[0];
        place.route = Route { epochs: 4, ..Route::clone(&place.route) }.into();
        place.now = place.route.schedule.deadline(1);
        let short = Stage::Dropped { why: Why::Short, reports: 0 };
        place.slots = vec![Slot::new(0, 0, None, short)];
        assert_eq!(place.behind(), 1);
        let html = operations(&site, &machine([0; 4]), frame(Role::Analyzer)).unwrap();
        assert!(
            html.contains("1 without a release") && html.contains("1: too few reports"),
            "{html}"
        );
        site.places[0].slots.push(Slot::new(1, 1, None, Stage::Released));
        assert_eq!(site.places[0].behind(), 0);
        let html = operations(&site, &machine([0; 4]), frame(Role::Analyzer)).unwrap();
        assert!(!html.contains("without a release"), "{html}");
    }

    #[test]
    fn failures_are_told_by_the_purpose_of_their_tasks() {
        let page = |failures| operations(&site(2), &machine(failures), frame(Role::Analyzer));
        let html = page([3, 1, 0, 12]).unwrap();
        let told =
            "3 handing over, 1 asking for keys, 12 counting and tidying; each is tried again";
        assert!(html.contains("<dd>16</dd>") && html.contains(told), "{html}");
        assert!(html.contains("<dd>2</dd><dd class=\"quiet\">2 conflict</dd>"), "{html}");
        let none = "<dd>0</dd><dd class=\"quiet\">since the start</dd>";
        assert!(page([0; 4]).unwrap().contains(none));
    }
}
