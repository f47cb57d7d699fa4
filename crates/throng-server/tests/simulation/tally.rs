//! The events of all lists together: a simulation in which nothing happens proves nothing.

use std::collections::BTreeMap;
use std::fmt;

/// The numbers of events.
#[derive(Clone, Default)]
pub struct Tally(BTreeMap<Event, u64>);

/// An event that has to be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    Epoch,
    ShortEpoch,
    Release,
    Merged,
    OverBudget,
    GivenUp,
    Crash,
    Reboot,
    Replay,
    Word,
    /// A wall clock was set.
    Jump,
    /// A list in which the clock of every party was set wrong.
    JumpedEverywhere,
    /// A party did not believe its clock when it was to do something.
    Doubt,
    /// A party with a wrong clock believed it, because more than half of the others were wrong in
    /// the same way.
    Misled,
    /// A slot that began while some clock was wrong, and not early.
    InTime,
    /// A batch was refused because its epochs were not over.
    Early,
    Split,
    /// A key or a signature came late.
    Letter,
    /// A window whose keys had to go, and went.
    Settled,
    /// A list in which the first mix is the adversary.
    Byzantine,
    Forged,
    /// A forged batch was taken.
    Taken,
    Conflict,
    Notice,
    Bulletin,
}

impl Tally {
    pub fn count(&mut self, event: Event, number: u64) {
        *self.0.entry(event).or_default() += number;
    }

    pub fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(event, number)| self.count(*event, *number));
    }

    pub fn of(&self, event: Event) -> u64 {
        self.0.get(&event).copied().unwrap_or(0)
    }

    /// Checks that everything happened, and that three of ten epochs were short.
    pub fn assert_met(&self) {
        let unmet: Vec<Event> = ALL.into_iter().filter(|event| self.of(*event) == 0).collect();
        assert!(unmet.is_empty(), "never met: {unmet:?} in {self:?}");
        let (short, epochs) = (self.of(Event::ShortEpoch), self.of(Event::Epoch));
        assert!(10 * short >= 3 * epochs, "{short} of {epochs} epochs are short");
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

const ALL: [Event; 25] = [
    Event::Epoch,
    Event::ShortEpoch,
    Event::Release,
    Event::Merged,
    Event::OverBudget,
    Event::GivenUp,
    Event::Crash,
    Event::Reboot,
    Event::Replay,
    Event::Word,
    Event::Jump,
    Event::JumpedEverywhere,
    Event::Doubt,
    Event::Misled,
    Event::InTime,
    Event::Early,
    Event::Split,
    Event::Letter,
    Event::Settled,
    Event::Byzantine,
    Event::Forged,
    Event::Taken,
    Event::Conflict,
    Event::Notice,
    Event::Bulletin,
];
