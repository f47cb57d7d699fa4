//! The windows whose keys are destroyed.

use std::collections::BTreeSet;
use throng_wire::Route;

/// A set of windows, each known by its first epoch: all before one of them, and some beyond it.
///
/// Keys are destroyed window by window, in whatever order their epochs are settled, so that one
/// window that waits keeps no other alive.
///
/// ```
/// use throng_mix::Destroyed;
/// use throng_wire::{Route, example};
///
/// let route = Route { epochs: 5, ..example::route() };
/// let mut destroyed = Destroyed::default();
/// destroyed.insert(1, &route);
/// destroyed.insert(2, &route);
/// assert!(destroyed.contains(1) && !destroyed.contains(0) && !destroyed.contains(3));
/// assert_eq!((destroyed.first_left(), destroyed.to_string()), (0, "0 1 2".into()));
///
/// // Once there is no gap, the end of them is all that has to be known.
/// destroyed.insert(0, &route);
/// assert_eq!((destroyed.first_left(), destroyed.to_string()), (3, "3".into()));
/// assert_eq!(Destroyed::parse("3"), Some(destroyed));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Destroyed {
    /// The first window that is not in the set.
    before: u64,
    /// The windows of the set beyond that one.
    beyond: BTreeSet<u64>,
}

impl Destroyed {
    /// Adds a window.
    pub fn insert(&mut self, window: u64, route: &Route) {
        if !self.contains(window) {
            self.beyond.insert(window);
        }
        while self.beyond.remove(&self.before) {
            self.before = route.window_epochs(self.before).end;
        }
    }

    /// True if the window that begins with this epoch is in the set.
    pub fn contains(&self, window: u64) -> bool {
        window < self.before || self.beyond.contains(&window)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.before == 0 && self.beyond.is_empty()
    }

    /// The first window that is not in the set.
    pub fn first_left(&self) -> u64 {
        self.before
    }

    /// Reads the text that `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(|number| number.parse::<u64>().ok());
        let before = numbers.next()??;
        let beyond = numbers.collect::<Option<BTreeSet<u64>>>()?;
        let ahead = beyond.first().is_none_or(|first| *first > before);
        ahead.then_some(Self { before, beyond })
    }
}

impl std::fmt::Display for Destroyed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.before)?;
        self.beyond.iter().try_for_each(|window| write!(f, " {window}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_wire::{Below, Schedule, example};

    #[test]
    fn windows_of_several_epochs_close_their_gaps_and_the_last_may_be_shorter() {
        let below = Below::Merge { window: 3 };
        let schedule = Schedule { below, ..example::schedule() };
        let route = Route { schedule, epochs: 8, ..example::route() };
        let mut destroyed = Destroyed::default();
        for (window, left) in [(6, 0), (0, 3), (3, 8), (3, 8)] {
            destroyed.insert(window, &route);
            assert!(destroyed.contains(window));
            assert_eq!(destroyed.first_left(), left);
        }
    }

    #[test]
    fn a_text_that_nobody_wrote_is_refused() {
        for text in ["", " ", "a", "3 ", "3 2", "3 3", "3 a", "-1"] {
            assert_eq!(Destroyed::parse(text), None, "{text:?}");
        }
        let gap = Destroyed::parse("3 9 12").unwrap();
        assert!(gap.contains(2) && gap.contains(9) && !gap.contains(3) && !gap.contains(10));
    }
}
