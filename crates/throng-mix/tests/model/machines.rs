//! The real machines, made from the state of the world: timetables, timekeepers, manifests.

use crate::world::{At, Belief, EPOCHS, Log, Offset, PARTIES, Party, Row, Told};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, RwLock};
use throng_mix::{
    Destroyed, Fates, Judgement, Reading, Slot, Slots, Stage, TOLERANCE, Timekeeper, Timetable,
    Why, Word,
};
use throng_wire::{
    BatchId, Below, Identity, Loss, Manifest, Receipt, Route, Schedule, Shape, SignedManifest,
    example,
};

/// The route of the collection, and the machines that were made for it.
pub struct Machines {
    pub route: Arc<Route>,
    /// The true times at which something happens.
    pub moments: Vec<u64>,
    /// The manifests that the mixes sign, by hop, first and last epoch: a batch and a word.
    signed: Vec<[[Option<[SignedManifest; 2]>; EPOCHS]; EPOCHS]>,
    /// A receipt: nothing is decided by what it says, once it is taken.
    receipt: Receipt,
    /// Timetables by what they are made from, for each hop.
    timetables: [RwLock<HashMap<u64, Arc<Timetable>, Spread>>; PARTIES],
}

impl Machines {
    /// The machines of a collection of so many epochs.
    pub fn new(epochs: usize, below: Below) -> Self {
        let schedule = Schedule { start: START, every: EVERY, grace: GRACE, below };
        let deadlines = (0..epochs as u64).map(|epoch| schedule.deadline(epoch));
        Self::at(schedule, epochs, deadlines.collect())
    }

    /// The machines of one epoch without grace, whose end is looked at by the second.
    pub fn at_the_end() -> Self {
        let schedule = Schedule { start: START, every: EVERY, grace: 0, below: Below::Expire };
        let end = schedule.end_of(0);
        let seconds = [EARLIEST + 1, EARLIEST, EARLIEST - 1, 2 * TOLERANCE, TOLERANCE + 1, 0];
        Self::at(schedule, 1, seconds.map(|seconds| end - seconds).to_vec())
    }

    /// The machines of a collection in which these are the moments up to the last deadline.
    fn at(schedule: Schedule, epochs: usize, until: Vec<u64>) -> Self {
        let shape = Shape { mixes: 2, messages: 1, payload: 1 };
        let chain = example::chain_through(&["north", "south"]);
        let route = Route {
            schedule,
            shape,
            chain,
            quorum: CROWD,
            epochs: epochs as u64,
            ..example::route()
        };
        let mut moments = vec![START + 100];
        moments.extend(until);
        let last = schedule.deadline(epochs as u64 - 1);
        moments.extend([last + EVERY, last + DRAIN]);
        let signed = (1..PARTIES as u8).map(|hop| sign_all(&route, hop)).collect();
        let receipt = Receipt::sign(BatchId([0; 32]), 2, &Identity::from_seed(&[2; 32]));
        let timetables = Default::default();
        Self { route: Arc::new(route), moments, signed, receipt, timetables }
    }

    /// The timetable of a party, made from what is on its disk.
    pub fn timetable(&self, hop: usize, party: &Party) -> Arc<Timetable> {
        let (known, course) = (&self.timetables[hop], party.course());
        if let Some(known) = known.read().unwrap().get(&course) {
            return Arc::clone(known);
        }
        let made = Arc::new(self.fresh(hop, party));
        known.write().unwrap().insert(course, Arc::clone(&made));
        made
    }

    /// A timetable that may be changed.
    pub fn fresh(&self, hop: usize, party: &Party) -> Timetable {
        let (slots, destroyed) = (self.slots(hop, party), self.destroyed(party));
        Timetable::new(self.route.clone(), hop as u8 + 1, DRAIN, slots, destroyed)
    }

    /// The rows of a party as slots.
    pub fn slots(&self, hop: usize, party: &Party) -> Slots {
        let rows = party.rows.iter().enumerate();
        let rows = rows.filter_map(|(first, row)| Some((first, (*row)?)));
        rows.map(|(first, row)| (first as u64, self.slot(hop, first, row))).collect()
    }

    /// The destroyed windows of a party.
    pub fn destroyed(&self, party: &Party) -> Destroyed {
        let mut destroyed = Destroyed::default();
        for window in (0..EPOCHS).filter(|window| party.destroyed & (1 << window) != 0) {
            destroyed.insert(window as u64, &self.route);
        }
        destroyed
    }

    /// A row as a slot. What came in is the word that a slot is dropped if nothing else can be.
    pub fn slot(&self, hop: usize, first: usize, row: Row) -> Slot {
        let last = usize::from(row.last);
        let came = hop.checked_sub(1).map(|before| {
            let word = matches!(row.at, At::Short(0));
            self.manifest(before, first, last, word).clone()
        });
        let own = |word| self.manifest(hop, first, last, word).clone();
        let stage = match row.at {
            At::Closing => Stage::Closing,
            At::Held(reports) => Stage::Held { reports: reports.into() },
            At::Received => Stage::Received(came.clone().unwrap()),
            At::Sealed => Stage::Sealed(own(false)),
            At::Delivered => Stage::Delivered { manifest: own(false), receipt: self.receipt },
            At::Released => Stage::Released,
            At::Short(reports) => Stage::Dropped { why: Why::Short, reports: reports.into() },
            At::GivenUp => Stage::Dropped { why: Why::Keys, reports: CROWD },
        };
        let word = match row.word {
            Told::Nobody => None,
            Told::Waiting => Some(Word::Waiting(own(true))),
            Told::Taken => Some(Word::Taken { manifest: own(true), receipt: self.receipt }),
            Told::Late => Some(Word::Late),
        };
        let input = came.map(|manifest| manifest.unverified().id());
        let slot = Slot::new(first as u64, last as u64, input, stage);
        Slot { shredded: row.shredded, word, ..slot }
    }

