//! The status of a mix, for whoever runs it and for whoever relies on it.
//!
//! The only number of reports on it is the one that the next party is told as well: that of a batch
//! which has left.

use super::health::State;
use super::site::{Machine, Place, Site};
use super::strip::Fate;
use super::time::{Epochs, Moment, elapsed, rest};
use super::{Frame, shown};
use crate::Error;
use askama::Template;
use throng_mix::{Slot, Stage};

/// Renders the page.
pub(crate) fn status(site: &Site, machine: &Machine, frame: Frame) -> Result<String, Error> {
    let mut places: Vec<&Place> = site.places.iter().collect();
    // Running collections come first, and then the order is by question.
    places.sort_by_key(|&place| (place.running().is_none(), &place.route.title));
    let name = places.first().map_or("", |place| place.name());
    let same = places.iter().all(|place| place.name() == name);
    shown(&Page { frame, title: if same { name } else { "Status" }, site, machine, places })
}

impl Place {
    /// The name of this server in the chain.
    fn name(&self) -> &str {
        self.route.chain.party(self.hop).map_or("", |party| &party.name)
    }

    /// The state of the crowd at the first mix, as far as it is told.
    fn crowd(&self) -> Option<State> {
        Some(match self.progress?.at_least {
            None => State::plain("not yet a crowd"),
            Some(count) => State::ok(format!("a crowd came: at least {count}")),
        })
    }

    /// The epochs and reports of the newest batch that left or is ready to.
    fn newest_left(&self) -> Option<(Epochs, u64)> {
        let left = |slot: &Slot| {
            let sealed = matches!(slot.stage, Stage::Sealed(_) | Stage::Delivered { .. });
            let reports = self.reports(slot).filter(|_| sealed)?;
            Some((Epochs(slot.first, slot.last), reports))
        };
        self.slots.iter().rev().find_map(left)
    }
}

#[derive(Template)]
#[template(path = "status.html")]
struct Page<'a> {
    frame: Frame,
    title: &'a str,
    site: &'a Site,
    machine: &'a Machine,
    places: Vec<&'a Place>,
}
