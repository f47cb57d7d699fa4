//! Boards on simulated disks: what a mix signs, and one fault at every operation.

mod common;

use chacha20::ChaCha12Rng;
use common::{DRAIN, START, generator, identity, limits, schedule};
use rand_core::Rng;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use throng_collection::{Board, example};
use throng_mix::simulated::{Fault, Faults, MemoryStore};
use throng_mix::store::{RowKey, Table};
use throng_mix::{Course, Intake, Keyring, Limits, Mix, Outgoing, Stage, Step, Why};
use throng_server::{Error, Noticeboard};
use throng_wire::example::chain_through;
use throng_wire::{
    Bag, Bulletin, Identity, Layer, Loss, Manifest, Notice, Receipt, RecordDigest, Route, Seal,
    SignedManifest,
};

const MIXES: u8 = 2;
const ANALYZER: u8 = MIXES + 1;
const CROWD: u64 = 3;
const MESSAGES: u32 = 2;
const PAYLOAD: usize = 3;

fn board() -> Board {
    Board {
        messages: MESSAGES,
        payload: PAYLOAD as u32,
        crowd: CROWD,
        schedule: schedule(),
        chain: chain_through(&["north", "south"]),
        ..example::board()
    }
}

/// All parties of a board, and the notices they signed.
struct World {
    route: Arc<Route>,
    stores: Vec<MemoryStore>,
    mixes: Vec<Option<Mix>>,
    noticeboard: Option<Noticeboard>,
    now: u64,
    rng: ChaCha12Rng,
    /// The notices that the analyzer signed, by round.
    stated: BTreeMap<u64, Notice>,
    /// The notices that each mix signed, by hop and round.
    signed: BTreeMap<(u8, u64), Notice>,
}

impl World {
    /// A world in which everybody runs and knows all keys.
    fn new(seed: u64) -> Self {
        let mut world = Self::machines(seed);
        world.revive();
        world.exchange();
        world
    }

    fn machines(seed: u64) -> Self {
        Self {
            route: Arc::new(Route::from(&board())),
            stores: (0..=MIXES).map(|_| MemoryStore::new()).collect(),
            mixes: (0..MIXES).map(|_| None).collect(),
            noticeboard: None,
            now: START,
            rng: generator(seed),
            stated: BTreeMap::new(),
            signed: BTreeMap::new(),
        }
    }

    /// Starts a party from what is on its disk.
    fn restart(&mut self, hop: u8) -> Result<(), Error> {
        let place = usize::from(hop) - 1;
        if hop == ANALYZER {
            self.noticeboard = None;
        } else {
            self.mixes[place] = None;
        }
        self.stores[place].restart();
        let (store, route) = (self.stores[place].store(), self.route.clone());
        if hop == ANALYZER {
            self.noticeboard = Some(Noticeboard::open(store, route, identity(hop), limits())?);
        } else {
            self.mixes[place] = Some(Mix::open(store, route, identity(hop), limits())?);
        }
        Ok(())
    }

    /// Stops machines whose disk stopped, and starts all that are down.
    fn revive(&mut self) {
        for hop in 1..=ANALYZER {
            if self.stores[usize::from(hop) - 1].crashed() || self.keyring(hop).is_none() {
                let _ = self.restart(hop);
            }
        }
    }

    fn mix(&self, hop: u8) -> &Mix {
        self.mixes[usize::from(hop) - 1].as_ref().unwrap()
    }

    fn board(&self) -> &Noticeboard {
        self.noticeboard.as_ref().unwrap()
    }

    fn keyring(&self, hop: u8) -> Option<&Keyring> {
        Some(&self.course(hop)?.keyring)
    }

    fn course(&self, hop: u8) -> Option<&Course> {
        if hop == ANALYZER {
            self.noticeboard.as_ref().map(|board| &*board.course)
        } else {
            self.mixes[usize::from(hop) - 1].as_ref().map(|mix| &*mix.course)
        }
    }

