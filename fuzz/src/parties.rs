//! A mix and an analyzer with something on their disks, for targets that ask them.

use crate::world::{identity, terms};
use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use std::io::Read;
use std::sync::{Arc, LazyLock};
use throng_collection::{Board, Collection, example};
use throng_mechanism::{Key, Value};
use throng_mix::simulated::MemoryStore;
use throng_mix::store::Store;
use throng_mix::{Course, Intake, Limits, Mix};
use throng_server::{Analyzer, Noticeboard};
use throng_wire::{Bag, LayerPublic, Manifest, Notice, RecordDigest, Route, Seal, SignedManifest};

/// The moment at which epoch 0 of both begins.
pub const START: u64 = 1_000;

/// The present: the board is over, and the question is in epoch 1.
pub const NOW: u64 = START + 86_400 + 5_000;

/// The question that is asked.
pub static COLLECTION: LazyLock<Arc<Collection>> = LazyLock::new(|| {
    let mut collection = Collection { terms: terms(Key::KaryResponse), ..example::collection() };
    collection.terms.question.labels = ["tea", "coffee", "<b>"].map(String::from).to_vec();
    collection.into()
});

/// The board that is posted to.
pub static BOARD: LazyLock<Board> = LazyLock::new(|| Board { crowd: 2, ..example::board() });

/// What is on the disks of a mix and an analyzer.
pub struct Disks {
    /// The mix, from which epoch 0 of the question and rounds 0 and 1 of the board left.
    pub mix: Store,
    /// The analyzer, which published epoch 0 of the question and round 0 of the board.
    pub analyzer: Store,
    /// The batch of round 1, which is on its way.
    pub sent: Vec<u8>,
}

/// The disks.
pub static DISKS: LazyLock<Disks> = LazyLock::new(|| {
    let (mix, analyzer) = (MemoryStore::new().store(), MemoryStore::new().store());
    ask(&mix, &analyzer);
    let sent = post(&mix, &analyzer);
    Disks { mix, analyzer, sent }
});

/// Notices of the board: two of round 1 that its batch allows, and others that it does not.
pub static NOTICES: LazyLock<Vec<Notice>> = LazyLock::new(|| {
    let of = |messages: &[u8]| {
        let reports = messages.len() as u64 / 36;
        Notice::of(BOARD.id(), 1, reports, &Bag::new(18, messages).unwrap())
    };
    let fine = of(&[1; 4 * 18]);
    vec![
        fine,
        of(&[2; 4 * 18]),
        of(&[3; 10 * 18]),
        Notice { payload: 17, round: 2, ..fine },
        Notice { round: 0, ..fine },
        Notice { round: 2, ..fine },
        Notice { collection: COLLECTION.id(), ..fine },
    ]
});

/// Batches for the analyzer: one that was never sent, and a mix's word that there is none.
pub fn other_batches() -> [Vec<u8>; 2] {
    let sent = SignedManifest::length(&DISKS.sent).unwrap();
    let sent = SignedManifest::decode(&DISKS.sent[..sent]).unwrap();
    let manifest = sent.unverified();
    let records = vec![9; manifest.bytes().unwrap() as usize];
    let mut digest = RecordDigest::default();
    digest.update(&records);
    let other = Manifest { digest: digest.finish(), ..manifest.clone() };
    let none = Manifest::empty(BOARD.id(), 2..=2, 1, manifest.record_bytes, [0; 32]);
    let sign = |manifest| SignedManifest::sign(manifest, &identity(1)).encode();
    [[sign(other), records].concat(), sign(none)]
}

/// The limits of both.
pub fn limits() -> Limits {
    Limits { threads: 1, upload: 1 << 12, ..Limits::default() }
}

