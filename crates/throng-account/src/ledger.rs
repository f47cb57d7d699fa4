//! What a collection has cost one contributor, epoch by epoch, and a cap it does not pass.

use crate::{
    BitSum, Blanket, ClonePair, Composition, Declared, Delta, Epsilon, Error, Profile, RealSum,
    TwoMessageCount,
};

/// One thing a contributor took part in, as plain data.
///
/// ```
/// # use throng_account::{Delta, Epsilon, Ledger};
/// use throng_account::{Declared, Event};
///
/// let mut ledger = Ledger::new(Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let survey = Event::Declared(Declared::new(Epsilon::new(0.3)?, 0.0)?);
/// let total = ledger.charge(0, survey)?;
/// assert!((total.get() - 0.3).abs() < 1e-4);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A report of some ε₀-LDP randomizer in a shuffled crowd.
    Shuffled(ClonePair),
    /// A report of a randomizer whose blanket is known.
    Blanket(Blanket),
    /// A `bit-sum`.
    BitSum(BitSum),
    /// A `real-sum`.
    RealSum(RealSum),
    /// A `two-message-count`.
    TwoMessageCount(TwoMessageCount),
    /// Anything of which only (ε, δ) is known.
    Declared(Declared),
}

impl Event {
    fn profile(&self) -> &dyn Profile {
        match self {
            Self::Shuffled(pair) => pair,
            Self::Blanket(blanket) => blanket,
            Self::BitSum(protocol) => protocol,
            Self::RealSum(protocol) => protocol,
            Self::TwoMessageCount(protocol) => protocol,
            Self::Declared(declared) => declared,
        }
    }
}

/// One line of the ledger.
///
/// ```
/// # use throng_account::{Declared, Delta, Epsilon, Event, Ledger};
/// # let mut ledger = Ledger::new(Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let survey = Event::Declared(Declared::new(Epsilon::new(0.3)?, 0.0)?);
/// ledger.charge(4, survey)?;
/// ledger.charge(5, survey)?;
/// // Each line has the total after it.
/// let [first, second] = ledger.entries() else { unreachable!() };
/// assert_eq!((first.epoch, second.epoch), (4, 5));
/// assert!(first.total < second.total && second.total == ledger.total());
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The epoch it belongs to.
    pub epoch: u64,
    /// What was taken part in.
    pub event: Event,
    /// Total ε after it, at the ledger's δ.
    pub total: Epsilon,
}

/// An append-only record of spending under a cap on ε at a fixed δ.
///
/// Crowds and parameters of future entries may not be chosen by looking at past releases; the total is
/// that of a fixed plan (`docs/privacy.md`, 5.6).
///
/// ```
/// # use throng_account::{Declared, Delta, Epsilon, Event};
/// use throng_account::{Error, Ledger};
///
/// let mut ledger = Ledger::new(Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let survey = Event::Declared(Declared::new(Epsilon::new(0.3)?, 0.0)?);
/// for epoch in 0..3 {
///     ledger.charge(epoch, survey)?;
/// }
/// // A fourth would make it 1.2.
/// assert!(matches!(ledger.charge(3, survey), Err(Error::OverBudget { .. })));
/// assert_eq!(ledger.entries().len(), 3);
/// assert!(ledger.total().get() < 0.9001);
/// # Ok::<(), throng_account::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    cap: Epsilon,
    delta: Delta,
    entries: Vec<Entry>,
}

impl Ledger {
    /// Nothing spent.
    pub fn new(cap: Epsilon, delta: Delta) -> Self {
        Self { cap, delta, entries: Vec::new() }
    }

    /// Records an event, or refuses it and records nothing when the total would pass the cap.
    pub fn charge(&mut self, epoch: u64, event: Event) -> Result<Epsilon, Error> {
        let total = self.total_with(Some(&event))?;
        if total > self.cap {
            return Err(Error::OverBudget {
                epsilon: total.get(),
                delta: self.delta.get(),
                cap: self.cap.get(),
            });
        }
        self.entries.push(Entry { epoch, event, total });
        Ok(total)
    }

    /// Total ε so far, at the ledger's δ.
    pub fn total(&self) -> Epsilon {
        self.entries.last().map_or(Epsilon::ZERO, |entry| entry.total)
    }

    /// Everything recorded, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn total_with(&self, event: Option<&Event>) -> Result<Epsilon, Error> {
        // Equal events are one discretisation, taken several times.
        let mut kinds: Vec<(&Event, u64)> = Vec::new();
        for event in self.entries.iter().map(|entry| &entry.event).chain(event) {
            match kinds.iter_mut().find(|kind| kind.0 == event) {
                Some(kind) => kind.1 += 1,
                None => kinds.push((event, 1)),
            }
        }
        let start = Composition::new();
        let plan =
            kinds.iter().fold(start, |plan, (event, times)| plan.and(event.profile(), *times));
        plan.epsilon(self.delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Crowd;

    #[test]
    fn spending_adds_up_and_stops_at_the_cap() {
        let crowd = Crowd::new(10_000).unwrap();
        let pair = Event::Shuffled(ClonePair::strong(crowd, Epsilon::at(1.0)).unwrap());
        let bits = Event::BitSum(BitSum::new(crowd, 70.0).unwrap());
        let mut ledger = Ledger::new(Epsilon::at(1.2), Delta::new(1e-6).unwrap());
        let first = ledger.charge(1, pair).unwrap();
        let second = ledger.charge(2, bits).unwrap();
        assert!(first.get() > 0.0 && second > first);
        // Better than adding the two epsilons, each at the same delta.
        let alone = BitSum::new(crowd, 70.0).unwrap().epsilon(Delta::new(1e-6).unwrap()).unwrap();
        assert!(second.get() < first.get() + alone.epsilon.get());
        let before = ledger.clone();
        let refused = ledger.charge(3, bits);
        assert!(matches!(refused, Err(Error::OverBudget { .. })), "{refused:?}");
        assert_eq!(ledger, before);
        assert_eq!(ledger.total(), second);
    }

    #[test]
    fn an_event_that_no_epsilon_covers_is_refused() {
        let mut ledger = Ledger::new(Epsilon::at(100.0), Delta::new(1e-6).unwrap());
        let leaky = Event::Declared(Declared::new(Epsilon::at(0.1), 1e-5).unwrap());
        assert!(matches!(ledger.charge(1, leaky), Err(Error::Unreachable { .. })));
        assert!(ledger.entries().is_empty());
    }
}