    fn exchange(&mut self) {
        for hop in 1..=ANALYZER {
            let mut rng = generator(self.rng.next_u64());
            let Some(keyring) = self.keyring(hop) else { continue };
            let _ = keyring.publish(self.now, &mut rng);
        }
        for told in [false, true] {
            for (from, to) in (1..=ANALYZER).flat_map(|a| (1..=ANALYZER).map(move |b| (a, b))) {
                let (Some(speaker), Some(listener)) = (self.keyring(from), self.keyring(to)) else {
                    continue;
                };
                for window in speaker.windows() {
                    if told && let Ok(signature) = speaker.cosignature(window) {
                        let _ = listener.collect(from, window, &signature);
                    } else if let Ok(statement) = speaker.statement(window) {
                        let _ = listener.learn(from, &statement);
                    }
                }
            }
        }
    }

    /// Seals reports of a round with these messages, two in each.
    fn seal(&mut self, round: u64, messages: &[u8]) -> Vec<Vec<u8>> {
        let directory = self.keyring(1).unwrap().directory(round).unwrap();
        let directory =
            directory.verify(&self.route.id, round, &self.route.chain.identities()).unwrap();
        let route = &self.route;
        let seal = Seal::new(&route.shape, route.id, round, round, &directory.keys).unwrap();
        let both = messages.chunks(PAYLOAD * MESSAGES as usize);
        both.map(|both| seal.report(both, &mut self.rng).unwrap()).collect()
    }

    fn upload(&mut self, round: u64, messages: &[u8]) -> Vec<Vec<u8>> {
        let reports = self.seal(round, messages);
        self.mix(1).accept(round, &reports.concat(), self.now).unwrap();
        reports
    }

    fn close(&mut self, round: u64) {
        self.now = self.route.schedule.deadline(round);
    }

    /// Lets everybody do all that is due and say all that is to be said, once. True if there was
    /// anything.
    fn work(&mut self) -> bool {
        let mut worked = false;
        for hop in 1..=ANALYZER {
            worked |= matches!(self.step(hop), Ok(Some(_)));
            worked |= hop < ANALYZER && self.deliver(hop);
        }
        worked | self.sign()
    }

    fn step(&mut self, hop: u8) -> Result<Option<Step>, Error> {
        match (hop, &self.noticeboard) {
            (ANALYZER, Some(board)) => board.step(self.now),
            (ANALYZER, None) => Ok(None),
            _ => match &self.mixes[usize::from(hop) - 1] {
                Some(mix) => Ok(mix.step(self.now, &mut self.rng)?),
                None => Ok(None),
            },
        }
    }

    fn deliver(&self, hop: u8) -> bool {
        let Some(mix) = &self.mixes[usize::from(hop) - 1] else { return false };
        let Some(&first) = mix.waiting().first() else { return false };
        let Ok(Some(Outgoing { manifest, mut records })) = mix.outgoing(first) else {
            return false;
        };
        let mut bytes = Vec::new();
        if records.content.read_to_end(&mut bytes).is_err() {
            return false;
        }
        let receipt = self.hand_over(hop + 1, manifest, &bytes);
        receipt.is_ok_and(|receipt| mix.delivered(first, receipt).is_ok())
    }

    fn hand_over(
        &self,
        to: u8,
        manifest: SignedManifest,
        records: &[u8],
    ) -> Result<Receipt, Error> {
        let course = self.course(to).ok_or(throng_mix::Error::Busy)?;
        match course.receive(manifest, self.now)? {
            Intake::Known(receipt) => Ok(receipt),
            Intake::New(mut incoming) => {
                incoming.write(records)?;
                Ok(course.keep(incoming)?)
            }
        }
    }

