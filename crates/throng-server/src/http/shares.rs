//! Fair shares among sources, as plain arithmetic: no sockets, no clock.
//!
//! ```text
//! Shares    connections: while there is room, anybody's; when there is none, the source
//!           that has the most of them loses one to a source that has fewer
//! Room      requests and bytes: a source has at most three times what is free, so that
//!           one alone may use three quarters. Each of several leaves a quarter of what
//!           was free: it holds against one source, and not against ten together
//! ```
//!
//! Nothing is kept of a source that holds nothing.

use super::source::Source;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// The stage that a connection is at. The first to lose comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing was asked for yet.
    Silent,
    /// All that was asked for is answered.
    Resting,
    /// A request is being read or answered.
    Working,
}

/// Connections, each with what it takes to end it.
pub struct Shares<T> {
    most: usize,
    next: u64,
    all: HashMap<u64, (Option<Source>, Stage, T)>,
    /// The connections of every source. The first one is the first to lose: the oldest of those
    /// that have done the least.
    held: HashMap<Source, BTreeSet<(Stage, u64)>>,
    /// All sources by the number of their connections, and their first to lose.
    order: BTreeSet<Rank>,
}

impl<T> Shares<T> {
    /// Room for so many.
    pub fn new(most: usize) -> Self {
        let (all, held, order) = (HashMap::new(), HashMap::new(), BTreeSet::new());
        Self { most, next: 0, all, held, order }
    }

    /// Lets a connection in, and returns its number and the one that has to end for it, if any.
    /// Without a source it is a proxy's: it has no share to keep to, and never loses.
    pub fn enter(&mut self, source: Option<Source>, end: T) -> Result<(u64, Option<T>), T> {
        let mut loser = None;
        if self.all.len() >= self.most {
            let Some(id) = self.loser(source) else { return Err(end) };
            loser = self.leave(id);
        }
        let id = self.next;
        self.next += 1;
        self.all.insert(id, (source, Stage::Silent, end));
        self.change(source, |held| held.insert((Stage::Silent, id)));
        Ok((id, loser))
    }

    /// Moves a connection to another stage, unless it has lost already.
    pub fn turn(&mut self, id: u64, to: Stage) {
        let Some((source, stage, _)) = self.all.get_mut(&id) else { return };
        let (source, before) = (*source, std::mem::replace(stage, to));
        self.change(source, |held| held.remove(&(before, id)) && held.insert((to, id)));
    }

    /// Lets a connection go, unless it has lost already.
    pub fn leave(&mut self, id: u64) -> Option<T> {
        let (source, stage, end) = self.all.remove(&id)?;
        self.change(source, |held| held.remove(&(stage, id)));
        Some(end)
    }

    /// The number of connections.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// True if less than a quarter of the room is left.
    pub fn is_pressed(&self) -> bool {
        self.all.len() > self.most / 4 * 3
    }

    /// The connection that ends for one of this source. Where the sources only change places,
    /// nothing that is under way is ended.
    fn loser(&self, source: Option<Source>) -> Option<u64> {
        let (most, Reverse((stage, id)), _) = self.order.last()?;
        let own = source.and_then(|source| self.held.get(&source)).map_or(0, BTreeSet::len);
        let fairer = *most > own + 1 || (*most > own && *stage != Stage::Working);
        fairer.then_some(*id)
    }

    /// Changes what a source holds, and its rank.
    fn change(
        &mut self,
        source: Option<Source>,
        change: impl FnOnce(&mut BTreeSet<(Stage, u64)>) -> bool,
    ) {
        let Some(source) = source else { return };
        let held = self.held.entry(source).or_default();
        if let Some(before) = rank(held, source) {
            self.order.remove(&before);
        }
        change(held);
        match rank(held, source) {
            Some(after) => drop(self.order.insert(after)),
            None => drop(self.held.remove(&source)),
        }
    }
}

/// The number of a source's connections, its first to lose, and the source. The last one loses.
type Rank = (usize, Reverse<(Stage, u64)>, Source);

fn rank(held: &BTreeSet<(Stage, u64)>, source: Source) -> Option<Rank> {
    Some((held.len(), Reverse(*held.first()?), source))
}

/// An amount of something that sources take from and give back.
pub struct Room {
    free: usize,
    most: usize,
    held: HashMap<Source, usize>,
}

impl Room {
    /// Room for so much.
    pub fn new(most: usize) -> Self {
        Self { free: most, most, held: HashMap::new() }
    }

    /// Takes an amount, if there is so much and the source does not have too much already.
    pub fn take(&mut self, source: Source, amount: usize) -> bool {
        let held = self.held.get(&source).copied().unwrap_or(0);
        let fits = amount <= self.free && held + amount <= self.free.saturating_mul(SHARE);
        if fits && amount > 0 {
            self.free -= amount;
            self.held.insert(source, held + amount);
        }
        fits
    }

    /// Gives back what was taken.
    pub fn give(&mut self, source: Source, amount: usize) {
        let Some(held) = self.held.get_mut(&source) else { return };
        let amount = amount.min(*held);
        *held -= amount;
        self.free += amount;
        if *held == 0 {
            self.held.remove(&source);
        }
    }

