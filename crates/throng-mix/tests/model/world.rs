//! The state of the whole world: three disks, three memories, and true time.
//!
//! What is between parties needs no state. A batch that was sealed may arrive at any later time and
//! as often as it likes, and so may a receipt that was signed; both follow from the disks.

use stateright::Representative;
use std::hash::{Hash, Hasher};
use throng_mix::{Judgement, TOLERANCE};

/// The number of parties: two mixes and an analyzer.
pub const PARTIES: usize = 3;

/// The most epochs.
pub const EPOCHS: usize = 3;

/// The bits of a row's code.
const ROW: u32 = 13;

/// A set of epochs, one bit each.
pub type Set = u8;

/// One state of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct World {
    /// True time, as a place in the list of moments.
    pub moment: u8,
    /// The parties by hop, from 0.
    pub parties: [Party; PARTIES],
    /// The clock that is wrong, if one is.
    pub jump: Option<Jump>,
    /// The faults that may still come.
    pub left: Faults,
    /// The first thing that a party did and never may do.
    pub wrong: Option<Wrong>,
}

/// Numbers of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Crashes of any party.
    pub crashes: u8,
    /// Jumps of any clock, of which one at a time is wrong.
    pub jumps: u8,
}

/// One party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// Disk: the rows of slots, each at its first epoch.
    pub rows: [Option<Row>; EPOCHS],
    /// Disk: the row of destroyed windows.
    pub destroyed: Set,
    /// Disk: the windows whose secret exists, by their first epochs.
    pub keys: Set,
    /// Disk: the logs of reports at the first mix.
    pub logs: [Log; EPOCHS],
    /// Disk: the batches that came, by their first epochs.
    pub inputs: Set,
    /// Disk: the batches that are to leave, by their first epochs.
    pub outputs: Set,
    /// Disk and memory: the lead of the wall over the steady clock when it was last believed.
    pub lead: Option<Offset>,
    /// Memory: the clocks that were heard since the last moment, by hop.
    pub heard: [Option<Offset>; PARTIES],
    /// Memory: the latest time that was believed.
    pub due: u64,
    /// Memory: what it thinks of its clock.
    pub belief: Belief,
    /// History: the epochs of which a batch or a word could leave.
    pub left: Set,
    /// History: the epochs of which a batch or a word was acknowledged.
    pub signed: Set,
}

/// The row of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// The last epoch.
    pub last: u8,
    /// The stage.
    pub at: At,
    /// True once what it does not need is gone.
    pub shredded: bool,
    /// The word that it is dropped.
    pub word: Told,
}

/// A stage without its manifests, which follow from the epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    Closing,
    Held(u8),
    Received,
    Sealed,
    Delivered,
    Released,
    Short(u8),
    GivenUp,
}

/// A word without its manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Told {
    Nobody,
    Waiting,
    Taken,
    Late,
}

/// The reports of an epoch at the first mix, all of them acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Log {
    None,
    Few,
    Crowd,
}

/// The seconds by which a wall clock is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Offset {
    Right,
    /// As far as two clocks may differ and still agree.
    Near,
    /// As far again.
    Far,
    Day,
    Ahead,
    Behind,
}

/// A clock that jumped and was not set right yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Jump {
    /// The party whose clock it is.
    pub hop: u8,
    /// How far it jumped.
    pub offset: Offset,
}

/// A judgement without its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Belief {
    Believed,
    Unconfirmed,
    Doubted,
}

/// What never may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// Another step is taken while keys or logs of a settled window exist.
    KeyOutlived,
    /// A key is destroyed that something here, or something that may still come, needs.
    KeyTooSoon,
    /// Epochs are closed or taken more than a minute before their end.
    Early,
    /// A second batch or word of an epoch leaves.
    Twice,
    /// Something acknowledged is dropped though there were enough and it was not late.
    Lost,
    /// A slot that was decided is decided otherwise.
    Reverted,
    /// Something is done that leads nowhere, so that it could be done for ever.
    Idle,
}

/// Any number of faults.
pub const ANY: u8 = u8::MAX;

impl Faults {
    pub const NONE: Self = Self { crashes: 0, jumps: 0 };
    pub const CRASHES: Self = Self { crashes: ANY, jumps: 0 };
    pub const JUMPS: Self = Self { crashes: 0, jumps: ANY };
    pub const ALL: Self = Self { crashes: ANY, jumps: ANY };
}

impl Row {
    /// A row of which nothing is removed yet.
    pub fn new(last: u8, at: At) -> Self {
        Self { last, at, shredded: false, word: Told::Nobody }
    }

    /// The same row at another stage.
    pub fn at(self, at: At) -> Self {
        Self { at, shredded: false, ..self }
    }

    /// The row in the bits of a number that is not zero.
    fn code(self) -> u64 {
        let (at, reports) = match self.at {
            At::Closing => (1, 0),
            At::Held(reports) => (2, reports),
            At::Received => (3, 0),
            At::Sealed => (4, 0),
            At::Delivered => (5, 0),
            At::Released => (6, 0),
            At::Short(reports) => (7, reports),
            At::GivenUp => (8, 0),
        };
        let word = (self.word as u64) << 1 | u64::from(self.shredded);
        ((at << 4 | u64::from(reports)) << 2 | u64::from(self.last)) << 3 | word
    }

    /// True if what it is made of is not needed any more.
    pub fn settled(self) -> bool {
        !matches!(self.at, At::Closing | At::Held(_) | At::Received)
    }