    /// Carries notices to mixes and signatures back; true if any came.
    fn sign(&mut self) -> bool {
        let mut signed = false;
        for hop in 1..=MIXES {
            let Some(board) = &self.noticeboard else { continue };
            for (notice, own) in board.unsigned(hop).unwrap_or_default() {
                assert!(notice.cosigned(&identity(ANALYZER).public(), &own));
                let stated = *self.stated.entry(notice.round).or_insert(notice);
                assert_eq!(stated, notice, "two notices of round {}", notice.round);
                let Some(mix) = &self.mixes[usize::from(hop) - 1] else { continue };
                let Ok(signature) = mix.countersign(&notice, &own) else { continue };
                assert_eq!(signature, notice.cosign(&identity(hop)));
                self.signed.insert((hop, notice.round), notice);
                signed |= board.collect(hop, notice.round, &signature).is_ok();
            }
        }
        signed
    }

    /// Checks that a mix signs no other notice of a round than the first, whatever its disk does.
    fn check_signed(&self) {
        for ((hop, _), notice) in &self.signed {
            let Some(mix) = &self.mixes[usize::from(*hop) - 1] else { continue };
            let other = Notice { digest: [7; 32], ..*notice };
            assert!(countersign(mix, &other).is_err(), "hop {hop} signs two notices");
            if let Ok(signature) = countersign(mix, notice) {
                assert_eq!(signature, notice.cosign(&identity(*hop)));
            }
        }
    }

    /// Works until nothing is left to do.
    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 100, "it never ends");
            if !self.work() {
                break;
            }
        }
    }

    fn bulletin(&self, round: u64) -> Result<Bulletin, Error> {
        let (signed, mut bag) = self.board().bulletin(round)?;
        let mut bytes = signed.encode();
        bag.content.read_to_end(&mut bytes).unwrap();
        Ok(Bulletin::decode(&bytes, &self.route.id, round, &self.route.chain.identities()).unwrap())
    }

    fn rows(&self, hop: u8, table: Table) -> usize {
        self.stores[usize::from(hop) - 1]
            .store()
            .rows
            .under(table, &RowKey::default())
            .unwrap()
            .len()
    }
}

fn countersign(mix: &Mix, notice: &Notice) -> Result<[u8; 64], Error> {
    Ok(mix.countersign(notice, &notice.cosign(&identity(ANALYZER)))?)
}

/// The messages of this number of reports, all different.
fn messages(round: u64, reports: u64) -> Vec<u8> {
    let count = reports * u64::from(MESSAGES);
    (0..count).rev().flat_map(|i| [round as u8, i as u8, 200 - i as u8]).collect()
}

fn bag(messages: &[u8]) -> Bag {
    Bag::new(PAYLOAD, messages).unwrap()
}

#[test]
fn a_round_is_shown_once_every_mix_has_signed() {
    let mut world = World::new(1);
    let sent = world.upload(0, &messages(0, 4));
    world.mix(1).accept(0, &sent[..2].concat(), world.now).unwrap();
    assert!(matches!(world.board().bulletin(0), Err(Error::NotYet)));
    world.close(0);
    for _ in 0..3 {
        for hop in 1..=ANALYZER {
            while world.step(hop).unwrap().is_some() {}
            let _ = hop == ANALYZER || world.deliver(hop);
        }
    }
    let board = world.board();
    assert_eq!(
        board.notices().unwrap(),
        [(Notice::of(world.route.id, 0, 4, &bag(&messages(0, 4))), 2)]
    );
    assert!(matches!(board.bulletin(0), Err(Error::NotYet)));
    let (notice, own) = board.unsigned(1).unwrap()[0];
    let first = world.mix(1).countersign(&notice, &own).unwrap();
    // A signature of somebody else is not taken.
    let refused = board.collect(2, 0, &first);
    assert!(matches!(
        refused,
        Err(Error::Mix(throng_mix::Error::Wire(throng_wire::Error::Signature { .. })))
    ));
    board.collect(1, 0, &first).unwrap();
    assert!(matches!(board.bulletin(0), Err(Error::NotYet)));
    world.restart(ANALYZER).unwrap();
    assert!(world.board().unsigned(1).unwrap().is_empty(), "it is kept");
    assert!(world.sign());
    let shown = world.bulletin(0).unwrap();
    assert_eq!(shown.bag(), &bag(&messages(0, 4)));
    world.restart(ANALYZER).unwrap();
    assert_eq!(world.bulletin(0).unwrap(), shown);
    assert!(matches!(world.board().bulletin(3), Err(Error::NoRound)));
}