    /// The amount that is taken.
    pub fn used(&self) -> usize {
        self.most - self.free
    }
}

/// A source holds at most this many times what is free.
const SHARE: usize = 3;

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::*;

    /// Lets in connections of a source, whose ends are their numbers.
    fn fill(shares: &mut Shares<u64>, from: u64, count: u64) -> Vec<u64> {
        let one = |end| shares.enter(Some(source(from)), end).ok().map(|(id, _)| id);
        (0..count).filter_map(one).collect()
    }

    #[test]
    fn while_there_is_room_one_source_may_have_it_all() {
        let mut shares = Shares::new(10);
        assert_eq!(fill(&mut shares, 1, 12).len(), 10);
        assert_eq!((shares.count(), shares.is_pressed()), (10, true));
    }

    #[test]
    fn the_source_with_the_most_loses_until_all_have_the_same() {
        let mut shares = Shares::new(12);
        fill(&mut shares, 1, 10);
        fill(&mut shares, 2, 2);
        for newcomer in 3..100 {
            fill(&mut shares, newcomer % 2 + 3, 1);
        }
        let counts =
            [1, 2, 3, 4].map(|from| shares.held.get(&source(from)).map_or(0, BTreeSet::len));
        assert_eq!(counts.iter().sum::<usize>(), 12);
        assert!(counts.iter().all(|count| (2..=4).contains(count)), "{counts:?}");
    }

    #[test]
    fn who_holds_the_most_gets_no_more() {
        let mut shares = Shares::new(4);
        fill(&mut shares, 1, 3);
        fill(&mut shares, 2, 1);
        assert!(shares.enter(Some(source(1)), 9).is_err());
        assert!(shares.enter(Some(source(2)), 9).is_ok());
    }

    #[test]
    fn the_silent_lose_first_then_the_resting_and_among_them_the_oldest() {
        let mut shares = Shares::new(4);
        let ids: Vec<u64> =
            (0..4).map(|end| shares.enter(Some(source(1)), end).unwrap().0).collect();
        shares.turn(ids[0], Stage::Working);
        shares.turn(ids[1], Stage::Resting);
        let mut lost = |from| shares.enter(Some(source(from)), 9).unwrap().1;
        assert_eq!([lost(2), lost(3)], [Some(2), Some(3)]);
        assert_eq!(lost(4), Some(1));
        // Every source has one now: what is being worked on is not exchanged for something new, and
        // what is silent is.
        assert_eq!(lost(5), Some(9));
        let held = shares.held.get(&source(1)).unwrap();
        assert_eq!(held.first(), Some(&(Stage::Working, ids[0])));
    }

    #[test]
    fn work_is_ended_for_somebody_with_fewer_but_not_for_a_mere_exchange() {
        let mut shares = Shares::new(2);
        for id in fill(&mut shares, 1, 2) {
            shares.turn(id, Stage::Working);
        }
        let (id, lost) = shares.enter(Some(source(2)), 7).unwrap();
        assert_eq!(lost, Some(0));
        shares.turn(id, Stage::Working);
        assert!(shares.enter(Some(source(3)), 8).is_err());
    }

    #[test]
    fn a_proxy_never_loses_and_always_finds_room() {
        let mut shares = Shares::new(3);
        assert!(shares.enter(None, 0).is_ok());
        fill(&mut shares, 1, 2);
        assert_eq!(shares.enter(None, 7).unwrap().1, Some(0));
        assert_eq!(shares.enter(None, 8).unwrap().1, Some(1));
        assert!(shares.enter(None, 9).is_err() && shares.enter(Some(source(1)), 9).is_err());
    }

    #[test]
    fn nothing_is_kept_of_a_source_that_left() {
        let mut shares = Shares::new(3);
        for id in fill(&mut shares, 1, 3) {
            shares.turn(id, Stage::Resting);
            assert!(shares.leave(id).is_some() && shares.leave(id).is_none());
            shares.turn(id, Stage::Working);
        }
        assert!(shares.all.is_empty() && shares.held.is_empty() && shares.order.is_empty());
        let mut room = Room::new(10);
        assert!(room.take(source(1), 5));
        room.give(source(1), 5);
        assert!(room.held.is_empty() && room.used() == 0);
    }

    #[test]
    fn one_source_has_three_quarters_and_another_finds_room_still() {
        let mut room = Room::new(4_096);
        let taken = (0..5_000).filter(|_| room.take(source(1), 1)).count();
        assert_eq!(taken, 3_072);
        let taken = (0..5_000).filter(|_| room.take(source(2), 1)).count();
        assert_eq!(taken, 768);
        // However many there are, the next one is not left with nothing.
        for from in 3..7 {
            assert!(room.take(source(from), 1));
            while room.take(source(from), 1) {}
        }
        assert!(room.used() < 4_096);
    }

    #[test]
    fn room_for_one_is_given_to_one() {
        let mut room = Room::new(1);
        assert!(room.take(source(1), 1) && !room.take(source(2), 1));
        room.give(source(1), 1);
        assert!(room.take(source(2), 1) && room.used() == 1);
    }
}