/// Asks 1,100 people, and publishes what they answer.
fn ask(mix: &Store, analyzer: &Store) {
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let (collection, route) = (&**COLLECTION, Route::from(&**COLLECTION));
    let mix = Mix::open(mix.clone(), route.clone().into(), identity(1), limits()).unwrap();
    let analyzer =
        Analyzer::open(analyzer.clone(), COLLECTION.clone(), identity(2), limits()).unwrap();
    let keys = exchange(&mix.course, &analyzer.course, 0, &mut rng);
    let seal = Seal::new(&route.shape, route.id, 0, 0, &keys).unwrap();
    for person in 0..1_100 {
        let (mut words, mut payload) = (Vec::new(), Vec::new());
        let value = Value::Category(person % 3);
        collection.terms.mechanism.encode(value, &mut rng, &mut words).unwrap();
        collection.terms.encode_payload(&words, &mut payload).unwrap();
        mix.accept(0, &seal.report(&payload, &mut rng).unwrap(), START).unwrap();
    }
    let deadline = route.schedule.deadline(0);
    mix.step(deadline, &mut rng).unwrap();
    hand_over(&mix, &analyzer.course, 0);
    analyzer.step(deadline).unwrap();
    assert_eq!(analyzer.published().unwrap().len(), 1);
}

/// Posts two reports in rounds 0 and 1 of the board, publishes the first round, and returns the
/// batch of the second.
fn post(mix: &Store, analyzer: &Store) -> Vec<u8> {
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    let route = Arc::new(Route::from(&*BOARD));
    let mix = Mix::open(mix.clone(), route.clone(), identity(1), limits()).unwrap();
    let board = Noticeboard::open(analyzer.clone(), route.clone(), identity(2), limits()).unwrap();
    for round in [0, 1] {
        let keys = exchange(&mix.course, &board.course, round, &mut rng);
        let seal = Seal::new(&route.shape, route.id, round, round, &keys).unwrap();
        for _ in 0..2 {
            let report = seal.report(&[7; 36], &mut rng).unwrap();
            mix.accept(round, &report, route.schedule.start_of(round)).unwrap();
        }
        while mix.step(route.schedule.deadline(round), &mut rng).unwrap().is_some() {}
    }
    hand_over(&mix, &board.course, 0);
    board.step(route.schedule.deadline(0)).unwrap();
    for (notice, own) in board.unsigned(1).unwrap() {
        let signature = mix.countersign(&notice, &own).unwrap();
        board.collect(1, notice.round, &signature).unwrap();
    }
    assert!(board.bulletin(0).is_ok());
    let (manifest, records) = outgoing(&mix, 1);
    [manifest.encode(), records].concat()
}

/// Makes the keys of a window, signs the directory of them at both, and returns them.
fn exchange(
    mix: &Course,
    analyzer: &Course,
    window: u64,
    rng: &mut ChaCha12Rng,
) -> [LayerPublic; 2] {
    let courses = [mix, analyzer];
    for course in courses {
        course.keyring.publish(START, rng).unwrap();
    }
    let statements = courses.map(|course| course.keyring.statement(window).unwrap());
    mix.keyring.learn(2, &statements[1]).unwrap();
    analyzer.keyring.learn(1, &statements[0]).unwrap();
    let signatures = courses.map(|course| course.keyring.cosignature(window).unwrap());
    mix.keyring.collect(2, window, &signatures[1]).unwrap();
    analyzer.keyring.collect(1, window, &signatures[0]).unwrap();
    statements.map(|statement| statement.key)
}

/// Hands the batch that begins with this epoch over.
fn hand_over(mix: &Mix, to: &Course, first: u64) {
    let (manifest, records) = outgoing(mix, first);
    let Ok(Intake::New(mut incoming)) = to.receive(manifest, u64::MAX) else {
        panic!("the batch is new")
    };
    incoming.write(&records).unwrap();
    mix.delivered(first, to.keep(incoming).unwrap()).unwrap();
}

fn outgoing(mix: &Mix, first: u64) -> (SignedManifest, Vec<u8>) {
    let mut outgoing = mix.outgoing(first).unwrap().expect("a batch is ready");
    let mut records = Vec::new();
    outgoing.records.content.read_to_end(&mut records).unwrap();
    (outgoing.manifest, records)
}