#[test]
fn a_round_that_is_dropped_anywhere_says_so() {
    // At the first mix, whose word the analyzer gets, and keeps.
    let mut world = World::new(2);
    world.upload(0, &messages(0, CROWD - 1));
    world.close(0);
    world.settle();
    assert!(matches!(world.board().bulletin(0), Err(Error::Dropped(Why::Short))));
    assert_eq!(world.board().awaited(world.now).count(), 0);
    world.restart(ANALYZER).unwrap();
    assert!(matches!(world.board().bulletin(0), Err(Error::Dropped(Why::Short))));
    // Before the word comes the analyzer may ask, or finds out when the keys are gone.
    let mut world = World::new(2);
    world.close(0);
    assert!(matches!(world.board().bulletin(0), Err(Error::NotYet)));
    assert_eq!(world.board().awaited(world.now).collect::<Vec<_>>(), [0]);
    world.board().dropped_before(0);
    assert!(matches!(world.board().bulletin(0), Err(Error::Dropped(Why::Short))));
    assert_eq!(world.board().awaited(world.now).count(), 0);
    world.restart(ANALYZER).unwrap();
    world.now += DRAIN;
    world.settle();
    assert!(matches!(world.board().bulletin(0), Err(Error::Dropped(Why::Keys))));

    // At the analyzer: what reaches it does not open.
    let mut world = World::new(3);
    let noise = vec![9; world.route.shape.record_bytes(ANALYZER) * 6];
    let (manifest, records) = forged(&world, 0, &noise);
    world.now = world.route.schedule.end_of(0);
    world.hand_over(ANALYZER, manifest, &records).unwrap();
    world.settle();
    assert!(matches!(world.board().bulletin(0), Err(Error::Dropped(Why::Short))));
    assert!(world.board().notices().unwrap().is_empty());
}

/// A batch that the last mix would sign.
fn forged(world: &World, round: u64, records: &[u8]) -> (SignedManifest, Vec<u8>) {
    let len = world.route.shape.record_bytes(ANALYZER);
    let mut digest = RecordDigest::default();
    digest.update(records);
    let manifest = Manifest {
        collection: world.route.id,
        first: round,
        last: round,
        record_bytes: len as u32,
        records: (records.len() / len) as u64,
        losses: vec![Loss::default(); MIXES.into()],
        source: [0; 32],
        digest: digest.finish(),
    };
    (SignedManifest::sign(manifest, &identity(MIXES)), records.to_vec())
}

#[test]
fn a_mix_that_repeats_a_message_gains_nothing() {
    let mut world = World::new(4);
    let key = world.keyring(ANALYZER).unwrap().secret(0).unwrap().public();
    let binding = throng_wire::Binding {
        collection: world.route.id,
        epoch: 0,
        hop: ANALYZER,
        analyzer: true,
    };
    let layer = Layer::new(&key, &binding).unwrap();
    let all = messages(0, CROWD);
    let sealed: Vec<Vec<u8>> =
        all.chunks(PAYLOAD).map(|one| layer.seal(one, &mut world.rng).unwrap()).collect();
    let repeated =
        [sealed.concat(), sealed[0].clone(), sealed[3].clone(), vec![1; sealed[0].len()]];
    let (manifest, records) = forged(&world, 0, &repeated.concat());
    world.now = world.route.schedule.end_of(0);
    world.hand_over(ANALYZER, manifest, &records).unwrap();
    world.settle();
    let notice = Notice::of(world.route.id, 0, CROWD, &bag(&all));
    assert_eq!(world.board().notices().unwrap(), [(notice, 2)]);
}