    /// The manifest that a mix signs for epochs: of a batch, or of the word that there is none.
    pub fn manifest(&self, hop: usize, first: usize, last: usize, word: bool) -> &SignedManifest {
        &self.signed[hop][first][last].as_ref().unwrap()[usize::from(word)]
    }

    /// What became of every epoch at a party, as it is told at a time.
    pub fn fates(&self, hop: usize, party: &Party, now: u64) -> Vec<Fates> {
        let slots: Vec<Slot> = self.slots(hop, party).into_values().collect();
        Fates::of(&self.route, &slots, &self.destroyed(party), now)
    }

    /// The epochs of the window that begins with an epoch.
    pub fn window(&self, first: usize) -> std::ops::Range<usize> {
        let epochs = self.route.window_epochs(first as u64);
        epochs.start as usize..epochs.end as usize
    }

    /// The first epochs of all windows.
    pub fn windows(&self) -> impl Iterator<Item = usize> {
        (0..self.route.epochs as usize).filter(|first| self.window(*first).start == *first)
    }

    /// The time from which a window counts as late for parties that still wait for it.
    pub fn late(&self, epoch: usize) -> u64 {
        self.over(epoch) + DRAIN
    }

    /// The last deadline of the window of an epoch.
    pub fn over(&self, epoch: usize) -> u64 {
        self.route.schedule.deadline(self.window(epoch).end as u64 - 1)
    }
}

/// Spreads numbers over a table. Nobody chooses them to collide.
#[derive(Default)]
struct Spreader(u64);

type Spread = BuildHasherDefault<Spreader>;

impl Hasher for Spreader {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are looked up");
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Looks at the clocks of a party: what it believes then, and what is due.
pub fn look(party: &mut Party, true_time: u64, own: Offset) {
    let steady = true_time - BOOT;
    let wall = |offset: Offset| true_time.strict_add_signed(offset.seconds());
    let lead = party.lead.map(|lead| BOOT as i64 + lead.seconds());
    let mut keeper = Timekeeper::new(PARTIES - 1, lead);
    if let (Some(lead), 1..) = (lead, party.due) {
        // The latest time that was believed, which only a look can set.
        let before = Reading { wall: party.due, steady: party.due.strict_add_signed(-lead) };
        assert_eq!(keeper.judge(before), Judgement::Believed);
    }
    for (hop, heard) in (1..).zip(party.heard) {
        if let Some(offset) = heard {
            keeper.hear(hop, wall(offset), steady);
        }
    }
    party.belief = keeper.judge(Reading { wall: wall(own), steady }).into();
    party.due = keeper.due();
    party.lead = keeper.lead().map(|lead| Offset::of(lead - BOOT as i64));
}

/// The stage of a row, for one that a timetable decided.
pub fn row_stage(stage: &Stage) -> At {
    match stage {
        Stage::Held { reports } => At::Held(*reports as u8),
        Stage::Dropped { why: Why::Short, reports } => At::Short(*reports as u8),
        other => unreachable!("{other:?} is not decided by counting"),
    }
}

impl Party {
    /// A party at the begin, whose clock was confirmed.
    pub fn new() -> Self {
        Self {
            rows: [None; EPOCHS],
            destroyed: 0,
            keys: 0,
            logs: [Log::None; EPOCHS],
            inputs: 0,
            outputs: 0,
            lead: Some(Offset::Right),
            heard: [None; PARTIES],
            due: 0,
            belief: Belief::Believed,
            left: 0,
            signed: 0,
        }
    }
}

fn sign_all(route: &Route, hop: u8) -> [[Option<[SignedManifest; 2]>; EPOCHS]; EPOCHS] {
    let identity = Identity::from_seed(&[hop; 32]);
    let sign = |first: usize, last: usize| {
        let record_bytes = route.shape.record_bytes(hop + 1) as u32;
        let epochs = first as u64..=last as u64;
        let word = Manifest::empty(route.id, epochs, hop, record_bytes, [0; 32]);
        let losses = vec![Loss::default(); hop.into()];
        let batch = Manifest { records: CROWD, losses, digest: [hop; 32], ..word.clone() };
        [batch, word].map(|manifest| SignedManifest::sign(manifest, &identity))
    };
    std::array::from_fn(|first| {
        std::array::from_fn(|last| (first <= last).then(|| sign(first, last)))
    })
}

/// A crowd, and two numbers that are none; two small ones together are.
pub const CROWD: u64 = 5;
pub const FEW: u64 = 3;

/// The most seconds by which anything is done early: a clock that others agreed with may have been
/// that far ahead of them, go as far again unheard, and a batch may come as early again.
pub const EARLIEST: u64 = 3 * TOLERANCE;

/// Epochs of an hour, so that nobody is alone for a day before all is over.
const START: u64 = 1_000_000;
pub const EVERY: u64 = 3_600;
const GRACE: u64 = 600;

/// Two epochs, so that a window waits while the next one is settled.
const DRAIN: u64 = 2 * EVERY;

/// The time at which the machines were started.
const BOOT: u64 = 500_000;