    /// True if nothing is left to decide.
    pub fn decided(self) -> bool {
        self.settled() && self.at != At::Sealed
    }

    /// True if a batch or a word waits to be handed over.
    pub fn leaves(self) -> bool {
        self.at == At::Sealed || self.word == Told::Waiting
    }
}

impl Party {
    /// All that a timetable is made from, in one number.
    pub fn course(&self) -> u64 {
        let rows = self.rows.iter().map(|row| row.map_or(0, Row::code));
        rows.fold(self.destroyed.into(), |code, row| code << ROW | row)
    }

    /// The row that an epoch is in, and its first epoch.
    pub fn row_of(&self, epoch: usize) -> Option<(usize, Row)> {
        let rows = self.rows.iter().enumerate();
        let mut rows = rows.filter_map(|(first, row)| Some((first, (*row)?)));
        rows.find(|(first, row)| (*first..=row.last.into()).contains(&epoch))
    }
}

/// What is kept is packed, each in bits of its own: hashing is most of exploring.
impl Hash for Party {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let logs = self.logs.map(|log| log as u64);
        let heard = self.heard.map(|heard| heard.map_or(0, |offset| offset as u64 + 1));
        let small = logs.into_iter().chain(heard).fold(0, |code, one| code << 3 | one);
        let lead = self.lead.map_or(0, |offset| offset as u64 + 1);
        let sets = [self.keys, self.inputs, self.outputs, self.left, self.signed];
        let sets = sets.into_iter().fold(small, |code, set| code << EPOCHS | u64::from(set));
        state.write_u64(self.course());
        state.write_u64((sets << 3 | lead) << 2 | self.belief as u64);
        state.write_u64(self.due);
    }
}

impl Offset {
    /// The offset in seconds.
    pub fn seconds(self) -> i64 {
        match self {
            Self::Right => 0,
            Self::Near => TOLERANCE as i64,
            Self::Far => 2 * TOLERANCE as i64,
            Self::Day => 86_400,
            Self::Ahead => 3_600,
            Self::Behind => -3_600,
        }
    }

    /// The offset of so many seconds.
    pub fn of(seconds: i64) -> Self {
        use Offset::{Ahead, Behind, Day, Far, Near, Right};
        let all = [Right, Near, Far, Day, Ahead, Behind];
        all.into_iter().find(|offset| offset.seconds() == seconds).unwrap()
    }
}

impl From<Judgement> for Belief {
    fn from(judgement: Judgement) -> Self {
        match judgement {
            Judgement::Believed => Self::Believed,
            Judgement::Unconfirmed => Self::Unconfirmed,
            Judgement::Jumped { .. } | Judgement::Outvoted { .. } => Self::Doubted,
        }
    }
}

impl World {
    /// Grows with everything that is done and is no fault, so that nothing is done for ever.
    pub fn progress(&self) -> [u32; 4] {
        let rows = self.parties.iter().flat_map(|party| party.rows).flatten().map(Row::progress);
        let destroyed = self.parties.iter().map(|party| party.destroyed.count_ones());
        let done = rows.sum::<u32>() + destroyed.sum::<u32>();
        let believed = self.parties.iter().filter(|party| party.belief == Belief::Believed);
        let right = u32::from(self.jump.is_none());
        [self.moment.into(), done, right, believed.count() as u32]
    }
}

/// A row of which nothing is left to do, and of which the next party has heard, stands as any other
/// such row does: no party can tell them apart any more.
impl Representative for World {
    fn representative(&self) -> Self {
        let mut world = *self;
        for (hop, party) in world.parties.iter_mut().enumerate() {
            for first in 0..EPOCHS {
                let Some(row) = party.rows[first].filter(|row| row.decided() && row.shredded)
                else {
                    continue;
                };
                let (at, word) = match self.parties.get(hop + 1) {
                    Some(next) if row.untold() || next.row_of(first).is_none() => continue,
                    Some(_) => (At::Delivered, Told::Taken),
                    None => (At::Released, Told::Nobody),
                };
                let before = hop.checked_sub(1).and_then(|hop| self.parties[hop].rows[first]);
                let epochs = set(first, row.last.into());
                party.rows[first] = Some(Row { at, word, ..row });
                party.left |= epochs;
                if before.is_none_or(|row| !row.leaves()) {
                    party.signed |= epochs;
                }
            }
        }
        world
    }
}

impl Row {
    /// True if the next party is still to be told that it is dropped.
    fn untold(self) -> bool {
        matches!(self.at, At::Short(_)) && matches!(self.word, Told::Nobody | Told::Waiting)
    }

    fn progress(self) -> u32 {
        let at = match self.at {
            At::Closing | At::Received => 1,
            At::Held(_) => 2,
            At::Sealed => 3,
            At::Delivered | At::Released | At::Short(_) | At::GivenUp => 5,
        };
        let told = match self.word {
            Told::Nobody => 0,
            Told::Waiting => 10,
            Told::Taken | Told::Late => 20,
        };
        at + u32::from(self.shredded) + told + 100 * u32::from(self.last)
    }
}

/// The set of the epochs from `first` to `last`.
pub fn set(first: usize, last: usize) -> Set {
    (first..=last).map(|epoch| 1 << epoch).sum()
}

/// True if an epoch is in a set.
pub fn has(set: Set, epoch: usize) -> bool {
    set & (1 << epoch) != 0
}