/// A world in which round 0 is over and was handed over, and nobody has signed anything.
fn handed_over(seed: u64) -> (World, Notice) {
    let mut world = World::new(seed);
    world.upload(0, &messages(0, 4));
    world.close(0);
    for hop in 1..=MIXES {
        while world.step(hop).unwrap().is_some() {}
        assert!(world.deliver(hop));
        while world.step(hop).unwrap().is_some() {}
    }
    let notice = Notice::of(world.route.id, 0, 4, &bag(&messages(0, 4)));
    (world, notice)
}

#[test]
fn a_mix_signs_one_notice_of_a_round_and_keeps_the_evidence_of_another() {
    let (mut world, notice) = handed_over(5);
    let other = Notice { digest: [1; 32], ..notice };
    let third = Notice { digest: [2; 32], ..notice };
    for hop in 1..=MIXES {
        let signature = countersign(world.mix(hop), &notice).unwrap();
        assert!(notice.cosigned(&identity(hop).public(), &signature));
        for _ in 0..2 {
            assert_eq!(countersign(world.mix(hop), &notice).unwrap(), signature);
            assert!(matches!(
                countersign(world.mix(hop), &other),
                Err(Error::Mix(throng_mix::Error::Conflict))
            ));
            assert!(matches!(
                countersign(world.mix(hop), &third),
                Err(Error::Mix(throng_mix::Error::Conflict))
            ));
            world.restart(hop).unwrap();
        }
        let rows = world.stores[usize::from(hop) - 1]
            .store()
            .rows
            .under(Table::Contradicted, &RowKey::default())
            .unwrap();
        let (evidence, by) = rows[0].1.split_at(92);
        assert_eq!((rows.len(), Notice::decode(evidence).unwrap()), (1, other), "once");
        let by: [u8; 64] = by.try_into().unwrap();
        assert!(other.cosigned(&identity(ANALYZER).public(), &by));
        assert_eq!(world.rows(hop, Table::Notices), 1);
    }
    // Whoever signs the first one, it is for the analyzer that lied to wait in vain.
    let (mut world, notice) = handed_over(6);
    countersign(world.mix(1), &other).unwrap();
    assert!(matches!(
        countersign(world.mix(1), &notice),
        Err(Error::Mix(throng_mix::Error::Conflict))
    ));
    world.settle();
    assert!(matches!(world.board().bulletin(0), Err(Error::NotYet)));
}

#[test]
fn a_mix_signs_only_what_can_be_of_its_batch() {
    let (mut world, notice) = handed_over(7);
    let records = 4 * u64::from(MESSAGES);
    for (what, bad) in [
        (
            "another collection",
            Notice { collection: throng_wire::CollectionId::new([1; 32]), ..notice },
        ),
        ("a round to come", Notice { round: 1, ..notice }),
        ("no round", Notice { round: u64::MAX, ..notice }),
        ("another payload", Notice { payload: 4, ..notice }),
        ("more messages than left", Notice { messages: records + 1, ..notice }),
        ("more reports than messages make", Notice { reports: 5, ..notice }),
        ("too many to count", Notice { reports: u64::MAX, ..notice }),
        ("no crowd", Notice { reports: CROWD - 1, messages: 4, ..notice }),
    ] {
        for hop in 1..=MIXES {
            let refused = countersign(world.mix(hop), &bad);
            assert!(matches!(refused, Err(Error::Mix(throng_mix::Error::Notice(_)))), "{what}");
        }
    }
    for forger in [1, 2, 9] {
        let forged = notice.cosign(&Identity::from_seed(&[forger; 32]));
        let refused = world.mix(1).countersign(&notice, &forged);
        assert!(
            matches!(refused, Err(throng_mix::Error::Notice(throng_wire::Error::Signature { .. }))),
            "hop {forger} is not the analyzer"
        );
    }
    assert_eq!((world.rows(1, Table::Notices), world.rows(1, Table::Contradicted)), (0, 0));
    // None of it was in the way, and a message that a later mix left out is fine.
    let fewer = Notice { messages: records - 1, reports: CROWD, ..notice };
    assert!(countersign(world.mix(1), &fewer).is_ok());

    // A round that a mix dropped has no notice.
    world.exchange();
    world.upload(1, &messages(1, CROWD - 1));
    world.close(1);
    while world.step(1).unwrap().is_some() {}
    let stage = &world.mix(1).course.slots()[1].stage;
    assert!(matches!(stage, Stage::Dropped { why: Why::Short, .. }));
    let dropped = Notice { round: 1, reports: CROWD, messages: 6, ..notice };
    assert!(matches!(
        countersign(world.mix(1), &dropped),
        Err(Error::Mix(throng_mix::Error::Notice(_)))
    ));
}

#[test]
fn a_batch_that_cannot_be_sorted_in_memory_is_not_taken() {
    let mut world = World::new(8);
    let (store, route) = (world.stores[2].store(), world.route.clone());
    let small = Limits { memory: 200, ..limits() };
    world.noticeboard = Some(Noticeboard::open(store, route, identity(ANALYZER), small).unwrap());
    let noise = vec![9; world.route.shape.record_bytes(ANALYZER) * 6];
    let (manifest, records) = forged(&world, 0, &noise);
    assert!(matches!(
        world.hand_over(ANALYZER, manifest, &records),
        Err(Error::Mix(throng_mix::Error::TooLarge))
    ));
}

/// Two rounds, with everything tried until it works. A fault of every kind at every operation on
/// the disks of the first mix and the analyzer, one at a time: no message is lost or doubled, and
/// no party signs two notices.
#[test]
fn one_fault_anywhere_changes_no_bulletin() {
    let mut faults = 0;
    let undisturbed = play(None);
    // Mixes do the same with notices, whatever their place.
    for hop in [1, ANALYZER] {
        for at in 0..undisturbed[usize::from(hop) - 1] {
            for fault in
                [Fault::FailBefore, Fault::FailAfter, Fault::CrashBefore, Fault::CrashAfter]
            {
                play(Some((hop, at, fault)));
                faults += 1;
            }
        }
    }
    println!("{faults} faults");
    assert!(faults > 300);
}

/// Plays two rounds, and returns the number of operations of each disk.
fn play(fault: Option<(u8, u64, Fault)>) -> Vec<u64> {
    let mut world = World::machines(1);
    if let Some((hop, at, fault)) = fault {
        world.stores[usize::from(hop) - 1].set_faults(Faults::at(at, fault));
    }
    for _ in 0..3 {
        world.revive();
        world.exchange();
    }
    for round in 0..2 {
        let reports = world.seal(round, &messages(round, CROWD)).concat();
        while world.mix(1).accept(round, &reports, world.now).is_err() {
            world.revive();
        }
        world.close(round);
        for _ in 0..6 {
            world.work();
            world.revive();
        }
        world.check_signed();
        world.exchange();
        world.revive();
        world.exchange();
    }
    let operations = world.stores.iter().map(MemoryStore::operations).collect();
    world.stores.iter().for_each(|store| store.set_faults(Faults::none()));
    world.revive();
    world.now = world.route.schedule.deadline(2) + 2 * DRAIN;
    world.settle();
    world.check_signed();
    for round in 0..2 {
        let shown =
            world.bulletin(round).unwrap_or_else(|e| panic!("{fault:?}, round {round}: {e}"));
        assert_eq!(shown.bag(), &bag(&messages(round, CROWD)), "{fault:?}");
        assert_eq!(*shown.notice(), world.stated[&round]);
    }
    let blobs = world.stores[usize::from(ANALYZER) - 1].store().blobs.names().unwrap();
    assert_eq!(blobs.len(), 2, "{fault:?}: the bags of two rounds and nothing else, {blobs:?}");
    assert!(blobs.iter().all(|name| name.contains(".bag-")), "{blobs:?}");
    operations
}
